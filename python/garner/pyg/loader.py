"""PyG's NeighborLoader and LinkNeighborLoader over Garner's sampler, tables and pipeline."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
import torch_geometric.loader  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.data import Data  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.sampler import HeteroSamplerOutput, SamplerOutput  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .. import _checks
from .._arguments import takes_old_names
from ..pipeline import mixed
from ..split import Draws, windows_ahead
from .inputs import TorchLoader, edges_among, negatives_of, nodes_among, nodes_of, one_each, order_of, require_positions, require_rows, take_share, times_as_given
from .join import Joins
from .sampler import NeighborSampler


class NeighborLoader(Joins, torch_geometric.loader.NeighborLoader, TorchLoader):  # type: ignore[misc]
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
    loading: options of garner.Loader: prefetch, window, strategy, window_bytes, cache, multiprocessors, keep_times.
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
        nodes = nodes_of(data, neighbor_sampler)
        require_rows(data, nodes)
        chosen = count = None
        if nodes is not None:
            input_nodes = nodes_among(input_nodes, nodes)
            chosen = input_nodes[1] if isinstance(input_nodes, tuple) else input_nodes
            count = int(chosen.sum()) if chosen.dtype == torch.bool else chosen.numel()
            if input_time is not None:
                input_time = times_as_given(input_time, "input_time", count, "input nodes")
            elif isinstance(neighbor_sampler, NeighborSampler):
                neighbor_sampler.require_times(input_nodes[0] if isinstance(input_nodes, tuple) else None)
            require_positions(kwargs, count, "input nodes")
            if kwargs.get("input_id") is not None:
                kwargs["input_id"] = one_each(_checks.int64(kwargs["input_id"], "input_id"), "input_id", count, "input nodes")
        take_share(kwargs, rank, ranks, chosen, count, self._input)
        super().__init__(data, num_neighbors, input_nodes, input_time, replace, subgraph_type, disjoint, temporal_strategy, time_attr, weight_attr,
                         transform, transform_sampler_output, is_sorted, filter_per_worker, neighbor_sampler, directed, **kwargs)

    def _over_ranks(self, draws: Draws, seed: int) -> Iterator[Any]:
        """The mini-batches; all ranks sample a window of them together, ahead."""
        batches: Any = self.batch_sampler
        order = order_of(batches.sampler)
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


class LinkNeighborLoader(Joins, torch_geometric.loader.LinkNeighborLoader, TorchLoader):  # type: ignore[misc]
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
        nodes = nodes_of(data, neighbor_sampler)
        require_rows(data, nodes)
        pairs = count = None
        if nodes is not None:
            kind, pairs = edges_among(data, edge_label_index, nodes)
            edge_label_index = pairs if isinstance(data, Data) else (kind, pairs)
            count = pairs.size(1)
            if edge_label is not None:
                edge_label = one_each(edge_label, "edge_label", count, "edges of edge_label_index")
            if edge_label_time is not None:
                edge_label_time = times_as_given(edge_label_time, "edge_label_time", count, "edges of edge_label_index")
            ends = (nodes, nodes) if kind is None else (nodes[kind[0]], nodes[kind[-1]])
            neg_sampling, neg_sampling_ratio = negatives_of(neg_sampling, neg_sampling_ratio, ends), None
            require_positions(kwargs, count, "edges of edge_label_index")
            if kwargs.get("input_id") is not None:
                kwargs["input_id"] = one_each(_checks.int64(kwargs["input_id"], "input_id"), "input_id", count, "edges of edge_label_index")
        take_share(kwargs, rank, ranks, pairs, count, self._input)
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
