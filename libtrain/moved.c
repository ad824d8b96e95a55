/* SPDX-License-Identifier: Apache-2.0
 * moved.c: whether a training has changed the weights. */
#include "libtrain/trainer.h"

#include <float.h>
#include <math.h>

/* Of a large model every so many numbers of each weight are looked at, so that
 * no second copy is needed. */
int64_t ctt_weights_some(const struct ctt_graph *g, const float *w, float *some)
{
    int64_t every = (g->weights >> 20) + 1, count = 0;

    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->node[i].nw; k++) {
            const struct ctt_node *n = &g->node[i];
            int64_t all = n->fixed >> k & 1 ? 0 : ctt_volume(&n->w[k]);

            for (int64_t j = 0; j < all; j += every, count++)
                if (some)
                    some[count] = w[n->at[k] + j];
        }
    return count;
}

int ctt_weights_moved(const float *was, const float *now, int64_t n)
{
    enum { SOME = 100 };
    int64_t differ = 0, seen = 0;
    double squares = 0, mean;

    for (int64_t i = 0; i < n; i++)
        squares += (double)was[i] * (double)was[i];
    mean = n ? sqrt(squares / (double)n) : 0;
    for (int64_t i = 0; i < n; i++) {
        differ += was[i] != now[i];
        seen += fabs((double)now[i] - (double)was[i]) >
                (double)FLT_EPSILON * fmax(fabs((double)was[i]), mean);
    }
    return seen > 0 && seen * SOME >= differ;
}
