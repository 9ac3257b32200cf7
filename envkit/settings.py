"""The user's own settings: mirrors that stand in for vendors' hosts, from a config file, variables and options."""

from __future__ import annotations

from collections.abc import Mapping

from envkit.errors import RequestError
from envkit.records import field, record, replace


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
            if not separator or not url.startswith(("http://", "https://", "file://")):
                raise RequestError(
                    f"--mirror: {text!r} is not HOST=URL.", "Example: --mirror apt=https://mirror.lan/debian"
                )
            if name in ("apt", "yum"):
                changes[name] = url
            else:
                hosts[name] = url
        return replace(self, hosts=hosts, index_url=index_url or self.index_url, **changes)
