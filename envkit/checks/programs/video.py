"""What the video engine of a GPU does not encode or decode, whatever the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.command import fixed
from envkit.checks.engine.faults import Fault
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.references import threads
from envkit.checks.programs.told import told_by_program

if TYPE_CHECKING:
    from envkit.model import Environment
    from envkit.tables import Matrix


_ON_GPU = fixed("ffmpeg -f lavfi -i testsrc=duration=1:size=1280x720 -c:v h264_nvenc -f null -")
_SOFTWARE = fixed("ffmpeg -f lavfi -i testsrc=duration=1:size=1280x720 -c:v libx264 -f null -")
_ANY_CARD = (
    "Choose a codec that the card has. NVENC encodes AV1 only as of the GeForce RTX 40 series, HEVC as of "
    "the GTX 900 series (10 bit as of the GTX 10 series, with B-frames as of the RTX 20 series), and H.264 from "
    "8-bit video (add -pix_fmt yuv420p). NVDEC decodes HEVC as of the GTX 950 and 960 and the GTX 10 series (not "
    "the GTX 970 and 980), and AV1 as of the RTX 30 series. In Jellyfin, Plex, Frigate, or OBS, turn that codec "
    "off in the settings for hardware encoding or decoding, and leave the others on. Some cards have no encoder at "
    "all: the GT 1030, most MX chips, mining cards, the A100, and the H100. The command shows whether H.264 works; "
    "NVIDIA's Video Encode and Decode GPU Support Matrix lists every card."
)


def _of_card(environment: Environment, matrix: Matrix) -> Remedy:
    """No codec where the card has no encoder."""
    card = named(seen(environment, "codec-not-on-gpu", "detail-no-encoder"), "card")
    if card is None:
        return Remedy(
            _ANY_CARD, (fixed("ffmpeg -f lavfi -i testsrc=duration=1:size=1280x720 -c:v h264_nvenc -f null -"),)
        )
    return Remedy(
        f"The {card} has no video encoder (NVENC) at all, so no codec, driver, or option helps. Encode on the CPU "
        "(libx264 in FFmpeg, H.264 (x264) in HandBrake and OBS), with the encoder of the processor's own graphics "
        "(Intel Quick Sync: h264_qsv), or on another card. The command shows that FFmpeg has the CPU's encoder.",
        (_SOFTWARE,),
    )


told_by_program(
    Fault(
        "codec-not-on-gpu",
        "The GPU's video engine does not support this codec or option",
        impact="FFmpeg and programs that call it stop, or use the CPU. No other driver or container changes that.",
        remedy=_of_card,
    ),
    fix="Choose a codec that the card encodes or decodes; H.264 works on nearly every card.",
    doc="""Programs ask the GPU's video engine only for what it supports.

    Which codecs, bit depths, and options it encodes and decodes depends only on the card's generation.
    """,
    rank=60,
    references=threads("GyanD/codexffmpeg#161"),
)

told_by_program(
    Fault(
        "encoder-sessions-used-up",
        "The GPU's video encoder does not start another session",
        impact="The program that asks for one more stream stops; the others continue.",
        remedy="GeForce cards encode a limited number of streams at once: 3 at first, 5 with drivers of 2023, 8 with "
        "those of 2024, and more with later ones. Close what else encodes (OBS, ShadowPlay's instant replay, Discord, "
        "a remote desktop, other FFmpeg processes), limit the number of transcodings in the server, or update the "
        "driver. If this is the first stream, the GPU's memory is full. The command lists the sessions.",
        steps=(fixed("nvidia-smi encodersessions --query"), fixed("nvidia-smi")),
    ),
    fix="Close other programs that encode video, or update the driver: later ones allow more streams at once.",
    doc="""The video encoder has a session left for each stream.

    The driver limits the number of sessions on GeForce cards, whatever their number of encoders; NVENC then reports
    that it is out of memory, or an incompatible client key.
    """,
    rank=61,
    references=threads("jellyfin/jellyfin#8719"),
)
