"""Kubernetes nodes: how many of their GPUs pods can be given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import NAMESPACE, POD, fixed, run
from envkit.checks.engine.evidence import many
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, ok
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.model import Environment, NodeDevices

if TYPE_CHECKING:
    from envkit.tables import Matrix

_UNHEALTHY = Fault(
    "kubernetes-gpu-unhealthy",
    "A Kubernetes node has GPUs that the device plugin reports as unhealthy",
    impact="The scheduler does not assign unhealthy GPUs to pods.",
    remedy=(
        "The device plugin's log on this node names the GPU and the error (often an Xid), and the node's kernel log "
        "has the details; the first command lists the pods with their namespaces. Fix that error first, then restart "
        "the plugin: it reports a repaired GPU as unhealthy until it is restarted. The last command deletes its pod, "
        "which its DaemonSet creates again at once; jobs that run on the node go on."
    ),
    steps=(
        fixed("kubectl get pods -A -o wide"),
        run("kubectl", "logs", "-n", NAMESPACE, POD),
        run("kubectl", "delete", "pod", "-n", NAMESPACE, POD),
    ),
)


@check(
    _UNHEALTHY,
    layer=Layer.HEALTH,
    rank=20,
    any_of=("containers.node_devices", "messages"),
    explained_by=("gpu-fallen-off-bus", "gsp-timeout", "ecc-uncorrectable", "driver-library-mismatch"),
    fix="Read the device plugin's log on the node, fix the error that it reports, and restart the plugin.",
    references=threads("NVIDIA/k8s-device-plugin#75", "NVIDIA/k8s-device-plugin#58", "NVIDIA/k8s-device-plugin#189"),
)
def kubernetes_gpu_unhealthy(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A Kubernetes node can give pods all of the GPUs that it has.

    The node's capacity counts every GPU that the device plugin found; allocatable counts only the healthy ones. GPUs
    that pods already use are in both numbers.
    """
    if not environment.containers.node_devices.known:
        return
    devices = environment.containers.node_devices.get()
    evidence = [_counted(environment, each) for each in devices]
    missing = [each for each in devices if each.allocatable < each.capacity]
    for each in missing:
        unusable = each.capacity - each.allocatable
        of_all = f"{unusable} of {many(each.capacity, 'device')} ({each.resource})"
        title = f"{of_all} {'is' if unusable == 1 else 'are'} unusable"
        yield _UNHEALTHY.found([_counted(environment, each)], title=title)
    if not missing:
        yield ok("every GPU of the node can be assigned to a pod", evidence=evidence)


def _counted(environment: Environment, devices: NodeDevices) -> Evidence:
    words = f"{devices.resource}: {devices.allocatable} of {devices.capacity}"
    return Evidence("containers.node_devices", words, environment.containers.node_devices.source)
