"""Hides what stands in a place of a file of settings, a record or a protocol: netrc, cookie jars, secrets of a cluster.

One table of all forms, as in `secret_forms`, and the blocks of lines that belong together.
"""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.privacy.secret_forms import Form, each, hidden, if_secret, without
from envkit.privacy.secret_values import HIDDEN

_GAP = r"(?:[ \t]{1,8}|[ \t]{0,8}\n[ \t]{0,8})"  # between words that may stand on lines of their own
_CLUSTER_SECRET = regex(
    r"^([ \t]{0,40})(?:data|stringData):[ \t]{0,8}\n((?:\1[ \t]{1,40}[^\s:]{1,120}:[^\n]*(?:\n|\Z)){1,200})",
    re.MULTILINE,
)
_CLUSTER_RECORD = regex(r"(\\?\"(?:data|stringData)\\?\"\s{0,4}:\s{0,4}\{)([^{}]{1,20000})(?=\})")
_FIELD = regex(r"(\\?\"\s{0,4}:\s{0,4}\\?\")(?!\*\*\*)[^\"\\]{1,4000}")
_ENTRY = regex(r"^([ \t]{1,80}[^\s:]{1,120}:[ \t]{0,8})[^\n]+", re.MULTILINE)
_SIGNED = regex(r"\bkind\\?\"?:\s{0,4}\\?\"?Secret\b")
_ACCOUNTS = regex(  # what stands below chpasswd, in a shell and in cloud-init
    r"(\bchpasswd\b[^\n]{0,80}\n(?:[ \t]{0,20}(?:list|expire|users):[^\n]{0,40}\n){0,2})"
    r"((?:[ \t]{0,20}(?:- )?[\"']?[A-Za-z_][\w.-]{0,31}:[^\s:][^\n]{0,200}(?:\n|\Z)){1,50})"
)
_ACCOUNT = regex(r"^([^:\n]{1,60}:)[^\n]+", re.MULTILINE)


def without_records(text: str) -> str:
    """The text without the secrets that their place in a file or a record tells."""
    text = without(_FORMS, text)
    if "chpasswd" in text:
        text = _ACCOUNTS.sub(each(_ACCOUNT), text)
    if "Secret" in text and _SIGNED.search(text):
        text = _CLUSTER_RECORD.sub(each(_FIELD), text)
        text = _CLUSTER_SECRET.sub(_without_entries, text)
    return text


def _without_entries(match: re.Match[str]) -> str:
    start = match.start(2) - match.start()
    return match.group()[:start] + _ENTRY.sub(rf"\1{HIDDEN}", match.group()[start:])


_FORMS = (
    Form(  # netrc: a host, a name, a password
        ("password", "pass"),
        regex(
            rf"((?<![\w.-])machine{_GAP}(?:(?!user|login)\S{{1,200}}{_GAP})?"
            rf"(?:(?:via|protocol|proto|port){_GAP}\S{{1,80}}{_GAP}){{0,3}}(?:user(?:name)?|login){_GAP}\S{{1,200}}{_GAP}"
            rf"(?:account{_GAP}\S{{1,80}}{_GAP})?pass(?:word)?{_GAP}"
            r"|(?<![\w.-])machine[ \t]{1,8}\S{1,200}[ \t]{1,8}password[ \t]{1,8})(?!\*\*\*|%s)\S{1,200}"
        ),
        hidden,
    ),
    Form(  # msmtp, fetchmail: the same, which sentences have too
        ("password",),
        regex(
            rf"(^[ \t]{{0,8}}(?:poll|host|default){_GAP}(?:(?!user|login)\S{{1,200}}{_GAP})?"
            rf"(?:(?:via|protocol|proto|port){_GAP}\S{{1,80}}{_GAP}){{0,3}}(?:user(?:name)?|login){_GAP}\S{{1,200}}{_GAP}"
            rf"password{_GAP})(?!\*\*\*)\S{{1,200}}(?=[ \t]{{0,8}}$)",
            re.MULTILINE,
        ),
        hidden,
    ),
    Form(  # a short name beside that of a user or an account, in a section or a record
        ("pass", "key", "pw"),
        regex(
            r"(^(?:user(?:name)?|login|account|vendor|type)[ \t]{0,4}=[^\n]{0,200}\n"
            r"(?:[\w.-]{1,40}[ \t]{0,4}=[^\n]{0,200}\n){0,4}?(?:pass|pw|pass_phrase)[ \t]{0,4}=[ \t]{0,4}"
            r"|\"user(?:name)?\"[ \t]{0,4}:[ \t]{0,4}\"[^\"\n]{0,200}\",\s{0,20}"
            r"\"(?:pass|pw|key|auth)\"[ \t]{0,4}:[ \t]{0,4}\")(?!\*\*\*|[/~.])[^\s\"]{1,400}",
            re.MULTILINE,
        ),
        hidden,
    ),
    Form(  # logins of Composer and Bundler
        ("-oauth", "bearer", "BUNDLE_", "-token"),
        regex(
            r"(\"(?:github-oauth|gitlab-oauth|gitlab-token|bitbucket-oauth|bearer)\"\s{0,4}:\s{0,4}"
            r"\{\s{0,40}\"[^\"\n]{1,200}\"\s{0,4}:\s{0,4}\"|\bBUNDLE_\w{1,80}: \"?[\w.@-]{1,80}:)(?!\*\*\*)"
            r"[^\s\"]{1,400}"
        ),
        hidden,
    ),
    Form(  # of Weights & Biases, behind its name; a commit has a word of its own
        ("wandb", "W&B"),
        regex(r"(\b(?:wandb|W&B)\b(?:(?!commit|git|sha|rev|@)[^\n]){0,160}?(?<![\w-]))[0-9a-f]{40}(?![\w-])"),
        hidden,
    ),
    Form(  # `our login is NAME / …`
        ("login", "account"),
        regex(r"(\b(?:login|account)s?(?: (?:is|are|was)|:) [\w.@-]{1,60} ?/ ?)([^\s/]{6,80})(?=\s|$)"),
        if_secret,
    ),
    Form(("temporary password",), regex(r"(\btemporary password [^\n:]{0,80}: {1,4})(?!\*\*\*)\S{1,200}"), hidden),
    Form(  # of a store, which are told once, with their numbers
        ("nseal Key", "ecovery Key"),
        regex(r"(\b(?:Unseal|Recovery) Key(?: \(?\w{1,10}\)?)? ?\d{0,3}: {1,4})(?!\*\*\*)\S{1,400}"),
        hidden,
    ),
    Form(  # lists of encrypted disks, whose key may stand there itself: a name, a device, the key, options
        ("luks", "swap", "cipher=", "tcrypt", "bitlk", "plain"),
        regex(
            r"(^[ \t]{0,8}[\w.-]{1,80}[ \t]{1,20}(?:/dev/\S{1,200}|(?:PART)?(?:UUID|LABEL)=\S{1,200})[ \t]{1,20})"
            r"(?!none\b|-[ \t]|/|\*\*\*)\S{1,200}(?=[ \t]{1,20}(?:[\w=-]{1,60},){0,20}"
            r"(?:luks|swap|cipher=|tcrypt|bitlk|plain))",
            re.MULTILINE,
        ),
        hidden,
    ),
    Form(  # of mounts of WebDAV: an address, a name, a password
        ("davfs2",),
        regex(
            r"(^[ \t]{0,8}\"?(?:https?://|/)[^\s\"]{1,300}\"?[ \t]{1,20}\S{1,80}[ \t]{1,20})(?!\*\*\*)\S{1,200}"
            r"(?=[ \t]{0,8}$)",
            re.MULTILINE,
        ),
        hidden,
    ),
    Form(
        ("://",),
        regex(
            r"(^[ \t]{0,8}https?://[^\s\"]{1,300}[ \t]{1,20}[\w.@+-]{1,80}[ \t]{1,20})(\S{6,80})(?=[ \t]{0,8}$)",
            re.MULTILINE,
        ),
        if_secret,
    ),
    Form(  # signatures and codes of licenses
        ("SIGN=", "SIGN2="),
        regex(
            r"(\bSIGN2?=[ \t]{0,4}\"?)(?!\*\*\*)[0-9A-Fa-f]{4,400}"
            r"(?:(?:[ \t]{1,8}|[ \t]{0,8}\\\n[ \t]{0,40})[0-9A-Fa-f]{4}){0,99}"
        ),
        hidden,
    ),
    Form(
        ("INCREMENT ", "FEATURE "),
        regex(r"(\b(?:INCREMENT|FEATURE)(?: [^\s=]{1,80}){5} )[0-9A-F]{12,20}(?![\w-])"),
        hidden,
    ),
    Form(  # codes that are good for one login
        (" code", "-code", " pin", " PIN"),
        regex(
            r"(?i)(\b(?:verification|security|auth(?:entication|orization)?|one-time|login|2fa|mfa|otp|device|pairing)"
            r"[ -]"
            r"(?:pass)?(?:code|pin)(?: is| was)?:?[ \t]{1,4})(?:\d{3}[ -]\d{3}|\d{4,8}|\d{1,2}/[\w-]{8,200}"
            r"|(?-i:[A-Z\d]{4}-[A-Z\d]{4}))(?![\w-])"
        ),
        hidden,
    ),
    Form(  # of systemd
        ("SetCredential",),
        regex(r"(\bSetCredential(?:Encrypted)?=[^\s:]{1,80}:\s{0,20}(?:\\\n\s{0,40})?)(?!\*\*\*)[^\s\\]\S{0,4000}"),
        hidden,
    ),
    Form(  # a boot loader's
        ("superusers",),
        regex(r"(\bsuperusers=[^\n]{1,200}\n(?:[^\n]{0,200}\n){0,3}?password \S{1,80} )(?!\*\*\*)\S{1,200}"),
        hidden,
    ),
    Form(  # words of FTP, of mail servers, and of a script for them
        ("PASS ", "ftp "),
        regex(
            r"((?:\bquote PASS |\bUSER \S{1,80}\r?\n[^\n]{0,40}?PASS )"
            r"|\bftp [^\n]{0,200}<<[^\n]{0,40}\n(?:[^\n]{0,200}\n){0,3}?user \S{1,80} )(?!\*\*\*)\S{1,200}"
        ),
        hidden,
    ),
    Form(  # a cookie in a jar, and in a notebook server's own form
        ("TRUE\t", "FALSE\t", "|10:"),
        regex(
            r"((?:TRUE|FALSE)\t[^\t\n]{0,200}\t(?:TRUE|FALSE)\t\d{1,12}\t[^\t\n]{1,200}\t|\b2\|1:\d\|10:\d{10}\|)"
            r"(?!\*\*\*)[^\t\n\";]{1,2000}"
        ),
        hidden,
    ),
    Form(  # lines of files of pppd and of Postfix
        ("*", "["),
        regex(
            r"(?<![^\s(\"'`])([\w.@*\"-]{1,80}[ \t]{1,20}\*[ \t]{1,20}"
            r"|\[[\w.-]{1,80}\](?::\d{1,5})?[ \t]{1,20}[\w.@+-]{1,80}:)"
            r"([^\s*)\"'`]{1,200})(?=[ \t]{1,20}\*|[\s)\"'`]|$)",
        ),
        if_secret,
    ),
)
