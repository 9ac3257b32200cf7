"""What a framework was built for, from its own files; texts have the form of the real files, with made-up versions."""

from __future__ import annotations

import pytest

from envkit.model import FrameworkInstall
from envkit.probe.distributions import distributions_in
from envkit.probe.elf import ElfReader
from envkit.probe.frameworks import frameworks
from tests.fakes.memory_host import MemoryHost

PAIRS = "OrderedDict([('cuda_version', '12.5.1'), ('cudnn_version', '9'), ('is_cuda_build', True)])"
PLAIN = "is_cuda_build = True\ncuda_version_number = '10.0'\ncudnn_version_number = '7'\n"
SITE = "/venv/lib/python3.11/site-packages"


def found(files: dict[str, str], *packages: str, requires: str = "") -> list[FrameworkInstall]:
    """The frameworks of a folder with these files and these installed packages."""
    here = {f"{SITE}/{path}": text for path, text in files.items()}
    for package in packages:
        name, _, version = package.partition("==")
        metadata = (
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}\n\nLong description\nVersion: 0\n"
        )
        here[f"{SITE}/{name.replace('-', '_')}-{version}.dist-info/METADATA"] = metadata
    host = MemoryHost(here)
    return list(frameworks(host, tuple(distributions_in(host, SITE)), ElfReader(host)))


def torch_version(version: str, cuda: str, hip: str = "None", xpu: str = "None") -> dict[str, str]:
    text = (
        "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']\n"
        f"__version__ = '{version}'\ndebug = False\ncuda: Optional[str] = {cuda}\ngit_version = 'abc123'\n"
        f"hip: Optional[str] = {hip}\nxpu: Optional[str] = {xpu}\n"
    )
    return {"torch/version.py": text}


def test_a_cuda_build_of_pytorch() -> None:
    pins = 'Requires-Dist: nvidia-cudnn-cu12 (==9.1.0.70) ; platform_system == "Linux"\n'
    (torch,) = found(torch_version("2.6.0+cu124", "'12.4'"), "torch==2.6.0", requires=pins)
    assert (torch.name, torch.version, torch.package) == ("pytorch", "2.6.0+cu124", "torch==2.6.0")
    assert (str(torch.cuda), torch.cuda_known, str(torch.cudnn)) == ("12.4", True, "9.1.0")
    assert (torch.git_version, torch.rocm) == ("abc123", False)


@pytest.mark.parametrize(
    ("cuda", "hip", "xpu", "known", "rocm"),
    [
        ("None", "None", "None", True, False),
        ("None", "'6.2.1'", "None", False, True),
        ("None", "None", "'2025.0'", False, False),
    ],
)
def test_only_a_build_for_no_accelerator_is_a_cpu_build(cuda: str, hip: str, xpu: str, known: bool, rocm: bool) -> None:
    (torch,) = found(torch_version("2.6.0", cuda, hip, xpu), "torch==2.6.0")
    assert (torch.cuda, torch.cuda_known, torch.rocm) == (None, known, rocm)


def test_an_old_version_file_without_annotations_is_read() -> None:
    text = "__version__ = '1.1.0'\ndebug = False\ncuda = '9.0.176'\ngit_version = 'def'\n"
    (torch,) = found({"torch/version.py": text}, "torch==1.1.0")
    assert str(torch.cuda) == "9.0.176"


def test_without_its_version_file_nothing_is_claimed() -> None:
    (torch,) = found({}, "torch==2.6.0")
    assert (torch.cuda, torch.cuda_known) == (None, False)


@pytest.mark.parametrize(
    ("place", "text", "cuda", "cudnn", "known"),
    [
        ("tensorflow", PAIRS, "12.5.1", "9", True),
        ("tensorflow", '{"cuda_version": "11.2", "cudnn_version": "8", "is_cuda_build": True}', "11.2", "8", True),
        ("tensorflow", "build_info = {'is_cuda_build': False, 'is_rocm_build': False}", "None", "None", True),
        ("tensorflow", "build_info = {'is_cuda_build': False, 'is_rocm_build': True}", "None", "None", False),
        ("tensorflow_core", PLAIN, "10.0", "7", True),
    ],
)
def test_tensorflows_build_info_of_every_age(place: str, text: str, cuda: str, cudnn: str, known: bool) -> None:
    (tensorflow,) = found({f"{place}/python/platform/build_info.py": text}, "tensorflow==2.18.0")
    assert (str(tensorflow.cuda), str(tensorflow.cudnn), tensorflow.cuda_known) == (cuda, cudnn, known)


def test_jax_is_what_its_plug_in_is() -> None:
    (jax,) = found({}, "jax==0.6.0", "jaxlib==0.6.0", "jax-cuda12-plugin==0.6.0")
    assert (str(jax.cuda), jax.cuda_known) == ("12", True)
    (jax,) = found({}, "jax==0.6.0", "jaxlib==0.6.0")
    assert (jax.cuda, jax.cuda_known) == (None, True)
    (jax,) = found({}, "jax==0.4.7", "jaxlib==0.4.7+cuda11.cudnn82")
    assert (str(jax.cuda), str(jax.cudnn)) == ("11", "8.2")


@pytest.mark.parametrize(
    ("package", "name", "cuda", "known"),
    [
        ("cupy-cuda12x==13.3.0", "cupy", "12", True),
        ("cupy-cuda101==9.6.0", "cupy", "10.1", True),
        ("cupy-cuda92==8.6.0", "cupy", "9.2", True),
        ("cupy==13.3.0", "cupy", "None", False),
        ("mxnet-cu112==1.9.1", "mxnet", "11.2", True),
        ("mxnet==1.9.1", "mxnet", "None", True),
    ],
)
def test_packages_that_name_their_cuda(package: str, name: str, cuda: str, known: bool) -> None:
    (install,) = found({}, package)
    assert (install.name, str(install.cuda), install.cuda_known) == (name, cuda, known)


def test_paddle_and_onnxruntime_keep_their_versions_in_files() -> None:
    paddle = "full_version    = '2.6.2'\ncuda_version    = '12.0'\ncudnn_version   = '8.9.7'\ncommit = 'c0ffee'\n"
    onnx = "package_name = 'onnxruntime-gpu'\n__version__ = '1.20.0'\ncuda_version = '12.6'\n"
    files = {"paddle/version/__init__.py": paddle, "onnxruntime/capi/build_and_package_info.py": onnx}
    installs = {install.name: install for install in found(files, "paddlepaddle-gpu==2.6.2", "onnxruntime-gpu==1.20.0")}
    assert (str(installs["paddlepaddle"].cuda), str(installs["paddlepaddle"].cudnn)) == ("12.0", "8.9.7")
    assert str(installs["onnxruntime"].cuda) == "12.6"


def test_a_cpu_build_of_paddle_says_false() -> None:
    text = "full_version = '2.6.2'\ncuda_version = 'False'\ncudnn_version = 'False'\n"
    (paddle,) = found({"paddle/version/__init__.py": text}, "paddlepaddle==2.6.2")
    assert (paddle.cuda, paddle.cuda_known) == (None, True)


def test_other_packages_are_no_frameworks() -> None:
    assert found({}, "torch-geometric==2.6.1", "tensorflow-io==0.37.0", "tensorboard==2.18.0", "numpy==2.1.0") == []
