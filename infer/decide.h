/* SPDX-License-Identifier: Apache-2.0
 * decide.h: the early decision of a stream, from its probabilities at the
 * checks of net/file/decision.h. */
#ifndef CTT_DECIDE_H
#define CTT_DECIDE_H

#include "infer/loaded.h"

/* The mean of a stream's probabilities so far, of which a head may make what is
 * compared with the thresholds, in calibration as in use. */
struct ctt_smooth {
    double smooth;
    float *p;          /* classes; the caller's */
    int    classes;
};

/* Takes the probabilities of check k = 0, 1, ... of a stream; returns the best
 * class of the mean, whose probability becomes *confidence. */
int ctt_smooth_next(struct ctt_smooth *s, int k, const float *probs,
                    float *confidence);

/* The state of a stream; d NULL: it is not asked for decisions. */
struct ctt_decide {
    const struct ctt_decision *d;
    struct ctt_smooth smooth;
    float *probs;              /* of one answer */
    int    check;              /* the next one */
    int    done, ended;
    struct ctt_infer_decision made;
};

/* open: allocates what the checks of a model need, if its streams are to
 * decide.  CTT_EINVAL: it was calibrated with other arithmetic. */
int  ctt_decide_open(const struct ctt_infer *m, struct ctt_decide *s);
void ctt_decide_close(struct ctt_decide *s);
void ctt_decide_reset(struct ctt_decide *s);

/* How many frames may follow the first `frames` until probabilities are to be
 * read, at most `most`; and whether that is now, after so many frames. */
int ctt_decide_until(const struct ctt_decide *s, int64_t frames, int most);
int ctt_decide_due(const struct ctt_decide *s, int64_t frames);

/* Takes s->probs at a check that is due, or at the end of the stream. */
void ctt_decide_check(struct ctt_decide *s);
void ctt_decide_end(struct ctt_decide *s, int64_t frames);

/* What a saved stream must remember of it (saved.h): so many bytes, 0 if the
 * stream is not asked for decisions.  fits: 1 if a stream of so many frames may
 * have that; take: goes on with it. */
int64_t ctt_decide_bytes(const struct ctt_decide *s);
void    ctt_decide_keep(const struct ctt_decide *s, char *to);
int     ctt_decide_fits(const struct ctt_decide *s, const char *from,
                        int64_t frames);
void    ctt_decide_take(struct ctt_decide *s, const char *from);

/* A CRC-32 of its thresholds; 0 without decisions.  CTT_ENOMEM. */
int ctt_decide_rules(const struct ctt_decide *s, uint32_t *out);

#endif
