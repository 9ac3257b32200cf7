"""How the driver came onto the disk: by itself, twice, or from several package sources."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.engine.evidence import NO_OWN_DRIVER, known, many, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import message_evidence, named, only_shown, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import families, remedy
from envkit.checks.nvidia_driver.driver_state import installed
from envkit.checks.nvidia_driver.half_upgraded import all_anew
from envkit.checks.nvidia_driver.stale_libraries import without_package, without_stale
from envkit.model import Environment, Message, Problem, SystemPackage

if TYPE_CHECKING:
    from envkit.tables import Matrix

_DRIVER_PACKAGE = regex(
    r"nvidia-(driver|kernel|dkms|headless|open|utils|smi|compute|gfx)|libnvidia-(compute|ml|gl|cfg)|libcuda1|cuda-drivers"
    r"|xorg-x11-drv-nvidia|kmod-nvidia|akmod-nvidia"
)
_HALF_DONE = regex(r"half|unpacked|trigger|^i[fuhtw]", re.IGNORECASE)
_UNATTENDED = "unattended-upgrade"


def driver_packages(environment: Environment) -> tuple[SystemPackage, ...]:
    """The installed system packages that carry the driver."""
    packages = environment.packages.get() if environment.packages.known else ()
    return tuple(package for package in packages if _DRIVER_PACKAGE.match(package.name))


def by_runfile(environment: Environment) -> bool:
    """True where NVIDIA's installer brought the driver, and no package did."""
    observed = environment.driver.runfile_installed
    told = observed.known or observed.problem is Problem.UNPARSABLE or "runfile" in managers(environment)
    return told and not any(package.whole for package in driver_packages(environment))


def _separate(environment: Environment, matrix: Matrix) -> Remedy:
    return _one_installation(environment, runfile=True)


_REPLACED = Fault(
    "unattended-upgrade-of-driver",
    "Automatic upgrades replaced driver or kernel packages since the last boot",
    impact="The libraries and the loaded module may differ now, so newly started programs may fail.",
    remedy="Hold the packages so that you decide when to upgrade, then reboot.",
    actions=("hold", "reboot"),
    status=Status.WARN,
)
_OVERLAP = Fault(
    "runfile-over-packages",
    "Runfile and packaged driver installations overlap",
    impact="Programs load whichever libraries come first, and fail if their version differs from the loaded module's.",
    remedy=_separate,
)
_BY_APT = (
    "Choose one source and repair the packages. The third command only shows what the last one would do; if "
    "it changes the driver version, a reboot is needed. Pin the other source so that it provides no driver packages. "
    "If dpkg stops because it is trying to overwrite a file of another package, remove that package first: `sudo dpkg "
    "--remove --force-depends PACKAGE`. If they still block each other, remove all of the driver (sudo apt-get purge "
    "'nvidia-driver-*' 'nvidia-dkms-*' 'nvidia-kernel-*' 'nvidia-utils-*' 'libnvidia-compute-*' cuda-drivers), disable "
    "the other source, and install the driver again from the one that stays."
)
_BY_DNF = (
    "Choose one source for the driver; the first command shows the one of each package. Keep the others from "
    "providing it: in their files in /etc/yum.repos.d, add the line excludepkgs=*nvidia* below each section's name "
    "(RPM Fusion: rpmfusion-nonfree*.repo). Remove their driver packages (sudo dnf remove NAME); then the second "
    "command brings the rest to one release, and asks first. Reboot: modinfo -F version nvidia must then print that "
    "release."
)
_OTHER_AKMOD = (
    "akmod-nvidia is RPM Fusion's and builds the module of its own release; the driver comes from another repository, "
    "and DKMS builds that one's module. Keep the driver, and remove RPM Fusion's part. So that an update does not "
    "bring it back, first add the line excludepkgs=*nvidia* below each section's name in "
    "/etc/yum.repos.d/rpmfusion-nonfree*.repo. After the reboot, modinfo -F version nvidia must print {release}."
)


def _one_source(environment: Environment, matrix: Matrix) -> Remedy:
    """In the words of the package manager; where only RPM Fusion's module is in the way, without that."""
    sources = _module_sources(driver_packages(environment))
    told = _RELEASE.match(sources[1].version) if sources and sources[1].name == "nvidia-driver" else None
    built = environment.kernel.dkms.get() if environment.kernel.dkms.known else ()
    if told and any(entry.module == "nvidia" and entry.version == told["release"] for entry in built):
        return remedy(
            environment, _OTHER_AKMOD.format(release=told["release"]), "without-akmod", version=told["release"]
        )
    if "rhel" not in families(environment) and seen(environment, _MIXED.id, *_BLOCKED):
        return all_anew(environment)
    words = _BY_DNF if "rhel" in families(environment) else _BY_APT
    return remedy(environment, words, "repair-packages")


_BLOCKED = ("unmet", "unmet-inline", "held", "overwrite", "unpack", "told-depends", "told-overwrite")  # words of apt
_MIXED = Fault(
    "driver-repos-mixed",
    "Driver packages from several sources conflict",
    impact="The libraries and the module may not match until this is fixed.",
    remedy=_one_source,
)
_RELEASE = regex(r"(?:\d:)?(?P<release>\d{3}(?:\.\d{2,3}){1,2})-")


def _module_sources(packages: tuple[SystemPackage, ...]) -> tuple[SystemPackage, ...]:
    """akmod's sources of the module and the driver's libraries, where they are of different releases; else none."""
    module = next((each for each in packages if each.name == "akmod-nvidia"), None)
    driver = next((each for each in packages if each.name in ("nvidia-driver", "xorg-x11-drv-nvidia")), None)
    if module is None or driver is None:
        return ()
    releases = [_RELEASE.match(each.version) for each in (module, driver)]
    differ = None not in releases and len({match["release"] for match in releases if match}) > 1
    return (module, driver) if differ else ()


_FINISH = (
    "Finish the installation; DKMS needs the running kernel's headers for this. Restart only when dkms status lists "
    "the driver's version as installed; until then, read the build log that the second command lists."
)


def _one_version(environment: Environment) -> bool:
    """Whether the loaded module and the libraries are known to be of one release."""
    module, libraries = environment.driver.kernel_module, environment.driver.user_space
    return module.known and libraries.known and module.get() == libraries.get()


@check(
    _REPLACED,
    layer=Layer.KERNEL_MODULE,
    rank=70,
    elsewhere=NO_OWN_DRIVER,
    references=threads(
        "pando85/homelab#4110",
        "aws-samples/aws-deep-learning-ami-ubuntu-dcv-desktop#28",
        "illinois-scicomp/machine-shop-maintenance#70",
    ),
)
def unattended_upgrade_of_driver(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No automatic upgrade has replaced driver or kernel packages since the last boot.

    Otherwise, the old module stays loaded alongside the new libraries, and the GPU stops working overnight.
    """
    observed = environment.package_changes
    automatic = [line for line in observed.get() if _UNATTENDED in line] if observed.known else []
    told = message_evidence(environment, seen(environment, _REPLACED.id))
    if told and only_shown(environment) and _one_version(environment):
        words = "the module and the libraries have the same version, so no automatic upgrade is pending"
        yield ok(words, evidence=[known(environment, "driver.kernel_module"), *told])
    elif automatic:
        yield _REPLACED.found([known(environment, "package_changes", line) for line in automatic[:4]])
    elif reported := _REPLACED.reported(
        environment, title="Automatic upgrades replace driver packages on this machine"
    ):
        yield reported
    elif observed.known or observed.absent:
        yield ok("no automatic upgrade since the last boot", evidence=[known(environment, "package_changes")])
    else:
        yield unknown(unseen(environment, "the automatic upgrade log"))


@check(
    _OVERLAP,
    layer=Layer.KERNEL_MODULE,
    rank=22,
    explained_by=("driver-baked-into-image",),
    fix="Remove one of them completely, then reinstall the other. Run CUDA runfiles with --toolkit only.",
    elsewhere=NO_OWN_DRIVER,
    references=threads("NVIDIA/DIGITS#558", "openSUSE/nvidia-driver-G06#90", "Azure/azhpc-images#86"),
)
def runfile_over_packages(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The driver was installed in only one way, and all of its libraries have the same version.

    A runfile installed over distribution packages (often through the driver option of the CUDA runfile) leaves
    libraries of two versions. Which of them a program loads is unpredictable, and a reboot does not fix the mismatch.
    """
    versions, packages = _library_versions(environment), driver_packages(environment)
    observed = environment.driver.runfile_installed
    runfile = observed.known or observed.problem is Problem.UNPARSABLE  # its uninstaller is there, its log is odd
    if len(versions) > 1:
        yield _OVERLAP.found(
            [Evidence("driver.libraries", f"{version}: {path}", "") for version, path in sorted(versions.items())],
            title=f"The driver's libraries are installed in {len(versions)} versions: {', '.join(sorted(versions))}",
            remedy=(None if runfile else without_stale(environment, versions))
            or _one_installation(environment, runfile=runfile),
        )
    elif runfile and packages:
        yield _OVERLAP.found(
            [known(environment, "driver.runfile_installed"), _package_evidence(environment, packages)],
            title="A runfile driver is installed over driver packages",
            impact="The next update of either one breaks the driver.",
            status=Status.WARN,
        )
    elif reported := _OVERLAP.reported(environment):
        yield reported
    elif installed(environment) is None and environment.driver.libraries.known:
        yield skip("no driver is installed")
    elif environment.driver.libraries.known or runfile or observed.absent:
        yield ok(
            "the driver comes from a single install method", evidence=[known(environment, "driver.runfile_installed")]
        )
    else:
        yield unknown(unseen(environment, "the driver files"))


def _library_versions(environment: Environment) -> dict[str, str]:
    """Each version of the driver's own libraries with one file that has it."""
    libraries = environment.driver.libraries.get() if environment.driver.libraries.known else ()
    return {
        str(library.version): library.path
        for library in libraries
        if library.version is not None and not library.stub and not library.compat
    }


def _one_installation(environment: Environment, *, runfile: bool) -> Remedy:
    version = installed(environment)
    if own := without_package(environment):
        return own
    actions = ("remove-runfile", "reinstall-packages") if runfile else ("repair-packages", "reinstall-packages")
    given = remedy(
        environment,
        "Keep one installation: remove the runfile driver, reinstall every driver package (removing the runfile driver "
        "deletes files with the same names), and reboot."
        if runfile
        else "Find out which package each file belongs to, purge the leftover one, reinstall the other, and reboot.",
        *actions,
        "reboot",
        branch=version.major if version else None,
    )
    return given if len(given.steps) > 1 else Remedy(given.advice)  # a reboot alone cures nothing


def _versions_differ(packages: tuple[SystemPackage, ...]) -> bool:
    """Whether packages of different sources have different versions of the driver."""
    versions = {package.version.rpartition(":")[2].partition("-")[0] for package in packages if package.origin}
    return len(versions) > 1


def _package_evidence(environment: Environment, packages: tuple[SystemPackage, ...]) -> Evidence:
    return known(environment, "packages", ", ".join(f"{p.name} {p.version} {p.origin}".strip() for p in packages[:4]))


def _one_release_behind(environment: Environment, behind: tuple[Message, ...]) -> Outcome:
    """Where a repository has one package of the driver in an older release than the others, or another repository."""
    package, release = named(behind, "package") or "", named(behind, "here") or ""
    return _MIXED.found(
        message_evidence(environment, behind),
        title=f"{package} is of another driver release ({release}) than the rest",
        remedy=remedy(
            environment,
            f"Keep every package of the driver, libraries and module, at one release that all of them have: {release}, "
            f"until {package} is updated, and from one repository only. Go back to it where something newer is "
            "installed already, reboot, and hold the packages there as below. Remove the hold once the module's "
            "package has caught up, and upgrade all of them together.",
            "hold",
        ),
    )


@check(
    _MIXED,
    layer=Layer.KERNEL_MODULE,
    rank=23,
    any_of=("packages", "messages"),
    fix="Choose one package source, pin it, repair the packages, and purge the rest.",
    elsewhere=NO_OWN_DRIVER,
    references=threads(
        "NVIDIA/ansible-role-nvidia-driver#33",
        "NVIDIA/gpu-driver-container#35",
        "aws-samples/aws-deep-learning-ami-ubuntu-dcv-desktop#18",
    ),
)
def driver_repos_mixed(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The driver's packages come from one source, and every one of them is fully installed.

    NVIDIA and the distributions split the same branch into different packages with the same names: mixed, they
    overwrite or block each other.
    """
    packages = driver_packages(environment)
    broken = tuple(package for package in packages if _HALF_DONE.search(package.state))
    origins = {package.origin for package in packages if package.origin}
    if broken and seen(environment, "dkms-build-failed", "dkms", "conftest", "exit-status", "package"):
        words = "the packages cannot be finished, because DKMS could not build the driver's kernel module"
        yield skip(f"{words}: {', '.join(package.name for package in broken[:4])}")
    elif broken:
        yield _MIXED.found(
            [known(environment, "packages", f"{p.name} {p.version}: {p.state}") for p in broken[:4]],
            title=f"Only partly installed: {many(len(broken), 'driver package')}",
            remedy=remedy(environment, _FINISH, "finish-packages"),
        )
    elif behind := seen(environment, _MIXED.id, "told-behind"):
        yield _one_release_behind(environment, behind)
    elif reported := _MIXED.reported(environment):
        yield reported
    elif sources := _module_sources(packages):
        yield _MIXED.found(
            [known(environment, "packages", f"{each.name} {each.version}") for each in sources],
            title=f"{sources[0].name} builds the module of another driver release than that of {sources[1].name}",
        )
    elif len(origins) > 1:
        yield _MIXED.found(
            [_package_evidence(environment, packages)],
            title=f"Driver packages come from several sources: {', '.join(sorted(origins))}",
            impact="The next upgrade may fail.",
            status=Status.FAIL if _versions_differ(packages) else Status.WARN,
        )
    elif packages:
        yield ok("the driver's packages match", evidence=[_package_evidence(environment, packages)])
    elif environment.packages.known:
        yield skip("no driver is installed from a system package")
    else:
        yield unknown(unseen(environment, "the system packages"), evidence=[known(environment, "packages")])
