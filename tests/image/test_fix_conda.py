"""`--fix` on conda: its own environment gets no Python that its release is not for, and its image stays."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.repairs_left import why_left
from tests.image.repaired import assert_repaired, fixed
from tests.image.test_fix import check, errors

_FILE = "Miniconda3-latest-Linux-x86_64.sh"
_GET = (
    "RUN apt-get update && apt-get install -y wget bzip2\n"
    f"RUN wget https://repo.anaconda.com/miniconda/{_FILE} && bash {_FILE} -b -p /opt/conda\n"
    "ENV PATH=/opt/conda/bin:$PATH\n"
)
_XENIAL, _JAMMY = f"FROM ubuntu:16.04\n{_GET}", f"FROM ubuntu:22.04\n{_GET}"
_IMAGE = "FROM continuumio/miniconda3\n"
_ACCEPTED = "ENV CONDA_PLUGINS_AUTO_ACCEPT_TOS=yes\n"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        pytest.param(f"{_XENIAL}RUN conda install -y python=3.5.3-0\n", "bash Miniconda3-4.5.11-Linux", id="3.5"),
        pytest.param(
            f"{_XENIAL}RUN conda install -y -n base python=3.6\n", "Miniconda3-py37_4.10.3-", id="3.6 by name"
        ),
        pytest.param(
            f"{_XENIAL}ARG V=3.7\nRUN conda install -y python=$V\n", "Miniconda3-py37_4.10.3-", id="of an argument"
        ),
        pytest.param(f"{_XENIAL}RUN conda install -y numpy\n", "Miniconda3-py310_23.11.0-2-", id="its own Python"),
        pytest.param(
            f"{_XENIAL}RUN conda create -y -n old python=3.6\n", "Miniconda3-py310_23.11.0-2-", id="another environment"
        ),
        pytest.param(
            f"{_XENIAL}RUN conda install -y -n old python=3.6\n", "Miniconda3-py310_23.11.0-2-", id="another's name"
        ),
        pytest.param(
            f"{_XENIAL}RUN . /opt/conda/bin/activate old && conda install -y python=3.6\n",
            "Miniconda3-py310_23.11.0-2-",
            id="one that is active",
        ),
        pytest.param(
            f"{_JAMMY}RUN conda install -y python=3.6\n",
            "bash Miniconda3-py37_4.10.3-",
            id="a recent system, and terms",
        ),
        pytest.param(f"{_JAMMY}RUN conda install -y python=3.12\n", "bash Miniforge3-", id="a Python of today"),
        pytest.param(
            f"{_IMAGE}RUN apt-get update && apt-get install -y libgconf-2-4\nRUN conda create -y -n x python=3.10\n",
            f"{_IMAGE}{_ACCEPTED}",
            id="packages that another image lacks",
        ),
        pytest.param(
            f"ARG IMAGE=continuumio/miniconda3\nFROM $IMAGE\nRUN if [ $IMAGE = other ]; then wget https://repo.anaconda.com/"
            f"miniconda/{_FILE}; fi\nRUN conda create -y -n x python=3.10\n",
            f"FROM $IMAGE\n{_ACCEPTED}",
            id="an installer that does not run",
        ),
    ],
)
def test_conda_keeps_a_release_for_its_python(text: str, part: str) -> None:
    assert_repaired(text, part)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(f"{_XENIAL}RUN conda install -y python=3.4\n", "no older Miniconda is known", id="none so old"),
        pytest.param(
            f"{_IMAGE}RUN conda install -y python=3.6\n", "the newest conda has no build", id="an image's conda"
        ),
    ],
)
def test_what_no_conda_has_is_left(text: str, why: str) -> None:
    faults = [one for one in check(text) if one.status is Status.FAIL]
    assert fixed(text) == text
    assert any(why_left(one).startswith(why) for one in faults)


@pytest.mark.parametrize(
    "text",
    [
        f"{_IMAGE}{_ACCEPTED}RUN conda install -y numpy\n",
        f"{_IMAGE}RUN conda install -y -c conda-forge --override-channels numpy\n",
    ],
)
def test_terms_that_are_met_stay(text: str) -> None:
    assert errors(text) == []
    assert fixed(text) == text
