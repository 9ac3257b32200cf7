"""The question to put to `envkit resolve`: framework, GPU, driver and CUDA as far as facts and messages name them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.command import CAPABILITY, NAME, REQUIREMENT, SPEC, VERSION, Command, Word, run
from envkit.checks.engine.managers import appliance
from envkit.checks.engine.messages import named
from envkit.checks.engine.remedies import WITHOUT_PLANS, families, on_windows, steps
from envkit.checks.frameworks.installs import capable_gpus, installs, judged
from envkit.checks.nvidia_driver.driver_state import driver_platform, installed
from envkit.model import Environment, Message
from envkit.tables.loader import read
from envkit.tables.rows import Runfile

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import Framework

_HERE = Environment().origin
_WORD = regex(r"[A-Za-z_]+(?:-[A-Za-z]+\d*)*")  # `torch` of torch-2.7.1, mxnet-cu112
_SM = regex(r"(?:sm_)?(?P<major>\d{1,2})(?P<minor>\d)")
_OTHER_PROCESSORS = ("aarch64",)  # of those that plans are made for; the other is what they are made for unasked
_WITH_TORCH = ("torchvision", "torchaudio")
_ERRORS_OF_TORCH = ("RuntimeError: CUDA error:", "AcceleratorError:")  # how PyTorch passes on an error of CUDA
_MOST_ASKED = "pytorch"


def framework_of(environment: Environment, matrix: Matrix, messages: Iterable[Message] = ()) -> str:
    """The framework that the messages speak of, otherwise the one installed, otherwise the one that most ask for."""
    for word in _words(tuple(messages)):
        framework = framework_by_package(matrix, word)
        if framework is not None:
            return framework.name
    own = (item.framework.name for item in installs(environment) if matrix.framework(item.framework.name))
    return next(own, _MOST_ASKED)


def tells_framework(environment: Environment, matrix: Matrix, messages: Iterable[Message] = ()) -> bool:
    """Whether the messages or the installed packages show a framework of ours: other programs have builds of their own.

    On the machine itself nobody has told anything else, so the one that most ask for is as good as any.
    """
    said = tuple(messages)
    by_torch = any(sign in message.text for message in said for sign in _ERRORS_OF_TORCH)
    named_one = by_torch or any(framework_by_package(matrix, word) is not None for word in _words(said))
    own = any(matrix.framework(item.framework.name) for item in installs(environment))
    return named_one or own or environment.origin == _HERE


def framework_by_package(matrix: Matrix, package: str) -> Framework | None:
    """The framework whose package it is, or that the package is released together with; None for none of ours."""
    return matrix.framework("torch" if package in _WITH_TORCH else package)


def _words(messages: tuple[Message, ...]) -> Iterator[str]:
    """The words that may name a framework: the package, the message's own kind, the line as it stood."""
    for message in messages:
        if message.values.get("package"):
            yield message.values["package"]
    for message in messages:
        yield message.signature.partition("/")[2].partition("-")[0]
    for message in messages:
        yield from (match.group().lower() for match in _WORD.finditer(message.text))


def capability_of(messages: Iterable[Message]) -> str:
    """The compute capability that a message names, `12.0` for `sm_120` as for `12.0`; '' where none does."""
    said = tuple(messages)
    number = _SM.fullmatch(named(said, "sm") or "")
    told = f"{number['major']}.{number['minor']}" if number else named(said, "capability") or ""
    return told if isinstance(CAPABILITY(told), str) else ""


def resolve_command(
    environment: Environment,
    matrix: Matrix,
    messages: Iterable[Message] = (),
    *,
    framework: str = "",
    cuda: str = "",
    on_this_system: bool = False,
    any_python: bool = False,
) -> Command:
    """The `envkit resolve` that names what fits; on the machine itself it looks for GPU, driver and system on its own.

    `on_this_system`: the distribution matters too. `any_python`: the one that is there is to be replaced.
    """
    said = tuple(messages)
    name = framework or framework_of(environment, matrix, said)
    words: list[Word] = ["envkit", "resolve", "--framework", REQUIREMENT(name)]
    if cuda:
        words += ["--cuda", SPEC(cuda)]
    if environment.origin != _HERE:
        processor = environment.system.architecture.value
        platform = driver_platform(environment)
        if platform != "linux":
            words += ["--os", NAME(platform)]
        elif on_this_system and environment.system.os.known:
            row = matrix.operating_system(environment.system.os.get().os_id)
            words += ["--os", NAME(row.os_id)] if row is not None else []
        words += ["--arch", NAME(processor)] if processor in _OTHER_PROCESSORS else []
        words += [] if any_python else _python_of(environment)
        words += [*_machine(environment, matrix, said, with_driver=not cuda), "--target", "any"]
    return run(*words)


def _python_of(environment: Environment) -> list[Word]:
    """The option that names the Python in use, where there is one of known version."""
    versions = {python.version.release(2) for python in judged(environment) if python.version is not None}
    return ["--python", VERSION(versions.pop())] if len(versions) == 1 else []


def toolkit_at_home(environment: Environment, version: Version) -> tuple[Command, ...]:
    """NVIDIA's installer into the home directory, on a distribution that no plan is made for; none on others."""
    planned = not WITHOUT_PLANS.issuperset(families(environment))
    if not environment.system.os.known or planned or appliance(environment):
        return ()
    rows = [row for row in read(Runfile) if row.kind == "toolkit" and row.architecture == "x86_64"]
    row = max(
        (row for row in rows if row.cuda.release(2) == version.release(2)), key=lambda row: row.cuda, default=None
    )
    if row is None:
        return ()
    return steps(environment, "toolkit-at-home", url=row.url, file=row.name, version=version.release(2))


def install_cuda(environment: Environment, version: Version, cudnn: Version | None = None) -> tuple[Command, ...]:
    """The commands that install a toolkit next to the others and build with it, in this shell."""
    if on_windows(environment):
        return (run("winget", "install", "--id", "Nvidia.CUDA", "--version", VERSION(version.release(2))),)
    if by_runfile := toolkit_at_home(environment, version):
        return by_runfile
    return (
        run("envkit", "install", "--cuda", VERSION(version), *_with_cudnn(cudnn), "--run"),
        *steps(environment, "use-toolkit", root=f"/usr/local/cuda-{version.release(2)}"),
    )


def _with_cudnn(cudnn: Version | None) -> tuple[Word, ...]:
    return ("--cudnn", VERSION(cudnn.release(2))) if cudnn is not None else ()


def _machine(
    environment: Environment, matrix: Matrix, messages: tuple[Message, ...], *, with_driver: bool
) -> Iterator[Word]:
    named_gpu = capability_of(messages)
    gpus = [named_gpu] if named_gpu else sorted({str(own) for _, own in capable_gpus(environment, matrix)})
    yield from (word for own in gpus for word in ("--gpu", CAPABILITY(own)))
    driver: Version | None = installed(environment)
    if driver is not None and with_driver:
        yield from ("--driver", VERSION(driver))
