"""What PyG's loaders are given, looked at when they are made; and which of its inputs each mini-batch takes, as numbered positions."""
from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
import torch.utils.data
from torch.utils.data.distributed import DistributedSampler
from torch_geometric.data import Data, HeteroData  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.sampler import NegativeSampling  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .. import _checks, links
from ..errors import InputError, KindError, UsageError
from ..pipeline import drawn_seed, mixed
from ..shares import share_of_seeds
from .later import template_of
from .sampler import NeighborSampler
from .source import edge_names, edges_in, node_names, times_of


class Positions(list[int]):
    """The positions of a mini-batch among the input, the number that it samples by, and what was sampled ahead."""

    draw: int
    ready: Any = None


class Input(torch.utils.data.Dataset[Any]):
    """What torch's loader takes for a dataset: range(count), whose positions it hands on as they are."""

    def __init__(self, count: int) -> None:
        self.all = range(count)

    def __len__(self) -> int:
        return len(self.all)

    def __iter__(self) -> Iterator[int]:
        return iter(self.all)

    def __eq__(self, other: object) -> bool:
        return self.all == (other.all if isinstance(other, Input) else other)

    def __hash__(self) -> int:
        return hash(self.all)

    def __getitem__(self, k: Any) -> Any:
        return k if isinstance(k, Positions) else self.all[k]

    def __getitems__(self, positions: Any) -> Any:
        return positions


class Numbered:
    """A sampler of mini-batches that numbers them. `epoch`: the seed of the one that begins now."""

    def __init__(self, batches: Any, epoch: list[int]) -> None:
        self.batches, self.epoch = batches, epoch

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[Positions]:
        return self._numbered(self.epoch[0])

    def _numbered(self, seed: int) -> Iterator[Positions]:
        for number, positions in enumerate(self.batches):
            numbered = Positions(positions if hasattr(positions, "__iter__") else [positions])
            numbered.draw = mixed(seed, 0) + number
            yield numbered


class TorchLoader(torch.utils.data.DataLoader):  # type: ignore[type-arg]
    """What stands behind PyG's loaders: torch's, with numbered mini-batches."""

    data: Any
    _epoch: list[int]

    def __init__(self, dataset: Any, *given: Any, **kwargs: Any) -> None:
        self._epoch = [0]
        super().__init__(Input(len(dataset)), *given, **kwargs)

    @property
    def _index_sampler(self) -> Any:
        return Numbered(super()._index_sampler, self._epoch)


class Share(DistributedSampler):  # type: ignore[type-arg]
    """That of a loader with ranks=: each pass is an epoch of its own."""

    def __iter__(self) -> Iterator[Any]:
        order = super().__iter__()
        self.epoch += 1
        return order


# Samplers whose order is a function of their generator alone, so that all of it can be taken when an epoch begins.
known_orders = (torch.utils.data.SequentialSampler, torch.utils.data.RandomSampler, torch.utils.data.SubsetRandomSampler,
                torch.utils.data.WeightedRandomSampler, DistributedSampler, Share)


def order_of(sampler: Any) -> torch.Tensor:
    """What iterating over one of torch's samplers yields, and its generator is left as that leaves it; without a number of Python a position."""
    if type(sampler) is torch.utils.data.SequentialSampler:
        return torch.arange(len(sampler))
    if type(sampler) is torch.utils.data.RandomSampler and not sampler.replacement:
        generator, count = sampler.generator, len(sampler.data_source)
        if generator is None:
            generator = torch.Generator().manual_seed(drawn_seed())
        if count:
            orders = [torch.randperm(count, generator=generator) for _ in range(sampler.num_samples // count + 1)]
            return torch.cat(orders)[:sampler.num_samples]
    return torch.from_numpy(np.fromiter(sampler, np.int64))


class Order(Positions):
    """The same of a slice of an epoch's order, which becomes a list where somebody looks at it."""

    def __init__(self, order: torch.Tensor, draw: int) -> None:
        self.order, self.draw = order, draw

    def listed(self) -> Positions:
        found = Positions(self.order.tolist())
        found.draw = self.draw
        return found

    def __len__(self) -> int:
        return self.order.numel()

    def __iter__(self) -> Iterator[int]:
        return iter(self.order.tolist())

    def __getitem__(self, k: Any) -> Any:
        return self.order.tolist()[k]


def as_tensor(index: Any) -> torch.Tensor:
    return index.order if isinstance(index, Order) else torch.as_tensor(index, dtype=torch.int64).reshape(-1)


class Epoch:
    """An iterator over an epoch that knows how long it is."""

    def __init__(self, batches: Iterator[Any], length: int | None) -> None:
        self._batches, self._length = batches, length

    def __iter__(self) -> Epoch:
        return self

    def __next__(self) -> Any:
        return next(self._batches)

    def __len__(self) -> int:
        if self._length is None:
            raise TypeError("the sampler of this loader has no length")
        return self._length


def nodes_of(data: Any, sampler: Any) -> Any:
    """How many nodes there are, by type where there are several; None: nobody knows before they are sampled."""
    if isinstance(sampler, NeighborSampler):
        return sampler.num_nodes
    if isinstance(data, HeteroData):
        nodes = {t: data[t].num_nodes for t in data.node_types}
        return None if None in nodes.values() else nodes
    return data.num_nodes if isinstance(data, Data) else None


def require_rows(data: Any, nodes: Any, lists: bool = False) -> None:
    """That what PyG takes for features of nodes and of edges by their names has a row for each; what has not it would hand over whole. lists: whether
    lists as long as the nodes or edges will do, as they do in Data.subgraph and not in PyG's loaders that sample neighbors."""
    stores = [data._store] if isinstance(data, Data) else [*data.node_stores, *data.edge_stores] if isinstance(data, HeteroData) else []
    for store in stores if nodes is not None else []:
        kind = store._key
        count = {} if isinstance(kind, tuple) else {"nodes": nodes if kind is None else nodes.get(kind)}
        count.update({} if isinstance(kind, str) else {"edges": store.num_edges})
        wanted = {**dict.fromkeys(node_names, ["nodes"]), **dict.fromkeys(edge_names, ["edges"]),
                  **dict.fromkeys(("y", "train_mask", "val_mask", "test_mask"), list(count))}
        for name, value in store.items():
            if not lists and isinstance(value, (list, tuple)) and [what for key, what, *_ in template_of(data, store) if key == name]:
                raise KindError(f"{name}{'' if kind is None else f' of {kind!r}'}: a {type(value).__name__} of {len(value)} for "
                                f"{' and '.join(f'{n} {of}' for of, n in count.items())}, and mini-batches have rows of tensors and arrays; make it one, or leave "
                                "it out of the data")
            known = [count[of] for of in wanted.get(name, []) if count.get(of) is not None]
            if not known or not isinstance(value, (torch.Tensor, np.ndarray)) or not value.ndim or value.shape[0] in known:
                continue
            if name != "y" or value.shape[0] != 1:  # which is of the graph
                raise InputError(f"{name}{'' if kind is None else f' of {kind!r}'}: {value.shape[0]} rows for "
                                 f"{' and '.join(f'{n} {of}' for of, n in count.items())}; give each one a row, or name it otherwise")


def require_kinds(options: dict[str, Any], kwargs: dict[str, Any]) -> None:
    """That options are what they are taken for, where torch and PyG would see it in the middle of an epoch, or never."""
    said = {**options, **kwargs}
    for name in ("replace", "disjoint", "is_sorted", "directed", "labor", "filter_per_worker", "shuffle", "drop_last", "pin_memory", "persistent_workers"):
        if said.get(name) is not None or name in ("replace", "disjoint"):
            _checks.flag(said[name], name)
    for name, least in (("num_workers", 0), ("prefetch_factor", 1)):
        if said.get(name) is not None:
            _checks.counted(said[name], name, least)
    for name in ("transform", "transform_sampler_output", "custom_cls", "worker_init_fn"):
        if not (said.get(name) is None or callable(said[name])):
            raise KindError(f"{name} is {_checks.told(said[name])}; give something to call")
    for name in ("sampler", "batch_sampler"):
        if isinstance(said.get(name), (str, bytes)) or not (said.get(name) is None or hasattr(said[name], "__iter__")):
            raise KindError(f"{name} is {_checks.told(said[name])}; give one of torch's samplers, or positions of the input to iterate over")
    if not (said.get("generator") is None or isinstance(said["generator"], torch.Generator)):
        raise KindError(f"generator is {_checks.told(said['generator'])}; give a torch.Generator")
    sampler = said.get("neighbor_sampler")
    if not (sampler is None or hasattr(sampler, "sample_from_nodes") and hasattr(sampler, "sample_from_edges")):
        raise KindError(f"neighbor_sampler is {_checks.told(sampler)}; give a garner.pyg.NeighborSampler, or another BaseSampler of PyG's kind")
    for name in ("labor", "graph", "scores", "graph_cache", "device_budget") if sampler is not None else ():
        if said.get(name) is not None and said[name] is not False:
            raise UsageError(f"neighbor_sampler and {name}: {name}= is of a sampler that the loader makes, and one is given; use it where that one is made, or "
                             "leave it out")


def require_positions(kwargs: dict[str, Any], count: int, what: str) -> None:
    """That samplers that are written down, as lists, name inputs that there are."""
    for name in ("sampler", "batch_sampler"):
        some = kwargs.get(name)
        if isinstance(some, (list, tuple, range, np.ndarray, torch.Tensor)):
            flat = some if name == "sampler" else [k for batch in some for k in (batch if hasattr(batch, "__iter__") else [batch])]
            _checks.within(_checks.int64(flat, name), count, f"{name}: position", what)


def negatives_of(given: Any, ratio: Any, ends: tuple[int, int]) -> Any:
    """NegativeSampling, as PyG's loader has it. ends: how many nodes there are of the types of sources and targets."""
    asks = {"neg_sampling": "use 'binary', 'triplet' or dict(mode='binary', amount=1.0)", "neg_sampling_ratio": "use a positive number"}
    for name, value in zip(asks, (given, ratio)):
        if getattr(value, "ndim", 0):
            raise KindError(f"{name} is {_checks.told(value)}; {asks[name]}")
    name = "neg_sampling" if ratio is None or ratio == 0 else "neg_sampling_ratio"
    if given is None and name == "neg_sampling":
        return None
    if given is not None and name == "neg_sampling_ratio":
        raise UsageError("neg_sampling and neg_sampling_ratio: both name how many negatives there are; leave one out")
    try:
        found = NegativeSampling.cast(given) if name == "neg_sampling" else NegativeSampling("binary", ratio)
        if not math.isfinite(found.amount):
            raise ValueError("the amount is not finite")
    except (TypeError, ValueError) as e:
        said = _checks.told(given if name == "neg_sampling" else ratio)
        raise (KindError if isinstance(e, TypeError) else UsageError)(f"{name} is {said}: {e}; {asks[name]}") from None
    arrays = {side: weight for side, weight in links.weights_of(found, ends).items() if not isinstance(getattr(found, side), torch.Tensor)}
    return dataclasses.replace(found, **arrays) if arrays else found


def nodes_among(given: Any, nodes: Any, name: str = "input_nodes") -> Any:
    """As PyG's loader takes them: numbers, or a bool a node (its input_id are the nodes then); with their type where there are several."""
    if not isinstance(nodes, dict):
        if isinstance(given, (tuple, list)) and len(given) == 2 and given[0] is None:
            given = given[1]
        if given is None:
            return torch.arange(nodes)
        mask, found = _checks.masked(given, name, nodes, "nodes")
        _checks.within(found, nodes, f"{name}:", "nodes")
        return _checks.tensor(_checks.host(given, name) if mask else found, name)
    kind, which = (given, None) if isinstance(given, str) else given if isinstance(given, (tuple, list)) and len(given) == 2 else (None, None)
    if not isinstance(kind, str):
        raise UsageError(f"input_nodes is {_checks.told(given)}; there are several types of nodes, so give one of them, as 'paper' or ('paper', mask)")
    if kind not in nodes:
        raise UsageError(f"input_nodes: the data have no nodes of type '{kind}'; the types are {list(nodes)}")
    return kind, nodes_among(which, nodes[kind])


def edges_among(data: Any, given: Any, nodes: Any) -> Any:
    """(type, pairs), as PyG's loader takes them of data of any kind; where there is one type, it comes as None."""
    kind: Any = None
    if isinstance(nodes, dict):
        kind, given = (given, None) if isinstance(given, (tuple, list)) and given and isinstance(given[0], str) else \
            given if isinstance(given, (tuple, list)) and len(given) == 2 else (None, given)
        if not isinstance(kind, (tuple, list)) or len(kind) not in (2, 3) or not all(isinstance(part, str) for part in kind):
            raise UsageError(f"edge_label_index is {_checks.told(given)}; there are several types of edges, so give one of them, as ('user', 'rates', "
                             "'item') or (('user', 'rates', 'item'), pairs)")
        kind = data._to_canonical(*kind) if isinstance(data, HeteroData) else tuple(kind)
        for end in (kind[0], kind[-1]):
            if end not in nodes:
                raise UsageError(f"edge_label_index: the data have no nodes of type '{end}'; the types are {list(nodes)}")
    elif isinstance(given, (tuple, list)) and len(given) == 2 and given[0] is None:
        given = given[1]
    if given is None:
        stores = not isinstance(data, (Data, HeteroData))
        if kind is not None and kind not in ([tuple(a.edge_type) for a in data[1].get_all_edge_attrs()] if stores else data.edge_types):
            raise UsageError(f"edge_label_index: the data have no edges of type {kind}; give pairs too")
        if stores:
            rows, cols, _ = data[1].coo(None if kind is None else [kind])
            given = (rows, cols) if kind is None else (rows[kind], cols[kind])
        else:
            given = edges_in(data if kind is None else data[kind], kind)
    found = torch.stack([_checks.tensor(_checks.int64(end, "edge_label_index"), "edge_label_index") for end in _checks.pairs(given, "edge_label_index")])
    for row, end in ((0, 0), (1, -1)):
        _checks.within(found[row], nodes if kind is None else nodes[kind[end]], f"edge_label_index[{row}]:", "nodes of its type")
    return kind, found


def times_as_given(given: Any, name: str, count: int, of: str) -> Any:
    """As they were given, since a mini-batch hands them over so."""
    times_of(given, name, count, of)
    return _checks.tensor(given, name)


def one_each(given: Any, name: str, count: int, of: str) -> torch.Tensor:
    found: torch.Tensor = _checks.tensor(given, name)
    if not found.dim() or found.size(0) != count:
        raise UsageError(f"{name}: {found.size(0) if found.dim() else 'a number'} for {count} {of}; give each one")
    return found


def take_share(kwargs: dict[str, Any], rank: Any, ranks: Any, seeds: Any, count: int | None, of: str) -> None:
    """Where ranks are set, the sampler of this rank's share is put among these arguments of torch's loader."""
    if rank is None and ranks is None:
        return
    for name in ("sampler", "batch_sampler"):
        if kwargs.get(name) is not None:
            raise UsageError(f"{name}= and ranks=: a {type(kwargs[name]).__name__} says itself what this rank takes, and ranks= would split the {of} "
                             "once more; leave one of them out")
    if count is None:
        raise UsageError(f"ranks=: how many {of} there are is not known here; split them, and leave ranks= out")
    rank, ranks = share_of_seeds(rank, ranks, seeds, of)
    if ranks > 1:
        kwargs["sampler"] = Share(range(count), ranks, rank, shuffle=bool(kwargs.pop("shuffle", False)))  # type: ignore[arg-type]
