"""The fix fits what the text shows of the machine, its links, and what was tried already."""

from __future__ import annotations

import pytest

from tests.checks.fix_said import assert_fix

_REFUSED = "gpu2:398:451 [0] include/socket.h:403 NCCL WARN Connect to {}<35941> failed : Connection refused\n"
_TWO = "gpu1:411:466 [0] NCCL INFO NET/Socket : Using [0]eno1:10.1.4.21<0> [1]virbr0:192.168.122.1<0>\n"
_GIDS = (
    "mlx5_2  1       0       fe80:0000:0000:0000:e8f1:b2ff:fe07:55d1                 v1      net1\n"
    "mlx5_2  1       3       0000:0000:0000:0000:0000:ffff:0a01:0019 10.1.0.25       v2      net1\n"
)
_GLOO = (
    "(RayWorkerWrapper pid=1978) Warning: Unable to resolve hostname to a (local) address. Using the loopback address "
    "as fallback. Manually set the network interface to bind to with GLOO_SOCKET_IFNAME.\n"
    "[rank8]:[E ProcessGroupGloo.cpp:144] Gloo connectFullMesh failed with [tcp/pair.cc:144] no error\n"
)
_BUS = "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n"


@pytest.mark.parametrize(
    ("text", "check", "parts", "without"),
    [
        (
            _TWO + _REFUSED.format("192.168.122.1"),
            "nccl-wrong-interface",
            ["export NCCL_SOCKET_IFNAME=eno1"],
            ["^lo"],
        ),
        (
            "$ mpirun -np 4 -x NCCL_DEBUG=INFO python train.py\n"
            "node-a:4289:4343 [0] NCCL INFO NET : Using interface lo:127.0.0.1<0>\n"
            "node-a:4289:4343 [0] NCCL INFO NET : Using interface eth0:10.20.7.239<0>\n" + _REFUSED.format("10.0.0.1"),
            "nccl-wrong-interface",
            ["mpirun -x NCCL_SOCKET_IFNAME=eth0"],
            ["export"],
        ),
        (
            "(RayTrainWorker pid=83500) " + _TWO + _REFUSED.format("192.168.122.1"),
            "nccl-wrong-interface",
            ["runtime_env", "before ray start"],
            [],
        ),
        (_REFUSED.format("10.0.0.1"), "nccl-wrong-interface", ["^lo,docker"], ["runtime_env"]),
        (
            "NCCL INFO NCCL_SOCKET_IFNAME set by environment to =enp90s0np0\n"
            "bootstrap.cc:45 NCCL WARN Bootstrap : no socket interface found\n",
            "nccl-wrong-interface",
            ["without =", "NCCL_SOCKET_IFNAME=enp90s0np0"],
            ["^lo"],
        ),
        (
            "nvidia-docker run --rm -it --network none -v /raid:/raid pytorch:18.07-py3\n"
            "include/socket.h:311 WARN Socket creation failed : Address family not supported by protocol\n",
            "nccl-wrong-interface",
            ["nvidia-docker run --network=host --rm -it -v /raid:/raid pytorch:18.07-py3"],
            ["--network none pytorch"],
        ),
        (
            _GLOO + "NCCL_SOCKET_IFNAME=eth0 vllm serve /models",
            "nccl-wrong-interface",
            ["ray stop", "export GLOO_SOCKET_IFNAME=eth0"],
            ["^lo"],
        ),
        (
            "w1:946:988 [0] NCCL WARN NET/IB : Got completion with error 12, opcode 1, len 0, vendor err 129\n" + _GIDS,
            "nccl-wrong-interface",
            ["export NCCL_IB_GID_INDEX=3"],
            ["NCCL_IB_DISABLE"],
        ),
        (
            "w2:412:439 [0] misc/ibvwrap.cc:187 NCCL WARN Call to ibv_modify_qp failed with error No such device\n"
            + _GIDS,
            "nccl-wrong-interface",
            ["export NCCL_IB_HCA=mlx5_2", "In every container"],
            ["GID_INDEX"],
        ),
        (
            _BUS + "T4 profile of the JupyterHub",
            "shm-too-small",
            ["extraVolumeMounts", "num_workers=0"],
            ["docker run"],
        ),
        (
            _BUS + "nvidia-docker run -it -v /data:/data my/pytorch python train.py",
            "shm-too-small",
            ["nvidia-docker run --shm-size=8g -it -v /data:/data my/pytorch python train.py"],
            ["--gpus"],
        ),
        (
            _BUS + "Started as `docker run --gpus all --rm -it video /bin/bash`, then torchrun.",
            "shm-too-small",
            ["docker run --shm-size=8g --gpus all --rm -it video /bin/bash"],
            [],
        ),
    ],
)
def test_fix_is_the_one_for_what_the_text_shows(text: str, check: str, parts: list[str], without: list[str]) -> None:
    assert_fix(text, check, parts, without)
