"""The registry of this machine: from the notes of all plans, who installed what, and who uses it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os.path import basename
from pathlib import PurePosixPath
from typing import Protocol

from envkit._startup.records import record
from envkit.base.errors import EnvkitError, RequestError, did_you_mean

LINK = "/usr/local/cuda"
# Which steps of a script have put there what a plan says that it uses; the scripts hand notes over by the same names.
_STEPS: Mapping[str, tuple[str, ...]] = {
    "toolkit": ("toolkit",),
    "cudnn": ("cudnn",),
    "link": ("link", "use"),
    "module": ("module-toolkit", "module-environment"),
    "environment": ("python",),
    "framework": ("python",),
}
_FOLDERS = ("toolkit", "environment")
_HALF = ("started", "failed", "interrupted")
_COLUMNS = 3  # that every line of the notes has at least
_NO_TOOLKIT = (
    "envkit has installed no CUDA toolkit that this command can select (`envkit installed` lists what it has "
    "installed). For a toolkit that was installed with --no-symlink or without root, run: . DIR/envkit.sh"
)


class Notes(Protocol):
    """One plan's notes, as its folder holds them."""

    @property
    def path(self) -> str: ...  # noqa: D102 - the folder
    @property
    def for_all(self) -> bool: ...  # noqa: D102 - of the machine, not of this user alone
    @property
    def order(self) -> float: ...  # noqa: D102 - grows with time
    @property
    def texts(self) -> Mapping[str, str]: ...  # noqa: D102 - each file by its name
    @property
    def script(self) -> str | None: ...  # noqa: D102 - the kept copy


@record
class Use:
    """One thing that a plan relies on: a folder, the link, a package, a driver."""

    kind: str
    what: str
    detail: str
    here: bool | None  # None: it has no path of its own
    installed_by: str | None  # the plan that takes it back; None for what was there before
    used_by: tuple[str, ...]  # the other plans that rely on it


@record
class InstalledPlan:
    """A plan that a script has carried out on this machine, or begun to."""

    name: str
    for_all: bool
    order: float
    since: str
    state: str  # complete, incomplete, waiting-for-reboot, partly-removed
    script: str | None
    uses: tuple[Use, ...]
    packages: tuple[str, ...]  # of the distribution, that came with it
    files: tuple[str, ...]  # outside its folders: made by it, or replaced and kept for its removal

    def of(self, *kinds: str) -> tuple[Use, ...]:
        """What it uses of these kinds."""
        return tuple(use for use in self.uses if use.kind in kinds)

    @property
    def shared(self) -> tuple[Use, ...]:
        """The folders of its own that other plans rely on, and that stay for them."""
        return tuple(use for use in self.of(*_FOLDERS) if use.installed_by == self.name and use.used_by)


def installed_plans(notes: Iterable[Notes], is_there: Callable[[str], bool]) -> tuple[InstalledPlan, ...]:
    """The plans whose notes these are, the oldest first."""
    ordered = sorted(notes, key=lambda one: (one.order, one.path))
    owners = {key: _name(one) for one in ordered for key in _owned(one)}
    users: dict[tuple[str, str], list[str]] = {}
    for one in ordered:
        for kind, what, _ in _uses(one):
            users.setdefault((kind, what), []).append(_name(one))
    return tuple(_plan(one, owners, users, is_there) for one in ordered)


def _plan(
    notes: Notes,
    owners: Mapping[tuple[str, str], str],
    users: Mapping[tuple[str, str], Sequence[str]],
    is_there: Callable[[str], bool],
) -> InstalledPlan:
    name, journal = _name(notes), list(_rows(notes, "journal"))
    uses = tuple(
        Use(
            kind=kind,
            what=what,
            detail=detail,
            here=is_there(what) if what.startswith("/") else None,
            installed_by=owners.get((kind, what)),
            used_by=tuple(dict.fromkeys(user for user in users[kind, what] if user != name)),
        )
        for kind, what, detail in _uses(notes)
    )
    return InstalledPlan(
        name=name,
        for_all=notes.for_all,
        order=notes.order,
        since=journal[0][0] if journal else "",
        state=_state(journal),
        script=notes.script,
        uses=uses,
        packages=tuple(sorted(_packages(notes))),
        files=tuple(_files(notes, [use.what for use in uses if use.kind in _FOLDERS])),
    )


def _name(notes: Notes) -> str:
    return basename(notes.path)


def _rows(notes: Notes, file: str) -> Iterator[list[str]]:
    """The lines of a file by their columns; a line that a stop has cut off is left out."""
    for line in notes.texts.get(file, "").split("\n"):
        cells = line.split("\t")
        if len(cells) >= _COLUMNS:
            yield cells


def _uses(notes: Notes) -> Iterator[tuple[str, str, str]]:
    for kind, what, detail, *_ in _rows(notes, "uses"):
        yield kind, what, detail


def _owned(notes: Notes) -> Iterator[tuple[str, str]]:
    """What the plan undoes: its steps have noted changes for it."""
    steps = {step for step, kind, *_ in _rows(notes, "changes") if kind != "begin"}
    packages = _packages(notes)
    for kind, what, _ in _uses(notes):
        if steps & {*_STEPS.get(kind, ())} or kind == "package" and what in packages:
            yield kind, what


def _packages(notes: Notes) -> set[str]:
    """The packages that were not there before, without their architectures."""
    return {
        line.rpartition(":")[0] or line
        for name, text in notes.texts.items()
        if name.startswith("packages.")
        for line in text.split()
    }


def _state(journal: Iterable[Sequence[str]]) -> str:
    last = {step: state for _, step, state, *_ in journal}
    whole = last.pop("all", "done")
    if "reboot" in last.values():
        return "waiting-for-reboot"
    if whole == "undone":
        return "partly-removed"
    return "incomplete" if whole != "done" or any(state in _HALF for state in last.values()) else "complete"


def _files(notes: Notes, folders: Sequence[str]) -> Iterator[str]:
    found = dict.fromkeys(path for _, kind, path, *_ in _rows(notes, "changes") if kind in ("made", "absent", "saved"))
    inside = set(folders)
    for path in found:
        if inside.isdisjoint((path, *map(str, PurePosixPath(path).parents))):
            yield path


def named(word: str, plans: Sequence[InstalledPlan]) -> InstalledPlan:
    """The plan of this name, or the only one that begins so, or that has this folder. Raises RequestError."""
    found = [plan for plan in plans if plan.name == word] or [plan for plan in plans if _is_meant(word, plan)]
    if not found:
        hint = did_you_mean(word, [plan.name for plan in plans])
        raise RequestError(
            f"{word}: envkit has not installed anything with this name here.", hint or "See: envkit installed"
        )
    if len(found) > 1:
        names = ", ".join(plan.name for plan in found)
        raise RequestError(f"{word}: this could be any of {names}.", "Use the full name.")
    return found[0]


def _is_meant(word: str, plan: InstalledPlan) -> bool:
    by_folder = word.startswith("/") and any(use.what == word.rstrip("/") for use in plan.of(*_FOLDERS))
    return by_folder or any(_begins(plan.name, start) for start in (word, f"cuda-{word}"))


def _begins(name: str, start: str) -> bool:
    """Whether a name begins with these whole words."""
    return name.startswith(start) and name[len(start) :][:1] in ("", "-", ".", " ")


def newest_first(plans: Iterable[InstalledPlan]) -> tuple[InstalledPlan, ...]:
    """The order in which plans are undone, each of them once."""
    return tuple(sorted(set(plans), key=lambda plan: (-plan.order, plan.name)))


def script_of(plan: InstalledPlan) -> str:
    """The kept script. Raises EnvkitError where there is none."""
    if plan.script is None:
        raise EnvkitError(
            f"{plan.name}: its script was not kept, because it was not run from a file.",
            "Create the same script again with envkit install, and run it with --rollback.",
        )
    return plan.script


def toolkit_user(word: str, plans: Sequence[InstalledPlan]) -> InstalledPlan:
    """The plan whose script turns the link to the toolkit of this release or folder. Raises RequestError."""
    usable = [plan for plan in newest_first(plans) if plan.for_all and plan.of("toolkit") and plan.of("link")]
    toolkits = {use.what: use.detail for plan in usable for use in plan.of("toolkit")}
    found = [path for path, release in toolkits.items() if word.rstrip("/") == path or _begins(release, word)]
    if not found:
        known = ", ".join(f"{release} in {path}" for path, release in sorted(toolkits.items()))
        raise RequestError(
            f"envkit has not installed {f'a toolkit in {word}' if word.startswith('/') else f'CUDA {word}'} on this "
            "machine.",
            f"It has installed {known}. See: envkit installed" if known else _NO_TOOLKIT,
        )
    if len(found) > 1:
        raise RequestError(f"{word}: there are several: {', '.join(sorted(found))}.", "Use its directory.")
    users = [plan for plan in usable if any(use.what == found[0] for use in plan.of("toolkit"))]
    return next((plan for plan in users if plan.script and plan.state == "complete"), users[0])
