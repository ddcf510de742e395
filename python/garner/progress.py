"""How far long work is, for `progress=`: True (a bar of tqdm, or a line on standard error where tqdm is missing), or a function (done, all)."""
from __future__ import annotations

import contextlib
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from . import _checks, _garner
from .errors import Interrupted, KindError

Show = Callable[[str, int, int], None]  # what is being done, how much of it, of how much (0: unknown)


class _Line:
    """What is used here of tqdm."""

    def __init__(self, desc: str, total: int | None, **_: Any) -> None:
        self.desc, self.total, self.n = desc, total, 0

    def refresh(self) -> None:
        part = f" of {self.total:,} ({100 * self.n // self.total}%)" if self.total else ""
        print(f"\r{self.desc}: {self.n:,}{part}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        print(file=sys.stderr)


class _Bars:
    """A bar for each thing that is done."""

    def __init__(self) -> None:
        try:
            self.make: Any = importlib.import_module("tqdm.auto").tqdm
        except ImportError:
            self.make = _Line
        self.bar: Any = None
        self.what = ("", 0)

    def __call__(self, what: str, done: int, total: int) -> None:
        if self.what != (what, total):
            self.close()
            self.bar, self.what = self.make(desc=what, total=total or None, unit_scale=True), (what, total)
        self.bar.n = done
        self.bar.refresh()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


@contextlib.contextmanager
def showing(progress: Any) -> Iterator[Show]:
    """A function that shows to `progress` (True, a function, or None) how far the work within is."""
    if progress is None or progress is False:
        yield lambda *_: None
    elif progress is True:
        bars = _Bars()
        try:
            yield bars
        finally:
            bars.close()
    elif callable(progress):
        yield lambda _, done, total: progress(done, total)
    else:
        raise KindError(f"progress={_checks.told(progress)}: use True, or a function (done, all)")


@contextlib.contextmanager
def watching(progress: Any) -> Iterator[Show]:
    """The same, and what the library itself does within is shown every 0.1 s, by a thread. An error of `progress` ends that work and is raised."""
    with showing(progress) as show:
        if progress is None or progress is False:
            yield show
            return
        ended = threading.Event()
        failed: list[BaseException] = []

        def look() -> None:
            last = None
            while not failed:
                over = ended.wait(0.1)
                if (now := _garner._watched()) is not None and now != last:
                    last = now
                    try:
                        show(*now)
                    except BaseException as e:  # KeyboardInterrupt too
                        failed.append(e)
                        _garner._stop()
                if over:
                    return

        _garner._watch(True)
        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield show
        except Interrupted:
            if not failed:
                raise
        finally:
            ended.set()
            watcher.join()
            _garner._watch(False)
        if failed:
            raise failed[0]
