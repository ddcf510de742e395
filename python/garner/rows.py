"""Trainable tables: what garner.embedding gives. The work is done by _garner.LearnedTable, on addresses."""
from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _checks, _garner
from ._arguments import has_old_names, spoken, takes_old_names
from ._garner import UpdateRun
from .arrays import addressed, library_of
from .errors import UsageError
from .tables import TierRows


_kinds = {"f32": "float32", "f16": "float16", "bf16": "bfloat16"}


def _short(dtype: Any) -> str:
    """A dtype of any library, or its name, as libgarner has it."""
    name = str(getattr(dtype, "__name__", dtype)).rsplit(".", 1)[-1]
    for short, long in _kinds.items():
        if name in (short, long):
            return short
    raise UsageError(f"dtype {dtype}: rows are learned in float32, float16 or bfloat16; use one of them")


@has_old_names
class Embedding:
    """Made by garner.embedding: `rows` rows of `width` numbers, in device and host memory, each with what its optimizer keeps of it, in float32."""

    def __init__(self, table: _garner.LearnedTable) -> None:
        self._table = table

    def __len__(self) -> int:
        return self._table.rows

    @property
    def shape(self) -> tuple[int, int]:
        return self._table.rows, self._table.width

    @property
    def dtype(self) -> str:
        """of a row: 'float32', 'float16' or 'bfloat16'"""
        return _kinds[self._table.dtype]

    @property
    def optimizer(self) -> str:
        return self._table.optimizer

    @property
    def steps(self) -> int:
        """done so far"""
        return self._table.steps

    @property
    def rows(self) -> TierRows:
        """how many lie in each tier"""
        return TierRows(self._table.tiers)

    def summary(self) -> str:
        """One line: where the rows lie."""
        return self._table.summary()

    def __repr__(self) -> str:
        return f"<garner.Embedding {self._table.summary()}>"

    def gather(self, ids: Any) -> Any:
        """Rows of ids (whole numbers of any shape): of the library of ids, on their device. Errors: IdError names an id outside the table."""
        library = library_of(ids)
        ids = library.ids(ids, len(self))
        (at,), (out,), stream, done = library.bring(self._table.device_index, [ids], [None], [(*ids.shape, self._table.width)], self.dtype)
        self._table.gather(addressed(at, ids), out, stream)
        return done()[0]

    __getitem__ = gather

    def update(self, ids: Any, gradients: Any, *, lr: float = 0.01, lr_decay: float = 0, betas: tuple[float, float] = (0.9, 0.999),
               eps: float | None = None) -> UpdateRun:
        """One step: gradients[k], of shape (*ids.shape, width), is of the row ids[k]; those of one row are summed in float32 in the order of their positions,
        the row is updated in float32 and rounded once, to the nearest. Gradients of the rows' dtype are taken as they are, others as float32.
        Only these rows change. lr_decay: of adagrad; betas: of adam; eps: None: as torch (adagrad 1e-10, adam 1e-8).
        Errors: IdError for an id outside the table, InputError for a row whose gradient is not finite; then nothing has changed."""
        library = library_of(gradients, ids)
        ids = library.ids(ids, len(self))
        gradients = library.floats(gradients, "gradients", self.dtype)
        if tuple(gradients.shape) != (*ids.shape, self._table.width):
            raise UsageError(f"gradients: of shape {tuple(gradients.shape)} for ids of {tuple(ids.shape)}; give {(*ids.shape, self._table.width)}")
        near, _, stream, done = library.bring(self._table.device_index, [ids, gradients], [], [], self.dtype)
        run = self._table.update(addressed(near[0], ids), near[1], lr, lr_decay, betas, eps, stream, _short(_checks.kind(gradients)))
        done()
        return run

    def read(self, what: str = "weight", first: int = 0, count: int | None = None) -> Any:
        """Rows of 'weight', or of what the optimizer keeps ('sum' of adagrad, 'exp_avg' and 'exp_avg_sq' of adam), as a NumPy array of float32."""
        return self._table.read(what, first, len(self) - first if count is None else count)

    def write(self, values: Any, what: str = "weight", first: int = 0) -> None:
        """The other way: values of shape (rows, width)."""
        values = np.ascontiguousarray(_checks.real(_checks.host(values, "values"), "values"), np.float32)
        if values.ndim != 2:
            raise UsageError(f"values: of shape {values.shape}; give rows of {self._table.width}")
        self._table.write(what, first, values)

    def flush(self) -> None:
        """For a table in a file, which then holds the state of now. Errors: FileError of a full disk; then it holds the one before, and nothing is lost."""
        self._table.flush()

    def save(self, file: str | os.PathLike[str]) -> None:
        """Rows and state to a file (safetensors), whole or not at all."""
        self._table.save(file)

    def load(self, file: str | os.PathLike[str]) -> None:
        """From such a file, bit for bit, wherever its rows lay. Errors: InputError for one of another table or optimizer, or a damaged one."""
        self._table.load(file)


def states_of(table: Embedding) -> list[str]:
    """Names of what its optimizer keeps of a row."""
    return table._table.states


def count_from(table: Embedding, steps: int) -> None:
    """So many steps have been done: of a table whose rows and state came from elsewhere."""
    table._table.steps = steps


@takes_old_names
def embedding(rows: int, width: int, *, optimizer: str = "adam", device: Any = None, feature_cache: int | str | None = None, scores: Any = None,
              init: str = "normal", init_scale: float = 1, seed: int = 1, dtype: Any = "float32",
              file: str | os.PathLike[str] | None = None, host_cache: int | str | None = None) -> Embedding:
    """A trainable table, which may be larger than GPU memory.

        table = garner.embedding(len(g), 64, feature_cache="8GiB")
        table.update(ids, gradients, lr=0.01)             # gradients of table.gather(ids)

    optimizer: 'sgd', 'adagrad' or 'adam' (as torch.optim.SparseAdam: rows without a gradient stay as they are, all count the same steps).
    device: gathers and steps: 'cuda:1', 'cpu', 'simulated'; None: the first GPU, else 'cpu'.
    feature_cache: bytes of rows, with their state, in GPU memory; None: half of what is free. scores: one per row: the hottest are those.
    All others lie in host memory, where the device reads, steps and writes them in place.
    init: 'normal' (init_scale: the standard deviation), 'uniform' (from -init_scale to init_scale) or 'zero': a function of seed, row and column.
    dtype: of the rows: 'float32', 'float16' or 'bfloat16', or as a library has it; what the optimizer keeps is float32.
    file: rows and state lie in this file, which may be larger than memory; it is made, or continued where it is there. host_cache: bytes of them
    in host memory; None: half of what is free. A step may change as many rows as these hold. flush() writes what has changed, as the end of the
    table does; a crash leaves the state of the last flush, and whoever opens the file next has it.
    Result: Embedding; garner.torch.Embedding is the same as a module. Errors: UsageError, OutOfMemory.
    """
    return Embedding(spoken(_garner.LearnedTable, "embedding")(rows, width, device, optimizer, init, init_scale, seed, feature_cache, scores, _short(dtype), file, host_cache))
