# SPDX-License-Identifier: Apache-2.0
# CTT_NEED(NAME, DEBIAN-PACKAGE): notes that NAME is missing.
# CTT_REQUIRED: stops with one line for each missing library, all at once.
AC_DEFUN([CTT_NEED],
  [ctt_missing="$ctt_missing
  $1 (Debian and Ubuntu: apt-get install $2)"])

AC_DEFUN([CTT_REQUIRED],
  [AS_IF([test -n "$ctt_missing"],
    [AC_MSG_ERROR([missing:$ctt_missing])])])
