"""Another Python: the one that uv's project can have, or that the name of a wheel's file asks for."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.command import FILE, PYTHON, REQUIREMENT, VERSION, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named
from envkit.checks.frameworks.installs import first_python, judged, pip
from envkit.model import Environment, Message
from envkit.tables.loader import read
from envkit.tables.rows import JetPack, OperatingSystem

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


def _of_another_board(environment: Environment, wanted: Version) -> bool:
    """Whether the board's system has another Python of its own than the file is for."""
    board = environment.system.l4t_release.value
    systems = {row.os_id for row in read(JetPack) if board is not None and row.l4t.major == board.major}
    own = {row.default_python for row in read(OperatingSystem) if row.os_id in systems}
    return bool(own) and wanted not in own


def by_the_python_in_its_name(environment: Environment, messages: tuple[Message, ...]) -> Remedy | None:
    """The file by the Python that its name asks for, unless that is the one which is known to be here."""
    file = next((match for message in messages if (match := _WHEEL.search(message.text))), None)
    if file is None:
        return None
    wanted = Version.of(int(file["major"]), int(file["minor"]))
    if any(python.version is not None and python.version.release(2) == wanted for python in judged(environment)):
        return None
    if _of_another_board(environment, wanted):
        return Remedy(
            f"The file is for Python {wanted} (cp{file['major']}{file['minor']} in its name), and so for another "
            "JetPack, whose CUDA this board does not have: installing that Python would not help. Download the file "
            "for this board's JetPack and for its own Python, which the first command prints; the second prints the "
            "board's release.",
            (fixed("python3 --version"), fixed("cat /etc/nv_tegra_release")),
        )
    return Remedy(
        f"The file is for Python {wanted} (cp{file['major']}{file['minor']} in its name), but the pip that you ran "
        "belongs to a different Python: use the right Python's own pip. If it is not installed, create an "
        f"environment with it (uv venv --python {wanted}), or download the file for your Python.",
        (run(PYTHON(f"python{wanted}"), "-m", "pip", "install", FILE(file[0])),),
    )


def as_told(environment: Environment, messages: tuple[Message, ...]) -> Remedy | None:
    """What the file's name, the project, or the release that was asked for says; None where none of them tells."""
    by_name = by_the_python_in_its_name(environment, messages) or of_project(environment, messages)
    return by_name or _extra_of_jax(environment, messages)


def _extra_of_jax(environment: Environment, messages: tuple[Message, ...]) -> Remedy | None:
    """JAX has its CUDA in an extra since there are no more builds of jaxlib for each CUDA; None for others."""
    tag = next((match for message in messages if (match := _OF_CUDA.search(message.text))), None)
    if tag is None:
        return None
    return Remedy(
        f"No jaxlib has that CUDA in its version ({tag[0]}): the last builds of this kind were for earlier releases, "
        "and CUDA now comes with plug-ins, which the extra installs together with its libraries. Leave the version of "
        "jaxlib and -f out of the command; the second command must then list the GPU.",
        (
            pip(first_python(environment), "install", "-U", REQUIREMENT(f"jax[cuda12]=={tag['version']}")),
            fixed("python -c 'import jax; print(jax.devices())'"),
        ),
    )


_OF_CUDA = regex(r"\bjaxlib==(?P<version>[\d.]{3,10})\+cuda\d{2}\.cudnn\d{2,3}")
