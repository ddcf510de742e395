"""Rows that are learned, and aggregation over blocks: against torch's own, on the CPU."""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import garner

try:
    import torch
    import garner.torch
except ImportError:
    torch = None

counts_requests = not os.environ.get("GARNER_STREAMS")  # streams do not


class Rows(unittest.TestCase):
    def test_gathers_and_steps_arrays(self):
        for device in ("host", "simulated"):
            e = garner.embedding(50, 7, optimizer="sgd", device=device, feature_cache="1KiB", seed=3)
            self.assertEqual((len(e), e.shape, e.optimizer, sum(e.rows)), (50, (50, 7), "sgd", 50))
            before = e.read()
            ids = np.array([[3, 9], [3, 49]])
            self.assertTrue(np.array_equal(e[ids], before[ids]))
            gradients = np.random.default_rng(1).random((2, 2, 7), dtype=np.float32)
            run = e.update(ids, gradients, lr=0.5)
            self.assertEqual((run.rows, e.steps), (3, 1))
            want = before.copy()
            want[3] -= 0.5 * (gradients[0, 0] + gradients[1, 0])
            want[9] -= 0.5 * gradients[0, 1]
            want[49] -= 0.5 * gradients[1, 1]
            self.assertTrue(np.allclose(e.read(), want, atol=1e-6))
            self.assertIn("50 rows", repr(e))
        if counts_requests:
            self.assertEqual(run.remote_bytes, run.link.bytes_link)

    def test_the_same_values_wherever_they_lie_and_files(self):
        near, far = (garner.embedding(200, 12, device="simulated", feature_cache=b, seed=5, init="uniform", init_scale=0.1) for b in ("1MiB", 0))
        self.assertTrue(np.array_equal(near.read(), far.read()))
        ids, gradients = np.arange(0, 200, 3), np.full((67, 12), 0.5, np.float32)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "rows.safetensors")
            near.update(ids, gradients)
            near.save(file)
            far.load(file)
            for e in (near, far):
                e.update(ids[::-1], gradients * 2, lr=0.1)
            self.assertEqual(far.steps, 2)
            for what in ("weight", "exp_avg", "exp_avg_sq"):
                self.assertTrue(np.array_equal(near.read(what), far.read(what)))
            with self.assertRaisesRegex(garner.InputError, "made for another"):
                garner.embedding(201, 12, device="cpu").load(file)
        far.write(np.ones((3, 12)), first=4)
        self.assertEqual(far.read(first=3, count=5).sum(axis=1).round().tolist()[1:4], [12.0] * 3)

    def test_rows_of_16_bits(self):
        for device in ("cpu", "simulated"):
            e = garner.embedding(60, 9, optimizer="sgd", device=device, feature_cache="1KiB", dtype=np.float16)
            self.assertEqual((e.dtype, e[[3]].dtype), ("float16", np.float16))
            self.assertTrue(np.array_equal(e[np.arange(60)], e.read()))
            want = e.read()
            draw = np.random.default_rng(1)
            for dtype in (np.float16, np.float32, np.float64):
                ids, gradients = draw.integers(0, 60, 40), draw.random((40, 9)).astype(dtype)
                e.update(ids, gradients, lr=0.5)
                sums = np.zeros((60, 9), np.float32)
                for k, row in enumerate(ids):  # one after the other, in float32
                    sums[row] += gradients[k].astype(np.float32)
                want = (want - np.float32(0.5) * sums).astype(np.float16).astype(np.float32)
                self.assertTrue(np.array_equal(e.read(), want), (device, dtype))
        with self.assertRaisesRegex(garner.UsageError, "float32, float16 or bfloat16"):
            garner.embedding(10, 4, dtype="int8")

    def test_rows_in_a_file(self):
        for device in ("cpu", "simulated"):
            for dtype in ("float32", "float16"):
                with tempfile.TemporaryDirectory() as folder:
                    file = os.path.join(folder, "rows.gne")
                    memory = garner.embedding(300, 12, device=device, seed=5, dtype=dtype)
                    draw = np.random.default_rng(1)
                    for opened in range(2):
                        e = garner.embedding(300, 12, device=device, seed=5, dtype=dtype, file=file, host_cache=80 * 160)
                        self.assertEqual(e.steps, memory.steps)
                        for _ in range(4):
                            ids, gradients = draw.integers(0, 300, 70), draw.random((70, 12), dtype=np.float32)
                            e.update(ids, gradients), memory.update(ids, gradients)
                            self.assertTrue(np.array_equal(e[np.arange(300)], memory[np.arange(300)]))
                        self.assertTrue(np.array_equal(e.read("exp_avg_sq"), memory.read("exp_avg_sq")))
                        self.assertGreater(e.rows["file"], 100)
                        self.assertIn("rows.gne", e.summary())
                        with self.assertRaisesRegex(garner.FileError, "another table has it open"):
                            garner.embedding(300, 12, device=device, dtype=dtype, file=file)
                        del e
                    with self.assertRaisesRegex(garner.InputError, "holds 300 rows of 12"):
                        garner.embedding(301, 12, device=device, dtype=dtype, file=file)

    def test_a_killed_process_leaves_the_last_flush(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "rows.gne")
            script = ("import os, signal, sys, numpy as np, garner\n"
                      "e = garner.embedding(100, 4, device='cpu', optimizer='sgd', init='zero', file=sys.argv[1], host_cache=10 * 32)\n"
                      "for k in range(30):\n"
                      "    e.update(np.arange(k, k + 10), np.ones((10, 4)), lr=1)\n"
                      "    if k == 9: e.flush()\n"
                      "os.kill(os.getpid(), signal.SIGKILL)\n")
            self.assertEqual(subprocess.run([sys.executable, "-c", script, file]).returncode, -signal.SIGKILL)
            e = garner.embedding(100, 4, device="cpu", optimizer="sgd", file=file)
            want = np.zeros((100, 4), np.float32)
            for k in range(10):
                want[k:k + 10] -= 1
            self.assertEqual(e.steps, 10)
            self.assertTrue(np.array_equal(e.read(), want))
            self.assertEqual(os.listdir(folder), ["rows.gne"])

    def test_what_is_wrong_is_said(self):
        e = garner.embedding(10, 4, device="cpu")
        with self.assertRaisesRegex(garner.IdError, "id 10 at position 1"):
            e[[1, 10]]
        with self.assertRaisesRegex(garner.UsageError, r"gradients: of shape \(2, 3\)"):
            e.update([1, 2], np.zeros((2, 3)))
        before = e.read()
        with self.assertRaisesRegex(garner.InputError, "the gradient of row 2 is not a finite number"):
            e.update([1, 2], [[0, 0, 0, 0], [0, 0, float("nan"), 0]])
        self.assertTrue(np.array_equal(e.read(), before))
        with self.assertRaisesRegex(garner.UsageError, "use sgd, adagrad or adam"):
            garner.embedding(10, 4, optimizer="rmsprop")


@unittest.skipIf(torch is None, "needs torch")
class Module(unittest.TestCase):
    def test_as_torchs_optimisers(self):
        makers = {"sgd": lambda p: torch.optim.SGD(p, lr=0.1), "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, lr_decay=0.05),
                  "adam": lambda p: torch.optim.SparseAdam(p, lr=0.1, betas=(0.8, 0.95))}
        for name, make in makers.items():
            for device in ("host", "simulated"):
                torch.manual_seed(2)
                emb = garner.torch.Embedding(40, 6, optimizer=name, lr=0.1, lr_decay=0.05 * (name == "adagrad"), betas=(0.8, 0.95), device=device,
                                             feature_cache=900)
                twin = torch.nn.Embedding(40, 6, sparse=True)
                with torch.no_grad():
                    twin.weight.copy_(emb.weight)
                optimiser = make(twin.parameters())
                for _ in range(6):
                    ids, other, factor = torch.randint(0, 40, (5, 5)), torch.randint(0, 20, (9,)), torch.randn(5, 5, 6)
                    for model in (emb, twin):
                        ((model(ids) * factor).tanh().sum() + model(other).square().mean()).backward()
                    optimiser.step()
                    optimiser.zero_grad()
                    self.assertEqual(emb.step().rows, len(set(ids.flatten().tolist()) | set(other.tolist())))
                self.assertTrue(torch.allclose(emb.weight, twin.weight, atol=2e-6), (name, device, (emb.weight - twin.weight).abs().max()))
                self.assertIsNone(emb.step())

    def test_16_bits_step_by_step_and_under_autocast(self):
        for dtype in (torch.float16, torch.bfloat16):
            for device in ("cpu", "simulated"):
                torch.manual_seed(2)
                emb = garner.torch.Embedding(40, 8, optimizer="adam", lr=0.1, device=device, feature_cache=900, dtype=dtype)
                self.assertEqual((emb.weight.dtype, emb(torch.arange(3)).dtype), (dtype, dtype))
                lin = torch.nn.Linear(8, 3)
                weight, m, v = emb.weight.float(), torch.zeros(40, 8), torch.zeros(40, 8)
                for step in range(1, 5):
                    ids = torch.randint(0, 40, (30,))
                    with torch.autocast("cpu", dtype):
                        rows = emb(ids)
                        out = lin(rows)
                        self.assertEqual(out.dtype, dtype)
                    seen = []
                    rows.register_hook(seen.append)
                    out.float().square().mean().backward()
                    gradient = torch.zeros(40, 8)
                    for k, row in enumerate(ids.tolist()):
                        gradient[row] += seen[0][k].float()
                    self.assertEqual(seen[0].dtype, dtype)
                    some = ids.unique()
                    self.assertEqual(emb.step().rows, len(some))
                    m[some] += (1 - 0.9) * (gradient - m)[some]
                    v[some] += (1 - 0.999) * (gradient.square() - v)[some]
                    rate = 0.1 * (1 - 0.999 ** step) ** 0.5 / (1 - 0.9 ** step)
                    weight[some] -= rate * (m / (v.sqrt() + 1e-8))[some]
                    weight = weight.to(dtype).float()
                    last_bit = 2.0 ** (-9 if dtype == torch.float16 else -6)
                    self.assertTrue(torch.allclose(emb.weight.float(), weight, atol=last_bit / 16, rtol=last_bit))
                    weight = emb.weight.float()
                self.assertTrue(torch.allclose(torch.from_numpy(emb.table.read("exp_avg")), m, atol=1e-6))
                other = garner.torch.Embedding(40, 8, device="cpu", dtype=dtype, seed=9)
                other.load_state_dict(emb.state_dict())
                self.assertEqual(emb.state_dict()["weight"].dtype, dtype)
                self.assertTrue(torch.equal(other.weight, emb.weight))

    def test_state_and_modes(self):
        model = torch.nn.ModuleDict({"emb": garner.torch.Embedding(30, 4, device="cpu"), "lin": torch.nn.Linear(4, 2)})
        emb = model["emb"]
        self.assertEqual([name for name, _ in model.named_parameters()], ["lin.weight", "lin.bias"])
        model["lin"](emb(torch.arange(9))).sum().backward()
        emb.zero_grad()
        self.assertIsNone(emb.step())
        with torch.no_grad():
            self.assertFalse(emb(torch.arange(3)).requires_grad)
        model["lin"](emb(torch.arange(9))).sum().backward()
        emb.step()
        state = model.state_dict()
        self.assertEqual(set(state), {"emb.weight", "emb.exp_avg", "emb.exp_avg_sq", "emb.steps", "lin.weight", "lin.bias"})
        other = torch.nn.ModuleDict({"emb": garner.torch.Embedding(30, 4, device="simulated", feature_cache=0, seed=9), "lin": torch.nn.Linear(4, 2)})
        with tempfile.TemporaryDirectory() as folder:
            torch.save(state, os.path.join(folder, "state.pt"))
            other.load_state_dict(torch.load(os.path.join(folder, "state.pt")))
        for m in (model, other):
            m["lin"](m["emb"](torch.arange(5, 20))).square().sum().backward()
            m["emb"].step()
        self.assertTrue(torch.equal(emb.weight, other["emb"].weight))
        del state["emb.exp_avg"]
        with self.assertRaisesRegex(RuntimeError, "emb.exp_avg"):
            other.load_state_dict(state)
        with self.assertRaisesRegex(RuntimeError, "size mismatch"):
            garner.torch.Embedding(31, 4, device="cpu").load_state_dict(emb.state_dict())

    def test_a_gradient_that_is_no_number(self):
        emb = garner.torch.Embedding(10, 3, device="cpu")
        before = emb.weight
        (emb(torch.tensor([4, 5])) * torch.tensor([[1.0], [float("inf")]])).sum().backward()
        with self.assertRaisesRegex(garner.InputError, "row 5"):
            emb.step()
        self.assertTrue(torch.equal(emb.weight, before))
        self.assertIsNone(emb.step())


@unittest.skipIf(torch is None, "needs torch")
class Aggregation(unittest.TestCase):
    def twin(self, rows, row, col, targets, how, weights, degrees=None):
        w = torch.ones(len(row), dtype=rows.dtype) if weights is None else weights.to(rows.dtype)
        total = torch.zeros(targets, dtype=rows.dtype).index_add(0, col, w)
        if how == "mean":
            w = w / total[col]
        if how == "gcn":
            d = (total if degrees is None else degrees.to(rows.dtype)) + 1
            w = w / (d[row] * d[col]).sqrt()
            if degrees is not None and weights is None:  # counts: sampled neighbors stand for all
                w = w * (d[col] - 1) / total[col]
        shape = (-1,) + (1,) * (rows.dim() - 1)
        out = torch.zeros(targets, *rows.shape[1:], dtype=rows.dtype).index_add(0, col, rows[row] * w.reshape(shape))
        return out + rows[:targets] / d[:targets].reshape(shape) if how == "gcn" else out

    def test_as_index_add(self):
        torch.manual_seed(4)
        for kind, near in ((torch.float32, 1e-5), (torch.float64, 1e-12)):
            for how in ("sum", "mean", "gcn"):
                for weighted in (False, True):
                    for sorted_ in (True, False):
                        targets, sources = (20, 20) if how == "gcn" else (20, 60)
                        row, col = torch.randint(0, sources, (90,)), torch.randint(0, targets, (90,))
                        col = col.sort().values if sorted_ else col
                        weights = torch.rand(90) + 0.1 if weighted else None
                        rows = torch.randn(sources, 3, 2, dtype=kind)
                        ours, theirs = rows.clone().requires_grad_(), rows.clone().requires_grad_()
                        out = garner.torch.aggregate(ours, (row, col, targets), how, weights)
                        want = self.twin(theirs, row, col, targets, how, weights)
                        factor = torch.randn_like(want)
                        (out * factor).sum().backward()
                        (want * factor).sum().backward()
                        self.assertTrue(torch.allclose(out, want, atol=near), (how, kind))
                        self.assertTrue(torch.allclose(ours.grad, theirs.grad, atol=near), (how, kind))

    def test_degrees_of_gcn(self):
        row, col = torch.randint(0, 40, (90,)), torch.randint(0, 15, (90,))
        for kind, near in ((torch.float32, 1e-5), (torch.float64, 1e-12)):
            for weights in (None, torch.rand(90, dtype=torch.float64) + 0.1, torch.randint(1, 5, (90,))):
                w = torch.ones(90, dtype=torch.float64) if weights is None else weights.double()
                sums = torch.zeros(40, dtype=torch.float64).index_add(0, col, w)
                for degrees in (sums, torch.randint(1, 30, (40,)), 9 * torch.rand(40, dtype=torch.float64)):
                    ours = torch.randn(40, 3, dtype=kind, requires_grad=True)
                    theirs = ours.detach().clone().requires_grad_()
                    out = garner.torch.aggregate(ours, (row, col, 15), "gcn", weights, degrees=degrees)
                    want = self.twin(theirs, row, col, 15, "gcn", weights, degrees)
                    out.sum().backward(), want.sum().backward()
                    self.assertTrue(torch.allclose(out, want, atol=10 * near, rtol=near))
                    self.assertTrue(torch.allclose(ours.grad, theirs.grad, atol=10 * near, rtol=near))
                square = torch.randn(40, 3, dtype=kind)  # the sums that None works out itself
                self.assertTrue(torch.allclose(garner.torch.aggregate(square, (row, col, 40), "gcn", weights),
                                               garner.torch.aggregate(square, (row, col, 40), "gcn", weights, degrees=sums), atol=near))

    def test_gradcheck(self):
        row, col = torch.randint(0, 12, (30,)), torch.randint(0, 5, (30,)).sort().values
        degrees = torch.randint(1, 9, (12,)).float()
        for how in ("sum", "mean", "gcn"):
            for weights in (None, torch.rand(30)):
                torch.autograd.gradcheck(lambda x: garner.torch.aggregate(x, (row, col, 5), how, weights, degrees=degrees),
                                         torch.randn(12, 3, dtype=torch.float64, requires_grad=True))

    def test_mini_batches(self):
        source, target = torch.randint(0, 200, (2, 2000))
        g = garner.build(source, target, undirected=True)
        x = torch.randn(len(g), 5)
        for batch in garner.torch.loader(g, [4, 3], x=x, batch_size=50):
            whole = garner.torch.aggregate(batch.x, batch)
            targets = sum(batch.num_sampled_nodes[:2])
            self.assertTrue(torch.allclose(whole, self.twin(batch.x, *batch.edge_index, targets, "mean", None).nan_to_num(), atol=1e-5))
            seeds = garner.torch.aggregate(batch.x, batch, hops=1)
            self.assertEqual(tuple(seeds.shape), (batch.batch_size, 5))
            self.assertTrue(torch.equal(seeds, whole[:batch.batch_size]))
        for batch in garner.Loader(garner.BlockSampler(g, [4, 3], device="cpu"), np.arange(len(g)), [x.numpy()], batch_size=50, shuffle=False):
            rows = torch.from_numpy(batch.rows(0))
            edges = batch.of_relation(0).edge_index
            targets = sum(batch.of_type(0).by_hop[:2])
            self.assertTrue(torch.allclose(garner.torch.aggregate(rows, batch, "sum"),
                                           self.twin(rows, torch.from_numpy(edges[0]), torch.from_numpy(edges[1]), targets, "sum", None), atol=1e-5))

    def test_learns_a_type_without_features_beside_another(self):
        """Papers have rows that carry nothing, authors none: the learned rows of authors classify the papers, as torch's own tables do."""
        papers, authors, draw = 120, 80, torch.Generator().manual_seed(1)
        paper = torch.randint(papers, (900,), generator=draw)
        author = torch.randint(authors // 2, (900,), generator=draw) * 2 + paper % 2
        wrote = garner.build(paper.numpy(), author.numpy())
        x = torch.zeros(papers, 3)
        losses = {}
        for place in ("host", "simulated"):
            torch.manual_seed(1)
            emb = garner.torch.Embedding(authors, 4, lr=0.05, device=place, feature_cache="400")
            twin = torch.nn.Embedding(authors, 4, sparse=True)
            twin.weight.data.copy_(emb.weight)
            twin_step = torch.optim.SparseAdam(twin.parameters(), lr=0.05)
            head = torch.nn.Linear(4, 2)
            told = []
            sampler = garner.BlockSampler.of_relations([papers, authors], [garner.Relation(wrote, [5], source=1, target=0, side="out")], device=place)
            loader = garner.Loader(sampler, np.arange(papers), [garner.tiered(x.numpy(), device=place)], batch_size=40)
            for _ in range(20):
                for batch in loader:
                    seeds, ids = torch.from_numpy(batch.of_type(0).ids), torch.from_numpy(batch.of_type(1).ids).clone()
                    edges = torch.from_numpy(batch.of_relation(0).edge_index)
                    self.assertGreater(len(ids), 0)
                    for table in (emb, twin):
                        taken = garner.torch.aggregate(table(ids), (edges[0], edges[1], len(seeds)))
                        loss = torch.nn.functional.cross_entropy(head(taken), seeds % 2)
                        loss.backward()
                    emb.step(), twin_step.step(), twin_step.zero_grad()
                    told.append(float(loss.detach()))
            self.assertTrue(torch.allclose(emb.weight, twin.weight, atol=1e-4))
            self.assertLess(told[-1], 0.3 * told[0])
            losses[place] = told
        self.assertEqual(losses["host"], losses["simulated"])

    def test_what_is_wrong_is_said(self):
        x, one = torch.randn(4, 2), torch.zeros(1, dtype=torch.int64)
        with self.assertRaisesRegex(garner.IdError, "edge 0 from 9 to 0: there are 4 sources and 2 targets"):
            garner.torch.aggregate(x, (one + 9, one, 2))
        with self.assertRaisesRegex(garner.UsageError, "give those of the sources in the whole graph"):
            garner.torch.aggregate(x, (one, one, 2), "gcn")
        with self.assertRaisesRegex(garner.UsageError, "int64; give a tensor of float32"):
            garner.torch.aggregate(x.long(), (one, one, 2))
        with self.assertRaisesRegex(garner.UsageError, "use sum, mean or gcn"):
            garner.torch.aggregate(x, (one, one, 2), "max")
        with self.assertRaisesRegex(garner.UsageError, "give one each"):
            garner.torch.aggregate(x, (one, one, 2), weights=torch.ones(3))
        self.assertEqual(garner.torch.aggregate(x, (one[:0], one[:0], 3)).abs().sum().item(), 0)


if __name__ == "__main__":
    unittest.main()
