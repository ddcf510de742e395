"""PyG's other loaders over Garner: RandomNodeLoader, ClusterData and ClusterLoader, ShaDowKHopSampler, HGTLoader; and random walks.

Which nodes a mini-batch has is decided in the caller's thread, by a few calls of tensors; the edges among these and their rows come ahead, by the
pipeline of NeighborLoader (join.py). Signatures and fields are PyG's, and neither torch-sparse nor pyg-lib nor torch-cluster is needed.
"""
from __future__ import annotations

import copy
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.utils.data
import torch_geometric.loader  # type: ignore[import-not-found, import-untyped, unused-ignore]
import torch_geometric.nn  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.data import Batch, Data, HeteroData  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.sampler.base import SubgraphType  # type: ignore[import-not-found, import-untyped, unused-ignore]
from torch_geometric.utils import index_sort  # type: ignore[import-not-found, import-untyped, unused-ignore]

from .. import _checks, _garner, graphs, pipeline
from .._arguments import renew
from .._garner import Graph
from ..errors import InputError, KindError, UsageError
from ..pipeline import Field, drawn_seed, mixed, tensor_of
from ..tables import Tiered
from .inputs import TorchLoader, nodes_among, require_rows
from .join import Joins
from .later import now, pair_of, rows_at
from .loader import NeighborLoader
from .sampler import NeighborSampler, Plan
from .source import edges_of

_own = {"device": None, "feature_cache": "auto", "graph_cache": None, "reserve": None, "scores": None, "graph": None, "loading": None}
_told = """
    Garner's own keywords: device, feature_cache, graph_cache, reserve, scores, graph and loading, as of NeighborLoader. Others are those of
    torch.utils.data.DataLoader.
"""


class _Itself:
    """What stands for the input of loaders whose mini-batches are of positions alone."""

    def __getitem__(self, index: torch.Tensor) -> torch.Tensor:
        return index


class _Chosen(Joins):
    """A loader that chooses the nodes of a mini-batch itself. Its sampler adds all edges among these."""

    node_sampler: NeighborSampler
    filter_per_worker = True
    custom_cls = None
    input_data: Any = _Itself()

    def _open(self, data: Any, kwargs: dict[str, Any], num_neighbors: Any = (0,), subgraph_type: str = "induced", **of_sampler: Any) -> Any:
        """Takes Garner's own options out of kwargs, and makes the sampler. Result: nodes, by type where there are several."""
        renew(type(self).__name__, _own, kwargs)
        options = {name: kwargs.pop(name, default) for name, default in _own.items()}
        options.update(num_neighbors=list(num_neighbors), subgraph_type=subgraph_type, replace=False, disjoint=False,
                       temporal_strategy="uniform", time_attr=None, weight_attr=None, is_sorted=False, directed=True, labor=False)
        options.update(of_sampler)
        self.data, self.node_sampler = self._made(data, None, options, kwargs)
        if self.node_sampler.is_remote:
            raise UsageError(f"{type(self).__name__}: a graph that is split over ranks is sampled by NeighborLoader alone; open the whole graph")
        if self._remote.tables:
            raise UsageError(f"{type(self).__name__}: rows of other ranks come to NeighborLoader alone; give tensors or tables of this process")
        require_rows(self.data, self.node_sampler.num_nodes, lists=True)
        self.transform, self.transform_sampler_output = None, None
        return self.node_sampler.num_nodes

    def _sampler(self) -> Any:
        return self.node_sampler

    def _sampled(self, inputs: Any, **draw: Any) -> Any:
        number = drawn_seed() >> 3 if draw.get("number") is None else draw["number"]
        return self.node_sampler._sample_plan(self._planned(inputs, number), number)

    def _planned(self, inputs: Any, draw: int) -> Any:
        plan = Plan()
        plan.seeds, plan.times, plan.metadata = self._seeds(inputs, draw), {}, ()
        return plan

    def _seeds(self, positions: torch.Tensor, number: int) -> dict[Any, torch.Tensor]:
        """The nodes of a mini-batch by type, in host memory."""
        raise NotImplementedError

    def _label(self, data: Any, out: Any) -> None:
        pass

    def _beforehand(self) -> Iterator[tuple[list[Any], Any]]:
        return iter(())  # an epoch reads each row once: none is hotter than others

    def _order(self, out: Any, kind: Any, edges: Any) -> torch.Tensor | None:
        """In which order PyG's class has the edges of this type; None: in that of their targets."""
        return None

    def _filtered(self, data: Any, out: Any, node: dict[Any, Any], ends: dict[Any, Any], edges: dict[Any, Any]) -> Any:
        made = super()._filtered(data, out, node, ends, edges)
        for kind in ends:
            if (order := self._order(out, kind, edges.get(kind))) is None:
                continue
            store = made._store if kind is None else made[kind]
            for name, what, _, dim in self._templates[kind]:
                if what in ("edge", "edge_index"):
                    store[name] = rows_at(store[name], order, 1 if what == "edge_index" else dim)
        return made

    def _homogeneous(self, out: Any) -> Any:
        if not isinstance(self.data, Data):
            return super()._homogeneous(out)
        edges = self._edges(out, out.edge)
        data = self._filtered(self.data, out, {None: out.node}, {None: (out.row, out.col)}, {None: edges})
        if "edge_index" not in self.data and "adj_t" not in self.data:
            data.edge_index = pair_of(out, None, out.row, out.col)
        return data

    def _heterogeneous(self, out: Any) -> Any:
        if not isinstance(self.data, HeteroData):
            return super()._heterogeneous(out)
        edges = {key: self._edges(out, edge, key) for key, edge in out.edge.items()}
        return self._filtered(self.data, out, out.node, {key: (row, out.col[key]) for key, row in out.row.items()}, edges)


class RandomNodeLoader(_Chosen, torch_geometric.loader.RandomNodeLoader, TorchLoader):  # type: ignore[misc]
    __doc__ = f"""torch_geometric.loader.RandomNodeLoader over Garner: num_parts parts of the nodes, random with shuffle=True, each with all edges among
    its nodes.
    {_told}
    Errors: UsageError where num_parts is below 1.
    """

    def __init__(self, data: Any, num_parts: int, **kwargs: Any) -> None:
        self.num_parts = _checks.counted(num_parts, "num_parts", 1)
        nodes = self._open(data, kwargs)
        sizes = nodes if isinstance(nodes, dict) else {None: nodes}
        ends = np.cumsum(list(sizes.values())).tolist()
        self.node_dict = {t: (end - size, end) for (t, size), end in zip(sizes.items(), ends)}
        self.num_nodes = ends[-1]
        TorchLoader.__init__(self, range(self.num_nodes), batch_size=max(1, math.ceil(self.num_nodes / self.num_parts)), collate_fn=self.collate_fn, **kwargs)

    def _order(self, out: Any, kind: Any, edges: Any) -> torch.Tensor | None:
        return torch.argsort(now(edges))

    def _seeds(self, positions: torch.Tensor, number: int) -> dict[Any, torch.Tensor]:
        if len(self.node_dict) == 1:
            return {t: positions for t in self.node_dict}
        return {t: positions[(positions >= start) & (positions < end)] - start for t, (start, end) in self.node_dict.items()}


# --- clusters ---
class ClusterData(torch_geometric.loader.ClusterData):  # type: ignore[misc]
    """torch_geometric.loader.ClusterData, for garner.pyg.ClusterLoader: the nodes in num_parts parts of many edges inside (Cluster-GCN, KDD 2019).

    The parts are METIS's where PyG finds it (pyg-lib, torch-sparse); else they are grown breadth first from random nodes, of equal sizes, which cuts
    more edges. cluster: shape (nodes,), the part of each node, from a partitioner of your own.
    The data stay as they are: a copy in the order of the parts, as PyG makes at once, is made at the first use of `data`, `partition` or a part.
    log has no part: the library does not print. save_dir, filename: a folder and file in it (cluster.pt) that keep the part of each node for the next time.
    Errors: InputError for a cluster that is not one number in [0, num_parts) a node.
    """

    def __init__(self, data: Any, num_parts: int, recursive: bool = False, save_dir: str | None = None, filename: str | None = None, log: bool = True,
                 keep_inter_cluster_edges: bool = False, sparse_format: str = "csr", *, cluster: Any = None) -> None:
        if not isinstance(data, Data) or "edge_index" not in data:
            raise KindError(f"data is {_checks.told(data)}; give Data with an edge_index")
        if sparse_format not in ("csr", "csc"):
            raise UsageError(f"sparse_format={_checks.told(sparse_format)}: use 'csr' or 'csc'")
        self.num_parts, self.recursive = _checks.counted(num_parts, "num_parts", 1), recursive
        self.keep_inter_cluster_edges, self.sparse_format = keep_inter_cluster_edges, sparse_format
        self.whole, self._partition_made, self._data_made = data, None, None
        path = os.path.join(save_dir or "", f"part_{num_parts}{'_recursive' if recursive else ''}", filename or "cluster.pt")
        kept = cluster is None and save_dir is not None and os.path.exists(path)
        if kept:
            cluster = torch.load(path, weights_only=True)
        elif cluster is None:
            try:
                cluster = self._metis(data.edge_index, data.num_nodes)
            except ImportError:
                cluster = _grown(data.edge_index, data.num_nodes, self.num_parts)
        found = _checks.tensor(_checks.int64(cluster, path if kept else "cluster"), "cluster")
        if found.shape != (data.num_nodes,) or found.numel() and not 0 <= int(found.min()) <= int(found.max()) < self.num_parts:
            raise InputError(f"{path if kept else 'cluster'}: {found.numel()} parts up to {int(found.max()) if found.numel() else 0} for {data.num_nodes} "
                             f"nodes; give each node a number from 0 to {self.num_parts - 1}" + (", or name another save_dir" if kept else ""))
        self._cluster = found
        self.node_perm = index_sort(found, max_value=self.num_parts)[1]  # as PyG's, whose order of equals is its own
        self.partptr = torch.cat([torch.zeros(1, dtype=torch.int64), torch.bincount(found, minlength=self.num_parts).cumsum(0)])
        if save_dir is not None and not kept:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            torch.save(found, path)

    @property
    def partition(self) -> Any:
        """PyG's, with the edges in the order of the parts."""
        if self._partition_made is None:
            self._partition_made = self._partition(self.whole.edge_index, self._cluster)
        return self._partition_made

    @property
    def data(self) -> Any:
        """A copy of the data whose rows have the order of the parts."""
        if self._data_made is None:
            self._data_made = self._permute_data(self.whole, self.partition)
        return self._data_made

    def __len__(self) -> int:
        return int(self.partptr.numel()) - 1


def _grown(edge_index: torch.Tensor, nodes: int, parts: int) -> torch.Tensor:
    """Parts of at most ceil(nodes / parts) nodes. From random nodes on, round by round: a node without a part takes that of most of its neighbors, as long
    as there is room; the nodes with most neighbors in a part come first. Nodes that no part reaches fill what is left."""
    ends = [_checks.tensor(end, "edge_index") for end in _checks.pairs(edge_index, "edge_index")]
    row, col = torch.cat(ends), torch.cat(ends[::-1])
    most = -(-nodes // parts)
    found = torch.full((nodes,), -1)
    first = torch.randperm(nodes, generator=torch.Generator().manual_seed(1))[:parts]
    found[first] = torch.arange(first.numel())

    def room() -> torch.Tensor:
        return (most - torch.bincount(found[found >= 0], minlength=parts)).clamp_(min=0)

    while True:
        reached = (found[row] < 0) & (found[col] >= 0)
        pairs, votes = torch.unique(row[reached] * parts + found[col[reached]], return_counts=True)  # of (node, part)
        open_ = room()[pairs % parts] > 0
        pairs, votes = pairs[open_], votes[open_]
        if not pairs.numel():
            break
        order = torch.argsort(votes, descending=True, stable=True)
        order = order[torch.argsort(pairs[order] // parts, stable=True)]  # by node, its best part first
        node = pairs[order] // parts
        best = order[torch.cat([node.new_ones(1, dtype=torch.bool), node[1:] != node[:-1]])]
        best = best[torch.argsort(votes[best], descending=True, stable=True)]
        best = best[torch.argsort(pairs[best] % parts, stable=True)]  # by part, the node of most votes first
        part = pairs[best] % parts
        fits = torch.arange(part.numel()) - torch.searchsorted(part, part) < room()[part]
        found[pairs[best][fits] // parts] = part[fits]
    left = (found < 0).nonzero().flatten()
    found[left] = torch.repeat_interleave(torch.arange(parts), room())[:left.numel()]
    return found


class ClusterLoader(_Chosen, torch_geometric.loader.ClusterLoader, TorchLoader):  # type: ignore[misc]
    __doc__ = f"""torch_geometric.loader.ClusterLoader over Garner: batch_size parts of a garner.pyg.ClusterData as one mini-batch, with all edges among
    their nodes. Rows are read from the data as they lie.
    {_told}
    """

    def __init__(self, cluster_data: Any, **kwargs: Any) -> None:
        if not isinstance(cluster_data, ClusterData):
            raise KindError(f"cluster_data is {_checks.told(cluster_data)}; make it by garner.pyg.ClusterData")
        self.cluster_data = cluster_data
        self._open(cluster_data.whole, kwargs)
        self._place = torch.empty_like(cluster_data.node_perm)  # of each node in the order of the parts
        self._place[cluster_data.node_perm] = torch.arange(self._place.numel())
        TorchLoader.__init__(self, range(len(cluster_data)), collate_fn=self.collate_fn, **kwargs)

    def _order(self, out: Any, kind: Any, edges: Any) -> torch.Tensor | None:
        place = self._place[out.node.cpu()].to(out.node.device)
        first, second = (out.row, out.col) if self.cluster_data.sparse_format == "csr" else (out.col, out.row)
        return torch.argsort(first.long() * self._place.numel() + place[second])

    def _seeds(self, positions: torch.Tensor, number: int) -> dict[Any, torch.Tensor]:
        perm, ptr = self.cluster_data.node_perm, self.cluster_data.partptr
        return {None: torch.cat([perm[ptr[k]:ptr[k + 1]] for k in positions])}


# --- subgraphs around each seed ---
class ShaDowKHopSampler(_Chosen, torch_geometric.loader.ShaDowKHopSampler, TorchLoader):  # type: ignore[misc]
    __doc__ = f"""torch_geometric.loader.ShaDowKHopSampler over Garner (ShaDow-GNN: Zeng et al., NeurIPS 2021): of each seed the nodes that depth hops of
    num_neighbors reach, and all edges among these; a mini-batch is a Batch of such graphs, its fields PyG's: nodes of a graph in ascending order,
    root_n_id the places of the seeds, y of the seeds alone, edges by source.
    Nodes and their rows come ahead; edges, and attributes of edges, are made in the caller's thread.
    {_told}
    Errors: UsageError for a depth below 1, IdError for a node that does not exist.
    """

    def __init__(self, data: Any, depth: int, num_neighbors: int, node_idx: Any = None, replace: bool = False, **kwargs: Any) -> None:
        if not isinstance(data, Data) or "adj_t" in data:
            raise KindError(f"data is {_checks.told(data)}; give Data with an edge_index, or graph=")
        self.depth, self.num_neighbors, self.replace = _checks.counted(depth, "depth", 1), _checks.number(num_neighbors, "num_neighbors"), bool(replace)
        self.is_sparse_tensor = False
        nodes = self._open(data, kwargs, [self.num_neighbors] * self.depth, "directional", replace=self.replace, disjoint=True)
        chosen = nodes_among(node_idx, nodes, "node_idx")
        self.node_idx = chosen.nonzero().flatten() if chosen.dtype == torch.bool else chosen
        among = copy.copy(self.node_sampler)
        among.num_neighbors, among.subgraph_type, among.disjoint, among.replace = [0], SubgraphType.induced, False, False
        self._among = among
        TorchLoader.__init__(self, range(self.node_idx.numel()), collate_fn=self.collate_fn, **kwargs)

    def _seeds(self, positions: torch.Tensor, number: int) -> dict[Any, torch.Tensor]:
        return {None: self.node_idx[positions]}

    def _beforehand(self) -> Iterator[tuple[list[Any], Any]]:
        return Joins._beforehand(self)

    def _all_fields(self) -> list[Field]:
        return [field for field in super()._all_fields() if not (field.of_edges or isinstance(field.value, (list, tuple)))]  # PyG's hands lists over whole

    def _homogeneous(self, out: Any) -> Any:
        nodes, seeds, device = self.node_sampler.num_nodes, out.num_sampled_nodes[0], out.node.device
        keys = out.batch.long() * nodes + out.node  # of a graph and a node in it
        keys, order = torch.sort(keys)
        place = torch.empty_like(order)
        place[order] = torch.arange(order.numel(), device=device)
        n_id, tree = out.node[order], out.batch[order]
        batch = Batch(batch=tree, ptr=torch.cat([tree.new_zeros(1), torch.bincount(tree, minlength=seeds).cumsum(0)]))
        batch.root_n_id = place[:seeds]
        source, target, edge = self._edges_of_trees(keys, n_id, tree)
        batch.edge_index = torch.stack([source, target])
        brought, templates = getattr(out, "_brought", None), {name: dim for name, what, _, dim in self._template() if what == "node"}
        e_id, edges = None, edges_of(self.node_sampler._relation(None).graph)
        for name, value in self.data._store.items():
            if name in ("edge_index", "adj_t", "num_nodes", "batch", "ptr"):
                continue
            rows = _rows(value)
            if rows == nodes:
                which = order[place[:seeds]] if name == "y" else order
                found = brought.of(False, None, name, out.node) if brought is not None and templates.get(name) == 0 else None
                batch[name] = self._there(value, out.node[which], device) if found is None else found[which]
            elif rows is not None and rows == edges:
                e_id = self._numbers_of(edge, None) if e_id is None else e_id
                batch[name] = self._there(value, e_id, device)
            else:
                batch[name] = value
        return batch

    def _template(self) -> Any:
        if "_templates" not in self.__dict__:
            self._all_fields()
        return self._templates[None]

    @staticmethod
    def _there(value: Any, ids: torch.Tensor, device: torch.device) -> Any:
        found = value[ids] if isinstance(value, Tiered) else rows_at(value, ids, 0)
        return found.to(device) if isinstance(found, torch.Tensor) else found

    def _edges_of_trees(self, keys: torch.Tensor, n_id: torch.Tensor, tree: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Sources, targets (positions among the sorted keys) and entries of the lists. The edges among all nodes together are sampled once; those of
        each node of a graph are then searched for edges whose source is in the same graph."""
        device, empty = keys.device, torch.empty(0, dtype=torch.int64, device=keys.device)
        union, local = torch.unique(n_id, return_inverse=True)
        sampler, _ = self._among._engine()
        if sampler is None:
            return empty, empty, empty
        found = sampler.sample_types([(union.cpu().numpy(), 0, None)], 0).of_relation(0)
        pair, entry = tensor_of(found.edge_index).to(device), tensor_of(found.edge).to(device)  # in the order of targets
        degree = torch.bincount(pair[1], minlength=union.numel())
        begin = degree.cumsum(0) - degree
        count = degree[local]
        target = torch.repeat_interleave(torch.arange(keys.numel(), device=device), count)
        nth = torch.arange(target.numel(), device=device) - (count.cumsum(0) - count)[target]
        at = begin[local[target]] + nth
        wanted = tree[target] * self.node_sampler.num_nodes + union[pair[0][at]]
        source = torch.searchsorted(keys, wanted).clamp_(max=max(0, keys.numel() - 1))
        inside = keys[source] == wanted
        source, target, entry = source[inside], target[inside], entry[at[inside]]
        order = torch.argsort(source, stable=True)  # targets ascend already
        return source[order], target[order], entry[order]


# --- a budget of each type ---
class HGTLoader(_Chosen, torch_geometric.loader.HGTLoader, TorchLoader):  # type: ignore[misc]
    __doc__ = f"""torch_geometric.loader.HGTLoader over Garner (HGSampling: Hu et al., WWW 2020): hop by hop, of each type of nodes num_samples more, without
    replacement, each with a chance in proportion to the square of its budget. The budget of a node grows by 1 / degree for each sampled node that
    it leads to. A node with more than 50 in-edges of a type counts 50 random ones, as in PyG. A mini-batch has all edges among its nodes.
    data: HeteroData, or a feature and a graph store with types. num_samples: a number per hop, or such a list for each type.
    {_told}
    Errors: UsageError for num_samples that are not whole numbers from 0 on, or of a type that does not exist; IdError for a node that does not exist.
    """
    _most = 50

    def __init__(self, data: Any, num_samples: Any, input_nodes: Any, is_sorted: bool = False, transform: Any = None,
                 transform_sampler_output: Any = None, filter_per_worker: bool | None = None, **kwargs: Any) -> None:
        if isinstance(data, Data):
            raise KindError("data is Data, of one type of nodes; give HeteroData, or stores with types")
        nodes = self._open(data, kwargs)
        sampler = self.node_sampler
        if not sampler.is_hetero:
            raise KindError("the stores hold one type of edges alone; give HeteroData, or stores with types")
        given = num_samples if isinstance(num_samples, Mapping) else dict.fromkeys(sampler.node_types, num_samples)
        self.num_samples = {t: _counts(some, f"num_samples[{t!r}]") for t, some in given.items()}
        for t in self.num_samples:
            if t not in sampler.node_types:
                raise UsageError(f"num_samples: the data have no nodes of type '{t}'; the types are {sampler.node_types}")
        self.num_hops = max((len(some) for some in self.num_samples.values()), default=0)
        around = copy.copy(sampler)
        around.num_neighbors, around.subgraph_type = [self._most], SubgraphType.directional
        self._around = around
        torch_geometric.loader.NodeLoader.__init__(self, self.data, sampler, nodes_among(input_nodes, nodes), transform=transform,
                                                   transform_sampler_output=transform_sampler_output, filter_per_worker=filter_per_worker, **kwargs)

    _beforehand, _heterogeneous = Joins._beforehand, Joins._heterogeneous
    _label = NeighborLoader._label

    def _planned(self, inputs: Any, draw: int) -> Any:
        plan = Plan()
        plan.seeds, plan.times, plan.metadata = self._nodes(inputs.input_type, inputs.node, draw), {}, (inputs.input_id, inputs.time)
        return plan

    def _nodes(self, kind: Any, seeds: torch.Tensor, number: int) -> dict[Any, torch.Tensor]:
        """All nodes of a mini-batch, in the order in which they were sampled. A budget is a sorted array of nodes, and of whole numbers of 2^-32, whose
        sum is the same in any order."""
        types = self.node_sampler.node_types
        sampler: Any
        sampler, drawn = self._around._engine()
        device = torch.device("cpu") if sampler is None else pipeline.torch_device(sampler.device)
        generator = torch.Generator().manual_seed(number & (1 << 63) - 1)
        known = {t: torch.empty(0, dtype=torch.int64, device=device) for t in types}
        budgets = {t: (known[t], known[t]) for t in types}
        new = {kind: seeds.to(device)}
        known[kind] = new[kind]
        for hop in range(self.num_hops):
            if sampler is None or not new:
                break
            blocks = sampler.sample_types([(some.cpu().numpy(), types.index(t), None) for t, some in new.items()], mixed(number, hop))
            for k, edge_type in enumerate(drawn):
                found, source = blocks.of_relation(k), edge_type[0]
                row, col = tensor_of(found.row).to(device), tensor_of(found.col).to(device)
                if row.numel():
                    ids, budget = budgets[source]
                    given = torch.div(1 << 32, torch.bincount(col)[col], rounding_mode="floor")
                    reached = tensor_of(blocks.of_type(types.index(source)).ids).to(device)[row]
                    ids, where = torch.unique(torch.cat([ids, reached]), return_inverse=True)
                    budgets[source] = ids, torch.zeros_like(ids).index_add_(0, where, torch.cat([budget, given]))
            new = {}
            for t, samples in self.num_samples.items():
                ids, budget = budgets[t]
                if hop >= len(samples) or not samples[hop] or not ids.numel():
                    continue
                fresh = torch.isin(ids, known[t], invert=True)
                ids, budget = ids[fresh], budget[fresh]
                # Efraimidis and Spirakis, as the sampler's by weights: the smallest of -log(u) / weight.
                chance = -torch.rand(ids.numel(), dtype=torch.float64, generator=generator).to(device).log() / (budget.to(torch.float64) / (1 << 32)) ** 2
                first = torch.topk(chance, min(samples[hop], ids.numel()), largest=False).indices
                if first.numel():
                    new[t] = ids[first]
                    known[t] = torch.cat([known[t], new[t]])
                budgets[t] = ids, budget
        return {t: some.cpu() for t, some in known.items() if some.numel()}


# --- random walks ---
def random_walk(row: torch.Tensor, col: torch.Tensor, start: torch.Tensor, walk_length: int, p: float = 1, q: float = 1, coalesced: bool = True,
                num_nodes: int | None = None, return_edge_indices: bool = False) -> Any:
    """torch_cluster.random_walk over Garner: walks of walk_length steps from each start along the edges row -> col, node2vec's p and q as of
    garner.random_walk, which takes a graph that is made once. Random numbers follow torch's generator.

    coalesced: the edges are sorted by row and col first; else they are sorted by row already. num_nodes: None: as many as the edges name.
    start on a GPU: it walks. Result: shape (starts, walk_length + 1), int64, where start lies; return_edge_indices: also the edge of each step among the
    sorted ones, -1 where a walk stays.
    Errors: UsageError, IdError for a start that does not exist.
    """
    ends = [_checks.tensor(_checks.int64(end, name), name) for end, name in ((row, "row"), (col, "col"))]
    if ends[0].numel() != ends[1].numel():
        raise UsageError(f"row and col: {ends[0].numel()} and {ends[1].numel()} ends of edges; give each edge both")
    nodes = max([0, *(int(end.max()) + 1 for end in ends if end.numel())]) if num_nodes is None else _checks.number(num_nodes, "num_nodes")
    if coalesced:
        order = torch.argsort(ends[1], stable=True)
        order = order[torch.argsort(ends[0][order], stable=True)]
        ends = [end[order] for end in ends]
    graph, in_order, _ = _garner._adjacency(ends[0].numpy(), ends[1].numpy(), nodes, nodes, None, True, False, "row, col")
    if not in_order:
        raise UsageError("row: its numbers do not ascend; use coalesced=True")
    return _walked(graph, start, walk_length, p, q, return_edge_indices)


def _walked(graph: Any, start: torch.Tensor, walk_length: int, p: float, q: float, edges: bool = False) -> Any:
    """From torch to torch, by a number of its generator, on the device where the start lies."""
    device: Any = "cpu"
    if isinstance(start, torch.Tensor) and start.is_cuda:
        device = str(start.device)
        graph.to(device)
    at = start.device if isinstance(start, torch.Tensor) else torch.device("cpu")
    found = graphs.random_walk(graph, _checks.host(start, "start"), walk_length, float(p), float(q), seed=drawn_seed() >> 3, return_edge_indices=edges,
                               device=device)
    return tuple(torch.from_numpy(one).to(at) for one in found) if edges else torch.from_numpy(found).to(at)


class Node2Vec(torch_geometric.nn.Node2Vec):  # type: ignore[misc]
    """torch_geometric.nn.Node2Vec whose walks are Garner's: neither pyg-lib nor torch-cluster is needed. edge_index: shape (2, edges), or a garner.Graph,
    whose adjacency may lie in any tier. num_nodes: rows of the embedding; None: as many as the graph has nodes, or the edges name.
    Errors: UsageError where these are more."""

    def __init__(self, edge_index: Any, embedding_dim: int, walk_length: int, context_size: int, walks_per_node: int = 1, p: float = 1.0, q: float = 1.0,
                 num_negative_samples: int = 1, num_nodes: int | None = None, sparse: bool = False) -> None:
        torch.nn.Module.__init__(self)
        if walk_length < context_size:
            raise UsageError(f"walk_length={walk_length} is below context_size={context_size}; use at least as much")
        ends = [] if isinstance(edge_index, Graph) else [_checks.tensor(end, "edge_index") for end in _checks.pairs(edge_index, "edge_index")]
        named = len(edge_index) if isinstance(edge_index, Graph) else max([0, *(int(end.max()) + 1 for end in ends if end.numel())])
        self.num_nodes = named if num_nodes is None else _checks.number(num_nodes, "num_nodes")
        if self.num_nodes < named:
            raise UsageError(f"num_nodes is {self.num_nodes}, and the graph has {named} nodes; use as many or more, or leave it out")
        if isinstance(edge_index, Graph):
            self.graph = edge_index
        else:
            self.graph = _garner._adjacency(ends[0].numpy(), ends[1].numpy(), self.num_nodes, self.num_nodes, None, True, False, "edge_index")[0]
        self.EPS = 1e-15
        self.embedding_dim, self.walk_length, self.context_size, self.walks_per_node = embedding_dim, walk_length - 1, context_size, walks_per_node
        self.p, self.q, self.num_negative_samples = p, q, num_negative_samples
        self.embedding = torch.nn.Embedding(self.num_nodes, embedding_dim, sparse=sparse)
        self.reset_parameters()

    def pos_sample(self, batch: torch.Tensor) -> torch.Tensor:
        start = batch.repeat(self.walks_per_node)
        inside = start < len(self.graph)
        walks = start.unsqueeze(1).repeat(1, self.walk_length + 1)  # of a node behind the graph's, as of one without edges
        walks[inside] = _walked(self.graph, start[inside], self.walk_length, self.p, self.q)
        return torch.cat([walks[:, j:j + self.context_size] for j in range(self.walk_length + 2 - self.context_size)])


def _rows(value: Any) -> int | None:
    return len(value) if isinstance(value, (torch.Tensor, np.ndarray)) and value.ndim or isinstance(value, Tiered) else None


def _counts(given: Any, name: str) -> list[int]:
    if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, torch.Tensor, np.ndarray)):
        raise UsageError(f"{name} is {_checks.told(given)}; give a list, a number per hop")
    return [_checks.counted(n, name) for n in given]
