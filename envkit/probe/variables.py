"""The process's variables that change what CUDA, the loader, containers or frameworks do."""

from __future__ import annotations

from collections.abc import Mapping

from envkit.facts import Observed, Problem, found, missing
from envkit.host.base import Host
from envkit.redact import without_secret
from envkit.regex import regex

_RELEVANT = regex(
    r"(CUDA|CUDNN|NVIDIA|NVCC|NVTE|NCCL|GLOO|TORCH|PYTORCH|TF|XLA|JAX|TRITON|MXNET|PADDLE|CONDA|SLURM|OMP|MKL)(_|$)|"
    r"(LD_LIBRARY_PATH|LD_PRELOAD|LIBRARY_PATH|CPATH|PATH|HOME|USER|HOSTNAME|SHELL|LANG|TMPDIR|VIRTUAL_ENV|MAX_JOBS|"
    r"PYTHONPATH|PYTHONHOME|PYTHONNOUSERSITE|CC|CXX|CUDACXX|CUDAHOSTCXX|DOCKER_\w+|PIP_\w+|UV_\w+|WSL_DISTRO_NAME|"
    r"WSL_INTEROP|KUBERNETES_SERVICE_HOST|GPU_DEVICE_ORDINAL|ROCR_VISIBLE_DEVICES|HIP_VISIBLE_DEVICES|CUDA\w*)$"
)


def variables(host: Host) -> Observed[Mapping[str, str]]:
    """The relevant variables, secrets in them left out; NOT_LOOKED for a host without a process."""
    everything = host.variables()
    if not everything:
        return missing(Problem.NOT_LOOKED, "environment")
    relevant = {name: without_secret(name, everything[name]) for name in sorted(everything) if _RELEVANT.match(name)}
    return found(relevant, "environment")
