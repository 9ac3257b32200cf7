"""The files of a capture that anybody may have sent: regular ones, opened below their folder, read no further than is
asked, and no more of them in all than a machine's recording can have."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

from envkit.base.errors import LimitError, SourceError
from envkit.base.json_text import loads
from envkit.capture.recorded import Reader
from envkit.host.handles import Mounted, link_text, names, read
from envkit.model.facts_json import Json

_MOST_JSON = 16_000_000  # bytes of all documents together
_MOST_READ = 256_000_000  # bytes of all files of the tree together
_MOST_ENTRIES = 20_000
_DEEPEST = 40


class CaptureFolder:
    """The folder that the user named. Raises SourceError for one that cannot be opened."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._files = Mounted(path, links=False)
        self._left_of_json = _MOST_JSON
        self._left = _MOST_READ

    def document(self, name: str) -> Json | None:
        """The JSON document of that name, None where there is none. Raises SourceError for anything else."""
        try:
            with self._files.opened(name) as handle:
                content = read(handle, self._left_of_json + 1)
        except OSError as error:
            if error.errno == errno.ENOENT:
                return None
            raise SourceError(f"{self.path}/{name} cannot be read: {error.strerror}.") from error
        self._left_of_json -= len(content)
        if self._left_of_json < 0:
            raise LimitError(f"{self.path}: its documents are larger than those of any recording.", "Check the files.")
        try:
            return loads(content.decode("utf-8"))
        except LimitError as error:
            raise LimitError(f"{self.path}/{name}: {error.message}", error.hint) from None
        except ValueError as error:
            raise SourceError(f"{self.path}/{name} cannot be read as JSON: {error}.") from error

    def listed(self) -> list[str]:
        """The names in the folder itself. Raises SourceError."""
        return self._listed(".")

    def tree(self) -> Iterator[tuple[str, os.stat_result]]:
        """Each path below `tree/` and what is there, folders before what they hold; nothing is read."""
        waiting = ["/"]
        count = 0
        while waiting:
            folder = waiting.pop()
            for name in self._listed(f"tree{folder}"):
                count += 1
                if count > _MOST_ENTRIES or folder.count("/") > _DEEPEST:
                    raise LimitError(f"{self.path}/tree contains more files or directories than any recording.")
                path = f"{folder}{name}"
                status = self._files.stat(f"tree{path}", follow=False)
                if stat.S_ISDIR(status.st_mode):
                    waiting.append(f"{path}/")
                yield path, status

    def _listed(self, folder: str) -> list[str]:
        try:
            with self._files.opened(folder) as handle:
                return sorted(names(handle))
        except OSError as error:
            if folder == "tree/" and error.errno == errno.ENOENT:
                return []
            raise SourceError(f"{self.path}/{folder} cannot be read: {error.strerror}.") from error

    def link(self, path: str) -> str:
        """What the link at `path` of the tree says."""
        with self._files.opened(f"tree{path}", follow=False) as handle:
            return link_text(handle)

    def reader(self, path: str) -> Reader:
        """Reads from the file at `path` of the tree when it is asked."""

        def read_part(size: int, offset: int) -> bytes:
            with self._files.opened(f"tree{path}") as handle:
                content = read(handle, min(size, self._left + 1), offset)
            self._left -= len(content)
            if self._left < 0:
                raise OSError(errno.EFBIG, "more was read of this capture than any recording has")
            return content

        return read_part
