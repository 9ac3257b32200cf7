"""The driver's device files: there, open to this user, and the one that only CUDA needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.base.sentences import series
from envkit.checks.engine.command import GROUP, fixed, run
from envkit.checks.engine.evidence import NO_PCI_GPU, driver_lives_elsewhere, kind, known, many, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import appliance, in_container, managers
from envkit.checks.engine.messages import message_evidence, named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.gpus import lends_vgpus
from envkit.checks.nvidia_driver.device_modes import decimal_mode, joined_group
from envkit.checks.nvidia_driver.driver_state import answered, cuda_works, installed, loaded
from envkit.checks.nvidia_driver.newer_driver import newer_driver
from envkit.model import DeviceNode, Environment, MachineKind
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_GPU_NODE = regex(r"/dev/nvidia\d+")
_NEEDED = regex(r"/dev/nvidia(\d+|ctl|-uvm)")
_DEVICE_RULE = "EPERM"  # what a device cgroup answers; the mode of a file answers EACCES
_NOT_LOADED = ("no-gpu-on-pci", "driver-not-installed", "driver-module-not-loaded", "container-no-gpu-injected")


_BOTH = 2  # neither the module nor its device file is there
_BEFORE_DOCKER = (
    "Docker starts its containers at boot before anything has created the device files. Let Docker's own service "
    "create them first, at every boot (the file adds one line to it and changes nothing else; to undo it, delete the "
    "file). The first command creates them now; then start the container again (docker start)."
)


def _create_nodes(environment: Environment, matrix: Matrix) -> Remedy:
    if appliance(environment) == "truenas":
        return Remedy(
            "Create the device files now with the command. To do this at every boot, add a task: System > Advanced "
            "Settings > Init/Shutdown Scripts > Add: Type Command, Command nvidia-smi, When Post Init. Anything "
            "enabled with systemctl is lost at the next TrueNAS update.",
            (fixed("sudo nvidia-smi"),),
        )
    if seen(environment, "device-nodes-missing", "detail-at-boot"):
        return remedy(environment, _BEFORE_DOCKER, "device-nodes-before-docker")
    if appliance(environment) == "nixos":
        return _load_uvm(environment, matrix)
    return remedy(environment, "Create the device files now and at every boot.", "device-nodes")


_NO_NODES = Fault(
    "device-nodes-missing",
    "NVIDIA device files (/dev/nvidia*) are missing",
    impact="Regular users' programs find no GPU until root has used it once.",
    remedy=_create_nodes,
)


_CLOSED = Fault(
    "device-node-permission",
    "This user is not allowed to open the GPU's device files",
    impact="Only root can use CUDA and nvidia-smi.",
    remedy=joined_group,
)


_NO_HMM = (
    "Turn off HMM (heterogeneous memory management), by which programs share all of their memory with the GPU, and "
    "which fails with some kernels; CUDA does not need it. End all programs that use the GPU first. To keep HMM, "
    "boot the kernel with which it worked, or install a newer driver."
)


def _load_uvm(environment: Environment, matrix: Matrix) -> Remedy:
    """Not again what failed for its symbols: the kernel is newer than this driver supports."""
    if appliance(environment) == "nixos":
        return Remedy(
            "Load the module now; to load it at every boot, add this line to configuration.nix and rebuild: "
            'boot.kernelModules = [ "nvidia-uvm" ];',
            (fixed("sudo modprobe nvidia_uvm"), fixed("sudo nixos-rebuild switch")),
        )
    if seen(environment, "uvm-module-not-loaded", "told-hmm"):
        return remedy(environment, _NO_HMM, "uvm-without-hmm")
    gpl = seen(environment, "uvm-module-not-loaded", "gpl-symbols")
    symbol = named(seen(environment, "uvm-module-not-loaded", "detail-unknown-symbol"), "symbol")
    if symbol and not gpl:
        return newer_driver(
            environment,
            matrix,
            None,
            f"The kernel has no symbol {symbol}, which nvidia_uvm of driver {installed(environment) or 'this release'} "
            "uses, because the kernel is newer than the driver: loading the module again fails in the same way. To "
            "keep the driver, boot an older kernel, on which it worked (in the boot menu, under Advanced options).",
        )
    if not gpl:
        return remedy(
            environment,
            "Load the module now, and at every boot. What starts a container, jail, or service at boot must run the "
            "first two commands before it: the second creates /dev/nvidia-uvm. If modprobe does nothing, remove the "
            "line in /etc/modprobe.d that blacklists nvidia_uvm, or installs /bin/false or /bin/true for it.",
            "load-uvm",
            "uvm-at-boot",
        )
    driver, kernel = installed(environment), environment.system.kernel.value
    good = named(seen(environment, "uvm-module-not-loaded", "detail-kernel-works"), "good")
    words = f"driver {driver}" if driver is not None else "this driver"
    stay = f"stay on kernel {good}, which works" if good else "boot the previous kernel, on which it worked"
    return Remedy(
        f"Kernel {kernel or 'here'} no longer lets nvidia_uvm use {words}: loading the module again fails in the same "
        f"way, and a different torch does not help. Until NVIDIA has a driver for this kernel, {stay}: choose it in "
        "the boot menu (Advanced options), or keep it for every boot with GRUB_DEFAULT=saved in /etc/default/grub. A "
        "newer driver branch, or its open kernel module, is the permanent fix.",
    )


_NO_UVM = Fault(
    "uvm-module-not-loaded",
    "The module nvidia_uvm, which CUDA needs, is not loaded",
    impact="CUDA cannot start (unknown error 999 or initialization error 3), although nvidia-smi works.",
    remedy=_load_uvm,
)


def gpu_nodes(environment: Environment) -> tuple[DeviceNode, ...] | None:
    """The device nodes that stand for one GPU each, None when nobody looked."""
    observed = environment.driver.device_nodes
    if observed.absent:
        return ()
    return tuple(node for node in observed.get() if _GPU_NODE.fullmatch(node.path)) if observed.known else None


def given_to_others(environment: Environment) -> tuple[DeviceNode, ...]:
    """The nodes of GPUs that device rules keep from this job while it may open others: a scheduler shares them out."""
    nodes = gpu_nodes(environment) or ()
    kept = tuple(node for node in nodes if node.open_error == _DEVICE_RULE)
    return kept if any(node.accessible and not node.open_error for node in nodes) else ()


@check(
    _NO_NODES,
    layer=Layer.DEVICE_NODES,
    rank=10,
    explained_by=("gpu-fallen-off-bus", "gpu-bound-to-vfio", "rm-init-adapter-failed", *_NOT_LOADED),
    fix="Enable nvidia-persistenced, or install nvidia-modprobe with its setuid bit, or the udev rules.",
    elsewhere=NO_PCI_GPU,
    references=("https://github.com/NVIDIA/DCGM", "https://github.com/NVIDIA/gpu-operator"),
)
def device_nodes_missing(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """Every GPU that the kernel module drives has its `/dev/nvidiaN`, and `/dev/nvidiactl` exists.

    The module does not create them; X, nvidia-persistenced, or the setuid tool nvidia-modprobe does. Without them, the
    GPU cannot be used until root runs nvidia-smi once.
    """
    nodes, owned = gpu_nodes(environment), environment.driver.procfs_gpus
    if _of_other_jobs(environment):
        yield skip("in a job, the scheduler hides the device files of GPUs that are not the job's")
    elif reported := _NO_NODES.reported(environment):
        yield reported
    elif nodes is None:
        yield unknown(unseen(environment, "the device files"), evidence=[known(environment, "driver.device_nodes")])
    elif not loaded(environment):
        yield skip("without a loaded kernel module, there are no device files")
    elif missing := _missing(environment, nodes):
        evidence = [_nodes_evidence(environment), known(environment, "driver.procfs_gpus")]
        yield _NO_NODES.found(evidence, title=f"Missing: {missing}")
    else:
        owned_words = f"{many(len(owned.get()), 'GPU')}, " if owned.known else ""
        yield ok(f"{owned_words}{many(len(nodes), 'device file')}", evidence=[_nodes_evidence(environment)])


def _of_other_jobs(environment: Environment) -> bool:
    """Whether a job of Slurm that sees a GPU lists the files of GPUs that it was not given."""
    messages = seen(environment, _NO_NODES.id)
    numbered = messages and all(_GPU_NODE.search(message.text) for message in messages)
    return bool(numbered and environment.gpus.value and "slurm" in managers(environment))


def _missing(environment: Environment, nodes: tuple[DeviceNode, ...]) -> str:
    """What is missing, in words, '' when nothing is."""
    owned = environment.driver.procfs_gpus
    paths = _paths(environment)
    words = [] if "/dev/nvidiactl" in paths else ["/dev/nvidiactl"]
    if owned.known and len(nodes) < len(owned.get()):
        count, total = len(owned.get()) - len(nodes), len(owned.get())
        words.append("the GPU's /dev/nvidiaN" if total == 1 else f"{count} of {total} /dev/nvidiaN files")
    return series(words)


def _paths(environment: Environment) -> list[str]:
    observed = environment.driver.device_nodes
    return [node.path for node in observed.get()] if observed.known else []


def _nodes_evidence(environment: Environment) -> Evidence:
    return known(environment, "driver.device_nodes", ", ".join(_paths(environment)) or "none")


@check(
    _CLOSED,
    layer=Layer.DEVICE_NODES,
    rank=20,
    explained_by=("container-loses-gpu", "rootless-cgroups", "selinux-blocks-device"),
    fix="Join the group that owns /dev/nvidia*, then log in again.",
    references=threads("openSUSE/nvidia-driver-G06#52", "NVIDIA/nvidia-container-toolkit#210"),
)
def device_node_permission(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """This user can read and write the driver's device files.

    Module options, a group, SELinux, or a container's device rules can prevent that; with sudo, everything works.
    """
    observed, others = environment.driver.device_nodes, given_to_others(environment)
    closed = [
        node
        for node in (observed.get() if observed.known else ())
        if node.accessible is False and _NEEDED.fullmatch(node.path) and node not in others
    ]
    refused = answered(environment, "nvml", "NO_PERMISSION")
    if not closed and seen(environment, _CLOSED.id, "detail-rootless"):
        yield _rootless(environment, refused)
    elif closed or refused:
        yield _closed(environment, closed, refused)
    elif reported := _reported_closed(environment):
        yield reported
    elif observed.known and any(_NEEDED.fullmatch(node.path) for node in observed.get()):
        words = f", except those of {len(others)} GPUs that a scheduler reserves for other jobs" if others else ""
        yield ok(f"this user can open the device files{words}", evidence=[_nodes_evidence(environment)])
    elif observed.known or observed.absent:
        yield skip("there are no device files")
    else:
        yield unknown(unseen(environment, "the device files"), evidence=[known(environment, "driver.device_nodes")])


def _reported_closed(environment: Environment) -> Outcome | None:
    if not seen(environment, _CLOSED.id, "mig-monitor", "told-mig-monitor"):
        return _CLOSED.reported(environment)
    return _CLOSED.reported(
        environment,
        title="The container is not allowed to query MIG devices",
        impact="The device plugin or exporter stops, and the node offers no MIG devices.",
        remedy=Remedy(
            "In the manifest of its DaemonSet (the command lists them), set NVIDIA_MIG_MONITOR_DEVICES to all in the "
            "container's environment and give the container the SYS_ADMIN capability. The Helm charts of NVIDIA's "
            "device plugin and of the GPU Operator do both.",
            (fixed("kubectl get daemonsets -A"),),
        ),
    )


def _joined(group: str) -> Remedy:
    """The device files of a container belong to a group of the host: its number counts, whatever its name is here."""
    return Remedy(
        f"The device files belong to the host's group {group}: start the container with that group added for its "
        "user. This needs no change to the image or the host; in a compose file, use group_add; in a pod's "
        "securityContext, supplementalGroups. (The groups video and render do not help here.)",
        (run("docker", "run", "--gpus", "all", "--group-add", GROUP(group), "IMAGE"),),
    )


def _rootless(environment: Environment, refused: tuple[Evidence, ...]) -> Outcome:
    """A container of an ordinary user drops that user's groups, and with them the right to open the files."""
    return _CLOSED.found(
        refused or message_evidence(environment, seen(environment, _CLOSED.id)),
        title="The rootless container is not allowed to open the GPU",
        impact="In the container, your user is not in the group that owns the device files.",
        remedy=remedy(
            environment,
            "On this host, only root and one group may open the device files, and a rootless container drops your "
            "groups. Add --group-add keep-groups to your own podman run command, as in the first command, which "
            "needs the runtime crun. If it still fails, let every user open the device files: the second command "
            "changes a module option, which takes effect after a reboot.",
            "keep-groups-by-hook" if _by_hook(environment) else "keep-groups",
            "open-device-files",
        ),
    )


def _by_hook(environment: Environment) -> bool:
    """True where Podman or the container toolkit is older than CDI, so that a hook gives containers the GPU."""
    podman, toolkit = environment.containers.podman.value, environment.containers.container_toolkit.value
    old = podman is not None and podman < limit("podman-with-cdi")
    return old or (toolkit is not None and toolkit < limit("container-toolkit-with-cdi"))


def _closed(environment: Environment, closed: list[DeviceNode], refused: tuple[Evidence, ...]) -> Outcome:
    source = environment.driver.device_nodes.source
    nodes = [Evidence("driver.device_nodes", f"{n.path} {n.mode} {n.owner}:{n.group}", source) for n in closed[:4]]
    groups = {node.group for node in closed if node.group and node.group != "root"}
    owner = named(seen(environment, _CLOSED.id, "detail-owner"), "group")
    if owner and in_container(environment):
        return _CLOSED.found(
            [*nodes, *refused], title="This user is not allowed to open the GPU", remedy=_joined(owner)
        )
    listed = named(seen(environment, _CLOSED.id, "detail-group"), "group")
    groups |= {listed} if listed else set()
    groups |= {owner} - {None, "root"} if owner and not owner.isdigit() else set()
    if decimal := decimal_mode(environment):
        title = "The device files have the wrong mode"
        return _CLOSED.found([*nodes, *refused], title=title, remedy=decimal)
    return _CLOSED.found(
        [*nodes, *refused, known(environment, "system.groups")],
        title=f"This user is not allowed to open {', '.join(node.path for node in closed) or 'the GPU'}",
        remedy=remedy(
            environment,
            "Join the group that owns the device files, then log in again."
            if groups
            else "Check the files' mode and the module's options (NVreg_DeviceFileMode, NVreg_DeviceFileGID).",
            "node-group" if groups else "show-nodes",
            group=min(groups, default=None),
        ),
    )


@check(
    _NO_UVM,
    layer=Layer.DEVICE_NODES,
    rank=30,
    explained_by=("gpu-bound-to-vfio", "device-nodes-missing", "driver-library-mismatch", *_NOT_LOADED),
    fix="Load nvidia_uvm now, and at every boot; if the kernel refuses it, boot the previous one.",
    references=threads("tensorflow/tensorflow#5777", "pytorch/pytorch#49081", "ollama/ollama#5464"),
)
def uvm_module_not_loaded(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The module `nvidia_uvm` is loaded and its device file exists when CUDA needs it.

    CUDA needs it, but NVML and nvidia-smi do not; the typical sign is that nvidia-smi works while CUDA reports an
    unknown error. The first CUDA call loads it if nvidia-modprobe is setuid root, so a missing module alone is not a
    fault.
    """
    codes = answered(environment, "cuda", "UNKNOWN", "NOT_INITIALIZED")
    absent = _uvm_absent(environment)
    unnamed = seen(environment, "cuda-broken-after-suspend", "torch")  # an unknown error: what is absent explains it
    told = () if cuda_works(environment) else message_evidence(environment, [*seen(environment, _NO_UVM.id), *unnamed])
    blind = _tried(environment) if len(absent) == _BOTH else ()
    if lends_vgpus(environment):
        yield skip("a vGPU host driver does not include CUDA")
    elif kind(environment) in (MachineKind.WSL1, MachineKind.WSL2, MachineKind.JETSON):
        yield skip("WSL and Jetson have no module with that name")
    elif absent and (codes or told or blind):
        yield _NO_UVM.found([*absent, *codes, *told, *blind])
    elif cuda_works(environment):
        yield ok("CUDA initialized successfully", evidence=[known(environment, "driver.cuda_init", "success")])
    elif seen(environment, "cuda-broken-after-suspend"):
        yield skip("CUDA has failed since the machine was suspended")
    elif reported := _NO_UVM.reported(environment, title="CUDA cannot start: nvidia_uvm is not ready"):
        yield reported if not _uvm_present(environment) else _uvm_ready(environment)
    elif not loaded(environment):
        not_loaded = loaded(environment) is False
        yield (
            skip("the driver itself is not loaded")
            if not_loaded
            else unknown(unseen(environment, "the list of loaded kernel modules"))
        )
    elif absent:
        yield _uvm_to_come(environment, absent)
    elif _uvm_present(environment):
        yield _uvm_ready(environment)
    else:
        yield unknown(unseen(environment, "whether nvidia_uvm is loaded"))


def _tried(environment: Environment) -> tuple[Evidence, ...]:
    """A CUDA program that this driver is new enough for, which found no GPU: it would have loaded the module."""
    newest = environment.driver.driver_cuda_version.value
    pythons = environment.pythons.get() if environment.pythons.known else ()
    builds = [build.cuda for python in pythons for build in python.frameworks if build.cuda is not None]
    if newest is None or not builds or any(cuda.major > newest.major for cuda in builds):
        return ()
    return message_evidence(environment, seen(environment, "framework-sees-no-gpu"))


def _uvm_to_come(environment: Environment, absent: list[Evidence]) -> Outcome:
    loader = environment.driver.modprobe_setuid
    if (loader.known and not loader.get()) or driver_lives_elsewhere(environment):  # nobody here can load it
        return _NO_UVM.found([*absent, known(environment, "driver.modprobe_setuid")], status=Status.WARN)
    return ok("nvidia_uvm is not loaded yet; the first CUDA program loads it", evidence=absent)


def _uvm_ready(environment: Environment) -> Outcome:
    return ok("nvidia_uvm is loaded", evidence=[known(environment, "kernel.loaded_modules", "nvidia_uvm")])


def _uvm_present(environment: Environment) -> bool:
    modules = environment.kernel.loaded_modules
    return modules.known and "nvidia_uvm" in modules.get() and not _uvm_absent(environment)


def _uvm_absent(environment: Environment) -> list[Evidence]:
    modules, nodes = environment.kernel.loaded_modules, environment.driver.device_nodes
    evidence = []
    if modules.known and "nvidia" in modules.get() and "nvidia_uvm" not in modules.get():
        evidence.append(known(environment, "kernel.loaded_modules", "nvidia without nvidia_uvm"))
    if nodes.known and gpu_nodes(environment) and "/dev/nvidia-uvm" not in _paths(environment):
        evidence.append(_nodes_evidence(environment))
    return evidence
