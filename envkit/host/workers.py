"""Work that the processors share: the same function over many items, in order, with few of them in memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, TypeVar

from envkit.host.stops import stops_held

T = TypeVar("T")
R = TypeVar("R")

_CHUNK = 16  # items that a worker takes at a time
_AHEAD = 3  # chunks for each worker that wait or run
_WORTH = 64  # items below which starting workers takes longer than it saves


def spread(work: Callable[[Sequence[T]], R], items: Sequence[T], processes: int | None = None) -> Iterator[R]:
    """What `work` makes of each chunk of the items, in their order; a few items are no work for others.

    The workers are forks: what is loaded here is loaded there, and `work` need not be sent to them.
    """
    import multiprocessing

    chunks = (items[start : start + _CHUNK] for start in range(0, len(items), _CHUNK))
    wanted = min(processes or len(os.sched_getaffinity(0)), -(-len(items) // _CHUNK))
    if wanted < 2 or len(items) < _WORTH or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(work, chunks)
        return
    yield from _by_workers(work, chunks, wanted)


def _by_workers(work: Callable[[Sequence[T]], R], chunks: Iterator[Sequence[T]], processes: int) -> Iterator[R]:
    import multiprocessing
    from concurrent.futures import Future, ProcessPoolExecutor

    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(processes, context, _begin, (work, os.getpid())) as pool:
        waiting: deque[Future[R]] = deque()
        try:
            with stops_held():  # the first task forks, and half a pool would wait for its workers without end
                waiting.extend(pool.submit(_worked, chunk) for chunk in islice(chunks, processes * _AHEAD))
            while waiting:
                yield waiting.popleft().result()
                waiting.extend(pool.submit(_worked, chunk) for chunk in islice(chunks, 1))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_task: Callable[[Sequence[Any]], Any] | None = None  # of a worker


_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG, <linux/prctl.h>


def _begin(work: Callable[[Sequence[Any]], Any], parent: int) -> None:
    """In a worker: what it is for; Ctrl-C is the parent's to answer, and however that ends, so does the worker.

    The parent may end without a word to its workers: by a KILL, or by a signal between two of their results. Then the
    system ends them, where it can be asked to.
    """
    import ctypes
    import signal

    global _task
    _task = work
    with suppress(OSError, AttributeError):  # not on Linux
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, int(signal.SIGKILL))
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _worked(chunk: Sequence[Any]) -> Any:  # noqa: ANN401 - what the task makes
    assert _task is not None
    return _task(chunk)
