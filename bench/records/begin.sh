# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
# begin.sh PROGRAM...: how a record begins: the folders $src and $build, the
# latter with these programs; mpirun may be root's.  A record ends with status 1
# if a bar was missed, 2 after a wrong use or a failure.
# Environment: BUILD.
die() { echo "$*" >&2; exit 2; }
src=$(cd "$(dirname "$0")/../.." && pwd)
build=$(cd "${BUILD:-build}" && pwd) || exit 2
for p in "$@"; do
    [ -x "$build/$p" ] || { echo "no $build/$p (make $p)"; exit 2; }
done
[ "$(id -u)" != 0 ] ||
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
