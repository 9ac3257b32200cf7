"""What a Python environment offers to programs that compile at run time: Triton, XLA, torch's extension builder."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.host.base import Host
from envkit.model import Distribution
from envkit.probe.cuda_tools import behind, carried_release
from envkit.probe.interpreters import Interpreter

_IN_SITE = {
    "ptxas": (
        "triton/backends/nvidia/bin/ptxas",
        "triton/common/../third_party/cuda/bin/ptxas",
        "nvidia/cuda_nvcc/bin/ptxas",
        "nvidia/cu*/bin/ptxas",
    ),
    "nvcc": ("nvidia/cuda_nvcc/bin/nvcc", "nvidia/cu*/bin/nvcc"),
    "libdevice": ("nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc", "nvidia/cu*/nvvm/libdevice/libdevice.10.bc"),
}
_IN_TOOLKITS = {
    "ptxas": "bin/ptxas",
    "nvcc": "bin/nvcc",
    "libdevice": "nvvm/libdevice/libdevice.10.bc",
}
_DRIVER_LINKS = (
    "/usr/lib/*-linux-gnu/libcuda.so",
    "/usr/lib64/libcuda.so",
    "/usr/lib/libcuda.so",
    "/usr/lib/wsl/lib/libcuda.so",
)
_COMPILES = regex(r"(torch|triton|tensorflow|jax|jaxlib|cupy.*|paddlepaddle-gpu)")


def build_tools(host: Host, interpreter: Interpreter, installed: tuple[Distribution, ...]) -> Mapping[str, str]:
    """Where this environment's programs find nvcc, ptxas, libdevice, Python.h, a C compiler and libcuda.so.

    A name without a path is a tool that was looked for and not found; the mapping is empty when nothing here compiles.
    """
    if not any(_COMPILES.fullmatch(distribution.name) for distribution in installed):
        return {}
    tools = {name: _tool(host, interpreter, name) for name in _IN_SITE}
    minor = str(interpreter.version.release(2)) if interpreter.version else "*"
    prefixes = [prefix for prefix in (interpreter.prefix, interpreter.base_prefix) if prefix]
    tools["Python.h"] = _first(host, *(f"{prefix}/include/python{minor}*/Python.h" for prefix in prefixes))
    compiler = host.variables().get("CC") or "gcc"
    tools["cc"] = next((path for name in (compiler, "clang") if (path := host.which(name).value)), "")
    tools["libcuda.so"] = _first(host, *_DRIVER_LINKS)
    return tools


def ptxas_version(host: Host, tools: Mapping[str, str]) -> Version | None:
    """The CUDA release of the ptxas that would be started, read from its bytes: it is never started here."""
    if not tools.get("ptxas"):
        return None
    program, _ = behind(host, tools["ptxas"], "ptxas")
    release = carried_release(host, program)
    return release.release(2) if release else None


def _tool(host: Host, interpreter: Interpreter, name: str) -> str:
    chosen = host.variables().get("TRITON_PTXAS_PATH", "") if name == "ptxas" else ""
    if chosen:
        return chosen
    sites = [f"{folder}/{pattern}" for folder in interpreter.site_folders for pattern in _IN_SITE[name]]
    roots = [host.variables().get(variable, "") for variable in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX")]
    toolkits = [f"{root}/{_IN_TOOLKITS[name]}" for root in (*filter(None, roots), "/usr/local/cuda", "/opt/cuda")]
    on_path = host.which(name).value if name != "libdevice" else None
    return _first(host, *sites) or on_path or _first(host, *toolkits)


def _first(host: Host, *patterns: str) -> str:
    for pattern in patterns:
        if "*" in pattern:
            for path in host.glob(pattern):
                return path
        elif host.status(pattern).known:
            return posixpath.normpath(pattern)
    return ""
