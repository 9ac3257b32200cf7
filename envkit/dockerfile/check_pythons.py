"""Whether the Python that starts the container is the one that pip has installed for."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import stop, subject_of
from envkit.dockerfile.contents import parts_of
from envkit.dockerfile.python_steps import Callers
from envkit.dockerfile.shell import called
from envkit.dockerfile.shell_words import exec_form
from envkit.dockerfile.stages import BuildStage, final_chain

_PYTHON = regex(r"(?:/usr/bin/)?python3?")
_END = (10**9,)  # behind every command
_PIP = regex(r"(?:^|[ /])pip[\d.]*$")
_NUMBERED = regex(r"(?:python|pip)-?(\d)\.(\d+)")
_IMPORTED = regex(r"(?:^|[;\n]) *(?:from|import) +([A-Za-z_]\w{0,80})")
_TOOLS = frozenset({"pip", "setuptools", "wheel", "--upgrade", "-U", "--no-cache-dir", "-q"})


def other_python(stages: Sequence[BuildStage], callers: Callers | None) -> Iterator[Finding]:
    """The finding on a program that is started with a Python that nothing was installed for, in place of another."""
    chain = final_chain(stages)
    if callers is not None:
        yield from _imported_elsewhere(chain, callers)
    started = _started(chain)
    if callers is None or not started or not _PYTHON.fullmatch(started[0]) or started[1:3] == ["-m", "http.server"]:
        return
    runs = callers.of(started[0], _END)
    served = set(_served(chain, callers))
    if runs is None or not served or None in served or runs in served:
        return
    line = next((part.line for part in parts_of(chain, "CMD", "ENTRYPOINT")), chain[-1].line)
    for part in parts_of(chain, "RUN"):
        line = next((one.line for one in part.commands if _links_python(one.words)), line)
    told = series(sorted(str(version) for version in served))
    yield stop(
        faults.OTHER_PYTHON,
        f"the container starts {started[0]}, which is Python {runs} here, but pip installs for Python {told}",
        subject_of(line, started[0]),
        impact="The program starts without the packages that were installed: No module named ….",
    )


def _imported_elsewhere(chain: Sequence[BuildStage], callers: Callers) -> Iterator[Finding]:
    """The first RUN that imports packages in a Python that no command before it has installed any for."""
    served: set[Version | None] = set()
    for stage in chain:
        for part in parts_of((stage,), "RUN"):
            for number, command in enumerate(part.commands):
                place = (stage.index, part.line, number)
                words = called(command)
                served.update(_served_by(words, callers, place))
                runs = callers.of(words[0], place) if _imports(words) and command.decisive else None
                if runs is not None and served and None not in served and runs not in served:
                    told = series(sorted(map(str, served)))
                    yield stop(
                        faults.OTHER_PYTHON,
                        f"{words[0]} is Python {runs} here, but pip installs for Python {told}",
                        subject_of(words[0].line, " ".join(words[:2])),
                        impact="The build stops with: No module named ….",
                    )
                    return


def _imports(words: Sequence[str]) -> bool:
    """True for `python -c` of a script that imports something that Python does not come with."""
    if not words or not _PYTHON.fullmatch(words[0]) or "-c" not in words[1:-1]:
        return False
    names = _IMPORTED.findall(words[words.index("-c") + 1])
    return any(name not in sys.stdlib_module_names for name in names)


def _links_python(words: Sequence[str]) -> bool:
    """True for a command that gives the name python to a program."""
    return words[0] in ("ln", "update-alternatives") and any(word.rpartition("/")[2] == "python" for word in words)


def _started(chain: Sequence[BuildStage]) -> list[str]:
    """The words that start the container, where no script does."""
    starts = {part.keyword: part.text for part in parts_of(chain, "CMD", "ENTRYPOINT")}
    text = starts.get("ENTRYPOINT", starts.get("CMD", ""))
    words = exec_form(text)
    return list(words) if words else text.split()


def _served(chain: Sequence[BuildStage], callers: Callers) -> Iterator[Version | None]:
    """The Python of each command that installs something besides pip itself."""
    for stage in chain:
        for part in parts_of((stage,), "RUN"):
            for number, command in enumerate(part.commands):
                yield from _served_by(called(command), callers, (stage.index, part.line, number))


def _served_by(words: Sequence[str], callers: Callers, place: tuple[int, ...]) -> Iterator[Version | None]:
    if "install" in words and not _TOOLS.issuperset(words[words.index("install") + 1 :]):
        caller = " ".join(words[: words.index("install")])
        if _PIP.search(caller):
            numbered = _NUMBERED.search(caller)
            told = Version.of(int(numbered[1]), int(numbered[2])) if numbered else None
            yield told or callers.of(caller, place)
