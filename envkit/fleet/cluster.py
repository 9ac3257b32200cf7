"""What a person asks of a cluster: which nodes collect, how often, with which image. Names are checked here."""

from __future__ import annotations

from envkit._startup.records import record
from envkit._startup.regex import regex
from envkit.base.errors import RequestError

KINDS = ("daemonset", "job", "cronjob")
COLLECT = "envkit-collect"  # what every object is called
_NAME = regex(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_IMAGE = regex(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}")
_SELECTOR = regex(r"[A-Za-z0-9][A-Za-z0-9_./-]{0,252}=[A-Za-z0-9_.-]{0,63}")


@record
class Manifests:
    """The objects that are asked for. `nodes` is how many pods of a job there are, each on another node."""

    kind: str = KINDS[0]
    image: str = "busybox:stable"
    namespace: str = "envkit"
    selector: str = "nvidia.com/gpu.present=true"
    runtime_class: str = ""
    nodes: int | None = None
    rights: bool = False

    def checked(self) -> Manifests:
        """Itself. Raises RequestError for words that Kubernetes would refuse, or that belong to another kind."""
        for option, word, form, example in (
            ("--namespace", self.namespace, _NAME, "envkit"),
            ("--image", self.image, _IMAGE, "registry.example/busybox:stable"),
            ("--selector", self.selector, _SELECTOR, "nvidia.com/gpu.present=true"),
            ("--runtime-class", self.runtime_class or "nvidia", _NAME, "nvidia"),
        ):
            if not form.fullmatch(word):
                raise RequestError(f"{option}: {word[:80]!r} is not valid in Kubernetes.", f"Write it like {example}.")
        if (self.nodes is None) != (self.kind == "daemonset"):
            wrong = "is for jobs." if self.nodes else f"is missing: how many nodes must the {self.kind} reach?"
            raise RequestError(f"--nodes {wrong}", "A daemonset reaches every node that matches the selector.")
        return self
