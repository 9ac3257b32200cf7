"""What one side does not tell neither came nor went, and what brought a symptom is before it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from envkit.checks.engine.findings import Evidence, Finding, Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.comparison.changes import Change, compared
from envkit.comparison.culprits import Difference, difference
from envkit.comparison.repeats import told_once
from envkit.ingest import parse_text
from envkit.model import Environment, Problem, SystemPackage, found, missing
from envkit.model.paths import with_facts
from envkit.render.difference_text import difference_text
from envkit.tables import Matrix
from tests.fakes.machines import load_machine
from tests.processor_time import least_seconds

ID = "driver-library-mismatch"
PIP = "Package Version\n------- -------\nnumpy   1.26.4\ntorch   2.5.1\n"
WORKS = """$ uname -r
6.8.0-60-generic
$ nvidia-smi
| NVIDIA-SMI 550.144.03             Driver Version: 550.144.03     CUDA Version: 12.4     |
|   0  NVIDIA GeForce RTX 3090        Off |   00000000:01:00.0 Off |                  N/A |
"""
FAILS = """$ uname -r
6.8.0-62-generic
$ nvidia-smi
NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver \
is installed and running.
"""


def made(status: Status, subject: str = "") -> Finding:
    return Finding(ID, status, "a title", subject, (Evidence("driver.user_space", "550.120"),))


def of(old: Environment, new: Environment) -> Difference:
    checks = all_checks()
    sides = [(side, run_checks(side, Matrix.load(), checks.values())) for side in (old, new)]
    return difference(sides[0], sides[1], checks)


@pytest.mark.parametrize("answer", [(), (Status.UNKNOWN,), (Status.ERROR,), (Status.UNKNOWN, Status.ERROR)])
def test_without_an_answer_of_the_other_side_nothing_came_or_went(answer: tuple[Status, ...]) -> None:
    nothing = Environment()
    told, silent = [made(Status.FAIL)], [made(status) for status in answer]
    later = difference((nothing, told), (nothing, silent), {})
    assert (later.gone, later.not_judged) == ((), tuple(told))
    assert "Not checked in NEW: a title" in difference_text((nothing, told), (nothing, silent), later)
    before = difference((nothing, silent), (nothing, told), {})
    assert before.not_judged_before == {ID} and before.worse
    assert "1 problem not checked in OLD" in difference_text((nothing, silent), (nothing, told), before)


@pytest.mark.parametrize("answer", [(Status.OK,), (Status.SKIP,), (Status.UNKNOWN, Status.OK)])
def test_an_answer_of_the_other_side_tells_what_came_and_went(answer: tuple[Status, ...]) -> None:
    told, healthy = [made(Status.FAIL, "GPU 1")], [made(status) for status in answer]
    later = difference((Environment(), told), (Environment(), healthy), {})
    assert (later.gone, later.not_judged) == (tuple(told), ())
    assert not difference((Environment(), healthy), (Environment(), told), {}).not_judged_before


@pytest.mark.parametrize("name", ["ubuntu22.04-rtx3090-mismatch", "ubuntu22.04-8xh100-lost-gpu", "debian12-none-vm"])
def test_a_list_of_packages_does_not_say_that_a_driver_works_again(name: str) -> None:
    assert of(load_machine(name), parse_text(PIP)).gone == ()


def test_the_change_that_causes_a_symptom_comes_before_it() -> None:
    there, back = of(parse_text(WORKS), parse_text(FAILS)), of(parse_text(FAILS), parse_text(WORKS))
    assert [item.change.fact for item in there.culprits][:2] == ["system.kernel", "driver.nvidia_smi"]
    assert all(item.explains == ("driver-module-not-loaded",) for item in there.culprits)
    assert [finding.id for finding in back.gone] == ["driver-module-not-loaded"] and not back.not_judged


@pytest.mark.parametrize(("old", "new"), [(None, ""), ("0", ""), ("", "0"), ("", None)])
def test_a_variable_that_is_set_to_nothing_is_set(old: str | None, new: str | None) -> None:
    sides = [
        with_facts(Environment(), {"variables": found({} if text is None else {"CUDA_VISIBLE_DEVICES": text}, "env")})
        for text in (old, new)
    ]
    [change] = compared(*sides).changes
    wanted = tuple(text if text is None else text or "''" for text in (old, new))
    assert (change.name, change.old, change.new) == ("CUDA_VISIBLE_DEVICES", *wanted)


def test_a_hidden_gpu_is_explained_by_the_variable() -> None:
    shown = of(load_machine("ubuntu22.04-rtx4090-550-torch"), load_machine("ubuntu22.04-rtx4090-550-hidden"))
    assert (shown.culprits[0].change.name, shown.culprits[0].change.new) == ("CUDA_VISIBLE_DEVICES", "''")


def test_where_no_package_was_there_each_one_was_added() -> None:
    package = SystemPackage("nvidia-driver-550", "550.120", "installed", "dpkg")
    none: Environment = with_facts(Environment(), {"packages": missing(Problem.ABSENT, "dpkg")})
    one = with_facts(Environment(), {"packages": found((package,), "dpkg")})
    [change] = compared(none, one).changes
    assert (change.name, change.old, change.new) == ("nvidia-driver-550", None, "550.120")
    half = of(load_machine("ubuntu22.04-rtx3060-550"), load_machine("ubuntu22.04-rtx3060-half-installed"))
    assert half.culprits[0].change.fact == "packages" and half.culprits[0].explains == ("driver-repos-mixed",)


def test_one_change_is_reported_once_and_in_words() -> None:
    """A GPU that was replaced is another on PCI, for the driver, by its ids and by what it can do."""
    sides = [load_machine("ubuntu22.04-rtx3090-x4"), load_machine("ubuntu22.04-rtx4090-550-torch")]
    judged = [(side, run_checks(side, Matrix.load(), all_checks().values())) for side in sides]
    change = difference(judged[0], judged[1], all_checks())
    shown, whole = (difference_text(judged[0], judged[1], change, verbose=one) for one in (False, True))
    lines = [" ".join(line.split()) for line in shown.splitlines() if ": " in line]
    assert [line for line in lines if "RTX 3090 \u2192 NVIDIA GeForce RTX 4090" in line] == [
        "GPU on PCI 0000:01:00.0: NVIDIA GeForce RTX 3090 \u2192 NVIDIA GeForce RTX 4090"
    ]
    assert [line for line in lines if line.endswith("550.120 \u2192 550.90.07")] == [
        "NVIDIA kernel module: 550.120 \u2192 550.90.07", "user-space driver: 550.120 \u2192 550.90.07",
    ]  # fmt: skip
    assert "device id" not in shown and "compute capability" not in shown
    assert "PCI device id of 0000:01:00.0: 2204 \u2192 2684" in whole and "file of libcuda.so.1" in whole
    assert "350 W \u2192 450 W" in whole and "8 GiB \u2192 unlimited" in whole
    assert not {"tmp noexec", "memory bytes", "power limit w", "in ld cache"} & {
        line.partition(":")[0] for line in lines
    }


def test_a_repeat_stays_where_it_says_something_else() -> None:
    def change(fact: str, old: str, new: str, name: str = "0000:01:00.0") -> Change:
        return Change("Hardware", fact, name, old, new)

    gone = (change("gpus", "A", "B"), change("pci_gpus", "A", "C"))
    assert told_once(gone) == gone
    elsewhere = (change("gpus", "A", "B"), change("pci_gpus", "A", "B", "0000:02:00.0"))
    assert told_once(elsewhere) == elsewhere
    assert told_once((change("gpus", "A", "B"), change("pci_gpus", "A", "B"))) == (change("pci_gpus", "A", "B"),)


def test_the_answer_takes_time_that_is_linear_in_the_changes() -> None:
    """Two whole lists of packages: comparing each change with each other one takes seconds."""
    old, new = (
        with_facts(Environment(), {"packages": found(tuple(_packages(2000, release)), "dpkg")}) for release in "12"
    )
    change = difference((old, []), (new, []), {})
    assert len(change.others) == 2000
    assert least_seconds(lambda: difference_text((old, []), (new, []), change), 0.3) < 0.3


def _packages(number: int, release: str) -> Iterator[SystemPackage]:
    return (SystemPackage(f"p{place}", f"{release}.{place}", "installed", "dpkg") for place in range(number))
