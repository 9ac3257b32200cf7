"""Python sessions: `>>> torch.version.cuda` and the line that answers it, and one-line `python -c` prints.

>>> torch.__version__
'2.4.1+cu121'
>>> torch.cuda.get_arch_list()
['sm_50', 'sm_60', 'sm_70', 'sm_75', 'sm_80', 'sm_86', 'sm_90']
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from envkit._startup.regex import regex
from envkit.base.versions import ComputeCapability, Version
from envkit.ingest.clues import Clue, Fact, Framework, GpuClue, GpusIncomplete, Listing, Package, PythonFact, reader
from envkit.ingest.text import Text
from envkit.model import CallResult

_ASKED = regex(
    r"^(?:>>> |In \[\d{1,4}\]: |[^\n]{0,80}python3? -c [\"'](?:import \w+; ?)?"
    r"|[^\n]{0,80}python3? -c [\"']import torch(?:, ?\w+)*; ?)"
    r"(?:print ?\()?(?P<asked>[A-Za-z_][\w.]{2,60}(?:\((?:[\d'\"A-Za-z_]{0,20})\))?)\)?[\"']?\n"
    r"(?:Out ?\[\d{1,4}\]: )?(?P<answer>[^\n]{1,400})$",
    re.MULTILINE,
)
_PAIR = regex(
    r"python3? -c [\"']import torch; ?print\(torch\.__version__, ?torch\.version\.cuda"
    r"(?:, ?torch\.cuda\.is_available\(\))?\)[\"']\n(?P<version>\d[\w.+]{2,40}) (?P<cuda>\d{1,9}\.\d{1,9}|None)\b"
)
_SEVERAL = regex(
    r"^(?:>>> |In \[\d{1,4}\]: |[^\n]{0,80}python3? -c [\"'][^\n]{0,60}?)(?:print ?\()?"
    r"(?P<asked>[A-Za-z_][\w.]{2,60}(?:\(\d?\))?(?:, ?[A-Za-z_][\w.]{2,60}(?:\(\d?\))?){1,5})\)?[\"']?\n"
    r"(?:Out ?\[\d{1,4}\]: )?(?P<answer>[^\n]{3,400})$",
    re.MULTILINE,
)  # several values at once: a tuple, or words that print put a blank between
_BANNER = regex(
    r"^Python (?P<version>\d\.\d{1,2}\.\d{1,2})[\w+]{0,6} (?:\||\((?:main|default|tags|heads|v\d|remotes|\w{0,12}/?))",
    re.MULTILINE,
)
_FROM_FILE = regex(
    r"print\((?P<module>torch|tensorflow|jax|numpy)\.__version__, ?(?P=module)\.__file__\)[\"']\n"
    r"(?P<version>\d{1,4}\.\d[\w.+]{0,40}) (?P<path>/[^\s:]{3,200})/__init__\.py$",
    re.MULTILINE,
)
_LISTED = regex(r"(?P<list>\['sm_\d{2,3}[af]?'(?:, '(?:sm|compute)_\d{2,3}[af]?'){0,20}\])")
_PLAIN = regex(r"[$>] ?python3? (?:--version|-V)\nPython (?P<version>\d\.\d{1,2}(?:\.\d{1,2})?)$", re.MULTILINE)


@reader("Python session")
def read(text: Text) -> Iterator[Clue]:
    """Answers that tell a version, a build, an architecture list or a GPU."""
    for match in text.matches(_PAIR, "torch.version.cuda", lines=2):
        yield Package("torch", match["version"], match.start())
        yield from _torch_cuda(match["cuda"], match.start())
    for match in text.matches(_ASKED, ">>> ", "In [", "python -c", "python3 -c", lines=2):
        yield from told(match["asked"], match["answer"].strip(), match.start())
    yield from _several(text)
    for match in text.matches(_FROM_FILE, ".__file__)", lines=2):
        yield Package(match["module"], match["version"], match.start(), path=match["path"])
    if text.holds("torch.cuda.get_arch_list()"):
        for match in text.matches(_LISTED, "['sm_"):  # whatever else the same call printed
            yield from _arch_list(match["list"], match.start())
    for match in (*text.matches(_BANNER, "Python "), *text.matches(_PLAIN, "--version", "-V", lines=2)):
        yield PythonFact("version", Version.parse(match["version"]), match.start())


def _several(text: Text) -> Iterator[Clue]:
    """What the answers to several expressions at once tell."""
    for match in text.matches(_SEVERAL, ">>> ", "In [", "python -c", "python3 -c", lines=2):
        asked, answer = match["asked"].split(","), match["answer"].strip()
        values = answer[1:-1].split(", ") if answer.startswith("(") else answer.split(" ")
        if len(asked) == len(values):
            answers = {each.strip(): value.strip() for each, value in zip(asked, values, strict=True)}
            placed = [*_placed(answers, match.start())]
            yield from placed
            for each, value in answers.items():
                if not placed or not each.endswith(".__version__"):
                    yield from told(each, value, match.start())


def _placed(answers: Mapping[str, str], offset: int) -> Iterator[Clue]:
    """A package whose version and file were asked for at once: where it was imported from."""
    for module in ("torch", "tensorflow", "jax", "numpy"):
        version = answers.get(f"{module}.__version__", "").strip("'\"")
        path, _, file = answers.get(f"{module}.__file__", "").strip("'\"").rpartition("/")
        if file == "__init__.py" and version[:1].isdigit():
            yield Package(module, version, offset, path=path)


def told(asked: str, answer: str, offset: int) -> Iterator[Clue]:
    """What the answer to an expression tells, if it is one that tells something."""
    for pattern, told in _ANSWERS:
        if pattern.fullmatch(asked):
            yield from told(answer, offset)


def _version_of(package: str) -> Callable[[str, int], Iterator[Clue]]:
    def told(answer: str, offset: int) -> Iterator[Clue]:
        match = re.fullmatch(r"['\"]?(\d{1,4}\.\d[\w.+]{0,40})['\"]?", answer)
        if match:
            yield Package(package, match.group(1), offset)

    return told


def _torch_cuda(answer: str, offset: int) -> Iterator[Clue]:
    match = re.fullmatch(r"['\"]?(\d{1,9}\.\d{1,9})(?:\.\d{1,9})?['\"]?", answer)
    if match:
        yield Framework("pytorch", {"cuda": Version.parse(match.group(1)), "cuda_known": True}, offset)
    elif answer == "None":
        yield Framework("pytorch", {"cuda_known": True}, offset)


def _torch_hip(answer: str, offset: int) -> Iterator[Clue]:
    if answer[:1].isdigit():
        yield Framework("pytorch", {"rocm": True}, offset)


def _arch_list(answer: str, offset: int) -> Iterator[Clue]:
    if not answer.endswith("]"):
        return  # a list that was cut off would say that the build lacks architectures
    sass = re.findall(r"sm_(\d{2,3}[af]?)", answer)
    ptx = re.findall(r"compute_(\d{2,3}[af]?)", answer)
    if sass or ptx:
        values = {
            "sm_arch_list": tuple(ComputeCapability.parse(name) for name in sass),
            "ptx_arch_list": tuple(ComputeCapability.parse(name) for name in ptx),
        }
        yield Framework("pytorch", values, offset)


def _capability(answer: str, offset: int) -> Iterator[Clue]:
    match = re.fullmatch(r"\((\d{1,2}), ?(\d)\)", answer)
    if match:
        capability = ComputeCapability(int(match.group(1)), int(match.group(2)))
        yield GpuClue(Listing.FRAMEWORK, 0, {"compute_capability": capability}, offset)
        yield GpusIncomplete(offset, Listing.FRAMEWORK)


def _device_name(answer: str, offset: int) -> Iterator[Clue]:
    match = re.fullmatch(
        r"['\"]?((?:NVIDIA|GeForce|Tesla|Quadro|TITAN|GRID|Orin|Xavier)[\w ./()-]{0,60}|[\w -]{1,30}\d{2,4}[\w ./"
        r"()-]{0,30})['\"]?",
        answer,
    )
    if match:
        yield GpuClue(Listing.FRAMEWORK, 0, {"name": match.group(1)}, offset)
        yield GpusIncomplete(offset, Listing.FRAMEWORK)


def _count(answer: str, offset: int) -> Iterator[Clue]:
    if answer.isdigit() and len(answer) < 4:
        yield Fact("driver.cuda_visible_count", int(answer), offset)


def _cudnn(answer: str, offset: int) -> Iterator[Clue]:
    """8902 is 8.9.2 and 90100 is 9.1.0."""
    if answer.isdigit() and 4 <= len(answer) <= 6:
        number = int(answer)
        major, rest = divmod(number, 10000 if number >= 90000 else 1000)
        version = Version.of(major, *divmod(rest, 100))
        yield Framework("pytorch", {"cudnn": version}, offset)


def _python(answer: str, offset: int) -> Iterator[Clue]:
    match = re.match(r"['\"]?(\d\.\d{1,2}\.\d{1,2})", answer)
    if match:
        yield PythonFact("version", Version.parse(match.group(1)), offset)


def _jax_devices(answer: str, offset: int) -> Iterator[Clue]:
    if answer.startswith(("[CudaDevice(", "[GpuDevice(", "[cuda(")):
        yield Fact("driver.cuda_init", CallResult(0, "SUCCESS", "cuInit"), offset)


def _tf_cuda_built(answer: str, offset: int) -> Iterator[Clue]:
    if answer == "False":
        yield Framework("tensorflow", {"cuda_known": True}, offset)


_ANSWERS: tuple[tuple[re.Pattern[str], Callable[[str, int], Iterator[Clue]]], ...] = (
    (regex(r"torch\.__version__"), _version_of("torch")),
    (regex(r"(?:tf|tensorflow)\.__version__"), _version_of("tensorflow")),
    (regex(r"jax\.__version__"), _version_of("jax")),
    (regex(r"jax\.(?:local_)?devices\(\)"), _jax_devices),
    (regex(r"jaxlib\.__version__"), _version_of("jaxlib")),
    (regex(r"(?:mx|mxnet)\.__version__"), _version_of("mxnet")),
    (regex(r"(?:np|numpy)\.__version__"), _version_of("numpy")),
    (regex(r"torchvision\.__version__"), _version_of("torchvision")),
    (regex(r"torch\.version\.cuda"), _torch_cuda),
    (regex(r"torch\.version\.hip"), _torch_hip),
    (regex(r"torch\.cuda\.get_arch_list\(\)"), _arch_list),
    (regex(r"torch\.cuda\.get_device_capability\((?:0|'cuda')?\)"), _capability),
    (regex(r"torch\.cuda\.get_device_name\((?:0|'cuda')?\)"), _device_name),
    (regex(r"torch\.cuda\.device_count\(\)"), _count),
    (regex(r"torch\.backends\.cudnn\.version\(\)"), _cudnn),
    (regex(r"sys\.version"), _python),
    (regex(r"tf\.test\.is_built_with_cuda\(\)"), _tf_cuda_built),
)
