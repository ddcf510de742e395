"""PyG's NeighborSampler over garner.BlockSampler."""
from __future__ import annotations

import os
import threading
import types
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch_geometric.sampler import BaseSampler, EdgeSamplerInput, HeteroSamplerOutput, NegativeSampling, NodeSamplerInput, SamplerOutput  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.sampler.base import DataType, NumNeighbors, SubgraphType  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.sampler.neighbor_sampler import node_sample  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .. import _checks, links
from .._arguments import takes_old_names
from .._garner import BlockSampler, Graph
from ..hetero import sampler_of
from ..operators import Edges
from ..pipeline import device_of, drawn_seed, is_gpu, tensor_of
from ..errors import KindError, UsageError
from ..split import RemoteGraph
from . import source
from .remote import RemoteSampler


beginning = threading.RLock()  # while samplers are made, and lent to loaders: several threads may share one


class Plan:
    """What a mini-batch is of: seeds and their times by type; and what is known of it before it is sampled. `trees`: of edges as seeds, which are
    disjoint: how many seeds of one side there are, and how many edges."""

    seeds: dict[Any, torch.Tensor]
    times: dict[Any, Any]
    metadata: Any

    def __init__(self, trees: tuple[int, int] | None = None) -> None:
        self.trees = trees

    def finish(self, out: Any, device: torch.device | None = None) -> None:
        """Writes it to what was sampled. device: where tensors of it go; None: they stay where they are."""
        if self.trees is not None and out.batch is not None:
            out.batch = {t: links.of_links(batch, self.trees) for t, batch in out.batch.items()} if isinstance(out.batch, dict) \
                else links.of_links(out.batch, self.trees)
        out.metadata = tuple(one.to(device, non_blocking=True) if device is not None and isinstance(one, torch.Tensor) else one for one in self.metadata)


class NeighborSampler(BaseSampler):  # type: ignore[misc]
    """As torch_geometric.sampler.NeighborSampler, and works without pyg-lib. Edges are held as graphs of garner; edge_permutation says which edge
    of the data an edge of them is.

    device: that samples: None: 'cpu'; 'cuda:1', 'simulated'. graph_cache: bytes of GPU memory for the adjacency, of which the rest stays in host memory, as "8GiB": those that
    are read most by scores, a number per node as garner.score gives them (of several types by type; one may lack); None: the first.
    graph: of Data a garner.Graph, as garner.open makes it, in place of an edge_index; as many nodes. Rows of edges stand in the order of its csr().
    weight_attr: a name; of several types also a dict, a name by type of edges: the others' edges weigh the same.
    labor: nodes of a mini-batch keep the same neighbors where they can, so that it has fewer nodes, and each node as many neighbors as else (LABOR-0:
    Balin and Catalyurek, NeurIPS 2023; as GraphBolt's sample_layer_neighbor). Not with replace, weight_attr, time_attr.
    sample_from_nodes and sample_from_edges take number=: the same number samples the same. None: one of torch's generator.
    """

    @takes_old_names
    def __init__(self, data: Any, num_neighbors: Any, subgraph_type: Any = "directional", replace: bool = False, disjoint: bool = False,
                 temporal_strategy: str = "uniform", time_attr: str | None = None, weight_attr: Any = None, is_sorted: bool = False,
                 share_memory: bool = False, directed: bool = True, sample_direction: str = "forward", *, device: Any = None,
                 graph_cache: int | str | None = None, scores: Any = None, graph: Any = None, labor: bool = False) -> None:
        if not directed:
            subgraph_type = SubgraphType.induced
            warnings.warn("'directed' is deprecated; use subgraph_type='induced' instead", DeprecationWarning, stacklevel=2)
        if sample_direction not in ("forward", "backward"):
            raise UsageError(f"sample_direction={_checks.told(sample_direction)}: use 'forward' or 'backward'")
        if sample_direction == "backward" and time_attr is not None:
            raise NotImplementedError("temporal sampling is not done backward")
        if temporal_strategy not in ("uniform", "last"):
            raise UsageError(f"temporal_strategy={_checks.told(temporal_strategy)}: use 'uniform' or 'last'")
        if weight_attr is not None and time_attr is not None:
            raise UsageError("weight_attr and time_attr: sampling by weights and temporal sampling do not go together; choose one")
        self.replace, self.disjoint, self.labor = (_checks.flag(value, name) for value, name in ((replace, "replace"), (disjoint, "disjoint"), (labor, "labor")))
        if labor and (replace or weight_attr is not None or time_attr is not None):
            other = "replace" if replace else "weight_attr" if weight_attr is not None else "time_attr"
            raise UsageError(f"labor and {other}: labor samples uniformly and without replacement; choose one")
        try:
            self.data_type = DataType.from_data(data)
        except ValueError:
            raise KindError(f"data is {_checks.told(data)}; give Data, HeteroData, or (FeatureStore, GraphStore)") from None
        self.sample_direction = sample_direction
        # is_sorted, share_memory: whether edges are sorted is seen, and their lists are shared by processes that fork.
        self.device = "cpu" if device is None else device_of(device, [])
        self._source = source.read(data, time_attr, weight_attr, sample_direction == "backward", graph, device=self.device)
        self._weighted = weight_attr is not None
        self.num_neighbors = num_neighbors
        try:
            self.subgraph_type = SubgraphType(subgraph_type)
        except ValueError:
            raise UsageError(f"subgraph_type is {_checks.told(subgraph_type)}; use 'directional', 'bidirectional' or 'induced'") from None
        self.temporal_strategy = temporal_strategy
        self.keep_orig_edges = False
        self.graph_cache = graph_cache
        self._scores = None if scores is None else self._source.scores_of(scores)
        self._made: tuple[Any, BlockSampler | RemoteSampler | None, list[Any]] | None = None
        self._at: Any = None  # where the lists were brought
        self._permutations: dict[Any, torch.Tensor | None] | None = None  # as int64, once one was used
        if self.disjoint and self.subgraph_type == SubgraphType.induced:
            raise UsageError("subgraph_type='induced' of disjoint or temporal trees is not defined; choose one of the two")

    # --- what PyG's has too ---
    @property
    def num_neighbors(self) -> Any:
        return self._num_neighbors

    @num_neighbors.setter
    def num_neighbors(self, num_neighbors: Any) -> None:
        asked = num_neighbors if isinstance(num_neighbors, NumNeighbors) else None
        values, default = (num_neighbors, None) if asked is None else (asked.values, asked.default)
        if isinstance(values, Mapping):
            if not self.is_hetero:
                raise UsageError("num_neighbors is by type of edges, and there is one type alone; give a list")
            values = {t: _checks.fanouts(f, f"num_neighbors[{t!r}]") for t, f in values.items()}
        else:
            values = _checks.fanouts(values, "num_neighbors")
        try:
            self._num_neighbors = NumNeighbors(values, None if default is None else _checks.fanouts(default, "num_neighbors.default"))
            self._num_neighbors.get_values(self.edge_types if self.is_hetero else None)
        except ValueError as e:  # PyG looks at types of edges and hops
            raise e if isinstance(e, UsageError) else UsageError(f"num_neighbors is {_checks.told(num_neighbors)}: {e}; give each type of edges a list "
                                                                 f"of as many hops; the types are {self.edge_types}") from None

    @property
    def is_hetero(self) -> bool:
        return self._source.hetero

    @property
    def is_remote(self) -> bool:
        """Whether it draws from a graph that is split over ranks."""
        return any(isinstance(lists.graph, RemoteGraph) for lists in self._source.lists.values())

    @property
    def node_types(self) -> list[Any]:
        return self._source.node_types

    @property
    def edge_types(self) -> list[Any]:
        return self._source.edge_types

    @property
    def _index(self) -> torch.dtype:
        """The dtype of nodes and ends of edges, as the edge_index of the first type of edges has them: int64, or int32."""
        return torch.int32 if any(lists.narrow for lists in list(self._source.lists.values())[:1]) else torch.int64

    @property
    def num_nodes(self) -> Any:
        return self._source.num_nodes if self.is_hetero else self._source.num_nodes[None]

    @property
    def node_time(self) -> Any:
        times = self._source.node_time
        return (times if self.is_hetero else times[None]) if times else None

    @property
    def edge_time(self) -> Any:
        times = self._source.edge_time
        return (times if self.is_hetero else times[None]) if times else None

    @property
    def is_temporal(self) -> bool:
        return bool(self._source.node_time or self._source.edge_time)

    @property
    def disjoint(self) -> bool:
        return self._disjoint or self.is_temporal

    @disjoint.setter
    def disjoint(self, disjoint: bool) -> None:
        self._disjoint = disjoint

    @property
    def edge_permutation(self) -> Any:
        """The edge of the data for each entry of the lists, int64; None: entry k is edge k. Made at the first call; edges_of() takes less memory."""
        if self._permutations is None:
            perms = {t: lists.permutation() for t, lists in self._source.lists.items()}
            self._permutations = {t: perm if perm is None or perm.dtype == torch.int64 else perm.to(torch.int64).bitwise_and_(0xffffffff)
                                  for t, perm in perms.items()}
        return self._permutations if self.is_hetero else self._permutations[None]

    def edges_of(self, entries: torch.Tensor, edge_type: Any = None) -> torch.Tensor:
        """The edges of the data for entries of the lists, as `edge` of an output names them: int64, where the entries lie."""
        return self._source.lists[edge_type].edges_of(entries)

    def _relation(self, edge_type: Any) -> source.Lists:
        """What of the data's edges of this type is sampled."""
        return self._source.lists[edge_type]

    def sample_from_nodes(self, index: NodeSamplerInput, *, number: int | None = None, **kwargs: Any) -> Any:
        return self._sample_plan(self.plan_nodes(NodeSamplerInput.cast(index)), drawn_seed() >> 3 if number is None else number)

    def sample_from_edges(self, index: EdgeSamplerInput, neg_sampling: NegativeSampling | None = None, *, number: int | None = None) -> Any:
        number = drawn_seed() >> 3 if number is None else number
        return self._sample_plan(self.plan_edges(EdgeSamplerInput.cast(index), NegativeSampling.cast(neg_sampling), number), number)

    # --- plans of what is sampled: the pipeline carries them out ahead, the calls above at once ---
    def plan_nodes(self, inputs: NodeSamplerInput) -> Plan:
        plan = Plan()
        plan.metadata = node_sample(inputs, lambda seed, time: self._planned(plan, seed, time)).metadata
        return plan

    def plan_edges(self, inputs: EdgeSamplerInput, neg_sampling: NegativeSampling | None, number: int) -> Plan:
        """With its negatives, which are a function of the number."""
        if inputs.time is not None and not self.disjoint:
            raise UsageError("edges with times, and a sampler without; use time_attr=")
        _checks.pairs((inputs.row, inputs.col), "edges")
        of_types = inputs.input_type is not None
        types = (inputs.input_type[0], inputs.input_type[-1]) if of_types else (None, None)
        nodes, times = self._source.num_nodes, self._source.node_time
        found = links.seeds_of(inputs.row, inputs.col, inputs.label, inputs.time, types, (nodes.get(types[0], 1), nodes.get(types[1], 1)),
                               (times.get(types[0]), times.get(types[1])), self.disjoint, neg_sampling, number)
        plan = Plan(found.trees)
        plan.seeds, plan.times = self._seeds(found.nodes if of_types else found.nodes[None],
                                             None if inputs.time is None else found.times if of_types else found.times[None])
        plan.metadata = (inputs.input_id, *found.told.values())
        return plan

    def _planned(self, plan: Plan, seed: Any, seed_time: Any) -> Any:
        """Stands for what is sampled of these seeds, where PyG writes what else it knows of the mini-batch."""
        plan.seeds, plan.times = self._seeds(seed, seed_time)
        return types.SimpleNamespace(batch={} if self.is_hetero else torch.empty(0, dtype=torch.int64))

    def _sample_plan(self, plan: Plan, number: int) -> Any:
        out = self._sampled(plan, number)
        plan.finish(out)
        return self._finished(out)

    def _sampled(self, plan: Plan, number: int) -> Any:
        sampler, drawn = self._engine()
        blocks = None if sampler is None else sampler.sample_types(self._numbered(plan), number)
        return self._output(blocks, drawn, plan.seeds)

    def _sample(self, seed: Any, seed_time: Any = None, **kwargs: Any) -> Any:
        """As PyG's BidirectionalNeighborSampler asks its two samplers."""
        plan = Plan()
        plan.seeds, plan.times = self._seeds(seed, seed_time)
        return self._sampled(plan, drawn_seed() >> 3)

    def _numbered(self, plan: Plan) -> list[Any]:
        """Its seeds, as garner.BlockSampler takes them."""
        return [(v.numpy(), self._source.node_types.index(t), plan.times[t].numpy() if t in plan.times else None) for t, v in plan.seeds.items()]

    # --- how ---
    def _finished(self, out: Any) -> Any:
        if self.subgraph_type == SubgraphType.bidirectional:
            out = out.to_bidirectional(keep_orig_edges=self.keep_orig_edges)
        return out

    def _engine(self) -> tuple[BlockSampler | RemoteSampler | None, list[Any]]:
        """The sampler of this process for the options as they are now, and the relations that it samples; (None, []): none has
        neighbors to sample."""
        s = self._source
        values = self.num_neighbors.get_values(s.edge_types if self.is_hetero else None)
        fanouts = {t: values[t] if self.is_hetero else values for t in s.edge_types}
        induced = self.subgraph_type == SubgraphType.induced
        key = (os.getpid(), tuple(tuple(f) for f in fanouts.values()), self.replace, self.disjoint, self.labor, induced, self.temporal_strategy,
               str(self.device), self.graph_cache)
        with beginning:
            kept = self._made
            if kept is None or kept[0] != key or (kept[1] is not None and kept[1].lent):
                self._made = kept = None  # the one before releases the graphs
                self._made = kept = key, *self._make(fanouts, induced)
        return kept[1], kept[2]

    @property
    def _made_for(self) -> Any:
        """The options that engine() made its sampler for last."""
        return None if self._made is None else self._made[0]

    def _make(self, fanouts: dict[Any, list[int]], induced: bool) -> tuple[BlockSampler | RemoteSampler | None, list[Any]]:
        s, back = self._source, self.sample_direction == "backward"
        drawn = [t for t, f in fanouts.items() if any(f) or (induced and f)]
        made: BlockSampler | RemoteSampler | None = None
        at = (os.getpid(), str(self.device), self.graph_cache)
        if drawn and is_gpu(self.device) and self._at != at:
            self._at = at
            for lists in s.lists.values():
                if isinstance(lists.graph, Graph):  # into the device's memory where all of it fits, unless a budget is given for some of it
                    lists.graph.to(self.device, None if self.graph_cache is None else "host")
        if drawn and isinstance(s.lists[drawn[0]].graph, RemoteGraph):
            if self.is_temporal or self._scores is not None or self.graph_cache is not None:
                raise UsageError("a graph that is split over ranks is sampled without times, scores and budgets; leave them out")
            made = RemoteSampler(s.lists[drawn[0]].graph, fanouts[drawn[0]], self.device, replace=self.replace, disjoint=self.disjoint,
                                 weighted=self._weighted, labor=self.labor, induced=induced)
        elif drawn:
            relations = [(s.lists[t].graph, fanouts[t], *s.draws(t, back), s.lists[t].side, s.lists[t].times_of_lists() if s.edge_time else None,
                          s.lists[t].order is not None) for t in drawn]
            made = sampler_of(
                s.num_nodes, relations, {t: at.numpy() for t, at in s.node_time.items()} if self.is_temporal and not s.edge_time else None,
                bool(s.edge_time), rule="last", replace=self.replace, disjoint=self.disjoint,
                weighted=self._weighted, labor=self.labor, temporal=self.temporal_strategy if self.is_temporal else None, edge_ids=True, induced=induced,
                device=self.device, graph_cache=self.graph_cache,
                scores=None if self._scores is None else [self._scores.get(t) for t in s.node_types])
        return made, drawn

    def _seeds(self, seed: Any, seed_time: Any) -> tuple[dict[Any, torch.Tensor], dict[Any, Any]]:
        """Seeds and their times, by type."""
        s = self._source
        for t in seed if isinstance(seed, dict) else [None]:
            if t not in s.node_types:
                raise UsageError(f"seeds: the data have no nodes of type {t!r}; the types are {s.node_types}" if s.hetero else
                                 f"seeds of type {t!r}: there is one type of nodes alone; leave input_type out")
        seeds = {t: _checks.tensor(_checks.int64(v, "seeds"), "seeds") for t, v in (seed if self.is_hetero else {None: seed}).items()}
        times: dict[Any, Any] = {}
        if seed_time is not None:
            if not self.is_temporal:
                raise UsageError("seeds with times, and a sampler without; use time_attr=")
            times = {t: source.times_of(v, "seed_time") for t, v in (seed_time if self.is_hetero else {None: seed_time}).items()}
        else:
            self.require_times(*seeds)
        return seeds, times

    def require_times(self, *types: Any) -> None:
        """That nodes of these types may be seeds which nobody gives times."""
        for t in types:
            if self.is_temporal and t not in self._source.node_time:
                raise UsageError("temporal sampling from seeds " + ("" if t is None else f"of type '{t}' ") +
                                 "that have no times; give input_time= or edge_label_time=")

    def _output(self, blocks: Any, relations: list[Any], seeds: dict[Any, torch.Tensor], stream: int | None = None) -> Any:
        """What was sampled of these relations, as PyG has it. `blocks`: None: nothing but the seeds. stream: as of pipeline.tensor_of."""
        s, back = self._source, self.sample_direction == "backward"
        hops = self.num_neighbors.num_hops
        told = self.subgraph_type != SubgraphType.induced
        node: dict[Any, torch.Tensor] = {}
        batch: dict[Any, torch.Tensor] = {}
        nodes: dict[Any, list[int]] = {}
        index = self._index
        empty = torch.empty(0, dtype=index)
        pairs: dict[Any, Any] = {}  # both as one tensor, which needs no copy
        row, col = ({t: empty for t in s.edge_types} for _ in range(2))
        edge = {t: torch.empty(0, dtype=torch.int64) for t in s.edge_types}
        edges: dict[Any, list[int]] = {t: [0] * hops for t in s.edge_types}
        if blocks is None:
            trees = 0
            for t in s.node_types:
                node[t] = seeds.get(t, empty).to(index)
                nodes[t] = [node[t].numel()] + [0] * hops
                batch[t] = torch.arange(trees, trees + node[t].numel(), dtype=index)
                trees += node[t].numel()
        else:
            for k, t in enumerate(s.node_types):
                found = blocks.of_type(k)
                node[t], nodes[t] = tensor_of(found.ids, stream).to(index), list(found.by_hop)
                if self.disjoint:
                    batch[t] = _wide(tensor_of(found.tree, stream)).to(index)
            for k, t in enumerate(relations):
                got = blocks.of_relation(k)
                pair, edge[t] = tensor_of(got.edge_index, stream).to(index), tensor_of(got.edge, stream)
                row[t], col[t] = pair[0], pair[1]
                edges[t] = list(got.by_hop)
                if not back:
                    pairs[t] = pair, row[t], col[t]
                if not back and told:
                    source_type, target_type = source.ends_of(t)
                    Edges.are_sampled(pair, (nodes[source_type], nodes[target_type]), edges[t])
        if back:
            row, col = col, row
        out = HeteroSamplerOutput(node, row, col, edge, batch if self.disjoint else None, nodes if told else None, edges if told else None) \
            if self.is_hetero else SamplerOutput(node[None], row[None], col[None], edge[None], batch[None] if self.disjoint else None,
                                                 nodes[None] if told else None, edges[None] if told else None)
        out._pairs = pairs
        return out

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": None, "_at": None, "_permutations": None}  # made anew where it is used


def _wide(trees: torch.Tensor) -> torch.Tensor:
    """As int64. At the host by NumPy: threads that torch wakes for this spin for a while on the cores that draw the next mini-batch."""
    return torch.from_numpy(trees.numpy().astype(np.int64)) if trees.is_cpu else trees.to(torch.int64)
