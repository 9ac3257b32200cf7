"""The driver of a virtual machine that has a part of a GPU: by whatever installs drivers there."""

from __future__ import annotations

from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.model import Environment

OF_GUEST = (
    "In the virtual machine, remove its driver and install the guest driver of the same vGPU release as the host's "
    "manager (the file whose name ends in -grid.run, or the .deb or .exe next to it). The distribution's driver and "
    "the one for whole cards do not support vGPUs. A host accepts guests of its own release and, usually, of the one "
    "before."
)
_OF_TALOS = (
    "A vGPU needs the guest driver of the host's vGPU release, and the extensions that Talos offers contain the driver "
    "for whole cards. Build the kernel module extension yourself, from the sources of the Talos extensions of your "
    "release, with NVIDIA's guest driver (the file whose name ends in -grid.run, from the license portal, of the "
    "release that nvidia-smi shows on the host) in place of the public one; build an installer image with it, and "
    "upgrade the node to that image with talosctl upgrade --image. A card that is passed through whole needs none of "
    "this."
)
_OF_OPERATOR = (
    "The node has a vGPU, a part of the card (a type such as nvidia-1153 is one): it takes only the guest driver of "
    "the same vGPU release as the host's, and the operator's own driver images have the one for whole cards, in every "
    "branch. Ask whoever runs the hypervisors for the guest driver (its file ends in -grid.run) and a license token. "
    "Build the driver image from it (NVIDIA/gpu-driver-container, build argument DRIVER_TYPE=vgpu), push it to your "
    "registry, and upgrade the operator with driver.repository, driver.version, driver.usePrecompiled=false, and "
    "driver.licensingConfig; its vGPU guide has each step. Or have whole cards passed through: they take the regular "
    "driver."
)


def of_vgpu_guest(environment: Environment) -> Remedy:
    """The guest driver, built into the image where a system or an operator installs it."""
    names = managers(environment)
    return Remedy(_OF_TALOS if "talos" in names else _OF_OPERATOR if "gpu-operator" in names else OF_GUEST)
