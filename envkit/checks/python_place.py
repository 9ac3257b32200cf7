"""Which Python runs, what it imports first, and whether the system under it is new enough for its wheels."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.ask import framework_of, resolve_command
from envkit.checks.evidence import known
from envkit.checks.findings import Evidence, Outcome, Remedy, fail, ok, skip, unknown, warn
from envkit.checks.installs import distribution_evidence, installs, judged, nothing_to_judge, pip
from envkit.checks.messages import message_evidence, named, seen, told
from envkit.checks.references import threads
from envkit.checks.registry import Layer, check
from envkit.facts import Environment, PythonEnvironment
from envkit.probe.shadowing import FRAMEWORK_MODULES
from envkit.regex import regex
from envkit.versions import Version

if TYPE_CHECKING:
    from envkit.matrix import Matrix

_MANYLINUX = regex(r"manylinux_(\d+)_(\d+)_")
_UNPACKED_BYTES = 6_000_000_000  # a CUDA build of PyTorch with its wheels, unpacked
_NOT_FOR_WHEELS = ("/dev", "/proc", "/sys", "/run", "/boot")


@check(
    "python-no-wheel",
    title="No framework wheel for this Python",
    layer=Layer.FRAMEWORK_BUILD,
    rank=45,
    any_of=("pythons", "messages"),
    mend="Make an environment with a Python that the framework has wheels for.",
    references=threads("pytorch/pytorch#91543"),
)
def python_no_wheel(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Frameworks have wheels for this Python: it is neither too new nor too old for every release."""
    every = sorted({python for build in matrix.builds("pytorch") for python in build.pythons})
    mend = _python_with_wheels(environment, matrix)
    messages = told(
        environment,
        "python-no-wheel",
        "pip found no wheel for this Python, system or machine",
        impact="The framework cannot be installed here.",
        remedy=mend,
    )
    yield from messages
    for python in judged(environment):
        if python.version is None:
            continue
        own = python.version.release(2)
        evidence = [Evidence("pythons.version", str(python.version), python.prefix)]
        if python.frameworks:
            yield ok(f"Python {own} has frameworks installed", subject=python.prefix, evidence=evidence)
        elif every and own not in every:
            yield warn(
                f"no PyTorch release has a wheel for Python {own}",
                subject=python.prefix,
                evidence=evidence,
                impact="pip finds nothing to install.",
                remedy=mend,
            )
        else:
            yield ok(f"there are wheels for Python {own}", subject=python.prefix, evidence=evidence)
    if not messages and not any(python.version for python in judged(environment)):
        yield nothing_to_judge(environment, "a Python of known version")


def _python_with_wheels(environment: Environment, matrix: Matrix) -> Remedy:
    """The newest Python for which the release that the message names has wheels, else that of the newest release."""
    messages = seen(environment, "python-no-wheel")
    name = framework_of(environment, matrix, messages) or "pytorch"
    framework = matrix.framework(name)
    version = named(messages, "version") or (named(messages, "spec") or "").removeprefix("==")
    builds = matrix.builds(name)
    asked = Version.find(version) if framework and named(messages, "package") in framework.packages else None
    exact = [build for build in builds if build.version == asked]
    rows = exact or [build for build in builds if build.version == builds[-1].version]
    best = max((python for build in rows for python in build.pythons), default=None)
    wanted = f"{name}=={asked}" if exact else name
    return Remedy(
        f"Make an environment with a Python that {f'{framework.title} {asked}' if framework and exact else 'it'} has "
        "wheels for.",
        (
            *((f"uv venv --python {best}",) if best else ()),
            resolve_command(environment, matrix, messages, framework=wanted),
        ),
    )


@check(
    "glibc-too-old",
    title="The system's glibc is older than a wheel needs",
    layer=Layer.FRAMEWORK_BUILD,
    rank=8,
    any_of=("pythons", "messages"),
    mend="A newer system or a container; or an older release of the framework.",
    references=threads("pytorch/pytorch#123649", "mlverse/torch#1414"),
)
def glibc_too_old(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The system's glibc is at least what the installed wheels and their binaries ask for."""
    mend = Remedy(
        "Use a newer system or a container, or an older release of the framework.",
        (resolve_command(environment, matrix, seen(environment, "glibc-too-old"), on_this_system=True),),
    )
    messages = told(
        environment,
        "glibc-too-old",
        "The system's glibc is too old for the package",
        impact="It does not install or does not start.",
        remedy=mend,
    )
    glibc = environment.system.glibc
    needs = [(need, why, python) for python in judged(environment) for need, why in _glibc_needs(python)]
    if messages:
        yield from messages
    elif not needs:
        yield nothing_to_judge(environment, "a compiled GPU package")
    elif not glibc.known:
        yield unknown("the system's glibc is not known", evidence=[known(environment, "system.glibc")])
    else:
        need, why, python = max(needs, key=lambda item: item[0])
        evidence = [known(environment, "system.glibc"), Evidence("pythons.glibc_needed", str(need), why)]
        if need > glibc.get():
            yield fail(
                f"glibc {glibc.get()} is older than the {need} that {posixpath.basename(why)} needs",
                subject=python.prefix,
                evidence=evidence,
                impact="It does not load.",
                remedy=mend,
            )
        else:
            yield ok(f"glibc {glibc.get()} meets every need (highest {need})", evidence=evidence)


def _glibc_needs(python: PythonEnvironment) -> Iterator[tuple[Version, str]]:
    for path, version in python.glibc_needed.items():
        yield version, path
    for item in python.distributions:
        tags = [
            Version.of(int(match.group(1)), int(match.group(2)))
            for tag in item.wheel_tags
            for match in _MANYLINUX.finditer(tag)
        ]
        if tags:
            yield min(tags), f"{item.name} {item.version}"


@check(
    "libstdcxx-too-old",
    title="The libstdc++ that is loaded first is older than a package needs",
    layer=Layer.LIBRARIES,
    rank=40,
    any_of=("pythons", "messages"),
    mend="Bring that libstdc++ up to date, or compile with the environment's own compiler.",
    references=threads("kvcache-ai/ktransformers#439", "pytorch/pytorch#157709", "numpy/numpy#26986"),
)
def libstdcxx_too_old(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The first libstdc++.so.6 in loader order offers the GLIBCXX version that compiled packages ask for.

    conda brings its own, which comes before the system's.
    """
    conda = any(python.kind == "conda" for python in judged(environment))
    command = "conda install -c conda-forge libstdcxx-ng" if conda else "sudo apt-get install --only-upgrade libstdc++6"
    mend = Remedy("Bring the libstdc++ that is loaded first up to date.", (command,))
    messages = told(
        environment,
        "libstdcxx-too-old",
        "The loaded libstdc++ is too old",
        impact="The extension does not load.",
        remedy=mend,
    )
    if messages:
        yield from messages
        return
    looked = 0
    for python in judged(environment):
        if not python.glibcxx_needed or python.libstdcxx_version is None:
            continue
        looked += 1
        path, need = max(python.glibcxx_needed.items(), key=lambda item: item[1])
        evidence = [
            Evidence("pythons.libstdcxx_version", str(python.libstdcxx_version), python.libstdcxx),
            Evidence("pythons.glibcxx_needed", str(need), path),
        ]
        if need > python.libstdcxx_version:
            yield fail(
                f"libstdc++ has GLIBCXX {python.libstdcxx_version}, {posixpath.basename(path)} needs {need}",
                subject=python.prefix,
                evidence=evidence,
                impact="It does not load.",
                remedy=mend,
            )
        else:
            yield ok(
                f"libstdc++ offers GLIBCXX {python.libstdcxx_version}, {need} is needed",
                subject=python.prefix,
                evidence=evidence,
            )
    if not looked:
        yield nothing_to_judge(environment, "a compiled GPU package")


@check(
    "user-site-shadows-env",
    title="Packages in the home folder hide those of the environment",
    layer=Layer.FRAMEWORK_BUILD,
    rank=12,
    any_of=("pythons", "messages"),
    mend="Set PYTHONNOUSERSITE=1, or uninstall the copies in the home folder.",
    references=threads("conda/conda#13746", "conda-forge/python-feedstock#171"),
)
def user_site_shadows_env(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No framework lies in ~/.local as well as in the environment: the copy in the home folder is found first."""
    looked = 0
    for python in judged(environment):
        home = {item.name: item for item in python.distributions if item.user_site}
        own = {item.name: item for item in python.distributions if not item.user_site and item.installer != "conda"}
        hidden = sorted(
            name
            for name in set(home) & set(own)
            if home[name].version != own[name].version
            and (name in FRAMEWORK_MODULES or name.startswith(("nvidia-", "jax", "tensorflow")))
        )
        looked += 1
        if hidden:
            yield fail(
                f"{', '.join(hidden[:4])} in the home folder hide those of {python.prefix}",
                subject=python.prefix,
                evidence=[
                    evidence
                    for name in hidden[:3]
                    for evidence in (distribution_evidence(home[name]), distribution_evidence(own[name]))
                ],
                impact=f"Python imports {home[hidden[0]].version}, not {own[hidden[0]].version} of the environment.",
                remedy=Remedy(
                    "Leave the home folder out, or uninstall the copies there.",
                    ("export PYTHONNOUSERSITE=1", f"PYTHONNOUSERSITE= {pip(python, 'uninstall ' + ' '.join(hidden))}"),
                ),
            )
        else:
            yield ok(
                "nothing in the home folder hides a framework",
                subject=python.prefix,
                evidence=[Evidence("pythons.distributions", f"{len(home)} in the home folder", python.prefix)],
            )
    said = told(
        environment,
        "user-site-shadows-env",
        "A package in the home folder was imported instead of the environment's",
        impact="Another release runs than the environment has.",
        remedy=Remedy("Leave the home folder out.", ("export PYTHONNOUSERSITE=1",)),
    )
    yield from said
    if not looked and not said:
        yield nothing_to_judge(environment, "a Python environment")


@check(
    "local-module-shadows",
    title="A file in the working folder hides a module",
    layer=Layer.FRAMEWORK_BUILD,
    rank=13,
    any_of=("pythons", "messages"),
    mend="Rename the file or folder; do not run from inside a package's own folder.",
    references=threads("pytorch/pytorch#39473", "pytorch/pytorch#19943"),
)
def local_module_shadows(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Nothing in the working folder or on PYTHONPATH has the name of a framework or of a standard module.

    Python imports what lies in the working folder first: a torch.py there is imported instead of PyTorch.
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
    mend = Remedy(
        "Rename it, or start Python in another folder.",
        tuple(
            f"mv {path.rstrip('/')} {path.rstrip('/').removesuffix('.py')}_mine{'.py' if path.endswith('.py') else ''}"
            for path in (frameworks or shadows)[:3]
        ),
    )
    if frameworks or messages:
        name = posixpath.basename((frameworks or ["a module of your own"])[0].rstrip("/"))
        yield fail(
            f"{name} in the working folder is imported instead of the framework",
            evidence=evidence,
            impact="The import fails half-way, or names are missing.",
            remedy=mend,
        )
    elif shadows:
        yield warn(
            f"{posixpath.basename(shadows[0].rstrip('/'))} in the working folder hides a standard module",
            evidence=evidence,
            impact="Frameworks import standard modules too and may break.",
            remedy=mend,
        )
    elif environment.pythons.known:
        yield ok(
            "nothing in the working folder hides a module", evidence=[Evidence("pythons.shadowing_modules", "none")]
        )
    else:
        yield unknown("the working folder is not known")


@check(
    "pip-belongs-to-other-python",
    title="pip installs for another Python than the one that runs",
    layer=Layer.FRAMEWORK_BUILD,
    rank=9,
    any_of=("pythons", "messages"),
    mend="Use `python -m pip`; register the environment's kernel in Jupyter.",
    references=threads("pytorch/pytorch#147669", "ContinuumIO/anaconda-issues#10739"),
)
def pip_belongs_to_other_python(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The pip of PATH installs into the active environment."""
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
            yield ok("pip and python belong together", subject=python.prefix, evidence=evidence)
        else:
            yield warn(
                f"pip installs for {python.pip_python}, python is {python.executable}",
                subject=python.prefix,
                evidence=evidence,
                impact="What pip installs is not what python imports.",
                remedy=Remedy("Let the Python that runs do the installing.", (pip(python, "install …"),)),
            )
    said = told(
        environment,
        "pip-belongs-to-other-python",
        "A package was installed for another Python than the one that runs",
        impact="What pip installs is not what python imports.",
        remedy=Remedy("Install with the Python that runs the program.", ("python -m pip install …",)),
    )
    yield from said
    if not looked and not said:
        yield nothing_to_judge(environment, "pip on PATH")


@check(
    "disk-full-at-install",
    title="No space to install a framework",
    layer=Layer.FRAMEWORK_BUILD,
    rank=60,
    any_of=("system.free_bytes", "messages"),
    mend="Unpack elsewhere (TMPDIR), leave the cache out, clean up.",
    references=threads("pypa/pip#5816", "pypa/pip#7745"),
)
def disk_full_at_install(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The folder that pip unpacks in and the one it installs to have room for a CUDA build, about 6 GB.

    TMPDIR is often a small tmpfs, so that df shows space elsewhere.
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
    mend = Remedy(
        "Unpack where there is room, and leave the cache out.",
        ("TMPDIR=$HOME/tmp python -m pip install --no-cache-dir …", "python -m pip cache purge"),
    )
    if messages:
        yield fail(
            f"The disk is full{': ' + where if (where := named(messages, 'path') or '') else ''}",
            evidence=[*message_evidence(environment, messages), *evidence],
            impact="The installation stops.",
            remedy=mend,
        )
    elif not places:
        yield unknown("free space is not known", evidence=[known(environment, "system.free_bytes")])
    elif any(item.framework.cuda for item in installs(environment)):
        yield skip("a CUDA framework is installed already", evidence=evidence)
    elif tight:
        yield warn(
            f"less than {_UNPACKED_BYTES / 1e9:.0f} GB free in {', '.join(tight)}",
            evidence=evidence,
            impact="A CUDA build of a framework may not fit.",
            remedy=mend,
        )
    else:
        yield ok("there is room for a framework", evidence=evidence[:2])
