"""The packages of a file that are taken from a repository and hold code for GPUs: the installer compiles them."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.checks.containers import project_faults as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.dockerfile.check_parts import finding
from envkit.project.choose import Chosen
from envkit.project.model import Manifest
from envkit.project.prebuilt import torch_in
from envkit.project.subject import place_and_words
from envkit.solver.not_covered import is_compiled, where_to_look

_REPOSITORY = regex(r"git\+[^\s@#]{1,200}/([\w.-]{1,80}?)(?:\.git)?(?=[@#;\s]|$)")


def source_findings(manifest: Manifest, have: Chosen) -> Iterator[Finding]:
    """That such a package is not judged, with the nvcc that compiles it."""
    build = torch_in(have)
    for one in manifest.unread:
        match = _REPOSITORY.search(one.name)
        name = normalized(match[1]) if match is not None else ""
        if not name or not is_compiled(name):
            continue
        nvcc = f" with an nvcc of CUDA {build.cuda.major}, as PyTorch's is" if build is not None and build.cuda else ""
        yield finding(
            faults.NOT_JUDGED,
            Status.UNKNOWN,
            f"Not checked: {name} comes from its repository, so the installer compiles it on the machine",
            place_and_words(one.line, one.name, one.file),
            remedy=Remedy(f"Compile it next to the installed PyTorch{nvcc}. {where_to_look(name)}".strip()),
        )
