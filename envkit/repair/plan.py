"""A remedy as a plan: its steps in order, with what decides whether they may be run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envkit._startup.records import record, replace
from envkit.base.names import requirement_name
from envkit.checks.engine.findings import Finding, Status
from envkit.repair.profile import changed_profiles
from envkit.repair.steps import Kind, Step, step_of


@record
class Plan:
    """What is to be done about one finding."""

    finding: Finding
    steps: tuple[Step, ...]

    @property
    def todo(self) -> list[tuple[int, Step]]:
        """The steps that change something, with their numbers in the plan; those that only show it are not run."""
        return [(number, step) for number, step in enumerate(self.steps, 1) if step.kind is not Kind.LOOK]

    @property
    def runs(self) -> bool:
        """Whether envkit can carry out any of it: the first step that is for the user ends it."""
        return any(step.runs for _, step in self.todo[:1])


def root_cause(findings: Sequence[Finding]) -> Finding | None:
    """The first failure, or without one the first warning, that is no consequence of another."""
    for status in (Status.FAIL, Status.WARN):
        found = next((item for item in findings if item.status is status and item.because_of is None), None)
        if found is not None:
            return found
    return None


def plan_for(finding: Finding, profiles: Mapping[str, str], shell_profile: str) -> Plan:
    """The steps of the finding's remedy; variables are changed in the profile files that hold them."""
    given = finding.remedy
    commands = given.steps if given is not None and given.commands else ()
    steps = [_placed(step_of(command), profiles, shell_profile) for command in commands]
    return Plan(finding, tuple(_replaced(steps)))


def _replaced(steps: Sequence[Step]) -> list[Step]:
    """What is removed to be installed again in another build is replaced, and `--yes` covers that."""
    done = []
    for number, step in enumerate(steps):
        if step.kind is Kind.PACKAGES and step.asks:
            gone = _named(step)
            later = [other for other in steps[number + 1 :] if other.kind is Kind.PACKAGES and not other.asks]
            back = {name for other in later for name in _named(other)}
            if gone <= back:
                step = replace(step, asks=False, reason="")
        done.append(step)
    return done


def _named(step: Step) -> set[str]:
    """The projects that a pip command names, each spelled in the one way."""
    return {name for word in step.words[4:] if (name := requirement_name(word))}


def _placed(step: Step, profiles: Mapping[str, str], shell_profile: str) -> Step:
    if step.kind is not Kind.VARIABLE:
        return step
    changed = changed_profiles(profiles, step.variables, shell_profile) if shell_profile else {}
    if changed:
        return replace(step, touches=tuple(changed))
    reason = "no profile file sets it: change it in the shell, or where the program is started"
    if not shell_profile:
        reason = (
            "root does not edit a profile file in a home directory that other users can change: do this as its owner"
        )
    return replace(step, kind=Kind.BY_HAND, reason=reason)
