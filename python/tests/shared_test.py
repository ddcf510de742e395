"""One table for several processes: its creator, processes that attach or are killed, and what is left in the end."""
import gc
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import textwrap
import unittest

import numpy as np

import garner

if not hasattr(garner, "tiered"):
    print("skipped 'built without feature tables'")
    raise SystemExit(0)

devices = bool(garner.info()["devices"])
features = np.random.default_rng(1).standard_normal((500, 33)).astype("f4")
ids = np.random.default_rng(2).integers(0, 500, 300)


def unused(name):
    return f"test-{os.getpid()}-{name}"


def file_of(name):
    return pathlib.Path(f"/dev/shm/garner-{os.geteuid()}-{name}")


def reads(table, where, pipe):
    """A process: rows of the table through garner.tiered, then it waits to be sent away, or killed."""
    table = garner.shared(table) if isinstance(table, str) else table
    t = garner.tiered(table, device=where, feature_cache=4000)
    pipe.send((t[ids], t.dtype.str, table.created_here, table.array.flags.writeable))
    pipe.recv()
    np.testing.assert_array_equal(t[ids], features[ids])
    pipe.send("still there")


def is_a_peer(name, device, pipe):
    """A process that holds its device's share of a table's rows."""
    t = garner.tiered(features, device=device, peers=[0, 1], peer_cache=50 * features[0].nbytes, feature_cache=0, group=name)
    pipe.send((t[ids], t.tiers))
    pipe.recv()


class Shared(unittest.TestCase):
    def tearDown(self):
        gc.collect()
        left = list(pathlib.Path("/dev/shm").glob(f"garner-{os.geteuid()}-test-{os.getpid()}-*"))
        for file in left:
            file.unlink()
        self.assertEqual(left, [])

    def two_processes(self, table, where):
        spawn = multiprocessing.get_context("spawn")
        ends = []
        for _ in range(2):
            ours, theirs = spawn.Pipe()
            process = spawn.Process(target=reads, args=(table, where, theirs))
            process.start()
            theirs.close()
            ends.append((process, ours))
        for _, pipe in ends:
            rows, kind, created_here, writable = pipe.recv()
            np.testing.assert_array_equal(rows, features[ids])
            self.assertEqual((kind, created_here, writable), ("<f4", False, False))
        (killed, _), (left, pipe) = ends
        os.kill(killed.pid, signal.SIGKILL)
        killed.join()
        self.assertEqual(killed.exitcode, -signal.SIGKILL)
        return left, pipe

    def peers_that_are_processes(self, here, there):
        spawn = multiprocessing.get_context("spawn")
        ours, theirs = spawn.Pipe()
        name = unused("peers")
        process = spawn.Process(target=is_a_peer, args=(name, there, theirs))
        process.start()
        t = garner.tiered(features, device=here, peers=[0, 1], peer_cache=50 * features[0].nbytes, feature_cache=0, group=name)
        rows, tiers = ours.recv()
        self.assertEqual((tiers, t.tiers), ((0, 100, 400, 0), (0, 100, 400, 0)))
        self.assertIn("on 2 peers in turn, a process each", t.summary())
        np.testing.assert_array_equal(rows, features[ids])
        np.testing.assert_array_equal(t[ids], features[ids])
        with self.assertRaisesRegex(garner.UsageError, "peers of this table are processes"):
            t.for_device(here)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        with self.assertRaisesRegex(garner.DeviceError, "member 1 of the group"):
            t[ids]

    def test_peers_that_are_processes_read_each_others_rows_until_one_is_killed(self):
        if len(garner.info()["devices"]) < 2:
            self.skipTest("needs two devices")
        self.peers_that_are_processes(0, 1)

    def test_simulated_peers_that_are_processes(self):
        self.peers_that_are_processes("simulated", "simulated:1")

    def test_groups_that_cannot_be(self):
        def group(**how):
            return garner.tiered(features, **{"device": "simulated", "peers": [0, 1], "peer_cache": 1000, "group": unused("bad"),
                                              "timeout": 0.05, **how})

        for how, kind, words in [
                ({}, garner.FileError, "of the group 'test-.*' these have not come in 0.05 seconds: 1;"),
                ({"device": "simulated:1"}, garner.FileError, "these have not come .*: 0;"),
                ({"peers": None}, garner.UsageError, "budget for peers, and no peers"),
                ({"peers": None, "peer_cache": None}, garner.UsageError, "a group of processes .* and no peers"),
                ({"device": "simulated:2"}, garner.UsageError, "peers must name 2"), ({"device": "simulated:x"}, garner.UsageError, "use .cpu."),
                ({"timeout": -1}, garner.UsageError, "timeout -1"), ({"group": "../x"}, garner.UsageError, "is not a name"),
                ({"group": b"x"}, TypeError, "under a name"), ({"timeout": "long"}, TypeError, "")]:
            with self.subTest(how=how), self.assertRaisesRegex(kind, words):
                group(**how)
        np.testing.assert_array_equal(group(group="")[ids], features[ids])
        np.testing.assert_array_equal(group(device="cpu")[ids], features[ids])  # where a group has no effect
        np.testing.assert_array_equal(group(peers=[0])[ids], features[ids])  # alone: it is all there

    def test_two_processes_read_it_and_one_is_killed(self):
        for where in ["host"] + [0] * devices:
            for pickled in (False, True):
                with self.subTest(where=where, pickled=pickled):
                    name = unused("two")
                    table = garner.shared(name, features)
                    left, pipe = self.two_processes(table if pickled else name, where)
                    del table
                    gc.collect()
                    self.assertTrue(file_of(name).exists(), "the other process holds it")
                    pipe.send("go")
                    self.assertEqual(pipe.recv(), "still there")
                    left.join()
                    self.assertEqual(left.exitcode, 0)
                    self.assertFalse(file_of(name).exists())

    def test_the_array_is_the_table_and_keeps_it(self):
        name = unused("array")
        made = garner.shared(name, (500, 33))
        self.assertEqual((made.shape, made.dtype, made.nbytes, len(made)), ((500, 33), np.float32, 66000, 500))
        self.assertFalse(made.published)
        self.assertFalse(made.array.any())
        with self.assertRaisesRegex(garner.FileError, "has not filled"):
            garner.shared(name, timeout=0.01)
        made.array[...] = features
        self.assertIn("not published", repr(made))
        made.publish()
        seen = garner.shared(name)
        np.testing.assert_array_equal(seen.array, features)
        made.array[3] = 7
        self.assertTrue((seen.array[3] == 7).all())
        self.assertRaises(ValueError, seen.array.__setitem__, 0, 1)
        self.assertRaises(garner.UsageError, seen.publish)
        self.assertEqual(made.array.ctypes.data, made.array.ctypes.data)
        array = seen.array[5:9, 1]
        del made, seen
        gc.collect()
        self.assertTrue(file_of(name).exists())
        np.testing.assert_array_equal(array, features[5:9, 1])
        del array

    def test_taken_in_place(self):
        name = unused("place")
        table = garner.shared(name, features)
        u = garner.unified(table)
        self.assertEqual(u.array.ctypes.data, table.array.ctypes.data)
        if not devices:
            self.assertEqual(u.address, table.array.ctypes.data)
        tiered = garner.tiered(table, device="simulated", feature_cache=0)
        self.assertEqual((tiered.shape, tiered.dtype), ((500, 33), np.float32))
        near = np.from_dlpack(table)
        self.assertEqual(near.ctypes.data, table.array.ctypes.data)
        self.assertRaisesRegex(BufferError, "host memory", table.__dlpack__, stream=1)
        del table
        gc.collect()
        np.testing.assert_array_equal(tiered[ids], features[ids])
        np.testing.assert_array_equal(u.array, features)
        del u, tiered
        gc.collect()
        self.assertTrue(file_of(name).exists())
        np.testing.assert_array_equal(near, features)
        del near

    def test_types_and_shapes(self):
        for kind in ("f4", "f2", "i1", "i8", "u1", "f8", "i4", "u2", "c8", "?"):
            for shape in ((40,), (40, 3), (40, 2, 5), (0, 3)):
                with self.subTest(kind=kind, shape=shape):
                    some = (np.arange(int(np.prod(shape))) % 100).reshape(shape).astype(kind)
                    made = garner.shared(unused(f"kinds-{np.dtype(kind)}-{shape[0]}-{len(shape)}"), some)
                    seen = garner.shared(made.name, dtype=kind)
                    again = pickle.loads(pickle.dumps(made))
                    for t in (made, again):
                        self.assertEqual((t.array.dtype, t.array.shape, t.dtype), (some.dtype, some.shape, some.dtype))
                        np.testing.assert_array_equal(t.array, some)
                    np.testing.assert_array_equal(seen.array, some.reshape(len(some), -1) if some.size else seen.array)
                    plain = garner.shared(made.name)
                    self.assertEqual(plain.dtype, some.dtype if kind in ("f4", "f2", "i1", "i8", "u1") else np.uint8)
                    self.assertEqual(plain.array.tobytes(), some.tobytes())
                    if some.size:
                        np.testing.assert_array_equal(garner.tiered(again, device="cpu")[[7, 3]], some[[7, 3]])
        made = garner.shared(unused("strides"), features.T[::2], dtype="f8")
        self.assertEqual((made.dtype, made.shape), (np.float64, (17, 500)))
        np.testing.assert_array_equal(made.array, features.T[::2])
        self.assertEqual(garner.shared(unused("list"), [[1, 2], [3, 4]]).array.tolist(), [[1, 2], [3, 4]])

    def test_bfloat16(self):
        made = garner.shared(unused("bf16"), (4, 6), dtype="bfloat16")
        made.publish()
        self.assertEqual((str(made.dtype), made.nbytes), ("bfloat16", 48))
        try:
            import ml_dtypes
        except ImportError:
            with self.assertRaisesRegex(garner.UsageError, "ml_dtypes"):
                made.array
        else:
            self.assertEqual(made.array.dtype, ml_dtypes.bfloat16)
        try:
            import torch
        except ImportError:
            self.skipTest("the rest needs torch")
        some = torch.arange(12, dtype=torch.bfloat16).reshape(3, 4).t()
        table = garner.shared(unused("torch"), some)
        self.assertTrue(torch.equal(torch.from_dlpack(table), some))
        self.assertTrue(torch.equal(garner.tiered(table, device="cpu")[torch.tensor([3, 1])], some[[3, 1]]))

    def test_mistakes(self):
        name = unused("mistakes")
        with self.assertRaisesRegex(TypeError, "name=3: a table is named by a string"):
            garner.shared(3, features)
        with self.assertRaisesRegex(OSError, "shared table '.*' not found"):
            garner.shared(name)
        table = garner.shared(name, features)
        with self.assertRaisesRegex(garner.UsageError, "held"):
            garner.shared(name, features)
        with self.assertRaisesRegex(garner.UsageError, "do not divide into elements of int64"):
            garner.shared(name, dtype="i8")
        for wrong in ((), (3, -1), (2, 0.5), np.float32(3), np.array(["a"])):
            with self.subTest(wrong=wrong):
                self.assertRaises(garner.UsageError, garner.shared, unused("wrong"), wrong)
        self.assertEqual(garner.shared(unused("other-order"), np.array([[1, 258]], ">i4")).array.tolist(), [[1, 258]])
        self.assertRaises(garner.UsageError, garner.shared, "a/b", features)
        self.assertRaises(garner.OutOfMemory, garner.shared, unused("large"), (1 << 40, 1 << 10))
        self.assertRaises(garner.OutOfMemory, garner.shared, unused("large"), (1 << 40, 1 << 40, 1 << 40))
        self.assertRaises(TypeError, garner.shared, unused("cast"), features, dtype="i4")
        self.assertRaises(garner.DeviceError if not devices else garner.UsageError, table.map_for, 0 if not devices else "host")
        pickled = pickle.dumps(table)
        del table
        gc.collect()
        with self.assertRaisesRegex(garner.FileError, "shared table '.*' not found"):
            pickle.loads(pickled)
        table = garner.shared(name, features[:9])
        with self.assertRaisesRegex(garner.InputError, "another table"):
            pickle.loads(pickled)

    def run_alone(self, text, *arguments):
        return subprocess.run([sys.executable, "-c", textwrap.dedent(text), *arguments], capture_output=True, text=True)

    def test_nothing_is_left_by_a_script(self):
        done = self.run_alone("""
            import sys, garner, numpy
            table = garner.shared(sys.argv[1], numpy.ones((5, 5)))
            tiered, array = garner.tiered(table), table.array
            print(tiered[[1]].sum())
            """, unused("script"))
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("5.0\n", "", 0))  # and tearDown looks

    def test_a_stale_table_is_said_and_replaced(self):
        name = unused("stale")
        done = self.run_alone("""
            import os, signal, sys, garner
            table = garner.shared(sys.argv[1], (5, 5))
            os.kill(os.getpid(), signal.SIGKILL)
            """, name)
        self.assertEqual(done.returncode, -signal.SIGKILL)
        for call in (lambda: garner.shared(name), lambda: garner.shared(name, features)):
            with self.assertRaisesRegex(garner.FileError, "stale"):
                call()
        table = garner.shared(name, features, replace_stale=True)
        np.testing.assert_array_equal(garner.shared(name).array, table.array)


if __name__ == "__main__":
    unittest.main()
