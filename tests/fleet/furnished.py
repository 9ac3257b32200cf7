"""A recorded machine as real files in the root of a distribution: links, nodes, and scripts for its programs."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

from envkit.capture.recorded import Entry, RecordedHost
from envkit.capture.replay import CaptureHost

VARIABLES = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/root", "LD_LIBRARY_PATH": "/usr/local/cuda/lib64"}
MACHINES = Path(__file__).parents[1] / "machines"


def furnish(root: Path, machine: str) -> None:
    """Puts what a recording holds into the root; a file that is in the way is replaced."""
    recorded: RecordedHost = CaptureHost(str(MACHINES / machine))
    for path, entry in sorted(recorded.entries.items(), key=lambda item: item[1].kind == "link"):
        _write(root, root / path.lstrip("/"), entry)
    programs: dict[str, list[str]] = {}
    for command, answer in recorded.commands.items():
        if answer.value is not None:
            called = command[0] if command[0].startswith("/") else f"/usr/bin/{command[0]}"
            programs.setdefault(called, []).append(
                f"{shlex.quote(' '.join(command[1:]))}) printf %s {shlex.quote(answer.value.stdout)};"
                f" printf %s {shlex.quote(answer.value.stderr)} >&2; exit {answer.value.exit_code} ;;"
            )
    for path, cases in programs.items():
        script = "#!/bin/sh\ncase $* in\n" + "\n".join(cases) + "\nesac\nexit 1\n"
        _write(root, root / path.lstrip("/"), Entry(content=script.encode(), mode="0755"))


def _write(root: Path, place: Path, entry: Entry) -> None:
    place = _inside(root, place.parent) / place.name
    if place.is_file() and place.read_bytes()[:4] == b"\x7fELF":
        return  # a library or program of the distribution, which its own programs need
    if place.is_symlink() or place.is_file():
        place.unlink()
    if entry.problem is not None or place.exists():
        return
    if entry.kind == "link":
        place.symlink_to(entry.target)
        return
    if entry.kind == "dir":
        place.mkdir(exist_ok=True)
    elif entry.kind == "char":
        major, minor = (int(part) for part in (entry.device or "195:0").split(":"))
        os.mknod(place, stat.S_IFCHR | 0o600, os.makedev(major, minor))
    else:
        place.write_bytes(_content(entry))
    place.chmod(int(entry.mode, 8))


def _content(entry: Entry) -> bytes:
    if entry.content is not None:
        return entry.content
    if entry.reader is not None:
        return entry.reader(64_000_000, 0)
    is_program = int(entry.mode, 8) & 0o111  # of which nobody recorded what it holds
    return b"#!/bin/sh\nexit 1\n" if is_program else b""


def _inside(root: Path, folder: Path) -> Path:
    """The folder, made where it is not there; links of the root are followed inside of it."""
    here = root
    for part in folder.relative_to(root).parts:
        here = here / part
        if here.is_symlink():
            target = os.readlink(here)
            here = _inside(
                root,
                root / target.lstrip("/") if target.startswith("/") else Path(os.path.normpath(here.parent / target)),
            )
        here.mkdir(exist_ok=True)
    return here


def facts_inside(root: Path) -> str:
    """The facts as JSON that the probes find in the root, as a process whose root it is."""
    command = [sys.executable, "-m", "tests.fleet.furnished", str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout


def main() -> None:
    """Loads everything outside, and asks inside."""
    import json
    from importlib import import_module
    from pkgutil import iter_modules

    import envkit.host
    import envkit.probe
    from envkit.host.local import LocalHost
    from envkit.model.facts_json import to_json
    from envkit.probe.collect import collect, known_device

    for package in (envkit.host, envkit.probe):
        for module in iter_modules(package.__path__):
            import_module(f"{package.__name__}.{module.name}")
    known_device("2330")
    identity = {**LocalHost().identity(), "home": "/root", "cwd": "/", "python": "", "prefix": ""}
    collect(LocalHost(), 30)
    os.chroot(sys.argv[1])
    os.chdir("/")
    print(json.dumps(to_json(collect(LocalHost(VARIABLES, identity), 30))))


if __name__ == "__main__":
    main()
