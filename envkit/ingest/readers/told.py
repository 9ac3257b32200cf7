"""What people write in their own words: GPUs, versions and systems in sentences, headings, issue forms and tables.

Windows 11, RTX 5070 Ti, driver 576, torch 2.5.1 with CUDA 12.4 from pip, Python 3.11

Such facts are told, not printed by a program: a printed one of the same kind always counts instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.base.versions import Version
from envkit.ingest.clues import Clue, Fact, Framework, Item, Package, PythonFact, reader
from envkit.ingest.releases import described
from envkit.ingest.sentences import asserted, at_last, earlier, stated
from envkit.ingest.text import Text
from envkit.ingest.told_gpus import told_gpus
from envkit.model import CudaToolkit, HostCompiler, MachineKind, Nvcc, OsRelease
from envkit.model.observed import TOLD

_DRIVER = regex(
    r"(?:\b[Dd]river|\bDRIVER|驱动|ドライバ|[Tt]reiber|[Дд]райвер\w?)(?: container| image| pod)?(?: [Vv]ersion|版本)?"
    r"(?: here| in use| installed| there| now)?(?: is| was| to|:| =)? ?v?(?P<after>\d{3}(?:"
    r"\.\d{2,3}){0,2})"
    r"(?![\d.]\d|\d|\+|[ -]?(?:or (?:newer|later|higher)|MB|GB))"
    r"|(?<![\w.])(?P<before>\d{3}(?:\.\d{2,3}){0,2})(?: series)?(?:-open| \(open\))?[ -](?:NVIDIA |Nvidia |nvi"
    r"dia )?(?:driver|Treiber)\b"
    r"|(?<![\w.])(?P<newest>\d{3}\.\d{2}(?:\.\d{2})?) (?:is|was) the (?:latest|newest|last)(?: one)? for\b"
    r"|\bnvidia-driver-(?P<package>\d{3})\b"
    r"|\b(?:nvidia-smi|NVIDIA-SMI)`?(?: says| shows| reports| prints| gives| is|:|=)?"
    r"(?:(?: my| the| both)? (?:card|GPU|gpu)s? (?:with|on))? ?"
    r"(?P<tool>\d{3}\.\d{2,3}(?:\.\d{2})?)(?![\d.]*\d)"
    r"|(?<![\w.])(?P<loaded>\d{3}\.\d{2,3}(?:\.\d{2})?) as (?:the |its |my )?[Dd]river\b"
    r"|[RG]TX(?: \d{4})?(?: ?Ti| ?SUPER)? \((?P<beside>\d{3}\.\d{2,3}(?:\.\d{2})?)\)"
    r"|\b(?:nodes?|hosts?|machines?|servers?|cluster|cards?)(?: still)? (?:runs?|has|have|is on|are on|is at|are at) "
    r"(?P<runs>\d{3}\.\d{2,3}(?:\.\d{2})?)(?![\d.]*\d)"
    r"|\b(?:[Uu]pdat|[Uu]pgrad)(?:ed?|ing) (?:it )?from (?:NVIDIA |nvidia )?[3-6]\d\d(?:\.\d{2,3}){0,2} to "
    r"(?:NVIDIA |nvidia )?(?P<updated>[3-6]\d\d(?:\.\d{2,3}){0,2})(?=[.,;:!?)]? |[.,;:!?)]?$|,|\n)(?! [a-zMG]{2,12}s\b)"
    r"|(?:驱动|ドライバ)[^\n,，。、;；\d]{1,24}(?P<apart>\d{3}\.\d{2,3}(?:\.\d{2})?)(?![\d.]*\d)"
)
_OFFERED = regex(  # a list of drivers that could be installed: ubuntu-drivers, apt-cache search, apt's candidate
    r"nvidia-driver-\d{3}[\w-]{0,20} - distro |\brecommended$|^nvidia-driver-\d{3}[\w-]{0,20}(?:,| - |:$)|Candidate:"
)
_DRIVER_WORDS = (
    *("nvidia-smi", "NVIDIA-SMI", "river", "DRIVER", "驱动", "ドライバ", "reiber", "райвер", " the ", "TX"),
    *("node", "host", "machine", "server", "cluster", "card", "pdat", "pgrad"),
)
_FABRIC_MANAGER = regex(  # `my fabric manager from apt is 460.91.03`
    r"\b(?:nvidia-|nv-)?fabric ?-?manager\b(?! NVIDIA GPU)(?:[^.\n\d]|\.\s){0,40}?(?<![\w.])"
    r"(?P<version>\d{3}\.\d{2,3}(?:\.\d{2})?)(?![\w.]?\d)",
    re.IGNORECASE,
)
_NEEDED = regex(  # `Blender wants at least driver 470`
    r"\b(?:at least|wants|needs?|requires?|required|minimum|expects)\b(?: [a-zA-Z]{1,10}){0,4}[ (:]{0,2}$",
    re.IGNORECASE,
)
_LIMIT = regex(
    r"(?:nvidia-smi|driver|Treiber)\b[^\n.]{0,60}?\bCUDA(?: [Vv]ersion)?:? ?(?P<cuda>\d{1,2}\.\d)(?![\d.]*\d)"
)
_CUDA_OF = regex(r"\bused to (?:compile|build)\s{1,24}$")  # `… the version that was used to compile PyTorch (11.7)`
_PACKAGE = regex(
    r"(?<![\w./=@-])(?P<name>[Pp]y[Tt]orch|PYTORCH|torch(?:vision|audio)?|[Tt]ensor[Ff]low(?:-gpu|-cpu)?|jaxli"
    r"b|jax|JAX|TF|tf"
    r"|vLLM|vllm|flash[-_]attn|xformers|bitsandbytes|triton|onnxruntime-gpu|onnxruntime|ORT|paddlepaddle-gpu|PaddlePaddle"
    r"|numpy|NumPy|[Mm]xnet|MXNet|cupy|CuPy|deepspeed|DeepSpeed|jax-cuda1\d-p(?:lugin|jrt)"
    r"|nvidia-[a-z]{3,12}(?:-[a-z]{3,12})?-cu1\d)(?! is \()"
    r"(?: ?\[[^\]\n]{0,20}\])?(?:\.__version__\)?`?)?(?: nightly| in [a-z ]{1,24})?(?: from(?= \d))?"
    r"(?: [Vv]ersion| reports| is| says| prints| gives| shows| wheel|版本)?(?::| ?[-=]>| ?==?| v|-| )?[ ]?[`'\"(]?v?"
    r"(?P<version>\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:\.post\d|rc\d|\.dev\d{1,8})?(?P<tag>\+(?:cu\d{2,3}|cpu|rocm\d(?:\.\d){0,2}))?)"
    r"(?![\w.]{0,1}\d)(?!\.x|/| ?[KMGT]i?B\b)"
)
_JAX_EXTRA = regex(r"(?i)jax ?\[cuda(?P<major>1\d)(?!\d)")  # `jax[cuda12] 0.4.30`
_BUILT = regex(
    r"\A`?[ ]?(?:\(|,? ?with |for |built (?:for|with|against) |from (?:the )?"
    r"|and (?:the |a )?(?=(?:cu\d{3}|[Cc][Uu][Dd][Aa] ?\d{1,2}\.\d) (?:build|wheel)\b)|,? ?\+? ?)?(?:index |the )?"
    r"(?:cu(?P<tag>\d{3})\b|CUDA ?(?P<cuda>\d{1,2}\.\d)\b|cuda ?(?P<small>\d{1,2}\.\d)\b"
    r"|(?P<cpu>py3\.\d{1,2}_cpu_\d|cpu_py\d{2,3}|cpu[ -]only\b|cpuonly\b|\(?cpu\)))"
)
_BECAME = regex(
    r"\A`?(?:[ ]?(?:-{1,2}>|=>|→|to|auf|升级到|更新到) ?`?v?|\.? [Ss]ince )"
    r"(?P<version>[012]?\d\.\d{1,3}(?:\.\d{1,3})?(?:\+\w{2,6})?)\b(?![\w.]\d)"
)
_MOVED = regex(r" ?(?:-{1,2}>|=>|→|to|auf|à|a|升级到|更新到) ?v?(?P<version>\d{3}(?:\.\d{2,3}){0,2})(?![\w.]?\d)")
_BEFORE = 20  # characters in front of a package's name
_COMPILED_WITH = regex(r"\b(?:compiled|built|made|rebuilt) (?:with|for|against|using)\s{1,3}$")  # what others need
_COLUMNS = regex(
    r"^(?P<name>torch(?:vision|audio)?|tensorflow|jax(?:lib)?|vllm|numpy|nvidia-[a-z]{3,20}(?:-[a-z]{2,20}){0,2}-cu\d\d)"
    r" {1,60}(?P<version>\d[\w.+!-]{0,60})$",
    re.MULTILINE,
)
_TAGGED = regex(r"(?<![\w./=@+-])(?P<version>[12]\.\d{1,2}\.\d\+(?:cu\d{2,3}|cpu))\b")
_NVCC = regex(
    r"\bnvcc(?: -V| --version)?`?(?: in there| here)?(?: version| release| reports| shows| says| prints| is| g"
    r"ives|:|,| of| from|\(| CUDA)*"
    r" ?`?[vV]?(?P<after>\d{1,2}\.\d{1,2})(?![\d-])|\b(?:CUDA|[Cc]uda) [Tt]ool ?[Kk]it,?(?: version)? ?v?(?P<kit>"
    r"\d{1,2}\.\d)(?![\d-])"
    r"|(?<![\w.])(?P<before>\d{1,2}\.\d) toolkit\b"
)
_TOOLKIT = regex(
    r"(?<![\w./-])(?:CUDA|[Cc]uda)(?: [Vv]ersion)?:? ?v?(?:(?P<exact>\d{1,2}\.\d\.\d{1,3})\b|(?P<beside>\d{1,2}\.\d),?"
    r"(?: is| was)?(?: \(?(?:with|and|\+) ?(?:cuDNN|[Cc]udnn|CUDNN)| ?[/,+，、]? {0,3}(?:cuDNN|[Cc]udnn|CUDNN)"
    r"| ?和 ?(?:cuDNN|[Cc]udnn)| installed\b| is there\b| V\d))"
    r"|\binstalled CUDA (?P<after>\d{1,2}\.\d)\b|\bCUDA ?/ ?cuDNN [Vv]ersion:? ?(?:CUDA ?)?(?P<form>\d{1,2}\.\d)"
)
_GCC = regex(
    r"(?<![\w./-])(?:gcc|GCC|[gG]\+\+)(?: [Vv]ersion)?(?: is|:|-| )? ?v?(?P<version>\d{1,2}(?:\.\d{1,2}){0,2})"
    r"(?![\w.]?\d)"
)
_CPU = regex(
    r"\bversion\.cuda`?(?:\(\))?\s{0,2}(?:is|==?|prints|says|returns|gives|shows|[-=]>|:|是|为|ist)?\s{0,2}[`'\"]?None\b"
)
_OF_BUILD = regex(
    r"\bversion\.cuda`?(?:\(\))?\s{0,2}(?:is|==?|prints?|says|returns|gives|shows|[-=]>|:)?\s{0,2}[`'\"]?"
    r"(?P<cuda>\d{1,2}\.\d)(?:\.\d{1,3})?(?![\d.]*\d)"
)
_PYTHON = regex(
    r"(?<![\w./-])[Pp]ython ?(?::|={1,2})?(?: [Vv]ersion:?)?(?: is)? ?v?"
    r"(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)(?![\w.]?\d|\+)"
)
_SYSTEM = regex(
    r"(?<![\w./-])(?P<name>Windows-1[01](?=-10\.0\.)"
    r"|Windows (?:Server )?(?:7|8(?:\.1)?|10|11|20(?:16|19|22|25))|Win ?1[01](?![\w-])|Ubuntu(?: Se"
    r"rver)?,? "
    r"(?:1[4-9]|2\d)\.(?:04|10)(?:\.\d)?|Debian(?: GNU/Linux)? 1?\d(?!\.\d{1,2}[.-]\d)|Fedora(?: Linux)? [234]\d"
    r"|(?:RHEL|CentOS|Rocky(?: Linux)?"
    r"|AlmaLinux) [6-9](?:\.\d{1,2})?|Red Hat Enterprise Linux [789]|Arch Linux|Manjaro|openSUSE (?:Leap "
    r"\d\d\.\d|Tumbleweed)|Tumbleweed"
    r"|Linux Mint \d\d|Pop!_OS \d\d\.\d\d|NixOS|Alpine(?: Linux)?|Amazon Linux 2(?:023)?)\b",
    re.IGNORECASE,
)
_REPLACED = regex(
    r"\b(?:instead of|rather than|in place of|was (?:trained|saved|exported|made) with) (?:the )?$", re.IGNORECASE
)  # the package is not there
_PLAIN_WINDOWS = regex(
    r"\b(?:on|under|OS:|platform:?|ui,) (?:a |my )?windows(?: pc| machine| laptop)?(?= ?[,.;()\n]|$| with\b| and\b)"
    r"|\b(?:PSU|GB|RAM|GPU), windows(?=[.,;\n])|\bWindows \(?(?:64|32)[- ]?bit\b|\bWin(?:dows)? ?(?:下|上|系统|平台)"
    r"|\b(?:our|my|this) windows (?:workstation|machine|pc|box|laptop)\b|\bupdate on windows\b"
    r"|(?:^|(?<=\()|(?<=[.!] ))windows(?=, )"
    r"|\bwebui-user\.bat\b|\brun_nvidia_gpu\.bat\b|\bComfyUI_windows_portable\b|\bpython_embeded\b",
    re.IGNORECASE | re.MULTILINE,
)
_OF_WINDOWS = regex(r"\b[A-Z]:\\Users\\[^\\\s]{1,40}\\(?:AppData|Documents|Desktop|Downloads)\\|\[WinError \d{1,4}\]")
_DLL = regex(  # what a program only asks Windows for
    r"\b(?:cudnn\w{0,24}64_\d{1,2}|(?:cudart|cublas|cublasLt|cufft|curand|cusparse|cusolver|nvrtc)64_\d{2,3}"
    r"(?:_\d{1,2})?)\.dll\b"
)
_WSL = regex(
    r"(?<!lease use )\bWSL ?-?(?:(?P<version>[12])\b(?!\.\d)|2(?:\.\d{1,3}){2})|\b(?:in|inside|under) WSL only\b"
)
_AARCH64 = regex(r"(?<![\w./:-])(?:aarch64|ARM64|arm64|GH200|GB200|GB10|DGX Spark|Grace[ -]?Hopper)(?![\w./-])")
_CONTAINER = regex(
    r"\b(?:inside|in|within|into) (?:the |a |my |our |this )?(?:[\w.:/-]{1,40} ){0,2}(?:container|pod)\b|\bdoc"
    r"ker run\b"
)
_PACKAGE_WORDS = (
    *(
        "orch",
        "ORCH",
        "ensor",
        "jax",
        "JAX",
        "TF",
        "tf",
        "LLM",
        "llm",
        "attn",
        "xformers",
        "bitsand",
        "triton",
        "onnx",
        "ORT",
    ),
    *("addle", "umpy", "umPy", "xnet", "XNet", "cupy", "CuPy", "eepspeed", "eepSpeed", "nvidia-"),
)
_SYSTEM_WORDS = (
    *("indows", "INDOWS", "win", "Win", "WIN", "buntu", "UBUNTU", "ebian", "edora", "RHEL", "rhel", "entos", "entOS"),
    *("ocky", "lma", "ed Hat", "ed hat", "rch ", "anjaro", "SUSE", "suse", "int ", "op!_", "ixos", "ixOS", "lpine"),
    *("umbleweed", "mazon Linux"),
)
_FULL = {f"win{blank}{release}": f"Windows {release}" for release in ("10", "11") for blank in ("", " ")}
_FULL["tumbleweed"] = "opensuse tumbleweed"
_NAMES = {"pytorch": "torch", "tf": "tensorflow", "ort": "onnxruntime-gpu"}
_MOST = 40  # mentions of one kind that are looked at: a log that repeats them tells nothing more


@reader(TOLD)
def read(text: Text) -> Iterator[Clue]:
    """GPUs, the driver, packages, Python and the system, where a sentence states them."""
    yield from _present(text, list(told_gpus(text, partial(_matches, of_card=True))))
    yield from _driver(text)
    yield from _fabric_manager(text)
    yield from _compilers(text)
    yield from _packages(text)
    yield from _system(text)


def _matches(text: Text, pattern: re.Pattern[str], *needles: str, of_card: bool = False) -> Iterator[re.Match[str]]:
    """The first matches that their sentences state."""
    for number, match in enumerate(text.matches_once(pattern, *needles)):
        if number == _MOST:
            return
        if stated(text, match.start(), match.end(), of_card=of_card):
            yield match


def _present(text: Text, clues: Sequence[Clue]) -> Iterator[Clue]:
    """The clues without the GPUs that are told of a state that worked, where another one is told of as well."""
    cards = {clue.key for clue in clues if isinstance(clue, Item) and not earlier(text, clue.offset)}
    for clue in clues:
        if not isinstance(clue, Item) or not cards or clue.key in cards:
            yield clue


def _driver(text: Text) -> Iterator[Clue]:
    said = [
        match
        for match in _matches(text, _DRIVER, *_DRIVER_WORDS)
        if not _NEEDED.search(text.whole, max(match.start() - 40, 0), match.start())
        and not _OFFERED.search(text.line_at(match.start()))
    ]
    if len({match[match.lastgroup or 0] for match in said}) > 1:
        said = [match for match in said if not earlier(text, match.start())] or said
    versions = {Version.parse(_replacing(text, match) or match[match.lastgroup or 0]): match for match in said}
    branches = {version.major for version in versions}
    if len(branches) == 1 and 300 <= min(branches) < 700:  # several were tried: which one is there is not told
        version = max(versions, key=lambda version: len(str(version)))
        yield Fact("driver.user_space", version, versions[version].start())
    for match in _matches(text, _LIMIT, "nvidia-smi", "driver", "Treiber"):
        yield Fact("driver.driver_cuda_version", Version.parse(match["cuda"]), match.start())
        return


def _replacing(text: Text, match: re.Match[str]) -> str | None:
    """The driver after the one that was mentioned: `from driver 470 to 525`."""
    moved = _MOVED.match(text.whole, match.end(), match.end() + _BEFORE)
    return moved["version"] if moved else None


def _fabric_manager(text: Text) -> Iterator[Clue]:
    told = {match["version"]: match for match in _matches(text, _FABRIC_MANAGER, "abric", "FABRIC")}
    if len(told) == 1:
        version, match = next(iter(told.items()))
        yield Fact("driver.fabric_manager_version", Version.parse(version), match.start())


def _compilers(text: Text) -> Iterator[Clue]:
    nvcc = [
        (match["after"] or match["kit"] or match["before"], match)
        for match in _matches(text, _NVCC, "nvcc", "olkit", "ool")
    ]
    if len({version for version, _ in nvcc}) == 1:
        version, match = nvcc[0]
        yield Fact("nvcc", Nvcc("nvcc", "", Version.parse(version)), match.start())
    kits = {match[match.lastgroup or 0]: match for match in _matches(text, _TOOLKIT, "CUDA", "uda")}
    if len({Version.parse(version).release(2) for version in kits}) == 1:
        version, match = next(iter(kits.items()))
        toolkit = CudaToolkit(Version.parse(version), "", "", TOLD)
        yield Item("cuda_toolkits", "told", toolkit, match.start())
    gcc = [(match["version"], match) for match in _matches(text, _GCC, "gcc", "GCC", "g++", "G++")]
    if len({Version.parse(version).major for version, _ in gcc}) == 1:
        version, match = max(gcc, key=lambda pair: len(pair[0]))
        yield Item("host_compilers", "gcc", HostCompiler("gcc", Version.parse(version), "", True), match.start())


def _packages(text: Text) -> Iterator[Clue]:
    said: dict[str, list[Package]] = {}
    for package in _by_name(text):
        said.setdefault(package.name, []).append(package)
    if not any(name.startswith("torch") for name in said):  # only PyTorch tags its versions so
        tagged = [Package("torch", match["version"], match.start()) for match in _matches(text, _TAGGED, "+cu", "+cpu")]
        said |= {"torch": tagged} if tagged else {}
    for package in _in_columns(text):
        said.setdefault(package.name, []).append(package)
    for told in said.values():
        yield from _agreed(text, told)
    for match in _matches(text, _CPU, "version.cuda"):
        yield Framework("pytorch", {"cuda_known": True}, match.start())
    for match in _matches(text, _OF_BUILD, "version.cuda"):
        yield Framework("pytorch", {"cuda": Version.parse(match["cuda"]), "cuda_known": True}, match.start())
    pythons = {match["version"]: match for match in _matches(text, _PYTHON, "ython")}
    if len({Version.parse(version).release(2) for version in pythons}) == 1:
        version = max(pythons, key=len)
        yield PythonFact("version", Version.parse(version), pythons[version].start())


def _by_name(text: Text) -> Iterator[Package]:
    """Packages that are named before their release, and the plug-in for CUDA that JAX's extra of that name brings."""
    for match in _matches(text, _PACKAGE, *_PACKAGE_WORDS):
        if _of_another(text, match.start()) or _CUDA_OF.search(text.whole, max(match.start() - 40, 0), match.start()):
            continue
        name = normalized(match["name"])
        name = _NAMES.get(name, name)
        version = match["version"] + ("" if match["tag"] else _build(text, match, name))
        if became := _BECAME.match(text.whole[match.end() : match.end() + 40]):
            version = became["version"]
        yield Package(name, version, match.start())
        if extra := _JAX_EXTRA.match(match.group()):
            yield Package(f"jax-cuda{extra['major']}-plugin", version, match.start())


def _of_another(text: Text, start: int) -> bool:
    """Whether the version is one that was replaced, or that a package was or must be compiled with."""
    before = text.whole[max(0, start - _BEFORE) : start]
    return bool(_REPLACED.search(before) or _COMPILED_WITH.search(before))


def _in_columns(text: Text) -> Iterator[Package]:
    """Lines of a listing whose head was left out: a package that we know and its version, and nothing else."""
    for match in text.matches_once(_COLUMNS, "torch", "tensorflow", "jax", "vllm", "numpy", "nvidia-"):
        yield Package(match["name"], match["version"], match.start(), "pip")


def _build(text: Text, match: re.Match[str], name: str) -> str:
    """`+cu124` where the words behind a version name the CUDA that it was built for."""
    if name not in ("torch", "torchvision", "torchaudio"):
        return ""
    built = _BUILT.match(text.whole[match.end() : match.end() + 40])
    if not built:
        return ""
    if built["cpu"]:
        return "+cpu"
    return "+cu" + (built["tag"] or (built["cuda"] or built["small"]).replace(".", ""))


def _agreed(text: Text, told: Sequence[Package]) -> Iterator[Package]:
    """The package in the version that its mentions agree on, the most exact; none where they name several.

    One that worked counts where all do: what is there now is another.
    """
    if len({package.version for package in told}) > 1:
        told = [package for package in told if not earlier(text, package.offset)] or told
    if len({package.version for package in told}) > 1:
        told = [package for package in told if at_last(text, package.offset)] or told
    plain = {package.version.partition("+")[0] for package in told}
    most = max(told, key=lambda package: len(package.version))
    tags = {package.version.partition("+")[2] for package in told} - {""}
    if all(most.version.startswith(version) for version in plain) and len(tags) <= 1:
        yield most


def _system(text: Text) -> Iterator[Clue]:
    for match in _matches(text, _AARCH64, "aarch64", "ARM64", "arm64", "GH200", "GB200", "GB10", "DGX Spark", "Grace"):
        yield Fact("system.architecture", "aarch64", match.start())
    for match in _matches(text, _WSL, "WSL"):
        if match["version"] == "1" and not asserted(text, match.start(), match.end()):
            continue
        kind = MachineKind.WSL1 if match["version"] == "1" else MachineKind.WSL2
        yield Fact("system.machine_kind", kind, match.start())
    systems = [_release(match) for match in _matches(text, _SYSTEM, *_SYSTEM_WORDS)]
    known = {release.os_id: (release, offset) for release, offset in systems if release is not None}
    if not known and not any(map(text.says, ("wsl", "linux", "ubuntu", "docker"))):
        words = ("indows", "WINDOWS", "WIN ", "Win", "webui-user", "run_nvidia", "python_embeded")
        for match in (*_matches(text, _PLAIN_WINDOWS, *words), *text.matches_once(_DLL, ".dll")):
            yield Fact("system.os", OsRelease("windows", "windows", ""), match.start())
            return
    if not known and not any(map(text.says, ("wsl", "docker"))):
        if "(Windows)" in text.line_at(0):  # the title says what all of it is about
            yield Fact("system.os", OsRelease("windows", "windows", ""), 0)
            return
        for match in text.matches_once(_OF_WINDOWS, ":\\Users\\", "[WinError "):
            yield Fact("system.os", OsRelease("windows", "windows", ""), match.start())
            return
    linux = {os_id: pair for os_id, pair in known.items() if os_id != "windows"}
    chosen = linux if linux and text.says("wsl") else known
    if len(chosen) == 1:
        release, offset = next(iter(chosen.values()))
        yield Fact("system.os", release, offset)


def _release(match: re.Match[str]) -> tuple[OsRelease | None, int]:
    words = match["name"].lower().replace("rhel", "red hat enterprise linux").replace(",", "").replace(" server", "")
    words = words.replace("rocky ", "rocky linux ").replace("linux linux", "linux").replace("-", " ")
    return described(_FULL.get(words, words)), match.start()
