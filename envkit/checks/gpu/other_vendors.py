"""What serves a machine whose GPU is not NVIDIA's, or a notebook without one: no setting of the firmware does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import Command, fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import in_image, managers
from envkit.checks.engine.messages import all_messages, named, seen, variants_of
from envkit.checks.engine.remedies import on_windows
from envkit.checks.frameworks.installs import TORCH_PACKAGES, installs, named_python, pip
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_BY_VARIANT = {  # of the messages of no-gpu-on-pci: whose GPU it is, the most decisive first
    "colab": "colab",
    "kaggle": "kaggle",
    "instance": "instance",
    "apple": "apple",
    "mac": "apple",
    "mac-prompt": "apple",
    "mac-own": "apple",
    "mac-silicon": "apple",
    "homebrew": "apple",
    "mac-chip": "apple",
    "mac-python": "apple",
    "mac-plain": "apple",
    "darwin": "apple",
    "macos": "apple",
    "mac-abroad": "apple",
    "mac-pro-chip": "apple",
    "mac-max-chip": "apple",
    "mac-ultra-chip": "apple",
    "mac-home": "apple",
    "osx": "apple",
    "rocm-smi": "rocm",
    "rocm-card": "rocm",
    "rocm-radeon": "rocm",
    "rocm-blind": "rocm-blind",
    "rocm-build-blind": "rocm-blind",
    "radeon": "amd",
    "rx": "amd",
    "rx-mistyped": "amd",
    "amd-card": "amd",
    "amd-lspci": "amd",
    "told-amd": "amd",
    "form-amd": "amd",
    "gfx": "amd",
    "steam-deck": "amd",
    "strix": "amd",
    "ryzen-ai": "amd",
    "xt": "amd",
    "instinct": "amd",
    "pro-w": "amd",
    "amd-user": "amd",
    "radeon-builds": "amd",
    "rx-builds": "amd",
    "rocm-named": "amd",
    "ascend": "ascend",
    "ascend-npu": "ascend",
    "ascend-abroad": "ascend",
    "ascend-vllm": "ascend",
    "ascend-builds": "ascend",
    "mlu": "accelerator",
    "dcu": "accelerator",
    "musa": "accelerator",
    "gaudi": "accelerator",
    "tpu": "accelerator",
    **dict.fromkeys(("cambricon", "enflame", "iluvatar", "iluvatar-abroad", "kunlun"), "accelerator"),
    **dict.fromkeys(("metax", "metax-abroad", "moore", "moore-abroad"), "accelerator"),
    "arc-builds": "arc",
    "arc": "arc",
    "xpu-build": "arc",
    "gpu-max": "arc",
    "xpu": "arc",
    "intel": "processor",
    "told-intel": "processor",
    "form-intel": "processor",
    "intel-lspci": "processor",
    "told-none": "processor",
    "told-none-dedicated": "processor",
    "told-none-abroad": "processor",
    "snapdragon": "processor",
    "raspberry": "processor",
}
_OF_INTEL = ("intel", "told-intel", "form-intel")
_ANY_MAC = ("mac-plain", "darwin", "macos", "mac-abroad", "mac-home", "osx")  # of no chip: older ones have Intel's GPU
_TOLD_NONE = (  # who says that there is none asks for none; and machines that come without
    *("told-none", "told-none-dedicated", "told-none-abroad"),
    *("snapdragon", "raspberry"),
)
_MAKERS = {
    "apple": "an Apple",
    "rocm": "an AMD",
    "rocm-blind": "an AMD",
    "amd": "an AMD",
    "ascend": "a Huawei",
    "arc": "an Intel",
} | {"accelerator": "another maker's"}
_PLACES = {
    "colab": (
        "In Colab: Runtime > Change runtime type > a GPU, then rerun the cells from the top. Nothing has to be "
        "installed, and your own computer's driver does not matter."
    ),
    "kaggle": "In Kaggle: Settings > Accelerator > a GPU, then rerun the cells from the top.",
    "instance": "This instance type has no NVIDIA GPU: use one that does (on AWS, the g and p families), in the node "
    "group as well. Nodes with another vendor's accelerators need that vendor's device plugin instead.",
    "ascend": "Ascend processors run PyTorch with the torch_npu package for the same torch release: install it as the "
    "CANN toolkit's guide says, import torch_npu, and set the program's device to npu instead of cuda.",
    "accelerator": "CUDA only runs on NVIDIA GPUs: nothing from NVIDIA has to be installed here. Install the build of "
    "PyTorch that the maker of this accelerator offers for the same release (torch_mlu, torch_musa, torch_xla, the one "
    "for Gaudi, the wheels for DCUs), and select its device in the program instead of cuda.",
}
_APPLE = (
    "CUDA is not available on a Mac, and no package can add it: if the program lets you choose the device, use mps "
    "or cpu instead of cuda; PyTorch's regular macOS build has both. With the variable below, operators that mps "
    "does not support run on the CPU. Packages that need CUDA (xformers, flash-attn, bitsandbytes) do not work on a "
    "Mac."
)
_APPLE_CONTAINER = (
    "Containers on a Mac have no GPU, and no toolkit adds one. Remove the request for a GPU: --gpus from docker run, "
    "or deploy.resources.reservations.devices from the compose file; the program then runs on the CPU. To use mps, "
    "install the program outside containers."
)
_CONTAINERS = (
    "Docker was asked for an NVIDIA GPU, and no toolkit of NVIDIA's adds one: remove --gpus from docker run, or "
    "deploy.resources.reservations.devices from the compose file. An image made for ROCm gets an AMD card with "
    "--device=/dev/kfd --device=/dev/dri --group-add video, an image for Intel's cards with --device=/dev/dri; an "
    "image made for CUDA runs on the CPU, or has another tag for this card."
)
_OF_ROCM = (
    "PyTorch here is the build for ROCm, and the package in the error message was built for CUDA: no CUDA library "
    "makes it run on this card. Install the package's build for ROCm, compile it for ROCm as its guide says, or go "
    "back to the release that did not need it."
)
_WEB_UI = (
    "By default, the web UI installs NVIDIA's build. Rename the venv directory, then start the web UI with the option "
    "for this card, which installs the right packages (the -amdgpu and -directml forks and SD.Next have this option; "
    "--use-zluda is faster on AMD cards that support it). To make it permanent, add it to COMMANDLINE_ARGS in "
    "webui-user.bat."
)
_DIRECTML = (
    "CUDA only runs on NVIDIA GPUs. On Windows, PyTorch can use this one through DirectML. Copy the program's folder "
    "first: torch-directml replaces its torch with the release that it was made for, and other packages may not suit "
    "that. Install it in the program's environment, and select that device{option}; a program that cannot select a "
    "device stays on the CPU, or stops where it asks for CUDA."
)
_CALLS_CUDA = (
    "CUDA only runs on NVIDIA GPUs, and no driver of NVIDIA's helps here. The program itself selects a CUDA device "
    "(torch.cuda.set_device in the traceback) without asking whether there is one, so leave its packages as they are, "
    "and choose the CPU in its settings. If it has no such choice and ran on the CPU until an update, go back to the "
    "release before it (where the program is a git checkout, the command lists its commits, and git checkout COMMIT "
    "returns to one), and tell its makers."
)
_ROCM = (
    "CUDA only runs on NVIDIA GPUs. Remove the CUDA build, and install PyTorch's build for ROCm with the command from "
    "its Get Started page (--index-url https://download.pytorch.org/whl/rocmX.Y, the ROCm that supports this "
    "card); programs then see the card as cuda."
)
_AMD_IN_MAC = (
    "CUDA only runs on NVIDIA GPUs, and AMD's ROCm does not exist for macOS: neither a driver nor a toolkit helps on "
    "this Mac. Build or install the program for the CPU (Caffe: CPU_ONLY := 1 in Makefile.config, or -DCPU_ONLY=ON for "
    "CMake, then build again after make clean); PyTorch's regular macOS build has the device mps on current systems."
)
_XPU = (
    "CUDA only runs on NVIDIA GPUs. Remove the CUDA build, install PyTorch's build for Intel GPUs (pip's option "
    "--index-url https://download.pytorch.org/whl/xpu), and set the program's device to xpu instead of cuda."
)
_ITEX = (
    "CUDA only runs on NVIDIA GPUs, and you do not need to install any of it. TensorFlow uses this GPU through "
    "intel-extension-for-tensorflow[xpu], which needs the oneAPI release that its installation guide specifies: "
    "install that one, and run source /opt/intel/oneapi/setvars.sh in each shell before the program."
)
_PROCESSOR = (
    "This machine has no GPU that CUDA can use, and no driver or toolkit changes that: run the program on the CPU "
    "({option}), or on a machine with an NVIDIA GPU. The installed framework runs on the CPU as it is."
)
_BY_ROCM = (
    "ROCm's own tools show this GPU, so its driver works: nothing from NVIDIA has to be installed, and CUDA's settings "
    "do not apply. rocm-smi shows its clocks, its power, and its fan. If a program does not see it, compare the card "
    "with ROCm's list of supported GPUs, add the user to the groups render and video, and check whether PyTorch is the "
    "build for ROCm: the second command then prints a version."
)
_BLIND_ROCM = (
    "PyTorch here is the build for ROCm, and it sees no GPU; envkit does not diagnose AMD's driver. Most often the "
    "user may not open /dev/kfd: compare its group with the user's groups, add the user to the groups render and "
    "video, and log in again. In a container, pass --device=/dev/kfd --device=/dev/dri --group-add video. If "
    "rocminfo does not list the card either, compare it with ROCm's list of supported GPUs."
)
_ROCM_EXTENSION = (
    "The package compiles for CUDA, which this card does not run: a CUDA toolkit does not help. Install its build for "
    "ROCm, or compile it as its guide says for ROCm, in an environment whose PyTorch is the build for ROCm (the "
    "command then prints a version); without one, leave the package out."
)
_WITHOUT_TORCH = ("uninstall", "-y", *TORCH_PACKAGES)


def other_vendor(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The remedy for the GPU that the messages describe, None where they describe none."""
    vendor = _vendor(environment)
    if vendor in _PLACES:
        return Remedy(_PLACES[vendor])
    if vendor == "rocm":
        return Remedy(_BY_ROCM, (fixed("rocm-smi"), fixed("python -c 'import torch; print(torch.version.hip)'")))
    if vendor == "rocm-blind":
        return Remedy(_BLIND_ROCM, (fixed("ls -l /dev/kfd"), fixed("id"), fixed("rocminfo")))
    if given := _asked_for_cuda(environment, vendor):
        return given
    if vendor == "apple":
        return Remedy(_APPLE, (fixed("export PYTORCH_ENABLE_MPS_FALLBACK=1"),))
    if vendor in ("amd", "arc") and on_windows(environment):
        return _of_windows(environment)
    if vendor == "amd":
        return _of_amd(environment, matrix)
    if vendor == "arc" and _by_tensorflow(environment):
        return Remedy(_ITEX)
    if vendor == "arc":
        return Remedy(_XPU, (_pip(environment, *_WITHOUT_TORCH),))
    return _on_processor(environment) if vendor else None


def _of_amd(environment: Environment, matrix: Matrix) -> Remedy:
    """PyTorch's build for ROCm, which macOS does not have."""
    if seen(environment, "no-gpu-on-pci", "detail-mac", "detail-macos"):
        return Remedy(_AMD_IN_MAC)
    from envkit.checks.gpu.rocm_builds import by_rocm

    return by_rocm(environment, matrix) or Remedy(_ROCM, (_pip(environment, *_WITHOUT_TORCH),))


def _asked_for_cuda(environment: Environment, vendor: str) -> Remedy | None:
    """Where Docker or a build, and not the program itself, asks for what only NVIDIA GPUs have."""
    if seen(environment, "docker-no-nvidia-runtime"):
        return {"apple": Remedy(_APPLE_CONTAINER), "amd": Remedy(_CONTAINERS), "arc": Remedy(_CONTAINERS)}.get(vendor)
    if vendor == "amd" and seen(environment, "toolkit-missing"):
        return Remedy(_ROCM_EXTENSION, (fixed("python -c 'import torch; print(torch.version.hip)'"),))
    return None


def maker_of(environment: Environment) -> str:
    """Whose GPU the messages describe, in words; '' where they describe none.

    A processor's graphics are the whole of it only where somebody says so: a listing may lack a card that is broken.
    """
    vendor = _vendor(environment)
    if vendor == "processor" and not environment.pci_gpus.known and seen(environment, "no-gpu-on-pci", *_OF_INTEL):
        return _MAKERS["arc"]
    return _MAKERS.get(vendor, "")


def told_without(environment: Environment) -> bool:
    """Whether it is whoever shows the machine who says that it has no GPU of NVIDIA's, and no listing."""
    return not environment.pci_gpus.known and bool(seen(environment, "no-gpu-on-pci", *_TOLD_NONE))


def rocm_beside_cuda(environment: Environment) -> Remedy | None:
    """The remedy where every GPU is AMD's and a package looks for a library of CUDA; None elsewhere."""
    gpus = environment.gpus.get() if environment.gpus.known else ()
    of_amd = bool(gpus) and all((gpu.name or "").startswith("AMD ") for gpu in gpus)
    return Remedy(_OF_ROCM) if of_amd and seen(environment, "libcudart-missing") else None


def _vendor(environment: Environment) -> str:
    messages = seen(environment, "no-gpu-on-pci")
    variants = variants_of(messages)
    if variants & {*_OF_INTEL} and variants <= {*_OF_INTEL, *_ANY_MAC}:
        return "processor"
    own = next((vendor for variant, vendor in _BY_VARIANT.items() if variant in variants), "")
    listed = named(messages, "gpu") or ""
    return "amd" if own == "processor" and listed.startswith(("Advanced Micro", "AMD")) else own


def _by_tensorflow(environment: Environment) -> bool:
    """Whether TensorFlow is what the text is about."""
    said = any(message.signature.startswith("tf-") for message in all_messages(environment))
    return said or next(installs(environment, "tensorflow"), None) is not None


def _pip(environment: Environment, *words: str) -> Command:
    return pip(named_python(environment), *words)


def _of_windows(environment: Environment) -> Remedy:
    programs = managers(environment)
    if seen(environment, "no-gpu-on-pci", "detail-set-device"):
        return Remedy(_CALLS_CUDA, (fixed("git log --oneline -10"),))
    if "webui" in programs:
        return Remedy(_WEB_UI, (fixed("ren venv venv-cuda"), fixed("webui.bat --use-directml")))
    install = _pip(environment, "install", "torch-directml")
    if "comfyui" in programs:
        return Remedy(_DIRECTML.format(option=" (--directml)"), (install, fixed("python main.py --directml")))
    return Remedy(_DIRECTML.format(option=" (torch_directml.device())"), (install,))


def _on_processor(environment: Environment) -> Remedy:
    programs = managers(environment)
    if "comfyui" in programs:
        if "unraid" in programs or in_image(environment):
            return Remedy(_PROCESSOR.format(option="the image's tag for the CPU instead of the one for CUDA"))
        return Remedy(_PROCESSOR.format(option="the option --cpu"), (fixed("python main.py --cpu"),))
    if next(installs(environment, "onnxruntime"), None) is not None:
        return Remedy(
            _PROCESSOR.format(option="in the code that creates the session: providers=['CPUExecutionProvider']")
        )
    return Remedy(_PROCESSOR.format(option="its device option, such as --device cpu"))
