"""Pairs of captures, one of which was changed as machines are: what changed is reported, the culprit first."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from envkit.checks.engine.registry import all_checks
from envkit.cli.main import envkit
from envkit.comparison.items import _KNOWN_BY, FACTS_LEFT_OUT, FIELDS_LEFT_OUT
from envkit.model import Environment
from envkit.model.paths import fact_paths
from tests.cli.test_schema import valid
from tests.fakes.machines import MACHINES

TORCH = MACHINES / "ubuntu22.04-rtx4090-550-torch"
Facts = dict[str, Any]
Edit = Callable[[Facts], None]
_ABSENT = {"problem": "absent", "source": "the driver"}


def value(item: object) -> Facts:
    return {"value": item, "source": "the machine"}


def written(path: Path, edit: Edit) -> Path:
    """The facts of a healthy machine with PyTorch, as a file, after something happened to it."""
    facts: Facts = json.loads((TORCH / "facts.json").read_text("utf-8"))
    edit(facts)
    path.write_text(json.dumps(facts))
    return path


def new_kernel(facts: Facts) -> None:
    """An update brought a kernel without a module; the machine was started again."""
    facts["system"]["kernel"] = value("6.8.0-49-generic")
    facts["kernel"].update(loaded_modules=value([]), headers=value("/usr/src/linux-headers-6.8.0-49-generic"))
    facts["gpus"] = _ABSENT
    driver = facts["driver"]
    for name in ("kernel_module", "open_kernel_module", "params", "procfs_gpus", "device_nodes"):
        driver[name] = _ABSENT
    driver["nvml"] = value({"code": 9, "name": "DRIVER_NOT_LOADED", "call": "nvmlInit"})
    driver["cuda_init"] = value({"code": 100, "name": "NO_DEVICE", "call": "cuInit"})


def new_libraries(facts: Facts) -> None:
    """An update brought new libraries of the driver; the old module is still loaded."""
    driver = facts["driver"]
    driver["user_space"] = value("550.120")
    for library in driver["libraries"]["value"]:
        library.update(version="550.120", path=library["path"].replace("550.90.07", "550.120"))
    driver["nvml"] = value({"code": 18, "name": "LIB_RM_VERSION_MISMATCH", "call": "nvmlInit"})
    driver["cuda_init"] = value({"code": 803, "name": "SYSTEM_DRIVER_MISMATCH", "call": "cuInit"})
    facts["gpus"] = {"problem": "unparsable", "source": "NVML"}


def with_package(name: str, version: str) -> Edit:
    def edit(facts: Facts) -> None:
        [python] = facts["pythons"]["value"]
        [package] = [item for item in python["distributions"] if item["name"] == name]
        package["version"] = version

    return edit


def library_path(facts: Facts) -> None:
    """A line in a profile put an old toolkit's libraries before those of the wheel."""
    facts["variables"]["value"]["LD_LIBRARY_PATH"] = "/usr/local/cuda-12.1/lib64"
    [python] = facts["pythons"]["value"]
    site = f"{python['prefix']}/lib/python3.11/site-packages/nvidia"
    python["library_uses"] = [
        {
            "consumer": f"{site}/cusparse/lib/libcusparse.so.12",
            "soname": "libnvJitLink.so.12",
            "path": "/usr/local/cuda-12.1/lib64/libnvJitLink.so.12",
            "rule": "LD_LIBRARY_PATH",
            "version": "12.1.105",
        }
    ]


def diff(*words: object, text: str = "") -> Result:
    return CliRunner().invoke(envkit, ["diff", *map(str, words)], input=text, standalone_mode=False)


def document(*words: object) -> dict[str, Any]:
    done = diff(*words, "--json")
    assert done.exception is None, done.exception
    found: dict[str, Any] = json.loads(done.stdout)
    valid(found, "diff")
    return found


NOTHING: dict[str, list[object]] = {"new": [], "gone": [], "not_judged": []}
H100, LOST = MACHINES / "ubuntu22.04-8xh100-550", MACHINES / "ubuntu22.04-8xh100-lost-gpu"
CPU = json.loads((MACHINES / "ubuntu22.04-rtx4090-550-torch-cpu" / "facts.json").read_text("utf-8"))
PAIRS = {
    "kernel": (new_kernel, "module-missing-for-running-kernel", ("system.kernel", "", "6.8.0-49-generic")),
    "libraries": (new_libraries, "driver-library-mismatch", ("driver.user_space", "", "550.120")),
    "cpu-wheel": (lambda facts: facts.update(CPU), "cpu-only-wheel", ("pythons.distributions", "torch", "2.6.0+cpu")),
    "cudnn": (
        with_package("nvidia-cudnn-cu12", "8.9.2.26"),
        "nvidia-wheels-pin-conflict",
        ("pythons.distributions", "nvidia-cudnn-cu12", "8.9.2.26"),
    ),
    "variable": (
        library_path,
        "nvjitlink-symbol",
        ("variables", "LD_LIBRARY_PATH", "/usr/local/cuda-12.1/lib64"),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_culprit_of_what_is_new_comes_first(name: str, tmp_path: Path) -> None:
    edit, id, culprit = PAIRS[name]  # noqa: A001 - as in reports
    new = written(tmp_path / "new.json", edit)
    found = document(TORCH, new)
    assert found["findings"]["new"][0]["id"] == id
    first = found["changes"][0]
    assert (first["fact"], first["name"], first["new"]) == culprit and id in first["culprit_of"]
    assert found["culprit"] == first
    assert diff(TORCH, new).return_value == 1
    shown = diff(TORCH, new).stdout
    assert shown.index("  Cause ") < shown.index("\n  * ")
    prose = [line for line in shown.splitlines() if not line.startswith(" " * 10)]  # commands stay whole
    assert max(map(len, prose)) < 120
    back = document(new, TORCH)
    assert not back["findings"]["new"] and id in [finding["id"] for finding in back["findings"]["gone"]]
    assert diff(new, TORCH).return_value == 0


def test_a_gpu_that_is_lost_is_the_culprit() -> None:
    found = document(H100, LOST)
    first = found["changes"][0]
    assert (first["fact"], first["name"], first["new"]) == ("gpus", "0000:c3:00.0", None)
    assert first["culprit_of"][0] == found["findings"]["new"][0]["id"] == "gpu-fallen-off-bus"


@pytest.mark.parametrize("machine", [TORCH, H100, LOST])
def test_what_did_not_change_is_not_reported(machine: Path) -> None:
    found = document(machine, machine)
    assert (found["culprit"], found["changes"], found["findings"]) == (None, [], NOTHING)
    done = diff(machine, machine)
    assert done.return_value == 0 and "No relevant changes" in done.stdout


def test_what_differs_between_any_two_looks_is_not_reported(tmp_path: Path) -> None:
    """A masked capture of another day: other temperatures, processes, memory and another order of pseudonyms."""

    def another_day(facts: Facts) -> None:
        facts["collected_at"] = "2026-11-25T10:00:00Z"
        [gpu] = facts["gpus"]["value"]
        gpu.update(temperature_c=67, utilization_percent=98, memory_used_bytes=9 << 30, throttle_reasons=4)
        gpu.update(processes=[4711], pcie_replays=3, link_generation_current=1, gpu_uuid="GPU-other")
        [pci] = facts["pci_gpus"]["value"]
        pci["link"]["speed_current"] = 2.5
        pci.update(power_state="D3hot", aer_errors={"correctable": 2})
        system = facts["system"]
        system["memory_bytes"]["value"] -= 4096 * 9
        system["free_bytes"] = value({"/": 1 << 30})
        facts["kernel"]["log"] = value(["[ 9.1] nvidia-nvlink: Nvlink Core is being initialized"])
        renamed = json.dumps(facts).replace("/srv/name1", "/srv/name2")
        facts.update(json.loads(renamed))

    def first_day(facts: Facts) -> None:
        [python] = facts["pythons"]["value"]
        facts.update(json.loads(json.dumps(facts).replace(python["prefix"], "/srv/name1/venv")))

    def both(facts: Facts) -> None:
        first_day(facts)
        another_day(facts)

    old, new = written(tmp_path / "old.json", first_day), written(tmp_path / "new.json", both)
    assert document(old, new)["changes"] == []
    assert document(old, new, "--mask")["changes"] == []


def test_a_text_tells_a_part_and_what_it_leaves_out_is_not_gone(tmp_path: Path) -> None:
    text = tmp_path / "pip.txt"
    text.write_text("$ pip list\nPackage Version\n------- -------\ntorch   2.5.1\nnumpy   1.26.4\n")
    found = document(TORCH, text)
    assert [(change["name"], change["new"]) for change in found["changes"] if change["fact"] == "pythons.distributions"]
    assert all(change["new"] is not None for change in found["changes"])
    assert "driver.kernel_module" in found["not_compared"]
    assert str(text) in diff(TORCH, text).stdout
    for form in ((), ("--json",)):
        masked = diff(TORCH, text, "--mask", *form).stdout
        assert str(text) not in masked and "NEW" in masked  # people and machines give files their names


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    for words, said in (
        ((tmp_path / "none", TORCH), "OLD: cannot read"),
        ((TORCH, tmp_path / "empty"), "NEW: "),
        (("-", "-"), "cannot both be standard input"),
    ):
        error = diff(*words).exception
        assert said in str(error) and "\n" not in str(error)


def test_what_is_left_out_and_how_records_are_known_again_exist() -> None:
    """A fact or field that is renamed would come back as a change that nobody wants to see, or as a position."""
    from envkit._startup.records import types_of
    from envkit.model import devices, software, surroundings, system

    records = {
        name: kind
        for module in (devices, software, surroundings, system)
        for name, kind in vars(module).items()
        if isinstance(kind, type) and kind.__module__ == module.__name__ and hasattr(kind, "__annotations__")
    }
    assert set(fact_paths()) >= FACTS_LEFT_OUT and isinstance(Environment(), Environment)
    for name in FIELDS_LEFT_OUT:
        kind, _, field = name.partition(".")
        assert field in types_of(records[kind]), name
    for kind, (keys, told) in _KNOWN_BY.items():
        assert {*keys.split(), told} <= set(types_of(records[kind])), kind


@pytest.mark.thorough
def test_every_machine_against_itself_and_its_neighbor() -> None:
    names = sorted(path for path in MACHINES.iterdir() if path.is_dir())
    ids = set(all_checks())
    for old, new in zip(names, names[1:], strict=False):
        assert document(old, old)["changes"] == [], old.name
        found = document(old, new)
        assert all(set(change["culprit_of"]) <= ids for change in found["changes"])
        first = [bool(change["culprit_of"]) for change in found["changes"]]
        assert first == sorted(first, reverse=True)
