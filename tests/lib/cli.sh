#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# cli.sh: common part of the programs' tests; sourced from the build folder
# after tools= names the programs.  Leaves the test in a folder of its own.
bin=$PWD
for t in $tools; do
    [ -x "$bin/$t" ] || { echo "no $bin/$t"; exit 99; }
done
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 99
failed=0
fail() { echo "FAILED: $*"; failed=1; }

# For so many seconds a script waits at most for what must happen, and looks so
# often: many times what it takes on a busy machine.
patience=${CTT_PATIENCE:-600}
ticks=$((20 * patience))
limited() { timeout "$patience" "$@"; }
await() {   # await WHAT COMMAND...: until the command succeeds
    local what=$1
    shift
    for _ in $(seq "$ticks"); do
        "$@" && return
        sleep 0.05
    done
    fail "$what: not within $patience s"
    return 1
}

# says STATUS PATTERN COMMAND...: one line on stderr that matches, that status.
says() {
    local want=$1 pattern=$2
    shift 2
    "$@" > out 2> err < /dev/null
    local got=$?
    [ $got = "$want" ] || fail "$*: status $got, not $want: $(head -3 err)"
    grep -qE -- "$pattern" err out ||
        fail "$*: does not say '$pattern': $(head -20 err out)"
    # How far long work is, each ten seconds, is no message.
    local far='^(measuring|timing) |[0-9] of [0-9]+(,|$)|: epoch [0-9]+/[0-9]+ '
    if [ "$want" != 0 ] && [ "$(awk -v far="$far" \
        '/^convtt-[a-z]*: [0-9]+ s: / { next }
         /^convtt-/ || $0 !~ far' err | wc -l)" -gt 1 ]; then
        fail "$*: more than one line: $(cat err)"
    fi
}

# Clips to work on, or the end of the test: an FFmpeg without the encoder cannot
# make them.
make_clips() {
    "$bin/convtt-data" synth clips --clips 60 --size 24 --seed 2 \
        > out 2> err && return
    cat err
    grep -q 'no encoder' err && exit 77
    exit 1
}

# m.h5, a conv with so many outputs before the classes, after so many steps.
make_conv() {
    cat > tiny.net << END
input x h=16 w=16 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=$1 kernel=3 stride=2 pad=1
act f in=e kind=relu
pool p in=f kind=avg
conv y in=p out=12
END
    says 0 'm.h5 written' "$bin/convtt-train" tiny.net --data clips --batch 8 \
        --threads 1 --max-steps "$2" -o m.h5
}

# tiny.net, a model that trains on these clips within a second.
make_net() {
    cat > tiny.net << 'END'
input x h=16 w=16 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=8 kernel=3 stride=2 pad=1
act f in=e kind=relu
convlstm h in=f hidden=8 kernel=3
pool p in=h kind=avg
conv y in=p out=12
END
}
