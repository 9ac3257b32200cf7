"""Which Python runs, what it imports first, and where its packages go."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import (
    FILE,
    NAME,
    PACKAGE,
    PATH,
    SAFE_WORD,
    Command,
    Word,
    fixed,
    run,
)
from envkit.checks.engine.evidence import known, only_told, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import message_evidence, named, seen, variants_of
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows, remedy, steps
from envkit.checks.frameworks.bare_conda import without_python
from envkit.checks.frameworks.home_copies import LEAVE_HOME_OUT, without_home
from envkit.checks.frameworks.installs import (
    distribution_evidence,
    installs,
    judged,
    nothing_to_judge,
    pip,
)
from envkit.model import Distribution, Environment
from envkit.probe.shadowing import FRAMEWORK_MODULES

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ELSEWHERE = {  # variants of the message that do not come from pip
    "initramfs": Remedy(
        "Free space in /boot, which holds every installed kernel: remove kernels that are no longer used, then build "
        "the initramfs again.",
        (fixed("df -h /boot /tmp"),),
    ),
    "layer": Remedy(
        "Free space in Docker's data directory: list what uses it, then remove the build cache and unused images.",
        (fixed("docker system df"), fixed("docker builder prune"), fixed("docker image prune")),
    ),
}
_UNPACKED_BYTES = 6_000_000_000  # a CUDA build of PyTorch with its wheels, unpacked
_NOT_FOR_WHEELS = ("/dev", "/proc", "/sys", "/run", "/boot")


def _unpack_elsewhere(environment: Environment, matrix: Matrix) -> Remedy:
    """By who writes there, and with the place that the text shows to have room."""
    messages = seen(environment, "disk-full-at-install")
    lines = variants_of(messages)
    if lines and lines <= _ELSEWHERE.keys():
        return _ELSEWHERE[min(lines)]
    if on_windows(environment):
        return _on_another_drive(environment, named(seen(environment, "disk-full-at-install", "detail-drive"), "drive"))
    compiles = lines == {"compiler"}
    who = "The compiler puts its temporary files" if compiles else "pip unpacks"
    again = "build again in this shell" if compiles else "install again in this shell with --no-cache-dir"
    room = named(seen(environment, "disk-full-at-install", "detail-room"), "room")
    if room is not None and room != "/":
        return remedy(
            environment,
            f"{who} in the temporary directory, which is full; {room} has room. Run this in a directory of your own on "
            f"{room}, then {again}. It needs no administrator rights, and nothing has to be deleted.",
            "unpack-here",
        )
    if compiles:
        return remedy(
            environment, f"{who} in the temporary directory: use another one, then {again}.", "unpack-at-home"
        )
    return Remedy(
        "pip unpacks into the temporary directory, which is often small or in memory (the first command shows this). "
        "Point it at a larger one, then install again in this shell with --no-cache-dir. If your home directory is "
        "also full, free up space first: `python -m pip cache purge`, `conda clean --all`.",
        (*steps(environment, "free-space"), *steps(environment, "unpack-at-home")),
    )


def _set_to(name: str, folder: str) -> tuple[Word, ...]:
    """What `set` of Windows takes as one word."""
    place = PATH(folder)
    return (f"{name}={place}" if isinstance(place, str) else place,)


def _on_another_drive(environment: Environment, drive: str | None) -> Remedy:
    """pip's downloads and their unpacked files go to TEMP, on C: whatever the drive of the environment is."""
    starter = " Put the same two lines at the top of webui-user.bat." if "webui" in managers(environment) else ""
    where = f"{drive}:\\temp" if drive else "D:\\temp"
    other = "" if drive else " (use a drive other than D: if that one is full)"
    return Remedy(
        "pip downloads and unpacks into TEMP, which is on C: even if the environment is on another drive. Point it "
        f"at a drive with enough space{other}, then start again in the same Command Prompt.{starter}",
        (run("mkdir", PATH(where)), run("set", *_set_to("TEMP", where)), run("set", *_set_to("TMP", where))),
    )


_OF_FOLDERS = ("told-folder", "not-a-package")  # messages that are not of a file in the directory


def _with_another_name(environment: Environment) -> Remedy:
    """With another name for the file that the message names, and without what Python compiled of it."""
    words = "Rename it, or start Python in another directory."
    every, folders = seen(environment, "local-module-shadows"), seen(environment, "local-module-shadows", *_OF_FOLDERS)
    module = NAME(named([message for message in every if message not in folders], "module"))
    if not isinstance(module, str):
        return Remedy(words)
    verb = ("ren",) if on_windows(environment) else ("mv", "-n")
    return Remedy(
        f"{words} In the directory of {module}.py, the command gives it another name; then delete the directory "
        f"__pycache__ (Python 2: {module}.pyc) next to it, and start the program again. Nothing has to be installed.",
        (run(*verb, FILE(f"{module}.py"), FILE(f"my_{module}.py")),),
    )


def _elsewhere(environment: Environment, matrix: Matrix) -> Remedy:
    """Without the file, whose place the message may name."""
    path = named(seen(environment, "local-module-shadows", "circular-file"), "path")
    if path is None:
        return _with_another_name(environment)
    return Remedy(
        f"{path} has the framework's name and is found first. Start Python in a directory without such a file; to run "
        "one of the project's modules, use python -m from the project's root. If the file is yours, you can rename "
        "it instead. You do not have to reinstall the framework or CUDA."
    )


_HIDDEN_BY_HOME = Fault(
    "user-site-shadows-env",
    "A package in the home directory was imported instead of the environment's",
    impact="A different release than the environment's is used.",
    remedy=without_home,
)
_HIDDEN_BY_FILE = Fault(
    "local-module-shadows",
    "A file in the working directory is imported instead of the framework",
    impact="The import fails partway, or names are missing.",
    remedy=_elsewhere,
)


def _with_own_python(environment: Environment, matrix: Matrix) -> Remedy:
    """Without sudo, which starts the Python of the system whatever environment is active."""
    command = named(seen(environment, "pip-belongs-to-other-python", "detail-sudo"), "command")
    words = command.split() if command else []
    if words and all(SAFE_WORD(word) == word for word in words):
        return Remedy(
            "sudo starts the system's Python, not that of the active environment, in which the package is: run the "
            "command without sudo. If an earlier attempt with sudo left files that you may not write, give them back "
            "to yourself first: sudo chown -R $USER . in this directory.",
            (run(*words),),
        )
    if seen(environment, "pip-belongs-to-other-python", "detail-store"):
        return Remedy(
            "On Windows, python3 is the Microsoft Store's Python, whatever environment is active: the package was "
            "installed there, and runs there. In the activated environment, write python instead (where python must "
            "list the environment's first), and install and start with it. To switch the alias off: Settings > Apps > "
            "Advanced app settings > App execution aliases.",
            (fixed("python -m pip install PACKAGE"), fixed("python -m pip list")),
        )
    if bare := without_python(environment):
        return bare
    return Remedy("Install with the Python that runs the program.", (fixed("python -m pip install PACKAGE"),))


_OTHER_PIP = Fault(
    "pip-belongs-to-other-python",
    "pip installs packages for a different Python than the one that runs",
    impact="Python does not see the packages that pip installs.",
    remedy=_with_own_python,
)
_DISK_FULL = Fault(
    "disk-full-at-install",
    "The disk is full",
    impact="The installation fails.",
    remedy=_unpack_elsewhere,
)


_OF_CONDA = {"pytorch": "torch", "pytorch-gpu": "torch"}  # conda's name and that of the module's distribution


def _beside_home(item: Distribution) -> bool:
    """Whether it is in the environment itself; of what conda lists, what it calls by another name than pip."""
    return not item.user_site and (item.installer != "conda" or item.name in _OF_CONDA)


@check(
    _HIDDEN_BY_HOME,
    layer=Layer.FRAMEWORK_BUILD,
    rank=12,
    any_of=("pythons", "messages"),
    fix="Disable the user site directory (PYTHONNOUSERSITE=1), or uninstall the copies there.",
    references=threads("conda/conda#13746", "conda-forge/python-feedstock#171"),
)
def user_site_shadows_env(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No framework is in both ~/.local and the environment: Python would find the copy in the home directory first."""
    looked = 0
    for python in judged(environment):
        home = {item.name: item for item in python.distributions if item.user_site}
        own = {_OF_CONDA.get(item.name, item.name): item for item in python.distributions if _beside_home(item)}
        hidden = sorted(
            name
            for name in set(home) & set(own)
            if home[name].version != own[name].version
            and (name in FRAMEWORK_MODULES or name.startswith(("nvidia-", "jax", "tensorflow")))
        )
        looked += 1 if hidden or not only_told(environment) else 0
        if hidden:
            place = python.prefix or "the environment"  # a text need not tell where that is
            yield _HIDDEN_BY_HOME.found(
                [
                    evidence
                    for name in hidden[:3]
                    for evidence in (distribution_evidence(home[name]), distribution_evidence(own[name]))
                ],
                title=f"The home directory's {', '.join(hidden[:4])} shadows the one in {place}",
                subject=python.prefix,
                impact=f"Python imports {home[hidden[0]].version}, not the environment's {own[hidden[0]].version}.",
                remedy=Remedy(
                    "Disable the user site directory in this shell, or permanently with the same line in the "
                    f"environment's activate script. Or remove the copies with the Python that installed them: "
                    f"{_removal(hidden)}.",
                    (LEAVE_HOME_OUT,),
                ),
            )
        elif not only_told(environment):
            yield ok(
                "nothing in the user site directory shadows a framework",
                subject=python.prefix,
                evidence=[Evidence("pythons.distributions", f"{len(home)} in the home directory", python.prefix)],
            )
    if reported := _HIDDEN_BY_HOME.reported(environment):
        yield reported
    elif not looked:
        yield (
            unknown(unseen(environment, "the packages in the home directory"))
            if only_told(environment)
            else nothing_to_judge(environment, "Python environment")
        )


def _removal(names: list[str]) -> str:
    """An environment's own pip refuses to uninstall what lies outside of it."""
    return run("/usr/bin/python3", "-m", "pip", "uninstall", *(NAME(name) for name in names)).line


@check(
    _HIDDEN_BY_FILE,
    layer=Layer.FRAMEWORK_BUILD,
    rank=13,
    any_of=("pythons", "messages"),
    fix="Rename the file, or start Python in another directory.",
    references=threads("pytorch/pytorch#39473", "pytorch/pytorch#19943"),
)
def local_module_shadows(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Nothing in the working directory or on PYTHONPATH has the name of a framework or of a standard module.

    Python looks in the working directory first: a torch.py there is imported instead of PyTorch.
    """
    shadows = sorted({path for python in judged(environment) for path in python.shadowing_modules})
    frameworks = [
        path for path in shadows if posixpath.basename(path.rstrip("/")).removesuffix(".py") in FRAMEWORK_MODULES
    ]
    messages = seen(environment, "local-module-shadows")
    evidence = [
        *(Evidence("pythons.shadowing_modules", path) for path in (frameworks or shadows)[:4]),
        *message_evidence(environment, messages),
    ]
    renamed = tuple(_renamed(path.rstrip("/")) for path in (frameworks or shadows)[:3])
    fix = Remedy("Rename it, or start Python in another directory.", renamed)
    if frameworks or messages:
        name = posixpath.basename((frameworks or ["A module"])[0].rstrip("/"))
        title = f"{name} in the working directory is imported instead of the framework"
        yield _HIDDEN_BY_FILE.found(evidence, title=title, remedy=fix if renamed else None)
    elif shadows:
        yield _HIDDEN_BY_FILE.found(
            evidence,
            title=f"{posixpath.basename(shadows[0].rstrip('/'))} in the working directory shadows a standard module",
            status=Status.WARN,
            impact="Frameworks also import standard modules and may break.",
            remedy=fix,
        )
    elif environment.pythons.known and not only_told(environment):
        yield ok(
            "nothing in the working directory shadows a module",
            evidence=[Evidence("pythons.shadowing_modules", "none")],
        )
    else:
        yield unknown(unseen(environment, "the working directory"))


def _renamed(path: str) -> Command:
    name = path.removesuffix(".py")
    return run("mv", PATH(path), PATH(f"{name}_mine{path[len(name) :]}"))


@check(
    _OTHER_PIP,
    layer=Layer.FRAMEWORK_BUILD,
    rank=9,
    any_of=("pythons", "messages"),
    fix="Use `python -m pip`, without sudo; register the environment's kernel in Jupyter.",
    references=threads("pytorch/pytorch#147669", "ContinuumIO/anaconda-issues#10739"),
)
def pip_belongs_to_other_python(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The pip on PATH installs into the active environment."""
    looked = 0
    for python in judged(environment)[:1]:
        if not python.pip_python or not python.executable:
            continue
        looked += 1
        other = posixpath.dirname(posixpath.dirname(python.pip_python))
        mine = {python.prefix, posixpath.dirname(posixpath.dirname(python.executable))}
        evidence = [
            Evidence("pythons.pip_python", python.pip_python, "PATH"),
            Evidence("pythons.executable", python.executable, "PATH"),
        ]
        if other in mine:
            yield ok("pip and python match", subject=python.prefix, evidence=evidence)
        else:
            yield _OTHER_PIP.found(
                evidence,
                title=f"pip installs for {python.pip_python}, python is {python.executable}",
                subject=python.prefix,
                remedy=Remedy("Install with the Python that runs the program.", (pip(python, "install", PACKAGE),)),
                status=Status.WARN,
            )
    if reported := _OTHER_PIP.reported(environment):
        yield reported
    elif not looked:
        yield nothing_to_judge(environment, "pip")


@check(
    _DISK_FULL,
    layer=Layer.FRAMEWORK_BUILD,
    rank=60,
    any_of=("system.free_bytes", "messages"),
    fix="Unpack elsewhere (TMPDIR), disable the cache, and clean up.",
    references=threads("pypa/pip#5816", "pypa/pip#7745"),
)
def disk_full_at_install(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """pip's temporary directory and the install directory have room for a CUDA build, about 6 GB.

    TMPDIR is often a small tmpfs, so df may show free space elsewhere.
    """
    messages = seen(environment, "disk-full-at-install")
    free = environment.system.free_bytes
    places = (
        {path: size for path, size in free.get().items() if not path.startswith(_NOT_FOR_WHEELS)} if free.known else {}
    )
    tight = {path: size for path, size in places.items() if size < _UNPACKED_BYTES}
    evidence = [
        Evidence(f"system.free_bytes[{path}]", f"{size / 1e9:.1f} GB", free.source)
        for path, size in (tight or places).items()
    ]
    if messages:
        where = named(messages, "path")
        title = f"The disk is full: {where}" if where else ""
        yield _DISK_FULL.found([*message_evidence(environment, messages), *evidence], title=title)
    elif not places:
        yield unknown(unseen(environment, "the free disk space"), evidence=[known(environment, "system.free_bytes")])
    elif any(item.framework.cuda for item in installs(environment)):
        yield skip("a CUDA framework is installed already", evidence=evidence)
    elif tight:
        yield _DISK_FULL.found(
            evidence,
            title=f"less than {_UNPACKED_BYTES / 1e9:.0f} GB free in {', '.join(tight)}",
            impact="A CUDA build of a framework may not fit.",
            status=Status.WARN,
        )
    else:
        yield ok("there is enough space for a framework", evidence=evidence[:2])
