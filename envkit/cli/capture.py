"""`envkit capture`: a masked record of this machine, for replay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from envkit.base.pci import pci_address
from envkit.cli.output import timeout_option

if TYPE_CHECKING:
    from envkit.capture.record import Recording

_TOP = {  # what is in the folder
    "machine.json": "the kernel, this process and its variables",
    "files.json": "parts of text files",
    "tree": "parts of other files",
    "paths.json": "files that could not be read",
    "commands.json": "output of programs",
    "answers.json": "file listings",
    "nvml.json": "NVML's answers about the GPUs",
    "cuda.json": "libcuda's answers",
    "docker.json": "the Docker engine's answers",
    "nodes.json": "device files that could not be opened",
    "facts.json": "the facts read from all of this",
    "stand_in.json": "facts whose evidence was not recorded",
}
_WIDTH = 100


@click.command(
    epilog="""\b
Examples:
  envkit capture my-machine
  envkit doctor --from my-machine"""
)
@click.argument("directory", type=click.Path(file_okay=False))
@timeout_option
def capture(directory: str, timeout: float | None) -> None:
    """Record this machine's probe data in DIRECTORY and print the directory path.

    Secrets are left out; names, addresses, and serial numbers are masked.
    """
    from envkit.capture.record import record
    from envkit.cli.environment import say
    from envkit.host.local import LocalHost

    recording = record(LocalHost(), directory, timeout, say)
    click.echo(recording.path)
    for line in _told(recording):
        say(line)


def _told(recording: Recording) -> Iterator[str]:
    """What was kept: the files with their sizes, and the machine's own files of which they hold parts."""
    yield "Kept, with secrets left out and names, addresses, and serial numbers masked:"
    width = max(map(len, _TOP))
    for name, title in _TOP.items():
        sizes = [size for path, size in recording.sizes.items() if path.partition("/")[0] == name]
        if sizes:
            yield f"  {name:<{width}} {sum(sizes):>10,} bytes  {title}"
    yield "Parts of these files on this machine:"
    yield from _wrapped(dict.fromkeys(map(_of_any_device, recording.sources)))
    yield "Masking cannot catch every name: review the capture before you send it."


def _of_any_device(path: str) -> str:
    """The path with `*` for each PCI address: one line for the files of all devices."""
    return "/".join("*" if pci_address(part) else part for part in path.split("/"))


def _wrapped(paths: Iterable[str]) -> Iterator[str]:
    from textwrap import wrap

    words = ", ".join(paths) or "none"
    yield from wrap(words, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
