# SPDX-License-Identifier: Apache-2.0
# CTT_LAPACKE: the compressor's SVD; LAPACKE_CFLAGS, LAPACKE_LIBS.  OpenBLAS is
# linked too: the system's -llapack may be the slow reference library.
AC_DEFUN([CTT_LAPACKE],
  [PKG_CHECK_MODULES([BLAS], [openblas],
    [ctt_blas="OpenBLAS `$PKG_CONFIG --modversion openblas`"],
    [ctt_blas=missing
    CTT_NEED([OpenBLAS], [libopenblas-openmp-dev])])
  ctt_save_LIBS="$LIBS"
  ctt_save_CPPFLAGS="$CPPFLAGS"
  LIBS="-llapacke $BLAS_LIBS $LIBS"
  CPPFLAGS="$CPPFLAGS $BLAS_CFLAGS"
  AC_CACHE_CHECK([for LAPACKE], [ctt_cv_lapacke],
    [AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <lapacke.h>]],
        [[return LAPACKE_sgesdd(LAPACK_ROW_MAJOR, 'S', 0, 0, 0, 1, 0, 0, 1,
                                0, 1);]])],
      [ctt_cv_lapacke=yes], [ctt_cv_lapacke=no])])
  LIBS="$ctt_save_LIBS"
  CPPFLAGS="$ctt_save_CPPFLAGS"
  ctt_lapacke="$ctt_cv_lapacke, with $ctt_blas"
  AS_IF([test "$ctt_cv_lapacke" = no],
    [CTT_NEED([LAPACKE], [liblapacke-dev])])
  AC_SUBST([LAPACKE_CFLAGS], ["$BLAS_CFLAGS"])
  AC_SUBST([LAPACKE_LIBS], ["-llapacke $BLAS_LIBS"])])
