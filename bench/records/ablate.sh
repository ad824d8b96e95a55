#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ablate.sh DIR: effect of each part of training on early recognition with few
# clips: optimiser, schedule, augmentation, norms, losses, what the input line
# says, each changed alone.  The clips of train_list.txt in DIR (lines "path
# label") are cut into four blocks of neighbours; each block is tested by a
# model of the other three, at the last epoch, so no choice depends on a tested
# clip, and every clip of the list is tested once.  Prints top-1 after 25, 50
# and 100% of a clip over all of them and their mean, the difference of the mean
# to the first row, and its standard error over the clips, as both rows answer
# the same ones.
# BUILD=FOLDER: the build folder (build).  MODEL=early-convttlstm.  EPOCHS=15.
# SEED=1.  THREADS=1.  ROWS="NAME,...": only these, and the first.  A row whose
# change leaves the model's text as it is, or makes no model of it, is left out
# with a word.
# NETS=conv3d: networks of bench/peers/recognise.py beside them, on differences
# of frames as the model's, with PYTHON=venv/bin/python.
# KEEP=FOLDER: models and answers stay there, and are not made again.
set -u
export THREADS=${THREADS:-1}
# shellcheck source=bench/records/common.sh
. "$(dirname "$0")/common.sh"
model=${MODEL:-early-convttlstm}
epochs=${EPOCHS:-15}
seed=${SEED:-1}

# NAME | options of convtt-train | how the model's text is changed
rows='
as it is                  |
optimizer adam            | --optimizer adam
optimizer sgd at lr 0.05  | --optimizer sgd --lr 0.05
schedule constant         | --schedule constant
schedule step             | --schedule step --step-epochs 6
ema 0.99                  | --ema 0.99 --pick ema-last
augment off               | --augment off
augment strong            | --augment strong
rand-augment 2, magnitude 5 | --rand-augment 2 --magnitude 5
rand-augment 2, magnitude 9 | --rand-augment 2 --magnitude 9
crops alone               | --augment off --crop-area 0.6
speed and start alone     | --augment off --speed 1.4 --start 0.2
brightness and contrast   | --augment off --brightness 0.5 --contrast 0.2
crop of the frame alone   | --augment off --jitter
gamma alone               | --augment off --random-gamma 0.3
saturation alone          | --augment off --saturation 0.4
grey alone                | --augment off --grey 0.2
erase                     | --erase 0.5
mixup                     | --mixup 0.2
cutmix                    | --cutmix 1
mixup and cutmix          | --mixup 0.2 --cutmix 1
sampler balanced          | --sampler balanced
class weights balanced    | --class-weights balanced
self-distillation         | --self-distil 0.3
loss at the end alone     | --observe 1
norm layer                | | s/kind=batch/kind=layer/
no norm                   | | without norms
first difference zero     | | s/^state *p .*/state p of=x fill=first/
window begins with first  | | /^window/s/$/ fill=first/
window spread over all    | | /^window/{s/ every=[0-9]*//;s/$/ spread=1/}
pictures for differences  | | s/of=x/of=x delay=64/
lr 0.003                  | --lr 0.003
lr 0.0003                 | --lr 0.0003
weight decay 0.02         | --weight-decay 0.02
optimizer sgd at lr 0.001 | --optimizer sgd
without warm-up           | --warmup 0
flip                      | --flip
label smoothing           | --label-smooth 0.1
loss of all frames        | --frame-loss all
normalise=clip            | | s/mean=[0-9.]* std=[0-9.]*/normalise=clip/
mean and std measured     | | s/mean=[0-9.]* std=[0-9.]*/mean=auto std=auto/
'

# block1.txt .. block4.txt: neighbours by name, of each class a quarter.
blocks() {
    sort "$dir/train_list.txt" | awk -v dir="$dir" -v work="$work" '
        { k = $NF; line[k, ++n[k]] = dir "/" $0 }
        END { for (k in n)
                  for (i = 1; i <= n[k]; i++)
                      print line[k, i] > (work "/block" \
                          int((i - 1) * 4 / n[k]) + 1 ".txt") }'
    for b in 1 2 3 4; do
        for other in 1 2 3 4; do
            [ $b = $other ] || cat "$work/block$other.txt"
        done > "$work/others$b.txt"
        for set in block others; do
            [ -e "$work/$set$b.h5" ] ||
                "$build/convtt-data" pack "$work/$set$b.txt" \
                    -o "$work/$set$b.h5" --model "$src/models/$model.net" \
                    > "$work/pack.log" 2>&1 ||
                die "$(tail -n 1 "$work/pack.log")"
        done
    done
}

# A line "block clip share right" for each answer; a clip has one a share.
answers() {     # FILE BLOCK
    "$build/convtt-infer" --json --threads "$threads" --observe 0.25,0.5,1 \
        "$1" "$work/block$2.h5" 2> "$work/infer.log" |
        awk -v block="$2" -F '"' 'BEGIN { split("0.25 0.5 1", share, " ") }
            $2 == "file" && $12 == "label" {
                print block, $4, share[++n[$4]], ($14 == $20) }'
}

# What read a norm reads what that read, which gets a bias in its place.
without_norms() {
    awk 'FNR == NR { if ($1 == "norm") { split($3, of, "="); to[$2] = of[2]
                                         bare[of[2]] = 1 }
                     next }
         $1 == "norm" { next }
         { if ($2 in bare) sub(/ bias=0/, "")
           for (i = 3; i <= NF; i++) {
               n = split($i, at, /[=,]/); line = at[1]
               for (k = 2; k <= n; k++)
                   line = line (k == 2 ? "=" : ",") \
                       (at[k] in to ? to[at[k]] : at[k])
               $i = line }
           print }' "$1" "$1"
}

# The changed text in FILE.net; fails if it is none, or no other one.
edit_text() {   # FILE EDIT
    local text=$src/models/$model.net
    case $2 in
    "without norms") without_norms "$text" > "$1.net" ;;
    *) sed -e "$2" "$text" > "$1.net" ;;
    esac
    [ -z "$2" ] && return
    ! cmp -s "$1.net" "$text" &&
        "$build/convtt-info" "$1.net" > "$1.info" 2>&1
}

row() {         # NAME OPTIONS EDIT: its answers in FILE.answers
    local name=$1 options=$2 edit=$3 b file
    file=$work/$(echo "$name" | tr -c 'a-z0-9\n' -)
    edit_text "$file" "$edit" ||
        { echo "$name: not for this model" >&2; return; }
    for b in 1 2 3 4; do
        [ -s "$file.$b.answers" ] && continue
        # shellcheck disable=SC2086
        "$build/convtt-train" "$file.net" -o "$file.$b.h5" --seed "$seed" \
            --data "$work/others$b.h5" --val "$work/block$b.h5" --pick last \
            --epochs "$epochs" --val-every "$epochs" --threads "$threads" \
            $options > "$file.$b.log" 2>&1 ||
            die "$name: $(tail -n 1 "$file.$b.log")"
        answers "$file.$b.h5" "$b" > "$file.$b.answers"
    done
    cat "$file".[1-4].answers > "$file.answers"
    say "$name" "$file.answers"
}

# Paired by clip: the mean over the shares, its difference to the first row.
say() {         # NAME ANSWERS
    awk -v name="$1" '
        FNR == NR { base[$1, $2] += $4; next }
        { right[$3] += $4; n[$3]++; mine[$1, $2] += $4; seen[$3] = 1 }
        END { for (k in mine) {
                  d = (mine[k] - base[k]) / 3; s += d; q += d * d
                  all += mine[k] / 3; m++ }
              printf "%-26s", name
              for (i = 1; i <= 3; i++) {
                  k = (i == 1 ? "0.25" : i == 2 ? "0.5" : "1")
                  printf " %5.1f", 100 * right[k] / (n[k] ? n[k] : 1) }
              printf "   %5.1f   %+5.1f (%.1f)\n", 100 * all / m,
                  100 * s / m,
                  100 * sqrt((q / m - (s / m) ^ 2) / (m - 1)) }' \
        "$work/as-it-is.answers" "$2"
}

peers() {
    local b net
    for net in ${NETS:-}; do
        for b in 1 2 3 4; do
            "${PYTHON:-python3}" "$src/bench/peers/recognise.py" \
                "$work/others$b.h5" "$work/block$b.h5" --nets "$net" \
                --seeds "$seed" --epochs "$epochs" --threads "$threads" \
                --differences || die "recognise.py"
        done | awk -v net="$net" -F '[][, ]+' '{
            for (i = 1; i <= NF; i++) if ($i ~ /"top1"/) at = i
            for (k = 1; k <= 3; k++) sum[k] += $(at + k) }
            END { printf "%-26s", "PyTorch " net
                  for (k = 1; k <= 3; k++) printf " %5.1f", sum[k] / NR
                  printf "   %5.1f\n", (sum[1] + sum[2] + sum[3]) / NR / 3 }'
    done
}

blocks
printf '%-26s %5s %5s %5s   %5s   %s\n' "$model, $epochs epochs" 25% 50% 100% \
    mean 'difference (standard error)'
echo "$rows" | while IFS='|' read -r name options edit; do
    name=$(echo $name)
    [ -n "$name" ] || continue
    edit=$(sed 's/^ *//;s/ *$//' <<< "$edit")
    case ",as it is,${ROWS:-$name}," in
    *",$name,"*) row "$name" "$options" "$edit" ;;
    esac
done
peers
