"""The driver as a whole: is it installed, is its kernel module loaded?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import NO_PCI_GPU, known, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import message_evidence, seen, variants_of
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows, remedy
from envkit.checks.gpu.gpus import reserved_for_vms
from envkit.checks.nvidia_driver.driver_state import CUDA, NVML, answered, cuda_works, has_library, loaded, mismatch
from envkit.checks.nvidia_driver.module_absent import not_loaded
from envkit.model import Environment
from envkit.model.observed import is_told

if TYPE_CHECKING:
    from envkit.tables import Matrix

_MODULE_CAUSES = (
    "no-gpu-on-pci",
    "gpu-fallen-off-bus",
    "optimus-gpu-off",
    "gpu-bound-to-vfio",
    "nouveau-loaded",
    "nova-core-bound",
    "kernel-headers-missing",
    "dkms-build-failed",
    "driver-repos-mixed",
    "module-missing-for-running-kernel",
    "secure-boot-unsigned-module",
    "driver-dropped-gpu",
    "open-module-on-pre-turing",
    "proprietary-module-on-blackwell",
    "vm-gpu-unsupported-by-release",
    "driver-not-installed",
    "libcuda-stub-loaded",
    "container-no-gpu-injected",
    "wsl-libcuda-missing",
    "wsl-driver-inside",
    "wsl1",
    "bar-not-assigned",
    "windows-gpu-stopped",
)


_FOR_BUILDS = Remedy(
    "If this is a login node or a build server without a GPU, nothing is missing: run the program on a machine that "
    "has one. If this machine does have a GPU, install its driver."
)
_NO_NVCC = {"nvcc-not-found", "complaint-nvcc", "told-nvcc", "nvcc-was-not-found", "localized"}  # no build shown


def _install(environment: Environment, matrix: Matrix) -> Remedy:
    if on_windows(environment):
        return Remedy("Install NVIDIA's driver for Windows, which includes nvidia-smi.")
    if "apptainer" in managers(environment):
        return Remedy(
            "Apptainer and Singularity make the host's driver available in a container only if it is started with "
            "--nv. If nvidia-smi also fails on the host, the driver is missing there.",
            (fixed("singularity exec --nv IMAGE nvidia-smi"),),
        )
    if "gke" in managers(environment):
        return _ON_GKE
    return remedy(
        environment,
        "Install the distribution's driver. If this machine already uses NVIDIA's repository or its .run installer, "
        "use that instead; never mix them.",
        "driver",
    )


_ON_GKE = Remedy(
    "GKE installs the driver on its nodes, but this node pool was made without that. For pools that you create, use "
    "--accelerator type=TYPE,count=1,gpu-driver-version=latest. For nodes that exist or that auto-provisioning makes, "
    "deploy Google's installer once, as below (Container-Optimized OS; for Ubuntu nodes, the manifest is "
    "nvidia-driver-installer/ubuntu/daemonset-preloaded.yaml of the same repository): its pods install the driver on "
    "each GPU node, and the device plugin then registers the GPUs.",
    (
        fixed(
            "kubectl apply -f https://raw.githubusercontent.com/GoogleCloudPlatform/container-engine-accelerators/"
            "master/nvidia-driver-installer/cos/daemonset-preloaded.yaml"
        ),
        fixed("kubectl -n kube-system get pods -l k8s-app=nvidia-driver-installer"),
    ),
)
_OF_THE_GUEST = Remedy(
    "The file with vgpu-kvm in its name is the host driver, which does not include CUDA. In the virtual machine, "
    "remove it and install the guest driver (the file whose name ends in -grid.run) of the same vGPU release. Do not "
    "install a newer branch: the guest driver has to match the host driver.",
    (fixed("sudo nvidia-uninstall"), fixed("sudo sh NVIDIA-Linux-x86_64-VERSION-grid.run")),
)
_FROM_SLURM = Remedy(
    "Login nodes usually have no GPU. Request one from Slurm, and run the program in that job. If nvidia-smi also "
    "fails in such a job, contact the cluster's administrators. Do not install a driver here.",
    (fixed("srun --gres=gpu:1 nvidia-smi"),),
)


def _load(environment: Environment, matrix: Matrix) -> Remedy:
    """By what installed the driver: NVIDIA's installer builds for the kernel that runs then, and for no later one."""
    if seen(environment, "driver-module-not-loaded", "relocation"):
        return Remedy(
            "The kernel refuses to load the module, because the two were not compiled with the same tools: a "
            "self-built kernel is often built with a different compiler, or with stale results from distcc or ccache. "
            "Compare the compiler and the linker that built the kernel (first command) with the current ones. Rebuild "
            "the kernel and then the module with the same tools, without distcc and ccache. Until then, boot one of "
            "the distribution's kernels, with which the module loads.",
            (fixed("cat /proc/version"), fixed("gcc --version"), fixed("ld --version"), fixed("dkms status")),
        )
    if "runfile" in managers(environment):
        return remedy(
            environment,
            "NVIDIA's .run installer builds the module only for the kernel that is running at that time. After a "
            "kernel update, the earlier kernel (Advanced options in the boot menu) still works. Permanent fix: "
            "install dkms and the kernel headers, close the desktop session, and run the same .run file again with "
            "--dkms (its version is in /var/log/nvidia-installer.log); DKMS then builds the module for every new "
            "kernel.",
            "dkms-tools",
            "runfile-dkms",
            "load-module",
        )
    if seen(environment, "driver-module-not-loaded", "detail-no-access"):
        return Remedy(
            "The machine's image has a driver whose module does not load, and you cannot change that from your job: "
            "send the provider this message, the time and the instance types. Until the image is corrected, pin the "
            "earlier image (or another region or pool that still starts with it), or an image of your own with the "
            "driver."
        )
    if seen(environment, "driver-module-not-loaded", "no-such-device"):
        first = seen(environment, "driver-module-not-loaded", "detail-first-chips")
        return remedy(environment, _OF_340 if first else _REFUSED_ALL, "module-log")
    return not_loaded(environment)


_REFUSED_ALL = (
    "The module is there, but refuses every GPU of this machine ('No such device'), so loading it or installing the "
    "same driver again changes nothing. Most often, this branch no longer supports the card, or not with this flavor "
    "of the module: the kernel's message says which (the command, right after the attempt). Install the branch or the "
    "flavor that it names; nvidia-smi then shows the card."
)
_OF_340 = (
    "The card is older than this driver: its chip is of the first CUDA generation, which branch 340 was the last to "
    "support. Installing the driver again changes nothing; the kernel's message (the command) names that branch. It "
    "runs only CUDA releases of its time, and no current framework works on such a card: use a newer one for CUDA "
    "(envkit recommend lists them), or run the program on the CPU. To have a display, remove the NVIDIA packages; the "
    "kernel's nouveau drives the card."
)
_NO_DRIVER = Fault(
    "driver-not-installed",
    "No NVIDIA driver is installed",
    impact="No program can use the GPU; the CUDA runtime may report 'driver version is insufficient'.",
    remedy=_install,
)
_REFUSES = ("open-module-on-pre-turing", "proprietary-module-on-blackwell")  # said by the module itself
_NOT_LOADED = Fault(
    "driver-module-not-loaded",
    "The driver's kernel module is not loaded",
    impact="nvidia-smi and CUDA cannot reach the GPU.",
    remedy=_load,
)


@check(
    _NO_DRIVER,
    layer=Layer.KERNEL_MODULE,
    rank=5,
    explained_by=(
        "no-gpu-on-pci",
        "optimus-gpu-off",
        "gpu-bound-to-vfio",
        "container-no-gpu-injected",
        "download-failed",
        "image.gpu-at-build",
        "wsl1",
    ),
    of_missing_gpu=True,
    fix="Install a driver branch that supports the GPU, either from the distribution or from NVIDIA, but not from "
    "both.",
    elsewhere=NO_PCI_GPU,
    references=threads("NVIDIA/nvidia-docker#988", "tensorflow/tensorflow#66750"),
)
def driver_not_installed(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A machine with a GPU has a driver: a kernel module or its libraries.

    Without a driver, the CUDA runtime sees version 0 and reports that the driver is "insufficient" (error 35), which
    sounds like an old driver.
    """
    if of_host := seen(environment, _NO_DRIVER.id, "vgpu-host-package"):
        title = "The virtual machine runs the vGPU host driver, which does not include CUDA"
        yield _NO_DRIVER.found(message_evidence(environment, of_host), title=title, remedy=_OF_THE_GUEST)
    elif present := _signs_of_a_driver(environment):
        yield ok("a driver is installed", evidence=present)
    elif environment.pci_gpus.known and not environment.pci_gpus.get():
        yield skip("there is no GPU that needs a driver", evidence=[known(environment, "pci_gpus", "none")])
    elif _reserved(environment):
        words = "every GPU is reserved for virtual machines; this machine needs no driver for them"
        calls = message_evidence(environment, seen(environment, _NO_DRIVER.id))
        yield ok(words, evidence=calls) if calls else skip(words)
    elif environment.pci_gpus.known and _looked_everywhere(environment):
        yield _absent(environment)
    elif reported := _on_login_node(environment) or _beside_a_build(environment):
        yield reported
    elif apart := mismatch(environment):
        yield ok("a driver is installed", evidence=apart)
    else:
        yield unknown(unseen(environment, "whether a driver is installed"))


def _on_login_node(environment: Environment) -> Outcome | None:
    """What is said of a missing driver on a node of a cluster that nobody showed to have a GPU."""
    if "slurm" not in managers(environment):
        return None
    title = "This node has no NVIDIA driver: it is a login node or has no GPU"
    return _NO_DRIVER.reported(environment, title=title, remedy=_FROM_SLURM)


def _beside_a_build(environment: Environment) -> Outcome | None:
    """What is said of a missing nvidia-smi where a build stopped for want of the toolkit: a build needs no driver."""
    shown = variants_of(seen(environment, _NO_DRIVER.id))
    stopped = variants_of(seen(environment, "toolkit-missing")) - _NO_NVCC
    if not shown or shown - {"nvidia-smi-not-found", "localized"} or not stopped:
        return None
    title = "nvidia-smi is missing too: building needs no driver, but running what was built does"
    return _NO_DRIVER.reported(environment, title=title, status=Status.WARN, remedy=_FOR_BUILDS)


def _signs_of_a_driver(environment: Environment) -> list[Evidence]:
    driver, kernel = environment.driver, environment.kernel
    signs = []
    if driver.kernel_module.known:
        signs.append(known(environment, "driver.kernel_module"))
    if driver.user_space.known and not is_told(driver.user_space.source):
        signs.append(known(environment, "driver.user_space"))
    elif has_library(environment, CUDA) or has_library(environment, NVML):
        signs.append(known(environment, "driver.libraries", "libcuda, libnvidia-ml"))
    if cuda_works(environment):
        signs.append(known(environment, "driver.cuda_init", "success"))
    if kernel.module_files.known and kernel.module_files.get():
        signs.append(known(environment, "kernel.module_files", kernel.module_files.get()[0].path))
    if not signs:  # a module that refuses the card is there
        signs += message_evidence(environment, [told for id in _REFUSES for told in seen(environment, id)])
    return signs


def _reserved(environment: Environment) -> bool:
    return environment.pci_gpus.known and len(reserved_for_vms(environment)) == len(environment.pci_gpus.get())


def _looked_everywhere(environment: Environment) -> bool:
    module, files = environment.driver.kernel_module, environment.kernel.module_files
    return module.absent and (files.known or files.absent) and has_library(environment, CUDA) is False


def _absent(environment: Environment) -> Outcome:
    gpus = ", ".join(gpu.title for gpu in environment.pci_gpus.get())
    return _NO_DRIVER.found(
        [
            known(environment, "pci_gpus", gpus),
            known(environment, "driver.kernel_module"),
            known(environment, "kernel.module_files"),
            known(environment, "driver.libraries"),
        ],
        title=f"No NVIDIA driver is installed for {gpus}",
    )


@check(
    _NOT_LOADED,
    layer=Layer.KERNEL_MODULE,
    rank=60,
    explained_by=_MODULE_CAUSES,
    fix="Load the module; if that fails, read the kernel's message before you reinstall the driver.",
    elsewhere=NO_PCI_GPU,
    references=threads("NVIDIA/nvidia-docker#988", "microsoft/WSL#7716", "junxnone/tio#206"),
)
def driver_module_not_loaded(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """If the driver's libraries are installed, its kernel module is loaded.

    The symptom is "nvidia-smi has failed because it couldn't communicate with the driver". It has at least six causes,
    each with its own check that takes precedence over this one.
    """
    if loaded(environment):
        yield ok("the kernel module is loaded", evidence=[known(environment, "driver.kernel_module")])
    elif loaded(environment) is False and has_library(environment, NVML) is False:
        yield skip("no driver is installed")
    elif evidence := _proof(environment):
        yield _not_loaded(environment, evidence)
    elif apart := mismatch(environment):
        yield ok("a kernel module is loaded", evidence=apart)
    else:
        yield unknown(unseen(environment, "whether the kernel module is loaded"))


def _proof(environment: Environment) -> list[Evidence]:
    evidence = list(answered(environment, "nvml", "DRIVER_NOT_LOADED")) if not _stub(environment) else []
    if loaded(environment) is False and has_library(environment, NVML):
        evidence += [known(environment, "driver.kernel_module"), known(environment, "driver.user_space")]
    if evidence and _blocked(environment):
        evidence.append(known(environment, "kernel.blacklisted"))
    return evidence


def _stub(environment: Environment) -> bool:
    libraries = environment.driver.libraries
    own = [library for library in libraries.get() if library.name.startswith(NVML)] if libraries.known else []
    return bool(own) and all(library.stub for library in own)


def _blocked(environment: Environment) -> bool:
    return environment.kernel.blacklisted.known and "nvidia" in environment.kernel.blacklisted.get()


def _not_loaded(environment: Environment, evidence: list[Evidence]) -> Outcome:
    files = environment.kernel.module_files
    if _blocked(environment):
        title = "The driver's kernel module is blacklisted"
        return _NOT_LOADED.found(evidence, title=title, remedy=_unblock(environment))
    if (files.known and not files.get()) or files.absent:
        fix = remedy(environment, "Install the kernel module of the same driver version, then reboot.", "driver")
        title = "The driver's libraries are installed, but its kernel module is not"
        return _NOT_LOADED.found(evidence, title=title, remedy=fix)
    return _NOT_LOADED.found(evidence)


def _unblock(environment: Environment) -> Remedy:
    if environment.system.prime_profile.known:
        return remedy(
            environment,
            "The laptop's graphics profile blocks it: choose a profile that includes the NVIDIA GPU.",
            "prime",
        )
    return remedy(
        environment,
        "Remove the line that blocks nvidia from its file, and load the module. The old file is kept with the suffix "
        ".bak.",
        "unblock",
        "load-module",
        "initramfs",
    )
