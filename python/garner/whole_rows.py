"""Layers over rows that lie whole in the memory of one device: neighbors are summed straight from the adjacency, by chunks of consecutive nodes.

For garner.infer, of PyG's SAGEConv, GraphConv, GINConv and GCNConv, where the rows of a layer and the adjacency fit. Invariant: the results are those of
the layer itself, up to the order of sums. Cost: rows and adjacency cross the link once; a layer reads a row per edge from the device's own memory, and
makes none.
"""
from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from ._garner import Graph
from .errors import OutOfMemory
from .operators import Lists, kinds, real_of, sum_now
from .pipeline import torch_device
from .staging import Arriving
from .tables import Tiered, place_of, scales_of

_piece = 64 << 20  # bytes of a table's rows that are gathered at once
_most_edges = 1 << 26  # of a chunk, unless one node has more


class WholeRows:
    """convs: of each layer the convolution that alone reads edges, and comes first; None: unknown."""

    def __init__(self, graph: Graph, side: str, device: Any, convs: Sequence[Any], memory: int) -> None:
        name = f"cuda:{device}" if isinstance(device, int) else str(device)
        self.graph, self.side, self.memory, self.device = graph, side, memory, torch_device(name)
        self.nodes = graph.info.num_nodes
        self.convs = [conv if name != "simulated" and _is_known(conv) else None for conv in convs]
        self.scales: dict[Any, tuple[torch.Tensor, torch.Tensor]] = {}  # of GCNConv that normalizes
        self.begins: Any = None  # of each node's neighbors, in host memory
        self.in_host: Any = None  # the neighbors, and weights or None
        self.offsets: Any = None  # begins, on the device, as what follows
        self.ends: Any = None
        self.weights: Any = None  # of edges; None: they have none
        self.at: Any = None  # the chunk: its first node, and the one behind its last

    def _fits(self, size: int) -> bool:
        """size: bytes of a layer's rows, which need room with those of the next, of a chunk, and of others."""
        return 3 * size <= (self.memory if self.device.type == "cpu" else _free(self.device))

    def rows(self, layer: int, rows: Any, kind: torch.dtype | None) -> torch.Tensor | None:
        """These rows, on the device, if the layer can work on them there. kind: what they become then, if not what they are."""
        if self.convs[layer] is None or len(rows.shape) != 2:
            return None
        table = isinstance(rows, Tiered)
        given = rows if isinstance(rows, torch.Tensor) or table else host_tensor(rows)
        at = torch_device(place_of(rows)) if table else given.device
        scaled = scales_of(rows) is not None

        def read(ids: torch.Tensor) -> torch.Tensor:
            return rows.gather(ids, dtype="f32") if scaled else given[ids]
        one = read(torch.arange(1, device=at))
        there = not table and at == self.device and not isinstance(rows, np.memmap)
        wider = one.numel() * kind.itemsize if kind is not None and kind.itemsize > one.element_size() else 0
        if one.dtype not in kinds or not self._take_lists(self.nodes * (wider + (0 if there else one.nbytes))):
            return None
        if not table:
            return Arriving(self.device, given.detach()).upto(self.nodes)
        found, step = torch.empty((self.nodes, one.shape[1]), dtype=one.dtype, device=self.device), max(1, _piece // max(1, one.nbytes))
        for first in range(0, self.nodes, step):
            found[first:first + step] = read(torch.arange(first, min(self.nodes, first + step), device=at))
        return found

    def _take_lists(self, rows: int = 0) -> bool:
        """The neighbors of all nodes, at the first call. rows: bytes of rows that must have room on the device with them."""
        if self.begins is not None:
            return len(self.begins) > 0 and self._fits(rows)
        lists = (2 if self.graph.info.weights == "none" else 4) * self.graph.info.num_edges + 3 * self.nodes
        if self._fits(rows + lists):
            self.begins = np.empty(0, np.int64)
            if self.nodes < 1 << 31:
                with contextlib.suppress(OutOfMemory):
                    if self.side == "in":
                        self.graph.make_in_edges()
                    begins, ends, weights = self.graph.csr(self.side)
                    if ends.dtype == np.int32:
                        self.begins, self.in_host = begins, (ends, weights)
        return self.begins is not None and len(self.begins) > 0

    def set_out(self) -> None:
        """The neighbors do so for the device, behind rows that already did; a chunk waits for its own alone."""
        if self.in_host is not None:
            (ends, weights), self.in_host = self.in_host, None
            self.offsets, self.ends = (Arriving(self.device, host_tensor(part)) for part in (self.begins, ends))
            self.weights = None if weights is None else Arriving(self.device, host_tensor(weights)).upto(len(weights)).float()

    def run(self, k: int, layer: Any, x: torch.Tensor, first: int, most: int | None, check: Callable[..., None]) -> Iterator[torch.Tensor]:
        """The layer's rows of the nodes from `first` on, of at most so many at once. check(k, again, found): rows of some nodes, from two chunks."""
        self.set_out()
        conv: Any = self.convs[k]
        most = most or (1 << 18 if self.device.type == "cuda" else 1 << 16)
        with contextlib.ExitStack() as ends:
            if type(conv).__name__ == "GCNConv":
                conv.forward = lambda rows, *_: self._gcn(conv, rows)
                ends.callback(delattr, conv, "forward")
            else:
                ends.callback(conv.register_forward_pre_hook(lambda _, args: ((args[0], args[0][self._nodes()]), None)).remove)
                conv.propagate = lambda *_, x, **given: sum_now(x[0], self._weights(x[0].dtype) if "edge_weight" in given else None, self._lists(),
                                                                 int(conv.aggr == "mean"))
                ends.callback(delattr, conv, "propagate")
            for begin, end in self._chunks(first, most):
                self.at = begin, end
                found = layer(x, None, end - begin)
                if begin == first and end > begin + 1:
                    self.at = begin, (begin + end) // 2
                    check(k, layer(x, None, self.at[1] - begin), found[:self.at[1] - begin])
                yield found

    def _chunks(self, first: int, most: int) -> Iterator[tuple[int, int]]:
        while first < self.nodes:
            by_edges = int(np.searchsorted(self.begins, self.begins[first] + _most_edges, "right")) - 1
            end = min(self.nodes, first + most, max(by_edges, first + 1))
            yield first, end
            first = end

    def _nodes(self) -> slice:
        return slice(*self.at)

    def _lists(self) -> Lists:
        first, end = self.at
        begin, until = self.begins[first], self.begins[end]
        offsets = self.offsets.upto(self.nodes + 1)[first:end + 1]
        return offsets - offsets[0], self.ends.upto(until)[begin:until], torch.empty(0, dtype=torch.int64, device=self.device)

    def _weights(self, kind: torch.dtype) -> torch.Tensor | None:
        """What the edges of the chunk weigh."""
        return None if self.weights is None else self.weights[self.begins[self.at[0]]:self.begins[self.at[1]]].to(real_of(kind))

    def _others(self, lists: Lists) -> torch.Tensor:
        """Which edges of the chunk lead to other nodes."""
        nodes = torch.arange(*self.at, dtype=torch.int32, device=self.device)
        return lists[1] != torch.repeat_interleave(nodes, lists[0].diff(), output_size=len(lists[1]))

    def counts(self, weighted: bool) -> torch.Tensor | None:
        """What the edges of each node weigh without loops, its loops, and the loop that stays (-1: it has none): shape (3, nodes); None: where the
        adjacency does not fit."""
        if not any(self.convs) or not self._take_lists():
            return None
        self.set_out()
        found, before = torch.zeros(3, self.nodes, device=self.device), self.at
        found[2] = -1
        for self.at in self._chunks(0, 1 << 18):
            lists = self._lists()
            of, given = self._others(lists), self._weights(torch.float32) if weighted else None
            weights = torch.ones(of.shape, device=self.device) if given is None else given
            for row, part in enumerate((weights * of, weights * ~of)):
                found[row, self._nodes()] = torch.segment_reduce(part, "sum", lengths=lists[0].diff(), initial=0.0, unsafe=True)
            loops = (~of).nonzero().squeeze(1)
            found[2, lists[1][loops].long()] = weights[loops]
        self.at = before
        return found

    def _gcn(self, conv: Any, x: torch.Tensor) -> Any:
        """The sum comes before the product, which takes the same rows back to as many as the chunk has."""
        lists = self._lists()
        if conv not in self.scales:
            out = sum_now(x, self._weights(x.dtype), lists)
        else:
            scale, loops = (part.to(self.device) for part in self.scales[conv])
            weights, given = scale[lists[1]], self._weights(torch.float32)
            weights = weights if given is None else weights * given
            if conv.add_self_loops:
                weights *= self._others(lists)
            out, own = sum_now(x, weights.to(real_of(x.dtype)), lists), scale[self._nodes()]
            if conv.add_self_loops:
                out += (own * loops[self._nodes()]).to(out.dtype)[:, None] * x[self._nodes()]
            out *= own.to(out.dtype)[:, None]
        out = conv.lin(out)
        return out if conv.bias is None else out.add_(conv.bias)


def _is_known(conv: Any) -> bool:
    """Whether it is a layer of PyG's, or of garner.pyg, that sums as it is made."""
    both = [sys.modules.get("torch_geometric.nn"), sys.modules.get("garner.pyg")]
    names = ("SAGEConv", "GraphConv", "GINConv", "GCNConv")
    if not any(type(conv) is getattr(module, name, None) for module in both if module is not None for name in names):
        return False
    hooks = (f"_{what}_forward_{when}" for what in ("propagate", "message", "aggregate", "message_and_aggregate") for when in ("pre_hooks", "hooks"))
    return (conv.aggr in (("sum", "add") if type(conv).__name__ == "GCNConv" else ("sum", "add", "mean")) and conv.flow == "source_to_target"
            and conv.node_dim == -2 and not conv.explain and not getattr(conv, "project", False) and not getattr(conv, "cached", False)
            and getattr(conv, "decomposed_layers", 1) == 1 and not any(getattr(conv, name, None) for name in hooks)
            and not any(name in vars(conv) for name in ("forward", "propagate", "message", "aggregate")))


def _free(device: torch.device) -> int:
    """Bytes, with what torch keeps for its next tensors."""
    found: int = torch.cuda.mem_get_info(device)[0] + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return found


def host_tensor(array: Any) -> torch.Tensor:
    """The same memory. Torch warns of arrays that are read only, which nobody writes to here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found: torch.Tensor = torch.from_numpy(array)
        return found
