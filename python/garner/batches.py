"""garner.torch.loader: mini-batches for a loop of plain torch; and how loaders number what they draw. Needs torch."""
from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.utils.dlpack

from . import _checks, _garner, tables
from ._garner import BlockSampler, Graph, info
from .errors import UsageError
from .remote import RemoteRows
from .split import Draws, RemoteGraph, most_together, windows_ahead


def ahead_options(said: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options of garner.Loader that somebody says to a loader over it; others are what that loader says itself."""
    known = ("ahead", "window", "way", "window_bytes", "cache", "reads", "merge_reads", "multiprocessors", "keep_times")
    for name in said or ():
        if name not in known:
            raise UsageError(f"loading: there is no '{name}'; it has {', '.join(known)}")
    numbers = ("ahead", "window", "multiprocessors", "keep_times")
    return {name: _checks.number(value, f"loading: {name}") if name in numbers else value for name, value in (said or {}).items()}


def window_alone(said: Mapping[str, Any]) -> None:
    """Of such options over a graph that is split, where garner.Loader has no part."""
    for name in said:
        if name != "window":
            raise UsageError(f"loading: '{name}' is not over a graph that is split; say window alone")


def mixed(seed: int, number: int) -> int:
    """60 bits that look drawn (splitmix64). Of an epoch's seed and 0: the number that its first mini-batch draws by; those behind it count on."""
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


most_seeds = 1 << 24  # of a mini-batch of garner.Loader
_plain = {torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool}


def loadable(rows: Any, place: str) -> Any:
    """A table whose rows garner.Loader at this place gathers as they lie, and whose rows are torch's; None: it cannot."""
    if isinstance(rows, tables.Tiered):
        return rows if rows._table.place == place and getattr(torch, rows._table.kind, None) in _plain else None
    if place != "host":
        return None
    if type(rows) is torch.Tensor:
        fits = rows.device.type == "cpu" and rows.layout == torch.strided and not rows.requires_grad and rows.is_contiguous() and rows.dtype in _plain
        return tables.tiered(rows, device=place) if fits and rows.dim() and rows.numel() else None
    if type(rows) is np.ndarray:
        fits = rows.flags.c_contiguous and getattr(torch, rows.dtype.name, None) in _plain and rows.dtype.isnative
        return tables.tiered(rows, device=place) if fits and rows.ndim and rows.size else None
    return None


def own_rows(batch: _garner.MiniBatch, table: int) -> torch.Tensor:
    """Rows of a mini-batch. Short ones are copied: who keeps labels shall not keep the buffers of the features."""
    rows = tensor_of(batch.rows(table))
    return rows if rows[:1].nbytes > 64 else rows.clone()


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
    """Made by garner.torch.loader. len() mini-batches an epoch; `epoch` is the one that comes next, and may be set. `report`: of the last one,
    as garner.Loader.report tells it; None where rows lie where it cannot gather them, so that mini-batches are made one after the other."""

    report: dict[str, Any] | None = None
    _ahead: _garner.Loader | None = None

    def __init__(self, make_sampler: Callable[[], BlockSampler] | None, seeds: torch.Tensor, x: Any, y: Any, batch_size: int, shuffle: bool, drop_last: bool,
                 seed: int | None, seed_times: torch.Tensor | None, rank: int, ranks: int, loading: dict[str, Any] | None = None) -> None:
        """make_sampler: None: of a graph that is split over ranks, whose `draws` whoever makes it sets."""
        self._make_sampler = make_sampler
        self.sampler: Any = None if make_sampler is None else make_sampler()
        self.draws: Draws | None = None
        self.seeds, self.x, self.y = seeds, x, y
        self._near_x = None if isinstance(x, RemoteRows) else x
        self.batch_size, self.shuffle, self.drop_last = batch_size, shuffle, drop_last
        self.seed, self.seed_times, self.epoch = seed, seed_times, 0
        self.rank, self.ranks = rank, ranks
        self.loading = loading or {}
        self._beginning = threading.Lock()

    def __len__(self) -> int:
        whole, rest = divmod(-(-self.seeds.numel() // self.ranks), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[MiniBatch]:
        shared = 0 if self.ranks > 1 else None  # all ranks must shuffle alike, and torch's generators need not be
        known = shared if self.seed is None else self.seed
        with self._beginning:
            epoch, self.epoch = self.epoch, self.epoch + 1
        return self._epoch(drawn_seed() if known is None else mixed(known, epoch))

    @property
    def window(self) -> int:
        """Of rows and lists that others have: how many mini-batches ask for them together."""
        return self.loading.get("window") or 8

    def _epoch(self, seed: int) -> Iterator[MiniBatch]:
        if isinstance(self.x, RemoteRows):
            yield from self.x.ahead(self._drawn(seed), self.window)
        elif self.draws is not None:
            for drawn, input_id in windows_ahead(self._windows(seed)):
                yield self._told(drawn, input_id)
        else:
            yield from self._drawn(seed)

    def _order(self, seed: int) -> torch.Tensor:
        """Which of the seeds this rank takes, one after the other."""
        count = self.seeds.numel()
        order = torch.randperm(count, generator=torch.Generator().manual_seed(seed)) if self.shuffle else torch.arange(count)
        return order[torch.arange(self.rank, self.rank + -(-count // self.ranks) * self.ranks, self.ranks) % count]  # as garner.Loader shares them

    def _windows(self, seed: int) -> Iterator[list[tuple[Any, torch.Tensor]]]:
        """Of a graph that is split."""
        assert self.draws is not None
        return self.draws.windows(self.seeds, self._order(seed)[:len(self) * self.batch_size], self.batch_size, self.window, mixed(seed, 0))

    def _drawn(self, seed: int) -> Iterator[MiniBatch]:
        if self.draws is not None:
            for window in self._windows(seed):
                for drawn, input_id in window:
                    yield self._told(drawn, input_id)
            return
        order = self._order(seed)
        taken = order[:len(self) * self.batch_size]
        with self._beginning:  # who iterates at the same time has one of their own, and a sampler
            ahead, self._ahead = self._ahead or self._made_ahead(), None
            if ahead is not None:
                ahead.begin(0, self.seeds[taken].numpy(), mixed(seed, 0), None if self.seed_times is None else self.seed_times[taken].numpy())
        if ahead is None:
            for number in range(len(self)):
                yield self.sampled(order[number * self.batch_size:(number + 1) * self.batch_size], mixed(seed, 0) + number)
            return
        try:
            while (batch := ahead.next()) is not None:
                at = batch.index * self.batch_size
                yield self._told(batch, taken[at:at + self.batch_size], batch)
                del batch
        finally:
            ahead.stop()
            self.report, self._ahead = ahead.report(), ahead

    def _made_ahead(self) -> _garner.Loader | None:
        """What samples and gathers ahead; None where rows lie where it cannot gather them."""
        place = self.sampler.place
        x, y = (None if rows is None else loadable(rows, place) for rows in (self._near_x, self.y))
        if (x is None) != (self._near_x is None) or (y is None) != (self.y is None) or self.batch_size > most_seeds:
            return None
        sampler = self._make_sampler() if self.sampler.lent and self._make_sampler is not None else self.sampler
        return _garner.Loader(sampler, torch.unique(self.seeds).numpy(), [] if x is None else [x], [] if y is None else [y], batch=self.batch_size,
                              shuffle=False, rank=0, ranks=1, **self.loading)

    def sampled(self, input_id: torch.Tensor, number: int) -> MiniBatch:
        """The mini-batch of these of the seeds; the number says what it draws."""
        if self.draws is not None:
            return self._told(self.draws.window([self.seeds[input_id]], number)[0], input_id)
        if self.sampler.lent and self._make_sampler is not None:
            self.sampler = self._make_sampler()
        times = None if self.seed_times is None else self.seed_times[input_id].numpy()
        return self._told(self.sampler.sample(self.seeds[input_id].numpy(), number, times=times), input_id)

    def _told(self, drawn: Any, input_id: torch.Tensor, ahead: Any = None) -> MiniBatch:
        """`ahead`: the same, with its rows; None: they are gathered now."""
        vertices, edges = drawn.of_type(0), drawn.of_relation(0)
        n_id, x, y = tensor_of(vertices.ids), None, None
        e_id = None if edges.edge is None else tensor_of(edges.edge)
        if ahead is None:
            x = None if self._near_x is None else rows_of(self._near_x, n_id)
            y = None if self.y is None else rows_of(self.y, self.seeds[input_id])
        else:
            n_id, e_id = n_id.clone(), None if e_id is None else e_id.clone()
            x = None if self._near_x is None else own_rows(ahead, 0)
            y = None if self.y is None else own_rows(ahead, int(self._near_x is not None))
        edge_index: Any = tensor_of(edges.edge_index)
        tree = None if vertices.tree is None else tensor_of(vertices.tree).long()
        if isinstance(self.x, RemoteRows):  # windows of them wait, and shall not keep the sampler's buffers
            held: list[Any] = [None if one is None else one.clone() for one in (n_id, edge_index, tree, e_id, y)]
            n_id, edge_index, tree, e_id, y = held
        return MiniBatch(
            x, y, edge_index, n_id, input_id.numel(), list(vertices.by_hop), list(edges.by_hop), input_id, e_id, tree)


def loader(graph: Graph | RemoteGraph, fanouts: Sequence[int], seeds: Any = None, *, x: Any = None, y: Any = None, batch_size: int = 1024, shuffle: bool = False,
           drop_last: bool = False, seed: int | None = None, seed_times: Any = None, place: Any = None, rank: int | None = None, ranks: int | None = None,
           loading: Mapping[str, Any] | None = None, **options: Any) -> Loader:
    """Mini-batches of a graph and tables, for a loop of plain torch.

        for batch in garner.torch.loader(g, [15, 10, 5], train, x=garner.tiered(features), y=labels, shuffle=True):
            loss = f(model(batch.x, batch.edge_index)[:batch.batch_size], batch.y)

    graph: a Graph; or a garner.torch.remote_graph, whose lists are split over ranks: then all ranks make the loader alike.
    seeds: positions of vertices among graph.ids() (of a graph without gaps its ids), or a bool each vertex; None: all.
    x, y: one row a vertex: a tensor, a NumPy array, a table of garner.tiered; x also garner.torch.remote_rows, over several machines. x comes of all vertices of a mini-batch, y of the seeds.
    seed: what an epoch shuffles and draws is a function of it and of the epoch; None: of torch's generator, as it is when the epoch begins,
    with several ranks: 0, since all of them must shuffle alike.
    rank, ranks: this one of several processes takes its share of the seeds, and as many mini-batches as the others. None: as torchrun says in
    the environment (RANK, WORLD_SIZE), else 0 of 1; of a remote_graph those of its group.
    seed_times: shape (seeds,), for temporal=. place: that samples: None: the device of a table that lies on one, else 'host'.
    loading: options of garner.Loader: ahead, window, way, window_bytes, cache, reads, merge_reads, multiprocessors, keep_times.
    options: of garner.BlockSampler: side, times, replace, disjoint, weighted, temporal, edge_ids, induced, device_budget, scores ...; over a
    remote_graph: replace, weighted, edge_ids, and of loading window, up to 64.
    Result: Loader, which yields MiniBatch. Errors: UsageError, IdError for a seed that is no vertex; RankError.
    """
    if not isinstance(graph, (Graph, RemoteGraph)):
        raise TypeError(f"loader(): graph={graph!r} is no Graph; make one with garner.build, open, read or generate")
    vertices = len(graph)
    for table, name in ((x, "x"), (y, "y")):
        if table is not None:
            _checks.rows(table, name, vertices)
    batch_size = _checks.number(batch_size, "batch_size")
    if batch_size < 1:
        raise UsageError(f"batch_size={batch_size}: say 1 or more")
    seed, rank, ranks = (None if n is None else _checks.number(n, name) for n, name in ((seed, "seed"), (rank, "rank"), (ranks, "ranks")))
    chosen = torch.arange(vertices) if seeds is None else _checks.tensor(_checks.positions(seeds, "seeds", vertices), "seeds")
    if not chosen.numel():
        raise UsageError("seeds: there are none; give at least one vertex")
    _checks.within(chosen, vertices, "seed")
    if seed_times is not None:
        seed_times = _checks.tensor(_checks.times(seed_times, "seed_times", chosen.numel(), "seeds"), "seed_times")
    hops = _checks.fanouts(fanouts)
    if isinstance(graph, RemoteGraph) and rank is None and ranks is None:
        rank, ranks = graph.group.rank, graph.group.size
    rank, ranks = _garner.ranks_said(rank, ranks)
    if not 0 <= rank < ranks:
        raise UsageError(f"rank {rank} of {ranks}: ranks count from 0")
    if drop_last and -(-chosen.numel() // ranks) < batch_size and ranks > 1:
        raise UsageError(f"{-(-chosen.numel() // ranks)} seeds a rank are no mini-batch of {batch_size}, and drop_last leaves smaller ones out; say a smaller batch_size")
    if place is None:
        place = "host"
        if isinstance(x, tables.Tiered) and info()["devices"] and torch.cuda.is_available():
            place = str(x.device)
            graph.to(place)  # where the rows are gathered; no change where it can be read there
    asked = ahead_options(loading)
    if isinstance(graph, RemoteGraph):
        made = Loader(None, chosen, x, y, batch_size, bool(shuffle), bool(drop_last), seed, seed_times, rank, ranks, asked)
        return _over_ranks(graph, hops, place, options, made)
    whole = graph
    return Loader(lambda: BlockSampler(whole, hops, place=place, **options), chosen, x, y, batch_size, bool(shuffle), bool(drop_last), seed, seed_times, rank, ranks, asked)


def _over_ranks(graph: RemoteGraph, fanouts: list[int], place: Any, options: dict[str, Any], made: Loader) -> Loader:
    """A loader over a graph that is split: all ranks must draw for each other in one order."""
    if made.seed_times is not None:
        raise UsageError("seed_times: temporal sampling is not over a graph that is split by vertices; leave it out, or open the whole graph")
    window_alone(made.loading)
    if not 1 <= made.window <= most_together:
        raise UsageError(f"loading: a window of {made.window} mini-batches; say 1 to {most_together}")
    said = f"{len(made)} mini-batches of {made.batch_size}, seed {made.seed}, windows of {made.window}"
    made.draws = Draws(graph, fanouts, place, options, said)
    made.sampler = made.draws.sampler
    return made
