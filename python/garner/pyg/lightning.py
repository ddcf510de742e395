"""PyG's LightningNodeData and LightningLinkData over Garner's sampler and loaders."""
from __future__ import annotations

from typing import Any

from torch_geometric.data.lightning import datamodule  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .. import pipeline
from .later import values_of
from .loader import LinkNeighborLoader, NeighborLoader
from .sampler import NeighborSampler


def _sampler(data: Any, loader: str, given: Any, kwargs: dict[str, Any]) -> Any:
    """Garner's where PyG would make one of its own; takes its arguments out of these."""
    if given is not None or loader not in ("neighbor", "link_neighbor"):
        return given
    options, rest = datamodule.split_kwargs(kwargs, NeighborSampler)
    kwargs.clear()
    kwargs.update(rest)
    if kwargs.get("graph_cache") is not None:
        options["graph_cache"] = pipeline.bytes_of(kwargs.pop("graph_cache"), "graph_cache")
    return NeighborSampler(data, **{"share_memory": kwargs.get("num_workers", 0) > 0, **options})


def _placed(sampler: NeighborSampler, data: Any, device: Any) -> NeighborSampler:
    """In the process of the rank, which has its GPU by now."""
    if sampler.device == "cpu":
        sampler.device = pipeline.device_of(device, values_of(data))
    return sampler


class LightningNodeData(datamodule.LightningNodeData):  # type: ignore[misc]
    """torch_geometric.data.lightning.LightningNodeData over Garner: the same arguments, and mini-batches of garner.pyg.NeighborLoader, whose own arguments
    (device, feature_cache, graph_cache ...) it takes too. Lightning splits the input nodes among its processes."""

    def __init__(self, data: Any, *given: Any, loader: str = "neighbor", node_sampler: Any = None, **kwargs: Any) -> None:
        super().__init__(data, *given, loader=loader, node_sampler=_sampler(data, loader, node_sampler, kwargs), **kwargs)

    def dataloader(self, input_nodes: Any, input_time: Any = None, input_id: Any = None, node_sampler: Any = None, **kwargs: Any) -> Any:
        if not isinstance(node_sampler, NeighborSampler):
            return super().dataloader(input_nodes, input_time, input_id, node_sampler, **kwargs)
        sampler = _placed(node_sampler, self.data, kwargs.get("device"))
        if input_time is not None and sampler.is_temporal:  # PyG's loader checks whether both are set; the sampler has the times
            kwargs["time_attr"] = "time"
        return NeighborLoader(self.data, sampler.num_neighbors, input_nodes, input_time, neighbor_sampler=sampler, input_id=input_id, **kwargs)


class LightningLinkData(datamodule.LightningLinkData):  # type: ignore[misc]
    """torch_geometric.data.lightning.LightningLinkData over Garner: the same of edges, by garner.pyg.LinkNeighborLoader."""

    def __init__(self, data: Any, *given: Any, loader: str = "neighbor", link_sampler: Any = None, **kwargs: Any) -> None:
        super().__init__(data, *given, loader=loader, link_sampler=_sampler(data, loader, link_sampler, kwargs), **kwargs)

    def dataloader(self, input_edges: Any, input_labels: Any = None, input_time: Any = None, input_id: Any = None, link_sampler: Any = None,
                   **kwargs: Any) -> Any:
        if not isinstance(link_sampler, NeighborSampler):
            return super().dataloader(input_edges, input_labels, input_time, input_id, link_sampler, **kwargs)
        sampler = _placed(link_sampler, self.data, kwargs.get("device"))
        if input_time is not None and sampler.is_temporal:  # PyG's loader checks whether both are set; the sampler has the times
            kwargs["time_attr"] = "time"
        return LinkNeighborLoader(self.data, sampler.num_neighbors, input_edges, input_labels, input_time, neighbor_sampler=sampler, input_id=input_id, **kwargs)
