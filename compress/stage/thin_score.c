/* SPDX-License-Identifier: Apache-2.0
 * thin_score.c: the importance of each class of channels. */
#include "compress/stage/thin_score.h"
#include "net/op.h"

#include <math.h>

struct scoring {
    const struct ctt_model        *m;
    const struct ctt_channel_groups         *t;
    const struct ctt_recipe_calls *calls;
    int     clips;
    double *score;
    double *part;      /* by class: of the weight at hand */
    double *sum;       /* by layer: of these parts */
    int    *classes;   /* by layer: their number */
    int    *parts;     /* by layer: the number of its weights */
};

/* ---- the norm of all weights ---- */

/* Adds the squares of weight k of node i to the classes of its rows, or of the
 * channels that it reads. */
static void add_squares(struct scoring *a, int i, int k, int reads)
{
    const struct ctt_node *n = &a->m->g->node[i];
    int64_t size = ctt_volume(&n->w[k]), c = n->w[k].c;
    int64_t each = ctt_is_kernel(n, k) ? size / n->out.c : 1;

    for (int64_t x = 0; x < size; x++) {
        double w = (double)a->m->w[n->at[k] + x];
        int class = reads ? ctt_tie(a->t, n->in[0], x % c)
                          : ctt_tie(a->t, i, x / each);

        a->part[class] += w * w;
    }
}

/* Moves the parts to the scores, each layer's with the mean 1. */
static void take_parts(struct scoring *a)
{
    const struct ctt_channel_groups *t = a->t;

    for (int k = 0; k < t->classes; k++)
        if (t->layer[k] >= 0)
            a->sum[t->layer[k]] += a->part[k];
    for (int k = 0; k < t->classes; k++) {
        int layer = t->layer[k];

        if (layer >= 0 && a->sum[layer] > 0)
            a->score[k] += a->part[k] / a->sum[layer] * a->classes[layer];
        a->part[k] = 0;
    }
    for (int k = 0; k < t->layers; k++) {
        a->parts[k] += a->sum[k] > 0;
        a->sum[k] = 0;
    }
}

static int by_norm(struct scoring *a)
{
    const struct ctt_channel_groups *t = a->t;

    for (int i = 0; i < a->m->g->count; i++) {
        const struct ctt_node *n = &a->m->g->node[i];

        for (int k = 0; k < n->nw; k++) {
            if (n->fixed >> k & 1)
                continue;
            add_squares(a, i, k, 0);
            take_parts(a);
            if (!ctt_is_kernel(n, k) || ctt_is_grouped(n))
                continue;
            add_squares(a, i, k, 1);
            take_parts(a);
        }
    }
    for (int k = 0; k < t->classes; k++)
        if (t->layer[k] >= 0 && a->parts[t->layer[k]] > 0)
            a->score[k] /= a->parts[t->layer[k]];
    return 0;
}

/* ---- the response of readers ---- */

/* A conv and the squares of the channels that it reads. */
struct reader { int node, c; int64_t rows; double *square; };

static void take_activations(void *to, int k, const float *row)
{
    struct reader *r = (struct reader *)to + k;

    for (int j = 0; j < r->c; j++)
        r->square[j] += (double)row[j] * (double)row[j];
    r->rows++;
}

static int find_readers(const struct scoring *a, struct reader *r, int *node,
                        int *readers)
{
    const struct ctt_graph *g = a->m->g;
    int rc = 0;

    for (int i = 0; i < g->count; i++) {
        const struct ctt_node *n = &g->node[i];
        int c = ctt_is_conv(n) ? (int)n->w[0].c : 0, may = 0;

        for (int j = 0; j < c && !ctt_is_grouped(n); j++)
            may |= !a->t->whole[ctt_tie(a->t, n->in[0], j)];
        if (!may)
            continue;
        r[*readers] = (struct reader){ i, c, 0, ctt_calloc((size_t)c,
                                                    sizeof(double)) };
        CTT_TRY(r[*readers].square ? 0 : CTT_ENOMEM);
        node[(*readers)++] = n->in[0];
    }
out:
    return rc;
}

/* The share of each class in the results of one conv. */
static int add_shares(struct scoring *a, const struct reader *r)
{
    const struct ctt_node *n = &a->m->g->node[r->node];
    const float *w = a->m->w + n->at[0];
    double all = 0;
    int rc = 0;

    CTT_CHECK(r->rows > 0, CTT_EINVAL, "%s: the clips to measure on have none "
              "of its places: give --calibrate more clips", n->name);
    for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++) {
        int j = (int)(k % r->c);
        double x = (double)w[k] * (double)w[k] * r->square[j];

        a->part[ctt_tie(a->t, n->in[0], j)] += x;
        all += x;
    }
    CTT_CHECK(isfinite(all), CTT_ENAN, "%s: a response is not finite",
              n->name);
    for (int j = 0; j < r->c; j++) {
        int class = ctt_tie(a->t, n->in[0], j);

        if (all > 0)
            a->score[class] += a->part[class] / all;
        a->part[class] = 0;
    }
out:
    return rc;
}

static int by_response(struct scoring *a)
{
    size_t most = (size_t)a->m->g->count;
    struct reader *r = ctt_calloc(most, sizeof(*r));
    int *node = ctt_calloc(most, sizeof(*node)), readers = 0, rc = 0;

    CTT_TRY(r && node ? 0 : CTT_ENOMEM);
    CTT_TRY(find_readers(a, r, node, &readers));
    CTT_CHECK(a->calls->sample, CTT_EINVAL,
              "responses need clips to be measured on");
    CTT_TRY(a->calls->sample(a->calls->arg, a->m, a->clips, node, readers,
                             CTT_SAMPLE_VALUES, take_activations, r));
    for (int k = 0; k < readers; k++)
        CTT_TRY(add_shares(a, &r[k]));
out:
    for (int k = 0; r && k < readers; k++)
        ctt_free(r[k].square);
    ctt_free(r);
    ctt_free(node);
    return rc;
}

/* ---- the scores ---- */

static int (*const scores[])(struct scoring *a) = {
    [CTT_THIN_NORM] = by_norm, [CTT_THIN_RESPONSE] = by_response,
};

int ctt_thin_scores(const struct ctt_model *m,
                    const struct ctt_channel_groups *t,
                    const struct ctt_thin *o, int clips,
                    const struct ctt_recipe_calls *calls, double *score)
{
    size_t n = (size_t)t->classes, layers = (size_t)t->layers + 1;
    struct scoring a = { m, t, calls, clips, score,
        ctt_calloc(n, sizeof(double)), ctt_calloc(layers, sizeof(double)),
        ctt_calloc(layers, sizeof(int)), ctt_calloc(layers, sizeof(int)) };
    int rc = 0;

    CTT_TRY(a.part && a.sum && a.classes && a.parts ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_model_finite(m));
    for (size_t k = 0; k < n; k++) {
        score[k] = 0;
        if (t->layer[k] >= 0)
            a.classes[t->layer[k]]++;
    }
    CTT_TRY(scores[o->score](&a));
out:
    ctt_free(a.part);
    ctt_free(a.sum);
    ctt_free(a.classes);
    ctt_free(a.parts);
    return rc;
}
