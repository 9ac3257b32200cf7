"""An extension that was released for another torch: the torch it wants, or its release for the torch that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.checks.engine.command import NAME, PYTHON, REQUIREMENT, Command, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import in_image
from envkit.checks.engine.messages import said, seen
from envkit.checks.engine.remedies import steps
from envkit.checks.frameworks.builds import bring_release
from envkit.checks.frameworks.companions import torch_of
from envkit.checks.frameworks.installs import Installed, distribution, installs, named_python, pip, release
from envkit.model import Distribution, Environment, PythonEnvironment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ID = "extension-abi-mismatch"
_VENDORS = regex(r"\da0\b|\+[0-9a-f]{7,}|\.nv\d")
ASK_TORCH = (
    "import torch, sys; print(torch.__version__, torch.version.cuda, torch._C._GLIBCXX_USE_CXX11_ABI, sys.version)"
)


def ask_torch(environment: Environment) -> Command:
    """The command that prints all that the name of a wheel has to agree with."""
    return run(PYTHON(named_python(environment).executable or "python"), "-c", ASK_TORCH)


def its_torch(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The torch that the extension which the message names was released for, where another one is installed."""
    item = next(installs(environment, "pytorch"), None)
    if item is None:
        return None
    for package in _named_packages(environment, item.python):
        wanted = torch_of(package)
        if wanted is None or wanted == release(item.framework.version):
            continue
        if _of_a_vendor(item.framework.version) or in_image(environment):
            return _apart(environment, item.python, package, wanted)
        why = (
            f"{package.name} {package.version} was built for torch {wanted}.{_or_its_older(package, item)} If other "
            "programs need the installed torch, do this in a separate environment."
        )
        return bring_release(environment, matrix, item, wanted, why)
    return None


def for_installed_torch(environment: Environment) -> Remedy | None:
    """The newest release of the named extension for the torch that is there, where only that is known."""
    item = next(installs(environment, "pytorch"), None)
    own = release(item.framework.version) if item is not None else None
    if item is None or own is None:
        return None
    from envkit.compat.pairs import pairs_by_package

    text = _text(environment)
    name = next((name for name in sorted(pairs_by_package()) if _is_extension(name) and name in text), None)
    fitting = _releases_for(name, own) if name is not None else []
    if name is None or not fitting:
        return None
    python = named_python(environment)
    return Remedy(
        f"The compiled part of {name} works with one release of torch. {name} {fitting[-1]} is the newest for the "
        f"installed torch {own}: install it without its requirements, so that torch stays (first command). Or let pip "
        f"take a newer {name} together with the torch that it requires, in an environment of its own, because other "
        "packages may need the torch that is here. The last command must end without an error.",
        (
            pip(
                python,
                "install",
                "--force-reinstall",
                "--no-deps",
                "--no-cache-dir",
                REQUIREMENT(f"{name}=={fitting[-1]}"),
            ),
            *steps(environment, "try-import", python=python.executable or "python", name=name.replace("-", "_")),
        ),
    )


def back_to_working(environment: Environment) -> Remedy | None:
    """Where the text tells the update after which it failed: the release before it, and what the new one asks for."""
    message = next(iter(seen(environment, _ID, "detail-upgrade")), None)
    if message is None:
        return None
    name, before, after = (message.values.get(key) or "" for key in ("package", "before", "after"))
    if name.lower().replace("_", "-") not in _text(environment):
        return None
    item = next(installs(environment, "pytorch"), None)
    here = f" (here {item.framework.version})" if item is not None else ""
    return Remedy(
        f"{name} {after} is compiled for another torch than the installed one{here}; a clean installation of it "
        f"changes nothing. Go back to {name} {before}, which worked, in the way in which you installed it (a "
        f"wheel from the project's releases: that of {before}). To use {after}, install the torch that it was built "
        "for (its wheels or release notes name it), in an environment of its own. The command prints what a wheel's "
        "name must agree with.",
        (ask_torch(environment),),
    )


def _named_packages(environment: Environment, python: PythonEnvironment) -> list[Distribution]:
    """The installed packages that the messages name; one that only the tale of its update names is of them."""
    text = _text(environment)
    found = [package for package in python.distributions if package.name.replace("_", "-").lower() in text]
    message = next(iter(seen(environment, _ID, "detail-upgrade")), None)
    told = (message.values.get("package") or "").lower().replace("_", "-") if message is not None else ""
    if message is not None and told in text and distribution(python, told) is None:
        found.append(Distribution(told, message.values.get("after") or ""))
    return found


def _text(environment: Environment) -> str:
    return said(environment, _ID).lower().replace("_", "-")


def _or_its_older(package: Distribution, item: Installed) -> str:
    """The release of the extension that keeps the installed torch, where the tables know one."""
    own = release(item.framework.version)
    fitting = _releases_for(package.name, own) if own is not None else []
    return (
        f" To keep torch {own}, install {package.name}=={fitting[-1]} instead of the commands below." if fitting else ""
    )


def _releases_for(name: str, torch: Version) -> list[str]:
    """The releases of an extension that require exactly this torch, or are required beside it, oldest first."""
    from envkit.compat.pairs import pairs_by_package, pinned_beside, required

    own = [
        row.version
        for row in pairs_by_package().get(name, ())
        if any(line.package == "torch" and line.spec.exact and line.spec.holds(torch) for line in required(row))
    ]
    return own or pinned_beside(name, torch)


def _is_extension(name: str) -> bool:
    from envkit.compat.pairs import pairs_by_package, required

    lines = [line for row in pairs_by_package()[name] for line in required(row) if line.package == "torch"]
    return any(line.spec.exact for line in lines) and not name.startswith("torch")


def _of_a_vendor(version: str) -> bool:
    """Whether it is a pre-release of the vendor's own, which nothing on the package index was built for."""
    return _VENDORS.search(version) is not None


def _apart(environment: Environment, python: PythonEnvironment, package: Distribution, wanted: Version) -> Remedy:
    """Its torch comes along as its requirement, and the one that other packages were compiled for stays."""
    return Remedy(
        f"{package.name} {package.version} was built for torch {wanted}. Keep the installed torch, because other "
        f"packages were compiled for it: uninstall {package.name} here, and install it in a separate environment, "
        "where pip also installs that torch. Start its programs from there.",
        (
            pip(python, "uninstall", "-y", NAME(package.name)),
            *steps(
                environment,
                "own-environment",
                python=python.executable or "python",
                folder=f"{package.name}-env",
                name=f"{package.name}=={package.version}",
            ),
        ),
    )
