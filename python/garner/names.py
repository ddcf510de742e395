"""The names of nodes, in a file next to that of the graph: row k is that of node k."""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _checks, _garner
from .errors import FileError, KindError, UsageError
from .tabular import laid_out, library, name_type, plain, values_of

_key = b"garner.names"  # of Parquet's metadata: the digest that the graph file has too
_known: dict[bytes, int] = {}  # digests of arrays, by a hash of all of their names


def read_names(file: Any) -> Any:
    """The names that garner.convert wrote, row k that of node k: shape (nodes,), int64 of numbers, else objects (str or bytes).

    file: the graph file, or the file of its names; a dataset file: a dict by node type, of those that have names. Errors: FileError if it does not exist.
    """
    if not isinstance(file, (str, os.PathLike)):
        raise KindError(f"read_names: file={_checks.told(file)}; give the graph file, or that of its names")
    path = os.fspath(file)
    if path.endswith(".json"):
        with open(path, encoding="utf-8") as text:
            return {t["name"]: read_names(os.path.join(os.path.dirname(path), t["names"])) for t in json.load(text)["vertices"] if "names" in t}
    graph = path if path.endswith(".gnr") else None
    path = names_of(path) if graph else path
    if not os.path.exists(path):
        raise FileError(f"{path}: does not exist; garner.convert writes it where ids are renumbered")
    if path.endswith(".npy"):
        return np.load(path)
    _checks.installed("garner.read_names", "pyarrow")
    if graph and not has_names(graph):
        raise FileError(f"{path}: holds the names of another graph than {graph}, which was written again; remove it, or convert the table again")
    return column_of(path).to_numpy()


def column_of(file: str) -> Any:
    """The names in a file of Parquet, of Arrow."""
    return library("parquet").read_table(file, columns=["name"]).column("name")


def has_names(graph_file: str) -> bool:
    """Whether the file of a graph has one of names, of this graph."""
    if not graph_file.endswith(".gnr") or not os.path.exists(graph_file):
        return False
    with open(graph_file, "rb") as file:
        head = file.read(120)  # docs/reference/file-formats.md
    return head[112:120] != bytes(8) and digest_in(graph_file) == int.from_bytes(head[112:120], "little")


def digest_in(file: str) -> int:
    """The digest of the names in a file of garner.convert, or of those of a graph file; 0: without."""
    file = names_of(file) if file.endswith(".gnr") else file
    with contextlib.suppress(library().ArrowInvalid, OSError):  # damaged, or not there: of any graph
        return int.from_bytes(bytes.fromhex((library("parquet").read_metadata(file).metadata or {}).get(_key, b"").decode()), "little")
    return 0


def digest_of(names: Any, known: int = 0) -> int:
    """The digest of an array of Arrow, as garner.convert would write it (or has: `known`); 0: not names, or one twice. Each is worked out once."""
    columns, rows, text, ends = [], 0, hashlib.blake2b(), hashlib.blake2b()
    for part in getattr(names, "chunks", [names]):
        for first in range(0, len(part), 1 << 17):
            one = plain(part.slice(first, 1 << 17))
            one = one.dictionary_decode() if library().types.is_dictionary(one.type) else one
            if (kind := name_type(one.type)) is None or one.null_count:
                return 0
            data, at, width, _ = laid_out(one, kind)
            text.update(data if at is None else data[at[0]:at[-1]])
            ends.update(b"%d," % width if at is None else np.diff(at))
            columns.append((data, at, width, None))
            rows += len(one)
    key = text.digest() + ends.digest()
    if key not in _known:
        _known[key] = known or _worked_out(columns, rows)
    return _known[key]


def _worked_out(columns: list[tuple[Any, Any, int, None]], rows: int) -> int:
    with tempfile.TemporaryDirectory(prefix="garner-") as folder:
        numbers = _garner._NameNumbers("names", folder, 0)
        for column in columns:
            numbers.number(column)
        return int(numbers.digest) if rows and numbers.names == rows else 0


def checked(graph_file: str, names: Any, digest: int) -> Any:
    """The names of a graph in memory as a column, before the graph is saved to that file."""
    column = library().array(names)
    if digest_of(column) != digest:
        raise UsageError(f"{names_of(graph_file)}: graph.names are those of another graph; set it to what garner.read_names gives for this one, or to None")
    return column


def write(graph_file: str, column: Any, digest: int) -> None:
    """For the file that the graph was saved to."""
    pa: Any = library()
    part = f"{names_of(graph_file)}.part-{os.getpid()}"
    try:
        table = pa.table({"name": column}).replace_schema_metadata({_key: digest.to_bytes(8, "little").hex()})
        library("parquet").write_table(table, part)
        os.replace(part, names_of(graph_file))
    except OSError as e:
        raise FileError(f"{names_of(graph_file)}: cannot be written: {e.strerror or e}") from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(part)


def names_of(graph_file: str) -> str:
    return graph_file.removesuffix(".gnr") + ".names.parquet"


class NamesFile:
    """The file of the names: written under another name, and renamed once the graph is whole."""

    def __init__(self, file: str, default: str, writer: Any, kind: Any, memory: int = 256 << 20) -> None:
        self.file, self.default, self.writer, self.kind, self.part = file, default, writer, kind, ""
        self.to: Any = None
        self.at_once = min(1 << 20, max(1 << 12, memory >> 10))  # names that are written

    def __enter__(self) -> NamesFile:
        if self.kind is None:
            if self.file != self.default:
                raise UsageError(f"names={self.file!r}: these ids are numbers and stay as they are; leave it out, or use renumber=True")
            return self
        if os.path.isdir(self.file):
            raise FileError(f"{self.file}: is a folder; name a file")
        self.part = f"{self.file}.part-{os.getpid()}"
        try:
            pa, pq = library(), library("parquet")
            if self.file.endswith(".npy"):
                if not pa.types.is_integer(self.kind):
                    raise UsageError(f"names={self.file!r}: an .npy holds names that are numbers, and these are {self.kind}; use a name that ends in .parquet")
                with open(self.part, "wb") as out:
                    np.save(out, np.concatenate([values_of(part) for part in self._parts()]))
            else:
                schema = pa.schema([pa.field("name", self.kind, nullable=False)])
                self.to = pq.ParquetWriter(self.part, schema)
                for part in self._parts():
                    self.to.write_table(pa.table([part], schema=schema))
        except OSError as e:
            self.__exit__()
            raise FileError(f"{self.file}: cannot be written: {e.strerror or e}") from None
        except BaseException:
            self.__exit__()
            raise
        return self

    def _parts(self) -> Iterator[Any]:
        pa = library()
        for first in range(0, self.writer.names, self.at_once):
            offsets, data = self.writer.read_names(first, min(self.at_once, self.writer.names - first))
            if pa.types.is_integer(self.kind) or pa.types.is_fixed_size_binary(self.kind):
                yield pa.Array.from_buffers(self.kind, len(offsets) - 1, [None, pa.py_buffer(data)])
            else:
                large = pa.large_string() if pa.types.is_string(self.kind) else pa.large_binary()
                yield pa.Array.from_buffers(large, len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)]).cast(self.kind)

    def publish(self, digest: int = 0) -> None:
        if self.part:
            if self.to is not None:
                if digest:
                    self.to.add_key_value_metadata({_key: digest.to_bytes(8, "little").hex()})
                self.to.close()
            os.replace(self.part, self.file)
            self.part = ""

    def __exit__(self, *_: Any) -> None:
        if self.part:
            if self.to is not None:
                self.to.close()
            with contextlib.suppress(OSError):
                os.unlink(self.part)
