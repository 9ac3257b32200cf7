"""What is worked out of an environment, a text, or the tables once, and kept with it: dozens ask for the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")


def kept(work: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """`work` as a function that answers once for each environment, text, or set of tables, which holds the answer.

    A changed one is another one. `work` depends on its arguments alone, which are hashable.
    """
    name = f"{work.__module__}.{work.__qualname__}"

    @wraps(work)
    def answered(subject: S, /, *more: P.args, **named: P.kwargs) -> T:
        answers: dict[Any, T] = vars(subject).setdefault(name, {})
        key = (more, *named.items())
        if key not in answers:
            answers[key] = work(subject, *more, **named)
        return answers[key]

    return answered
