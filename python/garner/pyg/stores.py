"""What (FeatureStore, GraphStore) of PyG is over Garner: tables of garner.tiered and graphs of garner beside plain tensors."""
from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch_geometric.data
from torch_geometric.data import EdgeAttr, TensorAttr
from torch_geometric.data.graph_store import EdgeLayout

from .. import tables
from .._garner import Graph
from ..batches import rows_of
from ..errors import IdError, UsageError


class FeatureStore(torch_geometric.data.FeatureStore):  # type: ignore[misc]
    """Features of vertices and edges: tensors, NumPy arrays, tables of garner.tiered, names of .npy files (which become such tables).

        store.put_tensor(garner.tiered(x, device_budget="8GiB"), group_name="paper", attr_name="x", index=None)

    group_name: a vertex type, an edge type (a triple) for features of edges, None in a graph of one type. There an attribute of as many rows
    as edges is of the edges, as PyG's Data has it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[tuple[Any, str], Any] = {}

    @staticmethod
    def _key(attr: Any) -> tuple[Any, str]:
        group = attr.group_name
        return (tuple(group) if isinstance(group, (list, tuple)) else group), attr.attr_name

    def _put_tensor(self, tensor: Any, attr: Any) -> bool:
        key = self._key(attr)
        if attr.index is not None:
            there = self._kept.get(key)
            if there is None:
                raise IdError(f"{key}: rows can be put into features that are there; put all of them first, with index=None")
            there[attr.index] = tensor  # a table of garner.tiered refuses
            return True
        if isinstance(tensor, (str, bytes, os.PathLike)):
            tensor = tables.tiered(tensor)
        if not isinstance(tensor, (torch.Tensor, np.ndarray, tables.Tiered)):
            raise UsageError(f"{key}: a {type(tensor).__name__} is no table of features; give a tensor, an array, a table of garner.tiered or "
                             "the name of an .npy file")
        self._kept[key] = tensor
        return True

    def _get_tensor(self, attr: Any) -> Any:
        there = self._kept.get(self._key(attr))
        if there is None:
            return None
        return there if attr.index is None else rows_of(there, attr.index)

    def _remove_tensor(self, attr: Any) -> bool:
        return self._kept.pop(self._key(attr), None) is not None

    def update_tensor(self, tensor: Any, *args: Any, **kwargs: Any) -> bool:
        """Puts rows, or all of them, in place of what is there."""
        return bool(self.put_tensor(tensor, *args, **kwargs))

    def _get_tensor_size(self, attr: Any) -> tuple[int, ...] | None:
        there = self._kept.get(self._key(attr))
        if there is None:
            return None
        return tuple(there.shape) if attr.index is None else tuple(rows_of(there, attr.index).shape)

    def get_all_tensor_attrs(self) -> list[Any]:
        """One TensorAttr each, made anew: whoever asks sets their index."""
        return [TensorAttr(group, name) for group, name in self._kept]

    def __len__(self) -> int:
        return len(self._kept)


class GraphStore(torch_geometric.data.GraphStore):  # type: ignore[misc]
    """Edges: tensors as PyG gives them (coo, csc, csr), or a garner.Graph as it is, sampled where it lies.

        store.put_graph(garner.open("papers.gnr"))
    """

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[tuple[Any, EdgeLayout], tuple[Any, Any]] = {}  # edges, their EdgeAttr

    @staticmethod
    def _key(attr: Any) -> tuple[Any, EdgeLayout]:
        return (None if attr.edge_type is None else tuple(attr.edge_type)), EdgeLayout(attr.layout)

    def put_graph(self, graph: Graph, edge_type: Sequence[str] | None = None, size: tuple[int, int] | None = None) -> bool:
        """A garner.Graph for the edges of a type: an edge u -> v leads from a source to a target; vertices are named by their positions in
        Graph.ids(). Without numbering gaps these are the ids. size: (sources, targets) of two types of different sizes."""
        if not isinstance(graph, Graph):
            raise TypeError(f"put_graph(): graph={graph!r} is no Graph; make one with garner.build, open, read or generate")
        vertices = len(graph)
        size = (vertices, vertices) if size is None else (int(size[0]), int(size[1]))
        if max(size) > vertices:
            raise UsageError(f"put_graph(): size {size} is more than the {vertices} vertices of the graph")
        attr = EdgeAttr(None if edge_type is None else tuple(edge_type), EdgeLayout.CSR, size=size)
        self._kept[self._key(attr)] = graph, attr
        return True

    def graph_of(self, edge_type: Any) -> Graph | None:
        """What put_graph() was given for it, or None."""
        found = self._kept.get((None if edge_type is None else tuple(edge_type), EdgeLayout.CSR), (None, None))[0]
        return found if isinstance(found, Graph) else None

    def _put_edge_index(self, edge_index: Any, edge_attr: Any) -> bool:
        self._kept[self._key(edge_attr)] = edge_index, copy.copy(edge_attr)
        return True

    def _get_edge_index(self, edge_attr: Any) -> Any:
        edges, attr = self._kept.get(self._key(edge_attr), (None, None))
        if isinstance(edges, Graph):
            offsets, targets, _ = edges.csr()
            begins = torch.tensor(offsets[:attr.size[0] + 1])
            return begins, torch.tensor(targets[:int(begins[-1])], dtype=torch.int64)
        return edges

    def _remove_edge_index(self, edge_attr: Any) -> bool:
        return self._kept.pop(self._key(edge_attr), None) is not None

    def __getstate__(self) -> dict[str, Any]:
        """Of graphs of garner that one is there: to another process they go with a sampler."""
        return {**self.__dict__, "_kept": {key: (None if isinstance(edges, Graph) else edges, attr) for key, (edges, attr) in self._kept.items()}}

    def get_all_edge_attrs(self) -> list[Any]:
        """One EdgeAttr each, made anew."""
        return [copy.copy(attr) for _, attr in self._kept.values()]
