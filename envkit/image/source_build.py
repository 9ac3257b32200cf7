"""Frameworks that exist only as source: compiled in a stage of their own, the result copied into the image."""

from __future__ import annotations

from collections.abc import Iterable

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base.settings import Mirrors
from envkit.compat.system import other_gcc
from envkit.image.download import download_steps, fetch
from envkit.image.parts import Base, Copy, Environment, Run, Stage, Step
from envkit.image.system import install
from envkit.solver.model import Choice
from envkit.tables import images as data
from envkit.tables.rows import FrameworkBuild, OperatingSystem


@record
class SourceBuild:
    """One framework built from source: its stage, what the image takes from it and the packages that it loads."""

    stage: Stage
    steps: tuple[Step, ...]
    packages: tuple[str, ...]


def source_build(
    build: FrameworkBuild,
    choice: Choice,
    system: OperatingSystem,
    base: Base,
    mirrors: Mirrors,
    first: tuple[Step, ...] = (),
) -> SourceBuild | None:
    """The build from source on `base`, which has the compilers of CUDA; None for a framework that has packages.

    `first` are steps that come before it, such as those that provide cuDNN.
    """
    rows = data.source_steps(build)
    if build.package is not None or not rows:
        return None
    by_kind: dict[str, list[str]] = {}
    for row in rows:
        by_kind.setdefault(row.kind, []).append(filled(row.value, choice))
    name = f"{build.framework}-build"
    folder = f"/opt/src/{build.framework}"
    commands: list[str] = []
    caches: tuple[str, ...] = ()
    for url in by_kind.get("archive", ()):
        got = fetch(mirrors.rewrite(url), f"{build.framework}-{url.rpartition('/')[2]}", None, None)
        commands += [*got.commands, f"mkdir -p {folder}", f"tar -xzf {got.path} -C {folder} --strip-components=1"]
        caches = (got.folder,)
    for text in by_kind.get("git", ()):
        address, _, branch = text.partition(" ")
        commands.append(
            f"git clone --depth 1 --recursive --shallow-submodules --branch {branch}"
            f" {mirrors.rewrite(address)} {folder}"
        )
    gcc = other_gcc(system, choice.toolkit) if choice.toolkit else None
    compilers = (f"gcc-{gcc}", f"g++-{gcc}") if gcc else ()
    # cmake hands the compiler of C to nvcc, which refuses the system's own
    commands += [f"cd {folder}", *([f"export CC=gcc-{gcc} CXX=g++-{gcc}"] if gcc else [])]
    commands += by_kind.get("run", ())
    commands += [command for path in by_kind.get("copy", ()) for command in _list_libraries(path)]
    packages = _names(by_kind.get("packages", ()))
    tools = download_steps(system, mirrors, extra=(*packages, *compilers))
    compiled = Run(
        tuple(commands),
        caches=caches,
        secrets={"ca": None},
        ignore=("DL3003",),
        why="The build runs in its source directory.",
    )
    stage = Stage(name, base, (*tools, *first, compiled))
    taken: list[Step] = []
    for path in by_kind.get("copy", ()):
        taken += [Copy(name, path, path), *_libraries_step(path, system)]
    pairs = (text.partition("=") for text in by_kind.get("environment", ()))
    variables = {key: f"{value}$PATH" if key == "PATH" else value for key, _, value in pairs}
    if variables:
        taken.append(Environment(variables))
    return SourceBuild(stage, tuple(taken), _names(by_kind.get("runtime", ())))


def _names(values: Iterable[str]) -> tuple[str, ...]:
    """The package names that the values of steps list, with semicolons between them."""
    return tuple(name for text in values for name in text.split(";"))


_TWO = 2  # whose program and packages are called plain python
_FIELDS = regex(r"\{(python|python_major|cuda_flags)\}")


def filled(value: str, choice: Choice) -> str:
    """A step's value with the names of the plan's Python and CMake's words for its CUDA."""
    major = choice.python.major if choice.python else _TWO
    fields = {
        "python": "python" if major == _TWO else f"python{major}",
        "python_major": str(major),
        "cuda_flags": _cuda_flags(choice),
    }
    return _FIELDS.sub(lambda found: fields[found.group(1)], value)


def _list_libraries(path: str) -> tuple[str, ...]:
    """Commands that write the packages of all libraries that the built files load into PATH/packages."""
    return (
        f"{{ find {path} -type f -exec ldd {{}} + > /tmp/loaded 2> /dev/null || true; }}",
        r"sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' /tmp/loaded > /tmp/paths",
        "{ xargs -a /tmp/paths dpkg -S > /tmp/owners 2> /dev/null || true; }",
        "sed 's/:.*//' /tmp/owners > /tmp/names",
        f"sort -u -o {path}/packages /tmp/names",
    )


def _libraries_step(path: str, system: OperatingSystem) -> tuple[Run, ...]:
    """The step that installs those packages, without the headers and tools of the build."""
    step = install(system, ("$packages",), Mirrors())
    assert step is not None
    *prepare, last = step.commands
    listed = f"xargs -a {path}/packages {last.partition(chr(10))[0]}"
    return (replace(step, commands=(*prepare, listed), why="The libraries that the compiled files load."),)


def _cuda_flags(choice: Choice) -> str:
    """CMake's words for a build with the toolkit in its usual place, or without CUDA."""
    return "-DCPU_ONLY=ON" if choice.cuda is None else "-DCUDA_TOOLKIT_ROOT_DIR=/usr/local/cuda"
