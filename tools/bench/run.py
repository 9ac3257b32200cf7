"""Times envkit's commands next to bare Python and its peers, whole processes in turn, and writes docs/benchmarks.md.

Peers that the package index has are installed into a folder of their own. Ratios matter, not milliseconds: each
round runs every command once, so that a machine whose speed drifts treats all of them alike.
"""

from __future__ import annotations

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

from tools.bench import resolver

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "bench"
PEERS = ["hpccm", "env-doctor", "cuda-doctor", "gpustat", "nvitop", "uv"]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "11"))
RECIPE = "Stage0 += baseimage(image='nvidia/cuda:12.4.1-devel-ubuntu22.04')\nStage0 += gnu()\n"
MODULES = """
import sys
from envkit.__main__ import run
run()
names = sorted(sys.modules)
import json
print("\\n" + json.dumps(names), file=sys.stderr)
"""


def main() -> None:
    """Run the rounds and write the table."""
    peers = _environment("peers", PEERS)
    product = _environment("product", [str(ROOT)])
    try:
        torch: Path | None = _environment("torch", [str(ROOT), os.environ.get("BENCH_TORCH", "torch")])
    except subprocess.CalledProcessError:
        torch = None  # no wheel for this machine: the rows that need it are left out
    commands = _commands(product, peers, torch)
    times: dict[str, list[float]] = {name: [] for name in commands}
    memory: dict[str, float] = {}
    for round_number in range(ROUNDS + 1):
        for name, command in commands.items():
            seconds, peak = _once(command)
            if round_number:  # the first round only warms caches
                times[name].append(seconds)
            memory[name] = max(memory.get(name, 0), peak)
    table = _table(commands, times, memory) + resolver.table() + _modules_table(product, commands)
    (ROOT / "docs" / "benchmarks.md").write_text(table, encoding="utf-8")
    print(table)


def _commands(product: Path, peers: Path, torch: Path | None) -> dict[str, list[str]]:
    CACHE.mkdir(parents=True, exist_ok=True)
    recipe = CACHE / "recipe.py"
    recipe.write_text(RECIPE)
    text = CACHE / "long.txt"
    text.write_text("torch==2.13.0\nWARNING: some log line\n" * 20000)
    envkit = str(product / "envkit")
    commands = {
        "python -c pass": [str(product / "python"), "-c", "pass"],
        "envkit --help": [envkit, "--help"],
        "envkit resolve": [envkit, "resolve", "--framework", "pytorch"],
        "envkit install": [envkit, "install", "--cuda", "9.0", "--framework", "pytorch"],
        "envkit dockerfile": [envkit, "dockerfile", "--framework", "tensorflow"],
        "envkit resolve (refused)": [envkit, "resolve", "--framework", "pytorch==2.6", "--gpu", "RTX 5090"],
        "envkit matrix toolkits": [envkit, "matrix", "toolkits"],
        "envkit matrix image_tags --format json": [envkit, "matrix", "image_tags", "--format", "json"],
        "envkit doctor": [envkit, "doctor"],
        "envkit doctor --from 1 MB text": [envkit, "doctor", "--from", str(text)],
        "hpccm basic recipe": [str(peers / "hpccm"), "--recipe", str(recipe)],
        "env-doctor check": [str(peers / "env-doctor"), "check"],
        "cuda-doctor diagnose": [str(peers / "cuda-doctor"), "diagnose"],
        "gpustat": [str(peers / "gpustat")],
        "nvitop --once": [str(peers / "nvitop"), "--once"],
        "uv --torch-backend dry run": [
            str(peers / "uv"), "pip", "install", "--offline", "--dry-run", "--torch-backend=cpu", "torch",
        ],
    }  # fmt: skip
    if torch is not None:
        commands["envkit doctor (torch installed)"] = [str(torch / "envkit"), "doctor"]
        commands["collect_env (torch installed)"] = [str(torch / "python"), "-m", "torch.utils.collect_env"]
    return commands


def _environment(name: str, packages: list[str]) -> Path:
    """The programs of an environment that holds these packages. Raises CalledProcessError."""
    folder = CACHE / name
    if not (folder / "bin" / "pip").exists():
        venv.create(folder, with_pip=True)
    subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", "--upgrade", *packages], check=True)
    return folder / "bin"


def _once(command: list[str]) -> tuple[float, float]:
    """Wall seconds and peak memory in MB of one run, output thrown away."""
    began = time.perf_counter()
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd=CACHE
    )
    _, _, usage = os.wait4(child.pid, 0)
    return time.perf_counter() - began, _megabytes(usage)


def _modules_table(product: Path, commands: dict[str, list[str]]) -> str:
    """How many modules each of our commands has loaded when it ends, and which libraries that are not of Python."""
    lines = [
        "## Modules loaded",
        "",
        "Modules in the command's own process when it ends; libraries that are loaded in child processes (pynvml, "
        "docker) do not count.",
        "",
        "| command | all | envkit's | libraries |",
        "|---|---|---|---|",
    ]
    for name, command in commands.items():
        if command[0] == str(product / "envkit"):
            modules = _modules(product, command[1:])
            own = sum(module.split(".")[0] == "envkit" for module in modules)
            tops = {module.split(".")[0] for module in modules} - {"envkit"} - sys.stdlib_module_names
            libraries = ", ".join(sorted(top for top in tops if not top.startswith("_"))) or "none"
            lines.append(f"| `{name}` | {len(modules)} | {own} | {libraries} |")
    return "\n".join(["", *lines, ""])


def _modules(product: Path, words: list[str]) -> list[str]:
    """The modules of the process that has run these words."""
    done = subprocess.run(
        [str(product / "python"), "-c", MODULES, *words], capture_output=True, text=True, check=True, cwd=CACHE
    )
    modules: list[str] = json.loads(done.stderr.splitlines()[-1])
    return modules


def _megabytes(usage: resource.struct_rusage) -> float:
    return usage.ru_maxrss / 1024


def _table(commands: dict[str, list[str]], times: dict[str, list[float]], memory: dict[str, float]) -> str:
    bare = statistics.median(times["python -c pass"])
    lines = [
        "# Benchmarks",
        "",
        f"Whole processes, {ROUNDS} rounds after a warm-up, each command once per round. {os.cpu_count()} cores, "
        f"{platform.machine()}, Python {platform.python_version()}, no GPU. Written by `make bench`; compare ratios, "
        "not milliseconds.",
        "",
        "| command | median ms | min | max | × bare Python | peak MB |",
        "|---|---|---|---|---|---|",
    ]
    for name in commands:
        spent = times[name]
        middle = statistics.median(spent)
        lines.append(
            f"| `{name}` | {middle * 1e3:.0f} | {min(spent) * 1e3:.0f} | {max(spent) * 1e3:.0f} "
            f"| {middle / bare:.1f} | {memory[name]:.0f} |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
