"""Names of before 0.2: they are accepted with a warning that says the new one, by each way that a keyword or an attribute goes, and are shown nowhere."""
import ast
import inspect
import pathlib
import re
import unittest
import warnings

import numpy as np

import garner
from garner import _arguments

try:
    import torch

    import garner.pyg
    import garner.torch
except ImportError:
    torch = None

package = pathlib.Path(garner.__file__).parent
# The left column of the table of words, as far as a keyword could hold it.
retired = {"place", "near", "far", "lists", "arc", "arcs", "vertex", "drawn", "draw", "job", "budget", "way", "say", "tell", "told", "ask", "asks", "answer", "give",
           "take", "hear", "sums", "quick", "recorded", "record", "recording", "beside", "apart", "alike", "who", "meet", "board", "packed", "room", "body", "asked",
           "neighbour", "neighbours", "about", "ahead", "keep"}
allowed = {"keep_duplicates", "keep_loops", "keep_times", "keep_inter_cluster_edges"}  # to keep them; the last is PyG's


def told(call):
    """What it gives, and the warnings of old names."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = call()
    return result, [one for one in found if "accepted until 0.2" in str(one.message)]


class OldNames(unittest.TestCase):
    def setUp(self):
        self.g = garner.build([0, 1, 2], [1, 2, 3])
        self.x = np.arange(8, dtype=np.float32).reshape(4, 2)

    def warns(self, old, new, call):
        result, found = told(call)
        self.assertEqual([str(one.message) for one in found], [f"{old} is now {new}; the old name is accepted until 0.2"])
        self.assertEqual((found[0].category, found[0].filename), (DeprecationWarning, __file__))
        return result

    def test_keywords_of_python(self):
        table = self.warns("tiered(): device_budget=", "feature_cache=", lambda: garner.tiered(self.x, device="simulated", device_budget=8))
        self.assertEqual(table.tiers["device"], 1)
        g = self.warns("build(): vertices=", "num_nodes=", lambda: garner.build([0], [1], vertices=7))
        self.assertEqual(len(g), 7)

    def test_keywords_of_the_binding(self):
        """By a function, a method and a class."""
        self.assertEqual(self.warns("bfs(): place=", "device=", lambda: garner.bfs(self.g, 0, place="host")).depth.tolist(), [0, 1, 2, 3])
        self.warns("Graph.to(): place=", "device=", lambda: self.g.to(place="host"))
        sampler = self.warns("BlockSampler(): place=", "device=", lambda: garner.BlockSampler(self.g, [1], place="simulated"))
        self.assertEqual(sampler.device, "simulated")
        loader = self.warns("Loader(): batch=", "batch_size=", lambda: garner.Loader(sampler, [0, 1, 2], batch=2))
        self.assertEqual(len(loader), 2)

    def test_options_that_are_passed_on(self):
        labels, split = [0, 1, 0, 1], [1, 1, 2, 3]
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            run = garner.train(self.g, self.x, labels, split, fanouts=[1], hidden=4, batch=2, epochs=1, device="cpu", classes=3)
        self.assertEqual(sorted(str(one.message).split(" is now ")[1].split(";")[0] for one in found if "is now" in str(one.message)),
                         ["batch_size=", "hidden_channels=", "num_classes="])
        self.assertEqual((run.model.options["hidden_channels"], run.model.options["num_classes"]), (4, 3))

    def test_attributes_and_methods(self):
        table = garner.tiered(self.x, device="cpu")
        self.assertEqual(self.warns("GraphInfo.vertices", "num_nodes", lambda: self.g.info.vertices), 4)
        self.assertEqual(self.warns(f"{type(table).__name__}.about", "summary", lambda: table.about()), table.summary())
        self.assertIs(self.warns("garner.Blocks", "garner.SampledSubgraph", lambda: garner.Blocks), garner.SampledSubgraph)
        for name in ("vertices", "in_lists"):
            self.assertNotIn(name, dir(self.g.info))
        for thing in (table, self.g, self.g.info):
            with self.assertRaisesRegex(AttributeError, "no attribute 'nothing'"):
                thing.nothing

    def test_both_names(self):
        with self.assertRaisesRegex(garner.UsageError, "place= is the old name of device=, and both are set"):
            garner.bfs(self.g, 0, place="host", device="cpu")
        with self.assertRaisesRegex(garner.UsageError, "device_budget= is the old name of feature_cache=, and both are set"):
            garner.tiered(self.x, device_budget=0, feature_cache=0)

    def test_a_wrong_name_is_an_error_still(self):
        for call in (lambda: garner.bfs(self.g, 0, ahead=1), lambda: garner.tiered(self.x, ahead=1), lambda: garner.BlockSampler(self.g, [1], ahead=1)):
            result, found = None, []
            with self.assertRaises(TypeError):
                result, found = told(call)
            self.assertEqual(found, [])

    @unittest.skipIf(torch is None, "needs torch")
    def test_loaders_of_torch_and_pyg(self):
        make = lambda **how: garner.torch.loader(self.g, [1], **how)
        self.assertEqual(self.warns("loader(): place=", "device=", lambda: make(place="simulated")).sampler.device, "simulated")
        self.warns("garner.torch.loader(): lists=", "adjacency=", lambda: make(lists="host"))
        self.warns("loading(): ahead=", "prefetch=", lambda: make(loading={"ahead": 3}))
        try:
            from torch_geometric.data import Data
        except ImportError:
            self.skipTest("needs torch_geometric")
        data = Data(x=torch.ones(4, 2), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]))
        found = self.warns("NeighborLoader(): place=", "device=", lambda: garner.pyg.NeighborLoader(data, [1], place="simulated"))
        self.assertEqual(found.node_sampler.device, "simulated")

    @unittest.skipIf(torch is None, "needs torch")
    def test_methods_of_ranks(self):
        ranks = garner.torch.ranks()
        self.assertEqual(self.warns("Ranks.tell", "all_gather", lambda: ranks.tell([1, 2])), [[1, 2]])
        self.assertIsNone(self.warns("Ranks.alike", "require_same", lambda: ranks.alike("a number", "1", "give one")))

    def test_devices_by_their_old_names(self):
        for old, new in (("host", "cpu"), ("simulated:0", "simulated"), ("cpu", "cpu")):
            self.assertEqual(garner.BlockSampler(self.g, [1], device=old).device, new)


class Words(unittest.TestCase):
    maxDiff = None

    def names(self):
        """(where, name) of each public function, argument, attribute and method, as the sources have them."""
        for file in [*package.glob("*.py"), *package.glob("pyg/*.py"), package / "_garner.pyi"]:
            if file.name.startswith("_") and file.suffix == ".py" or file.stem in ("operators", "fused", "pipeline", "pieces", "later", "source", "split"):
                continue  # nothing of these is of a caller
            module = ast.parse(file.read_text())
            for node in module.body:
                if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
                    continue
                public = file.suffix == ".pyi" or any(hasattr(where, node.name) for where in (garner, *([garner.torch, garner.pyg] if torch else [])))
                if not public or re.search("by (its )?(addresses|arrays)", (ast.get_docstring(node) or "").partition("\n")[0]):  # the inside of a public class
                    continue
                for one in node.body if isinstance(node, ast.ClassDef) else [node]:
                    if not isinstance(one, ast.FunctionDef) or one.name.startswith("_") and one.name != "__init__":
                        continue
                    yield f"{file.name}: {node.name}.{one.name}", one.name
                    for arg in (*one.args.posonlyargs, *one.args.args, *one.args.kwonlyargs):
                        yield f"{file.name}: {node.name}.{one.name}", arg.arg

    def test_no_public_name_has_a_retired_word(self):
        names = list(self.names())
        self.assertGreater(len(names), 600)
        self.assertEqual([(where, name) for where, name in names if name not in allowed and retired & set(re.split("_", name))], [])

    def test_an_old_name_is_no_keyword_of_what_has_the_new_one(self):
        for thing in (garner.tiered, garner.embedding, garner.build, garner.random_walk, garner.Training, *((garner.torch.loader, garner.torch.shard) if torch else ())):
            shown = set(inspect.signature(thing).parameters)
            for old, new in _arguments.renamed.items():
                self.assertFalse(old in shown and shown & set(new), (thing, old))


if __name__ == "__main__":
    unittest.main()
