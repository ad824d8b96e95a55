# SPDX-License-Identifier: Apache-2.0
# CTT_MPI: many processes, by the module convtt-mpi.so; MPI_CFLAGS, MPI_LIBS,
# and MPI_NAME, by which tests choose the launcher.
AC_DEFUN([CTT_MPI],
  [AC_ARG_WITH([mpi],
    [AS_HELP_STRING([--with-mpi=auto|no|yes|openmpi|mpich],
      [the module convtt-mpi.so; auto and yes: of Open MPI, or else of MPICH
       (auto)])],
    [], [with_mpi=auto])
  AS_CASE([$with_mpi], [auto|no|yes|openmpi|mpich], [],
    [AC_MSG_ERROR([--with-mpi=$with_mpi: not auto, no, yes, openmpi or mpich])])
  AS_CASE([$with_mpi/$enable_train/$enable_shared], [no/*|auto/*], [],
    [*/yes/no],
    [AC_MSG_ERROR([--with-mpi=$with_mpi requires --enable-shared])])
  ctt_mpi=no
  AS_IF([test "x$with_mpi" != xno -a "x$enable_train" != xno \
         -a "x$enable_shared" = xyes],
    [AS_IF([test "x$with_mpi" != xmpich],
      [CTT_MPI_OF([Open MPI], [ompi-c])])
    AS_IF([test "x$ctt_mpi" = xno -a "x$with_mpi" != xopenmpi],
      [CTT_MPI_OF([MPICH], [mpich])])
    AS_CASE([$with_mpi/$ctt_mpi],
      [yes/no|openmpi/no], [CTT_NEED([Open MPI], [libopenmpi-dev])],
      [mpich/no], [CTT_NEED([MPICH], [libmpich-dev])])])
  # Its headers are not ours to warn of.
  MPI_CFLAGS=`AS_ECHO(["$MPI_CFLAGS"]) | $SED 's/-I/-isystem /g'`
  AC_SUBST([MPI_NAME], [$ctt_mpi])
  AM_CONDITIONAL([MPI], [test "x$ctt_mpi" != xno])])

# CTT_MPI_OF(NAME, PC): that one, if it is there.
AC_DEFUN([CTT_MPI_OF],
  [PKG_CHECK_MODULES([MPI], [$2],
    [ctt_mpi="$1 `$PKG_CONFIG --modversion $2`"], [:])])
