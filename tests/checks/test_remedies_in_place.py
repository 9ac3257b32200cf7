"""A remedy names what the text names: its image, the kubectl of its cluster, its modules, its notebook."""

from __future__ import annotations

import pytest

from envkit.checks.engine.command import Command, fixed
from envkit.checks.engine.findings import Remedy, Status
from envkit.checks.engine.suited import suited
from envkit.ingest import parse_text
from envkit.model import Environment, found
from tests.checks.remedies_given import REPORTS
from tests.checks.software import findings_of
from tests.checks.test_remedies_suited import TORCH, told


def managed(*names: str) -> Environment:
    return Environment(managed_by=found(names, "test"))


@pytest.mark.parametrize(
    ("text", "image"),
    [
        ("docker run --rm --gpus all -it vllm/vllm-openai:v0.5.0 --model m\n", "vllm/vllm-openai:v0.5.0"),
        ("docker run -d -p 80:80 -v /srv:/srv --name x --shm-size=8g host.example:50/a/b:1\n", "host.example:50/a/b:1"),
        ("podman run -e A=b ubuntu nvidia-smi\n", "ubuntu"),
        ("    image: \"quay.io/org/app:2\"\n", "quay.io/org/app:2"),
        ("docker run --gpus all nvidia/cuda:12.2.0-base nvidia-smi\ndocker run --gpus all my/app\n", "my/app"),
        ("docker run --gpus all my/app\ndocker run --gpus all other/app\n", None),
        ("docker run --gpus all \\\n", None),
    ],
)  # fmt: skip
def test_the_image_that_a_text_starts(text: str, image: str | None) -> None:
    assert parse_text(text).containers.image.value == image


def test_the_image_is_in_the_command() -> None:
    environment = parse_text("docker run --gpus all my/app:1\n")
    given = suited(environment, Remedy("Do it.", (fixed("docker run --gpus all IMAGE nvidia-smi"),)))
    assert given.commands == ("docker run --gpus all my/app:1 nvidia-smi",)
    shell = Command(shell="printf 'FROM IMAGE\\n' | docker build -t x -")
    assert suited(environment, Remedy("Do it.", (shell,))).commands == (
        "printf 'FROM my/app:1\\n' | docker build -t x -",
    )
    assert suited(Environment(), Remedy("Do it.", (shell,))).commands == (shell.line,)


def test_a_cluster_has_its_own_kubectl() -> None:
    step = Remedy("Do it.", (fixed("kubectl get pods"), Command(shell="kubectl get pods | cat")))
    assert suited(managed("microk8s"), step).commands == (
        "microk8s kubectl get pods",
        "microk8s kubectl get pods | cat",
    )
    assert suited(managed("k3s"), step).commands[0] == "sudo k3s kubectl get pods"
    assert suited(managed("kubernetes"), step).commands == step.commands


@pytest.mark.parametrize("name", ["slurm", "pbs", "modules"])
def test_a_toolkit_is_loaded_where_modules_are(name: str) -> None:
    toolkit = (fixed("envkit install --cuda 8.0 --run"), Command(shell="export CUDA_HOME=/usr/local/cuda-8.0"))
    again = fixed("python setup.py install")
    given = suited(managed(name), Remedy("Install it.", (*toolkit, again)))
    assert given.commands == ("module avail cuda cudnn", "module load cuda/8.0", again.line)
    assert "in the job script" in given.summary
    assert suited(managed(name), Remedy("Do it.", (again,))).commands == (again.line,)


def test_a_notebook_uses_the_pip_of_its_kernel() -> None:
    given = suited(managed("colab"), Remedy("Replace it.", (TORCH,)))
    assert given.commands == ("%pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124",)
    assert "restart the runtime" in given.summary


POD = """$ kubectl logs add
Failed to allocate device vector A (error code CUDA driver version is insufficient for CUDA runtime version)!
$ nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
Tesla T4, {driver}
"""


def test_a_pod_on_the_newest_driver_got_none() -> None:
    given = told(POD.format(driver="580.95.05"), "container-no-gpu-injected")
    assert "runtimeClassName: nvidia" in given.summary
    assert given.commands[0] == "kubectl get runtimeclass"


def test_a_pod_on_an_old_driver_may_have_one() -> None:
    environment = parse_text(POD.format(driver="470.82.01"))
    assert str(environment.driver.kernel_module.value) == "470.82.01"
    assert "driver" in told(POD.format(driver="470.82.01"), "driver-too-old-for-runtime").summary.lower()


TRACE = 'File "{path}/torch/cuda/__init__.py", line 293, in _lazy_init\n    raise AssertionError("x")\n'


@pytest.mark.parametrize(
    ("path", "python"),
    [
        ("/home/kim/miniconda3/envs/tg/lib/python3.10/site-packages", "/home/kim/miniconda3/envs/tg/bin/python"),
        ("/srv/app/.venv/lib/python3.12/site-packages", "/srv/app/.venv/bin/python"),
        ("/usr/lib/python3/dist-packages", None),
        ("/usr/local/lib/python3.10/site-packages", None),
        ("/home/kim/.local/lib/python3.10/site-packages", None),
        ("/tmp/pip-build-env-x1/overlay/lib/python3.10/site-packages", None),
        (r"C:\Users\me\miniconda3\envs\a\lib\site-packages", r"C:\Users\me\miniconda3\envs\a\python.exe"),
        (r"D:\work\llm\Lib\site-packages", r"D:\work\llm\Scripts\python.exe"),
        (r"D:\Comfy\python_embeded\Lib\site-packages", r"D:\Comfy\python_embeded\python.exe"),
    ],
)
def test_the_python_that_a_traceback_runs(path: str, python: str | None) -> None:
    line = TRACE.format(path=path) if path.startswith("/") else TRACE.format(path=path).replace("/", "\\")
    environment = parse_text(line)
    assert environment.traceback_python.value == python
    given = suited(environment, Remedy("Replace it.", (TORCH,)))
    assert given.commands[0].replace("'", "").startswith(f"{python or 'python'} -m pip install torch==2.6.0")


def test_no_python_is_chosen_of_several() -> None:
    text = TRACE.format(path="/a/venv/lib/python3.10/site-packages") + TRACE.format(
        path="/b/venv/lib/python3.10/site-packages"
    )
    assert not parse_text(text).traceback_python.known


@pytest.mark.parametrize(
    ("report", "check", "commands", "words"),
    [  # what an administrator missed in the third round of judging
        ("11/b11-09", "cpu-only-wheel", ["llama-cpp-python --index-url", "whl/cu121"], "no compiler"),
        ("11/b11-12", "libcudart-missing", [], "FROM nvidia/cuda:11.2.2-cudnn8-runtime-ubuntu20.04"),
        ("11/b11-38", "cpu-only-wheel", ["conda install -c pytorch 'pytorch=1.7.1=*cuda11.0*'"], "next conda update"),
        (
            "11/b11-42",
            "libcudart-missing",
            ["envkit install --cuda 12.9 --cudnn 9 --run"],
            "alongside what is already installed",
        ),
        ("11/b11-49", "extension-abi-mismatch", ["FORCE_BUILD=TRUE", "envs/tg/bin/python -m pip"], "flash-attn 2.5.7"),
        ("12/b12-06", "libcudart-missing", ["nvidia-cufft-cu11", "--target"], "import torch before onnxruntime"),
        ("12/b12-14", "cpu-only-wheel", ["'pytorch=2.6.0=cuda*' 'torchvision=*=cuda*'"], "build string"),
        ("12/b12-32", "driver-module-not-loaded", ["NVIDIA-Linux-*.run --dkms"], "earlier kernel"),
        ("1/b1-34", "windows-runtime-missing", ["torch==2.4.1 torchvision==0.19.1"], "libomp140"),
        ("3/b3-35", "nccl-wrong-interface", ["mpirun -x NCCL_SOCKET_IFNAME=enp4s0,enp6s0"], "all hosts"),
        ("4/b4-04", "module-missing-for-running-kernel", ["linux-headers-cloud-amd64"], "headers of future kernels"),
        ("4/b4-38", "cpu-only-wheel", ["'pytorch=1.11.0=*cuda11.3*' torchvision==0.12.0"], ""),
        ("10/b10-26", "cudnn-older-than-build", ["envkit install --cuda 10.0 --cudnn 7.6 --run"], ""),
        (
            "10/b10-29",
            "extension-abi-mismatch",
            ["-m venv vllm-env", "vllm-env/bin/python"],
            "Keep the installed torch",
        ),
        ("12/b12-02", "docker-no-nvidia-runtime", ["microk8s enable gpu"], "its own containerd"),
        ("9/b9-44", "cuda-visible-devices-empty", ["srun --gpus=1"], "only with --gpus"),
    ],
)
def test_what_an_administrator_missed(report: str, check: str, commands: list[str], words: str) -> None:
    given = told((REPORTS / f"batch-{report}.txt").read_text(), check)
    lines = "\n".join(given.commands)
    assert [part for part in commands if part not in lines] == []
    assert words in given.summary


def test_a_dgx_and_a_notebook_of_windows_get_no_command_of_ubuntu() -> None:
    given = told((REPORTS / "batch-11" / "b11-01.txt").read_text(), "ptx-newer-than-driver")
    assert given.commands == ("conda install -c conda-forge cuda-version=11.0",) and "DGX OS" in given.summary
    given = told((REPORTS / "batch-12" / "b12-22.txt").read_text(), "cpu-only-wheel")
    assert given.commands == () and "OpenCV" in given.summary


def test_the_folder_of_the_wheels_is_that_of_the_program_s_own_python() -> None:
    text = (REPORTS / "batch-26/b26-33.txt").read_text("utf-8")
    finding = next(finding for finding in findings_of(text) if finding.id == "cudnn-missing")
    assert finding.remedy is not None
    assert any(command.startswith("WHEELS=$(venv/bin/python -c ") for command in finding.remedy.commands)


@pytest.mark.parametrize(
    ("report", "id", "command"),
    [
        ("24/b24-28", "cudnn-missing", "sudo cp cud*/include/cudnn*.h /usr/local/cuda/include/"),
        ("24/b24-29", "cudnn-missing", "find / -name 'cudnn*.h' -not -path '/proc/*' 2> /dev/null"),
        ("24/b24-27", "gcc-too-new-for-nvcc", "sudo apt-get install -y gcc-10 g++-10"),
        (
            "26/b26-37",
            "python-no-wheel",
            "python3.6 -m pip install tensorflow-2.3.1-cp36-cp36m-linux_aarch64.whl",
        ),
        ("25/b25-21", "build-tools-missing", "python -m pip install ninja"),
        ("24/b24-19", "libcudart-missing", "export CUDA_HOME=/usr/local/cuda-11.8"),
        ("24/b24-38", "compiler-too-old", "envkit install --cuda 10.2.89 --run --accept-unverified"),
        ("26/b26-05", "cpu-only-wheel", "mamba install -c conda-forge 'pytorch=*=cuda*' 'torchvision=*=cuda*'"),
        ("24/b24-40", "docker-no-nvidia-runtime", "winget upgrade --id Docker.DockerDesktop"),
    ],
)
def test_the_first_command_is_for_the_cause_of_the_report(report: str, id: str, command: str) -> None:  # noqa: A002
    text = (REPORTS / f"batch-{report}.txt").read_text("utf-8")
    finding = next(finding for finding in findings_of(text) if finding.id == id)
    assert finding.remedy is not None and finding.remedy.commands[0] == command


def test_cudnn_goes_into_the_toolkit_that_compiles() -> None:
    text = "Cuda compilation tools, release 10.2, V10.2.89\nfatal error: cudnn.h: No such file or directory\n"
    finding = next(finding for finding in findings_of(text) if finding.id == "cudnn-missing")
    assert finding.remedy is not None and finding.impact == "The build stops."
    assert finding.remedy.commands[1].startswith("envkit install --cuda 10.2 --cudnn 8.")


def test_a_build_on_its_own_index_is_asked_for_there() -> None:
    text = (REPORTS / "batch-25/b25-26.txt").read_text("utf-8")
    finding = next(finding for finding in findings_of(text) if finding.id == "package-index-wrong")
    assert finding.remedy is not None
    assert finding.remedy.commands[-1].startswith("python -m pip install torch==2.1.2 torchvision==0.16.2")
    assert finding.remedy.commands[-1].endswith("/whl/cu118")


@pytest.mark.parametrize(
    ("report", "id", "words"),
    [
        ("25/b25-38", "libcudart-missing", "import torch before onnxruntime"),
        ("26/b26-18", "arch-newer-than-build", "--attention-backend triton"),
    ],
)
def test_what_works_beside_is_used(report: str, id: str, words: str) -> None:  # noqa: A002
    text = (REPORTS / f"batch-{report}.txt").read_text("utf-8")
    finding = next(finding for finding in findings_of(text) if finding.id == id)
    assert finding.remedy is not None and words in finding.remedy.advice
    assert not any("pip install" in command for command in finding.remedy.commands)


BITSANDBYTES = "ImportError: {place}/bitsandbytes/libbitsandbytes_cpu.so: cannot open shared object file: No such file"
ABI = "ImportError: /v/lib/vllm/_C.abi3.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic"


def remedy_of(text: str, id: str) -> Remedy:  # noqa: A002
    finding = next(finding for finding in findings_of(text) if finding.id == id and finding.status is Status.FAIL)
    assert finding.remedy is not None
    return finding.remedy


def test_bitsandbytes_without_a_library_for_the_cuda_of_torch_is_replaced_by_one_that_has_it() -> None:
    text = f"torch 2.6.0+cu126\n{BITSANDBYTES.format(place='/v/lib/python3.10/site-packages')}\n"
    assert remedy_of(text, "extension-without-operators").commands[0].endswith("--no-deps bitsandbytes==0.45")
    source = f"torch 2.6.0+cu126\n{BITSANDBYTES.format(place='/home/u/src')}\n"
    assert "BNB_CUDA_VERSION" in remedy_of(source, "extension-without-operators").advice


def test_the_torch_that_moved_on_is_at_fault_and_not_a_companion_that_stayed() -> None:
    packages = "torch 2.8.0\ntorchaudio 2.6.0\ntorchvision 0.23.0\nvllm 0.8.5\n"
    text = f"$ pip list\nPackage Version\n------- -------\n{packages}{ABI}\n"
    assert "torch==2.6.0" in " ".join(remedy_of(text, "extension-abi-mismatch").commands)
    assert not [finding for finding in findings_of(text) if finding.id == "torchvision-mismatch" and finding.remedy]
    alone = text.replace(ABI, "")
    assert "torchaudio==2.8.0" in " ".join(remedy_of(alone, "torchvision-mismatch").commands)


def test_a_tensorflow_that_is_blind_to_wheels_gets_them_on_the_path() -> None:
    text = (
        "TensorFlow 2.16.1, NVIDIA GeForce RTX 3090, driver 545.23.08\n"
        "W gpu_device.cc:2251] Cannot dlopen some GPU libraries. Please make sure the missing libraries mentioned "
        "above are installed properly\nSkipping registering GPU devices...\n"
    )
    assert any("LD_LIBRARY_PATH" in command for command in remedy_of(text, "tf-cannot-dlopen").commands)


def test_the_cache_is_emptied_only_where_a_file_is_wrong() -> None:
    slow = (
        "pip._vendor.urllib3.exceptions.ReadTimeoutError: HTTPSConnectionPool(host='mirror.example'): Read timed out.\n"
    )
    assert not any("purge" in command for command in remedy_of(slow, "download-failed").commands)
    wrong = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n"
    assert any("purge" in command for command in remedy_of(wrong, "download-failed").commands)


def test_the_log_of_a_build_is_the_one_that_the_text_names() -> None:
    text = (REPORTS / "batch-25/b25-23.txt").read_text("utf-8")
    assert "/var/lib/dkms/nvidia/560.35.03/build/make.log" in remedy_of(text, "dkms-build-failed").commands[0]


def test_podman_without_cdi_gets_the_gpu_by_its_hook() -> None:
    text = (REPORTS / "batch-26/b26-39.txt").read_text("utf-8")
    assert "--hooks-dir" in remedy_of(text, "device-node-permission").commands[0]
    newer = text.replace("podman version 3.4.4", "podman version 4.9.3")
    assert "--device nvidia.com/gpu=all" in remedy_of(newer, "device-node-permission").commands[0]


def test_the_system_s_libstdcxx_is_not_taken_for_conda_s() -> None:
    line = (
        "ImportError: /usr/lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.26' not found (required by "
        "/home/u/anaconda3/envs/mesh/lib/python3.10/site-packages/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so)\n"
    )
    assert any("LD_LIBRARY_PATH" in command for command in remedy_of(line, "libstdcxx-too-old").commands)
