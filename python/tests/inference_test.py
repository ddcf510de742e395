"""garner.infer: each result is that of the model over the whole graph at once, for any size of mini-batch, in every form."""
import importlib.util
import os
import resource
import unittest

import numpy as np

import garner
from inference_world import World

try:
    import torch
    import torch_geometric.nn as pyg
except ImportError:
    raise unittest.SkipTest("needs torch and PyG (torch_geometric)") from None


class Inference(World):
    def test_models_of_pyg(self):
        models = {
            "SAGE": pyg.GraphSAGE(12, 16, 3, 5, dropout=0.5), "GCN": pyg.GCN(12, 16, 2, 5), "GCN without loops": pyg.GCN(12, 16, 2, 5, add_self_loops=False),
            "GCN improved": pyg.GCN(12, 16, 2, 5, improved=True), "GIN": pyg.GIN(12, 16, 2, 5), "GAT": pyg.GAT(12, 16, 2, 5, heads=2),
            "normed": pyg.GraphSAGE(12, 16, 2, 5, norm="BatchNorm"), "jk": pyg.GraphSAGE(12, 16, 2, 5, jk="last"),
        }
        for name, model in models.items():
            with self.subTest(name):
                model.train()
                if name == "normed":
                    model(self.x, self.edge_index)  # running means
                model.eval()
                with torch.no_grad():
                    want = model(self.x, self.edge_index)
                model.train()
                for size in (None, 100, 37):
                    found = garner.infer(model, self.graph, self.x, batch_size=size)
                    torch.testing.assert_close(found, want, rtol=1e-4, atol=1e-4)
                    self.assertTrue(model.training)
                self.assertTrue(all(getattr(conv, "normalize", True) for conv in model.convs if isinstance(conv, pyg.GCNConv)))
                self.assertTrue(torch.equal(garner.infer(model, self.graph, self.x, classes=True, batch_size=100),
                                            garner.infer(model, self.graph, self.x, batch_size=100).argmax(1)))

    def test_layers_in_a_list(self):
        first, second = pyg.SAGEConv(16, 16), garner.pyg.SAGEConv(16, 4)
        layers = [torch.nn.Linear(12, 16), torch.relu, first, torch.nn.LayerNorm(16), torch.nn.functional.relu, lambda x, edge_index: second(x, edge_index)]
        with torch.no_grad():
            h = layers[4](layers[3](first(torch.relu(layers[0](self.x)), self.edge_index)))
            want = second(h, self.edge_index)
        torch.testing.assert_close(garner.infer(layers, self.graph, self.x, batch_size=64), want, rtol=1e-4, atol=1e-4)
        in_place = [torch.neg_, torch.nn.ELU(inplace=True), pyg.SAGEConv(12, 4)]
        with torch.no_grad():
            want = in_place[2](torch.nn.functional.elu(-self.x), self.edge_index)
        torch.testing.assert_close(garner.infer(in_place, self.graph, self.x.clone(), batch_size=64), want, rtol=1e-4, atol=1e-4)
        out = garner.infer(layers[:3], self.graph, self.x.numpy(), side="out", batch_size=64)
        with torch.no_grad():
            torch.testing.assert_close(out, first(torch.relu(layers[0](self.x)), self.edge_index.flip(0)), rtol=1e-4, atol=1e-4)

    def test_layers_that_are_known_need_no_loader(self):
        from garner import inference
        self.addCleanup(setattr, inference, "loader", inference.loader)
        inference.loader = lambda *_, **__: self.fail("a loader was made")
        narrow = pyg.SAGEConv(12, 5).to(torch.bfloat16)
        for name, layers, x in (
                *((conv.__name__, [conv(12, 8, **more), torch.relu, conv(8, 5, **more)], self.x) for conv in (pyg.SAGEConv, garner.pyg.SAGEConv) for more in (
                    {}, {"aggr": "sum"}, {"normalize": True, "bias": False}, {"root_weight": False})),
                ("GraphConv", [pyg.GraphConv(12, 8, aggr="mean"), pyg.GraphConv(8, 5)], self.x),
                *(("GCNConv", [conv(12, 8, **more), conv(8, 5)], self.x) for conv in (pyg.GCNConv, garner.pyg.GCNConv) for more in (
                    {}, {"add_self_loops": False}, {"normalize": False}, {"improved": True, "bias": False})),
                ("GIN", [pyg.GINConv(torch.nn.Linear(12, 5), eps=0.5, train_eps=True)], self.x), ("bfloat16", [narrow], self.x.to(torch.bfloat16))):
            with self.subTest(name, layers=layers), torch.no_grad():
                want = x
                for layer in layers:
                    want = layer(want, self.edge_index) if isinstance(layer, torch.nn.Module) else layer(want)
                near = 0.05 if x.dtype == torch.bfloat16 else 1e-4
                for size in (None, 37):
                    torch.testing.assert_close(garner.infer(layers, self.graph, x, batch_size=size), want, rtol=near, atol=near)
                self.assertFalse(any("forward" in vars(layer) or "propagate" in vars(layer) for layer in layers if isinstance(layer, torch.nn.Module)))
        for conv in (pyg.SAGEConv(12, 5), pyg.GCNConv(12, 5)):
            with torch.no_grad():
                want = conv(self.x, self.edge_index)
            try:
                garner.infer([conv], self.graph, self.x, batch_size=100, progress=lambda done, total: 1 / 0)
            except ZeroDivisionError as kept:  # a traceback that is kept keeps no layer changed
                with torch.no_grad():
                    torch.testing.assert_close(conv(self.x, self.edge_index), want)
                self.assertIsNotNone(kept.__traceback__)
            else:
                self.fail("no error")
        undirected = garner.generate("kron", 8)
        offsets, ends, _ = undirected.csr()
        x = torch.randn(256, 12)
        edges = torch.stack([torch.from_numpy(ends.astype(np.int64)), torch.arange(256).repeat_interleave(torch.from_numpy(np.diff(offsets)))])
        with torch.no_grad():
            for side in ("in", "out"):
                torch.testing.assert_close(garner.infer([layers[0]], undirected, x.to(torch.bfloat16), side=side), narrow(x.to(torch.bfloat16), edges), rtol=0.05, atol=0.05)
                want = pyg.SAGEConv(12, 5)
                found = garner.infer([want], self.graph, self.x, side=side)
                torch.testing.assert_close(found, want(self.x, self.edge_index if side == "in" else self.edge_index.flip(0)), rtol=1e-4, atol=1e-4)

    def test_layers_that_take_weights_get_those_of_the_graph(self):
        edges, w = self.edge_index.numpy(), np.random.default_rng(3).uniform(0.5, 2, 5000)
        once = np.unique(edges[0] * self.n + edges[1], return_index=True)[1]  # PyG keeps one of several loops, and does not say which
        edges, w = edges[:, once], torch.from_numpy(w[once]).float()
        graph = garner.build(edges, weights=w.numpy(), num_nodes=self.n, keep_loops=True)
        nn = pyg.SAGEConv(12, 4)
        second = pyg.GraphConv(12, 4)
        layers = {"GCN": pyg.GCNConv(12, 4), "GCN without loops": pyg.GCNConv(12, 4, add_self_loops=False), "improved": pyg.GCNConv(12, 4, improved=True),
                  "plain": pyg.GCNConv(12, 4, normalize=False), "ours": garner.pyg.GCNConv(12, 4), "GraphConv": second, "GraphConv mean": pyg.GraphConv(12, 4, aggr="mean"),
                  "function": lambda x, edge_index, edge_weight: second(x, edge_index, edge_weight), "GAT": pyg.GATConv(12, 4, edge_dim=1, add_self_loops=False),
                  "GINE of edge_attr": pyg.GINEConv(torch.nn.Linear(12, 4), edge_dim=1), "NN of edge_attr": pyg.NNConv(12, 4, torch.nn.Linear(1, 48))}
        for name, conv in layers.items():
            for side in ("in", "out"):
                with self.subTest(name, side=side), torch.no_grad():
                    to = torch.from_numpy(edges if side == "in" else edges[::-1].copy())
                    want = conv(self.x, to, w[:, None] if name == "GAT" or "edge_attr" in name else w)
                    for more in ({}, {"batch_size": 45}, {"device": "simulated"}):
                        torch.testing.assert_close(garner.infer([conv], graph, self.x, side=side, **more), want, rtol=1e-4, atol=1e-4)
        with torch.no_grad():
            to, model = torch.from_numpy(edges), pyg.GCN(12, 8, 2, 4).eval()
            torch.testing.assert_close(garner.infer(model, graph, self.x), model(self.x, to, w), rtol=1e-4, atol=1e-4)
            for conv in (layers["GCN"], second):  # not the first of its group
                torch.testing.assert_close(garner.infer([torch.neg, conv], graph, self.x), conv(-self.x, to, w), rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(garner.infer([nn], graph, self.x), nn(self.x, to), rtol=1e-4, atol=1e-4)
            found = garner.infer([lambda x, edge_index, nodes: nn((x, x[:nodes]), edge_index)], graph, self.x, batch_size=45)
            torch.testing.assert_close(found, nn(self.x, to), rtol=1e-4, atol=1e-4)
            found = garner.infer([layers["function"]], self.graph, self.x)  # whose edges have none
            torch.testing.assert_close(found, second(self.x, self.edge_index), rtol=1e-4, atol=1e-4)

    def test_on_a_device_whose_streams_run_late(self):
        for model in (pyg.GraphSAGE(12, 16, 3, 5).eval(), pyg.GCN(12, 16, 2, 5).eval()):
            with torch.no_grad():
                want = model(self.x, self.edge_index)
            for size in (33, 300):
                found = garner.infer(model, self.graph, self.x, device="simulated", batch_size=size)
                torch.testing.assert_close(found, want, rtol=1e-4, atol=1e-4)

    def test_features_of_every_kind_and_rows_between_layers_in_files(self):
        model = pyg.GraphSAGE(12, 16, 3, 5).eval()
        want = garner.infer(model, self.graph, self.x)
        np.save(self.folder / "x.npy", self.x.numpy())
        np.savez(self.folder / "two.npz", a=self.x.numpy(), b=self.x.numpy() + 1)
        for rows in (self.folder / "x.npy", (str(self.folder / "two.npz"), "a"), garner.tiered(self.x.numpy()), self.x.numpy()):
            self.assertTrue(torch.equal(garner.infer(model, self.graph, rows), want))
        torch.testing.assert_close(garner.infer(model, self.graph, self.x, memory_limit=0, scratch=self.folder), want)
        self.assertEqual(sorted(os.listdir(self.folder)), ["two.npz", "x.npy"])
        with self.assertRaises(ZeroDivisionError):
            garner.infer(model, self.graph, (str(self.folder / "two.npz"), "a"), checkpoint=self.folder / "work", progress=lambda *_: 1 / 0)
        with self.assertRaisesRegex(garner.UsageError, "another model"):
            garner.infer(model, self.graph, (str(self.folder / "two.npz"), "b"), checkpoint=self.folder / "work")

    def test_features_become_of_the_models_numbers(self):
        model, listed = pyg.GraphSAGE(12, 16, 2, 5).eval(), [lambda x: x, pyg.GATConv(12, 5)]
        quantized, scales = (self.x * 30).to(torch.int8), torch.rand(self.n) + 0.1
        named = str(self.folder / "q.npy")
        np.save(named, quantized.numpy())
        rows = {kind: (self.x.to(kind), self.x.to(kind)) for kind in (torch.float64, torch.float16, torch.bfloat16)}
        rows["table of float16"] = garner.tiered(self.x.half()), self.x.half()
        for name, table in (("scales", garner.tiered(quantized, scales=scales.numpy())), ("file", garner.tiered(named, scales=scales.numpy()))):
            rows[name] = table, quantized * scales[:, None]
        for name, (given, means) in rows.items():
            for of in (model, listed):
                for kind, near in ((torch.float32, 1e-4), (torch.bfloat16, 0.1), (torch.float64, 1e-4)):
                    for part in of if of is listed else [of]:
                        _ = part.to(kind) if isinstance(part, torch.nn.Module) else part
                    want = garner.infer(of, self.graph, means.to(kind))
                    for more in ({}, {"batch_size": 300}, *([{"device": "simulated"}] if kind == torch.float32 else [])):
                        with self.subTest(name, kind=kind, listed=of is listed, **more):
                            torch.testing.assert_close(garner.infer(of, self.graph, given, **more), want, rtol=near, atol=near)
        sage, wide = pyg.SAGEConv(12, 5), torch.nn.Linear(12, 12).double()
        late, large = self.x.double() + 1e9, self.x * 1e6  # functions before the first module with parameters get what was given
        table = garner.tiered(quantized, scales=scales.numpy())
        for given, first, then in ((late, lambda x: (x - 1e9).float(), sage), (late, lambda x: wide(x).float(), sage), (self.x.half(), lambda x: x + 1, sage),
                                   (table, lambda x: x * 2, sage), (large, lambda x: (x / 1e6).half(), pyg.SAGEConv(12, 5).half())):
            want = garner.infer([then], self.graph, first(quantized * scales[:, None] if given is table else given).detach())
            for more in ({}, {"batch_size": 300}):
                torch.testing.assert_close(garner.infer([first, then], self.graph, given, **more), want, rtol=1e-3, atol=1e-3)
        ids = torch.arange(self.n).flip(0)
        layers = [torch.nn.Embedding(self.n, 12), pyg.SAGEConv(12, 5)]  # whole numbers stay
        torch.testing.assert_close(garner.infer(layers, self.graph, ids), garner.infer(layers[1:], self.graph, layers[0].weight.detach().flip(0)))
        work = self.folder / "work"
        with self.assertRaises(ZeroDivisionError):
            garner.infer(model, self.graph, garner.tiered(quantized, scales=scales.numpy()), checkpoint=work, progress=lambda *_: 1 / 0)
        with self.assertRaisesRegex(garner.UsageError, "features"):
            garner.infer(model, self.graph, garner.tiered(quantized, scales=scales.numpy() * 2), checkpoint=work)

    def test_results_in_files(self):
        model = pyg.GraphSAGE(12, 16, 2, 5).eval()
        want = garner.infer(model, self.graph, self.x, batch_size=300)
        self.assertEqual(garner.infer(model, self.graph, self.x, batch_size=300, out=self.folder / "z.npy"), str(self.folder / "z.npy"))
        np.testing.assert_array_equal(np.load(self.folder / "z.npy"), want)
        half = garner.infer(model.bfloat16(), self.graph, self.x.bfloat16(), out=self.folder / "h.npy")
        self.assertEqual(np.load(half).dtype, np.float32)
        again = garner.infer(model, self.graph, self.x.bfloat16(), memory_limit=0, scratch=self.folder, out=self.folder / "h.npy")
        self.assertTrue(np.isfinite(np.load(again)).all())
        model = model.float()
        try:
            import pyarrow.parquet as pq
        except ImportError:
            self.skipTest("needs pyarrow")
        want = garner.infer(model, self.graph, self.x, batch_size=300)
        self.graph.names = np.array([f"node {k}" for k in range(self.n)], object)
        found = pq.read_table(garner.infer(model, self.graph, self.x, batch_size=300, out=self.folder / "z.parquet"))
        self.assertEqual(found.column("node").to_pylist()[:2], ["node 0", "node 1"])
        np.testing.assert_array_equal(np.array(found.column("embedding").to_pylist(), "float32"), want)
        found = pq.read_table(garner.infer(model, self.graph, self.x, classes=True, out=self.folder / "c.parquet"))
        self.assertEqual(found.column("class").to_pylist(), want.argmax(1).tolist())
        self.assertEqual(sorted(os.listdir(self.folder)), ["c.parquet", "h.npy", "z.npy", "z.parquet"])

    def test_results_by_name(self):
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            self.skipTest("needs pyarrow")
        file, out, layers, x = str(self.folder / "g.gnr"), self.folder / "z.parquet", [pyg.SimpleConv("sum")], torch.eye(3)
        garner.convert(pa.table({"s": ["ann", "eve"], "d": ["bob", "ann"]}), file, src="s", dst="d", names=str(self.folder / "elsewhere.parquet"))
        graph, want = garner.open(file), garner.read_names(self.folder / "elsewhere.parquet")
        for names in (self.folder / "elsewhere.parquet", want):
            garner.infer(layers, graph, x, out=out, names=names)
            self.assertEqual(pq.read_table(out).column("node").to_pylist(), want.tolist())
        os.unlink(out)
        for kind, words, more in ((garner.FileError, "g.names.parquet does not hold them; give names=FILE", {}), (garner.UsageError, "names", {"names": ["ann", "bob"]}),
                                  (garner.FileError, "nowhere.parquet", {"names": self.folder / "nowhere.parquet"}),
                                  *((garner.UsageError, "a .parquet file alone", {"out": to, "names": want}) for to in (None, self.folder / "z.npy"))):
            with self.subTest(words), self.assertRaisesRegex(kind, words):
                garner.infer(layers, graph, x, progress=lambda *_: self.fail("work began"), **{"out": out, **more})
        self.assertEqual(len(garner.infer(layers, graph, x)), 3)  # a tensor has no names
        self.assertEqual(sorted(os.listdir(self.folder)), ["elsewhere.parquet", "g.gnr"])

    def test_a_feature_file_of_results(self):
        model = pyg.GraphSAGE(12, 16, 2, 5).eval()
        name = garner.infer(model, self.graph, self.x, out=self.folder / "z.gnt")
        np.testing.assert_array_equal(garner.tiered(name)[:], garner.infer(model, self.graph, self.x))
        self.assertEqual(os.listdir(self.folder), ["z.gnt"])

    def test_a_full_disk_is_one_sentence_and_a_checkpoint_goes_on(self):
        """By the limit of a process on the size of its files."""
        model = pyg.GraphSAGE(12, 16, 2, 300).eval()
        names = ["z.npy", "z.gnt", *(["z.parquet"] if importlib.util.find_spec("pyarrow") else [])]
        small, work = 100_000, self.folder / "work"  # a layer of 16 fits, and one of 300 does not
        usual = resource.getrlimit(resource.RLIMIT_FSIZE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, usual)
        for name in names:
            with self.subTest(name):
                resource.setrlimit(resource.RLIMIT_FSIZE, (small, usual[1]))
                with self.assertRaisesRegex(garner.FileError, f"{name}: cannot be written: [^\n]*; make room"):
                    garner.infer(model, self.graph, self.x, out=self.folder / name, batch_size=100)
                self.assertEqual(os.listdir(self.folder), [])
        with self.assertRaisesRegex(garner.FileError, "layer1.npy: cannot be written"):
            garner.infer(model, self.graph, self.x, checkpoint=work, batch_size=100)
        self.assertEqual(sorted(os.listdir(work)), ["layer0.npy", "position.json"])
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        seen = []
        found = garner.infer(model, self.graph, self.x, checkpoint=work, batch_size=100, progress=lambda done, total: seen.append(done))
        self.assertTrue(torch.equal(found, garner.infer(model, self.graph, self.x, batch_size=100)))
        self.assertGreater(seen[0], self.n)  # the first layer was there

    def test_compiled_models_run_as_they_were(self):
        from garner.checkpoints import digest_of
        model = pyg.GraphSAGE(12, 16, 2, 5).eval()
        want = garner.infer(model, self.graph, self.x)
        torch.testing.assert_close(garner.infer(torch.compile(model, backend="eager"), self.graph, self.x), want)
        for conv in (pyg.GCNConv(12, 5), pyg.SAGEConv(12, 5), pyg.GATConv(12, 5)):
            digest, want = digest_of(conv), garner.infer([conv], self.graph, self.x)
            compiled = torch.compile(conv, backend="eager")
            conv.compile(backend="eager")
            for layers in ([compiled, torch.compile(torch.relu)], torch.compile(torch.nn.Sequential(conv, torch.nn.ReLU())),
                           [torch.compile(lambda x, edge_index, conv=conv: conv(x, edge_index), backend="eager"), torch.relu]):
                for size in (None, 100):
                    with self.subTest(conv=conv, layers=layers, size=size):
                        torch.testing.assert_close(garner.infer(layers, self.graph, self.x, batch_size=size), want.relu(), rtol=1e-4, atol=1e-4)
            self.assertIsNotNone(conv._compiled_call_impl)
            self.assertEqual(digest_of(conv), digest)
        weighted = garner.generate("kron", 8, undirected=True, random_weights=(1, 5))
        x = torch.randn(len(weighted), 12)
        for made in (lambda: pyg.GCN(12, 16, 2, 5), lambda: [pyg.GraphConv(12, 5)]):
            model = made()
            want, convs = garner.infer(model, weighted, x), model if isinstance(model, list) else model.convs
            convs[0] = torch.compile(convs[0], backend="eager")  # a part of the model
            for size in (None, 100):
                torch.testing.assert_close(garner.infer(model, weighted, x, batch_size=size), want, rtol=1e-4, atol=1e-4)
            self.assertIsNot(convs[0].forward, convs[0]._orig_mod.forward)

    def test_what_cannot_be_is_refused(self):
        class TwoLayers(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first, self.second = pyg.SAGEConv(12, 8), pyg.SAGEConv(8, 4)

            def forward(self, x, edge_index):
                return self.second(self.first(x, edge_index), edge_index)

        (self.folder / "mine.txt").write_text("mine")
        model = pyg.GraphSAGE(12, 16, 2, 5)
        for kind, words, given in (
                (garner.UsageError, "jk='cat'", dict(model=pyg.GraphSAGE(12, 16, 2, 5, jk="cat"))), (garner.KindError, "model is", dict(model=5)),
                (garner.KindError, "model is", dict(model=torch.nn.Linear(3, 3))), (garner.UsageError, "no layer takes edge_index", dict(model=[torch.relu])),
                (garner.UsageError, "GraphNorm looks at all rows", dict(model=pyg.GraphSAGE(12, 16, 2, 5, norm="GraphNorm"))),
                (garner.UsageError, "LayerNorm\\(mode=graph\\)", dict(model=pyg.GraphSAGE(12, 16, 2, 5, norm="LayerNorm"))),
                (garner.UsageError, "side='both'", dict(side="both")), (garner.UsageError, "ends in .npy, .gnt or .parquet", dict(out="z.csv")),
                (garner.UsageError, "batch_size=0", dict(batch_size=0)), (garner.KindError, "graph is", dict(graph=5)),
                (garner.UsageError, "GATConv takes edge_attr of 4 columns", dict(model=pyg.GAT(12, 16, 2, 5, edge_dim=4))),
                (garner.UsageError, "GATConv takes edge_attr of 1 column, .* none", dict(model=[torch.relu, pyg.GATConv(12, 5, edge_dim=1)])),
                (garner.UsageError, "GINEConv takes edge_attr of 3", dict(model=[pyg.GINEConv(torch.nn.Linear(12, 4), edge_dim=3)])),
                (garner.UsageError, "GINEConv takes edge_attr of 12", dict(model=[pyg.GINEConv(torch.nn.Linear(12, 4))])),
                (garner.UsageError, "NNConv takes edge_attr of 2", dict(model=[pyg.NNConv(12, 4, torch.nn.Linear(2, 48))])),
                (garner.UsageError, "RGCNConv takes edge_type", dict(model=[pyg.RGCNConv(12, 4, 3)])),
                (garner.UsageError, "RGCNConv takes edge_type", dict(model=[pyg.RGCNConv(12, 4, 1)])),
                (garner.UsageError, "GCN2Conv takes x_0", dict(model=[pyg.GCN2Conv(12, 0.1)])), (garner.UsageError, "FAConv takes x_0", dict(model=[pyg.FAConv(12)])),
                (garner.UsageError, "layer 0 fails on .* rows of shape \\(7,\\) and float32: ", dict(features=self.x[:, :7])),
                (garner.UsageError, "layer 1 fails on .* rows of shape \\(4,\\)", dict(model=[pyg.SAGEConv(12, 4), pyg.SAGEConv(5, 4)])),
                (garner.UsageError, "layer 0 fails on .* int64", dict(features=self.x.long())), (garner.UsageError, "layer 0 fails", dict(features=self.x[:, 0])),
                (garner.UsageError, "has no nodes", dict(graph=garner.build([], []), features=self.x[:0])), (garner.KindError, "out is", dict(out=self.x)),
                *((garner.UsageError, "layer 0 uses more than the edges", dict(model=[one], batch_size=100)) for one in (
                    pyg.SGConv(12, 4, K=2), pyg.LGConv(), TwoLayers(), pyg.DirGNNConv(pyg.SAGEConv(12, 4)))),
                (garner.UsageError, "layer 0 uses more", dict(model=[pyg.SAGEConv(12, 4), lambda x: x - x.mean(0)], batch_size=100)),
                (garner.UsageError, "BatchNorm1d looks at all rows", dict(model=[pyg.SAGEConv(12, 4), torch.nn.BatchNorm1d(4, track_running_stats=False)])),
                (garner.KindError, "model is", dict(model=[pyg.SAGEConv])), (garner.UsageError, "1400 rows for a graph of 700", dict(features=torch.cat([self.x, self.x]))),
                (garner.UsageError, "is not empty", dict(checkpoint=self.folder)), (garner.FileError, "scratch files", dict(memory_limit=0, scratch="/nowhere")),
                (garner.UsageError, "returned", dict(model=[lambda x, edge_index: x[:1]])), (garner.FileError, "cannot be", dict(out="/nowhere/z.npy"))):
            with self.subTest(words, given=given), self.assertRaisesRegex(kind, words):
                garner.infer(**{"model": model, "graph": self.graph, "features": self.x, "device": "cpu", **given})
        with self.assertRaises(garner.Error):
            garner.infer(model, self.graph, self.x[:-1])

        class Own(RuntimeError):
            pass

        def stop(x, edge_index):
            raise Own
        with self.assertRaises(Own):
            garner.infer([stop], self.graph, self.x)

        def mine(x, edge_index):
            raise RuntimeError("mine")
        with self.assertRaisesRegex(garner.UsageError, "mine; give features that it takes, another layer, or look into it: the cause is above"):
            garner.infer([mine], self.graph, self.x)

        class Weighted(pyg.GraphConv):
            def forward(self, x, edge_index, edge_weight):
                return super().forward(x, edge_index, edge_weight)
        with self.assertRaisesRegex(garner.UsageError, "Weighted takes edge_weight .*, and this graph has no weights; give one with"):
            garner.infer([Weighted(12, 5)], self.graph, self.x)

    def test_layers_of_ones_own_are_not_judged_by_the_names_of_attributes(self):
        class Mine(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv, self.num_relations, self.edge_dim = pyg.SAGEConv(12, 5), 3, 3

        class OfTypes(Mine):
            def forward(self, x, edge_index, edge_type=None):
                return self.conv(x, edge_index)

        class OfColumns(Mine):
            def forward(self, x, edge_index, edge_attr=None):
                return self.conv(x, edge_index)
        for one in (OfTypes(), OfColumns()):
            self.assertTrue(torch.equal(garner.infer([one], self.graph, self.x), garner.infer([lambda x, edge_index: one.conv(x, edge_index)], self.graph, self.x)))
        film = pyg.FiLMConv(12, 5, num_relations=1)  # which needs no edge_type
        with torch.no_grad():
            torch.testing.assert_close(garner.infer([film], self.graph, self.x), film(self.x, self.edge_index), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    unittest.main()
