#!/usr/bin/env bash
# run.sh trial|mnist|cifar OUT [OPTIONS]: runs on a GPU, several processes at once, with what README.md says in data/.
# trial measures how long things take and trains the network that scores MNIST's images.
set -u
kind=$1 out=$2
shift 2
cd "$(dirname "$0")" || exit 1
mkdir -p "$out"
export PYTHONUNBUFFERED=1 TORCHINDUCTOR_CACHE_DIR=/tmp/inductor TORCHINDUCTOR_COMPILE_THREADS=4 OMP_NUM_THREADS=2
# Processes share the GPU at once under MPS; without it they take turns.
export CUDA_MPS_PIPE_DIRECTORY=/tmp/mps CUDA_MPS_LOG_DIRECTORY=/tmp/mps-log
mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
nvidia-cuda-mps-control -d || echo "no MPS"
begun=$(date +%s)
say() { echo "--- $* ($(($(date +%s) - begun)) s)"; }
case $kind in
trial)
  say scorer
  timeout 60 python3 mnist_scorer.py --data data --out "$out/scorer"
  say "mnist, one process"
  timeout 90 python3 mnist.py --data data --out /tmp/trial --processes 1 --measure 3 --profile
  for setting in "6 50" "14 50" "6 200"; do
    read -r processes batch <<<"$setting"
    say "mnist, $processes processes, batch $batch"
    timeout 60 python3 mnist.py --data data --out /tmp/trial --processes "$processes" --batch "$batch" --measure 6
  done
  say "mnist, one short run"
  timeout 90 python3 mnist.py --data data --out "$out/short" --processes 1 --epochs 2 --restarts 2 --runs vanilla:0
  for processes in 1 3; do
    say "cifar, $processes processes"
    timeout 90 python3 cifar.py --synthetic --out /tmp/trial --processes "$processes" --measure 5
  done
  ;;
mnist | cifar)
  # What earlier calls have finished is not done again.
  mkdir -p "/tmp/$kind-runs"
  cp -n data/done/*.json "/tmp/$kind-runs/" 2>/dev/null
  timeout "${LIMIT:-580}" python3 "$kind.py" --data data --out "/tmp/$kind-runs" --archive "$out/$kind.tar.gz" "$@"
  ;;
esac
say end
