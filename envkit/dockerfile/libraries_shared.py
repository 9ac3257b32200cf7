"""Frameworks that bring CUDA libraries as packages, of which one environment cannot hold the releases of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.dockerfile.check_parts import finding, subject_of
from envkit.dockerfile.contents import Contents
from envkit.dockerfile.framework_packages import Wanted
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.needs import Needs
from envkit.dockerfile.wanted import Choices, cuda_comes_from
from envkit.solver.knowledge import knowledge_of
from envkit.solver.together import Together
from envkit.tables.rows import FrameworkBuild

if TYPE_CHECKING:
    from envkit.tables import Matrix

_RELATION = "wheels-share-libraries"


def with_its_cuda(build: FrameworkBuild, wanted: Wanted, found: Contents) -> FrameworkBuild:
    """The build as a file installs it: the libraries of an extra that is not asked for are not required."""
    return build if cuda_comes_from(build, wanted, found) == "inside" else replace(build, bundles_cuda=False)


def libraries_shared(
    made: Iterable[Ground], chosen: Choices, found: Contents, needs: Needs, matrix: Matrix
) -> Iterator[Finding]:
    """Each pair of pinned frameworks whose libraries exclude each other, in one command or in two of one stage."""
    pinned = [
        (wanted, with_its_cuda(build, wanted, found))
        for wanted, build in chosen.items()
        if isinstance(build, FrameworkBuild) and _is_pinned(wanted) and wanted.command not in needs.apart
    ]
    last = {wanted.framework: wanted for wanted, _ in sorted(pinned, key=lambda one: one[0].command)}
    one_environment = not any("environment" in ground.tells for ground in made)
    together = Together(knowledge_of(matrix).tables, needs.architecture, needs.platform)
    for pair in combinations(sorted(pinned, key=lambda one: one[0].command), 2):
        (earlier, first), (later, second) = pair
        one_command = earlier.command == later.command
        stays = one_environment and earlier.command[:1] == later.command[:1] and earlier == last[earlier.framework]
        if earlier.framework == later.framework or earlier.python != later.python or not (one_command or stays):
            continue
        for verdict in together.verdicts(first, second):
            if verdict.relation == _RELATION and verdict.status == "fail":
                yield finding(
                    faults.REQUIREMENTS_CLASH,
                    Status.FAIL if one_command else Status.WARN,
                    verdict.detail,
                    subject_of(later.line, f"{later.package}{later.spec}"),
                    impact="pip reports a conflict and stops."
                    if one_command
                    else f"This command replaces the library that {earlier.package} was installed with: it may not "
                    "find it, or not use the GPU.",
                    remedy=Remedy(
                        "Use releases that share their libraries, which envkit resolve finds for both, or two "
                        "environments."
                    ),
                    sources=verdict.sources,
                )


def _is_pinned(wanted: Wanted) -> bool:
    return wanted.tool == "pip" and wanted.spec.startswith("==") and "*" not in wanted.spec and not wanted.held
