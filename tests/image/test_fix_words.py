"""`--fix` on words that a shell, pip, or a project cannot read: what the check then finds is nothing."""

from __future__ import annotations

import pytest

from envkit.dockerfile.change import change_for
from tests.checks.software import matrix
from tests.image.test_fix import check, errors

_APT = "RUN apt-get update && apt-get install -y {}\n"
_LLAMA = "https://github.com/ggml-org/llama.cpp"
_JAMMY = f"FROM ubuntu:22.04\n{_APT.format('python3-pip git cmake build-essential')}"


@pytest.mark.parametrize(
    ("text", "fault", "old", "new"),
    [
        (
            f"{_JAMMY}RUN pip install six && pip uninstall six\n",
            "image.tool-option",
            "uninstall six",
            "uninstall -y six",
        ),
        (f"{_JAMMY}RUN pip install --break-system-packages six\n", "image.tool-option", " --break-system-packages", ""),
        (f"{_JAMMY}RUN ln -s /usr/bin/pip3 /usr/bin/pip\n", "image.path-exists", "ln -s ", "ln -sf "),
        (
            f"{_JAMMY}RUN git clone {_LLAMA} && cd llama.cpp && cmake -DLLAMA_CUBLAS=ON .\n",
            "image.tool-option",
            "-DLLAMA_CUBLAS=ON",
            "-DGGML_CUDA=ON",
        ),
        (
            "FROM ubuntu:22.04\nRUN source /opt/set.env && true\n",
            "image.word-unknown",
            "ubuntu:22.04\n",
            'ubuntu:22.04\nSHELL ["/bin/bash", "-c"]\n',
        ),
        (
            "FROM python:3.12\nRUN pip install poetry\nRUN poetry export -o list.txt\n",
            "image.tool-option",
            "install poetry",
            "install poetry poetry-plugin-export",
        ),
        (
            "FROM python:3.10\nRUN pip install flask==2.0.3\n",
            "image.requirements-clash",
            "pip install flask",
            "pip install 'werkzeug<3.0' flask",
        ),
        (
            "FROM python:3.10-slim\nRUN pip install opencv-python\n",
            "image.library-missing",
            "opencv-python",
            "opencv-python-headless",
        ),
        (
            f"{_JAMMY}RUN wget https://go.dev/dl/go1.22.linux-amd64.tar.gz\n".replace("git cmake", "git wget cmake"),
            "image.installer-gone",
            "go1.22.linux",
            "go1.22.0.linux",
        ),
    ],
)
def test_a_word_is_put_right(text: str, fault: str, old: str, new: str) -> None:
    assert errors(text) == [fault]
    change = change_for(text, check(text), check, matrix())
    assert change is not None
    assert change.text == text.replace(old, new)
    assert errors(change.text) == []
