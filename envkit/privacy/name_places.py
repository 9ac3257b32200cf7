"""Where the names of users and hosts stand in a line: prompts, logs, fields, commands. One table of all of them."""

from __future__ import annotations

from collections.abc import Mapping

from envkit._startup.records import record

_USER = r"(?P<user>[^\W\d][\w.-]{0,31})"
_GROUP = r"(?P<group>[^\W\d][\w.-]{0,31})"
_HOST = r"(?P<host>(?=[\d.-]{0,80}[A-Za-z])[A-Za-z0-9][\w-]{0,62}(?:\.[\w-]{1,62}){0,8})"
_NUMBERED = r"(?P<host>(?=[A-Za-z-]{1,40}\d)(?!v\d)[A-Za-z][\w-]{0,62}(?:\.[\w-]{1,62}){0,8})"
_SET_TO = r"[\"']?(?:=|: ?)[\"']?"
_IS = r"[\"']?[ \t]{0,3}[=:][ \t]{0,20}[\"']?"
_STAMP = r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]{0,10}(?:Z|[+-]\d\d:?\d\d)?)"
_NO_NAME = (
    r"(?!(?:is|was|has|and|or|the|to|into|via|as|at|on|with|for|not|in|of|side|memory|process|name|id|mode|space) )"
)
_OPTIONS = r"(?:-[\w-]{1,17} ){0,6}"


@record
class Place:
    """An expression with groups `user`, `host` or `group`, and what each line that it is tried in holds one of."""

    pattern: str
    needles: tuple[str, ...]


def _cases(*words: str) -> tuple[str, ...]:
    """Words as they stand in fields: small, with a capital, with several, in capitals."""
    return tuple(
        form for word in words for form in dict.fromkeys((word, word.capitalize(), word.title(), word.upper()))
    )


_HOST_FIELDS = (
    *_cases("hostname", "host name", "nodename", "node name", "server name", "fqdn", "local host", "remote host"),
    *("HostName", "NodeName", "nodeName", "hostName"),
)

# what stands here is a name, whatever else it means, and the rest of a pasted text is masked by it
PLACES: Mapping[str, Place] = {
    "prompt": Place(
        rf"^(?:\([\w.-]{{1,40}}\) )?\[?{_USER}@{_HOST}(?=(?:[: ][^\n$#%>]{{0,160}})?\]?[$#%>](?: |$))", ("@",)
    ),
    "boxed_prompt": Place(rf"^┌──\({_USER}[^\w\s]{_HOST}\)", ("┌──(",)),
    "syslog": Place(rf"^{_STAMP} {_HOST}(?= [\w./()-]{{1,60}}(?:\[\d{{1,9}}\])?: )", (": ",)),
    "syslog_5424": Place(rf"^<\d{{1,3}}>\d {_STAMP} {_HOST}(?= )", (">1 ",)),
    "journal": Place(rf"^\[ {{0,9}}\d{{1,9}}\.\d{{1,9}}\] {_HOST}(?= kernel: )", (" kernel: ",)),
    "uname": Place(rf"\bLinux (?!version ){_HOST}(?= \d{{1,2}}\.\d{{1,3}}[.-])", ("Linux ",)),
    "user_variable": Place(
        rf"\b(?:USER|LOGNAME|USERNAME|\w{{1,40}}_(?:USER|USERNAME)){_SET_TO}{_USER}", ("USER", "LOGNAME")
    ),
    "host_variable": Place(
        r"\b(?:HOST|HOSTNAME|COMPUTERNAME|SERVERNAME|NODENAME|MASTER_ADDR|"
        rf"\w{{1,40}}_(?:HOST|HOSTNAME|NODE|NODENAME|NODE_NAME)){_SET_TO}{_HOST}",
        ("HOST", "NAME", "MASTER_ADDR", "_NODE"),
    ),
    "requested": Place(rf"\bRequested-By: {_USER}", ("Requested-By: ",)),
    "user_id": Place(rf"\be?uid=\d{{1,10}}\({_USER}\)", ("uid=",)),
    "slurm_user": Place(rf"\bUserId={_USER}\(\d", ("UserId=",)),
    "host_field": Place(
        rf"\b(?:{'|'.join(_HOST_FIELDS)}){_IS}{_HOST}",
        _HOST_FIELDS,
    ),
    "pod_node": Place(rf"^[ \t]{{0,8}}Node:[ \t]{{1,20}}{_HOST}/", ("Node:",)),
    "this_host": Place(
        rf"\b(?:[Oo]n this host \(|for host: |Running on machine: ){_HOST}",
        ("this host (", "for host: ", "on machine: "),
    ),
    "nccl": Place(rf"^{_HOST}(?=:\d{{1,9}}:\d{{1,9}} \[\d{{1,3}}\] )", ("] ",)),
    "ssh": Place(
        rf"\b(?:ssh|scp|sftp|mosh|rsync) (?:-\w+ ){{0,6}}{_USER}@{_HOST}", ("ssh ", "scp ", "sftp ", "mosh ", "rsync ")
    ),
    "slurm": Place(
        rf"(?:\b(?:srun|slurmstepd|slurmd): error:(?= [\w.-]{{1,80}}:)|\bJOB \d{{1,12}} ON"
        rf"|\bStepId=[\w.+-]{{1,40}} on) {_HOST}",
        ("srun", "slurm", "JOB ", "StepId="),
    ),
    "ucx": Place(rf"^\[\d{{9,11}}\.\d{{1,9}}\] \[{_HOST}(?=:\d{{1,9}}:\d{{1,9}}\])", ("] [",)),
    "launched": Place(rf"^{_HOST}(?=: \[\d{{4}}-\d\d-\d\d )", (": [",)),
    "pdsh": Place(rf"^(?:pdsh@[\w.-]{{1,64}}: )?{_HOST}(?=: ssh exited)", (": ssh exited",)),
    "terminal": Place(rf"\b\d{{1,8}}\.(?:pts-\d{{1,4}}|tty\w{{1,4}})\.{_HOST}", (".pts-", ".tty")),
    "display": Place(rf"^{_HOST}(?=/unix:\d)", ("/unix:",)),
    "psm": Place(r"^(?P<host>[A-Za-z][\w-]{1,62})(?=\.\d{2,9} ?(?:PSM|hfi))", ("PSM", "hfi")),
    "events_file": Place(
        r"(?:\btfevents\.\d{9,11}|\bcore\.[\w-]{1,40}\.\d{1,10})\.(?P<host>[A-Za-z][\w-]{0,62}(?:\.[\w-]{1,62}){0,8}?)"
        r"(?=\.\d{1,9}(?![\w-])|[\s\"']|$)",
        ("tfevents.", "core."),
    ),
    "address_of_kernel": Place(rf"\bip=(?:[\d.]{{0,15}}:){{4}}{_HOST}(?=:)", ("ip=",)),
    "in_brackets": Place(
        rf"\b(?:User <{_USER}>|(?:Host|(?:on|from) host|Hosts/Processors|Host\(s\)) <(?:\d{{1,4}}\*)?{_HOST}>)", (" <",)
    ),
    "kubelet": Place(rf"\bkubelet, {_HOST}", ("kubelet, ",)),
    "windows": Place(
        r"^(?:\([^)\n]{1,40}\) )?(?:PS )?[A-Z]:\\Users\\(?P<user>[^\\/:*?\"<>|\n]{1,40})", (":\\Users\\",)
    ),
    "windows_name": Place(
        r"\b(?P<host>(?:DESKTOP|LAPTOP|WIN)-[A-Z0-9]{6,12})\b(?:\\(?P<user>[A-Za-z][\w.-]{1,31}))?",
        ("DESKTOP-", "LAPTOP-", "WIN-"),
    ),
    "windows_user": Place(
        r"(?:^|\b(?i:user(?: ?name)?)[:=] ?)(?P<host>[A-Z][A-Z0-9-]{1,15})\\(?P<user>[A-Za-z][\w.-]{1,31})$", ("\\",)
    ),
    "wandb": Place(rf"\b[Ll]ogged in as:? {_USER}", ("ogged in as",)),
    "github": Place(rf"^Hi {_USER}! You've", ("Hi ",)),
    "cloud_host": Place(r"(?<![\w.-])(?P<host>(?:ip|ec2)-\d{1,3}(?:-\d{1,3}){3})(?![\w-])", ("ip-", "ec2-")),
    "cloud_pod": Place(r"(?<![\w.-])(?P<host>\d{1,3}(?:-\d{1,3}){3})(?=\.[a-z])", ("-",)),
}
# what stands here may be a name: it is one when it means nothing else
LIKELY_PLACES: Mapping[str, Place] = {
    "on_host": Place(
        rf"(?i:\b(?:on|from|to) (?:host|node|server|machine|worker)) {_NO_NAME}[\"'\[]?{_HOST}",
        ("host ", "node ", "server ", "machine ", "worker ", "Host ", "Node ", "HOST ", "NODE ", "Server ", "Worker "),
    ),
    "node": Place(rf"(?<!\{{)\b[Nn]odes? {_NUMBERED}(?![\w/(])", ("node", "Node")),
    "host": Place(
        rf"(?i:^[^\w\n]{{0,8}}host){_IS}(?!x86|i\d86|aarch64|arm|ppc|https?:){_HOST}[^\w\n]{{0,8}}$", ("host", "Host")
    ),
    "greeting": Place(rf"\bWelcome to (?:the [^\n,]{{1,60}}, )?{_HOST}(?= \(|!)", ("Welcome to ",)),
    "mpi": Place(r"^\[(?P<host>[A-Za-z][\w-]{1,62}):\d{3,8}\](?= )", ("] ",)),
    "mpi_process": Place(
        rf"^(?:--> )?{_HOST}:(?= {{1,4}}(?:Process name|rank \d|task \d))", ("Process name", "rank ", "task ")
    ),
    "mpi_output": Place(r"^\[\d{1,6},\d{1,6}\]<std\w{3}>:(?P<host>[\w-]{1,63}):", ("]<std",)),
    "hosts_file": Place(
        rf"^\d{{1,3}}(?:\.\d{{1,3}}){{3}}[ \t]{{1,20}}[\w-]{{1,60}}\.[\w.-]{{1,80}}[ \t]{{1,20}}{_HOST}", (".",)
    ),
    "resolve": Place(rf"\bresolve host(?:name)? {_NO_NAME}[\"']?{_HOST}", ("resolve host",)),
    "ssh_host": Place(rf"\bssh {_OPTIONS}{_NUMBERED}(?= |$)", ("ssh ",)),
    "copy_host": Place(rf"\b(?:scp|rsync) [^\n]{{0,80}}? {_HOST}:(?=[/~.])", ("scp ", "rsync ")),
    "group_ids": Place(rf"(?:\b(?:gid|egid)=|\bgroups=|\),)\d{{1,10}}\({_GROUP}\)", ("gid=", "groups=", "),")),
    "listed": Place(
        rf"^[bcdlps-][r-][w-][xsS-][r-][w-][xsS-][r-][w-][xtT-][.+@]? {{1,4}}\d{{1,6}} {_USER} {{1,20}}{_GROUP} ",
        ("rw", "r-", "--", "-w"),
    ),
    "processes": Place(
        rf"^{_USER} {{1,20}}\d{{1,8}} {{1,6}}\d{{1,4}}\.\d {{1,6}}\d{{1,3}}\.\d {{1,9}}\d{{1,12}} ", (".",)
    ),
    "top": Place(rf"^ {{0,9}}\d{{1,8}} {_USER} {{1,20}}(?:rt|-?\d{{1,3}}) {{1,4}}-?\d{{1,3}} ", (" ",)),
    "accounts": Place(rf"^{_USER}:[^:\s]{{0,200}}:\d{{1,10}}:\d{{1,10}}:", (":",)),
    "group_members": Place(rf"^[\w-]{{1,32}}:[x*!]{{0,2}}:\d{{1,10}}:{_USER}", (":",)),
    "sudo": Place(rf"\bsudo: {{1,8}}{_USER} : ", ("sudo: ",)),
    "login_log": Place(rf"\bfor (?:invalid user |user )?{_USER} (?:from \d|by )", (" from ", " by ")),
    "for_user": Place(rf"\b(?:for|of|as) user:? [\"'(]?{_NO_NAME}{_USER}", (" user",)),
    "user_field": Place(
        rf"(?i:(?<![\w-])(?:user(?: ?name)?|login|owner)){_IS}{_USER}(?![\w(./])",
        _cases("user", "login", "owner"),
    ),
    "sudo_user": Place(rf"\b(?:sudo|runuser|docker) {_OPTIONS}-u {_USER}", ("-u ",)),
    "jobs_of_user": Place(
        r"(?:\b(?:squeue|sacct|scancel|sprio|sshare|bjobs|bkill|qstat|qdel|crontab|pkill|pgrep|ps|top|htop|lsof|nvitop)\b"
        rf"[^\n|;&]{{0,120}}? |#SBATCH )(?:-[uU] ?|--(?:user|uid)[ =]){_USER}",
        ("-u", "-U", "--user", "--uid"),
    ),
    "machine_user": Place(rf"--machine={_USER}@", ("--machine=",)),
    "logged_in": Place(
        rf"^(?:last: )?{_USER} {{1,20}}(?:[+?-] {{1,8}})?(?:tty\w{{1,4}}|pts/\d|:\d)", ("tty", "pts/", ":")
    ),
    "logged_in_from": Place(
        rf"^[\w.-]{{1,32}} {{1,20}}(?:[+?-] {{1,8}})?(?:tty\w{{1,4}}|pts/\d{{1,4}}) {{1,20}}"
        rf"{_HOST}(?=:\d| {{1,8}}[A-Z][a-z]{{2}}[ \d])",
        ("tty", "pts/"),
    ),
    "session": Place(rf"(?<![\w.])\d{{1,6}} {{1,10}}\d{{4,6}} {_USER} {{1,20}}(?:seat\d|- )", ("seat", "- ")),
    "short_processes": Place(
        rf"^{_USER} {{1,20}}\d{{1,8}} {{1,6}}\d{{1,3}}\.\d {{1,6}}\d{{1,3}}\.\d (?=[ \w/])", (".",)
    ),
    "gpu_user": Place(
        rf"(?<=[| ]){_USER}(?::[^\s():|]{{1,60}}(?:/\d{{1,9}})?)?\(\d{{1,8}}M(?:i?B)?\)", ("M)", "MiB)", "MB)")
    ),
    "gpustat": Place(rf"^{_HOST} {{1,20}}(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{{2}} [ \d]\d \d\d:", (":",)),
    "own_address_next": Place(
        rf"^\d{{1,3}}(?:\.\d{{1,3}}){{3}}[ \t]{{1,20}}[A-Za-z][\w-]{{1,60}}[ \t]{{1,20}}{_HOST}[ \t]{{0,8}}$", (".",)
    ),
    "own_address": Place(
        rf"^(?:\d{{1,3}}(?:\.\d{{1,3}}){{3}}|::1|[0-9a-f]{{1,4}}:[0-9a-f:]{{2,36}})[ \t]{{1,20}}{_HOST}(?=[ \t#]|$)",
        (".", ":"),
    ),
    "ran_on": Place(rf"\bexec_(?:host|vnode) {{0,3}}= {{0,3}}\(?{_HOST}(?=[/:+])", ("exec_",)),
    "controller": Place(rf"\b[Hh]ostname/IP[ \t]{{1,20}}{_HOST}", ("ostname/IP",)),
    "shared_folder": Place(rf"^{_HOST}:/\S{{0,200}}[ \t]{{1,40}}(?:on /|/|nfs|\d)", (":/",)),
    "mounted": Place(rf"\bmount (?:-[\w-]{{1,12}}(?:[ =][\w.,=]{{1,80}})? ){{0,4}}(?:{_HOST}(?=:/))", ("mount ",)),
    "exports": Place(
        rf"(?:\bshowmount (?:-\w{{1,4}} ){{0,2}}|\bExport list for |\bnfs[_-]?server[=:] ?){_HOST}",
        ("showmount", "xport list", "nfs"),
    ),
    "server_answers": Place(rf"\bserver {_HOST}(?= (?:not responding|OK\b|timed out))", ("server ",)),
    "network_view": Place(r"(?<![^\s\"'=(])\\{2,4}(?P<host>[A-Za-z][\w.$-]{1,63})(?=\\|\s|$)", ("\\\\",)),
    "pointer": Place(rf"\.arpa[^\n]{{0,40}}? (?:name = |pointer ){_HOST}", (".arpa",)),
    "monitors": Place(rf"\bmon[_ ]host {{0,3}}= {{0,3}}{_HOST}", ("mon",)),
    "network_of_lustre": Place(rf"(?<![\w.]){_HOST}(?=@(?:o2ib|tcp)\d{{0,2}}\b)", ("@o2ib", "@tcp")),
    "ssh_known": Place(
        rf"(?:^|^\[){_HOST}(?=(?:\]:\d{{1,5}})?(?:,\S{{1,80}})? (?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2-))",
        ("ssh-", "ecdsa-"),
    ),
    "ssh_asked": Place(rf"(?:authenticity of host|Permanently added) '\[?{_HOST}", ("authenticity", "Permanently")),
    "ssh_section": Place(rf"^Host {_HOST}[ \t]{{0,8}}$", ("Host ",)),
    "directory_user": Place(
        rf"\b(?:sAMAccountName|userPrincipalName|memberUid): {_USER}", ("AccountName", "PrincipalName", "memberUid")
    ),
    "directory_uid": Place(rf"(?:\b[Uu]id=|^uid: ){_USER}(?=,|$)", ("id",)),
    "node_of_partition": Place(
        rf"^{_NUMBERED} {{1,20}}\d{{1,5}} {{1,20}}[\w-]{{1,40}}\*? {{1,20}}"
        r"(?:idle|mix|alloc|down|drain|resv|comp|fail|maint|plnd|unk)",
        ("idle", "mix", "alloc", "down", "drain", "resv", "comp", "fail", "maint", "unk"),
    ),
    "slots": Place(rf"(?<= )\d{{1,4}}\*{_HOST}", ("*",)),
    "job_of_grid": Place(
        rf"^ {{0,9}}\d{{1,12}} {{1,9}}\d\.\d{{1,6}} {{1,9}}[^\s]{{1,40}} {{1,20}}{_USER} {{1,20}}"
        r"(?:r|qw|Eqw|dr|t|hqw) ",
        (".",),
    ),
    "job_of_bsub": Place(
        rf"^\d{{1,12}} {{1,20}}{_USER} {{1,20}}(?:RUN|PEND|EXIT|DONE|SSUSP|USUSP) ",
        ("RUN", "PEND", "EXIT", "DONE", "SUSP"),
    ),
    "job_of_pbs": Place(
        rf"^\d{{1,12}}(?:\[\d{{0,6}}\])?\.\S{{1,40}} {{1,20}}\S{{1,40}} {{1,20}}{_USER} {{1,20}}[\d:]{{1,12}} [RQHEC] ",
        (" R ", " Q ", " H ", " E ", " C "),
    ),
    "process_of_gpu": Place(
        rf"^[│|] {{1,4}}\d{{1,3}} {{1,9}}\d{{1,9}} {{1,3}}[CG+]{{1,3}} {{1,4}}{_USER} ", ("│", "|")
    ),
    "process_title": Place(rf"^{_USER}(?=/\d{{3,9}} )", ("/",)),
    "kube_node": Place(
        r"\bkubectl (?:[^\n|;&]{0,80} )?(?:(?:drain|cordon|uncordon)"
        rf"|(?:describe|get|label|annotate|taint|delete|debug|top) (?:no|nodes?)[ /]) ?{_NO_NAME}{_HOST}"
        r"(?= *(?:$|[|;&\"'`)#]| -))",
        ("kubectl ",),
    ),
    "ansible_result": Place(
        rf"^{_HOST} {{1,60}}(?:\| (?:SUCCESS|FAILED|CHANGED|UNREACHABLE)|: ok=\d)", (" | ", " : ok=")
    ),
    "ansible_task": Place(rf"\b(?:ok|changed|failed|fatal|unreachable|skipping): \[{_HOST}\]", (": [",)),
    "ansible_host": Place(rf"\bansible_(?:ssh_)?host[=:] ?{_HOST}", ("ansible_",)),
    "master": Place(rf"--(?:master[-_]addr|rdzv[-_]endpoint)[ =]{_HOST}", ("--master", "--rdzv")),
    "ssh_command": Place(rf"(?:^|[$#%>] |&& |; )ssh {_OPTIONS}{_NO_NAME}{_HOST}(?= |$)", ("ssh ",)),
    "su": Place(rf"\bsu (?:-l? ?){{0,2}}{_USER}$", ("su ",)),
    "usermod": Place(rf"\busermod (?:-{{1,2}}[\w-]{{1,12}} (?:[\w,]{{1,60}} (?=\S))?){{1,4}}{_USER}", ("usermod ",)),
    "account_commands": Place(
        rf"\b(?:adduser|useradd|deluser|userdel|gpasswd|passwd|enable-linger) {_OPTIONS}{_USER}",
        ("adduser ", "useradd ", "deluser ", "userdel ", "passwd ", "linger "),
    ),
    "chown": Place(rf"\bchown {_OPTIONS}{_USER}(?::{_GROUP})?", ("chown ",)),
    "sudoers": Place(rf"^{_USER} is not in the sudoers", ("sudoers",)),
}
