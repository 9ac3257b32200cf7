"""`--fix` on companions: a bound goes where the companion is installed, and a release that the file pins stays."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.repairs_left import why_left
from tests.image.repaired import assert_repaired, fixed
from tests.image.test_fix import check

_TORCH = "FROM pytorch/pytorch:1.6.0-cuda10.1-cudnn7-devel\n"
_WHEELS = "-f https://download.openmmlab.com/mmcv/dist/cu101/torch1.6.0/index.html"
_PYTHON = "FROM python:3.10\n"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        pytest.param(
            f"{_TORCH}RUN pip install mmcv-full {_WHEELS}\nRUN pip install mmdet==2.11.0\n",
            f"RUN pip install 'mmcv-full<1.4.1' {_WHEELS}\nRUN pip install mmdet==2.11.0\n",
            id="installed before, from wheels of its own",
        ),
        pytest.param(
            f"{_TORCH}RUN pip install mmcv-full {_WHEELS}\nRUN pip install mmdet\n",
            "RUN pip install 'mmdet<3'\n",
            id="the newest release of both",
        ),
        pytest.param(
            f"{_PYTHON}RUN git clone https://a.example/pydantic && cd pydantic\nRUN pip install deepspeed==0.9.2\n",
            "RUN pip install 'pydantic<2.0' deepspeed==0.9.2\n",
            id="a name that no pip installs",
        ),
        pytest.param(
            f"{_PYTHON}RUN pip install pydantic-settings==1.0\nRUN pip install deepspeed==0.9.2\n",
            "RUN pip install 'pydantic<2.0' deepspeed==0.9.2\n",
            id="another package's name",
        ),
    ],
)
def test_a_bound_goes_to_the_companion(text: str, part: str) -> None:
    assert_repaired(text, part)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(
            f"{_TORCH}RUN pip install mmcv-full==1.6.0 {_WHEELS}\nRUN pip install mmsegmentation==0.20.0\n",
            "Use 'mmcv-full<1.5.1' in place of mmcv-full==1.6.0, or use a newer mmsegmentation.",
            id="a pin that a bound would replace by a build of the source",
        ),
        pytest.param(
            f"{_TORCH}RUN pip install mmcv-full==1.3.12 {_WHEELS}\nRUN pip install mmcls mmdet\n",
            "Use a release of mmdet before 3 that works with mmcv-full==1.3.12, or",
            id="a pin that the newest below the bound may refuse",
        ),
        pytest.param(
            f"{_PYTHON}RUN pip install pydantic==2.5.0\nRUN pip install deepspeed==0.9.2\n",
            "Use 'pydantic<2.0' in place of pydantic==2.5.0",
            id="a pin of anything else",
        ),
    ],
)
def test_a_pinned_companion_is_left(text: str, why: str) -> None:
    [left] = [one for one in check(text) if one.status is Status.FAIL]
    assert fixed(text) == text
    assert why in why_left(left)
