"""Engines that keep their settings in a place of their own: a rootless Docker, and the containerd of k3s and RKE2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by, managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy, steps
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_SHARED = (
    "A rootful Docker on the same machine reads the same file, and its containers then get no device rules (NVML says "
    "Unknown Error): if you need both, use CDI for the rootless one instead."
)
_IN_LXC = (
    "In an unprivileged LXC container, not even root can set device rules: make NVIDIA's hook leave them alone by "
    "setting no-cgroups = true in /etc/nvidia-container-runtime/config.toml inside that container, where Docker runs "
    "(first command). LXC itself already decides which devices are allowed."
)
_OF_NODES = {"k3s-node": ("k3s", "restart-k3s"), "rke2-node": ("RKE2", "restart-rke2")}


def without_cgroups(environment: Environment, matrix: Matrix) -> Remedy:
    """By the toolkit's own command where its release has it, otherwise in the file."""
    own = environment.containers.container_toolkit.value or _told_toolkit(environment)
    if seen(environment, "rootless-cgroups", "detail-lxc") or managed_by(environment, "lxd"):
        return remedy(environment, _IN_LXC, "no-cgroups-by-hand", "restart-docker")
    old = own is not None and own < limit("container-toolkit-with-config-set")
    set_it = (
        steps(environment, "no-cgroups-by-hand")
        if old
        else (fixed("sudo nvidia-ctk config --set nvidia-container-cli.no-cgroups --in-place"),)
    )
    return Remedy(
        f"Set no-cgroups for NVIDIA's hook, or use CDI. {_SHARED}",
        (*set_it, fixed("systemctl --user restart docker")),
    )


def _told_toolkit(environment: Environment) -> Version | None:
    """The release that the toolkit's own log names."""
    lines = seen(environment, "rootless-cgroups", "detail-toolkit", "detail-package")
    return Version.find(named(lines, "version") or named(lines, "told") or "")


_FULL = (
    "First see what the nodes offer (first command). If a GPU node shows a number, its GPUs are in use, or the pod "
    "asks for more than any node has; the second command shows how many of them other pods have requested. Free some, "
    "add a node, or request fewer; nothing on the nodes needs to be changed."
)
_NONE_OFFERED = (
    "If it shows <none> or 0, the device plugin offers no GPU. If the third command shows no plugin, install "
    "NVIDIA's device plugin or GPU operator. If it shows one, read its log (kubectl logs): most often, nvidia is not "
    "the default runtime of the node's container engine. Add both outputs and the log to the input and run envkit "
    "again."
)


def look_at_nodes(environment: Environment) -> Remedy:
    """What a scheduler that finds no free GPU leaves open: whether all of them are in use, or none is offered."""
    offered = environment.containers.node_devices.value or ()
    if any(devices.allocatable for devices in offered):
        return remedy(environment, _FULL, "node-gpus")
    return remedy(environment, f"{_FULL} {_NONE_OFFERED}", "node-gpus")


_BY_OPERATOR = (
    " If the GPU operator's toolkit is to make nvidia the default instead, its variable CONTAINERD_CONFIG must name "
    "the template next to config.toml (config.toml.tmpl, with containerd 2 config-v3.toml.tmpl): {title} writes "
    "config.toml itself at each start, and what the operator adds there is lost. Restart {title} on the node after the "
    "change."
)


def by_runtime_class(environment: Environment) -> Remedy | None:
    """On k3s and RKE2, which find the toolkit by themselves and need a RuntimeClass; None on other nodes."""
    names = managers(environment)
    title, restart = next((words for name, words in _OF_NODES.items() if name in names), ("", ""))
    if not title:
        return None
    known = environment.containers.container_toolkit.known or seen(
        environment, "docker-no-nvidia-runtime", "detail-runtime-there", "detail-toolkit-there", "detail-toolkit-used"
    )
    operator = "gpu-operator" in names  # which brings the toolkit itself
    there = bool(known) or operator
    first = "" if there else "Install the NVIDIA Container Toolkit on the node. "
    by_operator = _BY_OPERATOR.format(title=title) if operator else ""
    return remedy(
        environment,
        f"{first}{title} has its own containerd, which ignores /etc/containerd/config.toml: at each start, it adds a "
        "runtime named nvidia if it finds the toolkit. Pods only use it through a RuntimeClass: create it, and set "
        "runtimeClassName: nvidia for the device plugin (last command; its DaemonSet may have another name) and, next "
        f"to containers, in every pod that needs a GPU.{by_operator}",
        *(() if there else ("container-toolkit", restart)),
        "runtime-class",
    )
