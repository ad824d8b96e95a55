/* SPDX-License-Identifier: Apache-2.0
 * saved.h: the file of a saved stream (doc/format.md, section 11). */
#ifndef CTT_SAVED_H
#define CTT_SAVED_H

#include "infer/decide.h"
#include "infer/loaded.h"
#include "net/pixels.h"
#include "run/run.h"

struct ctt_saved {
    int64_t  frames;          /* of the stream; 0: no values */
    uint64_t mean, square;    /* of struct ctt_pixels */
    int      seen;
    const struct ctt_decide *decide;
    int64_t  bytes;           /* of a sample's state (run/sample.h) */
    int64_t  decision;        /* bytes of the decision state after it */
    char    *values;          /* both states, or NULL */
    char    *image;           /* the whole file; owned */
};

/* Allocates image and values for a stream of this run: zeros and the decision
 * state.  CTT_ENOMEM. */
int  ctt_saved_new(const struct ctt_run *run, int64_t frames,
                   const struct ctt_pixels *pixels,
                   const struct ctt_decide *decide, struct ctt_saved *s);
void ctt_saved_free(struct ctt_saved *s);

/* Writes the stream to a file, or reads it.  The file must be of the same
 * model, kind of run and thresholds: else CTT_EINVAL; CTT_EFORMAT if it is
 * damaged. */
int  ctt_saved_write(const char *path, const struct ctt_infer *m,
                     const struct ctt_run *run, struct ctt_saved *s);
int  ctt_saved_read(const char *path, const struct ctt_infer *m,
                    const struct ctt_run *run, const struct ctt_decide *decide,
                    struct ctt_saved *s);

/* Restores the decision state and the pixel statistics of a continued
 * stream. */
void ctt_saved_decision(const struct ctt_saved *s, struct ctt_decide *decide);
void ctt_saved_pixels(const struct ctt_saved *s, struct ctt_pixels *pixels);

#endif
