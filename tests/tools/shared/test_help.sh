#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test_help.sh: --help, --help=all and the manual page of every program.
set -u
tools='convtt-compress convtt-data convtt-infer convtt-info convtt-train'
. "${srcdir:-.}/tests/lib/cli.sh"

# ask WORD...: what the program says is left in `out`; wide lines are refused.
ask() {
    "$bin/$1" "${@:2}" > out 2> err || fail "$*: status $?: $(head -3 err)"
    [ ! -s err ] || fail "$*: says on stderr: $(cat err)"
    grep -nE '^.{81}' out && fail "$*: more than 80 columns"
}
# The names of the options in a help text, and in a manual page.
in_help() { grep -oE '^  (-.,|   ) --[a-z0-9-]+' "$1" | grep -oE -- '--.*'; }
in_page() {
    sed 's/\\f[BIR]//g; s/\\-/-/g' "$1" |
        grep -A 1 '^\.TP' | grep -oE -- '--[a-z0-9-]+'
}

# 1. The page and --help=all have the same options, --help some of them.
for t in $tools; do
    ask $t --help
    mv out help
    grep -q "^Usage: $t" help || fail "$t --help: no usage line"
    ask $t --help=all
    mv out all
    "$bin/$t" --help=man > page || fail "$t --help=man: status $?"
    in_page page | sort > want
    in_help all | grep -vE '^--(help|version)$' | sort > got
    [ -s want ] || fail "$t: the page has no options"
    tr -s ' \n' '  ' < all | grep -oE 'excludes --[a-z-]+, excludes' |
        sed "s/^/FAILED: $t: twice in a list: /" | grep . && failed=1
    twice=$(uniq -d want)
    # Commands of one program have options of their own.
    [ -z "$twice" ] || [ $t = convtt-data ] ||
        fail "$t: two options have the name $twice"
    cmp -s want got || fail "$t: the page is not --help=all: $(diff want got)"
    in_help help | while read -r o; do
        grep -qxe "$o" want || [ "$o" = --help ] || [ "$o" = --version ] ||
            echo "$o"
    done > more
    [ ! -s more ] || fail "$t --help has more than --help=all: $(cat more)"
    sed -n '/^.SH INDEX BY TASK/,/^.SH [^I]/p' page | sed 's/\\-/-/g' |
        grep -oE -- '--[a-z0-9-]+' | sort -u > named
    comm -23 named want | grep . && fail "$t: its index names no option"
    case $t in
    convtt-train | convtt-compress | convtt-infer)
        [ "$(wc -l < named)" -ge 10 ] || fail "$t: no index by task" ;;
    esac
    cp page "$t.1"
done

# 2. --help shows about eight options, in two lines each at most, and says how
# many there are; a section of --help=all is shown by its name, or by enough of
# it.
for t in convtt-train convtt-compress convtt-infer convtt-info; do
    ask $t --help
    n=$(in_help out | grep -vcE '^--(help|version)')
    [ "$n" -ge 7 ] && [ "$n" -le 10 ] || fail "$t --help: $n options"
    [ "$(wc -l < out)" -le 45 ] || fail "$t --help: $(wc -l < out) lines"
    n=$(in_page $t.1 | wc -l)
    grep -q -e "--help=all lists all $n options; man $t" out ||
        fail "$t --help: does not say that there are $n options"
done

ask convtt-train --help=mixed
mv out short
ask convtt-train --help=Mixed-precision
cmp short out || fail '--help=mixed is not --help=Mixed-precision'
"$bin/convtt-train" --help=all |
    sed -n '/^Mixed precision:/,/^$/p' | sed '$d' > want
sed 1d out | cmp - want || fail '--help=mixed is not a section of --help=all'
says 2 'no section of that name; there are all, data, .*mixed-precision' \
    "$bin/convtt-train" --help=nonsense
for t in $tools; do
    "$bin/$t" --help=bash > complete && bash -n complete ||
        fail "$t --help=bash: no script of bash"
    type zsh > where 2>&1 || continue
    "$bin/$t" --help=zsh > complete && zsh -n complete ||
        fail "$t --help=zsh: no script of zsh"
done
completes() {   # completes WANTED WORD...: bash offers these for the last word
    local want=$1 got
    got=$(. <("$bin/$2" --help=bash); COMP_WORDS=("${@:2}")
          COMP_CWORD=$(($# - 2)); compopt() { :; }
          "_$(echo "$2" | tr - _)" "$2" "${*: -1}" "${@: -2:1}"
          echo "${COMPREPLY[*]}")
    [ "$got" = "$want" ] || fail "${*:2}: completed by '$got', not '$want'"
}
completes '--optimizer=' convtt-train --opti
completes 'adam adamw' convtt-train --optimizer = adam
completes 'sgd adam adamw nesterov rmsprop adagrad lars larc' convtt-train \
    --optimizer =
completes 'synth' convtt-data sy

# 3. Sections, in their order; a row with a misspelt one would add another.
sections() {    # sections PROGRAM HEADING...
    ask "$1" --help=all
    local want
    want=$(printf '%s:\n' "${@:2}" Help)
    [ "$(grep -E '^[A-Z][A-Za-z ]*:$' out)" = "$want" ] ||
        fail "$1: the sections are $(grep -E '^[A-Z][A-Za-z ]*:$' out)"
}
trainer='Memory Device Limits Output'
sections convtt-train Data 'Augmentation in training' Model Optimiser \
    Validation Search 'Early observation' \
    Prediction 'Mixed precision' $trainer
sections convtt-compress Thinning SVD 'Tensor trains' Pruning Folding Sharing \
    Rounding Choices Retraining Sensitivity Explanation Budget Data \
    'Augmentation in training' Model Optimiser Validation 'Early observation' \
    'Mixed precision' $trainer
sections convtt-infer Recognition Decision Prediction Stream Measuring Data \
    Device Limits Output
sections convtt-info 'What to show' Data Device 'Other programs' Limits \
    Output

# 4. What stands in a row: letter, choices, conditions, default.
says 0 '^  -j, --workers=N +threads that decode clips \[2\]$' \
    "$bin/convtt-train" --help=all
choices='sgd|adam|adamw|nesterov|rmsprop|adagrad|lars|larc'
says 0 "^      --optimizer=${choices//|/\\|}$" "$bin/convtt-train" --help=all
says 0 '--input-frames=N .* sequence \(requires$' "$bin/convtt-train" --help=all
out='^  -o, --out=FILE +the pack \(required\)$'
says 0 "$out" "$bin/convtt-data" pack --help
says 0 "$out" "$bin/convtt-data" --help=all
says 2 "no section of that name; there are all" "$bin/convtt-train" --help=x
# A condition on an option that the program does not have is not shown.
"$bin/convtt-compress" --help=all | grep -e --task && fail "compress has --task"
"$bin/convtt-train" --help=man | grep -qx 'Requires \\-\\-device=cuda\.' ||
    fail "the page does not say what --streams requires"
[ "$("$bin/convtt-data" --help=man | grep -c '^\.SS')" = 6 ] ||
    fail "the page of convtt-data has not six commands"

# 5. Pages that are read first name only options of the programs and of
# configure.
root=$(cd "$bin" && cd "${srcdir:-.}" && pwd)
for t in $tools; do "$bin/$t" --help=all; done > every 2> err
(cd "$root" && cat README.md doc/train.md doc/data.md doc/compress.md) |
    grep -oE -- '(^|[ `(])--[a-z0-9]+[a-z0-9-]*' | tr -d ' `(' | sort -u > named
[ "$(wc -l < named)" -gt 20 ] ||
    fail "few options in README.md and doc: $(cat named)"
while read -r o; do
    case $o in
    --with-* | --disable-* | --enable-* | --cflags | --libs | --full)
        continue ;;    # of configure, pkg-config and quickstart
    esac
    grep -qE -- "^  (-.,|   ) $o([^a-z0-9-]|\$)" every ||
        fail "README.md or doc: no program has $o"
done < named

# 6. The pages are good roff.
for t in $tools; do
    if type mandoc > lint 2>&1; then
        mandoc -T lint -W warning $t.1 > lint 2>&1 || fail "$t.1: $(cat lint)"
    else
        echo "not looked at: $t.1 by mandoc (not installed)"
    fi
    if type man > text 2>&1 && man -l $t.1 > text 2> err; then
        for heading in NAME SYNOPSIS DESCRIPTION 'EXIT STATUS' EXAMPLES \
            'SEE ALSO'; do
            grep -qx "$heading" text || fail "man $t: no $heading"
        done
    else
        echo "not looked at: $t.1 by man (no 'man -l')"
    fi
done
[ $failed = 0 ] && echo "the help says what there is"
exit $failed
