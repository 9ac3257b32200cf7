"""Container engines, packages, repositories and variables."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from envkit.model import Problem
from envkit.probe import containers, packages, variables
from tests.fakes.memory_host import Content, MemoryHost, folder, program, refused

ENGINE = {
    "url": "unix:///var/run/docker.sock",
    "version": {"Version": "26.1.0", "ApiVersion": "1.45"},
    "info": {
        "Runtimes": ["io.containerd.runc.v2", "nvidia", "runc"],
        "DefaultRuntime": "nvidia",
        "CDISpecDirs": [],
        "SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless"],
        "OperatingSystem": "Ubuntu 22.04.4 LTS",
        "CgroupDriver": "systemd",
        "DockerRootDir": "/var/lib/docker",
    },
}


def test_the_engines_answer() -> None:
    engine = containers.engine(MemoryHost({}, queries={"docker": ENGINE}), 1.0)["containers.docker"].get()
    assert (str(engine.version), str(engine.api_version)) == ("26.1.0", "1.45")
    assert (engine.runtimes, engine.default_runtime) == (("io.containerd.runc.v2", "nvidia", "runc"), "nvidia")
    assert engine.cdi_spec_dirs == (), "an empty list is CDI switched off; no list is an old engine"
    assert (engine.rootless, engine.cgroup_driver, engine.snap) == (True, "systemd", False)


def test_an_old_engine_says_nothing_about_cdi() -> None:
    info = {key: value for key, value in ENGINE["info"].items() if key != "CDISpecDirs"}  # type: ignore[attr-defined]
    engine = containers.engine(MemoryHost({}, queries={"docker": {**ENGINE, "info": info}}), 1.0)
    assert engine["containers.docker"].get().cdi_spec_dirs is None


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"url": "u", "error": "('Connection aborted.', PermissionError(13, 'Permission denied'))"}, Problem.DENIED),
        ({"url": "u", "error": "Read timed out. (read timeout=4)"}, Problem.TIMED_OUT),
        ({"url": "u", "error": "('Connection aborted.', ConnectionRefusedError(111, 'refused'))"}, Problem.ABSENT),
        ({}, Problem.ABSENT),
    ],
)
def test_an_engine_that_does_not_answer(answer: Mapping[str, object], problem: Problem) -> None:
    assert containers.engine(MemoryHost({}, queries={"docker": answer}), 1.0)["containers.docker"].problem is problem


SPEC = """cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
containerEdits:
  mounts:
  - hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.535.161.07
    containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.535.161.07
"""


def test_files_of_the_container_toolkit() -> None:
    facts = containers.probe(
        MemoryHost(
            {
                "/etc/docker/daemon.json": '{"default-runtime": "nvidia", "runtimes": {"nvidia": {"path": "x"}}}',
                "/etc/cdi/nvidia.yaml": SPEC,
                "/etc/cdi/other.yaml": "kind: vendor.com/net\n",
                "/var/run/cdi/nvidia.json": '{"kind": "nvidia.com/gpu", "mounts": [{"hostPath": "/gone"}]}',
                "/dev/nvidia0": "",
                "/etc/nvidia-container-runtime/config.toml": (
                    'disable-require = false\n[nvidia-container-cli]\nno-cgroups = true\nuser = "root:video"\n'
                ),
                "/usr/bin/nvidia-ctk": program(),
                "/usr/bin/podman": program(),
                "/usr/bin/docker": program(),
                "/usr/libexec/docker/cli-plugins/docker-buildx": program(),
                "/dev/char/195:0": "",
            },
            commands={
                "/usr/bin/nvidia-ctk --version": "NVIDIA Container Toolkit CLI version 1.17.4\ncommit: abc\n",
                "/usr/bin/podman --version": "podman version 5.1.0\n",
                "/usr/bin/docker --version": "Docker version 26.1.0, build 9714adc\n",
            },
        )
    )
    assert facts["containers.daemon_json"].get()["default-runtime"] == "nvidia"
    assert facts["containers.cdi_specs"].get() == ("/etc/cdi/nvidia.yaml", "/var/run/cdi/nvidia.json")
    assert facts["containers.cdi_missing_paths"].get() == ("/usr/lib/x86_64-linux-gnu/libcuda.so.535.161.07",)
    assert facts["containers.toolkit_config"].get() == {
        "disable-require": "false",
        "nvidia-container-cli.no-cgroups": "true",
    }
    assert str(facts["containers.container_toolkit"].get()) == "1.17.4"
    assert (str(facts["containers.podman"].get()), str(facts["containers.docker_client"].get())) == ("5.1.0", "26.1.0")
    assert facts["containers.buildx"].get() == "/usr/libexec/docker/cli-plugins/docker-buildx"
    assert facts["containers.device_links"].get() is True


@pytest.mark.parametrize("text", ["{", "[]", "{]"])
def test_a_broken_daemon_json_is_unparsable(text: str) -> None:
    facts = containers.probe(MemoryHost({"/etc/docker/daemon.json": text}))
    assert facts["containers.daemon_json"].problem is Problem.UNPARSABLE


def test_folders_without_a_specification_and_no_folder() -> None:
    assert containers.probe(MemoryHost({"/etc/cdi": folder()}))["containers.cdi_specs"].problem is Problem.ABSENT
    assert containers.probe(MemoryHost({}))["containers.cdi_missing_paths"].problem is Problem.ABSENT


@pytest.mark.parametrize(
    ("files", "injected"),
    [
        ({"/dev/nvidiactl": ""}, True),
        ({"/proc/self/mountinfo": "1 2 8:1 /x /usr/lib64/libcuda.so.535.1 ro - ext4 /dev/sda rw\n"}, True),
        ({}, False),
    ],
)
def test_inside_a_container_the_injection_is_seen(files: dict[str, Content], injected: bool) -> None:
    place: dict[str, Content] = {"/.dockerenv": "", "/proc/sys/kernel/osrelease": "6.1\n"}
    assert containers.probe(MemoryHost({**place, **files}))["containers.injected"].get() is injected


def test_outside_a_container_injection_does_not_apply() -> None:
    host = MemoryHost({"/proc/sys/kernel/osrelease": "6.1\n", "/proc/cpuinfo": "processor : 0\n"})
    assert containers.probe(host)["containers.injected"].problem is Problem.ABSENT


STATUS = """Package: libnvidia-compute-535
Status: install ok installed
Maintainer: Ubuntu Core Developers <ubuntu-devel-discuss@lists.ubuntu.com>
Architecture: amd64
Version: 535.161.07-0ubuntu0.22.04.1

Package: cuda-drivers
Status: hold ok installed
Maintainer: cudatools <cudatools@nvidia.com>
Version: 550.54.15-1

Package: nvidia-dkms-535
Status: install reinstreq half-installed
Version: 535.161.07

Package: bash
Status: install ok installed
Version: 5.1

Package: nvidia-driver-470
Status: deinstall ok config-files
Version: 470.1
"""


def test_packages_of_dpkg() -> None:
    found = {item.name: item for item in packages.packages(MemoryHost({packages.DPKG_STATUS: STATUS})).get()}
    assert set(found) == {"libnvidia-compute-535", "cuda-drivers", "nvidia-dkms-535"}
    assert (found["libnvidia-compute-535"].version, found["libnvidia-compute-535"].origin) == (
        "535.161.07-0ubuntu0.22.04.1",
        "ubuntu.com",
    )
    assert (found["cuda-drivers"].state, found["cuda-drivers"].origin) == ("hold", "nvidia.com")
    assert found["nvidia-dkms-535"].state == "half-installed"


def test_packages_of_rpm() -> None:
    query = "rpm -qa --qf %{NAME}\\t%{VERSION}-%{RELEASE}\\t%{VENDOR}\\n"
    host = MemoryHost(
        {"/var/lib/rpm/rpmdb.sqlite": ""},
        commands={
            query: "nvidia-driver-cuda\t550.54.15-1.el9\tNVIDIA\nbash\t5.1-1\tRocky\nkernel-core\t5.14-1\t(none)\n"
        },
    )
    listed = [(item.name, item.version, item.manager, item.origin) for item in packages.packages(host).get()]
    assert listed == [
        ("nvidia-driver-cuda", "550.54.15-1.el9", "rpm", "NVIDIA"),
        ("kernel-core", "5.14-1", "rpm", ""),
    ]


def test_no_package_manager_is_absent_and_a_refusal_denied() -> None:
    assert packages.packages(MemoryHost({})).problem is Problem.ABSENT
    assert packages.packages(MemoryHost({packages.DPKG_STATUS: refused()})).problem is Problem.DENIED


def test_repositories_that_carry_the_driver() -> None:
    host = MemoryHost(
        {
            "/etc/apt/sources.list": "deb http://mirror.example/debian bookworm main\n",
            "/etc/apt/sources.list.d/cuda.list": (
                "deb [signed-by=/x] https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/ /\n"
                "# deb https://nvidia.github.io/old /\n"
            ),
            "/etc/yum.repos.d/x.repo": "[x]\nbaseurl=https://negativo17.org/repos/epel-nvidia-9/\n",
        }
    )
    assert packages.probe(host)["repositories"].get() == (
        "https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/",
        "https://negativo17.org/repos/epel-nvidia-9/",
    )


HISTORY = """
Start-Date: 2024-01-10  06:10:01
Commandline: /usr/bin/unattended-upgrade
Upgrade: libnvidia-compute-535:amd64 (535.1, 535.2)
End-Date: 2024-01-10  06:11:01

Start-Date: 2024-03-10  06:10:01
Commandline: /usr/bin/unattended-upgrade
Upgrade: libnvidia-compute-535:amd64 (535.2, 535.3), bash:amd64 (5.1, 5.2), linux-image-6.5:amd64 (6.5.1, 6.5.2)
End-Date: 2024-03-10  06:11:01
"""


def test_what_changed_since_boot() -> None:
    booted = "cpu 1\nbtime 1706745600\n"  # 2024-02-01 00:00 UTC
    changes = packages.probe(MemoryHost({"/var/log/apt/history.log": HISTORY, "/proc/stat": booted}))["package_changes"]
    assert changes.get() == (
        "2024-03-10 06:10 unattended-upgrade: libnvidia-compute-535 (535.2, 535.3)",
        "2024-03-10 06:10 unattended-upgrade: linux-image-6.5 (6.5.1, 6.5.2)",
    )
    unknown = packages.probe(MemoryHost({"/var/log/apt/history.log": HISTORY}))["package_changes"]
    assert unknown.problem is Problem.NOT_LOOKED


def test_variables_that_matter() -> None:
    host = MemoryHost(
        {},
        variables={
            "CUDA_VISIBLE_DEVICES": "",
            "LD_LIBRARY_PATH": "/x",
            "NCCL_SOCKET_IFNAME": "eth0",
            "XLA_FLAGS": "--x",
            "EDITOR": "vi",
            "SSH_AUTH_SOCK": "/tmp/x",
            "TF_FORCE_GPU_ALLOW_GROWTH": "true",
        },
    )
    assert set(variables.variables(host).get()) == {
        "CUDA_VISIBLE_DEVICES",
        "LD_LIBRARY_PATH",
        "NCCL_SOCKET_IFNAME",
        "XLA_FLAGS",
        "TF_FORCE_GPU_ALLOW_GROWTH",
    }
    assert variables.variables(MemoryHost({})).problem is Problem.NOT_LOOKED


def test_variables_that_nobody_asks_for_are_not_kept_whatever_they_are_called() -> None:
    host = MemoryHost(
        {},
        variables={
            "NVIDIA_API_KEY": "nvapi-1",
            "PIP_INDEX_URL": "https://bob:s3cret@pypi.lan/simple",
            "TF_TOKEN_app": "x",
            "CUDA_HOME": "/usr/local/cuda",
        },
    )
    assert variables.variables(host).get() == {"CUDA_HOME": "/usr/local/cuda"}
