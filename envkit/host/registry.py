"""What install scripts noted on this machine: the texts of each plan's folder, and what is left of what they name."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from envkit._startup.records import record
from envkit.base.errors import SourceError
from envkit.host.trust import Untrusted, check
from envkit.host.user_file import read_user_file

_SCRIPT = "install.sh"


@record
class PlanFolder:
    """One plan's notes as they are, each file by its name; `script` is None where it came through a pipe."""

    path: str
    for_all: bool  # of the machine: only root may change what it holds
    order: float  # grows with the time at which the plan was registered
    texts: Mapping[str, str]
    script: str | None


def plan_folders() -> Iterator[PlanFolder]:
    """The notes of every plan of this machine and this user. Raises SourceError for what cannot be read."""
    for root, for_all in _roots():
        try:
            names = sorted(os.listdir(root))
            yield from [_folder(root / name, for_all) for name in names if (root / name / "uses").is_file()]
        except FileNotFoundError:
            continue
        except OSError as error:
            where = error.filename or root
            raise SourceError(f"cannot read {where}: {error.strerror}.", "Run it with sudo.") from error


def _roots() -> Iterator[tuple[Path, bool]]:
    """Where scripts keep their notes, as they choose it themselves."""
    named = os.environ.get("ENVKIT_STATE_DIR", "")
    if named:
        yield Path(named).absolute(), os.geteuid() == 0
        return
    yield Path("/var/lib/envkit"), True
    if os.geteuid() != 0 and (home := os.environ.get("XDG_STATE_HOME") or os.environ.get("HOME")):
        yield Path(home) / ("envkit" if os.environ.get("XDG_STATE_HOME") else ".local/state/envkit"), False


def _folder(path: Path, for_all: bool) -> PlanFolder:
    wanted = [name for name in sorted(os.listdir(path)) if name in ("uses", "journal", "changes") or _is_list(name)]
    script = path / _SCRIPT
    return PlanFolder(
        path=str(path),
        for_all=for_all,
        order=(path / "uses").stat().st_mtime,
        texts={name: read_user_file("registry", str(path / name)) for name in wanted},
        script=str(script) if script.is_file() else None,
    )


def _is_list(name: str) -> bool:
    return name.startswith("packages.")


def kept_script(path: str) -> str:
    """The script that a plan keeps. Raises SourceError where others than root and this user could have written it, and
    for one of another plan, as a copy of a plan's folder holds."""
    hint = "Run your own copy with --rollback."
    try:
        check(path)
    except Untrusted as error:
        raise SourceError(f"{path} is not run: {error.strerror}.", hint) from error
    script = read_user_file("registry", path)
    if f"\nPLAN_ID={os.path.basename(os.path.dirname(path))}\n" not in script:
        raise SourceError(f"{path} is not run: its directory does not match its plan.", hint)
    return script


def is_there(path: str) -> bool:
    """Whether anything has this path."""
    return os.path.lexists(path)


def link_target(path: str) -> str | None:
    """Where a link leads in the end; None where there is none, or it leads nowhere."""
    return os.path.realpath(path) if os.path.islink(path) and os.path.exists(path) else None


def toolkit_folders() -> tuple[str, ...]:
    """The folders of this machine that hold a toolkit of some release."""
    return tuple(sorted(str(path.parent.parent) for path in Path("/usr/local").glob("cuda-*/bin/nvcc")))
