# SPDX-License-Identifier: Apache-2.0
# CTT_ONEDNN: fast convolutions; ONEDNN_CFLAGS, ONEDNN_LIBS, ONEDNN_RPATH (for
# libtool), HAVE_ONEDNN.  Without it our own kernels are used.  Debian's 2.6
# has no pkg-config file; API 3 is wherever the user unpacked it.  --disable-train does without unless it is asked for.
AC_DEFUN([CTT_ONEDNN],
  [AC_ARG_WITH([onednn],
    [AS_HELP_STRING([--with-onednn=DIR|no],
      [oneDNN 2.6 or 3 below DIR (include, lib)])],
    [], [with_onednn=$enable_train])
  ONEDNN_CFLAGS= ONEDNN_LIBS= ONEDNN_RPATH= ctt_onednn=no
  AS_IF([test "x$with_onednn" != xno],
    [AS_IF([test "x$with_onednn" != xyes],
      [AS_IF([test ! -e "$with_onednn/include/dnnl.h"],
        [AC_MSG_ERROR([--with-onednn: no $with_onednn/include/dnnl.h])])
      ONEDNN_CFLAGS="-isystem $with_onednn/include"
      ONEDNN_LIBS="-L$with_onednn/lib"
      ONEDNN_RPATH="-R $with_onednn/lib"])
    CTT_ONEDNN_TRY])
  AC_SUBST([ONEDNN_CFLAGS])
  AC_SUBST([ONEDNN_LIBS])
  AC_SUBST([ONEDNN_RPATH])
  AM_CONDITIONAL([ONEDNN], [test "x$ctt_onednn" != xno &&
                            test "x$ctt_onednn" != xmissing])])

AC_DEFUN([CTT_ONEDNN_TRY],
  [ctt_save_LIBS="$LIBS"
  ctt_save_CPPFLAGS="$CPPFLAGS"
  LIBS="$ONEDNN_LIBS -ldnnl $LIBS"
  CPPFLAGS="$CPPFLAGS $ONEDNN_CFLAGS"
  AC_MSG_CHECKING([for oneDNN])
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <dnnl.h>
      #if DNNL_VERSION_MAJOR < 2
      #error too old
      #endif]], [[return !dnnl_version();]])],
    [ONEDNN_LIBS="$ONEDNN_LIBS -ldnnl"
    AC_COMPUTE_INT([ctt_major], [DNNL_VERSION_MAJOR], [#include <dnnl.h>])
    AC_COMPUTE_INT([ctt_minor], [DNNL_VERSION_MINOR], [#include <dnnl.h>])
    ctt_onednn="$ctt_major.$ctt_minor"
    AC_DEFINE([HAVE_ONEDNN], [1], [Define if oneDNN computes convolutions.])],
    [ctt_onednn=missing
    CTT_NEED([oneDNN, or configure --with-onednn=no], [libdnnl-dev])])
  AC_MSG_RESULT([$ctt_onednn])
  LIBS="$ctt_save_LIBS"
  CPPFLAGS="$ctt_save_CPPFLAGS"])
