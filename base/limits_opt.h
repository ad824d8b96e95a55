/* SPDX-License-Identifier: Apache-2.0
 * limits_opt.h: the options of every program: its limits, its progress. */
#ifndef CTT_LIMITS_OPT_H
#define CTT_LIMITS_OPT_H

#include "base/limits.h"
#include "base/opt.h"
#include "base/telling.h"

/* Rows of an option table.  AT(member): the offset of that member of a struct
 * ctt_limits in the settings; bits: the column tags.  The defaults of the
 * library are those of the rows. */
#define CTT_LIMIT_MEMORY(AT, bits) \
    { "memory", CTT_SIZE, AT(memory), "0", "limit of the program's memory, " \
      "such as 900M or 2G; 0: the memory that the machine, its control " \
      "group and ulimit -v leave free", 0x1p20, 0x1p50, .zero = 1, \
      .arg = "SIZE", .section = "Limits", .tags = bits }

#define CTT_LIMIT_CLASSES(AT, bits) \
    { "max-classes", CTT_INT, AT(classes), "65536", "most classes of a " \
      "data set or a model", 1, 1 << 20, .arg = "N", .section = "Limits", \
      .tags = bits }

#define CTT_LIMIT_CLIPS(AT, bits) \
    { "frame-pixels", CTT_SIZE, AT(frame_pixels), "64M", "most pixels of " \
      "a picture of a clip", 1, 0x1p32, .arg = "N", .section = "Limits", \
      .tags = bits }, \
    { "clip-bytes", CTT_SIZE, AT(clip_bytes), "1T", "most bytes read of a " \
      "clip", 1, 0x1p50, .arg = "SIZE", .section = "Limits", .tags = bits }, \
    { "clip-frames", CTT_SIZE, AT(clip_frames), "16M", "most frames decoded " \
      "of a clip", 1, 0x1p31, .arg = "N", .section = "Limits", .tags = bits }, \
    { "clip-seconds", CTT_DOUBLE, AT(clip_seconds), "60", "most " \
      "seconds of CPU time of decoding without a new frame", 1e-3, 1e9, \
      .arg = "SECONDS", .section = "Limits", .tags = bits }

#define CTT_LIMIT_ROWS(AT, bits) \
    CTT_LIMIT_MEMORY(AT, bits), CTT_LIMIT_CLIPS(AT, bits), \
    CTT_LIMIT_CLASSES(AT, bits)

/* The same of struct ctt_telling. */
#define CTT_TELLING_ROWS(AT, bits) \
    { "progress", CTT_CHOICE, AT(progress), "auto", "progress of long work " \
      "on standard error: auto: a line that is renewed on a terminal, " \
      "elsewhere a line each ten seconds; json: an object a line each " \
      "second with progress (a text), share (0 to 1, or null) and left_s " \
      "(seconds, or null), between other lines, which do not begin with {; " \
      "off: none", \
      .choices = ctt_telling_forms, .section = "Output", .tags = bits }, \
    { "quiet", CTT_FLAG, AT(quiet), "0", "neither progress nor notes; " \
      "results, warnings and errors are printed", .letter = 'q', \
      .section = "Output", .tags = bits }

#endif
