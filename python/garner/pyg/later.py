"""Attributes of a mini-batch: which of the data's have rows in it, the rows, and what is made when somebody reads it: e_id, which takes a look-up an
edge and few read.

In PyG's stores they stand like any other: they are among keys() and `in` finds them. to(), cpu() and what else applies a function to all attributes leave
them for later. Copies share what is not made yet; pickling makes it, and so does Data's keys(), which compares attributes with None.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data, HeteroData  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.data.storage import EdgeStorage, GlobalStorage, recursive_apply  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.loader.utils import index_select  # type: ignore[import-not-found, import-untyped, unused-ignore]

from ..pipeline import Field
from .stores import FeatureStore, kept


class Later:
    """A value that is made once."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make: Callable[[], Any] | None = make
        self._made: Any = None

    def now(self) -> Any:
        if self._make is not None:
            self._made, self._make = self._make(), None
        return self._made


def now(value: Any) -> Any:
    return value.now() if isinstance(value, Later) else value


class _Mapping(dict[str, Any]):
    """What a store keeps its attributes in."""

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        if isinstance(value, Later):
            self[key] = value = value.now()
        return value

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else default

    def pop(self, key: str, *default: Any) -> Any:
        return now(super().pop(key, *default))

    def values(self) -> Any:
        return [self[key] for key in self]

    def items(self) -> Any:
        return [(key, self[key]) for key in self]

    def raw(self, key: str) -> Any:
        return super().__getitem__(key)

    def __copy__(self) -> _Mapping:
        copied = _Mapping()
        for key in self:
            copied[key] = self.raw(key)
        return copied

    copy = __copy__

    def setdefault(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self else super().setdefault(key, default)

    def __reduce__(self) -> Any:
        return dict, (dict(self.items()),)


def _apply(store: Any, function: Callable[[Any], Any], *keys: str) -> Any:
    """In place of BaseStorage.apply(), which reads all attributes."""
    kept = store._mapping
    for key in [key for key in keys or kept if key in kept]:
        value = kept.raw(key) if isinstance(kept, _Mapping) else kept[key]
        if isinstance(value, Later):
            kept[key] = Later(lambda value=value: recursive_apply(value.now(), function))  # type: ignore[misc]
        else:
            store[key] = recursive_apply(value, function)
    return store


def _to_dict(store: Any) -> dict[str, Any]:
    """In place of BaseStorage.to_dict(), whose copy the caller takes for a plain dict."""
    found = dict(store._mapping.items())
    if "_num_nodes" in store.__dict__:
        found["_num_nodes"] = store.__dict__["_num_nodes"]
    return found


class LazyGlobalStorage(GlobalStorage):  # type: ignore[misc]
    apply, to_dict = _apply, _to_dict


class LazyEdgeStorage(EdgeStorage):  # type: ignore[misc]
    apply, to_dict = _apply, _to_dict


_lazy = {GlobalStorage: LazyGlobalStorage, EdgeStorage: LazyEdgeStorage}


def put(store: Any, key: str, value: Any) -> None:
    """Sets an attribute of a store; a Later is made when it is read."""
    if isinstance(value, Later):
        lazy = _lazy.get(type(store))
        if lazy is not None:
            object.__setattr__(store, "__class__", lazy)  # PyG's own would write an attribute
            store.__dict__["_mapping"] = _Mapping(store._mapping)
        elif type(store) not in _lazy.values():  # of a kind that is not known here
            value = value.now()
    store[key] = value


def of_type(found: Any, kind: Any) -> Any:
    return found.get(kind) if isinstance(found, dict) else found


class Brought:
    """Rows that came with a mini-batch, for the very nodes and edges that it was handed over with."""

    def __init__(self, rows: dict[Field, torch.Tensor], out: Any, device: torch.device) -> None:
        self.device = device
        self._rows = {(field.of_edges, field.type, field.name): found for field, found in rows.items()}
        self._node, self._edge = ({**ids} if isinstance(ids, dict) else {None: ids} for ids in (out.node, out.edge))

    def of(self, of_edges: bool, kind: Any, name: Any, ids: Any) -> torch.Tensor | None:
        return self._rows.get((of_edges, kind, name)) if (self._edge if of_edges else self._node).get(kind) is ids else None


def pair_of(out: Any, kind: Any, row: torch.Tensor, col: torch.Tensor) -> torch.Tensor:
    """Both as one tensor: the one that they are of, where they are as they were sampled."""
    pairs = getattr(out, "_pairs", {})
    whole, first, second = pairs.get(kind, (None, None, None))
    return whole if whole is not None and first is row and second is col else torch.stack([row, col])


def template_of(data: Any, store: Any) -> list[tuple[str, str, Any, int]]:
    """(name, what it is, value, dimension of its rows) of what becomes another in a mini-batch."""
    found = []
    nodes, edges = hasattr(store, "is_node_attr"), hasattr(store, "is_edge_attr")
    for name, value in store.items():
        if nodes and name == "num_nodes":
            found.append((name, "num_nodes", value, 0))
        elif nodes and store.is_node_attr(name):
            found.append((name, "node", value, data.__cat_dim__(name, value, store)))
        elif edges and name in ("edge_index", "adj_t"):
            found.append((name, name, value, 0))
        elif edges and store.is_edge_attr(name):
            found.append((name, "edge", value, data.__cat_dim__(name, value, store)))
    return found


def rows_at(value: Any, ids: torch.Tensor, dim: int) -> Any:
    if isinstance(value, (list, tuple)):
        return [value[k] for k in ids.tolist()]
    return index_select(value, ids.cpu() if isinstance(value, np.ndarray) else ids.to(value.device), dim=dim)


def set_adj(store: Any, value: Any, ends: tuple[torch.Tensor, torch.Tensor], edges: Any) -> None:
    """As PyG: an adj_t of torch-sparse becomes one."""
    row, col = (end.to(value.device()) for end in ends)
    weights = value.storage.value()
    weights = None if weights is None or edges is None else index_select(weights, edges.to(weights.device), dim=0)
    store.adj_t = type(value)(row=col, col=row, value=weights, sparse_sizes=store.size()[::-1], is_sorted=False, trust_data=True)


def values_of(data: Any) -> list[Any]:
    """All that data or a feature store of Garner hold."""
    if isinstance(data, (Data, HeteroData)):
        return [value for store in data.stores for value in store.values()]
    return list(kept(data[0]).values()) if isinstance(data, tuple) and type(data[0]) is FeatureStore else []
