"""Errors that programs make themselves: the environment is not at fault, and reinstalling it fixes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import REQUIREMENT, SCRIPT, export, fixed, run
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Remedy, Status
from envkit.checks.engine.managers import managers
from envkit.checks.engine.messages import complained, named, seen
from envkit.checks.engine.references import threads
from envkit.checks.gpu.gpus import all_work
from envkit.checks.programs.half_precision import to_the_gpu
from envkit.checks.programs.process_remedies import more_memory, spawned
from envkit.checks.programs.told import told_by_program

if TYPE_CHECKING:
    from envkit.model import Environment
    from envkit.tables import Matrix

_OF_A_DESKTOP = frozenset(
    ("chrome", "chromium", "firefox", "firefox-bin", "Web Content", "Isolated Web Co", "code", "slack", "Xorg", "java")
    + ("gnome-shell", "plasmashell", "thunderbird", "electron", "node", "teams", "spotify", "snapd", "clamd")
)
_OF_A_LIMIT = ("memcg", "memory cgroup", "oomkilled")  # not the machine's memory, but what a job or pod may take


def _ended_by_its_limit(environment: Environment, matrix: Matrix) -> str:
    """Why a line of the log is of one job only: its own limit ended it, all GPUs work, and nobody complains."""
    messages = seen(environment, "process-out-of-memory")
    if complained(environment) or not all_work(environment, matrix):
        return ""
    if all(any(words in message.text.lower() for words in _OF_A_LIMIT) for message in messages):
        return "a job or a pod reached its own memory limit; the machine has more memory"
    killed = [message.values.get("program", "") for message in messages]
    return "the program that was killed uses no GPU for computing" if _OF_A_DESKTOP.issuperset(killed) else ""


def _smaller(environment: Environment, matrix: Matrix) -> Remedy:
    """What shows the cause: memory first, which TensorFlow reserves nearly all of before cuDNN asks for its own."""
    if seen(environment, "gpu-library-call-failed", "complaint-tf-handle"):
        return Remedy(
            "TensorFlow reserves nearly all of the GPU's memory when it starts, so none is left for cuDNN: have it "
            "allocate memory as needed, and stop other programs that use the GPU (nvidia-smi lists them). If it "
            "fails in the same way on an idle GPU, the loaded cuDNN is not the one that TensorFlow was built for.",
            (export("TF_FORCE_GPU_ALLOW_GROWTH", "true"), fixed("nvidia-smi")),
        )
    return Remedy(
        "Most often the GPU's memory is full: watch nvidia-smi while it runs, and try a batch of one. If that fails "
        "too, run it with synchronous kernel launches, which shows the first error. Then compare driver, CUDA, and "
        "cuDNN: the output of collect_env shows whether they match.",
        (fixed("nvidia-smi"), *_ONE_BY_ONE, fixed("python -m torch.utils.collect_env")),
    )


_HALF = (
    "Run the model in float16: --dtype half for vLLM (in a script, LLM(..., dtype='half')), fp16 instead of bf16 for a "
    "trainer, torch_dtype=torch.float16 for a pipeline. FlashAttention 2 has the same requirement: choose another "
    "attention backend (PyTorch's own, sdpa, or xformers)."
)
_HALF_OF_LLAMA_FACTORY = (
    "Run the model in float16. LLaMA-Factory has its own name for that, a line in the YAML file: vllm_dtype: float16 "
    "(releases that reject it: infer_dtype: float16). It passes the value on to vLLM; dtype and --dtype are not "
    "accepted. For training: fp16: true in place of bf16: true."
)


def _in_half_precision(environment: Environment, matrix: Matrix) -> Remedy:
    """In the words of the program that passes the option on."""
    return Remedy(_HALF_OF_LLAMA_FACTORY if "llamafactory" in managers(environment) else _HALF)


_RANKS = "ranks-share-a-gpu"
_TOLD_APART = (
    "If these two ranks are on different machines, NCCL takes the machines for one, because they have the same host "
    "name and boot ID, as copies of one container can: set NCCL_HOSTID to a different value on each."
)


def _one_each(environment: Environment, matrix: Matrix) -> Remedy:
    """By who hands out the GPUs: Ray, or the command that starts the ranks."""
    if seen(environment, _RANKS, "detail-ray"):
        return Remedy(
            "Ray hands out the GPUs, and older releases of it and of the programs on it gave two workers the same one: "
            "update both, Ray to the same release on every node, and start the cluster again (ray stop ends what runs "
            "in it). Let each worker ask for a GPU of its own (num_gpus=1), with no more workers than GPUs, and leave "
            "CUDA_VISIBLE_DEVICES to Ray: do not set it, and unset RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES if the "
            f"program does not need it. {_TOLD_APART}",
            (run("python", "-m", "pip", "install", "--upgrade", REQUIREMENT("ray")), fixed("ray status")),
        )
    if tasks := named(seen(environment, _RANKS, "detail-launcher-per-task"), "tasks"):
        return Remedy(
            f"srun starts the launcher {tasks} times on every node, and each launcher starts a process for every GPU: "
            "let Slurm start one per node (--ntasks-per-node=1; raise --cpus-per-task so that the node's cores stay "
            "the same), which the first command changes in the job script (SCRIPT). The launcher's own count stays the "
            "number of all GPUs. --machine_rank $SLURM_NODEID has to be expanded on each node, so quote the whole "
            "line: srun bash -c '... --machine_rank $SLURM_NODEID ...'. The second command shows the new line.",
            (
                run("sed", "-i.bak", "-E", "s/--ntasks-per-node=[0-9]+/--ntasks-per-node=1/", SCRIPT),
                run("grep", "-n", "ntasks-per-node", SCRIPT),
            ),
        )
    return Remedy(
        "Give each process its own GPU: start it with torchrun, and call "
        "torch.cuda.set_device(int(os.environ['LOCAL_RANK'])) first. Start no more processes than there are GPUs. "
        f"{_TOLD_APART}",
        (fixed("nvidia-smi -L"), run("torchrun", "--nproc-per-node=gpu", SCRIPT)),
    )


_NOT_THE_MACHINE = "The program stops; the driver, CUDA, and the framework are fine."
_ONE_BY_ONE = (export("CUDA_LAUNCH_BLOCKING", "1"), run("python", SCRIPT))

_ASSERTION = "gpu-assertion-failed"
_AGAIN = "Run it again with synchronous kernel launches: the traceback then points to the failing line. "
_LABELS = (
    "A label is not between 0 and the number of classes minus 1. {told}Print the smallest and the largest label of the "
    "data, and set the number of classes in the model's configuration to what the data has, or number the labels from "
    "0 without gaps. Releases of some detectors count the background too (MMDetection 1: one more than the "
    "categories). Masked labels need the loss function's ignore_index. After this error, only a restart of the "
    "program, or of the notebook's kernel, brings CUDA back. If that is not it: "
)
_TOLD_CLASSES = "The configuration says num_classes={classes}: the data has to have no more. "
_TOLD_YAML = (
    "With nc: {classes}, the first number of each line in the label files has to be less than {classes}: a single "
    "larger number causes this error. Delete the label caches (*.cache) after a correction. "
)
_FROM_ONE = (
    "The labels are numbered from 1 to {last}, and the loss takes 0 to {most}: the last class is out of range, as is "
    "the first where a list of weights or names begins at 0. Subtract 1 from every label where the data is read (and "
    "add it again where results are shown), and set the number of classes to {last} in each place that has it: search "
    "the code for the number of the original data set, which projects write into losses, anchors, evaluation, and the "
    "last layer. After this error, only a restart of the program brings CUDA back. If it stays, run it with "
    "synchronous kernel launches (below): the traceback then points to the line."
)
_EMBEDDING = (
    "An ID is as large as the embedding's table (num_embeddings), or larger, or it is negative. Print the largest ID "
    "of the data just before that layer, and make the table larger than it (nn.Embedding(largest + 1, ...)), or "
    "renumber the IDs without gaps; the number of different IDs is not enough if the IDs have gaps. For a language "
    "model: resize_token_embeddings(len(tokenizer)), and no positions beyond the model's longest input. After this "
    "error, only a restart of the program, or of the notebook's kernel, brings CUDA back. If that is not it: "
)


def _in_range(environment: Environment, matrix: Matrix) -> Remedy:
    """By what the assertion compares."""
    if last := named(seen(environment, _ASSERTION, "detail-from-one"), "last"):
        return Remedy(_FROM_ONE.format(last=last, most=int(last) - 1), _ONE_BY_ONE)
    yaml = seen(environment, _ASSERTION, "detail-yaml")
    if yaml or seen(environment, _ASSERTION, "detail-labels"):
        classes = named(yaml or seen(environment, _ASSERTION, "detail-classes"), "classes")
        told = (_TOLD_YAML if yaml else _TOLD_CLASSES).format(classes=classes) if classes else ""
        return Remedy(f"{_LABELS.format(told=told)}{_AGAIN[0].lower()}{_AGAIN[1:].strip()}", _ONE_BY_ONE)
    if seen(environment, _ASSERTION, "detail-embedding"):
        return Remedy(f"{_EMBEDDING}{_AGAIN[0].lower()}{_AGAIN[1:].strip()}", _ONE_BY_ONE)
    return Remedy(
        f"{_AGAIN}Usually, a label is greater than or equal to the number of classes, or a token ID is outside the "
        "vocabulary.",
        _ONE_BY_ONE,
    )


told_by_program(
    Fault(
        _ASSERTION,
        "The program used an index or a label that is out of range (device-side assert)",
        impact=_NOT_THE_MACHINE,
        remedy=_in_range,
        status=Status.WARN,
    ),
    fix="Find the index or the label that is out of range, and change the data or the size of the layer.",
    doc="""The indexes and labels passed to a kernel are within the bounds that it asserts.

    The GPU reports a failed assertion late, at some other call, and every call fails until the program is restarted.
    """,
    rank=1,
    references=threads("pytorch/pytorch#25537", "pytorch/pytorch#16795"),
)
told_by_program(
    Fault(
        "gpu-illegal-memory-access",
        "A GPU kernel made an illegal memory access",
        impact="The program stops, and every later CUDA call in it fails.",
        remedy="Run it again with synchronous kernel launches to see which kernel it is. In an extension (attention, "
        "quantization, convolution) it is a bug in that package; update it. If unrelated programs fail the same way, "
        "look for Xid lines in the kernel log; faulty memory or overclocking may be the cause.",
        steps=(*_ONE_BY_ONE, fixed("sudo dmesg")),
        status=Status.WARN,
    ),
    doc="""Kernels access only memory that was allocated for them.

    A wrong address ends the program's CUDA context; the driver may log Xid 13 or 31, which also points to the program.
    """,
    rank=2,
    explained_by=("cuda-broken-after-suspend",),
    references=threads("pytorch/pytorch#42077"),
)
told_by_program(
    Fault(
        "tensor-shapes-differ",
        "The shapes of two tensors do not match for this operation",
        impact=_NOT_THE_MACHINE,
        remedy="Print the shapes before the line that the traceback points to, and compare them with the layer; or "
        "compare the checkpoint with the model that it was made for.",
        status=Status.WARN,
    ),
    doc="""The tensors of an operation have matching shapes.

    The problem is in the data or the model; reinstalling anything does not help.
    """,
    rank=11,
    references=threads("pytorch/pytorch#66783"),
)
told_by_program(
    Fault(
        "tensors-on-two-devices",
        "The program mixes tensors on the CPU and the GPU, or on two GPUs",
        impact=_NOT_THE_MACHINE,
        remedy="Move the model and all of its inputs to one device with .to(device). Start with the tensors in the "
        "last line of the traceback.",
        status=Status.WARN,
    ),
    doc="""All tensors of an operation are on the same device.

    Usually the model is on the GPU and an input on the CPU; the framework reports it and stops.
    """,
    rank=3,
    references=threads("BenMSK/trajectory_prediction_TraPHic#1"),
)
told_by_program(
    Fault(
        "half-precision-on-cpu",
        "The model runs in half precision on the CPU",
        impact="The CPU has no such kernel, and the program stops.",
        remedy=to_the_gpu,
        status=Status.WARN,
    ),
    fix="Find out why it runs on the CPU: torch.cuda.is_available() must be True, and the model must be moved to the "
    "GPU. To run on the CPU on purpose, load it in float32.",
    doc="""A model in half precision runs on a GPU.

    Many CPU kernels exist only for float32 and bfloat16.
    """,
    rank=4,
    references=threads("pytorch/pytorch#52291"),
)
told_by_program(
    Fault(
        "cuda-used-before-fork",
        "The program used CUDA before it forked its worker processes",
        impact="The workers cannot use the GPU.",
        remedy=spawned,
        status=Status.WARN,
    ),
    fix="Start the workers with spawn, or use CUDA in the main process only.",
    doc="""A process that has used CUDA starts its workers with spawn.

    A forked child inherits a CUDA context that it cannot use.
    """,
    rank=5,
    references=threads("pytorch/pytorch#40403"),
)
told_by_program(
    Fault(
        _RANKS,
        "Two ranks of one job use the same GPU",
        impact="NCCL stops with an error when the job starts.",
        remedy=_one_each,
    ),
    fix="Give each process its own GPU; on several machines, also let NCCL tell them apart.",
    doc="""Each rank on a machine has its own GPU.

    NCCL's message names the two ranks and the device they share.
    """,
    rank=6,
    references=threads("NVIDIA/nccl#1241"),
)
told_by_program(
    Fault(
        "collective-timed-out",
        "A collective operation timed out: one rank waited for the others",
        impact="The job ends. Which rank was late, and why, is earlier in the logs.",
        remedy=(
            "Find the first error in any rank's log: a rank that died or took another code path leaves the others "
            "waiting. If all ranks hang at the first step, run again with NCCL's log turned on (NCCL_DEBUG=INFO)."
        ),
        steps=(export("NCCL_DEBUG", "INFO"), export("TORCH_NCCL_TRACE_BUFFER_SIZE", "2000")),
        status=Status.WARN,
    ),
    doc="""All ranks reach each collective operation within the time limit.

    The watchdog names an operation that did not finish; that is a symptom, not the cause.
    """,
    rank=7,
    symptom=True,
    references=threads("pytorch/pytorch#118369", "NVIDIA/nccl#1609"),
)
told_by_program(
    Fault(
        "nccl-error-unnamed",
        "NCCL failed, and the message does not say why",
        impact="Programs on several GPUs do not start.",
        remedy="Run it again with NCCL's log turned on (NCCL_DEBUG=INFO); its WARN line shows the cause.",
        steps=(export("NCCL_DEBUG", "INFO"), run("torchrun", "--nproc-per-node=gpu", SCRIPT)),
        status=Status.WARN,
    ),
    doc="""NCCL starts, or says why it does not.

    PyTorch prints only the kind of error (system, CUDA, internal); the cause is in NCCL's own log.
    """,
    rank=8,
    references=threads("NVIDIA/nccl#207", "NVIDIA/nccl#473"),
)
told_by_program(
    Fault(
        "process-out-of-memory",
        "The system killed a process because it ran out of memory",
        impact="The program stops. This is the machine's memory, not the GPU's.",
        remedy=more_memory,
        status=Status.WARN,
    ),
    fix="Load less at a time, or give the program more memory.",
    past=_ended_by_its_limit,
    doc="""A program's processes fit in the memory of the machine, or of their container.

    Otherwise, the kernel kills one with signal 9, and the only sign is "Killed" or status 137.
    """,
    rank=9,
    references=threads("pytorch/pytorch#8976"),
)
told_by_program(
    Fault(
        "gpu-library-call-failed",
        "A cuDNN or cuBLAS call failed, and the message does not say why",
        impact="The program stops at that operation.",
        remedy=_smaller,
        status=Status.WARN,
    ),
    fix="Free the GPU's memory, then find the first error, then compare driver, CUDA, and cuDNN.",
    doc="""Calls to the GPU libraries succeed, or say why they do not.

    Full memory, an earlier error in another kernel, and an incompatible library all end in the same message.
    """,
    rank=10,
    references=threads("pytorch/pytorch#16795"),
)
told_by_program(
    Fault(
        "bfloat16-not-on-gpu",
        "The model runs in bfloat16, which this GPU does not support",
        impact="The program stops. No other build, driver, or CUDA changes that.",
        remedy=_in_half_precision,
        status=Status.WARN,
    ),
    fix="Run the model in float16, with the option of the program that loads it.",
    doc="""A model in bfloat16 runs on a GPU that supports it.

    bfloat16 needs Ampere or newer; older GPUs use float16.
    """,
    rank=11,
    references=threads("vllm-project/vllm#1157"),
)
told_by_program(
    Fault(
        "half-precision-nan",
        "The model computes NaN in half precision",
        impact="Images are black or green, or the loss is NaN. Driver and CUDA work.",
        remedy="Compute in float32: for the Stable Diffusion web UI add --no-half-vae, and if that is not enough "
        "--no-half (or --upcast-sampling, which needs less memory) to COMMANDLINE_ARGS; for ComfyUI --force-fp32 (or "
        "--fp32-vae); elsewhere, float32, or bfloat16 on Ampere or newer. On the GTX 16 series it is a known "
        "weakness of half-precision convolutions; on other cards often one model's VAE.",
        status=Status.WARN,
    ),
    doc="""A model's results in half precision are numbers.

    float16 has a small range; cards of the GTX 16 series also get NaN from convolutions that are right elsewhere.
    """,
    rank=12,
    references=threads("bmaltais/kohya_ss#435"),
)
told_by_program(
    Fault(
        "vllm-memory-not-pinned",
        "vLLM has no pinned memory in WSL, which its newer model runner needs",
        impact="The engine stops when it starts. The driver and the container have the GPU.",
        remedy="Under WSL, vLLM turns pinned memory off, and unified addressing (UVA) with it. Turn it on with "
        "VLLM_WSL2_ENABLE_PIN_MEMORY=1, or use the older model runner with VLLM_USE_V2_MODEL_RUNNER=0. For a "
        "container, add it to your docker run, before the image: docker run -e VLLM_WSL2_ENABLE_PIN_MEMORY=1 ... (in a "
        "Compose file, under environment:); outside of one, run it in the WSL shell that starts vLLM.",
        steps=(export("VLLM_WSL2_ENABLE_PIN_MEMORY", "1"),),
    ),
    doc="""vLLM can pin memory where its model runner needs unified addressing.

    vLLM takes pinned memory for unavailable in WSL.
    """,
    rank=13,
    references=threads("vllm-project/vllm#47292"),
)
