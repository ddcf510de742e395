"""Whether Garner works on this machine: the library's checks, and those of torch and PyG."""
from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
import warnings
from dataclasses import dataclass
from typing import Any

from . import _garner


@dataclass(frozen=True)
class DoctorCheck:
    """One line of a report. advice: what helps; None where all is well."""

    name: str
    found: str
    advice: str | None


@dataclass(frozen=True)
class Doctor:
    """What garner.doctor() found. usable: False where a GPU is there and cannot be used, or a self-test failed. str() is the text of all checks."""

    usable: bool
    checks: tuple[DoctorCheck, ...]
    text: str

    def __str__(self) -> str:
        return self.text.rstrip("\n")


def doctor(device: Any = None) -> Doctor:
    """Whether Garner works on this machine, and what helps where it does not.

        print(garner.doctor())

    It looks at the driver, each GPU and whether this build has code for it, limits of pinned and shared memory, io_uring, cuBLAS, NCCL, torch and
    PyG. A self-test gathers rows and runs BFS on each GPU (on the CPU of a machine that lacks one) and compares, and the link to each GPU is measured.
    device: whose self-test runs: 0, 'cuda:1', 'cpu', 'simulated'; None: that of every GPU. Imports torch where it is installed.
    Result: Doctor. A fault is a line of the report, not an exception. Begins CUDA, as garner.info() does.
    """
    usable, checks, text = _garner._examine_machine(device, [_torch(), _pyg()])
    return Doctor(usable, tuple(DoctorCheck(name, found, advice or None) for name, found, advice in checks), text)


def _torch() -> tuple[str, str, str]:
    if importlib.util.find_spec("torch") is None:
        return "torch", "not installed", ""
    try:
        import torch
        found = f"{torch.__version__}, " + (f"CUDA {torch.version.cuda}" if torch.version.cuda else "for the CPU alone")
        sees = torch.cuda.is_available()
    except Exception as e:  # torch's own libraries may be missing: the report goes on
        return "torch", f"cannot be imported: {e}", "install torch again"
    there = bool(_garner.info()["devices"])
    advice = "install torch for CUDA: it does not see the GPU that Garner sees" if there and not sees else ""
    return "torch", f"{found}, {'sees a GPU' if sees else 'sees no GPU'}", advice


def _pyg() -> tuple[str, str, str]:
    try:
        return "PyG", importlib.metadata.version("torch_geometric"), ""
    except importlib.metadata.PackageNotFoundError:
        return "PyG", "not installed", ""


def warn_of_gpu() -> None:
    """Once for an import: a GPU is there, and this build or the driver cannot use it. Not in the children of multiprocessing, whose parent has warned."""
    processes = sys.modules.get("multiprocessing.process")
    if processes is None or processes.parent_process() is None:
        if why := _garner._why_gpu_unusable():
            warnings.warn(f"garner: {why} (garner.doctor() says more)", RuntimeWarning, stacklevel=3)
