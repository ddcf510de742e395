"""Errors use Python's words: every message of the sources that names a part of the program or of C++ has its translation."""
import pathlib
import re
import unittest

import numpy as np

import garner
from garner.errors import in_python

sources = pathlib.Path(__file__).resolve().parents[2] / "src"
# Options, functions and commands of C++ and of the program. Messages that Python cannot cause are exempt: traces, LDBC's and the reader's options,
# peers between C++ callers, a failed certificate's report.
foreign = re.compile(r"--(?!shm-size|gpus all|long)[a-z]|to_device|open_graph|unified_tensor|`garner |garner (convert|info|stats|trace|score|reorder)\b(?!\.)|real_distances\(\)|::")
only_theirs = re.compile(r"--skip-lines is for text|record it anew|rows\(\)|real_distances\(\)|_gbs$|::|plan_|please report")


def messages():
    literal = r'"(?:[^"\\\n]|\\.)*"'
    for file in sorted(sources.rglob("*.cpp")) + sorted(sources.rglob("*.hpp")):
        text = re.sub(r"^\s*(//|#include).*$", "", file.read_text(), flags=re.M)
        for found in re.finditer(rf"{literal}(?:\s*{literal})*", text):
            yield file.relative_to(sources), "".join(part[1:-1] for part in re.findall(literal, found[0]))


@unittest.skipUnless(sources.is_dir(), "needs the folder of sources")
class Messages(unittest.TestCase):
    def test_none_speaks_of_the_program(self):
        seen = 0
        for file, message in messages():
            if not foreign.search(message) or only_theirs.search(message):
                continue
            seen += 1
            with self.subTest(file=str(file), message=message):
                said = in_python(message)
                self.assertIsNone(foreign.search(said), said)
        self.assertGreater(seen, 10)

    def test_what_does_not_fit_is_told_in_a_line(self):
        features = np.zeros((3, 2), "f4")
        for call in """bfs(g, 0, verify=3); bfs(); bfs(g, 0, 1); bfs(graph=g); generate(5); generate("kron", 2.5); generate("kron", scale=None)
                       limit_device_memory("x", 5); limit_device_memory(0); limit_host_memory(); limit_host_memory([]); open(); open(5); read(None)
                       read("no.gnr"); read("no.xyz"); g.position("x"); g.position(); g.position(-1); g.to(); g.reorder(3); g.reorder("bfs", "x"); g.save(3)
                       g.save("/tmp/x.foo"); g.pick_sources("x"); g.pick_sources(2, -1); BfsSearch(); BfsSearch(g).run(); BfsSearch(g).run("x")
                       BfsSearch(g, speed=1); Unified(); Unified(None); unified(5); tiered(5); tiered(None); tiered("no.npy"); tiered(f, scores=[1])
                       tiered(f, peers=3); tiered(f, peers=[-1]); tiered(f, peers=[2**40]); tiered(f, dtype=5); tiered(f, timeout="x")
                       tiered(f, feature_cache=[1]); tiered(f, group=3); tiered(f).gather([0], strategy=5); tiered(f).explain("x"); tiered(f).hits("x")
                       tiered(f).for_device("moon"); shared(5); shared("x", (2, "a")); shared("x", (2, 2), timeout="x"); score(g, by=3); score()
                       score(g, train="x"); build(); build(g); build([0], [1], "w"); build([0], [1], speed=1); pagerank(g, personalization=3)
                       components(g, access="x"); sssp(g, 0, delta="x"); sssp(g, 2**70); g.csr(1); BlockSampler(); BlockSampler(g); BlockSampler(3, [1])
                       BlockSampler(g, [1], 2); BlockSampler(g, [1], graph=g); BlockSampler(g, fanouts=None); BlockSampler(g, ["5"]); BlockSampler(g, 5)
                       BlockSampler(g, [1], seed=True); BlockSampler(g, [1], side=3); Relation(); Relation(g, [1], "x"); Relation(3, [1]); Relation(g, [0.5])
                       Relation(g, [1], 0, 0, "in", None, 3); BlockSampler.of_relations(); BlockSampler.of_relations(3, []); BlockSampler.of_relations([3], [3])
                       s.sample(); s.sample([1], "x"); s.sample_types(3); s.sample_types([3]); Loader(); Loader(s); Loader(3, [1]); Loader(s, [1], 3); Loader(s, ["a"])
                       Loader(s, [1], [(f, "x")]); Loader(s, [1], [], [], 1); Loader(s, [1], batch_size="x"); Loader(s, [1]).next("x"); Loader(s, [1]).begin("x")
                       GraphPart(); GraphPart(g); GraphPart(g, 0, "x"); GraphPart(g, 0, 1, side=2); SplitSampler(g, [1]); SplitSampler(); Unified(f, 0, 1)
                       embedding("a", 3); embedding(3); embedding(3, 4, lr=1); embedding(3, 4, init_scale="x"); score(g, train=[0], fanouts=[0.5])
                       sample_negatives([0.5], 3, 3); sample_negatives(); bfs(g, True); predict(3, g, f); train(3, f, [1], [1])""".replace("\n", ";").split(";"):
            g = garner.build([0, 1], [1, 2], [1, 2], in_edges=True)
            names = {**vars(garner), "g": g, "f": features, "s": garner.BlockSampler(g, [1])}
            with self.subTest(call=call.strip()), self.assertRaises((garner.Error, TypeError)) as said:
                eval(call.strip(), names)
            self.assertNotRegex(str(said.exception), r"incompatible|\n|--[a-z]|Invoked")

    def test_the_rest_of_a_message_stays(self):
        for message in ("a.npy: cannot be opened: No such file", "vertex 5 does not exist in --odd--; ids go from 0 to 3"):
            self.assertEqual(in_python(message), message)
        self.assertEqual(in_python("g: has no in-edges; add them with `garner convert --in-lists`"),
                         "g: has no in-edges; build or read it with in_edges=True")


if __name__ == "__main__":
    unittest.main()
