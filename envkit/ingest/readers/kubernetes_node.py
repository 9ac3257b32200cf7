"""`kubectl describe node`: the node's system, its driver and GPUs by the labels of GPU Feature Discovery, its devices.

Labels:             nvidia.com/gpu.count=8
                    nvidia.com/gpu.product=NVIDIA-A100-SXM4-80GB
Capacity:
  nvidia.com/gpu:     8
Allocatable:
  nvidia.com/gpu:     8
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Fact, GpuClue, Item, Listing, reader
from envkit.ingest.releases import described
from envkit.ingest.text import Text
from envkit.model import NodeDevices

_LABEL = regex(
    r"^(?:Labels:)? {2,24}nvidia\.com/(?P<key>[a-z][a-z.-]{2,40})=(?P<value>[\w.-]{1,63})$",
    re.MULTILINE,
)
_SYSTEM = regex(
    r"^ {1,4}(?P<key>Kernel Version|OS Image|Architecture): {1,24}(?P<value>\S[^\n]{2,100})$",
    re.MULTILINE,
)
_HEADING = regex(r"^(?P<name>Name|Capacity|Allocatable): {0,24}(?P<value>[^\n]{0,100})$", re.MULTILINE)
_DEVICE = regex(r"^ {1,4}(?P<name>nvidia\.com/[\w.-]{2,40}): {1,24}(?P<number>\d{1,6})$", re.MULTILINE)
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}
_MAKERS = ("NVIDIA-", "Tesla-", "Quadro-", "GeForce-", "TITAN-")
_SUFFIX = regex(r"-(?:SHARED|MIG-[\w.]{2,20})$")
_MOST = 32  # GPUs of one node; where they are shared, or divided by MIG, more are counted


@reader("kubectl describe node")
def read(text: Text) -> Iterator[Clue]:
    """The first node's system and GPUs, and the devices of every node."""
    if not text.holds("Allocatable:"):
        return
    yield from _system(text)
    yield from _labels(text)
    yield from _devices(text)


def _system(text: Text) -> Iterator[Clue]:
    for match in text.matches(_SYSTEM, "Kernel Version:", "OS Image:", "Architecture:"):
        value = match["value"].strip()
        if match["key"] == "Kernel Version":
            yield Fact("system.kernel", value, match.start())
        elif match["key"] == "Architecture":
            yield Fact("system.architecture", _ARCHITECTURES.get(value, value), match.start())
        elif (release := described(value)) is not None:
            yield Fact("system.os", release, match.start())


def _labels(text: Text) -> Iterator[Clue]:
    labels: dict[str, str] = {}
    offset = 0
    for match in text.matches(_LABEL, "nvidia.com/"):
        offset = offset or match.start()
        labels.setdefault(match["key"], match["value"])
    parts = [labels.get(f"cuda.driver.{part}", "") for part in ("major", "minor", "rev")]
    for path, value in (
        ("driver.kernel_module", labels.get("cuda.driver-version.full") or ".".join(filter(None, parts))),
        ("driver.driver_cuda_version", f"{labels.get('cuda.runtime.major')}.{labels.get('cuda.runtime.minor')}"),
    ):
        if re.fullmatch(r"\d{1,4}(?:\.\d{1,4}){1,2}", value):
            yield Fact(path, Version.parse(value), offset)
    product = labels.get("gpu.product", "")
    if product:
        values = {"name": _name(product), "mig_mode": True if "-MIG-" in product else None}
        several = labels.get("gpu.count", "1")
        count = int(several) if several.isdigit() and "-MIG-" not in product else 1
        for index in range(min(count, _MOST)):
            yield GpuClue(Listing.FRAMEWORK, index, values, offset)


def _name(product: str) -> str:
    """The model as the driver calls it: a label holds no blanks, so that dashes stand for them."""
    plain = _SUFFIX.sub("", product)
    maker = next((maker for maker in _MAKERS if plain.startswith(maker)), "")
    rest = plain[len(maker) :]
    words = rest.replace("-", " ") if "RTX" in rest or "GTX" in rest else rest
    return f"{maker.replace('-', ' ')}{words}"


def _devices(text: Text) -> Iterator[Clue]:
    node, part = "", ""
    told: dict[tuple[str, str], dict[str, int]] = {}
    for position, line in _lines(text):
        heading = _HEADING.match(line)
        if heading:
            node = heading["value"] if heading["name"] == "Name" else node
            part = heading["name"]
        elif line[:1] not in (" ", ""):
            part = ""
        device = _DEVICE.match(line) if part in ("Capacity", "Allocatable") else None
        if device:
            numbers = told.setdefault((node, device["name"]), {})
            numbers.setdefault(part, int(device["number"]))
            if len(numbers) == 2:
                devices = NodeDevices(device["name"], numbers["Capacity"], numbers["Allocatable"])
                yield Item("containers.node_devices", f"{node} {device['name']}", devices, position)


def _lines(text: Text) -> Iterator[tuple[int, str]]:
    position = 0
    for line in text.lines:
        yield position, line
        position += len(line) + 1
