"""What the compiled parts of GPU packages ask of glibc, libstdc++ and PyTorch, next to what is there."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from envkit.base.versions import Version
from envkit.host.base import Host
from envkit.model import Distribution
from envkit.probe.elf import ElfReader
from envkit.probe.interpreters import Interpreter
from envkit.probe.symbols import missing_torch_symbols

_BINARIES = {  # distribution -> its main compiled files
    "torch": ("torch/lib/libtorch_cpu.so", "torch/lib/libtorch_python.so"),
    "tensorflow": ("tensorflow/libtensorflow_cc.so.2", "tensorflow/python/_pywrap_tensorflow_internal.so"),
    "jaxlib": ("jaxlib/xla_extension.so", "jaxlib/libjax_common.so"),
    "triton": ("triton/_C/libtriton.so",),
}
_EXTENSIONS = {
    "flash-attn": ("flash_attn_2_cuda*.so",),
    "xformers": ("xformers/_C*.so",),
    "torchvision": ("torchvision/_C.so", "torchvision/_C*.so"),
    "torchaudio": ("torchaudio/lib/libtorchaudio.so", "torchaudio/lib/_torchaudio*.so"),
    "bitsandbytes": ("bitsandbytes/libbitsandbytes_cuda*.so",),
    "torch-scatter": ("torch_scatter/_scatter_cuda.so",),
    "torch-sparse": ("torch_sparse/_spmm_cuda.so",),
    "mamba-ssm": ("selective_scan_cuda*.so",),
    "causal-conv1d": ("causal_conv1d_cuda*.so",),
}
_MOST_BINARIES = 8


@dataclass
class RuntimeNeeds:
    """Symbol versions by binary, and the C++ library that this Python would load first."""

    glibc: dict[str, Version] = field(default_factory=dict)
    glibcxx: dict[str, Version] = field(default_factory=dict)
    libstdcxx: str = ""
    libstdcxx_version: Version | None = None
    unresolved: tuple[str, ...] = ()


def runtime_needs(interpreter: Interpreter, installed: Iterable[Distribution], elves: ElfReader) -> RuntimeNeeds:
    """The needs of the compiled GPU packages of one environment; empty where there are none."""
    needs = RuntimeNeeds()
    host = elves.host
    every = {distribution.name: distribution for distribution in installed if distribution.installer != "conda"}
    unresolved: list[str] = []
    for name, path in _binaries(host, every)[:_MOST_BINARIES]:
        elf = elves.read(path)
        if not elf.known:
            continue
        for target, prefix in ((needs.glibc, "GLIBC"), (needs.glibcxx, "GLIBCXX")):
            version = elf.get().highest_needed(prefix)
            if version is not None:
                target[path] = version
        if name in _EXTENSIONS and "torch" in every:
            torch_lib = f"{posixpath.dirname(every['torch'].path)}/torch/lib"
            symbols = missing_torch_symbols(host, path, torch_lib)
            unresolved.extend(f"{name}: {symbol}" for symbol in symbols)
    needs.unresolved = tuple(unresolved)
    if needs.glibcxx:
        needs.libstdcxx, needs.libstdcxx_version = _libstdcxx(elves, interpreter)
    return needs


def _binaries(host: Host, installed: Mapping[str, Distribution]) -> list[tuple[str, str]]:
    result = []
    for name, patterns in (*_BINARIES.items(), *_EXTENSIONS.items()):
        if name in installed:
            folder = posixpath.dirname(installed[name].path)
            matches = (path for pattern in patterns for path in host.glob(f"{folder}/{pattern}"))
            first = next(matches, None)
            if first is not None:
                result.append((name, first))
    return result


def _libstdcxx(elves: ElfReader, interpreter: Interpreter) -> tuple[str, Version | None]:
    """The libstdc++.so.6 in loader order: LD_LIBRARY_PATH, conda's own next to its Python, then the system's."""
    host = elves.host
    folders = [folder for folder in host.variables().get("LD_LIBRARY_PATH", "").split(":") if folder]
    if interpreter.kind == "conda":
        folders.append(f"{interpreter.prefix}/lib")
    architecture = host.identity().get("architecture", "")
    folders += [f"/usr/lib/{architecture}-linux-gnu", "/usr/lib64", "/usr/lib"]
    for folder in folders:
        path = f"{folder}/libstdc++.so.6"
        if host.status(path).known:
            elf = elves.read(path)
            return path, elf.get().highest_defined("GLIBCXX") if elf.known else None
    return "", None
