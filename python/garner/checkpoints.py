"""Checkpoints of garner.infer: the rows of each layer in a folder, with what they were made of, so that no other model goes on with them.

Invariant: what a model is made of gets the same digest in every process, and another one where it would compute something else: weights, attributes, the
code of functions and classes that are the user's own, and the values that these refer to. Addresses, the device and the mode of training do not count.
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
_libraries = {"builtins", "garner", "numpy", "torch", "torch_geometric", *sys.stdlib_module_names}  # whose code has no state
_plain = (bool, int, float, complex, str, bytes, torch.dtype, type(None), type(...))
_deepest = 40


def original(one: Any) -> Any:
    """What torch.compile was given."""
    return getattr(one, "_orig_mod", getattr(one, "_torchdynamo_orig_callable", one))


def digest_of(one: Any) -> str:
    """The digest of what a model is made of."""
    return _digest(one, {}, 0).hex()


def _digest(one: Any, known: dict[int, tuple[Any, bytes]], depth: int) -> bytes:
    """known: by identity what has its digest already, which keeps it alive; what is still on its way here has its type's name."""
    name = f"{type(one).__module__}.{type(one).__qualname__}"
    if isinstance(one, _plain) or depth > _deepest:
        return hashlib.sha256(f"{name} {one!r}".encode() if depth <= _deepest else name.encode()).digest()
    if id(one) not in known:
        known[id(one)] = one, name.encode()
        digest = hashlib.sha256(name.encode())
        for part in _parts(one):
            digest.update(part if isinstance(part, bytes) else _digest(part, known, depth + 1))
        known[id(one)] = one, digest.digest()
    return known[id(one)][1]


def _parts(one: Any) -> Iterator[Any]:
    if isinstance(one, torch.device) or hasattr(one, "row_bytes"):  # a table of garner.tiered
        return
    if isinstance(one, torch.Tensor):
        yield f"{tuple(one.shape)} {one.dtype}"
        if one.layout == torch.strided and not one.is_meta and not torch.nn.parameter.is_lazy(one):
            for part in torch.split(one.detach().reshape(-1), 1 << 22):
                yield part.cpu().contiguous().view(torch.uint8).numpy().tobytes()
    elif isinstance(one, np.ndarray):
        yield from (str(one.dtype), one.shape, one.tolist() if one.dtype.hasobject else one.tobytes())
    elif isinstance(one, dict):
        yield from (part for pair in one.items() for part in pair)
    elif isinstance(one, (set, frozenset)):
        yield from sorted(map(digest_of, one))
    elif isinstance(one, (list, tuple)):
        yield from one
    elif isinstance(one, types.CodeType):
        yield from (one.co_code, one.co_names, one.co_consts)
    elif isinstance(one, (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)):
        yield from _code(one)
    elif isinstance(one, types.MethodType):
        yield from (one.__func__, one.__self__)
    elif isinstance(one, functools.partial):
        yield from (one.func, one.args, one.keywords)
    elif isinstance(one, property):
        yield from (one.fget, one.fset)
    elif hasattr(one, "__dict__"):
        yield type(one)
        if isinstance(one, torch.jit.ScriptModule):
            yield from (str(one.inlined_graph), one.state_dict())
        else:
            yield from (part for name, value in sorted(vars(one).items()) if not _passes(one, name) for part in (name, value))
        if isinstance(one, torch.nn.Module):
            yield from (hook for hooks in (one._forward_pre_hooks, one._forward_hooks) for hook in hooks.values())
    else:
        yield re.sub("0x[0-9a-f]+", "", repr(one))


def _passes(one: Any, name: str) -> bool:
    """An attribute that says how a module runs, not what it computes."""
    kept = ("_parameters", "_buffers", "_modules")
    return isinstance(one, torch.nn.Module) and (name in _of_modules() and name not in kept or name.startswith(
        ("inspector", "_cached", "_compiled_call_impl", "_is_torch_compile")))


@functools.cache
def _of_modules() -> frozenset[str]:
    return frozenset(vars(torch.nn.Module()))


def _code(one: Any) -> Iterator[Any]:
    module = getattr(one, "__module__", None) or ""
    yield f"{module}.{getattr(one, '__qualname__', getattr(one, '__name__', ''))}"
    own = module.split(".")[0] not in _libraries
    if isinstance(one, type) and own:
        yield one.__bases__
        yield from (part for name, value in sorted(vars(one).items()) if not name.startswith("__") or inspect.isfunction(value) for part in (name, value))
    elif isinstance(one, types.BuiltinFunctionType) and not isinstance(one.__self__, (types.ModuleType, type)):
        yield one.__self__  # as the append of a list
    elif inspect.isfunction(one):
        yield from (one.__defaults__, one.__kwdefaults__)
        for cell in one.__closure__ or ():
            with contextlib.suppress(ValueError):  # empty
                yield cell.cell_contents
        if own:
            yield one.__code__
            yield from (part for name in sorted(_globals(one.__code__)) if name in one.__globals__ for part in (name, one.__globals__[name]))


def _globals(code: types.CodeType) -> set[str]:
    """Names that it reads; those of attributes may be names of other things."""
    read = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
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
