# SPDX-License-Identifier: Apache-2.0
# CTT_CUNIT: the test programs; CUNIT_CFLAGS, CUNIT_LIBS.  Only make check
# needs it, and only in a build that trains.
AC_DEFUN([CTT_CUNIT],
  [PKG_CHECK_MODULES([CUNIT], [cunit],
    [ctt_cunit=`$PKG_CONFIG --modversion cunit`],
    [ctt_cunit="no (make check runs no C tests; libcunit1-dev brings it)"])
  AM_CONDITIONAL([CUNIT], [test -n "$CUNIT_LIBS" &&
                           test "x$enable_train" != xno])])
