"""Inside a container: which parts of the host's driver it was given."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import kind, known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Status, ok, skip, unknown
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.variables import variables
from envkit.checks.nvidia_driver.device_nodes import given_to_others
from envkit.checks.nvidia_driver.driver_state import CUDA, NVML, answered, has_library
from envkit.model import Environment, MachineKind

if TYPE_CHECKING:
    from envkit.tables import Matrix


_NOT_GIVEN = Fault(
    "container-no-gpu-injected",
    "The container was started without a GPU",
    impact="Nothing in this container can use a GPU.",
    remedy="Start the container with a GPU; in Kubernetes ask for nvidia.com/gpu and set the runtime class.",
    steps=(fixed("docker run --gpus all IMAGE"), fixed("docker run --device nvidia.com/gpu=all IMAGE")),
)
_NO_LIBRARIES = Fault(
    "driver-capabilities-missing",
    "The container has the GPU but not the driver's libraries",
    impact="CUDA programs or nvidia-smi cannot find the driver library in the container.",
    remedy="Add the compute and utility driver capabilities, so that libcuda and NVML are mounted into the container.",
    steps=(fixed("docker run --gpus all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE"),),
)
_BAKED = Fault(
    "driver-baked-into-image",
    "The image contains its own driver",
    impact="The image's libcuda meets the host's kernel module of another version.",
    remedy="Rebuild the image without driver packages; remove them here for now.",
    actions=("purge-driver",),
)
_LOST = Fault(
    "container-loses-gpu",
    "The container lost its GPU while running",
    impact="Programs in the container lose the GPU until it is restarted; the host is fine.",
    remedy="Restart the container; for good, use CDI or links in /dev/char on the host.",
    steps=(fixed("docker restart CONTAINER"), fixed("sudo nvidia-ctk system create-dev-char-symlinks --create-all")),
)


def _in_container(environment: Environment) -> bool:
    return kind(environment) is MachineKind.CONTAINER


@check(
    _NOT_GIVEN,
    layer=Layer.PLACE,
    rank=10,
    any_of=("system.machine_kind", "messages"),
    explained_by=("driver-capabilities-missing",),
    fix="Start it with `--gpus all`, with `--device nvidia.com/gpu=all`, or with a GPU in the pod's resources.",
    references=threads("NVIDIA/nvidia-docker#904", "aws/deep-learning-containers#598"),
)
def container_no_gpu_injected(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A container on a host with a GPU has the driver's device nodes."""
    nodes = environment.driver.device_nodes
    paths = [node.path for node in nodes.get()] if nodes.known else []
    asked = variables(environment).get("NVIDIA_VISIBLE_DEVICES")
    if _in_container(environment) and (nodes.known or nodes.absent) and not paths:
        host_has = _host_gpu(environment)
        evidence = [
            known(environment, "driver.device_nodes", "no /dev/nvidia*"),
            Evidence("variables[NVIDIA_VISIBLE_DEVICES]", repr(asked), environment.variables.source),
        ]
        if host_has:
            yield _NOT_GIVEN.found([*evidence, host_has])
        else:
            yield unknown(
                "this container has no GPU; whether its host has one cannot be seen from here", evidence=evidence
            )
    elif reported := _NOT_GIVEN.reported(environment):
        yield reported
    elif not _in_container(environment):
        yield skip("not inside a container", evidence=[known(environment, "system.machine_kind")])
    elif paths:
        yield ok(
            "the container has GPU device nodes",
            evidence=[known(environment, "driver.device_nodes", ", ".join(paths[:4]))],
        )
    else:
        yield unknown("the device nodes are not known", evidence=[known(environment, "driver.device_nodes")])


def _host_gpu(environment: Environment) -> Evidence | None:
    """What shows, inside a container, that the host has an NVIDIA GPU with a driver."""
    if environment.driver.kernel_module.known:
        return known(environment, "driver.kernel_module")
    if environment.pci_gpus.known and environment.pci_gpus.get():
        return known(environment, "pci_gpus", f"{len(environment.pci_gpus.get())} on the host's PCI bus")
    return None


@check(
    _NO_LIBRARIES,
    layer=Layer.PLACE,
    rank=12,
    any_of=("system.machine_kind", "messages"),
    fix="Set NVIDIA_DRIVER_CAPABILITIES=compute,utility for the container.",
    references=threads("NVIDIA/nvidia-docker#1226", "NVIDIA/libnvidia-container#231"),
)
def driver_capabilities_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A container with GPU nodes was given libcuda and libnvidia-ml as well: the capabilities compute and utility."""
    nodes = environment.driver.device_nodes
    gpu_nodes = [node for node in nodes.get() if re.fullmatch(r"/dev/nvidia\d+", node.path)] if nodes.known else []
    missing = [name for name in (CUDA, NVML) if has_library(environment, name) is False]
    value = variables(environment).get("NVIDIA_DRIVER_CAPABILITIES")
    if _in_container(environment) and gpu_nodes and missing:
        yield _NO_LIBRARIES.found(
            [
                known(environment, "driver.device_nodes", gpu_nodes[0].path),
                known(environment, "driver.libraries", "missing: " + ", ".join(missing)),
                Evidence("variables[NVIDIA_DRIVER_CAPABILITIES]", repr(value), environment.variables.source),
            ],
            title=f"The container has {gpu_nodes[0].path} but no {' and no '.join(missing)}",
        )
        return
    if reported := _NO_LIBRARIES.reported(environment):
        yield reported
    elif not _in_container(environment):
        yield skip("not inside a container", evidence=[known(environment, "system.machine_kind")])
    elif gpu_nodes and has_library(environment, CUDA):
        yield ok("the container has the driver's libraries", evidence=[known(environment, "driver.libraries", CUDA)])
    else:
        yield skip("the container has no GPU nodes, or its libraries were not probed")


@check(
    _BAKED,
    layer=Layer.PLACE,
    rank=14,
    any_of=("system.machine_kind", "messages"),
    fix="Rebuild the image with cuda-toolkit-X-Y only, never with a driver or the cuda meta-package.",
    references=threads("ameli/manylinux-cuda#5", "NVIDIA/nvidia-docker#1256"),
)
def driver_baked_into_image(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No driver package is installed inside a container: the driver's libraries come from the host."""
    if reported := _BAKED.reported(environment):
        yield reported
        return
    if not _in_container(environment):
        yield skip("not inside a container", evidence=[known(environment, "system.machine_kind")])
        return
    if not environment.packages.known:
        yield unknown("the installed packages are not known", evidence=[known(environment, "packages")])
        return
    baked = [
        item for item in environment.packages.get() if DRIVER_PACKAGE.match(item.name) and item.state == "installed"
    ]
    if not baked:
        yield ok("no driver package in this image", evidence=[known(environment, "packages", "none of the driver's")])
        return
    module = environment.driver.kernel_module
    same = module.known and any(str(module.get()) in item.version for item in baked)
    evidence = [Evidence("packages", f"{item.name} {item.version}", environment.packages.source) for item in baked[:3]]
    evidence.append(known(environment, "driver.kernel_module"))
    if same or not module.known:
        yield _BAKED.found(evidence, impact=f"{_BAKED.impact[:-1]} on every other host.", status=Status.WARN)
    else:
        yield _BAKED.found(evidence, title="This image contains a driver version that differs from the host's")


DRIVER_PACKAGE = regex(
    r"(nvidia-driver(-\d.*|-cuda.*|-libs)?$|libnvidia-compute|libcuda1$|nvidia-utils|cuda-drivers|xserver-xorg-video-nvidia|nvidia-kernel|nvidia-dkms|kmod-nvidia)"
)


@check(
    _LOST,
    layer=Layer.PLACE,
    rank=18,
    any_of=("driver.device_nodes", "driver.nvml", "messages"),
    fix="Restart the container. For good: CDI, or links in /dev/char, or cgroupfs as Docker's cgroup driver.",
    references=threads("NVIDIA/nvidia-container-toolkit#48", "NVIDIA/nvidia-docker#1730", "NVIDIA/gpu-operator#485"),
)
def container_loses_gpu(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A container may still open the GPU nodes that it was given.

    `systemctl daemon-reload` on the host rewrites the device rules of containers whose GPU did not come through CDI;
    from then on NVML says "Unknown Error" inside while the host is fine.
    """
    nodes = environment.driver.device_nodes.get() if environment.driver.device_nodes.known else ()
    others = given_to_others(environment)
    refused = [node for node in nodes if node.accessible is False and node.open_error == "EPERM" and node not in others]
    answers = answered(environment, "nvml", "UNKNOWN")
    if _in_container(environment) and refused:
        evidence = [
            Evidence("driver.device_nodes", f"{node.path}: {node.open_error}", environment.driver.device_nodes.source)
            for node in refused[:2]
        ]
        yield _LOST.found([*evidence, *answers], title="This container may no longer open its GPU")
    elif reported := _LOST.reported(environment):
        yield reported
    elif not _in_container(environment):
        yield skip("not inside a container", evidence=[known(environment, "system.machine_kind")])
    elif nodes and not refused:
        yield ok(
            "the container may open its GPU nodes", evidence=[known(environment, "driver.device_nodes", nodes[0].path)]
        )
    else:
        yield skip("the container has no GPU nodes", evidence=[known(environment, "driver.device_nodes")])
