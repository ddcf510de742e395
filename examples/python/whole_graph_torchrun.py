"""Full-graph GCN or GraphSAGE, without sampling, over the processes of one or several machines, each with a part of the vertices.

    torchrun --nproc-per-node 2 whole_graph_torchrun.py                       # on a generated graph; the result does not depend on the number of processes
    torchrun --nnodes 2 --nproc-per-node 1 --rdzv-endpoint HOST:29500 --rdzv-backend c10d whole_graph_torchrun.py --graph g.gnr \
        --features x.npy --labels y.npy --split split.npy                     # on each machine; files as for `garner train`

Each process uses its own GPU (NCCL) if there are enough, else the CPU (gloo). All open the whole graph; each keeps the adjacency and features
of its part. If a process fails, times out, or has another graph, all others report it by name.
"""
import argparse
import os
import time

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F

import garner


def made(vertices, classes):
    """A graph in which most neighbours are of one's own class, and rows that hint at it."""
    random = np.random.default_rng(1)
    labels = random.integers(0, classes, vertices)
    order = np.argsort(labels, kind="stable")
    begin = np.searchsorted(labels[order], np.arange(classes + 1))
    source = np.repeat(np.arange(vertices), 6)
    own = order[(begin[labels[source]] + random.random(len(source)) * np.diff(begin)[labels[source]]).astype(np.int64)]
    target = np.where(random.random(len(source)) < 0.7, own, random.integers(0, vertices, len(source)))
    rows = random.normal(size=(vertices, 32)).astype("float32")
    rows[np.arange(vertices), labels] += 1
    return garner.build(source, target, num_nodes=vertices, undirected=True), rows, labels, random.choice([1, 1, 2, 3], vertices)


class Model(torch.nn.Module):
    """Layers over a part: of GCN, or of GraphSAGE with its mean. The narrower of rows and products is what crosses."""

    def __init__(self, kind, widths):
        super().__init__()
        self.kind = kind
        self.around = torch.nn.ModuleList(torch.nn.Linear(a, b, bias=kind == "gcn") for a, b in zip(widths, widths[1:]))
        self.own = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in zip(widths, widths[1:])) if kind == "sage" else None

    def forward(self, x, part):
        how = "gcn" if self.kind == "gcn" else "mean"
        for k, layer in enumerate(self.around):
            if layer.in_features > layer.out_features:
                h = garner.torch.aggregate(F.linear(x, layer.weight), part, how)
                h = h if layer.bias is None else h + layer.bias
            else:
                h = layer(garner.torch.aggregate(x, part, how))
            x = h if self.own is None else h + self.own[k](x)
            x = x.relu() if k + 1 < len(self.around) else x
        return x


def summed(number):
    if dist.is_initialized():
        dist.all_reduce(number)
    return number


def main():
    said = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    said.add_argument("--graph"), said.add_argument("--features"), said.add_argument("--labels"), said.add_argument("--split")
    said.add_argument("--model", choices=["gcn", "sage"], default="gcn")
    said.add_argument("--hidden", type=int, default=16), said.add_argument("--layers", type=int, default=2)
    said.add_argument("--epochs", type=int, default=20), said.add_argument("--lr", type=float, default=0.01)
    said.add_argument("--wire", choices=["f32", "bf16", "f16"], help="rows of others, rounded")
    said.add_argument("--deterministic", action="store_true")
    said.add_argument("--timeout", type=float, default=60, help="seconds after which a rank is timed out")
    said.add_argument("--vertices", type=int, default=3000, help="of the graph that is made")
    said = said.parse_args()

    device = torch.device("cpu")
    if torch.cuda.is_available() and garner.info()["devices"] and torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", 1)):
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    if "RANK" in os.environ:
        dist.init_process_group("gloo" if device.type == "cpu" else "nccl")

    with garner.torch.ranks(timeout=said.timeout) as group:
        if said.graph:
            graph, rows = garner.open(said.graph, in_edges=True), np.load(said.features, mmap_mode="r")
            labels, split = np.load(said.labels).astype("int64"), np.load(said.split)
        else:
            graph, rows, labels, split = made(said.vertices, 4)
        part = garner.torch.shard(graph, deterministic=said.deterministic, wire=said.wire, device=device)
        del graph
        mine = part.nodes.numpy()
        x = part.cache(torch.from_numpy(np.ascontiguousarray(rows[mine], "float32")).to(device))
        y, of = torch.from_numpy(labels[mine]).to(device), torch.from_numpy(split[mine]).to(device)
        learn, many = of == 1, max(int((split == 1).sum()), 1)

        torch.manual_seed(1)  # the same initial parameters on all ranks
        model = Model(said.model, [x.shape[1], *[said.hidden] * (said.layers - 1), int(labels.max()) + 1]).to(device)
        optimizer = torch.optim.Adam(model.parameters(), lr=said.lr)
        for epoch in range(1, said.epochs + 1):
            began = time.perf_counter()
            out = model(x, part)
            loss = F.cross_entropy(out[learn], y[learn], reduction="sum") / many
            optimizer.zero_grad()
            loss.backward()
            flat = summed(torch.cat([p.grad.flatten() for p in model.parameters()]))  # gradients of the rank's own vertices' loss
            for p, gradient in zip(model.parameters(), flat.split([p.numel() for p in model.parameters()])):
                p.grad.copy_(gradient.view_as(p))
            optimizer.step()
            loss = summed(loss.detach())
            with torch.no_grad():  # all vertices, with the parameters after the step
                right = model(x, part).argmax(1) == y
            counts = summed(torch.stack([(right & (of == k)).sum() for k in (2, 3)] + [(of == k).sum() for k in (2, 3)]).double())
            if group.rank == 0:
                validation, test = (counts[:2] / counts[2:].clamp(min=1)).tolist()
                print(f"epoch {epoch:3}  loss {float(loss):.6f}  validation {validation:.4f}  test {test:.4f}  {(time.perf_counter() - began) * 1e3:.0f} ms", flush=True)
        brought = summed(torch.tensor([float(part.report["brought"])], device=device))
        if group.rank == 0:
            print(f"{group.size} ranks; {int(brought):,} rows of others an aggregation")
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
