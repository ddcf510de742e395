"""The part of garner.torch for layers of one's own: learned rows as a module; aggregation over blocks, with gradients; models as state_dicts."""
from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from . import _checks, _garner, rows as learned
from .batches import HeteroMiniBatch, MiniBatch
from .pipeline import tensor_of
from .errors import KindError, UsageError
from .models import read_model
from .operators import Edges, kinds, real_of
from .ranks import ranks as group_of
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
    """Rows that a model learns, in device and host memory, as torch.nn.Embedding(sparse=True) with its optimizer in one.

        emb = garner.torch.Embedding(len(g), 64, optimizer="adam", lr=0.01)
        loss = f(model(emb(batch.n_id), batch.edge_index))
        loss.backward()
        emb.step()                                            # as optimizer.step() does all else

    It has no parameters, so no optimizer of torch's sees it: backward() collects the gradients of the rows that forward() gave, step() applies
    those of all backward() since the last step() to these rows alone, zero_grad() forgets them. state_dict() holds 'weight', 'steps' and what
    the optimizer keeps, as copies in host memory; .table.save() and .table.load() do without.
    Over the ranks of torch.distributed step() is for all of them together: each brings its gradients, their mean over the ranks is applied, as
    DistributedDataParallel has it of parameters, and all ranks hold the same rows, bit for bit, each in memory of its own. All ranks make
    the same table and call step() as often. per_rank: this rank's rows are its own, whatever others do.
    lr, betas, eps, lr_decay: as garner.Embedding.update has them; attributes, which may change. options: of garner.embedding.
    Errors: RankError where ranks have made other tables, or one does not come to step().
    """

    def __init__(self, rows: int, width: int, *, optimizer: str = "adam", lr: float = 0.01, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float | None = None, lr_decay: float = 0, per_rank: bool = False, **options: Any) -> None:
        super().__init__()
        self.per_rank = per_rank
        self._first = {name: options.get(name) for name in ("init", "init_scale", "seed")}
        self._compared = False
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
        """Applies the gradients that have come; None: without any. Errors: InputError for a row whose gradient is not finite; then no row has changed, and
        the gradients are forgotten."""
        some, self._gradients = self._gradients, []
        over_ranks = not self.per_rank and dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
        if not some and not over_ranks:
            return None
        device = some[0][1].device if some else torch.device("cpu")
        none = [(torch.empty(0, dtype=torch.int64), torch.empty(0, self.table.shape[1]))]
        ids, gradients = (some[0] if len(some) == 1 else
                          (torch.cat([i.to(device).to(torch.int64) for i, _ in some or none]), torch.cat([g.to(device) for _, g in some or none])))
        if over_ranks:
            ids, gradients = self._of_all(ids, gradients.float())
            if not ids.numel():
                return None
        return self.table.update(ids.to(gradients.device), gradients, lr=self.lr, lr_decay=self.lr_decay, betas=self.betas, eps=self.eps)

    def _of_all(self, ids: torch.Tensor, gradients: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Those of all ranks, one rank's after the other: the same in each."""
        group = group_of()
        if not self._compared:
            group.require_same("garner.torch.Embedding", f"{self.table.shape[0]} rows of {self.table.shape[1]} {self.table.dtype}, {self.table.optimizer}, {self.table.steps} steps, {self._first}",
                        "make the same table in all ranks, or pass per_rank=True")
            self._compared = True
        at = torch.device("cuda", torch.cuda.current_device()) if group.on_devices else torch.device("cpu")
        size, count = group.size, ids.numel()
        counts = group.start(torch.full((size,), count), [1] * size, [1] * size).wait().tolist()
        of_ids, of_rows = (group.start(mine.to(at).repeat(size, *[1] * (mine.dim() - 1)), [count] * size, counts) for mine in (ids.to(torch.int64), gradients / size))
        return of_ids.wait(), of_rows.wait()

    def zero_grad(self, set_to_none: bool = True) -> None:
        super().zero_grad(set_to_none)
        self._gradients = []

    @property
    def weight(self) -> torch.Tensor:
        """A copy of all rows, in host memory."""
        return self._copy_of("weight")

    def _copy_of(self, name: str) -> torch.Tensor:
        values = torch.from_numpy(self.table.read(name))
        return values.to(getattr(torch, self.table.dtype)) if name == "weight" else values

    def extra_repr(self) -> str:
        return f"{self.table.shape[0]}, {self.table.shape[1]}, optimizer={self.table.optimizer!r}, lr={self.lr}, dtype={self.table.dtype}"

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name in ["weight", *learned.states_of(self.table)]:
            destination[prefix + name] = self._copy_of(name)
        destination[prefix + "steps"] = torch.tensor(self.table.steps)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list[str],
                              unexpected_keys: list[str], error_msgs: list[str]) -> None:
        names = ["weight", *learned.states_of(self.table)]
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
            learned.count_from(self.table, int(state_dict[prefix + "steps"]))


def _edges_of(edges: Any, hops: int | None, sources: int, device: torch.device, grouped: bool) -> Edges:
    if isinstance(edges, (MiniBatch, _garner.MiniBatch)):
        if isinstance(edges, MiniBatch):
            both, by_edge, by_vertex = edges.edge_index, edges.num_sampled_edges, edges.num_sampled_nodes
        else:
            drawn = edges.of_relation(0)
            both, by_edge, by_vertex = tensor_of(drawn.edge_index), list(drawn.by_hop), list(edges.of_type(0).by_hop)
        if not by_edge:  # induced
            if hops is not None:
                raise UsageError("hops: an induced subgraph has none; leave it out")
            return Edges(both, both[0], both[1], sum(by_vertex), sources, device, grouped)
        hops = len(by_edge) if hops is None else _checks.number(hops, "hops")
        if not 1 <= hops <= len(by_edge):
            raise UsageError(f"hops={hops} of a mini-batch of {len(by_edge)}")
        count = sum(by_edge[:hops])
        return Edges(both, both[0, :count], both[1, :count], sum(by_vertex[:hops]), sources, device, True)
    if isinstance(edges, HeteroMiniBatch):
        raise KindError("aggregate(): edges is a mini-batch of several types; give those of one relation r, as (*batch.edge_index[r], len(batch.n_id[r[2]]))")
    if hops is not None:
        raise UsageError("hops: for a mini-batch; of edges give those that count")
    if not isinstance(edges, (tuple, list)) or len(edges) != 3:
        raise TypeError(f"aggregate(): edges is {_checks.told(edges)}: give a mini-batch, or (row, col, number of targets)")
    row, col = _checks.tensor(edges[0], "row"), _checks.tensor(edges[1], "col")
    compiling = torch.compiler.is_compiling()  # then a number may be a symbol
    targets = edges[2] if compiling else _checks.number(edges[2], "edges[2]", "name how many targets there are")
    if row.dim() != 1 or row.shape != col.shape or targets < 0 or (
            row.numel() and not all(_checks.kind(end).startswith(("int", "uint")) for end in (row, col))):
        raise UsageError(f"row of shape {tuple(row.shape)} and {row.dtype}, col of {tuple(col.shape)} and {col.dtype}, {targets} targets; "
                         "give as many whole numbers")
    known = None if compiling or row._base is not col._base else row._base  # both of one edge_index
    return Edges(known, row, col, targets, sources, device, grouped)


def aggregate(rows: torch.Tensor, edges: Any, how: str = "mean", weights: torch.Tensor | None = None, *, hops: int | None = None,
              degrees: torch.Tensor | None = None, grouped: bool = False) -> torch.Tensor:
    """What each target of a block takes up of its neighbors' rows, with gradients: the heart of a layer of one's own.

        h = self.own(x[:targets]) + self.neighbors(garner.torch.aggregate(x, (row, col, targets)))

    It is an operator of torch: torch.compile takes it whole, and a GPU is not waited for.
    rows: float32, float64, float16 or bfloat16, of shape (sources, ...): the first sources are the targets. edges: a part of garner.torch.shard,
    whose nodes' rows these are, float32, on its GPU or, of one rank, in host memory; a mini-batch of garner.torch.loader or garner.Loader; or (row, col, targets): an edge from row[e]
    among the sources to col[e] among the targets. Edges are sorted by col, once for all layers where row and col are of one tensor; grouped=True:
    they ascend already. hops: of a mini-batch the first so many: layer l of L, counted from 0, takes L - l.
    how: 'sum', 'mean', or 'gcn' (a row's own too; each counts by 1 / sqrt((d + 1) (d' + 1))). weights: one an edge, with gradients.
    degrees: 'gcn': of each source, how many neighbors it has in the graph (of a target with fewer here each counts for those left out); with
    weights: the sum of its edges' weights, as PyG's gcn_norm takes them; None: those of these edges, where all sources are targets.
    Result: shape (targets, ...), as rows; 0 for a target without neighbors. 16-bit rows are summed in float32. Errors: IdError for an edge whose
    ends are not there (on a GPU an assertion of the device's, as of torch's own indexing).
    """
    if not isinstance(rows, torch.Tensor) or rows.dtype not in kinds or rows.dim() < 1 or rows.layout != torch.strided:
        raise UsageError(f"rows: {getattr(rows, 'dtype', type(rows).__name__)}; give a tensor of float32, float64, float16 or bfloat16, a row a source")
    if how not in ("sum", "mean", "gcn"):
        raise UsageError(f"how '{how}': use sum, mean or gcn")
    if isinstance(edges, Shard):
        if weights is not None or degrees is not None or hops is not None:
            raise UsageError("weights, degrees, hops: a part of a graph has its own; use weighted=True to garner.torch.shard")
        return aggregate_over(edges, rows, how)
    sources = rows.shape[0]
    over = _edges_of(edges, hops, sources, rows.device, grouped)
    count, targets, real = over.row.shape[0], over.targets, real_of(rows.dtype)
    if weights is not None:
        weights = _checks.real(_checks.tensor(weights, "weights"), "weights")
        if weights.dim() != 1 or weights.shape[0] < count or hops is None and weights.shape[0] != count:
            raise UsageError(f"weights: of shape {tuple(weights.shape)} for {count} edges; give one each")
        weights = weights[:count].to(rows.device, real)
    if degrees is not None:
        degrees = _checks.real(_checks.tensor(degrees, "degrees"), "degrees")
        if degrees.dim() != 1 or degrees.shape[0] != sources:
            raise UsageError(f"degrees: of shape {tuple(degrees.shape)} for {sources} sources; give one each")
        degrees = degrees.detach().to(rows.device, real)
    if how == "sum" or how == "mean" and weights is None:
        return over.sum(rows, weights, mean=how == "mean")

    def per_row(factors: torch.Tensor) -> torch.Tensor:
        return factors.to(rows.dtype).reshape(-1, *[1] * (rows.dim() - 1))

    def sums() -> torch.Tensor:
        """The sum of each target's edge weights, or how many edges it has."""
        return over.lists()[0].diff().to(real) if weights is None else over.sum(weights.new_ones(sources, 1), weights).squeeze(1)

    if how == "mean":
        total = sums()
        return over.sum(rows, weights) * per_row(torch.where(total > 0, 1 / total, 0))
    if targets > sources:
        raise UsageError(f"gcn over {targets} targets and {sources} sources; the targets are the first sources; pass at least as many sources")
    if degrees is None and targets != sources:
        raise UsageError(f"gcn over {targets} targets and {sources} sources, and no degrees; give those of the sources in the whole graph")
    root = 1 / torch.sqrt((sums() if degrees is None else degrees) + 1)
    of_target = root[:targets]
    if degrees is not None and weights is None:  # which are counts too; of weights nobody knows how many were left out
        drawn = sums()
        of_target = torch.where(drawn > 0, of_target * degrees[:targets] / drawn, 0)
    row, col = over.ends()
    factors = root[row] * of_target[col]
    return over.sum(rows, factors if weights is None else factors * weights) + rows[:targets] * per_row(root[:targets] ** 2)


def load_model(file: str | os.PathLike[str]) -> dict[str, torch.Tensor]:
    """A model that garner trained (`garner train -o`, garner.Model.save), as the state_dict of PyG's GraphSAGE, GCN or GIN of its shape.

        model = torch_geometric.nn.GraphSAGE(in_channels=602, hidden_channels=64, num_layers=2, out_channels=41)
        model.load_state_dict(garner.torch.load_model("model.safetensors"))
    """
    model = read_model(file)
    state = {name: torch.from_numpy(np.array(values)) for name, values in model.tensors().items()}
    if model.options["kind"] == "gin":  # which PyG keeps although it is not learned
        for layer in range(model.options["num_layers"]):
            state[f"convs.{layer}.eps"] = torch.zeros(1)
    return state
