"""garner.convert and garner.read_edges: tables of edges, as Parquet, Arrow, CSV or TSV in any number of files, to a graph.

Batches of pyarrow go to the sorter of graphs larger than memory, while the next batch is read. Ids are whole numbers, or names (strings, bytes, UUIDs,
any numbers with renumber=True), which get numbers in the order of their first appearance; a second file holds the names in that order.
Invariant: graph and names depend on the rows and their order alone, not on how files or batches divide them.
"""
from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from . import _checks, _garner, datasets, foreign
from ._garner import Graph, GraphInfo
from .errors import Error, FileError, KindError, UsageError
from .names import NamesFile, column_of, digest_of, names_of
from .progress import Show, watching
from .tabular import Table, divided, ending


def convert(edges: Any, file: Any, *, src: str | int = 0, dst: str | int = 1, weight: str | int | None = None, renumber: bool | None = None, names: Any = None,
            undirected: bool = False, keep_duplicates: bool = False, keep_loops: bool = False, in_edges: bool = False, numbering: str = "automatic",
            id_bytes: int = 0, random_weights: tuple[float, float] | None = None, weight_seed: int = 1, memory_limit: int | str | None = None,
            scratch: Any = None, features: Any = None, labels: Any = None, progress: Any = None) -> GraphInfo | None:
    """Writes a graph file (.gnr) of a table of edges, which may be larger than memory; or what `garner convert` makes of other files and folders.

        garner.convert({("user", "buys", "item"): "buys/*.parquet", ("user", "likes", "user"): "likes/*.parquet"}, "shop.json")

    edges: files (.parquet, .arrow, .feather, .csv or .tsv, also .gz and .zst of text), a pattern such as 'edges/*.parquet', a folder of such files, a list
    of those, '-' for CSV or TSV on standard input, also .gz or .zst; or a table in memory: of pyarrow, pandas, Polars, anything with __arrow_c_stream__
    The first line of CSV and TSV names the columns, unless src and dst are positions and whole numbers stand there: then it is an edge
    Else a file of another format, by its ending (as garner.read takes them); a graph of cuGraph, DGL, NetworkX, PyG, SciPy, or what garner.build takes
    If `file` ends in .json: a dict of tables by (from, relation, to), whose ids are of each node type's own; HeteroData and Data of PyG, DGL's graphs,
    GraphBolt's; the folder of a data set (OGB, MAG240M, IGB, GraphBolt with its metadata.yaml)
    file: the graph file, or the dataset file of a folder; it appears whole or not at all. A file of another format may become one, as garner convert has it
    src, dst, weight: columns by name, or by position from 0; a row is the edge src -> dst. Weights are 0 or more; whole numbers become u32, floats f32
    renumber: False: ids are whole numbers from 0 and stay; True: any ids get the numbers 0, 1, 2 ... in the order of their first appearance, src before
    dst; None: strings, bytes and UUIDs (as 16 bytes) are renumbered, numbers are not. Both columns name nodes of one kind
    names: the file for the ids that were renumbered, row k that of node k: .parquet (column 'name'), or .npy of numbers; None: FILE.names.parquet
    undirected, keep_duplicates, keep_loops, in_edges, numbering, id_bytes, random_weights, weight_seed: as of garner.build; numbering 'automatic' leaves
    ids out that have no edge, if nearly all are so
    features, labels: of tables by type: rows by node type, a row for each of its ids, as garner.tiered takes them; where ids have names (table, column of
    names, column of rows), all rows in memory
    memory_limit: most bytes of host memory to take, as "8GiB" (64 MiB or more, for names 96 MiB); edges beyond it are sorted in `scratch` (a folder; None:
    that of the file), with 8 bytes per edge (12 with weights; twice that if undirected). A quarter of it, 48 to 256 MiB, is for what pyarrow reads and writes,
    and a record batch of an Arrow file is read whole. Names take 18 to 28 bytes each, at most half of the rest
    progress: True: a bar of tqdm, or a line on standard error; or f(done, all) of each stage, in rows (all is 0 where unknown) and then bytes. An error or
    KeyboardInterrupt in it ends the work, and no file is left
    Result: what the graph is; None of a dataset, and of rows (.npy to .gnt, or back).
    Errors: InputError for a column that is not there, an id or weight that is null, files whose columns differ; IdError for a negative id; FileError,
    UsageError, OutOfMemory, Interrupted.
    """
    options = dict(undirected=undirected, keep_duplicates=keep_duplicates, keep_loops=keep_loops, in_edges=in_edges, numbering=numbering, id_bytes=id_bytes,
                   random_weights=random_weights, weight_seed=weight_seed, memory_limit=memory_limit)
    to = os.fspath(file)
    with watching(progress) as show:
        return _convert(edges, to, src, dst, weight, renumber, names, scratch, features, labels, options, show)


def _convert(edges: Any, to: Any, src: Any, dst: Any, weight: Any, renumber: bool | None, names: Any, scratch: Any, features: Any, labels: Any,
             options: dict[str, Any], show: Show) -> GraphInfo | None:
    undirected = options["undirected"]
    if weight is not None and options["random_weights"] is not None:
        raise UsageError(f"weight={_checks.told(weight)} and random_weights: an edge has one weight; leave one of them out")
    if isinstance(edges, Mapping) or str(to).endswith(".json"):
        columns = dict(src=src, dst=dst, weight=weight, renumber=renumber)
        datasets.convert(edges, str(to), features, labels, names, columns, scratch, options)
        return None
    if features is not None or labels is not None:
        raise UsageError(f"features and labels become part of a dataset file, whose name ends in .json, and not of {_checks.told(to)}")
    unused = dict(renumber=renumber, names=names, scratch=scratch)
    if (graph := foreign.graph_of(edges, weight, options)) is not None:
        if isinstance(graph, Graph):
            datasets.refuse({**unused, "src": src, "dst": dst}, f"is for tables of edges, unlike {_checks.told(edges)}")
            graph.save(to)
            return graph.info
        edges, src, dst, weight, options["undirected"] = graph
    if isinstance(edges, (str, os.PathLike)) and os.path.isfile(edges) and not ending(os.fspath(edges)) and src == 0 and dst == 1:
        unused["weight"] = weight
        if str(to).endswith(".gnt") or os.fspath(edges).endswith(".gnt"):
            datasets.refuse({**unused, **options}, f"is for edges, and {os.fspath(edges)} holds rows")
            _garner._convert_rows(edges, to)
            return None
        datasets.refuse(unused, f"is for tables of edges, unlike {os.fspath(edges)}")
        return _garner._convert(edges, to, **{**options, "undirected": undirected or None})
    reading, options["memory_limit"] = divided(options["memory_limit"])
    table = Table(edges, src, dst, weight, renumber, reading)
    if not isinstance(to, str) or not to.endswith(".gnr"):
        raise UsageError(f"convert: writes a graph file, whose name ends in .gnr, and not {_checks.told(to)}")
    if names is not None and not isinstance(names, (str, os.PathLike)):
        raise KindError(f"names={_checks.told(names)}: name the file for them, or leave it out")
    names_file = os.fspath(names) if names is not None else names_of(to)
    if not names_file.endswith((".parquet", ".npy")):
        raise UsageError(f"names={names_file!r}: use a name that ends in .parquet or .npy")
    writer = _garner._GraphWriter(to, table.name, scratch, **options)
    table.write_to(writer, show)
    with NamesFile(names_file, names_of(to), writer, table.kind, reading) as written:
        info = writer.finish()
        written.publish(info.names_digest)
    return info


def read_edges(edges: Any, *, src: str | int = 0, dst: str | int = 1, weight: str | int | None = None, renumber: bool | None = None, undirected: bool = False,
               keep_duplicates: bool = False, keep_loops: bool = False, in_edges: bool = False, numbering: str = "automatic", id_bytes: int = 0,
               random_weights: tuple[float, float] | None = None, weight_seed: int = 1, memory_limit: int | str | None = None, scratch: Any = None,
               progress: Any = None) -> Graph:
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
                scratch=scratch or folder, progress=progress)
        graph = _garner.open(file)
        if os.path.exists(names_of(file)):
            names = column_of(names_of(file))
            digest_of(names, graph.info.names_digest)  # garner.table and graph.save compare it
            graph.names = names.to_numpy()
    return graph


def main() -> None:
    """For the program `garner convert`: the arguments of convert as JSON in sys.argv[1]; prints what the graph is, or the error, as JSON."""
    given = json.loads(sys.argv[1])
    said: dict[str, Any]
    try:
        for what in ("features", "labels"):  # TYPE=FILE, or TYPE=FILE:ID:COLUMN
            pairs = [one.partition("=") for one in given.get(what, ())]
            given[what] = {name: tuple(file.rsplit(":", 2)) if file.count(":") > 1 else file for name, _, file in pairs} or None
        edges = given.pop("edges")
        if edges.partition("=")[0].count(":") == 2 and "=" in edges:  # FROM:RELATION:TO=FILES,...
            edges = {tuple(name.split(":")): files for name, _, files in (one.partition("=") for one in edges.split(","))}
        info = convert(edges, given.pop("file"), **given)
        said = {"dataset": True} if info is None else {name: getattr(info, name) for name in ("num_nodes", "num_edges", "id_bytes", "weights", "directed", "in_edges")}
    except (Error, KeyboardInterrupt) as e:
        said = {"kind": type(e).__name__.replace("KeyboardInterrupt", "Interrupted"), "error": str(e) or "interrupted"}
    except ModuleNotFoundError as e:
        said = {"kind": "UsageError", "error": str(e)}
    except Exception as e:
        said = {"kind": "InternalError", "error": f"{type(e).__name__}: {e}"}
    print(json.dumps(said))
