"""garner.pyg.NeighborLoader: times, replacement, disjoint trees, features of edges and graphs in place of edges, against the data themselves."""
import unittest

import garner
from pyg_data import Case, bibliography, content, homogeneous, torch

if torch is not None:
    from torch_geometric.testing import MyFeatureStore
    from garner.pyg import FeatureStore, GraphStore, NeighborLoader


class Values(Case):
    def test_replace_and_disjoint(self):
        data = homogeneous()
        batch = next(iter(NeighborLoader(data, [20], batch_size=20, replace=True)))
        has = torch.bincount(data.edge_index[1], minlength=100)[:20] > 0
        self.assertEqual(torch.bincount(batch.edge_index[1], minlength=20).tolist(), (has * 20).tolist())
        self.mapped(batch, data)
        data.time = torch.arange(100)
        for how in ({}, dict(time_attr="time", input_time=torch.full((100, ), 40))):  # all of them: each that is allowed, once
            for batch in NeighborLoader(data, [-1], batch_size=20, replace=True, **how):
                early = (data.edge_index[1][:, None] == batch.input_id) & (data.time[data.edge_index[0]] <= (40 if how else 100))[:, None]
                self.assertEqual(sorted(batch.e_id.tolist()), early.any(1).nonzero().flatten().tolist())
        for loader in (NeighborLoader(data, [3, 3], batch_size=20, disjoint=True), ):
            for batch in loader:
                self.assertEqual(batch.batch[:20].tolist(), list(range(20)))
                self.assertTrue(torch.equal(batch.batch[batch.edge_index[0]], batch.batch[batch.edge_index[1]]))
                self.assertEqual((batch.batch.dtype, batch.batch.numel()), (torch.int64, batch.num_nodes))
                self.mapped(batch, data)
        hetero = bibliography()
        for t in hetero.edge_types:
            hetero[t].edge_index = hetero[t].edge_index.int()
        batch = next(iter(NeighborLoader(hetero, [3, 3], "paper", batch_size=20, disjoint=True)))
        self.assertEqual({tensor.dtype for t in hetero.node_types for tensor in (batch[t].n_id, batch[t].batch)} |
                         {batch[t].edge_index.dtype for t in hetero.edge_types}, {torch.int32})
        for t in hetero.edge_types:
            row, col = batch[t].edge_index
            self.assertTrue(torch.equal(batch[t[0]].batch[row], batch[t[-1]].batch[col]))

    def test_times_of_nodes(self):
        for strategy in ("uniform", "last"):
            data = homogeneous()
            data.time = torch.arange(100, 0, -1)
            for batch in NeighborLoader(data, [3, 3], batch_size=10, time_attr="time", temporal_strategy=strategy):
                self.assertTrue(bool((batch.time <= batch.time[:10][batch.batch]).all()))
                self.mapped(batch, data)
            given = torch.randint(0, 100, (100,))
            batch = next(iter(NeighborLoader(data, [3], time_attr="time", input_time=given.int())))
            self.assertEqual((batch.seed_time.dtype, batch.seed_time.tolist()), (torch.int32, given[:1].tolist()))
            for batch in NeighborLoader(data, [3, 3], batch_size=10, time_attr="time", input_time=given.tolist(), temporal_strategy=strategy):
                self.assertTrue(torch.equal(batch.seed_time, given[batch.input_id]))
                self.assertTrue(bool((batch.time[10:] <= batch.seed_time[batch.batch[10:]]).all()))
        hetero = bibliography()
        hetero["paper"].time, hetero["author"].time = torch.arange(100), torch.arange(200) // 2
        for batch in NeighborLoader(hetero, [-1, -1], "paper", batch_size=10, time_attr="time"):
            limit = batch["paper"].time[:10]
            for t in ("paper", "author"):
                self.assertTrue(bool((batch[t].time <= limit[batch[t].batch]).all()))
        del hetero["author"].time  # without times: always there
        batch = next(iter(NeighborLoader(hetero, [-1, -1], "paper", batch_size=10, time_attr="time")))
        self.assertGreater(batch["author"].num_nodes, 0)
        self.assertTrue(bool((batch["paper"].time <= batch["paper"].time[:10][batch["paper"].batch]).all()))

    def test_times_of_edges(self):
        data = homogeneous()
        data.edge_time = torch.randint(0, 50, (500,))
        given = torch.randint(0, 50, (100,))
        for batch in NeighborLoader(data, [-1, -1], batch_size=10, time_attr="edge_time", input_time=given):
            limit = batch.seed_time[batch.batch[batch.edge_index[1]]]
            self.assertTrue(bool((batch.edge_time <= limit).all()))
            self.mapped(batch, data)
        # All that are early enough are there at the first hop.
        batch = next(iter(NeighborLoader(data, [-1], torch.tensor([3]), input_time=torch.tensor([20]), batch_size=1, time_attr="edge_time")))
        wanted = ((data.edge_index[1] == 3) & (data.edge_time <= 20)).nonzero().flatten()
        self.assertEqual(batch.e_id.sort()[0].tolist(), wanted.tolist())
        last = next(iter(NeighborLoader(data, [1], torch.tensor([3]), input_time=torch.tensor([40]), batch_size=1, time_attr="edge_time",
                                        temporal_strategy="last")))
        early = (data.edge_index[1] == 3) & (data.edge_time <= 40)
        self.assertEqual(int(data.edge_time[last.e_id[0]]), int(data.edge_time[early].max()))
        hetero = bibliography()
        for t in hetero.edge_types:
            hetero[t].time = torch.randint(0, 50, (hetero[t].num_edges,))
        for batch in NeighborLoader(hetero, [3, 3], "paper", input_time=given, batch_size=10, time_attr="time"):
            for t in hetero.edge_types:
                limit = batch["paper"].seed_time[batch[t[-1]].batch[batch[t].edge_index[1]]]
                self.assertTrue(bool((batch[t].time <= limit).all()))
        # Where a type is empty, its times are missing or empty.
        for time in (None, torch.empty(0, dtype=torch.int64)):
            hetero["author", "knows", "paper"].edge_index = torch.empty(2, 0, dtype=torch.int64)
            if time is not None:
                hetero["author", "knows", "paper"].time = time
            for batch in NeighborLoader(hetero, [3, 3], "paper", input_time=given, batch_size=10, time_attr="time"):
                self.assertEqual(batch["author", "knows", "paper"].num_edges, 0)
                self.assertGreater(batch["paper", "author"].num_edges, 0)

    def test_other_samplers_of_torch(self):
        data = homogeneous()
        batches = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(range(100)), 30, drop_last=True)
        self.assertEqual([b.batch_size for b in NeighborLoader(data, [2], batch_sampler=batches)], [30] * 3)
        self.assertEqual([b.batch_size for b in NeighborLoader(data, [2], batch_size=30, drop_last=True)], [30] * 3)
        weighted = torch.utils.data.WeightedRandomSampler([1.0] * 10 + [0.0] * 90, 50)
        for batch in NeighborLoader(data, [2], batch_size=25, sampler=weighted):
            self.assertLess(int(batch.n_id[:25].max()), 10)
        seen = torch.cat([b.input_id for b in NeighborLoader(data, [2], batch_size=30, shuffle=True)])
        self.assertEqual(seen.sort()[0].tolist(), list(range(100)))
        self.assertNotEqual(seen.tolist(), list(range(100)))
        self.assertEqual(next(iter(NeighborLoader(data, [2], batch_size=None))).batch_size, 1)

    def test_features_of_edges_in_stores_are_those_of_the_edges(self):
        for features in (MyFeatureStore, FeatureStore):
            store, graph, data = self.stores(features, GraphStore)
            for t in data.edge_types:
                store.put_tensor(torch.arange(600), group_name=t, attr_name="edge_attr", index=None)
            for batch in NeighborLoader((store, graph), [4, 4], "paper", batch_size=20):
                for t in data.edge_types:
                    self.assertTrue(torch.equal(batch[t].edge_attr, batch[t].e_id))
                self.mapped(batch, data)
        # In a graph of one type too, where the number of rows decides between attributes of nodes and of edges.
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

    def test_times_and_weights_in_stores(self):
        data = homogeneous()
        data.time = torch.arange(100, 0, -1)
        store, graph = FeatureStore(), GraphStore()
        for name, rows in (("x", data.x), ("time", data.time), ("edge_time", data.edge_attr), ("w", (data.edge_attr % 2).float())):
            store.put_tensor(rows, group_name=None, attr_name=name, index=None)
        graph.put_edge_index(data.edge_index, edge_type=None, layout="coo", size=(100, 100))
        both = [[content(b) for b in self.epoch(d, time_attr="time", input_nodes=torch.arange(100))] for d in (data, (store, graph))]
        self.assertEqual([b["(0, 'n_id')"] for b in both[0]], [b["(0, 'n_id')"] for b in both[1]])
        for batch in self.epoch((store, graph), time_attr="edge_time", input_nodes=torch.arange(100), input_time=torch.full((100,), 250)):
            self.assertLessEqual(int(batch.e_id.max()), 250)
        for batch in self.epoch((store, graph), weight_attr="w", input_nodes=torch.arange(100)):
            self.assertTrue(bool((batch.e_id % 2 == 1).all()))
        with self.assertRaises(NotImplementedError):
            NeighborLoader((store, graph), [3], torch.arange(5), weight_attr="none_such")
        with self.assertRaisesRegex(garner.UsageError, "no such attribute"):
            NeighborLoader((store, graph), [3], torch.arange(5), time_attr="none_such")

    def test_a_graph_in_place_of_an_edge_index(self):
        data = homogeneous()
        graph = garner.build(data.edge_index, num_nodes=100, keep_duplicates=True, keep_loops=True)
        pairs = set(map(tuple, data.edge_index.t().tolist()))
        for key in [key for key in data.keys() if data.is_edge_attr(key)]:
            del data[key]
        for place in (None, "simulated"):
            seen = 0
            for batch in NeighborLoader(data, [3, 2], batch_size=30, graph=graph, device=place):
                self.assertTrue(torch.equal(batch.x, data.x[batch.n_id]))
                self.assertTrue({tuple(pair) for pair in batch.n_id[batch.edge_index].t().tolist()} <= pairs)
                seen += batch.num_edges
            self.assertGreater(seen, 100)


if __name__ == "__main__":
    unittest.main()
