"""A remedy speaks the tool of its place, keeps what is not at fault, and says what it stops: over all that is given."""

from __future__ import annotations

import re

import pytest

from envkit._startup.records import replace
from envkit.checks.engine.command import Command, fixed
from envkit.checks.engine.findings import Remedy, Status
from envkit.checks.engine.managers import APPLIANCES, appliance, managers
from envkit.checks.engine.registry import all_checks
from envkit.checks.engine.runner import run_checks
from envkit.checks.engine.suited import suited
from envkit.ingest import parse_text
from envkit.model import Environment, found
from tests.checks.remedies_given import REPORTS, Given, remedies_given
from tests.checks.software import findings_of, matrix
from tests.fakes.machines import load_machine

TORCH = fixed("python -m pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124")
REMOVAL = fixed("python -m pip uninstall -y torch tensorflow-cpu")
SYSTEM = re.compile(r"\b(?:apt-get|apt-mark|dnf|yum|zypper|ubuntu-drivers|dracut|update-initramfs) ")
PACKAGES = re.compile(r"\b(?:apt-get|apt-mark|dnf|yum|zypper|ubuntu-drivers) ")
DESKTOP_DRIVERS = re.compile(r"\b(?:ubuntu-drivers|nvidia-driver-\d|cuda-drivers)")
STOPS = {  # a command that ends what runs, and a word that the advice then has
    r"sudo reboot": "re(?:start|boot)",
    r"docker restart|systemctl restart docker": "re(?:start|boot)",
    r"--gpu-reset": "idle",
    r"wsl --shutdown": "stops everything",
}


def managed(*names: str) -> Environment:
    return Environment(managed_by=found(names, "test"))


def cause(name: str) -> Remedy:
    findings = run_checks(load_machine(name), matrix(), all_checks().values())
    assert findings[0].remedy is not None
    return findings[0].remedy


def told(text: str, check: str) -> Remedy:
    """The remedy of one check for a text."""
    findings = findings_of(text)
    given = next(finding.remedy for finding in findings if finding.id == check)
    assert given is not None
    return given


def lines(given: Given) -> str:
    return "\n".join(given.commands)


def test_a_project_of_uv_gets_its_own_command() -> None:
    given = suited(managed("uv"), Remedy("Replace it.", (REMOVAL, TORCH)))
    assert given.commands == (
        "uv pip uninstall tensorflow-cpu",
        "uv add torch==2.6.0 --index pytorch-cu124=https://download.pytorch.org/whl/cu124",
    )
    assert "uv sync would undo" in given.summary and "explicit = true" in given.summary


def test_an_environment_of_uv_without_a_project_has_no_pip() -> None:
    given = suited(managed("uv-pip"), Remedy("Replace it.", (TORCH,)))
    # uv keeps an installed torch 2.6.0 of another build unless it is told to take it again
    options = "--reinstall-package torch torch==2.6.0 --index-url https://download.pytorch.org/whl/cu124"
    assert given.commands == (f"uv pip install {options}",)
    links = fixed("python -m pip install torch==1.9.0+cu111 -f https://index.example/torch_stable.html")
    given = suited(managed("uv-pip"), Remedy("Replace it.", (links,)))
    assert given.commands[0].endswith("torch==1.9.0+cu111 --find-links https://index.example/torch_stable.html")


def test_poetry_and_pixi_keep_the_choice() -> None:
    given = suited(managed("poetry"), Remedy("Replace it.", (TORCH,)))
    assert given.commands[0].startswith("poetry source add --priority=explicit pytorch-cu124 https://")
    assert given.commands[1] == "poetry add --source pytorch-cu124 torch==2.6.0"
    given = suited(managed("pixi"), Remedy("Replace it.", (TORCH,)))
    assert given.commands == ("pixi install",)
    assert 'extra-index-urls = ["https://download.pytorch.org/whl/cu124"]' in given.summary
    assert 'torch = "==2.6.0+cu124"' in given.summary


@pytest.mark.parametrize("name", sorted(APPLIANCES))
def test_nothing_is_installed_by_hand_on_an_appliance(name: str) -> None:
    given = suited(managed(name), Remedy("Install it.", (fixed("sudo apt-get install -y nvidia-driver-580"),)))
    assert given.commands == () and APPLIANCES[name] in given.summary
    kept = suited(managed(name), Remedy("Install it.", (TORCH,)))
    assert kept.commands == (TORCH.line,)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("$ uv sync --extra gpu\n", ("uv",)),
        ("$ uv pip install torch\n", ("uv-pip",)),
        ("[tool.poetry.dependencies]\n", ("poetry",)),
        ("$ kubectl get pods -A\n", ("kubernetes",)),
        ("#SBATCH --gres=gpu:1\n", ("slurm", "slurm-gres")),
        ("$ mpirun -np 2 ./all_reduce_perf\n", ("mpirun",)),
        ("sudo sh NVIDIA-Linux-x86_64-570.124.04.run --no-kernel-modules\n", ("runfile",)),
        ("6.12.105-production+truenas\n", ("truenas",)),
        ("subprocess.run(cmd)\nuvloop.run(main())\nthe podium\n", ()),
    ],
)
def test_a_text_shows_what_manages_the_machine(text: str, names: tuple[str, ...]) -> None:
    assert managers(parse_text(text)) == names


def test_variables_show_a_cluster() -> None:
    environment = Environment(variables=found({"SLURM_JOB_GPUS": "0"}, "test"))
    assert managers(environment) == ("slurm",)
    restart = suited(environment, Remedy("Do it.", (fixed("sudo reboot"),)))
    assert "state=drain" in restart.summary


def test_a_compiler_says_nothing_of_the_distribution() -> None:
    assert not parse_text("GCC gcc (Debian 11.3.0-3) 11.3.0\n").system.os.known


def test_only_the_guilty_folder_leaves_the_loaders_path() -> None:
    machine = load_machine("ubuntu22.04-rtx4090-550-nvjitlink")
    variables = machine.variables.get()
    both = f"/opt/needed/lib:{variables['LD_LIBRARY_PATH']}"
    machine = replace(machine, variables=found({**variables, "LD_LIBRARY_PATH": both}, "test"))
    findings = run_checks(machine, matrix(), all_checks().values())
    assert findings[0].remedy is not None
    assert findings[0].remedy.commands == ("export LD_LIBRARY_PATH=/opt/needed/lib",)


def test_what_leaves_the_path_of_a_text_is_cuda_alone() -> None:
    import subprocess

    remedy = told("ImportError: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12\n",
                  "nvjitlink-symbol")  # fmt: skip
    (line,) = remedy.commands
    script = f'LD_LIBRARY_PATH=/opt/a/lib:/usr/local/cuda-12.1/lib64:/opt/b\n{line}\necho "$LD_LIBRARY_PATH"'
    done = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout == "/opt/a/lib:/opt/b\n"


def test_prebuilt_modules_are_not_built() -> None:
    given = cause("ubuntu22.04-rtx3090-new-kernel")
    assert any("linux-modules-nvidia-550-$(uname -r)" in line for line in given.commands)
    assert not any("dkms" in line for line in given.commands)


def test_the_compiler_of_the_kernel_builds_its_module() -> None:
    text = (REPORTS / "batch-1" / "b1-01.txt").read_text()
    assert "sudo CC=gcc-12 dpkg --configure -a" in told(text, "dkms-build-failed").commands


def test_a_driver_of_the_installer_is_not_mixed_with_packages() -> None:
    text = (
        "sudo bash ./NVIDIA-Linux-x86_64-570.124.04.run --no-kernel-modules\nuname -r\n5.15.0-157-generic\n"
        "$ nvidia-smi\nFailed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.124\n"
        "$ modinfo nvidia | head -4\n"
        "filename:       /lib/modules/5.15.0-157-generic/kernel/drivers/video/nvidia.ko\nversion:        570.124.06\n"
    )
    commands = told(text, "driver-library-mismatch").commands
    assert commands[0] == "RUN_FILE=NVIDIA-Linux-$(uname -m)-570.124.06.run"
    assert commands[1].startswith("curl -fLO https://") and "sudo sh ./$RUN_FILE --no-kernel-modules" in commands
    assert not any(SYSTEM.search(line) for line in commands)


def test_a_change_of_release_is_the_smallest_and_is_reported() -> None:
    given = cause("ubuntu24.04-rtx5090-570-torch-cu124")
    assert any("torch==2.7.1 " in line for line in given.commands)
    moved = "No build of PyTorch 2.6.0 works on this machine, so the command below upgrades PyTorch to 2.7.1"
    assert moved in given.summary
    assert moved in given.summary
    assert "moves" not in cause("ubuntu22.04-rtx4090-550-torch-cpu").summary


def test_the_repositories_of_debian_get_the_drivers_sections() -> None:
    import subprocess

    first = cause("debian12-rtx3060-fresh").commands[0]
    script = re.search(r"-E ('.*') \$", first)
    assert script is not None
    for before, after in (
        ("deb http://deb.debian.org/debian bookworm main non-free-firmware", "main contrib non-free non-free-firmware"),
        ("Components: main", "Components: main contrib non-free non-free-firmware"),
    ):
        done = subprocess.run(["bash", "-c", f"sed -E {script[1]} <<< '{before}'"], check=True, capture_output=True,
                              text=True)  # fmt: skip
        assert done.stdout.rstrip().endswith(after)


@pytest.mark.thorough
def test_no_command_is_one_that_does_nothing() -> None:
    for given in remedies_given():
        assert "NVCC_CCBIN" not in lines(given), given


@pytest.mark.thorough
def test_no_variable_is_cleared_that_holds_more_than_the_fault() -> None:
    for given in remedies_given():
        variables = given.environment.variables
        held = variables.get().get("LD_LIBRARY_PATH", "") if variables.known else ""
        if "unset LD_LIBRARY_PATH" in given.commands:
            folders = [folder for folder in held.split(":") if folder]
            assert len(folders) == 1 or all("cuda" in folder or "stubs" in folder for folder in folders), given


@pytest.mark.thorough
def test_no_appliance_gets_packages() -> None:
    for given in remedies_given():
        kind = appliance(given.environment)
        # A node has an initramfs of its own, and a DGX takes all but its driver as Ubuntu does.
        tools = {"gpu-operator": PACKAGES, "dgx": DESKTOP_DRIVERS}.get(kind, SYSTEM)
        here = [line for line in given.commands if "docker build" not in line]
        assert not kind or not tools.search("\n".join(here)), given


@pytest.mark.thorough
def test_no_project_is_changed_behind_the_back_of_its_manager() -> None:
    for given in remedies_given():
        if {"uv", "poetry", "pixi"} & {*managers(given.environment)}:
            assert not re.search(r"^\S*python\S* -m pip install [^<]", lines(given), re.MULTILINE), given


@pytest.mark.thorough
def test_what_a_command_stops_is_reported() -> None:
    for given in remedies_given():
        summary = given.finding.remedy.summary if given.finding.remedy else ""
        for pattern, word in STOPS.items():
            if re.search(pattern, lines(given)):
                assert re.search(word, summary.lower()), f"{given}: {summary}"


def test_a_gpu_that_only_the_open_module_drives_gets_that() -> None:
    old = "Ubuntu 24.04, driver 550.120. nvidia-smi: No devices were found\n01:00.0 VGA compatible controller [0300]: "
    card = "NVIDIA Corporation GB203 [GeForce RTX 5080] [10de:2c02] (rev a1)\n"
    commands = told(old + card, "driver-dropped-gpu").commands
    assert any(command.endswith(" nvidia-driver-570-open") for command in commands)


@pytest.mark.thorough
def test_a_gpu_is_reset_by_its_address_where_a_text_shows_only_some() -> None:
    rows = "    Remapped Rows\n        Uncorrectable Error : 2\n        Pending : Yes\n"
    text = f"==============NVSMI LOG==============\n\nAttached GPUs : 8\nGPU 00000000:8A:00.0\n{rows}"
    assert told(text, "row-remap-pending").commands == ("sudo nvidia-smi --gpu-reset -i 0000:8a:00.0",)


@pytest.mark.thorough
def test_alternatives_are_no_sequence() -> None:
    pairs = ((r"^docker run", r"^(?:docker|podman) run"), (r"mig .*-cgi", r"-mig 0"), (r"--shm-size", r"--ipc=host"))
    for given in remedies_given():
        for first, second in pairs:
            found_first = [line for line in given.commands if re.search(first, line)]
            others = [line for line in given.commands if re.search(second, line) and line not in found_first[:1]]
            assert not (found_first and others), f"{given}: {given.commands}"


@pytest.mark.thorough
def test_no_restart_without_a_change() -> None:
    """What only looks, and then restarts, cures nothing."""
    looks = re.compile(r"^(?:grep|ls|lsmod|nvidia-smi|dmesg|sudo dmesg|cat|tail|apt-cache|modinfo|sudo update-initramfs"
                       r"|sudo dracut|apt-get -s|find)\b")  # fmt: skip
    restarts = ("nvidia-smi-hangs", "driver-library-mismatch", "gsp-timeout")
    for given in remedies_given():
        if "sudo reboot" in given.commands and given.finding.id not in restarts:
            changes = [line for line in given.commands[:-1] if "| sudo tee" in line or not looks.search(line)]
            assert changes, f"{given}: {given.commands}"


def test_a_step_that_cannot_be_given_stays_so() -> None:
    problem = Command(problem="it is odd")
    assert suited(managed("uv"), Remedy("Do it.", (problem, TORCH))).commands == ()


def test_ptxas_of_xla_is_not_that_of_triton() -> None:
    text = (REPORTS.parent / "texts" / "ptxas-missing-xla.txt").read_text()
    assert not any("triton" in line.lower() for line in told(text, "ptxas-missing-or-old").commands)
    text = (REPORTS / "batch-1" / "b1-23.txt").read_text()
    assert told(text, "ptxas-missing-or-old").commands[0] == "export TRITON_PTXAS_PATH=/usr/local/cuda/bin/ptxas"


@pytest.mark.parametrize(
    ("text", "words", "command"),
    [
        (
            "MacBook Pro M1: AssertionError: Torch not compiled with CUDA enabled\n",
            "use mps",
            "export PYTORCH_ENABLE",
        ),
        (
            "Windows 11, AMD Radeon RX 6700 XT, stable-diffusion-webui: RuntimeError: Found no NVIDIA driver\n",
            "Rename the venv directory",
            "webui.bat --use-directml",
        ),
        (
            "Windows 11, AMD Radeon RX 6700 XT, ComfyUI: AssertionError: Torch not compiled with CUDA enabled\n",
            "DirectML",
            "python main.py --directml",
        ),
        (
            "Ubuntu 22.04, AMD Radeon RX 6700 XT: AssertionError: Torch not compiled with CUDA enabled\n",
            "ROCm",
            "python -m pip uninstall -y torch torchvision torchaudio",
        ),
        ("Google Colab: RuntimeError: Found no NVIDIA driver on your system.\n", "Runtime >", ""),
    ],
)
def test_who_has_no_nvidia_gpu_is_not_sent_to_the_firmware(text: str, words: str, command: str) -> None:
    given = told(text, "no-gpu-on-pci")
    assert words in given.summary and "UEFI" not in given.summary
    assert not command or any(line.startswith(command) for line in given.commands)


def test_another_makers_gpu_is_no_fault_and_neither_is_what_it_explains() -> None:
    text = "MacBook Pro (M2), macOS 14: AssertionError: Torch not compiled with CUDA enabled\n"
    found = {one.id: one for one in findings_of(text)}
    assert not [one.id for one in found.values() if one.status is Status.FAIL]
    assert found["no-gpu-on-pci"].title == "This machine has an Apple GPU, not an NVIDIA GPU"
    assert found["cpu-only-wheel"].because_of == "no-gpu-on-pci"


def test_one_mode_on_all_gpus_is_reported_once() -> None:
    text = (REPORTS / "batch-8" / "b8-35.txt").read_text()
    found = findings_of(text)
    (only,) = [finding for finding in found if finding.id == "compute-mode-exclusive"]
    assert only.title.startswith("3 GPUs")


def test_what_facts_and_messages_show_is_reported_once() -> None:
    text = (REPORTS / "batch-6" / "b6-15.txt").read_text()
    found = findings_of(text)
    (only,) = [finding for finding in found if finding.id == "numpy2-abi" and finding.status is Status.FAIL]
    assert {item.fact for item in only.evidence} >= {"pythons.distributions", "messages"}


@pytest.mark.parametrize(
    ("report", "check", "commands", "words"),
    [  # what an administrator with that machine before him has to type
        ("5/b5-15", "fabric-manager-version-mismatch", ["'nvidia-fabricmanager-530=530.41.03-*'"], ""),
        ("5/b5-21", "arch-dropped-by-framework", ["koboldcpp --usevulkan"], "KoboldCpp"),
        ("5/b5-24", "arch-dropped-by-framework", [], "cpm-kernels and bminf"),
        ("6/b6-02", "extension-without-operators", ["unset BNB_CUDA_VERSION"], ""),
        ("6/b6-07", "libcudart-missing", ["envkit install --cuda 10.0", "/usr/local/cuda-10.0/lib64"], ""),
        ("6/b6-13", "libcudart-missing", ["unset NUMBAPRO_NVVM NUMBAPRO_LIBDEVICE"], ""),
        ("6/b6-24", "windows-runtime-missing", ["torch==2.4.1"], "libomp140"),
        ("7/b7-03", "bar-not-assigned", ["--args=pci=realloc,hpmmioprefsize=32G"], "Thunderbolt"),
        ("7/b7-20", "image-needs-newer-driver", [], "driver 570 or newer"),
        ("7/b7-26", "libcudart-missing", ["nvidia-cuda-nvrtc-cu11", "LD_LIBRARY_PATH"], ""),
        ("7/b7-32", "arch-newer-than-build", ["-DCMAKE_CUDA_ARCHITECTURES=50"], "CMake's cache"),
        ("8/b8-06", "engine-built-elsewhere", ["trtexec --onnx="], ""),
        ("8/b8-39", "container-no-gpu-injected", ["singularity exec --nv"], ""),
        ("1/b1-15", "package-index-wrong", ["torch==2.10.0", "whl/cu130"], "nearest of the same major"),
        (
            "2/b2-09",
            "torch-replaced-by-dependency",
            ["torch==2.8.0", "--index-url"],  # the text describes arm64, for which no CUDA build of 2.7.1 is known
            "with its companions",
        ),
        ("1/b1-35", "tf-native-windows", ["tensorflow==2.10.1"], "later ones need WSL 2"),
        ("4/b4-41", "tf-native-windows", ["wsl --install", "tensorflow[and-cuda]=="], "TensorFlow 2.10.1"),
        ("2/b2-11", "secure-boot-unsigned-module", ["az vm update", "--enable-secure-boot false"], "they stop it"),
        ("5/b5-40", "cuda-compat-on-unsupported-hw", ["cuda-compat-*", "docker build -t without-compat -"], "image"),
        ("5/b5-46", "ecc-uncorrectable", ["index,serial"], "RMA"),
        ("6/b6-17", "engine-without-cdi", ["--hooks-dir=/usr/share/containers/oci/hooks.d"], "4.1"),
        ("6/b6-32", "compute-mode-exclusive", ["--query-compute-apps"], "GPU 3 is not in use"),
        ("7/b7-22", "compute-mode-exclusive", ["SLURM_LOCALID"], "local rank"),
        ("7/b7-30", "optimus-gpu-off", ["sudo prime-select offload"], "profile"),
        ("8/b8-37", "vm-gpu-unsupported-by-release", ["--set-cc-mode=on"], "Keep this driver"),
        ("8/b8-45", "driver-library-mismatch", ["dkms remove nvidia/375.26 --all"], "no restart helps"),
        ("4/b4-39", "ld-library-path-shadows-wheels", ["module unload cuda"], "module list"),
        ("1/b1-07", "glibc-newer-than-toolkit", ["--cuda 13.0"], "do not run on driver 575"),
        ("6/b6-21", "user-site-shadows-env", ["PYTHONNOUSERSITE=1"], "Disable the user site directory"),
        ("4/b4-07", "extension-abi-mismatch", ["torch==2.5.1"], "was built for torch 2.5.1"),
        ("4/b4-22", "nouveau-loaded", ["blacklist nouveau", "update-initramfs"], "On each GPU node"),
        ("5/b5-05", "open-module-on-pre-turing", ["kernel-open/kernel", "akmods --force"], "proprietary"),
        ("5/b5-07", "dkms-build-failed", ["/spec/driver/version"], "newer release"),
        ("9/b9-42", "driver-dropped-gpu", [], "nvidiaPackages.legacy_580"),
        ("10/b10-25", "driver-dropped-gpu", [], "nvidiaPackages.legacy_580"),
        (
            "2/b2-07",
            "jetson-container-of-other-release",
            ["l4t-pytorch:r34.1.1-pth1.12-py3"],
            "the board's own release",
        ),
        ("2/b2-12", "vm-gpu-unsupported-by-release", ["NvidiaGpuDriverLinux"], "GRID"),
        ("2/b2-19", "ecc-uncorrectable", ["--gpu-reset -i INDEX"], "which GPU it is"),
        ("2/b2-20", "power-supply-overloaded", ["sudo nvidia-smi -pl 220"], "at every boot"),
        ("4/b4-16", "driver-too-old-for-runtime", ["whl/cu118"], "on its host"),
        ("2/b2-34", "cudnn-missing", ["LD_LIBRARY_PATH=/usr/local/cuda-10.1/lib64"], "typo"),
        ("3/b3-10", "cudnn-mixed-sublibraries", ["export LD_LIBRARY_PATH="], "instead of the framework's own"),
        ("8/b8-05", "cuda-visible-devices-invalid", [], "--gpus-per-node"),
        ("4/b4-18", "arch-newer-than-build", ["torch==2.7.1", "whl/cu128"], ""),
        ("4/b4-19", "arch-dropped-by-framework", ["whl/cu126"], ""),
        ("4/b4-27", "cpu-only-wheel", ["cmake.args=-DGGML_CUDA=on"], ""),
        (
            "4/b4-33",
            "onnxruntime-two-packages",
            ["onnxruntime onnxruntime-gpu", "onnxruntime-gpu==1.23.2"],
            "only onnxruntime-gpu",
        ),
        ("4/b4-36", "not-built-for-windows", ["bitsandbytes>=0.43.0"], ""),
        (
            "3/b3-23",
            "gcc-too-new-for-nvcc",
            ['vcvars64.bat" -vcvars_ver=14.39', "CMAKE_GENERATOR_TOOLSET"],
            "Visual Studio",
        ),
        ("7/b7-18", "xid-other", ["nvidia-smi --gpu-reset -i 0000:01:00.0"], "RMA"),
        ("7/b7-24", "extension-abi-mismatch", [".\\venv\\Scripts\\python.exe -m pip install", "xformers==0.0.22"], ""),
        ("2/b2-03", "docker-no-nvidia-runtime", ['"default-runtime": "nvidia"'], "default runtime, runc"),
        ("6/b6-39", "cdi-unresolvable", ["rm -f /etc/cdi/nvidia.yaml /var/run/cdi/nvidia.yaml"], "no longer exists"),
        ("1/b1-30", "tf-cannot-dlopen", ["LD_LIBRARY_PATH=/usr/local/cuda-10.1/lib64"], "TensorFlow 2.2.0 loads"),
        ("1/b1-42", "gpu-assertion-failed", ["export CUDA_LAUNCH_BLOCKING=1", "python SCRIPT"], "number of classes"),
        ("11/b11-01", "ptx-newer-than-driver", [], "A DGX gets its driver from the DGX OS repositories"),
        (
            "2/b2-29",
            "ptx-newer-than-driver",
            ["nvidia-driver-535"],
            "CUDA 11.7 (the newest release that this driver supports)",
        ),
    ],
)
def test_the_action_itself_is_given(report: str, check: str, commands: list[str], words: str) -> None:
    given = told((REPORTS / f"batch-{report}.txt").read_text(), check)
    printed = "\n".join(given.commands)
    assert [part for part in commands if part not in printed] == []
    assert words in given.summary and "resolve --framework pytorch" not in printed


def test_a_driver_that_nobody_asked_for_keeps_old_cards() -> None:
    from envkit.base.versions import Version
    from envkit.checks.nvidia_driver.newer_driver import branch_for

    branch = branch_for(Environment(), matrix(), None)
    assert branch is not None and {"Maxwell", "Blackwell"} <= {*(branch.families or ())}
    enough = branch_for(Environment(), matrix(), Version.of(12, 4))
    assert enough is not None and enough.branch == 550
