"""garner.pyg's RandomNodeLoader, clusters, ShaDow, HGT and random walks, against PyG's own classes where these run without compiled packages, else against
brute force; and LABOR in the loaders."""
import collections
import pickle
import tempfile
import unittest
import warnings

import numpy as np

import garner
from pyg_data import Case, Data, HeteroData, torch

if torch is not None:
    import torch_geometric.loader
    from garner.pyg import (ClusterData, ClusterLoader, HGTLoader, LinkNeighborLoader, NeighborLoader, NeighborSampler, Node2Vec, RandomNodeLoader,
                            ShaDowKHopSampler, random_walk)

places = ("cpu", "simulated")


def homogeneous(nodes=120, edges=700):
    edge_index = torch.randint(nodes, (2, edges))
    edge_index[1, :100] = 7  # a hub
    return Data(x=torch.randn(nodes, 3), edge_index=edge_index, edge_attr=torch.arange(edges), y=torch.arange(nodes), name="one")


def bibliography():
    data = HeteroData()
    data["paper"].x, data["author"].x, data["venue"].x = torch.arange(100), torch.arange(60), torch.arange(5)
    for kind, edges in ((("paper", "cites", "paper"), 500), (("author", "writes", "paper"), 300), (("paper", "by", "author"), 300),
                        (("paper", "in", "venue"), 100)):
        ends = torch.stack([torch.randint(data[kind[0]].num_nodes, (edges,)), torch.randint(data[kind[2]].num_nodes, (edges,))])
        data[kind].edge_index, data[kind].edge_attr = ends, torch.arange(edges)
    return data


def edges_of(ids, part, ends=None):
    """(source, target, attribute) of each edge, by the data's nodes."""
    target = ids if ends is None else ends
    return sorted(zip(ids[part.edge_index[0]].tolist(), target[part.edge_index[1]].tolist(), part.edge_attr.tolist()))


class Samplers(Case):
    # --- random nodes ---
    def test_random_nodes_are_pygs(self):
        data = homogeneous()
        theirs = list(torch_geometric.loader.RandomNodeLoader(data, num_parts=7))
        for device in places:
            mine = list(RandomNodeLoader(data, num_parts=7, device=device))
            self.assertEqual(len(mine), len(theirs))
            for a, b in zip(mine, theirs):
                self.assertTrue(torch.equal(a.x, b.x) and torch.equal(a.y, b.y))
                self.assertTrue(torch.equal(a.edge_index, b.edge_index) and torch.equal(a.edge_attr, b.edge_attr))
                self.assertTrue(torch.equal(data.edge_index[:, a.edge_attr], a.y[a.edge_index]))
                self.assertEqual(sorted(a.keys()), sorted(b.keys()))
                self.assertEqual((a.name, a.num_nodes), (b.name, b.num_nodes))

    def test_random_nodes_of_several_types_are_pygs(self):
        data = bibliography()
        theirs = list(torch_geometric.loader.RandomNodeLoader(data, num_parts=4))
        for device in places:
            for a, b in zip(RandomNodeLoader(data, 4, device=device), theirs, strict=True):
                self.assertEqual([sorted(store.keys()) for store in a.stores], [sorted(store.keys()) for store in b.stores])
                for t in data.node_types:
                    self.assertEqual(a[t].x.tolist(), b[t].x.tolist())
                for t in data.edge_types:
                    self.assertTrue(torch.equal(a[t].edge_index, b[t].edge_index) and torch.equal(a[t].edge_attr, b[t].edge_attr))

    def test_an_epoch_of_random_nodes(self):
        data = homogeneous()
        loader = RandomNodeLoader(data, 7, shuffle=True)
        torch.manual_seed(5)
        first = [batch.y.tolist() for batch in loader]
        self.assertEqual(sorted(sum(first, [])), list(range(120)))
        self.assertNotEqual(first, [batch.y.tolist() for batch in loader])
        torch.manual_seed(5)
        with_workers = RandomNodeLoader(data, 7, shuffle=True, num_workers=2, device="cpu")
        self.assertEqual([batch.y.tolist() for batch in with_workers], first)
        torch.manual_seed(5)
        some = iter(loader)
        for _ in range(3):
            next(some)
        state = loader.state_dict()
        loader.load_state_dict(state)
        self.assertEqual([batch.y.tolist() for batch in loader], first[3:])
        table = Data(x=garner.tiered(data.x.numpy(), device="simulated", feature_cache=400), edge_index=data.edge_index, y=data.y)
        for batch in RandomNodeLoader(table, 3, shuffle=True, device="simulated"):
            self.assertTrue(torch.equal(batch.x, data.x[batch.y]))

    # --- clusters ---
    def test_clusters_are_pygs(self):
        data, cluster = homogeneous(), torch.randint(9, (120,))

        class Theirs(torch_geometric.loader.ClusterData):
            def _metis(self, edge_index, num_nodes):
                return cluster

        for keep in (False, True):
            for sparse_format in ("csr", "csc"):
                how = dict(keep_inter_cluster_edges=keep, sparse_format=sparse_format)
                theirs, mine = Theirs(data, 9, log=False, **how), ClusterData(data, 9, cluster=cluster, **how)
                self.assertEqual((len(mine), repr(mine)), (9, "ClusterData(9)"))
                for k in range(9):
                    a, b = mine[k], theirs[k]
                    self.assertTrue(all(torch.equal(a[name], b[name]) for name in ("x", "y", "edge_index", "edge_attr")))
                parts = [8, 2, 3, 5, 0, 1, 7, 6, 4]
                want = list(torch_geometric.loader.ClusterLoader(theirs, batch_size=4, sampler=parts))
                for device in places:
                    for a, b in zip(ClusterLoader(mine, batch_size=4, sampler=parts, device=device), want, strict=True):
                        self.assertTrue(torch.equal(a.y, b.y) and torch.equal(a.x, b.x))
                        self.assertEqual(edges_of(a.y, a), edges_of(b.y, b))
                        self.assertTrue(torch.equal(a.edge_index, b.edge_index))
                        self.assertEqual(sorted(a.keys()), sorted(b.keys()))
        shuffled = [batch.y.tolist() for batch in ClusterLoader(mine, batch_size=2, shuffle=True)]
        self.assertEqual(sorted(sum(shuffled, [])), list(range(120)))

    def test_parts_without_metis_have_few_edges_between_them(self):
        block, inside = torch.arange(400) // 50, torch.randint(400, (6000,))
        other = block[inside] * 50 + torch.randint(50, (6000,))
        far = torch.randint(400, (2, 300))
        names = torch.randperm(400)
        edge_index = names[torch.cat([torch.stack([inside, other]), far], dim=1)]
        data = Data(edge_index=edge_index, num_nodes=410)  # some without edges

        class Grown(ClusterData):
            def _metis(self, edge_index, num_nodes):
                raise ImportError("none here")

        with tempfile.TemporaryDirectory() as folder:
            made = Grown(data, 8, save_dir=folder)
            sizes = made.partptr[1:] - made.partptr[:-1]
            self.assertEqual(int(sizes.sum()), 410)
            self.assertLessEqual(int(sizes.max()), 52)
            part = torch.empty(410, dtype=torch.int64)
            part[made.node_perm] = torch.repeat_interleave(torch.arange(8), sizes)
            cut = (part[edge_index[0]] != part[edge_index[1]]).float().mean()
            self.assertLess(float(cut), 0.6)  # of random parts it is 0.875
            again = Grown(data, 8, save_dir=folder, cluster=None)
            self.assertTrue(torch.equal(again.node_perm, made.node_perm) and torch.equal(again[3].edge_index, made[3].edge_index))
            with self.assertRaisesRegex(garner.InputError, "cluster.pt: 410 parts up to 7 for 120 nodes"):
                ClusterData(homogeneous(), 8, save_dir=folder)
        self.assertEqual(len(Grown(Data(edge_index=edge_index[:, :2], num_nodes=410), 500)), 500)  # more parts than nodes

    # --- ShaDow ---
    def shadow(self, data, depth, seeds):
        """For each seed its nodes (ascending) and edges (source, target, attribute), by source and target, where every neighbor is taken."""
        row, col = data.edge_index.tolist()
        for seed in seeds:
            nodes = {seed}
            for _ in range(depth):
                nodes |= {u for u, v in zip(row, col) if v in nodes}
            yield sorted(nodes), sorted((u, v, e) for e, (u, v) in enumerate(zip(row, col)) if u in nodes and v in nodes)

    def test_shadow_of_all_neighbors_is_brute_force(self):
        data = homogeneous(120, 300)
        seeds = [3, 7, 7, 50, 119, 0]
        for device in places:
            for depth in (1, 2, 3):
                got = list(ShaDowKHopSampler(data, depth, 1000, torch.tensor(seeds), batch_size=4, device=device))
                self.assertEqual([batch.num_graphs for batch in got], [4, 2])
                want = list(self.shadow(data, depth, seeds))
                for batch, some in zip(got, (want[:4], want[4:])):
                    at = [0]
                    for nodes, _ in some:
                        at.append(at[-1] + len(nodes))
                    self.assertEqual(batch.ptr.tolist(), at)
                    n_id = torch.tensor(sum((nodes for nodes, _ in some), []))
                    self.assertEqual(batch.batch.tolist(), sum(([k] * len(nodes) for k, (nodes, _) in enumerate(some)), []))
                    self.assertTrue(torch.equal(batch.x, data.x[n_id]))
                    ends = torch.stack([n_id[batch.edge_index[0]], n_id[batch.edge_index[1]]])
                    tree = batch.batch[batch.edge_index]
                    self.assertTrue(torch.equal(tree[0], tree[1]))
                    for k, (_, edges) in enumerate(some):
                        mine = tree[0] == k
                        self.assertEqual(list(zip(*ends[:, mine].tolist(), batch.edge_attr[mine].tolist())), edges)
                    self.assertEqual(batch.name, "one")
                self.assertEqual(sum((batch.y.tolist() for batch in got), []), seeds)
                self.assertEqual(sum((data.x[batch.y].tolist() for batch in got), []), sum((batch.x[batch.root_n_id].tolist() for batch in got), []))

    def test_shadow_of_some_neighbors(self):
        data = homogeneous(120, 2000)
        pairs = collections.Counter(zip(*data.edge_index.tolist()))
        mask = torch.arange(120) % 3 == 0
        for replace in (False, True):
            loader = ShaDowKHopSampler(data, 2, 4, mask, replace=replace, batch_size=16, shuffle=True)
            seen = []
            for batch in loader:
                seen += batch.y.tolist()
                for k in range(batch.num_graphs):
                    n_id = [int((data.x == x).all(1).nonzero()) for x in batch.x[batch.ptr[k]:batch.ptr[k + 1]]]
                    self.assertLessEqual(len(n_id), 1 + 4 + 16)
                    self.assertEqual(n_id, sorted(set(n_id)))
                    inside = batch.batch[batch.edge_index[0]] == k
                    found = collections.Counter((n_id[u], n_id[v]) for u, v in (batch.edge_index[:, inside] - batch.ptr[k]).t().tolist())
                    self.assertEqual(found, collections.Counter({(u, v): pairs[u, v] for u in n_id for v in n_id if pairs[u, v]}))
            self.assertEqual(sorted(seen), mask.nonzero().flatten().tolist())
        workers = ShaDowKHopSampler(data, 2, 4, mask, batch_size=16, num_workers=2, device="cpu")
        torch.manual_seed(4)
        a = [batch.edge_index.tolist() for batch in workers]
        torch.manual_seed(4)
        self.assertEqual(a, [batch.edge_index.tolist() for batch in ShaDowKHopSampler(data, 2, 4, mask, batch_size=16)])
        nothing = ShaDowKHopSampler(Data(x=data.x, edge_index=data.edge_index[:, :0]), 2, 4, batch_size=50)
        self.assertEqual([batch.num_nodes for batch in nothing], [50, 50, 20])

    # --- HGT ---
    def test_hgt_has_all_edges_among_its_nodes(self):
        data = bibliography()
        train = torch.arange(0, 100, 3)
        for device in places:
            loader = HGTLoader(data, {"paper": [6, 4], "author": [5, 0], "venue": [2, 2]}, ("paper", train), batch_size=8, device=device)
            self.assertEqual(len(loader), 5)
            seen = []
            for batch in loader:
                size = batch["paper"].batch_size
                seen += batch["paper"].n_id[:size].tolist()
                self.assertEqual(batch["paper"].input_id.tolist(), [train.tolist().index(k) for k in batch["paper"].n_id[:size].tolist()])
                self.assertLessEqual(batch["paper"].num_nodes, size + 10)
                self.assertEqual((batch["author"].num_nodes, batch["venue"].num_nodes), (5, 0))  # nobody leads from a venue
                for t in data.node_types:
                    ids = batch[t].n_id
                    self.assertEqual(len(set(ids.tolist())), ids.numel())
                    self.assertTrue(torch.equal(batch[t].x, data[t].x[ids]))
                for t in data.edge_types:
                    source, target = batch[t[0]].n_id, batch[t[2]].n_id
                    among = torch.isin(data[t].edge_index[0], source) & torch.isin(data[t].edge_index[1], target)
                    want = sorted(zip(*data[t].edge_index[:, among].tolist(), among.nonzero().flatten().tolist()))
                    self.assertEqual(edges_of(source, batch[t], target), want)
            self.assertEqual(seen, train.tolist())
        self.assertIn("ahead of the caller", loader.explain())

    def test_hgt_takes_all_that_is_reached_where_it_may(self):
        data = bibliography()
        batch = next(iter(HGTLoader(data, [1000] * 2, ("paper", torch.tensor([4, 9])), batch_size=2)))
        papers, authors = {4, 9}, set()
        for _ in range(2):
            cites, writes, by = (data[t].edge_index.t().tolist() for t in data.edge_types[:3])
            more = {u for u, v in cites if v in papers} | {u for u, v in by if v in authors}
            authors |= {u for u, v in writes if v in papers}
            papers |= more
        self.assertEqual(set(batch["paper"].n_id.tolist()), papers)
        self.assertEqual(set(batch["author"].n_id.tolist()), authors)

    def test_hgt_samples_by_the_squares_of_budgets(self):
        data = HeteroData()
        data["a"].x, data["b"].x = torch.arange(3), torch.arange(4)
        # Budgets of b: 0: 1/4 + 1, 1: 1/4, 2: 1/4, 3: 1/4 + 1/2; one edge of the third a is twice there
        data["b", "to", "a"].edge_index = torch.tensor([[0, 1, 2, 3, 0, 3, 0], [0, 0, 0, 0, 1, 2, 2]])
        budget = torch.tensor([1 / 4 + 1 + 1 / 2, 1 / 4, 1 / 4, 1 / 4 + 1 / 2])
        loader = HGTLoader(data, {"b": [1]}, ("a", torch.arange(3).repeat(3000)), batch_size=3)
        counts = torch.zeros(4)
        for batch in loader:
            counts[batch["b"].n_id] += 1
        expected = 3000 * budget ** 2 / (budget ** 2).sum()
        self.assertLess(float(((counts - expected) ** 2 / expected).sum()), 3 + 4 * 6 ** 0.5)

    def test_an_epoch_of_hgt(self):
        data = bibliography()

        def made(**how):
            return HGTLoader(data, [4, 4], "paper", batch_size=20, shuffle=True, **how,
                             transform=lambda batch: (batch["paper"].n_id.tolist(), batch["author"].n_id.tolist()))

        torch.manual_seed(1)
        want = list(made())
        for how in (dict(device="simulated"), dict(device="cpu", num_workers=2), dict(filter_per_worker=True)):
            torch.manual_seed(1)
            self.assertEqual(list(made(**how)), want)
        self.assertNotEqual(list(made()), want)

    # --- walks ---
    def test_walks(self):
        data = homogeneous()
        row, col = data.edge_index
        start = torch.arange(120).repeat(2)
        order = np.lexsort((col.numpy(), row.numpy()))
        source, target = row[order], col[order]
        for p, q in ((1, 1), (0.5, 2)):
            walks, edges = random_walk(row, col, start, 9, p, q, return_edge_indices=True)
            self.assertEqual((walks.shape, edges.shape), ((240, 10), (240, 9)))
            self.assertTrue(torch.equal(walks[:, 0], start))
            stays = edges < 0
            self.assertTrue(torch.equal(walks[:, 1:][stays], walks[:, :-1][stays]))
            self.assertFalse(torch.isin(walks[:, :-1][stays], row).any())
            self.assertTrue(torch.equal(source[edges[~stays]], walks[:, :-1][~stays]))
            self.assertTrue(torch.equal(target[edges[~stays]], walks[:, 1:][~stays]))
        self.assertFalse(torch.equal(walks[:120], walks[120:]))
        torch.manual_seed(3)
        a = random_walk(row, col, start, 5)
        torch.manual_seed(3)
        self.assertTrue(torch.equal(a, random_walk(source, target, start, 5, coalesced=False)))
        self.assertFalse(torch.equal(a, random_walk(row, col, start, 5)))
        with self.assertRaisesRegex(garner.UsageError, "do not ascend; use coalesced=True"):
            random_walk(row, col, start, 5, coalesced=False)
        with self.assertRaisesRegex(garner.IdError, "start 120 at position 0"):
            random_walk(row, col, torch.tensor([120]), 5, num_nodes=120)
        model = Node2Vec(data.edge_index, 8, walk_length=6, context_size=3, walks_per_node=2, p=2.0, num_nodes=120)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        losses = []
        for _ in range(8):
            for positive, negative in model.loader(batch_size=60, shuffle=True):
                self.assertEqual(positive.shape, (60 * 2 * 4, 3))
                optimizer.zero_grad()
                loss = model.loss(positive, negative)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
        self.assertLess(losses[-1], losses[0])
        graph = garner.build(row, col, num_nodes=120)
        self.assertEqual(Node2Vec(graph, 8, 6, 3).pos_sample(torch.arange(5)).shape, (20, 3))

    def test_node2vec_of_more_nodes_than_edges_name(self):
        row, col = torch.tensor([0, 1, 2]), torch.tensor([1, 2, 0])
        for edges in (torch.stack([row, col]), garner.build(row, col, num_nodes=3)):
            self.assertEqual(Node2Vec(edges, 8, 3, 3).embedding.weight.shape, (3, 8))
            model = Node2Vec(edges, 8, 3, 3, num_nodes=5)
            self.assertEqual((model.num_nodes, model.embedding.weight.shape), (5, (5, 8)))
            self.assertEqual(model.pos_sample(torch.tensor([1, 4, 0])).tolist(), [[1, 2, 0], [4, 4, 4], [0, 1, 2]])
            self.assertEqual(sum(len(positive) for positive, _ in model.loader(batch_size=2)), 5)
            for few, kind in ((2, garner.UsageError), (2.5, garner.KindError)):
                with self.assertRaisesRegex(kind, f"num_nodes is {few}"):
                    Node2Vec(edges, 8, 3, 3, num_nodes=few)

    # --- lists as attributes ---
    def test_lists_are_filtered_as_by_pyg(self):
        data = homogeneous()
        data.title, data.kind = [f"paper {k}" for k in range(120)], tuple(range(700))
        with self.assertWarnsRegex(RuntimeWarning, "title: its rows are gathered in the caller's thread"):
            mine = list(RandomNodeLoader(data, num_parts=3, device="cpu"))
        for a, b in zip(mine, torch_geometric.loader.RandomNodeLoader(data, num_parts=3), strict=True):
            self.assertEqual((a.title, a.kind), (b.title, b.kind))
            self.assertEqual(a.title, [f"paper {k}" for k in a.y.tolist()])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said above
            parts = list(ClusterLoader(ClusterData(data, 4, cluster=torch.arange(120) % 4), batch_size=2))
        self.assertEqual([title for part in parts for title in part.title], [f"paper {k}" for part in parts for k in part.y.tolist()])
        self.assertEqual([kind for part in parts for kind in part.kind], [k for part in parts for k in part.edge_attr.tolist()])
        trees = next(iter(ShaDowKHopSampler(data, 1, 2, batch_size=4)))
        theirs = {name for name, value in data if isinstance(value, (list, tuple))}
        self.assertEqual({name: trees[name] for name in theirs}, {name: data[name] for name in theirs})

    def test_lists_are_refused_where_pyg_refuses_them(self):
        data, hetero = homogeneous(), bibliography()
        data.title, data.colour = ["a"] * 120, ["red", "green"]
        hetero["author"].title = ["a"] * 60
        with self.assertRaisesRegex(ValueError, "invalid feature tensor type"):
            torch_geometric.loader.utils.filter_data(data, torch.tensor([0]), *torch.empty(2, 0), None)
        for make in (lambda data, of: NeighborLoader(data, [2], of), lambda data, of: LinkNeighborLoader(data, [2], None if of is None else ("author", "writes", "paper"))):
            with self.assertRaisesRegex(garner.KindError, "title: a list of 120 for 120 nodes and 700 edges, .*; make it one"):
                make(data, None)
            with self.assertRaisesRegex(garner.KindError, "title of 'author': a list of 60 for 60 nodes"):
                make(hetero, "paper")
        del data.title
        self.assertEqual(next(iter(NeighborLoader(data, [2]))).colour, ["red", "green"])

    # --- LABOR ---
    def test_labor_has_fewer_nodes_and_as_many_edges_a_node(self):
        data = Data(x=torch.arange(2000), edge_index=torch.stack([torch.randint(2000, (60000,)), torch.randint(2000, (60000,))]))
        for device in places:
            batches = {labor: list(NeighborLoader(data, [5, 5], torch.arange(400), batch_size=100, labor=labor, device=device)) for labor in (False, True)}
            nodes = {labor: sum(batch.num_nodes for batch in some) for labor, some in batches.items()}
            self.assertLess(nodes[True], 0.8 * nodes[False])
            for a, b in zip(*batches.values()):
                self.assertEqual((a.num_sampled_edges[0], b.num_sampled_edges[0]), (500, 500))
                self.assertTrue(torch.equal(b.x, b.n_id))
                self.assertTrue(torch.equal(data.edge_index[:, b.e_id], b.n_id[b.edge_index]))
        link = next(iter(LinkNeighborLoader(data, [5, 5], data.edge_index[:, :100], neg_sampling="binary", batch_size=100, labor=True)))
        self.assertLess(link.num_nodes, next(iter(LinkNeighborLoader(data, [5, 5], data.edge_index[:, :100], neg_sampling="binary", batch_size=100))).num_nodes)
        hetero = bibliography()
        few = next(iter(NeighborLoader(hetero, [1], "paper", batch_size=100, labor=True)))
        many = next(iter(NeighborLoader(hetero, [1], "paper", batch_size=100)))
        self.assertLess(few["author"].num_nodes, many["author"].num_nodes)
        sampler = NeighborSampler(data, [5], labor=True)
        self.assertTrue(pickle.loads(pickle.dumps(sampler)).labor)
        graph = garner.build(data.edge_index, num_nodes=2000)
        counts = [next(iter(garner.torch.loader(graph, [5, 5], range(100), batch_size=100, labor=labor))).n_id.numel() for labor in (False, True)]
        self.assertLess(counts[1], 0.8 * counts[0])

    # --- what is refused when it is made ---
    def test_errors(self):
        data, hetero = homogeneous(), bibliography()
        data.time = torch.arange(120)
        for make, error, text in (
                (lambda: NeighborLoader(data, [3], labor=True, replace=True), garner.UsageError, "labor and replace"),
                (lambda: NeighborLoader(data, [3], labor=True, weight_attr="edge_attr"), garner.UsageError, "labor and weight_attr"),
                (lambda: NeighborLoader(data, [3], labor=True, time_attr="time"), garner.UsageError, "labor and time_attr"),
                (lambda: RandomNodeLoader(data, 0), garner.UsageError, "num_parts is 0; use 1 or more"),
                (lambda: RandomNodeLoader(data, "5"), garner.KindError, "num_parts"),
                (lambda: ClusterData(hetero, 3), garner.KindError, "give Data"),
                (lambda: ClusterData(data, 3, sparse_format="coo"), garner.UsageError, "sparse_format"),
                (lambda: ClusterData(data, 3, cluster=torch.full((120,), 3)), garner.InputError, "from 0 to 2"),
                (lambda: ClusterData(data, 3, cluster=torch.zeros(5, dtype=torch.int64)), garner.InputError, "for 120 nodes"),
                (lambda: ClusterLoader([data]), garner.KindError, "garner.pyg.ClusterData"),
                (lambda: ShaDowKHopSampler(hetero, 2, 3), garner.KindError, "give Data"),
                (lambda: ShaDowKHopSampler(data, 0, 3), garner.UsageError, "depth is 0"),
                (lambda: ShaDowKHopSampler(data, 2, 3, torch.tensor([120])), garner.IdError, "node_idx: 120"),
                (lambda: ShaDowKHopSampler(data, 2, 2.5), garner.KindError, "num_neighbors"),
                (lambda: HGTLoader(data, [3], None), garner.KindError, "HeteroData"),
                (lambda: HGTLoader(hetero, {"book": [3]}, "paper"), garner.UsageError, "no nodes of type 'book'"),
                (lambda: HGTLoader(hetero, {"paper": [-1]}, "paper"), garner.UsageError, "use 0 or more"),
                (lambda: HGTLoader(hetero, 5, "paper"), garner.UsageError, "give a list"),
                (lambda: HGTLoader(hetero, [5], ("paper", torch.tensor([100]))), garner.IdError, "input_nodes"),
                (lambda: garner.random_walk(garner.build([0], [1]), [0], 0), garner.UsageError, "walk_length=0"),
                (lambda: garner.random_walk(garner.build([0], [1]), [0], 3, p=0.0), garner.UsageError, "p = 0: use a number"),
                (lambda: Node2Vec(data.edge_index, 8, 3, 5), garner.UsageError, "context_size")):
            with self.assertRaisesRegex(error, text):
                make()


if __name__ == "__main__":
    unittest.main()
