"""What a Dockerfile puts into its image: base, system, CUDA, cuDNN, Python and framework packages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.markers import holds
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.dockerfile.base import Base, base_of
from envkit.dockerfile.brought import brought_torch
from envkit.dockerfile.copies import Copies
from envkit.dockerfile.cuda import Held, conda_cuda, has_some_cudnn, some_cuda, system_cuda, system_cudnn
from envkit.dockerfile.framework_packages import Wanted, is_framework, merged, wanted_of
from envkit.dockerfile.packages import ListFile, Package, installed
from envkit.dockerfile.python import Pythons, pythons_of
from envkit.dockerfile.python_steps import Callers
from envkit.dockerfile.reader import COPIES, Instruction
from envkit.dockerfile.requirement_lists import Lists, Reader, nothing_beside
from envkit.dockerfile.script import Mention, Script
from envkit.dockerfile.stages import BuildStage, environment_stages, final_chain, needed_stages
from envkit.dockerfile.wheel_names import Wheel
from envkit.tables.build_stops import MovingPython
from envkit.tables.loader import read

if TYPE_CHECKING:
    from envkit.tables import Matrix

_INDEX_SETTING = regex(r"(?:PIP|UV)_(?:EXTRA_INDEX_URL|INDEX_URL|FIND_LINKS|DEFAULT_INDEX|INDEX)[= ](\S+)")
_SETTINGS = regex(r"\b(?:PIP|UV)_\w*(?:INDEX|FIND_LINKS)|pip\.conf|pip[\d.]* config|uv\.toml")
# Conda's Python and packages need glibc: an image of a distribution with musl that has them includes it, too.
_LATER = 8  # Pythons after one that are looked at
_GLIBC = regex(r"conda|mamba|miniforge|glibc")
_DRIVER_PACKAGE = regex(
    r"\b(nvidia-driver-\d+[\w-]*|nvidia-headless-\d+[\w-]*|libcuda1-\d+|nvidia-open|cuda-drivers(?:-\d+)?|nvidia-utils-\d+|nvidia-dkms-\d+[\w-]*"
    r"|libnvidia-(?:compute|gl|encode|decode|cfg1|common|extra|fbc1|ifr1)-\d+)\b"
)
# CUDA's packages that hold the driver too.
_WITH_DRIVER = regex(
    r"(?m)^(?:\w+=\S* |sudo )*(?:apt-get|apt) (?=[^\n]*\binstall )[^\n]* (cuda(?:-runtime)?(?:-\d+-\d+)?)(?= |$)"
)
# The installer of the driver alone, which runs; unpacked it installs nothing.
_DRIVER_RUN = regex(
    r"(?m)(?:\./|\bsh )(NVIDIA(?:-Linux-[\w.*-]{1,60}|[\w*-]{0,20}\*)\.run)(?= |$)"
    r"(?![^\n]{0,200} (?:-x|--extract-only)\b)"
)


@record
class Contents:
    """What the final image is made of, as far as the file tells; None and () where it does not."""

    base: Base
    glibc: bool  # its name, what it is for or its commands describe glibc, whatever the distribution has
    cuda: Held | None  # the system's
    some_cuda: Mention | None  # what provides a CUDA whose version is not told
    cudnn: Version | None  # the system's; the major alone where only that is told
    some_cudnn: bool  # there is a cuDNN whose version is not told
    python: Version | None
    wanted: tuple[Wanted, ...]
    packages: tuple[Package, ...]  # in the order of their commands
    conda_cuda: Held | None  # the CUDA that conda is told to provide
    index_set: bool  # an index is set outside of the commands
    lists: tuple[ListFile, ...]
    wheels: tuple[tuple[int, Wheel, Version | None], ...]  # those that are named by their files, and pip's Python
    driver_packages: tuple[Mention, ...]
    environment: Mapping[str, str]  # what ENV sets
    platform: str = "linux"  # whose packages pip takes
    callers: Callers | None = None  # what python and pip mean at each command, where that can be followed
    elsewhere: tuple[Package, ...] = ()  # those of the stages whose Python packages it does not copy

    @property
    def names(self) -> frozenset[str]:
        """The comparable name of every package."""
        return frozenset(normalized(one.name) for one in self.packages)

    @property
    def conda_cpu(self) -> bool:
        """True where conda is told to take the builds for the CPU."""
        return any(one.tool == "conda" and one.name == "cpuonly" for one in self.packages)

    def asked(self, package: str) -> str | None:
        """The last bound on a package, '' where it is named without one, None where it is not named.

        A bound that a constraints file may hold is not known: it counts as one that cannot be read.
        """
        found = [one for one in self.packages if normalized(one.name) == package]
        bounds = ["?" if one.held else one.spec for one in found]
        return next(filter(None, reversed(bounds)), "") if found else None


@record
class _Stages:
    """The stages of a file by what they are to its image."""

    chain: tuple[BuildStage, ...]  # it is made of these
    brought: tuple[BuildStage, ...]  # it copies the Python packages of these
    others: tuple[BuildStage, ...]  # it is not made of these, and needs them


def contents(stages: tuple[BuildStage, ...], matrix: Matrix, beside: Reader = nothing_beside) -> Contents:
    """The contents of the image that the last stage makes; `beside` reads the files that lie with the Dockerfile."""
    parts = _sorted_out(stages)
    base = base_of(parts.chain[0], matrix)
    own, copied = script_of(parts.chain), script_of(parts.others)
    whole = script_of((*parts.chain, *parts.others))
    images = list(copied_images(parts.chain))
    copies = Copies(stages)
    items = list(_installed((*parts.brought, *parts.chain), copies, beside))
    elsewhere = list(_installed(parts.others, copies, beside))
    pythons = pythons_of(base, own, copied, [stage.image for stage in parts.brought], parts.chain)
    packages, unsure = _for_here(items, pythons, base.architecture)
    others = tuple(item for item in elsewhere if isinstance(item, Package))
    of_conda = conda_cuda([*packages, *others])
    lists = (*_unread((*items, *elsewhere)), *_unsure(unsure, matrix))
    has_torch = base.own is not None or not base.plain or any(one.tool == "conda" for one in packages)
    torch = None if has_torch else brought_torch(packages, lists)
    settings = "\n".join(part.text for part in parts_of(parts.chain, "ENV", "ARG"))
    set_index = " ".join(_INDEX_SETTING.findall(settings))
    return Contents(
        base=base,
        glibc=_tells_of_glibc(base, whole, images),
        cuda=system_cuda(base, whole, images, matrix) or of_conda,
        some_cuda=some_cuda(whole),
        cudnn=system_cudnn(base, whole, images, packages, matrix),
        some_cudnn=has_some_cudnn(whole),
        python=pythons.default,
        wanted=merged(
            one
            for item in (*packages, *filter(None, (torch,)))
            for one in wanted_of(item, pythons.of(item.caller, item.command), set_index, matrix)
        ),
        packages=tuple(packages),
        elsewhere=others,
        callers=pythons.callers,
        conda_cuda=of_conda,
        index_set=_SETTINGS.search(settings) is not None or own.search(_SETTINGS) is not None,
        lists=lists,
        wheels=tuple(
            (item.line, item.wheel, pythons.of(item.caller, item.command) or _at_least(base, item.wheel))
            for item in packages
            if item.wheel is not None
        ),
        driver_packages=(*own.all(_DRIVER_PACKAGE), *own.all(_WITH_DRIVER), *own.all(_DRIVER_RUN)),
        environment=stages[-1].environment,
    )


def _sorted_out(stages: tuple[BuildStage, ...]) -> _Stages:
    chain = final_chain(stages)
    inside = {stage.index for stage in chain}
    others = tuple(stage for stage in needed_stages(stages) if stage.index not in inside)
    return _Stages(chain, environment_stages(stages), others)


def parts_of(stages: Iterable[BuildStage], *keywords: str) -> Iterator[Instruction]:
    """The instructions of stages with these keywords."""
    return (part for stage in stages for part in stage.instructions if part.keyword in keywords)


def last_of(stages: Iterable[BuildStage], keyword: str) -> Instruction | None:
    """The instruction of its kind that counts: the last one."""
    return next(iter(reversed(list(parts_of(stages, keyword)))), None)


def script_of(stages: Iterable[BuildStage]) -> Script:
    """The commands of their RUNs."""
    return Script(command for part in parts_of(stages, "RUN") for command in part.commands)


def _installed(stages: Iterable[BuildStage], copies: Copies, beside: Reader) -> Iterator[Package | ListFile]:
    """What the RUNs of these stages install."""
    for stage in stages:
        for part in parts_of((stage,), "RUN"):
            yield from installed(part.commands, Lists(copies, stage.index, part.line, beside))


def _for_here(
    items: Iterable[Package | ListFile], pythons: Pythons, architecture: str
) -> tuple[list[Package], list[Package]]:
    """The packages whose markers hold in the image, and those of which that cannot be told."""
    packages = [item for item in items if isinstance(item, Package)]
    verdicts = [holds(item.marker, pythons.of(item.caller, item.command), architecture) for item in packages]
    sure = [item for item, verdict in zip(packages, verdicts, strict=True) if verdict]
    return sure, [item for item, verdict in zip(packages, verdicts, strict=True) if verdict is None]


def _unread(items: Iterable[Package | ListFile]) -> Iterator[ListFile]:
    yield from dict.fromkeys(item for item in items if isinstance(item, ListFile))


def _unsure(items: Iterable[Package], matrix: Matrix) -> Iterator[ListFile]:
    yield from (ListFile(item.line, f"{item.name}; {item.marker}") for item in items if is_framework(item, matrix))


def _at_least(base: Base, wheel: Wheel) -> Version | None:
    """The oldest Python that a moving tag may have, where neither that nor a later one takes the wheel."""
    row = next(
        (row for row in read(MovingPython) if row.repository == base.repository and re.fullmatch(row.tags, base.tag)),
        None,
    )
    if row is None:
        return None
    later = (Version.of(row.python.major, row.python.minor + more) for more in range(_LATER))
    return None if any(wheel.installs_on(python) for python in later) else row.python


def _tells_of_glibc(base: Base, script: Script, images: Iterable[tuple[int, str]]) -> bool:
    names = " ".join((f"{base.repository}:{base.tag}", *(image for _, image in images)))
    return _GLIBC.search(names) is not None or script.search(_GLIBC) is not None


def copied_images(stages: Iterable[BuildStage]) -> Iterator[tuple[int, str]]:
    """Line and name of each image that files are copied from without a stage of its own."""
    for part in parts_of(stages, *COPIES):
        source = part.flags.get("from", "")
        if re.search(r"[:/]", source) and "$" not in source:
            yield part.line, source
