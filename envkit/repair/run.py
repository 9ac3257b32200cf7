"""Carries out the steps of a plan and takes them back, each noted in the journal before it begins."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from envkit._startup.records import replace
from envkit.base.errors import EnvkitError
from envkit.host import repairs
from envkit.host.journal import Journal
from envkit.host.repairs import Work
from envkit.repair.packages import undo_packages
from envkit.repair.profile import PROFILES, changed_profiles
from envkit.repair.steps import Kind, Step
from envkit.repair.undo import AS_IT_WAS, CHANGED_SINCE, Undo


def profile_texts() -> tuple[Mapping[str, str], str]:
    """The user's profile files with their text, and the one that this user's shell reads; '' in a home of others."""
    home = os.path.expanduser("~")
    if not repairs.is_own(home):
        return {}, ""
    own = ".zshrc" if os.environ.get("SHELL", "").endswith("zsh") else ".bashrc"
    return repairs.profiles(home, PROFILES), str(Path(home) / own)


def as_run(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps with the commands that are really run in their lines: uv's where there is no pip. Raises StepFailed."""
    return tuple(_as_run(step) if step.kind is Kind.PACKAGES else step for step in steps)


def _as_run(step: Step) -> Step:
    work = repairs.by_installer(Work(step.words))
    return step if work.words == step.words else replace(step, line=shlex.join(work.words))


def carry_out(step: Step, journal: Journal, tell: Callable[[str], None]) -> None:
    """The step, with what was there before it in the journal; `tell` gets its words. Raises EnvkitError."""
    before = _before(step, journal)
    note = {"kind": step.kind.name, "line": step.line, "root": step.root, "words": list(step.words)}
    journal.write({"event": "step", **note, "before": before})
    try:
        if step.kind is Kind.VARIABLE:
            _change_variables(step)
        else:
            work = Work(step.words, step.root, step.text)
            repairs.carry_out(repairs.by_installer(work) if step.kind is Kind.PACKAGES else work, tell)
    except EnvkitError:
        journal.write({"event": "failed", "line": step.line, **_packages_after(step)})
        raise
    after = [repairs.state_of(path) for path in step.touches]
    journal.write({"event": "done", "line": step.line, "after": after, **_packages_after(step)})


def _packages_after(step: Step) -> dict[str, Any]:
    """What the step left; nothing where that cannot be seen, as after a Python that broke."""
    if step.kind is not Kind.PACKAGES:
        return {}
    try:
        return {"packages": repairs.packages_of(step.words)}
    except EnvkitError:
        return {}


def _before(step: Step, journal: Journal) -> dict[str, Any]:
    before: dict[str, Any] = {"files": [repairs.state_of(path, journal) for path in step.touches]}
    if step.kind is Kind.PACKAGES:
        before["packages"] = repairs.packages_of(step.words)
    if step.kind is Kind.SERVICE:
        before["service"] = repairs.service_state(step.words[-1])
    return before


def _change_variables(step: Step) -> None:
    texts, own = profile_texts()
    for path, text in changed_profiles(texts, step.variables, own).items():
        if path in step.touches:
            repairs.replace_text(path, text)


def undo_plan(journal: Journal, indexes: Mapping[str, str]) -> list[Undo]:
    """How a fix is undone, its last step first; the loader's index is made again at the end.

    `indexes` are the addresses where builds with a local label (`cu124`, `cpu`) are found. What several steps changed
    goes back to what the first of them found.
    """
    entries = journal.entries()
    after = {state["path"]: state for entry in entries if entry["event"] == "done" for state in entry["after"]}
    held: set[str] = set()
    undone = []
    for entry in (entry for entry in entries if entry["event"] == "step"):
        if entry["kind"] != Kind.PACKAGES.name:
            undone.append((entry["kind"] == Kind.LOADER.name, _undo(entry, after, held)))
        elif entry["words"][0] not in held:
            held.add(entry["words"][0])
            undone.append((False, undo_packages(entry, entries, indexes)))
    return [undo for _, undo in sorted(reversed(undone), key=lambda pair: pair[0])]


def _undo(entry: Mapping[str, Any], after: Mapping[str, Any], held: set[str]) -> Undo:
    """One step undone, but for what an earlier one `held`."""
    line, root, before = entry["line"], bool(entry["root"]), entry["before"]
    works: list[Work] = []
    removes = []
    for state in before["files"]:
        now = repairs.state_of(state["path"])
        if state["path"] in held or repairs.same(now, state):
            continue
        if state["path"] in after and not repairs.same(now, after[state["path"]]):
            kept = f"; its copy is {state['copy']}" if "copy" in state else ""
            return Undo(line, reason=f"{state['path']} {CHANGED_SINCE}{kept}")
        works.append(repairs.put_back(state, root))
        removes += [state["path"]] if state["is"] == "absent" else []
        held.add(state["path"])
    if "service" in before:
        works += _service(before["service"], root)
    if entry["kind"] == Kind.LOADER.name:
        works.append(Work(("ldconfig",), root))
    return Undo(line, tuple(works), "" if works else AS_IT_WAS, tuple(removes))


def _service(before: Mapping[str, Any], root: bool) -> Iterator[Work]:
    unit, now = str(before["unit"]), repairs.service_state(str(before["unit"]))
    for question, yes, no in (("is-enabled", "enable", "disable"), ("is-active", "start", "stop")):
        if before[question] != now[question]:
            yield Work(("systemctl", yes if before[question] else no, unit), root)


def take_back(undo: Undo, tell: Callable[[str], None]) -> None:
    """One step undone. Raises StepFailed."""
    for work in undo.works:
        repairs.carry_out(work, tell)
