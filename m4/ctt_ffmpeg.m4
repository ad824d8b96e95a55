# SPDX-License-Identifier: Apache-2.0
# CTT_FFMPEG: video in and out; FFMPEG_CFLAGS, FFMPEG_LIBS.  59.27 is FFmpeg
# 5.1, whose channel-free frame API the decoder is written for.
AC_DEFUN([CTT_FFMPEG],
  [PKG_CHECK_MODULES([FFMPEG],
    [libavformat >= 59 libavcodec >= 59 libswscale >= 6 libavutil >= 57],
    [ctt_ffmpeg="libavcodec `$PKG_CONFIG --modversion libavcodec`"],
    [ctt_ffmpeg=missing
    CTT_NEED([FFmpeg 5.0 or newer],
      [libavformat-dev libavcodec-dev libswscale-dev])])])
