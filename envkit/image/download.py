"""Files fetched during a build: kept in a cache mount, checked before use."""

from __future__ import annotations

from collections.abc import Iterable

from envkit._startup.records import record
from envkit.base.settings import Mirrors
from envkit.image.parts import Arguments, Base, Stage, Step
from envkit.image.system import install
from envkit.tables import images as data
from envkit.tables.rows import OperatingSystem

CACHE = "/var/cache/downloads"


@record
class Fetched:
    """A file that is there, checked, once `commands` have run."""

    commands: tuple[str, ...]
    path: str
    folder: str = CACHE


def fetch(url: str, name: str, sha256: str | None, md5: str | None) -> Fetched:
    """The commands that fetch `url` unless the cache holds it whole, checked against the better known checksum."""
    # A broken download must not stay in the cache under its final name, and an outdated file in it must not be used.
    get = f'curl -fsSL --retry 3 -o "$file.part" \'{url}\' && mv "$file.part" "$file"'
    commands = [f"file='{CACHE}/{name}'"]
    checksum, program = (sha256, "sha256sum") if sha256 else (md5, "md5sum")
    if checksum:
        check = f"{program} -c /tmp/checksum"
        commands += [
            f'echo "{checksum}  $file" > /tmp/checksum',
            f"{{ {check} --status 2> /dev/null || {{ {get}; }}; }}",
            f'{{ {check} || {{ rm "$file" && false; }}; }}',
        ]
    else:
        commands.append(f'{{ test -f "$file" || {{ {get}; }}; }}')
    return Fetched(tuple(commands), '"$file"')


def download_stage(
    system: OperatingSystem, plain: str, mirrors: Mirrors, purposes: Iterable[str] = (), extra: Iterable[str] = ()
) -> Stage:
    """The stage that others fetch and unpack in: curl, certificates, the packages of `purposes` and `extra` ones."""
    base = Base(plain, "a stage that fetches and unpacks files; only their contents are kept")
    return Stage(DOWNLOAD, base, download_steps(system, mirrors, purposes, extra))


def download_steps(
    system: OperatingSystem, mirrors: Mirrors, purposes: Iterable[str] = (), extra: Iterable[str] = ()
) -> tuple[Step, ...]:
    """The steps that let a stage fetch and unpack files."""
    names = [name for purpose in (*_PURPOSES, *purposes) for name in data.packages(purpose, system)]
    step = install(system, (*names, *extra), mirrors)
    return (BUILD_ARGUMENTS, *((step,) if step else ()))


# Unset unless given with --build-arg; pip and curl read them from the environment of a RUN.
BUILD_ARGUMENTS = Arguments({"PIP_INDEX_URL": None, "PIP_CERT": None, "SSL_CERT_FILE": None})
DOWNLOAD = "download"
FROM_DOWNLOAD = Base(DOWNLOAD, "")
_PURPOSES = ("certificates", "fetch", "unpack")
