"""Texts that report no fault of an NVIDIA GPU: guides, lists of changes, programs at work on another maker's GPU.

What they quote is what may happen to somebody, what a release fixed, or what another machine does not have.
"""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.base.kept import kept
from envkit.ingest.meant import asks_below
from envkit.ingest.text import Text

_GUIDE = regex(
    r"\W{0,6}(?:how ?-?to|guide|tutorial|walk-?through|cheat ?sheet|anleitung|tutoriel|教程|经验贴|安装指南|手順)\b"
    r"|[^\n?]{0,80}\b(?:guide|tutorial|walk-?through|cheat ?sheet|anleitung)\b[^\n?]{0,20}$"
    r"|\W{0,3}(?:【教程】|\[教程\]|教程)",
    re.IGNORECASE,
)
_STEP = regex(r"\s{0,4}(?:#{1,4} )?(?:\d{1,2}[.)、:]|(?:Step|Schritt|步骤) ?\d{1,2})\s?\S", re.IGNORECASE)
_CHANGE = regex(
    r"\s{0,4}(?:[-*•] |\d[\w.]{0,12}: )?(?:\*{2})?(?:Fix(?:e[sd])?|Add(?:ed|s)?|Chang(?:ed?|es)|Remov(?:ed?|es)"
    r"|Improv(?:ed?|es|ements?)|Updat(?:ed?|es)|Support(?:s|ed)?|Bump(?:ed)?|Deprecat(?:ed?|es)|Drop(?:ped|s)?"
    r"|Known issues?|Windows|Linux|Docker|The)\b[^\n]{6,}"
)
_RELEASE = regex(
    r"\W{0,6}(?:\d{1,3}\.\d{1,3}(?:\.\d{1,3})?\b[^\n]{0,40}$|v\d|change ?log\b|release notes\b|what's (?:new|changed)"
    r"|changes in\b|更新日志|发布说明)",
    re.IGNORECASE,
)
_ELSEWHERE = regex(
    r"\d\.\d{1,2}\.\d\+rocm\d|\bGPU available: True \(mps\), used: True|\btorch\.version\.hip\b"
    r"|\btorch\.xpu\.is_available\(\)|\blibrary=(?:metal|rocm)\b|\bggml_metal_(?:init|device_init)\b"
)
_NVIDIA_CARD = regex(
    r"\b(?:GeForce|RTX ?\d|GTX ?\d|Tesla [A-Z]\d|Quadro|Jetson|GB?[12]00|[AHBVL]\d{2,3}S?\b(?! ?XT)"
    r"|NVIDIA [A-Z]{0,3}\d)"
)
_OF_ONES_OWN = regex(
    r"\bI(?:'ve|'m| have| am)? (?:get|getting|got|tried|followed|installed|rebooted|see|still|cannot|can't)\b"
    r"|\b[Ss]till\b|\b[Hh]elp\b|\bcore dumped\b|\bTraceback\b"
)  # what somebody tells who has trouble
_FEW = 3  # steps or changes that make a list
_ANYWHERE = frozenset(("no-gpu-on-pci", "download-failed", "disk-full-at-install", "python-externally-managed"))


@kept
def is_document(text: Text) -> bool:
    """Whether it is a guide in steps or a list of a release's changes, and nobody asks for help in it."""
    lines = [line for line in text.lines if line.strip()]
    if not lines or "?" in lines[0] or _OF_ONES_OWN.search(text.brief):
        return False
    if asks_below(text, lines[0]):
        return False
    if _GUIDE.match(lines[0]) and sum(_STEP.match(line) is not None for line in lines) >= _FEW:
        return True
    if _RELEASE.match(lines[0]) is None:
        return False
    changes = sum(_CHANGE.match(line) is not None for line in lines)
    return changes >= _FEW and 2 * changes >= len(lines)


@kept
def computes_elsewhere(text: Text) -> bool:
    """Whether programs use the GPU of another maker, and no card of NVIDIA is named."""
    return _ELSEWHERE.search(text.brief) is not None and _NVIDIA_CARD.search(text.brief) is None


def of_no_report(text: Text, signature: str) -> bool:
    """Whether such a message in this text tells of no fault of an NVIDIA GPU or its software."""
    if is_document(text):
        return True
    return computes_elsewhere(text) and signature.partition("/")[0] not in _ANYWHERE
