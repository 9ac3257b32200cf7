"""Programs and extensions that hold kernels of their own: no build of a framework brings those for another GPU."""

from __future__ import annotations

from envkit.checks.engine.command import CAPABILITY, REQUIREMENT, TO_FILL_IN, export, fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managers
from envkit.checks.engine.remedies import steps
from envkit.checks.frameworks.installs import Installed, pip
from envkit.model import Environment

_EXTENSIONS = (  # packages around PyTorch whose kernels are compiled for chosen GPUs
    *("sgl-kernel", "flash-attn", "xformers", "causal-conv1d", "mamba-ssm", "cpm-kernels", "bminf", "vllm", "apex"),
    *("detectron2", "mmcv", "mmcv-full", "torch-scatter", "torch-sparse", "pytorch3d", "spconv", "deepspeed"),
    *("bitsandbytes", "auto-gptq", "autoawq", "exllamav2", "natten", "tinycudann", "nvdiffrast", "flashinfer-python"),
)
_ANEW = ("install", "--force-reinstall", "--no-deps", "--no-build-isolation", "--no-cache-dir", "--no-binary=:all:")


def compiled_extension(environment: Environment, found: Installed, capability: str) -> Remedy:
    """The framework has code for this GPU: a package beside it was compiled for others."""
    beside = [item for item in found.python.distributions if item.name in _EXTENSIONS]
    known = beside[0] if len(beside) == 1 else None
    package = f"{known.name}=={known.version.partition('+')[0]}" if known else ""
    among = f" ({', '.join(item.name for item in beside)})" if beside else ""
    return Remedy(
        f"{found.framework.package} itself has code for this GPU, so keep it: the missing kernels are those of a "
        f"compiled extension{among}, the one named in the last lines before the error. Compile it for this GPU with "
        "the toolkit of the framework's CUDA. If it rejects the target, or comes without its source, it does not "
        "support this GPU: use an older release of it, turn it off in the program, or use another GPU.",
        (
            *((export("TORCH_CUDA_ARCH_LIST", CAPABILITY(capability)),) if capability else ()),
            pip(found.python, *_ANEW, REQUIREMENT(package)) if package else pip(found.python, *_ANEW, TO_FILL_IN),
        ),
    )


def compiled_program(environment: Environment, capability: str, *, told: bool) -> Remedy | None:
    """The remedy for a program with builds of its own, None for one that is run by a framework.

    `told`: a framework is named.
    """
    programs, number = managers(environment), capability.replace(".", "")
    if "koboldcpp" in programs:
        return Remedy(
            "Download the KoboldCpp build for this card from its releases page (the one for older or newer CUDA), or "
            "the last release that still ran here; Vulkan runs on every card.",
            (fixed("koboldcpp --usevulkan"),),
        )
    if "llama-cpp-python" in programs:
        return Remedy(
            "Compile llama-cpp-python for this GPU, with a toolkit that supports it and is not newer than the driver.",
            steps(environment, "llama-cpp-python", number=number or "native"),
        )
    if "ollama" in programs:
        return Remedy(
            "Ollama ships its own kernels: install a release whose documentation lists this GPU (the newest for a new "
            "card; for an old one, the last before support was dropped), or run it on Vulkan or the CPU.",
            (fixed("ollama --version"),),
        )
    if "llama.cpp" in programs or not told:
        return Remedy(
            "Compile the program for this GPU: pass the target to CMake with the option below, or to nvcc as -gencode "
            f"arch=compute_{number or 'NN'},code=sm_{number or 'NN'}, in a fresh build directory. If the program "
            "comes precompiled, use a release whose notes name this GPU.",
            steps(environment, "compile-for" if number else "compile-native", number=number),
        )
    return None
