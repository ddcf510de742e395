"""Scores of the rows that a training will read, from edges to a table that keeps them near."""
import subprocess
import tempfile
import os
import pathlib
import unittest

import numpy as np

import garner

garner_program = os.environ.get("GARNER_PROGRAM")


class Scores(unittest.TestCase):
    def test_degree_is_how_many_edges_leave(self):
        g = garner.build([0, 0, 0, 1, 3], [1, 2, 3, 2, 1], num_nodes=5)
        scores = garner.score(g, by="degree")
        self.assertEqual((scores.dtype, scores.shape), (np.float32, (5,)))
        np.testing.assert_array_equal(scores, [3, 1, 0, 1, 0])

    def test_expected_knows_the_training_set(self):
        g = garner.build([0, 1, 2, 3, 4], [1, 2, 3, 4, 5])  # sampling v reads the one before it
        scores = garner.score(g, train=[3], fanouts=[1, 1])
        np.testing.assert_array_equal(scores > 0, [False, True, True, True, False, False])
        np.testing.assert_array_equal(garner.score(g, train=np.array([3, 3]), fanouts=(1, 1)), scores)
        for fanouts in ([0], [0, 1]):  # the first fanout is 0: the training vertex alone
            np.testing.assert_array_equal(garner.score(g, train=[3], fanouts=fanouts, rule="last"), [0, 0, 0, 1, 0, 0])
        self.assertEqual(garner.score(g, train=0.5).shape, (6,))

    @unittest.skipUnless(garner_program, "needs the program garner")
    def test_all_are_those_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            file, train, out = (pathlib.Path(folder) / name for name in ("web.gnr", "train.txt", "scores.npy"))
            g = garner.generate("web", 9)
            g.save(file)
            ids = g.ids()[::7]
            train.write_text("".join(f"{v}\n" for v in ids))
            for by in ("degree", "rpr", "wrpr", "expected", "sampled"):
                needs = ["--train", train, "--batch", "20"] if by not in ("degree", "rpr") else []
                subprocess.run([garner_program, "score", file, "--by", by, *map(str, needs), "--out", out], check=True, stdout=subprocess.DEVNULL)
                for where in ("host", "simulated"):
                    mine = garner.score(g, by=by, device=where, **({"train": ids, "batch": 20} if needs else {}))
                    np.testing.assert_allclose(mine, np.load(out), rtol=1e-5)

    def test_a_table_keeps_the_highest_near_and_a_graph_lays_them_first(self):
        g = garner.generate("kron", 8)
        scores = garner.score(g, by="degree")
        features = np.arange(4 * len(g), dtype="f4").reshape(-1, 4)
        t = garner.tiered(features, device="simulated", feature_cache=16 * 40, scores=scores)
        hottest = np.argsort(-scores, kind="stable")[:t.tiers["device"]]
        self.assertGreater(len(hottest), 0)
        self.assertEqual(t.hits(hottest)["device"], len(hottest))
        ids, depth = g.ids(), garner.bfs(g, 9).depth
        self.assertEqual(g.reorder("score", scores=scores).info.order, "score")
        np.testing.assert_array_equal(g.ids(), ids)
        np.testing.assert_array_equal(garner.bfs(g, 9).depth, depth)
        np.testing.assert_array_equal(garner.score(g, by="degree"), scores)

    def test_refusals(self):
        g = garner.build([0, 1], [1, 2])
        for wrong, kind, words in [
                (lambda: garner.score(g), garner.UsageError, "use train="), (lambda: garner.score(g, train=[9]), garner.IdError, "9 does not exist"),
                (lambda: garner.score(g, train=[]), garner.InputError, "empty"), (lambda: garner.score(g, train=1.5), garner.UsageError, "share"),
                (lambda: garner.score(g, by="heat"), garner.UsageError, "heat"), (lambda: garner.score(g, train=[0], fanouts=[1025]), garner.UsageError, "1025"),
                (lambda: garner.score(g, speed=1), TypeError, "no option 'speed'"), (lambda: garner.score(1), TypeError, "graph=1 is not a Graph"),
                (lambda: g.reorder("score"), garner.UsageError, "scores="), (lambda: g.reorder("degree", scores=np.zeros(3, "f4")), garner.UsageError, "scores="),
                (lambda: g.reorder("score", scores=np.zeros(2, "f4")), garner.UsageError, "2")]:
            with self.assertRaisesRegex(kind, words):
                wrong()
        with self.assertWarnsRegex(RuntimeWarning, "not come to rest"):
            garner.score(garner.generate("web", 8), by="rpr", iterations=1)


if __name__ == "__main__":
    unittest.main()
