"""Programs and extensions that hold kernels of their own: no build of a framework provides those for another GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.base.versions import Version
from envkit.checks.engine.command import (
    CAPABILITY,
    IMAGE,
    NAME,
    PACKAGE,
    PYTHON,
    REQUIREMENT,
    URL,
    Command,
    export,
    fixed,
    run,
)
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import in_container, managed_by, managers
from envkit.checks.engine.messages import named, said, seen
from envkit.checks.engine.remedies import on_windows, steps
from envkit.checks.frameworks.installs import Installed, capable_gpus, for_this_machine, named_python, pip, release
from envkit.model import Environment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.base.versions import ComputeCapability
    from envkit.tables import Matrix

_EXTENSIONS = (  # packages around PyTorch whose kernels are compiled for chosen GPUs
    *("sgl-kernel", "flash-attn", "xformers", "causal-conv1d", "mamba-ssm", "cpm-kernels", "bminf", "vllm", "apex"),
    *("detectron2", "mmcv", "mmcv-full", "torch-scatter", "torch-sparse", "pytorch3d", "spconv", "deepspeed"),
    *("bitsandbytes", "auto-gptq", "autoawq", "exllamav2", "natten", "tinycudann", "nvdiffrast", "flashinfer-python"),
)
_ASK_BUILD = "import torch; print(torch.__file__, torch.__version__, torch.cuda.get_arch_list())"
_READY_MADE = ("sgl-kernel", "cpm-kernels", "bminf")  # ... that come without their source
_ANEW = ("install", "--force-reinstall", "--no-deps", "--no-build-isolation", "--no-cache-dir", "--no-binary=:all:")


def compiled_extension(environment: Environment, found: Installed, capability: str) -> Remedy:
    """The framework has code for this GPU: a package next to it was compiled for others."""
    if seen(environment, "arch-dropped-by-framework", "torch-too-old"):
        return _other_framework(found)
    beside = [item for item in found.python.distributions if item.name in _EXTENSIONS]
    ready = [name for name in _READY_MADE if any(item.name == name for item in beside)]
    if "sglang" in managers(environment) or (ready and len(ready) == len(beside)):
        return _without_source(found, ready or ["sgl-kernel"], capability)
    if place := _built_into_image(environment):
        return Remedy(
            f"{found.framework.package} itself has code for this GPU, so keep it: the kernels are missing from the "
            f"extension that was compiled in {place} when the image was built, as the error shows. Use a release of "
            "the image that is built for this GPU, or build the image again from its Dockerfile for it: set the target "
            f"before that step (ENV TORCH_CUDA_ARCH_LIST={capability or 'X.Y'}), in a base image that has nvcc (devel "
            "in its tag). A pip install in the running container does not replace it. Until then, an option of the "
            "program may turn the extension off."
        )
    known = beside[0] if len(beside) == 1 else None
    package = f"{known.name}=={known.version.partition('+')[0]}" if known else ""
    among = f" ({', '.join(item.name for item in beside)})" if beside else ""
    return Remedy(
        f"{found.framework.package} itself has code for this GPU, so keep it: the kernels are missing from a compiled "
        f"extension{among}; the last lines before the error name it. Compile it for this GPU with the toolkit of the "
        "framework's CUDA. If the build rejects the target, or the extension comes without source code, it does not "
        "support this GPU: use another release of it that does (a newer one for a newer GPU), turn it off in the "
        "program, or use another GPU.",
        (
            *((export("TORCH_CUDA_ARCH_LIST", CAPABILITY(capability)),) if capability else ()),
            pip(found.python, *_ANEW, REQUIREMENT(package)) if package else pip(found.python, *_ANEW, PACKAGE),
        ),
    )


OF_CONDA = (
    "conda compiles PyTorch for other GPUs than the wheels of the same release are for: the installed build has no "
    "code for this one, but the wheel has. Replace it with the wheel."
)


def alone_by_conda(found: Installed) -> bool:
    """Whether conda compiled the framework, and no extension next to it can be what lacks the GPU."""
    listed = found.python.distributions
    by_conda = any(item.name == "pytorch" and item.installer == "conda" for item in listed)
    return by_conda and not any(item.name in _EXTENSIONS for item in listed)


def no_vllm(environment: Environment, matrix: Matrix) -> Remedy | None:
    """vLLM's own kernels have an oldest GPU, below which it does not compile; None for a newer GPU and for others."""
    oldest, most = limit("vllm-oldest-gpu"), limit("cuda-of-most-gpus")
    owns = [own for _, own in capable_gpus(environment, matrix)]
    own = Version.find(str(min(owns))) if owns else None
    if own is None or own >= oldest or "vllm" not in managers(environment):
        return None
    return Remedy(
        f"vLLM supports GPUs of compute capability {oldest} and higher, and its sources do not compile for {own}: no "
        "other build of PyTorch, driver, or CUDA changes that. Use another engine: transformers with a PyTorch for "
        f"CUDA {most} or older, which has code for this GPU, or llama.cpp with a GGUF file of the model (the commands "
        f"compile its server; nvcc of CUDA {most.major} or older must be there). Or use a newer GPU.",
        steps(environment, "llama-source", number=str(own).replace(".", "")),
    )


_PAGED = regex(r"(?i)flashinfer|Batch(?:Decode|Prefill)With(?:Paged|Ragged)KVCache")


_SOURCE = regex(r"(?P<place>/(?:usr/src|opt|build|workspace|src)/[\w.+-]{2,60})/(?:csrc|src)/[\w./+-]{2,120}\.cuh?\b")


def _built_into_image(environment: Environment) -> str:
    """The folder of an extension's source in an image, as the error of its kernel shows it; '' for none."""
    ids = ("arch-newer-than-build", "arch-dropped-by-framework")
    match = _SOURCE.search(" ".join(said(environment, id) for id in ids))  # noqa: A001 - as in reports
    return match["place"] if match and in_container(environment) else ""


def _other_framework(found: Installed) -> Remedy:
    """The warning is of a PyTorch that lacks the GPU, and the one that is named has code for it: another one ran."""
    return Remedy(
        f"{found.framework.package} has code for this GPU, but the PyTorch that printed the warning does not: the "
        "program uses a different one. Run the command with the program's own Python: it prints where its PyTorch is "
        "and which GPUs it has code for. Then switch to the environment with the other one.",
        (_where(found),),
    )


def _where(found: Installed) -> Command:
    return run(PYTHON(found.python.executable or "python"), "-c", _ASK_BUILD)


def other_build_ran(found: Installed, given: Remedy) -> Remedy:
    """`given` puts the build that is named where a different one of the same framework ran, and printed its list."""
    return Remedy(
        f"The list that was printed is not that of {found.framework.package}, which has code for this GPU: a different "
        "build is in use, such as one that pip took from the default index. The first command, run with the program's "
        "own Python, prints where its build is, its version, and its GPUs. If it is in another environment, switch to "
        f"the one that has {found.framework.package}. Otherwise install that build over it, with the same Python: the "
        "other commands do.",
        (_where(found), *given.steps),
    )


def _without_source(found: Installed, names: list[str], capability: str) -> Remedy:
    """Packages that provide compiled code for chosen GPUs and no source to compile: pip cannot build them for
    another."""
    those = series(names)
    come = "comes" if len(names) == 1 else "come"
    other = (
        "On this card, serve the model with a different engine (vLLM, llama.cpp)"
        if "sgl-kernel" in names
        else "Run this program on a newer GPU, or run the model with a different program (transformers with torch "
        "alone)"
    )
    return Remedy(
        f"No build of the framework helps: {found.framework.package} has code for this GPU, but {those} {come} with "
        f"prebuilt code that has none for compute capability {capability or 'of this GPU'}, and without its source pip "
        f"cannot compile it. {other}. An older release of {those} may still include it."
    )


def of_ollama(environment: Environment, capability: str) -> Remedy:
    """The current release, which has code for every GPU from its oldest one on."""
    own, oldest = Version.find(capability), limit("ollama-oldest-gpu")
    known = f", {capability} among them" if own is not None else ""
    said = (
        f"Ollama ships its own kernels, and its current releases have them for compute capability {oldest.release(2)} "
        f"and newer{known}; single older releases left some out. Update it"
    )
    if environment.containers.started_by.known or managed_by(environment, "docker-run", "compose"):
        return Remedy(
            f"{said}: pull the current image, and create the container again from it. The models are in its volume and "
            "stay; a container that is renamed keeps its files.",
            (fixed("docker pull ollama/ollama"), fixed("docker run --gpus all IMAGE")),
        )
    if seen(environment, "arch-dropped-by-framework", "detail-pacman"):
        return Remedy(
            "The distribution's package was compiled with a CUDA that has no code for this GPU any more. Ollama's own "
            f"release has it for compute capability {oldest.release(2)} and newer: remove the package, which would "
            "own the same service, then install the release. Models that the package's service pulled may have to be "
            "pulled again. When a model runs, ollama ps then shows the GPU.",
            (fixed("sudo pacman -R ollama-cuda ollama"), *steps(environment, "ollama-install")),
        )
    if on_windows(environment):
        return Remedy(f"{said}; the models stay.", (fixed("winget upgrade --id Ollama.Ollama"),))
    return Remedy(
        f"{said} with the installer from ollama.com/download, over the present one; the models stay. The command then "
        "prints the new release.",
        (fixed("ollama --version"),),
    )


def compiled_program(environment: Environment, capability: str, *, told: bool, newer: bool = False) -> Remedy | None:
    """The remedy for a program with builds of its own, None for one that is run by a framework.

    `told`: a framework is named; `newer`: it is the GPU that is too new for the build.
    """
    programs, number = managers(environment), capability.replace(".", "")
    if "koboldcpp" in programs:
        return Remedy(
            "Download the KoboldCpp build for this card from its releases page (the one for older or newer CUDA), "
            "or the last release that still worked here. Its Vulkan backend does not need CUDA.",
            (fixed("koboldcpp --usevulkan"),),
        )
    if "llama-cpp-python" in programs:
        return Remedy(
            "Compile llama-cpp-python for this GPU, with a toolkit that supports it and is not newer than the driver.",
            steps(
                environment,
                "llama-cpp-python",
                python=named_python(environment).executable or "python",
                name="llama-cpp-python",
                option="GGML_CUDA",
                number="native" if ";" in number else number or "native",
            ),
        )
    if _PAGED.search(f"{said(environment, 'arch-newer-than-build')} {said(environment, 'arch-dropped-by-framework')}"):
        return Remedy(
            "The missing kernels are FlashInfer's, which are built for newer GPUs; PyTorch itself works here. Start "
            "the server without FlashInfer: SGLang with --attention-backend triton --sampling-backend pytorch "
            "(releases of 2024: --disable-flashinfer), vLLM with --attention-backend TRITON_ATTN (in releases "
            "without that option: VLLM_ATTENTION_BACKEND=XFORMERS in the environment). A model in FP8 or BF16 may "
            "still need a newer GPU.",
        )
    if "ollama" in programs:
        return of_ollama(environment, capability)
    if "llama.cpp" in programs or not told:
        return _from_source(environment, capability, number, newer=newer)
    return None


def _ready_made(number: str, *, newer: bool) -> str:
    """Which other build of a program to download; without the GPU, nobody knows which way to go."""
    way = "a newer CUDA" if newer else "an older CUDA, or without a CUDA version in its name"
    if not number:
        way = "a newer CUDA for a new GPU, for an older one (or without a CUDA version in its name) for an old GPU"
    return (
        f"If you downloaded the program, use another build of it: if its release offers several, the one for {way}; "
        "otherwise, a release whose notes list this GPU."
    )


def _from_source(environment: Environment, capability: str, number: str, *, newer: bool) -> Remedy:
    """For who compiles it, by what its build looks at; who has it ready-made needs another build of it."""
    ready = _ready_made(number, newer=newer)
    own = seen(environment, "arch-newer-than-build", "own-flags")
    if cached := _of_cache(environment):
        return cached
    if not number and (flag := named(own, "only") or named(own, "built")):
        return Remedy(
            f"The build's own flags name sm_{flag}, and this card has another compute capability: the first command "
            "prints it (on an old driver, the deviceQuery sample of CUDA does). Change the flag in the file that the "
            "second command finds, so that it is sm_XY for compute capability X.Y; a CMake option does not override "
            "it. Then delete the build directory and build again, with a toolkit that still knows that target.",
            steps(environment, "own-flags"),
        )
    if not number:
        return Remedy(
            f"{ready} To compile it yourself, use a fresh build directory and pass this GPU's target, to CMake with "
            "the option below or to nvcc as -gencode arch=compute_NN,code=sm_NN.",
            steps(environment, "compile-native"),
        )
    if "caffe" in managers(environment):
        return Remedy(
            f"Build Caffe with code for {series(capability.split(';'))}: if no GPU is visible, as in docker "
            "build, its CMake uses a list of architectures that does not include them. Set them as below, in a fresh "
            "build directory, and in the Dockerfile's own cmake line (Caffe does not read CMAKE_CUDA_ARCHITECTURES). "
            "If you build with make, replace the whole CUDA_ARCH in Makefile.config with this line, run make clean, "
            f"and build again: CUDA_ARCH := {_gencodes(number)}",
            steps(environment, "compile-caffe", architectures=number.replace(";", " ")),
        )
    if ready_image := _of_image(environment, capability, newer=newer):
        return ready_image
    targets = series(f"sm_{one} (compute_{one})" for one in number.split(";"))
    return Remedy(
        f"{ready} To compile it yourself for compute capability {series(capability.split(';'))}, use a fresh build "
        f"directory{_with_toolkit(environment, capability)}. For a PyTorch extension (setup.py), set "
        f"TORCH_CUDA_ARCH_LIST='{capability}'; for CMake, use the option below. If "
        f"CMakeLists.txt, Makefile, or setup.py has a target of its own (sm_NN{_found_by(environment)}), change it to "
        f"{targets} in that line, because the option does not override it.",
        steps(environment, "compile-for", targets=number),
    )


def _found_by(environment: Environment) -> str:
    return "" if on_windows(environment) else "; the first command finds it"


def _gencodes(number: str) -> str:
    return " ".join(f"-gencode arch=compute_{one},code=sm_{one}" for one in number.split(";"))


def _with_toolkit(environment: Environment, capability: str) -> str:
    """A word on the toolkit where the one that is there does not know the GPU yet."""
    from envkit.base.versions import ComputeCapability
    from envkit.compat.gpu import target_span
    from envkit.tables import Matrix

    matrix = Matrix.load()
    firsts = [target_span(ComputeCapability.parse(one), matrix)[0] for one in capability.split(";")]
    first = max((each for each in firsts if each is not None), default=None)
    newest = environment.nvcc.value.version if environment.nvcc.value is not None else None
    if first is None or (newest is not None and newest.release(2) >= first):
        return ""
    if newest is None:
        return f" and the nvcc of CUDA {first} or newer"
    return (
        f" and a newer toolkit: the nvcc of CUDA {newest.release(2)} does not know this GPU; {first} is the first that "
        f"does (envkit install --cuda {first} --run installs it next to the other one; then put "
        f"/usr/local/cuda-{first}/bin first in PATH)"
    )


def _of_cache(environment: Environment) -> Remedy | None:
    """CMake's cache has another target than the flags, and is what the binary was compiled for; None elsewhere."""
    cached = named(seen(environment, "arch-newer-than-build", "detail-cached"), "cached")
    flags = seen(environment, "arch-newer-than-build", "own-flags")
    own = named(seen(environment, "arch-newer-than-build", "detail-own-sm"), "own")
    if cached is None or cached == own or named(flags, "built") in (None, cached):
        return None
    return Remedy(
        f"CMake's cache holds CMAKE_CUDA_ARCHITECTURES={cached}, and that is what the program was compiled for, "
        "whatever -gencode flags CMakeLists.txt adds. Delete the build directory, and set the option to this GPU's "
        "target; if CMakeLists.txt sets it itself (grep -n CUDA_ARCHITECTURES CMakeLists.txt), change it there.",
        steps(environment, "compile-cached", targets=own) if own else steps(environment, "compile-native"),
    )


def _of_image(environment: Environment, capability: str, *, newer: bool) -> Remedy | None:
    """Another tag of a ready-made image: nothing is compiled in it."""
    image = IMAGE(environment.containers.image.value) if environment.containers.image.known else None
    if not isinstance(image, str) or image.startswith(_OF_BUILDERS):
        return None
    age = (
        "a newer tag, built for a CUDA release that knows this GPU"
        if newer
        else "an older tag, from before its libraries left out such GPUs, pinned by its full version"
    )
    compose = managed_by(environment, "compose")
    return Remedy(
        f"The program comes ready-made in the image {image}, which has no code for compute capability "
        f"{series(capability.split(';'))}; driver and container are fine. Use "
        f"{age} (the image's page in its registry lists the tags by date; the maker's releases say which CUDA each "
        "has). If there is none, use the tag for the CPU, which usually has no gpu or cuda in its name, and leave the "
        "GPU's lines out. "
        + ("Put the tag into the Compose file, then:" if compose else "Then start the container from it."),
        (fixed("docker compose pull"), fixed("docker compose up -d")) if compose else (),
    )


_OF_BUILDERS = ("nvidia/", "nvcr.io/", "pytorch/", "tensorflow/", "ubuntu", "debian")  # programs are compiled in these


def hide_gpus(environment: Environment) -> Command:
    """The command that lets programs of this shell run on the CPU."""
    if on_windows(environment):
        return fixed("set CUDA_VISIBLE_DEVICES=-1")
    return export("CUDA_VISIBLE_DEVICES", "-1")


def of_newer_nvrtc(
    environment: Environment, matrix: Matrix, found: Installed, owns: list[ComputeCapability]
) -> Remedy | None:
    """The framework compiles kernels while it runs, with the NVRTC of its own CUDA, which is older than the GPU."""
    from envkit.compat.gpu import target_span

    firsts = [first for own in owns if (first := target_span(own, matrix)[0]) is not None]
    have = release(found.framework.version)
    rows = [
        row
        for row in matrix.builds(found.framework.name)
        if row.cuda is not None and firsts and row.cuda >= max(firsts) and row.package and row.index_url
        if have is None or row.version >= have
        if for_this_machine(environment, row)
    ]
    best = min(rows, key=lambda row: (row.version, not row.companions, row.cuda or row.version), default=None)
    if best is None:
        return None
    tag = (best.index_url or "").rpartition("/")[2]
    return Remedy(
        f"The failing kernel is one that {found.framework.package} compiles while it runs, with the NVRTC of its own "
        f"CUDA, which does not know this GPU: CUDA {max(firsts)} is the first that does. PyTorch {best.version} for "
        f"CUDA {best.cuda} has it. In an image, take the base image of CUDA {best.cuda} and this index ({tag}) in the "
        "Dockerfile, and build it again; the driver has to run that CUDA.",
        (
            pip(found.python, "uninstall", "-y", "torch", *(NAME(line.partition("==")[0]) for line in best.companions)),
            pip(
                found.python,
                "install",
                REQUIREMENT(best.package or ""),
                *map(REQUIREMENT, best.companions),
                "--index-url",
                URL(best.index_url or ""),
            ),
        ),
    )
