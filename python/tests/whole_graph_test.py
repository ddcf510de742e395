"""examples/python/whole_graph_torchrun.py: 1, 2, 3 and 4 ranks learn the same, and so does torchrun."""
import contextlib
import importlib.util
import io
import os
import pathlib
import re
import sys
import unittest
from unittest import mock

try:
    import torch

    import several_ranks
except ImportError:
    torch = None

example = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python" / "whole_graph_torchrun.py"


def training(rank, said):
    """What the example prints."""
    os.environ.pop("RANK")  # the group is there
    spec = importlib.util.spec_from_file_location("whole_graph", example)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    with mock.patch.object(sys, "argv", ["example", *said["options"]]), contextlib.redirect_stdout(io.StringIO()) as out:
        found.main()
    return out.getvalue()


def epochs(text):
    """Loss, and exact accuracy of validation and test, of each epoch."""
    return [[float(n) for n in re.findall(r"(?:loss|validation|test) +([0-9.]+)", line)] for line in text.splitlines() if line.startswith("epoch")]


@unittest.skipUnless(example.exists(), "needs the folder of examples")
@unittest.skipIf(torch is None, "needs torch")
class WholeGraph(unittest.TestCase):
    def test_any_number_of_ranks_learns_the_same(self):
        for counts, options in (((1, 2, 3, 4), ["--model", "gcn", "--lr", "0.05", "--epochs", "7"]),
                                ((1, 2), ["--model", "sage", "--layers", "3", "--hidden", "48", "--deterministic", "--epochs", "3"])):
            first = None
            for ranks in counts:
                found = epochs(several_ranks.told(several_ranks.run(__file__, "training", ranks, timeout=200, options=[*options, "--vertices", "600"]))[0])
                self.assertEqual(len(found), int(options[-1]))
                first = first or found
                self.assertLess(found[-1][0], found[0][0] * 0.9)
                for one, other in zip(first, found):
                    self.assertAlmostEqual(one[0], other[0], delta=5e-5)
                    self.assertAlmostEqual(one[2], other[2], delta=0.01)

    def test_rows_of_16_bits_learn_as_well(self):
        found = [epochs(several_ranks.told(several_ranks.run(__file__, "training", 2, options=["--vertices", "600", "--epochs", "4", "--lr", "0.05", *more]))[0])
                 for more in ([], ["--wire", "bf16"])]
        self.assertNotEqual(found[0][-1][0], found[1][-1][0])
        self.assertAlmostEqual(found[0][-1][0], found[1][-1][0], delta=0.01)
        self.assertAlmostEqual(found[0][-1][2], found[1][-1][2], delta=0.02)

    def test_under_torchrun(self):
        done = several_ranks.finished([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", example, "--epochs", "3", "--vertices", "300"],
                                      env={**os.environ, "OMP_NUM_THREADS": "1", "GARNER_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(epochs(done.stdout)), 3)
        self.assertIn("2 ranks; ", done.stdout)


if __name__ == "__main__" and (torch is None or not several_ranks.is_rank()):
    unittest.main()
