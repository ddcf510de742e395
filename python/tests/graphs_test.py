"""Graphs made, described, saved and read again; arrays of every kind; errors as Python has them."""
import gc
import os
import pathlib
import subprocess
import tempfile
import threading
import unittest

import numpy as np

import garner

garner_program = os.environ.get("GARNER_PROGRAM")


class Graphs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_a_graph_that_cannot_be_moved_stays(self):
        g = garner.build([0, 1], [1, 2])
        with self.assertRaises(garner.DeviceError):
            g.to("device:63")
        self.assertEqual(list(garner.bfs(g, 0).depth), [0, 1, 2])

    def test_sizes_are_parsed_alike_everywhere(self):
        for text, size in (("8 GiB", 8 << 30), ("8GB", 8 * 10**9), ("512 MB", 512 * 10**6), ("1.5 GiB", 3 << 29), ("8G", 8 << 30), (4096, 4096)):
            self.assertEqual(garner.parse_bytes(text), size)
        with self.assertRaisesRegex(garner.UsageError, "not a number of bytes"):
            garner.parse_bytes("8 lots")

    def test_opens_graphs_by_name(self):
        self.assertEqual(garner.open("kron:8").info.num_edges, garner.generate("kron", 8).info.num_edges)
        with self.assertRaisesRegex(garner.UsageError, "KIND:SCALE"):
            garner.open("kron:80")

    def test_build_takes_every_kind_of_whole_numbers(self):
        for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
            with self.subTest(kind=kind):
                g = garner.build(np.array([0, 3, 3], kind), np.array([1, 1, 2], kind), undirected=True)
                self.assertEqual((g.info.num_nodes, g.info.num_edges, g.info.directed), (4, 6, False))
                np.testing.assert_array_equal(garner.bfs(g, 0).depth, [0, 1, 3, 2])

    def test_build_takes_strides_lists_and_read_only_arrays(self):
        both = np.array([[0, 1], [1, 2], [2, 3]])
        both.flags.writeable = False
        for source, target in [(both[:, 0], both[:, 1]), ([0, 1, 2], (1, 2, 3)), (both[::-1, 0], both[::-1, 1]),
                               (memoryview(np.arange(3)), range(1, 4))]:
            np.testing.assert_array_equal(garner.bfs(garner.build(source, target), 0).depth, [0, 1, 2, 3])

    def test_build_tells_what_it_dropped(self):
        g = garner.build([0, 0, 1], [1, 1, 1], num_nodes=5)
        self.assertEqual((g.report.edges_read, g.report.duplicates_dropped, g.report.loops_dropped, g.report.isolated), (3, 1, 1, 3))
        self.assertEqual(len(g), 5)
        self.assertIn("5 vertices, 1 edges, directed", repr(g))

    def test_empty(self):
        g = garner.build([], [], num_nodes=3)
        np.testing.assert_array_equal(garner.components(g).label, [0, 1, 2])
        self.assertEqual(g.pick_sources(4).shape, (0,))

    def test_build_refuses(self):
        for wrong, kind, words in [
                (lambda: garner.build([0, 1], [1]), garner.UsageError, "2 sources for 1 targets"),
                (lambda: garner.build([0, -7], [1, 1]), garner.InputError, r"source\[1\] is -7"),
                (lambda: garner.build([0], [2**64 - 1]), garner.InputError, "2\\^64 - 2"),
                (lambda: garner.build([0.5], [1.5]), garner.UsageError, "float64"),
                (lambda: garner.build([[0]], [[1]]), garner.UsageError, "2 dimensions"),
                (lambda: garner.build(["a"], ["b"]), TypeError, "source"),
                (lambda: garner.build([0], [1], [1, 2]), garner.UsageError, "2 weights for 1 edges"),
                (lambda: garner.build([0], [1], [-1]), garner.InputError, r"weights\[0\] is -1"),
                # Floats of 64 bits that 32 bits make 0 or infinite.
                (lambda: garner.build([0, 3], [1, 4], [1.0, 1e-50]), garner.InputError,
                 r"^edge 1: 3 -> 4: its weight is 1e-50; weights are 32-bit floats, .*multiply"),
                (lambda: garner.build([0, 3], [1, 4], [1.0, 5e-324]), garner.InputError, "edge 1: 3 -> 4: its weight is 4.9"),
                (lambda: garner.build([0], [1], np.array([9., 1e39])[1:]), garner.InputError, "edge 0: 0 -> 1: its weight is 1e"),
                (lambda: garner.build([0], [1], random_weights=(0.0, 1e300)), garner.UsageError, "do not fit a 32-bit float"),
                (lambda: garner.build([0], [1], [2**32]), garner.InputError, "4294967295"),
                (lambda: garner.build([0], [1], [float("nan")]), garner.InputError, "nan"),
                (lambda: garner.build([0], [1], id_bytes=3), garner.UsageError, "id_bytes 3"),
                (lambda: garner.build([0], [1], random_weights=(5, 1)), garner.UsageError, "low <= high"),
                (lambda: garner.build([0], [1], numbering="odd"), garner.UsageError, "automatic, compact, keep"),
                (lambda: garner.generate("torus"), garner.UsageError, "kron, uniform, web"),
                (lambda: garner.generate(scale=40), garner.UsageError, "1 to 31")]:
            with self.assertRaisesRegex(kind, words):
                wrong()

    def test_errors_are_pythons_too(self):
        self.assertTrue(issubclass(garner.UsageError, (garner.Error, ValueError)))
        for own, pythons in [(garner.Error, RuntimeError), (garner.UsageError, ValueError), (garner.InputError, ValueError),
                             (garner.FileError, OSError), (garner.OutOfMemory, MemoryError), (garner.DeviceError, garner.Error),
                             (garner.InternalError, garner.Error), (garner.Interrupted, KeyboardInterrupt)]:
            self.assertTrue(issubclass(own, pythons), own)
        self.assertFalse(issubclass(garner.Interrupted, Exception))
        with self.assertRaisesRegex(OSError, "nothing.gnr: cannot be opened"):
            garner.open(self.folder / "nothing.gnr")
        with self.assertRaises(MemoryError):
            garner.build([0], [1], memory_limit=1)
        (self.folder / "bad.gnr").write_bytes(b"no graph at all" * 100)
        with self.assertRaises(ValueError):
            garner.open(self.folder / "bad.gnr")

    def test_saved_and_read_again(self):
        g = garner.generate("kron", 8, random_weights=(1, 9), in_edges=True)
        self.assertEqual((g.info.num_nodes, g.info.weights), (256, "u32"))
        twin = garner.sssp(g, 3).distance
        file = self.folder / "möbius.gnr"
        self.assertEqual(g.save(file), [])
        again = garner.open(str(file))
        self.assertIsNone(again.report)
        self.assertEqual(again.info.num_edges, g.info.num_edges)
        np.testing.assert_array_equal(garner.sssp(again, 3).distance, twin)
        self.assertEqual(garner.open(os.fsencode(file), weights=False).info.weights, "none")
        g.save(self.folder / "k.wel")
        np.testing.assert_array_equal(garner.sssp(garner.read(self.folder / "k.wel"), 3).distance[:200], twin[:200])
        with self.assertRaises(garner.UsageError):
            garner.read(file)
        with self.assertRaises(garner.UsageError):
            g.save(self.folder / "k.gr")

    def test_reorder_keeps_ids(self):
        g = garner.generate("web", 9)
        ids, depth = g.ids(), garner.bfs(g, 9).depth
        self.assertIs(g.reorder("random", seed=3), g)
        self.assertEqual((g.info.order, g.info.id_map), ("random", True))
        np.testing.assert_array_equal(g.ids(), ids)
        np.testing.assert_array_equal(garner.bfs(g, 9).depth, depth)
        self.assertEqual(g.position(9), 9)
        with self.assertRaises(garner.UsageError):
            g.reorder("sideways")

    @unittest.skipUnless(garner_program, "needs the program garner")
    def test_order_by_score_has_its_name(self):
        garner.generate("web", 6).save(self.folder / "w.gnr")
        subprocess.run([garner_program, "reorder", self.folder / "w.gnr", self.folder / "s.gnr", "--by", "score", "--score", "degree"], check=True,
                       stdout=subprocess.DEVNULL)
        self.assertEqual(garner.open(self.folder / "s.gnr").info.order, "score")

    def test_sparse_ids(self):
        g = garner.build([10**12, 5], [7, 10**12], numbering="automatic")
        np.testing.assert_array_equal(g.ids(), [5, 7, 10**12])
        np.testing.assert_array_equal(garner.bfs(g, 5).depth, [0, 2, 1])
        np.testing.assert_array_equal(garner.bfs(g, 5).parent, [5, 10**12, 5])
        for wrong in (6, -1):
            with self.assertRaises(garner.IdError):
                g.position(wrong)
        with self.assertRaisesRegex(garner.InputError, "use numbering='compact' if most ids are unused"):
            garner.build([10**12, 5], [7, 10**12])
        with self.assertRaisesRegex(garner.InputError, "is more than int64 holds"):
            garner.build(np.array([2**63, 5], "u8"), [7, 8], numbering="compact").ids()

    def test_nothing_is_compacted_unasked(self):
        far = 3_000_000  # few of these ids have edges
        g = garner.build([far], [0])
        self.assertEqual((len(g), g.report.compacted), (far + 1, False))
        self.assertEqual(len(garner.build([far], [0], numbering="compact")), 2)

    def test_vertices_are_a_bound(self):
        self.assertEqual(len(garner.build([0, 1], [1, 2], num_nodes=3)), 3)
        self.assertEqual(len(garner.build([0, 1], [1, 2], num_nodes=9)), 9)
        for vertices in (2, 0):
            with self.assertRaisesRegex(garner.IdError, "edge [01]: . -> .: of ."):
                garner.build([0, 1], [1, 2], num_nodes=vertices)
        for wrong, kind in ((-1, garner.UsageError), ("x", TypeError), (1.5, TypeError)):
            with self.assertRaisesRegex(kind, "num_nodes"):
                garner.build([0], [1], num_nodes=wrong)

    def test_build_takes_an_edge_index(self):
        edges = np.array([[0, 1, 2], [1, 2, 3]])
        for given in (edges, edges.astype("i4"), np.asfortranarray(edges), edges.tolist()):
            np.testing.assert_array_equal(garner.bfs(garner.build(given), 0).depth, [0, 1, 2, 3])
        g = garner.build(edges, weights=[3, 4, 5], num_nodes=6)
        np.testing.assert_array_equal(garner.sssp(g, 0).distance, [0, 3, 7, 12, -1, -1])
        for wrong in (edges.T, np.zeros((2, 2, 2), int), [1, 2, 3], 5, {"edges": 1}, [[1], [2, 3]], None, object()):
            with self.assertRaisesRegex(garner.UsageError, "edge_index.*; or give source and target, a sparse matrix"):
                garner.build(wrong)
        with self.assertRaisesRegex(garner.UsageError, "garner.read"):
            garner.build("edges.el")
        for wrong in ([[1], [2, 3]], object()):
            with self.assertRaisesRegex(TypeError, "source is .*; give an array, a tensor or a list of whole numbers"):
                garner.build(wrong, [1, 2])

    def test_build_takes_matrices_of_scipy_and_csr_gives_them(self):
        try:
            import scipy.sparse
            import scipy.sparse.csgraph
        except ImportError:
            self.skipTest("needs SciPy")
        draw = np.random.default_rng(3)
        for kind in (np.float32, np.float64, np.int32, bool):
            dense = (draw.random((60, 60)) < 0.05) * draw.integers(1, 50, (60, 60))
            np.fill_diagonal(dense, 0)
            dense = dense.astype(kind)
            for make in (scipy.sparse.csr_array, scipy.sparse.coo_matrix, scipy.sparse.csc_array):
                g = garner.build(make(dense))
                twin = scipy.sparse.csgraph.dijkstra(dense.astype(float), indices=3)
                found = garner.sssp(g, 3).distance.astype(float)
                np.testing.assert_allclose(np.where(found < 0, np.inf, found), twin)
                offsets, targets, weights = g.csr()
                back = scipy.sparse.csr_array((weights, targets, offsets), shape=(60, 60))
                np.testing.assert_array_equal(back.toarray(), dense.astype(back.dtype))
        self.assertEqual(garner.build(scipy.sparse.csr_array(dense), weights=False).info.weights, "none")
        with self.assertRaisesRegex(garner.InputError, "edge 1: 1 -> 0: its weight is 1e-60"):
            garner.build(scipy.sparse.csr_array(np.array([[0, 1], [1e-60, 0]])))
        with self.assertRaisesRegex(garner.UsageError, r"tiered: the rows of a csr_array do not lie .*features\.toarray\(\)"):
            garner.tiered(scipy.sparse.csr_array(dense))
        self.assertEqual(len(garner.build(scipy.sparse.csr_array((7, 7)))), 7)
        twice = scipy.sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))  # SciPy means 3
        self.assertEqual(garner.sssp(garner.build(twice), 0).distance[1], 3)
        for wrong in (lambda: garner.build(scipy.sparse.csr_array((3, 4))), lambda: garner.build(scipy.sparse.csr_array((3, 3)), num_nodes=5)):
            self.assertRaises(garner.UsageError, wrong)

    def test_build_takes_graphs_of_networkx(self):
        try:
            import networkx
        except ImportError:
            self.skipTest("needs NetworkX")
        drawn = networkx.gnp_random_graph(80, 0.05, seed=4)
        self.assertRaisesRegex(garner.UsageError, "a Graph is a graph and no table", garner.tiered, drawn)
        for graph in (drawn, drawn.to_directed(), networkx.MultiDiGraph(drawn)):
            g = garner.build(graph)
            self.assertEqual((len(g), g.info.directed, g.info.weights), (80, graph.is_directed(), "none"))
            depth = networkx.single_source_shortest_path_length(graph, 0)
            np.testing.assert_array_equal(garner.bfs(g, 0).depth, [depth.get(v, -1) for v in range(80)])
        for k, (u, v) in enumerate(drawn.edges):
            drawn[u][v]["weight"], drawn[u][v]["length"] = 1 + k % 7, 1 / (1 + k)
        for name, options in (("weight", {}), ("length", {"weights": "length"})):
            found = garner.sssp(garner.build(drawn, **options), 0).distance
            twin = networkx.single_source_dijkstra_path_length(drawn, 0, weight=name)
            np.testing.assert_allclose([found[v] for v in twin], list(twin.values()), rtol=1e-5)
        self.assertEqual(garner.build(drawn, weights=False).info.weights, "none")
        self.assertEqual(len(garner.build(networkx.empty_graph(4))), 4)
        drawn.add_edge(0, 79)
        for wrong, words in ((lambda: garner.build(networkx.path_graph(["a", "b"])), "convert_node_labels_to_integers"),
                             (lambda: garner.build(networkx.path_graph([-1, 1])), "convert_node_labels_to_integers"),
                             (lambda: garner.build(drawn, weights="none of them"), "no 'none of them'"),
                             (lambda: garner.build(drawn, weights="length"), "1 of .* edges have no 'length'")):
            with self.assertRaisesRegex(ValueError, words):
                wrong()

    def test_csr(self):
        draw = np.random.default_rng(5)
        source, target, weights = draw.integers(0, 50, 400), draw.integers(0, 50, 400), draw.integers(1, 9, 400)
        least = {}
        for u, v, w in zip(source.tolist(), target.tolist(), weights.tolist()):
            if u != v:
                least[u, v] = min(w, least.get((u, v), w))
        edges = sorted(least)
        for options, kind in (({}, np.int32), ({"id_bytes": 8}, np.int64)):
            g = garner.build(source, target, weights, num_nodes=50, **options)
            for order in ("natural", "random", "degree"):
                if order != "natural":
                    g.reorder(order)
                offsets, targets, found = g.csr()
                self.assertEqual((offsets.dtype, targets.dtype, found.dtype, offsets.shape), (np.int64, kind, np.int32, (51,)))
                np.testing.assert_array_equal(np.stack([np.repeat(np.arange(50), np.diff(offsets)), targets], 1), edges)
                np.testing.assert_array_equal(found, [least[e] for e in edges])
                self.assertFalse(targets.flags.writeable)
                again = g.csr()
                self.assertEqual(again[1].ctypes.data == targets.ctypes.data, order == "natural")  # not copied where they lie plain
                del again
                if order == "natural":
                    self.assertRaisesRegex(garner.UsageError, "in use", g.reorder, "degree")
                    copy = targets.copy()
                del offsets, targets, found
        g = garner.build(source, target, num_nodes=50)
        targets = g.csr()[1]
        del g
        np.testing.assert_array_equal(targets, copy)  # it outlives the graph
        self.assertIsNone(garner.build([0], [1]).csr()[2])
        self.assertEqual([len(part) for part in garner.build([], [], num_nodes=3).csr()[:2]], [4, 0])
        self.assertEqual(garner.build([0, 1], [1, 2], [2**31, 1]).csr()[2].tolist(), [2**31, 1])
        np.testing.assert_array_equal(garner.build([10**9, 5], [7, 10**9], numbering="compact").csr()[1], [2, 1])

    @unittest.skipUnless(garner_program, "needs the program garner")
    def test_csr_of_packed_lists(self):
        file, packed = self.folder / "plain.gnr", self.folder / "packed.gnr"
        garner.generate("web", 9, random_weights=(1, 255)).save(file)
        subprocess.run([garner_program, "convert", file, packed, "--compress"], check=True, stdout=subprocess.DEVNULL)
        opened = garner.open(packed)
        self.assertTrue(opened.info.compressed)
        for part, twin in zip(opened.csr(), garner.open(file).csr()):
            np.testing.assert_array_equal(part, twin)
        held = opened.csr()[0]
        self.assertEqual(held[0], 0)

    def test_sizes_mean_what_they_say(self):
        for size, most in (("2GB", 2 * 10**9), ("2 GiB", 2 << 30), ("2GiB", 2 << 30), ("1.5 kB", 1500), ("1.5KiB", 1536), ("1 MB", 10**6), ("0.001 TB", 10**9),
                           ("1e-3GB", 10**6), ("1e3 kb", 10**6), ("512M", 512 << 20), ("4096", 4096), (4096, 4096)):
            with self.subTest(size=size), self.assertRaisesRegex(garner.OutOfMemory, f" {most} are allowed"):
                garner.build([0], [1], num_nodes=4_000_000_000, memory_limit=size)
        for wrong in ("8 apples", "GB", "", "8 G B", "-1GB", "GB8", "8 GiBB"):
            with self.subTest(size=wrong), self.assertRaisesRegex(garner.UsageError, "8GiB"):
                garner.limit_host_memory(wrong)

    def test_sources_are_a_pure_function(self):
        g = garner.generate("uniform", 8)
        np.testing.assert_array_equal(g.pick_sources(5, 2), g.pick_sources(5, seed=2))

    def test_info(self):
        info = garner.info()
        self.assertEqual(info["version"], garner.__version__)
        self.assertRegex(info["version"], r"^\d+\.\d+\.\d+$")
        self.assertIsInstance(info["cuda"], bool)
        self.assertEqual(bool(info["devices"]), info["no_device"] is None)

    def test_other_threads_run_meanwhile(self):
        g = garner.generate("kron", 16)
        ticks, done = [0], threading.Event()

        def tick():
            while not done.is_set():
                ticks[0] += 1

        thread = threading.Thread(target=tick)
        thread.start()
        before = ticks[0]
        garner.pagerank(g, iterations=200)
        during = ticks[0] - before
        done.set()
        thread.join()
        self.assertGreater(during, 100)

    def test_threads_work_on_one_graph(self):
        g = garner.generate("kron", 10)
        twin = garner.bfs(g, 1).depth
        wrong = []

        def work():
            for _ in range(10):
                if not np.array_equal(garner.bfs(g, 1).depth, twin):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_in_lists_are_made_where_something_wants_them(self):
        rng = np.random.default_rng(5)
        edges, rows, labels = rng.integers(0, 90, (2, 700)), rng.random((90, 4), "f4"), rng.integers(0, 3, 90)
        split = np.where(np.arange(90) < 30, 1, 0)
        uses = {
            "pagerank": lambda g: garner.pagerank(g).rank, "bfs": lambda g: garner.bfs(g, 3, variant="direction").depth,
            "search": lambda g: garner.BfsSearch(g, variant="direction").run(3).reached,
            "score": lambda g: garner.score(g, by="sampled", train=[1, 2], fanouts=[2]),
            "sampler": lambda g: garner.BlockSampler(g, [2, 2]).sample([4, 5]).of_type(0).ids,
            "relation": lambda g: garner.BlockSampler.of_relations([90], [garner.Relation(g, [3])]).sample_types([([7], 0, None)], 3).of_type(0).ids,
            "part": lambda g: len(garner.GraphPart(g, 0, 2)),
            "training": lambda g: next(iter(garner.Training(g, rows, labels, split, fanouts=[2], num_layers=1, hidden_channels=4)))["loss"],
            "whole": lambda g: next(iter(garner.Training(g, rows, labels, split, fanouts=None, num_layers=2, side="out", hidden_channels=4)))["loss"]}
        for name, use in uses.items():
            with self.subTest(name):
                file = self.folder / "directed.gnr"
                garner.build(edges, num_nodes=90).save(file)
                wanted = use(garner.build(edges, num_nodes=90, in_edges=True))
                held = garner.build(edges, num_nodes=90)
                search = garner.BfsSearch(held, variant="levels")  # which goes on with the graph as it was
                for g in (garner.build(edges, num_nodes=90), garner.open(file), garner.open(file, edges="host").reorder("natural"), held):
                    self.assertFalse(g.info.in_edges)
                    self.assertNotIn("with in-edges", repr(g))
                    np.testing.assert_array_equal(use(g), wanted)
                    self.assertTrue(g.info.in_edges)
                    self.assertIn("with in-edges", repr(g))
                    np.testing.assert_array_equal(use(g), wanted)
                self.assertGreater(search.run(3).reached, 1)
                with self.assertRaisesRegex(garner.UsageError, "in use"):  # by the search, which reads the same arrays
                    held.reorder("degree")
                del search
                np.testing.assert_array_equal(garner.bfs(held.reorder("degree"), 3).depth, garner.bfs(g, 3).depth)
        g = garner.build(edges, num_nodes=90)
        self.assertIs(g.make_in_edges(), g)
        self.assertEqual(g.digest(), garner.build(edges, num_nodes=90, in_edges=True).digest())
        garner.components(g)
        self.assertFalse(garner.build(edges, undirected=True).make_in_edges().info.in_edges)
        with self.assertRaisesRegex(garner.InputError, "edges that stay in the file build none; build or read it with in_edges=True"):
            garner.pagerank(garner.open(file, edges="file"))

    def test_memory_is_given_back(self):
        def resident():
            with open("/proc/self/statm") as f:
                return int(f.read().split()[1]) * 4096

        file = self.folder / "kron.gnr"
        garner.generate("kron", 14).save(file)

        def once():
            g = garner.open(file)
            return garner.bfs(g, 1).depth, g.ids()

        for _ in range(30):  # until the allocator has what it keeps
            once()
        gc.collect()
        before = resident()
        for _ in range(60):
            once()
        gc.collect()
        self.assertLess(resident() - before, 60e6)  # one graph is 4 MB; sixty would be 240


if __name__ == "__main__":
    unittest.main()
