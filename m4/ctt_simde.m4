# SPDX-License-Identifier: Apache-2.0
# CTT_SIMDE: AVX-512 emulated, for tests on other processors; HAVE_SIMDE.
AC_DEFUN([CTT_SIMDE],
  [AC_CHECK_HEADERS([simde/x86/avx512.h],
    [AC_DEFINE([HAVE_SIMDE], [1], [SIMDe: AVX-512 emulated.])])])
