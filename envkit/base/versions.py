"""Versions of this field, parsed once into frozen ordered values and never compared as text."""

from __future__ import annotations

from functools import cached_property, total_ordering
from typing import TYPE_CHECKING, TypeVar

from envkit._startup.records import record
from envkit._startup.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")

_NUMBERS = regex(r"[0-9]+(?:\.[0-9]+)*")
_MOST_DIGITS = 18  # no count, index or code has more
_MOST_SIGNS = 200  # of a version, which Python could not make numbers of beyond some thousands
_LONGEST = 5  # numbers that any version in the data has; zeros may follow
_CLAUSE = regex(r"(==|>=|<=|!=|>|<|~=|=)?\s*(\d+(?:\.\d+)*)(\.\*)?")


@record
class Version:
    """A dotted number such as CUDA `9.0.176`, driver `384.81`, cuDNN `7.6.5.32`, Python `3.10`, glibc `2.31`.

    Ordered by its numbers; trailing zeros do not count (`9.0` equals `9.0.0`). `str()` gives the text as it was
    written, so that driver `580.65.06` keeps its zero.
    """

    parts: tuple[int, ...]
    text: str = ""
    if TYPE_CHECKING:
        order: tuple[int, ...] = ()  # the numbers that count: what it is compared by, hundreds of times

    def __init__(self, parts: tuple[int, ...], text: str = "") -> None:
        order = parts if parts[-1:] != (0,) else _without_zeros(parts)
        self.__dict__.update(parts=parts, text=text, order=order)  # tables make thousands: no time for checks

    @classmethod
    def parse(cls, text: str) -> Version:
        """The version that `text` writes out in full. Raises ValueError for anything else."""
        stripped = text.strip()
        parts = stripped.split(".")
        if len(stripped) > _MOST_SIGNS or not (stripped.isascii() and all(map(str.isdigit, parts))):
            raise ValueError(f"not a version: {_cut(text)!r}")
        return cls(tuple(map(int, parts)), stripped)

    @classmethod
    def find(cls, text: str) -> Version | None:
        """The first dotted number inside `text`, or None; None too for one that is too long."""
        match = _NUMBERS.search(text)
        try:
            return cls.parse(match.group()) if match else None
        except ValueError:
            return None

    @property
    def major(self) -> int:
        """The first number; for a driver its branch (384 of 384.81)."""
        return self.parts[0]

    @property
    def minor(self) -> int:
        """The second number, 0 where there is none."""
        return self.parts[1] if len(self.parts) > 1 else 0

    def release(self, count: int = 2) -> Version:
        """The first `count` numbers as a version: CUDA 12.4.1 belongs to 12.4."""
        return Version.of(*(self.parts + (0,) * count)[:count])

    @property
    def line(self) -> Version:
        """The release line, 12.4 of 12.4.1; a whole major version, such as 12, stays itself."""
        return self.release(2) if len(self.parts) > 1 else self

    @classmethod
    def of(cls, *parts: int) -> Version:
        """The version with these numbers."""
        return cls(tuple(parts), ".".join(str(part) for part in parts))

    def starts_with(self, prefix: Version) -> bool:
        """True when `prefix` names this version or a release line that holds it (9.0 holds 9.0.176)."""
        wanted = prefix.parts
        own = self.parts[: len(wanted)]
        return own == wanted or own + (0,) * (len(wanted) - len(own)) == wanted

    def __eq__(self, other: object) -> bool:
        return self.order == other.order if isinstance(other, Version) else NotImplemented

    def __lt__(self, other: Version) -> bool:
        return self.order < other.order

    def __le__(self, other: Version) -> bool:
        return self.order <= other.order

    def __gt__(self, other: Version) -> bool:
        return self.order > other.order

    def __ge__(self, other: Version) -> bool:
        return self.order >= other.order

    def __hash__(self) -> int:
        return hash(self.order)

    def __str__(self) -> str:
        return self.text or ".".join(str(part) for part in self.parts)


@total_ordering
@record
class ComputeCapability:
    """A device ability such as 8.6; `specific` is `a` or `f` for targets that do not carry over (sm_90a)."""

    major: int
    minor: int
    specific: str = ""

    @classmethod
    def parse(cls, text: str) -> ComputeCapability:
        """The capability in `8.6`, `86`, `sm86`, `sm_86`, `compute_86` or `sm_90a`. Raises ValueError otherwise."""
        plain = text.strip().lower()
        for target in ("sm", "compute"):
            if plain.startswith(target):
                plain = plain.removeprefix(target).removeprefix("_")
                break
        specific = plain[-1:] if plain.endswith(("a", "f")) else ""
        numbers = plain.removesuffix(specific)
        major, _, minor = numbers.partition(".") if "." in numbers else (numbers[:-1], "", numbers[-1:])
        digits = numbers.isascii() and major.isdigit() and minor.isdigit()
        if not digits or len(minor) != 1 or len(major) > _MOST_DIGITS:
            raise ValueError(f"not a compute capability: {_cut(text)!r}")
        return cls(int(major), int(minor), specific)

    @cached_property
    def numbers(self) -> tuple[int, int]:
        """What compares, whatever a target is specific to."""
        return self.major, self.minor

    @property
    def before_fermi(self) -> bool:
        """Whether it is one of the Tesla generation's (1.x), for which no framework was built."""
        return self.major < 2

    @property
    def number(self) -> str:
        """How CMake and make files name the target, such as `86`."""
        return f"{self.major}{self.minor}{self.specific}"

    @property
    def sm(self) -> str:
        """The binary (SASS) target, such as `sm_86`."""
        return f"sm_{self.number}"

    @property
    def compute(self) -> str:
        """The PTX target, such as `compute_86`."""
        return f"compute_{self.number}"

    @property
    def order(self) -> tuple[int, int, str]:
        """What it is ordered by."""
        return self.major, self.minor, self.specific

    def __hash__(self) -> int:
        return hash((self.major, self.minor, self.specific))  # the lists of a framework's builds hold thousands

    def __lt__(self, other: ComputeCapability) -> bool:
        return self.order < other.order

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}{self.specific}"


def called(name: str, capability: ComputeCapability) -> str:
    """A GPU in a sentence: with its article where it has a name, by its capability where it has none."""
    return f"the {name}" if name and not name.startswith("sm_") else name or capability.sm


@record
class VersionSpec:
    """What a user or a package asks of a version: `9.0` (that line), `12.4.1`, `>=12`, `>=1.5,<2`, `==1.12.*`.

    A bare number or `==` applies to the whole release line that it names.
    """

    clauses: tuple[tuple[str, Version], ...] = ()

    @classmethod
    def parse(cls, text: str) -> VersionSpec:
        """The spec that `text` writes. Raises ValueError when a clause cannot be read."""
        clauses = []
        for clause in filter(None, (part.strip() for part in text.split(","))):
            match = _CLAUSE.fullmatch(clause)
            if not match:
                raise ValueError(f"not a version or version range: {_cut(text)!r}")
            clauses.append((match.group(1) or "==", Version.parse(match.group(2))))
        return cls(tuple(clauses))

    def holds(self, version: Version) -> bool:
        """True when `version` meets every clause."""
        for operator, bound in self.clauses:  # noqa: SIM110 - asked thousands of times: `all` takes half as long again
            if not _meets(version, operator, bound):
                return False
        return True

    @property
    def exact(self) -> Version | None:
        """The one version or release line asked for, None for a range."""
        if len(self.clauses) == 1 and self.clauses[0][0] in ("==", "="):
            return self.clauses[0][1]
        return None

    @cached_property
    def key(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """What tells it from every other: 12 and 12.0 are equal versions, and ask for different lines."""
        return tuple([(operator, bound.parts) for operator, bound in self.clauses])

    @property
    def line(self) -> tuple[int, ...] | None:
        """What is asked for as `by_line` has it, None for a range."""
        exact = self.exact
        if exact is None:
            return None
        return exact.parts if any(exact.parts[_LONGEST:]) else exact.parts[:_LONGEST]

    def __str__(self) -> str:
        return ",".join(f"{'' if operator == '==' else operator}{version}" for operator, version in self.clauses)


def cuda_tag(cuda: Version) -> str:
    """How indexes, packages, and local versions write a CUDA release: cu124 for 12.4.1."""
    return f"cu{cuda.release(2)}".replace(".", "")


def narrowest(bounds: Iterable[str]) -> str:
    """All of the bounds as one, without those that another one is within."""
    clauses = VersionSpec.parse(",".join(bounds)).clauses
    lowest = [version for operator, version in clauses if operator == ">="]
    highest = [version for operator, version in clauses if operator == "<"]
    rest = [f"{operator}{version}" for operator, version in clauses if operator not in (">=", "<")]
    ends = [f">={max(lowest)}"] if lowest else []
    ends += [f"<{min(highest, key=lambda version: (version, len(version.parts)))}"] if highest else []
    return ",".join((*ends, *dict.fromkeys(rest)))


def whole_number(text: str) -> int | None:
    """The number that `text` writes with the digits 0 to 9 alone; None for anything else, and for too many of them."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def by_line(items: Iterable[T], version_of: Callable[[T], Version]) -> dict[tuple[int, ...], list[T]]:
    """The items by every release line that holds them: 12.4.1 by 12, 12.4, 12.4.1 and 12.4.1.0, up to five numbers."""
    lines: dict[tuple[int, ...], list[T]] = {}
    for item in items:
        parts = (version_of(item).parts + (0,) * _LONGEST)[:_LONGEST]
        for length in range(1, _LONGEST + 1):
            lines.setdefault(parts[:length], []).append(item)
    return lines


def _without_zeros(parts: tuple[int, ...]) -> tuple[int, ...]:
    """The numbers without the zeros at their end, of which the first stays."""
    end = len(parts)
    while end > 1 and parts[end - 1] == 0:
        end -= 1
    return parts[:end]


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SIGNS else f"{text[:_MOST_SIGNS]}…"


def _meets(version: Version, operator: str, bound: Version) -> bool:
    if operator in ("==", "="):
        return version.starts_with(bound)
    if operator == "!=":
        return not version.starts_with(bound)
    if operator == "~=":
        return version >= bound and version.starts_with(Version.of(*bound.parts[:-1] or bound.parts))
    if operator == ">=":
        return version >= bound
    if operator == "<":
        return version < bound
    inside = version.starts_with(bound)  # 12.4.1 is not above 12.4, nor beyond it
    return version <= bound or inside if operator == "<=" else version > bound and not inside
