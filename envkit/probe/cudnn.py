"""Every cuDNN on disk: headers, system libraries, toolkits, conda and wheels, with each sub-library's version."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.versions import Version, whole_number
from envkit.host.base import Host
from envkit.model import Cudnn, Observed, Problem, found, missing
from envkit.probe.cuda import prefixes
from envkit.probe.text import derived

HEADERS = ("cudnn_version.h", "cudnn.h")
_NUMBERS = regex(r"#define\s+CUDNN_(MAJOR|MINOR|PATCHLEVEL)\s+([0-9]{1,9})\b")
_LIBRARY = regex(r"(libcudnn\w*)\.so\.([0-9]{1,9}(?:\.[0-9]{1,9})+)")
SYSTEM = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
_CUDA_OF_WHEEL = regex(r"nvidia_cudnn_cu([0-9]{1,9})-")


def cudnns(host: Host) -> Observed[tuple[Cudnn, ...]]:
    """Every cuDNN once per place; ABSENT when there is none anywhere."""
    seen: dict[str, Cudnn] = {}
    for libraries, headers, origin in _places(host):
        cudnn = _cudnn(host, libraries, headers, origin)
        if cudnn is not None:
            seen.setdefault(cudnn.path, cudnn)
    if seen:
        return found(tuple(seen.values()), "library folders")
    folder = host.list_dir("/usr/lib")
    if folder.value is None and folder.problem is not Problem.ABSENT:
        return derived(folder, lambda names: None)
    return missing(Problem.ABSENT, "library folders", "no libcudnn and no cudnn.h")


def _places(host: Host) -> Iterator[tuple[str, str, str]]:
    """Folder of libraries, folder of headers, origin."""
    for folder in SYSTEM:
        include = f"/usr/include/{folder.rsplit('/', 1)[-1]}" if "linux-gnu" in folder else "/usr/include"
        yield folder, include, "system"
    yield "", "/usr/include", "header"
    for root in dict.fromkeys(host.real_path(path).value for path in host.glob("/usr/local/cuda*")):
        if root:
            yield f"{root}/lib64", f"{root}/include", "toolkit"
    for root in (host.variables().get(name, "") for name in ("CUDNN_HOME", "CUDNN_ROOT", "CUDNN_PATH")):
        if root.startswith("/"):
            yield f"{root}/lib64", f"{root}/include", "toolkit"
            yield f"{root}/lib", f"{root}/include", "toolkit"
    conda = host.variables().get("CONDA_PREFIX")
    if conda:
        yield f"{conda}/lib", f"{conda}/include", "conda"
    for prefix in prefixes(host):
        for folder in host.glob(f"{prefix}/lib/python3*/site-packages/nvidia/cudnn"):
            yield f"{folder}/lib", f"{folder}/include", "wheel"


def _cudnn(host: Host, libraries: str, headers: str, origin: str) -> Cudnn | None:
    parts = _sublibraries(host, libraries) if libraries else {}
    header = _header(host, headers)
    main = parts.get("libcudnn.so") or (max(parts.values()) if parts else None)
    version = main if main is not None and len(main.parts) > 2 else header[0] if header else main
    if version is None or (not parts and header is None):
        return None
    path = f"{libraries}/libcudnn.so.{version.major}" if parts else header[1] if header else libraries
    return Cudnn(version, path, origin if parts else "header", _cuda(host, libraries, origin), parts)


def _sublibraries(host: Host, folder: str) -> dict[str, Version]:
    """`libcudnn_ops.so` → version from the real file's name; a wheel's files carry the major number alone."""
    versions: dict[str, Version] = {}
    for name in host.list_dir(folder).value or ():
        if name.startswith("libcudnn") and ".so." in name:
            real = host.real_path(f"{folder}/{name}").value or name
            match = _LIBRARY.fullmatch(posixpath.basename(real))
            if match:
                versions[f"{match.group(1)}.so"] = Version.parse(match.group(2))
            else:
                stem, _, number = name.partition(".so.")
                if whole_number(number) is not None:
                    versions.setdefault(f"{stem}.so", Version.parse(number))
    return versions


def _header(host: Host, folder: str) -> tuple[Version, str] | None:
    for name in HEADERS:
        path = f"{folder}/{name}"
        numbers = dict(_NUMBERS.findall(host.read_text(path, 4_000_000).value or ""))
        if len(numbers) == 3:
            version = Version.of(*(int(numbers[part]) for part in ("MAJOR", "MINOR", "PATCHLEVEL")))
            return version, path
    return None


def _cuda(host: Host, libraries: str, origin: str) -> Version | None:
    """The CUDA major line that a wheel is for, by the name of its distribution."""
    if origin != "wheel":
        return None
    site = posixpath.dirname(posixpath.dirname(posixpath.dirname(libraries)))
    matches = (_CUDA_OF_WHEEL.match(name) for name in host.list_dir(site).value or ())
    majors = {match.group(1) for match in matches if match}
    return Version.parse(majors.pop()) if len(majors) == 1 else None
