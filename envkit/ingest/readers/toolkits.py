"""CUDA toolkits and cuDNN by what folders and files show: `ls -l /usr/local`, `version.txt`, `cudnn_version.h`.

lrwxrwxrwx 1 root root   20 Mar  3 10:12 cuda -> /usr/local/cuda-12.1
drwxr-xr-x 1 root root 4096 Mar  3 10:12 cuda-12.1
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Item, reader
from envkit.ingest.text import Text
from envkit.model import CudaToolkit, Cudnn

_FOLDER = regex(r"^d[rwx-]{9}[.+]? [^\n]{10,60} (?:/usr/local/)?cuda-(?P<version>\d{1,2}\.\d)/?$", re.MULTILINE)
_LINK = regex(
    r"^l[rwx-]{9}[.+]? [^\n]{10,60} (?:/usr/local/)?cuda -> (?P<target>(?:/usr/local/|/etc/alternatives/)?cuda"
    r"(?:-(?P<version>\d{1,2}\.\d))?)/?$",
    re.MULTILINE,
)
_NVCC = regex(r"(?P<folder>/usr/local/cuda(?:-\d{1,2}\.\d)?)/bin/nvcc$", re.MULTILINE)  # `which` or a listing
_TEXT = regex(r"^CUDA Version (?P<version>\d{1,2}\.\d\.\d{1,3})$", re.MULTILINE)
_KITS = ("cuda-toolkit", "cuda-nvcc", "cuda-cudart", "cuda-libraries")  # packages that fill such a folder
_CUDNN = regex(
    r"#define CUDNN_MAJOR (?P<major>\d{1,2})\n(?:[^\n]{0,80}\n){0,2}?#define CUDNN_MINOR (?P<minor>\d{1,2})\n"
    r"(?:[^\n]{0,80}\n){0,2}?#define CUDNN_PATCHLEVEL (?P<patch>\d{1,2})"
)


@reader("toolkit folders")
def read(text: Text) -> Iterator[Clue]:
    """Toolkits with their folder; the cuDNN whose header was shown."""
    compilers = {match["folder"] for match in text.matches(_NVCC, "/bin/nvcc")}
    for match in text.matches(_FOLDER, "cuda-"):
        if _compat_alone(text, match["version"]):
            continue
        path = f"/usr/local/cuda-{match['version']}"
        toolkit = CudaToolkit(Version.parse(match["version"]), path, path, "folder name", path in compilers)
        yield Item("cuda_toolkits", path, toolkit, match.start())
    for match in text.matches(_LINK, "cuda -> "):
        if match["version"]:
            target = f"/usr/local/cuda-{match['version']}"
            toolkit = CudaToolkit(
                Version.parse(match["version"]),
                "/usr/local/cuda",
                target,
                "link",
                "/usr/local/cuda" in compilers,
                origin="link",
            )
            yield Item("cuda_toolkits", "/usr/local/cuda", toolkit, match.start())
    for match in text.matches(_TEXT, "CUDA Version "):
        toolkit = CudaToolkit(Version.parse(match["version"]), "", "", "version.txt")
        yield Item("cuda_toolkits", match["version"], toolkit, match.start())
    for match in text.matches(_CUDNN, "CUDNN_MAJOR", lines=7):
        version = Version.of(int(match["major"]), int(match["minor"]), int(match["patch"]))
        yield Item("cudnns", f"header {version}", Cudnn(version, "", "header"), match.start())


def _compat_alone(text: Text, version: str) -> bool:
    """Whether that release's compatibility libraries are installed and nothing else of it is listed."""
    dashed = version.replace(".", "-")
    return text.holds(f"cuda-compat-{dashed}") and not any(text.holds(f"{kit}-{dashed}") for kit in _KITS)
