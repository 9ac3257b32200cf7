"""Signs that the text was written inside a container: a prompt with its id or a pod's name, marker files, its cgroup.

root@3f9c1d2a77b0:/workspace# nvidia-smi
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.text import Text
from envkit.model import MachineKind

_PROMPT = regex(
    r"^(?:\([\w.-]{1,40}\) )?[a-z_][\w-]{0,31}@(?:(?=[0-9a-f]{0,11}\d)[0-9a-f]{12}|C\.\d{5,9}"
    r"|[a-z][a-z0-9-]{0,50}-(?=[a-z]{0,9}\d)[b-df-hj-np-tv-xz2-9]{8,10}-[b-df-hj-np-tv-xz2-9]{5}):\S{0,120}[#$] ?",
    re.MULTILINE,
)  # of a pod: the name of its set, a hash, a random word, in letters that spell no words
_MARKER = regex(
    r"^KUBERNETES_SERVICE_HOST=|"
    r"^(?:-rwx\S{6,8} [^\n]{5,60} )?/\.dockerenv$|^\d{1,3}:[\w,=]{0,40}:/(?:docker|kubepods|lxc)/[^\n]{8,200}$",
    re.MULTILINE,
)
_BANNER = regex(
    r"^NVIDIA Release \d\d\.\d\d \(build \d{1,9}\)$|^== (?:PyTorch|TensorFlow|CUDA|Triton Inference Server|JAX"
    r"|PaddlePaddle) ==$|^Container image Copyright \(c\)",
    re.MULTILINE,
)


@reader("container")
def read(text: Text) -> Iterator[Clue]:
    """The first sign of a container."""
    for pattern, needles in (
        (_PROMPT, ("@",)),
        (_MARKER, ("KUBERNETES_SERVICE_HOST=", "/.dockerenv", ":/docker/", ":/kubepods/", ":/lxc/")),
        (_BANNER, ("NVIDIA Release ", " ==", "Container image Copyright")),
    ):
        for match in text.matches(pattern, *needles):
            yield Fact("system.machine_kind", MachineKind.CONTAINER, match.start())
            break
