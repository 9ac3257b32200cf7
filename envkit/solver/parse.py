"""Option values become typed request parts; each error names the option and the valid values, nearest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from envkit._startup.records import replace, types_of
from envkit._startup.regex import regex
from envkit.base.errors import RequestError
from envkit.base.platforms import ARCHITECTURES, JETSON, WINDOWS, WSL
from envkit.base.versions import ComputeCapability, Version, VersionSpec, narrowest
from envkit.compat.software import some_version_meets
from envkit.solver.request import FrameworkRequest, Request, RequestWords, TargetGpu

if TYPE_CHECKING:
    from envkit.tables import Matrix

_EXAMPLES = {
    "--cuda": "Examples: --cuda 9.0 or --cuda '>=12'",
    "--cudnn": "Examples: --cudnn 7.6 or --cudnn '>=9'",
    "--python": "Examples: --python 3.10 or --python '>=3.9'",
    "--framework": "Examples: --framework pytorch==2.6 or --framework 'mxnet>=1.5'",
}
_FRAMEWORK = regex(r"([A-Za-z][\w.-]*)\s*((?:[=<>!~]=?|==)\s*[\d.*].*)?")
_ANY_WINDOWS = regex(r"win(?:dows)?[ _-]?(?:server[ _-]?)?[0-9.]*")  # its releases run the same drivers and packages
_SUFFIXED = regex(r"==\s*(\d+(?:\.\d+)*)(\.post\d+)")


def parse_request(words: RequestWords, matrix: Matrix, *, container: bool) -> Request:
    """The request as the user wrote it, nothing filled in from a machine. Raises RequestError."""

    def spec(option: str, text: str | None, versions: Callable[[], Iterable[Version]]) -> VersionSpec | None:
        return None if text is None else parse_known(option, text, versions())

    cuda = words.cuda
    if cuda is not None:
        from envkit.solver.not_covered import refuse_cuda
        from envkit.solver.other_words import cuda_words

        cuda = cuda_words(cuda)
        refuse_cuda(cuda)
    gpus = _gpus(words, matrix)
    os_id, platform = _system(words.os_id, gpus, matrix, container=container)
    return Request(
        frameworks=_merged(parse_framework(text, matrix, words) for text in words.frameworks),
        cuda=spec("--cuda", cuda, lambda: (row.version for row in matrix.toolkits)),
        cudnn=spec("--cudnn", words.cudnn, lambda: (row.version for row in matrix.cudnns)),
        python=None if words.python is None else parse_python(words.python, matrix),
        os_id=os_id,
        architecture=_architecture(words.arch, gpus),
        platform=platform,
        gpus=gpus,
        driver=None if words.driver is None else parse_driver(words.driver),
        container=container,
        asked=frozenset(name for name in types_of(RequestWords) if getattr(words, name)),
    )


def _gpus(words: RequestWords, matrix: Matrix) -> tuple[TargetGpu, ...]:
    """The GPUs asked for. Raises RequestError, which also says what is wrong with the name of a framework."""
    try:
        return tuple(parse_gpu(text, matrix) for text in words.gpus)
    except RequestError as error:
        plain = replace(words, gpus=())
        for text in words.frameworks:
            try:
                parse_framework(text, matrix, plain)
            except RequestError as other:
                raise RequestError(error.message, f"{error.hint} Also, {other}".strip()) from None
        raise


def _system(asked: str | None, gpus: Iterable[TargetGpu], matrix: Matrix, *, container: bool) -> tuple[str | None, str]:
    """The distribution asked for and the platform: that of a GPU built onto one, otherwise what `--os` says of it.

    Windows is a platform without a distribution; `wsl` stands for a distribution under the driver of Windows. Raises
    RequestError where they differ.
    """
    board = next((gpu for gpu in gpus if gpu.platform), None)
    os_id = None if asked is None else parse_os(asked, matrix)
    platform = os_id if os_id in (WINDOWS, WSL) else None
    if platform and board:
        raise RequestError(f"--os: {board.name} does not run {platform}.", "Omit it.")
    if platform == WINDOWS and container:
        raise RequestError("--os: an image contains a Linux distribution, not Windows.", "Example: --os ubuntu22.04")
    if board and board.platform:
        return os_id, board.platform
    return (None if platform == WINDOWS else os_id), platform or "linux"


def _architecture(asked: str | None, gpus: Iterable[TargetGpu]) -> str:
    """The processor asked for, otherwise the one that a GPU is built onto. Raises RequestError where they differ."""
    if asked is not None and asked not in ARCHITECTURES:
        from envkit.solver.not_covered import refuse_architecture

        refuse_architecture(asked, ARCHITECTURES)
        raise RequestError(f"--arch: {asked!r} is not known.", f"One of {', '.join(ARCHITECTURES)}.")
    for gpu in gpus:
        if gpu.architecture and asked and asked != gpu.architecture:
            raise RequestError(f"--arch: {gpu.name} exists only on {gpu.architecture}.", "Omit it.")
    return asked or next((gpu.architecture for gpu in gpus if gpu.architecture), "x86_64")


def parse_spec(option: str, text: str) -> VersionSpec:
    """The version spec of an option. Raises RequestError."""
    try:
        spec = VersionSpec.parse(text)
    except ValueError:
        raise RequestError(f"{option}: {text!r} is not a version.", _EXAMPLES[option]) from None
    if not spec.clauses:
        raise RequestError(f"{option}: the value must not be empty.", f"Omit {option}, or specify a version.")
    return spec


def parse_known(option: str, text: str, versions: Iterable[Version]) -> VersionSpec:
    """The version spec of an option, which some version in the data meets. Raises RequestError with the nearest."""
    return _known(parse_spec(option, text), option, versions)


def parse_python(text: str, matrix: Matrix) -> VersionSpec:
    """A Python version, of which `3.10.4` asks for the line 3.10. Raises RequestError for one that nobody makes."""
    from envkit.solver.other_words import python_words

    spec = parse_spec("--python", python_words(text))
    lines = {row.python.release(2) for row in matrix.python_sources}
    exact = spec.exact
    if exact is not None and len(exact.parts) > 2 and exact.release(2) in lines:
        return spec
    return _known(spec, "--python", lines)


def parse_framework(text: str, matrix: Matrix, words: RequestWords | None = None) -> FrameworkRequest:
    """`pytorch`, `torch==2.3`, `mxnet>=1.5,<2` by our name. Raises RequestError for an unknown name or version.

    `words` are those of the whole request, which decide what is told of software that has no table.
    """
    match = _FRAMEWORK.fullmatch(text.strip())
    if match and match.group(2) and "+" in match.group(2):
        plain, _, build = text.partition("+")
        raise RequestError(
            f"--framework: {text!r} names one build.",
            f"Choose it by its CUDA version: --framework {plain} --cuda VERSION",
        )
    if not match:
        raise RequestError(f"--framework: {text!r} is not NAME or NAME==VERSION.", "Example: --framework 'mxnet>=1.5'")
    framework = matrix.framework(match.group(1))
    if framework is None:
        from envkit.solver.companions import companion_words
        from envkit.solver.not_covered import unknown_framework
        from envkit.solver.not_covered_facts import facts_of, torch_of

        words = words or RequestWords()
        companion = companion_words(match.group(1), match.group(2), torch_of(words))
        if companion is not None:
            return companion
        gpus = [parse_gpu(gpu, matrix).compute_capability for gpu in words.gpus]
        unknown = unknown_framework(match.group(1), words, matrix, facts_of(match.group(1), words, gpus, matrix))
        unknown.text = text
        raise unknown
    if not match.group(2):
        return FrameworkRequest(framework.name)
    spec = parse_spec("--framework", _without_suffix(match.group(2), framework.name, matrix))
    known = [build.version for build in matrix.builds(framework.name)]
    return FrameworkRequest(framework.name, _known(spec, f"--framework {framework.name}", known))


def _without_suffix(spec: str, framework: str, matrix: Matrix) -> str:
    """`==2.15.0` for `==2.15.0.post1` where a package of the framework has that number; other words as they are."""
    found = _SUFFIXED.fullmatch(spec)
    if found is None:
        return spec
    packages = (build.package or "" for build in matrix.builds(framework))
    return f"=={found[1]}" if any(name.endswith(f"=={found[1]}{found[2]}") for name in packages) else spec


def parse_os(text: str, matrix: Matrix) -> str:
    """The id of a distribution in the data, or `windows`. Raises RequestError."""
    row = matrix.operating_system(text.lower())
    if row is not None:
        return row.os_id
    if _ANY_WINDOWS.fullmatch(text.lower()):
        return WINDOWS
    from envkit.solver.not_covered import refuse_system

    refuse_system(text)
    newest_first = [row.os_id for row in reversed(matrix.operating_systems)]
    known = [*newest_first, WINDOWS]
    raise RequestError.unknown_value("--os", text, known, "envkit matrix operating-systems")


def parse_gpu(text: str, matrix: Matrix) -> TargetGpu:
    """A GPU by name, model number or compute capability. Raises RequestError with the nearest names."""
    from envkit.solver.gpu_name import is_model_number, model_of, models_of, named_so_far
    from envkit.solver.not_covered import refuse_old
    from envkit.solver.other_words import refuse_target
    from envkit.solver.target import target_gpu

    try:
        capability = ComputeCapability.parse(text)
    except ValueError:
        pass
    else:
        refuse_target(capability, text)
        refuse_old(capability, text)
        if capability.numbers in _capabilities(matrix) or not is_model_number(text, matrix):
            known = _on_record(capability, text, matrix)
            boards = [row for row in matrix.gpus if row.compute_capability == known]
            if boards and all(row.variant == JETSON for row in boards):  # nothing for servers is made for it
                return replace(target_gpu(boards[0]), name="Jetson")
            return TargetGpu(known)
    model = model_of(text, matrix)
    alike = model.variant == JETSON and len(models_of(text, matrix)) > 1  # one of several boards that judge alike
    return replace(target_gpu(model), name=text if alike else named_so_far(text, model, matrix))


def _capabilities(matrix: Matrix) -> set[tuple[int, int]]:
    return {(row.compute_capability.major, row.compute_capability.minor) for row in matrix.gpus}


def _on_record(capability: ComputeCapability, text: str, matrix: Matrix) -> ComputeCapability:
    known = _capabilities(matrix)
    if capability.numbers in known:
        return capability
    below = [pair for pair in known if pair < capability.numbers]
    above = [pair for pair in known if pair > capability.numbers]
    nearest = [pick(side) for pick, side in ((max, below), (min, above)) if side]
    raise RequestError(
        f"--gpu: no known GPU has compute capability {text}.",
        f"Nearest: {', '.join(f'{major}.{minor}' for major, minor in nearest)}",
    )


def _merged(asked: Iterable[FrameworkRequest]) -> tuple[FrameworkRequest, ...]:
    """One request for each framework. Raises RequestError for a framework that is asked for in two ways.

    What a package needs that was asked for by its own name narrows what is asked of its framework; where the two
    exclude each other, that is a clash of the request, and what was asked of the framework itself stands.
    """
    found: dict[str, FrameworkRequest] = {}
    for one in asked:
        other = found.setdefault(one.name, one)
        if other is one:
            continue
        if not (one.companions or other.companions) and None not in (one.spec, other.spec) and one.spec != other.spec:
            raise RequestError(
                f"--framework: {one.name} is requested both as {other} and as {one}.",
                f"Specify one version, or a range such as '{one.name}>=1,<2'.",
            )
        companions = tuple(dict.fromkeys([*other.companions, *one.companions]))
        typed = one if other.companions and not one.companions else other
        rest = other if typed is one else one
        found[one.name] = replace(typed, spec=_narrower(typed.spec, rest.spec), companions=companions)
    return tuple(found.values())


def _narrower(typed: VersionSpec | None, other: VersionSpec | None) -> VersionSpec | None:
    """What meets both, as far as anything does; otherwise the first."""
    if typed is None or other is None or typed == other:
        return typed if other is None else other
    for one, rest in ((other, typed), (typed, other)):
        if one.exact is not None and rest.holds(one.exact):
            return one
    if typed.exact is not None or other.exact is not None or not some_version_meets((typed, other)):
        return typed
    return VersionSpec.parse(narrowest((str(typed), str(other))))


_FIRST_BRANCH = 100  # every driver that runs a CUDA of the tables is of a branch with three digits


def parse_driver(text: str) -> Version:
    """A driver version. Raises RequestError."""
    try:
        version = Version.parse(text)
    except ValueError:
        raise RequestError(f"--driver: {text!r} is not a driver version.", "Example: --driver 384.81") from None
    if version.major < _FIRST_BRANCH:
        raise RequestError(
            f"--driver: {text} is not a driver version; nvidia-smi shows the CUDA version next to the driver version.",
            "Specify the driver version, as in --driver 384.81. To plan for that CUDA version, run: envkit resolve "
            f"--cuda {text}",
        )
    return version


def _known(spec: VersionSpec, option: str, versions: Iterable[Version]) -> VersionSpec:
    known = sorted(set(versions))
    if any(spec.holds(version) for version in known):
        return spec
    wanted = spec.clauses[0][1]
    if known and wanted > known[-1]:
        raise RequestError(
            f"{option}: {wanted} is newer than any release this version of envkit knows.",
            f"Update envkit, or choose {known[-1]}, the newest.",
        )
    nearest = sorted(
        known, key=lambda version: (version.major != wanted.major, abs(_number(version) - _number(wanted)))
    )
    shown = ", ".join(dict.fromkeys(str(version) for version in nearest[:2]))
    raise RequestError(f"{option}: no known version matches {spec}.", f"Nearest: {shown}")


def _number(version: Version) -> float:
    return version.major * 1e4 + version.minor * 1e2 + (version.parts[2] if len(version.parts) > 2 else 0) / 1e4
