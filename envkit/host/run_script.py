"""Runs an install script here, and fetches files for one that will run elsewhere."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen
from zipfile import BadZipFile, ZipFile

from envkit._startup.records import record
from envkit.base.errors import OutputError, StepFailed
from envkit.host.followed_script import follow
from envkit.host.programs import Programs

_BLOCK = 1 << 20
# What sudo must let through so that the script reaches the network as its user does.
_KEPT_VARIABLES = (
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "TMPDIR"),
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CERT", "SSL_CERT_FILE"),
    *("ENVKIT_STATE_DIR", "ENVKIT_LOG_DIR", "ENVKIT_KERNEL_SOURCE"),
)


@record
class ScriptRun:
    """How a script ended: its exit code and the JSON that it printed."""

    exit_code: int
    result: str


def is_root() -> bool:
    """True when this process may do everything."""
    return os.geteuid() == 0


def run_script(script: str, arguments: Sequence[str], tell: Callable[[str], None], *, sudo: bool) -> ScriptRun:
    """Runs the script with bash, through sudo where asked; each line of its stderr goes to `tell`.

    A signal does not end this process, but the script, which stops by itself and ends with 130.
    """
    with tempfile.TemporaryDirectory(prefix="envkit-") as folder:
        path = Path(folder) / "install.sh"
        path.write_text(script, encoding="utf-8")
        programs = Programs(os.environ)
        command = [_found(programs, "bash"), str(path), *arguments]
        if sudo:
            command = [_found(programs, "sudo"), f"--preserve-env={','.join(_KEPT_VARIABLES)}", *command]
        return ScriptRun(*follow(command, programs.variables_asked_for, tell))


def _found(programs: Programs, program: str) -> str:
    path = programs.asked_for(program)
    if path is None:
        raise StepFailed(f"cannot start {program}: it is not on PATH.", "Run the script manually.")
    return path


def fetch(
    url: str, target: Path, algorithm: str, checksum: str, progress: Callable[[int, int | None], None]
) -> tuple[int, str]:
    """Fetches `url` into `target`, going on where a former try stopped; gives its size and sha256.

    `progress` gets bytes here and bytes in all (None: not told). Raises StepFailed for a transfer that fails and for a
    wrong checksum (the file is then removed), OutputError where `target` cannot be written.
    """
    if target.is_file() and _matches(target, algorithm, checksum):
        return target.stat().st_size, _digest(target, "sha256")
    part = target.with_name(target.name + ".part")
    try:
        _transfer(url, part, progress)
    except (HTTPError, URLError, TimeoutError, ConnectionError) as error:
        raise StepFailed(
            f"cannot fetch {url}: {error}.", "Check the network and https_proxy; run it again to continue from there."
        ) from error
    except OSError as error:
        raise OutputError(f"cannot write {part}: {error.strerror}.", "Choose a directory with enough space.") from error
    if not _matches(part, algorithm, checksum):
        part.unlink()
        raise StepFailed(f"{target.name} has the wrong {algorithm} checksum and was removed.", "Fetch it again.")
    part.replace(target)
    return target.stat().st_size, _digest(target, "sha256")


def _transfer(url: str, part: Path, progress: Callable[[int, int | None], None]) -> None:
    held = part.stat().st_size if part.is_file() else 0
    request = Request(url, headers={"Range": f"bytes={held}-"} if held else {})
    try:
        answer = urlopen(request, timeout=60)
    except HTTPError as error:
        if error.code == 416 and held:  # the whole file is here already
            return
        raise
    with answer:
        if held and answer.status != 206:
            held = 0
        length = answer.headers.get("Content-Length")
        total = held + int(length) if length else None
        with open(part, "ab" if held else "wb", opener=_through_no_link) as stream:
            while block := answer.read(_BLOCK):
                stream.write(block)
                held += len(block)
                progress(held, total)
    if total is not None and held != total:
        raise ConnectionError(f"the connection broke after {held} of {total} bytes")


def _through_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _matches(path: Path, algorithm: str, checksum: str) -> bool:
    return algorithm == "none" or _digest(path, algorithm) == checksum


def _digest(path: Path, algorithm: str) -> str:
    found = hashlib.new(algorithm)
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def remote_size(url: str) -> int | None:
    """The size in bytes that the server tells, None where it does not."""
    try:
        with urlopen(Request(url, method="HEAD"), timeout=30) as answer:
            length = answer.headers.get("Content-Length")
            return int(length) if length else None
    except (OSError, ValueError):
        return None


def make_folder(path: str) -> Path:
    """The folder, created where it is missing. Raises OutputError."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"--bundle: cannot create {path}: {error.strerror}.", "Choose another directory.") from error
    return folder


def run_pip(arguments: Sequence[str], tell: Callable[[str], None]) -> int:
    """Runs this interpreter's pip; its lines go to `tell`. Gives its exit code."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            tell(line.rstrip("\n"))
    return child.returncode


def wheel_metadata(folder: Path) -> Iterator[str]:
    """The METADATA of every wheel in a folder. Raises StepFailed for a wheel that cannot be read."""
    for path in sorted(folder.glob("*.whl")):
        try:
            with ZipFile(path) as wheel:
                name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
                yield wheel.read(name).decode("utf-8", "replace")
        except (OSError, BadZipFile, StopIteration) as error:
            raise StepFailed(f"{path} is not a wheel.", "Delete it, and run the command again.") from error


def wheel_sums(folder: Path) -> Mapping[str, tuple[int, str]]:
    """Name, size and sha256 of every wheel in a folder; empty when there is none."""
    return {path.name: (path.stat().st_size, _digest(path, "sha256")) for path in sorted(folder.glob("*.whl"))}
