"""garner.torch.remote_rows: mini-batches whose rows are split over ranks equal those of a local table, and each row comes once per window."""
import hashlib
import os
import time
import unittest

import garner

try:
    import torch
    import torch.distributed as dist

    import garner.torch
    import several_ranks
except ImportError:
    torch = None

vertices = 600


def table(kind=None):
    rows = torch.randn(vertices, 6, generator=torch.Generator().manual_seed(1))
    return rows if kind is None else rows.to(kind)


def block(rows, rank, ranks):
    """Blocks of unequal sizes; of four ranks the second has none."""
    ends = [0, *[vertices * k * k // (ranks * ranks) for k in range(1, ranks)], vertices]
    if ranks == 4:
        ends[2] = ends[1]
    return rows[ends[rank]:ends[rank + 1]]


def gathers(rank, said):
    made = torch.Generator().manual_seed(rank)
    for kind in (None, torch.bfloat16, torch.int64):
        rows = table(kind)
        mine = block(rows, rank, 4)
        for one in (mine, mine.numpy()) if kind is None else (mine,):
            x = garner.torch.remote_rows(one)
            assert (x.shape, x.dtype, len(x)) == (rows.shape, rows.dtype, vertices), (x.shape, x.dtype)
            for count in (1, 50, 0):
                ids = torch.randint(0, vertices, (count, 2), generator=made)
                assert torch.equal(x[ids], rows[ids])
            batches = [torch.randint(0, vertices, (n,), generator=made) for n in (40, 0, 70)]
            before = dict(x.report)
            for ids, found in zip(batches, x.gather_many(batches)):
                assert torch.equal(found, rows[ids])
            wanted = torch.unique(torch.cat(batches))
            own = ((wanted >= x.first) & (wanted < x.first + len(mine))).sum()
            assert x.report["rows"] - before["rows"] == len(wanted) and x.report["requested"] - before["requested"] == 110
            assert x.report["remote_rows"] - before["remote_rows"] == len(wanted) - own
            assert x.report["bytes"] - before["bytes"] == (len(wanted) - own) * 6 * rows.element_size()
    if len(mine):  # a table of several tiers
        tiered = garner.tiered(table()[x.first:x.first + len(mine)].clone(), device="cpu")
    x = garner.torch.remote_rows(tiered if len(mine) else torch.zeros(0, 6), wire="bf16")
    assert torch.equal(x[torch.arange(vertices)], table().to(torch.bfloat16).to(torch.float32))
    return True


def batches(rank, said):
    """A loader over split rows gives the mini-batches of one over a local table; and the traffic of an epoch."""
    g, rows, labels = garner.generate("kron", 9, undirected=True), table()[:512], torch.arange(512)
    x = garner.torch.remote_rows(block(rows, rank, 3) if rank < 2 else rows[vertices * 4 // 9:])
    assert len(x) == 512
    for options in ({}, {"shuffle": True, "loading": {"window": 3}}, {"disjoint": True, "edge_ids": True, "drop_last": True}):
        of = [garner.torch.loader(g, [5, 4], x=rows_of, y=labels, batch_size=20, seed=7, ranks="torchrun", **options) for rows_of in (rows, x)]
        for epoch in range(2):
            before, wanted, window = dict(x.report), [], []
            at_home, remote = list(of[0]), list(of[1])
            assert len(at_home) == len(remote) == len(of[0])
            for a, b in zip(at_home, remote):
                for name in ("x", "y", "edge_index", "n_id", "input_id", "e_id", "batch"):
                    one, other = getattr(a, name), getattr(b, name)
                    assert (one is None) == (other is None) and (one is None or torch.equal(one, other)), name
                assert (a.batch_size, a.num_sampled_nodes, a.num_sampled_edges) == (b.batch_size, b.num_sampled_nodes, b.num_sampled_edges)
            size = options.get("loading", {}).get("window", 8)
            once = sum(len(torch.unique(torch.cat([b.n_id for b in remote[k:k + size]]))) for k in range(0, len(remote), size))
            assert x.report["rows"] - before["rows"] == once and x.report["windows"] - before["windows"] == -(-len(remote) // size)
        for k, batch in enumerate(of[1]):  # a loop that stops in the middle leaves the next epoch intact
            if k == 4:
                break
        del batch
        of[0].epoch = of[1].epoch
        assert all(torch.equal(a.x, b.x) for a, b in zip(of[0], of[1], strict=True))
    return True


def at_once(rank, said):
    """Several loops over the same rows, with requests for single rows between."""
    g, rows = garner.generate("kron", 9, undirected=True), table()[:512]
    x = garner.torch.remote_rows(rows[512 * rank // 3:512 * (rank + 1) // 3])
    one, other = (garner.torch.loader(graph, [5, 4], x=x, batch_size=4, seed=7, shuffle=True, ranks="torchrun", loading={"window": 2})
                  for graph in (g, garner.torch.remote_graph(g)))
    for k, batches in enumerate(zip(one, other, other, one, strict=True)):
        for batch in batches:
            assert torch.equal(batch.x, rows[batch.n_id])
        if k % 5 == 2:
            assert torch.equal(x[[rank, 300, 400]], rows[[rank, 300, 400]])
    return True


def learned(rank, said):
    """Parameters after two epochs of data-parallel steps, rows at home or split."""
    g, rows = garner.generate("kron", 9, undirected=True), table()[:512]
    labels = (rows.sum(1) > 0).long()
    x = garner.torch.remote_rows(rows[:200] if rank == 0 else rows[200:]) if said["split"] else rows
    torch.manual_seed(2)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(6, 2))
    optimizer = torch.optim.Adam(model.parameters())
    loader = garner.torch.loader(g, [5], x=x, y=labels, batch_size=32, shuffle=True, seed=3, ranks="torchrun")
    for _ in range(2):
        for batch in loader:
            h = garner.torch.aggregate(batch.x, batch, "mean") + batch.x[:batch.batch_size]
            loss = torch.nn.functional.cross_entropy(model(h), batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest()


def by_machine(rank, said):
    """Two machines of two processes each: both processes of a machine have its block."""
    os.environ["LOCAL_RANK"] = str(rank % 2)
    rows = table()
    half = garner.shared(said["name"] + str(rank // 2), rows[:250] if rank < 2 else rows[250:], replace_stale=True) if rank % 2 == 0 else None
    dist.barrier()
    half = half or garner.shared(said["name"] + str(rank // 2))
    x = garner.torch.remote_rows(half.array, by="machine")
    assert (x.group.size, x.group.rank, x.first) == (2, rank // 2, 250 * (rank // 2))
    ids = torch.randint(0, vertices, (300,), generator=torch.Generator().manual_seed(rank))
    assert torch.equal(x[ids], rows[ids])
    dist.barrier()
    return True


def refused(rank, said):
    found = {}

    def tried(name, call):
        try:
            call()
        except garner.Error as e:
            found[name] = f"{type(e).__name__}: {e}"
    tried("by", lambda: garner.torch.remote_rows(table(), by="node"))
    tried("mine", lambda: garner.torch.remote_rows(5))
    tried("wire", lambda: garner.torch.remote_rows(table(torch.int64), wire="bf16"))
    tried("widths", lambda: garner.torch.remote_rows(table()[:, :4 + (rank == 1)]))
    tried("none", lambda: garner.torch.remote_rows(torch.zeros(0, 3)))
    x = garner.torch.remote_rows(table())
    tried("few", lambda: garner.torch.loader(garner.generate("kron", 11), [3], x=x))
    tried("id", lambda: x[[0, len(x)]])
    assert len(x) == vertices * 3
    return found


def killed(rank, said):
    with garner.torch.ranks(timeout=6, silence=2):
        g = garner.generate("kron", 9, undirected=True)
        x = garner.torch.remote_rows(table()[:512][rank * 256:rank * 256 + 256])
        began = None
        try:
            for _ in range(1000):
                for batch in garner.torch.loader(g, [3], x=x, batch_size=8, seed=1, ranks="torchrun"):
                    began = began or time.monotonic()
                    if rank == 1:
                        os.kill(os.getpid(), 9)
        except garner.RankError as e:
            return [str(e), time.monotonic() - began]


@unittest.skipIf(torch is None, "needs torch")
class RemoteRows(unittest.TestCase):
    def test_rows_of_any_kind(self):
        several_ranks.told(several_ranks.run(__file__, "gathers", 4))

    def test_mini_batches_are_the_same(self):
        several_ranks.told(several_ranks.run(__file__, "batches", 3))

    def test_several_at_once(self):
        several_ranks.told(several_ranks.run(__file__, "at_once", 3))

    def test_a_training_learns_the_same(self):
        found = {tuple(several_ranks.told(several_ranks.run(__file__, "learned", 2, split=split))) for split in (False, True)}
        self.assertEqual(len(found), 1)

    def test_blocks_of_machines(self):
        several_ranks.told(several_ranks.run(__file__, "by_machine", 4, name=f"remote-{os.getpid()}-"))

    def test_what_is_wrong_is_said(self):
        for found in several_ranks.told(several_ranks.run(__file__, "refused", 3)):
            self.assertIn("by='node': use rank or machine", found["by"])
            self.assertIn("mine: a int; give this rank's rows", found["mine"])
            self.assertIn("it is for float32", found["wire"])
            self.assertRegex(found["widths"], r"RankError: rows: rank 1 \(.*\) has \[\[5\], 'torch.float32'\], .*; give all ranks rows of one shape")
            self.assertIn("no rank has rows", found["none"])
            self.assertIn("x: 1800 rows for 2048 vertices", found["few"])
            self.assertIn("IdError: row 1800 of 1800", found["id"])

    def test_a_rank_that_is_killed(self):
        found = several_ranks.run(__file__, "killed", 2)
        self.assertEqual(found[0].code, 0, found[0].said)
        self.assertRegex(found[0].told[0], r"^rank 1 \(.*\): dead, without a sign for 2 s")
        self.assertLess(found[0].told[1], 8)


if __name__ == "__main__" and (torch is None or not several_ranks.is_rank()):
    unittest.main()
