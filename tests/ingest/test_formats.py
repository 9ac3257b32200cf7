"""Each format: the sample in its docstring is read, and details that texts of tests/texts do not show."""

from __future__ import annotations

import importlib
import pkgutil
import re
import textwrap

import pytest

from envkit.base.versions import Version
from envkit.ingest import parse_text, readers
from envkit.ingest.cleaning import clean
from envkit.ingest.clues import all_readers, reader
from envkit.ingest.ends import ended
from envkit.model import Environment, MachineKind, Problem
from envkit.tables.findings import Signature
from envkit.tables.loader import read
from tests.ingest.texts import FOLDER, cases

MODULES = [f"{readers.__name__}.{module.name}" for module in pkgutil.iter_modules(readers.__path__)]


def sample(module: str) -> str:
    """What is below the first line of a format's docstring."""
    doc = importlib.import_module(module).__doc__ or ""
    return textwrap.dedent(doc.partition("\n")[2]).strip("\n") + "\n$ date\n"


@pytest.mark.parametrize("module", MODULES)
def test_the_sample_of_a_format_is_read_by_it(module: str) -> None:
    readers = [entry for entry in all_readers() if entry.read.__module__ == module]
    assert readers, "a format without a reader"
    assert [clue for entry in readers for clue in entry.read(clean(sample(module)))], sample(module)


@pytest.mark.parametrize("module", MODULES)
def test_a_format_reads_nothing_out_of_nothing(module: str) -> None:
    for entry in all_readers():
        assert list(entry.read(clean(""))) == []
        assert list(entry.read(clean("hello\nworld |\n: = + -\n"))) == []


def test_a_format_cannot_be_read_twice() -> None:
    with pytest.raises(ValueError, match="read twice"):
        reader("nvcc")(lambda text: iter(()))


def only(text: str) -> Environment:
    return parse_text(text)


def test_err_in_a_table_is_no_value() -> None:
    environment = only(
        "| NVIDIA-SMI 470.82.01    Driver Version: 470.82.01    CUDA Version: 11.4     |\n"
        "|   0  Tesla V100-SXM2...  On   | 00000000:1A:00.0 Off |                 ERR! |\n"
        "| ERR!   45C  ERR!    ERR! / 300W |      0MiB / 16160MiB |      0%      Default |\n"
        "+-------------------------------+----------------------+----------------------+\n"
    )
    gpu = environment.gpus.get()[0]
    assert gpu.ecc_uncorrectable is None
    assert gpu.ecc_mode is None
    assert gpu.memory_bytes == 16160 * 1024 * 1024
    assert gpu.power_limit_w == 300.0


def test_not_available_is_no_value_in_csv() -> None:
    environment = only("index, name, memory.used [MiB], temperature.gpu\n0, NVIDIA A30, [N/A], [Not Supported]\n")
    gpu = environment.gpus.get()[0]
    assert (gpu.name, gpu.memory_used_bytes, gpu.temperature_c) == ("NVIDIA A30", None, None)


def test_a_full_name_wins_over_a_cut_one() -> None:
    environment = only(
        "|   0  NVIDIA GeForce ...  Off  | 00000000:01:00.0 Off |                  N/A |\n"
        "+-------------------------------+----------------------+----------------------+\n"
        "GPU 0: NVIDIA GeForce RTX 3080 Ti (UUID: GPU-1a2b3c4d-0000-1111-2222-333344445555)\n"
    )
    assert [gpu.name for gpu in environment.gpus.get()] == ["NVIDIA GeForce RTX 3080 Ti"]


def test_smi_and_driver_of_wsl_differ_without_being_two_drivers() -> None:
    environment = only("| NVIDIA-SMI 545.29.06    Driver Version: 546.33    CUDA Version: 12.3 |\n")
    assert environment.driver.kernel_module.get() == Version.parse("546.33")
    assert not environment.driver.user_space.known


def test_a_log_line_on_a_gpu_is_no_listing() -> None:
    assert not only("GPU 0: Training started\nGPU 1: Epoch 3\n").gpus.known


def test_a_cut_table_does_not_lose_a_gpu_that_lspci_shows() -> None:
    environment = only(
        "01:00.0 3D controller [0302]: NVIDIA Corporation GA102GL [A40] [10de:2235] (rev a1)\n"
        "02:00.0 3D controller [0302]: NVIDIA Corporation GA102GL [A40] [10de:2235] (rev a1)\n"
        "|   0  NVIDIA A40          On   | 00000000:01:00.0 Off |                    0 |\n"
    )
    assert len(environment.gpus.get()) == 1
    assert not environment.pci_gpus.known


def test_a_cut_lspci_listing_does_not_mean_that_there_is_no_gpu() -> None:
    lines = [
        f"00:{number:02x}.0 Signal processing controller: Intel Corporation Device 34ef" for number in range(1, 12)
    ]
    listing = "00:00.0 Host bridge: Intel Corporation Device 9b61\n" + "\n".join(lines)
    assert not only(listing).pci_gpus.known
    assert only(f"{listing}\n$ date\n").pci_gpus.get() == ()


def test_lsmod_adds_the_modules_that_others_need() -> None:
    assert only("nvidia_drm             69632  3\n").kernel.loaded_modules.get() == ("nvidia_drm", "nvidia")


def test_a_partial_lsmod_does_not_mean_that_nvidia_is_missing() -> None:
    assert not only(
        "Module                  Size  Used by\nsnd_hda_intel          57344  0\n"
    ).kernel.loaded_modules.known


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("export CUDA_VISIBLE_DEVICES=0,1", "0,1"),
        ('export CUDA_VISIBLE_DEVICES=""', ""),
        ("CUDA_VISIBLE_DEVICES=2 python train.py", "2"),
        ("$ CUDA_VISIBLE_DEVICES=GPU-1a2b python train.py --lr 1e-4", "GPU-1a2b"),
        ("os.environ['CUDA_VISIBLE_DEVICES'] = '-1'", "-1"),
        ("$ echo $CUDA_VISIBLE_DEVICES\n3", "3"),
        ("$ export CUDA_VISIBLE_DEVICES=\n$ ls", ""),
        ("  CUDA_VISIBLE_DEVICES: 0", "0"),
        ("ENV CUDA_VISIBLE_DEVICES=1", "1"),
    ],
)
def test_a_variable_is_read_however_it_was_set(line: str, value: str) -> None:
    assert only(line).variables.get()["CUDA_VISIBLE_DEVICES"] == value


@pytest.mark.parametrize("line", ["LD_LIBRARY_PATH=$LD_LIBRARY_PATH:/x", "set LD_LIBRARY_PATH=%CUDA_PATH%/bin"])
def test_a_value_made_of_other_variables_is_not_known(line: str) -> None:
    assert not only(line).variables.known


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Linux pc 5.15.90.1-microsoft-standard-WSL2 #1 SMP Fri Jan 27 02:56:13 UTC 2023 x86_64 GNU/Linux", "wsl2"),
        ("Linux pc 4.4.0-22621-Microsoft #1 SMP x86_64 GNU/Linux", "wsl1"),
        ("root@9b1c22d04ef1:/# nvidia-smi", "container"),
        ("Virtualization: kvm", "vm"),
        ("# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref", "jetson"),
    ],
)
def test_the_kind_of_machine_is_reported(text: str, kind: str) -> None:
    assert only(text).system.machine_kind.get() is MachineKind(kind)


@pytest.mark.parametrize(
    ("version", "build", "cuda", "known"),
    [
        ("2.1.0+cu118", "", "11.8", True),
        ("1.9.0+cu102", "", "10.2", True),
        ("1.5.0+cu92", "", "9.2", True),
        ("2.9.0+cu130", "", "13.0", True),
        ("2.1.0+cpu", "", None, True),
        ("2.1.0", "", None, False),
        ("2.1.0+rocm5.6", "", None, False),
        ("1.0.0", "py3.6_cuda9.0.176_cudnn7.4.1_1", "9.0", True),
        ("2.1.2", "py3.10_cuda11.8_cudnn8.7.0_0", "11.8", True),
        ("1.12.1", "cuda112py39h1b1a6a2_201", "11.2", True),
        ("2.1.2", "cpu_mkl_py310h3ea73d3_100", None, True),
        ("1.13.1", "py3.10_cpu_0", None, True),
    ],
)
def test_a_torch_build_names_its_cuda(version: str, build: str, cuda: str | None, known: bool) -> None:
    line = f"[conda] pytorch  {version}  {build} pytorch" if build else f"[pip3] torch=={version}"
    framework = only(f"Is debug build: False\n{line}\n").pythons.get()[0].frameworks[0]
    assert (framework.cuda, framework.cuda_known) == (Version.parse(cuda) if cuda else None, known)


def test_packages_named_after_their_cuda_tell_it() -> None:
    text = "mxnet-cu101==1.5.0\ncupy-cuda12x==13.3.0\ncupy-cuda101==7.8.0\n"
    frameworks = {install.package: install.cuda for install in only(text).pythons.get()[0].frameworks}
    assert frameworks == {"mxnet-cu101==1.5.0": Version.parse("10.1"), "cupy-cuda12x==13.3.0": Version.parse("12")}


def test_collect_env_without_nvcc_says_that_there_is_none() -> None:
    environment = only("Is debug build: False\nCUDA runtime version: Could not collect\n")
    assert environment.nvcc.problem is Problem.ABSENT


@pytest.mark.thorough
def test_texts_may_be_mixed() -> None:
    every = [case for case in cases() if len(case.signatures) == 1 and not case.healthy]
    every = [case for case in every if "/detail-" not in case.signatures[0]]  # which is no message by itself
    for first, second in zip(every, every[1:], strict=False):
        mixed = f"{first.text}\n\nAnd on the other machine:\n\n{second.text}"
        environment = parse_text(mixed)
        over = {id for id in first.signatures if ended(clean(mixed), id) >= 0}  # the second one shows that it passed
        found = {message.signature for message in environment.messages.get()}
        whole = mixed.lower()  # a row does not count next to the words of its column `unless`
        ruled_out = {row.signature for row in read(Signature) if any(word in whole for word in row.unless)}
        elsewhere = "framework-sees-no-gpu/told-available"  # of another host's prompt, where nobody complains
        silent = {"nouveau-loaded/probe-routine", elsewhere, *over, *ruled_out}
        assert found >= {*first.signatures, *second.signatures} - silent, (first, second)


@pytest.mark.parametrize("column", [30, 41, 55, 70, 120])
def test_q_is_read_at_any_width(column: int) -> None:
    """Releases of the driver have moved the colons to the right, and may again."""
    lines = (FOLDER / "healthy-q-570-hgx.txt").read_text().splitlines()
    pairs = [line.split(" : ") for line in (re.sub(r" +: ", " : ", line) for line in lines)]
    moved = "\n".join(f"{pair[0]:<{column}} : {pair[1]}" if len(pair) == 2 else pair[0] for pair in pairs)
    there = parse_text("\n".join(lines))
    here = parse_text(moved)
    assert (here.gpus.value, here.driver.kernel_module.value) == (there.gpus.value, there.driver.kernel_module.value)
    assert len(here.gpus.get()) == 8


RULE = "\u2500" * 50
CONDA = (
    "# packages in environment at /opt/conda:\n#\n# Name                    Version                   Build  Channel\n"
)
PIP = f"Package            Version     Editable project location\n{'-' * 18} {'-' * 11} {'-' * 25}\n"


@pytest.mark.parametrize(
    ("head", "odd", "last"),
    [
        (
            CONDA,
            "absl-py                   0.7.1                     <pip>",
            "numpy                     1.16.4   py36_0",
        ),
        (CONDA, "my-own-package            main                      dev_0    <develop>", "numpy   1.26.4   py311_0"),
        (
            CONDA,
            "PyYAML                    5.1                       <pip>",
            "numpy                     1.16.4   py36_0",
        ),
        (PIP, "my-own             main        D:\\work\\my own", "numpy              1.26.4"),
        (PIP, "broken             v1-\u00e9", "numpy              1.26.4"),
    ],
)
def test_a_package_that_is_not_understood_hides_none_after_it(head: str, odd: str, last: str) -> None:
    python = only(f"{head}{odd}\n{last}\n\n$ date\n").pythons.get()[0]
    assert "numpy" in [item.name for item in python.distributions]


def test_the_list_of_an_old_conda_says_what_pip_installed() -> None:
    text = (
        f"{CONDA}torch                     1.2.0                     <pip>\ncudatoolkit          10.0.130      0\n\n$\n"
    )
    known = {item.name: item.installer for item in only(text).pythons.get()[0].distributions}
    assert known == {"torch": "pip", "cudatoolkit": "conda"}


@pytest.mark.parametrize("channel", ["", "conda-forge"])
def test_flush_columns_are_no_line_that_was_cut_off(channel: str) -> None:
    rows = [f"{name:25} 1.26.4{'py311h64a7726_0':>25}  {channel}" for name in ("numpy", "scipy", "cudatoolkit")]
    python = only(CONDA + "\n".join(rows) + "\n\n$ date\n").pythons.get()[0]
    assert {item.name for item in python.distributions} == {"numpy", "scipy", "cudatoolkit"}


def test_the_list_of_micromamba_is_read() -> None:
    text = (
        'List of packages in environment: "/opt/mamba/envs/x"\n\n'
        "  Name           Version  Build            Channel\n"
        f"{RULE}\n"
        "  numpy          1.26.4   py311h64a7726_0  conda-forge\n"
        "  pytorch        2.3.0    cuda120_py311    conda-forge\n\n$ date\n"
    )
    python = only(text).pythons.get()[0]
    assert python.prefix == "/opt/mamba/envs/x"
    assert {item.name for item in python.distributions} == {"numpy", "pytorch"}


def test_a_text_after_a_list_is_none_of_its_rows() -> None:
    text = f"{PIP}numpy              1.26.4\n\n$ pip --version\npip 24.0 from /usr/lib/python3/pip (python 3.11)\n"
    assert [item.name for item in only(text).pythons.get()[0].distributions] == ["numpy"]


def test_the_table_of_openmmlab_tells_pytorch_with_its_cuda() -> None:
    text = (
        "sys.platform: linux\nPython: 3.8.5 (default, Sep  4 2020, 07:30:14) [GCC 7.3.0]\nCUDA available: True\n"
        "GPU 0,1: GeForce RTX 3090\nPyTorch: 1.10.0+cu113\nPyTorch compiling details: PyTorch built with:\n"
        "  - GCC 7.3\n  - CUDA Runtime 11.3\n  - CuDNN 8.2\nTorchVision: 0.11.1+cu113\nMMCV: 1.4.0\n"
    )
    (python,) = parse_text(text).pythons.get()
    (torch,) = python.frameworks
    assert (torch.version, str(torch.cuda)) == ("1.10.0", "11.3")
    assert str(python.version) == "3.8.5"
    assert [item.name for item in python.distributions] == ["torch", "torchvision"]


@pytest.mark.parametrize(("built", "known"), [("USE_CUDA=OFF", True), ("USE_CUDA=ON", False)])
def test_a_table_of_detectron2_tells_a_build_without_cuda(built: str, known: bool) -> None:  # noqa: FBT001
    text = (
        "sys.platform            linux\nPyTorch                 1.5.0 @/opt/env/lib/torch\nPyTorch built with:\n"
        f"  - Build settings: BLAS=MKL, {built}, USE_MPI=OFF\n"
    )
    (python,) = parse_text(text).pythons.get()
    assert [(item.cuda, item.cuda_known) for item in python.frameworks] == [(None, known)]
