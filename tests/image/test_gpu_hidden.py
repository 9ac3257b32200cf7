"""What ENV leaves set may hide the GPUs, or the driver; what counts is the value when a container starts."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

BASE = "FROM nvidia/cuda:12.4.1-devel-ubuntu22.04\n"
STUBS = "/usr/local/cuda/lib64/stubs"
HIDDEN = (
    'ENV CUDA_VISIBLE_DEVICES=""',
    "ENV CUDA_VISIBLE_DEVICES=",
    "ENV CUDA_VISIBLE_DEVICES=-1 A=b",
    "ENV CUDA_VISIBLE_DEVICES -1",
    "ENV CUDA_VISIBLE_DEVICES=all",  # a word of NVIDIA_VISIBLE_DEVICES: CUDA reads indices and UUIDs
    'ENV CUDA_VISIBLE_DEVICES=0\nENV CUDA_VISIBLE_DEVICES=""',
    f"ENV LD_LIBRARY_PATH={STUBS}",
    f"ENV LD_LIBRARY_PATH={STUBS}:$LD_LIBRARY_PATH",
    "ENV LD_LIBRARY_PATH=/opt/lib:/usr/local/cuda-12.4/targets/x86_64-linux/lib/stubs/",
)
SEEN = (
    "ENV CUDA_VISIBLE_DEVICES=0",
    'ENV CUDA_VISIBLE_DEVICES=""\nENV CUDA_VISIBLE_DEVICES=0',
    'ENV CUDA_VISIBLE_DEVICES=""\nCMD CUDA_VISIBLE_DEVICES=0 ./serve',
    'RUN CUDA_VISIBLE_DEVICES="" make test',
    'ARG CUDA_VISIBLE_DEVICES=""\nRUN make test',
    f"ENV LIBRARY_PATH={STUBS}",
    f"ENV LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:{STUBS}",
    f"ENV LD_LIBRARY_PATH=$LD_LIBRARY_PATH:{STUBS}",
    f"RUN LD_LIBRARY_PATH={STUBS} make",
    f"ENV LD_LIBRARY_PATH={STUBS}\nRUN make\nENV LD_LIBRARY_PATH=/usr/local/cuda/lib64",
)


def told(text: str, matrix: Matrix) -> list[str]:
    found = check_dockerfile(f"{text}\n", Request(container=True), matrix)
    return [one.id for one in found if one.id == "image.gpu-hidden" and one.status is not Status.OK]


@pytest.mark.parametrize("text", HIDDEN)
def test_the_gpu_or_its_driver_is_hidden(text: str, matrix: Matrix) -> None:
    assert told(BASE + text, matrix)


@pytest.mark.parametrize("text", SEEN)
def test_nothing_is_hidden_when_a_container_starts(text: str, matrix: Matrix) -> None:
    assert not told(BASE + text, matrix)


def test_an_image_for_the_cpu_and_a_stage_of_the_build_may_hide_them(matrix: Matrix) -> None:
    hides = 'ENV CUDA_VISIBLE_DEVICES=""\n'
    assert not told(f"FROM python:3.12\n{hides}", matrix)
    assert not told(f"{BASE.strip()} AS made\n{hides}RUN make\n{BASE}COPY --from=made /a /a\n", matrix)


def test_a_script_that_starts_the_container_may_set_it_again(matrix: Matrix) -> None:
    text = f'{BASE}ENV CUDA_VISIBLE_DEVICES=""\n'
    for start, status in (("", Status.FAIL), ('ENTRYPOINT ["/entrypoint.sh"]\n', Status.WARN)):
        found = check_dockerfile(text + start, Request(container=True), matrix)
        assert [one.status for one in found if one.id == "image.gpu-hidden"] == [status]
