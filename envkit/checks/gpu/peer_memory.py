"""What lets network cards reach GPU memory: the module that is missing, not loaded, or not looked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.base.versions import Version
from envkit.checks.engine.command import REQUIREMENT, export, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy, steps
from envkit.checks.nvidia_driver.driver_state import installed
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "peermem-not-loaded"
_FOLDER = "/opt/nccl"  # of its own: the container's NCCL stays as it is
_LIBRARY = f"{_FOLDER}/nvidia/nccl/lib/libnccl.so.2"


def peer_memory(environment: Environment, matrix: Matrix) -> Remedy:
    """The driver's own module, or the one beside it for a driver that has none yet; where one is there, what is not."""
    if seen(environment, _ID, "detail-built"):
        return remedy(
            environment,
            "nv_peer_mem is built for this kernel and only has to be loaded: the second command has that done at every "
            "boot. NCCL's log then shows GDRDMA in its channels. Do it on every node; after a driver update, build the "
            "module again (dkms status).",
            "peermem-built",
        )
    loaded = bool(seen(environment, _ID, "detail-loaded"))
    told = Version.find(named(seen(environment, _ID, "detail-nccl"), "nccl") or "")
    first = limit("nccl-with-nvidia-peermem")
    if loaded and told is not None and told < first:
        return _newer_nccl(told, first)
    if loaded:
        return _without_registration(environment)
    own, with_module = installed(environment), limit("driver-with-peermem")
    if own is not None and own < with_module:
        return remedy(
            environment,
            f"Driver {own} has no nvidia-peermem, which comes with {with_module.major} and newer: build Mellanox's "
            "nv_peer_mem for it, with the headers of the kernel and of MLNX_OFED installed (an archived project; take "
            "a release of its time if the newest does not compile). Or install a newer driver.",
            "peermem-before-driver",
        )
    return remedy(
        environment,
        "Load the module nvidia-peermem on every node (or use the open kernel module on a newer kernel). NCCL's log "
        "then shows GDRDMA in its channels.",
        "peermem",
    )


def _newer_nccl(told: Version, first: Version) -> Remedy:
    """Beside the one of the image, where this one looks for another module's file."""
    return Remedy(
        f"nvidia_peermem is loaded, but NCCL {told} does not look for it: before {first}, NCCL knows only the file of "
        f"nv_peer_mem, and no variable changes that. Give the program NCCL {first} without changing the image: the "
        "first command installs it into a folder of its own (for CUDA 12), and the second one loads it in front of the "
        "image's; set it on all ranks, wherever the program is started. This works where NCCL is a shared library, as "
        "in NVIDIA's images and PyTorch's wheels for CUDA 12. NCCL's log then names the new version and GDRDMA.",
        (
            run("python", "-m", "pip", "install", "--target", _FOLDER, REQUIREMENT(f"nvidia-nccl-cu12=={first}")),
            export("LD_PRELOAD", _LIBRARY),
        ),
    )


def _without_registration(environment: Environment) -> Remedy:
    """Loaded, but unknown to the InfiniBand core: its interface is in MLNX_OFED's modules, not in the kernel's own."""
    inbox = seen(environment, _ID, "detail-inbox")
    why = (
        "ib_core is the kernel's own, and the interface for peer memory is only in MLNX_OFED's, whose modules are not "
        "installed for this kernel"
        if inbox
        else "it has not registered with ib_core (memory_peers is missing), so it was built without MLNX_OFED's headers"
    )
    branch = Version.find(named(seen(environment, _ID, "detail-module-driver"), "driver") or "") or installed(
        environment
    )
    given = remedy(
        environment,
        f"nvidia_peermem is loaded, but {why}: loading it again changes nothing. The open kernel module (GPUs from "
        f"Turing on, kernel {limit('dma-buf-kernel')} and newer) needs no nvidia_peermem: NCCL then uses DMA-BUF, and "
        "its log says GPU Direct RDMA (DMABUF) enabled. Install the open flavor of the driver's branch on every node. "
        "To stay with nvidia_peermem instead, install MLNX_OFED with its kernel modules for this kernel "
        "(mlnxofedinstall --add-kernel-support; modinfo -n ib_core then names a file outside kernel/drivers), restart "
        "the machine, and install the driver again.",
    )
    change = steps(environment, "driver-open", branch=branch.major) if branch is not None else ()
    return replace(given, steps=change)
