"""Where pip stops at a list of requirements itself: bounds that no release meets, or a module of Python's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.checks.containers import image_stops as faults
from envkit.checks.containers.image_faults import REQUIREMENTS_CLASH
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import package_subject, stop
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.packages import Package
from envkit.dockerfile.stops_written import before_instruction
from envkit.tables.build_tools import OwnModule
from envkit.tables.loader import read

_PIN = regex(r"={2,3}(\d{1,4}(?:\.\d{1,4}){0,4})")
# Final releases alone: where a stage of development, an epoch, or a build is named, nothing is certain.
_BOUND = regex(r"(~=|==|<=|>=|<|>)(\d{1,9}(?:\.\d{1,9}){0,5})(\.\*)?")
_OVERRIDES = frozenset({"--override", "--overrides"})  # of uv, whose file replaces what is asked for


def pinned_twice(ground: Ground) -> Iterator[Finding]:
    """The first package that one command pins to two releases: no pip takes that."""
    for step in ground.steps:
        twice = twice_pinned(step.packages) if step.command.decisive else None
        if twice is not None:
            package, other = twice
            yield stop(
                REQUIREMENTS_CLASH,
                f"{package.asked} is requested, and {other} as well, by the same command",
                package_subject(package),
                impact="The build stops: pip installs one release of a package.",
                fix=f"Remove one of the two requirements for {package.name}.",
                sources=("pip-install-reference",),
            )
            return


def twice_pinned(packages: Iterable[Package]) -> tuple[Package, str] | None:
    """The package that is pinned to another release before, and what was asked for there."""
    pins: dict[str, tuple[Version, str]] = {}
    for package in packages:
        pin = _PIN.fullmatch(package.spec)
        if pin is None or package.tool != "pip" or package.marker or package.held:
            continue
        version = Version.parse(pin[1])
        other, asked = pins.setdefault(normalized(package.name), (version, package.asked))
        if not (version.starts_with(other) or other.starts_with(version)):
            return package, asked
    return None


def bounds_contradict(ground: Ground) -> Iterator[Finding]:
    """The first package of which one command asks for what no release is: pip takes none then."""
    for step in ground.steps:
        never = _never_met(step) if step.command.decisive else None
        if never is not None:
            package, asked = never
            yield stop(
                REQUIREMENTS_CLASH,
                f"no version of {package.name} can meet {asked}",
                package_subject(package),
                impact="The build stops: pip finds no version that it accepts.",
                fix=f"Correct the bounds of {package.name}.",
                sources=("pip-install-reference",),
            )
            return


def _never_met(step: Step) -> tuple[Package, str] | None:
    return never_met(step.packages) if _OVERRIDES.isdisjoint(step.command.words) else None


def never_met(packages: Iterable[Package]) -> tuple[Package, str] | None:
    """The package whose bounds, with those of the same package before it, exclude each other; and these bounds."""
    ranges: dict[str, _Range] = {}
    for package in packages:
        if package.tool != "pip" or package.marker or not package.spec:
            continue
        left = ranges.setdefault(normalized(package.name), _Range())
        left.narrow(package.spec)
        if left.is_empty:
            return package, " and ".join(filter(None, (",".join(left.asked[:-1]), left.asked[-1])))
    return None


class _Range:
    """What bounds leave of the releases of a package: from the highest lower bound to the lowest upper one."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._lowest: tuple[Version, bool] | None = None  # the bound, and whether it is excluded itself
        self._highest: tuple[Version, bool] | None = None  # the bound, and whether it is included itself
        self._any_of_several = False  # of Poetry: one of them is enough

    def narrow(self, spec: str) -> None:
        """Adds the bounds of one requirement; those that are not certain leave everything."""
        self.asked.append(spec)
        self._any_of_several |= "|" in spec
        for part in spec.split(","):
            found = _BOUND.fullmatch(part.strip())
            if found is not None:
                self._add(found[1], Version.parse(found[2]), line=bool(found[3]))

    def _add(self, operator: str, version: Version, *, line: bool) -> None:
        if operator in (">=", ">", "~=", "=="):
            low = version, operator == ">"
            self._lowest = low if self._lowest is None else max(self._lowest, low)
        high = None
        if operator in ("<", "<="):
            high = version, operator == "<="
        elif operator == "==":
            high = (_after(version.parts), False) if line else (version, True)
        elif operator == "~=" and len(version.parts) > 1:
            high = _after(version.parts[:-1]), False
        if high is not None:
            self._highest = high if self._highest is None else min(self._highest, high)

    @property
    def is_empty(self) -> bool:
        """True where the lowest release that is allowed is certainly above the highest one."""
        if self._lowest is None or self._highest is None or self._any_of_several:
            return False
        (low, excluded), (high, included) = self._lowest, self._highest
        return low > high or (low == high and (excluded or not included))


def _after(parts: tuple[int, ...]) -> Version:
    """The first release of the next line."""
    return Version.of(*parts[:-1], parts[-1] + 1)


def of_python_itself(ground: Ground) -> Iterator[Finding]:
    """The first package that is a module of Python, under whose name no index has one."""
    names = {row.module: row for row in read(OwnModule)}
    for step in ground.steps:
        last = before_instruction(step.command.words)[-1].line
        for package in step.packages if step.command.decisive else ():
            row = names.get(normalized(package.name)) if package.line <= last else None
            if row is not None and package.tool == "pip" and not package.places.index and not package.places.more:
                yield stop(
                    faults.INDEX_WITHOUT_PACKAGE,
                    f"{package.name} is a module of Python itself: no index has a package of this name",
                    package_subject(package),
                    impact="The build stops with 'No matching distribution found'.",
                    fix=f"Remove {package.name}.",
                    sources=row.sources,
                )
                return
