"""The user's own settings: mirrors that stand in for vendors' hosts, from a config file and options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from envkit._startup.records import field, record, replace
from envkit._startup.regex import regex
from envkit.base.errors import RequestError

# What scripts, Dockerfiles and sed expressions can hold as it is: no blanks, quotes, $, #, & or |.
_URL = regex(r"(?:https?|file)://[A-Za-z0-9_.~:/?@+,;=%\[\]-]+")
_HOST = regex(r"[A-Za-z0-9.-]+(?::[0-9]+)?")
_OWN_MACHINE = ("localhost", "127.0.0.1", "[::1]")
_HTTP_HOST = regex(r"http://(?:[^/@]*@)?(\[[^\]/]*\]|[^/:]*)")
_NAMED_HOST = regex(r"://([^/:@\s]+(?::[0-9]+)?)(?=/)")


def host_of(address: str) -> str:
    """The host of an address, with its port and whatever name and password are before it."""
    return address.partition("://")[2].partition("/")[0]


def holds_login(text: str) -> bool:
    """Whether an address in a text has a name or a password before its host; a password may hold slashes."""
    return any(_is_login(rest) for rest in text.split("://")[1:])


def _is_login(rest: str) -> bool:
    authority = rest.partition("/")[0]
    port = authority.rpartition("]")[2].partition(":")[2]
    return "@" in authority or "@" in rest and port != "" and not port.isdigit()


def refuse_logins(addresses: Iterable[tuple[str, str]], reader: str, hint: str) -> None:
    """Raises RequestError for the first option whose address has a login: whoever sees `reader` would read it."""
    for option, address in addresses:
        if holds_login(address):
            raise RequestError(f"{option}: an address with a password would be readable in {reader}.", hint)


def plain_http_host(address: str) -> str:
    """The host of an address that goes over a network unprotected, without its port; '' for others."""
    match = _HTTP_HOST.match(address)
    return "" if match is None or match.group(1) in _OWN_MACHINE else match.group(1)


def trusting(*addresses: str) -> tuple[tuple[str, str], ...]:
    """The options with which pip takes anything from addresses over plain HTTP, which it ignores otherwise."""
    hosts = dict.fromkeys(host for address in addresses if (host := plain_http_host(address)))
    return tuple(("--trusted-host", host) for host in hosts)


def named_hosts(text: str) -> tuple[str, ...]:
    """The hosts of the addresses in a text, each once, with their ports."""
    return tuple(dict.fromkeys(_NAMED_HOST.findall(text)))


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

    def addresses(self) -> Iterator[tuple[str, str]]:
        """Each address with the option that names it."""
        named = (*self.hosts.values(), self.apt, self.yum)
        yield from (("--mirror", url) for url in named if url)
        if self.index_url:
            yield "--index-url", self.index_url

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
                f"--index-url: {index_url!r} is not a URL.", "Example: --index-url https://mirror.lan/simple"
            )
        return replace(self, hosts=hosts, index_url=index_url or self.index_url, **changes)
