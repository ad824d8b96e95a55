#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_tune_cli.sh: convtt-infer --tune on measures once and remembers it, also
# where what it remembers is damaged or cannot be kept; convtt-info --plan
# --tune on shows it.
set -u
tools="convtt-infer convtt-info"
. "${srcdir:-.}/tests/lib/cli.sh"

cat > convs.net << 'END'
input x h=16 w=16 c=3 fps=6 mean=0.45 std=0.25
conv a in=x out=8 kernel=3 pad=1
conv b in=a out=8 kernel=5 pad=2
pool p in=b kind=avg
conv y in=p out=4
END
export XDG_CACHE_HOME=$PWD/caches
tune() { "$bin/convtt-infer" --bench convs.net --threads 1 --runs 1 "$@"; }
remembered() { cat caches/convtt/convs-*.txt; }

# 1. By rule nothing is kept.
says 0 '^a +conv' tune
[ -e caches/convtt ] && fail "--tune off made a folder"

# 2. Three convs are three rows, and the second run leaves the file alone.
says 0 '^a +conv' tune --tune on
[ "$(remembered | wc -l)" -eq 4 ] || fail "not a line a conv"
remembered > first
ls -li caches/convtt > before
says 0 '^a +conv' tune --tune on
ls -li caches/convtt > after
cmp -s before after || fail "the second run measured again"

# 3. Another type of the same model adds rows and keeps the others.
says 0 '^a +conv' tune --tune on --type int8
remembered | grep -Fxf first | cmp -s - first || fail "rows were lost"
remembered | grep -q ' uint8 ' || fail "no row of bytes"

# 4. A damaged file is made again; without a folder it works too.
for f in caches/convtt/convs-*.txt; do
    head -c 100 first > "$f"
done
says 0 '^a +conv' tune --tune on
[ "$(remembered | wc -l)" -eq 4 ] || fail "the damaged file stays"
XDG_CACHE_HOME=/dev/null says 0 '^a +conv' tune --tune on

# 5. --against is measured by the same rule.
sed 's/out=8/out=24/' convs.net > wide.net
says 0 'wide.net' tune --tune on --against wide.net
[ "$(remembered | grep -c '^conv .* to [0-9x]*x24/')" -eq 2 ] ||
    fail "the other model was not tuned"

# 6. Only the device cpu has a choice.
for device in ref cuda; do
    says 2 '^convtt-infer: --tune requires --device=cpu$' \
        tune --tune on --device "$device"
done

# 7. A plan has the times of what could compute each conv, those that are
# remembered.
plan() { "$bin/convtt-info" --plan --threads 1 "$@" convs.net; }
tune --tune on > out 2>&1 || fail "not tuned again"
remembered > first
says 0 '^b +conv .* measured: ' plan --tune on
remembered | cmp -s first - || fail "the plan measured again"
says 0 '^b +conv' plan
grep -q measured: out && fail "by rule there are times: $(cat out)"
says 2 'tune requires --plan' "$bin/convtt-info" --tune on convs.net
says 2 'tune requires --device=cpu' plan --tune on --device ref
exit $failed
