"""Where tables of garner.shared lie in this process, and the adjacency in them that loaders of garner.pyg sample.

What is attached holds the table as long as any part of it lives. Whose adjacency an edge_index has is found by the memory that it lies in: another
edge_index lies elsewhere, and gets an adjacency of its own. What its creator writes into edges, weights or times in place is not seen by that adjacency.
"""
from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import _garner
from ._garner import Graph, Shared

# Where segments lie in this process: from, to, the table; and by what _key() gives the table and where its adjacency is.
_segments: dict[int, tuple[int, Any]] = {}
_known: dict[tuple[Any, ...], tuple[Any, Any, Any]] = {}


def part(shared: Shared, at: int, count: int) -> Any:
    return shared.array.reshape(-1)[at:at + count]


def tensor(part: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    import torch
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of memory that may not be written
        return (torch.from_numpy(part).view(getattr(torch, dtype)) if part.size else torch.empty(0, dtype=getattr(torch, dtype))).reshape(shape)


def hold(shared: Shared, adjacency: Iterable[tuple[tuple[Any, ...], Any, Any]]) -> None:
    """Notes a table that was attached, and of each adjacency in it what _key() takes, where its graph lies, and where the edges of its entries."""
    begin, held = shared.array.ctypes.data, weakref.ref(shared, lambda gone: _forget(gone))
    _segments[begin] = begin + shared.array.nbytes, held
    for by, graph, perm in adjacency:
        _known[_key(*by)] = held, graph, perm


def _forget(gone: Any) -> None:
    for begin in [begin for begin, (_, held) in _segments.items() if held is gone]:
        del _segments[begin]
    for key in [key for key, (held, *_) in _known.items() if held is gone]:
        del _known[key]


def _key(row: Any, col: Any, sizes: Any, weights: Any, order: Any) -> tuple[Any, ...]:
    by = [None if one is None else one.data_ptr() if hasattr(one, "data_ptr") else -1 for one in (weights, order)]
    return row.data_ptr(), col.data_ptr(), row.numel(), row.stride(), col.stride(), row.dtype, tuple(sizes), *by


def adjacency_of(row: Any, col: Any, sizes: Any, weights: Any = None, order: Any = None) -> tuple[Graph, Any] | None:
    """Where these ends of edges lie in such a table: their adjacency by these weights and times, and of its entries the edges (a tensor, or None:
    entry k is edge k)."""
    if not _known or not hasattr(row, "data_ptr") or row.device.type != "cpu" or col.device.type != "cpu":
        return None
    held, graph, perm = _known.get(_key(row, col, sizes, weights, order), (None, None, None))
    shared = None if held is None else held()
    if shared is None:
        return None
    return _garner._graph_in(shared, *graph), None if perm is None else tensor(part(shared, *perm[0]), perm[1], (-1,))


def map_for(array: Any, device: Any) -> None:
    """Before a device reads an array in place: where it lies in such a table, that is mapped for the device."""
    if not _segments or str(device).split(":")[0] in ("cpu", "host", "simulated") or not _garner.info()["devices"]:
        return
    at: int = array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data if isinstance(array, np.ndarray) else -1
    for begin, (end, held) in list(_segments.items()):
        if begin <= at < end and (shared := held()) is not None:
            shared.map_for(device)
