"""Graphs of several types: a folder in OGB's layout becomes a dataset file, and Python sees what that binds."""
import gzip
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy as np

import garner

try:
    import torch
    import garner.torch
except ImportError:
    torch = None

program = os.environ.get("GARNER_PROGRAM")


class Hetero(unittest.TestCase):
    writes = np.array([[0, 2, 2, 0, 0, 1], [1, 1, 0, 3, 3, 2]])  # author -> paper
    cites = np.array([[3, 0, 1], [0, 1, 1]])

    def setUp(self):
        if not program:
            self.skipTest("needs GARNER_PROGRAM, which converts")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def put(self, name, text):
        file = self.folder / "mag" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(file, "wt") as out:
            out.write(text)

    def make(self):
        for name, edges in (("author___writes___paper", self.writes), ("paper___cites___paper", self.cites)):
            self.put(f"raw/relations/{name}/edge.csv.gz", "".join(f"{u},{v}\n" for u, v in edges.T))
        self.put("raw/num-node-dict.csv.gz", "author,paper\n3,4\n")
        self.put("raw/nodetype-has-label.csv.gz", "author,paper\nFalse,True\n")
        self.put("raw/node-feat/paper/node-feat.csv.gz", "0.5,1\n1.5,1\n2.5,1\n3.5,1\n")
        self.put("raw/node-label/paper/node-label.csv.gz", "1\n0\n2\n1\n")
        self.put("raw/relations/paper___cites___paper/edge_year.csv.gz", "2010\n2011\n2012\n")
        self.put("split/time/paper/train.csv.gz", "3\n0\n")
        self.convert("mag", "mag.json")

    def convert(self, *words):
        subprocess.run([program, "convert", *words, "--quiet"], cwd=self.folder, check=True, capture_output=True)

    def pairs_of(self, g, key):
        """Source and target of every edge, in the order of the data set, out of lists and edge ids."""
        edge = next(e for e in g.edge_types if e.key == key)
        offsets, sources, weights = g.adjacency(key).csr()
        self.assertIsNone(weights)
        targets = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        ids = np.arange(edge.stored_edges) if edge.edge_ids is None else np.load(edge.edge_ids)
        found = np.empty((2, edge.num_edges), np.int64)
        found[0][ids], found[1][ids] = sources, targets
        return found

    def test_a_manifest_tells_all(self):
        self.make()
        g = garner.open_hetero(self.folder / "mag.json")
        self.assertEqual([(t.name, t.count) for t in g.node_types], [("author", 3), ("paper", 4)])
        author, paper = g.node_types
        self.assertEqual((author.features, author.labels, author.train), (None, None, None))
        np.testing.assert_array_equal(np.load(paper.features), np.float32([[0.5, 1], [1.5, 1], [2.5, 1], [3.5, 1]]))
        np.testing.assert_array_equal(np.load(paper.labels), [[1], [0], [2], [1]])
        np.testing.assert_array_equal(np.load(paper.train), [3, 0])
        self.assertEqual([e.key for e in g.edge_types], [("author", "writes", "paper"), ("paper", "cites", "paper")])
        np.testing.assert_array_equal(self.pairs_of(g, ("author", "writes", "paper")), self.writes)
        np.testing.assert_array_equal(self.pairs_of(g, ("paper", "cites", "paper")), self.cites)
        cites = g.edge_types[1]
        ids = np.arange(3) if cites.edge_ids is None else np.load(cites.edge_ids)
        np.testing.assert_array_equal(np.load(cites.times), 2010 + ids)
        self.assertEqual(g.adjacency(0).info.num_nodes, 4)
        self.assertEqual(garner.open(cites.file).info.num_edges, 3)
        self.assertIn("2 node types, 2 edge types", repr(g))
        self.assertIn("author writes paper: 6 edges", repr(g.edge_types[0]))
        self.assertEqual(g.name, str(self.folder / "mag.json"))
        self.assertEqual(garner.tiered(paper.features)[[3]].tolist(), [[3.5, 1.0]])

    def test_both_ways(self):
        self.make()
        self.convert("mag", "both.json", "--undirected")
        g = garner.open_hetero(self.folder / "both.json", device="cpu", check=True)
        self.assertEqual([e.key for e in g.edge_types],
                         [("author", "writes", "paper"), ("paper", "rev_writes", "author"), ("paper", "cites", "paper")])
        np.testing.assert_array_equal(self.pairs_of(g, ("paper", "rev_writes", "author")), self.writes[::-1])
        self.assertEqual((g.edge_types[2].stored_edges, g.edge_types[2].num_edges), (5, 3))

    @unittest.skipIf(torch is None, "needs torch")
    def test_mini_batches_for_plain_torch(self):
        self.make()
        g = garner.open_hetero(self.folder / "mag.json")
        paper = g.node_types[1]
        rows, labels = garner.tiered(paper.features, device="cpu"), np.load(paper.labels)
        writes, cites = ((t, set(zip(*index.tolist()))) for t, index in ((("author", "writes", "paper"), self.writes), (("paper", "cites", "paper"), self.cites)))
        for batch in garner.torch.loader(g, [-1, -1], ("paper", np.load(paper.train)), x={"paper": rows}, y={"paper": labels},
                                         edge_attr={writes[0]: self.writes.T.copy()}, batch_size=1, device="cpu"):
            n_id = batch.n_id
            self.assertEqual((n_id["paper"][0].item(), batch.y["paper"].tolist()), ([3, 0][batch.input_id], [labels[n_id["paper"][0]].tolist()]))
            self.assertEqual(batch.x["paper"].tolist(), [[node + 0.5, 1] for node in n_id["paper"].tolist()])
            self.assertEqual(list(batch.edge_attr), [writes[0]])
            for (source, relation, target), edges in (writes, cites):  # all that lead to a paper that was reached at the hop before
                row, col = batch.edge_index[source, relation, target]
                found = list(zip(n_id[source][row].tolist(), n_id[target][col].tolist()))
                if relation == "writes":
                    self.assertEqual([tuple(edge) for edge in batch.edge_attr[source, relation, target].tolist()], found)  # a row for each edge of the dataset
                first = batch.num_sampled_nodes["paper"]
                papers = n_id["paper"][:first[0] + first[1]].tolist()
                self.assertEqual(set(found), {(u, v) for u, v in edges if v in papers})
        for batch in garner.torch.loader(g, [2], edge_label_index=(writes[0], self.writes), neg_sampling="triplet", batch_size=3, device="cpu"):
            ends = batch.n_id["author"][batch.src_index], batch.n_id["paper"][batch.dst_pos_index]
            self.assertEqual([end.tolist() for end in ends], self.writes[:, batch.input_id.numpy()].tolist())
            self.assertLess(int(batch.n_id["paper"][batch.dst_neg_index].max()), 4)
        with self.assertRaisesRegex(garner.UsageError, "num_nodes: the dataset file says"):
            garner.torch.loader(g, [2], "paper", num_nodes={"paper": 4})

    def test_lists_outlive_what_they_came_of(self):
        self.make()
        g = garner.open_hetero(self.folder / "mag.json")
        lists = g.adjacency(("paper", "cites", "paper"))
        with self.assertRaisesRegex(garner.UsageError, "in use"):
            lists.reorder("degree")
        self.assertIs(lists.to("cpu"), lists)  # where they lie
        del g
        self.assertEqual(len(lists), 4)
        self.assertEqual(lists.to("cpu").info.num_edges, 3)

    def test_what_is_wrong_is_named(self):
        self.make()
        g = garner.open_hetero(self.folder / "mag.json")
        for wrong, kind, words in [
                (lambda: g.adjacency(("paper", "writes", "author")), garner.InputError, "has no edges 'paper writes author'; it has 'author writes paper'"),
                (lambda: g.adjacency(2), garner.UsageError, "edge type 2 of 2"),
                (lambda: g.adjacency("writes"), garner.UsageError, r"use \(from, relation, to\)"),
                (lambda: garner.open_hetero(self.folder / "none.json"), garner.FileError, "none.json: cannot be opened"),
                (lambda: garner.open_hetero(self.folder / "mag.json", plaice="host"), TypeError, "plaice")]:
            with self.subTest(words=words), self.assertRaisesRegex(kind, words):
                wrong()
        text = (self.folder / "mag.json").read_text()
        for there, here, words in [('"count": 4', '"count": 5', "vertices 'paper': features: .*has 4 rows for 5 paper"),
                                   ('"arcs": 6', '"arcs": 7', "has 6 rows for 7 arcs"), ('"garner": 1', '"garner": 9', "garner: is 9"),
                                   ("{", "", "is not JSON there; mend it, or make it again with the program's `convert`$")]:
            (self.folder / "wrong.json").write_text(text.replace(there, here, 1))
            with self.subTest(words=words), self.assertRaisesRegex(garner.InputError, words):
                garner.open_hetero(self.folder / "wrong.json")


if __name__ == "__main__":
    unittest.main()
