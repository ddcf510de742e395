"""Tables with arrays of CuPy, which lie on a device."""
import unittest

import numpy as np

import garner

try:
    import cupy
    devices = cupy.cuda.runtime.getDeviceCount()
except Exception:  # not installed, or no driver
    cupy = None
    devices = 0


@unittest.skipIf(not devices, "needs CuPy and a GPU")
class CuPy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not hasattr(garner, "tiered"):
            raise unittest.SkipTest("built without feature tables")
        cls.places = ["host", "simulated"] + ["cuda:0"] * bool(garner.info()["devices"])
        cls.random = np.random.default_rng(1)

    def same(self, rows, twin):
        self.assertIsInstance(rows, cupy.ndarray)
        self.assertEqual((rows.dtype, rows.shape), (twin.dtype, twin.shape))
        np.testing.assert_array_equal(cupy.asnumpy(rows), twin)

    def test_as_cupy_indexes(self):
        for kind in ("f4", "f2", "i1", "i8", "u1", "f8"):
            features = (self.random.standard_normal((200, 7)) * 50).astype(kind)
            for where in self.places:
                t = garner.tiered(features, device=where, feature_cache="2KiB")
                for ids in (self.random.integers(0, 200, 50), self.random.integers(0, 200, 50).astype("i4"), self.random.integers(0, 200, (3, 4)),
                            self.random.integers(0, 200, (4, 3)).T, np.zeros(0, "i8"), self.random.integers(0, 2, 200).astype(bool),
                            np.array([5, 6], "u2")):
                    with self.subTest(kind=kind, where=where, ids=ids):
                        self.same(t[cupy.asarray(ids)], features[ids])

    def test_window_out_and_conversion(self):
        features = self.random.standard_normal((200, 7)).astype("f2")
        for where in self.places:
            t = garner.tiered(features, device=where, feature_cache=0)
            batches = [self.random.integers(0, 200, n) for n in (5, 0, 60)]
            for ids, rows in zip(batches, t.gather_many([cupy.asarray(b) for b in batches])):
                self.same(rows, features[ids])
            out = cupy.zeros((60, 7), "f2")
            self.assertIs(t.gather(cupy.asarray(batches[2]), out), out)
            self.same(out, features[batches[2]])
            self.same(t.gather(cupy.asarray(batches[2]), dtype="f32"), features[batches[2]].astype("f4"))
            for wrong in (cupy.zeros((3, 7), "f2"), cupy.zeros((60, 7), "f4"), cupy.zeros((7, 60), "f2").T, np.zeros((60, 7), "f2")):
                self.assertRaises(garner.UsageError, t.gather, cupy.asarray(batches[2]), wrong)

    def test_ids_that_cannot_be(self):
        for where in self.places:
            t = garner.tiered(np.zeros((200, 7), "f4"), device=where)
            for wrong, kind, words in [([0, -1], garner.InputError, "-1 at position 1"), ([200], garner.InputError, "200 at position 0"),
                                       ([0.5], garner.UsageError, "float64"), ([True] * 7, garner.UsageError, "mask")]:
                with self.assertRaisesRegex(kind, words):
                    t[cupy.asarray(wrong)]

    def test_rows_of_a_device_make_no_table(self):
        with self.assertRaisesRegex((garner.Error, TypeError, BufferError), "host"):
            garner.tiered(cupy.zeros((200, 7), "f4"))

    def test_unified(self):
        if not garner.info()["devices"]:
            self.skipTest("Garner was built without CUDA")
        features = self.random.standard_normal((200, 7)).astype("f4")
        t = cupy.from_dlpack(garner.unified(features))
        ids = self.random.integers(0, 200, 30)
        self.same(t[cupy.asarray(ids)], features[ids])

    def test_streams(self):
        if "cuda:0" not in self.places:
            self.skipTest("Garner was built without CUDA")
        features = self.random.standard_normal((100_000, 128)).astype("f4")
        t = garner.tiered(features, device=0, feature_cache="1MiB")
        for _ in range(10):
            ids = self.random.integers(0, 100_000, 50_000)
            with cupy.cuda.Stream(non_blocking=True) as stream:
                rows = t[cupy.asarray(ids)]
                sums = rows.sum(axis=1)
            stream.synchronize()
            self.same(rows, features[ids])
            np.testing.assert_allclose(cupy.asnumpy(sums), features[ids].sum(axis=1), atol=1e-3)


if __name__ == "__main__":
    unittest.main()
