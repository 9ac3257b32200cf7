"""Whether the CMD of an image is taken as the arguments of the server that its base starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.base import Base
from envkit.dockerfile.check_parts import stop, subject_of
from envkit.dockerfile.contents import last_of
from envkit.dockerfile.shell_words import exec_form
from envkit.dockerfile.stages import BuildStage, final_chain
from envkit.tables.build_tools import ServerImage
from envkit.tables.loader import read

_PROGRAM = regex(
    r"(?:/\S{0,100}/)?(?:python[\d.]*|bash|sh|uvicorn|gunicorn|streamlit|supervisord|\S{1,100}\.(?:sh|py))"
)


def server_arguments(stages: Sequence[BuildStage], base: Base) -> Iterator[Finding]:
    """The last CMD where it is a program, and the ENTRYPOINT is that of the base image."""
    row = next((one for one in read(ServerImage) if one.repository == base.repository), None)
    chain = final_chain(stages)
    last = last_of(chain, "CMD")
    if row is None or last is None or last_of(chain, "ENTRYPOINT") is not None:
        return
    words = exec_form(last.text)
    first = "sh" if words is None else next(iter(words), "")  # without brackets it is given to sh
    if _PROGRAM.fullmatch(first):
        yield stop(
            faults.WORD_UNKNOWN,
            f"the ENTRYPOINT of {base.repository} is {row.program}, and CMD only gives it arguments",
            subject_of(last.line, "CMD"),
            impact=f"The container exits immediately: {row.program} does not accept the argument {first}.",
            fix="Write ENTRYPOINT [] before the CMD.",
            sources=row.sources,
        )
