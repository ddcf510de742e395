"""garner.pyg.LinkNeighborLoader: what PyG's own promises of mini-batches that begin at edges."""
import unittest

import garner
from pyg_data import Case, Data, HeteroData, edges_between, pairs, torch

if torch is not None:
    import torch_geometric
    from torch_geometric.sampler import EdgeSamplerInput, HeteroSamplerOutput, NegativeSampling, SamplerOutput
    from torch_geometric.sampler.neighbor_sampler import edge_sample
    from torch_geometric.testing import MyFeatureStore, MyGraphStore
    from garner import links
    from garner.pyg import FeatureStore, GraphStore, LinkNeighborLoader


def bibliography():
    data = HeteroData()
    data["paper"].x, data["author"].x = torch.arange(100), torch.arange(100, 300)
    for (source, target), count in ((("paper", "paper"), 500), (("paper", "author"), 1000), (("author", "paper"), 1000)):
        sizes = data[source].num_nodes, data[target].num_nodes
        data[source, target].edge_index = edges_between(*sizes, count)
    return data


class Links(Case):
    def test_homogeneous(self):
        for subgraph_type in ("directional", "bidirectional"):
            for ratio in (None, 1.0):
                for filter_per_worker in (None, True, False):
                    with self.subTest(subgraph_type=subgraph_type, ratio=ratio, filter_per_worker=filter_per_worker):
                        real, unreal = edges_between(50, 50, 500), edges_between(50, 50, 500) + 50
                        given, label = torch.cat([real, unreal], 1), torch.cat([torch.ones(500), torch.zeros(500)])
                        data = Data(edge_index=real, x=torch.arange(100), edge_attr=torch.arange(500))
                        loader = LinkNeighborLoader(data, [-1] * 2, batch_size=20, edge_label_index=given, edge_label=label if ratio is None else None,
                                                    subgraph_type=subgraph_type, neg_sampling_ratio=ratio, shuffle=True,
                                                    filter_per_worker=filter_per_worker)
                        self.assertEqual((str(loader), len(loader)), ("LinkNeighborLoader()", 50))
                        self.assertIsInstance(loader, torch_geometric.loader.LinkNeighborLoader)
                        batch = loader([0, 10])
                        self.assertTrue({int(given[end, k]) for end in (0, 1) for k in (0, 10)} <= set(batch.n_id.tolist()))
                        for batch in loader:
                            self.assertIsInstance(batch, Data)
                            self.assertEqual((batch.n_id.size(), batch.e_id.size(), batch.input_id.numel()), ((batch.num_nodes,), (batch.num_edges,), 20))
                            self.assertTrue(torch.equal(batch.x, batch.n_id))
                            self.assertTrue(torch.equal(batch.edge_attr, batch.e_id))
                            self.assertEqual(batch.n_id.unique().numel(), batch.num_nodes)
                            ends = batch.n_id[batch.edge_label_index]
                            self.assertTrue(torch.equal(ends[:, :20], given[:, batch.input_id]))
                            if ratio is None:
                                self.assertTrue(torch.equal(batch.edge_label, label[batch.input_id]))
                                self.assertTrue(pairs(batch.edge_label_index[:, batch.edge_label == 1]) <= pairs(batch.edge_index))
                                self.assertFalse(pairs(batch.edge_label_index[:, batch.edge_label == 0]) & pairs(batch.edge_index))
                            else:
                                self.assertEqual((batch.edge_label_index.size(1), batch.edge_label.tolist()), (40, [1.0] * 20 + [0.0] * 20))

    def test_heterogeneous(self):
        for subgraph_type in ("directional", "bidirectional"):
            for ratio in (None, 1.0, 0.5):
                data = bibliography()
                loader = LinkNeighborLoader(data, [-1] * 2, ("paper", "author"), batch_size=20, subgraph_type=subgraph_type, neg_sampling_ratio=ratio,
                                            shuffle=True)
                self.assertEqual((str(loader), len(loader)), ("LinkNeighborLoader()", 50))
                for batch in loader:
                    store = batch["paper", "author"]
                    negatives = 0 if ratio is None else int(20 * ratio)
                    self.assertEqual(store.edge_label_index.size(1), 20 + negatives)
                    ends = torch.stack([batch["paper"].n_id[store.edge_label_index[0]], batch["author"].n_id[store.edge_label_index[1]]])
                    self.assertTrue(torch.equal(ends[:, :20], data["paper", "author"].edge_index[:, store.input_id]))
                    if ratio is None:
                        self.assertTrue(pairs(store.edge_label_index) <= pairs(store.edge_index))
                    else:
                        self.assertEqual(store.edge_label.tolist(), [1.0] * 20 + [0.0] * negatives)
        data = bibliography()
        for batch in LinkNeighborLoader(data, [-1] * 2, ("paper", "paper"), batch_size=20):  # one type at both ends
            store = batch["paper", "paper"]
            self.assertTrue(pairs(store.edge_label_index) <= pairs(store.edge_index))
            self.assertTrue(torch.equal(batch["paper"].n_id[store.edge_label_index], data["paper", "paper"].edge_index[:, store.input_id]))

    def test_labels(self):
        data = Data(edge_index=edges_between(100, 100, 500), x=torch.arange(100))
        for label, want in ((None, torch.float), (torch.ones(500, dtype=torch.int64), torch.int64), (torch.zeros(500, dtype=torch.int64), torch.int64)):
            for batch in LinkNeighborLoader(data, [-1] * 2, batch_size=10, edge_label=label, neg_sampling_ratio=1.0):
                self.assertEqual((batch.edge_label.dtype, batch.edge_label.tolist()), (want, [1] * 10 + [0] * 10))
        wide = torch.rand(500, 3) + 1
        batch = next(iter(LinkNeighborLoader(data, [3], batch_size=10, edge_label=wide)))
        self.assertTrue(torch.equal(batch.edge_label, wide[:10]))
        with self.assertRaisesRegex(ValueError, "undefined for 'triplet'"):
            LinkNeighborLoader(data, [3], edge_label=wide, neg_sampling="triplet")

    def test_lists_kept_by_score(self):
        data = Data(edge_index=edges_between(100, 100, 500), x=torch.arange(100))
        loader = LinkNeighborLoader(data, [3], batch_size=10, device="simulated", graph_cache=2000, scores=torch.rand(100))
        self.assertEqual(len(list(loader)), 50)
        self.assertRegex(loader.link_sampler._engine()[0].summary(), r"near: the lists of \d+ vertices by score")

    def test_times(self):
        data = Data(x=torch.randn(10, 5), edge_index=torch.randint(0, 10, (2, 123)), time=torch.arange(10))
        with self.assertRaisesRegex(ValueError, "'edge_label_time' is not set"):
            LinkNeighborLoader(data, [-1], time_attr="time")

    def test_times_of_types(self):
        data = bibliography()
        data["paper"].time, data["author"].time = torch.arange(100) - 200, torch.arange(200)
        for edge_type, negatives in ((("paper", "paper"), 16), (("paper", "author"), 16)):
            count = data[edge_type].num_edges
            for batch in LinkNeighborLoader(data, [-1] * 2, edge_type, edge_label_time=torch.arange(count) + 200, batch_size=32, time_attr="time",
                                            neg_sampling_ratio=0.5, drop_last=True):
                source, target = batch[edge_type[0]], batch[edge_type[1]]
                store = batch[edge_type]
                self.assertEqual((int(source.batch.max()) + 1, store.edge_label_index.size(1)), (32, 32 + negatives))
                # Each end lies in the tree of its edge: negative k in that of edge k.
                trees = torch.arange(32 + negatives) % 32
                self.assertTrue(torch.equal(source.batch[store.edge_label_index[0]], trees))
                self.assertTrue(torch.equal(target.batch[store.edge_label_index[1]], trees))
                for t in ("paper", "author"):
                    self.assertTrue(bool((batch[t].time <= store.edge_label_time[:32][batch[t].batch]).all()))
                for t in data.edge_types:
                    row, col = batch[t].edge_index
                    self.assertTrue(torch.equal(batch[t[0]].batch[row], batch[t[-1]].batch[col]))

    def test_triplets_of_one_negative(self):
        """By weights; and where both ends are of one type among several."""
        for edge_type in (("paper", "paper"), ("paper", "author")):
            data = bibliography()
            given, weight = data[edge_type].edge_index, torch.zeros(data[edge_type[1]].num_nodes)
            weight[[3, 4]] = 1
            for batch in LinkNeighborLoader(data, [-1] * 2, (edge_type, given), batch_size=20, disjoint=True, shuffle=True,
                                            neg_sampling=dict(mode="triplet", amount=1, dst_weight=weight)):
                source, target, ids = batch[edge_type[0]], batch[edge_type[1]], batch[edge_type].input_id
                self.assertTrue(torch.equal(source.n_id[source.src_index], given[0, ids]) and torch.equal(target.n_id[target.dst_pos_index], given[1, ids]))
                self.assertEqual((target.dst_neg_index.shape, set(target.n_id[target.dst_neg_index].tolist()) - {3, 4}), ((20,), set()))
                for store, index in ((source, source.src_index), (target, target.dst_pos_index), (target, target.dst_neg_index)):
                    self.assertEqual(store.batch[index].tolist(), list(range(20)))

    def test_negatives_of_weight_0_are_never_drawn(self):
        data = Data(edge_index=edges_between(100, 100, 500), num_nodes=100)
        weight = torch.zeros(100)
        weight[[3, 4]] = 1
        for batch in LinkNeighborLoader(data, [2], batch_size=20, neg_sampling=NegativeSampling("binary", 2.0, weight, weight)):
            self.assertTrue(set(batch.n_id[batch.edge_label_index[:, 20:]].flatten().tolist()) <= {3, 4})

    def test_without_edges(self):
        data = Data(num_nodes=100)
        for batch in LinkNeighborLoader(data, [], edges_between(100, 100, 100), batch_size=20):
            self.assertEqual((batch.input_id.numel(), batch.edge_label_index.size(1)), (20, 20))
            self.assertEqual(batch.num_nodes, batch.edge_label_index.unique().numel())
        data = HeteroData(paper=dict(num_nodes=100))
        for batch in LinkNeighborLoader(data, [], (("paper", "paper"), edges_between(100, 100, 100)), batch_size=20):
            self.assertEqual((batch["paper", "paper"].input_id.numel(), batch["paper", "paper"].edge_label_index.size(1)), (20, 20))
            self.assertEqual(batch["paper"].num_nodes, batch["paper", "paper"].edge_label_index.unique().numel())

    def test_stores(self):
        for features, graphs in ((MyFeatureStore, MyGraphStore), (FeatureStore, GraphStore)):
            data, store, graph = bibliography(), features(), graphs()
            for t in data.node_types:
                store.put_tensor(data[t].x, group_name=t, attr_name="x", index=None)
            for t in data.edge_types:
                row, col = data[t].edge_index
                graph.put_edge_index((row, col), edge_type=t, layout="coo", size=(data[t[0]].num_nodes, data[t[2]].num_nodes))
            kind = ("paper", "to", "author")
            for given in (kind, (kind, None), (kind, data[kind].edge_index), [list(kind), data[kind].edge_index.numpy()]):
                loaders = [LinkNeighborLoader(d, [-1] * 2, given, batch_size=20) for d in (data, (store, graph))]
                self.assertEqual(str(loaders[0]), str(loaders[1]))
                for one, two in zip(*loaders):
                    for t in ("paper", "author"):
                        self.assertTrue(torch.equal(one[t].x.sort()[0], two[t].x.sort()[0]))
                    for t in data.edge_types:
                        self.assertEqual(sorted(one[t].e_id.tolist()), sorted(two[t].e_id.tolist()))
                    self.assertTrue(torch.equal(one[kind].edge_label_index, two[kind].edge_label_index))

    def test_stores_of_one_type(self):
        edge_index = edges_between(100, 100, 500)
        for features, graphs in ((MyFeatureStore, MyGraphStore), (FeatureStore, GraphStore)):
            store, graph = features(), graphs()
            store.put_tensor(torch.arange(120), group_name=None, attr_name="x", index=None)  # the last nodes have no edge
            graph.put_edge_index((edge_index[0], edge_index[1]), edge_type=None, layout="coo", size=None)
            pairs = torch.tensor([[119, 0], [118, 7]])
            for given, want in ((pairs, pairs), ((None, pairs), pairs), (tuple(pairs), pairs), (pairs.tolist(), pairs), (None, edge_index)):
                seen = torch.cat([b.n_id[b.edge_label_index] for b in LinkNeighborLoader((store, graph), [2], given, batch_size=20)], 1)
                self.assertTrue(torch.equal(seen, want))

    def test_types_of_edges(self):
        data = bibliography()
        for wrong in (None, data["paper", "paper"].edge_index, "paper__to__paper", ("paper",), (3, data["paper", "paper"].edge_index)):
            with self.assertRaisesRegex(garner.UsageError, "several types of edges, so give one"):
                LinkNeighborLoader(data, [2], wrong)
        for wrong, words in ((("paper", "venue"), "no nodes of type 'venue'"), (("paper", "cites", "paper"), "no edges of type"),
                             ((("paper", "paper"), torch.ones(3, 2, dtype=torch.int64)), r"\(3, 2\)")):
            with self.assertRaisesRegex(garner.UsageError, words):
                LinkNeighborLoader(data, [2], wrong)

    def test_an_epoch_is_repeated_by_its_seed(self):
        data = Data(edge_index=edges_between(100, 100, 500), num_nodes=100)
        state = None

        def epoch(**how):
            nonlocal state
            torch.manual_seed(7)
            got = [(b.n_id.tolist(), b.e_id.tolist(), b.edge_label_index.tolist()) for b in
                   LinkNeighborLoader(data, [2, 2], batch_size=50, neg_sampling="binary", **how)]
            state = torch.get_rng_state() if state is None or how else state
            return got

        first = epoch()
        self.assertEqual(epoch(), first)
        self.assertEqual(epoch(num_workers=2), first)  # also the negatives
        loader = LinkNeighborLoader(data, [2, 2], batch_size=50, neg_sampling="binary")
        self.assertNotEqual(*[[b.edge_label_index.tolist() for b in loader] for _ in range(2)])
        # What else draws from torch's generator is not disturbed.
        before = torch.get_rng_state()
        loader.link_sampler.sample_from_edges(loader.input_data[[1, 2]], NegativeSampling("binary"), number=5)
        self.assertTrue(torch.equal(torch.get_rng_state(), before))

    def test_refusals(self):
        data = Data(edge_index=edges_between(100, 100, 500), num_nodes=100)
        for wrong, kind, words in [
                (dict(edge_label_index=torch.tensor([[3, 100], [1, 1]])), garner.IdError, r"edge_label_index\[0\]: 100 at position 1"),
                (dict(edge_label_index=torch.tensor([[3, 1], [1, -1]])), garner.IdError, r"edge_label_index\[1\]: -1 at position 1"),
                (dict(edge_label=torch.ones(3)), garner.UsageError, "3 for 500 edges"), (dict(edge_label="ones"), garner.UsageError, "edge_label is 'ones'"),
                (dict(edge_label_time=[0.5] * 500), garner.UsageError, "whole number"), (dict(input_id=[0.5] * 500), garner.UsageError, "whole numbers"),
                (dict(neg_sampling=dict(mode="binary", amount=0)), ValueError, "positive"),
                (dict(neg_sampling=dict(mode="triplet", amount=1.5)), ValueError, "integer"),
                (dict(disjoint=True, subgraph_type="induced"), garner.UsageError, "induced")]:
            with self.assertRaisesRegex(kind, words):
                next(iter(LinkNeighborLoader(data, [3], **wrong)))

    def test_seeds_are_those_of_pyg(self):
        """links.seeds_of against PyG's edge_sample: nodes, times, positions, labels and negatives."""
        row, col, time, label = torch.randint(60, (21,)), torch.randint(60, (21,)), torch.randint(5, 40, (21,)), torch.arange(21.0)
        of_nodes, sizes = torch.arange(90) % 50, {"author": 60, "paper": 90}
        for kind in (None, ("author", "writes", "paper"), ("paper", "cites", "paper")):
            for negatives in (None, ("binary", 1), ("binary", 0.4), ("binary", 2.5), ("triplet", 1), ("triplet", 4)):
                for disjoint, times, node_times in ((False, None, False), (True, None, False), (True, time, False), (True, time, True)):
                    for labels in (None,) if negatives and negatives[0] == "triplet" else (None, label):
                        with self.subTest(kind=kind, negatives=negatives, disjoint=disjoint, times=times is not None, node_times=node_times):
                            given = {}

                            def sample(seed, seed_time):
                                given["nodes"], given["times"] = seed, seed_time
                                return SamplerOutput(seed, row, col, None, torch.zeros(1, dtype=torch.int64)) if kind is None else \
                                    HeteroSamplerOutput(seed, {}, {}, {}, {t: torch.zeros(1, dtype=torch.int64) for t in seed})

                            node_time = (of_nodes if kind is None else {"author": of_nodes[:60], "paper": of_nodes}) if node_times else None
                            theirs = None if negatives is None else NegativeSampling(*negatives)
                            torch.manual_seed(77)
                            told = edge_sample(EdgeSamplerInput(None, row, col, labels, times, kind), sample, 90 if kind is None else sizes, disjoint, node_time,
                                               theirs).metadata
                            types = (None, None) if kind is None else (kind[0], kind[2])
                            by = {None: of_nodes, "author": of_nodes[:60], "paper": of_nodes} if node_times else {}
                            counts = tuple({None: 90, **sizes}[t] for t in types)
                            for mine in (links.negatives_of(negatives, *counts), theirs):
                                found = links.seeds_of(row, col, labels, times, types, counts, (by.get(types[0]), by.get(types[1])), disjoint, mine, 77)
                                self.assertEqual([None if a is None else (str(a.dtype), a.tolist()) for a in found.told.values()],
                                                 [None if a is None else (str(a.dtype), a.tolist()) for a in told[1:]])
                                want = {None: given["nodes"]} if kind is None else given["nodes"]
                                self.assertEqual({t: a.tolist() for t, a in found.nodes.items()}, {t: a.tolist() for t, a in want.items()})
                                want = {} if given["times"] is None else {None: given["times"]} if kind is None else given["times"]
                                self.assertEqual({t: a.tolist() for t, a in found.times.items()}, {t: a.tolist() for t, a in want.items()})


if __name__ == "__main__":
    unittest.main()
