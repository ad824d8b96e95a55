/* SPDX-License-Identifier: Apache-2.0
 * squeeze.h: --squeeze: how few bytes of the gradients of shards travel.  What
 * is left out depends on the shard and not on who computes it, so that 1, 2, 4
 * and 8 processes still make the same bits. */
#ifndef CTT_SQUEEZE_H
#define CTT_SQUEEZE_H

#include "base/ctt.h"

enum ctt_squeeze_kind {
    CTT_SQUEEZE_NONE,       /* all bits */
    CTT_SQUEEZE_HALF,       /* 16-bit numbers: each sum of the tree, and what it
                               begins with, is rounded */
    CTT_SQUEEZE_THRESHOLD,  /* what is `value` or more, as `value` or 2, 4, ..
                               times it, with a sign; the rest is kept for later
                               (Strom 2015, who only sends `value`; but then
                               large gradients pile up) */
    CTT_SQUEEZE_SHARE,      /* this share of the values, those of largest
                               magnitude, in the same way (Lin and others 2018,
                               who send floats) */
};

struct ctt_squeeze {
    enum ctt_squeeze_kind kind;
    enum ctt_dtype        type;     /* of what travels: CTT_F32, unless HALF */
    float                 value;
    float                 clip;     /* the largest norm of the gradient of a
                                       batch, which sparse shards are limited
                                       to; 0: none */
};

/* From the value of --squeeze; NULL: none.  CTT_EINVAL: it is not one. */
int  ctt_squeeze_parse(const char *text, struct ctt_squeeze *out);

/* 1 if values are left out, which ctt_gather (gather.h) adds. */
static inline int ctt_squeeze_is_sparse(const struct ctt_squeeze *s)
{
    return s->kind >= CTT_SQUEEZE_THRESHOLD;
}

#endif
