"""Feature rows in files of other libraries: .npz, safetensors, Parquet columns of lists, tensors that torch.save wrote. Mapped where the file permits."""
from __future__ import annotations

import errno
import importlib
import json
import os
import struct
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from . import _checks
from .errors import Error, FileError, InputError, UsageError
from .tabular import files as files_of

_endings = (".npz", ".safetensors", ".pt", ".pth", ".parquet", ".pq")
_dtypes = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1", "U8": "|u1", "BOOL": "|b1"}
Make = Callable[[tuple[int, ...], Any], Any]


def split(given: Any) -> tuple[str, str | None] | None:
    """The file and the name of the array in it, of a file or (file, name); None: something else."""
    key = None
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], str):
        given, key = given
    return (os.fsdecode(given), key) if isinstance(given, (str, bytes, os.PathLike)) else None


def file_of(given: Any) -> Any:
    return given[0] if isinstance(given, tuple) else given


def stamp(given: Any) -> tuple[int, ...] | None:
    """What changes where a file, or that of (file, name), is written to or replaced; None: no such file."""
    file = file_of(given)
    if not isinstance(file, (str, bytes)):
        return None
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def striped(file: Any) -> bool:
    """Whether a feature file lists others, which hold its pages: puts change those."""
    if not isinstance(file, (str, bytes)) or not os.fsdecode(file).endswith(".gnt"):
        return False
    with open(file, "rb") as head:
        return head.read(52)[48:] == b"\xff" * 4


def reads(given: Any) -> bool:
    """Whether it is a file that opened() reads, alone or as (file, name)."""
    found = split(given)
    return found is not None and found[0].endswith(_endings)


def opened(given: Any, make: Make = np.empty) -> tuple[Any, str | None]:
    """The array of a file, or of (file, name of the array in it), and its dtype where NumPy has none. make: allocates what cannot be mapped."""
    path, key = split(given) or ("", None)
    if not os.path.isfile(path) and not path.endswith((".parquet", ".pq")):
        raise FileError(f"{path}: does not exist, or is a folder")
    try:
        if path.endswith(".npz"):
            return _of_npz(path, key), None
        if path.endswith(".safetensors"):
            return _of_safetensors(path, key)
        if path.endswith((".pt", ".pth")):
            return of_torch(path, key), None
        return _of_parquet(path, key, make), None
    except OSError as e:
        raise e if isinstance(e, FileError) else FileError(f"{path}: {e.strerror or e}") from None


def _chosen(path: str, names: list[str], key: str | None, what: str = "arrays") -> str:
    if key is None and len(names) == 1:
        return names[0]
    if key is None or key not in names:
        problem = f"has no '{key}'" if key is not None else f"has {len(names)} {what}"
        raise (InputError if key is not None or not names else UsageError)(
            f"{path}: {problem}; it has {', '.join(map(repr, names[:20])) or 'none'}; name one, as ({os.path.basename(path)!r}, {(names or ['x'])[0]!r})")
    return key


def _of_npz(path: str, key: str | None) -> Any:
    try:
        with zipfile.ZipFile(path) as archive:
            name = _chosen(path, [one.removesuffix(".npy") for one in archive.namelist() if one.endswith(".npy")], key) + ".npy"
            member = archive.getinfo(name)
            if member.compress_type == zipfile.ZIP_STORED:
                with open(path, "rb") as file:
                    file.seek(member.header_offset + 26)
                    file.seek(member.header_offset + 30 + sum(struct.unpack("<HH", file.read(4))))
                    version = np.lib.format.read_magic(file)
                    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                    shape, by_columns, dtype = read(file)
                    if np.prod(shape) and not dtype.hasobject and not by_columns:
                        return np.memmap(path, dtype, "r", file.tell(), shape)
            with archive.open(name) as packed:
                return np.lib.format.read_array(packed, allow_pickle=False)
    except (Error, MemoryError):
        raise
    except Exception as e:  # zipfile, zlib and NumPy's parser of headers have many
        if isinstance(e, OSError) and e.errno != errno.EINVAL:  # which is a place before or beyond all files
            raise
        raise InputError(f"{path}: is not an archive of numpy.savez: {e}; is it a whole copy?") from None


def _of_safetensors(path: str, key: str | None) -> tuple[Any, str | None]:
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        size = os.fstat(file.fileno()).st_size
        try:
            if length > min(size - 8, 100_000_000):
                raise ValueError("its header is longer than the file")
            head = json.loads(file.read(length))
            one = head[_chosen(path, [name for name in head if name != "__metadata__"], key)]
            begin, end = one["data_offsets"]
            kind, shape = one["dtype"], tuple(one["shape"])
            if kind not in _dtypes:
                raise UsageError(f"{path}: elements are {kind}; use one of {', '.join(_dtypes)}")
            dtype = np.dtype(_dtypes[kind])
            if not all(isinstance(n, int) and n >= 0 for n in (*shape, begin)) or end - begin != int(np.prod(shape, dtype=object)) * dtype.itemsize \
                    or end > size - 8 - length:
                raise ValueError("an array does not fit into the file")
        except (ValueError, KeyError, TypeError, AttributeError) as e:
            if isinstance(e, (InputError, UsageError)):
                raise
            raise InputError(f"{path}: is not in the format of safetensors: {e}; is it a whole copy?") from None
    rows = np.memmap(path, dtype, "r", 8 + length + begin, shape) if end > begin else np.empty(shape, dtype)
    return rows, "bf16" if kind == "BF16" else None


def of_torch(path: str, key: str | None) -> Any:
    """A tensor of the host, or an array of NumPy of its memory."""
    _checks.installed("garner: a file of torch.save", "torch")
    torch = importlib.import_module("torch")
    try:
        found = torch.load(path, map_location="cpu", mmap=True, weights_only=True)
    except Exception as e:
        raise InputError(f"{path}: torch.load cannot map it: {' '.join(str(e).split())[:200]}; save the tensor alone, as torch.save(tensor, file)") from None
    if isinstance(found, dict):
        found = found[_chosen(path, [name for name, one in found.items() if isinstance(one, torch.Tensor)], key, "tensors")]
    elif key is not None:
        raise UsageError(f"{path}: holds a tensor without a name; leave out {key!r}")
    if not isinstance(found, torch.Tensor):
        raise InputError(f"{path}: holds {_checks.told(found)}; save the tensor alone, as torch.save(tensor, file)")
    return found if found.dtype == torch.bfloat16 else found.detach().numpy()


def _of_parquet(path: str, key: str | None, make: Make) -> Any:
    _checks.installed("garner: features of Parquet", "pyarrow")
    pa: Any = importlib.import_module("pyarrow")
    pq: Any = importlib.import_module("pyarrow.parquet")
    files = files_of(path)
    try:
        schema = pq.read_schema(files[0])
        names = [f.name for f in schema if pa.types.is_fixed_size_list(f.type) or pa.types.is_list(f.type) or pa.types.is_large_list(f.type)]
        if key is not None and key in schema.names and key not in names:
            raise InputError(f"{path}: '{key}' is {schema.field(key).type}; a column of feature rows holds lists of one length")
        name = _chosen(path, names, key, "columns of lists")
        rows, made, at = sum(pq.read_metadata(one).num_rows for one in files), None, 0
        for where, values in _lists(pq, files, name):
            if made is None:
                made = make((rows, values.shape[1]), values.dtype)
            if values.shape[1] != made.shape[1] or values.dtype != made.dtype:
                raise InputError(f"{where}: '{name}' has lists of {values.shape[1]} {values.dtype}, and of {made.shape[1]} {made.dtype} before; all rows are "
                                 "of one length")
            made[at:at + len(values)] = values
            at += len(values)
    except (pa.ArrowInvalid, pa.ArrowKeyError) as e:
        raise InputError(f"{path}: pyarrow cannot read it: {' '.join(str(e).split())}") from None
    if made is None:
        raise InputError(f"{path}: has no rows")
    return made


def _lists(pq: Any, files: list[str], name: str) -> Iterator[tuple[str, Any]]:
    """Where, and the rows of each batch."""
    for where in files:
        at = 0
        with pq.ParquetFile(where) as file:
            if name not in file.schema_arrow.names:
                raise InputError(f"{where}: has no column '{name}'; its columns are {', '.join(file.schema_arrow.names)}")
            for batch in file.iter_batches(1 << 14, columns=[name]):
                column = batch.column(0)
                values = column.flatten()
                if column.null_count or values.null_count:
                    bad = column.is_null().index(True).as_py() if column.null_count else values.is_null().index(True).as_py() * len(column) // len(values)
                    raise InputError(f"{where}: row {at + bad}: '{name}' is null, or holds a null; give each node all of its numbers")
                lengths = column.value_lengths().to_numpy(zero_copy_only=False)
                if len(lengths) and (lengths != lengths[0]).any():
                    bad = int((lengths != lengths[0]).argmax())
                    raise InputError(f"{where}: row {at + bad}: '{name}' is a list of {lengths[bad]}, and others are of {lengths[0]}; all rows are of one length")
                at += len(column)
                if len(column):
                    yield where, values.to_numpy(zero_copy_only=False).reshape(len(column), -1)
