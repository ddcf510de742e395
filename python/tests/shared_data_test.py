"""PyG's data and graphs in host memory once for several processes: rows and edges right, no copy in the second, nothing left in the end."""
import gc
import multiprocessing
import os
import pathlib
import pickle
import signal
import unittest

import numpy as np

import garner

try:
    import torch
    from torch_geometric.data import Data, HeteroData
    from torch_geometric.transforms import ToUndirected

    import garner.torch
    from garner.pyg import LinkNeighborLoader, NeighborLoader
except ImportError:
    torch = None

nodes, edges, width = 100_000, 1_000_000, 64


def unused(name):
    return f"test-{os.getpid()}-{name}"


def file_of(name):
    return pathlib.Path(f"/dev/shm/garner-{os.geteuid()}-{name}")


def private():
    """Bytes of memory of this process's own."""
    return next(int(line.split()[1]) << 10 for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("RssAnon"))


def rows_of(ids, columns=width):
    return ids[:, None].float() + torch.arange(columns) / 128


def made():
    """Edges in no order, whose attribute is their number."""
    random = torch.Generator().manual_seed(1)
    return Data(x=rows_of(torch.arange(nodes)), y=torch.arange(nodes) % 7, edge_index=torch.randint(nodes, (2, edges), generator=random),
                number=torch.arange(edges), train_mask=torch.arange(nodes) % 3 == 0, said={"name": "papers"})


def looks(data, loader, batches=20):
    """Each row, label and edge of some mini-batches is what it should be."""
    seen = 0
    for batch in loader:
        assert torch.equal(batch.x, rows_of(batch.n_id, batch.x.shape[1])) and torch.equal(batch.y, batch.n_id % 7)
        ends = data.edge_index[:, batch.e_id]
        assert torch.equal(batch.n_id[batch.edge_index], ends) and torch.equal(batch.number, batch.e_id)
        seen += batch.e_id.numel()
        batches -= 1
        if not batches:
            break
    assert seen
    return seen


def second(name, pipe):
    """A process: attaches, trains from it, and says how much memory of its own that took."""
    torch.set_num_threads(1)
    few = Data(x=rows_of(torch.arange(50)), y=torch.arange(50) % 7, edge_index=torch.randint(50, (2, 300)), number=torch.arange(300))
    looks(few, NeighborLoader(few, [5, 3], batch_size=10))
    looks(few, LinkNeighborLoader(few, [5, 3], batch_size=10))  # what torch and Garner take at first
    before = private()
    data = garner.shared(name)
    loaders = [NeighborLoader(data, [4, 3], data.train_mask, batch_size=16, shuffle=True), LinkNeighborLoader(data, [4, 3], data.edge_index[:, :5000], batch_size=16)]
    plain = garner.torch.loader(garner.shared(name + "-graph"), [4, 3], batch_size=16, x=data.x, y=data.y)
    seen = [looks(data, loader) for loader in loaders]
    for k, batch in enumerate(plain):
        assert torch.equal(batch.x, rows_of(batch.n_id))
        if k == 5:
            break
    after = private()
    copy = data.x.clone()
    pipe.send((after - before, private() - after, seen, data.said, data.x.data_ptr() % 4096))
    pipe.recv()
    assert torch.equal(copy, data.x) and looks(data, loaders[0])
    pipe.send("still there")


@unittest.skipIf(torch is None, "needs torch and torch_geometric")
class SharedData(unittest.TestCase):
    def tearDown(self):
        gc.collect()
        left = list(pathlib.Path("/dev/shm").glob(f"garner-{os.geteuid()}-test-{os.getpid()}-*"))
        for file in left:
            file.unlink()
        self.assertEqual(left, [])

    def test_a_second_process_holds_no_copy(self):
        name, spawn = unused("data"), multiprocessing.get_context("spawn")
        data = made()
        graph = garner.shared(name + "-graph", garner.build(data.edge_index, num_nodes=nodes, in_edges=True))
        data = garner.shared(name, data)
        self.assertGreater(looks(data, NeighborLoader(data, [4, 3], data.train_mask, batch_size=64)), 0)
        ends = []
        for _ in range(2):
            ours, theirs = spawn.Pipe()
            process = spawn.Process(target=second, args=(name, theirs))
            process.start()
            theirs.close()
            ends.append((process, ours))
        for _, pipe in ends:
            self.assertTrue(pipe.poll(120))
            took, copied, seen, said, at = pipe.recv()
            self.assertGreater(copied, nodes * width * 4 * 0.9)  # a copy shows
            self.assertLess(took, 12 << 20)  # of 55 MB; it is what loaders have ready
            self.assertEqual((said, at), ({"name": "papers"}, 0))
        (killed, _), (process, pipe) = ends
        os.kill(killed.pid, signal.SIGKILL)
        killed.join()
        del data, graph
        gc.collect()
        self.assertTrue(file_of(name).exists() and file_of(name + "-graph").exists(), "the other process holds them")
        pipe.send("go")
        self.assertEqual(pipe.recv(), "still there")
        process.join()
        self.assertEqual(process.exitcode, 0)
        self.assertFalse(file_of(name).exists() or file_of(name + "-graph").exists())

    def test_adjacency_is_made_once(self):
        """Once for the very edge_index that was shared; for another one each process makes its own."""
        data = garner.shared(unused("once"), made())
        seen = garner.shared(unused("once"))
        self.assertNotEqual(seen.x.data_ptr(), data.x.data_ptr())  # mapped twice here
        from garner.pyg import source
        for found in (data, seen):
            lists = source.read(found, None, None, False).lists[None]
            again = source.read(found, None, None, False).lists[None]
            self.assertEqual(lists.graph.csr()[1].ctypes.data, again.graph.csr()[1].ctypes.data)
            self.assertEqual(lists.perm.data_ptr(), again.perm.data_ptr())
        flipped = seen.edge_index.flip(0)
        other = Data(x=seen.x, y=seen.y, number=seen.number, edge_index=flipped)
        looks(other, NeighborLoader(other, [4, 3], batch_size=64))
        both = ToUndirected()(Data(x=seen.x, y=seen.y, edge_index=seen.edge_index))
        batch = next(iter(NeighborLoader(both, [-1], batch_size=64)))
        self.assertTrue(torch.equal(batch.n_id[batch.edge_index], both.edge_index[:, batch.e_id]))
        weighted = Data(x=seen.x, y=seen.y, number=seen.number, edge_index=seen.edge_index, w=torch.ones(edges))
        looks(weighted, NeighborLoader(weighted, [4, 3], batch_size=64, weight_attr="w"))
        looks(seen, NeighborLoader(seen, [4, 3], batch_size=64, num_workers=1), 5)  # forks

    def test_adjacency_by_weights_and_times(self):
        data = made()
        data.w, data.time, data.since = torch.rand(edges) + 0.1, torch.randint(1000, (nodes,)), torch.randint(1000, (edges,))
        types = HeteroData()
        types["a"].x, types["a"].time, types["b"].x = rows_of(torch.arange(500), 3), torch.arange(500) % 9, rows_of(torch.arange(400), 3)
        types["a", "to", "b"].edge_index = torch.stack([torch.randint(500, (3000,)), torch.randint(400, (3000,))])
        from garner.pyg import source
        for k, (whole, attrs) in enumerate(((data, {"weight_attr": "w"}), (data, {"time_attr": "time"}), (data, {"time_attr": "since"}), (types, {"time_attr": "time"}))):
            with self.subTest(attrs=attrs, types=whole is types):
                first = garner.shared(unused(f"by-{k}"), whole, **attrs)
                seen = garner.shared(unused(f"by-{k}"))
                named = attrs.get("time_attr"), attrs.get("weight_attr")
                for t in seen.edge_types if whole is types else [None]:
                    once, again = (source.read(seen, *named, False).lists[t] for _ in range(2))
                    self.assertEqual(once.graph.csr()[1].ctypes.data, again.graph.csr()[1].ctypes.data)
                options = dict(num_neighbors=[4, 3], input_nodes=("b", torch.arange(100)) if whole is types else torch.arange(100), batch_size=25, **attrs)
                options.update({"input_time": torch.arange(100) * 10} if "time_attr" in attrs else {})
                torch.manual_seed(2)
                want = list(NeighborLoader(whole, **options))
                for found in (first, seen):
                    torch.manual_seed(2)
                    for a, b in zip(want, NeighborLoader(found, **options), strict=True):
                        for one, other in zip(a.stores, b.stores):
                            if "n_id" in one:
                                self.assertTrue(torch.equal(one.n_id, other.n_id))
                            if "e_id" in one:
                                self.assertTrue(torch.equal(one.edge_index, other.edge_index) and torch.equal(one.e_id, other.e_id))
        with self.assertRaisesRegex(garner.UsageError, "weight_attr= and time_attr= are for data of PyG"):
            garner.shared(unused("by"), np.ones((3, 2)), weight_attr="w")
        with self.assertRaisesRegex(garner.UsageError, "'none'"):
            garner.shared(unused("by"), data, weight_attr="none")

    def test_several_types(self):
        data = HeteroData()
        data["user"].x, data["item"].x, data["item"].y = rows_of(torch.arange(300), 5), rows_of(torch.arange(200), 9).half(), torch.arange(200)
        data["user", "buys", "item"].edge_index = torch.stack([torch.randint(300, (2000,)), torch.randint(200, (2000,))])
        data["user", "buys", "item"].edge_attr = torch.rand(2000, 3)
        data["item", "by", "user"].edge_index = data["user", "buys", "item"].edge_index.flip(0)
        data["user", "knows", "user"].edge_index = torch.empty(2, 0, dtype=torch.int64)
        data.year = 2024
        made = garner.shared(unused("hetero"), data)
        seen = garner.shared(unused("hetero"))
        self.assertEqual((type(seen), seen.year, seen.metadata()), (HeteroData, 2024, data.metadata()))
        options = dict(num_neighbors=[5, 4], input_nodes=("item", torch.arange(50)), batch_size=25)
        torch.manual_seed(1)
        want = list(NeighborLoader(data, **options))
        for found in (made, seen):
            torch.manual_seed(1)
            for a, b in zip(want, NeighborLoader(found, **options), strict=True):
                for t in ("user", "item"):
                    self.assertTrue(torch.equal(a[t].x, b[t].x) and torch.equal(a[t].n_id, b[t].n_id))
                for t in data.edge_types:
                    self.assertTrue(torch.equal(a[t].edge_index, b[t].edge_index) and torch.equal(a[t].e_id, b[t].e_id))
                self.assertTrue(torch.equal(a["user", "buys", "item"].edge_attr, b["user", "buys", "item"].edge_attr))

    def test_kinds_of_values(self):
        bf16 = torch.rand(40, 3).to(torch.bfloat16)
        data = Data(x=bf16, flags=torch.arange(40) % 2 == 0, edge_index=torch.randint(40, (2, 90), dtype=torch.int32), array=np.arange(40.0), none=None,
                    number=torch.tensor(5), text=["a"] * 3, column=torch.arange(80).reshape(2, 40).t(), weight=torch.nn.Parameter(torch.ones(3)))
        data.twice = data.x
        seen = garner.shared(unused("kinds"), data)
        again = garner.shared(unused("kinds"))
        for found in (seen, again):
            for key in data.keys():
                a, b = data[key], found[key]
                self.assertTrue(torch.equal(a, b) and a.dtype == b.dtype if isinstance(a, torch.Tensor) else np.array_equal(a, b) if key == "array" else a == b, key)
            self.assertEqual(found.twice.data_ptr(), found.x.data_ptr())
        seen.x[3] = 7  # its creator may write
        self.assertTrue((again.x[3] == 7).all())
        self.assertTrue(torch.equal(pickle.loads(pickle.dumps(again)).x, again.x))  # elsewhere as tensors are

    def test_graphs(self):
        plain = garner.generate("kron", 9, random_weights=(1, 9))
        gaps = garner.build([10, 500, 90], [500, 90, 10], [1.5, 2.5, 3.5], numbering="compact", in_edges=True)
        for k, graph in enumerate((plain, gaps, garner.generate("web", 9).reorder("degree"))):
            garner_made = garner.shared(unused(f"graph-{k}"), graph)
            seen = garner.shared(unused(f"graph-{k}"))
            for found in (garner_made, seen):
                self.assertEqual((found.digest(), repr(found.info.in_edges), len(found)), (graph.digest(), repr(graph.info.in_edges), len(graph)))
                self.assertTrue(np.array_equal(found.ids(), graph.ids()))
                source = int(graph.ids()[1])
                self.assertTrue(np.array_equal(garner.bfs(found, source, verify=True).depth, garner.bfs(graph, source).depth))
            kept = seen.csr()[1]
            del garner_made, seen, found
            gc.collect()
            self.assertTrue(np.array_equal(kept, graph.csr()[1]))
            del kept

    def test_what_is_wrong_is_said(self):
        data = Data(x=torch.ones(5, 2), edge_index=torch.zeros(2, 3, dtype=torch.int64))
        with self.assertRaisesRegex(garner.UsageError, "dtype=f32 is for a table of numbers"):
            garner.shared(unused("dtype"), data, "f32")
        held = garner.shared(unused("held"), data)
        with self.assertRaisesRegex(garner.UsageError, "held"):
            garner.shared(unused("held"), data)
        with self.assertRaisesRegex(garner.IdError, "edge_index"):
            garner.shared(unused("ids"), Data(x=torch.ones(5, 2), edge_index=torch.tensor([[0], [7]])))
        with self.assertRaisesRegex(garner.UsageError, "lies in this process alone"):
            garner.shared(unused("tiered"), Data(x=garner.tiered(torch.ones(5, 2), device="cpu")))
        with self.assertRaisesRegex(garner.UsageError, "left in the file"):
            with __import__("tempfile").TemporaryDirectory() as folder:
                garner.generate("kron", 8).save(folder + "/g.gnr")
                garner.shared(unused("file"), garner.open(folder + "/g.gnr", edges="file"))
        self.assertEqual(held.num_nodes, 5)


if __name__ == "__main__":
    unittest.main()
