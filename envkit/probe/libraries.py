"""Which file each framework would load for every CUDA library that it needs, and by which rule of the loader.

The dynamic linker looks, in this order: DT_RPATH of the library and of those that loaded it (only where the library
has no DT_RUNPATH), LD_LIBRARY_PATH, DT_RUNPATH of the library alone, the loader's cache, the default folders. A name
that is loaded already is not looked for again. (Measured against the loader of glibc 2.36.)
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.host.base import Host
from envkit.model import FrameworkInstall, LibraryUse
from envkit.probe.distributions import Owner
from envkit.probe.elf import ElfFile, ElfReader
from envkit.probe.interpreters import Interpreter
from envkit.probe.ld_cache import ld_cache
from envkit.probe.sonames import is_cuda_library, sonames

_DEFAULT_FOLDERS = ("/lib/{triplet}", "/usr/lib/{triplet}", "/lib64", "/usr/lib64", "/lib", "/usr/lib")
_CONSUMERS = {  # in the order in which importing the framework loads them
    "pytorch": (
        "torch/lib/libtorch_global_deps.so",
        "torch/lib/libtorch_cpu.so",
        "torch/lib/libc10_cuda.so",
        "torch/lib/libtorch_cuda.so",
        "torch/lib/libtorch_cuda_linalg.so",
    ),
    "tensorflow": (
        "tensorflow/libtensorflow_framework.so.2",
        "tensorflow/libtensorflow_cc.so.2",
        "tensorflow/python/_pywrap_tensorflow_internal.so",
        "tensorflow_core/python/_pywrap_tensorflow_internal.so",
    ),
    "jax": ("jax_plugins/xla_cuda*/xla_cuda_plugin.so", "jaxlib/xla_extension.so"),
    "mxnet": ("mxnet/libmxnet.so",),
    "paddlepaddle": ("paddle/base/libpaddle.so", "paddle/fluid/libpaddle.so"),
    "onnxruntime": ("onnxruntime/capi/libonnxruntime_providers_cuda.so",),
}
_OPENED_BY_NAME = {  # libraries that the framework opens by name instead of linking to them
    "tensorflow": ("cudart", "cublas", "cublasLt", "cufft", "cusolver", "cusparse"),
    "jax": ("cublas", "cufft", "cusolver", "cusparse"),
}
_PRELOADS = frozenset({"pytorch", "jax"})  # load the files of NVIDIA's wheels by path where the loader finds none
_EXTENSIONS = ("flash_attn_2_cuda*.so", "ctranslate2.libs/libctranslate2*.so*", "xformers/_C*.so", "torchvision/_C.so")
_FOLLOWED = regex(r"lib(cusparse|cusolver|cublas)\.so\.[\d.]+")  # these need nvJitLink and cublasLt, too
_PRELOAD_NAME = regex(r"[\"'](lib\w+)\.so\.")
_FILE_VERSION = regex(r"\.so\.(\d+(?:\.\d+)+)$")


@dataclass
class _Process:
    """The libraries that one imported framework has loaded so far, by name."""

    uses: dict[str, LibraryUse] = field(default_factory=dict)


def library_uses(
    interpreter: Interpreter,
    installs: Iterable[FrameworkInstall],
    owners: Mapping[str, tuple[Owner, ...]],
    elves: ElfReader,
) -> tuple[LibraryUse, ...]:
    """Every CUDA library that each framework of this environment needs, with the file that it would get."""
    host = elves.host
    wanted = [install for install in installs if install.cuda is not None]
    extensions = [path for folder in interpreter.site_folders for path in _extensions(host, folder)]
    if not wanted and not extensions:
        return ()
    search = _Search(elves, interpreter.site_folders, owners)
    uses: list[LibraryUse] = []
    preloaded: dict[str, LibraryUse] = {}
    for install in wanted:
        process = _Process()
        for position, path in enumerate(_consumers(host, install)):
            if position == 1 and install.name == "pytorch":  # after its first library, before all others
                search.preload(f"{install.path}/torch/__init__.py", process)
            search.load(path, process, opened=_opened(install), preload=install.name in _PRELOADS)
        uses.extend(process.uses.values())
        if install.name == "pytorch":
            preloaded = process.uses
    for path in extensions:  # an extension of PyTorch is loaded after it
        process = _Process(dict(preloaded))
        search.load(path, process, opened=(), preload=False)
        uses.extend(use for use in process.uses.values() if use not in uses)
    return tuple(uses)


def cudnn_sublibraries(host: Host, owners: Mapping[str, tuple[Owner, ...]]) -> Mapping[str, Version]:
    """The exact release of each libcudnn* file that wheels put next to each other, by path.

    A file belongs to the distribution whose record gives its size. One that fits no record carries only the major
    number of its name: it was left behind or overwritten by something else.
    """
    claimed = {path: claims for path, claims in owners.items() if "/libcudnn" in path and ".so" in path}
    for folder in {posixpath.dirname(path) for path in claimed}:
        for path in host.glob(f"{folder}/libcudnn*.so*"):
            claimed.setdefault(path, ())
    versions = {}
    for path, claims in sorted(claimed.items()):
        size = _size(host, path)
        fitting = [claim for claim in claims if size is not None and claim.size in (size, None)]
        version = Version.find(fitting[-1].version) if fitting else _major_of(path)
        if size is not None and version is not None:
            versions[path] = version.release(3) if fitting else version
    return versions


def _major_of(path: str) -> Version | None:
    match = re.search(r"\.so\.(\d+(?:\.\d+)*)$", path)
    return Version.find(match.group(1)) if match else None


def _consumers(host: Host, install: FrameworkInstall) -> Iterator[str]:
    for pattern in _CONSUMERS.get(install.name, ()):
        yield from host.glob(f"{install.path}/{pattern}")


def _extensions(host: Host, folder: str) -> Iterator[str]:
    for pattern in _EXTENSIONS:
        yield from host.glob(f"{folder}/{pattern}")


def _opened(install: FrameworkInstall) -> tuple[str, ...]:
    libraries = _OPENED_BY_NAME.get(install.name, ())
    if not libraries or install.cuda is None:
        return ()
    cudnn = (f"libcudnn.so.{install.cudnn.major}",) if install.cudnn else ()
    return (*sonames(install.cuda, *libraries), *cudnn)


class _Search:
    """The dynamic linker's search on one host for one Python environment."""

    def __init__(
        self, elves: ElfReader, site_folders: tuple[str, ...], owners: Mapping[str, tuple[Owner, ...]]
    ) -> None:
        self.elves = elves
        self.host = host = elves.host
        self.site_folders = site_folders
        self.owners = owners
        architecture = host.identity().get("architecture", "")
        triplet = f"{architecture}-linux-gnu"
        self.defaults = tuple(folder.format(triplet=triplet) for folder in _DEFAULT_FOLDERS)
        self.library_path = tuple(part for part in host.variables().get("LD_LIBRARY_PATH", "").split(":") if part)
        self.cache = ld_cache(host, architecture)

    def load(self, path: str, process: _Process, *, opened: tuple[str, ...], preload: bool) -> None:
        """Resolve what `path` needs and opens, breadth first like the loader, into `process`."""
        waiting: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = [(path, (), opened)]
        while waiting:
            current, inherited, by_name = waiting.pop(0)
            observed = self.elves.read(current)
            if not observed.known:
                continue
            elf = observed.get()
            chain = inherited if elf.runpath else (*_expanded(elf.rpath, current), *inherited)
            rpath = () if elf.runpath else chain
            for soname in (*filter(is_cuda_library, elf.needed), *by_name):
                if soname in process.uses:
                    continue
                use = self._use(elf, soname, rpath, preload)
                process.uses[soname] = use
                if use.path and _FOLLOWED.fullmatch(soname):
                    waiting.append((use.path, chain, ()))

    def preload(self, program: str, process: _Process) -> None:
        """Load the wheels' libraries that torch's own start-up code names and loads by path."""
        text = self.host.read_text(program, 100_000).value or ""
        for library in _preloaded_libraries(text):
            path = self._in_wheels(f"{library}.so.*[0-9]")
            if path is not None:
                soname = posixpath.basename(path)
                use = LibraryUse(program, soname, path, "loaded by path by torch", self._version(path))
                process.uses.setdefault(soname, use)

    def _use(self, elf: ElfFile, soname: str, rpath: tuple[str, ...], preload: bool) -> LibraryUse:
        path, rule = self._find(soname, rpath, _expanded(elf.runpath, elf.path))
        if path is None:
            in_wheel = self._in_wheels(soname)
            if in_wheel and preload:
                path, rule = in_wheel, "loaded by path from NVIDIA's wheel"
            elif in_wheel:
                rule = f"not searched for in the wheel's own directory ({in_wheel})"
        return LibraryUse(elf.path, soname, path, rule, self._version(path) if path else "")

    def _find(self, soname: str, rpath: tuple[str, ...], runpath: tuple[str, ...]) -> tuple[str | None, str]:
        steps = (("RPATH", rpath), ("LD_LIBRARY_PATH", self.library_path), ("RUNPATH", runpath))
        for rule, folders in steps:
            for folder in folders:
                path = posixpath.normpath(f"{folder}/{soname}")
                if self.host.status(path).known:
                    return path, rule
        if soname in self.cache and self.host.status(self.cache[soname]).known:
            return self.cache[soname], "ld.so.cache"
        for folder in self.defaults:
            if self.host.status(f"{folder}/{soname}").known:
                return f"{folder}/{soname}", "default"
        return None, "missing"

    def _in_wheels(self, soname: str) -> str | None:
        """The file of that name, or of the first that a pattern fits, in the wheels' own library folders."""
        if "*" not in soname:
            return self.wheel_files.get(soname)
        return next((path for name, path in self.wheel_files.items() if fnmatchcase(name, soname)), None)

    @cached_property
    def wheel_files(self) -> Mapping[str, str]:
        """Every file in site-packages/nvidia/*/lib and site-packages/*/lib by its name."""
        files: dict[str, str] = {}
        for site in self.site_folders:
            for folder in (*self.host.glob(f"{site}/nvidia/*/lib"), *self.host.glob(f"{site}/*/lib")):
                for name in self.host.list_dir(folder).value or ():
                    files.setdefault(name, f"{folder}/{name}")
        return files

    def _version(self, path: str) -> str:
        """The release of the file: of the distribution that owns it, or in the name of the file after the link."""
        claims = self.owners.get(path, ())
        size = _size(self.host, path)
        fitting = [claim.version for claim in claims if claim.size in (size, None)]
        if fitting:
            return fitting[-1]
        real = self.host.real_path(path).value or path
        match = _FILE_VERSION.search(real)
        return match.group(1) if match else ""


def _size(host: Host, path: str) -> int | None:
    status = host.status(path)
    return status.get().size if status.known else None


def _preloaded_libraries(text: str) -> list[str]:
    """The libraries that torch/__init__.py loads by path although its first library loaded well.

    Older releases do so only after a failure, later ones for nvJitLink and nvrtc, the newest for every CUDA library.
    """
    body = text.partition("RTLD_GLOBAL)")[2].partition("except OSError")[0]
    if "_preload_cuda_deps(" not in body:
        return []
    return _PRELOAD_NAME.findall(body) or _PRELOAD_NAME.findall(text.partition("def _preload_cuda_deps")[2])


def _expanded(folders: tuple[str, ...], path: str) -> tuple[str, ...]:
    origin = posixpath.dirname(path)
    return tuple(
        posixpath.normpath(folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin)) for folder in folders
    )
