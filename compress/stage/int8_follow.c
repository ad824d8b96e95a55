/* SPDX-License-Identifier: Apache-2.0
 * int8_follow.c: errors of convs against the original model, with all rounding
 * before them; and biases that make up for the mean error (bias correction:
 * Nagel and others 2019). */
#include "compress/stage/int8_follow.h"
#include "compress/stage/responses.h"

#include <math.h>

/* Moments of a channel's results: of bytes first, then of floats. */
struct pair { double mean[2], var[2], both; };

static struct pair pair_of(const struct ctt_moments *p, size_t i)
{
    size_t d = (size_t)p->d / 2, n = (size_t)p->d, j = i + d;

    return (struct pair){ { p->sum[i], p->sum[j] },
                          { p->cov[i * n + i], p->cov[j * n + j] },
                          p->cov[i * n + j] };
}

/* Signal over noise in dB: mean squares of the results, and of the errors that
 * a bias does not undo. */
static double ratio_of(const struct ctt_moments *p, int corrected)
{
    double signal = 0, noise = 0;

    for (size_t i = 0; i < (size_t)p->d / 2; i++) {
        struct pair c = pair_of(p, i);
        double off = corrected ? 0 : c.mean[0] - c.mean[1];

        signal += c.var[1] + c.mean[1] * c.mean[1];
        noise += fmax(0, c.var[0] + c.var[1] - 2 * c.both) + off * off;
    }
    return noise > 0 ? 10 * log10(signal / noise) : INFINITY;
}

static void correct_bias(const struct ctt_moments *p, float *bias)
{
    for (size_t i = 0; i < (size_t)p->d / 2; i++) {
        struct pair c = pair_of(p, i);

        bias[i] += (float)(c.mean[1] - c.mean[0]);
    }
}

int ctt_int8_follow(const struct ctt_model *was, struct ctt_model *now,
                    int node, const struct ctt_recipe_calls *calls, int clips,
                    double *db)
{
    const struct ctt_node *n = &was->g->node[node], *to;
    struct ctt_moments p = { .d = 0 };
    int at = ctt_graph_find(now->g, n->name), rc = 0;

    CTT_CHECK(at >= 0, CTT_EFORMAT, "%s: lost on the way", n->name);
    to = &now->g->node[at];
    CTT_TRY(ctt_two_responses(was, now, node, 0, calls, clips, &p));
    *db = ratio_of(&p, to->nw > 1);
    if (to->nw > 1)
        correct_bias(&p, now->w + to->at[1]);
out:
    ctt_moments_free(&p);
    return rc;
}
