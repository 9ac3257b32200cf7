"""Frameworks that exist only as source: compiled in a stage of their own, the result copied into the image."""

from __future__ import annotations

from envkit.image import data
from envkit.image.download import download_steps, fetch
from envkit.image.parts import Base, Copy, Environment, Run, Stage, Step
from envkit.matrix.rows import FrameworkBuild, OperatingSystem
from envkit.plan.model import Choice
from envkit.records import record
from envkit.settings import Mirrors


@record
class SourceBuild:
    """One framework built from source: its stage, what the image takes from it and the packages that it loads."""

    stage: Stage
    steps: tuple[Step, ...]
    packages: tuple[str, ...]


def source_build(
    build: FrameworkBuild, choice: Choice, system: OperatingSystem, base: Base, mirrors: Mirrors
) -> SourceBuild | None:
    """The build from source on `base`, which has the compilers of CUDA; None for a framework that has packages."""
    rows = data.source_steps(build)
    if build.package is not None or not rows:
        return None
    by_kind: dict[str, list[str]] = {}
    for row in rows:
        by_kind.setdefault(row.kind, []).append(row.value)
    name = f"{build.framework}-build"
    folder = f"/opt/src/{build.framework}"
    commands: list[str] = []
    caches: tuple[str, ...] = ()
    for url in by_kind.get("archive", ()):
        got = fetch(mirrors.rewrite(url), f"{build.framework}-{url.rpartition('/')[2]}", None, None)
        commands += [*got.commands, f"mkdir -p {folder}", f"tar -xzf {got.path} -C {folder} --strip-components=1"]
        caches = (got.folder,)
    for text in by_kind.get("git", ()):
        address, _, branch = text.partition(" ")
        commands.append(
            f"git clone --depth 1 --recursive --shallow-submodules --branch {branch}"
            f" {mirrors.rewrite(address)} {folder}"
        )
    values = {"cuda_flags": _cuda_flags(choice)}
    commands += [f"cd {folder}", *(text.format(**values) for text in by_kind.get("run", ()))]
    packages = tuple(name for text in by_kind.get("packages", ()) for name in text.split(";"))
    tools = download_steps(system, mirrors, extra=packages)
    compiled = Run(
        tuple(commands),
        caches=caches,
        secrets={"ca": None},
        ignore=("DL3003",),
        why="The build runs where its sources are.",
    )
    stage = Stage(name, base, (*tools, compiled))
    taken: list[Step] = [Copy(name, path, path) for path in by_kind.get("copy", ())]
    pairs = (text.partition("=") for text in by_kind.get("environment", ()))
    variables = {key: f"{value}$PATH" if key == "PATH" else value for key, _, value in pairs}
    if variables:
        taken.append(Environment(variables))
    runtime = tuple(name for text in by_kind.get("runtime", ()) for name in text.split(";"))
    return SourceBuild(stage, tuple(taken), runtime)


def _cuda_flags(choice: Choice) -> str:
    """CMake's words for a build with the toolkit in its usual place, or without CUDA."""
    return "-DCPU_ONLY=ON" if choice.cuda is None else "-DCUDA_TOOLKIT_ROOT_DIR=/usr/local/cuda"
