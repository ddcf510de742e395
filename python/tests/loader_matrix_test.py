"""Every loader x kind of data x option, on the host and on the simulated device: each mini-batch is compared with brute force in NumPy, which shares no
code with the samplers. A new loader, kind of data or option is a line in LOADERS here, or in DATA, RULES or FORMS of loader_world.py."""
import collections
import dataclasses
import itertools
import math
import sys
import unittest
import warnings

import numpy as np

import garner
from loader_world import (DATA, FORMS, INPUTS, LIKES, PLACES, PYG, RATED, RATES, RULES, World, attributes, edge_names, node_names, of_numpy, of_torch, torch,
                          types_of)

if torch is not None:
    from garner.pyg import LinkNeighborLoader, NeighborLoader


def listed(option):
    """Positions of the input, a list each mini-batch; of a shuffled epoch of any order."""
    if "batch_sampler" in option:
        return option["batch_sampler"]
    order, size = option.get("sampler", list(range(INPUTS))), option.get("batch_size", 4)
    batches = [order[k:k + size] for k in range(0, len(order), size)]
    return [some for some in batches if len(some) == size] if "drop_last" in option else batches


@dataclasses.dataclass
class Found:
    """What a mini-batch says, in NumPy, and of which seeds it must be made."""

    input_id: np.ndarray
    n_id: dict
    edges: dict  # by type (row, col, e_id), numbered as the mini-batch does
    nodes_by_hop: dict
    edges_by_hop: dict
    trees: dict
    rows: dict  # by (type, name)
    seeds: dict = dataclasses.field(default_factory=dict)
    seed_times: dict = dataclasses.field(default_factory=dict)
    seed_trees: dict = dataclasses.field(default_factory=dict)


# --- loaders: how they are made, and what their mini-batches say ---

class OfPyg:
    """What PyG's loaders have in common."""

    data = PYG
    refuses = ()

    def __init__(self, world, option):
        self.world, self.option, self.called = world, option, collections.Counter()

    def options(self):
        option = self.option
        how = {key: option[key] for key in ("replace", "disjoint", "feature_cache", "graph_cache", "filter_per_worker", "drop_last", "shuffle",
                                            "batch_sampler", "sampler") if key in option}
        if "times" in option:
            how.update(time_attr={"nodes": "time", "edges": "edge_time"}[option["times"]], temporal_strategy=option["strategy"])
        if "weighted" in option:
            how["weight_attr"] = "w"
        if "subgraph" in option:
            how["subgraph_type"] = option["subgraph"]
        if "batch_sampler" not in option:
            how["batch_size"] = option.get("batch_size", 4)
        how.update({name: self.marked(name) for name in ("transform", "transform_sampler_output") if name in option})
        return {"num_neighbors": option.get("fanouts", [3, 2]), "device": option["place"], **how}

    def marked(self, name):
        def call(given):
            self.called[name] += 1
            if name == "transform":
                given.number = self.called[name]
            return given
        return call

    def kind(self, base):
        if "subclass" not in self.option:
            return base
        called = self.called

        class Mine(base):
            def filter_fn(self, out):
                called["subclass"] += 1
                batch = super().filter_fn(out)
                batch.number = called["subclass"]
                return batch
        return Mine

    def read(self, batch):
        world, option = self.world, self.option
        of = {kind: batch if kind is None else batch[kind] for kind in (*world.count, *world.edges)}
        told = "subgraph" not in option
        edges = {kind: (*of_numpy(of[kind].edge_index), of_numpy(of[kind].e_id) if "e_id" in of[kind] else None) for kind in world.edges}
        rows = {(kind, name): of_numpy(of[kind][name]) for kind in world.count for name in node_names(option)}
        rows.update({(kind, name): of_numpy(of[kind][name]) for kind in world.edges if edges[kind][2] is not None for name in edge_names(option)
                     if name in of[kind]})
        wanted = {(kind, name) for kind, name, _ in attributes(world, {**option, "x": None})}
        if "weighted" in option and option["graphs"]:  # weights are the graph's
            wanted -= {(kind, "w") for kind in world.edges}
        if all(edges[kind][2] is not None for kind in world.edges):
            assert set(rows) == wanted or None in world.count and {name for _, name in rows} == {name for _, name in wanted}, set(rows) ^ wanted
        found = Found(of_numpy(of[self.input_type()].input_id), {kind: of_numpy(of[kind].n_id) for kind in world.count}, edges,
                      {kind: of[kind].num_sampled_nodes for kind in world.count} if told else {},
                      {kind: of[kind].num_sampled_edges for kind in world.edges} if told else {},
                      {kind: of_numpy(of[kind].batch) for kind in world.count if of[kind].get("batch") is not None}, rows)
        self.seeds(of, found)
        return found

    def epoch(self, loader):
        self.called.clear()
        batches = list(loader)
        for name in ("transform", "transform_sampler_output", "subclass"):
            require(self.called[name] == (len(batches) if name in self.option else 0), name, "is called", self.called[name], "times")
        if {"transform", "subclass"} & self.option.keys():
            require([batch.number for batch in batches] == list(range(1, len(batches) + 1)), "what hooks write is lost")
        return batches


class Nodes(OfPyg):
    refuses = ("labels",)

    def made(self, data, how):
        world, option = self.world, self.option
        if option.get("times_of_seeds"):
            how["input_time"] = of_torch(world.seed_times)
        seeds = of_torch(world.seeds)
        return self.kind(NeighborLoader)(data, input_nodes=seeds if world.seed_type is None else (world.seed_type, seeds), **self.options(), **how)

    def input_type(self):
        return self.world.seed_type

    def seeds(self, of, found):
        world, kind = self.world, self.world.seed_type
        count = len(found.input_id)
        assert of[kind].batch_size == count
        found.seeds[kind], found.seed_trees[kind] = world.seeds[found.input_id], np.arange(count)
        if self.option.get("times_of_seeds"):
            found.seed_times[kind] = world.seed_times[found.input_id]
            assert np.array_equal(of_numpy(of[kind].seed_time), found.seed_times[kind])
        elif "times" in self.option:
            found.seed_times[kind] = world.of_nodes[kind]["time"][found.seeds[kind]]


class Links(OfPyg):
    refuses = ()
    negatives = None  # (mode, amount)

    def made(self, data, how):
        world, option = self.world, self.option
        if "times" in option:
            how["edge_label_time"] = of_torch(world.link_times)
        if "labels" in option:
            how["edge_label"] = of_torch(world.labels)
        if self.negatives:
            how["neg_sampling"] = dict(zip(("mode", "amount"), self.negatives))
        links = of_torch(world.links)
        return self.kind(LinkNeighborLoader)(data, edge_label_index=links if world.link_type is None else (world.link_type, links), **self.options(), **how)

    def input_type(self):
        return self.world.link_type

    def seeds(self, of, found):
        """Positions of the ends among the nodes; then what these are."""
        world, option, link_type = self.world, self.option, self.world.link_type
        source, target = types_of(link_type)
        count, disjoint = len(found.input_id), "disjoint" in option or "times" in option
        mode, amount = self.negatives or (None, 0)
        if mode == "triplet":
            src, dst, far = (of_numpy(of[end][name]) for end, name in ((source, "src_index"), (target, "dst_pos_index"), (target, "dst_neg_index")))
            assert far.shape == (count, amount)
            assert "edge_label_index" not in of[link_type]
            dst = np.append(dst, far.T)
        else:
            many = count + math.ceil(count * amount)
            src, dst = of_numpy(of[link_type].edge_label_index)
            assert src.shape == dst.shape == (many,)
            label = of_numpy(of[link_type].get("edge_label"))
            if "labels" in option or mode:
                given = world.labels[found.input_id] if "labels" in option else np.ones(count)
                assert np.array_equal(label, np.append(given, np.zeros(many - count))), label
            else:
                assert label is None
        for row, (ends, kind) in enumerate(((src, source), (dst, target))):
            assert np.array_equal(found.n_id[kind][ends[:count]], world.links[row, found.input_id])
        ends = {source: np.append(src, dst)} if source == target else {source: src, target: dst}
        edge = {source: np.append(np.arange(len(src)) % count, np.arange(len(dst)) % count)} if source == target else \
            {source: np.arange(len(src)) % count, target: np.arange(len(dst)) % count}
        for kind, at in ends.items():
            assert np.array_equal(np.unique(at), np.arange(at.max() + 1))  # they stand first
            found.seeds[kind] = found.n_id[kind][:at.max() + 1]
            if disjoint:
                assert np.array_equal(at, np.arange(len(at)))
                found.seed_trees[kind] = edge[kind]
            else:
                assert len(np.unique(found.seeds[kind])) == len(found.seeds[kind])
            if "times" in option:
                found.seed_times[kind] = world.link_times[found.input_id][edge[kind]]
                if option["times"] == "nodes":  # a negative is not of the future either
                    assert (world.of_nodes[kind]["time"][found.seeds[kind]] <= found.seed_times[kind]).all()
        if "times" in option:
            told = of[source].seed_time if mode == "triplet" else of[link_type].edge_label_time
            assert np.array_equal(of_numpy(told)[:count], world.link_times[found.input_id])


class Binary(Links):
    negatives = "binary", 1.5


class Triplet(Links):
    refuses = ("labels",)
    negatives = "triplet", 2


class TorchNodes:
    data = ("garner.build",)
    refuses = ("labels", "bidirectional", "bidirectional, disjoint", "times of edges, uniform", "times of edges, last", "transform",
               "transform_sampler_output", "batch_sampler", "sampler", "sampler that repeats", "subclass", "filter_per_worker", "filter_per_worker=False")

    def __init__(self, world, option):
        self.world, self.option = world, option

    def made(self, data, how):
        world, option = self.world, self.option
        how.update({key: option[key] for key in ("replace", "weighted", "disjoint", "feature_cache", "graph_cache", "drop_last", "shuffle") if key in option})
        if "times" in option:
            how.update(temporal=option["strategy"], times=world.of_nodes[None]["time"])
        if "times_of_seeds" in option:
            how["seed_times"] = world.seed_times
        if "edge_attr" in option or "weighted" in option:
            how["edge_ids"] = True
        return garner.torch.loader(data, option.get("fanouts", [3, 2]), world.seeds, batch_size=option.get("batch_size", 4), device=option["place"],
                                   induced="subgraph" in option, **how)

    def read(self, batch):
        world, option = self.world, self.option
        assert batch.batch_size == len(batch.input_id)
        told = "subgraph" not in option
        found = Found(of_numpy(batch.input_id), {None: of_numpy(batch.n_id)}, {None: (*of_numpy(batch.edge_index), of_numpy(batch.e_id))},
                      {None: batch.num_sampled_nodes} if told else {}, {None: batch.num_sampled_edges} if told else {},
                      {} if batch.batch is None else {None: of_numpy(batch.batch)}, {(None, "x"): of_numpy(batch.x)})
        if batch.e_id is None:  # derived: each pair has one edge
            row, col = (found.n_id[None][ends] for ends in found.edges[None][:2])
            number = {pair: k for k, pair in enumerate(zip(*(end[option["order"][None]] for end in world.edges[None])))}
            found.edges[None] = (*found.edges[None][:2], np.array([number[pair] for pair in zip(row, col)], np.int64))
        assert np.array_equal(of_numpy(batch.y), world.of_nodes[None]["y"][world.seeds[found.input_id]])
        found.seeds[None], found.seed_trees[None] = world.seeds[found.input_id], np.arange(len(found.input_id))
        if "times" in option:
            found.seed_times[None] = world.seed_times[found.input_id] if "times_of_seeds" in option else world.of_nodes[None]["time"][found.seeds[None]]
        return found

    def epoch(self, loader):
        return list(loader)


LOADERS = {  # and how many combinations there are at the least: of each place, and of those that are tried once
    "pyg.NeighborLoader": (Nodes, 322, 316), "pyg.LinkNeighborLoader": (Links, 331, 332), "pyg.LinkNeighborLoader, binary": (Binary, 331, 332),
    "pyg.LinkNeighborLoader, triplet": (Triplet, 322, 316), "torch.loader": (TorchNodes, 24, 132)}



# --- brute force ---

def require(holds, *told):
    if not holds:
        raise AssertionError(" ".join(map(str, told)))


def check(world, option, found):
    for kind, n_id in found.n_id.items():
        require(((0 <= n_id) & (n_id < world.count[kind])).all(), "nodes of", kind, n_id)
        seeds = found.seeds.get(kind, np.empty(0, np.int64))
        require(np.array_equal(n_id[:len(seeds)], seeds), "seeds", kind, n_id, seeds)
    for (kind, name), rows in found.rows.items():
        whole = (world.of_nodes if kind in world.of_nodes and name in world.of_nodes[kind] else world.of_edges)[kind][name]
        ids = found.n_id[kind] if whole is world.of_nodes.get(kind, {}).get(name) else named(option, kind, found.edges[kind][2])
        require(rows.dtype == whole.dtype and np.array_equal(rows, whole[ids]), "rows of", kind, name)
    if option.get("subgraph") == "bidirectional":
        return check_bidirectional(world, option, found)
    for kind, (row, col, e_id) in found.edges.items():
        source, target = types_of(kind)
        ids = named(option, kind, e_id)
        for local, whole, end in ((row, world.edges[kind][0], source), (col, world.edges[kind][1], target)):
            require(np.array_equal(found.n_id[end][local], whole[ids]), "ends of", kind, "differ from those of e_id")
    (check_induced if "subgraph" in option else check_hops)(world, option, found)


def fanouts_of(option, kind=None):
    fanouts = option.get("fanouts", [3, 2])
    return fanouts[kind] if isinstance(fanouts, dict) else fanouts


def named(option, kind, e_id):
    """Numbers of edges as the world has them."""
    return option["order"][kind][e_id]


def check_bidirectional(world, option, found):
    require("times" in option or "disjoint" in option or all(len(np.unique(ids)) == len(ids) for ids in found.n_id.values()), "a node stands twice")
    reverse = {None: None, RATES: RATED, RATED: RATES, LIKES: LIKES}
    there = {kind: set(zip(*(end.tolist() for end in ends))) for kind, ends in world.edges.items()}
    local = {kind: list(zip(row.tolist(), col.tolist())) for kind, (row, col, _) in found.edges.items()}
    for kind, some in local.items():
        require(len(set(some)) == len(some) and set(some) == {(v, u) for u, v in local[reverse[kind]]}, kind, "is not symmetric")
        (row, col, e_id), (source, target) = found.edges[kind], types_of(kind)
        ends = list(zip(found.n_id[source][row].tolist(), found.n_id[target][col].tolist()))
        for u, v in ends:
            require((u, v) in there[kind] or (v, u) in there[reverse[kind]], kind, (u, v), "is not an edge in either direction")
        if e_id is not None:
            for k, pair in zip(named(option, kind, e_id), ends):
                whole = world.edges[kind][0][k], world.edges[kind][1][k]
                require(pair in (whole, whole[::-1]), kind, pair, "is named as", whole)


def check_induced(world, option, found):
    for kind, (_, _, e_id) in found.edges.items():
        inside = np.isin(world.edges[kind][0], found.n_id[types_of(kind)[0]]) & np.isin(world.edges[kind][1], found.n_id[types_of(kind)[1]])
        require(np.array_equal(np.sort(named(option, kind, e_id)), np.flatnonzero(inside)), kind, "misses edges among its nodes")
    reached = {kind: set(found.seeds.get(kind, ())) for kind in world.count}
    for kind, ids in found.n_id.items():
        require(len(np.unique(ids)) == len(ids), "a node of", kind, "stands twice")
    for _ in range(2):
        before = {kind: set(some) for kind, some in reached.items()}
        for kind, (row, _) in world.edges.items():
            source, target = types_of(kind)
            for v in before[target]:
                reached[source] |= set(row[world.into[kind][v]])
    for kind, seeds in found.seeds.items():
        require(set(found.n_id[kind]) <= reached[kind], "nodes of", kind, "are too far away")
    for kind in world.edges:
        source, target = types_of(kind)
        for v in set(found.seeds.get(target, ())):
            may = world.into[kind][v]
            near = set(world.edges[kind][0][may[world.of_edges[kind]["w"][may] > 0] if "weighted" in option else may])
            require(len(near & set(found.n_id[source])) >= min(len(near), 1), v, "has no neighbor")


def check_hops(world, option, found):
    """Walks over the hops: of each node that one reached first the edges of the next one."""
    hops = 2
    disjoint, replace = "disjoint" in option or "times" in option, "replace" in option
    nodes, edges = found.nodes_by_hop, found.edges_by_hop
    for kind, ids in found.n_id.items():
        require(len(nodes[kind]) == hops + 1 and sum(nodes[kind]) == len(ids), "num_sampled_nodes of", kind, nodes[kind], len(ids))
        require(nodes[kind][0] == len(found.seeds.get(kind, ())), "seeds of", kind)
    for kind, (row, _, _) in found.edges.items():
        require(len(edges[kind]) == hops and sum(edges[kind]) == len(row), "num_sampled_edges of", kind)
    # One tree per seed where trees are disjoint; `told` has the number of the input that each belongs to.
    tree, times, told, number = {}, [], [], itertools.count()
    for kind, ids in found.n_id.items():
        tree[kind] = np.full(len(ids), -1 if disjoint else 0)
        for k in range(len(found.seeds.get(kind, ())) if disjoint else 0):
            tree[kind][k] = next(number)
            told.append(found.seed_trees[kind][k])
            times.append(found.seed_times[kind][k] if "times" in option else None)
    end = {kind: nodes[kind][0] for kind in nodes}  # nodes so far
    begin, first = dict.fromkeys(nodes, 0), dict.fromkeys(edges, 0)
    for hop in range(hops):
        reached = {kind: set() for kind in nodes}
        for kind, (row, col, e_id) in found.edges.items():
            (source, target), fanout = types_of(kind), fanouts_of(option, kind)[hop]
            part = slice(first[kind], first[kind] + edges[kind][hop])
            first[kind] = part.stop
            row, col, ids = row[part], col[part], named(option, kind, e_id[part])
            require(((begin[target] <= col) & (col < end[target])).all(), kind, "hop", hop, "is of nodes that the hop before did not reach first")
            require((row < end[source] + nodes[source][hop + 1]).all(), kind, "hop", hop, "reaches nodes of a later one")
            reached[source] |= set(row[row >= end[source]].tolist())
            for u, v in zip(row, col):
                if tree[source][u] < 0:
                    tree[source][u] = tree[target][v]
                require(tree[source][u] == tree[target][v], "an edge of", kind, "leads from one tree to another")
            for v in range(begin[target], end[target]):
                mine = ids[col == v]
                may = world.into[kind][found.n_id[target][v]]
                if "weighted" in option:
                    may = may[world.of_edges[kind]["w"][may] > 0]
                if "times" in option:
                    when = world.of_edges[kind]["edge_time"] if option["times"] == "edges" else world.of_nodes[source]["time"][world.edges[kind][0]]
                    may = may[when[may] <= times[tree[target][v]]]
                require(np.isin(mine, may).all(), "node", v, "of", target, "samples by", kind, mine, "and may", may)
                if replace and fanout >= 0:
                    require(len(mine) == (fanout if len(may) else 0), "node", v, "samples", len(mine), "with replacement, of", len(may))
                    continue
                require(len(np.unique(mine)) == len(mine), "node", v, "samples an edge of", kind, "twice")
                require(len(mine) == (len(may) if fanout < 0 else min(len(may), fanout)), "node", v, "samples", len(mine), "of", len(may))
                if option.get("strategy") == "last" and len(mine):
                    require(np.array_equal(np.sort(when[mine]), np.sort(when[may])[-len(mine):]), "node", v, "does not sample the last ones")
        for kind in nodes:
            begin[kind], end[kind] = end[kind], end[kind] + nodes[kind][hop + 1]
            require(reached[kind] == set(range(begin[kind], end[kind])), "nodes of", kind, "hop", hop, "are not those that its edges reach")
    for kind, ids in found.n_id.items():
        seeds = slice(0, nodes[kind][0])  # which the caller may have given twice
        each = [len(np.unique(np.stack([tree[kind][some], ids[some]]), axis=1).T) for some in (seeds, slice(None))]
        require(len(ids) - each[1] == seeds.stop - each[0], "a node of", kind, "stands twice in a tree")
        require((kind in found.trees) == disjoint, "batch of", kind)
        if disjoint:
            require(np.array_equal(found.trees[kind], np.array(told, np.int64)[tree[kind]]), "batch of", kind, found.trees[kind])


# --- all of them ---

def combinations(loader):
    """(data, rule, form, place): each rule as it is and each form of the plain rule with all data at all places; of the other pairs of rule and form
    each once, with data and places in turn."""
    turn = itertools.cycle(itertools.product(PLACES, loader.data))
    for rule, form in itertools.product(RULES, FORMS):
        whole = form == "sampler that repeats" and "subgraph" in RULES[rule]  # a node that stands twice has edges of a subgraph once or twice
        if not whole and not {rule, form} & set(loader.refuses):
            taken = [(data, place) for data in loader.data for place in PLACES if not {rule, form} & set(DATA[data].refuses)]
            if taken and rule != "plain" and form != "as it is":
                taken = [next((data, place) for place, data in turn if (data, place) in taken)]
            for data, place in taken:
                yield data, rule, form, place


@unittest.skipIf(torch is None, "needs torch and PyG (torch_geometric)")
class Matrix(unittest.TestCase):
    count = 0

    @classmethod
    def setUpClass(cls):
        cls.worlds = {key: World(*key) for key in itertools.product((False, True), repeat=2)}

    @classmethod
    def tearDownClass(cls):
        print(f"{cls.count} combinations of loader, data and options", file=sys.stderr)

    def setUp(self):
        warnings.simplefilter("error")  # nothing here is on a slow path
        warnings.filterwarnings("ignore", ".*_(budget|cache) has no effect on the CPU")
        self.addCleanup(warnings.resetwarnings)

    def one(self, name, data, rule, form, place):
        kind = DATA[data]
        world = self.worlds[kind.several, kind.graphs]
        option = {**RULES[rule], **FORMS[form], "place": place, "graphs": kind.graphs}
        # A Graph's edges are named by their places in the lists of targets, unless attributes are of its edges.
        by_place = kind.graphs and (name == "torch.loader" or not {"edge_attr", "edge_time"} & set(edge_names(option)))
        option["order"] = {t: np.lexsort(ends) if by_place else np.arange(len(ends[0])) for t, ends in world.edges.items()}
        loading = LOADERS[name][0](world, option)
        torch.manual_seed(5)
        loader = loading.made(*kind.make(world, option))
        for _ in range(2):  # what is kept for the next epoch is right too
            seen = []
            for batch in loading.epoch(loader):
                found = loading.read(batch)
                check(world, option, found)
                seen.append(found.input_id.tolist())
            wanted = listed(option)
            if "shuffle" in option:
                require(sorted(sum(seen, [])) == sorted(sum(wanted, [])) and list(map(len, seen)) == list(map(len, wanted)), "inputs are", seen)
            else:
                require(seen == wanted, "inputs are", seen, "not", wanted)
            require(len(loader) == len(seen) == loader.report["batches"], "mini-batches", len(loader), loader.report)

    def all_of(self, name):
        loader, of_each_place, once = LOADERS[name]
        count = 0
        for some in combinations(loader):
            count += 1
            with self.subTest(", ".join((name, *some))):
                self.one(name, *some)
        type(self).count += count
        self.assertGreaterEqual(count, of_each_place * len(PLACES) + once)


for _name in LOADERS:
    setattr(Matrix, "test_" + "".join(c if c.isalnum() else "_" for c in _name), lambda self, name=_name: self.all_of(name))

if __name__ == "__main__":
    unittest.main()
