"""The last CUDA that NVIDIA supports on a system, where a later installation guide leaves the system out."""

from __future__ import annotations

from functools import lru_cache

from envkit.base.versions import Version
from envkit.tables.images import CudaEnd
from envkit.tables.loader import read


@lru_cache(maxsize=1)
def _ends() -> dict[str, CudaEnd]:
    return {row.os_id: row for row in read(CudaEnd)}


def cuda_end(os_id: str, cuda: Version) -> CudaEnd | None:
    """The end of CUDA on a system, where a release came after it; None where no end is known, or it is not past."""
    row = _ends().get(os_id)
    return row if row is not None and cuda.release(2) > row.last_cuda else None
