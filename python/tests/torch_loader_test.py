"""garner.torch.loader: mini-batches for a loop of plain torch."""
import os
import unittest
from unittest import mock

import numpy as np

import garner

try:
    import torch
    from garner.pipeline import mixed
    import garner.torch
except ImportError:
    torch = None


@unittest.skipIf(torch is None, "needs torch")
class Loader(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(3)
        self.source, self.target = torch.randint(0, 300, (2, 3000))
        self.g = garner.build(self.source, self.target, num_nodes=300, in_edges=True)
        self.edges = set(zip(self.source.tolist(), self.target.tolist()))
        self.x, self.y = torch.randn(300, 8), torch.arange(300)

    def said(self, loader):
        return [(b.n_id.tolist(), b.edge_index.tolist(), b.input_id.tolist()) for b in loader]

    def test_hands_its_loader_options_of_its_own(self):
        g, x = garner.generate("kron", 9), torch.randn(512, 4)
        told = {}
        for loading in (None, {"window": 2, "prefetch": 3}, {"strategy": "tiered"}):
            torch.manual_seed(3)
            loader = garner.torch.loader(g, [4, 3], x=x, batch_size=64, seed=5, loading=loading)
            told[str(loading)] = [(b.n_id.clone(), b.x.clone()) for b in loader]
            self.assertGreaterEqual(loader.report["window"], 2)
        first = told["None"]
        for others in told.values():
            self.assertTrue(all(torch.equal(a, c) and torch.equal(b, d) for (a, b), (c, d) in zip(first, others, strict=True)))
        with self.assertRaisesRegex(garner.UsageError, "loading has no option 'batch'"):
            garner.torch.loader(g, [4], loading={"batch": 3})

    def test_what_comes(self):
        for x in (self.x, self.x.numpy(), garner.tiered(self.x), garner.tiered(self.x.numpy())):
            loader = garner.torch.loader(self.g, [4, 3], x=x, y=self.y, batch_size=64, shuffle=True)
            self.assertEqual(len(loader), 5)
            seen = []
            for batch in loader:
                self.assertEqual((batch.batch_size, batch.num_sampled_nodes[0]), (batch.input_id.numel(),) * 2)
                n_id = batch.n_id.cpu()  # on a device where the table lies there
                self.assertTrue(torch.equal(batch.x.cpu(), self.x[n_id]))
                self.assertTrue(torch.equal(batch.y.cpu(), n_id[:batch.batch_size]))
                self.assertTrue({(int(u), int(v)) for u, v in n_id[batch.edge_index.cpu()].T} <= self.edges)
                self.assertEqual([e.size(1) for e in batch.edges], batch.num_sampled_edges)
                self.assertTrue(bool((batch.edges[0][1] < batch.batch_size).all()))
                self.assertEqual((batch.e_id, batch.batch, sum(batch.num_sampled_nodes)), (None, None, batch.n_id.numel()))
                seen += batch.input_id.tolist()
            self.assertEqual(sorted(seen), list(range(300)))
            self.assertNotEqual(seen, sorted(seen))
            del loader, batch  # they hold the graph, which the next one may bring elsewhere

    def test_seeds(self):
        mask = torch.arange(300) % 3 == 0
        for seeds, want in ((mask, list(range(0, 300, 3))), ([5, 5, 7], [5, 5, 7]), (np.array([9, 1]), [9, 1]), (torch.tensor([4], dtype=torch.int32), [4])):
            batch = next(iter(garner.torch.loader(self.g, [2], seeds, batch_size=200)))
            self.assertEqual((batch.n_id[:batch.batch_size].tolist(), batch.input_id.tolist(), batch.x, batch.y), (want, list(range(len(want))), None, None))
        self.assertEqual([b.batch_size for b in garner.torch.loader(self.g, [2], batch_size=120, drop_last=True)], [120, 120])
        self.assertEqual(len(garner.torch.loader(self.g, [2], batch_size=120)), 3)

    def test_epochs(self):
        loader = garner.torch.loader(self.g, [3, 3], batch_size=100, shuffle=True, seed=5)
        first, second = self.said(loader), self.said(loader)
        self.assertNotEqual(first, second)
        self.assertEqual(loader.epoch, 2)
        loader.epoch = 1
        self.assertEqual(self.said(loader), second)
        self.assertEqual(self.said(garner.torch.loader(self.g, [3, 3], batch_size=100, shuffle=True, seed=5)), first)
        loader = garner.torch.loader(self.g, [3, 3], batch_size=100)
        drawn = [(torch.manual_seed(1), self.said(loader))[1] for _ in range(2)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(self.said(loader), drawn[0])

    def test_options(self):
        batch = next(iter(garner.torch.loader(self.g, [3, 3], [7, 7], edge_ids=True, disjoint=True)))
        self.assertEqual((batch.batch[:2].tolist(), batch.batch.dtype, batch.e_id.numel()), ([0, 1], torch.int64, batch.edge_index.size(1)))
        out = next(iter(garner.torch.loader(self.g, [-1], [7], side="out")))
        self.assertEqual(sorted(out.n_id[1:].tolist()), sorted({v for u, v in self.edges if u == 7 and v != 7}))
        times = np.arange(300)
        for batch in garner.torch.loader(self.g, [5, 5], batch_size=50, temporal="uniform", times=times):
            self.assertTrue(bool((batch.n_id <= batch.n_id[batch.batch]).all()))
        batch = next(iter(garner.torch.loader(self.g, [5], [250, 260], temporal="last", times=times, seed_times=[10, 20])))
        self.assertTrue(bool((batch.n_id[2:] <= torch.tensor([10, 20])[batch.batch[2:]]).all()))
        self.assertEqual(next(iter(garner.torch.loader(self.g, [5], [1, 2], induced=True))).num_sampled_edges, [])
        weights = np.array([1, 0, 2, 3], np.float32)
        star = garner.build([1, 2, 3, 4], [0] * 4, weights, num_nodes=5)
        for place in ("host", "simulated"):
            batch = next(iter(garner.torch.loader(star, [20], [0] * 300, batch_size=300, seed=4, weighted=True, replace=True, disjoint=True, edge_ids=True, device=place)))
            seen = torch.bincount(batch.e_id, minlength=4).numpy()
            self.assertEqual((int(seen.sum()), int(seen[1])), (6000, 0))
            self.assertLess(float(((seen - weights * 1000) ** 2)[weights > 0] @ (1 / weights[weights > 0] / 1000)), 13.9)  # 2 degrees of freedom
        here, there = (self.said(garner.torch.loader(self.g, [3, 2], batch_size=100, seed=1, device=p)) for p in ("host", "simulated"))
        self.assertEqual(here, there)

    def test_another_state_is_refused_and_mini_batches_go_to_devices(self):
        loader = garner.torch.loader(self.g, [3], x=torch.ones(300, 2), batch_size=50)
        batch = next(iter(loader))
        self.assertEqual({**vars(batch.to("cpu"))}.keys(), vars(batch).keys())
        self.assertEqual(batch.to("meta").x.device.type, "meta")
        with self.assertRaisesRegex(garner.InputError, "of mini-batches of 50, and this loader has 60"):
            garner.torch.loader(self.g, [3], batch_size=60).load_state_dict(loader.state_dict())
        with self.assertRaisesRegex(garner.InputError, r"keys \['generator'\]"):
            loader.load_state_dict({"generator": 1})

    def test_what_is_written_in_place_is_seen(self):
        """GPU memory holds copies of rows, and labels are another tensor in the next epoch."""
        x, y = torch.arange(300.)[:, None].repeat(1, 3), torch.arange(300)
        loader = garner.torch.loader(self.g, [3], x=x, y=y, batch_size=50, device="simulated")
        for shift in (0, 1000):
            for batch in loader:
                self.assertTrue(torch.equal(batch.x[:, 2], batch.n_id + float(shift)))
                self.assertTrue(torch.equal(batch.y, batch.n_id[:50] + shift))
            x += 1000
            y += 1000
        for wrong in ({"feature_cache": "much"}, {"reserve": 1.5}, {"reserve": "x"}):  # also where no GPU uses them
            with self.assertRaisesRegex(garner.UsageError, f"{next(iter(wrong))} is"):
                garner.torch.loader(self.g, [3], x=x, **wrong)

    def test_it_trains(self):
        y = torch.randint(0, 2, (300,))
        x = torch.randn(300, 4) + 3 * y.view(-1, 1)
        model = torch.nn.Linear(8, 2)
        optimizer = torch.optim.Adam(model.parameters(), 0.05)
        losses = []
        for _ in range(5):
            for batch in garner.torch.loader(self.g, [5], x=x, y=y, batch_size=50, shuffle=True):
                row, col = batch.edge_index
                mean = torch.zeros_like(batch.x).index_add_(0, col, batch.x[row]) / torch.bincount(col, minlength=len(batch.x)).clamp(min=1).view(-1, 1)
                loss = torch.nn.functional.cross_entropy(model(torch.cat([batch.x, mean], 1))[:batch.batch_size], batch.y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(float(loss.detach()))
        self.assertLess(losses[-1], losses[0] / 3)

    def test_ahead(self):
        """garner.Loader yields what is sampled and gathered one after the other."""
        for options in ({}, {"device": "simulated"}, {"drop_last": True}, {"disjoint": True, "edge_ids": True},
                        {"temporal": "last", "times": np.arange(300), "seed_times": np.arange(90)}):
            for seeds in (torch.arange(90), torch.tensor([4, 4, 9] * 30)):
                with self.subTest(**options):
                    x = garner.tiered(self.x, device=options.get("device", "host"))
                    y = garner.tiered(self.y, device=options.get("device", "host"))
                    loader = garner.torch.loader(self.g, [4, 3], seeds, x=x, y=y, batch_size=20, shuffle=True, seed=3, **options)
                    ahead = [vars(b) for _ in range(2) for b in loader]
                    self.assertEqual(loader.report["batches"], len(loader))
                    one = []
                    for epoch in range(2):
                        number = mixed(3, epoch)
                        order = loader._order(number)
                        one += [vars(loader.sampled(order[k * 20:k * 20 + 20], mixed(number, 0) + k)) for k in range(len(loader))]
                    self.assertEqual(len(ahead), len(one))
                    for a, b in zip(ahead, one):
                        for key in a:
                            if isinstance(a[key], torch.Tensor):
                                self.assertTrue(torch.equal(a[key], b[key]), key)
                            else:
                                self.assertEqual(a[key], b[key])
        loader = garner.torch.loader(self.g, [4], x=self.x, batch_size=64, seed=1)
        both = [(a.n_id.tolist(), b.n_id.tolist()) for a, b in zip(loader, loader)]
        loader.epoch = 0
        self.assertEqual([[a for a, _ in both], [b for _, b in both]], [[b.n_id.tolist() for b in loader] for _ in range(2)])
        self.assertEqual(loader.report["batches"], len(loader))
        self.assertEqual(garner.torch.loader(self.g, [4]).report, {})

    def test_ranks(self):
        for x in (self.x, self.x.t().contiguous().t()):  # ahead, and one after the other
            for shuffle in (False, True):
                with self.subTest(shuffle=shuffle, prefetch=x is self.x):
                    epochs = []
                    for rank in range(4):
                        loader = garner.torch.loader(self.g, [3], torch.arange(299), x=x, batch_size=20, shuffle=shuffle, rank=rank, ranks=4)
                        torch.manual_seed(rank)  # ranks have no generator in common
                        epochs.append([[b.input_id.tolist() for b in loader] for _ in range(2)])
                        self.assertEqual([len(e) for e in epochs[-1]], [len(loader)] * 2)
                        self.assertEqual(len(loader), 4)
                        batch = next(iter(loader))
                        self.assertTrue(torch.equal(batch.x, x[batch.n_id]))
                        self.assertTrue(torch.equal(batch.n_id[:batch.batch_size], batch.input_id))
                    for epoch in range(2):
                        seen = [k for rank in epochs for batch in rank[epoch] for k in batch]
                        self.assertEqual((len(seen), sorted(set(seen))), (300, list(range(299))))
                    self.assertEqual(epochs[1][0] == epochs[1][1], not shuffle)
        with mock.patch.dict(os.environ, {"RANK": "1", "WORLD_SIZE": "3"}):
            loader, plain = garner.torch.loader(self.g, [2], batch_size=10, ranks="torchrun"), garner.torch.loader(self.g, [2], batch_size=10)
        self.assertEqual((loader.rank, loader.ranks, len(loader), len(plain)), (1, 3, 10, 30))
        for wrong, words in ((dict(rank=1), "ranks is not"), (dict(rank=2, ranks=2), "rank 2 of 2"),
                             (dict(rank=0, ranks=20, batch_size=100, drop_last=True), "15 seeds per rank do not fill one mini-batch of 100")):
            with self.assertRaisesRegex(garner.UsageError, words):
                garner.torch.loader(self.g, [2], **wrong)

    def test_refusals(self):
        for wrong, kind, words in [
                (lambda: garner.torch.loader(3, [2]), TypeError, "not a Graph"), (lambda: garner.torch.loader(self.g, [2], []), garner.UsageError, "list is empty"),
                (lambda: garner.torch.loader(self.g, [2], [1, 300]), garner.IdError, "300 at position 1"),
                (lambda: garner.torch.loader(self.g, [2], [0.5]), garner.UsageError, "whole numbers"),
                (lambda: garner.torch.loader(self.g, [2], torch.ones(7, dtype=torch.bool)), garner.UsageError, "mask"),
                (lambda: garner.torch.loader(self.g, [2], x=self.x[:299]), garner.UsageError, "x: 299 rows for 300"),
                (lambda: garner.torch.loader(self.g, [2], y=[1, 2]), garner.UsageError, "y: a list"),
                (lambda: garner.torch.loader(self.g, [2], batch_size=0), garner.UsageError, "batch_size=0"),
                (lambda: garner.torch.loader(self.g, [2], [1], temporal="last", times=np.arange(300), seed_times=[1, 2]), garner.UsageError, "seed_times"),
                (lambda: garner.torch.loader(self.g, [2], weighted=True), garner.InputError, "weights"),
                (lambda: garner.torch.loader(self.g, [2], workers=3), TypeError, "no keyword 'workers'; help")]:
            with self.assertRaisesRegex(kind, words):
                wrong()


if __name__ == "__main__":
    unittest.main()
