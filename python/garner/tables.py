"""Feature tables: what garner.tiered gives. Ids and rows are arrays of NumPy, torch or CuPy; which of them, a library object of arrays.py
knows. The work is done by _garner.Table, on addresses."""
from __future__ import annotations

import functools
import math
import multiprocessing.util
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, NoReturn, SupportsIndex, TypeVar, cast, overload

import numpy as np

from . import _checks, _garner, notebook, sources
from ._arguments import has_old_names, takes_old_names
from ._garner import GatherRun, Shared
from .arrays import addressed, is_torch, library_of, numpy, of_torch
from .errors import FileError, IdError, InputError, UsageError

if TYPE_CHECKING:  # none of these is needed to run
    import numpy.typing as npt
    import torch
    from typing_extensions import Self

Rows = TypeVar("Rows")  # what slices of a table are: of the library that it was made of
makers: dict[str, Callable[..., Any]] = {}  # making.py, which stands above, puts "tiered" and "face" here: they make a copy, and a table that was pickled


def refuse(what: str) -> NoReturn:
    raise UsageError(f"{what}: a tiered table is not one tensor, its rows lie in several memories; gather what you need, table[ids], or "
                     "call table.numpy() for a copy of all rows")


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
    refused: numpy.asarray (use numpy() for a copy of all rows), arithmetic, other dimensions. put() writes rows.
    It goes to other processes, files and copies by name: made of a .npy file, or of a garner.shared table.
    Errors: IdError (an InputError and an IndexError) for an id outside the table, UsageError for another type than an id's.
    """

    def __init__(self, table: _garner.Table, source: Any, made: dict[str, Any]) -> None:
        self._table = table
        self._source = source
        self._row_shape: tuple[int, ...] = table.shape[1:]
        self._made = made  # the arguments of tiered(), to make it again in another process
        self.last: GatherRun | None = None  # of the last gather
        self._file: Any = None  # that it was made of, and its stamp then
        self._stamp: tuple[int, ...] | None = None
        self._moves = 0

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
        return cast("npt.NDArray[Any]", self._gather(numpy, [np.arange(len(self))])[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is not True:
            raise UsageError(f"a tiered table of {self.nbytes} bytes becomes no array unasked; use table.numpy() for a copy of all rows, or "
                             "gather some: table[ids]")
        return np.asarray(self.numpy(), dtype)

    def __setitem__(self, ids: Any, rows: Any) -> None:
        raise UsageError("a tiered table is not written by assignment; use table.put(ids, rows)")

    def __dlpack__(self, **how: Any) -> NoReturn:
        refuse("__dlpack__")

    def __copy__(self) -> Self:
        return self._twin(self._table, self._made)

    def __deepcopy__(self, memo: Any) -> Self:  # the rows are shared, and so is what put() changes
        return self._twin(self._table, self._made)

    def _twin(self, table: _garner.Table, made: dict[str, Any]) -> Self:
        twin = cast("Self", makers["face"](table, self._source, made))
        twin._file, twin._stamp, twin._moves = self._file, self._stamp, self._moves
        return twin

    @property
    def version(self) -> int:
        """1, and one more with each refresh() that moved to a newer state of its file."""
        return self._moves + 1

    def refresh(self) -> bool:
        """Moves to what its file holds now, if it was replaced (a rename) or written to (put_rows) since: True if it moved.

        Until then its rows are those of the file that was opened, also under a new file of that name. Two exceptions: rows that stay in the file
        (.gnt, host_cache) are InputError once it has changed, and put_rows changes the rows of a mapped .npy file (device 'cpu') at once.
        A gather reads one version; loaders keep the one that they were made with. The old version and the new are in memory for a moment.
        Errors, after which the table is at its version still: UsageError for a table of no file, of a group or of a striped .gnt;
        FileError where the file was removed; InputError for another shape or dtype, or where it is being written to.
        """
        if self._stamp is None or self._made["group"] is not None:
            raise UsageError("refresh: this table is " + ("of a group of processes" if self._made["group"] is not None else "made of no file")
                             + "; make it again")
        name = os.fsdecode(sources.file_of(self._file))
        for _ in range(3):
            now = sources.stamp(self._file)
            if now is None:
                raise FileError(f"{name}: was removed, and the table stays at version {self.version}; write the file, then refresh")
            if sources.striped(self._file):
                raise UsageError(f"refresh: {name} is striped over several files; make the table again")
            if now == self._stamp:
                return False
            table = makers["tiered"](**{**self._made, "features": self._file})._table
            if (table.shape, table.kind) != (self._table.shape, self._table.kind):
                raise InputError(f"{name}: is now {table.shape} {table.kind}, and the table is {self._table.shape} {self._table.kind}; make another")
            if sources.stamp(self._file) == now:
                self._table, self._stamp, self._moves = table, now, self._moves + 1
                return True
        raise InputError(f"{name}: is being written to, and the table stays at version {self.version}; refresh it afterwards")

    def put(self, ids: Any, rows: Any) -> None:
        """Replaces rows wherever they lie: rows[k] becomes row ids[k]; of equal ids the last counts. On return, gathers get the new rows.

        ids: as of gather(); rows: an array or tensor of the table's dtype, of shape ids.shape + row shape, on the host or a GPU. scales stay as they are.
        The array that the table was made of changes too, and so do copies of the table and for_device() twins; a table that was made of the same
        array by itself keeps its GPU copies. An epoch of a loader that begins afterwards has the new rows. A mini-batch that is made meanwhile
        has old or new ones, or one that is partly new: put between epochs.
        Errors, after which no row has changed: IdError, as by gather(); UsageError for rows of another shape or dtype, for a table of a file (use
        garner.put_rows, then refresh()), of garner.shared, of a group, or of an array that is read-only; OutOfMemory.
        """
        if self._file is not None:
            raise UsageError(f"put: this table is of {os.fsdecode(sources.file_of(self._file))}; change a .npy or .gnt file by garner.put_rows, then "
                             "refresh() the table, or make the table of an array")
        where = _checks.host(library_of(ids).ids(ids, len(self)), "ids", "whole numbers")
        values = raw_rows(rows, self._table.kind, where.shape + self._row_shape, "the table")
        self._table.put(addressed(where.ctypes.data, where), values.ctypes.data, values.nbytes)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        made = dict(self._made)
        if made["group"] is not None:
            raise UsageError("a tiered table whose peers are processes (group=) is made by each of them; call garner.tiered there")
        features = made["features"]
        if isinstance(features, (str, bytes)):
            made["features"] = os.path.abspath(features)
        elif sources.reads(features):
            made["features"] = (os.path.abspath(features[0]), features[1])
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

    def _repr_html_(self) -> str:
        return notebook.table("garner.Tiered", {"rows": len(self), "shape of a row": tuple(self.shape[1:]), "dtype": self._table.kind,
                                                "where": self.summary()})

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
            refuse(f"masked_select by a mask of shape {tuple(mask.shape)}")
        return self.gather(mask.reshape(-1)).reshape(-1)

    def narrow(self, dim: int, start: int, length: int) -> Rows:
        """As torch asks: table[start:start + length]; dim 0."""
        if dim not in (0, -self.ndim) or not 0 <= start <= start + length <= len(self):
            refuse(f"narrow({dim}, {start}, {length})")
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
        return self._gather(library_of(ids, out), [ids], [out], dtype, strategy=strategy, order=order, duplicates=duplicates, scales=scales,
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
        return self._gather(library_of(*batches), batches, outs, dtype, strategy=strategy, order=order, duplicates=duplicates, scales=scales,
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
        library = library_of(ids)
        flat = library.ids(ids, len(self))
        near, _, _, done = library.bring(self._table.device_index, [flat], [None], [(0,)], "uint8")
        library.wait(self._table.device_index)
        found = self._table.hits(addressed(near[0], flat))
        done()
        return TierRows(found)

    def _gather(self, library: Any, batches: list[Any], outs: list[Any] | None = None, dtype: Any = None, **how: Any) -> list[Any]:
        table = self._table  # refresh() may put another here meanwhile
        ids = [library.ids(batch, len(self)) for batch in batches]
        shapes = [tuple(i.shape) + self._row_shape for i in ids]
        to, kind = _conversion(dtype, table.kind)
        outs = outs or [None] * len(ids)
        for out, shape in zip(outs, shapes):
            if out is not None and not (library.whole(out) and tuple(out.shape) == shape and out.dtype == library.row_type(kind)):
                raise UsageError(f"out: is {tuple(getattr(out, 'shape', ()))} {getattr(out, 'dtype', type(out).__name__)}; give a contiguous "
                                 f"array of shape {shape} and {library.row_type(kind)}, of the library of ids")
        near, to_where, stream, done = library.bring(table.device_index, ids, outs, shapes, kind)
        self.last = table.gather([addressed(at, i) for at, i in zip(near, ids)], to_where, to=to, stream=stream, **how)
        return cast("list[Any]", done())


def raw_rows(rows: Any, kind: str, shape: tuple[int, ...], of: str) -> npt.NDArray[Any]:
    """Rows in host memory, whose bytes are put as they are; UsageError for another shape or dtype than these."""
    values: npt.NDArray[Any]
    if is_torch(rows) and str(rows.dtype) == "torch.bfloat16":
        values, found = rows.detach().cpu().contiguous().view(of_torch().torch.int16).numpy(), "bfloat16"
    elif isinstance(rows, np.ndarray) and rows.dtype.name == "bfloat16":  # of ml_dtypes
        values, found = np.ascontiguousarray(rows), "bfloat16"
    else:
        values = _checks.host(rows, "rows")
        values, found = np.ascontiguousarray(values).reshape(values.shape), values.dtype.name
    if (found, values.shape) != (kind, shape):
        raise UsageError(f"rows: {found} of shape {values.shape}; {of} takes {kind} of shape {shape}")
    return values


def place_of(table: Tiered[Any]) -> str:
    """The device that gathers, as libgarner names it."""
    return table._table.device


def scales_of(rows: Any) -> npt.NDArray[np.float32] | None:
    """What the int8 rows of a table are multiplied by, one each; None: nothing."""
    scales = rows._made["scales"] if isinstance(rows, Tiered) and kind_of(rows) == "int8" else None
    return None if scales is None else _checks.floats(scales, "scales")


def kind_of(table: Tiered[Any]) -> str:
    """What its elements are, as 'float32'."""
    return table._table.kind


def _again(made: dict[str, Any], shape: tuple[int, ...], kind: str) -> Tiered[Any]:
    """What a pickled Tiered becomes."""
    features = made["features"]
    if not isinstance(features, Shared):  # a shared table has looked itself
        rows, dtype = sources.opened(features) if sources.reads(features) else (features, None)
        now = _garner.Table(rows, "cpu", dtype=made["dtype"] or dtype)  # of a file its header alone is read
        if (now.shape, now.kind) != (shape, kind):
            raise InputError(f"{os.fsdecode(sources.file_of(features))}: is now {now.shape} {now.kind}, and was {shape} {kind} when the table was sent; make the "
                             "table and send it again")
    return cast("Tiered[Any]", makers["tiered"](**made))


def _attach(name: str, code: tuple[int, int], shape: tuple[int, ...]) -> Shared:
    """What a pickled Shared becomes."""
    leaves_nothing_behind()
    return _garner._attach_shared(name, code, shape, 60)


@functools.cache
def leaves_nothing_behind() -> None:
    """At the end of this process, or of one of multiprocessing, behind its children: what a loader or torch still holds then is never destroyed."""
    multiprocessing.util.Finalize(None, _garner._leave_shared, exitpriority=-100)


os.register_at_fork(after_in_child=leaves_nothing_behind.cache_clear)  # which begins without finalizers
