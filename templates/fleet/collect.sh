#!/bin/sh
# Prints what tells of a machine's GPU software: for hosts without Python 3.10. Needs a POSIX shell, changes nothing.
#   sh collect.sh [SECONDS] > host.txt
# Written by `envkit fleet playbook`.
LC_ALL=C
PATH=$PATH:/usr/sbin:/sbin:/usr/local/cuda/bin
export LC_ALL PATH
limit=${1:-60}
each=$((limit / 4 + 1))

show() { # COMMAND...: its output below a line that names it
    command -v "$1" >/dev/null 2>&1 || return 0
    printf '\n$ %s\n' "$*"
    if command -v timeout >/dev/null 2>&1; then
        timeout "$each" "$@" 2>&1
    else
        "$@" 2>&1
    fi
}

file() { # PATH...: the text of those that can be read
    for path; do
        [ -r "$path" ] || continue
        printf '\n$ cat %s\n' "$path"
        head -c 200000 "$path"
    done
}

show uname -a
file /etc/os-release /proc/driver/nvidia/version
show nvidia-smi
show nvidia-smi -q
show nvcc --version
show lspci -nn
show dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version} ${Architecture}\n' '*nvidia*' '*cuda*' '*cudnn*'
printf '\n$ env\n'
env | grep -E '^(CUDA|NVIDIA|NCCL|LD_LIBRARY_PATH)' | grep -vi -E 'key|token|secret|passw'
show docker info
printf '\n$ dmesg\n'
dmesg 2>/dev/null | grep -i -E 'nvrm|nvidia|nouveau|xid' | tail -n 200
exit 0
