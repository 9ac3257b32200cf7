"""What a machine at work outweighs: where nobody tells of trouble and the GPU is used, a remark of a log is none.

A program that printed a warning went on to compute; somebody looked for a thing that nothing here needs; an event is
older than the last look that found the GPU at work; Kubernetes tried again and the pod runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from envkit._startup.regex import regex
from envkit.ingest.answers import PROMPT, command_above, command_index
from envkit.ingest.compilers import nvcc_aside
from envkit.ingest.computed import breaks_apart, computed, looks, used
from envkit.ingest.dates import days_between, look_date
from envkit.ingest.later_answers import (
    answered_later,
    answers_of_driver,
    full_node,
    given_to_guest,
    of_another_machine,
    settles,
)
from envkit.ingest.links import fast_elsewhere, filled_by_port, in_a_guest
from envkit.ingest.meant import asks_for_help, for_cpu
from envkit.ingest.sessions import ENGINES, asked_by, in_another_way, machine_of, program_of
from envkit.ingest.tested import in_passed_tests
from envkit.ingest.text import Text
from envkit.ingest.trouble import at_work, prose, troubled

RESULT = regex(
    r"\d ?(?:it/s|s/it|ms/step|s/step|tok(?:ens?)?/s|img/s|images/s|samples/s|steps/s|fps|t/s|TFLOPS?|TFLOP/s)\b"
    r"|\b\d[\d.]{0,8} ?ms$|\b(?:loss|acc(?:uracy)?|mAP|auc)['\x22]?(?: |: ?|=| = )\d"
    r"|\b(?:[Ee]poch|iter|step)[ :]{1,2}\d{1,7}\b"
    r"|\bPrompt executed in \d|\bstartup complete\b|\bRunning on (?:local URL|http)|\b[Tt]raining (?:is )?finished\b"
    r"|\| READY\b|\bREADY *\||\bReady$|\bTest PASSED\b|Result = PASS\b|device='cuda:\d|\brunner started in \d"
)
_DEVICE = regex(
    r"\b(?:cuda|CUDA|gpu|GPU):\d\b|\bGPU available: True\b|\boffloaded [1-9]\d{0,3}/\d{1,4} layers to GPU\b"
    r"|\bplatform cuda\b|\bnccl==\d|\bGPU blocks: [1-9]|\bGPU KV cache size: [1-9]|\b(?:cuda|CUDA) graph"
    r"|\bDevice \d: NVIDIA\b|\blibrary=cuda\b|\bMetrics for GPU \d|\bNVIDIA (?:GeForce|RTX|[ABHLT]\d)\b|\bCudaDevice\("
)
ON_CPU = regex(
    r"\b[Dd]evice(?:: |=| )\"?cpu\b|\b(?:[Ff]alling|[Ff]alls?|[Ff]ell) back to (?:the )?CPU\b|\bGPU available: False\b"
    r"|\bCUDA available: False\b|\b[Uu]sing (?:the )?CPU\b|\b100% CPU\b|\bno (?:CUDA|GPU)\b|\boffloaded 0/"
)
_STOPS = regex(
    r"Error\b(?!s? ?[:=] ?0\b)|Traceback|\bException\b|\berror:|\bKilled\b|core dumped|\bAborted\b|\bFATAL\b"
    r"|\bnan\b(?! iterations)|\bfailed\b|\bXid\b"
)
_WARNING = regex(
    r"\b[A-Z]\w{0,24}Warning: |^┌ Warning: |\b(?:WARNING|WARN|level=warn(?:ing)?)\b|\[W[: ]|^W\d{4} |: W [\w/]"
)
_WITHOUT_GPU = regex(
    r"\b[Cc][Pp][Uu]\b|\b[Nn]o (?:accelerator|GPU|gpu|CUDA|cuda|device)|\b(?:Skipping registering|Cannot dlopen)\b"
    r"|\bCould not (?:load dynamic library|find cuda)|\bGPU will not be used\b"
)
_FAILS = regex(
    r"Traceback|\b[A-Z]\w{0,30}Error: |core dumped|\bKilled\b|\bFATAL\b|(?<![\w:] )\bFalse\b|\[ERROR\]"
    r"|\bnan\b(?! iterations)|\berror: "
)
_EVENT = regex(r"^\s{0,8}(?:\S{1,40} {1,20}){0,2}Warning {1,20}(?:Failed|Unhealthy|BackOff|Unexpected|Node)\w{0,40}\b")
_DAYS_OLD = regex(
    r"^\s{0,8}(?:Warning {1,20}\w{3,40} {1,24}\d{1,4}d(?:\d{1,2}h)? "
    r"|(?:\S{1,40} {1,20})?\d{1,4}d(?:\d{1,2}h)? {1,20}Warning )"
)
_IS_READY = regex(r"^\s{2,12}Ready: {1,12}True$")
_OBJECT = regex(r"\b(?:pod|job)s?[/ ](?P<name>[a-z0-9][\w.-]{2,80})")
_ALL_RUN = regex(r" (?P<up>\d{1,2})/(?P=up) {1,8}Running ")
_STATES = 8  # lines of a container's states
_STARTED = regex(r"\bNormal {1,20}(?:Started|Created|Scheduled|Pulled)\b")
_STATE = regex(
    r"\b(?:CrashLoopBackOff|ImagePullBackOff|ErrImagePull|Pending|ContainerCreating|RunContainerError"
    r"|CreateContainerError|UnexpectedAdmissionError|NotReady|Evicted|OOMKilled)\b"
)
_LASTING = frozenset(
    (
        *("acs-blocks-p2p", "bad-cuda-env-vars", "collective-timed-out", "container-loses-gpu"),
        *("cuda-broken-after-suspend", "cudnn-autotune-off", "device-order-confusion"),
        *("disk-full-at-install", "display-server-on-compute-gpu", "driver-module-crashed", "ecc-uncorrectable"),
        *("external-power-missing", "geforce-p2p-hang", "gpu-count-mismatch", "gpu-fallen-off-bus"),
        *("gpu-illegal-memory-access", "gpu-memory-held-by-lost-process", "gsp-timeout", "hw-power-brake"),
        *("inforom-corrupted", "iommu-translation-hang", "kubernetes-gpu-unhealthy", "memlock-too-low"),
        *("nccl-error-unnamed", "nccl-wrong-interface", "nvidia-smi-hangs"),
        *("nvlink-inactive", "pcie-gen-degraded", "pcie-link-errors", "pcie-width-degraded", "peermem-not-loaded"),
        *("persistence-off", "power-limit-lowered", "power-supply-overloaded", "process-out-of-memory"),
        *("profiling-counters-restricted", "resizable-bar-off", "rm-init-adapter-failed", "row-remap-failed"),
        *("row-remap-pending", "shm-too-small", "thermal-throttle", "unattended-upgrade-of-driver", "vgpu-unlicensed"),
        *("vm-gpu-unsupported-by-release", "xid-other"),
    )
)  # what slows or threatens a GPU that computes
_PROVOKED = ("gpu-illegal-memory-access", "gpu-memory-held-by-lost-process", "process-out-of-memory")  # by tests
_OTHER = regex(r"\b(?:other|second|another|next) (?:machine|box|node|server|PC|computer|laptop|host)\b")
_LOADING = "nvrm: loading"
_MODULE = regex(r"No module named '?(?P<name>\w{2,24})'?$", re.MULTILINE)
_NVCC = regex(r"\bnvcc\b")
_OF_NODES = regex(r"[#$>] ?(?:sinfo|scontrol show nodes?\b|pbsnodes|bhosts|lshosts|qhost)\b")  # of a whole cluster
_NODE_TOLD = regex(r"\b(?:drain\w{0,3}|xid|fall\w{0,3}|fell|down|offline|lost|dead)\b", re.IGNORECASE)
_RANK = regex(r"^(?P<host>[A-Za-z][\w.-]{0,60}):\d{2,9}:\d{2,9} \[\d\] NCCL INFO ", re.MULTILINE)
_NAME = regex(r"[\w.-]{2,60}")
_OF_ONE_LOOK = 3  # lines: the command, the traceback, and a remark
_DRIVER = ("driver-not-installed", "driver-module-not-loaded")
_ANSWER = regex(r"^GPU \d{1,2}: [^\n]{4,60} \(UUID: |\bDriver Version: \d{3}\.", re.MULTILINE)
_PIP = "which is incompatible"
_INSTALLS = regex(r"\b(?:pip3?|conda|mamba|uv pip|poetry) (?:un)?(?:install|remove|add|sync)\b")
_LONGEST = 400  # lines of one answer
_TRIES_LESS = regex(
    r"\b(?:trying|re-?try(?:ing)? with) (?:a )?(?:smaller |lower |half |reduced )?"
    r"(?:batch|chunk|tile|pool|size|resolution)"
    r"|[,;] trying (?!(?:to|(?:the )?CPU)\b)\w|\bswitching to (?:out-of-core|tiled|a smaller)\b"
    r"|\busing (?:a )?smaller\b|(?:\.{2,3}|[:-]) ?ok(?:ay)?[.!]?$|\bre-?trying[.)]{0,3}$",
    re.IGNORECASE,
)  # a search for the largest one, or for what fits
_DETAIL = "detail-"  # what a remedy needs
_BLIND = ("framework-sees-no-gpu", "cuda-visible-devices-empty", "tf-finds-no-driver", "uvm-module-not-loaded")
_HIDES = regex(r"\bCUDA_VISIBLE_DEVICES=(?:['\x22]{2}|['\x22]?-1['\x22]?|(?= )) ?(?=[\w./])")
_RAISED = regex(r"(?:Runtime|Assertion)Error: ")  # what ends a program that was to do its work
_STILL_ON_GPU = regex(
    r"\b[Ff]all(?:s|ing)? ?back to (?:the )?(?:CUDA|cuda|native GPU|PyTorch|torch|SDPA|sdpa|Triton|eager|OpenCL|cuBLAS)"
)
_NEAR = 3  # lines
_OLD = 1  # days
_PEERMEM, _NETWORK = "peermem-not-loaded", "nccl-wrong-interface"
_NO_PEERMEM = regex(r"\bNVIDIA (?:GB10|Thor|Orin)\b")  # which share the memory of the machine
_COMPLETE = " - Init COMPLETE"
_OF_LINKS = ("pcie-width-degraded", "pcie-gen-degraded")
_LINKS = {"pcie-width-degraded/complaint-lspci": filled_by_port, "pcie-gen-degraded/complaint-lspci": fast_elsewhere}


def outweighed(text: Text, signature: str, offset: int) -> bool:
    """Whether a message of a check at `offset` is no trouble on a machine that works."""
    check, _, variant = signature.partition("/")
    if nvcc_aside(text, signature, offset) or (check == _PEERMEM and _NO_PEERMEM.search(text.whole)):
        return True
    if check == _NETWORK and not troubled(text) and _connected(text, offset):
        return True
    if _OF_NODES.search(asked_by(text, offset)) and (_not_of_nodes(text) or _of_idle_node(text, offset)):
        return True
    lasting = check in _LASTING or variant.startswith(_DETAIL)
    if is_over(text, offset) or (signature in _LINKS and _LINKS[signature](text, offset)):
        return True
    if (check in _OF_LINKS and not troubled(text) and in_a_guest(text)) or fell_back(text, offset):
        return True
    if given_to_guest(text, signature, offset) or full_node(text, signature) or _on_purpose(text, signature, offset):
        return True
    if lasting or troubled(text, _own_lines(text, signature, offset)) or _OTHER.search(text.whole, offset):
        return False
    if answered_later(text, signature, offset) or _from_container(text, signature, offset):
        return True
    if of_another_machine(text, signature, offset) or _of_tests(text, signature, offset):
        return True
    return harmless(text, offset) or (signature.startswith(_BLIND) and _hides(text, offset))


def _on_purpose(text: Text, signature: str, offset: int) -> bool:
    """Whether a program looked for the largest size that fits, a test that passed filled the memory, or the machine
    is to have no GPU.
    """
    if signature.startswith(_BLIND) and for_cpu(text):
        return True
    return made_do(text, offset) or (signature.startswith(_PROVOKED) and in_passed_tests(text, offset))


def _of_tests(text: Text, signature: str, offset: int) -> bool:
    """Whether a test provoked it, and passed: tests that need a GPU are skipped where none is found."""
    return not (settles(signature) or signature.startswith(_BLIND)) and in_passed_tests(text, offset)


def fell_back(text: Text, offset: int) -> bool:
    """Whether the program says just below that it took another way on the GPU, where nobody tells of trouble."""
    index = text.index(offset)
    if not any(map(_STILL_ON_GPU.search, text.lines[index : index + _NEAR])) or troubled(text):
        return False
    return not any(map(_FAILS.search, text.lines[index : _answer(text, index).stop]))


def made_do(text: Text, offset: int) -> bool:
    """Whether the line says itself that the program went on with less, where nobody tells of trouble."""
    return _tries_less(text.line_at(offset)) and not troubled(text)


@lru_cache(maxsize=8)
def _tries_less(line: str) -> bool:
    """Whether these words are on a line; many messages can be on one."""
    return _TRIES_LESS.search(line) is not None


def _connected(text: Text, offset: int) -> bool:
    """Whether NCCL went on to connect all ranks, and the job computed after that."""
    connected = text.whole.find(_COMPLETE, offset)
    return 0 <= connected < used(text)


def _own_lines(text: Text, signature: str, offset: int) -> tuple[str, ...]:
    """The lines of a message that a program printed, which may read as if a person had written them."""
    index = text.index(offset)
    return () if "/told-" in signature or index == 0 else tuple(text.lines[index : index + 2])


def hidden_by_command(text: Text, offset: int) -> bool:
    """Whether the command that printed it hid the GPU from its program, where nobody tells of trouble."""
    return not troubled(text) and _hides(text, offset)


def _hides(text: Text, offset: int) -> bool:
    """Whether the command itself gave its program no GPU: it is to run on the CPU."""
    command = asked_by(text, offset)
    stopped = _RAISED.match(text.line_at(offset)) is not None and ".py" in command
    return not stopped and _HIDES.search(command) is not None


def is_over(text: Text, offset: int) -> bool:
    """Whether what a log tells at `offset` is of the past on a machine that works."""
    return not troubled(text) and (_event_is_over(text, offset) or (at_work(text) and _long_ago(text, offset)))


def harmless(text: Text, offset: int) -> bool:
    """Whether what was said at `offset` hindered nobody, where nobody tells of trouble."""
    if troubled(text):
        return False
    if _went_on(text, offset) or _in_passing(text, offset):
        return True
    return at_work(text) and (_only_looked(text, offset) or _of_pip(text, offset) or _only_warned(text, offset))


def _not_of_nodes(text: Text) -> bool:
    """Whether the machine at hand has a driver that answers, and nobody writes of a node that is out of service."""
    return bool(answers_of_driver(text)) and not any(map(_NODE_TOLD.search, prose(text)))


def _of_idle_node(text: Text, offset: int) -> bool:
    """Whether the line is of a node that is none of those whose job computed later."""
    at_work_there = {match["host"] for match in text.matches(_RANK, " NCCL INFO ", "on host ")}
    row = _NAME.findall(text.line_at(offset))
    return (
        bool(at_work_there) and used(text) > offset and not at_work_there.intersection(row) and not asks_for_help(text)
    )


def _only_warned(text: Text, offset: int) -> bool:
    """Whether it is a warning, and nothing fails below it, or below the results to which it went on."""
    index = text.index(offset)
    lines = text.lines[max(index - 1, 0) : index + 1]
    if not any(map(_WARNING.search, lines)) or any(map(_WITHOUT_GPU.search, lines)):
        return False
    return _FAILS.search(text.whole, max(offset + len(text.line_at(offset)), computed(text))) is None


def _from_container(text: Text, signature: str, offset: int) -> bool:
    """Whether nvidia-smi is only not on the host, and answers in a container later: the driver is there."""
    command = asked_by(text, offset)
    if not signature.startswith(_DRIVER) or not command or machine_of(command) in ENGINES:
        return False
    answers = text.matches(_ANSWER, "GPU ", "Driver Version:")
    return any(
        match.start() > offset and machine_of(command_above(text, match.start())) in ENGINES for match in answers
    )


def _only_looked(text: Text, offset: int) -> bool:
    """Whether the command at work only asked whether a thing is there which nothing here needs.

    Before the GPU was used on the same machine, and nothing was repaired in between, that is any thing; after it, the
    compiler, or a module that another Python or no program here needs.
    """
    command = asked_by(text, offset)
    if not command or program_of(command) or not looks(command):
        return False
    last = used(text)
    if last > offset:
        later = command_above(text, last)
        same = machine_of(command) == machine_of(later)
        return same and not in_another_way(text, offset, last) and not breaks_apart(text, offset, later)
    lines = _answer(text, text.index(offset))
    answer = "\n".join(text.lines[number] for number in lines)
    if module := _MODULE.search(answer):
        return last >= 0 or len(text.lines_with(module["name"])) <= _OF_ONE_LOOK
    return _NVCC.search(answer) is not None


def _in_passing(text: Text, offset: int) -> bool:
    """Whether a command between others asked for a module of which the text says nothing else, and a driver answers."""
    command = asked_by(text, offset)
    if not command or program_of(command) or not looks(command) or machine_of(command) in ENGINES:
        return False
    lines = _answer(text, text.index(offset))
    module = _MODULE.search("\n".join(text.lines[number] for number in lines))
    asked_on = lines.stop < len(text.lines) and PROMPT.match(text.lines[lines.stop]) is not None
    return (
        bool(answers_of_driver(text))
        and module is not None
        and asked_on
        and len(text.lines_with(module["name"])) <= _OF_ONE_LOOK
    )


def _went_on(text: Text, offset: int) -> bool:
    """Whether the program that said it went on to results on a GPU, and nothing failed after them."""
    index = text.index(offset)
    lines = _answer(text, index)
    results = [number for number in lines if number > index and RESULT.search(text.lines[number])]
    if not results or not any(_DEVICE.search(text.lines[number]) for number in lines):
        return False
    if any(ON_CPU.search(text.lines[number]) for number in lines):
        return False
    return not any(_STOPS.search(text.lines[number]) for number in range(results[0], lines.stop))


def _answer(text: Text, index: int) -> range:
    """The indices of the lines that the command above this one printed; of its code block where there is no command."""
    first = command_index(text, index) + 1 or _fence(text, range(index, max(index - _LONGEST, -1), -1)) + 1
    end = index + 1
    while end < min(index + _LONGEST, len(text.lines)):
        if PROMPT.match(text.lines[end]) or text.lines[end].startswith("```"):
            break
        end += 1
    return range(max(first, index - _LONGEST), end)


def _fence(text: Text, indices: range) -> int:
    return next((number for number in indices if text.lines[number].startswith("```")), -1)


def _long_ago(text: Text, offset: int) -> bool:
    """Whether a dated event is older than the last look, or than the driver's last start."""
    line = text.line_at(offset)
    looked = look_date(text)
    if looked is not None and (days := days_between(line, looked)) is not None and days > _OLD:
        return True
    return "NVRM: Xid" in line and text.flat.find(_LOADING, offset) >= 0


def _of_pip(text: Text, offset: int) -> bool:
    """Whether pip's resolver said it, nothing was installed after that, and the GPU was used then."""
    last = used(text)
    if _PIP not in text.line_at(offset) or last < offset:
        return False
    between = text.lines[text.index(offset) + 1 : text.index(last)][:_LONGEST]
    return not any(_INSTALLS.search(line) for line in between)


def _event_is_over(text: Text, offset: int) -> bool:
    """Whether an event is days old, or Kubernetes tried again: what it told of started, and no pod waits."""
    if _DAYS_OLD.match(text.line_at(offset)) or _runs_again(text, offset) or _started_since(text, offset):
        return True
    if not _EVENT.match(text.line_at(offset)):
        return False
    later = any(_STARTED.search(line) for line in _behind(text, offset))
    return later and _STATE.search(text.whole) is None


def _started_since(text: Text, offset: int) -> bool:
    """Whether it is an event of a pod that a list shows at work, or of which a later event says that it started."""
    line = text.line_at(offset)
    pod = _OBJECT.search(line) if _EVENT.match(line) else None
    if pod is None:
        return False
    return any(
        text.lines[index].startswith(pod["name"])
        and _ALL_RUN.search(text.lines[index])
        or (text.start(index) > offset and _STARTED.search(text.lines[index]))
        for index in text.lines_with(pod["name"])
    )


def _runs_again(text: Text, offset: int) -> bool:
    """Whether it is the last end of a container that runs and is ready."""
    index = text.index(offset)
    before, after = text.lines[max(index - 2, 0) : index], text.lines[index + 1 : index + _STATES]
    ended = any("Last State: " in line for line in before)
    return ended and any(_IS_READY.match(line) for line in after)


def _behind(text: Text, offset: int) -> Iterator[str]:
    first = text.index(offset) + 1
    yield from text.lines[first : first + _LONGEST]
