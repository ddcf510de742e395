"""garner.convert and garner.read_edges: tables of edges, as Parquet, Arrow, CSV or TSV in any number of files, to a graph.

Batches of pyarrow go to the sorter of graphs larger than memory, while the next batch is read. Ids are whole numbers, or names (strings, bytes, UUIDs,
any numbers with renumber=True), which get numbers in the order of their first appearance; a second file holds the names in that order.
Invariant: graph and names depend on the rows and their order alone, not on how files or batches divide them.
"""
from __future__ import annotations

import contextlib
import glob
import hashlib
import importlib
import io
import json
import os
import queue
import re
import sys
import tempfile
import threading
import warnings
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import _checks, _garner
from ._garner import Graph, GraphInfo
from .errors import Error, FileError, IdError, InputError, KindError, UsageError

_rows = 1 << 17  # of a batch
_written = 1 << 20  # names at once
_tables = {".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".csv": "csv", ".tsv": "csv"}


def convert(edges: Any, file: Any, *, src: str | int = 0, dst: str | int = 1, weight: str | int | None = None, renumber: bool | None = None, names: Any = None,
            undirected: bool = False, keep_duplicates: bool = False, keep_loops: bool = False, in_edges: bool = False, numbering: str = "automatic",
            id_bytes: int = 0, random_weights: tuple[float, float] | None = None, weight_seed: int = 1, memory_limit: int | str | None = None,
            scratch: Any = None) -> GraphInfo | None:
    """Writes a graph file (.gnr) of a table of edges, which may be larger than memory; or what `garner convert` makes of other files and folders.

    edges: files (.parquet, .arrow, .feather, .csv or .tsv, also .gz and .zst of text), a pattern such as 'edges/*.parquet', a folder of such files, a list
    of those, '-' for CSV on standard input; or a table in memory: of pyarrow, pandas, Polars, anything with __arrow_c_stream__
    Else a file of another format, by its ending (as garner.read takes them); or the folder of a data set (OGB, MAG240M, IGB) if `file` ends in .json
    file: the graph file, or the dataset file of a folder; it appears whole or not at all. A file of another format may become one, as garner convert has it
    src, dst, weight: columns by name, or by position from 0; a row is the edge src -> dst. Weights are 0 or more; whole numbers become u32, floats f32
    renumber: False: ids are whole numbers from 0 and stay; True: any ids get the numbers 0, 1, 2 ... in the order of their first appearance, src before
    dst; None: strings, bytes and UUIDs (as 16 bytes) are renumbered, numbers are not. Both columns name nodes of one kind
    names: the file for the ids that were renumbered, row k that of node k: .parquet (column 'name'), or .npy of numbers; None: FILE.names.parquet
    undirected, keep_duplicates, keep_loops, in_edges, numbering, id_bytes, random_weights, weight_seed: as of garner.build; numbering 'automatic' leaves
    ids out that have no edge, if nearly all are so
    memory_limit: most bytes of host memory to take, as "8GiB"; edges beyond it are sorted in `scratch` (a folder; None: that of the file), with 8 bytes per
    edge (12 with weights; twice that if undirected). Names take 18 to 28 bytes each, at most half of the limit
    Result: what the graph is; None of a dataset.
    Errors: InputError for a column that is not there, an id or weight that is null, files whose columns differ; IdError for a negative id; FileError,
    UsageError, OutOfMemory, Interrupted.
    """
    options = dict(undirected=undirected, keep_duplicates=keep_duplicates, keep_loops=keep_loops, in_edges=in_edges, numbering=numbering, id_bytes=id_bytes,
                   random_weights=random_weights, weight_seed=weight_seed, memory_limit=memory_limit)
    to = os.fspath(file)
    if isinstance(edges, (str, os.PathLike)) and str(to).endswith(".json"):
        for note in _garner._convert_folder(edges, to, undirected, id_bytes):
            warnings.warn(note, stacklevel=2)
        return None
    if isinstance(edges, (str, os.PathLike)) and os.path.isfile(edges) and not _ending(os.fspath(edges)):
        return _garner._convert(edges, to, **{**options, "undirected": undirected or None})
    table = _Table(edges, src, dst, weight, renumber)
    if not isinstance(to, str) or not to.endswith(".gnr"):
        raise UsageError(f"convert: writes a graph file, whose name ends in .gnr, and not {_checks.told(to)}")
    names_file = os.fspath(names) if names is not None else _names_of(to)
    if not names_file.endswith((".parquet", ".npy")):
        raise UsageError(f"names={names_file!r}: use a name that ends in .parquet or .npy")
    writer = _garner._GraphWriter(to, table.name, scratch, **options)
    table.give(writer)
    with _Names(names_file, _names_of(to), writer, table.kind) as written:
        info = writer.finish()
        written.publish(to)
    return info


def read_edges(edges: Any, *, src: str | int = 0, dst: str | int = 1, weight: str | int | None = None, renumber: bool | None = None, undirected: bool = False,
               keep_duplicates: bool = False, keep_loops: bool = False, in_edges: bool = False, numbering: str = "automatic", id_bytes: int = 0,
               random_weights: tuple[float, float] | None = None, weight_seed: int = 1, memory_limit: int | str | None = None, scratch: Any = None) -> Graph:
    """A graph in host memory of a table of edges; arguments and errors are those of garner.convert.

    graph.names has the ids that were renumbered, row k that of node k: an array of NumPy; None where ids stay. The graph passes through a temporary file in
    `scratch` (None: the system's folder for such files).
    """
    if scratch is not None and not os.path.isdir(scratch):
        raise FileError(f"scratch={os.fspath(scratch)!r}: is not a folder; name one that exists")
    with tempfile.TemporaryDirectory(prefix="garner-", dir=scratch) as folder:
        file = os.path.join(folder, "edges.gnr")
        convert(edges, file, src=src, dst=dst, weight=weight, renumber=renumber, undirected=undirected, keep_duplicates=keep_duplicates, keep_loops=keep_loops,
                in_edges=in_edges, numbering=numbering, id_bytes=id_bytes, random_weights=random_weights, weight_seed=weight_seed, memory_limit=memory_limit,
                scratch=scratch or folder)
        graph = _garner.open(file)
        if os.path.exists(_names_of(file)):
            graph.names = read_names(file)
    return graph


def read_names(file: Any) -> Any:
    """The names that garner.convert wrote, row k that of node k: shape (nodes,), int64 of numbers, else objects (str or bytes).

    file: the graph file, or the file of its names. Errors: FileError if it does not exist.
    """
    if not isinstance(file, (str, os.PathLike)):
        raise KindError(f"read_names: file={_checks.told(file)}; give the graph file, or that of its names")
    path = os.fspath(file)
    graph = path if path.endswith(".gnr") else None
    path = _names_of(path) if graph else path
    if not os.path.exists(path):
        raise FileError(f"{path}: does not exist; garner.convert writes it where ids are renumbered")
    if path.endswith(".npy"):
        return np.load(path)
    _checks.installed("garner.read_names", "pyarrow")
    if graph and not has_names(graph):
        raise FileError(f"{path}: holds the names of another graph than {graph}, which was written again; remove it, or convert the table again")
    return _library("parquet").read_table(path, columns=["name"]).column("name").to_numpy()


def main() -> None:
    """For the program `garner convert`: the arguments of convert as JSON in sys.argv[1]; prints what the graph is, or the error, as JSON."""
    given = json.loads(sys.argv[1])
    said: dict[str, Any]
    try:
        info = convert(given.pop("edges"), given.pop("file"), **given)
        said = {name: getattr(info, name) for name in ("num_nodes", "num_edges", "id_bytes", "weights", "directed", "in_edges")}
    except (Error, KeyboardInterrupt) as e:
        said = {"kind": type(e).__name__.replace("KeyboardInterrupt", "Interrupted"), "error": str(e) or "interrupted"}
    except ModuleNotFoundError as e:
        said = {"kind": "UsageError", "error": str(e)}
    except Exception as e:
        said = {"kind": "InternalError", "error": f"{type(e).__name__}: {e}"}
    print(json.dumps(said))


def has_names(graph_file: str) -> bool:
    """Whether the file of a graph has one of names, of this graph."""
    if not graph_file.endswith(".gnr") or not os.path.exists(graph_file) or not os.path.exists(_names_of(graph_file)):
        return False
    known: dict[bytes, bytes] = {}
    with contextlib.suppress(_library().ArrowInvalid):  # damaged: of any graph
        known = _library("parquet").read_metadata(_names_of(graph_file)).metadata or {}
    return bool(known.get(b"garner.graph", b"").decode() == _head_of(graph_file))


def _head_of(graph_file: str) -> str:
    """A digest of the header of a graph file, which has the checksums of all of it."""
    with open(graph_file, "rb") as file:
        return hashlib.sha256(file.read(4096)).hexdigest()


def _names_of(graph_file: str) -> str:
    return graph_file.removesuffix(".gnr") + ".names.parquet"


def _library(module: str = "") -> Any:
    """pyarrow, or a module of it, at its first use: no import of garner waits for it."""
    return importlib.import_module("pyarrow" + ("." + module if module else ""))


class _Table:
    """Columns of a table of edges, in batches."""

    def __init__(self, edges: Any, src: str | int, dst: str | int, weight: str | int | None, renumber: bool | None) -> None:
        _checks.installed("garner.convert", "pyarrow")
        self.columns, self.renumber = (src, dst, weight), renumber
        self.kind: Any = None  # of the names: a type of pyarrow; None: ids are numbers
        self.types: dict[str, tuple[str, str]] = {}  # of the first part: each column's type, and where
        if isinstance(edges, (str, bytes, os.PathLike)):
            self.parts = _files(edges)
        elif isinstance(edges, (list, tuple)) and edges and all(isinstance(one, (str, bytes, os.PathLike)) for one in edges):
            self.parts = [file for one in edges for file in _files(one)]
        else:
            self.parts = [edges]
        self.name = str(self.parts[0]) if isinstance(self.parts[0], str) else f"a {type(edges).__name__}"

    def give(self, writer: Any) -> None:
        """All batches to the writer, each while the next one is read."""
        ready: queue.Queue[Any] = queue.Queue(1)
        ended = threading.Event()

        def put(what: Any) -> None:
            while not ended.is_set():
                with contextlib.suppress(queue.Full):
                    return ready.put(what, timeout=0.1)

        def read() -> None:
            try:
                with contextlib.closing(self._batches()) as batches:
                    for batch in batches:
                        put(batch)
                        if ended.is_set():
                            return
                put(None)
            except BaseException as e:
                put(e)

        threading.Thread(target=read, daemon=True).start()  # a read of a pipe may never end
        try:
            while (now := ready.get()) is not None:
                if isinstance(now, BaseException):
                    raise now
                where, first, columns = now
                try:
                    self._add(writer, first, columns)
                except (InputError, UsageError) as e:
                    raise type(e)(f"{where}: {e}") from None
        finally:
            ended.set()

    def _batches(self) -> Generator[tuple[str, int, list[Any]], None, None]:
        """Where, the first row, and the columns of each batch."""
        pa = _library()

        for part in self.parts:
            where = part if isinstance(part, str) else self.name
            first = 0
            try:
                for names, batch in _read(part, self.columns, self.renumber):
                    whole = batch.schema.names == names  # else of Parquet, the columns that are wanted
                    chosen = [(_position(where, names, one), role) for one, role in zip(self.columns, ("src", "dst", "weight")) if one is not None]
                    for at in range(0, batch.num_rows, _rows):
                        columns = [_decoded(batch.column(k if whole else names[k]).slice(at, _rows)) for k, _ in chosen]
                        for (k, role), column in zip(chosen, columns):
                            self._check(where, first + at, names[k], role, column)
                        yield where, first + at, columns
                    first += batch.num_rows
            except (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowNotImplementedError) as e:
                hint = "; renumber=True reads ids as text" if "conversion error to int" in str(e) else ""
                raise InputError(f"{where}: pyarrow cannot read it: {' '.join(str(e).split())}{hint}") from None
            except OSError as e:
                raise FileError(f"{where}: {e.strerror or ' '.join(str(e).split())}") from None

    def _check(self, where: str, first: int, name: str, role: str, column: Any) -> None:
        was, there = self.types.setdefault(role, (_kind(column.type), where))
        if was != _kind(column.type) and not (role == "weight" and {was, _kind(column.type)} == {"whole numbers", "floats"}):
            raise InputError(f"{where}: column '{name}' is {column.type}, and in {there} it is {was}; all parts have the same columns")
        if column.null_count:
            raise InputError(f"{where}: row {first + column.is_null().index(True).as_py()}: '{name}' is null; leave such rows out")

    def _add(self, writer: Any, first: int, columns: list[Any]) -> None:
        pa = _library()

        source, target = (_plain(one) for one in columns[:2])
        weights = None if len(columns) == 2 else _numbers(columns[2], "weights", "numbers")
        renumber = self.renumber
        if renumber is None:
            renumber = not (pa.types.is_integer(source.type) and pa.types.is_integer(target.type))
        if not renumber:
            writer.add(*(_ids(one, role, first) for one, role in ((source, "src"), (target, "dst"))), weights)
            return
        kinds = [_name_type(one.type.value_type if pa.types.is_dictionary(one.type) else one.type) for one in (source, target)]
        for role, kind, column in zip(("src", "dst"), kinds, columns):
            if kind is None:
                raise KindError(f"{role} is {column.type}; ids are whole numbers, strings, bytes or UUIDs")
        if kinds[0] != kinds[1]:
            raise KindError(f"src is {kinds[0]} and dst is {kinds[1]}; both name nodes of one graph: cast one of them; of CSV renumber=True reads both as text")
        if self.kind not in (None, kinds[0]):
            raise InputError(f"ids are {kinds[0]}, and {self.kind} in earlier parts; cast one of them")
        self.kind = kinds[0]
        writer.add_names(_laid_out(source, kinds[0]), _laid_out(target, kinds[0]), weights)


class _Names:
    """The file of the names: written under another name, and renamed once the graph is whole."""

    def __init__(self, file: str, default: str, writer: Any, kind: Any) -> None:
        self.file, self.default, self.writer, self.kind, self.part = file, default, writer, kind, ""
        self.to: Any = None

    def __enter__(self) -> _Names:
        if self.kind is None:
            if self.file != self.default:
                raise UsageError(f"names={self.file!r}: these ids are numbers and stay as they are; leave it out, or use renumber=True")
            return self
        if os.path.isdir(self.file):
            raise FileError(f"{self.file}: is a folder; name a file")
        self.part = f"{self.file}.part-{os.getpid()}"
        try:
            pa, pq = _library(), _library("parquet")
            if self.file.endswith(".npy"):
                if not pa.types.is_integer(self.kind):
                    raise UsageError(f"names={self.file!r}: an .npy holds names that are numbers, and these are {self.kind}; use a name that ends in .parquet")
                with open(self.part, "wb") as out:
                    np.save(out, np.concatenate([part.to_numpy() for part in self._parts()]))
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
        pa = _library()

        for first in range(0, self.writer.names, _written):
            offsets, data = self.writer.read_names(first, min(_written, self.writer.names - first))
            if pa.types.is_integer(self.kind) or pa.types.is_fixed_size_binary(self.kind):
                yield pa.Array.from_buffers(self.kind, len(offsets) - 1, [None, pa.py_buffer(data)])
            else:
                large = pa.large_string() if pa.types.is_string(self.kind) else pa.large_binary()
                yield pa.Array.from_buffers(large, len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)]).cast(self.kind)

    def publish(self, graph_file: str) -> None:
        if self.part:
            if self.to is not None:
                self.to.add_key_value_metadata({"garner.graph": _head_of(graph_file)})
                self.to.close()
            os.replace(self.part, self.file)
            self.part = ""

    def __exit__(self, *_: Any) -> None:
        if self.part:
            if self.to is not None:
                self.to.close()
            with contextlib.suppress(OSError):
                os.unlink(self.part)


def _files(given: Any) -> list[str]:
    """The files that a name, a pattern or a folder stands for, in the order of their names."""
    name = os.fsdecode(given)
    if name == "-":
        return ["-"]
    if os.path.isdir(name):
        found = sorted(str(one) for one in Path(name).iterdir() if _ending(one.name) and not one.name.startswith((".", "_")))
        if not found:
            raise FileError(f"{name}: has no file that ends in {', '.join(_tables)}; name the files")
        return found
    if not os.path.exists(name) and glob.has_magic(name):
        found = sorted(glob.glob(name, recursive=True))
        if not found:
            raise FileError(f"{name}: no file fits this pattern")
        return found
    if not os.path.exists(name):
        raise FileError(f"{name}: does not exist")
    return [name]


def _ending(name: str) -> str:
    plain = name[:name.rfind(".")] if name.endswith((".gz", ".zst", ".bz2", ".lz4")) else name
    return _tables.get(os.path.splitext(plain)[1].lower(), "")


def _read(part: Any, columns: tuple[Any, ...], renumber: bool | None) -> Iterator[tuple[list[str], Any]]:
    """The names of all columns of one file or table, with each of its record batches."""
    pa = _library()

    if not isinstance(part, str):
        if not hasattr(part, "__arrow_c_stream__"):
            raise KindError(f"edges is {_checks.told(part)}; give files, or a table of pyarrow, pandas or Polars")
        yield from ((batch.schema.names, batch) for batch in pa.RecordBatchReader.from_stream(part))
        return
    kind = "csv" if part == "-" else _ending(part)
    if kind == "parquet":
        pq = _library("parquet")

        schema = pq.read_schema(part)
        wanted = [schema.names[_position(part, schema.names, one)] for one in columns if one is not None]
        for name in wanted:
            _position(part, schema.names, name)  # once
        with pq.ParquetFile(part) as file:
            yield from ((schema.names, batch) for batch in file.iter_batches(_rows, columns=wanted))
    elif kind == "arrow":
        with pa.memory_map(part) as mapped:
            if mapped.read(6) == b"ARROW1":
                file = pa.ipc.open_file(mapped)
                yield from ((file.schema.names, file.get_batch(k)) for k in range(file.num_record_batches))
            else:
                mapped.seek(0)
                yield from ((batch.schema.names, batch) for batch in pa.ipc.open_stream(mapped))
    elif kind == "csv":
        yield from _read_csv(part, columns, renumber)
    else:
        raise UsageError(f"{part}: is not a table by its ending; {', '.join(_tables)} are read here, other formats by garner.read")


def _read_csv(part: str, columns: tuple[Any, ...], renumber: bool | None) -> Iterator[tuple[list[str], Any]]:
    pa, csv = _library(), _library("csv")
    delimiter = "\t" if ".tsv" in os.path.basename(part) else ","
    with pa.PythonFile(io.FileIO(0, closefd=False), "r") if part == "-" else pa.input_stream(part) as stream:
        head = b""
        while not re.search(rb"[\r\n]", head) and (more := stream.read(1 << 16)):
            head = (head + more).lstrip(b"\r\n")
        fields = [field.strip().strip('"') for field in re.split(rb"[\r\n]", head, maxsplit=1)[0].decode("utf-8-sig", "replace").split(delimiter)]
        # A first line of numbers where src and dst are positions: the file has no header.
        ends = [one for one in columns[:2] if isinstance(one, int) and 0 <= one < len(fields)]
        bare = len(ends) == 2 and all(fields[one].lstrip("-").isdigit() for one in ends)
        if not head or not (bare or re.search(rb"[\r\n]", head)):
            return  # nothing, or a header alone
        names = [f"f{k}" for k in range(len(fields))] if bare else fields
        chosen = [names[_position(part, names, one)] for one in columns if one is not None]
        types = {name: pa.float64() for name in chosen[2:]} | ({name: pa.string() for name in chosen[:2]} if renumber else {})
        with csv.open_csv(pa.PythonFile(_Rest(head, stream), "r"), csv.ReadOptions(block_size=4 << 20, autogenerate_column_names=bare),
                          csv.ParseOptions(delimiter=delimiter), csv.ConvertOptions(column_types=types)) as reader:
            for batch in reader:
                if len(chosen) == 3 and batch.num_rows:
                    at = names.index(chosen[2])
                    weights = batch.column(at).to_numpy(zero_copy_only=False)
                    if np.all((weights == np.floor(weights)) & (np.abs(weights) < 2**53)):  # none is null then
                        batch = batch.set_column(at, chosen[2], pa.array(weights.astype(np.int64)))
                yield names, batch


class _Rest:
    """A stream whose beginning was read already."""
    closed = False

    def __init__(self, head: bytes, stream: Any) -> None:
        self.head, self.stream = head, stream

    def read(self, size: int = -1) -> bytes:
        if not self.head:
            return bytes(self.stream.read(size))
        size = len(self.head) if size < 0 else size
        now, self.head = self.head[:size], self.head[size:]
        return now

    def close(self) -> None:
        pass

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


def _position(where: str, names: list[str], column: str | int) -> int:
    if isinstance(column, str):
        if names.count(column) == 1:
            return names.index(column)
        raise InputError(f"{where}: has {'two columns' if column in names else 'no column'} '{column}'; its columns are {', '.join(names)}")
    if not isinstance(column, (int, np.integer)) or isinstance(column, bool):
        raise KindError(f"column {_checks.told(column)}: name it, or give its position from 0")
    if not 0 <= column < len(names):
        raise InputError(f"{where}: has no column {column}; its columns are {', '.join(names)}")
    return int(column)


def _decoded(column: Any) -> Any:
    """A dictionary only where its values are fewer than the rows, and none of them is null."""
    pa = _library()
    if not pa.types.is_dictionary(column.type) or (not column.dictionary.null_count and len(column.dictionary) <= len(column)):
        return column
    kind = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}.get(str(column.type.value_type), column.type.value_type)
    return column.dictionary.cast(kind).take(column.indices)


def _is_text(kind: Any) -> bool:
    pa = _library()

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _kind(kind: Any) -> str:
    """The type, of a dictionary that of its values; widths of offsets and numbers do not count."""
    pa = _library()

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return "whole numbers" if pa.types.is_integer(kind) else "floats" if pa.types.is_floating(kind) else str(_name_type(kind) or kind)


def _name_type(kind: Any) -> Any:
    """The type of a file of such names, or None."""
    pa = _library()

    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_uint64(kind):
        return pa.uint64()
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view":
        return pa.string()
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary(kind.byte_width)
    return pa.binary() if _is_text(kind) or str(kind) == "binary_view" else None


def _plain(column: Any) -> Any:
    return column.storage if hasattr(column, "storage") else column


def _numbers(column: Any, role: str, wanted: str) -> Any:
    pa = _library()

    column = _plain(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not (pa.types.is_integer(column.type) or (role == "weights" and pa.types.is_floating(column.type))):
        raise KindError(f"{role} is {column.type}; use {wanted}")
    found = column.to_numpy(zero_copy_only=False)
    return found.astype(np.float32) if found.dtype == np.float16 else found


def _ids(column: Any, role: str, first: int) -> Any:
    found = _numbers(column, role, "whole numbers from 0, or renumber=True")
    if found.dtype.kind == "i" and found.size and found.min() < 0:
        raise IdError(f"row {first + int(np.argmax(found < 0))}: {role} is {found[found < 0][0]}; ids are 0 or more, and renumber=True takes any")
    return found


def _laid_out(column: Any, kind: Any) -> tuple[Any, Any, int, Any]:
    """Bytes, offsets or None, width and codes or None of a column of names, as _GraphWriter.add_names takes them."""
    pa = _library()

    codes = None
    if pa.types.is_dictionary(column.type):
        codes = column.indices.to_numpy(zero_copy_only=False).astype(np.uint32)
        column = column.dictionary
    if pa.types.is_integer(kind):
        return column.cast(kind).to_numpy(zero_copy_only=False).view(np.uint8), None, 8, codes
    if pa.types.is_fixed_size_binary(kind):
        width = kind.byte_width
        return np.frombuffer(column.buffers()[1], np.uint8)[column.offset * width:(column.offset + len(column)) * width], None, width, codes
    column = column.cast(pa.large_string() if pa.types.is_string(kind) else pa.large_binary())
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int64)[column.offset:column.offset + len(column) + 1]
    return np.frombuffer(data or b"", np.uint8), ends, 0, codes
