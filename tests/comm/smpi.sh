# SPDX-License-Identifier: Apache-2.0
# smpi.sh: for scripts: builds a program whose ranks and network SimGrid
# simulates, and describes the network.  The exchange and all that it stands on
# is what a training uses.

# smpi_build SOURCE... -o PROGRAM, in the folder of the sources.
smpi_build() {
    smpicc -O2 -w -I. "$@" comm/comm.c comm/cores.c comm/launch.c comm/mpi.c \
        comm/none.c libtrain/ranks/exchange.c base/module_host.c base/span.c \
        tests/comm/smpi.c -lm
}

# smpi_cluster RANKS BANDWIDTH LATENCY FILE: machines of one rank each on a fat
# tree of full bandwidth: switches of 16 machines, and as many links upwards.
smpi_cluster() {
    local below=16 up
    [ "$1" -ge 16 ] || below=$1
    up=$((($1 + below - 1) / below))
    cat > "$4" << END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="all" prefix="n" suffix="" radical="0-$(($1 - 1))" speed="1Gf"
    bw="$2" lat="$3" topology="FAT_TREE"
    topo_parameters="2;$below,$up;1,$below;1,1"/>
</platform>
END
    seq -f 'n%.0f' 0 $(($1 - 1)) > "$4.hosts"
}

# smpi_run RANKS PLATFORM [--cfg=...] PROGRAM ARGUMENT...
smpi_run() {
    local ranks=$1 platform=$2
    shift 2
    PMI_SIZE=$ranks smpirun -np "$ranks" -platform "$platform" \
        -hostfile "$platform.hosts" --cfg=smpi/simulate-computation:no \
        --cfg=smpi/auto-shared-malloc-thresh:100000000 \
        --log=root.thresh:error "$@"
}
