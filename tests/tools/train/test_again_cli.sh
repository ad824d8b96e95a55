#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_again_cli.sh: the loop of doc/distributed.md that starts a training again
# until it has ended, word for word: when it goes on, and when it gives up.
set -u
tools="convtt-train convtt-data"
src=$(cd "${srcdir:-.}" && pwd)
. "$src/tests/lib/cli.sh"
awk '/^```/ { on = 0 } /^fails=0$/ { on = 1 } on' "$src/doc/distributed.md" \
    > loop
[ "$(grep -c '^done$' loop)" = 1 ] || fail "the loop: $(cat loop)"

# 1. With an mpirun that does what a line of the file plan says: its status, and
# whether there is a checkpoint then.  The last line holds for all other tries.
mkdir fake
cat > fake/mpirun << 'END'
#!/usr/bin/env bash
echo "$*" >> tries
line=$(wc -l < tries)
read -r status saves < <(sed -n "${line}p" plan | grep . || tail -n 1 plan)
[ "$saves" != saves ] || { sleep 0.02; echo > m.h5.ckpt; }
exit "$status"
END
printf '#!/bin/sh\necho "$*" >> naps\n' > fake/sleep
sed -i 's/sleep 0.02/command -p sleep 0.02/' fake/mpirun
chmod +x fake/mpirun fake/sleep
# goes PLAN TRIES NAPS RESUMED: so many tries, naps, and tries with --resume
goes() {
    rm -f m.h5.ckpt tries naps
    touch naps
    printf '%b' "$1" > plan
    PATH=$PWD/fake:$PATH timeout "$patience" "$shell" loop > out 2> err ||
        fail "$1: status $?: $(head -3 err)"
    [ "$(wc -l < tries)" = "$2" ] || fail "$shell, $1: $(cat tries)"
    [ "$(wc -l < naps)" = "$3" ] || fail "$shell, $1: $(wc -l < naps) naps"
    [ "$(grep -c -- ' --resume$' tries)" = "$4" ] ||
        fail "$shell, $1: --resume: $(cat tries)"
}
for shell in bash sh; do
    goes '0\n' 1 0 0
    goes '2\n' 1 0 0
    goes '1 saves\n137\n0\n' 3 2 2
    goes '1 saves\n2\n' 2 1 1
    goes '1\n' 10 9 0
    goes "$(printf '1\\n%.0s' $(seq 8))1 saves\n1\n" 18 17 9
done

[ $failed = 0 ] || exit 1

# 2. Processes of convtt-train, of which one is killed.
# shellcheck source=tests/lib/ranks.sh
. "$src/tests/lib/ranks.sh"
sed -i 's/--data clips/--data train.txt --batch 8 --threads 1 --epochs 150/
    s/--checkpoint-every 500/--checkpoint-every 1/; s/sleep 30/sleep 0.1/
    s/mpirun/mpirun --bind-to none/' loop
rm -f m.h5.ckpt
cp class.net model.net
PATH=$bin:$PATH bash loop > out 2> err < /dev/null ||
    fail "undisturbed: $(head -5 err)"
mv m.h5 whole.h5 || { cat out err; exit 1; }
PATH=$bin:$PATH timeout "$patience" bash loop > out 2> err < /dev/null & pid=$!
for i in $(seq "$ticks"); do
    [ ! -e m.h5.ckpt ] || break
    kill -0 $pid 2> /dev/null || break
    sleep 0.05
done
launcher=$(pgrep -P "$(pgrep -P $pid)" mpirun)
kill -9 "$(pids "$launcher" | tail -1)" || fail 'no rank to kill'
wait $pid || fail "a killed rank: $(head -5 err)"
cmp whole.h5 m.h5 || fail 'killed and started again: another model'
sed -i 's/--threads/--thread/' loop
PATH=$bin:$PATH timeout "$patience" bash loop > out 2> err < /dev/null ||
    fail "a wrong option: status $?"
[ "$(grep -c '^convtt-train: ' err)" = 1 ] ||
    fail "a wrong option: $(cat err)"
exit $failed
