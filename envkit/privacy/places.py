"""Masks paths, host names and addresses of the network: public words stay, every other part gets a pseudonym."""

from __future__ import annotations

from envkit._startup.regex import regex
from envkit.base.names import normalized
from envkit.model import Identity
from envkit.privacy.pseudonyms import FIRST_MARK, Pseudonyms, is_marked
from envkit.privacy.words import is_public, software_words

_SPLIT = regex(r"([/\\:]+)")
_HOMES = frozenset({"home", "users", "homes", "u", "people", "scratch"})  # their entries are called like users
_OF_KERNELS = ("/lib/modules/", "/usr/lib/modules/", "/usr/src/", "/var/lib/dkms/", "/boot/", "/vmlinuz", "/initrd")
_KERNEL = regex(r"(?:(?:linux-(?:headers|image|source)|vmlinuz|initrd\.img|kernel)-)?\d+\.\d[\w.+~-]*")
_SAME_EVERYWHERE = ("/proc/", "/sys/", "/dev/nvidia", "/dev/dri/", "/dev/char/", "/dev/shm")
_OF_DEVICES = regex(r"(?<=/net/)[^/]+")
_INSTALLED = regex(r"([A-Za-z0-9][\w.]*)-(\d[\w.!+]*(?:-py\d[\d.]*)?(?:\.dist-info|\.egg-info|\.egg))")
_NUMBER_OF_PERSON = regex(r"[A-Za-z]{1,3}\d{3,}")  # `u12345`, as universities call accounts
_UNMARKED = regex(rf"[^{chr(FIRST_MARK)}-\U0010ffff.]+")
_COMMIT = regex(r"[0-9a-f]{40}|sha256:[0-9a-f]{64}")
_ENDINGS = regex(
    r"((?:[-.][0-9a-f]{8})?(?:\.(?:so(?:\.\d{1,6}){0,4}|py|pyc|pyi|json|toml|ya?ml|txt|cfg|conf|ini|list|sources|repo|whl|h|hpp"
    r"|ko|zst|log|run|deb|rpm|tar|gz|xz|bz2|zip|ipynb|cu|cuh|ptx|cpp|cc|c|a|o|exe|dll|lib|pyd|sh|bash|sif"
    r"|pt|pth|ckpt|bin|onnx|safetensors|tmp|local|lock|md|csv|cache|env)){1,6})$"
)
_LABELS = regex(r"[A-Za-z0-9][\w-]*(?:\.[A-Za-z0-9][\w-]*)*")
_WORDS = regex(r"[a-z]+")
_ADDRESS = regex(r"\d{1,3}(?:\.\d{1,3}){3}")
_TOP_LEVELS = """
    com org net edu gov mil int io ai dev app cloud tech info biz co me tv xyz site online science at au be br
    ca ch cl cn cz de dk ee es eu fi fr gr hk hr hu ie il it jp kr lt lu lv mx my nl no nz pt ro ru se sg si sk
    th tr tw ua uk us vn za local lan internal intra intranet corp home cluster private localdomain lab svc
    compute hpc example test invalid
"""
_TOP_LEVEL = frozenset(_TOP_LEVELS.split())
_DEVICE = regex(r"([A-Za-z_-]+?)(\d[\w.:@]*)?$")
_CARD_IN_NAME = regex(r"(enx|wlx|br-|veth|vxlan|cali|lxc|eni|vnet|tap)([0-9a-f]{7,12})$")
_USUAL_DEVICES = """
    lo eth en eno ens enp enx em p ib ibp ibs bond team br virbr docker veth wl wlan wlp wlx wwan tun tap wg
    vlan vxlan cni flannel cali cilium lxcbr lxdbr podman vmnet dummy sit ipip gre usb hsn mlx bnxt efa rocep
    roceo rdma irdma hfi qib cxgb ifb nerdctl kube-ipvs kube-bridge weave tailscale zt ham hv vnet any all
"""
_DEVICES = frozenset(_USUAL_DEVICES.split())


class Places:
    """Masks of places, with one set of pseudonyms and the names that stand for the machine and its users."""

    def __init__(self, pseudonyms: Pseudonyms, identity: Identity) -> None:
        self._of = pseudonyms.of
        self._users = {name.lower() for name in identity.users}
        self._hosts = {name.lower() for name in identity.hosts}

    def user(self, name: str) -> str:
        """The pseudonym of an account that a person has."""
        return name if name.lower() == "root" or name.isdigit() else self._of("user", name)

    def name(self, name: str) -> str:
        """A package, account or runtime: its own name where all its words are public."""
        if name.lower() in self._users:
            return self.user(name)
        return name if is_public(name) else self._of("name", normalized(name))

    def account(self, name: str) -> str:
        """An account before an @: one of a service (`git`) has a public name."""
        if _ADDRESS.fullmatch(name):
            return self.address(name)  # of a network of Lustre
        return name if is_public(name) and name.lower() not in self._users else self.user(name)

    def word(self, word: str) -> str:
        """A word of a text that may be a name of this machine or of a user, or a host with its domain."""
        lowered = word.lower()
        if lowered in self._hosts and tells(word):
            return self._of("host", word)
        if lowered in self._users and tells(word):
            return self.user(word)
        return self.host(word) if looks_like_host(word) else word

    def host(self, name: str) -> str:
        """A host: public ones stay, and so does this machine itself under its general name."""
        if name.lower() in self._hosts:
            return self._of("host", name)
        if _ADDRESS.fullmatch(name):
            return self.address(name)
        return name if is_public(name) or is_marked(name) else self._of("host", name)

    def address(self, address: str) -> str:
        """An address of the fourth version; the loopback and "any" are the same everywhere."""
        return address if address.startswith("127.") or address == "0.0.0.0" else self._of("ipv4", address)

    def path(self, path: str) -> str:
        """A path, or several with colons, part by part: a part keeps its ending, and its place among the others."""
        if path.startswith(_SAME_EVERYWHERE) and ":/" not in path:
            return _OF_DEVICES.sub(lambda match: self.device(match.group()), path)
        before = ""
        parts = []
        for part in _SPLIT.split(path):
            if part[:1] in ("/", "\\", ":"):
                before = "" if ":" in part else before
                parts.append(part)
            elif part:
                is_kernel = path.startswith(_OF_KERNELS) and _KERNEL.fullmatch(part)
                parts.append(part if is_kernel else self._part(part, before))
                before = part
        return "".join(parts)

    def _part(self, part: str, before: str) -> str:
        if is_marked(part):
            return _UNMARKED.sub(lambda match: self.name(match.group()), part)
        if before.lower() in _HOMES:
            may_be_public = before.lower() in ("scratch", "u") and not _NUMBER_OF_PERSON.fullmatch(part)
            return part if may_be_public and is_public(part) else self.user(part)
        if part.lower() in self._users and not is_public(part):
            return self.user(part)
        if is_public(part):
            return part
        if part.startswith("~"):
            return "~" + self.user(part[1:])
        if part.lower() in self._hosts:
            return self._of("host", part)
        return self._private_part(part)

    def _private_part(self, part: str) -> str:
        name, at, commit = part.partition("@")
        if at and is_public(name) and _COMMIT.fullmatch(commit):
            return part
        installed = _INSTALLED.fullmatch(part)
        if installed:
            return f"{self.name(installed.group(1))}-{installed.group(2)}"
        ending = _ENDINGS.search(part)
        stem = part[: ending.start()] if ending else part
        if not stem or is_public(stem):
            return part
        return self._of("name", normalized(stem)) + (ending.group() if ending else "")

    def url(self, url: str) -> str:
        """A URL with host and path masked; public words of both stay, a login never does."""
        scheme, separator, rest = url.partition("://")
        return f"{scheme}://{self.without_scheme(rest)}" if separator else self.path(url)

    def without_scheme(self, rest: str) -> str:
        """What follows the scheme of a URL."""
        authority, slash, path = rest.partition("/")
        login, at, place = authority.rpartition("@")
        host, colon, port = place.partition(":")
        shown = self.host(host) if host else ""
        known = host and "." in host and shown == host and not _ADDRESS.fullmatch(host)
        tail = path if known and is_public(path) else self.path(path)
        return f"{login and '***'}{at}{shown}{colon}{port}{slash}{tail}"

    def setting(self, text: str) -> str:
        """Network devices as a variable lists them: `^docker,lo`, `=eth0`, `mlx5_0:1`."""
        sign = text[: len(text) - len(text.lstrip("^="))]
        return sign + ",".join(map(self.device, text[len(sign) :].split(",")))

    def device(self, name: str) -> str:
        """A network device: a usual name stays, a card's address in it goes, another name keeps its number."""
        card = _CARD_IN_NAME.fullmatch(name)
        if card:
            return card.group(1) + self._of("hex", card.group(2))[-len(card.group(2)) :]
        parts = _DEVICE.fullmatch(name)
        if parts is None or parts.group(1).lower().strip("_-") in _DEVICES or is_public(name):
            return name
        return self._of("net", parts.group(1)) + (parts.group(2) or "")


def looks_like_host(word: str) -> bool:
    """True for a word with dots whose last part is a domain that hosts have."""
    first, dot, last = word.rpartition(".")
    return bool(dot) and last.lower() in _TOP_LEVEL and bool(_LABELS.fullmatch(first))


def tells(name: str) -> bool:
    """True for the name of a host or user that means nothing else: not for `gpu`, `torch` or `cuda-12`."""
    if not is_public(name):
        return True
    words = _WORDS.findall(name.lower())
    return not name.isalpha() and not software_words().issuperset(words)
