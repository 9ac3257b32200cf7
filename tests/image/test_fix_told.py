"""`--fix` does what a remedy tells: the words that it writes, and texts in which it may not."""

from __future__ import annotations

import pytest

from tests.image.repaired import assert_repaired, fixed
from tests.image.test_fix import errors

_JAMMY = "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y python3-pip curl\n"
_DEVEL = _JAMMY.replace("ubuntu:22.04", "nvidia/cuda:12.4.1-devel-ubuntu22.04", 1)
_MINICONDA = "https://repo.anaconda.com/miniconda/Miniconda3-latest-Linux-x86_64.sh"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        pytest.param(
            f"{_JAMMY}RUN pip3 install torch==2.3.0\nRUN pip3 install transformers\n",
            "RUN pip3 install 'transformers<5.0'\n",
            id="the bound that a torch needs",
        ),
        pytest.param(
            'FROM vllm/vllm-openai:v0.8.5\nCMD ["python3", "app.py"]\n',
            'ENTRYPOINT []\nCMD ["python3", "app.py"]\n',
            id="a server in the base",
        ),
        pytest.param(
            "ARG MMCV=1.0\nFROM python:3.8\nRUN pip install mmcv==${MMCV}\n",
            "FROM python:3.8\nARG MMCV\nRUN pip",
            id="an argument before FROM",
        ),
        pytest.param(f"{_JAMMY}COPY . .\nRUN pip3 .\n", "RUN pip3 install .\n", id="a missing word"),
        pytest.param(
            f"{_DEVEL}RUN CMAKE_ARGS='-DLLAMA_CUBLAS=on' pip3 install llama-cpp-python\n",
            "RUN CMAKE_ARGS='-DGGML_CUDA=on' pip3 install",
            id="the option of a build",
        ),
        pytest.param("FROM ubuntu:22.04\nCMD ['bash', '-l']\n", 'CMD ["bash", "-l"]\n', id="single quotes"),
        pytest.param(
            f"{_JAMMY}RUN curl -LO https://dl.bintray.com/boostorg/release/1.65.1/source/boost_1_65_1.tar.gz\n",
            "curl -LO https://archives.boost.io/release/1.65.1/source/boost_1_65_1.tar.gz\n",
            id="an address of today",
        ),
        pytest.param(
            f"{_JAMMY}RUN cmake .. \\\n    -DA=ON \\\n\n# compile\nRUN make\n".replace("curl", "curl cmake make"),
            "    -DA=ON\n\n# compile\nRUN make\n",
            id="a backslash before an instruction",
        ),
        pytest.param(
            f"{_JAMMY}RUN apt-get update && RUN apt-get install -y git\n",
            "RUN apt-get update && apt-get install -y git\n",
            id="an instruction in a command",
        ),
        pytest.param(
            f"{_JAMMY}RUN curl -o m.sh {_MINICONDA} && bash m.sh -b -p /opt/conda\n"
            "ENV PATH=/opt/conda/bin:$PATH\nRUN conda install -y numpy\n",
            "RUN curl -L -o m.sh https://github.com/conda-forge/miniforge/",
            id="an address that sends on",
        ),
        pytest.param(
            f"{_JAMMY}RUN pip3 install \\\n    six \\\n    sklearn\n",
            "    six \\\n    scikit-learn\n",
            id="a name on a line of its own",
        ),
    ],
)
def test_what_a_remedy_tells_is_done(text: str, part: str) -> None:
    assert_repaired(text, part)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            f"{_JAMMY}RUN pip3 install torch==1.13.1\nRUN pip3 install transformers\n",
            id="a torch that the releases below the bound refuse too",
        ),
        pytest.param("FROM ubuntu:22.04\nCMD ['bash', -l]\n", id="a word without quotes"),
        pytest.param(
            f"{_JAMMY}RUN pip3 install torch==2.3.0\nRUN pip3 install mmcv-full==latest+torch1.6.0+cu101\n",
            id="a release that is a word",
        ),
        pytest.param("FROM python:3.11\nARG GID\nRUN groupadd -g $GID users2\n", id="a value that is not in the file"),
    ],
)
def test_what_no_remedy_settles_stays(text: str) -> None:
    assert errors(text)
    assert fixed(text) == text
