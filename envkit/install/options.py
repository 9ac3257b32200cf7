"""The answers of an attended installation, as choices made beforehand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os.path import normpath

from envkit._startup.records import record
from envkit.base.errors import RequestError

# Folders of the system, each with what may be filled below it: places of module files, and memory.
_SYSTEMS: Mapping[str, tuple[str, ...]] = {
    "etc": ("modulefiles", "environment-modules", "lmod"),
    "dev": ("shm",),
    "run": ("user",),
    **dict.fromkeys(("bin", "sbin", "lib", "lib32", "lib64", "libx32", "boot", "proc", "sys"), ()),
}
# Said beside the plan of each script that accepts it, for Linux and for Windows.
EULA_NOTE = "The script accepts NVIDIA's EULA on your behalf. To be asked first, generate it with --no-accept-eula."


@record
class ScriptOptions:
    """What the script may do. The driver is not changed unless `with_driver`; paths of None are the usual ones."""

    with_driver: bool = False
    driver_runfile: str | None = None  # path or URL of a driver runfile to use instead of the bundled one
    nvidia_repository: bool = False  # the driver's packages come from NVIDIA's own repository, which is added
    accept_eula: bool = True  # False: the script asks on the terminal
    accept_unverified: bool = False  # files without a published checksum; the script stops at them otherwise
    allow_http: bool = False  # addresses whose answers anybody on the way can change
    toolkit_path: str | None = None
    symlink: bool = True  # set /usr/local/cuda when it is absent
    samples: bool = False
    components: tuple[str, ...] = ()  # the only parts of the toolkit to install; none: all of it
    env_dir: str | None = None
    modules: str | None = None  # where module files go; None writes none


def check_options(options: ScriptOptions, *, windows: bool = False) -> None:
    """Raises RequestError for options that contradict each other, and for folders that no script may fill.

    The folders of `windows` have rules of their own, in `envkit.install.windows`.
    """
    _check_driver(options)
    if options.components and options.samples:
        raise RequestError("--components: the samples are not one of the parts.", "Omit --samples.")
    chosen = options.driver_runfile or ""
    own_file = chosen if "://" not in chosen else ""
    if any(map(_is_odd, own_file)) or not chosen.isprintable():
        raise RequestError(
            "--driver-runfile: the path contains shell metacharacters or control characters.", "Rename the file."
        )
    for name, path in () if windows else _folders(options):
        if not path.startswith("/"):
            raise RequestError(
                f"{name}: {path} is relative, but the script may run elsewhere.", f"Use an absolute path: {name} /..."
            )
        if odd := next(filter(_is_odd, path), None):
            raise RequestError(
                f"{name}: a path with {_told(odd)} cannot be used in a script and in shell settings.",
                f"Use only letters, digits, spaces, and ._+@,=~%/-: {name} /opt/NAME",
            )
        if name == "--modules" and " " in path:
            raise RequestError(
                f"{name}: Lmod does not read files in a directory whose path contains a space.",
                f"Use a different path: {name} /opt/NAME",
            )
        if _is_the_systems(path):
            raise RequestError(
                f"{name}: {path} is a system directory or directly below one.",
                f"Use a separate directory: {name} /opt/NAME",
            )


def _check_driver(options: ScriptOptions) -> None:
    if options.driver_runfile and not options.with_driver:
        raise RequestError("--driver-runfile: needs --with-driver.", "Without it, the driver is not changed.")
    if options.nvidia_repository and not options.with_driver:
        raise RequestError(
            "--nvidia-repository: needs --with-driver.", "The script installs only the driver from there."
        )
    if options.nvidia_repository and options.driver_runfile:
        raise RequestError(
            "--nvidia-repository: --driver-runfile is another source of the driver.", "Omit one of them."
        )


def _folders(options: ScriptOptions) -> Iterator[tuple[str, str]]:
    """The folders that were named, by their options."""
    named = (("--toolkit-path", options.toolkit_path), ("--env", options.env_dir), ("--modules", options.modules))
    return ((name, path) for name, path in named if path is not None)


def _is_odd(letter: str) -> bool:
    """Whether it means something to a shell, ends a line, or parts the folders of PATH."""
    return not (letter.isalnum() or letter in " ._+@,=~%/-")


def _told(letter: str) -> str:
    return f"{letter!r}" if letter.isprintable() else "a control character"


def _is_the_systems(path: str) -> bool:
    """Whether a folder is one of the first of the file tree, which hold far more than an install lays there, or one
    whose files the system reads or runs by itself: login shells all of /etc/profile.d, cron all of /etc/cron.d."""
    parts = [part for part in normpath(path).split("/") if part]
    top, below = (*parts, "", "")[:2]
    if len(parts) < 2 or top in ("usr", "var") and len(parts) == 2:
        return True
    return top in _SYSTEMS and below not in _SYSTEMS[top] or (top, below) in (("usr", "bin"), ("usr", "sbin"))
