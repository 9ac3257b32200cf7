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
        r"(?<![\w-])((?:i|vol|vpc|subnet|sg|eni|snap|rtb|igw|eipalloc|fs|lt|ami|acl|nat|tgw|vpce|asg|cr)-)((?=[a-f]{0,17}\d)(?:[0-9a-f]{17}|[0-9a-f]{8}))(?![\w-])",
        ("-",),
        "hex",
    ),
    "role": Label(
        r"(\barn:aws[\w-]{0,10}:[\w-]{1,40}:[\w-]{0,30}:[^:\s]{0,20}:(?:role|user|group|instance-profile|cluster|function)/)"
        rf"{_NAME}",
        ("arn:aws",),
    ),
    "group": Label(rf"(\bGroupId=){_NAME}(?=\(\d)", ("GroupId=",)),
    "in_brackets": Label(rf"(\b(?:Project|Job Name|Job Group|User Group|Application) <){_NAME}(?=>)", (" <",)),
    "environment": Label(rf"(^){_NAME}(?=[ \t]{{1,60}}\*?[ \t]{{0,40}}/\S{{1,200}}/envs/)", ("/envs/",)),
    "checkout": Label(rf"(^){_NAME}(?=[ \t]{{1,60}}\d[\w.+!-]{{0,40}}[ \t]{{1,40}}/[\w.-]{{1,40}}/)", (" /",)),
    "contact": Label(
        r"(\b(?:Contact|Submitted by|Reported by|Requested by|Committer|[A-Z][a-z]{2,11}-(?:off-)?by)[ \t]?:[ \t]{1,8})"
        r"((?:[^\W\d_][\w'’.-]{1,30}[ \t]){1,3}[^\W\d_][\w'’.-]{1,30})",
        ("Contact", "by:", "by :", "Committer"),
        "user",
    ),
    "name_of_disk": Label(
        r"(?i)(\b(?:WWN|WWID|EUI64)(?: Device Id)?[:=]?[ \t]{1,10})"
        r"(\d [0-9a-f]{6} [0-9a-f]{9}|(?:0x|naa\.|eui\.|nvme\.)[0-9a-f]{16,64})",
        ("WWN", "WWID", "EUI64", "wwn", "wwid", "eui64"),
        "serial",
    ),
    "account": Label(r"(\barn:aws[\w-]{0,10}:[\w-]{1,40}:[\w-]{0,30}:)(\d{12})(?!\d)", ("arn:aws",), "serial"),
    "registry": Label(r"((?<![\w.-]))(\d{12})(?=\.dkr\.ecr\.)", (".dkr.ecr.",), "serial"),
    "account_field": Label(
        r"(?i)((?<![a-z])account(?:[ _-]?(?:id|number))?[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?)(\d{12})(?!\d)",
        ("ccount", "CCOUNT"),
        "serial",
    ),
    "account_name": Label(
        r"(?i)(\b(?:account_?(?:id|name)|subscription_?(?:name|id)|tenant_?(?:name|id)?|domain_?name|key_?pair(?:_?name)?"
        rf"|node_?pool|cluster_?name|vm_?name|bucket_?(?:name)?)[\"']?[ \t]{{0,3}}[:=][ \t]{{0,3}}[\"']?){_NAME}",
        (
            "ccount",
            "CCOUNT",
            "ubscription",
            "enant",
            "ENANT",
            "omain",
            "eyName",
            "ey_name",
            "ey_pair",
            "eyPair",
            "odepool",
        )
        + ("odePool", "ode_pool", "luster", "mName", "m_name", "ucket"),
    ),
    "machine_beside": Label(
        r"(\"vm_?[Ii]d\"[ \t]{0,3}:[ \t]{0,3}\"[^\"\n]{0,60}\",[ \t]{0,8}"
        rf"\"name\"[ \t]{{0,3}}:[ \t]{{0,3}}\"){_NAME}",
        ("vm",),
    ),
    "project": Label(
        r"(\bprojects/)([A-Za-z0-9][\w.-]{1,80})(?=/(?:zones|regions|locations|global|instances)\b)", ("projects/",)
    ),
    "machine": Label(
        rf"(/(?:instances|virtualMachines|nodePools|disks)/){_NAME}", ("/instances/", "Machines/", "Pools/", "/disks/")
    ),
    "cluster_node": Label(
        r"((?<![\w-]))((?:gke|aks|eks)-[a-z0-9-]{3,60}-(?=[a-z]{0,7}\d)[0-9a-z]{4,8})(?![\w-])",
        ("gke-", "aks-", "eks-"),
    ),
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
        r"(^[ \t]{0,18}\d{1,12}(?:_[\d\[\]%-]{1,20})?[ \t]{1,20}[\w.,*-]{1,40}[ \t]{1,20}[^\s]{1,30}[ \t]{1,20})"
        r"([A-Za-z][\w.-]{1,31})(?=[ \t]{1,20}(?:R|PD|CG|CD|CF|F|TO|CA|S|NF|PR|OOM|RUNNING|PENDING)"
        r"[ \t]{1,20}[\d:-]{1,20}[ \t])",
        (" R ", " PD ", " C", " F ", " TO ", " S ", " NF ", " PR ", " OOM", " RUNNING", " PENDING"),
        "user",
    ),
    "instance_field": Label(
        r"(?i)(\binstance[_-]?id[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?)((?=[\w-]{0,60}\d)[a-z][\w-]{7,60}|\d{12,20})",
        ("nstance", "NSTANCE"),
        "serial",
    ),
    "oracle": Label(
        r"(\bocid1\.[a-z0-9_]{1,40}\.[a-z0-9]{0,12}\.[a-z0-9-]{0,40}\.{1,2})([a-z0-9]{8,100})", ("ocid1.",), "hex"
    ),
    "project_field": Label(
        rf"(?i)(\b(?:project_?id|resource_?group(?:_?name)?|job_?name)[\"']?[ \t]{{0,3}}[:=][ \t]{{0,3}}[\"']?){_NAME}",
        ("roject", "ROJECT", "esource", "ob_name", "obName", "OB_NAME"),
    ),
    "project_number": Label(
        r"(?i)(\bproject_?number[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?)(\d{6,20})", ("roject", "ROJECT"), "serial"
    ),
    "cloud_variable": Label(
        r"(\b(?:GOOGLE_CLOUD_PROJECT|GCLOUD_PROJECT|GCP_PROJECT(?:_ID)?|CLOUDSDK_CORE_PROJECT|AWS_(?:DEFAULT_)?PROFILE"
        rf"|OS_(?:PROJECT|TENANT|USER_DOMAIN|PROJECT_DOMAIN)_(?:NAME|ID)"
        rf"|WANDB_(?:ENTITY|PROJECT)|NGC_(?:CLI_)?ORG|NEPTUNE_PROJECT|COMET_WORKSPACE|SBATCH_ACCOUNT)"
        rf"[\"']?(?:=|: ?)[\"']?){_NAME}",
        ("PROJECT", "PROFILE", "OS_", "ENTITY", "_ORG", "WORKSPACE", "_ACCOUNT"),
    ),
    "cloud_option": Label(
        r"(\b(?:gcloud|az|aws|ngc|wandb|bq|gsutil|oci)\b[^\n|;&]{0,200}? "
        r"(?:--(?:project|resource-group|profile|org|team|entity|workspace|name|instance|cluster)[ =]|-[gn] "
        r"|compute (?:ssh|scp|instances \w{1,20}) (?!-)|container clusters \w{1,20} (?!-)"
        r"|config set (?:core/)?(?:project|account) )"
        rf"[\"']?){_NAME}",
        ("gcloud ", "az ", "aws ", "ngc ", "wandb ", "bq ", "gsutil ", "oci "),
    ),
    "billing": Label(
        r"((?:\b(?:sbatch|srun|salloc|sinteractive|sacct|sshare|sreport|squeue|scancel|qsub|bsub)\b[^\n|;&]{0,200}? "
        rf"|#(?:SBATCH|PBS|BSUB|\$) )(?:-A|-P|--account)[ =]?[\"']?){_NAME}",
        ("-A", "-P", "--account"),
    ),
    "serial_field": Label(
        r"((?<![\w-])SN[ \t]{0,10}[:=][ \t]{0,10})((?=[A-Z-]{0,30}\d)[A-Z0-9][A-Z0-9-]{4,40})", ("SN",), "serial"
    ),
    "directory": Label(
        r"(?i)((?<![\w-])(?:ou|dc|cn|uid|o)=)([\w.-]{2,60})(?=[,+/]|[\s\"'>)]|$)",
        ("dc=", "DC=", "ou=", "OU=", "cn=", "CN="),
    ),
    "ssh_comment": Label(
        r"(\b(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-[\w-]{1,40}) AAAA[\w+/]{16,2000}={0,2} )([\w.@-]{2,80})", ("AAAA",)
    ),
    "ssh_key": Label(
        r"(\b(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-[\w-]{1,40}|sk-[\w-]{1,40}@openssh\.com) )"
        r"(AAAA[\w+/]{16,2000}={0,2})",
        ("AAAA",),
        "hex",
    ),
    "ssh_old_fingerprint": Label(r"(\bMD5:)((?:[0-9a-f][0-9a-f]:){15}[0-9a-f]{2})(?![\w:])", ("MD5:",), "hex"),
    "ssh_hashed_host": Label(r"(\|1\|)([A-Za-z0-9+/]{27}=\|[A-Za-z0-9+/]{27}=)", ("|1|",), "hex"),
    "ssh_fingerprint": Label(
        r"(\bSHA256:)((?=[\w+/]{0,42}[A-Z])(?=[\w+/]{0,42}[g-z])[\w+/]{42,46})(?![\w+/])", ("SHA256:",), "hex"
    ),
    "reversed_address": Label(r"((?<![\w.]))((?:\d{1,3}\.){3}\d{1,3})(?=\.in-addr\.arpa)", (".in-addr.arpa",), "ipv4"),
    "reversed_network": Label(r"((?<![\w.]))((?:\d{1,3}\.){0,2}\d{1,3})(?=\.in-addr\.arpa)", (".in-addr.arpa",), "hex"),
    "reversed_ipv6": Label(r"((?<![\w.]))((?:[0-9a-f]\.){3,31}[0-9a-f])(?=\.ip6\.arpa)", (".ip6.arpa",), "hex"),
    "socket": Label(  # of /proc/net/tcp
        r"((?<![\w:]))(?!00000000|0100007F)([0-9A-F]{8})(?=:[0-9A-F]{4}(?![\w:.]))", (":",), "hex"
    ),
    "full_name": Label(
        r"(^[^:\s]{1,32}:[^:\s]{0,200}:\d{4,10}:\d{1,10}:)([^:]{2,120})(?=:[^:\n]{0,200}:)", (":",), "user"
    ),
    "name_of_person": Label(
        r"((?:\b[Ff]ull [Nn]ame|\bReal name|\bRegistered Owner|\bdisplayName|\bgecos|\bLogin: \S{1,32}[ \t]{1,40}Name)"
        r"[\"']?[ \t]{0,3}"
        r"[:=]?[ \t]{1,40}[\"']?)([^\W\d_][^\"'\n:,]{1,60})",
        ("ame", "Owner", "gecos"),
        "user",
    ),
    "author": Label(r"(\bgit config (?:--\w{1,10} )?user\.name[ =][\"']?)([^\"'\n]{2,60})", ("user.name",), "user"),
    "common_name": Label(r"(\bCN=)([^,\n\"'+=]{2,80})(?=,)", ("CN=",), "user"),
    "own_model": Label(
        r"(?:\b(OSError: |Repo id |repository )[\"']?)" + _NAME + r"(?=/[\w.-]{1,100}[\"']? is not )", ("is not ",)
    ),
    "node_of_queue": Label(
        r"(^[ \t]{0,18}\d{1,12}(?:_[\d\[\]%-]{1,20})?(?:[ \t]{1,20}[^\s]{1,40}){3}"
        r"[ \t]{1,20}(?:R|CG|CD|S|RUNNING|COMPLETING)"
        r"[ \t]{1,20}[\d:-]{1,20}[ \t]{1,20}\d{1,5}[ \t]{1,20})([A-Za-z][\w.\[\],-]{1,400})$",
        (" R ", " CG ", " CD ", " S ", " RUNNING ", " COMPLETING "),
    ),
    "nodes_of_partition": Label(
        r"(^[\w*.-]{1,40}[ \t]{1,20}(?:up|down|drain|inact)[ \t]{1,20}[\w:-]{1,20}[ \t]{1,20}\d{1,6}[ \t]{1,20}"
        r"(?:idle|mix|alloc|down|drain|resv|comp|fail|maint|plnd|unk)[a-z]{0,8}[*~#$@+^-]?[ \t]{1,20})"
        r"([A-Za-z][\w.\[\],-]{1,400})$",
        (" up ", " down ", " drain ", " inact "),
    ),
    "telephone": Label(
        r"(?i)(\b(?:phone|tel|mobile)\.?[ \t]{0,3}[:=][ \t]{0,3})(\+?\d[\d ()/-]{6,20}\d)",
        ("hone", "HONE", "el", "EL", "obile"),
        "serial",
    ),
    "place_on_earth": Label(
        r"(?i)(\b(?:lat|latitude)[\"']?[ \t]{0,3}[:=][ \t]{0,3})"
        r"(-?\d{1,2}\.\d{2,12}[\"']?[,; ]{1,3}[\"']?lo?ng?(?:itude)?[\"']?[ \t]{0,3}[:=][ \t]{0,3}-?\d{1,3}\.\d{2,12})",
        ("lon", "lng", "LON", "Lon"),
        "serial",
    ),
}
