"""Sums over adjacency lists as operators of torch, torch.ops.garner: with gradients, fake tensors for torch.compile, and no wait for a GPU.

`lists` groups edges by one of their ends, `sum` sums rows over lists, `dot` is the gradient of sum's weights. An order of no elements is that
of the lists themselves. scale: 0: as they are; 1: a sum is divided by the length of its list; 2: a row by that of its own list, among those of
the other end, which takes gradients of means back.
"""
from __future__ import annotations

import bisect
import contextlib
import itertools
import math
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import is_in_torch_dispatch_mode
from torch.utils.weak import WeakTensorKeyDictionary

from . import _garner
from .errors import IdError, UsageError

Lists = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # offsets, ends, order: of C++ list_sums::lists
kinds = (torch.float32, torch.float64, torch.float16, torch.bfloat16)

_library: Any = torch.library.Library("garner", "DEF")  # type: ignore[no-untyped-call, unused-ignore]
_both = "Tensor offsets, Tensor ends, Tensor order, Tensor? back_offsets, Tensor? back_ends, Tensor? back_order, int scale"
_library.define("lists(Tensor ends, Tensor others, SymInt count, SymInt others_count, bool grouped) -> (Tensor, Tensor, Tensor)")
_library.define(f"sum(Tensor rows, Tensor? weights, {_both}) -> Tensor")
_library.define(f"dot(Tensor rows, Tensor gradients, {_both}, bool heads) -> Tensor")
_idle: dict[torch.device, list[_garner.ListSums]] = {}


def real_of(kind: torch.dtype) -> torch.dtype:
    """The type in which rows are summed, and weights are held."""
    return torch.float64 if kind == torch.float64 else torch.float32


def _refuse(ends: torch.Tensor, others: torch.Tensor, count: int, others_count: int) -> None:
    at = int(((ends < 0) | (ends >= count) | (others < 0) | (others >= others_count)).nonzero()[0])
    raise IdError(f"edge {at} from {int(others[at])} to {int(ends[at])}: there are {others_count} sources and {count} targets")


def _lists(ends: torch.Tensor, others: torch.Tensor, count: int, others_count: int, grouped: bool) -> Lists:
    """Offsets of the edges of each end, their other ends, and which edge each is, for edges to `ends` < count from `others`."""
    edges = ends.numel()
    if max(edges, count, others_count) >= 1 << 31:
        raise UsageError(f"{edges} edges between {others_count} sources and {count} targets; sums are over less than 2^31 of each; split them")
    if Edges.sound(others, ends, others_count, count):
        offsets, others, order = _sound_lists(ends, others, count, True)
        return offsets, others, order if grouped else torch.arange(edges, device=ends.device)
    if not grouped and Edges.sound(ends, others, count, others_count):
        return _sound_lists(ends, others, count, False)
    near = ends.device.type == "cpu"
    keys, order = ends.to(torch.int32), torch.empty(0, dtype=torch.int64, device=ends.device)
    if edges and near:  # a look costs less than a sort there, and nobody waits for a device
        least, most = others.aminmax()
        if not (0 <= int(ends.min()) <= int(ends.max()) < count and 0 <= int(least) <= int(most) < others_count):
            _refuse(ends, others, count, others_count)
        rising = edges == 1 or not bool((ends[1:] < ends[:-1]).any())
        if grouped and not rising:
            raise UsageError("edges that do not ascend by their targets; leave grouped out, and they are sorted")
        if not grouped and rising:
            order = torch.arange(edges)
    if not grouped and not order.numel():
        keys, order = torch.sort(keys, stable=True)
        others = others[order]
    if edges and not near:  # as torch's own indexing does it
        least, most = others.aminmax()
        torch._assert_async((keys[0] >= 0) & (keys[-1] < count) & (least >= 0) & (most < others_count), "an edge whose ends are not there")
        if grouped:
            torch._assert_async((ends[1:] >= ends[:-1]).all(), "edges that do not ascend by their targets")
    offsets = torch.searchsorted(keys, torch.arange(count + 1, dtype=torch.int32, device=ends.device))
    return offsets, others.to(torch.int32, copy=True), order


def _sound_lists(ends: torch.Tensor, others: torch.Tensor, count: int, grouped: bool) -> Lists:
    """The same of edges whose ends are known to be there, grouped too: a few launches."""
    order = torch.empty(0, dtype=torch.int64, device=ends.device)
    if not grouped:
        ends, order = torch.sort(ends.to(torch.int32), stable=True)
        others = others[order]
    return _begins(ends, count), others.to(torch.int32, copy=True), order


def _begins(ends: torch.Tensor, count: int) -> torch.Tensor:
    """Where the edges of each end begin, and how many there are, for ascending ends < count."""
    found: torch.Tensor = torch._convert_indices_from_coo_to_csr(ends, count)  # type: ignore[attr-defined, unused-ignore]
    return found


_names = {kind: str(kind)[6:] for kind in kinds}  # without "torch."
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # a tenth of what torch.cuda.current_stream() costs the host


def _told(lists: Lists, loops: int = 0) -> tuple[int, int, int, int, int, int]:
    offsets, ends, order = lists
    return offsets.data_ptr(), ends.data_ptr(), order.data_ptr() if order.numel() else 0, offsets.shape[0] - 1, ends.shape[0], loops


def _stream(device: torch.device) -> int:
    if device.type == "cpu":
        return 0
    found: int = torch.cuda.current_stream(device).cuda_stream if _raw_stream is None or device.index is None else _raw_stream(device.index)
    return found or 1  # the default stream by name


@contextlib.contextmanager
def _lease(device: torch.device) -> Iterator[_garner.ListSums]:
    """One of the library's, which nobody else uses meanwhile."""
    idle = _idle.setdefault(device, [])
    try:
        sums = idle.pop()
    except IndexError:
        sums = _garner.ListSums(str(device))
    try:
        yield sums
    finally:
        idle.append(sums)


def sum_now(rows: torch.Tensor, weights: torch.Tensor | None, lists: Lists, scale: int = 0, end_offsets: torch.Tensor | None = None, loops: int = 0,
            own: torch.Tensor | None = None, eps: torch.Tensor | None = None) -> torch.Tensor:
    """The sums, without gradients. loops: the first so many lists have their own row besides, of `own` or else of `rows`: times its weight, which stands
    behind those of all edges, or times 1 + eps."""
    rows, weights = rows.contiguous(), None if weights is None else weights.contiguous()
    offsets, shape = lists[0], rows.shape
    heads = 1 if weights is None or weights.dim() == 1 else weights.shape[1]
    out = rows.new_empty((offsets.shape[0] - 1, *shape[1:]))
    over, of = _told(lists, loops), (_names[rows.dtype], heads, (shape[1] if len(shape) == 2 else math.prod(shape[1:])) // heads)
    needed = _garner.ListSums.scratch_bytes(over, of)
    scratch = torch.empty(needed, dtype=torch.uint8, device=rows.device) if needed else None
    with _lease(rows.device) as sums:
        sums.sum(over, of, rows.data_ptr(), out.data_ptr(), 0 if weights is None else weights.data_ptr(), scale == 1,
                 0 if end_offsets is None else end_offsets.data_ptr(), 0 if scratch is None else scratch.data_ptr(), _stream(rows.device),
                 0 if own is None else own.data_ptr(), 0 if eps is None else eps.data_ptr())
    return out


def _sum(rows: torch.Tensor, weights: torch.Tensor | None, offsets: torch.Tensor, ends: torch.Tensor, order: torch.Tensor,
         back_offsets: torch.Tensor | None, back_ends: torch.Tensor | None, back_order: torch.Tensor | None, scale: int) -> torch.Tensor:
    return sum_now(rows, weights, (offsets, ends, order), scale, back_offsets if scale == 2 else None)


def dot_now(rows: torch.Tensor, gradients: torch.Tensor, lists: Lists, scale: int = 0, heads: bool = True, loops: int = 0) -> torch.Tensor:
    """The gradients of weights, without gradients of their own."""
    rows, gradients, count = rows.contiguous(), gradients.contiguous(), lists[1].shape[0] + loops
    out = torch.empty((count, *rows.shape[1:2]) if heads else count, dtype=real_of(rows.dtype), device=rows.device)
    many = rows.shape[1] if heads else 1
    with _lease(rows.device) as sums:
        sums.dot(_told(lists, loops), (_names[rows.dtype], many, math.prod(rows.shape[1:]) // many), rows.data_ptr(), gradients.data_ptr(), out.data_ptr(),
                 scale == 1, _stream(rows.device))
    return out


def soften_now(scores: torch.Tensor, lists: Lists, slope: float, loops: int) -> torch.Tensor:
    """Attention's weights of edges and loops by the scores of their ends, of shape (heads, nodes, 2)."""
    heads = scores.shape[0]
    out = scores.new_empty((lists[1].shape[0] + loops, heads))
    with _lease(scores.device) as sums:
        sums.soften(_told(lists, loops), (_names[scores.dtype], heads, 1), scores.data_ptr(), out.data_ptr(), slope, _stream(scores.device))
    return out


def soften_back_now(scores: torch.Tensor, weights: torch.Tensor, gradients: torch.Tensor, lists: Lists, back: Lists, slope: float, loops: int) -> torch.Tensor:
    """The gradients of scores by those of the weights, which are overwritten."""
    out = torch.empty_like(scores)
    with _lease(scores.device) as sums:
        sums.soften_back(_told(lists, loops), _told(back, loops), (_names[scores.dtype], scores.shape[0], 1), scores.data_ptr(), weights.data_ptr(),
                         gradients.data_ptr(), out.data_ptr(), slope, _stream(scores.device))
    return out


def _dot(rows: torch.Tensor, gradients: torch.Tensor, offsets: torch.Tensor, ends: torch.Tensor, order: torch.Tensor, back_offsets: torch.Tensor | None,
         back_ends: torch.Tensor | None, back_order: torch.Tensor | None, scale: int, heads: bool) -> torch.Tensor:
    return dot_now(rows, gradients, (offsets, ends, order), scale, heads)


for _device in ("CPU", "CUDA"):
    _library.impl("lists", _lists, _device)
    _library.impl("sum", _sum, _device)
    _library.impl("dot", _dot, _device)


@torch.library.register_fake("garner::lists", lib=_library)  # type: ignore[untyped-decorator, unused-ignore]
def _(ends: torch.Tensor, others: torch.Tensor, count: int, others_count: int, grouped: bool) -> Lists:
    return (ends.new_empty(count + 1, dtype=torch.int64), ends.new_empty(ends.shape, dtype=torch.int32),
            ends.new_empty(0 if grouped else ends.shape[0], dtype=torch.int64))


@torch.library.register_fake("garner::sum", lib=_library)  # type: ignore[untyped-decorator, unused-ignore]
def _(rows: torch.Tensor, weights: torch.Tensor | None, offsets: torch.Tensor, *rest: Any) -> torch.Tensor:
    return rows.new_empty((offsets.shape[0] - 1, *rows.shape[1:]))


@torch.library.register_fake("garner::dot", lib=_library)  # type: ignore[untyped-decorator, unused-ignore]
def _(rows: torch.Tensor, gradients: torch.Tensor, offsets: torch.Tensor, ends: torch.Tensor, *rest: Any) -> torch.Tensor:
    return rows.new_empty((ends.shape[0], *rows.shape[1:2]) if rest[-1] else ends.shape, dtype=real_of(rows.dtype))


_back = (0, 2, 1)  # of a scale: what takes the gradients of rows back


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    *tensors, ctx.scale = inputs[:9]
    ctx.save_for_backward(*tensors)


def _sum_back(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
    rows, weights, *lists = ctx.saved_tensors
    back = (*lists[3:], *lists[:3])
    of_rows = of_weights = None
    if ctx.needs_input_grad[0]:
        of_rows = summed(gradient, weights, *back, _back[ctx.scale])
    if weights is not None and ctx.needs_input_grad[1]:
        heads = weights.dim() == 2
        of_weights = torch.ops.garner.dot(gradient, rows, *back, 1, heads) if ctx.scale == 2 else torch.ops.garner.dot(rows, gradient, *lists, ctx.scale, heads)
    return of_rows, of_weights, *[None] * 7


def _dot_back(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
    rows, gradients, *lists = ctx.saved_tensors
    back = (*lists[3:], *lists[:3])
    return (torch.ops.garner.sum(gradients, gradient, *back, _back[ctx.scale]) if ctx.needs_input_grad[0] else None,
            torch.ops.garner.sum(rows, gradient, *lists, ctx.scale) if ctx.needs_input_grad[1] else None, *[None] * 8)


torch.library.register_autograd("garner::sum", _sum_back, setup_context=_keep, lib=_library)
torch.library.register_autograd("garner::dot", _dot_back, setup_context=_keep, lib=_library)


class _Sum(torch.autograd.Function):
    """The operator where nobody traces it: the way through torch's dispatcher, with gradients, costs the host five times as much."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> torch.Tensor:
        _keep(ctx, inputs, None)
        return _sum(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return _sum_back(ctx, gradient)


def traced() -> bool:
    return torch.compiler.is_compiling() or is_in_torch_dispatch_mode()


def summed(*inputs: Any) -> torch.Tensor:
    """torch.ops.garner.sum."""
    found: torch.Tensor = torch.ops.garner.sum(*inputs) if traced() else _Sum.apply(*inputs)  # type: ignore[no-untyped-call, unused-ignore]
    return found


class Edges:
    """Edges from row[e] < sources to col[e] < targets, over which rows on a device are summed. row and col are views of `known`, a tensor: each
    layer, and backward, reuses the lists made of them until the tensor changes or is released; within torch.compile the compiler does that."""

    _made: Any = WeakTensorKeyDictionary()
    _pair: torch.Tensor
    _source: int
    _sampled: dict[int, tuple[Any, ...]] = {}  # by where they lie, since a compiled graph makes views of its own
    _most = 256  # of these, before those of released tensors are taken out

    @staticmethod
    def are_sampled(edge_index: torch.Tensor, nodes: tuple[Sequence[int], Sequence[int]], edges: Sequence[int]) -> None:
        """The sampler made this: columns ascend, and the first edges, of so many hops, have their ends among the first nodes, of a hop more.
        nodes: of sources and of targets. Until somebody writes to it, its edges are neither sorted nor looked at."""
        if edge_index.is_inference():  # which counts no writes
            return
        if len(Edges._sampled) >= Edges._most:
            alive = {at: told for at, told in list(Edges._sampled.items()) if told[0]() is not None}
            Edges._sampled, Edges._most = alive, max(256, 2 * len(alive))
        Edges._sampled[edge_index.data_ptr()] = (weakref.ref(edge_index), edge_index._version,
                                                 *(list(itertools.accumulate(hops)) for hops in (*nodes, edges)))

    @staticmethod
    def sound(row: torch.Tensor, col: torch.Tensor, sources: int, targets: int) -> bool:
        """Whether these are the first of edges that the sampler made, and so many nodes have all their ends."""
        least = Edges.reach(row, col)
        return least is not None and sources >= least[0] and targets >= least[1]

    @staticmethod
    def reach(row: torch.Tensor, col: torch.Tensor) -> tuple[int, int] | None:
        """Among how many nodes the ends of these edges are, if they are the first of edges that the sampler made; else None."""
        known, version, of_sources, of_targets, edges = Edges._sampled.get(row.data_ptr(), (None,) * 5)
        whole, count = None if known is None else known(), row.numel()
        if whole is None or version != whole._version or count > edges[-1] or whole.dtype != row.dtype or whole.device != row.device or (
                col.data_ptr() != whole.data_ptr() + whole.stride(0) * whole.itemsize or row.stride() != (1,) or col.stride() != (1,)):
            return None
        hops = bisect.bisect_left(edges, count)
        return of_sources[hops + 1], of_targets[hops]

    def __init__(self, known: torch.Tensor | None, row: torch.Tensor, col: torch.Tensor, targets: int, sources: int, device: torch.device,
                 grouped: bool = False) -> None:
        self.row, self.col, self.targets, self.sources, self.device, self.grouped = row, col, targets, sources, device, grouped
        self.kept: dict[Any, Any] = {}
        if not traced() and known is not None:
            self._keep(known, (row.data_ptr(), col.data_ptr(), row.stride(), row.numel(), targets, sources, grouped))

    @classmethod
    def of(cls, edge_index: torch.Tensor, source: int, targets: int, sources: int, device: torch.device) -> Edges:
        """Edges of a pair whose row `source` has the sources. Where their lists are kept, no views of it are made."""
        self = cls.__new__(cls)
        self._pair, self._source = edge_index, source
        self.targets, self.sources, self.device, self.grouped, self.kept = targets, sources, device, False, {}
        if not traced():
            base = edge_index._base  # what trim_to_layer took the first edges of
            known = edge_index if base is None or base.data_ptr() != edge_index.data_ptr() or base.stride() != edge_index.stride() else base
            self._keep(known, (edge_index.data_ptr(), edge_index.stride(), edge_index.shape[1], source, targets, sources))
        return self

    def __getattr__(self, name: str) -> Any:  # makes the views of a pair at their first use
        if name not in ("row", "col"):
            raise AttributeError(name)
        self.row, self.col = self._pair[self._source], self._pair[1 - self._source]
        return getattr(self, name)

    def _keep(self, known: torch.Tensor, part: tuple[Any, ...]) -> None:
        if known.is_inference():  # which counts no writes
            return
        version, entries = Edges._made.get(known, (None, None))
        if version != known._version:
            entries = {}
            Edges._made[known] = (known._version, entries)
        self.kept = entries.setdefault((*part, self.device, _stream(self.device), torch.is_inference_mode_enabled()), self.kept)

    def reached(self) -> Edges:
        """Edges that the sampler made, to no more targets than have some."""
        if "reached" not in self.kept:
            self.kept["reached"] = Edges.reach(self.row, self.col), {}
        least, kept = self.kept["reached"]
        if least is not None and least[0] <= self.sources and least[1] < self.targets:
            self.targets, self.kept = least[1], kept
        return self

    def ends(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Row and column, on the device."""
        return self.row.to(self.device, torch.int64), self.col.to(self.device, torch.int64)

    def lists(self, back: bool = False) -> Lists:
        """By target; `back`: by source."""
        found: Lists | None = self.kept.get(back)
        if found is None and not traced() and self.row.device == self.device and Edges.sound(self.row, self.col, self.sources, self.targets):
            found = self.kept[back] = _sound_lists(self.row, self.col, self.sources, False) if back else (
                _sound_lists(self.col, self.row, self.targets, True))
        if found is None:
            row, col = self.ends()
            found = torch.ops.garner.lists(row, col, self.sources, self.targets, False) if back else (
                torch.ops.garner.lists(col, row, self.targets, self.sources, self.grouped))
            self.kept[back] = found
        return found

    def sum(self, rows: torch.Tensor, weights: torch.Tensor | None = None, mean: bool = False) -> torch.Tensor:
        """weights: a number per edge, or one per edge and head, of rows of shape (sources, heads, ...)."""
        lists = self.lists()
        back: tuple[torch.Tensor | None, ...] = (None, None, None)
        if torch.is_grad_enabled() and (rows.requires_grad or weights is not None and weights.requires_grad):
            back = self.lists(back=True)
        weights = None if weights is None else weights.to(rows.device, real_of(rows.dtype))
        return summed(rows, weights, *lists, *back, int(mean))
