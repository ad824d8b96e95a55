/* SPDX-License-Identifier: Apache-2.0
 * compress_time.h: time per frame and memory of a model in the runtime. */
#ifndef CTT_COMPRESS_TIME_H
#define CTT_COMPRESS_TIME_H

#include "compress/compress.h"

/* Runs the model file at path and `base` in turns on a device, one
 * frame at a time as from a camera; threads 0: one per processor; few: 1 for a
 * quarter of the turns.  Sets milliseconds per frame, the ratio of both, and
 * the bytes that the runtime allocates for the model and a session with it;
 * what oneDNN takes for itself and the memory of a GPU are not counted. */
int ctt_compress_time(const char *base, const char *path, const char *device,
                      int threads, int few, struct ctt_speed *out);

#endif
