"""The build that a failed installation asked for, by the CUDA in its version or in the address of its index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.engine.command import REQUIREMENT, URL, VERSION, Command, run
from envkit.checks.engine.messages import all_messages
from envkit.checks.engine.remedies import on_windows
from envkit.model import Environment

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.base.versions import Version
    from envkit.tables.rows import FrameworkBuild

_TAG = regex(r"(?:\+|/whl/)(?P<tag>cu\d{2,3})\b")


def of_asked_cuda(environment: Environment, rows: Iterable[FrameworkBuild], python: Version) -> tuple[Command, ...]:
    """A new environment with that Python and the build of that CUDA for this system; none where no CUDA is told."""
    lines = [message.text for message in all_messages(environment) if message.signature.startswith("python-no-wheel")]
    tags = {match["tag"] for line in lines for match in _TAG.finditer(line)}
    system = "windows" if on_windows(environment) else "linux"
    wanted = (row for row in rows if system in row.platforms and python in row.pythons and tags == {_tag(row)})
    row = next(wanted, None)
    if row is None or not row.package:
        return ()
    index = ("--index-url", URL(row.index_url)) if row.index_url else ()
    links = ("--find-links", URL(row.find_links)) if row.find_links else ()
    packages = [REQUIREMENT(line) for line in (row.package, *row.companions)]
    numpy = (run("uv", "pip", "install", REQUIREMENT(f"numpy{row.numpy}")),) if row.numpy else ()
    return (
        run("uv", "venv", "--python", VERSION(python)),
        *numpy,
        run("uv", "pip", "install", *packages, *index, *links),
    )


def _tag(row: FrameworkBuild) -> str:
    return f"cu{str(row.cuda.release(2)).replace('.', '')}" if row.cuda is not None else ""
