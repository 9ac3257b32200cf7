"""No text makes a probe slow: each reads the same megabyte wherever it looks, of every shape that patterns meet."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from envkit.capture.recorded import RecordedHost
from envkit.host.base import CommandResult, FileStatus
from envkit.model import Observed, found
from envkit.probe import collect
from tests.processor_time import slowness

SIZE = 1_000_000
LIMIT_S = 4.0  # of processor time; most take a hundredth
PIECES = (
    *("\n", " ", "\t", "a", "0", "1.", "/", "=", "a=\n", ":", ": ", '"', "[", "{", "#\n", " #", "- ", "(", ","),
    *("nvidia ", "NVRM: ", "cuda", "http://", "Package: a\n", "version ", "GNU C Library ", "GLIBCXX_1.", "overlay "),
    *("6,1,1,-;NVRM: Xid (PCI:", "path: /", "kind: nvidia.com/gpu\n", "Start-Date: x\n\n", "#define CUDA_VERSION "),
    *("deb http://x\n", "release 1.", "libcuda.so.1 ", "a.", "[a]\n", "Driver version ", "__GNUC__ > 1", "hostPath: "),
)


class SameEverywhere(RecordedHost):
    """A host that gives one text for every file and every command."""

    text = ""

    def read_range(self, path: str, offset: int, size: int) -> Observed[bytes]:
        return found(self.text.encode()[offset : offset + size], path)

    def run(self, command: object, limit_s: float = 5.0) -> Observed[CommandResult]:
        return found(CommandResult(0, self.text, ""), "command")

    def which(self, program: str) -> Observed[str]:
        return found(f"/usr/bin/{program}", "PATH")

    def status(self, path: str, follow: bool = True) -> Observed[FileStatus]:
        return found(FileStatus("file", "0755", "root", "root", len(self.text), True), path)

    def real_path(self, path: str) -> Observed[str]:
        return found(path, path)

    def glob(self, pattern: str) -> tuple[str, ...]:
        return (pattern.replace("*", "a1").replace("[0-9]", "1"),)

    def list_dir(self, path: str) -> Observed[tuple[str, ...]]:
        return found(("a1", "b2"), path)


def _slow(piece: str) -> Iterator[str]:
    host = SameEverywhere(
        environment={"PATH": "/usr/bin"}, about={"kernel": "6.1.0", "architecture": "x86_64", "home": "/root"}
    )
    object.__setattr__(host, "text", (piece * (SIZE // len(piece) + 1))[:SIZE])
    for task in collect._tasks(5.0, collect.known_device):
        began = time.process_time()
        task.run(host)
        took = time.process_time() - began
        if took > LIMIT_S * slowness():
            yield f"{task.name}: {took:.1f} s"


@pytest.mark.thorough
@pytest.mark.parametrize("piece", PIECES, ids=repr)
def test_no_text_makes_a_probe_slow(piece: str) -> None:
    assert list(_slow(piece)) == []
