"""The Python environments that matter on a machine and what is installed in each, read from files alone.

Which ones matter: those that the user named; otherwise the active virtual or conda environment, or that of the working
folder, the `python3` and `python` of PATH, the one that runs envkit, and in an image or a mounted system the usual
places. No interpreter is started and nothing is imported.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from itertools import islice

from envkit._startup.regex import regex
from envkit.host.base import Host
from envkit.model import Distribution, PythonEnvironment
from envkit.probe.distributions import distributions_in, file_owners, owners_clash
from envkit.probe.folder_pythons import conda_pythons
from envkit.probe.interpreters import Interpreter, interpreter_of, interpreters, named_pythons
from envkit.probe.pyenv import ignored, is_shim
from envkit.probe.shadowing import shadowing_modules

_MOST_OTHERS = 8  # environments of conda that are read although nobody asked for them
_SHEBANG = regex(r"#!\s*(\S+)(?:\s+(\S+))?")


def environments(host: Host) -> Iterator[PythonEnvironment]:
    """The Python environments that matter, the active ones first.

    Where no framework is in an active one, those follow that conda knows: they are named to the user, and not checked.
    """
    pip_python = "" if named_pythons(host) else _pip_python(host)
    here = interpreters(host, of_folder=True)
    found = False
    for interpreter in here:
        environment = _environment(host, interpreter, pip_python)
        found = found or bool(environment.frameworks)
        yield environment
    if not found and not named_pythons(host):
        yield from _others(host, {interpreter.prefix for interpreter in here}, pip_python)


def _others(host: Host, seen: set[str], pip_python: str) -> Iterator[PythonEnvironment]:
    for executable in islice(conda_pythons(host), _MOST_OTHERS):
        interpreter = interpreter_of(host, executable)
        if interpreter is not None and interpreter.prefix not in seen:
            yield _environment(host, interpreter, pip_python)


def ignored_versions(host: Host) -> str:
    """What pyenv was told and does not do, in words."""
    shims = (path for program in ("python3", "python") if is_shim(path := host.which(program).value or ""))
    return "; ".join(dict.fromkeys(sentence for shim in shims for sentence in ignored(host, shim)))


def _environment(host: Host, interpreter: Interpreter, pip_python: str) -> PythonEnvironment:
    from envkit.probe.build_tools import build_tools, ptxas_version
    from envkit.probe.elf import ElfReader
    from envkit.probe.frameworks import frameworks
    from envkit.probe.libraries import cudnn_sublibraries, library_uses
    from envkit.probe.runtime_needs import runtime_needs

    distributions: list[Distribution] = []
    for folder in interpreter.site_folders:
        distributions.extend(distributions_in(host, folder, user_site=folder in interpreter.user_folders))
    installed = tuple(distributions)
    owners = file_owners(host, installed)
    elves = ElfReader(host)
    frames = frameworks(host, installed, elves)
    tools = build_tools(host, interpreter, installed)
    needs = runtime_needs(interpreter, installed, elves)
    return PythonEnvironment(
        prefix=interpreter.prefix,
        version=interpreter.version,
        executable=interpreter.executable,
        kind=interpreter.kind,
        active=interpreter.active,
        distributions=installed,
        frameworks=frames,
        library_uses=library_uses(interpreter, frames, owners, elves),
        owners_clash=owners_clash(owners),
        shadowing_modules=shadowing_modules(host),
        pip_python=pip_python,
        cudnn_sublibraries=cudnn_sublibraries(host, owners),
        build_tools=tools,
        ptxas_version=ptxas_version(host, tools),
        glibc_needed=needs.glibc,
        glibcxx_needed=needs.glibcxx,
        libstdcxx=needs.libstdcxx,
        libstdcxx_version=needs.libstdcxx_version,
        unresolved_symbols=needs.unresolved,
    )


def _pip_python(host: Host) -> str:
    """The interpreter that `pip` of PATH would run, '' when there is no pip or it does not say."""
    pip = host.which("pip")
    if not pip.known:
        return ""
    if is_shim(pip.get()):
        behind = interpreter_of(host, posixpath.join(posixpath.dirname(pip.get()), "python3"))
        return behind.executable if behind else ""
    head = host.read_text(pip.get(), 400)
    match = _SHEBANG.match(head.value or "")
    if not match:
        return ""
    program, argument = match.groups()
    if posixpath.basename(program) == "env" and argument:
        return host.which(argument).value or ""
    return program
