"""The part of garner.torch for a graph whose adjacency is split over the ranks of a group, and for mini-batches sampled from all of it.

A hop of a window of mini-batches is four exchanges: how many nodes are requested from each rank, which, how many neighbors each node gets, and these.
The sample of a node is a function of seed, mini-batch, hop and node, whichever rank has its list: mini-batches are those of the graph in one place.
"""
from __future__ import annotations

import concurrent.futures
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from . import _checks
from ._arguments import has_old_names, takes_old_names
from ._garner import SampledSubgraph, Graph, GraphPart, SplitSampler
from .errors import RankError, UsageError
from .ranks import Ranks, ranks as ranks_of

most_together = 64  # mini-batches of a window


@has_old_names
class RemoteGraph:
    """Made by garner.torch.remote_graph: a graph of len() nodes, of which this rank has the lists of `count` from `first` on, by their positions
    among Graph.ids(). `report`: since it was made: windows, nodes that were requested, of these those of others, and the bytes that crossed."""

    def __init__(self, part: GraphPart, ranks: Ranks, ends: list[int]) -> None:
        self.part, self.group = part, ranks
        self.first, self.count = part.first, len(part)
        self.begins = torch.tensor([0, *ends])
        self.edges = part.num_edges
        # Ids are half as long where they fit.
        self.wire = torch.int32 if len(self) < 1 << 31 else torch.int64
        self.report = {"windows": 0, "requested": 0, "remote": 0, "bytes": 0}
        self._at: tuple[str, str | None] | None = None

    def __len__(self) -> int:
        return int(self.part.num_nodes)

    @property
    def nbytes(self) -> int:
        return int(self.part.nbytes)

    @takes_old_names
    def to(self, device: Any, edges: str | None = None) -> RemoteGraph:
        """As Graph.to, of this rank's lists; before loaders are made of it."""
        if self._at != (str(device), edges):
            self.part.to(device, edges)
            self._at = str(device), edges
        return self


class Draws:
    """The mini-batches of one loader. All its calls are made by all ranks."""

    def __init__(self, graph: RemoteGraph, fanouts: Sequence[int], device: Any, options: dict[str, Any], said: str) -> None:
        self.graph, ranks = graph, graph.group
        told = "".join(f", {name}={value!r}" for name, value in sorted(options.items()) if name != "adjacency")
        made: tuple[SplitSampler, list[str]] = _made_alike(
            ranks, lambda: SplitSampler(graph.part, fanouts, device=device, **options), lambda _: f"fanouts {list(fanouts)}, {said}{told}")
        self.sampler = made[0]
        ranks.same("loader()", made[1], "use the same in all")
        self._ids = ranks.another() if ranks.size > 1 else None
        self._edge_ids = bool(options.get("edge_ids"))
        self._one = threading.Lock()  # iterators at the same time have a thread each

    def window(self, seeds: Sequence[torch.Tensor], number: int) -> list[SampledSubgraph]:
        """Mini-batches number, number + 1 ... of these seeds, sampled together. Ranks may be in windows of different epochs at the same time: each
        samples by the numbers of a request, and all have as many hops."""
        with self._one:
            self.graph.report["windows"] += 1
            self.sampler.begin([one.numpy() for one in seeds], number)
            while (request := self.sampler.requests()) is not None:
                hop, vertices, batches = request
                self.sampler.complete(*self._drawn(number, hop, torch.from_numpy(vertices), torch.from_numpy(batches)))
            return list(self.sampler.finish())

    def windows(self, seeds: torch.Tensor, order: torch.Tensor, batch_size: int, window: int, number: int) -> Iterator[list[tuple[SampledSubgraph, torch.Tensor]]]:
        """The windows of an epoch that takes the seeds in this order: each mini-batch's sample, and which of the seeds it is of. number: of the first."""
        taken = torch.split(order, batch_size) if len(order) else ()
        for first in range(0, len(taken), window):
            some = taken[first:first + window]
            yield list(zip(self.window([seeds[which] for which in some], number + first), some))

    def _drawn(self, number: int, hop: int, vertices: torch.Tensor, batches: torch.Tensor) -> tuple[Any, Any, Any]:
        """The samples of these nodes from their owners, in the order of the nodes; this rank samples for all requests that it gets."""
        graph, ranks = self.graph, self.graph.group
        each = [1] * ranks.size
        owner = torch.searchsorted(graph.begins, vertices, right=True) - 1
        order = torch.argsort(owner, stable=True)  # and of an owner by mini-batch, as they stand
        asked = torch.bincount(owner * most_together + batches, minlength=ranks.size * most_together).reshape(ranks.size, most_together)
        head = torch.tensor([number, hop]).expand(ranks.size, 2)
        of_all = ranks.start(torch.cat([head, asked], 1), each, each, self._ids).wait()
        numbers, hops, asked_here = of_all[:, 0].tolist(), of_all[:, 1].tolist(), of_all[:, 2:]
        ranks.same("loader()", [f"hop {h} to draw" for h in hops], "call what draws in all ranks, in one order")
        take, give = asked.sum(1).tolist(), asked_here.sum(1).tolist()
        wanted = ranks.start(vertices[order].to(graph.wire), take, give, self._ids).wait().to(torch.int64)
        which = torch.repeat_interleave(torch.arange(most_together).repeat(ranks.size), asked_here.reshape(-1))

        counts, neighbours, edges = self._for_all(numbers, hop, wanted, which, give)
        came = ranks.start(counts.to(torch.int32), give, take, self._ids).wait().to(torch.int64)
        rows = torch.stack([neighbours, edges], 1) if self._edge_ids else neighbours.to(graph.wire)
        given, taken = (_sums(of, by) for of, by in ((counts, give), (came, take)))
        drawn = ranks.start(rows, given, taken, self._ids).wait().to(torch.int64)

        remote = len(vertices) - take[ranks.rank]
        graph.report["requested"] += len(vertices)
        graph.report["remote"] += remote
        graph.report["bytes"] += remote * (graph.wire.itemsize + 4) + (len(drawn) - taken[ranks.rank]) * math.prod(rows.shape[1:]) * rows.itemsize
        back = torch.empty_like(order)  # where each vertex's stand among what came
        back[order] = torch.arange(len(order))
        begins = torch.cumsum(came, 0) - came
        of_vertex = came[back]
        at = torch.repeat_interleave(begins[back] - (torch.cumsum(of_vertex, 0) - of_vertex), of_vertex)
        drawn = drawn.index_select(0, at + torch.arange(len(at)))
        if not self._edge_ids:
            return of_vertex.numpy(), drawn.numpy(), None
        return of_vertex.numpy(), drawn[:, 0].contiguous().numpy(), drawn[:, 1].contiguous().numpy()

    def _for_all(self, numbers: list[int], hop: int, vertices: torch.Tensor, batches: torch.Tensor, each: list[int]) -> list[torch.Tensor]:
        """Samples together where the mini-batches of all have the same numbers, as those of garner.torch.loader have; else one rank after the other."""
        if len(set(numbers)) == 1:
            numbers, each = numbers[:1], [len(vertices)]
        drawn = [self.sampler.sample(number, hop, of.numpy(), which.numpy())
                 for number, of, which in zip(numbers, torch.split(vertices, each), torch.split(batches, each))]
        return [torch.from_numpy(np.concatenate(some) if len(some) > 1 else some[0]) for some in zip(*drawn)]


def _sums(numbers: torch.Tensor, counts: list[int]) -> list[int]:
    """Sums of the first counts[0] of them, the next counts[1] ..."""
    return [int(some.sum()) for some in torch.split(numbers, counts)]


def windows_ahead(windows: Iterator[Any]) -> Iterator[Any]:
    """What each of them holds, one after the other; the next is made by a thread meanwhile."""
    with concurrent.futures.ThreadPoolExecutor(1, "garner-remote") as thread:
        coming = thread.submit(next, windows, None)
        try:
            while (window := coming.result()) is not None:
                coming = thread.submit(next, windows, None)
                yield from window
        finally:  # nothing of this is under way when the next begins
            coming.exception()


def remote_graph(mine: Any, group: Any = None, *, side: str = "in", balance: str = "edges", weighted: bool = False, timeout: float = 60) -> RemoteGraph:
    """A graph whose lists are split over the ranks of a group, in contiguous blocks of nodes in the order of ranks: each keeps its own.

        g = garner.torch.remote_graph(garner.open("g.gnr", edges="file"))      # under torchrun: no more of the lists is ever in memory
        for batch in garner.torch.loader(g, [15, 10, 5], train, x=x, y=labels, batch_size=1024):
            ...                                           # as of the whole graph on every machine, the same mini-batches

    mine: a Graph that all ranks have opened, of which the part is copied, so that it may go then; or this rank's block as (offsets, targets) or
    (offsets, targets, weights): tensors or arrays, targets by their positions among all nodes; a list holds what its node draws.
    side: of a Graph: 'in': a node draws those whose edges lead to it; 'out'. balance: parts have as many 'edges' each, or 'nodes'.
    weighted: keeps a Graph's weights, for loaders that use weighted=True. timeout: as of garner.torch.ranks.
    Each hop of a window of mini-batches asks the owners of its nodes, in four exchanges, on a thread while others are learned from.
    Result: RemoteGraph; its calls are made by all ranks. Errors: RankError names ranks with another graph (sizes, lengths of lists and order
    are compared) or whose arrays are wrong; UsageError, IdError, InputError.
    """
    all_ranks = ranks_of(group, timeout=timeout)
    how = f"a Graph, side={side!r}, balance={balance!r}, weighted={bool(weighted)}"

    def kind_and_size(given: Any) -> Any:
        if isinstance(given, Graph):
            return [how, [0, 0]]
        return ["lists with weights" if len(given) == 3 else "lists", [max(0, len(given[0]) - 1), len(given[1])]]

    given, said = _made_alike(all_ranks, lambda: _given(mine), kind_and_size)
    all_ranks.same("remote_graph()", [kind for kind, _ in said], "give all ranks the same")
    sizes = [size for _, size in said]
    before, in_all = ([sum(of) for of in zip([0, 0], *some)] for some in (sizes[:all_ranks.rank], sizes))

    def part_of() -> GraphPart:
        if isinstance(given, Graph):
            return GraphPart(given, all_ranks.rank, all_ranks.size, side, balance, weighted)
        offsets, targets, *weights = given
        return GraphPart.of_arrays(before[0], in_all[0], before[1], in_all[1], offsets, targets, *weights)

    part, said = _made_alike(
        all_ranks, part_of, lambda part: [f"{part.num_nodes} vertices and {part.num_edges} edges, digest {part.digest:016x}", len(part)])
    all_ranks.same("graph", [graph for graph, _ in said], "open the same file in all")
    return RemoteGraph(part, all_ranks, [int(end) for end in np.cumsum([count for _, count in said])])


def _given(mine: Any) -> Any:
    """A Graph, or arrays of one dimension."""
    if isinstance(mine, Graph):
        return mine
    if not isinstance(mine, (tuple, list)) or len(mine) not in (2, 3):
        raise TypeError(f"remote_graph(): a {type(mine).__name__} is neither a Graph nor (offsets, targets) or (offsets, targets, weights)")
    arrays = [_checks.host(one, f"remote_graph(): {name}") for name, one in zip(("offsets", "targets", "weights"), mine)]
    for name, one in zip(("offsets", "targets", "weights"), arrays):
        if one.ndim != 1:
            raise UsageError(f"remote_graph(): {name} of shape {one.shape}; give one dimension")
    return arrays


def _made_alike(ranks: Ranks, make: Callable[[], Any], say: Callable[[Any], Any]) -> tuple[Any, list[Any]]:
    """The object that each rank makes, and the descriptions of all. Where one rank fails to make it, all raise its error, and no rank waits."""
    made, mistake, mine = None, None, None
    try:
        made = make()
        mine = say(made)
    except Exception as e:
        mistake = e
    said = ranks.all_gather(["" if mistake is None else f"{type(mistake).__name__}: {mistake}", mine])
    if mistake is not None:
        raise mistake
    for name, (problem, _) in zip(ranks.names, said):
        if problem:
            raise RankError(f"{name}: {problem}")
    return made, [of for _, of in said]
