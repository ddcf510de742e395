"""Feature rows in files of other libraries: garner.tiered reads each, and says what is wrong with those that are damaged."""
import json
import os
import pathlib
import pickle
import tempfile
import unittest

import numpy as np

import garner
from garner import sources


class Sources(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.x = np.random.default_rng(1).random((300, 6), "float32")
        self.ids = np.array([299, 0, 17, 17])

    def rows_are(self, given, x=None):
        table = garner.tiered(given, device="cpu")
        np.testing.assert_array_equal(np.asarray(table[self.ids]), (self.x if x is None else x)[self.ids])
        return table

    def refused(self, kind, words, given):
        with self.assertRaises(kind) as told:
            garner.tiered(given, device="cpu")
        for word in words:
            self.assertIn(word, str(told.exception))

    def cut_everywhere(self, file, whole):
        """A file that is cut anywhere is refused by an error of Garner's, or has the same rows."""
        for at in sorted({*range(0, min(len(whole), 400), 7), *range(0, len(whole), max(1, len(whole) // 60))}):
            file.write_bytes(whole[:at])
            try:
                table = garner.tiered(file, device="cpu")
                np.testing.assert_array_equal(np.asarray(table[self.ids]), self.x[self.ids])
            except garner.Error:
                pass

    def flipped(self, file, whole):
        """A file whose beginning is damaged is refused by an error of Garner's, or has rows; nothing else happens."""
        rng = np.random.default_rng(2)
        for _ in range(150):
            bytes_ = bytearray(whole)
            bytes_[int(rng.integers(0, min(len(whole), 300)))] = int(rng.integers(0, 256))
            file.write_bytes(bytes_)
            try:
                garner.tiered(file, device="cpu")
            except (garner.Error, TypeError, MemoryError) as e:
                self.assertLess(len(str(e).splitlines()), 2)

    def test_npz(self):
        one, two, packed = (self.folder / f"{name}.npz" for name in ("one", "two", "packed"))
        np.savez(one, x=self.x)
        np.savez(two, x=self.x, y=np.arange(3))
        np.savez_compressed(packed, x=self.x)
        self.rows_are(one)
        self.rows_are(str(packed))
        table = self.rows_are((two, "x"))
        again = pickle.loads(pickle.dumps(table))
        np.testing.assert_array_equal(np.asarray(again[self.ids]), self.x[self.ids])
        self.refused(garner.UsageError, ["two.npz: has 2 arrays", "'x', 'y'", "('two.npz', 'x')"], two)
        self.refused(garner.InputError, ["has no 'z'", "'x', 'y'"], (two, "z"))
        self.refused(garner.FileError, ["none.npz", "does not exist"], self.folder / "none.npz")
        sent = pickle.dumps(table)
        np.savez(two, x=self.x[:200])
        with self.assertRaisesRegex(garner.InputError, "is now"):
            pickle.loads(sent)
        np.savez(one, x=self.x)
        for file in (packed, one):
            whole = file.read_bytes()
            self.cut_everywhere(file, whole)
            self.flipped(file, whole)

    def test_safetensors(self):
        try:
            from safetensors.numpy import save_file
        except ImportError:
            self.skipTest("needs safetensors")
        file = self.folder / "x.safetensors"
        save_file({"x": self.x}, file)
        table = self.rows_are(file)
        np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(table))[self.ids]), self.x[self.ids])
        whole = file.read_bytes()
        self.cut_everywhere(file, whole)
        self.flipped(file, whole)
        save_file({"x": self.x, "half": self.x.astype("float16")}, file)
        self.rows_are((file, "half"), self.x.astype("float16"))
        self.refused(garner.UsageError, ["has 2 arrays"], file)
        head = json.dumps({"x": {"dtype": "BF16", "shape": [300, 6], "data_offsets": [0, 3600]}}).encode()
        bits = (self.x.view(np.uint32) >> 16).astype(np.uint16)
        file.write_bytes(len(head).to_bytes(8, "little") + head + bits.tobytes())
        table = garner.tiered(file, device="cpu")
        self.assertEqual(table.dtype if isinstance(table.dtype, str) else str(table.dtype).split(".")[-1], "bfloat16")

    def test_tensors_of_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("needs torch")
        file = self.folder / "x.pt"
        torch.save(torch.from_numpy(self.x), file)
        self.rows_are(file)
        torch.save({"x": torch.from_numpy(self.x), "y": torch.arange(3), "epoch": 7}, file)
        self.rows_are((file, "x"))
        self.refused(garner.UsageError, ["has 2 tensors", "'x', 'y'"], file)
        torch.save([1, 2], file)
        self.refused(garner.InputError, ["save the tensor alone"], file)
        file.write_bytes(b"nothing")
        self.refused(garner.InputError, ["torch.load cannot map it"], file)

    def test_columns_of_lists(self):
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            self.skipTest("needs pyarrow")
        fixed = pa.FixedSizeListArray.from_arrays(pa.array(self.x.reshape(-1)), 6)
        lists = pa.array(self.x.tolist(), pa.list_(pa.float32()))
        file = self.folder / "x.parquet"
        pq.write_table(pa.table({"id": np.arange(300), "x": fixed}), file, row_group_size=70)
        self.rows_are(file)
        pq.write_table(pa.table({"id": np.arange(300), "x": lists, "z": fixed}), file)
        self.rows_are((file, "x"))
        self.refused(garner.UsageError, ["has 2 columns of lists", "'x', 'z'"], file)
        self.refused(garner.InputError, ["'id' is int64", "lists of one length"], (file, "id"))
        for k, part in enumerate(np.array_split(np.arange(300), 3)):
            pq.write_table(pa.table({"x": fixed.take(pa.array(part))}), self.folder / f"part-{k}.parquet")
        self.rows_are(str(self.folder / "part-*.parquet"))
        pq.write_table(pa.table({"y": fixed}), self.folder / "part-2.parquet")
        self.refused(garner.InputError, ["part-2.parquet: has no column 'x'; its columns are y"], str(self.folder / "part-*.parquet"))
        pq.write_table(pa.table({"x": pa.array([[1.0], [1.0, 2.0]])}), file)
        self.refused(garner.InputError, ["row 1: 'x' is a list of 2"], file)
        pq.write_table(pa.table({"x": pa.array([[1.0], None, [2.0]])}), file)
        self.refused(garner.InputError, ["row 1: 'x' is null"], file)
        pq.write_table(pa.table({"x": pa.array([[1.0, 2.0], [2.0, 2.0], [2.0, None]])}), file)
        self.refused(garner.InputError, ["row 2: 'x' is null"], file)

    def test_a_dataset_takes_each(self):
        try:
            import pyarrow as pa
            import torch
        except ImportError:
            self.skipTest("needs pyarrow and torch")
        np.savez(self.folder / "n.npz", x=self.x)
        torch.save(torch.from_numpy(self.x), self.folder / "t.pt")
        pa.parquet = __import__("pyarrow.parquet").parquet
        pa.parquet.write_table(pa.table({"x": pa.FixedSizeListArray.from_arrays(pa.array(self.x.reshape(-1)), 6)}), self.folder / "p.parquet")
        edges = pa.table({"a": [0, 1], "b": [1, 299]})
        for k, given in enumerate((self.folder / "n.npz", (self.folder / "n.npz", "x"), self.folder / "t.pt", self.folder / "p.parquet")):
            garner.convert({("node", "to", "node"): edges}, self.folder / f"{k}.json", features={"node": given})
            graph = garner.open_hetero(self.folder / f"{k}.json")
            self.assertTrue(os.path.dirname(graph.node_types[0].features).endswith(f"{k}.garner"))
            np.testing.assert_array_equal(np.load(graph.node_types[0].features), self.x)
            self.assertEqual(graph.node_types[0].count, 300)

    def test_any_damage_is_an_error_of_input(self):
        """Bytes flipped, cut and repeated, at seeded places: an array, or one sentence; never another error."""
        rng = np.random.default_rng(5)
        with tempfile.TemporaryDirectory() as folder:
            whole = np.arange(40, dtype="float32").reshape(8, 5)
            for kind in ("npz", "packed.npz", "safetensors"):
                file = os.path.join(folder, "x." + kind)
                if kind == "safetensors":
                    head = json.dumps({"x": {"dtype": "F32", "shape": [8, 5], "data_offsets": [0, 160]}}).encode()
                    good = len(head).to_bytes(8, "little") + head + whole.tobytes()
                else:
                    (np.savez_compressed if "packed" in kind else np.savez)(file, x=whole)
                    with open(file, "rb") as made:
                        good = made.read()
                refused = 0
                for _ in range(400):
                    bad = bytearray(good)
                    for _ in range(rng.integers(1, 4)):
                        at = int(rng.integers(len(bad))) if rng.random() < 0.3 else int(rng.integers(min(len(bad), 120)))
                        bad[at] = int(rng.integers(256)) if rng.random() < 0.5 else bad[int(rng.integers(len(bad)))]
                    cut = int(rng.integers(1, len(bad) + 1)) if rng.random() < 0.2 else len(bad)
                    with open(file, "wb") as to:
                        to.write(bad[:cut])
                    try:
                        found, _ = sources.opened(file)
                        float(np.asarray(found).view(np.uint8).sum()) if np.asarray(found).size else 0  # all of it is in the file
                    except (garner.InputError, garner.UsageError) as e:
                        refused += 1
                        self.assertNotIn("\n", str(e))
                self.assertGreater(refused, 50, kind)


if __name__ == "__main__":
    unittest.main()
