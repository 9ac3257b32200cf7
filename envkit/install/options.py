"""The answers of an attended installation, as choices made beforehand."""

from __future__ import annotations

from os.path import normpath

from envkit._startup.records import record
from envkit.base.errors import RequestError


@record
class ScriptOptions:
    """What the script may do. The driver is left alone unless `with_driver`; paths of None are the usual ones."""

    with_driver: bool = False
    driver_runfile: str | None = None  # path or URL of a driver runfile to use instead of the bundled one
    accept_eula: bool = True  # False: the script asks on the terminal
    toolkit_path: str | None = None
    symlink: bool = True  # set /usr/local/cuda when it is absent
    samples: bool = False
    env_dir: str | None = None


def check_options(options: ScriptOptions) -> None:
    """Raises RequestError for options that contradict each other, and for folders that no script may fill."""
    if options.driver_runfile and not options.with_driver:
        raise RequestError("--driver-runfile: needs --with-driver.", "The driver is left alone without it.")
    for name, path in (("--toolkit-path", options.toolkit_path), ("--env", options.env_dir)):
        if path is not None and not path.startswith("/"):
            raise RequestError(
                f"{name}: {path} is relative, but the script may run elsewhere.", f"Give a whole path: {name} /..."
            )
        if path is not None and _is_the_systems(path):
            raise RequestError(f"{name}: {path} is a folder of the system.", f"Name one of its own: {name} /opt/NAME")


def _is_the_systems(path: str) -> bool:
    """Whether a folder is one of the first of the file tree, which hold far more than an install lays there."""
    parts = [part for part in normpath(path).split("/") if part]
    return len(parts) < 2 or (parts[0] in ("usr", "var") and len(parts) == 2)
