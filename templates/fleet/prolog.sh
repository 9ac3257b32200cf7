#!/bin/sh
# A slurmd prolog that keeps jobs off nodes whose GPUs or driver have definitely failed. Written by
# `envkit fleet slurm --prolog`.
#   slurm.conf:  Prolog=FILE        and, for nodes that are idle, HealthCheckProgram=FILE
# envkit has to be installed on the nodes; the variable ENVKIT names it. Slurm drains a node whose prolog fails: this one
# exits non-zero only for a failure that envkit is certain of. If there is no answer within 4 seconds, the job starts.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
grep -q -x 0x10de /sys/bus/pci/devices/*/vendor 2>/dev/null || exit 0 # no NVIDIA GPU
envkit=$(command -v "${ENVKIT:-envkit}") || exit 0
set --
for id in \
    @checks@; do
    set -- "$@" --check "$id"
done
report=$(timeout -k 0.5 4 "$envkit" doctor --json "$@" 2>/dev/null | sed -n '/^  "verdict": {$/,/^  }/p')
case $report in
*'"status": "fail"'*'"confidence": "certain"'*) ;;
*) exit 0 ;;
esac
why=$(printf '%s\n' "$report" | sed -n 's/^    "title": "\(.*\)",$/\1/p')
logger -t envkit "$why" 2>/dev/null
echo "envkit: $why" >&2
exit 1
