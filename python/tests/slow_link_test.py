"""Two ranks in network namespaces with a slow link between them: mini-batches and whole graphs as without, what of the exchange is hidden behind
steps, and a link that breaks.

The link is a pair of veth, slowed by `tc netem` (rate and delay), or where the kernel has none by `tc tbf` (rate alone). -v prints the times.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import garner

try:
    import torch

    import garner.torch
    import several_ranks
except ImportError:
    torch = None


class SlowLink:
    """Namespaces ends[0] and ends[1], which reach each other at 10.77.0.1 and .2."""

    def __init__(self, rate, delay):
        self.ends = [f"garner-{os.getpid()}-{k}" for k in (0, 1)]
        for end in self.ends:
            self.say("ip", "netns", "add", end)
        self.say("ip", "link", "add", "gv0", "netns", self.ends[0], "type", "veth", "peer", "name", "gv1", "netns", self.ends[1])
        for k, end in enumerate(self.ends):
            self.say("ip", "-n", end, "addr", "add", f"10.77.0.{k + 1}/24", "dev", f"gv{k}")
            self.say("ip", "-n", end, "link", "set", f"gv{k}", "up")
            self.say("ip", "-n", end, "link", "set", "lo", "up")
            try:
                self.say("tc", "-n", end, "qdisc", "add", "dev", f"gv{k}", "root", "netem", "delay", delay, "rate", rate, "limit", "100000")
                self.how = f"netem, {rate}, {delay}"
            except RuntimeError:
                self.say("tc", "-n", end, "qdisc", "add", "dev", f"gv{k}", "root", "tbf", "rate", rate, "burst", "256kb", "latency", "2s")
                self.how = f"tbf, {rate} (no netem here, so no delay of {delay})"

    def say(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")

    def run(self, part, **said):
        before = [["ip", "netns", "exec", end, "env", f"GLOO_SOCKET_IFNAME=gv{k}", f"TP_SOCKET_IFNAME=gv{k}"] for k, end in enumerate(self.ends)]
        return several_ranks.run(__file__, part, 2, meet="10.77.0.1", before=before, **said)

    def close(self):
        for end in self.ends:
            subprocess.run(["ip", "netns", "del", end], capture_output=True, timeout=30)


def hidden(rank, said):
    """ms of an epoch: steps alone (rows at home), the exchange alone, and both at once; a step is a sleep, as a GPU's is for the CPU."""
    g = garner.generate("kron", 11, undirected=True)
    rows = torch.randn(2048, said["width"], generator=torch.Generator().manual_seed(1))
    x = garner.torch.remote_rows(rows[:1024] if rank == 0 else rows[1024:])
    split, batch_size, window = garner.torch.remote_graph(g), said["batch_size"], said["window"]

    def epoch(of, step):
        loader = garner.torch.loader(split if said["split"] and of is x else g, [8, 8], x=of, batch_size=batch_size, seed=3, ranks="torchrun", loading={"window": window})
        garner.torch.ranks().all_gather(0)
        began = time.perf_counter()
        for batch in loader:
            assert batch.x.shape[1] == said["width"]
            if step:
                time.sleep(step)
        return (time.perf_counter() - began) * 1e3

    epoch(x, 0)
    at_home, exchange = min(epoch(rows, 0) for _ in range(2)), min(epoch(x, 0) for _ in range(2))
    before = dict(x.report)
    epoch(x, 0)
    windows = x.report["windows"] - before["windows"]
    step = 1.5 * max(exchange - at_home, 1) / (windows * window) / 1e3  # a window of steps is half as long again as a window's exchange
    steps, both = min(epoch(rows, step) for _ in range(2)), min(epoch(x, step) for _ in range(2))
    return {"at_home": at_home, "exchange": exchange, "steps": steps, "both": both, "windows": windows,
            "bytes": x.report["bytes"] / x.report["windows"], "bytes_of_lists": split.report["bytes"] / max(1, split.report["windows"]), "hidden": 1 - (both - steps) / (exchange - at_home)}


def learns(rank, said):
    g = garner.generate("kron", 9, undirected=True)
    part = garner.torch.shard(g)
    x = torch.randn(512, 8, generator=torch.Generator().manual_seed(1))
    w = torch.ones(8, 3, requires_grad=True)
    garner.torch.aggregate(x[part.nodes] @ w, part, "gcn").square().sum().backward()
    torch.distributed.all_reduce(w.grad)
    alone = torch.ones(8, 3, requires_grad=True)
    offsets, targets, _ = g.csr()
    col = torch.arange(512).repeat_interleave(torch.from_numpy(offsets.copy()).diff())
    garner.torch.aggregate(x @ alone, (torch.from_numpy(targets.copy()).long(), col, 512), "gcn").square().sum().backward()
    assert torch.allclose(w.grad, alone.grad, rtol=1e-4), (w.grad, alone.grad)
    return part.report


def broken(rank, said):
    here = garner.torch.ranks(timeout=5, silence=2)
    x = garner.torch.remote_rows(torch.zeros(100, 4))
    with open(f"{said['folder']}/{rank}", "w"):  # the link may break now
        pass
    began = time.monotonic()
    try:
        while time.monotonic() - began < 40:
            x[torch.arange(200)]
            time.sleep(0.01)
    except garner.RankError as e:
        return [str(e), here.timeout + here.silence]


@unittest.skipIf(torch is None, "needs torch")
@unittest.skipUnless(hasattr(os, "geteuid") and os.geteuid() == 0, "needs root, for network namespaces")
@unittest.skipUnless(shutil.which("ip") and shutil.which("tc"), "needs ip and tc (package iproute2)")
class Slow(unittest.TestCase):
    def link(self, rate, delay):
        try:
            link = SlowLink(rate, delay)
        except RuntimeError as e:
            self.skipTest(f"no network namespaces with a slow link here: {e}")
        self.addCleanup(link.close)
        self.addCleanup(lambda: several_ranks.forget("10.77.0.1"))
        return link

    def test_what_is_hidden(self):
        self.hides("1gbit", width=512, split=False, batch_size=8, window=8)

    def test_what_of_a_split_graph_is_hidden(self):
        self.hides("100mbit", width=32, split=True, batch_size=32, window=4)

    def hides(self, rate, **said):
        link = self.link(rate, "1ms")
        found = several_ranks.told(link.run("hidden", timeout=200, **said))
        for rank, one in enumerate(found):
            print(f"\n{link.how}; rank {rank}: " + ", ".join(f"{key} {value:.3g}" for key, value in one.items()), file=sys.stderr)
        self.assertGreater(found[0]["hidden"], 0.4)  # this machine may be busy; alone it is more

    def test_a_whole_graph(self):
        several_ranks.told(self.link("100mbit", "5ms").run("learns"))

    def test_a_link_that_breaks(self):
        link = self.link("1gbit", "1ms")
        folder = tempfile.mkdtemp()
        self.addCleanup(lambda: shutil.rmtree(folder))

        def breaks(processes):
            began = time.monotonic()
            while len(os.listdir(folder)) < 2 and time.monotonic() - began < 60:
                time.sleep(0.1)
            time.sleep(0.5)
            self.broken_at = time.monotonic()
            link.say("ip", "-n", link.ends[1], "link", "set", "gv1", "down")

        found = link.run("broken", folder=folder, then=breaks, timeout=120)
        self.assertRegex(found[0].told[0], r"^rank 1 \(.*\): dead, without a sign for 2 s")
        self.assertRegex(found[1].told[0], r"^the store of torch.distributed does not respond")


if __name__ == "__main__" and (torch is None or not several_ranks.is_rank()):
    unittest.main()
