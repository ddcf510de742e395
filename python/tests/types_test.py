"""mypy --strict on the package, and what it takes a user's script for."""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest

import garner

script = """
import numpy as np
import numpy.typing as npt
import torch
import garner

ids = np.array([1, 2])
table = garner.tiered(np.ones((4, 2), np.float32), feature_cache="1MiB", scores=np.ones(4, np.float32))
reveal_type(table)
reveal_type(table[ids])
reveal_type(table[[1, 2]])
reveal_type(table[torch.tensor([1])])
reveal_type(table[0:2])
of_torch = garner.tiered(torch.ones(4, 2))
reveal_type(of_torch[1])
reveal_type(of_torch[ids])
reveal_type(garner.shared("x", (4, 2)))
reveal_type(garner.shared("x", (4, 2)).array)
graph = garner.build([0, 1], [1, 2], undirected=True)
reveal_type(graph)
reveal_type(garner.bfs(graph, 0).depth)
reveal_type(garner.score(graph, by="degree"))
reveal_type(graph.csr()[0])
reveal_type(table.gather(ids))
reveal_type(table.tiers["host"])
reveal_type(garner.BlockSampler(graph, [2]).sample([0], 3).of_type(0).by_hop)
reveal_type(next(iter(garner.torch.loader(graph, [2], x=of_torch))).edge_index)
garner.tiered(5)
garner.bfs(graph, "0")
table.no_such_thing
"""
numbers = r"numpy\.ndarray\[.*"
told = [r"garner\.tables\.Tiered\[numpy\.ndarray", numbers, numbers, r"torch\._tensor\.Tensor", numbers, r"torch\._tensor\.Tensor", numbers,
        r"garner\._garner\.Shared", numbers, r"garner\._garner\.Graph", numbers + "int64|" + numbers + "signedinteger", numbers + "(float32|floating)",
        numbers + "(int64|signedinteger)", numbers, r'^"(builtins\.)?int"', r"list\[(builtins\.)?int\]", r"torch\._tensor\.Tensor"]


@unittest.skipUnless(importlib.util.find_spec("mypy"), "needs mypy")
class Types(unittest.TestCase):
    def mypy(self, *what, cwd):
        kept = pathlib.Path(sys.prefix) / "mypy"  # in the build folder: the next run is quick
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--python-version", "3.11", "--cache-dir", kept, *what], capture_output=True, text=True,
                              cwd=cwd)
        return done.stdout + done.stderr

    @unittest.skipUnless(importlib.util.find_spec("torch"), "needs torch")
    def test_the_package_and_a_script(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "script.py").write_text(script)
            said = self.mypy("-p", "garner", cwd=folder)
            self.assertIn("Success", said)
            said = self.mypy("script.py", cwd=folder)
            found = [line.split("Revealed type is ", 1)[1] for line in said.splitlines() if "Revealed type" in line]
            self.assertEqual(len(found), len(told), said)
            for one, want in zip(found, told):
                self.assertRegex(one, want)
                self.assertNotRegex(one, r'^"Any"')
            self.assertEqual([line.split(": ", 2)[1] for line in said.splitlines() if ": error:" in line], ["error"] * 3, said)
            for wrong in ("call-overload", "arg-type", "attr-defined"):
                self.assertIn(f"[{wrong}]", said)


if __name__ == "__main__":
    unittest.main()
