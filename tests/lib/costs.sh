#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# costs.sh: what each test of a build folder cost when it ran last, longest
# first: seconds of CPU time, of wall time, and its result.
#
# costs.sh FOLDER
set -u
cd "$1" || exit 99
printf '%8s %8s  %-6s %s\n' 'CPU s' 'wall s' result test
find . -name '*.trs' | while read -r trs; do
    name=${trs#./}
    echo "$(sed -n 's/^:test-result: //p' "$trs") ${name%.trs}" \
        "$(grep '^cost: ' "${trs%.trs}.log" 2> /dev/null | tail -n 1)"
done | awk '{ gsub(",", ".")
              printf "%8.1f %8.1f  %-6s %s\n", $4 + $6, $11, $1, $2 }' |
    sort -k1,1nr -k2,2nr |
    awk '{ print; cpu += $1; wall += $2 }
         END { printf "%8.1f %8.1f  %-6s %d tests\n", cpu, wall, "all", NR }'
