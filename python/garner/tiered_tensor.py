"""A Tiered that is a torch.Tensor too. Needs torch."""
from __future__ import annotations

from typing import Any

import torch

from . import _garner
from .arrays import of_torch
from .tables import Tiered, refuse


class TieredTensor(Tiered[Any], torch.Tensor):  # type: ignore[misc, override]
    """A Tiered that is a torch.Tensor too, without memory of a tensor's: what Tiered answers it answers, and every other operation of torch is
    an error. So what asks isinstance(x, torch.Tensor), as PyG does, sees its rows."""

    @staticmethod
    def __new__(cls: Any, table: _garner.Table, source: Any, made: dict[str, Any], kind: torch.dtype) -> Any:
        device = torch.device("cpu" if table.device_index < 0 or not torch.cuda.is_available() else f"cuda:{table.device_index}")
        return torch.Tensor._make_wrapper_subclass(cls, table.shape, dtype=kind, device=device)

    def __init__(self, table: _garner.Table, source: Any, made: dict[str, Any], kind: torch.dtype) -> None:
        Tiered.__init__(self, table, source, made)

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
        found: torch.dtype = of_torch().row_type(self._table.kind)
        return found

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
        elif name in _asked and isinstance(args[0] if args else None, Tiered):
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
        refuse(f"torch's {name}")

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        refuse(f"torch's {function}")


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
        refuse(f"untyped_storage().{name}")
