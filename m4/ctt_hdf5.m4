# SPDX-License-Identifier: Apache-2.0
# CTT_HDF5: the model file; HDF5_CFLAGS, HDF5_LIBS.  Debian names the serial
# build hdf5-serial, and hdf5 may be the build that needs MPI.
AC_DEFUN([CTT_HDF5],
  [PKG_CHECK_MODULES([HDF5], [hdf5-serial],
    [ctt_hdf5=`$PKG_CONFIG --modversion hdf5-serial`],
    [PKG_CHECK_MODULES([HDF5], [hdf5],
      [ctt_hdf5=`$PKG_CONFIG --modversion hdf5`],
      [ctt_hdf5=missing
      CTT_NEED([HDF5], [libhdf5-dev])])])])
