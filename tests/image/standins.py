"""Stand-ins for what only NVIDIA serves: runfiles, cuDNN archives and images with CUDA's libraries.

The libraries are the real ones, taken from NVIDIA's own packages on the index.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import ipaddress
import lzma
import re
import shutil
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tests.engine.engine import Engine
from tests.engine.tools import CACHE, run

# What a CUDA 11.8 runtime image holds and frameworks load, as packages of the index.
CUDA11 = (
    "nvidia-cuda-runtime-cu11==11.8.89",
    "nvidia-cublas-cu11==11.11.3.6",
    "nvidia-cuda-nvrtc-cu11==11.8.89",
    "nvidia-cufft-cu11==10.9.0.58",
    "nvidia-curand-cu11==10.3.0.86",
    "nvidia-cusolver-cu11==11.4.1.48",
    "nvidia-nvtx-cu11==11.8.86",
)
CUDA12_RUNTIME = ("nvidia-cuda-runtime-cu12==12.4.127",)
CUDNN8 = ("nvidia-cudnn-cu11==8.9.6.50",)
NCCL = ("nvidia-nccl-cu11==2.21.5",)

# A runfile unpacks what follows its last line. It takes the options that envkit gives it and refuses others.
_INSTALLER = r"""#!/bin/sh
set -eu
if [ "${1:-}" = --tar ]; then : > "${3#./}"; exit 0; fi
target=""
for option in "$@"; do
  case "$option" in
    --toolkitpath=*|--installdir=*) target="${option#*=}" ;;
    --silent|--toolkit|--override|--accept-eula|--no-man-page|--verbose|--tmpdir=*|--defaultroot=*) ;;
    *) echo "unknown option: $option" >&2; exit 1 ;;
  esac
done
test -n "$target" || { echo "no target" >&2; exit 1; }
mkdir -p "$target"
tail -n +@NEXT@ "$0" | tar -x -f - -C "$target"
exit 0
"""


def wheel_libraries(packages: Sequence[str], target: Path) -> None:
    """The shared libraries of NVIDIA's packages, laid out as in a toolkit's lib64; nothing is done if it is there."""
    if target.is_dir():
        return
    work = target.with_name(f"{target.name}.part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(work / "wheels")]
    run([*pip, *packages])
    (work / "lib64").mkdir()
    for wheel in sorted((work / "wheels").glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if "/lib/lib" in name and ".so" in name:
                    (work / "lib64" / Path(name).name).write_bytes(archive.read(name))
    shutil.rmtree(work / "wheels")
    work.rename(target)


def cuda_image(engine: Engine, name: str, libraries: Path) -> str:
    """A stand-in for a CUDA runtime image: the distribution root with these libraries where NVIDIA puts them."""
    if engine.has_image(name):
        return name
    plain = engine.stand_in(f"stand-in/{name.partition(':')[2]}:plain")
    told = "RUN echo /usr/local/cuda/lib64 > /etc/ld.so.conf.d/cuda.conf && ldconfig"
    built = engine.build(f"FROM {plain}\nCOPY lib64 /usr/local/cuda/lib64\n{told}\n", name, context=libraries)
    assert built.exit_code == 0, built.log
    return name


def runfile(target: Path, release: str, libraries: Path | None = None) -> str:
    """A stand-in runfile for one CUDA release and its SHA-256; with libraries it is as big as they are."""
    content = target.with_name(f"{target.name}.content")
    for folder in ("bin", "lib64", "include", "nvvm/libdevice", "extras/CUPTI/lib64"):
        (content / folder).mkdir(parents=True)
    for program in ("nvcc", "ptxas"):
        file = content / "bin" / program
        file.write_text(f'#!/bin/sh\necho "Cuda compilation tools, release {release}"\n')
        file.chmod(0o755)
    (content / "nvvm/libdevice/libdevice.10.bc").write_bytes(b"")
    (content / "include/cuda.h").write_text("")
    (content / "extras/CUPTI/lib64/libcupti.so").write_bytes(b"")
    if libraries:
        shutil.copytree(libraries / "lib64", content / "lib64", dirs_exist_ok=True)
    else:
        (content / f"lib64/libcudart.so.{release}").write_bytes(b"")
    with target.open("wb") as made:
        made.write(_INSTALLER.replace("@NEXT@", str(_INSTALLER.count("\n") + 1)).encode())
        made.flush()
        with tarfile.open(fileobj=made, mode="w|") as packed:
            packed.add(content, arcname=".")
    shutil.rmtree(content)
    return sha256(target)


def archive(target: Path, libraries: Path) -> str:
    """A stand-in cuDNN archive, laid out as NVIDIA's, and its SHA-256."""
    target.parent.mkdir(parents=True, exist_ok=True)
    # Packed as loosely as the format allows: a gigabyte takes minutes otherwise.
    xz = target.suffix == ".xz"
    opened = functools.partial(lzma.open, preset=0) if xz else functools.partial(gzip.open, compresslevel=1)
    with opened(target, "wb") as packed, tarfile.open(fileobj=packed, mode="w|") as made:
        for library in sorted((libraries / "lib64").glob("libcudnn*")):
            made.add(library, arcname=f"cudnn/lib/{library.name}")
    return sha256(target)


def sha256(path: Path) -> str:
    """The file's SHA-256."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def driver_stub(folder: Path, loading: Sequence[Path], name: str = "libcuda.so.1", prefix: str = "cu") -> Path:
    """A library of the driver without a device, with the functions that these libraries ask for, compiled here.

    It stands for what the NVIDIA runtime mounts from the host's driver.
    """
    missing: set[str] = set()
    for library in loading:
        with library.open("rb") as stream:
            table = ELFFile(stream).get_section_by_name(".dynsym")
            assert isinstance(table, SymbolTableSection)
            missing |= {symbol.name for symbol in table.iter_symbols() if symbol["st_shndx"] == "SHN_UNDEF"}
    wanted = sorted(one for one in missing if re.match(f"{prefix}[A-Z]", one))
    stub, source = folder / name, folder / "driver.c"
    source.write_text("".join(f"int {one}(void) {{ return 100; }}\n" for one in wanted))
    run(["gcc", "-shared", "-fPIC", f"-Wl,-soname,{name}", "-o", str(stub), str(source)])
    return stub


@contextmanager
def served(engine: Engine, folder: Path) -> Iterator[str]:
    """The address at which builds reach the files of a folder."""
    subnet = engine.run("network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Subnet}}").stdout.strip()
    with serving(folder, str(ipaddress.ip_network(subnet)[1])) as address:
        yield address


@contextmanager
def serving(folder: Path, host: str = "127.0.0.1") -> Iterator[str]:
    """The address that serves the files of a folder."""
    handler = functools.partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer((host, 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://{host}:{server.server_port}"
        server.shutdown()
        thread.join()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the build's log says what was fetched."""


LIBRARIES = CACHE / "libraries"
