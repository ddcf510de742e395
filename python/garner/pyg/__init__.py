"""PyG's loaders over Garner: change the import, train. Neither pyg-lib nor torch-sparse nor torch.distributed is needed.

    from garner.pyg import NeighborLoader           # was: from torch_geometric.loader import NeighborLoader
    loader = NeighborLoader(data, num_neighbors=[15, 10, 5], batch_size=1024, input_nodes=data.train_mask, shuffle=True)

LightningNodeData and LightningLinkData are PyG's over these loaders.
Signatures, batches and fields are PyG's (2.7 to 2.9). SAGEConv, GCNConv, GINConv and GATConv are PyG's layers with Garner's sums.
import garner does not import this; it needs torch and torch_geometric.
"""
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from .. import _checks

_checks.installed("garner.pyg", "torch", "torch_geometric")

from .loader import LinkNeighborLoader as LinkNeighborLoader, NeighborLoader as NeighborLoader
from .nn import GATConv as GATConv, GCNConv as GCNConv, GINConv as GINConv, SAGEConv as SAGEConv
from .sampler import NeighborSampler as NeighborSampler
from .samplers import (ClusterData as ClusterData, ClusterLoader as ClusterLoader, HGTLoader as HGTLoader, Node2Vec as Node2Vec,
                       RandomNodeLoader as RandomNodeLoader, ShaDowKHopSampler as ShaDowKHopSampler, random_walk as random_walk)
from .stores import FeatureStore as FeatureStore, GraphStore as GraphStore, stores_of as stores_of

if _TYPE_CHECKING:
    from .lightning import LightningLinkData as LightningLinkData, LightningNodeData as LightningNodeData


def _later(name: str) -> _Any:
    """Imports the classes of Lightning at their first use: it takes seconds."""
    if name not in ("LightningLinkData", "LightningNodeData"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import lightning
    return getattr(lightning, name)


if not _TYPE_CHECKING:  # which else takes every name for one that is there
    __getattr__ = _later

__all__ = ["ClusterData", "ClusterLoader", "FeatureStore", "GATConv", "GCNConv", "GINConv", "GraphStore", "HGTLoader", "LightningLinkData",
           "LightningNodeData", "LinkNeighborLoader", "NeighborLoader", "NeighborSampler", "Node2Vec", "RandomNodeLoader", "SAGEConv", "ShaDowKHopSampler",
           "random_walk", "stores_of"]
