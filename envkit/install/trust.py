"""What a script takes from elsewhere: nothing over plain HTTP unasked, and no password in its text."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.errors import RequestError
from envkit.base.settings import Mirrors, host_of, plain_http_host
from envkit.install.model import Installation
from envkit.install.options import ScriptOptions


def check_trust(work: Installation, options: ScriptOptions, mirrors: Mirrors) -> None:
    """Raises RequestError for a password in an address, and for plain HTTP that was not asked for."""
    check_addresses(options, mirrors)
    bare = [file for file in work.unverified if plain_http_host(file.url)]
    if bare:
        raise RequestError(
            f"{bare[0].name}: its checksum is unknown, so it is not fetched over plain HTTP.",
            "Use https, or fetch it yourself and name the file.",
        )


def check_addresses(options: ScriptOptions, mirrors: Mirrors) -> None:
    """The same for the addresses that options and settings name. Raises RequestError."""
    for option, address in _addresses(options, mirrors):
        if "@" in host_of(address):
            raise RequestError(
                f"{option}: an address with a password would be readable in the script.",
                "Remove the password and put it in ~/.netrc of the user who runs the script: curl, wget, and "
                "pip read it.",
            )
        if plain_http_host(address) and not options.allow_http:
            raise RequestError(
                f"{option}: files can be tampered with over plain HTTP.",
                "Use https, or accept it with --allow-http: runfiles and archives still have their checksums, "
                "Python packages have none.",
            )


def _addresses(options: ScriptOptions, mirrors: Mirrors) -> Iterator[tuple[str, str]]:
    yield from (("--mirror", url) for url in mirrors.hosts.values())
    if mirrors.index_url:
        yield "--index-url", mirrors.index_url
    if options.driver_runfile:
        yield "--driver-runfile", options.driver_runfile
