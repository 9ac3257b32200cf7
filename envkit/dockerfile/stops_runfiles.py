"""Where a build stops at NVIDIA's runfile of the CUDA toolkit, which asks unless it is told to be silent."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.shell import called

_RUNFILE = regex(r"(?:\S{0,200}/)?cuda_\d[\w.-]{0,60}_linux(?:_sbsa|_ppc64le)?(?:[-.]run)?")
_SHELL = regex(r"(?:.*/)?(?:ba|da)?sh")
_SILENT = regex(r"--?(?:silent|s|extract|help|h|check|info|list|lsm|tar|noexec|target|uninstall)(?:=.*)?")
_ANSWERED = regex(r"\byes\b|\becho\b[^\n&;]{0,80}\||<<|\bprintf\b[^\n&;]{0,80}\||expect")


def runfile_asks(ground: Ground) -> Iterator[Finding]:
    """The first runfile that runs with nothing that makes it silent."""
    runs = {part.line: part.text for part in ground.instructions if part.keyword == "RUN"}
    for step in ground.steps:
        words = called(step.command)
        rest = words[1:] if words and _SHELL.fullmatch(words[0]) else words
        if not rest or not rest[0].endswith("run") or not _RUNFILE.fullmatch(rest[0]) or not step.command.decisive:
            continue
        if any(_SILENT.fullmatch(word) or "$" in word for word in rest[1:]) or _ANSWERED.search(
            runs.get(step.place[1], "")
        ):
            return
        yield stop(
            faults.INSTALLER_ASKS,
            "the CUDA runfile asks what to install, but gets no answer: --silent is missing",
            command_subject(step.command),
            impact="The build stops: the installer finds no terminal.",
            sources=("nvidia-cuda-install-guide",),
        )
        return
