"""garner.Loader: mini-batches handed over in time, against "sample, then index"; resumed, broken off, interrupted, in ranks."""
import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
import pathlib
import textwrap
import threading
import time
import unittest
from unittest import mock

import numpy as np

import garner

try:
    import torch
except ImportError:
    torch = None


class Loaders(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.g = garner.generate("kron", 10)
        cls.rows = np.random.default_rng(1).random((1024, 6), np.float32)
        cls.labels = np.arange(1024) * 7
        cls.seeds = np.arange(1000)[::-1].copy()

    def loader(self, seeds=None, device="cpu", fanouts=(4, 3), **options):
        sampler = garner.BlockSampler(self.g, fanouts, edge_ids=True, device=device)
        return garner.Loader(sampler, self.seeds if seeds is None else seeds, [self.rows], [self.labels], **{"batch_size": 128, **options})

    def said(self, batches):
        return [(b.epoch, b.index, b.positions.tolist(), b.of_type(0).ids.tolist(), b.of_relation(0).edge_index.tolist(), b.of_relation(0).edge.tolist(),
                 b.rows(0).tolist(), b.rows(1).tolist()) for b in batches]

    def test_what_is_sampled_then_indexed(self):
        for place in ("host", "simulated"):
            for options in ({}, {"shuffle": False, "drop_last": True}, {"strategy": "tiered", "prefetch": 5}):
                with self.subTest(device=place, **options):
                    loader, one = self.loader(device=place, **options), garner.BlockSampler(self.g, [4, 3], edge_ids=True)
                    self.assertEqual((loader.batches, len(loader)), (7 + (not options.get("drop_last")),) * 2)
                    for epoch in range(2):
                        seen = []
                        for b in loader:
                            ids, edges = b.of_type(0).ids, b.of_relation(0)
                            mine = self.seeds[b.positions]
                            self.assertEqual((b.epoch, b.device, b.seeds), (epoch, "cpu", len(mine)))
                            np.testing.assert_array_equal(ids[:b.seeds], mine)
                            np.testing.assert_array_equal(b.rows(0), self.rows[ids])
                            np.testing.assert_array_equal(b.rows(1), self.labels[mine])
                            want = one.sample(mine, epoch * loader.batches + b.index)
                            np.testing.assert_array_equal(ids, want.of_type(0).ids)
                            np.testing.assert_array_equal(edges.edge_index, want.of_relation(0).edge_index)
                            np.testing.assert_array_equal(edges.edge, want.of_relation(0).edge)
                            seen += b.positions.tolist()
                        self.assertEqual(sorted(seen), list(range(1000)) if len(seen) == 1000 else list(range(896)))
                        self.assertEqual(seen == sorted(seen), options.get("shuffle") is False)
                    report = loader.report()
                    self.assertEqual((report["batches"], report["seeds"]), (2 * loader.batches, 2 * len(seen)))
                    self.assertEqual(sum(report["rows"].values()), report["nodes"])

    def test_rows_that_were_put_come_with_the_next_epoch(self):
        for place in ("host", "simulated"):
            for strategy in ("automatic", "window", "tiered"):
                with self.subTest(device=place, strategy=strategy):
                    rows = self.rows.copy()
                    table = garner.tiered(rows, feature_cache=100 * 24 * (place != "host"), device=place)
                    sampler = garner.BlockSampler(self.g, (4, 3), device=place)
                    loader = garner.Loader(sampler, self.seeds, [table], batch_size=128, strategy=strategy)
                    for epoch in range(4):
                        for b in loader:
                            ids = b.of_type(0).ids
                            np.testing.assert_array_equal(b.rows(0), rows[ids])
                            if epoch == 2:  # an epoch that is broken off
                                break
                        table.put(np.arange(1024), rows + epoch + 1)
                    loader.stop()

    def test_arrays_keep_their_mini_batch(self):
        loader = self.loader(shuffle=False)
        kept = [b.rows(0) for b in loader]
        ids = [b.of_type(0).ids for b in self.loader(shuffle=False)]
        loader.begin(0)
        again = [b.rows(0) for b in loader]
        for rows, more, which in zip(kept, again, ids):
            np.testing.assert_array_equal(rows, self.rows[which])
            np.testing.assert_array_equal(more, self.rows[which])
        for k, b in enumerate(loader):  # and what went back is used again
            pass
        taken = loader.nbytes
        del kept, again, rows, more, b
        for _ in range(3):
            for b in loader:
                pass
        self.assertLess(loader.nbytes, 1.2 * taken)
        last = b.rows(0)
        want = last.copy()
        del loader, b
        gc.collect()
        np.testing.assert_array_equal(last, want)  # longer than the loader

    def test_one_epoch_an_iteration(self):
        loader = self.loader()
        self.assertEqual([b.index for b in loader], list(range(8)))
        next(iter(loader))
        self.assertEqual([(b.epoch, b.index) for b in loader], [(2, k) for k in range(8)])
        first = iter(loader)
        next(first)
        second = iter(loader)
        next(second)
        with self.assertRaisesRegex(garner.UsageError, "two loaders"):
            next(first)
        self.assertEqual(len(list(second)), 7)
        self.assertRaises(StopIteration, next, second)
        self.assertEqual([loader.next().index for _ in range(8)] + [loader.next()], [*range(8), None])

    def test_it_resumes(self):
        whole = self.said(list(self.loader()))
        for stop in (0, 3, 8):
            loader = self.loader()
            for _ in range(stop):
                loader.next()
            state = loader.state()
            other = self.loader()
            other.resume(state)
            self.assertEqual(self.said(other), whole[stop:] if stop < 8 else self.said(loader))
        with self.assertRaisesRegex(garner.InputError, "another loader"):
            self.loader(batch_size=64).resume(state)
        with self.assertRaisesRegex(garner.InputError, "is not a state of a loader"):
            self.loader().resume("here")

    def test_epochs_of_ones_own(self):
        loader, one = self.loader(), garner.BlockSampler(self.g, [4, 3])
        mine = np.array([5, 9, 5, 7] * 50)
        loader.open(3, 1 << 60)
        for k in (0, 128):
            loader.submit([(mine[k:k + 128], 0, None)])
        loader.end()
        self.assertEqual(len(loader), 2)
        for b in loader:
            np.testing.assert_array_equal(b.of_type(0).ids, one.sample(mine[b.index * 128:b.index * 128 + 128], (1 << 60) + b.index).of_type(0).ids)
            self.assertIsNone(b.positions)
        self.assertEqual([*loader], [])
        loader.begin(0)
        self.assertEqual(len(list(loader)), 8)

    def test_the_sampler_is_the_loaders(self):
        loader = self.loader()
        sampler = garner.BlockSampler(self.g, [2])
        first, second = (garner.Loader(sampler, [1, 2, 3], batch_size=1) for _ in range(2))
        first.next()
        self.assertTrue(sampler.lent)
        for wrong in (lambda: sampler.sample([1]), second.next, lambda: second.begin(1)):
            with self.assertRaisesRegex(garner.UsageError, "samples with this sampler"):
                wrong()
        first.stop()
        self.assertEqual(sampler.sample([1]).seeds, 1)
        second.next()
        del second
        gc.collect()
        self.assertFalse(sampler.lent)
        self.assertEqual(first.next().index, 1)
        loader.stop()

    def test_tables(self):
        half, bits = self.rows.astype(np.float16), np.arange(1024) % 3 == 0
        sampler = garner.BlockSampler(self.g, [3])
        loader = garner.Loader(sampler, self.seeds, [garner.tiered(half, device="cpu")], batch_size=100, dtype="f32")
        b = loader.next()
        self.assertEqual(b.rows(0).dtype, np.float32)
        np.testing.assert_array_equal(b.rows(0), half[b.of_type(0).ids].astype(np.float32))
        loader.stop()
        b = garner.Loader(sampler, self.seeds, self.rows, batch_size=100).next()  # one table
        np.testing.assert_array_equal(b.rows(0), self.rows[b.of_type(0).ids])
        b = garner.Loader(sampler, self.seeds, [bits, self.rows.reshape(1024, 2, 3)], batch_size=100).next()
        np.testing.assert_array_equal(b.rows(0), bits[b.of_type(0).ids])
        self.assertEqual(b.rows(1).shape[1:], (2, 3))
        with self.assertRaisesRegex(garner.UsageError, "table 2 of"):
            b.rows(2)

    def test_refusals(self):
        for wrong, kind, words in [
                (dict(seeds=[]), garner.InputError, "empty"), (dict(seeds=[1, 2, 1]), garner.InputError, "position 2 stands there twice"),
                (dict(seeds=[1024]), garner.IdError, "1024 at position 0"), (dict(batch_size=0), garner.UsageError, "mini-batches of 0"),
                (dict(strategy="quick"), garner.UsageError, "use one of automatic, tiered, window"), (dict(strategy="staged"), garner.UsageError, "garner-lab"),
                (dict(cache="clock"), garner.UsageError, "cache 'clock' belongs to garner-lab"), (dict(reads="kernels"), TypeError, "belongs to garner-lab"), (dict(prefetch=65), garner.UsageError, "ahead"),
                (dict(rank=1), garner.UsageError, "ranks is not"), (dict(rank=2, ranks=2), garner.UsageError, "rank 2 of 2"),
                (dict(workers=2), TypeError, "no option 'workers'"), (dict(times=[1]), garner.InputError, "1 times for 1000")]:
            with self.assertRaisesRegex(kind, words):
                self.loader(**wrong)
        with self.assertRaisesRegex(garner.InputError, "table 0 has 10 rows"):
            garner.Loader(garner.BlockSampler(self.g, [2]), [1], [self.rows[:10]])
        sampler = garner.BlockSampler(self.g, [2])
        for wrong, words in ((lambda: garner.Loader(self.g, [1]), "is not a BlockSampler"), (lambda: garner.Loader(sampler, [1], 3), "tables=3 is not a sequence"),
                             (lambda: garner.Loader(sampler, [1], [None]), "features=None; give")):
            with self.assertRaisesRegex(TypeError, words):
                wrong()
        loader = garner.Loader(sampler, None)
        with self.assertRaisesRegex(garner.UsageError, "no seeds of its own"):
            loader.begin(0)
        self.assertFalse(sampler.lent)
        loader.open()
        with self.assertRaisesRegex(garner.IdError, "seed 2000 at position 1"):
            loader.submit([([1, 2000], 0, None)])

    def test_times(self):
        self.assertEqual(self.loader().report()["times"], [])
        for place in ("host", "simulated"):
            loader = self.loader(device=place, keep_times=5, window=2)
            for _ in loader:
                pass
            times = loader.report()["times"]
            self.assertEqual([(t["epoch"], t["index"]) for t in times], [(0, k) for k in range(5)])
            for k, t in enumerate(times):
                begin, end = t["gather"]
                self.assertTrue(0 < begin <= end)
                self.assertLessEqual(end, t["handed"] + 1)  # ms: of two clocks
                self.assertEqual(t["sample"] != (0, 0), k % 2 == 0)
                self.assertLessEqual(*t["sample"])

    # --- processes and signals ---
    def test_ctrl_c(self):
        g = garner.generate("kron", 14)
        loader = garner.Loader(garner.BlockSampler(g, [-1, -1, -1]), np.arange(len(g)), batch_size=1000)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        started = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            while time.monotonic() - started < 60:
                for _ in loader:
                    pass
        self.assertLess(time.monotonic() - started, 30)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        self.assertIsNotNone(loader.next())  # and it goes on
        loader.stop()

    def test_a_program_ends_with_a_loader_at_work(self):
        program = textwrap.dedent("""
            import os, garner, numpy
            g = garner.generate("kron", 12)
            loader = garner.Loader(garner.BlockSampler(g, [10, 10]), numpy.arange(len(g)), batch_size=64)
            kept = [loader, loader.next()]
            kept.append(kept)  # a cycle, so that nobody frees it
            if os.fork() == 0:
                try:
                    loader.next()
                except garner.UsageError as e:
                    print(e, flush=True)
                del loader, kept
                raise SystemExit(3)
            print(os.waitstatus_to_exitcode(os.wait()[1]), loader.next().index)
        """)
        done = subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", program], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.stdout, done.stderr, done.returncode),
                         ("this Loader was made by another process; make one in each\n3 1\n", "", 0))

    @unittest.skipIf(torch is None, "needs torch")
    def test_rows_of_bfloat16(self):
        rows = torch.randn(1024, 6).bfloat16()
        sampler = garner.BlockSampler(self.g, [4])
        for b in garner.Loader(sampler, self.seeds, [garner.tiered(rows, device="cpu")], batch_size=128):
            made = b.rows(0)
            self.assertTrue(torch.equal(torch.from_dlpack(made), rows[torch.from_numpy(b.of_type(0).ids)]))
            self.assertEqual(made.__dlpack_device__(), (1, 0))
            for stream in (1, 0, -1, "x"):
                with self.assertRaisesRegex(BufferError, "host memory"):
                    made.__dlpack__(stream=stream)
            made.__dlpack__(stream=None, max_version=(1, 0))

    def test_another_stream_that_reads_a_mini_batch_has_done_before_it_is_filled_anew(self):
        if torch is None or not (garner.info()["devices"] and torch.cuda.is_available()):
            self.skipTest("needs torch and a GPU (none here)")
        table = garner.tiered(self.rows, device=0, feature_cache=0)
        loader = garner.Loader(garner.BlockSampler(self.g.to(0), [4, 3], device=0), self.seeds, [table], batch_size=64, prefetch=1, shuffle=False)
        other, busy, seen = torch.cuda.Stream(), torch.empty(1 << 28, dtype=torch.uint8, device="cuda"), []
        for b in loader:
            with torch.cuda.stream(other):  # whose work is behind by far
                for k in range(40):
                    busy.fill_(k)
                rows, ids = (torch.from_dlpack(a) for a in (b.rows(0), b.of_type(0).ids))
                seen.append((rows.clone(), ids.clone()))
            del b, rows, ids
        torch.cuda.synchronize()
        self.assertEqual(len(seen), 16)
        for rows, ids in seen:
            np.testing.assert_array_equal(rows.cpu().numpy(), self.rows[ids.cpu().numpy()])
        array = loader.next().rows(0)
        for stream in (0, -2, "x", 1.5):
            with self.assertRaisesRegex(BufferError, "not a CUDA stream"):
                array.__dlpack__(stream=stream)
        for stream in (None, 1, 2, -1, other.cuda_stream):
            array.__dlpack__(stream=stream)

    def test_ranks_of_the_environment(self):
        with mock.patch.dict(os.environ, {"RANK": "1", "WORLD_SIZE": "3"}):
            found = [len(self.loader(**how)) for how in ({}, {"ranks": "torchrun"}, {"rank": 0, "ranks": 2})]
        self.assertEqual(found, [8, 3, 4])
        with mock.patch.dict(os.environ):
            os.environ.pop("RANK", None), os.environ.pop("WORLD_SIZE", None)
            self.assertEqual(len(self.loader(ranks="torchrun")), 8)
            os.environ["WORLD_SIZE"] = "2"
            with self.assertRaisesRegex(garner.UsageError, "the environment has WORLD_SIZE alone"):
                self.loader(ranks="torchrun")
        for how, words in (({"rank": 1}, "rank is set and ranks is not"), ({"ranks": "mpi"}, "use two numbers, or ranks='torchrun' alone"),
                           ({"rank": 1, "ranks": "torchrun"}, "ranks='torchrun' alone"), ({"rank": 2, "ranks": 2}, "rank 2 of 2")):
            with self.assertRaisesRegex(garner.UsageError, words):
                self.loader(**how)
        with mock.patch.dict(os.environ, {"RANK": "one", "WORLD_SIZE": "3"}), self.assertRaisesRegex(garner.UsageError, "RANK='one'"):
            self.loader(ranks="torchrun")

    def ranks(self, count, program, name):
        """Processes of one training, as torchrun starts them. Each prints one line per mini-batch, for ever, or the error."""
        begun = """
            import os, sys, garner, numpy as np
            rank, name = int(os.environ["RANK"]), sys.argv[1]
            g, rows = garner.generate("kron", 10), np.random.default_rng(1).random((1024, 6), np.float32)
        """
        takes = """
            loader = garner.Loader(garner.BlockSampler(g, [4, 3], device=place), np.arange(1000), [table], batch_size=20, ranks="torchrun")
            try:
                while True:
                    for b in loader:
                        assert (b.rows(0) == rows[b.of_type(0).ids]).all()
                        print(b.epoch, b.index, flush=True)
            except garner.Error as e:
                print(type(e).__name__, e)
        """
        program = "".join(textwrap.dedent(part) for part in (begun, program, takes))
        all_ = [subprocess.Popen([sys.executable, "-c", program, name], stdout=subprocess.PIPE, text=True,
                                 env={**os.environ, "RANK": str(k), "WORLD_SIZE": str(count)}) for k in range(count)]
        for process in all_:
            self.addCleanup(process.stdout.close)
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
        return all_

    def test_a_rank_that_is_killed_is_named_by_those_that_read_its_rows(self):
        name = f"test-{os.getpid()}-ranks"
        ranks = self.ranks(3, """
            place = f"simulated:{rank}"
            table = garner.tiered(rows, device=place, feature_cache=0, peers=[0, 1, 2], peer_cache=100 * rows[0].nbytes, group=name)
            assert table.tiers[1] == 300
        """, name)
        for process in ranks:
            self.assertEqual(process.stdout.readline(), "0 0\n")
        ranks[1].kill()
        for process in ranks[0], ranks[2]:
            said, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0)
            self.assertEqual(said.splitlines()[-1], f"DeviceError member 1 of the group '{name}' (process {ranks[1].pid}) has ended, and its part with it; "
                             "make the table anew in all processes")

    def test_ranks_that_share_a_table_alone_outlive_one_that_is_killed(self):
        name = f"test-{os.getpid()}-alone"
        table = garner.shared(name, self.rows)
        ranks = self.ranks(2, "place, table = 'host', garner.tiered(garner.shared(name), device='host')", name)
        for process in ranks:
            self.assertEqual(process.stdout.readline(), "0 0\n")
        ranks[1].kill()
        ranks[1].wait()
        for line in ranks[0].stdout:  # two epochs more
            if line == "3 0\n":
                break
        self.assertIsNone(ranks[0].poll())
        del table

    def test_memory_that_runs_out(self):
        edges = [(v, k) for v in range(700) for k in range(1 if v < 600 else 300)]
        g = garner.build(*np.array(edges).T, num_nodes=1024)
        for place in ("host", "simulated"):
            with self.subTest(device=place):
                def loader():
                    table = garner.tiered(self.rows, device=place, **({} if place == "host" else {"feature_cache": 0}))
                    return garner.Loader(garner.BlockSampler(g, [-1], side="out", device=place), np.arange(700), [table], batch_size=25, shuffle=False, window=4)

                def said(b):
                    return b.index, b.of_type(0).ids.tolist(), b.rows(0).tolist()

                whole, one, got = [said(b) for b in loader()], loader(), []
                for _ in range(12):
                    b = one.next()
                    time.sleep(0.005)  # the loader comes to have all the buffers that it can need
                    got.append(said(b))
                    del b
                garner.limit_host_memory(1)
                try:
                    with self.assertRaises(garner.OutOfMemory) as refused:
                        garner.generate("kron", 4)
                    used = int(re.search(r"(\d+) of 1 bytes are in use", str(refused.exception))[1])
                    garner.limit_host_memory(used + (1 << 16))  # for a buffer that comes late; a large mini-batch takes ten times as much
                    for _ in range(2):
                        with self.assertRaisesRegex(garner.OutOfMemory, r"raise the host budget \(garner\.limit_host_memory\)") as refused:
                            while True:
                                got.append(said(one.next()))
                        self.assertIsInstance(refused.exception, MemoryError)
                        self.assertEqual(len(got), 24)
                finally:
                    garner.limit_host_memory(None)
                while (b := one.next()) is not None:
                    got.append(said(b))
                self.assertEqual(got, whole)

    @unittest.skipIf(torch is None, "needs torch")
    def test_torchrun(self):
        """Two processes at the host: each seed is one's, and each mini-batch has the rows that it says."""
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "train.py").write_text(textwrap.dedent("""
                import os, sys, garner, numpy as np
                g, rows = garner.generate("kron", 10), np.arange(2048, dtype=np.float32).reshape(1024, 2)
                loader = garner.Loader(garner.BlockSampler(g, [3, 3]), np.arange(999), [rows], batch_size=100, ranks="torchrun")
                seen = []
                for b in loader:
                    assert (b.rows(0) == rows[b.of_type(0).ids]).all()
                    seen += b.positions.tolist()
                open(os.path.join(sys.argv[1], os.environ["RANK"]), "w").write(" ".join(map(str, seen)))
            """))
            done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-port=0", "train.py", folder],
                                  cwd=folder, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            shares = [[int(k) for k in (pathlib.Path(folder) / rank).read_text().split()] for rank in "01"]
        self.assertEqual([len(share) for share in shares], [500, 500])
        self.assertEqual(set(shares[0]) | set(shares[1]), set(range(999)))
        self.assertLessEqual(len(set(shares[0]) & set(shares[1])), 1)


if __name__ == "__main__":
    unittest.main()
