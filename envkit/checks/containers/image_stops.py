"""The findings on commands of a Dockerfile at which its build stops, declared once."""

from __future__ import annotations

from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import image_fault

PYTHON_MANAGED = image_fault(
    "image.python-managed",
    title="pip does not install into the Python of the image's distribution",
    doc="""Where a distribution marks its Python as managed by its own packages, pip has an environment of its own.

    Without one, and without --break-system-packages, pip stops before it looks for any package. get-pip.py and
    `uv pip install --system` obey the mark as well.""",
    fix="Make an environment with python3 -m venv and use its pip, or set PIP_BREAK_SYSTEM_PACKAGES=1.",
    references=(
        "https://packaging.python.org/en/latest/specifications/externally-managed-environments/",
        *threads("ggml-org/llama.cpp#15004", "nvidia-holoscan/holohub#918"),
    ),
)
COMPILER_MISSING = image_fault(
    "image.compiler-missing",
    title="The Dockerfile compiles CUDA code in an image without the compiler",
    doc="""Where a command runs nvcc, or builds a package that does, the image holds the CUDA compiler.

    Of the images of nvidia/cuda those with devel in their tag hold it.""",
    fix="Build in a devel image, and copy what it made into the runtime image.",
    references=threads("Dao-AILab/flash-attention#1736", "sgl-project/sglang#3952"),
)
TORCH_HIDDEN = image_fault(
    "image.torch-hidden",
    title="A package is built in an environment without the torch that it needs",
    doc="""A package whose build imports torch is installed with --no-build-isolation, after torch.

    pip builds a package in an environment of its own, where only what the package declares is installed: the build
    stops with "No module named 'torch'", whatever is in the image.""",
    fix="Install torch first, then this package by a command of its own with --no-build-isolation.",
    references=threads("Dao-AILab/flash-attention#1421", "Dao-AILab/flash-attention#1920", "Wan-Video/Wan2.2#344"),
)
INSTALLER_REFUSES = image_fault(
    "image.installer-refuses",
    title="get-pip.py does not run on the Python that it is called with",
    doc="""Where get-pip.py is downloaded without a Python's version in its address, a Python that pip supports runs it.

    The script installs the newest pip, and stops on a Python that this pip has given up. For each such Python there is
    a script of its own.""",
    fix="Download the script of that Python: its address has pip/ and the version before get-pip.py.",
    references=threads("ndl-lab/ndlocr_cli#42", "beam-cloud/beta9#1271", "dusty-nv/jetson-containers#1092"),
)
APT_WITHOUT_PACKAGE = image_fault(
    "image.apt-without-package",
    title="apt has no package of that Python for the image's distribution",
    doc="""Every Python that apt installs is in the distribution, or in a repository that is added and has it.

    A release of Ubuntu or Debian has one or two versions of Python. deadsnakes has others, and deletes them when the
    release reaches its end of support.""",
    fix="Start from a distribution that has this Python, or install it with uv or conda.",
    references=threads("deadsnakes/issues#328", "deadsnakes/issues#251"),
)
APT_KEY_ROTATED = image_fault(
    "image.apt-key-rotated",
    title="apt-get update fails: the image has NVIDIA's old signing key",
    doc="""An image that has NVIDIA's package repository was made after NVIDIA changed its key on 2022-04-27.

    In older ones apt-get update stops with "NO_PUBKEY A4B469963BF863CC" until the repository is removed or the new key
    is added.""",
    fix="Before apt-get update: rm -f /etc/apt/sources.list.d/cuda.list /etc/apt/sources.list.d/nvidia-ml.list.",
    references=threads("NVIDIA/nvidia-docker#1632", "pytorch/builder#1025", "tensorflow/tensorflow#56085"),
)
ARCHIVE_GONE = image_fault(
    "image.archive-gone",
    title="The packages of the image's distribution have left its mirrors",
    doc="""The package lists of the distribution are where the image looks for them.

    After its end of support a release moves to an archive: apt-get update and yum find nothing at the old address.""",
    fix="Start from a supported release, or point the sources to the archive of ended releases first.",
    references=threads("debuerreotype/docker-debian-artifacts#245", "django-q2/django-q2#324"),
)
CONDA_TERMS = image_fault(
    "image.conda-terms",
    title="conda stops until the terms of service of its default channels are accepted",
    doc="""A command that uses the default channels of a current Miniconda or Anaconda comes after their acceptance.

    Without a terminal conda stops with CondaToSNonInteractiveError. Another channel by -c leaves the default ones
    in.""",
    fix="Use Miniforge, or set CONDA_PLUGINS_AUTO_ACCEPT_TOS=yes if you accept the terms.",
    references=threads("UKGovernmentBEIS/inspect_evals#675", "supernnova/SuperNNova#91", "NVlabs/FoundationStereo#181"),
)
INSTALLER_GONE = image_fault(
    "image.installer-gone",
    title="The Dockerfile downloads an installer that is no longer there",
    doc="""Every installer that a command downloads still exists.

    Some were renamed or given up, and their address under `latest` leads nowhere.""",
    fix="Download what replaced it.",
    references=threads("ReproNim/neurodocker#657", "TomographicImaging/CILViewer#447"),
)
PIP_MISSING = image_fault(
    "image.pip-missing",
    title="The Dockerfile calls pip, and the image has none",
    doc="""Before pip is called, a command has installed it.

    Images of plain distributions and of nvidia/cuda have neither pip nor, in most cases, Python: the shell stops with
    "not found".""",
    fix="Install it first: apt-get update && apt-get install -y python3-pip.",
    references=("https://packaging.python.org/en/latest/guides/installing-using-linux-tools/",),
)
