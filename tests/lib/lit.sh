# SPDX-License-Identifier: Apache-2.0
# lit.sh: streams of frames of one grey for the tests of convtt-infer --stream
# and --streams, and the model of lit.c for them, lit.h5, whose events they are;
# sourced after cli.sh.
infer=$bin/convtt-infer
raw="--raw 8x8xgray@10"

"$bin/tests/lib/lit" lit.h5 || exit 99
# N frames of a byte: dark, bright, and the background.
some() { head -c $((64 * $2)) /dev/zero | tr '\0' "$1"; }
dark() { some '\0' "$1"; }
bright() { some '\377' "$1"; }
gray() { some '\177' "$1"; }
is() {      # is WHAT GOT WANTED
    [ "$2" = "$3" ] || fail "$1: $2, not $3"
}
