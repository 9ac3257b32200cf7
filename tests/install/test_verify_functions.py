"""The verification, function by function: what is a fault, what could not be tried, and which GPU the probe is for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from envkit.base.settings import Mirrors
from envkit.base.versions import ComputeCapability
from envkit.install.options import ScriptOptions
from envkit.solver.request import TargetGpu
from tests.install.plans import plan, scripted
from tests.install.shell import call

# An nvcc that knows some targets, and whose programs tell a GPU's capability and run only on its kind.
_NVCC = """
TOOLKIT_DIR={folder}/cuda; mkdir -p $TOOLKIT_DIR/bin $TOOLKIT_DIR/lib64
cat >$TOOLKIT_DIR/bin/nvcc <<'NVCC'
#!/bin/bash
for word; do case $word in -arch=*) target=${{word#-arch=}} ;; */probe) out=$word ;; esac; done
echo "$target" >>{folder}/compiled
case " {known} " in *" $target "*) ;; *) echo "Value '$target' is not defined"; exit 1 ;; esac
cat >$out <<PROGRAM
#!/bin/bash
if [ -n "\\$1" ]; then echo {capability}; exit {asked}; fi
case $target in sm_{major}*) echo 62 ;; *) echo "no kernel image is available"; exit 2 ;; esac
PROGRAM
chmod +x $out
NVCC
chmod +x $TOOLKIT_DIR/bin/nvcc
host_compiler() {{ echo /bin/true; }}
gpu_is_usable() {{ return 0; }}
verify_compiler {folder}; echo "$VERIFY_RESULTS"
"""
_OLD = "sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90"


def script(cuda: str = "12.4.1", gpus: tuple[str, ...] = ()) -> str:
    return scripted(plan(cuda, gpus=gpus), ScriptOptions(), Mirrors())


@pytest.mark.parametrize(
    ("capability", "known", "status", "words", "compiled"),
    [
        ("9.0", _OLD, "ok", "(sm_90)", ["sm_90"]),
        ("8.6", _OLD, "ok", "(sm_86)", ["sm_90", "sm_86"]),
        ("8.9", _OLD, "ok", "(sm_80)", ["sm_90", "sm_89", "sm_80"]),
        ("12.0", _OLD, "skip", "compute capability 12.0", ["sm_90", "sm_120", "sm_120"]),
        ("3.5", _OLD, "skip", "compute capability 3.5", ["sm_90", "sm_35", "sm_30"]),
    ],
)
def test_the_kernel_is_compiled_for_the_gpu_that_is_here(
    tmp_path: Path, capability: str, known: str, status: str, words: str, compiled: list[str]
) -> None:
    body = _NVCC.format(
        folder=tmp_path, known=known, capability=capability, asked=0, major=capability.replace(".", "")[:-1]
    )
    done = call(script(), body, tmp_path)
    assert f'"name": "kernel", "status": "{status}"' in done.stdout, done
    assert words in done.stderr
    assert '"name": "compile", "status": "ok"' in done.stdout
    assert (tmp_path / "compiled").read_text().split() == compiled


def test_a_gpu_that_the_runtime_does_not_reach_is_a_fault(tmp_path: Path) -> None:
    body = _NVCC.format(folder=tmp_path, known=_OLD, capability="CUDA driver version is insufficient", asked=2, major=9)
    done = call(script(), body, tmp_path)
    assert '"name": "kernel", "status": "fail"' in done.stdout and "driver version is insufficient" in done.stderr


def test_the_check_of_the_compiler_names_a_target_that_the_toolkit_has() -> None:
    # CUDA 12.4 knows no sm_120; a script for such a GPU is still written when the plan is made by hand
    found = plan("12.4.1")
    gpu = TargetGpu(ComputeCapability.parse("12.0"))
    found = replace(found, request=replace(found.request, gpus=(gpu,)))
    assert "NVCC_TARGETS=(sm_90 )" in scripted(found, ScriptOptions(), Mirrors())


def test_libraries_of_rdma_core_and_of_the_driver_are_not_missed(tmp_path: Path) -> None:
    body = f"""
    TOOLKIT_DIR={tmp_path}/cuda; mkdir -p $TOOLKIT_DIR/lib64; : >$TOOLKIT_DIR/lib64/$name
    ldd() {{ printf '\\t%s => not found\\n' $needed; }}
    ldconfig() {{ echo libcudart.so; }}
    verify_libraries; echo "$VERIFY_FAILURES"
    """
    needed = "name=libcufile_rdma.so.1; needed='libmlx5.so.1 librdmacm.so.1 libibverbs.so.1 libcuda.so.1'\n"
    assert call(script(), needed + body, tmp_path).stdout == "0\n"
    needed = "name=libcublas.so.12; needed='libcublasLt.so.12 libibverbs.so.1'\n"
    assert call(script(), needed + body, tmp_path).stdout == "1\n"


def framework_script(framework: str = "pytorch", cuda: str = "12.4") -> str:
    found = plan(cuda, framework, os_id="ubuntu22.04")
    return scripted(replace(found, choice=replace(found.choice, needs_toolkit=False)), ScriptOptions(), Mirrors())


PYTHON = """
ENV_DIR={folder}/env; mkdir -p $ENV_DIR/bin
printf '#!/bin/sh\\n%s\\n' '{what}' >$ENV_DIR/bin/python; chmod +x $ENV_DIR/bin/python
python_is_complete() {{ return 0; }}
"""
_SAYS_OK = r'printf "ok\tpytorch\tversion imports\nend\n"'


def test_a_framework_is_tried_where_no_program_may_run(tmp_path: Path) -> None:
    body = PYTHON.format(folder=tmp_path, what=_SAYS_OK) + "can_execute_in() { return 1; }\nverify_all; echo $?"
    done = call(framework_script(), body, tmp_path)
    assert done.stdout == "0\n" and "ok   pytorch" in done.stderr, done


def test_without_any_folder_a_framework_is_left_untried(tmp_path: Path) -> None:
    body = PYTHON.format(folder=tmp_path, what=_SAYS_OK) + "mktemp() { return 1; }\nverify_all; echo $?"
    done = call(framework_script(), body, tmp_path)
    assert done.stdout == "0\n" and "skip pytorch" in done.stderr, done


def test_without_a_folder_for_programs_nothing_is_compiled(tmp_path: Path) -> None:
    body = "host_compiler() { echo /bin/true; }\ncan_execute_in() { return 1; }\nverify_compiler /tmp; echo $?"
    done = call(script(), body, tmp_path)
    assert "skip compile" in done.stderr and done.stdout == "0\n"


@pytest.mark.parametrize(
    ("listed", "is_here"),
    [("2.6.0+cu124", True), ("2.6.0", True), ("2.6.0+cu118", False), ("2.6.0+cpu", False), ("2.6.1+cu124", False)],
)
def test_a_build_for_another_cuda_does_not_count(tmp_path: Path, listed: str, is_here: bool) -> None:
    body = PYTHON.format(folder=tmp_path, what=f"echo torch=={listed}")
    body += 'if has_distribution torch 2.6.0 12.4; then echo here; else echo "not here"; fi'
    done = call(framework_script(), body, tmp_path)
    assert done.stdout == ("here\n" if is_here else "not here\n"), done


def test_another_build_in_the_folder_is_refused_because_pip_would_call_it_good(tmp_path: Path) -> None:
    text = framework_script()
    version = next(line for line in text.splitlines() if "&& has_distribution torch" in line).split()[-2]
    body = PYTHON.format(folder=tmp_path, what=f"echo torch=={version}+cu118") + "install_pytorch"
    done = call(text, body, tmp_path)
    assert done.returncode == 3 and "cu118, but this script needs the build for CUDA" in done.stderr, done


def test_builds_for_two_cuda_lines_do_not_share_a_folder() -> None:
    folders = {
        line
        for cuda in ("11.8", "12.4", "12.6")
        for line in framework_script(cuda=cuda).splitlines()
        if line.startswith("ENV_DIR=")
    }
    assert len(folders) == 3, folders
