"""Containers of a text: signs that it was written inside one, and the image that a command or a manifest names.

root@3f9c1d2a77b0:/workspace# nvidia-smi
docker run --rm --gpus all -v /srv:/srv vllm/vllm-openai:v0.4.2 --model /srv/m
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.text import Text
from envkit.model import MachineKind

_PROMPT = regex(
    r"^(?:\([\w.-]{1,40}\) )?[a-z_][\w-]{0,31}@(?:(?=[0-9a-f]{0,11}\d)[0-9a-f]{12}|C\.\d{5,9}"
    r"|[a-z][a-z0-9-]{0,50}-(?=[a-z]{0,9}\d)[b-df-hj-np-tv-xz2-9]{8,10}-[b-df-hj-np-tv-xz2-9]{5}):\S{0,120}[#$] ?"
    r"|^root@(?=[a-z]{0,15}\d)[a-z0-9]{8,16}:/(?:notebooks|kaggle|workspace)\b\S{0,80}# ?",
    re.MULTILINE,
)  # of a pod: the name of its set, a hash, a random word, in letters that spell no words
_MARKER = regex(
    r"^KUBERNETES_SERVICE_HOST=|"
    r"^(?:-rwx\S{6,8} [^\n]{5,60} )?/\.dockerenv$|^\d{1,3}:[\w,=]{0,40}:/(?:docker|kubepods|lxc)/[^\n]{8,200}$",
    re.MULTILINE,
)
_BANNER = regex(
    r"^NVIDIA Release \d\d\.\d\d \(build \d{1,9}\)$|^== (?:PyTorch|TensorFlow|CUDA|Triton Inference Server|JAX"
    r"|PaddlePaddle) ==$|^Container image Copyright \(c\)",
    re.MULTILINE,
)

_RUN = regex(
    r"\b(?:(?:docker|podman|nerdctl) (?:container )?run|(?:singularity|apptainer) (?:exec|run|shell))"
    r" (?P<words>[^\n]{1,600})"
)
_IMAGE = regex(r"(?:[a-z0-9][a-z0-9._-]{0,60}(?::\d{2,5})?/){0,4}[a-z0-9][a-z0-9._-]{0,80}(?::[\w.-]{1,80})?")
_MANIFEST = regex(
    rf"^[ \t]{{0,20}}(?:- )?image: {{1,4}}[\"']?(?P<image>{_IMAGE.pattern})[\"']?[ \t]{{0,8}}$", re.MULTILINE
)
_ALONE = frozenset(
    ("--nv", "--rm", "--init", "--privileged", "--detach", "--interactive", "--tty", "--read-only", "--no-healthcheck")
)
_NO_IMAGE = frozenset(
    ("\\", "a", "an", "the", "of", "on", "in", "with", "and", "or", "is", "it", "that", "this", "works")
)
_TRIAL = "nvidia/cuda"  # what people start to see whether any container gets the GPU


@reader("container image")
def read_image(text: Text) -> Iterator[Clue]:
    """The image that is started or named in a manifest, where it is one; a trial with a plain CUDA image aside."""
    named = [(_started(match["words"]), match.start()) for match in text.matches(_RUN, "run ", "exec ", "shell ")]
    named += [(match["image"], match.start()) for match in text.matches(_MANIFEST, "image: ")]
    images = {image: offset for image, offset in named if image}
    own = {image: offset for image, offset in images.items() if not image.startswith(_TRIAL)} or images
    if len(own) == 1:
        image, offset = next(iter(own.items()))
        yield Fact("containers.image", image, offset)


_COMMAND = regex(
    r"(?P<line>(?:sudo )?(?:(?:nvidia-)?docker|podman) run (?:[^\n\\]{1,400}|\\(?!\n)|\\\n[ \t>]{0,16}){1,40})"
)
_CONTINUED = regex(r"\\\n[ \t>]{0,16}")
_NEXT_COMMAND = regex(r" ?(?:;|&&|\|\|?) ")


@reader("container command")
def read_command(text: Text) -> Iterator[Clue]:
    """The command that starts the image of the text, with its continued lines; the last one of several."""
    last = None
    for match in text.matches(_COMMAND, "docker run ", "podman run ", lines=40):
        line = _NEXT_COMMAND.split(_CONTINUED.sub(" ", match["line"]).partition("`")[0], 1)[0].strip()
        image = _started(line.partition(" run ")[2])
        if image and not image.startswith(_TRIAL):
            last = (line, match.start())
    if last is not None:
        yield Fact("containers.started_by", *last)


def _started(words: str) -> str:
    """The image among the words behind `docker run`: the first that is neither an option nor the value of one."""
    skipped = False
    for word in words.split():
        if skipped:
            skipped = False
        elif word.startswith("-"):
            joined = "=" in word or word in _ALONE or (word[1:2] != "-" and set(word[1:]) <= set("itd"))
            skipped = not joined
        else:
            return word if _IMAGE.fullmatch(word) and word not in _NO_IMAGE else ""
    return ""


_ENTERED = regex(r"\b(?:docker|podman|nerdctl) (?:container )?(?:run|exec)\b|\b(?:distrobox|toolbox) (?:enter|run)\b")
_LISTS = regex(r"[#$>] ?(?:sudo )?(?:dpkg(?:-query)? -|apt list|rpm -|dnf list|pacman -Q|zypper se)")


@reader("container on a host")
def read_host(text: Text) -> Iterator[Clue]:
    """The command that starts the container, where packages are listed above it only: they are the host's."""
    for match in text.matches(_ENTERED, "run", "exec", "enter"):
        inside = next((sign.start() for sign in text.matches(_PROMPT, "@") if sign.start() > match.start()), -1)
        lists = [
            listed.start() for listed in text.matches(_LISTS, "dpkg", "apt ", "rpm ", "dnf ", "pacman ", "zypper ")
        ]
        if inside >= 0 and lists and max(lists) < match.start():
            yield Fact("containers.host_listed", text.line_at(match.start()), match.start())
        break


@reader("container")
def read(text: Text) -> Iterator[Clue]:
    """The first sign of a container."""
    for pattern, needles in (
        (_PROMPT, ("@",)),
        (_MARKER, ("KUBERNETES_SERVICE_HOST=", "/.dockerenv", ":/docker/", ":/kubepods/", ":/lxc/")),
        (_BANNER, ("NVIDIA Release ", " ==", "Container image Copyright")),
    ):
        for match in text.matches(pattern, *needles):
            yield Fact("system.machine_kind", MachineKind.CONTAINER, match.start())
            break
