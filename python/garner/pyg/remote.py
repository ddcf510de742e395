"""Rows and adjacency of other ranks for PyG's loaders, requested by windows of mini-batches, ahead of the training."""
from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch_geometric.data import Data, HeteroData  # type: ignore[import-not-found, import-untyped, unused-ignore]

from ..errors import UsageError
from ..ranks import Ranks
from ..remote import RemoteRows, rows_ahead
from ..split import Draws, RemoteGraph
from .stores import FeatureStore


@dataclasses.dataclass
class Remote:
    """Rows of a loader's data that other ranks have: by the type of their nodes (None in a graph of one type), and their name."""

    tables: dict[tuple[Any, str], RemoteRows]
    counted: list[Any]  # types whose number of nodes is set for as long as their x is not there


def remote_of(data: Any) -> tuple[Any, Remote]:
    """The data, and those of their rows that others have. Data and HeteroData are copied; the copy knows how many nodes there are."""
    if isinstance(data, (Data, HeteroData)):
        found = Remote({(store._key, name): value for store in data.stores for name, value in store.items() if isinstance(value, RemoteRows)}, [])
        if not found.tables:
            return data, found
        data = copy.copy(data)
        for (kind, name), rows in found.tables.items():
            store = data._store if kind is None else data[kind]
            if isinstance(kind, tuple):
                raise UsageError(f"{kind}.{name}: rows of other ranks are those of nodes; give features of edges as a tensor or a table")
            if "num_nodes" not in store:
                store.num_nodes = len(rows)
                if (kind, "x") in found.tables:
                    found.counted.append(kind)
            if store.num_nodes > len(rows):
                raise UsageError(f"{name}: {len(rows)} rows for {store.num_nodes} nodes; give each one a row")
            if "n_id" in store:
                raise UsageError("n_id: rows of other ranks are requested by it, and the data have one of their own; name that otherwise")
        return data, found
    features = data[0] if isinstance(data, (tuple, list)) else None
    return data, Remote(features.remote() if isinstance(features, FeatureStore) else {}, [])


def as_many(group: Ranks, count: int, window: int, of: str) -> None:
    """RankError in all ranks where some have other numbers of mini-batches."""
    group.require_same("loader", f"{count} mini-batches in windows of {window}", f"give all ranks as many {of}")


def with_rows(of: Remote, batches: Iterator[Any], count: int, window: int, inputs: str) -> Iterator[Any]:
    """So many mini-batches, which get their rows. All ranks have as many."""
    tables = of.tables
    as_many(next(iter(tables.values())).group, count, window, inputs)

    def asked() -> Iterator[Any]:
        for batch in batches:
            yield batch, [(batch if kind is None else batch[kind]).n_id for kind, _ in tables]

    def brought() -> Iterator[Any]:
        for batch, rows in rows_ahead(list(tables.values()), asked(), window):
            for (kind, name), one in zip(tables, rows):
                (batch if kind is None else batch[kind])[name] = one
            for kind in of.counted:
                del (batch if kind is None else batch[kind])["num_nodes"]
            yield batch

    return brought()


class RemoteSampler:
    """What garner.pyg needs of a BlockSampler, over a graph that is split over ranks. All ranks make it, and make the same calls."""

    lent = False

    def __init__(self, graph: RemoteGraph, fanouts: Sequence[int], device: Any, **options: bool) -> None:
        said = {name: True for name, value in options.items() if value}  # an option without support here is refused only where it is set
        self.device = str(device)
        self.draws = Draws(graph, fanouts, device, {**said, "edge_ids": True}, "of garner.pyg")

    def sample_types(self, seeds: Sequence[tuple[Any, int, Any]], number: int) -> Any:
        (ids, _, _), = seeds
        return self.draws.window([torch.from_numpy(ids)], number)[0]
