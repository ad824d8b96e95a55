# SPDX-License-Identifier: Apache-2.0
# CTT_FFMPEG: video in and out; FFMPEG_CFLAGS, FFMPEG_LIBS.  59.27 is FFmpeg
# 5.1, whose channel-free frame API the decoder is written for.  Only
# --disable-train can do without: clips are then errors that name them.
AC_DEFUN([CTT_FFMPEG],
  [AC_ARG_WITH([ffmpeg],
    [AS_HELP_STRING([--with-ffmpeg=no],
      [with --disable-train: convtt-infer reads packs, but no clips])],
    [], [with_ffmpeg=yes])
  ctt_ffmpeg=no
  AS_IF([test "x$with_ffmpeg$enable_train" = xnoyes],
    [AC_MSG_ERROR([--with-ffmpeg=no requires --disable-train])])
  AS_IF([test "x$with_ffmpeg" != xno], [CTT_FFMPEG_TRY])
  AM_CONDITIONAL([FFMPEG], [test "x$ctt_ffmpeg" != xno])])

AC_DEFUN([CTT_FFMPEG_TRY],
  [PKG_CHECK_MODULES([FFMPEG],
    [libavformat >= 59 libavcodec >= 59 libswscale >= 6 libavutil >= 57],
    [ctt_ffmpeg="libavcodec `$PKG_CONFIG --modversion libavcodec`"],
    [ctt_ffmpeg=no
    AS_IF([test "x$enable_train" != xno],
      [CTT_NEED([FFmpeg 5.0 or newer],
        [libavformat-dev libavcodec-dev libswscale-dev])])])])
