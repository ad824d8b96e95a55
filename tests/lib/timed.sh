#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# timed.sh: runs a test for make check; the last line of its log says what it
# cost, which costs.sh reads.
#
# timed.sh COMMAND...
#
# What hangs without computing is ended after CTT_TEST_LIMIT seconds (3,600):
# many times what the longest test takes, on a busy machine too.
set -u
limit=${CTT_TEST_LIMIT:-3600}
TIMEFORMAT='cost: %U + %S s of CPU time, %R s'
time timeout --foreground -k 10 "$limit" "$@"
rc=$?
[ $rc != 124 ] && [ $rc != 137 ] || echo "status $rc; CTT_TEST_LIMIT=$limit" >&2
exit $rc
