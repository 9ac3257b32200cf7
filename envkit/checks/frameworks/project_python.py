"""Another Python: the one that uv's project can have, or that the name of a wheel's file asks for."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.command import FILE, PYTHON, VERSION, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named
from envkit.checks.frameworks.installs import judged
from envkit.model import Environment, Message

_HAS = regex(r"only has wheels[^\n]{0,80}?: (?P<tags>(?:`cp3\d{1,2}`(?:, | and )?){1,9})")
_WHEEL = regex(r"[A-Za-z]\w{1,40}-[\w.+]{1,40}-cp(?P<major>[23])(?P<minor>\d{1,2})-\w{2,12}-[\w.]{2,60}\.whl")
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


def by_the_python_in_its_name(environment: Environment, messages: tuple[Message, ...]) -> Remedy | None:
    """The file by the Python that its name asks for, unless that is the one which is known to be here."""
    file = next((match for message in messages if (match := _WHEEL.search(message.text))), None)
    if file is None:
        return None
    wanted = Version.of(int(file["major"]), int(file["minor"]))
    if any(python.version is not None and python.version.release(2) == wanted for python in judged(environment)):
        return None
    return Remedy(
        f"The file is for Python {wanted} (cp{file['major']}{file['minor']} in its name), but the pip that you ran "
        "belongs to a different Python: use the right Python's own pip. If it is not installed, create an "
        f"environment with it (uv venv --python {wanted}), or download the file for your Python.",
        (run(PYTHON(f"python{wanted}"), "-m", "pip", "install", FILE(file[0])),),
    )
