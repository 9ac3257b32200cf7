"""What fixes an engine of its own kind: the snap of Kubernetes, Docker Desktop, a toolkit that cannot run ldconfig."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import Command, fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import seen, variants_of
from envkit.checks.engine.remedies import remedy
from envkit.checks.frameworks.installs import gpu_present
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "docker-no-nvidia-runtime"
_RUNTIME = "nvidia-container-runtime"
_HOOK = f"{_RUNTIME}-hook"

MICROK8S = Remedy(
    "MicroK8s runs its own containerd, which ignores /etc/docker/daemon.json; the gpu addon configures it. Disable "
    "the addon and enable it again. If the runtime is still unknown, this release of the snap does not include it: "
    "refresh the snap (snap info microk8s lists the channels). Until then, pods that request a GPU stay pending.",
    (
        fixed("microk8s disable gpu"),
        fixed("microk8s enable gpu"),
        fixed("microk8s kubectl get runtimeclass"),
    ),
)


IN_TEMPLATE = Remedy(
    "On Unraid, the container's template starts it: Docker tab, the container, Edit, Advanced View; add "
    "--runtime=nvidia to Extra Parameters in place of --gpus, set the variables NVIDIA_VISIBLE_DEVICES (all, or the "
    "GPU's UUID) and NVIDIA_DRIVER_CAPABILITIES (all), and press Apply, which creates the container again. If the "
    "runtime nvidia is unknown, restart Docker (Settings > Docker) after the installation of the Nvidia-Driver plugin."
)


DESKTOP_IN_WSL = Remedy(
    "These containers run in Docker Desktop's own virtual machine: a container toolkit inside the WSL distribution has "
    "no effect on it. Current releases of Docker Desktop support GPUs through WSL 2: update it in a Windows terminal, "
    "start it, and check. Or install Docker Engine inside the distribution, and turn off Docker Desktop's integration "
    "with it (Settings > Resources > WSL integration).",
    (
        fixed("winget upgrade --id Docker.DockerDesktop"),
        fixed("docker run --rm --gpus all ubuntu nvidia-smi"),
    ),
)


THROUGH_RUNTIME = Remedy(
    "The toolkit runs in a mode (csv on Jetson, cdi elsewhere) in which --gpus cannot be used: start the container "
    "with --runtime=nvidia instead (in a compose file: runtime: nvidia, without the device reservation), or request "
    "CDI devices. To have --gpus back on a machine with a regular driver, set the mode to auto or legacy (the second "
    "command shows where), and restart Docker.",
    (
        fixed("docker run --rm --runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all IMAGE nvidia-smi"),
        fixed("grep -n mode /etc/nvidia-container-runtime/config.toml"),
    ),
)
LDCONFIG = Remedy(
    "The toolkit runs the host's ldconfig in the container, and that failed. The line `ldconfig =` of its settings "
    'must name the one that is there: "@/sbin/ldconfig.real" on Ubuntu and Debian, "@/sbin/ldconfig" elsewhere. If it '
    "does, update the toolkit. A kernel built without seccomp, and an image that replaces /sbin/ldconfig or whose "
    "/etc/ld.so.cache cannot be written, cause the same message: try another image.",
    (
        fixed("ls -l /sbin/ldconfig /sbin/ldconfig.real"),
        fixed("grep ldconfig /etc/nvidia-container-runtime/config.toml"),
    ),
)


_CONFIGURE = fixed("sudo nvidia-ctk runtime configure --runtime=docker")
_RESTART = fixed("sudo systemctl restart docker")
_AS_ROOT = fixed("sudo docker run --rm --gpus all ubuntu nvidia-smi")  # a new group counts from the next login on


def of_jetpack(environment: Environment) -> Remedy:
    """On a Jetson, the runtime and the lists of what it mounts come from the board's own repository."""
    engine = environment.containers.docker.value
    if engine is not None and "nvidia" in engine.runtimes:
        return remedy(
            environment,
            "Docker has the runtime nvidia, but builds with its default runtime, runc, so that the build steps get "
            "none of the libraries that the board provides. Make nvidia the default: the first command adds the line "
            '"default-runtime": "nvidia" to /etc/docker/daemon.json and keeps the old file as daemon.json.bak; the '
            "second prints the file if it is still valid (do not restart Docker otherwise). Then build the image "
            "again. BuildKit ignores the default runtime: set DOCKER_BUILDKIT=0 for docker build if it is in use.",
            "runtime-default-by-hand",
            "restart-docker",
        )
    board = environment.system.l4t_release.value
    by_file = board is not None and board < limit("l4t-with-nvidia-ctk")  # its runtime package writes daemon.json
    configure: tuple[Command, ...] = () if by_file else (_CONFIGURE,)
    return Remedy(
        "On a Jetson, the container runtime is part of JetPack: install it from the board's own repository, which "
        "also brings the lists of the libraries that containers get from the board (on JetPack 4, CUDA, cuDNN, and "
        "TensorRT, too). The packages for PCs lack these lists. Then restart Docker; `docker info` lists the runtime "
        "nvidia. Restart running containers yourself.",
        (
            fixed("sudo apt-get update"),
            fixed("sudo apt-get install -y nvidia-jetpack"),
            *configure,
            _RESTART,
        ),
    )


def of_enroot(environment: Environment) -> Remedy:
    """Enroot needs no Docker and no runtime, only the program that its hook calls."""
    given = remedy(
        environment,
        "Enroot's GPU hook calls nvidia-container-cli, which this node lacks: install the NVIDIA Container Toolkit on "
        "every GPU node (its package libnvidia-container-tools, which contains the program, is enough). The driver is "
        "fine, and Docker is not needed. The last command checks it.",
        "container-toolkit",
    )
    return Remedy(given.advice, (*given.steps, fixed("nvidia-container-cli info")))


_SNAP_KEPT = (fixed("sudo snap save docker"), fixed("sudo snap remove docker"))
_OF_SNAP = (
    "This removes the snap's images, containers, and volumes; the first command keeps a copy of its data (`snap saved` "
    "lists it)."
)


def engine_in_place_of_snap(environment: Environment) -> Remedy:
    """Docker Engine with the toolkit instead of the snap, which reads none of the host's configuration."""
    if seen(environment, "docker-from-snap-or-desktop", "detail-engine-too"):
        return Remedy(
            "Docker Engine (docker-ce) is also installed and configured for the GPU, but docker talks to the snap's "
            f"daemon. Remove the snap, and restart Docker Engine. {_OF_SNAP}",
            (*_SNAP_KEPT, fixed("sudo systemctl enable docker"), _RESTART, _AS_ROOT),
        )
    given = remedy(
        environment,
        "The snap is confined: it uses neither the host's /etc/docker/daemon.json nor the host's NVIDIA Container "
        "Toolkit. Replace it with Docker Engine, which the toolkit can configure; the last command then shows the GPU. "
        f"{_OF_SNAP} To keep the snap instead, update it (sudo snap refresh docker) and use its own nvidia runtime "
        "(docker run --runtime=nvidia --gpus all), which current releases set up if the host's driver works.",
        *(() if environment.containers.container_toolkit.known else ("container-toolkit",)),
        "install",
        packages="docker.io",
    )
    return Remedy(given.advice, (*_SNAP_KEPT, *given.steps, _CONFIGURE, _RESTART, _AS_ROOT))


def engine_beside_desktop(environment: Environment) -> Remedy:
    """Docker Engine with the toolkit, and the client pointed to it."""
    told = seen(environment, "docker-from-snap-or-desktop", "detail-toolkit")
    there = environment.containers.container_toolkit.known or bool(told)
    given = remedy(
        environment,
        "Docker Desktop runs containers in a virtual machine that has no GPU, whatever is installed on the host. "
        "Switch to Docker Engine: the first command installs it from Docker's repository, which came with Docker "
        "Desktop, if it is missing. Then let the toolkit configure it, and select its context; images and volumes of "
        "Docker Desktop stay there.",
        "docker-engine",
        *(() if there else ("container-toolkit",)),
    )
    return Remedy(
        given.advice,
        (
            *given.steps,
            _CONFIGURE,
            _RESTART,
            fixed("docker context use default"),
            fixed("docker run --rm --gpus all ubuntu nvidia-smi"),
        ),
    )


_GPUS_INSTEAD = (
    "If the NVIDIA Container Toolkit is installed already, docker run takes --gpus all in place of --runtime=nvidia "
    "(Docker {release} and later), which needs no registered runtime. Otherwise, or for runtime: nvidia in a Compose "
    "file: "
)
_INSTALL = (
    "nstall the NVIDIA Container Toolkit from NVIDIA's repository, configure Docker with it, and restart Docker; "
    "docker run --rm --gpus all ubuntu nvidia-smi must then list the GPU."
)
_NO_GPU = (
    " If this machine has no NVIDIA GPU, or the service does not need one, remove the request instead: --gpus, or "
    "deploy.resources.reservations.devices in the Compose file."
)
_APT_FAILED = (
    " apt-get update failed because of another repository, so the installation after && was skipped: run these "
    "commands one after the other, and ignore that error."
)


def toolkit_for_docker(environment: Environment) -> Remedy:
    """The toolkit for a Docker outside of clusters: configured, and installed first where it is not there."""
    told = variants_of(seen(environment, _ID))
    if environment.containers.container_toolkit.known:
        advice = "Configure Docker with the NVIDIA Container Toolkit, then restart Docker."
        return Remedy(advice, (_CONFIGURE, _RESTART))
    failed = _APT_FAILED if seen(environment, _ID, "detail-apt-failed") else ""
    unseen = environment.pasted and not gpu_present(environment) and not environment.driver.user_space.known
    by_name = told == {"runtime-name"}
    first = f"{_GPUS_INSTEAD.format(release=limit('docker-with-gpus'))}i" if by_name else "I"
    advice = f"{first}{_INSTALL}{failed}{_NO_GPU if unseen and not by_name else ''}"
    given = remedy(environment, advice, "container-toolkit")
    return Remedy(given.advice, (*given.steps, _CONFIGURE, _RESTART))


def program_missing(environment: Environment) -> bool:
    """Whether Docker's own settings name the runtime's program, and it is not installed."""
    lines = seen(environment, _ID, "hook")
    return any(_RUNTIME in message.text and _HOOK not in message.text for message in lines)


def with_program(environment: Environment) -> Remedy:
    """The package that has the program which daemon.json names: the file itself is right."""
    given = remedy(
        environment,
        "/etc/docker/daemon.json registers the runtime nvidia, but its program, nvidia-container-runtime, is not "
        "installed: the package was removed, or it is an old nvidia-container-toolkit, which has only the hook. "
        "Install the current NVIDIA Container Toolkit, which includes the program; daemon.json stays as it is. The "
        "last command must list the GPU.",
        "container-toolkit",
        "restart-docker",
    )
    return Remedy(given.advice, (*given.steps, fixed("docker run --rm --runtime=nvidia --gpus all ubuntu nvidia-smi")))


def without_label(environment: Environment, matrix: Matrix) -> Remedy:
    """A container that SELinux leaves alone, in the words of the engine that starts it."""
    started = environment.containers.started_by.value or ""
    by_podman = environment.containers.podman.known or "podman" in started
    start = (
        fixed("docker run --rm --security-opt label=disable IMAGE nvidia-smi")
        if managed_by(environment, "docker-run") and not by_podman
        else fixed("podman run --security-opt=label=disable --device nvidia.com/gpu=all IMAGE")
    )
    return Remedy(
        "Start the container without SELinux's labels: add --security-opt label=disable to your own command, as in the "
        "first one. To let all containers on this machine use devices instead, run the second one.",
        (start, fixed("sudo setsebool -P container_use_devices on")),
    )
