"""Masks what identifies a person or a machine, by field and inside text, with the same pseudonym every time.

Host, user, home, IP, MAC, UUID, serial and secret values become `host`, `user`, `/home/user`, documentation addresses,
zero UUIDs with a counter, `SERIAL-n` and `***`, so that equal things stay equal inside one capture.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from envkit.regex import regex
from envkit.versions import ComputeCapability, Version

if TYPE_CHECKING:
    from envkit.checks.findings import Finding
    from envkit.facts import Environment

T = TypeVar("T")

_SECRET_NAME = regex(r"(?i)(token|secret|passw|api_?key|access_?key|credential|auth|cookie|private)")
_SECRET_TEXT = regex(
    r"(?i)\b((?:[a-z0-9_]*(?:token|secret|password|passwd|api_?key|access_?key)[a-z0-9_]*)\s*[=:]\s*)(?!\*\*\*)[^\s'\"]+"
)
_TOKEN = regex(r"\b(?:hf_|ghp_|gho_|github_pat_|glpat-|sk-|xox[abp]-|AKIA|nvapi-)[A-Za-z0-9_-]{12,}\b")
_URL_LOGIN = regex(r"(?<=://)[^/\s@:]+(?::[^/\s@]*)?@")
_UUID = regex(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b")
_MAC = regex(r"\b[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}\b(?!:)")
_IPV4 = regex(r"(?<![\w.-])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\w.-])")
_IPV6 = regex(r"(?<![\w:.])[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}(?![\w:.])")
_SERIAL = regex(r"(?i)(\bserial(?:[ _-]?(?:number|no))?\b\W{0,40}?)([A-Z0-9]{6,})")
_HOME = regex(r"/(?:home|Users)/([^/\s:'\"]+)")
_COMMON_WORDS = {"root", "user", "host", "localhost", "admin", "ubuntu", "debian", "cuda", "nvidia", "docker", "vm"}
_BEFORE_VERSION = regex(
    r"(?:version|[=<>!~]=|nvidia-\S+|\b(?:lib)?(?:cu(?:da|dnn|blas|fft|rand|solver|sparse|pti)|nccl|nv(?:jit|rtc|inf))\S*)\W*$"
)
_NEVER = ("version", "version_id", "os_id", "kernel")  # never identify, and a cuDNN version looks like an address
_LOCAL_ADDRESSES = ("127.", "0.0.0.0", "255.", "192.0.2.")


class Masker:
    """One set of pseudonyms. `user` and `host` are masked as words wherever they stand."""

    def __init__(self, user: str = "", host: str = "", home: str = "") -> None:
        self._pseudonyms: dict[str, dict[str, str]] = {}
        self._home = home.rstrip("/") if home not in ("", "/", "/root") else ""
        self._words = [
            (re.compile(rf"(?<![\w/.-]){re.escape(word)}(?![\w-])|(?<=/){re.escape(word)}(?=/|\b)"), mask)
            for word, mask in ((host, "host"), (host.split(".")[0], "host"), (user, "user"))
            if len(word) > 1 and word.lower() not in _COMMON_WORDS
        ]

    def text(self, text: str) -> str:
        """The text with everything identifying replaced."""
        if self._home:
            text = text.replace(self._home, "/home/user")
        text = _HOME.sub(lambda match: f"/home/{self._user(match.group(1))}", text)
        text = _URL_LOGIN.sub("***@", text)
        text = _SECRET_TEXT.sub(lambda match: f"{match.group(1)}***", text)
        text = _TOKEN.sub("***", text)
        text = self._each(_UUID, "uuid", "00000000-0000-0000-0000-{:012x}", text)
        text = self._each(_MAC, "mac", "02:00:00:00:00:{:02x}", text)
        text = _IPV4.sub(self._address, text)
        text = _IPV6.sub(self._address_v6, text)
        text = _SERIAL.sub(lambda match: match.group(1) + self._serial(match.group(2)), text)
        for word, mask in self._words:
            text = word.sub(mask, text)
        return text

    def variable(self, name: str, value: str) -> str:
        """A variable's value: `***` when its name speaks of a secret, else masked as text."""
        shown = without_secret(name, value)
        return shown if shown == "***" else self.text(shown)

    def data(self, value: object) -> object:
        """JSON data with every text in it masked, keys included; a key that names a secret masks its whole value."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(str(key)): self._entry(str(key), item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.data(item) for item in value]
        return value

    def _entry(self, key: str, value: object) -> object:
        if isinstance(value, str) and key.lower() not in _NEVER:
            return self._serial(value) if key.lower() == "serial" and value else self.variable(key, value)
        return value if isinstance(value, str) else self.data(value)

    def value(self, value: T) -> T:
        """A fact's value, or any dataclass, with the texts inside it masked."""
        masked: object = value
        if isinstance(value, str):
            masked = self.text(value) if type(value) is str else value
        elif isinstance(value, Mapping):
            masked = {self.text(str(key)): self._entry(str(key), item) for key, item in value.items()}
        elif isinstance(value, tuple):
            masked = tuple(self.value(item) for item in value)
        elif is_dataclass(value) and not isinstance(value, (type, Version, ComputeCapability)):
            names = [item.name for item in fields(value) if item.name not in _NEVER]
            masked = replace(value, **{name: self.value(getattr(value, name)) for name in names})
        return masked  # type: ignore[return-value]

    def _each(self, pattern: re.Pattern[str], kind: str, form: str, text: str) -> str:
        return pattern.sub(lambda match: self._pseudonym(kind, match.group().lower(), form.format), text)

    def _pseudonym(self, kind: str, value: str, form: Callable[[int], str]) -> str:
        known = self._pseudonyms.setdefault(kind, {})
        if value in known.values():
            return value  # masked before
        return known.setdefault(value, form(len(known) + 1))

    def _user(self, name: str) -> str:
        if name == "user" or re.fullmatch(r"user\d+", name):
            return name
        return self._pseudonym("user", name, lambda count: f"user{count + 1}")

    def _serial(self, value: str) -> str:
        if not any(character.isdigit() for character in value):
            return value
        return self._pseudonym("serial", value, "SERIAL-{}".format)

    def _address(self, match: re.Match[str]) -> str:
        """Loopback and documentation addresses tell nothing; version numbers look like addresses after a name."""
        address = match.group()
        before = match.string[max(0, match.start() - 80) : match.start()].rpartition("\n")[2].lower()
        if address.startswith(_LOCAL_ADDRESSES) or _BEFORE_VERSION.search(before):
            return address
        return self._pseudonym("ipv4", address, "192.0.2.{}".format)

    def _address_v6(self, match: re.Match[str]) -> str:
        """Clock times and PCI addresses have colons too, so the text must be a whole address."""
        from ipaddress import AddressValueError, IPv6Address

        try:
            address = IPv6Address(match.group())
        except AddressValueError:
            return match.group()
        if address.is_loopback or address.is_unspecified:
            return match.group()
        return self._pseudonym("ipv6", match.group().lower(), "2001:db8::{:x}".format)


def without_secret(name: str, value: str) -> str:
    """A variable's value as a report may show it: `***` for a secret, and no login in a URL."""
    return "***" if _SECRET_NAME.search(name) and value else _URL_LOGIN.sub("***@", _TOKEN.sub("***", value))


def mask_text(text: str, user: str = "", host: str = "") -> str:
    """The text with everything identifying replaced, by pseudonyms of its own."""
    return Masker(user, host).text(text)


def mask_environment(environment: Environment) -> Environment:
    """The environment with everything identifying replaced."""
    return _masker(environment).value(environment)


def mask_findings(findings: Iterable[Finding], environment: Environment) -> list[Finding]:
    """Findings about `environment`, masked with the pseudonyms that `mask_environment` gives."""
    masker = _masker(environment)
    masker.value(environment)
    return [masker.value(finding) for finding in findings]


def _masker(environment: Environment) -> Masker:
    variables = environment.variables.value or {}
    return Masker(variables.get("USER", ""), variables.get("HOSTNAME", ""), variables.get("HOME", ""))
