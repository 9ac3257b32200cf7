"""Completion values for option arguments, read from the matrix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _beginning_with(words: Iterable[str], incomplete: str) -> list[str]:
    wanted = incomplete.lower()
    return [word for word in words if word.lower().startswith(wanted)]


def complete_framework(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Framework names."""
    from envkit.tables import Matrix

    return _beginning_with((framework.name for framework in Matrix.load().frameworks), incomplete)


def complete_cuda(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """CUDA release lines, and full versions once a line is typed."""
    from envkit.tables import Matrix

    toolkits = Matrix.load().toolkits
    lines = dict.fromkeys(str(toolkit.release) for toolkit in toolkits)
    return _beginning_with(lines, incomplete) or _beginning_with((str(row.version) for row in toolkits), incomplete)


def complete_os(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Ids of the distributions known to envkit, and Windows."""
    from envkit.base.platforms import WINDOWS
    from envkit.tables import Matrix

    return _beginning_with([*(row.os_id for row in Matrix.load().operating_systems), WINDOWS], incomplete)


def complete_gpu(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """GPU names, with the vendor's and the family's word in front only where they are typed."""
    from envkit.tables import Matrix

    names = list(dict.fromkeys(row.name for row in Matrix.load().gpus))
    for words in ("NVIDIA ", "NVIDIA GeForce ", ""):
        found = _beginning_with((name.removeprefix(words) for name in names), incomplete)
        if found:
            return found
    return []


def complete_components(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Parts of a toolkit; those before the last comma stay."""
    from envkit.tables.parts import part_names

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _beginning_with(part_names(), last)]


def complete_cudnn(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """cuDNN release lines."""
    from envkit.tables import Matrix

    return _beginning_with(dict.fromkeys(str(row.version.release(2)) for row in Matrix.load().cudnns), incomplete)


def complete_python(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Python release lines that can be obtained."""
    from envkit.tables import Matrix

    pythons = sorted({row.python.release(2) for row in Matrix.load().python_sources})
    return _beginning_with(map(str, pythons), incomplete)


def complete_file(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files, which the shell itself lists."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def complete_target(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The words that `--target` knows, and files."""
    from click.shell_completion import CompletionItem

    words = _beginning_with(("this", "any"), incomplete)
    return [CompletionItem(word) for word in words] or complete_file(ctx, param, incomplete)


def complete_check(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Check ids."""
    from envkit.checks.engine.registry import all_checks

    return _beginning_with(all_checks(), incomplete)


def complete_finding(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The ids that a report can name: those of checks, and those of findings on Dockerfiles."""
    from envkit.checks.engine.registry import declared

    return _beginning_with(declared(), incomplete)


def complete_fact(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Fact paths, for `--assume`."""
    from envkit.model.paths import fact_paths

    return [f"{path}=" for path in _beginning_with(fact_paths(), incomplete)]


def complete_installed(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of what was installed here."""
    from envkit.cli.registry import all_plans

    return _beginning_with((plan.name for plan in all_plans()), incomplete)


def complete_toolkit(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Releases of the toolkits that were installed here."""
    from envkit.cli.registry import all_plans

    toolkits = [use for plan in all_plans() for use in plan.of("toolkit")]
    return _beginning_with(dict.fromkeys(use.detail for use in toolkits), incomplete)
