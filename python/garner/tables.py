"""Feature tables: what garner.unified and garner.tiered give. Ids and rows are arrays of NumPy, torch or CuPy; which of them, a library
object below (or garner.torch) knows. The work is done by _garner.Table, on addresses."""
from __future__ import annotations

import functools
import math
import multiprocessing.util
import operator
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, SupportsIndex, TypeVar, cast, overload

import numpy as np

from . import _checks, _garner, pieces
from ._arguments import has_old_names, takes_old_names
from ._garner import GatherRun, Graph, Shared, Unified
from .errors import IdError, InputError, UsageError

if TYPE_CHECKING:  # none of these is needed to run
    import numpy.typing as npt
    import torch
    from typing_extensions import Self

# Addresses of ids and of rows where the table gathers, the stream, and what brings the rows to the device of ids.
Brought = tuple[list[int], list[int], int, "Callable[[], list[Any]]"]
Rows = TypeVar("Rows")  # what slices of a table are: of the library that it was made of

# What libgarner takes as it is. Its ids of 4 bytes are signed, so uint32 is widened.
_whole = (np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint64))


class _NumPy:
    """Ids and rows of the host. A device reads and writes them in place: they are pinned for the call."""

    def ids(self, ids: Any, rows: int) -> Any:
        ids = _checks.host(ids, "ids", "whole numbers or bools")
        if _checks.is_mask(ids, rows):
            return np.flatnonzero(ids)
        if ids.dtype not in _whole:
            ids = ids.astype(np.int64)
        return ids if ids.flags.c_contiguous and ids.flags.aligned else ids.copy(order="C")

    def floats(self, numbers: Any, name: str) -> Any:
        return np.ascontiguousarray(_checks.real(_checks.host(numbers, name), name), np.float32)

    def row_type(self, kind: str) -> Any:
        if kind != "bfloat16":
            return np.dtype(kind)
        try:
            import ml_dtypes  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise UsageError("NumPy knows no bfloat16; use dtype='f32', give ids as torch tensors, or install ml_dtypes") from None
        return np.dtype(ml_dtypes.bfloat16)

    def device(self, name: str) -> Any:
        return name

    def wait(self, device: int) -> None:
        """Until ids are where bring() brought them, for a call without a stream."""

    def whole(self, out: Any) -> bool:
        return isinstance(out, np.ndarray) and out.flags.c_contiguous and out.flags.writeable

    def bring(self, device: int, ids: list[Any], outs: list[Any], shapes: list[tuple[int, ...]], kind: str) -> Brought:
        outs = [np.empty(shape, self.row_type(kind)) if out is None else out for out, shape in zip(outs, shapes)]
        if device < 0:
            return [i.ctypes.data for i in ids], [o.ctypes.data for o in outs], 0, lambda: outs
        pinned = [[Unified(a.reshape(-1).view(np.uint8), device) if a.size else None for a in arrays] for arrays in (ids, outs)]
        near = [[p.address if p else 0 for p in some] for some in pinned]

        def done(pinned: list[Any] = pinned) -> list[Any]:
            pinned.clear()
            return outs

        return near[0], near[1], 0, done


class _CuPy:
    """Ids and rows of a device, on the stream that CuPy works on."""

    def __init__(self) -> None:
        import cupy  # type: ignore[import-not-found, import-untyped, unused-ignore]
        self.cupy: Any = cupy

    def ids(self, ids: Any, rows: int) -> Any:
        if _checks.is_mask(ids, rows):
            return self.cupy.flatnonzero(ids)
        if ids.dtype not in _whole:
            ids = ids.astype(np.int64)
        return self.cupy.ascontiguousarray(ids).reshape(ids.shape)

    def floats(self, numbers: Any, name: str) -> Any:
        return self.cupy.ascontiguousarray(_checks.real(numbers, name), np.float32)

    def row_type(self, kind: str) -> Any:
        return _numpy.row_type(kind)

    def device(self, name: str) -> Any:
        return name

    def wait(self, device: int) -> None:
        if device >= 0:
            self.cupy.cuda.Device(device).synchronize()

    def whole(self, out: Any) -> bool:
        return isinstance(out, self.cupy.ndarray) and out.flags.c_contiguous

    def bring(self, device: int, ids: list[Any], outs: list[Any], shapes: list[tuple[int, ...]], kind: str) -> Brought:
        cupy, numpy = self.cupy, _NumPy()
        homes = [i.device.id for i in ids]
        if device < 0:
            near = [cupy.asnumpy(i) for i in ids]
            at, to, stream, done = numpy.bring(-1, near, [None] * len(ids), shapes, kind)

            def back(near: list[Any] = near) -> list[Any]:
                rows = done()
                near.clear()  # until here the gather may read them
                for k, home in enumerate(homes):
                    with cupy.cuda.Device(home):
                        if outs[k] is None:
                            outs[k] = cupy.asarray(rows[k])
                        else:
                            outs[k].set(rows[k])
                return outs

            return at, to, stream, back
        with cupy.cuda.Device(device):
            near = [cupy.asarray(i) for i in ids]
            rows = [cupy.empty(shape, self.row_type(kind)) if out is None or out.device.id != device else out
                    for out, shape in zip(outs, shapes)]
            stream = cupy.cuda.get_current_stream().ptr or 1  # 1: the default stream by name

        def home(near: list[Any] = near) -> list[Any]:
            near.clear()  # until here the gather may read them; CuPy's pool gives their memory out again in the order of the stream
            for k, at in enumerate(homes):
                if outs[k] is None and at == device:
                    outs[k] = rows[k]
                elif outs[k] is not rows[k]:
                    cupy.cuda.Device(device).synchronize()
                    with cupy.cuda.Device(at):
                        if outs[k] is None:
                            outs[k] = cupy.asarray(rows[k])
                        else:
                            outs[k][...] = cupy.asarray(rows[k])
            return outs

        return [i.data.ptr for i in near], [r.data.ptr for r in rows], stream, home


_numpy = _NumPy()


def _is_torch(array: Any) -> bool:
    return type(array).__module__.split(".")[0] == "torch"


def _library(*arrays: Any) -> Any:
    """The library of the first array that belongs to one; NumPy's for lists and numbers."""
    for array in arrays:
        if _is_torch(array):
            from .torch import library
            return library
        if type(array).__module__.split(".")[0] == "cupy":
            return _CuPy()
    return _numpy


def addressed(address: int, ids: Any) -> tuple[int, int, int, bool]:
    """Ids as _garner takes them: address, count, bytes of one, whether unsigned."""
    count, width = (ids.numel(), ids.element_size()) if hasattr(ids, "numel") else (ids.size, ids.itemsize)
    return address, count, width, str(ids.dtype).endswith("uint64")


def _conversion(dtype: Any, kind: str) -> tuple[str | None, str]:
    """A dtype of any library as the gather takes it: (None, 'f32' or 'bf16'; the kind of the rows)."""
    if dtype is None:
        return None, kind
    name = {"f32": "float32", "bf16": "bfloat16"}.get(str(dtype)) or str(getattr(dtype, "__name__", dtype)).rsplit(".", 1)[-1]
    if name == kind:
        return None, kind
    if name not in ("float32", "bfloat16"):
        raise UsageError(f"dtype {dtype}: rows are converted to 'f32' or 'bf16', or left as they are ({kind})")
    return {"float32": "f32", "bfloat16": "bf16"}[name], name


class TierRows(tuple[int, ...]):
    """Rows by where they lie: rows["host"], or all of them in the order of `names`."""

    names = ("device", "peer", "host", "file")

    def __new__(cls, found: dict[str, int] | tuple[int, ...]) -> TierRows:
        return super().__new__(cls, (found[name] for name in cls.names) if isinstance(found, dict) else found)

    def __getitem__(self, which: SupportsIndex | str) -> int:  # type: ignore[override]
        return super().__getitem__(self.names.index(which) if isinstance(which, str) else which)

    def __repr__(self) -> str:
        return "TierRows(" + ", ".join(f"{name}={rows}" for name, rows in zip(self.names, self)) + ")"


@has_old_names
class Tiered(Generic[Rows]):
    """A feature table that looks like one array and lies in up to four tiers: on the device, on its peers, in host memory, in a file.

    table[ids]: rows, of shape ids.shape + row shape, on the device of ids: a torch tensor for torch ids, CuPy for CuPy, else NumPy. ids may
    be whole numbers of any shape, bools (one per row), a slice, or one number, which gives one row. Slices and numbers give what the table
    was made of. A plain negative number counts from the end, as in Python; a negative number inside an array is an error, which names its
    place (on a device the mistakes of training loops come as -1, and wrapping would hide them).
    It answers what a tensor of rows answers: shape, dtype, ndim, dim(), size(), numel(), nbytes, device, index_select(0, ids), to() where
    it is; where torch is imported it also is a torch.Tensor, so that PyG takes it for features. What would need all rows at one place is
    refused: numpy.asarray (use numpy() for a copy of all rows), arithmetic, other dimensions, writing.
    It goes to other processes, files and copies by name: made of a .npy file, or of a garner.shared table.
    Errors: IdError (an InputError and an IndexError) for an id outside the table, UsageError for another type than an id's.
    """

    def __init__(self, table: _garner.Table, source: Any, made: dict[str, Any]) -> None:
        self._table = table
        self._source = source
        self._row_shape: tuple[int, ...] = table.shape[1:]
        self._made = made  # the arguments of tiered(), to make it again in another process
        self.last: GatherRun | None = None  # of the last gather

    @property
    def shape(self) -> tuple[int, ...]:
        """(rows,) + shape of a row."""
        return self._table.shape

    @property
    def dtype(self) -> Any:
        """A dtype of the library that the table was made of; 'bfloat16' where NumPy knows none."""
        try:
            return self._source.row_type(self._table.kind)
        except UsageError:
            return self._table.kind

    @property
    def ndim(self) -> int:
        """Dimensions."""
        return len(self.shape)

    def dim(self) -> int:
        """Dimensions, as torch asks."""
        return self.ndim

    def size(self, dim: int | None = None) -> Any:
        """The shape, or one entry of it, as torch asks."""
        return self.shape if dim is None else self.shape[operator.index(dim)]

    def numel(self) -> int:
        """Elements of all rows."""
        return math.prod(self.shape)

    def element_size(self) -> int:
        """Bytes of an element, as torch asks."""
        return self.row_bytes // max(1, math.prod(self._row_shape))

    @property
    def nbytes(self) -> int:
        """Bytes of all rows, wherever they lie."""
        return len(self) * self.row_bytes

    @property
    def device(self) -> Any:
        """Where gathers run, which is where ids are best: torch.device of a table made of tensors, else 'cpu' or 'cuda:1'."""
        at = self._table.device_index
        return self._source.device("cpu" if at < 0 else f"cuda:{at}")

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Rows]:
        return (self[row] for row in range(len(self)))

    def index_select(self, dim: int, index: Any) -> Any:
        """table[index], as torch asks; rows alone are selected: dim 0."""
        if dim not in (0, -self.ndim):
            raise UsageError(f"index_select along dimension {dim}: a tiered table gathers whole rows; use 0, and index its result for columns")
        return self.gather(index)

    def to(self, *to: Any, **how: Any) -> Self:
        """Itself, for its own device and dtype; rows go elsewhere when they are gathered."""
        for asked in (*map(_checks.device, to), *map(_checks.device, how.values())):
            if asked is None or isinstance(asked, bool) or str(asked) in (str(self.device), str(self.dtype), str(self.device).split(":")[0]):
                continue
            raise UsageError(f"to({asked}): a tiered table stays where it is ({self.device}) and as it is ({self._table.kind}); give ids that "
                             f"lie on a device to get their rows there, use device=... to garner.tiered, or gather(ids, dtype=...)")
        return self

    def cpu(self) -> Self:
        """Itself, where gathers run on the host."""
        return self.to("cpu")

    def numpy(self) -> npt.NDArray[Any]:
        """A copy of all rows as a NumPy array."""
        return cast("npt.NDArray[Any]", self._gather(_numpy, [np.arange(len(self))])[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is not True:
            raise UsageError(f"a tiered table of {self.nbytes} bytes becomes no array unasked; use table.numpy() for a copy of all rows, or "
                             "gather some: table[ids]")
        return np.asarray(self.numpy(), dtype)

    def __setitem__(self, ids: Any, rows: Any) -> None:
        raise UsageError("a tiered table is read, not written; change what it is made of, then make it again")

    @staticmethod
    def _refuse(what: str) -> NoReturn:
        raise UsageError(f"{what}: a tiered table is not one tensor, its rows lie in several memories; gather what you need, table[ids], or "
                         "call table.numpy() for a copy of all rows")

    def __dlpack__(self, **how: Any) -> NoReturn:
        self._refuse("__dlpack__")

    def __copy__(self) -> Self:
        return self._twin(self._table, self._made)

    def __deepcopy__(self, memo: Any) -> Self:  # nobody writes it: the rows are shared
        return self._twin(self._table, self._made)

    def _twin(self, table: _garner.Table, made: dict[str, Any]) -> Self:
        return cast("Self", _face(table, self._source, made))

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        made = dict(self._made)
        if made["group"] is not None:
            raise UsageError("a tiered table whose peers are processes (group=) is made by each of them; call garner.tiered there")
        features = made["features"]
        if isinstance(features, (str, bytes)):
            made["features"] = os.path.abspath(features)
        elif not isinstance(features, Shared):
            raise UsageError("a tiered table made of an array lies in this process alone and is neither pickled, saved nor sent: save the array "
                             "with numpy.save and make the table of the file's name, or of garner.shared(name, array); both go by name. A "
                             "process started by fork has it without")
        return _again, (made, self.shape, self._table.kind)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__reduce_ex__(2)

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return self._table.row_bytes

    @property
    def tiers(self) -> TierRows:
        """How many rows lie in each tier: a TierRows."""
        return TierRows(self._table.rows)

    def summary(self) -> str:
        """One line: where the rows lie, and why."""
        return self._table.summary()

    def for_device(self, device: Any) -> Self:
        """The same table for another device of this process, as 1 or 'cuda:1': a Tiered.

        The rows kept on the device are copied to that one; those on peers and in host memory are shared, each released with the last table
        that reads it. A device without fast links to the peers reads their rows from host memory, as summary() reports.
        Errors: UsageError between a GPU, the CPU and the simulated device, and for a table whose peers are processes (group); OutOfMemory, DeviceError.
        Source: figure 4.6 and Listing 4.1 of Min's dissertation.
        """
        return self._twin(self._table.for_device(device), {**self._made, "device": device})

    def __repr__(self) -> str:
        return f"<garner.Tiered {tuple(self.shape)} {self._table.kind}: {self.summary()}>"

    @overload
    def __getitem__(self, ids: int | slice) -> Rows: ...
    @overload
    def __getitem__(self, ids: torch.Tensor) -> torch.Tensor: ...
    @overload
    def __getitem__(self, ids: npt.NDArray[Any] | Sequence[Any]) -> npt.NDArray[Any]: ...

    def __getitem__(self, ids: Any) -> Any:
        if isinstance(ids, tuple):
            raise UsageError("a tiered table gathers whole rows; index its result for columns")
        if isinstance(ids, slice):
            return self._gather(self._source, [np.arange(*ids.indices(len(self)))])[0]
        if not isinstance(ids, bool) and not hasattr(ids, "shape") or isinstance(ids, np.integer):
            try:
                row = operator.index(ids)
            except TypeError:
                pass
            else:
                if not -len(self) <= row < len(self):
                    raise IdError(f"row {row} of {len(self)}")
                return self._gather(self._source, [np.array(row % len(self))])[0]
        return self.gather(ids)

    def masked_select(self, mask: Any) -> Any:
        """As torch asks: the elements of the rows that are true, one after the other. mask: one bool per row, of shape (rows, 1, ...)."""
        if tuple(mask.shape) != (len(self),) + (1,) * (self.ndim - 1):
            self._refuse(f"masked_select by a mask of shape {tuple(mask.shape)}")
        return self.gather(mask.reshape(-1)).reshape(-1)

    def narrow(self, dim: int, start: int, length: int) -> Rows:
        """As torch asks: table[start:start + length]; dim 0."""
        if dim not in (0, -self.ndim) or not 0 <= start <= start + length <= len(self):
            self._refuse(f"narrow({dim}, {start}, {length})")
        return self[start:start + length]

    @overload
    def gather(self, ids: torch.Tensor, out: torch.Tensor | None = None, *, dtype: Any = None, strategy: str = "automatic", order: str = "automatic",
               duplicates: str = "automatic", scales: Any = None, multiprocessors: int = 0) -> torch.Tensor: ...
    @overload
    def gather(self, ids: npt.NDArray[Any] | Sequence[Any], out: npt.NDArray[Any] | None = None, *, dtype: Any = None, strategy: str = "automatic",
               order: str = "automatic", duplicates: str = "automatic", scales: Any = None, multiprocessors: int = 0) -> npt.NDArray[Any]: ...

    @takes_old_names
    def gather(self, ids: Any, out: Any = None, *, dtype: Any = None, strategy: str = "automatic", order: str = "automatic",
               duplicates: str = "automatic", scales: Any = None, multiprocessors: int = 0) -> Any:
        """The rows of ids, as table[ids] gives them for an array.

        out: an array of the library and on the device of ids, contiguous, of shape ids.shape + row shape; else a new one
        dtype: 'f32' or 'bf16' out of f16, bf16 and i8 rows; None: as they are. scales: i8: float32, one per row
        strategy: 'automatic', 'staged' (what frameworks do), 'naive', 'shifted' (Listing 3.2), 'aligned', 'bulk'
        order: 'automatic', 'none', 'sorted', 'bucketed'; multiprocessors: at most so many of the device, 0: all
        duplicates: ids that repeat: 'once' (their remote rows cross the link once), 'repeat' (each reads its own), 'automatic' (once in every
        order that is named; where none is, unless even that would show)
        On a device the rows are there when the current stream of the library of ids has come so far.
        """
        return self._gather(_library(ids, out), [ids], [out], dtype, strategy=strategy, order=order, duplicates=duplicates, scales=scales,
                            multiprocessors=multiprocessors)[0]

    @takes_old_names
    def gather_many(self, batches: Iterable[Any], outs: Iterable[Any] | None = None, *, dtype: Any = None, strategy: str = "automatic",
               order: str = "automatic", duplicates: str = "automatic", scales: Any = None, multiprocessors: int = 0) -> list[Any]:
        """The rows of several mini-batches at once, a list: each remote row is read once for all of them (of up to 64), unless
        duplicates='repeat'. Otherwise as gather()."""
        batches = list(batches)
        outs = [None] * len(batches) if outs is None else list(outs)
        if len(outs) != len(batches):
            raise UsageError(f"{len(outs)} outs for {len(batches)} mini-batches; give each one")
        if not batches:
            return []
        return self._gather(_library(*batches), batches, outs, dtype, strategy=strategy, order=order, duplicates=duplicates, scales=scales,
                            multiprocessors=multiprocessors)

    @takes_old_names
    def explain(self, ids: int, batches: int = 1, *, strategy: str = "automatic", order: str = "automatic", duplicates: str = "automatic",
                dtype: Any = None, multiprocessors: int = 0) -> GatherRun:
        """What a gather of so many ids would choose, and why: a GatherRun. batches: the ids are of so many mini-batches (gather_many())."""
        count = operator.index(ids)
        if not 0 <= count < 1 << 64:
            raise UsageError(f"explain: {count} ids; give the number of ids per gather, 0 or more")
        return self._table.explain(count, operator.index(batches), strategy=strategy, order=order, duplicates=duplicates,
                                   to=_conversion(dtype, self._table.kind)[0], multiprocessors=multiprocessors)

    def hits(self, ids: Any) -> TierRows:
        """How many of the rows of ids lie in each tier: a TierRows. A pass over the ids."""
        library = _library(ids)
        flat = library.ids(ids, len(self))
        near, _, _, done = library.bring(self._table.device_index, [flat], [None], [(0,)], "uint8")
        library.wait(self._table.device_index)
        found = self._table.hits(addressed(near[0], flat))
        done()
        return TierRows(found)

    def _gather(self, library: Any, batches: list[Any], outs: list[Any] | None = None, dtype: Any = None, **how: Any) -> list[Any]:
        ids = [library.ids(batch, len(self)) for batch in batches]
        shapes = [tuple(i.shape) + self._row_shape for i in ids]
        to, kind = _conversion(dtype, self._table.kind)
        outs = outs or [None] * len(ids)
        for out, shape in zip(outs, shapes):
            if out is not None and not (library.whole(out) and tuple(out.shape) == shape and out.dtype == library.row_type(kind)):
                raise UsageError(f"out: is {tuple(getattr(out, 'shape', ()))} {getattr(out, 'dtype', type(out).__name__)}; give a contiguous "
                                 f"array of shape {shape} and {library.row_type(kind)}, of the library of ids")
        near, to_where, stream, done = library.bring(self._table.device_index, ids, outs, shapes, kind)
        self.last = self._table.gather([addressed(at, i) for at, i in zip(near, ids)], to_where, to=to, stream=stream,
                                       **how)
        return cast("list[Any]", done())


def _contiguous(array: Any, what: str) -> Any:
    """Itself, or a copy, with a warning."""
    _checks.table(array, what)
    if _is_torch(array):
        whole, copy = array.is_contiguous(), array.contiguous
    elif isinstance(array, np.ndarray):
        whole, copy = array.flags.c_contiguous, lambda: np.ascontiguousarray(array)
    else:
        return array
    if whole:
        return array
    warnings.warn(f"{what}: the array is not contiguous and was copied ({array.nbytes} bytes); the table does not see later changes of it",
                  RuntimeWarning, stacklevel=3)
    return copy()


def unified(array: Any, device: Any = None) -> Unified:
    """A host array that a device reads in place: pinned and mapped, not copied.

    array: of the host: NumPy, a CPU tensor of torch, anything with DLPack, a garner.Shared; any numbers, any shape; one that is not
    contiguous is copied, with a RuntimeWarning. device: 0, 'cuda:1', ...; None: device 0, or the host alone on a machine that lacks one.
    Result: Unified, which torch.from_dlpack, cupy.from_dlpack (as an array of the device) and numpy.from_dlpack(..., device="cpu") take;
    garner.torch.unified gives the tensor at once. The memory is unpinned with its last owner.
    Errors: OutOfMemory where the system refuses to pin (the message names the limit), UsageError for an empty array, DeviceError.
    Source: the unified tensor of PyTorch-Direct (PVLDB 14(11) 2021; chapter 3 of Min's dissertation).
    """
    if isinstance(array, Tiered):
        raise UsageError("unified: this is a tiered table, whose rows lie in several memories; give the array that it was made of")
    array = _contiguous(array, "unified")
    pieces.map_for(array, 0 if device is None else device)
    return Unified(array, device)


_elements = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "int64": "i64", "uint8": "u8"}


@overload
def tiered(features: torch.Tensor, feature_cache: int | str | None = None, peer_cache: int | str | None = None,
           peers: Sequence[int] | None = None, scores: Any = None, device: Any = None, scales: Any = None, group: str | None = None,
           timeout: float = 60, dtype: Any = None, host_cache: int | str | None = None,
           file_cache: int | str | None = None) -> Tiered[torch.Tensor]: ...
@overload
def tiered(features: npt.NDArray[Any] | str | bytes | os.PathLike[str] | Shared, feature_cache: int | str | None = None,
           peer_cache: int | str | None = None, peers: Sequence[int] | None = None, scores: Any = None, device: Any = None, scales: Any = None,
           group: str | None = None, timeout: float = 60, dtype: Any = None, host_cache: int | str | None = None,
           file_cache: int | str | None = None) -> Tiered[npt.NDArray[Any]]: ...


@takes_old_names
def tiered(features: Any, feature_cache: int | str | None = None, peer_cache: int | str | None = None, peers: Sequence[int] | None = None,
           scores: Any = None, device: Any = None, scales: Any = None, group: str | None = None, timeout: float = 60,
           dtype: Any = None, host_cache: int | str | None = None, file_cache: int | str | None = None) -> Tiered[Any]:
    """A feature table whose hottest rows lie in GPU memory and the rest in host memory: features[ids] as before, at the speed of the link.

    features: shape (rows, ...), an array of the host (NumPy, torch, DLPack, garner.Shared), taken in place, or the name of an .npy or .gnt file;
    one that is not contiguous is copied, with a RuntimeWarning. f32, f16, bf16, i8, i64 and bytes are known; f16, bf16 and i8 can be
    converted by a gather. Rows of other numbers come bit for bit, in their dtype. A file of other elements (void, text) comes as uint8,
    with a RuntimeWarning.
    dtype: what the elements are, whatever the array or file calls them: 'f32', 'f16', 'bf16', 'i8', 'i64' or 'u8', of as many bytes (or
    from or to bytes); nothing is converted. NumPy's files have no name for bfloat16 (ml_dtypes writes '<V2'): use 'bf16'.
    feature_cache: bytes of rows kept in GPU memory, as "8GiB"; None: from what is free. peers, peer_cache: devices with fast links to each
    other, and the bytes of rows that each holds for all. scores: shape (rows,), float32: which rows are the hottest; None: the first.
    host_cache: for a file: so many bytes of its hottest rows are kept in host memory, the others stay in the file; of these file_cache bytes (None: a
    quarter) are for rows that come from the file and stay a while. The rows of a feature file (.gnt) always stay in it. None: an .npy file is read or mapped.
    scales: i8: shape (rows,), float32. device: where gathers run: 'cuda:1', 'cpu', 'simulated'; None: the first GPU, else 'cpu'.
    group: a name: the peers are processes, one a device: each calls this with the same table, scores, peers and group and its own device, and
    holds its share of the rows. They wait for each other, at most timeout for all to come. Finish together (a barrier) before the first
    process exits: once one has ended, gathers are DeviceError. For several devices in one process: Tiered.for_device.
    Result: Tiered. Errors: OutOfMemory where a budget or the system refuses, UsageError where options contradict each other, InputError for a
    file that lies.
    Source: Data Tiering (KDD 2022; chapter 4 of Min's dissertation).
    """
    if isinstance(features, Tiered):
        raise UsageError("features are a tiered table already")
    if hasattr(features, "__fspath__"):
        features = os.fspath(features)
    if features is None:
        raise TypeError("features=None; give a NumPy array, a tensor of numbers, or the name of an .npy file")
    if peers is not None:
        try:
            peers = [operator.index(peer) for peer in peers]
        except TypeError:
            raise TypeError(f"peers={_checks.told(peers)}: give a list of devices by their numbers, as [0, 1]") from None
        if any(not 0 <= peer < 1 << 31 for peer in peers):
            raise UsageError(f"peers={peers}: devices count from 0, and there are not so many")
    features = features if isinstance(features, (str, bytes)) else _contiguous(features, "tiered")
    if dtype is not None:
        name = str(getattr(dtype, "__name__", dtype)).rsplit(".", 1)[-1]
        dtype = _elements.get(name, name)
    source = features
    if isinstance(features, np.ndarray) and features.dtype.name == "bfloat16":  # of ml_dtypes, which NumPy cannot hand over
        features, dtype = features.view(np.uint16), dtype or "bf16"
    elif dtype is not None and isinstance(features, np.ndarray) and features.dtype.kind == "V" and features.dtype.names is None \
            and features.dtype.itemsize in (1, 2, 4, 8):  # bytes without a name, as numpy.load gives the '<V2' of ml_dtypes
        features = features.view(f"u{features.dtype.itemsize}")
    if scores is not None:
        scores = _checks.floats(scores, "scores")
    _seconds(timeout)
    if group is not None and not isinstance(group, str):
        raise TypeError(f"group={_checks.told(group)}: processes meet under a name, a string")
    pieces.map_for(features, device)
    table = _garner.Table(features, device, feature_cache, peer_cache, peers, scores, scales, group, timeout, dtype,
                          host_cache, file_cache)
    return _face(table, _library(source), dict(
        features=source, feature_cache=feature_cache, peer_cache=peer_cache, peers=peers, scores=scores, device=device, scales=scales,
        group=group, timeout=timeout, dtype=dtype, host_cache=host_cache, file_cache=file_cache))


def _face(table: _garner.Table, library: Any, made: dict[str, Any]) -> Tiered[Any]:
    """A Tiered over it: where torch is imported one that is a torch.Tensor too, so that torch's functions see its rows."""
    if "torch" in sys.modules:
        from . import torch
        if (kind := torch.known(table.kind)) is not None:
            return torch.TieredTensor(table, library, made, kind)
    return Tiered(table, library, made)


def _again(made: dict[str, Any], shape: tuple[int, ...], kind: str) -> Tiered[Any]:
    """What a pickled Tiered becomes."""
    features = made["features"]
    if not isinstance(features, Shared):  # a shared table has looked itself
        now = _garner.Table(features, "cpu", dtype=made["dtype"])  # its header alone is read
        if (now.shape, now.kind) != (shape, kind):
            raise InputError(f"{os.fsdecode(features)}: is now {now.shape} {now.kind}, and was {shape} {kind} when the table was sent; make the "
                             "table and send it again")
    return tiered(**made)


def _seconds(wait: Any) -> None:
    if not isinstance(wait, (int, float)):
        raise TypeError(f"timeout={_checks.told(wait)}: use a number of seconds")


def _code(dtype: Any) -> tuple[int, int]:
    """A dtype of NumPy or torch as DLPack names it: kind and bits."""
    name = str(dtype).rsplit(".", 1)[-1]
    if name in ("bf16", "bfloat16"):
        return 4, 16
    try:
        kind = np.dtype(name if _is_torch(dtype) else dtype)
    except TypeError:  # of torch alone
        raise UsageError(f"dtype {dtype}: a shared table holds numbers and bools that NumPy has too") from None
    if kind.name == "bfloat16":
        return 4, 16
    code = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}.get(kind.kind)
    if code is None or not kind.isnative or kind.itemsize > 16:
        raise UsageError(f"dtype {kind}: a shared table holds numbers and bools in the order of bytes of this machine")
    return code, 8 * kind.itemsize


def _attach(name: str, code: tuple[int, int], shape: tuple[int, ...]) -> Shared:
    """What a pickled Shared becomes."""
    _leaves_nothing_behind()
    return _garner._attach_shared(name, code, shape, 60)


@functools.cache
def _leaves_nothing_behind() -> None:
    """At the end of this process, or of one of multiprocessing, behind its children: what a loader or torch still holds then is never destroyed."""
    multiprocessing.util.Finalize(None, _garner._leave_shared, exitpriority=-100)


os.register_at_fork(after_in_child=_leaves_nothing_behind.cache_clear)  # which begins without finalizers


@overload
def shared(name: str, features: Graph, dtype: None = None, *, replace_stale: bool = False) -> Graph: ...
@overload
def shared(name: str, features: npt.NDArray[Any] | torch.Tensor | Sequence[Any], dtype: Any = None, *, replace_stale: bool = False,
           timeout: float = 60) -> Shared: ...
@overload
def shared(name: str, features: Any = None, dtype: Any = None, *, replace_stale: bool = False, timeout: float = 60, weight_attr: Any = None,
           time_attr: str | None = None) -> Any: ...


@takes_old_names
def shared(name: str, features: Any = None, dtype: Any = None, *, replace_stale: bool = False, timeout: float = 60, weight_attr: Any = None,
           time_attr: str | None = None) -> Any:
    """One table in host memory for several processes, or one graph, or PyG's data: one creates it, the others attach to it by its name.

    name: 1 to 200 letters, digits, '-', '_', '.'; the user's own. features: None attaches. An array (NumPy, torch, of any strides) creates
    the table, copies the array and publishes it; a shape, as a tuple, creates one of zeros: fill its .array, then .publish() it.
    A garner.Graph, and Data or HeteroData of PyG, are copied into one table: their tensors lie there, and the adjacency that loaders of garner.pyg
    sample, made of each edge_index once. What comes back, here and where it is attached, is a Graph, Data or HeteroData over that memory.
    dtype: of NumPy or torch, or 'bfloat16': creating: None: of the array, float32 for a shape; attaching: how to see the bytes of a row;
    None: f32, f16, bf16, i8 and i64 are known, others come as bytes (uint8). A row has one dimension then: only a pickled table, as an
    argument of a process, keeps shape and dtype. Graphs and data come as they were.
    weight_attr, time_attr: of data, as loaders of garner.pyg take them: the adjacency is made for these.
    replace_stale: remove a table of that name whose processes were all killed. timeout: for the creator to publish it.
    Result: Shared; .array is the table itself (NumPy), garner.tiered and garner.unified take it in place. It is removed with the last process
    that holds it, or any part of it; a process that attached to it may only read it. Errors: UsageError for a bad name or one that is held, FileError for a
    table that is not there, is stale or never filled, InputError for a file of another kind, OutOfMemory where shared memory is short (in a
    container: --shm-size).
    Source: section 3.3 of Min's dissertation.
    """
    if not isinstance(name, str):
        raise TypeError(f"shared: name={_checks.told(name)}: a table is named by a string")
    _seconds(timeout)
    _leaves_nothing_behind()
    if (weight_attr is not None or time_attr is not None) and (features is None or isinstance(features, Graph) or not pieces.takes(features)):
        raise UsageError("shared: weight_attr= and time_attr= are for data of PyG, where they are shared")
    if features is None:
        there = _garner._attach_shared(name, None if dtype is None else _code(dtype), None, timeout)
        whole = pieces.opened(there) if dtype is None else None
        return there if whole is None else whole
    if pieces.takes(features):
        if dtype is not None:
            raise UsageError(f"shared: dtype={dtype} is for a table of numbers; leave it out, data and graphs keep theirs")
        return pieces.create(name, features, bool(replace_stale), weight_attr, time_attr)
    if isinstance(features, tuple):
        try:
            shape = [operator.index(n) for n in features]
        except TypeError:
            raise UsageError(f"{features} is not a shape; for a table of these numbers give an array") from None
        if any(n < 0 for n in shape):
            raise UsageError(f"shape {features}: use 0 or more")
        return _garner._create_shared(name, shape, _code(np.float32 if dtype is None else dtype), bool(replace_stale))
    features = _checks.table(features, "shared") if _is_torch(features) else _checks.host(_checks.table(features, "shared"), "shared")
    made = _garner._create_shared(name, list(features.shape), _code(features.dtype if dtype is None else dtype), bool(replace_stale))
    if _is_torch(features):
        import torch.utils.dlpack
        torch.utils.dlpack.from_dlpack(made).copy_(features)
    else:
        np.copyto(made.array, features, casting="same_kind")
    made.publish()
    return made
