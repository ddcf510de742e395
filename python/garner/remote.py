"""The part of garner.torch for feature rows that are split over the ranks of a group, or over machines, and come as mini-batches need them."""
from __future__ import annotations

import concurrent.futures
import contextlib
import math
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from . import _checks
from ._arguments import has_old_names
from .errors import IdError, UsageError
from .ranks import Ranks, Work, ranks as ranks_of
from .tables import Tiered


class _Asked:
    """Mini-batches whose ids have been exchanged: which of their rows each rank gives to this one, and what this one gives."""

    def __init__(self, batches: list[Any], of: list[torch.Tensor], rows: torch.Tensor, give: list[int], take: list[int]) -> None:
        self.batches, self.of, self.rows, self.give, self.take = batches, of, rows, give, take


@has_old_names
class RemoteRows:
    """Made by garner.torch.remote_rows: a table of `shape`, of which this rank has the rows from `first` on. `report`: since it was made: windows,
    ids that were requested, rows of them that came (once per window), of these those of others, their bytes, and ms that the caller waited."""

    def __init__(self, mine: Any, ranks: Ranks, device: Any, wire: torch.dtype | None) -> None:
        self._mine, self.group = mine, ranks
        one = self._rows_at(torch.zeros(min(1, len(mine)), dtype=torch.int64))
        said = [list(one.shape[1:]), str(one.dtype)] if len(mine) else None
        counts = ranks.all_gather([len(mine), said])
        kinds = [kind for _, kind in counts if kind]
        if not kinds:
            raise UsageError("remote_rows(): no rank has rows; give each its block")
        ranks.require_same("rows", str(said or kinds[0]), "give all ranks rows of one shape and dtype")
        self.begins = torch.tensor([0, *np.cumsum([count for count, _ in counts])])
        self.first = int(self.begins[ranks.rank])
        self.dtype = getattr(torch, kinds[0][1].removeprefix("torch."))
        self.shape = torch.Size([int(self.begins[-1]), *kinds[0][0]])
        self.device, self.wire = torch.device(_checks.device(device)), wire or self.dtype
        self._spare: list[Any] = [ranks.another() if ranks.size > 1 else None]
        self._stream: Any = torch.cuda.Stream(self.device) if self.device.type == "cuda" else None  # type: ignore[no-untyped-call, unused-ignore]
        self.report = {"windows": 0, "requested": 0, "rows": 0, "remote_rows": 0, "bytes": 0, "waited_ms": 0.0}

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, ids: Any) -> torch.Tensor:
        """Rows of these ids, in their order. All ranks call it, each with its own ids."""
        ids = self._ids(ids)
        return self.gather_many([ids.reshape(-1)])[0].reshape(*ids.shape, *self.shape[1:])

    def gather_many(self, batches: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Rows of several mini-batches: each crosses once for all of them. All ranks call it."""
        with self._asking() as by:
            asked = self._ask([(None, self._ids(ids)) for ids in batches], by)
        return self._apart(asked, self._bring(asked))

    def prefetch(self, batches: Iterator[Any], window: int = 8) -> Iterator[Any]:
        """The same mini-batches, their rows as `x`, by `n_id`: while those of one window are learned from, the rows of the next come, and the ids of
        the one behind it are sampled and exchanged by a thread. All ranks have as many mini-batches, and stop behind the same one."""
        for batch, (x,) in rows_ahead([self], ((batch, [batch.n_id]) for batch in batches), window):
            batch.x = x
            yield batch

    def _ids(self, ids: Any) -> torch.Tensor:
        found: torch.Tensor = _checks.tensor(ids, "ids")
        return found.nonzero().flatten() if _checks.is_mask(found, len(self)) else found

    # --- the steps of a window

    def _rows_at(self, at: torch.Tensor) -> torch.Tensor:
        if isinstance(self._mine, np.ndarray):
            return torch.from_numpy(self._mine[at.cpu().numpy()])
        if isinstance(self._mine, torch.Tensor) and not isinstance(self._mine, Tiered):
            return self._mine.index_select(0, at.to(self._mine.device))
        found: torch.Tensor = self._mine[at]
        return found

    @contextlib.contextmanager
    def _asking(self) -> Iterator[Any]:
        """Connections by which ids cross, for one alone: threads that ask ahead for several epochs do so in another order in each rank. All ranks
        begin and end with them in one order."""
        by = self._spare.pop() if self._spare else self.group.another() if self.group.size > 1 else None
        try:
            yield by
        finally:
            self._spare.append(by)

    def _ask(self, batches: list[tuple[Any, torch.Tensor]], by: Any) -> _Asked:
        if self._stream is None:
            return self._asked(batches, by)
        self._stream.wait_stream(torch.cuda.current_stream(self.device))  # which makes the ids
        with torch.cuda.stream(self._stream):
            asked = self._asked(batches, by)
            self._stream.synchronize()
            return asked

    def _asked(self, batches: list[tuple[Any, torch.Tensor]], by: Any) -> _Asked:
        every = torch.cat([ids.reshape(-1).to(self.device, torch.int64) for _, ids in batches])
        wanted, of = torch.unique(every, return_inverse=True)
        if len(wanted) and (int(wanted[0]) < 0 or int(wanted[-1]) >= len(self)):
            wrong = int(wanted[0]) if int(wanted[0]) < 0 else int(wanted[-1])
            raise IdError(f"row {wrong} of {len(self)}: give ids of 0 to {len(self) - 1}")
        take = torch.searchsorted(wanted, self.begins.to(self.device)).diff().cpu()
        give = self.group.start(take, [1] * self.group.size, [1] * self.group.size, by).wait().tolist()
        asked = self.group.start(wanted.cpu(), take.tolist(), give, by).wait() - self.first
        rows = self._rows_at(asked.to(self.device)).to(self.device, self.wire)
        self.report["windows"] += 1
        self.report["requested"] += len(every)
        self.report["rows"] += len(wanted)
        remote = len(wanted) - int(take[self.group.rank])
        self.report["remote_rows"] += remote
        self.report["bytes"] += remote * math.prod(self.shape[1:]) * self.wire.itemsize
        return _Asked(batches, list(of.split([ids.numel() for _, ids in batches])), rows, give, take.tolist())

    def _bring(self, asked: _Asked) -> Work:
        if self._stream is not None:  # made on that stream, used on this one
            for one in (asked.rows, *asked.of):
                one.record_stream(torch.cuda.current_stream(self.device))
        return self.group.start(asked.rows, asked.give, asked.take)

    def _apart(self, asked: _Asked, under_way: Work) -> list[torch.Tensor]:
        began = time.perf_counter()
        rows = under_way.wait()
        self.report["waited_ms"] += (time.perf_counter() - began) * 1e3
        return [rows.index_select(0, of).to(self.dtype) for of in asked.of]


def rows_ahead(tables: Sequence[RemoteRows], batches: Iterator[tuple[Any, Sequence[torch.Tensor]]], window: int) -> Iterator[tuple[Any, list[torch.Tensor]]]:
    """The mini-batches and their rows, from mini-batches and ids in each of the tables. As RemoteRows.prefetch."""
    first = tables[0]

    def drawn() -> list[_Asked] | None:
        some = [one for _, one in zip(range(window), batches)]
        return [table._ask([(batch, ids[k]) for batch, ids in some], by[k]) for k, table in enumerate(tables)] if some else None

    def bring(asked: list[_Asked]) -> list[Work]:
        return [table._bring(one) for table, one in zip(tables, asked)]

    with contextlib.ExitStack() as held, concurrent.futures.ThreadPoolExecutor(1, "garner-remote") as thread:
        by = [held.enter_context(table._asking()) for table in tables]
        asked = thread.submit(drawn).result()
        under_way = [] if asked is None else bring(asked)
        coming = thread.submit(drawn)
        try:
            while asked is not None:
                rows = [table._apart(one, work) for table, one, work in zip(tables, asked, under_way)]
                began = time.perf_counter()
                behind = coming.result()
                first.report["waited_ms"] += (time.perf_counter() - began) * 1e3
                under_way = [] if behind is None else bring(behind)  # in all ranks here, so that what is given to devices is in one order
                if behind is not None:
                    coming = thread.submit(drawn)
                for k, (batch, _) in enumerate(asked[0].batches):
                    yield batch, [of[k] for of in rows]
                asked = behind
        finally:  # nothing of this is under way when the next begins
            coming.exception()
            for work in under_way:
                work.wait()


def remote_rows(mine: Any, group: Any = None, *, by: str = "rank", wire: str | None = None, device: Any = None, timeout: float = 60) -> RemoteRows:
    """A table whose rows are split over the ranks of a group, or over machines, in contiguous blocks in the order of ranks.

        x = garner.torch.remote_rows(torch.from_numpy(block))                  # this rank's rows; under torchrun
        for batch in garner.torch.loader(g, [15, 10, 5], train, x=x, y=labels, batch_size=1024):
            ...                                           # batch.x as ever; each row crosses once per window of mini-batches, while others are learned from

    mine: this rank's block: a tensor, a NumPy array, a table of garner.tiered. by='machine': the block is the machine's: its processes give the same
    one (of garner.shared, over peers), and each requests rows of other machines from the process there that has its LOCAL_RANK.
    wire: 'bf16', 'f16': what float32 rows are rounded to while they cross. device: where rows come to: None: with NCCL torch's current GPU, else
    the CPU. timeout: as of garner.torch.ranks. The loader's loading=dict(window=16) says how many mini-batches are a window.
    Result: RemoteRows; its calls are made by all ranks. Errors: RankError, UsageError; IdError for an id outside the table.
    """
    if by not in ("rank", "machine"):
        raise UsageError(f"by={_checks.told(by)}: use rank or machine")
    if not hasattr(mine, "shape") or len(mine.shape) < 1:
        raise UsageError(f"mine: a {type(mine).__name__}; give this rank's rows, as a tensor, an array or a table of garner.tiered")
    wires = {None: None, "f32": None, "bf16": torch.bfloat16, "f16": torch.float16}
    if wire not in wires:
        raise UsageError(f"wire '{wire}': use f32, bf16 or f16")
    if wires[wire] is not None and str(mine.dtype).removeprefix("torch.") != "float32":
        raise UsageError(f"wire '{wire}' of rows of {mine.dtype}: it is for float32")
    all_ranks = ranks_of(group, timeout=timeout)
    if by == "machine" and all_ranks.size > 1:
        all_ranks = ranks_of(_rail(all_ranks), timeout=timeout)
    if device is None:
        device = torch.device("cuda", torch.cuda.current_device()) if all_ranks.size > 1 and all_ranks.on_devices else "cpu"
    return RemoteRows(mine, all_ranks, device, wires[wire])


_rails: dict[Ranks, Any] = {}


def _rail(all_ranks: Ranks) -> Any:
    """The group of those that have this process's number on their machines."""
    if all_ranks.group is not None:
        raise UsageError("by='machine' is of all ranks; leave group= out")
    if all_ranks in _rails:
        return _rails[all_ranks]
    numbers = all_ranks.all_gather(int(os.environ.get("LOCAL_RANK", "-1")))
    rails = [[k for k, n in enumerate(numbers) if n == number] for number in sorted(set(numbers))]
    if numbers[0] < 0 or any(len(rail) != len(rails[0]) for rail in rails):
        raise UsageError(f"by='machine': LOCAL_RANK of all ranks is {numbers}; start as many processes on each machine, by torchrun")
    made = [dist.new_group(rail) for rail in rails]
    _rails[all_ranks] = next(one for one, rail in zip(made, rails) if all_ranks.rank in rail)
    return _rails[all_ranks]
