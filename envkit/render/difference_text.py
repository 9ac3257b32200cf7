"""What `envkit diff` found, for a person: what is new with its likely culprit, what is gone, then every change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from envkit._startup.records import replace
from envkit.base.wrap import WIDTH
from envkit.checks.engine.evidence import in_words, many
from envkit.checks.engine.findings import Finding, Status
from envkit.comparison.changes import GROUPS, Change
from envkit.comparison.culprits import Difference, Judged
from envkit.comparison.items import PRESENT
from envkit.comparison.repeats import told_once
from envkit.documents.verdict import verdict
from envkit.model import Environment
from envkit.render.machine import gpu_line
from envkit.render.page import Page

_CULPRITS = 3  # of one finding that are named; the list of changes has the rest
_SHOWN = 8  # changes of a group that explain nothing
_ARROW = " \u2192 "
_LONGEST = 160  # characters of one value
_BY_NAME_ALONE = ("packages", "variables", "pythons.distributions")
_CALLED = {
    "system.kernel": "running kernel",
    "system.memory_bytes": "memory",
    "system.processors": "processors",
    "system.tmp_noexec": "/tmp mounted noexec",
    "driver.libraries": "driver library {}",
    "driver.libraries.path": "file of {}",
    "driver.libraries.in_ld_cache": "{} in the loader's cache",
    "gpus.compute_capability": "compute capability of GPU {}",
    "gpus.power_limit_w": "power limit of GPU {}",
    "gpus.power_limit_default_w": "default power limit of GPU {}",
    "pci_gpus.bar1_resizable": "resizable BAR of {}",
    "pci_gpus.compute_capability": "compute capability of {}",
    "pci_gpus.device_id": "PCI device id of {}",
    "pci_gpus.link.slot": "slot of {}",
    "pci_gpus.subsystem_id": "PCI subsystem id of {}",
    "system.os": "operating system",
    "driver.driver_cuda_version": "newest CUDA version that the driver supports",
    "driver.cuda_device_count": "GPUs in CUDA",
    "driver.cuda_visible_count": "GPUs in CUDA with CUDA_VISIBLE_DEVICES",
    "driver.procfs_gpus": "GPUs of the kernel module",
    "gpus": "GPU {}",
    "kernel.cmdline": "kernel command line",
    "pci_gpus": "GPU on PCI {}",
    "pci_gpus.driver": "driver bound to {}",
    "pci_gpus.link.width_current": "PCIe lanes of {}",
    "pythons": "Python {}",
    "pythons.frameworks": "CUDA version of {}",
    "pythons.cudnn_sublibraries": "cuDNN library {}",
}


def difference_text(
    old: Judged, new: Judged, found: Difference, *, verbose: bool = False, color: bool = False, width: int = WIDTH
) -> str:
    """The whole answer; `verbose` lists every change and the facts that were not compared."""
    page = Page(width, color)
    found = found if verbose else _once(found)
    lines = [*page.labeled("Old", _side(old)), *page.labeled("New", _side(new)), ""]
    lines += [*_other_machine(old[0], new[0], page), *_summary(found, page)]
    ids = {finding.id for finding in found.new}
    for finding in found.new:
        if finding.because_of not in ids:
            lines += ["", *_new(finding, found, page)]
    for finding in found.gone:
        lines += ["", *page.title(Status.OK, f"Gone: {_named(finding)}")]
    for finding in found.not_judged:
        lines += ["", *page.title(Status.UNKNOWN, f"Not checked in NEW: {_named(finding)}")]
    lines += _changes(found, page, verbose=verbose)
    if found.culprits:
        lines += ["", "* may explain a new problem"]
    if found.not_compared:
        lines += ["", *page.wrap(_not_compared(found.not_compared, verbose=verbose))]
    return "\n".join(lines) + "\n"


def _once(found: Difference) -> Difference:
    """Without the changes that repeat another one, unless they alone explain a finding."""
    explained = {item.change for item in found.culprits}
    kept = frozenset(told_once((*explained, *found.others)))
    return replace(found, others=tuple(change for change in found.others if change in kept))


def _side(judged: Judged) -> str:
    environment, findings = judged
    return f"{environment.origin}: {verdict(environment, findings).title}"


def _other_machine(old: Environment, new: Environment, page: Page) -> Iterator[str]:
    """That the two sides have no GPU model in common, which most changes then follow from."""
    before, after = gpu_line(old), gpu_line(new)
    models = [{name.partition(" × ")[2] or name for name in side.split(", ")} for side in (before, after)]
    if before and after and models[0].isdisjoint(models[1]):
        yield from page.wrap(f"These look like two different machines: {before} in OLD, {after} in NEW.")
        yield ""


def _summary(found: Difference, page: Page) -> Iterator[str]:
    parts = [many(len(found.culprits) + len(found.others), "change")] if found.culprits or found.others else []
    for status, word in ((Status.FAIL, "problem"), (Status.WARN, "warning")):
        ids = [finding.id for finding in found.new if finding.status is status]
        unsure = sum(id in found.not_judged_before for id in ids)
        parts += [many(len(ids) - unsure, f"new {word}")] if len(ids) > unsure else []
        parts += [f"{many(unsure, word)} not checked in OLD"] if unsure else []
    parts += [f"{len(found.gone)} gone"] if found.gone else []
    parts += (
        [f"{many(len(found.not_judged), 'problem')} from OLD could not be checked in NEW"] if found.not_judged else []
    )
    none = "No relevant changes in what both sides show." if found.not_compared else "No relevant changes."
    yield page.head(", ".join(parts) + "." if parts else none)


def _new(finding: Finding, found: Difference, page: Page) -> Iterator[str]:
    yield from page.title(finding.status, _named(finding))
    own = [item.change for item in found.culprits if finding.id in item.explains]
    causes = [change for change in own if not change.symptom] or own
    if finding.id in found.not_judged_before:
        yield from page.labeled("Cause", "Unknown: this check could not run on OLD.")
    elif not causes:
        yield from page.labeled("Cause", "No change explains this problem.")
    for number, change in enumerate(causes[:_CULPRITS]):
        yield from page.labeled("Cause" if number == 0 else "", _told(change))
    if finding.remedy:
        yield from page.labeled("Fix", finding.remedy.summary)
        yield from page.commands(finding.remedy.commands)
    follow = dict.fromkeys(other.title for other in found.new if other.because_of == finding.id)
    if follow:
        yield from page.labeled(
            "Also",
            f"{'; '.join(follow)} (fixing the problem above should fix {'this' if len(follow) == 1 else 'these'} too).",
        )
    yield page.whole("See also", f"envkit explain {finding.id}")


def _named(finding: Finding) -> str:
    shown = finding.subject and finding.subject not in finding.title
    return f"{finding.title} ({finding.subject})" if shown else finding.title


def _changes(found: Difference, page: Page, *, verbose: bool) -> Iterator[str]:
    """The groups with a culprit first, in each the culprits first, marked."""
    explained = [item.change for item in found.culprits]
    order = list(dict.fromkeys([*(change.group for change in explained), *GROUPS]))
    for group in order:
        first = [change for change in explained if change.group == group]
        rest = [change for change in found.others if change.group == group]
        if first or rest:
            yield from ("", page.head(group))
            yield from _listed(first, "* ", page)
            yield from _listed(rest if verbose else rest[:_SHOWN], "  ", page)
        if len(rest) > _SHOWN and not verbose:
            yield f"    and {len(rest) - _SHOWN} more; -v lists them"


def _listed(changes: Iterable[Change], mark: str, page: Page) -> Iterator[str]:
    for change in changes:
        yield from page.wrap(_told(change), " " * 6, f"  {mark}")


def _told(change: Change) -> str:
    place = f" in {change.place}" if change.place else ""
    return f"{_name(change)}{place}: {_step(change)}"


def _step(change: Change) -> str:
    if change.old is None:
        return f"added {_value(change.new)}".replace(f"added {PRESENT}", "added")
    if change.new is None:
        return f"removed (was {_value(change.old)})".replace(f" (was {PRESENT})", "")
    return f"{_value(change.old)}{_ARROW}{_value(change.new)}"


def _name(change: Change) -> str:
    called = in_words(change.fact)
    if called == change.fact:
        called = change.fact.rpartition(".")[2].replace("_", " ")
    if change.name and change.fact in _BY_NAME_ALONE:
        return change.name
    if change.fact in _CALLED and (change.name or "{}" not in _CALLED[change.fact]):
        return _CALLED[change.fact].format(change.name)
    return f"{called} {change.name}".rstrip()


def _value(value: str | None) -> str:
    value = value or ""
    return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}\u2026"


def _not_compared(paths: tuple[str, ...], *, verbose: bool) -> str:
    if verbose:
        return f"Not compared, because one side lacks them: {', '.join(paths)}."
    return f"{many(len(paths), 'fact')} could not be compared because one side lacks them; use -v to list them."
