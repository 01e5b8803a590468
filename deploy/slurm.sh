#!/usr/bin/env bash
#SBATCH --job-name=understudy
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --mem-per-cpu=2G
#SBATCH --time=04:00:00
#
# One fit on several nodes:   sbatch deploy/slurm.sh fit rows.parquet --schema rows.yaml --method mst --epsilon 1 --out model
#
# The first node is the head and runs the command (ledger and noise are there and nowhere else); Ray ends with the job. The token lies in
# the job's private folder on shared storage, readable by you alone. Tables and checkpoint must lie on storage that all nodes see.
set -euo pipefail
umask 077

private=$(mktemp -d "${SLURM_SUBMIT_DIR:?}/.understudy-ray-XXXXXX")
cleanup() { rm -rf "$private"; }
trap cleanup EXIT
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$private/token"

export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH="$private/token" RAY_USAGE_STATS_ENABLED=0 JAX_PLATFORMS=cpu
port=6379
mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
address=$(srun --nodes=1 --ntasks=1 --nodelist="${nodes[0]}" hostname --ip-address | awk '{print $1}')

srun --nodes=1 --ntasks=1 --nodelist="${nodes[0]}" --overlap \
  ray start --head --node-ip-address="$address" --port="$port" --num-cpus="$SLURM_CPUS_PER_TASK" \
  --include-dashboard=false --disable-usage-stats --block &
sleep 20
for node in "${nodes[@]:1}"; do
  srun --nodes=1 --ntasks=1 --nodelist="$node" --overlap \
    ray start --address="$address:$port" --num-cpus="$SLURM_CPUS_PER_TASK" --disable-usage-stats --block &
done
sleep 20

srun --nodes=1 --ntasks=1 --nodelist="${nodes[0]}" --overlap understudy "$@" --engine "ray@$address:$port"
