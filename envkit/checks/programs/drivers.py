"""What reports say about the driver and no fact shows: OpenCL without a platform, a module that crashed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import appliance, managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.remedies import remedy
from envkit.checks.programs.told import told_by_program
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix


def _loader(environment: Environment, matrix: Matrix) -> Remedy:
    given = remedy(
        environment,
        "Install OpenCL's loader and list the platforms. If NVIDIA's is not among them, the driver's OpenCL library "
        "is missing: check the directory in the last command for nvidia.icd. That file comes from libnvidia-compute "
        "on Ubuntu, nvidia-opencl-icd on Debian, opencl-nvidia on Arch, and xorg-x11-drv-nvidia-cuda on Fedora. In a "
        "Flatpak, update the runtime org.freedesktop.Platform.GL.nvidia to the version of the host's driver; in a "
        "container, create /etc/OpenCL/vendors/nvidia.icd with the line libnvidia-opencl.so.1.",
        "opencl-loader",
    )
    return Remedy(given.advice, (*given.steps, fixed("clinfo -l"), fixed("ls /etc/OpenCL/vendors")))


told_by_program(
    Fault(
        "opencl-not-found",
        "A program does not find the NVIDIA driver's OpenCL platform",
        impact="Programs that compute with OpenCL do not use the GPU; CUDA is not affected.",
        remedy=_loader,
    ),
    fix="Install OpenCL's loader and the driver's OpenCL library.",
    doc="""OpenCL programs find the NVIDIA driver's platform.

    They need the loader libOpenCL.so.1 and a file nvidia.icd that names the driver's library. Distributions
    package both separately from CUDA.
    """,
    rank=30,
    references=threads("FoldingAtHome/fah-issues#1379", "FoldingAtHome/fah-client-bastet#293"),
)
told_by_program(
    Fault(
        "driver-module-crashed",
        "The kernel crashed inside the NVIDIA driver's module",
        impact="The GPU, suspend, and often the whole machine cannot be used until it is restarted.",
        remedy="Save the log, restart, and install another release of the driver's branch, or boot the last kernel "
        "that worked. Search for the function in the RIP line, and report it to NVIDIA. If only suspend fails, unload "
        "nvidia_uvm before suspending.",
        actions=("bug-report", "reboot"),
    ),
    doc="""The kernel does not crash in the driver's module.

    An oops (NULL pointer, page fault, general protection fault) whose RIP is in nvidia, nvidia_uvm, nvidia_modeset, or
    nvidia_drm is a driver bug with this kernel; no setting fixes it.
    """,
    rank=31,
    references=threads("CachyOS/CachyOS-PKGBUILDS#1764"),
)


def _nothing_loaded(environment: Environment, matrix: Matrix) -> Remedy:
    """A container must not load modules at all; a machine must have unloaded the old ones."""
    if seen(environment, "installer-module-in-use", "detail-container"):
        return Remedy(
            "A container uses the kernel and the driver's modules of its host, so install only the libraries in it, in "
            "exactly the version of the host's driver (the first command prints it on the host).",
            (
                fixed("cat /proc/driver/nvidia/version"),
                fixed("sudo sh NVIDIA-Linux-x86_64-VERSION.run --no-kernel-module"),
            ),
        )
    return Remedy(
        "The old modules have to be unloaded before the installer can replace them. Save your work, log in on a text "
        "console or by SSH, and leave the desktop (first command; sudo systemctl isolate graphical.target brings it "
        "back). Stop containers and other programs that use the GPU, and nvidia-persistenced; the second command shows "
        "what is left. Then start the installer again; if a module still cannot be unloaded, restart into the text "
        "console. Where the distribution's packages installed the old driver, use these for the new one as well.",
        (
            fixed("sudo systemctl isolate multi-user.target"),
            fixed("sudo fuser -v /dev/nvidia0 /dev/nvidiactl"),
            fixed("sudo systemctl stop nvidia-persistenced"),
        ),
    )


told_by_program(
    Fault(
        "installer-module-in-use",
        "The driver's installer stops because the old driver is in use",
        impact="Nothing was installed or changed; the old driver stays as it is.",
        remedy=_nothing_loaded,
    ),
    fix="Leave the desktop and stop what uses the GPU, then start the installer; in a container, install no module.",
    doc="""No program uses the old driver while its installer (the .run file) replaces it.

    The installer unloads the modules first. A desktop, a persistence daemon, a container, or a program on the GPU keeps
    them loaded.
    """,
    rank=62,
    references=threads("canonical/lxd#5415"),
)
told_by_program(
    Fault(
        "operator-driver-beside-host",
        "The GPU operator tries to install a driver on a node whose own driver is in use",
        impact="The driver pod restarts again and again, and the operator's other pods wait for it.",
        remedy="Choose one driver. To keep the node's, upgrade the operator's Helm release with "
        "driver.enabled=false (first two commands; the first one lists its name, its namespace, and its chart, and "
        "--version with the number of that chart stays on it): the driver pod is then gone, and the toolkit and the "
        "device plugin use the node's driver. To let the operator manage the driver instead, remove the node's "
        "packages and restart the node before the operator starts. If the node has no driver of its own, a program "
        "still uses the GPU: drain the node.",
        steps=(
            fixed("helm list -A"),
            fixed("helm upgrade RELEASE nvidia/gpu-operator -n NAMESPACE --reuse-values --set driver.enabled=false"),
            fixed("kubectl get pods -A -o wide"),
        ),
    ),
    fix="Install the operator with driver.enabled=false, or remove the node's own driver.",
    doc="""On a node that has a driver, the GPU operator does not install another one.

    Its driver container unloads the driver's modules and loads its own. It cannot do so while a desktop, a
    persistence daemon, or another program on the node is using them.
    """,
    rank=32,
    references=threads("NVIDIA/gpu-operator#126", "NVIDIA/gpu-operator#327", "NVIDIA/gpu-operator#367"),
)


told_by_program(
    Fault(
        "toolkit-root-elsewhere",
        "The container runtime looks for the driver in a driver container's directory",
        impact="NVIDIA's runtime does not find the driver's libraries, and no container gets a GPU.",
        remedy="root = /run/nvidia/driver is for a driver that the GPU operator's own container installs. If this node "
        "has its driver on the host (the first command shows it), reinstall or upgrade the operator with "
        "--set driver.enabled=false, and delete the node's toolkit pod, which then rewrites the file. Without an "
        "operator, set root to / and ldconfig to @/sbin/ldconfig (Ubuntu and Debian: @/sbin/ldconfig.real) in the "
        "section nvidia-container-cli of config.toml. If the operator is to provide the driver, its driver pod is "
        "not ready: look at that one first.",
        steps=(fixed("nvidia-smi"), fixed("ls /run/nvidia/driver"), fixed("kubectl get pods -A -o wide")),
    ),
    fix="Let the operator use the host's driver (driver.enabled=false), or set root to / in config.toml.",
    doc="""The container runtime's configuration names the directory that contains the driver.

    The GPU operator writes the directory of its own driver container into it. On a node whose driver is installed on
    the host, nothing is there.
    """,
    rank=61,
    references=threads("NVIDIA/nvidia-container-toolkit#154"),
)


def _for_kernel(environment: Environment, package: str) -> Remedy:
    """Compiled modules of Ubuntu, which are for its own kernels alone: in the operator's driver container, or here."""
    if "talos" in package or appliance(environment) == "talos":
        return Remedy(
            "The operator's driver container asks Ubuntu for modules of Talos's kernel, which do not exist: it cannot "
            "install a driver on Talos. Build the node's image with the system extensions for the driver "
            "(nvidia-open-gpu-kernel-modules or nonfree-kmod-nvidia) and nvidia-container-toolkit of one branch, load "
            "the modules nvidia, nvidia_uvm, nvidia_drm, and nvidia_modeset under machine.kernel.modules, and set "
            "driver.enabled=false and toolkit.enabled=false in the operator's values.",
            (fixed("helm list -A"), fixed("talosctl -n NODE get extensions")),
        )
    if managed_by(environment, "kubernetes", "gpu-operator"):
        return Remedy(
            "The operator's driver container asks Ubuntu for compiled modules of the node's kernel, and there are "
            "none: set driver.usePrecompiled=false, so that it compiles them (the kernel's headers must be "
            "available), boot the node with a kernel for which Ubuntu has them, or install the driver on the node and "
            "set driver.enabled=false.",
            (fixed("kubectl get nodes -o wide"), fixed("helm list -A")),
        )
    return Remedy(
        "Ubuntu has compiled driver modules only for its own kernels and for the branches that its security team "
        "still builds: the first command lists what there is for this kernel. If nothing is listed, boot a kernel of "
        "Ubuntu that has them, or install the branch's nvidia-dkms package, which compiles them here.",
        (fixed("apt-cache search linux-modules-nvidia"), fixed("uname -r")),
    )


def _repository(environment: Environment, matrix: Matrix) -> Remedy:
    """What adds the repository of the package that was asked for."""
    package = named(seen(environment, "package-not-offered"), "package") or ""
    if seen(environment, "package-not-offered", "kernel-modules"):
        return _for_kernel(environment, package)
    if package.startswith(("nvidia-container", "libnvidia-container", "nvidia-docker")):
        return remedy(
            environment,
            "The distribution does not have this package: add the NVIDIA Container Toolkit's repository first, update "
            "the package lists, and install it then. nvidia-docker2 is obsolete; the toolkit replaces it.",
            "container-toolkit",
        )
    return Remedy(
        "The package lists of this system do not have it: update them, and search for the names that they have. "
        "Drivers: Debian needs the components contrib and non-free (and non-free-firmware), Fedora RPM Fusion, Arch "
        "the AUR for old branches, Ubuntu restricted, and releases offer only some branches. CUDA packages "
        "(cuda-toolkit-X-Y, cuDNN, NCCL, DCGM) need NVIDIA's repository for this very release of the system.",
        (fixed("apt-cache search nvidia-driver"),),
    )


told_by_program(
    Fault(
        "package-not-offered",
        "The repositories of this system do not offer the package",
        impact="It cannot be installed under this name from here.",
        remedy=_repository,
    ),
    fix="Add the repository that has the package, or install one that is offered.",
    doc="""A package of the driver, the container toolkit, or CUDA is in a repository that the system uses.

    Distributions offer some driver branches, none offers the container toolkit in its own repositories, and NVIDIA's
    repositories have packages only for the releases that they name.
    """,
    rank=45,
    explained_by=("repository-key-replaced",),
    references=threads("NVIDIA/nvidia-container-toolkit#97", "NVIDIA/nvidia-docker#1731"),
)
