"""What a person types to get a plan: complete, pinned, and made of the same pip calls as images and remedies."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import chain

from envkit.base.platforms import WINDOWS
from envkit.base.settings import Mirrors
from envkit.solver.model import Choice, Plan
from envkit.solver.pip_calls import PipInstall, installed_by_pip, pip_calls
from envkit.solver.request import Request


def plan_commands(plan: Plan, mirrors: Mirrors | None = None) -> tuple[str, ...]:
    """The commands in their order; none for a plan that chooses nothing, as for a Jetson.

    pip brings what is packaged. A toolkit on the system, what comes as an image and what is built from source are
    brought by envkit's own commands.
    """
    choice, windows = plan.choice, plan.request.platform == WINDOWS
    if plan.request.container:
        return (_envkit("dockerfile", plan),) if choice.builds or choice.cuda else ()
    if images := [image for build in choice.builds if (image := choice.own_image(build))]:
        return tuple(f"docker pull {shlex.quote(image)}" for image in images)
    if not all(installed_by_pip(build, choice) for build in choice.builds):
        return (_envkit("dockerfile", plan),)
    if choice.needs_toolkit and not windows:
        return (_envkit("install", plan),)
    calls = pip_calls(choice, mirrors or Mirrors(), with_libraries=not choice.needs_toolkit)
    return tuple(_pip(call, windows=windows) for call in calls)


def _pip(call: PipInstall, *, windows: bool) -> str:
    words = ["python", "-m", "pip", "install", *call.requirements, *chain.from_iterable(call.settings)]
    return " ".join(_for_windows(word) if windows else shlex.quote(word) for word in words)


def _for_windows(word: str) -> str:
    """Both shells of Windows read double quotes alike."""
    return f'"{word}"' if set(word) & set("<>|&^ ;,()") else word


def _envkit(command: str, plan: Plan) -> str:
    return shlex.join(["envkit", command, *_options(plan.choice), *_limits(plan.request)])


def _limits(request: Request) -> Iterator[str]:
    """What the user asked the plan to suit besides what it chooses."""
    if "gpus" in request.asked:
        for gpu in request.gpus:
            yield from ("--gpu", gpu.name or gpu.compute_capability.sm)
    if "driver" in request.asked and request.driver is not None:
        yield from ("--driver", str(request.driver))
    if "arch" in request.asked:
        yield from ("--arch", request.architecture)


def _options(choice: Choice) -> Iterator[str]:
    for build in choice.builds:
        yield from ("--framework", f"{build.framework}=={build.version}")
    if choice.cuda is not None:
        yield from ("--cuda", str(choice.cuda))
    if choice.cudnn_version is not None and choice.needs_toolkit:
        yield from ("--cudnn", str(choice.cudnn_version))
    if choice.python is not None and choice.builds:
        yield from ("--python", str(choice.python))
    if choice.os is not None:
        yield from ("--os", choice.os.os_id)
