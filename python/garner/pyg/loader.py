"""PyG's NeighborLoader and LinkNeighborLoader over Garner's sampler, tables and pipeline.

What the user's own code must see (samplers of positions, negatives, transforms, methods of subclasses) runs in the caller's thread; sampling and
gathers run ahead of it (garner/pipeline.py). Invariant: a mini-batch is a function of its epoch's seed and its number.
"""
from __future__ import annotations

import copy
import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
import torch.utils.data
from torch.utils.data.distributed import DistributedSampler
import torch_geometric.loader  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.data import Data, HeteroData  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.loader.utils import index_select  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.sampler import HeteroSamplerOutput, NegativeSampling, SamplerOutput  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .. import _checks, links, pipeline, tables
from .._arguments import takes_old_names
from ..batches import window_alone
from ..errors import InputError, KindError, UsageError
from ..pipeline import Ahead, Budget, Field, ahead_options, drawn_seed, mixed, named, own_rows, tensor_of
from ..split import Draws, most_together, windows_ahead
from . import remote
from .later import Later, now, put
from .sampler import NeighborSampler, beginning
from .source import _edges_in, edge_attr_of, edge_names, edges_of, node_names, times_of
from .stores import FeatureStore


class _Positions(list[int]):
    """The positions of a mini-batch among the input, the number that it samples by, and what was sampled ahead."""

    draw: int
    ready: Any = None


class _Input(torch.utils.data.Dataset[Any]):
    """What torch's loader takes for a dataset: range(count), whose positions it hands on as they are."""

    def __init__(self, count: int) -> None:
        self.all = range(count)

    def __len__(self) -> int:
        return len(self.all)

    def __iter__(self) -> Iterator[int]:
        return iter(self.all)

    def __eq__(self, other: object) -> bool:
        return self.all == (other.all if isinstance(other, _Input) else other)

    def __hash__(self) -> int:
        return hash(self.all)

    def __getitem__(self, k: Any) -> Any:
        return k if isinstance(k, _Positions) else self.all[k]

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
    _epoch: list[int]

    def __init__(self, dataset: Any, *given: Any, **kwargs: Any) -> None:
        self._epoch = [0]
        super().__init__(_Input(len(dataset)), *given, **kwargs)

    @property
    def _index_sampler(self) -> Any:
        return _Numbered(super()._index_sampler, self._epoch)


class _Share(DistributedSampler):  # type: ignore[type-arg]
    """That of a loader with ranks=: each pass is an epoch of its own."""

    def __iter__(self) -> Iterator[Any]:
        order = super().__iter__()
        self.epoch += 1
        return order


# Samplers whose order is a function of their generator alone, so that all of it can be taken when an epoch begins.
_orders = (torch.utils.data.SequentialSampler, torch.utils.data.RandomSampler, torch.utils.data.SubsetRandomSampler,
           torch.utils.data.WeightedRandomSampler, DistributedSampler, _Share)


class _Joins:
    """What stands before them: mini-batches are sampled, and joined with their rows."""

    data: Any
    custom_cls: Any
    filter_per_worker: bool
    input_data: Any
    num_workers: int
    pin_memory: bool
    batch_sampler: Any
    generator: Any
    dataset: Any
    _index_sampler: Any
    _epoch: list[int]
    _remote: remote.Remote
    _window: int = 8  # mini-batches that request rows of other ranks together
    _input: str = "input nodes"
    transform: Callable[[Any], Any] | None
    transform_sampler_output: Callable[[Any], Any] | None
    _loading: dict[str, Any]
    _cache: Budget
    _fields: tuple[list[Any], list[Field]] | None = None  # objects that they are of; the fields
    _tables: pipeline.Tables | None = None
    _templates: dict[Any, list[tuple[str, str, Any, int]]]
    _idle: tuple[Any, Ahead, list[Any]] | None = None  # of the epoch before: what it was made for; its relations
    _works: Ahead | None = None
    _report: dict[str, Any] = {}
    _at: dict[str, Any] | None = None  # state of the epoch under way
    _resumed: dict[str, Any] | None = None

    # --- how it is made ---
    def _made(self, data: Any, neighbor_sampler: Any, options: dict[str, Any], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The data without rows of other ranks, and the sampler. Takes Garner's own options out of these, and what a GPU does not need."""
        _require_kinds(options, kwargs)
        self._loading = ahead_options(options["loading"])
        self._window = self._loading.get("window") or 8
        data, self._remote = remote.remote_of(data)
        workers = kwargs.get("num_workers") or 0
        device = pipeline.device_of(options["device"], _values_of(data))
        remote_graph = isinstance(neighbor_sampler, NeighborSampler) and neighbor_sampler.is_remote
        if device != "cpu" and not remote_graph:
            if workers:
                pipeline.warn_once(f"num_workers={workers}: no workers are started, since {device} samples and gathers ahead by itself; num_workers, "
                                   "persistent_workers, prefetch_factor and pin_memory have no part in it")
            for name in ("num_workers", "persistent_workers", "prefetch_factor", "pin_memory", "worker_init_fn", "multiprocessing_context"):
                kwargs.pop(name, None)
        if neighbor_sampler is None:
            sampler = {name: options[name] for name in ("num_neighbors", "subgraph_type", "replace", "disjoint", "temporal_strategy", "time_attr",
                                                        "weight_attr", "is_sorted", "directed", "labor")}
            neighbor_sampler = NeighborSampler(data, share_memory=workers > 0, graph=options["graph"], device=device, scores=options["scores"], **sampler,
                                               graph_cache=None if options["graph_cache"] is None else pipeline.bytes_of(options["graph_cache"], "graph_cache"))
            if not neighbor_sampler.is_remote and not pipeline.gpu_memory(device, graph_cache=options["graph_cache"]):
                neighbor_sampler.graph_cache = None
        self._cache = Budget(device, options["feature_cache"], options["reserve"])
        if kwargs.get("num_workers", 0) and (self._remote.tables or (isinstance(neighbor_sampler, NeighborSampler) and neighbor_sampler.is_remote)):
            raise UsageError(f"num_workers={kwargs['num_workers']}; rows and adjacency of other ranks come to this process, ahead of the training; leave "
                             "workers out")
        if isinstance(neighbor_sampler, NeighborSampler) and neighbor_sampler.is_remote:
            window_alone(self._loading)
        return data, neighbor_sampler

    def _split(self, rank: Any, ranks: Any, seeds: Any, count: int | None, kwargs: dict[str, Any]) -> None:
        """Where ranks are set, the sampler of this rank's share is put among these arguments of torch's loader."""
        if rank is None and ranks is None:
            return
        for name in ("sampler", "batch_sampler"):
            if kwargs.get(name) is not None:
                raise UsageError(f"{name}= and ranks=: a {type(kwargs[name]).__name__} says itself what this rank takes, and ranks= would split the {self._input} "
                                 "once more; leave one of them out")
        if count is None:
            raise UsageError(f"ranks=: how many {self._input} there are is not known here; split them, and leave ranks= out")
        rank, ranks = _checks.ranks(rank, ranks, seeds, self._input)
        if ranks > 1:
            kwargs["sampler"] = _Share(range(count), ranks, rank, shuffle=bool(kwargs.pop("shuffle", False)))  # type: ignore[arg-type]

    def __call__(self, index: Any) -> Any:
        out = self.collate_fn(index)
        return out if self.filter_per_worker else self.filter_fn(out)

    def _sampler(self) -> Any:
        raise NotImplementedError

    def _sampled(self, inputs: Any, **draw: Any) -> Any:
        raise NotImplementedError

    def _planned(self, inputs: Any, draw: int) -> Any:
        """What is sampled for these inputs: sampler.Plan."""
        raise NotImplementedError

    def _label(self, data: Any, out: Any) -> None:
        raise NotImplementedError

    # --- an epoch ---
    def __iter__(self) -> Any:
        state, self._resumed = self._resumed, None
        source = self.generator if self.generator is not None else torch.default_generator
        before, first = source.get_state(), 0
        if state is not None:  # the order of the epoch that continues, and the generator as it was
            source.set_state(state["generator"])
            first = int(state["handed_over"])
        started = {"generator": before if state is None else state["generator"]}
        share = getattr(self.batch_sampler, "sampler", None)
        if isinstance(share, _Share):
            share.epoch = started["epoch"] = share.epoch if state is None else state["epoch"]
        try:
            self._epoch[0] = drawn_seed(self.generator)
            made = super().__iter__()  # type: ignore[misc]  # draws of torch's generator what each loader of torch does
            try:
                length = len(self)  # type: ignore[arg-type]
            except TypeError:  # of a sampler that has none, as one without an end
                length = None
            if (draws := self._draws(length)) is not None:
                if type(self.batch_sampler) is torch.utils.data.BatchSampler and type(self.batch_sampler.sampler) in _orders and isinstance(self, NeighborLoader):
                    made = self._over_ranks(draws, self._epoch[0])
            elif (why := self._not_ahead()) is None:
                made, first = self._ahead(self._indices(self._epoch[0], first), mixed(self._epoch[0], 0) + first), 0
            elif why:
                pipeline.warn_once(f"{type(self).__name__}: mini-batches are made one after the other, not ahead: {why}")
            for _ in range(first):  # here, where torch's samplers make the same order as then
                next(made, None)
        finally:
            if state is not None:
                source.set_state(before)
        if self._remote.tables:
            made = self._brought(made, length)
        handed_over = 0 if state is None else int(state["handed_over"])
        return _Epoch(self._followed(made, started, handed_over),
                      None if length is None else length - handed_over)

    def _followed(self, batches: Iterator[Any], started: dict[str, Any], first: int) -> Iterator[Any]:
        for k, batch in enumerate(batches, first + 1):
            self._at = {**started, "handed_over": k}
            yield batch
        self._at = None

    def state_dict(self) -> dict[str, Any]:
        """Where the iteration is: the state of torch's generator (or of generator=) when the epoch began, how many of its mini-batches were handed
        over, and with ranks= the epoch by which they are shuffled. Outside an epoch empty, as torchdata's StatefulDataLoader has it for an epoch that has not begun."""
        at = self._resumed or self._at
        return {**at, "batch_size": getattr(self.batch_sampler, "batch_size", None)} if at else {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iteration goes on with the mini-batch behind the last that was handed over. The loader must be made as that one was."""
        keys = {"generator", "handed_over", "batch_size", *(["epoch"] if isinstance(getattr(self.batch_sampler, "sampler", None), _Share) else [])}
        if state and set(state) != keys:
            raise InputError(f"load_state_dict: keys {sorted(state)}; give what state_dict() of such a loader returned")
        size = getattr(self.batch_sampler, "batch_size", None)
        if state and state["batch_size"] != size:
            raise InputError(f"load_state_dict: of mini-batches of {state['batch_size']}, and this loader has {size}; make it as that one was")
        self._at, self._resumed = None, {key: value for key, value in state.items() if key != "batch_size"} or None

    @property
    def report(self) -> dict[str, Any]:
        """What the epoch under way, else the last one, took, as garner.Loader.report has it. Empty before the first, and where mini-batches are not
        made ahead."""
        return self._report if self._works is None else self._works.loader.report()

    def explain(self) -> str:
        """Where it samples, where each attribute lies, what is done ahead, and what would make it slower."""
        sampler = self._sampler()
        why = self._not_ahead()
        if why is not None:
            return f"mini-batches are made one after the other, not ahead: {why or 'there is nothing to sample, or a worker asks'}"
        engine, _ = sampler._engine()
        tables_of = self._placed()
        lines = [f"samples and gathers on {engine.device}, ahead of the caller", f"adjacency: {engine.summary()}", *tables_of.summary(named)]
        theirs = [name for name in ("transform", "transform_sampler_output") if getattr(self, name) is not None]
        theirs += [name for name in ("collate_fn", "filter_fn") if self._overrides(name)]
        if theirs:
            lines.append(f"in the caller's thread: {', '.join(theirs)}")
        return "\n".join(lines)

    def _overrides(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(_Joins, name)

    def _not_ahead(self) -> str | None:
        """Why mini-batches are not made ahead by the pipeline; empty: for a reason that slows nothing down, or that is an error of its own."""
        sampler = self._sampler()
        if self.num_workers:
            return ""  # workers work ahead
        if torch.utils.data.get_worker_info() is not None:
            return ""
        if not isinstance(sampler, NeighborSampler):
            return f"neighbor_sampler: a {type(sampler).__name__} samples in its own way; leave it out, or give a garner.pyg.NeighborSampler"
        for name in ("sample_from_nodes", "sample_from_edges"):
            if getattr(type(sampler), name) is not getattr(NeighborSampler, name):
                return f"neighbor_sampler: {type(sampler).__name__}.{name} is the caller's own"
        return None if sampler._engine()[0] is not None else ""

    def _indices(self, seed: int, first: int) -> Iterator[_Positions]:
        """The positions of each mini-batch from this one on. Torch's samplers have made their order when this returns."""
        batches, number = self.batch_sampler, mixed(seed, 0)
        if type(batches) is not torch.utils.data.BatchSampler or type(batches.sampler) not in _orders or type(self)._index_sampler is not _Loader._index_sampler:
            indices: Iterator[_Positions] = iter(self._index_sampler)
            for _ in range(first):
                next(indices, None)
            return indices
        order, size = _order_of(batches.sampler), batches.batch_size
        if batches.drop_last:
            order = order[:len(order) // size * size]
        made = (_Order(order[k * size:(k + 1) * size], number + k) for k in range(first, -(-len(order) // size)))
        return map(_Order.listed, made) if self._overrides("collate_fn") else made

    def _given(self, indices: Iterator[_Positions]) -> Iterator[tuple[list[Any], Any]]:
        """Seeds of each mini-batch, as garner.Loader takes them, and what is to be made of it."""
        sampler = self._sampler()
        for index in indices:
            plan = self._planned(self.input_data[_tensor(index)], index.draw)
            yield sampler._numbered(plan.seeds, plan.times), (index, plan)

    def _ahead(self, indices: Iterator[_Positions], draws: int) -> Iterator[Any]:
        with beginning:
            kept = self._made_ahead()
            kept[1].begin(draws)
        (_, placed), ahead, drawn = kept
        sampler = self._sampler()
        device = pipeline.torch_device(ahead.sampler.device)
        pins = self.pin_memory and device.type == "cpu" and torch.cuda.is_available()
        try:
            self._works = ahead
            for batch, (index, plan) in ahead.run(self._given(indices)):
                stream = pipeline.stream_of(device)
                out = sampler._output(batch, drawn, {}, stream)
                # Whoever keeps these shall not keep the buffers of the rows.
                if device.type != "cpu" and sampler.is_hetero:  # relations that nothing was sampled of
                    for ends in (out.row, out.col, out.edge):
                        ends.update({t: some.to(device) for t, some in ends.items()})
                out.node = {t: ids.clone() for t, ids in out.node.items()} if sampler.is_hetero else out.node.clone()
                brought = _Brought({field: own_rows(batch, k, stream) for k, field in enumerate(placed.of)}, out, device)
                del batch
                plan.finish(out, device)
                out = sampler._finished(out)
                out._brought = brought
                index.ready = out
                data = self.collate_fn(index)
                index.ready = None
                data = data if self.filter_per_worker else self.filter_fn(data)
                yield torch.utils.data._utils.pin_memory.pin_memory(data) if pins else data  # type: ignore[no-untyped-call, unused-ignore]
        finally:
            self._report, self._works = ahead.loader.report(), None
            self.__dict__["_idle"] = kept

    def _made_ahead(self) -> tuple[Any, Ahead, list[Any]]:
        """What it was made for, what works ahead, the relations that are sampled: those of the epoch before, or others where somebody iterates over
        these or the data are no longer the same."""
        sampler = self._sampler()
        engine, drawn = sampler._engine()
        placed = self._placed()
        key = [sampler._made[0], placed]
        kept = self.__dict__.pop("_idle", None)
        if kept is not None and kept[0][0] == key[0] and kept[0][1] is placed and not kept[1].sampler.lent:
            return kept  # type: ignore[no-any-return]
        del kept
        nodes = [(table, sampler.node_types.index(field.type)) for field, table in placed.of.items() if not field.of_edges]
        perms = {field.type: k for k, field in enumerate(placed.of) if field.name is _perm}
        edges = [(table, drawn.index(field.type), *([perms[field.type]] if field.type in perms and field.name is not _perm else []))
                 for field, table in placed.of.items() if field.of_edges]
        return key, Ahead(engine, nodes, (), edges, self._loading), drawn

    # --- rows ---
    def _all_fields(self) -> list[Field]:
        """Attributes of nodes and edges: of the data, or of a feature store of Garner."""
        found: list[Field] = []
        if isinstance(self.data, (Data, HeteroData)):
            self.__dict__["_templates"] = {store._key: _template(self.data, store) for store in self.data.stores}
            for kind, template in self._templates.items():
                found += [Field(what == "edge", kind, name, store_value) for name, what, store_value, dim in template if what in ("node", "edge") and dim == 0]
        elif type(self.data[0]) is FeatureStore:
            features, hetero = self.data[0], self._sampler().is_hetero
            sizes = (None, None) if hetero else self._sizes()
            for attr in features.get_all_tensor_attrs():
                of_edges, group = edge_attr_of(features, attr, hetero, *sizes)
                if (group, attr.attr_name) not in self._remote.tables:
                    found.append(Field(of_edges, group, attr.attr_name, features._kept[features._key(attr)]))
        return found

    def _placed(self) -> pipeline.Tables:
        """Tables of the fields as the data are now."""
        fields = self._all_fields()
        sampler = self._sampler()
        engine, drawn = sampler._engine()
        key = [engine.device, list(drawn), *pipeline.as_they_are(fields, engine.device)]
        known = self._fields
        if self._tables is not None and known is not None and known[0] == key:
            return self._tables
        for name in ("_tables", "_idle", "_perms"):  # their memory is for those that come
            self.__dict__.pop(name, None)
        mine = [field for field in fields if not field.of_edges or field.type in drawn]
        for t in dict.fromkeys(field.type for field in mine if field.of_edges):
            perm = sampler._source.lists[t].permutation()
            if perm is not None:  # 4 bytes are signed to a table's gather
                mine.append(Field(True, t, _perm, perm if perm.numel() < 1 << 31 else perm.to(torch.int64) & 0xffffffff))
        counts: dict[Any, Any] = {}

        def scores(field: Field) -> Any:
            if field.of_edges:
                return None
            if not counts:
                types = sampler.node_types
                state = torch.default_generator.get_state()
                counts.update(zip(types, pipeline.counted(engine, self._beforehand(), [_of_type(sampler.num_nodes, t) for t in types])))
                torch.default_generator.set_state(state)
            found = counts[field.type]  # a store's table may have rows beyond the last node
            return np.pad(found, (0, len(field.value) - len(found)))

        made = pipeline.Tables(mine, engine.device, copy.copy(self._cache), scores)
        for perm in [field for field in made.left if field.name is _perm]:  # rows of edges need it to be found ahead
            for field in [field for field in made.of if field.of_edges and field.type == perm.type]:
                made.left[field] = made.left[perm]
                del made.of[field]
        made.warn(named)
        order = sorted(made.of, key=lambda field: (field.of_edges, field.of_edges and field.name is not _perm))  # permutations before what is by them
        made.of = {field: made.of[field] for field in order}
        self.__dict__["_fields"], self.__dict__["_tables"] = (key, fields), made
        return made

    def _beforehand(self) -> Iterator[tuple[list[Any], Any]]:
        """Mini-batches of inputs in a random order of their own."""
        count = len(self.dataset)
        size = getattr(self.batch_sampler, "batch_size", None) or 1024
        order = torch.randperm(count, generator=torch.Generator().manual_seed(1))
        for number in range(min(256, -(-count // size))):
            plan = self._planned(self.input_data[order[number * size:(number + 1) * size]], number)
            yield self._sampler()._numbered(plan.seeds, plan.times), None

    def collate_fn(self, index: Any) -> Any:
        out = getattr(index, "ready", None)
        if out is None:
            inputs = self.input_data[_tensor(index)]
            known = {"number": getattr(index, "draw", None)} if isinstance(self._sampler(), NeighborSampler) else {}
            out = self._sampled(inputs, **known)
        return self.filter_fn(out) if self.filter_per_worker else out

    def filter_fn(self, out: Any) -> Any:
        """What was sampled, joined with its rows: Data or HeteroData."""
        if self.transform_sampler_output:
            brought = getattr(out, "_brought", None)
            out = self.transform_sampler_output(out)
            if brought is not None:
                out._brought = brought
        if isinstance(out, SamplerOutput):
            data = self._homogeneous(out)
        elif isinstance(out, HeteroSamplerOutput):
            data = self._heterogeneous(out)
        else:
            raise TypeError(f"'{type(self).__name__}' was given a '{type(out).__name__}' by its sampler; it takes a SamplerOutput or a "
                            "HeteroSamplerOutput")
        self._label(data, out)
        return data if self.transform is None or self._remote.tables else self.transform(data)

    def _brought(self, batches: Iterator[Any], count: int | None) -> Iterator[Any]:
        """So many of them, which get the rows that other ranks have."""
        if count is None:
            raise UsageError("rows of other ranks: all ranks have as many mini-batches; give a sampler that has a length")
        with_rows = remote.with_rows(self._remote, batches, count, self._window, self._input)
        return with_rows if self.transform is None else map(self.transform, with_rows)

    def _draws(self, count: int | None) -> Draws | None:
        """The sampler over a graph that is split over ranks. All of them make it here, and check that they have as many mini-batches."""
        sampler = self._sampler()
        engine = sampler._engine()[0] if type(sampler) is NeighborSampler and sampler.is_remote else None
        if not isinstance(engine, remote.RemoteSampler):
            return None
        if not 1 <= self._window <= most_together:
            raise UsageError(f"loading: a window of {self._window} mini-batches; use 1 to {most_together}")
        if count is None:
            raise UsageError("a graph that is split over ranks: all ranks have as many mini-batches; give a sampler that has a length")
        remote.as_many(engine.draws.graph.group, count, self._window, self._input)
        return engine.draws

    def _edges(self, out: Any, edge: Any, edge_type: Any = None) -> Any:
        """The user's edges of the sampler's; where these come ahead and no attribute needs them, when somebody reads them (a Later)."""
        if edge is None:
            return None
        brought = getattr(out, "_brought", None)
        if brought is None:
            return self._numbers_of(edge, edge_type)
        found = brought.of(True, edge_type, _perm, edge)
        return Later(lambda: self._numbers_of(edge, edge_type)) if found is None else found.to(torch.int64)

    def _numbers_of(self, edge: torch.Tensor, edge_type: Any) -> torch.Tensor:
        sampler = self._sampler()
        if not isinstance(sampler, NeighborSampler):  # of PyG's kind
            perm = _of_type(sampler.edge_permutation, edge_type)
            return edge.to(torch.int64) if perm is None else perm[edge.to(torch.int64)]
        lists = sampler._source.lists[edge_type]
        perm = lists.permutation()
        if perm is None or edge.device.type == "cpu":
            return lists.edges_of(edge)
        there = self.__dict__.setdefault("_perms", {})
        if edge_type not in there:  # registered for the GPU, and copied there where there is room
            there[edge_type] = tables.tiered(perm, device=str(edge.device), feature_cache=self._placed().budget.take(perm.nbytes))
        found: torch.Tensor = there[edge_type][edge.to(torch.int64)]
        return found if found.dtype == torch.int64 else found.to(torch.int64) & 0xffffffff

    def _homogeneous(self, out: Any) -> Any:
        edges = self._edges(out, out.edge)
        if isinstance(self.data, Data):
            data = self._filtered(self.data, out, {None: out.node}, {None: (out.row, out.col)}, {None: edges})
            if "edge_index" not in self.data and "adj_t" not in self.data:  # the edges are those of graph=
                data.edge_index = _pair(out, None, out.row, out.col)
        else:
            data = Data() if self.custom_cls is None else self.custom_cls()
            data.edge_index = _pair(out, None, out.row, out.col)
            data.num_nodes = out.node.numel()
            for (_, _, name), rows in self._rows(out, {None: out.node}, {None: edges}):
                data[name] = rows
        if "n_id" not in data:
            data.n_id = out.node
        if edges is not None and "e_id" not in data:
            put(data._store, "e_id", edges)
        data.batch = out.batch
        data.num_sampled_nodes = out.num_sampled_nodes
        data.num_sampled_edges = out.num_sampled_edges
        if out.orig_row is not None and out.orig_col is not None:
            data._orig_edge_index = torch.stack([out.orig_row, out.orig_col])
        return data

    def _heterogeneous(self, out: Any) -> Any:
        edges = {key: self._edges(out, edge, key) for key, edge in (out.edge or {}).items()}
        if isinstance(self.data, HeteroData):
            data = self._filtered(self.data, out, out.node, {key: (row, out.col[key]) for key, row in out.row.items()}, edges)
        else:
            data = HeteroData() if self.custom_cls is None else self.custom_cls()
            for key, node in out.node.items():
                data[key].num_nodes = node.numel()
            for key, row in out.row.items():
                data[key].edge_index = _pair(out, key, row, out.col[key])
            for (_, group, name), rows in self._rows(out, out.node, edges):
                data[group][name] = rows
        for key, node in out.node.items():
            if "n_id" not in data[key]:
                data[key].n_id = node
        for key, edge in edges.items():
            if edge is not None and "e_id" not in data[key]:
                put(data[key], "e_id", edge)
        data.set_value_dict("batch", out.batch)
        data.set_value_dict("num_sampled_nodes", out.num_sampled_nodes)
        data.set_value_dict("num_sampled_edges", out.num_sampled_edges)
        if out.orig_row is not None and out.orig_col is not None:
            for key, row in out.orig_row.items():
                data[key]._orig_edge_index = torch.stack([row, out.orig_col[key]])
        return data

    def _filtered(self, data: Any, out: Any, node: dict[Any, Any], ends: dict[Any, Any], edges: dict[Any, Any]) -> Any:
        """The data's other attributes as they are, and rows of these nodes and edges, as PyG's filter_data and filter_hetero_data have them."""
        made, brought = copy.copy(data), getattr(out, "_brought", None)
        if brought is None:  # the data may have changed
            self._all_fields()
        placed = {} if self._tables is None else {(f.of_edges, f.type, f.name): table for f, table in self._tables.of.items()}
        nothing = torch.empty(0, dtype=torch.int64)
        for store in made.stores:
            kind = store._key
            for name, what, value, dim in self._templates[kind]:
                if what == "num_nodes":
                    store.num_nodes = node.get(kind, nothing).numel()
                elif what == "edge_index":
                    pair = ends.get(kind)
                    store.edge_index = torch.stack([nothing, nothing]) if pair is None else _pair(out, kind, *pair).to(
                        value.device if brought is None else pair[0].device)
                elif what == "adj_t":
                    _set_adj(store, value, ends.get(kind, (nothing, nothing)), now(edges.get(kind)))
                else:
                    ids = edges.get(kind) if what == "edge" else node.get(kind, nothing)
                    raw = ids if what == "node" else _of_type(out.edge, kind)
                    rows = None if brought is None or dim else brought.of(what == "edge", kind, name, raw)
                    if rows is None and ids is not None:
                        ids = now(ids)
                        table = placed.get((what == "edge", kind, name))
                        rows = table[ids] if table is not None and brought is not None else _selected(value, ids, dim)
                        if brought is not None and isinstance(rows, torch.Tensor):
                            rows = rows.to(brought.device)
                    store[name] = rows
        return made

    def _rows(self, out: Any, node: dict[Any, Any], edges: dict[Any, Any]) -> list[tuple[tuple[bool, Any, str], Any]]:
        """The rows of all attributes of a feature store, those of edges by edges. One call for all that were not brought."""
        features, store = self.data
        hetero = list(node) != [None]
        sizes = (None, None) if hetero else self._sizes()
        wanted, attrs, found = [], [], []
        brought = getattr(out, "_brought", None)
        for attr in features.get_all_tensor_attrs():
            of_edges, group = edge_attr_of(features, attr, hetero, *sizes)
            if (group, attr.attr_name) in self._remote.tables:
                continue
            index = (edges if of_edges else node).get(group)
            if index is None:
                continue
            raw = _of_type(out.edge, group) if of_edges else index
            rows = None if brought is None else brought.of(of_edges, group, attr.attr_name, raw)
            if rows is not None:
                found.append(((of_edges, group, attr.attr_name), rows))
                continue
            index = now(index)
            attr.index = index if isinstance(features, FeatureStore) else index.cpu()
            wanted.append((of_edges, group, attr.attr_name))
            attrs.append(attr)
        some = features.multi_get_tensor(attrs) if attrs else []
        if brought is not None:
            some = [rows.to(brought.device) if isinstance(rows, torch.Tensor) else rows for rows in some]
        return found + list(zip(wanted, some))

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

    def __getstate__(self) -> dict[str, Any]:
        """To a worker: it gathers from the data by itself."""
        return {key: value for key, value in self.__dict__.items() if key not in ("_idle", "_works", "_tables", "_fields", "_perms")}


_perm = "numbers of edges (e_id)"  # a field's name that no attribute has


def _of_type(found: Any, kind: Any) -> Any:
    return found.get(kind) if isinstance(found, dict) else found


def _order_of(sampler: Any) -> torch.Tensor:
    """What iterating over one of torch's samplers yields, and its generator is left as that leaves it; without a number of Python a position."""
    if type(sampler) is torch.utils.data.SequentialSampler:
        return torch.arange(len(sampler))
    if type(sampler) is torch.utils.data.RandomSampler and not sampler.replacement:
        generator, count = sampler.generator, len(sampler.data_source)
        if generator is None:
            generator = torch.Generator().manual_seed(drawn_seed())
        if count:
            orders = [torch.randperm(count, generator=generator) for _ in range(sampler.num_samples // count + 1)]
            return torch.cat(orders)[:sampler.num_samples]
    return torch.from_numpy(np.fromiter(sampler, np.int64))


class _Order(_Positions):
    """The same of a slice of an epoch's order, which becomes a list where somebody looks at it."""

    def __init__(self, order: torch.Tensor, draw: int) -> None:
        self.order, self.draw = order, draw

    def listed(self) -> _Positions:
        found = _Positions(self.order.tolist())
        found.draw = self.draw
        return found

    def __len__(self) -> int:
        return self.order.numel()

    def __iter__(self) -> Iterator[int]:
        return iter(self.order.tolist())

    def __getitem__(self, k: Any) -> Any:
        return self.order.tolist()[k]


def _tensor(index: Any) -> torch.Tensor:
    return index.order if isinstance(index, _Order) else torch.as_tensor(index, dtype=torch.int64).reshape(-1)


class _Brought:
    """Rows that came with a mini-batch, for the very nodes and edges that it was handed over with."""

    def __init__(self, rows: dict[Field, torch.Tensor], out: Any, device: torch.device) -> None:
        self.device = device
        self._rows = {(field.of_edges, field.type, field.name): found for field, found in rows.items()}
        self._node, self._edge = ({**ids} if isinstance(ids, dict) else {None: ids} for ids in (out.node, out.edge))

    def of(self, of_edges: bool, kind: Any, name: Any, ids: Any) -> torch.Tensor | None:
        return self._rows.get((of_edges, kind, name)) if (self._edge if of_edges else self._node).get(kind) is ids else None


def _pair(out: Any, kind: Any, row: torch.Tensor, col: torch.Tensor) -> torch.Tensor:
    """Both as one tensor: the one that they are of, where they are as they were sampled."""
    pairs = getattr(out, "_pairs", {})
    whole, first, second = pairs.get(kind, (None, None, None))
    return whole if whole is not None and first is row and second is col else torch.stack([row, col])


def _template(data: Any, store: Any) -> list[tuple[str, str, Any, int]]:
    """(name, what it is, value, dimension of its rows) of what becomes another in a mini-batch."""
    found = []
    nodes, edges = hasattr(store, "is_node_attr"), hasattr(store, "is_edge_attr")
    for name, value in store.items():
        if nodes and name == "num_nodes":
            found.append((name, "num_nodes", value, 0))
        elif nodes and store.is_node_attr(name):
            found.append((name, "node", value, data.__cat_dim__(name, value, store)))
        elif edges and name in ("edge_index", "adj_t"):
            found.append((name, name, value, 0))
        elif edges and store.is_edge_attr(name):
            found.append((name, "edge", value, data.__cat_dim__(name, value, store)))
    return found


def _selected(value: Any, ids: torch.Tensor, dim: int) -> Any:
    if isinstance(value, (list, tuple)):
        return [value[k] for k in ids.tolist()]
    return index_select(value, ids.cpu() if isinstance(value, np.ndarray) else ids.to(value.device), dim=dim)


def _set_adj(store: Any, value: Any, ends: tuple[torch.Tensor, torch.Tensor], edges: Any) -> None:
    """As PyG: an adj_t of torch-sparse becomes one."""
    row, col = (end.to(value.device()) for end in ends)
    weights = value.storage.value()
    weights = None if weights is None or edges is None else index_select(weights, edges.to(weights.device), dim=0)
    store.adj_t = type(value)(row=col, col=row, value=weights, sparse_sizes=store.size()[::-1], is_sorted=False, trust_data=True)


def _values_of(data: Any) -> list[Any]:
    """All that data or a feature store of Garner hold."""
    if isinstance(data, (Data, HeteroData)):
        return [value for store in data.stores for value in store.values()]
    return list(data[0]._kept.values()) if isinstance(data, tuple) and type(data[0]) is FeatureStore else []


class _Epoch:
    """An iterator over an epoch that knows how long it is."""

    def __init__(self, batches: Iterator[Any], length: int | None) -> None:
        self._batches, self._length = batches, length

    def __iter__(self) -> _Epoch:
        return self

    def __next__(self) -> Any:
        return next(self._batches)

    def __len__(self) -> int:
        if self._length is None:
            raise TypeError("the sampler of this loader has no length")
        return self._length


def _nodes_of(data: Any, sampler: Any) -> Any:
    """How many nodes there are, by type where there are several; None: nobody knows before they are sampled."""
    if isinstance(sampler, NeighborSampler):
        return sampler.num_nodes
    if isinstance(data, HeteroData):
        nodes = {t: data[t].num_nodes for t in data.node_types}
        return None if None in nodes.values() else nodes
    return data.num_nodes if isinstance(data, Data) else None


def _require_rows(data: Any, nodes: Any, lists: bool = False) -> None:
    """That what PyG takes for features of nodes and of edges by their names has a row for each; what has not it would hand over whole. lists: whether
    lists as long as the nodes or edges will do, as they do in Data.subgraph and not in PyG's loaders that sample neighbors."""
    stores = [data._store] if isinstance(data, Data) else [*data.node_stores, *data.edge_stores] if isinstance(data, HeteroData) else []
    for store in stores if nodes is not None else []:
        kind = store._key
        count = {} if isinstance(kind, tuple) else {"nodes": nodes if kind is None else nodes.get(kind)}
        count.update({} if isinstance(kind, str) else {"edges": store.num_edges})
        wanted = {**dict.fromkeys(node_names, ["nodes"]), **dict.fromkeys(edge_names, ["edges"]),
                  **dict.fromkeys(("y", "train_mask", "val_mask", "test_mask"), list(count))}
        for name, value in store.items():
            if not lists and isinstance(value, (list, tuple)) and [what for key, what, *_ in _template(data, store) if key == name]:
                raise KindError(f"{name}{'' if kind is None else f' of {kind!r}'}: a {type(value).__name__} of {len(value)} for "
                                f"{' and '.join(f'{n} {of}' for of, n in count.items())}, and mini-batches have rows of tensors and arrays; make it one, or leave "
                                "it out of the data")
            known = [count[of] for of in wanted.get(name, []) if count.get(of) is not None]
            if not known or not isinstance(value, (torch.Tensor, np.ndarray)) or not value.ndim or value.shape[0] in known:
                continue
            if name != "y" or value.shape[0] != 1:  # which is of the graph
                raise InputError(f"{name}{'' if kind is None else f' of {kind!r}'}: {value.shape[0]} rows for "
                                 f"{' and '.join(f'{n} {of}' for of, n in count.items())}; give each one a row, or name it otherwise")


def _require_kinds(options: dict[str, Any], kwargs: dict[str, Any]) -> None:
    """That options are what they are taken for, where torch and PyG would see it in the middle of an epoch, or never."""
    said = {**options, **kwargs}
    for name in ("replace", "disjoint", "is_sorted", "directed", "labor", "filter_per_worker", "shuffle", "drop_last", "pin_memory", "persistent_workers"):
        if said.get(name) is not None or name in ("replace", "disjoint"):
            _checks.flag(said[name], name)
    for name, least in (("num_workers", 0), ("prefetch_factor", 1)):
        if said.get(name) is not None:
            _checks.counted(said[name], name, least)
    for name in ("transform", "transform_sampler_output", "custom_cls", "worker_init_fn"):
        if not (said.get(name) is None or callable(said[name])):
            raise KindError(f"{name} is {_checks.told(said[name])}; give something to call")
    for name in ("sampler", "batch_sampler"):
        if isinstance(said.get(name), (str, bytes)) or not (said.get(name) is None or hasattr(said[name], "__iter__")):
            raise KindError(f"{name} is {_checks.told(said[name])}; give one of torch's samplers, or positions of the input to iterate over")
    if not (said.get("generator") is None or isinstance(said["generator"], torch.Generator)):
        raise KindError(f"generator is {_checks.told(said['generator'])}; give a torch.Generator")
    sampler = said.get("neighbor_sampler")
    if not (sampler is None or hasattr(sampler, "sample_from_nodes") and hasattr(sampler, "sample_from_edges")):
        raise KindError(f"neighbor_sampler is {_checks.told(sampler)}; give a garner.pyg.NeighborSampler, or another BaseSampler of PyG's kind")
    for name in ("labor", "graph", "scores", "graph_cache", "device_budget") if sampler is not None else ():
        if said.get(name) is not None and said[name] is not False:
            raise UsageError(f"neighbor_sampler and {name}: {name}= is of a sampler that the loader makes, and one is given; use it where that one is made, or "
                             "leave it out")


def _require_positions(kwargs: dict[str, Any], count: int, what: str) -> None:
    """That samplers that are written down, as lists, name inputs that there are."""
    for name in ("sampler", "batch_sampler"):
        some = kwargs.get(name)
        if isinstance(some, (list, tuple, range, np.ndarray, torch.Tensor)):
            flat = some if name == "sampler" else [k for batch in some for k in (batch if hasattr(batch, "__iter__") else [batch])]
            _checks.within(_checks.int64(flat, name), count, f"{name}: position", what)


def _negatives(given: Any, ratio: Any, ends: tuple[int, int]) -> Any:
    """NegativeSampling, as PyG's loader has it. ends: how many nodes there are of the types of sources and targets."""
    asks = {"neg_sampling": "use 'binary', 'triplet' or dict(mode='binary', amount=1.0)", "neg_sampling_ratio": "use a positive number"}
    for name, value in zip(asks, (given, ratio)):
        if getattr(value, "ndim", 0):
            raise KindError(f"{name} is {_checks.told(value)}; {asks[name]}")
    name = "neg_sampling" if ratio is None or ratio == 0 else "neg_sampling_ratio"
    if given is None and name == "neg_sampling":
        return None
    if given is not None and name == "neg_sampling_ratio":
        raise UsageError("neg_sampling and neg_sampling_ratio: both name how many negatives there are; leave one out")
    try:
        found = NegativeSampling.cast(given) if name == "neg_sampling" else NegativeSampling("binary", ratio)
        if not math.isfinite(found.amount):
            raise ValueError("the amount is not finite")
    except (TypeError, ValueError) as e:
        said = _checks.told(given if name == "neg_sampling" else ratio)
        raise (KindError if isinstance(e, TypeError) else UsageError)(f"{name} is {said}: {e}; {asks[name]}") from None
    arrays = {side: weight for side, weight in links.weights_of(found, ends).items() if not isinstance(getattr(found, side), torch.Tensor)}
    return dataclasses.replace(found, **arrays) if arrays else found


def _input_nodes(given: Any, nodes: Any, name: str = "input_nodes") -> Any:
    """As PyG's loader takes them: numbers, or a bool a node (its input_id are the nodes then); with their type where there are several."""
    if not isinstance(nodes, dict):
        if isinstance(given, (tuple, list)) and len(given) == 2 and given[0] is None:
            given = given[1]
        if given is None:
            return torch.arange(nodes)
        mask, found = _checks.masked(given, name, nodes, "nodes")
        _checks.within(found, nodes, f"{name}:", "nodes")
        return _checks.tensor(_checks.host(given, name) if mask else found, name)
    kind, which = (given, None) if isinstance(given, str) else given if isinstance(given, (tuple, list)) and len(given) == 2 else (None, None)
    if not isinstance(kind, str):
        raise UsageError(f"input_nodes is {_checks.told(given)}; there are several types of nodes, so give one of them, as 'paper' or ('paper', mask)")
    if kind not in nodes:
        raise UsageError(f"input_nodes: the data have no nodes of type '{kind}'; the types are {list(nodes)}")
    return kind, _input_nodes(which, nodes[kind])


def _input_edges(data: Any, given: Any, nodes: Any) -> Any:
    """(type, pairs), as PyG's loader takes them of data of any kind; where there is one type, it comes as None."""
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
                raise UsageError(f"edge_label_index: the data have no nodes of type '{end}'; the types are {list(nodes)}")
    elif isinstance(given, (tuple, list)) and len(given) == 2 and given[0] is None:
        given = given[1]
    if given is None:
        stores = not isinstance(data, (Data, HeteroData))
        if kind is not None and kind not in ([tuple(a.edge_type) for a in data[1].get_all_edge_attrs()] if stores else data.edge_types):
            raise UsageError(f"edge_label_index: the data have no edges of type {kind}; give pairs too")
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
    """As they were given, since a mini-batch hands them over so."""
    times_of(given, name, count, of)
    return _checks.tensor(given, name)


def _each(given: Any, name: str, count: int, of: str) -> torch.Tensor:
    found: torch.Tensor = _checks.tensor(given, name)
    if not found.dim() or found.size(0) != count:
        raise UsageError(f"{name}: {found.size(0) if found.dim() else 'a number'} for {count} {of}; give each one")
    return found


class NeighborLoader(_Joins, torch_geometric.loader.NeighborLoader, _Loader):  # type: ignore[misc]
    """torch_geometric.loader.NeighborLoader over Garner: the same arguments, the same mini-batches.

    device: samples and gathers, as 'cuda:1'; None: where the data or a table of theirs lie on a GPU, that one, else torch's current GPU where
    there is one; 'cpu'. Attributes in host memory stay there and are registered for the GPU; short rows (labels, masks, times) and the hottest
    rows of others are copied to it. On a GPU no workers are started: num_workers and what goes with it are accepted and ignored.
    feature_cache: bytes of GPU memory for these copies; "auto": what is free, less `reserve` bytes (None: a quarter of all) for the model.
    Which rows a training reads most is sampled beforehand. A table of garner.tiered stays as it was made.
    graph_cache: bytes of GPU memory for the adjacency, of which the rest stays in host memory (the most read by scores=, one per node, by type where
    there are several); None: all of it, where it fits.
    graph: a garner.Graph in place of the data's edge_index, as garner.open has it; of Data, whose nodes are its.
    labor: nodes of a mini-batch keep the same neighbors where they can, so that fewer rows are read (LABOR-0); not with replace, weight_attr, time_attr.
    loading: options of garner.Loader: prefetch, window, strategy, window_bytes, cache, reads, merge_reads, multiprocessors, keep_times.
    rank, ranks: this one of several processes takes its share of the input nodes, which all of them get whole, and as many mini-batches as the
    others: as torch's DistributedSampler has it, whose epoch goes on by itself. ranks="torchrun": as torch.distributed says where it is initialized,
    and then the ranks compare their input nodes: a RankError where they differ, since the script split them already. Where it is not initialized,
    RANK and WORLD_SIZE of the environment are used, and the nodes are not compared. None: they are not split.
    Rows may be those of garner.torch.remote_rows, and a graph in a GraphStore that of garner.torch.remote_graph: they come by windows of mini-batches
    (loading's window, 8) while others are learned from. Then all ranks have as many mini-batches, and stop behind the same one.
    What a mini-batch samples is a function of its epoch's seed, taken from torch's generator (generator=) when the iterator is made, and of its
    number: torch.manual_seed repeats an epoch, for any num_workers.
    `report`: the times of an epoch; explain(): where each thing lies; state_dict() and load_state_dict(): the position of the iteration.
    Errors: UsageError where options contradict each other, IdError for a node that does not exist.
    """

    @takes_old_names
    def __init__(self, data: Any, num_neighbors: Any, input_nodes: Any = None, input_time: Any = None, replace: bool = False,
                 subgraph_type: Any = "directional", disjoint: bool = False, temporal_strategy: str = "uniform", time_attr: str | None = None,
                 weight_attr: Any = None, transform: Callable[[Any], Any] | None = None,
                 transform_sampler_output: Callable[[Any], Any] | None = None, is_sorted: bool = False, filter_per_worker: bool | None = None,
                 neighbor_sampler: Any = None, directed: bool = True, *, device: Any = None, feature_cache: int | str = "auto",
                 graph_cache: int | str | None = None, reserve: int | str | None = None, scores: Any = None,
                 graph: Any = None, labor: bool = False, loading: Mapping[str, Any] | None = None, rank: int | None = None,
                 ranks: int | str | None = None, **kwargs: Any) -> None:
        data, neighbor_sampler = self._made(data, neighbor_sampler, locals(), kwargs)
        nodes = _nodes_of(data, neighbor_sampler)
        _require_rows(data, nodes)
        chosen = count = None
        if nodes is not None:
            input_nodes = _input_nodes(input_nodes, nodes)
            chosen = input_nodes[1] if isinstance(input_nodes, tuple) else input_nodes
            count = int(chosen.sum()) if chosen.dtype == torch.bool else chosen.numel()
            if input_time is not None:
                input_time = _times(input_time, "input_time", count, "input nodes")
            elif isinstance(neighbor_sampler, NeighborSampler):
                neighbor_sampler.require_times(input_nodes[0] if isinstance(input_nodes, tuple) else None)
            _require_positions(kwargs, count, "input nodes")
            if kwargs.get("input_id") is not None:
                kwargs["input_id"] = _each(_checks.int64(kwargs["input_id"], "input_id"), "input_id", count, "input nodes")
        self._split(rank, ranks, chosen, count, kwargs)
        super().__init__(data, num_neighbors, input_nodes, input_time, replace, subgraph_type, disjoint, temporal_strategy, time_attr, weight_attr,
                         transform, transform_sampler_output, is_sorted, filter_per_worker, neighbor_sampler, directed, **kwargs)

    def _over_ranks(self, draws: Draws, seed: int) -> Iterator[Any]:
        """The mini-batches; all ranks sample a window of them together, ahead."""
        batches: Any = self.batch_sampler
        order = _order_of(batches.sampler)
        if batches.drop_last:
            order = order[:len(batches) * batches.batch_size]
        for blocks, index in windows_ahead(draws.windows(self.input_data.node, order, batches.batch_size, self._window, mixed(seed, 0))):
            inputs = self.input_data[index]
            out = self.node_sampler._output(blocks, [None], {})
            out.metadata = (inputs.input_id, inputs.time)
            yield self.filter_fn(self.node_sampler._finished(out))

    def _sampler(self) -> Any:
        return self.node_sampler

    def _sampled(self, inputs: Any, **draw: Any) -> Any:
        return self.node_sampler.sample_from_nodes(inputs, **draw)

    def _planned(self, inputs: Any, draw: int) -> Any:
        return self.node_sampler.plan_nodes(inputs)

    def _label(self, data: Any, out: Any) -> None:
        store = data if isinstance(out, SamplerOutput) else data[self.input_data.input_type]
        store.input_id = out.metadata[0]
        store.seed_time = out.metadata[1]
        store.batch_size = out.metadata[0].size(0)


class LinkNeighborLoader(_Joins, torch_geometric.loader.LinkNeighborLoader, _Loader):  # type: ignore[misc]
    """torch_geometric.loader.LinkNeighborLoader over Garner: the same arguments, the same mini-batches. Else as NeighborLoader."""

    _input = "edges to learn from"

    @takes_old_names
    def __init__(self, data: Any, num_neighbors: Any, edge_label_index: Any = None, edge_label: Any = None, edge_label_time: Any = None,
                 replace: bool = False, subgraph_type: Any = "directional", disjoint: bool = False, temporal_strategy: str = "uniform",
                 neg_sampling: Any = None, neg_sampling_ratio: float | None = None, time_attr: str | None = None, weight_attr: Any = None,
                 transform: Callable[[Any], Any] | None = None, transform_sampler_output: Callable[[Any], Any] | None = None,
                 is_sorted: bool = False, filter_per_worker: bool | None = None, neighbor_sampler: Any = None, directed: bool = True, *,
                 device: Any = None, feature_cache: int | str = "auto", graph_cache: int | str | None = None, reserve: int | str | None = None,
                 scores: Any = None, graph: Any = None, labor: bool = False, loading: Mapping[str, Any] | None = None, rank: int | None = None,
                 ranks: int | str | None = None, **kwargs: Any) -> None:
        data, neighbor_sampler = self._made(data, neighbor_sampler, locals(), kwargs)
        nodes = _nodes_of(data, neighbor_sampler)
        _require_rows(data, nodes)
        pairs = count = None
        if nodes is not None:
            kind, pairs = _input_edges(data, edge_label_index, nodes)
            edge_label_index = pairs if isinstance(data, Data) else (kind, pairs)
            count = pairs.size(1)
            if edge_label is not None:
                edge_label = _each(edge_label, "edge_label", count, "edges of edge_label_index")
            if edge_label_time is not None:
                edge_label_time = _times(edge_label_time, "edge_label_time", count, "edges of edge_label_index")
            ends = (nodes, nodes) if kind is None else (nodes[kind[0]], nodes[kind[-1]])
            neg_sampling, neg_sampling_ratio = _negatives(neg_sampling, neg_sampling_ratio, ends), None
            _require_positions(kwargs, count, "edges of edge_label_index")
            if kwargs.get("input_id") is not None:
                kwargs["input_id"] = _each(_checks.int64(kwargs["input_id"], "input_id"), "input_id", count, "edges of edge_label_index")
        self._split(rank, ranks, pairs, count, kwargs)
        super().__init__(data, num_neighbors, edge_label_index, edge_label, edge_label_time, replace, subgraph_type, disjoint, temporal_strategy,
                         neg_sampling, neg_sampling_ratio, time_attr, weight_attr, transform, transform_sampler_output, is_sorted,
                         filter_per_worker, neighbor_sampler, directed, **kwargs)

    def _sampler(self) -> Any:
        return self.link_sampler

    def _sampled(self, inputs: Any, **draw: Any) -> Any:
        return self.link_sampler.sample_from_edges(inputs, neg_sampling=self.neg_sampling, **draw)

    def _planned(self, inputs: Any, draw: int) -> Any:
        return self.link_sampler.plan_edges(inputs, self.neg_sampling, draw)

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
        # Remove the data's own, which are of other edges.
        if not hetero or kind in data.edge_types:
            del store.edge_label_index
            del store.edge_label_time
