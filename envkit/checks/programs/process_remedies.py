"""Processes of a program: workers that were forked too late, and memory that the system does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import export, fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import on_windows

if TYPE_CHECKING:
    from envkit.model import Environment
    from envkit.tables import Matrix

_BY_LOADER = (
    "The data loader's workers use CUDA (the dataset or its transforms move tensors to the GPU), and a forked worker "
    "cannot; no other release changes that. Keep the dataset on the CPU: return CPU tensors from __getitem__, and move "
    "the batch in the training loop (batch.to('cuda', non_blocking=True), with pin_memory=True). If the preprocessing "
    "must run on the GPU, do it there on the whole batch, or use num_workers=0. With spawned workers (DataLoader(..., "
    "multiprocessing_context='spawn')) each one takes GPU memory of its own."
)
_BY_SPAWN = (
    "Start the workers with spawn: call torch.multiprocessing.set_start_method('spawn') first. For vLLM, set "
    "VLLM_WORKER_MULTIPROC_METHOD=spawn. Or make sure that nothing uses CUDA before the workers start."
)
_PAGE_FILE = (
    "This is the computer's memory, not the GPU's: Windows could not reserve as much as the program loads. Let Windows "
    "manage the page file, on a drive with enough free space (press Windows+R, run SystemPropertiesPerformance, then "
    "Advanced > Change), restart Windows, and close programs that use much memory. If that is not enough, load a "
    "smaller model or one in half precision (a .safetensors file takes less memory to load than a .ckpt)."
)


def spawned(environment: Environment, matrix: Matrix) -> Remedy:
    """Workers that do without CUDA where they are a data loader's, started by spawn elsewhere."""
    if seen(environment, "cuda-used-before-fork", "detail-loader"):
        return Remedy(_BY_LOADER)
    return Remedy(_BY_SPAWN, (export("VLLM_WORKER_MULTIPROC_METHOD", "spawn"),))


def more_memory(environment: Environment, matrix: Matrix) -> Remedy:
    """Less to load, or more memory, in the words of the system."""
    if on_windows(environment) and "wsl" not in managers(environment):
        return Remedy(_PAGE_FILE)
    return Remedy(
        "Use fewer data-loader workers or load less data at a time; in a container, a pod, or a job, request more "
        "memory. The kernel log names the process that was killed.",
        (fixed("free -h"), fixed("sudo dmesg -T --level=err")),
    )
