"""What a script takes from elsewhere: nothing over plain HTTP unasked, and no password in its text."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.records import replace
from envkit.base.errors import RequestError
from envkit.base.settings import Mirrors, plain_http_host, refuse_logins
from envkit.install.model import Installation
from envkit.install.options import ScriptOptions


def check_trust(work: Installation, options: ScriptOptions, mirrors: Mirrors) -> None:
    """Raises RequestError for a password in an address, and for plain HTTP that was not asked for."""
    check_addresses(options, mirrors)
    bare = [file for file in work.unverified if plain_http_host(file.url)]
    if bare:
        raise RequestError(
            f"{bare[0].name}: its checksum is unknown, so it is not fetched over plain HTTP.",
            "Use https, or fetch it yourself and pass the file.",
        )


def check_addresses(options: ScriptOptions, mirrors: Mirrors) -> None:
    """The same for the addresses that options and settings name. Raises RequestError."""
    refuse_logins(
        _addresses(options, mirrors),
        "the script",
        "Remove the password, and put it in the ~/.netrc of the user who runs the script: curl, wget, and pip read it.",
    )
    for option, address in _addresses(options, replace(mirrors, apt=None, yum=None)):  # which a script never asks
        if plain_http_host(address) and not options.allow_http:
            raise RequestError(
                f"{option}: files can be tampered with over plain HTTP.",
                "Use https, or accept the risk with --allow-http: runfiles and archives are still verified by "
                "checksum, but Python packages are not.",
            )


def _addresses(options: ScriptOptions, mirrors: Mirrors) -> Iterator[tuple[str, str]]:
    yield from mirrors.addresses()
    if options.driver_runfile:
        yield "--driver-runfile", options.driver_runfile
