"""Dataset files (garner.open_hetero) of what Python has: tables of edges by type, PyG's Data and HeteroData, DGL's graphs, GraphBolt's metadata.yaml.

Every reader fills Nodes and Edges; write() makes the folder NAME.garner and, last, the dataset file, so that both appear whole or not at all.
"""
from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import warnings
from collections.abc import Mapping
from types import TracebackType
from typing import Any

import numpy as np

from . import _checks, _garner, foreign, sources, tabular
from .errors import FileError, IdError, InputError, KindError, UsageError
from .foreign import Edges, EdgeType, Nodes, edge_type, require_names, splits
from .names import NamesFile


class _Folder:
    """The dataset file and its folder, which stays only if all of it is written."""

    def __init__(self, file: str) -> None:
        if not file.endswith(".json"):
            raise UsageError(f"{file}: several types of nodes or edges become a dataset file, whose name ends in .json")
        self.file, self.base = file, os.path.dirname(os.path.abspath(file))
        self.path = os.path.join(self.base, os.path.basename(file).removesuffix(".json") + ".garner")

    def __enter__(self) -> _Folder:
        try:
            os.mkdir(self.path)
        except FileExistsError:
            raise UsageError(f"{self.path}: is there already; remove it, or name another dataset file") from None
        except OSError as e:
            raise FileError(f"{self.path}: cannot be made: {e.strerror}; check that the folder it lies in exists and is yours") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if kind is not None:
            shutil.rmtree(self.path, ignore_errors=True)
        if isinstance(error, OSError) and not isinstance(error, FileError):
            raise FileError(f"{self.path}: cannot be written: {error.strerror or error}") from None

    def __truediv__(self, name: str) -> str:
        return os.path.join(self.path, name)

    def shown(self, path: str) -> str:
        """As the dataset file has it: relative to its folder, if in it."""
        near = os.path.relpath(path, self.base)
        return os.path.abspath(path) if near.startswith("..") else near

    def array(self, name: str, given: Any) -> tuple[str, tuple[int, ...]]:
        """The .npy of an array, and its shape: a file of this kind stays where it is."""
        file = self / (name + ".npy")
        found = sources.split(given)
        if found and found[0].endswith(".npy"):
            try:
                return self.shown(found[0]), np.load(found[0], mmap_mode="r").shape
            except OSError as e:
                raise FileError(f"{found[0]}: {e.strerror or e}") from None
            except ValueError as e:
                raise InputError(f"{found[0]}: is not a table in NumPy's format: {e}") from None
        if found:
            if not sources.reads(given):
                raise UsageError(f"{found[0]}: is not a file of arrays by its ending; .npy, .npz, .safetensors, .pt, .pth and .parquet are read")
            given, _ = sources.opened(given, lambda shape, dtype: np.lib.format.open_memmap(file, "w+", dtype, shape))
        if isinstance(given, np.memmap) and given.filename is not None and os.path.abspath(str(given.filename)) == file:
            given.flush()
        else:
            given = given.view(importlib.import_module("torch").int16) if _checks.kind(given) == "bfloat16" else given
            np.save(file, np.ascontiguousarray(given if isinstance(given, np.ndarray) else _checks.host(given, name)))
        return self.shown(file), given.shape

    def publish(self, vertices: list[dict[str, Any]], edges: list[dict[str, Any]]) -> None:
        part = f"{self.file}.part-{os.getpid()}"
        try:
            with open(part, "w", encoding="utf-8") as out:
                json.dump({"garner": 1, "vertices": vertices, "edges": edges}, out, indent=2, ensure_ascii=False)
                out.write("\n")
            os.replace(part, self.file)
        except BaseException:
            if os.path.exists(part):
                os.unlink(part)
            raise


def _vertices(folder: _Folder, nodes: Mapping[str, Nodes]) -> list[dict[str, Any]]:
    made = []
    for name, one in nodes.items():
        entry: dict[str, Any] = {"name": name, "count": one.count}
        for what, given in one.arrays.items():
            whole = what in ("times", *splits)
            entry[what], shape = folder.array(f"{name}.{what}", _checks.int64(given, f"{what} of '{name}'") if whole and sources.split(given) is None else given)
            if what not in splits and (not shape or shape[0] != one.count):
                raise InputError(f"{what} of '{name}': has {shape[0] if shape else 0} rows for {one.count} nodes; give each node one")
        made.append(entry)
    return made


def write(file: str, nodes: Mapping[str, Nodes], edges: Mapping[EdgeType, Edges], undirected: bool = False) -> None:
    """Multi-edges and loops stay. A node type without a count has as many as its features, or up to the largest id."""
    for key in edges:
        edge_type(key)
    ends = {key: (_ends(one.source, key), _ends(one.target, key)) for key, one in edges.items()}
    nodes = {**nodes, **{name: nodes.get(name, Nodes()) for key in edges for name in (key[0], key[2])}}
    for name, node in nodes.items():
        if node.count is None:
            node.count = max((int(found[k].max()) + 1 for key, found in ends.items() for k in (0, 1) if key[2 * k] == name and len(found[k])), default=0)
    with _Folder(file) as folder:
        vertices, made = _vertices(folder, nodes), []
        for key, one in edges.items():
            source, target = ends[key]
            features = folder.array("___".join(key) + ".features", one.features) if one.features is not None else None
            if features and features[1][:1] != (len(source),):
                raise InputError(f"features of {key}: {features[1][0]} rows for {len(source)} edges; give each edge one")
            for kind, u, v, ids in _directions(key, source, target, undirected):
                made.append(_relation(folder, kind, u, v, ids, one, features and features[0], nodes, len(source)))
        folder.publish(vertices, made)


def _ends(values: Any, key: EdgeType) -> Any:
    found = _checks.whole(values, f"edges of {key}")
    return found if found.dtype in (np.int32, np.int64) else _checks.int64(found, f"edges of {key}")


def _directions(key: EdgeType, source: Any, target: Any, undirected: bool) -> list[tuple[EdgeType, Any, Any, Any]]:
    """Each edge type that is stored, with the edge of each entry; None: entry k is edge k."""
    if not undirected:
        return [(key, source, target, None)]
    if key[0] != key[2]:
        return [(key, source, target, None), ((key[2], "rev_" + key[1], key[0]), target, source, None)]
    back = np.flatnonzero(source != target)  # a loop stands once
    return [(key, np.concatenate([source, target[back]]), np.concatenate([target, source[back]]), np.concatenate([np.arange(len(source)), back]))]


def _relation(folder: _Folder, key: EdgeType, source: Any, target: Any, ids: Any, one: Edges, features: str | None, nodes: Mapping[str, Nodes],
              edges: int) -> dict[str, Any]:
    stem = "___".join(key)
    weights = None if one.weights is None else _checks.floats(one.weights, f"weights of {key}")
    if weights is not None and len(weights) != edges:
        raise InputError(f"weights of {key}: {len(weights)} for {edges} edges; give each edge one")
    weights = weights if weights is None or ids is None else weights[ids]
    try:
        graph, in_order, found = _garner._adjacency(source, target, nodes[key[0]].count or 0, nodes[key[2]].count or 0, weights, False, True, stem)
    except IdError as e:
        raise IdError(f"{key}: {e}") from None
    which: Any = np.arange(len(source)) if in_order else found
    which = which.view(np.uint32).astype(np.int64) if which.dtype == np.int32 else which
    which = which if ids is None else ids[which]
    graph.save(folder / (stem + ".gnr"))
    entry: dict[str, Any] = {"from": key[0], "relation": key[1], "to": key[2], "arcs": len(source), "edges": edges, "lists": folder.shown(folder / (stem + ".gnr"))}
    if not in_order or ids is not None:
        entry["edge_ids"], _ = folder.array(stem + ".edge_ids", which)
    if features:
        entry["features"] = features
    if one.times is not None:
        entry["times"], _ = folder.array(stem + ".times", _checks.int64(one.times, f"times of {key}")[which])
    return entry


def of_tables(given: Mapping[Any, Any], file: str, features: Mapping[str, Any] | None, labels: Mapping[str, Any] | None, src: Any, dst: Any, weight: Any,
              renumber: bool | None, memory_limit: Any, scratch: Any, options: dict[str, Any]) -> None:
    """A dataset of tables of edges by type, through the sorter of graphs larger than memory."""
    keys = [edge_type(key) for key in given]
    if not keys:
        raise UsageError("convert: a dict without edges; give a table for each type, as {('user', 'buys', 'item'): 'buys/*.parquet'}")
    types: dict[str, _Type] = {name: _Type(name) for key in keys for name in (key[0], key[2])}
    rows = {what: dict(one or {}) for what, one in (("features", features), ("labels", labels))}
    for what, one in rows.items():
        for name in one:
            if name not in types:
                raise UsageError(f"{what} of {_checks.told(name)}: the edges have no nodes of this type; the types are {', '.join(types)}")
    reading, rest = tabular.divided(memory_limit)
    limit = rest or 0
    undirected = options.pop("undirected")
    with _Folder(file) as folder:
        for one_type in types.values():
            one_type.open(folder.path if scratch is None else os.fspath(scratch), limit // 2 // len(types), reading)
        writers: dict[EdgeType, Any] = {}
        for key, table in given.items():
            read = _Relation(table, src, dst, weight, renumber, types[key[0]], types[key[2]], reading)
            targets = [key] if not undirected or key[0] == key[2] else [key, (key[2], "rev_" + key[1], key[0])]
            for kind in targets:
                if kind in writers:
                    raise UsageError(f"edges of type {kind} twice; give one of them another name")
                # Equal numbers of two types name two nodes: loops stay.
                writers[kind] = _garner._GraphWriter(folder / ("___".join(kind) + ".gnr"), read.name, scratch,
                                                     **{**options, "numbering": "keep", "keep_loops": options["keep_loops"] or key[0] != key[2]},
                                                     undirected=undirected and key[0] == key[2], memory_limit=limit // 2 // len(targets) or None)
            read.to = [writers[kind] for kind in targets]
            read.write_to(writers[key])
            for writer in read.to:
                writer.rest()
        nodes = {name: Nodes(one.count(), {what: given[name] for what, given in rows.items() if name in given}) for name, one in types.items()}
        for name, node in nodes.items():
            for what in node.arrays:
                node.arrays[what] = types[name].rows(folder, what, node.arrays[what])
            node.count = types[name].count()
        vertices = _vertices(folder, nodes)
        for entry in vertices:
            names = types[entry["name"]].save(folder)
            if names:
                entry["names"] = folder.shown(names)
        made = []
        for kind, writer in writers.items():
            info = writer.finish(max(types[kind[0]].count(), types[kind[2]].count()), reversed=True)
            made.append({"from": kind[0], "relation": kind[1], "to": kind[2], "arcs": info.num_edges, "lists": folder.shown(folder / ("___".join(kind) + ".gnr"))})
        folder.publish(vertices, made)


class _Type:
    """The ids of a node type: numbers that stay, or names that get numbers."""

    def __init__(self, name: str) -> None:
        require_names(name)
        self.name, self.kind, self.largest, self.known = name, None, -1, 0
        self.numbers: Any = None
        self.make: Any = None

    def open(self, scratch: Any, limit: int, reading: int) -> None:
        def make() -> Any:
            tabular.require_room(f"names of '{self.name}'", reading)
            return _garner._NameNumbers(f"names of '{self.name}'", scratch, limit)
        self.make = make

    def count(self) -> int:
        return int(self.numbers.names) if self.numbers is not None else max(self.largest + 1, self.known)

    def take(self, column: Any, role: str, first: int, renumber: bool | None) -> Any:
        """The numbers of a column of ids."""
        pa: Any = importlib.import_module("pyarrow")
        plain = tabular.plain(column)
        if not (not pa.types.is_integer(plain.type) if renumber is None else renumber):
            if self.numbers is not None:
                raise InputError(f"{role} is {column.type}, and '{self.name}' has names ({self.kind}) in other tables; cast one of them")
            found = tabular.ids_of(column, role, first)
            self.largest = max(self.largest, int(found.max()) if found.size else -1)
            return found
        kind = tabular.name_type(plain.type.value_type if pa.types.is_dictionary(plain.type) else plain.type)
        if kind is None:
            raise KindError(f"{role} is {column.type}; {tabular.no_ids}")
        if self.kind not in (None, kind) or self.largest >= 0:
            raise InputError(f"{role} is {kind}, and '{self.name}' has {self.kind or 'numbers that stay'} in other tables; cast one of them")
        self.kind = kind
        self.numbers = self.numbers or self.make()
        return self.numbers.number(tabular.laid_out(plain, kind))

    def rows(self, folder: _Folder, what: str, given: Any) -> Any:
        """Rows in the order of the nodes' numbers: as they are where ids stay, else by the names of (table, column of ids, column of rows)."""
        if not (isinstance(given, tuple) and len(given) == 3):
            if self.numbers is not None:
                raise UsageError(f"{what} of '{self.name}': its nodes have names, so rows need them too; give (table, column of names, column of rows), as "
                                 "('users.parquet', 'id', 'embedding')")
            found = sources.split(given)
            given = sources.opened(given)[0] if found and sources.reads(given) and not found[0].endswith((".parquet", ".pq")) else given
            shape = np.load(found[0], mmap_mode="r").shape if found and found[0].endswith(".npy") and os.path.exists(found[0]) else getattr(given, "shape", ())
            self.known = max(self.known, shape[0] if shape else 0)
            return given
        return _rows_by_name(folder, self, what, *given)

    def save(self, folder: _Folder) -> str | None:
        if self.numbers is None:
            return None
        file = folder / (self.name + ".names.parquet")
        with NamesFile(file, file, self.numbers, self.kind) as written:
            written.publish()
        return file


class _Relation(tabular.Table):
    """A table of edges between two types: each end is numbered among its own."""
    to: list[Any]

    def __init__(self, edges: Any, src: Any, dst: Any, weight: Any, renumber: bool | None, source: _Type, target: _Type,
                 memory: int) -> None:
        super().__init__(edges, src, dst, weight, renumber, memory)
        self.ends = source, target

    def _add(self, writer: Any, first: int, columns: list[Any]) -> None:
        weights = None if len(columns) == 2 else tabular.numbers(columns[2], "weights", "numbers: cast them to float")
        u, v = (end.take(column, role, first, self.renumber) for end, column, role in zip(self.ends, columns, ("src", "dst")))
        for k, one in enumerate(self.to):  # an adjacency list of a target holds its sources
            one.add(u if k else v, v if k else u, weights)


def _rows_by_name(folder: _Folder, of: _Type, what: str, table: Any, ids: str, column: str) -> Any:
    """Each row at the number of its name; nodes without an edge are numbered behind the others."""
    pa: Any = importlib.import_module("pyarrow")
    read = tabular.Table(table, ids, None, column, True)
    made: Any = None
    seen = np.zeros(of.count(), bool)
    with contextlib.closing(read.batches()) as batches:
        for where, first, (names, values) in batches:
            try:
                at = of.take(names, ids, first, True)
            except (InputError, KindError) as e:
                raise type(e)(f"{where}: {e}") from None
            lists = not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type))
            if lists and not hasattr(values, "value_lengths"):
                raise InputError(f"{where}: '{column}' is {values.type}; {what} are numbers, or lists of one length")
            flat = values.flatten() if lists else values
            if flat.null_count:
                bad = first + next(k for k, row in enumerate(values) if None in row.as_py())
                raise InputError(f"{where}: row {bad}: '{column}' holds a null; give each node all of its numbers")
            flat = tabular.values_of(flat) if pa.types.is_integer(flat.type) or pa.types.is_floating(flat.type) else flat.to_numpy(zero_copy_only=False)
            flat = flat.reshape(len(values), -1) if lists and len(values) else flat
            made = np.zeros((0, *flat.shape[1:]), flat.dtype) if made is None else made
            if len(made) < of.count():
                made = np.concatenate([made, np.zeros((max(of.count(), 2 * len(made)) - len(made), *made.shape[1:]), made.dtype)])
            seen = np.concatenate([seen, np.zeros(len(made) - len(seen), bool)])
            if flat.dtype != made.dtype:  # whole numbers in some parts
                made = made.astype(np.result_type(made, flat))
            if flat.shape[1:] != made.shape[1:]:
                raise InputError(f"{where}: '{column}' has rows of {flat.shape[1:]}, and of {made.shape[1:]} before; all rows are of one length")
            if seen[at].any() or len(np.unique(at)) != len(at):
                twice = int(np.flatnonzero(seen[at])[0]) if seen[at].any() else int(np.setdiff1d(np.arange(len(at)), np.unique(at, return_index=True)[1])[0])
                raise InputError(f"{where}: row {first + twice}: {names[twice].as_py()!r} is there twice in '{ids}'; give each node one row")
            seen[at] = True
            made[at] = flat
    if made is None or not seen[:of.count()].all():
        lacking = int(np.argmin(seen[:of.count()])) if made is not None else 0
        offsets, data = of.numbers.read_names(lacking, 1)
        name = data[:offsets[1]].decode("utf-8", "replace") if pa.types.is_string(of.kind) else bytes(data[:offsets[1]]).hex()
        raise InputError(f"{what} of '{of.name}': {of.count() - int(seen[:of.count()].sum())} nodes have no row, as '{name}'; give each node one")
    return made[:of.count()]


def refuse(options: Mapping[str, Any], why: str) -> None:
    """Options of garner.convert that would be ignored."""
    usual = dict(src=0, dst=1, numbering="automatic", id_bytes=0, weight_seed=1)
    for name, value in options.items():
        if name != "memory_limit" and value is not None and value is not False and value != usual.get(name):
            raise UsageError(f"{name}={_checks.told(value)}: {why}; leave it out")


def convert(given: Any, file: str, features: Any, labels: Any, names: Any, columns: dict[str, Any], scratch: Any, options: dict[str, Any]) -> None:
    """garner.convert to a dataset file."""
    if names is not None:
        raise UsageError("names=: a dataset keeps the names of each type in its own folder; leave it out")
    if options["numbering"] not in ("automatic", "keep"):
        raise UsageError(f"numbering={options['numbering']!r}: the ids of a dataset stay as they are, or get numbers by renumber=True; leave it out")
    own = None if isinstance(given, Mapping) else foreign.of_object(given)
    folder = own is None and isinstance(given, (str, os.PathLike)) and os.path.isdir(given)
    if own is None and not folder:
        by_type = given if isinstance(given, Mapping) else {("node", "to", "node"): given}
        return of_tables(by_type, file, features, labels, **columns, memory_limit=options.pop("memory_limit"), scratch=scratch, options=options)
    unused = {**columns, **options, "features": features, "labels": labels, "scratch": scratch, "undirected": None, **({"id_bytes": 0} if folder else {})}
    refuse(unused, f"is for tables of edges, and all edges and ids of {_checks.told(given)} stay")
    if own is not None:
        return write(file, *own, undirected=options["undirected"])
    for note in _garner._convert_folder(given, file, options["undirected"], options["id_bytes"]):
        warnings.warn(note, stacklevel=4)
