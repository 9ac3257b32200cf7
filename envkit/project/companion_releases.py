"""Which other releases of the packages next to a framework go with it, so that the framework can stay as it is."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.base.names import normalized
from envkit.base.platforms import WINDOWS
from envkit.compat.package_wheels import EVERY, has_wheel, place_of, pythons_at, wheels_of
from envkit.compat.packages import requirement_of
from envkit.compat.pairs import pairs_by_package, required
from envkit.dockerfile.clashes import Clash, clashes, of_other_cuda
from envkit.dockerfile.companions_newest import loose_release
from envkit.dockerfile.needs import Needs
from envkit.dockerfile.specifiers import pinned_release
from envkit.project.choose import Chosen
from envkit.project.library_pins import other_libraries
from envkit.project.model import Item
from envkit.solver.query import Query


def companion_releases(have: Chosen, query: Query) -> Iterator[tuple[Item, str]]:
    """Each package that clashes with others of the file, and the versions of it that do not, as `==1.13.1`."""
    frameworks = {wanted.package for wanted in have.builds}
    packages = [one.package for one in have.items]
    found_apart = (*clashes(packages, needs_of(have, query)), *of_other_cuda(packages))
    changes = [_changed(clash, frameworks) for clash in found_apart]
    told: set[str] = set()
    for name, spec, needed in sorted(changes, key=lambda change: not change[2]):
        one = have.item_of(name)
        usable = bool(spec) and name not in frameworks | told
        if one is not None and usable and is_installable(name, spec, query):
            told.add(name)
            yield one, spec
        if needed:
            told.add(needed)
    for other in other_libraries(have, query):
        yield other.item, other.needed.line[len(other.needed.package) :]
    for one in have.items:
        found = loose_in(one, have)
        if found is not None:
            yield one, f"=={found[1]}"


def needs_of(have: Chosen, query: Query) -> Needs:
    """What an installer on the target goes by."""
    return Needs(have.python, query.request.architecture, WINDOWS if query.packages == WINDOWS else "linux")


def _changed(clash: Clash, frameworks: set[str]) -> tuple[str, str, str]:
    """What is to change of a clash, to which versions, and the package that requires just those, which stays."""
    name = normalized(clash.package.name)
    line = requirement_of(clash.needs) if clash.needs else None
    if line is not None and line.package not in frameworks and (line.spec.exact or not clash.release):
        return line.package, clash.needs[len(line.package) :], name
    return name, f"=={clash.release}" if clash.release else "", ""


def of_the_same_line(clash: Clash, have: Chosen) -> str:
    """The newest release of a package for another patch of the file's torch, where none is for just that one."""
    name, torch = normalized(clash.package.name), have.item_of("torch")
    asked = requirement_of(f"torch{torch.package.spec.partition('+')[0]}") if torch is not None else None
    pin = asked.spec.exact if asked is not None else None
    if pin is None or clash.release or name == "torch":
        return ""
    for row in reversed(pairs_by_package().get(name, ())):
        line = next((line for line in required(row) if line.package == "torch"), None)
        if line is not None and line.spec.exact is not None and line.spec.exact.release(2) == pin.release(2):
            return f" For torch {pin.release(2)}, use {name}=={row.version} with {line.line}."
    return ""


def loose_in(one: Item, have: Chosen) -> tuple[str, str, tuple[str, ...]] | None:
    """For a package that is installed without regard to the torch next to it: its newest, the one for it, sources."""
    torch = have.item_of("torch")
    pin = pinned_release(torch.package.spec) if torch is not None and torch.package.tool == "pip" else None
    return loose_release(one.package, pin, have.python) if pin is not None else None


def is_installable(package: str, spec: str, query: Query) -> bool:
    """Whether the default index has a wheel of these versions for the target, as far as that is known.

    Where no Python is named, one for a single Python is as good as none.
    """
    rows, architecture = wheels_of(package, spec), query.request.architecture
    python = query.request.python.exact if query.request.python is not None else None
    if python is None and rows:
        pythons = {one for row in rows for one in pythons_at(row, place_of(query.packages, architecture))}
        return len(pythons) > 1 or any(one.endswith(("+", EVERY)) for one in pythons)
    return not rows or any(has_wheel(row, query.packages, architecture, python) for row in rows)
