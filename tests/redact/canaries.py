"""One machine with a hundred things in it that nobody else should read, each in a source of its own and in a text."""

from __future__ import annotations

from tests.fakes.memory_host import MemoryHost, node, program
from tests.redact.test_secrets import FORMS, WORD

OWN_USER, OWN_HOST = "carolzw", "gpubox-17.lab.acmecorp.de"
_FORMS = tuple(FORMS.values())
# one word for each form of a secret: what is looked for in every output
SECRETS = tuple(f"S3cr3tX{number:02d}zyq" for number in range(60))


def secret(number: int) -> str:
    """The secret of that number, in the form in which people write it."""
    return _FORMS[number % len(_FORMS)].replace(WORD.upper(), SECRETS[number].upper()).replace(WORD, SECRETS[number])


IDENTIFIERS = (
    OWN_USER,
    "gpubox-17",
    "lab.acmecorp.de",
    "davexy",  # another user of the machine
    "erinxy",
    "frankxy",
    "acmeproject",  # folders and packages of the company
    "acmetools",
    "acmelib",
    "acmegroup",
    "acme0",
    "acmevolume",
    "acmeregistry",
    "mirror.acmecorp",
    "proxy.acmecorp",
    "logs.acmecorp",
    "gpu17.acmecorp",
    "10.20.30.41",
    "172.16.5.92",
    "192.168.77.13",
    "2a02:8109:9a40:1b00::17",
    "52:54:00:ab:cd:17",
    "52-54-00-ab-cd-18",
    "506b4b0300c2f0aa",
    "6c3a1f0e-1234-5678-9abc-def012345617",  # a GPU
    "7d3a1f0e-1234-5678-9abc-def012345618",  # a disk
    "8e3a1f0e-1234-5678-9abc-def012345619",  # a MIG instance
    "9f2a1b4c5d6e7f8091a2b3c4d5e6f718",  # the machine
    "af2a1b4c5d6e",  # a container
    "bf2a1b4c5d6e7f8091a2b3c4d5e6f7183f2a1b4c5d6e7f8091a2b3c4d5e6f718",
    "1562821012317",  # a serial number
    "S-1-5-21-3623811015-3361044348-30300820-1017",
    "bob.smithxy",
    "acmemail.com",
    "trainer-7c9d8b6f5-x2x17",
    "acmespace",
    "acmeaccount",
    "loghost17",
    "\x17serial\x17",  # in the config space of a bridge
    "acmekernelarg",
)
ALL = (*SECRETS, *IDENTIFIERS)

_ADDRESS, _BRIDGE = "0000:65:00.0", "0000:64:00.0"
_DEVICES = "/sys/bus/pci/devices"
_SITE = f"/home/{OWN_USER}/acmeproject/venv/lib/python3.11/site-packages"
_LOG = "".join(
    f"6,{number},{number}00000,-;NVRM: Xid (PCI:0000:65:00): 31, {words}\n"
    for number, words in enumerate(
        (
            secret(0),
            secret(1),
            f"pid=17, name=/home/davexy/acmeproject/x, {secret(2)}",
            "from 172.16.5.92 52:54:00:ab:cd:17 52-54-00-ab-cd-18 GUID 0x506b4b0300c2f0aa",
            "serial: 1562821012317 2a02:8109:9a40:1b00::17 container af2a1b4c5d6e",
            "/docker/bf2a1b4c5d6e7f8091a2b3c4d5e6f7183f2a1b4c5d6e7f8091a2b3c4d5e6f718",
            "on gpu17.acmecorp.de and bob.smithxy@acmemail.com",
            f"{OWN_HOST} {OWN_USER} S-1-5-21-3623811015-3361044348-30300820-1017",
            'pod/trainer-7c9d8b6f5-x2x17 in namespace "acmespace" SLURM_JOB_ACCOUNT=acmeaccount',
            "machine-id 9f2a1b4c5d6e7f8091a2b3c4d5e6f718",
        )
    )
)
_HISTORY = f"""
Start-Date: 2026-03-10  06:10:01
Commandline: apt-get -o Acquire::http::Proxy={secret(3)} install /home/davexy/x {secret(4)}
Requested-By: davexy (1000)
Upgrade: libnvidia-compute-535:amd64 (535.2, 535.3)
"""
_WRAPPER = (
    f"#!/bin/sh\nexport PASSWORD={SECRETS[5]}\n# mail bob.smithxy@acmemail.com\nexec /usr/local/cuda-12.4/bin/nvcc $@\n"
)
_DAEMON = f"""{{"default-runtime": "nvidia", "runtimes": {{"nvidia": {{"path": "nvidia-container-runtime",
 "runtimeArgs": ["--token", "{SECRETS[6]}"]}}}}, "proxies": {{"http-proxy": "http://u:{SECRETS[7]}@proxy.acmecorp.de"}},
 "log-opts": {{"splunk-token": "{SECRETS[8]}", "splunk-url": "https://logs.acmecorp.de"}},
 "insecure-registries": ["acmeregistry:5000"]}}"""


def machine() -> MemoryHost:
    """The machine: a GPU with its driver, an environment with PyTorch, an engine, and a canary in each source."""
    variables = {f"CUDA_THING_{number}": secret(number) for number in range(30, 40)}
    return MemoryHost(
        {
            "/etc/os-release": f'ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04"\nHOME_URL="{secret(9)}"\n',
            "/proc/sys/kernel/osrelease": "6.5.0-28-generic\n",
            "/proc/cpuinfo": "processor : 0\nflags : fpu\nSerial : 1562821012317\n",
            "/proc/modules": "nvidia 1 0 - Live 0x0\nnvidia_uvm 1 0 - Live 0x0\nnvidia_drm 1 0 - Live 0x0\n",
            "/proc/version": f"Linux version 6.5.0 ({OWN_USER}@{OWN_HOST}) (gcc-12 (Ubuntu 12.3.0) 12.3.0) #1\n",
            "/proc/cmdline": (
                f"root=UUID=7d3a1f0e-1234-5678-9abc-def012345618 netroot=iscsi:u:{SECRETS[10]}@10.20.30.41::3260:x "
                f"ip=192.168.77.13::1 ds=nocloud;s=https://x/{SECRETS[11]}abc123 acmekernelarg=1 hostname={OWN_HOST} "
                "modprobe.blacklist=nouveau iommu=pt\n"
            ),
            "/proc/self/mountinfo": (
                "1 1 8:1 / / rw - ext4 /dev/mapper/acmevolume rw\n"
                f"2 1 0:9 / /data rw - cifs //mirror.acmecorp.de/x rw,username=davexy,password={SECRETS[12]}\n"
            ),
            "/proc/1/cgroup": f"0::/user.slice/{secret(13)}\n",
            "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.07  Sat Feb\n",
            "/proc/driver/nvidia/params": f'RegistryDwords: "x={SECRETS[14]}"\nResmanDebugLevel: 4294967295\n',
            f"/proc/driver/nvidia/gpus/{_ADDRESS}/information": (
                "Model: \t NVIDIA A100\nGPU UUID: \t GPU-6c3a1f0e-1234-5678-9abc-def012345617\n"
            ),
            "/dev/kmsg": _LOG,
            "/dev/nvidia0": node("195:0", mode="0660", group="acmegroup", accessible=False),
            "/dev/nvidiactl": node("195:255"),
            "/etc/modprobe.d/nvidia.conf": (
                f"options nvidia NVreg_X={SECRETS[15]} NVreg_Token={SECRETS[16]} -p{SECRETS[16]}\n# {secret(17)}\n"
            ),
            "/etc/nccl.conf": (
                f"NCCL_SOCKET_IFNAME=acme0\nNCCL_DEBUG_FILE=/home/{OWN_USER}/n.log\nX_TOKEN={SECRETS[18]}\n"
            ),
            "/sys/class/net/eth0/operstate": "up\n",
            "/sys/class/net/acme0/operstate": "up\n",
            f"{_DEVICES}/{_ADDRESS}/vendor": "0x10de\n",
            f"{_DEVICES}/{_ADDRESS}/class": "0x030200\n",
            f"{_DEVICES}/{_ADDRESS}/device": "0x20b2\n",
            f"{_DEVICES}/{_ADDRESS}/config": b"\xde\x10\xb2\x20".ljust(64, b"\0"),
            f"{_DEVICES}/{_BRIDGE}/config": b"\x22\x10".ljust(256, b"\0") + b"\x03\0\x01\0" + b"\x17serial\x17",
            "/usr/local/bin/nvcc": _WRAPPER.encode(),
            "/usr/local/cuda-12.4/bin/nvcc": program(),
            "/usr/local/cuda-12.4/version.json": f'{{"cuda": {{"version": "12.4.1"}}, "note": "{secret(19)}"}}',
            "/usr/bin/nvidia-smi": program(),
            "/usr/bin/docker": program(),
            f"/home/{OWN_USER}/acmeproject/venv/bin/python": program(),
            f"/home/{OWN_USER}/acmeproject/venv/pyvenv.cfg": f"home = /usr/bin\nversion = 3.11.4\nx = {secret(20)}\n",
            f"{_SITE}/torch-2.6.0.dist-info/METADATA": (
                "Name: torch\nVersion: 2.6.0\n"
                f"Requires-Dist: acmelib @ https://u:{SECRETS[21]}@mirror.acmecorp.de/acmelib.whl\n"
            ),
            f"{_SITE}/acmelib-1.0.dist-info/METADATA": f"Name: acmelib\nVersion: 1.0\nAuthor: {secret(22)}\n",
            f"{_SITE}/torch/version.py": f"__version__ = '2.6.0'\ncuda = '12.4'\n# {secret(23)}\n",
            "/etc/docker/daemon.json": _DAEMON,
            "/etc/nvidia-container-runtime/config.toml": (
                f'[nvidia-container-cli]\nenvironment = ["TOKEN={SECRETS[24]}"]\nno-cgroups = false\n'
            ),
            "/etc/apt/sources.list.d/acmetools.list": (
                f"deb https://u:{SECRETS[25]}@mirror.acmecorp.de/{SECRETS[26]}/nvidia/cuda/repos/ubuntu2204/x86_64 /\n"
            ),
            "/var/log/apt/history.log": _HISTORY,
            "/proc/stat": "btime 1706745600\n",
            "/var/log/nvidia-installer.log": f"nvidia-installer version: 535.161.07\n{secret(27)} /home/erinxy/x\n",
            "/usr/bin/nvidia-uninstall": program(),
            "/var/lib/dpkg/status": (
                "Package: nvidia-driver-535\nStatus: install ok installed\nVersion: 535.161.07\n"
                f"Maintainer: B <bob.smithxy@acmemail.com>\nDescription: {secret(28)}\n\n"
                "Package: acmetools-cuda\nStatus: install ok installed\nVersion: 1\nMaintainer: A <a@acmecorp.de>\n"
            ),
            "/var/lib/dkms/nvidia/535.161.07/build/make.log": f"CC x.o\n/home/frankxy/x.c: error: {secret(29)}\n",
        },
        commands={
            "/usr/bin/nvidia-smi -L": "GPU 0: NVIDIA A100 (UUID: GPU-6c3a1f0e-1234-5678-9abc-def012345617)",
            "/usr/bin/docker --version": f"Docker version 26.1.3, build b72abbb {secret(40)}",
        },
        queries={
            "nvml": {
                "init": {"code": 0, "name": "NVML_SUCCESS", "call": "nvmlInit"},
                "driver_cuda_version": 12020,
                "devices": [
                    {
                        "index": 0,
                        "name": "NVIDIA A100",
                        "gpu_uuid": "GPU-6c3a1f0e-1234-5678-9abc-def012345617",
                        "mig_instances": ["MIG-8e3a1f0e-1234-5678-9abc-def012345619"],
                        "pci_address": "00000000:65:00.0",
                    }
                ],
            },
            "docker": {"url": f"tcp://u:{SECRETS[41]}@gpu17.acmecorp.de:2375", "error": f"refused: {secret(42)}"},
        },
        variables={
            **variables,
            "PATH": f"/home/{OWN_USER}/acmeproject/venv/bin:/usr/local/bin:/usr/bin",
            "VIRTUAL_ENV": f"/home/{OWN_USER}/acmeproject/venv",
            "LD_LIBRARY_PATH": "/scratch/davexy/lib:/data/acmeproject/lib",
            "XLA_FLAGS": f"--xla_dump_to=/home/erinxy/x --token={SECRETS[43]}",
            "NVCC_PREPEND_FLAGS": secret(44),
            "PYTORCH_CUDA_ALLOC_CONF": secret(45),
            "DOCKER_HOST": f"ssh://frankxy:{SECRETS[46]}@172.16.5.92",
            "CUDA_VISIBLE_DEVICES": "GPU-6c3a1f0e-1234-5678-9abc-def012345617",
            "NCCL_SOCKET_IFNAME": "acme0",
            "HF_TOKEN": SECRETS[47],
            "TF_VAR_db_pw": SECRETS[48],
            "NVIDIA_LICENSE": SECRETS[49],
            "PIP_INDEX_URL": f"https://u:{SECRETS[50]}@mirror.acmecorp.de/{SECRETS[51]}/simple",
            "UV_INDEX_PRIVATE_PASSWORD": SECRETS[52],
            "DOCKER_AUTH_CONFIG": f'{{"auth": "{SECRETS[53]}"}}',
            "SLURM_JOB_ID": "17",
            "SLURM_JOB_USER": "davexy",
            "TF_CONFIG": '{"cluster": {"worker": ["gpu17.acmecorp.de:2222"]}}',
            "CUDA_SECRET_SEED": SECRETS[54],
            "NVIDIA_PIN": SECRETS[55],
        },
        identity={
            "kernel": "6.5.0-28-generic",
            "architecture": "x86_64",
            "user": OWN_USER,
            "host": OWN_HOST,
            "home": f"/home/{OWN_USER}",
            "cwd": f"/home/{OWN_USER}/acmeproject/{SECRETS[56]}abcd1234",
            "user_id": "1000",
            "groups": f"{OWN_USER} acmegroup docker",
            "python": f"/home/{OWN_USER}/acmeproject/venv/bin/python",
            "prefix": f"/home/{OWN_USER}/acmeproject/venv",
        },
        name=f"/home/{OWN_USER}/acmeproject/tree",
    )


PROMPT = f"{OWN_USER}@gpubox-17:~$ cat log\n"


def lines() -> tuple[str, ...]:
    """Lines that a report quotes, each with one canary in a form that people paste."""
    quoted = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    return (
        *(f"{quoted} {secret(number)}".partition("\n")[0] for number in range(60)),
        *(f"{quoted} {words}" for words in _IN_TEXT.values()),
    )


_IN_TEXT = {
    OWN_USER: f"for {OWN_USER}",
    "gpubox-17": "at gpubox-17",
    "lab.acmecorp.de": OWN_HOST,
    "davexy": "/home/davexy/x.py",
    "erinxy": "C:\\Users\\erinxy\\x",
    "frankxy": "/scratch/frankxy/x",
    "acmeproject": "/opt/acmeproject/lib/x.so",
    "acmetools": "File /data/acmetools/train.py",
    "acmelib": "https://github.com/acmelib/x",
    "acmevolume": "/dev/mapper/acmevolume",
    "acmeregistry": "acmeregistry.io/team/x:1",
    "mirror.acmecorp": "https://mirror.acmecorp.de/x",
    "proxy.acmecorp": "via proxy.acmecorp.de:3128",
    "gpu17.acmecorp": "on gpu17.acmecorp.de",
    "10.20.30.41": "from 10.20.30.41:22",
    "172.16.5.92": "MASTER_ADDR=172.16.5.92",
    "192.168.77.13": "inet 192.168.77.13/24",
    "2a02:8109:9a40:1b00::17": "inet6 2a02:8109:9a40:1b00::17",
    "52:54:00:ab:cd:17": "ether 52:54:00:ab:cd:17",
    "52-54-00-ab-cd-18": "ether 52-54-00-ab-cd-18",
    "506b4b0300c2f0aa": "GUID: 0x506b4b0300c2f0aa",
    "6c3a1f0e": "GPU-6c3a1f0e-1234-5678-9abc-def012345617",
    "7d3a1f0e": "UUID=7d3a1f0e-1234-5678-9abc-def012345618",
    "9f2a1b4c5d6e7f8091a2b3c4d5e6f718": "machine 9f2a1b4c5d6e7f8091a2b3c4d5e6f718",
    "af2a1b4c5d6e": "container af2a1b4c5d6e",
    "bf2a1b4c5d6e": "/docker/bf2a1b4c5d6e7f8091a2b3c4d5e6f7183f2a1b4c5d6e7f8091a2b3c4d5e6f718",
    "1562821012317": "Serial Number: 1562821012317",
    "3623811015": "S-1-5-21-3623811015-3361044348-30300820-1017",
    "bob.smithxy": "bob.smithxy@gmail.com",
    "acmemail": "x@acmemail.com",
    "x2x17": "pod/trainer-7c9d8b6f5-x2x17",
    "acmespace": 'namespace "acmespace"',
    "acmeaccount": "SLURM_JOB_ACCOUNT=acmeaccount",
    "gpu4217": "srun: error: gpu4217: task 0",
    "gpu4218": "connect to host gpu4218",
    "loghost17": "HOSTNAME=loghost17",
    "ginaxy": "USER=ginaxy",
    "heidixy": "ssh heidixy@gpu17",
    "ivanxy": "Requested-By: ivanxy (1000)",
    "acmeorg": "git@github.com:acmeorg/x.git",
}
IN_TEXT = (*SECRETS, *_IN_TEXT)
