"""What needs torch, by its public names. import garner does not import torch; this does."""
from __future__ import annotations

from typing import Any

from . import _checks

_checks.installed("garner.torch", "torch")

import torch  # noqa: E402
import torch.utils.dlpack  # noqa: E402

from . import making  # noqa: E402
from .batches import HeteroMiniBatch as HeteroMiniBatch, Loader as Loader, MiniBatch as MiniBatch, loader as loader  # noqa: E402
from .layers import Embedding as Embedding, aggregate as aggregate, load_model as load_model  # noqa: E402
from .ranks import Ranks as Ranks, ranks as ranks  # noqa: E402
from .remote import RemoteRows as RemoteRows, remote_rows as remote_rows  # noqa: E402
from .shards import Shard as Shard, shard as shard  # noqa: E402
from .split import RemoteGraph as RemoteGraph, remote_graph as remote_graph  # noqa: E402
from .tiered_tensor import TieredTensor as TieredTensor  # noqa: E402


def unified(tensor: torch.Tensor, device: Any = None) -> torch.Tensor:
    """garner.unified as a torch tensor: of the device, its bytes in host memory. Errors: as garner.unified.

        features = garner.torch.unified(features)       # Listing 3.1 of the dissertation: features[ids] on the GPU reads host memory
    """
    return torch.utils.dlpack.from_dlpack(making.unified(tensor, device))


__all__ = ["Embedding", "HeteroMiniBatch", "Loader", "MiniBatch", "Ranks", "RemoteGraph", "RemoteRows", "Shard", "TieredTensor", "aggregate", "load_model", "loader", "ranks", "remote_graph",
           "remote_rows", "shard", "unified"]
