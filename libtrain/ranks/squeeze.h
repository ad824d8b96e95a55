/* SPDX-License-Identifier: Apache-2.0
 * squeeze.h: --squeeze: compression of gradients that travel.  The omitted
 * values depend on the shard and not on its rank, so that 1, 2, 4 and 8
 * processes still make the same bits. */
#ifndef CTT_SQUEEZE_H
#define CTT_SQUEEZE_H

#include "base/ctt.h"

enum ctt_squeeze_kind {
    CTT_SQUEEZE_NONE,       /* all bits */
    CTT_SQUEEZE_HALF,       /* 16-bit numbers: the leaves and sums of the tree
                               are rounded */
    CTT_SQUEEZE_THRESHOLD,  /* magnitudes of `value` or more, as 1, 2, 4, ..
                               times `value` with a sign; the rest is kept for
                               later (Strom 2015, who only sends `value`; but
                               then large gradients pile up) */
    CTT_SQUEEZE_SHARE,      /* this share of the values, the largest magnitudes,
                               in the same form (Lin and others 2018, who send
                               floats) */
};

struct ctt_squeeze {
    enum ctt_squeeze_kind kind;
    enum ctt_dtype        type;     /* of sent numbers: CTT_F32, unless HALF */
    float                 value;
    float                 clip;     /* limit of the norm of a batch's gradient,
                                       applied to sparse shards; 0: none */
};

/* Reads a value of --squeeze; NULL: none.  CTT_EINVAL: an unknown value. */
int  ctt_squeeze_parse(const char *text, struct ctt_squeeze *out);

/* 1 if values are omitted: ctt_gather (gather.h) then adds gradients. */
static inline int ctt_squeeze_is_sparse(const struct ctt_squeeze *s)
{
    return s->kind >= CTT_SQUEEZE_THRESHOLD;
}

#endif
