"""Engines that keep their settings in a place of their own: a rootless Docker, and the containerd of k3s and RKE2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.command import IMAGE, NAME, VERSION, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by, managers
from envkit.checks.engine.messages import named, seen, variants_of
from envkit.checks.engine.remedies import remedy, steps
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "docker-no-nvidia-runtime"
_SHARED = (
    "A rootful Docker on the same machine reads the same file, and its containers then get no device rules (NVML says "
    "Unknown Error): if you need both, use CDI for the rootless one instead."
)
_IN_LXC = (
    "In an unprivileged LXC container, not even root can set device rules: make NVIDIA's hook leave them alone by "
    "setting no-cgroups = true in /etc/nvidia-container-runtime/config.toml inside that container, where Docker runs "
    "(first command). LXC itself already decides which devices are allowed."
)
_BY_ENROOT = (
    "Enroot runs NVIDIA's hook as you, and a normal user may not set device rules: set no-cgroups = true in "
    "/etc/nvidia-container-runtime/config.toml on each GPU node (the command, as root), and start the container again; "
    "no service has to be restarted. The batch system's own cgroup still limits the job to its GPUs. A rootful Docker "
    "on the node reads the same file, so its containers then need the GPU through CDI."
)
_OF_NODES = {"k3s-node": ("k3s", "restart-k3s"), "rke2-node": ("RKE2", "restart-rke2")}


def without_cgroups(environment: Environment, matrix: Matrix) -> Remedy:
    """By the toolkit's own command where its release has it, otherwise in the file."""
    own = environment.containers.container_toolkit.value or _told_toolkit(environment)
    if seen(environment, "rootless-cgroups", "detail-lxc") or managed_by(environment, "lxd"):
        return remedy(environment, _IN_LXC, "no-cgroups-by-hand", "restart-docker")
    if seen(environment, "rootless-cgroups", "detail-enroot"):
        return remedy(environment, _BY_ENROOT, "no-cgroups-by-hand")
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


_OF_MINIKUBE = (
    "minikube's node is itself a container, which has the GPU only if it was created with it; what is installed on "
    "the host, or in the cluster, does not change that. Make sure that docker run --rm --gpus all ubuntu nvidia-smi "
    "works on the host. Then create the cluster again with the GPU; this deletes the present one with everything in "
    "it. minikube enables the device plugin by itself, and the last command shows the GPU."
)


def of_minikube(environment: Environment) -> Remedy:
    """A cluster whose node is a container: started again with the GPU."""
    return remedy(environment, _OF_MINIKUBE, "minikube-with-gpus", "gpus-of-nodes")


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
    "Pods get the GPU through the RuntimeClass nvidia, which the GPU operator has created (first command): add "
    "runtimeClassName: nvidia to the pod's spec, next to containers, and create the pod again from its manifest, FILE. "
    "To make nvidia the default for pods without it, the toolkit's variable CONTAINERD_CONFIG must name the template "
    "next to config.toml (config.toml.tmpl, or config-v3.toml.tmpl with containerd 2): {title} writes config.toml "
    "itself at each start, and what the operator adds there is lost. Restart {title} on the node after that change."
)


def by_runtime_class(environment: Environment) -> Remedy | None:
    """On k3s and RKE2, which find the toolkit by themselves and need a RuntimeClass; None on other nodes."""
    names = managers(environment)
    title, restart = next((words for name, words in _OF_NODES.items() if name in names), ("", ""))
    if not title:
        return None
    if "gpu-operator" in names:  # which brings the toolkit, the RuntimeClass, and the device plugin itself
        return remedy(environment, _BY_OPERATOR.format(title=title), "class-in-pod")
    there = toolkit_there(environment)
    first = "" if there else "Install the NVIDIA Container Toolkit on the node. "
    helm = seen(environment, _ID, "detail-helm", "detail-helm-release")
    release, namespace = named(helm, "release"), named(helm, "namespace")
    plugin = (
        "last command, which keeps the other values of your Helm release"
        if release and namespace
        else "last command; its DaemonSet may have another name"
    )
    given = remedy(
        environment,
        f"{first}{title} has its own containerd, which ignores /etc/containerd/config.toml: at each start, it adds a "
        "runtime named nvidia if it finds the toolkit. Pods only use it through a RuntimeClass: create it, and set "
        f"runtimeClassName: nvidia for the device plugin ({plugin}) and, next to containers, in every pod that needs "
        "a GPU.",
        *(() if there else ("container-toolkit", restart)),
        "runtime-class",
        *(() if release and namespace else ("class-for-plugin",)),
    )
    if not (release and namespace):
        return given
    chart = named(helm, "chart") or "nvdp/nvidia-device-plugin"
    upgrade = run(
        *("helm", "upgrade", NAME(release), IMAGE(chart), "--namespace", NAME(namespace)),
        *(("--version", VERSION(version)) if (version := named(helm, "version")) else ()),
        *("--reuse-values", "--set", "runtimeClassName=nvidia"),
    )
    return Remedy(given.advice, (*given.steps, upgrade))


_BY_HAND = (
    "Docker has the runtime nvidia, but starts pods with its default runtime, runc, so that no pod, not even the "
    "device plugin's, gets the driver. On each GPU node, make nvidia the default: the first command adds the line "
    '"default-runtime": "nvidia" to /etc/docker/daemon.json and keeps the old file as daemon.json.bak; the second '
    "prints the file if it is still valid (do not restart Docker otherwise). Then delete the plugin's pods, which "
    "their DaemonSet creates again; the last command shows the GPUs."
)
_OF_ENGINE = {
    "runtime-docker-default": "Make nvidia the default runtime of Docker, which runs the pods, on each GPU node, and "
    "restart Docker; then restart the device plugin.",
    "runtime-containerd-default": "Make nvidia the default runtime of containerd on each GPU node, and restart "
    "containerd, which leaves running pods alone; then restart the device plugin. To keep runc as the default instead, "
    "create a RuntimeClass with the handler nvidia, and set runtimeClassName: nvidia for the device plugin and in each "
    "pod that needs a GPU.",
}
_ASK_PLUGIN = (
    "The device plugin's log says why (first command, if it is NVIDIA's usual DaemonSet). If it could not load NVML, "
    "the node's engine starts it without NVIDIA's runtime: run the other commands, the first ones on the GPU node. If "
    "there is no such pod, install the plugin. For anything else, add the log to the input and run envkit again."
)
_OR_DOCKER = " If the kubelet uses Docker, write docker in place of containerd in these commands."
_ON_NODE = ("told-node", "told-node-zero", "capacity-zero")  # messages of a node, which show nothing of the plugin


def on_node(environment: Environment) -> Remedy:
    """The kubelet starts pods with the default runtime of its engine: containerd, unless Docker is named."""
    engine = environment.containers.docker.value
    runs = engine is not None and "nvidia" in engine.runtimes and engine.default_runtime != "nvidia"
    if runs or (engine is None and seen(environment, _ID, "detail-registered")):
        return remedy(
            environment, _BY_HAND, "runtime-default-by-hand", "restart-docker", "restart-plugin-pods", "gpus-of-nodes"
        )
    action = "runtime-docker-default" if _by_docker(environment) else "runtime-containerd-default"
    namespace = named(seen(environment, _ID, "detail-helm"), "namespace")
    only_node = variants_of(seen(environment, _ID)) <= frozenset(_ON_NODE)
    either = "" if _by_docker(environment) or toolkit_there(environment) else _OR_DOCKER
    given = remedy(
        environment,
        f"{_ASK_PLUGIN if only_node else _OF_ENGINE[action]}{either}",
        *(("plugin-log",) if only_node else ()),
        *(() if toolkit_there(environment) else ("container-toolkit",)),
        action,
        *(() if namespace else ("restart-device-plugin",)),
    )
    if not namespace:
        return given
    restart = run("kubectl", "-n", NAME(namespace), "rollout", "restart", "daemonset")
    return Remedy(given.advice, (*given.steps, restart))


def toolkit_there(environment: Environment) -> bool:
    """Whether the node has the toolkit, by its package, an engine that knows its runtime, or a container with a GPU."""
    engine = environment.containers.docker.value
    return (
        bool(seen(environment, _ID, "detail-runtime-there", "detail-toolkit-there", "detail-toolkit-used"))
        or environment.containers.container_toolkit.known
        or (engine is not None and "nvidia" in engine.runtimes)
    )


def _by_docker(environment: Environment) -> bool:
    """Whether the engine of a node is Docker, as its own messages or settings show."""
    told = any("docker:" in message.text for message in seen(environment, _ID))
    return told or environment.containers.docker.known or bool(seen(environment, _ID, "detail-docker-node"))
