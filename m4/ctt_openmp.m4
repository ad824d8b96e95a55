# SPDX-License-Identifier: Apache-2.0
# CTT_OPENMP: threads inside kernels; OPENMP_CFLAGS.
AC_DEFUN([CTT_OPENMP],
  [AC_OPENMP
  ctt_openmp="$OPENMP_CFLAGS"
  AS_IF([test -z "$OPENMP_CFLAGS"],
    [ctt_openmp=missing
    CTT_NEED([a C compiler with OpenMP], [gcc])])])
