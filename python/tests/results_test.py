"""garner.table: results by id and by name, for pandas and Parquet."""
import pathlib
import tempfile
import unittest

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

    def test_what_does_not_fit_is_refused(self):
        g = garner.build([0, 1], [1, 2])
        for words, arguments, columns in (("shape \\(2,\\) for 3 nodes", (), {"score": [1, 2]}), ("column 'depth' twice", (garner.bfs(g, 0),), {"depth": [1, 2, 3]}),
                                          ("is not a result", (5,), {}), ("2 names for a graph of 3 nodes", (), {"names": ["a", "b"]}),
                                          ("column 'node' twice", (), {"node": [1, 2, 3]})):
            with self.assertRaisesRegex(garner.UsageError, words):
                garner.table(g, *arguments, **columns)


if __name__ == "__main__":
    unittest.main()
