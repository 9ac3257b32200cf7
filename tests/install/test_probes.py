"""What the verification says of a framework next to a GPU that is there, hidden, or not there; with stand-in
modules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from envkit._startup.records import replace
from envkit.base.settings import Mirrors
from envkit.install.options import ScriptOptions
from tests.install.plans import plan, scripted
from tests.install.shell import call
from tests.programs import require

_TORCH = """
__version__ = {version!r}
class cuda:
    is_available = staticmethod(lambda: False)
class version:
    cuda = {cuda!r}
class _Tensor:
    def cuda(self):
        raise RuntimeError("The NVIDIA driver on your system is too old (found version 11040).")
zeros = ones = lambda *shape: _Tensor()
"""
_TENSORFLOW = """
import sys
__version__ = {version!r}
class test:
    is_built_with_cuda = staticmethod(lambda: {cuda!r} is not None)
class config:
    list_physical_devices = staticmethod(lambda kind: [])
for name in ("libcudnn.so.8", "libnvinfer.so.7"):
    sys.stderr.write("W dso_loader.cc:64] Could not load dynamic library '%s'; dlerror: no such file\\n" % name)
sys.stderr.flush()
"""
# libinfo and the strings are those of mxnet 1.4.1 and mxnet-cu80 1.2.1 on PyPI: only the latter's library names CUDA's.
_MXNET = """
import os
__version__ = {version!r}
class libinfo:
    find_lib_path = staticmethod(lambda: [os.path.join(os.path.dirname(__file__), "libmxnet.so")])
class context:
    num_gpus = staticmethod(lambda: 0)
open(libinfo.find_lib_path()[0], "wb").write(b"ELF libgomp.so.1 " + (b"libcudart.so.8.0" if {cuda!r} else b""))
"""
_CUPY = """
import sys
__version__ = {version!r}
class ctypes:  # in place of the real one, which may find a driver here
    @staticmethod
    def CDLL(name):
        raise OSError(name + ": cannot open shared object file")
sys.modules["ctypes"] = ctypes
"""
_ONNXRUNTIME = """
__version__ = {version!r}
def get_available_providers():
    return ["CUDAExecutionProvider", "CPUExecutionProvider"]
"""
_MODULES = {"pytorch": ("torch", _TORCH), "tensorflow": ("tensorflow", _TENSORFLOW), "mxnet": ("mxnet", _MXNET)}
_ALL = {**_MODULES, "cupy": ("cupy", _CUPY), "onnxruntime": ("onnxruntime", _ONNXRUNTIME)}
_ABSENT = "this machine has no NVIDIA GPU"


def verified(
    framework: str, folder: Path, *, gpu: bool, cuda: str | None, settings: str = "", more: str = ""
) -> subprocess.CompletedProcess[str]:
    """The verification of this framework, whose stand-in is a build for `cuda` that finds no GPU; `more` changes it."""
    found = plan(framework=framework, os_id="ubuntu22.04")
    found = replace(found, choice=replace(found.choice, needs_toolkit=False))
    text = scripted(found, ScriptOptions(), Mirrors())
    name, source = _ALL[framework]
    build = found.choice.builds[0]
    version = (build.package or "").split("==")[1].split("+")[0]
    cuda = cuda and str(build.cuda)
    (folder / "modules" / name).mkdir(parents=True, exist_ok=True)
    (folder / "modules" / name / "__init__.py").write_text(source.format(version=version, cuda=cuda) + more)
    (folder / "root/dev").mkdir(parents=True)
    if gpu:
        (folder / "root/dev/nvidia0").touch()
    body = f"""
    ENV_DIR={folder}/env; mkdir -p $ENV_DIR/bin
    # in isolation it sees its own packages alone: the stand-ins are some of these
    printf '#!/bin/sh\\nshift\\n%s exec %s "$@"\\n' PYTHONPATH={folder}/modules {sys.executable} >$ENV_DIR/bin/python
    chmod +x $ENV_DIR/bin/python
    python_is_complete() {{ return 0; }}
    verify_packages() {{ return 0; }} # pip check of the tests' own environment takes a second and tells nothing here
    export PYTHONPATH=/nowhere {settings}
    code=0; verify_all || code=$?; echo "$code"
    """
    return call(text, body, folder)


@pytest.mark.parametrize(
    ("framework", "words"),
    [
        ("pytorch", "driver on your system is too old (found version 11040)"),
        ("tensorflow", "not found: libcudnn.so.8;"),
        ("mxnet", "/dev/nvidia0 is here, but mxnet finds no GPU"),
    ],
)
def test_a_gpu_that_is_here_and_not_found_is_a_fault(framework: str, words: str, tmp_path: Path) -> None:
    done = verified(framework, tmp_path, gpu=True, cuda="as planned")
    assert done.stdout == "9\n", done
    assert f"fail {framework} kernel" in done.stderr and words in done.stderr and "nvidia-smi" in done.stderr


@pytest.mark.parametrize("framework", sorted(_MODULES))
def test_without_a_gpu_nothing_is_tried_and_nothing_is_wrong(framework: str, tmp_path: Path) -> None:
    done = verified(framework, tmp_path, gpu=False, cuda="as planned")
    assert done.stdout == "0\n", done
    assert f"skip {framework} kernel: {_ABSENT}" in done.stderr


@pytest.mark.parametrize("framework", sorted(_MODULES))
def test_a_cpu_only_build_is_found_without_a_gpu(framework: str, tmp_path: Path) -> None:
    done = verified(framework, tmp_path, gpu=False, cuda=None)
    assert done.stdout == "9\n", done
    assert f"fail {framework} build: this is a CPU-only build" in done.stderr


@pytest.mark.parametrize(("gpu", "verdict"), [(True, "fail"), (False, "skip")])
def test_a_framework_without_a_probe_of_its_own_needs_a_driver_that_answers(
    gpu: bool, verdict: str, tmp_path: Path
) -> None:
    done = verified("cupy", tmp_path, gpu=gpu, cuda="as planned")
    assert f"{verdict} cupy kernel" in done.stderr, done
    assert ("libcuda.so.1: cannot open" in done.stderr) is gpu


# What a process that crashes half way leaves: its first lines, and no exception.
_CRASH = """
import os
os.write(1, b"a framework's own word")
class _Cuda:
    def __getattr__(self, name):
        os._exit(139)
cuda = _Cuda()
"""


@pytest.mark.parametrize("gpu", [True, False])
def test_a_probe_that_dies_after_its_first_line_is_a_fault(gpu: bool, tmp_path: Path) -> None:
    done = verified("pytorch", tmp_path, gpu=gpu, cuda="as planned", more=_CRASH)
    assert done.stdout == "9\n", done
    assert "ok   pytorch: version" in done.stderr and "fail pytorch: its test stopped half way" in done.stderr


def test_mxnets_own_words_on_a_gpu_that_it_does_not_reach_are_reported(tmp_path: Path) -> None:
    raises = """
def _raise():
    raise RuntimeError("CUDA: unknown error")
context.num_gpus = _raise
"""
    done = verified("mxnet", tmp_path, gpu=True, cuda="as planned", more=raises)
    assert "fail mxnet kernel: " in done.stderr and "finds no GPU: CUDA: unknown error; " in done.stderr, done


def test_a_variable_that_hides_the_gpu_is_named(tmp_path: Path) -> None:
    done = verified("pytorch", tmp_path, gpu=True, cuda="as planned", settings="CUDA_VISIBLE_DEVICES=-1")
    assert "CUDA_VISIBLE_DEVICES is '-1'" in done.stderr, done


@pytest.mark.parametrize(
    ("paths", "seen", "absent"),
    [
        (("dev/nvidia0",), "dev/nvidia0", _ABSENT),
        (("dev/nvidia3",), "dev/nvidia3", _ABSENT),
        (("dev/nvidiactl",), "", _ABSENT),
        (("proc/driver/nvidia/gpus/0000:01:00.0",), "proc/driver/nvidia/gpus/0000:01:00.0", _ABSENT),
        # a container sees its host's /proc/driver, and has the GPU only when its node was given to it
        (("proc/driver/nvidia/gpus/0000:01:00.0", ".dockerenv"), "", _ABSENT),
        (("dev/dxg", "usr/lib/wsl/lib/libcuda.so.1"), "dev/dxg", _ABSENT),
        (("dev/dxg",), "", "install its driver on Windows"),
        (("sys/bus/pci/devices/0000:01:00.0/",), "", "(0000:01:00.0), but its driver is not loaded"),
        (
            ("sys/bus/pci/devices/0000:01:00.0/", "sys/module/nvidia", ".dockerenv"),
            "",
            "was the container given a GPU?",
        ),
        (("sys/bus/pci/devices/0000:01:00.0/", "sys/module/nvidia"), "", "its driver is loaded, but does not drive it"),
    ],
)
def test_what_tells_of_a_gpu(paths: tuple[str, ...], seen: str, absent: str, tmp_path: Path) -> None:
    for path in paths:
        (tmp_path / "root" / path).parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            (tmp_path / "root" / path).mkdir()
            (tmp_path / "root" / path / "vendor").write_text("0x10de\n")
            (tmp_path / "root" / path / "class").write_text("0x030000\n")
        else:
            (tmp_path / "root" / path).touch()
    text = scripted(plan("12.4.1"), ScriptOptions(), Mirrors())
    done = call(text, 'look_for_gpu; echo "$GPU_SEEN"; echo "$GPU_ABSENT"', tmp_path)
    first, second = done.stdout.splitlines()
    assert first == (f"{tmp_path}/root/{seen}" if seen else ""), done
    assert absent in second


@pytest.mark.parametrize(
    ("before", "inside"),
    [
        (":", False),
        ("mkdir -p $SYSROOT; : >$SYSROOT/.dockerenv", True),
        ("mkdir -p $SYSROOT/run; : >$SYSROOT/run/.containerenv", True),
        ("KUBERNETES_SERVICE_HOST=10.0.0.1", True),
        ("mkdir -p $SYSROOT/proc/1; printf 'TERM=linux\\0container=lxc\\0' >$SYSROOT/proc/1/environ", True),
        ("mkdir -p $SYSROOT/proc/1; printf 'TERM=linux\\0my_container=x\\0' >$SYSROOT/proc/1/environ", False),
    ],
)
def test_what_tells_of_a_container(before: str, inside: bool, tmp_path: Path) -> None:
    text = scripted(plan("12.4.1"), ScriptOptions(), Mirrors())
    done = call(text, f"{before}\nif in_container; then echo inside; else echo outside; fi", tmp_path)
    assert done.stdout == ("inside\n" if inside else "outside\n"), done


@pytest.mark.parametrize(
    ("gpu", "missing", "verdict"),
    [
        (False, "libcuda.so.1", "skip"),
        (False, "libcudnn.so.9", "fail"),
        (True, "libcuda.so.1", "fail"),
    ],
)
def test_a_library_of_the_driver_is_not_missed_where_no_gpu_is(
    gpu: bool, missing: str, verdict: str, tmp_path: Path
) -> None:
    """ONNX Runtime's CUDA provider needs libcuda.so.1, which image builds and login nodes do not have."""
    library = tmp_path / "modules/onnxruntime/capi/libonnxruntime_providers_cuda.so"
    stub, name = tmp_path / "stub", f"{tmp_path}/stub/{missing}"
    stub.mkdir()
    library.parent.mkdir(parents=True)
    require("gcc")
    build = ("gcc", "-shared", "-x", "c", "/dev/null", "-Wl,--no-as-needed")
    subprocess.run([*build, f"-Wl,-soname,{missing}", "-o", name], check=True)
    subprocess.run([*build, "-x", "none", name, "-o", str(library)], check=True)
    Path(name).unlink()
    done = verified("onnxruntime", tmp_path, gpu=gpu, cuda="as planned")
    assert f"{verdict} onnxruntime provider" in done.stderr and missing in done.stderr, done


@pytest.mark.parametrize("gpu", [True, False])
def test_an_import_that_needs_the_driver_is_no_fault_where_no_gpu_is(gpu: bool, tmp_path: Path) -> None:
    """MXNet's libraries for CUDA are linked to the driver's."""
    more = "\nraise OSError('libcuda.so.1: cannot open shared object file: No such file or directory')\n"
    done = verified("mxnet", tmp_path, gpu=gpu, cuda="as planned", more=more)
    assert done.stdout == ("9\n" if gpu else "0\n"), done
    assert f"{'fail' if gpu else 'skip'} mxnet: import mxnet" in done.stderr


def test_an_import_that_fails_without_words_is_told_with_those_of_its_package(tmp_path: Path) -> None:
    """As ONNX Runtime does with a NumPy that it was not compiled for."""
    text = scripted(plan(None, "onnxruntime"), ScriptOptions(), Mirrors())
    (tmp_path / "onnxruntime.py").write_text(
        "import sys\nprint('AttributeError: _ARRAY_API not found', file=sys.stderr, flush=True)\nraise ImportError\n"
    )
    (tmp_path / "env/bin").mkdir(parents=True)
    (tmp_path / "env/bin/python").symlink_to(sys.executable)
    body = f"""
    ENV_DIR={tmp_path}/env ISOLATED=(); export PYTHONPATH={tmp_path}; mkdir {tmp_path}/scratch
    python_is_complete() {{ :; }}
    verify_onnxruntime {tmp_path}/scratch
    """
    done = call(text, body, tmp_path)
    assert "fail onnxruntime: import onnxruntime: ImportError: AttributeError: _ARRAY_API not found" in done.stderr, (
        done
    )
