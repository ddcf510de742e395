"""Where garner.infer puts rows: a tensor on a device or in host memory, a .npy or feature file (.gnt), or Parquet.

Each has put(first, rows), and finish(), which returns what the caller gets; put_piece() where several threads may put rows at once. Invariant: a
result's file is there by its name when it is whole, or not at all; a full disk is one FileError that names it.
"""
from __future__ import annotations

import contextlib
import importlib
import math
import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

from . import _checks, _garner, staging
from ._garner import Graph
from .errors import FileError
from .making import tiered
from .results import node_column


class InMemory:
    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype, device: Any = "cpu") -> None:
        self.whole = torch.empty(shape, dtype=dtype, device=device) if device != "cpu" or 0 in shape else torch.from_numpy(
            np.empty(math.prod(shape) * dtype.itemsize, np.uint8)).view(dtype).reshape(shape)  # of NumPy, which wants huge pages
        self.touched: list[Future[None]] = []

    def touch(self, pool: ThreadPoolExecutor) -> None:
        """Has its pages made ahead of put(): the system makes them at their first use, in several times the time that rows take to get there."""
        memory = staging.as_bytes(self.whole)
        self.touched = [pool.submit(_touch, memory[first:first + staging.piece_bytes]) for first in range(0, len(memory), staging.piece_bytes)]

    def drop(self) -> None:
        """It is of another shape than the rows that came; what was to be touched is not."""
        for one in self.touched:
            one.cancel()

    def put(self, first: int, rows: torch.Tensor) -> None:
        self._wait(first, rows)
        self.whole[first:first + len(rows)] = rows

    def put_piece(self, first: int, rows: torch.Tensor) -> None:
        """As put(), by the calling thread alone; the rows are contiguous in host memory."""
        self._wait(first, rows)
        staging.copy(self.whole[first:first + len(rows)], rows)

    def _wait(self, first: int, rows: torch.Tensor) -> None:
        """For what else writes to these pages."""
        if self.touched:
            begin, end = first * self.whole[:1].nbytes, (first + len(rows)) * self.whole[:1].nbytes
            for one in self.touched[begin // staging.piece_bytes:-(-end // staging.piece_bytes)]:
                one.result()

    def finish(self) -> Any:
        return self.whole


def _touch(memory: Any) -> None:
    memory[::4096] = 0


class InFile:
    """A .npy file that is written in place. bfloat16, which NumPy lacks, becomes float32."""

    def __init__(self, file: str, shape: tuple[int, ...], dtype: torch.dtype, keep: bool = False, name: str = "") -> None:
        self.file, self.name = file, name or file
        self.dtype = torch.float32 if dtype == torch.bfloat16 else dtype
        with writing(self.name, file if not keep else None):
            self.whole = np.lib.format.open_memmap(file, "r+") if keep else np.lib.format.open_memmap(
                file, "w+", torch.empty(0, dtype=self.dtype).numpy().dtype, shape)
            if not keep:
                with open(file, "r+b") as made:
                    os.posix_fallocate(made.fileno(), 0, os.path.getsize(file))  # a full disk is an error now, not a signal later

    def put(self, first: int, rows: torch.Tensor) -> None:
        self.whole[first:first + len(rows)] = rows.to("cpu", self.dtype).numpy()

    put_piece = put

    def flush(self) -> None:
        with writing(self.name):
            self.whole.flush()

    def finish(self) -> Any:
        self.flush()
        if self.name == self.file:
            return tiered(self.file)
        if self.name.endswith(".gnt"):
            made = self.file.removesuffix(".npy") + ".gnt"
            with writing(self.name, made):
                _garner._convert_rows(self.file, made)
            unlink(self.file)
            self.file = made
        os.replace(self.file, self.name)
        return self.name


class InParquet:
    def __init__(self, file: str, graph: Graph, names: Any, shape: tuple[int, ...], name: str) -> None:
        _checks.installed("garner.infer(out='....parquet')", "pyarrow")
        self.pa: Any = importlib.import_module("pyarrow")
        self.file, self.name, self.nodes = file, name, node_column(graph, names)
        self.column = "class" if len(shape) == 1 else "embedding"
        self.writer: Any = None

    def put(self, first: int, rows: torch.Tensor) -> None:
        pa, values = self.pa, (rows.float() if rows.dtype == torch.bfloat16 else rows).cpu().numpy()
        column = pa.array(values) if values.ndim == 1 else pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values[0].size)
        table = pa.table({"node": self.nodes[first:first + len(rows)], self.column: column})
        with writing(self.name, self.file):
            if self.writer is None:
                self.writer = importlib.import_module("pyarrow.parquet").ParquetWriter(self.file, table.schema)
            self.writer.write_table(table)

    def finish(self) -> Any:
        with writing(self.name, self.file):
            self.writer.close()
        os.replace(self.file, self.name)
        return self.name


def result_in(target: str | None, graph: Graph, names: Any, shape: tuple[int, ...], dtype: torch.dtype, ends: contextlib.ExitStack) -> Any:
    if target is None:
        return InMemory(shape, dtype)
    part = f"{target}.part-{os.getpid()}" + (".npy" if target.endswith(".gnt") else "")
    ends.callback(unlink, part)  # once it is whole it has another name
    return InParquet(part, graph, names, shape, target) if target.endswith(".parquet") else InFile(part, shape, dtype, name=target)


def between(found: torch.Tensor, nodes: int, memory: int, scratch: Any, ends: contextlib.ExitStack) -> Any:
    """Where the rows of a layer go, of which these are the first; those of the layer before stay meanwhile."""
    shape, size = (nodes, *found.shape[1:]), nodes * found[0].numel() * found.element_size()
    if found.is_cuda and 4 * size <= torch.cuda.mem_get_info(found.device)[0]:
        return InMemory(shape, found.dtype, found.device)
    if 2 * size <= memory:
        return InMemory(shape, found.dtype)
    try:
        folder = tempfile.mkdtemp(prefix="garner-", dir=scratch)
    except OSError as e:
        raise FileError(f"{scratch}: cannot be used for scratch files: {e.strerror}") from None
    ends.callback(shutil.rmtree, folder, ignore_errors=True)
    return InFile(os.path.join(folder, "rows.npy"), shape, found.dtype)


def require_writable(target: str, graph: Graph, names: Any) -> None:
    """Now, and not after the last layer; also that the nodes have the names that a file by name needs."""
    part = f"{target}.part-{os.getpid()}"
    with writing(target), open(part, "wb"):
        os.unlink(part)
    if target.endswith(".parquet"):
        _checks.installed("garner.infer(out='....parquet')", "pyarrow")
        node_column(graph, names)


@contextlib.contextmanager
def writing(name: str, unfinished: str | None = None) -> Iterator[None]:
    """What cannot be written is an error that names the file; the unfinished one is removed then."""
    try:
        yield
    except (OSError, FileError) as e:
        if unfinished is not None:
            unlink(unfinished)
        raise FileError(f"{name}: cannot be written: {getattr(e, 'strerror', None) or e}; make room, or write to another folder") from None


def unlink(file: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(file)
