"""What the CUDA libraries of each release are called, and which wheel provides each: the table `cuda_sonames.csv`."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.base.versions import Version
from envkit.tables.loader import read
from envkit.tables.names import CudaLibrary

_CUDA_LIBRARY = regex(
    r"lib(cudart|cudnn|cublas|cublasLt|cufft|curand|cusolver|cusparse|cusparseLt|nvJitLink|nccl|nvrtc|cupti|nvToolsExt"
    r"|cufile|nvshmem|nvinfer)([._].*)?\.so(\.[\d.]+)?"
)


def is_cuda_library(soname: str) -> bool:
    """True for a library that comes with CUDA, cuDNN, NCCL or TensorRT, and not with the driver."""
    return _CUDA_LIBRARY.fullmatch(soname) is not None


def sonames(cuda: Version, *libraries: str) -> tuple[str, ...]:
    """The file names of `libraries` (cudart, cublas …) in this CUDA release, without those that it does not have.

    For a bare major release (12) the names are those of its newest line.
    """
    line = cuda.release(2)
    rows = [row for row in read(CudaLibrary) if row.cuda_first <= line <= row.cuda_last and row.library in libraries]
    return tuple(row.soname.format(release=line) for row in rows)


def package_of(soname: str, cuda: Version | None = None) -> str:
    """The wheel that provides `soname` for this CUDA, as `nvidia-cublas-cu12` for libcublas.so.12; '' where none
    does."""
    if soname.startswith("libcudnn"):
        return f"nvidia-cudnn-cu{cuda.major}" if cuda is not None else ""
    for row in read(CudaLibrary):
        line = cuda.release(2) if cuda is not None else None
        if line is not None and not row.cuda_first <= line <= row.cuda_last:
            continue
        if row.package and soname == row.soname.format(release=line):
            return row.package
    return ""


def spans_of(soname: str) -> list[tuple[Version, Version]]:
    """The first and last release of CUDA in each range that has a library of exactly this name, oldest first."""
    return sorted((row.cuda_first, row.cuda_last) for row in read(CudaLibrary) if row.soname == soname)
