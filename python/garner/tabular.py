"""Tables of columns in batches: files of Parquet, Arrow, CSV and TSV, standard input, and what has __arrow_c_stream__. pyarrow reads them."""
from __future__ import annotations

import contextlib
import csv as text
import glob
import importlib
import io
import os
import queue
import re
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import _checks, _garner
from .errors import FileError, IdError, InputError, KindError, OutOfMemory, UsageError
from .progress import Show

_rows = 1 << 17  # of a batch, at most
_fewest = 64 << 20  # bytes for all
_least, _most = 48 << 20, 256 << 20  # bytes for what pyarrow reads: strings take at least the first, however few they are
_unnamed = "column "  # and its position: of a file without a header
no_ids = "ids are whole numbers, strings, bytes or UUIDs: cast them; of CSV renumber=True reads any as text"
_other = {b"PAR1": "Parquet", b"ARROW1": "Arrow", b"\xff\xff\xff\xff": "Arrow", b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xff\xfe": "UTF-16",
          b"\xfe\xff": "UTF-16"}  # the first bytes of other formats
_tables = {".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".csv": "csv", ".tsv": "csv"}


def library(module: str = "") -> Any:
    """pyarrow, or a module of it, at its first use: no import of garner waits for it."""
    return importlib.import_module("pyarrow" + ("." + module if module else ""))


def divided(memory_limit: Any) -> tuple[int, Any]:
    """A limit in two: bytes for what pyarrow reads (batches, pages, and the names that are written), and those for the sorter. None: the sorter chooses."""
    if not isinstance(memory_limit, (int, str)):  # None, or what the sorter refuses
        return _most, memory_limit
    limit = _garner.parse_bytes(memory_limit)
    if limit < _fewest:
        raise OutOfMemory(f"memory_limit={memory_limit}: tables of edges need {_fewest >> 20} MiB or more; raise it")
    part = min(max(limit // 4, min(limit // 2, _least)), _most)
    return part, limit - part


def require_room(what: str, reading: int) -> None:
    """For names, in a limit that was divided."""
    if reading < _least:
        raise OutOfMemory(f"{what}: ids that are renumbered need a memory limit of {2 * _least >> 20} MiB or more, half of it to read; raise it")


class Table:
    """Columns of a table of edges, in batches."""

    def __init__(self, edges: Any, src: str | int, dst: str | int | None, weight: str | int | None, renumber: bool | None, memory: int = _most) -> None:
        _checks.installed("garner.convert", "pyarrow")
        self.columns, self.renumber, self.memory = (src, dst, weight), renumber, memory
        self.at_once = min(_rows, max(1 << 12, memory >> 11))  # rows of a batch, of which three are there at a time
        self.block = min(4 << 20, max(1 << 18, memory >> 4))  # bytes that are read of a column, or of text
        self.kind: Any = None  # of the names: a type of pyarrow; None: ids are numbers
        self.types: dict[str, tuple[str, str, str, int]] = {}  # of the first part: each column's type and name, where, and of how many
        if isinstance(edges, (str, bytes, os.PathLike)):
            self.parts = files(edges)
        elif isinstance(edges, (list, tuple)) and edges and all(isinstance(one, (str, bytes, os.PathLike)) for one in edges):
            self.parts = [file for one in edges for file in files(one)]
        else:
            self.parts = [edges]
        self.name = str(self.parts[0]) if isinstance(self.parts[0], str) else f"a {type(edges).__name__}"

    def write_to(self, writer: Any, show: Show = lambda *_: None) -> None:
        """All batches to the writer, each while the next one is read."""
        ready: queue.Queue[Any] = queue.Queue(1)
        ended = threading.Event()
        done, rows = 0, self._total()

        def put(what: Any) -> None:
            while not ended.is_set():
                with contextlib.suppress(queue.Full):
                    return ready.put(what, timeout=0.1)

        def read() -> None:
            try:
                with contextlib.closing(self.batches()) as batches:
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
                done += len(columns[0])
                show("reading edges", done, rows)
        finally:
            ended.set()

    def _total(self) -> int:
        """Rows, where that is known before they are read; else 0."""
        if not all(isinstance(part, str) and ending(part) == "parquet" for part in self.parts):
            return getattr(self.parts[0], "num_rows", 0) if len(self.parts) == 1 else 0
        with contextlib.suppress(OSError, ValueError):  # which reading will report
            return sum(library("parquet").read_metadata(part).num_rows for part in self.parts)
        return 0

    def batches(self) -> Generator[tuple[str, int, list[Any]], None, None]:
        """Where, the first row, and the columns of each batch."""
        pa = library()

        for part in self.parts:
            where = part if isinstance(part, str) else self.name
            first = 0
            try:
                for names, batch in _read(part, self.columns, self.renumber, self.at_once, self.block):
                    whole = batch.schema.names == names  # else of Parquet, the columns that are wanted
                    chosen = [(_position(where, names, one), role) for one, role in zip(self.columns, ("src", "dst", "weight")) if one is not None]
                    if chosen[0][0] == chosen[1][0] and chosen[1][1] == "dst":
                        raise UsageError(f"{where}: src and dst are both column '{names[chosen[0][0]]}'; give two")
                    for at in range(0, batch.num_rows, self.at_once):
                        columns = [_decoded(batch.column(k if whole else names[k]).slice(at, self.at_once)) for k, _ in chosen]
                        for (k, role), column in zip(chosen, columns):
                            self._check(where, first + at, names, k, role, column)
                        yield where, first + at, columns
                    first += batch.num_rows
            except (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowNotImplementedError, pa.ArrowTypeError, text.Error) as e:
                hint = "; renumber=True reads ids as text" if "conversion error to int" in str(e) else \
                    "; save it in UTF-8" if "UTF8" in str(e) else "; a quote in its first row does not end" if "end of data" in str(e) else ""
                raise InputError(f"{where}: pyarrow cannot read it: {' '.join(str(e).split())}{hint}") from None
            except OSError as e:
                raise FileError(f"{where}: {e.strerror or ' '.join(str(e).split())}") from None

    def _check(self, where: str, first: int, names: list[str], k: int, role: str, column: Any) -> None:
        name = names[k]
        was, called, there, width = self.types.setdefault(role, (_kind(column.type), name, where, len(names)))
        if called.startswith(_unnamed) or name.startswith(_unnamed):
            if width != len(names):
                raise InputError(f"{where}: has {len(names)} columns, and {there} has {width}; parts without a header have the same columns")
        elif called.casefold() != name.casefold():
            raise InputError(f"{where}: {role} is column '{name}', and in {there} it is '{called}'; all parts have the same columns, or give them by name")
        if was != _kind(column.type) and not (role == "weight" and {was, _kind(column.type)} == {"whole numbers", "floats"}):
            raise InputError(f"{where}: column '{name}' is {column.type}, and in {there} it is {was}; " +
                             ("cast it to float" if role == "weight" else "all parts have the same columns"))
        if column.null_count:
            raise InputError(f"{where}: row {first + values_of(column.is_null().cast('uint8')).argmax()}: '{name}' is null; leave such rows out")

    def _add(self, writer: Any, first: int, columns: list[Any]) -> None:
        pa = library()

        source, target = (plain(one) for one in columns[:2])
        weights = None if len(columns) == 2 else numbers(columns[2], "weights", "numbers: cast them to float")
        renumber = self.renumber
        if renumber is None:
            renumber = not (pa.types.is_integer(source.type) and pa.types.is_integer(target.type))
        if not renumber:
            writer.add(*(ids_of(one, role, first) for one, role in ((source, "src"), (target, "dst"))), weights)
            return
        kinds = [name_type(one.type.value_type if pa.types.is_dictionary(one.type) else one.type) for one in (source, target)]
        for role, kind, column in zip(("src", "dst"), kinds, columns):
            if kind is None:
                raise KindError(f"{role} is {column.type}; {no_ids}")
        if kinds[0] != kinds[1]:
            raise KindError(f"src is {kinds[0]} and dst is {kinds[1]}; both name nodes of one graph: cast one of them; of CSV renumber=True reads both as text, "
                            "and what is not UTF-8 is binary")
        if self.kind not in (None, kinds[0]):
            raise InputError(f"ids are {kinds[0]}, and {self.kind} in earlier parts; cast one of them")
        require_room(self.name, self.memory)
        self.kind = kinds[0]
        writer.add_names(laid_out(source, kinds[0]), laid_out(target, kinds[0]), weights)


def files(given: Any) -> list[str]:
    """The files that a name, a pattern or a folder stands for, in the order of their names."""
    name = os.fsdecode(given)
    if name == "-":
        return ["-"]
    if os.path.isdir(name):
        found = sorted(str(one) for one in Path(name).iterdir() if not one.name.startswith((".", "_")) and ending(str(one)))
        if not found:
            below = next((one for one in sorted(Path(name).rglob("*")) if one.suffix in _tables), None)
            raise FileError(f"{name}: has no file that ends in {', '.join(_tables)}; name the files" +
                            (f", as {os.path.join(name, '**', '*' + below.suffix)!r}" if below else ""))
        return found
    if not os.path.exists(name) and glob.has_magic(name):
        found = sorted(glob.glob(name, recursive=True))
        if not found:
            raise FileError(f"{name}: no file fits this pattern")
        return found
    if not os.path.exists(name):
        raise FileError(f"{name}: does not exist")
    return [name]


def ending(name: str) -> str:
    """What a file is by its ending, or without one by its first bytes; '': no table."""
    if not os.path.splitext(name)[1] and os.path.isfile(name):
        with contextlib.suppress(OSError), open(name, "rb") as file:  # which reading will report
            return {b"PAR1": "parquet", b"ARRO": "arrow"}.get(file.read(4), "")
    plain = name[:name.rfind(".")] if name.endswith((".gz", ".zst", ".bz2", ".lz4")) else name
    return _tables.get(os.path.splitext(plain)[1].lower(), "")


def _read(part: Any, columns: tuple[Any, ...], renumber: bool | None, at_once: int, block: int) -> Iterator[tuple[list[str], Any]]:
    """The names of all columns of one file or table, with each of its record batches."""
    pa = library()

    if not isinstance(part, str):
        if not hasattr(part, "__arrow_c_stream__") and hasattr(part, "to_arrow"):  # of cuDF
            part = part.to_arrow()
        if not hasattr(part, "__arrow_c_stream__"):
            raise KindError(f"edges is {_checks.told(part)}; give files, or a table of pyarrow, pandas or Polars")
        yield from ((batch.schema.names, batch) for batch in pa.RecordBatchReader.from_stream(part))
        return
    kind = "csv" if part == "-" else ending(part)
    if kind == "parquet":
        pq = library("parquet")

        schema = pq.read_schema(part)
        wanted = [schema.names[_position(part, schema.names, one)] for one in columns if one is not None]
        for name in wanted:
            _position(part, schema.names, name)  # once
        # With a buffer the pages of a column are read as they are wanted; without, all of a row group are in memory. Each thread's heap keeps some MiB.
        with pq.ParquetFile(part, buffer_size=block, pre_buffer=False) as file:
            yield from ((schema.names, batch) for batch in file.iter_batches(at_once, columns=wanted, use_threads=at_once == _rows))
    elif kind == "arrow":
        with pa.memory_map(part) as mapped:
            if mapped.read(6) == b"ARROW1":
                file = pa.ipc.open_file(mapped)
                yield from ((file.schema.names, file.get_batch(k)) for k in range(file.num_record_batches))
            else:
                mapped.seek(0)
                yield from ((batch.schema.names, batch) for batch in pa.ipc.open_stream(mapped))
    elif kind == "csv":
        yield from _read_csv(part, columns, renumber, block)
    else:
        raise UsageError(f"{part}: is not a table by its ending; {', '.join(_tables)} are read here, other formats by garner.read")


def _read_csv(part: str, columns: tuple[Any, ...], renumber: bool | None, block: int) -> Iterator[tuple[list[str], Any]]:
    pa, csv, compute = library(), library("csv"), library("compute")
    with _standard_input() if part == "-" else pa.input_stream(part) as stream:
        head = b""
        while not re.search(rb"[\r\n]", head) and (more := stream.read(1 << 16)):
            head = (head + more).lstrip(b"\r\n")
        for bytes_of, kind in _other.items():
            if head.startswith(bytes_of):
                raise InputError(f"{part}: is {kind} by its first bytes, and not text in UTF-8; save it as such, or give a file whose ending says what it is, "
                                 "as .parquet, .arrow or .csv.gz")
        first = re.split(rb"[\r\n]", head, maxsplit=1)[0].decode("utf-8-sig", "replace")
        delimiter = "\t" if ".tsv" in os.path.basename(part) or (part == "-" and "\t" in first and "," not in first) else ","
        head, found, lines, more = _header(head, stream, delimiter, block)
        fields = [field.strip().strip('"') for field in found]
        # A first line of whole numbers where src and dst are positions: the file has no header.
        ends = [one for one in columns[:2] if isinstance(one, int) and 0 <= one < len(fields)]
        bare = len(ends) == 2 and all(fields[one].lstrip("-").isdigit() for one in ends)
        if not head:
            return
        names = [f"{_unnamed}{k}" for k in range(len(fields))] if bare else fields
        at = [None if one is None else _position(part, names, one) for one in columns]
        if not (bare or more):
            return  # a header alone
        types = {names[k]: pa.float64() for k in at[2:] if k is not None} | ({names[k]: pa.string() for k in at[:2] if k is not None} if renumber else {})
        with csv.open_csv(pa.PythonFile(_Rest(head, stream), "r"), csv.ReadOptions(block_size=block, column_names=names, skip_rows=0 if bare else lines),
                          csv.ParseOptions(delimiter=delimiter), csv.ConvertOptions(column_types=types)) as reader:
            for batch in reader:
                for k in (k for k in at[:2] if k is not None and pa.types.is_string(batch.column(k).type)):
                    column = compute.utf8_trim_whitespace(batch.column(k)) if found[k] != found[k].strip() else batch.column(k)
                    if not values_of(lengths := compute.binary_length(column)).all():
                        column = compute.if_else(lengths.cast(pa.bool_()), column, pa.nulls(len(column), column.type))
                    batch = batch.set_column(k, names[k], column)
                if at[2] is not None and batch.num_rows and not batch.column(at[2]).null_count:
                    weights = values_of(batch.column(at[2]))
                    if np.all((weights == np.floor(weights)) & (np.abs(weights) < 2**53)):
                        whole = pa.Array.from_buffers(pa.int64(), len(weights), [None, pa.py_buffer(weights.astype(np.int64))])
                        batch = batch.set_column(at[2], names[at[2]], whole)
                yield names, batch


def _header(head: bytes, stream: Any, delimiter: str, block: int) -> tuple[bytes, list[str], int, bool]:
    """What was read, and of its first row the fields, the lines (quotes may hold several), and whether more follows."""
    limit = text.field_size_limit(2 * block)
    try:
        while True:
            lines = io.StringIO(head.decode("utf-8-sig", "replace"), newline="")
            reader = text.reader(lines, delimiter=delimiter)
            fields = next(reader, [])
            if lines.read(1):
                return head, fields, reader.line_num, True
            more = stream.read(1 << 16)
            if not more or len(head) > block:
                lines.seek(0)
                next(text.reader(lines, delimiter=delimiter, strict=True), [])  # an error where a quote does not end
            if not more:
                return head, fields, reader.line_num, False
            head += more
    finally:
        text.field_size_limit(limit)


def _standard_input() -> Any:
    """Decompressed, where its first bytes are those of gzip or zstd."""
    pa = library()
    stream = io.FileIO(0, closefd=False)
    head = b""
    while len(head) < 4 and (more := stream.read(4 - len(head))):
        head += more
    plain = pa.PythonFile(_Rest(head, stream), "r")
    kind = "gzip" if head[:2] == b"\x1f\x8b" else "zstd" if head == b"\x28\xb5\x2f\xfd" else None
    return pa.CompressedInputStream(plain, kind) if kind else plain


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
    pa = library()
    if not pa.types.is_dictionary(column.type) or (not column.dictionary.null_count and len(column.dictionary) <= len(column)):
        return column
    kind = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}.get(str(column.type.value_type), column.type.value_type)
    return column.dictionary.cast(kind).take(column.indices)


def _is_text(kind: Any) -> bool:
    pa = library()

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _kind(kind: Any) -> str:
    """The type, of a dictionary that of its values; widths of offsets and numbers do not count."""
    pa = library()

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return "whole numbers" if pa.types.is_integer(kind) else "floats" if pa.types.is_floating(kind) else str(name_type(kind) or kind)


def name_type(kind: Any) -> Any:
    """The type of a file of such names, or None."""
    pa = library()

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


def plain(column: Any) -> Any:
    return column.storage if hasattr(column, "storage") else column


def values_of(column: Any) -> Any:
    """Numbers without a null as they lie in memory. Not to_numpy(): as pa.array() it imports pandas if it can, and loses an interrupt meanwhile."""
    kind = np.dtype(column.type.to_pandas_dtype())
    return np.frombuffer(column.buffers()[1] or b"", kind)[column.offset:column.offset + len(column)]


def numbers(column: Any, role: str, wanted: str) -> Any:
    pa = library()

    column = plain(column)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not (pa.types.is_integer(column.type) or (role == "weights" and pa.types.is_floating(column.type))):
        raise KindError(f"{role} is {column.type}; use {wanted}")
    found = values_of(column)
    return found.astype(np.float32) if found.dtype == np.float16 else found


def ids_of(column: Any, role: str, first: int) -> Any:
    found = numbers(column, role, "whole numbers from 0, or renumber=True")
    if found.dtype.kind == "i" and found.size and found.min() < 0:
        raise IdError(f"row {first + int(np.argmax(found < 0))}: {role} is {found[found < 0][0]}; ids are 0 or more, and renumber=True takes any")
    return found


def laid_out(column: Any, kind: Any) -> tuple[Any, Any, int, Any]:
    """Bytes, offsets or None, width and codes or None of a column of names, as _GraphWriter.add_names takes them."""
    pa = library()

    codes = None
    if pa.types.is_dictionary(column.type):
        codes = values_of(column.indices).astype(np.uint32)
        column = column.dictionary
    if pa.types.is_integer(kind):
        return values_of(column.cast(kind)).view(np.uint8), None, 8, codes
    if pa.types.is_fixed_size_binary(kind):
        width = kind.byte_width
        return np.frombuffer(column.buffers()[1], np.uint8)[column.offset * width:(column.offset + len(column)) * width], None, width, codes
    column = column.cast(pa.large_string() if pa.types.is_string(kind) else pa.large_binary())
    _, offsets, data = column.buffers()
    ends = np.frombuffer(offsets, np.int64)[column.offset:column.offset + len(column) + 1]
    return np.frombuffer(data or b"", np.uint8), ends, 0, codes
