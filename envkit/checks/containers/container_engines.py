"""Container engines on a host: can they give GPUs to containers?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.containers.cdi_remedies import specification
from envkit.checks.containers.engine_remedies import (
    DESKTOP_IN_WSL,
    IN_TEMPLATE,
    LDCONFIG,
    MICROK8S,
    THROUGH_RUNTIME,
    engine_beside_desktop,
    engine_in_place_of_snap,
    of_enroot,
    of_jetpack,
    program_missing,
    toolkit_for_docker,
    with_program,
    without_label,
)
from envkit.checks.containers.node_remedies import (
    by_runtime_class,
    look_at_nodes,
    of_minikube,
    on_node,
    without_cgroups,
)
from envkit.checks.engine.evidence import kind, known
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import message_evidence, seen, variants_of
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.installs import gpu_present
from envkit.checks.nvidia_driver.driver_state import answered
from envkit.model import DockerEngine, Environment, MachineKind, Message

if TYPE_CHECKING:
    from envkit.tables import Matrix

_NO_FREE_GPU = "Kubernetes finds no free NVIDIA GPU for the pod"
_NO_NODE = "No Kubernetes node offers its GPU"
_NO_MODULE = ("kernel-headers-missing", "dkms-build-failed", "module-missing-for-running-kernel")
_DRIVER_FIRST = Remedy(
    "Fix the driver problem first: without its kernel module there are no device files for a container, and a node "
    "advertises no GPU."
)
_OF_KUBERNETES = {  # what its messages are, and what they show: none of them speaks of Docker
    _NO_FREE_GPU: frozenset({"insufficient", "told-insufficient"}),
    _NO_NODE: frozenset({"told-node", "told-node-zero", "capacity-zero"}),
    "The Kubernetes device plugin cannot reach the GPU": frozenset(
        {"device-plugin", "plugin", "plugin-nvml", "plugin-platform", "told-load-nvml", "told-find-library"}
    ),
    "The container engine of a Kubernetes node has no NVIDIA runtime": frozenset(
        {"kubernetes", "runtime-class", "runtime-handler", "told-runtimeclass"}
    ),
}

_DESKTOP = regex(r"docker desktop", re.IGNORECASE)


def _in_container(environment: Environment) -> bool:
    return kind(environment) is MachineKind.CONTAINER


_OF_SNAP = {
    "snap-path",
    "told-snap",
    "told-snap-list",
    "told-snap-installed",
}  # messages that tell of the snap, and not of Docker Desktop


def _docker(environment: Environment) -> DockerEngine | None:
    return environment.containers.docker.value if environment.containers.docker.known else None


def _in_cluster(messages: tuple[Message, ...]) -> str:
    """The fault as Kubernetes shows it, '' where a message is of Docker; the most exact words first."""
    variants = variants_of(messages)
    if not variants <= frozenset().union(*_OF_KUBERNETES.values()):
        return ""
    return next((title for title, own in reversed(_OF_KUBERNETES.items()) if variants & own), "")


def _cdi_specs(environment: Environment) -> tuple[str, ...]:
    return environment.containers.cdi_specs.get() if environment.containers.cdi_specs.known else ()


_BY_MANAGER: dict[str, Callable[[Environment], Remedy]] = {
    "microk8s": lambda environment: MICROK8S,
    "minikube": of_minikube,
    "unraid": lambda environment: IN_TEMPLATE,
}


def _configure(environment: Environment, matrix: Matrix) -> Remedy:
    """Let the toolkit configure the engine; install it first where it is not there."""
    names = managers(environment)
    if by_words := _of_the_words(environment):
        return by_words
    if give := next((give for name, give in _BY_MANAGER.items() if name in names), None):
        return give(environment)
    engine = _docker(environment)
    if engine is not None and _DESKTOP.search(engine.operating_system) and kind(environment) is MachineKind.WSL2:
        return DESKTOP_IN_WSL
    if kind(environment) is MachineKind.JETSON:
        return of_jetpack(environment)
    if _only_no_free_gpu(environment):
        return look_at_nodes(environment)
    if program_missing(environment):
        return with_program(environment)
    if own := by_runtime_class(environment):
        return own
    if "kubernetes" in names or _in_cluster(seen(environment, _NO_RUNTIME.id)):
        return on_node(environment)
    return toolkit_for_docker(environment)


def _of_the_words(environment: Environment) -> Remedy | None:
    """The remedy of a message that has only one, whatever else is known."""
    if seen(environment, "docker-no-nvidia-runtime", "ldcache"):
        return LDCONFIG
    if seen(environment, "docker-no-nvidia-runtime", "hook-direct"):
        return THROUGH_RUNTIME
    return of_enroot(environment) if seen(environment, "docker-no-nvidia-runtime", "detail-enroot") else None


def _only_no_free_gpu(environment: Environment) -> bool:
    """Whether the scheduler's line is all that is shown of a cluster, and no node that offers none of its GPUs."""
    heard = variants_of(seen(environment, "docker-no-nvidia-runtime"))
    nodes = environment.containers.node_devices.value or ()
    return heard == {"insufficient"} and not any(one.capacity and not one.allocatable for one in nodes)


def _tells_of_snap(environment: Environment) -> bool:
    """Whether the messages are of the snap alone."""
    told = variants_of(seen(environment, "docker-from-snap-or-desktop"))
    return bool(told) and told <= _OF_SNAP


def _plain_engine(environment: Environment, matrix: Matrix) -> Remedy:
    engine = _docker(environment)
    if (engine is not None and engine.snap) or _tells_of_snap(environment):
        return engine_in_place_of_snap(environment)
    return engine_beside_desktop(environment)


_NO_RUNTIME = Fault(
    "docker-no-nvidia-runtime",
    "Docker cannot give containers access to the GPU",
    impact="Containers cannot use the GPU.",
    remedy=_configure,
)
_OTHER_DOCKER = Fault(
    "docker-from-snap-or-desktop",
    "Docker Desktop or the Docker snap has no access to the GPU",
    impact="Containers cannot use the GPU, although the NVIDIA Container Toolkit is configured.",
    remedy=_plain_engine,
)
_NO_CDI = Fault(
    "cdi-unresolvable",
    "The container engine finds no CDI device for the GPU",
    impact="Containers that ask for the GPU do not start.",
    remedy=specification,
)
_NO_CGROUPS = Fault(
    "rootless-cgroups",
    "The rootless engine is not allowed to set device rules",
    impact='GPU containers fail to start with "operation not permitted".',
    remedy=without_cgroups,
)
_SELINUX = Fault(
    "selinux-blocks-device",
    "SELinux blocks the container's access to the GPU",
    impact="Inside the container, NVML reports insufficient permissions.",
    remedy=without_label,
)


@check(
    _NO_RUNTIME,
    layer=Layer.PLACE,
    tier="C",
    rank=30,
    any_of=("containers.docker", "containers.container_toolkit", "messages"),
    explained_by=(
        "docker-from-snap-or-desktop",
        "mig-enabled-no-instance",
        "no-gpu-on-pci",
        "driver-library-mismatch",
        "driver-dropped-gpu",
        "open-module-on-pre-turing",
        "gpu-fallen-off-bus",
        "operator-driver-beside-host",
        "toolkit-root-elsewhere",
    ),
    fix="Install the NVIDIA Container Toolkit, configure Docker with it, and restart Docker.",
    references=threads("NVIDIA/nvidia-docker#1034", "NVIDIA/nvidia-docker#1243", "infiniflow/ragflow#9573"),
)
def docker_no_nvidia_runtime(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On a machine with a GPU, Docker can give containers access to it: through NVIDIA's hook, its runtime, or CDI.

    Without any of them, `docker run --gpus all` stops with "could not select device driver".
    """
    engine, toolkit = _docker(environment), environment.containers.container_toolkit
    evidence = [
        known(
            environment, "containers.docker", f"runtimes: {', '.join(engine.runtimes) or 'none'}" if engine else None
        ),
        known(environment, "containers.container_toolkit"),
    ]
    if messages := seen(environment, _NO_RUNTIME.id):
        shown, title = [*message_evidence(environment, messages), *evidence], _in_cluster(messages)
        of_driver = title == _NO_FREE_GPU or variants_of(messages) == {"custom-device"}
        if of_driver and any(seen(environment, id) for id in _NO_MODULE):  # noqa: A001 - as in reports
            yield _NO_RUNTIME.found(shown, title=title, remedy=_DRIVER_FIRST, status=Status.WARN)
        else:
            yield _NO_RUNTIME.found(shown, title=title)
    elif _in_container(environment):
        yield skip("inside a container; its engine is configured on the host")
    elif engine is None:
        yield skip("Docker is not running here", evidence=[known(environment, "containers.docker")])
    elif "nvidia" in engine.runtimes or _cdi_specs(environment):
        yield ok("Docker has NVIDIA's runtime or a CDI specification", evidence=evidence)
    elif toolkit.known:
        yield ok("the NVIDIA Container Toolkit is installed, which provides --gpus", evidence=evidence)
    elif not gpu_present(environment):
        yield skip("no GPU was found that containers could use", evidence=evidence)
    elif toolkit.absent:
        impact = f"{_NO_RUNTIME.impact} Programs on the host are not affected."
        yield _NO_RUNTIME.found(evidence, impact=impact, status=Status.WARN)
    else:
        yield unknown("cannot tell whether the NVIDIA Container Toolkit is installed", evidence=evidence)


@check(
    _OTHER_DOCKER,
    layer=Layer.PLACE,
    tier="C",
    rank=20,
    any_of=("containers.docker", "messages"),
    fix="Install Docker Engine from Docker's packages and use the context `default`.",
    references=threads(
        *("NVIDIA/nvidia-docker#1637", "NVIDIA/nvidia-docker#1311", "NVIDIA/nvidia-docker#1591"),
        "canonical/docker-snap#161",
    ),
)
def docker_from_snap_or_desktop(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Docker is installed as Docker Engine, not as the snap or Docker Desktop.

    The snap is confined and has its own configuration; Docker Desktop for Linux runs in a virtual machine that has no
    GPU.
    """
    engine = _docker(environment)
    title = "The Docker snap has no access to the GPU" if _tells_of_snap(environment) else ""
    if reported := _OTHER_DOCKER.reported(environment, title=title):
        yield reported
    elif engine is None:
        yield skip("Docker is not running here", evidence=[known(environment, "containers.docker")])
    elif kind(environment) is MachineKind.WSL2:
        yield skip("on Windows, Docker Desktop reaches the GPU through WSL 2")
    elif engine.snap or _DESKTOP.search(engine.operating_system):
        name = "snap" if engine.snap else "Docker Desktop"
        tried = seen(environment, "docker-no-nvidia-runtime")
        evidence = [known(environment, "containers.docker", f"{name}: {engine.operating_system or engine.root_dir}")]
        if tried or gpu_present(environment):
            yield _OTHER_DOCKER.found(
                [*evidence, *message_evidence(environment, tried)],
                title=f"Docker comes from {name}, which has no access to the GPU",
                status=Status.FAIL if tried else Status.WARN,
            )
        else:
            yield skip(f"Docker comes from {name}; no GPU was seen", evidence=evidence)
    else:
        yield ok(
            "Docker is installed as Docker Engine",
            evidence=[known(environment, "containers.docker", engine.operating_system or "engine")],
        )


@check(
    _NO_CDI,
    layer=Layer.PLACE,
    rank=32,
    any_of=("containers.cdi_specs", "containers.cdi_missing_paths", "messages"),
    fix="Regenerate the CDI specification; the toolkit's cdi-refresh service does so after upgrades.",
    references=threads(
        "NVIDIA/nvidia-container-toolkit#146", "NVIDIA/nvidia-container-toolkit#1239", "NixOS/nixpkgs#420638"
    ),
)
def cdi_unresolvable(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """If there is a CDI specification for nvidia.com/gpu, every file it names exists."""
    missing = environment.containers.cdi_missing_paths
    if messages := seen(environment, _NO_CDI.id):
        yield _NO_CDI.found([*message_evidence(environment, messages), known(environment, "containers.cdi_specs")])
    elif missing.known and missing.get():
        yield _NO_CDI.found(
            [
                known(environment, "containers.cdi_missing_paths", ", ".join(missing.get()[:3])),
                known(environment, "containers.cdi_specs"),
            ],
            title=f"The CDI specification lists files that no longer exist: {missing.get()[0]}",
            impact="Containers that ask for the GPU through CDI do not start, usually because the driver was upgraded.",
        )
    elif _cdi_specs(environment):
        yield ok("all files in the CDI specification exist", evidence=[known(environment, "containers.cdi_specs")])
    else:
        yield skip(
            "no CDI specification for GPUs; engines with NVIDIA's hook need none",
            evidence=[known(environment, "containers.cdi_specs")],
        )


@check(
    _NO_CGROUPS,
    layer=Layer.PLACE,
    rank=34,
    any_of=("containers.docker", "messages"),
    fix="Use CDI, or set no-cgroups = true in the NVIDIA Container Toolkit's configuration.",
    references=threads("NVIDIA/nvidia-container-toolkit#85", "NVIDIA/libnvidia-container#154"),
)
def rootless_cgroups(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A rootless engine uses CDI, or NVIDIA's hook is configured to leave device cgroups alone."""
    engine = _docker(environment)
    config = environment.containers.toolkit_config
    no_cgroups = (
        next((value.strip('" ').lower() for key, value in config.get().items() if key.endswith("no-cgroups")), "false")
        if config.known
        else None
    )
    evidence = [
        known(environment, "containers.docker", "rootless" if engine and engine.rootless else "not rootless"),
        known(environment, "containers.toolkit_config", f"no-cgroups = {no_cgroups}"),
    ]
    if reported := _NO_CGROUPS.reported(environment):
        yield reported
    elif engine is None or not engine.rootless:
        yield skip("no rootless Docker here", evidence=evidence[:1])
    elif no_cgroups is None:
        yield skip("NVIDIA's container configuration was not found", evidence=evidence[:1])
    elif no_cgroups == "true" or _cdi_specs(environment):
        yield ok("the rootless engine needs no device rules", evidence=evidence)
    else:
        title = "Docker is rootless, and NVIDIA's hook still sets device cgroups"
        yield _NO_CGROUPS.found(evidence, title=title, status=Status.WARN)


@check(
    _SELINUX,
    layer=Layer.PLACE,
    rank=36,
    any_of=("system.selinux", "messages"),
    explained_by=("device-nodes-missing",),
    fix="Run with --security-opt=label=disable, or allow containers to use devices.",
    references=threads("NVIDIA/nvidia-container-toolkit#580", "NVIDIA/nvidia-container-toolkit#210"),
)
def selinux_blocks_device(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """SELinux lets containers open the GPU's device files."""
    enforcing = environment.system.selinux.known and environment.system.selinux.get() == "enforcing"
    refused = answered(environment, "nvml", "NO_PERMISSION")
    if reported := _SELINUX.reported(environment):
        yield reported
    elif enforcing and _in_container(environment) and refused:
        yield _SELINUX.found([known(environment, "system.selinux"), *refused])
    elif enforcing and environment.containers.podman.known:
        yield ok(
            "SELinux is enforcing: GPU containers need --security-opt=label=disable or container_use_devices",
            evidence=[known(environment, "system.selinux"), known(environment, "containers.podman")],
        )
    elif environment.system.selinux.known:
        yield skip(
            f"SELinux is {environment.system.selinux.get()}, and nothing was denied",
            evidence=[known(environment, "system.selinux")],
        )
    else:
        yield skip("SELinux is not used here", evidence=[known(environment, "system.selinux")])
