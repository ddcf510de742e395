"""The part of garner.torch for a graph split over processes: a part of it in each process of a group of torch.distributed, and aggregation over all parts."""
from __future__ import annotations

import math
from typing import Any

import torch

from . import _checks, _garner
from ._arguments import has_old_names, spoken, takes_old_names
from ._garner import Graph
from .errors import UsageError
from .ranks import Ranks, Work, ranks as ranks_of

_wires = {None: torch.float32, "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


@has_old_names
class Shard:
    """Made by garner.torch.shard: this rank's part of a graph. len(): its nodes; `nodes`: their positions among Graph.ids(), by which rows,
    labels and masks of the part are taken. rank, ranks; `report`: its edges' share in rows: brought and given, forward."""

    def __init__(self, graph: Graph, ranks: Ranks, side: str, weighted: bool, balance: str, deterministic: bool, wire: str | None, adjacency: str, device: Any) -> None:
        if wire not in _wires:
            raise UsageError(f"wire '{wire}': use f32, bf16 or f16")
        if adjacency not in ("device", "host"):
            raise UsageError(f"adjacency '{adjacency}': use device or host")
        self.group, self.rank, self.ranks = ranks, ranks.rank, ranks.size
        if device is None:
            device = torch.cuda.current_device() if torch.cuda.is_available() and _garner.info()["devices"] else "cpu"
        self.device = torch.device("cpu" if device == "host" else _checks.device(device))
        if self.device.type == "cuda" and self.device.index is None:  # as rows name it
            self.device = torch.device("cuda", torch.cuda.current_device())
        self.wire = _wires[wire] if ranks.size > 1 else torch.float32
        self._at: _garner.ShardAggregation = spoken(_garner.ShardAggregation, "torch.shard")(
            graph, ranks.rank, ranks.size, side, weighted, balance, deterministic, adjacency == "host", self.device)
        self.nodes = torch.from_numpy(self._at.positions())
        self.first = self._at.first
        self._plan = [self._ask(False)]
        self._plan.append(self._plan[0] if self._at.symmetric else self._ask(True))
        self._kept: tuple[torch.Tensor, torch.Tensor] | None = None
        self._widths: set[int] = set()
        self.report = {"brought": sum(self._plan[0][2]), "given": sum(self._plan[0][1])}

    def __len__(self) -> int:
        return int(self._at.count)

    def _ask(self, back: bool) -> tuple[torch.Tensor, list[int], list[int]]:
        """Which of its rows it gives, one rank's after the other; how many to each; how many come of each."""
        counts, rows = (torch.from_numpy(found) for found in self._at.needs(back))
        take = counts.tolist()
        give = [others[self.rank] for others in self.group.all_gather(take)]
        asked = self.group.start(rows.to(self.device), take, give).wait()
        return asked, give, take

    def cache(self, rows: torch.Tensor) -> torch.Tensor:
        """Rows that never change, as those of the table: others' come now, once, and no aggregation of this tensor exchanges any. All ranks."""
        self._refuse(rows)
        if rows.device != self.device:  # no other rank has any
            return rows
        self._kept = (rows, self._started(rows.detach(), False).wait().to(torch.float32))
        return rows

    def _refuse(self, rows: Any) -> None:
        if not isinstance(rows, torch.Tensor) or rows.dtype != torch.float32 or rows.dim() < 1 or len(rows) != len(self):
            said = f"{rows.dtype} of shape {tuple(rows.shape)}" if isinstance(rows, torch.Tensor) else type(rows).__name__
            raise UsageError(f"rows: {said}; give a tensor of float32, a row for each of the part's {len(self)} vertices")
        if rows.device != self.device and (rows.device.type != "cpu" or self.ranks > 1):
            raise UsageError(f"rows: on {rows.device}, and the part on {self.device}; bring them there, or use device= to garner.torch.shard")
        width = math.prod(rows.shape[1:])
        if width not in self._widths:  # ranks that differ would wait for each other
            self.group.require_same("rows", f"{width} columns", "give all ranks rows of one width, in one order of calls")
            self._widths.add(width)

    def _started(self, rows: torch.Tensor, back: bool) -> Work:
        asked, give, take = self._plan[back]
        return self.group.start(rows.index_select(0, asked).to(self.wire), give, take)

    def _summed(self, how: str, back: bool, rows: torch.Tensor) -> torch.Tensor:
        if rows.device != self.device:
            rows = rows.contiguous()
            out = torch.empty_like(rows, pin_memory=torch.cuda.is_available())
            self._at.reduce_host(how, back, rows.data_ptr(), out.data_ptr(), math.prod(rows.shape[1:]))
            return out
        stream = 0 if self.device.type == "cpu" else torch.cuda.current_stream(self.device).cuda_stream or 1  # 1: the default one by name
        kept = self._kept if not back else None
        there = kept is not None and (kept[0] is rows or kept[0].data_ptr() == rows.data_ptr() and kept[0].shape == rows.shape)
        rows = rows.contiguous()
        out, columns = torch.empty_like(rows), math.prod(rows.shape[1:])
        under_way = None if there else self._started(rows, back)
        self._at.begin(how, back, rows.data_ptr(), out.data_ptr(), columns, stream)
        brought = kept[1] if kept is not None and under_way is None else under_way.wait().to(torch.float32)  # type: ignore[union-attr]
        self._at.finish(how, back, rows.data_ptr(), brought.data_ptr(), out.data_ptr(), columns, stream)
        return out


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, shard: Shard, how: str) -> torch.Tensor:
        ctx.shard, ctx.how = shard, how
        return shard._summed(how, False, rows)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return ctx.shard._summed(ctx.how, True, gradient), None, None


def aggregate_over(shard: Shard, rows: torch.Tensor, how: str) -> torch.Tensor:
    """garner.torch.aggregate of a Shard."""
    shard._refuse(rows)
    return _Sum.apply(rows, shard, how)  # type: ignore[no-any-return, no-untyped-call, unused-ignore]


@takes_old_names
def shard(graph: Graph, group: Any = None, *, side: str = "in", weighted: bool = False, balance: str = "edges", deterministic: bool = False,
          wire: str | None = None, adjacency: str = "device", device: Any = None, timeout: float = 60) -> Shard:
    """This process's part of a graph that all processes of a group have opened, for training on the whole graph without sampling.

        part = garner.torch.shard(g)                      # under torchrun, after torch.distributed.init_process_group()
        x, y = features[part.nodes], labels[part.nodes]
        h = garner.torch.aggregate(x, part, "mean")       # over all neighbors, whoever has them; with gradients

    Parts are contiguous in the graph's order, with as many edges each (balance='nodes': nodes). What a part needs of another's rows crosses
    once an aggregation, by one all-to-all; gradients come back the same way. All ranks make the same calls in the same order.
    side: 'in': a node takes up those whose edges lead to it. deterministic: edges are summed in the order of the adjacency, so
    that any number of ranks up to 48 gives the same bits; else own rows are summed while those of others come, which is faster. wire: what rows of others are rounded to: 'bf16', 'f16'.
    adjacency: 'host': it stays in host memory, and comes to the GPU for every aggregation. Rows of one rank may be in host memory too, as the result
    is then, pinned by torch, which rounds its bytes up to a power of two and keeps them for later results. The GPU takes 64 columns at a time; from
    pinned memory (rows.pin_memory()) they come faster.
    device: where rows lie: None: torch's current GPU, else the CPU. timeout: as of garner.torch.ranks.
    Result: Shard. Errors: RankError names ranks with another Garner or another graph; UsageError.
    """
    if not isinstance(graph, Graph):
        raise TypeError(f"shard(): graph={_checks.told(graph)} is not a Graph; make one with garner.build, open, read or generate")
    all_ranks = ranks_of(group, timeout=timeout)
    all_ranks.require_same("graph", f"{graph.info.num_nodes} vertices and {graph.info.num_edges} edges, digest {graph.digest():016x}", "open the same file in all")
    all_ranks.require_same("shard()", f"{side} {balance} {'deterministic' if deterministic else 'fast'} {wire}{' weighted' if weighted else ''}", "use the same in all")
    return Shard(graph, all_ranks, side, weighted, balance, deterministic, wire, adjacency, device)
