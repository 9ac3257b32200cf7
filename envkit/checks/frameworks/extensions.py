"""Compiled extensions: were they built for this PyTorch, CUDA and Python?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.command import PYTHON, REQUIREMENT, URL, WHEEL, Word, export, run
from envkit.checks.engine.evidence import only_told
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, ok, unknown
from envkit.checks.engine.messages import named, said, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.frameworks.bitsandbytes import bitsandbytes
from envkit.checks.frameworks.built_here import compiled_again, named_extensions
from envkit.checks.frameworks.companions import build_of_torch
from envkit.checks.frameworks.compiled_anew import from_its_source, with_its_environment, xformers_here
from envkit.checks.frameworks.graph_packages import of_pyg
from envkit.checks.frameworks.installs import (
    capable_gpus,
    companions_of,
    distribution,
    distribution_evidence,
    first_python,
    judged,
    local_tag,
    named_python,
    nothing_to_judge,
    pip,
    release,
)
from envkit.checks.frameworks.known_wheels import known_wheel
from envkit.checks.frameworks.made_for_torch import (
    ASK_TORCH,
    ask_torch,
    back_to_working,
    for_installed_torch,
    its_torch,
)
from envkit.model import Distribution, Environment, MachineKind, PythonEnvironment
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix
    from envkit.tables.pairs import PackagePair

_OF_XFORMERS = ("xformers", "xformers-short", "xformers-inline", "told-xformers", "told-xformers-load")
_ARM = "aarch64"  # for which the package index has no wheels of xFormers
_ANEW = ("install", "--force-reinstall", "--no-deps", "--no-build-isolation", "--no-cache-dir")
_FLASH_TAG = regex(r"cu(?P<cuda>\d+)torch(?P<torch>\d+\.\d+)")

_FLASH_RELEASES = "https://github.com/Dao-AILab/flash-attention/releases/download/v{}/{}"
_FLASH = regex(r"flash[_-]attn")
_PYTHON_TAG = regex(r"cp(\d)(\d+)-")


def _rebuild(environment: Environment, matrix: Matrix) -> Remedy:
    """Which extension it is, only its messages tell; of two of them, both are replaced."""
    given = _of_one(environment, matrix)
    xformers = _xformers(environment, matrix)
    if xformers in (None, given) or any("xformers" in line for line in given.commands):
        return given
    return Remedy(f"{given.advice} {xformers.advice}", (*xformers.steps, *given.steps))


def _of_one(environment: Environment, matrix: Matrix) -> Remedy:
    if seen(environment, "extension-abi-mismatch", "bitsandbytes", "bnb-setup", "bitsandbytes-cpu"):
        return bitsandbytes(environment)
    if known := _other_abi(environment) or with_its_environment(environment):
        return known
    if _FLASH.search(said(environment, "extension-abi-mismatch")):
        flash, other = _flash_attention(environment), _xformers(environment, matrix)
        return flash if other is None else Remedy(f"{flash.advice} {other.advice}", (*other.steps, *flash.steps))
    if graphs := of_pyg(environment):
        return graphs
    if xformers := _xformers(environment, matrix):
        return xformers
    if wheel := known_wheel(environment, said(environment, "extension-abi-mismatch")):
        return wheel
    if wanted := its_torch(environment, matrix):
        return wanted
    if names := named_extensions(said(environment, "extension-abi-mismatch")):
        return compiled_again(environment, names)
    if known := from_its_source(environment) or for_installed_torch(environment) or back_to_working(environment):
        return known
    return Remedy(
        "Install the extension's wheel whose name matches the installed torch, CUDA, Python, and C++ ABI; the command "
        "prints all four. If no wheel of that release is for your torch, install the torch that it was built for (its "
        "release notes name it), or go back to the last extension release that worked here. Or rebuild, in this "
        "environment, the extension release that the program needs, without pip's cache, with nvcc of torch's CUDA.",
        (ask_torch(environment),),
    )


def _other_abi(environment: Environment) -> Remedy | None:
    """The same wheel for the other C++ ABI, where the missing symbol shows that this one is for the wrong ABI."""
    wheel = named(seen(environment, "extension-abi-mismatch", "detail-flash-wheel"), "wheel") or ""
    symbols = said(environment, "extension-abi-mismatch")
    wrong = "TRUE" if "__cxx11" in symbols else "FALSE"
    if f"cxx11abi{wrong}" not in wheel or "undefined symbol" not in symbols:
        return None
    fitting = wheel.replace(f"cxx11abi{wrong}", f"cxx11abi{'FALSE' if wrong == 'TRUE' else 'TRUE'}")
    release_of = wheel.partition("-")[2].partition("+")[0]
    return Remedy(
        "This wheel was built for a different C++ ABI than the installed torch; the project publishes the same wheel "
        "for this ABI. Nothing has to be compiled, and the toolkit in /usr/local does not matter.",
        (
            pip(
                named_python(environment),
                "install",
                "--force-reinstall",
                "--no-deps",
                WHEEL(_FLASH_RELEASES.format(release_of, fitting)),
            ),
        ),
    )


def _flash_attention(environment: Environment) -> Remedy:
    """pip takes a wheel from its releases by the torch that it sees, and not all of them load: only a build is sure."""
    holders = [(python, item) for python in judged(environment) if (item := distribution(python, "flash-attn"))]
    python, have = next(iter(holders), (first_python(environment), Distribution("flash-attn", "")))
    torch = distribution(python, "torch")
    own = release(torch.version) if torch is not None else None
    if own is not None and own.release(2) <= limit("flash-attn-old-torch"):
        have = Distribution(have.name, str(limit("flash-attn-for-old-torch")))
    return _again(python, have)


def _xformers(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The release that requires exactly the torch in use, from the index of that torch."""
    messages = seen(environment, "extension-abi-mismatch", *_OF_XFORMERS)
    python = first_python(environment)
    torch = distribution(python, "torch")
    have = named(messages, "have") or (torch.version if torch is not None else "")
    own = release(have)
    if not messages or own is None:
        return None
    if same_release := _torch_of_wheel(environment, matrix, named(messages, "built") or "", have):
        return same_release
    from envkit.compat.pairs import pairs_by_package

    rows = pairs_by_package().get("xformers", ())
    fitting = [row for row in rows if _requires_exactly(row, own)] or [row for row in rows if _allows(row, own)]
    if not fitting:
        return None
    if MachineKind.JETSON is environment.system.machine_kind.value or environment.system.architecture.value == _ARM:
        capability = next((str(own) for _, own in capable_gpus(environment, matrix)), "")
        return xformers_here(environment, python, fitting[-1].version, capability)
    build = build_of_torch(environment, matrix, have)
    place = ("--extra-index-url", URL(build.index_url)) if build is not None and build.index_url else ()
    wanted = f"xformers=={fitting[-1].version}"
    installed = distribution(python, "xformers")
    if installed is not None and any(row.version == installed.version.partition("+")[0] for row in fitting):
        return _same_again(python, installed.version.partition("+")[0], own, place)
    return Remedy(
        f"xFormers {fitting[-1].version} is the release for torch {own}, which you can keep. Install it with the "
        "program's own Python (the one in its venv or python_embeded directory), not the system's.",
        (pip(python, "install", "--no-deps", REQUIREMENT(wanted), *place),),
    )


def _same_again(python: PythonEnvironment, version: str, own: Version, place: tuple[Word, ...]) -> Remedy:
    """The right release, of which another file is there: of pip's cache, of another index, or half replaced."""
    return Remedy(
        f"xFormers {version} is a release for torch {own} already, so the installed file is another build of it (from "
        "pip's cache, or from an index for another CUDA), or is not whole. Install it again without the cache, "
        "with the program's own Python. The second command then lists the operators as available; if it does not, it "
        "prints what the wheel was built for, and XFORMERS_MORE_DETAILS=1 makes the program print the loader's own "
        "error.",
        (
            pip(
                python,
                *("install", "--force-reinstall", "--no-deps", "--no-cache-dir"),
                REQUIREMENT(f"xformers=={version}"),
                *place,
            ),
            run(PYTHON(python.executable or "python"), "-m", "xformers.info"),
        ),
    )


def _torch_of_wheel(environment: Environment, matrix: Matrix, built: str, have: str) -> Remedy | None:
    """The torch that the wheel was built for, where the installed one is another build of that release: conda's."""
    tag = local_tag(built)
    build = build_of_torch(environment, matrix, built) if release(built) == release(have) else None
    if build is None or build.cuda is None or not tag.startswith("cu") or tag == local_tag(have):
        return None
    python = first_python(environment)
    own = (line.partition("==") for line in companions_of(matrix, build.version))
    beside = [f"{name}=={number.partition('+')[0]}+{tag}" for name, _, number in own if name == "torchvision"]
    return Remedy(
        f"xFormers was built for the build of torch {build.version} for CUDA {build.cuda}, and the installed torch is "
        "another build of the same release (conda's, or one for another CUDA): another release of xFormers changes "
        f"nothing. Install the build for CUDA {build.cuda} in its place, in the same environment; the driver must "
        f"support CUDA {build.cuda}.",
        (
            pip(python, "uninstall", "-y", "torch", "torchvision"),
            pip(
                python,
                "install",
                REQUIREMENT(f"torch=={built}"),
                *map(REQUIREMENT, beside),
                "--index-url",
                URL(f"https://download.pytorch.org/whl/{tag}"),
            ),
        ),
    )


def _allows(row: PackagePair, torch: Version) -> bool:
    """Whether a release that runs on several torch releases runs on this one."""
    from envkit.compat.pairs import required

    lines = [line for line in required(row) if line.package == "torch"]
    return bool(lines) and all(not line.spec.exact and line.spec.holds(torch) for line in lines)


def _requires_exactly(row: PackagePair, torch: Version) -> bool:
    from envkit.compat.pairs import required

    lines = [line for line in required(row) if line.package == "torch"]
    return bool(lines) and all(line.spec.exact and line.spec.holds(torch) for line in lines)


def _again(python: PythonEnvironment, item: Distribution) -> Remedy:
    """Building takes hours and much memory: fewer compilers at a time, and a wheel is better."""
    number = item.version.partition("+")[0]
    release_of = f"{item.name} {number}" if number else item.name
    forced = (export("FLASH_ATTENTION_FORCE_BUILD", "TRUE"),) if item.name == "flash-attn" else ()
    return Remedy(
        f"Rebuild {release_of} against the installed torch, in the same environment; this needs nvcc from the "
        "CUDA release that torch was built with, and takes a long time. Installing a wheel of the same release from "
        "the project's release page is faster, but its file name must match the installed torch, CUDA, and Python "
        "versions and the C++ ABI, all of which the last command prints. Alternatively, uninstall the extension: most "
        "programs then fall back to a slower code path.",
        (
            *forced,
            export("MAX_JOBS", "4"),
            pip(python, *_ANEW, REQUIREMENT(f"{item.name}=={number}" if number else item.name)),
            run(PYTHON(python.executable or "python"), "-c", ASK_TORCH),
        ),
    )


_FOREIGN = Fault(
    "extension-abi-mismatch",
    "A compiled extension was built for a different torch, CUDA, or Python version",
    impact="Importing the extension fails with an undefined-symbol or missing-module error.",
    remedy=_rebuild,
)


@check(
    _FOREIGN,
    spares_gpu=True,
    layer=Layer.FRAMEWORK_BUILD,
    rank=35,
    any_of=("pythons", "messages"),
    explained_by=("torch-replaced-by-dependency", "torchvision-mismatch", "cpu-only-wheel", "no-gpu-on-pci"),
    fix="Install the extension build that matches the installed torch, CUDA, and Python, or compile it against them.",
    references=threads("Dao-AILab/flash-attention#975", "Dao-AILab/flash-attention#1644", "huggingface/open-r1#684"),
)
def extension_abi_mismatch(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every compiled extension finds its symbols in the installed torch, and was built for this Python.

    Wheels of flash-attn, xFormers, and others are built for one version of torch, CUDA, and Python; with any other,
    they fail with an undefined symbol.
    """
    looked = 0
    for python in judged(environment):
        torch = distribution(python, "torch")
        for item, why in _foreign_extensions(python, torch):
            looked += 1
            yield _FOREIGN.found(
                [distribution_evidence(item), *([distribution_evidence(torch)] if torch else [])],
                title=f"{item.name} {item.version} {why}",
                subject=python.prefix,
                remedy=_again(python, item),
            )
        if torch is not None and not looked and not only_told(environment):
            looked += 1
            yield ok("compiled extensions match torch", subject=python.prefix, evidence=[distribution_evidence(torch)])
    if reported := _FOREIGN.reported(environment):
        yield reported
    elif not looked:
        torches = any(distribution(python, "torch") for python in judged(environment))
        yield (
            unknown("cannot tell what the compiled extensions were built for")
            if torches
            else nothing_to_judge(environment, "PyTorch")
        )


def _foreign_extensions(python: PythonEnvironment, torch: Distribution | None) -> Iterator[tuple[Distribution, str]]:
    symbols = {line.partition(": ")[0]: line.partition(": ")[2] for line in reversed(python.unresolved_symbols)}
    for item in python.distributions:
        tag = _FLASH_TAG.search(local_tag(item.version))
        own = release(torch.version) if torch is not None else None
        if item.name in symbols:
            yield item, f"asks for {symbols[item.name]}, which the installed torch does not have"
        elif tag is not None and own is not None and own.release(2) != Version.parse(tag["torch"]):
            yield item, f"was built for torch {tag['torch']}, but {own} is installed"
        elif python.version is not None and (built := _other_python(item, python.version)):
            yield item, f"was built for Python {built}, but this is {python.version.release(2)}"


def _other_python(item: Distribution, version: Version) -> str:
    """The Python that every tag of the wheel names when it is another one; '' when one fits or none says."""
    tags = [tag for tag in item.wheel_tags if _PYTHON_TAG.match(tag) and "-abi3-" not in tag]
    named = {Version.of(int(match.group(1)), int(match.group(2))) for tag in tags if (match := _PYTHON_TAG.match(tag))}
    return "" if not named or version.release(2) in named else str(max(named))
