"""The findings on Dockerfiles, declared once; `envkit.image` decides which of them a file has."""

from __future__ import annotations

from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import image_fault

_TAGS = "https://gitlab.com/nvidia/container-images/cuda/-/blob/master/doc/supported-tags.md"
_SUPPORT = "https://gitlab.com/nvidia/container-images/cuda/-/blob/master/doc/support-policy.md"
_FROM = "https://docs.docker.com/reference/dockerfile/#from"
_COPY = "https://docs.docker.com/reference/dockerfile/#copy"
_COMPATIBILITY = "https://docs.nvidia.com/deploy/cuda-compatibility/"
_TOOLKIT_GUIDE = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html"
_IMAGE_README = "https://gitlab.com/nvidia/container-images/cuda"

BASE_GONE = image_fault(
    "image.base-gone",
    title="The Dockerfile uses an image that is not in its registry",
    doc="""Every image named by FROM and COPY --from can be pulled.

    nvidia/cuda tags are deleted some time after their end of support; `latest` was the first to go. Other tags never
    existed: a release is published under its full version, and only for some distributions.""",
    fix="Use the nearest supported tag, or install CUDA on a plain distribution image.",
    references=(*threads("NVIDIA/nvidia-docker#1768", "NVIDIA/nvidia-docker#1735", "NVIDIA/nvidia-docker#1454"), _TAGS),
)
BASE_END_OF_LIFE = image_fault(
    "image.base-end-of-life",
    title="The base image is past its end of support",
    doc="""The images that the file starts from are still supported.

    An image past its end of support no longer gets security updates, and its tag may be deleted, which breaks the
    build.""",
    fix="Move to the newest patch of the same CUDA release, or to a release that is supported.",
    references=(_SUPPORT, *threads("NVIDIA/nvidia-docker#1768")),
)
BASE_ON_RECORD = image_fault(
    "image.base-on-record",
    title="The base image is known",
    doc="""envkit's data lists the images that the file starts from, and what they contain.

    Informational: ok for a supported tag, unknown for one whose support status is not known.""",
    fix="No action is needed.",
    references=(_TAGS,),
)
BASE_UNKNOWN = image_fault(
    "image.base-unknown",
    title="It is not known whether the base image exists, or what it contains",
    doc="""The name of each base image is complete, and its tag is in envkit's data.

    Nothing built on an unknown image can be checked, because neither its CUDA nor its Python is known. A FROM whose
    argument has no default stops the build if --build-arg is not passed.""",
    fix="Give the build argument a default, or use a tag that envkit matrix image_tags lists.",
    references=(_FROM, _TAGS),
)
DRIVER_INSIDE = image_fault(
    "image.driver-inside",
    title="The image installs its own NVIDIA driver",
    doc="""No RUN installs a driver.

    The container toolkit mounts the host's driver libraries. Sooner or later, a second set in the image differs from
    the host's kernel module: "Driver/library version mismatch".""",
    fix="Remove the driver package; install only cuda-toolkit-X-Y or the libraries.",
    references=threads("k4yt3x/video2x#1226", "E4S-Project/e4s#172", "NVIDIA/nvidia-docker#1256"),
)
DRIVER_TOO_OLD = image_fault(
    "image.driver-too-old",
    title="The driver is too old for the image's CUDA",
    doc="""The driver given by --driver, or of the --target machine, runs every CUDA version that the image uses.

    nvidia/cuda images set NVIDIA_REQUIRE_CUDA, so their containers do not start with an older driver. Containers of
    other images start, and CUDA fails inside.""",
    fix="Update the host driver, or use an older CUDA version.",
    references=(
        *threads("NVIDIA/nvidia-container-toolkit#152", "SyneRBI/PETRIC2#27", "zai-org/ChatGLM3#100"),
        _COMPATIBILITY,
    ),
)
DRIVER_WITHOUT_GPU = image_fault(
    "image.driver-without-gpu",
    title="The driver does not support the GPU",
    doc="""The driver given by --driver, or of the --target machine, supports every GPU given by --gpu.

    No image works around that: containers use the host's driver.""",
    fix="Use a driver that supports the GPU.",
    references=(_COMPATIBILITY,),
)
NEEDS_NEWER_DRIVER = image_fault(
    "image.needs-newer-driver",
    title="A framework bundles a newer CUDA than the base image and needs a newer driver",
    doc="""A framework that bundles CUDA runs with the drivers that the base image supports.

    The default index has builds for the newest CUDA. An image for an older CUDA also starts on hosts whose driver is
    too old for the framework, which then finds no GPU.""",
    fix="Install a build for the CUDA of the base image, or start from an image with the framework's CUDA.",
    references=(
        *threads("zai-org/ChatGLM3#100", "googlecolab/colabtools#1685"),
        _COMPATIBILITY,
    ),
)
DRIVER_UNKNOWN = image_fault(
    "image.driver-unknown",
    title="It is not known whether the driver meets the image's requirement",
    doc="""The image's NVIDIA_REQUIRE_CUDA can be compared with the given driver.

    Its conditions name CUDA versions, driver branches, and GPU brands, which are not known for every driver.""",
    fix="Pass the GPU with --gpu, or a driver whose branch is in envkit matrix driver_branches.",
    references=(_TOOLKIT_GUIDE,),
)
GPU_UNKNOWN_TO_CUDA = image_fault(
    "image.gpu-unknown-to-cuda",
    title="The image's CUDA does not support the GPU",
    doc="""The CUDA libraries of the image and of its frameworks support each GPU given by --gpu, or of the --target
    machine.

    A CUDA release older than the GPU does not support it, and newer releases drop old GPUs.""",
    fix="Use a CUDA release that supports the GPU.",
    references=(*threads("pytorch/pytorch#190385", "replicate/cog#3104"), _COMPATIBILITY),
)
GPU_WITHOUT_CODE = image_fault(
    "image.gpu-without-code",
    title="A framework's build has no kernels for the GPU",
    doc="""Each framework's build has code for each of the given GPUs.

    Without it, the first kernel fails with "no kernel image is available for execution on the device".""",
    fix="Use a release that supports the GPU.",
    references=threads("pytorch/pytorch#150733", "pytorch/pytorch#172352", "lllyasviel/FramePack#550"),
)
CUDA_MISSING = image_fault(
    "image.cuda-missing",
    title="A framework needs a system CUDA, and the image has none",
    doc="""If a framework's package does not bundle the CUDA libraries, the image has them.

    The base flavor of nvidia/cuda has little more than the runtime library; a plain distribution image has nothing.""",
    fix="Start from a runtime or devel flavor with that CUDA, or install the package that contains its libraries.",
    references=(*threads("C0untFloyd/roop-unleashed#941", "tensorflow/tensorflow#38164"), _IMAGE_README),
)
CUDA_UNKNOWN = image_fault(
    "image.cuda-unknown",
    title="It is not known which CUDA the image contains",
    doc="""The base image, a package with a version, or a runfile shows which CUDA the image contains.

    Otherwise, drivers, GPUs, and frameworks cannot be checked against it.""",
    fix="Specify the CUDA release in what is installed, as in cuda-toolkit-12-4.",
    references=(_IMAGE_README,),
)
CUDNN_MISSING = image_fault(
    "image.cudnn-missing",
    title="A framework needs a system cuDNN, and the image has none",
    doc="""If a framework loads cuDNN from the system, the image has it.

    Only nvidia/cuda tags with cudnn in their name contain it.""",
    fix="Start from a tag with that cuDNN, or install it.",
    references=threads("tensorflow/tensorflow#38164", "NVIDIA/nvidia-docker#53", "jhj0517/Whisper-WebUI#346"),
)
CUDNN_DIFFERS = image_fault(
    "image.cudnn-differs",
    title="The image's cuDNN has a different major version than the one a framework loads",
    doc="""The image's cuDNN has the major version that the framework was built with.

    The major version is part of the library's name (libcudnn.so.8), so a different one is not found.""",
    fix="Start from an image with the cuDNN that the framework was built with.",
    references=threads("tensorflow/tensorflow#20271", "tensorflow/tensorflow#60750"),
)
FRAMEWORK_FOR_OTHER_CUDA = image_fault(
    "image.framework-for-other-cuda",
    title="A framework's package was built for a different CUDA version than the image has",
    doc="""A framework that loads CUDA from the system was built for the image's CUDA.

    Library names contain the major version, some also the minor one; otherwise the import fails or no GPU is used.""",
    fix="Use an image with the CUDA that the framework was built for, or the release built for the image's.",
    references=(
        *threads("tensorflow/tensorflow#20271", "microsoft/onnxruntime#7384"),
        "https://www.tensorflow.org/install/source#gpu",
    ),
)
OTHER_VENDOR = image_fault(
    "image.other-vendor",
    title="A package built for CUDA is installed in an image for GPUs of another vendor",
    doc="""In an image with ROCm, the packages are builds for ROCm.

    The default index has PyTorch, vLLM, and xFormers for CUDA only. In an image that includes PyTorch for ROCm, pip
    replaces it with the CUDA build, or adds a package whose kernels run on no AMD GPU.""",
    fix="Keep the framework of the base image, or install the builds for ROCm from their own index.",
    references=("https://pytorch.org/get-started/locally/", "https://hub.docker.com/r/rocm/pytorch"),
)
FRAMEWORK_VERSION = image_fault(
    "image.framework-version",
    title="A framework's build is not known, or does not exist",
    doc="""Each framework requirement names a release that its index provides for this platform.

    A version with a suffix such as +cu118 is only on its own index, and no release has builds for every CUDA.""",
    fix="Pin a release, and specify the index that has it.",
    references=("https://pytorch.org/get-started/previous-versions/", *threads("pytorch/pytorch#91543")),
)
PYTHON_WITHOUT_PACKAGE = image_fault(
    "image.python-without-package",
    title="A framework has no package for the image's Python",
    doc="""Each framework's release has a package for the Python that pip runs with.

    Otherwise, pip says "No matching distribution found" or installs a different release.""",
    fix="Install a Python that the release has a package for, or use another release.",
    references=threads("pytorch/pytorch#91543", "docker-library/python#341"),
)
GLIBC_MISSING = image_fault(
    "image.glibc-missing",
    title="The image's distribution has no glibc",
    doc="""The image's C library is glibc.

    Framework, CUDA, and cuDNN packages are built for glibc; distributions with musl, such as Alpine, cannot load
    them.""",
    fix="Start from an image of a distribution with glibc.",
    references=threads("docker-library/python#341", "pytorch/pytorch#1618", "pytorch/pytorch#102592"),
)
GLIBC_TOO_OLD = image_fault(
    "image.glibc-too-old",
    title="The image's glibc is older than a framework's package needs",
    doc="""The image's glibc is at least as new as the one that the package was built on.

    pip skips packages for a newer glibc (manylinux) and finds no other.""",
    fix="Start from a newer distribution, or use an older release.",
    references=threads("pytorch/pytorch#123649", "mlverse/torch#1414"),
)
GLIBC_TOO_NEW = image_fault(
    "image.glibc-too-new",
    title="The image's glibc refuses to load a framework's library",
    doc="""No library of the framework requires an executable stack if the image's glibc refuses that.

    Newer glibc releases refuse to dlopen such libraries, so the import fails.""",
    fix="Start from a distribution with an older glibc, or use a newer release.",
    references=("https://sourceware.org/git/?p=glibc.git;a=blob;f=NEWS",),
)
CPU_BUILD = image_fault(
    "image.cpu-build",
    title="A framework is installed without CUDA",
    doc="""In a GPU image, every framework is a GPU build.

    A CPU index, a -cpu package, or a missing extra installs a build that does not see the GPU, without any error. So
    does uv with --torch-backend=auto, which queries the driver: there is none while an image is being built.""",
    fix="Install the CUDA build.",
    references=(
        *threads("pytorch/pytorch#3717", "facebookresearch/detectron2#460", "conda/conda#14761"),
        "https://docs.astral.sh/uv/guides/integration/pytorch/",
    ),
)
NUMPY_UNBOUNDED = image_fault(
    "image.numpy-unbounded",
    title="NumPy is not pinned below the release that breaks a framework",
    doc="""If a framework's package does not limit the NumPy version, the Dockerfile does.

    pip installs the newest NumPy, and code compiled for NumPy 1 fails with NumPy 2.""",
    fix="Pin NumPy in the same pip install.",
    references=threads("pytorch/pytorch#135013", "pytorch/pytorch#107302", "tensorflow/tensorflow#71587"),
)
REQUIREMENTS_CLASH = image_fault(
    "image.requirements-clash",
    title="Two packages that the Dockerfile installs conflict",
    doc="""The packages that the commands install are compatible with each other, and with the base image's framework.

    torchvision, torchaudio, xFormers, and vLLM are each built for one release of torch, which their metadata names.
    In a single command, pip stops; a later command replaces what an earlier one, or the base image, installed. No
    release meets bounds that exclude each other, such as numpy>=2.0,<1.9.""",
    fix="Use releases that were built for each other.",
    references=threads("vllm-project/vllm#8626", "pytorch/vision#1405"),
)
NUMPY_IMPACT = "The import fails or prints a warning: the package was compiled for an older NumPy."
STAGE_UNUSED = image_fault(
    "image.stage-unused",
    title="A build stage was not checked, because the last stage does not use it",
    doc="""Every stage of the file is part of the image that its last stage makes.

    The builder skips the others unless --target names one of them, and so does this check.""",
    fix="To check such a stage, move it to the end of a copy of the file.",
    references=("https://docs.docker.com/build/building/multi-stage/",),
)
LIST_UNREAD = image_fault(
    "image.list-unread",
    title="A requirements file was not checked",
    doc="""Every requirements file that a command installs from is next to the Dockerfile.

    Files from a URL, another image, or a project directory cannot be read.""",
    fix="Run the check in the build context, with the Dockerfile in the same directory.",
    references=(_COPY,),
)
GPU_HIDDEN = image_fault(
    "image.gpu-hidden",
    title="A variable that the image sets hides the GPU or its driver",
    doc="""No ENV hides the GPUs, and none puts the stubs of the CUDA toolkit before the driver's libraries.

    With an empty CUDA_VISIBLE_DEVICES, or -1, CUDA finds no GPU. The stub libraries are for linking only: a program
    that loads the stub stops with "CUDA driver is a stub library".""",
    fix="Remove the variable, or set it only in the RUN that needs it.",
    references=(
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html",
        *threads("NVIDIA/warp#219", "xmake-io/xmake#4686", "NVIDIA/nvidia-docker#508"),
    ),
)
USER_NOT_ROOT = image_fault(
    "image.user-not-root",
    title="apt runs as a user who is not allowed to install packages",
    doc="""Every step that calls apt runs as root.

    USER applies to all steps that follow it, and some images set it themselves. apt then cannot lock its lists:
    "Permission denied (are you root?)".""",
    fix="Add USER root before the step, and switch back after it.",
    references=("https://docs.docker.com/reference/dockerfile/#user",),
)
CERTIFICATES_MISSING = image_fault(
    "image.certificates-missing",
    title="A download over https has no certificates to trust",
    doc="""An image that uses curl, wget, or git over https contains ca-certificates.

    Ubuntu and Debian images contain no certificates, and these programs only recommend the package: with
    --no-install-recommends, every https address is refused.""",
    fix="Install ca-certificates in the same apt-get install.",
    references=("https://packages.ubuntu.com/ca-certificates",),
)
INSTALLER_ASKS = image_fault(
    "image.installer-asks",
    title="An installer asks questions, and a build cannot answer them",
    doc="""A build calls NVIDIA's runfile with --silent.

    Without it, the installer shows its license and a menu, for which it needs a terminal.""",
    fix="Add --silent, and specify the parts, as in `--silent --toolkit`.",
    references=("https://docs.nvidia.com/cuda/cuda-installation-guide-linux/index.html",),
)
