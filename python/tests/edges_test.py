"""garner.convert and read_edges: tables of edges in files of every kind, ids that are names; each graph is compared with one built of the same arrays."""
import decimal
import glob
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest
import uuid

import numpy as np

import garner

try:
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet as pq
except ImportError:
    raise unittest.SkipTest("needs pyarrow") from None


def numbered(source, target):
    """By a dict: the numbers of both ends, and the names in their order."""
    numbers = {}
    ends = [(numbers.setdefault(u, len(numbers)), numbers.setdefault(v, len(numbers))) for u, v in zip(source, target)]
    return np.array(ends).T, list(numbers)


class Edges(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        rng = np.random.default_rng(1)
        self.source, self.target = rng.integers(0, 500, 5000), rng.integers(0, 500, 5000)
        self.weight = rng.integers(1, 100, 5000)

    def table(self, **more):
        return pa.table({"w": self.weight, "user": self.source, "item": self.target, **more})

    def write(self, kind, table, name, parts=3):
        """The table in so many files; their pattern."""
        (self.folder / name).mkdir()
        for k, rows in enumerate(np.array_split(np.arange(table.num_rows), parts)):
            part, file = table.slice(rows[0], len(rows)), str(self.folder / name / f"part-{k}.{kind}")
            if kind == "parquet":
                pq.write_table(part, file, row_group_size=700)
            elif kind in ("feather", "arrow"):
                pyarrow.feather.write_feather(part, file, compression="uncompressed") if kind == "feather" else self.write_stream(part, file)
            else:
                separator = "\t" if "tsv" in kind else ","
                lines = [separator.join(part.schema.names)] + [separator.join(map(str, row.values())) for row in part.to_pylist()]
                with (gzip.open if kind.endswith(".gz") else open)(file, "wt") as to:
                    to.write("\n".join(lines) + "\n")
        return str(self.folder / name / f"*.{kind}")

    def write_stream(self, part, file):
        with pa.ipc.new_stream(file, part.schema) as to:
            to.write_table(part, 700)

    def write_text(self, text):
        (self.folder / "latin.csv").write_bytes(text.encode("latin-1"))
        return self.folder / "latin.csv"

    def same(self, graph, twin):
        self.assertEqual(graph.info.num_nodes, twin.info.num_nodes)
        for ours, theirs in zip(graph.csr(), twin.csr()):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(graph.ids(), twin.ids())

    def test_files_of_every_kind_are_the_arrays_in_them(self):
        twin = garner.build(self.source, self.target, self.weight)
        unweighted = garner.build(self.source, self.target, undirected=True)
        for kind in ("parquet", "feather", "arrow", "csv", "tsv", "csv.gz"):
            with self.subTest(kind):
                pattern = self.write(kind, self.table(), kind)
                names = dict(src="user", dst="item")
                self.same(garner.read_edges(pattern, weight="w", **names), twin)
                self.same(garner.read_edges(os.path.dirname(pattern), weight=0, src=1, dst=2), twin)
                self.same(garner.read_edges(sorted(glob.glob(pattern)), undirected=True, **names), unweighted)
                info = garner.convert(pattern, self.folder / "g.gnr", weight="w", memory_limit="64MiB", **names)
                self.assertEqual((info.num_edges, info.weights), (twin.info.num_edges, "u32"))
                self.same(garner.open(self.folder / "g.gnr"), twin)
        self.assertIsNone(garner.read_edges(pattern, src="user", dst="item").names)
        (self.folder / "g.names.parquet").write_bytes(b"of an earlier graph")
        garner.convert(pattern, self.folder / "g.gnr", src="user", dst="item")
        with self.assertRaisesRegex(garner.FileError, "names of another graph"):
            garner.read_names(self.folder / "g.gnr")
        self.assertEqual(garner.table(garner.open(self.folder / "g.gnr")).column("node").to_pylist()[:2], [0, 1])

    def test_tables_in_memory(self):
        twin = garner.build(self.source, self.target, self.weight.astype(np.float32) / 4)
        table = self.table().set_column(0, "w", pa.array(self.weight.astype(np.float64) / 4))
        given = [table, table.to_reader(max_chunksize=99), table.combine_chunks().to_batches()[0]]
        try:
            given.append(table.to_pandas())
        except ImportError:
            pass
        for one in given:
            self.same(garner.read_edges(one, src="user", dst="item", weight="w"), twin)

    def test_text_without_a_header_and_from_a_pipe(self):
        twin = garner.build(self.source, self.target)
        lines = "".join(f"{u},{v}\n" for u, v in zip(self.source, self.target))
        (self.folder / "bare.csv").write_text(lines)
        self.same(garner.read_edges(self.folder / "bare.csv"), twin)
        code = f"import garner; garner.convert('-', {str(self.folder / 'pipe.gnr')!r})"
        tabs = ("from\tto\n" + lines.replace(",", "\t")).encode()
        for given in (lines.encode(), tabs, gzip.compress(tabs), gzip.compress(lines[:500].encode()) + gzip.compress(lines[500:].encode()),
                      pa.compress(tabs, "zstd", asbytes=True)):
            (self.folder / "pipe.gnr").unlink(missing_ok=True)
            subprocess.run([sys.executable, "-c", code], input=given, check=True)
            self.same(garner.open(self.folder / "pipe.gnr"), twin)
        for given, kind in ((b"PAR1" + bytes(99), "Parquet"), (b"ARROW1" + bytes(99), "Arrow")):
            done = subprocess.run([sys.executable, "-c", code.replace("pipe", "cut")], input=given, capture_output=True)
            self.assertRegex(done.stderr.decode().splitlines()[-1], f"InputError: -: is {kind} by its first bytes")
        cut = subprocess.run([sys.executable, "-c", code.replace("pipe", "cut")], input=gzip.compress(tabs)[:-2000], capture_output=True)
        self.assertRegex(cut.stderr.decode().splitlines()[-1], r"garner.*(InputError|FileError): -: ")
        self.assertEqual([one.name for one in self.folder.iterdir() if one.name.startswith("cut")], [])

    def test_pandas_is_not_imported_for_tables_of_others(self):
        """pyarrow's to_numpy() does, and an interrupt is lost meanwhile."""
        (self.folder / "pandas").mkdir()
        (self.folder / "pandas" / "__init__.py").write_text("__version__ = '2.2.3'\nclass DataFrame: pass\n")
        files = [self.write(kind, self.table(), kind) for kind in ("parquet", "csv")]
        pq.write_table(pa.table({"name": ["x", "y"], "number": [1., 2.], "list": [[1, 2], [3, 4]]}), self.folder / "rows.parquet")
        (self.folder / "holes.csv").write_text("user,item\nx,y\n,z\n")
        pq.write_table(pa.table({"w": [1.5], "user": ["x"], "item": ["y"]}), self.folder / "names.parquet")
        code = f"""
import garner, sys
for given, renumber in [(file, renumber) for file in {files} for renumber in (False, True)] + [({str(self.folder / "names.parquet")!r}, None)]:
    garner.convert(given, {str(self.folder / "g.gnr")!r}, src="user", dst="item", weight="w", renumber=renumber)
print("pandas" in sys.modules)
try:
    garner.convert({str(self.folder / "holes.csv")!r}, {str(self.folder / "g.gnr")!r})
except garner.InputError:
    print("pandas" in sys.modules)
for column in ("number", "list"):
    garner.convert({{("a", "to", "a"): {str(self.folder / "names.parquet")!r}}}, {str(self.folder)!r} + f"/{{column}}.json", src="user", dst="item",
                   features={{"a": ({str(self.folder / "rows.parquet")!r}, "name", column)}})
print("pandas" in sys.modules)
"""
        done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(self.folder)}, capture_output=True, text=True)
        self.assertEqual((done.stdout, done.stderr), ("False\n" * 3, ""))

    def test_files_of_other_formats_and_folders(self):
        twin = garner.build(self.source, self.target)
        (self.folder / "g.el").write_text("".join(f"{u} {v}\n" for u, v in zip(self.source, self.target)))
        self.assertEqual(garner.convert(self.folder / "g.el", self.folder / "g.gnr").num_edges, twin.info.num_edges)
        self.same(garner.open(self.folder / "g.gnr"), twin)
        self.assertFalse(garner.convert(self.folder / "g.gnr", self.folder / "u.gnr", undirected=True).directed)
        np.save(self.folder / "rows.npy", np.arange(6.).reshape(3, 2))
        for one, other in (("rows.npy", "rows.gnt"), ("rows.gnt", "again.npy")):
            self.assertIsNone(garner.convert(self.folder / one, self.folder / other, memory_limit="1GiB"))
            for option, value in dict(undirected=True, names="q", weight=0, renumber=True, in_edges=True, numbering="keep", id_bytes=8, weight_seed=2,
                                      random_weights=(1, 5), keep_loops=True, keep_duplicates=True, scratch=self.folder).items():
                with self.assertRaisesRegex(garner.UsageError, f"^{option}=.*: is for edges, and .*{one} holds rows; leave it out"):
                    garner.convert(self.folder / one, self.folder / other, **{option: value})
        for option, value in dict(names="q", weight=0, renumber=True, scratch=self.folder).items():
            with self.assertRaisesRegex(garner.UsageError, f"^{option}=.*: is for tables of edges, unlike .*g.el; leave it out"):
                garner.convert(self.folder / "g.el", self.folder / "g.gnr", **{option: value})
        with self.assertRaisesRegex(garner.UsageError, "^names='q': is for tables of edges, unlike a ndarray.*; leave it out"):
            garner.convert(np.array([[0, 1], [1, 2]]), self.folder / "g.gnr", names="q")
        np.testing.assert_array_equal(np.load(self.folder / "again.npy"), np.load(self.folder / "rows.npy"))
        at = self.folder / "mini" / "processed" / "author__writes__paper"
        at.mkdir(parents=True)
        np.save(at / "edge_index.npy", np.array([[0, 1], [2, 0]]))
        for name in ("author", "paper"):
            (at.parent / name).mkdir()
            np.save(at.parent / name / "node_feat.npy", np.ones((3, 2), "float32"))
        self.assertIsNone(garner.convert(self.folder / "mini", self.folder / "mini.json", undirected=True))
        self.assertEqual([e.key for e in garner.open_hetero(self.folder / "mini.json").edge_types],
                         [("author", "writes", "paper"), ("paper", "rev_writes", "author")])
        with self.assertRaises(garner.InputError):
            garner.convert(self.folder, self.folder / "none.json")

    def test_text_as_it_comes(self):
        def of(text, **options):
            (self.folder / "t.csv").write_bytes(text)
            return garner.read_edges(self.folder / "t.csv", **options)
        for text in (b"\n0,1\n1,2\n", b"0,1\r1,2\r", b"0,1\r\n1,2", b"\xef\xbb\xbf0,1\n1,2\n", b"a,b\r\n0,1\r\n1,2\r\n", b"a,b\r0,1\r1,2\r", b"\n\na,b\n0,1\n1,2\n"):
            self.assertEqual(of(text).info.num_edges, 2, text)
        self.assertEqual(list(of(b"a,b\n007,7\nann,7\n", renumber=True).names), ["007", "7", "ann"])
        self.assertEqual(of(b"a,b,w\n0,1,1\n1,2,2\n", weight="w").info.weights, "u32")
        many = b"a,b,w\n" + b"".join(b"%d,%d,1\n" % (k, k + 1) for k in range(600_000)) + b"0,5,0.5\n"  # beyond the first block
        self.assertEqual(of(many, weight="w").info.weights, "f32")
        (self.folder / "parts").mkdir()
        for name, text in (("0", b"a,b"), ("1", b"a,b\n0,1\n"), ("2", b"a,b\n1,2\n"), ("3", b"a,b\n")):
            (self.folder / "parts" / f"{name}.csv").write_bytes(text)
        self.assertEqual(garner.read_edges(self.folder / "parts", src="a", dst="b").info.num_edges, 2)
        # A first line of whole numbers at two positions is an edge, also where ids become names; any other first line names the columns.
        for text, edges in ((b"1,2\n2,3\n", 2), (b"\"1\",\"2\"\n2,3\n", 2), (b"1, 2\n2,3\n", 2), (b"from,to\n1,2\n", 1)):
            graph = of(text, renumber=True)
            self.assertEqual((graph.info.num_edges, list(graph.names)), (edges, ["1", "2", "3"][:edges + 1]))
        self.assertEqual(of(b"1,2\n2,3\n", src="1", dst="2").info.num_edges, 1)
        for text in (b"s, d\n1, 2\n", b"\"s\", \"d\"\n1,2\n", b"\"a, b\",s,d\nx,1,2\n"):
            self.assertEqual(of(text, src="s", dst="d").ids().tolist(), [0, 1, 2])
        self.assertEqual(list(of(b"s, d\nann, bob\nbob, ann\n", src="s", dst="d").names), ["ann", "bob"])
        self.assertEqual(list(of(b"s,d, w\n a,b,1\na,b,2\n", src="s", dst="d").names), [" a", "b", "a"])  # a column whose own name has no blank before it
        for header in (b'src,dst,"no\nte"', b'src,dst,"no\r\n\"\"te\r\n"', b'src,dst,' + b"x" * 200_000,
                       b'src,dst,"' + b"x\n" * 100_000 + b'"', b"src,dst,5\" gr\xf6"):
            for options in (dict(), dict(src="src", dst="dst", renumber=True)):
                self.assertEqual(of(header + b"\n1,2,3\n2,1,3\n", **options).info.num_edges, 2, header[:20])
        self.assertEqual(of(b'src,dst,"no\nte"\n1,2,3\n', weight="no\nte").info.weights, "u32")
        for text in (b"a,b\nx,y\n,c\n", b"a,b\nx,y\n\"\",c\n", b" a,b\n x,y\n ,c\n"):  # no node is called ''
            with self.assertRaisesRegex(garner.InputError, "t.csv: row 1: 'a' is null; leave such rows out"):
                of(text)
        self.assertEqual(list(of(b"a,b\nNA,null\nx,y\n").names), ["NA", "null", "x", "y"])
        two = pa.Table.from_arrays([pa.array([0, 1]), pa.array([1, 2])], names=["id", "id"])
        self.assertEqual(garner.read_edges(two).info.num_edges, 2)

    def test_names_are_numbered_as_they_first_appear(self):
        text = ([f"user {u * 7919}" for u in self.source], [f"item-{v}" if v % 2 else f"user {v * 7919}" for v in self.target])
        kinds = {
            "strings": [pa.array(one) for one in text],
            "large": [pa.array(one, pa.large_string()) for one in text],
            "dictionaries": [pa.array(one).dictionary_encode() for one in text],
            "bytes": [pa.array([s.encode() + b"\0\xff" for s in one]) for one in text],
            "uuids": [pa.array([uuid.uuid5(uuid.NAMESPACE_DNS, s).bytes for s in one], pa.binary(16)) for one in text],
            "numbers": [pa.array(one.astype(np.int64) * (1 << 52) - 17) for one in (self.source, self.target)],
            "unsigned": [pa.array(one.astype(np.uint64) + np.uint64(2**63)) for one in (self.source, self.target)],
        }
        for kind, (source, target) in kinds.items():
            with self.subTest(kind):
                ends, names = numbered(source.to_pylist(), target.to_pylist())
                twin = garner.build(*ends, self.weight)
                table = pa.table({"src": source, "dst": target, "w": self.weight})
                options = dict(weight="w", renumber=True if kind in ("numbers", "unsigned") else None)
                for given in (table, self.write("parquet", table, kind)):
                    graph = garner.read_edges(given, **options)
                    self.same(graph, twin)
                    self.assertEqual(list(graph.names), names)
                garner.convert(table, self.folder / "g.gnr", **options)
                self.assertEqual(list(garner.read_names(self.folder / "g.gnr")), names)
                self.assertEqual(pq.read_table(self.folder / "g.names.parquet").column_names, ["name"])
                garner.build(*ends).save(self.folder / "g.gnr")  # another graph
                with self.assertRaisesRegex(garner.FileError, "names of another graph"):
                    garner.read_names(self.folder / "g.gnr")
        self.assertEqual(graph.names.dtype, np.uint64)
        garner.convert(table, self.folder / "h.gnr", names=self.folder / "n.npy", renumber=True)
        self.assertEqual(list(garner.read_names(self.folder / "n.npy")), names)
        garner.convert(pa.table({"a": text[0], "b": text[1]}), self.folder / "h.gnr", names=self.folder / "h.parquet")
        self.assertEqual(list(garner.read_names(self.folder / "h.parquet")), numbered(*text)[1])
        rank = garner.pagerank(garner.open(self.folder / "h.gnr")).rank
        self.assertEqual(len(rank), len(numbered(*text)[1]))  # results come in the order of the names

    @unittest.skipUnless(os.environ.get("GARNER_PROGRAM"), "needs the program garner")
    def test_the_program_converts_tables_too(self):
        def run(*arguments, python=sys.executable):
            return subprocess.run([os.environ["GARNER_PROGRAM"], "convert", *map(str, arguments)], env={**os.environ, "GARNER_PYTHON": python},
                                  capture_output=True, text=True, timeout=300)
        pattern, out = self.write("parquet", self.table(), "parts"), self.folder / "g.gnr"
        done = run(pattern, out, "--src", "user", "--dst", "2", "--weight", "w", "--undirected", "--in-edges", "--memory-limit", "64MiB", "--scratch", self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        twin = garner.build(self.source, self.target, self.weight, undirected=True)
        self.same(garner.open(out), twin)
        self.assertIn(f"g.gnr: {twin.info.num_nodes} vertices, {twin.info.num_edges:,} edges (undirected", done.stdout)
        done = run(pattern, out, "--src", "user", "--dst", "item", "--renumber", "--names", self.folder / "g.npy", "--random-weights", "1:9", "--weight-seed", "4")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        ends, names = numbered(self.source.tolist(), self.target.tolist())
        self.same(garner.open(out), garner.build(*ends, random_weights=(1, 9), weight_seed=4))
        self.assertEqual(list(garner.read_names(self.folder / "g.npy")), names)
        for arguments, code, words in (
                ((pattern, out, "--src", "usr"), 1, "has no column 'usr'"), ((self.folder / "no-*.csv", out), 1, "no file fits"),
                ((pattern, out, "--compress"), 2, "leave out --compress"), ((pattern, self.folder / "g.el"), 2, "ends in .gnr")):
            done = run(*arguments)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(words, done.stderr)
        done = run(pattern, out, python="/no/python")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/no/python has none; install it with: pip install garner-graph pyarrow", done.stderr)

    def test_names_follow_their_graph(self):
        source, target = ([f"user {u * 7919}" for u in one] for one in (self.source, self.target))
        ends, names = numbered(source, target)
        table = pa.table({"a": source, "b": target})
        garner.convert(table, self.folder / "g.gnr")
        graph = garner.open(self.folder / "g.gnr")
        self.assertNotEqual(graph.info.names_digest, 0)

        def follow(name, graph=None):
            self.assertEqual(list(garner.read_names(self.folder / name)), names, name)
            depth = garner.table(garner.open(self.folder / name), garner.bfs(garner.open(self.folder / name), 0)).to_pydict()
            self.assertEqual(dict(zip(depth["node"], depth["depth"])), self.depth)
        self.depth = dict(zip(names, garner.bfs(garner.build(*ends), 0).depth.tolist()))
        graph.save(self.folder / "saved.gnr")
        graph.reorder("degree")
        graph.save(self.folder / "reordered.gnr")
        garner.convert(self.folder / "g.gnr", self.folder / "again.gnr", in_edges=True)
        garner.read_edges(table).save(self.folder / "held.gnr")
        for name in ("saved", "reordered", "again", "held"):
            follow(f"{name}.gnr")
        if program := os.environ.get("GARNER_PROGRAM"):
            for arguments in (("convert", "g.gnr", "small.gnr", "--compress"), ("reorder", "g.gnr", "bfs.gnr", "--by", "bfs"), ("convert", "small.gnr", "wide.gnr")):
                subprocess.run([program, *arguments], check=True, capture_output=True, cwd=self.folder)
                follow(arguments[2])
        garner.build(*ends).save(self.folder / "saved.gnr")
        with self.assertRaisesRegex(garner.FileError, "names of another graph"):
            garner.read_names(self.folder / "saved.gnr")
        other = pa.table({"a": source[::-1], "b": target[::-1]})
        garner.convert(other, self.folder / "other.gnr")
        os.replace(self.folder / "other.names.parquet", self.folder / "g.names.parquet")
        garner.open(self.folder / "g.gnr").save(self.folder / "last.gnr")
        for name in ("g", "last"):
            with self.assertRaisesRegex(garner.FileError, "names of another graph"):
                garner.read_names(self.folder / f"{name}.gnr")

    def test_what_is_wrong_is_said_with_its_place(self):
        good = self.write("parquet", self.table(), "good")
        def refused(kind, words, edges, **options):
            with self.assertRaises(kind) as told:
                garner.convert(edges, self.folder / "bad.gnr", **options)
            for word in words:
                self.assertIn(word, str(told.exception))
            self.assertEqual([one.name for one in self.folder.iterdir() if one.name.startswith("bad")], [])
        names = dict(src="user", dst="item")
        refused(garner.InputError, ["part-0.parquet: has no column 'usr'; its columns are w, user, item"], good, src="usr", dst="item")
        refused(garner.InputError, ["has no column 7"], good, dst=7)
        refused(garner.KindError, ["column True"], good, dst=True)
        refused(garner.FileError, ["no file fits"], str(self.folder / "*.nothing"))
        refused(garner.FileError, ["does not exist"], self.folder / "nothing.parquet")
        refused(garner.FileError, ["has no file that ends in"], self.folder)
        refused(garner.UsageError, ["ends in .parquet or .npy"], good, names="x.txt", **names)
        refused(garner.UsageError, ["renumber=True"], good, names=self.folder / "bad.npy", **names)
        refused(garner.UsageError, ["names that are numbers"], pa.table({"a": ["x"], "b": ["y"]}), names=self.folder / "bad.npy")
        (self.folder / "in the way").mkdir()
        refused(garner.UsageError, ["ends in .parquet"], pa.table({"a": ["x"], "b": ["y"]}), names=self.folder / "in the way")
        numbers = [pa.table({"a": pa.array([one], kind), "b": pa.array([7], kind)}) for one, kind in ((-1, pa.int64()), (2**64 - 1, pa.uint64()))]
        for k, one in enumerate(numbers):
            pq.write_table(one, self.folder / f"n{k}.parquet")
        refused(garner.InputError, ["ids are uint64, and int64 in earlier parts"], str(self.folder / "n?.parquet"), renumber=True)
        holed = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", None, "c"]))
        refused(garner.InputError, ["row 1: 'a' is null"], pa.table({"a": holed, "b": ["x"] * 3}))
        self.assertEqual(list(garner.read_edges(pa.table({"a": holed.take(pa.array([0, 2])), "b": ["x", "y"]})).names), ["a", "x", "c", "y"])
        refused(garner.KindError, ["edges is 5"], 5)
        with self.assertRaisesRegex(garner.FileError, "is not a folder"):
            garner.read_edges(good, scratch=self.folder / "none", **names)
        with self.assertRaisesRegex(garner.KindError, "read_names: file="):
            garner.read_names(garner.build([0], [1]))
        with self.assertRaisesRegex(garner.UsageError, "ends in .gnr"):
            garner.convert(good, self.folder / "bad.el", **names)
        nulls = self.table().set_column(1, "user", pa.array([None if k == 4321 else int(u) for k, u in enumerate(self.source)]))
        refused(garner.InputError, ["row 987", "'user' is null"], self.write("parquet", nulls, "nulls"), **names)
        refused(garner.IdError, ["row 1: src is -3", "renumber=True"], pa.table({"a": [1, -3], "b": [2, 3]}))
        refused(garner.InputError, ["weight is -1"], pa.table({"a": [1, 3], "b": [2, 3], "w": [1.0, -1.0]}), weight="w")
        refused(garner.KindError, ["src is double"], pa.table({"a": [1.5], "b": [2]}))
        refused(garner.KindError, ["src is string and dst is int64"], pa.table({"a": ["x"], "b": [2]}))
        (self.folder / "mixed").mkdir()
        pq.write_table(pa.table({"a": ["x"], "b": ["y"]}), self.folder / "mixed" / "0.parquet")
        pq.write_table(pa.table({"a": [1], "b": [2]}), self.folder / "mixed" / "1.parquet")
        refused(garner.InputError, ["1.parquet: column 'a' is int64", "0.parquet it is string"], self.folder / "mixed")
        (self.folder / "other").mkdir()
        pq.write_table(pa.table({"user": [1], "item": [2]}), self.folder / "other" / "0.parquet")
        pq.write_table(pa.table({"ts": [5], "user": [3], "item": [4]}), self.folder / "other" / "1.parquet")
        refused(garner.InputError, ["1.parquet: src is column 'ts', and in ", "0.parquet it is 'user'"], self.folder / "other")
        self.assertEqual(garner.read_edges(self.folder / "other", **names).ids().tolist(), [0, 1, 2, 3, 4])
        pq.write_table(pa.table({"USER": [3], "Item": [4]}), self.folder / "other" / "1.parquet")
        self.assertEqual(garner.read_edges(self.folder / "other").info.num_edges, 2)
        (self.folder / "bare").mkdir()
        for k, text in enumerate(("1,2\n", "9,3,4\n")):
            (self.folder / "bare" / f"{k}.csv").write_text(text)
        refused(garner.InputError, ["1.csv: has 3 columns, and ", "0.csv has 2"], self.folder / "bare")
        (self.folder / "decimals").mkdir()
        for k, one in enumerate((pa.array([1.5]), pa.array([decimal.Decimal("1.5")]))):
            pq.write_table(pa.table({"a": [1], "b": [2], "w": one}), self.folder / "decimals" / f"{k}.parquet")
        refused(garner.InputError, ["1.parquet: column 'w' is decimal128(2, 1), and in ", "it is floats", "cast it to float"], self.folder / "decimals",
                weight="w")
        (self.folder / "hive" / "day=1").mkdir(parents=True)
        pq.write_table(pa.table({"a": [1], "b": [2]}), self.folder / "hive" / "day=1" / "0.parquet")
        refused(garner.FileError, ["hive: has no file", "name the files, as '", "hive/**/*.parquet'"], self.folder / "hive")
        (self.folder / "hive" / "_SUCCESS").touch()
        (self.folder / "hive" / "part-00000").write_bytes((self.folder / "hive" / "day=1" / "0.parquet").read_bytes())
        for given in ("hive", "hive/part-00000"):  # without an ending, by its first bytes
            self.assertEqual(garner.read_edges(self.folder / given, src="a").info.num_edges, 1)
        (self.folder / "hive" / "text").write_text("a,b\n1,2\n")
        refused(garner.UsageError, ["text: is not a table by its ending; .parquet"], self.folder / "hive" / "text", src="a", dst="b")
        self.assertEqual(garner.read_edges(self.folder / "hive" / "**" / "*.parquet").info.num_edges, 1)
        for text, kind, words in ((gzip.compress(b"a,b\n1,2\n"), garner.InputError, ["is gzip by its first bytes"]),
                                  ("a,b\n1,2\n".encode("utf-16"), garner.InputError, ["is UTF-16"]),
                                  ("a,b\n\xe9,x\n".encode("latin-1"), garner.KindError, ["src is binary and dst is string", "what is not UTF-8 is binary"]),
                                  (b"a,b\n1.0,2\n", garner.KindError, ["src is double", "renumber=True"]), (b"a,b\n2021-01-01,2\n", garner.KindError, ["renumber=True"])):
            (self.folder / "as.csv").write_bytes(text)
            refused(kind, ["as.csv: ", *words] if kind is garner.InputError else words, self.folder / "as.csv")
        refused(garner.InputError, ["save it in UTF-8"], self.write_text("a,b\n\xe9,x\n"), renumber=True)
        refused(garner.KindError, ["names=False"], pa.table({"a": ["x"], "b": ["y"]}), names=False)
        one = pa.table({"a": [1], "b": [2], "w": [1 << 32]})
        refused(garner.UsageError, ["src and dst are both column 'a'"], one, src="a", dst="a")
        refused(garner.UsageError, ["weight='w' and random_weights"], one, weight="w", random_weights=(1, 5))
        refused(garner.InputError, ["weights[0] is 4294967296", "cast them to float"], one, weight="w")
        refused(garner.KindError, ["weights is decimal128", "cast them to float"], one.set_column(2, "w", pa.array([decimal.Decimal("1.5")])), weight="w")
        (self.folder / "cut.parquet").write_bytes(pathlib.Path(good.replace("*", "part-1")).read_bytes()[:-9])
        refused(garner.InputError, ["cut.parquet: pyarrow cannot read it"], self.folder / "cut.parquet")
        for rows in (1, 1_500_000):
            (self.folder / "open.csv").write_text('a,"b\n' + "1,2\n" * rows)
            refused(garner.InputError, ["open.csv", "a quote in its first row does not end"], self.folder / "open.csv")
        (self.folder / "cut.csv").write_text("a,b\n1,2\n3\n")
        refused(garner.InputError, ["cut.csv"], self.folder / "cut.csv")
        many = pa.array(range(2_000_000)).cast(pa.string())
        refused(garner.OutOfMemory, ["names so far", "memory limit"], pa.table({"a": many, "b": many}), memory_limit="96MiB")
        for limit in ("63MiB", 1):
            refused(garner.OutOfMemory, ["need 64 MiB or more"], good, memory_limit=limit)
        refused(garner.OutOfMemory, ["renumbered need a memory limit of 96 MiB"], pa.table({"a": ["x"], "b": ["y"]}), memory_limit="95MiB")
        refused(garner.InputError, [], pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())}))

    @unittest.skipUnless(os.access("/proc/self/clear_refs", os.W_OK), "the peak of a process cannot be measured here")
    def test_memory_stays_within_the_limit(self):
        """What pyarrow holds counts too: a file of several times the limit, in large row groups."""
        program = textwrap.dedent("""
            import sys, garner, pyarrow as pa
            def peak():
                return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) << 10
            file, to, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
            garner.convert(pa.table({"a": ["x"], "b": ["y"]}), to)  # pyarrow and the threads are there
            open("/proc/self/clear_refs", "w").write("5")
            before = peak()
            garner.convert(file, to, memory_limit=limit)
            print(peak() - before)
        """)
        rng = np.random.default_rng(3)
        ends = rng.integers(0, 1 << 19, (2, 8_000_000))
        for kind, limit, columns in (("numbers", 64 << 20, ends), ("names", 96 << 20, [pa.array(one[:1_500_000]).cast(pa.string()) for one in ends])):
            file = str(self.folder / f"{kind}.parquet")
            pq.write_table(pa.table(dict(zip("ab", columns))), file, row_group_size=4_000_000)
            grown = subprocess.run([sys.executable, "-c", program, file, str(self.folder / "g.gnr"), str(limit)], check=True, capture_output=True, text=True)
            self.assertLess(int(grown.stdout), limit + (8 << 20), kind)


if __name__ == "__main__":
    unittest.main()
