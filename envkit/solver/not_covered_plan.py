"""A plan next to software that the tables hold no versions of: with a PyTorch that its project has wheels for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from envkit._startup.records import replace
from envkit.base.errors import UnknownFramework
from envkit.base.platforms import WINDOWS
from envkit.base.versions import Version
from envkit.compat.companion_gpus import no_release_runs
from envkit.compat.needs import newest_beside
from envkit.compat.package_breaks import first_broken
from envkit.compat.prebuilt_wheels import install_words, prebuilt_for, releases_of_torch
from envkit.solver.model import NoPlan, Plan
from envkit.solver.not_covered import is_compiled
from envkit.solver.not_covered_facts import named_in, wheels_of
from envkit.solver.request import Request, RequestWords
from envkit.solver.software_notes import beside_words, cuda_of
from envkit.tables.pairs import PrebuiltWheels
from envkit.tables.rows import FrameworkBuild

_HOST, _TORCH = "pytorch", "torch"
_HOSTS = (_TORCH, _HOST)


def words_to_try(unknown: UnknownFramework, words: RequestWords) -> tuple[RequestWords, ...]:
    """The words of requests for the rest, best first: where the PyTorch is left open, those that wheels are made for.

    The last ones are as they were asked for, with the framework that the software runs on where no other was named.
    """
    rest = tuple(text for text in words.frameworks if text != unknown.text) or (unknown.runs_on,)
    plain = replace(words, frameworks=rest)
    host, spec = named_in(rest[0])
    if len(rest) > 1 or host not in _HOSTS:
        return (plain,)
    rows = sorted(_rows_here(unknown.text, words), key=lambda row: (row.torch, row.cuda), reverse=True)
    rows = [row for row in rows if _narrows(row.torch, spec)]
    pairs = dict.fromkeys((row.torch, row.cuda) for row in rows)
    made = (
        replace(words, frameworks=(f"{_HOST}=={torch}",), cuda=words.cuda or str(cuda))
        for torch, cuda in pairs
        if _fits(words, cuda)
    )
    return (*made, plain)


def _narrows(torch: Version, spec: str) -> bool:
    """Whether a PyTorch is one of several that are asked for: 2.4.0 of `==2.4`."""
    exact = Version.find(spec) if spec.startswith("==") else None
    return not spec or (exact is not None and torch.starts_with(exact) and len(torch.parts) > len(exact.parts))


def _rows_here(text: str, words: RequestWords) -> list[PrebuiltWheels]:
    beside = beside_words(words, None)
    return [row for row in wheels_of(*named_in(text)) if _place(beside.platform, beside.architecture) in row.places]


def _fits(words: RequestWords, cuda: Version) -> bool:
    asked = cuda_of(words)
    return not words.cuda or (asked is not None and (asked.starts_with(cuda) or cuda.starts_with(asked)))


def _place(platform: str, architecture: str) -> str:
    system = WINDOWS if platform == WINDOWS else "linux"
    return system if architecture == Request().architecture else f"{system}-{architecture}"


def plan_beside(
    text: str, requests: Iterable[Request], solve: Callable[[Request], Plan | NoPlan]
) -> tuple[Request, Plan | NoPlan]:
    """The first plan that the project of a package has a wheel for; otherwise that of the last request."""
    answers: list[tuple[Request, Plan | NoPlan]] = []
    for request in requests:
        plan = solve(request)
        answers.append((request, plan))
        if isinstance(plan, Plan) and _wheel_for(text, plan) is not None:
            break
    return answers[-1]


def plan_facts(text: str, words: RequestWords, plan: Plan | NoPlan) -> Iterator[str]:
    """What a plan means for the software: its wheel, or that there is none, and the nvcc that compiles it."""
    build = _torch_in(plan)
    if not isinstance(plan, Plan) or build is None or build.cuda is None:
        return
    package, spec = named_in(text)
    row = _wheel_for(text, plan)
    if row is not None:
        words_of = install_words(row, plan.choice.python)
        yield f"To install it, run python -m pip install {words_of} after the commands of the plan."
        return
    yield from _by_metadata(package, build)
    here = _place(plan.request.platform, plan.choice.architecture)
    rows = [row for row in wheels_of(package, spec) if here in row.places]
    if rows and not _never_runs(text, plan):
        made, nvcc = f"PyTorch {build.version} with CUDA {build.cuda}", f"the nvcc of CUDA {build.cuda}"
        use = ", which the rest of the request rules out:" if _was_open(text, words) else ": use one of those, or"
        yield (
            f"No wheel of {package}{spec} for {made} is known to envkit, only for PyTorch {releases_of_torch(rows)}"
            f"{use} compile it with {nvcc}."
        )
    asked = cuda_of(words)
    if asked is not None and asked.major != build.cuda.major and is_compiled(package):
        yield (
            f"This PyTorch is for CUDA {build.cuda}, so the nvcc of CUDA {asked} does not compile {package} for it: "
            f"install that of CUDA {build.cuda} as well (envkit install --cuda {build.cuda} --components nvcc), or use "
            f"a PyTorch for CUDA {asked.major}."
        )


def _was_open(text: str, words: RequestWords) -> bool:
    """Whether the request left the PyTorch open, so that a plan was sought for those that wheels are made for."""
    rest = [other for other in words.frameworks if other != text]
    return len(rest) < 2 and all(named_in(other)[0] in _HOSTS and not named_in(other)[1] for other in rest)


def _by_metadata(package: str, build: FrameworkBuild) -> Iterator[str]:
    """The newest release for an older PyTorch, and the first that does not work with it."""
    newest = newest_beside(package, _TORCH, build.version)
    if newest is not None:
        yield (
            f"The newest release that accepts PyTorch {build.version} is {newest}: run python -m pip install "
            f"{package}=={newest} after the commands of the plan."
        )
    broken = first_broken(package, build)
    if broken is not None:
        yield (
            f"From {package} {broken} on it does not work with PyTorch {build.version}: run python -m pip install "
            f"'{package}<{broken}' after the commands of the plan."
        )


def _never_runs(text: str, plan: Plan) -> bool:
    """Whether no release that is asked for runs on the GPUs of the plan."""
    return bool(no_release_runs(*named_in(text), (gpu.compute_capability for gpu in plan.request.gpus)))


def _torch_in(plan: Plan | NoPlan) -> FrameworkBuild | None:
    builds = plan.choice.builds if isinstance(plan, Plan) else ()
    return next((build for build in builds if build.framework == _HOST), None)


def _wheel_for(text: str, plan: Plan) -> PrebuiltWheels | None:
    """The wheel for a plan's PyTorch, Python and system, whose glibc suffices as far as it is known."""
    build, choice = _torch_in(plan), plan.choice
    if build is None or build.cuda is None or _never_runs(text, plan):
        return None
    glibc = choice.os.glibc if choice.os is not None else None
    rows = [row for row in wheels_of(*named_in(text)) if not (glibc and row.min_glibc and glibc < row.min_glibc)]
    here = _place(plan.request.platform, choice.architecture)
    return prebuilt_for(rows, build.version, build.cuda, here, choice.python)
