"""Which machine and which Python a line of a pasted session is about, as prompts and commands tell."""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.ingest.answers import PROMPT, command_above, command_index
from envkit.ingest.text import Text

_HOST = regex(r"\b[a-z_][\w-]{0,31}@(?P<host>[A-Za-z0-9][\w.-]{0,60})(?=[:\s~\]])")
_NOTEBOOK = regex(r"[!%]|In \[")
_ELSEWHERE = regex(
    r"\b(?:docker|podman|nerdctl|kubectl|singularity|apptainer|enroot|srun|salloc|sbatch|ssh|wsl|lxc|incus|distrobox"
    r"|toolbox|nsenter|chroot|vagrant|multipass)\b"
    r"(?=(?:[ .]| -)[^\n|]{0,200}\b(?:run|exec|enter|shell|python|bash|sh)\b"
    r"|[^\n|]{0,200}\bpython)"
)  # what runs the rest of its line at another place
_AS_ROOT = regex(r"[#$>] ?sudo\b|^root@|^# ")
_WITH_VARIABLE = regex(r"[#$>;&] ?(?:env )?(?:-u )?(?:CUDA|LD|NVIDIA|PYTHON|JAX|XLA|TF)_?[A-Z_]{0,40}=\S{0,200} ")
_REPAIRS = regex(
    r"[#$>;&] ?(?:sudo )?(?:unset|export (?!PATH=)|modprobe|nvidia-modprobe|rmmod|chmod|chown|usermod|newgrp|ldconfig$"
    r"|mknod|systemctl (?:re)?start|nvidia-smi (?:-r|-pm|-c|--gpu-reset)\b)"
)
_BACK = regex(r"[#$>%] ?(?:exit|logout)\b")
ENGINES = frozenset(("docker", "podman", "nerdctl", "kubectl", "singularity", "apptainer", "enroot"))
_CONTAINER = regex(r"@(?=[a-f]{0,11}\d)[0-9a-f]{12}:")
_ENTERS = regex(r"[#$>%] ?(?:ssh|salloc|srun|wsl|distrobox enter|toolbox enter)\b")
_RUN = regex(
    r"(?<![\w.-])(?:python[\d.]{0,5}|py(?= -?[\d.]{0,5} ?\S{1,80}\.py)|torchrun|deepspeed|ipython3?"
    r"|accelerate launch)(?:\.exe)?\b"
    r"(?! -[cV] | ?- ?<<| --version)(?:[^\n|;&]{0,160}?(?P<file>[\w.-]{1,60}\.py)\b"
    r"|[^\n|;&]{0,40}? -m (?!pip\b|venv\b|virtualenv\b|site\b|torch\.utils\.collect_env\b|(?:json|http)\b)"
    r"(?P<module>[\w.]{2,60}))"
)
_LOGS = regex(
    r"\b(?:journalctl|dmesg|systemctl|coredumpctl|supervisorctl|crontab"
    r"|(?:docker|podman|kubectl|nerdctl)(?: compose)? logs"
    r"|gh run|docker-compose logs)\b|\.(?:log|out|err)\b|/var/log/|\bnohup\.out\b|\bslurm-\d"
)
_FOLDER = regex(
    r"(?<![^\s;&|(\x22'=])(?P<folder>(?:[A-Za-z]:)?[^\s;&|()\x22'=]{1,160})[/\\](?:bin|Scripts)[/\\]"
    r"(?:python[\d.]{0,5}|pip[\d.]{0,4}|activate|Activate\.ps1)(?:\.exe|\.bat)?(?=[\s;&|\x22')]|$)"
)
_NAMED = regex(
    r"\b(?:(?:conda|mamba|micromamba|source|pyenv) activate|workon|(?:conda|mamba|micromamba) run"
    r"(?: --?[a-z-]{4,24}){0,2} -(?:n|p|-name|-prefix)|(?:conda|mamba|micromamba) list -[np]) (?P<name>[^\s;&|]{1,120})"
)
_LAUNCHED = regex(r"\b(?P<by>uv run|poetry run|pipenv run|pixi run|hatch run|rye run|py -\d(?:\.\d{1,2})?)\b")
_SHOWN = regex(r"\((?P<name>[\w./~-]{1,60})\) ")
_SYSTEM = regex(r"/usr(?:/local)?$|^/$")
_BY_PROJECT = ".venv"  # where uv, poetry, pipenv and others keep a project's environment by default
_HEADING = regex(
    r"(?:#{1,4} )?(?:On|In|Inside|Within|From|Auf|Im|In der|Dans|En|Dentro de|Sur) "
    r"(?:(?:the|my|our|la|el|le|der|dem|all) )?"
    r"(?P<place>[\w.-]{2,30}(?: [\w.-]{1,20}){0,3})(?: \([^()\n]{1,80}\))?:$"
)
_ATTEMPT = regex(
    r"\s{0,4}(?:But |And |Only )?(?:with(?:out)?|when|if (?:I|we|you)|once (?:I|we)|using|(?:the )?same|by hand)\b"
    r"[^\n]{2,120}:$",
    re.IGNORECASE,
)  # a heading: what stands below it was done in another way
_LONGEST = 400  # lines of one answer


def asked_by(text: Text, offset: int) -> str:
    """The line with the command that printed what stands at `offset`; '' where an empty line is in between.

    What a command line holds is of that command, what somebody typed as a remark of none.
    """
    index = text.index(offset)
    if prompt := PROMPT.match(text.lines[index]):
        return "" if text.lines[index].startswith("#", prompt.end()) else text.lines[index]
    above = command_index(text, index)
    return (
        text.lines[above] if above >= 0 and not any(_parts(text, number) for number in range(above + 1, index)) else ""
    )


def _parts(text: Text, index: int) -> bool:
    """Whether a line is empty, other than the one between the two tables of nvidia-smi."""
    return not text.lines[index].strip() and not text.lines[index - 1].startswith("+--")


def program_of(command: str) -> str:
    """The file or module of the Python program that a command runs; '' where it only looks whether a thing is there."""
    run = _RUN.search(command)
    return run["file"] or run["module"] if run else ""


def reads_a_log(command: str) -> bool:
    """Whether a command shows what other programs said, at other times."""
    return _LOGS.search(command) is not None


def machine_of(command: str) -> str:
    """A word for the machine, container or notebook in which a command ran: equal for two that ran in one place."""
    head, typed = _divided(command)
    if _NOTEBOOK.match(head):
        return "notebook"
    if elsewhere := _ELSEWHERE.search(typed):
        return elsewhere[0]
    host = _HOST.search(head)
    return host["host"] if host else ""


def login_of(command: str) -> str:
    """`user@gpu01` of a prompt, '' where it shows none."""
    host = _HOST.search(_divided(command)[0])
    return host[0] if host else ""


def place_of(text: Text, offset: int, command: str) -> str:
    """The machine of a command, '' where neither its prompt nor a heading such as `On the guest:` above tells it."""
    if machine := machine_of(command):
        return machine
    index = text.index(offset)
    for number in range(index - 1, max(index - _LONGEST, -1), -1):
        if heading := _HEADING.match(text.lines[number]):
            return heading["place"].lower()
    return ""


def _divided(command: str) -> tuple[str, str]:
    """The prompt of a command line, '' where there is none, and what is typed behind it."""
    prompt = PROMPT.match(command)
    end = prompt.end() if prompt else 0
    return command[:end], command[end:]


def in_another_way(text: Text, offset: int, end: int) -> bool:
    """Whether what came later was done as root, with a variable set, or after a repair: then the first is a fault."""
    before, later = asked_by(text, offset), command_above(text, end)
    lines = text.lines[text.index(offset) + 1 : text.index(end)][:_LONGEST]
    repaired = any(_REPAIRS.search(line) for line in lines if PROMPT.match(line)) or tried_again(text, offset, end)
    return repaired or any(way.search(later) and not way.search(before) for way in (_AS_ROOT, _WITH_VARIABLE))


def tried_again(text: Text, offset: int, end: int) -> bool:
    """Whether a heading between the places, such as `With the line commented out:`, says that a thing was changed."""
    lines = text.lines[text.index(offset) + 1 : text.index(end) + 1][:_LONGEST]
    return any(_ATTEMPT.match(line) is not None and not PROMPT.match(line) for line in lines)


def goes_on_to(text: Text, offset: int, end: int) -> bool:
    """Whether a command between the two places goes on to another machine or into a container, and none comes back.

    What stands at `offset` was said before it, so that it is of a place that was left.
    """
    first, last = text.index(offset), text.index(end)
    if last - first > _LONGEST or _ELSEWHERE.search(asked_by(text, offset)):
        return False
    commands = [line for line in text.lines[first + 1 : last + 1] if PROMPT.match(line)]
    return any(_ELSEWHERE.search(line) or _ENTERS.search(line) for line in commands) and not any(
        map(_BACK.search, commands)
    )


def inside_container(text: Text, offset: int) -> bool:
    """Whether the prompt above is a container's, or its command runs in one: what is there is not the host's."""
    command = command_above(text, offset)
    return bool(_CONTAINER.search(command) or machine_of(command) in ENGINES)


def python_of(command: str) -> str:
    """A word for the Python environment that a command used, '' where nothing names one."""
    head, typed = _divided(command)
    if folder := _FOLDER.search(typed):
        return "" if _SYSTEM.search(folder["folder"]) else _plain(folder["folder"])
    if named := _NAMED.search(typed):
        return _plain(named["name"])
    if launched := _LAUNCHED.search(typed):
        return launched["by"] if launched["by"].startswith("py ") else _BY_PROJECT
    shown = _SHOWN.match(head) or _SHOWN.search(head)
    return _plain(shown["name"]) if shown else ""


def same_python(one: str, other: str) -> bool:
    """Whether two such words are of one environment: a prompt shows the last part of its path."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def _plain(place: str) -> str:
    return re.sub(r"^(?:~|\.|\$HOME)/", "", place.replace("\\", "/").rstrip("/")) or place


class Pythons:
    """Which Python the lines of a text are of, asked for one place after another."""

    def __init__(self, text: Text) -> None:
        self._text = text
        self._commands: dict[int, int] = {}  # of a line, the one with the command above it
        self._names: dict[int, str] = {}

    def at(self, offset: int) -> str:
        """A word for the Python whose command printed what stands at `offset`, or whose command stands there."""
        number = self._command(self._text.index(offset))
        if number not in self._names:
            self._names[number] = python_of(self._text.lines[number]) if number >= 0 else ""
        return self._names[number]

    def _command(self, index: int) -> int:
        passed, found = list[int](), -1
        for number in range(index, max(index - _LONGEST, -1), -1):
            if number in self._commands:
                found = self._commands[number]
                break
            passed.append(number)
            if PROMPT.match(self._text.lines[number]):
                found = number
                break
        self._commands.update(dict.fromkeys(passed, found))
        return found
