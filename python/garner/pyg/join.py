"""What stands before PyG's loaders: mini-batches are sampled, and joined with their rows.

What the user's own code must see (samplers of positions, negatives, transforms, methods of subclasses) runs in the caller's thread; sampling and
gathers run ahead of it (garner/pipeline.py). Invariant: a mini-batch is a function of its epoch's seed and its number.
"""
from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
import torch.utils.data
from torch_geometric.data import Data, HeteroData  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.sampler import HeteroSamplerOutput, SamplerOutput  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .. import making, pipeline
from ..errors import InputError, UsageError
from ..pipeline import Ahead, Budget, Field, ahead_options, drawn_seed, mixed, named, own_rows, window_alone
from ..split import Draws, most_together
from . import remote
from .inputs import Epoch, Order, Positions, Share, TorchLoader, as_tensor, known_orders, order_of, require_kinds
from .later import Brought, Later, now, of_type, pair_of, put, rows_at, set_adj, template_of, values_of
from .sampler import NeighborSampler, beginning
from .source import edge_attr_of, edges_of
from .stores import FeatureStore, kept, key_of

_perm = "numbers of edges (e_id)"  # a field's name that no attribute has


class Joins:
    """The base before PyG's own: NeighborLoader(Joins, torch_geometric.loader.NeighborLoader, TorchLoader)."""
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
    _over_ranks: Callable[[Draws, int], Iterator[Any]] | None = None  # of a loader whose windows all ranks sample together
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
        require_kinds(options, kwargs)
        self._loading = ahead_options(options["loading"])
        self._window = self._loading.get("window") or 8
        data, self._remote = remote.remote_of(data)
        workers = kwargs.get("num_workers") or 0
        device = pipeline.device_of(options["device"], values_of(data))
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
        if isinstance(share, Share):
            share.epoch = started["epoch"] = share.epoch if state is None else state["epoch"]
        try:
            self._epoch[0] = drawn_seed(self.generator)
            made = super().__iter__()  # type: ignore[misc]  # draws of torch's generator what each loader of torch does
            try:
                length = len(self)  # type: ignore[arg-type]
            except TypeError:  # of a sampler that has none, as one without an end
                length = None
            if (draws := self._draws(length)) is not None:
                if type(self.batch_sampler) is torch.utils.data.BatchSampler and type(self.batch_sampler.sampler) in known_orders and self._over_ranks is not None:
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
        return Epoch(self._followed(made, started, handed_over),
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
        keys = {"generator", "handed_over", "batch_size", *(["epoch"] if isinstance(getattr(self.batch_sampler, "sampler", None), Share) else [])}
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
        return getattr(type(self), name) is not getattr(Joins, name)

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

    def _indices(self, seed: int, first: int) -> Iterator[Positions]:
        """The positions of each mini-batch from this one on. Torch's samplers have made their order when this returns."""
        batches, number = self.batch_sampler, mixed(seed, 0)
        if type(batches) is not torch.utils.data.BatchSampler or type(batches.sampler) not in known_orders or type(self)._index_sampler is not TorchLoader._index_sampler:
            indices: Iterator[Positions] = iter(self._index_sampler)
            for _ in range(first):
                next(indices, None)
            return indices
        order, size = order_of(batches.sampler), batches.batch_size
        if batches.drop_last:
            order = order[:len(order) // size * size]
        made = (Order(order[k * size:(k + 1) * size], number + k) for k in range(first, -(-len(order) // size)))
        return map(Order.listed, made) if self._overrides("collate_fn") else made

    def _given(self, indices: Iterator[Positions]) -> Iterator[tuple[list[Any], Any]]:
        """Seeds of each mini-batch, as garner.Loader takes them, and what is to be made of it."""
        sampler = self._sampler()
        for index in indices:
            plan = self._planned(self.input_data[as_tensor(index)], index.draw)
            yield sampler._numbered(plan), (index, plan)

    def _ahead(self, indices: Iterator[Positions], draws: int) -> Iterator[Any]:
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
                brought = Brought({field: own_rows(batch, k, stream) for k, field in enumerate(placed.of)}, out, device)
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
        key = [sampler._made_for, placed]
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
            self.__dict__["_templates"] = {store._key: template_of(self.data, store) for store in self.data.stores}
            for kind, template in self._templates.items():
                found += [Field(what == "edge", kind, name, store_value) for name, what, store_value, dim in template if what in ("node", "edge") and dim == 0]
        elif type(self.data[0]) is FeatureStore:
            features, hetero = self.data[0], self._sampler().is_hetero
            sizes = (None, None) if hetero else self._sizes()
            for attr in features.get_all_tensor_attrs():
                of_edges, group = edge_attr_of(features, attr, hetero, *sizes)
                if (group, attr.attr_name) not in self._remote.tables:
                    found.append(Field(of_edges, group, attr.attr_name, kept(features)[key_of(attr)]))
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
            perm = sampler._relation(t).permutation()
            if perm is not None:  # 4 bytes are signed to a table's gather
                mine.append(Field(True, t, _perm, perm if perm.numel() < 1 << 31 else perm.to(torch.int64) & 0xffffffff))
        counts: dict[Any, Any] = {}

        def scores(field: Field) -> Any:
            if field.of_edges:
                return None
            if not counts:
                types = sampler.node_types
                state = torch.default_generator.get_state()
                counts.update(zip(types, pipeline.counted(engine, self._beforehand(), [of_type(sampler.num_nodes, t) for t in types])))
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
            yield self._sampler()._numbered(plan), None

    def collate_fn(self, index: Any) -> Any:
        out = getattr(index, "ready", None)
        if out is None:
            inputs = self.input_data[as_tensor(index)]
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
            perm = of_type(sampler.edge_permutation, edge_type)
            return edge.to(torch.int64) if perm is None else perm[edge.to(torch.int64)]
        lists = sampler._relation(edge_type)
        perm = lists.permutation()
        if perm is None or edge.device.type == "cpu":
            return lists.edges_of(edge)
        there = self.__dict__.setdefault("_perms", {})
        if edge_type not in there:  # registered for the GPU, and copied there where there is room
            there[edge_type] = making.tiered(perm, device=str(edge.device), feature_cache=self._placed().budget.take(perm.nbytes))
        found: torch.Tensor = there[edge_type][edge.to(torch.int64)]
        return found if found.dtype == torch.int64 else found.to(torch.int64) & 0xffffffff

    def _homogeneous(self, out: Any) -> Any:
        edges = self._edges(out, out.edge)
        if isinstance(self.data, Data):
            data = self._filtered(self.data, out, {None: out.node}, {None: (out.row, out.col)}, {None: edges})
            if "edge_index" not in self.data and "adj_t" not in self.data:  # the edges are those of graph=
                data.edge_index = pair_of(out, None, out.row, out.col)
        else:
            data = Data() if self.custom_cls is None else self.custom_cls()
            data.edge_index = pair_of(out, None, out.row, out.col)
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
                data[key].edge_index = pair_of(out, key, row, out.col[key])
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
                    store.edge_index = torch.stack([nothing, nothing]) if pair is None else pair_of(out, kind, *pair).to(
                        value.device if brought is None else pair[0].device)
                elif what == "adj_t":
                    set_adj(store, value, ends.get(kind, (nothing, nothing)), now(edges.get(kind)))
                else:
                    ids = edges.get(kind) if what == "edge" else node.get(kind, nothing)
                    raw = ids if what == "node" else of_type(out.edge, kind)
                    rows = None if brought is None or dim else brought.of(what == "edge", kind, name, raw)
                    if rows is None and ids is not None:
                        ids = now(ids)
                        table = placed.get((what == "edge", kind, name))
                        rows = table[ids] if table is not None and brought is not None else rows_at(value, ids, dim)
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
            raw = of_type(out.edge, group) if of_edges else index
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
                found = sampler.num_nodes, edges_of(sampler._relation(None).graph)
            else:
                row, _, _ = self.data[1].coo()
                found = sampler.num_nodes, row.numel()
            self.__dict__["_counted"] = found
        return found

    def __getstate__(self) -> dict[str, Any]:
        """To a worker: it gathers from the data by itself."""
        return {key: value for key, value in self.__dict__.items() if key not in ("_idle", "_works", "_tables", "_fields", "_perms")}
