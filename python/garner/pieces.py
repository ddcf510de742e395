"""What garner.shared makes of a graph and of PyG's data: one shared table of bytes, in which tensors and adjacency lie and are read in place.

Layout: a page that says how long the description is; the description, a pickle without the arrays; then each array from a page on. What is attached
holds the table as long as any part of it lives. Whose adjacency an edge_index has is found by the memory that it lies in: another edge_index lies
elsewhere, and gets an adjacency of its own. What its creator writes into edges, weights or times in place is not seen by that adjacency.
"""
from __future__ import annotations

import io
import pickle
import sys
import warnings
import weakref
from typing import Any

import numpy as np

from . import _garner
from ._garner import Graph, Shared
from .errors import InputError

_magic = b"garner piece 1\0\0"
_page = 4096
# Where segments lie in this process: from, to, the table; and by what _key() gives the table and where its adjacency is.
_segments: dict[int, tuple[int, Any]] = {}
_known: dict[tuple[Any, ...], tuple[Any, dict[str, Any]]] = {}


def takes(value: Any) -> bool:
    """Whether it is a graph, or data of PyG."""
    geometric = sys.modules.get("torch_geometric.data")
    return isinstance(value, Graph) or geometric is not None and isinstance(value, (geometric.Data, geometric.HeteroData))


class _Writes(pickle.Pickler):
    """Leaves out arrays and graphs, which it collects."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=4)
        self.parts: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def persistent_id(self, value: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is not None and type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout == torch.strided:
            near = value.detach().cpu().contiguous()
            return self.number(value, near), str(near.dtype).rsplit(".", 1)[-1], tuple(near.shape), "tensor"
        if isinstance(value, np.ndarray) and not value.dtype.hasobject and value.dtype.names is None:
            return self.number(value, np.ascontiguousarray(value)), value.dtype.str, value.shape, "array"
        if isinstance(value, Graph):
            return self.number(value, value), "", (), "graph"
        return None

    def number(self, of: Any, part: Any) -> int:
        found = self._numbers.setdefault(id(of), len(self.parts))
        if found == len(self.parts):
            self.parts.append((of, part))  # `of` too: while it lives no other has its number
        return found


class _Reads(pickle.Unpickler):
    def __init__(self, file: Any, shared: Shared, at: list[tuple[int, int]]) -> None:
        super().__init__(file)
        self._shared, self._at = shared, at
        self.found: dict[int, Any] = {}

    def persistent_load(self, said: Any) -> Any:
        number, dtype, shape, what = said
        if number not in self.found:
            if what == "graph":
                self.found[number] = _garner._graph_in(self._shared, *self._at[number])
            else:
                part = _part(self._shared, *self._at[number])
                self.found[number] = _tensor(part, dtype, shape) if what == "tensor" else part.view(dtype).reshape(shape)
        return self.found[number]


def _part(shared: Shared, at: int, count: int) -> Any:
    return shared.array.reshape(-1)[at:at + count]


def _tensor(part: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    import torch
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of memory that may not be written
        return (torch.from_numpy(part).view(getattr(torch, dtype)) if part.size else torch.empty(0, dtype=getattr(torch, dtype))).reshape(shape)


def _bytes(part: Any) -> int:
    return int(_garner._graph_bytes(part)) if isinstance(part, Graph) else int(part.nbytes)


def create(name: str, value: Any, replace_stale: bool, weight_attr: Any = None, time_attr: str | None = None) -> Any:
    """What opened() gives of it, in the process that makes it. weight_attr, time_attr: by which loaders sample its adjacency."""
    text = io.BytesIO()
    writer = _Writes(text)
    writer.dump(value)
    adjacency = [] if isinstance(value, Graph) else _adjacency_of(value, writer, weight_attr, time_attr)
    parts = [part for _, part in writer.parts]
    sizes = [_bytes(part) for part in parts]
    said = b""
    for _ in range(2):  # how long it is, then with places behind it
        at, places = _page + _pages(len(said) + 64 * len(parts)), []
        for count in sizes:
            places.append((at, count))
            at += _pages(count)
        said = pickle.dumps((text.getvalue(), places, adjacency), protocol=4)
    made = _garner._create_shared(name, [at], (1, 8), replace_stale)
    whole = made.array
    whole[:len(_magic)] = np.frombuffer(_magic, np.uint8)
    whole[len(_magic):len(_magic) + 8] = np.frombuffer(len(said).to_bytes(8, "little"), np.uint8)
    whole[_page:_page + len(said)] = np.frombuffer(said, np.uint8)
    for k, (part, (begin, count)) in enumerate(zip(parts, places)):
        if isinstance(part, Graph):
            _garner._write_graph(part, made, begin)
        elif isinstance(part, np.ndarray):
            whole[begin:begin + count] = part.reshape(-1).view(np.uint8)
        elif count:
            _tensor(whole[begin:begin + count], str(part.dtype).rsplit(".", 1)[-1], tuple(part.shape)).copy_(part)
        writer.parts[k] = parts[k] = None
    made.publish()
    return opened(made)


def _pages(count: int) -> int:
    return -(-count // _page) * _page


def _adjacency_of(data: Any, writer: _Writes, weight_attr: Any, time_attr: str | None) -> list[dict[str, Any]]:
    """The adjacency by which loaders sample, made here once from each edge_index."""
    from .pyg import source
    if not any("edge_index" in store for store in data.stores) or data.num_nodes is None:
        return []
    read = source.read(data, time_attr, weight_attr, False, edge_ids=True)
    names = {} if weight_attr is None else source._names_of(weight_attr, read.edge_types)
    found = []
    for kind, lists in read.lists.items():
        store = data if kind is None else data[kind]
        numbers = [writer._numbers.get(id(store[name])) if name is not None and name in store else None for name in ("edge_index", names.get(kind))]
        of = None if lists.order is None else store if lists.times is not None or kind is None else data[kind[0]]
        order = None if of is None else writer._numbers.get(id(of[time_attr]))
        if numbers[0] is None or (kind in names) != (numbers[1] is not None) or (of is None) != (order is None):
            continue  # of another kind than a tensor in host memory: each process makes its adjacency
        perm = lists.perm
        found.append({"edges": numbers[0], "weights": numbers[1], "order": order, "sizes": lists.sizes, "graph": writer.number(lists.graph, lists.graph),
                      "perm": None if perm is None else (writer.number(perm, perm), str(perm.dtype).rsplit(".", 1)[-1])})
    return found


def opened(shared: Shared) -> Any:
    """The graph or the data that lie in a table; None: it holds rows."""
    whole = shared.array
    if whole.dtype != np.uint8 or whole.size < 2 * _page or bytes(whole.reshape(-1)[:len(_magic)]) != _magic:
        return None
    length = int.from_bytes(bytes(_part(shared, len(_magic), 8)), "little")
    try:
        text, places, adjacency = pickle.loads(bytes(_part(shared, _page, length)))
        reader = _Reads(io.BytesIO(text), shared, places)
        value = reader.load()
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError) as e:
        raise InputError(f"{shared.name}: the data that lie there cannot be read here ({type(e).__name__}: {e}); have one version of Garner and of PyG in "
                         "all processes") from None
    begin, held = whole.ctypes.data, weakref.ref(shared, lambda gone: _forget(gone))
    _segments[begin] = begin + whole.nbytes, held
    for one in adjacency:
        edges = reader.found[one["edges"]]
        weights, order = (None if number is None else reader.found[number] for number in (one["weights"], one["order"]))
        _known[_key(edges[0], edges[1], one["sizes"], weights, order)] = held, {
            "graph": places[one["graph"]], "perm": None if one["perm"] is None else (places[one["perm"][0]], one["perm"][1])}
    return value


def _forget(gone: Any) -> None:
    for begin in [begin for begin, (_, held) in _segments.items() if held is gone]:
        del _segments[begin]
    for key in [key for key, (held, _) in _known.items() if held is gone]:
        del _known[key]


def _key(row: Any, col: Any, sizes: Any, weights: Any, order: Any) -> tuple[Any, ...]:
    by = [None if one is None else one.data_ptr() if hasattr(one, "data_ptr") else -1 for one in (weights, order)]
    return row.data_ptr(), col.data_ptr(), row.numel(), row.stride(), col.stride(), row.dtype, tuple(sizes), *by


def adjacency_of(row: Any, col: Any, sizes: Any, weights: Any = None, order: Any = None) -> tuple[Graph, Any] | None:
    """Where these ends of edges lie in such a table: their adjacency by these weights and times, and of its entries the edges (a tensor, or None:
    entry k is edge k)."""
    if not _known or not hasattr(row, "data_ptr") or row.device.type != "cpu" or col.device.type != "cpu":
        return None
    held, at = _known.get(_key(row, col, sizes, weights, order), (None, {}))
    shared = None if held is None else held()
    if shared is None:
        return None
    perm = at["perm"]
    return _garner._graph_in(shared, *at["graph"]), None if perm is None else _tensor(_part(shared, *perm[0]), perm[1], (-1,))


def map_for(array: Any, device: Any) -> None:
    """Before a device reads an array in place: where it lies in such a table, that is mapped for the device."""
    if not _segments or str(device).split(":")[0] in ("cpu", "host", "simulated") or not _garner.info()["devices"]:
        return
    at: int = array.data_ptr() if hasattr(array, "data_ptr") else array.ctypes.data if isinstance(array, np.ndarray) else -1
    for begin, (end, held) in list(_segments.items()):
        if begin <= at < end and (shared := held()) is not None:
            shared.map_for(device)
