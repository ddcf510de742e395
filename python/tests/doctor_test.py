"""garner.doctor(), and the warnings where a GPU cannot be used: of `import garner`, and of options that request GPU memory."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy as np

import garner

try:
    import torch
except ImportError:
    torch = None

on_cpu = not garner.info()["devices"]


def of_import(folder, code="import garner", **environment):
    """Standard error of a fresh Python whose /dev is this folder."""
    said = {**os.environ, "GARNER_DEVICE_FOLDER": str(folder), "GARNER_DRIVER_LIBRARY": "/no/such/library.so", **environment}
    if "CUDA_VISIBLE_DEVICES" not in environment:
        said.pop("CUDA_VISIBLE_DEVICES", None)
    done = subprocess.run([sys.executable, "-c", code], env=said, capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stderr


class Report(unittest.TestCase):
    def test_has_all_checks_and_prints_them(self):
        report = garner.doctor("simulated")
        names = [check.name for check in report.checks]
        for name in ("Garner", "driver", "host memory", "pinned memory", "/dev/shm", "io_uring", "cuBLAS", "NCCL", "self-test of simulated", "torch", "PyG"):
            self.assertEqual(names.count(name), 1, names)
        found = {check.name: check for check in report.checks}
        self.assertIn(garner.__version__, found["Garner"].found)
        self.assertIn("right", found["self-test of simulated"].found)
        self.assertIsNone(found["self-test of simulated"].advice)
        if torch is not None:
            self.assertIn(torch.__version__, found["torch"].found)
        for check in report.checks:
            self.assertIn(check.found, str(report))
            self.assertIn(check.advice or "", str(report))
        if on_cpu and not list(pathlib.Path("/dev").glob("nvidia[0-9]*")):
            self.assertTrue(report.usable, report)
            self.assertIn("self-test of cpu", str(garner.doctor()))

    def test_a_device_that_is_not_there_is_a_line_and_not_an_exception(self):
        report = garner.doctor("cuda:4711")
        self.assertFalse(report.usable)
        self.assertIn("! self-test of cuda:4711", str(report))
        said = [check.advice for check in report.checks if check.name == "self-test of cuda:4711"][0]
        self.assertTrue(said)
        if on_cpu:
            self.assertEqual(said, garner.info()["no_device"])

    def test_one_reason_is_given_everywhere(self):
        if not on_cpu:
            self.skipTest("this machine has a GPU")
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "nvidia0").touch()
            code = """if True:
                import garner, sys
                why = garner.info()["no_device"]
                assert why.startswith("there is a GPU (/dev/nvidia*), and "), why
                assert [check.advice for check in garner.doctor().checks if check.name == "driver"] == [why]
                graph = garner.build([0], [1])
                calls = [lambda: garner.tiered([[1.0]], device=0), lambda: garner.bfs(graph, 0, device="cuda")]
                try:
                    import torch
                    calls.append(lambda: garner.torch.loader(graph, [2], [0], device="cuda"))
                except ImportError:
                    pass
                for call in calls:
                    try:
                        call()
                    except garner.DeviceError as e:
                        said = str(e)
                        assert why.partition(";")[0] in said, said
                    else:
                        raise AssertionError("no error")"""
            of_import(folder, code)

    def test_hidden_gpus_are_no_fault(self):
        if not on_cpu:
            self.skipTest("this machine has a GPU")
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "nvidia0").touch()
            of_import(folder, "import garner; found = garner.doctor(); assert found.usable and \"CUDA_VISIBLE_DEVICES is ''\" in str(found), found",
                      CUDA_VISIBLE_DEVICES="")


class Installed(unittest.TestCase):
    """The messages where a part of the installation is missing."""

    def test_packages_that_a_module_is_made_for(self):
        for module, lacks, sentence in (
                ("garner.torch", ["torch"], "garner.torch needs torch, which is not installed here; install with: pip install torch"),
                ("garner.pyg", ["torch_geometric"], "garner.pyg needs torch_geometric, which is not installed here; install with: pip install torch_geometric"),
                ("garner.pyg", ["torch", "torch_geometric"],
                 "garner.pyg needs torch and torch_geometric, which are not installed here; install with: pip install torch torch_geometric")):
            if "torch" not in lacks and torch is None:
                continue
            for how in (f"import {module}", f"import garner; {module}", f"from {module} import *"):
                with self.subTest(how=how, lacks=lacks):
                    code = f"import sys\nfor name in {lacks}: sys.modules[name] = None\ntry:\n    {how}\nexcept ImportError as e:\n" \
                           f"    assert str(e) == {sentence!r} and e.name == {lacks[0]!r}, (e, e.name)\nelse:\n    raise AssertionError('no error')"
                    of_import("/no/such/folder", code)

    def test_the_program_is_run_by_its_module(self):
        package = pathlib.Path(garner.__file__).parent
        if not (package / "bin" / "garner").exists():
            self.skipTest("this installation has no program")
        done = subprocess.run([sys.executable, "-m", "garner", "doctor", "--place", "simulated"], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("self-test of simulated", done.stdout)
        if torch is not None:
            self.assertIn(torch.__version__ + ", of " + sys.executable, done.stdout)  # of the Python that runs it, not of the first on PATH
        wrong = subprocess.run([sys.executable, "-m", "garner", "frob"], capture_output=True, text=True, timeout=120)
        self.assertEqual(wrong.returncode, 2)

    def test_without_a_program_its_module_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / "__main__.py"
            copy.write_text((pathlib.Path(garner.__file__).parent / "__main__.py").read_text())
            done = subprocess.run([sys.executable, str(copy), "bfs"], capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, r"\Agarner: this installation has no program: .*/bin/garner is not there; install the package again: pip install .*\n\Z")


@unittest.skipIf(garner.info()["cuda"], "this build has GPU support")
class Import(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_without_a_gpu_says_nothing(self):
        (self.folder / "nvidiactl").touch()
        self.assertEqual(of_import(self.folder), "")

    def test_with_a_gpu_that_cannot_be_used_warns_once(self):
        (self.folder / "nvidia0").touch()
        said = of_import(self.folder, "import garner, garner.errors; import importlib; importlib.import_module('garner')")
        self.assertEqual(said.count("RuntimeWarning"), 1, said)
        self.assertIn("<string>:1", said)  # the line that imports
        self.assertIn("this build of Garner has no GPU support", said)
        self.assertIn("garner.doctor()", said)

    def test_says_nothing_where_the_user_hides_the_gpu(self):
        (self.folder / "nvidia0").touch()
        for hidden in ("", "-1"):
            self.assertEqual(of_import(self.folder, CUDA_VISIBLE_DEVICES=hidden), "")

    def test_says_nothing_in_children_of_multiprocessing(self):
        (self.folder / "nvidia0").touch()
        script = self.folder / "script.py"
        script.write_text("import multiprocessing\n\ndef child():\n    import garner\n\nif __name__ == '__main__':\n    import garner\n"
                          "    one = multiprocessing.get_context('spawn').Process(target=child)\n    one.start()\n    one.join()\n"
                          "    assert one.exitcode == 0\n")
        said = of_import(self.folder, f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')")
        self.assertEqual(said.count("RuntimeWarning"), 1, said)


class GpuMemory(unittest.TestCase):
    """Options that request GPU memory on the CPU: one warning that names the option, and the result as without."""

    def setUp(self):
        self.g = garner.build([0, 1, 2], [1, 2, 3], undirected=True)
        self.x = np.arange(12, dtype=np.float32).reshape(4, 3)

    def told(self, call):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            call()
        self.lines = {one.filename for one in said}
        self.assertLessEqual({one.category for one in said}, {RuntimeWarning})  # one category, of tables, algorithms and loaders
        return [str(one.message) for one in said]

    def expect(self, option, call):
        said = self.told(call)
        self.assertEqual(len(said), 1, said)
        self.assertTrue(said[0].startswith(f"{option} has no effect on the CPU"), said)

    def test_tables_jobs_and_samplers(self):
        for option, call in {
                "tiered": lambda where, amount: garner.tiered(self.x, device=where, feature_cache=amount),
                "embedding": lambda where, amount: garner.embedding(4, 4, device=where, feature_cache=amount),
                "bfs": lambda where, amount: garner.bfs(self.g, 0, device=where, graph_cache=amount),
                "sssp": lambda where, amount: garner.SsspSearch(garner.build([0], [1], [1]), device=where, graph_cache=amount),
                "components": lambda where, amount: garner.components(self.g, device=where, graph_cache=amount),
                "pagerank": lambda where, amount: garner.pagerank(self.g, device=where, graph_cache=amount),
                "BlockSampler": lambda where, amount: garner.BlockSampler(self.g, [1], device=where, graph_cache=amount)}.items():
            with self.subTest(option):
                self.expect("feature_cache" if option in ("tiered", "embedding") else "graph_cache", lambda: call("cpu", "1MiB"))
                for where, amount in (("cpu", None), ("cpu", 0), ("simulated", "1MiB")):
                    self.assertEqual(self.told(lambda: call(where, amount)), [])
        self.expect("peer_cache", lambda: garner.tiered(self.x, device="cpu", peer_cache=1, peers=[0]))

    def test_shards_on_a_simulated_gpu_have_a_use_for_it(self):
        self.assertEqual(self.told(lambda: garner.bfs(self.g, 0, devices=["simulated", "simulated"], graph_cache="1MiB")), [])

    @unittest.skipIf(torch is None, "needs torch")
    def test_loaders(self):
        from garner import pipeline
        made = [lambda **kwargs: garner.torch.loader(self.g, [-1], [0, 1], x=torch.from_numpy(self.x), **kwargs)]
        try:
            import torch_geometric.data
            data = torch_geometric.data.Data(x=torch.from_numpy(self.x), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]))
            made.append(lambda **kwargs: garner.pyg.NeighborLoader(data, [-1], torch.tensor([0, 1]), **kwargs))
        except ImportError:
            pass
        for make in made:
            for option in ("feature_cache", "graph_cache", "reserve"):
                def rows(where, **kwargs):
                    pipeline._said.clear()
                    got.append([batch.n_id.tolist() if hasattr(batch, "n_id") else batch.ids.tolist() for batch in make(device=where, **kwargs)])
                got = []
                self.expect(option, lambda: rows("cpu", **{option: "1MiB"}))
                self.assertEqual(self.lines, {__file__})
                self.assertEqual(self.told(lambda: rows("cpu")), [])
                self.assertEqual(*got)
                self.assertEqual(self.told(lambda: rows("simulated", **{option: "1MiB"})), [])
            with self.assertRaisesRegex(garner.UsageError, "graph_cache"):
                make(device="cpu", graph_cache="much")


if __name__ == "__main__":
    unittest.main()
