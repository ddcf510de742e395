"""Of garner.torch: layers of one's own. Rows that are learned, as a module; aggregation over blocks, with gradients; models as state_dicts."""
from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch

from . import _checks, _garner, rows as learned
from .batches import MiniBatch
from .pipeline import tensor_of
from .errors import UsageError
from .models import read_model
from .shards import Shard, aggregate_over


class _Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, anchor: torch.Tensor, module: Embedding, ids: torch.Tensor) -> torch.Tensor:
        ctx.module, ctx.ids = module, ids
        found: torch.Tensor = module.table.gather(ids)
        return found

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        ctx.module._gradients.append((ctx.ids.reshape(-1), gradient.detach().reshape(-1, ctx.module.table.shape[1])))
        return None, None, None


class Embedding(torch.nn.Module):
    """Rows that a model learns, in device and host memory, as torch.nn.Embedding(sparse=True) with its optimiser in one.

        emb = garner.torch.Embedding(len(g), 64, optimizer="adam", lr=0.01)
        loss = f(model(emb(batch.n_id), batch.edge_index))
        loss.backward()
        emb.step()                                            # beside optimizer.step() of all else

    It has no parameters, so no optimiser of torch's sees it: backward() collects the gradients of the rows that forward() gave, step() applies
    those of all backward() since the last step() to these rows alone, zero_grad() forgets them. state_dict() holds 'weight', 'steps' and what
    the optimiser keeps, as copies in host memory; .table.save() and .table.load() do without.
    lr, betas, eps, lr_decay: as garner.Embedding.update has them; attributes, which may change. options: of garner.embedding.
    """

    def __init__(self, rows: int, width: int, *, optimizer: str = "adam", lr: float = 0.01, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float | None = None, lr_decay: float = 0, **options: Any) -> None:
        super().__init__()
        self.table = learned.embedding(rows, width, optimizer=optimizer, **options)
        self.lr, self.betas, self.eps, self.lr_decay = lr, betas, eps, lr_decay
        self._gradients: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._anchor = torch.zeros((), requires_grad=True)  # by which autograd knows that rows want gradients

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        ids = _checks.tensor(ids, "ids")
        if not torch.is_grad_enabled():
            found: torch.Tensor = self.table.gather(ids)
            return found
        return _Rows.apply(self._anchor, self, ids)  # type: ignore[no-any-return, no-untyped-call, unused-ignore]

    def step(self) -> _garner.UpdateRun | None:
        """Applies the gradients that have come; None: there were none. Errors: InputError for a row whose gradient is no finite number; then no
        row has changed, and the gradients are forgotten."""
        some, self._gradients = self._gradients, []
        if not some:
            return None
        device = some[0][1].device
        ids, gradients = (some[0] if len(some) == 1 else
                          (torch.cat([i.to(device).to(torch.int64) for i, _ in some]), torch.cat([g.to(device) for _, g in some])))
        return self.table.update(ids.to(device), gradients, lr=self.lr, lr_decay=self.lr_decay, betas=self.betas, eps=self.eps)

    def zero_grad(self, set_to_none: bool = True) -> None:
        super().zero_grad(set_to_none)
        self._gradients = []

    @property
    def weight(self) -> torch.Tensor:
        """A copy of all rows, in host memory."""
        return torch.from_numpy(self.table.read())

    def extra_repr(self) -> str:
        return f"{self.table.shape[0]}, {self.table.shape[1]}, optimizer={self.table.optimizer!r}, lr={self.lr}"

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in ["weight", *self.table._table.states]:
            destination[prefix + name] = torch.from_numpy(self.table.read(name))
        destination[prefix + "steps"] = torch.tensor(self.table.steps)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
                              unexpected_keys: list[str], error_msgs: list[str]) -> None:
        names = ["weight", *self.table._table.states]
        known = {prefix + name for name in [*names, "steps"]}
        missing_keys += [key for key in sorted(known) if key not in state_dict]
        if strict:
            unexpected_keys += [key for key in state_dict if key.startswith(prefix) and key not in known]
        for name in names:
            if prefix + name not in state_dict:
                continue
            value = state_dict[prefix + name]
            if tuple(value.shape) != self.table.shape:
                error_msgs.append(f"size mismatch for {prefix}{name}: {tuple(value.shape)} in the checkpoint, {self.table.shape} here")
                continue
            self.table.write(value.detach().cpu().to(torch.float32).numpy(), name)
        if prefix + "steps" in state_dict:
            self.table._table.steps = int(state_dict[prefix + "steps"])


# Aggregations that nobody uses, with the memory that they work in: by place, kind and stream.
_idle: dict[tuple[str, torch.dtype, int], list[Any]] = {}


class _Lease:
    """An aggregation of _garner's, handed back with the last that uses it."""

    def __init__(self, device: torch.device, kind: torch.dtype) -> None:
        self.stream = 0 if device.type == "cpu" else torch.cuda.current_stream(device).cuda_stream or 1  # 1: the default one by name
        place = "host" if device.type == "cpu" else str(device)
        self.key = (place, kind, self.stream)
        made = _idle.get(self.key) or []
        self.at = made.pop() if made else (_garner.Aggregation32 if kind == torch.float32 else _garner.Aggregation64)(place)

    def __del__(self) -> None:
        if hasattr(self, "at") and _idle is not None:
            _idle.setdefault(self.key, []).append(self.at)


class _Aggregate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, lease: _Lease, targets: int, kept: Any) -> torch.Tensor:
        ctx.lease, ctx.shape, ctx.kept = lease, rows.shape, kept
        rows = rows.contiguous()
        out = rows.new_empty((targets, *rows.shape[1:]))
        lease.at.forward(rows.data_ptr(), out.data_ptr(), rows[:1].numel() if len(rows) else 0, lease.stream)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator, unused-ignore]
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        gradient = gradient.contiguous()
        out = gradient.new_empty(ctx.shape)
        ctx.lease.at.backward(gradient.data_ptr(), out.data_ptr(), out[:1].numel(), ctx.lease.stream)
        return out, None, None, None


def _edges_of(edges: Any, hops: int | None) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Row, column and the number of targets."""
    if isinstance(edges, (MiniBatch, _garner.MiniBatch)):
        if isinstance(edges, MiniBatch):
            both, by_edge, by_vertex = edges.edge_index, edges.num_sampled_edges, edges.num_sampled_nodes
        else:
            drawn = edges.of_relation(0)
            both, by_edge, by_vertex = tensor_of(drawn.edge_index), list(drawn.by_hop), list(edges.of_type(0).by_hop)
        if not by_edge:  # induced
            if hops is not None:
                raise UsageError("hops: an induced subgraph has none; leave it out")
            return both[0], both[1], sum(by_vertex)
        hops = len(by_edge) if hops is None else _checks.number(hops, "hops")
        if not 1 <= hops <= len(by_edge):
            raise UsageError(f"hops={hops} of a mini-batch of {len(by_edge)}")
        count = sum(by_edge[:hops])
        return both[0, :count], both[1, :count], sum(by_vertex[:hops])
    if hops is not None:
        raise UsageError("hops: for a mini-batch; of edges give those that count")
    if not isinstance(edges, (tuple, list)) or len(edges) != 3:
        raise TypeError(f"aggregate(): edges is {_checks.told(edges)}: give a mini-batch, or (row, col, number of targets)")
    row, col, targets = _checks.tensor(edges[0], "row"), _checks.tensor(edges[1], "col"), _checks.number(edges[2], "edges[2]", "say how many targets there are")
    if row.dim() != 1 or row.shape != col.shape or targets < 0 or (
            row.numel() and not all(_checks.kind(end).startswith(("int", "uint")) for end in (row, col))):
        raise UsageError(f"row of shape {tuple(row.shape)} and {row.dtype}, col of {tuple(col.shape)} and {col.dtype}, {targets} targets; "
                         "give as many whole numbers")
    return row, col, targets


def aggregate(rows: torch.Tensor, edges: Any, how: str = "mean", weights: torch.Tensor | None = None, *, hops: int | None = None,
              degrees: torch.Tensor | None = None) -> torch.Tensor:
    """What each target of a block takes up of its neighbours' rows, with gradients: the heart of a layer of one's own.

        h = self.own(x[:targets]) + self.neighbours(garner.torch.aggregate(x, (row, col, targets)))

    rows: float32 or float64, of shape (sources, ...): the first sources are the targets. edges: a part of garner.torch.shard, whose vertices' rows
    these are, float32; a mini-batch of garner.torch.loader or garner.Loader; or (row, col, targets): an edge from row[e] among the sources to col[e] among the targets; those that do not ascend by col are
    sorted first. hops: of a mini-batch the first so many: layer l of L, counted from 0, takes L - l.
    how: 'sum', 'mean', or 'gcn' (a row's own too; each counts by 1 / sqrt((d + 1) (d' + 1))). weights: one an edge, without gradients.
    degrees: 'gcn': of each source, how many neighbours it has in the graph (of a target with fewer here each counts for those left out); with
    weights: the sum of its edges' weights, as PyG's gcn_norm takes them; None: those of these edges, where all sources are targets.
    Result: shape (targets, ...); 0 for who has no neighbours. Errors: IdError for an edge whose ends are not there.
    """
    if not isinstance(rows, torch.Tensor) or rows.dtype not in (torch.float32, torch.float64) or rows.dim() < 1 or rows.layout != torch.strided:
        raise UsageError(f"rows: {getattr(rows, 'dtype', type(rows).__name__)}; give a tensor of float32 or float64, a row a source")
    if how not in ("sum", "mean", "gcn"):
        raise UsageError(f"how '{how}': say sum, mean or gcn")
    if isinstance(edges, Shard):
        if weights is not None or degrees is not None or hops is not None:
            raise UsageError("weights, degrees, hops: a part of a graph has its own; say weighted=True to garner.torch.shard")
        return aggregate_over(edges, rows, how)
    row, col, targets = _edges_of(edges, hops)
    row, col = row.to(rows.device, torch.int64), col.to(rows.device, torch.int64)
    if weights is not None:
        weights = _checks.real(_checks.tensor(weights, "weights"), "weights")
        if weights.requires_grad and torch.is_grad_enabled():
            raise UsageError("weights: require gradients, and get none here; give weights.detach()")
        if weights.dim() != 1 or weights.numel() < row.numel() or hops is None and weights.numel() != row.numel():
            raise UsageError(f"weights: of shape {tuple(weights.shape)} for {row.numel()} edges; give one each")
        weights = weights[:row.numel()].detach().to(rows.device, rows.dtype)
    if col.numel() > 1 and bool((col[1:] < col[:-1]).any()):
        col, order = torch.sort(col, stable=True)
        row, weights = row[order], None if weights is None else weights[order]
    if degrees is not None:
        degrees = _checks.real(_checks.tensor(degrees, "degrees"), "degrees")
        if degrees.dim() != 1 or degrees.numel() != len(rows):
            raise UsageError(f"degrees: of shape {tuple(degrees.shape)} for {len(rows)} sources; give one each")
        degrees = degrees.detach().to(rows.device, rows.dtype).contiguous()
    row, col = row.contiguous(), col.contiguous()
    weights = None if weights is None else weights.contiguous()
    lease = _Lease(rows.device, rows.dtype)
    lease.at.take(row.data_ptr(), col.data_ptr(), row.numel(), targets, len(rows), how, 0 if weights is None else weights.data_ptr(),
                  0 if degrees is None or how != "gcn" else degrees.data_ptr(), lease.stream)
    return _Aggregate.apply(rows, lease, targets, (row, col, weights, degrees))  # type: ignore[no-any-return, no-untyped-call, unused-ignore]


def load_model(file: str | os.PathLike[str]) -> dict[str, torch.Tensor]:
    """A model that garner trained (`garner train -o`, garner.Model.save), as the state_dict of PyG's GraphSAGE, GCN or GIN of its shape.

        model = torch_geometric.nn.GraphSAGE(in_channels=602, hidden_channels=64, num_layers=2, out_channels=41)
        model.load_state_dict(garner.torch.load_model("model.safetensors"))
    """
    model = read_model(file)
    state = {name: torch.from_numpy(np.array(values)) for name, values in model.tensors().items()}
    if model.options["kind"] == "gin":  # which PyG keeps although it is not learned
        for layer in range(model.options["layers"]):
            state[f"convs.{layer}.eps"] = torch.zeros(1)
    return state
