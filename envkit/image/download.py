"""Files fetched during a build: kept in a cache mount, checked before use."""

from __future__ import annotations

from envkit.records import record

CACHE = "/var/cache/downloads"


@record
class Fetched:
    """A file that is there, checked, once `commands` have run."""

    commands: tuple[str, ...]
    path: str
    folder: str = CACHE


def fetch(url: str, name: str, sha256: str | None, md5: str | None) -> Fetched:
    """The commands that fetch `url` unless the cache holds it, and check it against the better checksum on record."""
    path = f"{CACHE}/{name}"
    # A broken download must not stay in the cache under its final name.
    commands = [
        f"{{ test -f '{path}' || {{ curl -fsSL --retry 3 -o '{path}.part' '{url}' && mv '{path}.part' '{path}'; }}; }}"
    ]
    checksum, program = (sha256, "sha256sum") if sha256 else (md5, "md5sum")
    if checksum:
        commands += [f"echo '{checksum}  {path}' > /tmp/checksum", f"{program} -c /tmp/checksum"]
    return Fetched(tuple(commands), f"'{path}'")
