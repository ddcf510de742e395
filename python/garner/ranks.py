"""The processes of a group of torch.distributed: checks that they fit together, exchanges rows, and finds a rank that is dead or timed out.

Twice per second each rank writes a number and how many exchanges it has begun to the group's store. The ranks read that only when something
fails. A rank whose number stands still is dead, and one whose exchanges are behind timed out. The first rank that finds it writes it for all.
"""
from __future__ import annotations

import atexit
import contextlib
import datetime
import gc
import hashlib
import json
import math
import os
import pathlib
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any

import torch
import torch.distributed as dist

from . import _garner
from ._arguments import has_old_names
from .errors import Error, RankError, UsageError

_beat_seconds = 0.5


def build_said() -> str:
    """What this Garner is: its version, and a digest of the files that it consists of."""
    sums = hashlib.sha256()
    for file in sorted(pathlib.Path(__file__).parent.glob("*")):
        if file.suffix in (".py", ".so"):
            sums.update(file.name.encode() + file.read_bytes())
    return f"{_garner._version()} ({sums.hexdigest()[:12]})"


class Work:
    """Rows that are under way: wait() gives those that came."""

    def __init__(self, ranks: Ranks, came: torch.Tensor, work: Any, given: Any, kind: torch.dtype, shape: tuple[int, ...]) -> None:
        self._ranks, self._came, self._work, self._given, self._kind, self._shape = ranks, came, work, given, kind, shape

    def done(self) -> bool:
        return self._work is None or bool(self._work.is_completed())

    def wait(self) -> torch.Tensor:
        if self._work is not None:
            with self._ranks.named():
                self._work.wait()
            self._work = self._given = None
        return self._came.view(self._kind).reshape(-1, *self._shape)


@has_old_names
class Ranks:
    """Made by garner.torch.ranks. All its calls are made by all ranks of the group, in one order."""

    def __init__(self, group: Any, timeout: float, silence: float) -> None:
        if not timeout > 0 or not silence > 0:
            raise UsageError(f"timeout={timeout}, silence={silence}: use seconds, more than 0")
        self.group, self.timeout, self.silence = group, timeout, silence
        self.rank, self.size, self.exchanges, self.names, self._others = 0, 1, 0, ["rank 0"], 0
        self._failed, self._ended, self._waits_since, self.world = "", threading.Event(), time.monotonic(), _world()
        self._under_way: weakref.WeakSet[Work] = weakref.WeakSet()
        if self.world is None:
            if int(os.environ.get("WORLD_SIZE", "1")) > 1:
                raise UsageError("torch.distributed has not begun; call torch.distributed.init_process_group() in all ranks first")
            return
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        if self.rank < 0:
            raise UsageError("this process is outside of the group; call it in the group's ranks alone")
        if self.size == 1:
            return
        self.names = [f"rank {k}" for k in range(self.size)]
        backend = str(dist.get_backend(group))  # without a word for one: of both
        self.on_devices = "nccl" in backend or (backend == "undefined" and torch.cuda.is_available())
        self.members = list(range(self.size)) if group is None else dist.get_process_group_ranks(group)
        self._store = _store_of(self.members)
        threading.Thread(target=_beat, args=(weakref.ref(self), self._store, self.rank, self._ended), daemon=True, name="garner-ranks").start()
        atexit.register(_end, weakref.ref(self))
        self._tell = self.another()
        self._rows = self._of_devices() if self.on_devices else self._tell
        self.names = self.all_gather(f"rank {self.rank} ({socket.gethostname()}, process {os.getpid()})")
        self.require_same("garner", build_said(), "install one wheel in all")

    def another(self) -> Any:
        """Gloo's connections between these ranks, once more: what goes on in two at a time does not meet. (dist.new_group() of some ranks
        alone names groups by what else a rank is in, so that ranks wait for each other.)"""
        self.exchanges += 1
        self._others += 1
        with self.named():
            return dist.ProcessGroupGloo(torch._C._distributed_c10d.PrefixStore(f"gloo/{self._others}", self._store), self.rank, self.size, datetime.timedelta(seconds=self.timeout))

    def _of_devices(self) -> Any:
        if self.group is not None:
            return self.group
        self.exchanges += 1
        with self.named():
            return dist.new_group(backend="nccl", timeout=datetime.timedelta(seconds=self.timeout))

    def all_gather(self, mine: Any) -> list[Any]:
        """What each rank says, to all."""
        if self.size == 1:
            return [mine]
        text = torch.frombuffer(bytearray(json.dumps(mine).encode()), dtype=torch.uint8)
        bytes_of = self.start(torch.full((self.size,), len(text)), [1] * self.size, [1] * self.size, self._tell).wait().tolist()
        said = self.start(text.repeat(self.size), [len(text)] * self.size, bytes_of, self._tell).wait()
        return [json.loads(bytes(one.numpy())) for one in torch.split(said, bytes_of)]

    def require_same(self, what: str, mine: Any, advice: str) -> None:
        """RankError in all ranks where some use another thing than most."""
        self.same(what, self.all_gather(mine), advice)

    def same(self, what: str, said: Sequence[str], advice: str) -> None:
        """The same of what all ranks have said already."""
        most = max(said, key=said.count)
        others = [k for k in range(self.size) if said[k] != most]
        if others:
            raise RankError(f"{what}: {self._named(others)} {'have' if len(others) > 1 else 'has'} {said[others[0]]}, "
                            f"{self._named([k for k in range(self.size) if k not in others])} {most}; {advice}")

    def start(self, rows: torch.Tensor, send: list[int], receive: list[int], group: Any = None) -> Work:
        """send[k] of these rows, one rank's after the other, go to rank k, and receive[k] rows come from there; of any dtype. group: another()."""
        shape, kind = tuple(rows.shape[1:]), rows.dtype
        if self.size == 1:
            return Work(self, rows.contiguous(), None, None, kind, shape)
        wide = math.prod(shape)  # they are moved, and nothing else
        flat = rows.contiguous().reshape(len(rows), wide).view(torch.uint8) if rows.numel() else rows.new_empty((len(rows), wide * rows.itemsize), dtype=torch.uint8)
        came = flat.new_empty((sum(receive), flat.shape[1]))
        self.exchanges += 1
        with self.named():
            under_way = (group or (self._tell if rows.device.type == "cpu" else self._rows)).alltoall_base(came, flat, receive, send, dist.AllToAllOptions())
        work = Work(self, came, under_way, flat, kind, shape)
        self._under_way.add(work)
        return work

    @contextlib.contextmanager
    def named(self) -> Iterator[None]:
        """A context for work that fails when another rank is dead or timed out: the error is a RankError then."""
        if self._failed:
            raise RankError(self._failed)
        try:
            yield
        except RuntimeError as e:
            if isinstance(e, Error):
                raise
            raise self.why(e) from e

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.size == 1 or error is None or isinstance(error, RankError):
            return
        if isinstance(error, RuntimeError) and not isinstance(error, Error) and any(word in str(error) for word in _of_collectives):
            raise self.why(error) from error
        _within(3, lambda: self._say(f"{self.names[self.rank]}: has stopped: {type(error).__name__}: {error}"))

    # --- ranks that are dead or timed out

    def why(self, error: BaseException) -> RankError:
        """An error of a collective, once one has looked at the others."""
        def found() -> str:
            said = self._failed or self._verdict() or self._silent() or self._late() or f"{self.names[self.rank]}: {str(error).splitlines()[0]}"
            return self._failed or self._say(said)

        self._failed = _within(self.silence + 3, found) or (
            "the store of torch.distributed does not respond; the process that keeps it (rank 0, or torchrun on its machine) is dead or cannot be reached; "
            "begin anew, from the last checkpoint")
        return RankError(self._failed)

    def _named(self, ranks: Sequence[int]) -> str:
        if len(ranks) <= 2:
            return " and ".join(self.names[k] for k in ranks)
        return "ranks " + ", ".join(map(str, ranks[:16])) + (f" and {len(ranks) - 16} more" if len(ranks) > 16 else "")

    def _say(self, verdict: str) -> str:
        """The first verdict is everybody's; it comes before "left", by which others would take this rank for one that ended."""
        try:
            first = str(self._store.compare_set("verdict", "", verdict).decode())
            self._store.set(f"left/{self.rank}", verdict)
            return first
        except Exception:  # the store is dead
            return verdict

    def _verdict(self) -> str:
        return str(self._store.get("verdict").decode()) if self._store.check(["verdict"]) else ""

    def _left(self, rank: int) -> bool:
        return bool(self._store.check([f"left/{rank}"]))

    def _beats(self) -> list[list[int]]:
        """How often each rank has written to the store, and how many exchanges it has begun."""
        keys = [f"beat/{k}" for k in range(self.size)]
        return [[int(n) for n in self._store.get(key).decode().split()] if self._store.check([key]) else [0, 0] for key in keys]

    def _silent(self) -> str:
        """Names the ranks that write nothing for `silence` seconds; empty: all write that have not left."""
        first, began = self._beats(), time.monotonic()
        while True:
            time.sleep(_beat_seconds / 2)
            still = [k for k, (a, b) in enumerate(zip(first, self._beats())) if a == b and k != self.rank and not self._left(k)]
            said = self._verdict()
            if said or not still:
                return said
            if time.monotonic() - began > self.silence:
                return f"{self._named(still)}: dead, without a sign for {self.silence:g} s; begin anew, from the last checkpoint"

    def _late(self) -> str:
        left = [k for k in range(self.size) if k != self.rank and self._left(k)]
        if left:
            return f"{self._named(left)}: ended while others wait in exchange {self.exchanges}; give all ranks as many steps"
        behind = [(k, at) for k, (_, at) in enumerate(self._beats()) if k != self.rank and at < self.exchanges]
        if not behind:
            return ""
        return (f"{self._named([k for k, _ in behind])}: timed out after {self.timeout:g} s, in exchange {behind[0][1]} while {self.names[self.rank]} waits in "
                f"{self.exchanges}; see what it does, or set a longer timeout=")

    def look_at_devices(self) -> None:
        """NCCL waits on the device for a dead rank, for ever: stop it, and the next call names the rank."""
        now = time.monotonic()
        if not self.on_devices or self._failed or all(work.done() for work in list(self._under_way)):
            self._waits_since = now
        elif now - self._waits_since > self.silence and (gone := self._silent()):
            self._failed = self._say(gone)
            for group in (self._rows, self.group):
                dist.distributed_c10d._abort_process_group(group)


_of_collectives = ("gloo", "NCCL", "onnection", "imed out", "imeout", "rocess group", "ProcessGroup")
_stores: dict[tuple[int, ...], int] = {}


def _store_of(members: list[int]) -> Any:
    """A part of the store by which torch.distributed met, for the k-th Ranks of these; over a connection of its own where it can have one."""
    key = tuple(members)
    _stores[key] = number = _stores.get(key, 0) + 1
    store: Any = dist.distributed_c10d._get_default_store()
    try:
        store = store.clone()
    except (AttributeError, RuntimeError, NotImplementedError):
        pass
    return torch._C._distributed_c10d.PrefixStore(f"garner/{hashlib.sha256(repr(key).encode()).hexdigest()[:12]}/{number}", store)


def _beat(of: weakref.ref[Ranks], store: Any, rank: int, ended: threading.Event) -> None:
    number = 0
    while (me := of()) is not None:
        number += 1
        try:
            store.set(f"beat/{rank}", f"{number} {me.exchanges}")
            me.look_at_devices()
        except Exception:  # the store is dead: a rank that waits for another will find out
            if ended.wait(_beat_seconds):
                return
        del me
        if ended.wait(_beat_seconds):
            return


def _end(of: weakref.ref[Ranks]) -> None:
    me = of()
    if me is None or me._ended.is_set():
        return
    me._ended.set()
    _within(3, lambda: me._store.set(f"left/{me.rank}", "it has ended"))
    # Gloo's threads release tensors, for which they need the interpreter: while it ends that is std::terminate. They end with their groups, here.
    me.group = me.world = me._tell = me._rows = None
    gc.collect()  # of DistributedDataParallel too, which is a cycle


def _within(seconds: float, call: Callable[[], Any]) -> Any:
    """What call() gives; None where it threw, or has not come back by then: a store behind a broken line answers never."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(call())
        except Exception:
            found.append(None)
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else None


def _world() -> Any:
    return dist.group.WORLD if dist.is_available() and dist.is_initialized() else None


_of_group: dict[Any, Ranks] = {}


def ranks(group: Any = None, *, timeout: float = 60, silence: float = 5) -> Ranks:
    """The processes of a group of torch.distributed, which name the one that is dead, timed out, or differs.

        with garner.torch.ranks(timeout=120):             # around a training; also what torch's own collectives throw is a RankError then
            ...

    Made once for a group: garner.torch.shard and remote_rows take the same, with the options of the first call. It sees to it that all ranks have
    the same Garner. group: None: all ranks; without torch.distributed this process alone. timeout: seconds that an exchange waits for a rank
    that lives. silence: seconds without a sign after which a rank counts as dead. Every rank calls it.
    Result: Ranks: rank, size, names. Errors: UsageError where torch.distributed has not begun; RankError.
    """
    found = _of_group.get(group)
    if found is None or found.world is not _world():  # torch.distributed has begun, or anew
        found = _of_group[group] = Ranks(group, timeout, silence)
    return found
