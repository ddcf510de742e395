"""Tables that stay in a file: garner.tiered of .npy and .gnt by budgets, and under the loader; the same rows as the array."""
import os
import pathlib
import pickle
import subprocess
import tempfile
import threading
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
            with self.assertRaisesRegex(garner.IdError, "id 18446744073709551615 at position 1"):
                garner.put_rows(file, np.array([1, 2**64 - 1], np.uint64), new[:2])
            now, mask = expected.copy(), np.isin(np.arange(200), [7, 8])  # ids as of Tiered.put
            for ids, rows in ((mask, new[:2]), ([[7], [9]], new[1:, None]), (11, new[0]), ([], new[:0]), (np.uint64([12]), new[:1])):
                garner.put_rows(file, ids, rows)
                garner.tiered(now, device="cpu").put(ids, rows)
            np.testing.assert_array_equal(garner.tiered(file, device="cpu").numpy(), now)
            garner.put_rows(file, np.arange(200), expected)
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

    def test_a_table_moves_to_the_next_version_when_it_is_told_to(self):
        places = [dict(device="cpu"), dict(device="simulated", feature_cache="16KiB"),
                  dict(device="simulated", feature_cache="4KiB", peers=[0, 1], peer_cache="8KiB"),
                  dict(device="cpu", host_cache="16KiB"), dict(device="simulated", feature_cache="16KiB", host_cache="16KiB")]
        for how in places + [dict(feature_cache="16KiB")] * bool(garner.info()["devices"]):
            with self.subTest(**how):
                file, fresh = self.at / "versions.npy", self.at / "fresh.npy"
                np.save(file, self.rows)
                t = garner.tiered(file, **how)
                beside = t.for_device(how.get("device", 0))
                self.assertEqual((t.version, t.refresh(), t.version), (1, False, 1))
                np.testing.assert_array_equal(t.numpy(), self.rows)
                np.save(fresh, self.rows + 1)
                os.replace(fresh, file)
                if "host_cache" in how:
                    with self.assertRaisesRegex(garner.InputError, "versions.npy: was replaced or removed"):
                        t.numpy()
                else:
                    np.testing.assert_array_equal(t.numpy(), self.rows)  # the file that it opened
                self.assertEqual((t.refresh(), t.refresh(), t.version, beside.version), (True, False, 2, 1))
                np.testing.assert_array_equal(t.numpy(), self.rows + 1)
                ids = np.array([5, 1023, 0, 700])
                garner.put_rows(file, ids, self.rows[ids] - 1)
                self.assertEqual((t.refresh(), beside.refresh(), t.version), (True, True, 3))
                now = self.rows + 1
                now[ids] = self.rows[ids] - 1
                np.testing.assert_array_equal(t.numpy(), now)
                np.testing.assert_array_equal(beside.numpy(), now)
                np.save(fresh, self.rows[:, :3])
                os.replace(fresh, file)
                with self.assertRaisesRegex(garner.InputError, r"versions.npy: is now \(1024, 3\) float32, and the table is \(1024, 40\) float32"):
                    t.refresh()
                os.remove(file)
                with self.assertRaisesRegex(garner.FileError, "versions.npy: was removed, and the table stays at version 3"):
                    t.refresh()
                if "host_cache" not in how:
                    np.testing.assert_array_equal(t.numpy(), now)
        with self.assertRaisesRegex(garner.UsageError, "made of no file"):
            garner.tiered(self.rows, device="cpu").refresh()

    def test_a_version_is_served_while_the_next_is_written(self):
        file, fresh = self.at / "served.npy", self.at / "fresh.npy"
        for how in dict(device="cpu"), dict(device="simulated", feature_cache="16KiB"), dict(device="cpu", host_cache="16KiB"):
            with self.subTest(**how):
                np.save(file, self.rows)
                t = garner.tiered(file, **how)
                np.save(fresh, self.rows + 1)
                whole = fresh.read_bytes()
                for part in (100, len(whole) // 2, len(whole)):  # as far as its writer is
                    fresh.write_bytes(whole[:part])
                    self.assertFalse(t.refresh())
                    np.testing.assert_array_equal(t.numpy(), self.rows)
                os.replace(fresh, file)
                self.assertTrue(t.refresh())
                np.testing.assert_array_equal(t.numpy(), self.rows + 1)

    def test_who_gathers_while_a_table_moves_sees_one_version(self):
        file, fresh = self.at / "moving.npy", self.at / "fresh.npy"
        np.save(file, np.zeros((1024, 40), np.float32))
        t = garner.tiered(file, device="simulated", feature_cache="16KiB")
        seen, ended = [], threading.Event()

        def read():
            while not ended.is_set():
                rows = t[np.arange(1024)]
                seen.append((rows.min(), rows.max()))

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        try:
            for version in range(1, 20):
                np.save(fresh, np.full((1024, 40), version, np.float32))
                os.replace(fresh, file)
                self.assertTrue(t.refresh())
                self.assertEqual(t[[7]][0, 0], version)
        finally:
            ended.set()
            for reader in readers:
                reader.join()
        self.assertGreater(len({low for low, _ in seen}), 1)
        self.assertTrue(all(low == high for low, high in seen))

    @unittest.skipUnless(program and os.path.exists(program), "needs the program, in GARNER_PROGRAM")
    def test_a_feature_file_has_versions_too(self):
        file = self.at / "versions.gnt"
        subprocess.run([program, "convert", self.at / "rows.npy", file], check=True, capture_output=True)
        for how in dict(device="cpu", host_cache="16KiB"), dict(device="simulated", feature_cache="16KiB", host_cache="16KiB"):
            t = garner.tiered(file, **how)
            was = t.numpy()
            garner.put_rows(file, [3, 1000], was[[3, 1000]] + 1)
            with self.assertRaisesRegex(garner.InputError, "was written to since it was opened"):
                t.numpy()
            self.assertTrue(t.refresh())
            was[[3, 1000]] += 1
            np.testing.assert_array_equal(t.numpy(), was)
        with open(file, "r+b") as head:
            head.seek(48)
            head.write(b"\xff" * 4)
        with self.assertRaisesRegex(garner.UsageError, "striped over several files"):
            t.refresh()

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
