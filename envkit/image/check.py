"""Judges somebody's Dockerfile: its base image, and whether CUDA, cuDNN, Python, GPU and driver suit its frameworks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.findings import Finding, Remedy, Status
from envkit.image.check_base import base_findings
from envkit.image.check_framework import brings_its_cuda, cuda_targets, framework_findings
from envkit.image.check_parts import subject_of
from envkit.image.containerfile import needed_stages, read_stages
from envkit.image.containerfile_facts import Contents, contents
from envkit.plan.request import Request

if TYPE_CHECKING:
    from envkit.matrix import Matrix


def check_dockerfile(text: str, request: Request, matrix: Matrix) -> tuple[Finding, ...]:
    """Every finding on a Dockerfile, failures first, then in the order of its lines; the request names GPUs and driver.

    Raises SourceError for a text that is no Dockerfile.
    """
    stages = read_stages(text)
    found = contents(stages, matrix)
    findings = [*_driver_inside(found)]
    for stage in needed_stages(stages):
        findings += base_findings(stage, matrix)
    findings += framework_findings(found, request, matrix)
    if found.cuda is not None:
        subject = subject_of(found.line, found.cuda_where)
        findings += cuda_targets(found.cuda, subject, request, matrix, unused=brings_its_cuda(found, matrix))
    findings += _lists(found)
    order = {Status.FAIL: 0, Status.WARN: 1, Status.UNKNOWN: 2}
    return tuple(sorted(findings, key=lambda finding: order.get(finding.status, 3)))


def _driver_inside(found: Contents) -> Iterator[Finding]:
    for line, name in found.driver_packages:
        yield Finding(
            "image.driver-inside",
            Status.FAIL,
            f"{name} puts an NVIDIA driver into the image",
            subject_of(line, name),
            impact="Its libraries hide the host's, and fail where they differ from the host's kernel module.",
            remedy=Remedy(f"Remove {name}: the NVIDIA container toolkit brings the host's driver in with --gpus all."),
        )


def _lists(found: Contents) -> Iterator[Finding]:
    for item in found.lists:
        title = f"what {item.name} installs was not looked at: the Dockerfile does not hold it"
        yield Finding("image.list-unread", Status.UNKNOWN, title, subject_of(item.line, item.name))
