"""TensorFlow's start-up log: GPUs with their compute capability, versions of the driver and of cuDNN.

Created device /job:localhost/replica:0/task:0/device:GPU:0 with 22300 MB memory:
    -> device: 0, name: NVIDIA L4, pci bus id: 0000:00:03.0, compute capability: 8.9
kernel reported version is: 384.81.0
"""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.pci import ADDRESS, pci_address
from envkit.base.versions import ComputeCapability, Version
from envkit.ingest.clues import Clue, Fact, GpuClue, GpusIncomplete, Listing, reader
from envkit.ingest.text import Text

_DEVICE = regex(
    r"device: (?P<index>\d{1,3}), name: (?P<name>[^,\n]{2,80}), pci bus id: "
    rf"(?P<address>{ADDRESS}), compute capability: (?P<capability>\d{{1,2}}\.\d)"
)
_FOUND = regex(
    r"Found device (?P<index>\d{1,3}) with properties: ?\n?[^\n]{0,80}?\bname: (?P<name>[^\n]{2,60}?) major: "
    r"(?P<major>\d{1,2}) minor: (?P<minor>\d)"
)
_PROPERTIES = regex(
    rf"pciBusID: (?P<address>{ADDRESS}) name: (?P<name>[^\n]{{2,60}}?) computeCapability: "
    r"(?P<capability>\d{1,2}\.\d)"
)
_KERNEL = regex(r"kernel reported version is: (?P<version>\d{3}(?:\.\d{1,9}){1,2})")
_LIBCUDA = regex(r"libcuda reported version is: (?P<version>\d{3}(?:\.\d{1,9}){1,2})")


@reader("TensorFlow log")
def read(text: Text) -> Iterator[Clue]:
    """GPUs as CUDA numbers them (perhaps not all of the machine's), and what TensorFlow says of the driver."""
    for match in text.matches(_DEVICE, "compute capability"):
        values = {"pci_address": pci_address(match["address"]), "name": match["name"].strip()}
        yield from _gpu(int(match["index"]), values, match["capability"], match.start())
    for match in text.matches(_FOUND, "with properties", lines=2):
        capability = f"{match['major']}.{match['minor']}"
        yield from _gpu(int(match["index"]), {"name": match["name"].strip()}, capability, match.start())
    for match in text.matches(_PROPERTIES, "computeCapability"):
        values = {"pci_address": pci_address(match["address"]), "name": match["name"].strip()}
        yield from _gpu(None, values, match["capability"], match.start())
    for match in text.matches(_KERNEL, "kernel reported version"):
        yield Fact("driver.kernel_module", _driver(match["version"]), match.start())
    for match in text.matches(_LIBCUDA, "libcuda reported version"):
        yield Fact("driver.user_space", _driver(match["version"]), match.start())


def _gpu(index: int | None, values: dict[str, str], capability: str, offset: int) -> Iterator[Clue]:
    told = {**values, "compute_capability": ComputeCapability.parse(capability)}
    yield GpuClue(Listing.FRAMEWORK, index, told, offset)
    yield GpusIncomplete(offset)


def _driver(text: str) -> Version:
    """TensorFlow writes three numbers always: 384.81.0 is driver 384.81."""
    return Version.parse(text.removesuffix(".0"))
