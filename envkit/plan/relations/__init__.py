"""The relations between driver, GPU, CUDA, cuDNN, framework, Python and system: pure functions of table rows.

Each returns a `Verdict` with its reason and source; none knows of a request, so checks use them too. What the
tables leave blank is `unknown`, never a refusal.
"""

from envkit.plan.relations.cuda_line import toolkits_of
from envkit.plan.relations.driver import (
    DriverFloors,
    branch_of,
    driver_floors,
    driver_level,
    driver_runs_cuda,
    family_of,
    first_driver_for_gpu,
    gpu_on_driver,
    gpu_on_kernel_module,
    last_branch_of,
    last_driver_runs_cuda,
)
from envkit.plan.relations.gpu import (
    CodeMatch,
    ToolkitMatch,
    code_match,
    cuda_match,
    cuda_span,
    gpu_runs_build,
    gpu_runs_cuda,
    toolkit_match,
)
from envkit.plan.relations.software import (
    LibraryMatch,
    cudnn_knows_gpu,
    cudnn_serves,
    cudnn_supports_cuda,
    glibc_meets,
    gpu_on_cudnn,
    numpy_agree,
    numpy_specs,
    python_has_wheel,
    some_version_meets,
    title_of,
    toolkit_serves,
    toolkit_serves_build,
)
from envkit.plan.relations.system import compiler_fits_nvcc, image_fits, os_compiler_fits_nvcc, runfile_on_os

__all__ = [
    "CodeMatch",
    "DriverFloors",
    "LibraryMatch",
    "ToolkitMatch",
    "branch_of",
    "code_match",
    "compiler_fits_nvcc",
    "cuda_match",
    "cuda_span",
    "cudnn_knows_gpu",
    "cudnn_serves",
    "cudnn_supports_cuda",
    "driver_floors",
    "driver_level",
    "driver_runs_cuda",
    "family_of",
    "first_driver_for_gpu",
    "glibc_meets",
    "gpu_on_cudnn",
    "gpu_on_driver",
    "gpu_on_kernel_module",
    "gpu_runs_build",
    "gpu_runs_cuda",
    "image_fits",
    "last_branch_of",
    "last_driver_runs_cuda",
    "numpy_agree",
    "numpy_specs",
    "os_compiler_fits_nvcc",
    "python_has_wheel",
    "runfile_on_os",
    "some_version_meets",
    "title_of",
    "toolkit_match",
    "toolkit_serves",
    "toolkit_serves_build",
    "toolkits_of",
]
