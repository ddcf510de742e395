"""Feature tables: what garner.unified and garner.tiered give. Ids and rows are arrays of NumPy, torch or CuPy; which of them, a library
object below (or garner.torch) knows. The work is done by _garner.Table, on addresses."""
import operator
import warnings

import numpy as np

from . import _garner
from ._garner import Shared, Unified
from .errors import UsageError

# What libgarner takes as it is. Its ids of 4 bytes are signed, so uint32 is widened.
_whole = (np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint64))


class _NumPy:
    """Ids and rows of the host. A device reads and writes them in place: they are pinned for the call."""

    def ids(self, ids, rows):
        ids = np.asarray(ids)
        if ids.dtype == bool:
            if ids.shape != (rows,):
                raise UsageError(f"a mask of shape {ids.shape} for {rows} rows; give one bool a row")
            return np.flatnonzero(ids)
        if ids.dtype not in _whole:
            if ids.size and ids.dtype.kind not in "iu":
                raise UsageError(f"ids of {ids.dtype}; give whole numbers or bools")
            ids = ids.astype(np.int64)
        return ids if ids.flags.c_contiguous and ids.flags.aligned else ids.copy(order="C")

    def row_type(self, kind):
        if kind != "bfloat16":
            return np.dtype(kind)
        try:
            import ml_dtypes
        except ImportError:
            raise UsageError("NumPy knows no bfloat16; say dtype='f32', give ids as torch tensors, or install ml_dtypes") from None
        return np.dtype(ml_dtypes.bfloat16)

    def wait(self, device):
        """Until ids are where bring() brought them, for a call without a stream."""

    def whole(self, out):
        return isinstance(out, np.ndarray) and out.flags.c_contiguous and out.flags.writeable

    def bring(self, device, ids, outs, shapes, kind):
        outs = [np.empty(shape, self.row_type(kind)) if out is None else out for out, shape in zip(outs, shapes)]
        if device < 0:
            return [i.ctypes.data for i in ids], [o.ctypes.data for o in outs], 0, lambda: outs
        pinned = [[Unified(a.reshape(-1).view(np.uint8), device) if a.size else None for a in arrays] for arrays in (ids, outs)]
        near = [[p.address if p else 0 for p in some] for some in pinned]

        def done(pinned=pinned):
            pinned.clear()
            return outs

        return near[0], near[1], 0, done


class _CuPy:
    """Ids and rows of a device, on the stream that CuPy works on."""

    def __init__(self):
        import cupy
        self.cupy = cupy

    def ids(self, ids, rows):
        if ids.dtype == bool:
            if ids.shape != (rows,):
                raise UsageError(f"a mask of shape {ids.shape} for {rows} rows; give one bool a row")
            return self.cupy.flatnonzero(ids)
        if ids.dtype not in _whole:
            if ids.size and ids.dtype.kind not in "iu":
                raise UsageError(f"ids of {ids.dtype}; give whole numbers or bools")
            ids = ids.astype(np.int64)
        return self.cupy.ascontiguousarray(ids).reshape(ids.shape)

    row_type = _NumPy.row_type

    def wait(self, device):
        if device >= 0:
            self.cupy.cuda.Device(device).synchronize()

    def whole(self, out):
        return isinstance(out, self.cupy.ndarray) and out.flags.c_contiguous

    def bring(self, device, ids, outs, shapes, kind):
        cupy, numpy = self.cupy, _NumPy()
        homes = [i.device.id for i in ids]
        if device < 0:
            near = [cupy.asnumpy(i) for i in ids]
            at, to, stream, done = numpy.bring(-1, near, [None] * len(ids), shapes, kind)

            def back(near=near):
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

        def home(near=near):
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


def _is_torch(array):
    return type(array).__module__.split(".")[0] == "torch"


def _library(*arrays):
    """Of the first of them that belongs to one; NumPy's for lists and numbers."""
    for array in arrays:
        if _is_torch(array):
            from .torch import library
            return library
        if type(array).__module__.split(".")[0] == "cupy":
            return _CuPy()
    return _numpy


def _conversion(dtype, kind):
    """A dtype of any library as what the gather is asked for: (None, 'f32' or 'bf16'; the kind of the rows)."""
    if dtype is None:
        return None, kind
    name = {"f32": "float32", "bf16": "bfloat16"}.get(str(dtype)) or str(getattr(dtype, "__name__", dtype)).rsplit(".", 1)[-1]
    if name == kind:
        return None, kind
    if name not in ("float32", "bfloat16"):
        raise UsageError(f"dtype {dtype}: rows are converted to 'f32' or 'bf16', or left as they are ({kind})")
    return {"float32": "f32", "bfloat16": "bf16"}[name], name


class TierRows(tuple):
    """Rows by where they lie: rows["host"], or all of them in the order of `names`."""

    names = ("device", "peer", "host")

    def __new__(cls, found):
        return super().__new__(cls, (found[name] for name in cls.names) if isinstance(found, dict) else found)

    def __getitem__(self, which):
        return super().__getitem__(self.names.index(which) if isinstance(which, str) else which)

    def __repr__(self):
        return "TierRows(" + ", ".join(f"{name}={rows}" for name, rows in zip(self.names, self)) + ")"


class Tiered:
    """A table of rows that looks like one array and lies in up to three tiers: on the device, on its peers, in host memory.

    table[ids]: rows, of shape ids.shape + row shape, on the device of ids: a torch tensor for torch ids, CuPy for CuPy, else NumPy. ids may
    be whole numbers of any shape, bools (one a row), a slice, or one number, which gives one row. Slices and numbers give what the table
    was made of. A plain negative number counts from the end, as in Python; a negative number inside an array is an error, which names its
    place (on a device the mistakes of training loops come as -1, and wrapping would hide them).
    Errors: InputError for an id outside the table, IndexError for a plain number, UsageError for what is no id.
    """

    def __init__(self, table, source):
        self._table = table
        self._source = _library(source)
        self._row_shape = table.shape[1:]
        try:
            self.dtype = self._source.row_type(table.kind)
        except UsageError:  # bfloat16, which NumPy alone does not know
            self.dtype = table.kind
        self.shape = table.shape
        self.ndim = len(self.shape)
        self.last = None  # GatherRun of the last gather

    def __len__(self):
        return self.shape[0]

    @property
    def row_bytes(self):
        """Bytes of a row."""
        return self._table.row_bytes

    @property
    def device(self):
        """The device that gathers; -1: the host."""
        return self._table.device

    @property
    def tiers(self):
        """How many rows lie in each tier: a TierRows."""
        return TierRows(self._table.rows)

    def about(self):
        """One line: where the rows lie, and why."""
        return self._table.about()

    def beside(self, device):
        """The same table for another device of this process, as 1 or 'cuda:1': a Tiered.

        The rows kept on the device are copied to that one; those on peers and in host memory are shared, each released with the last table
        that reads it. A device without fast links to the peers reads their rows from host memory, and about() says so.
        Errors: UsageError between device, host and simulated, and for a table whose peers are processes (group); OutOfMemory, DeviceError.
        Source: figure 4.6 and Listing 4.1 of Min's dissertation.
        """
        other = Tiered.__new__(Tiered)
        other.__dict__.update(self.__dict__, _table=self._table.beside(device), last=None)
        return other

    def __repr__(self):
        return f"<garner.Tiered {tuple(self.shape)} {self._table.kind}: {self.about()}>"

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._gather(_numpy, [np.arange(len(self))])[0], dtype)

    def __getitem__(self, ids):
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
                    raise IndexError(f"row {row} of {len(self)}")
                return self._gather(self._source, [np.array(row % len(self))])[0]
        return self.gather(ids)

    def gather(self, ids, out=None, *, dtype=None, way="automatic", order="automatic", duplicates="automatic", scales=None,
               multiprocessors=0):
        """The rows of ids, as table[ids] gives them for an array.

        out: an array of the library and on the device of ids, contiguous, of shape ids.shape + row shape; else a new one
        dtype: 'f32' or 'bf16' out of f16, bf16 and i8 rows; None: as they are. scales: i8: float32, one a row
        way: 'automatic', 'staged' (what frameworks do), 'naive', 'shifted' (Listing 3.2), 'aligned', 'bulk'
        order: 'automatic', 'none', 'sorted', 'bucketed'; multiprocessors: at most so many of the device, 0: all
        duplicates: ids that repeat: 'once' (their far rows cross the link once), 'repeat' (each reads its own), 'automatic' (once in every
        order that is named; where none is, unless even that would show)
        On a device the rows are there when the current stream of the library of ids has come so far.
        """
        return self._gather(_library(ids, out), [ids], [out], dtype, way=way, order=order, duplicates=duplicates, scales=scales,
                            multiprocessors=multiprocessors)[0]

    def window(self, batches, outs=None, *, dtype=None, way="automatic", order="automatic", duplicates="automatic", scales=None,
               multiprocessors=0):
        """The rows of several mini-batches at once, a list: each far row is read once for all of them (of up to 64), unless
        duplicates='repeat'. Otherwise as gather()."""
        batches = list(batches)
        outs = [None] * len(batches) if outs is None else list(outs)
        if len(outs) != len(batches):
            raise UsageError(f"{len(outs)} outs for {len(batches)} mini-batches; give each one")
        if not batches:
            return []
        return self._gather(_library(*batches), batches, outs, dtype, way=way, order=order, duplicates=duplicates, scales=scales,
                            multiprocessors=multiprocessors)

    def explain(self, ids, batches=1, *, way="automatic", order="automatic", duplicates="automatic", dtype=None, multiprocessors=0):
        """What a gather of so many ids would choose, and why: a GatherRun. batches: the ids are of so many mini-batches (window())."""
        count = operator.index(ids)
        if not 0 <= count < 1 << 64:
            raise UsageError(f"explain: {count} ids; say how many ids a gather has, 0 or more")
        return self._table.explain(count, operator.index(batches), way=way, order=order, duplicates=duplicates,
                                   to=_conversion(dtype, self._table.kind)[0], multiprocessors=multiprocessors)

    def hits(self, ids):
        """How many of the rows of ids lie in each tier: a TierRows. A pass over the ids."""
        library = _library(ids)
        flat = library.ids(ids, len(self))
        near, _, _, done = library.bring(self._table.device, [flat], [None], [(0,)], "uint8")
        library.wait(self._table.device)
        found = self._table.hits(self._at(near[0], flat))
        done()
        return TierRows(found)

    @staticmethod
    def _at(address, ids):
        """Ids as _garner takes them: address, count, bytes of one, whether unsigned."""
        count, width = (ids.numel(), ids.element_size()) if hasattr(ids, "numel") else (ids.size, ids.itemsize)
        return address, count, width, str(ids.dtype).endswith("uint64")

    def _gather(self, library, batches, outs=None, dtype=None, **how):
        ids = [library.ids(batch, len(self)) for batch in batches]
        shapes = [tuple(i.shape) + self._row_shape for i in ids]
        to, kind = _conversion(dtype, self._table.kind)
        outs = outs or [None] * len(ids)
        for out, shape in zip(outs, shapes):
            if out is not None and not (library.whole(out) and tuple(out.shape) == shape and out.dtype == library.row_type(kind)):
                raise UsageError(f"out: is {tuple(getattr(out, 'shape', ()))} {getattr(out, 'dtype', type(out).__name__)}; give a contiguous "
                                 f"array of shape {shape} and {library.row_type(kind)}, of the library of ids")
        near, to_where, stream, done = library.bring(self._table.device, ids, outs, shapes, kind)
        self.last = self._table.gather([self._at(at, i) for at, i in zip(near, ids)], to_where, to=to, stream=stream,
                                       **how)
        return done()


def _contiguous(array, what):
    """Itself, or a copy, which is said."""
    if _is_torch(array):
        array = array.detach()
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


def unified(array, device=None):
    """A host array that a device reads in place: pinned and mapped, not copied.

    array: of the host: NumPy, a CPU tensor of torch, anything with DLPack, a garner.Shared; any numbers, any shape; one that is not
    contiguous is copied, and a RuntimeWarning says so. device: 0, 'cuda:1', ...; None: device 0, or the host alone where there is none.
    Result: Unified, which torch.from_dlpack, cupy.from_dlpack (as an array of the device) and numpy.from_dlpack(..., device="cpu") take;
    garner.torch.unified gives the tensor at once. The memory is unpinned with its last owner.
    Errors: OutOfMemory where the system refuses to pin (the message names the limit), UsageError for an empty array, DeviceError.
    Source: the unified tensor of PyTorch-Direct (PVLDB 14(11) 2021; chapter 3 of Min's dissertation).
    """
    return Unified(_contiguous(array, "unified"), device)


_elements = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int8": "i8", "int64": "i64", "uint8": "u8"}


def tiered(features, device_budget=None, peer_budget=None, peers=None, scores=None, device=None, scales=None, group=None, wait_seconds=60,
           dtype=None):
    """A table of rows whose hottest lie on the device and the rest in host memory: features[ids] as before, at the speed of the link.

    features: shape (rows, ...), an array of the host (NumPy, torch, DLPack, garner.Shared), taken in place, or the name of an .npy file;
    one that is not contiguous is copied, and a RuntimeWarning says so. f32, f16, bf16, i8, i64 and bytes are known; f16, bf16 and i8 can be
    converted by a gather. Rows of other numbers come bit for bit, in their dtype. A file of what is no number (void, text) comes as uint8,
    and a RuntimeWarning says so.
    dtype: what the elements are, whatever the array or file calls them: 'f32', 'f16', 'bf16', 'i8', 'i64' or 'u8', of as many bytes (or
    from or to bytes); nothing is converted. NumPy's files have no name for bfloat16 (ml_dtypes writes '<V2'): say 'bf16'.
    device_budget: bytes of rows kept on the device, as "8GiB"; None: from what is free. peers, peer_budget: devices with fast links to each
    other, and the bytes of rows each holds for all. scores: shape (rows,), float32: which rows are the hottest; None: the first.
    scales: i8: shape (rows,), float32. device: where gathers run: 0, 'cuda:1', 'host', 'simulated'; None: device 0, else the host.
    group: a name: the peers are processes, one a device: each calls this with the same table, scores, peers and group and its own device, and
    holds its share of the rows. They wait for each other, at most wait_seconds for all to come. Finish together (a barrier) before the first
    process exits: once one has ended, gathers are DeviceError. For several devices in one process: Tiered.beside.
    Result: Tiered. Errors: OutOfMemory where a budget or the system refuses, UsageError where options contradict each other, InputError for a
    file that lies.
    Source: Data Tiering (KDD 2022; chapter 4 of Min's dissertation).
    """
    if isinstance(features, Tiered):
        raise UsageError("features are a tiered table already")
    if features is None:
        raise TypeError("features: None is no table; give a NumPy array, a tensor of numbers, or the name of an .npy file")
    if peers is not None:
        try:
            peers = [operator.index(peer) for peer in peers]
        except TypeError:
            raise TypeError(f"peers={peers!r}: give a list of devices by their numbers, as [0, 1]") from None
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
        scores = np.ascontiguousarray(scores.detach().cpu().numpy() if _is_torch(scores) else scores, dtype=np.float32)
    if group is not None and not isinstance(group, str):
        raise TypeError(f"group={group!r}: processes meet under a name, a string")
    return Tiered(_garner.Table(features, device, device_budget, peer_budget, peers, scores, scales, group, wait_seconds, dtype), source)


def _code(dtype):
    """A dtype of NumPy or torch as DLPack names it: kind and bits."""
    name = str(dtype).rsplit(".", 1)[-1]
    if name in ("bf16", "bfloat16"):
        return 4, 16
    kind = np.dtype(name if _is_torch(dtype) else dtype)
    if kind.name == "bfloat16":
        return 4, 16
    code = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}.get(kind.kind)
    if code is None or not kind.isnative or kind.itemsize > 16:
        raise UsageError(f"dtype {kind}: a shared table holds numbers and bools in the order of bytes of this machine")
    return code, 8 * kind.itemsize


def _attach(name, code, shape):
    """What a pickled Shared becomes."""
    return _garner._attach_shared(name, code, shape, 60)


def shared(name, features=None, dtype=None, *, replace_stale=False, wait_seconds=60):
    """One table in host memory for several processes: one creates it, the others attach to it by its name.

    name: 1 to 200 letters, digits, '-', '_', '.'; the user's own. features: None attaches. An array (NumPy, torch, of any strides) creates
    the table, copies the array and publishes it; a shape, as a tuple, creates one of zeros: fill its .array, then .publish() it.
    dtype: of NumPy or torch, or 'bfloat16': creating: None: of the array, float32 for a shape; attaching: how to see the bytes of a row;
    None: f32, f16, bf16, i8 and i64 are known, others come as bytes (uint8). A row has one dimension then: only a pickled table, as an
    argument of a process, keeps shape and dtype.
    replace_stale: remove a table of that name whose processes were all killed. wait_seconds: for the creator to publish it.
    Result: Shared; .array is the table itself (NumPy), garner.tiered and garner.unified take it in place. It is gone with the last process
    that holds it. Errors: UsageError for a bad name or one that is held, FileError for a table that is not there, is stale or never filled,
    InputError for a file that is none, OutOfMemory where shared memory is short (in a container: --shm-size).
    Source: section 3.3 of Min's dissertation.
    """
    if not isinstance(name, str):
        raise TypeError(f"shared: name={name!r}: a table is named by a string")
    if features is None:
        return _garner._attach_shared(name, None if dtype is None else _code(dtype), None, wait_seconds)
    if isinstance(features, tuple):
        try:
            shape = [operator.index(n) for n in features]
        except TypeError:
            raise UsageError(f"{features} is no shape; for a table of these numbers give an array") from None
        if any(n < 0 for n in shape):
            raise UsageError(f"shape {features}: say 0 or more")
        return _garner._create_shared(name, shape, _code(np.float32 if dtype is None else dtype), replace_stale)
    if not _is_torch(features):
        features = np.asarray(features)
    made = _garner._create_shared(name, list(features.shape), _code(features.dtype if dtype is None else dtype), replace_stale)
    if _is_torch(features):
        import torch
        torch.from_dlpack(made).copy_(features.detach())
    else:
        np.copyto(made.array, features, casting="same_kind")
    made.publish()
    return made
