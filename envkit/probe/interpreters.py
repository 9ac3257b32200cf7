"""Which Python interpreters matter on a machine, and the folders that each imports packages from."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.host.base import Host
from envkit.probe.folder_pythons import folder_pythons
from envkit.probe.pyenv import behind_shim, is_shim

_VERSION_FOLDER = regex(r"python(\d+\.\d+)")
_ACTIVATED = ("VIRTUAL_ENV", "CONDA_PREFIX")
_OF_PROGRAMS = ("/pipx/venvs/", "/uv/tools/")  # environments that hold one program each, and nobody's frameworks
_USUAL_PLACES = ("/opt/venv", "/venv", "/opt/conda", "/usr/local/bin/python3", "/usr/bin/python3")


@record
class Interpreter:
    """One interpreter: its prefix, exact or minor version, and its import folders in search order."""

    prefix: str
    executable: str
    version: Version | None
    kind: str  # system, venv, conda, pyenv
    active: bool
    site_folders: tuple[str, ...]
    user_folders: tuple[str, ...] = ()  # those of site_folders that belong to the user
    base_prefix: str = ""  # of a virtual environment: the installation it was made from


def interpreters(host: Host, *, of_folder: bool = False) -> tuple[Interpreter, ...]:
    """The interpreters that matter, each once.

    Active are those that the user named, and no others count then. Else active are the environment that the shell has
    activated, or without one the Python of PATH, the one that runs envkit and, with `of_folder`, those of the working
    folder: they may be a stranger's, so that nobody may run them who asks for them. In an image or a mounted system,
    which has no shell, none is active.
    """
    named = named_pythons(host)
    activated = tuple(_activated(host))
    here = tuple(folder_pythons(host)) if of_folder and not named and not activated else ()
    own = "" if activated else _own(host)
    chosen: dict[str, Interpreter] = {}
    waits = bool(host.variables().get("PATH"))  # for the first one that is there
    for executable in named or (*here, *_candidates(host, activated)):
        sure = executable in named or executable in here or (executable == own and bool(host.variables().get("PATH")))
        interpreter = interpreter_of(host, executable, active=sure or waits)
        if interpreter is not None:
            chosen.setdefault(interpreter.prefix, interpreter)
            waits = waits and executable in here
    return tuple(chosen.values())


def named_pythons(host: Host) -> tuple[str, ...]:
    """The Pythons that the user chose for this look at the machine, as `--python` gave them."""
    return tuple(filter(None, host.identity().get("pythons", "").split(":")))


def interpreter_of(host: Host, executable: str, *, active: bool = False) -> Interpreter | None:
    """The interpreter behind `executable`, through pyenv's shims; None when there is none."""
    if is_shim(executable):
        behind = behind_shim(host, executable)
        if behind is None:
            return None
        executable = behind
    if not host.status(executable).known:
        return None
    prefix = _prefix(host, executable)
    config = _pyvenv(host, prefix)
    version = _version(host, prefix, executable, config)
    base = posixpath.dirname(config.get("home", "")) if config else ""
    minor = str(version.release(2)) if version else ""
    own = _site_folders(host, prefix, minor)
    shares = not config or config.get("include-system-site-packages", "").lower() == "true"
    user = _user_folders(host, minor) if shares else ()
    shared = _site_folders(host, base, minor) if config and shares else ()
    return Interpreter(
        prefix, executable, version, _kind(host, prefix, config), active, (*user, *own, *shared), user, base
    )


def _activated(host: Host) -> Iterator[str]:
    for name in _ACTIVATED:
        if host.variables().get(name):
            yield posixpath.join(host.variables()[name], "bin/python")


def _own(host: Host) -> str:
    """The Python that runs envkit, unless envkit has an environment to itself."""
    own = host.identity().get("python", "")
    return "" if any(place in own for place in _OF_PROGRAMS) else own


def _candidates(host: Host, activated: Iterable[str]) -> Iterator[str]:
    yield from activated
    for program in ("python3", "python"):
        observed = host.which(program)
        if observed.known:
            yield observed.get()
    if _own(host):
        yield _own(host)
    if not host.variables().get("PATH"):  # an image or a mounted system has no shell to ask
        for place in _USUAL_PLACES:
            yield place if "/bin/" in place else f"{place}/bin/python"


def _prefix(host: Host, executable: str) -> str:
    """The prefix: that of the environment when the program lies in one, otherwise that of the program it links to."""
    unlinked = posixpath.dirname(posixpath.dirname(executable))
    if host.status(f"{unlinked}/pyvenv.cfg").known or host.status(f"{unlinked}/conda-meta").known:
        return unlinked
    real = host.real_path(executable)
    prefix = posixpath.dirname(posixpath.dirname(real.value or executable)) or "/usr"
    return "/usr" if prefix == "/" else prefix


def _pyvenv(host: Host, prefix: str) -> dict[str, str]:
    observed = host.read_text(f"{prefix}/pyvenv.cfg", 4000)
    pairs = (line.partition("=") for line in (observed.value or "").splitlines())
    return {key.strip().lower(): value.strip() for key, separator, value in pairs if separator}


def _version(host: Host, prefix: str, executable: str, config: dict[str, str]) -> Version | None:
    for key in ("version", "version_info"):
        version = Version.find(config.get(key, ""))
        if version:
            return Version.of(*version.parts[:3])
    real = host.real_path(executable).value or executable
    match = _VERSION_FOLDER.search(posixpath.basename(real))
    folders = [match.group(0)] if match else _version_folders(host, prefix)
    if len(folders) != 1:
        return None
    minor = folders[0].removeprefix("python")
    header = host.read_text(f"{prefix}/include/{folders[0]}/patchlevel.h", 4000)
    exact = re.search(r'PY_VERSION\s+"(\d+\.\d+\.\d+)', header.value or "")
    return Version.find(exact.group(1) if exact else minor)


def _version_folders(host: Host, prefix: str) -> list[str]:
    names = (posixpath.basename(path) for path in host.glob(f"{prefix}/lib/python*.*"))
    return [name for name in names if _VERSION_FOLDER.fullmatch(name)]


def _site_folders(host: Host, prefix: str, minor: str) -> tuple[str, ...]:
    if not prefix or not minor:
        return ()
    folders = [f"{prefix}/lib/python{minor}/site-packages", f"{prefix}/lib64/python{minor}/site-packages"]
    if prefix == "/usr":  # Debian keeps its own packages and those of pip apart
        folders = [f"/usr/local/lib/python{minor}/dist-packages", "/usr/lib/python3/dist-packages", *folders]
    seen: dict[str, str] = {}
    for folder in folders:
        real = host.real_path(folder)
        if real.known:
            seen.setdefault(real.get(), folder)
    return tuple(seen.values())


def _user_folders(host: Host, minor: str) -> tuple[str, ...]:
    if host.variables().get("PYTHONNOUSERSITE"):
        return ()
    base = host.variables().get("PYTHONUSERBASE") or posixpath.join(host.identity().get("home", "/root"), ".local")
    folder = f"{base}/lib/python{minor}/site-packages"
    return (folder,) if minor and host.status(folder).known else ()


def _kind(host: Host, prefix: str, config: dict[str, str]) -> str:
    if config:
        return "venv"
    if host.status(f"{prefix}/conda-meta").known:
        return "conda"
    return "pyenv" if "/.pyenv/" in prefix else "system"
