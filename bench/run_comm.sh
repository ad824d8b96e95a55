#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run_comm.sh: the exchange of gradients alone, ours and MPI_Allreduce in turns
# in one process, and PyTorch's all-reduce by gloo, on this machine.  From the
# build folder, on a machine that does nothing else:
#     run_comm.sh [FLOATS...]
# RANKS="2".  RUNS=200: of each.  TURNS=3: of the programs, one after the other.
# gloo is left out where there is no PyTorch.
set -u
src=$(cd "$(dirname "$0")/.." && pwd)
build=$PWD
[ -x bench/bench_comm ] || { echo 'no bench/bench_comm' >&2; exit 2; }
export CTT_MODULES=$build/.libs OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
gloo=$src/bench/peers/allreduce.py
python3 -c 'import torch' 2> /dev/null || gloo=
for n in ${RANKS:-2}; do
    for ((turn = 0; turn < ${TURNS:-3}; turn++)); do
        mpirun -np "$n" bench/bench_comm --runs "${RUNS:-200}" "$@" || exit 1
        [ -z "$gloo" ] || mpirun -np "$n" python3 "$gloo" \
            --runs "${RUNS:-200}" "$@" 2> /dev/null || exit 1
    done
done
