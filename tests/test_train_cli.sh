#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_train_cli.sh: convtt-data, convtt-train and convtt-info as a person
# calls them: a run that is stopped by a signal and resumed, and what they say
# to bad input.
set -u
tools="convtt-data convtt-train convtt-info"
. "${srcdir:-.}/tests/cli.sh"

cat > tiny.net << 'END'
input x h=16 w=16 c=3 fps=6 mean=0.45 std=0.25
conv e in=x out=8 kernel=3 stride=2 pad=1
act f in=e kind=relu
convlstm h in=f hidden=8 kernel=3
pool p in=h kind=avg
conv y in=p out=12
END

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
resume= stops=0
for round in 1 2 3 4 5 6; do
    rm -f part.csv
    "$bin/convtt-train" $common -o part.ctt --log-csv part.csv $resume \
        > log 2>&1 < /dev/null & pid=$!
    for i in $(seq 400); do    # until it has begun
        [ -e part.csv ] && break
        sleep 0.02
    done
    sleep 0.0$round
    kill -TERM $pid 2> /dev/null
    wait $pid
    case $? in
    0) break ;;
    1) grep -q 'stopped after step' log || fail "stopped: $(cat log)"
       stops=$((stops + 1)) resume=--resume
       [ -e part.ctt.ckpt ] || fail "stopped without a checkpoint" ;;
    *) fail "a signal ended it: $(cat log)"; break ;;
    esac
    resume=--resume
done
[ -e part.ctt.ckpt ] && { train -o part.ctt --resume ||
                          fail "resumed: $(cat log)"; }
[ $stops -gt 0 ] || fail "no run was stopped in time"
cmp -s whole.ctt part.ctt || fail "a resumed run gives another file"
train -o packed.ctt --data t.pack --val clips || fail "packed: $(cat log)"
says 0 '^whole.ctt +[0-9]+' "$bin/convtt-info" whole.ctt part.ctt
says 0 'Moving something up' "$bin/convtt-info" whole.ctt
says 0 '^conv e in=x' "$bin/convtt-info" --net whole.ctt
says 0 'convttlstm' "$bin/convtt-info" --ops
says 0 'at 100%' "$bin/convtt-info" --data clips whole.ctt
"$bin/convtt-info" --strip small.ctt whole.ctt || fail "--strip"
says 0 'top-1' "$bin/convtt-train" --init whole.ctt -o more.ctt \
    --data clips --epochs 1
says 0 'of [0-9]+ weights taken' "$bin/convtt-train" tiny.net \
    --init whole.ctt -o more.ctt --data clips --max-steps 1
says 0 'y: out=12 is now 2' "$bin/convtt-train" tiny.net -o two.ctt \
    --data clips --classes <(printf 'Moving something up\n3\n') --max-steps 1

# 3. Bad input: one line, the right status.
train="$bin/convtt-train"
says 2 'unknown option .--epoch' $train tiny.net --epoch 3
says 2 'epochs: bad value .x' $train tiny.net --epochs x
says 2 'no model text' $train -o a --data clips
says 2 'OUT must be given' $train tiny.net --data clips
says 2 'PATH must be given' $train tiny.net -o a
says 1 'nothere' $train nothere.net -o a --data clips
says 1 'nothere' $train tiny.net -o a --data nothere
says 1 'nothere' $train tiny.net -o a --data clips --resume --checkpoint nothere
says 1 'is no checkpoint' $train tiny.net -o a --data clips --resume \
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
