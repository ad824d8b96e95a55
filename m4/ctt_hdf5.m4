# SPDX-License-Identifier: Apache-2.0
# CTT_HDF5: the model file; HDF5_CFLAGS, HDF5_LIBS.  Debian names the serial
# build hdf5-serial, and hdf5 may be the build that needs MPI.  Packs are locked
# by convtt, so HDF5 must be told not to lock them, too: 1.10.7 or newer, but
# not 1.12.0.
AC_DEFUN([CTT_HDF5],
  [PKG_CHECK_MODULES([HDF5], [hdf5-serial],
    [ctt_hdf5=`$PKG_CONFIG --modversion hdf5-serial`],
    [PKG_CHECK_MODULES([HDF5], [hdf5],
      [ctt_hdf5=`$PKG_CONFIG --modversion hdf5`],
      [ctt_hdf5=missing
      CTT_NEED([HDF5], [libhdf5-dev])])])
  AS_IF([test "x$ctt_hdf5" != xmissing], [CTT_HDF5_LOCKING])])

AC_DEFUN([CTT_HDF5_LOCKING],
  [ctt_save_LIBS="$LIBS"
  LIBS="$HDF5_LIBS $LIBS"
  AC_CHECK_FUNC([H5Pset_file_locking], [],
    [CTT_NEED([HDF5 1.10.7 or newer, but not 1.12.0], [libhdf5-dev])])
  LIBS="$ctt_save_LIBS"])
