# SPDX-License-Identifier: Apache-2.0
# CTT_JANSSON: JSON, for lists of clips and logs; JANSSON_CFLAGS, JANSSON_LIBS.
# libconvtt-infer reads none and does without it.
AC_DEFUN([CTT_JANSSON],
  [PKG_CHECK_MODULES([JANSSON], [jansson >= 2.13],
    [ctt_jansson=`$PKG_CONFIG --modversion jansson`],
    [ctt_jansson=missing
    CTT_NEED([jansson], [libjansson-dev])])])
