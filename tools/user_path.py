"""The cases of tools/prove_user: scripts as users type them, each timed, and compared with what they should have handed out. A line of JSON a case.

  python3 tools/user_path.py SECTION [CASE...]       SECTION: pyg, options, hetero, torch, layers, large, devices, ddp, wholegraph; cases whose names hold
                                                     one of these words
  SCALE=12 BATCHES=5 ... a rehearsal on a machine without a GPU

Graphs are Kronecker graphs (16 undirected edges per node, as Graph500 has them), made here; row k of the features is a function of k, of which each row that is
handed out is compared, and each edge with the edge list. Times: BATCHES mini-batches behind 40 that warm up, by the wall clock around a loop
that ends with a wait for the GPU; the median of three such loops.
"""
import gc
import json
import os
import statistics
import subprocess
import sys
import time

import torch

from user_cases import gpu, device, batches, warm, width, hidden, classes, fanout, section, words, say, wait, kronecker, rows_of, table, Wrong, case


def pyg(of_options=False):
    """of_options: temporal, weighted, disjoint and induced mini-batches, in place of the plain ones."""
    import garner
    from garner.pyg import LinkNeighborLoader, NeighborLoader
    from torch_geometric.data import Data
    from torch_geometric.nn import GraphSAGE
    scale = int(os.environ.get("SCALE", 24 if gpu else 12))
    begun = time.perf_counter()
    edges, nodes = kronecker(scale), 1 << scale
    torch.manual_seed(1)
    x, y, mask = table(nodes), torch.randint(0, classes, (nodes,)), torch.rand(nodes) < 0.5
    train = torch.unique_consecutive(edges[1])
    train = train[torch.randperm(len(train))[:1 << 18]]
    pairs = edges[:, torch.randint(edges.shape[1], (1 << 18,))].contiguous()
    say(data=f"Kronecker {scale}", nodes=nodes, edges=edges.shape[1], s=round(time.perf_counter() - begun, 1))

    def data(features=None, **more):
        return Data(x=x if features is None else features, edge_index=edges, y=y, train_mask=mask, **more)

    def look(b, wrong, closely):
        wrong.look(b.x, b.n_id, b.y, y)
        if closely and "e_id" in b:
            n = b.n_id.to(b.edge_index.device)
            wrong.edge(n[b.edge_index[0]], n[b.edge_index[1]], b.e_id, edges)

    def sage():
        torch.set_float32_matmul_precision("high")
        net = GraphSAGE(width, hidden, 3, classes, dropout=.5).to(device)
        adam = torch.optim.Adam(net.parameters(), 3e-3)

        def step(b):
            b = b.to(device)
            out = net(b.x, b.edge_index)[:b.batch_size]
            loss = torch.nn.functional.cross_entropy(out, b.y[:b.batch_size])
            adam.zero_grad()
            loss.backward()
            adam.step()
        return step

    def nodes_of(d, **more):
        return NeighborLoader(d, fanout, train, batch_size=1024, shuffle=True, **{"is_sorted": True, **more})

    def links_of(d, **more):
        return LinkNeighborLoader(d, fanout, edge_label_index=pairs, neg_sampling="binary", batch_size=256, shuffle=True, is_sorted=True, **more)

    remote = lambda: garner.tiered(x, feature_cache=0)
    case("pyg, one import", lambda: nodes_of(data()), look)
    if of_options:
        times = torch.randint(0, 1000, (nodes,))
        case("pyg, temporal uniform", lambda: nodes_of(data(time=times), time_attr="time"), look)
        case("pyg, temporal last", lambda: nodes_of(data(time=times), time_attr="time", temporal_strategy="last"), look)
        case("pyg, disjoint", lambda: nodes_of(data(), disjoint=True), look)
        case("pyg, induced", lambda: NeighborLoader(data(), fanout[:2], train, batch_size=1024, shuffle=True, is_sorted=True, subgraph_type="induced"), look)
        weights = torch.rand(edges.shape[1])
        case("pyg, weighted", lambda: nodes_of(data(w=weights), weight_attr="w"), look)
        del weights
        shuffled = torch.randperm(edges.shape[1], device=device).cpu()
        edges = edges[:, shuffled].contiguous()
        case("pyg, one import, edges not sorted", lambda: nodes_of(data(), is_sorted=False), look)
        return
    case("pyg, num_workers=14 left in", lambda: nodes_of(data(), num_workers=14, persistent_workers=True, pin_memory=True), look)
    case("pyg, all remote", lambda: nodes_of(data(remote()), graph_cache=0), look)
    case("pyg, features remote (garner.tiered)", lambda: nodes_of(data(remote())), look)
    case("pyg, features remote, under SAGE", lambda: nodes_of(data(remote())), look, sage)
    case("pyg, one import, under SAGE", lambda: nodes_of(data()), look, sage)
    case("pyg, a tenth of the features kept", lambda: nodes_of(data(), feature_cache=x.nbytes // 10), look)
    case("pyg, links, one import", lambda: links_of(data()), look)
    case("pyg, links, features remote", lambda: links_of(data(remote())), look)


def hetero():
    import garner
    from garner.pyg import LinkNeighborLoader, NeighborLoader
    from torch_geometric.data import HeteroData
    small = 1 if gpu else 1000
    users, items, count = 3_000_000 // small, 1_000_000 // small, 40_000_000 // small
    torch.manual_seed(2)
    buys = torch.stack([torch.randint(users, (count,)), (torch.rand(count) ** 3 * items).long()])
    knows = torch.randint(users, (2, count // 4))
    x = {"user": table(users, 64), "item": table(items, 64)}

    def data(wrap=lambda x: x):
        h = HeteroData()
        for t, rows in x.items():
            h[t].x = wrap(rows)
        h["user", "buys", "item"].edge_index = buys
        h["item", "by", "user"].edge_index = buys.flip(0).contiguous()
        h["user", "knows", "user"].edge_index = knows
        return h

    def look(b, wrong, closely):
        for t in x:
            wrong.look(b[t].x, b[t].n_id)
        if closely:
            e = b["user", "buys", "item"]
            at = e.edge_index.device
            wrong.edge(b["user"].n_id.to(at)[e.edge_index[0]], b["item"].n_id.to(at)[e.edge_index[1]], e.e_id, buys)

    def nodes_of(d, **more):
        return NeighborLoader(d, [10, 5], input_nodes=("user", torch.arange(users // 8)), batch_size=1024, shuffle=True, **more)

    def links_of(d, **more):
        return LinkNeighborLoader(d, [10, 5], edge_label_index=(("user", "buys", "item"), buys[:, :200000].contiguous()), neg_sampling="binary",
                                  batch_size=512, shuffle=True, **more)

    remote = lambda rows: garner.tiered(rows, feature_cache=0)
    case("hetero, nodes, one import", lambda: nodes_of(data()), look)
    case("hetero, nodes, features remote", lambda: nodes_of(data(remote)), look)
    case("hetero, links, one import", lambda: links_of(data()), look)
    case("hetero, links, features remote", lambda: links_of(data(remote)), look)


def plain():
    """garner.torch.loader with labels in host memory."""
    import garner
    from torch_geometric.nn import SAGEConv
    scale = int(os.environ.get("SCALE", 26 if gpu else 12))
    begun = time.perf_counter()
    graph = garner.generate("kron", scale)
    nodes = len(graph)
    degree = torch.from_numpy(graph.csr()[0]).diff()
    torch.manual_seed(1)
    labels = torch.randint(0, classes, (nodes,))
    train = torch.nonzero(degree).flatten()
    train = train[torch.randperm(len(train))[:1 << 20]]
    x = table(nodes)
    say(data=f"Kronecker {scale}", nodes=nodes, s=round(time.perf_counter() - begun, 1))

    def look(b, wrong, closely):
        wrong.look(b.x, b.n_id)
        wrong.count[0] += (b.y != labels.to(b.y.device)[b.n_id[:b.batch_size]]).sum()

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.c = torch.nn.ModuleList([SAGEConv(width, hidden), SAGEConv(hidden, hidden), SAGEConv(hidden, classes)])

        def forward(self, b):
            x, ns, ne, hops = b.x, b.num_sampled_nodes, b.num_sampled_edges, len(fanout)
            for l, c in enumerate(self.c):  # layer l uses the edges of hops 0..hops-1-l, as PyG trims
                x = c((x, x[:sum(ns[:hops - l])]), b.edge_index[:, :sum(ne[:hops - l])])
                if l < 2:
                    x = torch.dropout(torch.relu(x), .5, True)
            return x

    def sage():
        torch.set_float32_matmul_precision("high")
        net = Net().to(device)
        adam = torch.optim.Adam(net.parameters(), 3e-3)

        def step(b):
            loss = torch.nn.functional.cross_entropy(net(b), b.y.to(device))
            adam.zero_grad()
            loss.backward()
            adam.step()
        return step

    def of(features, **more):
        return garner.torch.loader(graph, fanout, train, x=features, y=labels, batch_size=1024, shuffle=True, seed=3, **more)

    remote = lambda: garner.tiered(x, feature_cache=0)
    for learn in (None, sage):
        end = "" if learn is None else ", under SAGE"
        case("torch, labels in host memory, all remote" + end, lambda: of(remote(), graph_cache=0), look, learn)
        case("torch, a tenth kept" + end, lambda: of(x, feature_cache=x.nbytes // 10, graph_cache="840MB"), look, learn)
    graph.to("cuda" if gpu else "host")
    for learn in (None, sage):
        end = "" if learn is None else ", under SAGE"
        case("torch, features remote" + end, lambda: of(remote()), look, learn)
        case("torch, all local" + end, lambda: of(x, **({"feature_cache": x.nbytes + labels.nbytes} if gpu else {})), look, learn)


def layers():
    """A step of PyG's GNNs over mini-batches of garner.pyg: PyG's layers, garner.pyg's, and these compiled; no loading. Losses of a first step of the
    same parameters must agree."""
    import garner
    import garner.pyg
    import torch_geometric.nn as nn
    from garner.pyg import NeighborLoader
    from torch_geometric.data import Data
    scale = int(os.environ.get("SCALE", 22 if gpu else 12))
    edges, nodes = kronecker(scale), 1 << scale
    torch.manual_seed(1)
    train = torch.unique_consecutive(edges[1])
    data = Data(x=torch.randn(nodes, width), edge_index=edges, y=torch.randint(0, classes, (nodes,)))
    loader = NeighborLoader(data, fanout, train[torch.randperm(len(train))[:1024 * 12]], batch_size=1024)
    some = [b.to(device) for b in loader]
    torch.set_float32_matmul_precision("high")

    def model_of(kind, ours):
        class Model(getattr(nn, kind)):
            if ours:
                def init_conv(self, *channels, **options):
                    options.pop("cached", None)
                    if kind == "GIN":
                        mlp = nn.MLP([channels[0], channels[1], channels[1]], act=self.act, norm=None, plain_last=True)
                        return garner.pyg.GINConv(mlp)
                    return getattr(garner.pyg, f"{'SAGE' if kind == 'GraphSAGE' else kind}Conv")(*channels, **options)
        torch.manual_seed(7)
        return Model(width, hidden, 3, classes).to(device)

    def step_of(model, adam, autocast):
        def step(b):
            with torch.autocast(device.type, torch.bfloat16, enabled=autocast):
                out = model(b.x, b.edge_index, num_sampled_nodes_per_hop=b.num_sampled_nodes, num_sampled_edges_per_hop=b.num_sampled_edges)
                loss = torch.nn.functional.cross_entropy(out[:b.batch_size], b.y[:b.batch_size])
            adam.zero_grad()
            loss.backward()
            adam.step()
            return loss.detach()
        return step

    for kind in ("GraphSAGE", "GCN", "GIN", "GAT"):
        for autocast in (False, True):
            found, losses = {}, {}
            for name, ours, compiled in (("PyG", False, False), ("ours", True, False), ("PyG, compiled", False, True), ("ours, compiled", True, True)):
                if words and not any(word in kind for word in words) or compiled and (not gpu or autocast or kind != "GraphSAGE"):  # half a minute each
                    continue
                try:
                    model = model_of(kind, ours)
                    called = torch.compile(model, dynamic=True) if compiled else model
                    step = step_of(called, torch.optim.Adam(model.parameters(), 1e-3), autocast)
                    losses[name] = step(some[0]).item()
                    for b in some[:3]:
                        step(b)
                    ms = []
                    for _ in range(5):
                        wait()
                        begun = time.perf_counter()
                        for b in some:
                            step(b)
                        wait()
                        ms.append(1e3 * (time.perf_counter() - begun) / len(some))
                    found[name] = round(statistics.median(ms), 3)
                except Exception as e:
                    say(script=f"a step of {kind}, {name}", failed=f"{type(e).__name__}: {e}"[:400])
            end = ", bf16" if autocast else ""
            for name in found:
                off = abs(losses[name] - losses["PyG"]) / losses["PyG"]
                say(script=f"a step of {kind}, {name}{end}", ms=found[name], rival=f"a step of {kind}, PyG{end}", rival_ms=found["PyG"],
                    of_rival=round(found[name] / found["PyG"], 2), loss_off=round(off, 5), wrong_rows=int(off > (0.02 if autocast else 1e-3)), wrong_edges=0)


def large():
    """An epoch over a graph and features that fit no GPU: 134 M nodes (Kronecker 27), 3.2 G stored edges, 57 GB of .npy features, 24 GiB of the GPU, and
    PyG's SAGE; files in FOLDER (/dev/shm). The script that is timed is the part of 15 lines."""
    import numpy as np
    import garner
    from torch_geometric.nn import GraphSAGE
    scale, width = int(os.environ.get("SCALE", 27 if gpu else 12)), 106
    folder = os.environ.get("FOLDER", "/dev/shm")
    begun = time.perf_counter()
    made = garner.generate("kron", scale, 12)
    nodes, stored = len(made), made.info.num_edges
    degree = torch.from_numpy(made.csr()[0]).diff()
    train = torch.nonzero(degree).flatten()
    torch.manual_seed(1)
    train = train[torch.randperm(len(train))[:1_200_000 if gpu else 2000]]
    labels = torch.randint(0, classes, (nodes,))
    made.save(f"{folder}/large.gnr")
    del made, degree
    say(data="graph", nodes=nodes, edges=stored, s=round(time.perf_counter() - begun, 1))
    rows = np.lib.format.open_memmap(f"{folder}/large.npy", "w+", np.float32, (nodes, width))
    for k in range(0, nodes, 1 << 20):
        ids = torch.arange(k, min(nodes, k + (1 << 20)), device=device)
        rows[k:k + (1 << 20)] = rows_of(ids, width).cpu().numpy()
    rows.flush()
    del rows
    gc.collect()
    say(data="features", bytes=nodes * width * 4, s=round(time.perf_counter() - begun, 1))
    held = []
    if gpu:  # the rest of the GPU is another's
        held.append(torch.empty(torch.cuda.mem_get_info()[0] - (24 << 30), dtype=torch.uint8, device=device))
    wrong = Wrong()

    def resident():
        """GiB of host memory that are taken, the files' in memory among them."""
        told = dict(line.split()[:2] for line in open("/proc/meminfo"))
        return (int(told["MemTotal:"]) - int(told["MemAvailable:"])) / (1 << 20)

    before, begun = resident(), time.perf_counter()
    graph = garner.open(f"{folder}/large.gnr")
    x = np.load(f"{folder}/large.npy", mmap_mode="r")
    loader = garner.torch.loader(graph, fanout, train, x=x, y=labels, batch_size=1024, shuffle=True)
    model = GraphSAGE(width, hidden, 3, classes, dropout=.5).to(device)
    adam = torch.optim.Adam(model.parameters(), 3e-3)
    torch.set_float32_matmul_precision("high")
    found = []
    for epoch in range(3 if gpu else 2):
        for k, b in enumerate(loader):
            if epoch == 0 and k == 0:
                wait()
                first = time.perf_counter() - begun
                begun = time.perf_counter()
            out = model(b.x, b.edge_index, num_sampled_nodes_per_hop=b.num_sampled_nodes, num_sampled_edges_per_hop=b.num_sampled_edges)
            loss = torch.nn.functional.cross_entropy(out[:b.batch_size], b.y.to(device))
            adam.zero_grad()
            loss.backward()
            adam.step()
            if epoch == 0:
                wrong.look(b.x, b.n_id)
                wrong.count[0] += (b.y.cpu() != labels[b.n_id[:b.batch_size].cpu()]).sum().to(device)
        wait()
        found.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        say(epoch=epoch, s=round(found[-1], 2), report=str(loader.report)[:1500])
    used = None if not gpu else round((torch.cuda.mem_get_info()[1] - torch.cuda.mem_get_info()[0] - held[0].numel()) / (1 << 30), 1)
    say(script="large: an epoch of 1.2 M seeds, PyG's SAGE", s=round(min(found[1:]), 2), ms=round(1e3 * min(found[1:]) / len(loader), 3), first_s=round(first, 2),
        nodes=nodes, edges=stored, gpu_gib=used, host_gib=round(max(before, resident()), 1), rows_compared=wrong.rows, wrong_rows=wrong.count.tolist()[0],
        wrong_edges=0, explain=loader.explain())
    for name in ("large.gnr", "large.npy"):
        os.unlink(f"{folder}/{name}")


def wholegraph():
    """The rival: WholeGraph's sampler and table, where it is installed; the same graph, features and mini-batches as in pyg."""
    os.environ.setdefault("MASTER_ADDR", "localhost")
    os.environ.setdefault("MASTER_PORT", "12336")
    import pylibwholegraph.torch as wgth
    scale = int(os.environ.get("SCALE", 24))
    wgth.init_torch_env(0, 1, 0, 1, "warn")
    comm = wgth.get_global_communicator()
    edges, nodes = kronecker(scale), 1 << scale
    offsets = torch.zeros(nodes + 1, dtype=torch.int64)
    offsets[1:] = torch.bincount(edges[1], minlength=nodes).cumsum(0)
    torch.manual_seed(1)
    train = torch.unique_consecutive(edges[1])
    train = train[torch.randperm(len(train))[:1 << 18]].int().to(device)
    x = table(nodes)
    for where, name in (("cpu", "remote"), ("cuda", "local")):
        rows, begins, targets = (wgth.create_wholememory_tensor(comm, "continuous", where, shape, kind, None) for shape, kind in (
            ([nodes, width], torch.float32), ([nodes + 1], torch.int64), ([edges.shape[1]], torch.int32)))
        for to, of in ((rows, x), (begins, offsets), (targets, edges[0])):
            to.get_global_tensor(host_view=where == "cpu").copy_(of)
        graph = wgth.GraphStructure()
        graph.set_csr_graph(begins, targets)
        found, wrong = [], Wrong()
        for loop in range(4):
            for k in range(batches + warm):
                if k == warm:
                    wait()
                    begun = time.perf_counter()
                at = k * 1024 % (len(train) - 1024)
                ids = graph.multilayer_sample_without_replacement(train[at:at + 1024].contiguous(), fanout)[0]
                got = rows.gather(ids[0])
                if loop == 0:
                    wrong.look(got, ids[0])
            wait()
            if loop:
                found.append(1e3 * (time.perf_counter() - begun) / batches)
        say(script=f"WholeGraph, {name}", ms=round(statistics.median(found), 3), rows=len(ids[0]), rows_compared=wrong.rows, wrong_rows=wrong.count.tolist()[0],
            wrong_edges=0, edges_compared=0)
        del graph, got, ids
        for one in (rows, begins, targets):
            wgth.destroy_wholememory_tensor(one)


def devices():
    """garner.train by the first of DEVICES, and by all: losses are to be the same bits. ms: an epoch without evaluation, median of five after one.
    PLANT=1 spoils a loss, to see that it is found."""
    import numpy as np
    import garner
    among = [int(one) if one.isdigit() else one for one in os.environ.get("DEVICES", "0 1" if gpu else "cpu cpu").split()]
    if gpu and torch.cuda.device_count() < 2 and "DEVICES" not in os.environ:
        return say(skipped="devices", why="one GPU")
    scale = int(os.environ.get("SCALE", 20 if gpu else 12))
    graph, rng = garner.generate("kron", scale, 16), np.random.default_rng(1)
    x, y = rng.standard_normal((len(graph), width), dtype=np.float32), rng.integers(0, 40, len(graph))
    split, found = rng.choice(np.array([1, 2, 3], np.uint8), len(graph)), {}
    for name, how in (("first, in parts", {"devices": among[:1]}), ("first", {"device": among[0]}), ("all", {"devices": among})):
        try:
            begun = time.perf_counter()
            run = garner.Training(graph, x, y, split, model="gcn", fanouts=None, epochs=6, **how)
            made = time.perf_counter() - begun
            ran = list(run)
            losses = [epoch["loss"] for epoch in ran]
            if "PLANT" in os.environ and name == "all":
                losses[-1] = float(np.nextafter(losses[-1], 9))
            same = found.setdefault("losses", losses)
            # Without parts, sums are in another order.
            wrong = sum(abs(a - b) > 1e-4 * abs(b) if name == "first" else a != b for a, b in zip(losses, same, strict=True))
            found[name] = ms = round(statistics.median(epoch["ms"] for epoch in ran[1:]), 3)
            more = {}
            if name == "all" and "first" in found:
                more = {"rival": "devices, first", "rival_ms": found["first"], "speed_up": round(found["first"] / ms, 2)}
            say(script=f"devices, {name}", options=str(how), trained_by=run.devices, ms=ms, made_s=round(made, 2), scale=scale, nodes=len(graph),
                edges=graph.info.num_edges, losses=losses, losses_compared=len(losses), wrong_rows=wrong, wrong_edges=0,
                names=[torch.cuda.get_device_name(int(one.split(":")[1])) for one in run.devices if "cuda" in one], **more)
            del run
        except Exception as e:
            say(script=f"devices, {name}", failed=f"{type(e).__name__}: {e}"[:400])


def ddp():
    """PyG's SAGE under DistributedDataParallel on one GPU and on two, or on CPU ranks without a GPU: the same script, of which each rank is a process."""
    found = {}
    for ranks in (1, 2):
        name = f"ddp, {'GPUs' if gpu else 'CPU ranks'}: {ranks}"
        if gpu and torch.cuda.device_count() < ranks:
            say(skipped=name, why=f"{torch.cuda.device_count()} GPUs")
            continue
        done = subprocess.run([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks), __file__, "ddp_rank"],
                              env={**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "4" if gpu else "1")}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode or not rows:
            say(script=name, failed=done.stdout[-600:])
            continue
        found[ranks] = row = rows[-1]
        if ranks == 2 and 1 in found:
            row.update(speed_up=round(found[1]["epoch_s"] / row["epoch_s"], 2), target_speed_up=1.8, loss_of_one=found[1]["loss"])
        say(script=name, **row)
        small = row["scale"] < 18  # then what torch takes is more than the data
        if not small and not row["private_bytes"] < 0.5 * row["shared_bytes"] or ranks == 2 and not abs(row["loss"] - row.get("loss_of_one", row["loss"])) < 0.1 * row["loss"]:
            say(script=name, failed=f"{row['private_bytes']} private bytes next to {row['shared_bytes']} shared ones, losses {row['loss']} and {row.get('loss_of_one')}")


def ddp_rank():
    """One of its ranks. Data lie in host memory once, the script splits the seeds; times are of the whole epoch, behind one that warms up and compares."""
    import torch.distributed as dist
    import garner
    from garner.pyg import NeighborLoader
    from torch_geometric.data import Data
    from torch_geometric.nn import GraphSAGE
    global device
    dist.init_process_group("nccl" if gpu else "gloo")
    rank, local, ranks = dist.get_rank(), int(os.environ["LOCAL_RANK"]), dist.get_world_size()
    if gpu:
        device = torch.device("cuda", local)
        torch.cuda.set_device(device)
    scale = int(os.environ.get("SCALE", 22 if gpu else 12))
    name, nodes = f"user-path-{os.environ['TORCHELASTIC_RUN_ID'][:32]}-{os.environ['MASTER_PORT']}", 1 << scale

    def private():
        return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("RssAnon"))

    torch.manual_seed(1)
    data = None
    if local == 0:
        made = Data(x=table(nodes), y=torch.arange(nodes) * 8 // nodes, edge_index=kronecker(scale))
        made.train = torch.unique_consecutive(made.edge_index[1])
        made.train = made.train[torch.randperm(len(made.train))[:1 << 18]]
        data = garner.shared(name, made, replace_stale=True)
        del made
        gc.collect()
    dist.barrier()
    before, begun = private(), time.perf_counter()
    data = garner.shared(name) if data is None else data
    train = data.train.split(-(-data.train.numel() // ranks))[rank]
    loader = NeighborLoader(data, fanout, train, batch_size=1024 if gpu else 64, shuffle=True, drop_last=True)
    made_s = time.perf_counter() - begun
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(1)
    net = torch.nn.parallel.DistributedDataParallel(GraphSAGE(width, hidden if gpu else 16, 3, 8).to(device), device_ids=[local] if gpu else None)
    adam = torch.optim.Adam(net.parameters(), 1e-3)
    wrong, seconds = Wrong(), []
    for epoch in range(3):
        dist.barrier()
        wait()
        begun, total = time.perf_counter(), torch.zeros(2, device=device)
        for k, b in enumerate(loader):
            b = b.to(device)
            if epoch == 0:
                wrong.look(b.x, b.n_id, b.y, data.y)
                if k < 3:
                    wrong.edge(b.n_id[b.edge_index[0]], b.n_id[b.edge_index[1]], b.e_id, data.edge_index)
            loss = torch.nn.functional.cross_entropy(net(b.x * 1e-3, b.edge_index)[:b.batch_size], b.y[:b.batch_size])
            adam.zero_grad()
            loss.backward()
            adam.step()
            total += torch.stack([loss.detach(), torch.ones((), device=device)])
        wait()
        dist.barrier()
        seconds.append(time.perf_counter() - begun)
        dist.all_reduce(total)
    told = [None] * ranks
    dist.all_gather_object(told, [private() - before, *wrong.count.tolist(), wrong.rows, wrong.edges])
    if rank == 0:
        took, rows, edges, compared, edges_compared = zip(*told)
        shared = sum(value.nbytes for value in data.to_dict().values() if isinstance(value, torch.Tensor))
        say(ms=round(1e3 * min(seconds[1:]) / len(loader), 3), epoch_s=round(min(seconds[1:]), 3), made_s=round(made_s, 2), mini_batches=len(loader), ranks=ranks, scale=scale,
            loss=round(float(total[0] / total[1]), 4), private_bytes=max(took), shared_bytes=shared, rows_compared=sum(compared),
            edges_compared=sum(edges_compared), wrong_rows=sum(rows), wrong_edges=sum(edges), explain=loader.explain())
    dist.barrier()
    time.sleep(0.2)  # gloo's thread needs the interpreter to drop the barrier; torch destroys the group with it held, and would wait for ever
    dist.destroy_process_group()


{"pyg": pyg, "options": lambda: pyg(True), "layers": layers, "large": large, "hetero": hetero, "torch": plain, "devices": devices, "ddp": ddp, "ddp_rank": ddp_rank, "wholegraph": wholegraph}[section]()
sys.stdout.flush()
if section != "ddp_rank":  # which leaves nothing behind in shared memory
    os._exit(0)
