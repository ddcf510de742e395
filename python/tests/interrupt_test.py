"""Ctrl-C stops work in C++, becomes KeyboardInterrupt, and leaves Python's handler as it was."""
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import garner


def soon(seconds=0.3):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()


class Interrupts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.g = garner.generate("kron", 14)

    def long_work(self):
        started = time.monotonic()
        while time.monotonic() - started < 60:
            garner.pagerank(self.g, iterations=1_000_000)

    def test_work_stops(self):
        started = time.monotonic()
        soon()
        with self.assertRaises(KeyboardInterrupt) as caught:
            self.long_work()
        self.assertLess(time.monotonic() - started, 30)
        self.assertIsInstance(caught.exception, garner.Interrupted)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        self.assertEqual(garner.bfs(self.g, 1).depth[1], 0)  # and the next call works

    def test_a_handler_of_ones_own_is_heard(self):
        class Stop(Exception):
            pass

        def handler(number, frame):
            raise Stop

        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, handler))
        soon()
        self.assertRaises(Stop, self.long_work)
        self.assertIs(signal.getsignal(signal.SIGINT), handler)

    def test_a_handler_that_raises_nothing(self):
        heard = []
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, lambda *_: heard.append(1)))
        soon()
        self.assertRaises(garner.Interrupted, self.long_work)
        self.assertEqual(heard, [1])

    def test_who_ignores_it_goes_on(self):
        program = textwrap.dedent("""
            import os, signal, threading, garner
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            g = garner.generate("kron", 12)
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            print(garner.pagerank(g, iterations=3000).run.iterations)
        """)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.stdout, done.stderr), ("3000\n", ""))

    def test_a_program_ends(self):
        program = "import garner\ng = garner.generate('kron', 12)\nprint('go', flush=True)\nwhile True: garner.pagerank(g, iterations=10**9)"
        process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        process.stdout.readline()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        self.assertRegex(said, "garner.Interrupted: interrupted|KeyboardInterrupt")  # the second where it came before the work began
        self.assertIn(process.returncode, (-signal.SIGINT, 130, 1))


if __name__ == "__main__":
    unittest.main()
