# SPDX-License-Identifier: Apache-2.0
# CTT_HDF5: the model file; HDF5_CFLAGS, HDF5_LIBS, HDF5_PROGRAM_LIBS and, for
# libconvtt-infer, HDF5_LIBRARY_LIBS and HDF5_LIBRARY_LDFLAGS.  Debian calls the
# build without MPI hdf5-serial, and hdf5 may be the build that needs MPI.  Packs are
# locked by convtt, so HDF5 must be told not to lock them, too: 1.10.7 or newer,
# but not 1.12.0.
#
# Debian's shared library can read files from the web and therefore loads 27
# libraries (curl, OpenSSL, Kerberos, LDAP), which takes 6 ms and 6 MB at each
# start.  So programs and libconvtt-infer.so link the static one, of which they
# take only what they call, if it is there and needs no more than zlib and the
# codec SZ.
AC_DEFUN([CTT_HDF5],
  [AC_ARG_WITH([hdf5],
    [AS_HELP_STRING([--with-hdf5=static|shared],
      [the HDF5 that programs and libconvtt-infer.so link @<:@static in each
      where it can be linked@:>@])],
    [], [with_hdf5=find])
  AS_CASE([$with_hdf5], [find|static|shared], [],
    [AC_MSG_ERROR([--with-hdf5=$with_hdf5: static or shared])])
  PKG_CHECK_MODULES([HDF5], [hdf5-serial],
    [ctt_hdf5=`$PKG_CONFIG --modversion hdf5-serial`],
    [PKG_CHECK_MODULES([HDF5], [hdf5],
      [ctt_hdf5=`$PKG_CONFIG --modversion hdf5`],
      [ctt_hdf5=missing
      CTT_NEED([HDF5], [libhdf5-dev])])])
  HDF5_PROGRAM_LIBS="$HDF5_LIBS"
  HDF5_LIBRARY_LIBS="$HDF5_LIBS"
  HDF5_LIBRARY_LDFLAGS=
  ctt_static_library=no
  AS_IF([test "x$ctt_hdf5" != xmissing],
    [CTT_HDF5_LOCKING
    AS_IF([test "x$with_hdf5" != xshared], [CTT_HDF5_STATIC])])
  AM_CONDITIONAL([HDF5_IN_LIBRARY], [test $ctt_static_library = yes])
  AC_SUBST([HDF5_PROGRAM_LIBS])
  AC_SUBST([HDF5_LIBRARY_LIBS])
  AC_SUBST([HDF5_LIBRARY_LDFLAGS])])

AC_DEFUN([CTT_HDF5_LOCKING],
  [ctt_save_LIBS="$LIBS"
  LIBS="$HDF5_LIBS $LIBS"
  AC_CHECK_FUNC([H5Pset_file_locking], [],
    [CTT_NEED([HDF5 1.10.7 or newer, but not 1.12.0], [libhdf5-dev])])
  LIBS="$ctt_save_LIBS"])

# Those of HDF5_LIBS that are HDF5 give way to the archive.
AC_DEFUN([CTT_HDF5_STATIC],
  [AC_MSG_CHECKING([for a static HDF5])
  ctt_save_LIBS="$LIBS"
  ctt_save_CPPFLAGS="$CPPFLAGS"
  CPPFLAGS="$CPPFLAGS $HDF5_CFLAGS"
  ctt_where=`AS_ECHO(["$HDF5_LIBS"]) | $SED 's/-lhdf5[[^ ]]*//g'`
  ctt_static=no
  for ctt_try in "" "-l:libsz.a -l:libaec.a" "-lsz"; do
    ctt_libs="$ctt_where -l:libhdf5.a $ctt_try -lz -lm"
    LIBS="$ctt_libs $ctt_save_LIBS"
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <hdf5.h>]],
        [[return H5open() + H5Pset_file_locking(0, 0, 0) +
          (int)H5Fopen("", 0, 0) + (int)H5Dopen2(0, "", 0);]])],
      [ctt_static=yes
      HDF5_PROGRAM_LIBS="$ctt_libs"
      ctt_hdf5="$ctt_hdf5, static in programs"])
    AS_IF([test $ctt_static = yes], [break])
  done
  LIBS="$ctt_save_LIBS"
  CPPFLAGS="$ctt_save_CPPFLAGS"
  AC_MSG_RESULT([$ctt_static])
  AS_IF([test $ctt_static$with_hdf5 = nostatic],
    [AC_MSG_ERROR([--with-hdf5=static: no libhdf5.a that can be linked])])
  AS_IF([test $ctt_static = yes && test "x$enable_shared" != xno],
    [CTT_HDF5_LIBRARY])])

# An archive that is compiled for programs only (-fPIE) can be linked into a
# shared library that hides its names, but for what it reads of the C library's
# variables: stdout and stderr, which net/file/h5_streams.c replaces.
AC_DEFUN([CTT_HDF5_LIBRARY],
  [AC_MSG_CHECKING([whether it can be linked into a library])
  ctt_save_LIBS="$LIBS"
  ctt_save_CPPFLAGS="$CPPFLAGS"
  ctt_save_CFLAGS="$CFLAGS"
  ctt_save_LDFLAGS="$LDFLAGS"
  CPPFLAGS="$CPPFLAGS $HDF5_CFLAGS -DPIC"
  CFLAGS="$CFLAGS -fPIC"
  ctt_wrap="-Wl,-z,text -Wl,--wrap=stdout -Wl,--wrap=stderr"
  LDFLAGS="$LDFLAGS -shared $ctt_wrap -Wl,--exclude-libs,ALL"
  LIBS="$HDF5_PROGRAM_LIBS $ctt_save_LIBS"
  AC_LINK_IFELSE([AC_LANG_SOURCE([
      `cat "$srcdir/net/file/h5_streams.c"`
      [#include <hdf5.h>
      int test(void);
      int test(void)
      {
        return H5open() + H5Pset_file_locking(0, 0, 0) +
          (int)H5Fopen("", 0, 0) + (int)H5Dopen2(0, "", 0);
      }]])],
    [ctt_static_library=yes
    HDF5_LIBRARY_LIBS="$HDF5_PROGRAM_LIBS"
    HDF5_LIBRARY_LDFLAGS="$ctt_wrap"
    ctt_hdf5="$ctt_hdf5 and library"])
  LIBS="$ctt_save_LIBS"
  LDFLAGS="$ctt_save_LDFLAGS"
  CFLAGS="$ctt_save_CFLAGS"
  CPPFLAGS="$ctt_save_CPPFLAGS"
  AC_MSG_RESULT([$ctt_static_library])])
