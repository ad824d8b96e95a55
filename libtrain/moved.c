/* SPDX-License-Identifier: Apache-2.0
 * moved.c: whether a training has changed the weights. */
#include "libtrain/trainer.h"

#include <float.h>
#include <math.h>

/* Of the trained weights: the sum of squares at first; those that differ now,
 * and by how many of these that is more than rounding. */
struct moves {
    double  squares, size;
    int64_t count, differ, seen;
};

static void measure(struct moves *m, const float *was, const float *now,
                    int64_t n)
{
    (void)now;
    for (int64_t i = 0; i < n; i++)
        m->squares += (double)was[i] * (double)was[i];
    m->count += n;
}

static void compare(struct moves *m, const float *was, const float *now,
                    int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double size = fabs((double)was[i]);

        size = size > m->size ? size : m->size;
        m->differ += was[i] != now[i];
        m->seen += fabs((double)now[i] - (double)was[i]) >
                   (double)FLT_EPSILON * size;
    }
}

/* Calls f for each weight that gradients train: running means move by
 * themselves. */
static void each_trained(const struct ctt_graph *g, const float *was,
                         const float *now, struct moves *m,
                         void (*f)(struct moves *m, const float *was,
                                   const float *now, int64_t n))
{
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->node[i].nw; k++) {
            const struct ctt_node *n = &g->node[i];

            if (!(n->fixed >> k & 1))
                f(m, was + n->at[k], now + n->at[k], ctt_volume(&n->w[k]));
        }
}

int ctt_weights_moved(const struct ctt_graph *g, const float *was,
                      const float *now)
{
    enum { SOME = 100 };
    struct moves m = { 0 };

    each_trained(g, was, now, &m, measure);
    m.size = m.count ? sqrt(m.squares / (double)m.count) : 0;
    each_trained(g, was, now, &m, compare);
    return m.seen > 0 && m.seen * SOME >= m.differ;
}
