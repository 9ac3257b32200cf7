"""The torch of Stable Diffusion web UI, which its own program pins, and the xFormers that belongs to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import VersionSpec
from envkit.checks.engine.command import REQUIREMENT, URL
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import seen
from envkit.checks.frameworks.builds import bring, fresh
from envkit.checks.frameworks.installs import first_python, installs, pip
from envkit.model import Environment, Message
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix


def for_program(environment: Environment, matrix: Matrix, name: str, why: str, messages: tuple[Message, ...]) -> Remedy:
    """The GPU build that a program is made for where it pins one; otherwise the one that fits this machine."""
    own = _torch_of_webui(environment, matrix, why, messages) if name == "pytorch" else None
    return own or bring(environment, matrix, name, why, messages=messages)


def _torch_of_webui(environment: Environment, matrix: Matrix, why: str, messages: tuple[Message, ...]) -> Remedy | None:
    """The release that web UI is made for, with a CUDA that the driver runs; None for other programs, or where the
    release is known."""
    if not managed_by(environment, "webui") or next(installs(environment, "pytorch"), None) is not None:
        return None
    own = limit("webui-torch")
    given = fresh(environment, matrix, "pytorch", why, messages, version=own)
    index = next((words[words.index("--index-url") + 1] for words in _words(given) if "--index-url" in words), "")
    if not index:
        return None
    if not seen(environment, "driver-too-old-for-runtime", "detail-xformers"):
        return given
    from envkit.compat.pairs import newest_beside, pairs_by_package

    exact = {"torch": (f"torch=={own}", VersionSpec((("==", own),)))}
    release = newest_beside(pairs_by_package().get("xformers", ()), exact)
    if not release:
        return given
    step = pip(
        first_python(environment),
        "install",
        "--no-deps",
        REQUIREMENT(f"xformers=={release}"),
        "--index-url",
        URL(index),
    )
    return Remedy(
        f"{given.advice} xFormers requires one release of torch, and pip replaced torch for it: take the xFormers for "
        "this torch (last command). Start without --skip-torch-cuda-test.",
        (*given.steps, step),
    )


def _words(given: Remedy) -> list[list[str]]:
    return [list(step.words) for step in given.steps]
