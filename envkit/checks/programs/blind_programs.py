"""What to look at where a program computes on the CPU and nothing tells why: the questions of that program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.checks.engine.ask import framework_of, install_cuda, tells_framework
from envkit.checks.engine.command import fixed
from envkit.checks.engine.findings import Remedy
from envkit.checks.engine.managers import in_container, managers
from envkit.checks.engine.messages import named, seen
from envkit.checks.engine.remedies import on_windows, steps_for
from envkit.checks.frameworks.builds import fresh
from envkit.checks.frameworks.installs import capable_gpus, installs, release
from envkit.model import Environment
from envkit.tables.rows import FrameworkBuild

if TYPE_CHECKING:
    from envkit.tables import Matrix

BLIND = "framework-sees-no-gpu"
_SMI = fixed("nvidia-smi")
_TORCH = fixed("python -c 'import torch; print(torch.__version__, torch.version.cuda)'")
_TORCH_IN_POD = fixed(
    "kubectl exec POD -- python -c 'import torch; print(torch.version.cuda, torch.cuda.is_available())'"
)
_ASK = (
    "Run these where the program runs. If nvidia-smi fails, the driver is the cause. If torch.version.cuda is None, "
    "the build has no CUDA. Add their output to the input and run envkit again."
)
_ASK_FIRST = (
    "Run the first two commands where the program runs. If nvidia-smi fails, the driver is the cause. If the second "
    "one prints None, PyTorch was installed without CUDA, and programs that ask it run on the CPU: then replace it "
    "with the other commands. If it prints a CUDA version, leave it as it is, add the output of both to the input, and "
    "run envkit again."
)
_OLLAMA = (
    "Ollama chooses between the GPU and the CPU when it starts, and its log says why. {again}Then load a model and "
    "look at the log: a line `inference compute` with library=cuda (or CUDA) shows that it uses the GPU, and "
    "`offloaded` how many of the model's layers are on it. If only some or none of the layers are, the model and its "
    "context do not fit in the GPU's free memory: use a smaller model, a shorter context (num_ctx), or stop what else "
    "uses the GPU. If there is no CUDA line, add the log and the output of nvidia-smi to the input, and run envkit "
    "again."
)
_AGAIN = {
    "container": "Update the image, and create the container again with --gpus all (docker pull keeps the models, "
    "which are in a volume). ",
    "windows": "Quit Ollama in the tray, install the current release from ollama.com/download over it, which replaces "
    "its CUDA libraries, too (the models stay), and start it. ",
    "linux": "Run its installer again, which replaces the CUDA libraries of the old release, too, and restarts the "
    "service; the models stay. ",
}
_POD = (
    "Look into the running pod (POD is its name). If nvidia-smi fails there, the pod has no GPU: its container needs "
    "resources: {limits: {nvidia.com/gpu: 1}}, and on clusters with a RuntimeClass named nvidia also "
    "runtimeClassName: nvidia in the spec; a running pod cannot be changed, so create it again from its manifest. If "
    "nvidia-smi lists the GPU, the program itself runs on the CPU: the second command prints None for a PyTorch "
    "without CUDA (another image is needed). Otherwise, add both outputs to the input and run envkit again."
)
_PADDLE = (
    "The package paddlepaddle has no CUDA; the one for GPUs is paddlepaddle-gpu. If the first command prints False, "
    "replace it with the other commands. If it prints True, add the output of nvidia-smi and of "
    "paddle.utils.run_check() to the input, and run envkit again."
)
_ONNX = (
    "onnxruntime-gpu {version} needs the libraries of CUDA {cuda}{cudnn} where the loader finds them; with those of "
    "another release, it falls back to the CPU. If the first command does not list CUDAExecutionProvider, the package "
    "for CPUs is installed over it: uninstall onnxruntime and onnxruntime-gpu, then install "
    "onnxruntime-gpu=={version}. "
    "If it does, install these libraries with the other commands, and name the provider when the session is created: "
    "InferenceSession(path, providers=['CUDAExecutionProvider', 'CPUExecutionProvider'])."
)
_TOO_OLD = (
    "The GPU has compute capability {capability}, and current builds of {title} have no code for it: they run on the "
    "CPU, whatever driver or CUDA is installed. Only old releases support it (or a build from source); a GPU this old "
    "is seldom faster than a current processor, so staying on the CPU is an alternative."
)


def ask_program(environment: Environment, matrix: Matrix) -> Remedy:
    """The questions of the program at hand, and what to do for each answer; PyTorch's where none is named."""
    names = managers(environment)
    if "ollama" in names:
        return _of_ollama(environment)
    if "kubernetes" in names:
        return Remedy(_POD, (fixed("kubectl exec POD -- nvidia-smi"), _TORCH_IN_POD))
    if seen(environment, BLIND, "detail-paddle"):
        given = fresh(environment, matrix, "paddlepaddle", _PADDLE)
        check = fixed("python -c 'import paddle; print(paddle.is_compiled_with_cuda())'")
        return Remedy(given.advice, (check, fixed("python -m pip uninstall -y paddlepaddle"), *given.steps))
    if by_libraries := _of_onnxruntime(environment, matrix):
        return by_libraries
    if old := seen(environment, BLIND, "detail-old-gpu"):
        framework = matrix.framework(framework_of(environment, matrix, seen(environment, BLIND)))
        name, title = (framework.name, framework.title) if framework else ("pytorch", "PyTorch")
        words = _TOO_OLD.format(capability=named(old, "capability"), title=title)
        return fresh(environment, matrix, name, words, old, any_python=True)
    told = seen(environment, BLIND)
    of_torch = tells_framework(environment, matrix, told) or bool(seen(environment, BLIND, "told-float16"))
    of_torch = of_torch and framework_of(environment, matrix, told) == "pytorch"
    if of_torch and capable_gpus(environment, matrix):
        given = fresh(environment, matrix, "pytorch", _ASK_FIRST)
        removal = fixed("python -m pip uninstall -y torch torchvision torchaudio")
        return Remedy(given.advice, (_SMI, _TORCH, removal, *given.steps))
    return Remedy(_ASK, (_SMI, _TORCH, fixed("python -m torch.utils.collect_env")))


def _of_ollama(environment: Environment) -> Remedy:
    """Its installer over the old release, and the lines of its log that tell the reason."""
    pull = (fixed("docker pull ollama/ollama"),)
    if in_container(environment):
        return Remedy(_OLLAMA.format(again=_AGAIN["container"]), (*pull, fixed("docker logs CONTAINER")))
    if on_windows(environment):
        return Remedy(_OLLAMA.format(again=_AGAIN["windows"]), steps_for("any", "ollama-log-windows"))
    again = (*steps_for("any", "ollama-install"), *steps_for("any", "ollama-log"))
    return Remedy(_OLLAMA.format(again=_AGAIN["linux"]), again)


def _of_onnxruntime(environment: Environment, matrix: Matrix) -> Remedy | None:
    """The libraries that the release at hand was built for; None for a release that the tables do not have."""
    item = next(installs(environment, "onnxruntime"), None)
    version = release(item.framework.version) if item is not None else None
    row: FrameworkBuild | None = next(
        (row for row in matrix.builds("onnxruntime") if row.version == version and row.cuda is not None), None
    )
    if row is None or row.cuda is None:
        return None
    cudnn = f" and cuDNN {row.cudnn}" if row.cudnn else ""
    check = fixed("python -c 'import onnxruntime; print(onnxruntime.get_available_providers())'")
    words = _ONNX.format(version=row.version, cuda=row.cuda, cudnn=cudnn)
    return Remedy(words, (check, *install_cuda(environment, row.cuda, row.cudnn)))
