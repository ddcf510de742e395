"""Graphs and feature tables larger than the memory of the GPU.

    import garner
    g = garner.build(source, target)          # arrays of NumPy, torch, anything with DLPack; or garner.open("kron26.gnr")
    depth = garner.bfs(g, 17).depth           # depth[k] is that of node g.ids()[k]

    features = garner.tiered(features, feature_cache="8GiB")
    rows = features[ids]                      # a torch tensor on the device of ids, else a NumPy array

garner.info() has version, GPU support and devices; print(garner.doctor()) reports what works here, and what helps where it does not.
Errors are garner.Error; docs/reference/python.md lists the modules.
"""
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from .errors import *  # noqa: F401,F403
from ._garner import *  # noqa: F401,F403  (what it holds stands in _garner.pyi)
from . import _garner
from ._arguments import renamed_here as _renamed_here, speak as _speak, warn_of as _warn_of
from .checkup import Doctor as Doctor, DoctorCheck as DoctorCheck, doctor as doctor, warn_of_gpu as _warn_of_gpu
from .edges import convert as convert, read_edges as read_edges
from .graphs import build as build, random_walk as random_walk
from .making import put_rows as put_rows, tiered as tiered, unified as unified
from .models import Training as Training, predict as predict, read_model as read_model, train as train
from .names import read_names as read_names
from .results import table as table
from .rows import Embedding as Embedding, embedding as embedding
from .sharing import shared as shared
from .tables import Tiered as Tiered, TierRows as TierRows

__version__: str = _garner._version()
_speak(_garner, globals())
_warn_of_gpu()


if _TYPE_CHECKING:
    from . import pyg as pyg, torch as torch
    from .inference import infer as infer


def _later(name: str) -> _Any:
    """garner.torch, garner.pyg and infer at their first use, since torch takes seconds to import; and what has another name by now."""
    if name in _renamed_here:
        _warn_of(f"garner.{name}", f"garner.{_renamed_here[name]}")
        return globals()[_renamed_here[name]]
    if name == "infer":
        from ._checks import installed

        installed("garner.infer", "torch")
        from .inference import infer

        return infer
    if name not in ("torch", "pyg"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module("." + name, __name__)


if not _TYPE_CHECKING:  # which else takes every name for one that is there
    __getattr__ = _later
