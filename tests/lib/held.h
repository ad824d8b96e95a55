/* SPDX-License-Identifier: Apache-2.0
 * held.h: counts and checks the numbers under a model's constraint. */
#ifndef CTT_TEST_HELD_H
#define CTT_TEST_HELD_H

#include "net/model.h"
#include "net/op.h"
#include "tests/lib/check.h"

/* Counts over the weights of convs: unpruned numbers, and values that numbers
 * share. */
struct held { int64_t kept, values; };

/* Each value that a weight's numbers share, once. */
static inline int64_t held_values(const struct ctt_weight *w)
{
    float value[CTT_MOST_CODES + 1];
    int seen[CTT_MOST_CODES + 1] = { 0 };
    const float *x = w->t.data;
    int64_t n = 0;

    for (int64_t i = 0; w->share && i < ctt_volume(&w->t); i++) {
        int code = w->share[i];

        if (!code)
            continue;
        CU_ASSERT(!w->keep || w->keep[i]);
        CU_ASSERT(!seen[code] || x[i] == value[code]);
        CU_ASSERT(x[i] != 0);
        n += !seen[code];
        seen[code] = 1;
        value[code] = x[i];
    }
    return n;
}

static inline struct held held_of(const struct ctt_model *m)
{
    struct held h = { 0, 0 };

    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        struct ctt_weight w;

        if (!ctt_is_conv(n))
            continue;
        w = ctt_model_weight(m, n, 0);
        h.kept += ctt_weight_kept(&w);
        h.values += held_values(&w);
        for (int64_t k = 0; w.keep && k < ctt_volume(&w.t); k++)
            CU_ASSERT(w.keep[k] || ((const float *)w.t.data)[k] == 0);
    }
    return h;
}

#endif
