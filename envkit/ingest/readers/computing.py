"""A program that computed on the GPU.

>>> torch.ones(2).cuda()
tensor([1., 1.], device='cuda:0')
"""

from __future__ import annotations

from collections.abc import Iterator

from envkit.ingest.clues import Clue, Fact, reader
from envkit.ingest.complaints import complaints
from envkit.ingest.computed import computed, last_failure, used
from envkit.ingest.text import Text
from envkit.ingest.trouble import assured, troubled
from envkit.model import CallResult


@reader("programs on the GPU")
def read(text: Text) -> Iterator[Clue]:
    """CUDA started for the last one, unless something failed after that: it may be about another place then."""
    offset = computed(text)
    if offset >= 0 and last_failure(text, offset) < 0:
        yield Fact("driver.cuda_init", CallResult(0, "SUCCESS", "cuInit"), offset)
        return
    offset = used(text)
    wholly = computed(text) >= 0 or assured(text) or not text.holds("Traceback (most recent")
    if offset >= 0 and wholly and not (troubled(text) or complaints(text)):
        yield Fact("driver.cuda_init", CallResult(0, "SUCCESS", "cuInit"), offset)
