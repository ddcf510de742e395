"""What needs torch: ids and rows as its tensors, on the stream that it works on. import garner does not import torch; this does."""
from __future__ import annotations

from typing import Any

from . import _checks

_checks.installed("garner.torch", "torch")

import torch  # noqa: E402
import torch.utils.dlpack  # noqa: E402

from . import _garner, tables  # noqa: E402
from .batches import HeteroMiniBatch as HeteroMiniBatch, Loader as Loader, MiniBatch as MiniBatch, loader as loader  # noqa: E402
from .errors import UsageError  # noqa: E402

_whole = {torch.int32, torch.int64} | ({torch.uint64} if hasattr(torch, "uint64") else set())  # uint32 is widened, as in tables.py


class _Torch:
    def ids(self, ids: Any, rows: int) -> Any:
        ids = _checks.tensor(ids, "ids")
        if _checks.is_mask(ids, rows):
            return ids.nonzero().flatten()
        if ids.dtype not in _whole:
            ids = ids.to(torch.int64)
        return ids.contiguous()

    def floats(self, numbers: Any, name: str) -> Any:
        return _checks.real(_checks.tensor(numbers, name), name).detach().to(torch.float32).contiguous()

    def row_type(self, kind: str) -> torch.dtype:
        found = known(kind)
        if found is None:
            raise UsageError(f"torch has no {kind}; give ids as a NumPy array")
        return found

    def device(self, name: str) -> torch.device:
        return torch.device(name)

    def wait(self, device: int) -> None:
        if device >= 0 and torch.cuda.is_available():
            torch.cuda.current_stream(device).synchronize()

    def whole(self, out: Any) -> bool:
        return isinstance(out, torch.Tensor) and out.is_contiguous() and not out.requires_grad

    def bring(self, device: int, ids: list[Any], outs: list[Any], shapes: list[tuple[int, ...]], kind: str) -> tables.Brought:
        """Ids and rows where the table gathers; the stream; and what brings the rows to the device of ids."""
        for i, out in zip(ids, outs):
            if out is not None and out.device != i.device:
                raise UsageError(f"out lies on {out.device}, ids on {i.device}; give both on one")
        if device >= 0 and not torch.cuda.is_available():  # torch for the CPU with a Garner for the GPU: as NumPy's arrays
            rows = [torch.empty(shape, dtype=self.row_type(kind)) if out is None else out for out, shape in zip(outs, shapes)]
            bytes_of = [[t.reshape(-1).view(torch.uint8).numpy() for t in some] for some in (ids, rows)]
            at, to, stream, done = tables._numpy.bring(device, bytes_of[0], bytes_of[1], shapes, kind)
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


library = _Torch()


def unified(tensor: torch.Tensor, device: Any = None) -> torch.Tensor:
    """garner.unified as a torch tensor: of the device, its bytes in host memory. Errors: as garner.unified.

        features = garner.torch.unified(features)       # Listing 3.1 of the dissertation: features[ids] on the GPU reads host memory
    """
    return torch.utils.dlpack.from_dlpack(tables.unified(tensor, device))


class TieredTensor(tables.Tiered[Any], torch.Tensor):  # type: ignore[misc, override]
    """A Tiered that is a torch.Tensor too, without memory of a tensor's: what Tiered answers it answers, and every other operation of torch is
    an error. So what asks isinstance(x, torch.Tensor), as PyG does, sees its rows."""

    @staticmethod
    def __new__(cls: Any, table: _garner.Table, source: Any, made: dict[str, Any], kind: torch.dtype) -> Any:
        device = torch.device("cpu" if table.device_index < 0 or not torch.cuda.is_available() else f"cuda:{table.device_index}")
        return torch.Tensor._make_wrapper_subclass(cls, table.shape, dtype=kind, device=device)

    def __init__(self, table: _garner.Table, source: Any, made: dict[str, Any], kind: torch.dtype) -> None:
        tables.Tiered.__init__(self, table, source, made)

    # What torch.Tensor says in Python itself.
    __dir__, __format__, __hash__ = object.__dir__, object.__format__, object.__hash__
    shape = property(lambda self: torch.Size(self._table.shape))

    @property
    def __cuda_array_interface__(self) -> Any:
        raise AttributeError("a tiered table is not an array of a device")

    def is_floating_point(self) -> bool:
        return self.row_kind().is_floating_point

    def is_complex(self) -> bool:
        return self.row_kind().is_complex

    def row_kind(self) -> torch.dtype:
        return library.row_type(self._table.kind)

    def cuda(self, device: Any = None, **how: Any) -> Any:  # type: ignore[override]
        return self.to("cuda" if device is None else torch.device("cuda", device) if isinstance(device, int) else device)

    def untyped_storage(self) -> Any:
        return _NoStorage(self)

    def new(self, *given: Any) -> torch.Tensor:  # type: ignore[override]  # an ordinary tensor; PyG's workers put rows into one
        return torch.empty(0, dtype=self.row_kind()).new(*given)

    def detach(self) -> Any:
        return self

    def contiguous(self, **how: Any) -> Any:  # type: ignore[override]
        return self

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(function, "__name__", str(function))
        if name == "__get__":  # of an attribute
            name = getattr(getattr(function, "__self__", None), "__name__", name)
            if name in _facts:
                with torch._C.DisableTorchFunctionSubclass():
                    return function(*args, **kwargs)
        elif name in _asked and isinstance(args[0] if args else None, tables.Tiered):
            table, *rest = args
            out = kwargs.pop("out", None)
            rows = getattr(table, name)(*rest, **kwargs)
            if out is None:
                return rows
            if tuple(out.shape) != tuple(rows.shape):
                out.resize_(rows.shape)
            return out.copy_(rows)
        elif name in _constants:
            return _constants[name]
        cls._refuse(f"torch's {name}")

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        cls._refuse(f"torch's {function}")


# From torch.Tensor: attributes that say what a tensor is, operations that Tiered has, and what is always so.
_facts = {"requires_grad", "is_leaf", "is_sparse", "is_sparse_csr", "is_cuda", "is_cpu", "is_meta", "is_nested", "is_quantized", "is_mkldnn", "is_mps",
          "is_xpu", "is_xla", "is_vulkan", "is_ipu", "is_maia", "is_ort", "layout", "itemsize", "names", "grad", "grad_fn", "_backward_hooks"}
_asked = {"index_select", "masked_select", "narrow", "numel", "is_floating_point", "is_complex"}
_constants = {"is_contiguous": True, "is_pinned": False, "is_shared": False, "is_inference": False}


class _NoStorage:
    """The storage of a table: its rows are in no storage of torch's, but new ones can be made of its kind."""

    def __init__(self, table: TieredTensor) -> None:
        self._table = table

    _new_shared = staticmethod(torch.UntypedStorage._new_shared)

    def __getattr__(self, name: str) -> Any:
        self._table._refuse(f"untyped_storage().{name}")


def known(kind: str) -> torch.dtype | None:
    """The dtype of torch that has this name, or None."""
    found = getattr(torch, kind, None)
    return found if isinstance(found, torch.dtype) else None


from .layers import Embedding as Embedding, aggregate as aggregate, load_model as load_model  # noqa: E402  (they use what stands above)
from .ranks import Ranks as Ranks, ranks as ranks  # noqa: E402
from .remote import RemoteRows as RemoteRows, remote_rows as remote_rows  # noqa: E402
from .shards import Shard as Shard, shard as shard  # noqa: E402
from .split import RemoteGraph as RemoteGraph, remote_graph as remote_graph  # noqa: E402

__all__ = ["Embedding", "HeteroMiniBatch", "Loader", "MiniBatch", "Ranks", "RemoteGraph", "RemoteRows", "Shard", "TieredTensor", "aggregate", "load_model", "loader", "ranks", "remote_graph",
           "remote_rows", "shard", "unified"]
