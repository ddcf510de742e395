"""Rows cross a link in pieces, through staging buffers: each arrives whole, whenever its copies run; and an error leaves no thread behind.

The link here runs each copy as late as it may: when something waits for it, or for one behind it.
"""
import contextlib
import importlib.util
import pathlib
import tempfile
import threading
import unittest

import numpy as np

import garner

try:
    import torch
    import torch_geometric.nn as pyg
except ImportError:
    raise unittest.SkipTest("needs torch and PyG (torch_geometric)") from None

from garner import kept_rows, staging


class LateLink:
    made = 0  # copies that ran

    def __init__(self, device):
        self.waiting, self.lock = [], threading.Lock()

    def staging(self, shape, dtype):
        return torch.full(shape, 99, dtype=dtype)

    def buffers(self, count, shape, dtype):
        return [self.staging(shape, dtype) for _ in range(count)]

    def close(self):
        pass

    def after_work(self, tensor):
        pass

    def copy(self, to, of):
        with self.lock:
            done = Late(self, to, of)
            self.waiting.append(done)
        return done

    def before_work(self, done):
        done.synchronize()


class Late:
    def __init__(self, link, to, of):
        self.link, self.to, self.of = link, to, of

    def synchronize(self):
        with self.link.lock:
            while self in self.link.waiting:
                one = self.link.waiting.pop(0)
                one.to.copy_(one.of)
                LateLink.made += 1


@contextlib.contextmanager
def late(piece_bytes):
    before = staging.link_of, staging.piece_bytes
    staging.link_of, staging.piece_bytes = LateLink, piece_bytes
    try:
        yield
    finally:
        staging.link_of, staging.piece_bytes = before


class Staging(unittest.TestCase):
    def setUp(self):
        self.pool = staging.threads(3)
        self.addCleanup(self.pool.shutdown)

    def test_rows_arrive_the_front_first(self):
        device = torch.device("cpu")
        for shape, dtype in (((1000, 3), torch.float32), ((777,), torch.int64), ((50, 2, 2), torch.bfloat16), ((1, 4), torch.float32), ((0, 4), torch.float32)):
            rows = torch.randint(0, 100, shape).to(dtype)
            for size in (1, 100, 1 << 20):
                with self.subTest(shape=shape, size=size), late(size):
                    arriving = staging.Arriving(device, rows.clone())
                    for end in (1, len(rows) // 2, len(rows)):
                        self.assertTrue(torch.equal(arriving.upto(end)[:end], rows[:end]))
        strided = torch.arange(600.0).reshape(60, 10)[:, ::2]
        with late(64):
            self.assertTrue(torch.equal(staging.Arriving(device, strided).upto(60), strided))
        self.assertIs(staging.Arriving(device, rows).upto(0), rows)  # without a link

    def test_rows_come_to_their_place_behind_the_work(self):
        class InOrder:
            def __init__(self):
                self.parts = []

            def put(self, first, rows):
                assert first == sum(map(len, self.parts))
                self.parts.append(rows.clone())

            def finish(self):
                return torch.cat(self.parts)

        for shape, dtype in (((1000, 3), torch.float32), ((777,), torch.int64), ((500, 4), torch.bfloat16)):
            rows = torch.randint(0, 100, shape).to(dtype)
            for touched in (True, False, None):
                with self.subTest(shape=shape, touched=touched), late(1000):
                    into = InOrder() if touched is None else kept_rows.InMemory(shape, dtype)
                    if touched:
                        into.touch(self.pool)
                    behind = staging.Behind(into)
                    for first, end in ((0, 100), (100, 150), (150, 450), (450, len(rows))):
                        behind.put(first, rows[first:end].clone())
                    self.assertTrue(torch.equal(behind.finish(), rows))
        rows = torch.arange(12.0).reshape(4, 3)
        for into in (kept_rows.InMemory((4, 3), torch.float32), InOrder()):  # without a link
            behind = staging.Behind(into)
            behind.put(0, rows)
            self.assertTrue(torch.equal(behind.finish(), rows))

    def test_touched_pages_wait_for_no_row(self):
        """A page that is made late is made before its rows are there."""
        touch = kept_rows._touch
        self.addCleanup(setattr, kept_rows, "_touch", touch)
        for how in ("put", "put_piece"):
            into, rows, may = kept_rows.InMemory((5000, 8), torch.int64), torch.full((5000, 8), -1), threading.Event()
            kept_rows._touch = lambda memory, may=may: (may.wait(), touch(memory))
            into.touch(self.pool)
            threading.Timer(0.2, may.set).start()
            getattr(into, how)(0, rows)
            for one in into.touched:
                one.result()
            self.assertTrue(torch.equal(into.finish(), rows), how)

    def test_no_bytes_and_every_kind(self):
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.bool):
            for shape in ((0, 3), (3, 0), (5,), (5, 2)):
                whole = kept_rows.InMemory(shape, dtype).finish()
                self.assertEqual((whole.shape, whole.dtype), (shape, dtype))


class InferenceOverALink(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        torch.manual_seed(1)
        self.n, edges = 700, np.random.default_rng(1).integers(0, 700, (2, 5000))
        self.graph = garner.build(edges, num_nodes=self.n, weights=np.random.default_rng(2).uniform(0.5, 2, 5000).astype(np.float32))
        self.x = torch.randn(self.n, 12)

    def test_results_are_those_without_one(self):
        seen = []
        touch = kept_rows.InMemory.touch
        self.addCleanup(setattr, kept_rows.InMemory, "touch", touch)
        kept_rows.InMemory.touch = lambda into, pool: (seen.append(into), touch(into, pool))
        for model in (pyg.GraphSAGE(12, 16, 3, 5), pyg.GCN(12, 16, 2, 5), pyg.GAT(12, 8, 2, 5), [pyg.GraphConv(12, 8), torch.relu, pyg.SAGEConv(8, 3)],
                      [pyg.SAGEConv(12, 4), lambda x: x[:, 0]], [pyg.SAGEConv(12, 4), lambda x: x[:, :min(len(x), 3)]]):
            for size in (100, *([None] if isinstance(model, pyg.GraphSAGE) else [])):
                want = garner.infer(model, self.graph, self.x, batch_size=size)
                classes = None if want.ndim < 2 else garner.infer(model, self.graph, self.x, batch_size=size, classes=True)
                with self.subTest(model, size=size), late(500):
                    ran, touched = LateLink.made, len(seen)
                    found = garner.infer(model, self.graph, self.x, batch_size=size)
                    self.assertTrue(torch.equal(found, want))
                    self.assertGreater(LateLink.made, ran)
                    self.assertEqual(len(seen) - touched, 0 if isinstance(model, pyg.GAT) else 1)  # nothing is known ahead of a layer that is not
                    if len(seen) > touched and found.shape[1:] == seen[-1].whole.shape[1:]:
                        self.assertIs(found, seen[-1].whole)
                    if classes is not None:
                        self.assertTrue(torch.equal(garner.infer(model, self.graph, self.x, batch_size=size, classes=True), classes))
                    touched = len(seen)
                    file = garner.infer(model, self.graph, self.x, batch_size=size, out=self.folder / "z.npy")
                    np.testing.assert_array_equal(np.load(file), want)
                    between = garner.infer(model, self.graph, self.x, batch_size=size, memory_limit=0, scratch=self.folder)
                    torch.testing.assert_close(between, want)
                    self.assertEqual(len(seen), touched)  # a file needs no memory
        if importlib.util.find_spec("pyarrow"):
            import pyarrow.parquet as pq
            model = pyg.GraphSAGE(12, 16, 2, 5)
            want = garner.infer(model, self.graph, self.x, batch_size=300)
            with late(500):
                found = pq.ParquetFile(garner.infer(model, self.graph, self.x, batch_size=300, out=self.folder / "z.parquet"))
            np.testing.assert_array_equal(np.array(found.read().column("embedding").to_pylist(), "float32"), want)
            self.assertEqual(found.num_row_groups, 3)  # one a mini-batch, not one a piece

    def test_errors_leave_no_thread(self):
        model = pyg.GraphSAGE(12, 16, 3, 5)
        place = staging.Behind._place
        self.addCleanup(setattr, staging.Behind, "_place", place)

        def stop(done, total):
            if done > 2.5 * self.n:
                raise KeyboardInterrupt

        def full(behind, first, piece, crossed):
            if first > 300 and isinstance(behind.into, kept_rows.InFile):
                raise garner.FileError("z.npy: cannot be written")
            place(behind, first, piece, crossed)
        staging.Behind._place = full
        for kind, more in ((KeyboardInterrupt, {"progress": stop}), (garner.FileError, {"out": self.folder / "z.npy"})):
            with late(500), self.assertRaises(kind):
                garner.infer(model, self.graph, self.x, batch_size=100, **more)
            self.assertEqual([one.name for one in threading.enumerate() if one.name.startswith("garner-staging")], [])
        self.assertEqual(list(self.folder.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
