"""What gives a running container its GPU back, and keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import remedy
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "container-loses-gpu"
_NAMED = ("detail-exec", "detail-name", "detail-compose", "detail-inspect")
_UNNAMED = "CONTAINER"  # to be filled in
_CPU_MANAGER = (
    "The kubelet's static CPU manager rewrites the container's cgroup a few seconds after its start, and drops the "
    "rules for the GPU's devices, because the hook added them without the kubelet's knowledge. A new pod would fail in "
    "the same way. Have the device plugin pass the devices to the kubelet: run it privileged and with "
    "PASS_DEVICE_SPECS=true (in its Helm chart: compatWithCPUManager), as the command does for the usual DaemonSet "
    "(kubectl get daemonsets -A shows its name); then delete the pods that lost the GPU. Or remove "
    "--cpu-manager-policy=static from the kubelet. The driver is fine."
)
_LINKED = ("detail-device", "detail-reload-harmless")


def kept_gpu(environment: Environment, matrix: Matrix) -> Remedy:
    """Links on the host, which a reload of systemd needs to find the devices; then the container again."""
    names = managers(environment)
    if seen(environment, _ID, "detail-cpu-manager"):
        return remedy(environment, _CPU_MANAGER, "pass-device-specs")
    if "kubernetes" in names:
        pod = named(seen(environment, _ID, "detail-pod"), "pod")
        which = f"{pod} " if pod else ""
        listed = "" if pod else "kubectl get pods lists it; "
        anew = f"delete the pod {which}({listed}its controller creates a new one)"
        return _links(environment, anew, "restart-pod", pod=pod or "POD")
    container = named(seen(environment, _ID, *_NAMED), "container")
    if seen(environment, _ID, *_LINKED):
        return _by_cdi(environment, container)
    find = "" if container else " (find it with docker ps)"
    return _links(environment, f"restart the container{find}", "restart-container", container=container or _UNNAMED)


def _links(environment: Environment, anew: str, restart: str, **named: str) -> Remedy:
    toolkit = environment.containers.container_toolkit.value
    old = toolkit is not None and toolkit < limit("container-toolkit-with-device-links")
    upgrade = ("container-toolkit",) if old else ()
    return remedy(
        environment,
        f"Create links to the device files, add a udev rule so that they survive reboots, and {anew} when its work is "
        "done. Without the links, the container loses the GPU again whenever systemd reloads its units.",
        *upgrade,
        "device-links",
        restart,
        **named,
    )


def _by_cdi(environment: Environment, container: str | None) -> Remedy:
    """Where links are no help, because the devices are passed one by one: CDI keeps them in the container's own
    rules."""
    again = f" {container}" if container else ""
    return remedy(
        environment,
        f"The container{again} gets its devices in a way that links in /dev/char do not help. Restart it now, and "
        "re-create it with CDI when its work is done, so that the devices are part of its own rules: in its docker run "
        "command, write --device nvidia.com/gpu=all in place of --gpus, --runtime and every --device /dev/nvidia... "
        f'(before Docker {limit("docker-with-cdi-on")}, first set "features": {{"cdi": true}} in '
        "/etc/docker/daemon.json). Docker's option "
        "native.cgroupdriver=cgroupfs avoids it, too.",
        "cdi-spec",
        "restart-container",
        container=container or _UNNAMED,
    )
