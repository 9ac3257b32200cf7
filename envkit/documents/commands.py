"""What a person types to get a plan: complete, pinned, and made of the same pip calls as images and remedies."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from itertools import chain

from envkit._startup.records import replace
from envkit.base.platforms import WINDOWS
from envkit.base.settings import Mirrors
from envkit.base.versions import Version
from envkit.compat.software import title_of
from envkit.solver.model import Choice, Plan
from envkit.solver.pip_calls import PipInstall, installed_by_pip, plan_calls
from envkit.solver.request import Request
from envkit.tables.images import source_steps
from envkit.tables.loader import read
from envkit.tables.rows import CudnnRelease, FrameworkBuild


def plan_commands(plan: Plan, mirrors: Mirrors | None = None) -> tuple[str, ...]:
    """The commands in their order; none for a plan that chooses nothing, as for a Jetson, or what nothing here builds.

    pip provides what is packaged. A toolkit on the system, what comes as an image and what is built from source are
    brought by envkit's own commands.
    """
    choice = plan.choice
    if plan.request.container:
        return (_envkit("dockerfile", plan),) if choice.builds or choice.cuda else ()
    if images := images_of(plan):
        return tuple(f"docker pull {shlex.quote(image)}" for image in images)
    if built := from_source(plan):
        return (_envkit("dockerfile", plan),) if all(map(source_steps, built)) else ()
    if _of_the_system(plan):
        return (_envkit("install", _with_free_cudnn(plan)),)
    return pip_commands(plan_calls(plan, mirrors or Mirrors()), plan.request.platform)


def script_cudnn(choice: Choice, request: Request) -> Version | None:
    """The cuDNN that install scripts take in place of the plan's, whose archive has no published checksum."""
    chosen = choice.cudnn
    free = request.cudnn is None and request.platform != WINDOWS and not request.container and choice.needs_toolkit
    if not free or chosen is None or chosen.sha256 or not chosen.url:
        return None
    alike = [row for row in read(CudnnRelease) if (row.cuda, row.architecture) == (chosen.cuda, chosen.architecture)]
    checked = (row.version for row in alike if row.sha256 and row.url and row.version < chosen.version)
    return max(checked, default=None)


def _with_free_cudnn(plan: Plan) -> Plan:
    """The plan without its cuDNN where the script would stop at it: unasked, it takes the newest with a checksum."""
    chosen = plan.choice.cudnn
    if chosen is None or chosen.sha256 or not chosen.url or plan.request.cudnn is not None:
        return plan
    return replace(plan, choice=replace(plan.choice, cudnn_version=None))


def beyond_packages(plan: Plan) -> str:
    """Why Python packages alone do not make the plan, '' where they do."""
    if plan.request.container:
        return "the plan is for an image"
    if images := images_of(plan):
        return f"it is distributed as the image {images[0]}"
    if built := from_source(plan):
        return f"{title_of(built[0])} is built from source"
    if _of_the_system(plan):
        return f"the plan needs the libraries of CUDA {plan.choice.cuda} from the system"
    return "" if plan.choice.builds else "the plan contains no framework"


def images_of(plan: Plan) -> list[str]:
    """The images that builds without a package come as."""
    return [image for build in plan.choice.builds if (image := plan.choice.own_image(build))]


def from_source(plan: Plan) -> list[FrameworkBuild]:
    """The builds that no package provides."""
    return [build for build in plan.choice.builds if not installed_by_pip(build, plan.choice)]


def _of_the_system(plan: Plan) -> bool:
    return plan.choice.needs_toolkit and plan.request.platform != WINDOWS


def pip_commands(
    calls: Iterable[PipInstall], platform: str, program: tuple[str, ...] = ("python", "-m", "pip", "install")
) -> tuple[str, ...]:
    """The calls as command lines of a platform's shell."""
    return tuple(_line(program, call, windows=platform == WINDOWS) for call in calls)


def _line(program: Iterable[str], call: PipInstall, *, windows: bool) -> str:
    words = [*program, *call.requirements, *chain.from_iterable(call.settings)]
    return " ".join(_for_windows(word) if windows else shlex.quote(word) for word in words)


def _for_windows(word: str) -> str:
    """Both shells of Windows read double quotes alike."""
    return f'"{word}"' if set(word) & set("<>|&^ ;,()") else word


def _envkit(command: str, plan: Plan) -> str:
    return shlex.join(["envkit", command, *plan_options(plan)])


def plan_options(plan: Plan, *, with_system: bool = True) -> tuple[str, ...]:
    """The options with which envkit's own commands make the plan."""
    return (*_options(plan.choice, with_system=with_system), *_limits(plan.request))


def _limits(request: Request) -> Iterator[str]:
    """What the user asked the plan to suit besides what it chooses."""
    if "gpus" in request.asked:
        for gpu in request.gpus:
            yield from ("--gpu", gpu.name or gpu.compute_capability.sm)
    if "driver" in request.asked and request.driver is not None:
        yield from ("--driver", str(request.driver))
    if "arch" in request.asked:
        yield from ("--arch", request.architecture)
    if "target" in request.asked:
        yield from ("--target", "any")


def _options(choice: Choice, *, with_system: bool) -> Iterator[str]:
    for build in choice.builds:
        yield from ("--framework", f"{build.framework}=={build.version}")
    if choice.cuda is not None:
        yield from ("--cuda", str(choice.cuda))
    if choice.cudnn_version is not None and choice.needs_toolkit:
        yield from ("--cudnn", str(choice.cudnn_version))
    if choice.python is not None and choice.builds:
        yield from ("--python", str(choice.python))
    if choice.os is not None and with_system:
        yield from ("--os", choice.os.os_id)
