"""The Python environment and the frameworks in it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from envkit._startup.regex import regex
from envkit.base.errors import EnvkitError
from envkit.base.settings import Mirrors
from envkit.base.versions import Version
from envkit.install.model import CreatePython, Download, InstallFramework
from envkit.install.options import ScriptOptions
from envkit.solver.model import Choice
from envkit.solver.pip_calls import PipInstall, call_of
from envkit.solver.wheel_files import requirement_lines
from envkit.tables import Matrix
from envkit.tables.installer import ProbeRow, last_pip, python_file
from envkit.tables.loader import read
from envkit.tables.rows import FrameworkBuild

_REQUIREMENT = regex(r"(?s)([A-Za-z0-9._-]+)(?![A-Za-z0-9._-])(?:\[[^\]]*\])?(?:==([^\s;+]+))?.*")
_PLAIN_PROBE = "verify/generic.py.j2"


def python_step(choice: Choice, options: ScriptOptions, mirrors: Mirrors) -> CreatePython:
    """How the environment gets its interpreter. Raises EnvkitError when no way is known to envkit."""
    if choice.python is None:
        raise EnvkitError("This plan specifies no Python version.", "Specify one with --python")
    python = choice.python.release(2)
    path = options.env_dir or "/opt/envkit/" + "-".join(map(folder_word, choice.builds))
    way = choice.python_source.way if choice.python_source else "system"
    if way == "system":
        return CreatePython(python, "system", path, None, "")
    row = python_file(way, python, choice.architecture)
    if row is None:
        raise EnvkitError(
            f"No pinned {way} build of Python {python} for {choice.architecture} is known to envkit.",
            "Choose another --python.",
        )
    file = Download(row.name, mirrors.rewrite(row.url), "sha256", row.sha256)
    return CreatePython(python, way, path, file, mirrors.rewrite(row.channel))


def folder_word(build: FrameworkBuild) -> str:
    """A framework, its version and its CUDA as the name of a folder."""
    return f"{build.framework}-{release_word(build.version, None if build.cpu_only else build.cuda)}"


def release_word(version: Version, cuda: Version | None) -> str:
    """A framework's version and its CUDA: builds for two CUDA lines must share neither a folder nor a module."""
    return str(version) if cuda is None else f"{version}-cu{str(cuda).replace('.', '')}"


def framework_steps(choice: Choice, mirrors: Mirrors) -> Iterator[InstallFramework]:
    """One step per framework. Raises EnvkitError for one that has no package to install."""
    matrix = Matrix.load()
    bounds = ",".join(dict.fromkeys(build.numpy for build in choice.builds if build.numpy))
    for build in choice.builds:
        yield _framework_step(build, choice, matrix, mirrors, f"numpy{bounds}" if bounds else None)


def _framework_step(
    build: FrameworkBuild, choice: Choice, matrix: Matrix, mirrors: Mirrors, numpy: str | None
) -> InstallFramework:
    framework = matrix.framework(build.framework)
    title = framework.title if framework else build.framework
    match = _REQUIREMENT.fullmatch(build.package or "")
    if match is None:
        raise EnvkitError(
            f"{title} {build.version} has no package to install: it is built from source or distributed as an image.",
            "Use envkit dockerfile, or choose another version.",
        )
    lines = requirement_lines(build, choice.python, choice.architecture, mirrors)
    call = call_of(build, (*lines, *([numpy] if numpy else [])), choice.python, mirrors)
    row = next((row for row in read(ProbeRow) if row.framework == build.framework), None)
    return InstallFramework(
        name=build.framework,
        title=f"{title} {build.version}",
        import_name=framework.import_name if framework else build.framework,
        version=build.version,
        requirements=call.requirements,
        source=_words(call),
        pip_source=_words(PipInstall((), index_url=mirrors.index_url)),
        distribution=match.group(1),
        distribution_version=match.group(2) or str(build.version),
        cuda=None if build.cpu_only else build.cuda,
        expects_gpu=not build.cpu_only,
        probe=row.probe if row else _PLAIN_PROBE,
        pip_requirement=last_pip(choice.python) or "pip",
        advice=row.advice if row and build.bundles_cuda else "",
    )


def _words(call: PipInstall) -> tuple[str, ...]:
    """The options of a call of pip as they are in a command."""
    return tuple(chain.from_iterable(call.settings))
