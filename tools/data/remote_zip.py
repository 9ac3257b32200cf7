"""One file out of a wheel on a server, of which only the parts that are needed are fetched."""

from __future__ import annotations

import io
import zipfile
from urllib.error import URLError
from urllib.request import Request, urlopen

_TIMEOUT_S = 60
_CHUNK = 64 * 1024  # bytes fetched at once: the directory of most wheels is smaller


def member(url: str, suffix: str) -> bytes:
    """The content of the first file whose name ends so; b"" where there is none, or the server does not give parts."""
    try:
        with zipfile.ZipFile(_Remote(url)) as archive:
            name = next((one for one in archive.namelist() if one.endswith(suffix)), "")
            return archive.read(name) if name else b""
    except (URLError, TimeoutError, ConnectionError, zipfile.BadZipFile):
        return b""


class _Remote(io.RawIOBase):
    """A file on a server, read in parts."""

    def __init__(self, url: str) -> None:
        self._url, self._place, self._chunks = url, 0, dict[int, bytes]()
        with urlopen(Request(url, method="HEAD"), timeout=_TIMEOUT_S) as response:
            self._size = int(response.headers.get("Content-Length") or 0)

    def seekable(self) -> bool:
        """Always: a part may begin anywhere."""
        return True

    def readable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """The byte that is read next."""
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """As for every file."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._size}[whence]
        self._place = max(start + offset, 0)
        return self._place

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes from here on, or all of them."""
        end = self._size if size is None or size < 0 else min(self._place + size, self._size)
        first, last = self._place // _CHUNK, max(end - 1, 0) // _CHUNK
        parts = b"".join(self._part(number) for number in range(first, last + 1)) if end > self._place else b""
        found = parts[self._place - first * _CHUNK : end - first * _CHUNK]
        self._place = max(end, self._place)
        return found

    def _part(self, number: int) -> bytes:
        if number not in self._chunks:
            start = number * _CHUNK
            asked = Request(self._url, headers={"Range": f"bytes={start}-{min(start + _CHUNK, self._size) - 1}"})
            with urlopen(asked, timeout=_TIMEOUT_S) as response:
                if response.status != 206:
                    raise ConnectionError(self._url)
                self._chunks[number] = response.read()
        return self._chunks[number]
