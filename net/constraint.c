/* SPDX-License-Identifier: Apache-2.0
 * constraint.c: the constraints on a model's weights, in host memory. */
#include "net/constraint.h"

#include <string.h>

void ctt_constraint_free(struct ctt_constraint *c)
{
    ctt_free(c->keep);
    ctt_free(c->share);
    c->keep = c->share = NULL;
}

int ctt_constraint_copy(const struct ctt_constraint *from, int64_t n,
                        struct ctt_constraint *to)
{
    int rc = ctt_constraint_match(from, n, to);

    if (rc >= 0)
        ctt_constraint_carry(from, 0, n, to, 0);
    return rc;
}

int ctt_constraint_mask(struct ctt_constraint *c, int64_t n)
{
    if (c->keep)
        return 0;
    c->keep = ctt_calloc((size_t)n, 1);
    if (!c->keep)
        return CTT_ENOMEM;
    memset(c->keep, 1, (size_t)n);
    return 0;
}

int ctt_constraint_share(struct ctt_constraint *c, int64_t n)
{
    if (!c->share)
        c->share = ctt_calloc((size_t)n, 1);
    return c->share ? 0 : CTT_ENOMEM;
}

int ctt_constraint_shares(const struct ctt_constraint *c, int64_t n)
{
    for (int64_t i = 0; c->share && i < n; i++)
        if (c->share[i])
            return 1;
    return 0;
}

void ctt_constraint_clear(const struct ctt_constraint *c, int64_t n, float *w)
{
    for (int64_t i = 0; c->keep && i < n; i++)
        if (!c->keep[i])
            w[i] = 0;
}

int ctt_constraint_match(const struct ctt_constraint *from, int64_t n,
                         struct ctt_constraint *to)
{
    int rc = 0;

    if (from->keep)
        CTT_TRY(ctt_constraint_mask(to, n));
    if (from->share)
        CTT_TRY(ctt_constraint_share(to, n));
out:
    return rc;
}

void ctt_constraint_carry(const struct ctt_constraint *from, int64_t at,
                          int64_t count, struct ctt_constraint *to,
                          int64_t to_at)
{
    if (from->keep)
        memcpy(to->keep + to_at, from->keep + at, (size_t)count);
    if (from->share)
        memcpy(to->share + to_at, from->share + at, (size_t)count);
}
