"""CUDA_VISIBLE_DEVICES that something outside the program sets: a Compose file, a script, a job's launcher."""

from __future__ import annotations

from envkit.checks.engine.command import NUMBER, PROGRAM, fixed, run
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import managed_by
from envkit.checks.engine.messages import number_named, seen
from envkit.checks.engine.remedies import on_windows
from envkit.model import Environment

_ID = "cuda-visible-devices-invalid"
_NAME = "CUDA_VISIBLE_DEVICES"


def set_elsewhere(environment: Environment) -> Remedy | None:
    """The remedy in the file or the launcher that sets it; None where a shell or nobody known does."""
    if seen(environment, _ID, "detail-in-compose") and managed_by(environment, "compose"):
        return Remedy(
            f"The Compose file sets {_NAME}: delete that line. The container gets its GPUs by NVIDIA_VISIBLE_DEVICES "
            f"or by the device reservation, which may say all; {_NAME} takes numbers or UUIDs only. Without it, the "
            "program sees every GPU of the container. Then create the container again; the last command must print "
            "nothing (write your service's name).",
            (
                fixed("docker compose up -d --force-recreate"),
                fixed("docker compose exec SERVICE printenv CUDA_VISIBLE_DEVICES"),
            ),
        )
    return _by_jsrun(environment) or _in_script(environment)


def _by_jsrun(environment: Environment) -> Remedy | None:
    """jsrun gives each resource set its own GPUs: one process that uses them all needs one set with all of them."""
    told = seen(environment, _ID, "detail-jsrun")
    sets, gpus, cores = (number_named(told, key) for key in ("sets", "gpus", "cores"))
    if not told or sets is None or gpus is None:
        return None
    every = ("-c", NUMBER(sets * cores)) if cores is not None else ()
    return Remedy(
        f"jsrun made {sets} resource sets with {gpus} GPU each (-n, -g), and a task sees only the GPUs of its own set, "
        f"numbered from 0. For one process that uses all {sets * gpus}, make one set that has them; keep your other "
        f"options. For one task per GPU, have the program use device 0 in each task instead. {_NAME} is right as jsrun "
        "sets it.",
        (run("jsrun", "-n1", "-a1", *every, "-g", NUMBER(sets * gpus), "-b", "rs", PROGRAM),),
    )


def _in_script(environment: Environment) -> Remedy | None:
    """A script that comes with the program exports it, so that what the caller's shell has does not matter."""
    if not seen(environment, _ID, "detail-in-script"):
        return None
    find = (
        fixed("findstr /s /n CUDA_VISIBLE_DEVICES *.sh *.bat *.py")
        if on_windows(environment)
        else fixed("grep -rn --include=*.sh --include=*.bash CUDA_VISIBLE_DEVICES= .")
    )
    return Remedy(
        f"The script that starts the program sets {_NAME} itself, which overrides what the shell has: delete that "
        "line, or write 0 in it, the only or the first GPU (nvidia-smi -L lists the numbers). Run the command in "
        "the program's directory: it prints the file and the line of each such script.",
        (find,),
    )


def unset_everywhere(environment: Environment) -> Remedy:
    """The remedy where nobody told what sets it."""
    words = (
        "Without the variable, every GPU is visible: unset it where it is set, including the program's own script or "
        "code ({} finds the line), or use the numbers that nvidia-smi -L lists."
    )
    if on_windows(environment):
        return Remedy(
            words.format("findstr"),
            (fixed("set CUDA_VISIBLE_DEVICES="), fixed("findstr /s /n CUDA_VISIBLE_DEVICES *.py *.sh *.bat")),
        )
    return Remedy(words.format("grep"), (fixed("unset CUDA_VISIBLE_DEVICES"), fixed("grep -rn CUDA_VISIBLE_DEVICES .")))
