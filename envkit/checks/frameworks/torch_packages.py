"""PyTorch and its companions: do they belong together?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.containers.jetson_wheels import jetson_vision
from envkit.checks.engine.ask import resolve_command
from envkit.checks.engine.command import NAME, export, fixed, run
from envkit.checks.engine.evidence import kind, only_told
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, ok, skip, unknown
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.builds import bring, bring_release, fresh, replacement
from envkit.checks.frameworks.companions import (
    ask,
    beside_cpu_torch,
    build_of_torch,
    companion_remedy,
    companions_replaced,
    going_with,
    holder_of,
    pinned,
    torch_of,
)
from envkit.checks.frameworks.installs import (
    TORCH_PACKAGES,
    capable_gpus,
    distribution,
    distribution_evidence,
    first_python,
    installs,
    judged,
    local_tag,
    named_python,
    nothing_to_judge,
    release,
    runs_on_gpus,
)
from envkit.checks.frameworks.requirements import broken, machine
from envkit.model import Distribution, Environment, MachineKind, Message, PythonEnvironment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_COMMIT = regex(r"(?:git)?[0-9a-f]{7,40}(?:\.|$)")
_REPLACED_ID = "torch-replaced-by-dependency"
_WHICH_TORCH = fixed("python -c 'import torch; print(torch.__version__, torch.__file__)'")


def _ask(environment: Environment, matrix: Matrix) -> Remedy:
    """The companion for the torch that pip's message or the text names; a question where neither does."""
    if seen(environment, "torchvision-mismatch", "detail-home"):
        return Remedy(
            "torch is imported from ~/.local, torchvision from the environment: leave ~/.local out, in the shell in "
            "which the program starts. The second command then has to print the environment's torch; if it finds "
            "none, install torch and torchvision into the environment together, as its project says, with the "
            "variable set. To delete the copy, open a new shell without the variable or an environment, and run "
            "python -m pip uninstall torch.",
            (export("PYTHONNOUSERSITE", "1"), _WHICH_TORCH),
        )
    if kind(environment) is MachineKind.JETSON and (of_board := jetson_vision(environment, matrix)):
        return of_board
    if newer := _for_newer_gpu(environment, matrix):
        return newer
    said = next((one.values for one in seen(environment, "torchvision-mismatch") if one.values.get("have")), None)
    python = first_python(environment)
    torch = Distribution("torch", said["have"]) if said is not None else distribution(python, "torch")
    partner = Distribution(said["package"], said["version"]) if said is not None else Distribution("torchvision", "")
    if torch is not None and (own := beside_cpu_torch(matrix, python, torch, partner)):
        return own
    if torch is None or build_of_torch(environment, matrix, torch.version) is None:
        return ask(environment, named_python(environment).executable)
    have = distribution(python, partner.name)
    if have is not None and local_tag(torch.version).startswith("cu") and not local_tag(have.version):
        return companion_remedy(environment, matrix, python, torch, have)
    if said is None and have is not None and _unlike_companion(matrix, torch, have) == "":
        return Remedy(
            f"{have.name} {have.version} and torch {torch.version} match, so some other torch is imported first, "
            "often one in ~/.local. Exclude that directory, or uninstall the copy there.",
            (
                export("PYTHONNOUSERSITE", "1"),
                _WHICH_TORCH,
            ),
        )
    return companion_remedy(environment, matrix, python, torch, partner)


def _for_newer_gpu(environment: Environment, matrix: Matrix) -> Remedy | None:
    """All three of a newer release, where no build of the named one has code for the GPU; None elsewhere."""
    item = next(installs(environment, "pytorch"), None)
    version = release(item.framework.version) if item is not None else None
    rows = [row for row in matrix.builds("pytorch") if version is not None and row.version.starts_with(version)]
    if not rows or not capable_gpus(environment, matrix):
        return None
    if any(row.cuda is not None and runs_on_gpus(environment, matrix, row.cuda) for row in rows):
        return None
    why = f"No release build of PyTorch {version} is for this GPU: install a newer one, with its companions."
    return bring(environment, matrix, "pytorch", why)


def _chosen_torch(environment: Environment, matrix: Matrix) -> Remedy:
    """The build with its companions, and what keeps the next installation from replacing it."""
    why = "Reinstall the torch release that you chose, together with its companions."
    messages = seen(environment, _REPLACED_ID)
    item, chosen = next(installs(environment, "pytorch"), None), release(named(messages, "old") or "")
    if item is not None and (pinning := holder_of(item)):
        torch = distribution(item.python, "torch")
        if torch is not None and local_tag(torch.version).startswith("cu"):
            unfit = [one for one in _partners(item.python) if _unlike_companion(matrix, torch, one)]
            return companions_replaced(environment, matrix, item.python, torch, unfit, pinning)
        chosen = release(item.framework.version)
        why = (
            f"{pinning.name} {pinning.version} requires torch {chosen}: keep that release, but install its CUDA "
            f"build. If pip compiled {pinning.name} against the CPU build, recompile it."
        )
    again = bring_release(environment, matrix, item, chosen, why) if item is not None and chosen is not None else None
    if again is None and item is None and chosen is not None:
        again = fresh(environment, matrix, "pytorch", why, messages, version=chosen)
    given = again or bring(environment, matrix, "pytorch", why, messages=messages)
    if step := seen(environment, _REPLACED_ID, "detail-conda-step"):
        return _after_conda(given, step)
    if not any("pip install" in line for line in given.commands):
        return Remedy(f"{given.advice} Pin them in a constraints file.", given.steps)
    python = item.python if item is not None else named_python(environment)
    return pinned(environment, given, python.executable)


def _after_conda(given: Remedy, step: tuple[Message, ...]) -> Remedy:
    """PyTorch by pip after the package for which conda exchanges it, whose solver does not look at pip's."""
    package, channel = named(step, "package"), named(step, "channel")
    where = ("-c", NAME(channel)) if channel else ()
    return Remedy(
        f"conda replaces its PyTorch because {package} does not fit next to the CUDA build there. Let conda install "
        f"{package} first; then install PyTorch with pip, which conda's solver leaves alone. {given.advice}",
        (run("conda", "install", NAME(package), *where), *given.steps),
    )


def _partners(python: PythonEnvironment) -> list[Distribution]:
    """The companions of torch that are installed next to it."""
    return [item for name in TORCH_PACKAGES[1:] if (item := distribution(python, name)) is not None]


_UNFIT = Fault(
    "torchvision-mismatch",
    "torchvision or torchaudio does not match the installed torch",
    impact="The compiled operators of torchvision or torchaudio do not load.",
    remedy=_ask,
)
_REPLACED = Fault(
    _REPLACED_ID,
    "A later installation replaced PyTorch",
    impact="Programs now run with a different build than the one you installed.",
    remedy=_chosen_torch,
)


@check(
    _UNFIT,
    spares_gpu=True,
    layer=Layer.FRAMEWORK_BUILD,
    rank=30,
    any_of=("pythons", "messages"),
    explained_by=("torch-replaced-by-dependency", "jetson-generic-wheel"),
    fix="Install the torchvision or torchaudio release that matches the installed torch, for the same CUDA version.",
    references=threads("pytorch/vision#8985", "pytorch/pytorch#157648"),
)
def torchvision_mismatch(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """torchvision and torchaudio match the installed torch and its CUDA version.

    Their compiled operators load only with the torch they were built for; otherwise: "operator torchvision::nms does
    not exist".
    """
    looked = 0
    for python in judged(environment):
        torch = distribution(python, "torch")
        partners = _partners(python)
        if torch is None or not partners:
            continue
        looked += 1
        for partner in partners:
            why = _unfit(environment, matrix, python, torch, partner)
            if why and (pinning := _torch_moved_on(environment, matrix, python, partner)):
                title = f"{partner.name} matches the torch that {pinning.name} {pinning.version} requires"
                yield skip(f"{title}: torch is the odd one out", subject=python.prefix)
                continue
            evidence = [distribution_evidence(torch), distribution_evidence(partner)]
            if why:
                yield _UNFIT.found(
                    evidence,
                    title=f"{partner.name} {partner.version} does not match torch {torch.version}: {why}",
                    subject=python.prefix,
                    remedy=_for_board(environment, matrix, partner)
                    or companion_remedy(environment, matrix, python, torch, partner),
                )
            elif why is None:
                title = f"which {partner.name} belongs to torch {torch.version} is not known"
                yield unknown(title, subject=python.prefix, evidence=evidence)
            else:
                yield ok(f"{partner.name} matches torch {torch.version}", subject=python.prefix, evidence=evidence)
    if reported := _UNFIT.reported(environment):
        yield reported
    elif not looked:
        yield nothing_to_judge(environment, "torchvision or torchaudio")


def _for_board(environment: Environment, matrix: Matrix, partner: Distribution) -> Remedy | None:
    """For NVIDIA's own torch of a Jetson, next to which the wheels of the package index are no better."""
    on_board = kind(environment) is MachineKind.JETSON
    return jetson_vision(environment, matrix) if on_board and partner.name == "torchvision" else None


def _torch_moved_on(
    environment: Environment, matrix: Matrix, python: PythonEnvironment, partner: Distribution
) -> Distribution | None:
    """The package whose compiled code fails, and which requires the torch that this companion was released with."""
    if not seen(environment, "extension-abi-mismatch"):
        return None
    pins = ((item, wanted) for item in python.distributions if (wanted := torch_of(item)) is not None)
    return next(
        (
            item
            for item, wanted in pins
            if item.name not in TORCH_PACKAGES
            and _unlike_companion(matrix, Distribution("torch", str(wanted)), partner) == ""
        ),
        None,
    )


def _unfit(
    environment: Environment, matrix: Matrix, python: PythonEnvironment, torch: Distribution, partner: Distribution
) -> str | None:
    """Why the partner does not fit this torch; '' where it does, None where nothing says which one would."""
    unmet = [
        fault
        for fault in broken(python, [partner.name], ("torch",), machine(environment))
        if fault.installed.name == "torch"
    ]
    if unmet:
        return f"it requires torch {unmet[0].wanted}"
    tags = local_tag(torch.version), local_tag(partner.version)
    if all(map(_of_a_commit, tags)):
        same = _unlike_companion(matrix, torch, partner) == ""  # the tags are of two repositories, and tell nothing
        return "" if same else None
    if all(tags) and tags[0] != tags[1]:
        return f"it was built for {tags[1]}, torch for {tags[0]}"
    return "" if partner.requires else _unlike_companion(matrix, torch, partner)


def _of_one_night(*items: Distribution) -> bool:
    """Whether all are builds of a development branch, whose numbers do not advance together."""
    return all(".dev" in item.version for item in items)


def _of_a_commit(tag: str) -> bool:
    """Whether a build tag names the commit that somebody built (`ec3941ad.nv23.02`), and no index of builds."""
    return bool(_COMMIT.match(tag))


def _unlike_companion(matrix: Matrix, torch: Distribution, partner: Distribution) -> str | None:
    """Where no requirement lines are known (a pasted list): what the table's rows say goes with this torch."""
    from envkit.compat.pairs import allows, meeting

    own, version, wanted = release(torch.version), release(partner.version), going_with(matrix, torch, partner.name)
    if own is None or version is None or wanted is None or _of_one_night(torch, partner):
        return None
    if partner.name == "torchaudio" and version == own:
        return ""  # since 2.0 it carries torch's own number; conda has such a pair where PyPI has only a later patch
    if allows(meeting(partner.name, str(version).__eq__), "torch", own):
        return ""
    return "" if wanted.spec.holds(version) else f"torch {release(torch.version)} needs {wanted.line}"


@check(
    _REPLACED,
    layer=Layer.FRAMEWORK_BUILD,
    rank=14,
    any_of=("pythons", "messages"),
    fix="Use a constraints file; reinstall torch, torchvision and torchaudio together.",
    references=threads("thousandbrainsproject/tbp.monty#385", "meta-pytorch/torchcodec#1309"),
)
def torch_replaced_by_dependency(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """PyTorch and its companions come from the same installer and the same source.

    A CPU build of torch next to a CUDA build of torchvision, or pip's torch over conda's, shows that a later
    installation replaced the original torch.
    """
    looked = 0
    for python in judged(environment):
        torch = distribution(python, "torch")
        if torch is None:
            continue
        looked += 1
        beside = _partners(python)
        evidence = [distribution_evidence(item) for item in (torch, *beside)]
        yield _replaced(environment, matrix, python, torch) or (
            ok("torch and its companions are from one source", subject=python.prefix, evidence=evidence)
            if beside or not only_told(environment)
            else unknown(
                "no other package shows which tool installed torch",
                subject=python.prefix,
                evidence=evidence,
            )
        )
    if reported := _REPLACED.reported(environment):
        yield reported
    elif not looked:
        yield nothing_to_judge(environment, "PyTorch")


def _replaced(
    environment: Environment, matrix: Matrix, python: PythonEnvironment, torch: Distribution
) -> Outcome | None:
    conda = next(
        (
            item
            for item in python.distributions
            if item.installer == "conda" and item.name in ("pytorch", "pytorch-cpu", "pytorch-gpu")
        ),
        None,
    )
    other = conda is not None and release(conda.version) != release(torch.version)
    if conda is not None and other and not torch.user_site and not _is_cpu_build(environment):
        return _REPLACED.found(
            [distribution_evidence(torch), distribution_evidence(conda)],
            title=f"pip's torch {torch.version} overlays conda's pytorch {conda.version}",
            subject=python.prefix,
            impact="Files from two releases are mixed in one directory.",
            remedy=_anew(
                environment,
                matrix,
                python,
                "Use one installer: remove both, then install one.",
                (conda.name, "torch"),
            ),
        )
    partners = _partners(python)
    gpu = [item for item in partners if local_tag(item.version).startswith("cu")]
    if local_tag(torch.version) == "cpu" and gpu:
        return _REPLACED.found(
            [distribution_evidence(torch), *(distribution_evidence(item) for item in gpu)],
            title=f"torch was replaced with a CPU build ({torch.version}); {gpu[0].name} is still {gpu[0].version}",
            subject=python.prefix,
            impact="The GPU is not used, and the companions' operators do not load.",
            remedy=_anew(environment, matrix, python, "Reinstall the CUDA build and pin it in a constraints file."),
        )
    return None


def _is_cpu_build(environment: Environment) -> bool:
    """Whether the program says that its torch has no CUDA, and conda chose builds without it: then that is loaded."""
    names = {item.name for python in judged(environment) for item in python.distributions}
    return "cpuonly" in names and bool(seen(environment, "cpu-only-wheel"))


def _anew(
    environment: Environment, matrix: Matrix, python: PythonEnvironment, why: str, removed: tuple[str, ...] = ()
) -> Remedy:
    """The CUDA build that fits, and a constraints file that keeps the next installation from replacing it."""
    item = next((item for item in installs(environment, "pytorch") if item.python is python), None)
    if item is None:
        return Remedy(why, (resolve_command(environment, matrix, framework="pytorch"),))
    given = replacement(environment, matrix, item, why, also_removed=removed)
    return pinned(environment, given, python.executable)
