"""Toolkits, nvcc wrappers, cuDNN and compilers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from envkit.base.versions import Version
from envkit.capture.recorded import Entry
from envkit.host.local import LocalHost
from envkit.model import Problem
from envkit.probe import compilers, cuda, cudnn
from tests.fakes.memory_host import Content, MemoryHost, link, program

NVCC_WHEEL = "nvidia_cuda_nvcc-13.0.88.dist-info"
BANNER = b"\x7fELF\0Cuda compilation tools, release 9.0, V9.0.176\0"


def _toolkit(root: str, version_file: dict[str, Content]) -> dict[str, Content]:
    return {
        f"{root}/bin/nvcc": program(),
        f"{root}/include/cuda_runtime.h": "",
        f"{root}/lib64/libcudart.so.1": program(),
        **{f"{root}/{name}": content for name, content in version_file.items()},
    }


@pytest.mark.parametrize(
    ("files", "version", "source"),
    [
        ({"version.json": '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}}'}, "12.4.1", "version.json"),
        ({"version.txt": "CUDA Version 9.0.176\nCUDA Patch Version 9.0.176.4\n"}, "9.0.176", "version.txt"),
        ({f"dist-info/{NVCC_WHEEL}/METADATA": ""}, "13.0.88", f"dist-info/{NVCC_WHEEL}"),
        ({"bin/nvcc": BANNER}, "9.0.176", "bin/nvcc"),
        ({"include/cuda.h": "#ifndef X\n#define CUDA_VERSION 10020\n"}, "10.2", "include/cuda.h"),
        ({"include/cuda_runtime_api.h": "#define CUDART_VERSION  13000\n"}, "13.0", "include/cuda_runtime_api.h"),
        ({"version.json": "{broken", "version.txt": "CUDA Version 11.8.89\n"}, "11.8.89", "version.txt"),
        ({"version.json": "[1]", "include/cuda.h": "#define CUDA_VERSION 8000\n"}, "8.0", "include/cuda.h"),
    ],
)
def test_the_version_comes_from_files(files: dict[str, Content], version: str, source: str) -> None:
    root = "/usr/local/cuda-x"
    (toolkit,) = cuda.toolkits(MemoryHost(_toolkit(root, files))).get()
    assert (toolkit.version, toolkit.source) == (Version.parse(version), f"{root}/{source}")
    assert toolkit.has_nvcc and toolkit.complete


def test_every_toolkit_once_by_its_real_path() -> None:
    host = MemoryHost(
        {
            **_toolkit("/usr/local/cuda-11.8", {"version.txt": "CUDA Version 11.8.89"}),
            **_toolkit("/usr/local/cuda-12.4", {"version.json": '{"cuda": {"version": "12.4.1"}}'}),
            **_toolkit("/data/my-cuda", {"version.txt": "CUDA Version 9.0.176"}),
            "/usr/local/cuda": link("/etc/alternatives/cuda"),
            "/etc/alternatives/cuda": link("/usr/local/cuda-12.4"),
            "/var/lib/dpkg/info/cuda-nvcc-12-4.list": "",
        },
        variables={"CUDA_HOME": "/data/my-cuda/", "CUDA_PATH": "/usr/local/cuda"},
    )
    facts = cuda.probe(host)
    listed = {(item.real_path, str(item.version), item.origin) for item in facts["cuda_toolkits"].get()}
    assert listed == {
        ("/usr/local/cuda-11.8", "11.8.89", "runfile"),
        ("/usr/local/cuda-12.4", "12.4.1", "package"),
        ("/data/my-cuda", "9.0.176", ""),
    }
    assert (facts["cuda_link"].get().target, facts["cuda_link"].get().resolves) == ("/etc/alternatives/cuda", True)


@pytest.mark.parametrize(
    ("variables", "leads_to"),
    [
        ({"CUDA_HOME": "/opt/current"}, "/usr/local/cuda-12.4"),
        ({"CUDA_PATH": "/opt/current/"}, "/usr/local/cuda-12.4"),
        ({"CUDA_HOME": "/nope", "CUDA_PATH": "/opt/current"}, None),
        ({"CUDA_HOME": "here"}, None),
        ({}, None),
    ],
)
def test_where_cuda_home_leads(variables: dict[str, str], leads_to: str | None) -> None:
    files = _toolkit("/usr/local/cuda-12.4", {"version.json": '{"cuda": {"version": "12.4.1"}}'})
    home = cuda.probe(MemoryHost({**files, "/opt/current": link("/usr/local/cuda-12.4")}, variables=variables))[
        "cuda_home"
    ]
    assert (home.value, home.absent) == (leads_to, leads_to is None)


def test_a_link_that_leads_nowhere() -> None:
    facts = cuda.probe(MemoryHost({"/usr/local/cuda": link("/usr/local/cuda-12.1")}))
    assert (facts["cuda_link"].get().target, facts["cuda_link"].get().resolves) == ("/usr/local/cuda-12.1", False)
    assert facts["cuda_toolkits"].problem is Problem.ABSENT
    assert facts["nvcc"].problem is Problem.ABSENT


def test_a_folder_of_leftovers_is_no_toolkit() -> None:
    host = MemoryHost({"/usr/local/cuda-10.0/version.txt": "CUDA Version 10.0.130", "/usr/local/cuda-9.0/doc/x": ""})
    assert cuda.toolkits(host).problem is Problem.ABSENT


def test_toolkits_of_wheels_conda_and_distributions() -> None:
    site = "/venv/lib/python3.11/site-packages"
    host = MemoryHost(
        {
            f"{site}/nvidia/cuda_nvcc/bin/nvcc": program(),
            f"{site}/nvidia_cuda_nvcc_cu12-12.9.86.dist-info/METADATA": "",
            "/conda/bin/nvcc": BANNER,
            "/usr/lib/nvidia-cuda-toolkit/bin/nvcc": b"Cuda compilation tools, release 11.8, V11.8.89",
        },
        variables={"VIRTUAL_ENV": "/venv", "CONDA_PREFIX": "/conda"},
    )
    listed = {(str(item.version), item.origin, item.complete) for item in cuda.toolkits(host).get()}
    assert listed == {("12.9.86", "wheel", False), ("9.0.176", "conda", False), ("11.8.89", "package", False)}


@pytest.mark.parametrize(
    ("guard", "limit"),
    [
        ("#if __GNUC__ > 15\n", "15"),
        ("#if __GNUC__ > 6 || (__GNUC__ == 6 && __GNUC_MINOR__ > 4)\n", "6.4"),
        ("#if __GNUC__ > 12\n#error\n#endif\n", "12"),
    ],
)
def test_the_compiler_limit_is_the_toolkits_own(guard: str, limit: str) -> None:
    files = _toolkit("/usr/local/cuda-1", {"version.txt": "CUDA Version 9.0.1", "include/crt/host_config.h": guard})
    (toolkit,) = cuda.toolkits(MemoryHost(files)).get()
    assert toolkit.gcc_max == Version.parse(limit)


@pytest.mark.parametrize(
    "script",
    [
        '#!/bin/sh\nexec /usr/local/cuda-9.0/bin/nvcc "$@"\n',
        "#!/bin/bash\n# see /opt/other/bin/nvcc\nset -e\nccache /usr/local/cuda-9.0/bin/nvcc $*\n",
        "#!/usr/bin/env python3\nimport os\nos.execv('/usr/local/cuda-9.0/bin/nvcc', [])\n",
    ],
)
def test_a_wrapper_script_is_followed(script: str) -> None:
    files = _toolkit("/usr/local/cuda-9.0", {"version.txt": "CUDA Version 9.0.176"})
    host = MemoryHost({**files, "/usr/local/bin/nvcc": script}, variables={"PATH": "/usr/local/bin:/usr/bin"})
    nvcc = cuda.nvcc(host).get()
    assert nvcc.wrapper and nvcc.real_path == "/usr/local/cuda-9.0/bin/nvcc"
    assert (str(nvcc.version), nvcc.toolkit_path) == ("9.0.176", "/usr/local/cuda-9.0")


def test_a_plain_link_is_no_wrapper() -> None:
    files = _toolkit("/usr/local/cuda-9.0", {"version.txt": "CUDA Version 9.0.176"})
    host = MemoryHost({**files, "/usr/bin/nvcc": link("/usr/local/cuda-9.0/bin/nvcc")}, variables={"PATH": "/usr/bin"})
    nvcc = cuda.nvcc(host).get()
    assert not nvcc.wrapper and nvcc.toolkit_path == "/usr/local/cuda-9.0"


def test_a_compiler_cache_is_asked_because_no_file_tells() -> None:
    host = MemoryHost(
        {"/usr/lib/ccache/nvcc": link("/usr/bin/ccache"), "/usr/bin/ccache": program()},
        commands={"/usr/lib/ccache/nvcc --version": "Cuda compilation tools, release 12.1, V12.1.105\n"},
        variables={"PATH": "/usr/lib/ccache"},
    )
    nvcc = cuda.nvcc(host).get()
    assert nvcc.wrapper and str(nvcc.version) == "12.1.105" and nvcc.toolkit_path == ""


def test_a_wrapper_that_calls_itself_ends() -> None:
    host = MemoryHost({"/usr/bin/nvcc": "#!/bin/sh\n/usr/bin/nvcc\n"}, variables={"PATH": "/usr/bin"})
    assert cuda.nvcc(host).get().version is None


def test_the_toolkit_of_this_machine_is_found_with_its_full_version() -> None:
    """Against the compiler's own word, where this machine has one; the recorded machine below never lacks it."""
    found = shutil.which("nvcc")
    if found is None:
        assert cuda.nvcc(LocalHost()).problem is Problem.ABSENT
        return
    said = LocalHost().run([found, "--version"]).get().stdout
    toolkits = cuda.probe(LocalHost())["cuda_toolkits"].get()
    assert any(f"V{toolkit.version}" in said for toolkit in toolkits)


HEADER = "#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 9\n#define CUDNN_PATCHLEVEL 7\n"


def test_a_system_cudnn_with_its_exact_version_and_a_sub_library_of_another() -> None:
    folder = "/usr/lib/x86_64-linux-gnu"
    host = MemoryHost(
        {
            f"{folder}/libcudnn.so.8": link("libcudnn.so.8.9.7"),
            f"{folder}/libcudnn.so.8.9.7": program(),
            f"{folder}/libcudnn_ops_infer.so.8": link("libcudnn_ops_infer.so.8.6.0"),
            f"{folder}/libcudnn_ops_infer.so.8.6.0": program(),
            "/usr/include/x86_64-linux-gnu/cudnn_version.h": HEADER,
        }
    )
    (item,) = cudnn.cudnns(host).get()
    assert (str(item.version), item.origin, item.path) == ("8.9.7", "system", f"{folder}/libcudnn.so.8")
    assert {name: str(version) for name, version in item.sublibraries.items()} == {
        "libcudnn.so": "8.9.7",
        "libcudnn_ops_infer.so": "8.6.0",
    }


def test_a_header_alone_a_toolkit_folder_and_a_wheel() -> None:
    site = "/venv/lib/python3.11/site-packages"
    wheel_header = HEADER.replace("MAJOR 8", "MAJOR 9").replace("MINOR 9", "MINOR 1").replace("LEVEL 7", "LEVEL 0")
    host = MemoryHost(
        {
            "/usr/include/cudnn.h": HEADER.replace("MAJOR 8", "MAJOR 7"),
            "/usr/local/cuda-9.0/lib64/libcudnn.so.7.6.5": program(),
            f"{site}/nvidia/cudnn/lib/libcudnn.so.9": program(),
            f"{site}/nvidia/cudnn/lib/libcudnn_graph.so.9": program(),
            f"{site}/nvidia/cudnn/include/cudnn_version.h": wheel_header,
            f"{site}/nvidia_cudnn_cu12-9.1.0.70.dist-info/METADATA": "",
        },
        variables={"VIRTUAL_ENV": "/venv"},
    )
    listed = {(item.origin, str(item.version), str(item.cuda)) for item in cudnn.cudnns(host).get()}
    assert listed == {("header", "7.9.7", "None"), ("toolkit", "7.6.5", "None"), ("wheel", "9.1.0", "12")}


def test_no_cudnn_is_absent() -> None:
    assert cudnn.cudnns(MemoryHost({"/usr/lib/x": ""})).problem is Problem.ABSENT


def test_compilers_by_name_folder_and_command() -> None:
    host = MemoryHost(
        {
            "/usr/bin/gcc": link("gcc-12"),
            "/usr/bin/gcc-12": link("x86_64-linux-gnu-gcc-12"),
            "/usr/bin/x86_64-linux-gnu-gcc-12": program(),
            "/usr/bin/gcc-9": link("x86_64-linux-gnu-gcc-9"),
            "/usr/bin/x86_64-linux-gnu-gcc-9": program(),
            "/usr/bin/gcc-ar-12": program(),
            "/usr/bin/clang": program(),
            "/opt/rh/devtoolset-8/root/usr/bin/gcc": program(),
        },
        commands={
            "/usr/bin/clang --version": "Debian clang version 14.0.6\n",
            "/opt/rh/devtoolset-8/root/usr/bin/gcc -dumpfullversion -dumpversion": "8.3.1\n",
        },
        variables={"PATH": "/usr/bin"},
    )
    listed = {(item.name, str(item.version), item.default) for item in compilers.host_compilers(host).get()}
    assert listed == {("gcc", "12", True), ("gcc", "9", False), ("clang", "14.0.6", False), ("gcc", "8.3.1", False)}


def test_a_variable_chooses_the_compiler() -> None:
    host = MemoryHost(
        {"/usr/bin/gcc": program(), "/opt/gcc9/bin/g++": program(), "/opt/gcc9/bin": Entry("dir")},
        commands={
            "/usr/bin/gcc -dumpfullversion -dumpversion": "13.2.0",
            "/opt/gcc9/bin/g++ -dumpfullversion -dumpversion": "9.4.0",
        },
        variables={"PATH": "/usr/bin", "NVCC_CCBIN": "/opt/gcc9/bin"},
    )
    default = [item for item in compilers.host_compilers(host).get() if item.default]
    assert [(str(item.version), item.path) for item in default] == [("9.4.0", "/opt/gcc9/bin/g++")]


def test_red_hats_gcc_is_told_from_its_library_folder() -> None:
    host = MemoryHost(
        {"/usr/bin/gcc": program(), "/usr/lib/gcc/x86_64-redhat-linux/11/crtbegin.o": ""},
        variables={"PATH": "/usr/bin"},
    )
    assert str(compilers.host_compilers(host).get()[0].version) == "11"


def test_no_compiler_is_absent() -> None:
    assert compilers.host_compilers(MemoryHost({"/usr/bin/ls": program()})).problem is Problem.ABSENT


def test_fixture_paths_are_not_those_of_this_machine() -> None:
    assert not Path("/data/my-cuda").exists()
