"""Inside a container: which parts of the host's driver it was given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from envkit._startup.regex import regex
from envkit.checks.containers.engine_remedies import IN_TEMPLATE
from envkit.checks.containers.lost_gpu import kept_gpu
from envkit.checks.engine.command import NAME, SCRIPT, fixed, run
from envkit.checks.engine.evidence import kind, known, unseen
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Evidence, Outcome, Remedy, Status, ok, skip, unknown
from envkit.checks.engine.managers import in_image, managed_by, managers
from envkit.checks.engine.messages import message_evidence, named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import Layer, check
from envkit.checks.engine.remedies import remedy, steps
from envkit.checks.frameworks.variables import variables
from envkit.checks.nvidia_driver.device_nodes import given_to_others
from envkit.checks.nvidia_driver.driver_state import answered, driver_platform, installed
from envkit.model import Environment, MachineKind, Message

if TYPE_CHECKING:
    from envkit.tables import Matrix


_BY_NEXTFLOW = (
    " Nextflow writes that command: put containerOptions = '--nv' into the configuration, for the processes that use "
    "the GPU (process { withName: 'NAME' { containerOptions = '--nv' } }). A configuration that is read later, such "
    "as a site's (-c), replaces the pipeline's containerOptions: add --nv to the options there. Then resume the run; "
    "the command below shows that the node's part is right."
)
_BY_SHPC = (
    " shpc (Singularity Registry HPC) writes that command into its modules: in its settings (shpc config edit), set "
    "gpu: "
    "nvidia under container_features, and install the modules again (shpc install MODULE); a variable that you export "
    "beforehand is overwritten when the module is loaded."
)
_APPTAINER = ("apptainer-no-nv", "apptainer-no-nv-new", "apptainer-told")


_BY_CLASS = Remedy(
    "If the cluster has a runtime class named nvidia (the first command lists the classes), pods get the driver only "
    "through that class: in the pod's spec, next to containers, add runtimeClassName: nvidia. The container also "
    "needs resources: {limits: {nvidia.com/gpu: 1}} in its definition. A running pod cannot be changed: the second "
    "command deletes it and creates it again from its manifest (FILE), and the third shows whether it starts.",
    (
        fixed("kubectl get runtimeclass"),
        fixed("kubectl replace --force -f FILE"),
        fixed("kubectl get pods --watch"),
    ),
)


_BY_UDOCKER = Remedy(
    "udocker gives a container the host's driver only on request, and it does not have Docker's --gpus option. Create "
    "the container with a name, have udocker copy the driver's libraries into it (again after each driver update), and "
    "run it by that name; in a notebook, add --allow-root right after udocker, as before. If the program is also "
    "available as a CUDA binary or wheel for the host's system, you do not need a container.",
    (
        fixed("udocker create --name=NAME IMAGE"),
        fixed("udocker setup --nvidia --force NAME"),
        fixed("udocker run NAME"),
    ),
)
_BY_CHARLIECLOUD = Remedy(
    "ch-run does not mount a driver: copy the host's driver into the image, which must be an unpacked directory that "
    "you can write to. ch-fromhost uses the host's nvidia-container-cli for this. Repeat it after each driver update.",
    (fixed("ch-fromhost --nvidia IMAGE"), fixed("ch-run IMAGE -- nvidia-smi")),
)

_CURED_BY_RUNTIME = ("told-runtime-needed", "told-runtime-cures", "told-runtime-contrast")
_BY_RUNTIME = Remedy(
    "This release of Compose ignores the GPU in the deploy section, as old releases and some newer ones do. Under the "
    "service in the compose file, add runtime: nvidia and environment: {NVIDIA_VISIBLE_DEVICES: all, "
    "NVIDIA_DRIVER_CAPABILITIES: 'compute,utility'}, then create the container again. If Docker does not know the "
    "runtime nvidia, register it on the host first (sudo nvidia-ctk runtime configure --runtime=docker, then restart "
    "Docker, which stops its containers).",
    (fixed("docker compose up -d"),),
)


def _with_gpu(environment: Environment, matrix: Matrix) -> Remedy:
    """In the words of what starts the container; it has to be created again in any case."""
    names = managers(environment)
    if component := named(seen(environment, "container-no-gpu-injected", "detail-torchx"), "component"):
        return Remedy(
            f"torchx starts the container, and its component {component} requests 0 GPUs unless you pass a number: "
            "pass --gpu before the script's arguments. The driver and the container toolkit are fine.",
            (run("torchx", "run", "-s", "local_docker", NAME(component), "--gpu", "1", "--script", SCRIPT),),
        )
    if "kubernetes" in names:
        return _BY_CLASS
    if "unraid" in names:
        return IN_TEMPLATE
    if seen(environment, "container-no-gpu-injected", *_CURED_BY_RUNTIME):
        return _BY_RUNTIME
    if "compose" in names and seen(environment, "container-no-gpu-injected", "podman-compose"):
        return Remedy(
            "podman-compose ignores the reservation of devices (deploy) in a compose file, and passes the GPU as a CDI "
            "device only. Generate the CDI specification (again after each update of the driver); under the service, "
            "add devices: [nvidia.com/gpu=all], and with SELinux also security_opt: [label=disable]. Then create the "
            "containers again; the command before that shows that Podman itself passes the GPU.",
            (*steps(environment, "podman-device"), fixed("podman-compose down"), fixed("podman-compose up -d")),
        )
    if "compose" in names:
        return Remedy(
            "Under the service in the compose file, add deploy: {resources: {reservations: {devices: [{driver: nvidia, "
            "count: all, capabilities: [gpu]}]}}}. Then re-create the container.",
            (fixed("docker compose up -d"),),
        )
    if given := _by_apptainer(environment):
        return given
    if seen(environment, "container-no-gpu-injected", "udocker"):
        return _BY_UDOCKER
    if seen(environment, "container-no-gpu-injected", "charliecloud"):
        return _BY_CHARLIECLOUD
    return _by_docker(environment)


def _by_apptainer(environment: Environment) -> Remedy | None:
    """With the option that mounts the driver; None where neither Apptainer nor Singularity is at work."""
    lines = seen(environment, "container-no-gpu-injected", *_APPTAINER, "detail-singularity")
    if not lines and not managed_by(environment, "apptainer"):
        return None
    new = bool(lines) and "apptainer" in lines[0].text.lower()
    by_others = {"detail-nextflow": _BY_NEXTFLOW, "detail-shpc": _BY_SHPC}
    found = (words for detail, words in by_others.items() if seen(environment, "container-no-gpu-injected", detail))
    by = next(found, "")
    return Remedy(
        f"Add --nv before the image's name, which mounts the host's driver into the container.{by} Nothing needs "
        "to be installed in the image.",
        (fixed("apptainer exec --nv IMAGE nvidia-smi") if new else fixed("singularity exec --nv IMAGE nvidia-smi"),),
    )


def _by_docker(environment: Environment) -> Remedy:
    """With Docker, or with Podman, which takes the GPU as a CDI device."""
    if seen(environment, "container-no-gpu-injected", "detail-podman"):
        return remedy(
            environment,
            "On this machine, docker is an alias for Podman, and this Podman version ignores --gpus. Pass the GPU to "
            "the container as a CDI device instead. The first command generates the CDI specification; repeat it after "
            "every driver update. In a Compose file, add `devices: [nvidia.com/gpu=all]` to the service.",
            "podman-device",
        )
    if seen(environment, "container-no-gpu-injected", "detail-nvidia-docker"):
        return Remedy(
            "This host has nvidia-docker 1, which starts containers with the GPU: put nvidia-docker in place of docker "
            "in your own command. docker itself can do it (--gpus all) in newer releases, with the NVIDIA Container "
            "Toolkit.",
            (fixed("nvidia-docker run --rm IMAGE nvidia-smi"),),
        )
    if seen(environment, "container-no-gpu-injected", "podman-run", "told-podman-bare"):
        return remedy(
            environment,
            "Re-create the container with a GPU, which Podman passes as a CDI device. The first command generates the "
            "CDI specification (it comes with the NVIDIA Container Toolkit); repeat it after every driver update.",
            "podman-device",
        )
    by_podman = (
        ""
        if managed_by(environment, "docker-run")
        else " The command below is for Docker; with Podman, use podman run --device nvidia.com/gpu=all IMAGE."
    )
    small = seen(environment, "container-no-gpu-injected", "detail-shm")
    memory = (
        " Its shared memory is small, too: --shm-size gives the data loaders more (or --ipc=host)." if small else ""
    )
    return Remedy(
        f"Re-create the container with a GPU; nvidia-smi in it must then list the GPU.{memory} If Docker answers that "
        "it could not select a device driver, install the NVIDIA Container Toolkit on the host, run sudo nvidia-ctk "
        f"runtime configure --runtime=docker there, and restart Docker.{by_podman}",
        (fixed("docker run --gpus all --shm-size=8g IMAGE") if small else fixed("docker run --gpus all IMAGE"),),
    )


_NOT_GIVEN = Fault(
    "container-no-gpu-injected",
    "The container was started without a GPU",
    impact="Nothing in this container can use a GPU.",
    remedy=_with_gpu,
)


_BUILT_WITH_RUNTIME = (
    "On the build machine, nvidia is Docker's default runtime: it mounts that machine's driver during the build, and "
    "empty files with its version remain in the image. Remove default-runtime there: the first command does it and "
    "keeps the old file as daemon.json.bak; the second prints the file if it is still valid (do not restart Docker "
    "otherwise). Then rebuild the whole chain of images from a clean base; what is linked during the build uses the "
    "stub in the toolkit's lib64/stubs. The last command must print nothing. Containers that need the GPU are then "
    "started with --gpus all or --runtime=nvidia."
)


def _without_its_own(environment: Environment, matrix: Matrix) -> Remedy:
    """Files of a driver in an image, by packages or left from a build with NVIDIA's runtime."""
    package = named(seen(environment, "driver-baked-into-image", "detail-package"), "package")
    named_one = f" ({package}, which another package requires)" if package else ""
    if seen(environment, "driver-baked-into-image", "detail-default-runtime"):
        return remedy(environment, _BUILT_WITH_RUNTIME, "no-default-runtime", "restart-docker", "image-anew")
    return remedy(
        environment,
        f"Leave the driver's packages{named_one} out of the image (in its Dockerfile, install cuda-toolkit-X-Y instead "
        "of cuda, cuda-drivers, or nvidia-driver-*) and rebuild it. The container toolkit provides the host's driver. "
        "Or, as the last step of the Dockerfile: RUN rm -f /usr/lib/*-linux-gnu/libcuda.so* "
        "/usr/lib/*-linux-gnu/libnvidia-*.so* (Arch or Red Hat: /usr/lib*/ instead). The command builds such an "
        "image, named without-driver, from the one that fails (on Windows, use "
        "the RUN line instead).",
        "image-without-driver",
    )


_BAKED = Fault(
    "driver-baked-into-image",
    "The image contains its own driver",
    impact="The image's libcuda does not match the version of the host's kernel module.",
    remedy=_without_its_own,
)
_LOST = Fault(
    "container-loses-gpu",
    "The container lost its GPU while running",
    impact="Programs in the container lose the GPU until it is restarted; the host is fine.",
    remedy=kept_gpu,
)


def _in_container(environment: Environment) -> bool:
    return kind(environment) is MachineKind.CONTAINER


@check(
    _NOT_GIVEN,
    layer=Layer.PLACE,
    rank=10,
    any_of=("system.machine_kind", "messages"),
    explained_by=("driver-capabilities-missing", "docker-no-nvidia-runtime", "no-gpu-on-pci"),
    fix="Start it with `--gpus all`, with `--device nvidia.com/gpu=all`, or with a GPU in the pod's resources.",
    references=threads("NVIDIA/nvidia-docker#904", "aws/deep-learning-containers#598"),
)
def container_no_gpu_injected(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A container on a GPU host has the driver's device files."""
    nodes = environment.driver.device_nodes
    paths = [node.path for node in nodes.get()] if nodes.known else []
    asked = variables(environment).get("NVIDIA_VISIBLE_DEVICES")
    if _in_container(environment) and (nodes.known or nodes.absent) and not paths:
        host_has = _host_gpu(environment)
        evidence = [
            known(environment, "driver.device_nodes", "no /dev/nvidia*"),
            Evidence("variables[NVIDIA_VISIBLE_DEVICES]", repr(asked), environment.variables.source),
        ]
        if host_has:
            yield _NOT_GIVEN.found([*evidence, host_has])
        else:
            yield unknown(
                "this container has no GPU; whether its host has one is not visible from inside", evidence=evidence
            )
    elif reported := _NOT_GIVEN.reported(environment):
        yield reported
    elif insufficient := without_driver(environment, matrix):
        yield _NOT_GIVEN.found(
            [*message_evidence(environment, insufficient), known(environment, "driver.kernel_module")],
            title="The container did not get the host's driver, which runs every CUDA release and cannot be too old",
        )
    elif not _in_container(environment):
        yield skip("not inside a container", evidence=[known(environment, "system.machine_kind")])
    elif paths:
        yield ok(
            "the container has GPU device files",
            evidence=[known(environment, "driver.device_nodes", ", ".join(paths[:4]))],
        )
    else:
        yield unknown(unseen(environment, "the device files"), evidence=[known(environment, "driver.device_nodes")])


def without_driver(environment: Environment, matrix: Matrix) -> tuple[Message, ...]:
    """The messages of a driver that is too old, from a container on a host whose driver runs the newest CUDA."""
    from envkit.compat.driver import branch_of

    own = installed(environment)
    branch = branch_of(own, matrix, driver_platform(environment)) if own is not None and in_image(environment) else None
    runs = branch.driver_cuda_version if branch is not None else None
    newest = max((row.release.major for row in matrix.toolkits if row.release is not None), default=None)
    if runs is None or newest is None or runs.major < newest:
        return ()
    return seen(environment, "driver-too-old-for-runtime", without="told-wants-driver")


def _host_gpu(environment: Environment) -> Evidence | None:
    """What shows, inside a container, that the host has an NVIDIA GPU with a driver."""
    if environment.driver.kernel_module.known:
        return known(environment, "driver.kernel_module")
    if environment.pci_gpus.known and environment.pci_gpus.get():
        return known(environment, "pci_gpus", f"{len(environment.pci_gpus.get())} on the host's PCI bus")
    return None


@check(
    _BAKED,
    layer=Layer.PLACE,
    rank=14,
    any_of=("system.machine_kind", "messages"),
    fix="Rebuild the image with cuda-toolkit-X-Y only, never with a driver or the cuda meta-package.",
    references=threads("ameli/manylinux-cuda#5", "NVIDIA/nvidia-docker#1256"),
)
def driver_baked_into_image(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """No driver package is installed inside a container; the driver's libraries come from the host."""
    if reported := _BAKED.reported(environment):
        yield reported
        return
    if not _in_container(environment):
        yield skip("not inside a container", evidence=[known(environment, "system.machine_kind")])
        return
    if not environment.packages.known:
        yield unknown("the installed system packages are not known", evidence=[known(environment, "packages")])
        return
    if environment.containers.host_listed.known:
        yield skip(
            "the packages were listed on the host, before the container was started",
            evidence=[known(environment, "containers.host_listed")],
        )
        return
    baked = [item for item in environment.packages.get() if DRIVER_PACKAGE.match(item.name) and item.whole]
    if not baked:
        yield ok("no driver package in this image", evidence=[known(environment, "packages", "none of the driver's")])
        return
    module = environment.driver.kernel_module
    same = module.known and any(str(module.get()) in item.version for item in baked)
    evidence = [Evidence("packages", f"{item.name} {item.version}", environment.packages.source) for item in baked[:3]]
    evidence.append(known(environment, "driver.kernel_module"))
    if same or not module.known:
        yield _BAKED.found(evidence, impact=f"{_BAKED.impact[:-1]} on every other host.", status=Status.WARN)
    else:
        yield _BAKED.found(evidence, title="This image contains a driver version that differs from the host's")


DRIVER_PACKAGE = regex(
    r"(nvidia-driver(-\d.*|-cuda.*|-libs)?$|libnvidia-compute|libcuda1$|nvidia-utils|cuda-drivers|xserver-xorg-video-nvidia|nvidia-kernel|nvidia-dkms|kmod-nvidia)"
)


@check(
    _LOST,
    layer=Layer.PLACE,
    rank=18,
    any_of=("driver.device_nodes", "driver.nvml", "messages"),
    explained_by=("device-nodes-missing", "vgpu-unlicensed"),
    fix="Restart the container. For a permanent fix, use CDI, create links in /dev/char, or make cgroupfs Docker's "
    "cgroup driver.",
    references=threads("NVIDIA/nvidia-container-toolkit#48", "NVIDIA/nvidia-docker#1730", "NVIDIA/gpu-operator#485"),
)
def container_loses_gpu(environment: Environment, matrix: Matrix) -> Iterator[Outcome]:
    """A container can still open the GPU device files it was given.

    `systemctl daemon-reload` on the host resets the device rules of containers that did not get their GPU through CDI.
    After that, NVML reports "Unknown Error" inside the container, although the host is fine.
    """
    nodes = environment.driver.device_nodes.get() if environment.driver.device_nodes.known else ()
    others = given_to_others(environment)
    refused = [node for node in nodes if node.accessible is False and node.open_error == "EPERM" and node not in others]
    answers = answered(environment, "nvml", "UNKNOWN")
    if _in_container(environment) and refused:
        evidence = [
            Evidence("driver.device_nodes", f"{node.path}: {node.open_error}", environment.driver.device_nodes.source)
            for node in refused[:2]
        ]
        yield _LOST.found([*evidence, *answers], title="This container no longer has permission to open its GPU")
    elif reported := _LOST.reported(environment):
        yield reported
    elif not _in_container(environment):
        yield skip("not inside a container", evidence=[known(environment, "system.machine_kind")])
    elif nodes and not refused:
        yield ok(
            "the container can open its GPU device files",
            evidence=[known(environment, "driver.device_nodes", nodes[0].path)],
        )
    else:
        yield skip("the container has no GPU device files", evidence=[known(environment, "driver.device_nodes")])
