#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpirun.sh: sourced by tests after cli.sh: mpirun is then the launcher of the
# MPI that convtt-mpi.so was built with, in this build folder or in that of
# CTT_MPI_BUILD.  Fails, with the reason, where it starts nothing.
unset CTT_MODULES OMPI_COMM_WORLD_SIZE PMI_SIZE PMIX_RANK SLURM_STEP_NUM_TASKS
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
# Two that begin at once would make one folder of sessions, and one would fail.
export OMPI_MCA_orte_tmpdir_base=$PWD PRTE_MCA_prte_tmpdir_base=$PWD
# MPI never frees some of its memory.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
mpi_build=${CTT_MPI_BUILD:-$bin}
mpi_name=$(sed -n 's/^MPI_NAME = //p' "$mpi_build/Makefile")
mpi_modules=$bin/.libs
[ "$mpi_build" = "$bin" ] || mpi_modules=$mpi_build/.libs:$mpi_modules
export CTT_MODULES=$mpi_modules

# Debian has each launcher by a name of its own, and one of them as mpirun.
launcher() {
    case $1 in
    MPICH*) type -P mpirun.mpich || type -P mpirun ;;
    'Open MPI'*) type -P mpirun.openmpi || type -P mpirun ;;
    *) return 1 ;;
    esac
}
if ! mpirun=$(launcher "$mpi_name") ||
    [ ! -e "$mpi_build/.libs/convtt-mpi.so" ]; then
    echo "no mpirun of '$mpi_name', or built without MPI"
    return 1
fi
mkdir launcher
printf '#!/bin/sh\nexec %s "$@"\n' "$mpirun" > launcher/mpirun
chmod +x launcher/mpirun
PATH=$PWD/launcher:$PATH
if ! mpirun -np 2 true > out 2> err < /dev/null; then
    echo "mpirun starts nothing here: $(head -3 err)"
    return 1
fi
