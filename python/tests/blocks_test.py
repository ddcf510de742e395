"""Mini-batches from Python: what BlockSampler draws, against the lists; arrays that are not copied."""
import gc
import unittest

import numpy as np

import garner

try:
    import torch
except ImportError:
    torch = None


def random_graph(vertices=300, edges=4000, **how):
    made = np.random.default_rng(3)
    return garner.build(made.integers(0, vertices, edges), made.integers(0, vertices, edges), num_nodes=vertices, **how)


class Blocks(unittest.TestCase):
    def check(self, g, b, fanouts, seeds, replace=False, side="out"):
        """Sampled edges are edges of the graph, and each node has as many as its fanout allows."""
        offsets, targets, _ = g.csr()
        v, e = b.of_type(0), b.of_relation(0)
        np.testing.assert_array_equal(v.ids[:len(seeds)], seeds)
        self.assertEqual((sum(v.by_hop), sum(e.by_hop), len(v.by_hop), len(e.by_hop)), (len(v), len(e), len(fanouts) + 1, len(fanouts)))
        self.assertTrue(all(isinstance(n, int) for n in v.by_hop + e.by_hop))
        np.testing.assert_array_equal(e.edge_index, [e.row, e.col])
        if side == "out":
            np.testing.assert_array_equal(targets[e.edge], v.ids[e.row])
            np.testing.assert_array_equal(np.searchsorted(offsets, e.edge, "right") - 1, v.ids[e.col])
        first, drew = 0, 0
        for hop, fanout in enumerate(fanouts):
            who = np.arange(first, first + v.by_hop[hop])
            degree = np.diff(offsets)[v.ids[who]]
            if fanout >= 0:
                degree = np.where(degree > 0, fanout, 0) if replace else np.minimum(degree, fanout)
            col = e.col[drew:drew + e.by_hop[hop]]
            np.testing.assert_array_equal(col, np.repeat(who, degree))
            if fanout < 0 and side == "out":  # each once, with replacement too
                edge = e.edge[drew:drew + e.by_hop[hop]]
                self.assertEqual(len(np.unique(np.stack([col, edge], 1), axis=0)), len(edge))
            first, drew = first + v.by_hop[hop], drew + e.by_hop[hop]

    def test_of_a_graph(self):
        g = random_graph(undirected=True)
        for fanouts in ([5, 3], [-1, -1], [2, 0, 4], [1]):
            for replace in (False, True):
                for place in ("host", "simulated"):
                    s = garner.BlockSampler(g, fanouts, edge_ids=True, replace=replace, device=place)
                    seeds = [4, 250, 17, 17]
                    with self.subTest(fanouts=fanouts, replace=replace, device=place):
                        self.check(g, s.sample(seeds, 7), fanouts, seeds, replace)

    def test_seeds_of_any_kind_and_a_number_draw_the_same(self):
        g = random_graph(undirected=True)
        s = garner.BlockSampler(g, [3, 3], edge_ids=True)
        want = s.sample(np.array([1, 2, 3]), 5).of_relation(0).edge.copy()
        kinds = [[1, 2, 3], np.array([1, 2, 3], np.uint8), np.array([1, 9, 2, 9, 3, 9])[::2], np.array([1, 2, 3], np.uint64)]
        for seeds in kinds + ([torch.tensor([1, 2, 3]), torch.tensor([1, 2, 3]).int()] if torch else []):
            np.testing.assert_array_equal(s.sample(seeds, 5).of_relation(0).edge, want)
        other = garner.BlockSampler(g, [3, 3], edge_ids=True)
        np.testing.assert_array_equal(other.sample([1, 2, 3], 5).of_relation(0).edge, want)
        self.assertFalse(np.array_equal(s.sample([1, 2, 3], 6).of_relation(0).edge, want))
        other = garner.BlockSampler(g, [3, 3], edge_ids=True, seed=2)
        self.assertFalse(np.array_equal(other.sample([1, 2, 3], 5).of_relation(0).edge, want))

    def test_arrays_are_views_that_keep_what_they_are_of(self):
        g = random_graph(undirected=True)
        s = garner.BlockSampler(g, [4, 4])
        b = s.sample(range(50), 1)
        ids, pairs = b.of_type(0).ids, b.of_relation(0).edge_index
        self.assertTrue(np.shares_memory(ids, b.of_type(0).ids))
        self.assertTrue(np.shares_memory(pairs, b.of_relation(0).col))
        wanted = ids.copy(), pairs.copy()
        del b
        for number in range(5):
            s.sample(range(50), number)
        del s
        gc.collect()
        np.testing.assert_array_equal(ids, wanted[0])
        np.testing.assert_array_equal(pairs, wanted[1])

    @unittest.skipIf(torch is None, "needs torch")
    def test_torch_takes_arrays_as_they_are(self):
        b = garner.BlockSampler(random_graph(undirected=True), [4], disjoint=True).sample(range(20))
        for array in (b.of_type(0).ids, b.of_type(0).tree, b.of_relation(0).edge_index):
            for tensor in (torch.from_numpy(array), torch.from_dlpack(array)):
                self.assertEqual(tensor.data_ptr(), array.ctypes.data)
                np.testing.assert_array_equal(tensor.numpy(), array)

    def test_sides(self):
        g = garner.build([0, 1, 2], [3, 3, 4], in_edges=True)
        self.assertEqual(sorted(garner.BlockSampler(g, [-1]).sample([3]).of_type(0).ids), [0, 1, 3])
        self.assertEqual(list(garner.BlockSampler(g, [-1], side="out").sample([0]).of_type(0).ids), [0, 3])

    def test_options(self):
        g = random_graph(undirected=True)
        v = garner.BlockSampler(g, [3, 3], disjoint=True).sample([5, 5, 9]).of_type(0)
        self.assertEqual(v.tree[:3].tolist(), [0, 1, 2])
        self.assertEqual(len(set(zip(v.ids.tolist(), v.tree.tolist()))), len(v))
        s = garner.BlockSampler(g, [3, 3], edges=False)
        self.assertEqual(len(s.sample([5]).of_relation(0).row), 0)
        self.assertIsNone(garner.BlockSampler(g, [3]).sample([5]).of_relation(0).edge)
        b = garner.BlockSampler(g, [3, 3], induced=True).sample([5, 6])
        ids, (offsets, targets, _) = b.of_type(0).ids, g.csr()
        every = {(v, u) for v in ids.tolist() for u in targets[offsets[v]:offsets[v + 1]].tolist() if u in set(ids.tolist())}
        pairs = ids[b.of_relation(0).edge_index]
        self.assertEqual({(v, u) for u, v in pairs.T.tolist()}, every)
        all_again = garner.BlockSampler(g, [3, 3], rule="all").sample([5])
        self.assertGreater(all_again.of_relation(0).by_hop[1], 3)  # the seed draws again

    def test_labor(self):
        g = garner.build(np.repeat(np.arange(2), 40), np.tile(np.arange(2, 42), 2), num_nodes=42)
        for place in ("host", "simulated"):
            s = garner.BlockSampler(g, [5], side="out", labor=True, device=place)
            both = [set(s.sample([0, 1], number).of_type(0).ids.tolist()) for number in range(20)]
            self.assertEqual([len(ids) for ids in both], [7] * 20)  # both keep the same five
            self.assertGreater(len(set.union(*both)), 30)
            self.assertEqual(s.sample([0], 3).of_relation(0).by_hop, [5])
        for option in ({"replace": True}, {"temporal": "last", "times": np.arange(42)}):
            with self.assertRaisesRegex(garner.UsageError, f"does not go with {next(iter(option))}"):
                garner.BlockSampler(g, [5], side="out", labor=True, **option)

    def test_random_walks(self):
        g = garner.build([0, 1, 1, 2], [1, 2, 3, 0], num_nodes=5)
        walks, edges = garner.random_walk(g, [0, 4, 1], 6, return_edge_indices=True)
        self.assertEqual((walks.shape, walks.dtype, edges.shape), ((3, 7), np.int64, (3, 6)))
        offsets, targets, _ = g.csr()
        for walk, steps in zip(walks.tolist(), edges.tolist()):
            for v, u, e in zip(walk, walk[1:], steps):
                self.assertEqual((u, e) if e < 0 else (u, offsets[v] <= e < offsets[v + 1]), (v, -1) if offsets[v] == offsets[v + 1] else (targets[e], True))
        self.assertEqual(walks[1].tolist(), [4] * 7)
        self.assertTrue((garner.random_walk(g, [0, 4, 1], 6, device="simulated") == walks).all())
        self.assertFalse((garner.random_walk(g, [1] * 50, 6, seed=2) == garner.random_walk(g, [1] * 50, 6)).all())
        back = garner.random_walk(g, [3], 1, side="in")
        self.assertEqual(back.tolist(), [[3, 1]])
        two = garner.build([0, 1], [1, 2], num_nodes=3, undirected=True)
        returns = garner.random_walk(two, [0] * 2000, 2, 0.01, 1.0)
        self.assertGreater((returns[:, 2] == 0).mean(), 0.97)
        for call, error, text in ((lambda: garner.random_walk(g, [5], 3), garner.IdError, "start 5 at position 0"),
                                  (lambda: garner.random_walk(g, [0], 3, q=-1.0), garner.UsageError, "q = -1: use a number from 0.001 to 1,000"),
                                  (lambda: garner.random_walk(g, [0], 0), garner.UsageError, "walk_length=0"),
                                  (lambda: garner.random_walk(two.reorder("degree"), [0], 3, return_edge_indices=True), garner.UsageError, "reordered")):
            with self.assertRaisesRegex(error, text):
                call()

    def test_weights_and_times(self):
        g = garner.build([0] * 4, [1, 2, 3, 4], np.array([1, 0, 2, 0], np.float32), num_nodes=5)
        s = garner.BlockSampler(g, [2], side="out", weighted=True)
        for number in range(20):
            self.assertEqual(sorted(s.sample([0], number).of_type(0).ids), [0, 1, 3])
        again = garner.BlockSampler(g, [9], side="out", weighted=True, replace=True, disjoint=True, edge_ids=True)
        seen = np.bincount(again.sample([0] * 1000, 1).of_relation(0).edge, minlength=4)
        self.assertEqual((seen[1], seen[3], seen.sum()), (0, 0, 9000))
        self.assertLess((seen[0] - 3000) ** 2 / 3000 + (seen[2] - 6000) ** 2 / 6000, 10.8)  # chi-square, 1 degree of freedom: p > 0.001
        times = np.array([5, 1, 9, 5, 6])
        s = garner.BlockSampler(g, [-1], side="out", temporal="uniform", times=times)
        self.assertEqual(sorted(s.sample([0]).of_type(0).ids), [0, 1, 3])
        self.assertEqual(sorted(s.sample([0], times=[6]).of_type(0).ids), [0, 1, 3, 4])
        last = garner.BlockSampler(g, [1], side="out", temporal="last", times=times)
        self.assertEqual(list(last.sample([0], times=[6]).of_type(0).ids), [0, 4])
        of_edges = garner.BlockSampler.of_relations([5], [garner.Relation(g, [-1], side="out", times=np.array([-3, 7, 7, 8]))], temporal="uniform")
        self.assertEqual(list(of_edges.sample([0], times=[-3]).of_type(0).ids), [0, 1])

    def test_positions_in_every_order(self):
        """Times, edges and rows are by position among ids(), whatever the order inside, with ids that are not 0 to n - 1 too."""
        made = np.random.default_rng(5)
        source, target = np.sort(made.choice(10**6, 200, replace=False))[made.integers(0, 200, (2, 3000))]
        times, seeds, ages = made.integers(0, 40, 200), np.arange(0, 200, 7), made.integers(0, 40, 29)
        for by in (None, "degree", "bfs", "random", "score"):
            g = garner.build(source, target, numbering="compact", in_edges=True)
            if by:
                g.reorder(by, scores=made.random(200, np.float32) if by == "score" else None)
            offsets, targets, _ = g.csr()
            sources, of_edges = np.repeat(np.arange(200), np.diff(offsets)), made.integers(0, 40, len(targets))
            pulled = np.lexsort((sources, targets))
            for side, drawn, draws in (("in", sources[pulled], targets[pulled]), ("out", targets, sources)):
                for fanouts in ([4, 3], [-1, 2]):
                    by_vertex = garner.BlockSampler(g, fanouts, side=side, times=times, temporal="uniform", edge_ids=True)
                    by_edge = garner.BlockSampler.of_relations([200], [garner.Relation(g, fanouts, side=side, times=of_edges)], temporal="last",
                                                               edge_ids=True, device="simulated")
                    for s, time, given in ((by_vertex, times[drawn], None), (by_vertex, times[drawn], ages), (by_edge, of_edges, ages)):
                        with self.subTest(by=by, side=side, fanouts=fanouts):
                            b = s.sample(seeds, 3, times=given)
                            v, e = b.of_type(0), b.of_relation(0)
                            limit = times[seeds] if given is None else given
                            np.testing.assert_array_equal(drawn[e.edge], v.ids[e.row])
                            np.testing.assert_array_equal(draws[e.edge], v.ids[e.col])
                            self.assertTrue((time[e.edge] <= limit[v.tree[e.col]]).all())
                            allowed = np.array([((draws == seed) & (time <= age)).sum() for seed, age in zip(seeds, limit)])
                            np.testing.assert_array_equal(np.bincount(e.col[:e.by_hop[0]], minlength=29)[:29],
                                                          allowed if fanouts[0] < 0 else np.minimum(allowed, fanouts[0]))

    def test_lists_kept_by_score(self):
        g = random_graph(undirected=True)
        scores = np.random.default_rng(3).random(len(g)).astype("f4")
        none = garner.BlockSampler(g, [5, 3], device="simulated", edge_ids=True)
        some = garner.BlockSampler(g, [5, 3], device="simulated", edge_ids=True, graph_cache=2000, scores=scores)
        first = garner.BlockSampler(g, [5, 3], device="simulated", edge_ids=True, graph_cache=2000)
        self.assertRegex(some.summary(), r"near: the lists of \d+ vertices by score, \d+ edges")
        self.assertRegex(first.summary(), r"near: the first \d+ edges")
        self.assertNotIn("near", none.summary())
        for seeds in ([4, 250, 17], [1]):
            a, *others = (s.sample(seeds, 7) for s in (none, some, first))
            for b in others:
                np.testing.assert_array_equal(a.of_type(0).ids, b.of_type(0).ids)
                np.testing.assert_array_equal(a.of_relation(0).edge, b.of_relation(0).edge)
        two = [garner.Relation(g, [2], 0, 1), garner.Relation(g, [2], 1, 0)]
        several = garner.BlockSampler.of_relations([len(g)] * 2, two, device="simulated", graph_cache=4000, scores=[scores, None])
        self.assertRegex(several.summary(), r"the first \d+ edges; .* by score")
        for wrong, kind, words in [
                (lambda: garner.BlockSampler(g, [2], device="simulated", graph_cache=1, scores=scores[1:]), garner.InputError, r"\d+ scores for \d+ vertices"),
                (lambda: garner.BlockSampler.of_relations([len(g)] * 2, two, scores=[scores]), garner.UsageError, "each of the 2 types"),
                (lambda: garner.BlockSampler(g, [2], scores="high"), (TypeError, garner.UsageError), "scores")]:
            with self.assertRaisesRegex(kind, words):
                wrong()

    def test_of_relations(self):
        made = np.random.default_rng(1)
        papers, authors = 60, 20
        cites = garner.build(made.integers(0, papers, 400), made.integers(0, papers, 400), num_nodes=papers)
        writes = garner.build(made.integers(0, papers, 200), made.integers(0, authors, 200), num_nodes=papers)  # of a paper its authors
        s = garner.BlockSampler.of_relations([papers, authors], [garner.Relation(cites, [3, 2], side="out"),
                                                                garner.Relation(writes, [2, -1], source=1, target=0, side="out")], edge_ids=True)
        b = s.sample([3, 4], 9)
        self.assertEqual((b.of_type(0).by_hop[0], b.of_type(1).by_hop[0], b.number, b.seeds, b.device), (2, 0, 9, 2, "cpu"))
        for k, g, source in ((0, cites, 0), (1, writes, 1)):
            e = b.of_relation(k)
            self.assertGreater(len(e), 0)
            np.testing.assert_array_equal(g.csr()[1][e.edge], b.of_type(source).ids[e.row])
        both = s.sample_types([([7], 1, None), (np.array([3, 4]), 0, None)], 9)
        self.assertEqual((both.of_type(0).by_hop[0], both.of_type(1).by_hop[0], both.seeds), (2, 1, 3))
        self.assertEqual(both.of_type(1).ids[0], 7)

    def test_negatives(self):
        g = garner.build([0, 0, 1], [1, 2, 2], num_nodes=4)
        sources, targets = garner.sample_negatives([0, 1, 2], 4, 4, amount=1.5, number=3)
        self.assertEqual((sources.dtype, len(sources), len(targets)), (np.int64, 5, 5))
        again = garner.sample_negatives(np.array([0, 1, 2]), 4, 4, amount=1.5, number=3)
        np.testing.assert_array_equal(again, [sources, targets])
        targets = garner.sample_negatives([0] * 40, 4, 4, kind="triplet", amount=2, never_positive=True, graph=g)
        self.assertEqual((len(targets), set(targets.tolist())), (80, {0, 3}))
        for wrong, kind, words in [
                (lambda: garner.sample_negatives([4], 4, 4), garner.IdError, "source 4 at position 0"),
                (lambda: garner.sample_negatives([0], 4, 4, amount=0), garner.UsageError, "above 0"),
                (lambda: garner.sample_negatives([0], 4, 4, kind="pairs"), garner.UsageError, "binary, triplet"),
                (lambda: garner.sample_negatives([0], 4, 4, never_positive=True), garner.UsageError, "need a graph"),
                (lambda: garner.sample_negatives([0], 4, 4, graph=3), TypeError, "not a Graph"),
                (lambda: garner.sample_negatives([0] * 9, 1, 1, kind="triplet", never_positive=True, graph=garner.build([0], [0], keep_loops=True)),
                 garner.InputError, "leave never_positive= out")]:
            with self.assertRaisesRegex(kind, words):
                wrong()

    def test_refusals(self):
        g = random_graph()
        s = garner.BlockSampler(g, [3], side="out")
        for wrong, kind, words in [
                (lambda: s.sample([2, 300], 4), garner.IdError, "300 at position 1 of mini-batch 4"), (lambda: s.sample([-1]), garner.IdError, "-1"),
                (lambda: s.sample([0.5]), garner.UsageError, "whole numbers"), (lambda: s.sample([[1]]), garner.UsageError, "dimensions"),
                (lambda: s.sample([1], type=1), garner.UsageError, "type 1"), (lambda: s.sample([1], number=-1), TypeError, "number=-1"),
                (lambda: s.sample(5), garner.UsageError, "dimensions"), (lambda: s.sample([1]).of_type(1), garner.UsageError, "type 1"),
                (lambda: s.sample([1]).of_relation(1), garner.UsageError, "relation 1"),
                (lambda: s.sample_types([([1], 0, None), ([1], 0, None)]), garner.UsageError, "twice"),
                (lambda: garner.BlockSampler(g, []), garner.UsageError, "0 hops"), (lambda: garner.BlockSampler(g, [-2], side="out"), garner.UsageError, "-2"),
                (lambda: garner.BlockSampler(g, [3], side="up"), garner.UsageError, "in, out"),
                (lambda: garner.BlockSampler(g, [3], side="out", temporal="first"), garner.UsageError, "last, uniform"),
                (lambda: garner.BlockSampler(g, [3], side="out", weighted=True), garner.InputError, "weights"),
                (lambda: garner.BlockSampler(g, [3], side="out", temporal="last"), garner.InputError, "times"),
                (lambda: garner.BlockSampler(g, [3], side="out", temporal="last", times=[1]), garner.InputError, "1 times for 300"),
                (lambda: garner.BlockSampler(g, [3], side="out", induced=True, disjoint=True), garner.UsageError, "induced"),
                (lambda: garner.BlockSampler(g, [3], hops=3), TypeError, "no option 'hops'"),
                (lambda: garner.BlockSampler(g, [3], device="moon"), garner.UsageError, "moon"),
                (lambda: garner.BlockSampler.of_relations([5], [g]), TypeError, "garner.Relation"),
                (lambda: garner.BlockSampler.of_relations([5], [garner.Relation(g, [3], side="out")]), garner.InputError, "beyond the 5 of type 0"),
                (lambda: garner.BlockSampler.of_relations([300], [garner.Relation(g, [3], side="out")], times=[None, None]), garner.UsageError, "times"),
                (lambda: g.reorder("degree"), garner.UsageError, "in use")]:
            with self.assertRaisesRegex(kind, words):
                wrong()
        del s
        self.assertIs(g.to("cpu"), g)


if __name__ == "__main__":
    unittest.main()
