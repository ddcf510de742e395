"""Graphs of several types of nodes, as garner.torch.loader takes them; and the sampler over their relations, for garner.pyg too. Needs torch."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from . import _checks
from ._garner import BlockSampler, Graph, HeteroGraph, Relation
from .errors import Error, KindError, UsageError
from .remote import RemoteRows

EdgeType = tuple[str, str, str]


def sampler_of(num_nodes: Mapping[Any, int], relations: Sequence[tuple[Any, Sequence[int], Any, Any, str, Any, bool]], node_time: Mapping[Any, Any] | None,
               edge_time: bool, **options: Any) -> BlockSampler:
    """Over relations, each as (graph, fanouts, type that is sampled, type that samples, side, times of its edges, whether its lists are in the order of
    times). node_time: by type, where nodes have times; edge_time: whether edges have. Those without are of all times."""
    types, always = list(num_nodes), np.iinfo(np.int64).min
    times = None if node_time is None else [node_time[t] if t in node_time else np.full(num_nodes[t], always) for t in types]
    made = []
    for graph, fanouts, source, target, side, of_edges, in_order in relations:
        timed = of_edges is not None or source in (node_time or ())
        of_edges = np.full(graph.info.num_edges, always) if edge_time and of_edges is None else of_edges
        made.append(Relation(graph, fanouts, types.index(source), types.index(target), side, of_edges, in_time_order=in_order or not timed))
    return BlockSampler.of_relations(list(num_nodes.values()), made, times=times, **options)


@dataclasses.dataclass
class Relations:
    """How many nodes each type has, and the graph of each relation, whose `side` holds what a target samples."""

    num_nodes: dict[str, int]
    graphs: dict[EdgeType, Graph]
    side: str = "in"
    of_edges: dict[EdgeType, Any] = dataclasses.field(default_factory=dict)  # garner.EdgeType each, of a dataset

    def type_of(self, kind: Any, name: str) -> Any:
        if kind not in self.num_nodes:
            raise UsageError(f"{name}: the graphs have no nodes of type {_checks.told(kind)}; the types are {list(self.num_nodes)}")
        return kind

    def tables(self, given: Any, name: str) -> dict[Any, Any]:
        """x or y, by type."""
        if given is None:
            return {}
        for kind, table in _by(given, name, "a table for each type that has one").items():
            if isinstance(table, RemoteRows):
                raise UsageError(f"{name} of {kind!r}: rows of other ranks are for a graph of one type; give a table that this process can read")
            _checks.rows(table, f"{name} of {kind!r}", self.num_nodes[self.type_of(kind, name)], "nodes")
        return dict(given)

    def edge_rows(self, given: Any) -> dict[Any, Any]:
        """edge_attr, by relation."""
        for kind, table in _by(given, "edge_attr", "a table for each relation that has one").items():
            if kind not in self.graphs:
                raise UsageError(f"edge_attr: the graphs have no relation {_checks.told(kind)}; they are {list(self.graphs)}")
            edges = self.of_edges[kind].num_edges if kind in self.of_edges else self.graphs[kind].info.num_edges
            _checks.rows(table, f"edge_attr of {kind}", edges, "edges")
        return dict(given)

    def numbers(self, kinds: Iterable[EdgeType]) -> dict[Any, Any]:
        """Which of the dataset's edges the entries of these relations' lists are, where they are not the same."""
        files = {kind: self.of_edges[kind].edge_ids for kind in kinds if kind in self.of_edges}
        return {kind: np.load(file) for kind, file in files.items() if file is not None}

    def seeds(self, given: Any, name: str = "seeds") -> tuple[Any, Any]:
        """The type, and positions (None: all), from ('paper', nodes or a mask), or 'paper' for all."""
        kind, which = (given, None) if isinstance(given, str) else given if isinstance(given, (tuple, list)) and len(given) == 2 else (None, None)
        if not isinstance(kind, str):
            raise UsageError(f"{name} is {_checks.told(given)}; there are several types of nodes, so give one of them, as ('paper', mask)")
        return self.type_of(kind, name), which

    def links(self, given: Any) -> tuple[Any, Any]:
        """The relation and the pairs of (relation, pairs). The relation may be one that the graphs have not."""
        kind: Any
        kind, which = given if isinstance(given, (tuple, list)) and len(given) == 2 else (None, None)
        if not _is_edge_type(kind):
            raise UsageError(f"edge_label_index is {_checks.told(given)}; there are several types of edges, so give one with its pairs, as (('user', 'rates', "
                             "'item'), pairs)")
        for end in (kind[0], kind[2]):
            self.type_of(end, "edge_label_index")
        return tuple(kind), which

    def make_sampler(self, fanouts: Any, device: Any, options: Mapping[str, Any]) -> Callable[[], BlockSampler]:
        """fanouts: a list, or by relation. Options: `times` and `scores` are by type, times of edges by relation."""
        hops = fanouts
        if isinstance(fanouts, Mapping):
            if set(fanouts) != set(self.graphs):
                raise UsageError(f"fanouts are of relations {list(fanouts)}; give each relation a list of as many hops; they are {list(self.graphs)}")
            hops = {t: _checks.fanouts(f, f"fanouts[{t!r}]") for t, f in fanouts.items()}
        else:
            hops = dict.fromkeys(self.graphs, _checks.fanouts(fanouts))
        options, of_nodes, of_edges = dict(options), {}, {}
        if "side" in options:
            raise UsageError("side: a relation is sampled along its in-edges; give the reversed edges as a relation of its own, as ('paper', 'rev_writes', "
                             "'author')")
        times, scores = options.pop("times", None), options.pop("scores", None)
        for kind, at in _by(times, "times", "times for each type of nodes, or for each relation").items():
            if kind in self.graphs:
                edges = self.graphs[kind].info.num_edges
                of_edges[kind] = _checks.times(at, f"times of {kind}", edges, "edges")
            else:
                of_nodes[kind] = _checks.times(at, f"times of {kind!r}", self.num_nodes[self.type_of(kind, "times")], "nodes")
        if of_nodes and of_edges:
            raise UsageError("times: of nodes and of edges; give one of the two")
        if scores is not None:
            known = {t: _checks.floats(s, f"scores of {t!r}", self.num_nodes[self.type_of(t, "scores")], "nodes")
                     for t, s in _by(scores, "scores", "an array for each type that has some").items()}
            options["scores"] = [known.get(t) for t in self.num_nodes]

        def made(some: Sequence[EdgeType]) -> BlockSampler:
            relations = [(self.graphs[t], hops[t], t[0], t[2], self.side, of_edges.get(t), False) for t in some]
            return sampler_of(self.num_nodes, relations, of_nodes or None, bool(of_edges), device=device, **options)

        def make() -> BlockSampler:
            try:
                return made(list(self.graphs))
            except Error:
                for kind in self.graphs:  # whose graph it is
                    try:
                        made([kind])
                    except Error as e:
                        raise type(e)(f"{kind}: {str(e).removeprefix(': ')}") from None
                raise

        return make


def relations_of(given: Any, x: Any, y: Any, num_nodes: Any) -> Relations:
    """What garner.open_hetero opens, or a dict of Graphs by (from, relation, to), whose nodes are counted by num_nodes, or by the rows of x and y."""
    if isinstance(given, HeteroGraph):
        if num_nodes is not None:
            raise UsageError("num_nodes: the dataset file says how many nodes each type has; leave it out")
        return Relations({t.name: t.count for t in given.node_types}, {e.key: given.adjacency(e.key) for e in given.edge_types}, "out",
                         {e.key: e for e in given.edge_types})
    if not given:
        raise UsageError("graph: the dict is empty; give at least one relation, as {('author', 'writes', 'paper'): graph}")
    for kind, graph in given.items():
        if not _is_edge_type(kind):
            raise UsageError(f"graph: {_checks.told(kind)} does not name a relation; name each by its types, as ('author', 'writes', 'paper')")
        if not isinstance(graph, Graph):
            raise KindError(f"graph: the relation {kind} is {_checks.told(graph)}; give a Graph, as garner.build and garner.open make it")
        if graph.info.id_map:
            raise UsageError(f"{kind}: ids of its nodes have gaps, or are in another order; build it with numbering='keep', and do not reorder it")
    known: dict[str, int] = {}
    for name, tables in (("y", y), ("x", x)):
        if tables is not None:
            known.update({t: table.shape[0] for t, table in _by(tables, name, "a table for each type that has one").items() if getattr(table, "shape", ())})
    said = {} if num_nodes is None else _by(num_nodes, "num_nodes", "a number for each type")
    known.update({t: _checks.number(n, f"num_nodes[{t!r}]") for t, n in said.items()})
    found = {}
    for kind, graph in given.items():
        for end in (kind[0], kind[2]):
            if end not in known:
                raise UsageError(f"num_nodes: nothing says how many nodes of type {end!r} there are; give x or y of them, or num_nodes={{{end!r}: ...}}")
            found[end] = known[end]
        larger = max(known[kind[0]], known[kind[2]])
        if len(graph) < larger:
            raise UsageError(f"{kind}: its graph has {len(graph)} nodes, and its types have {known[kind[0]]} and {known[kind[2]]}; build it with "
                             f"num_nodes={larger}, those of the larger type")
    return Relations(found, {tuple(kind): graph for kind, graph in given.items()})


def _is_edge_type(kind: Any) -> bool:
    return isinstance(kind, (tuple, list)) and len(kind) == 3 and all(isinstance(part, str) for part in kind)


def _by(given: Any, name: str, what: str) -> dict[Any, Any]:
    """A dict."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise KindError(f"{name} is {_checks.told(given)}, and there are several types; give a dict with {what}")
    return dict(given)
