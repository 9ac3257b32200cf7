"""What stands around a program and stops it: folders, source trees, another loader, an older container runtime."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import PATH, export, fixed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.remedies import on_windows, remedy, steps
from envkit.checks.frameworks.nix_builds import WITH_CUDA
from envkit.checks.programs.told import told_by_program

if TYPE_CHECKING:
    from envkit.model import Environment
    from envkit.tables import Matrix

_STATIC_TLS = "static-tls-full"


_FOR_KERNEL = (
    "The library must be loaded before all others, and a kernel that runs has started already: a variable set in a "
    "cell comes too late. Set it where the kernel starts: the command lists the directory of each kernel; in "
    'kernel.json there, add a line before its last brace (and a comma after the line above): "env": '
    '{{"LD_PRELOAD": "{path}"}}. Then restart the kernel. Importing the package that fails first, in the first '
    "cell, often helps as well."
)


def _loaded_first(environment: Environment, matrix: Matrix) -> Remedy:
    path = named(seen(environment, _STATIC_TLS), "library")
    if path and managed_by(environment, "jupyter") and isinstance(PATH(path), str):
        return remedy(environment, _FOR_KERNEL.format(path=path), "kernel-specs")
    return Remedy(
        "Load this library before all others: start the program from a shell with the variable below set (for good, "
        "put the line into the script that starts it; for a notebook, into the env of its kernel.json). Or import the "
        "package whose library fails first in the program.",
        (export("LD_PRELOAD", PATH(path)),) if path else (),
    )


told_by_program(
    Fault(
        _STATIC_TLS,
        "A library is loaded too late to get its thread-local memory (static TLS)",
        impact="The import fails, though the library is there and the memory is not full. The GPU is not involved.",
        remedy=_loaded_first,
    ),
    fix="Load the library first, with LD_PRELOAD or by importing its package before the others.",
    doc="""The libraries that an import loads get the thread-local memory that they ask for.

    The loader keeps a small block for libraries that are loaded later. On 64-bit Arm (Jetson), OpenMP's libgomp needs
    more than is left once other packages have been imported.
    """,
    rank=48,
    references=threads("keras-team/keras-tuner#317", "NVIDIA-AI-IOT/torch2trt#563", "NVIDIA-AI-IOT/trt_pose#111"),
)
told_by_program(
    Fault(
        "source-without-submodules",
        "The source tree is missing its submodules",
        impact="The build cannot find the headers of libraries that the project includes as submodules (such as "
        "CUTLASS, fmt, or pybind11). A ZIP download, or a clone without --recursive, leaves the submodule directories "
        "empty.",
        remedy="If you downloaded a ZIP file, clone the repository instead. Then fetch the submodules, delete the "
        "build directory, and build again.",
        steps=(fixed("git submodule update --init --recursive"),),
    ),
    doc="""The folders of a project's submodules have contents.

    Git leaves them empty until it is told to fetch them, and archives of a project never contain them.
    """,
    rank=49,
    explained_by=("toolkit-missing",),
    references=threads("NVIDIA/FasterTransformer#381", "flashinfer-ai/flashinfer#2203", "MoonshotAI/FlashKDA#15"),
)
told_by_program(
    Fault(
        "path-not-ascii",
        "A compiler cannot open a path with non-ASCII characters",
        impact="NVRTC, nvcc, or cl stops at its input file: kernels that are compiled when they are first used fail, "
        "while everything precompiled works.",
        remedy="Move temporary files and caches to a folder with an ASCII name: set TEMP, TMP, and for CuPy "
        "CUPY_CACHE_DIR to one such as C:\\temp, and open a new terminal. If the program itself or its Python is in "
        "such a folder, move them as well. Reinstalling CUDA changes nothing.",
    ),
    doc="""The compilers can open the folders for their temporary files.

    On Windows, the temporary folder has the user's name in it. NVRTC reads a path in the system's code page and not
    as UTF-8, so a name in Chinese or Cyrillic, or with accents, is read as a different one.
    """,
    rank=50,
    references=threads("hashcat/hashcat#4885", "cupy/cupy#7581", "JDAI-CV/CoTNet#7", "laekov/fastmoe#95"),
)
_NIX = "nix-without-driver"


def _through_nixgl(environment: Environment, matrix: Matrix) -> Remedy:
    """In WSL, the folder of the driver has no other libraries in it."""
    if seen(environment, _NIX, "wsl-smi"):
        return Remedy(
            "The missing file is not nvidia-smi but the loader that it needs, which NixOS does not have: the "
            "nvidia-smi that comes with Windows is built for other distributions. In the NixOS configuration, set "
            "wsl.useWindowsDriver = true; and programs.nix-ld.enable = true;, run nixos-rebuild switch, and log in "
            "again. Then nvidia-smi runs with the WSL folder in the list of nix-ld, as below. Programs from nixpkgs do "
            "not need nvidia-smi: they take the driver from the same folder in LD_LIBRARY_PATH. No driver has to be "
            "installed in WSL.",
            (
                fixed("sudo nixos-rebuild switch"),
                export("NIX_LD_LIBRARY_PATH", PATH("/usr/lib/wsl/lib")),
                fixed("/usr/lib/wsl/lib/nvidia-smi"),
            ),
        )
    if seen(environment, _NIX, "detail-wsl"):
        return Remedy(
            "Programs from nixpkgs look for the driver where NixOS has it. In WSL, the only driver libraries are those "
            "that Windows puts into /usr/lib/wsl/lib: start the program with that folder in LD_LIBRARY_PATH. In a "
            "flake, let the program set it (export in a writeShellScript, makeWrapper --set, or shellHook), so that it "
            "is not set for everything else. No driver and no other CUDA has to be installed.",
            (export("LD_LIBRARY_PATH", PATH("/usr/lib/wsl/lib")),),
        )
    return Remedy(
        "Programs from nixpkgs look for the driver where NixOS has it, and never in the library folders of "
        "another distribution. Start them through nixGL (its variant for NVIDIA) or nix-gl-host, which give them the "
        "driver's libraries. Do not put the whole folder of the distribution's libraries into LD_LIBRARY_PATH: its "
        "libc would be loaded too. The command is for a nix with flakes; put your program in place of PROGRAM.",
        steps(environment, "through-nixgl"),
    )


told_by_program(
    Fault(
        _NIX,
        "Programs from Nix and the driver's files do not find each other",
        impact="A program from Nix reports a missing libcuda.so.1 or a driver that is too old, while other programs "
        "use the GPU; or, on NixOS in WSL, the driver's own nvidia-smi does not start.",
        remedy=_through_nixgl,
    ),
    fix="Start the program through nixGL or nix-gl-host; in WSL, with /usr/lib/wsl/lib in LD_LIBRARY_PATH.",
    doc="""A program that was installed by Nix on another distribution finds the driver's libraries.

    The driver has to match the running kernel module, so Nix cannot provide it.
    """,
    rank=51,
    references=threads("NixOS/nix#725", "NixOS/nixpkgs#127329"),
)
told_by_program(
    Fault(
        "container-runtime-older-than-docker",
        "NVIDIA's container runtime is too old for this Docker",
        impact="No container starts with --runtime nvidia or --gpus; without the GPU, containers start.",
        remedy="Docker's system-call filter names a call (clone3) that the old runtime does not know. Upgrade NVIDIA's "
        "container packages (nvidia-container-toolkit, and on a Jetson nvidia-container-runtime with it) and "
        "libseccomp2, and restart Docker. Where no newer ones are offered, go back to the Docker release before the "
        "update and hold it (apt-mark hold). The image and the driver are not at fault.",
        steps=(fixed("nvidia-container-cli --version"), fixed("docker version")),
    ),
    fix="Upgrade NVIDIA's container packages, or go back to the Docker release that worked.",
    doc="""The container runtime knows every system call in Docker's default filter.

    Docker updates add calls to the filter. Older releases of NVIDIA's runtime include their own runc, which rejects
    calls that it does not know. """,
    rank=52,
    explained_by=("jetson-container-of-other-release",),
    references=threads("dusty-nv/jetson-containers#115", "containerd/containerd#6203"),
)


_TRITON_CACHE = "triton-cache-stale"


def _without_cache(environment: Environment, matrix: Matrix) -> Remedy:
    """Both caches: what PyTorch compiles refers to launchers of the other one."""
    after = (
        "They are filled again when the program runs. If the message comes back with empty caches, this Triton is "
        "older than the Python: update Triton to the release that belongs to the installed PyTorch."
    )
    if on_windows(environment):
        return Remedy(
            "Close the program and delete the folders of compiled kernels, in the Explorer: "
            "%USERPROFILE%\\.triton\\cache, and in %LOCALAPPDATA%\\Temp the one that is called torchinductor_ with "
            f"your user name behind it. {after}"
        )
    return Remedy(
        "Stop the program and delete the folders of compiled kernels: ~/.triton/cache (or the directory in "
        f"TRITON_CACHE_DIR), and /tmp/torchinductor_USER (USER is your user name). {after}",
        steps(environment, "drop-compiled"),
    )


told_by_program(
    Fault(
        _TRITON_CACHE,
        "A launcher in Triton's cache was compiled for another Python or Triton",
        impact="Every kernel that is in the cache fails, whichever Triton is installed after that.",
        remedy=_without_cache,
    ),
    fix="Delete Triton's cache and that of PyTorch's compiler.",
    doc="""The launchers in Triton's cache were compiled for the Python and the Triton that load them.

    Triton compiles a small C module for each kernel and keeps it in the user's folder, where every Python finds it. One
    that was made for another Python, or by an old Triton, is loaded again after an update.
    """,
    rank=53,
    references=threads("thu-ml/SageAttention#174"),
)
told_by_program(
    Fault(
        "nix-package-without-cuda",
        "A package from nixpkgs was built without CUDA",
        impact="The program uses the CPU, although the driver works and its libraries are found.",
        remedy=WITH_CUDA,
    ),
    doc="""A program from nixpkgs that is to use CUDA was built with it.

    CUDA is unfree, so nixpkgs turns it off by default. A driver that works, or a path to libcuda, changes nothing.
    """,
    rank=54,
    references=threads("olafkfreund/nixos_config#1588"),
)
