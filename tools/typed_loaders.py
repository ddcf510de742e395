"""The cases in Python of tools/prove_typed, which starts this in a process of its own: a line of JSON per case. All bits of each row are compared with
a function of its node's id; each edge by its ends, its number and whether it may be there; on the device, on the stream that the user has."""
import gc
import json
import os
import pathlib
import sys
import time
import types

from typed_world import place, gpu, batch, seeds, fanout, few, nodes, nbytes, content, Tally, Edges, World


# --- cases in Python: names and functions of a World ----------------------------------------------------------------------------------------------

cases = {}


def case(name):
    return lambda function: cases.setdefault(name, function)


def by_torch(w, x, graph=None, edges=None, fans=fanout, **how):
    how = {"batch_size": batch, "shuffle": True, **w.at, **how}
    return w.prove(w.garner.torch.loader(graph or w.graph, fans, w.seeds, x=x, **how), edges or w.edges, fans=fans)


def by_degree(w):
    return w.garner.score(w.opened(), by="degree")


of_file = {"feature_cache": nbytes // 32, "host_cache": nbytes // 2}
case("torch.loader, rows remote")(lambda w: by_torch(w, w.tiered(w.x, feature_cache=0)))
case("torch.loader, a tenth kept by degree")(lambda w: by_torch(w, w.tiered(w.x, feature_cache=nbytes // 10, scores=by_degree(w))))
case("torch.loader, rows and edges local, edge_ids")(lambda w: by_torch(w, w.tiered(w.x), w.opened(), edge_ids=True))
case("torch.loader, bf16 remote")(lambda w: by_torch(w, w.tiered(w.half, feature_cache=0)))
case("torch.loader, rows in a file")(lambda w: by_torch(w, w.tiered(w.file("x.npy"), **of_file), fans=few))
case("torch.loader, labor")(lambda w: by_torch(w, w.tiered(w.x, feature_cache=0), labor=True))
case("torch.loader, torch.unified")(lambda w: by_torch(w, w.garner.torch.unified(w.x), w.opened(), fans=few))
case("torch.loader, a CPU tensor")(lambda w: by_torch(w, w.x, w.opened(), fans=few))


@case("torch.loader, rows put between epochs, a tenth kept")
def put(w):
    rows = w.x.flip(0).contiguous()
    table = w.tiered(rows, feature_cache=nbytes // 10)
    loader = w.garner.torch.loader(w.graph, few, w.seeds, x=table, batch_size=batch, shuffle=True, **w.at)
    for _ in loader:
        pass
    for ids in w.torch.randperm(nodes).split(nodes // 3 + 1):
        table.put(ids.to(w.device), w.x[ids])
    return w.prove(loader, w.edges, fans=few)


@case("torch.loader, a graph that was reordered, edge_ids")
def reordered(w):
    graph = w.opened().reorder("degree")
    return by_torch(w, w.tiered(w.x, feature_cache=0), graph, w.edges_of(graph), edge_ids=True)


def by_pyg(w, data, edges, loader="NeighborLoader", input_nodes=None, shifts=None, times=None, also=None, **how):
    import garner.pyg
    how = {"batch_size": batch, "shuffle": True, **w.at, **how}
    if loader == "NeighborLoader":
        how["input_nodes"] = w.seeds if input_nodes is None else input_nodes
    return w.prove(getattr(garner.pyg, loader)(data, fanout[:2] if shifts else fanout, **how), edges, shifts, times, fanout[:2] if shifts else fanout, also)


def data_of(w, edge_index, **attributes):
    from torch_geometric.data import Data
    return Data(x=w.tiered(w.x, feature_cache=0), edge_index=edge_index.cpu(), **attributes)


@case("pyg.NeighborLoader")
def homogeneous(w):
    def labels(tally, batch, ids):
        tally.unequal(batch.y[:batch.batch_size], ids[None][:batch.batch_size], 0)
    return by_pyg(w, data_of(w, w.torch.stack([w.edges.source, w.edges.target]), y=w.torch.arange(nodes)), w.edges, also=labels)


@case("pyg.NeighborLoader, num_workers=2")
def workers(w):
    if os.environ.get("GARNER_STREAMS"):
        return {"left_out": "a simulated device has no streams in a child by fork"}
    ends = w.pairs(nodes, nodes, 6 * nodes)
    return by_pyg(w, data_of(w, ends), Edges(*ends, nodes, nodes), num_workers=2, input_nodes=w.seeds[:len(w.seeds) // 4], device=None)


@case("pyg.NeighborLoader, weight_attr and edge_attr")
def weighted(w):
    ends = w.pairs(nodes, nodes, 6 * nodes)
    e = w.torch.arange(ends.shape[1], device=w.device)
    weights, rows = (e % 5).clamp(max=3).float(), content(e, 4).view(w.torch.float32)

    def also(tally, batch, ids):
        tally.look(batch.edge_attr.to(w.device), batch.e_id.to(w.device))
    return by_pyg(w, data_of(w, ends, weight=weights.cpu(), edge_attr=rows.cpu()), Edges(*ends, nodes, nodes, usable=weights > 0), also=also,
                  weight_attr="weight")


@case("pyg.NeighborLoader, weight_attr with replace")
def weighted_again(w):
    ends = w.pairs(nodes, nodes, 6 * nodes)
    weights = (w.torch.arange(ends.shape[1], device=w.device) % 5).clamp(max=3).float()
    return by_pyg(w, data_of(w, ends, weight=weights.cpu()), Edges(*ends, nodes, nodes, usable=weights > 0, replace=True), weight_attr="weight", replace=True)


@case("pyg.NeighborLoader, time_attr of nodes")
def timed(w):
    ends, at = w.pairs(nodes, nodes, 6 * nodes), w.torch.arange(nodes, device=w.device) * 31 % 1000
    return by_pyg(w, data_of(w, ends, time=at.cpu()), Edges(*ends, nodes, nodes, times=at[ends[0]]), time_attr="time",
                  times=lambda batch, ids: at[ids[None][:batch.batch_size]][batch.batch.to(w.device)])


@case("pyg.NeighborLoader, time_attr of edges")
def edge_timed(w):
    ends = w.pairs(nodes, nodes, 6 * nodes)
    at, of_seeds = w.torch.arange(ends.shape[1], device=w.device) * 31 % 1000, w.seeds * 17 % 1000
    return by_pyg(w, data_of(w, ends, edge_time=at.cpu()), Edges(*ends, nodes, nodes, times=at), time_attr="edge_time", input_time=of_seeds,
                  times=lambda batch, ids: of_seeds[batch.input_id.cpu()].to(w.device)[batch.batch.to(w.device)])


def of_types(w):
    from torch_geometric.data import HeteroData
    users, items = nodes // 4 * 3, nodes // 4
    data, buys, knows = HeteroData(), w.pairs(users, items, 4 * nodes), w.pairs(users, users, 2 * nodes)
    data["user"].x, data["item"].x = w.tiered(w.x[:users], feature_cache=0), w.tiered(w.x[users:].clone(), feature_cache=0)
    edges = {("user", "buys", "item"): Edges(*buys, users, items), ("item", "by", "user"): Edges(*buys.flip(0), items, users),
             ("user", "knows", "user"): Edges(*knows, users, users)}
    for key, there in edges.items():
        data[key].edge_index = w.torch.stack([there.source, there.target]).cpu()
    return data, edges, {"user": 0, "item": users}, users


@case("pyg.NeighborLoader, HeteroData")
def hetero(w):
    data, edges, shifts, users = of_types(w)
    return by_pyg(w, data, edges, shifts=shifts, input_nodes=("user", w.torch.randperm(users)[:seeds]))


def pairs_of(w, pairs, key=None):
    """Checks the pairs that a loader of links was given, which come before its negative samples."""
    def also(tally, batch, ids):
        store = batch if key is None else batch[key]
        given = pairs[:, store.input_id.cpu()].to(w.device)
        ends = store.edge_label_index.to(w.device)[:, :given.shape[1]]
        for end, kind in ((0, key and key[0]), (1, key and key[-1])):
            tally.unequal(ids[kind][ends[end]], given[end])
        tally.edges += given.shape[1]
    return also


@case("pyg.LinkNeighborLoader, HeteroData, negatives")
def hetero_links(w):
    data, edges, shifts, _ = of_types(w)
    key = ("user", "buys", "item")
    pairs = data[key].edge_index[:, :seeds // 2].contiguous()
    return by_pyg(w, data, edges, "LinkNeighborLoader", shifts=shifts, also=pairs_of(w, pairs, key), edge_label_index=(key, pairs),
                  neg_sampling="binary", batch_size=batch // 2)


@case("pyg.LinkNeighborLoader, negatives")
def links(w):
    ends = w.pairs(nodes, nodes, 6 * nodes)
    data = data_of(w, ends)
    pairs = data.edge_index[:, :seeds // 4].contiguous()
    return by_pyg(w, data, Edges(*ends, nodes, nodes), "LinkNeighborLoader", also=pairs_of(w, pairs), edge_label_index=pairs, neg_sampling="binary",
                  batch_size=batch // 4)


def stores_of(w, graph=None):
    from garner.pyg import FeatureStore, GraphStore
    features, edges = FeatureStore(), GraphStore()
    edges.put_graph(graph or w.opened())
    features.put_tensor(w.tiered(w.x, feature_cache=0), group_name=None, attr_name="x", index=None)
    return features, edges


case("pyg.NeighborLoader, stores")(lambda w: by_pyg(w, stores_of(w), w.edges, input_nodes=w.seeds[:len(w.seeds) // 4]))
case("pyg.NeighborLoader, stores, place")(lambda w: by_pyg(w, stores_of(w, w.opened(**({"device": "cuda"} if gpu else {}))), w.edges, device=place))


@case("PyG's NodeLoader, pyg.NeighborSampler")
def of_pyg(w):
    import garner.pyg
    from torch_geometric.loader import NodeLoader
    data = stores_of(w)
    return w.prove(NodeLoader(data, garner.pyg.NeighborSampler(data, fanout, **w.at), w.seeds[:len(w.seeds) // 4], batch_size=batch, shuffle=True), w.edges)


class Stores:
    """A loader whose mini-batches hold dicts, as one whose mini-batches have stores by type of nodes and of edges."""

    def __init__(self, loader):
        self.loader, self.report = loader, loader.report

    def __len__(self):
        return len(self.loader)

    def __iter__(self):
        for b in self.loader:
            some = {t: types.SimpleNamespace(x=b.x[t], n_id=b.n_id[t], num_sampled_nodes=b.num_sampled_nodes[t]) for t in b.n_id}
            some.update({t: types.SimpleNamespace(edge_index=b.edge_index[t]) for t in b.edge_index})
            yield some


@case("torch.loader, several types")
def torch_hetero(w):
    data, edges, shifts, users = of_types(w)
    graphs = {key: w.garner.build(*data[key].edge_index, num_nodes=users, keep_loops=True, in_edges=True) for key in edges}
    loader = w.garner.torch.loader(graphs, few, ("user", w.torch.randperm(users)[:seeds]), x={t: data[t].x for t in shifts}, batch_size=batch, shuffle=True,
                                   num_nodes={"user": users, "item": nodes - users}, **w.at)
    return w.prove(Stores(loader), edges, shifts, fans=few)


@case("torch.loader, links, negatives")
def torch_links(w):
    pairs = w.torch.stack([w.edges.source, w.edges.target])[:, :seeds // 4].cpu()
    loader = w.garner.torch.loader(w.graph, fanout, x=w.tiered(w.x, feature_cache=0), edge_label_index=pairs, neg_sampling="binary", batch_size=batch // 4,
                                   shuffle=True, **w.at)
    return w.prove(loader, w.edges, also=pairs_of(w, pairs))


def prove_among(w, loader, edges, of=lambda batch: {None: batch}, shifts=None, epochs=2):
    """Rows by an attribute of the nodes, their ids, and that edges are edges."""
    tally = Tally(w)
    for _ in range(epochs):
        for number, batch in enumerate(loader):
            w.learn(number)
            stores = of(batch)
            ids = {t: store.id.to(w.device) for t, store in stores.items()}
            for t, store in stores.items():
                tally.look(store.x.to(w.device), ids[t], shift=(shifts or {}).get(t, 0))
            for key, there in edges.items():
                a, b = (key[0], key[-1]) if key else (None, None)
                there.look_among(tally, (batch[key] if key else batch).edge_index, ids[a], ids[b])
            tally.batches += 1
    return tally.close(epochs=epochs)


def one_type(w, many=6):
    ends = w.pairs(nodes, nodes, many * nodes)
    return data_of(w, ends, id=w.torch.arange(nodes)), {None: Edges(*ends, nodes, nodes)}


@case("pyg.RandomNodeLoader")
def random_nodes(w):
    import garner.pyg
    data, edges = one_type(w)
    return prove_among(w, garner.pyg.RandomNodeLoader(data, max(2, nodes // 65536), shuffle=True, **w.on), edges)


@case("pyg.ClusterLoader")
def clusters(w):
    import garner.pyg
    data, edges = one_type(w)
    parts = max(8, nodes // 4096)
    made = garner.pyg.ClusterData(data, parts, cluster=w.torch.arange(nodes) * 31 % parts)
    return prove_among(w, garner.pyg.ClusterLoader(made, batch_size=4, shuffle=True, **w.on), edges, epochs=1)


@case("pyg.ShaDowKHopSampler")
def shadow(w):
    import garner.pyg
    data, edges = one_type(w)
    return prove_among(w, garner.pyg.ShaDowKHopSampler(data, 2, 4, w.seeds[:max(640, seeds // 8)], batch_size=max(16, batch // 8), shuffle=True, **w.on), edges)


@case("pyg.HGTLoader")
def hgt(w):
    import garner.pyg
    data, edges, shifts, users = of_types(w)
    data["user"].id, data["item"].id = w.torch.arange(users), w.torch.arange(nodes - users)
    loader = garner.pyg.HGTLoader(data, [batch // 2, batch // 2], ("user", w.torch.randperm(users)[:max(640, seeds // 8)]), batch_size=batch // 2, shuffle=True, **w.on)
    return prove_among(w, loader, edges, lambda b: {t: b[t] for t in shifts}, shifts)


@case("random_walk, p and q")
def walks(w):
    tally, starts = Tally(w), w.seeds[:len(w.seeds) // 2]
    graph = w.opened()
    for p, q in ((1, 1), (0.5, 2)):
        if gpu:
            graph.to("cuda")
        found = w.torch.as_tensor(w.garner.random_walk(graph, starts.to(w.device), 10, p=p, q=q, **({"device": "cuda"} if gpu else w.at))).to(w.device)
        tally.unequal(found[:, 0], starts, 0)
        tally.rows += found.numel()
        a, b = found[:, :-1].reshape(-1), found[:, 1:].reshape(-1)
        key = b * nodes + a
        there = w.edges.keys[w.torch.searchsorted(w.edges.keys, key).clamp_(max=len(w.edges.keys) - 1)] == key
        tally.wrong[1] += (~there).sum()
        tally.edges += len(key)
        tally.batches += 1
    return tally.close()


@case("torch.aggregate over the whole graph, rows and adjacency in host memory")
def aggregated(w):
    tally, torch, columns = Tally(w), w.torch, 80
    graph = w.opened()
    part = w.garner.torch.shard(graph, deterministic=True, adjacency="host", device=w.device)
    rows, gradients = (torch.randint(0, 8, (nodes, columns), dtype=torch.float32) for _ in range(2))  # whose sums are exact
    rows.requires_grad_()
    if not gpu:
        part.device = torch.device("cuda", 0)  # as if it were on one
    sums = w.garner.torch.aggregate(rows, part, "sum")
    sums.backward(gradients)
    edges = w.edges  # undirected: the same back
    for column in (0, 63, 64, columns - 1):
        for found, given in ((sums, rows.detach()), (rows.grad, gradients)):
            there = given[:, column].to(w.device, torch.float64)
            expected = torch.zeros_like(there).index_add_(0, edges.keys // nodes, there[edges.keys % nodes])
            tally.wrong[0] += (found[:, column].detach().to(w.device, torch.float64) != expected).sum()
            tally.rows += nodes
            tally.edges += len(edges.keys)
    tally.batches += 1
    return tally.close()


@case("two GPUs, threads, rows on both")
def two_threads(w):
    import concurrent.futures
    where = [dict(device=r) if gpu else dict(device=f"simulated:{r}" if place == "simulated" else "cpu") for r in range(2)]
    apart = {} if place == "cpu" else dict(peers=[0, 1], peer_cache=nbytes // 4, feature_cache=0)
    tables = [w.garner.tiered(w.x, **where[0], **apart)]
    tables.append(tables[0].for_device(where[1]["device"]))
    worlds = [World(w.folder, r) for r in range(2)]
    for other in worlds:
        other.x, other.seeds = w.x, w.seeds
    if gpu:
        w.torch.cuda.set_device(w.device)

    def one(rank):
        if gpu:
            w.torch.cuda.set_device(rank)
        return by_torch(worlds[rank], tables[rank], rank=rank, ranks=2)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return together(list(pool.map(one, range(2))))


def together(found):
    return {**found[0], **{key: sum(one[key] for one in found) for key in ("rows_compared", "edges_compared", "wrong", "wrong_rows", "wrong_edges", "mini_batches")}}


def of_rank(folder, rank, how):
    """One of two processes, as torchrun starts them."""
    w = World(folder, rank)
    if how == "peers":
        apart = {} if place == "cpu" else dict(peers=[0, 1], peer_cache=nbytes // 4, feature_cache=0, group=f"typed-{os.getppid()}")
        device = rank if gpu else "cpu" if place == "cpu" else f"simulated:{rank}"
        x = w.garner.tiered(w.x, device=device, **apart)
        found = by_torch(w, x, ranks="torchrun")
    else:
        import torch.distributed as dist
        dist.init_process_group("nccl" if gpu else "gloo", init_method=f"file://{folder}/meet-{os.getppid()}-{how}", rank=rank, world_size=2)
        with w.garner.torch.ranks(timeout=60):
            found = by_torch(w, w.garner.torch.remote_rows(w.x[rank * nodes // 2:(rank + 1) * nodes // 2]), fans=few, ranks="torchrun", **({} if gpu else {"device": "host"}))
    print(json.dumps(found), flush=True)
    sys.stdin.read()  # they end together


def work(folder, names):
    """The process of cases in Python: a line of JSON each."""
    w = World(folder)
    for name in names:
        began = time.monotonic()
        try:
            row = cases[name](w)
        except Exception as e:
            row = {"error": f"{type(e).__name__}: {e}"[:400]}
        gc.collect()
        row["seconds"] = time.monotonic() - began
        print(json.dumps(row), flush=True)
        if gpu:
            try:
                w.torch.cuda.synchronize()
                w.torch.cuda.empty_cache()
            except Exception:
                os._exit(3)  # the GPU is lost to this process
    os._exit(0)


if __name__ == "__main__":  # FOLDER CASE..., or of one of two ranks FOLDER --rank HOW
    if sys.argv[2] == "--rank":
        of_rank(pathlib.Path(sys.argv[1]), int(os.environ["RANK"]), sys.argv[3])
    else:
        work(pathlib.Path(sys.argv[1]), sys.argv[2:])
