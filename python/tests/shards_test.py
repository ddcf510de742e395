"""garner.torch.shard and aggregate over parts: several ranks on this machine over gloo, against one process; a rank that differs is named."""
import hashlib
import os
import sys
import unittest

import garner

try:
    import torch
    import torch.distributed as dist

    import garner.torch
    import several_ranks
except ImportError:
    torch = None

vertices = 400


def graph(undirected, seed=5):
    made = torch.Generator().manual_seed(seed)
    source, target = torch.randint(0, vertices - 3, (2, 2500), generator=made)  # the last three have no edges
    hub = torch.arange(0, vertices - 3)
    weights = torch.rand(2500 + 2 * len(hub), generator=made) + 0.25
    return garner.build(torch.cat([source, hub, 7 + 0 * hub]), torch.cat([target, 7 + 0 * hub, hub]), weights, num_nodes=vertices, undirected=undirected,
                        in_edges=not undirected)


def matrix(g, how, weighted):
    """What the aggregation is, in f64."""
    offsets, targets, weights = g.csr()
    m = torch.zeros(vertices, vertices, dtype=torch.float64)
    for u in range(vertices):
        for k in range(offsets[u], offsets[u + 1]):
            m[targets[k], u] += float(weights[k]) if weighted else 1.0
    degrees = m.sum(1)
    if how == "mean":
        return m / degrees.clamp(min=1e-30)[:, None]
    if how == "gcn":
        return (m / (degrees + 1).sqrt()[:, None] + torch.diag((degrees + 1).rsqrt())) / (degrees + 1).sqrt()[None, :]
    return m


def sums(rank, said):
    """Every strategy of reduction with 1 to 4 ranks, against f64; digests of the deterministic ones."""
    digests = {}
    groups = {n: dist.new_group(list(range(n))) for n in (1, 2, 3, 4)}
    for undirected in (True, False):
        for weighted in (False, True):
            g = graph(undirected)
            if weighted:
                g.reorder("degree")
            rows = torch.randn(vertices, 2, 9, generator=torch.Generator().manual_seed(1))
            gradient = torch.randn(vertices, 2, 9, generator=torch.Generator().manual_seed(2))
            for n in (1, 2, 3, 4):
                if rank >= n:
                    continue
                for exact in (False,) if n == 3 else (True,) if n == 4 else (True, False):
                    part = garner.torch.shard(g, groups[n], weighted=weighted, deterministic=exact, balance="vertices" if n == 3 else "edges")
                    assert (part.rank, part.ranks) == (rank, n) and len(part) == len(part.nodes)
                    for how in ("sum", "mean", "gcn", "sum"):
                        m = matrix(g, how, weighted)
                        mine = rows[part.nodes].requires_grad_()
                        out = garner.torch.aggregate(mine, part, how)
                        out.backward(gradient[part.nodes])
                        whole = torch.einsum("vu,uab->vab", m, rows.double())[part.nodes]
                        back = torch.einsum("vu,vab->uab", m, gradient.double())[part.nodes]
                        assert torch.allclose(out.double(), whole, rtol=1e-4, atol=1e-4), (how, n, exact)
                        assert torch.allclose(mine.grad.double(), back, rtol=1e-4, atol=1e-4), (how, n, exact)
                        if exact and n == 1:  # rows in host memory, as if the part were on a GPU
                            for adjacency in ("device", "host"):
                                far = garner.torch.shard(g, groups[n], weighted=weighted, deterministic=True, adjacency=adjacency)
                                far.device = torch.device("cuda")
                                there = far.cache(rows[part.nodes].requires_grad_())
                                summed = garner.torch.aggregate(there, far, how)
                                summed.backward(gradient[part.nodes])
                                assert torch.equal(summed, out) and torch.equal(there.grad, mine.grad), (how, adjacency)
                        if exact:
                            everyone = [None] * n
                            dist.all_gather_object(everyone, (part.nodes, out.detach(), mine.grad), group=groups[n])
                            if rank == 0:
                                ids, *found = (torch.cat(some) for some in zip(*everyone))
                                assert sorted(ids.tolist()) == list(range(vertices))
                                of = hashlib.sha256(b"".join(one[ids.argsort()].numpy().tobytes() for one in found)).hexdigest()
                                digests.setdefault(f"{undirected} {weighted} {how}", set()).add(of)
    return {key: len(of) for key, of in digests.items()}


def kept_and_rounded(rank, said):
    g = graph(False)
    rows = torch.randn(vertices, 33, generator=torch.Generator().manual_seed(1))
    whole = torch.einsum("vu,ua->va", matrix(g, "mean", False), rows.double())
    errors = {}
    for wire, near in ((None, 1e-6), ("f16", 1e-3), ("bf16", 1e-2)):
        part = garner.torch.shard(g, wire=wire)
        x = part.cache(rows[part.nodes])
        before = part.group.exchanges
        for _ in range(3):
            out = garner.torch.aggregate(x, part, "mean")
        assert part.group.exchanges == before
        again = garner.torch.aggregate(x.clone(), part, "mean")
        assert part.group.exchanges == before + 1 and torch.equal(out, again)
        errors[str(wire)] = float((out.double() - whole[part.nodes]).abs().max())
        assert errors[str(wire)] < near, (wire, errors)
    assert errors["None"] < errors["f16"] < errors["bf16"], errors
    assert part.report["brought"] > 0 and part.report["given"] > 0
    return True


def refused(rank, said):
    """What a call threw, in all ranks."""
    found = {}

    def tried(name, call):
        try:
            call()
        except garner.Error as e:
            found[name] = f"{type(e).__name__}: {e}"
    g = graph(True)
    tried("another graph", lambda: garner.torch.shard(graph(True, seed=5 + (rank == 2))))
    tried("other options", lambda: garner.torch.shard(g, side="out" if rank == 1 else "in"))
    part = garner.torch.shard(g)
    tried("widths", lambda: garner.torch.aggregate(torch.zeros(len(part), 4 + (rank == 0)), part))
    tried("doubles", lambda: garner.torch.aggregate(torch.zeros(len(part), 4).double(), part))
    tried("too few", lambda: garner.torch.aggregate(torch.zeros(len(part) + 1, 4), part))
    tried("weights", lambda: garner.torch.aggregate(torch.zeros(len(part), 4), part, weights=torch.zeros(3)))
    tried("adjacency", lambda: garner.torch.shard(g, adjacency="gpu"))
    tried("wire", lambda: garner.torch.shard(g, wire="i8"))
    tried("a small graph", lambda: garner.torch.shard(garner.build([0], [1], undirected=True)))
    out = garner.torch.aggregate(torch.ones(len(part), 4), part)  # it goes on
    assert float(out.max()) == 1
    return found


def another_build(rank, said):
    if rank == 1:
        sys.modules["garner.ranks"].build_said = lambda: "0.0.9 (old)"
    try:
        garner.torch.shard(graph(True))
    except garner.RankError as e:
        return str(e)


def on_a_device(rank, said):
    """Two ranks on one GPU over gloo: sums, and rows for mini-batches, as at the host."""
    torch.cuda.set_device(0)
    g, rows = graph(False), torch.randn(vertices, 33, generator=torch.Generator().manual_seed(1))
    for how in ("mean", "gcn"):
        part = garner.torch.shard(g, wire="bf16" if how == "gcn" else None)
        mine = rows[part.nodes].cuda().requires_grad_()
        out = garner.torch.aggregate(mine, part, how)
        out.backward(torch.ones_like(out))
        m = matrix(g, how, False)
        assert torch.allclose(out.cpu().double(), (m @ rows.double())[part.nodes], atol=1e-5 if how == "mean" else 0.05)
        assert torch.allclose(mine.grad.cpu().double(), (m.T @ torch.ones(vertices, 33).double())[part.nodes], atol=1e-4 if how == "mean" else 0.2)
    x = garner.torch.remote_rows(rows[rank * 200:rank * 200 + 200].cuda(), device="cuda:0")
    for _ in range(3):
        for batch in garner.torch.loader(g, [5, 5], x=x, batch_size=16, loading={"window": 3}):
            assert batch.x.is_cuda and torch.equal(batch.x.cpu(), rows[batch.n_id])
    return True


def alone(rank, said):
    dist.destroy_process_group()
    g = graph(True)
    part = garner.torch.shard(g)
    x = torch.randn(vertices, 5, requires_grad=True)
    out = garner.torch.aggregate(x, part, "gcn")
    assert torch.allclose(out.double(), matrix(g, "gcn", False) @ x.double(), atol=1e-4)
    for wrong, call in ((TypeError, lambda: garner.torch.shard("kron:5")), (garner.UsageError, lambda: garner.torch.aggregate(x, part, "max"))):
        try:
            call()
            raise AssertionError(wrong)
        except wrong:
            pass


@unittest.skipIf(torch is None, "needs torch")
class Shards(unittest.TestCase):
    def test_sums_with_gradients(self):
        digests = several_ranks.told(several_ranks.run(__file__, "sums", 4))[0]
        self.assertEqual(len(digests), 12)
        self.assertEqual(set(digests.values()), {1})  # the same bits with 1, 2 and 4

    def test_rows_that_stay_and_rows_rounded(self):
        several_ranks.told(several_ranks.run(__file__, "kept_and_rounded", 3))

    def test_who_differs_is_named(self):
        for rank, found in enumerate(several_ranks.told(several_ranks.run(__file__, "refused", 3))):
            self.assertRegex(found["another graph"], r"RankError: graph: rank 2 \(.*, process \d+\) has 400 vertices and .* digest .*, rank 0 .* and rank 1 .*open the same")
            self.assertRegex(found["other options"], r"RankError: shard\(\): rank 1 \(.*\) has out edges fast None, .*; use the same")
            self.assertRegex(found["widths"], r"RankError: rows: rank 0 \(.*\) has 5 columns, .* 4 columns")
            self.assertRegex(found["doubles"], "UsageError: rows: torch.float64 of shape")
            self.assertRegex(found["too few"], "UsageError: rows: torch.float32 of shape .* a row for each of the part's")
            self.assertRegex(found["weights"], "use weighted=True to garner.torch.shard")
            self.assertRegex(found["adjacency"], "UsageError: adjacency .gpu.: use device or host")
            self.assertRegex(found["wire"], "UsageError: wire 'i8'")
            self.assertRegex(found["a small graph"], "UsageError: 3 shards, and .* has 2 vertices")
        for said in several_ranks.told(several_ranks.run(__file__, "another_build", 2)):
            self.assertRegex(said, r"garner: rank 1 \(.*\) has 0.0.9 \(old\), rank 0 .* 0.1.0 \([0-9a-f]{12}\); install one wheel in all")

    @unittest.skipUnless(os.path.exists("/dev/nvidia0"), "needs a GPU")
    def test_two_ranks_on_one_device(self):
        several_ranks.told(several_ranks.run(__file__, "on_a_device", 2, before=[["env"], ["env"]], env={"CUDA_VISIBLE_DEVICES": "0"}))

    def test_one_process_alone(self):
        several_ranks.told(several_ranks.run(__file__, "alone", 1))


if __name__ == "__main__" and (torch is None or not several_ranks.is_rank()):
    unittest.main()
