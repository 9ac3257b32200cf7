"""Distribution, place, limits and the kernel, from the texts that real machines hold."""

from __future__ import annotations

import pytest

from envkit.base.versions import Version
from envkit.capture.recorded import Entry
from envkit.model import MachineKind, Problem
from envkit.probe import kernel, kernel_log, machine, os_release
from envkit.tables import Matrix
from tests.fakes.memory_host import Content, MemoryHost, folder, link, program, refused

CPU_METAL = "processor\t: 0\nflags\t\t: fpu vme sse2\n\nprocessor\t: 1\nflags\t\t: fpu vme sse2\n"
GVISOR = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n"
NINE_P = "2 0 0:28 / / rw - 9p none rw,trans=fd,rfdno=4,wfdno=4\n"
CPU_GUEST = CPU_METAL.replace("sse2", "sse2 hypervisor")


@pytest.mark.parametrize(
    ("files", "os_id", "version"),
    [
        ({"/etc/os-release": 'NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\n'}, "ubuntu22.04", "22.04"),
        ({"/etc/os-release": "ID=debian\nVERSION_ID=12\n", "/etc/debian_version": "12.11\n"}, "debian12", "12.11"),
        ({"/usr/lib/os-release": 'ID="rocky"\nVERSION_ID="9.4"\nID_LIKE="rhel centos fedora"\n'}, "rockylinux9", "9.4"),
        ({"/etc/os-release": 'ID="rhel"\nVERSION_ID="8.10"\n'}, "rhel8", "8.10"),
        ({"/etc/os-release": 'ID="almalinux"\nVERSION_ID="9.3"\n'}, "almalinux9", "9.3"),
        ({"/etc/os-release": 'ID="amzn"\nVERSION_ID="2023"\n'}, "amzn2023", "2023"),
        ({"/etc/os-release": "ID=fedora\nVERSION_ID=41\n"}, "fedora41", "41"),
        ({"/etc/os-release": 'ID="opensuse-leap"\nVERSION_ID="15.6"\n'}, "opensuse15", "15.6"),
        ({"/etc/os-release": 'ID="sles"\nVERSION_ID="15.5"\n'}, "sles15", "15.5"),
        ({"/etc/os-release": 'ID="azurelinux"\nVERSION_ID="3.0"\n'}, "azl3", "3.0"),
        (
            {
                "/etc/os-release": 'ID="centos"\nVERSION_ID="7"\nNAME="CentOS Linux"\n',
                "/etc/centos-release": "CentOS Linux release 7.9.2009 (Core)\n",
            },
            "centos7",
            "7.9.2009",
        ),
        ({"/etc/os-release": "ID=arch\nNAME=Arch\n"}, "arch", ""),
        ({"/etc/os-release": "ID='ol'\nVERSION_ID=\"8.9\"\n"}, "oraclelinux8", "8.9"),
        (
            {
                "/etc/lsb-release": "LSB_VERSION=base-4.0-amd64\n",
                "/etc/redhat-release": "Red Hat Enterprise Linux Server release 6.10 (Santiago)\n",
                "/etc/system-release": "Red Hat Enterprise Linux Server release 6.10 (Santiago)\n",
            },
            "rhel6",
            "6.10",
        ),
        ({"/etc/os-release": 'ID=pop\nID_LIKE="ubuntu debian"\nPRETTY_NAME="Pop!_OS 22.04 LTS"\n'}, "pop22", "22.04"),
    ],
)
def test_distributions_are_named_by_the_keys_of_our_table(files: dict[str, Content], os_id: str, version: str) -> None:
    release = os_release.distribution(MemoryHost(files)).get()
    assert (release.os_id, release.version_id) == (os_id, version)


def test_the_keys_are_those_of_the_table() -> None:
    known = {row.os_id for row in Matrix.load().operating_systems}
    assert {"ubuntu22.04", "debian12", "rockylinux9", "rhel8", "almalinux9", "amzn2023", "fedora41"} <= known
    assert {"opensuse15", "sles15", "azl3", "centos7"} <= known


def test_no_release_file_is_absent_and_an_empty_one_unparsable() -> None:
    assert os_release.distribution(MemoryHost({})).problem is Problem.ABSENT
    assert os_release.distribution(MemoryHost({"/etc/os-release": "\n"})).problem is Problem.UNPARSABLE
    assert os_release.distribution(MemoryHost({"/etc/os-release": "ID=$(id)\n"})).problem is Problem.UNPARSABLE


def test_a_root_tells_architecture_and_libraries_from_its_files() -> None:
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xb7\x00" + bytes(40)
    host = MemoryHost(
        {
            "/bin/sh": header,
            "/lib/aarch64-linux-gnu/libc.so.6": b"..GNU C Library (Ubuntu GLIBC 2.35-0) stable release version 2.35.\n",
            "/usr/lib/aarch64-linux-gnu/libstdc++.so.6": b"\0GLIBCXX_3.4\0GLIBCXX_3.4.30\0GLIBCXX_3.4.9\0GLIBCXX_X\0",
        }
    )
    facts = os_release.probe(host)
    assert facts["system.architecture"].get() == "aarch64"
    assert facts["system.glibc"].get() == Version.parse("2.35")
    assert facts["system.glibcxx"].get() == Version.parse("3.4.30")
    assert facts["system.kernel"].problem is Problem.NOT_LOOKED


@pytest.mark.parametrize(
    ("files", "kind", "source"),
    [
        ({"/proc/cpuinfo": CPU_METAL}, MachineKind.METAL, "/proc/cpuinfo"),
        ({"/proc/cpuinfo": CPU_GUEST}, MachineKind.VM, "/proc/cpuinfo"),
        (
            {"/proc/cpuinfo": "processor : 0\nFeatures : fp asimd\n", "/sys/class/dmi/id/sys_vendor": "QEMU\n"},
            MachineKind.VM,
            "/sys/class/dmi/id/sys_vendor",
        ),
        ({"/proc/cpuinfo": CPU_GUEST, "/.dockerenv": ""}, MachineKind.CONTAINER, "/.dockerenv"),
        (
            {"/proc/cpuinfo": CPU_METAL, "/run/.containerenv": 'engine="podman-5"\n'},
            MachineKind.CONTAINER,
            "/run/.containerenv",
        ),
        (
            {"/proc/cpuinfo": CPU_METAL, "/proc/1/cgroup": "0::/kubepods/burstable/pod1\n"},
            MachineKind.CONTAINER,
            "/proc/1/cgroup",
        ),
        (
            {"/proc/cpuinfo": CPU_METAL, "/.dockerenv": "", "/proc/2/comm": "kthreadd\n"},
            MachineKind.METAL,
            "/proc/cpuinfo",
        ),
        (
            {
                "/proc/cpuinfo": CPU_METAL,
                "/.dockerenv": "",
                "/proc/2/comm": "kthreadd\n",
                "/proc/self/mountinfo": "9 8 0:50 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/x\n",
            },
            MachineKind.CONTAINER,
            "/.dockerenv",
        ),
        (
            {"/proc/cpuinfo": "processor : 0\n", "/etc/nv_tegra_release": "# R35 (release), REVISION: 4.1, GCID: 1\n"},
            MachineKind.JETSON,
            "/etc/nv_tegra_release",
        ),
        (
            {"/proc/cpuinfo": "processor : 0\n", "/proc/device-tree/compatible": "nvidia,p3701\0nvidia,tegra234\0"},
            MachineKind.JETSON,
            "/proc/device-tree/compatible",
        ),
    ],
)
def test_the_place_is_told_from_files(files: dict[str, Content], kind: MachineKind, source: str) -> None:
    observed = machine.machine_kind(MemoryHost({"/proc/sys/kernel/osrelease": "6.1.0-18-amd64\n", **files}))
    assert (observed.get(), observed.source) == (kind, source)


OVERLAY = "9 8 0:50 / / rw,relatime master:1 - overlay overlay rw,lowerdir=/x\n"


@pytest.mark.parametrize(
    ("files", "variables", "source", "engine"),
    [
        ({"/proc/self/mountinfo": OVERLAY}, {}, "/proc/self/mountinfo", "an engine without a mark"),
        ({"/proc/2/comm": "kthreadd\n"}, {"APPTAINER_CONTAINER": "/x.sif"}, "APPTAINER_CONTAINER", "apptainer"),
        ({"/proc/version": GVISOR, "/proc/self/mountinfo": NINE_P}, {}, "/proc/version", "gvisor"),
        ({}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "KUBERNETES_SERVICE_HOST", "kubernetes"),
        ({"/proc/1/cgroup": "0::/lxc/box\n"}, {}, "/proc/1/cgroup", "lxc"),
        ({"/run/systemd/container": "systemd-nspawn\n"}, {}, "/run/systemd/container", "systemd-nspawn"),
    ],
)
def test_containers_without_a_mark_in_a_file(
    files: dict[str, Content], variables: dict[str, str], source: str, engine: str
) -> None:
    host = MemoryHost(
        {"/proc/sys/kernel/osrelease": "6.1.0\n", "/proc/cpuinfo": CPU_METAL, **files}, variables=variables
    )
    observed = machine.machine_kind(host)
    assert (observed.get(), observed.source) == (MachineKind.CONTAINER, source)
    assert machine.probe(host)["system.vendor"].get() == engine


def test_a_live_system_on_an_overlay_is_no_container() -> None:
    files: dict[str, Content] = {"/proc/self/mountinfo": OVERLAY, "/proc/2/comm": "kthreadd\n"}
    host = MemoryHost({"/proc/sys/kernel/osrelease": "6.1.0\n", "/proc/cpuinfo": CPU_METAL, **files})
    assert machine.machine_kind(host).get() is MachineKind.METAL


@pytest.mark.parametrize(
    ("release", "extra", "kind"),
    [
        ("5.15.153.1-microsoft-standard-WSL2\n", {}, MachineKind.WSL2),
        ("4.4.0-19041-Microsoft\n", {}, MachineKind.WSL1),
        ("6.6.0-microsoft-custom\n", {"/dev/dxg": Entry("char", device="10:125")}, MachineKind.WSL2),
    ],
)
def test_wsl_generations(release: str, extra: dict[str, Content], kind: MachineKind) -> None:
    host = MemoryHost({"/proc/sys/kernel/osrelease": release, "/proc/cpuinfo": CPU_GUEST, **extra})
    assert machine.machine_kind(host).get() is kind


def test_limits_and_settings() -> None:
    host = MemoryHost(
        {
            "/proc/sys/kernel/osrelease": "6.1.0\n",
            "/proc/cpuinfo": CPU_METAL,
            "/proc/meminfo": "MemTotal:       263856404 kB\nMemFree: 1 kB\n",
            "/proc/self/limits": "Limit  Soft Limit  Hard Limit\nMax locked memory         8388608   8388608   bytes\n",
            "/proc/self/mountinfo": "22 1 8:1 / / rw - ext4 x rw\n23 22 0:9 / /tmp rw,noexec - tmpfs tmpfs rw\n",
            "/proc/filesystems": "nodev\tsysfs\n\text4\n",
            "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c": b"\x06\0\0\0\x01",
            "/sys/kernel/security/lockdown": "none [integrity] confidentiality\n",
            "/etc/nv_tegra_release": "# R36 (release), REVISION: 3.0, GCID: 1, BOARD: generic\n",
            "/proc/device-tree/model": "NVIDIA Jetson AGX Orin Developer Kit\0",
            "/etc/prime-discrete": "on-demand\n",
            "/sys/class/infiniband/mlx5_0": folder(),
            "/sys/class/net/eth0/operstate": "up\n",
            "/sys/class/net/ib0/operstate": "down\n",
            "/sys/class/net/lo/operstate": "unknown\n",
            "/tmp/.X0-lock": "      1234\n",
            "/proc/1234/comm": "Xorg\n",
            "/etc/nccl.conf": "NCCL_SOCKET_IFNAME=eth9\n# a comment\n",
        },
        identity={"user_id": "1000", "groups": "users video"},
    )
    facts = machine.probe(host)
    assert facts["system.processors"].get() == 2
    assert facts["system.memory_bytes"].get() == 263856404 * 1024
    assert facts["system.memlock_bytes"].get() == 8388608
    assert facts["system.tmp_noexec"].get() is True
    assert facts["system.selinux"].get() == "disabled"
    assert facts["system.secure_boot"].get() is True
    assert facts["system.lockdown"].get() == "integrity"
    assert facts["system.l4t_release"].get() == Version.parse("36.3.0")
    assert facts["system.platform_model"].get() == "NVIDIA Jetson AGX Orin Developer Kit"
    assert facts["system.prime_profile"].get() == "on-demand"
    assert facts["system.infiniband_devices"].get() == ("mlx5_0",)
    assert facts["network_interfaces"].get() == ("eth0", "lo")
    assert facts["system.display_server"].get() == "Xorg"
    assert facts["nccl_config"].get() == {"NCCL_SOCKET_IFNAME": "eth9"}
    assert (facts["system.user_id"].get(), facts["system.groups"].get()) == (1000, ("users", "video"))


def test_legacy_boot_is_not_secure_boot_off() -> None:
    assert machine.probe(MemoryHost({}))["system.secure_boot"].problem is Problem.ABSENT


@pytest.mark.parametrize(("text", "word"), [("1", "enforcing"), ("0\n", "permissive")])
def test_selinux(text: str, word: str) -> None:
    assert machine.probe(MemoryHost({"/sys/fs/selinux/enforce": text}))["system.selinux"].get() == word


def test_unlimited_locked_memory_is_minus_one() -> None:
    limits = "Max locked memory         unlimited            unlimited            bytes\n"
    assert machine.probe(MemoryHost({"/proc/self/limits": limits}))["system.memlock_bytes"].get() == -1


RUNNING = "6.8.0-45-generic"
OLDER = "6.8.0-41-generic"


def _kernel(files: dict[str, Content], commands: dict[str, str] | None = None) -> MemoryHost:
    return MemoryHost(files, commands=commands or {}, identity={"kernel": RUNNING})


def test_modules_of_other_kernels_are_listed_after_the_running_ones() -> None:
    dkms = f"/lib/modules/{RUNNING}/updates/dkms/nvidia.ko.zst"
    facts = kernel.probe(
        _kernel(
            {
                f"/lib/modules/{OLDER}/kernel/drivers/video/nvidia.ko": program(),
                dkms: program(),
                f"/lib/modules/{RUNNING}/build": link(f"/usr/src/linux-headers-{RUNNING}"),
            },
            {f"modinfo {dkms}": "filename: x\nversion:        550.107.02\nlicense:      Dual MIT/GPL\nsigner: DKMS\n"},
        )
    )
    running, older = facts["kernel.module_files"].get()
    assert (running.kernel, running.version, running.open_kernel_module, running.signed) == (
        RUNNING,
        Version.parse("550.107.02"),
        True,
        True,
    )
    assert (older.kernel, older.version, older.open_kernel_module) == (OLDER, None, None)
    assert facts["kernel.headers"].problem is Problem.ABSENT, "a link that leads nowhere"


def test_no_module_file_is_an_empty_list_where_kernels_are_installed() -> None:
    facts = kernel.probe(_kernel({f"/lib/modules/{RUNNING}/kernel": folder()}))
    assert facts["kernel.module_files"].get() == ()


def test_blacklists_of_files_and_of_the_command_line() -> None:
    facts = kernel.probe(
        _kernel(
            {
                "/etc/modprobe.d/blacklist.conf": "# blacklist nvidia\nblacklist pcspkr\nblacklist nouveau\n",
                "/etc/modprobe.d/off.conf": "install nvidia /bin/false\noptions nvidia NVreg_DeviceFileMode=0660\n",
                "/lib/modprobe.d/nvidia.conf": "options nvidia-drm modeset=1\noptions nvidia NVreg_A=1\n",
                "/proc/cmdline": "root=/dev/sda1 modprobe.blacklist=nvidia-drm,floppy quiet\n",
            }
        )
    )
    assert facts["kernel.blacklisted"].get() == ("nouveau", "nvidia", "nvidia_drm")
    assert facts["kernel.modprobe_options"].get() == {
        "nvidia": "NVreg_DeviceFileMode=0660 NVreg_A=1",
        "nvidia_drm": "modeset=1",
    }


def test_dkms_states() -> None:
    base = "/var/lib/dkms/nvidia"
    facts = kernel.probe(
        _kernel(
            {
                f"{base}/550.107.02/source": link("/usr/src/nvidia-550.107.02"),
                "/usr/src/nvidia-550.107.02/dkms.conf": "",
                f"{base}/550.107.02/{OLDER}/x86_64/module/nvidia.ko": program(),
                f"{base}/550.107.02/{RUNNING}/x86_64/module/nvidia.ko": program(),
                f"{base}/kernel-{RUNNING}-x86_64": link(f"550.107.02/{RUNNING}/x86_64"),
                f"{base}/535.1.1/source": link("/usr/src/nvidia-550.107.02"),
                f"{base}/470.1.1/source": link("/usr/src/gone"),
                f"{base}/535.1.1/build/make.log": "line\n" * 100 + "error: implicit declaration\n",
            }
        )
    )
    states = {(entry.version, entry.kernel): entry.state for entry in facts["kernel.dkms"].get()}
    assert states == {
        ("550.107.02", OLDER): "built",
        ("550.107.02", RUNNING): "installed",
        ("535.1.1", ""): "added",
        ("470.1.1", ""): "broken",
    }
    log = facts["kernel.dkms_make_log"].get()
    assert log.endswith("error: implicit declaration") and log.count("\n") == 39


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"/sys/kernel/iommu_groups": folder()}, "off"),
        ({"/sys/kernel/iommu_groups/1/type": "DMA-FQ\n"}, "translated"),
        ({"/sys/kernel/iommu_groups/1/type": "identity\n"}, "passthrough"),
    ],
)
def test_iommu(files: dict[str, Content], expected: str) -> None:
    gpu = "/sys/bus/pci/devices/0000:65:00.0"
    linked: dict[str, Content] = {f"{gpu}/vendor": "0x10de", f"{gpu}/iommu_group": link("/sys/kernel/iommu_groups/1")}
    assert kernel.probe(_kernel({**files, **linked}))["kernel.iommu"].get() == expected


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Linux version 6.1.0-18-amd64 (b@d) (gcc-12 (Debian 12.2.0-14) 12.2.0, GNU ld 2.40) #1 SMP", "12.2.0"),
        ("Linux version 5.4.0 (b@d) (gcc version 9.4.0 (Ubuntu 9.4.0-1ubuntu1~20.04.2)) #1", "9.4.0"),
        ("Linux version 6.8.0 (b@d) (x86_64-linux-gnu-gcc-13 (Ubuntu 13.2.0-23ubuntu4) 13.2.0, GNU ld) #4", "13.2.0"),
    ],
)
def test_the_kernels_compiler(text: str, version: str) -> None:
    assert kernel.probe(_kernel({"/proc/version": text}))["kernel.compiler"].get() == Version.parse(version)


KMSG = (
    "6,339,5140900,-;usb 1-1: new device\n"
    "3,340,5200000,-;NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.\n"
    "6,400,9000000000,-;PM: suspend exit\n"
)


def test_the_kernel_log_keeps_what_matters() -> None:
    facts = kernel_log.probe(MemoryHost({"/dev/kmsg": KMSG}))
    assert facts["kernel.log"].get() == (
        "[    5.200000] NVRM: Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.",
        "[ 9000.000000] PM: suspend exit",
    )
    assert "suspend exit" in facts["system.last_resume"].get()


def test_a_log_for_root_only_is_denied_and_the_journal_stands_in() -> None:
    assert kernel_log.probe(MemoryHost({"/dev/kmsg": refused()}))["kernel.log"].problem is Problem.DENIED
    journal = "journalctl -k -b -q --no-pager -o short-monotonic"
    host = MemoryHost({"/dev/kmsg": refused()}, commands={journal: "[    3.1] host kernel: NVRM: loading\n"})
    facts = kernel_log.probe(host)
    assert facts["kernel.log"].get() == ("[    3.1] NVRM: loading",)
    assert facts["system.last_resume"].problem is Problem.ABSENT
