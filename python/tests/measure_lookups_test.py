"""tools/measure_lookups, rehearsed without a GPU: right rows pass, and a spoiled one is found."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

tool = pathlib.Path(__file__).resolve().parents[2] / "tools/measure_lookups"


@unittest.skipUnless(tool.exists() and importlib.util.find_spec("torch"), "needs the folder of tools, and torch")
class MeasureLookups(unittest.TestCase):
    def measured(self, status, **env):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, tool, "--out", f"{folder}/l.json"], capture_output=True, text=True, timeout=250, env={
                **os.environ, "DEVICE": "simulated", "COMMIT": "abc", "ROWS": "3000", "WIDTH": "8", "TIMES": "5", "STORE": folder, **env})
            self.assertEqual(done.returncode, status, done.stdout + done.stderr)
            return json.loads(pathlib.Path(folder, "l.json").read_text())

    def test_rows_of_every_tier_are_compared(self):
        found = self.measured(0)
        self.assertEqual((found["commit"], found["device"]), ("abc", "none: device simulated"))
        self.assertEqual([(row["tier"], row["ids"]) for row in found["lookups"]],
                         [(tier, ids) for tier in ("GPU", "GPU cache over host", "host", "file") for ids in (1, 100, 10_000)])
        self.assertTrue(all(0 < row["p50_us"] <= row["p99_us"] for row in found["lookups"]))

    def test_a_spoiled_row_is_found(self):
        self.assertTrue(any(row["wrong"] for row in self.measured(1, PLANT="rows")["lookups"]))


if __name__ == "__main__":
    unittest.main()
