"""garner.table: what algorithms and models give for each node, as a table of Arrow, by id or by name."""
from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np

from . import _checks
from ._garner import BfsResult, ComponentsResult, Graph, PagerankResult, SsspResult
from .errors import FileError, KindError, UsageError
from .names import digest_in, digest_of, has_names, names_of, read_names

# Arrays of a result with an entry per node, and whether the entries are nodes themselves (-1: none).
_columns: dict[type, dict[str, bool]] = {BfsResult: {"depth": False, "parent": True}, SsspResult: {"distance": False}, ComponentsResult: {"label": True},
                                         PagerankResult: {"rank": False}}


def node_column(graph: Graph, names: Any = None) -> Any:
    """The nodes of a graph in the order of its results: an Arrow array of their names where there are some, else of their ids."""
    pa: Any = importlib.import_module("pyarrow")
    ids, digest, own = graph.ids(), graph.info.names_digest, names is None
    if own and graph.names is None and not digest:
        return pa.array(ids)
    if own and graph.names is None and not has_names(graph.name):
        raise FileError(f"{graph.name}: its nodes have names, and {names_of(graph.name)} does not hold them; give names=FILE, or set "
                        "graph.names = garner.read_names(FILE)")
    file = graph.name if own and graph.names is None else names if isinstance(names, (str, os.PathLike)) else None
    found = read_names(file) if file is not None else graph.names if own else names
    try:
        at = pa.array(found)
    except pa.ArrowException as e:
        raise KindError(f"names: {' '.join(str(e).split())}; give strings, bytes or whole numbers, as garner.read_names gives them") from None
    if digest and not (file is not None and digest_in(os.fspath(file)) == digest) and digest_of(at) != digest:
        raise UsageError(f"{'graph.' if own else ''}names: {len(at)} names of another graph than {graph.name}, or in another order; give those that garner.convert wrote with it")
    if digest and len(ids) and len(ids) <= int(ids[-1]) < len(at):  # nodes without edges were left out
        return at.take(pa.array(ids))
    if len(at) != len(ids) or (len(ids) and int(ids[-1]) != len(ids) - 1):
        raise UsageError(f"{len(at)} names for a graph of {len(ids)} nodes; give those of the file that garner.convert wrote with it")
    if not digest and len(at.unique()) != len(at):
        raise UsageError("names: a name stands there twice; give each node its own")
    return at


def table(graph: Graph, *results: Any, names: Any = None, **columns: Any) -> Any:
    """A pyarrow.Table of one row per node, for pandas (to_pandas()), Parquet (pyarrow.parquet.write_table) and all that reads Arrow.

    results: of garner.bfs, sssp, components and pagerank over this graph: columns depth, parent, distance, label, rank; parent is null without one; of
    several sources depth and parent have a list per node
    columns: further columns by name: shape (nodes,) or (nodes, width), entry k of the node graph.ids()[k]; of NumPy, torch, or lists
    names: of the nodes, as garner.read_names gives them, or their file; None: graph.names, or those that garner.convert wrote with the graph's file, or the
    ids
    Column 'node' comes first. Errors: UsageError for a column of another length or a name twice, names of another graph or one of them twice; FileError
    where the nodes have names that are not found.
    """
    _checks.installed("garner.table", "pyarrow")
    pa: Any = importlib.import_module("pyarrow")
    if not isinstance(graph, Graph):
        raise KindError(f"graph is {_checks.told(graph)}; give a garner.Graph")
    ids = graph.ids()
    at = node_column(graph, names)
    by_id = at.equals(pa.array(ids))

    def nodes(values: Any) -> Any:
        found = pa.array(values, mask=np.asarray(values) < 0)
        return found if by_id else at.take(found)

    made: dict[str, Any] = {"node": at}
    given = []
    for result in results:
        if type(result) not in _columns:
            raise UsageError(f"{_checks.told(result)} is not a result of garner.bfs, sssp, components or pagerank; give arrays by name, as score=array")
        given += [(name, getattr(result, name).T, are_nodes) for name, are_nodes in _columns[type(result)].items()]
    for name, values, are_nodes in given + [(name, values, False) for name, values in columns.items()]:
        if name in made:
            raise UsageError(f"column '{name}' twice; give one of them by another name, as {name}_2=array")
        values = _checks.host(values, name)
        if values.ndim not in (1, 2) or len(values) != len(ids):
            raise UsageError(f"{name}: of shape {values.shape} for {len(ids)} nodes; give each node one entry or one row")
        flat = np.ascontiguousarray(values).reshape(-1)
        column = nodes(flat) if are_nodes else pa.array(flat)
        made[name] = column if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(column, values.shape[1])
    return pa.table(made)
