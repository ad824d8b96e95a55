#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_smpi.sh: 16 and 64 simulated ranks add to the bits of one process.
set -u
src=$(cd "${srcdir:-.}" && pwd) tools=
. "$src/tests/lib/cli.sh"
# shellcheck source=tests/comm/smpi.sh
. "$src/tests/comm/smpi.sh"
if ! type -P smpicc > /dev/null; then
    echo 'no smpicc (SimGrid)'
    exit 77
fi
work=$PWD
(cd "$src" && smpi_build tests/comm/sums.c -o "$work/sums") ||
    fail 'it does not compile'
for n in 16 64; do
    smpi_cluster $n 12.5GBps 1us p.xml
    smpi_run $n p.xml ./sums mpi 64 5000 > out 2> err < /dev/null ||
        fail "$n ranks: $(head -5 err)"
done
smpi_cluster 3 12.5GBps 1us p.xml
smpi_run 3 p.xml ./sums mpi 64 10 > out 2> err < /dev/null && fail '3 ranks'
grep -q '3 processes: not a power of two' err || fail "3: $(head -3 err)"
exit $failed
