"""Ansible callback: one file for each host as it ends, and one line that names it."""

import json
import os
import time

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
    name: envkit_results
    type: stdout
    short_description: writes what each host printed to a file
    description: The folder is named by the variable ENVKIT_ARRIVED.
"""
_MOST = 16 << 20  # bytes of what a host printed, as JSON writes it
_EVERYONE = {"all", "ungrouped"}  # groups that tell nothing of a host
_OLD_PYTHON = (2, 126, 127)  # exit statuses after which the shell collects


class CallbackModule(CallbackBase):
    """Keeps nothing in memory once a host has ended."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "envkit_results"

    def __init__(self):
        super().__init__()
        self._folder = os.environ.get("ENVKIT_ARRIVED") or "arrived"
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        self._started = {}
        self._number = 0

    def v2_playbook_on_no_hosts_matched(self):
        print(json.dumps({"event": "no hosts matched"}), flush=True)

    def v2_playbook_on_play_start(self, play):
        asked = play.get_variable_manager().get_vars(play=play).get("ansible_play_hosts_all") or []
        print(json.dumps({"event": "asked", "hosts": [str(name) for name in asked]}), flush=True)

    def v2_runner_on_start(self, host, task):
        self._started.setdefault(host.get_name(), time.monotonic())

    def v2_runner_on_ok(self, result):
        told, by_shell = result._result, "shell" in result._task.get_name()
        if by_shell or told.get("rc", 0) not in _OLD_PYTHON:
            self._arrived(result, "ended", by_shell)

    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._arrived(result, "failed", "shell" in result._task.get_name())

    def v2_runner_on_unreachable(self, result):
        self._arrived(result, "unreachable", False)

    def _arrived(self, result, event, by_shell):
        host, told = result._host.get_name(), result._result
        document = {
            "schema": 1,
            "arrived": event,
            "host": host,
            "groups": sorted({group.get_name() for group in result._host.get_groups()} - _EVERYONE),
            "by": "shell" if by_shell else "python",
            "rc": told.get("rc"),
            "stdout": _within(str(told.get("stdout") or "")),
            "stderr": str(told.get("stderr") or "")[-4000:],
            "message": str(told.get("msg") or "")[-4000:],
            "seconds": round(time.monotonic() - self._started.get(host, time.monotonic()), 1),
        }
        self._number += 1
        name = f"{os.getpid()}-{self._number}.json"
        place = os.path.join(self._folder, name)
        with open(place + ".part", "w", encoding="utf-8", errors="surrogateescape") as stream:
            json.dump(document, stream)
        os.replace(place + ".part", place)
        print(json.dumps({"event": "arrived", "file": name}), flush=True)


def _within(text):
    """As much of the text as fits: a control character takes six bytes."""
    text = text[:_MOST]
    while len(json.dumps(text)) > _MOST:
        text = text[: len(text) // 2]
    return text
