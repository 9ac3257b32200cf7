"""Limits around NCCL and data loaders: network interface, locked memory, peer memory, /dev/shm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit.base.versions import Version
from envkit.checks.engine.command import fixed
from envkit.checks.engine.evidence import kind, known, only_told, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import in_container, managers
from envkit.checks.engine.messages import complained, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy
from envkit.checks.gpu.peer_memory import peer_memory
from envkit.checks.gpu.sockets import interfaces, is_rdma, settings
from envkit.model import Environment, MachineKind
from envkit.tables.codes import limit

if TYPE_CHECKING:
    from envkit.tables import Matrix

_ENOUGH_LOCKED = 4 * 1024**3  # bytes; NCCL registers its buffers, gigabytes on a large machine
_ENOUGH_SHM = 1024**3  # bytes; container engines give 64 MiB


_OF_JOBS = (
    "A job inherits the limit of the batch system's daemon, not that of a login, so limits.conf alone does not change "
    "it. On every node, run sudo systemctl edit UNIT (slurmd, pbs_mom, sge_execd, lsfd: the daemon that starts jobs), "
    "write [Service] and, below it, LimitMEMLOCK=infinity, and restart that daemon while no job runs; the commands "
    "raise the limit for logins, too. In a new job, ulimit -l then prints unlimited."
)
_NOT_IN_FORCE = (
    "The file is edited, but the limit is not in force: lines with * do not apply to root, which needs its own (the "
    "first command writes both), and a session keeps the limit that it began with. End all sessions on the node, also "
    "those of tmux, screen, and an editor's server, and log in again; ranks on other nodes get the limit of their own "
    "login by ssh. ulimit -l must print unlimited, also when mpirun starts it. A service needs "
    "LimitMEMLOCK=infinity in its unit."
)


def _more_locked(environment: Environment, matrix: Matrix) -> Remedy:
    names = managers(environment)
    if "slurm" in names:
        return Remedy("Set LimitMEMLOCK=infinity in slurmd's unit on the nodes: jobs inherit it.")
    if "kubernetes" in names:
        return Remedy("Set LimitMEMLOCK=infinity in the container runtime's unit on the node.")
    if in_container(environment):
        return remedy(
            environment,
            "A container has its own limit, whatever the host's is: re-create the container with --ulimit memlock=-1 "
            "(in a compose file: ulimits, memlock with soft: -1 and hard: -1). In it, ulimit -l then prints unlimited.",
            "memlock-container",
        )
    if seen(environment, "memlock-too-low", "detail-batch"):
        return remedy(environment, _OF_JOBS, "memlock")
    if seen(environment, "memlock-too-low", "detail-edited"):
        return remedy(environment, _NOT_IN_FORCE, "memlock")
    return remedy(
        environment,
        "Raise the limit, then log out and in again, because it takes effect at the next login; the second command "
        "then prints unlimited. For a service, set LimitMEMLOCK=infinity in its unit.",
        "memlock",
    )


_OF_A_HUB = (
    "Here, JupyterHub starts the container, so its users cannot change /dev/shm: until it is larger, set num_workers=0 "
    "in the DataLoader, which does not use it. Ask the hub's administrators to give this profile an in-memory volume "
    "there. With the Helm chart: singleuser.storage.extraVolumes: [{name: shm, emptyDir: {medium: Memory}}] and "
    "singleuser.storage.extraVolumeMounts: [{name: shm, mountPath: /dev/shm}], or volumes and volume_mounts in the "
    "profile's kubespawner_override; it counts against the server's memory limit. After helm upgrade, stop and start "
    "the server in the hub's control panel; the command then shows the new size."
)


def _more_shared(environment: Environment, matrix: Matrix) -> Remedy:
    names = managers(environment)
    if seen(environment, "shm-too-small", "detail-vllm-stack"):
        return Remedy(
            "In this chart, shmSize takes effect only together with tensorParallelSize: set tensorParallelSize under "
            "vllmConfig in the values file to the number of GPUs, instead of passing --tensor-parallel-size in "
            "extraArgs. Then upgrade the release (helm list shows its name and chart; manual edits to volumes are "
            "lost) and look at /dev/shm in the new pod.",
            (fixed("helm upgrade RELEASE vllm/vllm-stack -f values.yaml"), fixed("kubectl exec POD -- df -h /dev/shm")),
        )
    if "jupyterhub" in names:
        return Remedy(_OF_A_HUB, (fixed("df -h /dev/shm"),))
    pods = seen(environment, "shm-too-small", "detail-pods") and not {"compose", "docker-run"} & {*names}
    if "kubernetes" in names or pods:
        return Remedy(
            "Give the pod an in-memory volume for /dev/shm: volumes: [{name: dshm, emptyDir: {medium: Memory, "
            "sizeLimit: 8Gi}}], and in the container volumeMounts: [{name: dshm, mountPath: /dev/shm}]. It "
            "counts against the pod's memory limit. A Helm chart, or the template of a CI runner's pods, has its own "
            "value for it. Pods that run keep theirs: delete them, so that they are created anew; the command (POD is "
            "one of the new ones) then shows the new size.",
            (fixed("kubectl exec POD -- df -h /dev/shm"),),
        )
    if "compose" in names:
        said = 'Under the service in the compose file, add shm_size: "8gb". Then re-create the container.'
        return Remedy(said, (fixed("docker compose up -d"),))
    advice = (
        "Add --shm-size=8g (or --ipc=host, which shares the host's /dev/shm) to the docker run command that starts the "
        "container, before the image's name, and keep its other options. The container must be created again; one "
        "that is renamed stays as it is, with its files."
    )
    return remedy(environment, advice, "shm")


_NO_INTERFACE = Fault(
    "nccl-wrong-interface",
    "NCCL could not connect over its network interface",
    impact="Multi-node programs cannot connect.",
    remedy=interfaces,
)
_LOCKED = Fault(
    "memlock-too-low",
    "The locked-memory limit is too low for RDMA",
    impact="NCCL over InfiniBand fails with 'cannot allocate memory'.",
    remedy=_more_locked,
)
_NO_PEERMEM = Fault(
    "peermem-not-loaded",
    "Network cards cannot reach GPU memory directly (GPUDirect RDMA is off)",
    impact="Data between machines goes through main memory: bandwidth is lower, but nothing fails.",
    remedy=peer_memory,
    status=Status.WARN,
)
_SMALL_SHM = Fault(
    "shm-too-small",
    "The container's /dev/shm is too small",
    impact="Data loaders with workers crash with 'Bus error', and so does NCCL.",
    remedy=_more_shared,
)


@check(
    _NO_INTERFACE,
    layer=Layer.LIBRARIES,
    rank=80,
    any_of=("variables", "nccl_config", "messages"),
    fix="Set the right name, or exclude the ones that NCCL should not use: ^lo,docker,br-,veth,virbr.",
    references=threads("NVIDIA/nccl#697", "NVIDIA/nccl#286", "horovod/horovod#310"),
)
def nccl_wrong_interface(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """The network interfaces that NCCL and Gloo are told to use exist on this machine.

    An interface name copied from another machine, or a container engine's bridge, causes "connection refused" or a
    program that waits forever.
    """
    found = settings(environment)
    present = environment.network_interfaces
    wrong = [
        (name, value, source)
        for name, (value, source) in found.items()
        if present.known and not _matches(value, present.get())
    ]
    for name, value, source in wrong:
        yield _NO_INTERFACE.found(
            [Evidence(name, value, source), known(environment, "network_interfaces")],
            title=f"{name}={value} does not match any interface on this machine",
        )
    if wrong:
        return
    title = "NCCL could not connect over InfiniBand or RoCE" if is_rdma(environment) else ""
    if reported := _NO_INTERFACE.reported(environment, title=title):
        yield reported
    elif found and not present.known:
        interfaces_unseen = unseen(environment, "the machine's interfaces")
        yield unknown(f"an interface is set, but {interfaces_unseen}")
    elif environment.variables.known or environment.nccl_config.known:
        words = (
            ", ".join(f"{name}={value}" for name, (value, _) in found.items())
            or "no NCCL or Gloo network interface is set"
        )
        yield ok(words, evidence=[known(environment, "network_interfaces")])
    else:
        yield unknown(unseen(environment, "the environment variables"))


def _matches(value: str, interfaces: tuple[str, ...]) -> bool:
    """True when a setting of NCCL leaves an interface: `a,b` are beginnings, `=a` exact names, `^a` all but these."""
    names = [name.split(":")[0] for name in value.lstrip("^=").split(",") if name]
    if value.startswith("^"):
        exact = value.startswith("^=")
        return any(not any(i == n if exact else i.startswith(n) for n in names) for i in interfaces)
    return any(i == n if value.startswith("=") else i.startswith(n) for i in interfaces for n in names)


@check(
    _LOCKED,
    layer=Layer.LIBRARIES,
    rank=81,
    any_of=("system.memlock_bytes", "messages"),
    fix="Raise the limit with ulimit -l unlimited; start containers with --ulimit memlock=-1.",
    references=threads("NVIDIA/nccl-tests#206", "NVIDIA/nccl#778"),
)
def memlock_too_low(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On a machine with InfiniBand or RoCE, programs can lock as much memory as they need.

    RDMA locks its buffers in memory; with a low limit, that fails with "cannot allocate memory".
    """
    limit, devices = environment.system.memlock_bytes, environment.system.infiniband_devices
    facts = [known(environment, "system.memlock_bytes"), known(environment, "system.infiniband_devices")]
    if reported := _LOCKED.reported(environment):
        yield reported
    elif not limit.known:
        yield unknown(unseen(environment, "the locked-memory limit"), evidence=facts)
    elif devices.known and devices.get() and 0 <= limit.get() < _ENOUGH_LOCKED:
        title = f"Only {limit.get() // 1024} KiB of memory can be locked, on a machine with RDMA"
        yield _LOCKED.found(facts, title=title, status=Status.WARN)
    elif devices.known and devices.get():
        yield ok("the locked-memory limit is high enough", evidence=facts)
    else:
        yield (
            skip("there is no RDMA device")
            if devices.known or devices.absent
            else unknown(unseen(environment, "RDMA devices"))
        )


@check(
    _NO_PEERMEM,
    layer=Layer.HEALTH,
    rank=73,
    any_of=("system.infiniband_devices", "messages"),
    explained_by=("driver-module-not-loaded",),
    fix="Load the module nvidia-peermem, or nv_peer_mem if the driver does not include it.",
    references=threads("NVIDIA/nccl-tests#206"),
)
def peermem_not_loaded(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """On a machine with InfiniBand or RoCE, network cards can access GPU memory directly.

    This needs the module nvidia_peermem, or the open kernel module on a kernel with DMA-BUF. Without it, data between
    machines is copied through main memory.
    """
    devices, peer = environment.system.infiniband_devices, environment.driver.peermem_loaded
    facts = [known(environment, "driver.peermem_loaded"), known(environment, "system.infiniband_devices")]
    slow = seen(environment, _NO_PEERMEM.id, "slow", "not-registered")
    if reported := _NO_PEERMEM.reported(environment, status=Status.FAIL if slow else None):
        yield reported
    elif devices.known and devices.get() and environment.driver.kernel_module.known:
        if peer.known and not peer.get() and _dma_buf(environment) is False:
            yield _NO_PEERMEM.found(facts)
        elif peer.known:
            yield ok("GPUDirect RDMA is available", evidence=facts)
        else:
            yield unknown(unseen(environment, "the loaded modules"), evidence=facts)
    elif devices.known or devices.absent:
        yield skip("there is no RDMA device, or no driver")
    else:
        yield unknown(unseen(environment, "RDMA devices"))


def _dma_buf(environment: Environment) -> bool | None:
    """True where the open module exports GPU memory by DMA-BUF; None when kernel or flavor are unknown."""
    flavor, kernel = environment.driver.open_kernel_module, environment.system.kernel
    release = Version.find(kernel.get()) if kernel.known else None
    if not flavor.known or release is None:
        return None
    return flavor.get() and release >= limit("dma-buf-kernel")


@check(
    _SMALL_SHM,
    layer=Layer.LIBRARIES,
    rank=82,
    any_of=("system.shm_bytes", "messages"),
    fix=(
        "Start the container with --shm-size=8g or --ipc=host; in Kubernetes, mount an emptyDir with medium Memory "
        "at /dev/shm."
    ),
    references=threads("pytorch/pytorch#5040", "pytorch/pytorch#108861", "NVIDIA/nccl#473"),
)
def shm_too_small(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A container that runs frameworks has at least 1 GB of /dev/shm.

    Container engines provide only 64 MiB by default. Data loaders and NCCL use it to exchange data and crash with "Bus
    error" when it is full.
    """
    size = environment.system.shm_bytes
    facts = [known(environment, "system.shm_bytes"), known(environment, "system.machine_kind")]
    reported = _SMALL_SHM.reported(environment)
    small = size.known and size.get() < _ENOUGH_SHM and kind(environment) is MachineKind.CONTAINER
    if small and (reported or (_used(environment) and (complained(environment) or not only_told(environment)))):
        title = f"this container's /dev/shm has {size.get() // 1024**2} MiB"
        yield _SMALL_SHM.found(facts, title=title, status=Status.FAIL if reported else Status.WARN)
    elif reported:
        yield reported
    elif size.known:
        yield ok(f"/dev/shm has {size.get() // 1024**2} MiB", evidence=facts)
    else:
        yield unknown(unseen(environment, "the size of /dev/shm"), evidence=facts)


def _used(environment: Environment) -> bool:
    """True where something is there that would use it: a GPU or a framework."""
    pythons = environment.pythons.get() if environment.pythons.known else ()
    return bool(environment.gpus.value) or any(python.frameworks for python in pythons)
