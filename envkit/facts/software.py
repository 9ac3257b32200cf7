"""Toolkits, cuDNN, compilers, Python environments and the frameworks in them."""

from __future__ import annotations

from collections.abc import Mapping

from envkit.records import field, record
from envkit.versions import ComputeCapability, Version


@record
class CudaToolkit:
    """A CUDA toolkit on disk."""

    version: Version
    path: str
    real_path: str = ""
    source: str = ""  # version.json, version.txt, nvcc, package, file names
    has_nvcc: bool = False
    complete: bool | None = None  # nvcc, headers and libcudart all there
    origin: str = ""  # runfile, package, wheel, conda, link
    gcc_max: Version | None = None  # newest gcc major that its own headers accept (crt/host_config.h)


@record
class CudaLink:
    """Where the link /usr/local/cuda points, and whether that exists."""

    target: str
    resolves: bool


@record
class Nvcc:
    """What `nvcc` on PATH really is."""

    path: str
    real_path: str
    version: Version | None
    wrapper: bool = False  # a script or ccache link that starts another nvcc
    toolkit_path: str = ""


@record
class Cudnn:
    """One cuDNN found on disk; `sublibraries` maps each library file to its version."""

    version: Version
    path: str
    origin: str  # header, system, toolkit, wheel, conda
    cuda: Version | None = None
    sublibraries: Mapping[str, Version] = field(default_factory=dict)


@record
class HostCompiler:
    """A C++ compiler that nvcc could call."""

    name: str  # gcc, clang
    version: Version
    path: str
    default: bool = False


@record
class Distribution:
    """One installed Python distribution. `requires` are its raw requirement lines."""

    name: str  # normalised: lower case, '-'
    version: str
    path: str = ""
    requires: tuple[str, ...] = ()
    wheel_tags: tuple[str, ...] = ()
    installer: str = ""
    user_site: bool = False


@record
class LibraryUse:
    """Which file a consumer library would load for one needed soname, and by what rule."""

    consumer: str
    soname: str
    path: str | None  # None: not found
    rule: str = ""  # RPATH, RUNPATH, LD_LIBRARY_PATH, ld.so.cache, default, missing
    version: str = ""


@record
class FrameworkInstall:
    """One framework in one Python environment, read from its files without importing it."""

    name: str  # our framework id: pytorch, tensorflow …
    version: str
    package: str
    cuda: Version | None = None  # CUDA it was built for
    cuda_known: bool = False  # True with cuda None: certainly a CPU-only build
    cudnn: Version | None = None
    sm_arch_list: tuple[ComputeCapability, ...] | None = None  # SASS in its binaries
    ptx_arch_list: tuple[ComputeCapability, ...] | None = None
    rocm: bool = False
    git_version: str = ""
    path: str = ""
    source: str = ""


@record
class PythonEnvironment:
    """One Python interpreter and what is installed for it."""

    prefix: str
    version: Version | None
    executable: str = ""
    kind: str = ""  # system, venv, conda, pyenv, user
    active: bool = False
    distributions: tuple[Distribution, ...] = ()
    frameworks: tuple[FrameworkInstall, ...] = ()
    library_uses: tuple[LibraryUse, ...] = ()
    owners_clash: tuple[str, ...] = ()  # files that two distributions own
    shadowing_modules: tuple[str, ...] = ()  # torch.py, numpy/ … in the working folder
    pip_python: str = ""  # interpreter of the `pip` on PATH
    cudnn_sublibraries: Mapping[str, Version] = field(default_factory=dict)
    build_tools: Mapping[str, str] = field(default_factory=dict)  # nvcc, ptxas, libdevice, Python.h, cc, libcuda.so
    ptxas_version: Version | None = None  # CUDA release of the ptxas that Triton or XLA would start
    glibc_needed: Mapping[str, Version] = field(default_factory=dict)  # binary -> highest GLIBC symbol version
    glibcxx_needed: Mapping[str, Version] = field(default_factory=dict)  # binary -> highest GLIBCXX symbol version
    libstdcxx: str = ""  # the libstdc++.so.6 that this Python loads first
    libstdcxx_version: Version | None = None  # its highest GLIBCXX
    unresolved_symbols: tuple[str, ...] = ()  # 'package: symbol' that torch's libraries do not export
