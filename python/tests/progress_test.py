"""progress= and callbacks: what they get, and that an error in one ends the work without loss."""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

import garner
from garner import progress

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = None


class Stop(Exception):
    pass


def problem():
    rng = np.random.default_rng(3)
    g = garner.build(*rng.integers(0, 200, (2, 3000)), num_nodes=200, undirected=True)
    return g, rng.standard_normal((200, 8)).astype("float32"), rng.integers(0, 3, 200), rng.choice([1, 2, 3], 200).astype("uint8")


class Callbacks(unittest.TestCase):
    def train(self, callback, cls=garner.train, **more):
        return cls(*problem(), **dict(fanouts=[4, 4], epochs=4, hidden_channels=8, batch_size=32, device="cpu", lr=0.02) | more, callback=callback)

    def test_a_dict_of_numbers_each_epoch(self):
        seen = []
        run = self.train(seen.append)
        nodes = int((problem()[3] == 1).sum())
        self.assertEqual([d["epoch"] for d in seen], [1, 2, 3, 4])
        self.assertEqual([d["step"] for d in seen], [k * -(-nodes // 32) for k in (1, 2, 3, 4)])
        for d, epoch in zip(seen, run.epochs):
            self.assertTrue(all(type(v) in (int, float) for v in d.values()), d)  # as wandb.log and add_scalar take them
            self.assertEqual((d["loss"], d["accuracy"], d["lr"], d["seconds"]), (epoch["loss"], epoch["accuracy"], 0.02, epoch["ms"] / 1000))
            self.assertAlmostEqual(d["nodes_per_second"], nodes / d["seconds"])
            self.assertEqual(d["validation_accuracy"], epoch["exact"]["validation"]["accuracy"])
            self.assertEqual(d["sampled_edges"], epoch["load"]["edges"])
            self.assertGreater(d["sampled_edges"], 0)
        seen.clear()
        self.train(seen.append, fanouts=None, evaluate_every=0)
        self.assertEqual([(d["epoch"], d["step"]) for d in seen], [(k, k) for k in (1, 2, 3, 4)])
        self.assertFalse({"sampled_edges", "validation_loss"} & set(seen[0]))

    def test_a_dict_of_some_steps(self):
        whole, nodes = self.train(None), int((problem()[3] == 1).sum())
        steps = -(-nodes // 32)
        self.assertEqual(steps, 3)
        for every in (1, 2, 3, 100):
            seen = []
            run = self.train(seen.append, callback_every=every)
            self.assertEqual([(e["loss"], e["exact"]["test"]) for e in run.epochs], [(e["loss"], e["exact"]["test"]) for e in whole.epochs])  # the same steps
            self.assertEqual([e["steps"] for e in run.epochs], [steps] * 4)
            parts = [d for d in seen if "seconds" not in d]
            self.assertEqual([d["step"] for d in parts], [s for k in range(4) for s in (min(k * steps + s, (k + 1) * steps) for s in range(every, steps + every, every))])
            self.assertEqual([d["step"] for d in seen], sorted(d["step"] for d in seen))
            for d in parts:
                self.assertTrue(all(type(v) in (int, float) for v in d.values()), d)
                self.assertEqual((d["epoch"], d["lr"]), (-(-d["step"] // steps), 0.02))
            for name in ("loss", "accuracy"):
                of = [min(32, nodes - s) for s in range(0, nodes, 32)]
                first = [d[name] for d in parts if d["epoch"] == 1]
                if every == 1:
                    self.assertAlmostEqual(sum(x * n for x, n in zip(first, of)) / nodes, run.epochs[0][name])
                if every >= steps:
                    self.assertAlmostEqual(first[0], run.epochs[0][name])
        seen.clear()
        self.train(seen.append, fanouts=None, callback_every=1)  # where an epoch is a step
        self.assertEqual([d["step"] for d in seen], [1, 2, 3, 4])
        for more, words in (({"callback_every": 0}, "use steps, 1 or more"), ({"callback_every": 5, "callback": None}, "no callback")):
            with self.assertRaisesRegex(garner.UsageError, words):
                garner.Training(*problem(), **{"callback": seen.append, "fanouts": [4, 4], **more})

    def test_an_error_after_some_steps_loses_nothing(self):
        whole = self.train(None)
        for kind in (Stop, KeyboardInterrupt):
            def fail(d):
                if d["step"] == 5:
                    raise kind("enough")
            with self.assertRaises(kind) as caught:
                self.train(fail, callback_every=1)
            run = caught.exception.run
            self.assertEqual(len(run.epochs), 1)
            with tempfile.TemporaryDirectory() as folder:
                run.save_checkpoint(os.path.join(folder, "now"))
                again = self.train(None, garner.Training)
                again.load_checkpoint(os.path.join(folder, "now"))
            self.assertEqual([e["loss"] for e in again], [e["loss"] for e in whole.epochs[1:]])
            self.assertEqual([e["loss"] for e in run], [e["loss"] for e in whole.epochs[1:]])

    def test_an_error_in_it_loses_nothing(self):
        whole = self.train(None)
        for kind in (Stop, KeyboardInterrupt):
            def fail(d):
                if d["epoch"] == 2:
                    raise kind("enough")
            with self.assertRaises(kind) as caught:
                self.train(fail)
            run = caught.exception.run
            self.assertEqual([e["loss"] for e in run.epochs], [e["loss"] for e in whole.epochs[:2]])
            with tempfile.TemporaryDirectory() as folder:
                run.save_checkpoint(os.path.join(folder, "now"))
                again = self.train(None, garner.Training)
                again.load_checkpoint(os.path.join(folder, "now"))
            self.assertEqual([e["loss"] for e in again], [e["loss"] for e in whole.epochs[2:]])
            self.assertEqual([e["loss"] for e in run], [e["loss"] for e in whole.epochs[2:]])

    def test_not_a_function(self):
        with self.assertRaisesRegex(TypeError, "callback='x'.*wandb.log"):
            self.train("x")


@unittest.skipIf(pa is None, "pyarrow is not installed")
class Progress(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        rng = np.random.default_rng(1)
        self.table = pa.table({"src": rng.integers(0, 5000, 300_000), "dst": rng.integers(0, 5000, 300_000)})
        self.file = str(self.folder / "edges.parquet")
        pq.write_table(self.table, self.file)

    def test_a_function(self):
        for edges, total in ((self.file, 300_000), ([self.file] * 2, 600_000), (self.table, 300_000)):
            seen = []
            garner.convert(edges, str(self.folder / "g.gnr"), progress=lambda *at: seen.append(at))
            rows = [at for at in seen if at[1] == total]
            self.assertEqual(rows[-1], (total, total))
            self.assertEqual(rows, sorted(rows))
            self.assertGreater(len(rows), 2)

    def test_an_error_in_it_leaves_no_file(self):
        for kind in (Stop, KeyboardInterrupt):
            def fail(done, total):
                raise kind("enough")
            with self.assertRaises(kind):
                garner.convert(self.file, str(self.folder / "g.gnr"), progress=fail)
            self.assertEqual(os.listdir(self.folder), ["edges.parquet"])
        self.assertEqual(garner.read_edges(self.file).info.num_nodes, 5000)

    def test_work_of_the_library_is_seen_and_stopped(self):
        with self.assertRaisesRegex(Stop, "enough"), progress.watching(self.stop):
            garner.generate("kron", 20, 32)
            self.fail("it went on")
        self.assertEqual(len(garner.generate("kron", 10)), 1 << 10)  # no request is left

    @staticmethod
    def stop(done, total):
        raise Stop("enough")

    def test_a_line_or_a_bar(self):
        said = io.StringIO()
        with mock.patch.dict(sys.modules, {"tqdm.auto": None}), contextlib.redirect_stderr(said):
            garner.convert(self.file, str(self.folder / "g.gnr"), progress=True)
        self.assertIn("\rreading edges: 131,072 of 300,000 (43%)\r", said.getvalue())
        self.assertTrue(said.getvalue().endswith("300,000 of 300,000 (100%)\n"), said.getvalue())
        bars = mock.Mock()
        with mock.patch.dict(sys.modules, {"tqdm.auto": bars}):
            garner.convert(self.file, str(self.folder / "g.gnr"), progress=True)
        self.assertEqual(bars.tqdm.call_args.kwargs, {"desc": "reading edges", "total": 300_000, "unit_scale": True})
        self.assertEqual(bars.tqdm.return_value.n, 300_000)
        bars.tqdm.return_value.close.assert_called_once()
        with self.assertRaisesRegex(TypeError, "progress=3: use True"):
            garner.convert(self.file, str(self.folder / "g.gnr"), progress=3)


if __name__ == "__main__":
    unittest.main()
