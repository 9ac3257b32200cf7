"""Toolkits, cuDNN, compilers, Python environments and the frameworks in them."""

from __future__ import annotations

from collections.abc import Mapping

from envkit._startup.records import field, record
from envkit.base.versions import ComputeCapability, Version
from envkit.model.privacy import FilePath, FreeText, Name, Plain, Requirement


@record
class CudaToolkit:
    """A CUDA toolkit on disk."""

    version: Version
    path: FilePath
    real_path: FilePath = ""
    source: FreeText = ""  # version.json, version.txt, nvcc, package, file names
    has_nvcc: bool = False
    complete: bool | None = None  # nvcc, headers and libcudart all there
    origin: Plain = ""  # runfile, package, wheel, conda, link
    gcc_max: Version | None = None  # newest gcc major that its own headers accept (crt/host_config.h)


@record
class CudaLink:
    """Where the link /usr/local/cuda points, and whether that exists."""

    target: FilePath
    resolves: bool


@record
class Nvcc:
    """What `nvcc` on PATH really is."""

    path: FilePath
    real_path: FilePath
    version: Version | None
    wrapper: bool = False  # a script or ccache link that starts another nvcc
    toolkit_path: FilePath = ""


@record
class Cudnn:
    """One cuDNN found on disk; `sublibraries` maps each library file to its version."""

    version: Version
    path: FilePath
    origin: Plain  # header, system, toolkit, wheel, conda
    cuda: Version | None = None
    sublibraries: Mapping[Plain, Version] = field(default_factory=dict)


@record
class HostCompiler:
    """A C++ compiler that nvcc could call."""

    name: Plain  # gcc, clang
    version: Version
    path: FilePath
    default: bool = False


@record
class Distribution:
    """One installed Python distribution. `requires` are its raw requirement lines."""

    name: Name  # normalized: lower case, '-'
    version: Plain
    path: FilePath = ""
    requires: tuple[Requirement, ...] = ()
    wheel_tags: tuple[Plain, ...] = ()
    installer: Plain = ""
    user_site: bool = False


@record
class LibraryUse:
    """Which file a consumer library would load for one needed soname, and by what rule."""

    consumer: FilePath
    soname: FilePath
    path: FilePath | None  # None: not found
    rule: FreeText = ""  # RPATH, RUNPATH, LD_LIBRARY_PATH, ld.so.cache, default, missing
    version: Plain = ""


@record
class FrameworkInstall:
    """One framework in one Python environment, read from its files without importing it."""

    name: Plain  # our framework id: pytorch, tensorflow …
    version: Plain
    package: Name
    cuda: Version | None = None  # CUDA it was built for
    cuda_known: bool = False  # True with cuda None: certainly a CPU-only build
    cudnn: Version | None = None
    sm_arch_list: tuple[ComputeCapability, ...] | None = None  # SASS in its binaries
    ptx_arch_list: tuple[ComputeCapability, ...] | None = None
    rocm: bool = False
    git_version: Plain = ""
    path: FilePath = ""
    source: FreeText = ""


@record
class PythonEnvironment:
    """One Python interpreter and what is installed for it."""

    prefix: FilePath
    version: Version | None
    executable: FilePath = ""
    kind: Plain = ""  # system, venv, conda, pyenv, user
    active: bool = False
    distributions: tuple[Distribution, ...] = ()
    frameworks: tuple[FrameworkInstall, ...] = ()
    library_uses: tuple[LibraryUse, ...] = ()
    owners_clash: tuple[FreeText, ...] = ()  # files that two distributions own
    shadowing_modules: tuple[FilePath, ...] = ()  # torch.py, numpy/ … in the working folder
    pip_python: FilePath = ""  # interpreter of the `pip` on PATH
    cudnn_sublibraries: Mapping[FilePath, Version] = field(default_factory=dict)
    build_tools: Mapping[Plain, FilePath] = field(default_factory=dict)  # nvcc, ptxas, libdevice, Python.h, cc …
    ptxas_version: Version | None = None  # CUDA release of the ptxas that Triton or XLA would start
    glibc_needed: Mapping[FilePath, Version] = field(default_factory=dict)  # binary -> highest GLIBC symbol version
    glibcxx_needed: Mapping[FilePath, Version] = field(default_factory=dict)  # binary -> highest GLIBCXX symbol version
    libstdcxx: FilePath = ""  # the libstdc++.so.6 that this Python loads first
    libstdcxx_version: Version | None = None  # its highest GLIBCXX
    unresolved_symbols: tuple[FreeText, ...] = ()  # 'package: symbol' that torch's libraries do not export
