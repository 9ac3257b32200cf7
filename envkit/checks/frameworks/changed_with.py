"""What was compiled for the old PyTorch, and has to change with it: in somebody's image, or beside it (mmcv-full)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.checks.engine.command import CAPABILITY, FILE, IMAGE, NAME, REQUIREMENT, URL, export
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
    return _with_extension(environment, matrix, _with_mmcv(environment, _or_newer_tag(environment, matrix, given)))


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


def _with_extension(environment: Environment, matrix: Matrix, given: Remedy) -> Remedy:
    """The remedy with the extension that the text names, compiled again: it was made for the old PyTorch."""
    told = seen(environment, "arch-newer-than-build", "detail-extension", "detail-source")
    package, source = (named(told, "package") or "").replace("_", "-"), named(told, "source")
    install = next((step for step in given.steps if step.words[1:4] == ("-m", "pip", "install")), None)
    if install is None or not (package or source):
        return given
    targets = _targets(environment, matrix, given)
    forced = (export("FLASH_ATTENTION_FORCE_BUILD", "TRUE"),) if package == "flash-attn" else ()
    where = ("-e", FILE(source)) if source else (REQUIREMENT(package),)
    return Remedy(
        f"{given.advice} {source or package} was compiled for the old PyTorch, and does not load with the new one: "
        "the last command compiles it again, which needs nvcc of the new PyTorch's CUDA (in an image, a base of that "
        "CUDA with devel in its tag) and takes a while. Do the same with every other package that has compiled parts "
        "and fails to import then.",
        (
            *given.steps,
            *((export("TORCH_CUDA_ARCH_LIST", CAPABILITY(targets[0])),) if len(targets) == 1 else ()),
            *forced,
            pip(PythonEnvironment("", None, executable=install.words[0]), *_ANEW, *where),
        ),
    )


_TORCH_OF = regex(r"\btorch==(?P<version>\d{1,2}\.\d{1,2}\.\d{1,2})")
_ANEW = ("install", "--force-reinstall", "--no-deps", "--no-build-isolation", "--no-cache-dir")


def frozen(environment: Environment, given: Remedy) -> Remedy:
    """A program that was packed with its own PyTorch: what pip installs on the system is not in it."""
    install = next((step for step in given.steps if step.words[1:4] == ("-m", "pip", "install")), None)
    if install is None:
        return given
    return Remedy(
        "The program is an executable that contains its own PyTorch, so what is installed on the system (CUDA, Python, "
        "torch) does not change it. Use a release of the program that was built for a newer CUDA: its release notes, "
        f"or the name of its download, say which. If there is none, run the program from its source: {given.advice} "
        "Do that in a new environment, after the program's own requirements, and start the program there with Python.",
        given.steps,
    )


def _targets(environment: Environment, matrix: Matrix, given: Remedy) -> list[str]:
    """What to compile an extension for: the code of the new PyTorch that these GPUs run, which it knows as a target."""
    torch = _TORCH_OF.search(" ".join(word for step in given.steps for word in step.words))
    version = torch["version"] if torch is not None else ""
    held = [target for row in matrix.builds("pytorch") if str(row.version) == version for target in row.sass or ()]
    found = {
        max((one for one in held if one.numbers[0] == own.numbers[0] and one.numbers <= own.numbers), default=own)
        for _, own in capable_gpus(environment, matrix)
    }
    return [str(target) for target in found]
