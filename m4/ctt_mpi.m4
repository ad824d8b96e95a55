# SPDX-License-Identifier: Apache-2.0
# CTT_MPI: many processes, by the module convtt-mpi.so; MPI_CFLAGS, MPI_LIBS.
AC_DEFUN([CTT_MPI],
  [AC_ARG_WITH([mpi],
    [AS_HELP_STRING([--with-mpi=auto|no|yes],
      [the module convtt-mpi.so, of Open MPI or MPICH (auto)])],
    [], [with_mpi=auto])
  AS_CASE([$with_mpi], [auto|no|yes], [],
    [AC_MSG_ERROR([--with-mpi=$with_mpi: not auto, no or yes])])
  ctt_mpi=no
  AS_IF([test "x$with_mpi$enable_train$enable_shared" = xyesyesno],
    [AC_MSG_ERROR([--with-mpi=yes requires --enable-shared])])
  AS_IF([test "x$with_mpi" != xno -a "x$enable_train" != xno \
         -a "x$enable_shared" = xyes],
    [PKG_CHECK_MODULES([MPI], [ompi-c],
      [ctt_mpi="Open MPI `$PKG_CONFIG --modversion ompi-c`"],
      [PKG_CHECK_MODULES([MPI], [mpich],
        [ctt_mpi="MPICH `$PKG_CONFIG --modversion mpich`"],
        [AS_IF([test "x$with_mpi" = xyes],
          [CTT_NEED([MPI], [libopenmpi-dev])])])])])
  # Its headers are not ours to warn of.
  MPI_CFLAGS=`AS_ECHO(["$MPI_CFLAGS"]) | $SED 's/-I/-isystem /g'`
  AM_CONDITIONAL([MPI], [test "x$ctt_mpi" != xno])])
