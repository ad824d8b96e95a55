/* SPDX-License-Identifier: Apache-2.0
 * part.h: the end of a clip's path that says which part of a video it is, and
 * how fast its pictures follow. */
#ifndef CTT_PART_H
#define CTT_PART_H

#include "base/ctt.h"

/* "#first+count": frames, counted from 0.  "#t=start,end": the frames shown in
 * these seconds (as in Media Fragments, W3C 2012); followed by "~": a video no
 * longer than that, or one that ends a second before `end`, is the part itself.
 * "@rate": frames per second of a folder of pictures, alone "#@rate". */
enum ctt_part_kind { CTT_PART_ALL, CTT_PART_FRAMES, CTT_PART_TIME };
struct ctt_part {
    enum ctt_part_kind kind;
    int    first, count;      /* count > 0 */
    double start, end;        /* 0 <= start < end, below CTT_PART_SECONDS */
    int    or_all;            /* "~" */
    double fps;               /* 0: not stated */
};

/* Times are below that, rates at most this. */
enum { CTT_PART_SECONDS = 1000000, CTT_PART_RATE = 1000 };

/* The file or folder that path names, which the caller frees, and the part of
 * it: all if path exists or ends in another way; CTT_EFORMAT if "#t=" is not
 * followed by two times, the first below the second. */
int ctt_part_of(const char *path, char **file, struct ctt_part *out);

/* 1 and the part between two texts of a list: seconds, or frames if `frames` or
 * if both begin with '#'; the frame `end` is excluded.  0: no such numbers, or
 * end is not after start. */
int ctt_part_between(const char *start, const char *end, int frames,
                     struct ctt_part *out);

/* 1 and the part between two times in seconds; 0: no valid times. */
int ctt_part_times(double start, double end, struct ctt_part *out);

/* The path of a part of file, which the caller frees; NULL if out of memory.
 * Times are written to the microsecond. */
char *ctt_part_path(const char *file, const struct ctt_part *p);

#endif
