"""What the cases of tools/prove_typed share: what rows hold, which edges there are, and the comparison of every mini-batch with both."""
import functools
import os

place = os.environ.get("DEVICE", "cuda")
gpu = place == "cuda"


def said(name, of_gpu, of_rehearsal):
    return os.environ.get(name, of_gpu if gpu else of_rehearsal)


scale, width, batch, seeds = (int(said(*one)) for one in (("SCALE", 22, 13), ("WIDTH", 128, 16), ("BATCH", 1024, 32), ("SEEDS", 1 << 16, 640)))
fanout = [int(f) for f in said("FANOUT", "15,10,5", "4,3,2").split(",")]
few = fanout[:2]  # of what stays in a file, of which a cache must hold a mini-batch
nodes = 1 << scale
nbytes = nodes * width * 4
plant = os.environ.get("PLANT")


# --- what rows hold, and what edges there are ---------------------------------------------------------------------------------------------------

@functools.lru_cache
def columns(device, width):
    import torch
    at = torch.arange(width, dtype=torch.int32, device=device)
    return 2 * at - 1640531535, at * -2048144789  # odd factors, so that each column alone is unique for ids below 2^30


def content(ids, width=width, half=False, shift=0):
    """The bits of the rows of these ids: of floats in [0, 2), int32; half: of bfloat16, int16."""
    import torch
    factor, more = columns(ids.device, width)
    bits = (ids + shift).to(torch.int32)[:, None] * factor + more & 0x3fffffff
    return (bits >> 16).to(torch.int16) if half else bits


class Tally:
    """What was compared, and on the device how much of it was wrong: rows, edges."""

    def __init__(self, world):
        import torch
        self.world, self.wrong, self.rows, self.edges, self.named, self.batches = world, torch.zeros(2, dtype=torch.int64, device=world.device), 0, 0, 0, 0
        self.plant = plant

    def planted(self, what):
        found, self.plant = self.plant == what, None if self.plant == what else self.plant
        return found

    def look(self, x, ids, again=False, **how):
        import torch
        ids = ids.to(x.device)
        want = content(ids, x.shape[1], x.dtype == torch.bfloat16, **how)
        if not again and self.planted("rows"):
            want[0, 0] ^= 1
        self.wrong[0] += (x.view(want.dtype) != want).any(1).sum()
        self.rows += 0 if again else len(ids)

    def unequal(self, a, b, what=1):
        self.wrong[what] += (a.to(self.wrong.device) != b.to(self.wrong.device)).sum()

    def close(self, **more):
        rows, edges = self.wrong.tolist()
        return {"rows_compared": self.rows, "edges_compared": self.edges, "wrong": rows + edges, "wrong_rows": rows, "wrong_edges": edges,
                "e_ids_compared": self.named, "mini_batches": self.batches, **more}


class Edges:
    """The edges of a type, by their names: what a mini-batch may hold of them. times: one an edge, small whole numbers; usable: may be sampled;
    replace: with replacement."""

    def __init__(self, source, target, sources, targets, times=None, usable=None, replace=False):
        import torch
        self.source, self.target, self.sources, self.replace = source, target, sources, replace
        self.keys, self.names = (target * sources + source if usable is None else (target * sources + source)[usable]).sort()
        if usable is not None:
            self.names = usable.nonzero().flatten()[self.names]
        self.degree = torch.zeros(targets, dtype=torch.int64, device=source.device).index_add_(
            0, target, torch.ones_like(target) if usable is None else usable.long())
        self.times = times
        if times is not None:
            self.timed, self.begin = (target * 1024 + times).sort().values, self.degree.cumsum(0) - self.degree

    def look(self, tally, store, from_ids, to_ids, fans, seed_times=None):
        """store: of a mini-batch, with edge_index and perhaps e_id; fans: what each target may draw; seed_times: what each target may see."""
        import torch
        row, col = store.edge_index.to(self.keys.device)
        key = to_ids[col] * self.sources + from_ids[row]
        if tally.planted("edges"):
            key[0] = -1
        at = torch.searchsorted(self.keys, key).clamp_(max=len(self.keys) - 1)
        bad, have = self.keys[at] != key, self.degree[to_ids]
        if (e_id := getattr(store, "e_id", None)) is not None:
            bad |= self.names[at] != e_id.to(row.device)
            tally.named += len(row)
        if self.times is not None:
            bad |= self.times[self.names[at]] > seed_times[col]
            have = torch.searchsorted(self.timed, to_ids * 1024 + seed_times, right=True) - self.begin[to_ids]
        twice = (col * self.sources + from_ids[row]).sort().values.diff() == 0
        found, most = torch.zeros_like(fans).index_add_(0, col, torch.ones_like(col)), torch.where(have > 0, fans, 0) if self.replace else torch.minimum(have, fans)
        tally.wrong[1] += bad.sum() + (0 if self.replace else twice.sum()) + (found - most).abs().sum()
        tally.edges += len(row)

    def look_among(self, tally, edge_index, from_ids, to_ids):
        """That these are edges, whichever, and none of them twice."""
        import torch
        row, col = edge_index.to(self.keys.device)
        key = to_ids[col] * self.sources + from_ids[row]
        at = torch.searchsorted(self.keys, key).clamp_(max=len(self.keys) - 1)
        tally.wrong[1] += (self.keys[at] != key).sum() + ((row * len(to_ids) + col).sort().values.diff() == 0).sum()
        tally.edges += len(row)


class World:
    """What the cases of one process share, made on first use."""

    def __init__(self, folder, rank=None):
        import garner
        import torch
        import garner.torch
        self.folder, self.rank, self.garner, self.torch = folder, rank, garner, torch
        torch.manual_seed(7)
        self.device = torch.device("cuda", rank or 0) if gpu else torch.device("cpu")
        if gpu:
            torch.cuda.set_device(self.device)
        # In a rehearsal tables and loaders get a device; on a GPU a user sets nothing.
        self.at = {"device": "simulated"} if place == "simulated" else {}
        self.on = {"device": "simulated"} if place == "simulated" else {}

    def file(self, name):
        return str(self.folder / name)

    @functools.cached_property
    def x(self):
        import numpy
        return self.torch.from_numpy(numpy.load(self.file("x.npy")))

    @functools.cached_property
    def half(self):
        import numpy
        bits = numpy.fromfile(self.file("half.npy"), "i2")[-nodes * width:]  # behind the header
        return self.torch.from_numpy(bits.reshape(nodes, width)).view(self.torch.bfloat16)

    @functools.cached_property
    def graph(self):
        """Its edges in host memory, where they would be if the GPU had no room."""
        return self.opened(**{"device": f"cuda:{self.rank or 0}", "edges": "host"} if gpu else {})

    def opened(self, **how):
        return self.garner.open(self.file("g.gnr"), **how)

    def edges_of(self, graph):
        import numpy
        offsets, targets, _ = graph.csr()
        begins = self.torch.from_numpy(numpy.asarray(offsets).astype("int64")).to(self.device)
        other = self.torch.from_numpy(numpy.array(targets)).to(self.device).long()
        own = self.torch.repeat_interleave(self.torch.arange(nodes, device=self.device), begins.diff(), output_size=len(other))
        return Edges(other, own, nodes, nodes)

    @functools.cached_property
    def edges(self):
        return self.edges_of(self.opened())

    @functools.cached_property
    def seeds(self):
        some = (self.edges.degree > 0).nonzero().flatten()
        return some[self.torch.randperm(len(some), device=self.device)[:seeds]].cpu()

    def pairs(self, sources, targets, count):
        """So many random edges at the most, none twice, in random order: a few targets have many."""
        draw = functools.partial(self.torch.rand, count, device=self.device)
        key = self.torch.unique((draw() * sources).long() * targets + (draw()**3 * targets).long().clamp_(max=targets - 1))
        key = key[self.torch.randperm(len(key), device=self.device)]
        return self.torch.stack([key // targets, key % targets])

    def tiered(self, features, **how):
        return self.garner.tiered(features, **how, **self.on)

    def learn(self, number):
        """What stands for a model: it keeps the user's stream behind the host, of every other mini-batch."""
        if gpu and number % 2:
            if not hasattr(self, "weights"):
                self.weights = self.torch.zeros(8192, 8192, dtype=self.torch.bfloat16, device=self.device)
            for _ in range(2):
                self.weights @ self.weights

    def prove(self, loader, edges, shifts=None, times=None, fans=fanout, also=None, epochs=4):
        """Takes all that a loader hands out. edges: by type, or those of the only one; shifts: of rows' ids, by type of nodes; also: looks at
        more of a mini-batch."""
        tally, typed, held = Tally(self), isinstance(edges, dict), ()

        def again():
            for store, name, before, shift in held:
                if name == "n_id":
                    tally.look(store.x.to(self.device), before, True, shift=shift)
                tally.unequal(getattr(store, name), before, int(name != "n_id"))

        for epoch in range(epochs):
            for number, batch in enumerate(loader):
                self.learn(number)
                of = {t: batch[t] for t in shifts} if typed else {None: batch}
                ids = {t: store.n_id.to(self.device, copy=True) for t, store in of.items()}
                fan = {}
                for t, store in of.items():
                    fan[t], begin = self.torch.zeros_like(ids[t]), 0
                    for count, most in zip(store.num_sampled_nodes, fans):
                        fan[t][begin:begin + count], begin = most, begin + count
                    tally.look(store.x.to(self.device, non_blocking=True), ids[t], shift=shifts[t] if typed else 0)
                for key, there in edges.items() if typed else ((None, edges),):
                    a, b = (key[0], key[-1]) if typed else (None, None)
                    seen = None if times is None else times(batch, ids)
                    there.look(tally, batch[key] if typed else batch, ids[a], ids[b], fan[b], seen)
                if also:
                    also(tally, batch, ids)
                again()
                held = [(store, "n_id", ids[t], shifts[t] if typed else 0) for t, store in of.items()] + [
                    (store, "edge_index", store.edge_index.clone(), 0) for store in ([batch[key] for key in edges] if typed else [batch])]
                tally.batches += 1
                if epoch == 1 and number >= len(loader) // 2:
                    break
        again()
        return tally.close(epochs=epochs, window=(getattr(loader, "report", None) or {}).get("window"))
