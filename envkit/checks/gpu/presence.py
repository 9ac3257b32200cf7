"""Is there a GPU at all, and is it switched on?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import is_virtual, kind, known, no_pci_expected, unseen, without_gpu
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import message_evidence, only_shown, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.gpu.gpus import all_work
from envkit.checks.gpu.other_vendors import maker_of, other_vendor, rocm_beside_cuda, told_without
from envkit.checks.gpu.switched_off import turned_on
from envkit.checks.nvidia_driver.driver_state import cuda_works
from envkit.model import Environment, MachineKind, Message, PciGpu
from envkit.model.observed import is_told
from envkit.model.paths import fact

if TYPE_CHECKING:
    from envkit.tables import Matrix

_OFF_SWITCHES = ("intel", "integrated", "eco", "off")
_PLACES = {
    MachineKind.CONTAINER: "a container sees only the GPUs it was given",
    MachineKind.WSL1: "WSL does not show GPUs on PCI",
    MachineKind.WSL2: "WSL reaches the GPU through /dev/dxg, not PCI",
    MachineKind.JETSON: "the GPU of a Jetson is part of its chip, not on PCI",
}


def _counted(names: list[str]) -> str:
    """Each model once: `8 × NVIDIA H100 80GB HBM3`."""
    counts = ((names.count(name), name) for name in dict.fromkeys(names))
    return ", ".join(f"{count} × {name}" if count > 1 else name for count, name in counts)


_WITHOUT_REQUEST = (
    "The container is not started because it requests an NVIDIA GPU, and there is none: without the request it "
    "starts, and the program runs on the CPU (an image such as Ollama's is the same for both). In the Compose file, "
    "delete what asks for it: the devices entry with driver: nvidia below deploy, gpus:, and runtime: nvidia; "
    "elsewhere, leave out --gpus and --runtime=nvidia. Where a script starts everything, look for its option for the "
    "CPU first. No driver, no CUDA, and no other Docker changes this."
)
_START_AGAIN = fixed("docker compose up -d")


def _attach(environment: Environment, matrix: Matrix) -> Remedy:
    if is_virtual(environment):
        return Remedy(
            "Attach a GPU to the virtual machine with PCI passthrough or, in the cloud, switch to a GPU instance type."
        )
    if given := other_vendor(environment, matrix):
        return given
    if seen(environment, _NO_GPU.id, "detail-container") or seen(environment, "docker-no-nvidia-runtime"):
        return Remedy(_WITHOUT_REQUEST, (_START_AGAIN,) if "compose" in managers(environment) else ())
    return Remedy(
        "If a card is installed, enable it in the UEFI settings, then check its seating and power cables. Otherwise, "
        "use CPU builds of the frameworks here."
    )


_NO_GPU = Fault(
    "no-gpu-on-pci",
    "This machine has no NVIDIA GPU",
    impact="CUDA programs cannot run on this machine; frameworks fall back to the CPU or fail.",
    remedy=_attach,
)
_OF_AMD = "This machine has an AMD GPU, not an NVIDIA GPU"
_NOT_LISTED = (
    *("told-lspci", "told-nothing", "told-only-intel", "told-absent", "told-zh-absent", "told-nothing-from"),
    "told-never-detected",
)
_OFF = Fault(
    "optimus-gpu-off",
    "This laptop's NVIDIA GPU is turned off",
    impact="The driver finds no GPU until it is turned on again.",
    remedy=turned_on,
)


@check(
    _NO_GPU,
    layer=Layer.PCI,
    rank=10,
    any_of=("pci_gpus", "gpus", "messages"),
    explained_by=("optimus-gpu-off", "wsl1"),
    excuses=True,
    of_missing_gpu=True,
    fix="On a virtual machine, attach the GPU to it. On bare metal, check the BIOS/UEFI settings, reseat the card, and "
    "check its power cables.",
    references=threads("NVIDIA/open-gpu-kernel-modules#1151"),
)
def no_gpu_on_pci(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The machine has at least one NVIDIA display device on PCI.

    Without one, no driver, container, or framework can help, so this is checked first.
    """
    place = kind(environment)
    if no_pci_expected(environment) and place is not None:
        yield skip(_PLACES[place], evidence=[known(environment, "system.machine_kind")])
    elif environment.pci_gpus.known and environment.pci_gpus.get() and not _not_listed(environment):
        names = _counted([gpu.title for gpu in environment.pci_gpus.get()])
        yield ok(f"on PCI: {names}", evidence=[known(environment, "pci_gpus", names)])
    elif of_rocm := rocm_beside_cuda(environment):
        shown = [known(environment, "gpus", _counted([gpu.name for gpu in environment.gpus.get()]))]
        yield _NO_GPU.found(shown, title=_OF_AMD, status=Status.WARN, remedy=of_rocm)
    elif environment.gpus.known and environment.gpus.get():
        names = _counted([gpu.name for gpu in environment.gpus.get()])
        yield ok(f"the driver lists {names}", evidence=[known(environment, "gpus", names)])
    elif cuda_works(environment):
        yield ok("CUDA computes on a GPU", evidence=[known(environment, "driver.cuda_init", "success")])
    elif environment.pci_gpus.known and not environment.pci_gpus.get():
        yield _no_gpu(environment, [known(environment, "pci_gpus", "none")])
    elif named := _not_listed(environment):
        yield _NO_GPU.found(message_evidence(environment, named), title="lspci does not list the NVIDIA GPU")
    elif messages := seen(environment, "no-gpu-on-pci"):
        yield _no_gpu(environment, message_evidence(environment, messages))
    else:
        yield unknown("cannot tell whether the machine has an NVIDIA GPU")


def _not_listed(environment: Environment) -> tuple[Message, ...]:
    """What somebody says of lspci, where the only card is one that they name."""
    return seen(environment, _NO_GPU.id, *_NOT_LISTED) if is_told(environment.pci_gpus.source) else ()


def _no_gpu(environment: Environment, evidence: list[Evidence] | tuple[Evidence, ...]) -> Outcome:
    paths = ("system.machine_kind", "system.vendor")
    where = [known(environment, path) for path in paths if fact(environment, path).known]
    if is_virtual(environment):
        return _NO_GPU.found([*evidence, *where], title="This virtual machine has no NVIDIA GPU")
    if maker := maker_of(environment):  # nothing is wrong with such a machine: the program asks for what it has not
        hidden = seen(environment, _OFF.id) or (environment.system.prime_profile.value or "").lower() in _OFF_SWITCHES
        title = "No NVIDIA GPU is visible" if hidden else f"This machine has {maker} GPU, not an NVIDIA GPU"
        return _NO_GPU.found([*evidence, *where], title=title, status=Status.WARN)
    status = Status.WARN if told_without(environment) else Status.FAIL
    return _NO_GPU.found([*evidence, *where], status=status)


@check(
    _OFF,
    layer=Layer.PCI,
    rank=5,
    any_of=("system.prime_profile", "pci_gpus", "messages"),
    fix="Turn the GPU on with the tool that switches this laptop's graphics, and reboot.",
    references=threads("canonical/nvidia-prime#13", "swuecho/chat#412"),
)
def optimus_gpu_off(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The laptop's graphics switching has not turned the NVIDIA GPU off.

    A GPU that sleeps between uses (D3cold with a driver bound) is healthy: it wakes up by itself.
    """
    switch = environment.system.prime_profile
    if switch.known and only_shown(environment) and all_work(environment, matrix):
        told = message_evidence(environment, seen(environment, _OFF.id))
        yield ok("the GPU is on, as nvidia-smi shows", evidence=[known(environment, "gpus", ""), *told])
    elif switch.known and switch.get().lower() in _OFF_SWITCHES:
        yield _OFF.found([known(environment, "system.prime_profile")])
    elif reported := _OFF.reported(environment):
        yield reported
    elif asleep := _asleep_without_driver(environment):
        yield _OFF.found([_power(environment, gpu) for gpu in asleep])
    elif not switch.known and without_gpu(environment):
        yield skip("there is no GPU that could be turned off")
    elif environment.pci_gpus.known or switch.known:
        path = "system.prime_profile" if switch.known else "pci_gpus"
        yield ok("no GPU is turned off", evidence=[known(environment, path)])
    else:
        yield unknown(unseen(environment, "whether a GPU is turned off"))


def _asleep_without_driver(environment: Environment) -> list[PciGpu]:
    gpus = environment.pci_gpus.get() if environment.pci_gpus.known else ()
    return [gpu for gpu in gpus if gpu.power_state == "D3cold" and gpu.driver == ""]


def _power(environment: Environment, gpu: PciGpu) -> Evidence:
    return Evidence(f"pci_gpus[{gpu.pci_address}].power_state", gpu.power_state, environment.pci_gpus.source)
