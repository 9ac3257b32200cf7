"""Another Python for a project whose lock file and environment are uv's."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.command import VERSION, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named
from envkit.model import Environment, Message

_HAS = regex(r"only has wheels[^\n]{0,80}?: (?P<tags>(?:`cp3\d{1,2}`(?:, | and )?){1,9})")
_TAG = regex(r"`cp3(?P<minor>\d{1,2})`")


def of_project(environment: Environment, messages: tuple[Message, ...]) -> Remedy | None:
    """The newest Python that uv itself says there are wheels for; None where it says none or has no project."""
    tags = next((match["tags"] for message in messages if (match := _HAS.search(message.text))), "")
    minors = [int(match["minor"]) for match in _TAG.finditer(tags)]
    if not minors or "uv" not in managers(environment):
        return None
    wanted = Version.of(3, max(minors))
    return Remedy(
        f"{named(messages, 'package') or 'The package'} has wheels for Python {wanted} only, and uv took another "
        f"Python for the project. Pin Python {wanted} in the project (the first command writes .python-version; uv "
        "downloads that Python if it is not there), and let uv make the environment with it.",
        (run("uv", "python", "pin", VERSION(wanted)), run("uv", "sync", "--python", VERSION(wanted))),
    )
