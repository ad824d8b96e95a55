/* SPDX-License-Identifier: Apache-2.0
 * decide.h: the early decision of a stream, from its probabilities at the
 * checks of net/file/decision.h. */
#ifndef CTT_DECIDE_H
#define CTT_DECIDE_H

#include "infer/loaded.h"

/* Running mean of a stream's probabilities.  Calibration and inference compare
 * its largest one, or a head's function of it, with the thresholds. */
struct ctt_smooth {
    double smooth;
    float *p;          /* classes; the caller's */
    int    classes;
};

/* Takes the probabilities of check k = 0, 1, ... of a stream; returns the best
 * class of the mean, whose probability becomes *confidence. */
int ctt_smooth_next(struct ctt_smooth *s, int k, const float *probs,
                    float *confidence);

/* Decision state of a stream; d NULL: the stream does not decide. */
struct ctt_decide {
    const struct ctt_decision *d;
    struct ctt_smooth smooth;
    float *probs;              /* of one answer */
    int    check;              /* the next one */
    int    done, ended;
    struct ctt_infer_decision made;
};

/* open: allocates the state, if the model's streams decide.  CTT_EINVAL: the
 * model was calibrated with other arithmetic.  CTT_ENOMEM. */
int  ctt_decide_open(const struct ctt_infer *m, struct ctt_decide *s);
void ctt_decide_close(struct ctt_decide *s);
void ctt_decide_reset(struct ctt_decide *s);

/* until: frames from the first `frames` to the next check, at most `most`. due:
 * 1 if a check follows the first `frames` frames. */
int ctt_decide_until(const struct ctt_decide *s, int64_t frames, int most);
int ctt_decide_due(const struct ctt_decide *s, int64_t frames);

/* Applies s->probs to the decision at a check that is due, or at the end of the
 * stream after `frames` frames. */
void ctt_decide_check(struct ctt_decide *s);
void ctt_decide_end(struct ctt_decide *s, int64_t frames);

/* The state in a saved stream (saved.h): its bytes, 0 without decisions; store:
 * writes it; valid: 1 if a stream of `frames` frames can have the stored state;
 * load: reads it. */
int64_t ctt_decide_bytes(const struct ctt_decide *s);
void    ctt_decide_store(const struct ctt_decide *s, char *to);
int     ctt_decide_valid(const struct ctt_decide *s, const char *from,
                         int64_t frames);
void    ctt_decide_load(struct ctt_decide *s, const char *from);

/* CRC-32 of the thresholds; 0 without decisions.  CTT_ENOMEM. */
int ctt_decide_crc(const struct ctt_decide *s, uint32_t *out);

#endif
