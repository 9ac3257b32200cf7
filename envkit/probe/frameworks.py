"""Installed frameworks and what they were built for, read from the files of their own packages."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable

from envkit._startup.records import record, replace
from envkit._startup.regex import regex
from envkit.base.names import requirement_name
from envkit.base.versions import Version
from envkit.host.base import Host
from envkit.model import Distribution, FrameworkInstall
from envkit.probe.elf import ElfReader
from envkit.probe.fatbin import gpu_code

_QUOTED = r"""["']([^"'\n]*)["']"""
_ASSIGNED = regex(rf"^(\w+)[ \t]*(?::[^=\n]{{1,60}})?=[ \t]*{_QUOTED}", re.MULTILINE)
_WALK_LIMIT_S = 0.12  # for one binary; a whole libtorch_cuda.so takes about 25 ms from the page cache
_GPU_BINARIES = {
    "pytorch": ("torch/lib/libtorch_cuda.so", "torch/lib/libtorch_cuda_cu.so", "torch/lib/libtorch.so"),
    "tensorflow": (
        "tensorflow/libtensorflow_cc.so.2",
        "tensorflow/python/_pywrap_tensorflow_internal.so",
        "tensorflow_core/python/_pywrap_tensorflow_internal.so",
    ),
    "jax": ("jax_plugins/xla_cuda*/xla_cuda_plugin.so", "jaxlib/xla_extension.so"),
    "mxnet": ("mxnet/libmxnet.so",),
    "paddlepaddle": ("paddle/base/libpaddle.so", "paddle/fluid/libpaddle.so", "paddle/fluid/core_avx.so"),
    "cupy": ("cupy/_core/_routines_*.so",),
    "onnxruntime": ("onnxruntime/capi/libonnxruntime_providers_cuda.so",),
}


@record
class _Build:
    """What a package's own files say of its build."""

    cuda: Version | None
    cuda_known: bool
    cudnn: Version | None = None
    rocm: bool = False
    git_version: str = ""
    version: str = ""
    source: str = ""


_Reader = Callable[[Host, Distribution, str], _Build]


def frameworks(host: Host, installed: Iterable[Distribution], elves: ElfReader) -> tuple[FrameworkInstall, ...]:
    """The frameworks among `installed`, each once per folder, with the CUDA and cuDNN they were built for."""
    every = tuple(installed)
    result = []
    for distribution in every:
        known = _framework_of(distribution.name)
        if known is None or distribution.installer == "conda":
            continue
        name, reader = known
        folder = posixpath.dirname(distribution.path)
        build = reader(host, distribution, folder)
        if name == "jax":
            build = _jax(every)
        install = FrameworkInstall(
            name,
            build.version or distribution.version,
            f"{distribution.name}=={distribution.version}",
            cuda=build.cuda,
            cuda_known=build.cuda_known,
            cudnn=build.cudnn or _pinned_cudnn(distribution),
            rocm=build.rocm,
            git_version=build.git_version,
            path=folder,
            source=build.source,
        )
        result.append(_with_gpu_code(elves, install) if build.cuda or not build.cuda_known else install)
    return tuple(result)


def _framework_of(name: str) -> tuple[str, _Reader] | None:
    for pattern, framework, reader in _PACKAGES:
        if pattern.fullmatch(name):
            return framework, reader
    return None


def _torch(host: Host, distribution: Distribution, folder: str) -> _Build:
    path = f"{folder}/torch/version.py"
    text = host.read_text(path, 10_000).value
    if text is None:
        return _Build(None, False, source=distribution.path)
    values = {key: _assigned(text, key) for key in ("__version__", "cuda", "hip", "xpu", "git_version")}
    cuda = _version(values["cuda"])
    other = bool(values["hip"] or values["xpu"])
    stated = re.search(r"^cuda\b", text, re.MULTILINE) is not None
    return _Build(
        cuda,
        cuda_known=stated and not other,
        rocm=bool(values["hip"]),
        git_version=values["git_version"] or "",
        version=values["__version__"] or "",
        source=path,
    )


def _tensorflow(host: Host, distribution: Distribution, folder: str) -> _Build:
    for place in ("tensorflow", "tensorflow_core"):
        path = f"{folder}/{place}/python/platform/build_info.py"
        text = host.read_text(path, 20_000).value
        if text is not None:
            break
    else:
        return _Build(None, False, source=distribution.path)
    is_cuda = re.search(r"is_cuda_build[\"']?\s*[:=,]\s*(True|False)", text)
    cuda, cudnn = (_version(_entry(text, f"{key}_version") or _entry(text, f"{key}_version_number")) for key in _PAIR)
    rocm = re.search(r"is_rocm_build[\"']?\s*[:=,]\s*True", text) is not None
    if is_cuda is not None and is_cuda.group(1) == "False":
        cuda = cudnn = None
    return _Build(cuda, cuda is not None or (is_cuda is not None and not rocm), cudnn, rocm, source=path)


_PAIR = ("cuda", "cudnn")


def _paddle(host: Host, distribution: Distribution, folder: str) -> _Build:
    path = f"{folder}/paddle/version/__init__.py"
    text = host.read_text(path, 20_000).value
    if text is None:
        return _Build(None, False, source=distribution.path)
    cuda = _assigned(text, "cuda_version")
    return _Build(
        _version(cuda),
        cuda is not None,
        _version(_assigned(text, "cudnn_version")),
        version=_assigned(text, "full_version") or "",
        git_version=_assigned(text, "commit") or "",
        source=path,
    )


def _onnxruntime(host: Host, distribution: Distribution, folder: str) -> _Build:
    path = f"{folder}/onnxruntime/capi/build_and_package_info.py"
    text = host.read_text(path, 10_000).value or ""
    provider = host.status(f"{folder}/onnxruntime/capi/libonnxruntime_providers_cuda.so").known
    cuda = _version(_assigned(text, "cuda_version"))
    return _Build(cuda, cuda is not None or not provider, _version(_assigned(text, "cudnn_version")), source=path)


def _by_name(host: Host, distribution: Distribution, folder: str) -> _Build:
    """Packages whose name holds their CUDA release: cupy-cuda12x, cupy-cuda101, mxnet-cu112; none means CPU."""
    match = re.search(r"-cu(?:da)?(\d+)(x?)", distribution.name)
    if match is None:
        return _Build(None, distribution.name in ("mxnet", "mxnet-mkl", "mxnet-native"), source=distribution.path)
    digits, whole = match.groups()
    text = digits if whole or len(digits) < 3 and int(digits) < 70 else f"{digits[:-1]}.{digits[-1]}"
    return _Build(Version.find(text), True, source=distribution.path)


def _unread(host: Host, distribution: Distribution, folder: str) -> _Build:
    return _Build(None, False, source=distribution.path)


def _jax(installed: Iterable[Distribution]) -> _Build:
    """JAX runs on CUDA only with a plug-in package; the plug-in's name holds the CUDA major release."""
    for distribution in installed:
        match = re.fullmatch(r"jax-cuda(\d+)-plugin", distribution.name)
        if match:
            cudnn = _pinned_cudnn(distribution)
            return _Build(Version.find(match.group(1)), True, cudnn, source=distribution.path)
    for distribution in installed:
        match = re.search(r"\+cuda(\d+)(?:\.cudnn(\d+))?", distribution.version)
        if distribution.name == "jaxlib" and match:
            cudnn_text = match.group(2)
            cudnn = Version.find(".".join(cudnn_text)) if cudnn_text else None
            return _Build(Version.find(match.group(1)), True, cudnn, source=distribution.path)
    rocm = any(re.fullmatch(r"jax-rocm\d+-plugin", distribution.name) for distribution in installed)
    return _Build(None, not rocm, rocm=rocm, source="no CUDA plug-in package is installed")


_PACKAGES: tuple[tuple[re.Pattern[str], str, _Reader], ...] = (
    (regex(r"torch|torch-nightly"), "pytorch", _torch),
    (regex(r"tensorflow(-gpu|-cpu|-intel|-cpu-aws|-rocm|-macos)?|tf-nightly(-gpu|-cpu)?"), "tensorflow", _tensorflow),
    (regex(r"jax"), "jax", _unread),
    (regex(r"mxnet(-.+)?"), "mxnet", _by_name),
    (regex(r"paddlepaddle(-gpu)?"), "paddlepaddle", _paddle),
    (regex(r"cupy(-cuda\d+x?)?"), "cupy", _by_name),
    (regex(r"onnxruntime(-gpu)?"), "onnxruntime", _onnxruntime),
)  # fmt: skip


def _pinned_cudnn(distribution: Distribution) -> Version | None:
    """The cuDNN release that the package pins, as `9.1.0` of `nvidia-cudnn-cu12==9.1.0.70`."""
    for requirement in distribution.requires:
        if requirement_name(requirement).startswith("nvidia-cudnn"):
            match = re.search(r"==\s*(\d+(?:\.\d+){1,2})", requirement) or re.search(
                r">=\s*(\d+(?:\.\d+){0,2})", requirement
            )
            return Version.find(match.group(1)) if match else None
    return None


def _with_gpu_code(elves: ElfReader, install: FrameworkInstall) -> FrameworkInstall:
    """`install` with the GPU targets found in its main binary, unchanged where that carries none."""
    for pattern in _GPU_BINARIES.get(install.name, ()):
        for path in elves.host.glob(f"{install.path}/{pattern}"):
            elf = elves.read(path)
            code = gpu_code(elves.host, elf.get(), _WALK_LIMIT_S) if elf.known else None
            if code is not None and code.known:
                return replace(
                    install,
                    sm_arch_list=tuple(sorted(code.get().sass)),
                    ptx_arch_list=tuple(sorted(code.get().ptx)),
                )
    return install


def _assigned(text: str, name: str) -> str | None:
    """The text assigned to `name` at the start of a line, None for None, no assignment or a value that is not a
    text."""
    return next((match[2] for match in _ASSIGNED.finditer(text) if match[1] == name), None)


def _entry(text: str, key: str) -> str | None:
    """The text that belongs to `key` in a dictionary literal or an assignment."""
    match = re.search(rf"[\"']?\b{key}[\"']?\s*[:=,]\s*{_QUOTED}", text)
    return match.group(1) if match else None


def _version(text: str | None) -> Version | None:
    return Version.find(text) if text and text not in ("0", "False") else None
