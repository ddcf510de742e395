"""Checkpoints of garner.infer: the rows of each layer in a folder, with what they were made of, so that no other model goes on with them.

Invariant: a model gets the same digest in every process, before and after it ran, and another one with other weights, other attributes of a layer of a
library's, or other code of the user's own. What running may change does not count: what the user's modules set, and lists, dicts and other objects.
"""
from __future__ import annotations

import contextlib
import dis
import functools
import hashlib
import inspect
import json
import os
import re
import sys
import time
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from . import sources
from .errors import FileError, UsageError
from .kept_rows import InFile, unlink, writing
from .tables import scales_of

_seconds = 10.0  # between two notes of a checkpoint
_libraries = {"builtins", "garner", "numpy", "torch", "torch_geometric", *sys.stdlib_module_names}  # known by the names of what is in them
_numbers = (bool, int, float, complex)
_plain = (*_numbers, str, bytes, torch.dtype, type(None), type(...))


def original(one: Any) -> Any:
    """What torch.compile was given."""
    return getattr(one, "_orig_mod", getattr(one, "_torchdynamo_orig_callable", one)) if callable(one) else one


def digest_of(model: Any) -> str:
    """The digest of a model, or of a list of layers."""
    return _digest(tuple(model) if isinstance(model, list) else model, {}).hex()


def _digest(one: Any, known: dict[int, tuple[Any, bytes]]) -> bytes:
    """known: by identity what has its digest already, which keeps it alive; what is still on its way here has its name."""
    one = original(one)
    of = one if isinstance(one, (type, types.FunctionType, types.BuiltinFunctionType)) else type(one)
    name = of.__qualname__ if _own(of) else f"{of.__module__}.{of.__qualname__}"
    if isinstance(one, _plain):
        return hashlib.sha256(f"{name} {one!r}".encode()).digest()
    if id(one) not in known:
        known[id(one)] = one, name.encode()
        digest = hashlib.sha256(name.encode())
        for part in _parts(one):
            digest.update(part if isinstance(part, bytes) else _digest(part, known))
        known[id(one)] = one, digest.digest()
    return known[id(one)][1]


def _own(one: Any) -> bool:
    return (getattr(one, "__module__", None) or "builtins").split(".")[0] not in _libraries


def _parts(one: Any) -> Iterator[Any]:
    if hasattr(type(one), "row_bytes"):
        yield from seen(one)
    elif isinstance(one, torch.Tensor):
        yield f"{tuple(one.shape)} {one.dtype}"
        if one.layout == torch.strided and not one.is_meta and not torch.nn.parameter.is_lazy(one):
            for part in torch.split(one.detach().reshape(-1), 1 << 22):
                yield part.cpu().contiguous().view(torch.uint8).numpy().tobytes()
    elif isinstance(one, np.ndarray):
        yield from (str(one.dtype), one.shape, b"" if one.dtype.hasobject else one.tobytes())
    elif isinstance(one, tuple):
        yield from one
    elif isinstance(one, (list, dict)):  # which calls may fill
        yield from (part for part in (one.values() if isinstance(one, dict) else one) if isinstance(part, torch.nn.Module))
    elif isinstance(one, frozenset):  # of a code's constants
        yield from sorted(map(repr, one))
    elif isinstance(one, types.CodeType):
        yield from (one.co_code, one.co_names, one.co_consts)
    elif isinstance(one, functools.partial):
        yield from (one.func, one.args, *one.keywords.items())
    elif isinstance(one, types.FunctionType):
        yield from (one.__defaults__, *(one.__kwdefaults__ or {}).items())
        for cell in one.__closure__ or ():
            with contextlib.suppress(ValueError):  # empty
                yield cell.cell_contents
        if _own(one):
            yield one.__code__
            for name, value in ((name, original(one.__globals__.get(name))) for name in sorted(_globals(one.__code__))):
                of_file = isinstance(value, (type, types.FunctionType)) and value.__module__ == one.__module__
                yield from (name, value) if of_file or isinstance(value, (*_numbers, torch.nn.Module)) else ()
    elif isinstance(one, type):
        for name, value in (pair for base in filter(_own, one.__mro__) for pair in sorted(vars(base).items())):
            value = getattr(value, "__func__", getattr(value, "fget", getattr(value, "func", value)))
            yield from (name, value) if callable(value) or isinstance(value, _plain) and not name.startswith("__") else ()
    elif isinstance(one, torch.nn.Module):
        yield from (type(one), *one.named_parameters(recurse=False), *one._modules.items(), *one._forward_pre_hooks.values(), *one._forward_hooks.values())
        yield from (pair for pair in one._buffers.items() if pair[0] not in one._non_persistent_buffers_set)
        yield re.sub(r" at 0x\w+", "", one.code if isinstance(one, torch.jit.ScriptModule) else one.extra_repr())
        makers = (getattr(vars(base).get("__init__"), "__code__", None) for base in type(one).__mro__ if not _own(base))
        made = {name for code in makers if code is not None for name in code.co_names if not name.startswith("_")}  # by the libraries' classes
        for name, value in sorted(vars(one).items()):
            if name in made and not isinstance(value, (torch.Tensor, torch.device)):
                yield from (name, tuple(value) if isinstance(value, list) else value)
    elif callable(one):
        yield from (type(one), getattr(one, "__func__", None), getattr(one, "__self__", None), *sorted(getattr(one, "__dict__", {}).items()))


def _globals(code: types.CodeType) -> set[str]:
    """Names that it reads and does not set; those of attributes may be names of other things."""
    steps = [(step.opname, step.argval) for step in dis.get_instructions(code)]
    read = {name for what, name in steps if what == "LOAD_GLOBAL"} - {name for what, name in steps if what == "STORE_GLOBAL"}
    return read.union(*(_globals(inner) for inner in code.co_consts if isinstance(inner, types.CodeType)))


def seen(features: Any) -> Any:
    """What identifies features: of a file its name, size and time; of an array all of it; of a table of garner.tiered its shape and some rows."""
    if isinstance(features, (str, os.PathLike)) or sources.reads(features):
        about = os.stat(file := sources.file_of(features))
        return os.path.abspath(os.fspath(file)), about.st_size, about.st_mtime_ns, *(features[1:] if isinstance(features, tuple) else ())
    shape = tuple(features.shape)
    if hasattr(features, "row_bytes"):
        rows = features[np.linspace(0, shape[0] - 1, min(shape[0], 1000)).astype(np.int64)]
    else:
        rows = features
    return shape, digest_of((torch.as_tensor(rows), scales_of(features)))


class Checkpoint:
    """The rows of each layer in a folder, and how many of them are there. Those behind are computed again."""

    def __init__(self, folder: str, layers: int, options: tuple[Any, ...]) -> None:
        self.folder, self.layers, self.noted = folder, layers, time.monotonic()
        self.key = hashlib.sha256(repr((layers, *options)).encode()).hexdigest()
        try:
            os.makedirs(folder, exist_ok=True)
        except OSError as e:
            raise FileError(f"{folder}: cannot be made: {e.strerror}") from None
        self.position = 0, 0
        if not os.path.exists(self.file()):
            if os.listdir(folder):
                raise UsageError(f"{folder}: is not empty and holds no rows of garner.infer; give an empty folder, or a new one")
            self._write()
        else:
            noted = {}
            with open(self.file(), encoding="utf-8") as file, contextlib.suppress(ValueError):
                noted = json.load(file)
            if noted.get("key") != self.key:
                raise UsageError(f"{folder}: holds the rows of another model, graph, features or options; give an empty folder, or empty this one")
            self.position = noted["layer"], noted["rows"]

    def file(self, layer: int | None = None) -> str:
        return os.path.join(self.folder, "position.json" if layer is None else f"layer{layer}.npy")

    def done(self, layer: int) -> int:
        """Rows of this layer that are there."""
        at, rows = self.position
        return rows if layer == at else 0 if layer > at else np.load(self.file(layer), mmap_mode="r").shape[0]

    def place(self, layer: int, shape: tuple[int, ...], dtype: torch.dtype) -> InFile:
        return InFile(self.file(layer), shape, dtype, keep=self.position[0] == layer and self.position[1] > 0)

    def note(self, layer: int, rows: int, into: InFile) -> None:
        whole = rows == len(into.whole)
        if not whole and time.monotonic() - self.noted < _seconds:
            return
        into.flush()
        self.position = (layer + 1, 0) if whole else (layer, rows)
        self._write()

    def _write(self) -> None:
        new = self.file() + ".new"
        with writing(self.file(), new):
            with open(new, "w", encoding="utf-8") as to:
                json.dump({"key": self.key, "layer": self.position[0], "rows": self.position[1]}, to)
            os.replace(new, self.file())
        self.noted = time.monotonic()

    def clear(self) -> None:
        for file in [self.file(), *(self.file(layer) for layer in range(self.layers))]:
            unlink(file)
        with contextlib.suppress(OSError):
            os.rmdir(self.folder)
