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
                t = garner.tiered(features, device=where, device_budget="2KiB")
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
                t = garner.tiered(features, device=where, device_budget=0)
                batches = [torch.randint(0, 200, (n,), device=device) for n in (5, 0, 60)]
                for ids, rows in zip(batches, t.window(batches)):
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

    def test_gradients_are_cut(self):
        weights = torch.nn.Embedding(20, 3)
        rows = garner.tiered(weights.weight)[torch.tensor([3])]
        self.assertFalse(rows.requires_grad)
        self.assertTrue(torch.equal(rows, weights.weight.detach()[3:4]))

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
        t = garner.tiered(features, device=0, device_budget="1MiB")
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


if __name__ == "__main__":
    unittest.main()
