"""Work that several processes share: in order, errors and all."""

from __future__ import annotations

import os
from collections.abc import Sequence

import pytest

from envkit.host.workers import spread


def _squares(numbers: Sequence[int]) -> list[tuple[int, int]]:
    return [(number * number, os.getpid()) for number in numbers]


@pytest.mark.parametrize("processes", [1, 2])
def test_the_order_is_kept(processes: int) -> None:
    done = [pair for chunk in spread(_squares, range(300), processes) for pair in chunk]
    assert [square for square, _ in done] == [number * number for number in range(300)]
    assert ({pid for _, pid in done} == {os.getpid()}) == (processes == 1)


def test_a_few_items_are_no_work_for_others() -> None:
    assert {pid for chunk in spread(_squares, range(20), 4) for _, pid in chunk} == {os.getpid()}


def test_what_goes_wrong_in_a_worker_is_raised_here() -> None:
    def broken(numbers: Sequence[int]) -> list[int]:
        raise LookupError(f"no {numbers[0]}")

    with pytest.raises(LookupError, match="no 0"):
        list(spread(broken, range(100), 2))


def test_who_stops_early_leaves_no_worker(tmp_path: object) -> None:
    results = spread(_squares, range(2000), 2)
    next(results)
    results.close()  # type: ignore[attr-defined]
