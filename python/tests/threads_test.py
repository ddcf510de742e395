"""Objects between threads: what one thread at a time may use is used in turn, and each gets what it would have got alone."""
import concurrent.futures
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import numpy as np

import garner

try:
    import torch
    import garner.torch
except ImportError:
    torch = None
try:
    from torch_geometric.data import Data
    from garner.pyg import NeighborLoader
except ImportError:
    Data = None

threads = 4


def together(work):
    """work(k) of each thread, all begun at once; what went wrong in one is thrown here."""
    gate = threading.Barrier(threads)

    def one(k):
        gate.wait()
        return work(k)

    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return [done.result() for done in [pool.submit(one, k) for k in range(threads)]]


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.g = garner.generate("kron", 12)
        cls.rows = np.random.default_rng(1).random((4096, 8), np.float32)

    def sampler(self, **how):
        return garner.BlockSampler(self.g, [10, 10], edge_ids=True, **how)

    def drawn(self, b):
        return b.of_type(0).ids.tolist(), b.of_relation(0).edge.tolist()

    def test_a_sampler(self):
        for place in ("host", "simulated"):
            one, shared = self.sampler(), self.sampler(device=place)
            want = {k: self.drawn(one.sample(range(k % 50, 200 + k % 50), k)) for k in range(40)}

            def work(thread):
                for k in range(thread, 40, threads):
                    self.assertEqual(self.drawn(shared.sample(range(k % 50, 200 + k % 50), k)), want[k])
                    self.assertGreater(shared.nbytes, 0)

            together(work)

    def test_a_loader(self):
        """Each mini-batch is one thread's, whole; an epoch ends for all of them."""
        for place in ("host", "simulated"):
            loader = garner.Loader(self.sampler(device=place), range(2000), [garner.tiered(self.rows, device=place)], batch_size=50, shuffle=False, prefetch=4)
            for epoch in range(3):
                over = iter(loader)

                def work(thread):
                    got = []
                    for b in over:
                        ids = b.of_type(0).ids
                        np.testing.assert_array_equal(ids[:b.seeds], np.arange(50 * b.index, 50 * b.index + 50))
                        np.testing.assert_array_equal(b.rows(0), self.rows[ids])
                        got.append((b.epoch, b.index))
                        self.assertGreater(loader.report()["batches"], 40 * epoch)
                        self.assertEqual(len(loader), 40)
                    return got

                self.assertEqual(sorted(sum(together(work), [])), [(epoch, k) for k in range(40)])

    def test_a_loader_that_is_stopped_and_begun_meanwhile(self):
        loader = garner.Loader(self.sampler(), range(500), [self.rows], batch_size=20, shuffle=False)

        def work(thread):
            for k in range(30):
                if thread == 0:
                    loader.stop()
                elif thread == 1:
                    loader.begin(k)
                    loader.nbytes, loader.state(), repr(loader)
                elif (b := loader.next()) is not None:
                    np.testing.assert_array_equal(b.rows(0), self.rows[b.of_type(0).ids])

        together(work)

    def test_a_sampler_that_a_loader_borrows(self):
        sampler = self.sampler()
        want = self.drawn(self.sampler().sample(range(300), 5))

        def work(thread):
            for _ in range(15):
                try:
                    if thread % 2:
                        self.assertEqual(self.drawn(sampler.sample(range(300), 5)), want)
                    else:
                        loader = garner.Loader(sampler, range(100), [self.rows], batch_size=20)
                        b = loader.next()
                        np.testing.assert_array_equal(b.rows(0), self.rows[b.of_type(0).ids])
                        del b
                        loader.stop()
                except garner.UsageError as e:  # the second caller gets an error
                    self.assertIn("samples with this sampler", str(e))

        together(work)

    def test_a_split_sampler(self):
        part = garner.GraphPart(self.g, 0, 1)
        shared, one = (garner.SplitSampler(part, [50]) for _ in range(2))
        asked = np.repeat(np.arange(4096), 4), np.zeros(4 * 4096, np.int64)
        want = [one.sample(k, 0, *asked) for k in range(20)]

        def work(thread):
            for k in range(20):
                for got, right in zip(shared.sample(k, 0, *asked), want[k], strict=True):
                    np.testing.assert_array_equal(got, right)

        together(work)

    def test_a_training(self):
        split = 1 + np.arange(4096) % 3
        labels = np.arange(4096) % 4

        def training():
            return garner.Training(self.g, self.rows, labels, split, fanouts=[4, 4], epochs=8, batch_size=256, device="cpu")

        want, run = [e["loss"] for e in training()], training()

        def work(thread):
            got = []
            for k in range(2):
                got.append(run._run.next())
                self.assertEqual(set(run.evaluate()), {"train", "validation", "test", "ms"})
                self.assertTrue(all(np.isfinite(t).all() for t in run.model.tensors().values()))
                self.assertTrue(np.isfinite(garner.predict(run.model, self.g, self.rows)).all())
            return got

        got = sorted((e["epoch"], e["loss"]) for some in together(work) for e in some)
        self.assertEqual([loss for _, loss in got], want)

    def test_tables(self):
        table, learned = garner.tiered(self.rows, device="simulated", feature_cache=4096), garner.embedding(4096, 8, device="cpu", optimizer="sgd")
        first = learned.read()

        def work(thread):
            made = np.random.default_rng(thread)
            mine = np.arange(thread, 4096, threads)
            for _ in range(10):
                ids = made.integers(0, 4096, 500)
                np.testing.assert_array_equal(table[ids], self.rows[ids])
                self.assertEqual(sum(table.hits(ids)), 500)
                learned.update(mine, np.ones((len(mine), 8), np.float32), lr=1)

        together(work)
        np.testing.assert_allclose(learned.read(), first - 10, atol=1e-4)

    def test_a_search_is_one_threads(self):
        g = garner.generate("kron", 16)
        search, refused = garner.BfsSearch(g, variant="levels"), []

        def work(thread):
            for _ in range(20):
                try:
                    search.run(17)
                except garner.UsageError as e:
                    refused.append(str(e))

        together(work)
        self.assertEqual(set(refused), {"this search is running in another thread; make one a thread"})
        search.run(17)
        np.testing.assert_array_equal(search.depths(), garner.bfs(g, 17).depth)

    @unittest.skipIf(torch is None, "needs torch")
    def test_aggregation(self):
        row, col = torch.randint(1000, (2, 20000))
        x = torch.rand(1000, 8)
        want = garner.torch.aggregate(x, (row, col, 1000))

        def work(thread):
            mine = x.clone().requires_grad_()
            for _ in range(20):
                out = garner.torch.aggregate(mine, (row, col, 1000))
                self.assertTrue(torch.equal(out, want))
                out.sum().backward()

        together(work)

    @unittest.skipIf(torch is None, "needs torch")
    def test_a_loader_of_torch(self):
        """Epochs that are under way at once are those of one thread alone."""
        def loader():
            return garner.torch.loader(self.g, [5, 5], range(1000), x=torch.from_numpy(self.rows), batch_size=100, shuffle=True, seed=3)

        def said(batches):
            return [(b.n_id.tolist(), b.input_id.tolist(), bool(torch.equal(b.x, torch.from_numpy(self.rows)[b.n_id]))) for b in batches]

        alone, shared = loader(), loader()
        want = [said(alone) for _ in range(2 * threads)]
        got = sum(together(lambda thread: [said(shared) for _ in range(2)]), [])
        self.assertEqual(sorted(got), sorted(want))

    @unittest.skipIf(Data is None, "needs PyG (torch_geometric)")
    def test_a_loader_of_pyg(self):
        data = Data(x=torch.from_numpy(self.rows), edge_index=torch.randint(4096, (2, 40000)))
        loader = NeighborLoader(data, [5, 5], torch.arange(1000), batch_size=100)

        def work(thread):
            for _ in range(3):
                seeds = []
                for b in loader:
                    self.assertTrue(torch.equal(b.x, data.x[b.n_id]))
                    self.assertTrue(torch.equal(b.n_id[b.edge_index], data.edge_index[:, b.e_id]))
                    seeds += b.n_id[:b.batch_size].tolist()
                self.assertEqual(seeds, list(range(1000)))

        together(work)

    def test_a_thread_that_waits_hears_ctrl_c(self):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent("""
            import os, signal, threading, time, garner, numpy as np
            g = garner.generate("kron", 16)
            split = np.ones(65536, np.uint8)
            run = garner.Training(g, np.random.rand(65536, 64).astype("f4"), np.arange(65536) % 9, split, fanouts=[15, 10], epochs=9, device="host")
            def work():
                try:
                    run._run.next()
                except BaseException as e:  # Ctrl-C stops the work of all threads
                    print(type(e).__name__, flush=True)
            threading.Thread(target=work).start()
            time.sleep(0.3)
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                run.evaluate()  # waits for the epoch
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        """)], capture_output=True, text=True, timeout=120)
        self.assertIn("interrupted", done.stdout, done.stderr)

    def test_loaders_that_come_and_go_while_the_interpreter_ends(self):
        script = textwrap.dedent("""
            import atexit, threading, time
            going, threads = [True], []
            @atexit.register  # before garner's own hook, so that it runs behind it
            def end():
                going.clear()
                for thread in threads:
                    thread.join()
            import garner, numpy as np
            g, rows = garner.generate("kron", 8), np.zeros((256, 4), "f4")
            def loader():
                made = garner.Loader(garner.BlockSampler(g, [3, 3]), range(200), [rows], batch_size=10)
                made.next()
                return made
            kept = [loader() for _ in range(20)]
            def churn():
                while going:
                    kept[np.random.randint(20)] = loader()
            for _ in range(3):
                threads.append(threading.Thread(target=churn, daemon=True))
                threads[-1].start()
            time.sleep(0.2)
            print("ends")
        """)
        for _ in range(5):
            done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", script], capture_output=True, text=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (0, "ends\n"), done.stderr)

    def test_a_child_by_fork_is_not_kept_waiting(self):
        """By a thread that the parent has and the child has not."""
        sampler, going = self.sampler(), threading.Event()

        def work():
            while not going.is_set():
                sampler.sample(range(2000), 1)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            import os
            import warnings
            for _ in range(10):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # that a process with threads forks
                    child = os.fork()
                if child == 0:
                    signal.alarm(20)
                    os._exit(0 if sampler.nbytes >= 0 else 1)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
                time.sleep(0.01)
        finally:
            going.set()
            thread.join()


if __name__ == "__main__":
    unittest.main()
