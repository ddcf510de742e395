"""tools/measure_whole_graph at a small size: all ways have the same losses, and the JSON says what was measured."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

tool = pathlib.Path(__file__).resolve().parents[2] / "tools/measure_whole_graph"
program = pathlib.Path(os.environ.get("GARNER_PROGRAM", "build/garner"))


@unittest.skipUnless(tool.exists(), "needs the folder of tools")
class MeasureWholeGraph(unittest.TestCase):
    def test_all_ways_have_the_same_losses(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "whole.json")
            done = subprocess.run([sys.executable, tool, program.parent, "--scale", "9", "--hidden", "8", "--width", "12", "--epochs", "3", "--device", "simulated",
                                   "--store", folder, "--out", out], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            rows = json.loads(out.read_text())["rows"]
            self.assertEqual([(row["model"], row["way"]) for row in rows],
                             [(model, way) for model in ("gcn", "sage") for way in ("in one piece", "one shard", "host", "a file")])
            self.assertTrue(all(row["same_losses"] for row in rows if row["way"] != "in one piece"))
            self.assertEqual(os.listdir(folder), ["whole.json"])


if __name__ == "__main__":
    unittest.main()
