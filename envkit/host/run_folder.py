"""The folder of a run over a fleet: results appear whole, one by one, and only one program works in it at a time."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import quote

from envkit.base.errors import LimitError, OutputError
from envkit.base.json_text import loads
from envkit.host.user_file import opened
from envkit.host.whole_file import replacing

_RESULTS, _LOCK = "hosts", ".lock"
_MOST = 24 << 20  # bytes of a result
_LONGEST = 150  # characters of a file's name, of which escapes take three


class RunFolder:
    """The results of a run by the names of their hosts. Raises OutputError where the disk does not take one."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._made = {_LOCK, _RESULTS}

    def names(self) -> list[str]:
        """The hosts that have a result."""
        return list(self._hosts())

    def has_results(self) -> bool:
        """True where a host has a result; results are read only until one is found."""
        return any(True for _ in self._hosts())

    def _hosts(self) -> Iterator[str]:
        for name in sorted(os.listdir(os.path.join(self.path, _RESULTS))):
            if name.endswith(".json") and not name.startswith("."):
                host = self._document(os.path.join(self.path, _RESULTS, name)).get("host")
                if isinstance(host, str):
                    yield host

    def store(self, host: str, document: Mapping[str, Any]) -> None:
        """Write the result of a host."""
        self.write(os.path.join(_RESULTS, file_name(host)), json.dumps(document))

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder, whole or not at all."""
        self._made.add(name.split(os.sep)[0])
        place = os.path.join(self.path, name)
        try:
            os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
            with replacing(place) as stream:
                stream.write(text.encode(errors="backslashreplace"))
        except OSError as error:
            raise OutputError(f"cannot write {place}: {error.strerror}.", "What has arrived so far is kept.") from error

    def arrived(self, folder: str) -> Iterator[Mapping[str, Any]]:
        """What Ansible has left in `folder`; each is removed once the caller has taken the next one."""
        self._made.add(folder)
        place = os.path.join(self.path, folder)
        if not os.path.isdir(place):
            return
        for name in sorted(os.listdir(place)):
            if name.endswith(".json"):
                document = self._document(os.path.join(place, name))
                if isinstance(document.get("host"), str):
                    yield document
                with suppress(OSError):
                    os.unlink(os.path.join(place, name))

    def unmake(self, *, whole: bool) -> None:
        """Remove what this run has put there, and nothing else; `whole` takes the folder, too."""
        import shutil

        for name in self._made:
            place = os.path.join(self.path, name)
            with suppress(OSError):
                shutil.rmtree(place) if os.path.isdir(place) and not os.path.islink(place) else os.unlink(place)
        if whole:
            with suppress(OSError):
                os.rmdir(self.path)

    @staticmethod
    def _document(place: str) -> Mapping[str, Any]:
        try:
            with opened(place) as stream:
                document = loads(stream.read(_MOST).decode("utf-8", "replace"))
        except (OSError, ValueError, LimitError):
            return {}
        return document if isinstance(document, dict) else {}


def file_name(host: str) -> str:
    """A file name for a host of any name: one part of a path, never hidden."""
    name = quote(host.encode("utf-8", "surrogatepass"), safe="")
    if name.startswith((".", "README")):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if len(name) > _LONGEST:
        from hashlib import sha256

        name = f"{name[:80]}-{sha256(host.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    return f"{name}.json"


def _own(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)


def _links(path: str) -> Iterator[str]:
    for folder, folders, files in os.walk(path):
        yield from filter(os.path.islink, (os.path.join(folder, name) for name in (*folders, *files)))


@contextmanager
def run_folder(path: str, resume: bool) -> Iterator[RunFolder]:
    """The folder, made where it is not there, and unmade where the run fails before there is a result.

    Raises OutputError where results lie in it or another run is at work.
    """
    results = os.path.join(path, _RESULTS)
    new = not os.path.lexists(path)
    try:
        if not resume and _holds_something(path):
            if os.path.isfile(os.path.join(path, _LOCK)):
                with _locked(path):  # a run at work is the better reason
                    pass
            raise OutputError(f"{path} is not empty.", "Choose a new directory with --out, or add --resume.")
        os.makedirs(results, mode=0o700, exist_ok=True)
        link = next(_links(path), None)
        if link is not None:  # what is written through it would land in a place that nobody named
            raise OutputError(f"{link} is a link.", "Choose a new directory with --out.")
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}.", "Choose another directory with --out.") from error
    with _locked(path):
        folder = RunFolder(path)
        ended = False
        try:
            yield folder
            ended = True
        finally:
            if not (ended or resume or folder.has_results()):  # or the next try would find it not empty
                folder.unmake(whole=new)


@contextmanager
def _locked(path: str) -> Iterator[None]:
    try:
        lock = open(os.path.join(path, _LOCK), "a", opener=_own)  # noqa: SIM115 - held until the run ends
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror}.", "Choose another directory with --out.") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise OutputError(f"another run is active in {path}.", "Choose another directory with --out.") from error
        yield


def _holds_something(path: str) -> bool:
    return os.path.isdir(path) and any(name != _LOCK for name in os.listdir(path))
