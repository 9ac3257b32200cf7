"""What clusters say of their GPUs and no fact shows: NVLink SHARP, MIG, Slurm's lists, DCGM, the operator's images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import export, fixed, run
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Remedy, Status
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.engine.remedies import remedy, steps_for
from envkit.checks.programs.told import told_by_program

if TYPE_CHECKING:
    from envkit.model import Environment
    from envkit.tables import Matrix

_UNKNOWN, _MISLISTED = "slurm-gres-unknown", "slurm-gres-misconfigured"


_LIST_THEM = (
    "Slurm lists no GPU for the node (Gres=(null)), so no request for one can be met: its administrator must list "
    "them. In slurm.conf: GresTypes=gpu, and Gres=gpu:N in the node's NodeName line. In gres.conf on the node: "
    "AutoDetect=nvml, or, for a Slurm without NVML, a line such as Name=gpu File=/dev/nvidia0 (File=/dev/nvidia[0-3] "
    "for four). The first command prints on the node what slurmd finds. Then restart slurmctld and slurmd; the second "
    "command is enough where GresTypes was there already. Where an operator such as Soperator or Slinky runs Slurm in "
    "Kubernetes, it writes these files itself: set the GPUs (GRES) of the node set in the cluster's values, and do "
    "not edit the files in the pod."
)


def _as_slurm_has_them(environment: Environment, matrix: Matrix) -> Remedy:
    """A site's own filter of jobs may look at one of the ways to ask only."""
    if seen(environment, _UNKNOWN, "cpu-job"):
        return Remedy(
            "This refusal comes from the site's own filter, which mistakes the job for one without GPUs: it looks only "
            "at GPUs per node, but --gpus=N requests them per job. Replace that line with #SBATCH --gpus-per-node=N "
            "(or --gres=gpu:N), with N for each node of --nodes, and keep the partition. The commands show which GPUs "
            "the partition has, and test the script without running it. If it is refused again, the site's guide says "
            "how it wants them.",
            (fixed("sinfo -o '%P %N %G'"), fixed("sbatch --test-only SCRIPT")),
        )
    if seen(environment, _UNKNOWN, "limit"):
        return Remedy(
            "The job waits, or is refused, because its QOS or account may not have so many GPUs at once; the GPUs and "
            "the driver are not involved. Ask for fewer, wait until your other jobs have ended, or choose a QOS that "
            "allows more (--qos=NAME). The commands show your jobs with their reasons, and what each QOS allows.",
            (fixed("squeue --me -o '%i %T %b %r'"), fixed("sacctmgr show qos format=name,maxtrespu,maxtresperjob")),
        )
    if inherited := named(seen(environment, _UNKNOWN, "detail-inherited"), "name"):
        return remedy(
            environment,
            f"The job is submitted from inside another job and inherits its variables: {inherited} asks for GPUs that "
            "the new job does not have, and srun takes it from the environment. Remove Slurm's variables from the "
            "shell (the command, for bash), and start the program that submits in the same shell. Or submit from a "
            "login node.",
            "clear-slurm",
        )
    if seen(environment, _UNKNOWN, "detail-null"):
        return Remedy(_LIST_THEM, (fixed("sudo slurmd -G"), fixed("sudo scontrol reconfigure")))
    return Remedy(
        "Compare the request with what the cluster offers: the first command prints the GPUs of each node by "
        "name. Use that name and at most that number per node (--gres=gpu:NAME:N), in a partition that has GPUs. Steps "
        "inside a job may take no more than the job has. If (null) is printed for a node with GPUs, its administrator "
        "must list them: GresTypes=gpu and Gres=gpu:N in slurm.conf, and gres.conf on the node.",
        (fixed("sinfo -o '%P %N %G'"), fixed("scontrol show node")),
    )


def _listed_once(environment: Environment, matrix: Matrix) -> Remedy:
    """AutoDetect needs a Slurm that was built with NVML."""
    if seen(environment, _MISLISTED, "no-nvml-built", "told-no-nvml-plugin"):
        return Remedy(
            "This build of Slurm has no plugin for NVML (gpu_nvml.so), so AutoDetect=nvml finds nothing; the driver is "
            "not at fault. Either list the GPUs yourself: in gres.conf, replace AutoDetect=nvml with a line such as "
            "NodeName=NODE Name=gpu File=/dev/nvidia[0-3], with Type= where slurm.conf has one. Or build Slurm's "
            "packages on a machine with NVML's header and library (the CUDA toolkit has them; configure "
            "--with-nvml=DIRECTORY, rpmbuild --with nvml), install them on the nodes, and hold them, since an update "
            "from the repository would replace them. Then start slurmd again, compare what it finds with Gres= in "
            "slurm.conf, and resume the node.",
            (
                fixed("find /usr/lib64/slurm /usr/lib/x86_64-linux-gnu/slurm -name 'gpu_*.so'"),
                fixed("sudo slurmd -G"),
                fixed("sudo systemctl restart slurmd"),
            ),
        )
    if seen(environment, _MISLISTED, "file-missing"):
        return Remedy(
            "This node has no gres.conf, so slurmd finds no GPU, while slurm.conf promises some: each slurmd reads the "
            "file of its own node. Copy it to the same place on every node, beside slurm.conf (in a cluster that is "
            "deployed by Ansible, add it to the copied files); where only some nodes have GPUs, put NodeName=NODES in "
            "front of Name=gpu, and use the same file everywhere. Then restart slurmd on the node: the second command "
            "must list the GPUs, and the last one puts the node back into service.",
            (
                fixed("sudo systemctl restart slurmd"),
                fixed("sudo slurmd -G"),
                fixed("sudo scontrol update NodeName=NODE State=RESUME"),
            ),
        )
    if seen(environment, _MISLISTED, "core-specification"):
        return Remedy(
            "gres.conf ties a GPU to cores that this node does not have: Cores= (formerly CPUs=) counts cores, "
            "while `nvidia-smi topo -m` and lscpu count threads, and newer Slurm refuses what does not fit Sockets and "
            "CoresPerSocket of slurm.conf. Use only the numbers of cores (0 to Sockets*CoresPerSocket-1), leave Cores= "
            "out, or use AutoDetect=nvml, which finds them. Then start slurmd again, compare what it finds (first "
            "command) with Gres= in slurm.conf, and resume the node.",
            (fixed("sudo slurmd -G"), fixed("sudo systemctl restart slurmd")),
        )
    return Remedy(
        "Keep one way of listing: either AutoDetect=nvml alone, or one line with the files of all GPUs "
        "(Name=gpu File=/dev/nvidia[0-3]), without a second line for the same GPUs and with a file for each. Then "
        "start slurmd again, compare what it finds (first command) with Gres= in slurm.conf, and resume the node.",
        (fixed("sudo slurmd -G"), fixed("sudo systemctl restart slurmd")),
    )


def _freed(environment: Environment, matrix: Matrix) -> Remedy:
    """What holds a GPU whose mode is to change: the persistence daemon, if nothing else does."""
    if seen(environment, "mig-change-refused", "pending", "told-pending", "told-pending-more", "not-reset"):
        in_pod = managed_by(environment, "gpu-operator", "kubernetes")
        where = (
            " Where the GPU operator's driver pod started that daemon, the first command is "
            "kubectl -n gpu-operator exec POD -- pkill -x nvidia-persistenced, with the name of the driver's pod."
            if in_pod
            else ""
        )
        return Remedy(
            "The new mode is pending because something still holds the GPU, most often the persistence daemon or "
            f"monitoring (DCGM); no job has to run for that. Stop both, and reset the GPU.{where} The last command "
            "must show the same mode as current and pending; then start the services again. If the reset is refused "
            "again, the third command names the program. A reboot does the same.",
            (
                fixed("sudo systemctl stop nvidia-persistenced nvidia-dcgm"),
                fixed("sudo nvidia-smi --gpu-reset"),
                *steps_for("any", "who-holds"),
                fixed("nvidia-smi --query-gpu=index,mig.mode.current,mig.mode.pending --format=csv"),
            ),
        )
    return Remedy(
        "A program still uses the GPU, or the instances do not fit: stop DCGM, monitoring, the persistence "
        "daemon, a display server, and pods on the node, and delete compute instances before GPU instances. The first "
        "two commands do that for all GPUs, so write down the layout first (nvidia-smi -L). Then change the mode and "
        "reset the GPU, or reboot where a virtual machine may not reset it. The last command lists how many instances "
        "of each profile still fit.",
        (
            fixed("sudo nvidia-smi mig -dci"),
            fixed("sudo nvidia-smi mig -dgi"),
            fixed("sudo nvidia-smi --gpu-reset"),
            fixed("nvidia-smi mig -lgip"),
        ),
    )


_WITH_IMAGES = ("ubuntu", "rhel", "rhcos", "sles", "sl", "rocky")  # systems that NVIDIA builds driver images for


def _driver_of_node(environment: Environment, matrix: Matrix) -> Remedy:
    """The driver on the node itself, where no version of the operator's has an image for its system."""
    tag = named(seen(environment, "operator-driver-image-missing"), "tag") or ""
    system = tag.partition("-")[2]
    if not system or system.startswith(_WITH_IMAGES):
        return Remedy(
            "The tag consists of the driver's version and the node's system (VERSION-ubuntuXX.YY). NVIDIA builds "
            "it for the systems in the operator's platform table only: set driver.version to one that has an image for "
            "this system, upgrade the operator, or install the driver on the node and set driver.enabled=false.",
            (fixed("kubectl get nodes -o wide"), fixed("helm list -A")),
        )
    return Remedy(
        f"NVIDIA builds no driver image for {system}, whatever the version, so a pull secret does not help. Install "
        "the driver on the nodes themselves, from their distribution or from NVIDIA's repository, and restart them; "
        "nvidia-smi must work there. Then let the operator use that driver: the first command lists the name, the "
        "namespace, and the chart's version of its Helm release (add --version with that number to the second one, "
        "to stay on it), the second one turns its own driver off, and the last one shows the pods start.",
        (
            fixed("helm list -A"),
            fixed("helm upgrade RELEASE nvidia/gpu-operator -n NAMESPACE --reuse-values --set driver.enabled=false"),
            fixed("kubectl get pods -A -o wide"),
        ),
    )


told_by_program(
    Fault(
        "nvls-setup-failed",
        "NCCL cannot set up NVLink SHARP (NVLS) on the NVSwitch",
        impact="NCCL stops while it creates its communicator; with NVLS switched off, the same program runs.",
        remedy="Most often the Fabric Manager was stopped or restarted while the GPUs kept their old state. Stop all "
        "programs that use the GPUs (DCGM and the persistence daemon too), stop the Fabric Manager, reset all GPUs, "
        "and start it again; or reboot the node. Until then, the first command lets NCCL do without NVLS. If it fails "
        "after a reboot, look for the Fabric Manager's errors in its log, and run it outside the container as well.",
        steps=(
            export("NCCL_NVLS_ENABLE", "0"),
            fixed("sudo systemctl stop nvidia-fabricmanager"),
            fixed("sudo nvidia-smi --gpu-reset"),
            fixed("sudo systemctl start nvidia-fabricmanager"),
        ),
    ),
    fix="Stop the Fabric Manager, reset all GPUs, and start it again; or set NCCL_NVLS_ENABLE=0.",
    doc="""NCCL can allocate NVLink SHARP's multicast memory on machines with NVSwitch.

    The Fabric Manager prepares the switches when it starts, and each GPU registers with it once. If it is restarted
    without a reset of the GPUs, links and peer access still work, but multicast groups can no longer be made.
    """,
    rank=33,
    explained_by=("fabric-manager-not-running", "fabric-manager-version-mismatch"),
    references=threads("NVIDIA/nccl#1488", "NVIDIA/nccl-tests#183"),
)
_MIXED = '{"spec": {"mig": {"strategy": "mixed"}}}'

told_by_program(
    Fault(
        "kubernetes-mig-layout",
        "The MIG instances on a Kubernetes node do not match the device plugin's MIG strategy",
        impact="The device plugin stops or labels the node as invalid, so that pods are given no GPU.",
        remedy="The strategy `single` needs MIG on all GPUs of the node, cut into instances of one profile; `mixed` "
        "allows several profiles, and pods then request nvidia.com/mig-<profile>. To keep instances of several sizes, "
        "set the operator's strategy to mixed (kubectl patch; --set mig.strategy=mixed in its Helm values makes it "
        "last). To keep `single`, apply one profile to the whole node instead: label it "
        "nvidia.com/mig.config=all-<profile>, such as all-1g.10gb (drain the node first, because instances in use "
        "cannot be changed). The operator does not have to be reinstalled. The last command then shows the instances "
        "as resources of the nodes.",
        steps=(
            fixed("kubectl get nodes -L nvidia.com/mig.config,nvidia.com/mig.strategy"),
            run("kubectl", "patch", "clusterpolicies.nvidia.com/cluster-policy", "--type=merge", "-p", _MIXED),
            fixed("kubectl describe nodes"),
        ),
    ),
    doc="""The MIG instances on a node are laid out as the device plugin's strategy requires.

    With `single`, the plugin reports every instance as nvidia.com/gpu, so all must be alike; with `none`, it does not
    report any. Changing the strategy does not change the instances.
    """,
    rank=34,
    explained_by=("mig-enabled-no-instance",),
    references=threads("NVIDIA/gpu-operator#460", "NVIDIA/k8s-device-plugin#253"),
)
told_by_program(
    Fault(
        "mig-change-refused",
        "MIG mode or MIG instances cannot be changed in their current state",
        impact="The GPU keeps its old mode and instances.",
        remedy=_freed,
    ),
    fix="Stop what uses the GPU, delete its instances, change the mode, and reset the GPU.",
    doc="""MIG mode and MIG instances are changed while nothing uses the GPU.

    Enabling or disabling MIG resets the GPU (from Hopper on it does not have to), and instances in use are not deleted.
    """,
    rank=35,
    explained_by=("gpu-fallen-off-bus",),
    references=threads("NVIDIA/gpu-operator#603", "NVIDIA/k8s-device-plugin#229"),
)
told_by_program(
    Fault(
        _UNKNOWN,
        "Slurm does not give the job the GPUs that it asks for",
        impact="The job is refused before it starts; the GPUs and the driver are not involved.",
        remedy=_as_slurm_has_them,
    ),
    fix="Ask for the GPU type and number that sinfo shows for the partition.",
    doc="""A job asks for GPUs that its partition has, by the name that Slurm gives them.

    Slurm knows only the GPUs in slurm.conf and gres.conf; a wrong type, too many per node, or a partition without GPUs
    is refused with the same message.
    """,
    rank=36,
    explained_by=("gpu-count-mismatch",),
    references=threads("awslabs/awsome-distributed-ai#195", "ComputeCanada/puppet-magic_castle#361"),
)
told_by_program(
    Fault(
        "dcgm-not-reachable",
        "DCGM's host engine is not running, or cannot read the GPUs",
        impact="dcgmi, dcgm-exporter, and what is built on them show nothing; programs that compute are not affected.",
        remedy="Start the host engine, and read its log. If its library is missing, install datacenter-gpu-manager for "
        "the CUDA release of the driver. If only the profiling module fails, another program holds the counters (a "
        "second exporter, Nsight, a profiler), or the driver or cloud does not permit them: pause it, or remove the "
        "DCGM_FI_PROF fields from the exporter's list of metrics.",
        steps=(
            fixed("sudo systemctl enable --now nvidia-dcgm"),
            fixed("dcgmi discovery -l"),
            fixed("dcgmi profile --list"),
        ),
        status=Status.WARN,
    ),
    doc="""DCGM's host engine is running where dcgmi or an exporter connects to it.

    dcgmi talks to nv-hostengine on port 5555; the exporter starts one itself if its library can be loaded.
    """,
    rank=37,
    explained_by=(
        "driver-module-not-loaded",
        "driver-library-mismatch",
        "gpu-fallen-off-bus",
        "docker-no-nvidia-runtime",
        "profiling-counters-restricted",
    ),
    references=threads("NVIDIA/dcgm-exporter#537", "NVIDIA/DCGM#3"),
)
told_by_program(
    Fault(
        "operator-driver-image-missing",
        "The GPU operator's driver image does not exist for the node's system and driver version",
        impact="The driver pod stays in ImagePullBackOff, and the operator's other pods wait for it.",
        remedy=_driver_of_node,
    ),
    fix="Choose a driver version with an image for the node's system, or install the driver on the node.",
    doc="""The GPU operator's driver image exists for the system of every node.

    The operator makes the tag from the driver version and the system's ID, whether or not there is such an image.
    """,
    rank=38,
    references=threads("NVIDIA/gpu-operator#273", "NVIDIA/gpu-operator#647", "NVIDIA/gpu-operator#709"),
)
told_by_program(
    Fault(
        _MISLISTED,
        "Slurm's list of GPUs (gres.conf) is not valid on this node",
        impact="slurmd stops, or the node has no GPUs for jobs.",
        remedy=_listed_once,
    ),
    fix="List each GPU once: AutoDetect=nvml alone, or lines with their device files.",
    doc="""gres.conf names each GPU of the node once, with its device file or by AutoDetect.

    Duplicate records stop slurmd; a GPU without a file cannot be assigned to a job individually.
    """,
    rank=46,
    explained_by=("device-nodes-missing", "gpu-count-mismatch"),
    references=threads("ComputeCanada/puppet-magic_castle#27"),
)
told_by_program(
    Fault(
        "container-outside-job",
        "Docker's containers are not part of the Slurm job, so they see all GPUs of the node",
        impact="Containers take GPUs that belong to other jobs, which then run out of memory.",
        remedy="Docker's daemon starts containers outside the job's cgroup, and --gpus all means all of the node. Pass "
        "on what the job has: the first command does it by index, and only voluntarily. To enforce it, let jobs use "
        "Apptainer, rootless Podman, or enroot with pyxis, which stay inside the job, and take users out of the docker "
        "group.",
        steps=(
            fixed("printenv SLURM_JOB_GPUS"),
            fixed("docker run --rm --gpus device=0 IMAGE nvidia-smi -L"),
        ),
    ),
    fix="Use a container engine that runs inside the job, or name the job's GPUs in --gpus.",
    doc="""Containers that a job starts have only the GPUs of the job.

    Slurm limits GPUs by the cgroup of the job's processes. Docker's containers are children of its daemon instead.
    """,
    rank=47,
    references=threads("NVIDIA/nvidia-docker#1227", "jade-hpc-gpu/jade-hpc-gpu.github.io#13"),
)
told_by_program(
    Fault(
        "nccl-too-old-for-gpu",
        "This NCCL release does not support the GPU's generation",
        impact="Jobs on one GPU work; those on several stop in the first collective.",
        remedy="NCCL's kernels ask for more than this card has; those of a newer NCCL ask for less. No variable "
        "changes that. Use a newer container or PyTorch, which come with a newer NCCL, or replace only NCCL's package "
        "with a newer one of the same CUDA release (in a Python environment, the second command for CUDA 12); the "
        "first command shows which one PyTorch has.",
        steps=(
            fixed("python -c 'import torch; print(torch.cuda.nccl.version())'"),
            fixed("python -m pip install -U nvidia-nccl-cu12"),
        ),
    ),
    fix="Use a newer release of NCCL.",
    doc="""NCCL has kernels that fit the GPU.

    They are compiled for each generation, with its amount of shared memory. A release that is older than the card
    starts one that does not fit, and CUDA answers 'invalid argument'.
    """,
    rank=69,
    references=threads("NVIDIA/nccl#1637"),
)
