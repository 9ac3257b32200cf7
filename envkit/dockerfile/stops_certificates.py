"""Where a build stops because the image has no certificates of authorities, so that no https address is trusted."""

from __future__ import annotations

from collections.abc import Iterator

from envkit._startup.regex import regex
from envkit.checks.containers import image_faults as faults
from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import command_subject, stop
from envkit.dockerfile.ground import Ground, Step
from envkit.dockerfile.shell import called
from envkit.dockerfile.stops_absent import LEAN, is_known, kinds_of, until
from envkit.dockerfile.stops_sources import BRINGS

_PLAIN = frozenset({"plain", "old"})
_BRINGS = regex(r"ca-certificates|python|software-properties|openssl|java|jdk|jre|mono|launchpadlib")
_TRUSTS = regex(
    r"-[a-jl-z]{0,20}k[a-z]{0,20}|--insecure|--no-check-certificate|http\.sslverify=(?:false|0)|--ca-?cert.*|--cacert.*"
)
_TRUSTED = regex(r"(?i)sslverify|GIT_SSL|SSL_CERT|CURL_CA|check_certificate|curlrc|wgetrc|cert")
_FETCHES = ("curl", "wget")
_CLONES = frozenset({"clone", "submodule", "fetch", "pull"})


def certificates_missing(ground: Ground) -> Iterator[Finding]:
    """The first download over https in an image of a distribution, where apt brought the program alone."""
    if not ground.first or not kinds_of(ground) & _PLAIN or ground.tells & {"copied", "bind"}:
        return
    if any(_TRUSTED.search(text) for text in (*ground.environment, *(text for _, text in ground.copies))):
        return
    given = False
    for step in ground.steps:
        if any(BRINGS.search(text) or _TRUSTED.search(text) for text in until(ground, step.place[1])):
            return
        if given and step.command.decisive and _over_https(step):
            yield stop(
                faults.CERTIFICATES_MISSING,
                f"{called(step.command)[0]} trusts no https address: the image has no ca-certificates",
                command_subject(step.command),
                impact="The build stops: the certificate of the server cannot be verified.",
                sources=("distribution-packages", "github-docker-brew-ubuntu-core"),
            )
            return
        if step.of_apt and (LEAN not in step.command.words or not all(_brings_none(word) for word in step.of_apt)):
            return
        given = given or bool(step.of_apt)


def _brings_none(word: str) -> bool:
    return is_known(word) and _BRINGS.search(word) is None


def _over_https(step: Step) -> bool:
    words = called(step.command)
    if not words or any(_TRUSTS.fullmatch(word.lower()) for word in words[1:]):
        return False
    https = any(word.startswith("https://") for word in words)
    return https and (words[0] in _FETCHES or (words[0] == "git" and bool(_CLONES & set(words[1:4]))))
