"""CUDA and cuDNN from their installers on a plain distribution, as lines of a Dockerfile: for images that are gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit.compat.software import cudnn_supports_cuda
from envkit.compat.system import CompilerEffort, compiling_effort
from envkit.dockerfile.base import Base
from envkit.dockerfile.other_tags import FLAVORS
from envkit.image.cudnn import archive_of
from envkit.image.toolkit import runfile_commands
from envkit.tables import images as data
from envkit.tables.rows import CudnnRelease, ImageTag, Runfile

if TYPE_CHECKING:
    from envkit.tables import Matrix

_PURPOSES = ("certificates", "fetch", "keys", "unpack")
_COMPILING = ("compiler",)  # what a devel image has besides
_APT = "apt"
_TOOLKIT = "toolkit"
_CUDA = "/usr/local/cuda"
_WORK = "/tmp"
_LIBRARIES = f"{_CUDA}/lib64"
_STUBS = f"LIBRARY_PATH={_LIBRARIES}/stubs"  # of a devel image, in which there is no driver to link with
_OF_ALL = (  # what every image of nvidia/cuda sets
    f"PATH={_CUDA}/bin:$PATH",
    "LD_LIBRARY_PATH=/usr/local/nvidia/lib:/usr/local/nvidia/lib64",
    "NVIDIA_VISIBLE_DEVICES=all",
    "NVIDIA_DRIVER_CAPABILITIES=compute,utility",
)


@record
class CudaInstalled:
    """A distribution's image, the lines that put CUDA into it, and the release in words."""

    image: str
    lines: tuple[str, ...]
    title: str


def cuda_installed(row: ImageTag, base: Base, matrix: Matrix) -> CudaInstalled | None:
    """What stands in for an image of nvidia/cuda; None where an installer of its release is not known for certain."""
    system = base.system
    runfile = _runfile(row, base, matrix)
    if runfile is None or system is None or system.base_image is None or system.package_manager != _APT:
        return None
    toolkit = matrix.toolkit(runfile.cuda)
    compiles = row.flavor == FLAVORS[-1]
    if toolkit is None or (compiles and compiling_effort(system, toolkit) is not CompilerEffort.NONE):
        return None
    cudnn = _cudnn(row, runfile, matrix)
    if row.cudnn and cudnn is None:
        return None
    purposes = (*_PURPOSES, f"runfile-{toolkit.installer_style}", *(_COMPILING if compiles else ()))
    names = " ".join(name for purpose in purposes for name in data.packages(purpose, system))
    path, file = f"{_CUDA}-{toolkit.release}", f"{_WORK}/{runfile.name}"
    lines = [
        f"# CUDA {toolkit.release} from NVIDIA's installer, as in {row.repository}:{row.tag}, which cannot be pulled",
        f"ENV {' '.join((f'CUDA_VERSION={runfile.cuda}', *_OF_ALL, *([_STUBS] if compiles else [])))}",
        *_run("apt-get update", f"apt-get install -y --no-install-recommends {names}", "rm -rf /var/lib/apt/lists/*"),
        *_run(
            *_fetched(runfile.url, runfile.name, runfile.sha256 or ""),
            *runfile_commands(runfile, toolkit.installer_style, file, path),
            f"rm {file}",
            f"ln -sfn {path} {_CUDA}",
            f"echo {_LIBRARIES} > /etc/ld.so.conf.d/cuda.conf",
            "ldconfig",
        ),
    ]
    archive = archive_of(cudnn) if cudnn is not None else None
    if archive is not None:
        url, name, sha256 = archive
        got, folder = f"{_WORK}/{name}", f"{_WORK}/cudnn"
        lines += _run(
            *_fetched(url, name, sha256),
            f"mkdir {folder}",
            f"tar -xf {got} -C {folder} --strip-components=1",
            f"find {folder} -name 'libcudnn*' -exec cp -a -t {path}/lib64/ {{}} +",
            f"find {folder} -name 'cudnn*.h' -exec cp -a -t {path}/include/ {{}} +",
            f"rm -r {got} {folder}",
            "ldconfig",
        )
    return CudaInstalled(system.base_image, tuple(lines), f"CUDA {toolkit.release}")


def _run(*commands: str) -> list[str]:
    """The lines of one instruction, a command on each."""
    first, *rest = commands
    return " \\\n    && ".join((f"RUN {first}", *rest)).split("\n")


def _fetched(url: str, name: str, sha256: str) -> tuple[str, str]:
    got = f"{_WORK}/{name}"
    return f"curl -fsSL --retry 3 -o {got} {url}", f'echo "{sha256}  {got}" | sha256sum -c -'


def _runfile(row: ImageTag, base: Base, matrix: Matrix) -> Runfile | None:
    """The newest installer of the tag's release whose checksum is known."""
    found = [
        one
        for one in matrix.all_runfiles
        if row.cuda is not None
        and one.cuda.release(2) == row.cuda.release(2)
        and one.architecture == base.architecture
        and one.kind == _TOOLKIT
        and one.sha256
    ]
    return max(found, key=lambda one: one.cuda, default=None)


def _cudnn(row: ImageTag, runfile: Runfile, matrix: Matrix) -> CudnnRelease | None:
    """The newest release of the cuDNN that the tag names, for this CUDA and with a checksum."""
    major = data.tag_cudnn(row.cudnn)
    found = [
        one
        for one in matrix.cudnns
        if one.soname_major == major
        and one.architecture == runfile.architecture
        and cudnn_supports_cuda(one, runfile.cuda.release(2))
        and archive_of(one) is not None
    ]
    return max(found, key=lambda one: one.version, default=None)
