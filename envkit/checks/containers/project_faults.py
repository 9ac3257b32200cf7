"""The findings on project files, declared once; `envkit.project` decides which of them a file has."""

from __future__ import annotations

from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import image_fault

_COMPATIBILITY = "https://docs.nvidia.com/deploy/cuda-compatibility/"
_PIP_INDEX = "https://pip.pypa.io/en/stable/cli/pip_install/#finding-packages"
_UV_PYTORCH = "https://docs.astral.sh/uv/guides/integration/pytorch/"

INSTALLS = image_fault(
    "project.installs",
    title="A requirement installs a known build that runs on the target",
    doc="""Each framework in the file resolves to a build that envkit knows and that runs on the target.

    Informational: a requirement that does not name a CUDA version gets the build that its index provides, and that
    build's CUDA determines which drivers and GPUs work.""",
    fix="No action is needed.",
    references=(_UV_PYTORCH,),
)
DRIVER_TOO_OLD = image_fault(
    "project.driver-too-old",
    title="What the file installs needs a newer driver than the target has",
    doc="""The target's driver runs the CUDA bundled in every package that the file installs.

    Without an upper bound, the newest release is installed, with a CUDA that older drivers do not run: the import
    works, but the framework finds no GPU.""",
    fix="Use the same release built for an older CUDA, pin an older release, or update the driver.",
    references=(*threads("vllm-project/vllm#13398"), _COMPATIBILITY),
)
GPU_WITHOUT_CODE = image_fault(
    "project.gpu-without-code",
    title="What the file installs has no kernels for the target's GPU",
    doc="""Every package that the file installs has code for each GPU of the target.

    A package without it can be imported and sees the GPU, but fails at the first kernel: no kernel image is available
    for execution on the device.""",
    fix="Use a release, or a build for another CUDA, that supports the GPU.",
    references=threads("openral/openral#167", "obss/sahi#1446"),
)
PYTHON_WITHOUT_PACKAGE = image_fault(
    "project.python-without-package",
    title="What the file asks for is not available for the target's Python",
    doc="""Every release in the file has a package for the target's Python, which the project allows.

    Otherwise the installer finds no matching distribution, or builds from source for hours.""",
    fix="Use a Python version that the release supports, or a different release.",
    references=(_PIP_INDEX,),
)
SYSTEM_TOO_OLD = image_fault(
    "project.system-does-not-take-it",
    title="What the file asks for is not available for the target's system",
    doc="""Every release in the file has a package for the target's system, processor, and glibc.

    Packages are most often missing for Windows, aarch64, and old distributions.""",
    fix="Use a release with packages for that system, or a container with a system that it supports.",
    references=(_PIP_INDEX,),
)
REQUIREMENTS_CLASH = image_fault(
    "project.requirements-clash",
    title="Two requirements of the file conflict",
    doc="""The requirements in the file are compatible with each other.

    torchvision, torchaudio, xFormers, and vLLM are each built for one release of torch, which their metadata names.
    Frameworks that pin different CUDA libraries cannot share an environment.""",
    fix="Use releases that were built for each other.",
    references=threads("vllm-project/vllm#8626", "pytorch/vision#1405"),
)
KNOWN_TO_BREAK = image_fault(
    "project.known-to-break",
    title="Two packages of the file are known not to work together",
    doc="""No package in the file is known to break alongside another, or with the CUDA or Python that it gets.

    Package metadata often allows combinations that do not work: Horovod does not compile with newer PyTorch releases,
    and each bitsandbytes release includes libraries only for the CUDA releases that existed then. The installer
    accepts such a pair without complaint.""",
    fix="Use releases that are known to work together.",
    references=threads("horovod/horovod#3996", "bitsandbytes-foundation/bitsandbytes#1264"),
)
NUMPY = image_fault(
    "project.numpy-not-for-framework",
    title="The file's NumPy is newer than a framework supports",
    doc="""If a framework does not work with newer NumPy releases, the file keeps NumPy below them.

    Older PyTorch wheels do not limit the NumPy version themselves, so pip installs NumPy 2, with which they fail.""",
    fix="Pin NumPy below the first release that the framework does not support.",
    references=threads("pytorch/pytorch#135013", "pytorch/pytorch#107302"),
)
CPU_BUILD = image_fault(
    "project.cpu-build",
    title="A framework is installed as a CPU build",
    doc="""If the target has a GPU, no framework in the file is a CPU-only build.

    The index, suffix, or extra determines the build; on Windows, the default index has only CPU builds of torch.""",
    fix="Specify the index of a CUDA build.",
    references=(_UV_PYTORCH,),
)
NOT_ON_INDEX = image_fault(
    "project.not-on-index",
    title="A package is not on the index that its installer uses",
    doc="""Every build in the file is on the index that the file uses for it.

    The default index does not accept versions with a suffix such as +cu121.""",
    fix="Specify the index that has that build, or drop the suffix.",
    references=(_PIP_INDEX,),
)
NOT_A_REQUIREMENT = image_fault(
    "project.invalid-requirement",
    title="A line of the file is not a valid requirement",
    doc="""Every line of a requirements file is valid for pip: a name, extras, versions, and a marker.

    pip does not accept conda's single equals sign, and stops at the first invalid line.""",
    fix="Write a name with a comparison such as ==, or remove the line.",
    references=("https://pip.pypa.io/en/stable/reference/requirement-specifiers/",),
)
SYSTEM_CUDA = image_fault(
    "project.needs-system-cuda",
    title="A framework loads CUDA from the system",
    doc="""No framework in the file depends on CUDA libraries that the file does not install.

    Otherwise, the system's CUDA and cuDNN must have the right version; envkit doctor checks them.""",
    fix="Install the CUDA and cuDNN that the release was built for, or request the extra that installs them.",
    references=(_COMPATIBILITY,),
)
MARKER_GAP = image_fault(
    "project.marker-gap",
    title="None of a framework's lines applies to the target's Python",
    doc="""If a file selects a framework by markers, every Python that the file allows matches one of them.

    Lines such as `python_version < "3.12"` and `>= "3.13"` leave a gap: with a Python version in it, the
    project is installed without the framework, and without an error.""",
    fix="Change the markers so that they leave no gap.",
    references=("https://packaging.python.org/en/latest/specifications/dependency-specifiers/",),
)
SOURCE_WITHOUT_EFFECT = image_fault(
    "project.source-without-effect",
    title="The file names an index for a package that it does not depend on",
    doc="""Each package of the PyTorch family in `tool.uv.sources` is a dependency of the project itself.

    uv applies a source only to direct dependencies. What another package requires comes from the default index: its
    torchvision is compiled for CUDA and its own torch, and next to a CPU build of torch, the import fails with
    "operator torchvision::nms does not exist".""",
    fix="Add the package to the dependencies of the project.",
    references=(
        *threads("rhel-lightspeed/docs2db#2"),
        "https://docs.astral.sh/uv/concepts/projects/dependencies/#dependency-sources",
    ),
)
NOT_JUDGED = image_fault(
    "project.not-judged",
    title="Part of the file could not be checked",
    doc="""Every GPU package in the file could be checked.

    A GPU package whose release or build is unknown is reported, and so is a list that cannot be read, because
    silence would look like approval. Other packages are not checked, and not listed.""",
    fix="Pin the release, specify the extra, or pass the file that was not read.",
    references=(_PIP_INDEX,),
)

OF_RELATION = {
    "driver-runs-cuda": DRIVER_TOO_OLD,
    "gpu-on-driver": DRIVER_TOO_OLD,
    "gpu-last-driver": GPU_WITHOUT_CODE,
    "gpu-runs-cuda": GPU_WITHOUT_CODE,
    "gpu-runs-build": GPU_WITHOUT_CODE,
    "gpu-on-cudnn": GPU_WITHOUT_CODE,
    "companion-on-gpu": GPU_WITHOUT_CODE,
    "companion-on-platform": SYSTEM_TOO_OLD,
    "python-has-wheel": PYTHON_WITHOUT_PACKAGE,
    "glibc-meets-build": SYSTEM_TOO_OLD,
    "platform": SYSTEM_TOO_OLD,
    "architecture": SYSTEM_TOO_OLD,
    "package-compiled": NOT_JUDGED,
}
IMPACT_OF_RELATION = {
    "driver-runs-cuda": "It installs and imports, but finds no GPU: the driver is too old.",
    "gpu-on-driver": "The driver does not support the GPU.",
    "gpu-last-driver": "No driver that supports this GPU can run it.",
    "gpu-runs-cuda": 'The first kernel fails with "no kernel image is available for execution on the device".',
    "gpu-runs-build": 'The first kernel fails with "no kernel image is available for execution on the device".',
    "gpu-on-cudnn": "The first convolution fails.",
    "companion-on-gpu": "It has no kernels for this GPU, or stops when it starts.",
    "companion-on-platform": "The installer finds no package, or the import fails.",
    "python-has-wheel": "The installer finds no matching distribution.",
    "glibc-meets-build": "The installer finds no matching distribution, or the import fails.",
    "platform": "The installer finds no matching distribution.",
    "architecture": "The installer finds no matching distribution.",
}
