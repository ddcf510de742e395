"""tools/measure_names at a small size: a right graph passes, within the limit, and one of other edges is found."""
import importlib.util
import json
import pathlib
import runpy
import subprocess
import sys
import tempfile
import unittest

tool = pathlib.Path(__file__).resolve().parents[2] / "tools/measure_names"


@unittest.skipUnless(tool.exists() and importlib.util.find_spec("pyarrow"), "needs the folder of tools, and pyarrow")
class MeasureNames(unittest.TestCase):
    def test_names_and_edges_are_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            size = ["--edges", "40000", "--names", "3000", "--parts", "4", "--limit", "96MiB"]
            done = subprocess.run([sys.executable, tool, *size, "--folder", folder, "--out", f"{folder}/n.json"], capture_output=True, text=True, timeout=250)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            found = json.loads(pathlib.Path(folder, "n.json").read_text())
            self.assertEqual((found["rows"], found["names"], found["wrong"]), (40000, 3000, []))
            self.assertTrue(39000 < found["edges"] < 40000 and 300 < found["edges_compared"] and 0 < found["peak_bytes"] < 96 << 20, found)
            sys.path.insert(0, str(tool.parent))  # of its provenance
            errors = runpy.run_path(str(tool))["errors"]
            graph = pathlib.Path(folder, "named.gnr")
            self.assertEqual([errors(graph, *size)[3] for size in ((4, 10000, 3000), (3, 10000, 3000), (4, 10000, 3001))], [[], ["edges"], ["names", "edges"]])


if __name__ == "__main__":
    unittest.main()
