"""Remedies whose commands fit the distribution that was found; the commands themselves are data (`remedies.csv`)."""

from __future__ import annotations

from functools import cache

from envkit.checks.findings import Remedy
from envkit.facts import Environment
from envkit.matrix.tables import Table, read
from envkit.records import record
from envkit.regex import regex

_LIKE = {  # os-release ID or ID_LIKE -> where to look for commands, most exact first
    "ubuntu": ("ubuntu", "debian"),
    "pop": ("ubuntu", "debian"),
    "linuxmint": ("ubuntu", "debian"),
    "debian": ("debian",),
    "rhel": ("rhel",),
    "centos": ("rhel",),
    "rocky": ("rhel",),
    "almalinux": ("rhel",),
    "ol": ("rhel",),
    "fedora": ("rhel",),
    "azurelinux": ("rhel",),
    "suse": ("suse",),
    "sles": ("suse",),
    "opensuse": ("suse",),
    "opensuse-leap": ("suse",),
    "opensuse-tumbleweed": ("suse",),
}
_YUM_ONLY = ("amzn2", "centos7", "rhel7")  # releases without dnf
_LABELS = {"ubuntu": "Ubuntu", "debian": "Debian", "rhel": "RHEL, Fedora", "suse": "SUSE"}  # shown when unknown
_BLANK = regex(r"\{([a-z]+)\}")


@record
class Step:
    """One command of an action for one family of distributions; `{blank}` is filled in by the check."""

    action: str
    family: str
    step: int
    command: str
    sources: tuple[str, ...]


def families(environment: Environment) -> tuple[str, ...]:
    """Where commands for this distribution are found, most exact first; empty when it is unknown or none of ours."""
    if not environment.system.os.known:
        return ()
    release = environment.system.os.get()
    if release.os_id in _YUM_ONLY:
        return ("yum", "rhel")
    if release.id == "amzn":
        return ("rhel",)
    return next((_LIKE[word] for word in (release.id, *release.id_like) if word in _LIKE), ())


def commands(environment: Environment, action: str, **values: object) -> tuple[str, ...]:
    """The commands of `action` for this distribution with their blanks filled; none when a value is not known.

    Where the distribution is unknown: those of every family, each marked with whom it is for.
    """
    steps = _steps()[action]
    own = families(environment)
    for family in (*own, "any"):
        if family in steps:
            return _filled(steps[family], values)
    if own:
        return ()
    return tuple(
        f"{line}  # {label if 'ubuntu' in steps or family != 'debian' else 'Debian, Ubuntu'}"
        for family, label in _LABELS.items()
        for line in _filled(steps.get(family, []), values)
    )


def remedy(environment: Environment, summary: str, *actions: str, **values: object) -> Remedy:
    """The remedy that `summary` names, with the commands of each of `actions` in turn."""
    return Remedy(summary, tuple(command for action in actions for command in commands(environment, action, **values)))


def install_command(environment: Environment, *packages: str) -> tuple[str, ...]:
    """The command that installs `packages` with this distribution's package manager."""
    return commands(environment, "install", packages=" ".join(packages))


def _filled(templates: list[str], values: dict[str, object]) -> tuple[str, ...]:
    if any(values.get(blank) in (None, "") for template in templates for blank in _BLANK.findall(template)):
        return ()  # half a recipe would do harm
    return tuple(_BLANK.sub(lambda match: str(values[match.group(1)]), template) for template in templates)


@cache
def _steps() -> dict[str, dict[str, list[str]]]:
    steps: dict[str, dict[str, list[str]]] = {}
    for row in read(Table("remedies.csv", Step, ("action", "family", "step"))):
        steps.setdefault(row.action, {}).setdefault(row.family, []).append(row.command)
    return steps
