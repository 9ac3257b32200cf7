"""What is worked out of an environment once, and kept with it: checks by the dozen ask for the same."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from envkit.model.environment import Environment

P = ParamSpec("P")
T = TypeVar("T")


def kept(work: Callable[Concatenate[Environment, P], T]) -> Callable[Concatenate[Environment, P], T]:
    """`work` as a function that answers once for each environment, which holds the answer as long as it lives.

    A changed environment is another one. `work` depends on its arguments alone, which are hashable.
    """
    name = f"{work.__module__}.{work.__qualname__}"

    @wraps(work)
    def answered(environment: Environment, /, *more: P.args, **named: P.kwargs) -> T:
        answers: dict[Any, T] = vars(environment).setdefault(name, {})
        key = (more, *named.items())
        if key not in answers:
            answers[key] = work(environment, *more, **named)
        return answers[key]

    return answered
