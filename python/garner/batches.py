"""garner.torch.loader: mini-batches for a loop of plain torch; and how loaders number what they draw. Needs torch."""
from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
import torch.utils.dlpack

from . import tables
from ._garner import BlockSampler, Graph, info
from .errors import IdError, UsageError


def mixed(seed: int, number: int) -> int:
    """Of an epoch's seed the number of one of its mini-batches: 60 bits that look drawn (splitmix64)."""
    z = (seed + (number + 1) * 0x9E3779B97F4A7C15) & (1 << 64) - 1
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
    z = (z ^ z >> 27) * 0x94D049BB133111EB & (1 << 64) - 1
    return (z ^ z >> 31) >> 4


def drawn_seed(generator: torch.Generator | None = None) -> int:
    """From torch's generator, so that torch.manual_seed repeats what follows."""
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator))


def tensor_of(array: Any) -> torch.Tensor:
    """The same memory, which stays as long as the tensor."""
    return torch.from_numpy(array) if isinstance(array, np.ndarray) else torch.utils.dlpack.from_dlpack(array)


def rows_of(features: Any, index: Any) -> Any:
    """Rows of a tensor, an array or a table; of an array and a table as tensors."""
    if isinstance(index, slice) and index == slice(None):
        return features
    if isinstance(index, torch.Tensor) and not isinstance(features, tables.Tiered):
        if isinstance(features, np.ndarray):
            return torch.from_numpy(features[index.cpu().numpy()])
        return features[index.to(features.device)]
    return features[index]


@dataclasses.dataclass
class MiniBatch:
    """What one step learns from. The first batch_size vertices are the seeds."""

    x: Any  # rows of n_id, or None
    y: Any  # rows of the seeds, or None
    edge_index: torch.Tensor  # shape (2, edges): from row 0 to row 1, by numbers in n_id
    n_id: torch.Tensor  # positions of the vertices among Graph.ids()
    batch_size: int
    num_sampled_nodes: list[int]  # the seeds, then how many each hop reached first
    num_sampled_edges: list[int]  # a hop each; none of an induced subgraph
    input_id: torch.Tensor  # which of the loader's seeds these are
    e_id: torch.Tensor | None = None  # edge_ids: where each edge stands in its lists
    batch: torch.Tensor | None = None  # disjoint: which seed each vertex belongs to

    @property
    def edges(self) -> list[torch.Tensor]:
        """The edge_index of each hop, the seeds' first; of an induced subgraph all of it. A model of as many layers uses the last first."""
        if not self.num_sampled_edges:
            return [self.edge_index]
        return list(torch.split(self.edge_index, self.num_sampled_edges, dim=1))


class Loader:
    """Made by garner.torch.loader. len() mini-batches an epoch; `epoch` is the one that comes next, and may be set."""

    def __init__(self, sampler: BlockSampler, seeds: torch.Tensor, x: Any, y: Any, batch_size: int, shuffle: bool, drop_last: bool, seed: int | None,
                 seed_times: torch.Tensor | None) -> None:
        self.sampler, self.seeds, self.x, self.y = sampler, seeds, x, y
        self.batch_size, self.shuffle, self.drop_last = batch_size, shuffle, drop_last
        self.seed, self.seed_times, self.epoch = seed, seed_times, 0

    def __len__(self) -> int:
        whole, rest = divmod(self.seeds.numel(), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[MiniBatch]:
        seed = drawn_seed() if self.seed is None else mixed(self.seed, self.epoch)
        self.epoch += 1
        return self._epoch(seed)

    def _epoch(self, seed: int) -> Iterator[MiniBatch]:
        count = self.seeds.numel()
        order = torch.randperm(count, generator=torch.Generator().manual_seed(seed)) if self.shuffle else torch.arange(count)
        for number in range(len(self)):
            yield self.sampled(order[number * self.batch_size:(number + 1) * self.batch_size], mixed(seed, number))

    def sampled(self, input_id: torch.Tensor, number: int) -> MiniBatch:
        """The mini-batch of these of the seeds; the number says what it draws."""
        seeds = self.seeds[input_id]
        times = None if self.seed_times is None else self.seed_times[input_id].numpy()
        drawn = self.sampler.sample(seeds.numpy(), number, times=times)
        vertices, edges = drawn.of_type(0), drawn.of_relation(0)
        n_id = tensor_of(vertices.ids)
        return MiniBatch(
            None if self.x is None else rows_of(self.x, n_id), None if self.y is None else rows_of(self.y, seeds), tensor_of(edges.edge_index), n_id,
            seeds.numel(), list(vertices.by_hop), list(edges.by_hop), input_id, None if edges.edge is None else tensor_of(edges.edge),
            None if vertices.tree is None else tensor_of(vertices.tree).long())


def loader(graph: Graph, fanouts: Sequence[int], seeds: Any = None, *, x: Any = None, y: Any = None, batch_size: int = 1024, shuffle: bool = False,
           drop_last: bool = False, seed: int | None = None, seed_times: Any = None, place: Any = None, **options: Any) -> Loader:
    """Mini-batches of a graph and tables, for a loop of plain torch.

        for batch in garner.torch.loader(g, [15, 10, 5], train, x=garner.tiered(features), y=labels, shuffle=True):
            loss = f(model(batch.x, batch.edge_index)[:batch.batch_size], batch.y)

    seeds: positions of vertices among graph.ids() (of a graph without gaps its ids), or a bool each vertex; None: all.
    x, y: one row a vertex: a tensor, a NumPy array, a table of garner.tiered. x comes of all vertices of a mini-batch, y of the seeds.
    seed: what an epoch shuffles and draws is a function of it and of the epoch; None: of torch's generator, as it is when the epoch begins.
    seed_times: shape (seeds,), for temporal=. place: that samples: None: the device of a table that lies on one, else 'host'.
    options: of garner.BlockSampler: side, times, replace, disjoint, weighted, temporal, edge_ids, induced, device_budget ...
    Result: Loader, which yields MiniBatch. Errors: UsageError, IdError for a seed that is no vertex.
    """
    if not isinstance(graph, Graph):
        raise TypeError(f"loader(): graph={graph!r} is no Graph; make one with garner.build, open, read or generate")
    vertices = len(graph)
    for table, name in ((x, "x"), (y, "y")):
        if table is not None and (not hasattr(table, "shape") or not len(table.shape) or table.shape[0] < vertices):
            rows = f"{table.shape[0]} rows" if getattr(table, "shape", None) else f"a {type(table).__name__}"
            raise UsageError(f"{name}: {rows} for {vertices} vertices; give each one a row, as a tensor, an array or a table of garner.tiered")
    batch_size = operator.index(batch_size)
    if batch_size < 1:
        raise UsageError(f"batch_size={batch_size}: say 1 or more")
    chosen = torch.arange(vertices) if seeds is None else torch.as_tensor(seeds).cpu()
    if chosen.dtype == torch.bool:
        if tuple(chosen.shape) != (vertices,):
            raise UsageError(f"seeds: a mask of shape {tuple(chosen.shape)} for {vertices} vertices; give one bool a vertex")
        chosen = chosen.nonzero().flatten()
    if chosen.dim() != 1 or (chosen.numel() and chosen.dtype.is_floating_point):
        raise UsageError(f"seeds: of shape {tuple(chosen.shape)} and {chosen.dtype}; give one dimension of whole numbers")
    chosen = chosen.to(torch.int64)
    if not chosen.numel():
        raise UsageError("seeds: there are none; give at least one vertex")
    outside = ((chosen < 0) | (chosen >= vertices)).nonzero()
    if outside.numel():
        raise IdError(f"seed {int(chosen[outside[0]])} at position {int(outside[0])}: there are vertices 0 to {vertices - 1}")
    if seed_times is not None:
        seed_times = torch.as_tensor(seed_times).cpu().to(torch.int64)
        if tuple(seed_times.shape) != tuple(chosen.shape):
            raise UsageError(f"seed_times: of shape {tuple(seed_times.shape)} for {chosen.numel()} seeds; give each one")
    if place is None:
        place = "host"
        if isinstance(x, tables.Tiered) and info()["devices"] and torch.cuda.is_available():
            place = str(x.device)
    sampler = BlockSampler(graph, list(fanouts), place=place, **options)
    return Loader(sampler, chosen, x, y, batch_size, bool(shuffle), bool(drop_last), seed, seed_times)
