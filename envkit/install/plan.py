"""What a script installs: the resolver's plan with what the options of the script make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.base.errors import EnvkitError, RequestError
from envkit.base.platforms import WINDOWS
from envkit.base.sentences import series
from envkit.base.versions import VersionSpec
from envkit.compat.software import needs_system_cuda
from envkit.solver.knowledge import knowledge_of
from envkit.solver.model import Choice, NoPlan, Plan
from envkit.solver.request import Request
from envkit.solver.solve import resolve
from envkit.tables import Matrix
from envkit.tables.installer import python_file, venv_major

if TYPE_CHECKING:
    from envkit.tables.rows import PythonSource

# What is judged of a toolkit and its cuDNN, and says nothing of a driver.
_OF_A_TOOLKIT: tuple[str, ...] = (
    "compiler-fits-nvcc",
    "cuda-version",
    "cudnn-version",
    "gpu-on-cudnn",
    "gpu-runs-cuda",
    "image-on-os",
    "python-can-be-had",
    "runfile-for-architecture",
    "runfile-on-os",
)
# What is judged of the driver for a toolkit that nobody asked for.
_OF_ITS_DRIVER = ("gpu-last-driver", "minimum-driver")


def script_plan(
    request: Request,
    matrix: Matrix,
    *,
    with_driver: bool = False,
    toolkit: bool | None = None,
    components: tuple[str, ...] = (),
    cuda_of_wheels: bool = False,
    bundled: bool = False,
) -> Plan | NoPlan:
    """The plan that a script can carry out for the request, or why there is none. Raises EnvkitError.

    `toolkit` forces the toolkit or leaves it out; None: it is installed where its version was asked for, and where
    there is nothing else to install. `components` are the only parts of it that are wanted.
    `cuda_of_wheels`: the request's CUDA is that of the frameworks' packages (torch==2.6.0+cu118), which bring it along.
    `bundled`: a Python that a bundle can hold is taken where there is one, and none was asked for.
    """
    if components:
        from envkit.install.parts import check_names

        check_names(components, windows=request.platform == WINDOWS)
    if toolkit is False and components:
        raise RequestError("--components: --no-toolkit leaves out every part.", "Omit one of them.")
    if toolkit is False and not request.frameworks and not with_driver:
        raise RequestError(
            "--no-toolkit: without --framework or --with-driver there is nothing to install.",
            "Add one of them, or omit --no-toolkit.",
        )
    by_version = request.cuda is not None and not cuda_of_wheels
    wanted = (by_version or not request.frameworks or bool(components)) if toolkit is None else toolkit
    request = replace(request, needs_toolkit=wanted, with_driver=with_driver)
    plan = resolve(request, matrix)
    if isinstance(plan, NoPlan):
        return plan
    from envkit.install.parts import with_known_parts, without_cudnn

    if bundled and request.python is None:
        plan = _without_conda(plan, matrix)
        request = plan.request

    if plan.request.platform == WINDOWS:  # its script finds a Python, takes parts from one installer, and no cuDNN
        return _without_toolkit(plan) if toolkit is False else without_cudnn(plan)
    if components:
        plan = without_cudnn(with_known_parts(plan, request, matrix))
    if toolkit is not False:
        plan = _with_verified_cudnn(plan, request, matrix)
    return for_script(_without_toolkit(plan) if toolkit is False else plan)


def _without_conda(plan: Plan, matrix: Matrix) -> Plan:
    """The plan with a Python that does not come from conda-forge; the same plan where it does not, or has to."""
    found = plan_beside_conda(plan, matrix) if _way(plan) == "conda" else None
    if found is None:
        return plan
    why = (
        f"A bundle does not include conda-forge packages, which Python {plan.choice.python} would come from, so "
        f"Python {found.choice.python} will be used; choose a different one with --python"
    )
    return replace(found, warnings=(*found.warnings, why))


def _with_verified_cudnn(plan: Plan, request: Request, matrix: Matrix) -> Plan:
    """The plan with the newest cuDNN whose archive has a published checksum, where none was asked for by version."""
    chosen = plan.choice.cudnn
    if request.cudnn is not None or not plan.choice.needs_toolkit or chosen is None or not chosen.url or chosen.sha256:
        return plan
    alike = [row for row in matrix.cudnns if row.sha256 and row.url and row.version < chosen.version]
    alike = [row for row in alike if (row.cuda, row.architecture) == (chosen.cuda, chosen.architecture)]
    if not alike:
        return plan
    newest = max(alike, key=lambda row: row.version).version
    other = resolve(replace(request, cudnn=VersionSpec.parse(f"=={newest}")), matrix)
    if isinstance(other, NoPlan) or other.choice.toolkit != plan.choice.toolkit:
        return plan
    why = (
        f"No checksum is known for cuDNN {chosen.version}, so {newest} will be installed; use --cudnn to choose a "
        "different one"
    )
    return replace(other, request=request, warnings=(*other.warnings, why))


def _without_toolkit(plan: Plan) -> Plan:
    """The plan with the toolkit left out, and a warning where its frameworks load that from the system."""
    choice = plan.choice
    warnings = plan.warnings
    if choice.needs_toolkit and choice.builds:
        parts = f"CUDA {choice.cuda}" + (f" and cuDNN {choice.cudnn_version}" if choice.cudnn_version else "")
        loading = [f"{build.named}" for build in choice.builds if needs_system_cuda(build)]
        load = "loads" if len(loading) == 1 else "load"
        warning = (
            f"--no-toolkit: {series(loading)} {load} {parts} from the system, which the script does not install; "
            "the loader must be able to find it (ldconfig -p), or the verification fails"
        )
        warnings = (*warnings, warning)
    return replace(plan, choice=replace(choice, needs_toolkit=False), warnings=warnings)


def for_script(plan: Plan) -> Plan:
    """The plan with what a script installs: without a toolkit's parts where it installs none, and a Python that it can.

    Not one from deadsnakes, whose archive would be added for good, nor a distribution's without the module venv.
    """
    choice = plan.choice
    if plan.request.with_driver and not choice.needs_toolkit and not choice.builds and choice.toolkit is not None:
        return _driver_alone(plan)
    if not choice.builds:
        return replace(plan, choice=replace(choice, python=None, python_source=None))
    if choice.python is None:
        return plan
    way = choice.python_source.way if choice.python_source else "system"
    if way == "deadsnakes" or (way == "system" and choice.python.major < venv_major()):
        return replace(plan, choice=replace(choice, python_source=_portable(choice, Matrix.load())))
    return plan


def plan_beside_conda(plan: Plan, matrix: Matrix) -> Plan | None:
    """The same request with the newest Python that does not come from conda-forge; None when there is none."""
    offered = {row.python.release(2) for row in matrix.python_sources}
    for python in sorted(offered, reverse=True):
        found = resolve(replace(plan.request, python=VersionSpec.parse(str(python))), matrix)
        if isinstance(found, Plan) and _way(found) != "conda":
            return found
    return None


def _way(plan: Plan) -> str:
    """Where a script for the plan gets its Python; conda where that would be its last resort."""
    try:
        source = for_script(plan).choice.python_source
    except EnvkitError:
        return "conda"
    return source.way if source else "system"


def _driver_alone(plan: Plan) -> Plan:
    """The plan of a driver. Where no CUDA was asked for, any driver that knows the GPUs will do."""
    relations, minimum = _OF_A_TOOLKIT, plan.choice.minimum_driver
    if plan.request.cuda is None:
        knowledge = knowledge_of(Matrix.load())
        firsts = [first for gpu in plan.request.gpus if (first := knowledge.first_driver(gpu)) is not None]
        relations, minimum = (*_OF_A_TOOLKIT, *_OF_ITS_DRIVER), max(firsts, default=minimum)
    left_out = {verdict.detail for verdict in plan.verdicts if verdict.relation in relations}
    return replace(
        plan,
        choice=Choice(plan.choice.architecture, os=plan.choice.os, minimum_driver=minimum),
        verdicts=tuple(verdict for verdict in plan.verdicts if verdict.relation not in relations),
        alternatives=(),
        warnings=tuple(warning for warning in plan.warnings if warning not in left_out),
    )


def _portable(choice: Choice, matrix: Matrix) -> PythonSource:
    """A standalone build of the plan's Python, otherwise conda-forge's. Raises EnvkitError when neither is known."""
    python = choice.python.release(2) if choice.python else None
    glibc = choice.os.glibc if choice.os else None
    for way in ("standalone", "conda"):
        for row in matrix.python_sources if python_file(way, python, choice.architecture) else ():
            old = row.min_glibc is not None and glibc is not None and glibc < row.min_glibc
            if row.way == way and row.python == python and choice.architecture in row.architectures and not old:
                return row
    raise EnvkitError(
        f"No pinned build of Python {python} for {choice.architecture} is known to envkit.", "Choose another --python."
    )
