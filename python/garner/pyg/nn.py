"""PyG's layers, whose neighbors' rows are summed by garner.torch.aggregate: no row per edge is made, and no atomics are used.

    from garner.pyg import SAGEConv                 # was: from torch_geometric.nn import SAGEConv

They are PyG's own classes but for the sums: parameters, signatures, state_dict and results are the same. What a sum, a mean or the loops of GCN
are not (aggr='max', sparse matrices, an explainer, hooks of messages, a subclass with another message()) is left to PyG.
"""
from __future__ import annotations

from typing import Any

import torch
import torch_geometric.nn as pyg  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric import EdgeIndex  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.typing import OptPairTensor, OptTensor  # type: ignore[import-not-found, import-untyped, unused-ignore]

from ..operators import Edges, kinds

_hooks = [f"_{what}_forward_{when}" for what in ("propagate", "message", "aggregate") for when in ("pre_hooks", "hooks")]


class _Summed:
    """What a layer of PyG's comes behind."""

    _ours = True  # whether messages are those of PyG's layer
    _weighted: str | None = None  # which argument of propagate() has the weights of edges

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "propagate" not in vars(cls):  # where PyG looks whether there is one
            cls.propagate = cls.propagate  # type: ignore[method-assign]
        layer = next(base for base in cls.__mro__ if issubclass(base, pyg.MessagePassing) and not issubclass(base, _Summed))
        cls._ours = all(getattr(cls, name) is getattr(layer, name) for name in ("message", "aggregate", "update"))

    def _sums(self: Any, edge_index: Any) -> bool:
        """Whether the sums over these edges are ours."""
        return (self._ours and self.aggr in ("sum", "add", "mean") and isinstance(edge_index, torch.Tensor) and not isinstance(edge_index, EdgeIndex)
                and edge_index.layout == torch.strided and not self.explain and not any(getattr(self, name) for name in _hooks))

    def propagate(self: Any, edge_index: Any, size: Any = None, **given: Any) -> torch.Tensor:
        rows = given.get("x")
        both = list(rows) if isinstance(rows, (tuple, list)) else [rows]
        from_rows = both[0]
        if not (self._sums(edge_index) and isinstance(from_rows, torch.Tensor) and from_rows.dtype in kinds and self.node_dim in (0, -from_rows.dim())):
            found: torch.Tensor = pyg.MessagePassing.propagate(self, edge_index, size=size, **given)
            return found
        i, j = (1, 0) if self.flow == "source_to_target" else (0, 1)
        weights = given.get(self._weighted) if self._weighted else None
        sizes = self._check_input(edge_index, size)
        for k, part in enumerate(both):
            if part is not None:
                self._set_size(sizes, k if len(both) == 2 else j, part)
        targets = sizes[j] if sizes[i] is None else sizes[i]
        edges = Edges(_whole(edge_index), edge_index[j], edge_index[i], targets, from_rows.shape[0], from_rows.device)
        out = edges.sum(from_rows, weights, mean=self.aggr == "mean")
        return out if weights is None else out.to(torch.promote_types(out.dtype, weights.dtype))


def _whole(edge_index: torch.Tensor) -> torch.Tensor:
    """What trim_to_layer took the first edges of."""
    base = None if torch.compiler.is_compiling() else edge_index._base
    return edge_index if base is None or base.data_ptr() != edge_index.data_ptr() or base.stride() != edge_index.stride() else base


class SAGEConv(_Summed, pyg.SAGEConv):  # type: ignore[misc]
    __doc__ = pyg.SAGEConv.__doc__


class GINConv(_Summed, pyg.GINConv):  # type: ignore[misc]
    __doc__ = pyg.GINConv.__doc__


class GATConv(_Summed, pyg.GATConv):  # type: ignore[misc]
    __doc__ = pyg.GATConv.__doc__
    _weighted = "alpha"
    edge_updater_type = {"alpha": OptPairTensor, "edge_attr": OptTensor}  # which PyG reads off the source of a class, found by its name alone


class GCNConv(_Summed, pyg.GCNConv):  # type: ignore[misc]
    __doc__ = pyg.GCNConv.__doc__
    _weighted = "edge_weight"

    def forward(self, x: Any, edge_index: Any, edge_weight: torch.Tensor | None = None) -> torch.Tensor:
        if not (self.normalize and self.add_self_loops and not self.cached and self.flow == "source_to_target" and self._sums(edge_index)
                and isinstance(x, torch.Tensor) and x.dim() == 2 and x.dtype in kinds and self.aggr != "mean"):
            found: torch.Tensor = super().forward(x, edge_index, edge_weight)
            return found
        kind = x.dtype if edge_weight is None else edge_weight.dtype  # of PyG's weights
        x = self.lin(x)
        self._check_input(edge_index, None)
        edges = Edges(_whole(edge_index), edge_index[0], edge_index[1], x.shape[0], x.shape[0], x.device)
        weights, loops = self._normalized(edges, edge_weight, torch.promote_types(kind, torch.float32))
        kind = torch.promote_types(x.dtype, kind)
        out = torch.addcmul(edges.sum(x, weights).to(kind), x.to(kind), loops.to(kind).unsqueeze(1))
        return out if self.bias is None else out + self.bias

    def _normalized(self, edges: Edges, edge_weight: torch.Tensor | None, kind: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """gcn_norm without new edges, for whose number the host would wait: the weights of edges, where a loop has 0, and of each node's loop."""
        known = ("gcn", kind)
        if edge_weight is None and known in edges.kept:
            kept: tuple[torch.Tensor, torch.Tensor] = edges.kept[known]
            return kept
        row, col = edges.ends()
        nodes, is_loop = edges.sources, row == col
        if edge_weight is None:  # loops weigh 1 then, by improved too
            given = (~is_loop).to(kind)
            loops = given.new_ones(nodes)
        else:
            given = edge_weight.reshape(-1).to(kind)
            loops = given.new_full((nodes + 1,), 2.0 if self.improved else 1.0).scatter(0, torch.where(is_loop, row, nodes), given)[:nodes]
            given = torch.where(is_loop, 0, given)
        degrees = edges.sum(given.new_ones(nodes, 1), given).squeeze(1) + loops
        root = degrees.pow(-0.5)
        root = root.masked_fill(root == float("inf"), 0)
        found = given * root[row] * root[col], loops * root * root
        if edge_weight is None:
            edges.kept[known] = found
        return found
