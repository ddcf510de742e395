"""The pipeline behind every loader: where its tables lie, and mini-batches that are sampled and gathered while the caller learns from others.

The caller's thread decides what each mini-batch is of (its samplers, negatives and hooks run there), some 5 windows ahead; a thread of
garner.Loader samples and gathers it. Invariant: mini-batches come in the order in which they were given, and an error of the caller's own comes
after all mini-batches before it. Cost: some 20 us of the caller's thread a mini-batch, and the memory of garner.Loader.
"""
from __future__ import annotations

import collections
import dataclasses
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.utils.data
import torch.utils.dlpack

from . import _checks, _garner
from ._arguments import caller_level, renew
from .errors import DeviceError, Error, KindError, OutOfMemory, UsageError, in_python
from .making import tiered
from .tables import Tiered, kind_of, place_of

loading_options = ("prefetch", "window", "strategy", "window_bytes", "cache", "multiprocessors", "keep_times")
_choices = {"strategy": ("automatic", "window", "tiered"), "cache": ("next-use", "pinned")}
_plain = {torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool}
_said: set[str] = set()


def warn_once(message: str) -> None:
    """Warns once per process of what slows a loader down, or has no effect on it."""
    if message not in _said:
        _said.add(message)
        warnings.warn(message, RuntimeWarning, stacklevel=caller_level())


def gpu_memory(device: Any, **options: int | str | None) -> bool:
    """Whether this device has a use for options on GPU memory; where the CPU samples and gathers, a warning names each that is set."""
    if str(device) != "cpu":
        return True
    for name, value in options.items():
        if value not in (None, "auto") and bytes_of(value, name) > 0:
            warn_once(f"{name} has no effect on the CPU, which has no GPU memory; run on a GPU (garner.doctor() reports whether one can be used), or "
                      f"leave {name} out")
    return False


def ahead_options(said: Mapping[str, Any] | None) -> dict[str, Any]:
    """Options of garner.Loader that are passed to a loader over it."""
    if not (said is None or isinstance(said, Mapping)):
        raise KindError(f"loading is {_checks.told(said)}; give a dict, as {{'prefetch': 4}}")
    found = dict(said or {})
    renew("loading", loading_options, found)
    for name, value in found.items():
        said_as = f"loading: {name}"
        if name not in loading_options:
            raise UsageError(f"loading has no option '{name}'; its options are {', '.join(loading_options)}")
        if name in _choices and value not in _choices[name]:
            raise UsageError(f"{said_as} is {_checks.told(value)}; use {', '.join(_choices[name][:-1])} or {_choices[name][-1]}")
        if name in ("prefetch", "window", "multiprocessors", "keep_times"):
            found[name] = _checks.counted(value, said_as)
        if name == "window_bytes" and value is not None:
            bytes_of(value, said_as)
    return found


def window_alone(said: Mapping[str, Any]) -> None:
    """Refuses options of garner.Loader for a graph that is split over ranks, which samples without it."""
    for name in said:
        if name != "window":
            raise UsageError(f"loading: '{name}' is not over a graph that is split; use window alone")


def device_of(asked: Any, values: Sequence[Any], name: str = "device") -> Any:
    """Where a loader samples and gathers: as the keyword `name` sets it; None: where the first of these tables or
    tensors on a GPU lies, 'cpu' where a table was made for it, else torch's current GPU; without a GPU, and in a worker of torch, 'cpu'."""
    if asked is not None:
        return _there_is(asked, name)
    if not _garner.info()["devices"] or not torch.cuda.is_available() or torch.utils.data.get_worker_info() is not None:
        return "cpu"
    at = [str(value.device) for value in values if isinstance(value, (torch.Tensor, Tiered))]
    made = [place_of(value) for value in values if isinstance(value, Tiered)]
    return next((d for d in at if d.startswith("cuda")), made[0] if made else f"cuda:{torch.cuda.current_device()}")


def _there_is(asked: Any, name: str) -> Any:
    """The device, which exists."""
    asked = int(asked) if isinstance(asked, np.integer) else asked
    kind, _, number = str(asked).partition(":")
    if kind in ("cpu", "host") and not number:
        return "cpu"
    index = asked if type(asked) is int else int(number) if number.isdecimal() else 0
    if index < 0 or not (type(asked) is int or kind in ("cuda", "device", "simulated") and (number.isdecimal() or str(asked) == kind)):
        raise UsageError(f"{name} is {_checks.told(asked)}; use 'cpu', 'cuda', 'cuda:N' or 'simulated'")
    if is_gpu(asked):
        there: Any = _garner.info()["devices"]
        count = len(there) if torch.cuda.is_available() else 0
        if index >= count:
            none: Any = _garner.info()["no_device"]
            why = f"there are {count} GPUs, counted from 0; use 'cuda:0'" if count else in_python(none).partition(", or use")[0] if none else \
                "Garner sees a GPU, and torch does not; install torch for CUDA"
            raise DeviceError(f"{name} is {_checks.told(asked)}; {why}, or use 'cpu'")
    if str(asked) in ("cuda", "device"):  # as torch means it
        return f"cuda:{torch.cuda.current_device()}"
    return f"cuda:{index}" if is_gpu(asked) else asked


def is_gpu(device: Any) -> bool:
    return isinstance(device, int) or str(device).split(":")[0] in ("cuda", "device")


@dataclasses.dataclass(frozen=True, eq=False)
class Field:
    """An attribute whose rows come with each mini-batch: of the nodes of a type, or of the edges of one."""

    of_edges: bool
    type: Any  # as the loader numbers it
    name: Any
    value: Any
    seeds_only: bool = False


def named(field: Field) -> str:
    return str(field.name) if field.type is None else f"{field.name} of {field.type!r}"


class Budget:
    """GPU memory for copies of what lies in host memory. `cache`: bytes, or "auto": what is free but for `reserve` (None: a quarter of all) and an
    eighth, which mini-batches under way take; allocated at the first take(), when the adjacency is where it stays. Both are checked here."""

    def __init__(self, device: Any, cache: Any = "auto", reserve: Any = None) -> None:
        self.device = device
        self.auto = isinstance(cache, str) and cache == "auto"
        self.left = None if self.auto else bytes_of(cache, "feature_cache")
        self._reserve = None if reserve is None else bytes_of(reserve, "reserve")
        gpu_memory(device, feature_cache=cache, reserve=reserve)

    @property
    def reserve(self) -> int:
        """Bytes of the GPU that are left to the model."""
        return self._memory()[1] // 4 if self._reserve is None else self._reserve

    def _memory(self) -> tuple[int, int]:
        """Free and in all."""
        return torch.cuda.mem_get_info(torch.device(self.device if str(self.device).startswith("cuda") else "cuda"))

    def take(self, wanted: int) -> int:
        if self.left is None:  # the host has all, and the simulated device what its budget allows
            self.left = max(0, self._memory()[0] - self.reserve) * 7 // 8 if is_gpu(self.device) else 1 << 62
        taken = min(wanted, self.left)
        self.left -= taken
        return taken

    def summary(self) -> Iterator[str]:
        if self.auto and is_gpu(self.device):
            yield f"GPU memory for copies: what was free but for reserve={self.reserve} bytes"


def bytes_of(said: Any, name: str) -> int:
    """A number of bytes, or text such as "8GiB"."""
    try:
        if isinstance(said, (bool, float)):
            raise TypeError
        return int(_garner.parse_bytes(said))
    except (TypeError, Error):
        raise UsageError(f'{name} is {_checks.told(said)}; give a number of bytes, or text such as "8GiB"') from None


no_rows = "it has no rows"


def _refusal(value: Any, device: str) -> str | None:
    """Why rows of this cannot be gathered at this device as they lie; None: they can."""
    if isinstance(value, Tiered):
        if place_of(value) != device:
            return f"its table gathers on {value.device}; make it for the loader's device"
        return None if getattr(torch, kind_of(value), None) in _plain else f"torch has no {kind_of(value)}"
    if isinstance(value, np.ndarray) and value.dtype.names is None:
        if not value.flags.c_contiguous or getattr(torch, value.dtype.name, None) not in _plain or not value.dtype.isnative:
            return "the array is not contiguous, or of numbers that torch has not"
        return None if value.ndim and value.size else no_rows
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        return f"a {type(value).__name__} has no rows that lie in one piece"
    if value.device.type != "cpu":
        return f"it lies on {value.device}, where torch gathers its rows"
    if value.layout != torch.strided or not value.is_contiguous() or value.dtype not in _plain:
        return "the tensor is not contiguous, or of another kind than whole and real numbers"
    if value.requires_grad:
        return "it requires gradients"
    return None if value.dim() and value.numel() else no_rows


def as_they_are(fields: Sequence[Field], device: Any) -> list[Any]:
    """Another list where the fields are other objects, or torch wrote to one in place of which a GPU may hold copies."""
    return [(f.of_edges, f.type, f.name, id(f.value), 0 if device == "cpu" else _version(f.value)) for f in fields]


def _version(value: Any) -> int:
    try:
        return int(value._version)
    except (AttributeError, RuntimeError):  # of NumPy, a table, or in inference mode
        return 0


class Tables:
    """Tables of a loader's fields at its device. What lies in host memory stays there and is registered; copies of its rows, the hottest by
    `scores`, are kept in GPU memory as far as the budget goes, short rows first. `left`: why a field has none."""

    def __init__(self, fields: Sequence[Field], device: str, budget: Budget, scores: Callable[[Field], Any]) -> None:
        self.of: dict[Field, Any] = {}
        self.left: dict[Field, str] = {}
        self.budget = budget
        todo = []
        for field in fields:
            why = _refusal(field.value, device)
            if why is not None:
                self.left[field] = why
            elif isinstance(field.value, Tiered):
                self.of[field] = field.value
            else:
                todo.append(field)
        for field in sorted(todo, key=lambda f: f.value.nbytes // max(1, len(f.value))):
            value, kept = field.value, None
            if device != "cpu":
                kept = budget.take(value.nbytes)
            try:
                some = None if kept in (None, 0, value.nbytes) else scores(field)
                self.of[field] = tiered(value, device=device, feature_cache=kept, scores=some)
            except (OutOfMemory, DeviceError) as e:
                self.left[field] = f"its {value.nbytes} bytes could not be registered for {device} ({e})"

    def warn(self, name_of: Callable[[Field], str]) -> None:
        """Names what is gathered in the caller's thread, where that takes time."""
        for field, why in self.left.items():
            if why != no_rows and not (isinstance(field.value, torch.Tensor) and field.value.is_cuda):
                warn_once(f"{name_of(field)}: its rows are gathered in the caller's thread, not ahead: {why}")

    def summary(self, name_of: Callable[[Field], str]) -> Iterator[str]:
        for field, table in self.of.items():
            yield f"{name_of(field)}: {table.summary()}; gathered ahead"
        for field, why in self.left.items():
            yield f"{name_of(field)}: gathered in the caller's thread: {why}"
        yield from self.budget.summary()


class Ahead:
    """A garner.Loader whose mini-batches are the caller's own."""

    def __init__(self, sampler: Any, nodes: Sequence[tuple[Any, int]] = (), labels: Sequence[Any] = (), edges: Sequence[tuple[Any, ...]] = (),
                 loading: Mapping[str, Any] | None = None) -> None:
        self.sampler = sampler
        self.loader = _garner.Loader(sampler, None, list(nodes), list(labels), edge_tables=list(edges), **(loading or {}))
        self._ahead = int((loading or {}).get("prefetch", 2)) + 2

    def begin(self, draws: int) -> None:
        """An epoch whose mini-batch k samples by number draws + k. The sampler is lent from here to the end of run()."""
        self.loader.open(0, draws)

    def run(self, given: Iterator[tuple[list[Any], Any]]) -> Iterator[tuple[Any, Any]]:
        """Each mini-batch of the epoch that was begun, for (seeds of each type, anything), and that anything."""
        loader, waiting, failed, ended = self.loader, collections.deque[Any](), None, False
        try:
            while True:
                while not ended and len(waiting) < 5 * loader.window + self._ahead:
                    try:
                        seeds, told = next(given)
                        loader.submit(seeds)
                        waiting.append(told)
                    except StopIteration:
                        ended = True
                    except Exception as e:  # of the caller's samplers and seeds: in its turn
                        ended, failed = True, e
                    if ended:
                        loader.end()
                batch = loader.next()
                if batch is None:
                    break
                yield batch, waiting.popleft()
            if failed is not None:
                raise failed
        finally:
            loader.stop()


def counted(sampler: Any, given: Iterator[tuple[list[Any], Any]], types: Sequence[int], most: int = 256) -> list[Any]:
    """How often the nodes of each type are in so many mini-batches, sampled beforehand: which rows a training reads most. Shape (nodes,), float32
    each. Source: PreSC of GNNLab (EuroSys 2022)."""
    ahead = Ahead(sampler)
    found: list[Any] = [None] * len(types)
    ahead.begin(1 << 59)
    for k, (batch, _) in enumerate(ahead.run(given)):
        for t, nodes in enumerate(types):
            ids = tensor_of(batch.of_type(t).ids)
            if found[t] is None:
                found[t] = torch.zeros(nodes, dtype=torch.float32, device=ids.device)
            found[t].index_add_(0, ids, torch.ones((), device=ids.device).expand(ids.numel()))
        if k + 1 == most:
            break
    return [np.zeros(nodes, np.float32) if f is None else torch.empty(nodes, pin_memory=f.is_cuda).copy_(f).numpy() for f, nodes in zip(found, types)]


def tensor_of(array: Any, stream: int | None = None) -> torch.Tensor:
    """The same memory, which stays as long as the tensor. stream: the address of the one that uses it, where it is known: DLPack's own question
    for it takes longer than the rest."""
    if isinstance(array, np.ndarray):
        return torch.from_numpy(array)
    found: torch.Tensor = torch.utils.dlpack.from_dlpack(array if stream is None else array.__dlpack__(stream=stream))
    return found


def stream_of(device: torch.device) -> int | None:
    """The stream that torch works on there, as DLPack names it; None: of the host."""
    return (torch.cuda.current_stream(device).cuda_stream or 1) if device.type == "cuda" else None


def torch_device(name: str) -> torch.device:
    """Where torch has the arrays of this device of Garner's."""
    return torch.device(name) if name.startswith("cuda") else torch.device("cpu")


def own_rows(batch: Any, table: int, stream: int | None = None) -> torch.Tensor:
    """Rows of a mini-batch. Short ones are copied, so that labels which are kept do not keep the buffers of the features."""
    rows = tensor_of(batch.rows(table), stream)
    return rows if rows[:1].nbytes > 64 else rows.clone()


def mixed(seed: int, number: int) -> int:
    """60 bits that look random (splitmix64). For an epoch's seed and 0: the number that its first mini-batch samples by; those behind it count on."""
    z = (seed + (number + 1) * 0x9E3779B97F4A7C15) & (1 << 64) - 1
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & (1 << 64) - 1
    z = (z ^ z >> 27) * 0x94D049BB133111EB & (1 << 64) - 1
    return (z ^ z >> 31) >> 4


def drawn_seed(generator: torch.Generator | None = None) -> int:
    """From torch's generator, so that torch.manual_seed repeats what follows."""
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator))


def rows_of(features: Any, index: Any) -> Any:
    """Rows of a tensor, an array or a table; of an array and a table as tensors."""
    if isinstance(index, slice) and index == slice(None):
        return features
    if isinstance(index, torch.Tensor) and not isinstance(features, Tiered):
        if isinstance(features, np.ndarray):
            return torch.from_numpy(features[index.cpu().numpy()])
        return features[index.to(features.device)]
    return features[index]
