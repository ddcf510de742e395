"""Graphs of other libraries and their files: PyG's Data and HeteroData, DGL's and GraphBolt's graphs, metadata.yaml, cuGraph, NetworkX, SciPy.

Nothing of them is imported: a graph is known by its attributes.
"""
from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.util
import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _checks, _garner, graphs, sources, tabular
from .errors import FileError, InputError, KindError, UsageError

EdgeType = tuple[str, str, str]
splits = ("train", "valid", "test")
_of_nodes = ("features", "labels", "times", *splits)


@dataclasses.dataclass
class Nodes:
    """A type: arrays, or files of them."""
    count: int | None = None
    arrays: dict[str, Any] = dataclasses.field(default_factory=dict)  # by a name of _of_nodes


@dataclasses.dataclass
class Edges:
    source: Any
    target: Any
    weights: Any = None
    features: Any = None
    times: Any = None  # one per edge


def require_names(*names: Any) -> None:
    for name in names:
        if not isinstance(name, str) or not name or name[0] == "." or "/" in name or len(name) > 80 or not name.isprintable():
            raise UsageError(f"type {_checks.told(name)}: is not a valid type name: up to 80 bytes, no '/', no leading '.'")


def edge_type(key: Any) -> EdgeType:
    if not isinstance(key, tuple) or len(key) != 3:
        raise KindError(f"edges of type {_checks.told(key)}; name a type by three words, as ('user', 'buys', 'item')")
    require_names(*key)
    return key


def of_object(given: Any) -> tuple[dict[str, Nodes], dict[EdgeType, Edges]] | None:
    """What a graph of another library, or a metadata.yaml, has; None: it is something else."""
    if isinstance(given, (str, os.PathLike)):
        path = os.fspath(given)
        path = os.path.join(path, "metadata.yaml") if os.path.isfile(os.path.join(path, "metadata.yaml")) else path
        return _of_yaml(path) if path.endswith((".yaml", ".yml")) else None
    if hasattr(given, "canonical_etypes"):
        return _of_dgl(given)
    if hasattr(given, "csc_indptr") and hasattr(given, "indices"):
        return _of_csc(given)
    if hasattr(given, "node_types") and hasattr(given, "edge_types"):
        return ({name: _of_store(given[name], given[name].num_nodes) for name in given.node_types},
                {key: _edges_of_store(given[key], key) for key in given.edge_types})
    if hasattr(type(given), "num_node_features"):
        return {"node": _of_store(given, given.num_nodes)}, {("node", "to", "node"): _edges_of_store(given, "Data")}
    return None


def _of_store(of: Any, count: int | None) -> Nodes:
    names = {"features": ("x", "feat"), "labels": ("y", "label"), "times": ("time", "year")}
    found = {what: next((of[name] for name in some if name in of and getattr(of[name], "ndim", 0) > 0), None) for what, some in names.items()}
    for what, mask in zip(splits, ("train_mask", "val_mask", "test_mask")):
        found[what] = None
        if mask in of:
            chosen = _checks.host(of[mask], mask)
            if chosen.ndim == 1 and len(chosen) == count:
                found[what] = np.flatnonzero(chosen)
    if found["times"] is not None and _checks.kind(found["times"])[:3] not in ("int", "uin"):
        found["times"] = None
    return Nodes(count, {what: one for what, one in found.items() if one is not None})


def _edges_of_store(of: Any, key: Any) -> Edges:
    if "edge_index" not in of:
        raise InputError(f"{key}: has no edge_index; give it one")
    source, target = _checks.pairs(of["edge_index"], f"edge_index of {key}")
    return Edges(source, target, *(of[name] if name in of else None for name in ("edge_weight", "edge_attr", "time")))


def _of_dgl(graph: Any) -> tuple[dict[str, Nodes], dict[EdgeType, Edges]]:
    nodes = {_plain(name): _of_store(graph.nodes[name].data, int(graph.num_nodes(name))) for name in graph.ntypes}
    edges = {}
    for key in graph.canonical_etypes:
        source, target = graph.edges(etype=key, order="eid")
        data = graph.edges[key].data
        edges[edge_type(tuple(_plain(name) for name in key))] = Edges(source, target, *(next((data[name] for name in names if name in data), None)
                                                    for names in (("w", "weight"), ("feat", "edge_attr"), ("time",))))
    return nodes, edges


def _plain(name: str) -> str:
    """DGL's names of the only type, as PyG's and Garner's."""
    return {"_N": "node", "_E": "to"}.get(name, name)


def _of_csc(graph: Any) -> tuple[dict[str, Nodes], dict[EdgeType, Edges]]:
    """GraphBolt's FusedCSCSamplingGraph."""
    indptr, source = _checks.int64(graph.csc_indptr, "csc_indptr"), _checks.int64(graph.indices, "indices")
    target = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    offsets = getattr(graph, "node_type_offset", None)
    types = getattr(graph, "node_type_to_id", None)
    if offsets is None or types is None:
        return {"node": Nodes(len(indptr) - 1)}, {("node", "to", "node"): Edges(source, target)}
    begins, of_edge = _checks.int64(offsets, "node_type_offset"), _checks.whole(graph.type_per_edge, "type_per_edge")
    nodes = {name: Nodes(int(begins[k + 1] - begins[k])) for name, k in types.items()}
    edges = {}
    for name, k in graph.edge_type_to_id.items():
        key, which = edge_type(tuple(name.split(":"))), np.flatnonzero(of_edge == k)
        edges[key] = Edges(source[which] - begins[types[key[0]]], target[which] - begins[types[key[2]]])
    return nodes, edges


def _of_yaml(path: str) -> tuple[dict[str, Nodes], dict[EdgeType, Edges]]:
    """GraphBolt's OnDiskDataset as it is before it is preprocessed."""
    if importlib.util.find_spec("yaml") is None:
        raise ModuleNotFoundError(f"{path}: needs yaml, which is not installed here; install with: pip install pyyaml", name="yaml")
    yaml: Any = importlib.import_module("yaml")
    base = os.path.dirname(path)
    try:
        with open(path, encoding="utf-8") as file:
            said = yaml.safe_load(file)
        graph = said["graph"]
        nodes = {one.get("type") or "node": Nodes(int(one["num"])) for one in graph["nodes"]}
        edges = {}
        for one in graph["edges"]:
            key = edge_type(tuple(one["type"].split(":")) if one.get("type") else ("node", "to", "node"))
            edges[key] = Edges(*_yaml_edges(os.path.join(base, one["path"]), one.get("format", "csv")))
        for one in said.get("feature_data") or []:
            data = _yaml_array(base, one)
            kind = one.get("type") or ("node" if one["domain"] == "node" else "node:to:node")
            if one["domain"] == "node":
                what = {"label": "labels", "labels": "labels", "year": "times", "time": "times"}.get(one["name"], "features")
                if what == "features" and what in nodes[kind].arrays:
                    warnings.warn(f"{path}: '{kind}' has several arrays of features; '{one['name']}' is left out", stacklevel=5)
                    continue
                nodes[kind].arrays[what] = data
            else:
                edges[edge_type(tuple(kind.split(":")))].features = data
        if tasks := said.get("tasks"):
            _yaml_task(path, base, tasks[0], nodes)
    except OSError as e:
        raise e if isinstance(e, FileError) else FileError(f"{path}: {e.strerror or e}") from None
    except (KeyError, TypeError, AttributeError, yaml.YAMLError) as e:
        hint = "; give the one of the raw data, which has graph:" if isinstance(e, KeyError) and e.args == ("graph",) else ""
        raise InputError(f"{path}: cannot be read as GraphBolt's metadata.yaml: {'lacks ' if isinstance(e, KeyError) else ''}{' '.join(str(e).split())}{hint}") from None
    return nodes, edges


def _yaml_edges(path: str, format: str) -> tuple[Any, Any]:
    if format == "numpy":
        source, target = _checks.pairs(np.load(path, mmap_mode="r"), path)
        return source, target
    _checks.installed("garner.convert", "pyarrow")
    parts: tuple[list[Any], list[Any]] = ([], [])
    read = tabular.Table(path, 0, 1, None, False)
    with contextlib.closing(read.batches()) as batches:
        for _, first, columns in batches:
            for part, column, role in zip(parts, columns, ("src", "dst")):
                part.append(tabular.ids_of(column, role, first))
    source, target = (np.concatenate(part) if part else np.empty(0, np.int64) for part in parts)
    return source, target


def _yaml_array(base: str, one: Mapping[str, Any]) -> Any:
    path = os.path.join(base, one["path"])
    return sources.of_torch(path, None) if one.get("format") == "torch" else path


def _yaml_task(path: str, base: str, task: Mapping[str, Any], nodes: Mapping[str, Nodes]) -> None:
    """Splits and labels of the first task, where it is of nodes."""
    for what, name in zip(splits, ("train_set", "validation_set", "test_set")):
        for part in task.get(name) or []:
            kind = part.get("type") or "node"
            data = {one.get("name"): _yaml_array(base, one) for one in part["data"]}
            seeds = data.get("seeds", data.get("seed_nodes"))
            seeds = np.load(seeds) if isinstance(seeds, str) else seeds
            if seeds is None or np.ndim(seeds) != 1 or kind not in nodes:
                warnings.warn(f"{path}: {name} has no nodes (of '{kind}'), and is left out; a dataset file has splits of nodes", stacklevel=6)
                continue
            of = nodes[kind].arrays
            of[what] = _checks.int64(seeds, f"{name} of '{kind}'")
            _checks.within(of[what], nodes[kind].count or 0, f"{path}: {name}: node", "nodes")
            if (labels := data.get("labels")) is not None:
                values = np.load(labels) if isinstance(labels, str) else _checks.host(labels, "labels")
                if len(values) != len(of[what]):
                    raise InputError(f"{path}: {name} has {len(values)} labels for {len(of[what])} nodes")
                if "labels" not in of:
                    of["labels"] = np.full((nodes[kind].count or 0, *values.shape[1:]), np.nan if values.dtype.kind == "f" else -1,
                                           values.dtype if values.dtype.kind == "f" else np.int64)
                if isinstance(of["labels"], np.ndarray):
                    of["labels"][of[what]] = values


def graph_of(given: Any, weight: Any, options: dict[str, Any]) -> Any:
    """A Graph of an object of another library; of edges with names or in a frame (table, src, dst, weight, undirected); None: a table, or files."""
    if isinstance(given, (str, bytes, os.PathLike)) or hasattr(given, "__arrow_c_stream__") or given is None:
        return None
    undirected = options["undirected"]
    if hasattr(given, "view_edge_list"):  # cuGraph
        frame, named = given.view_edge_list(), []
        for name, usual in (("source_columns", "src"), ("destination_columns", "dst"), ("weight_column", "weights")):
            found = getattr(given, name, None)
            found = found[0] if isinstance(found, list) else found
            named.append(found if found is not None and found in list(frame.columns) else usual if usual in list(frame.columns) else None)
        return frame, *named[:2], named[2] if weight is None else weight, undirected or not given.is_directed()
    build = {**options, "numbering": "keep" if options["numbering"] == "automatic" else options["numbering"], "undirected": undirected or None}
    if hasattr(given, "adjacency") and hasattr(given, "is_directed") and not all(hasattr(node, "__index__") for node in given):  # NetworkX
        return _named_networkx(given, weight, undirected)
    if hasattr(given, "canonical_etypes") or hasattr(given, "csc_indptr"):
        nodes, edges = _of_dgl(given) if hasattr(given, "canonical_etypes") else _of_csc(given)
        if len(nodes) != 1 or len(edges) != 1:
            raise UsageError(f"{_checks.told(given)} has {len(nodes)} types of nodes and {len(edges)} of edges; give a dataset file, whose name ends in .json")
        (node,), (one,) = nodes.values(), edges.values()
        return _garner._build(_checks.host(one.source, "source"), _checks.host(one.target, "target"),
                              None if one.weights is None else _checks.host(one.weights, "weights"), node.count, **build)
    if hasattr(given, "node_types") and hasattr(given, "edge_types"):
        raise UsageError(f"a {type(given).__name__} has several types; give a dataset file, whose name ends in .json")
    if hasattr(given, "tocoo") or hasattr(type(given), "num_node_features") or hasattr(given, "adjacency") or hasattr(given, "layout") \
            or (isinstance(given, np.ndarray) and given.ndim == 2):
        return graphs.build(given, weights=weight, **build)
    return None


def _named_networkx(given: Any, weight: Any, undirected: bool) -> Any:
    """Its edges by name; a node gets its number from an edge."""
    pa: Any = importlib.import_module("pyarrow")
    if lone := [node for node, degree in given.degree() if degree == 0]:
        raise UsageError(f"{len(lone)} nodes have names and no edge, as {lone[0]!r}; remove them, or use networkx.convert_node_labels_to_integers(graph)")
    edges = list(given.edges(data=weight or "weight"))
    try:
        columns = {"src": pa.array([u for u, *_ in edges]), "dst": pa.array([v for _, v, _ in edges])}
        if weight is not None or (edges and all(w is not None for *_, w in edges)):
            columns["weight"] = pa.array([w for *_, w in edges])
    except (pa.ArrowInvalid, pa.ArrowTypeError) as e:
        raise KindError(f"the nodes of this graph are of several types: {e}; use networkx.convert_node_labels_to_integers(graph)") from None
    return pa.table(columns), "src", "dst", "weight" if "weight" in columns else None, undirected or not given.is_directed()
