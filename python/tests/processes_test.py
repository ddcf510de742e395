"""Tables and graphs in other processes: by fork, spawn and forkserver, from the loaders of torch and PyG; tables that are pickled, saved and
copied."""
import copy
import gc
import importlib
import multiprocessing
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import garner

devices = bool(garner.info()["devices"])
features = np.random.default_rng(1).standard_normal((500, 33)).astype("f4")
ids = np.random.default_rng(2).integers(0, 500, 300)
methods = ("fork", "spawn", "forkserver")


def depths():
    return garner.bfs(garner.generate("kron", 10), 17).depth


def answers(pipe, work, *args):
    """A process: what work gives, or the error."""
    signal.alarm(60)  # one that waits for threads which are not there is ended
    try:
        pipe.send(work(*args))
    except Exception as e:
        pipe.send(e)


def rows_of(table):
    return table[ids]


class Rows:
    """Mini-batches of rows of a table, as torch's DataLoader takes them. Nothing here imports torch: other processes would each wait for it."""

    def __init__(self, table):
        self.table = table

    def __len__(self):
        return 6

    def __getitem__(self, k):
        import torch
        return self.table[torch.from_numpy(ids[50 * k:50 * (k + 1)])]


class Parts:
    """Graphs of PyG, cut out of one whose features are a tiered table."""

    def __init__(self, data):
        self.data = data

    def __len__(self):
        return 6

    def __getitem__(self, k):
        import torch
        return self.data.subgraph(torch.from_numpy(np.unique(ids[50 * k:50 * (k + 1)])))


def imported(test, *names):
    try:
        return [importlib.import_module(name) for name in names]
    except ImportError:
        test.skipTest(f"needs {names[0]}")


class Processes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "features.npy"
        np.save(self.file, features)
        self.name = f"test-{os.getpid()}-processes"

    def ask(self, method, work, *args):
        context = multiprocessing.get_context(method)
        ours, theirs = context.Pipe()
        process = context.Process(target=answers, args=(theirs, work, *args))
        process.start()
        theirs.close()
        try:
            found = ours.recv()
        except EOFError:
            found = None
        process.join()
        self.assertEqual((process.exitcode, found is None), (0, False), f"{method}: the process did not answer")
        return found

    def test_streams_that_are_none(self):
        for job in ("garner.bfs(garner.generate('kron', 4), 0, device='simulated')", "garner.tiered(numpy.eye(3), device='simulated')[[1]]", "garner.BlockSampler(garner.build([0], [1]), [1])"):
            code = f"import numpy, garner\ntry: {job}\nexcept garner.UsageError as e: print(e)"
            done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "GARNER_STREAMS": "foo"}, capture_output=True, text=True, timeout=60)
            self.assertEqual((done.stdout, done.stderr), ("GARNER_STREAMS is 'foo'; use late, random:SEED with a whole number as SEED, or unset it\n", ""))

    def test_a_child_has_threads_of_its_own(self):
        here = depths()  # the parent's threads are there
        for method in methods:
            with self.subTest(method=method):
                np.testing.assert_array_equal(self.ask(method, depths), here)

    def test_a_table_of_an_array_goes_by_fork_alone(self):
        table = garner.tiered(features, device="cpu")
        np.testing.assert_array_equal(self.ask("fork", rows_of, table), features[ids])
        for wrong in (lambda: pickle.dumps(table), lambda: self.ask("spawn", rows_of, table)):
            with self.assertRaisesRegex(garner.UsageError, r"numpy\.save .* garner\.shared"):
                wrong()

    def test_a_table_goes_by_the_name_of_its_file(self):
        scores = np.random.default_rng(3).random(500).astype("f4")
        for given in (self.file, str(self.file), os.path.relpath(self.file)):
            table = garner.tiered(given, device="simulated", feature_cache="10KiB", scores=scores)
            for method in methods[bool(os.environ.get("GARNER_STREAMS")):]:  # streams are not there in a child by fork
                with self.subTest(given=given, method=method):
                    np.testing.assert_array_equal(self.ask(method, rows_of, table), features[ids])
            again = pickle.loads(pickle.dumps(table))
            self.assertEqual((again.tiers, again.shape, again.dtype), (table.tiers, table.shape, table.dtype))
            np.testing.assert_array_equal(again.hits(ids), table.hits(ids))
        np.save(self.file, features[:100])
        with self.assertRaisesRegex(garner.InputError, r"is now \(100, 33\)"):
            pickle.loads(pickle.dumps(table))

    def test_a_table_goes_by_the_name_it_is_shared_under(self):
        held = garner.shared(self.name, features)
        table = garner.tiered(held, device="cpu")
        for method in methods:
            with self.subTest(method=method):
                np.testing.assert_array_equal(self.ask(method, rows_of, table), features[ids])
        again = pickle.loads(pickle.dumps(table))
        np.testing.assert_array_equal(again[ids], features[ids])
        del again, table, held
        gc.collect()

    def test_a_group_is_made_by_each(self):
        table = garner.tiered(str(self.file), device="simulated", peers=[0], group=self.name)
        with self.assertRaisesRegex(garner.UsageError, "group="):
            pickle.dumps(table)

    def test_copies_share_the_rows(self):
        table = garner.tiered(features)
        for made in (copy.copy(table), copy.deepcopy(table)):
            self.assertIsNot(made, table)
            self.assertEqual(made.tiers, table.tiers)
            np.testing.assert_array_equal(made[ids], features[ids])

    @unittest.skipUnless(devices, "needs a GPU (none here)")
    def test_fork_after_the_gpu_was_used_is_said(self):
        table = garner.tiered(features, device=0)
        table[ids]
        error = self.ask("fork", rows_of, table)
        self.assertIsInstance(error, garner.DeviceError)
        self.assertRegex(str(error), "forked .* spawn")
        np.testing.assert_array_equal(self.ask("fork", rows_of, garner.tiered(features, device="cpu")), features[ids])

    def test_torch_loads_rows(self):
        torch, data = imported(self, "torch", "torch.utils.data")
        table = garner.tiered(str(self.file), device="cpu")
        table[ids]  # the parent's threads are there
        for method in methods:
            loader = data.DataLoader(Rows(table), batch_size=2, num_workers=2, multiprocessing_context=method, timeout=60)
            got = torch.cat(list(loader)).reshape(-1, 33)
            np.testing.assert_array_equal(got.numpy(), features[ids])

    def test_torch_saves_the_name(self):
        torch, = imported(self, "torch")
        table = garner.tiered(str(self.file), device="cpu")
        kept = self.file.with_name("kept.pt")
        torch.save({"x": table}, kept)
        self.assertLess(kept.stat().st_size, features.nbytes / 4)
        np.testing.assert_array_equal(torch.load(kept, weights_only=False)["x"][ids], features[ids])

    def test_pyg_loads_rows(self):
        torch, loaders, pyg = imported(self, "torch", "torch_geometric.loader", "torch_geometric.data")
        edges = torch.from_numpy(np.random.default_rng(4).integers(0, 500, (2, 3000)))
        table = garner.tiered(str(self.file), device="cpu")
        table[ids]
        data = pyg.Data(x=table, edge_index=edges)
        for method in methods:
            loader = loaders.DataLoader(Parts(data), batch_size=3, num_workers=1 + (method == "fork"), multiprocessing_context=method,
                                         timeout=60)
            got = torch.cat([batch.x for batch in loader])
            want = np.concatenate([features[np.unique(ids[50 * k:50 * (k + 1)])] for k in range(6)])
            np.testing.assert_array_equal(got.numpy(), want)


if __name__ == "__main__":
    unittest.main()
