"""JAX for CUDA in place of JAX for the CPU: an extra of its package, or a jaxlib of its own page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.checks.cuda.ptx import reported_by
from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import seen
from envkit.checks.engine.remedies import on_windows, steps
from envkit.checks.engine.suited import manages_packages
from envkit.checks.frameworks.builds import bring, fresh, replacement
from envkit.checks.frameworks.installs import Installed, installs, release
from envkit.checks.frameworks.jax_plugins import of_the_jaxlib
from envkit.model import Environment, OsRelease, found
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_EXTRA = "Install JAX with its CUDA extra."
_UBUNTU = OsRelease("ubuntu", "ubuntu", "")


def with_cuda_extra(environment: Environment, matrix: Matrix) -> Remedy:
    """The extra of the installed release; where nothing shows which it is, pip is told to keep it."""
    if same := of_the_jaxlib(environment):
        return same
    if on_windows(environment):
        return _in_wsl(environment, matrix)
    known = any(installs(environment, "jax")) or any(
        message.values.get("version") for message in seen(environment, "jax-no-cuda-plugin")
    )
    if not known and manages_packages(environment):
        return Remedy(f"{_EXTRA} Add it to the project's own requirements, with the release from its lock file.")
    if known or _driver_is_old(environment, matrix):
        return _of_pip(environment, matrix)
    return Remedy(
        f"{_EXTRA} This keeps the installed release of JAX, because a newer one may need a newer Python and NumPy. "
        "If pip warns that the release does not provide the extra, the release is an old one: envkit resolve "
        "--framework jax==RELEASE lists its packages.",
        steps(environment, "jax-own-release"),
    )


def _driver_is_old(environment: Environment, matrix: Matrix) -> bool:
    """Whether the driver does not run the CUDA of the extra that current releases have."""
    own = environment.driver.driver_cuda_version.value or reported_by(environment, matrix)
    return own is not None and own.major < limit("cuda-of-most-programs").major


def extra_for(environment: Environment, matrix: Matrix, item: Installed) -> Remedy:
    """The extra for one installation that has none."""
    if on_windows(environment):
        return _in_wsl(environment, matrix)
    given = replacement(environment, matrix, item, _EXTRA)
    return given if _installs(given) else _of_pip(environment, matrix)


def _installs(given: Remedy) -> bool:
    return any("pip install" in line for line in given.commands)


def _of_pip(environment: Environment, matrix: Matrix) -> Remedy:
    """The release with CUDA, installed also where its libraries are the system's: the installed one has none."""
    given = bring(environment, matrix, "jax", _EXTRA)
    if not _installs(given):
        item = next(installs(environment, "jax"), None)
        version = release(item.framework.version) if item is not None else None
        given = fresh(environment, matrix, "jax", _EXTRA, version=version)
    if not managed_by(environment, "conda", "mamba") or any(installs(environment, "jax")):
        return given
    return Remedy(
        f"{given.advice} The first command removes conda's jaxlib, but not the packages that depend on it.",
        (fixed("conda remove -y --force jax jaxlib"), *given.steps),
    )


def _in_wsl(environment: Environment, matrix: Matrix) -> Remedy:
    """JAX has no build for GPUs on Windows itself."""
    inside = replace(environment, system=replace(environment.system, os=found(_UBUNTU, "message")))
    given = _of_pip(inside, matrix) if any(installs(environment, "jax")) else fresh(inside, matrix, "jax", _EXTRA)
    lines = "; ".join(step.line for step in given.steps if step.words[1:3] == ("-m", "pip"))
    there = lines or 'python -m pip install "jax[cuda12]"'
    return Remedy(
        "JAX has no GPU build for native Windows, whichever jaxlib is installed. Run the program in WSL 2, where "
        "the Windows driver is enough: do not install one there. The command installs Ubuntu in WSL; run it in a "
        "terminal that was started as administrator; restart when it asks for that. Then, in Ubuntu: sudo apt-get "
        "install -y python3-venv; python3 -m venv ~/jax; . ~/jax/bin/activate; "
        f"{there}. python -c 'import jax; print(jax.devices())' then names a CUDA device.",
        (fixed("wsl --install -d Ubuntu"),),
    )
