"""One pseudonym for each thing that identifies: equal things stay equal, different ones different, within one output.

A pseudonym is never a thing's own name: what looks like one in the input gets a pseudonym too, so that two things
cannot become one. None tells what it stands for.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

FIRST_MARK = 0xF0000  # characters of a private plane, letters to no pattern: each stands for a part that is masked
_BENCHMARK = int(IPv4Address("198.18.0.0"))  # RFC 2544: 131,072 addresses that no machine has
_BENCHMARK_SIZE = 1 << 17
_RESERVED = int(IPv4Address("240.0.0.0"))  # RFC 1112, class E: for the ones that do not fit
_DOCUMENTATION = int(IPv6Address("2001:db8::"))  # RFC 3849


def _ipv4(count: int) -> str:
    fits = count < _BENCHMARK_SIZE - 1
    return str(IPv4Address(_BENCHMARK + count if fits else _RESERVED + count))


def _mac(count: int, separator: str = ":") -> str:
    """Locally administered, so that no network card has it."""
    return separator.join(f"{byte:02x}" for byte in (0x02, *count.to_bytes(5, "big")))


_FORMS: dict[str, Callable[[int], str]] = {
    "user": lambda count: "user" if count == 1 else f"user{count}",
    "host": lambda count: "host" if count == 1 else f"host{count}",
    "name": "name{}".format,
    "net": "net{}_".format,  # a number follows: the first device of a kind ends in 0
    "serial": "SERIAL-{}".format,
    "sid": "S-1-5-21-0-0-0-{}".format,
    "uuid": "00000000-0000-0000-0000-{:012x}".format,
    "guid": "0000:0000:0000:{:04x}".format,
    "hex": "{:012x}".format,
    "ipv4": _ipv4,
    "ipv6": lambda count: str(IPv6Address(_DOCUMENTATION + count)),
    "mac": _mac,
}


def is_marked(text: str) -> bool:
    """True for a text with a part that is masked already."""
    return bool(text) and ord(max(text)) >= FIRST_MARK


class Pseudonyms:
    """The pseudonyms given so far, by kind and by what they stand for."""

    def __init__(self) -> None:
        self._given: dict[str, dict[str, str]] = {kind: {} for kind in _FORMS}

    def of(self, kind: str, thing: str) -> str:
        """The pseudonym of `thing`; letter case makes no difference, nor does the domain of a host."""
        given = self._given[kind]
        key = thing.lower().partition(".")[0] if kind == "host" else thing.lower()
        known = given.get(key)
        if known is None:
            known = given[key] = _FORMS[kind](len(given) + 1)
        return known
