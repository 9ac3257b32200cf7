"""Where a container does not start: its Python is elsewhere, or Jupyter is in other images of the same project."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import stop, subject_of
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.reader import Instruction
from envkit.dockerfile.shell_words import exec_form
from envkit.tables.codes import limit
from envkit.tables.known_images import PYTORCH_REPOSITORY

_LOCAL = regex(r"/usr/local/bin/(?P<name>python3?)")
# What may put a Python there, by its path or from its sources, and scripts that may do anything.
_MAKES = regex(r"/usr/local|\bmake\b|\.sh\b|altinstall|--prefix|\buv\b")
_TENSORFLOW, _JUPYTER = "tensorflow/tensorflow", "jupyter"
_BRINGS_JUPYTER = regex(r"jupyter|notebook|\.sh\b|conda|nbconvert|voila")
_MAY_BRING = frozenset({"copied", "bind"})


def python_elsewhere(ground: Ground) -> Iterator[Finding]:
    """The start of a container by /usr/local/bin/python in an image of PyTorch, whose Python is that of conda."""
    own = ground.base.own
    of_conda = ground.base.repository == PYTORCH_REPOSITORY and own is not None and own.version is not None
    if not of_conda or not ground.first or not ground.last or ground.tells & _MAY_BRING:
        return
    if own is None or own.version is None or own.version >= limit("first-pytorch-image-without-conda"):
        return
    if any(_MAKES.search(text) for text in ground.written):
        return
    part, words = _start(ground)
    found = _LOCAL.fullmatch(words[0]) if words else None
    if part is not None and found is not None:
        yield stop(
            faults.PROGRAM_MISSING,
            f"{ground.base.image} has no {found[0]}: its Python is /opt/conda/bin/{found['name']}",
            subject_of(part.line, part.keyword),
            impact="The container exits immediately.",
            fix=f"Write {found['name']}, which is looked up in PATH.",
            sources=("github-pytorch-pytorch-dockerfile",),
        )


def jupyter_missing(ground: Ground) -> Iterator[Finding]:
    """The start of a container by Jupyter in an image of TensorFlow whose tag does not name it."""
    base, own = ground.base, ground.base.own
    if base.repository != _TENSORFLOW or own is None or own.version is None or not ground.first or not ground.last:
        return
    if own.version < limit("tensorflow-images-without-jupyter") or _JUPYTER in base.tag or ground.unread:
        return
    part, words = _start(ground)
    named = (*ground.written, *(one.name for step in ground.steps for one in step.packages))
    if ground.tells & _MAY_BRING or any(_BRINGS_JUPYTER.search(text) for text in named):
        return
    if part is not None and words and words[0].rpartition("/")[2].partition("-")[0] == _JUPYTER:
        yield stop(
            faults.PROGRAM_MISSING,
            f"{base.image} has no Jupyter, and nothing in this file installs it: only the tags with -jupyter have it",
            subject_of(part.line, part.keyword),
            impact="The container exits immediately.",
            fix="Use the tag that ends with -jupyter, or install jupyter with pip.",
            sources=("github-tensorflow-docs-docker-md",),
        )


def _start(ground: Ground) -> tuple[Instruction | None, list[str]]:
    """The instruction that says what the container starts, and its words."""
    parts = {one.keyword: one for one in ground.instructions if one.keyword in ("ENTRYPOINT", "CMD")}
    part = parts.get("ENTRYPOINT") or parts.get("CMD")
    return part, list(exec_form(part.text) or part.text.split()) if part is not None else []
