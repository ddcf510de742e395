"""Models: trained, read and applied from Python, on several devices too; compared with PyG for the same parameters."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

import numpy as np

import garner

try:
    import torch
    import garner.torch
    import torch_geometric.nn
except ImportError:
    torch = None

tools = pathlib.Path(__file__).resolve().parents[2] / "tools"


def problem(directed=False):
    """A graph of three communities, whose features show them with noise."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 3, 300)
    source, target = rng.integers(0, 300, (2, 9000))
    same = labels[source] == labels[target]
    keep = same | (rng.random(9000) < 0.05)
    g = garner.build(source[keep], target[keep], undirected=not directed, in_edges=directed, num_nodes=300)
    features = (np.eye(3)[labels] @ rng.random((3, 12)) + rng.standard_normal((300, 12))).astype("float32")
    split = rng.choice([1, 2, 3], 300).astype("uint8")
    return g, features, labels, split


class Models(unittest.TestCase):
    def test_trains_by_mini_batches_and_on_the_whole(self):
        g, features, labels, split = problem()
        for kind, fanouts in (("sage", [6, 4]), ("gcn", None), ("gin", [5, 5])):
            run = garner.train(g, features, labels, split, model=kind, fanouts=fanouts, epochs=15, hidden_channels=16, batch_size=40, device="cpu", dropout=0.2,
                               norm="none")
            self.assertEqual([e["epoch"] for e in run.epochs], list(range(1, 16)))
            self.assertLess(run.epochs[-1]["loss"], run.epochs[0]["loss"])
            found = run.evaluate()
            self.assertGreater(found["test"]["accuracy"], 0.5 if kind == "gin" else 0.8, kind)
            self.assertEqual(found["validation"], run.epochs[run.best_epoch - 1]["exact"]["validation"])
            self.assertEqual((run.model.options["kind"], run.model.options["num_classes"], run.model.options["inputs"]), (kind, 3, 12))
            scores = garner.predict(run.model, g, features)
            self.assertEqual((scores.shape, scores.dtype), ((300, 3), np.float32))
            of_test = split == 3
            self.assertAlmostEqual((scores.argmax(1) == labels)[of_test].mean(), found["test"]["accuracy"], places=6)
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, "m.safetensors")
                run.model.save(file)
                again = garner.read_model(file)
                self.assertEqual(again.options, run.model.options)
                for name, values in run.model.tensors().items():
                    self.assertTrue(np.array_equal(again.tensors()[name], values))
                self.assertTrue(np.array_equal(garner.predict(file, g, features), scores))

    def test_iterates_keeps_and_goes_on(self):
        g, features, labels, split = problem()
        how = dict(fanouts=[4, 4], hidden_channels=8, batch_size=50, device="cpu", epochs=6)
        whole = garner.Training(g, features, labels, split, **how)
        losses = [e["loss"] for e in whole]
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "c.safetensors")
            run = garner.Training(g, features, labels, split, **how)
            for epoch in run:
                if epoch["epoch"] == 3:
                    break
            run.save_checkpoint(file)
            again = garner.Training(g, features, labels, split, **how)
            again.load_checkpoint(file)
            self.assertEqual([e["loss"] for e in again], losses[3:])
        for name, values in whole.model.tensors().items():
            self.assertTrue(np.array_equal(again.model.tensors()[name], values))

    def test_steps_of_the_whole_graph_may_be_recorded(self):
        g, features, labels, split = problem()
        told = [garner.train(g, features, labels, split, fanouts=None, hidden_channels=8, epochs=4, device="cpu", cuda_graph=how).epochs for how in (True, False)]
        self.assertEqual([epoch["loss"] for epoch in told[0]], [epoch["loss"] for epoch in told[1]])
        self.assertEqual((told[0][-1]["captured"], told[0][-1]["not_captured"]), (0, None))  # of no device

    def test_splits_and_labels_in_other_forms(self):
        g, features, labels, split = problem()
        how = dict(fanouts=[4, 4], hidden_channels=8, device="cpu", epochs=2)
        want = garner.train(g, features, labels, split, **how).epochs[-1]["loss"]
        masks = {name: split == k + 1 for k, name in enumerate(("train", "validation", "test"))}
        self.assertEqual(garner.train(g, features, labels.astype("float32"), masks, **how).epochs[-1]["loss"], want)
        answers = garner.train(g, features, np.eye(3, dtype=bool)[labels], split, **how)
        self.assertEqual(answers.model.options["labels"], "multi_label")
        table = garner.tiered(features, device="simulated", feature_cache="4KiB")
        self.assertEqual(garner.train(g, table, labels, split, fanouts=[4, 4], hidden_channels=8, epochs=2).epochs[-1]["steps"], 1)

    def test_what_is_wrong_is_said(self):
        g, features, labels, split = problem()
        for wrong, text in ((dict(model="gat"), "gat"), (dict(norm="batch"), "use none, layer or automatic"), (dict(fanouts=[3], num_layers=2), "a fanout for each layer"),
                            (dict(side="both"), "use in"), (dict(learning_rate=1), "learning_rate")):
            with self.assertRaisesRegex((garner.UsageError, TypeError), text):
                garner.train(g, features, labels, split, **{"device": "host", **wrong})
        with self.assertRaisesRegex(garner.UsageError, "0 or more|a number from 0 to 3 per node"):
            garner.train(g, features, labels, split + 9, device="cpu")
        with self.assertRaisesRegex(garner.InputError, "299|300"):
            garner.train(g, features[:299], labels, split, device="cpu")
        with self.assertRaises(garner.InputError):
            with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
                garner.read_model(file.name)

    def test_ends_by_itself_and_has_the_defaults_of_the_program(self):
        g, features, labels, split = problem()
        run = garner.train(g, features, labels, split, fanouts=None, hidden_channels=16, lr=0.05, device="cpu")
        self.assertTrue(run.finished)
        self.assertEqual(len(run.epochs), run.best_epoch + 50)
        self.assertEqual(run.evaluate()["validation"], run.epochs[run.best_epoch - 1]["exact"]["validation"])
        for how, epochs in ((dict(epochs=3), 3), (dict(split=np.where(split == 2, 0, split)), 200), (dict(epochs=90, patience=1, lr=0.3), None)):
            found = garner.train(g, features, labels, fanouts=None, hidden_channels=4, device="cpu", **{"split": split, **how}).epochs
            self.assertTrue(len(found) == epochs if epochs else len(found) < 90, how)
        many = garner.build(np.arange(1200), np.roll(np.arange(1200), 1), num_nodes=1200, undirected=True)
        for n in (999, 1000):
            some = np.where(np.arange(1200) < n, 1, 2).astype("uint8")
            options = garner.Training(many, np.ones((1200, 3), "f4"), np.arange(1200) % 2, some, fanouts=None, device="cpu").model.options
            self.assertEqual((options["layer_norm"], options["residual"]), (n == 1000, n == 1000))

    @unittest.skipIf(torch is None, "needs torch and PyG")
    def test_as_pyg_says(self):
        kinds = {"sage": torch_geometric.nn.GraphSAGE, "gcn": torch_geometric.nn.GCN, "gin": torch_geometric.nn.GIN}
        for directed in (False, True):
            g, features, labels, split = problem(directed)
            for kind, make in kinds.items():
                for layers in (2, 3):
                    run = garner.train(g, features, labels, split, model=kind, fanouts=None, num_layers=layers, epochs=4, hidden_channels=16, scaling="none", norm="none",
                                       device="cpu")
                    with tempfile.TemporaryDirectory() as folder:
                        file = os.path.join(folder, "m.safetensors")
                        run.model.save(file)
                        model = make(in_channels=12, hidden_channels=16, num_layers=layers, out_channels=3).eval()
                        model.load_state_dict(garner.torch.load_model(file), strict=True)
                    edges = self.edges_of(g)
                    with torch.no_grad():
                        want = model(torch.from_numpy(features), edges).numpy()
                    found = garner.predict(run.model, g, features)
                    self.assertLess(np.abs(found - want).max(), 1e-4 * max(1, np.abs(want).max()), (kind, directed, layers))

    @staticmethod
    def edges_of(g):
        batch = garner.BlockSampler(g, [-1], device="cpu").sample(np.arange(len(g)), 0)
        ids = torch.from_numpy(np.array(batch.of_type(0).ids))
        return ids[torch.from_numpy(np.array(batch.of_relation(0).edge_index))]


# Makes a thread of a device hang as a faulty GPU does: a signal is sent to that thread alone, whose handler waits for ever.
hanging = """
    import ctypes, glob, os, signal, sys, threading, time
    import garner
    sys.modules["torch"] = None  # its import takes seconds, and problem() does without
    from models_test import problem
    del sys.modules["torch"]
    libc = ctypes.CDLL(None)
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    libc.signal(signal.SIGUSR1, ctypes.cast(libc.pause, ctypes.c_void_p))

    def threads():  # of device 1: whether they hang, which is when the signal is blocked, as in its handler
        found = {}
        for thread in glob.glob("/proc/self/task/*"):
            try:
                if open(f"{thread}/comm").read() == "garner-device-1\\n":
                    blocked = next(line for line in open(f"{thread}/status") if line.startswith("SigBlk"))
                    found[int(thread.split("/")[-1])] = bool(int(blocked.split()[1], 16) >> signal.SIGUSR1 - 1 & 1)
            except OSError:  # it has ended
                pass
        return found

    def hang():  # until a call stands still: a thread may have been at its end, and then the next call has one that works
        still = done = 0
        while still < 10:
            found = threads()
            for thread in (thread for thread, hangs in found.items() if not hangs):
                libc.tgkill(os.getpid(), thread, signal.SIGUSR1)
            done, before = len(run.epochs), done
            still = still + 1 if found and all(found.values()) and done == before else 0
            time.sleep(0.1)

    run = garner.Training(*problem(), fanouts=None, hidden_channels=512, epochs=10**6, patience=10**6, devices=["cpu", "cpu"], timeout=TIMEOUT)
    epochs = iter(run)
    next(epochs)
    begun = time.monotonic()
"""


class SeveralDevices(unittest.TestCase):
    how = dict(fanouts=None, hidden_channels=16, epochs=4)

    def test_any_number_of_devices_gives_the_same_bits(self):
        for directed in (False, True):
            given = problem(directed)
            alone = garner.train(*given, device="cpu", **self.how)
            want = garner.train(*given, devices=["cpu"], **self.how)
            self.assertEqual((len(want.epochs), want.devices, alone.devices), (4, ["cpu"], ["cpu"]))
            self.assertEqual(garner.train(*given, devices=["cpu"] * 3, **self.how).devices, ["cpu"] * 3)
            for devices in (["cpu"] * 2, ["cpu"] * 3, ["simulated"] * 2, ["simulated:0", "simulated:1"]):
                found = garner.train(*given, devices=devices, **self.how)
                self.assertEqual([e["loss"] for e in found.epochs], [e["loss"] for e in want.epochs], devices)
                self.assertEqual([e["exact"]["validation"] for e in found.epochs], [e["exact"]["validation"] for e in want.epochs], devices)
                self.assertEqual(found.best_epoch, want.best_epoch)
                for name, values in want.model.tensors().items():
                    self.assertTrue(np.array_equal(found.model.tensors()[name], values), (devices, name))
            for where in (dict(device="cpu"), dict(device="simulated"), dict(devices=["cpu", "cpu"])):
                found = garner.train(*given, activations="host", **where, **self.how)
                self.assertEqual([e["loss"] for e in found.epochs], [e["loss"] for e in want.epochs], where)
                self.assertEqual((found.activations, want.activations, alone.activations), ("host", "device", "device"))
                with tempfile.TemporaryDirectory() as folder:
                    found = garner.train(*given, activations="file", scratch=pathlib.Path(folder), **where, **self.how)
                self.assertEqual([e["loss"] for e in found.epochs], [e["loss"] for e in want.epochs], where)
                self.assertEqual(found.activations, "file")
            with self.assertRaisesRegex(garner.UsageError, "set scratch to one on a disk with room"):
                garner.train(*given, activations="file", **self.how)
            with self.assertRaisesRegex(garner.UsageError, "scratch= with devices=: activations go there with activations='file'"):
                garner.train(*given, devices=["cpu"], scratch="/tmp", **self.how)
            with self.assertRaisesRegex(garner.UsageError, "scratch /none: is not a folder"):
                garner.train(*given, scratch="/none", **self.how)
            # One device without parts, and parts that add in another order, agree within rounding.
            for found in (alone, garner.train(*given, devices=["cpu", "cpu"], deterministic=False, **self.how)):
                np.testing.assert_allclose([e["loss"] for e in found.epochs], [e["loss"] for e in want.epochs], rtol=1e-5)
                np.testing.assert_allclose(found.evaluate()["test"]["loss"], want.evaluate()["test"]["loss"], rtol=1e-4)

    def test_goes_on_from_a_checkpoint(self):
        given, how = problem(), {**self.how, "devices": ["cpu", "cpu"]}
        losses = [e["loss"] for e in garner.Training(*given, **how)]
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "c.safetensors")
            run = garner.Training(*given, **how)
            for epoch in run:
                if epoch["epoch"] == 2:
                    break
            run.save_checkpoint(file)
            again = garner.Training(*given, **how)
            again.load_checkpoint(file)
            self.assertEqual([e["loss"] for e in again], losses[2:])

    def test_devices_that_cannot_be(self):
        given = problem()
        for devices, more, kind, words in (
                ([], {}, garner.UsageError, r"devices=\[\]; give a list, as \[0, 1\]"), ("cpu", {}, garner.UsageError, "give a list"),
                (["cpu"], dict(device="cpu"), garner.UsageError, "set one of them"), (["cpu", "cpu"], dict(fanouts=[3, 3]), garner.UsageError, "fanouts=None"),
                (["cpu", "simulated"], {}, garner.UsageError, "cpu and simulated; give devices of one kind"),
                (["cpu", 5], {}, garner.UsageError, "cpu and cuda:5; give devices of one kind"), (["cuda:98", "cuda:99"], {}, garner.DeviceError, "98|no GPU support"),
                (["cpu", -1], {}, garner.UsageError, "count from 0"), (["cpu", True], {}, garner.UsageError, "device is 'True'"),
                (["cpu", "gpu"], {}, garner.UsageError, "device is 'gpu'"), (["cpu"] * 17, {}, garner.UsageError, "1 to 16"),
                (["cpu", "cpu"], dict(timeout=0), garner.UsageError, "more than 0"), (["cpu", "cpu"], dict(timeout=float("nan")), garner.UsageError, "more than 0")):
            with self.assertRaisesRegex(kind, words):
                garner.train(*given, devices=devices, **{**self.how, **more})

    def test_what_fails_on_one_device_ends_all(self):
        """The first alone writes a checkpoint; the other waits for it. The error is that of the one, and not that of the one that waits."""
        run = garner.Training(*problem(), devices=["cpu", "cpu"], **self.how)
        begun = time.monotonic()
        with self.assertRaisesRegex(garner.FileError, r"^cpu \(rank 0 of 2\): /nowhere/at/all"):
            run.save_checkpoint("/nowhere/at/all")
        with self.assertRaisesRegex(garner.Error, "rank 0 of 2 has stopped: .*/nowhere/at/all"):
            next(iter(run))
        self.assertLess(time.monotonic() - begun, 60)

    def run_hanging(self, timeout, rest):
        program = textwrap.dedent(hanging).replace("TIMEOUT", str(timeout)) + textwrap.dedent(rest)
        program += "\nsys.stdout.flush()\nos._exit(0)"  # a thread that hangs in a loop of all threads would keep the process from ending
        # The limit is for a call that waits for ever: one that ends does so after `timeout`, or 10 seconds, and what the machine takes for the rest.
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=pathlib.Path(__file__).parent)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def test_a_device_that_hangs_is_named_in_time(self):
        said = self.run_hanging(8, """
            hanger = threading.Thread(target=hang, daemon=True)
            hanger.start()
            for call in (lambda: [1 for _ in epochs], run.evaluate, lambda: run.save_checkpoint("/nowhere")):
                try:
                    call()
                except garner.DeviceError as error:
                    print(error)
            assert time.monotonic() - begun > 8
            hanger.join()
            del run, epochs, call
            print("goes on")
        """).splitlines()
        self.assertEqual(len(said), 4, said)
        self.assertRegex(said[0], r"cpu \(rank 1 of 2\): no sign for 8 seconds.*without that device or with a longer timeout=")
        self.assertEqual((said[1], said[2], said[3]), (said[0], said[0], "goes on"))

    def test_ctrl_c_does_not_wait_for_a_device_that_hangs(self):
        """With timeout=300, of which the limit of the process leaves no time."""
        said = self.run_hanging(300, """
            def interrupt():
                hang()
                os.kill(os.getpid(), signal.SIGINT)

            threading.Thread(target=interrupt, daemon=True).start()
            try:
                for _ in epochs:
                    pass
            except KeyboardInterrupt as error:
                print(error)
        """)
        self.assertRegex(said, r"interrupted; cpu \(rank .* did not stop")

    def test_ctrl_c_ends_all_threads_and_training_goes_on(self):
        given = problem()
        run = garner.Training(*given, devices=["cpu", "cpu"], fanouts=None, hidden_channels=16, epochs=10**6, patience=10**6)
        next(iter(run))
        there = set(self.threads())  # what the library starts for later work goes on
        threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            for _ in run:
                pass
        deadline = time.monotonic() + 10
        while set(self.threads()) - there and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(set(self.threads()) - there, set())
        done = len(run.epochs)
        self.assertIn(next(iter(run))["epoch"], (done + 1, done + 2))  # the second where Ctrl-C came at the end of an epoch

    @unittest.skipIf(torch is None, "needs torch")
    @unittest.skipUnless((tools / "prove_user").exists(), "needs the folder of tools")
    def test_proof_of_two_devices_rehearsed(self):
        for planted in ({}, {"PLANT": "1"}):
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([sys.executable, tools / "prove_user", "-", folder, "devices"], capture_output=True, text=True, timeout=200,
                                      env={**os.environ, "SCALE": "8", "DEVICES": "cpu cpu", "CUDA_VISIBLE_DEVICES": "", **planted})
                found = json.loads(pathlib.Path(folder, "user-path.json").read_text())
            self.assertEqual((done.returncode, found["wrong"], found["failed"]), (len(planted), len(planted), []), done.stdout + done.stderr)
            self.assertEqual([(row["script"], row["trained_by"], row["losses_compared"]) for row in found["rows"]],
                             [("devices, first, in parts", ["cpu"], 6), ("devices, first", ["cpu"], 6), ("devices, all", ["cpu", "cpu"], 6)])
            self.assertGreater(min(row["ms"] for row in found["rows"]), 0)
            self.assertEqual(found["rows"][2]["rival_ms"], found["rows"][1]["ms"])

    @staticmethod
    def threads():
        for comm in pathlib.Path("/proc/self/task").glob("*/comm"):
            try:
                if comm.read_text().startswith("garner-device"):
                    yield comm.parent.name
            except OSError:  # it has ended
                pass


if __name__ == "__main__":
    unittest.main()
