# SPDX-License-Identifier: Apache-2.0
# CTT_ZLIB: CRC-32 and deflate of packed weights; ZLIB_CFLAGS, ZLIB_LIBS.
AC_DEFUN([CTT_ZLIB],
  [PKG_CHECK_MODULES([ZLIB], [zlib],
    [ctt_zlib=`$PKG_CONFIG --modversion zlib`],
    [ctt_zlib=missing
    CTT_NEED([zlib], [zlib1g-dev])])])
