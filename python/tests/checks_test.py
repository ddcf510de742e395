"""What comes in is looked at once, at the door: every entry that takes vertices, pairs, fanouts or rows takes the same, and refuses the same in a line."""
import unittest
import warnings

import numpy as np

import garner

try:
    import torch
    import garner.torch
except ImportError:
    torch = None
try:
    from torch_geometric.data import Data, HeteroData
    from torch_geometric.sampler import EdgeSamplerInput, NodeSamplerInput
    from garner.pyg import FeatureStore, GraphStore, LinkNeighborLoader, NeighborLoader, NeighborSampler
except ImportError:
    Data = None

n = 12
made = np.random.default_rng(3)
edges = made.integers(1, n, (2, 60))
edges[0, :6], edges[1, :6] = range(1, 7), 0
wanted = [3, 5, 11]
mask = np.isin(np.arange(n), wanted)


class Checks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.g = garner.build(*edges, num_nodes=n, in_edges=True)
        cls.sampler = garner.BlockSampler(cls.g, [2])

    def loaded(self, seeds):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loader = garner.Loader(garner.BlockSampler(self.g, [2]), seeds, batch_size=5, shuffle=False)
            return [v for b in loader for v in b.of_type(0).ids[:b.seeds].tolist()]

    def begun(self, seeds):
        loader = garner.Loader(garner.BlockSampler(self.g, [2]), range(n), batch_size=5)
        loader.open()
        loader.submit([(seeds, 0, None)])
        loader.end()
        got = []
        while (b := loader.next()) is not None:
            got += b.of_type(0).ids[:b.seeds].tolist()
        return got

    def pyg(self, seeds, typed=False):
        data = Data(x=torch.arange(n), edge_index=torch.from_numpy(edges))
        if typed:
            data = HeteroData(v={"x": data.x}, v__to__v={"edge_index": data.edge_index})
        got = []
        for b in NeighborLoader(data, [2], ("v", seeds) if typed else seeds, batch_size=5):
            b = b["v"] if typed else b
            got += b.n_id[:b.batch_size].tolist()
        return got

    def stored(self, seeds):
        features, graph = FeatureStore(), GraphStore()
        graph.put_graph(self.g)
        return [v for b in NeighborLoader((features, graph), [2], seeds, batch_size=5) for v in b.n_id[:b.batch_size].tolist()]

    def entries(self):
        """What takes vertices: the ones that it took."""
        yield "BlockSampler.sample", lambda seeds: (b := self.sampler.sample(seeds)).of_type(0).ids[:b.seeds].tolist()
        yield "BlockSampler.sample_types", lambda seeds: (b := self.sampler.sample_types([(seeds, 0, None)])).of_type(0).ids[:b.seeds].tolist()
        yield "Loader", self.loaded
        yield "Loader.begin", self.begun
        if torch is not None:
            yield "torch.loader", lambda seeds: [int(v) for b in garner.torch.loader(self.g, [2], seeds, batch_size=5) for v in b.n_id[:b.batch_size]]
        if Data is not None:
            yield "NeighborLoader", self.pyg
            yield "NeighborLoader of types", lambda seeds: self.pyg(seeds, True)
            yield "NeighborLoader of stores", self.stored

    def refused(self, call, given, words, kind=garner.Error):
        with self.assertRaises(kind) as said:
            call(given)
        self.assertIsInstance(said.exception, garner.Error)
        self.assertRegex(str(said.exception), words)
        self.assertNotRegex(str(said.exception), "incompatible|\n")

    def test_vertices(self):
        forms = [mask, mask.tolist(), tuple(mask.tolist()), np.stack([mask, ~mask], 1)[:, 0], np.array(wanted, np.uint8), np.array(wanted, ">i4"), list(np.array(wanted)),
                 np.array([3, 0, 5, 0, 11])[::2], wanted, tuple(wanted)]
        if torch is not None:
            forms += [torch.from_numpy(mask), torch.tensor(wanted, dtype=torch.int32), torch.tensor([3, 0, 5, 0, 11])[::2]]
        for name, call in self.entries():
            for form in forms:
                with self.subTest(entry=name, form=repr(form)[:60]):
                    self.assertEqual(call(form), wanted)
            self.assertEqual(call(range(3, 6)), [3, 4, 5])

    def test_what_is_no_vertex(self):
        wrong = [(mask[:7], "mask of shape .7,. for 12"), (np.concatenate([mask, mask]), "mask of shape .24,."), (np.stack([mask, mask], 1), "mask of shape"),
                 ([3.0, 5.5], "whole numbers"), (np.array([3.0]), "of float64"), ([True, 3], "bools"), (["3"], "whole numbers"), ("3", "is '3'"), ({3, 5}, "is {3, 5}"),
                 ({"v": [3]}, "is {"), ([[3, 5]], "2 dimensions"), (3, "0 dimensions"), ([2**70], "whole numbers"), (np.array([2**64 - 1], np.uint64), "18446744073709551615"),
                 (np.ma.array([3, 5], mask=[0, 1]), "masked"), ([3j], "whole numbers"), (object(), "is a object")]
        if torch is not None:
            wrong += [(torch.tensor([3.0]), "of float32"), (torch.tensor([3.0]).bfloat16(), "float32"), (torch.tensor([[3]]), "2 dimensions"),
                      (torch.from_numpy(mask[:7]), "mask"), (torch.eye(n).to_sparse(), "whole numbers"), (torch.tensor([3], device="meta"), "is a Tensor"),
                      (garner.tiered(np.arange(n)), "becomes no array")]
        for name, call in self.entries():
            for given, words in wrong:
                with self.subTest(entry=name, given=repr(given)[:60]):
                    self.refused(call, given, words)
            for given in ([3, 12], [3, -1]):
                with self.subTest(entry=name, given=given):
                    self.refused(call, given, f"{given[1]} at position 1", garner.IdError)

    def test_training_vertices_of_scores(self):
        g = garner.build([10, 20, 30, 20], [20, 30, 10, 10], numbering="compact", in_edges=True)
        want = garner.score(g, train=[20, 30], fanouts=[1])
        for train in ([False, True, True], np.array([False, True, True])):  # in the order of g.ids()
            np.testing.assert_array_equal(garner.score(g, train=train, fanouts=[1]), want)
        for train, words in (([True, False], "mask of shape"), ([20.5], "whole numbers"), ([True, 20], "bools")):
            self.refused(lambda train: garner.score(g, train=train, fanouts=[1]), train, words)

    def test_fanouts(self):
        entries = [("BlockSampler", lambda f: garner.BlockSampler(self.g, f).sample([0]).of_relation(0).by_hop),
                   ("Relation", lambda f: garner.BlockSampler.of_relations([n], [garner.Relation(self.g, f)]).sample([0]).of_relation(0).by_hop)]
        if torch is not None:
            entries.append(("torch.loader", lambda f: next(iter(garner.torch.loader(self.g, f, [0]))).num_sampled_edges))
        if Data is not None:
            data = Data(edge_index=torch.from_numpy(edges), num_nodes=n)
            entries.append(("NeighborLoader", lambda f: next(iter(NeighborLoader(data, f, [0]))).num_sampled_edges))
            entries.append(("LinkNeighborLoader", lambda f: next(iter(LinkNeighborLoader(data, f, [[0], [0]]))).num_sampled_edges))
        for name, call in entries:
            for f in ([2], (2,), [np.int64(2)], np.array([2]), [np.array(2)], range(2, 3)) + (([torch.tensor(2)], torch.tensor([2])) if torch else ()):
                with self.subTest(entry=name, fanouts=repr(f)):
                    self.assertEqual(call(f), [2])
            for f in ([0], [0, 0]):
                with self.subTest(entry=name, fanouts=f):
                    self.assertEqual(call(f), f)
            for wrong in (0.5, 2.0, 2.7, float("nan"), "5", None, True, np.bool_(True), np.float32(0.5), 2j, [2]):
                with self.subTest(entry=name, fanouts=repr(wrong)):
                    self.refused(call, [wrong], r"\[0\] is .*; use a whole number")
            for wrong in (5, "5", {2}, {"a": [2]}, None, np.array([[2]]), 2.5):
                with self.subTest(entry=name, fanouts=repr(wrong)):
                    self.refused(call, wrong, "give a list")
            for wrong in ([-2], [1 << 21]):
                with self.subTest(entry=name, fanouts=wrong):
                    self.refused(call, wrong, rf"\[0\] is {wrong[0]}; pass 0")
            for wrong in ([1 << 63], [-(1 << 63) - 1]):
                with self.subTest(entry=name, fanouts=wrong):
                    self.refused(call, wrong, r"\[0\] is -?9223372036854775")
        self.refused(lambda f: garner.SplitSampler(garner.GraphPart(self.g, 0, 1), f), [0.5], r"fanouts\[0\] is 0.5")
        for wrong in ([0.5], ["5"], [True], [-1], [1025], [1 << 63], 5):
            self.refused(lambda f: garner.score(self.g, train=[1], fanouts=f), wrong, "fanout")

    def test_edges(self):
        pairs = np.array([[1, 3, 5], [2, 4, 6]])
        entries = [("build", lambda p: garner.build(p, num_nodes=n).csr()[0][-1])]
        if Data is not None:
            data = Data(x=torch.arange(n), edge_index=torch.from_numpy(edges))
            hetero = HeteroData(v={"x": data.x}, v__to__v={"edge_index": data.edge_index})

            def store(p):
                graph = GraphStore()
                graph.put_edge_index(p, edge_type=None, layout="coo", size=(n, n))
                return next(iter(NeighborLoader((FeatureStore(), graph), [-1], torch.arange(n), batch_size=n))).num_edges

            entries += [("links", lambda p: next(iter(LinkNeighborLoader(data, [2], p, batch_size=9))).edge_label_index.size(1)),
                        ("links of types", lambda p: next(iter(LinkNeighborLoader(hetero, [2], (("v", "to", "v"), p), batch_size=9)))["v", "v"].edge_label_index.size(1)),
                        ("GraphStore", store)]
        forms = [pairs, pairs.tolist(), pairs.astype(np.int8), tuple(pairs), pairs.T.copy().T]
        wrong = [(pairs.T, r"of shape \(3, 2\); give shape \(2, edges\).*transpose"), (edges.T, r"of shape \(60, 2\)"), (pairs[None], "of shape"), (pairs[0], "of shape"),
                 (pairs[:1], "of shape"), (pairs + 0.5, "whole numbers"), (pairs > 2, "of bool"), ((pairs[0], pairs[1][:2]), "3 sources for 2 targets"), ("ab", "is 'ab'"),
                 ([[1, 2], [True, 3]], "whole numbers")]
        if torch is not None:
            forms += [torch.from_numpy(pairs), torch.from_numpy(pairs).int()]
            wrong += [(torch.from_numpy(pairs).t(), r"\(3, 2\)"), (torch.from_numpy(pairs).double(), "of float64"), (torch.from_numpy(pairs).to_sparse(), "is a Tensor|is square")]
        for name, call in entries:
            for form in forms:
                with self.subTest(entry=name, form=repr(form)[:60]):
                    self.assertEqual(call(form), 3)
            for given, words in wrong:
                with self.subTest(entry=name, given=repr(given)[:60]):
                    self.refused(call, given, words)

    def test_numbers_of_other_arguments(self):
        for wrong in (lambda: garner.build([0], [1], num_nodes=True), lambda: garner.Loader(self.sampler, [0], batch_size=True), lambda: garner.bfs(self.g, True),
                      lambda: garner.BlockSampler(self.g, [2], seed=True), lambda: garner.Loader(self.sampler, [0], times=[0.5]),
                      lambda: garner.Loader(self.sampler, [0], [(np.zeros((n, 1), "f4"), 0.5)])):
            with self.assertRaises((TypeError, ValueError)) as said:
                wrong()
            self.assertNotRegex(str(said.exception), "incompatible|\n")
        np.testing.assert_array_equal(garner.tiered(np.eye(4, dtype="f4"), scores=[1, 3, 2, 0])[[1]], [[0, 1, 0, 0]])
        for scores in (["a"] * 4, np.ones(4) + 1j, np.ones((4, 2)), 3):
            self.refused(lambda scores: garner.tiered(np.eye(4, dtype="f4"), scores=scores), scores, "scores")
        self.refused(lambda weights: garner.build([0], [1], weights), [1j], "weights: of complex128; give real numbers")
        for call in (garner.tiered, garner.unified, lambda rows: garner.shared("test-checks", rows)):
            self.refused(call, [[1, 2], [3]], "numbers")
            self.refused(call, np.ma.array([[1.0, 2.0]], mask=[[1, 0]]), "masked")
            if torch is not None:
                self.refused(call, torch.eye(3).to_sparse(), "sparse")
                self.refused(call, torch.empty(3, 3, device="meta"), "meta")

    @unittest.skipIf(torch is None, "needs torch")
    def test_doors_of_torch(self):
        g, x, row, col = self.g, torch.rand(6, 2), torch.tensor([0, 1, 2]), torch.tensor([0, 0, 1])
        want = garner.torch.aggregate(x, (row, col, 2))
        for edges_of in ((row.tolist(), col.numpy(), 2), (row.int(), col, np.int64(2)), (row, col, torch.tensor(2))):
            self.assertTrue(torch.equal(garner.torch.aggregate(x, edges_of), want))
        self.assertTrue(torch.equal(garner.torch.aggregate(x, (row, col, 2), weights=[1, 1, 1]), garner.torch.aggregate(x, (row, col, 2), weights=torch.ones(3))))
        for wrong in [lambda: garner.torch.aggregate(x, (row.float(), col, 2)), lambda: garner.torch.aggregate(x, (row > 0, col, 2)),
                      lambda: garner.torch.aggregate(x, (row, col, 2.5)), lambda: garner.torch.aggregate(x, (row, col, -1)), lambda: garner.torch.aggregate(x, (row, col, True)),
                      lambda: garner.torch.aggregate(x, {}), lambda: garner.torch.aggregate(x, (row, col, 2), weights=["a"] * 3),
                      lambda: garner.torch.aggregate(x, (row, col, 2), weights=torch.ones(3) + 1j), lambda: garner.torch.aggregate(x.to_sparse(), (row, col, 2)),
                      lambda: garner.torch.aggregate(x, (row, col, 6), "gcn", degrees=torch.ones(6) + 1j), lambda: garner.torch.loader(g, [2], batch_size=2.5),
                      lambda: garner.torch.loader(g, [2], batch_size="x"), lambda: garner.torch.loader(g, [2], seed=1.5), lambda: garner.torch.loader(g, [2], rank="x", ranks=2),
                      lambda: garner.torch.loader(g, [2], seed_times=[1.5] * n, temporal="last", times=np.arange(n)),
                      lambda: garner.torch.loader(g, [2], loading={"window": 2.7}), lambda: garner.torch.loader(g, [2], x=np.zeros((n, 2), object)),
                      lambda: garner.torch.loader(g, [2], x=torch.zeros(n, 2).to_sparse()), lambda: garner.torch.loader(g, [2], x=np.zeros((n, 2), ">f4")),
                      lambda: garner.torch.Embedding(4, 2, device="cpu")([True, 2]), lambda: garner.torch.Embedding("a", 2), lambda: garner.embedding(4, 2, seed=1.5)]:
            with self.assertRaises((TypeError, ValueError)) as said:
                wrong()
            self.assertNotRegex(str(said.exception), "incompatible|\n")

    @unittest.skipIf(Data is None, "needs PyG (torch_geometric)")
    def test_rows_of_nodes_and_edges(self):
        """What PyG takes for features by their names has a row for each; PyG itself hands over the rest whole."""
        index = torch.from_numpy(edges)
        for name, rows, words in [("x", 11, "11 rows for 12 nodes"), ("x", 13, "13 rows"), ("pos", 60, "60 rows"), ("y", 11, "y: 11 rows for 12 nodes and 60 edges"),
                                  ("edge_attr", 59, "59 rows"), ("edge_attr", 12, "12 rows"), ("edge_weight", 61, "61 rows"), ("train_mask", 11, "11 rows"),
                                  ("y", 1, None), ("y", 60, None), ("edge_attr", 60, None), ("heat", 7, None), ("edge_label", 7, None)]:
            for make in (torch.zeros, lambda rows: np.zeros(rows, "f4")):
                data = Data(edge_index=index, num_nodes=n, **{name: make(rows)})
                for loader in (NeighborLoader, LinkNeighborLoader):
                    for how in ({}, {"transform_sampler_output": lambda out: out}):
                        with self.subTest(name=name, rows=rows, loader=loader):
                            if words is None:
                                next(iter(loader(data, [2], **how)))
                            else:
                                self.refused(lambda data: loader(data, [2], **how), data, words, garner.InputError)
        for store, name, rows in (("v", "x", 11), ("v", "y", 13), (("v", "to", "v"), "edge_attr", 59), (("v", "to", "v"), "y", 3)):
            data = HeteroData(v={"num_nodes": n}, v__to__v={"edge_index": index})
            data[store][name] = torch.zeros(rows)
            self.refused(lambda data: NeighborLoader(data, [2], "v"), data, f"{name} of .*: {rows} rows", garner.InputError)
            features, graph = FeatureStore(), GraphStore()
            graph.put_edge_index(index, edge_type=("v", "to", "v"), layout="coo", size=(n, n))
            features.put_tensor(torch.zeros(rows), group_name=store, attr_name=name, index=None)
            if rows == 13:  # rows behind the last node are not read
                next(iter(NeighborLoader((features, graph), [2], "v")))
            else:
                self.refused(lambda both: NeighborLoader(both, [2], "v"), (features, graph), f"'{name}' of .* has {rows} rows", garner.InputError)

    @unittest.skipIf(Data is None, "needs PyG (torch_geometric)")
    def test_data_and_fanouts_by_type(self):
        for data in (None, (1, 2), [Data()], (GraphStore(), FeatureStore()), self.g, torch.zeros(2, 3)):
            for make in (NeighborSampler, NeighborLoader, LinkNeighborLoader):
                with self.subTest(data=repr(data), make=make):
                    self.refused(lambda data: make(data, [2]), data, "data is .*; give Data")
        data = HeteroData(v={"num_nodes": n}, w={"num_nodes": n}, v__to__w={"edge_index": torch.from_numpy(edges)}, w__to__v={"edge_index": torch.from_numpy(edges)})
        there, back = ("v", "to", "w"), ("w", "to", "v")
        for wrong in ({there: [2]}, {"v": [2]}, {("v", "of", "w"): [2], there: [2], back: [2]}, {there: [2], back: [2, 2]}):
            for make in (lambda f: NeighborSampler(data, f), lambda f: NeighborLoader(data, f, "v"), lambda f: LinkNeighborLoader(data, f, there)):
                with self.subTest(fanouts=wrong):
                    self.refused(make, wrong, "num_neighbors is .*; give each type of edges a list")

    @unittest.skipIf(Data is None, "needs PyG (torch_geometric)")
    def test_sizes_that_edges_exceed(self):
        graph = GraphStore()
        graph.put_graph(self.g, size=(5, 5))
        self.refused(lambda both: next(iter(NeighborLoader(both, [-1], torch.arange(3)))), (FeatureStore(), graph), "beyond the 5 of type 0", garner.InputError)

    @unittest.skipIf(Data is None, "needs PyG (torch_geometric)")
    def test_seeds_of_samplers(self):
        one = NeighborSampler(Data(edge_index=torch.from_numpy(edges), num_nodes=n), [2])
        types = NeighborSampler(HeteroData(v={"num_nodes": n}, v__to__v={"edge_index": torch.from_numpy(edges)}), [2])
        for sampler, node, kind, words in ((one, torch.tensor([1.5]), None, "of float32"), (one, torch.tensor([True]), None, "of bool"), (one, torch.tensor([1]), "v", "one type"),
                                           (types, torch.tensor([1]), None, "nodes of type None"), (types, torch.tensor([1]), "w", "no nodes of type 'w'")):
            self.refused(sampler.sample_from_nodes, NodeSamplerInput(None, node, None, kind), words)
        for row, col, words in ((torch.tensor([1]), torch.tensor([2, 3]), "1 sources for 2 targets"), (torch.tensor([1.5]), torch.tensor([2.0]), "of float32")):
            self.refused(one.sample_from_edges, EdgeSamplerInput(None, row, col), words)


if __name__ == "__main__":
    unittest.main()
