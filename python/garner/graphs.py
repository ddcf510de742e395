"""garner.build: edges out of what Python has: two arrays, an edge_index, a sparse matrix of SciPy or torch, a graph of NetworkX, PyG's Data."""
from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from . import _checks, _garner
from ._arguments import takes_old_names
from ._garner import Graph
from .errors import InputError, UsageError


@takes_old_names
def build(source: Any, target: Any = None, weights: Any = None, *, num_nodes: int | None = None, undirected: bool | None = None,
          keep_duplicates: bool = False, keep_loops: bool = False, in_edges: bool = False, numbering: str = "keep", id_bytes: int = 0,
          random_weights: tuple[float, float] | None = None, weight_seed: int = 1, memory_limit: int | str | None = None) -> Graph:
    """A graph of edges in memory.

    source, target: shape (edges,), source[i] -> target[i]: whole numbers of 8 to 64 bits, NumPy, torch or anything with DLPack, strided or
    not; an undirected edge stands once. Or one argument: an edge_index of shape (2, edges), as PyG has it; PyG's Data; a square sparse matrix
    of SciPy or torch (entry [u, v] is the edge u -> v, its number the weight); a graph of NetworkX whose nodes are whole numbers (undirected as
    it is)
    weights: shape (edges,); whole numbers become u32, floats f32; 0 or more, and finite; what 32 bits would make 0 or infinite is refused.
    Matrices, NetworkX and Data: False leaves theirs out; NetworkX and Data: the name of the attribute (default 'weight', taken where all edges
    have it, and 'edge_weight')
    num_nodes: ids 0 to num_nodes - 1 exist, with or without edges, and no others; None: up to the largest id, of a matrix its rows
    undirected: each edge in both directions; None: directed, unless NetworkX says otherwise
    keep_duplicates: else of equal edges the one with the smallest weight stays; keep_loops
    in_edges: also the in-edges of a directed graph (CSC); else they are made at their first use
    numbering: 'keep' (gaps become isolated nodes), 'compact' (ids that have no edge are left out) or 'automatic' (compact where nearly all are
    unused); id_bytes: 4, 8, or 0 for what fits
    random_weights: (low, high), whole numbers for u32 weights, else f32, random by weight_seed
    memory_limit: most bytes of host memory to take, as "8GiB"
    The arrays are read once and not kept (16 to 20 bytes per edge are taken meanwhile).
    Errors: IdError for an id that num_nodes excludes, InputError for an edge that cannot be (it is named), UsageError, OutOfMemory, Interrupted.
    """
    if target is None:
        source, target, weights, num_nodes, undirected = _edges_of(source, weights, num_nodes, undirected)
    if isinstance(weights, (str, bool)):
        raise TypeError(f"build(): weights={_checks.told(weights)}; give an array, one number per edge")
    if num_nodes is not None:
        num_nodes = _checks.number(num_nodes, "num_nodes", "name how many there are, a whole number")
        if num_nodes < 0:
            raise UsageError(f"num_nodes {num_nodes}: use 0 or more")
    return _garner._build(source, target, weights, num_nodes, undirected=undirected, keep_duplicates=keep_duplicates, keep_loops=keep_loops,
                          in_edges=in_edges, numbering=numbering, id_bytes=id_bytes, random_weights=random_weights, weight_seed=weight_seed,
                          memory_limit=memory_limit)


def _edges_of(given: Any, weights: Any, num_nodes: int | None, undirected: bool | None) -> tuple[Any, Any, Any, int | None, bool | None]:
    """Source, target, weights, num_nodes, undirected."""
    sparse = type(given).__module__.split(".")[0] == "torch" and str(getattr(given, "layout", "torch.strided")) != "torch.strided"
    if sparse or hasattr(given, "tocoo"):  # torch, SciPy
        if given.ndim != 2 or given.shape[0] != given.shape[1]:
            raise UsageError(f"the matrix is of shape {tuple(given.shape)}; a graph's is square")
        if num_nodes not in (None, given.shape[0]):
            raise UsageError(f"num_nodes={num_nodes} of a matrix with {given.shape[0]} rows; leave it out")
        if sparse:  # entries that stand twice are one
            entries = given.detach().to_sparse_coo().coalesce()
            (row, col), own = entries.indices(), entries.values()
            own = own.int() if own.dtype.itemsize == 1 and not own.dtype.is_signed else own
        else:
            entries = given.tocsr().tocoo()
            row, col, own = entries.row, entries.col, entries.data
            own = own.astype(np.uint32) if own.dtype.kind == "b" else own
        return row, col, own if weights is None or weights is True else None if weights is False else weights, given.shape[0], undirected
    if hasattr(type(given), "num_node_features"):  # PyG
        if hasattr(given, "node_types"):
            raise UsageError(f"build: a {type(given).__name__} has several types and a Graph has one; give the edges of one type, as "
                             "data['a', 'to', 'b'].edge_index, or all of it to garner.pyg.NeighborLoader")
        if "edge_index" not in given:
            raise UsageError(f"build: this {type(given).__name__} has no edge_index; give it one, or give source and target")
        name = weights if isinstance(weights, str) else "edge_weight"
        if weights is None or weights is True or isinstance(weights, str):
            if name not in given and weights is not None:
                raise InputError(f"these data have no '{name}'; give them one, or use weights=False")
            weights = given[name].detach() if name in given else None
        elif weights is False:
            weights = None
        if num_nodes is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that they end at the largest id, as here
                num_nodes = given.num_nodes
        given = given.edge_index
    if hasattr(given, "adjacency") and hasattr(given, "is_directed"):  # NetworkX
        nodes = list(given)
        try:
            ids = [operator.index(node) for node in nodes]
        except TypeError:
            raise UsageError("the nodes of this graph are not all whole numbers; use networkx.convert_node_labels_to_integers(graph) first") from None
        if ids and min(ids) < 0:
            raise InputError(f"node {min(ids)}: ids are 0 or more; use networkx.convert_node_labels_to_integers(graph) first")
        name = weights if isinstance(weights, str) else "weight"
        edges = list(given.edges(data=name))
        if weights is None or weights is True or isinstance(weights, str):
            have = [w for *_, w in edges if w is not None]
            if have and len(have) < len(edges) or not have and edges and weights is not None:
                raise InputError(f"{len(edges) - len(have)} of {len(edges)} edges have no '{name}'; give them one, or use weights=False")
            weights = np.array(have) if have else None
        elif weights is False:
            weights = None
        ends = np.array([(u, v) for u, v, _ in edges], dtype=np.int64).reshape(-1, 2)
        num_nodes = max(ids, default=-1) + 1 if num_nodes is None else num_nodes
        return ends[:, 0], ends[:, 1], weights, num_nodes, (not given.is_directed()) if undirected is None else undirected
    try:
        return *_checks.pairs(given, "edge_index"), weights, num_nodes, undirected
    except UsageError as e:
        raise type(e)(f"build: {e}; or give source and target, a sparse matrix of SciPy or torch, a graph of NetworkX or PyG's Data" +
                      (", or read files with garner.read" if isinstance(given, (str, bytes)) else "")) from None


@takes_old_names
def random_walk(graph: Graph, start: Any, walk_length: int, p: float = 1.0, q: float = 1.0, *, seed: int = 1, side: str = "out",
                return_edge_indices: bool = False, device: Any = "cpu", edges: str | None = None) -> Any:
    """Random walks over a graph, whose adjacency may lie in any tier: node2vec's (Grover and Leskovec, KDD 2016).

    start: positions of nodes among graph.ids(), or a bool each; a walk from each, in this order
    p, q: 0.001 to 1000. A step from v, where t was before, goes to t with a chance in proportion to 1 / p, to neighbors that lead to t to 1, to
    others to 1 / q; 1, 1: to each neighbor with the same chance. A walk stays at a node without neighbors.
    side: 'out': along edges; 'in': against them. seed: a walk is a function of it and of its position in start, the same on every device
    device: walks: 'cpu', 'cuda', 'simulated'; edges: as of garner.bfs
    Result: shape (starts, walk_length + 1), int64; return_edge_indices (of a graph in natural order): also where each edge stands in csr()
    , shape (starts, walk_length), -1 where a walk stays.
    Errors: UsageError, IdError for a start that does not exist.
    """
    walk_length = _checks.number(walk_length, "walk_length")
    if walk_length < 1:
        raise UsageError(f"walk_length={walk_length}: use 1 or more")
    nodes, edge = _garner._random_walks(graph, start, walk_length, p=p, q=q, seed=seed, side=side, edge_ids=bool(return_edge_indices), device=device,
                                        edges=edges)
    nodes = nodes.reshape(-1, walk_length + 1)
    return (nodes, edge.reshape(-1, walk_length)) if return_edge_indices else nodes
