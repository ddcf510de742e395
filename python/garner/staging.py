"""Rows between a GPU and host memory: in pieces, and where it is not pinned, through pinned staging buffers that threads fill and empty.

Invariant: a staging buffer is used again only when what it held has arrived. Cost: each byte crosses the link once and is copied in host memory once, both
at the same time. Results go while the device works; a piece of them stays in the processor's caches between its two copies.
"""
from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import torch

from ._garner import Unified

piece_bytes = 32 << 20
placing_threads = 12  # more are in each other's way


def threads(most: int = 16) -> ThreadPoolExecutor:
    """Which start when there is work, on the GPU that is current here."""
    here: Any = (torch.cuda.set_device, (torch.cuda.current_device(),)) if torch.cuda.is_initialized() else ()  # type: ignore[no-untyped-call, unused-ignore]
    return ThreadPoolExecutor(max(1, min(most, len(os.sched_getaffinity(0)))), "garner-staging", *here)


def end(pool: ThreadPoolExecutor) -> None:
    """What has begun is completed, the rest is dropped."""
    pool.shutdown(wait=True, cancel_futures=True)


def as_bytes(of: torch.Tensor) -> Any:
    """A contiguous tensor's host memory."""
    return of.detach().reshape(-1).view(torch.uint8).numpy()


def copy(to: torch.Tensor, of: torch.Tensor) -> None:
    """By the calling thread alone, which lets Python go on. Both are contiguous in host memory."""
    np.copyto(as_bytes(to), as_bytes(of))


class Link:
    """Copies on a stream of a GPU, other than that of its work. The tests have one without a GPU."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.stream = device, torch.cuda.Stream(device)  # type: ignore[no-untyped-call, unused-ignore]
        self.pinned: Unified | None = None

    def staging(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        return torch.empty(shape, dtype=dtype, device="cpu", pin_memory=True)

    def buffers(self, count: int, shape: tuple[int, ...], dtype: torch.dtype) -> list[torch.Tensor]:
        """Pinned until close(). Torch would take a second for a GiB: one thread makes its pages, and these are huge."""
        memory = np.empty((count, math.prod(shape) * dtype.itemsize), np.uint8)
        self.pinned = Unified(memory, self.stream.device.index) if memory.size else None
        return [torch.from_numpy(one).view(dtype).reshape(shape) for one in memory]

    def close(self) -> None:
        self.stream.synchronize()
        self.pinned = None

    def after_work(self, tensor: torch.Tensor) -> None:
        """What follows on this stream comes after what the device's own has so far; the tensor's memory is not used again before it ends."""
        self.stream.wait_stream(torch.cuda.current_stream(self.device))
        tensor.record_stream(self.stream)

    def copy(self, to: torch.Tensor, of: torch.Tensor) -> Any:
        """Begins it. synchronize() of what is returned waits for its end without using a processor."""
        done: Any = torch.cuda.Event(blocking=True)  # type: ignore[no-untyped-call, unused-ignore]
        # The caller's modes are not those of this thread.
        with torch.inference_mode(to.is_inference()), torch.no_grad(), torch.cuda.stream(self.stream):
            to.copy_(of, non_blocking=True)
            done.record(self.stream)
        return done

    def before_work(self, done: Any) -> None:
        torch.cuda.current_stream(self.device).wait_event(done)


def link_of(device: torch.device) -> Link | None:
    """None: it computes in host memory."""
    return Link(device) if device.type == "cuda" else None


class Arriving:
    """Host memory on its way to a device, the front first. upto() may be called at once; the memory stays as it is until the device has it.

    Memory that is not pinned crosses while this is made: torch's own threads fill one of two staging buffers while the other crosses. Sixteen
    threads with a buffer each took four times as long (docs/dev/decisions.md).
    """

    def __init__(self, device: torch.device, rows: torch.Tensor) -> None:
        self.pieces: list[Any] = []
        self.seen = 0
        link = None if rows.is_cuda else link_of(device)
        if link is None:
            self.whole = rows.to(device).contiguous()
            return
        self.link, self.of = link, rows.contiguous() if rows.is_pinned() else rows
        self.whole = torch.empty(rows.shape, dtype=rows.dtype, device=device)
        link.after_work(self.whole)
        self.step = max(1, 2 * piece_bytes // max(1, rows[:1].nbytes))
        held = [] if self.of.is_pinned() else [link.staging(self.of[:self.step].shape, rows.dtype) for _ in range(2)]
        for k, first in enumerate(range(0, len(rows), self.step)):
            part = self.of[first:first + self.step]
            if held:
                if k > 1:
                    self.pieces[k - 2].synchronize()
                part = held[k % 2][:len(part)].copy_(part)
            self.pieces.append(link.copy(self.whole[first:first + len(part)], part))

    def upto(self, end: int) -> torch.Tensor:
        """All of it, of which work that follows may read the rows before `end`."""
        while self.seen < len(self.pieces) and self.seen * self.step < end:
            self.link.before_work(self.pieces[self.seen])
            self.seen += 1
        return self.whole


class Behind:
    """Puts rows where they go while the device computes the next: they cross on a stream of their own, and threads bring them to their place.

    into: has put(first, rows), and put_piece where several threads may call it at once; its finish() follows the last row.
    """

    def __init__(self, into: Any) -> None:
        self.into = into
        self.link: Link | None = None
        self.put_piece: Callable[[int, torch.Tensor], None] = getattr(into, "put_piece", into.put)
        self.several = hasattr(into, "put_piece")
        self.pool = threads(placing_threads) if self.several else threads(1)
        self.buffers: list[tuple[torch.Tensor, Future[None] | None]] = []
        self.next = 0

    def put(self, first: int, rows: torch.Tensor) -> None:
        link = self.link = self.link or link_of(rows.device)
        if link is None:
            self.into.put(first, rows)
            return
        link.after_work(rows)
        step = max(1, piece_bytes // max(1, rows[:1].nbytes)) if self.several else len(rows)
        if not self.buffers or len(self.buffers[0][0]) < min(step, len(rows)):
            self._wait()
            count = self.pool._max_workers + 2 if self.several else 2
            self.buffers = [(one, None) for one in link.buffers(count, (min(step, len(rows)), *rows.shape[1:]), rows.dtype)]
        for begin in range(0, len(rows), step):
            held, busy = self.buffers[self.next]
            if busy is not None:
                busy.result()
            part = rows[begin:begin + step]
            crossed = link.copy(held[:len(part)], part)
            self.buffers[self.next] = held, self.pool.submit(self._place, first + begin, held[:len(part)], crossed)
            self.next = (self.next + 1) % len(self.buffers)

    def _place(self, first: int, piece: torch.Tensor, crossed: Any) -> None:
        crossed.synchronize()
        self.put_piece(first, piece)

    def _wait(self) -> None:
        for _, busy in self.buffers:
            if busy is not None:
                busy.result()
        self.buffers, self.next = [], 0

    def finish(self) -> Any:
        self._wait()
        self.close()
        into = self.into
        del self.into, self.put_piece  # whoever may still close this keeps no rows
        return into.finish()

    def close(self) -> None:
        end(self.pool)
        self.buffers = []
        if self.link is not None:
            self.link.close()
