"""Links as what mini-batches begin at: their negatives, the nodes at their ends, and whose tree is whose. Needs torch; PyG is not needed.

Nodes, positions and draws of torch are those of PyG's edge_sample(), for garner.torch.loader as for garner.pyg.
"""
from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from . import _checks
from .errors import UsageError


class NegativeSampling:
    """As torch_geometric.sampler.NegativeSampling. mode 'binary': `amount` pairs per link, of random ends; 'triplet': so many random targets for the
    source of each link. src_weight, dst_weight: shape (nodes,), how often a node is sampled; None: all equally often."""

    def __init__(self, mode: Any, amount: float = 1, src_weight: Any = None, dst_weight: Any = None) -> None:
        self.mode = getattr(mode, "value", mode)  # PyG has an enum
        if self.mode not in ("binary", "triplet"):
            raise UsageError(f"neg_sampling: the mode is {_checks.told(mode)}; use 'binary' or 'triplet'")
        whole = self.is_triplet()
        try:
            self.amount: Any = int(amount) if whole else float(amount)
        except (TypeError, ValueError, OverflowError):
            self.amount = 0
        if not 0 < self.amount < math.inf or whole and self.amount != amount:
            raise UsageError(f"neg_sampling: the amount is {_checks.told(amount)}; name how many negatives a link has, "
                             f"{'a whole number, 1 or more' if whole else 'more than 0'}")
        self.src_weight, self.dst_weight = src_weight, dst_weight
        self.sums: dict[str, torch.Tensor] = {}  # of the weights up to each node, by negatives_of()

    def is_binary(self) -> bool:
        return bool(self.mode == "binary")

    def is_triplet(self) -> bool:
        return bool(self.mode == "triplet")

    def sample(self, count: int, end: str, nodes: int) -> torch.Tensor:
        """So many nodes for this end ('src', 'dst'), of torch's generator."""
        sums = self.sums.get(f"{end}_weight")
        if sums is None:
            return torch.randint(nodes, (count,))
        return torch.searchsorted(sums, torch.rand(count, dtype=torch.float64) * sums[-1], right=True)  # one of weight 0 is never found


def weights_of(negatives: Any, ends: tuple[int, int]) -> dict[str, torch.Tensor]:
    """src_weight and dst_weight, where they are set: one per node, checked. ends: how many nodes there are for each."""
    found = {}
    for name, nodes in zip(("src_weight", "dst_weight"), ends):
        if (weight := getattr(negatives, name, None)) is not None:
            found[name] = torch.from_numpy(_checks.floats(weight, f"neg_sampling: {name}", nodes, "nodes of its type"))
            if not bool((found[name] >= 0).all()) or not 0 < float(found[name].sum(dtype=torch.float64)) < math.inf:
                raise UsageError(f"neg_sampling: {name} has a weight that is negative or not finite, or no other than 0; give each node 0 or more")
    return found


def negatives_of(given: Any, sources: int, targets: int) -> Any:
    """What neg_sampling= says: a mode, an amount of binary ones, both as (mode, amount) or as a dict, or an object as PyG's. None: none. sources,
    targets: how many nodes there are for each end."""
    found = given
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        found = NegativeSampling("binary", given)
    elif isinstance(given, str):
        found = NegativeSampling(given)
    elif isinstance(given, (tuple, list)) and len(given) == 2:
        found = NegativeSampling(*given)
    elif isinstance(given, Mapping) and "mode" in given and set(given) <= {"mode", "amount", "src_weight", "dst_weight"}:
        found = NegativeSampling(**given)
    elif given is not None and not (hasattr(given, "is_binary") and hasattr(given, "sample")):
        raise UsageError(f"neg_sampling is {_checks.told(given)}; use 'binary', 'triplet', a number of negatives a link, ('triplet', 5), or a dict with mode, "
                         "amount, src_weight and dst_weight")
    weights = weights_of(found, (sources, targets))
    if isinstance(found, NegativeSampling):
        found.sums = {name: weight.to(torch.float64).cumsum(0) for name, weight in weights.items()}
    return found


@dataclasses.dataclass
class Links:
    """What mini-batches of links begin at: row -> col, between nodes of these types."""

    row: torch.Tensor
    col: torch.Tensor
    label: torch.Tensor | None
    types: tuple[Any, Any]
    negatives: Any
    node_time: dict[Any, torch.Tensor]
    disjoint: bool


@dataclasses.dataclass
class Seeds:
    """What a mini-batch begins at: nodes and their times, by type. `trees`: of disjoint links: how many seeds one end has, and how many links.
    `told`: what else the mini-batch says of them."""

    nodes: dict[Any, torch.Tensor]
    times: dict[Any, torch.Tensor]
    told: dict[str, torch.Tensor | None] = dataclasses.field(default_factory=dict)
    trees: tuple[int, int] | None = None


@contextlib.contextmanager
def drawing(number: int) -> Iterator[None]:
    """What torch draws inside is a function of the number; its generator is as before afterwards."""
    before = torch.default_generator.get_state()
    torch.default_generator.manual_seed(number)
    try:
        yield
    finally:
        torch.default_generator.set_state(before)


def seeds_of(row: torch.Tensor, col: torch.Tensor, label: torch.Tensor | None, time: torch.Tensor | None, types: tuple[Any, Any],
             num_nodes: tuple[int, int], node_time: tuple[Any, Any], disjoint: bool, negatives: Any, number: int) -> Seeds:
    """Seeds of links between nodes of these types (the same twice where there is one). node_time: of the nodes of both types, or None; `time`: of the
    links, which negatives obey too. The negatives are a function of the number. Disjoint: each end is a seed of its own; else each node is one."""
    links = row.numel()
    src, dst, src_time, dst_time = row, col, time, time
    binary = negatives is None or negatives.is_binary()
    if negatives is not None:
        with drawing(number):
            if binary:
                src = torch.cat([row, _negatives(negatives, "src", links, time, num_nodes[0], node_time[0])])
            dst = torch.cat([col, _negatives(negatives, "dst", links, time, num_nodes[1], node_time[1])])
        if time is not None:
            dst_time = time.repeat(1 + math.ceil(negatives.amount))[:dst.numel()]
            src_time = dst_time if binary else time
        if binary:
            label = torch.ones(links) if label is None else label
            label = torch.cat([label, label.new_zeros((dst.numel() - links, *label.shape[1:]))])
    one = types[0] == types[1]
    ends = src.numel()
    if disjoint:
        nodes = {types[0]: torch.cat([src, dst])} if one else {types[0]: src, types[1]: dst}
        of_src, of_dst = torch.arange(ends), torch.arange(dst.numel()) + (ends if one else 0)
    elif one:
        both, inverse = torch.unique(torch.cat([src, dst]), return_inverse=True)
        nodes, of_src, of_dst = {types[0]: both}, inverse[:ends], inverse[ends:]
    else:
        (sources, of_src), (targets, of_dst) = (torch.unique(some, return_inverse=True) for some in (src, dst))
        nodes = {types[0]: sources, types[1]: targets}
    times: dict[Any, torch.Tensor] = {}
    if src_time is not None and dst_time is not None:
        times = {types[0]: torch.cat([src_time, dst_time])} if one else {types[0]: src_time, types[1]: dst_time}
    told: dict[str, torch.Tensor | None]
    if binary:
        told = {"edge_label_index": torch.stack([of_src, of_dst]), "edge_label": label}
    else:
        wrong = of_dst[links:]
        wrong = wrong.view(-1, links).t() if disjoint else wrong.view(links, -1)
        told = {"src_index": of_src, "dst_pos_index": of_dst[:links], "dst_neg_index": wrong.squeeze(-1)}
    return Seeds(nodes, times, {**told, "seed_time": src_time}, (ends, links) if disjoint else None)


def _negatives(negatives: Any, end: str, links: int, time: torch.Tensor | None, nodes: int, node_time: torch.Tensor | None) -> torch.Tensor:
    """Ends of negatives. Where nodes and links have times none is later than its link, unless all nodes that were tried are: then it is the
    earliest node."""
    count = math.ceil(links * negatives.amount)
    found: torch.Tensor
    if node_time is None or time is None:
        found = negatives.sample(count, end, nodes)
        return found
    times = time.view(1, -1).expand(math.ceil(negatives.amount), -1)
    found = negatives.sample(times.numel(), end, nodes).view(times.shape)
    late = node_time[found] > times
    for _ in range(5):
        missing = int(late.sum())
        if not missing:
            break
        others = negatives.sample(missing, end, nodes)
        found[late] = others
        late[late.clone()] = node_time[others] >= times[late]
    found[late] = node_time.argmin()
    return found.reshape(-1)[:count]


def of_links(tree: torch.Tensor, trees: tuple[int, int]) -> torch.Tensor:
    """The links that disjoint trees of seeds belong to. Trees of sources come first, then as many of targets, then those of more negatives."""
    ends, links = trees
    if tree.is_cpu:  # by NumPy: threads that torch wakes for this spin for a while on the cores that sample the next mini-batch
        found = tree.numpy()
        return torch.from_numpy(np.where(found >= ends, found - ends, found) % links)
    return torch.where(tree >= ends, tree - ends, tree) % links
