"""Models over graphs: garner.train and garner.Training train one, garner.read_model reads one, garner.predict runs one."""
from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _checks, _garner
from ._arguments import has_old_names, spoken, takes_old_names
from ._garner import Graph, Model
from .errors import KindError, UsageError
from .tables import Tiered, place_of


def _host(array: Any, name: str) -> Any:
    """An array, or the file of one."""
    return _checks.host(np.load(array) if isinstance(array, (str, os.PathLike)) else array, name)


def _labels(labels: Any) -> Any:
    found = _host(labels, "labels")
    if found.ndim == 2 and found.shape[1] == 1 and found.dtype.kind in "iu":
        found = found[:, 0]
    if found.ndim == 1:
        if found.dtype.kind == "f":
            found = np.where(np.isnan(found), -1, found)
            if not np.array_equal(found, np.floor(found)):
                raise UsageError("labels: have a fraction; give a class per node, or a row of 0 and 1")
        elif found.dtype.kind not in "iub":
            raise UsageError(f"labels: of {found.dtype}; give a class per node, or a row of 0 and 1")
        return np.ascontiguousarray(found, np.int64)
    if found.ndim != 2 or not np.isin(found, (0, 1)).all():
        raise UsageError(f"labels: of shape {found.shape} and {found.dtype}; give a class per node, or a row of 0 and 1")
    return np.ascontiguousarray(found, np.uint8)


def _split(split: Any, vertices: int) -> Any:
    if isinstance(split, dict):  # masks or positions by name
        found = np.zeros(vertices, np.uint8)
        for name, vertices_of in split.items():
            if name not in ("train", "validation", "test"):
                raise UsageError(f"split: '{name}': use train, validation and test")
            _, ids = _checks.masked(_host(vertices_of, f"split['{name}']"), f"split['{name}']", vertices)
            _checks.within(ids, vertices, f"split['{name}']:")
            if (twice := ids[found[ids] > 0]).size:
                raise UsageError(f"split: node {int(twice[0])} is in '{name}' and in another part; put each node in one part")
            found[ids] = ("train", "validation", "test").index(name) + 1
        return found
    found = _host(split, "split")
    if found.ndim != 1 or found.dtype.kind not in "iu" or found.size and not 0 <= int(found.min()) <= int(found.max()) <= 3:
        raise UsageError("split is not a number from 0 to 3 per node; give 1 for train, 2 validation, 3 test, 0 none, or a dict of masks")
    return np.ascontiguousarray(found, np.uint8)


@has_old_names
class Training:
    """A model that is being trained; iterating goes through the epochs that are left, a dict each.

        run = garner.Training(g, features, labels, split, fanouts=[15, 10], epochs=20)
        for epoch in run:
            print(epoch["epoch"], epoch["loss"], epoch["exact"]["validation"]["accuracy"])
        run.load_best()
        run.model.save("model.safetensors")

    graph, features (an array or garner.tiered), labels, split, callback, callback_every, options: as garner.train.
    """

    @takes_old_names
    def __init__(self, graph: Graph, features: Any, labels: Any, split: Any, *, model: str = "sage", fanouts: Any = (15, 10),
                 num_layers: int | None = None, device: Any = None, devices: Any = None, callback: Callable[[dict[str, float]], Any] | None = None,
                 callback_every: int | None = None, **options: Any) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"train(): graph={_checks.told(graph)} is not a Graph; make one with garner.build, open, read or generate")
        hops = [] if fanouts is None else _checks.fanouts(fanouts)
        if fanouts is not None and not hops:
            raise UsageError("fanouts is []; give a number per layer, as [15, 10], or None for the whole graph")
        if hops and num_layers is not None and num_layers != len(hops):
            raise UsageError(f"num_layers={num_layers} and {len(hops)} fanouts; use a fanout for each layer")
        if devices is not None:
            if device is not None or not isinstance(devices, (list, tuple)) or not devices:
                raise UsageError(f"devices={_checks.told(devices)}" + (f" and device={_checks.told(device)}; set one of them" if device is not None else
                                                                          "; give a list, as [0, 1]"))
            device, options["devices"] = devices[0], list(devices)
        if device is None:
            device = place_of(features) if isinstance(features, Tiered) else "cuda:0" if _garner.info()["devices"] else "cpu"
        if not str(device).startswith(("host", "cpu", "simulated")):
            graph.to(device)  # no change where it can be read there
        if callback is not None and not callable(callback):
            raise KindError(f"callback={_checks.told(callback)}: give a function that takes a dict, as wandb.log")
        self._every = None if callback_every is None else _checks.number(callback_every, "callback_every")
        if self._every is not None and (callback is None or self._every < 1):
            raise UsageError(f"callback_every={self._every}" + (": use steps, 1 or more" if callback else " and no callback; set callback="))
        self.epochs: list[dict[str, Any]] = []
        self._callback, self._lr, self._begun = callback, float(options.get("lr", 0.01)), False
        known, parts = _labels(labels), _split(split, len(graph))
        self._nodes = int(((known >= 0 if known.ndim == 1 else True) & (parts == 1)).sum())
        self._run = _garner.TrainingRun(graph, features, known, parts, model=model, fanouts=hops,
                                        num_layers=len(hops) if hops else 2 if num_layers is None else num_layers, device=device, **options)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while not self._run.finished:
            rest, self._begun = self._begun, True
            while self._callback is not None and self._every is not None and (steps := self._run.next_steps(self._every)) is not None:
                self._callback({**steps, "lr": self._lr})
            self.epochs.append(self._run.next())
            self._begun = False
            if self._callback is not None:
                self._callback(self._figures(self.epochs[-1], rest))
            yield self.epochs[-1]

    def _figures(self, epoch: dict[str, Any], rest: bool) -> dict[str, float]:
        """Numbers by name, as tools that draw them take. rest: of an epoch that was interrupted, whose seconds are not of all its nodes."""
        seconds = epoch["ms"] / 1000
        found = {"epoch": epoch["epoch"], "step": self._run.steps, "loss": epoch["loss"], "accuracy": epoch["accuracy"], "lr": self._lr, "seconds": seconds}
        if not rest and seconds > 0:
            found["nodes_per_second"] = self._nodes / seconds
        for part, values in (epoch["exact"] or {}).items():
            found.update({f"{part}_{name}": values[name] for name in ("accuracy", "loss") if isinstance(values, dict) and values["nodes"]})
        load = epoch["load"]
        if load["batches"]:
            found.update({"sampled_nodes": load["nodes"], "sampled_edges": load["edges"], "remote_bytes": load["remote_bytes"],
                          "waited_seconds": load["caller_waited_ms"] / 1000})
        return found

    @property
    def model(self) -> Model:
        """the model itself, as it is now"""
        return self._run.model

    @property
    def devices(self) -> list[str]:
        """those that train: the first alone where that is faster than all of devices="""
        return self._run.devices

    @property
    def activations(self) -> str:
        """where they stay until the backward pass: 'device', 'host' memory or a 'file', by activations= or since memory is too small; of whole graphs"""
        return self._run.activations

    @property
    def best_epoch(self) -> int | None:
        """the epoch with the best validation; None: no validation yet"""
        return self._run.best_epoch

    @property
    def finished(self) -> bool:
        """by patience, or by its epochs"""
        return self._run.finished

    def evaluate(self) -> dict[str, Any]:
        """Exact: 'train', 'validation' and 'test' with 'nodes', 'accuracy', 'loss' and 'auc' each, from all neighbors instead of sampled ones."""
        return self._run.evaluate()

    def load_best(self) -> None:
        """From here on the model is that of the best epoch."""
        self._run.load_best()

    def save_checkpoint(self, file: str | os.PathLike[str]) -> None:
        """Writes a checkpoint: everything that decides the epochs that are left."""
        self._run.save_checkpoint(file)

    def load_checkpoint(self, file: str | os.PathLike[str]) -> None:
        """Goes on from a checkpoint of the same graph, model and options, bit for bit."""
        self._run.load_checkpoint(file)
        self._begun = True  # perhaps: a checkpoint may be of the middle of an epoch


def train(graph: Graph, features: Any, labels: Any, split: Any, **options: Any) -> Training:
    """A model, trained by mini-batches or on the whole graph, and evaluated exactly; what `garner train` does.

        run = garner.train(g, features, labels, split, model="sage", fanouts=[15, 10], epochs=20)
        print(run.evaluate()["test"]["accuracy"])
        scores = garner.predict(run.model, g, features)

    features: one row of float32 a node, in the order of graph.ids(): an array, a tensor, a table of garner.tiered. labels: a class per node,
    below 0 for none; or a row of 0 and 1. split: a number per node (1 train, 2 validation, 3 test, 0 none), or {"train": mask, "validation": ...}.
    model: 'gcn', 'sage', 'gin'. fanouts: neighbors to sample per node, for each layer; None: the whole graph at every step, with num_layers (2). epochs:
    by default until the validation loss has not fallen for 50 steps and 10 epochs, 1,000 steps and 100 epochs at the most; without a validation
    part 200 steps and 10 epochs.
    options: hidden_channels 64, batch_size 1024, lr 0.01, weight_decay, dropout, input_dropout, norm 'automatic', 'none' or 'layer', residual, scaling
    'automatic', 'none', 'sum' or 'length', num_classes, weighted, side 'in', seed 1, evaluate_every 1, patience, cuda_graph True, math 'tf32', activations 'automatic' (of one device), 'device', 'host' or 'file', scratch: a folder for that file, device,
    prefetch, window, strategy, window_bytes, cache, multiprocessors: as the program's `train` has them
    (docs/reference/options.md).
    devices: several in place of device, as [0, 1] (0 is 'cuda:0') or ["cpu", "cpu"]: each trains on a part of the whole graph (fanouts=None), as
    `garner train --full --devices 0,1`. Any number of them gives the same bits, [0] too, which device=0 gives within rounding; where one GPU is
    faster than all, it trains alone, and .devices names it alone. deterministic=False: sums are in the order that is fastest. timeout: seconds (300)
    without a sign after which a device hangs: the call ends with DeviceError, which names it, and a new process has to begin anew.
    callback: f(dict) after each epoch, as wandb.log; of TensorBoard: lambda d: [writer.add_scalar(k, v, d["step"]) for k, v in d.items()]. The dict has numbers:
    'epoch', 'step', 'loss', 'accuracy', 'lr', 'seconds', 'nodes_per_second' (training nodes); where it was evaluated 'validation_accuracy',
    'validation_loss' and so on; of mini-batches 'sampled_nodes', 'sampled_edges', 'remote_bytes', 'waited_seconds'. What it raises, KeyboardInterrupt too,
    ends the training and is raised.
    callback_every: of mini-batches: it gets a dict after so many steps of an epoch too: 'epoch', 'step', 'loss' and 'accuracy' of these steps, 'lr'
    Result: Training: .epochs has the figures of each epoch, .model is that of the best one, .evaluate() measures it.
    Errors: InputError for what cannot be trained on, UsageError, OutOfMemory, DeviceError, Interrupted. An error or KeyboardInterrupt after the start
    has the Training as .run: its save_checkpoint() keeps what there is, iterating goes on.
    """
    run = Training(graph, features, labels, split, **options)
    try:
        for _ in run:
            pass
    except BaseException as e:
        with contextlib.suppress(AttributeError, TypeError):  # an error with slots
            setattr(e, "run", run)
        raise
    run.load_best()
    return run


def read_model(file: str | os.PathLike[str], device: Any = "cpu") -> Model:
    """A model file of `garner train -o` or Model.save: .options, .tensors() as NumPy arrays. device: runs predict().
    Errors: InputError for a file of another kind, or a damaged one."""
    return _garner._read_model(file, device)


def predict(model: Model | str | os.PathLike[str], graph: Graph, features: Any, *, side: str = "in", weighted: bool = False,
            math: str = "tf32") -> npt.NDArray[np.float32]:
    """The scores of every node by a model, from all its neighbors: a row of classes each, in the order of graph.ids().

    model: of train() or read_model(), or its file, which is then used where a table of garner.tiered gathers, else on the CPU.
    side, weighted: as it was trained. Errors: InputError where rows and model do not go together.
    """
    if not isinstance(model, Model):
        model = read_model(model, place_of(features) if isinstance(features, Tiered) else "cpu")
    if not model.device.startswith(("cpu", "simulated")):
        graph.to(model.device)
    scores: npt.NDArray[np.float32] = spoken(_garner._predict, "predict")(model, graph, features, side, weighted, math)
    return scores
