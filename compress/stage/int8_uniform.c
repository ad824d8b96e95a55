/* SPDX-License-Identifier: Apache-2.0
 * int8_uniform.c: equal ranges of channels: convs are divided by powers of two
 * and their readers multiplied by them. */
#include "compress/stage/int8_inside.h"
#include "net/op.h"
#include "net/rewrite/channel_groups.h"
#include "net/quant.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A histogram of logarithms: so many bins an octave, from 2^-LEAST on. */
enum { PER_OCTAVE = 16, LEAST = 40, BINS = PER_OCTAVE * 64, MOST_BY = 12 };

/* A conv whose channels can be scaled; ranges of its values. */
struct scaled {
    int      node, seen;    /* seen: the node whose values give the ranges */
    int      channels, clips;    /* clips: seen is a relu6 */
    int64_t  rows;
    int64_t *bins;          /* [channel][BINS]; not of zeros */
    int     *by;            /* exponent of two of each channel: at most 0 */
};

struct scaling { struct scaled *list; int *seen; int count; };

/* ---- convs to scale ---- */

static int is_act(const struct ctt_node *n, int kind)
{
    return n->op == CTT_OP_ACT && n->attr.act.kind == kind;
}

/* Whether scaling before node j is scaling behind it; seen: where values are
 * measured, so a relu6 there leaves them as they are. */
static int scales_through(const struct ctt_graph *g, int j, int seen)
{
    const struct ctt_node *n = &g->node[j];

    return n->op == CTT_OP_POOL || is_act(n, CTT_ACT_RELU) ||
           (j == seen && is_act(n, CTT_ACT_RELU6));
}

/* A depthwise conv has a step of weights for each input channel, so scaling
 * costs no precision; the weights of others would differ more. */
static int multiplies(const struct ctt_graph *g, const char *take, int i)
{
    return take[i] && ctt_is_depthwise(g, &g->node[i]) && !ctt_is_int8(g, i);
}

static int reads_node(const struct ctt_node *n, int i)
{
    for (int k = 0; k < n->nin; k++)
        if (n->in[k] == i)
            return 1;
    return n->source == i;
}

/* Whether all readers of node i can take other scales; marks the convs among
 * them in convs[], or NULL. */
static int absorbs(const struct ctt_graph *g, const char *take, int i, int seen,
                   char *convs)
{
    int found = 0;

    if (i == ctt_graph_output(g))
        return 0;
    for (int j = 0; j < g->count; j++) {
        const struct ctt_node *n = &g->node[j];

        if (!reads_node(n, i))
            continue;
        found = 1;
        if (n->source == i || n->in[0] != i ||
            (n->nin > 1 && n->in[1] == i))
            return 0;
        if (!(scales_through(g, j, seen) ? absorbs(g, take, j, seen, convs)
                                         : multiplies(g, take, j)))
            return 0;
        if (convs && !scales_through(g, j, seen))
            convs[j] = 1;
    }
    return found;
}

/* The relu that is a node's only reader, or else the node. */
static int relu_of(const struct ctt_graph *g, int i)
{
    int relu = i, readers = 0;

    for (int j = 0; j < g->count; j++)
        if (reads_node(&g->node[j], i)) {
            relu = g->node[j].op == CTT_OP_ACT ? j : i;
            readers++;
        }
    return readers == 1 ? relu : i;
}

static int find_scaled(const struct ctt_graph *g, const char *take,
                       struct scaling *a)
{
    int rc = 0;

    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];
        struct scaled *s = &a->list[a->count];
        int seen = relu_of(g, i);

        if (!ctt_is_conv(n) || n->plus || !absorbs(g, take, i, seen, NULL))
            continue;
        *s = (struct scaled){ .node = i, .seen = seen,
                              .channels = (int)n->out.c,
                              .clips = is_act(&g->node[seen],
                                              CTT_ACT_RELU6) };
        a->seen[a->count++] = s->seen;
        s->bins = ctt_calloc((size_t)s->channels * BINS, sizeof(*s->bins));
        s->by = ctt_calloc((size_t)s->channels, sizeof(*s->by));
        CTT_TRY(s->bins && s->by ? 0 : CTT_ENOMEM);
    }
out:
    return rc;
}

/* ---- ranges ---- */

static void add_octaves(void *to, int k, const float *row)
{
    struct scaled *s = &((struct scaling *)to)->list[k];

    s->rows++;
    for (int c = 0; c < s->channels; c++) {
        float at = (log2f(fabsf(row[c])) + LEAST) * PER_OCTAVE;

        if (row[c] != 0)
            s->bins[c * BINS + (at < BINS - 1 ? at > 0 ? (int)at : 0
                                              : BINS - 1)]++;
    }
}

/* The bin above which a share of a channel's absolute values lies; -1: no more
 * of them are not zero. */
static int bin_of(const struct scaled *s, int c, double share)
{
    int64_t above = 0;

    for (int k = BINS - 1; k >= 0; k--) {
        above += s->bins[c * BINS + k];
        if ((double)above > share * (double)s->rows)
            return k;
    }
    return -1;
}

/* The logarithm of the 99.9% quantile of a channel's absolute values, in bins;
 * -1: all are zero. */
static int range_of(const struct scaled *s, int c)
{
    return bin_of(s, c, 0.001);
}

/* The exponent by which a channel may grow: no value meets the 6 of a relu6. */
static int most_by(const struct scaled *s, int c)
{
    double room = (log2(6) + LEAST) * PER_OCTAVE - 1 - bin_of(s, c, 0);

    if (!s->clips || room > PER_OCTAVE * MOST_BY)
        return MOST_BY;
    return room > 0 ? (int)room / PER_OCTAVE : 0;
}

/* In bins: the smallest and the largest range after all channels c have been
 * multiplied by 2^-by[c]; 0 if there are none. */
static void ends_of(const struct scaled *s, int *least, int *most)
{
    *least = BINS + PER_OCTAVE * MOST_BY;
    *most = -1;
    for (int c = 0; c < s->channels; c++) {
        int range = range_of(s, c), now = range - PER_OCTAVE * s->by[c];

        if (range < 0)
            continue;
        *least = now < *least ? now : *least;
        *most = now > *most ? now : *most;
    }
    *least = *most < 0 ? 0 : *least;
    *most = *most < 0 ? 0 : *most;
}

/* ---- scaling ---- */

static void choose_powers(struct scaled *s, int most)
{
    for (int c = 0; c < s->channels; c++) {
        int range = range_of(s, c);
        int by = (most - range + PER_OCTAVE / 2) / PER_OCTAVE;

        if (range >= 0)
            s->by[c] = -(by < most_by(s, c) ? by : most_by(s, c));
    }
}

/* Divides the output channels of the conv. */
static void divide(struct ctt_model *m, const struct scaled *s)
{
    const struct ctt_node *n = &m->g->node[s->node];
    int64_t each = ctt_volume(&n->w[0]) / n->w[0].n;

    for (int c = 0; c < s->channels; c++) {
        float *w = m->w + n->at[0] + c * each;

        for (int64_t i = 0; i < each; i++)
            w[i] = ldexpf(w[i], -s->by[c]);
        if (n->nw > 1)
            m->w[n->at[1] + c] = ldexpf(m->w[n->at[1] + c], -s->by[c]);
    }
}

/* Multiplies the input channels of depthwise conv i, each of which has as many
 * results. */
static void multiply(struct ctt_model *m, int i, const struct scaled *s)
{
    const struct ctt_node *n = &m->g->node[i];
    int64_t each = ctt_volume(&n->w[0]) / s->channels;
    float *w = m->w + n->at[0];

    for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++)
        w[k] = ldexpf(w[k], s->by[k / each]);
}

static void note_spread(const struct ctt_walk *k, const char *name, int before,
                        int after)
{
    for (int i = 0; i < k->r->weights; i++) {
        struct ctt_weight_row *row = &k->r->weight[i];
        size_t n = strlen(row->reason);

        if (ctt_row_has(row, name, ""))
            snprintf(row->reason + n, CTT_REASON - n, "%schannels differ by "
                     "%.3g, now %.3g", n ? "; " : "",
                     exp2((double)before / PER_OCTAVE),
                     exp2((double)after / PER_OCTAVE));
    }
}

static int equalise(const struct ctt_walk *k, struct ctt_model *m,
                    const char *take, struct scaled *s)
{
    char *convs = ctt_calloc((size_t)m->g->count, 1);
    int least, most, low, high;

    if (!convs)
        return CTT_ENOMEM;
    absorbs(m->g, take, s->node, s->seen, convs);
    ends_of(s, &least, &most);
    choose_powers(s, most);
    divide(m, s);
    for (int i = 0; i < m->g->count; i++)
        if (convs[i])
            multiply(m, i, s);
    ends_of(s, &low, &high);
    note_spread(k, m->g->node[s->node].name, most - least, high - low);
    ctt_free(convs);
    return 0;
}

int ctt_int8_uniform(const struct ctt_walk *k, struct ctt_model *m,
                     const char *take)
{
    struct scaling a = { .count = 0 };
    int rc = 0;

    a.list = ctt_calloc((size_t)m->g->count, sizeof(*a.list));
    a.seen = ctt_calloc((size_t)m->g->count, sizeof(*a.seen));
    CTT_TRY(a.list && a.seen ? 0 : CTT_ENOMEM);
    CTT_TRY(find_scaled(m->g, take, &a));
    CTT_CHECK(a.count == 0 || k->calls->sample, CTT_EINVAL, "--int8: no clips "
              "to measure ranges on: give --data");
    if (a.count > 0)
        CTT_TRY(k->calls->sample(k->calls->arg, m, k->o->svd.clips, a.seen,
                                 a.count, CTT_SAMPLE_VALUES, add_octaves, &a));
    for (int i = 0; i < a.count; i++)
        CTT_TRY(equalise(k, m, take, &a.list[i]));
out:
    for (int i = 0; a.list && i < m->g->count; i++) {
        ctt_free(a.list[i].bins);
        ctt_free(a.list[i].by);
    }
    ctt_free(a.list);
    ctt_free(a.seen);
    return rc;
}
