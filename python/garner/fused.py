"""Layers of garner.pyg as one step of autograd each: the few launches that they need, and one way through Python. Where gradients are to have gradients
of their own, a step is taken again from operators that have them."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .operators import Edges, dot_now, real_of, soften_back_now, soften_now, sum_now


def _again(ctx: Any, step: Callable[..., torch.Tensor], inputs: Sequence[torch.Tensor | None], gradient: torch.Tensor, *options: Any) -> tuple[Any, ...]:
    """The gradients of a step's inputs, with gradients; None of its options."""
    wanted = {k: part for k, part in enumerate(inputs) if part is not None and ctx.needs_input_grad[k]}
    found = torch.autograd.grad(step(*inputs, *options), list(wanted.values()), gradient, create_graph=True, allow_unused=True)
    by_input = dict(zip(wanted, found))
    return *(by_input.get(k) for k in range(len(inputs))), *[None] * len(options)


class _Sage(torch.autograd.Function):
    """left(mean or sum of neighbors' rows) + right(own rows) + bias. own: None where these are the rows. Edges: to the first targets alone, the others
    have none."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, own: torch.Tensor | None, left: torch.Tensor, right: torch.Tensor | None, bias: torch.Tensor | None,
                edges: Edges, mean: bool) -> torch.Tensor:
        ctx.edges, ctx.mean = edges, mean
        if ctx.needs_input_grad[0]:
            edges.lists(back=True)  # on the stream of now
        taken = sum_now(rows, None, edges.lists(), int(mean))
        if right is None:
            out = torch.mm(taken, left.t()) if bias is None else torch.addmm(bias, taken, left.t())
        else:
            to = rows if own is None else own
            out = torch.mm(to, right.t()) if bias is None else torch.addmm(bias, to, right.t())
            (out if edges.targets == out.shape[0] else out[:edges.targets]).addmm_(taken, left.t())
        ctx.save_for_backward(rows, own, left, right, bias, taken)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        rows, own, left, right, bias, taken = ctx.saved_tensors
        edges, mean, needs = ctx.edges, ctx.mean, ctx.needs_input_grad
        if torch.is_grad_enabled():
            return _again(ctx, _sage_again, [rows, own, left, right, bias], gradient, edges, mean)
        of_taken = gradient if edges.targets == gradient.shape[0] else gradient[:edges.targets]
        of_rows = of_own = of_right = None
        if right is not None:
            if needs[3]:
                of_right = torch.mm(gradient.t(), rows if own is None else own)
            if needs[0 if own is None else 1]:
                of_own = torch.mm(gradient, right)
        if needs[0]:
            loops = edges.sources if own is None and of_own is not None else 0
            of_rows = sum_now(torch.mm(of_taken, left), None, edges.lists(back=True), 2 if mean else 0, edges.lists()[0] if mean else None, loops, of_own)
        return (of_rows, None if own is None else of_own, torch.mm(of_taken.t(), taken) if needs[2] else None, of_right,
                gradient.sum(0) if needs[4] else None, None, None)


def _sage_again(rows: torch.Tensor, own: torch.Tensor | None, left: torch.Tensor, right: torch.Tensor | None, bias: torch.Tensor | None,
                edges: Edges, mean: bool) -> torch.Tensor:
    out = edges.sum(rows, mean=mean) @ left.t()
    if right is not None:
        others = (rows if own is None else own) @ right.t()
        out = others + torch.nn.functional.pad(out, (0, 0, 0, others.shape[0] - out.shape[0]))
    return out if bias is None else out + bias


class _Gin(torch.autograd.Function):
    """The sum of neighbors' rows and 1 + eps times the own one."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, eps: torch.Tensor, edges: Edges) -> torch.Tensor:
        ctx.edges = edges
        ctx.save_for_backward(rows, eps)
        if ctx.needs_input_grad[0]:
            edges.lists(back=True)
        out = sum_now(rows, None, edges.lists(), loops=edges.targets, eps=eps.to(rows.device, real_of(rows.dtype)))
        return out.to(torch.promote_types(rows.dtype, eps.dtype))

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        (rows, eps), edges = ctx.saved_tensors, ctx.edges
        if torch.is_grad_enabled():
            return _again(ctx, _gin_again, [rows, eps], gradient, edges)
        real = eps.to(rows.device, real_of(rows.dtype))
        of_rows = sum_now(gradient.to(rows.dtype), None, edges.lists(back=True), loops=edges.sources, eps=real) if ctx.needs_input_grad[0] else None
        return of_rows, (gradient * rows).sum().reshape(eps.shape).to(eps.dtype) if ctx.needs_input_grad[1] else None, None


def _gin_again(rows: torch.Tensor, eps: torch.Tensor, edges: Edges) -> torch.Tensor:
    return edges.sum(rows) + (1 + eps) * rows


class _Gat(torch.autograd.Function):
    """Rows of shape (nodes, heads, columns), aggregated by attention. loops: whether each node has one edge to itself, whatever the edges have. dropout:
    of attention's weights."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, by_source: torch.Tensor, by_target: torch.Tensor, edges: Edges, slope: float, loops: bool,
                dropout: float) -> torch.Tensor:
        ctx.edges, ctx.slope, ctx.loops, ctx.dropout = edges, slope, edges.targets if loops else 0, dropout
        lists = edges.lists()
        if any(ctx.needs_input_grad):
            edges.lists(back=True)
        both = torch.cat((by_source, by_target)).to(rows.dtype)  # (2, heads, columns)
        scores = torch.bmm(rows.transpose(0, 1), both.permute(1, 2, 0)).to(real_of(rows.dtype)).contiguous()
        weights = soften_now(scores, lists, slope, ctx.loops)
        kept = torch.nn.functional.dropout(weights, dropout) if dropout else weights
        ctx.save_for_backward(rows, by_source, by_target, both, scores, weights, kept)
        return sum_now(rows, kept, lists, loops=ctx.loops).to(torch.promote_types(rows.dtype, by_source.dtype))

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        rows, by_source, by_target, both, scores, weights, kept = ctx.saved_tensors
        edges, slope, loops = ctx.edges, ctx.slope, ctx.loops
        scale = (kept != 0).to(kept.dtype) / (1 - ctx.dropout) if ctx.dropout else None  # a weight of 0 has no gradient to give back
        if torch.is_grad_enabled():
            return _again(ctx, _gat_again, [rows, by_source, by_target], gradient, edges, slope, loops, scale)
        lists, back, gradient = edges.lists(), edges.lists(back=True), gradient.to(rows.dtype)
        of_kept = dot_now(rows, gradient, lists, loops=loops)
        of_weights = of_kept if scale is None else of_kept.mul_(scale)
        of_scores = soften_back_now(scores, weights, of_weights, lists, back, slope, loops).to(rows.dtype)
        of_rows = of_source = of_target = None
        if ctx.needs_input_grad[0]:
            of_rows = sum_now(gradient, kept, back, loops=loops)
            of_rows.transpose(0, 1).baddbmm_(of_scores, both.transpose(0, 1))
        if ctx.needs_input_grad[1] or ctx.needs_input_grad[2]:
            of_both = torch.bmm(of_scores.transpose(1, 2), rows.transpose(0, 1)).to(by_source.dtype)  # (heads, 2, columns)
            of_source, of_target = of_both[:, 0].unsqueeze(0), of_both[:, 1].unsqueeze(0)
        return of_rows, of_source, of_target, None, None, None, None


def _gat_again(rows: torch.Tensor, by_source: torch.Tensor, by_target: torch.Tensor, edges: Edges, slope: float, loops: int,
               scale: torch.Tensor | None) -> torch.Tensor:
    row, col = edges.ends()
    real = real_of(rows.dtype)
    of_source, of_target = ((rows * by).sum(-1).to(real) for by in (by_source, by_target))  # (nodes, heads)
    scores = torch.nn.functional.leaky_relu(of_source[row] + of_target[col], slope)
    if loops:
        scores = scores.masked_fill((row == col).unsqueeze(1), float("-inf"))
        own = torch.arange(loops, device=row.device)
        row, col = torch.cat((row, own)), torch.cat((col, own))
        scores = torch.cat((scores, torch.nn.functional.leaky_relu(of_source + of_target, slope)))
    at = col.unsqueeze(1).expand_as(scores)
    most = torch.full_like(of_target, float("-inf")).scatter_reduce(0, at, scores.detach(), "amax")
    shares = torch.exp(scores - most[col])
    shares = shares / torch.zeros_like(of_target).index_add(0, col, shares)[col]
    shares = (shares if scale is None else shares * scale).unsqueeze(-1).to(rows.dtype)
    return torch.zeros_like(rows).index_add(0, col, rows[row] * shares).to(torch.promote_types(rows.dtype, by_source.dtype))


def _step(function: Any, inputs: Sequence[torch.Tensor | None], *options: Any) -> torch.Tensor:
    """Applies a step; where gradients are off it sees no parameter as trained, so that it makes no lists for backward."""
    if not torch.is_grad_enabled():
        inputs = [part if part is None else part.detach() for part in inputs]
    found: torch.Tensor = function.apply(*inputs, *options)
    return found


def sage(rows: torch.Tensor, own: torch.Tensor | None, left: torch.Tensor, right: torch.Tensor | None, bias: torch.Tensor | None,
         edges: Edges, mean: bool, kind: torch.dtype | None) -> torch.Tensor:
    """kind: what autocast wants products in."""
    given = rows, own, left, right, bias
    return _step(_Sage, given if kind is None else [part if part is None else part.to(kind) for part in given], edges, mean)


def gin(rows: torch.Tensor, eps: torch.Tensor, edges: Edges) -> torch.Tensor:
    return _step(_Gin, (rows, eps), edges)


def gat(rows: torch.Tensor, by_source: torch.Tensor, by_target: torch.Tensor, edges: Edges, slope: float, loops: bool,
        dropout: float) -> torch.Tensor:
    return _step(_Gat, (rows, by_source, by_target), edges, slope, loops, dropout)
