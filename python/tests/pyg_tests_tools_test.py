"""tools/pyg_tests: PyG's own tests over Garner's classes, where PyG's source can be had; and that it finds what fails."""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

tool = pathlib.Path(__file__).resolve().parents[2] / "tools" / "pyg_tests"

tests = '''
from torch_geometric.data import Data
from torch_geometric.loader import LinkNeighborLoader, NeighborLoader
from torch_geometric.sampler import NeighborSampler
from torch_geometric.testing import MyFeatureStore, MyGraphStore, onlyNeighborSampler, withPackage
from torch_geometric.typing import WITH_PYG_LIB
import torch_geometric.typing

@onlyNeighborSampler
@withPackage("pyg_lib")
def test_classes():
    for kind in (LinkNeighborLoader, NeighborLoader, NeighborSampler, MyFeatureStore.__base__, MyGraphStore.__base__):
        assert kind.__module__.startswith("garner.pyg")
    assert WITH_PYG_LIB and not torch_geometric.typing.WITH_PYG_LIB

@withPackage("no_such_package")
def test_needs():
    raise AssertionError

def test_fails():
    assert 1 == 2
'''


@unittest.skipUnless(tool.exists(), "needs the folder of tools")
@unittest.skipUnless(all(importlib.util.find_spec(name) for name in ("torch", "torch_geometric", "pytest")), "needs torch, torch_geometric and pytest")
class PygTests(unittest.TestCase):
    def run_of(self, *checkout):
        done = subprocess.run([sys.executable, tool, *checkout], capture_output=True, text=True, timeout=290)
        return done.returncode, done.stdout, done.stderr

    def test_what_fails_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "test", "loader", "test_neighbor_loader.py")
            file.parent.mkdir(parents=True)
            name = "loader/test_neighbor_loader.py::"
            for text, status, failed in ((tests, 1, 1), (tests.replace("1 == 2", "1 == 1"), 0, 0)):
                file.write_text(text)
                found, out, err = self.run_of(folder)
                self.assertEqual((found, out.splitlines()[-1]), (status, f"{2 - failed} passed, {failed} failed, 0 known to fail, 1 skipped"), out + err)
                self.assertIn(f"passed {name}test_classes", out)
                self.assertIn(f"skipped {name}test_needs (Package no_such_package not found)", out)
                self.assertEqual(f"failed {name}test_fails" in out, bool(failed))
            file.write_text("import no_such_module")
            self.assertEqual(self.run_of(folder)[0], 1)
            self.assertEqual(self.run_of(folder + "/test")[0], 77)

    def test_pygs_own(self):
        status, out, err = self.run_of()
        if status == 77:
            self.skipTest(err.strip().splitlines()[-1])
        self.assertEqual(status, 0, out + err)


if __name__ == "__main__":
    unittest.main()
