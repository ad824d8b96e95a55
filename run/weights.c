/* SPDX-License-Identifier: Apache-2.0
 * weights.c: the weights that the calls of a run get, decoded if they are not
 * floats. */
#include "run/layout.h"
#include "net/quant.h"

int ctt_run_flat_weights(struct ctt_run *r)
{
    r->weight = ctt_calloc((size_t)r->g->count, sizeof(*r->weight));
    if (!r->weight)
        return CTT_ENOMEM;
    for (int i = 0; i < r->g->count; i++) {
        const struct ctt_node *n = &r->g->node[i];

        for (int k = 0; k < n->nw; k++) {
            r->weight[i][k].t = n->w[k];
            if (r->w)
                r->weight[i][k].t.data = (void *)(r->w + n->at[k]);
        }
    }
    return 0;
}

/* The floats that the run allocates for weight k of a node, so that each weight
 * is aligned to 64 bytes; 0: it need not be decoded. */
static int64_t own_floats(const struct ctt_run *r, int i, int k,
                          const struct ctt_weight *w)
{
    if (ctt_weight_is_floats(w) ||
        ctt_dev_takes(r->dev, &r->g->node[i], k, w))
        return 0;
    return ctt_align(ctt_volume(&w->t), 16);
}

static int check_given(const struct ctt_node *n, int k,
                       const struct ctt_weight *w)
{
    int rc = 0;

    CTT_CHECK(ctt_volume(&w->t) == ctt_volume(&n->w[k]) &&
              w->t.n == n->w[k].n, CTT_EINVAL,
              "%s: weight %d has another shape", n->name, k);
    rc = ctt_weight_check(w);
    if (rc < 0)
        rc = ctt_error(rc, "%s: %s", n->name, ctt_errmsg());
out:
    return rc;
}

/* Checks all weights, writes the values of those to decode to `to` one after
 * the other, and counts these floats; to NULL: only checks and counts. */
static int expand(const struct ctt_run *r, const struct ctt_weight *w,
                  float *to, int64_t *floats)
{
    int64_t at = 0;
    int rc = 0;

    for (int i = 0; i < r->g->count; i++)
        for (int k = 0; k < r->g->node[i].nw; k++, w++) {
            int64_t n = own_floats(r, i, k, w);

            CTT_TRY(check_given(&r->g->node[i], k, w));
            if (to && n)
                CTT_TRY(ctt_weight_floats(w, to + at));
            at += n;
        }
    *floats = at;
out:
    return rc;
}

/* Points the calls at the decoded weights, which begin at `own` in the order of
 * expand(), and at those that the device takes as they are. */
static void use(struct ctt_run *r, const struct ctt_weight *w, float *own)
{
    for (int i = 0; i < r->g->count; i++)
        for (int k = 0; k < r->g->node[i].nw; k++, w++) {
            struct ctt_weight *to = &r->weight[i][k];
            int64_t n = own_floats(r, i, k, w);

            if (n) {
                to->t.data = own;
                own += n;
            } else if (!ctt_weight_is_floats(w)) {
                *to = *w;
            }
            to->keep = w->keep;
            to->late = w->late;
            if (w->late)
                to->t.data = NULL;
        }
}

int ctt_run_weights(struct ctt_run *r, const struct ctt_weight *weight)
{
    float *host = NULL, *own = NULL;
    int64_t n = 0, bytes;
    void *p = NULL;
    int rc = 0;

    CTT_CHECK(!r->floats, CTT_EINVAL, "the weights of a run are set twice");
    CTT_TRY(expand(r, weight, NULL, &n));
    bytes = n * (int64_t)sizeof(float);
    if (n > 0) {
        host = ctt_calloc((size_t)n, sizeof(float));
        CTT_TRY(host ? 0 : CTT_ENOMEM);
        CTT_TRY(expand(r, weight, host, &n));
        CTT_TRY(ctt_dev_alloc(r->dev, "weights as floats", bytes, &p));
        r->floats = own = p;
        CTT_TRY(ctt_dev_copy(r->dev, CTT_TO_DEVICE, host, own, bytes));
    }
    use(r, weight, own);
out:
    ctt_free(host);
    return rc;
}

/* ---- rounded weights ---- */

/* The floats that rounded weights take. */
static int64_t rounded_floats(const struct ctt_run *r, int *count)
{
    int64_t sum = 0;

    *count = 0;
    for (int i = 0; i < r->g->count; i++)
        if (ctt_is_int8(r->g, i) &&
            ctt_weight_is_floats(&r->weight[i][0])) {
            sum += ctt_align(ctt_volume(&r->weight[i][0].t), 16);
            ++*count;
        }
    return sum;
}

static void list_rounded(struct ctt_run *r)
{
    float *to = r->rounded;

    for (int i = 0, k = 0; i < r->g->count; i++) {
        struct ctt_tensor *t = &r->weight[i][0].t;

        if (!ctt_is_int8(r->g, i) || !ctt_weight_is_floats(&r->weight[i][0]))
            continue;
        r->round[k++] = (struct ctt_rounded){ t->data, to, t->n,
                                              ctt_volume(t) / t->n };
        t->data = to;
        to += ctt_align(ctt_volume(t), 16);
    }
}

static int make_rounded(struct ctt_run *r)
{
    int count, rc = 0;
    int64_t n = rounded_floats(r, &count);
    void *p = NULL;

    if (n == 0)
        goto out;
    r->round = ctt_calloc((size_t)count, sizeof(*r->round));
    CTT_TRY(r->round ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_dev_alloc(r->dev, "rounded weights",
                          n * (int64_t)sizeof(float), &p));
    r->rounded = p;
    r->rounds = count;
    list_rounded(r);
out:
    return rc;
}

int ctt_run_round(struct ctt_run *r)
{
    int rc = 0;

    if (r->bytes || !r->w || r->rounded_stamp == r->stamp)
        goto out;
    if (!r->rounded)
        CTT_TRY(make_rounded(r));
    for (int k = 0; k < r->rounds; k++)
        CTT_TRY(ctt_dev_round8(r->dev, r->round[k].from, r->round[k].rows,
                               r->round[k].each, r->round[k].to));
    r->rounded_stamp = r->stamp;
out:
    return rc;
}
