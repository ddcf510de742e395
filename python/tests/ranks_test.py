"""garner.torch.ranks: all others name a rank that is dead, times out or has ended, within the configured time; none hangs."""
import atexit
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import garner

try:
    import torch
    import torch.distributed as dist

    import garner.torch
    import several_ranks
except ImportError:
    torch = None

timeout, silence = 6, 2


def exchanging(rank, said):
    """Aggregates until something is wrong with rank 1: what the error says, and after how many seconds since that was begun."""
    here = garner.torch.ranks(timeout=timeout, silence=silence)
    part = garner.torch.shard(garner.generate("kron", 8))
    x = torch.ones(len(part), 4)
    began = None
    try:
        with here:
            for step in range(10**6):
                garner.torch.aggregate(x, part)
                if step == 20:
                    began = time.monotonic()
                    if rank == 1 and said["wrong"] == "ends":
                        return None
                    if rank == 1:
                        wrong[said["wrong"]]()
                if said.get("all_reduce"):
                    dist.all_reduce(torch.ones(3))
    except garner.RankError as e:
        for again in (lambda: garner.torch.aggregate(x, part), lambda: here.all_gather(1)):  # at once, without a wait
            at = time.monotonic()
            try:
                again()
                raise AssertionError("went on")
            except garner.RankError as same:
                assert str(same) == str(e) and time.monotonic() - at < 1, (same, e)
        return [str(e), time.monotonic() - began]


def fail():
    raise ValueError("no such column")


wrong = {"killed": lambda: os.kill(os.getpid(), signal.SIGKILL), "stopped": lambda: os.kill(os.getpid(), signal.SIGSTOP),
         "late": lambda: time.sleep(timeout + 4), "raises": fail}


def never_comes(rank, said):
    if rank == 1:
        time.sleep(said["seconds"])
        return None
    began = time.monotonic()
    try:
        garner.torch.ranks(timeout=2, silence=1)
    except garner.RankError as e:
        return [str(e), time.monotonic() - began]


def ends(rank, said):
    """Counts gloo's threads once everything that was registered for the end has run."""
    atexit.register(lambda: print("threads left:", [name for name in of_process() if "gloo" in name], file=sys.stderr))
    global held
    with garner.torch.ranks() as held:
        assert any("gloo" in name for name in of_process())


def of_process():
    return [task.joinpath("comm").read_text().strip() for task in pathlib.Path("/proc/self/task").iterdir()]


@unittest.skipIf(torch is None, "needs torch")
class Ranks(unittest.TestCase):
    def told_by_others(self, name, pattern, seconds, **said):
        found = several_ranks.run(__file__, "exchanging", 3, timeout=100, wrong=name, **said)
        for rank in (0, 2):
            self.assertEqual(found[rank].code, 0, found[rank].said)
            message, waited = found[rank].told
            self.assertRegex(message, r"^rank 1 \([^,]+, process \d+\): " + pattern)
            self.assertLess(waited, seconds + 3)  # this machine may be busy
        self.assertEqual(found[0].told[0], found[2].told[0])
        return found

    def test_a_rank_that_is_killed(self):
        self.told_by_others("killed", "dead, without a sign for 2 s; begin anew", silence)

    def test_a_rank_that_is_killed_while_torch_reduces(self):
        self.told_by_others("killed", "dead, without a sign for 2 s; begin anew", silence, all_reduce=True)

    def test_a_rank_that_is_late(self):
        found = self.told_by_others("late", r"timed out after 6 s, in exchange \d+ while rank [02] .* waits in \d+; see what it does, or set a longer timeout=", timeout + 2)
        self.assertRegex(found[1].told[0], "^rank 1 .* timed out after 6 s")  # that rank gets the same message

    def test_a_rank_has_said_what_is_wrong_before_it_has_left(self):
        calls = []

        class Store:
            def set(self, key, value):
                calls.append(key)

            def compare_set(self, key, expected, value):
                calls.append(key)
                return value.encode()

        one = object.__new__(garner.torch.Ranks)
        one.rank, one._store = 2, Store()
        self.assertEqual(one._say("rank 1: timed out"), "rank 1: timed out")
        self.assertEqual(calls, ["verdict", "left/2"])

    def test_a_rank_that_raises(self):
        found = self.told_by_others("raises", "has stopped: ValueError: no such column", silence)
        self.assertIn("ValueError: no such column", found[1].said)

    def test_a_rank_that_ends(self):
        self.told_by_others("ends", r"ended while others wait in exchange \d+; give all ranks as many steps", silence)

    def test_a_rank_that_stands_still(self):
        found = several_ranks.run(__file__, "exchanging", 3, timeout=100, wrong="stopped", then=self.kill_when_others_end)
        for rank in (0, 2):
            self.assertRegex(found[rank].told[0], r"^rank 1 \(.*\): dead, without a sign for 2 s")
            self.assertLess(found[rank].told[1], timeout + silence + 4)

    def kill_when_others_end(self, processes):
        for k in (0, 2):
            processes[k].wait(timeout=90)
        processes[1].kill()

    def test_a_rank_that_never_comes(self):
        found = several_ranks.told(several_ranks.run(__file__, "never_comes", 2, seconds=8))
        self.assertRegex(found[0][0], "^rank 1: (dead|timed out)")
        self.assertLess(found[0][1], 8)

    def test_no_thread_of_gloo_outlives_the_ranks(self):
        for one in several_ranks.run(__file__, "ends", 2):
            self.assertEqual(one.code, 0, one.said)
            self.assertIn("threads left: []", one.said)

    def test_without_a_group(self):
        self.assertEqual((garner.torch.ranks().rank, garner.torch.ranks().size), (0, 1))
        code = "import garner.torch; garner.torch.ranks()"
        said = subprocess.run([sys.executable, "-c", code], env={**os.environ, "WORLD_SIZE": "2"}, capture_output=True, text=True).stderr
        self.assertIn("UsageError: torch.distributed has not begun; call torch.distributed.init_process_group()", said)


if __name__ == "__main__" and (torch is None or not several_ranks.is_rank()):
    unittest.main()
