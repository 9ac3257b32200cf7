"""Another release of a framework, where its own Python is there and its own index did not have the wanted one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.ask import framework_by_package, framework_of
from envkit.checks.engine.command import REQUIREMENT, Command, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named, said, seen, variants_of
from envkit.checks.frameworks.builds import fresh
from envkit.checks.frameworks.installs import judged
from envkit.model import Environment, Message
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.rows import Framework, FrameworkBuild


_OF_CUDA = ("nvidia-", "triton", "cupy-cuda", "tensorrt", "tensorflow-gpu", "onnxruntime-gpu", "paddlepaddle-gpu")


_EXACT = regex(r"torch(?:vision|audio)?==[0-9.]+")
_BY_POETRY = (fixed("poetry lock"), fixed("poetry install"))


def not_on_a_mac(environment: Environment, package: str) -> Remedy | None:
    """What to do without, or take instead, on a Mac, for which nothing of CUDA's is made; None elsewhere."""
    if not seen(environment, "python-no-wheel", "detail-mac", "detail-osx"):
        return None
    if package.startswith(_OF_CUDA):
        return Remedy(
            f"{package} is for NVIDIA GPUs and has no wheels for a Mac, for any Python version: leave it out (remove "
            "its line from the requirements). A program that cannot do without it does not run there."
        )
    if "+cu" not in said(environment, "python-no-wheel"):
        return _of_intel(environment, package)
    why = (
        f"Builds for CUDA (+cu in the version) do not exist for a Mac, for any Python: take the regular {package} from "
        "PyPI there, which has the device mps."
    )
    if managed_by(environment, "poetry", "uv"):
        return Remedy(
            f"{why} In pyproject.toml, give the entry with +cu (or with the index for CUDA) the marker sys_platform == "
            "'linux' or sys_platform == 'win32', and the plain one sys_platform == 'darwin', without a source. "
            "(platform_machine is the processor, such as arm64, and never Darwin.) Then lock and install again.",
            _BY_POETRY if managed_by(environment, "poetry") else (fixed("uv lock"), fixed("uv sync")),
        )
    return Remedy(
        f"{why} Leave out +cu and the address of the index, also in the requirements file.",
        (run("python", "-m", "pip", "install", REQUIREMENT(package)),),
    )


def _of_intel(environment: Environment, package: str) -> Remedy | None:
    """The last PyTorch with wheels for Macs with Intel processors, where a later one is asked for; None elsewhere."""
    last = limit("torch-last-for-intel-mac")
    asked = Version.find(named(seen(environment, "python-no-wheel"), "version") or "")
    if package != "torch" or asked is None or asked <= last:
        return None
    of_poetry = any(variant.startswith("poetry") for variant in variants_of(seen(environment, "python-no-wheel")))
    return Remedy(
        f"PyTorch {last} is the last release with wheels for Macs with an Intel processor; {asked} has them for Apple "
        "silicon only. The first command prints x86_64 on an Intel Mac, or in a Python that was installed for one: "
        f"then use {last} (second command), with packages that accept it. On Apple silicon, install the Python "
        "for arm64 instead, and create the environment again with it; then the newer release installs.",
        (
            fixed("python -c 'import platform; print(platform.machine())'"),
            run("poetry", "add", REQUIREMENT(f"torch=={last}"))
            if of_poetry
            else run("python", "-m", "pip", "install", REQUIREMENT(f"torch=={last}"), "numpy<2"),
        ),
    )


def by_requires_python(environment: Environment) -> Remedy | None:
    """What a project may run on, where its manifest promises Pythons that a package does not support; else None."""
    if not seen(environment, "python-no-wheel", "uv-requires-python"):
        return None
    return Remedy(
        "uv solves for every Python that requires-python in pyproject.toml allows, not only for yours, and the package "
        "supports fewer: the error names both. Narrow requires-python to the range that the package names, and lock "
        "again. `uv pip install` looks only at the Python that is there, so it succeeds.",
        (fixed("uv lock"), fixed("uv sync")),
    )


def nearest_elsewhere(
    environment: Environment, matrix: Matrix, framework: Framework | None, exact: list[FrameworkBuild]
) -> Remedy | None:
    """The nearest release of the same line from another place; None where the text did not search the build's own."""
    messages = seen(environment, "python-no-wheel")
    index = (named(seen(environment, "python-no-wheel", "detail-index"), "index") or "").strip("/")
    searched = [row for row in exact if index and index in f"{row.index_url}{row.find_links}"]
    own = {python.version.release(2) for python in judged(environment) if python.version is not None}
    if framework is None or not searched or len(searched) < len([row for row in exact if _shares(row, searched[0])]):
        return None
    asked = exact[0].version
    rows = [
        row
        for row in matrix.builds(framework.name)
        if row.version != asked and row.version.release(2) == asked.release(2) and own <= set(row.pythons or own)
    ]
    best = min(rows, key=lambda row: _distance(row.version, asked), default=None)
    if not own or best is None:
        return None
    why = (
        f"This Python is right for {framework.title} {asked}, but the index in the input no longer has it, and no "
        f"other one does: use {best.version}, the nearest release, from its own index (with the CUDA in its name; the "
        "one on PyPI may be for another CUDA)."
    )
    return fresh(environment, matrix, framework.name, why, messages, version=best.version)


def _shares(row: FrameworkBuild, other: FrameworkBuild) -> bool:
    return (row.index_url, row.find_links) == (other.index_url, other.find_links)


def _distance(version: Version, asked: Version) -> tuple[int, ...]:
    return tuple(abs(mine - theirs) for mine, theirs in zip(version.parts, asked.parts, strict=False))


def for_this_platform(environment: Environment, matrix: Matrix, messages: tuple[Message, ...], package: str) -> Remedy:
    """Python is not at fault where uv found wheels of the release for other systems or processors only."""
    why = (
        f"The index or the lock file has {package} for other platforms only, so a different Python does not help. "
        "Add an index that has wheels for this platform (in pyproject.toml: [[tool.uv.index]], and the package under "
        "[tool.uv.sources]), then lock again with uv lock."
    )
    if framework_by_package(matrix, package) is None:
        return Remedy(why)
    version = Version.find(named(messages, "version") or "")
    given = fresh(environment, matrix, framework_of(environment, matrix, messages), why, messages, version=version)
    steps = tuple(_with_tags(step) for step in given.steps)
    if steps == given.steps:
        return given
    return Remedy(
        f"{given.advice} The part after the + matters: without it, uv installs the file of the same release that has "
        "no such suffix. Change the extra's entries in pyproject.toml to the same releases.",
        steps,
    )


def _with_tags(step: Command) -> Command:
    """With the tag of the index in each exact release, for a resolver that takes the one without a tag otherwise."""
    words = list(step.words)
    tag = words[words.index("--index-url") + 1].rpartition("/")[2] if "--index-url" in words else ""
    if not tag.startswith("cu"):
        return step
    marked = (f"{word}+{tag}" if _EXACT.fullmatch(word) else word for word in words)
    return replace(step, words=tuple(marked))
