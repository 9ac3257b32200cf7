"""What was compiled for the old PyTorch, and has to change with it: in somebody's image, or beside it (mmcv-full)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.checks.engine.command import IMAGE, NAME, REQUIREMENT, URL
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.suited import installs_of
from envkit.checks.frameworks.installs import capable_gpus, pip
from envkit.model import Environment, PythonEnvironment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_BASE = regex(
    r"(?:docker\.io/)?(?:nvidia/cuda|pytorch/pytorch|python|ubuntu|debian|nvcr\.io/[\w./-]{1,120})(?::[\w.-]{1,80})?"
)
_PUBLISHED = regex(r"[\w.-]{1,80}(?:/[\w.-]{1,80}){1,4}:(?!latest$)[\w.-]{1,80}")  # of which there may be newer ones


BUILD = "Install a build with kernels for this GPU."


def with_the_rest(environment: Environment, matrix: Matrix, given: Remedy) -> Remedy:
    """The remedy that changes PyTorch, with what has to change together with it."""
    return _with_mmcv(environment, _or_newer_tag(environment, matrix, given))


def _or_newer_tag(environment: Environment, matrix: Matrix, given: Remedy) -> Remedy:
    """The remedy after the image's own way: a tag whose framework has the kernels, with all that is compiled for it."""
    image = environment.containers.image.value if environment.containers.image.known else ""
    if not image or not isinstance(IMAGE(image), str) or _BASE.fullmatch(image) or not _PUBLISHED.fullmatch(image):
        return given
    if not installs_of(given):
        return given
    targets = {capability.sm: None for _, capability in capable_gpus(environment, matrix)}
    target = series(targets) if targets else "the architecture of your GPU"
    return Remedy(
        f"First look for a tag that is newer than {image}, because the packages in a newer image are already built "
        "against its PyTorch. To check a tag, run `python -c 'import torch; print(torch.cuda.get_arch_list())'` in a "
        f"container started from it; the list must include {target}. If no newer image has kernels for this "
        "GPU, build your own on top of this one: install a PyTorch build that has them, then reinstall the packages "
        f"that were compiled against the old PyTorch. {given.advice.removeprefix(BUILD).lstrip()}",
        given.steps,
    )


_TORCH = regex(r"torch==(?P<line>\d{1,2}\.\d{1,2})\.\d{1,2}(?:\+(?P<tag>cu\d{2,3}))?")
_TAG = regex(r"/whl/(?P<tag>cu\d{2,3})$")
OPENMMLAB_PAGE = "https://download.openmmlab.com/mmcv/dist/{tag}/torch{line}/index.html"


def _with_mmcv(environment: Environment, given: Remedy) -> Remedy:
    """The remedy with mmcv-full for the new PyTorch, where the text names it: its operators are of the old one."""
    version = named(seen(environment, "arch-newer-than-build", "detail-mmcv", "detail-mmcv-listed"), "version")
    install = next((step for step in given.steps if step.words[1:4] == ("-m", "pip", "install")), None)
    words = [word for step in given.steps for word in step.words]
    torch = next((match for word in words if (match := _TORCH.fullmatch(word))), None)
    tag = (torch["tag"] if torch else None) or next((m["tag"] for word in words if (m := _TAG.search(word))), None)
    if version is None or install is None or torch is None or tag is None:
        return given
    python = PythonEnvironment("", None, executable=install.words[0])
    page = OPENMMLAB_PAGE.format(tag=tag, line=torch["line"])
    return Remedy(
        f"{given.advice} mmcv-full {version} was compiled for the old PyTorch: the last commands replace it with the "
        "wheel for the new one from OpenMMLab's page (if pip finds none there, it compiles it, which needs nvcc of "
        "that CUDA; a release nearby may have one).",
        (
            *given.steps,
            pip(python, "uninstall", "-y", NAME("mmcv-full")),
            pip(python, "install", "--no-cache-dir", REQUIREMENT(f"mmcv-full=={version}"), "-f", URL(page)),
        ),
    )
