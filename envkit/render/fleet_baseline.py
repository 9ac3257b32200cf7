"""The majority of a fleet as the TOML file that `--baseline` reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from envkit.base.errors import SourceError
from envkit.checks.engine.evidence import many
from envkit.fleet.drift import ALIKE, groups, majority
from envkit.fleet.model import HostResult, State
from envkit.fleet.traits import COMPARED

_MUST = ("gpu_count",)


def baseline_toml(hosts: Sequence[HostResult]) -> str:
    """A section for each group of like machines: the values that most of them have; the others as comments.

    Raises SourceError where nothing can be expected.
    """
    found = groups(hosts)
    if not found:
        raise SourceError(
            "the GPU models of these machines are unknown, so there is nothing to base expectations on.",
            "A baseline needs the GPU models.",
        )
    lines = ["# What these machines are expected to have; `envkit fleet report --baseline FILE` compares with it."]
    lines += [f"must = [{', '.join(map(_text, _MUST))}]  # a machine that differs in these fails", ""]
    for values, members in sorted(found.items()):
        match = ", ".join(f"{key} = {_text(value)}" for key, value in zip(ALIKE, values, strict=True) if value)
        lines += [
            f"[[machines]]  # {many(len(members), 'host')}{_failing(members)}",
            f"match = {{{match}}}",
            "[machines.expect]",
        ]
        lines += [*_expected(members), ""]
    return "\n".join(lines)


def _expected(members: Sequence[HostResult]) -> Iterator[str]:
    for key in COMPARED:
        values = Counter(host.traits[key] for host in members if key in host.traits)
        if key in ALIKE or not values:
            continue
        total, common = values.total(), majority(values)
        if common is not None:
            told = "" if len(values) == 1 else f"  # {values[common]} of {total}"
            yield f"{key} = {_text(common)}{told}"
        else:
            yield f"# {key}: no majority, {many(len(values), 'value')} among {many(total, 'host')}"


def _failing(members: Sequence[HostResult]) -> str:
    """How many of them fail: what they have need not be what they should have."""
    number = sum(host.state is State.FAIL for host in members)
    which = "failing" if number == len(members) else f"{number} of them failing"
    return f", {which}: check the values" if number else ""


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")
