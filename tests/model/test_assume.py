"""`--assume FACT=VALUE`."""

from __future__ import annotations

import pytest

from envkit.base.errors import RequestError
from envkit.base.versions import ComputeCapability, Version
from envkit.model import Environment, MachineKind, Problem, found
from envkit.model.assume import assume_facts
from envkit.model.paths import fact, fact_paths


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("driver.kernel_module=470.57.02", "driver.kernel_module", Version.parse("470.57.02")),
        ("driver.open_kernel_module=yes", "driver.open_kernel_module", True),
        ("system.machine_kind=wsl2", "system.machine_kind", MachineKind.WSL2),
        ("system.architecture=aarch64", "system.architecture", "aarch64"),
        ("system.memlock_bytes=-1", "system.memlock_bytes", -1),
        ("kernel.loaded_modules=nvidia, nvidia_uvm", "kernel.loaded_modules", ("nvidia", "nvidia_uvm")),
        ('kernel.loaded_modules=["nvidia"]', "kernel.loaded_modules", ("nvidia",)),
        ('driver.params={"A": "1"}', "driver.params", {"A": "1"}),
        (" system.kernel = 6.1.0 ", "system.kernel", "6.1.0"),
    ],
)
def test_a_value_takes_the_facts_place(text: str, path: str, value: object) -> None:
    observed = fact(assume_facts(Environment(), [text]), path)
    assert (observed.get(), observed.source) == (value, "--assume")


def test_an_os_id_is_enough() -> None:
    release = assume_facts(Environment(), ["system.os=ubuntu22.04"]).system.os.get()
    assert (release.os_id, release.id, release.version_id) == ("ubuntu22.04", "ubuntu", "22.04")


def test_gpus_are_written_as_json() -> None:
    environment = assume_facts(Environment(), ['gpus=[{"index": 0, "name": "RTX 5090", "compute_capability": "12.0"}]'])
    assert environment.gpus.get()[0].compute_capability == ComputeCapability(12, 0)


def test_one_variable_of_many() -> None:
    before = Environment(variables=found({"PATH": "/bin", "CUDA_HOME": "/a"}, "environment"))
    after = assume_facts(before, ["variables.CUDA_HOME=/b=c", "variables.LD_LIBRARY_PATH="])
    assert after.variables.get() == {"PATH": "/bin", "CUDA_HOME": "/b=c", "LD_LIBRARY_PATH": ""}
    assert before.variables.get()["CUDA_HOME"] == "/a"


def test_an_empty_value_means_absent_and_the_last_word_counts() -> None:
    assumptions = ["driver.kernel_module=1.2", "driver.kernel_module="]
    assert assume_facts(Environment(), assumptions).driver.kernel_module.problem is Problem.ABSENT


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("driver", "is not FACT=VALUE"),
        ("driver.kernal_module=1", "Did you mean driver.kernel_module"),
        ("gpu=x", "unknown fact 'gpu'"),
        ("driver.kernel_module=new", "expected a version"),
        ("system.machine_kind=boat", "expected one of metal"),
        ("system.processors=many", "--assume system.processors=many"),
        ("driver.open_kernel_module=perhaps", "expected true or false"),
        ("gpus=[{}]", "'index' is missing"),
        ("gpus={", "--assume gpus={"),
        ("gpus=" + "[" * 100_000, "nests more than 100"),
    ],
)
def test_what_cannot_be_assumed_says_why(text: str, words: str) -> None:
    with pytest.raises(RequestError) as caught:
        assume_facts(Environment(), [text])
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_every_fact_has_a_path() -> None:
    paths = fact_paths()
    assert {"gpus", "system.os", "driver.kernel_module", "containers.docker"} <= set(paths)
    assert len(paths) == len(set(paths)) > 80
