"""Checkpoints of garner.infer: a call goes on where an earlier one of the same model ended, whatever running changed, and refuses the rows of another model."""
import argparse
import collections
import functools
import logging
import os
import pickle
import subprocess
import sys
import unittest

import numpy as np

import garner
from inference_world import World

try:
    import torch
    import torch_geometric.nn as pyg
except ImportError:
    raise unittest.SkipTest("needs torch and PyG (torch_geometric)") from None

_log, _rng, _stats, _calls, _graph = logging.getLogger("mine"), np.random.default_rng(), collections.defaultdict(int), 0, garner.build([0], [1])
_options, _itself, _scale = argparse.Namespace(resume=False, alpha=0.5), set(), 2.0


def _helper(x):
    return x * _scale + _Settings.shift


class _Settings:
    shift = 0.0


class Checkpoints(World):
    def test_goes_on_where_it_ended(self):
        model = pyg.GraphSAGE(12, 16, 3, 5).eval()
        want = garner.infer(model, self.graph, self.x, batch_size=100)
        work = self.folder / "work"
        self.graph = garner.build(self.edge_index, num_nodes=self.n, keep_duplicates=True, keep_loops=True)  # without in-edges so far

        class Stop(Exception):
            pass

        from garner import checkpoints
        self.addCleanup(setattr, checkpoints, "_seconds", checkpoints._seconds)
        checkpoints._seconds = 0
        for ends in (350, 700, 1000, 2050):  # in a layer, between two, in the last
            seen = []

            def stop(done, total, ends=ends, seen=seen):
                seen.append(done)
                if done >= ends:
                    raise Stop
            with self.assertRaises(Stop):
                garner.infer(model, self.graph, self.x, batch_size=100, checkpoint=work, progress=stop)
            self.assertLessEqual(len(seen), 11)  # not from the beginning
        other = pyg.GraphSAGE(12, 16, 3, 5).eval()
        for changed in ((other, self.x, {}), (model, self.x + 1, {}), (model, self.x, {"classes": True})):
            with self.assertRaisesRegex(garner.UsageError, "another model"):
                garner.infer(changed[0], self.graph, changed[1], batch_size=100, checkpoint=work, **changed[2])
        out = garner.infer(model, self.graph, self.x, batch_size=100, checkpoint=work, out=self.folder / "z.npy")
        np.testing.assert_array_equal(np.load(out), want)
        self.assertEqual(os.listdir(self.folder), ["z.npy"])
        self.assertTrue(torch.equal(garner.infer(model, self.graph, self.x, batch_size=100, checkpoint=work), want))

    def test_a_checkpoint_is_of_all_that_a_model_computes(self):
        weights = pyg.GAT(12, 16, 2, 5).state_dict()

        def gat(**more):
            made = pyg.GAT(12, 16, 2, 5, **more)
            made.load_state_dict(weights)
            return made

        def layer(scale, conv=pyg.SAGEConv(12, 5)):
            return [torch.relu, lambda x, edge_index: conv(x, edge_index) * scale]

        class Mine(pyg.SAGEConv):
            def message(self, x_j):
                return x_j + 1

        class Other(pyg.SAGEConv):
            def message(self, x_j):
                return x_j + 2
        sage, mine = pyg.SAGEConv(12, 5), Mine(12, 5)
        Other.__qualname__ = Mine.__qualname__
        other = Other(12, 5)
        for of in (other, mine):
            of.load_state_dict(sage.state_dict())
        far = pyg.SAGEConv(12, 5, aggr="max")
        far.load_state_dict(sage.state_dict())
        double, half = (lambda x, edge_index: 2 * sage(x, edge_index)), (lambda x, edge_index: 0.5 * sage(x, edge_index))
        far_mine = Mine(12, 5, aggr="max")
        far_mine.load_state_dict(sage.state_dict())

        def table(rows):
            table = garner.tiered(rows)
            return [lambda x, edge_index: sage(x, edge_index) + table[:3].sum()]

        def told(factor):
            class Told(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.conv, self.factor = sage, factor

                def extra_repr(self):
                    return f"factor={self.factor}"

                def forward(self, x, edge_index):
                    return self.conv(x, edge_index) * self.factor
            return [Told()]

        def within(of):
            return [lambda x, edge_index, convs=[of]: convs[0](x, edge_index)]

        def hooked(by):
            one = pickle.loads(pickle.dumps(sage))
            one.register_forward_hook(lambda module, args, out: out * by)
            return [one]
        for k, (model, others) in enumerate((
                (gat(), [gat(act="elu"), gat(negative_slope=0.5), gat(act_first=True)]), ([sage], [[far], [mine], [sage, torch.relu]]),
                ([mine], [[other], [far_mine]]), (layer(2.0), [layer(3.0), layer(torch.ones(1)), layer(np.ones(1))]), ([double], [[half]]), ([sage, torch.relu], [[sage, torch.neg]]),
                ([sage, functools.partial(torch.add, other=1)], [[sage, functools.partial(torch.add, other=2)]]),
                (told(2), [told(3)]), (table(self.x), [table(self.x + 1), [sage]]), (within(sage), [within(pyg.SAGEConv(12, 5))]), (hooked(2), [hooked(3), [sage]]))):
            work = self.folder / f"work {k}"
            with self.assertRaises(ZeroDivisionError):
                garner.infer(model, self.graph, self.x, checkpoint=work, device="cpu", progress=lambda *_: 1 / 0)
            for one in others:
                with self.subTest(model=model, one=one), self.assertRaisesRegex(garner.UsageError, "holds the rows of another model"):
                    garner.infer(one, self.graph, self.x, checkpoint=work, device="cpu")
            same = pickle.loads(pickle.dumps(model)) if k < 2 else layer(2.0, model[1].__closure__[0].cell_contents) if k == 3 else model
            for part in same if k == 1 else ():
                part.train()
            self.assertEqual(len(garner.infer(same, self.graph, self.x, checkpoint=work, device="cpu")), self.n)
        work = self.folder / "file"
        with self.assertRaises(ZeroDivisionError):
            garner.infer([sage, lambda x: _helper(x)], self.graph, self.x, checkpoint=work, progress=lambda *_: 1 / 0)
        for of, name in ((sys.modules[__name__], "_scale"), (_Settings, "shift")):
            before = getattr(of, name)
            setattr(of, name, 3.0)
            with self.subTest(name), self.assertRaisesRegex(garner.UsageError, "holds the rows of another model"):
                garner.infer([sage, lambda x: _helper(x)], self.graph, self.x, checkpoint=work)
            setattr(of, name, before)

    def test_what_running_changes_refuses_no_checkpoint(self):
        conv, compiled, cache = pyg.SAGEConv(12, 5), torch.compile(pyg.SAGEConv(12, 5), backend="eager"), {}

        class Mine(torch.nn.Module):
            def __init__(self, device="cpu"):
                super().__init__()
                self.conv, self.calls, self.kept, self.device = pyg.SAGEConv(12, 5), 0, None, device
                self.register_buffer("found", None, persistent=False)

            @functools.cached_property
            def half(self):
                return torch.tensor(0.5)

            def forward(self, x, edge_index):
                self.calls += 1
                self.kept = self.kept if self.calls > 1 else torch.ones(5)
                self.found = self.kept
                return self.conv(x, edge_index) * self.kept * self.half

        class Compiled(Mine):
            @torch.compile(backend="eager")
            def forward(self, x, edge_index):
                return self.conv(x, edge_index)

        def of_globals(x, edge_index):
            global _calls
            _calls += 1
            _stats["calls"] += _rng.integers(1, 2)
            _log.info("called")
            _itself.add(_calls)
            return conv(x, edge_index) * _options.alpha * _stats["calls"] / _calls + len(_graph) * (0 if of_globals in _itself else 1)

        def of_closure(x, edge_index, log=[]):
            log.append(1)
            cache[len(log)] = x
            return compiled(x, edge_index)
        _itself.add(of_globals)
        mine = Mine()
        for k, layers in enumerate(([mine], [Compiled()], [of_globals], [of_closure], [pyg.GCNConv(12, 5, cached=True)])):
            with self.subTest(layers=layers):
                done = []
                for ends in (300, 700):
                    def stop(at, _, ends=ends, done=done):
                        done.append(at)
                        if at >= ends:
                            raise ZeroDivisionError
                    with self.assertRaises(ZeroDivisionError):
                        garner.infer(layers, self.graph, self.x, batch_size=256, checkpoint=self.folder / f"work {k}", progress=stop)
                self.assertEqual(len(garner.infer(layers, self.graph, self.x, batch_size=256, checkpoint=self.folder / f"work {k}")), self.n)
        from garner.checkpoints import digest_of
        normed = torch.nn.utils.weight_norm(torch.nn.Linear(12, 12)), torch.nn.utils.weight_norm(torch.nn.Linear(12, 12))
        normed[1].load_state_dict(normed[0].state_dict())
        again = Mine("cuda:0")
        again.load_state_dict(mine.state_dict())
        again.epoch, again.history = 3, [0.5]
        self.assertEqual(digest_of(normed[0]), digest_of(normed[1]))
        self.assertEqual(digest_of([mine]), digest_of([again]))
        digest = digest_of([of_globals])
        _options.resume = True
        self.assertEqual(digest_of([of_globals]), digest)

    def test_a_model_is_the_same_one_in_another_process(self):
        code = """if True:
            import argparse, logging, torch, torch_geometric.nn as pyg, functools, os, numpy, sys, garner, scripted
            from garner.checkpoints import digest_of
            torch.manual_seed(1)
            class Mine(pyg.SAGEConv):
                scale = {3, "a", 2.5}
                def message(self, x_j):
                    logger.info("called")
                    return x_j + one[0] + args.alpha + rng.integers(3) + len(graph) if x_j.shape[0] in {1, "a", None, 2.5, "b"} else x_j
            logger, rng, graph = logging.getLogger("mine"), numpy.random.default_rng(), garner.build([0], [1])
            args = argparse.Namespace(alpha=0.5, process=os.getpid())
            logger.isEnabledFor(int(os.environ["PYTHONHASHSEED"]))
            conv, one, act, shape = Mine(4, 4), [1.5], torch.nn.functional.relu, os.getpid()
            conv.register_forward_hook(lambda module, args, out: out * 2)
            print(digest_of([conv, torch.relu, act, lambda x, edge_index, nodes=None: act(conv(x, edge_index)) + x.shape[1], functools.partial(torch.add, other=one), pyg.GAT(4, 4, 2), torch.jit.script(scripted.Own()), act]))
            """
        own = "import torch\nclass Own(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n"

        def digest(folder, seed, own=own):
            (self.folder / folder).mkdir()
            (self.folder / folder / "scripted.py").write_text(own)
            return subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, cwd=self.folder / folder,
                                  env={**os.environ, "PYTHONHASHSEED": seed}).stdout
        once, again = digest("one", "1"), digest("another", "2")
        self.assertEqual(once, again)
        self.assertNotEqual(digest("other code", "1", own.replace("2", "3")), once)


if __name__ == "__main__":
    unittest.main()
