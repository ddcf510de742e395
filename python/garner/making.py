"""How feature tables are made: garner.tiered and garner.unified. Where torch is imported a table is a torch.Tensor too."""
from __future__ import annotations

import operator
import os
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _checks, _garner, pieces, sources
from ._arguments import takes_old_names
from ._garner import Shared, Unified
from .arrays import is_torch, library_of, of_torch
from .errors import IdError, UsageError
from .tables import Tiered, makers, raw_rows

if TYPE_CHECKING:  # neither is needed to run
    import numpy.typing as npt
    import torch


def _contiguous(array: Any, what: str) -> Any:
    """Itself, or a copy, with a warning."""
    _checks.table(array, what)
    if is_torch(array):
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
def tiered(features: npt.NDArray[Any] | str | bytes | os.PathLike[str] | tuple[str, str] | Shared, feature_cache: int | str | None = None,
           peer_cache: int | str | None = None, peers: Sequence[int] | None = None, scores: Any = None, device: Any = None, scales: Any = None,
           group: str | None = None, timeout: float = 60, dtype: Any = None, host_cache: int | str | None = None,
           file_cache: int | str | None = None) -> Tiered[npt.NDArray[Any]]: ...


@takes_old_names
def tiered(features: Any, feature_cache: int | str | None = None, peer_cache: int | str | None = None, peers: Sequence[int] | None = None,
           scores: Any = None, device: Any = None, scales: Any = None, group: str | None = None, timeout: float = 60,
           dtype: Any = None, host_cache: int | str | None = None, file_cache: int | str | None = None) -> Tiered[Any]:
    """A feature table whose hottest rows lie in GPU memory and the rest in host memory: features[ids] as before, at the speed of the link.

    features: shape (rows, ...), an array of the host (NumPy, torch, DLPack, garner.Shared), taken in place, or the name of an .npy or .gnt file;
    also .npz, .safetensors, .parquet (a column of lists of one length), and .pt or .pth of torch.save; of several arrays (file, name); one that is not
    contiguous is copied, with a RuntimeWarning. f32, f16, bf16, i8, i64 and bytes are known; f16, bf16 and i8 can be converted by a gather. Rows of other numbers come bit for bit, in their dtype. A file of other elements (void, text) comes as uint8,
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
    named = features if sources.reads(features) else None  # by which the table is pickled
    file, stamp = features, sources.stamp(features)
    if named is not None:
        features, kind = sources.opened(named)
        dtype = kind if dtype is None else dtype
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
    _checks.seconds(timeout)
    if group is not None and not isinstance(group, str):
        raise TypeError(f"group={_checks.told(group)}: processes meet under a name, a string")
    pieces.map_for(features, device)
    table = _garner.Table(features, device, feature_cache, peer_cache, peers, scores, scales, group, timeout, dtype,
                          host_cache, file_cache)
    face = _face(table, library_of(source), dict(
        features=source if named is None else named, feature_cache=feature_cache, peer_cache=peer_cache, peers=peers, scores=scores, device=device, scales=scales,
        group=group, timeout=timeout, dtype=dtype, host_cache=host_cache, file_cache=file_cache))
    if stamp is not None:
        face._file = (os.path.abspath(file[0]), file[1]) if isinstance(file, tuple) else os.path.abspath(file)
        face._stamp = stamp
    return face


def put_rows(file: str | os.PathLike[str], ids: Any, rows: Any) -> None:
    """Replaces rows of an .npy or .gnt file where they stand, checksums too: rows[k] becomes row ids[k]; of equal ids the last counts.

    ids, rows: as of Tiered.put; rows of the file's own dtype. Each row is old or new, on a crash too (a journal next to the file is finished by the
    next to open it). What tables that are open read from here on, and how they get the new rows: Tiered.refresh.
    Errors: IdError for an id that the file lacks, UsageError for rows of another shape or dtype; then nothing has changed.
    """
    table = _garner.Table(os.fspath(file), "cpu")
    where = _checks.host(library_of(ids).ids(ids, table.shape[0]), "ids", "whole numbers")
    values = raw_rows(rows, table.kind, where.shape + table.shape[1:], os.fspath(file))
    del table
    where = where.reshape(-1)
    if where.dtype == np.uint64 and (beyond := where >= 1 << 63).any():
        raise IdError(f"id {where[beyond][0]} at position {int(beyond.argmax())}: {os.fspath(file)} has no such row")
    _garner._put_rows(file, where.astype(np.int64), values.reshape(-1).view(np.uint8))


def _face(table: _garner.Table, library: Any, made: dict[str, Any]) -> Tiered[Any]:
    """A Tiered over it: where torch is imported one that is a torch.Tensor too, so that torch's functions see its rows."""
    if "torch" in sys.modules:
        from .tiered_tensor import TieredTensor
        if (kind := of_torch().known(table.kind)) is not None:
            return TieredTensor(table, library, made, kind)
    return Tiered(table, library, made)


makers.update(tiered=tiered, face=_face)
