"""What manages the software of the machine, as commands, file names and kernels of the text show it.

Applications that install their own environment are among it.

$ kubectl get pods
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.ingest.clues import Clue, Item, reader
from envkit.ingest.text import Text

_PROMPT = r"(?:^ {0,8}|(?:[$#>`(]|&&|;|\+|\bran|\brun|\bafter|\band|\bUse|\buse|\bwith) {0,2})`?(?:sudo )?"
_SHOWN: dict[str, tuple[re.Pattern[str], tuple[str, ...]]] = {  # manager: what shows it, and a plain part of each match
    "uv": (
        regex(_PROMPT + r"uv (?:sync|add|lock|run)\b|\btool\.uv\b(?!\.extra-build)|\buv\.lock\b", re.MULTILINE),
        ("uv ", "tool.uv", "uv.lock"),
    ),
    "uv-tool": (regex(_PROMPT + r"uv(?: tool install|x) [\"'\w]", re.MULTILINE), ("uv tool install", "uvx ")),
    "pipx": (regex(_PROMPT + r"pipx (?:install|run|inject) ", re.MULTILINE), ("pipx ",)),
    "uv-pip": (regex(_PROMPT + r"uv (?:pip|venv) |\buv venv\b", re.MULTILINE), ("uv pip", "uv venv")),
    "poetry": (
        regex(
            _PROMPT + r"poetry (?:install|add|lock|run|update|env)\b|\btool\.poetry\b|\bpoetry\.lock\b"
            r"|\b[Ww]ith poetry (?:I|we|it)\b",
            re.MULTILINE,
        ),
        ("poetry ", "tool.poetry", "poetry.lock"),
    ),
    "pixi": (
        regex(_PROMPT + r"pixi (?:install|add|run|info|shell)\b|\bpixi\.(?:toml|lock)\b", re.MULTILINE),
        ("pixi",),
    ),
    "conda": (
        regex(
            _PROMPT + r"(?:conda|mamba|micromamba) (?:create|install|activate|env)\b"
            r"|\bconda-forge\b|/(?:(?:ana|mini)conda3?|(?:mini|mamba)forge3?|micromamba|\.conda)/",
            re.MULTILINE,
        ),
        ("conda", "mamba", "miniforge"),
    ),
    "micromamba": (regex(_PROMPT + r"micromamba [a-z]{2,}", re.MULTILINE), ("micromamba ",)),
    "mamba": (regex(_PROMPT + r"mamba (?:create|install|activate|env|list|update)\b", re.MULTILINE), ("mamba ",)),
    "kubernetes": (
        regex(
            _PROMPT + r"(?:microk8s |k3s )?(?:kubectl|helm|oc) [a-z-]{2,}|\bKUBERNETES_SERVICE_HOST\b|\bgpu-operator\b"
            r"|\b(?:[Kk]ubernetes|[Kk]8s) (?:pods?|job|deployment)\b|(?<!nvidia/)\bk8s\b(?!\.)|\bruntimeClassName:"
            r"|^kind: (?:Pod|Deployment|Job|DaemonSet|StatefulSet)\b"
            r"|\bcri-containerd-|^\d{4}-\d\d-\d\dT[\d:.]{8,20}Z std(?:err|out) [FP] ",
            re.MULTILINE,
        ),
        (
            *(
                *("ubernetes ", "K8s "),
                "kubectl ",
                "helm ",
                "oc ",
                "KUBERNETES_SERVICE_HOST",
                "gpu-operator",
                "k8s",
                "runtimeClassName",
                "kind: ",
                " stderr F ",
                " stdout F ",
            ),
            "cri-containerd-",
        ),
    ),
    "minikube": (regex(r"\b[mM]inikube\b"), ("inikube",)),
    "microk8s": (regex(r"\bmicrok8s\b"), ("microk8s",)),
    "k3s-node": (
        regex(
            r"\brancher/k3s\b|\+k3s\d|\bk3s\.service\b|\bk3s (?:can't|cannot|uses|nodes?|cluster|agent|server|v1)\b"
            r"|\b(?:on|with|in|under) (?:our |my |an? |the )?k3s\b"
        ),
        ("k3s",),
    ),
    "rke2-node": (regex(r"\brancher/rke2\b|\+rke2r\d|\brke2-(?:server|agent)\b"), ("rancher/rke2", "+rke2r", "rke2-")),
    "k3s": (regex(_PROMPT + r"k3s kubectl ", re.MULTILINE), ("k3s kubectl",)),
    "gpu-operator": (
        regex(r"\bgpu-operator\b|\bnvidia-driver-daemonset\b|\bGPU[ -][Oo]perator\b"),
        ("gpu-operator", "nvidia-driver-daemonset", "GPU Operator", "GPU operator", "GPU-"),
    ),
    "host-driver": (
        regex(
            r"\bdriver\.enabled[=:] ?false\b"
            r"|\bdriver (?:\d{3}[\d.]{0,10} )?(?:is )?(?:pre-?)?installed (?:directly )?"
            r"on (?:the|each|every) (?:hosts?|nodes?)\b"
        ),
        ("driver.enabled", "installed on ", "installed directly on "),
    ),
    "gke": (regex(r"\bGKE\b|\bgke-[a-z]|\bgcloud container\b"), ("GKE", "gke-", "gcloud container")),
    "slurm": (
        regex(
            r"^#SBATCH |" + _PROMPT + r"(?:srun|sbatch|salloc|scontrol|squeue|sinfo)(?: |$)"
            r"|\bSLURM_[A-Z]{2,}|\bslurmstepd:|\bsbatch\b|--gres=gpu\b"
            r"|\b(?:[Ss]lurm|SLURM) (?:job|cluster|login|node|partition|allocation)"
            r"|\b(?:Slurm|SLURM) (?:does(?:n't)?|puts?|sends?|schedules?)\b"
            r"|\b(?:managed|scheduled|allocated|assigned) (?:by|with|through|via) (?:slurm|Slurm|SLURM)\b",
            re.MULTILINE,
        ),
        ("#SBATCH", "srun", "sbatch", "salloc", "scontrol", "squeue", "sinfo", "SLURM", "lurm", "--gres=gpu"),
    ),
    "cluster": (
        regex(
            r"\b(?:my|our|the) jobs?\b[^.\n]{0,40}\bon (?:the )?node\b|\b(?:on|of) (?:our|the|a) (?:HPC|GPU) cluster\b"
            r"|\b(?:university|institute's|school's|campus) cluster\b|\blogged in (?:to|on) the cluster\b"
            r"|\b(?:the|a) login node\b|\bbatch job\b"
        ),
        ("job", "cluster", "login node"),
    ),
    "slurm-gres": (regex(r"--gres=gpu\b"), ("--gres=gpu",)),
    "pbs": (regex(r"^#PBS |" + _PROMPT + r"q(?:sub|stat)(?: |$)", re.MULTILINE), ("#PBS", "qsub", "qstat")),
    "modules": (
        regex(
            _PROMPT + r"module (?:load|list|purge|show|avail|swap) ?|^[ \t]{0,8}module (?:load|purge)\b"
            r"|^Currently Loaded Modul|\bmodule commands?\b",
            re.MULTILINE,
        ),
        ("module ", "Currently Loaded"),
    ),
    "docker-run": (regex(_PROMPT + r"(?:docker|podman) run ", re.MULTILINE), ("docker run", "podman run")),
    "mpirun": (regex(_PROMPT + r"mpi(?:run|exec) +-", re.MULTILINE), ("mpirun ", "mpiexec ")),
    "apptainer": (
        regex(_PROMPT + r"(?:apptainer|singularity) (?:exec|run|shell|instance) |/\.singularity\.d/", re.MULTILINE),
        ("apptainer ", "singularity ", "/.singularity.d/"),
    ),
    "compose": (
        regex(
            _PROMPT + r"docker[ -]compose\b|\b(?:docker-)?compose\.ya?ml\b|\b[Cc]ompose file\b",
            re.MULTILINE,
        ),
        ("compose", "Compose"),
    ),
    "compose-v1": (
        regex(_PROMPT + r"docker-compose (?:up|exec|run|down|build|logs|ps)\b", re.MULTILINE),
        ("docker-compose ",),
    ),
    "runfile": (
        regex(
            r"\bNVIDIA-Linux-\w{3,8}-\d{3}[\d.]{2,12}\.run\b"
            r"|\b[Rr]unfile\b|\brun ?文件|\.run (?:file|installer)\b"
            r"|\bdriver (?:(?:is|was|from|comes from|via) )?(?:the |a )?(?:NVIDIA )?\.run\b"
        ),
        ("NVIDIA-Linux-", ".run", "unfile", "run文件", "run 文件"),
    ),
    "azure": (regex(r"\bAzure\b|\bStandard_N[CDGV]\w{1,24}|\d-azure\b"), ("zure", "Standard_N")),
    "confidential": (
        regex(r"\b[Cc]onfidential (?:virtualization|VM|computing)\b|\bSEV-SNP\b|\bCVM\b"),
        ("onfidential", "SEV-SNP", "CVM"),
    ),
    "container": (
        regex(
            r"\b(?:[Tt]he|[Mm]y|[Oo]ur|[Rr]ented|[Nn]ew|[Oo]ld|[Aa]pi|[Ww]orker|[Ss]erver|[Dd]ocker) containers?\b"
            r"(?! toolkit)|^[Dd]ocker[,:] |容器[里内中]|\b[Dd]ocker ?里"
            r"|\b(?:[Bb]ase(?: image)? is|FROM) [a-z][\w./-]{2,80}:[\w.-]{2,80}",
            re.MULTILINE,
        ),
        ("container", "容器", "ocker 里", "ocker里", "ocker, ", "ocker: ", "ase is ", "ase image is ", "FROM "),
    ),
    "el7": (regex(r"\.el7(?:_\d{1,2})?\.|\bCentOS(?: Linux)?(?: release)? 7\b"), (".el7", "CentOS")),
    "rpm": (
        regex(
            r"/usr/lib64/lib(?:cuda|nvidia)|\.el[789](?:_\d{1,2})?\.|" + _PROMPT + r"(?:yum|dnf|rpm) -?[a-z]",
            re.MULTILINE,
        ),
        ("/usr/lib64/lib", ".el7", ".el8", ".el9", "yum ", "dnf ", "rpm "),
    ),
    "debian": (
        regex(
            r"\(Debian \d{1,2}\.\d|\d-(?:cloud-|rt-)?amd64\b(?!\.deb)|[+~]deb\d{1,2}u\d"
            r"|\bDebian (?:jessie|stretch|buster|bullseye|bookworm|trixie|testing|sid)\b"
        ),
        ("Debian ", "-amd64", "deb"),
    ),
    "other-packages": (
        regex(
            _PROMPT + r"(?:xbps-\w{3,12}|pacman -[SQRU]|emerge (?:-|--|@)|eopkg |urpmi |apk add|slackpkg |yay -S)"
            r"|\bVoid \d|\bVoid Linux\b|\bArch (?:install|with)\b|\bon Arch\b",
            re.MULTILINE,
        ),
        ("xbps-", "pacman -", "emerge ", "eopkg ", "urpmi ", "apk add", "slackpkg ", "yay -S", "Void ", "Arch"),
    ),
    "pacman": (
        regex(
            _PROMPT + r"(?:pacman -[SQRU]|(?:yay|paru) -S|makepkg\b)"
            r"|\b(?:(?:stock|[Mm]inimal|fresh|on|for) Arch|Arch Linux|Arch install|PKGBUILD|archinstall)\b"
            r"|\bpacman (?:says|lists)\b",
            re.MULTILINE,
        ),
        ("Arch", "archinstall", "pacman ", "yay -S", "paru -S", "makepkg", "PKGBUILD"),
    ),
    "xbps": (
        regex(_PROMPT + r"xbps-\w{3,12}|\bxbps-\w{3,12}|\bVoid \d|\bVoid (?:Linux|x86_64)\b", re.MULTILINE),
        ("xbps-", "Void "),
    ),
    "zypper": (
        regex(r"\bopenSUSE\b|\bzypper (?:in|dup|up|ref|install|se)\b|\bSLES\b"),
        ("openSUSE", "zypper ", "SLES"),
    ),
    "mint": (regex(r"\bLinux Mint\b|\bMint (?:1[89]|2\d)\b"), ("Mint ", "Linux Mint")),
    "ubuntu-packages": (regex(r"\d-\d?ubuntu\d|-0ubuntu0\."), ("ubuntu",)),
    "apt": (
        regex(
            _PROMPT + r"apt(?:-get)? (?:install|update|upgrade|full-upgrade|purge|remove|dist-upgrade)\b"
            r"|^dpkg: error |\bdpkg (?:-l|--configure)\b|^E: Sub-process /usr/bin/dpkg ",
            re.MULTILINE,
        ),
        ("apt ", "apt-get ", "dpkg"),
    ),
    "proxmox": (regex(r"\b[Pp]roxmox\b|\bPVE\b|\d-pve\b"), ("roxmox", "PVE", "-pve")),
    "synology": (regex(r"\bSynology\b|\bDSM [67]\b"), ("Synology", "DSM ")),
    "thunderbolt": (regex(r"\b[Tt]hunderbolt\b|\bTB[345]\b|\beGPU\b"), ("hunderbolt", "TB3", "TB4", "TB5", "eGPU")),
    "dgx": (regex(r"\bDGX\b(?! Spark)"), ("DGX",)),
    "truenas": (regex(r"\+truenas\b|\bTrueNAS\b"), ("truenas", "TrueNAS")),
    "unraid": (regex(r"-Unraid\b|\bUnraid\b"), ("Unraid",)),
    "nixos": (regex(r"\bNixOS\b|\bnixos-rebuild\b"), ("NixOS", "nixos-rebuild")),
    "talos": (regex(r"\bTalos\b|-talos\b"), ("Talos", "-talos")),
    "ostree": (
        regex(
            r"\brpm-ostree\b|\bSilverblue\b|\bKinoite\b|\bBazzite\b|\bFedora CoreOS\b"
            r"|\b(?:silverblue|kinoite|bazzite)-nvidia\b"
        ),
        ("rpm-ostree", "Silverblue", "Kinoite", "Bazzite", "Fedora CoreOS", "-nvidia"),
    ),
    "colab": (
        regex(
            r"^\W{0,6}Colab\b|\bGoogle Colab\b|\bcolab\.research\b|/content/|\bColab (?:notebook|runtime)\b"
            r"|\b(?:on|in|free) [Cc]olab\b",
            re.MULTILINE,
        ),
        ("olab", "/content/"),
    ),
    "kaggle": (regex(r"\bKaggle (?:notebook|kernel)\b|\b(?:on|in) Kaggle\b|/kaggle/(?:working|input)\b"), ("aggle",)),
    "jupyter": (
        regex(
            r"\b[Jj]upyter(?:[Ll]ab)?\b|^[ \t]{0,8}[!%]pip3? install\b|^(?:In )?\[\d{1,4}\]: |\bnotebook cell\b",
            re.MULTILINE,
        ),
        ("upyter", "!pip", "%pip", "]: ", "notebook cell"),
    ),
    "jupyterhub": (
        regex(r"\bJupyterHub\b|\bjovyan@jupyter-[a-z0-9]|\bzero-to-jupyterhub\b"),
        ("JupyterHub", "jovyan@jupyter-", "zero-to-jupyterhub"),
    ),
    "rented-pod": (
        regex(
            r"\b(?:RunPod|Run[Pp]od|runpod\.io|[Vv]ast\.ai|TensorDock|Paperspace|JarvisLabs|AutoDL|SaladCloud)\b"
            r"|\bhosted (?:job|pod|notebook)s?\b|\b(?:[Jj]ob|[Pp]od|[Cc]ontainer|[Nn]otebook)s? on an? rented\b"
        ),
        (
            "unPod",
            "unpod",
            "ast.ai",
            "TensorDock",
            "Paperspace",
            "JarvisLabs",
            "AutoDL",
            "SaladCloud",
            "hosted ",
            " rented",
        ),
    ),
    "kata": (
        regex(r"\b[Kk]ata (?:VM|[Cc]ontainers?|\d)|\bkata-(?:qemu|runtime|collect-data|deploy)\b"),
        ("ata ", "kata-"),
    ),
    "llamafactory": (
        regex(r"\b(?:llamafactory|LLaMA-?Factory)\b", re.IGNORECASE),
        ("llamafactory", "LLaMA-Factory", "LLaMAFactory", "LlamaFactory", "LLaMa-Factory"),
    ),
    "lxd": (
        regex(r"\blxc (?:exec|config|launch|list|info|restart) |\bLXD\b|\bLXC container\b|\braw\.qemu\b"),
        ("lxc ", "LXD", "LXC ", "raw.qemu"),
    ),
    "systemd-boot": (
        regex(r"\bProduct: systemd-boot\b|\b[Uu]sing systemd-boot\b|\b(?:to|with) systemd-boot\b"),
        ("systemd-boot",),
    ),
    "aws": (
        regex(r"\bAWS\b|\bEC2\b|\bEKS\b|\b(?:p[2-6]d?e?|g[3-6]d?n?e?)\.\d{0,2}x?large\b|\.compute\.internal\b"),
        ("AWS", "EC2", "EKS", "large", ".compute.internal"),
    ),
    "laptop": (
        regex(r"\b[Ll]aptop\b|\b[Nn]otebook with\b|\bMax-Q\b|\bThinkPad\b|\bGeForce MX\d{3}\b"),
        ("aptop", "otebook with", "Max-Q", "ThinkPad", "GeForce MX"),
    ),
    "no-root": (
        regex(
            r"\bI(?:'m| am) not (?:root|an? admin)\b"
            r"|\b(?:no|without|have no|don't have|do not have) (?:root|sudo|admin)(?: rights| access)?\b"
            r"|\bI only have an account\b|\b(?:not in|is not in) the sudoers\b|\bcan't (?:use )?sudo\b"
        ),
        (
            "not root",
            "not an admin",
            "no root",
            "no sudo",
            "no admin",
            "without root",
            "without sudo",
            "without admin",
            "have root",
            "have sudo",
            "have admin",
            "have an account",
            "sudoers",
            "can't",
        ),
    ),
    "webui": (
        regex(r"\bstable-diffusion-webui\b|\bSD\.Next\b|\bwebui(?:-user)?\.(?:bat|sh)\b|\bLaunching Web UI with\b"),
        ("stable-diffusion-webui", "SD.Next", "webui", "Launching Web UI"),
    ),
    "comfyui-portable": (
        regex(
            r"\bpython_embeded\b|\bComfyUI_windows_portable\b|\bportable (?:version of )?Comfy"
            r"|\bComfy(?:UI)? (?:windows )?portable\b|\brun_nvidia_gpu\.bat\b",
            re.IGNORECASE,
        ),
        ("python_embeded", "ortable", "run_nvidia_gpu"),
    ),
    "runtime-folder": (
        regex(
            r"\bruntime[\\/]python(?:\.exe)?\b|\b(?:its|their|with(?: an?)?) own runtime folder\b|\bRVC\d{4}Nvidia\b"
        ),
        ("runtime", "RVC"),
    ),
    "forge-package": (
        regex(r"\bwebui_forge_cu\d{2,3}_torch\d{2,3}\b|\bsd\.webui\.zip\b|\bsystem\\python\\python\.exe\b"),
        ("webui_forge_cu", "sd.webui", "system"),
    ),
    "one-click": (
        regex(r"\binstaller_files\b|\b[Oo]ne-click (?:zip|install\w{0,4})\b"),
        ("installer_files", "ne-click"),
    ),
    "bundled-python": (
        regex(
            r"\b(?:[Bb]undled|[Ee]mbedded|[Ee]mbedding) [Pp]ython\b|\bpython-embed|\\\\python-\d[\d.]{2,6}-embed"
            r"|整合包"
        ),
        ("undled", "mbedded", "mbedding", "embed", "整合包"),
    ),
    "akmods": (regex(r"\bakmods?\b"), ("akmod",)),
    "comfyui": (regex(r"\bComfyUI\b"), ("ComfyUI",)),
    "caffe": (regex(r"\bcaffe::|/caffe/|\bCaffe\b"), ("caffe", "Caffe")),
    "vllm": (regex(r"\bvllm[./ =]|\bvLLM\b"), ("vllm", "vLLM")),
    "gpustack": (regex(r"\bGPUStack\b|/gpustack/"), ("GPUStack", "/gpustack/")),
    "sglang": (regex(r"\bsglang\b|\bSGLang\b"), ("sglang", "SGLang")),
    "llama-cpp-python": (
        regex(r"\bllama[-_]cpp[-_]python\b|\bllama_cpp/|\bLlamaCpp\b|\bprivateGPT\b|\bn_gpu_layers ?= ?\d"),
        ("llama", "LlamaCpp", "privateGPT", "n_gpu_layers"),
    ),
    "llama.cpp": (regex(r"\bllama\.cpp\b|\bllama-(?:server|cli)\b|\bggml_cuda_init\b"), ("llama", "ggml_cuda_init")),
    "ollama": (regex(r"\b[oO]llama\b"), ("llama",)),
    "koboldcpp": (regex(r"\b[kK]obold[cC]pp\b"), ("obold",)),
}

# Lines that begin like those of a service, among logs and tables with bars: one place of each line is looked at.
_COMPOSE_LINE = regex(r"[a-z][\w-]{1,40}[_-]\d{1,2} {1,20}\| ")


@reader("managers")
def read(text: Text) -> Iterator[Clue]:
    """Each manager that the text shows, or whose prefixes its lines had, once."""
    for name in text.programs:
        yield Item("managed_by", name, name, 0)
    for name, (pattern, needles) in _SHOWN.items():
        match = next(iter(text.matches(pattern, *needles)), None)
        if match is not None:
            yield Item("managed_by", name, name, match.start())
    starts = (text.start(index) for index in text.lines_with(" | "))
    line = next((start for start in starts if _COMPOSE_LINE.match(text.whole, start)), None)
    if line is not None:
        yield Item("managed_by", "compose", "compose", line)
