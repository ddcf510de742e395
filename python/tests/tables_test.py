"""Unified and tiered tables with arrays of NumPy, against NumPy's own indexing."""
import gc
import pathlib
import subprocess
import sys
import os
import tempfile
import types
import unittest
import warnings
import weakref

import numpy as np

import garner

if not hasattr(garner, "tiered"):
    print("skipped 'built without feature tables'")
    raise SystemExit(0)

devices = bool(garner.info()["devices"])
places = ["host", "simulated"] + [0] * devices
rng = np.random.default_rng(1)


def table(kind, rows=200, width=7):
    if np.dtype(kind) == bool:
        return rng.random((rows, width)) < 0.5
    if np.dtype(kind).kind in "iu":
        return rng.integers(0, 100, (rows, width)).astype(kind)
    return rng.standard_normal((rows, width)).astype(kind)

counts_requests = not os.environ.get("GARNER_STREAMS")  # streams do not


class Lazy(unittest.TestCase):
    def run_python(self, code):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_import_garner_imports_no_torch(self):
        self.run_python("import sys, garner; assert 'torch' not in sys.modules and 'garner.torch' not in sys.modules")

    def test_torch_that_is_not_there_is_said(self):
        self.run_python("""
import sys
sys.modules["torch"] = None  # as if it were not installed
import garner
try:
    garner.torch.unified
except ImportError as e:
    assert "garner.torch needs torch" in str(e), e
else:
    raise AssertionError("no error")
try:
    garner.no_such_name
except AttributeError as e:
    assert "no_such_name" in str(e), e
else:
    raise AssertionError("no error")
""")

    def test_refusals_name_a_help_that_is_there(self):
        t = garner.tiered(np.zeros((3, 2), np.float32), device="cpu")
        with self.assertRaisesRegex(TypeError, r"help\(garner\.Tiered\.gather\)"):
            t.gather(np.array([1]), multiprocessors=-1)
        self.assertTrue(garner.Tiered.gather.__doc__)


class Tables(unittest.TestCase):
    def test_as_numpy_indexes(self):
        for where in places:
            for kind in ("f4", "f2", "i1", "i8", "u1", "f8", "i4", "u2", "c8", "?"):
                features = table(kind)
                for budget in (0, 1000, None):
                    t = garner.tiered(features, feature_cache=budget, device=where)
                    self.assertEqual((t.shape, t.dtype, len(t), t.ndim, t.row_bytes),
                                     ((200, 7), features.dtype, 200, 2, features[0].nbytes))
                    for ids in (rng.integers(0, 200, 50), rng.integers(0, 200, 50).astype("i4"), rng.integers(0, 200, 9).astype("u8"),
                                rng.integers(0, 200, 9).astype("u4"), rng.integers(0, 120, 9).astype("i1"), np.arange(200)[::-3],
                                rng.integers(0, 200, (3, 4)), rng.integers(0, 200, (4, 3)).T, np.zeros((0,), int), np.zeros((2, 0), int),
                                [3, 3, 3], [[1, 2]], [], features[:, 0] > 20, np.array(5), slice(None), slice(3, 90, 7), slice(9, 3, -1),
                                slice(500, 600), 0, 199, -1, -200, np.int32(-7)):
                        with self.subTest(where=where, kind=kind, budget=budget, ids=ids):
                            twin = features[np.asarray(ids, int) if isinstance(ids, list) else ids]
                            rows = t[ids]
                            self.assertEqual((rows.dtype, rows.shape), (twin.dtype, twin.shape))
                            np.testing.assert_array_equal(rows, twin)

    def test_rows_of_any_shape(self):
        for shape in ((50,), (50, 1), (50, 3, 2, 2)):
            features = rng.standard_normal(shape).astype("f4")
            t = garner.tiered(features)
            np.testing.assert_array_equal(t[[[3, 1], [4, 4]]], features[[[3, 1], [4, 4]]])
            np.testing.assert_array_equal(t[7], features[7])
            np.testing.assert_array_equal(t.numpy(), features)
        self.assertEqual([list(row) for row in garner.tiered(np.arange(6).reshape(3, 2))], [[0, 1], [2, 3], [4, 5]])

    def test_all_ways_and_orders(self):
        features, ids = table("f4", 500, 33), rng.integers(0, 500, 300)
        for where in places:
            t = garner.tiered(features, feature_cache=5000, device=where)
            for way in ("automatic", "staged", "naive", "shifted", "aligned"):
                for order in ("automatic", "none") + ("sorted", "bucketed") * (way != "staged"):
                    with self.subTest(where=where, strategy=way, order=order):
                        np.testing.assert_array_equal(t.gather(ids, strategy=way, order=order), features[ids])
                        self.assertEqual(t.last.rows, 300)
                        self.assertTrue(t.last.why)
            self.assertEqual(sum(t.tiers), 500)
            self.assertEqual(sum(t.hits(ids)), 300)
            self.assertTrue(t.explain(1000).why)
            self.assertEqual(t.explain(200, 2, multiprocessors=4).rows, 200)
            self.assertIn("rows", t.summary())
            self.assertIn("(500, 33) float32", repr(t))

    def test_window(self):
        features = table("f4")
        for where in places:
            t = garner.tiered(features, device=where, feature_cache=0)
            batches = [rng.integers(0, 200, n) for n in (5, 100, 0, 17)]
            rows = t.gather_many(batches)
            self.assertEqual(len(rows), 4)
            for ids, got in zip(batches, rows):
                np.testing.assert_array_equal(got, features[ids])
            outs = [np.zeros((n, 7), "f4") for n in (5, 100, 0, 17)]
            self.assertIs(t.gather_many(batches, outs)[1], outs[1])
            np.testing.assert_array_equal(outs[3], features[batches[3]])
        self.assertEqual(t.gather_many([]), [])
        self.assertRaises(garner.UsageError, t.gather_many, batches, outs[:1])

    def test_out(self):
        features = table("f4")
        t, out = garner.tiered(features), np.zeros((3, 7), "f4")
        self.assertIs(t.gather([4, 2, 4], out), out)
        np.testing.assert_array_equal(out, features[[4, 2, 4]])
        read_only = np.zeros((3, 7), "f4")
        read_only.flags.writeable = False
        for wrong in (np.zeros((2, 7), "f4"), np.zeros((3, 7)), np.zeros((7, 3), "f4").T, [0], read_only):
            with self.assertRaisesRegex(garner.UsageError, "out: .* contiguous array of shape \\(3, 7\\)"):
                t.gather([1, 2, 3], wrong)

    def test_conversion(self):
        ids = rng.integers(0, 200, 60)
        for where in places:
            half = table("f2")
            for dtype in ("f32", np.float32, np.dtype("f4")):
                rows = garner.tiered(half, device=where).gather(ids, dtype=dtype)
                self.assertEqual(rows.dtype, np.float32)
                np.testing.assert_array_equal(rows, half[ids].astype("f4"))
            small, scales = table("i1"), rng.random(200).astype("f4")
            np.testing.assert_array_equal(garner.tiered(small, device=where).gather(ids, dtype="f32"), small[ids].astype("f4"))
            for rows in (garner.tiered(small, device=where, scales=scales).gather(ids, dtype="f32"),
                         garner.tiered(small, device=where).gather(ids, dtype="f32", scales=scales)):
                np.testing.assert_allclose(rows, small[ids] * scales[ids, None], rtol=1e-6)
            same = garner.tiered(table("f4"), device=where)
            np.testing.assert_array_equal(same.gather(ids, dtype="f32"), same[ids])
            for wrong in ("f64", np.float64, "f16", "odd"):
                self.assertRaisesRegex(garner.UsageError, "'f32' or 'bf16'", same.gather, ids, dtype=wrong)
            self.assertRaisesRegex(garner.UsageError, "rows of float64, held as raw bytes, cannot be written as f32",
                                   garner.tiered(table("f8"), device=where).gather, ids, dtype="f32")

    def test_answers_what_an_array_of_rows_answers(self):
        features = rng.standard_normal((200, 3, 2)).astype("f4")
        t = garner.tiered(features)
        self.assertEqual((t.shape, t.ndim, t.dim(), t.size(0), t.numel(), t.nbytes, len(t)), ((200, 3, 2), 3, 3, 200, 1200, 4800, 200))
        self.assertIn(str(t.device), ("cpu", "cuda:0"))
        np.testing.assert_array_equal(t.index_select(0, [5, 7]), features[[5, 7]])
        np.testing.assert_array_equal(t.numpy(), features)
        self.assertIs(t.to(t.device), t)
        for wrong in (lambda: np.asarray(t), lambda: np.add(t, 1), lambda: np.from_dlpack(t), lambda: t.index_select(1, [0]), lambda: t.to("f16"),
                      lambda: t.__setitem__(0, 1), lambda: np.linalg.norm(t)):
            with self.assertRaisesRegex(garner.UsageError, "gather|whole|written"):
                wrong()
        if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
            np.testing.assert_array_equal(np.array(t, copy=True), features)

    def test_put_changes_rows_wherever_they_lie(self):
        for where in places:
            for kind in ("f4", "f2", "i1", "i8", "u1", "f8", "i4", "u2", "c8", "?"):
                for budget in (0, 1000, None):
                    features = table(kind)
                    twin = features.copy()
                    t = garner.tiered(features, feature_cache=budget, device=where)
                    beside = t.for_device(where)
                    for ids in ([7], [[0, 199], [5, 5]], rng.integers(0, 200, 60), rng.integers(0, 200, 60).astype("i4"),
                                rng.integers(0, 200, (5, 4)).astype("u8"), rng.integers(0, 200, 9).astype("u4"), np.arange(200)[::-3], np.array(9), [],
                                np.arange(200) % 3 == 0):
                        with self.subTest(where=where, kind=kind, budget=budget, ids=ids):
                            rows = table(kind, np.arange(200)[ids].size if len(np.shape(ids)) and np.asarray(ids).dtype == bool else np.size(ids))
                            rows = rows.reshape(t[ids].shape)
                            t.put(ids, rows)
                            for at, row in zip(t._source.ids(ids, 200).reshape(-1), rows.reshape(-1, 7)):  # one by one: the last of equal ids counts
                                twin[at] = row
                            np.testing.assert_array_equal(t.numpy(), twin)
                            np.testing.assert_array_equal(beside.numpy(), twin)
                            np.testing.assert_array_equal(features, twin)

    def test_put_refuses_and_changes_nothing(self):
        features = table("f4")
        twin, two = features.copy(), np.ones((2, 7), "f4")
        for where in places:
            t = garner.tiered(features, feature_cache=1000, device=where)
            for ids, rows, kind, words in [
                    ([3, -1], two, garner.IdError, "-1 at position 1"), ([200, 3], two, IndexError, "200 at position 0"),
                    ([3], two, garner.UsageError, r"\(2, 7\); the table takes float32 of shape \(1, 7\)"), ([0.5, 1], two, garner.UsageError, "float64"),
                    ([3, 4], two.astype("f8"), garner.UsageError, "float64 of shape"), ([3, 4], "ab", garner.UsageError, "rows"),
                    (slice(2), two, garner.UsageError, "whole numbers")]:
                with self.subTest(where=where, ids=ids), self.assertRaisesRegex(kind, words):
                    t.put(ids, rows)
            np.testing.assert_array_equal(t.numpy(), twin)
        np.testing.assert_array_equal(features, twin)
        features.flags.writeable = False
        with self.assertRaisesRegex(garner.UsageError, "memory that is only read"):
            garner.tiered(features).put([3, 4], two)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "t.npy")
            np.save(file, features)
            with self.assertRaisesRegex(garner.UsageError, "put: this table is of .*t.npy; .*put_rows, then refresh"):
                garner.tiered(file).put([3, 4], two)
            with self.assertRaisesRegex(garner.UsageError, "memory that is only read"):
                garner.tiered(np.load(file, mmap_mode="r"), device="cpu").put([3, 4], two)
        with self.assertRaisesRegex(garner.UsageError, "memory that is only read"):
            garner.tiered(garner.shared("test-put", two.copy()), device="cpu").put([0, 1], two)

    def test_a_file_is_mapped_where_the_host_reads_it(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "t.npy"
            np.save(file, np.zeros((16384, 1024), "f4"))  # 64 MiB
            code = f"""
import garner, resource
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
before = resident()
t = garner.tiered({str(file)!r}, device="host")
assert t[[5, 16383]].shape == (2, 1024)
assert resident() - before < 32 << 20, resident() - before
assert {str(file)!r} in open("/proc/self/maps").read()
del t
assert {str(file)!r} not in open("/proc/self/maps").read()
"""
            Lazy.run_python(self, code)
            t = garner.tiered(file, device="cpu")
            file.unlink()  # the mapping keeps it
            self.assertEqual(t[[7]].sum(), 0)
            np.save(file, np.zeros((0, 4), "f4"))
            self.assertEqual(garner.tiered(file, device="cpu").shape, (0, 4))

    def test_ids_that_cannot_be(self):
        features = table("f4")
        for where in places:
            t = garner.tiered(features, device=where)
            for wrong, kind, words in [
                    ([3, -1], garner.IdError, "-1 at position 1"), ([0, 5, 200], IndexError, "200 at position 2"),
                    (np.array([2**40]), garner.InputError, "at position 0"), (np.array([-5], "i4"), garner.InputError, "-5 at position 0"),
                    (200, garner.IdError, "row 200 of 200"), (-201, IndexError, "row -201"), (0.5, garner.UsageError, "float64"),
                    ([0.5], garner.UsageError, "float64"), ("a", garner.UsageError, "whole numbers"), (None, garner.UsageError, "object"),
                    (np.ones(7, bool), garner.UsageError, "200 rows"), (np.ones((200, 7), bool), garner.UsageError, "mask"),
                    ((slice(None), 1), garner.UsageError, "whole rows"), (..., garner.UsageError, "")]:
                with self.subTest(where=where, ids=wrong), self.assertRaisesRegex(kind, words):
                    t[wrong]
            np.testing.assert_array_equal(t[[0]], features[[0]])  # and it works on

    def test_ids_that_libgarner_does_not_take_as_they_are(self):
        features = table("f4")
        t = garner.tiered(features)
        with self.assertRaisesRegex(garner.InputError, "id 4294967295 at position 0"):  # and not -1
            t[np.array([2**32 - 1], "u4")]
        for where in places:
            for call in (garner.tiered(features, device=where).gather, garner.tiered(features, device=where).hits):
                with self.assertRaisesRegex(garner.InputError, "id 18446744073709551615 at position 1:"):
                    call(np.array([7, 2**64 - 1], "u8"))
            with self.assertRaisesRegex(garner.InputError, "id 18446744073709551614 at position 0 of batch 1:"):
                garner.tiered(features, device=where).gather_many([np.array([2], "i8"), np.array([2**64 - 2], "u8")])
        odd = np.frombuffer(b"\0" + np.array([5, 7]).tobytes(), "u1")[1:].view("i8")
        self.assertFalse(odd.flags.aligned)
        np.testing.assert_array_equal(t[odd], features[[5, 7]])

    def test_budgets_are_raised_as_python_does(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "t.npy"
            np.save(file, table("f4"))
            garner.limit_host_memory(1000)
            try:
                garner.tiered(file, device="cpu")  # its pages are the file's
                with self.assertRaisesRegex(garner.OutOfMemory, r"raise the host budget \(garner\.limit_host_memory\)") as said:
                    garner.generate("kron", 8)
                self.assertNotIn("--", str(said.exception))
            finally:
                garner.limit_host_memory(None)

    def test_tables_without_rows(self):
        for shape in ((0, 4), (0,), (0, 3, 2)):
            for where in places:
                t = garner.tiered(np.zeros(shape, "f4"), device=where)
                self.assertEqual((t.shape, t[[]].shape, t[:].shape, t.tiers), (shape, shape, shape, (0, 0, 0, 0)))
                with self.assertRaisesRegex(garner.InputError, "id 0 at position 0: this table has no rows"):
                    t[[0]]
                self.assertRaises(IndexError, lambda: t[0])

    def test_a_window_reads_each_far_row_once(self):
        room = np.zeros(100 * 512 + 128, "u1")
        begin = -room.ctypes.data % 128  # rows are whole lines
        t = garner.tiered(room[begin:begin + 100 * 512].view("f4").reshape(100, 128), device="simulated", feature_cache=0)
        t.gather_many([[1, 2, 3], [3, 2, 1], [1, 1]])
        self.assertEqual((t.last.order, t.last.link.bytes_link), ("sorted", 3 * 512 if counts_requests else 0))
        ids, rows_of = np.arange(200) % 50, t.numpy()
        for order in ("none", "sorted", "bucketed"):
            for duplicates, rows in (("automatic", 50), ("once", 50), ("repeat", 200)):
                np.testing.assert_array_equal(t.gather(ids, order=order, duplicates=duplicates), rows_of[ids])
                self.assertEqual(t.last.duplicates, "repeat" if duplicates == "repeat" else "once")
                self.assertEqual(t.last.link.bytes_useful, rows * 512 if counts_requests else 0)
        self.assertEqual(t.explain(10, duplicates="once").duplicates, "once")

    def test_beside_each_other_they_share_peers(self):
        features, ids = table("f4"), rng.integers(0, 200, 50)
        for where in places:
            t = garner.tiered(features, device=where, peers=[0], peer_cache=features.nbytes // 2, feature_cache=0,
                              scores=rng.random(200).astype("f4"))
            other = t.for_device(where)
            self.assertEqual((other.tiers, other.shape, other.dtype, other.last), (t.tiers, t.shape, t.dtype, None))
            np.testing.assert_array_equal(other[ids], t[ids])
            del t
            gc.collect()
            np.testing.assert_array_equal(other[ids], features[ids])
        with self.assertRaisesRegex(garner.UsageError, "cannot be gathered at simulated"):
            garner.tiered(features, device="cpu").for_device("simulated")

    def test_wrong_types_are_told_in_words(self):
        features = table("f4")
        for call, kind, words in [
                (lambda: garner.tiered(None), TypeError, "features=None; give a NumPy array"),
                (lambda: garner.tiered(features, peers="abc"), TypeError, "peers='abc': give a list of devices"),
                (lambda: garner.tiered(features, peers=3), TypeError, "peers=3: give a list of devices"),
                (lambda: garner.tiered(features, peers=[0], group=3), TypeError, "group=3: .* a string"),
                (lambda: garner.tiered(features, group="g"), garner.UsageError, "'g'. and no peers"),
                (lambda: garner.tiered(features, peers=[0], group="a/b", device="simulated"), garner.UsageError, "is not a name"),
                (lambda: garner.tiered(features.astype(">f4")), TypeError, "ndarray of >f4 is not an array .* byte order"),
                (lambda: garner.tiered([[1.0], [2.0, 3.0]]), TypeError, "features is .*; give an array, a tensor or a list of numbers"),
                (lambda: garner.shared("garner-test-ragged", [[1.0], [2.0, 3.0]]), TypeError, "shared is .*; give an array, a tensor or a list of numbers"),
                (lambda: garner.tiered(features).explain(-1), garner.UsageError, "explain: -1 ids")]:
            with self.assertRaisesRegex(kind, words):
                call()

    def test_cupy_ids_of_a_table_of_the_host_live_until_the_rows_are_there(self):
        # CuPy's part of it, played: copies at the host, whose bytes are made useless once nobody holds them.
        class Copy(np.ndarray):
            def __del__(self):
                if self.base is None and self.dtype == np.int64:
                    self.fill(-1)

        class Device:
            def __init__(self, index):
                self.id = index

            def __enter__(self):
                return self

            def __exit__(self, *_):
                pass

        class ndarray(np.ndarray):
            __module__ = "cupy"
            device = Device(0)

        def copy(a):
            made = Copy(a.shape, a.dtype)
            made[...] = a
            return made

        played = types.ModuleType("cupy")
        played.ndarray, played.asnumpy, played.asarray = ndarray, copy, lambda a: a.view(ndarray)
        played.ascontiguousarray = lambda a: np.ascontiguousarray(a).view(ndarray)
        played.cuda = types.SimpleNamespace(Device=Device)
        features, ids = table("f4"), rng.integers(0, 200, 50).view(ndarray)
        before = sys.modules.get("cupy")
        sys.modules["cupy"] = played
        try:
            np.testing.assert_array_equal(garner.tiered(features, device="cpu")[ids], features[np.asarray(ids)])
        finally:
            del sys.modules["cupy"]
            if before:
                sys.modules["cupy"] = before

    def test_options_that_cannot_be(self):
        features = table("f4")
        for wrong, kind in [(dict(feature_cache="much"), garner.UsageError), (dict(scores=[1.0]), garner.UsageError),
                            (dict(device="moon"), garner.UsageError), (dict(device=-1), garner.UsageError), (dict(peers="x"), TypeError)]:
            with self.assertRaises(kind):
                garner.tiered(features, **wrong)
        for place in ("simulated:x", "simulated:", "simulated:-1", "simulated:1x", "simulated:99999999999"):  # as the caller wrote it
            self.assertRaisesRegex(garner.UsageError, f"device is '{place}'", garner.tiered, features, device=place)
        t = garner.tiered(features)
        self.assertRaises(garner.UsageError, garner.tiered, t)
        self.assertRaises(garner.UsageError, t.gather, [1], strategy="fast")
        self.assertRaises(garner.UsageError, t.gather, [1], order="fast")
        self.assertRaises(garner.UsageError, t.gather, [1], duplicates="twice")
        self.assertRaises(garner.UsageError, garner.tiered, np.float32(1))
        self.assertRaises(TypeError, garner.tiered, [["a"]])

    def test_not_contiguous_is_copied_and_said(self):
        features = table("f4")
        for strided in (features[::2], features[:, 1:], np.asfortranarray(features), features[::-1]):
            for make in (garner.tiered, garner.unified):
                with self.assertWarnsRegex(RuntimeWarning, "not contiguous and was copied"):
                    made = make(strided)
                np.testing.assert_array_equal(made[:] if make is garner.tiered else made.array, strided)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            garner.tiered(features)
            garner.unified(features)

    def test_taken_in_place_and_let_go(self):
        class Kept(np.ndarray):  # plain ndarray knows no weak reference to its memory's owner
            pass

        for make in (lambda a: garner.tiered(a, feature_cache=0, device="cpu"), garner.unified):
            features = table("f4").view(Kept)
            gone = weakref.ref(features)
            made = make(features)
            features[3] = 7
            rows = made[[3]] if isinstance(made, garner.Tiered) else made.array[[3]]
            np.testing.assert_array_equal(rows, np.full((1, 7), 7, "f4"))
            del features
            gc.collect()
            self.assertIsNotNone(gone())
            del made
            gc.collect()
            self.assertIsNone(gone())

    def test_read_only(self):
        features = table("f4")
        features.flags.writeable = False
        np.testing.assert_array_equal(garner.tiered(features)[[5]], features[[5]])
        u = garner.unified(features)
        self.assertFalse(u.array.flags.writeable)

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "t.npy"
            for kind in ("f4", "f2", "i1", "i8", "u1", "f8", "i2", "i4", "u2", "u4", "u8", "c8", "c16", "?"):
                for shape in ((200, 7), (1400,), (100, 2, 7)):
                    features = table(kind).reshape(shape)
                    np.save(file, features)
                    for name in (file, str(file)):
                        t = garner.tiered(name)  # as the array would be
                        self.assertEqual((t.dtype, t.shape), (features.dtype, features.shape))
                        np.testing.assert_array_equal(t[[9, 1]], features[[9, 1]])
            file.write_bytes(file.read_bytes()[:-1])
            self.assertRaises(garner.InputError, garner.tiered, file)
            self.assertRaises(OSError, garner.tiered, pathlib.Path(folder) / "none.npy")

    def test_files_of_what_is_no_number_are_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "t.npy"
            for kind in ("V2", "V7", "U3", "S5"):
                features = np.frombuffer(rng.bytes(12 * np.dtype(kind).itemsize) if kind[0] != "U" else b"x\0\0\0" * 36,
                                         kind).reshape(4, 3)
                np.save(file, features)
                with self.assertWarnsRegex(RuntimeWarning, f"'.{kind}'.* raw bytes" + (".*dtype='bf16'" if kind == "V2" else "")):
                    t = garner.tiered(file)
                self.assertEqual((t.dtype, t.shape), (np.uint8, (4, features[0].nbytes)))
                self.assertIn("held as raw bytes", t.summary())
                self.assertEqual(t[[3, 0]].tobytes(), features[[3, 0]].tobytes())
            for kind in ("|b8", "|b2", "<f1", "<f3", "<i3", "<u5", "<c4"):  # widths that no array has, which numpy.save never wrote
                each = int(kind[2:])
                data = np.frombuffer(rng.bytes(1000 * 10 * each), "u1").reshape(1000, 10 * each)
                with open(file, "wb") as out:
                    np.lib.format.write_array_header_1_0(out, {"descr": kind, "fortran_order": False, "shape": (1000, 10)})
                    out.write(data.tobytes())
                with self.assertWarnsRegex(RuntimeWarning, f"'.{kind[1:]}'.* raw bytes"):
                    t = garner.tiered(file)
                self.assertEqual((t.dtype, t.shape), (np.uint8, data.shape))
                np.testing.assert_array_equal(t[np.arange(1000)], data)
            for features, words in [(np.zeros(3, ">f4"), "big-endian"), (np.zeros(3, "M8[s]"), "view\\('<i8'\\)"),
                                    (np.zeros(3, "f4,i4"), "view\\('u1'\\)"), (np.array([{}, None]), "'.O'.*astype")]:
                np.save(file, features)
                self.assertRaisesRegex(garner.InputError, words, garner.tiered, file)

    def test_bf16_has_no_name_in_files(self):
        words = (rng.standard_normal((50, 6)).astype("f4").view("u4") >> 16).astype("u2")
        floats = (words.astype("u4") << 16).view("f4")
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("error")
            file = pathlib.Path(folder) / "t.npy"
            for saved in (words.view("V2"), words, words.view("u1")):
                np.save(file, saved)
                for source in (file, saved) if saved.dtype.kind == "u" else (file,):
                    for name in ("bf16", "bfloat16"):
                        t = garner.tiered(source, dtype=name, device="simulated")
                        self.assertEqual((str(t.dtype), t.shape, t.row_bytes), ("bfloat16", (50, 6), 12))
                        np.testing.assert_array_equal(t.gather([7, 7, 0], dtype="f32"), floats[[7, 7, 0]])
            np.save(file, words.view("V2"))
            t = garner.tiered(np.load(file), dtype="bf16", device="simulated")
            self.assertEqual((str(t.dtype), t.shape), ("bfloat16", (50, 6)))
            np.testing.assert_array_equal(t.gather([7, 7, 0], dtype="f32"), floats[[7, 7, 0]])
            np.testing.assert_array_equal(garner.tiered(floats.view("V4"), dtype="f32")[[3]], floats[[3]])
            self.assertRaisesRegex(garner.UsageError, "elements of 4 bytes .* bf16, which takes 2", garner.tiered, floats.view("V4"), dtype="bf16")
            np.save(file, floats)
            self.assertRaisesRegex(garner.UsageError, "t.npy: elements of 4 bytes .* bf16, which takes 2", garner.tiered, file, dtype="bf16")
            self.assertRaisesRegex(garner.UsageError, "'f64' is not a known element type", garner.tiered, file, dtype="f64")
            np.save(file, words.view("u1")[:, :5])
            self.assertRaisesRegex(garner.UsageError, "rows of 5 bytes", garner.tiered, file, dtype="bf16")
            np.testing.assert_array_equal(garner.tiered(floats, dtype=np.uint8)[[3]], floats[[3]].view("u1"))
            try:
                import ml_dtypes
            except ImportError:
                return
            t = garner.tiered(words.view(ml_dtypes.bfloat16))
            self.assertEqual(t[[3]].tobytes(), words[[3]].tobytes())

    def test_unified_speaks_dlpack(self):
        for kind in ("f4", "f8", "i8", "u1", "?"):
            features = table(kind)
            u = garner.unified(features)
            self.assertEqual((u.shape, len(u)), ((200, 7), 200))
            self.assertEqual(u.__dlpack_device__(), (2, 0) if devices else (1, 0))
            self.assertEqual(u.device, "cuda:0" if devices else "cpu")
            self.assertEqual(u.array.ctypes.data, features.ctypes.data)
            if not devices or np.lib.NumpyVersion(np.__version__) >= "2.1.0":
                near = np.from_dlpack(u, device="cpu") if devices else np.from_dlpack(u)
                self.assertEqual((near.ctypes.data, near.dtype, near.shape), (features.ctypes.data, features.dtype, features.shape))
                del u
                np.testing.assert_array_equal(near, features)  # what was made of it keeps it
        with self.assertRaisesRegex(BufferError, "not a CUDA stream" if devices else "host memory"):
            garner.unified(features).__dlpack__(stream=0)
        self.assertRaises(garner.UsageError, garner.unified, np.zeros((0, 3)))

    @unittest.skipUnless(devices, "needs a GPU (none here)")
    def test_cupy_on_the_device(self):
        try:
            import cupy
        except ImportError:
            self.skipTest("needs cupy")
        features = table("f4")
        t = garner.tiered(features, feature_cache=1000)
        ids = cupy.asarray(rng.integers(0, 200, (5, 6)))
        rows = t[ids]
        self.assertIsInstance(rows, cupy.ndarray)
        np.testing.assert_array_equal(rows.get(), features[ids.get()])
        np.testing.assert_array_equal(cupy.from_dlpack(garner.unified(features)).get(), features)


if __name__ == "__main__":
    unittest.main()
