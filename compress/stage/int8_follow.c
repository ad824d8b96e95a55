/* SPDX-License-Identifier: Apache-2.0
 * int8_follow.c: errors of convs against the original model, with all rounding
 * before them; and biases that make up for the mean error (bias correction:
 * Nagel and others 2019). */
#include "compress/stage/int8_inside.h"
#include "compress/stage/responses.h"

#include <math.h>

/* Sums over the results of a channel, of bytes first, then of floats: of
 * differences from the first ones, so that a large mean cancels nothing. */
struct channel { double first[2], sum[2], square[2], both; };

/* The covariance of different channels, which ctt_two_responses() measures too,
 * would take most of the time. */
struct channels { int count; int64_t rows; struct channel *c; };

static void add_channels(void *to, const float *pair)
{
    struct channels *s = to;

    for (int i = 0; i < s->count; i++) {
        struct channel *c = &s->c[i];
        double x[2] = { (double)pair[i], (double)pair[s->count + i] };

        for (int k = 0; k < 2; k++) {
            if (s->rows == 0)
                c->first[k] = x[k];
            x[k] -= c->first[k];
            c->sum[k] += x[k];
            c->square[k] += x[k] * x[k];
        }
        c->both += x[0] * x[1];
    }
    s->rows++;
}

/* Moments of a channel's results. */
struct pair { double mean[2], var[2], both; };

static struct pair pair_of(const struct channels *s, int i)
{
    const struct channel *c = &s->c[i];
    double n = (double)s->rows, m[2] = { c->sum[0] / n, c->sum[1] / n };

    return (struct pair){ { c->first[0] + m[0], c->first[1] + m[1] },
                          { c->square[0] / n - m[0] * m[0],
                            c->square[1] / n - m[1] * m[1] },
                          c->both / n - m[0] * m[1] };
}

/* Signal over noise in dB: mean squares of the results, and of the errors that
 * a bias does not undo. */
static double ratio_of(const struct channels *s, int corrected)
{
    double signal = 0, noise = 0;

    for (int i = 0; i < s->count; i++) {
        struct pair c = pair_of(s, i);
        double off = corrected ? 0 : c.mean[0] - c.mean[1];

        signal += c.var[1] + c.mean[1] * c.mean[1];
        noise += fmax(0, c.var[0] + c.var[1] - 2 * c.both) + off * off;
    }
    return noise > 0 ? 10 * log10(signal / noise) : INFINITY;
}

static void correct_bias(const struct channels *s, float *bias)
{
    for (int i = 0; i < s->count; i++) {
        struct pair c = pair_of(s, i);

        bias[i] += (float)(c.mean[1] - c.mean[0]);
    }
}

static int check_finite(const struct channels *s, const char *name)
{
    int rc = 0;

    for (int i = 0; i < s->count; i++)
        CTT_CHECK(isfinite(s->c[i].square[0]) && isfinite(s->c[i].square[1]),
                  CTT_ENAN, "%s: a response is not finite", name);
out:
    return rc;
}

int ctt_int8_follow(const struct ctt_int8_follow *w, int node,
                    const struct ctt_kept *kept, int k, struct ctt_model *now,
                    double *db)
{
    const struct ctt_node *n = &w->was->g->node[node], *to;
    struct channels s = { .count = (int)n->w[0].n };
    struct ctt_pairing p = { .kept = kept, .k = k, .take = add_channels,
        .to = &s, .answer = w->answer, .answer_to = w->answer_to };
    int at = ctt_graph_find(now->g, n->name), rc = 0;

    CTT_CHECK(at >= 0, CTT_EFORMAT, "%s: lost on the way", n->name);
    to = &now->g->node[at];
    s.c = ctt_calloc((size_t)s.count, sizeof(*s.c));
    CTT_TRY(s.c ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_pair_rows(&p, now, w->calls, w->clips));
    CTT_TRY(check_finite(&s, n->name));
    *db = ratio_of(&s, to->nw > 1);
    if (to->nw > 1)
        correct_bias(&s, now->w + to->at[1]);
out:
    ctt_free(s.c);
    return rc;
}

/* Channels whose results are kept at a time: hundreds of megabytes if clips are
 * long. */
enum { KEPT = 2048 };

/* The convs from node i on that are kept together; the node behind them. */
static int next_group(const struct ctt_graph *g, const char *take, int i,
                      int *node, int *nodes)
{
    int64_t channels = 0;

    for (*nodes = 0; i < g->count; i++) {
        if (!take[i])
            continue;
        channels += g->node[i].w[0].n;
        if (*nodes && channels > KEPT)
            break;
        node[(*nodes)++] = i;
    }
    return i;
}

int ctt_int8_each(const struct ctt_model *was, const char *take,
                  const struct ctt_recipe_calls *calls, int clips,
                  int (*f)(void *arg, int node, const struct ctt_kept *kept,
                           int k), void *arg)
{
    int *node = ctt_calloc((size_t)was->g->count, sizeof(*node)), nodes;
    struct ctt_kept *kept = NULL;
    int rc = node ? 0 : CTT_ENOMEM;

    for (int i = 0; rc >= 0 && i < was->g->count;) {
        i = next_group(was->g, take, i, node, &nodes);
        if (!nodes)
            break;
        CTT_TRY(ctt_keep_rows(was, node, nodes, calls, clips, &kept));
        for (int k = 0; k < nodes; k++)
            CTT_TRY(f(arg, node[k], kept, k));
        ctt_kept_rows_free(&kept);
    }
out:
    ctt_kept_rows_free(&kept);
    ctt_free(node);
    return rc;
}
