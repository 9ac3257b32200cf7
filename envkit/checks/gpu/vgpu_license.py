"""The license of a vGPU: where it is put, and what fetches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by, managers
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import remedy
from envkit.checks.nvidia_driver.driver_state import installed
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_LICENSING = '{"spec": {"driver": {"licensingConfig": {"configMapName": "licensing-config"}}}}'
_NO_SERVICE = "The driver lacks nvidia-gridd, the service that fetches the license, so no token can help. "
_NODE_IMAGE = (
    "It is part of the node's image, where nothing can be repaired for good: go back to the image that had it, by a "
    "snapshot of a node pool that still has the old nodes, and move the pods to a pool made from it, until a newer "
    "image has the service again (report it to the provider). On a node of that pool, nvidia-smi -q then says "
    "Licensed. GROUP, CLUSTER, and the names of pools and snapshot are yours; the first command shows the image of "
    "each pool, and the second one prints the ID that the third one needs."
)


_OF_AZURE = (
    "Azure provides the license of these sizes, so there is no server or token of your own: on the new nodes, the "
    "image does not fetch it (on a node, systemctl status nvidia-gridd shows whether the service is there and what it "
    "says). "
)
_UNREACHABLE = (
    "nvidia-gridd could not reach its license server, so the license expired. What it needs is the server, not a new "
    "token. The first command shows the message with the server's name. If you run the server, start it, and let this "
    "machine through to it (port 443 for tokens, 7070 for the older server); if the cloud or your administrators run "
    "it, send them the message. Then restart nvidia-gridd; License Status must be Licensed before CUDA works again."
)
_CONFIGURED = (
    "The ConfigMap is there, so the driver container has gridd.conf and still gets no license: the first command shows "
    "what it has. ServerAddress must be the license server as the nodes reach it, and FeatureType the license that you "
    "have (1 vGPU, 4 vCS). The second command tests the connection (SERVER is that address; 443 in place of 7070 with "
    "a client token). If it fails, open that port for the nodes; if it works, ask whoever runs the server whether a "
    "license is free. After the correction, the third one restarts the driver, which stops the programs on the nodes; "
    "License Status must then be Licensed."
)


_OF_NODE_POOLS = (
    fixed("az aks nodepool list -g GROUP --cluster-name CLUSTER --query [].[name,nodeImageVersion,id]"),
    fixed("az aks nodepool snapshot create -g GROUP -n SNAPSHOT --nodepool-id POOL_ID"),
    fixed("az aks nodepool add -g GROUP --cluster-name CLUSTER -n POOL --snapshot-id SNAPSHOT_ID"),
)
_MANAGED_NODES = (
    "It is part of the nodes' image, which the provider makes: create the node pool from the image that had it (the "
    "one with the earlier driver), move the pods there, and report the new image to the provider. On a node of that "
    "pool, the first command says active and the second one Licensed."
)


def license_of(environment: Environment, matrix: Matrix) -> Remedy:
    """By the kind of license server that this driver knows, and in the operator's own way on a node of Kubernetes."""
    if seen(environment, "vgpu-unlicensed", "detail-no-gridd"):
        return _of_the_guest(environment)
    if seen(environment, "vgpu-unlicensed", "detail-unreachable"):
        return remedy(environment, _UNREACHABLE, "license-again")
    if seen(environment, "vgpu-unlicensed", "detail-node-pool") and managed_by(environment, "azure"):
        return Remedy(f"{_OF_AZURE}{_NODE_IMAGE}", _OF_NODE_POOLS)
    if managed_by(environment, "gpu-operator") and seen(environment, "vgpu-unlicensed", "detail-configured"):
        return remedy(environment, _CONFIGURED, "license-in-driver-pod")
    driver = installed(environment)
    early = driver is not None and driver.major < limit("driver-with-license-tokens").major
    what = (
        "gridd.conf with ServerAddress and ServerPort=7070 of your license server and the FeatureType of your "
        "license (1 vGPU, 4 vCS; this driver does not support tokens)"
        if early
        else "gridd.conf (FeatureType of your license) and client_configuration_token.tok of your license server"
    )
    if "gpu-operator" in managers(environment):
        files = ("--from-file=gridd.conf", *(() if early else ("--from-file=client_configuration_token.tok",)))
        return Remedy(
            f"Here, the operator's driver container has the license, not the node: write {what}, and pass both to the "
            "operator as a ConfigMap in its namespace (kubectl get pods -A shows it). The driver pods restart, which "
            "stops the programs on these nodes. License Status must then be Licensed.",
            (
                run("kubectl", "-n", "gpu-operator", "create", "configmap", "licensing-config", *files),
                run("kubectl", "patch", "clusterpolicies.nvidia.com/cluster-policy", "--type=merge", "-p", _LICENSING),
            ),
        )
    if early:
        return remedy(
            environment,
            f"Set the license server in /etc/nvidia/gridd.conf: {what}. Then restart nvidia-gridd.",
            "license-server",
        )
    return remedy(
        environment,
        "Copy the client token from your license server, and restart nvidia-gridd; FeatureType in "
        "/etc/nvidia/gridd.conf must match the license. A trial needs such a server and token, too; the clocks of the "
        "server, the host, and the guest must agree.",
        "license",
    )


def _of_the_guest(environment: Environment) -> Remedy:
    """Where the service that fetches the license is missing: the driver is another one, or not whole."""
    if seen(environment, "vgpu-unlicensed", "detail-node-pool"):
        return Remedy(f"{_NO_SERVICE}{_NODE_IMAGE}", _OF_NODE_POOLS)
    if seen(environment, "vgpu-unlicensed", "detail-managed-nodes"):
        return Remedy(
            f"{_NO_SERVICE}{_MANAGED_NODES}", (fixed("systemctl status nvidia-gridd"), fixed("nvidia-smi -q"))
        )
    return Remedy(
        f"{_NO_SERVICE}Install NVIDIA's guest driver of the host's vGPU release (the file whose name ends in "
        "-grid.run, or the package next to it) in place of this driver, which is the one for whole cards or not "
        "complete; then put the license there, and the last command says Licensed.",
        (fixed("nvidia-smi -q"), fixed("systemctl status nvidia-gridd")),
    )
