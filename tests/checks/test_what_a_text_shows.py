"""Answers of reports that a fresh reader found wrong: the remedy must not contradict what the text itself shows."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Finding, Status
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.documents.verdict import verdict
from envkit.ingest import parse_text
from tests.checks.software import matrix
from tests.checks.test_fixes_of_reports import fails
from tests.ingest.texts import FOLDER

REPORTS = FOLDER.parent / "reports"


def first(path: str) -> Finding:
    return fails((FOLDER.parent / path).read_bytes().decode())[0]


def fix(finding: Finding) -> str:
    assert finding.remedy is not None
    return "\n".join((finding.remedy.summary, *finding.remedy.commands))


@pytest.mark.parametrize("way", ["lib", "bin/../lib"])
def test_a_libstdcxx_of_conda_is_updated_by_conda(way: str) -> None:
    told = f"ImportError: /home/lea/miniconda3/envs/rl/{way}/libstdc++.so.6: version `GLIBCXX_3.4.32' not found"
    finding = fails(f"{told} (required by /home/lea/x.so)\n")[0]
    assert "conda install -y -p /home/lea/miniconda3/envs/rl -c conda-forge" in fix(finding)
    assert "apt-get" not in fix(finding)


def test_a_slow_first_call_is_no_failing_kernel() -> None:
    finding = first("reports/batch-3/b3-12.txt")
    assert finding.id == "arch-newer-than-build"
    assert "no binary code" in finding.title and "PTX" in finding.impact
    assert "extension" not in fix(finding) and "torch==1.7.1" in fix(finding)


def test_the_last_branch_of_a_family_gets_the_previous_kernel() -> None:
    assert "previous kernel" in fix(first("reports/batch-14/b14-05.txt"))
    assert "390 is the last branch for Fermi" in fix(first("reports/batch-14/b14-05.txt"))
    newer = (REPORTS / "batch-14" / "b14-05.txt").read_text().replace("390.157", "550.54.14")
    assert "a newer release of the driver" in fix(fails(newer)[0])


def test_wsl_libraries_that_are_not_on_the_path_are_added_to_it() -> None:
    finding = first("reports/batch-15/b15-47.txt")
    assert finding.id == "wsl-libcuda-missing" and "LD_LIBRARY_PATH" in finding.title
    assert finding.remedy is not None
    assert finding.remedy.commands == ("export LD_LIBRARY_PATH=/usr/lib/wsl/lib:/usr/local/cuda/lib64",)
    held = (REPORTS / "batch-15" / "b15-47.txt").read_text().replace("/usr/local/cuda/lib64\n", "/usr/lib/wsl/lib\n")
    assert "wsl --update" in fix(fails(held)[0])


def test_what_no_python_has_on_windows_is_one_finding() -> None:
    findings = fails((REPORTS / "batch-9" / "b9-33.txt").read_text())
    assert [finding.because_of for finding in findings if finding.id == "python-no-wheel"] == ["not-built-for-windows"]


def test_wheels_for_other_platforms_need_another_index_and_no_other_python() -> None:
    finding = first("reports/batch-8/b8-26.txt")
    assert "[[tool.uv.index]]" in fix(finding) and "uv venv" not in fix(finding)


def test_both_variables_that_accelerate_asks_for_are_set() -> None:
    finding = first("texts/geforce-p2p-accelerate.txt")
    assert finding.remedy is not None
    assert finding.remedy.commands == ("export NCCL_P2P_DISABLE=1 NCCL_IB_DISABLE=1",)


def test_a_series_is_no_card_and_advice_no_machine() -> None:
    assert not parse_text("NotImplementedError: Using RTX 4000 series doesn't support faster\n").pci_gpus.known
    assert not parse_text("Please use WSL2 or the TensorFlow-DirectML plugin.\n").system.machine_kind.known
    assert parse_text("I use WSL2 on Windows 11\n").system.machine_kind.known


_ARC = "LACT shows half the PCIe speed of my Intel Arc A770. Games run as they should."


@pytest.mark.parametrize(
    ("text", "maker"), [((REPORTS / "batch-17" / "b17-44.txt").read_text(), "an AMD"), (_ARC, "an Intel")]
)
def test_a_text_on_another_makers_gpu_is_reported(text: str, maker: str) -> None:
    environment = parse_text(text)
    answer = verdict(environment, run_checks(environment, matrix(), all_checks().values()))
    assert answer.title == f"The input is about {maker} GPU; envkit checks NVIDIA GPUs" and answer.ask == ()


@pytest.mark.parametrize(
    ("text", "maker"),
    [
        ((REPORTS / "batch-12" / "b12-40.txt").read_text(), "an Intel"),
        ("My MacBook Pro, Apple M2, wants CUDA: Torch not compiled with CUDA enabled\n", "an Apple"),
        ("A MacBook with a Radeon Pro 5500M beside Intel UHD 630: Torch not compiled with CUDA enabled\n", "an Apple"),
    ],
)
def test_a_mac_that_is_asked_for_cuda_has_the_gpu_that_is_named(text: str, maker: str) -> None:
    environment = parse_text(text)
    answer = verdict(environment, run_checks(environment, matrix(), all_checks().values()))
    assert answer.title == f"This machine has {maker} GPU, not an NVIDIA GPU" and answer.status is Status.WARN


def test_an_xid_of_a_program_is_answered() -> None:
    environment = parse_text((FOLDER / "xid-other-31.txt").read_text())
    answer = verdict(environment, run_checks(environment, matrix(), all_checks().values()))
    assert answer.status is Status.OK and "Xid 31: an error in a program" in answer.title


def test_a_fault_of_one_gpu_explains_none_of_another() -> None:
    lost = "NVRM: Xid (PCI:0000:48:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
    memory = "NVRM: Xid (PCI:0000:{}:00): 48, pid=33321, name=python, DBE (double bit error) on GPU 0x{}\n"
    causes = {}
    for bus in ("0b", "48"):
        environment = parse_text(lost + memory.format(bus, bus))
        found = {finding.id: finding for finding in run_checks(environment, matrix(), all_checks().values())}
        causes[bus] = found["ecc-uncorrectable"].because_of
    assert causes == {"0b": None, "48": "gpu-fallen-off-bus"}


def test_a_framework_without_a_gpu_is_a_symptom_of_what_tensorflow_reports() -> None:
    told = "Could not find cuda drivers on your machine, GPU will not be used.\n"
    smi = "Sun Nov  1 10:00:00 2026\nGPU 0: Tesla T4 (UUID: GPU-1b0c7f4e-0000-0000-0000-5d0e3a2f9a11)\n"
    text = f"$ nvidia-smi -L\n{smi}{told}>>> tf.config.list_physical_devices('GPU')\n[]\n"
    findings = {one.id: one for one in run_checks(parse_text(text), matrix(), all_checks().values())}
    assert findings["tf-finds-no-driver"].status is Status.WARN
    symptom = findings["framework-sees-no-gpu"]
    assert symptom.because_of == "tf-finds-no-driver" and symptom.remedy is None


def test_one_check_that_could_not_be_run_says_what_it_lacks() -> None:
    text = "Failed to initialize NVML: Driver/library version mismatch\n"
    environment = parse_text(text)
    chosen = run_checks(environment, matrix(), [all_checks()["nvlink-inactive"]])
    answer = verdict(environment, chosen)
    assert answer.title == "nvlink-inactive could not be checked: the input does not show the NVLink status"


def test_a_driver_named_in_russian_is_known() -> None:
    environment = parse_text("RTX 5070 Ti, torch 2.5.1. \u0414\u0440\u0430\u0439\u0432\u0435\u0440 576.02.")
    assert str(environment.driver.user_space.value) == "576.02"


def test_a_part_of_docker_info_shows_the_engine() -> None:
    environment = parse_text("== docker info\n Runtimes: io.containerd.runc.v2 nvidia runc\n Default Runtime: nvidia\n")
    assert "nvidia" in environment.containers.docker.get().runtimes


def test_debian_is_called_by_its_own_name() -> None:
    environment = parse_text('PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nVERSION_ID="12"\nID=debian\n')
    assert environment.system.os.get().pretty_name.startswith("Debian GNU/Linux 12")


def test_no_fix_in_explain_speaks_of_a_command_that_is_not_there() -> None:
    words = ("first command", "second command", "third command", "The command ", "the command ", "below")
    told = {one.id: word for one in all_checks().values() for word in words if word in one.fix.replace("below 2", "")}
    assert told == {}


def test_cusparselt_on_a_jetson_is_installed_by_its_script() -> None:
    text = "Jetson AGX Orin\nImportError: libcusparseLt.so.0: cannot open shared object file: No such file\n"
    assert "install_cusparselt.sh" in fix(fails(text)[0]) and "pip install" not in fix(fails(text)[0])
