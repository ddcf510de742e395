"""Tables and graphs with tensors of torch."""
import subprocess
import sys
import unittest
import warnings

import numpy as np

import garner

try:
    import torch
except ImportError:
    torch = None


@unittest.skipIf(torch is None, "needs torch")
class Torch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not hasattr(garner, "tiered"):
            raise unittest.SkipTest("built without feature tables")
        torch.manual_seed(1)
        gpu = bool(garner.info()["devices"]) and torch.cuda.is_available()
        cls.devices = ["cpu"] + [f"cuda:{k}" for k in range(torch.cuda.device_count())] * gpu
        cls.places = ["host", "simulated"] + ["cuda:0"] * gpu

    def same(self, rows, twin, device):
        self.assertIsInstance(rows, torch.Tensor)
        self.assertEqual((rows.dtype, tuple(rows.shape), rows.device), (twin.dtype, tuple(twin.shape), torch.device(device)))
        self.assertTrue(torch.equal(rows.cpu(), twin))

    def test_as_torch_indexes(self):
        for kind in (torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.uint8, torch.float64, torch.bool):
            features = (torch.randn(200, 7) * 50).to(kind)
            for where in self.places:
                t = garner.tiered(features, device=where, feature_cache="2KiB")
                self.assertEqual((t.dtype, t.shape), (kind, (200, 7)))
                for device in self.devices:
                    for ids in (torch.randint(0, 200, (50,)), torch.randint(0, 200, (50,)).int(), torch.randint(0, 200, (3, 4)),
                                torch.randint(0, 200, (4, 3)).T, torch.zeros(0, dtype=torch.int64), torch.randint(0, 2, (200,)).bool(),
                                torch.tensor(7), torch.tensor([5, 6], dtype=torch.int16)):
                        with self.subTest(kind=kind, where=where, device=device, ids=ids):
                            twin = features[ids if ids.dtype == torch.bool else ids.long()]
                            self.same(t[ids.to(device)], twin, device)
                self.same(t[3:9], features[3:9], "cpu")  # what the table was made of
                self.same(t[-1], features[-1], "cpu")
                if kind != torch.bfloat16:
                    self.assertIsInstance(t[np.array([1])], np.ndarray)

    def test_window_out_and_conversion(self):
        features = torch.randn(200, 7)
        for where in self.places:
            for device in self.devices:
                t = garner.tiered(features, device=where, feature_cache=0)
                batches = [torch.randint(0, 200, (n,), device=device) for n in (5, 0, 60)]
                for ids, rows in zip(batches, t.gather_many(batches)):
                    self.same(rows, features[ids.cpu()], device)
                out = torch.zeros(60, 7, device=device)
                self.assertIs(t.gather(batches[2], out), out)
                self.same(out, features[batches[2].cpu()], device)
                half = garner.tiered(features.half(), device=where)
                self.same(half.gather(batches[2], dtype=torch.float32), features.half()[batches[2].cpu()].float(), device)
                self.same(half.gather(batches[2], dtype=torch.bfloat16), features.half()[batches[2].cpu()].bfloat16(), device)
                for wrong in (torch.zeros(3, 7), torch.zeros(60, 7).double(), torch.zeros(7, 60).T, np.zeros((60, 7), "f4")):
                    self.assertRaises(garner.UsageError, t.gather, batches[2], wrong)

    def test_ids_that_cannot_be(self):
        for where in self.places:
            t = garner.tiered(torch.randn(200, 7), device=where)
            for device in self.devices:
                for wrong, kind, words in [(torch.tensor([0, -1]), garner.InputError, "-1 at position 1"),
                                           (torch.tensor([200]), garner.InputError, "200 at position 0"),
                                           (torch.tensor([0.5]), garner.UsageError, "float32"),
                                           (torch.ones(7, dtype=torch.bool), garner.UsageError, "mask")]:
                    with self.assertRaisesRegex(kind, words):
                        t[wrong.to(device)]
                self.assertEqual(t[torch.tensor([1], device=device)].shape, (1, 7))

    def test_what_requires_gradients_is_refused(self):
        weights = torch.nn.Embedding(20, 3).weight
        for made in (garner.tiered, garner.unified, lambda t: garner.shared("test-gradients", t)):
            with self.assertRaisesRegex(garner.UsageError, "requires gradients.*detach"):
                made(weights)
        self.same(garner.tiered(weights.detach())[torch.tensor([3])], weights.detach()[3:4], "cpu")

    def test_answers_what_a_tensor_of_rows_answers(self):
        plain = torch.randn(200, 3, 2)
        scores = np.random.default_rng(1).random(200).astype("f4")
        for where in self.places:
            t = garner.tiered(plain, device=where, feature_cache="2KiB", scores=scores)
            self.assertIsInstance(t, torch.Tensor)
            self.assertIsInstance(t, garner.Tiered)
            self.assertEqual((t.size(), t.size(0), t.size(-1), t.dim(), t.ndim, t.numel(), t.nbytes, t.dtype, len(t), t.shape),
                             (plain.size(), 200, 2, 3, 3, 1200, 4800, torch.float32, 200, plain.shape))
            self.assertEqual((t.device, t.requires_grad, t.is_cuda, t.element_size()), (torch.device(where if where == "cuda:0" else "cpu"), False,
                                                                                        where == "cuda:0", 4))
            ids = torch.tensor([5, 199, 5])
            for rows in (t.index_select(0, ids), torch.index_select(t, 0, ids), t.index_select(-3, ids), t[ids]):
                self.same(rows, plain[ids], "cpu")
            out = torch.empty(3, 3, 2)
            self.assertIs(torch.index_select(t, 0, ids, out=out), out)
            self.same(out, plain[ids], "cpu")
            mask = torch.rand(200) < 0.3
            self.same(t[mask], plain[mask], "cpu")
            self.same(t.masked_select(mask.view(200, 1, 1)), plain.masked_select(mask.view(200, 1, 1)), "cpu")
            self.same(t.narrow(0, 5, 10), plain[5:15], "cpu")
            self.same(t[5:15:3], plain[5:15:3], "cpu")
            self.assertIs(t.to(t.device), t)
            self.assertIs(t.to(torch.float32), t)
            self.assertIs(t.contiguous(), t)
            self.assertEqual((t.is_floating_point(), torch.is_floating_point(t), t.is_complex()), (True, True, False))
            np.testing.assert_array_equal(t.numpy(), plain.numpy())
            self.assertIn("garner.Tiered", f"{t}")
            for wrong in (lambda: t + 1, lambda: t.sum(), lambda: torch.as_tensor(t) + 0, lambda: torch.stack([t, t]), lambda: t.T,
                          lambda: t.index_select(1, ids), lambda: t.to("meta"), lambda: t.half(), lambda: torch.from_dlpack(t), lambda: t.data_ptr(),
                          lambda: t.clone(), lambda: t.add_(1), lambda: t.view(-1), lambda: t.requires_grad_(), lambda: np.asarray(t),
                          lambda: torch.nn.functional.linear(t, torch.zeros(2, 2)), lambda: t.__setitem__(0, 1), lambda: t.untyped_storage().nbytes(),
                          lambda: t.share_memory_(), lambda: t.tolist(), lambda: bool(t), lambda: 1 in t, lambda: garner.unified(t), lambda: garner.shared("test-tiered", t), lambda: t.numpy(force=True) and None):
                self.assertRaises((garner.UsageError, TypeError), wrong)

    def test_put_takes_tensors(self):
        for where in self.places:
            for kind in (torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.float64, torch.bool):
                plain = (torch.randn(200, 3, 2) * 20).to(kind)
                twin, t = plain.clone(), garner.tiered(plain, feature_cache=600, device=where)
                for ids in (torch.tensor([3, 199, 0]), torch.tensor([[7], [8]], dtype=torch.int32), torch.arange(200) % 9 == 0, torch.tensor(4)):
                    rows = (torch.randn(*twin[ids.long() if ids.dtype == torch.int32 else ids].shape) * 20).to(kind)
                    twin[ids.long() if ids.dtype == torch.int32 else ids] = rows
                    t.put(ids, rows.mT.contiguous().mT)  # not contiguous
                    self.assertTrue(torch.equal(t[torch.arange(200)], twin) and torch.equal(plain, twin), (where, kind, ids))
                    if torch.cuda.is_available():
                        t.put(ids.cuda(), -rows.cuda() if kind != torch.bool else rows.cuda())
                        twin[ids.long() if ids.dtype == torch.int32 else ids] = -rows if kind != torch.bool else rows
                        self.assertTrue(torch.equal(t[torch.arange(200)], twin), (where, kind, ids))
            with self.assertRaisesRegex(garner.UsageError, "rows: float32 of shape .*; the table takes bool of shape"):
                t.put([1], torch.zeros(1, 3, 2))

    def test_pyg_sees_the_rows(self):
        try:
            from torch_geometric.data import Data
            from torch_geometric.loader.utils import index_select
        except ImportError:
            self.skipTest("needs PyG (torch_geometric)")
        plain, edges = torch.randn(200, 7), torch.randint(0, 200, (2, 900))
        for made_of in (plain, plain.numpy()):
            for where in self.places:
                data, twin = Data(x=garner.tiered(made_of, device=where), edge_index=edges), Data(x=plain, edge_index=edges)
                self.assertEqual((data.num_features, data.num_nodes, str(data)), (7, 200, str(twin)))
                ids, mask = torch.tensor([3, 9, 44]), torch.rand(200) < 0.2
                for subset in (ids, mask):
                    part, other = data.subgraph(subset), twin.subgraph(subset)
                    self.same(part.x, other.x, "cpu")
                    self.assertTrue(torch.equal(part.edge_index, other.edge_index))
                self.assertTrue(torch.equal(index_select(data.x, ids).cpu(), plain[ids]))
                if where != "cuda:0":
                    self.assertIs(data.to("cpu").x.tiers.__class__, garner.TierRows)
                    self.assertRaises(garner.UsageError, data.to, "meta")

    def test_results_are_what_torch_takes(self):
        g = garner.build(torch.tensor([[0, 1], [1, 2]]), None, torch.tensor([4, 5]), num_nodes=5)
        found, paths = garner.bfs(g, 0), garner.sssp(g, 0)
        for array, want in ((found.depth, [0, 1, 2, -1, -1]), (found.parent, [0, 0, 1, -1, -1]), (paths.distance, [0, 4, 9, -1, -1]),
                            (garner.components(g).label, [0, 0, 0, 3, 4]), (g.ids(), [0, 1, 2, 3, 4])):
            tensor = torch.from_numpy(array)
            self.assertEqual((tensor.dtype, tensor.tolist(), (tensor + 0).max().item()), (torch.int64, want, max(want)))
        for array in g.csr():
            self.assertIn(torch.tensor(array).dtype, (torch.int32, torch.int64))

    def test_not_contiguous_is_said(self):
        features = torch.randn(7, 200).T
        with self.assertWarnsRegex(RuntimeWarning, "not contiguous"):
            t = garner.tiered(features)
        self.same(t[torch.tensor([5])], features[5:6], "cpu")

    def test_is_there_after_import_garner(self):
        code = "import garner; assert callable(garner.torch.unified)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_unified(self):
        import garner.torch as garner_torch
        features = torch.randn(200, 7)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            t = garner_torch.unified(features)
        device = "cuda:0" if garner.info()["devices"] else "cpu"
        self.same(t, features, device)
        ids = torch.randint(0, 200, (30,))
        self.same(t[ids.to(device)], features[ids], device)
        if device == "cpu":
            self.assertEqual(t.data_ptr(), features.data_ptr())
        kept = features.clone()
        del features
        self.same(t, kept, device)

    def test_streams(self):
        if "cuda:0" not in self.places:
            self.skipTest("needs a GPU (none here)")
        features = torch.randn(100_000, 128)
        t = garner.tiered(features, device=0, feature_cache="1MiB")
        for _ in range(20):
            stream = torch.cuda.Stream()
            with torch.cuda.stream(stream):
                ids = torch.randint(0, 100_000, (50_000,), device="cuda:0")
                rows = t[ids]
                sums = rows.sum(dim=1)
            stream.synchronize()
            self.assertTrue(torch.equal(rows.cpu(), features[ids.cpu()]))
            self.assertTrue(torch.allclose(sums.cpu(), features[ids.cpu()].sum(dim=1), atol=1e-3))

    def test_graphs_take_and_give_tensors(self):
        g = garner.build(torch.tensor([0, 1]), torch.tensor([1, 2]), torch.tensor([0.5, 1.5]))
        self.assertEqual(torch.from_dlpack(garner.sssp(g, 0).distance).tolist(), [0.0, 0.5, 2.0])

    def test_sparse_matrices_are_graphs_and_no_tables(self):
        coo = torch.sparse_coo_tensor(torch.tensor([[0, 1, 0], [1, 2, 1]]), torch.tensor([1.0, 4.0, 2.0]), (3, 3))
        sparse = (coo, coo.to_sparse_csr(), coo.to_sparse_csc())
        for matrix in sparse:
            self.assertEqual(garner.sssp(garner.build(matrix), 0).distance.tolist(), [0, 3, 7])  # entries that stand twice are one
            self.assertEqual(garner.build(matrix, weights=False).info.weights, "none")
            for call in (garner.tiered, garner.unified, lambda a: garner.shared("garner-test-sparse", a)):
                with self.assertRaisesRegex(garner.UsageError, r"layout sparse_\w+ do not lie one after the other; give a dense one"):
                    call(matrix)
        two = torch.sparse_coo_tensor(torch.tensor([[0], [1]]), torch.tensor([True]), (2, 2))
        self.assertEqual([a.tolist() for a in garner.build(two).csr()], [[0, 1, 1], [1], [1]])
        self.assertRaises(garner.UsageError, garner.build, torch.sparse_coo_tensor((3, 4)))
        with self.assertRaisesRegex(garner.UsageError, "nested"):
            garner.tiered(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))

    def test_data_of_pyg_are_graphs_and_no_tables(self):
        try:
            from torch_geometric.data import Data, HeteroData
        except ImportError:
            self.skipTest("needs PyG (torch_geometric)")
        index = torch.tensor([[0, 1], [1, 2]])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            g = garner.build(Data(edge_index=index))
        self.assertEqual((len(g), g.info.num_edges, g.info.directed, g.info.weights), (3, 2, True, "none"))
        data = Data(x=torch.ones(5, 2), edge_index=index, edge_weight=torch.tensor([0.5, 2.0]).requires_grad_(), km=torch.tensor([7, 9]))
        g = garner.build(data, undirected=True)
        self.assertEqual((len(g), g.info.num_edges, garner.sssp(g, 2).distance[:3].tolist()), (5, 4, [2.5, 2.0, 0.0]))
        self.assertEqual(garner.sssp(garner.build(data, weights="km"), 0).distance[:3].tolist(), [0, 7, 16])
        self.assertEqual(garner.build(data, weights=False).info.weights, "none")
        self.assertEqual(len(garner.build(data, num_nodes=9)), 9)
        several = HeteroData()
        several["a", "to", "b"].edge_index = index
        for wrong, words in ((lambda: garner.build(several), "HeteroData has several types and a Graph has one; give the edges of one"),
                             (lambda: garner.build(Data(x=torch.ones(3, 1))), "Data has no edge_index; give it one"),
                             (lambda: garner.build(data, weights="miles"), "no 'miles'; give them one"),
                             (lambda: garner.tiered(data), "tiered: a Data is a graph and no table; give its rows, as data.x"),
                             (lambda: garner.unified(several), "unified: a HeteroData is a graph and no table")):
            with self.assertRaisesRegex(ValueError, words):
                wrong()


if __name__ == "__main__":
    unittest.main()
