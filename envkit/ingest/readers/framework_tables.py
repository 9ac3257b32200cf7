"""The tables of versions that detectron2 (in columns) and the OpenMMLab tools (with colons) print for bug reports.

sys.platform: linux
NVCC: Cuda compilation tools, release 11.3, V11.3.109
PyTorch: 1.10.0
PyTorch compiling details: PyTorch built with:
  - CUDA Runtime 11.3
  - CuDNN 8.2
TorchVision: 0.11.1
"""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Framework, Package, PythonFact, reader
from envkit.ingest.text import Text

_MARKER = regex(r"^[ ]{0,8}(?:[-*] )?sys\.platform(?::| {2,40}|\t)", 8)  # 8: MULTILINE
_ROW = regex(
    r"^[ ]{0,8}(?P<key>PyTorch|pytorch|TorchVision|torchvision|Python)(?:: {0,4}| {2,40}|\t)"
    r"(?P<version>\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)(?P<rest>(?:[a-z]\w{0,6})?(?:\+[\w.]{1,20})?)(?=[\s|,]|$)",
    8,
)
_RUNTIME = regex(r"^[ ]{0,8}- CUDA Runtime (?P<cuda>\d{1,2}\.\d)\b", 8)
_WITHOUT = regex(r"\bUSE_CUDA=(?:OFF|0)\b")


@reader("the tables of detectron2 and OpenMMLab")
def read(text: Text) -> Iterator[Clue]:
    """PyTorch with the CUDA that it was built for, torchvision, and Python."""
    if not any(text.matches(_MARKER, "sys.platform")):
        return
    for match in text.matches(_ROW, "ytorch", "yTorch", "orchvision", "orchVision", "Python"):
        key = match["key"].lower()
        if key == "python":
            yield PythonFact("version", Version.parse(match["version"]), match.start())
        else:
            name = "torch" if key == "pytorch" else key
            yield Package(name, f"{match['version']}{match['rest']}", match.start())
    for match in text.matches(_RUNTIME, "CUDA Runtime "):
        yield Framework("pytorch", {"cuda": Version.parse(match["cuda"]), "cuda_known": True}, match.start())
        return
    for match in text.matches(_WITHOUT, "USE_CUDA="):
        yield Framework("pytorch", {"cuda_known": True}, match.start())
        return
