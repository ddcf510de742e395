"""What the cases of tools/user_path.py share: the sizes, the data, the comparison, the clock."""
import gc
import json
import os
import statistics
import sys
import time
import warnings

import torch

gpu = torch.cuda.is_available()
device = torch.device("cuda" if gpu else "cpu")
batches = int(os.environ.get("BATCHES", 160 if gpu else 3))
warm = 40 if gpu else 2
width, hidden, classes = 128, 256, 172
fanout = [15, 10, 5]
section, *words = sys.argv[1:] or ["pyg"]


def say(**row):
    print(json.dumps(row), flush=True)


def wait():
    if gpu:
        torch.cuda.synchronize()


def kronecker(scale, seed=1):
    """Both directions of each edge, sorted by target: (2, edges) in host memory."""
    g = torch.Generator(device).manual_seed(seed)
    edges = 16 << scale
    source, target = (torch.zeros(edges, dtype=torch.int64, device=device) for _ in range(2))
    for bit in range(scale):
        r = torch.rand(edges, device=device, generator=g)
        source += (r >= 0.76).long() << bit  # 0.57, 0.19, 0.19, 0.05
        target += (((r >= 0.57) & (r < 0.76)) | (r >= 0.95)).long() << bit
    mixed = torch.randperm(1 << scale, device=device, generator=g)
    source, target = mixed[source], mixed[target]
    keys = torch.cat([target << scale | source, source << scale | target]).sort()[0]
    keys = torch.unique_consecutive(keys)
    keys = keys[keys >> scale != keys & (1 << scale) - 1]
    found = torch.empty((2, keys.numel()), dtype=torch.int64)
    found[0].copy_(keys & (1 << scale) - 1)
    found[1].copy_(keys >> scale)
    return found


def rows_of(ids, width=width):
    return (ids.to(torch.float32)[:, None] * 1e-3 + torch.arange(width, dtype=torch.float32, device=ids.device))


def table(nodes, width=width):
    x = torch.empty(nodes, width)
    for k in range(0, nodes, 1 << 20):
        ids = torch.arange(k, min(nodes, k + (1 << 20)), device=device)
        x[k:k + (1 << 20)].copy_(rows_of(ids, width))
    return x


class Wrong:
    """Rows and edges that differ from what they should be; counted on the device, reported at the end."""

    def __init__(self):
        self.count = torch.zeros(2, dtype=torch.int64, device=device)
        self.rows = self.edges = 0

    def look(self, x, ids, y=None, labels=None):
        ids = ids.to(x.device)
        self.count[0] += (x != rows_of(ids, x.shape[1])).any(1).sum().to(device)
        self.rows += len(ids)
        if y is not None:
            self.count[0] += (y != labels.to(y.device)[ids.to(y.device)]).sum().to(device)

    def edge(self, source, target, e_id, edge_index):
        at = e_id.cpu()
        self.count[1] += ((edge_index[0, at] != source.cpu()) | (edge_index[1, at] != target.cpu())).sum().to(device)
        self.edges += len(at)


def timed(loader, look, learn=None, checked=3):
    """(ms per mini-batch, rows of one, s to the first, wrong rows, wrong edges)."""
    wrong, found, first, seen = Wrong(), [], None, 0
    for loop in range(4 if learn is None else 2):  # the first compares
        it, begun = iter(loader), time.perf_counter()
        for k in range(batches + warm):
            b = next(it, None)
            if b is None:
                it = iter(loader)
                b = next(it)
            if first is None:
                wait()
                first = time.perf_counter() - begun
            if loop == 0:
                look(b, wrong, k < checked)
            if k == warm - 1:
                wait()
                begun, rows = time.perf_counter(), 0
            elif k >= warm:
                rows += b.num_nodes if hasattr(b, "num_nodes") else len(b.n_id)
            if learn is not None:
                learn(b)
        wait()
        if loop:
            found.append(1e3 * (time.perf_counter() - begun) / batches)
        edges = None if hasattr(b, "edge_types") else b.edge_index.shape[1]
        del it, b
    bad = wrong.count.tolist()
    return {"ms": round(statistics.median(found), 3), "rows": rows // batches, "edges_of_last": edges, "first_s": round(first, 2), "rows_compared": wrong.rows,
            "edges_compared": wrong.edges, "wrong_rows": bad[0], "wrong_edges": bad[1]}


def case(name, make, look, learn=None, **more):
    if words and not any(word in name for word in words):
        return
    gc.collect()
    if gpu:
        torch.cuda.empty_cache()
    begun = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            loader = make()
            made = time.perf_counter() - begun
            row = timed(loader, look, None if learn is None else learn())
        say(script=name, made_s=round(made, 2), **row, **more, warnings=sorted({str(w.message)[:200] for w in told if w.category is RuntimeWarning}),
            took={key: loader.report[key] for key in ("window", "sample_ms", "fetch_ms", "gather_ms", "caller_waited_ms", "fetched_rows") if key in loader.report},
            explain=loader.explain() if hasattr(loader, "explain") else None)
    except Exception as e:
        say(script=name, failed=f"{type(e).__name__}: {e}"[:400])
