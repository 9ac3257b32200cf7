"""Masking: nothing that identifies is left, equal things stay equal, and versions are not taken for addresses."""

from __future__ import annotations

import ipaddress
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envkit.base.versions import Version
from envkit.model import (
    DeviceNode,
    Distribution,
    Environment,
    Gpu,
    Identity,
    Kernel,
    Message,
    PythonEnvironment,
    System,
    SystemPackage,
    found,
)
from envkit.privacy.masker import Masker, mask_environment
from envkit.privacy.secrets import without_secrets
from envkit.privacy.words import is_public
from envkit.tables import Matrix
from tests.redact.corpus import changed, leaking_identifiers, rows

_MAY_STAY = 0.02
OWN = Identity(("carol",), ("gpubox-17.lab.example.org", "gpubox-17"))


def masked(text: str) -> str:
    return Masker(OWN).text(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("opened /home/alice/project/run.py", "alice"),
        ("C:/Users/Alice Smith/x", "Alice"),
        ("at C:\\Users\\Alice Smith\\x", "Smith"),
        ("/mnt/c/Users/alice/x", "alice"),
        ("/export/home/alice/x", "alice"),
        ("/u/alice/x and /scratch/alice/y", "alice"),
        ("/opt/acmecorp/lib/libcudart.so.12", "acmecorp"),
        ("LD_LIBRARY_PATH=/usr/lib:/data/acmecorp/lib", "acmecorp"),
        ("~alice/x", "alice"),
        ("python train_acmecorp.py", "acmecorp"),
        ("connect to 10.20.30.40:8080", "10.20.30.40"),
        ("inet 172.16.5.9/24", "172.16.5.9"),
        ("MASTER_ADDR=10.20.30.40", "10.20.30.40"),
        ("docker 172.17.0.2", "172.17.0.2"),
        ("cuda version 12.4\n10.20.30.40 is the host", "10.20.30.40"),
        ("addr fe80::1c2b:3aff:fe4d:5e6f", "1c2b"),
        ("addr 2a02:8109:9a40:1b00::1", "8109"),
        ("ether 52:54:00:ab:cd:ef", "ab:cd:ef"),
        ("ether 52-54-00-ab-cd-ef", "ab-cd-ef"),
        ("link wlx5254abcdef12 is up", "5254abcdef12"),
        ("80:00:02:08:fe:80:00:00:00:00:00:00:50:6b:4b:03:00:c2:f0:aa", "c2:f0"),
        ("Node GUID: 0x506b4b0300c2f0aa", "506b4b"),
        ("GUID 506b:4b03:00c2:f0aa", "f0aa"),
        ("UUID: GPU-6c3a1f0e-1234-5678-9abc-def012345678", "6c3a1f0e"),
        ("root=UUID=6c3a1f0e-1234-5678-9abc-def012345678 ro", "6c3a1f0e"),
        ("kubepods-pod7c3d1f0e_1234_5678_9abc_def012345678.slice", "7c3d1f0e"),
        ("/docker/3f2a1b4c5d6e7f8091a2b3c4d5e6f7083f2a1b4c5d6e7f8091a2b3c4d5e6f708", "3f2a1b4c"),
        ("container 3f2a1b4c5d6e is not running", "3f2a1b4c5d6e"),
        ("machine-id 3f2a1b4c5d6e7f8091a2b3c4d5e6f708", "3f2a1b4c"),
        ("S-1-5-21-3623811015-3361044348-30300820-1013", "3623811015"),
        ("Serial Number                         : 1562821012345", "1562821012345"),
        ("serial: PF2ABC7X", "PF2ABC7X"),
        ("Device Serial Number 48-b0-2d-ff-ff-12-34-56", "12-34-56"),
        ("Chassis Serial: 1582-A30-77", "A30-77"),
        ("mail bob.smith@acmecorp.de", "smith"),
        ("mail bob.smith@acmecorp.de", "acmecorp"),
        ("git@github.com:acmecorp/x.git", "acmecorp"),
        ("https://github.com/acmecorp/x", "acmecorp"),
        ("https://mirror.acmecorp.lan/nvidia", "acmecorp"),
        ("registry.acmecorp.io/team/trainer:1", "acmecorp"),
        ("gpu17.cluster.acmecorp.de is down", "acmecorp"),
        ("\\\\acmefiles\\share\\x", "acmefiles"),
        ("Mar  3 10:11:12 loghost kernel: NVRM: Xid", "loghost"),
        ("2024-03-03T10:11:12.123+01:00 loghost nvidia-fabricmanager[12]: x", "loghost"),
        ("[   12.345678] loghost kernel: NVRM: Xid", "loghost"),
        ("dave@gpu:~$ ls", "gpu"),
        ("(base) dave@build:~/x$ ls", "dave"),
        ("[dave@node7 work]# ls", "node7"),
        ("Linux torch 5.15.0-91-generic #101", "torch"),
        ("ssh -p 22 dave@cuda x", "dave"),
        ("srun: error: gpu017: task 0: Exited", "gpu017"),
        ("slurmstepd: error: *** JOB 123 ON gpu017 CANCELLED", "gpu017"),
        ("SLURM_JOB_ACCOUNT=acmecorp", "acmecorp"),
        ("SLURM_NODELIST=gpu[01-04]", "gpu[01"),
        ("pod/trainer-7c9d8b6f5-x2x9z failed", "x2x9z"),
        ('namespace "acmecorp-prod"', "acmecorp"),
        ("on this host (kepler-03)", "kepler-03"),
        ("node7:811:902 [2] transport NCCL WARN x", "node7"),
        ("connect to acmenode:29500 failed", "acmenode"),
        ("HOSTNAME=cuda", "=cuda"),
        ("USER=torch", "torch"),
        ("Requested-By: dave (1000)", "dave"),
        ("GPUBOX-17 and gpubox-17.lab.example.org", "17"),
        ("carol ran it", "carol"),
    ],
)
def test_what_identifies_is_gone(text: str, name: str) -> None:
    assert name.lower() in text.lower()
    assert name.lower() not in masked(text).lower()


@pytest.mark.parametrize(
    "text",
    [
        "TensorRT 10.0.1.6 installed",
        "torch 2.1.0.1",
        "opencv-python 4.8.1.78",
        "libcudnn.so.8.9.7.29",
        "nvidia-cudnn-cu12==9.1.0.70",
        "nvidia-cublas-cu12        12.4.5.8",
        "cuDNN version 8.9.7.29",
        "driver 580.65.06, CUDA 13.0",
        "cudnn                     8.9.7.29             h092f7fd_3    conda-forge",
        "libcudnn8 8.9.7.29",
        "0000:65:00.0 VGA",
        "00000000:65:00.0",
        "listening on 127.0.0.1:8888",
        "Xid (PCI:0000:65:00): 79, GPU has fallen off the bus.",
        "NVRM: RmInitAdapter failed! (0x24:0xffff:1220) 0x00007f1234567890",
        "V13.0.88 release 13.0",
        "00:01:02 up 3 days",
        "serial console on ttyS0",
        "torch 2.13.0+cu130",
        "tokenizers 0.19.1",
        "OSError: /opt/torch/lib/libtorch.so: cannot open",
        'File "/opt/conda/lib/python3.10/site-packages/torch/cuda/__init__.py", line 247, in _lazy_init',
        "ModuleNotFoundError: No module named 'torch.cuda.amp'",
        "memcpy@GLIBC_2.14 x@@GLIBCXX_3.4.29",
        "pip install torch --index-url https://download.pytorch.org/whl/cu121",
        "see https://docs.nvidia.com/cuda/index.html and scipy.io",
        "nvcr.io/nvidia/pytorch:24.01-py3",
        "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
        "copied from host memory to device",
        "carolina and gpubox stay",
        "W tensorflow/core/common_runtime/gpu/gpu_device.cc:2256] Cannot dlopen some GPU libraries.",
    ],
)
def test_what_a_diagnosis_needs_stays(text: str) -> None:
    assert masked(text) == text


def test_nearly_all_identifiers_of_the_corpus_are_gone() -> None:
    leaking = leaking_identifiers()
    assert len(leaking) <= _MAY_STAY * len(rows("identifiers")), leaking


def test_no_innocent_line_of_the_corpus_is_changed() -> None:
    assert changed() == []


@pytest.mark.parametrize(
    "text", ["/home/bob/acmeproject/x", "C:\\Users\\bob\\acmeproject\\x", "mpirun -f /srv/acmeproject -H n1"]
)
def test_what_is_next_to_a_masked_part_is_looked_at_too(text: str) -> None:
    assert "acmeproject" not in masked(text)


@pytest.mark.parametrize("name", ["torch", "gpu", "build", "cuda-12", "lib"])
def test_a_user_or_host_with_a_common_name_changes_no_path_and_no_word(name: str) -> None:
    masker = Masker(Identity((name,), (name,)))
    text = f"/opt/torch/lib/libtorch.so: the gpu build of {name}, /usr/local/cuda-12/lib64"
    assert masker.text(text) == text
    assert masker.text(f"{name}@{name}:~$ ls /home/{name}/x") == "user@host:~$ ls /home/user/x"


def test_the_names_of_one_machine_are_one_and_those_of_others_are_not() -> None:
    text = "gpubox-17 GPUBOX-17.lab.example.org gpubox-18.lab.example.org gpubox-17"
    assert masked(text) == "host host host2 host"


def test_equal_things_stay_equal_and_different_ones_different() -> None:
    first, second = "GPU-6c3a1f0e-1234-5678-9abc-def012345678", "GPU-7c3a1f0e-1234-5678-9abc-def012345678"
    words = masked(f"{first} {second} {first.upper()}").split()
    assert words[0] == words[2].replace("gpu", "GPU") != words[1]
    short, whole = masked(f"3f2a1b4c5d6e {'3f2a1b4c5d6e7f80' * 4}").split()
    assert whole.startswith(short), "a short container id is the beginning of the long one"


def test_addresses_stay_valid_and_different_however_many_there_are() -> None:
    masker = Masker()
    given_addresses = [f"10.{i // 250}.{i % 250}.7" for i in range(2000)] + ["192.0.2.1", "198.18.0.1", "198.18.0.2"]
    shown = [masker.text(f"inet {address}").split()[1] for address in given_addresses]
    assert len(set(shown)) == len(given_addresses)
    assert all(ipaddress.ip_address(address) for address in shown)
    cards = [masker.text(f"ether 52:54:00:00:{i // 256:02x}:{i % 256:02x}").split()[1] for i in range(700)]
    assert len(set(cards)) == 700
    assert all(re.fullmatch(r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", card) for card in cards)


def test_a_name_that_looks_like_a_pseudonym_stays_another_one() -> None:
    masker = Masker(OWN)
    shown = [masker.text(f"/home/{name}/x") for name in ("alice", "user2", "user3", "carol", "user")]
    assert len(set(shown)) == 5


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=120))
def test_any_text_can_be_masked(text: str) -> None:
    Masker(OWN).text(text)


@pytest.mark.parametrize("name", ["nvidia-cublas-cu12", "cuda-12.4", "x86_64-linux-gnu", "libcudart", "python3.11"])
def test_public_names(name: str) -> None:
    assert is_public(name)


@pytest.mark.parametrize(
    "name", ["acme", "torch-acme", "a1b2c3d4", "alice", "u123456", "nvidia_acme_cu12", "张伟", "cuda-秘密"]
)
def test_private_names(name: str) -> None:
    assert not is_public(name)


def _environment() -> Environment:
    python = PythonEnvironment(
        "/home/carol/venv",
        Version.parse("3.11.7"),
        distributions=(
            Distribution("nvidia-cudnn-cu12", "9.1.0.70", "/home/carol/venv/lib", requires=("acmelib>=1 ; extra",)),
            Distribution("acmelib", "1.0", "/home/carol/venv/lib/acmelib-1.0.dist-info"),
        ),
        glibc_needed={"/home/carol/x.so": Version.parse("2.31")},
    )
    uuid = "GPU-6c3a1f0e-1234-5678-9abc-def012345678"
    return Environment(
        identity=OWN,
        system=System(groups=found(("carol", "video"), "id"), free_bytes=found({"/home/carol": 1}, "statvfs")),
        kernel=Kernel(
            cmdline=found("root=UUID=6c3a1f0e-1234-5678-9abc-def012345678 ip=10.1.2.3", "/proc/cmdline"),
            log=found(("[1.0] gpubox-17 kernel: NVRM: 10.1.2.3",), "/dev/kmsg"),
        ),
        gpus=found((Gpu(0, "A100", gpu_uuid=uuid),), "nvml"),
        variables=found(
            {"CUDA_HOME": "/home/carol/cuda", "CUDA_VISIBLE_DEVICES": uuid, "NCCL_SOCKET_IFNAME": "^acme0,docker"},
            "environment",
        ),
        network_interfaces=found(("eth0", "acme0"), "/sys/class/net"),
        packages=found((SystemPackage("acme-cuda-tools", "10.0.1.6", "dpkg", origin="acmecorp.de"),), "dpkg"),
        pythons=found((python,), "/home/carol/venv/pyvenv.cfg"),
        messages=found((Message("x", "at carol", values={"version": "10.0.1.6", "user": "carol"}),), "text"),
    )


def test_an_environment_is_masked_field_by_field() -> None:
    shown = mask_environment(_environment())
    uuid = "GPU-00000000-0000-0000-0000-000000000001"
    assert shown.variables.get() == {
        "CUDA_HOME": "/home/user/cuda",
        "CUDA_VISIBLE_DEVICES": uuid,
        "NCCL_SOCKET_IFNAME": "^net1_0,docker",
    }
    assert shown.network_interfaces.get() == ("eth0", "net1_0")
    assert shown.gpus.get()[0].gpu_uuid == uuid
    assert shown.kernel.cmdline.get() == f"root=UUID={uuid[4:]} ip=198.18.0.1", "the section is called kernel"
    assert shown.kernel.log.get() == ("[1.0] host kernel: NVRM: 198.18.0.1",)
    assert shown.system.free_bytes.get() == {"/home/user": 1}, "keys are masked too"
    assert shown.system.groups.get() == ("user", "video")
    assert shown.pythons.source == "/home/user/venv/pyvenv.cfg"
    (python,) = shown.pythons.get()
    first, second = python.distributions
    assert (python.prefix, str(python.version), first.version) == ("/home/user/venv", "3.11.7", "9.1.0.70")
    assert list(python.glibc_needed) == ["/home/user/x.so"]
    assert first.requires == (f"{second.name}>=1 ; extra",)
    assert second.name in second.path, "a package has the same name in its path"
    assert "acme" not in f"{second} {shown.packages}"
    assert shown.packages.get()[0].version == "10.0.1.6"
    assert shown.messages.get()[0].values == {"version": "10.0.1.6", "user": "user"}
    assert shown.identity == Identity()


def test_owners_of_devices_are_masked_and_those_of_the_system_are_not() -> None:
    nodes = tuple(DeviceNode("/dev/nvidia0", "0660", owner, "video") for owner in ("root", "carol", "dave", "1000"))
    environment = _environment()
    driver = Environment().driver
    from envkit._startup.records import replace

    shown = mask_environment(replace(environment, driver=replace(driver, device_nodes=found(nodes, "/dev"))))
    assert [node.owner for node in shown.driver.device_nodes.get()][::3] == ["root", "1000"]
    assert {"carol", "dave"}.isdisjoint(node.owner for node in shown.driver.device_nodes.get())


def test_the_name_of_no_source_passes_for_a_secret() -> None:
    keys = [source.key for source in Matrix.load().sources]
    assert [key for key in keys if without_secrets(key) != key] == []
