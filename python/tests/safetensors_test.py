"""Files of tensors go between Garner and the package `safetensors`, both ways."""
import os
import pathlib
import struct
import subprocess
import tempfile
import unittest

import numpy as np

try:
    import safetensors
    from safetensors import numpy as of_numpy
except ImportError:
    safetensors = None

# The test program of the reader and writer, in the folder of `garner`.
copies = pathlib.Path(os.environ.get("GARNER_PROGRAM", "garner")).parent / "tests/safetensors_test"


@unittest.skipIf(safetensors is None, "needs safetensors")
@unittest.skipUnless(copies.exists(), "needs build/tests/safetensors_test")
class Safetensors(unittest.TestCase):
    def copy(self, folder):
        """What Garner makes of folder/x: folder/y, and its bytes."""
        subprocess.run([copies, "--gtest_also_run_disabled_tests", "--gtest_filter=DISABLED_child.copies_a_file_of_tensors"], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "GARNER_TEST_FROM": f"{folder}/x", "GARNER_TEST_TO": f"{folder}/y"})
        return pathlib.Path(f"{folder}/y").read_bytes()

    def test_there_and_back(self):
        arrays = {f"{kind}\n\"é\\☃": (np.arange(24) * 5).astype(kind).reshape(2, 3, 4)
                  for kind in ("float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool")}
        arrays |= {"scalar": np.array(1.5), "none": np.zeros((3, 0), "float32"), "": np.ones(3, "uint8")}
        metadata = {"format": "pt", "ein Wort": "\t☃\n\"\\", "": ""}
        with tempfile.TemporaryDirectory() as folder:
            of_numpy.save_file(arrays, f"{folder}/x", metadata)
            self.copy(folder)
            with safetensors.safe_open(f"{folder}/y", "numpy") as copied:
                self.assertEqual(copied.metadata(), metadata)
                self.assertEqual(set(copied.keys()), set(arrays))
                for name, array in arrays.items():
                    found = copied.get_tensor(name)
                    self.assertEqual((found.dtype, found.shape), (array.dtype, array.shape), name)
                    np.testing.assert_array_equal(found, array, name)

    def test_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            of_numpy.save_file({}, f"{folder}/x")
            self.assertEqual(of_numpy.load(self.copy(folder)), {})

    def test_what_numpy_has_not(self):
        data = bytes(range(8))
        head = b'{"b":{"dtype":"BF16","shape":[2,2],"data_offsets":[0,8]}}'
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(f"{folder}/x").write_bytes(struct.pack("<Q", len(head)) + head + data)
            (name, found), = safetensors.deserialize(self.copy(folder))
            self.assertEqual((name, found["dtype"], found["shape"], bytes(found["data"])), ("b", "BF16", [2, 2], data))


if __name__ == "__main__":
    unittest.main()
