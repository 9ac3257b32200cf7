"""What programs print while they compute on an NVIDIA GPU, or when they have done so: one row a program.

A row counts only where the text also holds one of its further words: those that tell a run on a GPU from one on a CPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from envkit._startup.regex import regex
from envkit.ingest.text import Text


class Sign(NamedTuple):
    """The result that a program prints, a word that each such line has, and what must be said beside it ('' for none).

    The further words are of one text, in the letters that the program prints; one of them is enough.
    """

    program: str
    word: str
    result: re.Pattern[str]
    beside: tuple[str, ...] = ()


SIGNS = (
    # molecular dynamics
    Sign(
        "GROMACS",
        "Performance:",
        regex(r"^Performance: {4,20}[1-9][\d.]{0,9} {2,20}\d", re.MULTILINE),
        ("on the GPU", "GPU selected for this run", "GPUs selected for this run"),
    ),
    Sign("OpenMM", "CUDA - Success", regex(r"^\d{1,2} CUDA - Successfully computed forces", re.MULTILINE)),
    Sign("BOINC", "Computation for task", regex(r"\bComputation for task \S{3,80} finished"), ("CUDA: NVIDIA GPU 0:",)),
    Sign("Folding@home", "Using CUDA", regex(r"\bUsing CUDA (?:on CUDA Platform )?and gpu \d")),
    Sign(
        "AMBER", "ns/day =", regex(r"\bns/day = {1,12}[1-9]"), ("CUDA Device Name", "CUDA (GPU): ", "GPU DEVICE INFO")
    ),
    Sign("LAMMPS", "Performance:", regex(r"^Performance: \d[\d.e+]{0,12} ns/day", re.MULTILINE), ("GPU",)),
    Sign(
        "NAMD",
        "Benchmark time:",
        regex(r"^Info: Benchmark time: \d{1,5} CPUs [\d.]{3,12} s/step", re.MULTILINE),
        ("CUDA device", "binding to CUDA", "Running with GPU-resident"),
    ),
    # training
    Sign("Megatron", "throughput per GPU", regex(r"\bthroughput per GPU \(TFLOP/s/GPU\): [1-9]")),
    Sign(
        "trainers",
        "loss",
        regex(r"\bloss\b[^\n]{0,4}[ =:|'\x22][\d.]{2,9}"),
        (
            "- Init COMPLETE",
            "Setting ds_accelerator to cuda",
            "device: cuda:",
            "device=cuda",
            "on single GPU",
            "cuda:0 NVIDIA",
            "cuda:0 Tesla",
            "[cuda:0",
            "cuda:0 epoch",
        ),
    ),
    Sign("darknet", "AVG_FPS:", regex(r"\bAVG_FPS: ?[1-9]"), (", GPU: ", "GPU count: 1", "GPU count: 2")),
    Sign("DeepStream", "**PERF:", regex(r"^\*\*PERF: {2}\d[\d.]{0,6} \([1-9]", re.MULTILINE)),
    # servers of models
    Sign(
        "vLLM",
        "generation throughput: ",
        regex(r"\bgeneration throughput: [1-9]"),
        ("CUDA", "cuda", "NVIDIA", "GeForce"),
    ),
    Sign("SGLang", "gen throughput", regex(r"\bgen throughput \(token/s\): [1-9]"), ("NVIDIA", "cuda graph")),
    Sign("Infinity", "embeddings/sec", regex(r"\bembeddings/sec: [1-9]"), ("NVIDIA-SMI",)),
    Sign("TensorRT-LLM", "hroughput (token", regex(r"\b[Tt]oken [Tt]hroughput \(tokens?/sec\)[: |]{1,20}[1-9]")),
    Sign("Triton", "infer/sec", regex(r"\bThroughput: [1-9][\d.]{0,9} infer/sec"), ("NVIDIA",)),
    Sign(
        "rates",
        "/s",
        regex(r"\b[1-9][\d.,]{0,9} ?(?:it|img|images|samples|docs|documents|pairs|tokens?|tok|rows|steps)/s\b"),
        ("on cuda:", "device cuda:", "device=cuda", "device: cuda"),
    ),
    Sign(
        "Frigate",
        "inference_speed",
        regex(r"\binference_speed [1-9]"),
        ("'CUDAExecutionProvider'", "detectors.plugins.tensorrt"),
    ),
    Sign("Paddle", "Place(gpu:", regex(r"\bon Place\(gpu:\d\)")),
    # pictures and video
    Sign("Redshift", "GPU(s) used", regex(r"\bRendering time: [\d.:hms ]{2,20} ?\([1-9]\d? GPU\(s\) used\)")),
    Sign(
        "ffmpeg", "frame=", regex(r"^frame= {0,6}[1-9]\d{1,8} fps= {0,6}[1-9]", re.MULTILINE), ("_nvenc))", "_cuvid))")
    ),
    Sign(
        "ComfyUI",
        "Prompt executed in",
        regex(r"\bPrompt executed in \d"),
        ("Device: cuda:", "Set vram state to: NORMAL"),
    ),
    Sign(
        "MangoHud",
        "Average FPS",
        regex(r"\bAverage FPS\b[^\n]{0,120}\n[\d.,]{8,100}$", re.MULTILINE),
        ("NVIDIA-SMI", "device: NVIDIA", "NVIDIA GeForce"),
    ),
    Sign("games", "Av", regex(r"^(?:Average|Avg\.?) (?:fps|FPS)[: ]{1,4}[1-9]", re.MULTILINE), ("NVIDIA-SMI",)),
    Sign(
        "OBS Studio",
        "skipped frames due to encoding lag",
        regex(r"\bskipped frames due to encoding lag: \d{1,3}/[1-9]\d{2,8} \((?:0|1)\.\d{1,2}%\)"),
        ("[obs-nvenc", "[jim-nvenc", "NVENC encoder"),
    ),
    Sign(
        "glmark2", "glmark2 Score", regex(r"\bglmark2 Score: [1-9]"), ("GL_RENDERER:    NVIDIA", "GL_RENDERER: NVIDIA")
    ),
    Sign("vkmark", "vkmark Score", regex(r"\bvkmark Score: [1-9]"), ("NVIDIA",)),
    Sign("OctaneBench", "Total score", regex(r"\bTotal score: [1-9]"), ("RTX on", "NVIDIA")),
    Sign("V-Ray benchmark", "vpaths", regex(r"\b[1-9]\d{0,6} vpaths\b"), ("CUDA", "RTX")),
    # what counts by the second
    Sign(
        "miners", "/s", regex(r"\bGPU ?#?\d{1,2}\b[^\n]{0,80}\b[1-9][\d.]{0,9} ?[kMG]?[Hh]/s\b"), ("NVIDIA", "nvidia")
    ),
    Sign("John the Ripper", "p/s ", regex(r"\b\d[\d.]{0,9}[KMG]?p/s [\d.]{1,9}[KMG]?c/s\b"), ("NVIDIA", "Device 1:")),
    Sign(
        "clpeak",
        "float",
        regex(r"^ {6}float4? {2,12}: [1-9]", re.MULTILINE),
        ("Device: NVIDIA", "Platform: NVIDIA CUDA"),
    ),
    Sign("CUDA-Z", "Device to Device Bandwidth", regex(r"\bDevice to Device Bandwidth\b[^\n]{0,60}\d")),
)


def signs(text: Text) -> Iterator[int]:
    """Where the results stand."""
    for sign in SIGNS:
        if sign.beside and not any(map(text.holds, sign.beside)):
            continue
        for match in text.matches(sign.result, sign.word, lines=2):
            yield match.start()
