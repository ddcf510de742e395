"""Ranks of one training: seeds that are split once, tables that are learned together, and the scripts of examples/python over two CPU ranks."""
import json
import os
import pathlib
import re
import sys
import unittest

try:
    import torch
    from torch.utils.data import DistributedSampler
    from torch_geometric.data import Data

    import garner
    import garner.torch
    import several_ranks
    from garner.pyg import LinkNeighborLoader, NeighborLoader
except ImportError:
    torch = None

examples = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python"


def data_of(nodes=200):
    random = torch.Generator().manual_seed(1)
    return Data(x=torch.arange(nodes).float()[:, None], edge_index=torch.randint(nodes, (2, 1500), generator=random))


def shares(rank, said):
    """Input nodes and edges of each rank, epoch by epoch; with another seed of torch's generator in each."""
    torch.manual_seed(rank)
    data, found = data_of(), []
    mask = torch.arange(200) % 2 == 0
    pairs = data.edge_index[:, :99]
    for shuffle in (False, True):
        for workers in (0, 2):
            of = NeighborLoader(data, [3], mask.nonzero().flatten(), batch_size=7, shuffle=shuffle, num_workers=workers, ranks="torchrun")
            links = LinkNeighborLoader(data, [3], pairs, batch_size=7, shuffle=shuffle, num_workers=workers, ranks="torchrun")
            plain = garner.torch.loader(garner.build(data.edge_index, num_nodes=200), [3], mask, batch_size=7, shuffle=shuffle, ranks="torchrun")
            for loader in (of, links, plain):
                found.append([[batch.input_id.tolist() for batch in loader] for _ in range(2)])
                assert all(len(epoch) == len(loader) for epoch in found[-1])
            for batch in of:
                assert torch.equal(batch.n_id[:batch.batch_size] % 2, torch.zeros(batch.batch_size, dtype=torch.int64))
    # An epoch that is resumed in the middle.
    one = NeighborLoader(data, [3], mask, batch_size=7, shuffle=True, ranks="torchrun")
    list(one)
    half = iter(one)
    next(half), next(half)
    state = one.state_dict()
    rest = [batch.n_id.tolist() for batch in half] + [batch.input_id.tolist() for batch in one]
    other = NeighborLoader(data, [3], mask, batch_size=7, shuffle=True, ranks="torchrun")
    other.load_state_dict(state)
    assert rest == [batch.n_id.tolist() for batch in other] + [batch.input_id.tolist() for batch in other]
    return found


def split_twice(rank, said):
    """The errors of ranks that split the seeds by hand and pass ranks= too."""
    data, found = data_of(), []
    graph = garner.build(data.edge_index, num_nodes=200)
    sampler = garner.BlockSampler(graph, [3])
    for make in (lambda seeds: NeighborLoader(data, [3], seeds, ranks="torchrun"),
                 lambda seeds: LinkNeighborLoader(data, [3], data.edge_index[:, seeds], ranks="torchrun"),
                 lambda seeds: garner.torch.loader(graph, [3], seeds, ranks="torchrun"), lambda seeds: garner.torch.loader(
                     garner.torch.remote_graph(graph), [3], seeds, ranks="torchrun"),
                 lambda seeds: garner.Loader(sampler, seeds, ranks="torchrun")):
        make(torch.arange(60))  # the same seeds in all ranks
        for seeds in (torch.arange(rank, 60, 2), torch.arange(30 + rank), torch.arange(30 * rank, 30 * rank + 30)):
            try:
                make(seeds)
                found.append("")
            except garner.RankError as e:
                found.append(str(e))
    return found


def learned(rank, said):
    """A feature table and a layer, over the ranks' own seeds."""
    torch.manual_seed(1)
    emb = garner.torch.Embedding(50, 4, lr=0.1, device="cpu", optimizer=said["optimizer"])
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(5):
        ids = torch.tensor([[3, 7, 7], [9, 3, 40], []][rank][:3 - rank * (step == 2)], dtype=torch.int64)
        loss = (model(emb(ids)) - ids[:, None].float()).pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        emb.step()
    whole = emb.weight
    assert all(torch.equal(whole, torch.tensor(other)) for other in emb_of_all(whole))
    alone = garner.torch.Embedding(50, 4, lr=0.1, device="cpu", per_rank=True)
    if rank == 0:
        alone(torch.tensor([1])).sum().backward()
        alone.step()
    found = []
    other = garner.torch.Embedding(50, 4 + rank, device="cpu")
    try:
        other.step()
    except garner.RankError as e:
        found.append(str(e))
    return whole.tolist(), found


def emb_of_all(rows):
    return garner.torch.ranks().all_gather(rows.tolist())


def alone(ranks, optimizer_name):
    """The same by one process, which has the seeds of all."""
    torch.manual_seed(1)
    table, layer = torch.nn.Embedding(50, 4, sparse=True), torch.nn.Linear(4, 1)
    with torch.no_grad():
        table.weight.copy_(garner.torch.Embedding(50, 4, device="cpu").weight)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    of_rows = {"sgd": torch.optim.SGD, "adam": torch.optim.SparseAdam}[optimizer_name](table.parameters(), 0.1)
    torch.manual_seed(1)
    layer.reset_parameters()
    for step in range(5):
        loss = 0
        for rank in range(ranks):
            ids = torch.tensor([[3, 7, 7], [9, 3, 40], []][rank][:3 - rank * (step == 2)], dtype=torch.int64)
            loss = loss + (layer(table(ids)) - ids[:, None].float()).pow(2).sum() / ranks
        optimizer.zero_grad(), of_rows.zero_grad()
        loss.backward()
        optimizer.step(), of_rows.step()
    return table.weight.detach()


@unittest.skipIf(torch is None, "needs torch and torch_geometric")
class Seeds(unittest.TestCase):
    def test_each_rank_takes_its_share(self):
        for ranks in (2, 3):
            found = several_ranks.told(several_ranks.run(__file__, "shares", ranks))
            for k, count in enumerate([100, 99, 100] * 4):
                shuffle, own = k >= 6, k % 3 != 2
                for epoch in range(2):
                    of = [[i for batch in rank[k][epoch] for i in batch] for rank in found]
                    self.assertEqual({len(one) for one in of}, {-(-count // ranks)})
                    self.assertEqual(set().union(*of), set(range(count)))
                    if own:
                        for rank in range(ranks):
                            sampler = DistributedSampler(range(count), ranks, rank, shuffle=shuffle)
                            sampler.set_epoch(epoch)
                            self.assertEqual(of[rank], list(sampler))
                self.assertEqual(found[0][k][0] == found[0][k][1], not shuffle)

    def test_seeds_that_are_split_already_are_refused_in_all_ranks(self):
        found = several_ranks.told(several_ranks.run(__file__, "split_twice", 2))
        self.assertEqual(*[[re.sub(r"process \d+", "", one) for one in rank] for rank in found])
        for said in found[0]:
            self.assertRegex(said, r"(seeds|input nodes|edges to learn from), with ranks='torchrun': rank 1 .* has \d+ of digest \w+, rank 0 .* \d+ of digest \w+; "
                                   r"give all ranks the same .*, or leave ranks= out where the script splits them")

    def test_without_a_word_of_others(self):
        data = data_of()
        for name, given in (("sampler", DistributedSampler(range(200), 2, 0)), ("batch_sampler", torch.utils.data.BatchSampler(range(200), 10, False))):
            for make in (lambda **how: NeighborLoader(data, [3], **how), lambda **how: LinkNeighborLoader(data, [3], data.edge_index[:, :200], **how)):
                with self.assertRaisesRegex(garner.UsageError, f"{name}= and ranks=: a {type(given).__name__} says itself what this rank takes"):
                    make(ranks="torchrun", **{name: given})
                make(**{name: given})
        of = [[i for batch in NeighborLoader(data, [3], batch_size=16, rank=rank, ranks=2) for i in batch.input_id.tolist()] for rank in range(2)]
        self.assertEqual(of, [list(range(0, 200, 2)), list(range(1, 200, 2))])
        self.assertEqual(len(NeighborLoader(data, [3], batch_size=10)), 20)
        for how, words in ((dict(ranks="mpi"), "use two numbers"), (dict(rank=1), "rank is set and ranks is not"), (dict(rank=3, ranks=2), "rank 3 of 2")):
            with self.assertRaisesRegex(garner.UsageError, words):
                NeighborLoader(data, [3], **how)


@unittest.skipIf(torch is None, "needs torch and torch_geometric")
class Learned(unittest.TestCase):
    def test_rows_are_the_same_in_all_ranks(self):
        for ranks, optimizer in ((2, "sgd"), (2, "adam"), (3, "adam")):
            with self.subTest(ranks=ranks, optimizer=optimizer):
                found = several_ranks.told(several_ranks.run(__file__, "learned", ranks, optimizer=optimizer))
                for whole, said in found:
                    self.assertTrue(torch.allclose(torch.tensor(whole), alone(ranks, optimizer), atol=1e-4))
                    self.assertRegex(said[0], "garner.torch.Embedding: .*50 rows of .*; make the same table in all ranks")


@unittest.skipUnless(examples.exists(), "needs the folder of examples")
@unittest.skipIf(torch is None, "needs torch and torch_geometric")
class Scripts(unittest.TestCase):
    def ran(self, *command):
        self.name = f"test-{os.getpid()}-{pathlib.Path(command[0]).stem if command[0] != '-m' else self._testMethodName}"
        done = several_ranks.finished([sys.executable, *command, self.name],
                        env={**os.environ, "OMP_NUM_THREADS": "1", "GARNER_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONFAULTHANDLER": "1"})
        self.assertEqual(done.returncode, 0, done.stderr[:6000])
        self.assertFalse(list(pathlib.Path("/dev/shm").glob(f"garner-{os.geteuid()}-{self.name}*")))
        return done.stdout

    def learns(self, said, batches):
        losses = [float(loss) for loss in re.findall(r"loss ([0-9.]+)", said)]
        self.assertEqual(len(losses), 3, said)
        self.assertLess(losses[2], 0.8 * losses[0])
        self.assertEqual({int(n) for n in re.findall(r"(\d+) mini-batches a rank", said)}, {batches})

    def test_plain_ddp(self):
        self.learns(self.ran("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", examples / "ddp_sage.py"), 8)

    def test_proof_of_two_gpus_rehearsed(self):
        done = several_ranks.finished([sys.executable, examples.parents[1] / "tools" / "user_path.py", "ddp"],
                        env={**os.environ, "SCALE": "9", "OMP_NUM_THREADS": "1", "GARNER_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""})
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([(row["script"], row["ranks"], row["wrong_rows"], row["wrong_edges"]) for row in rows],
                         [("ddp, CPU ranks: 1", 1, 0, 0), ("ddp, CPU ranks: 2", 2, 0, 0)])
        self.assertGreater(min(row[key] for row in rows for key in ("rows_compared", "edges_compared", "epoch_s")), 0)
        self.assertIn("speed_up", rows[1])
        self.assertFalse(list(pathlib.Path("/dev/shm").glob(f"garner-{os.geteuid()}-user-path-*")))

    def test_accelerate(self):
        try:
            import accelerate  # noqa: F401
        except ImportError:
            self.skipTest("needs accelerate")
        self.learns(self.ran("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", examples / "accelerate_sage.py"), 8)

    def test_lightning(self):
        try:
            import lightning  # noqa: F401
        except ImportError:
            self.skipTest("needs lightning")
        for kind in ("node", "link", "plain"):
            with self.subTest(kind=kind):
                said = self.ran(examples / "lightning_sage.py", kind)
                found = re.findall(r"rank (\d): (\d+) mini-batches, loss ([0-9.]+)", said)
                self.assertEqual(sorted(rank for rank, _, _ in found), ["0", "1"], said)
                for _, batches, loss in found:
                    self.assertIn(int(batches), (16,) if kind == "link" else (8,))
                    self.assertLess(float(loss), 0.69 if kind == "link" else 0.8)


if __name__ == "__main__" and (torch is None or not several_ranks.is_rank()):
    unittest.main()
