"""Whether a text says that something fails, in words that need not be a known message: such a text is not healthy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.base.kept import kept
from envkit.ingest.answers import acknowledged, command_above, of_a_document
from envkit.ingest.asides import in_an_aside
from envkit.ingest.at_work import fell_back, harmless, hidden_by_command, is_over, made_do
from envkit.ingest.computed import computed, draws, settled, used
from envkit.ingest.ends import ended
from envkit.ingest.later_answers import answered_later
from envkit.ingest.meant import without_gpu
from envkit.ingest.needed import needed
from envkit.ingest.pasts import is_cured
from envkit.ingest.resolved import resolved
from envkit.ingest.sentences import stated
from envkit.ingest.tested import in_passed_tests
from envkit.ingest.text import Text, as_one
from envkit.ingest.trouble import at_work, excused, fine_from, troubled
from envkit.model import COMPLAINT, Message

_MOST = 40  # places that are looked at: a log that repeats its words says nothing more
_SEARCHED = 100_000  # characters at either end of the text
_REACH = 120  # characters on either side of a word; no mention is as long
_SHOWN = 300
_FAILURE = regex(  # what begins a word is behind one `\b`: five times as fast as one in each alternative
    r"(?:error|exception): {0,4}(?! |none\b|no\b|n/a|0\b)"
    r"|\b(?:traceback \(most recent|cuda_error_(?!none)\w"
    r"|(?:returns?|returned|prints?|gives|says|shows) {0,2}`?false\b"
    r"|is_available(?:\(\))?[\s`:=>-]{0,6}(?:is |= )?`?false\b|is cuda available: false\b"
    r"|(?:no kernel image|out of memory|no available memory|not enough memory)\b"
    r"|(?:not|never|isn'?t) (?:being )?(?:detected|recogni[sz]ed(?! as )|compatible|working|used|utili[sz]ed"
    r"|offered|listed)\b"
    r"|(?:not|never|n't) (?:get|gets|got|getting) (?:the |a |any |my )?gpus?\b"
    r"|no (?:cuda |nvidia )?(?:gpus?|devices?) (?:is |are |was |were )?(?:detected|found|visible|available)\b"
    r"|(?:does not|doesn'?t|don'?t|do not|won'?t|will not|cannot|can'?t|can not|could not|couldn'?t|unable to) "
    r"(?:work|start|load|find(?! [^.\n]{0,40}\b(?:readme|docs?|documentation|paper|wiki|manual|faq)\b)|detect|see|open"
    r"|import|use|run|initiali[sz]e|build|compile|boot|install)\b"
    r"|(?<!nothing )(?<!--)(?:fails|failed|crash(?:es|ed|ing)|segfaults?|segmentation fault|core dumped)\b"
    r"|(?:nvcc|ptxas|nvlink) fatal {1,6}:|g?make(?:\[\d{1,3}\])?: \*\*\* [^\n]{0,80}error \d"
    r"|modules? (?:is|are|was)(?:n'?t| not) (?:being )?(?:loaded|found|built)\b"
    r"|virtual package (?:is|was)(?:n'?t| not) (?:found|detected)\b"
    r"|(?:makes?|made) (?:the|my|our) (?:\w{1,12} )?(?:system|machine|computer|pc|desktop|driver) (?:\w{1,9} )?"
    r"(?:unstable|unusable)\b"
    r"|(?:hangs|freezes)\b|\d{2,3} ?% slower\b"
    r"|(?:not|isn'?t|never|no longer|stopped) using (?:(?:the|my|any|its?|a|both|all) )?(?:nvidia )?"
    r"(?:gpus?|cards?|cuda|\d{4})\b"
    r"|no (?:container|pod|job|process|program|vm|guest|worker|task)s? (?:gets?|got|sees?|finds?|receives?) "
    r"(?:the|a|any|its|my|gpus?)\b"
    r"|never (?:comes?|gets?|goes|becomes?|reach(?:es)?) (?:to |into )?(?:running|ready|up)\b"
    r"|stuck (?:in |at |as )?(?:pending|not ?ready|containercreating|init:)"
    r"|works? (?:\w{2,8} )?except\b|refuses? to (?:start|load|run|work|boot|open|use|build|import|install)\b"
    r"|(?:is|are|runs?|running) (?:now )?(?:only )?on (?:the )?cpu (?:only|now|instead)\b"
    r"|(?:is|are|runs?|running) (?:now|only) on (?:the )?cpu\b"
    r"|(?:fehlermeldung|ошибка)\b)"
    r"|报错|失败|无法|识别不到|エラー|失敗"
)

_PASSING = regex(
    r"\s{0,8}(?:NOTE: |[^\n]{0,80}NCCL WARN [^\n]{0,40}libibverbs"
    r"|Skipping [\w-]{2,30} (?:component|output)\b|nvidia: module verification failed: "
    r"|\[ {0,8}\d+\.\d{3,9}\]|\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4}\]|INFO\b"
    r"|(?:[A-Z][a-z]{2} [ \d]\d [\d:]{8}|\d{4}-\d\d-\d\dT[\d:]{8}\S{1,16}) (?:\S{1,60} )?"
    r"(?:kernel|(?:systemd[a-z-]{0,20}|nv[a-z]{0,4}-(?!vgpu-mgr)[a-z-]{4,16}|bluetoothd|gdm[a-z-]{0,16}\]?"
    r"|NetworkManager"
    r"|avahi-daemon|cupsd|wpa_supplicant|pipewire|wireplumber|pulseaudio|gnome-[a-z-]{2,24}|dbus-[a-z]{2,10}|sshd|CRON"
    r"|smartd|snapd|thermald|udisksd|upowerd|kwin_[a-z0-9]{3,8}|plasmashell|polkitd|ModemManager|chronyd|rsyslogd"
    r"|sssd|firewalld|fwupd|colord|rtkit-daemon|kubelet)(?:\[\d{1,9}\])?): "
    r"|[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S{1,60} nvidia-vgpu-mgr\[\d{1,9}\]: cmd: 0x[0-9a-f]{8} failed\.$"
    r"|\S{2,40} {1,20}(?:\S{1,20} {1,20})?(?:drain(?:ed|ing)?|drng|down)[*~#]? "
    r"|\d{3,10}(?:[._]\w{1,12})? {1,20}(?:\S{1,20} {1,20}){0,4}FAILED "
    r"|-- [A-Z]|[0-9a-f]{4}:(?:err|fixme|warn):[a-z0-9_]{2,16}:|(?:err|warn|info): {1,6}\S"
    r"|W\d{4} [^\n]{0,80}autotuner\.cc"
    r"|[\d-]{8,10} [\d:.]{8,16}: [IW] |\[\d{4}-\d\d-\d\dT[\d:.]{8,15}\] "
    r"|(?:\d{4}-\d\d-\d\d[T ][\d:.]{8,16}\S{0,6} )?[\w.-]{1,60}:\d{1,9}:\d{1,9} \[\d{1,3}\] NCCL INFO "
    r"|(?:dmesg|lspci|pcilib|modinfo|modprobe|head|cat|ls|ldconfig|lsmod|systemctl|which): "
    r"|Failed to connect to bus: |(?:perl|bash): warning: |ERROR: ld\.so: object "
    r"|Running nvidia-bug-report\.sh|Failed to get unit file state for |Active: failed |[●○×] {0,4}\S{1,80}\.service )"
)  # what healthy machines and programs log too, and tools that may not show something


_OF_A_LOG = regex(
    r"\b(?:journalctl|dmesg|systemctl|coredumpctl|sinfo|kubectl get events)\b"
    r"|\b(?:tail|cat|less|grep|zgrep|head|awk)\b[^\n]{0,200}(?:/var/log/|\.log\b|\bsyslog\b)"
)
_UNRELATED = regex(
    r"[#$>❯] ?(?:sudo )?(?:git|vim?|nano|htop|btop|nvtop|sensors|nvidia-settings|glxinfo|vulkaninfo|xrandr|locale|man"
    r"|ip|ifconfig|ethtool|ipmitool|crontab|fwupdmgr|flatpak|df|free|uptime|who|hostnamectl|timedatectl|lscpu"
    r"|lsblk|vainfo"
    r"|xdpyinfo)\b"
)
_HARMLESS = regex(
    r"\s{0,8}(?:WARNING\b|W: |WARN\b|\d[\d.]{0,6} seconds \(IMPORT FAILED\))"
    r"|ERROR: pip's dependency resolver does not currently take into account"
)
_STOPPED = regex(
    r"\btraceback\b|\b[A-Z]\w{1,40}Error\b|\bcuda error\b|cuda_error|out of memory|no kernel image|\bxid\b|core dumped"
    r"|segfault|segmentation fault|killed|\bnccl\b(?! info)|nvml|nvidia-smi (?:has|could|fail)|\bfatal\b|\babort",
    re.IGNORECASE,
)  # what stopped a program, or the driver
_DISCLAIMED = "indicates that this is not a failure"  # of memory that an allocator would only have liked to have
_PREVIOUS = regex(r"\bkubectl\b[^\n]{0,80} logs\b[^\n]{0,120} (?:--previous|-p)\b|\blogs\b[^\n]{0,80} --previous\b")
_IS_UP = regex(
    r"^ {0,12}(?:Ready|Status): {1,12}(?:True|Running)$|\b(?P<up>\d{1,2})/(?P=up) {1,8}Running ", re.MULTILINE
)
_OTHERS = regex(
    r"\b(?:ATI|AMD|ROCm|rocm|HIP|hip|SYCL|oneAPI|Level ?Zero|libamd\w{0,20}|librocm\w{0,20}|libaticalrt|Radeon|amdgpu"
    r"|HSA|hsa)\b"
)
_OURS = regex(
    r"\b(?:CUDA|cuda|NVIDIA|nvidia|GeForce|nvcc|NVML|Xid|Tesla|Quadro|cu(?:dnn|blas)\w{0,12})\b", re.IGNORECASE
)
_SERVICES = regex(
    r"\b(?:HTTPS?ConnectionPool|HTTPError|redis|psycopg2?|sqlalchemy|botocore|urllib3?|requests\.exceptions"
    r"|aiohttp|SMTP\w{0,20}"
    r"|[Ff]fmpeg process crashed|rtsp://\S{1,80}: |cannot identify image file"
    r"|ConnectionRefusedError|Connection refused|Connection reset by peer|ClientDisconnect|client disconnected"
    r"|context canceled"
    r"|BrokenPipeError|Name or service not known)\b"
)
_LONGEST_TRACE = 40  # lines
_NOT_THERE, _OF_A_CONTAINER = "executable file not found", "container-no-gpu-injected"
_MISSED = regex(r"false|no (?:cuda |nvidia )?(?:gpu|device)", re.IGNORECASE)
_OF_THE_DRIVER = regex(r"NVIDIA-SMI|NVML|nvml")


@kept
def complaints(text: Text) -> tuple[Message, ...]:
    """The first place where the text states a failure, as a message that no check explains; none where it does not."""
    return tuple(_complaints(text))


def _complaints(text: Text) -> Iterator[Message]:
    meant = without_gpu(text) is not None
    for count, match in enumerate(_mentions(text)):
        if count == _MOST:
            return
        line = text.line_at(match.start())
        over = ended(text, "driver-module-not-loaded") if _OF_THE_DRIVER.search(line) else -1
        if match.start() <= max(over, fine_from(text)) or _PASSING.match(line) or (meant and _MISSED.search(match[0])):
            continue
        if _UNRELATED.search(command_above(text, match.start())) or of_a_document(text, match.start()):
            continue
        if any(of_no_weight(text, match.start()) for of_no_weight in _OF_NO_WEIGHT):
            continue
        if resolved(text, COMPLAINT, match.start()) or _DISCLAIMED in line:
            continue
        if (at_work(text) or (draws(text) and not troubled(text))) and not _STOPPED.search(line):
            continue
        if _NOT_THERE in line and not troubled(text) and answered_later(text, _OF_A_CONTAINER, match.start()):
            continue
        if stated(text, match.start(), match.end()) and not acknowledged(text, match.start()):
            file, number = text.place(match.start())
            yield Message(COMPLAINT, " ".join(line.split())[:_SHOWN], number, {}, file)
            return


def _of_the_last_run(text: Text, offset: int) -> bool:
    """Whether it is in the log of the run before, of a container that runs and is ready."""
    if not _PREVIOUS.search(command_above(text, offset)) or troubled(text):
        return False
    return text.has(_IS_UP, "Ready:", "Running")


def _beside(text: Text, offset: int) -> bool:
    """Whether the sentence is an aside, or the line is of another maker's GPU."""
    line = text.line_at(offset)
    if (_OTHERS.search(line) and not _OURS.search(line)) or is_cured(line):
        return True
    place = offset - text.start(text.index(offset))
    return in_an_aside(line, place) or excused(line, place)


def _of_a_service(text: Text, offset: int) -> bool:
    """Whether a program did not reach a server, which the last line of a traceback says, where nobody asks why."""
    index = text.index(offset)
    last = index
    if "Traceback" in text.lines[index]:
        end = min(index + _LONGEST_TRACE, len(text.lines) - 1)
        last = next((number for number in range(index + 1, end + 1) if text.lines[number][:1].strip()), index)
    return _SERVICES.search(text.lines[last]) is not None and not troubled(text)


def _in_vain(text: Text, offset: int) -> bool:
    """Whether it is of an exception that Python itself ignores, as those of a program that ends."""
    for number in range(text.index(offset), max(text.index(offset) - _LONGEST_TRACE, -1), -1):
        line = text.lines[number]
        if line.startswith("Exception ignored in"):
            return True
        if number < text.index(offset) and not line.startswith((" ", "Traceback")):
            return False
    return False


def _of_the_past(text: Text, offset: int) -> bool:
    """Whether a log told it, or a tool that did what it was told: no failure of what used the GPU later."""
    if offset < used(text) and _HARMLESS.match(text.line_at(offset)):
        return True
    return offset < computed(text) and _OF_A_LOG.search(command_above(text, offset)) is not None


_OF_NO_WEIGHT = (
    _beside,
    _in_vain,
    _of_a_service,
    _of_the_past,
    _of_the_last_run,
    settled,
    is_over,
    harmless,
    hidden_by_command,
    made_do,
    fell_back,
    in_passed_tests,
)


def _mentions(text: Text) -> Iterator[re.Match[str]]:
    """Where a failure is mentioned, near either end of the text: who pastes a long log says it there.

    The pattern is tried around the words that its matches hold, which are found fifty times as fast.
    """
    flat, [words] = text.flat, needed(_FAILURE.pattern)
    held = set(filter(text.may_hold, words))
    for first, last in ((0, _SEARCHED), (max(len(flat) - _SEARCHED, _SEARCHED), len(flat))):
        places = sorted(place for word in held for place in _places(flat, word, first, last))
        for start, end in as_one((place - _REACH, place + _REACH) for place in places):
            yield from _FAILURE.finditer(flat, max(start, first), min(end, last))


def _places(flat: str, word: str, first: int, last: int) -> Iterator[int]:
    place = flat.find(word, first, last)
    while place >= 0:
        yield place
        place = flat.find(word, place + len(word), last)
