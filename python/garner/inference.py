"""garner.infer: a model of torch over all nodes, layer by layer, from all neighbors.

Each layer reads the rows of the layer before: from the device's own memory by whole_rows.py, if it is a layer of PyG's known there and they fit; else by
mini-batches of consecutive nodes with all their neighbors, which a loader samples and gathers ahead. Rows between layers lie in GPU memory, in host
memory, or in files, by what fits. Invariant: the result is that of the model on the whole graph, whatever the size of a mini-batch. Cost: each layer
gathers a row per neighbor of a mini-batch once, and writes each row once. Needs torch.
"""
from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from . import _checks, sources, staging
from ._garner import Graph
from .batches import loader
from .checkpoints import Checkpoint, digest_of, original, seen
from .errors import KindError, UsageError
from .kept_rows import InMemory, between, require_writable, result_in
from .making import tiered
from .pipeline import bytes_of, device_of
from .progress import showing
from .staging import Behind, end, threads
from .tables import scales_of
from .whole_rows import WholeRows, host_tensor

_over_all = ("GraphNorm", "PairNorm", "MeanSubtractionNorm", "GraphSizeNorm", "InstanceNorm")  # they look at all rows of a call


def infer(model: Any, graph: Graph, features: Any, *, out: Any = None, classes: bool = False, side: str = "in", batch_size: int | None = None,
          device: Any = None, memory_limit: int | str | None = None, scratch: Any = None, checkpoint: Any = None,
          progress: Any = None, names: Any = None) -> Any:
    """What a model gives for every node, from all neighbors, one layer after the other: embeddings, scores or classes.

        z = garner.infer(model, graph, features)                               # a tensor in host memory
        garner.infer(model, graph, features, out="z.parquet", checkpoint="work")

    model: of PyG's BasicGNN (GCN, GraphSAGE, GIN, GAT ..., jk None or 'last'); or a list of layers in their order: modules and functions that take
    (x, edge_index), and others that take x alone, as torch.relu. x has the rows of some nodes, and behind them those of their neighbors; edge_index
    (2, edges) leads from neighbors to nodes; the rows of the first nodes count. It runs in eval mode without gradients; GCNConv takes the degrees of the
    whole graph. What torch.compile made runs as it was before
    features: one row per node, in the order of graph.ids(): an array, a tensor, a table of garner.tiered, or a file that it opens, or (file, name).
    Floating-point numbers become those of the first module that has parameters, and functions before it in a list get them as they are; int8 rows of a
    table with scales are multiplied by them
    out: None: the result, shape (nodes, width), is a tensor in host memory; a name that ends in .npy, .gnt or .parquet (columns 'node', by id or by name, and
    'embedding' or 'class'): the result is that file, whole or not at all, and its name is returned; bfloat16 becomes float32 there
    classes: the position of the largest score of each node: int64, shape (nodes,)
    A graph with edge weights: layers that take edge_weight (GCNConv, GraphConv), or edge_attr of one column (GATConv of edge_dim 1), get them; so do
    functions (x, edge_index, edge_weight), by the name of that argument (without weights in the graph: ones); one by the name nodes gets how many nodes
    count. Layers of wider edge_attr, of edge_type or other arguments are refused
    side: the neighbors are the sources of in-edges ('in'), or the targets of out-edges ('out'), as in training
    batch_size: nodes at once; None: as many as have about a million neighbors. device: None: that of the model's parameters
    memory_limit: most bytes of host memory for rows between layers, as "16GiB" (None: half of what is free); what exceeds it lies in files in `scratch`
    checkpoint: a folder for the rows of each layer: a call with the same arguments goes on where an earlier one ended, and empties it at the end; one with
    others is a UsageError. These count in a model: weights, persistent buffers and extra_repr of its modules; what the classes of torch, PyG and garner set
    in them (as aggr, negative_slope); the code of your own classes and functions, what it names of its own file (numbers, modules, functions, classes), and
    what they close over, default to or are partial of (plain values, tensors, arrays, modules); not what your modules set, nor lists, dicts or other objects
    progress: True: a bar of tqdm, or a line on standard error; or f(done, all), in nodes times layers, after each mini-batch. What it raises ends the work
    names: of the nodes in a .parquet file, as of garner.table: an array, or their file; None: graph.names, or those of the graph's file, or the ids
    Errors: KindError for another model, UsageError for a layer that looks at all rows of a call, FileError, OutOfMemory, Interrupted.
    """
    given: list[_Weights] = []
    model = _uncompiled(model)
    layers, modules, convs, readers = _layers_of(model, given)
    if not isinstance(graph, Graph):
        raise KindError(f"graph is {_checks.told(graph)}; give a garner.Graph")
    if side not in ("in", "out"):
        raise UsageError(f"side={side!r}: use 'in' or 'out'")
    if out is not None and not isinstance(out, (str, os.PathLike)):
        raise KindError(f"out is {_checks.told(out)}; give the name of a file, or None")
    target = None if out is None else os.fspath(out)
    if target is not None and not target.endswith((".npy", ".gnt", ".parquet")):
        raise UsageError(f"out={target!r}: use a name that ends in .npy, .gnt or .parquet")
    if names is not None and not (target or "").endswith(".parquet"):
        raise UsageError("names: a .parquet file alone has them; use out= of a name that ends so, or leave names out")
    n, weighted = graph.info.num_nodes, graph.info.weights != "none"
    for one in readers:
        _require_known_arguments(one, weighted)
    if n == 0:
        raise UsageError("graph: has no nodes, and so a model gives nothing; give one with some")
    rows = tiered(features) if isinstance(features, (str, os.PathLike)) or sources.reads(features) else features
    _checks.rows(rows, "features", n)
    if len(rows) != n:
        raise UsageError(f"features: {len(rows)} rows for a graph of {n} nodes; give one row per node")
    of_model = next((str(p.device) for m in modules for p in m.parameters()), None)
    device = device_of(of_model if device is None else device, [rows])
    size = max(256, min(65536, (1 << 20) // (graph.info.num_edges // max(n, 1) + 1))) if batch_size is None else _checks.number(batch_size, "batch_size")
    if size < 1:
        raise UsageError(f"batch_size={size}: use 1 or more")
    memory = _free_memory() // 2 if memory_limit is None else bytes_of(memory_limit, "memory_limit")
    if checkpoint is not None and side == "in":
        graph.make_in_edges()  # which its digest counts
    kept = None if checkpoint is None else Checkpoint(os.fspath(checkpoint), len(layers), (graph.digest(), size, side, classes, digest_of(model), seen(features)))
    if target is not None:
        require_writable(target, graph, names)
    narrow = any(p.dtype == torch.bfloat16 for m in modules for p in m.parameters())
    scales: Any = None if (found := scales_of(rows)) is None else host_tensor(found)

    def batches(x: Any, first: int = 0) -> Iterator[Any]:
        yield from loader(graph, [-1], None if first == 0 else torch.arange(first, n), x=x, batch_size=size, device=device, side=side,
                          edge_ids=weighted)

    with contextlib.ExitStack() as ends, torch.no_grad():
        ends.enter_context(_evaluating(modules))
        show = ends.enter_context(showing(progress))
        pool = threads()
        ends.callback(end, pool)
        whole = WholeRows(graph, side, device, convs, memory)
        degrees = _Weights(ends, modules, readers, batches, graph, whole)
        given.append(degrees)
        ahead: InMemory | None = None

        def cast(k: int, x: Any, nodes: Any = None) -> Any:
            """The rows of a layer as they were before a file held what was bfloat16, and features by their scales. nodes: whose rows they are."""
            nonlocal scales
            if k:
                return x.to(torch.bfloat16) if narrow and x.dtype == torch.float32 else x
            if scales is not None and nodes is not None:
                scales = scales.to(x.device)
                x = x.float() * scales[nodes.to(x.device)].reshape(-1, *[1] * (x.ndim - 1))
            return x

        def sampled(k: int, layer: Any, x: Any, first: int) -> Iterator[Any]:
            begin = first
            for batch in batches(x, first):
                degrees.batch, x = batch, cast(k, batch.x, batch.n_id)
                found = layer(x.clone() if first == begin else x, batch.edge_index, batch.batch_size)  # layers may work in place
                if first == begin and not getattr(layer, "pairs", False):
                    _require_one_hop(k, layer, x, batch, found)
                first += batch.batch_size
                yield found
            degrees.batch = None

        for k, layer in enumerate(layers):
            last, first = k + 1 == len(layers), 0 if kept is None else kept.done(k)
            into: Any = None
            near = whole.rows(k, rows, None if k else _kind_of(convs[k])) if first < n else None
            if k == 0 and near is not None and target is None and kept is None and all(convs) and staging.link_of(near.device):
                whole.set_out()
                ahead = _ahead(layers, cast(k, near[:1].clone()), n, classes)
                if ahead is not None:
                    ahead.touch(pool)  # behind the adjacency
            pieces: Any = (part for part in list[Any]()) if first == n else sampled(k, layer, rows, first) if near is None else (
                whole.run(k, layer, cast(k, near) if k else _as_of(convs[k], near), first, batch_size, _require_same))
            ends.callback(pieces.close)  # also where an error is on its way: a layer is then the user's own again
            for found in pieces:
                found = found.argmax(-1) if last and classes else found
                if into is None:
                    shape = (n, *found.shape[1:])
                    if last and ahead is not None and (ahead.whole.shape, ahead.whole.dtype) != (shape, found.dtype):
                        ahead.drop()
                        ahead = None
                    into = kept.place(k, shape, found.dtype) if kept else between(found, n, memory, scratch, ends) if not last else (
                        ahead if ahead is not None else result_in(target, graph, names, shape, found.dtype, ends))
                    if not kept and not (isinstance(into, InMemory) and into.whole.is_cuda):
                        into = Behind(into)
                        ends.callback(into.close)
                into.put(first, found)
                first += len(found)
                if kept:
                    kept.note(k, first, into)
                show("inferring rows", k * n + first, len(layers) * n)
            near = pieces = None
            if kept is None:
                rows = into.finish()
            elif not last:
                rows = tiered(kept.file(k))
        if kept is None:
            return rows
        stored = np.load(kept.file(len(layers) - 1), mmap_mode="r")
        to = result_in(target, graph, names, stored.shape, torch.from_numpy(stored[:0].copy()).dtype, ends)
        for first in range(0, n, size):
            to.put(first, torch.from_numpy(stored[first:first + size].copy()))
        found = to.finish()
        kept.clear()
        return found


def _ahead(layers: list[Any], x: torch.Tensor, nodes: int, classes: bool) -> InMemory | None:
    """The result's memory before its rows are there, by what the layers make of one row without neighbors; None: unknown, or not half of it is free."""
    try:
        for layer in layers:
            x = layer(x, torch.empty((2, 0), dtype=torch.int64, device=x.device), 1)
    except Exception:  # it comes again where the layer runs, if it is not of this row
        return None
    x = x.argmax(-1) if classes else x
    return InMemory((nodes, *x.shape[1:]), x.dtype) if nodes * x.nbytes <= _free_memory() // 2 else None


def _require_one_hop(k: int, layer: Any, x: torch.Tensor, batch: Any, found: torch.Tensor) -> None:
    """Edges that lead to neighbors must not change the rows of the nodes: a mini-batch has none of those of the whole graph."""
    nodes = batch.batch_size
    others = torch.arange(nodes, len(x), device=batch.edge_index.device)
    if len(others) == 0 or found.numel() == 0:
        return
    more = torch.cat([torch.stack([others.roll(1), others]), torch.stack([others % nodes, others])], 1)
    _require_same(k, layer(x, torch.cat([batch.edge_index, more], 1), nodes), found)


def _require_same(k: int, again: torch.Tensor, found: torch.Tensor) -> None:
    bound = 2e-2 if found.element_size() == 2 else 1e-3
    if float((again - found).abs().max()) > bound * float(found.abs().max()):
        raise UsageError(f"model: layer {k} uses more than the edges that lead to its nodes, of which a mini-batch has all; give one convolution per layer "
                         "that does not, as SAGEConv, GINConv, GATConv or GCNConv (as a module of the list), and nothing over all rows of a call")


def _layers_of(model: Any, given: list[_Weights]) -> tuple[list[Any], list[torch.nn.Module], list[Any], list[Any]]:
    """A function (x, edge_index, nodes) -> rows of these nodes for each layer; the modules in them; what alone reads edges in each, if it comes first; and
    all that is called with edges here."""
    if hasattr(model, "inference_per_layer"):
        if getattr(model, "jk_mode", None) not in (None, "last"):
            raise UsageError(f"model: jk='{model.jk_mode}' needs the rows of all layers at once; use jk=None or 'last', or call the model itself on the "
                             "whole graph")
        made: list[Any] = [lambda x, edge_index, nodes, k=k: model.inference_per_layer(k, x if k else _as_of(model, x), edge_index, nodes)
                           for k in range(model.num_layers)]
        modules = [model]
        pyg: Any = sys.modules.get("torch_geometric.nn.models.basic_gnn")
        plain = pyg is not None and type(model).inference_per_layer is pyg.BasicGNN.inference_per_layer
        readers = list(map(original, model.convs)) if plain else []
        convs = readers or [None] * len(made)
    elif isinstance(model, (Sequence, torch.nn.ModuleList, torch.nn.Sequential)) and len(model) and all(
            callable(one) and not inspect.isclass(one) for one in model):
        modules = [one for one in (*model, *(inner for function in model for inner in _inside(function))) if isinstance(one, torch.nn.Module)]
        groups: list[list[Any]] = []  # each has one member that reads edges; those of rows alone follow it, the very first precede it
        for one in model:
            if not groups or (_reads_edges(one) and any(map(_reads_edges, groups[-1]))):
                groups.append([])
            groups[-1].append(one)
        if not any(map(_reads_edges, groups[0])):
            raise UsageError("model: no layer takes edge_index; give at least one that does, as SAGEConv")
        first = next((one for one in groups[0] if _kind_of(one)), None)
        made, convs = [_in_order(group, given, first) for group in groups], [group[0] for group in groups]
        readers = list(filter(_reads_edges, model))
    else:
        raise KindError(f"model is {_checks.told(model)}; give a model of PyG's BasicGNN, or a list of its layers")
    for part in (part for module in modules for part in module.modules()):
        name = type(part).__name__
        if getattr(part, "track_running_stats", True) is False or name in _over_all or (name == "LayerNorm" and getattr(part, "mode", "") == "graph"):
            raise UsageError(f"model: {name}{'(mode=graph)' if name == 'LayerNorm' else ''} looks at all rows of a call, which has some of the nodes here; "
                             "use a norm of each row, as torch.nn.LayerNorm, or BatchNorm")
    return [_named(k, layer) for k, layer in enumerate(made)], modules, convs, readers


def _named(k: int, layer: Any) -> Callable[[Any, Any, int], Any]:
    """What torch and PyG say of rows that do not fit a layer becomes one sentence."""
    def run(x: Any, edge_index: Any, nodes: int) -> Any:
        try:
            return layer(x, edge_index, nodes)
        except (RuntimeError, TypeError, IndexError, AssertionError) as e:
            if type(e) not in (RuntimeError, TypeError, IndexError, AssertionError):  # out of memory, an error of Garner's or the user's own
                raise
            said = " ".join(str(e).split()) or "an assertion failed"
            raise (KindError if isinstance(e, TypeError) else UsageError)(
                f"model: layer {k} fails on {len(x)} rows of shape {tuple(x.shape[1:])} and {_checks.kind(x)}: {said[:300]}; "
                f"{'make the layers before it fit' if k else 'give features that it takes, another layer'}, or look into it: the cause is above") from e
    setattr(run, "pairs", getattr(layer, "pairs", False))
    return run


def _require_known_arguments(one: Any, weighted: bool) -> None:
    name, parameters = type(one).__name__ if isinstance(one, torch.nn.Module) else getattr(one, "__name__", "a function"), _parameters(one)
    known = {"nodes", "edge_weight", "edge_attr"} if inspect.isroutine(one) else {"edge_weight", "edge_attr"} if weighted else set()
    required = [of for of, p in parameters.items() if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    of_pyg = str(getattr(getattr(type(one), "forward", None), "__module__", "")).startswith("torch_geometric.")  # whose attributes mean what they say
    of_types = of_pyg and "edge_type" in parameters and not (name == "FiLMConv" and one.num_relations == 1)
    if len([of for of in required if of not in known]) > 2 or of_types:
        wants = [of for of in required if of not in ("x", "edge_index")] or ["edge_type"]
        raise UsageError(f"model: {name} takes {' and '.join(wants)} besides x and edge_index, " + (
            "and this graph has no weights; give one with" if wants == ["edge_weight"] else "which infer does not have; give layers without"))
    width = _edge_width(one) if of_pyg else 0
    if width not in (0, 1) or (width == 1 and not weighted):
        raise UsageError(f"model: {name} takes edge_attr of {width} {'column' if width == 1 else 'columns'}, and infer has the weights of edges alone, as one: "
                         + ("this graph has none; give one with weights" if width == 1 else "give layers without edge_attr, or of edge_dim=1"))


def _edge_width(conv: Any) -> int:
    """Columns of edge_attr in a layer that was made for them."""
    if not isinstance(conv, torch.nn.Module) or "edge_attr" not in _parameters(conv):
        return 0
    name = type(conv).__name__
    for of in ("edge_dim", "in_edge_channels", *(("dim",) if name in ("CGConv", "GMMConv", "SplineConv") else ())):
        if isinstance(width := getattr(conv, of, None), int):
            return width
    inner = {"GINEConv": getattr(conv, "lin", None) or getattr(conv, "nn", None), "NNConv": getattr(conv, "nn", None),
             "GENConv": getattr(conv, "lin_edge", None)}.get(name)
    found = (getattr(part, of, None) for part in (inner.modules() if isinstance(inner, torch.nn.Module) else ()) for of in ("in_features", "in_channels"))
    return next((width for width in found if isinstance(width, int)), 0)


def _uncompiled(model: Any) -> Any:
    """Without torch.compile, whose graphs know nothing of what is put in the place of a layer's parts here."""
    model = original(model)
    return [original(one) for one in model] if isinstance(model, (list, tuple, torch.nn.ModuleList, torch.nn.Sequential)) else model


def _kind_of(module: Any) -> torch.dtype | None:
    """The dtype of a module's parameters; None: it has none of real numbers."""
    found = [p.dtype for p in module.parameters() if p.is_floating_point()] if isinstance(module, torch.nn.Module) else []
    return torch.bfloat16 if torch.bfloat16 in found else found[0] if found else None


def _as_of(module: Any, x: Any) -> Any:
    """Features in the dtype of the first module that computes with them."""
    kind = _kind_of(module)
    return x if kind is None or not x.is_floating_point() else x.to(kind)


def _inside(function: Any) -> list[Any]:
    """What a function of Python refers to."""
    if not inspect.isfunction(function):
        return []
    found = inspect.getclosurevars(function)
    return [*found.nonlocals.values(), *found.globals.values(), *(function.__defaults__ or ())]


def _reads_edges(one: Any) -> bool:
    return sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in _parameters(one).values()) > 1


def _parameters(one: Any) -> Any:
    try:
        return inspect.signature(one.forward if isinstance(one, torch.nn.Module) else one).parameters
    except (TypeError, ValueError):  # a function of torch
        return {}


def _in_order(group: list[Any], given: list[_Weights], first: Any) -> Callable[[Any, Any, int], Any]:
    """given: once it is there, what edges weigh. first: what gets features in its dtype; functions before it get them as they are."""
    functions = {k: inspect.signature(one).parameters for k, one in enumerate(group) if inspect.isroutine(one) and _reads_edges(one)}

    def layer(x: Any, edge_index: Any, nodes: int) -> Any:
        for k, one in enumerate(group):
            more = {name: nodes if name == "nodes" else given[0].of(edge_index, name == "edge_attr") for name in functions.get(k, ())
                    if name in ("nodes", "edge_weight", "edge_attr")}
            x = _as_of(one, x) if one is first else x
            x = one(x, edge_index, **more) if _reads_edges(one) else one(x)
            if not isinstance(x, torch.Tensor) or x.ndim < 1 or len(x) < nodes:
                raise UsageError(f"model: {type(one).__name__} returned {_checks.told(x)} for {nodes} nodes; a tensor with a row for each is wanted")
        return x[:nodes]
    setattr(layer, "pairs", any("nodes" in takes for takes in functions.values()))  # which may have no rows for the neighbors
    return layer


@contextlib.contextmanager
def _evaluating(modules: list[torch.nn.Module]) -> Iterator[None]:
    parts = [part for module in modules for part in module.modules()]
    trained = [part for part in parts if part.training]
    compiled = [(part, part._compiled_call_impl) for part in parts if getattr(part, "_compiled_call_impl", None) is not None]  # in place
    wrapped = [(part, part.forward) for part in parts if original(part) is not part]
    try:
        for part, _ in compiled:
            part._compiled_call_impl = None
        for part, _ in wrapped:
            part.forward = original(part).__call__
        for module in modules:
            module.eval()
        yield
    finally:
        for part in trained:
            part.training = True
        for part, call in compiled:
            part._compiled_call_impl = call
        for part, forward in wrapped:
            part.forward = forward


class _Weights:
    """What edges weigh in the layers. GCNConv weighs an edge by the degrees of both ends in the whole graph besides; a mini-batch has all edges of its nodes,
    not those of their neighbors."""

    def __init__(self, ends: contextlib.ExitStack, modules: list[torch.nn.Module], readers: list[Any], batches: Callable[..., Iterator[Any]], graph: Graph,
                 whole: WholeRows) -> None:
        self.batch: Any = None
        self.batches, self.graph, self.whole, there = batches, graph, whole, graph.info.weights != "none"
        self.values: torch.Tensor | None = None  # of all edges in the order of csr(side); made at their first use
        self.counts: dict[bool, torch.Tensor] = {}  # by target: the weight of plain edges, of loops, and of the loop that stays (-1: without)
        for conv in readers if there else ():
            if not isinstance(conv, torch.nn.Module):
                continue
            name = "edge_weight" if "edge_weight" in _parameters(conv) else "edge_attr" if _edge_width(conv) == 1 else ""
            if name:
                ends.callback(conv.register_forward_pre_hook(lambda _, args, kwargs, name=name: self._give(name, args, kwargs), with_kwargs=True).remove)
        for conv in (part for one in modules for part in one.modules()):
            if not any(base.__name__ == "GCNConv" for base in type(conv).__mro__) or not conv.normalize:
                continue
            weighted = there and any(conv is one for one in readers)
            whole.scales[conv] = self._scales(conv, self._counted(weighted), weighted)
            ends.callback(conv.register_forward_pre_hook(self._weigh, with_kwargs=True).remove)
            ends.callback(setattr, conv, "normalize", True)
            setattr(conv, "normalize", False)

    def of(self, edge_index: torch.Tensor, columns: bool = False) -> torch.Tensor:
        """What the edges of this mini-batch weigh, and 1 for those behind them."""
        found = torch.ones(edge_index.shape[1], device=edge_index.device)
        if self.graph.info.weights != "none":
            if self.values is None:
                self.values = host_tensor(self.graph.csr(self.whole.side)[2]).float()
            ids = self.batch.e_id
            found[:len(ids)] = self.values[ids.cpu()].to(found.device)
        return found[:, None] if columns else found

    def _give(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        if self.batch is None or len(args) > 2 or name in kwargs:
            return None
        weights = self.of(args[1], name == "edge_attr")
        return args, {**kwargs, name: weights.to(args[0].dtype)}

    def _counted(self, weighted: bool) -> torch.Tensor:
        if weighted not in self.counts:
            found = self.whole.counts(weighted)
            if found is None:
                found, first, before = torch.zeros(3, self.graph.info.num_nodes), 0, self.batch
                for self.batch in self.batches(None):
                    found[:, first:first + self.batch.batch_size] = self._of_batch(weighted)
                    first += self.batch.batch_size
                self.batch = before
            self.counts[weighted] = found
        return self.counts[weighted]

    def _of_batch(self, weighted: bool) -> torch.Tensor:
        source, target = self.batch.edge_index
        weights = self.of(self.batch.edge_index) if weighted else torch.ones(len(source), device=source.device)
        found = torch.zeros(3, self.batch.batch_size, device=source.device)
        for row, of in enumerate((source != target, source == target)):
            found[row].index_add_(0, target[of], weights[of])
        found[2] = -1
        found[2][target[of]] = weights[of]
        return found.cpu()

    @staticmethod
    def _scales(conv: Any, counts: torch.Tensor, weighted: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """By what each node's edges are multiplied, at both ends, and its loop's weight besides."""
        others, loops, kept = counts
        if conv.add_self_loops:  # one of each node; a loop that is there keeps its weight
            loops = torch.where(kept >= 0, kept, (2.0 if conv.improved else 1.0) if weighted else _loop_weight(conv.improved))
        degrees = others + loops
        return degrees.pow(-0.5).masked_fill(degrees == 0, 0.0), loops

    def _weigh(self, conv: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        if self.batch is None:
            return None
        x, edge_index = args[0], args[1] if len(args) > 1 else kwargs["edge_index"]
        given = args[2] if len(args) > 2 else kwargs.get("edge_weight")
        counts = self._counted(given is not None)
        counts = counts[:, self.batch.n_id.to(counts.device)]
        scale, loops = (part.to(x.device, x.dtype) for part in self._scales(conv, counts, given is not None))
        source, target = edge_index
        if conv.add_self_loops:
            plain = source != target
            itself = torch.arange(len(x), device=x.device)
            given = None if given is None else torch.cat([given[plain].to(x.dtype), loops.new_ones(len(x))])
            source, target = torch.cat([source[plain], itself]), torch.cat([target[plain], itself])
        weights = scale[source] * scale[target]
        weights = weights if given is None else weights * given.to(x.dtype)
        if conv.add_self_loops:
            weights[-len(x):] *= loops
        return (x, torch.stack([source, target])), {"edge_weight": weights}


def _loop_weight(improved: bool) -> float:
    """The weight of the loop that GCNConv adds: 2 if improved, but 1 in versions of PyG that lose it where edges have no weights."""
    norm: Any = importlib.import_module("torch_geometric.nn.conv.gcn_conv").gcn_norm
    return 1.0 if float(norm(torch.tensor([[0], [1]]), None, 2, improved)[1][0]) > 0.5 else 2.0  # 1 / sqrt(w (w + 1)) of the edge


def _free_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
