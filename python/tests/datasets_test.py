"""Dataset files of several tables and of other libraries' graphs: each is compared with the arrays that it was made of."""
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

import numpy as np

import garner

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = None

writes, cites = ("author", "writes", "paper"), ("paper", "cites", "paper")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        rng = np.random.default_rng(3)
        self.counts = {"author": 70, "paper": 90}
        self.edges = {writes: np.stack([rng.integers(0, 70, 400), rng.integers(0, 90, 400)]), cites: rng.integers(0, 90, (2, 500))}
        self.x = {name: rng.random((count, 4), "float32") for name, count in self.counts.items()}
        self.y = np.arange(90) % 5
        self.of_edges = rng.random((400, 3), "float32")
        self.chosen = rng.random(90) < .3

    def triples(self, graph, key):
        """The multiset of (source, target) of an edge type, sorted."""
        offsets, sources, _ = graph.adjacency(key).csr()
        targets = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        return np.stack([sources, targets])[:, np.lexsort([sources, targets])]

    def same(self, file, edges=None):
        graph = garner.open_hetero(file)
        for key, (u, v) in (edges or self.edges).items():
            np.testing.assert_array_equal(self.triples(graph, key), np.stack([u, v])[:, np.lexsort([u, v])], str(key))
        return graph

    def has_all(self, file):
        """x, y, splits and rows of edges."""
        graph = self.same(file)
        self.assertEqual({t.name: t.count for t in graph.node_types}, self.counts)
        nodes, kinds = {t.name: t for t in graph.node_types}, {e.key: e for e in graph.edge_types}
        for name, x in self.x.items():
            np.testing.assert_array_equal(np.load(nodes[name].features), x)
        np.testing.assert_array_equal(np.load(nodes["paper"].labels), self.y)
        np.testing.assert_array_equal(np.load(nodes["paper"].train), np.flatnonzero(self.chosen))
        of = kinds[writes]
        ids = np.arange(400) if of.edge_ids is None else np.load(of.edge_ids)
        offsets, sources, _ = graph.adjacency(writes).csr()
        np.testing.assert_array_equal(sources, self.edges[writes][0][ids])
        np.testing.assert_array_equal(np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), self.edges[writes][1][ids])
        np.testing.assert_array_equal(np.load(of.features), self.of_edges)
        return graph

    def refused(self, kind, words, given, **options):
        with self.assertRaises(kind) as told:
            garner.convert(given, self.folder / "bad.json", **options)
        for word in words:
            self.assertIn(word, str(told.exception))
        self.assertEqual([one.name for one in self.folder.iterdir() if one.name.startswith("bad")], [])


@unittest.skipUnless(pa, "needs pyarrow")
class Tables(Case):
    def names(self, kind, ids):
        return pa.array([f"{kind}-{k * 7919}" for k in ids])

    def test_ids_that_stay(self):
        given = {key: pa.table({"from": ends[0], "to": ends[1]}) for key, ends in self.edges.items()}
        np.save(self.folder / "p.npy", self.x["paper"])
        rows = {"paper": self.folder / "p.npy", "author": self.x["author"]}
        for k, limit in enumerate((None, "64MiB")):
            file = self.folder / f"{k}.json"
            self.assertIsNone(garner.convert(given, file, features=rows, labels={"paper": self.y}, keep_duplicates=True, keep_loops=True, memory_limit=limit))
            graph = self.same(file)
            types_ = {t.name: t for t in graph.node_types}
            self.assertEqual({name: t.count for name, t in types_.items()}, self.counts)
            self.assertEqual(types_["paper"].features, str(self.folder / "p.npy"))
            np.testing.assert_array_equal(np.load(types_["author"].features), self.x["author"])
            np.testing.assert_array_equal(np.load(types_["paper"].labels), self.y)
            self.assertIsNone(types_["paper"].names)
        garner.convert(given, self.folder / "u.json", undirected=True)
        thin = {key: np.unique(ends, axis=1) for key, ends in self.edges.items()}
        both = np.concatenate([thin[cites], thin[cites][::-1]], axis=1)
        self.same(self.folder / "u.json", {writes: thin[writes], ("paper", "rev_writes", "author"): thin[writes][::-1],
                                           cites: np.unique(both[:, both[0] != both[1]], axis=1)})
        garner.convert(given[cites], self.folder / "one.json", features={"node": self.x["paper"]})
        thin = thin[cites][:, thin[cites][0] != thin[cites][1]]
        self.same(self.folder / "one.json", {("node", "to", "node"): thin})

    def test_names_of_each_type_and_their_rows(self):
        order = np.random.default_rng(4).permutation(95)
        embeddings = np.random.default_rng(5).random((95, 4), "float32")
        users = pa.table({"id": self.names("p", order), "e": pa.FixedSizeListArray.from_arrays(pa.array(embeddings[order].reshape(-1)), 4), "y": order % 5})
        for key, ends in self.edges.items():
            (self.folder / key[1]).mkdir()
            for k, part in enumerate(np.array_split(ends, 3, axis=1)):
                pq.write_table(pa.table({"a": self.names(key[0][0], part[0]), "b": self.names(key[2][0], part[1]), "w": np.ones(part.shape[1])}),
                               self.folder / key[1] / f"{k}.parquet")
        pq.write_table(users, self.folder / "p.parquet")
        given = {key: str(self.folder / key[1] / "*.parquet") for key in self.edges}
        file = self.folder / "named.json"
        garner.convert(given, file, src="a", dst="b", weight="w", features={"paper": (self.folder / "p.parquet", "id", "e")},
                       labels={"paper": (users, "id", "y")}, keep_duplicates=True, keep_loops=True)
        names = garner.read_names(file)
        numbers = {kind: {name: k for k, name in enumerate(all_of)} for kind, all_of in names.items()}
        self.assertEqual(len(numbers["paper"]), 95)  # those without an edge too
        self.assertEqual(names["author"][0], f"a-{self.edges[writes][0][0] * 7919}")
        of = {kind: np.array([numbers[kind].get(f"{kind[0]}-{k * 7919}", -1) for k in range(95)]) for kind in self.counts}
        graph = self.same(file, {key: np.stack([of[key[0]][u], of[key[2]][v]]) for key, (u, v) in self.edges.items()})
        paper = next(t for t in graph.node_types if t.name == "paper")
        np.testing.assert_array_equal(np.load(paper.features)[of["paper"]], embeddings)
        np.testing.assert_array_equal(np.load(paper.labels)[of["paper"]], np.arange(95) % 5)
        self.assertEqual(list(garner.read_names(paper.names)), list(names["paper"]))
        with self.assertRaisesRegex(garner.OutOfMemory, "names of '.*': ids that are renumbered need a memory limit of 96 MiB"):
            garner.convert(given, self.folder / "small.json", src="a", dst="b", memory_limit="64MiB")

    @unittest.skipUnless(os.environ.get("GARNER_PROGRAM"), "needs the program garner")
    def test_the_program_makes_them_too(self):
        for key, ends in self.edges.items():
            pq.write_table(pa.table({"a": self.names(key[0][0], ends[0]), "b": self.names(key[2][0], ends[1])}), self.folder / f"{key[1]}.parquet")
        np.savetxt(self.folder / "y.csv", np.array([(f"p-{k * 7919}", str(k % 5)) for k in range(90)]), "%s", ",", header="id,y", comments="")
        given = ",".join(f"{':'.join(key)}={self.folder / key[1]}.parquet" for key in self.edges)

        def run(*arguments):
            return subprocess.run([os.environ["GARNER_PROGRAM"], "convert", *map(str, arguments)], env={**os.environ, "GARNER_PYTHON": sys.executable},
                                  capture_output=True, text=True, timeout=300)
        done = run(given, self.folder / "p.json", "--node-labels", f"paper={self.folder / 'y.csv'}:id:y", "--keep-duplicates", "--keep-loops")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("paper: 90 vertices, with labels, names", done.stdout)
        self.assertIn("author writes paper: 400 edges", done.stdout)
        garner.convert({key: self.folder / f"{key[1]}.parquet" for key in self.edges}, self.folder / "q.json", keep_duplicates=True, keep_loops=True)
        one, two = (garner.open_hetero(self.folder / f"{name}.json") for name in "pq")
        for key in self.edges:
            np.testing.assert_array_equal(self.triples(one, key), self.triples(two, key))
        names = garner.read_names(self.folder / "p.json")["paper"]
        paper = next(t for t in one.node_types if t.name == "paper")
        self.assertEqual([int(name[2:]) // 7919 % 5 for name in names], list(np.load(paper.labels)))
        for arguments, words in (((given + "x", self.folder / "r.json"), "does not exist"), ((given, self.folder / "r.gnr"), "ends in .json")):
            done = run(*arguments)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)

    def test_what_is_wrong_is_said_and_nothing_stays(self):
        good = pa.table({"a": [0, 1], "b": [1, 2]})
        self.refused(garner.KindError, ["three words"], {("a", "b"): good})
        self.refused(garner.UsageError, ["without edges"], {})
        self.refused(garner.UsageError, ["no nodes of this type", "user, item"], {("user", "to", "item"): good}, features={"itm": self.x["paper"]})
        self.refused(garner.UsageError, ["numbering='compact'"], {("user", "to", "item"): good}, numbering="compact")
        self.refused(garner.InputError, ["has no column 'c'", "a, b"], {("user", "to", "item"): good}, dst="c")
        self.refused(garner.InputError, ["row 1: 'b' is null"], {("user", "to", "item"): pa.table({"a": [0, 1], "b": [1, None]})})
        self.refused(garner.InputError, ["features of 'item': has 2 rows for 3 nodes"], {("user", "to", "item"): good}, features={"item": self.x["paper"][:2]})
        named = {("user", "to", "item"): pa.table({"a": ["x", "y"], "b": ["p", "q"]})}
        self.refused(garner.UsageError, ["rows need them too"], named, features={"item": self.x["paper"]})
        table = pa.table({"id": ["p", "p"], "y": [1, 2]})
        self.refused(garner.InputError, ["row 1: 'p' is there twice in 'id'"], named, labels={"item": (table, "id", "y")})
        holed = pa.table({"id": ["p", "q"], "x": [[1, 2], [None, 3]]})
        self.refused(garner.InputError, ["row 1: 'x' holds a null"], named, features={"item": (holed, "id", "x")})
        self.refused(garner.InputError, ["1 nodes have no row, as 'q'"], named, labels={"item": (table.slice(1), "id", "y")})
        self.refused(garner.InputError, ["'item' has string in other tables"],
                     {**named, ("item", "of", "shop"): pa.table({"a": [1], "b": [2]}).cast(pa.schema([("a", pa.int64()), ("b", pa.int64())]))}, renumber=True)
        self.refused(garner.InputError, ["'item' has names"], {**named, ("item", "of", "shop"): pa.table({"a": [1], "b": [2]})})
        for most in (1, 20_000, 200_000):  # bytes of a file: as a full disk
            code = f"""
import garner, numpy, os, pyarrow, resource
resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))
edges = pyarrow.table({{"a": ["n%d" % k for k in range(20_000)], "b": ["m%d" % k for k in range(20_000)]}})
for to, given in (("full.json", {{("user", "to", "item"): edges}}), ("full.gnr", edges)):
    try:
        garner.convert(given, os.path.join({str(self.folder)!r}, to))
        print("done")
    except garner.FileError as e:
        print(len(str(e).splitlines()), str(e))
"""
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for line in done.stdout.splitlines():
                self.assertRegex(line, "^1 .*(full|names of|Table)")
            self.assertEqual(len(done.stdout.splitlines()), 2)
            self.assertEqual([one.name for one in self.folder.iterdir() if one.name.startswith("full")], [])
        (self.folder / "there.garner").mkdir()
        with self.assertRaisesRegex(garner.UsageError, "is there already"):
            garner.convert({("user", "to", "item"): good}, self.folder / "there.json")
        with self.assertRaisesRegex(garner.UsageError, "ends in .json"):
            garner.convert({("user", "to", "item"): good}, self.folder / "bad.gnr")


class DglGraph:
    """The attributes of a DGLGraph that are read, of its documentation."""

    def __init__(self, counts, edges, nodes, of_edges):
        self.ntypes, self.canonical_etypes = list(counts), list(edges)
        self.num_nodes = counts.__getitem__
        self.nodes = {name: types.SimpleNamespace(data=nodes.get(name, {})) for name in counts}

        class Edges(dict):
            def __call__(_, etype, order):
                assert order == "eid"
                return tuple(edges[etype])
        self.edges = Edges({key: types.SimpleNamespace(data=of_edges.get(key, {})) for key in edges})


class Frame:
    """As cuDF's: a table that to_arrow gives."""

    def __init__(self, table):
        self.columns, self.to_arrow = table.column_names, lambda: table


class Foreign(Case):
    def test_igb_of_raw_bytes(self):
        root, rng = self.folder / "full" / "processed", np.random.default_rng(6)
        x, y = rng.random((90, 1024), "float32"), self.y.astype("float32")
        for key, ends in self.edges.items():
            (root / "__".join(key)).mkdir(parents=True)
            np.save(root / "__".join(key) / "edge_index.npy", ends.T)
        for name in self.counts:
            (root / name).mkdir()
        np.save(root / "author" / "node_feat.npy", self.x["author"])
        x.tofile(root / "paper" / "node_feat.npy")
        y.tofile(root / "paper" / "node_label_19.npy")
        with self.assertWarnsRegex(Warning, "node_feat.npy: has no header of NumPy; it is read as raw float32, 1024 per node"):
            garner.convert(self.folder / "full", self.folder / "igb.json")
        graph = self.same(self.folder / "igb.json")
        paper = next(t for t in graph.node_types if t.name == "paper")
        self.assertEqual((paper.count, os.path.getsize(paper.features) < 500), (90, True))  # the rows stay where they are
        np.testing.assert_array_equal(np.load(paper.labels), y)
        ids = np.array([89, 0, 7])
        for options in ({}, {"host_cache": "80KiB"}):
            np.testing.assert_array_equal(np.asarray(garner.tiered(paper.features, device="cpu", **options)[ids]), x[ids])
        with open(root / "paper" / "node_feat.npy", "ab") as more:
            more.write(b"1234")
        with self.assertRaisesRegex(garner.InputError, "igb.json: .*longer than its header says"):
            garner.open_hetero(self.folder / "igb.json")
        with self.assertRaises(garner.InputError):
            garner.convert(self.folder / "full", self.folder / "bad.json")
        for text, words in (("garner raw 2\n<f4 1 2\nx\n", "does not begin"), ("garner raw 1\n<f4 -1 2\nx\n", "no type"), ("garner raw 1\n<f4 1 2\n", "three lines"),
                            ("garner raw 1\n<f4 99 99\nigb.json\n", "shorter than"), ("x" * 9000, "longer than 8192"), ("garner raw 1\n" + "'" * 3 + " 1 2\nx\n", "no type")):
            (self.folder / "r.raw").write_text(text)
            with self.assertRaisesRegex(garner.InputError, words):
                garner.tiered(self.folder / "r.raw", device="cpu")

    @unittest.skipUnless(pa, "needs pyarrow")
    def test_a_directed_folder_a_table_and_a_graph_file_are_sampled_along_the_same_edges(self):
        try:
            import garner.pyg  # noqa: F401
        except ImportError:
            self.skipTest("needs PyG")
        raw, ends = self.folder / "ogb" / "raw", np.unique(self.edges[cites], axis=1)
        ends = ends[:, ends[0] != ends[1]]
        raw.mkdir(parents=True)
        with gzip.open(raw / "edge.csv.gz", "wt") as to:
            np.savetxt(to, ends.T, "%d", ",")
        with gzip.open(raw / "num-node-list.csv.gz", "wt") as to:
            to.write("90\n")
        table = pa.table({"src": ends[0], "dst": ends[1]})
        garner.convert(self.folder / "ogb", self.folder / "ogb.json")
        garner.convert(table, self.folder / "table.json", features={"node": self.x["paper"]})
        garner.convert(table, self.folder / "g.gnr")
        key, x = ("node", "to", "node"), self.x["paper"]

        def sampled(graph, several):
            loader = garner.torch.loader(graph, [-1], ("node", np.arange(90)) if several else np.arange(90), x={"node": x} if several else x, batch_size=13, device="cpu")
            found = set()
            for batch in loader:
                ids, edges = (batch.n_id["node"], batch.edge_index[key]) if several else (batch.n_id, batch.edge_index)
                found |= set(zip(ids[edges[0]].tolist(), ids[edges[1]].tolist()))
            return found
        wanted = set(zip(*ends.tolist()))
        for given, several in ((garner.open_hetero(self.folder / "ogb.json"), True), (garner.open_hetero(self.folder / "table.json"), True),
                               (garner.open(self.folder / "g.gnr"), False)):
            self.assertEqual(sampled(given, several), wanted, given)
        plain, train = garner.open(self.folder / "g.gnr", in_edges=True), np.arange(9)
        for name in ("ogb", "table"):
            several = garner.open_hetero(self.folder / f"{name}.json")
            alone = garner.open(several.edge_types[0].file)
            self.assertEqual((alone.info.reversed, several.adjacency(0).info.reversed), (False, True))
            self.assertEqual(alone.digest(), plain.digest())
            np.testing.assert_array_equal(garner.bfs(alone, 0).depth, garner.bfs(plain, 0).depth)
            np.testing.assert_array_equal(garner.pagerank(alone).rank, garner.pagerank(plain).rank)
            for by in ("expected", "sampled", "degree"):
                np.testing.assert_array_equal(garner.score(alone, by=by, train=train), garner.score(plain, by=by, train=train))
            for given in (alone, several.adjacency(0)):
                self.assertEqual(sampled(given, False), wanted)
                np.testing.assert_array_equal(garner.random_walk(given, np.arange(90), 3, side="in"), garner.random_walk(plain, np.arange(90), 3, side="in"))
            store = garner.pyg.GraphStore()
            store.put_graph(several.adjacency(0))
            source, begins = store.get_edge_index(edge_type=None, layout="csc")
            theirs = plain.csr(side="in")
            np.testing.assert_array_equal(begins, theirs[0])
            np.testing.assert_array_equal(source, theirs[1])
            for run in (lambda: garner.bfs(several.adjacency(0), 0), lambda: garner.pagerank(several.adjacency(0)), lambda: garner.score(several.adjacency(0), by="degree")):
                with self.assertRaisesRegex(garner.InputError, "is reversed, as edge types of a dataset need it; open its graph file"):
                    run()
            with self.assertRaisesRegex(garner.InputError, "has no out-edges, and edges that stay in the file build none; garner.convert.*in_edges=True"):
                garner.open(several.edge_types[0].file, edges="file")
            for both in (False, True):  # what is made of the file has its edges, also in a dataset
                garner.convert(several.edge_types[0].file, self.folder / "as.gnr", in_edges=both)
                self.assertEqual(garner.open(self.folder / "as.gnr", edges="file" if both else None).digest(), plain.digest())
            os.replace(self.folder / "as.gnr", several.edge_types[0].file)
            self.assertEqual(sampled(garner.open_hetero(self.folder / f"{name}.json"), True), wanted)

    def test_dgl(self):
        nodes = {name: {"feat": x} for name, x in self.x.items()}
        nodes["paper"].update(label=self.y, train_mask=self.chosen)
        self.assertIsNone(garner.convert(DglGraph(self.counts, self.edges, nodes, {writes: {"feat": self.of_edges}}), self.folder / "dgl.json"))
        self.has_all(self.folder / "dgl.json")
        one = DglGraph({"_N": 90}, {("_N", "_E", "_N"): self.edges[cites]}, {"_N": {"feat": self.x["paper"]}}, {})
        garner.convert(one, self.folder / "one.json")
        graph = self.same(self.folder / "one.json", {("node", "to", "node"): self.edges[cites]})
        np.testing.assert_array_equal(np.load(graph.node_types[0].features), self.x["paper"])
        info = garner.convert(one, self.folder / "one.gnr", keep_duplicates=True, keep_loops=True)
        self.assertEqual((info.num_nodes, info.num_edges), (90, 500))
        twin = garner.build(self.edges[cites], num_nodes=90, keep_duplicates=True, keep_loops=True)
        self.assertEqual(garner.open(self.folder / "one.gnr").digest(), twin.digest())
        self.refused(garner.UsageError, ["weight='w'", "leave it out"], one, weight="w")
        self.refused(garner.UsageError, ["weight=0", "leave it out"], one, weight=0)
        beyond = DglGraph({"_N": 9}, {("_N", "_E", "_N"): self.edges[cites]}, {}, {})
        self.refused(garner.IdError, ["('node', 'to', 'node')"], beyond)

    def test_pyg(self):
        try:
            from torch_geometric.data import Data, HeteroData
            import torch
        except ImportError:
            self.skipTest("needs torch_geometric")
        data = HeteroData()
        for name, x in self.x.items():
            data[name].x = torch.from_numpy(x)
        data["paper"].y, data["paper"].train_mask = torch.from_numpy(self.y), torch.from_numpy(self.chosen)
        for key, ends in self.edges.items():
            data[key].edge_index = torch.from_numpy(ends)
        data[writes].edge_attr = torch.from_numpy(self.of_edges)
        garner.convert(data, self.folder / "pyg.json")
        graph = self.has_all(self.folder / "pyg.json")
        batch = next(iter(garner.torch.loader(graph, [3, 3], "paper", x={t.name: garner.tiered(t.features, device="cpu") for t in graph.node_types}, batch_size=8,
                                              device="cpu")))
        self.assertEqual(batch.x["paper"].shape[1], 4)
        garner.convert(data, self.folder / "both.json", undirected=True)
        back = self.same(self.folder / "both.json", {writes: self.edges[writes], ("paper", "rev_writes", "author"): self.edges[writes][::-1]})
        rev = next(e for e in back.edge_types if e.key[1] == "rev_writes")
        np.testing.assert_array_equal(back.adjacency(rev.key).csr()[1][:], self.edges[writes][1][np.load(rev.edge_ids)])
        one = Data(edge_index=torch.from_numpy(self.edges[cites]), edge_attr=torch.arange(500), time=None, x=data["paper"].x, y=data["paper"].y)
        garner.convert(one, self.folder / "one.json", undirected=True)
        loops = self.edges[cites][0] == self.edges[cites][1]
        graph = self.same(self.folder / "one.json", {("node", "to", "node"): np.concatenate([self.edges[cites], self.edges[cites][::-1, ~loops]], 1)})
        np.testing.assert_array_equal(np.load(graph.node_types[0].labels), self.y)
        of = graph.edge_types[0]
        offsets, sources, _ = graph.adjacency(of.key).csr()
        ends = self.edges[cites][:, np.load(of.features)[np.load(of.edge_ids)]]  # of the edge of each entry, in either direction
        np.testing.assert_array_equal(np.sort(ends, 0), np.sort(np.stack([sources, np.repeat(np.arange(90), np.diff(offsets)[:90])]), 0))
        self.assertEqual(garner.convert(one, self.folder / "one.gnr").num_nodes, 90)
        with self.assertRaisesRegex(garner.UsageError, "several types"):
            garner.convert(data, self.folder / "bad.gnr")

    def test_graphbolt(self):
        def csc(ends, nodes, **more):
            order = np.lexsort(ends)
            return types.SimpleNamespace(csc_indptr=np.concatenate([[0], np.cumsum(np.bincount(ends[1], minlength=nodes))]), indices=ends[0][order], **more)
        garner.convert(csc(self.edges[cites], 90), self.folder / "csc.json")
        self.same(self.folder / "csc.json", {("node", "to", "node"): self.edges[cites]})
        shift = {"author": 0, "paper": 70}
        ends = np.concatenate([[u + shift[key[0]], v + shift[key[2]]] for key, (u, v) in self.edges.items()], axis=1)
        order = np.lexsort(ends)
        kinds = np.repeat([0, 1], [400, 500])[order].astype("uint8")
        garner.convert(csc(ends, 160, node_type_offset=np.array([0, 70, 160]), type_per_edge=kinds, node_type_to_id={"author": 0, "paper": 1},
                           edge_type_to_id={"author:writes:paper": 0, "paper:cites:paper": 1}), self.folder / "fused.json")
        self.same(self.folder / "fused.json")

    @unittest.skipUnless(pa, "needs pyarrow")
    def test_metadata_yaml(self):
        try:
            import torch
            import yaml
        except ImportError:
            self.skipTest("needs torch and yaml")
        root = self.folder / "bolt"
        root.mkdir()
        np.savetxt(root / "writes.csv", self.edges[writes].T, "%d", ",")
        np.save(root / "cites.npy", self.edges[cites])
        np.save(root / "author.npy", self.x["author"])
        torch.save(torch.from_numpy(self.x["paper"]), root / "paper.pt")
        np.save(root / "of_edges.npy", self.of_edges)
        seeds = np.flatnonzero(self.chosen)
        np.save(root / "train.npy", seeds)
        np.save(root / "labels.npy", self.y[seeds])
        said = {"dataset_name": "mini", "graph": {
            "nodes": [{"type": name, "num": count} for name, count in self.counts.items()],
            "edges": [{"type": "author:writes:paper", "format": "csv", "path": "writes.csv"}, {"type": "paper:cites:paper", "format": "numpy", "path": "cites.npy"}]},
            "feature_data": [{"domain": "node", "type": "author", "name": "feat", "format": "numpy", "path": "author.npy"},
                             {"domain": "node", "type": "paper", "name": "feat", "format": "torch", "path": "paper.pt"},
                             {"domain": "edge", "type": "author:writes:paper", "name": "feat", "format": "numpy", "path": "of_edges.npy"}],
            "tasks": [{"name": "classes", "train_set": [{"type": "paper", "data": [{"name": "seeds", "format": "numpy", "path": "train.npy"},
                                                                                   {"name": "labels", "format": "numpy", "path": "labels.npy"}]}]}]}
        (root / "metadata.yaml").write_text(yaml.dump(said))
        wanted, self.y = self.y, np.where(self.chosen, self.y, -1)
        for k, given in enumerate((root, root / "metadata.yaml")):
            garner.convert(given, self.folder / f"{k}.json")
            graph = self.has_all(self.folder / f"{k}.json")
        self.assertEqual(next(t for t in graph.node_types if t.name == "author").features, str(root / "author.npy"))
        del said["graph"]
        (root / "metadata.yaml").write_text(yaml.dump(said))
        self.refused(garner.InputError, ["lacks 'graph'", "raw data"], root)
        (root / "metadata.yaml").write_text("a: [")
        self.refused(garner.InputError, ["cannot be read as GraphBolt"], root / "metadata.yaml")
        self.refused(garner.FileError, ["none.yaml"], root / "none.yaml")

    def test_networkx_and_scipy(self):
        try:
            import networkx as nx
            import scipy.sparse as sp
        except ImportError:
            self.skipTest("needs networkx and scipy")
        matrix = sp.random_array((50, 50), density=.1, rng=np.random.default_rng(1)).tocsr()
        garner.convert(matrix, self.folder / "s.gnr")
        self.assertEqual(garner.open(self.folder / "s.gnr").digest(), garner.build(matrix).digest())
        club = nx.karate_club_graph()
        info = garner.convert(club, self.folder / "n.gnr")
        self.assertEqual((info.num_edges, info.directed), (156, False))
        if pa:
            named = nx.relabel_nodes(club, lambda k: f"member {k}")
            garner.convert(named, self.folder / "m.gnr")
            graph, names = garner.open(self.folder / "m.gnr"), garner.read_names(self.folder / "m.gnr")
            self.assertFalse(graph.info.directed)
            offsets, targets, weights = graph.csr()
            at = list(names).index("member 33")
            self.assertEqual({names[k] for k in targets[offsets[at]:offsets[at + 1]]}, set(named["member 33"]))
            self.assertIsNotNone(weights)
            named.add_node("alone")
            with self.assertRaisesRegex(garner.UsageError, "'alone'"):
                garner.convert(named, self.folder / "bad.gnr")

    @unittest.skipUnless(pa, "needs pyarrow")
    def test_cugraph(self):
        table = pa.table({"src": self.edges[cites][0], "dst": self.edges[cites][1], "weights": np.ones(500, "int64")})
        twin = garner.build(*self.edges[cites], np.ones(500, "uint32"))
        garner.convert(Frame(table), self.folder / "f.gnr", weight="weights")
        self.assertEqual(garner.open(self.folder / "f.gnr").digest(), twin.digest())
        for directed in (True, False):
            graph = types.SimpleNamespace(view_edge_list=lambda: Frame(table.rename_columns(["u", "v", "w"])), is_directed=lambda: directed,
                                          source_columns="u", destination_columns=["v"], weight_column="w")
            garner.convert(graph, self.folder / "c.gnr")
            twin = garner.build(*self.edges[cites], np.ones(500, "uint32"), undirected=not directed)
            self.assertEqual(garner.open(self.folder / "c.gnr").digest(), twin.digest())


if __name__ == "__main__":
    unittest.main()
