"""Tables that stay in a file: garner.tiered of .npy and .gnt by budgets, and under the loader; the same rows as the array."""
import os
import pathlib
import pickle
import subprocess
import tempfile
import unittest

import numpy as np

import garner

program = os.environ.get("GARNER_PROGRAM")


class FileRows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = pathlib.Path(cls.folder.name)
        cls.rows = np.random.default_rng(3).random((1024, 40), np.float32)
        np.save(cls.at / "rows.npy", cls.rows)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_what_exceeds_the_budgets_stays_in_the_file(self):
        ids = np.random.default_rng(4).integers(0, 1024, 500)
        for where in ("host", "simulated"):
            t = garner.tiered(self.at / "rows.npy", device=where, feature_cache=100 * 160, host_cache=400 * 160, file_cache=50 * 160)
            near = 100 if where == "simulated" else 0
            self.assertEqual((t.tiers["device"], t.tiers["host"], t.tiers["file"]), (near, 350, 1024 - near - 350))
            self.assertEqual((t.shape, t.dtype), ((1024, 40), np.float32))
            np.testing.assert_array_equal(t[ids], self.rows[ids])
            self.assertLessEqual(t.last.file_rows, t.hits(ids)["file"])  # a repeated id is read once
            self.assertGreater(t.last.file_reads, 0)
            self.assertIn("rows.npy", t.summary())
            np.testing.assert_array_equal(t[10:20], self.rows[10:20])
            again = pickle.loads(pickle.dumps(t))
            self.assertEqual(again.tiers, t.tiers)
            np.testing.assert_array_equal(again[ids], self.rows[ids])
        scores = np.arange(1024, dtype=np.float32)  # the last are the hottest
        t = garner.tiered(self.at / "rows.npy", device="cpu", host_cache=400 * 160, scores=scores)
        self.assertEqual(t.hits(np.arange(1024 - 300, 1024))["host"], 300)
        np.testing.assert_array_equal(t[ids], self.rows[ids])

    @unittest.skipUnless(program and os.path.exists(program), "needs the program, in GARNER_PROGRAM")
    def test_rows_of_files_change_where_they_stand(self):
        rng = np.random.default_rng(3)
        old, new = rng.random((200, 7), "float32"), rng.random((3, 7), "float32")
        npy, gnt = self.at / "put.npy", self.at / "put.gnt"
        np.save(npy, old)
        subprocess.run([program, "convert", npy, gnt], check=True, capture_output=True)
        expected = old.copy()
        expected[[5, 199, 0]] = new
        for file in (npy, gnt):
            open_before = garner.tiered(file, host_cache=2048, file_cache=1024, device="cpu")
            garner.put_rows(file, np.array([5, 199, 0], np.int32), new)
            np.testing.assert_array_equal(garner.tiered(file, device="cpu").numpy(), expected)
            with self.assertRaisesRegex(garner.InputError, "was written to since it was opened"):
                open_before.numpy()
            with self.assertRaisesRegex(garner.IdError, "id 200 at position 1"):
                garner.put_rows(file, [1, 200], new[:2])
            with self.assertRaisesRegex(garner.UsageError, "takes float32 of shape"):
                garner.put_rows(file, [1], new[:1].astype("float64"))
            np.testing.assert_array_equal(garner.tiered(file, device="cpu").numpy(), expected)

    @unittest.skipUnless(program and os.path.exists(program), "needs the program, in GARNER_PROGRAM")
    def test_a_row_file_stays_where_it_is(self):
        subprocess.run([program, "convert", self.at / "rows.npy", self.at / "rows.gnt"], check=True, capture_output=True)
        t = garner.tiered(self.at / "rows.gnt", device="cpu", host_cache="16KiB")
        self.assertEqual((t.shape, t.dtype), ((1024, 40), np.float32))
        self.assertGreater(t.tiers["file"], 900)
        np.testing.assert_array_equal(t[::3], self.rows[::3])
        with open(self.at / "rows.gnt", "r+b") as file:
            file.seek(8192 + 5)
            was = file.read(1)
            file.seek(8192 + 5)
            file.write(bytes([was[0] ^ 1]))
        wrong = garner.tiered(self.at / "rows.gnt", device="cpu", host_cache="16KiB", file_cache="16KiB")
        with self.assertRaisesRegex(garner.InputError, r"rows\.gnt: row \d+, page 1: "):
            wrong[:200]

    def test_refusals(self):
        with self.assertRaisesRegex(garner.UsageError, "of tables that stay in a file"):
            garner.tiered(self.rows, device="cpu", host_cache="1MiB")
        with self.assertRaisesRegex(garner.UsageError, "a row takes"):
            garner.tiered(self.at / "rows.npy", device="cpu", host_cache=100)

    def test_a_table_beside_another_has_the_same_rows(self):
        ids = np.random.default_rng(5).integers(0, 1024, 300)
        t = garner.tiered(self.at / "rows.npy", device="cpu", host_cache="32KiB")
        other = t.for_device("host")
        self.assertEqual(other.tiers, t.tiers)
        np.testing.assert_array_equal(other[ids], self.rows[ids])

    def test_the_loader_brings_the_same_mini_batches(self):
        g = garner.generate("kron", 10)
        seeds = np.arange(0, 1024, 3)
        seen = {}
        for policy in (None, "next-use", "pinned"):
            table = self.rows if policy is None else garner.tiered(
                self.at / "rows.npy", device="cpu", host_cache=600 * 160, file_cache=500 * 160)
            sampler = garner.BlockSampler(g, [4, 3])
            loader = garner.Loader(sampler, seeds, [table], batch_size=32, **({"cache": policy} if policy else {}))
            seen[policy] = [(np.array(b.of_type(0).ids), np.array(b.rows(0))) for b in loader]
            for (ids, rows), (want_ids, want_rows) in zip(seen[policy], seen[None], strict=True):
                np.testing.assert_array_equal(ids, want_ids)
                np.testing.assert_array_equal(rows, want_rows)
            if policy:
                told = loader.report()
                self.assertEqual(told["rows"]["file"], told["file_hits"] + told["file_reads"])
                self.assertEqual(told["file_bytes"], told["file_reads"] * 160)
                self.assertGreater(told["file_reads"], 0)
                self.assertGreaterEqual(told["window"], 8)
        with self.assertRaisesRegex(garner.UsageError, "cache 'clock' belongs to garner-lab"):
            garner.Loader(garner.BlockSampler(g, [4]), seeds, [self.rows], cache="clock")


if __name__ == "__main__":
    unittest.main()
