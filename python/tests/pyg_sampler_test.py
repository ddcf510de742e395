"""garner.pyg.NeighborSampler called as PyG's loaders call it; and the stores."""
import os
import pathlib
import pickle
import subprocess
import tempfile
import unittest

import numpy as np

import garner

try:
    import torch
    from torch_geometric.data import Data, HeteroData
    from torch_geometric.data.feature_store import TensorAttr
    from torch_geometric.sampler import BaseSampler, EdgeSamplerInput, HeteroSamplerOutput, NodeSamplerInput, SamplerOutput
    from torch_geometric.sampler.base import NumNeighbors
    from torch_geometric.testing import MyFeatureStore, MyGraphStore
    from garner.pyg import FeatureStore, GraphStore, NeighborLoader, NeighborSampler, stores_of
except ImportError:
    torch = None


def company(kind, reverse=False):
    """0 works with 1, 0 leads 2, 2 works with 3."""
    x, edge_attr, edge_index = torch.tensor([[0], [1], [2], [3]]), torch.tensor([1, 2, 3]), torch.tensor([[0, 0, 2], [1, 2, 3]])
    edge_index = edge_index.flip(0) if reverse else edge_index
    if kind == "data":
        return Data(edge_index=edge_index, x=x, time=x.squeeze(-1), edge_attr=edge_attr)
    features, graph = (MyFeatureStore(), MyGraphStore()) if kind == "pygs" else (FeatureStore(), GraphStore())
    graph.put_edge_index(edge_index, edge_type=None, layout="coo", is_sorted=True, size=(4, 4))
    for name, rows in (("x", x), ("time", x.squeeze(-1)), ("edge_attr", edge_attr)):
        features.put_tensor(rows, group_name="default", attr_name=name, index=None)
    return features, graph


def ranks(kind, reverse=False):
    """The same with a type for the manager: person 0 to 2 are 1 to 3 above."""
    edges = {("person", "works_with", "person"): [[1], [2]], ("manager", "leads", "person"): [[0], [1]], ("manager", "works_with", "person"): [[0], [0]]}
    if reverse:
        edges = {t[::-1]: ends[::-1] for t, ends in edges.items()}
    edges = {t: torch.tensor(ends) for t, ends in edges.items()}
    x = {"person": torch.tensor([[1], [2], [3]]), "manager": torch.tensor([[0]])}
    if kind == "data":
        data = HeteroData()
        for t, rows in x.items():
            data[t].x = rows
        for t, ends in edges.items():
            data[t].edge_index = ends
        return data
    features, graph = (MyFeatureStore(), MyGraphStore()) if kind == "pygs" else (FeatureStore(), GraphStore())
    for t, rows in x.items():
        features.put_tensor(rows, group_name=t, attr_name="x", index=None)
    for t, ends in edges.items():
        graph.put_edge_index(ends, edge_type=t, layout="coo", is_sorted=True, size=(len(x[t[0]]), len(x[t[2]])))
    return features, graph


kinds = ("data", "pygs", "garners")


@unittest.skipIf(torch is None, "needs torch and PyG (torch_geometric)")
class Sampler(unittest.TestCase):
    def test_homogeneous(self):
        none = torch.empty(0, dtype=torch.int64)
        for kind in kinds:
            sampler = NeighborSampler(company(kind), [1])
            self.assertIsInstance(sampler, BaseSampler)
            self.assertFalse(sampler.is_hetero or sampler.is_temporal or sampler.disjoint)
            out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([1])))
            self.assertEqual(str(out), str(SamplerOutput(torch.tensor([1, 0]), torch.tensor([1]), torch.tensor([0]), torch.tensor([0]), None, [1, 1], [1],
                                                         None, None, (None, None))))
            out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([0])))
            self.assertEqual(str(out), str(SamplerOutput(torch.tensor([0]), none, none, none, None, [1, 0], [0], None, None, (None, None))))

    def test_heterogeneous(self):
        for kind in kinds:
            sampler = NeighborSampler(ranks(kind), [1])
            out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([0]), input_type="person"))
            self.assertIsInstance(out, HeteroSamplerOutput)
            self.assertEqual((out.node["person"].tolist(), out.node["manager"].tolist()), ([0], [0]))
            for t, ends in out.row.items():
                want = [0] if t == ("manager", "works_with", "person") else []
                self.assertEqual((ends.tolist(), out.col[t].tolist(), out.edge[t].tolist()), (want, want, want))
            out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([0]), input_type="manager"))
            self.assertEqual((out.node["manager"].tolist(), out.node["person"].numel(), sum(e.numel() for e in out.edge.values())), ([0], 0, 0))

    def test_backward_is_forward_of_the_reversed(self):
        for kind in kinds:
            for made, index in ((company, NodeSamplerInput(None, torch.tensor([2]))), (ranks, NodeSamplerInput(None, torch.tensor([1]), None, "person"))):
                one = {(reverse, way): NeighborSampler(made(kind, reverse), [1], sample_direction=way).sample_from_nodes(index, number=3)
                       for reverse in (False, True) for way in ("forward", "backward")}
                for way in ("forward", "backward"):
                    a, b = one[False, way], one[True, "backward" if way == "forward" else "forward"]
                    if made is company:
                        self.assertEqual((a.node.tolist(), a.row.tolist(), a.col.tolist(), a.edge.tolist()),
                                         (b.node.tolist(), b.col.tolist(), b.row.tolist(), b.edge.tolist()))
                        self.assertEqual(a.node.numel(), 2)
                        continue
                    self.assertEqual({t: n.tolist() for t, n in a.node.items()}, {t: n.tolist() for t, n in b.node.items()})
                    for t in a.row:
                        self.assertEqual((a.row[t].tolist(), a.col[t].tolist(), a.edge[t].tolist()),
                                         (b.col[t[::-1]].tolist(), b.row[t[::-1]].tolist(), b.edge[t[::-1]].tolist()))
            data = company("data")
            data.w = torch.tensor([1.0, 0.0, 1.0])
            out = NeighborSampler(data, [1, 1], weight_attr="w", sample_direction="backward").sample_from_nodes(NodeSamplerInput(None, torch.tensor([0])))
            self.assertEqual((out.node.tolist(), out.row.tolist(), out.col.tolist()), ([0, 1], [0], [1]))
            for lost in (1e-50, 1e300):
                data.w = torch.tensor([1.0, 1.0, lost], dtype=torch.float64)
                with self.assertRaisesRegex(garner.InputError, r"edge_index: the weight of edge 2 is .*multiply all weights"):
                    NeighborSampler(data, [1, 1], weight_attr="w")
            with self.assertRaises(NotImplementedError):
                NeighborSampler(company(kind), [1], time_attr="time", sample_direction="backward")

    def test_times(self):
        for kind in kinds:
            for name in ("time", "edge_attr"):
                sampler = NeighborSampler(company(kind), [2, 2], time_attr=name)
                self.assertTrue(sampler.is_temporal and sampler.disjoint)
                out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([1]), torch.tensor([1])))
                self.assertEqual((out.node.tolist(), out.batch.tolist()), ([1, 0], [0, 0]))
                out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([3]), torch.tensor([1])))
                self.assertEqual(out.node.tolist(), [3])
                out = NeighborSampler(company(kind, True), [2, 2], time_attr=name).sample_from_nodes(NodeSamplerInput(None, torch.tensor([0]), torch.tensor([1])))
                self.assertEqual(out.node.tolist(), [0, 1])
            with self.assertRaisesRegex(garner.UsageError, "no times"):
                sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([1])))
            with self.assertRaisesRegex(garner.UsageError, "time_attr="):
                NeighborSampler(company(kind), [2]).sample_from_nodes(NodeSamplerInput(None, torch.tensor([1]), torch.tensor([1])))

    def test_both_ways(self):
        data = company("data")
        sampler = NeighborSampler(data, [-1], subgraph_type="bidirectional")
        sampler.keep_orig_edges = True
        out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.tensor([3, 1])))
        self.assertEqual((out.orig_row.numel(), out.row.numel(), sorted(out.edge.tolist())), (2, 4, [0, 0, 2, 2]))
        self.assertEqual(out.num_sampled_edges, [2])

    def test_edges(self):
        sampler = NeighborSampler(company("data"), [2])
        out = sampler.sample_from_edges(EdgeSamplerInput(torch.tensor([8, 9]), torch.tensor([0, 2]), torch.tensor([1, 3])))
        input_id, ends, label, time = out.metadata
        self.assertEqual((input_id.tolist(), out.node[ends].tolist(), label, time), ([8, 9], [[0, 2], [1, 3]], None, None))

    def test_a_number_draws_the_same(self):
        data = Data(edge_index=torch.randint(0, 100, (2, 3000)), num_nodes=100)
        sampler, index = NeighborSampler(data, [3, 3]), NodeSamplerInput(None, torch.arange(10))
        drawn = [sampler.sample_from_nodes(index, number=n).edge.tolist() for n in (1, 1, 2)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])
        self.assertNotEqual(*[sampler.sample_from_nodes(index).edge.tolist() for _ in range(2)])
        self.assertEqual(*[(torch.manual_seed(5), sampler.sample_from_nodes(index).edge.tolist())[1] for _ in range(2)])
        simulated = NeighborSampler(data, [3, 3], device="simulated")
        self.assertEqual(simulated.sample_from_nodes(index, number=1).edge.tolist(), drawn[0])

    def test_settings_may_change(self):
        data = Data(edge_index=torch.randint(0, 100, (2, 3000)), num_nodes=100)
        sampler, index = NeighborSampler(data, [3]), NodeSamplerInput(None, torch.arange(10))
        sampler.num_neighbors = NumNeighbors([2, 2, 2])
        sampler.disjoint = True
        out = sampler.sample_from_nodes(index)
        self.assertEqual((len(out.num_sampled_edges), out.num_sampled_edges[0], out.batch[:10].tolist()), (3, 20, list(range(10))))

    def test_lists_are_those_of_a_stable_sort(self):
        for dtype in (torch.int64, torch.int32, torch.uint8):
            for backward, rows in ((False, True), (True, True), (False, False)):
                edge_index = torch.randint(200, (2, 6000)).to(dtype)
                for given in (edge_index, edge_index.t().contiguous().t(), torch.stack([edge_index, edge_index], 2)[..., 0]):
                    data = Data(edge_index=given, num_nodes=200)
                    if rows:
                        data.edge_attr = torch.arange(6000)
                    sampler = NeighborSampler(data, [-1], sample_direction="backward" if backward else "forward")
                    lists = sampler._source.lists[None]
                    self.assertEqual(lists.perm is not None, rows)
                    drawn, draws = given.long().flip(0) if backward else given.long()
                    wanted = torch.sort(draws * 200 + drawn, stable=True)[1]
                    perm = sampler.edge_permutation
                    self.assertEqual((perm.dtype, perm.tolist()), (torch.int64, wanted.tolist()))
                    self.assertEqual(sampler.edges_of(torch.tensor([5, 0, 5999])).tolist(), wanted[[5, 0, 5999]].tolist())
                    self.assertEqual(lists.graph.csr()[1].tolist(), drawn[wanted].tolist())
                    in_order = NeighborSampler(Data(edge_index=torch.stack([drawn, draws])[:, wanted], num_nodes=200), [-1])
                    self.assertIsNone(in_order.edge_permutation)
                    self.assertEqual(in_order.edges_of(torch.tensor([3])).tolist(), [3])

    def test_an_edge_index_of_int32_is_read_as_it_lies(self):
        edge_index = torch.randint(50, (2, 300), dtype=torch.int32)
        lists = NeighborSampler(Data(edge_index=edge_index, num_nodes=50), [2])._source.lists[None]
        self.assertEqual([end.data_ptr() for end in lists.ends[:2]], [edge_index[0].data_ptr(), edge_index[1].data_ptr()])
        for end, name in ((0, "source"), (1, "target")):
            for wrong in (50, -2):
                bad = edge_index.clone()
                bad[end, 7] = wrong
                with self.assertRaisesRegex(garner.IdError, f"edge_index: {name} {wrong} of edge 7 does not exist; there are 50 vertices of its type"):
                    NeighborSampler(Data(edge_index=bad, num_nodes=50), [2])

    def test_an_edge_index_of_int32_stays_so(self):
        edge_index = torch.randint(50, (2, 300), dtype=torch.int32)
        graph = GraphStore()
        graph.put_edge_index(edge_index, edge_type=None, layout="coo", size=(50, 50))
        for data in (Data(edge_index=edge_index, num_nodes=50), (FeatureStore(), graph)):
            for options in ({"subgraph_type": "bidirectional"}, {"disjoint": True}, {"subgraph_type": "induced"}, {"sample_direction": "backward"}):
                out = NeighborSampler(data, [3, 2], **options).sample_from_nodes(NodeSamplerInput(None, torch.arange(5)))
                self.assertEqual({part.dtype for part in (out.node, out.row, out.col, out.batch) if part is not None}, {torch.int32})

    def test_a_graph_in_place_of_an_edge_index(self):
        edge_index = torch.randint(60, (2, 900))
        g = garner.build(edge_index, num_nodes=60, keep_duplicates=True, keep_loops=True)
        offsets, targets, _ = g.csr()  # views that hold the graph while its in-edges are built
        by_csr = torch.stack([torch.repeat_interleave(torch.arange(60), torch.tensor(offsets).diff()), torch.tensor(targets).long()])
        index = NodeSamplerInput(None, torch.arange(20))
        with tempfile.TemporaryDirectory() as folder:
            g.save(f"{folder}/g.gnr")
            for graph in (g, garner.open(f"{folder}/g.gnr")):
                self.assertFalse(graph.info.in_edges)
                for way in ("forward", "backward"):
                    for attrs in ({}, {"edge_attr": torch.arange(900)}):
                        one, other = (NeighborSampler(data, [3, 3], sample_direction=way, graph=given) for data, given in
                                      ((Data(num_nodes=60, **attrs), graph), (Data(edge_index=by_csr, num_nodes=60, **attrs), None)))
                        a, b = (sampler.sample_from_nodes(index, number=5) for sampler in (one, other))
                        self.assertEqual((a.node.tolist(), a.row.tolist(), a.col.tolist()), (b.node.tolist(), b.row.tolist(), b.col.tolist()))
                        if attrs or way == "backward":
                            self.assertEqual(one.edges_of(a.edge).tolist(), other.edges_of(b.edge).tolist())
                self.assertTrue(graph.info.in_edges)
        timed = NeighborSampler(Data(num_nodes=60, when=torch.arange(900)), [-1], time_attr="when", graph=g)
        out = timed.sample_from_nodes(NodeSamplerInput(None, torch.arange(60), torch.full((60,), 450)))
        self.assertLessEqual(int(timed.edges_of(out.edge).max()), 450)
        with self.assertRaisesRegex(garner.UsageError, "num_nodes is 61, and the graph has 60"):
            NeighborSampler(Data(num_nodes=61), [2], graph=g)
        with self.assertRaisesRegex(garner.UsageError, "GraphStore"):
            NeighborSampler(company("garners"), [2], graph=g)
        with self.assertRaisesRegex(TypeError, "graph is 3; give a Graph"):
            NeighborSampler(Data(num_nodes=60), [2], graph=3)
        with self.assertRaisesRegex(garner.UsageError, "sampled by its own weights"):
            NeighborSampler(Data(num_nodes=60, w=torch.rand(900)), [2], weight_attr="w", graph=g)

    def test_a_weight_of_minus_0_is_0(self):
        weights = torch.full((100,), 1e-3)
        weights[3], weights[4] = 1, -0.0
        data = Data(edge_index=torch.stack([torch.arange(1, 101), torch.zeros(100, dtype=torch.int64)]), num_nodes=101, w=weights)
        sampler = NeighborSampler(data, [1], weight_attr="w", disjoint=True)
        out = sampler.sample_from_nodes(NodeSamplerInput(None, torch.zeros(400, dtype=torch.int64)), number=1)
        self.assertGreater(int((out.node[out.row] == 4).sum()), 320)  # of 400, 91 in 100

    def test_it_goes_to_other_processes(self):
        for made in (company("data"), ranks("data"), company("garners")):
            sampler = NeighborSampler(made, [2, 2])
            other = pickle.loads(pickle.dumps(sampler))
            index = NodeSamplerInput(None, torch.tensor([1, 2]), None, "person" if sampler.is_hetero else None)
            self.assertEqual(str(sampler.sample_from_nodes(index, number=1)), str(other.sample_from_nodes(index, number=1)))
        several = HeteroData(a={"num_nodes": 5, "time": torch.arange(5)}, b={"num_nodes": 10, "time": torch.arange(10)},
                             a__to__b={"edge_index": torch.stack([torch.arange(5), torch.arange(5, 10)])})
        sampler = NeighborSampler(several, [2], time_attr="time")
        index = NodeSamplerInput(None, torch.tensor([7, 8]), None, "b")
        self.assertEqual(str(sampler.sample_from_nodes(index, number=1)), str(pickle.loads(pickle.dumps(sampler)).sample_from_nodes(index, number=1)))
        torch.manual_seed(1)
        data = Data(edge_index=torch.randint(30, (2, 900)), num_nodes=30, time=torch.randint(9, (30,)), at=torch.randint(9, (900,)))
        index = NodeSamplerInput(None, torch.arange(30), torch.full((30,), 5))
        for name in ("time", "at"):  # lists in the order of times
            sampler = NeighborSampler(data, [4], time_attr=name)
            mine, theirs = (s.sample_from_nodes(index, number=1) for s in (sampler, pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(sampler))))))
            self.assertGreater(mine.edge.numel(), 90)
            self.assertEqual((mine.row.tolist(), mine.edge.tolist()), (theirs.row.tolist(), theirs.edge.tolist()))
            for entry, source, target in zip(mine.edge, mine.node[mine.row], mine.node[mine.col]):
                edge = int(sampler.edges_of(entry))
                self.assertEqual(data.edge_index[:, edge].tolist(), [int(source), int(target)])
                self.assertLessEqual(int(data.time[source] if name == "time" else data.at[edge]), 5)


@unittest.skipIf(torch is None, "needs torch and PyG (torch_geometric)")
class Stores(unittest.TestCase):
    def test_features(self):
        store, x = FeatureStore(), torch.randn(20, 4)
        attr = TensorAttr("A", "feat", None)
        self.assertTrue(store.put_tensor(x, attr))
        index = torch.tensor([3, 1, 3])
        for rows in (store.get_tensor("A", "feat", index), store["A", "feat", index], store["A"].feat[index], store["A", "feat"][index]):
            self.assertTrue(torch.equal(rows, x[index]))
        self.assertTrue(torch.equal(store.get_tensor(attr), x))
        self.assertTrue(torch.equal(store.get_tensor("A", "feat", slice(2, 5)), x[2:5]))
        self.assertTrue(torch.equal(store.get_tensor("A", "feat", 7), x[7]))
        self.assertEqual((store.get_tensor_size(attr), store.get_tensor_size("A", "feat"), len(store)), ((20, 4), (20, 4), 1))
        self.assertTrue(store.put_tensor(torch.zeros(2, 4), "A", "feat", torch.tensor([0, 1])))
        self.assertEqual(float(store.get_tensor("A", "feat", torch.tensor([0, 1])).abs().sum()), 0)
        self.assertTrue(store.update_tensor(x + 1, attr))
        self.assertTrue(torch.equal(store.get_tensor(attr), x + 1))
        self.assertTrue(store.remove_tensor(attr))
        self.assertFalse(store.remove_tensor(attr))
        self.assertRaises(ValueError, store.get_tensor, group_name="A", attr_name="feat")
        for missing in (lambda: store.get_tensor(attr), lambda: store["A", "feat", index], lambda: store["A"].feat[:]):
            with self.assertRaisesRegex(KeyError, "holds no attribute 'feat' of 'A'"):
                missing()
        self.assertIsNone(store.get_tensor_size(attr))
        with self.assertRaisesRegex(garner.UsageError, "list is not a table"):
            store.put_tensor([1, 2], "B", "feat", None)

    def test_features_come_piece_by_piece(self):
        """put_tensor() of rows by their ids, whether the attribute is there yet or not."""
        x, order = torch.randn(20, 4), torch.randperm(12)
        for kind in (lambda t: t, lambda t: t.numpy()):
            store = FeatureStore()
            store.put_tensor(kind(x[order]), "A", "x", order)
            self.assertTrue(torch.equal(store.get_tensor("A", "x", None), x[:12]))
            store.put_tensor(kind(x[10:17]), "A", "x", torch.arange(10, 17))
            store.put_tensor(kind(x[17]), "A", "x", 17)
            store.put_tensor(kind(x[18:]), "A", "x", slice(18, None))
            store.put_tensor(kind(-x[:2]), "A", "x", torch.arange(20) < 2)
            self.assertTrue(torch.equal(store.get_tensor("A", "x", torch.arange(20)), torch.cat([-x[:2], x[2:]])))
            store["A", "x", :] = kind(x)
            self.assertTrue(torch.equal(store["A", "x", torch.arange(20)], x))
            for ids, rows, error, words in (([21], x[:1], garner.IdError, "no gaps"), ([20, 21], x[:1], garner.UsageError, "rows of shape"),
                                            ([20], x[:1, :3], garner.UsageError, "rows of shape"), ([-1, 20], x[:2], garner.IdError, "no gaps")):
                with self.assertRaisesRegex(error, words):
                    store.put_tensor(kind(rows), "A", "x", torch.tensor(ids))
            with self.assertRaisesRegex(garner.IdError, "up to 2 behind 0 rows"):
                store.put_tensor(kind(x[:2]), "B", "x", torch.tensor([0, 2]))

    def test_features_of_tables_and_files(self):
        x = np.random.default_rng(1).standard_normal((20, 4)).astype("f4")
        store, index = FeatureStore(), torch.tensor([3, 19, 3])
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "x.npy"
            np.save(file, x)
            for features in (x, garner.tiered(x), garner.tiered(torch.from_numpy(x)), file, str(file)):
                store.put_tensor(features, group_name="A", attr_name="x", index=None)
                self.assertEqual(store.get_tensor_size("A", "x"), (20, 4))
                rows = store.multi_get_tensor([TensorAttr("A", "x", index), TensorAttr("A", "x", index[:1])])
                self.assertTrue(all(isinstance(r, torch.Tensor) for r in rows))
                self.assertTrue(torch.equal(rows[0], torch.from_numpy(x)[index]))
            with self.assertRaisesRegex(garner.UsageError, "garner.put_rows"):
                store.put_tensor(torch.zeros(1, 4), "A", "x", index[:1])
        store.put_tensor(garner.tiered(x), "A", "x", None)
        store.put_tensor(torch.zeros(2, 4), "A", "x", index[:2])
        self.assertTrue(torch.equal(store.get_tensor("A", "x", index), torch.zeros(3, 4)))
        self.assertFalse(x[[3, 19]].any())

    def test_attributes_are_made_anew_for_who_asks(self):
        store = FeatureStore()
        store.put_tensor(torch.zeros(3), group_name=("a", "to", "b"), attr_name="w", index=None)
        store.get_all_tensor_attrs()[0].index = 5
        self.assertFalse(store.get_all_tensor_attrs()[0].is_set("index"))
        graph = GraphStore()
        graph.put_edge_index((torch.tensor([0]), torch.tensor([1])), edge_type=("a", "to", "b"), layout="coo", size=(2, 2))
        graph.get_all_edge_attrs()[0].size = None
        self.assertEqual(graph.get_all_edge_attrs()[0].size, (2, 2))

    def test_edges(self):
        graph, edge_index = GraphStore(), torch.tensor([[0, 1, 1], [2, 0, 2]])
        graph.put_edge_index(edge_index, edge_type=("a", "to", "b"), layout="coo", size=(2, 3))
        self.assertTrue(torch.equal(graph.get_edge_index(("a", "to", "b"), "coo"), edge_index))
        row, colptr, perm = graph.csc()
        t = ("a", "to", "b")
        self.assertEqual((row[t].tolist(), colptr[t].tolist(), perm[t].tolist()), ([1, 0, 1], [0, 1, 1, 3], [1, 0, 2]))
        self.assertRaises(KeyError, graph.get_edge_index, t, "csr")
        self.assertTrue(graph.remove_edge_index(t, "coo"))
        self.assertFalse(graph.remove_edge_index(t, "coo"))
        with self.assertRaisesRegex(garner.InputError, "no edges"):
            NeighborSampler((FeatureStore(), graph), [1])

    def test_graphs_of_garner(self):
        graph = GraphStore()
        g = garner.build([0, 1, 1], [2, 0, 2], num_nodes=3)
        graph.put_graph(g)
        self.assertIs(graph.held(None).graph, g)
        self.assertEqual([part.tolist() for part in graph.get_edge_index(None, "csr")], [[0, 1, 3, 3], [2, 0, 2]])
        self.assertEqual([part.tolist() for part in graph.coo()[:2]], [[0, 1, 1], [2, 0, 2]])
        with self.assertRaisesRegex(TypeError, "not a Graph"):
            graph.put_graph(3)
        with self.assertRaisesRegex(garner.UsageError, r"size \(4, 1\)"):
            graph.put_graph(g, size=(4, 1))
        weighted = GraphStore()
        weighted.put_graph(garner.build([0, 1], [2, 2], np.array([0, 5]), num_nodes=3, in_edges=True))
        for _ in range(5):
            out = NeighborSampler((FeatureStore(), weighted), [2], weight_attr="w").sample_from_nodes(NodeSamplerInput(None, torch.tensor([2])))
            self.assertEqual(out.node.tolist(), [2, 1])
        with self.assertRaisesRegex(garner.UsageError, "build it with weights"):
            NeighborSampler((FeatureStore(), graph), [2], weight_attr="w")

    def test_how_many_nodes_there_are(self):
        """As features and pointers have it, where the last nodes have no edge and nobody says a size."""
        edge_index, x = torch.tensor([[0, 1, 2, 3, 6], [1, 2, 3, 4, 5]]), torch.arange(10.0).view(10, 1)
        order = edge_index[1].argsort(stable=True)
        colptr = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(edge_index[1], minlength=10).cumsum(0)])
        for features, graphs in ((FeatureStore, GraphStore), (MyFeatureStore, MyGraphStore)):
            for edge_type in (None, ("n", "to", "n")):
                for layout, edges, rows in (("coo", edge_index, x), ("coo", tuple(edge_index), x), ("csc", (edge_index[0, order], colptr), x),
                                            ("csc", (edge_index[0, order], colptr), None)):
                    with self.subTest(stores=features, edge_type=edge_type, layout=layout, rows=rows is not None):
                        store, graph = features(), graphs()
                        graph.put_edge_index(edges, edge_type=edge_type, layout=layout, size=None)
                        if rows is not None:
                            store.put_tensor(rows, group_name=edge_type and "n", attr_name="x", index=None)
                            store.put_tensor(torch.arange(5), group_name=edge_type, attr_name="edge_attr", index=None)
                        sampler = NeighborSampler((store, graph), [-1])
                        self.assertEqual(sampler.num_nodes, {"n": 10} if edge_type else 10)
                        seeds = torch.arange(10)
                        for batch in NeighborLoader((store, graph), [-1, -1], ("n", seeds) if edge_type else seeds, batch_size=4):
                            nodes = batch["n"] if edge_type else batch
                            if rows is not None:
                                self.assertTrue(torch.equal(nodes.x, x[nodes.n_id]))
                                part = batch[edge_type] if edge_type else batch
                                self.assertTrue(torch.equal(part.edge_attr, part.e_id))
        for wrong, words in (((edge_index[0], colptr[:3]), "3 pointers into 5"), ((edge_index[0], colptr.flip(0)), "pointers"), ((edge_index[0], colptr.double()), "float64")):
            graph = GraphStore()
            graph.put_edge_index(wrong, edge_type=None, layout="csc", size=(10, 10))
            with self.assertRaisesRegex(garner.UsageError, words):
                NeighborSampler((FeatureStore(), graph), [1])

    def test_lists_of_what_is_pulled(self):
        t = ("author", "writes", "paper")
        edge_index, times = torch.stack([torch.randint(5, (40,)), torch.randint(9, (40,))]), torch.randint(0, 100, (40,))
        order = (edge_index[1] * 9 + edge_index[0]).argsort(stable=True)  # of each paper its authors
        lists = garner.build(edge_index[1], edge_index[0], num_nodes=9, keep_duplicates=True, keep_loops=True)
        graph = GraphStore()
        graph.put_adjacency(lists, t, (5, 9), order.numpy(), times[order].numpy())
        row, colptr = graph.get_edge_index(t, "csc")
        self.assertTrue(torch.equal(row, edge_index[0, order]))
        self.assertEqual(colptr.numel(), 10)
        features = FeatureStore()
        features.put_tensor(torch.arange(40) * 2, group_name=t, attr_name="edge_attr", index=None)
        for time in (None, 50):
            loader = NeighborLoader((features, graph), [-1], ("paper", torch.arange(9)), batch_size=4, time_attr=time and "time",
                                    input_time=time and torch.full((9,), time))
            seen = 0
            for batch in loader:
                ends = torch.stack([batch["author"].n_id[batch[t].edge_index[0]], batch["paper"].n_id[batch[t].edge_index[1]]])
                self.assertTrue(torch.equal(ends, edge_index[:, batch[t].e_id]))
                self.assertTrue(torch.equal(batch[t].edge_attr, batch[t].e_id * 2))
                self.assertTrue(time is None or bool((times[batch[t].e_id] <= time).all()))
                seen += batch[t].num_edges
            self.assertEqual(seen, 40 if time is None else int((times <= 50).sum()))
        for wrong, kind, words in [(lambda: graph.put_adjacency(lists, t, (5, 10)), garner.UsageError, "10"),
                                   (lambda: graph.put_adjacency(lists, t, (5, 9), [1, 2]), garner.UsageError, "2 edge_ids for 40"),
                                   (lambda: graph.put_adjacency(lists, t, (5, 9), np.arange(40) + 0.5), garner.UsageError, "of float64"),
                                   (lambda: graph.put_adjacency(lists, t, (5.5, 9)), garner.UsageError, r"size\[0\] is 5.5"),
                                   (lambda: graph.put_adjacency(3, t), TypeError, "not a Graph"),
                                   (lambda: NeighborSampler((features, graph), [1], sample_direction="backward"), NotImplementedError, "put_graph"),
                                   (lambda: stores_of(lists), TypeError, "open_hetero")]:
            with self.assertRaisesRegex(kind, words):
                wrong()

    @unittest.skipUnless(os.environ.get("GARNER_PROGRAM"), "needs GARNER_PROGRAM, which converts")
    def test_of_a_graph_of_several_types(self):
        writes, cites = np.random.default_rng(2).integers(0, 30, (2, 200)), np.random.default_rng(3).integers(0, 40, (2, 300))
        x, year = np.random.default_rng(4).standard_normal((40, 4)).astype("f4"), np.arange(40)
        with tempfile.TemporaryDirectory() as folder:
            raw = pathlib.Path(folder) / "mag" / "raw"
            for name, edges in (("author___writes___paper", writes), ("paper___cites___paper", cites)):
                (raw / "relations" / name).mkdir(parents=True)
                np.savetxt(raw / "relations" / name / "edge.csv", edges.T, "%d", ",")
            np.savetxt(raw / "relations" / "paper___cites___paper" / "edge-feat.csv", np.arange(300), "%d")
            for kind, rows in (("node-feat", x), ("node-label", year % 3)):
                (raw / kind / "paper").mkdir(parents=True)
                np.savetxt(raw / kind / "paper" / f"{kind}.csv", rows, "%.9g", ",")
            (raw / "num-node-dict.csv").write_text("author,paper\n30,40\n")
            (raw / "nodetype-has-label.csv").write_text("author,paper\nFalse,True\n")
            for file in list(raw.rglob("*.csv")):
                subprocess.run(["gzip", file], check=True)
            subprocess.run([os.environ["GARNER_PROGRAM"], "convert", "mag", "mag.json", "--quiet"], cwd=folder, check=True, capture_output=True)
            graph = garner.open_hetero(os.path.join(folder, "mag.json"))
            data = stores_of(graph, feature_cache=0)
            for batch in NeighborLoader(data, [4, 4], ("paper", torch.arange(40)), batch_size=16):
                self.assertTrue(torch.equal(batch["paper"].x, torch.from_numpy(x)[batch["paper"].n_id]))
                self.assertEqual(batch["paper"].y.flatten().tolist(), (batch["paper"].n_id % 3).tolist())
                for t, edges in ((("author", "writes", "paper"), writes), (("paper", "cites", "paper"), cites)):
                    store = batch[t]
                    self.assertGreater(store.num_edges, 0)
                    ends = torch.stack([batch[t[0]].n_id[store.edge_index[0]], batch[t[2]].n_id[store.edge_index[1]]])
                    self.assertTrue(torch.equal(ends, torch.from_numpy(edges)[:, store.e_id]))
                self.assertEqual(batch["paper", "paper"].edge_attr.flatten().tolist(), batch["paper", "paper"].e_id.tolist())


if __name__ == "__main__":
    unittest.main()
