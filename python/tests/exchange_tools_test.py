"""tools/prove_exchange, rehearsed over gloo, and tools/weak_scaling on small graphs."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

tools = pathlib.Path(__file__).resolve().parents[2] / "tools"


@unittest.skipUnless((tools / "prove_exchange").exists(), "needs the folder of tools")
class Tools(unittest.TestCase):
    def run_tool(self, name, *options):
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/out.json"
            done = subprocess.run([sys.executable, tools / name, *options, "--json", file], capture_output=True, text=True, timeout=200,
                                  env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return done.stdout, json.loads(pathlib.Path(file).read_text())

    @unittest.skipUnless(importlib.util.find_spec("torch"), "needs torch")
    def test_an_exchange_between_two_ranks(self):
        said, found = self.run_tool("prove_exchange", "--gloo", "--rows", "600", "--width", "16", "--trials", "3", "--scale", "8")
        self.assertEqual((found["device"], found["driver"]), ("none: device cpu", None))
        self.assertEqual(found["command"].split()[:4], ["tools/prove_exchange", "--gloo", "--rows", "600"])
        found = found["ways"]["gloo"]
        self.assertIn("300 rows of 64 B to each rank", said)
        for name in ("torch", "exchange", "window", "aggregation"):
            self.assertGreater(found[name]["gb_s"], 0)
        self.assertAlmostEqual(found["epoch, rows split"]["loss"], found["epoch, rows at home"]["loss"], delta=1e-4)

    def test_weak_scaling(self):
        options = ["--sample-log2", "10", "--vertices-log2", "6", "--batch", "16"]
        said, found = self.run_tool("weak_scaling", *options)
        for part in ("mini_batches", "whole_graph"):
            self.assertEqual([one["machines"] for one in found[part]], [1, 2, 4, 8, 16, 32, 64])
            self.assertEqual(found[part][0]["exchange_ms"], 0)
            self.assertTrue(all(a["exchange_ms"] < b["exchange_ms"] for a, b in zip(found[part], found[part][1:])))
        self.assertLess(found["once"], found["asked"])
        # By hand: of 64 machines, 63 of 64 rows that come once, and an id of 8 bytes each, at 10 GB/s and no cost of messages.
        _, found = self.run_tool("weak_scaling", *options, "--requested", "1000", "--once", "0.5", "--network", "10", "--reach", "1", "--message", "0", "--row", "92")
        self.assertAlmostEqual(found["mini_batches"][-1]["exchange_ms"], 500 * 63 / 64 * 100 / 10e6)
        self.assertEqual(said.count("| 64 |"), 2)


if __name__ == "__main__":
    unittest.main()
