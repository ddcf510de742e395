"""torch.autocast and torch.compile around what a training loop has of Garner: the loader's rows, aggregate, Embedding. They learn as without."""
import contextlib
import unittest

import garner

try:
    import torch
    import torch._dynamo.testing
    import garner.torch
except ImportError:
    torch = None


@unittest.skipIf(torch is None, "torch is not installed")
class Loops(unittest.TestCase):
    def learn(self, around=contextlib.nullcontext, made=lambda model: model, kind=None):
        """Losses of each mini-batch, the learned rows, and the dtypes that were seen."""
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.rows = garner.torch.Embedding(300, 5, optimizer="sgd", lr=0.5, seed=3, device="cpu")
                self.first, self.last = torch.nn.Linear(6 + 5, 8), torch.nn.Linear(8, 3)

            def forward(self, batch):
                h = torch.cat([batch.x, self.rows(batch.n_id)], 1)
                h = garner.torch.aggregate(self.first(h), batch, "mean", hops=2).relu()
                return garner.torch.aggregate(self.last(h), batch, "sum", hops=1)

        kinds, losses = [], []
        g = garner.build(*torch.randint(0, 300, (2, 2000), generator=torch.Generator().manual_seed(1)), undirected=True, num_nodes=300)
        torch.manual_seed(5)
        features, labels = torch.randn(300, 6), torch.randint(0, 3, (300,))
        features = features if kind is None else features.to(kind)
        model = Model()
        call, optimizer = made(model), torch.optim.SGD(model.parameters(), lr=0.1)
        for batch in garner.torch.loader(g, [4, 3], x=garner.tiered(features, device="cpu"), y=labels, batch_size=40, shuffle=True, seed=2, device="cpu"):
            with around():
                out = call(batch)
                kinds.append(out.dtype)
                loss = torch.nn.functional.cross_entropy(out[:batch.batch_size].float(), batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            model.rows.step()
            losses.append(float(loss.detach()))
        return torch.tensor(losses), torch.from_numpy(model.rows.table.read()), set(kinds)

    def same(self, want, found, near):
        for a, b in zip(want[:2], found[:2]):
            self.assertTrue(torch.allclose(a, b, atol=near, rtol=near), (a - b).abs().max())

    def test_autocast(self):
        want = self.learn()
        self.assertEqual(want[2], {torch.float32})
        for kind in (torch.bfloat16, torch.float16):
            found = self.learn(lambda: torch.autocast("cpu", kind))
            self.assertEqual(found[2], {kind})
            self.same(want, found, 0.1)
            self.assertFalse(torch.equal(want[0], found[0]))
            self.same(want, self.learn(lambda: torch.autocast("cpu", kind), kind=kind), 0.1)

    def test_compile(self):
        for around, near in ((contextlib.nullcontext, 1e-4), (lambda: torch.autocast("cpu", torch.bfloat16), 0.02)):
            torch._dynamo.reset()
            counted = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
            found = self.learn(around, lambda model: torch.compile(model, dynamic=True, backend=counted))
            self.same(self.learn(around), found, near)
            self.assertGreater(counted.frame_count, 0)
            self.assertLessEqual(counted.frame_count, 4)  # not one for each mini-batch, of which there are 8


if __name__ == "__main__":
    unittest.main()
