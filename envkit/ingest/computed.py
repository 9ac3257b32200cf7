"""Where a text shows that a program computed on an NVIDIA GPU: there the driver, its libraries and a build work.

What failed before that in the same session, while somebody only looked whether a thing is there, is settled by it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.kept import kept
from envkit.ingest.answers import PROMPT, command_above
from envkit.ingest.meant import asks_for_help
from envkit.ingest.sessions import (
    asked_by,
    goes_on_to,
    in_another_way,
    machine_of,
    program_of,
    python_of,
    reads_a_log,
    same_python,
)
from envkit.ingest.signs_of_work import signs
from envkit.ingest.text import Text
from envkit.ingest.typed import programs

_PRINTED = regex(
    r"(?<![\w.])tensor\((?:\[{1,4} {0,8})?-?(?:\d|True|False|nan|inf)[^\n]{0,300}?device='cuda:\d"
    r"|^(?:Result = PASS|Test PASSED|# Avg bus bandwidth {1,8}: {1,4}\d)"
    r"|\boffloaded [1-9]\d{0,3}/\d{1,4} layers to GPU\b|\[(?:Cuda|Gpu)Device\(id=\d"
    r"| {2}100% GPU {2}|/device:GPU:0 with \d{2,7} MB memory|msg=\"inference compute\"[^\n]{0,200}\blibrary=cuda"
    r"|\bLoading model weights took \d|^SUCCESS!$|\| CUDA {1,10}\|[^\n]{0,60}\d ± \d"
    r"|= [\d.]{3,12} billion interactions per second"
    r"|^SUM \w{4,60}_memcpy_\w{2,40} [1-9]|^\tGPU \d{1,2}: OK$|^Speed\.#\d{1,2}\.{2,12}: {1,12}[1-9]"
    r"|^\| GPU Memory {2,24}\| Pass - All|^&&&& PASSED TensorRT\.|\b[Gg]raph [Cc]aptur(?:ing finished in|e end)\b"
    r"|\bThe active GPU is \[\d|\bGPU KV cache size: [1-9]|\bGPU blocks: [1-9]"
    r"|^\[TRT\] {1,8}device GPU, initialized |\bTFLOPS_per_GPU: \d|^all validations are successful$"
    r"|^ {2,8}GPU acceleration is ACTIVE|\bPaddlePaddle works well on \d{1,3} GPU",
    re.MULTILINE,
)
_WORDS = (
    *("device='cuda:", "Result = PASS", "Test PASSED", "# Avg bus bandwidth", "layers to GPU", "CudaDevice(id="),
    *("GpuDevice(id=", "100% GPU", "/device:GPU:0 with ", "inference compute", "Loading model weights", "SUCCESS!"),
    *(
        "GPU acceleration is ACTIVE",
        "PaddlePaddle works well on",
        "| CUDA ",
        "billion interactions per second",
        "SUM ",
        ": OK",
        "Speed.#",
    ),
    *("| GPU Memory", "PASSED TensorRT", "raph captur", "raph Captur", "The active GPU is [", "GPU KV cache size: "),
    *("GPU blocks: ", "cuda graph end", "TFLOPS_per_GPU", "device GPU, initialized", "all validations are successful"),
)
_ON_GPU = regex(
    r"\.get_device_(?:name|properties|capability)\(|\.cuda\("
    r"|\bdevice ?= ?f?[\"']cuda|\.to\( ?f?[\"']cuda|\.device\([\"']cuda"
)
_FAILED = regex(
    r"Error\b|Traceback|Exception\b|\berror:|\bKilled\b|core dumped|Aborted|not found|\[CPU\]|^cpu$|\bnan\b"
)


_SPEAKS = regex(
    r"\b(?:GPUs?|gpus?|VRAM|vram|NCCL|nccl|TFLOPS?|NVIDIA|GeForce|Tesla|Quadro|TITAN)\b|\bTFLOP/s|\bRTX [\dAP]"
    r"|\bcuda:\d"
    r"|\b(?:using|on|device[:=]?|backend[:=]?) (?:CUDA|cuda)\b"
)  # what a program says that uses one
_NOT_ON_GPU = regex(
    r"\b(?:cpu|CPU|(?<![TIH]PU available: )False|ROCm|rocm|HIP|AMD|Radeon|gfx\d{3,4}|MPS|mps)\b"
    r"|\b[Nn]o (?:\w{1,10} )?(?:GPU|gpu|device|CUDA)"
    r"|\b(?:GPU|CUDA|gpu|cuda) (?:is )?not\b|\b(?:not|un)(?: |)available\b|\b[Cc]ould not\b|\b[Ff]ail(?:s|ed|ure)\b"
    r"|\b0 GPUs?\b|\bGPUs?[:=] ?0(?![.\d])|\binf\b|\bhangs?\b|\bslow\b|\^C"
    r"|\b[Xx]id\b|\bfatal\b|\bOOM\b|\bout of memory\b"
)
_RUNS = ("python", "torchrun", "accelerate launch", "deepspeed", ".py")
_SEES = regex(
    r"\bis_available\(\)[^\n]{0,120}\n(?:[^\n]{0,200}\n)?[^\n]{0,80}(?<![^\s:])True(?!\S)"
    r"(?![^\n]{0,60}\b(?:AMD|Radeon)\b)"
)
_COLLECTED = regex(r"^Is CUDA available: (?:True|Yes)$", re.MULTILINE)
_COLLECTS, _PYTHON = "collect_env", "python"
_FRAMEWORK = r"(?:torch|tensorflow|jax|cupy|onnxruntime|paddle|paddlepaddle|mxnet)"
_LOOKS = regex(
    r"(?:[#$>❯➜»λ!%:;&|('\x22] ?|➜ {1,2}\S{1,40} |\bdo )(?:sudo |time )?"
    r"(?:cat|less|more|head|tail|ls|which|type|command -v|whereis"
    r"|where(?:\.exe)?"
    r"|file|stat|find|grep|ps|id|env|printenv|echo|lsmod|modinfo|lspci|lsusb|ldconfig|dpkg|rpm|snap|flatpak|getent"
    r"|readlink"
    r"|apt(?:-cache)? (?:list|show|policy|search)|(?:uv )?pip3? (?:list|show|freeze|check|--version|-V)"
    r"|(?:conda|mamba) (?:list|info|env|search)|py -(?:0p?|-list)|nvcc(?: --version| -V|$)|nvidia-smi)\b"
    rf"|\bimport {_FRAMEWORK}\b|(?<=\s)-c ?['\x22]import \w{{2,24}}['\x22]|\bfind_spec\b"
    rf"|\bpip3? install(?: -{{1,2}}[\w=:/.-]{{1,80}}){{0,4}} [\x22']?{_FRAMEWORK}\b"
)  # what only asks whether a thing is there
_IMPORTS = regex(r"(?<=\s)-c ?['\x22]import (?P<name>\w{2,24})")
_CANNOT_LOAD = regex(r"^(?:\S{0,40}[\w.])?(?:ImportError|OSError): (?!No module)")
_REFUSED = "externally-managed-environment"  # pip, of whatever was to be installed with the wrong Python
_LATER = regex(r"Error\b|Traceback|\berror:|\b[Ff]ail(?:s|ed|ure)\b|\bFalse\b")
_LATER_WORDS = ("Error", "Traceback", "error:", "ail", "False")
_FOUND = regex(
    r"\bfound [1-9]\d? CUDA devices\b|^(?:\S{1,40} - \w{4} - INFO - )?Device: cuda:\d [A-Z]"
    r"|^Device \d: {1,3}\x22NVIDIA [^\n]{3,60}\x22 {1,3}\d{3,6}Mb, sm_\d"
    r"|\bDeviceAvailable: 1$|\bAdding visible gpu devices: \d"
    r"|PhysicalDevice\(name='/physical_device:GPU:\d|^ {2}\d: NVIDIA [^\n]{3,60} \(sm_\d{2,3}, [\d.]{1,8} GiB / ",
    re.MULTILINE,
)
_TRAINS = regex(
    r"^NCCL version \d[^\n]{0,40}\n(?:[^\n]{0,200}\n){0,3}?[^\n]{0,60}\bloss\b[^\n]{0,4}[ =:|'\x22]\d", re.MULTILINE
)
_FINDS = (
    "/physical_device:GPU:",
    ": NVIDIA ",
    " CUDA devices",
    "Device: cuda:",
    "Mb, sm_",
    "DeviceAvailable",
    "gpu devices: ",
)
_BUSY = regex(r"^\|? {1,6}\d{1,2}  {1,4}(?:N/A +N/A +)?\d{2,8} {1,8}(?:M\+)?C(?:\+G)? ", re.MULTILINE)
_LOADED = regex(r"(?:^| )(?:[1-9]\d?|100) ?%[ ,]", re.MULTILINE)
_LOAD = regex(r"(?<![\w.])(?:[5-9]|[1-9]\d|100) ?%(?:,|$)")
_JETSON = regex(r"\bGR3D_FREQ (?:[5-9]\d|100)%")
_QUERIED = regex(r"^ {8}Gpu {2,40}: (?:[5-9]|\d{2,3}) %$", re.MULTILINE)
_DRAWS = regex(r"\bOpenGL renderer string: (?:NVIDIA |GeForce |Quadro )|\bGL_RENDERER {0,6}[=:] {1,4}NVIDIA")
_VGPU = regex(
    r"^\| {2,8}\d{6,12} {1,4}(?:NVIDIA|GRID) [\w-]{2,20} {1,12}\| [^|\n]{3,40}\| {1,12}[1-9]\d?% ", re.MULTILINE
)
_MONITORED = regex(
    r"^# gpu {2,12}(?:sm {2,8}|pid {1,4}type {2,8}sm {2,8})[^\n]{0,120}\n# Idx[^\n]{0,120}\n"
    r" {2,8}\d{1,2} {2,12}(?:\d{2,9} {2,8}[CG](?:\+G)? {2,8})?(?:[5-9]|\d{2,3}) ",
    re.MULTILINE,
)  # nvidia-smi dmon and pmon
_MOST_GPUS = 17  # lines of a query's answer
_FRAMES = regex(r"^frame= {0,6}[1-9]\d{0,8} fps= {0,6}[1-9]|^Saved: '", re.MULTILINE)
_BY_GPU = regex(r"-hwaccel (?:cuda|nvdec|cuvid)\b|_nvenc\b|_cuvid\b|--cycles-device (?:CUDA|OPTIX)\b")
_REFUSES = regex(r"falling back|\bfail|[Ee]rror\b|\b[Cc]annot\b|\b[Nn]o capable|\bNo (?:device|NVENC)")
_TRUE = regex(r"(?<![^\s:(,])True(?![^\s),])")
_LONGEST = 60  # lines that a program prints
_LONGEST_TABLE = 100  # lines of nvidia-smi before the answer


@kept
def computed(text: Text) -> int:
    """The last place that shows a computation on a GPU, -1 where there is none."""
    return max(places(text), default=-1)


def places(text: Text) -> Iterator[int]:
    """Where programs print what they do only on a GPU, and where code that uses one is answered without an error."""
    for match in text.matches(_PRINTED, *_WORDS):
        yield match.start()
    for program in programs(text):
        answer = [line for line, _ in program.answer]
        if _ON_GPU.search(program.code) and any(map(str.strip, answer)) and not any(map(_FAILED.search, answer)):
            yield program.below
    yield from signs(text)
    yield from _of_runs(text)
    yield from _of_encoders(text)
    for match in text.matches(_TRAINS, "NCCL version ", lines=5):
        yield match.end()


@kept
def used(text: Text) -> int:
    """The last place that shows a computation on a GPU or a framework that found one, -1 where there is none."""
    seen = [match.end() for match in text.matches(_SEES, "is_available()", lines=3)]
    seen += [match.start() for match in text.matches(_FOUND, *_FINDS)]
    seen += _of_questions(text)
    seen += [
        match.start()
        for match in text.matches(_COLLECTED, "Is CUDA available:")
        if _COLLECTS in command_above(text, match.start())
    ]
    return max((computed(text), *seen))


def _of_encoders(text: Text) -> Iterator[int]:
    """Where ffmpeg and Blender count frames that a command had them make on the GPU, which neither refused."""
    for match in text.matches(_FRAMES, "frame=", "Saved: '"):
        command = command_above(text, match.start())
        first = text.whole.rfind(command, 0, match.start()) if command else -1
        if _BY_GPU.search(command) and not _REFUSES.search(text.whole, first + len(command), match.start()):
            yield match.start()


def busy(text: Text) -> bool:
    """Whether nvidia-smi lists a program that computes on a GPU that is loaded, or a query or tegrastats shows it."""
    if text.has(_QUERIED, "Gpu  "):
        return True
    if text.has(_MONITORED, "# gpu ", lines=3):
        return True
    if text.has(_JETSON, "GR3D_FREQ ") or text.has(_VGPU, "  NVIDIA ", "  GRID "):
        return True
    if text.has(_BUSY, " C ", " C+G ", " M+C "):
        return text.has(_LOADED, "%")
    return any(
        _LOAD.search(line)
        for index in text.lines_with("utilization.gpu")
        for line in text.lines[index + 1 : index + 1 + _MOST_GPUS]
    )


def draws(text: Text) -> bool:
    """Whether the driver draws with OpenGL, which tells nothing of CUDA."""
    return text.has(_DRAWS, "renderer string: ", "GL_RENDERER")


def _of_questions(text: Text) -> Iterator[int]:
    """Where the last line of an answer to a command that asks a framework for a GPU says that there is one."""
    for index in text.lines_with("is_available()"):
        if not PROMPT.match(text.lines[index]):
            continue
        last = index
        while last + 1 < min(index + _LONGEST_TABLE, len(text.lines)) and not PROMPT.match(text.lines[last + 1]):
            last += 1
        answer = [number for number in range(index + 1, last + 1) if text.lines[number].strip()]
        if answer and _TRUE.search(text.lines[answer[-1]]) and not _NOT_ON_GPU.search(text.lines[answer[-1]]):
            yield text.start(answer[-1])


def breaks_apart(text: Text, offset: int, later: str) -> bool:
    """Whether a package that is there cannot be loaded, and the later command of the same Python does without it."""
    command = asked_by(text, offset)
    loaded = _IMPORTS.search(command)
    if loaded is None or not _CANNOT_LOAD.search(text.line_at(offset)):
        return False
    return f"import {loaded['name']}" not in later and same_python(python_of(command), python_of(later))


def looks(command: str) -> bool:
    """Whether a command only asks whether a thing is there."""
    return _LOOKS.search(command) is not None


def last_failure(text: Text, offset: int) -> int:
    """Where words behind `offset` last tell of a failure, -1 where none do."""
    for index in reversed(text.lines_with(*_LATER_WORDS)):
        if found := deque(_LATER.finditer(text.lines[index]), 1):
            place = text.start(index) + found[0].start()
            return place if place >= offset else -1
    return -1


def settled(text: Text, offset: int) -> bool:
    """Whether a later line of the same session shows that what failed at `offset` does not matter.

    Somebody looked for a thing, or did it with one Python, and then used the GPU with another, on the next machine or
    in a container; a program or a service failed, and then it ran. It is not so for what the text asks about, for
    builds, for what fails in a container or in a log and works outside of it, and for what root or a variable fixes.
    """
    command = asked_by(text, offset)
    if not command or asks_for_help(text):
        return False
    if reads_a_log(command):
        return any(end > offset and asked_by(text, end) == command for end in places(text))
    program = program_of(command)
    looked = bool(program or _LOOKS.search(command) or _REFUSED in text.line_at(offset))
    for end in _of_runs(text) if program else (used(text),):
        later = command_above(text, end) if end > offset and not in_another_way(text, offset, end) else ""
        if later and breaks_apart(text, offset, later):
            return False
        if later and (not program or program_of(later) == program) and _outdone(command, later, looked):
            return True
        if later and looked and not program and goes_on_to(text, offset, end):
            return True
    return False


def _outdone(command: str, later: str, looked: bool) -> bool:
    """Whether the later command ran where the first did, which only looked or is of another Python."""
    if machine_of(command) != machine_of(later):
        return False
    return looked or (_PYTHON in command and not same_python(python_of(command), python_of(later)))


@kept
def _of_runs(text: Text) -> tuple[int, ...]:
    """The last lines of programs that speak of the GPU that they use, and of nothing that fails."""
    found = []
    for index in text.lines_with(*_RUNS):
        line = text.lines[index]
        if not (PROMPT.match(line) and program_of(line)) or reads_a_log(line):
            continue
        answer = []
        for below in text.lines[index + 1 : index + 1 + _LONGEST]:
            if PROMPT.match(below):
                break
            answer.append(below)
        said = "\n".join(answer)
        if _SPEAKS.search(said) and not (_FAILED.search(said) or _NOT_ON_GPU.search(said)):
            found.append(text.start(index + len(answer)))
    return tuple(found)
