"""What a project's files add to an image: the step that installs its list, libraries, and what is missing."""

from __future__ import annotations

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.names import requirement_name
from envkit.base.settings import Mirrors
from envkit.image.frameworks import framework_pins
from envkit.image.options import MARKER, ImageOptions, ProjectParts
from envkit.image.parts import Run
from envkit.image.python import header_packages, pip_run
from envkit.solver.model import Choice
from envkit.solver.pip_calls import PipInstall, installed_by_pip
from envkit.tables import images as data
from envkit.tables.rows import OperatingSystem

_FOLDER = "/tmp/requirements"
_PLACE = regex(r"[\w./\[\],+:@#=%-]+")
_SPECIAL = regex(r"([.\[\]*^$+?(){}|\\/])")
_SEPARATOR = regex(r"[-_.]")
_APT = "apt"
_TOOLS = "/tmp/build-tools.txt"
_JOIN = r"-e ':a' -e '/\\$/{N;s/\\\n//;ba}'"  # lines that a backslash continues


def context_files(options: ImageOptions) -> tuple[str, ...]:
    """The files of the build context that the image reads."""
    return tuple(name for name in (options.lock, options.requirements, *options.project.included) if name)


def for_python(options: ImageOptions, choice: Choice) -> ImageOptions:
    """The options with the requirements that are for the image's Python alone."""
    if not any(MARKER in line for line in options.pip):
        return options
    from envkit.base.markers import holds

    lines = (line.partition(MARKER) for line in options.pip)
    kept = (line for line, _, marker in lines if holds(marker, choice.python, choice.architecture) is not False)
    return replace(options, pip=tuple(dict.fromkeys(kept)))


def requirements_step(options: ImageOptions, choice: Choice, mirrors: Mirrors) -> Run:
    """What a requirements file of the build context names, without what the image has in another way."""
    file, parts = options.requirements or "", options.project
    index = "".join(f'{option} "{value}" ' for option, value in PipInstall((), index_url=mirrors.index_url).settings)
    others = _replaced(parts, choice)
    patterns = [*map(_of_package, others), *(_of_place(place) for place in parts.local if _PLACE.fullmatch(place))]
    whole = f"{_FOLDER}/{file}" if parts.included or patterns else f"{_FOLDER}.txt"
    read_from = f"{_FOLDER}/of-image.txt" if patterns else whole
    beside = () if parts.hashed else (*(framework_pins(choice) if others else ()), *parts.bounds)
    bounds = "".join(f'\n"{line}"' for line in beside)
    drop = (f"-e '/{pattern}/Id'" for pattern in patterns)
    leave_out = "\n".join(("sed -E", *([_JOIN] if parts.hashed else ()), *drop, f"{whole} > {read_from}"))
    command = f"python -m pip install {index}--requirement {read_from}{bounds}"
    return pip_run(
        (*([leave_out] if patterns else ()), *with_build_tools(parts, command)),
        bind=(f"{file}:{whole}", *(f"{name}:{_FOLDER}/{name}" for name in parts.included)),
        why=_why(others, patterns),
    )


def with_build_tools(parts: ProjectParts, command: str) -> tuple[str, ...]:
    """A call of a pip that takes the project's packages, with the setuptools that their builds import."""
    if not parts.lines:
        return (command,)
    from envkit.image.project_needs import old_setuptools, refusing_pip

    refusing = refusing_pip(parts.lines)
    first = (f'python -m pip install "pip<{refusing}"',) if refusing is not None else ()
    bound = None if parts.hashed else old_setuptools(parts.lines)
    if bound is None:
        return (*first, command)
    return (*first, f"echo '{bound}' > {_TOOLS}", f"PIP_CONSTRAINT={_TOOLS} PIP_BUILD_CONSTRAINT={_TOOLS} {command}")


def _why(others: tuple[str, ...], patterns: list[str]) -> str:
    if others:
        return f"The project's list, without {', '.join(others)}, which would overwrite the GPU build of the image."
    return "The project's list, without what is in its own folder." if patterns else ""


def _replaced(parts: ProjectParts, choice: Choice) -> tuple[str, ...]:
    """The packages of the list in whose place the image has another package of the same framework."""
    installed = {
        build.framework: requirement_name(build.package or "")
        for build in choice.builds
        if installed_by_pip(build, choice)
    }
    return tuple(name for framework, name in parts.frameworks if installed.get(framework, name) != name)


def _of_package(name: str) -> str:
    """The lines that name a package, as an extended regular expression."""
    return rf"^[[:space:]]*{_SEPARATOR.sub('[-_.]', name)}[[:space:]]*([<>=!~;#[]|$)"


def _of_place(place: str) -> str:
    """The lines that name a place in the project's folder."""
    bare = place.removeprefix("./") if place != "./" else place
    escaped = _SPECIAL.sub(r"\\\1", bare)
    return rf"^[[:space:]]*((-e|--editable)[[:space:]=]*)?(\.\/)?{escaped}[[:space:]]*(#|;|$)"


def project_packages(parts: ProjectParts, system: OperatingSystem, choice: Choice) -> tuple[str, ...]:
    """The distribution packages that a project's files name, and those that its packages of pip load or need."""
    purposes = ["git"] if parts.git else []
    headers: tuple[str, ...] = ()
    if parts.lines:
        from envkit.image.project_needs import is_compiled, libraries

        purposes += libraries(parts.lines)
        if any(map(is_compiled, parts.lines)):
            purposes.append("compiler")
            headers = header_packages(choice.python_source, system)
    names = [*(name for purpose in dict.fromkeys(purposes) for name in data.packages(purpose, system)), *headers]
    return tuple(dict.fromkeys((*names, *(parts.apt if system.package_manager == _APT else ()))))


def missing(parts: ProjectParts, choice: Choice) -> tuple[str, ...]:
    """What the project asks for and the image does not install."""
    foreign = parts.apt if choice.os is not None and choice.os.package_manager != _APT else ()
    return (*parts.missing, *((f"packages of Debian and Ubuntu: {', '.join(foreign)}",) if foreign else ()))
