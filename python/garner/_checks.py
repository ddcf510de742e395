"""What comes in, looked at once, at the door: what kind of numbers, of which shape, how many. Everything of garner, garner.torch, garner.pyg and
the binding that takes ids, masks, pairs, times, fanouts or rows is checked here. No value changes: a float does not count as an id, nor a bool as a
number."""
from __future__ import annotations

import importlib.util
import operator
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import Error, IdError, InputError, KindError, UsageError

Ids = npt.NDArray[np.int64]


def device(value: Any) -> Any:
    """A plain number is that GPU, by any name of whole numbers."""
    return f"cuda:{operator.index(value)}" if hasattr(value, "__index__") and not isinstance(value, (bool, np.bool_)) else value


def installed(module: str, *packages: str) -> None:
    """Called before a module imports its packages: one sentence in place of a traceback through files of Garner's."""
    if lacks := [package for package in packages if importlib.util.find_spec(package) is None]:
        raise ModuleNotFoundError(f"{module} needs {' and '.join(lacks)}, which {'are' if lacks[1:] else 'is'} not installed here; "
                                  f"install with: pip install {' '.join(lacks)}", name=lacks[0])


def told(value: Any) -> str:
    """What it is, in a few words of one line."""
    if hasattr(value, "dtype") and (shape := tuple(getattr(value, "shape", ()))):
        return f"a {type(value).__name__} of shape {shape} and {value.dtype}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 and not text.startswith("<") else f"a {type(value).__name__}"


def kind(array: Any) -> str:
    """Its dtype by the name that all libraries have for it, as 'int64'."""
    dtype = getattr(array, "dtype", "")
    return str(getattr(dtype, "name", dtype)).rsplit(".", 1)[-1]


def host(values: Any, name: str, wanted: str = "numbers") -> npt.NDArray[Any]:
    """Any library's array, a list or a range, as NumPy has it in host memory; copied from a device, and out of lists alone."""
    if np.ma.is_masked(values):
        raise UsageError(f"{name}: an array with entries that are masked; give its compressed(), or filled()")
    if isinstance(values, np.ndarray):
        return np.asarray(values, values.dtype.newbyteorder("="))
    found: Any = None
    try:
        if hasattr(values, "detach") and not hasattr(values, "row_bytes"):  # torch's; a tiered table refuses below
            near = values.detach().cpu()
            found = (near.float() if kind(near) == "bfloat16" else near).numpy()  # which NumPy has not
        elif hasattr(values, "get") and hasattr(values, "__cuda_array_interface__"):  # CuPy
            found = values.get()
        elif hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
            found = np.from_dlpack(values)
        elif not isinstance(values, (str, bytes, Mapping, Set)):
            found = np.asarray(values)
            if found.dtype.kind in "iuf" and isinstance(values, (list, tuple)) and any(isinstance(v, (bool, np.bool_)) for v in values):
                found = np.array(values, object)  # NumPy takes bools among numbers for numbers
    except Error:
        raise
    except Exception:  # of the library that it is of
        pass
    if found is None or found.dtype.kind not in "biufc":
        raise KindError(f"{name} is {told(values)}{'' if found is None else f' (of {found.dtype})'}; give an array, a tensor or a list of {wanted}")
    return np.asarray(found)


def tensor(values: Any, name: str) -> Any:
    """A tensor of torch where it lies; anything else as one of the host, copied where torch would not take it."""
    import torch

    if not isinstance(values, torch.Tensor):
        found = host(values, name)
        return torch.from_numpy(found if found.flags.writeable and min(found.strides, default=0) >= 0 else found.copy())
    if values.layout != torch.strided:
        raise UsageError(f"{name}: the tensor is sparse ({values.layout}); give its to_dense()")
    return values


def whole(values: Any, name: str) -> npt.NDArray[Any]:
    """One dimension of whole numbers, of any width and stride."""
    found = host(values, name, "whole numbers")
    if found.ndim != 1:
        raise UsageError(f"{name}: of shape {found.shape}, which has {found.ndim} dimensions; give one dimension of whole numbers")
    if found.size and found.dtype.kind not in "iu":
        raise UsageError(f"{name}: of {found.dtype}; give whole numbers")
    return found if found.size else found.astype(np.int64)


def int64(values: Any, name: str) -> Ids:
    """The same as int64, one after the other."""
    found = whole(values, name)
    if found.dtype == np.uint64 and found.size and int(found.max()) >= 1 << 63:
        raise UsageError(f"{name}: {int(found.max())} at position {int(found.argmax())}; whole numbers end at 2^63 - 1 here")
    return np.require(found, np.int64, ("C", "A"))


def within(ids: Any, count: int, each: str, what: str = "vertices") -> None:
    """IdError names the first that is not among so many. each: what stands before its number, as 'seed'."""
    if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < count:
        at = int(((ids < 0) | (ids >= count)).nonzero()[0][0])
        raise IdError(f"{each} {int(ids[at])} at position {at} does not exist; there are {count} {what}, counted from 0")


def masked(values: Any, name: str, count: int, what: str = "vertices") -> tuple[bool, Ids]:
    """Whether a bool each says which of so many are meant, and which these are; else the numbers themselves, whether they exist or not."""
    found = host(values, name, "whole numbers or bools")
    if found.dtype != bool:
        return False, int64(found, name)
    if found.shape != (count,):
        raise UsageError(f"{name}: a mask of shape {found.shape} for {count} {what}; give one bool each")
    return True, np.flatnonzero(found)


def positions(values: Any, name: str, count: int) -> Ids:
    """Positions of nodes, from numbers or a bool per node. The library checks whether the nodes exist."""
    return masked(values, name, count)[1]


def is_mask(ids: Any, rows: int) -> bool:
    """Whether ids of any library, wherever they lie, are a bool a row; else they are whole numbers."""
    if kind(ids) == "bool":
        if tuple(ids.shape) != (rows,):
            raise UsageError(f"ids: a mask of shape {tuple(ids.shape)} for {rows} rows; give one bool a row")
        return True
    if 0 not in ids.shape and not kind(ids).startswith(("int", "uint")):
        raise UsageError(f"ids of {ids.dtype}; give whole numbers or bools")
    return False


def pairs(values: Any, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Sources and targets of edges, of shape (2, edges) or as two arrays; whole numbers."""
    if isinstance(values, (list, tuple)) and len(values) == 2:
        first, second = (whole(end, f"{name}[{k}]") for k, end in enumerate(values))
        if first.shape != second.shape:
            raise UsageError(f"{name}: {first.size} sources for {second.size} targets; give each edge both")
        return first, second
    found = host(values, name, "whole numbers")
    if found.ndim != 2 or found.shape[0] != 2:
        raise UsageError(f"{name}: of shape {found.shape}; give shape (2, edges), sources above targets" +
                         (", which its transpose has" if found.ndim == 2 and found.shape[1] == 2 else ""))
    return whole(found[0], name), whole(found[1], name)


def times(values: Any, name: str, count: int | None = None, of: str = "") -> Ids:
    """One whole number each; a column of them will do."""
    found = host(values, name)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1 or found.size and found.dtype.kind not in "iu":
        raise UsageError(f"{name}: times of shape {found.shape} and {found.dtype}; give one whole number each, as int64")
    if count is not None and found.size != count:
        raise UsageError(f"{name}: {found.size} times for {count} {of}; give each one")
    return int64(found, name)


def floats(values: Any, name: str, count: int | None = None, of: str = "") -> npt.NDArray[np.float32]:
    """One real number each, as float32; a column of them will do."""
    found = host(values, name)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if real(found, name).ndim != 1:
        raise UsageError(f"{name}: of shape {found.shape}; give one real number each")
    if count is not None and found.size != count:
        raise UsageError(f"{name}: of shape {found.shape} for {count} {of}; give each one")
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(found, np.float32)


def weights(values: Any, name: str, edges: int) -> npt.NDArray[np.float32]:
    """One an edge; none becomes 0 or infinite in 32 bits."""
    kept = floats(values, f"weights of {name}", edges, "edges")
    if kind(values) in ("float32", "float16", "bfloat16"):
        return kept
    given = host(values, name).reshape(kept.shape)
    lost = np.flatnonzero((kept == 0) & (given != 0) | np.isinf(kept) & np.isfinite(given))
    if lost.size:
        raise InputError(f"{name}: the weight of edge {lost[0]} is {given[lost[0]]}; weights are 32-bit floats, which hold 0 and 1.4e-45 to 3.4e38: "
                         "multiply all weights by one number")
    return kept


def real(array: Any, name: str) -> Any:
    """The array, of any library and shape, whose numbers float32 can hold."""
    if not kind(array).startswith(("float", "bfloat", "int", "uint", "bool")):
        raise UsageError(f"{name}: of {kind(array)}; give real numbers")
    return array


def number(value: Any, name: str, wanted: str = "use a whole number") -> int:
    try:
        if isinstance(value, bool) or kind(value) == "bool" or not -1 << 63 <= operator.index(value) < 1 << 63:
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise KindError(f"{name} is {told(value)}; {wanted}") from None


def flag(value: Any, name: str) -> bool:
    """A bool, or a number that stands for one."""
    if not isinstance(value, (bool, np.bool_)) and not (isinstance(value, int) and value in (0, 1)):
        raise KindError(f"{name} is {told(value)}; use True or False")
    return bool(value)


def counted(value: Any, name: str, least: int = 0) -> int:
    found = number(value, name)
    if found < least:
        raise UsageError(f"{name} is {found}; use {least} or more")
    return found


def seconds(wait: Any) -> None:
    if not isinstance(wait, (int, float)):
        raise TypeError(f"timeout={told(wait)}: use a number of seconds")


def scores(values: Any, count: int, of: str) -> npt.NDArray[np.float32]:
    """One a node, by which they are ranked."""
    found = floats(values, "scores", count, of)
    if np.isnan(found).any():
        raise UsageError(f"scores: that of node {int(np.flatnonzero(np.isnan(found))[0])} is not a number; give 0 where nothing is known")
    return found


def fanouts(given: Any, name: str = "fanouts") -> list[int]:
    """How many neighbors each hop samples."""
    if not hasattr(given, "__iter__") or isinstance(given, (str, bytes, Mapping, Set)) or getattr(given, "ndim", 1) != 1:
        raise KindError(f"{name} is {told(given)}; give a list with a whole number for each hop, as [15, 10]")
    found = [number(f, f"{name}[{k}]", "use a whole number of neighbors, 0 for none or -1 for all of them") for k, f in enumerate(given)]
    for k, f in enumerate(found):
        if not -1 <= f <= 1 << 20:
            raise UsageError(f"{name}[{k}] is {f}; pass 0 (none) to 1048576 neighbors per hop, or -1 for all of them")
    return found


def table(array: Any, name: str) -> Any:
    """What rows can be read of as they lie."""
    if hasattr(type(array), "num_node_features") or hasattr(array, "adjacency"):  # PyG, NetworkX
        raise UsageError(f"{name}: a {type(array).__name__} is a graph and no table; give its rows, as data.x")
    if np.ma.is_masked(array):
        raise UsageError(f"{name}: an array with entries that are masked; give its filled()")
    if hasattr(array, "tocoo"):  # SciPy
        raise UsageError(f"{name}: the rows of a {type(array).__name__} do not lie one after the other; give a dense array, as features.toarray()")
    if hasattr(array, "detach"):  # torch
        layout = "nested" if array.is_nested else str(array.layout).rsplit(".", 1)[-1]
        if layout != "strided":
            raise UsageError(f"{name}: the rows of a tensor of layout {layout} do not lie one after the other; give a dense one, as features.to_dense()")
        if array.is_meta:
            raise UsageError(f"{name}: a tensor of device meta has no rows; give one of the host")
        if array.requires_grad:
            raise UsageError(f"{name}: the tensor requires gradients, and rows are read without any; give features.detach() if they shall not be trained")
    return array


def rows(table: Any, name: str, count: int, what: str = "vertices") -> None:
    """That a table has a row for each."""
    array = isinstance(table, np.ndarray) and table.dtype.kind in "biufcV" and table.dtype.isnative
    tensor = hasattr(table, "detach") and str(getattr(table, "layout", "torch.strided")) == "torch.strided"
    if not (array or tensor or hasattr(table, "row_bytes") or hasattr(table, "begins")) or not len(table.shape):
        raise KindError(f"{name}: a {type(table).__name__}{f' of {table.dtype}' if hasattr(table, 'dtype') else ''} for {count} {what}; give each one a row, "
                        "as a tensor, an array of this machine's numbers or a table of garner.tiered")
    if table.shape[0] < count:
        raise UsageError(f"{name}: {table.shape[0]} rows for {count} {what}; give each one a row")
