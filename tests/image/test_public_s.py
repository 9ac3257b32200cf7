"""What set s taught: each rule on its smallest file, where it keeps silent, and what --fix makes of it."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.tables import Matrix
from tests.image.repaired import assert_repaired, fixed
from tests.image.told import failures
from tests.image.told import told as findings_of

JAMMY = "FROM ubuntu:22.04\n"
PIP = f"{JAMMY}RUN apt-get update && apt-get install -y python3-pip curl git\n"
CUDA = "FROM nvidia/cuda:12.1.1-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
XENIAL = "FROM ubuntu:16.04\nRUN apt-get update && apt-get install -y python-pip python3-pip\n"
PYTORCH = "FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime\n"
DEVEL = "FROM pytorch/pytorch:2.4.1-cuda12.1-cudnn9-devel\n"
NVIDIA = "FROM nvcr.io/nvidia/tensorflow:21.11-tf2-py3\nRUN apt-get update\n"
LATEST = "https://github.com/krallin/tini/releases/latest"
UV = f"{PYTORCH}RUN pip install uv\n"
SAGE = "https://github.com/thu-ml/SageAttention"
ALTERNATIVE = "update-alternatives --install /usr/bin/python python /usr/bin/python3"
TOLD = {
    "a list without -r": ("image.tool-option", f"{PIP}COPY requirements.txt .\nRUN pip3 install requirements.txt\n"),
    "a server": ("image.service-at-build", f"{PIP}RUN pip3 install jupyterlab\nRUN jupyter lab --ip=0.0.0.0\n"),
    "no priority": ("image.tool-option", f"{PIP}RUN {ALTERNATIVE}\n"),
    "no priority before another command": ("image.tool-option", f"{PIP}RUN {ALTERNATIVE} && python --version\n"),
    "a page without text": (
        "image.installer-gone",
        f"{PIP}RUN V=$(curl -s {LATEST} | grep -o 'v[0-9.]*') && curl -LO https://example.org/$V.deb\n",
    ),
    "no owner": ("image.base-gone", "FROM pytorch:2.1.0-cuda12.1-cudnn8-runtime\nRUN pip install six\n"),
    "the path of another image": ("image.program-missing", f'{PYTORCH}CMD ["/usr/local/bin/python", "main.py"]\n'),
    "uv in an image of a framework": ("image.tool-option", f"{UV}RUN uv pip install six\n"),
    "dependencies that no image has": ("image.apt-asks", f"{NVIDIA}RUN apt-get install git-all\n"),
    "a torch of its own": ("image.torch-hidden", f"{DEVEL}RUN pip install causal-conv1d\n"),
    "a setup without torch": (
        "image.torch-hidden",
        f"{PIP}RUN git clone {SAGE} /s\nWORKDIR /s\nRUN python3 setup.py bdist_wheel\n",
    ),
    "an option that conda create has not": (
        "image.tool-option",
        "FROM condaforge/miniforge3\nCOPY e.yml .\nRUN conda create -f e.yml\n",
    ),
    "a release that is blank": ("image.argument-missing", f"{PIP}ARG RELEASE\nRUN pip3 install six==$RELEASE\n"),
    "Jupyter in another image": (
        "image.program-missing",
        'FROM tensorflow/tensorflow:latest-gpu\nRUN pip install seaborn\nCMD ["jupyter", "notebook", "--allow-root"]\n',
    ),
    "three numbers": ("image.apt-without-package", f"{JAMMY}RUN apt-get update && apt-get install -y python3.10.4\n"),
}
SILENT = {
    "a list with -r": ("image.tool-option", f"{PIP}COPY requirements.txt .\nRUN pip3 install -r requirements.txt\n"),
    "a list of bounds": (
        "image.tool-option",
        f"{PIP}COPY requirements.txt .\nRUN pip3 install -c requirements.txt six\n",
    ),
    "a server's settings": (
        "image.service-at-build",
        f"{PIP}RUN pip3 install jupyterlab && jupyter lab --generate-config\n",
    ),
    "a server's extensions": ("image.service-at-build", f"{PIP}RUN pip3 install jupyterlab && jupyter lab build\n"),
    "a priority": ("image.tool-option", f"{PIP}RUN {ALTERNATIVE} 1\n"),
    "a priority and a slave": (
        "image.tool-option",
        f"{PIP}RUN {ALTERNATIVE} 1 --slave /usr/bin/pip pip /usr/bin/pip3\n",
    ),
    "a priority that is a variable": ("image.tool-option", f"{PIP}ARG P\nRUN {ALTERNATIVE} $P\n"),
    "the page that is followed": ("image.installer-gone", f"{PIP}RUN curl -sL {LATEST} | grep -o 'v[0-9.]*'\n"),
    "its headers": ("image.installer-gone", f"{PIP}RUN curl -sI {LATEST} | grep -o 'v[0-9.]*'\n"),
    "an image of one's own": ("image.base-gone", "FROM pytorch:of-our-team\nRUN pip install six\n"),
    "the path of a link": (
        "image.program-missing",
        f'{PYTORCH}RUN ln -s /opt/conda/bin/python /usr/local/bin/python\nCMD ["/usr/local/bin/python", "main.py"]\n',
    ),
    "uv with an environment": ("image.tool-option", f"{UV}RUN uv venv /e\nRUN uv pip install six\n"),
    "a release that has a default": ("image.argument-missing", f"{PIP}ARG R=1.17\nRUN pip3 install six==$R\n"),
    "Jupyter in its own image": (
        "image.program-missing",
        'FROM tensorflow/tensorflow:latest-gpu-jupyter\nCMD ["jupyter", "notebook", "--allow-root"]\n',
    ),
    "Jupyter that a package brings": (
        "image.program-missing",
        'FROM tensorflow/tensorflow:latest-gpu\nRUN pip install notebook\nCMD ["jupyter", "notebook"]\n',
    ),
    "an answer": ("image.apt-asks", f"{NVIDIA}RUN apt-get install -y git-all\n"),
    "git, which NVIDIA's images have": ("image.apt-asks", f"{NVIDIA}RUN apt-get install git\n"),
    "no isolation": ("image.torch-hidden", f"{DEVEL}RUN pip install --no-build-isolation causal-conv1d\n"),
    "conda's own way": (
        "image.tool-option",
        "FROM condaforge/miniforge3\nCOPY e.yml .\nRUN conda env create -f e.yml\n",
    ),
    "a module that pip is not asked for": (
        "image.index-without-package",
        "FROM python:3.12\nRUN apt-get update && pip install six \\\nCOPY . /app\n",
    ),
    "an older Python's setuptools": (
        "image.package-refuses",
        "FROM pytorch/pytorch:1.8.0-cuda11.1-cudnn8-devel\nRUN pip install --upgrade pip\nRUN pip install mmcv-full\n",
    ),
}


@pytest.mark.parametrize(("id", "text"), TOLD.values(), ids=TOLD)
def test_tells(id: str, text: str, matrix: Matrix) -> None:
    assert id in failures(text, matrix)


@pytest.mark.parametrize(("id", "text"), SILENT.values(), ids=SILENT)
def test_keeps_silent(id: str, text: str, matrix: Matrix) -> None:
    assert id not in failures(text, matrix)


def test_tells_each_pip_that_replaced_itself(matrix: Matrix) -> None:
    text = f"{XENIAL}RUN pip install --upgrade pip && pip install six\nRUN pip3 install -U pip && pip3 install six\n"
    assert fixed(text).count("'pip<21'") == 2


def test_repairs_what_is_certain() -> None:
    assert_repaired(f"{JAMMY}RUN apt-get update && apt-get install -y python3\nRUN {ALTERNATIVE}\n", f"{ALTERNATIVE} 1")
    assert_repaired(TOLD["no owner"][1], "FROM pytorch/pytorch:2.1.0-cuda12.1-cudnn8-runtime\n")
    assert_repaired(TOLD["the path of another image"][1], 'CMD ["python", "main.py"]')
    assert_repaired(TOLD["an option that conda create has not"][1], "RUN conda env create -f e.yml")
    assert_repaired("FROM ubuntu:24.04\nRUN useradd -u 1000 me\n", "RUN userdel -r ubuntu\nRUN useradd -u 1000 me")
    extras = "python:3.12\nCOPY . .\nRUN pip install -e .[one, two]\n"
    assert "pip install -e .[one,two]\n" in fixed(f"FROM {extras}")
    assert_repaired(
        f'{JAMMY}CMD ["sh", "/app/first.sh", "&&", "sh /app/second.sh --now"]\n',
        "CMD sh /app/first.sh && sh /app/second.sh --now\n",
    )
    index = "RUN pip3 install torch --index-url https://download.pytorch.org/whl/cu121\n"
    assert "install 'transformers<5.0' sentence-transformers" in fixed(
        f"{CUDA}{index}RUN pip3 install sentence-transformers\n"
    )
    assert "pip3 install -r requirements.txt" in fixed(TOLD["a list without -r"][1])


def test_keeps_what_it_would_break() -> None:
    """The toolkit that comes with a driver, the cuDNN that a package loads, the system of one stage of two."""
    driver = "apt-get update && apt-get install -y cuda-12-4"
    assert "install -y cuda-toolkit-12-4" in fixed(f"FROM nvidia/cuda:12.4.1-base-ubuntu22.04\nRUN {driver}\n")
    whole = "FROM ubuntu:22.04\nCOPY cuda-keyring.deb /\nRUN dpkg -i /cuda-keyring.deb && apt-get update "
    assert "install -y cuda-toolkit\n" in fixed(f"{whole}&& apt-get install -y cuda\n")
    quoted = f'{JAMMY}CMD ["sh", "/app/first.sh", "&&", "echo \'one two\'"]\n'
    assert fixed(quoted) == quoted
    whisper = (
        "FROM nvidia/cuda:11.7.1-cudnn8-runtime-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip\n"
    )
    whisper += "RUN pip3 install --upgrade pip\nRUN pip3 install faster-whisper\n"
    assert fixed(whisper) == whisper
    base = "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04"
    stages = f"{base} AS one\nRUN apt-get update && apt-get install -y python3.12 python3.12-venv\n"
    stages += f"RUN python3.12 -m venv /v\n{base}\nCOPY --from=one /v /v\n"
    assert fixed(stages) == stages


LLAMA = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\nRUN apt-get update && apt-get install -y python3-pip git\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{LLAMA}RUN pip3 install llama-cpp-python\n", True),
        (
            f"{LLAMA}RUN pip3 install 'llama-cpp-python[cuda] @ git+https://github.com/abetlen/llama-cpp-python.git'\n",
            True,
        ),
        (f"{LLAMA}RUN CMAKE_ARGS=-DGGML_CUDA=on pip3 install llama-cpp-python\n", False),
        (f"{LLAMA}ENV CMAKE_ARGS=-DGGML_CUDA=on\nRUN pip3 install llama-cpp-python\n", False),
        (f"{LLAMA}RUN pip3 install llama-cpp-python --extra-index-url https://example.org/whl/cu124\n", False),
        (f"{PIP}RUN pip3 install llama-cpp-python\n", False),
    ],
)
def test_a_source_that_is_built_for_the_cpu(text: str, told: bool, matrix: Matrix) -> None:
    assert (("image.cpu-build", Status.WARN) in findings_of(text, matrix)) is told
