"""What stops a healthy GPU from outside: the power supply, the server of MPS, the driver in a virtual machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit._startup.records import replace
from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import known, silent
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, Status, ok
from envkit.checks.engine.managers import appliance, managers
from envkit.checks.engine.messages import number_named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import on_windows, remedy, steps
from envkit.checks.gpu.gpus import SeenGpu, seen_gpus, share_of_power
from envkit.checks.gpu.mps import reach_mps
from envkit.model import Environment

if TYPE_CHECKING:
    from envkit.tables import Matrix

_SHARE = 0.7  # of a card's power, which leaves a supply headroom and costs little speed
_MOST = 8  # cards for which a command each is still read


def _less_power(environment: Environment, matrix: Matrix) -> Remedy:
    """A lower limit for now: the one that is known to help, or a share of each card's own power."""
    told = number_named(seen(environment, "power-supply-overloaded", "detail-limit-helps"), "watts")
    if told:
        again = "a task at startup" if on_windows(environment) else "a systemd unit or @reboot in root's crontab"
        return remedy(
            environment,
            f"Keep the power limit of {told} W, which prevents the problem; the limit is lost at the next restart, so "
            f"set it at every boot ({again}). If the limit is for only one of several cards, add -i and its number. "
            "This shows that the power supply is too weak for the card's peaks: the permanent fix is a larger one, "
            "with separate power cables.",
            "power-limit-all",
            watts=told,
        )
    each = dict(_limits(seen_gpus(environment, matrix)))
    alike = set(each.values())
    watts = alike.pop() if len(alike) == 1 else None if each else share_of_power(seen_gpus(environment, matrix), _SHARE)
    known_limit = bool(watts or each)
    number = (
        ""
        if known_limit
        else " (the first command shows the range; in place of WATTS, about 70% of the default will do)"
    )
    given = remedy(
        environment,
        f"Lower the power limit and see whether the machine stays up{number}; the limit lasts until the next restart. "
        "The permanent fix is a power supply with headroom for the card's peaks and separate power cables.",
        *(("power-limit-all",) if watts else () if each else ("power-range",)),
        watts=watts,
    )
    if watts:
        return given
    own = (step for index, own in each.items() for step in steps(environment, "power-limit", index=index, watts=own))
    return replace(given, steps=(*given.steps, *own))


def _limits(gpus: Iterable[SeenGpu]) -> Iterator[tuple[int, int]]:
    """Each card's number and the share of the limit that it has; nothing where one of them shows none."""
    shown = [gpu.nvml for gpu in gpus if gpu.nvml is not None]
    usual = {gpu.index: gpu.power_limit_default_w or gpu.power_limit_w for gpu in shown}
    if len(usual) <= _MOST and all(usual.values()):
        yield from ((index, int(round(power * _SHARE, -1))) for index, power in usual.items() if power)


_SUPPLY = Fault(
    "power-supply-overloaded",
    "The machine powers off under GPU load",
    impact="It shuts down or restarts in the middle of a run, and the log ends abruptly.",
    remedy=_less_power,
)


def _last_good(environment: Environment, matrix: Matrix) -> Remedy:
    """Back to what worked: no limit that is set makes the driver believe another reading."""
    back = (
        "This system keeps the previous image: to go back to it, run rpm-ostree rollback and restart. "
        if appliance(environment) == "ostree"
        else "Boot the previous kernel or firmware, or install the driver branch that was there before, and hold it. "
    )
    return Remedy(
        "No setting here is wrong, and a higher power limit does not help: the driver takes a false reading for the "
        "card's power. First shut the machine down and disconnect it from power for a minute (on a laptop, unplug the "
        f"charger). If the reading is false again, go back to the driver, kernel, and firmware with which it was "
        f"right. {back}Report it to NVIDIA with what the last command writes.",
        (
            fixed("nvidia-smi -q -d POWER,PERFORMANCE"),
            fixed("sudo nvidia-bug-report.sh"),
        ),
    )


_FALSE_READING = Fault(
    "power-reading-impossible",
    "A GPU reports more power than it can draw",
    impact="The driver believes the reading and keeps the clocks at their lowest (SW Power Cap): everything is slow.",
    remedy=_last_good,
)
_UNREAD = Fault(
    "gpu-reading-failed",
    "nvidia-smi cannot read a value of a GPU (ERR! or Unknown Error)",
    impact="Monitoring has no value there. Programs may go on; a card that is failing often begins like this.",
    remedy="Run nvidia-smi again: one such reading may pass by itself, on cloud GPUs above all. If it stays, look for "
    "an Xid of this GPU in the kernel log, finish the jobs on it, shut the machine down, and take it off the mains for "
    "a minute (in the cloud, stop and start the instance), since a restart alone may leave the card as it is. Then "
    "install the newest release of the driver's branch. If the value still cannot be read, the card's fan, sensor, or "
    "power supply circuit is likely faulty: have the card or the instance replaced.",
    steps=(fixed("nvidia-smi -q -d POWER,TEMPERATURE,PERFORMANCE"), fixed("sudo dmesg")),
    status=Status.WARN,
)
_IN_VM = (
    "Install driver branch 465 or newer in the guest: it no longer rejects the GPU in a virtual machine. With an older "
    "one, hide the hypervisor {how}. "
    'If the log says "Failed to copy vbios to system memory", give the guest a copy of the card\'s VBIOS (libvirt: '
    "<rom file='FILE'/>; Proxmox: romfile=FILE). Otherwise give it none: a file that is not a full copy of this very "
    "card's VBIOS stops the driver, too. The guest's memory has to be fixed (Proxmox: balloon: 0; libvirt: no "
    "memballoon)."
)


_ALREADY_HIDDEN = (
    "The hypervisor is hidden already, so another driver or a patch changes nothing; put NVIDIA's own driver "
    "back if it was modified. This one boots with SeaBIOS: give the virtual machine UEFI firmware (OVMF) and the "
    "machine type q35: the card's own firmware starts with UEFI, and with SeaBIOS only as the primary display. "
    "libvirt: virt-install --boot uefi --machine q35 for a new machine (oVirt: Chipset/Firmware Type Q35 Chipset "
    "with UEFI; Proxmox: bios: ovmf). Windows that was installed with the BIOS starts there only after its disk "
    "is converted: run the command in the guest first, as administrator, then change the firmware; or install "
    "Windows anew. Device Manager then shows the card without a code."
)


def _shown_to_guest(environment: Environment, matrix: Matrix) -> Remedy:
    """In the words of what runs the virtual machine."""
    hidden = seen(environment, "gpu-refused-in-vm", "detail-hidden", "detail-kvm-off")
    if hidden and seen(environment, "gpu-refused-in-vm", "detail-seabios"):
        return Remedy(_ALREADY_HIDDEN, (fixed("mbr2gpt /convert /allowFullOS"),))
    if "lxd" in managers(environment):
        return Remedy(
            _IN_VM.format(how="(for LXD, as the command does with the machine's name in place of GUEST)"),
            (fixed("lxc config set GUEST raw.qemu='-cpu host,kvm=off,hv_vendor_id=null'"), fixed("lxc restart GUEST")),
        )
    if seen(environment, "gpu-refused-in-vm", "detail-kubevirt"):
        how = (
            "(for KubeVirt, in the VirtualMachine: features: {kvm: {hidden: true}} under "
            "spec.template.spec.domain; the second command starts the machine again)"
        )
        return Remedy(_IN_VM.format(how=how), (fixed("kubectl edit vm GUEST"), fixed("virtctl restart GUEST")))
    how = (
        "(libvirt: <hidden state='on'/> in the kvm section, and a different vendor_id; Proxmox: cpu: host,hidden=1, "
        "and hv_vendor_id=null among the args for -cpu)"
    )
    return Remedy(_IN_VM.format(how=how), (fixed("virsh edit GUEST"),))


_MPS = Fault(
    "mps-unreachable",
    "CUDA cannot reach the MPS server",
    impact="Programs fail when they initialize CUDA, although nvidia-smi shows an idle GPU.",
    remedy=reach_mps,
)
_REFUSED = Fault(
    "gpu-refused-in-vm",
    "The driver refuses to start the GPU inside a virtual machine",
    impact="The guest detects the card, but its driver cannot start it (Windows shows code 43).",
    remedy=_shown_to_guest,
)


@check(
    _SUPPLY,
    layer=Layer.HEALTH,
    rank=29,
    any_of=("gpus", "messages"),
    fix="Use a power supply with more headroom; lower the power limit until then.",
    references=threads("tensorflow/tensorflow#740", "tensorflow/tensorflow#8858"),
)
def power_supply_overloaded(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The power supply can handle the GPUs' power spikes under full load.

    For milliseconds, a card can draw far more than its power limit. A power supply that shuts off because of that
    leaves no message.
    """
    if reported := _SUPPLY.reported(environment):
        yield reported
    elif environment.gpus.known and environment.gpus.get():
        yield silent(environment, "no sign of sudden power-offs", known(environment, "gpus"))


@check(
    _FALSE_READING,
    layer=Layer.HEALTH,
    rank=31,
    any_of=("gpus", "messages"),
    fix="Go back to the driver, kernel, and firmware with which the reading was right.",
    references=threads("NVIDIA/open-gpu-kernel-modules#1287"),
)
def power_reading_impossible(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The power that a GPU reports is one that it can draw.

    Some releases of the driver read a fixed, false value from laptop GPUs and lower the clocks because of it.
    """
    if reported := _FALSE_READING.reported(environment):
        yield reported
    elif environment.gpus.known and environment.gpus.get():
        yield silent(environment, "no sign of a false power reading", known(environment, "gpus"))


@check(
    _UNREAD,
    layer=Layer.HEALTH,
    rank=32,
    any_of=("gpus", "messages"),
    explained_by=("gpu-fallen-off-bus", "gsp-timeout", "rm-init-adapter-failed", "inforom-corrupted", "xid-other"),
    fix="Look again; if it stays, look for an Xid, take the machine off the mains, and update the driver.",
    references=threads("Azure/azhpc-diagnostics#77"),
)
def gpu_reading_failed(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The driver can read the power, temperature, and fan of every GPU.

    nvidia-smi prints ERR! or "Unknown Error" where a sensor or the card's firmware does not answer; N/A means that the
    card has no such sensor.
    """
    if reported := _UNREAD.reported(environment):
        yield reported
    elif environment.gpus.known and environment.gpus.get():
        yield silent(environment, "no sign of a reading that failed", known(environment, "gpus"))


@check(
    _MPS,
    layer=Layer.CUDA_DEVICES,
    rank=42,
    any_of=("driver.cuda_init", "messages"),
    fix="Start the control daemon, or unset its variables.",
    references=("https://docs.nvidia.com/deploy/mps/index.html",),
)
def mps_unreachable(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """If programs share a GPU through MPS, its server responds to them."""
    if reported := _MPS.reported(environment):
        yield reported
    elif environment.driver.cuda_init.known and environment.driver.cuda_init.get().code == 0:
        yield ok("CUDA starts", evidence=[known(environment, "driver.cuda_init")])


@check(
    _REFUSED,
    layer=Layer.KERNEL_MODULE,
    rank=45,
    any_of=("gpus", "messages"),
    fix="Use driver branch 465 or newer in the guest, or hide the hypervisor.",
    references=threads("NVIDIA/kubevirt-gpu-device-plugin#2"),
)
def gpu_refused_in_vm(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A GPU that is passed through starts in its virtual machine.

    Drivers before branch 465 refused to start GeForce cards under a hypervisor.
    """
    if reported := _REFUSED.reported(environment):
        yield reported
    elif environment.gpus.known and environment.gpus.get():
        yield ok("the driver lists a GPU", evidence=[known(environment, "gpus")])
