#!/bin/sh
# A prolog for slurmd: a node whose GPUs or driver surely fail gets no job. Written by `envkit fleet slurm --prolog`.
#   slurm.conf:  Prolog=FILE        and, for nodes that are idle, HealthCheckProgram=FILE
# envkit has to be installed on the nodes; the variable ENVKIT names it. Slurm drains a node whose prolog fails: this one
# fails on a failure alone that envkit is certain of. What is not known within 4 seconds, or not at all, starts the job.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
grep -q -x 0x10de /sys/bus/pci/devices/*/vendor 2>/dev/null || exit 0 # no GPU of NVIDIA's
envkit=$(command -v "${ENVKIT:-envkit}") || exit 0
report=$(timeout -k 0.5 4 "$envkit" doctor --json @checks@ \
    2>/dev/null | sed -n '/^  "verdict": {$/,/^  }/p')
case $report in
*'"status": "fail"'*'"confidence": "certain"'*) ;;
*) exit 0 ;;
esac
why=$(printf '%s\n' "$report" | sed -n 's/^    "title": "\(.*\)",$/\1/p')
logger -t envkit "$why" 2>/dev/null
echo "envkit: $why" >&2
exit 1
