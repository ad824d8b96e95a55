# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
# common.sh DATA: common part of the records: the folders $src, $build, $work
# and $dir, where the data is, $threads, and how MNIST is trained and tested.
# Environment: BUILD, THREADS, KEEP.
dir=$(cd "${1:?"the folder of the data must be given"}" && pwd) || exit 2
. "$(dirname "$0")/begin.sh" convtt-train
threads=${THREADS:-2}
if [ -n "${KEEP:-}" ]; then
    mkdir -p "$KEEP" && work=$(cd "$KEEP" && pwd) || exit 2
else
    work=$(mktemp -d) || exit 2
    trap 'rm -rf "$work"' EXIT
fi

# MNIST: batches and loss of a picture, not of a video.
data=digits:$dir
common="--batch 128 --val-batch 500 --observe 1 --clip-norm 0 --augment off"

# Prints the retraining options among options of convtt-compress: --budget
# leaves them to the user.
retraining() {
    local kept=
    while [ $# -gt 0 ]; do
        case $1 in
        --retrain-epochs | --share-epochs | --lr | --weight-decay | --distil)
            kept+="$1 $2 "
            shift ;;
        esac
        shift
    done
    echo "$kept"
}

calc() { awk "BEGIN { $1 }"; }

# The error of a model on the test pictures, in percent.
error_of() {
    local right
    right=$("$build/convtt-infer" --json --split test --observe 1 \
        --threads "$threads" "$1" "$data" 2> "$work/infer.log" | tail -n 1 |
        sed -n 's/.*"seen":1,"clips":10000,"top1":\([0-9.e-]*\).*/\1/p')
    [ -n "$right" ] || die "$1 was not tested: $(tail -n 1 "$work/infer.log")"
    calc "printf \"%.2f\", 100 * (1 - $right)"
}
