"""Variables that have no effect: misspelled, of a wrong library, or set in the way of another shell."""

from __future__ import annotations

from collections.abc import Iterator

from envkit.checks.engine.command import NAME, Command, fixed, run
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Outcome, Remedy, Status
from envkit.checks.engine.messages import message_evidence, named, seen
from envkit.checks.engine.remedies import on_windows
from envkit.model import Environment

_FINDS_ITSELF = (
    "Unset the variable, here and where it is set permanently: Numba finds the driver's library (libcuda.so.1, on "
    "Windows nvcuda.dll) by itself. cudart is the runtime, a different library."
)
_OF_LINUX = ("linux-way", "set-and-program", "powershell", "powershell-abroad", "command-unknown")
_FIRST = fixed("set CUDA_VISIBLE_DEVICES=0")


def _numba_by_itself(environment: Environment) -> tuple[str, tuple[Command, ...]]:
    """The words and the commands for the shell that set it."""
    names = ("NUMBA_CUDA_DRIVER", "NUMBAPRO_CUDA_DRIVER")
    if not on_windows(environment):
        return _FINDS_ITSELF, (run("unset", *names),)
    return (
        f"{_FINDS_ITSELF} In PowerShell, delete the line that sets it ($Env:{names[1]} = ...), also from your profile; "
        "the commands remove a permanent one. Then open a new window.",
        (
            run("powershell", "-Command", "[Environment]::SetEnvironmentVariable('NUMBA_CUDA_DRIVER', '', 'User')"),
            run("powershell", "-Command", "[Environment]::SetEnvironmentVariable('NUMBAPRO_CUDA_DRIVER', '', 'User')"),
        ),
    )


def misset(environment: Environment, fault: Fault) -> Iterator[Outcome]:
    """What the messages of `fault` tell of variables that do not do what was meant."""
    if wrong := seen(environment, fault.id, "numba-driver"):
        yield fault.found(
            message_evidence(environment, wrong),
            title="NUMBA_CUDA_DRIVER or NUMBAPRO_CUDA_DRIVER names the CUDA runtime instead of the driver's library",
            impact="Numba finds no cuInit in it, and uses no GPU.",
            remedy=Remedy(*_numba_by_itself(environment)),
            status=Status.FAIL,
        )
    elif wrong := seen(environment, fault.id, *_OF_LINUX):
        name = named(wrong, "name") or named(wrong, "term") or "NAME"
        yield fault.found(
            message_evidence(environment, wrong),
            title=f"{name} is set in a way that this Windows shell does not support",
            impact="NAME=VALUE before a command is for Linux. set NAME=VALUE COMMAND on one line sets the variable to "
            "the whole rest of the line, and starts nothing.",
            remedy=Remedy(
                f"Use two lines: in the Command Prompt (and Anaconda Prompt) set {name}=VALUE, without quotation marks "
                f"around the value, and then the command. In PowerShell, the first line is $env:{name} = 'VALUE'. The "
                "variable applies to that window only.",
                (_FIRST,) if name.endswith("VISIBLE_DEVICES") else (),
            ),
            status=Status.FAIL,
        )
    elif wrong := seen(environment, fault.id, "blanks"):
        name = named(wrong, "name") or "NAME"
        yield fault.found(
            message_evidence(environment, wrong),
            title=f"{name} is set with spaces around the equals sign",
            impact="The shell treats the name as a command, and the variable is not set.",
            remedy=Remedy(f"Write {name}=VALUE without spaces, in front of the command or after export."),
            status=Status.FAIL,
        )
    elif wrong := seen(environment, fault.id, "too-late", "told-too-late"):
        yield fault.found(
            message_evidence(environment, wrong),
            title="CUDA_VISIBLE_DEVICES is set in the code, after the framework was imported",
            impact="The framework reads it when it first asks for GPUs, and does not see a later change.",
            remedy=Remedy(
                "Set it in front of the command (CUDA_VISIBLE_DEVICES=1 python SCRIPT), or make it the first line of "
                "the script that you start, above every import, because the project's modules import the framework, "
                "too. In a notebook, restart the kernel first. The selected card is then cuda:0 in the program; "
                "nvidia-smi shows which card is busy.",
                (fixed("nvidia-smi"),),
            ),
            status=Status.FAIL,
        )
    elif wrong := seen(environment, fault.id, "misspelled", "misspelled-shown"):
        name = named(wrong, "name") or "NAME"
        yield fault.found(
            message_evidence(environment, wrong),
            title=f"CUDA does not know {name}: the variable is called CUDA_VISIBLE_DEVICES",
            impact="Nothing reads it, so programs see all GPUs and use the first one.",
            remedy=Remedy(
                "Replace the other name with CUDA_VISIBLE_DEVICES everywhere, and keep the value. Set it before the "
                "program first uses CUDA: in front of the command, or above the imports.",
                (_FIRST,) if on_windows(environment) else (run("grep", "-rnw", NAME(name), "."),),
            ),
            status=Status.FAIL,
        )
