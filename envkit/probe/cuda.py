"""Every CUDA toolkit on disk and what `nvcc` on PATH really is; versions come from files before any command."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.json_text import loads
from envkit.base.versions import Version, whole_number
from envkit.host.base import Host
from envkit.model import CudaLink, CudaToolkit, Nvcc, Observed, Problem, found, missing
from envkit.probe.cuda_tools import banner, behind, carried
from envkit.probe.text import Facts, derived

LINK = "/usr/local/cuda"
VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR")
PATTERNS = (
    (LINK, ""),
    ("/usr/local/cuda-*", ""),
    ("/opt/cuda", "package"),
    ("/opt/cuda-*", ""),
    ("/opt/nvidia/hpc_sdk/Linux_*/*/cuda/[0-9]*", "runfile"),
    ("/usr/lib/nvidia-cuda-toolkit", "package"),
    ("/usr/lib/cuda", "package"),
)
WHEEL_PATTERNS = ("lib/python3*/site-packages/nvidia/cuda_nvcc", "lib/python3*/site-packages/nvidia/cu[0-9]*")
TOOLS = ("bin2c", "fatbinary", "nvcc")  # the smallest file that carries the compiler's banner comes first
_HEADER_NUMBER = regex(r"#define\s+(?:CUDA_VERSION|CUDART_VERSION)\s+(\d+)")
_DIST_INFO = regex(r"nvidia_cuda_nvcc(?:_cu\d+)?-(\d+(?:\.\d+)+)\.dist-info")
_GCC_GUARD = regex(
    r"#\s*if\s+__GNUC__\s*>\s*(\d+)(?:\s*\|\|\s*\(\s*__GNUC__\s*==\s*\1\s*&&\s*__GNUC_MINOR__\s*>\s*(\d+)\s*\))?"
)


def probe(host: Host) -> Facts:
    """`cuda_toolkits`, `nvcc`, `cuda_link`, `cuda_home`."""
    compiler = nvcc(host)
    return {
        "nvcc": compiler,
        "cuda_toolkits": toolkits(host, compiler.value),
        "cuda_link": _link(host),
        "cuda_home": _home(host),
    }


def _home(host: Host) -> Observed[str]:
    """The folder that builds take for the toolkit without looking: CUDA_HOME's, otherwise CUDA_PATH's."""
    variables = host.variables()
    home = variables.get("CUDA_HOME") or variables.get("CUDA_PATH") or ""
    return (
        host.real_path(home) if home.startswith("/") else missing(Problem.ABSENT, "variables", "no directory is named")
    )


def _link(host: Host) -> Observed[CudaLink]:
    target = host.read_link(LINK)
    resolves = host.real_path(LINK).known
    return derived(target, lambda target: CudaLink(target, resolves))


def toolkits(host: Host, compiler: Nvcc | None = None) -> Observed[tuple[CudaToolkit, ...]]:
    """Every toolkit once, by its real path; ABSENT when none was found in any of the usual places."""
    seen: dict[str, CudaToolkit] = {}
    for path, origin in _candidates(host, compiler):
        real = host.real_path(path).value
        if real is None or real in seen:
            continue
        toolkit = _toolkit(host, path, real, origin)
        if toolkit is not None:
            seen[real] = toolkit
    if seen:
        return found(tuple(sorted(seen.values(), key=lambda item: (item.version, item.path))), "toolkit folders")
    local = host.list_dir("/usr/local")
    if local.value is None and local.problem is not Problem.ABSENT:
        return derived(local, lambda names: None)
    return missing(Problem.ABSENT, "/usr/local/cuda*", "no CUDA toolkit in the usual places")


def prefixes(host: Host) -> tuple[str, ...]:
    """The Python prefixes that are in use: this one, the active virtual environment, the active conda environment."""
    variables = host.variables()
    paths = (host.identity().get("prefix"), variables.get("VIRTUAL_ENV"), variables.get("CONDA_PREFIX"))
    return tuple(dict.fromkeys(path for path in paths if path and path.startswith("/")))


def _candidates(host: Host, compiler: Nvcc | None) -> Iterator[tuple[str, str]]:
    """Folders to look at, with where they come from when the place tells."""
    for pattern, origin in PATTERNS:
        links_last = sorted(host.glob(pattern), key=lambda path: host.real_path(path).value != path)
        yield from ((path, origin) for path in links_last)
    for name in VARIABLES:
        path = host.variables().get(name, "")
        if path.startswith("/"):
            yield posixpath.normpath(path), ""
    if compiler is not None and compiler.toolkit_path:
        yield compiler.toolkit_path, ""
    conda = host.variables().get("CONDA_PREFIX")
    if conda:
        yield conda, "conda"
        yield f"{conda}/targets/x86_64-linux", "conda"
    for prefix in prefixes(host):
        for pattern in WHEEL_PATTERNS:
            yield from ((path, "wheel") for path in host.glob(f"{prefix}/{pattern}"))


def _toolkit(host: Host, path: str, real: str, origin: str) -> CudaToolkit | None:
    read = _version(host, real)
    if read is None:
        return None
    version, source = read
    compiler = host.status(f"{real}/bin/nvcc").known
    headers = any(
        host.status(f"{real}/{place}/cuda_runtime.h").known for place in ("include", "targets/x86_64-linux/include")
    )
    runtime = bool(host.glob(f"{real}/lib*/libcudart.so*") or host.glob(f"{real}/targets/*/lib/libcudart.so*"))
    if not (compiler or headers or runtime):
        return None
    if not origin:
        origin = "package" if _packaged(host, real) else "runfile" if real.startswith(("/usr/local/", "/opt/")) else ""
    return CudaToolkit(
        version, path, real, source, compiler, compiler and headers and runtime, origin, _gcc_max(host, real)
    )


def _gcc_max(host: Host, root: str) -> Version | None:
    """The newest gcc that the toolkit's own header lets pass: `#if __GNUC__ > 15`, with or without a minor number."""
    for place in ("include/crt/host_config.h", "include/host_config.h"):
        match = _GCC_GUARD.search(host.read_text(f"{root}/{place}").value or "")
        if match:
            return Version.find(match.group(1) if match.group(2) is None else f"{match.group(1)}.{match.group(2)}")
    return None


def _packaged(host: Host, path: str) -> bool:
    """True when dpkg's list of some package with the release in its name holds this folder."""
    release = posixpath.basename(path).removeprefix("cuda-").replace(".", "-")
    return bool(host.glob(f"/var/lib/dpkg/info/cuda-*-{release}.list"))


def _version(host: Host, root: str) -> tuple[Version, str] | None:
    """The toolkit's version and the file that tells it, the most exact source first."""
    for read in (_from_json, _from_text, _from_dist_info, _from_tools, _from_headers):
        answer = read(host, root)
        if answer is not None:
            return answer
    return None


def _from_json(host: Host, root: str) -> tuple[Version, str] | None:
    """`{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}, …}`, written by CUDA 11.1 and newer."""
    path = f"{root}/version.json"
    text = host.read_text(path).value
    if text is None:
        return None
    try:
        data = loads(text)
    except ValueError:
        return None
    entry = data.get("cuda") if isinstance(data, dict) else None
    version = Version.find(str(entry.get("version", ""))) if isinstance(entry, dict) else None
    return (version, path) if version else None


def _from_text(host: Host, root: str) -> tuple[Version, str] | None:
    """`CUDA Version 9.0.176`, maybe followed by lines for its patches."""
    path = f"{root}/version.txt"
    version = Version.find((host.read_text(path).value or "").partition("\n")[0])
    return (version, path) if version else None


def _from_dist_info(host: Host, root: str) -> tuple[Version, str] | None:
    """A toolkit that was assembled from wheels, or the wheel itself: nvcc's own version."""
    for folder in (f"{root}/dist-info", posixpath.dirname(posixpath.dirname(root))):
        for name in host.list_dir(folder).value or ():
            match = _DIST_INFO.fullmatch(name)
            version = Version.find(match.group(1)) if match else None
            if version is not None:
                return version, f"{folder}/{name}"
    return None


def _from_tools(host: Host, root: str) -> tuple[Version, str] | None:
    """The banner inside the compiler's programs."""
    for tool in TOOLS:
        path = f"{root}/bin/{tool}"
        version = carried(host.read_bytes(path).value or b"")
        if version is not None:
            return version, path
    return None


def _from_headers(host: Host, root: str) -> tuple[Version, str] | None:
    """`#define CUDA_VERSION 13000`: the release line alone."""
    for name in ("cuda.h", "cuda_runtime_api.h"):
        path = f"{root}/include/{name}"
        match = _HEADER_NUMBER.search(host.read_text(path, 4_000_000).value or "")
        number = whole_number(match.group(1)) if match else None
        if number is not None:
            return Version.of(number // 1000, number % 1000 // 10), path
    return None


def nvcc(host: Host) -> Observed[Nvcc]:
    """The compiler that PATH gives, followed through links and wrapper scripts to its toolkit."""
    program = host.which("nvcc")
    if program.value is None:
        return derived(program, lambda path: None)
    path = program.value
    real, wrapper = behind(host, path, "nvcc")
    root = posixpath.dirname(posixpath.dirname(real)) if posixpath.basename(real) == "nvcc" else ""
    read = _version(host, root) if root else None
    version = read[0] if read else _asked(host, path)
    return found(Nvcc(path, real, version, wrapper, root if read else ""), path)


def _asked(host: Host, path: str) -> Version | None:
    """What `nvcc --version` says, where no file tells."""
    result = host.run([path, "--version"], 3.0).value
    return banner(result.stdout) if result else None
