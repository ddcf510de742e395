"""garner.torch.remote_graph: mini-batches of a graph whose lists are split over ranks are those of the whole graph, for any number of ranks."""
import os
import shutil
import tempfile
import time
import unittest

import numpy as np

import garner

try:
    import torch

    import garner.torch
    import several_ranks
except ImportError:
    torch = None

fields = ("x", "y", "edge_index", "n_id", "input_id", "e_id", "batch")


def graphs(folder):
    """For each kind: a function that opens it, and options of remote_graph."""
    path = os.path.join(folder, "g.gnr")
    return {
        "undirected": (lambda: garner.generate("kron", 9), {}),
        "vertices": (lambda: garner.generate("kron", 9), {"balance": "vertices"}),
        "directed": (lambda: garner.build(*np.random.default_rng(1).integers(0, 700, (2, 9000)), in_edges=True), {}),
        "out": (lambda: garner.build(*np.random.default_rng(1).integers(0, 700, (2, 9000))), {"side": "out"}),
        "wide": (lambda: garner.generate("uniform", 9, id_bytes=8), {}),
        "reordered": (lambda: garner.generate("kron", 9).reorder("degree"), {}),
        "weighted": (lambda: garner.generate("kron", 9, random_weights=(0, 5)).reorder("random"), {"weighted": True}),
        "file": (lambda: garner.open(path, edges="file"), {}),
        "one list": (lambda: garner.build(np.arange(90), np.zeros(90, np.int64), in_edges=True), {}),
    }


def alike(one, other):
    for name in fields:
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None) and (a is None or torch.equal(a, b)), (name, a, b)
    for name in ("batch_size", "num_sampled_nodes", "num_sampled_edges"):
        assert getattr(one, name) == getattr(other, name), name


def same(rank, said):
    """Compared with a loader over the whole graph, in each rank."""
    for name, (opened, options) in graphs(said["folder"]).items():
        whole = opened()
        g = garner.torch.remote_graph(opened(), **options)
        assert len(g) == len(whole) and sum(g.group.all_gather(g.part.edges)) == whole.info.num_edges == g.edges, name
        n = len(whole)
        rows = torch.randn(n, 3, generator=torch.Generator().manual_seed(1))
        side = {"side": options["side"]} if "side" in options else {}
        for fanouts, more in (([5, 4], {"edge_ids": True}), ([-1], {"shuffle": True, "loading": {"window": 3}}), ([3, 0, 2], {"replace": True}),
                              ([2, 3, 3], {"drop_last": True, "loading": {"window": 1}})):
            more = {**more, "weighted": True} if "weighted" in options else more
            of = [garner.torch.loader(one, fanouts, x=rows, y=torch.arange(n), batch_size=20, seed=7, rank=rank, ranks=said["of"], **more, **also)
                  for one, also in ((whole, side), (g, {}))]
            for _ in range(2 if more.get("shuffle") else 1):
                for a, b in zip(*of, strict=True):
                    alike(a, b)
            input_id = torch.arange(5)
            alike(of[0].sampled(input_id, 9), of[1].sampled(input_id, 9))
    return True


def arrays(rank, said):
    """Each rank gives the lists of its own block; one has none. Windows are few exchanges, and a loop that stops in the middle leaves the next epoch intact."""
    whole = garner.generate("kron", 9, random_weights=(0.5, 2.5))
    offsets, targets, weights = whole.csr()
    ends = [0, 100, 100, len(whole)]
    first, last = ends[rank], ends[rank + 1]
    mine = [offsets[first:last + 1] - offsets[first], targets[offsets[first]:offsets[last]], weights[offsets[first]:offsets[last]]]
    for some in (mine[:2], mine, [torch.tensor(np.array(one)) for one in mine]):
        g = garner.torch.remote_graph(tuple(some))
        assert (g.first, g.count) == (first, last - first) and len(g) == len(whole) and g.nbytes < 12 * len(targets)
        options = {"ranks": "torchrun", "weighted": len(some) == 3, "edge_ids": True, "batch_size": 16, "seed": 3, "shuffle": True, "loading": {"window": 4}}
        at_home, remote = (garner.torch.loader(one, [4, 4], **options) for one in (whole, g))
        before = g.group.exchanges
        got = list(remote)
        windows = -(-len(remote) // 4)
        assert g.group.exchanges - before == windows * 2 * 4 and g.report["windows"] == windows
        drawn = 0  # of others' lists
        for a, b in zip(at_home, got, strict=True):
            alike(a, b)
            of = b.n_id[b.edge_index[1]]
            drawn += int(((of < first) | (of >= last)).sum())
        assert rank != 1 or g.report["remote"] == g.report["requested"] > 0 < drawn
        assert g.report["bytes"] == g.report["remote"] * (4 + 4) + drawn * 2 * 8, (g.report, drawn)
        for k, batch in enumerate(remote):
            if k == 5:
                break
        at_home.epoch = remote.epoch
        for a, b in zip(at_home, remote, strict=True):
            alike(a, b)
    return True


def at_once(rank, said):
    """Several loops over one loader, with samples of another between: each gets what it would get alone."""
    whole = garner.generate("kron", 11)
    g = garner.torch.remote_graph(whole)
    found = []
    for one in (whole, g):
        loader = garner.torch.loader(one, [5, 5, 3], batch_size=16, seed=3, shuffle=True, rank=rank, ranks=said["of"], loading={"window": 2})
        found.append([])
        for k, both in enumerate(zip(loader, loader, strict=True)):
            found[-1] += both
            if k % 5 == 2:
                found[-1].append(loader.sampled(torch.arange(30), 7))
    for a, b in zip(*found, strict=True):
        alike(a, b)
    return True


def with_rows(rank, said):
    """Rows are split too, over other blocks."""
    whole = garner.generate("kron", 9)
    rows = torch.randn(512, 5, generator=torch.Generator().manual_seed(2))
    x = garner.torch.remote_rows(rows[[0, 50, 400][rank]:[50, 400, 512][rank]])
    g = garner.torch.remote_graph(whole)
    at_home, remote = (garner.torch.loader(one, [5, 5], torch.arange(0, 512, 3), x=of, y=torch.arange(512), batch_size=8, shuffle=True, seed=5, ranks="torchrun")
                       for one, of in ((whole, rows), (g, x)))
    for _ in range(2):
        for a, b in zip(at_home, remote, strict=True):
            alike(a, b)
    for k, batch in enumerate(remote):
        if k == 2:
            break
    at_home.epoch = remote.epoch
    for a, b in zip(at_home, remote, strict=True):
        alike(a, b)
    return x.report["windows"] and g.report["remote"] > 0


def wrong(rank, said):
    found = {}

    def tried(name, call):
        try:
            call()
        except (garner.Error, TypeError) as e:
            found[name] = f"{type(e).__name__}: {e}"
    first = rank == 1
    whole = garner.generate("kron", 8)
    tried("graph", lambda: garner.torch.remote_graph(garner.generate("kron", 8, seed=1 + first)))
    tried("side", lambda: garner.torch.remote_graph(whole, side="out" if first else "in"))
    tried("type", lambda: garner.torch.remote_graph(5))
    began = time.monotonic()  # an error of one rank alone, and all are notified at once
    tried("one type", lambda: garner.torch.remote_graph(5 if first else whole))
    tried("kinds", lambda: garner.torch.remote_graph(([0], []) if first else whole))
    tried("weights of one", lambda: garner.torch.remote_graph(([0], [], []) if first else ([0], [])))
    tried("one array", lambda: garner.torch.remote_graph(([0], 5) if first else ([0], [])))
    found["seconds"] = time.monotonic() - began
    tried("target", lambda: garner.torch.remote_graph(([0, 1], [3 if first else 2])))
    tried("offsets", lambda: garner.torch.remote_graph(([0, 2 if first else 1], [2])))
    g = garner.torch.remote_graph(whole)
    seeds = torch.arange(100)
    tried("fanouts", lambda: garner.torch.loader(g, [5, 4 + first], seeds))
    tried("counts", lambda: garner.torch.loader(g, [5], seeds[:50] if first else seeds, batch_size=10, rank=0, ranks=1))
    tried("seed", lambda: garner.torch.loader(g, [5], seeds, seed=1 + first))
    tried("option", lambda: garner.torch.loader(g, [5], seeds, replace=first))
    tried("disjoint", lambda: garner.torch.loader(g, [5], seeds, disjoint=True))
    tried("temporal", lambda: garner.torch.loader(g, [5], seeds, seed_times=seeds))
    tried("weights", lambda: garner.torch.loader(g, [5], seeds, weighted=True))
    tried("window", lambda: garner.torch.loader(g, [5], seeds, loading={"window": 65}))
    tried("loading", lambda: garner.torch.loader(g, [5], seeds, loading={"window": 4, "prefetch": 2}))
    tried("id", lambda: garner.torch.loader(g, [5], [256]))
    tried("x", lambda: garner.torch.loader(g, [5], x=torch.ones(10, 2)))
    loader = garner.torch.loader(g, [5], seeds, batch_size=10, seed=1, ranks="torchrun")  # and goes on
    at_home = garner.torch.loader(whole, [5], seeds, batch_size=10, seed=1, rank=rank, ranks=3)
    loader.epoch = at_home.epoch = int(first)  # another one there: each has its own
    for a, b in zip(at_home, loader, strict=True):
        alike(a, b)
    return found


def killed(rank, said):
    with garner.torch.ranks(timeout=6, silence=2):
        g = garner.torch.remote_graph(garner.generate("kron", 9))
        began = None
        try:
            for _ in range(1000):
                for batch in garner.torch.loader(g, [3, 3], batch_size=8, seed=1, ranks="torchrun"):
                    began = began or time.monotonic()
                    if rank == 1 and said["how"] == "killed":
                        os.kill(os.getpid(), 9)
                    if rank == 1:
                        return None
        except garner.RankError as e:
            return [str(e), time.monotonic() - began]


@unittest.skipIf(torch is None, "needs torch")
class RemoteGraph(unittest.TestCase):
    def test_mini_batches_are_those_of_the_whole_graph(self):
        folder = tempfile.mkdtemp()  # TemporaryDirectory would go with the first fork that ends
        self.addCleanup(shutil.rmtree, folder)
        garner.generate("web", 10).save(os.path.join(folder, "g.gnr"))
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                several_ranks.told(several_ranks.run(__file__, "same", ranks, of=ranks, folder=folder))

    def test_lists_of_arrays(self):
        several_ranks.told(several_ranks.run(__file__, "arrays", 3))

    def test_several_at_once(self):
        for ranks in (1, 3):
            several_ranks.told(several_ranks.run(__file__, "at_once", ranks, of=ranks))

    def test_rows_that_are_split_too(self):
        self.assertTrue(all(several_ranks.told(several_ranks.run(__file__, "with_rows", 3))))

    def test_without_a_group(self):
        whole = garner.generate("kron", 8)
        for a, b in zip(*(garner.torch.loader(one, [3, 2], batch_size=50, seed=1) for one in (whole, garner.torch.remote_graph(whole))), strict=True):
            alike(a, b)
        none = garner.torch.loader(garner.torch.remote_graph(whole), [3], [1, 2, 3], batch_size=10, drop_last=True)
        self.assertEqual((len(none), list(none)), (0, []))

    def test_what_is_wrong_is_said(self):
        for rank, found in enumerate(several_ranks.told(several_ranks.run(__file__, "wrong", 3))):
            who = r"RankError: .*rank 1 \([^,]+, process \d+\)"
            self.assertRegex(found["graph"], r"RankError: graph: rank 1 \(.*\) has 256 vertices and \d+ edges, digest .*; open the same file in all")
            self.assertRegex(found["side"], who + " has .*side='out', .*side='in', .*; give all ranks the same")
            self.assertIn("TypeError: remote_graph(): a int is neither a Graph nor (offsets, targets)", found["type"])
            self.assertRegex(found["one type"], r"^TypeError" if rank == 1 else who + r": TypeError: remote_graph\(\): a int is neither")
            self.assertRegex(found["kinds"], who + " has lists, .* a Graph.*; give all ranks the same")
            self.assertRegex(found["weights of one"], who + " has lists with weights, .* lists; give all ranks the same")
            self.assertRegex(found["one array"], "targets.* of shape")
            self.assertLess(found["seconds"], 20)
            self.assertRegex(found["target"], "target 3 at 0 of a part: there are vertices 0 to 2")
            self.assertRegex(found["target"], "^IdError" if rank == 1 else who + ": IdError")
            self.assertRegex(found["offsets"], "offsets of a part: from 0 to 2 for 1 targets")
            self.assertRegex(found["fanouts"], who + r" has fanouts \[5, 5\].*; use the same in all")
            self.assertRegex(found["counts"], who + " has fanouts .* 5 mini-batches of 10.* 10 mini-batches")
            self.assertRegex(found["seed"], who + " has .* seed 2")
            self.assertRegex(found["option"], who + " has .* replace=True")
            self.assertIn("UsageError: disjoint trees: not over a graph that is split by vertices", found["disjoint"])
            self.assertIn("UsageError: seed_times", found["temporal"])
            self.assertIn("InputError", found["weights"])
            self.assertIn("a window of 65 mini-batches; use 1 to 64", found["window"])
            self.assertIn("UsageError: loading: 'prefetch' is not over a graph that is split; use window alone", found["loading"])
            self.assertIn("IdError: seed 256 at position 0", found["id"])
            self.assertIn("x: 10 rows for 256 vertices", found["x"])

    def test_a_rank_that_is_killed_or_ends(self):
        for how, said in (("killed", "dead, without a sign for 2 s"), ("ends", "ended while others wait")):
            with self.subTest(how):
                found = several_ranks.run(__file__, "killed", 3, how=how)
                for rank in (0, 2):
                    self.assertEqual(found[rank].code, 0, found[rank].said)
                    self.assertRegex(found[rank].told[0], r"^rank 1 \(.*\): " + said)
                    self.assertLess(found[rank].told[1], 12)


if __name__ == "__main__" and (torch is None or not several_ranks.is_rank()):
    unittest.main()
