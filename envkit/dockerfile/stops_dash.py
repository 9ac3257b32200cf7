"""Where a build stops at a word of bash in a RUN whose shell is dash, and at conda's `activate` in a plain shell."""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop, subject_of
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.reader import Instruction
from envkit.dockerfile.shell import ShellCommand, called
from envkit.dockerfile.shell_words import Word, exec_form

# Images on Debian and Ubuntu whose RUN uses /bin/sh, and that need not be in the tables.
_WITH_DASH = frozenset(
    {"continuumio/anaconda3", "continuumio/miniconda3", "pytorch/pytorch", "tensorflow/tensorflow"}
    | {"nvcr.io/nvidia/tensorrt"}
)
_FILE_OF_BASH = regex(
    r"\.bash(?:rc|_profile|_aliases|_completion)\b|bash[_-]completion|/bash\.bashrc|[\w/-]{1,80}\.bash\b"
)
_OTHER_SHELL = regex(
    r"\b(?:ba|z|k|fi)sh\b|\beval\b|/bin/sh\b(?! *-c)|dpkg-reconfigure [^\n]{0,40}dash|\\'|\\\"|<<[-~]?\w"
)
_REPLACED = regex(r"/bin/sh\b(?! *-c)|dpkg-reconfigure [^\n]{0,40}dash")
_PIPEFAIL = regex(r"-[a-zA-Z]*o")
_ALONE = frozenset({"source", "pushd", "popd", "shopt", "declare"})
# What dash cannot read wherever it stands: a process put in place of a file, a text as input, an array.
_GRAMMAR = regex(
    r"(?:^|(?<=[\s;&|]))(?P<process>[<>]\()|(?P<text><<<)|(?:^|(?<=[\s;&|]))(?P<array>[A-Za-z_]\w{0,60}\+?=\()"
)
_QUOTED = regex(r"'[^']{0,4000}'|\"[^\"]{0,4000}\"")
_NAME = regex(r"[A-Za-z][\w.-]{0,60}")
_MAKES = regex(
    r"\bcreate\b|\benv update\b|\.yml|\.yaml|\bvenv\b|clone|\.sh\b(?<!miniconda\.sh)(?<!x86_64\.sh)(?<!conda\.sh)"
)
_READS_CONDA = regex(
    r"conda\.sh|shell\.bash|shell\.posix|\bhook\b|(?:source|\.)\s+\S{0,200}activate|\bbashrc|\s-[a-z]{0,3}[li][a-z]{0,3}\s|--login|_profile\b"
)


def bash_words(ground: Ground) -> Iterator[Finding]:
    """The first word of a RUN that only bash knows, in an image whose sh is dash."""
    if not sh_is_dash(ground):
        return
    for part in ground.instructions:
        found = _of_bash(part) if part.keyword == "RUN" else None
        if found is not None:
            word, told = found
            yield stop(
                faults.WORD_UNKNOWN,
                f"only bash knows {word}, and RUN uses sh",
                subject_of(word.line, word),
                impact=f"The build stops with: {told}.",
                fix='Write SHELL ["/bin/bash", "-c"] before the RUN'
                + (", or . in place of source." if word == "source" else "."),
            )
            return


def sh_is_dash(ground: Ground) -> bool:
    """True where the shell of every RUN of a stage is certainly dash."""
    apt = ground.has_apt and ground.stock
    if not ground.first or not (apt or ground.base.repository in _WITH_DASH):
        return False
    shells = any(part.keyword == "SHELL" for part in ground.instructions)
    return not shells and not any(_REPLACED.search(text) for text in ground.texts)


def _of_bash(part: Instruction) -> tuple[Word, str] | None:
    """The word, and what dash says of it."""
    if part.heredocs or exec_form(part.text):
        return None
    sign = _grammar(part)
    if sign is not None and (sign["process"] or sign["text"]):  # whichever program is to read it
        return _told(part, sign)
    text = _FILE_OF_BASH.sub("", part.text)
    if _OTHER_SHELL.search(text):
        return None
    for command in part.commands:
        words = called(command)
        if words and (command.decisive or words[0] == "set") and not command.conditional:  # at set, dash itself ends
            alone = _alone(command, words)
            if alone is not None:
                return alone
    return _told(part, sign) if sign is not None else None


def _grammar(part: Instruction) -> re.Match[str] | None:
    """The first sign of bash's grammar outside of quotes."""
    bare = _QUOTED.sub(lambda found: "_" * len(found[0]), part.text)
    sign = _GRAMMAR.search(bare)
    if sign is None or "#" in bare[: sign.start()] or "'" in bare or '"' in bare:
        return None
    return sign


def _told(part: Instruction, sign: re.Match[str]) -> tuple[Word, str]:
    told = "Syntax error: redirection unexpected" if sign["text"] else 'Syntax error: "(" unexpected'
    shown = "<(" if sign["process"] else sign["text"] or sign["array"]
    return Word.at(part.body.line(sign.start()), shown), told


def _alone(command: ShellCommand, words: tuple[Word, ...]) -> tuple[Word, str] | None:
    if command.words[0] != words[0]:  # behind sudo or env
        return None
    if words[0] in _ALONE and len(words) > 1 or words[0] == "popd":
        return words[0], f"{words[0]}: not found"
    if words[0] == "[[":
        return words[0], "[[: not found"
    pairs = zip(words, words[1:], strict=False)
    found = next((word for word, after in pairs if _PIPEFAIL.fullmatch(word) and after == "pipefail"), None)
    if words[0] == "set" and found is not None:
        return Word.at(found.line, f"{found} pipefail"), "Illegal option -o pipefail"
    return None


def activate_unread(ground: Ground) -> Iterator[Finding]:
    """The first `conda activate` in a RUN that has not read conda's own functions for the shell."""
    shells = [part.text for part in ground.instructions if part.keyword == "SHELL"]
    if "BASH_ENV" in ground.environment or not ground.first or any(_has_more(text) for text in shells):
        return
    if any("BASH_ENV" in text or _REPLACED.search(text) for text in ground.texts):
        return
    for part in ground.instructions:
        if part.keyword != "RUN" or part.heredocs or _READS_CONDA.search(f"{part.text} ") or "eval" in part.text:
            continue
        for command in part.commands:
            if command.words[:2] == ("conda", "activate") and command.decisive and not command.conditional:
                yield stop(
                    faults.WORD_UNKNOWN,
                    "conda activate works only in a shell that has loaded conda's functions, but each RUN starts a "
                    "new one",
                    command_subject(command),
                    impact="The build stops with: Run 'conda init' before 'conda activate'.",
                    fix="Use conda run -n NAME, or add the environment's bin directory to PATH.",
                )
                return


def environment_unmade(ground: Ground) -> Iterator[Finding]:
    """The first environment of conda that is activated by its name, and that no command makes."""
    if not ground.plain or not ground.first or ground.tells & {"copied", "bind"}:
        return
    texts = " ".join(ground.texts)
    for step in ground.steps:
        words = called(step.command)
        name = words[2] if words[:2] == ("conda", "activate") and len(words) == 3 else ""
        name = name or (words[2] if words[:1] in (("source",), (".",)) and words[1:2] == ("activate",) else "")
        if not name or not _NAME.fullmatch(name) or name in ("base", "root") or not step.command.decisive:
            continue
        if _MAKES.search(texts):
            return
        yield stop(
            faults.WORD_UNKNOWN,
            f"no command creates an environment {name}",
            command_subject(step.command, name.line if isinstance(name, Word) else None),
            impact="The build stops: the environment is not found.",
            fix=f"Create it first: conda create -y -n {name} python.",
        )
        return


def _has_more(shell: str) -> bool:
    """True for a shell that is told more than to read one command."""
    words = exec_form(shell)
    return words is None or len(words) != 2 or words[1] not in ("-c", "-ec", "-exc", "-ce")
