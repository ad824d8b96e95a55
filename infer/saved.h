/* SPDX-License-Identifier: Apache-2.0
 * saved.h: the file of a saved stream (doc/format.md, section 11). */
#ifndef CTT_SAVED_H
#define CTT_SAVED_H

#include "infer/decide.h"
#include "infer/loaded.h"
#include "net/pixels.h"
#include "run/run.h"

struct ctt_saved {
    int64_t  frames;          /* of the stream; 0: there are no values */
    uint64_t mean, square;    /* of struct ctt_pixels, and its frames: */
    int      seen;
    const struct ctt_decide *decide;
    int64_t  bytes;           /* what a sample remembers (run/sample.h) */
    int64_t  decision;        /* and behind it what decide does */
    char    *values;          /* so many of both, or NULL */
    char    *image;           /* the whole file; owned */
};

/* A place for what a stream of this run remembers: image and values, zeros but
 * for what it has decided. */
int  ctt_saved_new(const struct ctt_run *run, int64_t frames,
                   const struct ctt_pixels *pixels,
                   const struct ctt_decide *decide, struct ctt_saved *s);
void ctt_saved_free(struct ctt_saved *s);

/* Writes it to a file; reads it from one that was saved with this model, this
 * kind of run and these decisions, else CTT_EFORMAT or CTT_EINVAL. */
int  ctt_saved_write(const char *path, const struct ctt_infer *m,
                     const struct ctt_run *run, struct ctt_saved *s);
int  ctt_saved_read(const char *path, const struct ctt_infer *m,
                    const struct ctt_run *run, const struct ctt_decide *decide,
                    struct ctt_saved *s);

/* What has been decided, and the pixels, of a stream that goes on. */
void ctt_saved_decision(const struct ctt_saved *s, struct ctt_decide *decide);
void ctt_saved_pixels(const struct ctt_saved *s, struct ctt_pixels *pixels);

#endif
