"""tools/prove_typed, rehearsed on a machine that need not have a GPU: sound code passes, and spoiled results are found."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

tools = pathlib.Path(__file__).resolve().parents[2] / "tools"
program = os.environ.get("GARNER_PROGRAM", "")


@unittest.skipUnless((tools / "prove_typed").exists() and os.path.exists(program), "needs the folder of tools, and the program")
@unittest.skipUnless(importlib.util.find_spec("torch") and importlib.util.find_spec("torch_geometric"), "needs torch and torch_geometric")
class ProveTyped(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def proof(self, command, file, status, **env):
        done = subprocess.run(command, capture_output=True, text=True, timeout=250, env={
            **os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHON": sys.executable, "STORE": str(self.folder), **env})
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertEqual([left.name for left in self.folder.glob("garner-*")], [])
        return json.loads((self.folder / file).read_text())

    def test_all_that_is_handed_out_is_right(self):
        """As a step of tools/prove_gpu, of a bundle whose module is made: the one that is installed."""
        bundle = self.folder / "bundle"
        (bundle / "bin").mkdir(parents=True), (bundle / "python/garner").mkdir(parents=True)
        (bundle / "bin/garner").symlink_to(program), (bundle / "python/garner/_garner.so").touch()
        (bundle / "commit").write_text("abc\n")
        found = self.proof([tools / "prove_gpu", bundle, self.folder / "out"], "out/gpu-proof.json", 0, STEPS="typed", DEVICE="simulated",
                           GARNER_STREAMS="late")
        self.assertEqual((found["wrong"], found["commit"], found["device"]), (0, "abc", "none: device simulated"))
        self.assertGreater(len(found["cases"]), 30)
        for row in found["cases"]:
            with self.subTest(row["case"]):
                if "num_workers" in row["case"]:
                    self.assertIn("fork", row["left_out"])
                elif "train" in row["case"]:
                    self.assertGreaterEqual(row["losses_compared"], 9)
                else:
                    self.assertGreater(min(row["rows_compared"], row["edges_compared"]), 5000)
        self.assertEqual(found["rows_compared"], sum(row["rows_compared"] for row in found["cases"]))

    def test_what_is_spoiled_is_found(self):
        for what, case in (("rows", "torch.loader, torch.unified"), ("edges", "pyg.NeighborLoader, HeteroData"), ("loss", "garner train over two")):
            found = self.proof([sys.executable, tools / "prove_typed", "--garner", program, "--out", self.folder / "out.json", case], "out.json", 1,
                               DEVICE="cpu", PLANT=what)
            self.assertEqual([(row["case"].startswith(case), row["wrong"]) for row in found["cases"]], [(True, 1)])
            self.assertEqual(found["wrong"], 1)

    def test_what_fails_and_what_has_no_time_is_recorded(self):
        prove = [sys.executable, tools / "prove_typed", "--garner", "/bin/false", "--out", self.folder / "out.json"]
        self.assertNotEqual(subprocess.run(prove, capture_output=True, env={**os.environ, "DEVICE": "cpu"}).returncode, 0)
        prove[3] = program
        found = self.proof([*prove, "--seconds", "0", "torch.loader"], "out.json", 1, DEVICE="cpu")
        self.assertEqual({row["left_out"] for row in found["cases"]}, {"no time"})


if __name__ == "__main__":
    unittest.main()
