/* SPDX-License-Identifier: Apache-2.0
 * compress_time.h: time per frame of a model. */
#ifndef CTT_COMPRESS_TIME_H
#define CTT_COMPRESS_TIME_H

/* Measures the model file at path in the runtime on a device: ms per frame, one
 * frame at a time; threads 0: one per processor. */
int ctt_compress_time(const char *path, const char *device, int threads,
                      double *ms);

#endif
