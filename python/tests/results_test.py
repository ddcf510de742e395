"""garner.table: results by id and by name, for pandas and Parquet."""
import pathlib
import tempfile
import unittest
import unittest.mock

import numpy as np

import garner

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    raise unittest.SkipTest("needs pyarrow") from None


class Results(unittest.TestCase):
    def test_one_row_per_node_by_id(self):
        g = garner.build([10, 20, 40], [20, 30, 10], [2, 3, 4], numbering="compact")
        score = np.arange(8, dtype="float32").reshape(4, 2)
        found = garner.table(g, garner.bfs(g, 10), garner.sssp(g, 10), garner.components(g), rank=garner.pagerank(g).rank, score=score)
        self.assertEqual(found.column_names, ["node", "depth", "parent", "distance", "label", "rank", "score"])
        self.assertEqual(found.column("node").to_pylist(), [10, 20, 30, 40])
        self.assertEqual(found.column("depth").to_pylist(), [0, 1, 2, -1])
        self.assertEqual(found.column("parent").to_pylist(), [10, 10, 20, None])
        self.assertEqual(found.column("distance").to_pylist(), [0, 2, 5, -1])
        self.assertEqual(found.column("label").to_pylist(), [10] * 4)
        self.assertEqual(found.column("score").to_pylist(), score.tolist())

    def test_of_several_sources_a_list_per_node(self):
        g = garner.build([10, 20, 40], [20, 30, 10], numbering="compact")
        found = garner.table(g, garner.bfs(g, sources=[10, 40], max_depth=1))
        self.assertEqual(found.column("depth").to_pylist(), [[0, 1], [1, -1], [-1, -1], [-1, 0]])
        self.assertEqual(found.column("parent").to_pylist(), [[10, 40], [10, None], [None, None], [None, 40]])

    def test_by_name_and_in_parquet(self):
        g = garner.read_edges(pa.table({"src": ["ann", "bob"], "dst": ["bob", "eve"]}))
        found = garner.table(g, garner.bfs(g, 1))
        self.assertEqual(found.to_pylist(), [{"node": "ann", "depth": -1, "parent": None}, {"node": "bob", "depth": 0, "parent": "bob"},
                                             {"node": "eve", "depth": 1, "parent": "bob"}])
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "g.gnr"
            garner.convert(pa.table({"src": ["ann", "bob"], "dst": ["bob", "eve"]}), file)
            opened = garner.open(file)
            self.assertEqual(garner.table(opened).column("node").to_pylist(), ["ann", "bob", "eve"])  # of the file's names
            for names in (None, file, garner.read_names(file)):
                self.assertTrue(garner.table(opened, garner.bfs(g, 1), names=names).equals(found))
            pq.write_table(found, file.with_suffix(".parquet"))
            self.assertTrue(pq.read_table(file.with_suffix(".parquet")).equals(found))

    def test_names_are_those_of_the_graph(self):
        with tempfile.TemporaryDirectory() as folder:
            at = pathlib.Path(folder)
            for kind, ends in (("a", [["p", "q"], ["q", "r"]]), ("b", [["z", "y"], ["y", "x"]]), ("n", [[7, 5], [5, 3]])):
                garner.convert(pa.table(dict(zip("sd", ends))), at / f"{kind}.gnr", renumber=True)
            g, own = garner.open(at / "a.gnr"), garner.read_names(at / "a.gnr")
            for other in (at / "b.gnr", at / "b.names.parquet", garner.read_names(at / "b.gnr"), own[::-1], ["p", "p", "q"], [1, 2, 3], [.1, .2, .3], ["p", None, "r"]):
                with self.assertRaisesRegex(garner.UsageError, "3 names of another graph than .*a.gnr"):
                    garner.table(g, names=other)
            with self.assertRaisesRegex(garner.KindError, "names: "):
                garner.table(g, names=["p", 2, "r"])
            np.save(at / "n.npy", garner.read_names(at / "n.gnr"))
            self.assertEqual(garner.table(garner.open(at / "n.gnr"), names=at / "n.npy").column("node").to_pylist(), [7, 5, 3])
            plain = garner.build([0, 1], [1, 2])
            self.assertEqual(garner.table(plain, names=["x", "y", "z"]).column("node").to_pylist(), ["x", "y", "z"])
            with self.assertRaisesRegex(garner.UsageError, "a name stands there twice"):
                garner.table(plain, names=["x", "y", "x"])
            pq.write_table(pq.read_table(at / "a.names.parquet").replace_schema_metadata(), at / "moved.parquet")
            pq.write_table(pq.read_table(at / "moved.parquet"), at / "a.names.parquet")  # as pandas writes it
            for gone in (False, True):
                if gone:
                    (at / "a.names.parquet").unlink()
                with self.assertRaisesRegex(garner.FileError, "a.gnr: its nodes have names, and .*a.names.parquet does not hold them; .*names="):
                    garner.table(g, garner.components(g))
            self.assertEqual(garner.table(g, names=at / "moved.parquet").column("node").to_pylist(), ["p", "q", "r"])
            g.names = garner.read_names(at / "moved.parquet")
            self.assertEqual(garner.table(g).column("node").to_pylist(), ["p", "q", "r"])
            listed = pq.read_table(at / "moved.parquet", read_dictionary=["name"]).column("name")
            for names in (listed, listed.combine_chunks(), pa.chunked_array([own[:2], own[2:]])):
                self.assertEqual(garner.table(g, names=names).column("node").to_pylist(), ["p", "q", "r"])
            with self.assertRaisesRegex(garner.UsageError, "3 names of another graph"):
                garner.table(g, names=listed.take(pa.array([1, 0, 2])))
            g.names = garner.read_names(at / "b.gnr")
            with self.assertRaisesRegex(garner.UsageError, "graph.names: 3 names of another graph than .*a.gnr"):
                garner.table(g)
            with self.assertRaisesRegex(garner.UsageError, "again.names.parquet: graph.names are those of another graph"):
                g.save(at / "again.gnr")
            self.assertEqual([file.name for file in at.glob("again*")], [])

    def test_names_are_looked_through_once(self):
        """Each array's digest is worked out once, and that of a graph which was read never; one that has changed is another."""
        count = 300_001  # beyond the blocks in which they are looked through
        g = garner.read_edges(pa.table({"s": pa.array(range(count)).cast(pa.string()), "d": pa.array([str(k) for k in range(1, count)] + ["0"])}))
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(garner.names, "_worked_out", side_effect=garner.names._worked_out) as worked:
            file = pathlib.Path(folder) / "g.gnr"
            garner.table(g)
            g.save(file)
            self.assertEqual(worked.call_count, 0)
            garner.names._known.clear()
            opened, own = garner.open(file), garner.read_names(file)
            for names in (own, own.copy(), pa.chunked_array([own[:7], own[7:]]), pa.array(own).dictionary_encode()):
                self.assertEqual(len(garner.table(opened, names=names)), count)
            self.assertEqual(worked.call_count, 1)
            opened.names = np.append(own, own[:1])
            with self.assertRaisesRegex(garner.UsageError, "graph.names are those of another graph"):
                opened.save(file.with_name("twice.gnr"))
            worked.reset_mock()
            own[-1] = "another"
            for names in (own, np.append(own[:-1], own[:1])):
                with self.assertRaisesRegex(garner.UsageError, "names of another graph"):
                    garner.table(opened, names=names)
            self.assertEqual(worked.call_count, 2)

    def test_what_does_not_fit_is_refused(self):
        g = garner.build([0, 1], [1, 2])
        for words, arguments, columns in (("shape \\(2,\\) for 3 nodes", (), {"score": [1, 2]}), ("column 'depth' twice", (garner.bfs(g, 0),), {"depth": [1, 2, 3]}),
                                          ("is not a result", (5,), {}), ("2 names for a graph of 3 nodes", (), {"names": ["a", "b"]}),
                                          ("column 'node' twice", (), {"node": [1, 2, 3]})):
            with self.assertRaisesRegex(garner.UsageError, words):
                garner.table(g, *arguments, **columns)


if __name__ == "__main__":
    unittest.main()
