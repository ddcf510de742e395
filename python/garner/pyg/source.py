"""What a sampler reads of PyG's data, whatever they are: the vertices of each type, and the lists, times and weights of each relation."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data, HeteroData  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.data.graph_store import EdgeLayout  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.index import ptr2index  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .. import graphs
from .._garner import Graph
from ..errors import IdError, InputError, UsageError
from ..split import RemoteGraph
from .stores import GraphStore, Held

EdgeType = tuple[str, str, str]


@dataclasses.dataclass
class Lists:
    """The lists of one relation: of each vertex that draws, those that it may draw."""

    graph: Any  # a Graph, or a RemoteGraph
    side: str  # of it
    sizes: tuple[int, int]  # vertices of the types of its sources and targets
    perm: torch.Tensor | None  # entry k of the lists -> edge, as the user has it; None: k
    times: torch.Tensor | None = None  # one an edge, as the user has it
    own: bool = True  # made here, and moved where it is sampled
    by_entry: bool = False  # times are one an entry of the lists

    def times_of_lists(self) -> Any:
        if self.times is None:
            return None
        return (self.times if self.perm is None or self.by_entry else self.times[self.perm]).numpy()

    def __getstate__(self) -> dict[str, Any]:
        """A graph goes to another process by its lists, of which that makes a graph of its own."""
        if isinstance(self.graph, RemoteGraph):
            raise UsageError("a graph that is split over ranks is sampled in its own process; leave num_workers= out")
        return {**self.__dict__, "graph": (self.graph.csr(), self.graph.info.directed)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        (offsets, targets, weights), directed = state.pop("graph")
        self.__dict__.update(state)
        draws = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        self.graph = _built(draws, targets, weights, offsets.size - 1, directed and self.side == "in")
        self.own = True
        if not directed:
            self.side = "out"  # both are the same


def _built(draws: Any, drawn: Any, weights: Any, vertices: int, in_lists: bool = False) -> Graph:
    """Edges that stand in the order of lists, as a graph whose out-lists they are: nothing dropped, nothing renumbered."""
    return graphs.build(draws, drawn, weights, vertices=max(1, vertices), undirected=False, keep_duplicates=True, keep_loops=True,
                        in_lists=in_lists)


def _order(draws: torch.Tensor, drawn: torch.Tensor, vertices: int) -> torch.Tensor | None:
    """The stable permutation that puts edges in the order of lists; None where they stand so."""
    if vertices < 1 << 31:
        key = draws * vertices + drawn
        return None if bool((key[1:] >= key[:-1]).all()) else torch.sort(key, stable=True)[1]
    perm = torch.sort(drawn, stable=True)[1]
    return perm[torch.sort(draws[perm], stable=True)[1]]


def _ints(values: Any, name: str) -> torch.Tensor:
    """Times, as the sampler compares them."""
    tensor = torch.as_tensor(values).detach().cpu()
    if tensor.dim() == 2 and tensor.size(1) == 1:
        tensor = tensor.view(-1)
    if tensor.dim() != 1 or tensor.numel() and (tensor.dtype.is_floating_point or tensor.dtype.is_complex or tensor.dtype == torch.bool):
        raise UsageError(f"{name}: times of shape {tuple(tensor.shape)} and {tensor.dtype}; give one whole number each, as int64")
    return tensor.to(torch.int64).contiguous()


def _weights(values: Any, name: str, edges: int) -> torch.Tensor:
    tensor = torch.as_tensor(values).detach().cpu()
    if tensor.dim() == 2 and tensor.size(1) == 1:
        tensor = tensor.view(-1)
    if tuple(tensor.shape) != (edges,):
        raise UsageError(f"{name}: weights of shape {tuple(tensor.shape)} for {edges} edges; give each edge one")
    kept = tensor.to(torch.float32)
    lost = ((kept == 0) & (tensor != 0)) | (kept.isinf() & tensor.isfinite())
    if lost.any():
        at = int(lost.nonzero()[0])
        raise InputError(f"{name}: the weight of edge {at} is {tensor[at]}; weights are 32-bit floats, which hold 0 and 1.4e-45 to 3.4e38: "
                         "multiply all weights by one number")
    return kept


def _who(edge_type: EdgeType | None) -> str:
    return "edge_index" if edge_type is None else f"edge_index of {edge_type}"


def lists_of(edge_index: tuple[torch.Tensor, torch.Tensor], sizes: tuple[int, int], edge_type: EdgeType | None, backward: bool,
             weights: Any = None, times: Any = None) -> Lists:
    """Of (row, col) the lists of who draws: col, backward row."""
    row, col = (end.detach().cpu().to(torch.int64) for end in edge_index)
    for end, size, name in ((row, sizes[0], "source"), (col, sizes[1], "target")):
        if end.numel() and (int(end.min()) < 0 or int(end.max()) >= size):
            at = int(((end < 0) | (end >= size)).nonzero()[0])
            raise IdError(f"{_who(edge_type)}: {name} {int(end[at])} of edge {at} does not exist; there are {size} vertices of its type")
    drawn, draws = (col, row) if backward else (row, col)
    vertices = max(1, *sizes)
    perm = _order(draws, drawn, vertices)
    if weights is not None:
        weights = _weights(weights, _who(edge_type), row.numel())
        weights = weights if perm is None else weights[perm]
    if times is not None and times.numel() != row.numel():
        raise UsageError(f"{_who(edge_type)}: {times.numel()} times for {row.numel()} edges; give each edge one")
    if perm is not None:
        draws, drawn = draws[perm], drawn[perm]
    return Lists(_built(draws, drawn, weights, vertices), "out", sizes, perm, times)


@dataclasses.dataclass
class Source:
    """All relations, in the order in which the sampler counts them."""

    node_types: list[Any]  # [None] in a graph of one type
    num_nodes: dict[Any, int]
    edge_types: list[Any]
    lists: dict[Any, Lists]
    node_time: dict[Any, torch.Tensor]
    edge_time: dict[Any, torch.Tensor]

    @property
    def hetero(self) -> bool:
        return self.node_types != [None]

    def draws(self, edge_type: Any, backward: bool) -> tuple[int, int]:
        """The types of who is drawn and of who draws, by their numbers."""
        source, target = _ends(edge_type)
        ends = self.node_types.index(source), self.node_types.index(target)
        return (ends[1], ends[0]) if backward else ends

    def scores_of(self, scores: Any) -> dict[Any, Any]:
        """Of nodes, by type; those without have none."""
        if self.hetero and not isinstance(scores, Mapping):
            raise UsageError(f"scores: a {type(scores).__name__} for nodes of several types; give a dict, an array a type")
        found = {}
        for t, given in (scores.items() if self.hetero else [(None, scores)]):
            if t not in self.num_nodes:
                raise UsageError(f"scores: there are no nodes of type '{t}'")
            if given is None:
                continue
            array = np.ascontiguousarray(given.detach().cpu().numpy() if isinstance(given, torch.Tensor) else given, np.float32)
            if array.shape != (self.num_nodes[t],):
                raise UsageError(f"scores: of shape {array.shape} for {self.num_nodes[t]} nodes{'' if t is None else f' of type {t!r}'}; give each one")
            found[t] = array
        return found


def read(data: Any, time_attr: str | None, weight_attr: str | None, backward: bool) -> Source:
    """Of Data, HeteroData or (FeatureStore, GraphStore)."""
    if isinstance(data, Data):
        return _of_data(data, time_attr, weight_attr, backward)
    if isinstance(data, HeteroData):
        return _of_hetero(data, time_attr, weight_attr, backward)
    return _of_stores(data[0], data[1], time_attr, weight_attr, backward)


def _shape_of(found: Any) -> str:
    shape = getattr(found, "shape", None)
    return "" if shape is None else f" of shape {tuple(shape)}"


def _edges_in(store: Any, edge_type: EdgeType | None) -> tuple[torch.Tensor, torch.Tensor]:
    """(row, col) of an edge_index, or of an adj_t of torch-sparse."""
    for name in ("edge_index", "adj_t", "adj"):
        found = store[name] if name in store else None
        if found is None:
            continue
        if name == "edge_index":
            found = found.as_tensor() if hasattr(found, "as_tensor") else found
            if not isinstance(found, torch.Tensor) or found.layout != torch.strided or found.dim() != 2 or found.size(0) != 2:
                raise UsageError(f"{_who(edge_type)}: a {type(found).__name__}{_shape_of(found)}; give a tensor of shape (2, edges), or a "
                                 "Graph of Garner to a GraphStore (put_graph)")
            return found[0], found[1]
        if not hasattr(found, "storage") or isinstance(found, torch.Tensor):
            raise UsageError(f"{name}{'' if edge_type is None else f' of {edge_type}'}: a {type(found).__name__} is not read; give an edge_index, or a "
                             "SparseTensor of torch-sparse")
        first, second, _ = found.coo()
        return (second, first) if name == "adj_t" else (first, second)
    return torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int64)


def _of_data(data: Any, time_attr: str | None, weight_attr: str | None, backward: bool) -> Source:
    node_time: dict[Any, torch.Tensor] = {}
    edge_time: dict[Any, torch.Tensor] = {}
    if time_attr is not None:
        if time_attr in data and data.is_node_attr(time_attr):
            node_time[None] = _ints(data[time_attr], time_attr)
        elif time_attr in data and data.is_edge_attr(time_attr):
            edge_time[None] = _ints(data[time_attr], time_attr)
        else:
            raise UsageError(f"time_attr '{time_attr}' is neither an attribute of the nodes nor of the edges")
    if weight_attr is not None and weight_attr not in data:
        raise UsageError(f"weight_attr '{weight_attr}': the data have no such attribute")
    nodes = data.num_nodes
    if nodes is None:
        raise UsageError("the data do not tell how many nodes there are; set data.num_nodes")
    lists = lists_of(_edges_in(data, None), (nodes, nodes), None, backward, None if weight_attr is None else data[weight_attr], edge_time.get(None))
    return Source([None], {None: nodes}, [None], {None: lists}, node_time, edge_time)


def _of_hetero(data: Any, time_attr: str | None, weight_attr: str | None, backward: bool) -> Source:
    node_types, edge_types = data.metadata()
    node_time: dict[Any, torch.Tensor] = {}
    edge_time: dict[Any, torch.Tensor] = {}
    if time_attr is not None:
        node_time = {t: _ints(data[t][time_attr], f"{t}.{time_attr}") for t in node_types if time_attr in data[t]}
        edge_time = {t: _ints(data[t][time_attr], f"{t}.{time_attr}") for t in edge_types if time_attr in data[t]}
        if bool(node_time) == bool(edge_time):
            raise UsageError(f"time_attr '{time_attr}' is an attribute of " + ("both nodes and edges; one of them has the times" if node_time else
                                                                             "neither the nodes nor the edges"))
    num_nodes = {}
    for t in node_types:
        if (nodes := data[t].num_nodes) is None:
            raise UsageError(f"the data do not tell how many nodes of type '{t}' there are; set data['{t}'].num_nodes")
        num_nodes[t] = nodes
    if weight_attr is not None and not any(weight_attr in data[t] for t in edge_types):
        raise UsageError(f"weight_attr '{weight_attr}': no type of edges has such an attribute")
    lists = {}
    for t in edge_types:
        ends = _edges_in(data[t], t)
        lists[t] = lists_of(ends, (num_nodes[t[0]], num_nodes[t[-1]]), t, backward,
                            _of_type(weight_attr, ends[0].numel(), lambda name: data[t][name] if name in data[t] else None), edge_time.get(t))
    return Source(node_types, num_nodes, edge_types, lists, node_time, edge_time)


def _of_type(weight_attr: str | None, edges: int, find: Callable[[str], Any]) -> Any:
    """Weights of a type of edges; where it has none and others have, all are alike."""
    if weight_attr is None:
        return None
    found = find(weight_attr)
    return torch.ones(edges) if found is None else found


def _ends(edge_type: Any) -> tuple[Any, Any]:
    """The types of its sources and targets."""
    return (None, None) if edge_type is None else (edge_type[0], edge_type[-1])


def _group(group: Any) -> Any:
    return tuple(group) if isinstance(group, (list, tuple)) else group


def _of_stores(features: Any, store: Any, time_attr: str | None, weight_attr: str | None, backward: bool) -> Source:
    attrs = store.get_all_edge_attrs()
    if not attrs:
        raise InputError("the graph store holds no edges")
    edge_types = list(dict.fromkeys(_group(a.edge_type) for a in attrs))
    hetero = edge_types != [None]
    if hetero and None in edge_types:
        raise UsageError("the graph store holds edges of types and edges without; give all of them a type")
    tensors = features.get_all_tensor_attrs()
    # Sizes: as the edges say, then as the features do.
    node_types: list[Any] = [None]
    if hetero:
        node_types = list(dict.fromkeys([a.group_name for a in tensors if isinstance(a.group_name, str)] +
                                        [end for t in edge_types for end in (t[0], t[-1])]))
    num_nodes: dict[Any, int] = {t: 0 for t in node_types}
    for a in attrs:
        if a.size is not None:
            for end, size in zip(_ends(_group(a.edge_type)), a.size):
                if size is not None:
                    num_nodes[end] = max(num_nodes[end], int(size))
    coo = {}
    for t in edge_types:
        coo[t] = _coo(store, [a for a in attrs if _group(a.edge_type) == t])
    for t in node_types:
        if num_nodes[t] == 0:
            sizes = [features.get_tensor_size(a) for a in tensors if hetero and a.group_name == t]
            named = [int(end.max()) + 1 for e in edge_types if coo[e] is not None for end, kind in zip(coo[e], _ends(e)) if kind == t and end.numel()]
            num_nodes[t] = max([0, *(s[0] for s in sizes if s), *named])
    held = {t: store.held(t) for t in edge_types if coo[t] is None}
    edges = {t: (edges_of(held[t].graph) if coo[t] is None else coo[t][0].numel()) for t in edge_types}

    def find(name: str, edge_type: Any) -> Any:
        """All rows of an attribute of these edges, or None."""
        for a in tensors:
            if a.attr_name == name and edge_attr_of(features, a, hetero, num_nodes.get(None, 0), edges.get(None, 0)) == (True, edge_type):
                a.index = None
                return features.get_tensor(a)
        return None

    node_time: dict[Any, torch.Tensor] = {}
    edge_time: dict[Any, torch.Tensor] = {}
    if time_attr is not None:
        for a in tensors:
            if a.attr_name == time_attr:
                of_edges, group = edge_attr_of(features, a, hetero, num_nodes.get(None, 0), edges.get(None, 0))
                a.index = None
                (edge_time if of_edges else node_time)[group] = _ints(features.get_tensor(a), time_attr)
        edge_time.update({t: _ints(h.times, time_attr) for t, h in held.items() if h.times is not None and time_attr == "time"})
        if bool(node_time) == bool(edge_time):
            raise UsageError(f"time_attr '{time_attr}': the feature store holds " + ("times of both nodes and edges" if node_time else "no such attribute"))
        tensors = features.get_all_tensor_attrs()
    weighted = {}
    if weight_attr is not None:
        for t in edge_types:
            found = find(weight_attr, t)
            if coo[t] is None:
                if found is not None or getattr(held[t].graph, "info", None) and held[t].graph.info.weights == "none":
                    raise UsageError(f"weight_attr '{weight_attr}': a garner.Graph is sampled by its own weights; build it with weights")
            weighted[t] = found
        if all(w is None and coo[t] is not None for t, w in weighted.items()):
            raise NotImplementedError(f"weight_attr '{weight_attr}': the feature store holds no such attribute of edges")
    lists = {}
    for t in edge_types:
        source, target = _ends(t)
        sizes_of_type = (num_nodes[source], num_nodes[target])
        if coo[t] is None:
            lists[t] = _of_graph(held[t], sizes_of_type, backward, any(
                edge_attr_of(features, a, hetero, num_nodes.get(None, 0), edges.get(None, 0)) == (True, t) for a in tensors), edge_time.get(t))
        else:
            lists[t] = lists_of(coo[t], sizes_of_type, t, backward, _of_type(weight_attr, edges[t], lambda _: weighted[t]), edge_time.get(t))
    return Source(node_types, num_nodes, edge_types, lists, node_time, edge_time)


def _coo(store: Any, attrs: list[Any]) -> Any:
    """(row, col) of a type of edges, in the order in which they were given; None: a garner.Graph."""
    by_layout = {EdgeLayout(a.layout): a for a in attrs}
    for layout in (EdgeLayout.COO, EdgeLayout.CSC, EdgeLayout.CSR):
        if layout in by_layout:
            if layout != EdgeLayout.COO and isinstance(store, GraphStore) and store.held(_group(by_layout[layout].edge_type)) is not None:
                return None
            row, col = store.get_edge_index(by_layout[layout])
            row, col = torch.as_tensor(row).cpu(), torch.as_tensor(col).cpu()
            return (ptr2index(row) if layout == EdgeLayout.CSR else row), (ptr2index(col) if layout == EdgeLayout.CSC else col)
    raise AssertionError(attrs)


def edges_of(graph: Any) -> int:
    return int(graph.edges if isinstance(graph, RemoteGraph) else graph.info.edges)


def _of_graph(held: Held, sizes: tuple[int, int], backward: bool, features: bool, times: torch.Tensor | None) -> Lists:
    """A garner.Graph as it is. Its edges are named by their places in the lists drawn from, unless features or times are of its edges: these
    stand in the order of Graph.csr(), which costs a permutation; lists of what is pulled say themselves which edges theirs are."""
    graph, perm = held.graph, None
    if isinstance(graph, RemoteGraph):
        if backward or features or times is not None:
            raise UsageError("a graph that is split over ranks is sampled forward, and has no features or times of edges here; open the whole graph")
        return Lists(graph, "in", sizes, None, own=False)
    if held.pulled:
        if backward:
            raise NotImplementedError("sample_direction='backward': put_lists() holds what is sampled forward; put_graph() takes a graph for both")
        if held.edge_ids is not None:
            perm = torch.tensor(np.asarray(held.edge_ids), dtype=torch.int64)
        return Lists(graph, "out", sizes, perm, times, own=False, by_entry=held.times is not None)
    if not backward and (features or times is not None):
        offsets, targets, _ = graph.csr()
        perm = _order(torch.tensor(targets, dtype=torch.int64), ptr2index(torch.tensor(offsets)), len(graph))
    return Lists(graph, "out" if backward else "in", sizes, perm, times, own=False)


def edge_attr_of(features: Any, attr: Any, hetero: bool, nodes: int, edges: int) -> tuple[bool, Any]:
    """Whether an attribute of a feature store is of edges, and of which type. In a graph of one type its rows tell, as in PyG's Data."""
    group = _group(attr.group_name)
    if hetero:
        return isinstance(group, tuple), group
    if isinstance(group, tuple):
        return True, None
    size = features.get_tensor_size(attr)
    rows = size[0] if size else None
    if rows is not None and rows not in (nodes, edges):
        raise InputError(f"feature '{attr.attr_name}' has {rows} rows; there are {nodes} nodes and {edges} edges")
    return (rows == edges and (nodes != edges or "edge" in attr.attr_name)), None
