"""The wheel of an extension that its project builds for the installed torch, CUDA, Python, and system."""

from __future__ import annotations

import shlex

from envkit.base.versions import Version
from envkit.checks.engine.command import NAME, PYTHON, REQUIREMENT, URL, Command, Word, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.remedies import on_windows
from envkit.checks.frameworks.changed_with import OPENMMLAB_PAGE
from envkit.checks.frameworks.installs import distribution, first_python, local_tag, pip, release
from envkit.model import Distribution, Environment, PythonEnvironment

_FULL = "mmcv-full"  # whose module is called mmcv
_EXTENSIONS = ("detectron2", "mmcv-full", "mmcv", "pytorch3d", "flash-attn")


def known_wheel(environment: Environment, text: str) -> Remedy | None:
    """For the extension that `text` names; None where no wheel of the installed release is on record."""
    lower = text.lower().replace("_", "-")
    python = first_python(environment)
    named = (name for name in _EXTENSIONS if name in lower or name == _FULL and "mmcv/" in lower)
    name = next((name for name in named if distribution(python, name) is not None), None)
    torch, item = distribution(python, "torch"), distribution(python, name) if name else None
    own, cuda = _built_for(torch.version) if torch is not None else (None, None)
    if item is None or own is None or cuda is None or python.version is None:
        return None
    from envkit.compat.prebuilt_wheels import install_words, prebuilt_for, prebuilt_of

    rows = prebuilt_of(item.name, f"=={item.version.partition('+')[0]}")
    row = prebuilt_for(rows, own, cuda, "windows" if on_windows(environment) else "linux", python.version)
    if row is None and name == _FULL and torch is not None:
        return _of_openmmlab(python, item, own, local_tag(torch.version))
    if row is None:
        return None
    return Remedy(
        f"The installed {item.name} {item.version} was built for a different torch or CUDA version; the project has a "
        f"wheel for torch {row.torch} and CUDA {row.cuda}. The driver, CUDA, Python, and torch do not have to change.",
        (
            pip(python, "uninstall", "-y", NAME(item.name)),
            _install(python, install_words(row, python.version)),
        ),
    )


def _of_openmmlab(python: PythonEnvironment, item: Distribution, torch: Version, tag: str) -> Remedy:
    """The same release from the page for the installed torch and CUDA."""
    line, version = torch.release(2), item.version.partition("+")[0]
    return Remedy(
        f"The installed {_FULL} {version} was built for a different torch or CUDA version (the address after -f names "
        f"them). Install it from OpenMMLab's page for torch {line} and {tag}, without pip's cache; torch stays as it "
        "is. If pip finds no wheel there, it compiles the package, which needs nvcc of that CUDA; a release nearby may "
        "have a wheel. The last command must end without an error.",
        (
            pip(python, "uninstall", "-y", NAME(_FULL)),
            pip(
                python,
                *("install", "--no-cache-dir", REQUIREMENT(f"{_FULL}=={version}")),
                *("-f", URL(OPENMMLAB_PAGE.format(tag=tag, line=line))),
            ),
            run(PYTHON(python.executable or "python"), "-c", "import mmcv.ops"),
        ),
    )


def wheel_for(environment: Environment, name: str, version: str) -> Command | None:
    """The installation of that release of an extension by its project's wheel; None where none is on record."""
    from envkit.compat.prebuilt_wheels import install_words, prebuilt_for, prebuilt_of

    python = first_python(environment)
    torch = distribution(python, "torch")
    own, cuda = _built_for(torch.version) if torch is not None else (None, None)
    if own is None or cuda is None or python.version is None:
        return None
    place = "windows" if on_windows(environment) else "linux"
    row = prebuilt_for(prebuilt_of(name, f"=={version}"), own, cuda, place, python.version)
    return _install(python, install_words(row, python.version)) if row is not None else None


def _built_for(version: str) -> tuple[Version | None, Version | None]:
    """The release of torch, and the CUDA that its tag names: 11.1 of cu111."""
    tag = local_tag(version).removeprefix("cu")
    return release(version), Version.find(f"{tag[:-1]}.{tag[-1]}") if tag.isdecimal() and len(tag) > 1 else None


def _install(python: PythonEnvironment, words: str) -> Command:
    spelled: list[Word] = [URL(word) if "://" in word else word for word in shlex.split(words)]
    return pip(python, "install", "--no-deps", *spelled)
