/* SPDX-License-Identifier: Apache-2.0
 * formats.h: which of FFmpeg's formats a clip may have. */
#ifndef CTT_FORMATS_H
#define CTT_FORMATS_H

#include "base/ctt.h"

/* 0 if clips of this format are read; name: of FFmpeg's demuxer.  CTT_EFORMAT
 * with a message that names path and the kind of file. */
int  ctt_format_check(const char *name, const char *path);

/* The error for a file whose format FFmpeg does not recognise; start: its first
 * n bytes. */
int  ctt_format_unknown(const char *start, size_t n, const char *path);

/* 1 if it is that of a picture: FFmpeg invents a frame rate for it. */
int  ctt_format_is_picture(const char *name);

/* 1 if the format's own statement of its duration is reliable enough to notice
 * a file that was cut short. */
int  ctt_format_is_timed(const char *name);

/* 1 if each packet has the time at which it is shown, and an index leads to key
 * frames, so that a part can be decoded without what is before it. */
int  ctt_format_enters(const char *name);

#endif
