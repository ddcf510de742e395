"""The four graph algorithms on arrays of Python's, against twins in plain Python, on every device of this machine."""
import collections
import contextlib
import heapq
import os
import unittest

import numpy as np

import garner

places = ["host", "simulated"] + ["device"] * bool(garner.info()["devices"])


def edges_of(seed=1, vertices=300, edges=1500):
    rng = np.random.default_rng(seed)
    return rng.integers(0, vertices, edges), rng.integers(0, vertices, edges), rng.integers(0, 100, edges)


def lists_of(source, target, weights, undirected):
    lists = collections.defaultdict(list)
    for s, t, w in zip(source.tolist(), target.tolist(), weights.tolist()):
        if s != t:
            lists[s].append((t, w))
            if undirected:
                lists[t].append((s, w))
    return lists


def depths(lists, source, vertices):
    depth = np.full(vertices, -1, np.int64)
    depth[source] = 0
    queue = collections.deque([source])
    while queue:
        v = queue.popleft()
        for t, _ in lists[v]:
            if depth[t] < 0:
                depth[t] = depth[v] + 1
                queue.append(t)
    return depth


def distances(lists, source, vertices):
    distance = np.full(vertices, -1, np.int64)
    heap = [(0, source)]
    while heap:
        d, v = heapq.heappop(heap)
        if distance[v] >= 0:
            continue
        distance[v] = d
        for t, w in lists[v]:
            heapq.heappush(heap, (d + w, t))
    return distance

counts_requests = not os.environ.get("GARNER_STREAMS")  # streams do not


class Jobs(unittest.TestCase):
    def graph(self, where, **options):
        source, target, weights = edges_of()
        g = garner.build(source, target, weights, num_nodes=300, **options)
        return g.to(where) if where == "device" else g

    def test_over_shards_what_one_place_gives(self):
        g = self.graph("host", undirected=True)
        jobs = [(lambda **o: garner.bfs(g, 5, **o), "depth"), (lambda **o: garner.components(g, **o), "label"),
                (lambda **o: garner.pagerank(g, **o), "rank")]
        for job, result in jobs:
            self.assertEqual(job().run.shards, [])
            for where in places:
                with self.subTest(result=result, where=where):
                    r = job(devices=[where] * 3, verify=True)
                    np.testing.assert_array_equal(getattr(r, result), getattr(job(), result))
                    self.assertTrue(r.run.verified)
                    self.assertEqual([s.device.split(":")[0] for s in r.run.shards], [{"host": "cpu", "device": "cuda"}.get(where, where)] * 3)
                    self.assertEqual(sum(s.vertices for s in r.run.shards), 300)
                    self.assertEqual(sum(s.edges for s in r.run.shards), g.info.num_edges)
                    exchanged = sum(s.bytes_exchanged for s in r.run.shards)
                    self.assertGreater(exchanged, 0)
                    steps = next(getattr(r.run, name) for name in ("levels", "phases", "rounds") if hasattr(r.run, name))
                    self.assertTrue(0 < sum(step.bytes_exchanged for step in steps) <= exchanged)
        with self.assertRaises(garner.UsageError):
            garner.bfs(g, 5, devices=["host", "simulated"])
        with self.assertRaises(TypeError):
            garner.bfs(g, 5, devices="host")

    def test_bfs_from_several_sources_to_a_depth(self):
        for where in ("host", "simulated"):
            g = self.graph(where)
            alone = [garner.bfs(g, s, device=where) for s in (5, 9, 5)]
            r = garner.bfs(g, sources=np.array([5, 9, 5]), device=where, verify=True)
            self.assertEqual((r.depth.shape, r.parent.shape, len(r.runs)), ((3, g.info.num_nodes), (3, g.info.num_nodes), 3))
            for s, one in enumerate(alone):
                np.testing.assert_array_equal(r.depth[s], one.depth)
                self.assertEqual(r.runs[s].reached, one.run.reached)
            near = garner.bfs(g, 5, max_depth=1, device=where, verify=True)
            np.testing.assert_array_equal(near.depth, np.where(alone[0].depth > 1, garner.UNREACHED, alone[0].depth))
        for given in ({}, {"source": 5, "sources": [5]}, {"sources": []}):
            with self.assertRaisesRegex(garner.UsageError, "source"):
                garner.bfs(g, **given)

    def test_bfs(self):
        for undirected in (False, True):
            twin = depths(lists_of(*edges_of(), undirected), 5, 300)
            for where in places:
                with self.subTest(undirected=undirected, where=where):
                    r = garner.bfs(self.graph(where, undirected=undirected), 5, device=where, verify=True)
                    np.testing.assert_array_equal(r.depth, twin)
                    self.assertEqual((r.depth.dtype, r.parent.dtype), (np.int64, np.int64))
                    reached = twin >= 0
                    np.testing.assert_array_equal(r.parent == -1, ~reached)
                    self.assertEqual({garner.UNREACHED, garner.NO_VERTEX, garner.UNREACHED_DISTANCE}, {-1})
                    self.assertEqual(r.parent[5], 5)
                    others = reached.copy()
                    others[5] = False
                    np.testing.assert_array_equal(twin[r.parent[others]] + 1, twin[others])
                    self.assertEqual(r.run.reached, reached.sum())
                    self.assertEqual(r.run.depth_max, twin[reached].max())
                    self.assertTrue(r.run.verified)
                    self.assertEqual(sum(level.frontier for level in r.run.levels), r.run.reached)
                    self.assertEqual(r.run.link.bytes_link > 0, where != "host" and counts_requests)

    def test_managed_edges_are_read_by_pages(self):
        g = self.graph("simulated", undirected=True)
        for run in (lambda how: garner.bfs(g, 5, device="simulated", **how), lambda how: garner.components(g, device="simulated", **how)):
            host, managed = run({}), run({"edges": "managed", "verify": True})
            self.assertEqual((host.run.link.pages, host.run.edges), (0, managed.run.edges))
            self.assertEqual(managed.run.link.pages > 0, counts_requests)
        np.testing.assert_array_equal(garner.score(g, train=[1, 2], device="simulated", edges="managed"), garner.score(g, train=[1, 2]))
        for how in ({}, {"device": "simulated", "adjacency": "managed"}):
            sample = garner.BlockSampler(g, [4, 3], **how).sample([1, 2], 0)
            ids = sample.of_type(0).ids if not how else ids
            np.testing.assert_array_equal(sample.of_type(0).ids, ids)
        np.testing.assert_array_equal(garner.random_walk(g, [1, 2], 5, device="simulated", edges="managed"), garner.random_walk(g, [1, 2], 5))

    def test_sssp(self):
        twin = distances(lists_of(*edges_of(), True), 5, 300)
        for where in places:
            g = self.graph(where, undirected=True)
            with self.subTest(where=where):
                r = garner.sssp(g, 5, device=where, variant="near_far", verify=True)
                self.assertEqual(r.distance.dtype, np.int64)
                np.testing.assert_array_equal(r.distance, twin)

    def test_sssp_of_real_weights(self):
        for kind in (np.float32, np.float64):
            g = garner.build([0, 1, 3], [1, 2, 4], np.array([0.5, 0.25, 1], kind))
            self.assertEqual(g.info.weights, "f32")
            np.testing.assert_array_equal(garner.sssp(g, 0).distance, np.array([0, 0.5, 0.75, np.inf, np.inf], np.float32))

    def test_components(self):
        for where in places:
            g = garner.build([1, 2, 7, 9], [2, 3, 8, 9], num_nodes=10, undirected=True)
            r = garner.components(g.to(where) if where == "device" else g, device=where, verify=True)
            np.testing.assert_array_equal(r.label, [0, 1, 1, 1, 4, 5, 6, 7, 7, 9])
            self.assertEqual(r.label.dtype, np.int64)
            self.assertEqual((r.run.components, r.run.largest), (7, 3))

    def test_pagerank(self):
        source, target, _ = edges_of()
        matrix = np.zeros((300, 300))
        for s, t in {(s, t) for s, t in zip(source.tolist(), target.tolist()) if s != t}:
            matrix[t, s] = 1
        out = matrix.sum(axis=0)
        twin = np.full(300, 1 / 300)
        for _ in range(20):
            twin = 0.15 / 300 + 0.85 * (matrix @ np.divide(twin, out, out=np.zeros(300), where=out > 0) + twin[out == 0].sum() / 300)
        for where in places:
            r = garner.pagerank(self.graph(where, in_edges=True), device=where, iterations=20)
            self.assertEqual((r.rank.dtype, r.run.iterations), (np.float32, 20))
            np.testing.assert_allclose(r.rank, twin, rtol=1e-4)
        r = garner.pagerank(self.graph("host", in_edges=True), personalization={5: 1.0, 7: 3.0})
        self.assertEqual(r.rank.argmax(), 7)
        self.assertTrue(r.run.converged)

    def test_pagerank_is_that_of_networkx(self):
        try:
            import networkx
        except ImportError:
            self.skipTest("needs NetworkX")
        draw = np.random.default_rng(6)
        for directed in (True, False):
            graph = networkx.gnp_random_graph(60, 0.06, seed=5, directed=directed)
            for kind in (int, float):
                for u, v in graph.edges:
                    graph[u][v]["weight"] = kind(draw.integers(0, 9)) if kind is int else float(draw.random()) * 1e-40
                for personal in (None, {0: 1, 7: 0, 9: 2.5}, {59: 1e-30}):
                    for where in places:
                        g = garner.build(graph, in_edges=directed)
                        g = g.to(where) if where == "device" else g
                        for weighted in (True, False):
                            twin = networkx.pagerank(graph, personalization=personal, weight="weight" if weighted else None, tol=1e-12, max_iter=5000)
                            r = garner.pagerank(g, weighted=weighted, personalization=personal, tolerance=1e-9, device=where, verify=True)
                            np.testing.assert_allclose(r.rank, [twin[v] for v in range(60)], atol=1e-6)
                            self.assertEqual((r.run.weighted, "not weighted" in repr(r.run)), (weighted, not weighted))
        plain = garner.build([0, 1], [1, 2], in_edges=True)
        for wrong, words in ((lambda: garner.pagerank(plain, weighted=True), "has no weights; build it with weights"),
                             (lambda: garner.pagerank(g, weighted=True, devices=["host", "host"]), "do not run over 2 devices"),
                             (lambda: garner.pagerank(g, weighted="weight"), "weighted"),
                             (lambda: garner.pagerank(g, personalization={0: 0, 1: 0.0}), "are all 0"),
                             (lambda: garner.pagerank(g, personalization={0: -1.0, 1: 2}), "use a number from 0")):
            with self.assertRaisesRegex((ValueError, TypeError), words):
                wrong()

    def test_searches_keep_their_state_and_hold_the_graph(self):
        g = self.graph("host", undirected=True)
        search = garner.BfsSearch(g, variant="levels")
        self.assertRaisesRegex(garner.UsageError, "call run", search.depths)
        for source in (5, 6):
            self.assertEqual(search.run(source).source, source)
            np.testing.assert_array_equal(search.depths(), garner.bfs(g, source).depth)
            self.assertEqual(search.parents()[source], source)
        self.assertIs(g.to("cpu"), g)  # where it lies already
        self.assertRaisesRegex(garner.UsageError, "in use by a training, a loader, a search", g.reorder, "degree")
        shortest = garner.SsspSearch(g)
        shortest.run(5)
        np.testing.assert_array_equal(shortest.distances(), garner.sssp(g, 5).distance)
        self.assertEqual(shortest.parents()[5], 5)
        del g
        search.run(7)  # the search keeps its graph alive
        self.assertEqual(search.depths()[7], 0)

    def test_results_speak_dlpack_and_outlive_the_call(self):
        depth = garner.bfs(self.graph("host"), 5).depth
        twin = np.from_dlpack(depth)
        self.assertEqual(twin.ctypes.data, depth.ctypes.data)
        before = depth.copy()
        del depth
        np.testing.assert_array_equal(twin, before)

    def test_options_that_cannot_be(self):
        g = self.graph("host")
        for wrong, kind, words in [
                (lambda: garner.bfs(g, 300), garner.InputError, "300 does not exist"),
                (lambda: garner.bfs(g, 0, device="moon"), garner.UsageError, "use .cpu., .cuda., .cuda:N., N or .simulated."),
                (lambda: garner.bfs(g, 0, variant="fast"), garner.UsageError, "use one of direction, levels"),
                (lambda: garner.bfs(g, 0, access="merged"), TypeError, "option 'access' belongs to garner-lab"),
                (lambda: garner.bfs(g, 0, edges="file"), garner.UsageError, ""),
                (lambda: garner.bfs(g, 0, graph_cache="8 apples"), garner.UsageError, "8GiB"),
                (lambda: garner.bfs(g, 0, graph_cache=-1), garner.UsageError, "8GiB"),
                (lambda: garner.bfs(g, 0, speed=1), TypeError, "no option 'speed'"),
                (lambda: garner.bfs(g, 0, cached_neighbors="x"), TypeError, "cached_neighbors='x' is of the wrong type"),
                (lambda: garner.bfs(g, 0, cached_neighbors=33), garner.UsageError, "33"),
                (lambda: garner.bfs(g, 300), IndexError, "300 does not exist"),
                (lambda: garner.bfs(g, -1), garner.IdError, "source -1 does not exist"),
                (lambda: garner.BfsSearch(g).run(-1), IndexError, "source -1 does not exist"),
                (lambda: garner.bfs(g, 0.5), TypeError, "source=0.5 is not an id"),
                (lambda: garner.bfs(g), garner.UsageError, r"^give one source, or several as sources=\[...\]$"),
                (lambda: garner.bfs("g", 0), TypeError, "graph='g' is not a Graph; make one with garner.build"),
                (lambda: garner.bfs(g, 0, 1), TypeError, "takes 2 arguments and was given 3; pass options by name"),
                (lambda: garner.bfs(g, 0, source=0), TypeError, "source was given twice"),
                (lambda: garner.BfsSearch(1), TypeError, r"^BfsSearch\(\): give the graph"),
                (lambda: garner.BfsSearch(), TypeError, r"^BfsSearch\(\): give the graph"),
                (lambda: garner.BfsSearch(g, 1), TypeError, r"^BfsSearch\(\): give the graph"),
                (lambda: garner.BfsSearch(graph=g).depths(), garner.UsageError, "call run"),
                (lambda: g.pick_sources(-1), TypeError, r"^Graph.pick_sources\(\): count=-1: use 0 or more"),
                (lambda: g.pick_sources(), TypeError, "count is missing"),
                (lambda: g.save(), TypeError, "file is missing"),
                (lambda: garner.generate("kron", "x"), TypeError, "scale='x' is not of type int"),
                (lambda: garner.sssp(garner.build([0], [1]), 0), garner.InputError, r"no weights.*random_weights=\(1, 255\)"),
                (lambda: garner.pagerank(g, personalization=[1]), TypeError, "personal"),
                (lambda: garner.components(g, variant="x"), garner.UsageError, "use one of afforest"),
                (lambda: garner.components(g, variant="emogi"), garner.UsageError, "variant 'emogi' belongs to garner-lab"),
                (lambda: garner.pagerank(g, l2_bytes=1), TypeError, r"^pagerank\(\): option 'l2_bytes' belongs to garner-lab, which `make lab`")]:
            with self.assertRaisesRegex(kind, words):
                wrong()

    @unittest.skipIf(garner.info()["devices"], "a device is here")
    def test_no_device_is_said(self):
        g = garner.build([0], [1])
        self.assertRaises(garner.DeviceError, g.to, "device")
        self.assertTrue(garner.info()["no_device"])


class Exchange(unittest.TestCase):
    def test_results_go_to_other_libraries_by_dlpack_without_a_copy(self):
        g = garner.build([0, 1, 3], [1, 2, 0], [2, 3, 4])
        into = [np.from_dlpack]
        with contextlib.suppress(ImportError):
            import torch
            into.append(torch.from_dlpack)
        for result, names in ((garner.bfs(g, 0), ("depth", "parent")), (garner.bfs(g, sources=[0, 1]), ("depth", "parent")),
                              (garner.sssp(g, 0), ("distance",)), (garner.components(g), ("label",)), (garner.pagerank(g), ("rank",))):
            for name in names:
                array = getattr(result, name)
                self.assertEqual(array.__dlpack_device__(), (1, 0))
                for make in into:
                    made = make(array)
                    self.assertEqual(made.tolist(), array.tolist())
                    self.assertEqual(made.data_ptr() if hasattr(made, "data_ptr") else made.ctypes.data, array.ctypes.data)


if __name__ == "__main__":
    unittest.main()
