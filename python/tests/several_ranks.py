"""What the tests of several ranks share: processes of one machine that are a group of torch.distributed over gloo, and end in time.

The store by which they meet is a process of its own, as under torchrun it is torchrun: it outlives a rank. Ranks are forks of the test, which
has imported torch, has no threads and never differentiates, or processes of their own where a command stands before them.
"""
import atexit
import faulthandler
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import torch.distributed as dist


class Ran:
    """A rank: its exit, what it wrote to stderr, what its part returned, and how long it ran."""

    def __init__(self, code, said, told, seconds):
        self.code, self.said, self.told, self.seconds = code, said, told, seconds


class Fork:
    """The part of subprocess.Popen that is used here."""

    def __init__(self, function, env, out, err):
        sys.stdout.flush(), sys.stderr.flush()
        self.returncode, self.pid = None, os.fork()
        if self.pid:
            return
        code = 1
        try:
            os.dup2(out.fileno(), 1), os.dup2(err.fileno(), 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", closefd=False)
            os.environ.clear(), os.environ.update(env)
            function()
            code = 0
        except BaseException:
            traceback.print_exc()
        try:
            atexit._run_exitfuncs()
            sys.stdout.flush(), sys.stderr.flush()
        finally:
            os._exit(code)

    def poll(self):
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout):
        began = time.monotonic()
        while self.poll() is None:
            if time.monotonic() - began > timeout:
                raise subprocess.TimeoutExpired("a rank", timeout)
            time.sleep(0.02)
        return self.returncode

    def kill(self):
        if self.poll() is None:
            os.kill(self.pid, 9)


def run(file, part, ranks, *, timeout=100, meet="127.0.0.1", before=(), then=None, env=None, **said):
    """The function of this name of this file, part(rank, said), in this many processes: the result of each, its stderr (said) and its exit.

    before: of each rank what stands before its command. then: called with the processes once they run. Whoever has not ended in `timeout`
    seconds is killed, which is an AssertionError."""
    at = f"{meet}:{store_at(meet, before[0] if before else ())}:{time.monotonic_ns()}"
    began, processes, files = time.monotonic(), [], []
    for rank in range(ranks):
        mine = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "1", "GARNER_THREADS": "1",
                "CUDA_VISIBLE_DEVICES": "", **(env or {})}
        out, err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        files.append((out, err))
        if before:
            command = [*before[rank], sys.executable, "-X", "faulthandler", file, "--rank", part, str(rank), str(ranks), at, json.dumps(said)]
            processes.append(subprocess.Popen(command, env=mine, stdout=out, stderr=err))
        else:
            processes.append(Fork(lambda: be_rank(getattr(sys.modules["__main__"], part), rank, ranks, at, said), mine, out, err))
    if then:
        then(processes)
    late, seconds = [], []
    for rank, one in enumerate(processes):
        try:
            one.wait(timeout=max(1, timeout - (time.monotonic() - began)))
        except subprocess.TimeoutExpired:
            late.append(rank)
            os.kill(one.pid, signal.SIGUSR1)  # says where it is
            time.sleep(0.5)
            one.kill()
            one.wait(timeout=10)
        seconds.append(time.monotonic() - began)
    found = []
    for one, (out, err), took in zip(processes, files, seconds):
        out.seek(0), err.seek(0)
        lines = [line[5:] for line in out.read().splitlines() if line.startswith("TOLD ")]
        found.append(Ran(one.returncode, err.read(), json.loads(lines[-1]) if lines else None, took))
        out.close(), err.close()
    if late:
        raise AssertionError(f"ranks {late} have not ended in {timeout} s:\n" + "\n".join(f"--- {k}: {one.said}" for k, one in enumerate(found)))
    return found


stores = {}


def store_at(meet, before=()):
    """The port of a store at this address, which ends with the test."""
    if meet not in stores:
        code = "import sys, torch.distributed as d; s = d.TCPStore(sys.argv[1], 0, is_master=True, wait_for_workers=False); print(s.port, flush=True); sys.stdin.read()"
        stores[meet] = subprocess.Popen([*before, sys.executable, "-c", code, meet], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        stores[meet].port = int(stores[meet].stdout.readline())
        atexit.register(end_of_store, stores[meet], os.getpid())
    return stores[meet].port


def forget(meet):
    """The store at this address, whose network goes."""
    if meet in stores:
        end_of_store(stores.pop(meet), os.getpid())


def end_of_store(store, of):
    if os.getpid() == of and store.poll() is None:  # and not a fork of it
        store.stdin.close(), store.stdout.close()
        store.wait(timeout=20)


def told(found):
    """The results of all ranks, each of which must have ended well."""
    for rank, one in enumerate(found):
        if one.code:
            raise AssertionError(f"rank {rank} ended with {one.code}:\n{one.said}")
    return [one.told for one in found]


def finished(command, **how):
    """The script, anew where torch's gloo ended its process: a thread of its that takes the interpreter's lock while that ends is std::terminate, and the
    other rank may wait for it."""
    for left in range(4, -1, -1):
        begun = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **how)
        try:
            out, err = begun.communicate(timeout=180)
        except subprocess.TimeoutExpired:
            os.killpg(begun.pid, signal.SIGKILL)
            out, err = begun.communicate()
        done = subprocess.CompletedProcess(command, begun.returncode, out, err)
        if "terminate called without an active exception" not in out + err or not left:
            return done
        for file in pathlib.Path("/dev/shm").glob(f"garner-{os.geteuid()}-*"):
            if "test-" in file.name or "user-path-" in file.name:
                file.unlink(missing_ok=True)


def be_rank(part, rank, ranks, at, said):
    faulthandler.register(signal.SIGUSR1)
    host, port, number = at.split(":")
    store = dist.PrefixStore(number, dist.TCPStore(host, int(port), is_master=False))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks)
    print("TOLD " + json.dumps(part(rank, said)), flush=True)
    if dist.is_initialized():
        dist.destroy_process_group()


def is_rank():
    """In a test file, before unittest.main(): whether this process is a rank, which then has done its part."""
    if sys.argv[1:2] != ["--rank"]:
        return False
    part, rank, ranks, at, said = sys.argv[2:7]
    be_rank(getattr(sys.modules["__main__"], part), int(rank), int(ranks), at, json.loads(said))
    atexit._run_exitfuncs()
    sys.stdout.flush(), sys.stderr.flush()
    os._exit(0)  # as a fork; for finished() says what the end of an interpreter may come to
