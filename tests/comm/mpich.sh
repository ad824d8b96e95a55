#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpich.sh: for make nightly: convtt-mpi.so of MPICH, where this build has that
# of Open MPI: the tests of ranks under MPICH's launcher, the same file by both,
# and each module refused by the launcher of the other.
set -u
tools="convtt-train convtt-data tests/comm/learn tests/comm/ranks"
src=$(cd "${srcdir:-.}" && pwd)
build=$PWD
for p in mpirun.mpich mpirun.openmpi; do
    type -P $p > /dev/null ||
        { echo "no $p (packages mpich, openmpi-bin)"; exit 77; }
done
pkg-config --exists mpich || { echo 'no package libmpich-dev'; exit 77; }
grep -q '^MPI_NAME = Open MPI' Makefile ||
    { echo 'this build is not of Open MPI'; exit 77; }

# 1. The module.
export CTT_MPI_BUILD=$build/nightly/mpich
mkdir -p "$CTT_MPI_BUILD"
[ -e "$CTT_MPI_BUILD/Makefile" ] ||
    (cd "$CTT_MPI_BUILD" && "$src/configure" --quiet --disable-static \
        --with-mpi=mpich --with-cuda=no --with-onednn=no) ||
    exit 1
${MAKE:-make} -C "$CTT_MPI_BUILD" --no-print-directory convtt-mpi.la || exit 1
grep '^MPI_NAME = MPICH' "$CTT_MPI_BUILD/Makefile" || exit 1

# 2. One file, whichever moves the bytes.
. "$src/tests/lib/cli.sh"
# shellcheck source=tests/lib/ranks.sh
. "$src/tests/lib/ranks.sh"
# with LAUNCHER MODULES N COMMAND...: into out and err
with() {
    local launcher=$1 modules=$2 n=$3
    shift 3
    CTT_MODULES=$modules timeout 100 mpirun.$launcher -np "$n" --bind-to none \
        "$@" > out 2> err < /dev/null
}
run="$bin/convtt-train --data train.txt --val val.txt --threads 1 --batch 8
    --epochs 2"
for net in class batch; do
    for n in 2 4; do
        with openmpi "$bin/.libs" $n $run $net.net -o open.h5 ||
            fail "Open MPI, -np $n: $(head -5 err)"
        with mpich "$mpi_modules" $n $run $net.net -o mpich.h5 ||
            fail "MPICH, -np $n: $(head -5 err)"
        cmp open.h5 mpich.h5 || fail "$net, -np $n: MPICH makes another model"
    done
done

# 3. The launcher of the other.
refused() {   # refused LAUNCHER MODULES
    local got
    with "$1" "$2" 2 $run class.net -o no.h5
    got=$?
    [ $got = 2 ] || fail "$1 and another module: status $got: $(cat err)"
    [ "$(grep -c '^convtt-train: ' err)" = 1 ] ||
        fail "$1 and another module: not one line: $(cat err)"
    grep -q "^convtt-train: .*it is not the launcher's" err ||
        fail "$1 and another module: $(cat err)"
    [ ! -e no.h5 ] || fail "$1 and another module: a model"
}
refused openmpi "$mpi_modules"
refused mpich "$bin/.libs"

# 4. All tests of ranks but those of faults, which know Open MPI.
cd "$build" || exit 99
train=tools/train/test
for t in comm/test_comm ${train}_mpi_cli ${train}_sync_cli \
    ${train}_stages_cli ${train}_bands_cli ${train}_groups_cli \
    ${train}_nccl_cli ${train}_search_ranks_cli ${train}_again_cli; do
    echo "-- $t under MPICH"
    bash "$src/tests/$t.sh" || fail "$t: status $?"
done
exit $failed
