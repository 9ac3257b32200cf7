"""A loopback file server that can resume, dawdle, break off and lie, as the tests ask."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class Behavior:
    """How files are served: `cut_after` bytes the connection breaks, `delay_s` per block, `damaged` changes bytes."""

    folder: Path
    cut_after: int | None = None
    delay_s: float = 0.0
    damaged: bool = False
    requests: list[tuple[str, str]] = field(default_factory=list)  # path and Range header


class _Handler(BaseHTTPRequestHandler):
    behavior: Behavior

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def log_message(self, format: str, *args: object) -> None:
        pass

    def _answer(self, body: bool) -> None:
        behavior = self.behavior
        wanted = self.headers.get("Range", "")
        behavior.requests.append((self.path, wanted))
        file = behavior.folder / self.path.rsplit("/", 1)[-1]
        if not file.is_file():
            self.send_error(404)
            return
        data = file.read_bytes()
        if behavior.damaged:
            data = data[:-1] + bytes([data[-1] ^ 1])
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        if wanted and start >= len(data):
            self.send_error(416)
            return
        self.send_response(206 if wanted else 200)
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        if body:
            self._send(data[start:])

    def _send(self, data: bytes) -> None:
        behavior = self.behavior
        size = 16384
        for position in range(0, len(data), size):
            if behavior.cut_after is not None and position >= behavior.cut_after:
                behavior.cut_after = None
                self.close_connection = True
                self.connection.close()
                return
            try:
                self.wfile.write(data[position : position + size])
            except OSError:
                return
            if behavior.delay_s:
                time.sleep(behavior.delay_s)


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, Behavior]]:
    """The base URL of a server for the files of `folder`, and the knobs of its behavior."""
    behavior = Behavior(folder)
    handler = type("Handler", (_Handler,), {"behavior": behavior})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", behavior
    finally:
        server.shutdown()
        server.server_close()
