"""garner.torch.loader: mini-batches for a loop of plain torch; and how loaders number what they draw. Needs torch."""
from __future__ import annotations

import copy
import dataclasses
import inspect
import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np
import torch
import torch.utils.dlpack

from . import _checks, hetero, links, notebook, pipeline
from ._arguments import keywords_of, renew, require_known, takes_old_names
from ._garner import BlockSampler, Graph, HeteroGraph, SplitSampler
from .errors import InputError, UsageError
from .operators import Edges
from .pipeline import Ahead, Budget, Field, ahead_options, drawn_seed, mixed, own_rows, rows_of, tensor_of, window_alone
from .remote import RemoteRows
from .shares import share_of_seeds
from .split import Draws, RemoteGraph, most_together, windows_ahead

if TYPE_CHECKING:
    from typing_extensions import Self

Each = TypeVar("Each")  # a tensor, or of several types a dict of them
Counts = TypeVar("Counts")
Batch = TypeVar("Batch", bound="AnyMiniBatch[Any, Any]")
_numbers = "numbers of edges"  # a field's name


@dataclasses.dataclass
class AnyMiniBatch(Generic[Each, Counts]):
    x: Any  # rows of n_id, or None
    y: Any  # rows of the seeds, of links those of the nodes at their ends, or None
    edge_index: Each  # shape (2, edges): from row 0 to row 1, by numbers in n_id
    n_id: Each  # positions of the vertices among Graph.ids()
    batch_size: int
    num_sampled_nodes: Counts  # the seeds, then how many each hop reached first
    num_sampled_edges: Counts  # a hop each; none of an induced subgraph
    input_id: torch.Tensor  # which of the loader's seeds or links these are
    e_id: Each | None = None  # edge_ids: where each edge stands in its lists
    batch: Each | None = None  # disjoint: which seed, or link, each vertex belongs to
    edge_attr: Any = None  # rows of the edges
    seed_time: torch.Tensor | None = None  # where seed_times were given, with those of negative pairs
    # Of links, by numbers in n_id: pairs, the negatives behind the others, and their labels; or the ends of triplets.
    edge_label_index: torch.Tensor | None = None
    edge_label: torch.Tensor | None = None
    src_index: torch.Tensor | None = None
    dst_pos_index: torch.Tensor | None = None
    dst_neg_index: torch.Tensor | None = None  # shape (links,), of several negatives a link (links, amount)

    def to(self, device: Any, non_blocking: bool = False) -> Self:
        """The same with its tensors there."""
        def there(value: Any) -> Any:
            if isinstance(value, dict):
                return {key: there(one) for key, one in value.items()}
            return value.to(device, non_blocking=non_blocking) if isinstance(value, torch.Tensor) else value
        return dataclasses.replace(self, **{field.name: there(getattr(self, field.name)) for field in dataclasses.fields(self)})


@dataclasses.dataclass
class MiniBatch(AnyMiniBatch[torch.Tensor, list[int]]):
    """What one step learns from. The first batch_size nodes are the seeds; of links the first num_sampled_nodes[0] are those at their ends."""

    @property
    def edges(self) -> list[torch.Tensor]:
        """The edge_index of each hop, the seeds' first; of an induced subgraph all of it. A model of as many layers uses the last first."""
        if not self.num_sampled_edges:
            return [self.edge_index]
        return list(torch.split(self.edge_index, self.num_sampled_edges, dim=1))


@dataclasses.dataclass
class HeteroMiniBatch(AnyMiniBatch[dict[Any, torch.Tensor], dict[Any, list[int]]]):
    """The same of several types: x, y, n_id, batch and num_sampled_nodes are dicts by type, edge_index, e_id and num_sampled_edges by relation, as
    models of PyG's to_hetero and HeteroConv take x and edge_index. Seeds are the first of their types."""

    @property
    def edges(self) -> list[dict[Any, torch.Tensor]]:
        """The edge_index of each hop, the seeds' first; of an induced subgraph all of it. A model of as many layers uses the last first."""
        hops = {t: torch.split(self.edge_index[t], counts, dim=1) for t, counts in self.num_sampled_edges.items() if counts}
        return [dict(zip(hops, of_hop)) for of_hop in zip(*hops.values())] or [self.edge_index]


class Loader(Generic[Batch]):
    """Made by garner.torch.loader. len() mini-batches an epoch; `epoch` is the one that comes next, and may be set. state_dict() and
    load_state_dict(): where it is; the loader that takes them goes on with the very next mini-batch."""

    _idle: tuple[pipeline.Tables, Ahead] | None = None  # of the epoch before
    _ascends = True  # the columns of edges; by rule='all' each hop begins at the seeds again
    _works: Ahead | None = None
    _report: dict[str, Any] = {}

    def __init__(self, make_sampler: Callable[[], BlockSampler] | None, seeds: torch.Tensor, x: dict[Any, Any], y: dict[Any, Any], batch_size: int,
                 shuffle: bool, drop_last: bool, seed: int | None, seed_times: torch.Tensor | None, rank: int, ranks: int, loading: dict[str, Any] | None = None,
                 cache: Budget | None = None, num_nodes: Mapping[Any, int] = {}, relations: Sequence[Any] = (None,), seed_type: Any = None,
                 of_links: links.Links | None = None, edge_attr: dict[Any, Any] = {}, edge_numbers: Mapping[Any, Any] = {}) -> None:
        """make_sampler: None: of a graph that is split over ranks, whose `draws` whoever makes it sets. x, y, num_nodes: by type, None where there is
        one. seeds: of seed_type; of links their sources. edge_attr: by relation; edge_numbers: of the entries of its lists, by which it has rows."""
        self._make_sampler = make_sampler
        self.sampler: Any = None if make_sampler is None else make_sampler()
        self.draws: Draws | None = None
        self.seeds, self.seed_type, self.links = seeds, seed_type, of_links
        self.num_nodes, self.relations = num_nodes, list(relations)
        self.x, self.y = x.get(None), y  # x: rows of other ranks are of a graph of one type
        self._near_x = {} if isinstance(self.x, RemoteRows) else x
        self.edge_attr, self._edge_numbers = edge_attr, edge_numbers
        self.batch_size, self.shuffle, self.drop_last = batch_size, shuffle, drop_last
        self.seed, self.seed_times, self.epoch = seed, seed_times, 0
        self.rank, self.ranks = rank, ranks
        self.loading = loading or {}
        self._cache = cache or Budget("cpu")
        self._tables: pipeline.Tables | None = None
        self._tables_of: list[Any] = []
        self._beginning = threading.Lock()
        self._at: tuple[int, int] | None = None  # the seed of the epoch under way, and how many of its mini-batches were handed over
        self._resumed: tuple[int, int] | None = None

    def __len__(self) -> int:
        whole, rest = divmod(-(-self.seeds.numel() // self.ranks), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def _about(self) -> dict[str, Any]:
        return {"mini-batches": len(self), "seeds": self.seeds.numel(), "batch_size": self.batch_size, "shuffle": self.shuffle,
                "device": getattr(self.sampler, "device", "several ranks"), "epoch": self.epoch}

    def __repr__(self) -> str:
        return f"<garner.torch.Loader {', '.join(f'{name}={value}' for name, value in self._about().items())}>"

    def _repr_html_(self) -> str:
        return notebook.table("garner.torch.loader", self._about())

    def __iter__(self) -> Iterator[Batch]:
        # All ranks need the same order, and over a split graph the same numbers; torch's generators may differ.
        shared = 0 if self.ranks > 1 or self.draws is not None else None
        known = shared if self.seed is None else self.seed
        with self._beginning:
            epoch, self.epoch = self.epoch, self.epoch + 1
            resumed, self._resumed = self._resumed, None
        seed, first = resumed or (drawn_seed() if known is None else mixed(known, epoch), 0)
        return self._told_of(self._epoch(seed, first), seed, first)

    def _told_of(self, batches: Iterator[Batch], seed: int, first: int) -> Iterator[Batch]:
        self._at = seed, first
        for k, batch in enumerate(batches, first + 1):
            self._at = seed, k
            yield batch
        self._at = None

    def state_dict(self) -> dict[str, Any]:
        """Where it is: how many mini-batches of the epoch under way have been handed over."""
        at = self._resumed or self._at
        return {"epoch": self.epoch - (self._at is not None), "seed": None if at is None else at[0], "handed_over": 0 if at is None else at[1],
                "batch_size": self.batch_size}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iteration begins with the mini-batch behind the last that was handed over. The loader must be made as that one was."""
        if set(state) != {"epoch", "seed", "handed_over", "batch_size"}:
            raise InputError(f"load_state_dict: keys {sorted(state)}; give what state_dict() of such a loader returned")
        if state["batch_size"] != self.batch_size:
            raise InputError(f"load_state_dict: of mini-batches of {state['batch_size']}, and this loader has {self.batch_size}; make it as that one was")
        self.epoch = int(state["epoch"])
        self._at, self._resumed = None, None if state["seed"] is None else (int(state["seed"]), int(state["handed_over"]))

    @property
    def report(self) -> dict[str, Any]:
        """What the epoch under way, else the last one, took, as garner.Loader.report has it. Empty before the first, and for a graph or
        features that are split over ranks."""
        return self._report if self._works is None else self._works.loader.report()

    def explain(self) -> str:
        """Where it samples, where each thing lies, and what is done ahead."""
        if self.draws is not None or isinstance(self.x, RemoteRows):
            return f"a graph or features split over {self.ranks} ranks, which come by windows of {self.window} mini-batches while others are learned from"
        return "\n".join([f"samples and gathers on {self.sampler.device}, ahead of the caller", f"adjacency: {self.sampler.summary()}",
                          *self._placed().summary(pipeline.named)])

    @property
    def window(self) -> int:
        """How many mini-batches request rows and adjacency of other ranks together."""
        return self.loading.get("window") or 8

    def _epoch(self, seed: int, first: int) -> Iterator[Batch]:
        if isinstance(self.x, RemoteRows):
            yield from itertools.islice(self.x.prefetch(self._drawn(seed, 0), self.window), first, None)
        elif self.draws is not None:
            for drawn, input_id in itertools.islice(windows_ahead(self._windows(seed)), first, None):
                yield self._told(drawn, input_id, self._begin(input_id, 0))
        else:
            yield from self._drawn(seed, first)

    def _order(self, seed: int) -> torch.Tensor:
        """Which of the seeds this rank takes, one after the other."""
        count = self.seeds.numel()
        order = torch.randperm(count, generator=torch.Generator().manual_seed(seed)) if self.shuffle else torch.arange(count)
        if self.ranks == 1:
            return order
        return order[torch.arange(self.rank, self.rank + -(-count // self.ranks) * self.ranks, self.ranks) % count]  # as garner.Loader shares them

    def _windows(self, seed: int) -> Iterator[list[tuple[Any, torch.Tensor]]]:
        """The windows of an epoch over a graph that is split."""
        assert self.draws is not None
        return self.draws.windows(self.seeds, self._order(seed)[:len(self) * self.batch_size], self.batch_size, self.window, mixed(seed, 0))

    def _begin(self, input_id: torch.Tensor, number: int) -> links.Seeds:
        """What the mini-batch of these seeds or links begins at. number: by which it samples."""
        times, of = None if self.seed_times is None else self.seed_times[input_id], self.links
        if of is None:
            return links.Seeds({self.seed_type: self.seeds[input_id]}, {} if times is None else {self.seed_type: times}, {"seed_time": times})
        source, target = of.types
        return links.seeds_of(of.row[input_id], of.col[input_id], None if of.label is None else of.label[input_id], times, of.types,
                              (self.num_nodes[source], self.num_nodes[target]), (of.node_time.get(source), of.node_time.get(target)), of.disjoint,
                              of.negatives, number)

    def _numbered(self, begun: links.Seeds) -> list[Any]:
        """As garner.BlockSampler takes them."""
        types = list(self.num_nodes)
        return [(nodes.numpy(), types.index(t), begun.times[t].numpy() if t in begun.times else None) for t, nodes in begun.nodes.items()]

    def _given(self, seed: int, first: int) -> Iterator[tuple[list[Any], tuple[torch.Tensor, links.Seeds]]]:
        """Seeds of each mini-batch from this one on."""
        order, draws = self._order(seed), mixed(seed, 0)
        for number in range(first, len(self)):
            input_id = order[number * self.batch_size:(number + 1) * self.batch_size]
            begun = self._begin(input_id, draws + number)
            yield self._numbered(begun), (input_id, begun)

    def _drawn(self, seed: int, first: int) -> Iterator[Batch]:
        if self.draws is not None:
            for window in self._windows(seed):
                for drawn, input_id in window:
                    yield self._told(drawn, input_id, self._begin(input_id, 0))
            return
        with self._beginning:  # another iterator of the same time has one of its own, and a sampler
            placed = self._placed()
            kept, self._idle = self._idle, None
            if kept is None or kept[0] is not placed or kept[1].sampler.lent:  # to another loader meanwhile
                kept = placed, self._made_ahead(placed)
            ahead = kept[1]
            ahead.begin(mixed(seed, 0) + first)
        try:
            self._works = ahead
            for batch, (input_id, begun) in ahead.run(self._given(seed, first)):
                yield self._told(batch, input_id, begun, placed)
                del batch
        finally:
            self._report, self._works, self._idle = ahead.loader.report(), None, kept

    def _placed(self) -> pipeline.Tables:
        """Tables of x and y as they are now."""
        fields = [Field(False, t, name, value, name == "y" and self.links is None)
                  for name, values in (("x", self._near_x), ("y", self.y)) for t, value in values.items()]
        fields += [Field(True, t, name, values[t]) for name, values in ((_numbers, self._edge_numbers), ("edge_attr", self.edge_attr)) for t in values]
        key = pipeline.as_they_are(fields, self.sampler.device)
        if self._tables is not None and self._tables_of == key:
            return self._tables
        self._tables = self._idle = None  # their memory is for those that come
        counts: list[Any] = []

        def scores(field: Field) -> Any:
            if field.of_edges:
                return None
            if not counts:
                sampler = self._make_sampler() if self.sampler.lent and self._make_sampler is not None else self.sampler
                counts.extend(pipeline.counted(sampler, self._given(1, 0), list(self.num_nodes.values())))
            found = counts[list(self.num_nodes).index(field.type)]
            return found if len(found) == len(field.value) else np.append(found, np.zeros(len(field.value) - len(found), np.float32))

        made = pipeline.Tables(fields, self.sampler.device, copy.copy(self._cache), scores)
        without = {field.type: why for field, why in made.left.items() if field.name == _numbers}
        for field in [field for field in made.of if field.of_edges and field.type in without]:  # whose rows are not found ahead
            made.left[field] = without[field.type]
            del made.of[field]
        made.of = {field: made.of[field] for field in sorted(made.of, key=fields.index)}  # numbers before what has rows by them
        made.of = dict(sorted(made.of.items(), key=lambda one: (one[0].of_edges, one[0].seeds_only)))  # as their rows come
        made.warn(pipeline.named)
        self._tables, self._tables_of = made, key
        return made

    def _made_ahead(self, placed: pipeline.Tables) -> Ahead:
        """What samples and gathers ahead."""
        sampler = self._make_sampler() if self.sampler.lent and self._make_sampler is not None else self.sampler
        types = list(self.num_nodes)
        nodes = [(table, types.index(field.type)) for field, table in placed.of.items() if not (field.seeds_only or field.of_edges)]
        labels = [table for field, table in placed.of.items() if field.seeds_only]
        by = {field.type: (k, ) for k, field in enumerate(placed.of) if field.name == _numbers}
        edges = [(table, self.relations.index(field.type), *(by.get(field.type, ()) if field.name == "edge_attr" else ()))
                 for field, table in placed.of.items() if field.of_edges]
        return Ahead(sampler, nodes, labels, edges, {**self.loading, "seed_type": types.index(self.seed_type)})

    def sampled(self, input_id: torch.Tensor, number: int) -> Batch:
        """The mini-batch of these of the seeds; the number says what it draws."""
        begun = self._begin(input_id, number)
        if self.draws is not None:
            return self._told(self.draws.window([self.seeds[input_id]], number)[0], input_id, begun)
        if self.sampler.lent and self._make_sampler is not None:
            self.sampler = self._make_sampler()
        return self._told(self.sampler.sample_types(self._numbered(begun), number), input_id, begun)

    def _told(self, drawn: Any, input_id: torch.Tensor, begun: links.Seeds, placed: pipeline.Tables | None = None) -> Batch:
        """placed: the tables whose rows came with it; None: rows are gathered now."""
        stream = None if placed is None else pipeline.stream_of(pipeline.torch_device(drawn.device))
        waits = isinstance(self.x, RemoteRows)  # windows of them wait, and shall not keep the sampler's buffers

        def own(array: Any, lasting: bool) -> torch.Tensor:
            found = tensor_of(array, stream)
            return found.clone() if lasting else found

        vertices = {t: drawn.of_type(k) for k, t in enumerate(self.num_nodes)}
        edges = {t: drawn.of_relation(k) for k, t in enumerate(self.relations)}
        n_id = {t: own(some.ids, waits or placed is not None) for t, some in vertices.items()}
        edge_index = {t: own(some.edge_index, waits) for t, some in edges.items()}
        for t, some in edges.items():
            if some.by_hop and self._ascends:
                source, target = (t, t) if t is None else (t[0], t[2])
                Edges.are_sampled(edge_index[t], (vertices[source].by_hop, vertices[target].by_hop), some.by_hop)
        e_id = {t: own(some.edge, waits or placed is not None) for t, some in edges.items() if some.edge is not None}
        trees = {t: tensor_of(some.tree, stream).long() for t, some in vertices.items() if some.tree is not None}
        if begun.trees is not None:
            trees = {t: links.of_links(tree, begun.trees) for t, tree in trees.items()}
        brought = {} if placed is None else {(field.name, field.type): own_rows(drawn, k, stream) for k, field in enumerate(placed.of)}
        x = {t: brought["x", t] if ("x", t) in brought else rows_of(value, n_id[t]) for t, value in self._near_x.items()}
        y = {}
        for t, value in self.y.items():
            seeds = begun.nodes[t].numel() if t in begun.nodes else 0
            y[t] = brought["y", t][:seeds] if ("y", t) in brought else rows_of(value, n_id[t][:seeds])
            y[t] = y[t].clone() if waits else y[t]
        edge_attr = {}
        for t, value in self.edge_attr.items():
            if ("edge_attr", t) in brought:
                edge_attr[t] = brought["edge_attr", t].clone() if waits else brought["edge_attr", t]
            else:
                edge_attr[t] = rows_of(value, rows_of(self._edge_numbers[t], e_id[t]) if t in self._edge_numbers else e_id[t])
        device = next(iter(n_id.values())).device
        told = {name: None if one is None else one.to(device, non_blocking=True) for name, one in begun.told.items()}
        counts = ({t: list(some.by_hop) for t, some in of.items()} for of in (vertices, edges))
        of_each: list[Any] = [x, y, edge_index, n_id, *counts, e_id, trees, edge_attr]
        several = None not in self.num_nodes
        of_each = [(one or None) if several else one.get(None) for one in of_each]
        x, y, edge_index, n_id, nodes_by_hop, edges_by_hop, e_id, trees, edge_attr = of_each
        made: Any = HeteroMiniBatch if several else MiniBatch
        found: Batch = made(x, y, edge_index, n_id, input_id.numel(), nodes_by_hop, edges_by_hop, input_id, e_id, trees, edge_attr, **told)
        return found


@overload
def loader(graph: Graph | RemoteGraph, fanouts: Sequence[int], seeds: Any = None, **options: Any) -> Loader[MiniBatch]: ...
@overload
def loader(graph: HeteroGraph | Mapping[tuple[str, str, str], Graph], fanouts: Sequence[int] | Mapping[tuple[str, str, str], Sequence[int]], seeds: Any = None,
           **options: Any) -> Loader[HeteroMiniBatch]: ...
@takes_old_names
def loader(graph: Any, fanouts: Any, seeds: Any = None, *, x: Any = None, y: Any = None, batch_size: int = 1024, shuffle: bool = False,
           drop_last: bool = False, seed: int | None = None, seed_times: Any = None, device: Any = None, rank: int | None = None, ranks: int | str | None = None,
           feature_cache: int | str = "auto", graph_cache: int | str | None = None, reserve: int | str | None = None,
           loading: Mapping[str, Any] | None = None, edge_label_index: Any = None, edge_label: Any = None, neg_sampling: Any = None,
           num_nodes: Mapping[str, int] | None = None, edge_attr: Any = None, **options: Any) -> Loader[Any]:
    """Mini-batches of a graph and tables, for a loop of plain torch.

        for batch in garner.torch.loader(g, [15, 10, 5], train, x=garner.tiered(features), y=labels, shuffle=True):
            loss = f(model(batch.x, batch.edge_index)[:batch.batch_size], batch.y)

        for batch in garner.torch.loader(g, [10, 5], edge_label_index=pairs, neg_sampling="binary", x=x):        # links
            h = model(batch.x, batch.edge_index)[batch.edge_label_index]
            loss = f((h[0] * h[1]).sum(-1), batch.edge_label)

    graph: a Graph; or a garner.torch.remote_graph, whose adjacency is split over ranks: then all ranks make the loader with the same arguments. Several types: a dict
    of Graphs by (from, relation, to), each of as many nodes as the larger of its types has, whose edges lead from ids of the one to ids of the
    other; or what garner.open_hetero opens. Then x, y, times and scores are dicts by type (times of edges by relation), fanouts a list or a dict
    by relation, seeds ('paper', nodes) or 'paper', and what comes is a HeteroMiniBatch.
    num_nodes: by type, where neither x nor y has a row for each.
    edge_attr: rows of the edges that were sampled come too: a row for each by its e_id, which counts the edges by target, and those of a target by
    source (side='out', undirected: as Graph.csr()); of what garner.open_hetero opens a row for each edge of the dataset. Several types: by relation.
    seeds: positions of nodes among graph.ids() (of a graph without gaps its ids), or a bool per node; None: all.
    x, y: one row per node: a tensor, a NumPy array, a table of garner.tiered; x also garner.torch.remote_rows, over several machines. x comes of all nodes of a mini-batch, y of the seeds.
    seed: the order and the samples of an epoch are a function of it and of the epoch; None: of torch's generator, as it is when the epoch begins,
    with several ranks: 0, since all of them need the same order.
    rank, ranks: this one of several processes takes its share of the seeds, which all of them get whole, and as many mini-batches as the
    others. ranks="torchrun": as torch.distributed says where it is initialized (of a remote_graph those of its group), else RANK and WORLD_SIZE of the
    environment; where it is initialized the ranks compare their seeds, and seeds that differ are a RankError, since they were split already;
    where it is not, they are not compared. None: the seeds are this process's own, and are not split.
    seed_times: shape (seeds,), or one per link, for temporal=.
    edge_label_index: shape (2, links), in place of seeds; of several types (relation, pairs). Each mini-batch samples around both ends of batch_size
    links, and has their positions, as garner.pyg.LinkNeighborLoader's. edge_label: shape (links, ...).
    neg_sampling: 'binary': a pair of random nodes for each link, labelled 0 (those of edge_label count from 1 then, where one of them is 0), or a
    number of pairs a link; 'triplet', ('triplet', 5): random targets for the source of each; a dict with mode, amount, src_weight, dst_weight; or
    PyG's NegativeSampling. Negatives are no later than their links where both have times, and are a function of the mini-batch's number.
    device: samples and gathers, as 'cuda:1' or 'cpu'; None: torch's current GPU where there is one, unless a table was made for another device.
    What lies in host memory stays there, and is registered for the GPU; labels and the hottest rows of features are copied to it.
    feature_cache: bytes of GPU memory for these copies; "auto": what is free, less `reserve` bytes (None: a quarter of all) for the model.
    Which rows a training reads most is sampled beforehand. A table of garner.tiered stays as it was made.
    graph_cache: bytes of GPU memory for the adjacency, of which the rest stays in host memory; None: all of it, where it fits.
    loading: options of garner.Loader: prefetch, window, strategy, window_bytes, cache, multiprocessors, keep_times.
    options: of garner.BlockSampler: side (of one type), times, replace, disjoint, weighted, temporal, edge_ids, induced, graph_cache, scores ...; over a
    remote_graph: replace, weighted, edge_ids, and of loading window, up to 64.
    Result: Loader, which yields MiniBatch, or HeteroMiniBatch. Errors: UsageError, IdError for a seed that does not exist; RankError.
    """
    several = isinstance(graph, (HeteroGraph, Mapping))
    if not several and not isinstance(graph, (Graph, RemoteGraph)):
        raise TypeError(f"loader(): graph={_checks.told(graph)} is not a Graph; make one with garner.build, open, read or generate, or give a dict of them "
                        "by (from, relation, to)")
    relations = hetero.relations_of(graph, x, y, num_nodes) if several else None
    if relations is None:
        if num_nodes is not None:
            raise UsageError(f"num_nodes: a graph of one type says how many there are, {len(graph)}; leave it out")
        for table, name in ((x, "x"), (y, "y")):
            if table is not None:
                _checks.rows(table, name, len(graph))
    nodes: Mapping[Any, int] = {None: len(graph)} if relations is None else relations.num_nodes
    of_x, of_y = ({} if table is None else {None: table} for table in (x, y)) if relations is None else (relations.tables(x, "x"), relations.tables(y, "y"))
    of_edges: dict[Any, Any] = {}
    numbers: dict[Any, Any] = {}
    if edge_attr is not None:
        if isinstance(graph, RemoteGraph):
            raise UsageError("edge_attr: edges of a graph that is split by vertices have no rows here; open the whole graph")
        if relations is None:
            _checks.rows(edge_attr, "edge_attr", graph.info.num_edges, "edges")
            of_edges = {None: edge_attr}
        else:
            of_edges = relations.edge_rows(edge_attr)
            numbers = relations.numbers(of_edges)
        if any(isinstance(table, RemoteRows) for table in of_edges.values()):
            raise UsageError("edge_attr: rows of other ranks are those of nodes; give a table that this process can read")
        options["edge_ids"] = True
    batch_size = _checks.number(batch_size, "batch_size")
    if batch_size < 1:
        raise UsageError(f"batch_size={batch_size}: use 1 or more")
    seed = None if seed is None else _checks.number(seed, "seed")
    _require_kinds(graph, options, shuffle=shuffle, drop_last=drop_last)
    of_links = _links(graph, relations, nodes, seeds, seed_times, edge_label_index, edge_label, neg_sampling, options)
    if of_links is not None:
        kind, chosen, each = of_links.types[0], of_links.row, "links"
    else:
        kind, which = (None, seeds) if relations is None else relations.seeds(seeds)
        each, vertices = "seeds", nodes[kind]
        chosen = torch.arange(vertices) if which is None else _checks.tensor(_checks.positions(which, "seeds", vertices), "seeds")
        _checks.within(chosen, vertices, "seed", "vertices" if kind is None else f"nodes of type {kind!r}")
        times = options.get("times")
        if options.get("temporal") is not None and seed_times is None and isinstance(times, Mapping) and kind not in times:
            raise UsageError(f"temporal: seeds of type {kind!r} have no times; give seed_times=, one a seed")
    if not chosen.numel():
        raise UsageError("seeds: the list is empty; give at least one node" if of_links is None else
                         "edge_label_index: the list is empty; give at least one pair")
    for t in of_y:
        if t not in (of_links.types if of_links is not None else (kind,)):
            raise UsageError(f"y: its rows are of the seeds, and none is of type {t!r}; give y of {kind!r}, and rows of others in x")
    if seed_times is not None:
        seed_times = _checks.tensor(_checks.times(seed_times, "seed_times", chosen.numel(), each), "seed_times")
    rank, ranks = share_of_seeds(rank, ranks, chosen if of_links is None else torch.cat([of_links.row, of_links.col]), each,
                                 group=graph.group if isinstance(graph, RemoteGraph) else None)
    if drop_last and -(-chosen.numel() // ranks) < batch_size and ranks > 1:
        raise UsageError(f"{-(-chosen.numel() // ranks)} seeds per rank do not fill one mini-batch of {batch_size}, and drop_last leaves smaller ones out; use a smaller batch_size")
    automatic = device is None
    device = pipeline.device_of(device, [*of_x.values(), *of_y.values()])
    if graph_cache is not None:
        options["graph_cache"] = pipeline.bytes_of(graph_cache, "graph_cache")
        if not isinstance(graph, RemoteGraph) and not pipeline.gpu_memory(device, graph_cache=graph_cache):
            options["graph_cache"] = None
    whole = [graph] if isinstance(graph, Graph) else [] if relations is None else list(relations.graphs.values())
    if pipeline.is_gpu(device):
        try:
            for one in whole:
                one.to(device, "host" if options.get("graph_cache") is not None else None)  # no change where it can be read there
        except UsageError:
            if not automatic:
                raise
            pipeline.warn_once("garner.torch.loader samples on the CPU, since the graph is in use there; make the loader before other users of the graph, or "
                               "use device='cpu'")
            device = "cpu"
    asked = ahead_options(loading)
    if isinstance(graph, RemoteGraph):
        made: Loader[MiniBatch] = Loader(None, chosen, of_x, of_y, batch_size, bool(shuffle), bool(drop_last), seed, seed_times, rank, ranks, asked,
                                         num_nodes=nodes)
        return _over_ranks(graph, _checks.fanouts(fanouts), device, options, made)
    if relations is None:
        hops = _checks.fanouts(fanouts)
        make = lambda: BlockSampler(graph, hops, device=device, **options)  # noqa: E731
    else:
        make = relations.make_sampler(fanouts, device, options)
    found: Loader[Any] = Loader(make, chosen, of_x, of_y, batch_size, bool(shuffle), bool(drop_last), seed, seed_times,
                  rank, ranks, asked, Budget(device, feature_cache, reserve), nodes, (None,) if relations is None else list(relations.graphs), kind, of_links,
                  of_edges, numbers)
    found._ascends = options.get("rule", "last") == "last"
    return found


def _require_kinds(graph: Any, options: dict[str, Any], **flags: Any) -> None:
    """Checks the types of options, and that those which go together are set together."""
    mine = inspect.signature(loader).parameters
    taken = {*keywords_of(BlockSampler), *(keywords_of(SplitSampler) if isinstance(graph, RemoteGraph) else ())} - set(mine)
    renew("garner.torch.loader", taken, options)
    require_known("garner.torch.loader", options, taken, mine)
    for name, value in flags.items():
        _checks.flag(value, name)
    for name in {"replace", "disjoint", "weighted", "labor", "edge_ids", "induced", "edges"} & options.keys():
        options[name] = _checks.flag(options[name], name)
    if options.get("scores") is not None and isinstance(graph, (Graph, RemoteGraph)):
        _checks.scores(options["scores"], len(graph), "vertices")
    if options.get("times") is not None and options.get("temporal") is None:
        raise UsageError("times are given, and temporal is not; use temporal='uniform' or 'last', or leave times out")


def _links(graph: Any, relations: hetero.Relations | None, num_nodes: Mapping[Any, int], seeds: Any, seed_times: Any, given: Any, label: Any,
           neg_sampling: Any, options: Mapping[str, Any]) -> links.Links | None:
    """What edge_label_index= and its companions hold; None: mini-batches begin at nodes."""
    temporal, times = options.get("temporal") is not None, options.get("times")
    if seed_times is not None and not temporal and not isinstance(graph, RemoteGraph):
        raise UsageError("seed_times are given, and temporal is not; use temporal='uniform' or 'last', or leave seed_times out")
    if given is None:
        for value, name in ((label, "edge_label"), (neg_sampling, "neg_sampling")):
            if value is not None:
                raise UsageError(f"{name} is set and edge_label_index is not; give the pairs of the links there")
        return None
    if seeds is not None:
        raise UsageError("seeds and edge_label_index: mini-batches begin at nodes or at links; give one of the two")
    if isinstance(graph, RemoteGraph):
        raise UsageError("edge_label_index: links are not sampled over a graph that is split by vertices; give the nodes at their ends as seeds, or open the "
                         "whole graph")
    kind, pairs = (None, given) if relations is None else relations.links(given)
    types = (None, None) if kind is None else (kind[0], kind[2])
    row, col = (_checks.tensor(_checks.int64(end, "edge_label_index"), "edge_label_index") for end in _checks.pairs(pairs, "edge_label_index"))
    for k, ends in enumerate((row, col)):
        _checks.within(ends, num_nodes[types[k]], f"edge_label_index[{k}]:", "nodes" if types[k] is None else f"nodes of type {types[k]!r}")
    negatives = links.negatives_of(neg_sampling, num_nodes[types[0]], num_nodes[types[1]])
    if label is not None:
        label = _checks.tensor(label, "edge_label")
        if not label.dim() or len(label) != len(row):
            raise UsageError(f"edge_label: {len(label) if label.dim() else 'a number'} for {len(row)} links; give each one")
        if negatives is not None and not negatives.is_binary():
            raise UsageError("edge_label: triplets have no labels; leave it out, or use neg_sampling='binary'")
        if negatives is not None and label.numel() and label.min() == 0:  # which negatives have
            label = label + 1
    if temporal and seed_times is None:
        raise UsageError("temporal: links have no times; give seed_times=, one a link")
    node_time = {t: at for t, at in times.items() if t in num_nodes} if isinstance(times, Mapping) else {} if times is None else {None: times}
    return links.Links(row, col, label, types, negatives, {t: _checks.tensor(_checks.times(at, "times"), "times") for t, at in node_time.items()},
                       temporal or bool(options.get("disjoint")))


def _over_ranks(graph: RemoteGraph, fanouts: list[int], device: Any, options: dict[str, Any], made: Loader[MiniBatch]) -> Loader[MiniBatch]:
    """A loader over a graph that is split: all ranks must draw for each other in one order."""
    if made.seed_times is not None:
        raise UsageError("seed_times: temporal sampling is not over a graph that is split by vertices; leave it out, or open the whole graph")
    window_alone(made.loading)
    if not 1 <= made.window <= most_together:
        raise UsageError(f"loading: a window of {made.window} mini-batches; use 1 to {most_together}")
    made.draws = Draws(graph, fanouts, device, options, f"{len(made)} mini-batches of {made.batch_size}, seed {made.seed}, windows of {made.window}")
    made.sampler = made.draws.sampler
    return made
