"""garner.pyg.NeighborLoader: what its draws are a function of, stores, and epochs that are made ahead."""
import contextlib
import copy
import pathlib
import pickle
import tempfile
import unittest
import warnings

import numpy as np

import garner
from pyg_data import Case, Data, HeteroData, bibliography, content, edges_between, homogeneous, pairs, torch

if torch is not None:
    from torch_geometric.testing import MyFeatureStore, MyGraphStore
    from garner import pipeline
    from garner.pyg import FeatureStore, GraphStore, NeighborLoader, NeighborSampler
    from garner.pyg.later import Later


def tenfold(batch):
    batch.x = batch.x * 10
    return batch


class Epochs(Case):
    # --- what draws are a function of ---
    def test_an_epoch_is_repeated_by_its_seed_and_no_other_is_like_it(self):
        data = homogeneous()
        first = [content(b) for b in self.epoch(data)]
        self.assertEqual([content(b) for b in self.epoch(data)], first)
        self.assertNotEqual([content(b) for b in self.epoch(data, seed=4)], first)
        torch.manual_seed(3)
        loader = NeighborLoader(data, [3, 3], batch_size=20)
        epochs = [[content(b) for b in loader] for _ in range(3)]
        self.assertEqual(epochs[0], first)
        self.assertNotIn(epochs[1], (epochs[0], epochs[2]))
        same = NeighborLoader(data, [2, 2], torch.zeros(200, dtype=torch.int64), batch_size=1)  # mini-batches of the same seeds
        self.assertGreater(len({str(b.e_id.tolist()) for b in same}), 3)
        own = [[content(b) for b in NeighborLoader(data, [3], batch_size=50, generator=torch.Generator().manual_seed(5))] for _ in range(2)]
        self.assertEqual(own[0], own[1])

    def test_workers_draw_the_same(self):
        data = homogeneous()
        del data.edge_attr
        want = [content(b) for b in self.epoch(data)]
        for how in ("fork", "spawn", "forkserver"):
            for filter_per_worker in (True, False):
                if filter_per_worker == {"spawn": False, "forkserver": True}.get(how):  # each takes seconds to begin
                    continue
                torch.manual_seed(3)
                loader = NeighborLoader(data, [3, 3], batch_size=20, num_workers=2, multiprocessing_context=how, filter_per_worker=filter_per_worker,
                                        transform=tenfold, persistent_workers=how == "spawn")
                with self.subTest(how=how, filter_per_worker=filter_per_worker):
                    for repeat in range(1 + (how == "spawn")):
                        torch.manual_seed(3)
                        got = list(loader)
                        for batch in got:
                            batch.x = batch.x // 10
                        self.assertEqual([content(b) for b in got], want)

    def test_rows_of_files_and_tables(self):
        data = homogeneous()
        rows = np.random.default_rng(1).standard_normal((100, 8)).astype("f4")
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "x.npy"
            np.save(file, rows)
            for x in (np.load(file, mmap_mode="r"), garner.tiered(torch.from_numpy(rows)), garner.tiered(str(file)), torch.from_numpy(rows)):
                data.x = x
                for workers in (0, 2):
                    for batch in NeighborLoader(data, [5, 5], batch_size=25, num_workers=workers):
                        self.assertTrue(torch.equal(batch.x.cpu(), torch.from_numpy(rows)[batch.n_id.cpu()]))

    def test_places(self):
        gpu = bool(garner.info()["devices"]) and torch.cuda.is_available()
        for data, how in ((homogeneous(), {}), (bibliography(), dict(input_nodes="paper"))):
            want = [content(b) for b in self.epoch(data, **how)]
            for place in ["simulated"] + ["cuda:0", 0, torch.device("cuda", 0)] * gpu:
                for budget in [None] + ["1KiB"] * (place != "simulated"):
                    got = self.epoch(data, device=place, graph_cache=budget, **how)
                    self.assertEqual([content(b) for b in got], want)

    def test_lists_kept_by_score(self):
        for data, how, scores in ((homogeneous(), {}, torch.rand(100)),
                                  (bibliography(), dict(input_nodes="paper"), {"paper": np.random.default_rng(1).random(100), "author": None})):
            want = [content(b) for b in self.epoch(data, **how)]
            loader = NeighborLoader(data, [5, 5], device="simulated", graph_cache=2000, scores=scores, **how)
            self.assertRegex(loader.node_sampler._engine()[0].summary(), r"near: the lists of \d+ vertices by score")
            self.assertRegex(pickle.loads(pickle.dumps(loader.node_sampler))._engine()[0].summary(), "by score")
            self.assertEqual([content(b) for b in self.epoch(data, device="simulated", graph_cache=2000, scores=scores, **how)], want)
        for data, scores, words in ((homogeneous(), torch.rand(99), r"scores: of shape \(99,\) for 100 nodes; give each one"),
                                    (bibliography(), torch.rand(100), "give a dict"),
                                    (bibliography(), {"author": torch.rand(100)}, "for 200 nodes of type 'author'"),
                                    (bibliography(), {"venue": torch.rand(100)}, "no nodes of type 'venue'")):
            with self.assertRaisesRegex(garner.UsageError, words):
                NeighborLoader(data, [5], scores=scores, input_nodes=None if "x" in data else "paper")

    def test_where_the_data_lie(self):
        if not (garner.info()["devices"] and torch.cuda.is_available()):
            self.skipTest("needs a GPU (none here)")
        data = homogeneous()
        want = [content(b) for b in self.epoch(data)]
        for batch, one in zip(self.epoch(data.clone().to("cuda")), want):  # where the data lie
            self.assertTrue(all(v.is_cuda for v in batch.stores[0].values() if isinstance(v, torch.Tensor) and v is not batch.input_id))
            self.assertEqual(content(batch), one)
        data.x = garner.tiered(data.x, device=0, feature_cache="256B")
        for batch, one in zip(self.epoch(data), want):
            self.assertTrue(batch.x.is_cuda and batch.n_id.is_cuda)
            self.assertEqual(content(batch), one)

    def test_pickled(self):
        data = homogeneous()
        sampler = NeighborSampler(data, [3, 3], time_attr=None)
        for other in (pickle.loads(pickle.dumps(sampler)), copy.copy(sampler)):
            self.assertEqual([content(b) for b in self.epoch(data, neighbor_sampler=other)], [content(b) for b in self.epoch(data)])

    # --- stores ---
    def test_stores_of_any_kind(self):
        for features in (MyFeatureStore, HeteroData, FeatureStore):
            for graph in (MyGraphStore, HeteroData, GraphStore):
                with self.subTest(features=features, graph=graph):
                    *both, data = self.stores(features, graph)
                    loaders = [NeighborLoader(d, [-1] * 2, ("paper", range(100)), batch_size=20) for d in (data, tuple(both))]
                    self.assertEqual(str(loaders[0]), str(loaders[1]))
                    self.assertEqual(len(loaders[0]), len(loaders[1]))
                    for one, two in zip(*loaders):
                        self.assertEqual(len(one) + 1, len(two))  # num_nodes
                        self.assertEqual(one["paper"].batch_size, two["paper"].batch_size)
                        for t in ("paper", "author"):
                            self.assertTrue(torch.equal(one[t].x.sort()[0], two[t].x.sort()[0]))
                            self.assertEqual(two[t].num_nodes, two[t].n_id.numel())
                        for t in data.edge_types:
                            self.assertEqual(sorted(one[t].e_id.tolist()), sorted(two[t].e_id.tolist()))
                        self.mapped(two, data)

    def test_features_of_edges_in_stores_of_one_type(self):
        """The number of rows decides between attributes of nodes and of edges."""
        for features in (MyFeatureStore, FeatureStore):
            for edges in (500, 100):
                data = homogeneous(100, edges)
                store, graph = features(), GraphStore()
                store.put_tensor(data.x * 2, group_name=None, attr_name="x", index=None)
                store.put_tensor(data.edge_attr * 3, group_name=None, attr_name="edge_attr", index=None)
                graph.put_edge_index(data.edge_index, edge_type=None, layout="coo", size=(100, 100))
                for batch in NeighborLoader((store, graph), [3, 3], torch.arange(100), batch_size=20):
                    self.assertTrue(torch.equal(batch.x, batch.n_id * 2))
                    self.assertTrue(torch.equal(batch.edge_attr, batch.e_id * 3))
                    self.assertEqual(batch.num_nodes, batch.n_id.numel())
                    self.mapped(batch, data)
        store.put_tensor(torch.arange(7), group_name=None, attr_name="seven", index=None)
        with self.assertRaisesRegex(garner.InputError, "'seven' has 7 rows"):
            next(iter(NeighborLoader((store, graph), [3], torch.arange(5), batch_size=5)))

    def test_rows_behind_the_last_node(self):
        """More rows than nodes are taken, as PyG has it; fewer are refused when the loader is made."""
        for hetero in (False, True):
            group, edge_type = ("n", ("n", "to", "n")) if hetero else (None, None)
            for features in (MyFeatureStore, FeatureStore):
                store, graph = features(), GraphStore()
                for name, count, of in (("x", 250, group), ("y", 130, group), ("edge_attr", 700, edge_type), ("time", 140, group)):
                    store.put_tensor(torch.arange(count) * 2, group_name=of, attr_name=name, index=None)
                graph.put_edge_index(edges_between(100, 100, 500), edge_type=edge_type, layout="coo", size=(100, 100))
                for options in ({}, {"device": "simulated", "feature_cache": 900}, {"time_attr": "time"}):
                    loader = NeighborLoader((store, graph), [3, 3], (group, torch.arange(100)) if hetero else None, batch_size=30, **options)
                    for batch in loader:
                        nodes, edges = (batch["n"], batch[edge_type]) if hetero else (batch, batch)
                        self.assertTrue(torch.equal(nodes.x, nodes.n_id * 2) and torch.equal(nodes.y, nodes.n_id * 2))
                        self.assertTrue(torch.equal(edges.edge_attr, edges.e_id * 2))
                for name, count, of in (("x", 99, group), ("edge_attr", 499, edge_type)):
                    store.put_tensor(torch.arange(count), group_name=of, attr_name=name, index=None)
                    with self.assertRaisesRegex(garner.InputError, f"'{name}'.* has {count} rows"):
                        NeighborLoader((store, graph), [3], (group, torch.arange(5)) if hetero else torch.arange(5))
                    store.put_tensor(torch.arange(900), group_name=of, attr_name=name, index=None)

    def test_a_graph_of_garner_in_a_store(self):
        source, target = edges_between(100, 100, 600)
        for how, order in ((dict(undirected=True), None), (dict(undirected=True), "degree"), (dict(in_edges=True), "random"), (dict(in_edges=True), None)):
            g = garner.build(source, target, num_nodes=100, **how)
            if order:
                g.reorder(order)
            offsets, targets, _ = g.csr()
            coo = torch.stack([torch.repeat_interleave(torch.arange(100), torch.from_numpy(np.diff(offsets))), torch.tensor(targets).long()])
            store, graph = FeatureStore(), GraphStore()
            graph.put_graph(g)
            store.put_tensor(torch.arange(100), group_name=None, attr_name="x", index=None)
            for features in (False, True):
                if features:
                    store.put_tensor(torch.arange(coo.size(1)), group_name=None, attr_name="edge_attr", index=None)
                loader = NeighborLoader((store, graph), [-1, 2], torch.arange(100), batch_size=20)
                for batch in loader:
                    self.assertTrue(torch.equal(batch.x, batch.n_id))
                    ends = batch.n_id[batch.edge_index]
                    self.assertTrue(pairs(ends) <= pairs(coo))
                    if features:
                        self.assertTrue(torch.equal(ends, coo[:, batch.e_id]))
                        self.assertTrue(torch.equal(batch.edge_attr, batch.e_id))
                    degree = torch.bincount(coo[1], minlength=100)[batch.n_id[:20]]
                    self.assertEqual(torch.bincount(batch.edge_index[1], minlength=20)[:20].tolist(), degree.tolist())
                if features:  # and times of edges
                    times = FeatureStore()
                    times.put_tensor(torch.arange(100), group_name=None, attr_name="x", index=None)
                    times.put_tensor(torch.arange(coo.size(1)) % 50, group_name=None, attr_name="edge_time", index=None)
                    for batch in NeighborLoader((times, graph), [-1, 2], torch.arange(100), batch_size=20, time_attr="edge_time",
                                                input_time=torch.full((100, ), 20)):
                        self.assertTrue(torch.equal(batch.n_id[batch.edge_index], coo[:, batch.e_id]))
                        self.assertLessEqual(int((batch.e_id % 50).max()), 20)
                if not features or order:  # another process has the lists alone, and draws by its own order
                    continue
                torch.manual_seed(1)
                here = [content(b) for b in loader]
                torch.manual_seed(1)
                there = NeighborLoader((store, graph), [-1, 2], torch.arange(100), batch_size=20, num_workers=1, multiprocessing_context="spawn",
                                       neighbor_sampler=loader.node_sampler, filter_per_worker=False)
                self.assertEqual([content(b) for b in there], here)
        graph.put_graph(garner.build(source, target, num_nodes=100))  # directed; the loader builds its in-edges
        batch = next(iter(NeighborLoader((store, graph), [3], torch.arange(5))))
        there = set(zip(np.asarray(source).tolist(), np.asarray(target).tolist()))
        self.assertTrue({tuple(pair) for pair in batch.n_id[batch.edge_index].t().tolist()} <= there)

    def test_a_class_of_ones_own(self):
        class Mine(Data):
            pass

        data = homogeneous()
        store, graph = FeatureStore(), GraphStore()
        store.put_tensor(data.x, group_name=None, attr_name="x", index=None)
        graph.put_edge_index(data.edge_index, edge_type=None, layout="coo", size=(100, 100))
        self.assertIsInstance(next(iter(NeighborLoader((store, graph), [3], torch.arange(5), custom_cls=Mine))), Mine)
        self.assertIs(type(next(iter(NeighborLoader(data, [3], custom_cls=Mine)))), Data)  # as PyG, which takes it for stores alone
        self.assertEqual((list(NeighborLoader(data, [3]).dataset), NeighborLoader(data, [3]).dataset[7]), (list(range(100)), 7))

    # --- ahead: by garner.Loader, or one after the other ---
    def test_ahead_is_what_one_after_the_other_is(self):
        """Field by field, the same bits, and as much drawn of torch's generator."""
        def graph():
            torch.manual_seed(5)
            data = Data(x=torch.randn(120, 7), edge_index=edges_between(120, 120, 900), edge_attr=torch.arange(900), y=torch.randint(9, (120,)),
                        heat=torch.rand(900), age=torch.randint(50, (120,)), train_mask=torch.rand(120) < 0.5, name="a graph")
            data.of_numpy = np.arange(240, dtype=np.float32).reshape(120, 2)
            data.strange = torch.randn(7, 120).t()  # not contiguous
            data.edge_index = data.edge_index[:, data.edge_index[1].argsort(stable=True)] if sorted_edges else data.edge_index
            return data

        seeds = torch.cat([torch.arange(100, 20, -1), torch.tensor([3, 3])])
        ages = torch.arange(82)
        for sorted_edges, options in [
                (False, {}), (True, {}), (False, dict(replace=True)), (False, dict(disjoint=True)), (False, dict(weight_attr="heat")),
                (False, dict(subgraph_type="bidirectional")), (False, dict(subgraph_type="induced")), (False, dict(drop_last=True)),
                (False, dict(time_attr="age")), (False, dict(time_attr="age", input_time=ages, temporal_strategy="last")),
                (False, dict(transform=tenfold)), (False, dict(filter_per_worker=True)), (False, dict(device="simulated")),
                (False, dict(batch_size=1000)), (False, dict(sampler=torch.utils.data.SubsetRandomSampler([3, 1, 4, 1, 5])))]:
            for how in ({"shuffle": False}, {"shuffle": True}, {"shuffle": True, "generator": torch.Generator()}):
                if "sampler" in options:
                    how.pop("shuffle")
                for table in (False, True):
                    with self.subTest(sorted_edges=sorted_edges, table=table, **options, **how):
                        told = []
                        for ahead in (True, False):
                            data = graph()
                            if table:
                                data.x = garner.tiered(data.x, device=options.get("device", "host"))
                            if "generator" in how:
                                how["generator"].manual_seed(7)
                            loader = NeighborLoader(data, [4, 3], seeds, **{"batch_size": 20, **how, **options})
                            if not ahead:
                                loader._not_ahead = lambda: ""
                            torch.manual_seed(9)
                            pipeline._said.clear()
                            with self.assertWarnsRegex(RuntimeWarning, "strange: .* not contiguous") if ahead else contextlib.nullcontext():
                                epochs = [[content(batch) for batch in loader] for _ in range(2)]
                            self.assertEqual(bool(loader.report), ahead)
                            told.append((epochs, torch.randint(1 << 40, (3,)).tolist(), how["generator"].get_state().tolist() if "generator" in how else 0))
                        self.assertTrue(told[0] == told[1])  # lists too long to be printed
                        self.assertEqual(epochs[0] == epochs[1], how.get("shuffle") is False and options.get("temporal_strategy") == "last")
                        self.assertTrue(epochs[0])

    def test_ahead_where_it_can(self):
        data = homogeneous()
        mine = type("Mine", (NeighborLoader,), {"filter_fn": lambda self, out: NeighborLoader.filter_fn(self, out)})
        for options in ({}, {"transform_sampler_output": lambda out: out}, {"num_workers": 1}, {"batch_sampler": [[1, 2], [3]]},
                        {"sampler": [4, 5, 6]}):
            for kind in (NeighborLoader, mine):
                loader = kind(data, [3], **({} if "batch_sampler" in options else {"batch_size": 30}), **options)
                list(loader)
                self.assertEqual(bool(loader.report), "num_workers" not in options, options)
        none = NeighborLoader(data, [0], batch_size=30)
        self.assertEqual((len(list(none)), none.report), (4, {}))

    def test_state(self):
        """A second loader goes on with the very next mini-batch, whatever else was sampled meanwhile."""
        data = homogeneous()
        warnings.simplefilter("ignore")  # of what is not made ahead

        class Mine(NeighborSampler):
            def sample_from_nodes(self, index, **draw):
                return super().sample_from_nodes(index, **draw)
        for options in ({}, {"shuffle": True}, {"shuffle": True, "generator": torch.Generator()}, {"shuffle": True, "num_workers": 1},
                        {"batch_sampler": [[3, 1], [4], [1, 5], [9]]}, {"shuffle": True, "neighbor_sampler": Mine(data, [3, 2])}):
            with self.subTest(**options):
                def made():
                    return NeighborLoader(data, [3, 2], **({} if "batch_sampler" in options else {"batch_size": 30}), **options)
                loader, other = made(), made()
                self.assertEqual(loader.state_dict(), {})
                torch.manual_seed(4)
                whole, it = [], iter(loader)
                for k in range(4):
                    whole.append(content(next(it)))
                    if k == 1:
                        state = pickle.loads(pickle.dumps(loader.state_dict()))
                self.assertEqual(list(it), [])
                after = torch.default_generator.get_state()
                self.assertEqual(loader.state_dict(), {})
                torch.manual_seed(8)
                other.load_state_dict(state)
                self.assertEqual(other.state_dict()["handed_over"], 2)
                with self.assertRaisesRegex(garner.InputError, "of mini-batches of .*, and this loader has 7"):
                    NeighborLoader(data, [3], batch_size=7).load_state_dict(state)
                before = torch.default_generator.get_state()
                rest = iter(other)
                self.assertEqual(len(rest), 2)
                self.assertTrue([content(b) for b in rest] == whole[2:])
                self.assertTrue(torch.equal(torch.default_generator.get_state(), before))
                self.assertEqual(len(list(other)), 4)
                del after
        with self.assertRaisesRegex(garner.InputError, "give what state_dict"):
            loader.load_state_dict({"epoch": 1})

    def test_what_has_no_length(self):
        class Endless:
            def __iter__(self):
                return iter(lambda: [3, 1, 4], None)

        data = homogeneous()
        loader = NeighborLoader(data, [3, 2], batch_sampler=Endless())
        for k, batch in zip(range(90), loader):
            self.assertEqual(batch.n_id[:3].tolist(), [3, 1, 4])
        hetero = bibliography()
        some = hetero.edge_types
        loader = NeighborLoader(hetero, {t: [3, 2] for t in some}, "paper", batch_size=10)
        list(loader)
        loader.node_sampler.num_neighbors = {t: [0, 0] if t == some[0] else [3, 2] for t in some}
        for batch in loader:
            self.assertEqual(batch[some[0]].edge_index.shape, (2, 0))

    def test_numbers_of_edges_are_made_when_they_are_read(self):
        data, hetero = homogeneous(), bibliography()
        for key in [key for key in data.keys() if data.is_edge_attr(key) and key != "edge_index"]:
            del data[key]
        for batch in NeighborLoader(data, [3, 2], batch_size=30):
            moved, copied = batch.to("cpu"), copy.copy(batch)
            self.assertIsInstance(moved._store._mapping.raw("e_id"), Later)
            self.assertIn("e_id", copied)
            self.assertIn("e_id", moved.keys())
            for some in (copied, moved, pickle.loads(pickle.dumps(batch)), batch.clone()):
                self.assertEqual(some.e_id.dtype, torch.int64)
                self.assertTrue(torch.equal(data.edge_index[:, some.e_id], some.n_id[some.edge_index]))
            self.assertEqual(batch.num_edges, Data.from_dict(batch.to_dict()).e_id.numel())
        for batch in NeighborLoader(hetero, [3, 2], "paper", batch_size=10):
            for t in batch.edge_types:
                ends = batch[t].edge_index
                self.assertTrue(torch.equal(hetero[t].edge_index[:, batch[t].e_id],
                                            torch.stack([batch[t[0]].n_id[ends[0]], batch[t[-1]].n_id[ends[1]]])))

    def test_what_is_kept_near(self):
        """The rows that are read most, short ones first; an explicit table as it was made."""
        data = homogeneous()
        hub = torch.arange(90, 100)
        data.edge_index = torch.stack([hub[torch.randint(10, (500,))], torch.randint(90, (500,))])
        data.wide = torch.arange(100.)[:, None].repeat(1, 16)
        for bytes_kept, kept in (("100KiB", 100), (10 * 64 + data.x.nbytes + 500 * 12, 10), (0, 0)):
            del_x = NeighborLoader(data, [8], torch.arange(90), batch_size=9, device="simulated", feature_cache=bytes_kept)
            for batch in del_x:
                self.assertTrue(torch.equal(batch.wide[:, 3], batch.n_id.float()))
            (wide,) = [table for field, table in del_x._tables.of.items() if field.name == "wide"]
            self.assertEqual(wide.tiers["device"], kept)
            if kept == 10:
                self.assertGreater(del_x.report["rows"]["device"], 90 + 10 * 10)  # hubs are in every mini-batch
            told = del_x.explain()
            self.assertIn("samples and gathers on simulated, ahead", told)
            self.assertIn("wide: ", told)
        loader = NeighborLoader(data, [8], torch.arange(90), batch_size=9, device="simulated", feature_cache="100KiB")
        list(loader)
        data.wide += 1000  # in place, while GPU memory holds copies
        for batch in loader:
            self.assertTrue(torch.equal(batch.wide[:, 3], batch.n_id + 1000.))
        data.wide -= 1000
        table = garner.tiered(data.wide, device="simulated", feature_cache=128)
        data.wide = table
        loader = NeighborLoader(data, [8], torch.arange(90), batch_size=9, device="simulated", feature_cache="100KiB")
        list(loader)
        self.assertEqual([t.tiers["device"] for f, t in loader._tables.of.items() if f.name == "wide"], [2])
        for wrong in ("much", -1, 2.5):
            with self.assertRaisesRegex(garner.UsageError, "feature_cache is"):
                NeighborLoader(data, [8], feature_cache=wrong)

    def test_ahead_of_two_and_of_what_changes(self):
        data = homogeneous()
        loader = NeighborLoader(data, [3], batch_size=30)
        other = NeighborLoader(data, [3], batch_size=30, neighbor_sampler=loader.node_sampler)
        torch.manual_seed(2)
        want = [[content(b) for b in loader] for _ in range(4)]
        torch.manual_seed(2)
        both = [(content(a), content(b)) for a, b in zip(loader, loader)]  # two iterations at once
        self.assertTrue([[a for a, _ in both], [b for _, b in both]] == want[:2])
        both = [(content(a), content(b)) for a, b in zip(loader, other)]  # of one sampler
        self.assertTrue([[a for a, _ in both], [b for _, b in both]] == want[2:])
        kept = list(loader)
        self.assertEqual([b.n_id.tolist() for b in kept], [b.x.tolist() for b in kept])
        next(iter(loader))  # broken off
        self.assertEqual(len(list(loader)), 4)
        before = loader._idle[1]
        data.x = data.x + 1000  # seen by the next epoch
        for batch in loader:
            self.assertTrue(torch.equal(batch.x, batch.n_id + 1000))
        self.assertIsNot(loader._idle[1], before)
        before = loader._idle[1]
        data.x += 1
        for batch in loader:
            self.assertTrue(torch.equal(batch.x, batch.n_id + 1001))
        self.assertIs(loader._idle[1], before)
        again = pickle.loads(pickle.dumps(loader))
        self.assertEqual(len(list(again)), 4)


if __name__ == "__main__":
    unittest.main()
