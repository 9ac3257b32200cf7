"""The PowerShell script for Windows: plain ASCII, for Windows PowerShell 5.1 and newer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit.base.shown import shown
from envkit.base.wrap import hang
from envkit.documents.citations import citations
from envkit.render.script_header import EULA_URL, WIDTH, eula_words

if TYPE_CHECKING:
    from envkit.base.versions import Version
    from envkit.install.model import InstallFramework
    from envkit.install.options import ScriptOptions
    from envkit.install.windows import WindowsInstallation

EXIT_CODES = (
    (0, "success; running it again changes nothing"),
    (1, "a step failed; the messages say why"),
    (3, "this machine does not match the plan; the message says what to change"),
    (5, "a file could not be fetched"),
    (6, "a file has the wrong checksum or signature"),
    (9, "verification found problems"),
    (11, "no GPU, no driver, or one that is too old; the message says where to get one"),
)


def quoted(text: str) -> str:
    """The text as one PowerShell word: in single quotes, where nothing is expanded, with those inside doubled.

    Windows PowerShell 5.1 reads a script without a mark in the machine's own code page, takes typographic quotes for
    plain ones, and a line may end a comment: so whatever is not printable ASCII is written as its number.
    """
    parts = re.split(r"([^\x20-\x7e]+)", text)
    words = [_numbers(part) if index % 2 else _literal(part) for index, part in enumerate(parts)]
    return words[0] if len(words) == 1 else f"({' + '.join(words)})"


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _numbers(text: str) -> str:
    """UTF-16 code units, as .NET holds them."""
    data = text.encode("utf-16-le", "surrogatepass")
    units = (int.from_bytes(data[at : at + 2], "little") for at in range(0, len(data), 2))
    return " + ".join(f"[string][char]{unit}" for unit in units)


def array(words: Iterable[str]) -> str:
    """The words as a PowerShell array, of none or one as well."""
    return f"@({', '.join(map(quoted, words))})"


def render_powershell(work: WindowsInstallation, options: ScriptOptions) -> str:
    """The script that carries out this work."""
    from envkit.render.templating import template

    toolkit = work.toolkit
    text = template("scripts", "windows.ps1.j2").render(
        header=_header(work, options),
        work=work,
        toolkit=toolkit,
        accept_eula=options.accept_eula,
        frameworks=work.frameworks,
        plan_id=quoted(work.plan_id),
        minimum_driver=quoted(_dotnet(work.minimum_driver)),
        eula=quoted(EULA_URL),
        env_dir=quoted(work.env_dir or ""),
        env_name=quoted(work.env_name),
        python=quoted(str(work.python or "")),
        calls=[array(call) for call in work.calls],
        cuda_version=quoted(str(toolkit.toolkit.version) if toolkit else ""),
        cuda_line=quoted(str(toolkit.toolkit.release) if toolkit else ""),
        cuda_components=array(toolkit.components if toolkit else ()),
        cuda_proof=array(toolkit.proof if toolkit else ()),
        cuda_url=quoted(toolkit.url if toolkit else ""),
        cuda_file=quoted(toolkit.installer.name if toolkit and toolkit.installer else ""),
        cuda_sha256=quoted(toolkit.installer.sha256 if toolkit and toolkit.installer else ""),
        cuda_page=quoted(toolkit.page if toolkit else ""),
        programs={one.name: _arguments(one) for one in work.frameworks},
        names={one.name: quoted(one.name) for one in work.frameworks},
    )
    return re.sub(r"\n{3,}", "\n\n", text)


def _dotnet(version: Version) -> str:
    """As .NET's own type for versions reads it: it wants two numbers at least."""
    return str(version) if len(version.parts) > 1 else f"{version}.0"


def _arguments(framework: InstallFramework) -> str:
    """What a test program is called with, as a Python list: PowerShell 5.1 drops empty words of a command."""
    cuda = str(framework.cuda or "")
    return ascii([framework.plain_version, framework.expectation, cuda, "a GPU that nvidia-smi lists", ""])


def _header(work: WindowsInstallation, options: ScriptOptions) -> str:
    lines = [*_what(work), "", *_choices(work, options), "", "Exit codes"]
    lines += [f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES]
    text = "\n".join(f"# {shown(line)}".rstrip() for line in lines)
    return re.sub(r"[^\x0a\x20-\x7e]", "?", re.sub(r"://[^/@\s]+@", "://***@", text))


def _what(work: WindowsInstallation) -> Iterator[str]:
    yield f"Install script {work.plan_id} for Windows, written by envkit."
    yield ""
    yield from hang("", "Read it before you run it. It can be run again at any time. Run it with", WIDTH)
    yield "  powershell -ExecutionPolicy Bypass -File SCRIPT.ps1 [-DryRun] [-VerifyOnly] [-CudaInstaller FILE]"
    if work.toolkit is not None:
        yield from hang("", "as administrator if the CUDA toolkit is missing.", WIDTH)
    yield ""
    yield "Why these versions"
    for verdict in dict.fromkeys(work.plan.verdicts):
        sources = "; ".join(citations(verdict.sources))
        yield from hang("  - ", f"{verdict.detail} [{sources}]" if sources else verdict.detail, WIDTH)
    notes = (*work.plan.warnings, *work.notes)
    if notes:
        yield ""
        yield "Please note"
        for note in notes:
            yield from hang("  - ", note, WIDTH)


def _choices(work: WindowsInstallation, options: ScriptOptions) -> Iterator[str]:
    yield "Choices (made when this script was written)"
    yield f"  driver       {work.minimum_driver} or newer must already be installed; the script does not install one"
    if work.toolkit is not None:
        parts = " ".join(work.toolkit.components) or "everything"
        yield from hang("  EULA         ", f"{eula_words(options, True)}: {EULA_URL}", WIDTH)
        yield from hang(f"  CUDA {str(work.toolkit.toolkit.version):<8} ", parts, WIDTH)
        yield f"  installer    {work.toolkit.url or 'must be passed with -CudaInstaller'}"
        if work.toolkit.installer is not None:
            yield f"               sha256 {work.toolkit.installer.sha256}"
    for call in work.calls:
        yield from hang("  pip install  ", " ".join(call), WIDTH)
