"""What loader_matrix_test.py tries: nodes and edges, the kinds of data that they become, and options of loaders."""
import dataclasses
import os

import numpy as np

import garner

try:
    import torch
    from torch_geometric.data import Data, HeteroData
    from torch_geometric.testing import MyFeatureStore, MyGraphStore
    import garner.torch
    from garner.pyg import FeatureStore, GraphStore
except ImportError:
    torch = None

INPUTS = 11  # seeds or pairs of an epoch
PLACES = ("simulated",) if os.environ.get("GARNER_STREAMS") else ("cpu", "simulated")  # streams are the simulated device's alone
RATES, RATED, LIKES = ("user", "rates", "item"), ("item", "rev_rates", "user"), ("item", "likes", "item")


def types_of(edge_type):
    return (None, None) if edge_type is None else (edge_type[0], edge_type[2])


class World:
    """Nodes, edges and their attributes. ordered: edges are sorted by (source, target) and none stands twice, as a garner.Graph has them."""

    def __init__(self, several, ordered):
        rng = np.random.default_rng(7)
        self.several = several
        self.count = {"item": 30, "user": 20} if several else {None: 40}
        self.edges, self.of_nodes, self.of_edges = {}, {}, {}
        for kind, count in self.count.items():
            self.of_nodes[kind] = {"x": rng.standard_normal((count, 5)).astype("f4"), "y": rng.integers(0, 7, count), "train_mask": rng.random(count) < 0.5,
                                   "time": rng.integers(0, 60, count)}
        for kind, many in ((RATES, 150), (RATED, 130), (LIKES, 140)) if several else ((None, 230),):
            source, target = (self.count[end] for end in types_of(kind))
            row, col = rng.integers(0, source, many), (rng.random(many) ** 3 * (target - 2)).astype(int)  # many of few neighbors, the last of none
            if ordered:
                row, col = np.unique(np.stack([row, col]), axis=1)
            many = len(row)
            self.edges[kind] = row, col
            self.of_edges[kind] = {"edge_attr": rng.standard_normal((many, 3)).astype("f4"), "w": rng.integers(0, 3, many).astype("f4"),
                                   "edge_time": rng.integers(0, 60, many)}
        self.into = {kind: [np.flatnonzero(col == v) for v in range(self.count[types_of(kind)[1]])] for kind, (_, col) in self.edges.items()}
        self.seed_type, self.link_type = ("item", RATES) if several else (None, None)
        self.seeds = rng.permutation(self.count[self.seed_type])[:INPUTS]
        self.seed_times = rng.integers(20, 60, INPUTS)
        (row, col), (source, target) = self.edges[self.link_type], types_of(self.link_type)
        some = rng.permutation(len(row))[:6]  # the other pairs are random
        self.links = np.stack([np.append(row[some], rng.integers(0, self.count[source], INPUTS - 6)),
                               np.append(col[some], rng.integers(0, self.count[target], INPUTS - 6))])
        self.labels = rng.integers(1, 4, INPUTS)
        self.link_times = np.maximum(self.of_nodes[source]["time"][self.links[0]], self.of_nodes[target]["time"][self.links[1]])


def of_torch(array):
    return torch.from_numpy(np.ascontiguousarray(array))


def of_numpy(tensor):
    return tensor.cpu().numpy() if isinstance(tensor, torch.Tensor) else tensor


def node_names(option):
    return ["x", "y", "train_mask"] + ["time"] * (option.get("times") == "nodes")


def edge_names(option):
    return ["edge_attr"] * ("edge_attr" in option) + ["w"] * ("weighted" in option) + ["edge_time"] * (option.get("times") == "edges")


def attributes(world, option):
    """(type, name, value) of what the data have; x as the option says."""
    for kind, rows in world.of_nodes.items():
        for name in node_names(option):
            value = of_torch(rows[name])
            if name == "x" and option.get("x") == "tiered":
                value = garner.tiered(value, device="host" if option["place"] == "cpu" else option["place"], feature_cache=160)
            yield kind, name, rows[name] if name == "x" and option.get("x") == "numpy" else value
    for kind, rows in world.of_edges.items():
        for name in edge_names(option):
            yield kind, name, of_torch(rows[name])


# --- kinds of data: the world as a loader takes it ---

def as_data(world, option):
    data = HeteroData() if world.several else Data()
    for kind, name, value in attributes(world, option):
        (data if kind is None else data[kind])[name] = value
    for kind, ends in world.edges.items():
        (data if kind is None else data[kind]).edge_index = of_torch(np.stack(ends))
    return data, {}


def as_stores(world, option, features, graphs):
    store, graph = features(), graphs()
    for kind, name, value in attributes(world, option):
        store.put_tensor(value, group_name=kind, attr_name=name, index=None)
    for kind, (row, col) in world.edges.items():
        graph.put_edge_index((of_torch(row), of_torch(col)), edge_type=kind, layout="coo", size=tuple(world.count[end] for end in types_of(kind)))
    return (store, graph), {}


def as_pygs_stores(world, option):
    return as_stores(world, option, MyFeatureStore, MyGraphStore)


def as_garners_stores(world, option):
    return as_stores(world, option, FeatureStore, GraphStore)


def graph_of(world, option, kind=None):
    row, col = world.edges[kind]
    weights = world.of_edges[kind]["w"] if "weighted" in option else None
    return garner.build(row, col, weights, num_nodes=max(world.count[end] for end in types_of(kind)), keep_loops=True, in_edges=True)


def as_graphs_in_a_store(world, option):
    store, graph = FeatureStore(), GraphStore()
    for kind, name, value in attributes(world, option):
        if name != "w":  # weights are the graph's
            store.put_tensor(value, group_name=kind, attr_name=name, index=None)
    for kind in world.edges:
        graph.put_graph(graph_of(world, option, kind), kind, tuple(world.count[end] for end in types_of(kind)))
    return (store, graph), {}


def as_data_beside_a_graph(world, option):
    data = Data()
    for _, name, value in attributes(world, option):
        data[name] = value
    return data, {"graph": graph_of(world, option)}


def as_graph(world, option):
    return graph_of(world, option), {name: value for _, name, value in attributes(world, option) if name in ("x", "y")}


@dataclasses.dataclass
class Kind:
    make: object
    several: bool = False
    graphs: bool = False  # the edges are those of a garner.Graph
    refuses: tuple = ()  # of RULES and FORMS


one_type = ("fanouts by type",)
DATA = {
    "Data": Kind(as_data, refuses=one_type),
    "HeteroData": Kind(as_data, several=True),
    "PyG's stores": Kind(as_pygs_stores, refuses=(*one_type, "NumPy x")),  # they hold tensors alone
    "PyG's stores, several types": Kind(as_pygs_stores, several=True, refuses=("NumPy x",)),
    "Garner's stores": Kind(as_garners_stores, refuses=one_type),
    "Garner's stores, several types": Kind(as_garners_stores, several=True),
    "graphs in a store": Kind(as_graphs_in_a_store, graphs=True, refuses=one_type),
    "graphs in a store, several types": Kind(as_graphs_in_a_store, several=True, graphs=True),
    "graph= with Data": Kind(as_data_beside_a_graph, graphs=True,  # whose attributes are not the graph's weights
                               refuses=(*one_type, "weighted", "weighted, disjoint", "weighted, replace", "weighted, induced")),
    "garner.build": Kind(as_graph, graphs=True, refuses=one_type),
}
PYG = tuple(DATA)[:9]

# --- options ---

RULES = {  # what is sampled
    "plain": {},
    "all neighbors": {"fanouts": [-1, 2]},
    "replace": {"replace": True},
    "weighted": {"weighted": True},
    "times of nodes, uniform": {"times": "nodes", "strategy": "uniform"},
    "times of nodes, last": {"times": "nodes", "strategy": "last", "times_of_seeds": True},
    "times of edges, uniform": {"times": "edges", "strategy": "uniform", "times_of_seeds": True},
    "times of edges, last": {"times": "edges", "strategy": "last", "times_of_seeds": True},
    "disjoint": {"disjoint": True},
    "induced": {"subgraph": "induced"},
    "bidirectional": {"subgraph": "bidirectional"},
    "fanouts by type": {"fanouts": {RATES: [2, 0], RATED: [-1, 2], LIKES: [0, 3]}},
    "weighted, disjoint": {"weighted": True, "disjoint": True},
    "weighted, replace": {"weighted": True, "replace": True},
    "weighted, induced": {"weighted": True, "subgraph": "induced"},
    "replace, times of nodes": {"replace": True, "times": "nodes", "strategy": "uniform"},
    "bidirectional, disjoint": {"subgraph": "bidirectional", "disjoint": True},
}
FORMS = {  # how it is loaded
    "as it is": {},
    "edge features": {"edge_attr": True},
    "tiered x": {"x": "tiered"},
    "NumPy x": {"x": "numpy"},
    "feature_cache 0": {"feature_cache": 0},
    "feature_cache of a few rows": {"feature_cache": 600},
    "feature_cache of more rows, edge features": {"feature_cache": 1600, "edge_attr": True},
    "feature_cache auto": {"feature_cache": "auto"},
    "graph_cache of a part": {"graph_cache": 400},
    "transform": {"transform": True},
    "transform_sampler_output": {"transform_sampler_output": True},
    "batch_sampler": {"batch_sampler": [[3, 1], [4, 10, 5], [9], [2, 6]]},
    "sampler": {"sampler": [4, 2, 10, 0, 7]},
    "sampler that repeats": {"sampler": [4, 2, 2, 4, 4]},
    "subclass": {"subclass": True},
    "filter_per_worker": {"filter_per_worker": True},
    "filter_per_worker=False": {"filter_per_worker": False},
    "batch_size 1": {"batch_size": 1},
    "batch_size of all": {"batch_size": 100},
    "drop_last": {"drop_last": True},
    "shuffle": {"shuffle": True},
    "labels": {"labels": True},
}
