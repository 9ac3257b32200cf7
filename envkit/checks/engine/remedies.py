"""Remedies whose commands fit the distribution that was found; the commands themselves are data (`remedies.csv`)."""

from __future__ import annotations

import shlex
from functools import cache

from envkit._startup.regex import regex
from envkit.checks.engine.command import (
    ARCHITECTURES,
    CAPABILITY,
    CAPABILITY_LIST,
    FILE,
    GPU,
    GROUP,
    NAME,
    NUMBER,
    OPTION,
    PATH,
    PCI_ADDRESS,
    PCI_IDS,
    PCI_OPTIONS,
    PYTHON,
    REQUIREMENT,
    TARGETS,
    URL,
    VERSION,
    Command,
    Unfit,
    Word,
    for_windows,
)
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import appliance, managed_by, managers
from envkit.model import Environment, MachineKind
from envkit.tables.findings import RemedyStep
from envkit.tables.loader import read
from envkit.tables.rows import OperatingSystem

_BY_FAMILY = {  # family of operating_systems.csv and its package manager -> where to look for commands
    ("debian", "apt"): ("debian",),
    ("rhel", "dnf"): ("el", "rhel"),
    ("rhel", "yum"): ("yum",),  # neither dnf nor its modules are there
    ("amazon", "dnf"): ("amazon", "rhel"),
    ("amazon", "yum"): ("yum",),
    ("azure", "dnf"): ("rhel",),
    ("fedora", "dnf"): ("fedora", "rhel"),
    ("suse", "zypper"): ("suse",),
}
_LIKE = {  # os-release ID or ID_LIKE of what has no row there
    "ubuntu": ("ubuntu", "debian"),
    "pop": ("ubuntu", "debian"),
    "linuxmint": ("ubuntu", "debian"),
    "debian": ("debian",),
    "rhel": ("el", "rhel"),
    "el7": ("yum",),
    "amzn2": ("yum",),
    "amzn2023": ("amazon", "rhel"),
    "centos": ("el", "rhel"),
    "rocky": ("el", "rhel"),
    "almalinux": ("el", "rhel"),
    "ol": ("el", "rhel"),
    "kylin": ("rhel",),
    "mariner": ("rhel",),
    "azurelinux": ("rhel",),
    "fedora": ("fedora", "rhel"),
    "suse": ("suse",),
    "opensuse": ("suse",),
    "opensuse-tumbleweed": ("suse",),
    "arch": ("arch",),
    "cachyos": ("arch",),
    "endeavouros": ("arch",),
    "void": ("void",),
}
_KERNELS = {
    ".amzn2023": "amzn2023",
    ".amzn2": "amzn2",
    ".el7": "el7",
    ".el": "rhel",
    ".fc": "fedora",
    "-pve": "debian",
    "-arch": "arch",
    "+deb": "debian",
    "-zen": "arch",
    "cachyos": "arch",
    "-7605": "pop",
    "-7606": "pop",
}  # what kernels are called, and whose they are
_FOREIGN = regex(r"-arch\d|MANJARO|\domv\b|-gentoo|-zen\d|cachyos|\.mga\d|-artix|-lts$|_1$|-solus|-clear|-slackware")
_OTHER_PACKAGES = "other-packages"  # than those whose commands are here
_RESTARTS = ("sudo reboot",)
_OF_THE_HOST = frozenset(
    (
        *("build-module", "build-with-gcc", "prebuilt-module", "load-module", "reload-module", "module-log", "unblock"),
        *("load-uvm", "reload-uvm", "uvm-at-boot", "peermem", "free-vfio", "device-nodes", "device-links", "prime"),
        *("one-module", "hold", "keep-memory", "kernel-log", "license", "persistence", "reboot", "who-holds"),
        *("start-fabric-manager", "stop-fabric-manager", "driver-newer"),
    )
)
# programs that are there too
_ON_WINDOWS = (
    *("conda", "docker", "envkit", "nvidia-smi", "pixi", "poetry", "python", "uv", "wsl", "shutdown"),
    *(
        "call",
        "copy",
        "curl.exe",
        "findstr",
        "git",
        "xcopy",
        "reg",
        "mkdir",
        "set",
        "cmake",
        "koboldcpp",
        "mbr2gpt",
        "powershell",
        "ren",
        "tar.exe",
        "vcvars64.bat",
        "webui.bat",
        "where.exe",
        "winget",
    ),
)
_OF_A_LINUX_SHELL = ("|", "$")  # what follows a pipe is a Linux program; variables are written in another way
_AS_ADMINISTRATOR = " Run it in a terminal that was started as administrator."
_LINUX_SCRIPT = ("envkit", "install")
_OF_WINDOWS = ("comfyui-portable", "forge-package", "runtime-folder")  # packages that are made for it alone
_MOST_FREQUENT = _LIKE["ubuntu"]  # for a text that does not tell the distribution
WITHOUT_PLANS = frozenset(("arch", "void"))  # families for which commands are here, and no installation is planned
_SIGNS = {"el7": "el7", "rpm": "rhel", "debian": "debian"}  # what a text shows of a distribution that it does not name
_TOOLS = {  # package managers and packages that only one family of distributions has
    "pacman": "arch",
    "xbps": "void",
    "zypper": "suse",
    "mint": "linuxmint",
    "ubuntu-packages": "ubuntu",
}
_LABELS = {
    "ubuntu": "Ubuntu",
    "debian": "Ubuntu and Debian",
    "el": "RHEL and its rebuilds",
    "rhel": "RHEL and its rebuilds",
    "yum": "RHEL 7 and its rebuilds",
}  # whom their commands are for, the narrower first
_BLANK = regex(r"\{([a-z]+)\}")
FORMS = {  # what may be in a blank of remedies.csv
    "address": PCI_ADDRESS,
    "architectures": ARCHITECTURES,
    "branch": NUMBER,
    "capabilities": CAPABILITY_LIST,
    "capability": CAPABILITY,
    "container": NAME,
    "cuda": NUMBER,
    "file": FILE,
    "folder": NAME,
    "framework": NAME,
    "gcc": VERSION,
    "flavor": NAME,
    "group": GROUP,
    "ids": PCI_IDS,
    "index": GPU,
    "major": NUMBER,
    "name": REQUIREMENT,
    "number": NAME,
    "option": OPTION,
    "packages": NAME,
    "pci": PCI_OPTIONS,
    "pod": NAME,
    "python": PYTHON,
    "root": PATH,
    "sign": NAME,
    "stale": VERSION,
    "targets": TARGETS,
    "url": URL,
    "version": VERSION,
    "watts": NUMBER,
}


def families(environment: Environment) -> tuple[str, ...]:
    """Where commands for this distribution are found, most exact first; empty when it is unknown or none of ours."""
    if not environment.system.os.known:
        if environment.system.machine_kind.value is MachineKind.JETSON:
            return _LIKE["ubuntu"]  # of which its system is made
        own = families_of_kernel(environment.system.kernel.value or "")
        return own or next((_LIKE[word] for tool, word in _TOOLS.items() if tool in managers(environment)), ())
    release = environment.system.os.get()
    if release.id == "ubuntu":
        return _LIKE["ubuntu"]
    row = next((row for row in read(OperatingSystem) if row.os_id == release.os_id), None)
    if row is not None:
        return _BY_FAMILY.get((row.family, row.package_manager), ())
    return next((_LIKE[word] for word in (release.id, *release.id_like) if word in _LIKE), ())


def families_of_kernel(kernel: str) -> tuple[str, ...]:
    """The families that the name of a kernel gives away."""
    return next((_LIKE[word] for sign, word in _KERNELS.items() if sign in kernel), ())


def on_windows(environment: Environment) -> bool:
    """True where commands of a Linux shell are of no use."""
    known = environment.system.os
    return known.get().id == "windows" if known.known else managed_by(environment, *_OF_WINDOWS)


def without_linux(given: Remedy) -> Remedy:
    """The remedy with those of its commands that Windows has too."""
    plain = tuple(map(_without_sudo, given.steps))
    kept = tuple(for_windows(step) for step in plain if _runs_on_windows(step))
    asks = any(step not in given.steps for step in plain)
    return Remedy(f"{given.advice}{_AS_ADMINISTRATOR if asks else ''}", kept)


def _without_sudo(step: Command) -> Command:
    """nvidia-smi is there too: who may change a setting is the terminal's affair."""
    words = step.words or tuple(step.shell.split())
    if words[:2] != ("sudo", "nvidia-smi") or any(sign in step.shell for sign in _OF_A_LINUX_SHELL):
        return step
    return Command(words=words[1:])


def _runs_on_windows(step: Command) -> bool:
    if step.problem:
        return True  # the reason is worth reading there too
    words = step.words or tuple(step.shell.split())
    if words[:2] == _LINUX_SCRIPT or any(sign in step.shell for sign in _OF_A_LINUX_SHELL):
        return False
    return words[0] in _ON_WINDOWS or words[0].endswith(("\\python.exe", "\\activate")) or words[1:3] == ("-m", "pip")


def steps(environment: Environment, action: str, **values: object) -> tuple[Command, ...]:
    """The commands of `action` for this distribution with their blanks filled; none when a value is not known.

    Where the distribution is unknown: those of the most frequent one, never a mix; none for one that is known and has
    no commands here.
    """
    known = _templates()[action]
    family = _family(environment, action)
    return _filled(known[family], values) if family else ()


def steps_for(family: str, action: str, **values: object) -> tuple[Command, ...]:
    """The commands of `action` for a family that is certain; none where it has none."""
    return _filled(_templates()[action].get(family, []), values)


def _likely(environment: Environment) -> tuple[str, ...]:
    """Whose commands to give where the text does not tell the distribution."""
    return next((_LIKE[sign] for name, sign in _SIGNS.items() if name in managers(environment)), _MOST_FREQUENT)


def _family(environment: Environment, action: str) -> str:
    """The family whose commands are given for `action`: the distribution's own, `any`, or '' for none."""
    known = _templates()[action]
    own = families(environment) if _known(environment) or _of_others(environment) else _likely(environment)
    return next((family for family in (*own, "any") if family in known), "")


def _known(environment: Environment) -> bool:
    return environment.system.os.known or bool(families(environment))


def _of_others(environment: Environment) -> bool:
    """Whether the kernel's name is of a distribution that has none of these package managers."""
    by_kernel = _FOREIGN.search(environment.system.kernel.value or "")
    return bool(by_kernel) or _OTHER_PACKAGES in managers(environment)


def _assumed(environment: Environment, actions: tuple[str, ...]) -> str:
    """What to say of commands for a distribution that nobody told."""
    hosted = managed_by(environment, "colab", "kaggle")
    if hosted or _known(environment) or appliance(environment) or _of_others(environment):
        return ""
    given = {_family(environment, action) for action in actions}
    if managed_by(environment, "apt"):
        given.discard("debian")  # the text shows that they fit
    labels = [label for family, label in _LABELS.items() if family in given]
    return (
        f" These commands are for {labels[0]}. On another distribution, add the output of `cat /etc/os-release` to the "
        "input and run envkit again."
        if labels
        else ""
    )


def remedy(environment: Environment, summary: str, *actions: str, **values: object) -> Remedy:
    """The remedy that `summary` names, with the commands of each of `actions` in turn.

    In a container it says so when they are for its host: modules, device files and services are not the container's.
    """
    inside = environment.system.machine_kind.value is MachineKind.CONTAINER
    if inside and not _OF_THE_HOST.isdisjoint(actions):
        summary = f"On the host of this container: {summary[0].lower()}{summary[1:]}"
    given = tuple(step for action in actions for step in steps(environment, action, **values))
    if len(actions) > 1 and all(step.line in _RESTARTS for step in given):
        given = ()  # a restart alone cures nothing
    return Remedy(f"{summary}{_assumed(environment, actions) if given else ''}", given)


def in_order(given: Remedy) -> Remedy:
    """The remedy with each command once, and what restarts the machine after everything else."""
    once = tuple(dict.fromkeys(given.steps))
    return Remedy(given.advice, tuple(sorted(once, key=lambda step: step.line in _RESTARTS)))


def _filled(templates: list[str], values: dict[str, object]) -> tuple[Command, ...]:
    blanks = {blank for template in templates for blank in _BLANK.findall(template)}
    if any(values.get(blank) in (None, "") for blank in blanks):
        return ()  # half a recipe would do harm
    words = {blank: FORMS[blank](values[blank]) for blank in sorted(blanks)}
    return tuple(_line(template, words) for template in templates)


def _line(template: str, words: dict[str, Word]) -> Command:
    quoted = {}
    for blank in _BLANK.findall(template):
        word = words[blank]
        if isinstance(word, Unfit):
            return Command(problem=word.reason)
        quoted[blank] = shlex.quote(word)
    return Command(shell=_BLANK.sub(lambda match: quoted[match.group(1)], template))


@cache
def _templates() -> dict[str, dict[str, list[str]]]:
    templates: dict[str, dict[str, list[str]]] = {}
    for row in read(RemedyStep):
        templates.setdefault(row.action, {}).setdefault(row.family, []).append(row.command)
    return templates
