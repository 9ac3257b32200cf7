"""Where a build stops because a package is built without the torch that its setup imports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.clones import is_of_repository
from envkit.dockerfile.ground import APT, Ground, Step
from envkit.dockerfile.newest_pip import isolates_always, with_newest_pip
from envkit.dockerfile.packages import Package
from envkit.dockerfile.shell import ShellCommand, called
from envkit.dockerfile.shell_words import Word
from envkit.dockerfile.specifiers import pinned_release
from envkit.tables.build_stops import CompiledPackage, WithoutTorch, compiled_packages
from envkit.tables.codes import limit
from envkit.tables.loader import read

_PIP = regex(r".*\bpip[\d.]*")
_UV = "uv"  # hides it always
_NO_ISOLATION = "--no-build-isolation"
_ARCHITECTURES = "TORCH_CUDA_ARCH_LIST"  # of every extension of torch, as old releases of it look for them
_WITHOUT_TORCH = "without the torch that its setup imports"
_FOR_NEWER = "The build stops if that torch is for another CUDA; otherwise, the import stops: undefined symbol."
_SETUP = regex(r"(?:.*/)?python[\d.]*")
# Programs that provide no torch; whatever else runs, such as a script, may.
_HARMLESS = regex(
    r"rm|echo|mkdir|ln|cd|cp|mv|chmod|chown|export|set|touch|cat|sed|curl|wget|git|useradd|adduser|groupadd|locale-gen"
    r"|add-apt-repository|ldconfig|update-alternatives"
)


def without_torch(ground: Ground) -> Iterator[Finding]:
    """The first such package, with the reason that no change of its options takes away."""
    yield from tuple(_torch_missing(ground)) or _torch_hidden(ground)


def _torch_hidden(ground: Ground) -> Iterator[Finding]:
    """Each package that imports torch while pip, which is new enough to hide it always, or uv builds it."""
    told: set[str] = set()
    for (step, newest), (_, compiled) in zip(with_newest_pip(ground), compiled_anew(ground), strict=True):
        for hidden in compiled if step.command.decisive else ():
            isolated = hidden.caller == _UV or (
                _PIP.fullmatch(hidden.caller) and _isolates(hidden, step, newest, ground)
            )
            if not isolated or _NO_ISOLATION in step.command.words or hidden.row.package in told:
                continue
            if any("NO_BUILD_ISOLATION" in name for name in ground.environment):
                return
            told.add(hidden.row.package)
            newer = _brings_torch(hidden)
            without = "with the newest torch, not the one that is installed" if newer else _WITHOUT_TORCH
            yield stop(
                faults.TORCH_HIDDEN,
                f"{_named(hidden)} builds {hidden.name} in an isolated environment, {without}",
                command_subject(step.command, hidden.line),
                impact=_FOR_NEWER if newer else "The build stops with: No module named 'torch'.",
                sources=hidden.row.sources,
            )


def _isolates(hidden: Compiled, step: Step, newest: bool, ground: Ground) -> bool:
    """Whether the pip of a step certainly builds in an environment of its own, as its later releases always do."""
    always = hidden.row.isolated and (_brings_torch(hidden) or not hidden.row.own_torch)
    return always or (newest and isolates_always(ground.pythons.of(hidden.caller, step.place)))


def _brings_torch(compiled: Compiled) -> bool:
    """Whether the environment for the build gets a torch of its own; older releases ask for none."""
    return compiled.row.own_torch and not compiled.spec


def _named(compiled: Compiled) -> str:
    return "uv" if compiled.caller == _UV else "pip"


def _torch_missing(ground: Ground) -> Iterator[Finding]:
    """A package that imports torch while pip builds it, where torch certainly is not there yet.

    pip runs the build before it installs anything of the same command, so that a torch next to it does not count.
    """
    fresh = ground.first and ground.stock
    if not fresh or "copied" in ground.tells or any(name.startswith("PIP_") for name in ground.environment):
        return
    steps = {step.command: step for step in ground.steps}
    for command in ground.commands:
        step = steps.get(command) or Step(command, ())
        needs = next(
            (one for one in compiled_in(step) if _PIP.fullmatch(one.caller) or _SETUP.fullmatch(one.caller)), None
        )
        if needs is not None and command.decisive and not command.conditional:
            beside = any(normalized(one.name) == "torch" for one in step.packages)
            when = (
                ("before it installs torch, which the same command lists")
                if beside
                else "and no earlier command installs torch"
            )
            who = "pip" if _PIP.fullmatch(needs.caller) else needs.caller
            yield stop(
                faults.TORCH_HIDDEN,
                f"{who} builds {needs.name}, whose setup imports torch, {when}",
                command_subject(command, needs.line),
                impact="The build stops with: No module named 'torch'.",
                sources=needs.row.sources,
            )
            return
        if not _brings_no_torch(command, step.packages):
            return


def _brings_no_torch(command: ShellCommand, packages: tuple[Package, ...]) -> bool:
    words = called(command)
    name = words[0].rpartition("/")[2] if words else "export"  # assignments alone
    if packages:
        free = {row.package for row in read(WithoutTorch)}
        return all(normalized(one.name) in free and not one.extras for one in packages)
    return name in APT or _HARMLESS.fullmatch(name) is not None


@record
class Compiled:
    """A package that a command builds from source with torch."""

    name: str
    line: int
    caller: str  # how the tool is called
    row: CompiledPackage
    spec: str = ""


def compiled_in(step: Step) -> Iterator[Compiled]:
    """What the command builds from source with torch: it names no place that may have a wheel."""
    for package in step.packages:
        row = compiled_packages().get(normalized(package.name))
        if (
            row is not None
            and row.on_index
            and package.wheel is None
            and not package.places.more
            and package.tool == "pip"
        ):
            yield Compiled(package.name, package.line, package.caller, row, package.spec)
    words = step.command.words
    if "install" in words:
        caller = _UV if "uv" in words[:2] else " ".join(words[: words.index("install")])
        yield from _from_repositories((word for word in words if "git+" in word), caller)
        yield from _from_folders(words[words.index("install") + 1 :], caller)
    yield from _from_repositories(step.clones, _UV if "uv" in words[:2] else _caller_of(words))


def compiled_anew(ground: Ground) -> Iterator[tuple[Step, tuple[Compiled, ...]]]:
    """Each step with what it builds from source with torch; what an earlier one has installed is left as it is.

    Of one that was installed without a release, as from wheels in a folder, it is the one that is asked for later.
    """
    there: dict[str, set[str]] = {}
    for step in ground.steps:
        upgrades = any(package.places.upgrades for package in step.packages)
        found = tuple(compiled_in(step))
        yield step, found if upgrades else tuple(one for one in found if not _is_there(one, there))
        for package in step.packages:
            there.setdefault(normalized(package.name), set()).add(package.spec)


def _is_there(compiled: Compiled, there: Mapping[str, set[str]]) -> bool:
    specs = there.get(compiled.row.package, set())
    return bool(specs) and (not compiled.spec or not specs.isdisjoint({"", compiled.spec}))


def _from_folders(words: Iterable[Word], caller: str) -> Iterator[Compiled]:
    """The packages that a command of pip builds from folders of their names, as of submodules."""
    for word in words:
        folder, _, name = word.rstrip("/").rpartition("/")
        row = compiled_packages().get(normalized(name)) if folder and "://" not in word else None
        if row is not None and not word.startswith("-"):
            yield Compiled(row.package, word.line, caller, row)


def _caller_of(words: Sequence[Word]) -> str:
    """How a command calls what builds a project: pip, or the Python that runs its setup.py."""
    end = next((at for at, word in enumerate(words) if word in ("install", "wheel") or word.endswith("setup.py")), 0)
    return " ".join(words[:end])


def _from_repositories(addresses: Iterable[Word], caller: str) -> Iterator[Compiled]:
    for address in addresses:
        row = next((row for row in compiled_packages().values() if _is_of(address, row)), None)
        if row is not None:
            yield Compiled(row.package, address.line, caller, row)


def _is_of(word: str, row: CompiledPackage) -> bool:
    """True for the address of one of its repositories on GitHub, as pip and git take it."""
    return any(is_of_repository(word, repository) for repository in row.repositories)


def gpu_unnamed(ground: Ground) -> Iterator[Finding]:
    """The first package whose build looks for a GPU, as no variable names its architectures."""
    for step, found in compiled_anew(ground):
        for compiled in found:
            variable = compiled.row.variable
            if variable == _ARCHITECTURES and not _looks_for_a_gpu(ground):
                continue
            if not variable or variable in ground.environment or variable in " ".join(ground.texts):
                continue
            yield stop(
                faults.GPU_AT_BUILD,
                f"the build of {compiled.name} looks for a GPU, because {variable} is not set",
                command_subject(step.command, compiled.line),
                impact="The build stops: it cannot determine which GPUs to compile for.",
                fix=f"Set {variable} to the compute capabilities of your GPUs, such as 80;86.",
                sources=compiled.row.sources,
            )
            return


def _looks_for_a_gpu(ground: Ground) -> bool:
    """Whether the torch that is certainly there stops without a GPU where nothing names the architectures."""
    spec = ground.specs.get("torch", "")
    pin = pinned_release(spec)
    own = ground.base.own
    if pin is not None:
        torch: Version | None = Version.parse(pin)
    else:
        torch = own.version if own is not None and own.framework == "pytorch" and not spec else None
    return torch is not None and torch < limit("torch-building-without-a-gpu")
