#!/bin/sh
# Prints the data that envkit's probes read, for hosts without Python 3.10. Needs a POSIX shell and the tools that every
# system has; changes nothing, and runs no program outside the system directories.
#   sh collect.sh [SECONDS [unasked]] > host.txt    unasked: the driver's device files are not accessible here, so none of its programs is run
#   envkit doctor --from host.txt
# Written by envkit to collect the facts of a node. The list of what it reads is in envkit's source, generated from the probes (envkit/capture/collector.py).
searched=$PATH
PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin:$PATH
LC_ALL=C
export LC_ALL PATH
IFS=
: "${HOME:=/root}"
limit=${1:-60}
each=$((limit / 6 + 1)) # seconds for one program or file
timeout 1 true 2>/dev/null && timed=yes || timed=

limited() { # COMMAND...
    if [ "$timed" ]; then timeout "$each" "$@"; else "$@"; fi </dev/null
}

marked() { # the text of a record; the empty line at its end shows that it is complete
    sed 's/^/|/'
    echo
}

asked() { # PATTERN: marks it as looked for: what the records do not list is missing or not readable
    printf 'asked %s\n' "$1"
    case $1 in *[*?[]*) return ;; esac
    seen=$1
    while [ "$seen" ] && [ ! -e "$seen" ]; do seen=${seen%/*}; done
    if [ -d "$seen" ] && [ "$seen" != "$1" ] && [ ! -x "$seen" ]; then printf 'denied %s\n' "$1"; fi
}

describe() { # PATH: its type, permissions, and link target
    printf 'path %s\n|%s\n' "$1" "$(ls -ld "$1" 2>/dev/null)"
    [ -e "$1" ] || return 0
    if [ -L "$1" ]; then printf '|%s\n' "$(ls -ldL "$1" 2>/dev/null)"; fi
    printf '|%s\n' "$(readlink -f "$1" 2>/dev/null)"
    if [ -r "$1" ] && [ -w "$1" ]; then echo '|rw'; fi
}

names() { # PATTERN...
    for pattern; do
        asked "$pattern"
        for path in $pattern; do
            if [ -e "$path" ]; then printf 'name %s\n' "$path"; fi
        done
    done
}

paths() { # PATTERN...
    for pattern; do
        asked "$pattern"
        for path in $pattern; do
            if [ -e "$path" ] || [ -L "$path" ]; then describe "$path"; fi
        done
    done
}

readable() { # PATH
    [ -f "$1" ] || return 1
    [ -r "$1" ] && return
    printf 'denied %s\n' "$1"
    return 1
}

files() { # KIND PATTERN...: what is kept of each file
    kind=$1
    shift
    for pattern; do
        asked "$pattern"
        for path in $pattern; do
            readable "$path" || continue
            printf '%s %s\n' "$kind" "$path"
            case $kind in
            text) text_of "$path" ;;
            bytes) bytes_of "$path" ;;
            words) words_of "$path" ;;
            esac
        done
    done
}

text() { # MOST KEEP PATTERN...
    most=$1 keep=$2
    shift 2
    files text "$@"
}

text_of() { # PATH
    if [ "$keep" ]; then
        limited head -c "$most" "$1" 2>/dev/null | tr -d '\000' | grep -E -e "$keep"
    else
        limited head -c "$most" "$1" 2>/dev/null
    fi | marked
}

bytes() { # MOST PATTERN...
    most=$1
    shift
    files bytes "$@"
}

bytes_of() { # PATH
    printf '|%s\n' "$(head -c "$most" "$1" 2>/dev/null | od -An -v -tx1 | tr -d ' \n')"
}

words() { # MOST KEEP PATTERN...
    most=$1 keep=$2
    shift 2
    files words "$@"
}

words_of() { # PATH
    head -c "$most" "$1" 2>/dev/null | tr -c '[:print:]' '\n' | grep -E -e "$keep" | sort -u | marked
}

folder() { # KEEP PATTERN...
    keep=$1
    shift
    for pattern; do
        asked "$pattern"
        for path in $pattern; do
            [ -d "$path" ] || continue
            [ -r "$path" ] || { printf 'denied %s\n' "$path" && continue; }
            printf 'folder %s\n' "$path"
            for entry in "$path"/$keep; do
                if [ "$keep" ] && { [ -e "$entry" ] || [ -L "$entry" ]; }; then printf '|%s\n' "${entry##*/}"; fi
            done
        done
    done
}

tail_of() { # LINES PATTERN: the end of the newest file
    asked "$2"
    newest=
    for path in $2; do
        [ -f "$path" ] || continue
        if [ -z "$newest" ] || [ -n "$(find "$path" -newer "$newest" 2>/dev/null)" ]; then newest=$path; fi
    done
    [ "$newest" ] || return 0
    describe "$newest"
    printf 'text %s\n' "$newest"
    tail -n "$1" "$newest" | marked
}

space() { # PATH...
    for path; do
        asked "$path"
        [ -e "$path" ] || continue
        printf 'space %s\n|%s\n' "$path" "$(limited df -Pk "$path" 2>/dev/null | sed -n '$p')"
    done
}

found() { # PROGRAM [FOLDERS]: the file that PATH, or another list of folders, gives for it
    case $1 in /*) [ -x "$1" ] && printf '%s' "$1" && return ;; esac
    rest=${2:-$searched}:
    while [ "$rest" ]; do
        entry=${rest%%:*}/$1
        rest=${rest#*:}
        case $entry in /*) [ -f "$entry" ] && [ -x "$entry" ] && printf '%s' "$entry" && return ;; esac
    done
    return 1
}

script() { # PROGRAM: the text of a wrapper, and of what it starts
    place=$(readlink -f "$1" 2>/dev/null)
    turn=0
    while [ "$turn" -lt 3 ]; do
        turn=$((turn + 1))
        [ -r "$place" ] && [ "$(head -c 2 "$place" | tr -d '\000')" = '#!' ] || return 0
        text 8192 '' "$place"
        place=$(sed -n "s,^[^#]*[ \"'=]\(/[^ \"']*/${1##*/}\).*,\1,p;s,^\(/[^ \"']*/${1##*/}\).*,\1,p" "$place" | sed -n 1p)
        paths "$place"
        place=$(readlink -f "$place" 2>/dev/null)
    done
}

program() { # NAME
    place=$(found "$1")
    printf 'program %s %s\n' "$1" "$place"
    if [ "$place" ]; then describe "$place"; fi
}

called() { # NAME: the program's path, as `found` prints it; admin tools need not be on PATH
    case $1 in systemctl | journalctl | modinfo | rpm) found "$1" "$PATH" ;; *) found "$1" ;; esac
}

run() { # PROGRAM ARGUMENT...
    name=$1
    place=$(called "$1")
    case $1 in /* | systemctl | journalctl | modinfo | rpm) ;; *) program "$1" ;; esac
    [ "$place" ] || return 0
    shift
    IFS=' '
    given=$*
    IFS=
    case $place in
    /usr/* | /bin/* | /sbin/* | /opt/rh/*) ;;
    *) printf 'refused %s %s\n' "$place" "$given" && return ;;
    esac
    case $name in
    *nvidia-smi) output=$(limited "$place" "$@" 2>&1) ;;
    *) output=$(limited "$place" "$@" 2>/dev/null) ;;
    esac
    code=$?
    case $name in
    /* | systemctl | journalctl | modinfo | rpm) printf 'run %s %s %s\n' "$code" "$name" "$given" ;;
    *) printf 'run %s %s %s\n' "$code" "$place" "$given" ;;
    esac
    printf '%s\n' "$output" | marked
}

toolkit() { # ROOT
    [ -d "$1" ] || return 0
    describe "$1"
    root=$(readlink -f "$1")
    case $toolkits in *"|$root|"*) return ;; esac
    toolkits="$toolkits|$root|"
    @toolkit@
    if [ -e "$root/version.json" ] || [ -e "$root/version.txt" ]; then return 0; fi
    @tools@
}

device() { # ADDRESS of an NVIDIA device, and of the bridges above it
    device=$1
    @device@
    above=$(readlink -f "/sys/bus/pci/devices/$device")
    while above=${above%/*}; do
        device=${above##*/}
        case $device in [0-9a-f]*:[0-9a-f][0-9a-f]:[0-9a-f][0-9a-f].[0-7]) ;; *) return ;; esac
        case $bridges in *"|$device|"*) continue ;; esac
        bridges="$bridges|$device|"
        @bridge@
    done
}

modules() { # KERNEL: what modinfo prints about its modules
    for path in @modules@; do
        if [ -f "$path" ] && [ "$described" -lt @modinfo_files@ ]; then
            described=$((described + 1))
            run modinfo "$path"
        fi
    done
}

site() { # FOLDER of Python packages
    site=$1
    @site@
    for folder in "$site"/*-*.dist-info "$site"/*-*.egg-info; do
        case ${folder##*/} in
        @relevant@) ;;
        *) continue ;;
        esac
        [ -d "$folder" ] || continue
        @distribution@
    done
}

sites() { # PREFIX
    prefix=$1
    case $prefixes in *"|$prefix|"*) return ;; esac
    prefixes="$prefixes|$prefix|"
    @python@
    for package in "$prefix"/lib/python*/site-packages "$prefix"/lib64/python*/site-packages; do
        if [ -d "$package" ]; then site "$package"; fi
    done
    [ "$prefix" = /usr ] || return 0
    @system_sites@
    for package in /usr/local/lib/python*/dist-packages /usr/lib/python3/dist-packages "$HOME"/.local/lib/python*/site-packages; do
        if [ -d "$package" ]; then site "$package"; fi
    done
}

shim() { # PROGRAM that pyenv put on PATH: the one of the version that is chosen
    pyenv=${1%/shims/*}
    chosen=${PYENV_VERSION:-}
    near=$PWD
    while [ "$near" ]; do
        text 400 '' "$near/.python-version"
        [ "$chosen" ] || chosen=$(head -c 400 "$near/.python-version" 2>/dev/null)
        near=${near%/*}
    done
    text 400 '' "$pyenv/version"
    [ "$chosen" ] || chosen=$(head -c 400 "$pyenv/version" 2>/dev/null)
    printf '%s\n' "$chosen" | tr -s ' \t:' '\n' | while read -r choice; do
        if [ "$choice" ]; then interpreter "$pyenv/versions/$choice/bin/${1##*/}"; fi
    done
}

interpreter() { # EXECUTABLE
    case $1 in
    '') return ;;
    */shims/*) shim "$1" && return ;;
    esac
    asked "$1"
    [ -e "$1" ] || return 0
    describe "$1"
    around=${1%/*}
    around=${around%/*}
    paths "$around/pyvenv.cfg" "$around/conda-meta"
    if [ ! -e "$around/pyvenv.cfg" ] && [ ! -e "$around/conda-meta" ]; then
        around=$(readlink -f "$1")
        around=${around%/*}
        around=${around%/*}
    fi
    sites "${around:-/usr}"
    base=$(sed -n 's/^home *= *//p' "${around:-/usr}/pyvenv.cfg" 2>/dev/null)
    if [ "$base" ]; then sites "${base%/*}"; fi
}

echo '# envkit collected 1'
release=$(uname -r)
printf 'about %s\n' "recorded_at $(date -u +%Y-%m-%dT%H:%M:%SZ)" "kernel $release" "architecture $(uname -m)" \
    "host $(uname -n)" "user_id $(id -u)" "user $(id -un 2>/dev/null)" "groups $(id -Gn 2>/dev/null)" "home $HOME" "cwd $PWD"
printf 'about glibc %s\n' "$(getconf GNU_LIBC_VERSION 2>/dev/null | sed 's/^glibc *//')"
env | grep -E '^(@variables@)=' | while read -r line; do
    case $line in PATH=*) line=PATH=$searched ;; esac
    printf 'variable %s\n' "$line"
done
display=$(sed -n 's/^ *\([0-9][0-9]*\)$/\1/p' /tmp/.X0-lock 2>/dev/null)
toolkits='' bridges='' prefixes='' described=0 loaded=
@machine@
for sign in @signs@; do
    if [ -e "$sign" ]; then loaded=yes; fi
done
if [ ! -r /proc/modules ] || grep -q -E '^(@loaded@)' /proc/modules; then loaded=yes; fi
folder '*' /sys/bus/pci/devices
asked '/sys/bus/pci/devices/*/vendor'
@slots@
for entry in /sys/bus/pci/devices/*; do
    [ -r "$entry/vendor" ] && read -r vendor <"$entry/vendor" || continue
    printf 'text %s/vendor\n|%s\n' "$entry" "$vendor"
    if [ "$vendor" = 0x10de ]; then device "${entry##*/}"; fi
done
for entry in @toolkits@ @toolkit_variables@; do
    if [ "$entry" ]; then toolkit "$entry"; fi
done
if [ "$(found nvcc)" ]; then
    script "$(found nvcc)"
    place=$(readlink -f "${place:-$(found nvcc)}")
    toolkit "${place%/bin/nvcc}"
fi
if [ "$(found pip)" ]; then script "$(found pip)"; fi
modules "$release"
modules '*'
for path in @compilers@ "$(found gcc)" "$(found clang)"; do
    case $(readlink -f "$path" 2>/dev/null) in
    '' | *[0-9]) ;;
    *gcc) run "$path" -dumpfullversion -dumpversion ;;
    *) run "$path" --version ;;
    esac
done
ldconfig -p 2>/dev/null | grep -E '(@cached@) ' | sed 's/.* => //' | while read -r place; do paths "$place"; done
rest=${LD_LIBRARY_PATH:-}:
while [ "$rest" ]; do
    entry=${rest%%:*}
    rest=${rest#*:}
    for name in @libraries@; do
        case $entry in /*) paths "$entry/$name" ;; esac
    done
done
for path in @rpm_databases@; do
    if [ -e "$path" ]; then run @rpm_query@ && break; fi
done
program nvidia-smi
place=$(found nvidia-smi) || place=/usr/lib/wsl/lib/nvidia-smi
if [ "$loaded" ] && [ -x "$place" ] && [ "${2:-asked}" = asked ]; then
    run "$place" -L
    if [ "$code" != 124 ]; then run "$place" -q -x; fi
fi
[ "$loaded" ] || echo 'unloaded'
echo 'running'
cat /proc/[0-9]*/comm 2>/dev/null | grep -x -E '@services@' | sort -u | marked
if [ -e /dev/kmsg ] && log=$(dmesg 2>/dev/null) && [ "$log" ]; then
    printf 'text /dev/kmsg\n'
    printf '%s\n' "$log" | grep -i -E '@log_words@' | tail -n 2000 | marked
else
    if [ -e /dev/kmsg ]; then echo 'denied /dev/kmsg'; else echo 'asked /dev/kmsg'; fi
    if log=$(limited @journal@ 2>/dev/null) && [ "$log" ]; then
        echo 'run 0 @journal@'
        printf '%s\n' "$log" | grep -i -E '@log_words@' | tail -n 2000 | marked
    fi
fi
if [ -S /var/run/docker.sock ] && [ "$(found docker)" ]; then
    run docker version --format '{{json .Server}}'
    run docker info --format '{"CDISpecDirs":{{json .CDISpecDirs}},@docker_info@}'
    run docker info --format '{@docker_info@}'
fi
for entry in "${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/python}" "${CONDA_PREFIX:+$CONDA_PREFIX/bin/python}" "$(found python3)" "$(found python)"; do
    interpreter "$entry"
done
echo 'end'
exit 0
