"""NVSwitch machines: Fabric Manager that makes their GPUs usable, and error 802 that says it did not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.base.versions import Version
from envkit.checks.engine.evidence import driver_lives_elsewhere, is_virtual, known, managed_elsewhere, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import managed_by, managers
from envkit.checks.engine.messages import complained, message_evidence, named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy, steps
from envkit.checks.gpu.gpus import gpus_of, has_nvswitch_board, in_a_rack, on_nvswitch_board, seen_gpus
from envkit.checks.nvidia_driver.driver_state import answered, installed
from envkit.model import Environment
from envkit.model.observed import is_told
from envkit.model.paths import fact

if TYPE_CHECKING:
    from envkit.tables import Matrix

_RUNNING, _FAILED = "running", "failed"
_COMPLETED = "completed"
_READY = (_COMPLETED, "not-supported")
_NVLSM = "nvlsm"
_LARGE_BOARD = 8  # GPUs of a board that has NVSwitches; boards of four link their GPUs directly
_EARLIER_SOCKET = "SXM2"  # of P100 and V100 boards without NVSwitches
_OF_THE_SERVICE = ("unit", "told-service")  # messages that say how the service is, and not that CUDA fails


_NOT_INITIALIZED = "CUDA returns error 802 ('system not yet initialized') on every GPU."


def _install(environment: Environment, matrix: Matrix) -> Remedy:
    version = installed(environment)
    if "kata" in managers(environment):
        return Remedy(
            "With NVSwitches passed into a Kata virtual machine, Fabric Manager has to run in that machine: add the "
            f"package nvidia-fabricmanager{f' {version}' if version else ''} (exactly the guest driver's version) to "
            "the guest's root file system, build the image again, and have its init start nv-fabricmanager before the "
            "containers; pods cannot install or start it. The machine must get all GPUs and all NVSwitches of the "
            "board. With fewer GPUs per machine, Fabric Manager runs on the host in shared NVSwitch mode instead "
            "(FABRIC_MODE=1 in its fabricmanager.cfg), and activates the partition of each machine.",
        )
    if environment.driver.fabric_manager.known:
        return remedy(environment, "Start it now and enable it at boot.", "start-fabric-manager")
    return _of_version(environment, version, "and start the service.")


_REPOSITORY = (
    "It is in NVIDIA's repository, which the first two commands add, because this driver did not come from there; "
    "install nothing else from it, so that no second driver is installed."
)


def _of_version(environment: Environment, version: Version | None, then: str, *more: str) -> Remedy:
    """The package of one version, which is the driver's; where that is not known, commands that read it."""
    package = "the Fabric Manager package whose version exactly matches the driver"
    if _without_repository(environment):
        then = f"{then} {_REPOSITORY}"
        given = _of_version_there(environment, version, package, then, *more)
        first = steps(environment, "nvidia-repository")
        return replace(given, steps=(*first, *given.steps)) if first else given
    return _of_version_there(environment, version, package, then, *more)


def _without_repository(environment: Environment) -> bool:
    """Whether the driver came from elsewhere, so that the system may have no repository with this package."""
    return managed_by(environment, "runfile") or bool(seen(environment, _STOPPED.id, "detail-no-repository"))


def _of_version_there(environment: Environment, version: Version | None, package: str, then: str, *more: str) -> Remedy:
    if version is None:
        return remedy(
            environment,
            f"Install {package}, {then} The driver stays as it is; when you update it, update both together.",
            "fabric-manager-of-module",
            "start-fabric-manager",
            *more,
        )
    return remedy(
        environment,
        f"Install {package} ({version}), {then}",
        "fabric-manager",
        "start-fabric-manager",
        *more,
        branch=version.major,
        version=version,
    )


def _same_version(environment: Environment, matrix: Matrix) -> Remedy:
    """Only what was brought to one version is held."""
    told = Version.find(named(seen(environment, "fabric-manager-version-mismatch"), "driver") or "")
    then = "start the service, and hold all NVIDIA packages."
    return _of_version(environment, told or installed(environment), then, "hold")


def _not_ready_yet(environment: Environment, matrix: Matrix) -> Remedy:
    if driver_lives_elsewhere(environment):
        return Remedy(
            "Ask the host's administrator: the host's fabric is not ready, which cannot be fixed from inside."
        )
    return remedy(
        environment,
        "Wait a minute and try again. If the error persists, the fabric state (which must be Completed) and Fabric "
        "Manager's log show why; while no job is running, restart Fabric Manager (sudo systemctl restart "
        "nvidia-fabricmanager). As a last resort, the release notes of some CUDA releases mention the kernel option "
        "nokaslr, which turns off a kernel protection.",
        "fabric-state",
    )


_STOPPED = Fault(
    "fabric-manager-not-running",
    "Fabric Manager is not running, but this machine's NVSwitches need it",
    impact=_NOT_INITIALIZED,
    remedy=_install,
)
_VERSIONS = Fault(
    "fabric-manager-version-mismatch",
    "Fabric Manager and driver versions differ",
    impact="Fabric Manager stops, and CUDA returns error 802.",
    remedy=_same_version,
)
_NO_NVLSM = Fault(
    "fabric-manager-nothing-to-do",
    "Fabric Manager on this Blackwell board needs the nvlsm package",
    impact=_NOT_INITIALIZED,
    remedy="Install nvlsm, then start Fabric Manager.",
    actions=("install", "start-fabric-manager"),
)
_NO_SWITCH = Fault(
    _NO_NVLSM.id,
    "Fabric Manager found no NVSwitch",
    impact="Harmless on PCIe cards and on pairs with a bridge. HGX B100/B200/B300 boards need nvlsm as well.",
    remedy="Without NVSwitches, disable the service.",
    actions=("stop-fabric-manager",),
    status=Status.WARN,
)
_UNEXPLAINED = Fault(
    "error-802-other-causes",
    "CUDA returns error 802, but Fabric Manager is not the cause",
    impact="No CUDA program can start.",
    remedy=_not_ready_yet,
)


_802 = ("error-802", "not-ready", "told-802", "initialize")  # messages of the error; a stopped service is none


def switches(environment: Environment, matrix: Matrix) -> bool | None:
    """True on a machine with NVSwitches of its own, False without, None when neither PCI nor the GPU's name tells."""
    counted = environment.driver.nvswitches
    if counted.known and counted.get() > 0:
        return True
    gpus = seen_gpus(environment, matrix)
    boards = [gpu for gpu in gpus if on_nvswitch_board(gpu.name)]
    large = len(boards) >= _LARGE_BOARD and not any(_EARLIER_SOCKET in gpu.name for gpu in boards)
    if not counted.known and not environment.gpus.known and is_told(environment.pci_gpus.source):
        # "8x H100" in somebody's words leaves open which board they are on
        return False if gpus and all("GeForce" in gpu.name for gpu in gpus) else None
    if len(boards) > 1 and counted.known:
        # the switches of Blackwell boards are no PCI devices of the host, so their absence proves nothing
        return _blackwell(environment, matrix)
    if large:
        return True
    if counted.known or (len(gpus) == 1 and is_virtual(environment)):
        return False
    return None if boards or not all(gpu.name for gpu in gpus) or not gpus else False


def fabric_ready(environment: Environment) -> bool:
    """True where every GPU can be used over the fabric, whatever a service says: NVML or CUDA has seen it."""
    gpus = gpus_of(environment)
    if not gpus or any(gpu.error for gpu in gpus):
        return False
    if all(gpu.fabric_state == _COMPLETED for gpu in gpus):
        return True
    first, count = environment.driver.cuda_init, environment.driver.cuda_device_count
    divided = any(gpu.mig_mode for gpu in gpus)  # CUDA then counts instances
    return first.known and first.get().code == 0 and count.known and (divided or count.get() == len(gpus))


def _blackwell(environment: Environment, matrix: Matrix) -> bool:
    families = {model.family for gpu in seen_gpus(environment, matrix) for model in gpu.models}
    return families == {"Blackwell"}


def _not_ready(environment: Environment) -> list[Evidence]:
    """Where CUDA or NVML says that the fabric is not ready."""
    gpus = gpus_of(environment)
    states = [gpu for gpu in gpus if gpu.fabric_state and gpu.fabric_state not in _READY]
    fabric = [
        Evidence(f"gpus[{gpu.index}].fabric_state", gpu.fabric_state or "", environment.gpus.source) for gpu in states
    ]
    return [*answered(environment, "cuda", "SYSTEM_NOT_READY"), *fabric[:3]]


def _running(environment: Environment) -> bool | None:
    state = environment.driver.fabric_manager
    return state.get() == _RUNNING if state.known else False if state.absent else None


@check(
    _STOPPED,
    layer=Layer.CUDA_DEVICES,
    rank=25,
    tier="N",
    explained_by=("fabric-manager-version-mismatch", "fabric-manager-nothing-to-do", "driver-module-not-loaded"),
    fix="Install the Fabric Manager package whose version exactly matches the driver, and start the service.",
    references=threads(
        "aws-samples/aws-deep-learning-ami-ubuntu-dcv-desktop#33", "pytorch/pytorch#35710", "cloudrift-ai/emmy#558"
    ),
)
def fabric_manager_not_running(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On a machine with NVSwitches (HGX, DGX), Fabric Manager is running.

    Until it has set up the NVLink fabric, CUDA returns error 802, "system not yet initialized", although nvidia-smi
    looks fine. Machines without NVSwitches do not need it.
    """
    has, running = switches(environment, matrix), _running(environment)
    evidence, messages = _not_ready(environment), seen(environment, _STOPPED.id)
    stopped = seen(environment, _STOPPED.id, *_OF_THE_SERVICE)
    facts = [known(environment, "driver.nvswitches"), known(environment, "driver.fabric_manager")]
    told = [*facts, *message_evidence(environment, stopped)]
    if driver_lives_elsewhere(environment) and not messages:
        yield managed_elsewhere(environment)
    elif _in_a_rack(environment, matrix):
        yield _rack(environment, evidence, message_evidence(environment, messages))
    elif has is False:
        without = ok if stopped else skip  # an answer judges what was said of the service, a skip does not
        named = ", ".join(dict.fromkeys(gpu.title for gpu in seen_gpus(environment, matrix)))
        shown = [Evidence("gpus", named, environment.gpus.source)] if named else []
        yield without("there is no NVSwitch, so no Fabric Manager is needed", evidence=[*told, *shown])
    elif fabric_ready(environment) and not messages:
        yield ok("every GPU has joined the fabric", evidence=facts)
    elif has and running is False:
        yield _STOPPED.found([*facts, *evidence, *message_evidence(environment, messages)])
    elif running:
        yield ok("Fabric Manager is running", evidence=facts)
    elif evidence or len(messages) > len(stopped) or (stopped and (has or _in_trouble(environment))):
        yield _STOPPED.found([*evidence, *message_evidence(environment, messages)])
    elif stopped:
        yield ok("there is no sign that CUDA is waiting for a Fabric Manager", evidence=told)
    else:
        yield unknown(unseen(environment, "whether the machine has an NVSwitch or runs Fabric Manager"), evidence=facts)


def _in_trouble(environment: Environment) -> bool:
    """Whether nothing is known to work: no GPU is listed, the service of a board failed, or a failure is stated."""
    failed = environment.driver.fabric_manager.value == _FAILED and has_nvswitch_board(environment)
    return failed or not gpus_of(environment) or complained(environment)


def _in_a_rack(environment: Environment, matrix: Matrix) -> bool:
    gpus = seen_gpus(environment, matrix)
    return bool(gpus) and all(in_a_rack(gpu.name) for gpu in gpus)


def _rack(environment: Environment, evidence: list[Evidence], stopped: tuple[Evidence, ...]) -> Outcome:
    """The GPUs of a compute tray: their Fabric Manager runs in the rack's switch trays."""
    if fabric_ready(environment) or not evidence:
        judged = ok if stopped else skip
        title = "Fabric Manager for these GPUs runs in the switch trays of their rack"
        return judged(title, evidence=[*evidence, *stopped])
    return _STOPPED.found(
        evidence,
        title="The GPUs of this tray have not joined the NVLink fabric of their rack",
        impact="CUDA returns error 802, or programs across trays find no NVLink.",
        remedy=Remedy(
            "Check Fabric Manager and the subnet manager in the rack's switch trays, and nvidia-imex on this "
            "machine; nothing else on this machine matters.",
        ),
    )


@check(
    _VERSIONS,
    layer=Layer.CUDA_DEVICES,
    rank=24,
    tier="L",
    explained_by=("driver-library-mismatch",),
    fix="Install the matching version and hold both.",
    references=threads("NVIDIA/gpu-operator#544", "siderolabs/pkgs#720", "Azure/azhpc-images#86"),
)
def fabric_manager_version_mismatch(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Fabric Manager has exactly the driver's version."""
    version, path = environment.driver.fabric_manager_version, "driver.kernel_module"
    if not environment.driver.kernel_module.known and environment.driver.user_space.known:
        path = "driver.user_space"
    driver = fact(environment, path)
    facts = [known(environment, "driver.fabric_manager_version"), known(environment, path)]
    if version.known and driver.known and version.get() != driver.get():
        needed = switches(environment, matrix) is not False and not fabric_ready(environment)
        title = f"Fabric Manager {version.get()} does not match driver {driver.get()}"
        yield _VERSIONS.found(facts, title=title, status=Status.FAIL if needed else Status.WARN)
    elif version.known and driver.known:
        yield ok(f"both have version {driver.get()}", evidence=facts)
    elif reported := _VERSIONS.reported(environment):
        yield reported
    else:
        yield (
            skip("no Fabric Manager is installed") if version.absent else unknown(unseen(environment, "Fabric Manager"))
        )


@check(
    _NO_NVLSM,
    layer=Layer.CUDA_DEVICES,
    rank=23,
    fix="On a machine without NVSwitches, disable the service. On HGX B100, B200, or B300, install nvlsm.",
    references=threads("NVIDIA/gpu-operator#610", "siderolabs/extensions#717", "leptonai/gpud#1147"),
)
def fabric_manager_nothing_to_do(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Fabric Manager has not failed on a machine that needs it.

    "NV_WARN_NOTHING_TO_DO" has two meanings. Without NVSwitches, the service has no purpose and its failure is
    harmless. HGX boards of the Blackwell generation also need the package nvlsm; without it, CUDA returns error 802.
    """
    messages = seen(environment, "fabric-manager-nothing-to-do")
    failed = environment.driver.fabric_manager.known and environment.driver.fabric_manager.get() == _FAILED
    evidence = [known(environment, "driver.fabric_manager"), *message_evidence(environment, messages)]
    has = switches(environment, matrix)
    if not failed and not messages:
        state = environment.driver.fabric_manager
        yield (
            ok("Fabric Manager has not failed", evidence=evidence)
            if state.known or state.absent
            else unknown(unseen(environment, "Fabric Manager"))
        )
    elif failed and fabric_ready(environment):
        yield ok("every GPU has joined the fabric", evidence=evidence)
    elif has and _blackwell(environment, matrix) and not _has_nvlsm(environment):
        yield _NO_NVLSM.found(evidence, packages=_NVLSM)
    elif has is None and seen(environment, _STOPPED.id, *_802):
        yield skip("CUDA is waiting for Fabric Manager, so this machine needs it")
    elif has is None and has_nvswitch_board(environment) and not messages:
        yield unknown("whether this board has NVSwitches is not known", evidence=evidence)
    elif has is None:
        yield _NO_SWITCH.found(evidence)
    elif has:
        yield ok("this machine has NVSwitches; see fabric-manager-not-running", evidence=evidence)
    else:
        yield ok("Fabric Manager failed, but nothing here needs it", evidence=evidence)


def _has_nvlsm(environment: Environment) -> bool:
    packages = environment.packages.get() if environment.packages.known else ()
    return any(package.name.startswith(_NVLSM) for package in packages)


@check(
    _UNEXPLAINED,
    layer=Layer.CUDA_DEVICES,
    rank=30,
    tier="N",
    explained_by=(
        "fabric-manager-not-running",
        "fabric-manager-version-mismatch",
        "fabric-manager-nothing-to-do",
        "driver-module-not-loaded",
    ),
    fix="Wait and try again; it is a known issue with some CUDA releases. In a scheduler job, contact the cluster "
    "administrator.",
    references=threads("wilicc/gpu-burn#133", "huggingface/huggingface_hub#4134", "jax-ml/jax#34113"),
)
def error_802_other_causes(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """CUDA does not return error 802, except when Fabric Manager is missing.

    Other reasons are certain combinations of CUDA release and kernel, a container or virtual machine whose host has not
    set up the fabric, and a Fabric Manager that is still starting.
    """
    codes = answered(environment, "cuda", "SYSTEM_NOT_READY")
    messages = (*seen(environment, "error-802-other-causes"), *seen(environment, "fabric-manager-not-running", *_802))
    no_switches = switches(environment, matrix) is False
    ready = _running(environment) or no_switches or driver_lives_elsewhere(environment)
    if (codes or messages) and ready:
        shown = [*codes, *message_evidence(environment, messages), known(environment, "driver.fabric_manager")]
        yield _UNEXPLAINED.found(shown)
    elif environment.driver.cuda_init.known:
        yield (
            ok("CUDA does not return error 802", evidence=[known(environment, "driver.cuda_init")])
            if not codes
            else skip("Fabric Manager is the cause")
        )
    elif seen(environment, _UNEXPLAINED.id):
        yield _UNEXPLAINED.found(message_evidence(environment, messages))
    elif messages:
        yield skip("Fabric Manager is the cause")
    else:
        yield unknown(unseen(environment, "the CUDA initialization result"))
