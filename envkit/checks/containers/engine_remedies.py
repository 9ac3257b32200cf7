"""What fixes an engine of its own kind: the snap of Kubernetes, Docker Desktop, a toolkit that cannot run ldconfig."""

from __future__ import annotations

from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy

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
