"""garner.torch.loader over several types of nodes, and from links: against brute force, and against the loaders of garner.pyg."""
import unittest

import numpy as np

import garner

try:
    import torch
    from garner.pipeline import mixed
    import garner.torch
except ImportError:
    torch = None
try:
    from torch_geometric.sampler import NegativeSampling
    from garner.pyg import FeatureStore, GraphStore, LinkNeighborLoader, NeighborLoader
except ImportError:
    NeighborLoader = None

writes, cites, back = ("author", "writes", "paper"), ("paper", "cites", "paper"), ("paper", "rev_writes", "author")
sizes = {"author": 60, "paper": 90}


def edges_between(sources, targets, count):
    return torch.stack([torch.randint(sources, (count,)), torch.randint(targets, (count,))])


def content(batch):
    """All that a mini-batch says, as values that compare."""
    def told(value):
        return (str(value.dtype), value.tolist()) if isinstance(value, torch.Tensor) else {k: told(v) for k, v in value.items()} if isinstance(value, dict) else value
    return {name: told(value) for name, value in vars(batch).items()}


class Case(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        of_writes = edges_between(60, 90, 400)
        self.index = {writes: of_writes, cites: edges_between(90, 90, 500), back: of_writes.flip(0)}
        self.edges = {t: set(map(tuple, index.T.tolist())) for t, index in self.index.items()}
        self.into = {t: {} for t in self.edges}
        for t, edges in self.edges.items():
            for u, v in edges:
                self.into[t].setdefault(v, set()).add(u)
        self.x = {"author": torch.randn(60, 4), "paper": torch.randn(90, 40)}
        self.y = {"paper": torch.arange(90) % 7}
        self.graphs = self.build()

    def build(self, keep_loops=True, **more):
        return {t: garner.build(index, num_nodes=90, in_edges=True, keep_loops=keep_loops, **more) for t, index in self.index.items()}

    def neighbors(self, kind, node):
        return self.into[kind].get(node, set())

    def truthful(self, batch, fanouts, seeds_of, trees=False, replace=False):
        """Nodes and edges against the edges of the graph. fanouts: by relation; seeds_of: by type."""
        n_id = {t: ids.cpu() for t, ids in batch.n_id.items()}
        for t, ids in n_id.items():
            self.assertEqual((ids.dtype, ids.numel()), (torch.int64, sum(batch.num_sampled_nodes[t])))
            self.assertTrue(torch.equal(ids[:len(seeds_of.get(t, ()))], torch.as_tensor(seeds_of.get(t, ()), dtype=torch.int64)))
            self.assertEqual(batch.num_sampled_nodes[t][0], len(seeds_of.get(t, ())))
            if not trees:
                others = ids[len(seeds_of.get(t, ())):]
                self.assertEqual(others.unique().numel(), others.numel())
                self.assertFalse(set(others.tolist()) & set(seeds_of.get(t, torch.empty(0)).tolist()))
        self.assertEqual(set(batch.edge_index), set(self.index))
        reached = {t: set(range(len(seeds_of.get(t, ())))) for t in n_id}
        for kind, index in batch.edge_index.items():
            row, col = index.cpu()
            self.assertTrue(set(zip(n_id[kind[0]][row].tolist(), n_id[kind[2]][col].tolist())) <= self.edges[kind])
            reached[kind[0]] |= set(row.tolist())
            if trees:
                self.assertTrue(torch.equal(batch.batch[kind[0]][row], batch.batch[kind[2]][col]))
            # Nodes of hop h sample at hop h, each so many of its neighbors.
            begins, done = np.cumsum([0, *batch.num_sampled_nodes[kind[2]]]), 0
            for hop, count in enumerate(batch.num_sampled_edges[kind]):
                of_hop = col[done:done + count]
                done += count
                for k in range(begins[hop], begins[hop + 1]):
                    degree = len(self.neighbors(kind, int(n_id[kind[2]][k])))
                    want = degree if fanouts[kind][hop] < 0 else fanouts[kind][hop] if replace and degree else min(degree, fanouts[kind][hop])
                    self.assertEqual(int((of_hop == k).sum()), want)
            self.assertEqual(done, col.numel())
        for t, ids in n_id.items():
            self.assertEqual(reached[t], set(range(ids.numel())))

    def same_as_one_after_the_other(self, loader, epochs=2):
        ahead = [content(b) for _ in range(epochs) for b in loader]
        self.assertEqual(loader.report["batches"], len(loader))
        one, size = [], loader.batch_size
        for epoch in range(epochs):
            number = mixed(loader.seed, epoch)
            order = loader._order(number)
            one += [content(loader.sampled(order[k * size:(k + 1) * size], mixed(number, 0) + k)) for k in range(len(loader))]
        self.assertEqual(len(ahead), len(one))
        for a, b in zip(ahead, one):
            self.assertEqual(a, b)
        if epochs > 1:
            self.assertEqual([a["input_id"] for a in ahead[len(loader):]] == [a["input_id"] for a in ahead[:len(loader)]], not loader.shuffle)
        return ahead

    def goes_on(self, make):
        whole, stopped = make(), make()
        want = [content(b) for b in whole]
        batches = iter(stopped)
        first = [content(next(batches)) for _ in range(2)]
        state = stopped.state_dict()
        batches.close()
        other = make()
        other.load_state_dict(state)
        self.assertEqual(first + [content(b) for b in other], want)
        self.assertEqual([content(b) for b in other], [content(b) for b in whole])


@unittest.skipIf(torch is None, "needs torch")
class Hetero(Case):
    def test_what_comes(self):
        rows = self.x["paper"]
        seeds = torch.arange(0, 90, 2)
        for kept, given in ((rows, seeds), (rows.numpy(), torch.arange(90) % 2 == 0), (garner.tiered(rows), seeds.tolist())):
            for fanouts in ([4, 3], {writes: [4, 3], cites: [0, 2], back: [-1, 1]}):
                x = {"author": self.x["author"], "paper": kept}
                loader = garner.torch.loader(self.graphs, fanouts, ("paper", given), x=x, y=self.y, batch_size=10, shuffle=True)
                self.assertEqual(len(loader), 5)
                seen = []
                for batch in loader:
                    self.assertIsInstance(batch, garner.torch.HeteroMiniBatch)
                    self.truthful(batch, fanouts if isinstance(fanouts, dict) else dict.fromkeys(self.index, fanouts), {"paper": seeds[batch.input_id]})
                    for t in sizes:
                        self.assertTrue(torch.equal(batch.x[t].cpu(), self.x[t][batch.n_id[t].cpu()]))
                    self.assertEqual(list(batch.y), ["paper"])
                    self.assertTrue(torch.equal(batch.y["paper"].cpu(), self.y["paper"][seeds[batch.input_id]]))
                    self.assertEqual((batch.batch_size, batch.e_id, batch.batch, batch.seed_time), (batch.input_id.numel(), None, None, None))
                    self.assertEqual([{t: e.size(1) for t, e in hop.items()} for hop in batch.edges],
                                     [{t: batch.num_sampled_edges[t][h] for t in self.index} for h in range(2)])
                    seen += batch.input_id.tolist()
                self.assertEqual((sorted(seen), seen == sorted(seen)), (list(range(45)), False))
                del loader, batch

    def test_all_neighbors_are_those_of_the_whole_graph(self):
        for batch in garner.torch.loader(self.graphs, [-1, -1], "author", num_nodes=sizes, batch_size=7):
            seeds = batch.n_id["author"][:batch.batch_size].tolist()
            self.assertEqual((seeds, batch.x, batch.y), (batch.input_id.tolist(), None, None))
            first = {u for v in seeds for u in self.neighbors(back, v)}
            papers = first | {u for v in first for u in self.neighbors(cites, v)}
            authors = set(seeds) | {u for v in first for u in self.neighbors(writes, v)}
            self.assertEqual(({*batch.n_id["paper"].tolist()}, {*batch.n_id["author"].tolist()}), (papers, authors))

    def test_options(self):
        edge_times = {t: np.arange(g.info.num_edges) % 40 for t, g in self.graphs.items()}
        node_times = {"author": np.arange(60) % 30, "paper": np.arange(90) % 40}
        weights = {t: torch.rand(index.size(1)) + 0.01 for t, index in self.index.items()}
        cases = [{}, {"replace": True}, {"disjoint": True, "edge_ids": True}, {"induced": True}, {"drop_last": True, "loading": {"window": 2, "prefetch": 3}},
                 {"temporal": "uniform", "times": node_times}, {"temporal": "last", "times": node_times, "seed_times": np.arange(45)},
                 {"temporal": "last", "times": edge_times, "seed_times": np.full(45, 20)}, {"weighted": True}, {"edge_ids": True, "graph_cache": 2000, "feature_cache": 3000},
                 {"graph_cache": 3000, "scores": {"paper": np.arange(90)}}]
        seeds = torch.arange(0, 90, 2)
        for options in cases:
            graphs = {t: garner.build(index, weights=weights[t], num_nodes=90, in_edges=True, keep_loops=True) for t, index in self.index.items()} \
                if "weighted" in options else self.graphs
            told = []
            for place in ("host", "simulated"):
                with self.subTest(device=place, **{k: v for k, v in options.items() if k not in ("times", "scores")}):
                    loader = garner.torch.loader(graphs, [4, 3], ("paper", seeds), x=self.x, y=self.y, batch_size=10, shuffle=True, seed=5, device=place, **options)
                    told.append(self.same_as_one_after_the_other(loader))
                    for batch in loader:
                        n_id, started = batch.n_id, {"paper": seeds[batch.input_id]}
                        for t in sizes:
                            self.assertTrue(torch.equal(batch.x[t], self.x[t][n_id[t]]))
                        if "temporal" in options:
                            own = torch.from_numpy(node_times["paper"])[started["paper"]]
                            self.assertEqual(batch.seed_time is None, "seed_times" not in options)
                            at = own if batch.seed_time is None else batch.seed_time
                            for kind, index in batch.edge_index.items():
                                of_edges = torch.from_numpy(edge_times[kind])[batch.e_id[kind]] if batch.e_id else None
                                rows = torch.from_numpy(node_times[kind[0]])[n_id[kind[0]][index[0]]]
                                if options["times"] is node_times:
                                    self.assertTrue(bool((rows <= at[batch.batch[kind[0]][index[0]]]).all()))
                                self.assertIsNone(of_edges)
                        elif "induced" in options:
                            self.assertEqual(batch.num_sampled_edges, dict.fromkeys(self.index, []))
                            self.assertEqual([len(e) for e in batch.edges], [3])
                            for kind, index in batch.edge_index.items():
                                here = {t: set(ids.tolist()) for t, ids in n_id.items()}
                                want = {(u, v) for u, v in self.edges[kind] if u in here[kind[0]] and v in here[kind[2]]}
                                self.assertEqual(set(zip(n_id[kind[0]][index[0]].tolist(), n_id[kind[2]][index[1]].tolist())), want)
                        else:
                            self.truthful(batch, dict.fromkeys(self.index, [4, 3]), started, "disjoint" in options, "replace" in options)
                        if "edge_ids" in options:
                            for kind, ids in batch.e_id.items():
                                pairs = n_id[kind[0]][batch.edge_index[kind][0]], n_id[kind[2]][batch.edge_index[kind][1]]
                                of = sorted(self.edges[kind], key=lambda edge: edge[::-1])  # in-edges, target after target
                                self.assertEqual(list(zip(*(end.tolist() for end in pairs))), [of[k] for k in ids.tolist()])
            self.assertEqual(*told)

    def test_times_of_edges(self):
        order = {t: sorted(edges, key=lambda edge: edge[::-1]) for t, edges in self.edges.items()}
        times = {writes: np.array([u + v for u, v in order[writes]]), cites: np.array([2 * abs(u - v) for u, v in order[cites]])}
        for batch in garner.torch.loader(self.graphs, [-1, -1], "paper", num_nodes=sizes, batch_size=10, temporal="uniform", times=times,
                                         seed_times=np.arange(90)):
            for kind, at in ((writes, lambda u, v: u + v), (cites, lambda u, v: 2 * abs(u - v))):
                row, col = batch.edge_index[kind]
                limit = batch.seed_time[batch.batch[kind[2]][col]].tolist()
                found = [at(u, v) for u, v in zip(batch.n_id[kind[0]][row].tolist(), batch.n_id[kind[2]][col].tolist())]
                self.assertTrue(all(a <= b for a, b in zip(found, limit)))
            begun = batch.edge_index[cites][1] < 10
            want = sum(2 * abs(u - v) <= int(batch.seed_time[k]) for k, v in enumerate(batch.input_id.tolist()) for u in self.neighbors(cites, v))
            self.assertEqual(int(begun[:batch.num_sampled_edges[cites][0]].sum()), want)

    def test_rows_of_edges(self):
        order = {t: sorted(edges, key=lambda edge: edge[::-1]) for t, edges in self.edges.items()}
        rows = {t: torch.tensor([[float(u), float(v)] + [0.0] * 18 for u, v in order[t]]) for t in (writes, cites)}
        for place in ("host", "simulated"):
            loader = garner.torch.loader(self.graphs, [4, 3], "paper", x=self.x, y=self.y, edge_attr=rows, batch_size=16, seed=3, device=place, feature_cache=4000)
            self.same_as_one_after_the_other(loader)
            for batch in loader:
                self.assertEqual(set(batch.edge_attr), {writes, cites})
                for t, found in batch.edge_attr.items():
                    ends = torch.stack([batch.n_id[t[0]][batch.edge_index[t][0]], batch.n_id[t[2]][batch.edge_index[t][1]]], 1)
                    self.assertTrue(torch.equal(found[:, :2].long(), ends))
                    self.assertTrue(torch.equal(found, rows[t][batch.e_id[t]]))
        for table in (rows[cites], rows[cites].t().contiguous().t()):  # ahead, and one after the other
            for batch in garner.torch.loader(self.graphs[cites], [4, 3], edge_label_index=self.index[cites], edge_attr=table, x=self.x["paper"], batch_size=60):
                self.assertTrue(torch.equal(batch.edge_attr[:, :2].long(), batch.n_id[batch.edge_index].t()))

    def test_state_and_ranks(self):
        self.goes_on(lambda: garner.torch.loader(self.graphs, [3, 2], "paper", x=self.x, batch_size=20, shuffle=True, seed=4))
        seen = []
        for rank in range(3):
            loader = garner.torch.loader(self.graphs, [3], "paper", x=self.x, batch_size=10, shuffle=True, rank=rank, ranks=3)
            seen += [v for batch in loader for v in batch.n_id["paper"][:batch.batch_size].tolist()]
            self.assertEqual(len(loader), 3)
        self.assertEqual(sorted(seen), list(range(90)))
        loader = garner.torch.loader(self.graphs, [3], "paper", x=self.x, y=self.y, device="simulated", feature_cache=90 * 160, graph_cache="1MiB")
        for words in ("samples and gathers on simulated", "x of 'paper'", "x of 'author'", "y of 'paper'"):
            self.assertIn(words, loader.explain())
        self.assertEqual(loader.report, {})

    def test_it_trains(self):
        x = {"author": torch.randn(60, 4), "paper": torch.randn(90, 4)}
        x["paper"][:, 0] += 3 * (self.y["paper"] % 2)
        weights = torch.nn.ModuleDict({"__".join(t): torch.nn.Linear(4, 2) for t in self.index})
        own = torch.nn.Linear(4, 2)
        optimizer, losses = torch.optim.Adam([*weights.parameters(), *own.parameters()], 0.05), []
        for _ in range(8):
            for batch in garner.torch.loader(self.graphs, [5], "paper", x=x, y={"paper": self.y["paper"] % 2}, batch_size=30, shuffle=True):
                out = own(batch.x["paper"])
                for kind, (row, col) in batch.edge_index.items():
                    if kind[2] == "paper":
                        out = out.index_add(0, col, weights["__".join(kind)](batch.x[kind[0]])[row] / 5)
                loss = torch.nn.functional.cross_entropy(out[:batch.batch_size], batch.y["paper"])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(float(loss.detach()))
        self.assertLess(losses[-1], losses[0] / 2)

    def test_sums_of_a_relation(self):
        batch = next(iter(garner.torch.loader(self.graphs, [-1], "paper", x=self.x, batch_size=5)))
        with self.assertRaisesRegex(garner.KindError, "of several types; give those of one relation"):
            garner.torch.aggregate(batch.x["author"], batch, hops=1)
        sums = garner.torch.aggregate(batch.x["author"], (*batch.edge_index[writes], len(batch.n_id["paper"])), "sum")
        for k in range(5):
            self.assertTrue(torch.allclose(sums[k], self.x["author"][sorted(self.neighbors(writes, k))].sum(0), atol=1e-5))

    @unittest.skipIf(NeighborLoader is None, "needs PyG (torch_geometric)")
    def test_beside_pyg(self):
        features, edges = FeatureStore(), GraphStore()
        for kind, graph in self.graphs.items():
            edges.put_graph(graph, kind, (sizes[kind[0]], sizes[kind[2]]))
        for t, rows in self.x.items():
            features.put_tensor(rows, group_name=t, attr_name="x", index=None)
        features.put_tensor(self.y["paper"], group_name="paper", attr_name="y", index=None)
        for mine, theirs in (({}, {}), ({"replace": True}, {"replace": True}), ({"disjoint": True}, {"disjoint": True}), ({"induced": True}, {"subgraph_type": "induced"})):
            found = []
            for loader in (garner.torch.loader(self.graphs, [4, 3], "paper", x=self.x, y=self.y, batch_size=16, edge_ids=True, **mine),
                           NeighborLoader((features, edges), [4, 3], "paper", batch_size=16, **theirs)):
                torch.manual_seed(9)
                found.append(list(loader))
            for a, b in zip(*found, strict=True):
                for t in sizes:
                    self.assertTrue(torch.equal(a.x[t], b[t].x) and torch.equal(a.n_id[t], b[t].n_id))
                    if "disjoint" in mine:
                        self.assertTrue(torch.equal(a.batch[t], b[t].batch))
                    if "induced" not in mine:
                        self.assertEqual(a.num_sampled_nodes[t], b[t].num_sampled_nodes)
                for t in self.index:
                    self.assertTrue(torch.equal(a.edge_index[t], b[t].edge_index) and torch.equal(a.e_id[t], b[t].e_id))
                self.assertTrue(torch.equal(a.y["paper"], b["paper"].y[:b["paper"].batch_size]) and torch.equal(a.input_id, b["paper"].input_id))

    def test_refusals(self):
        g, n, kind, usage = self.graphs, sizes, garner.KindError, garner.UsageError

        def loader(graphs=g, fanouts=[2], seeds="paper", **options):
            return garner.torch.loader(graphs, fanouts, seeds, **({"num_nodes": n} | options))

        for wrong, error, words in [
                (lambda: loader({}), usage, "give at least one relation"), (lambda: loader({"writes": g[writes]}), usage, "name each by its types"),
                (lambda: loader({writes: 3}), kind, "give a Graph"), (lambda: loader(num_nodes=None), usage, "how many nodes of type 'author'"),
                (lambda: loader(num_nodes={"author": 60, "paper": 91}), usage, "num_nodes=91"),
                (lambda: loader(num_nodes={"author": 50, "paper": 90}), garner.InputError, "writes.*leads to a vertex beyond the 50"),
                (lambda: loader(num_nodes=90), kind, "num_nodes is 90"), (lambda: loader(seeds=None), usage, "give one of them, as"),
                (lambda: loader(seeds="venue"), usage, "no nodes of type 'venue'"), (lambda: loader(seeds=("paper", [90])), garner.IdError, "90 nodes of type 'paper'"),
                (lambda: loader(seeds=("paper", [])), usage, "seeds: the list is empty"), (lambda: loader(seeds=[1, 2]), usage, "several types"),
                (lambda: loader(x=self.x["paper"]), kind, "x is a Tensor.*give a dict"), (lambda: loader(x={"venue": self.x["paper"]}), usage, "no nodes of type 'venue'"),
                (lambda: loader(x={"paper": self.x["author"]}), usage, "x of 'paper': 60 rows for 90 nodes"),
                (lambda: loader(y={"author": torch.arange(60)}), usage, "none is of type 'author'"), (lambda: loader(side="out"), usage, "side: "),
                (lambda: loader(fanouts={writes: [2]}), usage, "give each relation a list"),
                (lambda: loader(fanouts={writes: [2], cites: [2, 2], back: [2]}), usage, "hops"), (lambda: loader(fanouts=3), kind, "fanouts is 3"),
                (lambda: loader(weighted=True), garner.InputError, "writes.*weights"), (lambda: loader(temporal="last"), garner.InputError, "times"),
                (lambda: loader(temporal="last", times=np.arange(90)), kind, "times for each type"),
                (lambda: loader(temporal="last", times={"paper": np.arange(90), cites: np.arange(g[cites].info.num_edges)}), usage, "one of the two"),
                (lambda: loader(temporal="last", times={cites: np.arange(3)}, seed_times=np.arange(90)), usage, "3 times for"),
                (lambda: loader(temporal="last", times={"author": np.arange(60)}), usage, "seeds of type 'paper' have no times; give seed_times"),
                (lambda: loader(seed_times=np.arange(90)), usage, "temporal is not"), (lambda: loader(scores=np.arange(90)), kind, "scores is"),
                (lambda: loader(scores={"paper": np.arange(9)}), usage, "scores of 'paper'"), (lambda: loader(workers=3), TypeError, "no keyword 'workers'; help"),
                (lambda: loader(disjoint=True, induced=True), usage, "induced|disjoint"), (lambda: loader(loading={"batch": 3}), usage, "no option 'batch'"),
                (lambda: loader(edge_attr=torch.ones(3)), kind, "edge_attr is"), (lambda: loader(edge_attr={("a", "b", "c"): torch.ones(3)}), usage, "no relation"),
                (lambda: loader(edge_attr={cites: torch.ones(3)}), usage, "3 rows for"),
                (lambda: garner.torch.loader(g[cites], [2], edge_attr=torch.ones(3)), usage, "3 rows for"),
                (lambda: garner.torch.loader(garner.torch.remote_graph(g[cites]), [2], edge_attr=torch.ones(900)), usage, "split by vertices"),
                (lambda: garner.torch.loader(g[cites], [2], edge_attr=garner.torch.remote_rows(torch.ones(900, 2))), usage, "rows of other ranks"),
                (lambda: garner.torch.loader(g[cites], [2], num_nodes=n), usage, "num_nodes: a graph of one type"),
                (lambda: loader({cites: garner.build([5, 9], [9, 7], numbering="compact")}), usage, "gaps"),
                (lambda: loader(x={"paper": garner.torch.remote_rows(self.x["paper"])}), usage, "rows of other ranks")]:
            with self.subTest(words=words), self.assertRaisesRegex(error, words) as said:
                wrong()
            self.assertNotIn("\n", str(said.exception))


@unittest.skipIf(torch is None, "needs torch")
class Links(Case):
    def linked(self, negatives=None, label=True, **options):
        """Loaders of links: of one type, between two, and between two of one type among several."""
        torch.manual_seed(5)
        given = {kind: edges_between(sizes[kind[0]], sizes[kind[2]], 50) for kind in (writes, cites)}
        labels = torch.arange(50) % 3 + 1 if label and not (negatives and "triplet" in str(negatives)) else None
        times = options.pop("times", {})
        for kind, graphs in ((None, self.graphs[cites]), (writes, self.graphs), (cites, self.graphs)):
            x = self.x["paper"] if kind is None else self.x
            pairs = given[kind or cites]
            more = {} if not times else {"times": times["paper"] if kind is None else times}
            yield kind, pairs, labels, garner.torch.loader(graphs, [4, 3], edge_label_index=pairs if kind is None else (kind, pairs), edge_label=labels,
                                                           neg_sampling=negatives, x=x, y=self.y["paper"] if kind is None else {"paper": self.y["paper"]},
                                                           batch_size=20, seed=5, **options, **more)

    def test_what_comes(self):
        times = {"author": np.arange(60) % 30, "paper": np.arange(90) % 40}
        when = np.arange(50) % 45 + 1
        every_option = [{}, {"disjoint": True}, {"temporal": "last", "times": times, "seed_times": when}, {"temporal": "uniform", "times": times, "seed_times": when},
                        {"replace": True, "shuffle": True}, {"induced": True}, {"drop_last": True, "edge_ids": True, "feature_cache": 2000}]
        for k, negatives in enumerate((None, "binary", 0.5, ("binary", 2), "triplet", {"mode": "triplet", "amount": 3})):
            for j, options in enumerate(every_option):
                place = ("host", "simulated")[(k + j) % 2]
                for kind, pairs, labels, loader in self.linked(negatives, device=place, **options):
                    with self.subTest(kind=kind, negatives=negatives, device=place, options=list(options)):
                        self.same_as_one_after_the_other(loader, 1)
                        self.assertEqual(len(loader), 2 if "drop_last" in options else 3)
                        for batch in loader:
                            self.follows(batch, kind, pairs, labels, negatives, when, times, options)

    def follows(self, batch, kind, pairs, labels, negatives, when, times, options):
        count, trees = batch.input_id.numel(), "disjoint" in options or "temporal" in options
        ends = ("paper", "paper") if kind is None else (kind[0], kind[2])
        n_id, x, y, tree = ([value] * 2 if kind is None or value is None else [value.get(end) for end in ends] for value in (batch.n_id, batch.x, batch.y, batch.batch))
        first = batch.num_sampled_nodes if kind is None else batch.num_sampled_nodes[ends[1]]
        self.assertEqual(batch.batch_size, count)
        for k, end in enumerate(ends):
            self.assertTrue(torch.equal(x[k], self.x[end][n_id[k]]))
        self.assertTrue(torch.equal(y[1], self.y["paper"][n_id[1][:first[0]]]))
        want = pairs[:, batch.input_id]
        triplets, amount = "triplet" in str(negatives), {"binary": 1, "triplet": 1, 0.5: 0.5, None: 0}.get(negatives if not isinstance(negatives, (dict, tuple)) else "", 0)
        amount = amount or (0 if negatives is None else negatives["amount"] if isinstance(negatives, dict) else negatives[1])
        if triplets:
            self.assertEqual((batch.edge_label_index, batch.edge_label), (None, None))
            self.assertEqual(batch.dst_neg_index.shape, (count,) if amount == 1 else (count, amount))
            got, wrong = torch.stack([n_id[0][batch.src_index], n_id[1][batch.dst_pos_index]]), batch.dst_neg_index.view(count, -1)
            if trees:
                for index, which in ((batch.src_index, tree[0]), (batch.dst_pos_index, tree[1])):
                    self.assertEqual(which[index].tolist(), list(range(count)))
                self.assertTrue(torch.equal(tree[1][wrong], torch.arange(count).view(-1, 1).expand_as(wrong)))
            late = n_id[1][wrong]
            of = batch.seed_time if batch.seed_time is None else batch.seed_time.view(-1, 1).expand_as(wrong)
            checked = [(late, ends[1], of)]
        else:
            negative = int(-(-count * amount // 1))
            self.assertEqual(batch.edge_label_index.shape, (2, count + negative))
            got = torch.stack([n_id[k][batch.edge_label_index[k]] for k in (0, 1)])
            if labels is not None or negatives is not None:
                self.assertEqual(batch.edge_label.tolist(), (torch.ones(count) if labels is None else labels[batch.input_id]).tolist() + [0] * negative)
            if trees:
                for k in (0, 1):
                    self.assertEqual(tree[k][batch.edge_label_index[k]].tolist(), [j % count for j in range(count + negative)])
            checked = [(got[k][count:], ends[k], None if batch.seed_time is None else batch.seed_time[count:]) for k in (0, 1)]
            got = got[:, :count]
        self.assertTrue(torch.equal(got, want))
        self.assertEqual(batch.seed_time is None, "seed_times" not in options)
        if batch.seed_time is not None:
            self.assertEqual(batch.seed_time[:count].tolist(), when[batch.input_id].tolist())
            for nodes, end, at in checked:  # the earliest nodes are of time 0, links begin at 1
                self.assertTrue(bool((torch.from_numpy(times[end])[nodes] <= at).all()))
            index = batch.edge_index if kind is None else batch.edge_index[cites]
            all_n, all_t = (batch.n_id, batch.batch) if kind is None else (batch.n_id["paper"], batch.batch["paper"])
            self.assertTrue(bool((torch.from_numpy(times["paper"])[all_n[index[0]]] <= batch.seed_time[all_t[index[0]]]).all()))
        for of, index in ((cites, batch.edge_index),) if kind is None else batch.edge_index.items():
            nodes = (batch.n_id, batch.n_id) if kind is None else (batch.n_id[of[0]], batch.n_id[of[2]])
            self.assertTrue(set(zip(nodes[0][index[0]].tolist(), nodes[1][index[1]].tolist())) <= self.edges[of])

    def test_labels(self):
        for label, want in ((None, [1.0] * 4 + [0.0] * 4), (torch.tensor([0, 1, 1, 0]), [1, 2, 2, 1] + [0] * 4), (torch.tensor([3.5, 1, 2, 2]), [3.5, 1, 2, 2] + [0] * 4),
                            (np.array([[1, 2], [3, 4], [5, 6], [7, 8]]), [[1, 2], [3, 4], [5, 6], [7, 8]] + [[0, 0]] * 4)):
            batch = next(iter(garner.torch.loader(self.graphs[cites], [2], edge_label_index=self.index[cites][:, :4], edge_label=label, neg_sampling="binary")))
            self.assertEqual(batch.edge_label.tolist(), want)
        batch = next(iter(garner.torch.loader(self.graphs[cites], [2], edge_label_index=self.index[cites][:, :4].tolist(), edge_label=[0, 1, 1, 0])))
        self.assertEqual((batch.edge_label.tolist(), batch.edge_label_index.shape), ([0, 1, 1, 0], (2, 4)))

    def test_negatives(self):
        """A function of the number, by weight where there are weights, and torch's generator is as it was."""
        def epoch(seed=5, **options):
            loader = garner.torch.loader(self.graphs, [2], edge_label_index=(writes, self.index[writes]), num_nodes=sizes, batch_size=50, seed=seed, **options)
            return [content(b) for b in loader]

        torch.manual_seed(1)
        before = torch.get_rng_state()
        first = epoch(neg_sampling="binary")
        self.assertTrue(torch.equal(torch.get_rng_state(), before))
        torch.manual_seed(2)
        self.assertEqual(epoch(neg_sampling="binary"), first)
        self.assertNotEqual(epoch(6, neg_sampling="binary"), first)
        weight = torch.zeros(90)
        weight[[3, 80, 89]] = torch.tensor([1.0, 2.0, 1.0])
        found = []
        for batch in garner.torch.loader(self.graphs, [2], edge_label_index=(writes, self.index[writes]), num_nodes=sizes, batch_size=50,
                                         neg_sampling={"mode": "triplet", "amount": 40, "dst_weight": weight}):
            found += batch.n_id["paper"][batch.dst_neg_index].flatten().tolist()
        counts = torch.bincount(torch.tensor(found), minlength=90)
        self.assertEqual(counts.nonzero().flatten().tolist(), [3, 80, 89])
        self.assertAlmostEqual(float(counts[80] / counts.sum()), 0.5, delta=0.02)

    def test_state_and_ranks(self):
        for negatives in ("binary", "triplet"):
            self.goes_on(lambda: garner.torch.loader(self.graphs, [3, 2], edge_label_index=(writes, self.index[writes]), neg_sampling=negatives, x=self.x, batch_size=60,
                                                     shuffle=True, seed=4))
        seen = []
        for rank in range(3):
            loader = garner.torch.loader(self.graphs[cites], [3], edge_label_index=self.index[cites], batch_size=25, shuffle=True, rank=rank, ranks=3)
            seen += [k for batch in loader for k in batch.input_id.tolist()]
        self.assertEqual(sorted(set(seen)), list(range(500)))
        self.assertEqual(len(seen), 501)

    def test_rows_of_other_ranks(self):
        x = garner.torch.remote_rows(self.x["paper"])
        loaders = [garner.torch.loader(self.graphs[cites], [3, 2], edge_label_index=self.index[cites], neg_sampling="binary", x=rows, y=self.y["paper"], batch_size=60, seed=4)
                   for rows in (self.x["paper"], x)]
        self.assertEqual(*([content(b) for b in loader] for loader in loaders))

    @unittest.skipIf(NeighborLoader is None, "needs PyG (torch_geometric)")
    def test_beside_pyg(self):
        features, edges = FeatureStore(), GraphStore()
        for kind, graph in self.graphs.items():
            edges.put_graph(graph, kind, (sizes[kind[0]], sizes[kind[2]]))
        times = {"author": torch.arange(60) % 30, "paper": torch.arange(90) % 40}
        for t, rows in self.x.items():
            features.put_tensor(rows, group_name=t, attr_name="x", index=None)
            features.put_tensor(times[t], group_name=t, attr_name="time", index=None)
        one, one_edges = FeatureStore(), GraphStore()
        one_edges.put_graph(self.graphs[cites])
        one.put_tensor(self.x["paper"], group_name=None, attr_name="x", index=None)
        one.put_tensor(times["paper"], group_name=None, attr_name="time", index=None)
        when = torch.arange(50) % 45 + 1
        for negatives in (None, "binary", 2, "triplet", ("triplet", 3)):
            theirs = NegativeSampling("binary", negatives) if negatives == 2 else NegativeSampling(*negatives) if isinstance(negatives, tuple) else negatives
            for mine, options in (({}, {}), ({"disjoint": True}, {"disjoint": True}), ({"temporal": "uniform", "times": times, "seed_times": when},
                                                                                     {"time_attr": "time", "edge_label_time": when})):
                for kind, pairs, labels, loader in self.linked(negatives, edge_ids=True, **mine):
                    loader.seed = None
                    other = LinkNeighborLoader((one, one_edges) if kind is None else (features, edges), [4, 3], pairs if kind is None else (kind, pairs), labels,
                                               neg_sampling=theirs, batch_size=20, **options)
                    with self.subTest(kind=kind, negatives=negatives, options=list(options)):
                        found = [(torch.manual_seed(9), list(of))[1] for of in (loader, other)]
                        for a, b in zip(*found, strict=True):
                            link = b if kind is None else b[kind]
                            ends = [b, b] if kind is None else [b[kind[0]], b[kind[2]]]
                            want = {"input_id": link.input_id, **({"edge_label_index": link.edge_label_index, "edge_label": link.edge_label} if theirs is None or theirs == "binary" or negatives == 2
                                    else {"src_index": ends[0].src_index, "dst_pos_index": ends[1].dst_pos_index, "dst_neg_index": ends[1].dst_neg_index})}
                            want["seed_time"] = link.get("edge_label_time") if "edge_label_index" in want else ends[0].get("seed_time")
                            for name, value in want.items():
                                got = getattr(a, name)
                                self.assertTrue(got is value is None or torch.equal(got, value), name)
                            for t, store in ((None, b),) if kind is None else [(t, b[t]) for t in sizes]:
                                of = (lambda v: v) if t is None else (lambda v: v[t])
                                self.assertTrue(torch.equal(of(a.n_id), store.n_id) and torch.equal(of(a.x), store.x))
                                self.assertTrue(not mine or torch.equal(of(a.batch), store.batch))
                                self.assertEqual(of(a.num_sampled_nodes), store.num_sampled_nodes)
                            for t, store in ((None, b),) if kind is None else [(t, b[t]) for t in self.index]:
                                of = (lambda v: v) if t is None else (lambda v: v[t])
                                self.assertTrue(torch.equal(of(a.edge_index), store.edge_index) and torch.equal(of(a.e_id), store.e_id))

    def test_refusals(self):
        g, pairs, usage = self.graphs[cites], self.index[cites], garner.UsageError

        def loader(graph=g, fanouts=[2], **options):
            return garner.torch.loader(graph, fanouts, **({"edge_label_index": pairs} | options))

        def several(given, **options):
            return garner.torch.loader(self.graphs, [2], edge_label_index=given, **({"x": self.x} | options))

        for wrong, error, words in [
                (lambda: loader(seeds=[1]), usage, "one of the two"), (lambda: loader(edge_label_index=pairs.T), usage, "transpose"),
                (lambda: loader(edge_label_index=pairs + 50), garner.IdError, "edge_label_index.0.: .* 90 nodes"), (lambda: loader(edge_label_index=pairs[:, :0]), usage, "edge_label_index: the list is empty"),
                (lambda: loader(edge_label_index=pairs.float()), usage, "whole numbers"), (lambda: loader(edge_label=[1, 2]), usage, "2 for 500 links"),
                (lambda: loader(edge_label_index=None, edge_label=[1, 2]), usage, "edge_label is set and edge_label_index is not"), (lambda: loader(edge_label_index=None, neg_sampling=1), usage, "neg_sampling is set and edge_label_index is not"),
                (lambda: loader(neg_sampling="both"), usage, "use 'binary' or 'triplet'"), (lambda: loader(neg_sampling=0), usage, "amount is 0"),
                (lambda: loader(neg_sampling=float("nan")), usage, "amount is nan"), (lambda: loader(neg_sampling=("triplet", 1.5)), usage, "whole number, 1 or more"),
                (lambda: loader(neg_sampling=("triplet", "a")), usage, "amount is 'a'"), (lambda: loader(neg_sampling=[1, 2, 3]), usage, "neg_sampling is"),
                (lambda: loader(neg_sampling={"strategy": "binary"}), usage, "neg_sampling is"), (lambda: loader(neg_sampling=True), usage, "neg_sampling is True"),
                (lambda: loader(neg_sampling={"mode": "binary", "src_weight": torch.ones(7)}), usage, r"src_weight: of shape \(7,\) for 90 nodes"),
                (lambda: loader(neg_sampling={"mode": "binary", "dst_weight": -torch.ones(90)}), usage, "dst_weight has a weight that is negative"),
                *((lambda weight=weight: loader(neg_sampling=NegativeSampling("triplet", 1, dst_weight=weight)), usage, "dst_weight has a weight that is negative")
                  for weight in (-torch.ones(90), torch.full((90,), float("inf")), torch.zeros(90)) if NeighborLoader is not None),
                (lambda: loader(neg_sampling="triplet", edge_label=torch.ones(500)), usage, "triplets have no labels"),
                (lambda: loader(temporal="last", times=np.arange(90)), usage, "links have no times; give seed_times"),
                (lambda: loader(temporal="last", times=np.arange(90), seed_times=[1]), usage, "1 times for 500 links"),
                (lambda: loader(seed_times=np.arange(500)), usage, "temporal is not"),
                (lambda: loader(garner.torch.remote_graph(g)), usage, "links are not sampled over a graph that is split"),
                (lambda: several(pairs), usage, "give one with its pairs"), (lambda: several(writes), usage, "give one with its pairs"),
                (lambda: several((("venue", "of", "paper"), pairs)), usage, "no nodes of type 'venue'"),
                (lambda: several((writes, pairs)), garner.IdError, "edge_label_index.0.: .*60 nodes of type 'author'"),
                (lambda: several((cites, pairs), y={"author": torch.ones(60)}), usage, "none is of type 'author'")]:
            with self.subTest(words=words), self.assertRaisesRegex(error, words) as said:
                wrong()
            self.assertNotIn("\n", str(said.exception))


if __name__ == "__main__":
    unittest.main()
