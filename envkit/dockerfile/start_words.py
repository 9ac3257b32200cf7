"""What the container starts, where no shell and no program can read it as it is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from envkit._startup.regex import regex
from envkit.checks.containers import image_stops as faults
from envkit.checks.engine.findings import Finding, Remedy, Status
from envkit.dockerfile.check_parts import finding, stop, subject_of
from envkit.dockerfile.contents import last_of, parts_of
from envkit.dockerfile.reader import COPIES, Instruction
from envkit.dockerfile.shell_words import exec_form
from envkit.dockerfile.stages import BuildStage, final_chain
from envkit.tables.known_images import image_name

# An array of texts that is none: a shell gets it, and looks for a program whose name begins with a bracket.
_BROKEN = regex(r"\[\s*(?:\"[^\"$\n]{1,80}\"|'[^'$\n]{1,80}'|\u201c[^\u201d\n]{1,80}\u201d)\s*[,\]]")
_PYTHON = regex(r"(?:/\S{0,80}/)?python[\d.]*")
_PROGRAM = regex(r"(?:/\S{0,80}/)?(?:python[\d.]*|uvicorn|gunicorn|streamlit|hypercorn|flask|node|npm|java)")
# Programs with their arguments, or several commands, as one word: no file has such a name.
_SENTENCE = regex(
    r"(?:(?:/\S{0,80}/)?(?:python[\d.]*|uvicorn|gunicorn|streamlit|hypercorn|flask|node|npm|java|(?:ba)?sh|exec|source"
    r"|jupyter|celery|conda)|cd|\S{1,80}\.sh)\s+\S[^\n]{0,4000}"
)
# A script without its folder, and what may put one into a folder of PATH.
_SCRIPT_NAME = regex(r"[A-Za-z][\w-]{0,60}\.(?:py|sh)")
_WITHOUT_SCRIPTS = regex(
    r"nvidia/cuda|ubuntu|debian|python|pytorch/pytorch|tensorflow/tensorflow|nvcr\.io/nvidia/(?:pytorch|tensorflow|cuda)"
)
_OF_UBUNTU = frozenset({"nvidia/cuda", "ubuntu"})
_UBUNTU = regex(r"(?:^|ubuntu)2[0-9]\.04$")  # before, packages brought Python 2
_BRINGS_PYTHON = regex(
    r"python-is|/python\b|alternatives|conda|mamba|venv|virtualenv|\buv\b|pyenv|poetry|pixi|\.sh\b|\bmake\b|PATH|Python-"
    r"|\bbin/?(?:\s|$)|\bpython2?(?:\.7)?(?:-dev|-minimal)?(?:\s|$)|\bnix\b|\bspack\b|from="
)
# A build of a library or a program in C; that of Python is told by its folder.
_CONFIGURES = regex(r"\./configure|\bcmake\b")
_OF_C = regex(r"\bmake\b")
_INTO_PATH = regex(r"/s?bin\b|\bpip[\d.]* install [^\n]{0,200}(?:\s\.(?:\s|$)|-e )|setup\.py")
_JOINTS = frozenset({"&&", "||", ";", "|", "&", ">", ">>"})
_WITH_OPTION = regex(r"[\w./-]{1,100}\.py\s+\S.{0,200}")
_PORT = regex(r"--(?:port|bind)(?:=.{0,80})?|-b|[\w.]{0,60}:\$\{?\w{1,60}\}?")
_UNREAD = regex(r"(?:[\w.:=/-]{0,60})\$(?:\{[A-Za-z_]\w{0,60}\}|[A-Za-z_]\w{0,60})")


def start_unread(stages: Sequence[BuildStage]) -> Iterator[Finding]:
    """The last ENTRYPOINT, and the last CMD where no ENTRYPOINT of the file reads it."""
    chain = final_chain(stages)
    entry = last_of(chain, "ENTRYPOINT")
    command = last_of(chain, "CMD")
    for part in (entry, command):
        alone = part is entry or entry is None
        told = _fault(part, alone=alone) if part is not None else None
        if part is not None and told is not None:
            yield stop(
                faults.WORD_UNKNOWN,
                told[0],
                subject_of(part.line, part.keyword),
                impact="The container exits immediately.",
                fix=told[1],
            )
        elif part is not None and alone and _is_by_name(part, chain):
            yield stop(
                faults.PROGRAM_MISSING,
                f"{(exec_form(part.text) or [''])[0]} is looked up in PATH, not in the current directory",
                subject_of(part.line, part.keyword),
                impact="The container exits immediately: executable file not found in $PATH.",
                fix='Start it with its program, as in ["python3", "FILE.py"], or write the full path.',
            )
        elif part is not None and alone and _lacks_python(part, chain):
            yield stop(
                faults.PROGRAM_MISSING,
                "Ubuntu provides python3 but not python, and nothing in this file installs python",
                subject_of(part.line, part.keyword),
                impact="The container exits immediately: python is not found.",
                fix="Use python3 (install it if the image does not have it), or install python-is-python3.",
                sources=("distribution-packages",),
            )
        elif part is not None and alone:
            yield from _literal(part)


def _is_by_name(part: Instruction, chain: Sequence[BuildStage]) -> bool:
    """True for a script that is named without a folder, where nothing of the file puts it into one of PATH."""
    words = exec_form(part.text) or [""]
    if not _SCRIPT_NAME.fullmatch(words[0]) or not _WITHOUT_SCRIPTS.fullmatch(image_name(chain[0].image).repository):
        return False
    texts = [one.text for one in parts_of(chain, "RUN", *COPIES)]
    if "PATH" in chain[-1].environment or any("PATH=" in text or _INTO_PATH.search(text) for text in texts):
        return False
    return not any("from" in one.flags for one in parts_of(chain, "COPY"))


def _lacks_python(part: Instruction, chain: Sequence[BuildStage]) -> bool:
    """True where a container of Ubuntu starts `python`, and nothing may have put one there."""
    words = exec_form(part.text) or part.text.split()
    base = image_name(chain[0].image)
    if words[:1] != ["python"] or base.repository not in _OF_UBUNTU or not _UBUNTU.search(base.tag or ""):
        return False
    texts = [one.text for one in parts_of(chain, "RUN", "ENV", "SHELL", *COPIES)]
    texts = [_OF_C.sub("", text) if _CONFIGURES.search(text) else text for text in texts]
    scripts = any(one.heredocs or "from" in one.flags for one in parts_of(chain, "RUN", *COPIES))
    return not scripts and not any(_BRINGS_PYTHON.search(text) for text in texts)


def _literal(part: Instruction) -> Iterator[Finding]:
    """The first argument of a known program that still holds the name of a variable: it stops at a port that is one,
    and may take another argument as it is."""
    words = exec_form(part.text) or []
    given = words[1:] if words and _PROGRAM.fullmatch(words[0]) and "-c" not in words else []
    at = next((at for at, word in enumerate(given) if _UNREAD.fullmatch(word)), None)
    if at is None:
        return
    port = _PORT.fullmatch(given[at - 1] if at else "") or _PORT.match(given[at])
    yield finding(
        faults.WORD_UNKNOWN,
        Status.FAIL if port else Status.WARN,
        f"no shell reads this {part.keyword}: the program gets the text {given[at]}",
        subject_of(part.line, part.keyword),
        impact="The container exits immediately, or starts with a different argument than intended.",
        remedy=Remedy(f"Write {part.keyword} without brackets, or call sh -c."),
    )


def _fault(part: Instruction, *, alone: bool) -> tuple[str, str] | None:
    """What is wrong with the text, and what to write; None for nothing. `alone`: it names the program itself."""
    words = exec_form(part.text)
    if words is None:
        if _BROKEN.match(part.text) is None:
            return None
        title = f"this {part.keyword} is not a JSON array: a shell gets it, brackets and all"
        return title, 'Write each word in double quotes, with commas between them: ["python3", "app.py"].'
    if not alone or not words:
        return None
    if _SENTENCE.fullmatch(words[0]):
        return f"there is no program named {words[0]}", "Write the program and each argument as a separate word."
    joint = next((word for word in words[1:] if word in _JOINTS), None)
    if joint is not None and "-c" not in words:
        return f"no shell reads this {part.keyword}: {joint} is an argument of {words[0]}", "Call a shell: sh -c."
    if len(words) > 1 and _PYTHON.fullmatch(words[0]) and _WITH_OPTION.fullmatch(words[1]):
        return f"there is no file named {words[1]}", "Write the file and each option as a separate word."
    return None
