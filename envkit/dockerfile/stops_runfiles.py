"""Where a build stops at NVIDIA's runfile of the CUDA toolkit: it asks unless it is silent, and has a driver inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.shell import ShellCommand, called
from envkit.dockerfile.shell_words import Word
from envkit.tables.codes import limit

_RUNFILE = regex(r"(?:\S{0,200}/)?cuda_\d[\w.-]{0,60}_linux(?:_sbsa|_ppc64le)?(?:[-.]run)?")
_SHELL = regex(r"(?:.*/)?(?:ba|da)?sh")
_INSTALLS_NOTHING = "extract|tar|noexec|help|h|check|info|list|lsm|uninstall"
_SILENT = regex(rf"--?(?:silent|s|target|{_INSTALLS_NOTHING})(?:=.*)?")
_IS_SILENT = regex(r"--?(?:silent|s)")
_RELEASE = regex(r"cuda_(\d{1,2}\.\d{1,2})\.")
# What names a part, or has the runfile install nothing; --toolkitpath and the like say where alone.
_PART = regex(rf"--?(?:toolkit|samples|driver|documentation|docs|demo-?suite|nvidia-fs|{_INSTALLS_NOTHING})(?:=.*)?")
_ANSWERED = regex(r"\byes\b|\becho\b[^\n&;]{0,80}\||<<|\bprintf\b[^\n&;]{0,80}\||expect")


def runfile_asks(ground: Ground) -> Iterator[Finding]:
    """The first runfile that runs with nothing that makes it silent."""
    runs = {part.line: part.text for part in ground.instructions if part.keyword == "RUN"}
    for command, rest, line in _runfiles(ground):
        if any(_SILENT.fullmatch(word) or "$" in word for word in rest[1:]) or _ANSWERED.search(runs.get(line, "")):
            return
        yield stop(
            faults.INSTALLER_ASKS,
            "the CUDA runfile asks what to install, but gets no answer: --silent is missing",
            command_subject(command),
            impact="The build stops: the installer finds no terminal.",
            sources=("nvidia-cuda-install-guide",),
        )
        return


def runfile_with_driver(ground: Ground) -> Iterator[Finding]:
    """The first silent runfile that is not told which parts to install: it installs all, the driver first."""
    for command, rest, _ in _runfiles(ground):
        told = _RELEASE.search(rest[0])
        if told is None or Version.parse(told[1]) < limit("runfile-installing-all"):
            continue
        options = rest[1:]
        silent = any(_IS_SILENT.fullmatch(word) for word in options)
        if silent and not any(_PART.fullmatch(word) or "$" in word for word in options):
            yield stop(
                faults.DRIVER_INSIDE,
                "the CUDA runfile installs the driver too, as no option names the parts: --toolkit is missing",
                command_subject(command),
                impact="The build stops: the driver's kernel module cannot be built or loaded while an image is built.",
                fix="Add --toolkit, which leaves the driver out: the container toolkit mounts the host's.",
                sources=("nvidia-cuda-install-guide",),
            )
            return


def _runfiles(ground: Ground) -> Iterator[tuple[ShellCommand, Sequence[Word], int]]:
    """Each command that certainly runs such a runfile: itself, its words from the file on, and the line of its RUN."""
    for step in ground.steps:
        words = called(step.command)
        rest = words[1:] if words and _SHELL.fullmatch(words[0]) else words
        if rest and rest[0].endswith("run") and _RUNFILE.fullmatch(rest[0]) and step.command.decisive:
            yield step.command, rest, step.place[1]
