"""torchvision and torchaudio next to a torch that stays: which release goes with it, and the command that provides
it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.checks.engine.command import NAME, REQUIREMENT, URL, Command, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.remedies import on_windows, steps
from envkit.checks.frameworks.installs import (
    TORCH_PACKAGES,
    Installed,
    distribution,
    first_python,
    for_this_machine,
    local_tag,
    pip,
    release,
)
from envkit.checks.frameworks.swap import place_words
from envkit.model import Distribution, Environment, MachineKind, Message, PythonEnvironment

if TYPE_CHECKING:
    from envkit.base.versions import Version
    from envkit.compat.packages import Requirement
    from envkit.tables import Matrix
    from envkit.tables.rows import FrameworkBuild

SHOW = fixed("python -m pip show torch torchvision torchaudio")
ASK = Remedy(
    "Install the torchvision and torchaudio releases that match the installed torch; do not change torch itself. To "
    "get the exact releases, run envkit doctor on that machine, or pass it the output of this command.",
    (SHOW,),
)
_BY_SHELL = (
    "Keep torch, and install the torchvision and torchaudio that belong to it, from the index of its CUDA: the first "
    "two commands read both from the installed torch, and pip then chooses the releases that require exactly that "
    "torch. Start the program (a notebook's runtime) anew. If a requirements file or a notebook's cell lists one of "
    "the three, pin all three there, from the same index."
)
_BY_PYTHON = (
    "Keep torch, and install the torchvision and torchaudio that belong to it, from the index of its CUDA: the second "
    "command reads both from the installed torch, and pip then chooses the releases that require exactly that torch. "
    "Run both with the Python that the program uses (that of its venv, if it has one), and start the program anew."
)
_INSTALL = (  # for both shells of Windows, which set variables in different ways
    "import subprocess, sys, torch; cuda = torch.version.cuda; release = torch.__version__.partition('+')[0]; "
    "index = 'https://download.pytorch.org/whl/' + ('cu' + cuda.replace('.', '') if cuda else 'cpu'); "
    "subprocess.check_call([sys.executable, '-m', 'pip', 'install', 'torch==' + release, 'torchvision', 'torchaudio', "
    "'--index-url', index])"
)
_ANEW = ("--force-reinstall", "--no-deps")  # pip takes another build of the same release for the wanted one
_CPU = "cpu"
_ALONE = ("install", "--no-deps", "--no-build-isolation", "--no-binary=:all:")  # leaves torch as it is


def ask(environment: Environment, executable: str = "") -> Remedy:
    """What to do where the text does not tell the torch: its own answer decides, in a shell that can ask it."""
    if environment.system.machine_kind.value is MachineKind.JETSON:
        return ASK
    if on_windows(environment):
        return Remedy(
            _BY_PYTHON, (fixed("python -m pip uninstall -y torchvision torchaudio"), run("python", "-c", _INSTALL))
        )
    return Remedy(_BY_SHELL, steps(environment, "companions-of-torch", python=executable or "python"))


def going_with(matrix: Matrix, torch: Distribution, name: str) -> Requirement | None:
    """What the tables say of the companion `name` that goes with this torch; None where they say nothing."""
    from envkit.compat.packages import requirements_of

    own = release(torch.version)
    rows = sorted((row for row in matrix.builds("pytorch") if row.version == own), key=lambda row: not row.on_pypi)
    lines = (row.companions for row in rows)
    return next((each for line in lines for each in requirements_of(line) if each.package == name), None)


def torch_of(package: Distribution) -> Version | None:
    """The release of torch that this release of another package requires exactly; None where the tables name none.

    A package that requires none is for the torch that those which require exactly it require, too.
    """
    from envkit.compat.pairs import beside_torch, meeting, required

    own = release(package.version)
    rows = meeting(package.name, package.version.__eq__) or meeting(package.name, str(own).__eq__)
    exact = {line.spec.exact for row in rows for line in required(row) if line.package == "torch"}
    if not rows:
        exact = set(beside_torch(package.name).get(package.version, ()))
    return exact.pop() if len(exact) == 1 else None


def companion_remedy(
    environment: Environment, matrix: Matrix, python: PythonEnvironment, torch: Distribution, partner: Distribution
) -> Remedy:
    """Bring the companion that goes with the installed torch, from the index of its build; nothing else changes."""
    wanted = going_with(matrix, torch, partner.name)
    row = build_of_torch(environment, matrix, torch.version)
    if wanted is None or row is None:
        advice = (
            f"Install the {partner.name} that was released with torch {torch.version}; its project page says which."
        )
        return Remedy(advice, (pip(python, "show", "torch", NAME(partner.name)),))
    line = next((line for line in row.companions if line.startswith(f"{partner.name}==")), wanted.line)
    return Remedy(
        f"Reinstall {partner.name} only; keep torch {torch.version}.",
        (_install(python, partner, line, row),),
    )


def beside_cpu_torch(
    matrix: Matrix, python: PythonEnvironment, torch: Distribution, partner: Distribution
) -> Remedy | None:
    """Where torch is a CPU build, a companion of the same index; None for any other build, or an unknown release."""
    from envkit.solver.other_words import PYTORCH_FOR_CPU

    wanted = going_with(matrix, torch, partner.name) if local_tag(torch.version) == _CPU else None
    if wanted is None:
        return None
    return Remedy(
        f"Keep torch {torch.version}, and reinstall {partner.name} from the index for the CPU: the default index has "
        "builds for CUDA under the same number, and their operators do not load next to a CPU build of torch. "
        "--extra-index-url leaves the choice to pip; in a requirements file, install both packages with --index-url, "
        "or with +cpu in their versions.",
        (
            pip(
                python,
                "install",
                *_ANEW,
                REQUIREMENT(wanted.line.partition("+")[0]),
                "--index-url",
                URL(PYTORCH_FOR_CPU),
            ),
        ),
    )


def holder_of(item: Installed) -> Distribution | None:
    """The package that brought the installed release of torch, because it requires exactly that one."""
    own = release(item.framework.version)
    others = (package for package in item.python.distributions if package.name not in TORCH_PACKAGES)
    return next((package for package in others if own is not None and torch_of(package) == own), None)


def companions_replaced(
    environment: Environment,
    matrix: Matrix,
    python: PythonEnvironment,
    torch: Distribution,
    partners: Sequence[Distribution],
    holder: Distribution,
) -> Remedy:
    """The companions that do not go with a torch that `holder` requires: only they are replaced."""
    if not partners:
        return Remedy(
            f"{holder.name} {holder.version} requires torch {torch.version}, so pip replaced the other one. To have "
            "that back, start again from its image or environment; then install this package without its "
            "requirements, compiled against the torch that is there (this needs nvcc, and takes a while).",
            (pip(python, *_ALONE, REQUIREMENT(f"{holder.name}=={holder.version.partition('+')[0]}")),),
        )
    given = [companion_remedy(environment, matrix, python, torch, one) for one in partners]
    names = series(one.name for one in partners)
    return Remedy(
        f"{holder.name} {holder.version} requires torch {torch.version}, so keep that. Reinstall {names}.",
        tuple(step for one in given for step in one.steps),
    )


def _install(python: PythonEnvironment, partner: Distribution, line: str, row: FrameworkBuild) -> Command:
    same = str(release(partner.version)) == str(release(line.partition("==")[2]))
    options = _ANEW if same else ()
    return pip(python, "install", *options, REQUIREMENT(line), *place_words(row.index_url, row.find_links))


def build_of_torch(environment: Environment, matrix: Matrix, version: str) -> FrameworkBuild | None:
    """The build that `torch.__version__` names: of its tag's index where it has one, otherwise of the default index."""
    own, tag = release(version), local_tag(version)
    rows = [row for row in matrix.builds("pytorch") if row.version == own]
    if not tag:
        here = [row for row in rows if not row.index_url and for_this_machine(environment, row)]
        return next((row for row in here if not row.find_links), next(iter(here), None))
    places = [row for row in rows if (row.index_url or "").endswith(f"/{tag}")]
    spelled = [row for row in rows if (row.package or "").endswith(f"+{tag}")]
    return next(iter((*places, *spelled)), None)


def pinned(environment: Environment, given: Remedy, executable: str) -> Remedy:
    """With the constraints file that keeps the next installation from replacing what this one provides."""
    if on_windows(environment):
        return Remedy(
            f"{given.advice} Name the same torch==… in the command of every later install, so that pip keeps it.",
            given.steps,
        )
    pin = steps(environment, "pin-torch", python=executable or "python")
    advice = f"{given.advice} For later installs, pass -c torch-constraints.txt to keep it."
    return Remedy(advice, (*given.steps, *pin))


def vision_alone(environment: Environment, matrix: Matrix, messages: Sequence[Message]) -> Remedy | None:
    """torchvision for CUDA where its operator alone has no code for the GPU: torch computes there, and stays."""
    if not messages or any(message.signature != "cpu-only-wheel/vision-nms" for message in messages):
        return None
    python = first_python(environment)
    torch, own = distribution(python, "torch"), distribution(python, "torchvision")
    if torch is not None and own is not None and local_tag(torch.version).startswith("cu"):
        return companion_remedy(environment, matrix, python, torch, own)
    return ask(environment, python.executable)
