"""What `envkit install --format` writes. Each module here is one format: `cloud_init` is cloud-init.

It has a function `written`, may have one `limit` that says what is wrong with a text's length, and says in `USE` what
to do with the file, whose quoted name stands for `{file}` and whose system for `{where}`.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from envkit._startup.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from envkit.install.model import Installation

FIRST = "script"  # the format of who asks for none


@record
class Written:
    """The text of a format, and what to do with the file that holds it."""

    text: str
    use: str
    note: str = ""  # what limits its use


def formats() -> tuple[str, ...]:
    """The names of all formats, the usual one first."""
    import pkgutil

    others = sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__))
    return (FIRST, *(name for name in others if name != FIRST))


def formatted(work: Installation, script: str, form: str, file: str | None) -> Written:
    """The script in a format, for this output file. Raises EnvkitError for a plan that the format does not suit."""
    from importlib import import_module

    module = import_module(f"{__name__}.{form.replace('-', '_')}")
    where = f" on {work.plan.choice.os.title}" if work.plan.choice.os else ""
    text, limit = module.written(work, script), getattr(module, "limit", None)
    use = module.USE.format(file=shlex.quote(file or ""), where=where)
    return Written(text, use, limit(text) if limit else "")


def about(work: Installation) -> Iterator[str]:
    """What the comments at the top of a file say."""
    from envkit.render.script_header import licenses

    yield f"Installs {work.plan_id}, unattended. Written by envkit."
    yield "The script in it begins with the plan, the downloads, and the exit codes."
    if licenses(work):
        yield f"The script accepts NVIDIA's EULA: {licenses(work)}"


def comments(*lines: str) -> list[str]:
    """The lines as comments of YAML, INI, and kickstart files."""
    return [f"# {line}".rstrip() for line in lines]
