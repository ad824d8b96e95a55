#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# network.sh: four machines at 1 Gbit/s on this one, as network namespaces with
# real TCP between them: the exchange alone beside MPI_Allreduce, and training
# with 1, 2 and 4 ranks, whose files must be equal.  Root only; Open MPI.
# RATE=1gbit: of each link in each direction.  DELAY=50us: delay of a link, if
# the kernel has netem (none).  RUNS=30.  DATA=CLIPS: trains on them.
# SQUEEZE="none": how gradients travel.  BUILD=FOLDER: the build folder (build).
# The four share this machine's processors, so the times of a training say
# nothing of four machines; those of the exchange do while a processor is free.
set -u
. "$(dirname "$0")/begin.sh" convtt-train
rate=${RATE:-1gbit} delay=${DELAY:-}
hosts=4
[ "$(id -u)" = 0 ] || die 'network.sh: only root makes network namespaces'
for p in ip tc mpirun; do
    type -P $p > /dev/null || die "network.sh: no $p"
done
work=$(mktemp -d) || exit 2

cleanup() {
    for k in $(seq $hosts); do
        ip netns del ctt$k 2> /dev/null
    done
    ip link del cttbr 2> /dev/null
    rm -rf "$work"
}

# A switch, and a machine at each of its ports, slowed down in both directions.
ip link add cttbr type bridge && ip link set cttbr up ||
    { rm -rf "$work"; die 'network.sh: no bridge'; }
trap cleanup EXIT
for k in $(seq $hosts); do
    ip netns add ctt$k &&
        ip link add ctt$k.a type veth peer name eth0 netns ctt$k &&
        ip link set ctt$k.a master cttbr up &&
        ip -n ctt$k addr add 10.77.0.$k/24 dev eth0 &&
        ip -n ctt$k link set eth0 up && ip -n ctt$k link set lo up ||
        die "network.sh: no machine $k"
    for link in "dev ctt$k.a" "dev eth0"; do
        in=()
        [ "$link" = 'dev eth0' ] && in=(ip netns exec ctt$k)
        "${in[@]}" tc qdisc add $link root handle 1: tbf rate "$rate" \
            burst 64kb latency 50ms || die "network.sh: no limit of $link"
        [ -z "$delay" ] ||
            "${in[@]}" tc qdisc add $link parent 1: netem delay "$delay" \
                limit 10000 || die "network.sh: no delay of $link"
    done
done

# Replaces ssh for mpirun.
cat > "$work/shell" << 'END'
#!/bin/sh
host=ctt${1##*.}
shift
exec ip netns exec "$host" sh -c "$*"
END
chmod +x "$work/shell"

mpi() {     # RANKS COMMAND...
    local n=$1 list
    shift
    list=$(seq -s , -f '10.77.0.%.0f' "$n")
    ip netns exec ctt1 env HOME="$work" OMPI_ALLOW_RUN_AS_ROOT=1 \
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm_rsh_agent="$work/shell" \
        OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=eth0 \
        OMPI_MCA_oob_tcp_if_include=eth0 OMPI_MCA_pml=ob1 \
        OMPI_MCA_mpi_yield_when_idle=1 \
        mpirun --host "$list" --map-by node --bind-to none -np "$n" "$@"
}

for n in 2 4; do
    for how in ${SQUEEZE:-none}; do
        echo "--squeeze $how"
        mpi $n "$build/bench/bench_comm" --runs "${RUNS:-30}" \
            --squeeze "$how" 562316 2690000
    done
done
[ -n "${DATA:-}" ] || exit 0
for n in 1 2 4; do
    began=$SECONDS
    mpi $n "$build/convtt-train" "$src/models/early-convttlstm.net" \
        --data "$DATA" -o "$work/m$n.h5" --epochs 1 --shards 4 --threads 1 \
        > "$work/log" 2>&1 || die "$n ranks: $(tail -n 3 "$work/log")"
    echo "$n ranks: $((SECONDS - began)) s"
    cmp "$work/m1.h5" "$work/m$n.h5" || die "$n ranks: another file"
done
echo 'files of 1, 2 and 4 ranks are equal'
