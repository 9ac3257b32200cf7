"""The typed parts of an image: stages of steps, and what its containers run with. No format's syntax in here."""

from __future__ import annotations

from collections.abc import Mapping

from envkit._startup.records import field, record
from envkit.base.versions import Version
from envkit.solver.model import Plan
from envkit.solver.pip_calls import PipInstall


@record
class Copy:
    """A folder or file taken from another stage."""

    stage: str
    source: str
    target: str


@record
class Run:
    """Shell commands that make one layer. `caches` are folders kept between builds, `secrets` maps id to a target.

    `ignore` holds the linter rules that this step breaks on purpose and `why` the reason, which is printed above it.
    """

    commands: tuple[str, ...]
    caches: tuple[str, ...] = ()
    secrets: Mapping[str, str | None] = field(default_factory=dict)
    ignore: tuple[str, ...] = ()
    why: str = ""
    taken: Copy | None = None  # a folder of another stage that the commands may read
    bind: tuple[str, ...] = ()  # FILE:TARGET, files of the build context that the commands may read


@record
class Environment:
    """Variables of the image."""

    values: Mapping[str, str]


@record
class Arguments:
    """Build arguments, by name with their default (None: none)."""

    names: Mapping[str, str | None]


Step = Run | Copy | Environment | Arguments


@record
class Base:
    """The image that a stage starts from. `why` says in words why this one; `digest` is sha256:… where known."""

    image: str
    why: str
    has_cuda: bool = False
    has_cudnn: bool = False
    digest: str | None = None

    @property
    def reference(self) -> str:
        """What a FROM line names."""
        return f"{self.image}@{self.digest}" if self.digest else self.image


@record
class Stage:
    """One build stage; `base` may be an earlier stage's name."""

    name: str
    base: Base
    steps: tuple[Step, ...]


@record
class Runtime:
    """What containers of the image run with."""

    user: str
    uid: int
    workdir: str
    environment: Mapping[str, str]
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    port: int | None = None
    health: tuple[str, ...] = ()
    shared_memory_gib: int | None = None  # size of /dev/shm; None: the engine's own


@record
class Recipe:
    """A whole image: stages in order (the last one is the image), its runtime and the plan that it comes from."""

    title: str
    name: str  # image name to suggest
    plan: Plan
    stages: tuple[Stage, ...]
    runtime: Runtime
    labels: Mapping[str, str]
    pip: tuple[PipInstall, ...]
    python: Version | None
    conda: bool  # Python comes from conda-forge
    apt: tuple[str, ...]
    smoke: tuple[str, ...]  # lines of the smoke test's shell script
    needs_driver: bool  # the smoke test works only where the driver's library is there
    source_built: tuple[str, ...]  # names of the frameworks built from source
    compiled: tuple[str, ...] = ()  # requirements that are compiled for the image's framework
    context: tuple[str, ...] = ()  # files of the build context that it reads
    official: bool = False  # starts from the project's own image
    notes: tuple[str, ...] = ()
    syntax: bool = True
    of_the_image: tuple[str, ...] = ()  # options given that have no meaning outside an image
    missing: tuple[str, ...] = ()  # what a project asks for and the image does not install, each kind in a line

    @property
    def final(self) -> Stage:
        """The stage that becomes the image."""
        return self.stages[-1]
