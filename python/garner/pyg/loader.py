"""PyG's NeighborLoader and LinkNeighborLoader over Garner's sampler and tables."""
from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
import torch.utils.data
from torch.utils.data.distributed import DistributedSampler
import torch_geometric.loader  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.data import Data, HeteroData  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.loader.utils import filter_data, filter_hetero_data  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.sampler import HeteroSamplerOutput, SamplerOutput  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .. import _checks, tables
from .._garner import Loader, info
from ..batches import ahead_options, drawn_seed, loadable, mixed, most_seeds, own_rows, window_alone
from ..errors import InputError, UsageError
from ..split import Draws, most_together, windows_ahead
from ..torch import unified
from . import remote
from .sampler import NeighborSampler, beginning
from .source import _edges_in, edge_attr_of, edge_names, edges_of, node_names, times_of
from .stores import FeatureStore


class _Positions(list[int]):
    """Of a mini-batch among the input, and the number that its draws begin with."""

    draw: int


class _Input(torch.utils.data.Dataset[Any]):
    """What torch's loader takes for a dataset: positions, which it hands on as they are."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, k: Any) -> Any:
        return k

    def __getitems__(self, positions: Any) -> Any:
        return positions


class _Numbered:
    """A sampler of mini-batches that numbers them. `epoch`: the seed of the one that begins now."""

    def __init__(self, batches: Any, epoch: list[int]) -> None:
        self.batches, self.epoch = batches, epoch

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[_Positions]:
        return self._numbered(self.epoch[0])

    def _numbered(self, seed: int) -> Iterator[_Positions]:
        for number, positions in enumerate(self.batches):
            numbered = _Positions(positions if hasattr(positions, "__iter__") else [positions])
            numbered.draw = mixed(seed, 0) + number
            yield numbered


class _Loader(torch.utils.data.DataLoader):  # type: ignore[type-arg]
    """What stands behind PyG's loaders: torch's, with numbered mini-batches."""

    data: Any
    custom_cls: Any
    _epoch: list[int]

    def __init__(self, dataset: Any, *given: Any, **kwargs: Any) -> None:
        if self.custom_cls is not None and isinstance(self.data, (Data, HeteroData)):
            raise UsageError("custom_cls: is made for (FeatureStore, GraphStore); Data and HeteroData give mini-batches of their own class")
        self._epoch = [0]
        super().__init__(_Input(len(dataset)), *given, **kwargs)

    @property
    def _index_sampler(self) -> Any:
        return _Numbered(super()._index_sampler, self._epoch)

    def __iter__(self) -> Any:
        self._epoch[0] = drawn_seed(self.generator)
        return super().__iter__()


class _Joins:
    """What stands before them: mini-batches are sampled, and joined with their rows."""

    data: Any
    custom_cls: Any
    filter_per_worker: bool
    input_data: Any
    num_workers: int
    _remote: remote.Remote
    _window: int = 8  # mini-batches that ask for them together
    _input: str = "input nodes"
    transform: Callable[[Any], Any] | None
    transform_sampler_output: Callable[[Any], Any] | None

    def __call__(self, index: Any) -> Any:
        out = self.collate_fn(index)
        return out if self.filter_per_worker else self.filter_fn(out)

    def _sampler(self) -> Any:
        raise NotImplementedError

    def _sampled(self, inputs: Any, **draw: Any) -> Any:
        raise NotImplementedError

    def _label(self, data: Any, out: Any) -> None:
        raise NotImplementedError

    def collate_fn(self, index: Any) -> Any:
        inputs = self.input_data[torch.as_tensor(index, dtype=torch.int64).reshape(-1)]
        known = {"draw": getattr(index, "draw", None)} if isinstance(self._sampler(), NeighborSampler) else {}
        out = self._sampled(inputs, **known)
        return self.filter_fn(out) if self.filter_per_worker else out

    def filter_fn(self, out: Any, brought: dict[str, Any] | None = None) -> Any:
        """What was sampled, joined with its rows: Data or HeteroData. `brought`: rows of the nodes that are there, by name; None: none."""
        if self.transform_sampler_output:
            out = self.transform_sampler_output(out)
        if isinstance(out, SamplerOutput):
            data = self._homogeneous(out, brought or {})
        elif isinstance(out, HeteroSamplerOutput):
            data = self._heterogeneous(out)
        else:
            raise TypeError(f"'{type(self).__name__}' was given a '{type(out).__name__}' by its sampler; it takes a SamplerOutput or a "
                            "HeteroSamplerOutput")
        self._label(data, out)
        return data if self.transform is None or self._remote.tables else self.transform(data)

    def _brought(self, batches: Iterator[Any], count: int) -> Iterator[Any]:
        """So many of them, which get the rows that other ranks have."""
        if not self._remote.tables:
            return batches
        with_rows = remote.with_rows(self._remote, batches, count, self._window, self._input)
        return with_rows if self.transform is None else map(self.transform, with_rows)

    def _refuse_workers(self, sampler: Any, kwargs: dict[str, Any]) -> None:
        if kwargs.get("num_workers", 0) and (self._remote.tables or (isinstance(sampler, NeighborSampler) and sampler.is_remote)):
            raise UsageError("num_workers: rows and lists of other ranks come to this process, ahead of who learns from them; leave workers out")

    def _draws(self, count: int) -> Draws | None:
        """Of a graph that is split over ranks. All of them make it here, and hear whether they have as many mini-batches."""
        sampler = self._sampler()
        engine = sampler._engine()[0] if type(sampler) is NeighborSampler and sampler.is_remote else None
        if not isinstance(engine, remote.RemoteSampler):
            return None
        if not 1 <= self._window <= most_together:
            raise UsageError(f"loading: a window of {self._window} mini-batches; say 1 to {most_together}")
        remote.as_many(engine.draws.graph.group, count, self._window, self._input)
        return engine.draws

    def _edges(self, edge: Any, edge_type: Any = None) -> Any:
        """The user's edges of the sampler's."""
        if edge is None:
            return None
        perm = self._sampler().edge_permutation
        if isinstance(perm, dict):
            perm = perm.get(edge_type)
        edge = edge.to(torch.int64)
        if perm is None:
            return edge
        if perm.device != edge.device:  # brought there once; where it would take much of the memory, read from where it lies
            there = self.__dict__.setdefault("_perms", {})
            if edge_type not in there:
                large = perm.nbytes > torch.cuda.mem_get_info(edge.device)[0] // 8
                there[edge_type] = unified(perm, edge.device.index) if large else perm.to(edge.device)
            perm = there[edge_type]
        return perm[edge]

    def _homogeneous(self, out: Any, brought: dict[str, Any]) -> Any:
        edges = self._edges(out.edge)
        if isinstance(self.data, Data):
            data = filter_data(_without(self.data, brought) if brought else self.data, out.node, out.row, out.col, edges)
            for name, rows in brought.items():
                data[name] = rows
        else:
            data = Data() if self.custom_cls is None else self.custom_cls()
            data.edge_index = torch.stack([out.row, out.col])
            data.num_nodes = out.node.numel()
            for (_, _, name), rows in self._rows({None: out.node}, {None: edges}):
                data[name] = rows
        if "n_id" not in data:
            data.n_id = out.node
        if edges is not None and "e_id" not in data:
            data.e_id = edges
        data.batch = out.batch
        data.num_sampled_nodes = out.num_sampled_nodes
        data.num_sampled_edges = out.num_sampled_edges
        if out.orig_row is not None and out.orig_col is not None:
            data._orig_edge_index = torch.stack([out.orig_row, out.orig_col])
        return data

    def _heterogeneous(self, out: Any) -> Any:
        edges = {key: self._edges(edge, key) for key, edge in (out.edge or {}).items()}
        if isinstance(self.data, HeteroData):
            data = filter_hetero_data(self.data, dict(out.node), dict(out.row), dict(out.col), dict(edges))
        else:
            data = HeteroData() if self.custom_cls is None else self.custom_cls()
            for key, node in out.node.items():
                data[key].num_nodes = node.numel()
            for key, row in out.row.items():
                data[key].edge_index = torch.stack([row, out.col[key]])
            for (_, group, name), rows in self._rows(out.node, edges):
                data[group][name] = rows
        for key, node in out.node.items():
            if "n_id" not in data[key]:
                data[key].n_id = node
        for key, edge in edges.items():
            if edge is not None and "e_id" not in data[key]:
                data[key].e_id = edge
        data.set_value_dict("batch", out.batch)
        data.set_value_dict("num_sampled_nodes", out.num_sampled_nodes)
        data.set_value_dict("num_sampled_edges", out.num_sampled_edges)
        if out.orig_row is not None and out.orig_col is not None:
            for key, row in out.orig_row.items():
                data[key]._orig_edge_index = torch.stack([row, out.orig_col[key]])
        return data

    def _rows(self, node: dict[Any, Any], edges: dict[Any, Any]) -> list[tuple[tuple[bool, Any, str], Any]]:
        """Of a feature store: the rows of all attributes, those of edges by edges. One call for all of them."""
        features, store = self.data
        hetero = list(node) != [None]
        sizes = (None, None) if hetero else self._sizes()
        wanted, attrs = [], []
        for attr in features.get_all_tensor_attrs():
            of_edges, group = edge_attr_of(features, attr, hetero, *sizes)
            if (group, attr.attr_name) in self._remote.tables:
                continue
            index = (edges if of_edges else node).get(group)
            if index is None:
                continue
            attr.index = index if isinstance(features, FeatureStore) else index.cpu()
            wanted.append((of_edges, group, attr.attr_name))
            attrs.append(attr)
        return list(zip(wanted, features.multi_get_tensor(attrs)))

    def _sizes(self) -> tuple[int, int]:
        """Nodes and edges of a graph of one type in stores."""
        found: tuple[int, int] | None = self.__dict__.get("_counted")
        if found is None:
            sampler = self._sampler()
            if isinstance(sampler, NeighborSampler):
                found = sampler.num_nodes, edges_of(sampler._source.lists[None].graph)
            else:
                row, _, _ = self.data[1].coo()
                found = sampler.num_nodes, row.numel()
            self.__dict__["_counted"] = found
        return found


def _without(data: Any, names: Iterable[str]) -> Any:
    """A copy whose rows of these names are of no bytes."""
    copied = copy.copy(data)
    for name in names:
        copied[name] = torch.empty((data[name].shape[0], 0))
    return copied


# Whose order is a function of their generator alone, so that all of it can be asked for when an epoch begins.
_orders = (torch.utils.data.SequentialSampler, torch.utils.data.RandomSampler, torch.utils.data.SubsetRandomSampler,
           torch.utils.data.WeightedRandomSampler, DistributedSampler)


class _Epoch:
    """An iterator over an epoch that knows how long it is."""

    def __init__(self, batches: Iterator[Any], length: int) -> None:
        self._batches, self._length = batches, length

    def __iter__(self) -> _Epoch:
        return self

    def __next__(self) -> Any:
        return next(self._batches)

    def __len__(self) -> int:
        return self._length


def _place_of(data: Any, place: Any, kwargs: dict[str, Any]) -> Any:
    """The device on which the data or tables of theirs lie, for a loader without workers; else the host."""
    if place is not None or kwargs.get("num_workers", 0) or not info()["devices"]:
        return place
    if isinstance(data, (Data, HeteroData)):
        stores = data.stores
        for value in (value for store in stores for value in store.values()):
            if isinstance(value, (torch.Tensor, tables.Tiered)) and str(value.device).startswith("cuda"):
                return str(value.device)
    return None


def _nodes_of(data: Any, sampler: Any) -> Any:
    """How many nodes there are, by type where there are several; None: nobody knows before they are sampled."""
    if isinstance(sampler, NeighborSampler):
        return sampler.num_nodes
    if isinstance(data, HeteroData):
        nodes = {t: data[t].num_nodes for t in data.node_types}
        return None if None in nodes.values() else nodes
    return data.num_nodes if isinstance(data, Data) else None


def _require_rows(data: Any, nodes: Any) -> None:
    """That what PyG takes for features of nodes and of edges by their names has a row for each; what has not it would hand over whole."""
    stores = [data._store] if isinstance(data, Data) else [*data.node_stores, *data.edge_stores] if isinstance(data, HeteroData) else []
    for store in stores if nodes is not None else []:
        kind = store._key
        count = {} if isinstance(kind, tuple) else {"nodes": nodes if kind is None else nodes.get(kind)}
        count.update({} if isinstance(kind, str) else {"edges": store.num_edges})
        wanted = {**dict.fromkeys(node_names, ["nodes"]), **dict.fromkeys(edge_names, ["edges"]),
                  **dict.fromkeys(("y", "train_mask", "val_mask", "test_mask"), list(count))}
        for name, value in store.items():
            known = [count[of] for of in wanted.get(name, []) if count.get(of) is not None]
            if not known or not isinstance(value, (torch.Tensor, np.ndarray)) or not value.ndim or value.shape[0] in known:
                continue
            if name != "y" or value.shape[0] != 1:  # which is of the graph
                raise InputError(f"{name}{'' if kind is None else f' of {kind!r}'}: {value.shape[0]} rows for "
                                 f"{' and '.join(f'{n} {of}' for of, n in count.items())}; give each one a row, or name it otherwise")


def _input_nodes(given: Any, nodes: Any) -> Any:
    """As PyG's loader takes them: numbers, or a bool a node; with their type where there are several."""
    if not isinstance(nodes, dict):
        if isinstance(given, (tuple, list)) and len(given) == 2 and given[0] is None:
            given = given[1]
        if given is None:
            return torch.arange(nodes)
        mask, found = _checks.masked(given, "input_nodes", nodes, "nodes")
        _checks.within(found, nodes, "input_nodes:", "nodes")
        return _checks.tensor(_checks.host(given, "input_nodes") if mask else found, "input_nodes")
    kind, which = (given, None) if isinstance(given, str) else given if isinstance(given, (tuple, list)) and len(given) == 2 else (None, None)
    if not isinstance(kind, str):
        raise UsageError(f"input_nodes is {_checks.told(given)}; there are several types of nodes, so give one of them, as 'paper' or ('paper', mask)")
    if kind not in nodes:
        raise UsageError(f"input_nodes: there are no nodes of type '{kind}'")
    return kind, _input_nodes(which, nodes[kind])


def _input_edges(data: Any, given: Any, nodes: Any) -> Any:
    """(type, pairs), as PyG's loader takes them of data of any kind; the type is None where there is one."""
    kind: Any = None
    if isinstance(nodes, dict):
        kind, given = (given, None) if isinstance(given, (tuple, list)) and given and isinstance(given[0], str) else \
            given if isinstance(given, (tuple, list)) and len(given) == 2 else (None, given)
        if not isinstance(kind, (tuple, list)) or len(kind) not in (2, 3) or not all(isinstance(part, str) for part in kind):
            raise UsageError(f"edge_label_index is {_checks.told(given)}; there are several types of edges, so give one of them, as ('user', 'rates', "
                             "'item') or (('user', 'rates', 'item'), pairs)")
        kind = data._to_canonical(*kind) if isinstance(data, HeteroData) else tuple(kind)
        for end in (kind[0], kind[-1]):
            if end not in nodes:
                raise UsageError(f"edge_label_index: there are no nodes of type '{end}'")
    elif isinstance(given, (tuple, list)) and len(given) == 2 and given[0] is None:
        given = given[1]
    if given is None:
        stores = not isinstance(data, (Data, HeteroData))
        if kind is not None and kind not in ([tuple(a.edge_type) for a in data[1].get_all_edge_attrs()] if stores else data.edge_types):
            raise UsageError(f"edge_label_index: there are no edges of type {kind}; give pairs too")
        if stores:
            rows, cols, _ = data[1].coo(None if kind is None else [kind])
            given = (rows, cols) if kind is None else (rows[kind], cols[kind])
        else:
            given = _edges_in(data if kind is None else data[kind], kind)
    found = torch.stack([_checks.tensor(_checks.int64(end, "edge_label_index"), "edge_label_index") for end in _checks.pairs(given, "edge_label_index")])
    for row, end in ((0, 0), (1, -1)):
        _checks.within(found[row], nodes if kind is None else nodes[kind[end]], f"edge_label_index[{row}]:", "nodes of its type")
    return kind, found


def _times(given: Any, name: str, count: int, of: str) -> Any:
    """As they were given, for a mini-batch tells them so."""
    times_of(given, name, count, of)
    return _checks.tensor(given, name)


def _each(given: Any, name: str, count: int, of: str) -> torch.Tensor:
    found: torch.Tensor = _checks.tensor(given, name)
    if not found.dim() or found.size(0) != count:
        raise UsageError(f"{name}: {found.size(0) if found.dim() else 'a number'} for {count} {of}; give each one")
    return found


class NeighborLoader(_Joins, torch_geometric.loader.NeighborLoader, _Loader):  # type: ignore[misc]
    """torch_geometric.loader.NeighborLoader over Garner: the same arguments, the same mini-batches.

    A homogeneous graph is sampled ahead and its rows are gathered by garner.Loader, without workers and where nothing of the user's own comes
    between; `report` then tells of the last epoch what garner.Loader.report tells.
    loading: options of that garner.Loader: ahead, window, way, window_bytes, cache, reads, merge_reads, multiprocessors, keep_times.
    place, device_budget, scores: as of garner.pyg.NeighborSampler; place None: where the data or a table of theirs lie on a device, and there are no
    workers, that device; else the host.
    Rows may be those of garner.torch.remote_rows, and a graph in a GraphStore that of garner.torch.remote_graph: they come by windows of mini-batches
    (loading's window, 8) while others are learned from. Then all ranks have as many mini-batches, and stop behind the same one.
    What a mini-batch draws is a function of its epoch's seed, drawn from torch's generator (generator=) when the iterator is made, and of its
    number: torch.manual_seed repeats an epoch, for any num_workers.
    Errors: UsageError where options contradict each other, IdError for a node that does not exist.
    """

    report: dict[str, Any] | None = None

    def __init__(self, data: Any, num_neighbors: Any, input_nodes: Any = None, input_time: Any = None, replace: bool = False,
                 subgraph_type: Any = "directional", disjoint: bool = False, temporal_strategy: str = "uniform", time_attr: str | None = None,
                 weight_attr: Any = None, transform: Callable[[Any], Any] | None = None,
                 transform_sampler_output: Callable[[Any], Any] | None = None, is_sorted: bool = False, filter_per_worker: bool | None = None,
                 neighbor_sampler: Any = None, directed: bool = True, *, place: Any = None, device_budget: int | str | None = None,
                 scores: Any = None, loading: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        self._loading = ahead_options(loading)
        self._window = self._loading.get("window") or 8
        data, self._remote = remote.remote_of(data)
        if neighbor_sampler is None:
            neighbor_sampler = NeighborSampler(
                data, num_neighbors, subgraph_type, replace, disjoint, temporal_strategy, time_attr, weight_attr, is_sorted,
                kwargs.get("num_workers", 0) > 0, directed, place=_place_of(data, place, kwargs), device_budget=device_budget, scores=scores)
        self._refuse_workers(neighbor_sampler, kwargs)
        if isinstance(neighbor_sampler, NeighborSampler) and neighbor_sampler.is_remote:
            window_alone(self._loading)
        nodes = _nodes_of(data, neighbor_sampler)
        _require_rows(data, nodes)
        if nodes is not None:
            input_nodes = _input_nodes(input_nodes, nodes)
            chosen = input_nodes[1] if isinstance(input_nodes, tuple) else input_nodes
            count = int(chosen.sum()) if chosen.dtype == torch.bool else chosen.numel()
            if input_time is not None:
                input_time = _times(input_time, "input_time", count, "input nodes")
            if kwargs.get("input_id") is not None:
                kwargs["input_id"] = _each(_checks.int64(kwargs["input_id"], "input_id"), "input_id", count, "input nodes")
        super().__init__(data, num_neighbors, input_nodes, input_time, replace, subgraph_type, disjoint, temporal_strategy, time_attr, weight_attr,
                         transform, transform_sampler_output, is_sorted, filter_per_worker, neighbor_sampler, directed, **kwargs)

    def __iter__(self) -> Any:
        before = super().__iter__()  # draws of torch's generator what each loader of torch does
        if (draws := self._draws(len(self))) is not None:
            if self._is_plain():
                before = self._over_ranks(draws, self._epoch[0])
        elif self._can_load_ahead():
            before = self._ahead(self._epoch[0])
        elif not self._remote.tables:
            return before
        return _Epoch(self._brought(before, len(self)), len(self))

    def _is_plain(self) -> bool:
        """Whether nothing of the user's own comes between drawing and handing over, so that all of an epoch may be drawn ahead."""
        sampler, batches = self.node_sampler, self.batch_sampler
        return bool(self.input_data.node.numel()) and not (
            self.num_workers or self.pin_memory or self.transform_sampler_output is not None or torch.utils.data.get_worker_info() is not None
            or type(sampler) is not NeighborSampler or type(batches) is not torch.utils.data.BatchSampler
            or type(batches.sampler) not in _orders or not 0 < batches.batch_size <= most_seeds
            or any(getattr(type(self), name) is not getattr(NeighborLoader, name)
                   for name in ("collate_fn", "filter_fn", "__call__", "_sampled", "_index_sampler")))

    def _can_load_ahead(self) -> bool:
        """Whether garner.Loader can sample, gather and hand over what this loader yields."""
        sampler = self.node_sampler
        if not isinstance(self.data, Data) or not self._is_plain():
            return False
        timed = self.input_data.time is not None
        if timed != sampler.is_temporal and (timed or sampler.node_time is None):
            return False  # said where it is sampled
        return sampler._engine()[0] is not None

    def _over_ranks(self, draws: Draws, seed: int) -> Iterator[Any]:
        """Windows of them are drawn by all ranks together, ahead."""
        batches: Any = self.batch_sampler
        positions = iter(batches.sampler)
        count = len(batches) * batches.batch_size if batches.drop_last else len(batches.sampler)
        order = torch.from_numpy(np.fromiter(itertools.islice(positions, count), np.int64))
        for blocks, index in windows_ahead(draws.windows(self.input_data.node, order, batches.batch_size, self._window, mixed(seed, 0))):
            inputs = self.input_data[index]
            out = self.node_sampler._output(blocks, [None], {})
            out.metadata = (inputs.input_id, inputs.time)
            yield self.filter_fn(self.node_sampler._finished(out))
        for _ in positions:  # to its end, for what it draws there
            pass

    def _ahead(self, seed: int) -> Iterator[Any]:
        batches: Any = self.batch_sampler
        times = self.input_data.time
        positions = iter(batches.sampler)
        count = len(batches) * batches.batch_size if batches.drop_last else len(batches.sampler)
        order = torch.from_numpy(np.fromiter(itertools.islice(positions, count), np.int64))
        with beginning:
            kept = self._made_ahead(batches.batch_size)
            _, loader, _, drawn, names = kept
            loader.begin(0, self.input_data.node[order].numpy(), mixed(seed, 0), None if times is None else times_of(times[order], "input_time").numpy())
        try:
            while (batch := loader.next()) is not None:
                at = batch.index * batches.batch_size
                inputs = self.input_data[order[at:at + batches.batch_size]]
                out = self.node_sampler._output(batch, drawn, {})
                out.node = out.node.clone()  # who keeps these shall not keep the buffers of the rows
                out.metadata = (inputs.input_id, inputs.time)
                brought = {name: own_rows(batch, k) for k, name in enumerate(names)}
                del batch
                yield self.filter_fn(self.node_sampler._finished(out), brought)
            for _ in positions:  # to its end, for what it draws there
                pass
        finally:
            loader.stop()
            self.report = loader.report()
            self.__dict__["_kept_ahead"] = kept

    def _made_ahead(self, batch_size: int) -> Any:
        """What it was made for, a garner.Loader, its sampler, the relations that this draws from, names of the rows that come: those of the epoch
        before, or others where somebody iterates over these or the data are no longer the same."""
        sampler, drawn = self.node_sampler._engine()
        rows = [value for value in self.data._store.values() if isinstance(value, (torch.Tensor, np.ndarray))]
        key = [self.node_sampler._made[0], batch_size, len(rows)]
        kept = self.__dict__.pop("_kept_ahead", None)
        if kept is not None and kept[0][:3] == key and not kept[2].lent and all(a is b for a, b in zip(kept[0][3:], rows)):
            return kept
        del kept
        found: dict[str, Any] = {}
        store = self.data._store
        for name, value in store.items():
            if name != "num_nodes" and isinstance(value, (torch.Tensor, np.ndarray)) and store.is_node_attr(name) \
                    and self.data.__cat_dim__(name, value, store) == 0 and (table := loadable(value, sampler.place)) is not None:
                found[name] = table
        loader = Loader(sampler, torch.unique(self.input_data.node).numpy(), list(found.values()), batch=batch_size, shuffle=False, rank=0, ranks=1,
                        **self._loading)
        return key + rows, loader, sampler, drawn, list(found)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_kept_ahead"}

    def _sampler(self) -> Any:
        return self.node_sampler

    def _sampled(self, inputs: Any, **draw: Any) -> Any:
        return self.node_sampler.sample_from_nodes(inputs, **draw)

    def _label(self, data: Any, out: Any) -> None:
        store = data if isinstance(out, SamplerOutput) else data[self.input_data.input_type]
        store.input_id = out.metadata[0]
        store.seed_time = out.metadata[1]
        store.batch_size = out.metadata[0].size(0)


class LinkNeighborLoader(_Joins, torch_geometric.loader.LinkNeighborLoader, _Loader):  # type: ignore[misc]
    """torch_geometric.loader.LinkNeighborLoader over Garner: the same arguments, the same mini-batches. Else as NeighborLoader."""

    _input = "edges to learn from"

    def __init__(self, data: Any, num_neighbors: Any, edge_label_index: Any = None, edge_label: Any = None, edge_label_time: Any = None,
                 replace: bool = False, subgraph_type: Any = "directional", disjoint: bool = False, temporal_strategy: str = "uniform",
                 neg_sampling: Any = None, neg_sampling_ratio: float | None = None, time_attr: str | None = None, weight_attr: Any = None,
                 transform: Callable[[Any], Any] | None = None, transform_sampler_output: Callable[[Any], Any] | None = None,
                 is_sorted: bool = False, filter_per_worker: bool | None = None, neighbor_sampler: Any = None, directed: bool = True, *,
                 place: Any = None, device_budget: int | str | None = None, scores: Any = None, **kwargs: Any) -> None:
        data, self._remote = remote.remote_of(data)
        if neighbor_sampler is None:
            neighbor_sampler = NeighborSampler(
                data, num_neighbors, subgraph_type, replace, disjoint, temporal_strategy, time_attr, weight_attr, is_sorted,
                kwargs.get("num_workers", 0) > 0, directed, place=_place_of(data, place, kwargs), device_budget=device_budget, scores=scores)
        self._refuse_workers(neighbor_sampler, kwargs)
        nodes = _nodes_of(data, neighbor_sampler)
        _require_rows(data, nodes)
        if nodes is not None:
            kind, pairs = _input_edges(data, edge_label_index, nodes)
            edge_label_index = pairs if isinstance(data, Data) else (kind, pairs)
            count = pairs.size(1)
            if edge_label is not None:
                edge_label = _each(edge_label, "edge_label", count, "edges of edge_label_index")
            if edge_label_time is not None:
                edge_label_time = _times(edge_label_time, "edge_label_time", count, "edges of edge_label_index")
            if kwargs.get("input_id") is not None:
                kwargs["input_id"] = _each(_checks.int64(kwargs["input_id"], "input_id"), "input_id", count, "edges of edge_label_index")
        super().__init__(data, num_neighbors, edge_label_index, edge_label, edge_label_time, replace, subgraph_type, disjoint, temporal_strategy,
                         neg_sampling, neg_sampling_ratio, time_attr, weight_attr, transform, transform_sampler_output, is_sorted,
                         filter_per_worker, neighbor_sampler, directed, **kwargs)

    def __iter__(self) -> Any:
        before = super().__iter__()
        self._draws(len(self))
        return _Epoch(self._brought(before, len(self)), len(self)) if self._remote.tables else before

    def _sampler(self) -> Any:
        return self.link_sampler

    def _sampled(self, inputs: Any, **draw: Any) -> Any:
        return self.link_sampler.sample_from_edges(inputs, neg_sampling=self.neg_sampling, **draw)

    def _label(self, data: Any, out: Any) -> None:
        kind = self.input_data.input_type
        hetero = isinstance(out, HeteroSamplerOutput)
        store, source, target = (data[kind], data[kind[0]], data[kind[-1]]) if hetero else (data, data, data)
        store.input_id = out.metadata[0]
        if self.neg_sampling is None or self.neg_sampling.is_binary():
            store.edge_label_index, store.edge_label, store.edge_label_time = out.metadata[1:4]
            return
        source.src_index = out.metadata[1]
        target.dst_pos_index, target.dst_neg_index = out.metadata[2:4]
        source.seed_time = target.seed_time = out.metadata[4]
        # Of the data's own, which are of other edges.
        if not hetero or kind in data.edge_types:
            del store.edge_label_index
            del store.edge_label_time
