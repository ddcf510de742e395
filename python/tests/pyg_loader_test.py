"""garner.pyg.NeighborLoader: what PyG's own loader promises of its mini-batches, and its options."""
import unittest
import warnings

import garner
from pyg_data import Case, Data, HeteroData, bibliography, content, edges_between, homogeneous, pairs, torch

if torch is not None:
    import torch_geometric
    from torch_geometric.nn import GraphConv, SAGEConv, to_hetero
    from torch_geometric.sampler import BaseSampler, SamplerOutput
    from garner import pipeline
    from garner.pyg import FeatureStore, GraphStore, NeighborLoader, NeighborSampler


class Loader(Case):
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
