"""A recipe as a Dockerfile."""

from __future__ import annotations

import json
import re
import shlex

from envkit.image.options import ImageOptions
from envkit.image.parts import Recipe
from envkit.render.templating import template
from envkit.tables import images as data


def render_dockerfile(recipe: Recipe) -> str:
    """The Dockerfile of the recipe; the same recipe always gives the same text."""
    return template("dockerfiles", "Dockerfile.j2").render(
        recipe=recipe,
        header=header(recipe),
        frontend=data.frontend(),
        renamed=recipe.runtime.user != ImageOptions().user,  # a name that was asked for holds in every base
        quoted=quoted,
        shell=shell_word,
        label=_label,
        json=json.dumps,
        kind=lambda part: type(part).__name__,
    )


def header(recipe: Recipe) -> list[str]:
    """The comment lines on top: what the image holds, what its host needs, how to build and run it."""
    choice = recipe.plan.choice
    lines = [f"{recipe.title}. Written by envkit."]
    lines += missing_lines(recipe)
    if recipe.runtime.environment:
        driver = f"NVIDIA driver {choice.minimum_driver} or newer" if choice.minimum_driver else "an NVIDIA driver"
        lines.append(f"The host needs {driver} and the NVIDIA Container Toolkit. It does not need CUDA itself.")
    gpus = "--gpus all " if recipe.runtime.environment else ""
    shared = shared_memory(recipe)
    # An entrypoint takes every word for its own: the test has to be in its place.
    own = recipe.official or recipe.runtime.entrypoint
    test = f"--entrypoint smoke-test {recipe.name}" if own else f"{recipe.name} smoke-test"
    port = f"-p {recipe.runtime.port}:{recipe.runtime.port} " if recipe.runtime.port else ""
    lines += [
        f"Build:   docker build -t {recipe.name} .",
        f"Run:     docker run --rm -it {gpus}{shared}{port}{recipe.name}",
        f"Publish: docker buildx build --push --sbom=true --provenance=mode=max -t REGISTRY/{recipe.name} .",
        f"Test:    docker run --rm {gpus}{test}",
        "Options for docker build, if you need them:",
        "  your own CA:    --secret id=ca,src=CA.pem --build-arg PIP_CERT=/run/secrets/ca"
        " --build-arg SSL_CERT_FILE=/run/secrets/ca",
        "  your own index: --secret id=pip,src=pip.conf",
        "  a proxy:        --build-arg http_proxy=URL --build-arg https_proxy=URL",
    ]
    return lines


def missing_lines(recipe: Recipe) -> list[str]:
    """The comment lines on what a project asks for and the image does not install; none where it installs all."""
    lines = [f"  {line}" for line in recipe.missing]
    return ["NOT INSTALLED, although the project asks for it:", *lines] if lines else []


def shared_memory(recipe: Recipe) -> str:
    """The option of `docker run` that enlarges /dev/shm, with a blank after it; '' where the default will do."""
    size = recipe.runtime.shared_memory_gib
    return f"--shm-size={size}g " if size else ""


def quoted(value: str) -> str:
    """A value for ENV and ARG: bare where that is safe, otherwise in double quotes; `$NAME` stays a reference."""
    if value and all(letter.isalnum() or letter in "_-+./:,@$" for letter in value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _label(value: str) -> str:
    """A value for LABEL, which no variable may change."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$") + '"'


def shell_word(text: str) -> str:
    """One shell word, in double quotes where single ones are inside, so that it stays readable."""
    if "'" not in text:
        return shlex.quote(text)
    return '"' + re.sub(r'([\\"$`])', r"\\\1", text) + '"'
