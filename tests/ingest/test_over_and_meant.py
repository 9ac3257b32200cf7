"""What excuses a message on a healthy machine must not excuse it where somebody complains, or nothing came after it."""

from __future__ import annotations

import pytest

from tests.ingest.test_siblings import first_finding
from tests.ingest.texts import FOLDER

LISTED = "$ nvidia-smi -L\nGPU 0: NVIDIA RTX A4000 (UUID: GPU-11111111-2222-3333-4444-555555555555)\n"
NO_MODULE = (
    "$ sudo modprobe nvidia_uvm\n"
    "modprobe: FATAL: Module nvidia_uvm not found in directory /lib/modules/6.8.0-1-generic\n"
)
COMPUTES = "$ python -c \"import torch; print(torch.ones(1).cuda())\"\ntensor([1.], device='cuda:0')\n"
INSTALLER = (
    "$ sudo sh NVIDIA-Linux-x86_64.run\nERROR: The Nouveau kernel driver is currently in use by your system.  "
    "This driver is incompatible with the NVIDIA driver\n"
)
RM = "RmInitAdapter failed! (0x26:0x56:1482)"
INSUFFICIENT = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.\n"
NODE = "Capacity:\n  nvidia.com/gpu:  {0}\nAllocatable:\n  nvidia.com/gpu:  {0}\n"
NO_TORCH = "$ python3 -c 'import torch'\nModuleNotFoundError: No module named 'torch'\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (INSTALLER + LISTED, "none"),
        (INSTALLER, "nouveau-loaded"),
        (f"The driver does not install, why?\n{INSTALLER}{LISTED}", "nouveau-loaded"),
        (LISTED + INSTALLER, "nouveau-loaded"),
        (NO_MODULE + COMPUTES, "none"),
        (NO_MODULE, "uvm-module-not-loaded"),
    ],
)
def test_a_later_answer_settles_what_failed_before(text: str, expected: str) -> None:
    assert first_finding(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'With the old driver I used to see "{RM}" after some cycles.\n', "none"),
        (f'Earlier I had "{RM}" now and then, gone with the new driver.\n', "none"),
        (f'Sample from the forum, not my machine: "{RM}".\n', "none"),
        (f'- Fixed a bug that could cause "{RM}" after resume.\n', "none"),
        (f'Since the update I see "{RM}" after some cycles.\n', "rm-init-adapter-failed"),
        (f'Earlier it was fine, now I get "{RM}" now and then.\n', "rm-init-adapter-failed"),
        (f'I had "{RM}", the riser was replaced, but it still comes.\n', "rm-init-adapter-failed"),
    ],
)
def test_what_is_over_or_of_others_is_none_of_this_machine(text: str, expected: str) -> None:
    assert first_finding(text) == expected


@pytest.mark.parametrize(("devices", "expected"), [("4", "none"), ("0", "docker-no-nvidia-runtime")])
def test_pods_wait_for_a_full_node_or_for_one_that_has_no_devices(devices: str, expected: str) -> None:
    assert first_finding(INSUFFICIENT + NODE.format(devices)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (LISTED + NO_TORCH + "$ uptime\n 10:00:00 up 41 days\n", "none"),
        (LISTED + NO_TORCH, "framework-not-installed"),
        (NO_TORCH + "$ uptime\n 10:00:00 up 41 days\n", "framework-not-installed"),
    ],
)
def test_a_module_is_asked_for_in_passing_between_other_looks(text: str, expected: str) -> None:
    assert first_finding(text) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [("NVIDIA GeForce GTX 1080 Ti", "open-module-on-pre-turing"), ("TP4, 1920x1080, pod web-7c-p40cx", "none")],
)
def test_a_card_is_named_by_a_word_of_its_own(words: str, expected: str) -> None:
    package = "ii nvidia-driver-570-server-open 570.133.20\nnvidia-smi: No devices were found, "
    assert (first_finding(f"{package}{words}\n") == "open-module-on-pre-turing") is (expected != "none")


@pytest.mark.parametrize(
    "name",
    ["healthy-gke-l4-installer", "healthy-incus-4060", "healthy-dkms-of-another-module", "healthy-d3cold-then-used"],
)
def test_the_same_log_is_a_fault_where_somebody_complains(name: str) -> None:
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert first_finding(text) == "none"
    assert first_finding(f"Since the update CUDA does not work any more, what is wrong?\n{text}") != "none"


XID = "May 29 21:44:17 box kernel: NVRM: Xid (PCI:0000:01:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"
BUSY = "$ nvidia-smi --query-gpu=name,driver_version,utilization.gpu --format=csv\nNVIDIA RTX A4000, 550.120, 97 %\n"


@pytest.mark.parametrize(
    ("title", "end", "expected"),
    [
        ("[SOLVED] Stutter in one level with the overlay on", "Now everything runs fine:", "gpu-fallen-off-bus"),
        ("Fixed: the timeout came from a switch port", "Today:", "gpu-fallen-off-bus"),
        ("[SOLVED] it was the riser, which was replaced", "Now everything runs fine:", "none"),
        ("Report of May", "Then the dealer exchanged the card under warranty. Since then all good:", "none"),
        ("Report of May", "I have put in a new power supply of 850 W, everything runs fine:", "none"),
        ("Report of May", "I wanted to have the riser replaced, everything runs fine:", "gpu-fallen-off-bus"),
        ("Report of May", "The riser was replaced, but it falls off again:", "gpu-fallen-off-bus"),
    ],
)
def test_only_a_replaced_part_ends_what_the_kernel_told_of_hardware(title: str, end: str, expected: str) -> None:
    assert first_finding(f"{title}\n\n{XID}\n{end}\n\n{BUSY}") == expected


@pytest.mark.parametrize("prompt", [">> ", "> ", "octave:3> ", "IDL> ", "iex(4)> ", "julia> ", "In[4]:= "])
def test_an_interpreter_is_asked_for_a_compiler_in_passing(prompt: str) -> None:
    asked = f'{prompt}system("nvcc --version")\nsh: 1: nvcc: not found\n{prompt}x = f(3)\n3\n'
    assert first_finding(f"The package was built elsewhere.\n\n{LISTED}{asked}") == "none"
    for said in ("I cannot compile the kernels.", "How do I compile the kernels?"):
        assert first_finding(f"{said}\n\n{LISTED}{asked}") == "toolkit-missing"


def test_quoted_mail_is_no_session_of_an_interpreter() -> None:
    mail = "> Since the update my program stops\n> sh: 1: nvcc: not found\n> x = 3\n> I do not know why\n"
    assert first_finding(mail) == "toolkit-missing"


def test_a_guest_without_a_gpu_is_not_its_host() -> None:
    host = LISTED.replace("$ ", "root@host:~# ")
    guest = "root@build:~# ls /dev/nvidia0\nls: cannot access '/dev/nvidia0': No such file or directory\n"
    assert first_finding(f"Notes on two machines.\n\n{host}{guest}") == "none"
    assert first_finding(f"The guest does not see its GPU, why?\n\n{host}{guest}") == "device-nodes-missing"


@pytest.mark.parametrize(("failed", "expected"), [("0", "none"), ("1", "cuda-visible-devices-invalid")])
def test_a_test_that_passed_provoked_its_error(failed: str, expected: str) -> None:
    error = 'DriverError(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")\n'
    summary = f"test result: ok. 8 passed; {failed} failed; 0 ignored; 0 measured\n"
    assert first_finding(f"{LISTED}$ cargo test\n{error}{summary}") == expected
