"""garner.torch.loader: mini-batches for a loop of plain torch; and how loaders number what they draw. Needs torch."""
from __future__ import annotations

import copy
import dataclasses
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.utils.dlpack

from . import _checks, pipeline
from ._garner import BlockSampler, Graph
from .errors import UsageError
from .operators import Edges
from .pipeline import Ahead, Budget, Field, ahead_options, drawn_seed, mixed, own_rows, rows_of, tensor_of
from .remote import RemoteRows
from .split import Draws, RemoteGraph, most_together, windows_ahead


def window_alone(said: Mapping[str, Any]) -> None:
    """Of such options over a graph that is split, where garner.Loader has no part."""
    for name in said:
        if name != "window":
            raise UsageError(f"loading: '{name}' is not over a graph that is split; say window alone")


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
    """Made by garner.torch.loader. len() mini-batches an epoch; `epoch` is the one that comes next, and may be set. state_dict() and
    load_state_dict(): where it is; the loader that takes them goes on with the very next mini-batch."""

    _idle: tuple[pipeline.Tables, Ahead] | None = None  # of the epoch before
    _works: Ahead | None = None
    _report: dict[str, Any] = {}

    def __init__(self, make_sampler: Callable[[], BlockSampler] | None, seeds: torch.Tensor, x: Any, y: Any, batch_size: int, shuffle: bool, drop_last: bool,
                 seed: int | None, seed_times: torch.Tensor | None, rank: int, ranks: int, loading: dict[str, Any] | None = None,
                 cache: Budget | None = None) -> None:
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
        self._cache = cache or Budget("host")
        self._tables: pipeline.Tables | None = None
        self._tables_of: list[Any] = []
        self._beginning = threading.Lock()
        self._at: tuple[int, int] | None = None  # the seed of the epoch under way, and how many of its mini-batches were handed over
        self._resumed: tuple[int, int] | None = None

    def __len__(self) -> int:
        whole, rest = divmod(-(-self.seeds.numel() // self.ranks), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[MiniBatch]:
        # All ranks must shuffle alike, and those over a split graph count alike; torch's generators need not be.
        shared = 0 if self.ranks > 1 or self.draws is not None else None
        known = shared if self.seed is None else self.seed
        with self._beginning:
            epoch, self.epoch = self.epoch, self.epoch + 1
            resumed, self._resumed = self._resumed, None
        seed, first = resumed or (drawn_seed() if known is None else mixed(known, epoch), 0)
        return self._told_of(self._epoch(seed, first), seed, first)

    def _told_of(self, batches: Iterator[MiniBatch], seed: int, first: int) -> Iterator[MiniBatch]:
        self._at = seed, first
        for k, batch in enumerate(batches, first + 1):
            self._at = seed, k
            yield batch
        self._at = None

    def state_dict(self) -> dict[str, Any]:
        """Where it is: how many mini-batches of the epoch under way have been handed over."""
        at = self._resumed or self._at
        return {"epoch": self.epoch - (self._at is not None), "seed": None if at is None else at[0], "handed_over": 0 if at is None else at[1]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iteration begins with the mini-batch behind the last that was handed over. The loader must be made as that one was."""
        self.epoch = int(state["epoch"])
        self._at, self._resumed = None, None if state["seed"] is None else (int(state["seed"]), int(state["handed_over"]))

    @property
    def report(self) -> dict[str, Any]:
        """What the epoch under way, else the last one, took, as garner.Loader.report has it. Empty before the first, and for a graph or
        features that are split over ranks."""
        return self._report if self._works is None else self._works.loader.report()

    def explain(self) -> str:
        """Where it samples, where each thing lies, and what is done ahead."""
        if self.draws is not None or isinstance(self.x, RemoteRows):
            return f"a graph or features split over {self.ranks} ranks, which come by windows of {self.window} mini-batches while others are learned from"
        return "\n".join([f"samples and gathers on {self.sampler.place}, ahead of the caller", f"adjacency: {self.sampler.about()}",
                          *self._placed().about(lambda field: str(field.name))])

    @property
    def window(self) -> int:
        """Of rows and lists that others have: how many mini-batches ask for them together."""
        return self.loading.get("window") or 8

    def _epoch(self, seed: int, first: int) -> Iterator[MiniBatch]:
        if isinstance(self.x, RemoteRows):
            yield from itertools.islice(self.x.ahead(self._drawn(seed, 0), self.window), first, None)
        elif self.draws is not None:
            for drawn, input_id in itertools.islice(windows_ahead(self._windows(seed)), first, None):
                yield self._told(drawn, input_id)
        else:
            yield from self._drawn(seed, first)

    def _order(self, seed: int) -> torch.Tensor:
        """Which of the seeds this rank takes, one after the other."""
        count = self.seeds.numel()
        order = torch.randperm(count, generator=torch.Generator().manual_seed(seed)) if self.shuffle else torch.arange(count)
        return order[torch.arange(self.rank, self.rank + -(-count // self.ranks) * self.ranks, self.ranks) % count]  # as garner.Loader shares them

    def _windows(self, seed: int) -> Iterator[list[tuple[Any, torch.Tensor]]]:
        """Of a graph that is split."""
        assert self.draws is not None
        return self.draws.windows(self.seeds, self._order(seed)[:len(self) * self.batch_size], self.batch_size, self.window, mixed(seed, 0))

    def _given(self, seed: int, first: int) -> Iterator[tuple[list[Any], torch.Tensor]]:
        """Seeds of each mini-batch from this one on."""
        order = self._order(seed)
        for number in range(first, len(self)):
            input_id = order[number * self.batch_size:(number + 1) * self.batch_size]
            yield [(self.seeds[input_id].numpy(), 0, None if self.seed_times is None else self.seed_times[input_id].numpy())], input_id

    def _drawn(self, seed: int, first: int) -> Iterator[MiniBatch]:
        if self.draws is not None:
            for window in self._windows(seed):
                for drawn, input_id in window:
                    yield self._told(drawn, input_id)
            return
        with self._beginning:  # another iterator of the same time has one of its own, and a sampler
            placed = self._placed()
            kept, self._idle = self._idle, None
            if kept is None or kept[0] is not placed or kept[1].sampler.lent:  # to another loader meanwhile
                kept = placed, self._made_ahead(placed)
            ahead = kept[1]
            ahead.begin(mixed(seed, 0) + first)
        try:
            self._works = ahead
            for batch, input_id in ahead.run(self._given(seed, first)):
                yield self._told(batch, input_id, placed)
                del batch
        finally:
            self._report, self._works, self._idle = ahead.loader.report(), None, kept

    def _placed(self) -> pipeline.Tables:
        """Tables of x and y as they are now."""
        fields = [Field(False, 0, name, value, name == "y") for name, value in (("x", self._near_x), ("y", self.y)) if value is not None]
        key = pipeline.as_they_are(fields, self.sampler.place)
        if self._tables is not None and self._tables_of == key:
            return self._tables
        self._tables = self._idle = None  # their memory is for those that come

        def scores(field: Field) -> Any:
            return pipeline.counted(self.sampler, self._given(1, 0), [len(field.value)])[0]

        made = pipeline.Tables(fields, self.sampler.place, copy.copy(self._cache), scores)
        made.warn(lambda field: str(field.name))
        self._tables, self._tables_of = made, key
        return made

    def _made_ahead(self, placed: pipeline.Tables) -> Ahead:
        """What samples and gathers ahead."""
        sampler = self._make_sampler() if self.sampler.lent and self._make_sampler is not None else self.sampler
        of = {field.name: table for field, table in placed.of.items()}
        return Ahead(sampler, [(of["x"], 0)] if "x" in of else [], [of["y"]] if "y" in of else [], (), self.loading)

    def sampled(self, input_id: torch.Tensor, number: int) -> MiniBatch:
        """The mini-batch of these of the seeds; the number says what it draws."""
        if self.draws is not None:
            return self._told(self.draws.window([self.seeds[input_id]], number)[0], input_id)
        if self.sampler.lent and self._make_sampler is not None:
            self.sampler = self._make_sampler()
        times = None if self.seed_times is None else self.seed_times[input_id].numpy()
        return self._told(self.sampler.sample(self.seeds[input_id].numpy(), number, times=times), input_id)

    def _told(self, drawn: Any, input_id: torch.Tensor, placed: pipeline.Tables | None = None) -> MiniBatch:
        """placed: the tables whose rows came with it; None: rows are gathered now."""
        vertices, edges = drawn.of_type(0), drawn.of_relation(0)
        stream = None if placed is None or drawn.device < 0 else pipeline.stream_of(torch.device("cuda", drawn.device))
        n_id = tensor_of(vertices.ids, stream)
        e_id = None if edges.edge is None else tensor_of(edges.edge, stream)
        brought: dict[str, torch.Tensor] = {}
        if placed is not None:
            n_id, e_id = n_id.clone(), None if e_id is None else e_id.clone()
            names = {field.name for field in placed.of}
            brought = {name: own_rows(drawn, k, stream) for k, name in enumerate(name for name in ("x", "y") if name in names)}
        x = brought["x"] if "x" in brought else None if self._near_x is None else rows_of(self._near_x, n_id)
        y = brought["y"] if "y" in brought else None if self.y is None else rows_of(self.y, n_id[:input_id.numel()])
        edge_index: Any = tensor_of(edges.edge_index, stream)
        if edges.by_hop:
            Edges.are_sampled(edge_index, (vertices.by_hop, vertices.by_hop), edges.by_hop)
        tree = None if vertices.tree is None else tensor_of(vertices.tree, stream).long()
        if isinstance(self.x, RemoteRows):  # windows of them wait, and shall not keep the sampler's buffers
            held: list[Any] = [None if one is None else one.clone() for one in (n_id, edge_index, tree, e_id, y)]
            n_id, edge_index, tree, e_id, y = held
        return MiniBatch(
            x, y, edge_index, n_id, input_id.numel(), list(vertices.by_hop), list(edges.by_hop), input_id, e_id, tree)


def loader(graph: Graph | RemoteGraph, fanouts: Sequence[int], seeds: Any = None, *, x: Any = None, y: Any = None, batch_size: int = 1024, shuffle: bool = False,
           drop_last: bool = False, seed: int | None = None, seed_times: Any = None, device: Any = None, rank: int | None = None, ranks: int | str | None = None,
           feature_cache: int | str = "auto", graph_cache: int | str | None = None, reserve: int | str | None = None,
           loading: Mapping[str, Any] | None = None, place: Any = None, **options: Any) -> Loader:
    """Mini-batches of a graph and tables, for a loop of plain torch.

        for batch in garner.torch.loader(g, [15, 10, 5], train, x=garner.tiered(features), y=labels, shuffle=True):
            loss = f(model(batch.x, batch.edge_index)[:batch.batch_size], batch.y)

    graph: a Graph; or a garner.torch.remote_graph, whose lists are split over ranks: then all ranks make the loader alike.
    seeds: positions of vertices among graph.ids() (of a graph without gaps its ids), or a bool each vertex; None: all.
    x, y: one row a vertex: a tensor, a NumPy array, a table of garner.tiered; x also garner.torch.remote_rows, over several machines. x comes of all vertices of a mini-batch, y of the seeds.
    seed: what an epoch shuffles and draws is a function of it and of the epoch; None: of torch's generator, as it is when the epoch begins,
    with several ranks: 0, since all of them must shuffle alike.
    rank, ranks: this one of several processes takes its share of the seeds, which all of them are given alike, and as many mini-batches as the
    others. ranks="torchrun": as torch.distributed says where it is initialized (of a remote_graph those of its group), else RANK and WORLD_SIZE of the
    environment; where it is initialized the ranks compare their seeds, and seeds that differ are a RankError, since they were split already;
    where it is not, nobody compares. None: the seeds are this process's own, and are not split.
    seed_times: shape (seeds,), for temporal=.
    device: that samples and gathers, as 'cuda:1'; None: torch's current GPU where there is one, unless a table was made for another device; 'cpu'.
    What lies in host memory stays there, and is registered for the GPU; labels and the hottest rows of features are copied to it.
    feature_cache: bytes of GPU memory for these copies; "auto": what is free but for `reserve` bytes (None: a quarter of all), which are left to
    the model. Which rows a training reads most is sampled beforehand. A table of garner.tiered stays as it was made.
    graph_cache: bytes of GPU memory for the adjacency, of which the rest stays in host memory; None: all of it, where it fits.
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
    seed = None if seed is None else _checks.number(seed, "seed")
    _require_kinds(graph, options, shuffle=shuffle, drop_last=drop_last)
    chosen = torch.arange(vertices) if seeds is None else _checks.tensor(_checks.positions(seeds, "seeds", vertices), "seeds")
    if not chosen.numel():
        raise UsageError("seeds: there are none; give at least one vertex")
    _checks.within(chosen, vertices, "seed")
    if seed_times is not None:
        if options.get("temporal") is None and isinstance(graph, Graph):
            raise UsageError("seed_times are given, and temporal is not; say temporal='uniform' or 'last', or leave seed_times out")
        seed_times = _checks.tensor(_checks.times(seed_times, "seed_times", chosen.numel(), "seeds"), "seed_times")
    hops = _checks.fanouts(fanouts)
    rank, ranks = _checks.ranks(rank, ranks, chosen, group=graph.group if isinstance(graph, RemoteGraph) else None)
    if drop_last and -(-chosen.numel() // ranks) < batch_size and ranks > 1:
        raise UsageError(f"{-(-chosen.numel() // ranks)} seeds a rank are no mini-batch of {batch_size}, and drop_last leaves smaller ones out; say a smaller batch_size")
    automatic = device is None and place is None
    place = pipeline.device_of(place if device is None else device, [x, y])
    if graph_cache is not None:
        options["device_budget"] = pipeline.bytes_of(graph_cache, "graph_cache")
    if pipeline.is_gpu(place) and isinstance(graph, Graph):
        try:
            graph.to(place, "host" if options.get("device_budget") is not None else None)  # no change where it can be read there
        except UsageError:
            if not automatic:
                raise
            pipeline.warn_once("garner.torch.loader samples on the CPU, since the graph is in use there; make the loader before other users of the graph, or "
                               "say device='cpu'")
            place = "host"
    asked = ahead_options(loading)
    if isinstance(graph, RemoteGraph):
        made = Loader(None, chosen, x, y, batch_size, bool(shuffle), bool(drop_last), seed, seed_times, rank, ranks, asked)
        return _over_ranks(graph, hops, place, options, made)
    whole = graph
    return Loader(lambda: BlockSampler(whole, hops, place=place, **options), chosen, x, y, batch_size, bool(shuffle), bool(drop_last), seed, seed_times,
                  rank, ranks, asked, Budget(place, feature_cache, reserve))


def _require_kinds(graph: Graph | RemoteGraph, options: dict[str, Any], **flags: Any) -> None:
    """That options are what they are taken for, and not without the others that they go with."""
    for name, value in flags.items():
        _checks.flag(value, name)
    for name in {"replace", "disjoint", "weighted", "edge_ids", "induced", "edges"} & options.keys():
        options[name] = _checks.flag(options[name], name)
    if options.get("scores") is not None:
        _checks.scores(options["scores"], len(graph), "vertices")
    if options.get("times") is not None and options.get("temporal") is None:
        raise UsageError("times are given, and temporal is not; say temporal='uniform' or 'last', or leave times out")


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
