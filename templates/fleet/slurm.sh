#!/bin/sh
#SBATCH --job-name=envkit-collect
#SBATCH --exclusive
#SBATCH --ntasks-per-node=1
#SBATCH --time=5
#SBATCH --output=envkit-collect-%j.log
# Collects the facts of the nodes allocated to it. Written by `envkit fleet slurm`.
#   sbatch --nodes=8 FILE              or --nodelist=gpu[001-008]; add what your site requires (--account, --partition)
#   envkit fleet report envkit-run/
# Exclusive, because Slurm hides GPUs that are not allocated to the job. A node that fails ends only its own task. Results
# go to the directory ENVKIT_RUN, which all nodes must see; without it, to ./envkit-run.
run=${ENVKIT_RUN:-$PWD/envkit-run}
umask 077
mkdir -p "$run" || exit 1
# shellcheck disable=SC2016 # each node expands its own name
srun --ntasks-per-node=1 --no-kill --kill-on-bad-exit=0 --input=all \
    sh -c 'new=$0/.$SLURMD_NODENAME && sh -s 60 >"$new" && mv "$new" "$0/$SLURMD_NODENAME.txt"' "$run" <<'COLLECTOR'
@collector@
COLLECTOR
echo "The results are in $run. Next: envkit fleet report $run"
