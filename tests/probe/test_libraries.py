"""Which file the loader takes: our answer next to that of the real loader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from envkit.base.versions import Version
from envkit.host.local import LocalHost
from envkit.model import FrameworkInstall, LibraryUse
from envkit.probe.distributions import distributions_in, file_owners, owners_clash
from envkit.probe.elf import ElfReader
from envkit.probe.interpreters import Interpreter
from envkit.probe.ld_cache import ld_cache
from envkit.probe.libraries import cudnn_sublibraries, library_uses
from envkit.probe.sonames import package_of, sonames
from tests.fakes.memory_host import MemoryHost
from tests.probe.binaries import library

LOADED = """
import ctypes, json, sys
for path in sys.argv[1:]:
    ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
print(json.dumps(sorted({line.split()[-1] for line in open("/proc/self/maps") if "/lib" in line})))
"""


def resolved(site: Path, variables: dict[str, str], name: str = "pytorch") -> dict[str, LibraryUse]:
    host = LocalHost(variables)
    install = FrameworkInstall(name, "1.0", "torch==1.0", Version.parse("12.4"), True, path=str(site))
    interpreter = Interpreter(str(site), sys.executable, Version.parse("3.11"), "venv", True, (str(site),))
    owners = file_owners(host, tuple(distributions_in(host, str(site))))
    return {use.soname: use for use in library_uses(interpreter, [install], owners, ElfReader(host))}


def really_loaded(*paths: Path, variables: dict[str, str]) -> list[str]:
    command = [sys.executable, "-c", LOADED, *map(str, paths)]
    answer = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    return [str(path) for path in json.loads(answer.stdout)]


@pytest.mark.parametrize("consumer_runpath", [False, True])
@pytest.mark.parametrize("library_runpath", [False, True])
@pytest.mark.parametrize("foreign", [False, True])
def test_the_loader_takes_the_file_that_we_name(
    tmp_path: Path, consumer_runpath: bool, library_runpath: bool, foreign: bool
) -> None:
    site, other = tmp_path / "site", tmp_path / "other"
    wheels = site / "nvidia" / "all" / "lib"
    link = library(wheels / "libnvJitLink.so.12")
    sparse = library(wheels / "libcusparse.so.12", needs=[link], search="$ORIGIN", runpath=library_runpath)
    runtime = library(wheels / "libcudart.so.12")
    needs = [sparse, runtime]
    search = "$ORIGIN/../../nvidia/all/lib"
    torch = library(site / "torch" / "lib" / "libtorch_cuda.so", needs=needs, search=search, runpath=consumer_runpath)
    for name in ("libnvJitLink.so.12", "libcusparse.so.12", "libcudart.so.12"):
        library(other / name)
    variables = {"LD_LIBRARY_PATH": str(other)} if foreign else {}
    ours = {use.path for use in resolved(site, variables).values()}
    real = really_loaded(torch, variables={**os.environ, "LD_LIBRARY_PATH": variables.get("LD_LIBRARY_PATH", "")})
    assert sorted(path for path in ours if path) == [
        path for path in real if "libtorch" not in path and str(tmp_path) in path
    ]


def test_what_the_loader_does_not_find_is_missing(tmp_path: Path) -> None:
    site = tmp_path / "site"
    gone = library(tmp_path / "gone" / "libcudart.so.99")
    library(site / "torch" / "lib" / "libtorch_cuda.so", needs=[gone], search="$ORIGIN")
    use = resolved(site, {})["libcudart.so.99"]
    assert (use.path, use.rule) == (None, "missing")


def test_torch_loads_by_path_what_the_loader_does_not_find(tmp_path: Path) -> None:
    site = tmp_path / "site"
    runtime = library(site / "nvidia" / "cuda_runtime" / "lib" / "libcudart.so.99")
    library(site / "torch" / "lib" / "libtorch_cuda.so", needs=[runtime])
    assert resolved(site, {})["libcudart.so.99"].path == str(runtime)


def test_another_framework_does_not_look_into_the_wheels(tmp_path: Path) -> None:
    site = tmp_path / "site"
    runtime = library(site / "nvidia" / "cuda_runtime" / "lib" / "libcudart.so.99")
    library(site / "onnxruntime" / "capi" / "libonnxruntime_providers_cuda.so", needs=[runtime])
    use = resolved(site, {}, "onnxruntime")["libcudart.so.99"]
    assert use.path is None
    assert str(runtime) in use.rule


def test_tensorflow_opens_its_libraries_by_name(tmp_path: Path) -> None:
    site = tmp_path / "site"
    library(site / "nvidia" / "cufft" / "lib" / "libcufft.so.11")
    library(site / "tensorflow" / "libtensorflow_framework.so.2", search="$ORIGIN/../nvidia/cufft/lib", runpath=True)
    uses = resolved(site, {}, "tensorflow")
    assert uses["libcufft.so.11"].rule == "RUNPATH"
    assert {"libcudart.so.12", "libcublas.so.12", "libcusparse.so.12"} <= set(uses)


def test_torchs_own_start_up_code_decides_what_it_loads_first(tmp_path: Path) -> None:
    site, other = tmp_path / "site", tmp_path / "other"
    wheels = site / "nvidia" / "all" / "lib"
    link = library(wheels / "libnvJitLink.so.12")
    sparse = library(wheels / "libcusparse.so.12", needs=[link], search="$ORIGIN", runpath=True)
    library(other / "libnvJitLink.so.12")
    lib = site / "torch" / "lib"
    library(lib / "libtorch_global_deps.so")
    library(lib / "libtorch_cuda.so", needs=[sparse], search="$ORIGIN/../../nvidia/all/lib")
    variables = {"LD_LIBRARY_PATH": str(other)}
    assert resolved(site, variables)["libnvJitLink.so.12"].path == str(other / "libnvJitLink.so.12")
    (site / "torch" / "__init__.py").write_text(
        "try:\n    ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)\n"
        '    _preload_cuda_deps("nvjitlink", "libnvJitLink.so.*[0-9]")\nexcept OSError as err:\n    pass\n'
    )
    assert resolved(site, variables)["libnvJitLink.so.12"].path == str(link)


def wheel(site: Path, name: str, version: str, files: dict[str, bytes]) -> None:
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\n")
    lines = [f"{path},sha256=x,{len(content)}" for path, content in files.items()]
    (folder / "RECORD").write_text("\n".join(lines) + "\n")
    for path, content in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(content)


def test_two_wheels_in_one_folder_show_which_file_is_whose(tmp_path: Path) -> None:
    lib = "nvidia/cudnn/lib"
    wheel(
        tmp_path,
        "nvidia-cudnn-cu12",
        "9.1.0.70",
        {f"{lib}/libcudnn.so.9": b"x" * 10, f"{lib}/libcudnn_ops.so.9": b"x" * 20},
    )
    wheel(tmp_path, "nvidia-cudnn-cu13", "9.20.0.48", {f"{lib}/libcudnn.so.9": b"x" * 33})
    host = LocalHost({})
    owners = file_owners(host, tuple(distributions_in(host, str(tmp_path))))
    versions = {Path(path).name: str(version) for path, version in cudnn_sublibraries(host, owners).items()}
    assert versions == {"libcudnn.so.9": "9.20.0", "libcudnn_ops.so.9": "9.1.0"}
    assert owners_clash(owners) == (f"{tmp_path}/{lib}/libcudnn.so.9: nvidia-cudnn-cu12, nvidia-cudnn-cu13",)


def test_a_file_that_fits_no_record_is_of_no_known_release(tmp_path: Path) -> None:
    lib = "nvidia/cudnn/lib"
    wheel(tmp_path, "nvidia-cudnn-cu12", "9.1.0.70", {f"{lib}/libcudnn.so.9": b"x" * 10})
    (tmp_path / lib / "libcudnn_ops_infer.so.8").write_bytes(b"left behind")
    host = LocalHost({})
    owners = file_owners(host, tuple(distributions_in(host, str(tmp_path))))
    assert sorted(str(version) for version in cudnn_sublibraries(host, owners).values()) == ["8", "9.1.0"]


@pytest.mark.parametrize(
    ("soname", "cuda", "package"),
    [
        ("libcublas.so.12", "12.4", "nvidia-cublas-cu12"),
        ("libcublas.so.13", "13.0", "nvidia-cublas"),
        ("libcurand.so.10", "12", "nvidia-curand-cu12"),
        ("libcurand.so.10", "13.0", "nvidia-curand"),
        ("libcudnn.so.9", "13.0", "nvidia-cudnn-cu13"),
        ("libcublas.so.9.0", "9.0", ""),
    ],
)
def test_the_wheel_of_a_library_depends_on_the_cuda(soname: str, cuda: str, package: str) -> None:
    assert package_of(soname, Version.parse(cuda)) == package


def test_old_libraries_carry_the_whole_release_in_their_names() -> None:
    assert sonames(Version.parse("9.0.176"), "cudart", "cublas") == ("libcudart.so.9.0", "libcublas.so.9.0")
    assert sonames(Version.parse("11.8"), "cudart", "cufft") == ("libcudart.so.11.0", "libcufft.so.10")


def test_the_loaders_cache_is_what_ldconfig_prints() -> None:
    architecture = os.uname().machine
    ours = ld_cache(LocalHost(), architecture)
    printed = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    word = {"x86_64": "x86-64", "aarch64": "AArch64"}[architecture]
    theirs: dict[str, str] = {}
    for line in printed.splitlines()[1:]:
        if f"libc6,{word})" in line:
            theirs.setdefault(line.split()[0], line.rpartition("=> ")[2])
    assert theirs
    assert dict(ours) == theirs


@pytest.mark.parametrize("data", [b"", b"not a cache", b"glibc-ld.so.cache1.1", b"glibc-ld.so.cache1.1" + b"\xff" * 60])
def test_a_damaged_cache_is_empty(data: bytes) -> None:
    assert ld_cache(MemoryHost({"/etc/ld.so.cache": data}), "x86_64") == {}
