"""Ids and rows as arrays of NumPy, CuPy and torch: what they may be, and how they come to the device that gathers, and back. torch and CuPy are imported
with the first array of theirs."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _checks
from ._garner import Unified
from .errors import UsageError

# Addresses of ids and of rows where the table gathers, the stream, and what brings the rows to the device of ids.
Brought = tuple[list[int], list[int], int, Callable[[], list[Any]]]

# What libgarner takes as it is. Its ids of 4 bytes are signed, so uint32 is widened.
_whole = (np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint64))


class NumPy:
    """Ids and rows of the host. A device reads and writes them in place: they are pinned for the call."""

    def ids(self, ids: Any, rows: int) -> Any:
        ids = _checks.host(ids, "ids", "whole numbers or bools")
        if _checks.is_mask(ids, rows):
            return np.flatnonzero(ids)
        if ids.dtype not in _whole:
            ids = ids.astype(np.int64)
        return ids if ids.flags.c_contiguous and ids.flags.aligned else ids.copy(order="C")

    def floats(self, numbers: Any, name: str, kind: str) -> Any:
        """As they are, if of `kind`; else as float32."""
        found = _checks.real(_checks.host(numbers, name), name)
        return np.ascontiguousarray(found, found.dtype if _checks.kind(found) == kind else np.float32)

    def row_type(self, kind: str) -> Any:
        if kind != "bfloat16":
            return np.dtype(kind)
        try:
            import ml_dtypes  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise UsageError("NumPy knows no bfloat16; use dtype='f32', give ids as torch tensors, or install ml_dtypes") from None
        return np.dtype(ml_dtypes.bfloat16)

    def device(self, name: str) -> Any:
        return name

    def wait(self, device: int) -> None:
        """Until ids are where bring() brought them, for a call without a stream."""

    def whole(self, out: Any) -> bool:
        return isinstance(out, np.ndarray) and out.flags.c_contiguous and out.flags.writeable

    def bring(self, device: int, ids: list[Any], outs: list[Any], shapes: list[tuple[int, ...]], kind: str) -> Brought:
        outs = [np.empty(shape, self.row_type(kind)) if out is None else out for out, shape in zip(outs, shapes)]
        if device < 0:
            return [i.ctypes.data for i in ids], [o.ctypes.data for o in outs], 0, lambda: outs
        pinned = [[Unified(a.reshape(-1).view(np.uint8), device) if a.size else None for a in arrays] for arrays in (ids, outs)]
        near = [[p.address if p else 0 for p in some] for some in pinned]

        def done(pinned: list[Any] = pinned) -> list[Any]:
            pinned.clear()
            return outs

        return near[0], near[1], 0, done


class CuPy(NumPy):
    """Ids and rows of a device, on the stream that CuPy works on."""

    def __init__(self) -> None:
        import cupy  # type: ignore[import-not-found, import-untyped, unused-ignore]
        self.cupy: Any = cupy

    def ids(self, ids: Any, rows: int) -> Any:
        if _checks.is_mask(ids, rows):
            return self.cupy.flatnonzero(ids)
        if ids.dtype not in _whole:
            ids = ids.astype(np.int64)
        return self.cupy.ascontiguousarray(ids).reshape(ids.shape)

    def floats(self, numbers: Any, name: str, kind: str) -> Any:
        found = _checks.real(numbers, name)
        return self.cupy.ascontiguousarray(found, found.dtype if _checks.kind(found) == kind else np.float32)

    def wait(self, device: int) -> None:
        if device >= 0:
            self.cupy.cuda.Device(device).synchronize()

    def whole(self, out: Any) -> bool:
        return isinstance(out, self.cupy.ndarray) and out.flags.c_contiguous

    def bring(self, device: int, ids: list[Any], outs: list[Any], shapes: list[tuple[int, ...]], kind: str) -> Brought:
        cupy = self.cupy
        homes = [i.device.id for i in ids]
        if device < 0:
            near = [cupy.asnumpy(i) for i in ids]
            at, to, stream, done = numpy.bring(-1, near, [None] * len(ids), shapes, kind)

            def back(near: list[Any] = near) -> list[Any]:
                rows = done()
                near.clear()  # until here the gather may read them
                for k, home in enumerate(homes):
                    with cupy.cuda.Device(home):
                        if outs[k] is None:
                            outs[k] = cupy.asarray(rows[k])
                        else:
                            outs[k].set(rows[k])
                return outs

            return at, to, stream, back
        with cupy.cuda.Device(device):
            near = [cupy.asarray(i) for i in ids]
            rows = [cupy.empty(shape, self.row_type(kind)) if out is None or out.device.id != device else out
                    for out, shape in zip(outs, shapes)]
            stream = cupy.cuda.get_current_stream().ptr or 1  # 1: the default stream by name

        def home(near: list[Any] = near) -> list[Any]:
            near.clear()  # until here the gather may read them; CuPy's pool gives their memory out again in the order of the stream
            for k, at in enumerate(homes):
                if outs[k] is None and at == device:
                    outs[k] = rows[k]
                elif outs[k] is not rows[k]:
                    cupy.cuda.Device(device).synchronize()
                    with cupy.cuda.Device(at):
                        if outs[k] is None:
                            outs[k] = cupy.asarray(rows[k])
                        else:
                            outs[k][...] = cupy.asarray(rows[k])
            return outs

        return [i.data.ptr for i in near], [r.data.ptr for r in rows], stream, home


class Torch:
    """Ids and rows where they lie, on the stream that torch works on."""

    def __init__(self) -> None:
        import torch
        self.torch: Any = torch
        self.whole_numbers = {torch.int32, torch.int64} | ({torch.uint64} if hasattr(torch, "uint64") else set())  # uint32 is widened, as NumPy's

    def known(self, kind: str) -> Any:
        """The dtype of torch that has this name, or None."""
        found = getattr(self.torch, kind, None)
        return found if isinstance(found, self.torch.dtype) else None

    def ids(self, ids: Any, rows: int) -> Any:
        ids = _checks.tensor(ids, "ids")
        if _checks.is_mask(ids, rows):
            return ids.nonzero().flatten()
        if ids.dtype not in self.whole_numbers:
            ids = ids.to(self.torch.int64)
        return ids.contiguous()

    def floats(self, numbers: Any, name: str, kind: str) -> Any:
        found = _checks.real(_checks.tensor(numbers, name), name).detach()
        return (found if _checks.kind(found) == kind else found.to(self.torch.float32)).contiguous()

    def row_type(self, kind: str) -> Any:
        found = self.known(kind)
        if found is None:
            raise UsageError(f"torch has no {kind}; give ids as a NumPy array")
        return found

    def device(self, name: str) -> Any:
        return self.torch.device(name)

    def wait(self, device: int) -> None:
        if device >= 0 and self.torch.cuda.is_available():
            self.torch.cuda.current_stream(device).synchronize()

    def whole(self, out: Any) -> bool:
        return isinstance(out, self.torch.Tensor) and out.is_contiguous() and not out.requires_grad

    def bring(self, device: int, ids: list[Any], outs: list[Any], shapes: list[tuple[int, ...]], kind: str) -> Brought:
        torch = self.torch
        for i, out in zip(ids, outs):
            if out is not None and out.device != i.device:
                raise UsageError(f"out lies on {out.device}, ids on {i.device}; give both on one")
        if device >= 0 and not torch.cuda.is_available():  # torch for the CPU with a Garner for the GPU: as NumPy's arrays
            rows = [torch.empty(shape, dtype=self.row_type(kind)) if out is None else out for out, shape in zip(outs, shapes)]
            bytes_of = [[t.reshape(-1).view(torch.uint8).numpy() for t in some] for some in (ids, rows)]
            at, to, stream, done = numpy.bring(device, bytes_of[0], bytes_of[1], shapes, kind)
            return at, to, stream, lambda: (done(), rows)[1]
        place = torch.device("cpu") if device < 0 else torch.device("cuda", device)
        stream = 0
        if device >= 0:
            stream = torch.cuda.current_stream(place).cuda_stream or 1  # 1: the default stream by name; 0 would be the table's own
        near = [i.to(place) for i in ids]
        rows = [torch.empty(shape, dtype=self.row_type(kind), device=place) if out is None or out.device != place else out
                for out, shape in zip(outs, shapes)]

        def home(near: list[Any] = near) -> list[Any]:
            near.clear()  # until here the gather may read them
            return [(row if row.device == i.device else row.to(i.device)) if out is None else out if out is row else out.copy_(row)
                    for row, i, out in zip(rows, ids, outs)]

        return [i.data_ptr() for i in near], [row.data_ptr() for row in rows], stream, home


numpy = NumPy()
of_torch = functools.cache(Torch)


def is_torch(array: Any) -> bool:
    return type(array).__module__.split(".")[0] == "torch"


def library_of(*arrays: Any) -> Any:
    """The library of the first array that belongs to one; NumPy's for lists and numbers."""
    for array in arrays:
        if is_torch(array):
            return of_torch()
        if type(array).__module__.split(".")[0] == "cupy":
            return CuPy()
    return numpy


def addressed(address: int, ids: Any) -> tuple[int, int, int, bool]:
    """Ids as _garner takes them: address, count, bytes of one, whether unsigned."""
    count, width = (ids.numel(), ids.element_size()) if hasattr(ids, "numel") else (ids.size, ids.itemsize)
    return address, count, width, str(ids.dtype).endswith("uint64")
