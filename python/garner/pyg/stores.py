"""What (FeatureStore, GraphStore) of PyG is over Garner: tables of garner.tiered and graphs of garner, next to plain tensors."""
from __future__ import annotations

import copy
import dataclasses
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch_geometric.data  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.data import EdgeAttr, TensorAttr  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.data.graph_store import EdgeLayout  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .. import _checks, making
from .._garner import Graph, HeteroGraph
from ..pipeline import rows_of
from ..errors import IdError, UsageError
from ..remote import RemoteRows
from ..split import RemoteGraph
from ..tables import Tiered


class FeatureStore(torch_geometric.data.FeatureStore):  # type: ignore[misc]
    """Features of nodes and edges: tensors, NumPy arrays, tables of garner.tiered, names of .npy files (which become such tables).

        store.put_tensor(garner.tiered(x, feature_cache="8GiB"), group_name="paper", attr_name="x", index=None)

    group_name: a node type, an edge type (a triple) for features of edges, None in a graph of one type. There an attribute of as many rows
    as edges is of the edges, as PyG's Data has it. index: of put_tensor(), which rows these are, also of an attribute that is not there yet.
    get_tensor() of an attribute that is not there is a KeyError, as in PyG's.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[tuple[Any, str], Any] = {}

    def _put_tensor(self, tensor: Any, attr: Any) -> bool:
        key = key_of(attr)
        if attr.index is not None and not _is_all(attr.index):
            self._put_rows(key, tensor, attr.index)
            return True
        if isinstance(tensor, (str, bytes, os.PathLike)):
            tensor = making.tiered(tensor)
        if not isinstance(tensor, (torch.Tensor, np.ndarray, Tiered, RemoteRows)):
            raise UsageError(f"{key}: a {type(tensor).__name__} is not a table of features; give a tensor, an array, a table of garner.tiered or "
                             "the name of an .npy file")
        if isinstance(tensor, RemoteRows) and isinstance(key[0], tuple):
            raise UsageError(f"{key}: rows of other ranks are those of nodes; give features of edges as a tensor or a table")
        self._kept[key] = tensor
        return True

    def _put_rows(self, key: tuple[Any, str], rows: Any, index: Any) -> None:
        """Into what is there, or behind its end: features may be put piece by piece."""
        there = self._kept.get(key)
        have = 0 if there is None else len(there)
        if isinstance(index, slice):
            ids = torch.arange(*index.indices(max(have, (index.start or 0) + len(rows))))
        else:
            ids = torch.as_tensor(index, device="cpu")
            ids = ids.nonzero().flatten() if ids.dtype == torch.bool else ids.to(torch.int64)
        least = int(ids.max()) + 1 if ids.numel() else 0
        if isinstance(there, Tiered):
            return there.put(ids, rows)
        if there is not None and (least <= have or isinstance(there, RemoteRows)):
            there[index] = torch.as_tensor(rows) if isinstance(there, torch.Tensor) else rows  # rows of other ranks refuse
            return
        rows = torch.as_tensor(rows).reshape(*([1] * (1 - ids.dim())), *rows.shape)
        first = rows[:0] if there is None else torch.as_tensor(there)
        if ids.dim() > 1 or len(rows) != ids.numel() or rows.shape[1:] != first.shape[1:]:
            raise UsageError(f"{key}: rows of shape {tuple(rows.shape)} for ids of shape {tuple(ids.shape)}" + (
                "" if there is None else f", and those that are there have shape {tuple(first.shape)}") + "; give each id a row")
        if ids.numel() and int(ids.min()) < 0 or np.unique(ids[ids >= have]).size != least - have:
            raise IdError(f"{key}: ids up to {least - 1} behind {have} rows that are there, and some between have no rows; leave no gaps")
        grown = first.new_empty(least, *rows.shape[1:])
        grown[:have], grown[ids] = first, rows.to(first)
        self._kept[key] = grown

    def _get_tensor(self, attr: Any) -> Any:
        there = self._kept.get(key_of(attr))
        if there is None:
            raise KeyError(f"the feature store holds no attribute {attr.attr_name!r} of {attr.group_name!r}")
        return there if attr.index is None else rows_of(there, attr.index)

    def _remove_tensor(self, attr: Any) -> bool:
        return self._kept.pop(key_of(attr), None) is not None

    def update_tensor(self, tensor: Any, *args: Any, **kwargs: Any) -> bool:
        """Puts rows, or all of them, in place of what is there."""
        return bool(self.put_tensor(tensor, *args, **kwargs))

    def _get_tensor_size(self, attr: Any) -> tuple[int, ...] | None:
        there = self._kept.get(key_of(attr))
        if there is None:
            return None
        return tuple(there.shape) if attr.index is None else tuple(rows_of(there, attr.index).shape)

    def remote(self) -> dict[tuple[Any, str], RemoteRows]:
        """Those whose rows other ranks have: loaders bring them by windows of mini-batches."""
        return {key: table for key, table in self._kept.items() if isinstance(table, RemoteRows)}

    def get_all_tensor_attrs(self) -> list[Any]:
        """One TensorAttr each, made anew: whoever asks sets their index."""
        return [TensorAttr(group, name) for group, name in self._kept]

    def __len__(self) -> int:
        return len(self._kept)


def key_of(attr: Any) -> tuple[Any, str]:
    """By which a FeatureStore keeps an attribute."""
    group = attr.group_name
    return (tuple(group) if isinstance(group, (list, tuple)) else group), attr.attr_name


def kept(features: FeatureStore) -> dict[tuple[Any, str], Any]:
    """All that it holds."""
    return features._kept


def _is_all(index: Any) -> bool:
    return isinstance(index, slice) and index == slice(None)


@dataclasses.dataclass
class Held:
    """A garner.Graph, or a RemoteGraph, for the edges of a type."""

    graph: Any
    pulled: bool = False  # its lists hold what a vertex pulls; else what it leads to
    edge_ids: Any = None  # pulled: which edge each entry of the lists is; None: entry k is edge k
    times: Any = None  # pulled: one an entry of the lists


class GraphStore(torch_geometric.data.GraphStore):  # type: ignore[misc]
    """Edges: tensors as PyG gives them (coo, csc, csr), or a garner.Graph as it is, sampled where it lies, or one that is split over ranks.

        store.put_graph(garner.open("papers.gnr"))
    """

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[tuple[Any, EdgeLayout], tuple[Any, Any]] = {}  # edges, their EdgeAttr

    @staticmethod
    def _key(attr: Any) -> tuple[Any, EdgeLayout]:
        return (None if attr.edge_type is None else tuple(attr.edge_type)), EdgeLayout(attr.layout)

    def put_graph(self, graph: Graph | RemoteGraph, edge_type: Sequence[str] | None = None, size: tuple[int, int] | None = None) -> bool:
        """A garner.Graph for the edges of a type: an edge u -> v leads from a source to a target; nodes are named by their positions in
        Graph.ids(). Without numbering gaps these are the ids. size: (sources, targets) of two types of different sizes. A garner.torch.remote_graph
        is that of a graph of one type."""
        if isinstance(graph, Graph) and graph.info.reversed:  # a dataset's own lists
            return self.put_adjacency(graph, edge_type, size)
        return self._hold("put_graph", Held(graph), EdgeLayout.CSR, edge_type, size)

    def put_adjacency(self, graph: Graph, edge_type: Sequence[str] | None = None, size: tuple[int, int] | None = None, edge_ids: Any = None,
                  times: Any = None) -> bool:
        """The same of a graph whose list of node v holds the sources of the edges to v, as those of garner.HeteroGraph.lists do.
        edge_ids: shape (entries,): which edge each entry of the lists is; None: entry k is edge k. times: one per entry, sampled by where
        time_attr='time' is set."""
        return self._hold("put_adjacency", Held(graph, True, edge_ids, times), EdgeLayout.CSC, edge_type, size)

    def _hold(self, call: str, held: Held, layout: EdgeLayout, edge_type: Sequence[str] | None, size: tuple[int, int] | None) -> bool:
        graph = held.graph
        if isinstance(graph, RemoteGraph) and (edge_type is not None or held.pulled):
            raise UsageError(f"{call}(): a graph that is split over ranks is one of one type, for put_graph() without edge_type=")
        if not isinstance(graph, (Graph, RemoteGraph)):
            raise TypeError(f"{call}(): graph={_checks.told(graph)} is not a Graph; make one with garner.build, open, read or generate")
        vertices = len(graph)
        size = (vertices, vertices) if size is None else (_checks.number(size[0], "size[0]"), _checks.number(size[1], "size[1]"))
        if max(size) > vertices:
            raise UsageError(f"{call}(): size {size} is more than the {vertices} vertices of the graph")
        for name, array in (("edge_ids", held.edge_ids), ("times", held.times)):
            if array is not None and _checks.whole(array, name).size != held.graph.info.num_edges:
                raise UsageError(f"{call}(): {len(array)} {name} for {held.graph.info.num_edges} entries of the lists; give each one")
        attr = EdgeAttr(None if edge_type is None else tuple(edge_type), layout, size=size)
        self._kept[self._key(attr)] = held, attr
        return True

    def held(self, edge_type: Any) -> Held | None:
        """What put_graph() or put_adjacency() was given for it, or None."""
        for layout in (EdgeLayout.CSR, EdgeLayout.CSC):
            found = self._kept.get((None if edge_type is None else tuple(edge_type), layout), (None, None))[0]
            if isinstance(found, Held):
                return found
        return None

    def _put_edge_index(self, edge_index: Any, edge_attr: Any) -> bool:
        self._kept[self._key(edge_attr)] = edge_index, copy.copy(edge_attr)
        return True

    def _get_edge_index(self, edge_attr: Any) -> Any:
        edges, attr = self._kept.get(self._key(edge_attr), (None, None))
        if isinstance(edges, Held):
            if isinstance(edges.graph, RemoteGraph):
                raise UsageError("the edges of a graph that is split over ranks are in no one place; loaders of garner.pyg sample them")
            offsets, targets, _ = edges.graph.csr()
            begins = torch.tensor(offsets[:attr.size[1 if edges.pulled else 0] + 1])
            others = torch.tensor(targets[:int(begins[-1])], dtype=torch.int64)
            return (others, begins) if edges.pulled else (begins, others)
        return edges

    def _remove_edge_index(self, edge_attr: Any) -> bool:
        return self._kept.pop(self._key(edge_attr), None) is not None

    def __getstate__(self) -> dict[str, Any]:
        """Keeps of a graph of garner only that it exists: to another process it goes with a sampler."""
        return {**self.__dict__, "_kept": {key: (None if isinstance(edges, Held) else edges, attr) for key, (edges, attr) in self._kept.items()}}

    def get_all_edge_attrs(self) -> list[Any]:
        """One EdgeAttr each, made anew."""
        return [copy.copy(attr) for _, attr in self._kept.values()]


def stores_of(graph: HeteroGraph, **tiered: Any) -> tuple[FeatureStore, GraphStore]:
    """What PyG's loaders take of garner.open_hetero's graph: its lists where they lie, its arrays under PyG's names: 'x', 'y', 'time' of nodes,
    'edge_attr' and 'time' of edges.

        data = garner.pyg.stores_of(garner.open_hetero("mag.json"), feature_cache="8GiB")

    tiered: as of garner.tiered, for the features: feature_cache, device ...
    """
    if not isinstance(graph, HeteroGraph):
        raise TypeError(f"stores_of(): graph={_checks.told(graph)} is not a HeteroGraph; garner.open_hetero makes one")
    features, edges = FeatureStore(), GraphStore()
    counts = {t.name: t.count for t in graph.node_types}
    for t in graph.node_types:
        if t.features is not None:
            features.put_tensor(making.tiered(t.features, **tiered), group_name=t.name, attr_name="x", index=None)
        for name, file in (("y", t.labels), ("time", t.times)):
            if file is not None:
                features.put_tensor(np.load(file, mmap_mode="r"), group_name=t.name, attr_name=name, index=None)
    for e in graph.edge_types:
        load = [None if file is None else np.load(file, mmap_mode="r") for file in (e.edge_ids, e.times)]
        edges.put_adjacency(graph.adjacency(e.key), e.key, (counts[e.key[0]], counts[e.key[2]]), *load)
        if e.features is not None:
            features.put_tensor(making.tiered(e.features, **tiered), group_name=e.key, attr_name="edge_attr", index=None)
    return features, edges
