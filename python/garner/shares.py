"""Which share of the seeds of a loader one of several processes takes. Needs no torch."""
from __future__ import annotations

import hashlib
import os
import sys
from typing import Any

import numpy as np

from ._checks import counted, host, told
from .errors import UsageError


def share_of_seeds(rank: Any, count: Any, seeds: Any, what: str = "seeds", group: Any = None) -> tuple[int, int]:
    """Which of how many processes this one is, to each of which a loader gives its share of these seeds; (0, 1): they are not split.

    count 'torchrun': as torch.distributed says where it is initialized, else RANK and WORLD_SIZE of the environment. Where it is initialized the ranks
    compare their seeds: those that the caller split already would be split twice. group: the Ranks, where they are known."""
    if not isinstance(count, str):
        if (rank is None) != (count is None):
            raise UsageError(f"{'rank' if count is None else 'ranks'} is set and {'ranks' if count is None else 'rank'} is not; pass both, or leave both out")
        rank, count = (0, 1) if rank is None else (counted(rank, "rank"), counted(count, "ranks"))
    elif count != "torchrun" or rank is not None:
        raise UsageError(f"rank={told(rank)}, ranks='{count}': use two numbers, or ranks='torchrun' alone")
    elif (world := sys.modules.get("torch.distributed")) is not None and world.is_available() and world.is_initialized():
        if group is None:
            from .ranks import ranks
            group = ranks()
        rank, count = group.rank, group.size
        group.require_same(f"{what}, with ranks='torchrun'", _digest(seeds), f"give all ranks the same {what}, or leave ranks= out where the script splits them")
    else:
        rank, count = (_environment(name) for name in ("RANK", "WORLD_SIZE"))
        if (rank is None) != (count is None):
            raise UsageError(f"ranks='torchrun': the environment has {'WORLD_SIZE' if rank is None else 'RANK'} alone; start the script by torchrun, or "
                             "initialize torch.distributed first")
        rank, count = (0, 1) if rank is None else (rank, count)
    if not 0 <= rank < count:
        raise UsageError(f"rank {rank} of {count}: ranks count from 0")
    return rank, count


def _environment(name: str) -> int | None:
    said = os.environ.get(name)
    if said is not None and not said.isdecimal():
        raise UsageError(f"the environment says {name}='{said}', and torchrun says a number; unset it, or use rank and ranks as numbers")
    return None if said is None else int(said)


def _digest(seeds: Any) -> str:
    """How many there are, and a number that differs with them: of a million of them at the most."""
    if seeds is None:
        return "all"
    found = host(seeds, "seeds").reshape(-1)
    if found.dtype.kind == "b":
        found = np.flatnonzero(found)
    some = np.ascontiguousarray(found[::max(1, found.size >> 20)], np.int64)
    return f"{found.size} of digest {hashlib.sha256(some.tobytes()).hexdigest()[:8]}"
