"""The comments on top of the install script: the plan, its sources, the files, the choices and the exit codes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from envkit.base.sentences import series
from envkit.base.shown import shown
from envkit.base.wrap import hang
from envkit.compat.verdict import is_floor
from envkit.documents.citations import citations
from envkit.install.model import (
    CreatePython,
    FetchParts,
    InstallDriver,
    InstallPrerequisites,
    InstallToolkit,
    LinkToolkit,
)
from envkit.tables.rows import framework_title

if TYPE_CHECKING:
    from envkit.install.model import Installation
    from envkit.install.options import ScriptOptions
    from envkit.render.script import StepLine
    from envkit.solver.model import Plan

EULA_URL = "https://docs.nvidia.com/cuda/eula/"
DRIVER_LICENSE_URL = "https://www.nvidia.com/en-us/drivers/nvidia-license/linux/"
WIDTH = 96

EXIT_CODES = (
    (0, "success; running it again changes nothing"),
    (1, "a step failed; the log says why, and a new run continues from there"),
    (2, "wrong usage"),
    (3, "the plan does not match this machine; the message says what to change"),
    (4, "not enough space"),
    (5, "a file could not be fetched, or is not in the --offline directory"),
    (6, "a file has the wrong checksum"),
    (7, "another run is still in progress"),
    (8, "a reboot is needed; then run again with --resume"),
    (9, "verification found problems"),
    (10, "not everything could be undone"),
    (11, "the driver cannot be installed now; the message says why"),
    (130, "interrupted; finished parts are kept, and a new run continues from there"),
)


def header(work: Installation, options: ScriptOptions, steps: Sequence[StepLine]) -> str:
    """The comment block below the shebang; it shows no password of an address."""
    plan = work.plan
    lines = [*_what(work), "", *_plan(plan), "", *_files(work, options), "", *_choices(plan, work, options), ""]
    if work.notes or plan.warnings:
        lines += ["Please note", *_items((*plan.warnings, *work.notes)), ""]
    lines += ["Steps", *(f"  {number}. {step.title}" for number, step in enumerate(steps, 1)), ""]
    lines += ["Exit status", *(f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES)]
    return re.sub(r"://[^/@\s]+@", "://***@", "\n".join(f"# {shown(line)}".rstrip() for line in lines))


def licenses(work: Installation) -> str:
    """Where the licenses are of what the steps install; '' when none of it asks for one."""
    pages = {InstallToolkit: EULA_URL, InstallDriver: DRIVER_LICENSE_URL}
    return series(page for kind, page in pages.items() if any(isinstance(step, kind) for step in work.steps))


def help_text(work: Installation) -> str:
    """What `--help` of the script prints."""
    options = [
        ("--dry-run", "show what would be done; change nothing"),
        ("--verify-only", "check the installation; change nothing"),
        ("--resume", "continue after an interruption or a reboot"),
        *([("--reboot", "reboot once if the driver needs it, and continue after the boot")] if work.may_reboot else []),
        ("--rollback", "restore the previous files and links"),
        *([("--use", "point /usr/local/cuda, and thus login shells, at this toolkit")] if _links(work) else []),
        ("--offline DIR", "use only the files in DIR; no network access"),
        *(
            [("--system-packages", "with --offline: get missing packages from the machine's own package sources")]
            if any(isinstance(step, (InstallPrerequisites, InstallDriver)) for step in work.steps)
            else []
        ),
        *([("--upgrade", "replace another release that is already in the directory")] if _fills_folders(work) else []),
        *([("--accept-unverified", "accept files without a checksum")] if work.unverified else []),
        ("--progress json", "print events to stdout, one JSON object per line, with the result last"),
        ("--no-space-check", "skip the free-space check (its figures are estimates)"),
        *([("--any-os", "run on a different distribution than the plan's")] if work.os else []),
        ("--help", "this text"),
    ]
    lines = [
        f"Installs {work.plan_id}. Run without options to install; run it again to continue after an interruption.",
        "",
        *(f"  {name:<18} {text}" for name, text in options),
        "",
        "Messages go to stderr, the result as JSON to stdout. Environment: http_proxy, https_proxy, no_proxy,",
        "TMPDIR (work directory), ENVKIT_STATE_DIR, ENVKIT_LOG_DIR, PIP_* (pip's own settings).",
    ]
    return "\n".join(lines)


def _fills_folders(work: Installation) -> bool:
    return any(isinstance(step, (InstallToolkit, CreatePython)) for step in work.steps)


def _links(work: Installation) -> bool:
    return any(isinstance(step, LinkToolkit) for step in work.steps)


def _what(work: Installation) -> Iterator[str]:
    yield f"Install script {work.plan_id}, generated by envkit."
    yield ""
    yield from hang(
        "",
        "Read it before you run it. It is idempotent and can be interrupted and resumed. Use --verify-only to check "
        "the installation and --rollback to undo it. The script needs bash 4 or newer and the standard Unix tools, "
        "but not Python. It does nothing beyond what is listed under Steps.",
        WIDTH,
    )


def _plan(plan: Plan) -> Iterator[str]:
    choice = plan.choice
    yield "Plan"
    way = choice.python_source.way if choice.python_source else "system"
    rows = [
        ("system", f"{choice.os.title if choice.os else 'any'} ({choice.architecture})"),
        ("CUDA", str(choice.cuda or "")),
        ("cuDNN", str(choice.cudnn_version or "")),
        ("Python", f"{choice.python} ({way})" if choice.python else ""),
        ("driver", f"{choice.minimum_driver or 'unknown'} or newer"),
        *((framework_title(build.framework), build.package or "") for build in choice.builds),
    ]
    yield from (f"  {name:<12} {value}" for name, value in rows if value)
    if plan.verdicts:
        yield ""
        yield from _verdicts(plan)


def _verdicts(plan: Plan) -> Iterator[str]:
    """Each judgment once, its sources by number."""
    numbers: dict[str, int] = {}
    verdicts = sorted(dict.fromkeys(plan.verdicts), key=lambda verdict: verdict.status == "warn")
    before = None
    for verdict in verdicts:
        heading = "Warnings" if verdict.status == "warn" else "Why these versions"
        if heading != before:
            yield from ("",) * (before is not None)
            yield heading
        before = heading
        marks = "".join(f"[{numbers.setdefault(source, len(numbers) + 1)}]" for source in citations(verdict.sources))
        status = "note" if is_floor(verdict) else verdict.status
        yield from _items((f"{verdict.relation} ({status}): {verdict.detail} {marks}".rstrip(),))
    if numbers:
        yield ""
        yield "Sources"
        yield from (f"  [{number}] {source}" for source, number in numbers.items())


def _unverified_words(options: ScriptOptions) -> str:
    effect = "accepted without verification" if options.accept_unverified else "the script requires --accept-unverified"
    return f"no published checksum: {effect}"


def _files(work: Installation, options: ScriptOptions) -> Iterator[str]:
    yield "Downloads"
    for download in work.downloads:
        yield f"  {download.url}"
        yield (
            f"    {download.algorithm} {download.checksum}"
            if download.checksum
            else f"    {_unverified_words(options)}"
        )
    for parts in (step for step in work.steps if isinstance(step, FetchParts)):
        yield from hang("  ", f"the archives of {parts.names} in this list, verified with its sha256", WIDTH)
    if not work.downloads:
        yield "  none except packages"


def _choices(plan: Plan, work: Installation, options: ScriptOptions) -> Iterator[str]:
    toolkit = next((step for step in work.steps if isinstance(step, InstallToolkit)), None)
    yield "Choices (made when this script was written)"
    if licenses(work):
        yield from hang("  EULA         ", f"{eula_words(options, toolkit is not None)}: {licenses(work)}", WIDTH)
    if toolkit is not None:
        yield f"  toolkit in   {toolkit.path}"
        if toolkit.parts:
            yield from hang("  parts        ", ", ".join(part.name for part in toolkit.parts), WIDTH)
        yield f"  link         /usr/local/cuda {'is created if absent' if options.symlink else 'is not changed'}"
        yield f"  samples      {'yes' if options.samples else 'no'}"
    if options.modules:
        yield f"  modules in   {options.modules}"
    yield f"  driver       {'installed if missing or too old' if options.with_driver else 'not changed'}"
    if plan.choice.builds:
        yield "  framework    in its own directory, not in the system's Python"


def eula_words(options: ScriptOptions, toolkit: bool) -> str:
    """What becomes of NVIDIA's EULA in a script with or without a toolkit."""
    if options.accept_eula:
        return "accepted, per --accept-eula (the default; with --no-accept-eula the script asks)"
    return "asked" if toolkit else "asked when NVIDIA's installer or zypper needs it"


def _items(texts: Sequence[str]) -> Iterator[str]:
    for text in texts:
        yield from hang("  - ", text, WIDTH)
