"""Where a build stops at Jupyter: a command that its newest releases no longer have, or a server that is started."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.least_python import python_for
from envkit.dockerfile.shell import called
from envkit.tables.build_tools import GoneVerb
from envkit.tables.loader import read

_JUPYTER = regex(r"(?:.*/)?jupyter(?:-(?P<verb>[a-z_]+))?")
_SERVERS = frozenset({"lab", "notebook", "server"})
# Options with which it serves; others make it print or write something, and it ends.
_OF_A_SERVER = regex(
    r"--(?:ip|port|no-browser|allow-root|notebook-dir|NotebookApp\.\w{1,40}|ServerApp\.\w{1,40})(?:=.{0,200})?|-y"
)
_BRINGS = frozenset({"jupyter", "jupyterlab", "notebook"})


def verb_gone(ground: Ground) -> Iterator[Finding]:
    """The first call of such a command after the newest release was installed, in an image without Jupyter."""
    if not (ground.plain or ground.base.repository in ("python", "pytorch/pytorch")):
        return
    rows = {row.verb: row for row in read(GoneVerb)}
    newest: Version | None = None  # the Python of the newest Jupyter
    for step in ground.steps:
        bounded, python = _brought(step, ground)
        if bounded:
            return
        newest = newest or python
        words = called(step.command)
        named = _JUPYTER.fullmatch(words[0]) if words else None
        verb = named["verb"] or next(iter(words[1:]), "") if named is not None else ""
        row = rows.get(verb)
        if row is not None and newest is not None and newest >= row.python and step.command.decisive:
            yield stop(
                faults.TOOL_OPTION,
                f"the newest Jupyter Notebook has no command jupyter {verb}",
                command_subject(step.command),
                impact=f"The build stops with: Jupyter command `jupyter-{verb}` not found.",
                fix=row.instead,
                sources=row.sources,
            )
            return


def _brought(step: Step, ground: Ground) -> tuple[bool, Version | None]:
    """Whether a step bounds what brings the command, and the Python for which it installs the newest."""
    found = [one for one in step.packages if one.name in (*_BRINGS, "nbclassic")]
    if any(one.spec or one.tool != "pip" or one.held or one.name == "nbclassic" for one in found):
        return True, None
    if not found:
        return False, None
    return False, python_for(found[0], step, ground)


def server_started(ground: Ground) -> Iterator[Finding]:
    """The first step that starts Jupyter's server: it refuses to run as root, or never ends."""
    for step in ground.steps:
        words = called(step.command)
        named = _JUPYTER.fullmatch(words[0]) if words else None
        given = words[1:] if named is not None and named["verb"] else words[2:]
        verb = named["verb"] or next(iter(words[1:]), "") if named is not None else ""
        if verb in _SERVERS and step.command.decisive and all(map(_OF_A_SERVER.fullmatch, given)):
            yield stop(
                faults.SERVICE_AT_BUILD,
                f"jupyter {verb} starts a server, and a build has to end",
                command_subject(step.command),
                impact="The build stops, as Jupyter does not run as root without --allow-root, or it never ends.",
                fix="Start it in CMD.",
            )
            return
