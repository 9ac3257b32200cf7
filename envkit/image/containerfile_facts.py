"""What a Dockerfile puts into its image: base, system, CUDA, cuDNN, Python and framework packages."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import TYPE_CHECKING

from envkit.image import data
from envkit.image.containerfile import BuildStage, environment_stages, final_chain, needed_stages
from envkit.image.containerfile_frameworks import Wanted, is_framework, merged, wanted_of
from envkit.image.containerfile_lists import Lists, Reader, nothing_beside
from envkit.image.containerfile_packages import ListFile, Package, installed
from envkit.image.known_images import CUDA_REPOSITORY, framework_image, image_name, tag_row
from envkit.image.markers import holds
from envkit.image.wheel_names import Wheel
from envkit.matrix.rows import FrameworkImage, ImageTag, OperatingSystem
from envkit.names import normalised
from envkit.records import record
from envkit.regex import regex
from envkit.versions import Version

if TYPE_CHECKING:
    from envkit.matrix import Matrix

_INDEX_SETTING = regex(r"(?:PIP|UV)_(?:EXTRA_INDEX_URL|INDEX_URL|FIND_LINKS|DEFAULT_INDEX|INDEX)[= ](\S+)")
_SETTINGS = regex(r"\b(?:PIP|UV)_\w*(?:INDEX|FIND_LINKS)|pip\.conf|pip[\d.]* config|uv\.toml")
_APT_CUDA = regex(r"\bcuda(?!-compat|-drivers|-keyring|-repo)(?:-[a-z]+)*-(\d+)[-.](\d+)\b")
_SOME_CUDA = regex(
    r"\b(nvidia-cuda-toolkit|nvidia-cuda-runtime-cu\d+|libcudart[\d.]+)\b|\s(cuda(?:-toolkit)?(?:-\d+)?)(?=\s|$)"
)
_APT_CUDNN = regex(r"\blibcudnn(\d+)(?:-[\w-]+)?(?:=(\d+(?:\.\d+)+))?|\bcudnn(\d+)-cuda")
_ARCHIVE_CUDNN = regex(r"\bcudnn-[\w.-]*?-v?(\d+(?:\.\d+)+)(?:_cuda[\d.]+-archive)?\.t")
_SOME_CUDNN = regex(r"\b(?:nvidia-cudnn|cudnn|libcudnn)\b")
_RUNFILE = regex(r"\bcuda_(\d+\.\d+\.\d+)[\w.-]*(?:run|linux)\b")
_PYTHON_PACKAGE = regex(r"\bpython(\d\.\d+)(?:-(?:venv|dev|distutils|pip|full))?\b")
_PYTHON_CALLED = regex(r"\bpython(\d\.\d+) -m (?:pip|venv|virtualenv)")
_PYTHON_MADE = regex(
    r"(?:--python[= ]|python install (?:cpython-)?|pyenv (?:install|global) (?:-\w+ )*|\b[Cc]?[Pp]ython-)[\"']?"
    r"(\d\.\d+)"
)
_CONDA_PYTHON = regex(r"\bpython[= ]+=?(\d\.\d+)")
_CONDA = regex(r"conda|mamba|miniforge")
# Conda's Python and packages need glibc: an image of a distribution with musl that has them brings it along.
_GLIBC = regex(r"conda|mamba|miniforge|glibc")
_PYTHON_IMAGE = regex(r"(?:^|/)python:(\d\.\d+)")
_PYTHON_MAJOR = regex(r"\b(?:python|pip)(\d)")
_PYTHON_WORD = regex(r"(?:^|[-_])py(?:thon)?(\d)\.?(\d+)\b")
_DRIVER_PACKAGE = regex(
    r"\b(nvidia-driver-\d+[\w-]*|nvidia-headless-\d+[\w-]*|nvidia-open|cuda-drivers(?:-\d+)?|nvidia-utils-\d+)\b"
)
# Images that hold a distribution and a language, and no CUDA.
_WITHOUT_CUDA = regex(
    r"(?:alma|rocky|oracle|amazon)linux|(?:rockylinux/)?rockylinux|fedora|centos|opensuse/leap|debian|ubuntu"
    r"|python|buildpack-deps|node|golang|mambaorg/micromamba|continuumio/(?:mini|ana)conda3?|condaforge/[\w-]+"
)
_ARM = regex(r"arm64|aarch64")
_CUDA_OF_CONDA = frozenset(
    {"cuda", "cuda-toolkit", "cuda-version", "cuda-runtime", "cuda-libraries", "cudatoolkit", "pytorch-cuda"}
)


@record
class Contents:
    """What the final image is made of, as far as the file tells; None and () where it does not."""

    line: int  # of the FROM that names the base image
    image: str
    repository: str
    tag: str
    architecture: str
    system: OperatingSystem | None
    glibc: bool  # its name, what it is for or its commands tell of glibc, whatever the distribution has
    plain: bool  # the base is known to hold no CUDA
    cuda: Version | None  # system CUDA
    cuda_where: str
    some_cuda: str  # what brings a CUDA whose version is not told
    cudnn: Version | None  # system cuDNN; the major alone where only that is told
    some_cudnn: bool  # there is a cuDNN whose version is not told
    python: Version | None
    wanted: tuple[Wanted, ...]
    names: frozenset[str]  # every package
    pinned: frozenset[str]  # every package name with a version bound
    conda_cuda: Version | None  # the CUDA that conda is told to bring
    conda_cpu: bool
    index_set: bool  # an index is set outside of the commands
    lists: tuple[ListFile, ...]
    wheels: tuple[tuple[int, Wheel], ...]  # those that are named by their files
    driver_packages: tuple[tuple[int, str], ...]


def contents(stages: tuple[BuildStage, ...], matrix: Matrix, beside: Reader = nothing_beside) -> Contents:
    """The contents of the image that the last stage makes; `beside` reads the files that lie with the Dockerfile."""
    chain = final_chain(stages)
    base = chain[0]
    runs = _runs(chain)
    needed = needed_stages(stages)
    brought = environment_stages(stages)
    other_runs = _runs(stage for stage in needed if stage not in chain)
    copied = "\n".join(text for _, text in other_runs)
    name = image_name(base.image)
    repository, tag = name.repository, name.wanted_tag
    row = tag_row(repository, tag, matrix)
    own = framework_image(repository, tag, matrix)
    script = "\n".join(text for _, text in runs)
    whole = f"{script}\n{copied}"
    copied_from = " ".join(image for _, image in copied_images(chain))
    system = _system(repository, tag, row, own, matrix)
    lists = _lists(stages, beside)
    items = [item for line, text in [*_runs(brought), *runs] for item in installed(line, text, lists[line])]
    other_items = [item for line, text in other_runs for item in installed(line, text, lists[line])]
    python = _python(repository, tag, own, script, copied, system, brought)
    packages, unsure = _for_here(items, python, _architecture(base))
    elsewhere = [item for item in other_items if isinstance(item, Package)]
    settings = "\n".join(part.text for stage in chain for part in stage.instructions if part.keyword in ("ENV", "ARG"))
    set_index = " ".join(_INDEX_SETTING.findall(settings))
    conda_cuda = _conda_version([*packages, *elsewhere], _CUDA_OF_CONDA)
    cuda, where = _cuda(row, own, tag, repository, whole)
    if cuda is None:
        cuda, where = _copied_cuda(chain, matrix)
    if cuda is None and conda_cuda is not None:
        cuda, where = conda_cuda, f"CUDA {conda_cuda} of conda"
    cudnn = _cudnn(row, own, tag, whole) or _copied_cudnn(chain, matrix)
    return Contents(
        line=base.line,
        image=base.image,
        repository=repository,
        tag=tag,
        architecture=_architecture(base),
        system=system,
        glibc=_GLIBC.search(f"{repository}:{tag} {whole} {copied_from}") is not None,
        plain=_is_plain(repository, row, matrix),
        cuda=cuda,
        cuda_where=where,
        some_cuda=next((found.group(1) or found.group(2) for found in _SOME_CUDA.finditer(whole)), ""),
        cudnn=cudnn or _conda_version(packages, ("cudnn",)) or _wheel_cudnn(packages),
        some_cudnn=_SOME_CUDNN.search(whole) is not None,
        python=python,
        wanted=merged([wanted for item in packages for wanted in wanted_of(item, set_index, matrix)]),
        names=frozenset(normalised(item.name) for item in packages),
        pinned=frozenset(normalised(item.name) for item in packages if item.spec),
        conda_cuda=conda_cuda,
        conda_cpu=any(item.tool == "conda" and item.name == "cpuonly" for item in packages),
        index_set=_SETTINGS.search(f"{settings}\n{script}") is not None,
        lists=tuple(
            [
                *dict.fromkeys(item for item in (*items, *other_items) if isinstance(item, ListFile)),
                *(ListFile(item.line, f"{item.name}; {item.marker}") for item in unsure if is_framework(item, matrix)),
            ]
        ),
        wheels=tuple((item.line, item.wheel) for item in packages if item.wheel is not None),
        driver_packages=tuple((line, name) for line, text in runs for name in _DRIVER_PACKAGE.findall(text)),
    )


def _runs(stages: Iterable[BuildStage]) -> list[tuple[int, str]]:
    return [(part.line, part.script) for stage in stages for part in stage.instructions if part.keyword == "RUN"]


def _lists(stages: tuple[BuildStage, ...], beside: Reader) -> dict[int, Lists]:
    """What reads the files that the RUN of a line names."""
    return {
        part.line: Lists(stages[: index + 1], part.line, beside)
        for index, stage in enumerate(stages)
        for part in stage.instructions
    }


def _for_here(
    items: Iterable[Package | ListFile], python: Version | None, architecture: str
) -> tuple[list[Package], list[Package]]:
    """The packages whose markers hold in the image, and those of which that cannot be told."""
    packages = [item for item in items if isinstance(item, Package)]
    verdicts = [holds(item.marker, python, architecture) for item in packages]
    sure = [item for item, verdict in zip(packages, verdicts, strict=True) if verdict]
    return sure, [item for item, verdict in zip(packages, verdicts, strict=True) if verdict is None]


def _architecture(base: BuildStage) -> str:
    """arm64 where the platform or the image of a Jetson says so; x86_64 otherwise."""
    return "aarch64" if _ARM.search(base.platform) or "l4t" in base.image or "jetson" in base.image else "x86_64"


def _is_plain(repository: str, row: ImageTag | None, matrix: Matrix) -> bool:
    if row is not None:
        return True  # what the tags of nvidia/cuda hold is on record
    plain = {(known.base_image or "").partition(":")[0] for known in matrix.operating_systems} - {""}
    return repository in plain or _WITHOUT_CUDA.fullmatch(repository) is not None


def copied_images(stages: Iterable[BuildStage]) -> Iterator[tuple[int, str]]:
    """Line and name of each image that files are copied from without a stage of its own."""
    for stage in stages:
        for part in stage.instructions:
            source = part.flags.get("from", "")
            if part.keyword in ("COPY", "ADD") and re.search(r"[:/]", source) and "$" not in source:
                yield part.line, source


def _system(
    repository: str, tag: str, row: ImageTag | None, own: FrameworkImage | None, matrix: Matrix
) -> OperatingSystem | None:
    named = (row.os_id if row is not None else None) or (own.os_id if own is not None else None)
    if named:
        return matrix.operating_system(named)
    ends = [part for part in re.split(r"[-_]", tag) if matrix.operating_system(part)]
    if ends:
        return matrix.operating_system(ends[-1])
    name = repository.rpartition("/")[2]
    by_image = [system for system in matrix.operating_systems if system.base_image == f"{repository}:{tag}"]
    return by_image[0] if by_image else matrix.operating_system(f"{name}{tag}")


def _cuda(
    row: ImageTag | None, own: FrameworkImage | None, tag: str, repository: str, script: str
) -> tuple[Version | None, str]:
    """The system CUDA and where it is named: in the base image, a runfile or packages. A base flavour has none."""
    runfile = _RUNFILE.search(script)
    if runfile:
        return Version.parse(runfile.group(1)), runfile.group()
    package = _APT_CUDA.search(script)
    if package:
        return Version.of(int(package.group(1)), int(package.group(2))), package.group()
    return image_cuda(row, own, tag, repository)


def image_cuda(
    row: ImageTag | None, own: FrameworkImage | None, tag: str, repository: str
) -> tuple[Version | None, str]:
    """The CUDA libraries of an image, as its row or its name tells; none in a base flavour."""
    where = f"{repository}:{tag}"
    if row is not None and row.cuda is not None and row.repository == CUDA_REPOSITORY:
        return (row.cuda, where) if row.flavor != "base" else (None, "")
    if own is not None and own.cuda is not None:
        return own.cuda, where
    # In the names of CUDA's own images the tag starts with its version, elsewhere with that of the framework.
    lead = "" if re.search(r"(?:^|/)cuda[a-z]*$|/l4t-cuda$", repository) else r".*cuda-?"
    found = re.match(rf"{lead}(\d+\.\d+(?:\.\d+)?)", tag) if "cuda" in where and "-base" not in tag else None
    return (Version.parse(found.group(1)), where) if found else (None, "")


def _copied_cuda(stages: Iterable[BuildStage], matrix: Matrix) -> tuple[Version | None, str]:
    for _, image in copied_images(stages):
        name = image_name(image)
        repository, tag = name.repository, name.wanted_tag
        found = image_cuda(tag_row(repository, tag, matrix), None, tag, repository)
        if found[0] is not None:
            return found
    return None, ""


def _copied_cudnn(stages: Iterable[BuildStage], matrix: Matrix) -> Version | None:
    for _, image in copied_images(stages):
        name = image_name(image)
        repository, tag = name.repository, name.wanted_tag
        found = _cudnn(tag_row(repository, tag, matrix), None, tag, "")
        if found is not None:
            return found
    return None


def _cudnn(row: ImageTag | None, own: FrameworkImage | None, tag: str, script: str) -> Version | None:
    package = _APT_CUDNN.search(script)
    if package:
        return Version.parse(package.group(2) or package.group(1) or package.group(3))
    archive = _ARCHIVE_CUDNN.search(script)
    if archive:
        return Version.parse(archive.group(1))
    if own is not None and own.cudnn:
        return Version.find(own.cudnn)
    word = row.cudnn if row is not None else next((part for part in tag.split("-") if part.startswith("cudnn")), "")
    major = data.tag_cudnn(word)
    return Version.of(major) if major else None


def _conda_version(packages: list[Package], names: Container[str]) -> Version | None:
    """The version that conda is told for one of these packages."""
    for item in packages:
        if item.tool != "conda" or item.name not in names:
            continue
        found = Version.find(item.spec)
        if found is not None and not re.search(r"[<>!]", item.spec):
            return found
        label = re.search(r"nvidia/label/cuda-(\d+\.\d+)", " ".join(item.channels))
        if label:
            return Version.parse(label.group(1))
    return None


def _wheel_cudnn(packages: list[Package]) -> Version | None:
    """The cuDNN that comes as a wheel."""
    for item in packages:
        if item.tool == "pip" and normalised(item.name).startswith("nvidia-cudnn-cu") and "<" not in item.spec:
            return Version.find(item.spec)
    return None


def _python(
    repository: str,
    tag: str,
    own: FrameworkImage | None,
    script: str,
    copied: str,
    system: OperatingSystem | None,
    brought: tuple[BuildStage, ...],
) -> Version | None:
    conda = _CONDA.search(f"{repository} {script}\n{copied}") is not None
    images = [f"{repository}:{tag}", *(stage.image for stage in brought)]
    made = next(filter(None, _made_pythons(images, script, copied, conda)), None)
    if made is not None:
        return Version.parse(made.group(1))
    named = set(_PYTHON_PACKAGE.findall(script))
    if named:
        return Version.parse(named.pop()) if len(named) == 1 else None
    if own is not None and own.python is not None:
        return own.python.release(2)
    word = _PYTHON_WORD.search(tag)
    if word:
        return Version.of(int(word.group(1)), int(word.group(2)))
    if conda or repository.rpartition("/")[2] == "python":  # its own Python, whose version is not told
        return None
    default = system.default_python if system else None
    if default is None or any(int(major) > default.major for major in _PYTHON_MAJOR.findall(script)):
        return None  # a second Python of the distribution, whose version is not told
    return default.release(2)


def _made_pythons(images: list[str], script: str, copied: str, conda: bool) -> Iterator[re.Match[str] | None]:
    """Where a Python's version is told, the nearest to what runs first."""
    if conda:  # the environments of the image itself come before those that another stage hands over
        yield _CONDA_PYTHON.search(script)
        yield _CONDA_PYTHON.search(copied)
    yield _PYTHON_CALLED.search(script)
    yield _PYTHON_MADE.search(f"{script}\n{copied}")
    yield from map(_PYTHON_IMAGE.search, images)
