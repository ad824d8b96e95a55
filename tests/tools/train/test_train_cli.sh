#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_train_cli.sh: convtt-data, convtt-train and convtt-info as a person
# calls them: a run that is stopped by a signal and resumed, and what they say
# to bad input.
set -u
tools="convtt-data convtt-train convtt-info"
. "${srcdir:-.}/tests/lib/cli.sh"

make_net

# 1. Clips.
make_clips
says 0 '^all +36 +12 +12' "$bin/convtt-data" list clips
says 0 '60 clips, 0 bad' "$bin/convtt-data" check clips
says 0 'clips, 0 bad' "$bin/convtt-data" pack clips -o t.pack --model tiny.net

# 2. Training; then the same, stopped again and again.
common='tiny.net --data clips --epochs 3 --batch 4 --threads 1
        --checkpoint-every 1'
train() { "$bin/convtt-train" $common "$@" > log 2>&1 < /dev/null; }
train -o whole.ctt || fail "training: $(cat log)"
[ ! -e whole.ctt.ckpt ] || fail "the checkpoint of a finished run stays"
grep -q '100%' log || fail "no accuracy at 100%"

# Clips of --test are scored once and choose nothing; what cannot be scored is
# said before the first epoch.
scored() { sed -n "s/.* on $1 (\([0-9]* clips): top-1.*\)/\1/p" log; }
here=$(scored "split 'test'")
case $here in 12*) ;; *) fail "split test: $(cat log)" ;; esac
says 0 '12 clips, 0 bad' "$bin/convtt-data" pack clips -o held.pack \
    --split test --model tiny.net
train -o tested.ctt --test held.pack || fail "--test: $(cat log)"
[ "$(scored held.pack)" = "$here" ] || fail "not $here: $(cat log)"
grep -q "figures flatter it; those of --test do not$" log ||
    fail "--test: $(tail -1 log)"
cmp -s whole.ctt tested.ctt || fail "--test makes another model"
says 1 'gone: no such file' "$bin/convtt-train" $common -o no.ctt --test gone
says 2 't.pack: --test has the same clips as the training data' \
    "$bin/convtt-train" tiny.net --data t.pack --val held.pack -o no.ctt \
    --test t.pack
says 2 '--test' "$bin/convtt-train" $common -o no.ctt --test held.pack \
    --folds 2
[ ! -e no.ctt ] || fail "written in spite of --test"
resume= stops=0
for round in 1 2 3 4 5 6; do
    rm -f part.csv
    "$bin/convtt-train" $common -o part.ctt --log-csv part.csv $resume \
        > log 2>&1 < /dev/null & pid=$!
    for i in $(seq "$ticks"); do    # until it has begun
        [ -e part.csv ] && break
        kill -0 $pid 2> /dev/null || break
        sleep 0.02
    done
    sleep 0.0$round
    kill -TERM $pid 2> /dev/null
    wait $pid
    case $? in
    0) break ;;
    1) if grep -q '^convtt-train: stopped after step' log; then
           stops=$((stops + 1))
           [ -e part.ctt.ckpt ] || fail "stopped without a checkpoint"
       else    # on a busy machine while it still reads its files
           grep -q ': stopped$' log || fail "stopped: $(cat log)"
       fi ;;
    *) fail "a signal ended it: $(cat log)"; break ;;
    esac
    [ ! -e part.ctt.ckpt ] || resume=--resume
done
[ -e part.ctt.ckpt ] && { train -o part.ctt --resume ||
                          fail "resumed: $(cat log)"; }
[ $stops -gt 0 ] || fail "no run was stopped in time"
cmp -s whole.ctt part.ctt || fail "a resumed run gives another file"

# What is no output of convtt is not replaced by one.
for file in clips/train.json clips/labels.json t.pack; do
    cp $file kept
    says 1 "$file: is there already and is no model" "$bin/convtt-train" \
        $common -o $file
    says 1 "$file: is there already and is no checkpoint" \
        "$bin/convtt-train" $common -o new.ctt --checkpoint $file
    cmp -s $file kept || fail "$file is changed"
done
says 1 'whole.ctt: is there already and is no checkpoint' \
    "$bin/convtt-train" $common -o new.ctt --checkpoint whole.ctt
says 1 'tiny.net: is there already and is no pack' "$bin/convtt-data" pack \
    clips -o tiny.net --model tiny.net
says 2 'no nosuch.json' "$bin/convtt-train" $common -o new.ctt \
    --val-split nosuch
says 2 'val-split=train has the same clips' "$bin/convtt-train" $common \
    -o new.ctt --val-split train
sed '1s/c=3/c=1/' tiny.net > gray.net
says 2 "line: c=1, but its colour has 3" "$bin/convtt-train" gray.net \
    --data clips -o new.ctt
mkfifo fifo
says 1 'fifo: a FIFO' limited "$bin/convtt-train" $common -o new.ctt \
    --log-csv fifo
rm fifo kept
grep -q 'top-1 *95% *loss *top-5$' log ||
    fail "no table of accuracy: $(cat log)"
# A checkpoint beyond the end is refused and stays.
train -o end.ctt --pause 2 || fail "--pause: $(cat log)"
says 2 'end.ctt.ckpt: 2 epochs are trained already, --epochs=1 is fewer' \
    "$bin/convtt-train" $common -o end.ctt --resume --epochs 1
says 2 'end.ctt.ckpt: 18 steps are trained already, --max-steps=17 is fewer' \
    "$bin/convtt-train" $common -o end.ctt --resume --max-steps 17
[ -e end.ctt.ckpt ] || fail "beyond the end: $(ls end*)"
cp end.ctt.ckpt more.ctt.ckpt
"$bin/convtt-train" $common -o more.ctt --resume --epochs 4 --pause 3 \
    > out 2>&1 < /dev/null || fail "--pause 3: $(cat out)"
grep -q 'the run so far had --epochs=3; from here on the learning rate' out ||
    fail "--resume with other --epochs says nothing: $(cat out)"
# The history says of which epoch the weights are.
says 0 'best-epoch=[1-3] val_top1=' "$bin/convtt-info" --all whole.ctt
# It says how many steps this run made.
says 0 'end.ctt written' "$bin/convtt-train" $common -o end.ctt --resume \
    --epochs 2
grep -q '^0 steps in ' out || fail "steps of this run: $(cat out)"
says 2 "'1,0.25': the ratios do not rise" "$bin/convtt-train" $common \
    -o new.ctt --val-ratios 1,0.25

train -o packed.ctt --data t.pack --val clips || fail "packed: $(cat log)"
says 0 '^whole.ctt +[0-9]+' "$bin/convtt-info" whole.ctt part.ctt
says 0 '^model +bytes.* top-1 at 25% +at 50% +at 100% +lost +won +p$' \
    "$bin/convtt-info" --compare whole.ctt part.ctt --data clips
says 0 'Moving something up' "$bin/convtt-info" --all whole.ctt
says 0 '^validation +top-1 [0-9.]+%' "$bin/convtt-info" whole.ctt
grep -q '^answers  *12 classes: .*, \.\.\.$' out &&
    [ "$(wc -l < out)" -lt 20 ] || fail "info: $(cat out)"

# The card: the day, the version, the clips; a day that has been said once is
# not said again.
SOURCE_DATE_EPOCH=86400 train -o card.ctt --init whole.ctt --epochs 1 \
    --licence CC-BY-4.0 || fail "--licence: $(cat log)"
card='^trained +1970-01-02, by convtt [0-9.]+, on clips: 36, their mean length'
card+=' in s: [0-9.]+ \(.*[0-9a-f]{8}\)$'
says 0 "$card" "$bin/convtt-info" --all card.ctt
says 0 '^licence +CC-BY-4.0$' "$bin/convtt-info" --all card.ctt
SOURCE_DATE_EPOCH=86400 train -o twice.ctt --init card.ctt --epochs 1 || :
[ "$("$bin/convtt-info" --all twice.ctt | grep -o 'date=1970-01-02' |
    wc -l)" = 1 ] ||
    fail "the history: $("$bin/convtt-info" --all twice.ctt | grep date=)"
for date in 9223372036854775807 253402300800 abc -1 1e9 0x10 '5 ' +5; do
    says 2 "SOURCE_DATE_EPOCH=.*: not a number of seconds since 1970" \
        env SOURCE_DATE_EPOCH="$date" "$bin/convtt-train" $common -o no.ctt
    [ ! -e no.ctt ] || fail "SOURCE_DATE_EPOCH=$date: a model is written"
done
says 2 'not a name of SPDX' "$bin/convtt-train" $common -o no.ctt \
    --licence 'mine, all mine'
says 0 '^conv e in=x' "$bin/convtt-info" --net whole.ctt
says 1 'tinny: .*nor a model of this name in /.*models' "$bin/convtt-info" tinny
says 1 "of this name in /.*models: is early-convttlstm meant" \
    "$bin/convtt-info" early-convttlstn
says 2 "no command 'chek': is check meant" "$bin/convtt-data" chek clips
says 2 "unknown option '--epoch.': is --epochs meant" "$bin/convtt-train" \
    --epochz 3
# Clips of the same names with other frames are told; a reader of standard
# output that ends stops the run, with a checkpoint and without a lock.
mkdir two
for class in a b; do
    for k in 1 2 3 4 5 6; do
        mkdir -p two/$class/$k
        for i in 1 2 3; do
            { printf 'P5\n8 8\n255\n'; printf '%064d' $k$i; } \
                > two/$class/$k/$i.pgm
        done
    done
done
cat > two.net << 'END'
input x h=8 w=8 c=1 colour=gray
conv e in=x out=2 kernel=3
pool p in=e kind=avg
conv y in=p out=2
END
two="two.net --data two --val none --batch 4 --threads 1 -o two.h5 --epochs 4"
says 0 'paused after 1 of 4' "$bin/convtt-train" $two --pause 1
says 0 'paused after 2 of 4' "$bin/convtt-train" $two --pause 2 --resume
grep -q 'other frames' out err && fail "the same frames are others: $(cat err)"
cp two/a/1/1.pgm two/a/2/2.pgm
"$bin/convtt-train" $two --pause 3 --resume > out 2>&1 < /dev/null
grep -q 'two: clips of these names have other frames now' out ||
    fail "other frames: $(cat out)"
rm two.h5.ckpt
"$bin/convtt-train" $two --epochs 9999 2> err < /dev/null | head -1 > out
[ "${PIPESTATUS[0]}" = 1 ] && grep -q 'stopped after step' err ||
    fail "a closed pipe: $(cat err)"
[ -e two.h5.ckpt ] && ! ls two.h5*.lock > list 2>&1 ||
    fail "a closed pipe leaves $(ls two.h5*)"
says 0 '^  mul, 2 inputs: product' "$bin/convtt-info" --ops
says 0 '^  convttlstm: .*Su et al' "$bin/convtt-info" --ops
says 0 'at 100%' "$bin/convtt-info" --data clips whole.ctt
says 0 'at 100%' "$bin/convtt-info" --data t.pack whole.ctt
"$bin/convtt-info" --strip small.ctt whole.ctt || fail "--strip"
says 0 'top-1' "$bin/convtt-train" --init whole.ctt -o more.ctt \
    --data clips --epochs 1
cp whole.ctt kept.ctt
says 2 'whole.ctt: given for two files' "$bin/convtt-train" --init whole.ctt \
    -o whole.ctt --data clips --epochs 1
cmp -s whole.ctt kept.ctt || fail "--init: its file was written"
# A schedule within the warm-up is made shorter, and trains.
says 0 'warm-up of --warmup=9 takes .* steps, of 1 in all: shortened to 0' \
    "$bin/convtt-train" --init whole.ctt -o more.ctt --data clips \
    --max-steps 1 --warmup 9
cmp -s whole.ctt more.ctt && fail "one step: the model is as it was"
for lr in 0 1e-30; do    # which zeros become, too
    says 1 'no weight has changed by more than rounding in 2 steps' \
        "$bin/convtt-train" --init whole.ctt -o more.ctt --data clips \
        --max-steps 2 --lr $lr
    rm -f more.ctt.ckpt
done
says 0 'of [0-9]+ weights taken' "$bin/convtt-train" tiny.net \
    --init whole.ctt -o more.ctt --data clips --max-steps 1
says 0 'y: out=12 is now 2' "$bin/convtt-train" tiny.net -o two.ctt \
    --data clips --classes <(printf 'Moving something up\n3\n') --max-steps 1

# 3. Predicting the next frames of the same clips: whatever is kept, the same
# model.
cat > next.net << 'END'
input x h=16 w=16 c=1 colour=gray fps=6 mean=0.45 std=0.25
convlstm h in=x hidden=8 kernel=3
conv y in=h out=1
END
cat > norm.net << 'END'
input x h=16 w=16 c=1 colour=gray fps=6 mean=0.45 std=0.25
conv e in=x out=8 kernel=3 pad=1
norm n in=e kind=batch
conv y in=n out=1
END
# The number of threads changes no bit, with calls large enough for several.
cat > large.net << 'END'
input x h=48 w=48 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=32 kernel=5 stride=2 pad=2
norm n in=e kind=batch
act f in=n kind=relu
conv g in=f out=64 kernel=3 stride=2 pad=1 groups=4
convlstm h in=g hidden=16 kernel=3
pool p in=h kind=max kernel=2
conv q in=p out=64 kernel=6
conv y in=q out=12
END
large="$bin/convtt-train large.net --data clips --batch 6 --epochs 1
       --max-steps 2 --max-frames 8"
for threads in 1 2 3 7; do
    says 0 'written' $large -o t$threads.ctt --threads $threads
    cmp -s t1.ctt t$threads.ctt ||
        fail "another model with $threads threads"
done
# So a run may go on with another number.
longer="$large --max-steps 12 --epochs 2 --checkpoint-every 1"
says 0 'written' $longer -o one.ctt --threads 2
$longer -o two.ctt --threads 1 > log 2>&1 < /dev/null & pid=$!
for i in $(seq "$ticks"); do
    [ -e two.ctt.ckpt ] && break
    kill -0 $pid 2> /dev/null || break
    sleep 0.02
done
kill -TERM $pid 2> /dev/null
if ! wait $pid; then
    says 1 'was made with --deterministic=on' $longer -o two.ctt --resume \
        --deterministic off
    says 0 'written' $longer -o two.ctt --threads 3 --resume
fi
cmp one.ctt two.ctt || fail "resumed with more threads: another model"
says 0 'written' $large -o off.ctt --threads 3 --deterministic off
"$bin/convtt-info" --all off.ctt > info 2>&1
grep -q 'train .*deterministic=off' info ||
    fail "not in the history: $(cat info)"
# A batch in shards.
says 2 'shards=3: not a power of two' $large -o a --shards 3
says 2 'shards=4 does not divide --batch=6' $large -o a --shards 4
says 2 'have one clip: --mixup and --cutmix mix' $large -o a --batch 4 \
    --shards 4 --mixup 0.2
says 0 'written' $large -o whole-batch.ctt --shards 1
says 0 'written' $large -o parts.ctt --shards 2
cmp -s whole-batch.ctt parts.ctt && fail "--shards has no effect"
says 2 "deterministic: no choice 'no'" $large -o a --deterministic no
train="$bin/convtt-train"
next="$train --task predict --data clips --input-frames 4 --future-frames 3
      --batch 4 --epochs 1 --max-steps 3 --threads 1"
mnist=${next/--data clips/--data mnist:nothere}
says 0 '^training: [0-9]+ sequences' $next next.net -o all.ctt --window 2
says 0 'are recomputed' $next next.net -o none.ctt --window 2 --keep 0
cmp -s all.ctt none.ctt || fail "recomputing gives another model"
says 0 '^memory: [0-9]+ MB .* windows of up to 6 steps are kept$' \
    $next next.net -o auto.ctt --keep auto
says 0 '^memory: 10 MB .* are recomputed' $next next.net -o auto.ctt \
    --batch 32 --keep auto --memory 16M
# Clips in memory take only what the run leaves: with them it needs no more.
"$bin/convtt-data" synth more --clips 300 --size 48 > out 2> err ||
    fail "more clips: $(cat err)"
for cache in 0 1024; do
    says 0 'cache.h5 written' $next next.net -o cache.h5 --data more \
        --val-batch 1 --val clips --cache $cache --memory 4600000
done
says 1 'would fit: --shards=[24]' $next next.net -o a --batch 32 --memory 16M
says 0 'written' $next next.net -o a.ctt --batch 32 --memory 16M --shards 8
says 1 'need at least 8 MB.*more --memory' $next next.net -o a \
    --batch 32 --keep auto --memory 8M
says 1 'one window, because n: kind=batch' $next norm.net -o a --keep auto \
    --batch 32 --memory 8M --sampling-start off
says 1 'memory limit of 1 MB \(--memory\)' $next next.net -o a --memory 1M
says 1 'n: in a loop over time .*--sampling-start=off' $next norm.net -o a
says 0 'norms then use the statistics of a window' $next norm.net -o a \
    --window 3 --sampling-start off
says 1 'n: kind=batch takes' $next norm.net -o a --keep 1 --sampling-start off
says 2 "memory: bad value '2X'" $next next.net -o a --memory 2X
says 2 '--keep=1 requires --window' $train tiny.net -o a --data clips --keep 1
says 2 '--digits requires --data=mnist:... or --val=mn' $next next.net -o a \
    --digits 3
says 2 'nothere' $mnist next.net -o a --digits 3
says 2 '--max-frames=6: a sequence has 7 frames' $next next.net -o a \
    --max-frames 6

# 4. Mixed precision: the plan needs no data; a run says what its scale came to.
says 0 '^h\.c +cell +fp32 +black list$' $train tiny.net --amp O1 --amp-plan
says 0 '^h\.c +cell +bf16 +--amp=O2$' $train tiny.net --amp O2 \
    --amp-type bf16 --amp-plan
says 0 '^train.frame +input +fp16 +all readers' $train next.net --amp O1 \
    --task predict --amp-plan
says 0 '^e +conv +fp32 +--amp-deny$' $train tiny.net --amp O1 --amp-deny e \
    --amp-plan
says 0 '^e +conv +fp16 +white list$' $train --init whole.ctt --amp O1 \
    --amp-plan -o plan.ctt
[ ! -e plan.ctt ] || fail "--amp-plan has written a model"
infinite='([0-9]+) steps? skipped .\1 of an infinite gradient in y.$'
says 0 "loss scale 2\^[0-9]+, $infinite" $train tiny.net -o amp.ctt \
    --data clips --max-steps 12 --batch 4 --amp O1 --log-csv amp.csv
grep -q ',loss_scale,skipped,' amp.csv || fail "no loss scale in the log"
# With clips the plan has what fp16 keeps of some steps: with the largest scale
# no gradient is lost that is not with less, and without one more are.
lost() {   # lost [OPTION]: per cent of the gradients of e that are lost
    $train tiny.net --data clips --batch 4 --amp O1 --amp-plan "$@" > out \
        2> err || fail "--amp-plan $*: $(cat err)"
    awk '$1 == "e" && $2 == "fp16" { n++; print $7 + 0 }
         END { exit n != 1 }' out
}
scaled=$(lost) || fail "no row of e: $(cat out)"
plain=$(lost --loss-scale=1) || fail "no row of e: $(cat out)"
infinite=$(lost --loss-scale=2^40) || fail "no row of e: $(cat out)"
awk -v a="$scaled" -v b="$plain" -v c="$infinite" \
    'BEGIN { exit !(a < b && a < c && c > 50) }' ||
    fail "lost with scale $scaled, without $plain, with a large one $infinite"
grep -q 'of the multiplications are in 16 bits' out ||
    fail "no products: $(cat out)"
says 0 'loss scale 1, 0 steps skipped$' $next next.net -o amp.ctt --amp O2 \
    --amp-type bf16
says 1 'loss scale of 1099511627776 after 20 steps in a row' $train tiny.net \
    -o a --data clips --batch 4 --amp O1 --loss-scale 2^40
for scale in 2^41 2^-1 2^ 2^1.5 3^2 -1 nan; do
    says 2 "loss-scale: bad value '${scale/^/\\^}'" $train tiny.net --amp O1 \
        --amp-plan --loss-scale $scale
done
# An epoch without a usable loss says so: no number stands for it.  After the
# first step the sums of this model are beyond fp16.
cat > wide.net << 'END'
input x h=16 w=16 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=8 kernel=3 stride=2 pad=1
act f in=e kind=relu
pool p in=f kind=avg
conv y in=p out=12
END
says 0 \
    'epoch 2/2: train loss -, train top-1 -, loss scale [^ ]*, [0-9]+ steps' \
    $train wide.net -o a --data clips --batch 4 --amp O1 --lr 1000 --warmup 0 \
    --epochs 2 --log-csv lost.csv --log-json lost.json
grep -q '^epoch 2: no step had a finite loss' out || fail "no word of the loss"
[ "$(cut -d, -f4,5 lost.csv | tail -1)" = , ] ||
    fail "a loss in lost.csv: $(cat lost.csv)"
grep -q '"loss":null,"top1":null' lost.json || fail "a loss in lost.json"
says 2 "--amp-deny requires --amp=O1 or --amp=O2" $train tiny.net --amp-deny e \
    --amp-plan
says 2 "--amp-deny: 'q' is no op and no node" $train tiny.net --amp O1 \
    --amp-deny q --amp-plan
says 2 "--amp-allow: 'h.c1' only names the memory of 'h.c'" $train tiny.net \
    --amp O1 --amp-allow h.c1 --amp-plan
says 2 '--streams requires --device=cuda' $train tiny.net -o a --data clips \
    --streams 2

# 5. What needs no clips is told before they are read: "nothere" is not named.
early="$train tiny.net --data nothere"
says 2 "--amp-allow: 'q' is no op" $early -o b --amp O1 --amp-allow q
says 1 '^convtt-train: device cuda' env CTT_MODULES=/nowhere $early -o b \
    --device cuda
says 1 '^convtt-train: /nowhere/a: cannot write' $early -o /nowhere/a
says 1 '^convtt-train: /nowhere/c: cannot write' $early -o b \
    --checkpoint /nowhere/c
says 1 '^convtt-train: /nowhere/l: cannot write' $early -o b \
    --log-csv /nowhere/l
says 1 '^convtt-train: clips: not a regular file' $early -o clips
says 1 'y: the answer is a frame of 16x16, not a class; --task=predict' \
    $train next.net --data nothere -o b
[ ! -e b ] || fail "a run that cannot begin leaves a file"

# A teacher has the same classes in the same order.
make_sorted() {    # FOLDER CLASS CLASS
    local i
    mkdir -p "$1"/{train,validation}/{"$2","$3"}
    for i in 1 2 3 4 5; do
        cp clips/20bn-*/$i.webm "$1/train/$2"
        cp clips/20bn-*/1$i.webm "$1/train/$3"
        cp clips/20bn-*/2$i.webm "$1/validation/$2"
        cp clips/20bn-*/3$i.webm "$1/validation/$3"
    done
}
make_sorted updown up down
make_sorted upleft up left
one='--epochs 1 --threads 1 --batch 4'
teach() { says "$1" "$2" $train tiny.net --data $3 $one "${@:4}"; }
teach 0 'teacher.ctt written' updown -o teacher.ctt
teach 0 'taught.ctt written' updown -o taught.ctt --teacher teacher.ctt
teach 0 'alone.ctt written' updown -o alone.ctt --teacher teacher.ctt --distil 0
cmp -s taught.ctt alone.ctt && fail "a teacher makes no difference"
teach 1 "the teacher's class 0 is 'down', that of the data 'left'" upleft \
    -o new.ctt --teacher teacher.ctt
teach 1 'the teacher answers 12 classes, the data has 2' updown -o new.ctt \
    --teacher whole.ctt
teach 1 'nothere' updown -o new.ctt --teacher nothere
teach 1 'tiny.net: not a model file' updown -o new.ctt --teacher tiny.net
teach 2 'distil requires --teacher' updown -o new.ctt --distil 0.5
teach 2 'distil-temperature requires --teacher or' updown -o new.ctt \
    --distil-temperature 2
teach 0 'a.ctt written' updown -o a.ctt --self-distil 0.5 --distil-temperature 2
cmp -s a.ctt alone.ctt && fail "a model's own answers make no difference"
# Several of them, of which one is larger; the model goes on from a checkpoint.
sed 's/^conv y /conv more in=h out=24\nconv y /' tiny.net > large.net
says 0 'large.ctt written' $train large.net --data updown $one -o large.ctt
teach 0 'two.ctt written' updown -o two.ctt --teacher teacher.ctt,large.ctt
cmp -s two.ctt taught.ctt && fail "a second teacher makes no difference"
teach 0 'a.ctt written' updown -o a.ctt --teacher teacher.ctt,teacher.ctt
cmp -s a.ctt two.ctt && fail "another second teacher makes no difference"
says 3 'looks|^ *check' $train tiny.net --data updown $one --doctor \
    --teacher teacher.ctt,large.ctt
teach 2 'an empty name' updown -o new.ctt --teacher teacher.ctt,
teach 2 'given for two files' updown -o large.ctt \
    --teacher teacher.ctt,large.ctt
teach 1 'are more than the whole loss' updown -o new.ctt --teacher teacher.ctt \
    --self-distil 0.5
teach 2 'self-distil: there is no answer before the end' updown -o new.ctt \
    --self-distil 0.5 --observe 1
[ ! -e new.ctt ] || fail "what was refused is written"

# Layers that stay, and learning rates by name.
teach 0 'a.ctt written' updown -o a.ctt --init teacher.ctt --freeze 'e,h' \
    --lr-scale 'y=2'
teach 0 '[0-9] of [0-9] weights taken from whole.ctt; new: y$' updown -o a.ctt \
    --init whole.ctt --freeze 'e,h'
teach 2 "freeze: 'q' matches no node" updown -o new.ctt --freeze q
teach 2 "lr-scale: 'q' matches no node" updown -o new.ctt --lr-scale q=2
teach 2 'freeze requires --dsd=0' updown -o new.ctt --freeze e --dsd 0.3
[ ! -e new.ctt ] || fail "what was refused is written"

# The share of dense-sparse-dense training.
teach 0 'a.ctt written' updown -o a.ctt --dsd 0.99 --batch 1
teach 1 '3 steps are too few' updown -o new.ctt --dsd 0.99
for bad in 1 -0.1 nan inf x; do
    teach 2 "dsd: bad value '$bad'" updown -o new.ctt --dsd $bad
done
teach 2 'could end the run before the phases of --dsd' updown -o new.ctt \
    --dsd 0.3 --early-stop 2
teach 2 'could end the run before the phases of --dsd' updown -o new.ctt \
    --dsd 0.3 --time-limit 60
[ ! -e new.ctt ] || fail "what was refused is written"

# The cosine ends with the time, also where a run is stopped and goes on.
limit="$train tiny.net --data clips -o time.ctt --epochs 100000 --batch 4
       --threads 1 --val-every 100000 --checkpoint time.ckpt --lr 0.01
       --warmup 0 --log-csv time.csv"
$limit --time-limit 0.1 > log 2>&1 < /dev/null & pid=$!
for _ in $(seq "$ticks"); do
    awk -F, 'NR > 1 { last = $3 } END { exit !(NR > 1 && last < 0.006) }' \
        time.csv 2> /dev/null && break
    kill -0 $pid 2> /dev/null || break
    sleep 0.05
done
kill -INT $pid
wait $pid && fail "stopped with status 0: $(cat log)"
before=$(wc -l < time.csv)
says 0 'time.ctt written' $limit --time-limit 0.05 --resume
awk -F, -v before="$before" 'NR > 2 && $3 > last { rises = 1 }
    { last = $3; if (NR == before) then = $3 }
    END { exit !(NR > before && before > 2 && !rises && then < 0.006 &&
                 then > 0.0005 && last < 0.0005) }' time.csv ||
    fail "the rate and the time: $before $(cut -d, -f 1-3 time.csv |
                                           sed -n '1,3p;$p')"

# 6. mean=auto and std=auto: the model holds numbers, a resumed run the same.
sed 's/mean=[^ ]* std=[^ ]*/mean=auto std=auto/' tiny.net > auto.net
auto="$train auto.net --data clips --epochs 2 --batch 4 --threads 1
      --random-gamma 0.5"
says 0 '^input: mean=0\.4[0-9,.]* std=0\.[0-9,.]*, with what was auto' \
    $auto -o auto.ctt
says 0 '^input x .*mean=0\.4[0-9]*,0\.[0-9]*,0\.[0-9]* std=0\.1' \
    "$bin/convtt-info" --net auto.ctt
"$bin/convtt-data" pack clips -o auto.pack --model auto.net > out 2>&1 ||
    fail "a pack for auto.net: $(cat out)"
says 0 'clips' "$bin/convtt-info" auto.pack
says 0 'std=auto' "$bin/convtt-info" auto.net
says 0 'ms' "$bin/convtt-infer" --bench auto.net --threads 1
$auto -o again.ctt --checkpoint-every 1 --max-steps 12 --checkpoint auto.ckpt \
    > log 2>&1 || fail "auto: $(cat log)"
$auto -o again.ctt --resume --checkpoint auto.ckpt > log 2>&1 ||
    fail "auto, resumed: $(cat log)"
grep -q 'measured' log && fail "a resumed run measures again"
says 1 'the checkpoint is of another model' $next next.net -o again.ctt \
    --resume --checkpoint auto.ckpt
"$bin/convtt-info" --net again.ctt > again.txt
"$bin/convtt-info" --net auto.ctt | cmp -s - again.txt ||
    fail "a resumed run has another input line"

# With a gamma the values after it are measured: squares of about 0.45.
sed 's/mean=[^ ]* std=[^ ]*/mean=auto std=auto gamma=2/' tiny.net > square.net
says 0 '^input: mean=0\.2[0-9]*,0\.2' "$train" square.net --data clips \
    --max-steps 1 -o square.ctt

# normalise=clip: what is trained is what a stream sees.
sed 's/mean=[^ ]* std=[^ ]*/normalise=clip/' tiny.net > light.net
says 0 'written' $train light.net --data clips --epochs 2 --batch 4 --lr 0.02 \
    --brightness 0.3 --contrast 0.2 --random-gamma 0.2 -o light.ctt
says 0 '^input x .*colour=rgb normalise=clip$' "$bin/convtt-info" --net \
    light.ctt
last='s/"file":\("[^"]*"\).*\("top":.*\),"ms".*/\1 \2/p'
"$bin/convtt-infer" light.ctt clips --split validation --json --observe 1 \
    --device ref | sed -n "$last" > whole
"$bin/convtt-infer" light.ctt clips --split validation --json --every 1000 \
    --device ref | sed -n "$last" > stream
[ -s whole ] && cmp whole stream || fail "a stream answers otherwise"
grep -q '^warning: light' err && fail "normalise=clip: $(cat err)"
says 3 '^light +fine +pixels of .*normalise=clip makes them 0 and 1' $train \
    light.net --data clips --lr 0.01 --brightness 0.6 --contrast 0.2 --doctor \
    --report-html light.html
says 0 'ms' "$bin/convtt-infer" --bench light.ctt --threads 1 --runs 20
says 1 'x: a model that predicts frames needs normalise=set' $train \
    <(sed 's/mean=[^ ]* std=[^ ]*/normalise=clip/' next.net) --data clips \
    --task predict --input-frames 3 --future-frames 2 -o no.ctt
says 1 'leave mean= and std= out' $train <(sed 's/ fps/ normalise=clip fps/' \
    tiny.net) --data clips -o no.ctt

# The doctor looks at the weights that --init gives: their first loss.
doctor="$train tiny.net --data clips --threads 1 --doctor"
$train tiny.net --data clips --threads 1 --batch 4 --epochs 12 --lr 0.01 \
    -o known.ctt > log 2>&1 || fail "$(cat log)"
first() { sed -n 's/^first loss .* loss \([0-9.]*\);.*/\1/p' out; }
$doctor > out 2>&1; new=$(first)
$doctor --init known.ctt > out 2>&1; taken=$(first)
[ -n "$taken" ] && awk "BEGIN { exit !($taken < $new - 0.2) }" ||
    fail "the doctor's first loss: $taken with --init, $new without"

# 7. --doctor: a table, a picture, and status 3 if something looks wrong: few
# clips of a class.
says 3 '^light +fine +pixels \(0 to 1\) of mean' $train tiny.net \
    --data clips --batch 8 --lr 0.01 --brightness 0.6 --contrast 0.2 --doctor \
    --report-html s.html
grep -q '^1 of 17 checks found a problem' out || fail "doctor: $(cat out)"
grep -qE '^classes +wrong +12 classes with .*; few: .* [0-9]+, ' out ||
    fail "doctor: $(cat out)"
grep -Eq '^frame rate +fine +clips of 12 frames per second are read at' out ||
    fail "no rate of the files: $(cat out)"
grep -q '^one batch .* steps on the same 8 clips' out || fail "no steps"
grep -Eq '^changes +fine +crop-area=0.8 .*contrast=0.2 ' out ||
    fail "doctor does not say what augmentation does: $(cat out)"
[ "$(grep -c '<img alt="frame [12] of 2"' s.html)" = 32 ] &&
    grep -q '>fine</td>.*frames per second' s.html || fail 'no page of checks'
mkdir -p own/a own/b
mapfile -t files < <(ls clips/20bn*/*.webm)
cp "${files[@]:0:6}" own/a && cp "${files[@]:6:6}" own/b
printf 'no clip' > own/a/bad.webm
"$bin/convtt-train" tiny.net --data own --doctor > out 2>&1
grep -qE '^clips skipped +wrong +1 clip could not be read' out ||
    fail "a bad clip: $(cat out)"
sed 's/mean=[^ ]*/mean=3/' tiny.net > far.net
says 3 '^light +wrong' $train far.net --data clips --doctor --lr 0.01
grep -q '^warning: light: fix: mean=auto std=auto' out ||
    fail "doctor: $(cat out)"
"$train" far.net --data clips -o far.ctt --max-steps 1 > out 2> err ||
    fail "far.net: $(cat err)"
grep -q '^warning: light: .* fix: mean=auto' out || fail "no warning"
says 3 '^in both parts +wrong' $train tiny.net --data clips --val clips \
    --val-split train --doctor --lr 0.01
grep -qE '^an accuracy on 36 validation clips is known to within 16 points or '\
'better' out || fail "few clips: $(cat out)"
says 2 '--doctor excludes --resume' $train tiny.net --data clips --doctor \
    --resume --checkpoint auto.ckpt
says 1 '/nowhere/s.html: cannot write' $train tiny.net --data nothere \
    --doctor --report-html /nowhere/s.html
says 1 'tiny.net: is there already and is no report' $train auto.net \
    --data nothere --doctor --report-html tiny.net
says 2 'given for two files' $train tiny.net --data clips --doctor \
    --report-html tiny.net
says 2 'random-gamma: bad value .5' $train tiny.net --data clips -o a \
    --random-gamma 5
says 3 '^first loss +fine +loss [0-9.]+$' $next next.net --doctor \
    --max-steps 0 --lr 1e-9

# 8. Bad input: one line, the right status.
says 2 'unknown option .--epoch' $train tiny.net --epoch 3
says 2 'epochs: bad value .x' $train tiny.net --epochs x
says 2 'momentum requires .* or --optimizer=lars or --optimizer=larc$' \
    $train tiny.net -o a --data clips --momentum 0.8
says 2 'trust requires --optimizer=lars or --optimizer=larc$' $train tiny.net \
    -o a --data clips --trust 0.1
says 2 'beta2 requires .* or --optimizer=rmsprop$' $train tiny.net -o a \
    --data clips --optimizer adagrad --beta2 0.9
says 2 'gamma requires --schedule=step or' $train tiny.net -o a --data clips \
    --gamma 0.5
says 2 'no model text' $train -o a --data clips
says 2 'OUT must be given' $train tiny.net --data clips
says 2 'PATH must be given' $train tiny.net -o a
says 1 'nothere' $train nothere.net -o a --data clips
says 1 'nothere' $train tiny.net -o a --data nothere
says 1 '^convtt-train: nothere: no such' $train tiny.net -o a --data clips \
    --test nothere
grep -q '^training: ' out && fail '--test is missed after --data was read'
says 0 '^warning: .*whole.ctt is a model already' $train tiny.net \
    --data clips -o whole.ctt --max-steps 1
says 1 'nothere' $train tiny.net -o a --data clips --resume --checkpoint nothere
says 1 'no checkpoint' $train tiny.net -o a --data clips --resume \
    --checkpoint whole.ctt
echo 'input x h=16' > bad.net
says 1 'bad.net' $train bad.net -o a --data clips
mkdir empty
says 1 'empty' $train tiny.net -o a --data empty
says 1 '/nowhere/a' $train tiny.net -o /nowhere/a --data clips --max-steps 1
says 2 'no command' "$bin/convtt-data"
says 2 "no command 'x'" "$bin/convtt-data" x
says 2 'takes one path' "$bin/convtt-data" list
says 2 'no model given' "$bin/convtt-info"
says 1 'nothere' "$bin/convtt-info" nothere
mv clips/validation.json good.json
echo '[' > clips/validation.json
says 1 'validation.json:' "$bin/convtt-data" check clips
says 1 'validation.json:' $train tiny.net -o a --data clips --max-steps 1
mv good.json clips/validation.json
echo 'no video' > clips/20bn-something-something-v2/1.webm
says 1 '60 clips, 1 bad' "$bin/convtt-data" check clips
says 1 '1.webm' $train tiny.net -o a --data clips --strict
says 2 'size: 97 is not even' "$bin/convtt-data" synth odd --size 97
says 1 'bad.net: ' "$bin/convtt-data" pack clips -o b.pack --model bad.net
[ ! -w /dev/full ] ||
    says 1 'output cannot be written' \
        bash -c '"$1" --ops > /dev/full' - "$bin/convtt-info"
for t in convtt-train convtt-data convtt-info; do
    says 0 '^Usage: ' "$bin/$t" --help
    says 0 '^convtt [0-9]' "$bin/$t" --version
done
[ $failed = 0 ] && echo "the tools do as they are told"
exit $failed
