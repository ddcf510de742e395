"""aggregate as an operator of torch, and PyG's layers over it: gradients, 16 bits, torch.compile, and the same results as PyG's."""
import copy
import gc
import os
import pathlib
import re
import subprocess
import sys
import unittest

import garner

try:
    import torch
    import torch._dynamo.testing
    from garner.operators import Edges
    import garner.torch
except ImportError:
    torch = None
try:
    import torch_geometric
    import garner.pyg
except ImportError:
    torch_geometric = None


def edges_of(sources, targets, count, seed=1):
    draw = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randint(0, sources, (count,), generator=draw), torch.randint(0, max(targets - 2, 1), (count,), generator=draw)])  # two without


def twin(x, row, col, targets, how, weights=None):
    w = torch.ones(len(row), dtype=x.dtype) if weights is None else weights
    out = torch.zeros((targets, *x.shape[1:]), dtype=x.dtype).index_add(0, col, x[row] * w.reshape(-1, *[1] * (x.dim() - 1)))
    if how == "mean":
        total = torch.zeros(targets, dtype=x.dtype).index_add(0, col, w)
        out = out * torch.where(total > 0, 1 / total, 0).reshape(-1, *[1] * (x.dim() - 1))
    return out


def of_garner(name, conv, **given):
    """PyG's model of this name, whose layers are Garner's."""
    init_conv = lambda self, *channels, **options: getattr(garner.pyg, conv)(*channels, **given, **options)  # noqa: E731
    return type(name, (getattr(torch_geometric.nn, name),), {"init_conv": init_conv})


@unittest.skipIf(torch is None, "needs torch")
class Operators(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def test_gradients_of_rows_and_of_weights(self):
        row, col = edges_of(12, 7, 40)
        degrees = torch.randint(1, 9, (12,))
        for how in ("sum", "mean", "gcn"):
            for shape in ((12,), (12, 3), (12, 2, 2)):
                x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
                w = torch.rand(40, dtype=torch.float64) + 0.1
                call = lambda *given: garner.torch.aggregate(given[0], (row, col, 7), how, *given[1:], degrees=degrees)  # noqa: E731, B023
                with self.subTest(how=how, shape=shape):
                    for given in ((x,), (x, w), (x, w.clone().requires_grad_()), (x.detach(), w.clone().requires_grad_())):
                        self.assertTrue(torch.autograd.gradcheck(call, given))
                    self.assertTrue(torch.autograd.gradgradcheck(call, (x, w.requires_grad_())))
        square = torch.randn(9, 2, dtype=torch.float64, requires_grad=True)  # degrees that are sums of the weights
        ends, w = edges_of(9, 9, 30), torch.rand(30, dtype=torch.float64, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(lambda x, w: garner.torch.aggregate(x, (*ends, 9), "gcn", w), (square, w)))

    def test_as_torch_wants_operators(self):
        row, col = edges_of(12, 7, 40)
        lists = torch.ops.garner.lists(col, row, 7, 12, False)
        back = torch.ops.garner.lists(row, col, 12, 7, False)
        torch.library.opcheck(torch.ops.garner.lists, (col, row, 7, 12, False))
        order = col.argsort(stable=True)
        torch.library.opcheck(torch.ops.garner.lists, (col[order], row[order], 7, 12, True))
        torch.library.opcheck(torch.ops.garner.lists, (col[:0], row[:0], 7, 12, False))
        for kind in (torch.float32, torch.float64, torch.bfloat16):
            real = torch.float64 if kind == torch.float64 else torch.float32
            for shape, weights in (((12, 5), None), ((12, 5), torch.rand(40, dtype=real)), ((12, 2, 3), torch.rand(40, 2, dtype=real))):
                for scale in (0, 1):
                    x = torch.randn(shape, dtype=kind).requires_grad_()
                    w = None if weights is None else weights.clone().requires_grad_()
                    torch.library.opcheck(torch.ops.garner.sum, (x, w, *lists, *back, scale))
                    g = torch.randn((7, *shape[1:]), dtype=kind).requires_grad_()
                    torch.library.opcheck(torch.ops.garner.dot, (x, g, *lists, *back, scale, weights is not None and weights.dim() == 2))

    def test_long_lists_and_widths(self):
        for lengths in ([1500, 3, 0, 513, 512], [0, 0, 600]):
            col = torch.cat([torch.full((n,), v) for v, n in enumerate(lengths)])
            row = torch.randint(0, 50, (len(col),))
            mixed = torch.randperm(len(col))
            for columns in (1, 4, 7, 130):
                x, factor = torch.randn(50, columns, dtype=torch.float64, requires_grad=True), torch.randn(len(lengths), columns, dtype=torch.float64)
                theirs = x.detach().clone().requires_grad_()
                for how in ("sum", "mean"):
                    out = garner.torch.aggregate(x, (row[mixed], col[mixed], len(lengths)), how)
                    want = twin(theirs, row, col, len(lengths), how)
                    (out * factor).sum().backward(), (want * factor).sum().backward()
                    self.assertTrue(torch.allclose(out, want), (lengths, columns, how))
                    self.assertTrue(torch.allclose(x.grad, theirs.grad))

    def test_16_bits_are_added_up_in_float32(self):
        row, col = edges_of(300, 9, 4000)
        x, w = torch.randn(300, 33), torch.rand(4000, requires_grad=True)
        for kind, near in ((torch.bfloat16, 2.0 ** -8), (torch.float16, 2.0 ** -11)):
            short = x.to(kind).requires_grad_()
            for how in ("sum", "mean"):
                wide = short.detach().float().requires_grad_()
                for weights in (None, w):
                    out, want = (garner.torch.aggregate(rows, (row, col, 9), how, weights) for rows in (short, wide))
                    self.assertEqual(out.dtype, kind)
                    once = 1 if weights is None or how == "sum" else 2  # a mean by weights is rounded before it is divided
                    self.assertTrue(torch.allclose(out.float(), want, rtol=2 * once * near, atol=1e-4), (kind, how))
                    short.grad = w.grad = None
                    out.float().sum().backward()
                    self.assertEqual(short.grad.dtype, kind)
                    of_short, of_weights = short.grad.float(), w.grad
                    wide.grad = w.grad = None
                    want.sum().backward()
                    self.assertTrue(torch.allclose(of_short, wide.grad, rtol=4 * near, atol=4 * near))
                    if weights is not None:
                        self.assertTrue(torch.allclose(of_weights, w.grad, rtol=0.05, atol=0.05))
        big = torch.full((70, 2), 1000.0, dtype=torch.float16)  # the sum overflows float16
        self.assertEqual(garner.torch.aggregate(big, (torch.arange(70), torch.zeros(70, dtype=torch.int64), 1)).tolist(), [[1000, 1000]])

    def test_compiles_whole_with_sizes_that_change(self):
        def loss(x, w, row, col, targets):
            h = garner.torch.aggregate(x, (row, col, targets), "mean").relu()
            h = h + garner.torch.aggregate(x * 2, (row, col, targets), "sum", w)
            return (h * h).sum(), garner.torch.aggregate(x, (row, col, targets), "gcn", degrees=x[:, 0].detach().abs())

        torch._dynamo.reset()
        counted = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
        compiled = torch.compile(loss, dynamic=True, fullgraph=True, backend=counted)
        for sources, targets, count in ((30, 11, 60), (47, 23, 190), (12, 12, 5)):
            row, col = edges_of(sources, targets, count)
            results = []
            for call in (loss, compiled):
                x = torch.randn(sources, 6, generator=torch.Generator().manual_seed(3)).requires_grad_()
                w = torch.linspace(0, 1, count, requires_grad=True)
                out, other = call(x, w, row, col, targets)
                (out + other.sum()).backward()
                results.append((out.detach(), other.detach(), x.grad, w.grad))
            for eager, found in zip(*results):
                self.assertTrue(torch.allclose(eager, found, atol=1e-4))
        self.assertLessEqual(counted.frame_count, 2)  # not one for each size

    def test_a_layer_of_ones_own_compiles_once_for_all_mini_batches(self):
        class Sage(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.own, self.others = (torch.nn.ModuleList([torch.nn.Linear(6, 8), torch.nn.Linear(8, 4)]) for _ in range(2))

            def forward(self, rows, batch):
                for k, (own, others) in enumerate(zip(self.own, self.others)):
                    taken = garner.torch.aggregate(rows, batch, "mean", hops=2 - k)
                    rows = own(rows[:len(taken)]) + others(taken)
                return rows

        g = garner.build(*torch.randint(0, 300, (2, 1500)), undirected=True)
        torch._dynamo.reset()
        counted = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
        model = Sage()
        compiled = torch.compile(model, dynamic=True, fullgraph=True, backend=counted)
        for batch in garner.torch.loader(g, [4, 3], x=torch.randn(len(g), 6), batch_size=40):
            grads = []
            for call in (model, compiled):
                model.zero_grad()
                out = call(batch.x, batch)
                out.square().sum().backward()
                grads.append([out, *[p.grad for p in model.parameters()]])
            for eager, found in zip(*grads):
                self.assertTrue(torch.allclose(eager, found, atol=1e-3, rtol=1e-4))
        self.assertEqual(counted.frame_count, 1)

    def test_traced_and_fake(self):
        row, col = edges_of(12, 7, 40)
        x = torch.randn(12, 3)
        want = garner.torch.aggregate(x, (row, col, 7), "sum")
        from torch.fx.experimental.proxy_tensor import make_fx
        traced = make_fx(lambda x, row, col: garner.torch.aggregate(x, (row, col, 7), "sum"))(torch.zeros(12, 3), row, col)
        self.assertTrue(torch.equal(traced(x, row, col), want))
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode() as mode:
            out = garner.torch.aggregate(mode.from_tensor(x), (mode.from_tensor(row), mode.from_tensor(col), 7), "sum")
        self.assertEqual((tuple(out.shape), out.dtype), ((7, 3), torch.float32))

    def test_lists_are_made_once(self):
        x = torch.randn(30, 4, requires_grad=True)
        ends = edges_of(30, 9, 50)
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
            for _ in range(3):  # layers
                garner.torch.aggregate(x, (ends[0], ends[1], 9)).sum().backward()
        self.assertEqual([event.count for event in seen.key_averages() if event.key == "garner::lists"], [2])  # by target, by source
        want = garner.torch.aggregate(x, (ends[0].clone(), ends[1].clone(), 9))
        ends[1, 0] = (ends[1, 0] + 1) % 7  # they are others now
        self.assertFalse(torch.equal(garner.torch.aggregate(x, (ends[0], ends[1], 9)), want))
        with torch.inference_mode():
            inside = garner.torch.aggregate(x, (ends[0], ends[1], 9))
        self.assertTrue(torch.equal(garner.torch.aggregate(x, (ends[0], ends[1], 9)), inside))
        garner.torch.aggregate(x, (ends[0], ends[1], 9)).sum().backward()  # adjacency kept from inference mode can be saved for backward
        kept = len(Edges._made)
        del ends
        gc.collect()
        self.assertEqual(len(Edges._made), kept - 1)

    def test_edges_of_mini_batches_ascend_by_target(self):
        g = garner.build(*torch.randint(0, 60, (2, 700)), undirected=True)
        x = torch.randn(len(g), 3)
        for options in ({}, {"replace": True}, {"disjoint": True}, {"side": "out"}, {"edge_ids": True}):
            for batch in garner.torch.loader(g, [5, -1, 2], x=x, batch_size=16, **options):
                self.assertTrue(bool((batch.edge_index[1].diff() >= 0).all()), options)
                for hops in (1, 2, 3):
                    row, col = torch.cat(batch.edges[:hops], dim=1)
                    out = garner.torch.aggregate(batch.x, batch, hops=hops)
                    self.assertTrue(torch.allclose(out, twin(batch.x, row, col, sum(batch.num_sampled_nodes[:hops]), "mean"), atol=1e-5), options)

        for batch in garner.torch.loader(g, [5, 4], x=x, batch_size=16, rule="all"):  # each hop begins at the seeds again
            row, col = batch.edge_index
            out = garner.torch.aggregate(batch.x, (row, col, len(batch.n_id)), "sum")
            self.assertTrue(torch.allclose(out, torch.zeros_like(batch.x).index_add_(0, col, batch.x[row]), atol=1e-5))
        with torch.inference_mode():
            for batch in garner.torch.loader(g, [5, 4], x=x, batch_size=16):
                out = garner.torch.aggregate(batch.x, batch, hops=1)
                self.assertEqual(len(out), sum(batch.num_sampled_nodes[:1]))

    def test_edges_that_cannot_be(self):
        x, one = torch.randn(4, 2), torch.zeros(2, dtype=torch.int64)
        for row, col, said in (([0, 4], [0, 1], "edge 1 from 4 to 1: there are 4 sources and 3 targets"), ([0, -1], [0, 0], "edge 1 from -1 to 0"),
                               ([0, 0], [0, 3], "edge 1 from 0 to 3"), ([0, 0], [-7, 0], "edge 0 from 0 to -7")):
            for grouped in (False, True):
                with self.assertRaisesRegex(garner.IdError, said):
                    garner.torch.aggregate(x, (torch.tensor(row), torch.tensor(col), 3), grouped=grouped)
        with self.assertRaisesRegex(garner.UsageError, "do not ascend"):
            garner.torch.aggregate(x, (one, torch.tensor([1, 0]), 3), grouped=True)
        for how in ("sum", "mean"):
            for rows in (x, x.bfloat16(), x[:0]):
                self.assertEqual(garner.torch.aggregate(rows, (one[:0], one[:0], 3), how).tolist(), [[0, 0]] * 3)
            out = garner.torch.aggregate(x[:, :0], (one, one, 3), how)
            self.assertEqual(tuple(out.shape), (3, 0))
            self.assertEqual(tuple(garner.torch.aggregate(x, (one[:0], one[:0], 0), how).shape), (0, 2))


@unittest.skipIf(torch_geometric is None, "needs torch_geometric")
class Layers(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def sage(self, widths, conv):
        return torch.nn.ModuleList(conv(a, b) for a, b in zip(widths, widths[1:]))

    def test_mini_batches_are_trimmed_layer_by_layer(self):
        from torch_geometric.utils import trim_to_layer
        g = garner.build(*torch.randint(0, 300, (2, 1500)), undirected=True)
        x = torch.randn(len(g), 6)
        offsets, ends = (torch.tensor(part).long() for part in g.csr()[:2])
        data = torch_geometric.data.Data(x=x, edge_index=torch.stack([torch.arange(len(g)).repeat_interleave(offsets.diff()), ends]))
        layers = self.sage((6, 8, 8, 4), garner.pyg.SAGEConv)
        their = self.sage((6, 8, 8, 4), torch_geometric.nn.SAGEConv)
        their.load_state_dict(layers.state_dict())
        for loader in (garner.torch.loader(g, [4, 3, 2], x=x, batch_size=40), garner.torch.loader(g, [4, 3, 0], x=x, batch_size=40),
                       garner.pyg.NeighborLoader(data, [4, 3, 2], batch_size=40), garner.pyg.NeighborLoader(data, [4, 3, 2], batch_size=40, disjoint=True)):
            for batch in loader:
                whole = trimmed = batch.x
                untrimmed, edges = batch.edge_index, batch.edge_index
                for k, (layer, twin_of) in enumerate(zip(layers, their)):
                    trimmed, edges, _ = trim_to_layer(k, batch.num_sampled_nodes, batch.num_sampled_edges, trimmed, edges)
                    self.assertEqual((len(trimmed), edges.shape[1]), (sum(batch.num_sampled_nodes[:4 - k]), sum(batch.num_sampled_edges[:3 - k])))
                    trimmed, whole = layer(trimmed, edges).relu(), twin_of(whole, untrimmed).relu()
                self.assertTrue(torch.allclose(trimmed[:batch.batch_size], whole[:batch.batch_size], atol=1e-5))

    def test_mini_batches_of_several_types_are_trimmed(self):
        data = torch_geometric.data.HeteroData()
        data["paper"].x, data["author"].x = torch.randn(200, 6), torch.randn(150, 5)
        data["author", "writes", "paper"].edge_index = edges_of(150, 200, 900)
        data["paper", "rev", "author"].edge_index = data["author", "writes", "paper"].edge_index.flip(0)
        data["paper", "cites", "paper"].edge_index = edges_of(200, 200, 600, seed=2)
        widths = {"paper": 6, "author": 5}
        made = [torch_geometric.nn.HeteroConv({(a, how, b): of.SAGEConv((widths[a], widths[b]) if k == 0 else 8, 8) for a, how, b in data.edge_types})
                for of in (garner.pyg, torch_geometric.nn) for k in range(2)]
        ours, their = made[:2], made[2:]
        for twin_of, layer in zip(their, ours):
            twin_of.load_state_dict(layer.state_dict())
        for batch in garner.pyg.NeighborLoader(data, [3, 2], batch_size=40, input_nodes="paper"):
            x, edges, whole = batch.x_dict, batch.edge_index_dict, batch.x_dict
            for k, (layer, twin_of) in enumerate(zip(ours, their)):
                x, edges, _ = torch_geometric.utils.trim_to_layer(k, batch.num_sampled_nodes_dict, batch.num_sampled_edges_dict, x, edges)
                x, whole = layer(x, edges), twin_of(whole, batch.edge_index_dict)
            self.assertTrue(torch.allclose(x["paper"][:40], whole["paper"][:40], atol=1e-5))

    def test_the_example_compiles_once(self):
        example = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python" / "compile.py"
        losses = []
        for options in (["--eager"], ["--backend", "aot_eager"]):
            done = subprocess.run([sys.executable, str(example), "--scale", "10", "--batch", "256", "--epochs", "2", *options], capture_output=True, text=True,
                                  env={**os.environ, "TORCH_LOGS": "recompiles,graph_breaks"})
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("Recompiling", done.stderr)
            self.assertNotIn("Graph break", done.stderr)
            losses.append(re.findall(r"loss ([0-9.]+)", done.stdout))
        self.assertEqual(len(losses[0]), 2)
        for eager, compiled in zip(*losses):
            self.assertAlmostEqual(float(eager), float(compiled), delta=0.01)

    def pairs(self):
        nn = torch_geometric.nn
        mlp = lambda: torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.ReLU(), torch.nn.Linear(8, 5))  # noqa: E731
        for name, given, options in [
                ("SAGEConv", (6, 5), {}), ("SAGEConv", (6, 5), {"aggr": "sum"}), ("SAGEConv", (6, 5), {"normalize": True, "root_weight": False}),
                ("SAGEConv", (6, 5), {"project": True}), ("SAGEConv", (6, 5), {"aggr": "max"}), ("SAGEConv", (6, 5), {"aggr": ["mean", "max"]}),
                ("SAGEConv", (6, 5), {"flow": "target_to_source"}), ("SAGEConv", (-1, 5), {"bias": False}),
                ("GCNConv", (6, 5), {}), ("GCNConv", (6, 5), {"improved": True}), ("GCNConv", (6, 5), {"add_self_loops": False}),
                ("GCNConv", (6, 5), {"normalize": False}), ("GCNConv", (6, 5), {"cached": True}), ("GCNConv", (6, 5), {"flow": "target_to_source"}),
                ("GCNConv", (-1, 5), {"bias": False}),
                ("GINConv", (mlp(),), {"eps": 0.3, "train_eps": True}), ("GINConv", (mlp(),), {}),
                ("GATConv", (6, 5), {}), ("GATConv", (6, 4), {"heads": 3}), ("GATConv", (6, 4), {"heads": 3, "concat": False, "negative_slope": 0.4}),
                ("GATConv", (6, 5), {"add_self_loops": False, "residual": True}), ("GATConv", (6, 5), {"heads": 2, "dropout": 0.5, "bias": False})]:
            theirs = getattr(nn, name)(*copy.deepcopy(given), **options)
            ours = getattr(garner.pyg, name)(*copy.deepcopy(given), **options)
            yield name, options, theirs, ours

    def same(self, theirs, ours, x, *given, **options):
        """Results and gradients."""
        found = []
        for conv in (theirs, ours):
            leaves = [part.detach().clone().requires_grad_() if part is not None else None for part in (x if isinstance(x, tuple) else (x,))]
            torch.manual_seed(5)  # dropout
            out = conv(tuple(leaves) if isinstance(x, tuple) else leaves[0], *given, **options)
            conv.zero_grad()
            (out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)).sum().backward()
            found.append([out, *[leaf.grad for leaf in leaves if leaf is not None], *[p.grad for p in conv.parameters()]])
        for k, (their, our) in enumerate(zip(*found)):
            self.assertEqual(their is None, our is None)
            if their is not None:
                self.assertEqual(their.dtype, our.dtype)
                self.assertTrue(torch.allclose(their, our, atol=1e-5, rtol=1e-5), (k, (their - our).abs().max()))
        return found

    def test_are_those_of_pyg(self):
        x, edge_index = torch.randn(20, 6), edges_of(20, 20, 70)
        edge_index[:, :4] = torch.tensor([[1, 3, 3, 8], [1, 3, 4, 8]])  # with loops
        weights = torch.rand(70)
        for name, options, theirs, ours in self.pairs():
            with self.subTest(name=name, **options):
                theirs(x, edge_index), ours(x, edge_index)  # lazy ones
                self.assertEqual({k: v.shape for k, v in theirs.state_dict().items()}, {k: v.shape for k, v in ours.state_dict().items()})
                ours.load_state_dict(theirs.state_dict())
                self.assertEqual(repr(ours), repr(theirs))
                self.assertIsInstance(ours, type(theirs))
                if options.get("dropout"):  # equal random masks need equally many weights: ours keep loops among the edges, as 0
                    self.same(theirs, ours, x, edge_index[:, edge_index[0] != edge_index[1]])
                    theirs, ours = theirs.eval(), ours.eval()
                self.same(theirs, ours, x, edge_index)
                self.same(theirs, copy.deepcopy(ours), x, edge_index[:, :0] if not options.get("cached") else edge_index)
                if name == "GCNConv" and not options.get("cached"):
                    self.same(theirs, ours, x, edge_index, weights)
                    self.same(theirs, ours, x, edge_index, weights.double() if options.get("normalize") is not False else weights)
                    grads = []
                    for conv in (theirs, ours):
                        w = weights.clone().requires_grad_()
                        conv(x, edge_index, w).square().sum().backward()
                        grads.append(w.grad)
                    self.assertTrue(torch.allclose(*grads, atol=1e-4))
                if name in ("SAGEConv", "GINConv") and "flow" not in options:
                    few = edges_of(20, 9, 40)
                    self.same(theirs, ours, (x, x[:9]), few)
                    self.same(theirs, ours, (x, x[:9]), few, size=(20, 9))
                    self.same(theirs, ours, (x, None), few, size=(20, 9))
                    for conv in (theirs, ours):
                        with self.assertRaisesRegex(ValueError, "size"):
                            conv((x, x[:9]), few, size=(20, 8))

    def test_one_step_of_autograd_each(self):
        edges = edges_of(9, 9, 30)
        edges[:, :4] = torch.tensor([[1, 3, 3, 8], [1, 3, 4, 8]])  # with loops
        x = torch.randn(9, 6, dtype=torch.float64, requires_grad=True)
        mlp = torch.nn.Linear(6, 4)
        for name, given, options in [("SAGEConv", (6, 4), {}), ("SAGEConv", (6, 4), {"aggr": "sum", "bias": False}), ("SAGEConv", (6, 4), {"root_weight": False}),
                                     ("GINConv", (mlp,), {"eps": 0.3, "train_eps": True}), ("GATConv", (6, 2), {"heads": 3}),
                                     ("GATConv", (6, 2), {"heads": 2, "dropout": 0.4}),
                                     ("GATConv", (6, 2), {"heads": 2, "add_self_loops": False, "flow": "target_to_source"})]:
            conv = getattr(garner.pyg, name)(*given, **options).double()
            names, values = zip(*conv.named_parameters())

            def call(x, *values, conv=conv, names=names):
                torch.manual_seed(3)  # dropout
                return torch.func.functional_call(conv, dict(zip(names, values)), (x, edges))

            with self.subTest(name=name, **options):
                self.assertTrue(torch.autograd.gradcheck(call, (x, *values)))
                self.assertTrue(torch.autograd.gradgradcheck(call, (x, *values)))
        own = torch.randn(5, 6, dtype=torch.float64, requires_grad=True)  # and rows of the targets' own
        conv, few = garner.pyg.SAGEConv(6, 4).double(), edges_of(9, 5, 20)
        self.assertTrue(torch.autograd.gradcheck(lambda x, own: conv((x, own), few), (x, own)))
        self.assertTrue(torch.autograd.gradgradcheck(lambda x, own: conv((x, own), few), (x, own)))

    def test_few_launches(self):
        x, edges = torch.randn(20, 6), edges_of(20, 20, 70)
        for conv, most in ((garner.pyg.SAGEConv(6, 5), 7), (garner.pyg.GINConv(torch.nn.Identity()), 0), (garner.pyg.GATConv(6, 5, heads=2), 9)):
            rows, gradient = x.clone().requires_grad_(), torch.ones_like(conv(x, edges))
            conv(rows, edges).backward(gradient)  # which makes the lists
            conv.zero_grad(), setattr(rows, "grad", None)
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
                conv(rows, edges).backward(gradient)
            names = {event.key[6:]: event.count for event in seen.key_averages() if event.key.startswith("aten::")}
            launched = {name: count for name, count in names.items() if name in ("mm", "addmm", "addmm_", "bmm", "baddbmm_", "cat", "sum", "add", "add_", "mul", "div",
                                                                                 "index", "index_select", "scatter_add_", "sort", "searchsorted")}
            self.assertLessEqual(sum(launched.values()), most, (type(conv), launched))

    def test_without_gradients_no_lists_are_made_for_a_way_back(self):
        for conv in (garner.pyg.SAGEConv(6, 5), garner.pyg.GINConv(torch.nn.Identity(), train_eps=True), garner.pyg.GATConv(6, 5, heads=2)):
            x, edges = torch.randn(20, 6, requires_grad=True), edges_of(20, 20, 70)
            for learns in (False, True):
                with self.subTest(conv=type(conv).__name__, learns=learns), torch.set_grad_enabled(learns):
                    self.assertEqual(conv(x, edges).requires_grad, learns)
                    self.assertEqual({back for _, entries in [Edges._made[edges]] for kept in entries.values() for back in kept if back is True},
                                     {True} if learns else set())

    def test_a_score_of_0_has_the_slope_of_torch(self):
        x, edges = torch.randn(9, 6), edges_of(9, 9, 30)
        edges = edges[:, edges[0] != edges[1]]
        found = []
        for layers in (garner.pyg, torch_geometric.nn):
            conv = layers.GATConv(6, 4, heads=2)
            conv.load_state_dict(found[0][0].state_dict() if found else conv.state_dict())
            torch.nn.init.zeros_(conv.att_src), torch.nn.init.zeros_(conv.att_dst)
            conv(x, edges).square().sum().backward()
            found.append((conv, conv.att_src.grad))
        torch.testing.assert_close(found[0][1], found[1][1])

    def test_hooks_of_the_linear_layers_are_called(self):
        x, edges = torch.randn(20, 6), edges_of(20, 20, 70)
        for name in ("lin_l", "lin_r"):
            conv, seen = garner.pyg.SAGEConv(6, 5), []
            want = conv(x, edges)
            getattr(conv, name).register_forward_hook(lambda module, inputs, out: seen.append(out) or 2 * out)
            self.assertFalse(torch.allclose(conv(x, edges), want))
            self.assertEqual(len(seen), 1)

    def test_types_with_widths_of_their_own(self):
        x, few = (torch.randn(20, 6), torch.randn(9, 3)), edges_of(20, 9, 40)
        for name, options in (("SAGEConv", {}), ("GATConv", {"add_self_loops": False, "heads": 2})):
            theirs, ours = (getattr(of, name)((6, 3), 4, **options) for of in (torch_geometric.nn, garner.pyg))
            ours.load_state_dict(theirs.state_dict())
            self.same(theirs, ours, x, few)
            self.same(theirs, ours, x, few[:, :0])
        layer = torch_geometric.nn.HeteroConv({("a", "to", "b"): garner.pyg.SAGEConv((6, 3), 4), ("b", "rev", "a"): garner.pyg.SAGEConv((3, 6), 4)})
        out = layer({"a": x[0], "b": x[1]}, {("a", "to", "b"): few, ("b", "rev", "a"): few.flip(0)})
        self.assertEqual({k: tuple(v.shape) for k, v in out.items()}, {"a": (20, 4), "b": (9, 4)})

    def test_attention_weights_and_edge_features(self):
        x, edge_index, features = torch.randn(20, 6), edges_of(20, 20, 70), torch.randn(70, 2)
        theirs, ours = (of.GATConv(6, 4, heads=2, edge_dim=2) for of in (torch_geometric.nn, garner.pyg))
        ours.load_state_dict(theirs.state_dict())
        self.same(theirs, ours, x, edge_index, features)
        (out, (ends, alpha)), (want, (their_ends, their_alpha)) = (conv(x, edge_index, features, return_attention_weights=True) for conv in (ours, theirs))
        self.assertTrue(torch.equal(ends, their_ends) and torch.allclose(alpha, their_alpha) and torch.allclose(out, want, atol=1e-5))

    def test_what_is_left_to_pyg(self):
        x, edge_index = torch.randn(20, 6), edges_of(20, 20, 70)
        theirs, ours = (of.SAGEConv(6, 5) for of in (torch_geometric.nn, garner.pyg))
        ours.load_state_dict(theirs.state_dict())
        sparse = torch.sparse_coo_tensor(edge_index.flip(0), torch.ones(70), (20, 20)).coalesce().to_sparse_csr()
        self.assertTrue(torch.allclose(ours(x, sparse), theirs(x, sparse), atol=1e-5))
        seen = []
        hook = ours.register_message_forward_hook(lambda module, inputs, out: seen.append(out.shape))
        self.same(theirs, ours, x, edge_index)
        hook.remove()
        self.assertEqual(seen, [(70, 6)])
        three = torch.randn(2, 20, 6)
        self.same(theirs, ours, three, edge_index)

        class Doubled(garner.pyg.SAGEConv):
            def message(self, x_j):
                return 2 * x_j

        class Named(garner.pyg.SAGEConv):
            pass

        for layer, factor in ((Doubled, 2), (Named, 1)):
            conv = layer(6, 5, root_weight=False, bias=False)
            conv.lin_l.weight.data.copy_(theirs.lin_l.weight)
            plain = torch_geometric.nn.SAGEConv(6, 5, root_weight=False, bias=False)
            plain.lin_l.weight.data.copy_(theirs.lin_l.weight)
            self.assertTrue(torch.allclose(conv(x, edge_index), factor * plain(x, edge_index), atol=1e-5))
            self.assertEqual(conv._ours, factor == 1)

    def test_under_autocast(self):
        x, edge_index = torch.randn(200, 6), edges_of(200, 200, 900)
        for name, options in (("SAGEConv", {}), ("GCNConv", {}), ("GCNConv", {"bias": False}), ("GATConv", {"heads": 2})):
            theirs, ours = (getattr(of, name)(6, 8, **options) for of in (torch_geometric.nn, garner.pyg))
            ours.load_state_dict(theirs.state_dict())
            want = ours(x, edge_index)
            for kind, near in ((torch.bfloat16, 0.05), (torch.float16, 0.01)):
                for rows in (x, x.to(kind)):
                    with torch.autocast("cpu", kind):
                        out, their_out = ours(rows, edge_index), theirs(rows, edge_index)
                    self.assertEqual(out.dtype, their_out.dtype, (name, kind, rows.dtype))
                    self.assertTrue(torch.allclose(out.float(), want, atol=near, rtol=near), (name, kind))
                    ours.zero_grad()
                    out.float().sum().backward()
                    self.assertTrue(all(p.grad.isfinite().all() and p.grad.dtype == torch.float32 for p in ours.parameters()))

    def test_edges_of_the_sampler_are_neither_sorted_by_target_nor_looked_at(self):
        data = torch_geometric.data.Data(x=torch.randn(60, 6), edge_index=torch.randint(60, (2, 700)), time=torch.randint(9, (60,)), w=torch.rand(700))
        ours, theirs = of_garner("GraphSAGE", "SAGEConv")(6, 8, num_layers=2, out_channels=4), torch_geometric.nn.GraphSAGE(6, 8, num_layers=2, out_channels=4)
        ours.load_state_dict(theirs.state_dict())
        for options in ({}, {"replace": True}, {"disjoint": True}, {"time_attr": "time"}, {"weight_attr": "w"}):
            for batch in garner.pyg.NeighborLoader(data, [4, 3], batch_size=16, **options):
                hops = {"num_sampled_nodes_per_hop": batch.num_sampled_nodes, "num_sampled_edges_per_hop": batch.num_sampled_edges}
                with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
                    out = ours(batch.x, batch.edge_index, **hops)
                    out.sum().backward()
                names = {event.key: event.count for event in seen.key_averages()}
                self.assertEqual((names.get("aten::sort"), names.get("aten::aminmax")), (1, None), options)  # by source, where a layer has gradients
                self.assertTrue(torch.allclose(out, theirs(batch.x, batch.edge_index, **hops), atol=1e-5), options)
        compiled = torch.compile(ours, dynamic=True, backend="aot_eager")
        compiled(batch.x, batch.edge_index, **hops).sum().backward()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
            out = compiled(batch.x, batch.edge_index, **hops)
        names = {event.key: event.count for event in seen.key_averages()}
        self.assertIsNone(names.get("aten::aminmax"))
        self.assertTrue(torch.allclose(out, theirs(batch.x, batch.edge_index, **hops), atol=1e-5))
        row, col = batch.edge_index
        sound = lambda edges, nodes: Edges.sound(row[:edges], col[:edges], nodes, nodes)
        first, second = batch.num_sampled_nodes[:2]
        self.assertTrue(sound(batch.num_sampled_edges[0], first + second))
        self.assertFalse(sound(batch.num_sampled_edges[0], first + second - 1))  # rows that some edge needs are not there
        self.assertFalse(sound(batch.num_sampled_edges[0] + 1, first + second))
        batch.edge_index[0, 0] = 0
        self.assertFalse(sound(1, 60))  # somebody wrote to it

    def test_in_a_model_of_pyg_and_compiled(self):
        for made in (of_garner("GraphSAGE", "SAGEConv"), of_garner("GCN", "GCNConv"), of_garner("GAT", "GATConv", add_self_loops=False)):
            torch._dynamo.reset()
            ours = made(6, 8, num_layers=3, out_channels=4)
            if made.__name__ != "GAT":
                theirs = made.__mro__[1](6, 8, num_layers=3, out_channels=4)
                ours.load_state_dict(theirs.state_dict())
                self.same(theirs, ours, torch.randn(20, 6), edges_of(20, 20, 70))
            counted = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
            compiled = torch.compile(ours, dynamic=True, fullgraph=True, backend=counted)
            for nodes, count in ((20, 70), (33, 90), (51, 240)):
                self.same(ours, compiled, torch.randn(nodes, 6), edges_of(nodes, nodes, count))
            self.assertLessEqual(counted.frame_count, 2, made)


if __name__ == "__main__":
    unittest.main()
