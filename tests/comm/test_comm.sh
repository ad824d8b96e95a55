#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_comm.sh: ranks under mpirun: their places, tell, trade, sums, the end
# of all; launchers that do not fit and a module that is not there.
set -u
tools="tests/comm/ranks tests/comm/sums"
src=$(cd "${srcdir:-.}" && pwd)
. "$src/tests/lib/cli.sh"
ranks=$bin/tests/comm/ranks
unset CTT_MODULES OMPI_COMM_WORLD_SIZE PMI_SIZE PMIX_RANK SLURM_STEP_NUM_TASKS

# 1. One process, and what variables of launchers say.
says 0 '^rank 0$' "$ranks" none 1
says 0 '^rank 0$' "$ranks" auto 1
says 1 "no comm 'tcp'" "$ranks" tcp 1
says 1 'comm mpi: no launcher started this process' "$ranks" mpi 1
PMI_SIZE=1 says 0 '^rank 0$' "$ranks" auto 1
for size in 0 -1 x 4x '' 99999999999; do
    PMI_SIZE=$size says 1 "PMI_SIZE: '$size' is no number from 1" \
        "$ranks" auto 1
done
CTT_MODULES=/nonexistent OMPI_COMM_WORLD_SIZE=4 says 1 \
    'OMPI_COMM_WORLD_SIZE is set.*no convtt-mpi\.so in /nonexistent' \
    "$ranks" auto 4

# shellcheck source=tests/lib/mpirun.sh
if ! . "$src/tests/lib/mpirun.sh"; then
    [ $failed = 0 ] || exit 1
    exit 77
fi

# 2. Bytes arrive where they belong.
for n in 1 2 3 4 8; do
    mpirun -np $n "$ranks" mpi $n > out 2> err < /dev/null ||
        fail "-np $n: $(head -5 err)"
    [ "$(sort out)" = "$(seq -f 'rank %.0f' 0 $((n - 1)))" ] ||
        fail "-np $n says $(cat out)"
done
mpirun -np 2 "$ranks" auto 2 > out 2> err < /dev/null || fail "auto: $(cat err)"

# 3. The sum of eight shards has the same bits on any number of ranks.
"$bin/tests/comm/sums" none 8 || fail 'sums of one process'
for n in 1 2 4 8; do
    mpirun -np $n "$bin/tests/comm/sums" mpi 8 > out 2> err < /dev/null ||
        fail "sums, -np $n: $(head -5 err)"
done
mpirun -np 3 "$bin/tests/comm/sums" mpi 8 > out 2> err < /dev/null &&
    fail 'sums, -np 3'
grep -q '3 processes: not a power of two' err || fail "-np 3: $(head -3 err)"

# 4. One rank ends all, also those that wait for it.
limited mpirun -np 4 "$ranks" mpi 4 abort > out 2> err < /dev/null
got=$?
[ $got = 1 ] || fail "abort: status $got"

# 5. The launcher of another MPI: its processes do not see each other.
# (MPICH, which reads these variables too, would wait for its launcher.)
[ "${mpi_name%% *}" = MPICH ] || PMI_SIZE=4 PMI_RANK=0 says 1 \
    'PMI_SIZE: the launcher started 4 processes.*sees 1' "$ranks" auto 4
PMIX_RANK=x says 1 "PMIX_RANK: 'x' is no number from 0" "$ranks" auto 4
exit $failed
