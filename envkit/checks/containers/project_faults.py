"""The findings on project files, declared once; `envkit.project` decides which of them a file has."""

from __future__ import annotations

from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import image_fault

_COMPATIBILITY = "https://docs.nvidia.com/deploy/cuda-compatibility/"
_PIP_INDEX = "https://pip.pypa.io/en/stable/cli/pip_install/#finding-packages"
_UV_PYTORCH = "https://docs.astral.sh/uv/guides/integration/pytorch/"

INSTALLS = image_fault(
    "project.installs",
    title="What a requirement installs is known and runs on the target",
    doc="""Each framework that the file asks for is a build known to envkit, and every relation to the target holds.

    It informs: a requirement without a CUDA in it takes the build of the index that it is looked for at, and that
    build's CUDA decides which driver and GPUs do.""",
    fix="No action needed.",
    references=(_UV_PYTORCH,),
)
DRIVER_TOO_OLD = image_fault(
    "project.driver-too-old",
    title="What the file installs needs a newer driver than the target has",
    doc="""The driver of the target runs the CUDA inside every package that the file installs.

    Without a bound the newest release is taken, and with it a CUDA that older drivers do not run: the import works,
    and the framework finds no GPU.""",
    fix="Use the same release built for an older CUDA, pin an older release, or update the driver.",
    references=(*threads("vllm-project/vllm#13398"), _COMPATIBILITY),
)
GPU_WITHOUT_CODE = image_fault(
    "project.gpu-without-code",
    title="What the file installs has no kernels for the target's GPU",
    doc="""Every package that the file installs holds code for each GPU of the target.

    One that does not imports, sees the GPU, and stops at the first kernel: no kernel image is available for execution
    on the device.""",
    fix="Use a release, or a build for another CUDA, that supports the GPU.",
    references=threads("openral/openral#167", "obss/sahi#1446"),
)
PYTHON_WITHOUT_PACKAGE = image_fault(
    "project.python-without-package",
    title="What the file asks for is not available for the target's Python",
    doc="""Every release that the file asks for has a package for the Python of the target, which the project allows.

    Otherwise the installer finds no matching distribution, or builds from source for hours.""",
    fix="Use a Python version that the release supports, or a different release.",
    references=(_PIP_INDEX,),
)
SYSTEM_TOO_OLD = image_fault(
    "project.system-does-not-take-it",
    title="What the file asks for is not available for the target's system",
    doc="""Every release that the file asks for has a package for the target's system, processor and glibc.

    Windows, aarch64 and old distributions are where one is missing most often.""",
    fix="Use a release with packages for that system, or a container with a system that it supports.",
    references=(_PIP_INDEX,),
)
REQUIREMENTS_CLASH = image_fault(
    "project.requirements-clash",
    title="Two requirements of the file conflict",
    doc="""What the file asks for can be installed together.

    torchvision, torchaudio, xFormers and vLLM are each made for one release of torch, and name it in their metadata;
    frameworks that pin different libraries of CUDA do not share an environment.""",
    fix="Use the release that was made for the other one.",
    references=threads("vllm-project/vllm#8626", "pytorch/vision#1405"),
)
NUMPY = image_fault(
    "project.numpy-not-for-framework",
    title="The file's NumPy is newer than a framework supports",
    doc="""Where a framework was compiled for NumPy before a certain release, the file holds NumPy below it.

    Older wheels of PyTorch do not bound NumPy themselves: the installer brings NumPy 2, which they fail with.""",
    fix="Pin NumPy below the first release that the framework does not support.",
    references=threads("pytorch/pytorch#135013", "pytorch/pytorch#107302"),
)
CPU_BUILD = image_fault(
    "project.cpu-build",
    title="A framework is installed as a CPU build",
    doc="""Where a GPU is intended, no framework in the file is a CPU-only build.

    The index, suffix, or extra decides; on Windows, the default index has only CPU builds of torch.""",
    fix="Name the index of a CUDA build.",
    references=(_UV_PYTORCH,),
)
NOT_ON_INDEX = image_fault(
    "project.not-on-index",
    title="A package is not on the index that its installer uses",
    doc="""Every build that the file names is on an index that the file names for it.

    The default index takes no versions with a suffix such as +cu121.""",
    fix="Name the index that has that build, or drop the suffix.",
    references=(_PIP_INDEX,),
)
NOT_A_REQUIREMENT = image_fault(
    "project.invalid-requirement",
    title="A line of the file is not a valid requirement",
    doc="""Every line of a requirements file names a package as pip takes it: a name, extras, versions, and a marker.

    conda's single equals sign is not one of pip's comparisons. pip stops at the first such line.""",
    fix="Write a name with a comparison such as ==, or remove the line.",
    references=("https://pip.pypa.io/en/stable/reference/requirement-specifiers/",),
)
SYSTEM_CUDA = image_fault(
    "project.needs-system-cuda",
    title="A framework loads CUDA from the system",
    doc="""No framework of the file depends on CUDA libraries that the file does not bring.

    The system's CUDA and cuDNN then have to be of the right release; envkit doctor looks for them.""",
    fix="Install the CUDA and cuDNN that the release was built for, or a release that brings them.",
    references=(_COMPATIBILITY,),
)
NOT_JUDGED = image_fault(
    "project.not-judged",
    title="Part of the file could not be checked",
    doc="""Everything that the file installs for the GPU is known to envkit.

    Everything else is listed: silence would look like approval.""",
    fix="Pin the release, name the extra, or pass the file that was not read.",
    references=(_PIP_INDEX,),
)

OF_RELATION = {
    "driver-runs-cuda": DRIVER_TOO_OLD,
    "gpu-on-driver": DRIVER_TOO_OLD,
    "gpu-last-driver": GPU_WITHOUT_CODE,
    "gpu-runs-cuda": GPU_WITHOUT_CODE,
    "gpu-runs-build": GPU_WITHOUT_CODE,
    "gpu-on-cudnn": GPU_WITHOUT_CODE,
    "python-has-wheel": PYTHON_WITHOUT_PACKAGE,
    "glibc-meets-build": SYSTEM_TOO_OLD,
    "platform": SYSTEM_TOO_OLD,
    "architecture": SYSTEM_TOO_OLD,
}
IMPACT_OF_RELATION = {
    "driver-runs-cuda": "It installs and imports, but finds no GPU: the driver is too old.",
    "gpu-on-driver": "The driver does not know the GPU.",
    "gpu-last-driver": "No driver that supports this GPU can run it.",
    "gpu-runs-cuda": 'The first kernel fails with "no kernel image is available for execution on the device".',
    "gpu-runs-build": 'The first kernel fails with "no kernel image is available for execution on the device".',
    "gpu-on-cudnn": "The first convolution fails.",
    "python-has-wheel": "The installer finds no matching distribution.",
    "glibc-meets-build": "The installer finds no matching distribution, or the import fails.",
    "platform": "The installer finds no matching distribution.",
    "architecture": "The installer finds no matching distribution.",
}
