"""Rankings as tests ask for them."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from subprocess import CompletedProcess
from typing import Any

from envkit._startup.records import types_of
from envkit.advice.cards import Card, all_cards
from envkit.advice.prices import Price
from envkit.advice.rank import Judge, Limits
from envkit.advice.workload import Workload, WorkloadWords, workload_of
from envkit.cli.boundary import exit_code
from envkit.tables import Matrix

MATRIX = Matrix.load()
YEAR = 2026


@cache
def cards() -> tuple[Card, ...]:
    return all_cards(MATRIX)


def card(name: str) -> Card:
    return next(one for one in cards() if one.name == name)


def workload(**words: Any) -> Workload:
    return workload_of(WorkloadWords(**words))


def judge(prices: dict[str, Price] | None = None, **given: Any) -> Judge:
    """A judge: options of the workload and limits, each by its name."""
    of_limits = {name: given.pop(name) for name in list(given) if name in types_of(Limits)}
    return Judge(workload(**given), Limits(**{"year": YEAR, **of_limits}), MATRIX, prices)


def envkit(*words: str) -> CompletedProcess[str]:
    """What the program does with these words, in this process: a start of its own for each would take a minute."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = exit_code(list(words))
    return CompletedProcess(words, status, out.getvalue(), err.getvalue())
