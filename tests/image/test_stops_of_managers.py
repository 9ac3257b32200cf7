"""A build stops at the package manager of another distribution, unless something may have brought it."""

from __future__ import annotations

import pytest

from envkit.checks.engine.findings import Status
from envkit.dockerfile.check import check_dockerfile
from envkit.solver.request import Request
from envkit.tables import Matrix

STOPS = {
    "yum on Ubuntu": "FROM ubuntu:22.04\nRUN yum install -y git",
    "yum on CUDA": "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN yum -y update; yum install -y git",
    "dnf on Debian": "FROM debian:12\nRUN apt-get update\nRUN dnf install -y git",
    "zypper on a framework's image": "FROM tensorflow/tensorflow:2.15.0-gpu\nRUN zypper install -y git",
    "apk on Python's image": "FROM python:3.12-slim-bookworm\nRUN apk add --no-cache git",
    "microdnf on Debian": "FROM debian:12\nRUN microdnf install git",
    "apt-get on Rocky Linux": "FROM rockylinux:9\nRUN apt-get update && apt-get install -y python3-pip",
    "apt on a release of Fedora that is not known": "FROM fedora:12\nRUN apt update",
    "apt-get on UBI": "FROM nvidia/cuda:12.4.1-devel-ubi8\nRUN apt-get update",
    "apt-get on Amazon Linux": 'FROM amazonlinux:2023\nRUN ["apt-get", "update"]',
    "yum on openSUSE": "FROM opensuse/leap:15.6\nRUN yum install -y git",
    "apt-get on Alpine": "FROM alpine:3.19\nRUN apt-get update",
    "apt-get on Alpine's Python": "FROM python:3.11-alpine\nCOPY a.txt /app/\nRUN apt-get update",
}
BUILDS = {
    "its own": "FROM rockylinux:9\nRUN yum install -y git && dnf install -y vim && microdnf --version",
    "its own, Alpine": "FROM alpine:3.19\nRUN apk add git",
    "its own, openSUSE": "FROM opensuse/leap:15.6\nRUN zypper install -y git",
    "installed before": "FROM ubuntu:22.04\nRUN apt-get update && apt-get install -y dnf && dnf install -y git",
    "installed before, Fedora": "FROM fedora:42\nRUN dnf install -y apt\nRUN apt-get update",
    "by a script": "FROM ubuntu:22.04\nCOPY a.sh /a.sh\nRUN /a.sh\nRUN yum install -y git",
    "a function": 'FROM ubuntu:22.04\nRUN yum() { apt-get "$@"; }; yum update',
    "linked": "FROM ubuntu:22.04\nRUN ln -s /usr/bin/apt-get /usr/bin/yum\nRUN yum install -y git",
    "copied": "FROM ubuntu:22.04\nCOPY yum /usr/bin/yum\nRUN yum install -y git",
    "copied into all": "FROM ubuntu:22.04\nCOPY tree /\nRUN yum install -y git",
    "copied from another image": "FROM ubuntu:22.04\nCOPY --from=alpine /sbin/apk /sbin/\nRUN apk add git",
    "one of two": "FROM ubuntu:22.04\nRUN if command -v yum; then yum install git; else apt-get update; fi",
    "the other of two": "FROM rockylinux:9\nRUN apt-get update || dnf install -y git",
    "failure is fine": "FROM ubuntu:22.04\nRUN yum install -y git || true",
    "only named": "FROM ubuntu:22.04\nRUN echo yum install && rm -rf /var/cache/yum",
    "another image": "FROM somebody/image:1-ubuntu22.04\nRUN yum install -y git",
    "a base that nobody knows": "ARG BASE\nFROM $BASE\nRUN yum install -y git",
    "a stage left out": "FROM ubuntu:22.04\nRUN yum install -y git\nFROM debian:12\nRUN ls",
}


def _missing(text: str, matrix: Matrix) -> list[str]:
    findings = check_dockerfile(f"{text}\n", Request(container=True), matrix)
    return [one.title for one in findings if one.id == "image.program-missing" and one.status is Status.FAIL]


@pytest.mark.parametrize("name", STOPS)
def test_the_image_does_not_have_it(name: str, matrix: Matrix) -> None:
    assert ["whose package manager is" in title for title in _missing(STOPS[name], matrix)] == [True]


@pytest.mark.parametrize("name", BUILDS)
def test_it_may_be_there(name: str, matrix: Matrix) -> None:
    assert not _missing(BUILDS[name], matrix)
