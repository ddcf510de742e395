"""garner.pyg.NeighborLoader: what PyG's own loader promises of its mini-batches, and what its draws are a function of."""
import contextlib
import copy
import pickle
import tempfile
import pathlib
import unittest
import warnings

import numpy as np

import garner

try:
    import torch
    from garner import pipeline
    import torch_geometric
    from torch_geometric.data import Data, HeteroData
    from torch_geometric.nn import GraphConv, SAGEConv, to_hetero
    from torch_geometric.sampler import BaseSampler, SamplerOutput
    from torch_geometric.testing import MyFeatureStore, MyGraphStore
    from garner.pyg.later import Later
    from garner.pyg import FeatureStore, GraphStore, NeighborLoader, NeighborSampler
except ImportError:
    torch = None


def edges_between(sources, targets, count, dtype=None):
    return torch.stack([torch.randint(sources, (count,)), torch.randint(targets, (count,))]).to(dtype or torch.int64)


def pairs(edge_index):
    return set(map(tuple, edge_index.t().tolist()))


def homogeneous(nodes=100, edges=500):
    return Data(x=torch.arange(nodes), edge_index=edges_between(nodes, nodes, edges), edge_attr=torch.arange(edges))


def bibliography():
    data = HeteroData()
    data["paper"].x, data["author"].x = torch.arange(100), torch.arange(100, 300)
    data["paper", "paper"].edge_index, data["paper", "paper"].edge_attr = edges_between(100, 100, 500), torch.arange(500)
    data["paper", "author"].edge_index, data["paper", "author"].edge_attr = edges_between(100, 200, 1000), torch.arange(500, 1500)
    data["author", "paper"].edge_index, data["author", "paper"].edge_attr = edges_between(200, 100, 1000), torch.arange(1500, 2500)
    return data


def content(batch):
    """All that a mini-batch says, comparable."""
    return {key: value.tolist() if isinstance(value, torch.Tensor) else value for key, value in
            ((str((i, key)), value) for i, store in enumerate(batch.stores) for key, value in store.items())}


def tenfold(batch):
    batch.x = batch.x * 10
    return batch


@unittest.skipIf(torch is None, "needs torch and PyG (torch_geometric)")
class Loader(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(12345)
        warnings.simplefilter("error")  # none of pyg-lib's, none of ours
        self.addCleanup(warnings.resetwarnings)

    def mapped(self, batch, data):
        """Edges of the mini-batch are those of the data that e_id names."""
        for edge_type in getattr(batch, "edge_types", [None]):
            part, whole = (batch, data) if edge_type is None else (batch[edge_type], data[edge_type])
            source, target = (batch, batch) if edge_type is None else (batch[edge_type[0]], batch[edge_type[-1]])
            ends = torch.stack([source.n_id[part.edge_index[0]], target.n_id[part.edge_index[1]]])
            self.assertTrue(torch.equal(ends, whole.edge_index[:, part.e_id].to(torch.int64)))

    def test_homogeneous(self):
        for dtype in (torch.int64, torch.int32):
            for subgraph_type in ("directional", "bidirectional", "induced"):
                for filter_per_worker in (None, True, False):
                    with self.subTest(dtype=dtype, subgraph_type=subgraph_type, filter_per_worker=filter_per_worker):
                        data = homogeneous()
                        data.edge_index = data.edge_index.to(dtype)
                        loader = NeighborLoader(data, num_neighbors=[5] * 2, batch_size=20, subgraph_type=subgraph_type,
                                                filter_per_worker=filter_per_worker)
                        self.assertEqual((str(loader), len(loader)), ("NeighborLoader()", 5))
                        self.assertIsInstance(loader, torch_geometric.loader.NeighborLoader)
                        for i, batch in enumerate(loader):
                            self.assertIsInstance(batch, Data)
                            self.assertEqual(len(batch), 9 if subgraph_type == "directional" else 7)
                            self.assertLessEqual(batch.x.size(0), 100)
                            self.assertEqual((batch.n_id.size(), batch.e_id.size()), ((batch.num_nodes,), (batch.num_edges,)))
                            self.assertEqual((batch.input_id.numel(), batch.batch_size), (20, 20))
                            self.assertEqual((batch.edge_index.dtype, batch.n_id.dtype, batch.e_id.dtype), (dtype, dtype, torch.int64))  # as pyg-lib has them
                            self.assertEqual(batch.x.tolist(), batch.n_id.tolist())
                            self.assertTrue(torch.equal(batch.edge_attr, batch.e_id))
                            self.assertTrue(torch.equal(batch.x[:20], torch.arange(20 * i, 20 * i + 20)))
                            self.assertTrue(torch.equal(batch.input_id, torch.arange(20 * i, 20 * i + 20)))
                            self.assertLess(int(batch.edge_index.max()), batch.num_nodes)
                            self.assertEqual(batch.n_id.unique().numel(), batch.num_nodes)
                            if subgraph_type == "directional":
                                self.mapped(batch, data)
                                self.assertEqual((sum(batch.num_sampled_nodes), sum(batch.num_sampled_edges)), (batch.num_nodes, batch.num_edges))
                            elif subgraph_type == "bidirectional":
                                found = pairs(batch.edge_index)
                                self.assertEqual(found, {(v, u) for u, v in found})
                                both = pairs(data.edge_index)
                                for u, v in batch.n_id[batch.edge_index].t().tolist():
                                    self.assertTrue((u, v) in both or (v, u) in both)
                            else:
                                self.mapped(batch, data)
                                inside = torch.isin(data.edge_index[0], batch.n_id) & torch.isin(data.edge_index[1], batch.n_id)
                                self.assertEqual(batch.e_id.sort()[0].tolist(), inside.nonzero().flatten().tolist())

    def test_heterogeneous(self):
        for subgraph_type in ("directional", "bidirectional", "induced"):
            data = bibliography()
            with self.subTest(subgraph_type=subgraph_type):
                loader = NeighborLoader(data, num_neighbors=[10] * 2, input_nodes="paper", batch_size=20, subgraph_type=subgraph_type)
                self.assertEqual((str(loader), len(loader)), ("NeighborLoader()", 5))
                with warnings.catch_warnings():
                    for batch in loader:
                        self.assertIsInstance(batch, HeteroData)
                        self.assertEqual((set(batch.node_types), set(batch.edge_types)), (set(data.node_types), set(data.edge_types)))
                        told = subgraph_type == "directional"
                        self.assertEqual((len(batch["paper"]), len(batch["author"])), (4 + told, 2 + told))
                        self.assertEqual((batch["paper"].batch_size, batch["paper"].input_id.numel()), (20, 20))
                        self.assertTrue(torch.equal(batch["paper"].x, batch["paper"].n_id))
                        self.assertTrue(torch.equal(batch["author"].x, batch["author"].n_id + 100))
                        for edge_type, first in (("paper", "paper"), 0), (("paper", "author"), 500), (("author", "paper"), 1500):
                            store = batch[edge_type]
                            if subgraph_type != "bidirectional":
                                self.assertEqual(len(store), 3 + told)
                                self.assertTrue(torch.equal(store.edge_attr, store.e_id + first))
                            self.assertLess(int(store.edge_index[0].max()), batch[edge_type[0]].num_nodes)
                            self.assertLess(int(store.edge_index[1].max()), batch[edge_type[1]].num_nodes)
                        if subgraph_type != "bidirectional":
                            self.mapped(batch, data)
                        if subgraph_type == "directional":  # nobody stands alone but seeds
                            touched = set(range(20))
                            for t in (("paper", "paper"), ("author", "paper")):
                                touched |= set(batch[t].edge_index[1].tolist())
                            for t in (("paper", "paper"), ("paper", "author")):
                                touched |= set(batch[t].edge_index[0].tolist())
                            self.assertEqual(touched, set(range(batch["paper"].num_nodes)))

    def test_a_graph_in_place_of_an_edge_index_is_refused_in_words(self):
        data = Data(x=torch.zeros(4, 1), edge_index=torch.tensor([[0], [1]]))
        data.edge_index = garner.build([0], [1], num_nodes=4)
        with self.assertRaisesRegex(garner.UsageError, r"a Graph; give a tensor of shape \(2, edges\), or a Graph of Garner to a GraphStore"):
            NeighborLoader(data, [2], torch.arange(2))

    def test_fanouts_by_type(self):
        data = bibliography()
        with self.assertRaisesRegex(ValueError, "hops must be the same across all"):
            next(iter(NeighborLoader(data, {("paper", "to", "paper"): [-1], ("paper", "to", "author"): [-1, -1], ("author", "to", "paper"): [-1, -1]},
                                     input_nodes="paper", batch_size=20)))
        with self.assertRaisesRegex(ValueError, "Missing number of neighbors"):
            next(iter(NeighborLoader(data, {("paper", "to", "paper"): [-1]}, input_nodes="paper", batch_size=20)))
        batch = next(iter(NeighborLoader(data, {("paper", "to", "paper"): [0], ("paper", "to", "author"): [3], ("author", "to", "paper"): [2]},
                                         input_nodes="paper", batch_size=20)))
        self.assertEqual([batch[t].num_sampled_edges[0] for t in data.edge_types][:2], [0, 0])
        self.assertGreater(batch["author", "paper"].num_edges, 0)
        self.assertLessEqual(batch["author", "paper"].num_edges, 40)
        self.assertEqual(int(torch.bincount(batch["author", "paper"].edge_index[1]).max()), 2)

    def test_what_each_hop_reached(self):
        edge_index = torch.tensor([[2, 3, 4, 5, 7, 7, 10, 11, 12, 13], [0, 1, 2, 3, 2, 3, 7, 7, 7, 7]])
        batch = next(iter(NeighborLoader(Data(edge_index=edge_index, num_nodes=14), num_neighbors=[1, 2, 4], batch_size=2)))
        self.assertEqual((batch.num_sampled_nodes, batch.num_sampled_edges), ([2, 2, 3, 4], [2, 4, 4]))
        data = HeteroData()
        data["paper"].num_nodes = data["author"].num_nodes = 14
        for t in (("paper", "paper"), ("paper", "author"), ("author", "paper")):
            data[t].edge_index = edge_index
        batch = next(iter(NeighborLoader(data, num_neighbors=[1, 2, 4], batch_size=2, input_nodes="paper")))
        self.assertEqual((batch["paper"].num_sampled_nodes, batch["author"].num_sampled_nodes), ([2, 2, 3, 4], [0, 2, 3, 4]))
        self.assertEqual([batch[t].num_sampled_edges for t in (("paper", "paper"), ("paper", "author"), ("author", "paper"))],
                         [[2, 4, 4], [0, 4, 4], [2, 4, 4]])

    def test_a_model_sees_what_it_sees_of_the_whole_graph(self):
        class GNN(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv1, self.conv2 = GraphConv(8, 16), GraphConv(16, 4)

            def forward(self, x, edge_index, edge_weight):
                return self.conv2(self.conv1(x, edge_index, edge_weight).relu(), edge_index, edge_weight).relu()

        data = Data(x=torch.randn(200, 8), edge_index=edges_between(200, 200, 1000), edge_weight=torch.rand(1000))
        seeds = torch.arange(5, 8)
        model = GNN()
        whole = model(data.x, data.edge_index, data.edge_weight)[seeds]
        for subgraph_type in ("directional", "induced"):
            batch = next(iter(NeighborLoader(data, [-1, -1], seeds, batch_size=3, subgraph_type=subgraph_type)))
            self.assertTrue(torch.allclose(model(batch.x, batch.edge_index, batch.edge_weight)[:batch.batch_size], whole, atol=1e-5))
        hetero = HeteroData()
        hetero["paper"].x = data.x
        hetero["paper", "paper"].edge_index, hetero["paper", "paper"].edge_weight = data.edge_index, data.edge_weight
        batch = next(iter(NeighborLoader(hetero, [-1, -1], ("paper", seeds), batch_size=3)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            many = to_hetero(model, hetero.metadata())
        out = many(batch.x_dict, batch.edge_index_dict, batch.edge_weight_dict)["paper"]
        self.assertTrue(torch.allclose(out[:batch["paper"].batch_size], whole, atol=1e-5))

    def test_it_trains(self):
        torch.manual_seed(1)
        data = homogeneous(400, 4000)
        data.y = torch.randint(2, (400,))
        data.x = torch.randn(400, 4) + 3 * data.y.view(-1, 1)
        loader = NeighborLoader(data, [5, 5], torch.arange(400) % 2 == 0, batch_size=50, shuffle=True)
        conv = SAGEConv(4, 2)
        optimizer = torch.optim.Adam(conv.parameters(), 0.05)
        losses = []
        for _ in range(4):
            for batch in loader:
                optimizer.zero_grad()
                loss = torch.nn.functional.cross_entropy(conv(batch.x, batch.edge_index)[:batch.batch_size], batch.y[:batch.batch_size])
                loss.backward()
                optimizer.step()
                losses.append(float(loss.detach()))
        self.assertLess(losses[-1], losses[0] / 3)

    # --- options ---
    def test_input_nodes_and_their_ids(self):
        data = homogeneous()
        mask = torch.rand(100) < 0.3
        for nodes, node, ids in ((mask, mask.nonzero().flatten(), mask.nonzero().flatten()), (torch.tensor([7, 3, 7]), [7, 3, 7], [0, 1, 2]),
                                 ([4, 5], [4, 5], [0, 1]), (range(3), [0, 1, 2], [0, 1, 2])):
            batch = next(iter(NeighborLoader(data, [2], nodes, batch_size=100)))
            self.assertEqual((batch.n_id[:batch.batch_size].tolist(), batch.input_id.tolist()), (list(map(int, node)), list(map(int, ids))))
        batch = next(iter(NeighborLoader(data, [2], torch.tensor([9, 8]), batch_size=2, input_id=torch.tensor([50, 60]))))
        self.assertEqual((batch.input_id.tolist(), batch.n_id[:2].tolist()), ([50, 60], [9, 8]))
        hetero = bibliography()
        batch = next(iter(NeighborLoader(hetero, [2], ("author", torch.tensor([9, 8])), batch_size=2)))
        self.assertEqual((batch["author"].n_id[:2].tolist(), batch["author"].input_id.tolist(), batch["paper"].num_sampled_nodes[0]), ([9, 8], [0, 1], 0))

    def test_duplicates_and_loops_are_edges_too(self):
        edge_index = torch.tensor([[1, 1, 0, 2, 1], [0, 0, 0, 0, 2]])
        data = Data(edge_index=edge_index, num_nodes=3, edge_attr=torch.arange(5))
        batch = next(iter(NeighborLoader(data, [-1, -1], torch.tensor([0]), batch_size=1)))
        self.assertEqual(sorted(batch.e_id.tolist()), [0, 1, 2, 3, 4])
        self.mapped(batch, data)
        weighted = Data(edge_index=edge_index, num_nodes=3, w=torch.tensor([3.0, 1.0, 2.0, 0.0, 1.0]))
        for _ in range(10):
            batch = next(iter(NeighborLoader(weighted, [3], torch.tensor([0]), batch_size=1, weight_attr="w")))
            self.assertEqual(sorted(batch.e_id.tolist()), [0, 1, 2])

    def test_replace_and_disjoint(self):
        data = homogeneous()
        batch = next(iter(NeighborLoader(data, [20], batch_size=20, replace=True)))
        has = torch.bincount(data.edge_index[1], minlength=100)[:20] > 0
        self.assertEqual(torch.bincount(batch.edge_index[1], minlength=20).tolist(), (has * 20).tolist())
        self.mapped(batch, data)
        data.time = torch.arange(100)
        for how in ({}, dict(time_attr="time", input_time=torch.full((100, ), 40))):  # all of them: each that is allowed, once
            for batch in NeighborLoader(data, [-1], batch_size=20, replace=True, **how):
                early = (data.edge_index[1][:, None] == batch.input_id) & (data.time[data.edge_index[0]] <= (40 if how else 100))[:, None]
                self.assertEqual(sorted(batch.e_id.tolist()), early.any(1).nonzero().flatten().tolist())
        for loader in (NeighborLoader(data, [3, 3], batch_size=20, disjoint=True), ):
            for batch in loader:
                self.assertEqual(batch.batch[:20].tolist(), list(range(20)))
                self.assertTrue(torch.equal(batch.batch[batch.edge_index[0]], batch.batch[batch.edge_index[1]]))
                self.assertEqual((batch.batch.dtype, batch.batch.numel()), (torch.int64, batch.num_nodes))
                self.mapped(batch, data)
        hetero = bibliography()
        for t in hetero.edge_types:
            hetero[t].edge_index = hetero[t].edge_index.int()
        batch = next(iter(NeighborLoader(hetero, [3, 3], "paper", batch_size=20, disjoint=True)))
        self.assertEqual({tensor.dtype for t in hetero.node_types for tensor in (batch[t].n_id, batch[t].batch)} |
                         {batch[t].edge_index.dtype for t in hetero.edge_types}, {torch.int32})
        for t in hetero.edge_types:
            row, col = batch[t].edge_index
            self.assertTrue(torch.equal(batch[t[0]].batch[row], batch[t[-1]].batch[col]))

    def test_weights(self):
        data = homogeneous()
        data.w = (torch.arange(500) % 2).double()
        for kind in (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.bool):
            data.w = data.w.to(kind)
            for batch in NeighborLoader(data, [3, 3], batch_size=20, weight_attr="w"):
                self.assertTrue(bool((batch.e_id % 2 == 1).all()))
                self.assertTrue(bool((batch.w == 1).all()))
                self.mapped(batch, data)
        # An edge of twice the weight is sampled about twice as often.
        star = Data(edge_index=torch.tensor([[1, 2, 3], [0, 0, 0]]), num_nodes=4, w=torch.tensor([1.0, 2.0, 1.0]))
        loader = NeighborLoader(star, [1], torch.zeros(4000, dtype=torch.int64), batch_size=1000, disjoint=True, weight_attr="w")
        seen = sum(torch.bincount(batch.e_id, minlength=3) for batch in loader)
        self.assertLess(abs(int(seen[1]) - 2000), 200)
        hetero = bibliography()
        hetero["paper", "author"].w = (torch.arange(1000) % 2).float()  # other types have none: uniform
        batch = next(iter(NeighborLoader(hetero, [3, 3], "paper", batch_size=20, weight_attr="w")))
        self.assertTrue(bool((batch["paper", "author"].e_id % 2 == 1).all()))
        self.assertGreater(batch["author", "paper"].num_edges, 0)

    def test_weights_with_replacement(self):
        """As often as the weights require, each draw whatever the others of its list are; a list of nothing but zeros has none."""
        weights = torch.tensor([1.0, 2.0, 0.0, 3.0, 4.0])
        star = Data(edge_index=torch.tensor([[1, 2, 3, 4, 5, 1], [0, 0, 0, 0, 0, 2]]), num_nodes=6, w=torch.cat([weights, torch.zeros(1)]))
        seen = []
        for place in ("host", "simulated"):
            torch.manual_seed(3)
            loader = NeighborLoader(star, [40], torch.tensor([0, 2] * 300), batch_size=200, disjoint=True, weight_attr="w", replace=True, device=place)
            batches = [batch for batch in loader]
            for batch in batches:
                self.assertEqual(torch.bincount(batch.edge_index[1], minlength=200)[:200].tolist(), [40, 0] * 100)
            seen.append(torch.cat([batch.e_id.view(-1, 40) for batch in batches]))
        self.assertTrue(torch.equal(*seen))
        counts, expected = torch.bincount(seen[0].flatten(), minlength=6)[:5], weights * 1200
        self.assertEqual((int(counts.sum()), int(counts[2])), (12000, 0))
        self.assertLess(float(((counts - expected) ** 2 / expected)[expected > 0].sum()), 16.3)  # chi-square, 3 degrees of freedom: p > 0.001
        pairs = torch.bincount((seen[0][:, ::2] * 5 + seen[0][:, 1::2]).flatten(), minlength=25)
        expected = torch.outer(weights, weights).flatten() * 60
        self.assertLess(float(((pairs - expected) ** 2 / expected)[expected > 0].sum()), 37.7)  # 15 degrees of freedom

    def test_weights_by_type(self):
        for stores in (False, True):
            data = bibliography()
            cites, writes, by = ("paper", "to", "paper"), ("author", "to", "paper"), ("paper", "to", "author")
            data[cites].strength, data[writes].score = (torch.arange(500) % 2).float(), (torch.arange(1000) % 2).float()
            names = {cites: "strength", writes: "score"}
            if stores:
                features, graph = FeatureStore(), GraphStore()
                for t in data.node_types:
                    features.put_tensor(data[t].x, group_name=t, attr_name="x", index=None)
                for t in data.edge_types:
                    graph.put_edge_index(data[t].edge_index, edge_type=t, layout="coo", size=None)
                for t, name in names.items():
                    features.put_tensor(data[t][name], group_name=t, attr_name=name, index=None)
                data = features, graph
            for keys in (lambda t: t, "__".join, lambda t: (t[0], t[2])):  # as PyG names types
                for batch in NeighborLoader(data, [3, 3], "paper", batch_size=20, weight_attr={keys(t): name for t, name in names.items()}):
                    for t in names:
                        self.assertTrue(bool((batch[t].e_id % 2 == 1).all()))
                    self.assertTrue(bool((batch[by].e_id % 2 == 0).any()))  # edges of a type without weights are sampled uniformly
            for wrong, words in (({("paper", "on", "paper"): "w"}, "no edges of type"), (True, "weight_attr is True"), (["w"], "weight_attr is"), ({cites: 3}, "weight_attr is"),
                                 (torch.ones(3), "weight_attr is a Tensor")):
                with self.assertRaisesRegex(garner.UsageError, words):
                    NeighborLoader(data, [3], "paper", weight_attr=wrong)
            with self.assertRaisesRegex((garner.UsageError, NotImplementedError), "such an? attribute|such attribute"):
                NeighborLoader(data, [3], "paper", weight_attr={cites: "strength", writes: "strength"})
        one = homogeneous()
        one.w = torch.rand(500) + 1j
        for wrong, words in (("w", "complex64"), ({("v", "to", "v"): "w"}, "of one type give a name")):
            with self.assertRaisesRegex(garner.UsageError, words):
                NeighborLoader(one, [3], weight_attr=wrong)

    def test_types_that_nothing_describes(self):
        for how, words in ((lambda d: None, r"data\['venue'\].num_nodes"), (lambda d: d["venue"].update({"note": 1}), r"data\['venue'\].num_nodes")):
            for ends in (("paper", "venue"), ("venue", "paper")):
                data = bibliography()
                data[ends].edge_index = edges_between(5, 5, 20)
                how(data)
                with warnings.catch_warnings(), self.assertRaisesRegex(garner.UsageError, words):
                    warnings.simplefilter("ignore")
                    NeighborLoader(data, [2], "paper")
        data = bibliography()
        data["venue"].num_nodes, data["paper", "venue"].edge_index = 5, edges_between(5, 5, 20)
        data["lonely"].x = torch.ones(2, 7)
        batch = next(iter(NeighborLoader(data, [2], "paper", batch_size=4)))
        self.assertEqual((batch["venue"].num_nodes, batch["lonely"].x.shape, batch["paper", "venue"].edge_index.shape), (0, (0, 7), (2, 0)))

    def test_sparse_adjacency_is_refused_in_words(self):
        dense = torch.eye(6)
        warnings.simplefilter("ignore")  # torch's, that such tensors are new
        for adjacency in (dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_csc()):
            for name, words in (("adj_t", r"to_edge_index\(adj_t.t\(\)\)"), ("adj", r"to_edge_index\(adj\)"), ("edge_index", r"shape \(2, edges\)")):
                for data in (Data(**{name: adjacency}), Data(x=torch.zeros(6), **{name: adjacency}), HeteroData(v={"x": torch.zeros(6)}, v__to__v={name: adjacency})):
                    with self.assertRaisesRegex(garner.UsageError, words):
                        NeighborLoader(data, [2], "v" if isinstance(data, HeteroData) else None)

    def test_times_of_nodes(self):
        for strategy in ("uniform", "last"):
            data = homogeneous()
            data.time = torch.arange(100, 0, -1)
            for batch in NeighborLoader(data, [3, 3], batch_size=10, time_attr="time", temporal_strategy=strategy):
                self.assertTrue(bool((batch.time <= batch.time[:10][batch.batch]).all()))
                self.mapped(batch, data)
            given = torch.randint(0, 100, (100,))
            batch = next(iter(NeighborLoader(data, [3], time_attr="time", input_time=given.int())))
            self.assertEqual((batch.seed_time.dtype, batch.seed_time.tolist()), (torch.int32, given[:1].tolist()))
            for batch in NeighborLoader(data, [3, 3], batch_size=10, time_attr="time", input_time=given.tolist(), temporal_strategy=strategy):
                self.assertTrue(torch.equal(batch.seed_time, given[batch.input_id]))
                self.assertTrue(bool((batch.time[10:] <= batch.seed_time[batch.batch[10:]]).all()))
        hetero = bibliography()
        hetero["paper"].time, hetero["author"].time = torch.arange(100), torch.arange(200) // 2
        for batch in NeighborLoader(hetero, [-1, -1], "paper", batch_size=10, time_attr="time"):
            limit = batch["paper"].time[:10]
            for t in ("paper", "author"):
                self.assertTrue(bool((batch[t].time <= limit[batch[t].batch]).all()))
        del hetero["author"].time  # without times: always there
        batch = next(iter(NeighborLoader(hetero, [-1, -1], "paper", batch_size=10, time_attr="time")))
        self.assertGreater(batch["author"].num_nodes, 0)
        self.assertTrue(bool((batch["paper"].time <= batch["paper"].time[:10][batch["paper"].batch]).all()))

    def test_times_of_edges(self):
        data = homogeneous()
        data.edge_time = torch.randint(0, 50, (500,))
        given = torch.randint(0, 50, (100,))
        for batch in NeighborLoader(data, [-1, -1], batch_size=10, time_attr="edge_time", input_time=given):
            limit = batch.seed_time[batch.batch[batch.edge_index[1]]]
            self.assertTrue(bool((batch.edge_time <= limit).all()))
            self.mapped(batch, data)
        # All that are early enough are there at the first hop.
        batch = next(iter(NeighborLoader(data, [-1], torch.tensor([3]), input_time=torch.tensor([20]), batch_size=1, time_attr="edge_time")))
        wanted = ((data.edge_index[1] == 3) & (data.edge_time <= 20)).nonzero().flatten()
        self.assertEqual(batch.e_id.sort()[0].tolist(), wanted.tolist())
        last = next(iter(NeighborLoader(data, [1], torch.tensor([3]), input_time=torch.tensor([40]), batch_size=1, time_attr="edge_time",
                                        temporal_strategy="last")))
        early = (data.edge_index[1] == 3) & (data.edge_time <= 40)
        self.assertEqual(int(data.edge_time[last.e_id[0]]), int(data.edge_time[early].max()))
        hetero = bibliography()
        for t in hetero.edge_types:
            hetero[t].time = torch.randint(0, 50, (hetero[t].num_edges,))
        for batch in NeighborLoader(hetero, [3, 3], "paper", input_time=given, batch_size=10, time_attr="time"):
            for t in hetero.edge_types:
                limit = batch["paper"].seed_time[batch[t[-1]].batch[batch[t].edge_index[1]]]
                self.assertTrue(bool((batch[t].time <= limit).all()))
        # Where a type is empty, its times are missing or empty.
        for time in (None, torch.empty(0, dtype=torch.int64)):
            hetero["author", "knows", "paper"].edge_index = torch.empty(2, 0, dtype=torch.int64)
            if time is not None:
                hetero["author", "knows", "paper"].time = time
            for batch in NeighborLoader(hetero, [3, 3], "paper", input_time=given, batch_size=10, time_attr="time"):
                self.assertEqual(batch["author", "knows", "paper"].num_edges, 0)
                self.assertGreater(batch["paper", "author"].num_edges, 0)

    def test_sorted_edges(self):
        data = homogeneous()
        order = data.edge_index[1].argsort(stable=True)
        data.edge_index, data.edge_attr = data.edge_index[:, order], data.edge_attr[order]
        one = [content(b) for b in self.epoch(data, is_sorted=True)]
        self.assertEqual([content(b) for b in self.epoch(data)], one)
        both = (data.edge_index[1] * 100 + data.edge_index[0]).argsort(stable=True)
        data.edge_index = data.edge_index[:, both]
        self.assertIsNone(NeighborSampler(data, [2], is_sorted=True).edge_permutation)
        self.mapped(next(iter(NeighborLoader(data, [3], batch_size=10))), data)

    def epoch(self, data, seed=3, **how):
        torch.manual_seed(seed)
        return list(NeighborLoader(data, [3, 3], batch_size=20, **how))

    def test_transforms(self):
        data, order = homogeneous(), []

        def of_output(out):
            order.append(type(out))
            out.edge = None
            return out

        def of_data(batch):
            order.append(type(batch))
            batch.seen = True
            return batch

        batch = next(iter(NeighborLoader(data, [3], batch_size=5, transform=of_data, transform_sampler_output=of_output)))
        self.assertEqual(order, [SamplerOutput, Data])
        self.assertTrue(batch.seen)
        self.assertNotIn("e_id", batch)
        self.assertNotIn("edge_attr", batch)

    def test_other_samplers_of_torch(self):
        data = homogeneous()
        batches = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(range(100)), 30, drop_last=True)
        self.assertEqual([b.batch_size for b in NeighborLoader(data, [2], batch_sampler=batches)], [30] * 3)
        self.assertEqual([b.batch_size for b in NeighborLoader(data, [2], batch_size=30, drop_last=True)], [30] * 3)
        weighted = torch.utils.data.WeightedRandomSampler([1.0] * 10 + [0.0] * 90, 50)
        for batch in NeighborLoader(data, [2], batch_size=25, sampler=weighted):
            self.assertLess(int(batch.n_id[:25].max()), 10)
        seen = torch.cat([b.input_id for b in NeighborLoader(data, [2], batch_size=30, shuffle=True)])
        self.assertEqual(seen.sort()[0].tolist(), list(range(100)))
        self.assertNotEqual(seen.tolist(), list(range(100)))
        self.assertEqual(next(iter(NeighborLoader(data, [2], batch_size=None))).batch_size, 1)

    def test_called_by_hand(self):
        data = homogeneous()
        for filter_per_worker in (True, False):
            loader = NeighborLoader(data, [3], torch.arange(50, 100), filter_per_worker=filter_per_worker)
            for index in ([1, 4], torch.tensor([1, 4])):
                batch = loader(index)
                self.assertEqual((batch.n_id[:2].tolist(), batch.input_id.tolist()), ([51, 54], [1, 4]))

    def test_a_sampler_of_ones_own(self):
        class Mine(BaseSampler):
            def sample_from_nodes(self, index):
                none = torch.empty(0, dtype=torch.int64)
                return SamplerOutput(index.node, none, none, none, metadata=(index.input_id, index.time))

            def sample_from_edges(self, index, neg_sampling=None):
                raise NotImplementedError

        pipeline._said.clear()
        with self.assertWarnsRegex(RuntimeWarning, "not ahead: neighbor_sampler: a Mine"):
            batch = next(iter(NeighborLoader(homogeneous(), [3], batch_size=5, neighbor_sampler=Mine())))
        self.assertEqual((batch.n_id.tolist(), batch.num_edges), ([0, 1, 2, 3, 4], 0))
        shared = NeighborSampler(homogeneous(), [3, 2])
        data = homogeneous()
        self.assertEqual(len(next(iter(NeighborLoader(data, None, batch_size=5, neighbor_sampler=shared))).num_sampled_edges), 2)
        shared.num_neighbors = [4]
        self.assertEqual(len(next(iter(NeighborLoader(data, None, batch_size=5, neighbor_sampler=shared))).num_sampled_edges), 1)

    def test_pygs_own_loader_takes_the_sampler(self):
        data = homogeneous()
        loader = torch_geometric.loader.NodeLoader(data, NeighborSampler(data, [3, 3]), batch_size=20)
        for batch in loader:
            self.mapped(batch, data)
            self.assertTrue(torch.equal(batch.edge_attr, batch.e_id))

    def test_without_edges(self):
        batch = next(iter(NeighborLoader(Data(x=torch.randn(3, 1)), [-1], batch_size=2)))
        self.assertEqual((batch.num_nodes, batch.num_sampled_nodes, batch.n_id.tolist()), (2, [2, 0], [0, 1]))
        data = bibliography()
        data["paper", "paper"].edge_index = torch.empty(2, 0, dtype=torch.int64)
        data["paper", "paper"].edge_attr = torch.empty(0)
        batch = next(iter(NeighborLoader(data, [3, 3], "paper", batch_size=10)))
        self.assertEqual((batch["paper", "paper"].num_edges, batch["paper", "paper"].num_sampled_edges), (0, [0, 0]))
        self.assertGreater(batch["author", "paper"].num_edges, 0)
        data = HeteroData(paper=dict(num_nodes=10))
        self.assertEqual(next(iter(NeighborLoader(data, [2], "paper", batch_size=4)))["paper"].num_nodes, 4)

    # --- what draws are a function of ---
    def test_an_epoch_is_repeated_by_its_seed_and_no_other_is_like_it(self):
        data = homogeneous()
        first = [content(b) for b in self.epoch(data)]
        self.assertEqual([content(b) for b in self.epoch(data)], first)
        self.assertNotEqual([content(b) for b in self.epoch(data, seed=4)], first)
        torch.manual_seed(3)
        loader = NeighborLoader(data, [3, 3], batch_size=20)
        epochs = [[content(b) for b in loader] for _ in range(3)]
        self.assertEqual(epochs[0], first)
        self.assertNotIn(epochs[1], (epochs[0], epochs[2]))
        same = NeighborLoader(data, [2, 2], torch.zeros(200, dtype=torch.int64), batch_size=1)  # mini-batches of the same seeds
        self.assertGreater(len({str(b.e_id.tolist()) for b in same}), 3)
        own = [[content(b) for b in NeighborLoader(data, [3], batch_size=50, generator=torch.Generator().manual_seed(5))] for _ in range(2)]
        self.assertEqual(own[0], own[1])

    def test_workers_draw_the_same(self):
        data = homogeneous()
        del data.edge_attr
        want = [content(b) for b in self.epoch(data)]
        for how in ("fork", "spawn", "forkserver"):
            for filter_per_worker in (True, False):
                if filter_per_worker == {"spawn": False, "forkserver": True}.get(how):  # each takes seconds to begin
                    continue
                torch.manual_seed(3)
                loader = NeighborLoader(data, [3, 3], batch_size=20, num_workers=2, multiprocessing_context=how, filter_per_worker=filter_per_worker,
                                        transform=tenfold, persistent_workers=how == "spawn")
                with self.subTest(how=how, filter_per_worker=filter_per_worker):
                    for repeat in range(1 + (how == "spawn")):
                        torch.manual_seed(3)
                        got = list(loader)
                        for batch in got:
                            batch.x = batch.x // 10
                        self.assertEqual([content(b) for b in got], want)

    def test_rows_of_files_and_tables(self):
        data = homogeneous()
        rows = np.random.default_rng(1).standard_normal((100, 8)).astype("f4")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "x.npy"
            np.save(file, rows)
            for x in (np.load(file, mmap_mode="r"), garner.tiered(torch.from_numpy(rows)), garner.tiered(str(file)), torch.from_numpy(rows)):
                data.x = x
                for workers in (0, 2):
                    for batch in NeighborLoader(data, [5, 5], batch_size=25, num_workers=workers):
                        self.assertTrue(torch.equal(batch.x.cpu(), torch.from_numpy(rows)[batch.n_id.cpu()]))

    def test_places(self):
        gpu = bool(garner.info()["devices"]) and torch.cuda.is_available()
        for data, how in ((homogeneous(), {}), (bibliography(), dict(input_nodes="paper"))):
            want = [content(b) for b in self.epoch(data, **how)]
            for place in ["simulated"] + ["cuda:0", 0, torch.device("cuda", 0)] * gpu:
                for budget in [None] + ["1KiB"] * (place != "simulated"):
                    got = self.epoch(data, device=place, graph_cache=budget, **how)
                    self.assertEqual([content(b) for b in got], want)

    def test_lists_kept_by_score(self):
        for data, how, scores in ((homogeneous(), {}, torch.rand(100)),
                                  (bibliography(), dict(input_nodes="paper"), {"paper": np.random.default_rng(1).random(100), "author": None})):
            want = [content(b) for b in self.epoch(data, **how)]
            loader = NeighborLoader(data, [5, 5], device="simulated", graph_cache=2000, scores=scores, **how)
            self.assertRegex(loader.node_sampler.engine()[0].summary(), r"near: the lists of \d+ vertices by score")
            self.assertRegex(pickle.loads(pickle.dumps(loader.node_sampler)).engine()[0].summary(), "by score")
            self.assertEqual([content(b) for b in self.epoch(data, device="simulated", graph_cache=2000, scores=scores, **how)], want)
        for data, scores, words in ((homogeneous(), torch.rand(99), r"scores: of shape \(99,\) for 100 nodes; give each one"),
                                    (bibliography(), torch.rand(100), "give a dict"),
                                    (bibliography(), {"author": torch.rand(100)}, "for 200 nodes of type 'author'"),
                                    (bibliography(), {"venue": torch.rand(100)}, "no nodes of type 'venue'")):
            with self.assertRaisesRegex(garner.UsageError, words):
                NeighborLoader(data, [5], scores=scores, input_nodes=None if "x" in data else "paper")

    def test_where_the_data_lie(self):
        if not (garner.info()["devices"] and torch.cuda.is_available()):
            self.skipTest("needs a GPU (none here)")
        data = homogeneous()
        want = [content(b) for b in self.epoch(data)]
        for batch, one in zip(self.epoch(data.clone().to("cuda")), want):  # where the data lie
            self.assertTrue(all(v.is_cuda for v in batch.stores[0].values() if isinstance(v, torch.Tensor) and v is not batch.input_id))
            self.assertEqual(content(batch), one)
        data.x = garner.tiered(data.x, device=0, feature_cache="256B")
        for batch, one in zip(self.epoch(data), want):
            self.assertTrue(batch.x.is_cuda and batch.n_id.is_cuda)
            self.assertEqual(content(batch), one)

    def test_pickled(self):
        data = homogeneous()
        sampler = NeighborSampler(data, [3, 3], time_attr=None)
        for other in (pickle.loads(pickle.dumps(sampler)), copy.copy(sampler)):
            self.assertEqual([content(b) for b in self.epoch(data, neighbor_sampler=other)], [content(b) for b in self.epoch(data)])

    # --- stores ---
    def stores(self, features, graph):
        features, graph, data = features(), graph(), HeteroData()
        for t, x in (("paper", torch.arange(100)), ("author", torch.arange(100, 300))):
            data[t].x = x
            features.put_tensor(x, group_name=t, attr_name="x", index=None)
        for t, layout in ((("paper", "to", "paper"), "coo"), (("paper", "to", "author"), "csr"), (("author", "to", "paper"), "csc"),
                          (("author", "to", "author"), "sorted")):
            sizes = data[t[0]].num_nodes, data[t[2]].num_nodes
            edge_index = edges_between(*sizes, 600)
            by = {"coo": torch.arange(600), "csr": edge_index[0].argsort(stable=True)}.get(layout, edge_index[1].argsort(stable=True))
            edge_index = edge_index[:, by]
            data[t].edge_index = edge_index
            if isinstance(graph, HeteroData):  # whose other layouts need torch-sparse
                layout = "sorted" if layout == "csc" else "coo" if layout == "csr" else layout
            ends = [edge_index[0], edge_index[1]]
            if layout in ("csr", "csc"):
                end = 0 if layout == "csr" else 1
                ends[end] = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(ends[end], minlength=sizes[end]).cumsum(0)])
            graph.put_edge_index(tuple(ends), edge_type=t, layout="coo" if layout == "sorted" else layout, size=sizes, is_sorted=layout == "sorted")
        return features, graph, data

    def test_stores_of_any_kind(self):
        for features in (MyFeatureStore, HeteroData, FeatureStore):
            for graph in (MyGraphStore, HeteroData, GraphStore):
                with self.subTest(features=features, graph=graph):
                    *both, data = self.stores(features, graph)
                    loaders = [NeighborLoader(d, [-1] * 2, ("paper", range(100)), batch_size=20) for d in (data, tuple(both))]
                    self.assertEqual(str(loaders[0]), str(loaders[1]))
                    self.assertEqual(len(loaders[0]), len(loaders[1]))
                    for one, two in zip(*loaders):
                        self.assertEqual(len(one) + 1, len(two))  # num_nodes
                        self.assertEqual(one["paper"].batch_size, two["paper"].batch_size)
                        for t in ("paper", "author"):
                            self.assertTrue(torch.equal(one[t].x.sort()[0], two[t].x.sort()[0]))
                            self.assertEqual(two[t].num_nodes, two[t].n_id.numel())
                        for t in data.edge_types:
                            self.assertEqual(sorted(one[t].e_id.tolist()), sorted(two[t].e_id.tolist()))
                        self.mapped(two, data)

    def test_features_of_edges_in_stores_are_those_of_the_edges(self):
        for features in (MyFeatureStore, FeatureStore):
            store, graph, data = self.stores(features, GraphStore)
            for t in data.edge_types:
                store.put_tensor(torch.arange(600), group_name=t, attr_name="edge_attr", index=None)
            for batch in NeighborLoader((store, graph), [4, 4], "paper", batch_size=20):
                for t in data.edge_types:
                    self.assertTrue(torch.equal(batch[t].edge_attr, batch[t].e_id))
                self.mapped(batch, data)
        # In a graph of one type too, where the number of rows decides between attributes of nodes and of edges.
        for features in (MyFeatureStore, FeatureStore):
            for edges in (500, 100):
                data = homogeneous(100, edges)
                store, graph = features(), GraphStore()
                store.put_tensor(data.x * 2, group_name=None, attr_name="x", index=None)
                store.put_tensor(data.edge_attr * 3, group_name=None, attr_name="edge_attr", index=None)
                graph.put_edge_index(data.edge_index, edge_type=None, layout="coo", size=(100, 100))
                for batch in NeighborLoader((store, graph), [3, 3], torch.arange(100), batch_size=20):
                    self.assertTrue(torch.equal(batch.x, batch.n_id * 2))
                    self.assertTrue(torch.equal(batch.edge_attr, batch.e_id * 3))
                    self.assertEqual(batch.num_nodes, batch.n_id.numel())
                    self.mapped(batch, data)
        store.put_tensor(torch.arange(7), group_name=None, attr_name="seven", index=None)
        with self.assertRaisesRegex(garner.InputError, "'seven' has 7 rows"):
            next(iter(NeighborLoader((store, graph), [3], torch.arange(5), batch_size=5)))

    def test_rows_behind_the_last_node(self):
        """More rows than nodes are taken, as PyG has it; fewer are refused when the loader is made."""
        for hetero in (False, True):
            group, edge_type = ("n", ("n", "to", "n")) if hetero else (None, None)
            for features in (MyFeatureStore, FeatureStore):
                store, graph = features(), GraphStore()
                for name, count, of in (("x", 250, group), ("y", 130, group), ("edge_attr", 700, edge_type), ("time", 140, group)):
                    store.put_tensor(torch.arange(count) * 2, group_name=of, attr_name=name, index=None)
                graph.put_edge_index(edges_between(100, 100, 500), edge_type=edge_type, layout="coo", size=(100, 100))
                for options in ({}, {"device": "simulated", "feature_cache": 900}, {"time_attr": "time"}):
                    loader = NeighborLoader((store, graph), [3, 3], (group, torch.arange(100)) if hetero else None, batch_size=30, **options)
                    for batch in loader:
                        nodes, edges = (batch["n"], batch[edge_type]) if hetero else (batch, batch)
                        self.assertTrue(torch.equal(nodes.x, nodes.n_id * 2) and torch.equal(nodes.y, nodes.n_id * 2))
                        self.assertTrue(torch.equal(edges.edge_attr, edges.e_id * 2))
                for name, count, of in (("x", 99, group), ("edge_attr", 499, edge_type)):
                    store.put_tensor(torch.arange(count), group_name=of, attr_name=name, index=None)
                    with self.assertRaisesRegex(garner.InputError, f"'{name}'.* has {count} rows"):
                        NeighborLoader((store, graph), [3], (group, torch.arange(5)) if hetero else torch.arange(5))
                    store.put_tensor(torch.arange(900), group_name=of, attr_name=name, index=None)

    def test_times_and_weights_in_stores(self):
        data = homogeneous()
        data.time = torch.arange(100, 0, -1)
        store, graph = FeatureStore(), GraphStore()
        for name, rows in (("x", data.x), ("time", data.time), ("edge_time", data.edge_attr), ("w", (data.edge_attr % 2).float())):
            store.put_tensor(rows, group_name=None, attr_name=name, index=None)
        graph.put_edge_index(data.edge_index, edge_type=None, layout="coo", size=(100, 100))
        both = [[content(b) for b in self.epoch(d, time_attr="time", input_nodes=torch.arange(100))] for d in (data, (store, graph))]
        self.assertEqual([b["(0, 'n_id')"] for b in both[0]], [b["(0, 'n_id')"] for b in both[1]])
        for batch in self.epoch((store, graph), time_attr="edge_time", input_nodes=torch.arange(100), input_time=torch.full((100,), 250)):
            self.assertLessEqual(int(batch.e_id.max()), 250)
        for batch in self.epoch((store, graph), weight_attr="w", input_nodes=torch.arange(100)):
            self.assertTrue(bool((batch.e_id % 2 == 1).all()))
        with self.assertRaises(NotImplementedError):
            NeighborLoader((store, graph), [3], torch.arange(5), weight_attr="none_such")
        with self.assertRaisesRegex(garner.UsageError, "no such attribute"):
            NeighborLoader((store, graph), [3], torch.arange(5), time_attr="none_such")

    def test_a_graph_of_garner_in_a_store(self):
        source, target = edges_between(100, 100, 600)
        for how, order in ((dict(undirected=True), None), (dict(undirected=True), "degree"), (dict(in_edges=True), "random"), (dict(in_edges=True), None)):
            g = garner.build(source, target, num_nodes=100, **how)
            if order:
                g.reorder(order)
            offsets, targets, _ = g.csr()
            coo = torch.stack([torch.repeat_interleave(torch.arange(100), torch.from_numpy(np.diff(offsets))), torch.tensor(targets).long()])
            store, graph = FeatureStore(), GraphStore()
            graph.put_graph(g)
            store.put_tensor(torch.arange(100), group_name=None, attr_name="x", index=None)
            for features in (False, True):
                if features:
                    store.put_tensor(torch.arange(coo.size(1)), group_name=None, attr_name="edge_attr", index=None)
                loader = NeighborLoader((store, graph), [-1, 2], torch.arange(100), batch_size=20)
                for batch in loader:
                    self.assertTrue(torch.equal(batch.x, batch.n_id))
                    ends = batch.n_id[batch.edge_index]
                    self.assertTrue(pairs(ends) <= pairs(coo))
                    if features:
                        self.assertTrue(torch.equal(ends, coo[:, batch.e_id]))
                        self.assertTrue(torch.equal(batch.edge_attr, batch.e_id))
                    degree = torch.bincount(coo[1], minlength=100)[batch.n_id[:20]]
                    self.assertEqual(torch.bincount(batch.edge_index[1], minlength=20)[:20].tolist(), degree.tolist())
                if features:  # and times of edges
                    times = FeatureStore()
                    times.put_tensor(torch.arange(100), group_name=None, attr_name="x", index=None)
                    times.put_tensor(torch.arange(coo.size(1)) % 50, group_name=None, attr_name="edge_time", index=None)
                    for batch in NeighborLoader((times, graph), [-1, 2], torch.arange(100), batch_size=20, time_attr="edge_time",
                                                input_time=torch.full((100, ), 20)):
                        self.assertTrue(torch.equal(batch.n_id[batch.edge_index], coo[:, batch.e_id]))
                        self.assertLessEqual(int((batch.e_id % 50).max()), 20)
                if not features or order:  # another process has the lists alone, and draws by its own order
                    continue
                torch.manual_seed(1)
                here = [content(b) for b in loader]
                torch.manual_seed(1)
                there = NeighborLoader((store, graph), [-1, 2], torch.arange(100), batch_size=20, num_workers=1, multiprocessing_context="spawn",
                                       neighbor_sampler=loader.node_sampler, filter_per_worker=False)
                self.assertEqual([content(b) for b in there], here)
        graph.put_graph(garner.build(source, target, num_nodes=100))  # directed; the loader builds its in-edges
        batch = next(iter(NeighborLoader((store, graph), [3], torch.arange(5))))
        there = set(zip(np.asarray(source).tolist(), np.asarray(target).tolist()))
        self.assertTrue({tuple(pair) for pair in batch.n_id[batch.edge_index].t().tolist()} <= there)

    def test_a_graph_in_place_of_an_edge_index(self):
        data = homogeneous()
        graph = garner.build(data.edge_index, num_nodes=100, keep_duplicates=True, keep_loops=True)
        pairs = set(map(tuple, data.edge_index.t().tolist()))
        for key in [key for key in data.keys() if data.is_edge_attr(key)]:
            del data[key]
        for place in (None, "simulated"):
            seen = 0
            for batch in NeighborLoader(data, [3, 2], batch_size=30, graph=graph, device=place):
                self.assertTrue(torch.equal(batch.x, data.x[batch.n_id]))
                self.assertTrue({tuple(pair) for pair in batch.n_id[batch.edge_index].t().tolist()} <= pairs)
                seen += batch.num_edges
            self.assertGreater(seen, 100)

    def test_a_class_of_ones_own(self):
        class Mine(Data):
            pass

        data = homogeneous()
        store, graph = FeatureStore(), GraphStore()
        store.put_tensor(data.x, group_name=None, attr_name="x", index=None)
        graph.put_edge_index(data.edge_index, edge_type=None, layout="coo", size=(100, 100))
        self.assertIsInstance(next(iter(NeighborLoader((store, graph), [3], torch.arange(5), custom_cls=Mine))), Mine)
        self.assertIs(type(next(iter(NeighborLoader(data, [3], custom_cls=Mine)))), Data)  # as PyG, which takes it for stores alone
        self.assertEqual((list(NeighborLoader(data, [3]).dataset), NeighborLoader(data, [3]).dataset[7]), (list(range(100)), 7))

    # --- ahead: by garner.Loader, or one after the other ---
    def test_ahead_is_what_one_after_the_other_is(self):
        """Field by field, the same bits, and as much drawn of torch's generator."""
        def graph():
            torch.manual_seed(5)
            data = Data(x=torch.randn(120, 7), edge_index=edges_between(120, 120, 900), edge_attr=torch.arange(900), y=torch.randint(9, (120,)),
                        heat=torch.rand(900), age=torch.randint(50, (120,)), train_mask=torch.rand(120) < 0.5, name="a graph")
            data.of_numpy = np.arange(240, dtype=np.float32).reshape(120, 2)
            data.strange = torch.randn(7, 120).t()  # not contiguous
            data.edge_index = data.edge_index[:, data.edge_index[1].argsort(stable=True)] if sorted_edges else data.edge_index
            return data

        seeds = torch.cat([torch.arange(100, 20, -1), torch.tensor([3, 3])])
        ages = torch.arange(82)
        for sorted_edges, options in [
                (False, {}), (True, {}), (False, dict(replace=True)), (False, dict(disjoint=True)), (False, dict(weight_attr="heat")),
                (False, dict(subgraph_type="bidirectional")), (False, dict(subgraph_type="induced")), (False, dict(drop_last=True)),
                (False, dict(time_attr="age")), (False, dict(time_attr="age", input_time=ages, temporal_strategy="last")),
                (False, dict(transform=tenfold)), (False, dict(filter_per_worker=True)), (False, dict(device="simulated")),
                (False, dict(batch_size=1000)), (False, dict(sampler=torch.utils.data.SubsetRandomSampler([3, 1, 4, 1, 5])))]:
            for how in ({"shuffle": False}, {"shuffle": True}, {"shuffle": True, "generator": torch.Generator()}):
                if "sampler" in options:
                    how.pop("shuffle")
                for table in (False, True):
                    with self.subTest(sorted_edges=sorted_edges, table=table, **options, **how):
                        told = []
                        for ahead in (True, False):
                            data = graph()
                            if table:
                                data.x = garner.tiered(data.x, device=options.get("device", "host"))
                            if "generator" in how:
                                how["generator"].manual_seed(7)
                            loader = NeighborLoader(data, [4, 3], seeds, **{"batch_size": 20, **how, **options})
                            if not ahead:
                                loader._not_ahead = lambda: ""
                            torch.manual_seed(9)
                            pipeline._said.clear()
                            with self.assertWarnsRegex(RuntimeWarning, "strange: .* not contiguous") if ahead else contextlib.nullcontext():
                                epochs = [[content(batch) for batch in loader] for _ in range(2)]
                            self.assertEqual(bool(loader.report), ahead)
                            told.append((epochs, torch.randint(1 << 40, (3,)).tolist(), how["generator"].get_state().tolist() if "generator" in how else 0))
                        self.assertTrue(told[0] == told[1])  # lists too long to be printed
                        self.assertEqual(epochs[0] == epochs[1], how.get("shuffle") is False and options.get("temporal_strategy") == "last")
                        self.assertTrue(epochs[0])

    def test_ahead_where_it_can(self):
        data = homogeneous()
        mine = type("Mine", (NeighborLoader,), {"filter_fn": lambda self, out: NeighborLoader.filter_fn(self, out)})
        for options in ({}, {"transform_sampler_output": lambda out: out}, {"num_workers": 1}, {"batch_sampler": [[1, 2], [3]]},
                        {"sampler": [4, 5, 6]}):
            for kind in (NeighborLoader, mine):
                loader = kind(data, [3], **({} if "batch_sampler" in options else {"batch_size": 30}), **options)
                list(loader)
                self.assertEqual(bool(loader.report), "num_workers" not in options, options)
        none = NeighborLoader(data, [0], batch_size=30)
        self.assertEqual((len(list(none)), none.report), (4, {}))

    def test_state(self):
        """A second loader goes on with the very next mini-batch, whatever else was sampled meanwhile."""
        data = homogeneous()
        warnings.simplefilter("ignore")  # of what is not made ahead

        class Mine(NeighborSampler):
            def sample_from_nodes(self, index, **draw):
                return super().sample_from_nodes(index, **draw)
        for options in ({}, {"shuffle": True}, {"shuffle": True, "generator": torch.Generator()}, {"shuffle": True, "num_workers": 1},
                        {"batch_sampler": [[3, 1], [4], [1, 5], [9]]}, {"shuffle": True, "neighbor_sampler": Mine(data, [3, 2])}):
            with self.subTest(**options):
                def made():
                    return NeighborLoader(data, [3, 2], **({} if "batch_sampler" in options else {"batch_size": 30}), **options)
                loader, other = made(), made()
                self.assertEqual(loader.state_dict(), {})
                torch.manual_seed(4)
                whole, it = [], iter(loader)
                for k in range(4):
                    whole.append(content(next(it)))
                    if k == 1:
                        state = pickle.loads(pickle.dumps(loader.state_dict()))
                self.assertEqual(list(it), [])
                after = torch.default_generator.get_state()
                self.assertEqual(loader.state_dict(), {})
                torch.manual_seed(8)
                other.load_state_dict(state)
                self.assertEqual(other.state_dict()["handed_over"], 2)
                with self.assertRaisesRegex(garner.InputError, "of mini-batches of .*, and this loader has 7"):
                    NeighborLoader(data, [3], batch_size=7).load_state_dict(state)
                before = torch.default_generator.get_state()
                rest = iter(other)
                self.assertEqual(len(rest), 2)
                self.assertTrue([content(b) for b in rest] == whole[2:])
                self.assertTrue(torch.equal(torch.default_generator.get_state(), before))
                self.assertEqual(len(list(other)), 4)
                del after
        with self.assertRaisesRegex(garner.InputError, "give what state_dict"):
            loader.load_state_dict({"epoch": 1})

    def test_what_has_no_length(self):
        class Endless:
            def __iter__(self):
                return iter(lambda: [3, 1, 4], None)

        data = homogeneous()
        loader = NeighborLoader(data, [3, 2], batch_sampler=Endless())
        for k, batch in zip(range(90), loader):
            self.assertEqual(batch.n_id[:3].tolist(), [3, 1, 4])
        hetero = bibliography()
        some = hetero.edge_types
        loader = NeighborLoader(hetero, {t: [3, 2] for t in some}, "paper", batch_size=10)
        list(loader)
        loader.node_sampler.num_neighbors = {t: [0, 0] if t == some[0] else [3, 2] for t in some}
        for batch in loader:
            self.assertEqual(batch[some[0]].edge_index.shape, (2, 0))

    def test_numbers_of_edges_are_made_when_they_are_read(self):
        data, hetero = homogeneous(), bibliography()
        for key in [key for key in data.keys() if data.is_edge_attr(key) and key != "edge_index"]:
            del data[key]
        for batch in NeighborLoader(data, [3, 2], batch_size=30):
            moved, copied = batch.to("cpu"), copy.copy(batch)
            self.assertIsInstance(moved._store._mapping.raw("e_id"), Later)
            self.assertIn("e_id", copied)
            self.assertIn("e_id", moved.keys())
            for some in (copied, moved, pickle.loads(pickle.dumps(batch)), batch.clone()):
                self.assertEqual(some.e_id.dtype, torch.int64)
                self.assertTrue(torch.equal(data.edge_index[:, some.e_id], some.n_id[some.edge_index]))
            self.assertEqual(batch.num_edges, Data.from_dict(batch.to_dict()).e_id.numel())
        for batch in NeighborLoader(hetero, [3, 2], "paper", batch_size=10):
            for t in batch.edge_types:
                ends = batch[t].edge_index
                self.assertTrue(torch.equal(hetero[t].edge_index[:, batch[t].e_id],
                                            torch.stack([batch[t[0]].n_id[ends[0]], batch[t[-1]].n_id[ends[1]]])))

    def test_what_is_kept_near(self):
        """The rows that are read most, short ones first; an explicit table as it was made."""
        data = homogeneous()
        hub = torch.arange(90, 100)
        data.edge_index = torch.stack([hub[torch.randint(10, (500,))], torch.randint(90, (500,))])
        data.wide = torch.arange(100.)[:, None].repeat(1, 16)
        for bytes_kept, kept in (("100KiB", 100), (10 * 64 + data.x.nbytes + 500 * 12, 10), (0, 0)):
            del_x = NeighborLoader(data, [8], torch.arange(90), batch_size=9, device="simulated", feature_cache=bytes_kept)
            for batch in del_x:
                self.assertTrue(torch.equal(batch.wide[:, 3], batch.n_id.float()))
            (wide,) = [table for field, table in del_x._tables.of.items() if field.name == "wide"]
            self.assertEqual(wide.tiers["device"], kept)
            if kept == 10:
                self.assertGreater(del_x.report["rows"]["device"], 90 + 10 * 10)  # hubs are in every mini-batch
            told = del_x.explain()
            self.assertIn("samples and gathers on simulated, ahead", told)
            self.assertIn("wide: ", told)
        loader = NeighborLoader(data, [8], torch.arange(90), batch_size=9, device="simulated", feature_cache="100KiB")
        list(loader)
        data.wide += 1000  # in place, while GPU memory holds copies
        for batch in loader:
            self.assertTrue(torch.equal(batch.wide[:, 3], batch.n_id + 1000.))
        data.wide -= 1000
        table = garner.tiered(data.wide, device="simulated", feature_cache=128)
        data.wide = table
        loader = NeighborLoader(data, [8], torch.arange(90), batch_size=9, device="simulated", feature_cache="100KiB")
        list(loader)
        self.assertEqual([t.tiers["device"] for f, t in loader._tables.of.items() if f.name == "wide"], [2])
        for wrong in ("much", -1, 2.5):
            with self.assertRaisesRegex(garner.UsageError, "feature_cache is"):
                NeighborLoader(data, [8], feature_cache=wrong)

    def test_ahead_of_two_and_of_what_changes(self):
        data = homogeneous()
        loader = NeighborLoader(data, [3], batch_size=30)
        other = NeighborLoader(data, [3], batch_size=30, neighbor_sampler=loader.node_sampler)
        torch.manual_seed(2)
        want = [[content(b) for b in loader] for _ in range(4)]
        torch.manual_seed(2)
        both = [(content(a), content(b)) for a, b in zip(loader, loader)]  # two iterations at once
        self.assertTrue([[a for a, _ in both], [b for _, b in both]] == want[:2])
        both = [(content(a), content(b)) for a, b in zip(loader, other)]  # of one sampler
        self.assertTrue([[a for a, _ in both], [b for _, b in both]] == want[2:])
        kept = list(loader)
        self.assertEqual([b.n_id.tolist() for b in kept], [b.x.tolist() for b in kept])
        next(iter(loader))  # broken off
        self.assertEqual(len(list(loader)), 4)
        before = loader._idle[1]
        data.x = data.x + 1000  # seen by the next epoch
        for batch in loader:
            self.assertTrue(torch.equal(batch.x, batch.n_id + 1000))
        self.assertIsNot(loader._idle[1], before)
        before = loader._idle[1]
        data.x += 1
        for batch in loader:
            self.assertTrue(torch.equal(batch.x, batch.n_id + 1001))
        self.assertIs(loader._idle[1], before)
        again = pickle.loads(pickle.dumps(loader))
        self.assertEqual(len(list(again)), 4)

    # --- refusals ---
    def test_refusals(self):
        data = homogeneous()
        data.time, data.w = torch.arange(100), torch.rand(500)
        hetero = bibliography()
        for wrong, kind, words in [
                (dict(input_nodes=torch.tensor([3, 100])), garner.IdError, "100 at position 1"),
                (dict(input_nodes=torch.tensor([-1])), garner.IdError, "-1 at position 0"),
                (dict(input_time=torch.arange(100)), ValueError, "'input_time' is set"),
                (dict(input_time=torch.arange(9), time_attr="time"), garner.UsageError, "9 times for 100"),
                (dict(input_time=[0.5] * 100, time_attr="time"), garner.UsageError, "whole number"), (dict(time_attr=["time"]), garner.UsageError, "time_attr is"),
                (dict(input_id=[1, 2]), garner.UsageError, "input_id: 2 for 100"), (dict(loading={"window": 2.5}), garner.UsageError, "window is 2.5"),
                (dict(input_nodes=("paper", [1])), garner.UsageError, "input_nodes is"), (dict(input_nodes={"paper": [1]}), garner.UsageError, "input_nodes is"),
                (dict(time_attr="age"), ValueError, "neither"), (dict(weight_attr="heat"), ValueError, "heat"),
                (dict(weight_attr="w", time_attr="time"), garner.UsageError, "weight_attr and time_attr"),
                (dict(subgraph_type="induced", disjoint=True), garner.UsageError, "induced"),
                (dict(subgraph_type="whole"), ValueError, "whole"), (dict(temporal_strategy="first"), garner.UsageError, "first"),
                (dict(device="moon"), garner.UsageError, "moon"), (dict(hops=3), TypeError, "hops")]:
            with self.assertRaisesRegex(kind, words):
                next(iter(NeighborLoader(data, [3, 3], **wrong)))
        data.w = torch.tensor([float("nan")] * 500)
        with self.assertRaises(garner.InputError):
            NeighborLoader(data, [3], weight_attr="w")
        data.time = torch.rand(100)
        with self.assertRaisesRegex(garner.UsageError, "whole number"):
            NeighborLoader(data, [3], time_attr="time")
        with self.assertRaisesRegex(garner.IdError, "source 100 of edge 1"):
            NeighborLoader(Data(x=torch.zeros(100), edge_index=torch.tensor([[0, 100], [1, 1]]), num_nodes=100), [3])
        with self.assertRaisesRegex(ValueError, "FeatureStore"):
            NeighborLoader([1, 2], [3])
        with self.assertRaisesRegex(garner.UsageError, "no nodes of type 'venue'"):
            NeighborLoader(hetero, [3], ("venue", torch.arange(3)))
        for seeds in (None, torch.arange(3), {"paper": [1], "author": [2]}, [("paper", [1]), ("author", [2])], ("paper",)):
            with self.assertRaisesRegex(garner.UsageError, "several types of nodes, so give one"):
                NeighborLoader(hetero, [3], seeds)
        with self.assertRaisesRegex(garner.UsageError, "-2"):
            next(iter(NeighborLoader(hetero, [-2], "paper")))
        hetero["paper"].time = torch.arange(100)
        with self.assertRaisesRegex(garner.UsageError, "'author' that have no times"):
            next(iter(NeighborLoader(hetero, [3], "author", time_attr="time")))
        with self.assertWarnsRegex(DeprecationWarning, "subgraph_type='induced'"):
            warnings.simplefilter("always")
            batch = next(iter(NeighborLoader(homogeneous(), [3], batch_size=5, directed=False)))
        self.assertIsNone(batch.get("num_sampled_edges"))


if __name__ == "__main__":
    unittest.main()
