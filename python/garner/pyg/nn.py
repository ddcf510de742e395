"""PyG's layers, whose neighbors' rows are summed by garner.torch.aggregate: no row per edge is made, and no atomics are used.

    from garner.pyg import SAGEConv                 # was: from torch_geometric.nn import SAGEConv

They are PyG's own classes but for the sums: parameters, signatures, state_dict and results are the same. Where nobody compiles them, SAGE, GIN and
GAT are a step of autograd each (fused.py). What a sum, a mean or the loops of GCN are not (aggr='max', sparse matrices, an explainer, hooks of
messages, a subclass with another message()) is left to PyG.
"""
from __future__ import annotations

from typing import Any

import torch
import torch.nn.modules.module as _modules
import torch_geometric.nn as pyg  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric import EdgeIndex  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.typing import OptPairTensor, OptTensor  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .. import fused
from ..operators import Edges, kinds, traced

_when = ("forward_hooks", "forward_pre_hooks", "backward_hooks", "backward_pre_hooks")
_hooks = [f"_{what}_forward_{when}" for what in ("propagate", "message", "aggregate") for when in ("pre_hooks", "hooks")]


class _Summed:
    """What a layer of PyG's comes behind."""

    _ours = True  # whether messages are those of PyG's layer
    _whole = True  # whether the rest of it is too
    _weighted: str | None = None  # which argument of propagate() has the weights of edges

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "propagate" not in vars(cls):  # where PyG looks whether there is one
            cls.propagate = cls.propagate  # type: ignore[method-assign]
        layer = next(base for base in cls.__mro__ if issubclass(base, pyg.MessagePassing) and not issubclass(base, _Summed))
        cls._ours = all(getattr(cls, name) is getattr(layer, name) for name in ("message", "aggregate", "update"))
        cls._whole = cls._ours and cls.edge_update is layer.edge_update and cls.propagate is _Summed.propagate  # type: ignore[attr-defined]

    def _sums(self: Any, edge_index: Any) -> bool:
        """Whether the sums over these edges are ours."""
        return (self._ours and self.aggr in ("sum", "add", "mean") and isinstance(edge_index, torch.Tensor) and not isinstance(edge_index, EdgeIndex)
                and edge_index.layout == torch.strided and not self.explain and not any(getattr(self, name) for name in _hooks))

    def _steps(self: Any, edge_index: Any) -> bool:
        """Whether the layer is one step of autograd: a compiler makes its own of the parts."""
        return (self._whole and not traced() and self._sums(edge_index) and edge_index.dim() == 2 and edge_index.shape[0] == 2
                and edge_index.dtype in (torch.int64, torch.int32) and self.node_dim in (0, -2))

    def propagate(self: Any, edge_index: Any, size: Any = None, **given: Any) -> torch.Tensor:
        rows = given.get("x")
        both = list(rows) if isinstance(rows, (tuple, list)) else [rows]
        i, j = (1, 0) if self.flow == "source_to_target" else (0, 1)
        from_rows = both[0]
        if not (self._sums(edge_index) and (len(both) == 1 or self.flow == "source_to_target") and isinstance(from_rows, torch.Tensor)
                and from_rows.dtype in kinds and self.node_dim in (0, -from_rows.dim())):
            found: torch.Tensor = pyg.MessagePassing.propagate(self, edge_index, size=size, **given)
            return found
        weights = given.get(self._weighted) if self._weighted else None
        sizes = self._check_input(edge_index, size)
        for k, part in enumerate(both):
            if part is not None:
                self._set_size(sizes, k if len(both) == 2 else j, part)
        targets = sizes[j] if sizes[i] is None else sizes[i]
        edges = Edges.of(edge_index, j, targets, from_rows.shape[0], from_rows.device)
        out = edges.sum(from_rows, weights, mean=self.aggr == "mean")
        return out if weights is None else out.to(torch.promote_types(out.dtype, weights.dtype))


def _product_in(parts: list[Any], linear: list[Any]) -> tuple[bool, torch.dtype | None]:
    """Whether tensors and PyG's linear layers may be multiplied as one step: nobody hooks into these, and numbers are of one kind. What autocast
    wants them in."""
    if not hasattr(torch, "get_autocast_dtype") or any(getattr(_modules, f"_global_{when}") for when in _when):  # torch before 2.4
        return False, None
    if any(type(lin) is not pyg.Linear or lin._forward_hooks or lin._forward_pre_hooks or lin._backward_hooks or lin._backward_pre_hooks for lin in linear):
        return False, None
    at = parts[0].device.type
    kind = torch.get_autocast_dtype(at) if torch.is_autocast_enabled(at) and parts[0].dtype != torch.float64 else None
    kinds_of = {part.dtype for part in parts} | {lin.weight.dtype for lin in linear}
    return len(kinds_of) == 1 and kinds_of <= set(kinds) if kind is None else kinds_of <= {torch.float32, kind}, kind


class SAGEConv(_Summed, pyg.SAGEConv):  # type: ignore[misc]
    __doc__ = pyg.SAGEConv.__doc__

    def forward(self, x: Any, edge_index: Any, size: Any = None) -> torch.Tensor:
        rows, own = (x, None) if isinstance(x, torch.Tensor) else x
        if not (size is None and self._steps(edge_index) and (own is None or self.flow == "source_to_target")
                and all(part is None or isinstance(part, torch.Tensor) and part.dim() == 2 for part in (rows, own))):
            return super().forward(x, edge_index, size)  # type: ignore[no-any-return]
        linear = [self.lin_l, self.lin_r] if self.root_weight and (own is not None or rows is x) else [self.lin_l]
        alike, kind = _product_in([part for part in (rows, own) if part is not None], linear)
        if not alike:
            return super().forward(x, edge_index, size)  # type: ignore[no-any-return]
        targets = rows.shape[0] if own is None else own.shape[0]
        edges = Edges.of(edge_index, 0 if self.flow == "source_to_target" else 1, targets, rows.shape[0], rows.device)
        if self.project:
            own = rows if rows is x else own
            rows = self.lin(rows).relu()
        right = self.lin_r.weight if len(linear) == 2 else None
        out = fused.sage(rows, own, self.lin_l.weight, right, self.lin_l.bias, edges if right is None else edges.reached(), self.aggr == "mean", kind)
        return torch.nn.functional.normalize(out, p=2.0, dim=-1) if self.normalize else out


class GINConv(_Summed, pyg.GINConv):  # type: ignore[misc]
    __doc__ = pyg.GINConv.__doc__

    def forward(self, x: Any, edge_index: Any, size: Any = None) -> torch.Tensor:
        if not (size is None and self.aggr != "mean" and self._steps(edge_index) and isinstance(x, torch.Tensor) and x.dim() == 2 and x.dtype in kinds):
            return super().forward(x, edge_index, size)  # type: ignore[no-any-return]
        edges = Edges.of(edge_index, 0 if self.flow == "source_to_target" else 1, x.shape[0], x.shape[0], x.device)
        found: torch.Tensor = self.nn(fused.gin(x, self.eps, edges))
        return found


class GATConv(_Summed, pyg.GATConv):  # type: ignore[misc]
    __doc__ = pyg.GATConv.__doc__
    _weighted = "alpha"
    edge_updater_type = {"alpha": OptPairTensor, "edge_attr": OptTensor}  # which PyG reads off the source of a class, found by its name alone

    def forward(self, x: Any, edge_index: Any, edge_attr: Any = None, size: Any = None, return_attention_weights: Any = None) -> Any:
        if not (edge_attr is None and size is None and return_attention_weights is None and self.lin is not None and self.aggr != "mean"
                and 0 <= self.dropout < 1 and self._steps(edge_index) and isinstance(x, torch.Tensor) and x.dim() == 2
                and not self._edge_update_forward_pre_hooks and not self._edge_update_forward_hooks):
            return super().forward(x, edge_index, edge_attr, size, return_attention_weights)
        rest = None if self.res is None else self.res(x)
        rows = self.lin(x).view(-1, self.heads, self.out_channels)
        edges = Edges.of(edge_index, 0 if self.flow == "source_to_target" else 1, x.shape[0], x.shape[0], x.device)
        out = fused.gat(rows, self.att_src, self.att_dst, edges, float(self.negative_slope), self.add_self_loops,
                        float(self.dropout) if self.training else 0.0)
        out = out.view(-1, self.heads * self.out_channels) if self.concat else out.mean(dim=1)
        out = out if rest is None else out + rest
        return out if self.bias is None else out + self.bias


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
        edges = Edges.of(edge_index, 0, x.shape[0], x.shape[0], x.device)
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
