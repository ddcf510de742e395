"""What a sampler reads of PyG's data, whatever they are: the nodes of each type, and the lists, times and weights of each relation."""
from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data, HeteroData  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.data.graph_store import EdgeLayout  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.index import ptr2index  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .. import _checks, _garner, graphs, pieces
from .._garner import Graph
from ..errors import InputError, KindError, UsageError
from ..split import RemoteGraph
from .stores import GraphStore, Held

EdgeType = tuple[str, str, str]
step = 1 << 24  # edges looked up at once


@dataclasses.dataclass
class Lists:
    """The lists of one relation: of each node that draws, those that it may draw."""

    graph: Any  # a Graph, or a RemoteGraph
    side: str  # of it
    sizes: tuple[int, int]  # vertices of the types of its sources and targets
    perm: torch.Tensor | None = None  # entry k of the lists -> edge, as the user has it; None: k. int32 has the bits of uint32
    ends: tuple[Any, Any, bool] | None = None  # (row, col, backward) of edges whose perm has not been needed yet;
    # as they were given, since a tensor follows its memory where that becomes shared
    times: torch.Tensor | None = None  # one an edge, as the user has it
    by_entry: bool = False  # times are one an entry of the lists
    order: torch.Tensor | None = None  # lists are in the order of these, times of their edges or of the nodes in them
    narrow: bool = False  # ends of edges were given as int32, and so are those of mini-batches
    device: Any = "cpu"  # that sorts edges

    def permutation(self) -> torch.Tensor | None:
        """perm, which is made at the first call."""
        if self.ends is not None:
            row, col, backward = self.ends
            *_, ids = _garner._adjacency(_ids(row, "edge_index"), _ids(col, "edge_index"), *self.sizes, None, backward, True, "edge_index",
                                              device=self.device)
            self.perm = None if ids is None else torch.from_numpy(ids)
            self.ends = None
        return self.perm

    def edges_of(self, entries: torch.Tensor) -> torch.Tensor:
        """The user's edges for entries of the lists: int64, where the entries lie."""
        perm = self.permutation()
        if perm is None:
            return entries.to(torch.int64)
        edges = perm[entries.to(perm.device, torch.int64)].to(entries.device, torch.int64)
        return edges if perm.dtype == torch.int64 else edges & 0xffffffff

    def times_of_lists(self) -> Any:
        if self.times is None:
            return None
        if self.by_entry or self.permutation() is None:
            return self.times.numpy()
        found = torch.empty_like(self.times)
        for first in range(0, found.numel(), step):  # a part at a time: edges of all would take as much again
            part = torch.arange(first, min(first + step, found.numel()))
            found[first:first + step] = self.times[self.edges_of(part)]
        return found.numpy()

    def __getstate__(self) -> dict[str, Any]:
        """A graph goes to another process by its lists, of which that makes a graph of its own."""
        if isinstance(self.graph, RemoteGraph):
            raise UsageError("a graph that is split over ranks is sampled in its own process; leave num_workers= out")
        self.permutation()  # smaller than the edges that it is made of
        order = self.order if self.order is None or self.times is None else torch.from_numpy(self.times_of_lists())
        return {**self.__dict__, "device": "cpu", "graph": (self.graph.csr(), self.graph.info.directed), "order": order}

    def __setstate__(self, state: dict[str, Any]) -> None:
        (offsets, targets, weights), directed = state.pop("graph")
        self.__dict__.update(state)
        draws = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        if self.order is not None:
            nodes, order = max(1, offsets.size - 1), self.order.numpy()
            if self.times is None:  # one a node of the type that lists hold, of which the other may have more
                order = np.pad(order, (0, nodes - order.size))
            self.graph, *_ = _garner._adjacency(targets, draws, nodes, nodes, None, False, True, "edges", order, self.times is not None)
            return
        self.graph = graphs.build(draws, targets, weights, num_nodes=max(1, offsets.size - 1), undirected=False, keep_duplicates=True, keep_loops=True,
                                  in_edges=directed and self.side == "in")
        if not directed:
            self.side = "out"  # both are the same


def times_of(values: Any, name: str, count: int | None = None, of: str = "") -> torch.Tensor:
    """Times, as the sampler compares them."""
    found: torch.Tensor = _checks.tensor(_checks.times(values, name, count, of), name)
    return found


def _who(edge_type: EdgeType | None) -> str:
    return "edge_index" if edge_type is None else f"edge_index of {edge_type}"


def _ids(end: Any, name: str) -> Any:
    """Ends of edges in an array of NumPy, as they lie where they are int64 or int32."""
    found = _checks.whole(end, name)
    return found if found.dtype in (np.int64, np.int32) else _checks.int64(found, name)


def lists_of(edge_index: tuple[Any, Any], sizes: tuple[int, int], edge_type: EdgeType | None, backward: bool, weights: Any = None,
             times: Any = None, edge_ids: bool = False, node_times: Any = None, device: Any = "cpu") -> Lists:
    """The lists of (row, col), by the nodes that sample: col, backward row. edge_ids: the edges of the entries are needed in any case. times,
    node_times: of the edges, or of the nodes that are sampled, by which each list is in order. device: that sorts them."""
    name, order = _who(edge_type), node_times if times is None else times
    if not backward and (found := pieces.adjacency_of(*edge_index, sizes, weights, order)) is not None:  # garner.shared has made it
        return Lists(found[0], "out", sizes, found[1], times=times, order=order, narrow=edge_index[0].dtype == torch.int32)
    row, col = (_ids(end, name) for end in edge_index)
    if weights is not None:
        weights = _checks.weights(weights, name, row.size)
    if times is not None and times.numel() != row.size:
        raise UsageError(f"{name}: {times.numel()} times for {row.size} edges; give each edge one")
    edge_ids = edge_ids or order is not None
    graph, in_order, ids = _garner._adjacency(row, col, *sizes, weights, backward, edge_ids, name, None if order is None else order.numpy(), times is not None,
                                               device)
    return Lists(graph, "out", sizes, None if ids is None else torch.from_numpy(ids), None if in_order or edge_ids else (*edge_index, backward), times,
                 order=order, narrow=row.dtype == np.int32, device=device)


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

    def draws(self, edge_type: Any, backward: bool) -> tuple[Any, Any]:
        """The types of the nodes that are sampled, and of those whose neighbors they are."""
        source, target = ends_of(edge_type)
        return (target, source) if backward else (source, target)

    def scores_of(self, scores: Any) -> dict[Any, Any]:
        """Scores of nodes, by type; types without scores are absent."""
        if self.hetero and not isinstance(scores, Mapping):
            raise UsageError(f"scores: a {type(scores).__name__} for nodes of several types; give a dict, an array a type")
        found = {}
        for t, given in (scores.items() if self.hetero else [(None, scores)]):
            if t not in self.num_nodes:
                raise UsageError(f"scores: the data have no nodes of type '{t}'; the types are {list(self.num_nodes)}")
            if given is None:
                continue
            found[t] = _checks.scores(given, self.num_nodes[t], "nodes" if t is None else f"nodes of type {t!r}")
        return found


def read(data: Any, time_attr: str | None, weight_attr: Any, backward: bool, graph: Any = None, edge_ids: bool = False,
         device: Any = "cpu") -> Source:
    """The source of Data, HeteroData or (FeatureStore, GraphStore). weight_attr: a name, or a name by type of edges. graph: of Data, in place of its
    edge_index. edge_ids: of data, as of lists_of. device: that sorts edges."""
    if not (time_attr is None or isinstance(time_attr, str)):
        raise UsageError(f"time_attr is {_checks.told(time_attr)}; give the name of an attribute")
    if graph is not None:
        if not isinstance(data, Data):
            raise UsageError("graph= takes the place of the edge_index of Data; of other data put it into a GraphStore (put_graph)")
        if not isinstance(graph, (Graph, RemoteGraph)):
            raise KindError(f"graph is {_checks.told(graph)}; give a Graph, as garner.open and garner.build make it")
    if isinstance(data, Data):
        return _of_data(data, time_attr, weight_attr, backward, graph, edge_ids, device)
    if isinstance(data, HeteroData):
        return _of_hetero(data, time_attr, weight_attr, backward, edge_ids, device)
    return _of_stores(data[0], data[1], time_attr, weight_attr, backward, device)


def names_of(weight_attr: Any, edge_types: list[Any]) -> dict[Any, str]:
    """The attribute that has the weights of each type of edges; types without weights are absent."""
    if isinstance(weight_attr, str):
        return dict.fromkeys(edge_types, weight_attr)
    if not isinstance(weight_attr, Mapping) or not all(isinstance(name, str) for name in weight_attr.values()):
        raise UsageError(f"weight_attr is {_checks.told(weight_attr)}; give the name of an attribute, or a dict with a name for each type of edges")
    found = {}
    for key, name in weight_attr.items():
        parts = tuple(key.split("__")) if isinstance(key, str) else tuple(key) if isinstance(key, (tuple, list)) else (key,)
        edge_type = (parts[0], "to", parts[1]) if len(parts) == 2 else parts
        if edge_type not in edge_types:
            raise UsageError(f"weight_attr: the data have no edges of type {_checks.told(key)}" + ("; of one type give a name" if edge_types == [None] else ""))
        found[edge_type] = name
    return found


def edges_in(store: Any, edge_type: EdgeType | None) -> tuple[torch.Tensor, torch.Tensor]:
    """(row, col) of an edge_index, or of an adj_t of torch-sparse."""
    for name in ("edge_index", "adj_t", "adj"):
        found = store[name] if name in store else None
        if found is None:
            continue
        if name == "edge_index":
            found = found.as_tensor() if hasattr(found, "as_tensor") else found
            if not isinstance(found, torch.Tensor) or found.layout != torch.strided or found.dim() != 2 or found.size(0) != 2:
                raise UsageError(f"{_who(edge_type)} is {_checks.told(found)}; give a tensor of shape (2, edges), or a Graph of Garner to a "
                                 "GraphStore (put_graph) or as graph=")
            return found[0], found[1]
        if not hasattr(found, "storage") or isinstance(found, torch.Tensor):
            raise UsageError(f"{name}{'' if edge_type is None else f' of {edge_type}'} is {_checks.told(found)}, which is not read; give an edge_index "
                             f"(of a sparse tensor torch_geometric.utils.to_edge_index({name}{'.t()' if name == 'adj_t' else ''})[0]), or a "
                             "SparseTensor of torch-sparse")
        first, second, _ = found.coo()
        return (second, first) if name == "adj_t" else (first, second)
    return torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int64)


def _of_data(data: Any, time_attr: str | None, weight_attr: Any, backward: bool, graph: Any, edge_ids: bool, device: Any) -> Source:
    ends = None if graph is not None else edges_in(data, None)
    nodes = data.num_nodes
    if nodes is None:
        raise UsageError("the data do not have their number of nodes; set data.num_nodes")
    if graph is not None and nodes != len(graph):
        raise UsageError(f"data.num_nodes is {nodes}, and the graph has {len(graph)}; give the graph of these data, or set data.num_nodes")

    def of_edges(name: str) -> bool:
        if graph is None:
            return bool(data.is_edge_attr(name))
        return getattr(data[name], "shape", ())[:1] == (edges_of(graph),) and not data.is_node_attr(name)

    node_time: dict[Any, torch.Tensor] = {}
    edge_time: dict[Any, torch.Tensor] = {}
    if time_attr is not None:
        if time_attr in data and data.is_node_attr(time_attr):
            node_time[None] = times_of(data[time_attr], time_attr)
        elif time_attr in data and of_edges(time_attr):
            edge_time[None] = times_of(data[time_attr], time_attr)
        else:
            raise UsageError(f"time_attr '{time_attr}' is neither an attribute of the nodes nor of the edges")
    name = None if weight_attr is None else names_of(weight_attr, [None])[None]
    if name is not None and name not in data:
        raise UsageError(f"weight_attr '{name}': the data have no such attribute")
    has_edge_rows = edge_ids or any(of_edges(attr) for attr in data.keys() if attr not in ("edge_index", "adj_t", "adj"))
    if ends is None:
        if name is not None:
            raise UsageError(f"weight_attr '{name}': a garner.Graph is sampled by its own weights; build it with weights, and put it into a GraphStore")
        lists = _of_graph(Held(graph, isinstance(graph, Graph) and graph.info.reversed), (nodes, nodes), backward, has_edge_rows, edge_time.get(None))
    else:
        lists = lists_of(ends, (nodes, nodes), None, backward, None if name is None else data[name], edge_time.get(None), has_edge_rows, node_time.get(None),
                         device)
    return Source([None], {None: nodes}, [None], {None: lists}, node_time, edge_time)


def _of_hetero(data: Any, time_attr: str | None, weight_attr: Any, backward: bool, edge_ids: bool, device: Any) -> Source:
    node_types, edge_types = data.metadata()
    node_time: dict[Any, torch.Tensor] = {}
    edge_time: dict[Any, torch.Tensor] = {}
    if time_attr is not None:
        node_time = {t: times_of(data[t][time_attr], f"{t}.{time_attr}", data[t].num_nodes, f"nodes of type '{t}'")
                     for t in node_types if time_attr in data[t]}
        edge_time = {t: times_of(data[t][time_attr], f"{t}.{time_attr}") for t in edge_types if time_attr in data[t]}
        if bool(node_time) == bool(edge_time):
            raise UsageError(f"time_attr '{time_attr}' is an attribute of " + ("both nodes and edges; one of them has the times" if node_time else
                                                                             "neither the nodes nor the edges"))
    num_nodes = {}
    for t in node_types:
        if (nodes := data[t].num_nodes) is None:
            raise UsageError(f"the data do not have the number of nodes of type '{t}'; set data['{t}'].num_nodes")
        num_nodes[t] = nodes
    weighted = None if weight_attr is None else {t: data[t][name] for t, name in names_of(weight_attr, edge_types).items() if name in data[t]}
    if weighted is not None and (not weighted or isinstance(weight_attr, Mapping) and len(weighted) < len(weight_attr)):
        raise UsageError(f"weight_attr '{weight_attr}': " + ("a" if weighted else "no") + " type of edges has " +
                         ("no " if weighted else "") + "such an attribute")
    lists = {}
    for t in edge_types:
        for end in ends_of(t):
            if end not in num_nodes:
                raise UsageError(f"{_who(t)}: the data leave out nodes of type '{end}'; set data['{end}'].num_nodes, or its features")
        ends = edges_in(data[t], t)
        has_edge_rows = edge_ids or any(data[t].is_edge_attr(attr) for attr in data[t].keys() if attr not in ("edge_index", "adj_t", "adj"))
        lists[t] = lists_of(ends, (num_nodes[t[0]], num_nodes[t[-1]]), t, backward, _of_type(weighted, t, ends[0].numel()), edge_time.get(t), has_edge_rows,
                            node_time.get(t[-1] if backward else t[0]), device)
    return Source(node_types, num_nodes, edge_types, lists, node_time, edge_time)


def _of_type(weighted: dict[Any, Any] | None, edge_type: Any, edges: int) -> Any:
    """Weights of a type of edges; where it has none and others have, all are 1."""
    if weighted is None:
        return None
    return weighted.get(edge_type, torch.ones(edges))


def ends_of(edge_type: Any) -> tuple[Any, Any]:
    """The types of its sources and targets."""
    return (None, None) if edge_type is None else (edge_type[0], edge_type[-1])


def _group(group: Any) -> Any:
    return tuple(group) if isinstance(group, (list, tuple)) else group


# What PyG takes for features of nodes and of edges by their names.
node_names = ("x", "feat", "pos", "batch", "node_type", "n_id")
edge_names = ("edge_weight", "edge_attr", "edge_type", "e_id")


def _of_stores(features: Any, store: Any, time_attr: str | None, weight_attr: Any, backward: bool, device: Any) -> Source:
    attrs = store.get_all_edge_attrs()
    if not attrs:
        raise InputError("the graph store holds no edges")
    edge_types = list(dict.fromkeys(_group(a.edge_type) for a in attrs))
    hetero = edge_types != [None]
    if hetero and None in edge_types:
        raise UsageError("the graph store holds edges of types and edges without; give all of them a type")
    tensors = features.get_all_tensor_attrs()
    coo = {t: _coo(store, [a for a in attrs if _group(a.edge_type) == t], t) for t in edge_types}
    held = {t: store.held(t) for t in edge_types if coo[t] is None}
    edges = {t: (edges_of(held[t].graph) if (ends := coo[t]) is None else ends[0].numel()) for t in edge_types}
    # Sizes: as they were given with the edges, else as the features and the ends of the edges show.
    node_types: list[Any] = [None]
    if hetero:
        node_types = list(dict.fromkeys([a.group_name for a in tensors if isinstance(a.group_name, str)] +
                                        [end for t in edge_types for end in (t[0], t[-1])]))
    num_nodes: dict[Any, int] = {t: 0 for t in node_types}
    for a in attrs:
        if a.size is not None:
            for end, size in zip(ends_of(_group(a.edge_type)), a.size):
                if size is not None:
                    num_nodes[end] = max(num_nodes[end], int(size))
    rows = [((_group(a.group_name) if hetero else None), a.attr_name, size[0]) for a in tensors
            if (hetero or not isinstance(a.group_name, (tuple, list))) and (size := features.get_tensor_size(a))]
    for t in node_types:
        if num_nodes[t] == 0:
            of_nodes = [n for group, name, n in rows if group == t and (hetero or name in node_names or "edge" not in name and n != edges[None])]
            named = [least for e, ends in coo.items() if ends is not None for least, kind in zip(ends[2], ends_of(e)) if kind == t]
            num_nodes[t] = max([0, *of_nodes, *named])
    for a in tensors:
        edge_attr_of(features, a, hetero, num_nodes if hetero else num_nodes[None], edges if hetero else edges[None])

    def find(name: str, edge_type: Any) -> Any:
        """All rows of an attribute of these edges, or None."""
        for a in tensors:
            if a.attr_name == name and edge_attr_of(features, a, hetero, num_nodes.get(None), edges.get(None)) == (True, edge_type):
                a.index = None
                return features.get_tensor(a)[:edges[edge_type]]
        return None

    node_time: dict[Any, torch.Tensor] = {}
    edge_time: dict[Any, torch.Tensor] = {}
    if time_attr is not None:
        for a in tensors:
            if a.attr_name == time_attr:
                of_edges, group = edge_attr_of(features, a, hetero, num_nodes.get(None), edges.get(None))
                a.index = None
                found = times_of(features.get_tensor(a), time_attr)
                (edge_time if of_edges else node_time)[group] = found[:(edges if of_edges else num_nodes).get(group)]
        edge_time.update({t: times_of(h.times, time_attr) for t, h in held.items() if h.times is not None and time_attr == "time"})
        if bool(node_time) == bool(edge_time):
            raise UsageError(f"time_attr '{time_attr}': the feature store holds " + ("times of both nodes and edges" if node_time else "no such attribute"))
        tensors = features.get_all_tensor_attrs()
    weighted = None
    if weight_attr is not None:
        names = names_of(weight_attr, edge_types)
        weighted = {t: found for t, name in names.items() if (found := find(name, t)) is not None}
        for t, h in held.items():
            if t in weighted or getattr(h.graph, "info", None) and h.graph.info.weights == "none":
                raise UsageError(f"weight_attr '{weight_attr}': a garner.Graph is sampled by its own weights; build it with weights")
        if not weighted and not held or isinstance(weight_attr, Mapping) and len(weighted) < len(names.keys() - held.keys()):
            raise NotImplementedError(f"weight_attr '{weight_attr}': the feature store holds no such attribute of edges")
    lists = {}
    for t in edge_types:
        source, target = ends_of(t)
        sizes_of_type = (num_nodes[source], num_nodes[target])
        has_edge_rows = any(edge_attr_of(features, a, hetero, num_nodes.get(None), edges.get(None)) == (True, t) for a in tensors)
        if coo[t] is None:
            lists[t] = _of_graph(held[t], sizes_of_type, backward, has_edge_rows, edge_time.get(t))
        else:
            lists[t] = lists_of(coo[t][:2], sizes_of_type, t, backward, _of_type(weighted, t, edges[t]), edge_time.get(t), has_edge_rows,
                                node_time.get(target if backward else source), device)
    return Source(node_types, num_nodes, edge_types, lists, node_time, edge_time)


def _coo(store: Any, attrs: list[Any], edge_type: Any) -> Any:
    """(row, col, how many sources and targets there are at the least) of a type of edges, in the order in which they were given; None: a
    garner.Graph."""
    by_layout = {EdgeLayout(a.layout): a for a in attrs}
    for layout in (EdgeLayout.COO, EdgeLayout.CSC, EdgeLayout.CSR):
        if layout in by_layout:
            if layout != EdgeLayout.COO and isinstance(store, GraphStore) and store.held(_group(by_layout[layout].edge_type)) is not None:
                return None
            found, name = store.get_edge_index(by_layout[layout]), _who(edge_type)
            if layout == EdgeLayout.COO:
                ends = [_checks.tensor(_ids(end, name), name) for end in _checks.pairs(found, name)]
                return *ends, tuple(int(end.max()) + 1 if end.numel() else 0 for end in ends)
            begins, others = (_checks.tensor(part, name) for part in (found if layout == EdgeLayout.CSR else reversed(found)))
            begins, others = _checks.tensor(_checks.int64(begins, name), name), _checks.tensor(_ids(others, name), name)
            if not begins.numel() or int(begins[0]) or int(begins[-1]) != others.numel() or bool((begins[1:] < begins[:-1]).any()):
                raise UsageError(f"{name}: {begins.numel()} pointers into {others.numel()} entries do not ascend from 0 to all of them; give a "
                                 f"{layout.value} as PyG has it")
            least = begins.numel() - 1, int(others.max()) + 1 if others.numel() else 0
            return (ptr2index(begins), others, least) if layout == EdgeLayout.CSR else (others, ptr2index(begins), least[::-1])
    raise AssertionError(attrs)


def edges_of(graph: Any) -> int:
    return int(graph.edges if isinstance(graph, RemoteGraph) else graph.info.num_edges)


def _of_graph(held: Held, sizes: tuple[int, int], backward: bool, features: bool, times: torch.Tensor | None) -> Lists:
    """A garner.Graph as it is. Its edges are named by their places in the lists taken from, unless features or times are of its edges: these
    stand in the order of Graph.csr(), which costs a permutation; in-edges hold their edge ids themselves."""
    graph, perm = held.graph, None
    if isinstance(graph, RemoteGraph):
        if backward or features or times is not None:
            raise UsageError("a graph that is split over ranks is sampled forward, and has no features or times of edges here; open the whole graph")
        return Lists(graph, "in", sizes)
    if held.pulled:
        if backward:
            raise NotImplementedError("sample_direction='backward': put_adjacency() holds what is sampled forward; put_graph() takes a graph for both")
        if held.edge_ids is not None:
            perm = torch.tensor(np.asarray(held.edge_ids), dtype=torch.int64)
        return Lists(graph, "out", sizes, perm, times=times, by_entry=held.times is not None)
    if not backward and (features or times is not None):
        offsets, targets, _ = graph.csr()
        *_, ids = _garner._adjacency(ptr2index(torch.tensor(offsets)).numpy(), targets, len(graph), len(graph), None, False, True, "edges of the graph")
        perm = None if ids is None else torch.from_numpy(ids)
    return Lists(graph, "out" if backward else "in", sizes, perm, times=times)


def edge_attr_of(features: Any, attr: Any, hetero: bool, nodes: Any, edges: Any) -> tuple[bool, Any]:
    """Whether an attribute of a feature store is of edges, and of which type. In a graph of one type its number of rows decides, as in PyG's Data. Rows
    beyond the last node or edge are allowed, as PyG has it. nodes, edges: how many there are, of several types by type; None: its rows have been looked at."""
    group = _group(attr.group_name)
    of_edges = isinstance(group, tuple)
    rows = (features.get_tensor_size(attr) or (None,))[0] if nodes is not None else None
    if hetero:
        count = None if rows is None else (edges if of_edges else nodes).get(group)
        if count is not None and rows is not None and rows < count:
            raise InputError(f"feature '{attr.attr_name}' of {group!r} has {rows} rows; there are {count} of that type; give each one a row, or use "
                             "size= where edges are put")
        return of_edges, group
    if of_edges:
        return True, None
    if rows is None:
        return False, None
    name = attr.attr_name
    by_edge = name in edge_names or rows == edges and name not in node_names and (nodes != edges or "edge" in name)
    if rows < (edges if by_edge else nodes):
        raise InputError(f"feature '{name}' has {rows} rows; there are {nodes} nodes and {edges} edges; give each one a row")
    return by_edge, None
