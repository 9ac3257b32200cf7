"""Which builds have a library that asks for an executable stack, which newer glibc does not load.

The flags of PT_GNU_STACK in every library of the wheels on PyPI, read 2026-11-21 (PF_X means that it asks for one):
libtorch_cpu.so of torch 1.10.0 to 1.12.1, libmxnet.so of MXNet 1.0 to 1.6.0 but not that of mxnet-cu100 1.4.1,
onnxruntime_pybind11_state of onnxruntime-gpu 1.11.0 to 1.16.3; none in torch 1.0 to 1.9.1 and 1.13.0 to 2.5.1,
MXNet 1.7.0 to 1.9.1, onnxruntime-gpu 1.17.0 and later, tensorflow and tensorflow-gpu 1.4.0 to 2.15.0.
"""

from __future__ import annotations

import pytest

from envkit.base.versions import Version, VersionSpec
from envkit.solver.model import NoPlan, Plan
from envkit.solver.request import FrameworkRequest, Request
from envkit.solver.solve import resolve
from envkit.tables import Matrix


@pytest.mark.parametrize(
    ("framework", "asking", "clean"),
    [
        ("pytorch", "1.10.0 1.10.2 1.11.0 1.12.1", "1.0.0 1.4.0 1.9.1 1.13.0 1.13.1 2.5.1"),
        ("mxnet", "1.0.0 1.3.1 1.5.1 1.6.0", "1.7.0 1.8.0 1.9.1"),
        ("onnxruntime", "1.11.0 1.16.3", "1.17.0 1.31.1"),
        ("tensorflow", "", "1.4.0 1.15.5 2.6.0 2.15.0"),
    ],
)
def test_builds_that_ask_for_an_executable_stack(matrix: Matrix, framework: str, asking: str, clean: str) -> None:
    for versions, glibc in ((asking, Version.parse("2.41")), (clean, None)):
        for version in versions.split():
            rows = [row for row in matrix.builds(framework) if row.version == Version.parse(version)]
            assert rows and {row.execstack_glibc for row in rows if "linux" in row.platforms} == {glibc}, version


def test_one_build_of_mxnet_1_4_1_asks_for_none(matrix: Matrix) -> None:
    rows = [row for row in matrix.builds("mxnet") if row.version == Version.parse("1.4.1")]
    assert {str(row.cuda) for row in rows if row.execstack_glibc is None} == {"10.0"}


def test_a_plan_takes_a_system_that_loads_it(matrix: Matrix) -> None:
    asked = (FrameworkRequest("pytorch", VersionSpec.parse("1.10.2")),)
    found = resolve(Request(frameworks=asked, container=True), matrix)
    assert isinstance(found, Plan) and found.choice.os is not None and found.choice.os.glibc is not None
    assert found.choice.os.glibc < Version.parse("2.41")
    refused = resolve(Request(frameworks=asked, os_id="ubuntu26.04", container=True), matrix)
    assert isinstance(refused, NoPlan)
    assert "executable stack" in " ".join(str(conflict) for conflict in refused.conflicts)
