"""The interface is a golden file: garner/_garner.pyi is what the module says of itself. GARNER_UPDATE_GOLDEN=1 writes it anew."""
import ast
import inspect
import os
import pathlib
import unittest

import garner
from garner import _garner

golden = pathlib.Path(__file__).resolve().parent.parent / "garner" / "_garner.pyi"


def written():
    try:
        import nanobind
        from nanobind.stubgen import StubGen
    except ImportError:
        raise unittest.SkipTest("needs nanobind") from None
    if not nanobind.__version__.startswith("3.1."):
        raise unittest.SkipTest(f"the golden stub was written by nanobind 3.1, here is {nanobind.__version__}")
    # The module as it is made, without what the package puts around its methods (garner/_arguments.py).
    around = [(found, key, method) for found in vars(_garner).values() if isinstance(found, type) for key, method in vars(found).items()
              if hasattr(method, "__wrapped__") or key == "__getattr__"]
    for found, key, method in around:
        setattr(found, key, method.__wrapped__) if hasattr(method, "__wrapped__") else delattr(found, key)
    try:
        made = StubGen(_garner, include_private=True)
        made.put(_garner)
        return made.get()
    finally:
        for found, key, method in around:
            setattr(found, key, method)


class Stub(unittest.TestCase):
    def test_is_what_the_module_says(self):
        if not hasattr(_garner, "Table"):
            self.skipTest("built without feature tables")
        now = written()
        if os.environ.get("GARNER_UPDATE_GOLDEN"):
            golden.write_text(now)
        self.maxDiff = None
        self.assertEqual(golden.read_text(), now)

    def test_keywords_are_those_that_are_taken(self):
        """Signatures are written by hand where options are keywords: the code must take each that the stub has, with its default."""
        g = garner.build([0, 1], [1, 2], [3, 4], undirected=True)
        calls = {"bfs": [g, 0], "sssp": [g, 0], "components": [g], "pagerank": [g], "score": [g], "build": [[0], [1]], "generate": ["kron", 4],
                 "BfsSearch": [g], "SsspSearch": [g], "BlockSampler": [g, [1]], "Loader": [garner.BlockSampler(g, [1]), [0]],
                 "sample_negatives": [[0], 3, 3], "SplitSampler": [garner.GraphPart(g, 0, 1), [1]]}
        told = {node.name: node for node in ast.parse(golden.read_text()).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        for name, positional in calls.items():
            node = told["_build" if name == "build" else name]
            if isinstance(node, ast.ClassDef):
                node = next(f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__")
            options = {a.arg: ast.literal_eval(d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults)}
            if name == "build":
                options = {key: one.default for key, one in inspect.signature(garner.build).parameters.items() if one.kind == one.KEYWORD_ONLY}
            self.assertTrue(options, name)
            getattr(garner, name)(*positional, **{**options, **({"train": [0]} if name == "score" else {})})

    def test_everything_is_told(self):
        for name in dir(garner):
            thing = getattr(garner, name)
            if not name.startswith("_") and callable(thing):
                self.assertTrue(inspect.getdoc(thing), name)


if __name__ == "__main__":
    unittest.main()
