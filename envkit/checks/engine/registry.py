"""Every finding that a report can hold is declared: checks where they are defined, faults of Dockerfiles in one list.

Ids are unique, and the folder is the list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING

from envkit._startup.records import record, replace
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome
from envkit.model import Environment, MachineKind

if TYPE_CHECKING:
    from envkit.tables import Matrix

CheckFunction = Callable[[Environment, "Matrix"], Iterator[Outcome]]


class Layer(IntEnum):
    """Where in the stack a check looks; the lowest broken layer is the root cause."""

    PLACE = 1  # container, WSL, Jetson, VM, metal
    PCI = 2
    KERNEL_MODULE = 3
    DEVICE_NODES = 4
    USER_SPACE_DRIVER = 5
    CUDA_DEVICES = 6
    HEALTH = 7
    FRAMEWORK_BUILD = 8
    LIBRARIES = 9
    TOOLKIT = 10
    PROGRAM = 11  # what a program does on a machine that works

    @property
    def title(self) -> str:
        """The layer's name in a sentence."""
        written = {Layer.PLACE: "platform", Layer.PCI: "PCI", Layer.USER_SPACE_DRIVER: "user-space driver"}
        return written.get(self) or self.name.lower().replace("_", " ").replace("cuda", "CUDA")


@record
class Check:
    """A declared check. `needs` are fact paths that must be known; `any_of` asks for at least one of several."""

    id: str
    title: str  # the fault that it looks for, in words
    layer: Layer
    tier: str  # what it needs: F files, N NVML, X framework files, L kernel log, C container engine, R root
    run: CheckFunction
    needs: tuple[str, ...] = ()
    any_of: tuple[str, ...] = ()
    explained_by: tuple[str, ...] = ()  # ids whose fail makes this finding a consequence
    symptom: bool = False  # it is how many faults show: whichever one fails explains it
    rank: int = 50  # order within the layer, lower is more often the root cause
    fix: str = ""  # general fix in one or two sentences, for `envkit explain`
    references: tuple[str, ...] = ()
    plugin: str = ""  # name and version of the distribution that provides it; '' for envkit's own
    fault: Fault | None = None  # what it looks for; its messages decide where the facts do not
    elsewhere: tuple[MachineKind, ...] = ()  # where somebody else manages what it looks at
    weighs_messages: bool = False  # it says itself what its messages are worth; the runner asks it alone
    excuses: bool = False  # where it only warns, what it explains is no failure either
    of_missing_gpu: bool = False  # it says that there is no GPU to use: no news where that is meant
    of_cuda_alone: bool = False  # a GPU of another maker needs none of it: no failure of such a machine, nor its effect
    of_builds: bool = False  # only who compiles runs into it: no news in a text that states no failure
    between_gpus: bool = False  # what happens to one GPU explains it on another
    spares_gpu: bool = False  # a framework sees the GPU all the same: no cause of a missing one

    @property
    def doc(self) -> str:
        """What it looks at and why it matters: the function's docstring."""
        import inspect

        return inspect.getdoc(self.run) or ""


@record
class ImageFault:
    """A declared finding on a Dockerfile: what is known of it before any file is read."""

    id: str
    title: str  # the fault, in words
    doc: str  # what is true of a sound Dockerfile, and why it matters
    fix: str
    references: tuple[str, ...]


_CHECKS: dict[str, Check] = {}
_IMAGE_FAULTS: dict[str, ImageFault] = {}


def check(
    what: Fault | str,
    *,
    title: str = "",
    layer: Layer,
    tier: str = "F",
    needs: tuple[str, ...] = (),
    any_of: tuple[str, ...] = (),
    explained_by: tuple[str, ...] = (),
    symptom: bool = False,
    rank: int = 50,
    fix: str = "",
    references: tuple[str, ...] = (),
    elsewhere: tuple[MachineKind, ...] = (),
    weighs_messages: bool = False,
    excuses: bool = False,
    of_cuda_alone: bool = False,
    of_builds: bool = False,
    of_missing_gpu: bool = False,
    between_gpus: bool = False,
    spares_gpu: bool = False,
    of_images: ImageFault | None = None,
) -> Callable[[CheckFunction], CheckFunction]:
    """Register the decorated generator for a fault, whose title and remedy `envkit explain` shows.

    An id in place of a fault, with `title` and `fix`, is for a check whose faults have no words in common. `of_images`
    is the finding on Dockerfiles that has the same cause, and so the same id. Raises ValueError when the id is taken.
    """
    fault = None if isinstance(what, str) else what
    id = what if isinstance(what, str) else what.id  # noqa: A001 - the field's own word in reports
    if fault is not None:
        title = title or fault.title
        fix = fix or (fault.remedy if isinstance(fault.remedy, str) else "")
        if not fix.endswith("."):
            raise ValueError(f"the check {id!r} needs fix=, a sentence for `envkit explain`: its remedy is none")

    def register(function: CheckFunction) -> CheckFunction:
        if of_images is None or of_images.id != id or id in _CHECKS:
            _refuse_taken(id)
        _CHECKS[id] = Check(
            id,
            title,
            layer,
            tier,
            function,
            needs,
            any_of,
            explained_by,
            symptom,
            rank,
            fix,
            references,
            fault=fault,
            elsewhere=elsewhere,
            weighs_messages=weighs_messages,
            excuses=excuses,
            of_cuda_alone=of_cuda_alone,
            of_builds=of_builds,
            of_missing_gpu=of_missing_gpu,
            between_gpus=between_gpus,
            spares_gpu=spares_gpu,
        )
        return function

    return register


def image_fault(id: str, *, title: str, doc: str, fix: str, references: tuple[str, ...]) -> ImageFault:  # noqa: A002
    """Declare a finding on Dockerfiles. Raises ValueError when the id is taken."""
    _refuse_taken(id)
    _IMAGE_FAULTS[id] = ImageFault(id, title, doc, fix, references)
    return _IMAGE_FAULTS[id]


def _refuse_taken(id: str) -> None:  # noqa: A002
    if id in _CHECKS or id in _IMAGE_FAULTS:
        raise ValueError(f"check id {id!r} is defined twice")


def image_faults() -> dict[str, ImageFault]:
    """Every finding on Dockerfiles by id, in the order of their declaration."""
    from envkit.checks import load_all

    load_all()
    return dict(_IMAGE_FAULTS)


def declared() -> dict[str, Check | ImageFault]:
    """Whatever a report can name, by id: the checks in root-cause order, then the findings on Dockerfiles."""
    checks = all_checks()
    return {**checks, **{id: fault for id, fault in image_faults().items() if id not in checks}}


def all_checks() -> dict[str, Check]:
    """Every check of envkit's own by id, in root-cause order."""
    from envkit.checks import load_all

    load_all()
    return ordered(_CHECKS)


def ordered(checks: Mapping[str, Check]) -> dict[str, Check]:
    """The checks in root-cause order."""
    return dict(sorted(checks.items(), key=lambda item: (item[1].layer, item[1].rank, item[0])))


def registered_by(load: Callable[[], object], plugin: str) -> dict[str, Check]:
    """The checks that `load` registers, marked as those of a plug-in; envkit's own stay as they were."""
    own = dict(all_checks())
    try:
        load()
        return {id: replace(made, plugin=plugin) for id, made in _CHECKS.items() if id not in own}
    finally:
        _CHECKS.clear()
        _CHECKS.update(own)
