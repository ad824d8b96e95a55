#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_search_ranks_cli.sh: convtt-train --search under mpirun: a trial on each
# process, the same results for any number of them, also after one was killed
# and others went on; errors and signals of one end or stop all.
set -u
tools="convtt-train convtt-info"
src=$(cd "${srcdir:-.}" && pwd)
. "$src/tests/lib/cli.sh"
# shellcheck source=tests/lib/ranks.sh
. "$src/tests/lib/ranks.sh"
cat > space.txt << 'END'
lr            log    1e-3 0.3
optimizer     choice sgd adamw
momentum      range  0.5 0.95   if optimizer=sgd
END
base='class.net --search space.txt --batch 8 --repeats 1'
alone() {   # alone ARGUMENT...: one process
    "$bin/convtt-train" "$@" --threads 1 --data train.txt --val val.txt \
        > out 2> err < /dev/null
}
# Times are not the same twice, nor is the order of what ran together.
log() { sed 's/,"seconds":[0-9.]*//' "$1.search.jsonl" | sort; }
# same NAME WANT GOT: the model and the log of a search, and no other file.
same() {
    cmp "$2" "$3" || fail "$1: another model"
    log "$2" > want
    log "$3" | cmp - want || fail "$1: another log"
    [ "$(ls -d "$3"* | paste -sd' ')" = "$3 $3.search.jsonl" ] ||
        fail "$1: left behind: $(ls -d "$3"*)"
}
trials() {   # the processes of trials of this folder, each with its parent
    ps -eo pid,ppid,args | grep -F -- '--pause=' | grep -F "$1.trials" |
        grep -v grep
}
no_trials() {   # no_trials WHAT FILE
    for _ in $(seq "$ticks"); do
        [ -n "$(trials "$2")" ] || return
        sleep 0.05
    done
    fail "$1: trials go on"
}

# 1. The same with every number of processes, a power of two or not.
numbers='1 2 3 4'
[ "$every" = 1 ] || numbers='1 4'
for method in halving random; do
    run="$base --trials 9 --epochs 3 --search-method $method"
    alone $run -o $method.h5 || fail "$method: $(head -3 err)"
    for n in $numbers; do
        under "$n" $run -o m.h5 || fail "$method, -np $n: $(head -5 err)"
        same "$method, -np $n" $method.h5 m.h5
        for line in "^9 trials, $n at a time" '^the best of the trials' \
            '^what each setting alone' '^m.h5 written' '^trial 4: '; do
            [ "$(grep -c "$line" out)" = 1 ] ||
                fail "$method, -np $n: '$line' not once: $(cat out)"
        done
        grep -q 'rank' err && fail "$method, -np $n: $(cat err)"
        rm -f m.h5*
    done
done
says 0 '^search trials=9 method=halving' "$bin/convtt-info" --all halving.h5
for method in asha median; do
    run="$base --trials 9 --epochs 3 --search-method $method"
    under 3 $run -o m.h5 || fail "$method: $(head -5 err)"
    [ "$(grep -c '"epochs":1,' m.h5.search.jsonl)" = 9 ] &&
        [ "$(grep -c '"won":' m.h5.search.jsonl)" = 1 ] ||
        fail "$method: $(cat m.h5.search.jsonl)"
    rm -f m.h5*
done

# 2. Repeats are shared, too; what has ended trains nothing; a model that is
# gone is made again.
run="$base --repeats 3 --trials 4 --epochs 2 --search-method halving"
alone $run -o r.h5 || fail "repeats: $(head -3 err)"
under 4 $run -o m.h5 || fail "repeats, -np 4: $(head -5 err)"
same repeats r.h5 m.h5
[ "$(grep -c '"seed":[23],' m.h5.search.jsonl)" = 6 ] ||
    fail "repeats: $(cat m.h5.search.jsonl)"
grep -q '^4 trials, 4 at a time, of about 19 epochs in all, 12 of them' out ||
    fail "what is expected: $(cat out)"
under 2 $run -o m.h5 || fail "again: $(head -5 err)"
grep -q 'is there already' out || fail "again: $(cat out)"
rm m.h5
under 2 $run -o m.h5 || fail "made again: $(head -5 err)"
grep -q 'is trained again' out || fail "made again: $(cat out)"
same 'made again' r.h5 m.h5

# 3. A process is killed after some results, with trials that run on several of
# them; the same command goes on, with as many as there are.
run="$base --trials 9 --epochs 27 --search-method halving"
# start N ARGUMENT...: $run on N processes, in the background
start() {
    local n=$1
    shift
    rm -rf some.h5*
    mpirun -np "$n" --bind-to none "$bin/convtt-train" $run --data train.txt \
        --val val.txt --threads 1 -o some.h5 "$@" > out 2> err < /dev/null &
    pid=$!
    until=$((SECONDS + patience))
}
results() { grep -c '^{"trial"' some.h5.search.jsonl 2> /dev/null; }
# reach N: until there are so many results, and two trials that run
reach() {
    while [ $SECONDS -lt $until ] && kill -0 "$pid" 2> /dev/null; do
        [ "$(results)" -ge "$1" ] 2> /dev/null &&
            [ "$(trials some.h5 | awk '{ print $2 }' | sort -u | wc -l)" -ge \
                "${2:-2}" ] && return
        sleep 0.01
    done
    return 1
}
alone $run -o one.h5 || fail "$run: $(head -3 err)"
cases='0:1:1:2 2:2:2:2 5:4:3:2 8:3:4:2 9:2:2:2 12:1:4:1'
[ "$every" = 1 ] || cases='5:4:3:2'
for c in $cases; do    # RESULTS:RANK:THEN:TRIALS
    IFS=: read -r after rank then some <<< "$c"
    for _ in 1 2 3 4 5; do
        start 4
        reach "$after" "$some" && break
        kill -9 "$pid" 2> /dev/null
        wait "$pid"
    done 2> /dev/null
    kill -9 "$(pids $pid | sed -n "${rank}p")" || fail "$c: no rank"
    ends "$c" any
    [ ! -e some.h5 ] && ! grep -q won some.h5.search.jsonl ||
        fail "$c: the kill hit nothing: $(results)"
    grep -q '^convtt-train: .*trial' err && fail "$c: $(cat err)"
    no_trials "$c" some.h5
    under "$then" $run -o some.h5 || fail "$c: goes on: $(head -5 err)"
    same "$c" one.h5 some.h5
done

# 4. A trial is killed: the same.  One that is stopped does not end before.
start 3
for _ in $(seq "$ticks"); do
    trial=$(trials some.h5 | awk '{ print $1; exit }')
    [ -n "$trial" ] && kill -STOP "$trial" 2> /dev/null &&
        ps -o state= -p "$trial" | grep -q T && break
    kill -0 "$pid" 2> /dev/null || break
    sleep 0.05
done
kill -9 "$trial" || fail 'no trial'
ends 'a killed trial' any
[ "$(grep -c 'convtt-train: trial [0-9]* was killed by signal 9' err)" = 1 ] ||
    fail "a killed trial: $(cat err)"
no_trials 'a killed trial' some.h5
alone $run -o some.h5 || fail "after a killed trial: $(head -5 err)"
same 'a killed trial' one.h5 some.h5

# 5. A signal to one stops all, whose trials write checkpoints.
for rank in 1 3; do
    run="$base --trials 4 --epochs 3000 --search-method random"
    start 3
    for _ in $(seq "$ticks"); do
        [ "$(ls some.h5.trials/trial[123].ckpt 2> /dev/null | wc -l)" = 3 ] &&
            break
        kill -0 "$pid" 2> /dev/null || break
        sleep 0.05
    done
    kill -TERM "$(pids $pid | sed -n "${rank}p")"
    ends "a signal to rank $rank" 1
    [ "$(grep -c 'stopped: the same command goes on' err)" = 1 ] ||
        fail "a signal to rank $rank: $(cat out err)"
    grep -q 'MPI_ABORT' err && fail "a signal to rank $rank: $(cat err)"
    no_trials 'a signal' some.h5
    [ -e some.h5.trials/trial2.ckpt ] && [ ! -e some.h5 ] ||
        fail "a signal to rank $rank: $(ls)"
done

# 6. A process that does not go on ends all.
start 2 --stall 2
reach 0 || fail "no trials on two processes: $(cat out err)"
kill -STOP "$(pids $pid | tail -1)"
ends 'a rank that stands still' 1
grep -qE 'gone on for 2 s \(--stall\): after [0-9]+ trials, waiting for' err ||
    fail "a rank that stands still: $(cat err)"
no_trials 'a rank that stands still' some.h5

# 7. What is wrong is said once, and ends all.
# two 'PATTERN' 'ARGUMENTS OF RANK 0' 'OF RANK 1' [WDIR OF RANK 1]: status $want
want=1
two() {
    limited mpirun --bind-to none -np 1 $one $2 : \
        -np 1 ${4:+-wdir "$4"} $one $3 > out 2> err < /dev/null
    got=$?
    [ $got = $want ] || fail "$1: status $got: $(head -5 err)"
    [ "$(grep -c '^convtt-train: ' err)" = 1 ] ||
        fail "$1: not one line: $(cat err)"
    grep -q "^convtt-train: $1" err || fail "$1: $(head -5 err)"
}
one="$bin/convtt-train $PWD/class.net --threads 1 --batch 8 --epochs 3 -o w.h5"
here="--search $PWD/space.txt --data $PWD/train.txt --val $PWD/val.txt"
echo 'lr log 1e-3 0.2' > other.txt
mkdir elsewhere
want=2
two '--jobs is for one process, not for 2' "$here --jobs 2" "$here --jobs 2"
want=1
two 'rank 1: w.h5.trials is not the folder of rank 0: --search needs a file' \
    "$here" "$here" "$PWD/elsewhere"
two 'rank 1: not the settings of rank 0' "$here" "$here --trials 8"
two 'rank 1: not the search space of rank 0' "$here" \
    "${here/space/other}"
sed 1d val.txt > less.txt
two 'rank 1: not the validation clips of rank 0' "$here" \
    "${here/val.txt/less.txt}"
two 'rank 1: .*none.txt: ' "$here" "${here/space/none}"
want=2
two '.*none.txt: ' "${here/space/none}" "${here/space/none}"
want=1
for o in '--sync central' '--stages auto' '--bands 2' '--comm mpi'; do
    refuses "2|--search excludes .*${o% *}|2|$o" class.net $here -o w.h5
done
ls -d w.h5* elsewhere/w.h5* 2> /dev/null | grep -v '[.]lock$' &&
    fail 'a search that was refused has files'

# 8. A trial that cannot be trained is a result; if all fail, that ends all.
echo 'freeze choice e none' > some.txt
run="class.net --search some.txt --batch 8 --epochs 1 --trials 4 --repeats 1"
under 2 $run -o f.h5 || fail "failing trials: $(head -5 err)"
grep -q 'failed: .*none' out || fail "no failure: $(cat out)"
grep -q '"failed":"' f.h5.search.jsonl || fail "$(cat f.h5.search.jsonl)"
echo 'freeze choice none1 none2' > all.txt
one="$bin/convtt-train class.net --threads 1 --batch 8 --epochs 1 --trials 6"
two 'all [3-5] trials failed' \
    "--search all.txt --data train.txt --val val.txt -o g.h5" \
    "--search all.txt --data train.txt --val val.txt -o g.h5"

# 9. Each with a simulated GPU of its own.
if [ -e "$bin/tests/sim/.libs/convtt-cuda.so" ]; then
    export CTT_MODULES=$bin/tests/sim/.libs:$bin/.libs
    rm -rf m.h5* some.h5*
    run="$base --trials 3 --epochs 1 --search-method random --device cuda"
    alone $run -o c.h5 || fail "simulated cuda: $(head -3 err)"
    CTT_SIM_GPUS=2 under 2 $run -o m.h5 ||
        fail "simulated cuda, -np 2: $(head -5 err)"
    cmp c.h5 m.h5 || fail 'simulated cuda: another model'
    run="$base --epochs 3000 --trials 2 --search-method random --device cuda"
    CTT_SIM_GPUS=2 start 2
    reach 0 || fail "no trials on two GPUs: $(cat out err)"
    # Each GPU once, as what a trial starts has its environment.
    for p in $(trials some.h5 | awk '{ print $1 }'); do
        tr '\0' '\n' < "/proc/$p/environ" | grep '^CUDA_VISIBLE_DEVICES='
    done | sort -u > gpus
    [ "$(paste -sd' ' gpus)" = \
        'CUDA_VISIBLE_DEVICES=0 CUDA_VISIBLE_DEVICES=1' ] ||
        fail "GPUs of trials: $(cat gpus)"
    kill -TERM "$(pids $pid | head -1)"
    ends 'trials on GPUs' 1
fi
exit $failed
