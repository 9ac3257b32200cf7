"""What a Dockerfile puts into its image: base, system, CUDA, cuDNN, Python and framework packages."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.image import data
from envkit.image.containerfile import BuildStage, final_chain, needed_stages
from envkit.matrix.rows import ImageTag, OperatingSystem
from envkit.records import record
from envkit.regex import regex
from envkit.versions import Version

if TYPE_CHECKING:
    from envkit.matrix import Matrix

_SEPARATORS = regex(r"&&|\|\||[;\n|]")
_INDEX_CUDA = regex(r"/(?:whl|packages/stable)/(?:test/|nightly/)?(cu\d+|cpu)\b")
_LOCAL_CUDA = regex(r"\+(cu\d+|cpu)")
_REQUIREMENT = regex(
    r"([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*((?:[<>=!~]=?|===)\s*[\w.*+!-]+(?:,\s*[<>=!~]=?\s*[\w.*+-]+)*)?"
)
_APT_CUDA = regex(r"\bcuda(?:-toolkit|-libraries|-runtime|-compiler)?-(\d+)-(\d+)\b")
_APT_CUDNN = regex(r"\blibcudnn(\d+)(?:-[\w-]+)?(?:=(\d+(?:\.\d+)+))?")
_RUNFILE = regex(r"\bcuda_(\d+\.\d+\.\d+)[\w.-]*(?:run|linux)\b")
_PYTHON_PACKAGE = regex(r"\bpython(\d\.\d+)(?:-(?:venv|dev|distutils|pip|full))?\b")
_CONDA_PYTHON = regex(r"\bpython[= ]+=?(\d\.\d+)")
_PYTHON_IMAGE = regex(r"(?:^|/)python:(\d\.\d+)")
_DRIVER_PACKAGE = regex(
    r"\b(nvidia-driver-\d+[\w-]*|nvidia-headless-\d+[\w-]*|nvidia-open|cuda-drivers(?:-\d+)?|nvidia-utils-\d+)\b"
)
_IMAGE = regex(
    r"(?:(?:docker\.io|registry-1\.docker\.io)/)?(?P<repository>[^:@\s]+)(?::(?P<tag>[^@\s]+))?(?:@(?P<digest>\S+))?"
)


@record
class Wanted:
    """One framework package that a RUN installs. `cuda`: the variant that an index or suffix names (`cpu` too)."""

    line: int
    framework: str
    package: str
    spec: str  # without the suffix of the variant
    cuda: str
    default_index: bool


@record
class Contents:
    """What the final image is made of, as far as the file tells; None and () where it does not."""

    line: int  # of the FROM that names the base image
    image: str
    repository: str
    tag: str
    system: OperatingSystem | None
    cuda: Version | None  # system CUDA
    cuda_where: str
    cudnn: Version | None  # system cuDNN; the major alone where only that is told
    python: Version | None
    wanted: tuple[Wanted, ...]
    pinned: frozenset[str]  # every package name with a version bound
    driver_packages: tuple[tuple[int, str], ...]


def contents(stages: tuple[BuildStage, ...], matrix: Matrix) -> Contents:
    """The contents of the image that the last stage makes."""
    chain = final_chain(stages)
    base = chain[0]
    runs = [(part.line, part.script) for stage in chain for part in stage.instructions if part.keyword == "RUN"]
    copied = "\n".join(
        part.script
        for stage in needed_stages(stages)
        for part in stage.instructions
        if stage not in chain and part.keyword == "RUN"
    )
    repository, tag = repository_and_tag(base.image)
    row = tag_row(repository, tag, matrix)
    script = "\n".join(text for _, text in runs)
    system = _system(repository, tag, row, matrix)
    cuda, where = _cuda(row, tag, repository, script + "\n" + copied, matrix)
    packages = [item for line, text in runs for item in _packages(line, text)]
    return Contents(
        line=base.line,
        image=base.image,
        repository=repository,
        tag=tag,
        system=system,
        cuda=cuda,
        cuda_where=where,
        cudnn=_cudnn(row, tag, script),
        python=_python(repository, tag, script, system),
        wanted=tuple(wanted for item in packages for wanted in _wanted(item, matrix)),
        pinned=frozenset(normal(item.name) for item in packages if item.spec),
        driver_packages=tuple((line, name) for line, text in runs for name in _DRIVER_PACKAGE.findall(text)),
    )


def repository_and_tag(image: str) -> tuple[str, str]:
    """The parts of an image name; without a tag it is `latest`, with a digest alone ''."""
    found = _IMAGE.fullmatch(image)
    if found is None:
        return image, ""
    return found["repository"], found["tag"] or ("" if found["digest"] else "latest")


def tag_row(repository: str, tag: str, matrix: Matrix) -> ImageTag | None:
    """The tag on record, or None."""
    return next((row for row in matrix.image_tags if row.repository == repository and row.tag == tag), None)


def _system(repository: str, tag: str, row: ImageTag | None, matrix: Matrix) -> OperatingSystem | None:
    if row is not None and row.os_id:
        return matrix.operating_system(row.os_id)
    ends = [part for part in re.split(r"[-_]", tag) if matrix.operating_system(part)]
    if ends:
        return matrix.operating_system(ends[-1])
    name = repository.rpartition("/")[2]
    by_image = [system for system in matrix.operating_systems if system.base_image == f"{repository}:{tag}"]
    return by_image[0] if by_image else matrix.operating_system(f"{name}{tag}")


def _cuda(row: ImageTag | None, tag: str, repository: str, script: str, matrix: Matrix) -> tuple[Version | None, str]:
    """The system CUDA and where it is named: in the base image, a runfile or packages. A base flavour has none."""
    runfile = _RUNFILE.search(script)
    if runfile:
        return Version.parse(runfile.group(1)), runfile.group()
    package = _APT_CUDA.search(script)
    if package:
        return Version.of(int(package.group(1)), int(package.group(2))), package.group()
    if row is not None and row.cuda is not None and row.repository.endswith("nvidia/cuda"):
        return (row.cuda, f"{repository}:{tag}") if row.flavor != "base" else (None, "")
    found = re.search(r"(?:^|cuda-?)(\d+\.\d+(?:\.\d+)?)", tag) if "cuda" in f"{repository}{tag}" else None
    usable = found is not None and "-base" not in tag
    return (Version.parse(found.group(1)), f"{repository}:{tag}") if found and usable else (None, "")


def _cudnn(row: ImageTag | None, tag: str, script: str) -> Version | None:
    package = _APT_CUDNN.search(script)
    if package:
        return Version.parse(package.group(2) or package.group(1))
    word = row.cudnn if row is not None else next((part for part in tag.split("-") if part.startswith("cudnn")), "")
    major = data.tag_cudnn(word)
    return Version.of(major) if major else None


def _python(repository: str, tag: str, script: str, system: OperatingSystem | None) -> Version | None:
    image = _PYTHON_IMAGE.search(f"{repository}:{tag}")
    if image:
        return Version.parse(image.group(1))
    conda = _CONDA_PYTHON.search(script) if "conda" in script or "mamba" in script else None
    for found in (conda, _PYTHON_PACKAGE.search(script)):
        if found:
            return Version.parse(found.group(1))
    named = re.search(r"-py(\d\.?\d+)\b", tag)
    if named and "." in named.group(1):
        return Version.parse(named.group(1))
    return system.default_python.release(2) if system and system.default_python else None


@record
class _Package:
    line: int
    name: str
    spec: str
    index: str


def _packages(line: int, script: str) -> Iterator[_Package]:
    """Every package that pip, uv or conda installs in a script."""
    for command in _SEPARATORS.split(script):
        words = _words(command)
        if "install" not in words:
            continue
        start = words.index("install")
        if not any(_is_installer(word) for word in words[:start]):
            continue
        yield from _requirements(line, words[start + 1 :])


def _is_installer(word: str) -> bool:
    name = word.rpartition("/")[2]
    return re.fullmatch(r"pip[\d.]*|uv|conda|mamba|micromamba", name) is not None


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command, comments=True)
    except ValueError:  # a quote that the split cut in two
        return command.split()


_WITH_VALUE = ("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "-c", "--channel", "-r", "--requirement")


def _requirements(line: int, words: list[str]) -> Iterator[_Package]:
    indexes: list[str] = []
    plain: list[str] = []
    position = 0
    while position < len(words):
        word = words[position]
        name, _, value = word.partition("=")
        if word in _WITH_VALUE:
            indexes.append(words[position + 1] if position + 1 < len(words) else "")
            position += 1
        elif name in _WITH_VALUE:
            indexes.append(value)
        elif not word.startswith("-"):
            plain.append(word)
        position += 1
    for word in plain:
        found = _REQUIREMENT.fullmatch(word)
        if found:
            yield _Package(line, found.group(1), (found.group(2) or "").replace(" ", ""), " ".join(indexes))


def normal(name: str) -> str:
    """The name of a package as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _wanted(item: _Package, matrix: Matrix) -> Iterator[Wanted]:
    for framework in matrix.frameworks:
        names = {normal(name) for name in framework.packages}
        if normal(item.name) not in names and not (item.name == framework.name and "pytorch" in item.index):
            continue
        local = _LOCAL_CUDA.search(item.spec)
        index = _INDEX_CUDA.search(item.index)
        variant = (local or index).group(1) if local or index else ""  # type: ignore[union-attr]
        spec = _LOCAL_CUDA.sub("", item.spec)
        yield Wanted(item.line, framework.name, normal(item.name), spec, variant, not item.index)
        return
