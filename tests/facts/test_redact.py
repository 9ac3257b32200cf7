"""Masking: nothing that identifies is left, equal things stay equal, and versions are not taken for addresses."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envkit.checks.findings import Evidence, Finding, Status
from envkit.facts import Distribution, Environment, Gpu, PythonEnvironment, found
from envkit.redact import Masker, mask_environment, mask_findings, mask_text
from envkit.versions import Version


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("opened /home/alice/project/run.py", "alice"),
        ("C:/Users/Alice Smith/x", "Alice"),
        ("connect to 10.20.30.40:8080", "10.20.30.40"),
        ("inet 172.16.5.9/24", "172.16.5.9"),
        ("MASTER_ADDR=10.20.30.40", "10.20.30.40"),
        ("curl 10.20.30.40", "10.20.30.40"),
        ("cuda version 12.4\n10.20.30.40 is the host", "10.20.30.40"),
        ("addr fe80::1c2b:3aff:fe4d:5e6f", "1c2b"),
        ("addr 2a02:8109:9a40:1b00::1", "8109"),
        ("ether 52:54:00:ab:cd:ef", "ab:cd:ef"),
        ("GPU 0: A100 (UUID: GPU-6c3a1f0e-1234-5678-9abc-def012345678)", "6c3a1f0e"),
        ("Serial Number                         : 1562821012345", "1562821012345"),
        ("serial: PF2ABC7X", "PF2ABC7X"),
        ("HF_TOKEN=hf_AbCdEfGhIjKlMnOpQrSt", "AbCdEf"),
        ("export AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI", "wJalr"),
        ("password: hunter2", "hunter2"),
        ("pip install --index-url https://bob:s3cret@pypi.lan/simple", "s3cret"),
        ("ghp_0123456789abcdefghij in a log", "0123456789abcdefghij"),
    ],
)
def test_what_identifies_is_gone(text: str, secret: str) -> None:
    assert secret not in mask_text(text)


@pytest.mark.parametrize(
    "text",
    [
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
        "V13.0.88 release 13.0",
        "00:01:02 up 3 days",
        "serial console on ttyS0",
        "torch 2.13.0+cu130",
        "tokenizers 0.19.1",
        "/home/user/x",
    ],
)
def test_what_a_diagnosis_needs_stays(text: str) -> None:
    assert mask_text(text) == text


def test_user_and_host_are_masked_as_words() -> None:
    masker = Masker("carol", "gpubox-17.lab.example.org", "/home/carol")
    masked = masker.text("carol@gpubox-17 ran /home/carol/a; carolina stays; gpubox-17.lab.example.org too")
    assert masked == "user@host ran /home/user/a; carolina stays; host too"


def test_equal_things_stay_equal_and_different_ones_different() -> None:
    masker = Masker()
    first, second = "GPU-6c3a1f0e-1234-5678-9abc-def012345678", "GPU-7c3a1f0e-1234-5678-9abc-def012345678"
    masked = masker.text(f"{first} {second} {first}").split()
    assert masked[0] == masked[2] != masked[1]
    assert masked[0].startswith("GPU-00000000-0000-0000-0000-")


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_masking_twice_changes_nothing_more(text: str) -> None:
    masker = Masker("carol", "gpubox-17", "/home/carol")
    once = masker.text(text)
    assert masker.text(once) == once


def test_variables_are_masked_by_name() -> None:
    masker = Masker()
    assert masker.variable("WANDB_API_KEY", "0123") == "***"
    assert masker.variable("CUDA_HOME", "/home/eve/cuda") == "/home/user2/cuda"


def _environment() -> Environment:
    python = PythonEnvironment(
        "/home/carol/venv",
        Version.parse("3.11.7"),
        distributions=(Distribution("nvidia-cudnn-cu12", "9.1.0.70", "/home/carol/venv/lib"),),
    )
    return Environment(
        gpus=found((Gpu(0, "A100", gpu_uuid="GPU-6c3a1f0e-1234-5678-9abc-def012345678"),), "nvml"),
        variables=found(
            {"USER": "carol", "HOME": "/home/carol", "HF_TOKEN": "hf_x", "HOSTNAME": "gpubox"}, "environment"
        ),
        pythons=found((python,), "/home/carol/venv/pyvenv.cfg"),
    )


def test_an_environment_is_masked_field_by_field() -> None:
    masked = mask_environment(_environment())
    assert masked.variables.get() == {"USER": "user", "HOME": "/home/user", "HF_TOKEN": "***", "HOSTNAME": "host"}
    assert masked.gpus.get()[0].gpu_uuid == "GPU-00000000-0000-0000-0000-000000000001"
    assert masked.pythons.source == "/home/user/venv/pyvenv.cfg"
    (python,) = masked.pythons.get()
    assert (python.prefix, str(python.version)) == ("/home/user/venv", "3.11.7")
    assert python.distributions[0].version == "9.1.0.70", "a version is not an address"


def test_findings_use_the_same_pseudonyms() -> None:
    evidence = Evidence("gpus", "GPU-6c3a1f0e-1234-5678-9abc-def012345678", "nvml")
    (finding,) = mask_findings([Finding("x", Status.FAIL, "in /home/carol/venv", evidence=(evidence,))], _environment())
    assert finding.title == "in /home/user/venv"
    assert finding.status is Status.FAIL
    assert finding.evidence[0].value == mask_environment(_environment()).gpus.get()[0].gpu_uuid
