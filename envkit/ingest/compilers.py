"""Whether somebody only looked for a compiler: nothing else in the text needs one, and the GPU answers."""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.ingest.answers import INTERPRETER
from envkit.ingest.computed import used
from envkit.ingest.later_answers import answers_of_driver
from envkit.ingest.sessions import asked_by
from envkit.ingest.text import Text
from envkit.ingest.trouble import at_work, prose, trouble_of

_TOOLKIT = (
    "toolkit-missing/nvcc-not-found",
    "toolkit-missing/complaint-nvcc",
    "toolkit-missing/which-nvcc",
    "toolkit-missing/told-nvcc",
)
_NVCC_ASKED = regex(
    r"\bnvcc (?:--version|-V)\b|\b(?:which|where|whereis|type|command -v) nvcc\b"
    r"|(?:which|find_executable)\([\x22']nvcc\b"
)
_BUILDS = regex(
    r"\bnvcc\b|\btoolkit\b|\bCUDA_HOME\b|\b(?:compil|build(?! \d{4,6}\b)|built|wheel|extension|setup\.py|cmake|make\b)",
    re.IGNORECASE,
)
_HOW = regex(r"\bhow (?:do|can|to|should|could)\b[^.?\n]{0,60}\b(?:compil|build|nvcc|toolkit|install)", re.IGNORECASE)
_BUILD_STOPS = regex(
    r"(?<!env\(.)\bCUDA_HOME\b|\bnvcc (?:was )?not found\b|\bbuilding wheel\b|\bNo CUDA toolset\b|\bcudatoolkit_dir\b"
    r"|: nvcc: No such file|\bcompilation failed for package\b|\bMW_NVCC_PATH environment variable to\b"
    r"|\bmexcuda \(line \d"
)
_BUILD_WORDS = (
    "CUDA_HOME",
    "nvcc ",
    "nvcc: ",
    "uilding wheel",
    "CUDA toolset",
    "cudatoolkit_dir",
    "compilation failed",
    "MW_NVCC_PATH",
    "mexcuda (",
)


def nvcc_aside(text: Text, signature: str, offset: int) -> bool:
    """Whether somebody looked for a compiler in passing: the GPU answers, and nothing else here needs or names one.

    Where a program computed on it and nobody complains, only a build that stopped needs one. In a session of an
    interpreter (MATLAB, R, Julia) nothing is built, unless trouble is told of it.
    """
    if not signature.startswith(_TOOLKIT) or not _NVCC_ASKED.search(asked_by(text, offset)):
        return False
    works = at_work(text)
    if not works and INTERPRETER.match(asked_by(text, offset)):
        wanted = any(map(_HOW.search, prose(text))) or (used(text) < 0 and not answers_of_driver(text))
        return not (wanted or trouble_of(text, _BUILDS) or text.has(_BUILD_STOPS, *_BUILD_WORDS))
    if not works and (not answers_of_driver(text) or any(map(_BUILDS.search, prose(text)))):
        return False
    return not text.has(_BUILD_STOPS, *_BUILD_WORDS)
