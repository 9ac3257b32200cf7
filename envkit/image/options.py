"""What the user asks of an image next to the versions."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.errors import RequestError

MARKER = " ; "  # between a requirement and the environment that it is for
_FILE = regex(r"[\w./-]+")
_REQUIREMENT = regex(r"[A-Za-z0-9][^\s<>=!~@\"'`$\\;&|]*( ?[<>=!~@][^\"'`$\\;&|]*)?")


@record
class ProjectParts:
    """What a project's files say of an image next to its packages.

    `frameworks`: for each framework the package that the list names. `local`: what the list takes from the project's
    folder. `missing`: what the image does not install, each kind in a line.
    """

    hashed: bool = False  # the list pins hashes: pip takes nothing without one next to it
    included: tuple[str, ...] = ()  # files that the requirements file reads in turn
    frameworks: tuple[tuple[str, str], ...] = ()
    local: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()  # requirements next to the list
    lines: tuple[str, ...] = ()  # the project's requirements of pip
    apt: tuple[str, ...] = ()  # packages of Debian and Ubuntu
    git: bool = False
    missing: tuple[str, ...] = ()


@record
class ImageOptions:
    """The options of `envkit dockerfile` that shape the image; the defaults give the smallest image that serves."""

    official: bool = False  # start from the framework's own image
    base: str | None = None  # the user's base image
    digest: bool = False  # pin the base by digest where one is known to envkit
    devel: bool = False  # compilers and headers too
    slim: bool = False  # the plain distribution image
    syntax: bool = True  # name the Dockerfile frontend in the first line
    pip: tuple[str, ...] = ()
    requirements: str | None = None  # a file name in the build context
    lock: str | None = None  # a file of the build context that pins every package with its hashes
    apt: tuple[str, ...] = ()  # distribution packages, whatever the package manager
    jupyter: bool = False
    workdir: str = "/workspace"
    entrypoint: str | None = None
    user: str = "app"
    project: ProjectParts = ProjectParts()

    @property
    def of_the_image(self) -> tuple[str, ...]:
        """The options among those given that say what an image starts from, or how its file is written."""
        given = {"--base": self.base, "--digest": self.digest, "--slim": self.slim, "--no-syntax": not self.syntax}
        return tuple(name for name, value in given.items() if value)


def check_options(options: ImageOptions) -> None:
    """Raises RequestError for options that contradict each other, and for text that does not fit its place."""
    if options.base and (options.slim or options.digest or options.official):
        raise RequestError("--base cannot be combined with --slim, --digest, or --from official.", "Omit one of them.")
    if options.lock and options.official:
        raise RequestError("--lock and --from official cannot be used together.", "Omit one of them.")
    if options.slim and options.official:
        raise RequestError("--slim and --from official cannot be used together.", "Omit one of them.")
    _check_names(options)
    _check_places(options)


def _check_names(options: ImageOptions) -> None:
    """Every text that lands in a shell line of the file is of a harmless form. Raises RequestError otherwise."""
    rules = {
        "base": (regex(r"[A-Za-z0-9][\w./:@-]*"), "an image name"),
        "workdir": (regex(r"/[\w./-]*"), "an absolute path"),
        "user": (regex(r"[a-z_][a-z0-9_-]*"), "a user name in lower case"),
        "requirements": (_FILE, "a file name without spaces"),
        "lock": (_FILE, "a file name without spaces"),
        "apt": (regex(r"[a-z0-9][a-z0-9.+=:~-]*"), "a package name"),
        "pip": (_REQUIREMENT, "a requirement such as pandas==2.2.3"),
    }
    for name, (pattern, what) in rules.items():
        given = getattr(options, name)
        for value in given if isinstance(given, tuple) else (given,):
            if value is not None and not (pattern.fullmatch(value) and value.isprintable()):
                raise RequestError(f"--{name}: {value!r} is not {what}.", f"Give {what}.")


def _check_places(options: ImageOptions) -> None:
    """Raises RequestError for a file that no build context holds, a user that has another id, and half a command."""
    from envkit.tables.images import system_user

    for name in ("requirements", "lock"):
        value = getattr(options, name)
        if value is not None and (value.startswith("/") or ".." in value.split("/") or value.endswith("/")):
            raise RequestError(
                f"--{name}: {value!r} is not in the Dockerfile's directory, which is all that a build can read.",
                "Copy it there and pass its name.",
            )
    if system_user(options.user):
        raise RequestError(
            f"--user: {options.user!r} already has its own ID in every image; containers run as UID 1000.",
            "Choose another name, or omit --user.",
        )
    if options.entrypoint is not None:
        entrypoint_words(options.entrypoint)


def check_files(names: Iterable[str]) -> None:
    """Raises RequestError for a file of a project whose name has no place in a Dockerfile."""
    for name in names:
        if not _FILE.fullmatch(name):
            raise RequestError(
                f"--project: {name!r} is not a file name without spaces.", "Rename the file, or pass another one."
            )


def entrypoint_words(entrypoint: str) -> tuple[str, ...]:
    """The words of a command as a shell splits it. Raises RequestError for one that it cannot split."""
    if not entrypoint.isprintable():
        raise RequestError(
            f"--entrypoint: {entrypoint!r} contains invisible characters.", "Put longer programs into a file."
        )
    try:
        split = tuple(shlex.split(entrypoint))
    except ValueError as error:
        raise RequestError(
            f"--entrypoint: {entrypoint!r} is not a complete command ({str(error).lower()}).", "Close its quotes."
        ) from None
    if not split:
        raise RequestError("--entrypoint: the command must not be empty.", "Omit it, or pass a command.")
    return split
