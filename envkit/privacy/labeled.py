"""What identifies behind a label, a column or a command that says what it is: a table of the places in a line.

Each expression has two groups: what stands before, and what identifies.
"""

from __future__ import annotations

from collections.abc import Mapping

from envkit._startup.records import record

_NAME = r"([A-Za-z][\w.-]{1,80})"
_NO_NAME = r"(?!(?:into|in|it|its|on|the|a|an|to|from|with|and|or|is|was|command|commands|for|as|inside|this|that)\b)"
_OPTIONS = r"(?:-{1,2}[\w-]{1,20}(?:=\S{1,80})? ){0,6}"
_ENGINE = r"\b(?:docker|podman|nerdctl)(?: container| compose)? "
_OF_CONTAINERS = "logs|exec|stop|start|rm|attach|restart|kill|top|port|rename|pause|unpause|commit"


@record
class Label:
    """An expression, what each line that it is tried in holds one of, and the pseudonym that stands for its find."""

    pattern: str
    needles: tuple[str, ...]
    kind: str = "name"


LABELS: Mapping[str, Label] = {
    "instance": Label(
        r"(?<![\w-])((?:i|vol|vpc|subnet|sg|eni|snap|rtb|igw|eipalloc|fs|lt)-)((?=[a-f]{0,17}\d)(?:[0-9a-f]{17}|[0-9a-f]{8}))(?![\w-])",
        ("-",),
        "hex",
    ),
    "account": Label(r"(\barn:aws[\w-]{0,10}:[\w-]{1,40}:[\w-]{0,30}:)(\d{12})(?!\d)", ("arn:aws",), "serial"),
    "registry": Label(r"((?<![\w.-]))(\d{12})(?=\.dkr\.ecr\.)", (".dkr.ecr.",), "serial"),
    "account_field": Label(
        r"(?i)(\baccount(?:[ _-]?(?:id|number))?[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?)(\d{12})(?!\d)",
        ("ccount", "CCOUNT"),
        "serial",
    ),
    "project": Label(rf"(\bprojects/){_NAME}(?=/(?:zones|regions|locations|global|instances)\b)", ("projects/",)),
    "resource_group": Label(rf"(?i)(/resourceGroups/){_NAME}", ("/resource",)),
    "wireless": Label(r"(\bE?SSID[ \t]{0,30}[:=][ \t]{0,30}[\"']?)([^\s\"'][^\"'\n]{0,31})", ("SSID",)),
    "disk": Label(
        r"((?:/dev/|^)nvme\d{1,3}n\d{1,3} {1,20}(?:/dev/ng\d{1,3}n\d{1,3} {1,20})?)"
        r"((?=[A-Z]{0,20}\d)[A-Z0-9][A-Z0-9_-]{7,24})(?= )",
        ("nvme",),
        "serial",
    ),
    "disk_link": Label(
        r"(\b(?:ata|nvme|scsi|usb)-[A-Za-z0-9][\w.+-]{0,80}?_)((?=[A-Z]{0,20}\d)[A-Z0-9-]{8,24})(?=-part\d|_\d|[\s:'\"]|$)",
        ("ata-", "nvme-", "scsi-", "usb-"),
        "serial",
    ),
    "world_wide_name": Label(
        r"((?:\b(?:wwn|naa|eui)[\"'.:= -]{1,4}(?:0x)?|^\S{1,40}[ \t]{1,20}0x(?=5)))"
        r"([0-9a-f]{16}(?:[0-9a-f]{16})?)(?!\w)",
        ("wwn", "naa", "eui", " 0x5", "\t0x5"),
        "hex",
    ),
    "person": Label(r"((?<![\w.'-]))((?:[^\W\d_a-z][\w.'-]{1,30} ){1,4}(?=<[\w.+%-]{1,64}@))", ("@",), "user"),
    "container": Label(
        rf"({_ENGINE}(?:{_OF_CONTAINERS}) {_OPTIONS}){_NO_NAME}{_NAME}(?=[\s:;|]|$)", ("docker", "podman", "nerdctl")
    ),
    "container_name": Label(rf"({_ENGINE}[^\n|;&]{{0,200}}?--name[ =]){_NAME}", ("--name",)),
    "namespace": Label(
        rf"(\b(?:kubectl|oc|helm|k9s|stern|kubens)\b[^\n|;&]{{0,200}}? (?:-n|--namespace)[ =]){_NAME}",
        ("-n ", "--namespace"),
    ),
    "queue": Label(
        r"(^[ \t]{0,18}\d{1,12}(?:_[\d\[\]%-]{1,20})?[ \t]{1,20}[\w.*-]{1,20}[ \t]{1,20}[^\s]{1,30}[ \t]{1,20})"
        r"([A-Za-z][\w.-]{1,31})(?=[ \t]{1,20}(?:R|PD|CG|CD|CF|F|TO|CA|S|NF|PR|OOM|RUNNING|PENDING)"
        r"[ \t]{1,20}[\d:-]{1,20}[ \t])",
        (" R ", " PD ", " C", " F ", " TO ", " S ", " NF ", " PR ", " OOM", " RUNNING", " PENDING"),
        "user",
    ),
}
