"""The findings on commands of a Dockerfile at which its build stops, declared once."""

from __future__ import annotations

from envkit.checks.engine.references import threads
from envkit.checks.engine.registry import image_fault

PYTHON_MANAGED = image_fault(
    "image.python-managed",
    title="pip does not install into the Python of the image's distribution",
    doc="""If a distribution marks its Python as externally managed, pip installs into a virtual environment.

    Without one, and without --break-system-packages, pip stops before it looks for any package. get-pip.py and
    `uv pip install --system` also respect the marker. Even when pip is allowed to install, it cannot replace the pip
    and wheel of newer Ubuntu releases: "RECORD file not found".""",
    fix="Create an environment with python3 -m venv (on Ubuntu and Debian, install python3-venv first) and use its "
    "pip, or set PIP_BREAK_SYSTEM_PACKAGES=1.",
    references=(
        "https://packaging.python.org/en/latest/specifications/externally-managed-environments/",
        *threads("ggml-org/llama.cpp#15004", "nvidia-holoscan/holohub#918"),
    ),
)
COMPILER_MISSING = image_fault(
    "image.compiler-missing",
    title="The Dockerfile compiles CUDA code in an image without the compiler",
    doc="""If a command runs nvcc, or builds a package that does, the image has the CUDA compiler.

    Among nvidia/cuda images, only those with devel in their tag have it.""",
    fix="Build in a devel image, and copy the result into the runtime image.",
    references=threads("Dao-AILab/flash-attention#1736", "sgl-project/sglang#3952"),
)
TORCH_HIDDEN = image_fault(
    "image.torch-hidden",
    title="A package is built without the torch that its build needs",
    doc="""A package whose build imports torch is installed with --no-build-isolation, after torch.

    pip runs the build before it installs anything else from the same command, and by default in an isolated environment
    that contains only the declared requirements. The build stops with "No module named 'torch'", in an isolated
    environment even if the image has torch.""",
    fix="Install torch first, then this package in a separate command with --no-build-isolation.",
    references=threads(
        "Dao-AILab/flash-attention#1421",
        "Dao-AILab/flash-attention#1920",
        "Wan-Video/Wan2.2#344",
        "tdrussell/diffusion-pipe#106",
    ),
)
INSTALLER_REFUSES = image_fault(
    "image.installer-refuses",
    title="get-pip.py does not support the image's Python",
    doc="""A get-pip.py without a Python version in its URL is run by a Python that the newest pip supports.

    The script installs the newest pip, and stops on a Python that pip no longer supports. For each of those, there is
    a separate script.""",
    fix="Download the script for that Python: its URL has pip/ and the version before get-pip.py.",
    references=threads("ndl-lab/ndlocr_cli#42", "beam-cloud/beta9#1271", "dusty-nv/jetson-containers#1092"),
)
APT_WITHOUT_PACKAGE = image_fault(
    "image.apt-without-package",
    title="apt has no such package in the image's distribution",
    doc="""Every package that apt installs is in the distribution, or in a repository that was added.

    An Ubuntu or Debian release has one or two Python versions. deadsnakes has others, but deletes them when the
    release reaches its end of support. Releases also drop and rename packages, and the newest tag of an image moves
    to a new release.""",
    fix="Start from a distribution that has the package, or install its successor.",
    references=threads("deadsnakes/issues#328", "deadsnakes/issues#251", "CatchTheTornado/text-extract-api#126"),
)
APT_KEY_ROTATED = image_fault(
    "image.apt-key-rotated",
    title="apt-get update fails: the image has an old signing key",
    doc="""An image with NVIDIA's package repository was built after NVIDIA replaced its key on 2022-04-27.

    In older images, apt-get update stops with "NO_PUBKEY A4B469963BF863CC" until the repository is removed or the new
    key is added. The same happens if a Dockerfile adds the repository with the old key, 7fa2af80. Images with the
    repository of ROS that were built before its key expired on 2025-06-01 stop with EXPKEYSIG.""",
    fix="Before apt-get update, run `rm -f /etc/apt/sources.list.d/cuda.list /etc/apt/sources.list.d/nvidia-ml.list`.",
    references=threads("NVIDIA/nvidia-docker#1632", "pytorch/builder#1025", "tensorflow/tensorflow#56085"),
)
ARCHIVE_GONE = image_fault(
    "image.archive-gone",
    title="The image's distribution is no longer on its mirrors",
    doc="""The image's package sources still have the distribution's packages.

    After its end of support, a release moves to an archive; apt-get update and yum find nothing at the old URL.""",
    fix="Start from a supported release, or first point the sources at the archive of old releases.",
    references=threads("debuerreotype/docker-debian-artifacts#245", "django-q2/django-q2#324"),
)
SOURCES_MISSING = image_fault(
    "image.sources-missing",
    title="A command edits /etc/apt/sources.list, and the image has none",
    doc="""Every file that a command edits is in the image.

    Images of Debian 12 and later have their package sources in /etc/apt/sources.list.d/debian.sources. The newest tags
    of python, node, and other images move to such a release.""",
    fix="Edit /etc/apt/sources.list.d/debian.sources, or start from a tag with the name of an older release.",
    references=threads("debuerreotype/docker-debian-artifacts#245"),
)
CONDA_TERMS = image_fault(
    "image.conda-terms",
    title="conda stops until the terms of service for its default channels are accepted",
    doc="""The terms are accepted before a current Miniconda or Anaconda uses its default channels.

    Without a terminal, conda stops with CondaToSNonInteractiveError. Adding a channel with -c does not remove the
    default ones.""",
    fix="Use Miniforge, or set CONDA_PLUGINS_AUTO_ACCEPT_TOS=yes if you accept the terms.",
    references=threads("UKGovernmentBEIS/inspect_evals#675", "supernnova/SuperNNova#91", "NVlabs/FoundationStereo#181"),
)
INSTALLER_GONE = image_fault(
    "image.installer-gone",
    title="The Dockerfile downloads an installer that is no longer there",
    doc="""Every installer that a command downloads still exists.

    Some were renamed or discontinued, and their `latest` URL no longer works.""",
    fix="Download its replacement.",
    references=threads("ReproNim/neurodocker#657", "TomographicImaging/CILViewer#447"),
)
PIP_MISSING = image_fault(
    "image.pip-missing",
    title="The Dockerfile calls pip, but the image does not have it",
    doc="""pip is installed before it is called.

    Plain distribution images and nvidia/cuda images have no pip and usually no Python: the shell stops with
    "not found". The pip of an older distribution does not run on newer Pythons.""",
    fix="Install it first: `apt-get update && apt-get install -y python3-pip`.",
    references=("https://packaging.python.org/en/latest/guides/installing-using-linux-tools/",),
)
APT_LISTS_MISSING = image_fault(
    "image.apt-lists-missing",
    title="apt installs packages without the package lists",
    doc="""apt-get update runs before apt installs packages, and after a command that removed the lists.

    Distribution images and nvidia/cuda images come without lists: apt finds no package that is not installed yet.""",
    fix="Run apt-get update in the same RUN: `apt-get update && apt-get install -y PACKAGE`.",
    references=(
        "https://docs.docker.com/build/building/best-practices/#apt-get",
        *threads("kamon-io/docker-grafana-graphite#72", "tianon/docker-brew-ubuntu-core#44"),
    ),
)
GPU_AT_BUILD = image_fault(
    "image.gpu-at-build",
    title="A build step needs a GPU, but docker build has none",
    doc="""No RUN step needs a GPU.

    The container toolkit provides the GPUs and nvidia-smi when a container runs, not while its image is being
    built.""",
    fix="Check for the GPU at run time, in ENTRYPOINT or CMD, and start the container with --gpus all.",
    references=threads("NVIDIA/nvidia-docker#225", "NVIDIA/nvidia-docker#1747", "docker/for-win#12903"),
)
APT_ASKS = image_fault(
    "image.apt-asks",
    title="apt asks whether to continue, and gets no answer",
    doc="""apt-get install has -y if it installs more than the named packages, and apt-get upgrade always has it.

    A build has no terminal: apt gets no answer, and stops with "Abort.".""",
    fix="Add -y.",
    references=("https://docs.docker.com/build/building/best-practices/#apt-get",),
)
APT_KEY_REFUSED = image_fault(
    "image.apt-key-refused",
    title="The image's apt rejects the key of NVIDIA's repository",
    doc="""NVIDIA's repository of the image's own distribution is used where apt no longer accepts SHA-1.

    Debian 13 has done so since February 2026. NVIDIA signs its repositories for older distributions with a key whose
    binding signature uses SHA-1: apt-get update stops with "is not signed".""",
    fix="Use NVIDIA's repository for the image's own distribution, or start from an older distribution.",
    references=threads("NVIDIA/cuda-repo-management#34", "NVIDIA/cuda-repo-management#39"),
)
PIP_OUTDATES_ITSELF = image_fault(
    "image.pip-outdates-itself",
    title="pip upgrades itself to a release that the image's Python cannot run",
    doc="""A pip that upgrades itself first reads which Python the new release needs.

    Versions before 9 do not: the newest pip replaces them, and every later pip command fails with a syntax error.""",
    fix="Specify the last release for that Python: `pip install 'pip<21'`.",
    references=("https://pip.pypa.io/en/stable/news/#v9-0-0",),
)
PIP_REFUSES_METADATA = image_fault(
    "image.pip-refuses-metadata",
    title="The newest pip rejects the metadata of a package",
    doc="""The version of every package, and of everything it requires, follows the standard, which current pip releases
    enforce.

    Older releases contain requirements such as "PyYAML>=5.1.*". pip skips those releases, and stops if no other release
    is allowed.""",
    fix="Install an older pip first, or use a newer release of the package.",
    references=threads("facebookresearch/fairseq#5511", "omry/omegaconf#1195", "daswer123/rvc-python#32"),
)
INDEX_WITHOUT_PACKAGE = image_fault(
    "image.index-without-package",
    title="The index does not have a package",
    doc="""Every package that a command installs is in the index given by --index-url.

    PyTorch's indexes contain torch, its companions, and their dependencies. --index-url applies to the whole command:
    pip searches no other index for the rest. No index has a package for a module of Python itself, such as
    itertools.""",
    fix="Install the other packages with a separate command, or pass the index with --extra-index-url.",
    references=("https://pip.pypa.io/en/stable/cli/pip_install/#cmdoption-i",),
)
PACKAGE_REFUSES = image_fault(
    "image.package-refuses",
    title="A package stops its installation on purpose, or can no longer be built",
    doc="""Every package that pip builds can be built with today's tools.

    Some names were retired: their package only raises an error. Others have no wheel for the image's Python, or none
    that its pip supports, and their old setup no longer runs.""",
    fix="Use its successor.",
    references=("https://github.com/scikit-learn/sklearn-pypi-package",),
)
OTHER_PYTHON = image_fault(
    "image.other-python",
    title="The container starts a different Python than the one that pip installs for",
    doc="""The Python that starts the program is the one that its packages were installed for.

    apt's pip belongs to the distribution's Python, even if another one was installed and linked as python. A virtual
    environment that is copied into another image needs the Python that made it, at the same path. On newer Ubuntu
    releases, pip puts packages that are installed with --prefix into a subdirectory named local.""",
    fix="Install with the same Python: `python -m pip install …`.",
    references=("https://packaging.python.org/en/latest/tutorials/installing-packages/",),
)
PYTHON_OF_PIP = image_fault(
    "image.python-of-pip",
    title="Which Python pip installs for",
    doc="""It is known which Python each pip command installs for.

    It determines which packages pip chooses. The report names it only if links, get-pip.py, and environments leave no
    doubt.""",
    fix="No action is needed.",
    references=("https://packaging.python.org/en/latest/tutorials/installing-packages/",),
)
FRAMEWORK_IN_BASE = image_fault(
    "image.framework-in-base",
    title="The base image includes a framework",
    doc="""The framework in the base image is known, and no package that the Dockerfile installs replaces it.

    Requirements files and projects that were not read may still replace it.""",
    fix="No action is needed.",
    references=("https://hub.docker.com/r/pytorch/pytorch/tags",),
)
TOOL_OPTION = image_fault(
    "image.tool-option",
    title="A command has an option that its program does not know, or lacks one that it needs",
    doc="""Every program gets only options that it accepts, and all the options that it needs.

    `uv sync` installs into the project's environment; only `uv pip` has the option --system. `pip install` never
    prompts and has no -y, but `pip uninstall` needs it; pip's newest releases have dropped --global-option and
    --install-option, and the pip of a distribution does not have the newest options yet. Notebook 7 has no
    `jupyter nbextension`, and Poetry 2 has no --no-dev, and no `export` without its plugin. Without an environment,
    `uv pip install` needs --system.""",
    fix="Remove the option.",
    references=(
        "https://docs.astral.sh/uv/reference/cli/#uv-sync",
        "https://pip.pypa.io/en/stable/news/#v25-3",
        *threads("pypa/pip#9750", "astral-sh/uv#1374"),
    ),
)
WORD_UNKNOWN = image_fault(
    "image.word-unknown",
    title="A command contains a word that its shell or program does not understand",
    doc="""Every program, substitution, and requirement in a command is one that its shell or program knows.

    RUN uses /bin/sh, which is dash on Debian and Ubuntu: it stops with "Bad substitution" at ${NAME/old/new}, and has
    no `source`, `[[` and `pipefail`, which only bash knows. `conda activate` works in a shell that has read conda's
    functions. pip stops at a requirement whose version is not valid. If a base image's ENTRYPOINT is a server, the
    server gets the words of CMD as its arguments.""",
    fix="Correct the word.",
    references=(
        "https://docs.docker.com/reference/dockerfile/#shell",
        "https://packaging.python.org/en/latest/specifications/dependency-specifiers/",
    ),
)
PATH_EXISTS = image_fault(
    "image.path-exists",
    title="A link is created at a path that already exists",
    doc="""`ln -s` without -f creates a link only if nothing exists at that path.

    The package python3-pip of newer releases provides both /usr/bin/pip3 and /usr/bin/pip, and every Python
    package from apt installs /usr/bin/python3. The official python images have python, python3, pip and pip3 in
    /usr/local/bin.""",
    fix="Use ln -sf, or remove the command.",
    references=("https://www.gnu.org/software/coreutils/manual/html_node/ln-invocation.html",),
)
LIBRARY_MISSING = image_fault(
    "image.library-missing",
    title="A package loads a system library that the image does not have",
    doc="""Every system library that a package from pip loads is in the image.

    opencv-python and opencv-contrib-python show windows, and load libGL.so.1: without it, `import cv2` stops. Plain
    images of distributions, of nvidia/cuda, and Python's slim images do not have it.""",
    fix="Install opencv-python-headless, or libgl1 with apt-get.",
    references=threads("opencv/opencv-python#370", "fireform-core/FireForm#184"),
)
SERVICE_AT_BUILD = image_fault(
    "image.service-at-build",
    title="A command needs a service that does not run while an image is built",
    doc="""No command needs the Docker daemon or systemd.

    Whatever an earlier step started ended with that step, and no init system runs during a build.""",
    fix="Start services when the container starts, and remove the command.",
    references=threads("alehaa/docker-debian-systemd#3", "moby/moby#32616"),
)
PROGRAM_MISSING = image_fault(
    "image.program-missing",
    title="A command runs a program that the image does not have",
    doc="""Every program that a command calls is in the base image, or is installed before.

    Images of distributions, of nvidia/cuda, and Python's slim images have no git, wget, curl, unzip, or cmake. Those of
    distributions and of nvidia/cuda have no Python either. pip calls git for requirements that begin with git+. An
    image has the package manager of its own distribution only: Debian and Ubuntu have no yum, dnf, zypper, or apk, and
    no other distribution has apt-get.""",
    fix="Install the program first.",
    references=threads("danielgatis/rembg#851", "rowanz/grover#49"),
)
ARGUMENT_MISSING = image_fault(
    "image.argument-missing",
    title="A step stops without a build argument, and the argument has no default",
    doc="""Every ARG that a step tests for, or that names a user or a group, has a default.

    `test -n "$NAME" &&`, `[ -z "$NAME" ]` with an exit, and `${NAME:?}` stop the build on purpose if the argument is
    not passed: such a file can only be built with --build-arg. Commands such as useradd and groupadd also stop without
    a name or a number.""",
    fix="Give the argument a default, or build with --build-arg.",
    references=("https://docs.docker.com/reference/dockerfile/#arg",),
)
PROJECT_LEFT = image_fault(
    "image.project-left",
    title="An environment is copied without the project that it points to",
    doc="""A project that is installed with -e is copied to the same directory of the last stage.

    `pip install -e` leaves the project where it is: the environment contains only its path. An environment that is
    copied into another stage without that directory cannot import the project.""",
    fix="Install the project without -e, or copy its directory to the same place.",
    references=("https://setuptools.pypa.io/en/latest/userguide/development_mode.html",),
)
PROGRAM_MOVED = image_fault(
    "image.program-moved",
    title="A program is called at a path where its installer no longer puts it",
    doc="""Every program is called at the path where its installer puts it today.

    The installer of uv has put it into ~/.local/bin since 2024, and into ~/.cargo/bin before; that of Poetry no longer
    uses ~/.poetry. An installer whose URL names no release installs the latest one.""",
    fix="Call the program at its new path, or pin a release in the installer's URL.",
    references=threads("astral-sh/uv#8948", "astral-sh/uv#8925"),
)
COMMANDS_JOINED = image_fault(
    "image.commands-joined",
    title="A command treats the next one as its arguments",
    doc="""Every command ends before the next one begins: && separates them, and no backslash precedes a RUN.

    Otherwise, apt-get treats the words of the next command as its own arguments: "The update command takes no
    arguments". `fi`, `done`, and `then` need a semicolon before them, and && needs a command on both sides.""",
    fix="Put && between the two commands.",
    references=("https://docs.docker.com/build/building/best-practices/#run",),
)
LIST_MISSING = image_fault(
    "image.list-missing",
    title="A command or COPY needs a file that is not there",
    doc="""A requirements file is copied into the image before pip reads it; what COPY names is in the build context.

    COPY, ADD, or a bind mount provides it; without one, pip stops with "Could not open requirements file". `RUN cd`
    affects only that RUN: the next one starts in WORKDIR again. A list that `pip freeze` wrote in a conda
    environment can refer to directories of that machine. With --context, the files and directories that COPY and ADD
    name are looked up there; those that .dockerignore excludes are not sent to the builder.""",
    fix="Copy the file into the image before the command.",
    references=("https://docs.docker.com/reference/dockerfile/#copy",),
)
CUDA_MISMATCH = image_fault(
    "image.compiled-for-other-cuda",
    title="A package is compiled with a different CUDA version than torch was built for",
    doc="""The CUDA compiler and the torch that a package is compiled for have the same CUDA major version.

    torch compares them before it compiles anything, and stops if they differ.""",
    fix="Install a torch build for the image's CUDA, or start from an image with the CUDA that torch was built for.",
    references=threads("Dao-AILab/flash-attention#1421"),
)
