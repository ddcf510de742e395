"""garner.shared: one table for several processes; of a graph and of PyG's data one table of bytes, in which tensors and adjacency lie and are read in place.

Layout: a page that says how long the description is; the description, a pickle without the arrays; then each array from a page on.
"""
from __future__ import annotations

import io
import operator
import pickle
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from . import _checks, _garner, pieces
from ._arguments import takes_old_names
from ._garner import Graph, Shared
from .arrays import is_torch
from .errors import InputError, UsageError
from .tables import leaves_nothing_behind

if TYPE_CHECKING:  # neither is needed to run
    import numpy.typing as npt
    import torch

_magic = b"garner piece 1\0\0"
_page = 4096


def _code(dtype: Any) -> tuple[int, int]:
    """A dtype of NumPy or torch as DLPack names it: kind and bits."""
    name = str(dtype).rsplit(".", 1)[-1]
    if name in ("bf16", "bfloat16"):
        return 4, 16
    try:
        kind = np.dtype(name if is_torch(dtype) else dtype)
    except TypeError:  # of torch alone
        raise UsageError(f"dtype {dtype}: a shared table holds numbers and bools that NumPy has too") from None
    if kind.name == "bfloat16":
        return 4, 16
    code = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}.get(kind.kind)
    if code is None or not kind.isnative or kind.itemsize > 16:
        raise UsageError(f"dtype {kind}: a shared table holds numbers and bools in the order of bytes of this machine")
    return code, 8 * kind.itemsize


def _takes(value: Any) -> bool:
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
                part = pieces.part(self._shared, *self._at[number])
                self.found[number] = pieces.tensor(part, dtype, shape) if what == "tensor" else part.view(dtype).reshape(shape)
        return self.found[number]


def _bytes(part: Any) -> int:
    return int(_garner._graph_bytes(part)) if isinstance(part, Graph) else int(part.nbytes)


def _create(name: str, value: Any, replace_stale: bool, weight_attr: Any = None, time_attr: str | None = None) -> Any:
    """What _opened() gives of it, in the process that makes it. weight_attr, time_attr: by which loaders sample its adjacency."""
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
            pieces.tensor(whole[begin:begin + count], str(part.dtype).rsplit(".", 1)[-1], tuple(part.shape)).copy_(part)
        writer.parts[k] = parts[k] = None
    made.publish()
    return _opened(made)


def _pages(count: int) -> int:
    return -(-count // _page) * _page


def _adjacency_of(data: Any, writer: _Writes, weight_attr: Any, time_attr: str | None) -> list[dict[str, Any]]:
    """The adjacency by which loaders sample, made here once from each edge_index."""
    from .pyg import source
    if not any("edge_index" in store for store in data.stores) or data.num_nodes is None:
        return []
    read = source.read(data, time_attr, weight_attr, False, edge_ids=True)
    names = {} if weight_attr is None else source.names_of(weight_attr, read.edge_types)
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


def _opened(shared: Shared) -> Any:
    """The graph or the data that lie in a table; None: it holds rows."""
    whole = shared.array
    if whole.dtype != np.uint8 or whole.size < 2 * _page or bytes(whole.reshape(-1)[:len(_magic)]) != _magic:
        return None
    length = int.from_bytes(bytes(pieces.part(shared, len(_magic), 8)), "little")
    try:
        text, places, adjacency = pickle.loads(bytes(pieces.part(shared, _page, length)))
        reader = _Reads(io.BytesIO(text), shared, places)
        value = reader.load()
    except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError) as e:
        raise InputError(f"{shared.name}: the data that lie there cannot be read here ({type(e).__name__}: {e}); have one version of Garner and of PyG in "
                         "all processes") from None
    found = []
    for one in adjacency:
        edges = reader.found[one["edges"]]
        weights, order = (None if one[by] is None else reader.found[one[by]] for by in ("weights", "order"))
        perm = None if one["perm"] is None else (places[one["perm"][0]], one["perm"][1])
        found.append(((edges[0], edges[1], one["sizes"], weights, order), places[one["graph"]], perm))
    pieces.hold(shared, found)
    return value


@overload
def shared(name: str, features: Graph, dtype: None = None, *, replace_stale: bool = False) -> Graph: ...
@overload
def shared(name: str, features: npt.NDArray[Any] | torch.Tensor | Sequence[Any], dtype: Any = None, *, replace_stale: bool = False,
           timeout: float = 60) -> Shared: ...
@overload
def shared(name: str, features: Any = None, dtype: Any = None, *, replace_stale: bool = False, timeout: float = 60, weight_attr: Any = None,
           time_attr: str | None = None) -> Any: ...


@takes_old_names
def shared(name: str, features: Any = None, dtype: Any = None, *, replace_stale: bool = False, timeout: float = 60, weight_attr: Any = None,
           time_attr: str | None = None) -> Any:
    """One table in host memory for several processes, or one graph, or PyG's data: one creates it, the others attach to it by its name.

    name: 1 to 200 letters, digits, '-', '_', '.'; the user's own. features: None attaches. An array (NumPy, torch, of any strides) creates
    the table, copies the array and publishes it; a shape, as a tuple, creates one of zeros: fill its .array, then .publish() it.
    A garner.Graph, and Data or HeteroData of PyG, are copied into one table: their tensors lie there, and the adjacency that loaders of garner.pyg
    sample, made of each edge_index once. What comes back, here and where it is attached, is a Graph, Data or HeteroData over that memory.
    dtype: of NumPy or torch, or 'bfloat16': creating: None: of the array, float32 for a shape; attaching: how to see the bytes of a row;
    None: f32, f16, bf16, i8 and i64 are known, others come as bytes (uint8). A row has one dimension then: only a pickled table, as an
    argument of a process, keeps shape and dtype. Graphs and data come as they were.
    weight_attr, time_attr: of data, as loaders of garner.pyg take them: the adjacency is made for these.
    replace_stale: remove a table of that name whose processes were all killed. timeout: for the creator to publish it.
    Result: Shared; .array is the table itself (NumPy), garner.tiered and garner.unified take it in place. It is removed with the last process
    that holds it, or any part of it; a process that attached to it may only read it. Errors: UsageError for a bad name or one that is held, FileError for a
    table that is not there, is stale or never filled, InputError for a file of another kind, OutOfMemory where shared memory is short (in a
    container: --shm-size).
    Source: section 3.3 of Min's dissertation.
    """
    if not isinstance(name, str):
        raise TypeError(f"shared: name={_checks.told(name)}: a table is named by a string")
    _checks.seconds(timeout)
    leaves_nothing_behind()
    if (weight_attr is not None or time_attr is not None) and (features is None or isinstance(features, Graph) or not _takes(features)):
        raise UsageError("shared: weight_attr= and time_attr= are for data of PyG, where they are shared")
    if features is None:
        there = _garner._attach_shared(name, None if dtype is None else _code(dtype), None, timeout)
        whole = _opened(there) if dtype is None else None
        return there if whole is None else whole
    if _takes(features):
        if dtype is not None:
            raise UsageError(f"shared: dtype={dtype} is for a table of numbers; leave it out, data and graphs keep theirs")
        return _create(name, features, bool(replace_stale), weight_attr, time_attr)
    if isinstance(features, tuple):
        try:
            shape = [operator.index(n) for n in features]
        except TypeError:
            raise UsageError(f"{features} is not a shape; for a table of these numbers give an array") from None
        if any(n < 0 for n in shape):
            raise UsageError(f"shape {features}: use 0 or more")
        return _garner._create_shared(name, shape, _code(np.float32 if dtype is None else dtype), bool(replace_stale))
    features = _checks.table(features, "shared") if is_torch(features) else _checks.host(_checks.table(features, "shared"), "shared")
    made = _garner._create_shared(name, list(features.shape), _code(features.dtype if dtype is None else dtype), bool(replace_stale))
    if is_torch(features):
        import torch.utils.dlpack
        torch.utils.dlpack.from_dlpack(made).copy_(features)
    else:
        np.copyto(made.array, features, casting="same_kind")
    made.publish()
    return made
