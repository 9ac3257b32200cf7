"""The driver: which packages to try, which kernel module fits the GPUs, and what runfile is after them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.base.errors import EnvkitError, RequestError
from envkit.base.settings import Mirrors
from envkit.base.versions import Version
from envkit.install.commands import installer_options, option_for
from envkit.install.driver_packages import module_for, others_for, packages_for, refuse_apart
from envkit.install.model import Download, FetchFile, InstallDriver, Step, SwitchOffNouveau
from envkit.install.options import ScriptOptions
from envkit.install.repository import add_repository, its_own_first
from envkit.solver.knowledge import knowledge_of
from envkit.solver.model import Plan
from envkit.solver.request import TargetGpu
from envkit.tables import Matrix
from envkit.tables.installer import DriverPackageRow, for_os, has_quirk
from envkit.tables.loader import read
from envkit.tables.rows import DriverBranch

_USUAL_HEADERS = {
    "apt": ("linux-headers-$(uname -r)",),
    "dnf": ("kernel-devel-$(uname -r)",),
    "yum": ("kernel-devel-$(uname -r)",),
    "zypper": ("kernel-default-devel",),
}
_RUNFILE_VERSION = regex(r"(?:^|[-_])(\d+(?:\.\d+)+)")


def driver_steps(plan: Plan, options: ScriptOptions, mirrors: Mirrors) -> Iterator[Step]:
    """The steps of `--with-driver`. Raises RequestError when no GPU is named, EnvkitError when no driver fits."""
    if plan.request.container:
        raise EnvkitError(
            "A container has no driver of its own.", "Omit --with-driver, and install the driver on the host."
        )
    if not plan.request.gpus:
        raise RequestError(
            "--with-driver: the choice of kernel module (open or proprietary) depends on the GPU, and none was "
            "found here.",
            "Specify it: --gpu 'GeForce RTX 3090' or --gpu 8.6",
        )
    refuse_apart(plan.request.gpus)
    minimum = plan.choice.minimum_driver
    if minimum is None:
        raise EnvkitError("No minimum driver for this plan is known to envkit.", "Install a current driver manually.")
    driver = _install_driver(plan, options, mirrors, minimum)
    if options.nvidia_repository:
        repository = add_repository(plan.choice, mirrors)
        yield FetchFile(repository.file, "repository")
        yield repository
    yield SwitchOffNouveau()
    if driver.chosen and driver.file is not None:
        yield FetchFile(driver.file, "driver")
    yield driver


def _branches(minimum: Version, last: int | None) -> list[DriverBranch]:
    """The branches that are new enough and not past the GPUs' last one, newest first."""
    return [
        branch
        for branch in reversed(Matrix.load().driver_branches)
        if branch.branch >= minimum.major and (last is None or branch.branch <= last)
    ]


def _last_branch(gpus: tuple[TargetGpu, ...]) -> int | None:
    """The newest branch that still drives every one of these GPUs; None while no branch has dropped one."""
    knowledge = knowledge_of(Matrix.load())
    return min((last for gpu in gpus if (last := knowledge.last_branch(gpu)) is not None), default=None)


def _headers(plan: Plan) -> tuple[str, ...]:
    """The packages of the kernel's headers: as the driver's row says, as the distribution's does, otherwise as
    usual."""
    system = plan.choice.os
    rows = for_os(read(DriverPackageRow), system.os_id) if system else ()
    if rows:
        return rows[0].headers
    if system and system.kernel_headers:
        return tuple(system.kernel_headers.split())
    return _USUAL_HEADERS[system.package_manager if system else "apt"]


def _install_driver(plan: Plan, options: ScriptOptions, mirrors: Mirrors, minimum: Version) -> InstallDriver:
    toolkit = plan.choice.toolkit if plan.choice.needs_toolkit else None
    last = _last_branch(plan.request.gpus)
    branches = _branches(minimum, last)
    file, path, style, chosen, version = None, None, "package", "", None
    if options.driver_runfile:
        file, path = _chosen(options.driver_runfile, mirrors)
        chosen = path or (file.name if file else "")
        version = _version_in(chosen.rsplit("/", 1)[-1])
        _refuse_unfit(version, minimum, last)
    elif toolkit is not None and not options.components and _bundles(plan, minimum, last):
        row = plan.choice.runfiles[0]
        algorithm = "sha256" if row.sha256 else "md5" if row.md5 else "none"
        file = Download(row.name, mirrors.rewrite(row.url), algorithm, row.sha256 or row.md5 or "")
        style, version = toolkit.installer_style, toolkit.bundled_driver
    conditions = _conditions(version, branches, plan.request.gpus)
    asked = (plan.choice.os.os_id if plan.choice.os else "", branches, plan.request.gpus, last)
    packages = packages_for(*asked)
    release = version if style == "package" else toolkit.version if toolkit else None
    return InstallDriver(
        minimum=minimum,
        last_branch=last,
        packages=its_own_first(packages, plan.choice) if options.nvidia_repository else packages,
        others=others_for(*asked),
        headers=_headers(plan),
        file=file,
        chosen_path=path,
        chosen=chosen,
        runfile_options=installer_options(style, "driver", release, conditions, {"work": '"$WORK_DIR"'}),
        no_opengl_option=option_for(style, "driver", "other-display"),
        kernel_source_option=option_for(style, "driver", "kernel-source"),
        dkms_option=option_for(style, "driver", "dkms"),
        older=tuple(_older(plan.request.gpus, minimum)),
    )


def _older(gpus: tuple[TargetGpu, ...], minimum: Version) -> Iterator[tuple[int, Version]]:
    """The branches before the plan's, newest first, each with the CUDA release that it and all the GPUs run."""
    knowledge = knowledge_of(Matrix.load())
    for branch in reversed(Matrix.load().driver_branches):
        cuda = branch.driver_cuda_version
        if cuda is None or branch.branch >= minimum.major or module_for(branch, gpus) is None:
            continue
        if all(knowledge.gpu_runs_cuda(gpu.compute_capability, cuda) for gpu in gpus):
            yield branch.branch, cuda


def _refuse_unfit(version: Version | None, minimum: Version, last: int | None) -> None:
    """Raises RequestError for a chosen driver that is too old for the plan or too new for its GPUs."""
    where = "https://www.nvidia.com/en-us/drivers/unix/"
    if version is not None and version < minimum:
        raise RequestError(
            f"--driver-runfile: contains driver {version}, but this plan needs {minimum} or newer.",
            f"Choose a newer one: {where}",
        )
    if version is not None and last is not None and version.major > last:
        raise RequestError(
            f"--driver-runfile: contains driver {version}, but {last} is the last branch for this plan's GPU.",
            f"Choose one of branch {last}: {where}",
        )


def _bundles(plan: Plan, minimum: Version, last: int | None) -> bool:
    toolkit = plan.choice.toolkit
    if toolkit is None or toolkit.bundled_driver is None or has_quirk("no-driver-inside", toolkit.version):
        return False
    return toolkit.bundled_driver >= minimum and (last is None or toolkit.bundled_driver.major <= last)


def _conditions(
    version: Version | None, branches: Sequence[DriverBranch], gpus: tuple[TargetGpu, ...]
) -> frozenset[str]:
    """Which module the runfile is told to build: nothing is said where its branch has but one."""
    row = next((branch for branch in branches if version and branch.branch == version.major), None)
    if row is None or row.open_kernel_module == "none":
        return frozenset()
    module = module_for(row, gpus)
    return frozenset({module} if module else set())


def _chosen(text: str, mirrors: Mirrors) -> tuple[Download | None, str | None]:
    """What is fetched, or the path on the target's disk. Raises RequestError for a path that leads nowhere there."""
    if text.startswith(("http://", "https://")):
        from urllib.parse import unquote, urlsplit

        name = unquote(urlsplit(text).path).rsplit("/", 1)[-1]
        if not name or not all(letter.isalnum() or letter in "._+-" for letter in name):
            raise RequestError(
                "--driver-runfile: this URL does not end in a file name.", "Pass the direct URL of the file."
            )
        return Download(name, mirrors.rewrite(text), "none", ""), None
    if not text.startswith("/"):
        raise RequestError(
            f"--driver-runfile: {text} is relative, but the script may run elsewhere.",
            "Pass the file's absolute path on the target, or its URL.",
        )
    return None, text


def _version_in(name: str) -> Version | None:
    """The driver version that a runfile's name holds (NVIDIA-Linux-ARCH-VERSION.run), or None."""
    match = _RUNFILE_VERSION.search(name)
    return Version.parse(match.group(1)) if match else None
