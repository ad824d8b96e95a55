/* SPDX-License-Identifier: Apache-2.0
 * compress_time.h: how long a model takes for a frame. */
#ifndef CTT_COMPRESS_TIME_H
#define CTT_COMPRESS_TIME_H

/* Of the model file at path: milliseconds a frame, one after the other, by the
 * runtime on that device; threads 0: all. */
int ctt_compress_time(const char *path, const char *device, int threads,
                      double *ms);

#endif
