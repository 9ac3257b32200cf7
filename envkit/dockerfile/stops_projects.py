"""What becomes of projects that are installed from their repositories: their newest state, built without a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.sentences import series
from envkit.checks.containers import image_faults, image_stops
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.dockerfile.check_parts import command_subject, finding, stop, subject_of
from envkit.dockerfile.clones import is_of_repository
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.shell_words import Word
from envkit.tables.build_tools import CpuSource, GpuCode, RepositoryPython
from envkit.tables.loader import read
from envkit.tables.program_stops import RepositoryNeed

_PINNED = regex(r"(?i)\.git@|github\.com/[\w.-]+/[\w.-]+@|/archive/(?!(?:refs/heads/)?(?:main|master)\b)")
_CHECKS_OUT = regex(r"\bgit (?:-C \S+ )?(?:checkout|reset|switch)\b|(?:-b|--branch)[ =]")


def python_too_old(ground: Ground) -> Iterator[Finding]:
    """The first project of which the newest state does not take the Python that it is installed for."""
    for step, addresses in _with_addresses(ground):
        words = step.command.words
        if "install" not in words or not step.command.decisive:
            continue
        caller = " ".join(words[: words.index("install")])
        python = ground.pythons.of(caller, step.place)
        for word in addresses:
            row = next((row for row in read(RepositoryPython) if is_of_repository(word, row.repository)), None)
            if row is None or python is None or python >= row.python:
                continue
            name = row.repository.rpartition("/")[2]
            yield stop(
                image_faults.PYTHON_WITHOUT_PACKAGE,
                f"{name} from its repository needs Python {row.python} or newer, but this is Python {python}",
                command_subject(step.command, word.line),
                impact="The build stops with: requires a different Python.",
                fix=f"Use a tag of {name} that supports Python {python}, or use a newer Python.",
                sources=row.sources,
            )
            return


def needs_more(ground: Ground) -> Iterator[Finding]:
    """The first project that is installed in its newest state, which imports a package that nothing installs."""
    texts = " ".join(ground.written)
    named = ground.specs
    for step, addresses in _with_addresses(ground):
        if "install" not in step.command.words or not step.command.decisive:
            continue
        for word in addresses:
            row = next((row for row in read(RepositoryNeed) if is_of_repository(word, row.repository)), None)
            if row is None or any(one in texts for one in row.words) or ("mmcv" in named and not named["mmcv"]):
                continue
            name = row.repository.rpartition("/")[2]
            yield stop(
                image_faults.REQUIREMENTS_CLASH,
                f"the current {name} imports {row.package}, which nothing in this file installs",
                subject_of(word.line, name),
                impact="It installs, and stops when it is imported.",
                fix=f"Install {row.package}, or check out an older release of {name}.",
                sources=row.sources,
            )
            return


def _with_addresses(ground: Ground) -> Iterator[tuple[Step, tuple[Word, ...]]]:
    """Each step with the repositories that it installs in their newest state."""
    checks_out = any(_CHECKS_OUT.search(text) for text in ground.texts)
    for step in ground.steps:
        words = (*step.command.words, *(() if checks_out else step.clones))
        yield step, tuple(word for word in words if "github.com/" in word and not _PINNED.search(word))


def gpu_code_left_out(ground: Ground, stopped: frozenset[int]) -> Iterator[Finding]:
    """The first package whose build leaves its CUDA code out, in an image that is for GPUs; not where it stops."""
    if ground.base.cuda is None or ground.base.jetson:
        return
    for step in ground.steps:
        found = next((one for one in _built(step)), None)
        if found is None or step.command.line in stopped or found[0] in stopped:
            continue
        line, row = found
        texts = " ".join((*ground.environment, *ground.texts))
        if any(name in texts for name in row.variables):
            continue
        yield finding(
            image_stops.GPU_AT_BUILD,
            Status.WARN,
            f"the build of {row.package} omits its CUDA code: there is no GPU, and nothing sets "
            + series(row.variables, "or"),
            command_subject(step.command, line),
            impact="It installs, and stops at run time: not compiled with GPU support.",
            remedy=Remedy(f"Set {row.variables[0]} before the command, and build in a devel image."),
            sources=row.sources,
        )
        return


def built_for_cpu(ground: Ground) -> Iterator[Finding]:
    """The first package that is built for the CPU, as nothing tells its build of CUDA, in an image that has it."""
    if ground.base.cuda is None or ground.base.jetson or "copied" in ground.tells:
        return
    texts = " ".join((*ground.environment, *ground.written))
    rows = [row for row in read(CpuSource) if not any(word in texts for word in row.words)]
    for step in ground.steps:
        found = next(((line, row) for row in rows for line in _asks_for(row, step)), None)
        if found is not None:
            line, row = found
            yield finding(
                image_faults.CPU_BUILD,
                Status.WARN,
                f"{row.package} is built for the CPU: nothing sets {row.example.partition('=')[0]}",
                command_subject(step.command, line),
                impact="It runs, and does not use a GPU.",
                remedy=Remedy(f"Write {row.example} before the command, and build in a devel image."),
                sources=row.sources,
            )
            return


def _asks_for(row: CpuSource, step: Step) -> Iterator[int]:
    """The lines on which a step installs such a package from its source."""
    for package in step.packages:
        places = package.places
        elsewhere = package.wheel is not None or places.more or places.index or package.held
        if normalized(package.name) == row.package and package.tool == "pip" and not elsewhere:
            yield package.line
    if "install" in step.command.words:
        words = (*step.command.words, *step.clones)
        yield from (word.line for word in words if "github.com/" in word and is_of_repository(word, row.repository))


def _built(step: Step) -> Iterator[tuple[int, GpuCode]]:
    """The lines and rows of what a step builds from source of these packages."""
    words = step.command.words
    builds = "install" in words or any(word.endswith("setup.py") for word in words)
    if not builds or "--no-index" in words:  # what was built before is installed
        return
    by_name = {row.package: row for row in read(GpuCode) if row.on_index}
    by_folder = {one.rpartition("/")[2].lower(): row for row in read(GpuCode) for one in row.repositories}
    for package in step.packages:
        row = by_name.get(normalized(package.name))
        if (
            row is not None
            and package.tool == "pip"
            and not (package.wheel or package.places.more or package.places.index)
        ):
            yield package.line, row
    for before, word in (*zip(("", *words), words, strict=False), *(("", one) for one in step.clones)):
        if "github.com/" in word:
            row = next(
                (row for row in by_folder.values() if any(is_of_repository(word, one) for one in row.repositories)),
                None,
            )
        else:
            is_folder = "://" not in word and ("/" in word or before in ("-e", "--editable"))
            row = by_folder.get(word.rstrip("/").rpartition("/")[2].lower()) if is_folder else None
        if row is not None:
            yield word.line, row
