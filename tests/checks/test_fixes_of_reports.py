"""The fix of a pasted text: commands that are whole, and made for the framework, GPU and system that it names."""

from __future__ import annotations

import shlex
from functools import lru_cache

import pytest

from envkit._startup.records import replace
from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.ingest import parse_text
from envkit.model import Distribution
from tests.checks.software import GPU_4090, GPU_5090, findings_of, gpus, machine, matrix, python, pythons, torch, worst
from tests.cli.run import envkit
from tests.ingest.texts import FOLDER, cases

LIBSTDCXX = "sudo apt-get install -y --only-upgrade libstdc++6"


@lru_cache(maxsize=512)
def fails(text: str) -> list[Finding]:
    findings = findings_of(text)
    return [finding for finding in findings if finding.status is Status.FAIL]


def commands(name: str) -> tuple[str, ...]:
    """The commands of the root cause of a text under tests/texts."""
    cause = fails((FOLDER / f"{name}.txt").read_bytes().decode())[0]
    assert cause.remedy is not None
    return cause.remedy.commands


def toolkit_steps(release: str) -> tuple[str, ...]:
    """How a toolkit comes next to the others, and is used."""
    home = f"export CUDA_HOME=/usr/local/cuda-{release}"
    return (f"envkit install --cuda {release} --run", home, 'export PATH="$CUDA_HOME/bin:$PATH"')


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "arch-dropped-tensorflow",
            ("python -m pip install 'numpy>=1.12.1,<2' tensorflow-gpu==1.4.1 'protobuf>=3.3.0,<3.21' 'h5py<3'",),
        ),
        (
            "arch-newer-paddle",
            (
                "python -m pip uninstall -y paddlepaddle",
                "python -m pip install paddlepaddle-gpu==3.3.1 "
                "--index-url https://www.paddlepaddle.org.cn/packages/stable/cu129/",
            ),
        ),
        # the driver is not known: a build for CUDA 12 runs on every driver that knows this GPU
        (
            "arch-newer-than-build-5090",
            (
                "/home/kim/sd/venv/bin/python -m pip install torch==2.7.1 torchvision==0.22.1 torchaudio==2.7.1 "
                "--index-url https://download.pytorch.org/whl/cu128",
            ),
        ),
        # torch 2.4.1 has wheels to cp312 (PyPI: torch)
        (
            "python-no-wheel-uv",
            (
                "uv venv --python 3.12",
                "source .venv/bin/activate",
                "envkit resolve --framework pytorch==2.4.1 --target any --python 3.12",
            ),
        ),
        # 11040 is CUDA 11.4, whose drivers run every 11.x (CUDA Compatibility, minor version compatibility)
        (
            "driver-too-old-torch",
            (
                "/srv/app/.venv/bin/python -m pip install torch==2.7.1 torchvision==0.22.1 torchaudio==2.7.1 "
                "--index-url https://download.pytorch.org/whl/cu118",
            ),
        ),
        (
            "driver-too-old-jax",
            (
                "python -m pip install 'numpy>=1.22,<2'",
                "python -m pip install 'jax[cuda11_pip]==0.4.25' 'nvidia-cudnn-cu11<9' 'scipy>=1.9' "
                "-f https://storage.googleapis.com/jax-releases/jax_cuda_releases.html",
            ),
        ),
        # nvcc is 12.8, which branch 570 is the first to report (release notes of CUDA 12.8)
        (
            "ptx-newer-than-driver",
            (
                "apt-get -s install nvidia-driver-570 | awk '/^Remv/'",
                "sudo apt-get install -y nvidia-driver-570",
                "sudo reboot",
            ),
        ),
        (
            "cudnn-dropped-arch",
            (
                "python -m pip install torch==2.11.0 torchvision==0.26.0 torchaudio==2.11.0 "
                "--index-url https://download.pytorch.org/whl/cu126",
            ),
        ),
        # sm_120 begins with 12.8, sm_35 ends with 11.8, sm_70 with 12.9 (release notes of CUDA 12.8, 12.0 and 13.0)
        ("nvcc-too-old-for-gpu-120", toolkit_steps("12.8")),
        ("toolkit-dropped-arch-35", toolkit_steps("11.8")),
        ("toolkit-dropped-arch-70", toolkit_steps("12.9")),
        ("nvcc-vs-torch-mismatch", toolkit_steps("12.1")),
        (
            "driver-too-old-error35-cupy",
            # the rows of CuPy 12 for CUDA 10.2, which driver 440 runs (PyPI: cupy-cuda102)
            ("python -m pip uninstall -y cupy-cuda11x", "python -m pip install cupy-cuda102==12.3.0"),
        ),
    ],
)
def test_the_fix_asks_for_what_the_text_names(name: str, expected: tuple[str, ...]) -> None:
    assert commands(name) == expected


def test_a_jetson_is_offered_no_wheel_for_servers() -> None:
    faults = fails((FOLDER / "jetson-generic-wheel.txt").read_bytes().decode())
    assert [finding.id for finding in faults] == ["jetson-generic-wheel"]
    # NVIDIA's own wheel for JetPack 6.0, which has L4T 36.3
    assert commands("jetson-generic-wheel")[-1].endswith(".nv24.07.16234504-cp310-cp310-linux_aarch64.whl")


@pytest.mark.parametrize(
    "name", ["libcudart-missing-tf1", "libcudart-missing-ldd", "toolkit-missing-nvcc", "driver-too-old-onnx"]
)
def test_frequent_troubles_have_a_command(name: str) -> None:
    assert commands(name)


@pytest.mark.parametrize(
    "id",
    ["local-module-shadows", "user-site-shadows-env", "extension-abi-mismatch", "torch-replaced-by-dependency"],
)
def test_a_list_of_packages_is_no_proof_of_what_lies_next_to_them(id: str) -> None:  # noqa: A002 - the field's own word
    text = "Package    Version\n---------- -----------\ntorch      2.6.0+cu124\n"
    findings = run_checks(parse_text(text), matrix(), [all_checks()[id]])
    assert [finding.status for finding in findings] == [Status.UNKNOWN]


def test_what_conda_installed_is_replaced_by_conda_in_place() -> None:
    assert commands("cpu-only-conda")[0] == "conda remove -p /home/lin/miniconda3/envs/seg cpuonly"
    assert "remove" not in commands("cpu-only-conda")[1]


@pytest.mark.parametrize("version", ["2.1.0", "2.7.1"])
def test_the_cpu_build_of_conda_forge_is_replaced_from_there(version: str) -> None:
    listed = tuple(
        Distribution(name, number, f"/opt/env/conda-meta/{name}.json", installer="conda")
        for name, number in (("libtorch", version), ("pytorch", version), ("torchvision", "0.16.1"))
    )
    own = replace(python(torch(version, None)), prefix="/opt/env", distributions=listed)
    facts = machine(pythons(own), gpus=gpus(GPU_4090), system__architecture="x86_64")
    fix = worst("cpu-only-wheel", facts).remedy
    expected = f"conda install -p /opt/env -c conda-forge 'pytorch={version}=cuda*' 'torchvision=*=cuda*'"
    assert fix is not None and fix.commands == (expected,)


def test_a_release_of_conda_forge_before_the_gpu_is_not_asked_for() -> None:
    listed = (
        Distribution("libtorch", "2.1.0", "/opt/env/conda-meta/libtorch.json", installer="conda"),
        Distribution("pytorch", "2.1.0", "/opt/env/conda-meta/pytorch.json", installer="conda"),
    )
    own = replace(python(torch("2.1.0", None)), prefix="/opt/env", distributions=listed)
    facts = machine(pythons(own), gpus=gpus(GPU_5090), system__architecture="x86_64")
    fix = worst("cpu-only-wheel", facts).remedy
    assert fix is not None and not any("2.1.0=cuda" in command for command in fix.commands)


def test_a_pip_name_is_removed_under_condas_and_from_its_own_environment() -> None:
    by_conda = Distribution("pytorch", "2.8.0", "/opt/my env/conda-meta/pytorch.json", installer="conda")
    own = replace(python(torch("2.8.0", None)), prefix="/opt/my env", distributions=(by_conda,))
    facts = machine(pythons(own), gpus=gpus(GPU_4090), system__architecture="x86_64")
    fix = worst("cpu-only-wheel", facts).remedy
    assert fix is not None and fix.commands[0] == "conda remove -y -p '/opt/my env' pytorch"


@pytest.mark.parametrize(
    ("first", "option"),
    [
        ("'nvcc' is not recognized as an internal or external command,\n", "--os windows"),
        ("Linux pc 5.15.153.1-microsoft-standard-WSL2 #1 SMP x86_64 GNU/Linux\n", "--os wsl"),
    ],
)
def test_a_question_from_windows_or_wsl_plans_for_it(first: str, option: str) -> None:
    line = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    asked = [command for finding in fails(first + line) if finding.remedy for command in finding.remedy.commands]
    assert any(option in command.partition("envkit resolve")[2] for command in asked), asked


@pytest.mark.parametrize("place", ["Linux n 6.8.0 #1 SMP aarch64 GNU/Linux\n", "# R36 (release), REVISION: 4.3\n"])
def test_a_cpu_build_is_reported_on_any_processor(place: str) -> None:
    found = fails(place + "AssertionError: Torch not compiled with CUDA enabled\n")
    wanted = "jetson-generic-wheel" if place.startswith("#") else "cpu-wheel-on-aarch64"
    assert [finding.id for finding in found] == [wanted]


def os_release(system: str) -> str:
    name, _, version = system.partition(" ")
    return f'NAME="{name}"\nID="{name}"\nVERSION_ID="{version}"\nPRETTY_NAME="{name} {version}"\n\n'


BY_CONDA = [
    "conda create -y -n gcc-11 -c conda-forge gxx_linux-64=11",
    'export CUDAHOSTCXX="$(conda run -n gcc-11 printenv CXX)"',
    'export NVCC_PREPEND_FLAGS="-ccbin $CUDAHOSTCXX"',
]
GCC = "error -- unsupported GNU version! gcc versions later than 11 are not supported!\n"


@pytest.mark.parametrize(
    ("system", "expected"),
    [  # operating_systems.csv: installable_gcc of Ubuntu 24.04 holds 11, no toolset is known for Rocky Linux
        (
            "ubuntu 24.04",
            [
                "sudo apt-get install -y gcc-11 g++-11",
                "export CC=/usr/bin/gcc-11 CXX=/usr/bin/g++-11 CUDAHOSTCXX=/usr/bin/g++-11 "
                "NVCC_PREPEND_FLAGS='-ccbin /usr/bin/g++-11'",
            ],
        ),
        ("debian 13", BY_CONDA),
        ("rocky 9.4", BY_CONDA),
    ],
)
def test_an_older_gcc_is_named_only_where_the_distribution_has_it(system: str, expected: list[str]) -> None:
    finding = fails(os_release(system) + GCC)[0]
    assert finding.id == "gcc-too-new-for-nvcc" and finding.remedy is not None
    assert list(finding.remedy.commands) == expected


def test_a_libstdcxx_is_brought_by_the_package_tool_that_is_there() -> None:
    line = "ImportError: /lib64/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by x.so)\n"
    for system, command in (("rocky 9.4", "conda install"), ("ubuntu 22.04", LIBSTDCXX)):
        finding = next(each for each in fails(os_release(system) + line) if each.id == "libstdcxx-too-old")
        assert finding.remedy is not None and command in finding.remedy.commands[0]


def test_a_package_that_is_none_of_ours_gets_no_python_made_for_pytorch() -> None:
    finding = fails("ERROR: No matching distribution found for flash-attn==2.8.0\n")[0]
    assert finding.id == "python-no-wheel" and finding.remedy is not None
    assert "flash-attn" in finding.remedy.summary and finding.remedy.commands == ()


def test_the_framework_meant_is_named() -> None:
    finding = fails("ERROR: No matching distribution found for tensorflow\n")[0]
    assert finding.remedy is not None
    assert finding.remedy.summary == (
        "Create an environment with a Python that TensorFlow has wheels for. The last command prints the command "
        "that installs it there."
    )


def test_a_target_is_named_as_nvidia_writes_it() -> None:
    title = fails((FOLDER / "arch-newer-than-build-5090.txt").read_bytes().decode())[0].title
    assert title == "The framework's build has no kernels for this GPU (NVIDIA GeForce RTX 5090, sm_120)"


@pytest.mark.thorough
def test_every_question_to_envkit_is_one_that_it_takes() -> None:
    asked = {
        command
        for case in cases()
        for finding in fails(case.text)
        for command in (finding.remedy.commands if finding.remedy else ())
        if command.startswith("envkit resolve ")
    }
    assert len(asked) > 4
    for command in sorted(asked):
        assert envkit(*shlex.split(command)[1:]).returncode in (0, 1), command
