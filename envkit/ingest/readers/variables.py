"""Environment variables: `NAME=value` lines of `env`, `export`, Dockerfile ENV, inline prefixes, echo, os.environ.

$ echo $LD_LIBRARY_PATH
/usr/local/cuda-12.1/lib64
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.answers import acknowledged, command_above
from envkit.ingest.clues import Clue, Variable, reader
from envkit.ingest.computed import used
from envkit.ingest.text import Text
from envkit.ingest.trouble import troubled

_NAMES = (
    r"(?:CUDA_[A-Z0-9_]{2,40}|NVIDIA_[A-Z_]{3,40}|NCCL_[A-Z0-9_]{2,40}|GLOO_SOCKET_IFNAME|LD_LIBRARY_PATH|LD_PRELOAD|"
    r"XLA_FLAGS|TF_[A-Z_]{3,40}|PYTORCH_[A-Z_]{3,40}|TORCH_CUDA_ARCH_LIST|TRITON_[A-Z_]{3,40}|PYTHONPATH|"
    r"PYTHONNOUSERSITE|CONDA_PREFIX|VIRTUAL_ENV|CUDAHOSTCXX|NVCC_[A-Z_]{3,40}|COMPUTE_PROFILE|OPENCL_PROFILE|"
    r"NSIGHT_CUDA_DEBUGGER|JAX_PLATFORMS?|SLURM_JOB_GPUS|PATH|TMPDIR)"
)
_NEEDLES = (
    *("CUDA", "NVIDIA_", "NCCL_", "GLOO_SOCKET", "PATH", "LD_PRELOAD", "XLA_FLAGS", "TF_", "PYTORCH_", "TRITON_"),
    *(
        "PYTHONNOUSERSITE",
        "CONDA_PREFIX",
        "VIRTUAL_ENV",
        "NVCC_",
        "_PROFILE",
        "JAX_PLATFORM",
        "SLURM_JOB_GPUS",
        "TMPDIR",
    ),
)
_ASSIGNED = regex(
    r"^[ ]{0,8}(?:[^\n]{0,60}[$#>%~] |export |declare -x )?(?:export |declare -x |set |ENV |\$env:|- )?(?P<name>"
    + _NAMES
    + r")(?: ?= ?|: )(?P<value>\"[^\"\n]{0,2000}\"|'[^'\n]{0,2000}'|[^\n\"']{0,2000})$",
    re.MULTILINE,
)
_INLINE = regex(
    r"(?:^|[$#] |^\+ )(?P<name>"
    + _NAMES
    + r")=(?P<value>\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s\"']{0,200}) (?=[\w./-]{1,60}(?: |$))",
    re.MULTILINE,
)
_PYTHON = regex(
    r"os\.environ\[[\"'](?P<name>"
    + _NAMES
    + r")[\"']\] {0,2}= {0,2}(?:f?\"(?P<double>[^\"\n]{0,200})\"|'(?P<single>[^'\n]{0,200})')"
)
_ECHO = regex(
    r"(?:^|[$#>%~❯] ?)(?:echo \"?\$\{?|printenv )(?P<name>"
    + _NAMES
    + r")\}?\"?\n(?P<value>[^\n$#>][^\n]{0,2000}|(?=\n|[^\n]{0,80}[$#] ))",
    re.MULTILINE,
)
_ASKED = regex(
    r"^(?:>>> |In \[\d{1,4}\]: ?)os\.(?:environ\[|environ\.get\(|getenv\()[\"'](?P<name>"
    + _NAMES
    + r")[\"'][\])]\n(?:Out\[\d{1,4}\]: ?)?'(?P<value>[^'\n]{0,400})'$",
    re.MULTILINE,
)
_QUOTED = regex(
    r"(?:[\"'`“]export |\bEnvironment=[\"']?)(?P<name>" + _NAMES + r")=(?P<value>[^\s\"'`”$;]{1,400})(?=[\"'`”\n]|$)",
)
_COMMAND = regex(r" (?!-)[\s\S]*")  # what follows a value is the command that gets the variable; flags are value
_DEVICE = regex(r"-?\d{1,4}|(?:GPU|MIG)-[\w/-]{1,80}|NoDevFiles|none|void|all|", re.IGNORECASE)
_HIDING = ("", "-1")
_HIDDEN = regex(r"\bCUDA_VISIBLE_DEVICES=")
_REPLACED = regex(r"\$\{?[A-Za-z_]|%[A-Za-z_]+%")


@reader("variables")
def read(text: Text) -> Iterator[Clue]:
    """Each variable with its value as it stands; values that use other variables are not known."""
    for pattern, needles, lines in (
        (_ASSIGNED, _NEEDLES, 1),
        (_INLINE, _NEEDLES, 1),
        (_PYTHON, ("os.environ[",), 1),
        (_ASKED, ("os.environ", "os.getenv"), 2),
        (_QUOTED, ("export ", "Environment="), 1),
        (_ECHO, ("echo ", "printenv "), 3),
    ):
        for match in text.matches(pattern, *needles, lines=lines):
            if pattern is _ECHO and not match["value"]:
                continue  # an empty answer does not tell a variable that is empty from one that is not set
            groups = match.groupdict()
            value = groups.get("value")
            if value is None:
                value = groups.get("double") or groups.get("single") or ""
            value = value.strip()
            if pattern is _ECHO and not value:
                continue  # what is not set prints the same
            if " = " in match.group() and " " in value and value[:1] not in ("'", '"'):
                continue  # a sentence: `CUDA_VISIBLE_DEVICES = both cards`
            if value[:1] not in ("'", '"'):
                value = _COMMAND.sub("", value)
            value = value[1:-1] if value[:1] in "\"'" and value[:1] == value[-1:] and len(value) > 1 else value
            if match["name"].endswith("_VISIBLE_DEVICES") and not all(
                _DEVICE.fullmatch(item.strip()) for item in value.split(",")
            ):
                continue  # words about the variable, as in "= one of the cards"
            for_one_command = pattern is _INLINE and (
                acknowledged(text, match.start()) or (value in _HIDING and _used_without(text, match.start()))
            )
            if not for_one_command and _is_value(value):
                yield Variable(match["name"], value, match.start())


def _used_without(text: Text, offset: int) -> bool:
    """Whether a later command that hides no GPU used one, and nobody tells of trouble: the first was to have none."""
    last = used(text)
    return last > offset and not _HIDDEN.search(command_above(text, last)) and not troubled(text)


def _is_value(value: str) -> bool:
    """Whether it is a value as it stands, without other variables and placeholders."""
    return not _REPLACED.search(value) and not value.startswith(("/path/to", "<", "..."))
