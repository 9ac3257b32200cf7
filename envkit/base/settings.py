"""The user's own settings: mirrors that stand in for vendors' hosts, from a config file and options."""

from __future__ import annotations

from collections.abc import Mapping

from envkit._startup.records import field, record, replace
from envkit._startup.regex import regex
from envkit.base.errors import RequestError

# What scripts, Dockerfiles and sed expressions can hold as it is: no blanks, quotes, $, #, & or |.
_URL = regex(r"(?:https?|file)://[A-Za-z0-9_.~:/?@+,;=%\[\]-]+")
_HOST = regex(r"[A-Za-z0-9.-]+(?::[0-9]+)?")


def is_url(text: object) -> bool:
    """Whether a value is an address that can stand for a vendor's."""
    return isinstance(text, str) and _URL.fullmatch(text) is not None


def is_host(text: str) -> bool:
    """Whether a text is the name of a host, with or without a port."""
    return _HOST.fullmatch(text) is not None


@record
class Mirrors:
    """What replaces what: `hosts` maps a host to a base URL; the others replace whole sources. None: the vendor's."""

    hosts: Mapping[str, str] = field(default_factory=dict)
    index_url: str | None = None  # Python package index
    apt: str | None = None  # distribution mirror for apt
    yum: str | None = None  # distribution mirror for dnf and yum

    def rewrite(self, url: str) -> str:
        """The URL with its scheme and host replaced by the mirror's base URL, or as it was."""
        host, slash, rest = url.partition("://")[2].partition("/")
        base = self.hosts.get(host)
        return url if base is None else base.rstrip("/") + slash + rest

    def with_options(self, mirrors: tuple[str, ...], index_url: str | None) -> Mirrors:
        """These mirrors with `--mirror HOST=URL` values and `--index-url` on top. Raises RequestError."""
        hosts = dict(self.hosts)
        changes: dict[str, str] = {}
        for text in mirrors:
            name, separator, url = text.partition("=")
            if not separator or not is_host(name) or not is_url(url):
                raise RequestError(
                    f"--mirror: {text!r} is not HOST=URL.", "Example: --mirror apt=https://mirror.lan/debian"
                )
            if name in ("apt", "yum"):
                changes[name] = url
            else:
                hosts[name] = url
        if index_url is not None and not is_url(index_url):
            raise RequestError(
                f"--index-url: {index_url!r} is no address.", "Example: --index-url https://mirror.lan/simple"
            )
        return replace(self, hosts=hosts, index_url=index_url or self.index_url, **changes)
