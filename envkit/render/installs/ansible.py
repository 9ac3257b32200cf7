"""A playbook that copies the script and runs it; its tasks report changed and failed as the script does."""

from __future__ import annotations

from json import dumps

from envkit.install.model import Installation
from envkit.install.unattended import DIRECTORY, MODE, script_path
from envkit.render.installs import about, comments
from envkit.render.yaml_text import literal

USE = "Run: ansible-playbook -i INVENTORY {file}"

# Marks between @ are filled in; what is between braces is Ansible's.
_COPY = """\
- name: @title@
  hosts: "{{ envkit_hosts | default('all') }}"
  become: true
  gather_facts: false
  vars:
    envkit_directory: @directory@
    envkit_script: !unsafe @script@
  tasks:
    - name: Make a directory for root only
      ansible.builtin.file:
        path: "{{ envkit_directory }}"
        state: directory
        mode: "@mode@"
    - name: Copy the script
      ansible.builtin.copy:
        content: "{{ envkit_script }}"
        dest: "{{ envkit_directory }}/@file@"
        mode: "@mode@"
"""
# Each run of the script repeats its step verify, which changes nothing.
_RUN = """\
    - name: @name@
      ansible.builtin.command:
        argv: ["bash", "{{ envkit_directory }}/@file@"@option@]
      register: @register@
      vars:
        result: "{{ @register@.stdout | default('', true) | default('{}', true) | from_json }}"
      changed_when: >-
        result.steps | default([]) | rejectattr("id", "equalto", "verify")
        | selectattr("state", "in", ["done", "reboot"]) | list | length > 0
      failed_when: @failed@
"""
# Ansible does not reboot the machine that it runs on.
_REBOOT = """\
    - name: Report that this machine must be rebooted manually
      ansible.builtin.fail:
        msg: >-
          The driver is installed and needs a reboot, which Ansible cannot do to its own machine. Reboot it, then run:
          sudo bash {{ envkit_directory }}/@file@ --resume
      when: envkit_run.rc | default(0) == 8 and ansible_connection | default('') == 'local'
    - name: Reboot
      ansible.builtin.reboot:
        reboot_timeout: 1800 # seconds; servers boot slowly
      when: envkit_run.rc | default(0) == 8
"""
_FAILED = "@register@.rc | default(0) != 0"
_FAILED_OR_BY_HAND = (
    'result.status | default("ok") not in ["ok", "reboot-needed"] or @register@.rc | default(0) not in [0, 8]'
)


def written(work: Installation, script: str) -> str:
    """The playbook: one play in one file."""
    values = {
        "title": dumps(f"Install {work.plan_id}"),
        "directory": dumps(DIRECTORY),
        "mode": MODE,
        "file": script_path(work).rpartition("/")[2],
        "script": literal(script, 6).rstrip("\n"),
    }
    run = {"name": "Run the script", "option": "", "register": "envkit_run"}
    again = {"name": "Continue after the reboot", "option": ', "--resume"', "register": "envkit_continued"}
    tasks = [_filled(_RUN, failed=_FAILED_OR_BY_HAND if work.may_reboot else _FAILED, **run)]
    if work.may_reboot:
        tasks += [_REBOOT, _filled(_RUN, failed=_FAILED, **again), "      when: envkit_run.rc | default(0) == 8\n"]
    head = "\n".join(comments(*about(work), USE.format(file="FILE")))
    return _filled(f"{head}\n{_COPY}{''.join(tasks)}", **values)


def _filled(text: str, **values: str) -> str:
    """The text with its marks replaced, in this order: nothing in the last value is taken for a mark."""
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text
