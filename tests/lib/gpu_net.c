/* SPDX-License-Identifier: Apache-2.0
 * gpu_net.c: whole models on a device, for the tests of the GPU. */
#include "tests/lib/gpu_net.h"

#include <math.h>
#include <string.h>

const struct net_type net_types[NET_TYPES] = {
    { "fp32", CTT_O0, 0, 2e-5, 2e-4 },
    { "O1 fp16", CTT_O1, 0, 4e-3, 1e-2 },
    { "O1 bf16", CTT_O1, 1, 3e-2, 8e-2 },
    { "O2 fp16", CTT_O2, 0, 4e-3, 1e-2 },
    { "O2 bf16", CTT_O2, 1, 3e-2, 8e-2 },
};

/* ---- a batch ---- */

static int64_t pixels(const struct net *r, int node)
{
    return ctt_rows(&r->g->node[node].out);
}

static int net_give(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    struct net *r = arg;
    int rc = 0;

    for (int i = 0; i < r->g->clip; i++)
        for (int t = 0; t < p->steps && r->g->node[i].op == CTT_OP_INPUT;
             t++) {
            int64_t volume = ctt_volume(&r->g->node[i].out);
            int64_t n = volume * r->m->n;
            ctt_check_fill(r->frame, n, 100 + (uint64_t)(p->first + t) +
                           1000 * (uint64_t)i + 100000 * (uint64_t)r->round);
            for (int64_t k = 0; k < n && volume == 1; k++)
                r->frame[k] = r->frame[k] > 0.2f;
            CTT_TRY(ctt_run_put(x->r, i, t, r->frame,
                                pixels(r, i) * r->m->n));
        }
out:
    return rc;
}

/* The part of the clip that belongs to answer i. */
static int64_t net_place(const struct net *r, const struct ctt_window *p, int i)
{
    return (r->clip ? p->which[i] : p->first + i) * r->one;
}

static int64_t rows(const struct net *r)
{
    return pixels(r, r->out) * (r->clip ? 1 : r->m->n);
}

static int net_take(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    struct net *r = arg;
    int rc = 0;

    if (r->clip) {
        CTT_TRY(ctt_run_get(x->r, r->out, 0, p->asks * rows(r), r->frame));
        for (int i = 0; i < p->asks; i++)
            memcpy(r->y + net_place(r, p, i), r->frame + i * r->one,
                   (size_t)r->one * sizeof(float));
        goto out;
    }
    for (int t = 0; t < p->steps; t++)
        CTT_TRY(ctt_run_get(x->r, r->out, t, rows(r), r->y + net_place(r, p,
                                                                       t)));
out:
    return rc;
}

static int net_seed(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    struct net *r = arg;
    int rc = 0;

    if (r->clip) {
        for (int i = 0; i < p->asks; i++)
            memcpy(r->frame + i * r->one, r->coef + net_place(r, p, i),
                   (size_t)r->one * sizeof(float));
        CTT_TRY(ctt_exec_put_grad(x, r->out, 0, r->frame, p->asks * rows(r)));
        goto out;
    }
    for (int t = 0; t < p->steps; t++)
        CTT_TRY(ctt_exec_put_grad(x, r->out, t, r->coef + net_place(r, p, t),
                                  rows(r)));
out:
    return rc;
}

/* ---- open ---- */

/* Weights of a batch norm: offsets that keep the next relu away from its kink,
 * where a rounding error would matter; a positive variance. */
static void fill_norm(const struct ctt_node *n, float *w)
{
    for (int64_t j = 0; j < n->out.c; j++) {
        w[n->at[0] + j] = 0.3f;
        w[n->at[1] + j] = j % 2 ? -1.0f : 1.0f;
        w[n->at[3] + j] = 1;
    }
}

/* Weights far from saturation. */
static void first_weights(const struct ctt_graph *g, float *w)
{
    ctt_check_fill(w, g->weights, 2);
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->node[i].nw; k++) {
            const struct ctt_tensor *t = &g->node[i].w[k];
            int64_t fan = ctt_volume(t) / t->n;
            float size = sqrtf(3 / (float)(fan > 12 ? fan : 12));
            for (int64_t j = 0; j < ctt_volume(t); j++)
                w[g->node[i].at[k] + j] *= size;
        }
    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_NORM && g->node[i].nw == 4)
            fill_norm(&g->node[i], w);
}

static int64_t largest_input(const struct net *r)
{
    int64_t most = r->one * (r->clip ? r->m->asks : 1);

    for (int i = 0; i < r->g->count; i++) {
        int64_t n = ctt_volume(&r->g->node[i].out) * r->m->n;
        if (r->g->node[i].op == CTT_OP_INPUT && n > most)
            most = n;
    }
    return most;
}

static int random_numbers(int64_t n, float **out)
{
    *out = ctt_calloc((size_t)n, sizeof(float));
    return *out ? 0 : CTT_ENOMEM;
}

static int make_numbers(struct net *r)
{
    int64_t bytes = r->g->weights * (int64_t)sizeof(float);
    int rc = 0;

    r->clip = r->g->clip < r->g->count;
    r->out = ctt_graph_output(r->g);
    r->one = ctt_volume(&r->g->node[r->out].out) * (r->clip ? 1 : r->m->n);
    r->answers = r->one * (r->clip ? r->m->asks : r->m->steps);
    CTT_TRY(random_numbers(r->answers, &r->y));
    CTT_TRY(random_numbers(r->answers, &r->coef));
    CTT_TRY(random_numbers(r->g->weights, &r->dw));
    CTT_TRY(random_numbers(r->g->weights, &r->now));
    CTT_TRY(random_numbers(largest_input(r), &r->frame));
    CTT_TRY(ctt_dev_alloc(r->dev, "weights", bytes, &r->w));
    CTT_TRY(ctt_dev_alloc(r->dev, "weights", bytes / 2, &r->w16));
    ctt_check_fill(r->coef, r->answers, 1);
out:
    return rc;
}

int net_open(struct net *r, const struct net_model *m, struct ctt_dev *dev,
             const struct net_type *t, int window, int keep)
{
    return net_open_as(r, m, dev, t, &(struct ctt_memory){ .window = window,
                                                           .keep = keep });
}

int net_open_as(struct net *r, const struct net_model *m, struct ctt_dev *dev,
                const struct net_type *t, const struct ctt_memory *memory)
{
    int rc;

    memset(r, 0, sizeof(*r));
    r->m = m;
    r->dev = dev;
    r->cfg.amp = t->amp;
    r->cfg.amp_type = t->amp_type;
    CTT_TRY(ctt_net_parse(m->text, &r->g));
    CTT_TRY(ctt_amp_plan(r->g, &r->cfg, &r->plan));
    CTT_TRY(make_numbers(r));
    CTT_TRY(ctt_exec_open(&(struct ctt_run_spec){
        .g = r->g, .dev = dev, .w = r->w, .samples = m->n, .steps = m->steps,
        .asks = m->asks,
        .type = ctt_amp_types(r->plan, &r->cfg) }, memory, &r->x));
    r->x->r->w16 = r->x->r->type ? r->w16 : NULL;
    for (int i = 0; i < m->asks; i++)
        r->ask[i] = (struct ctt_ask){ i % m->n, (3 + 5 * i) % m->steps };
    r->job = (struct ctt_job){ .steps = m->steps,
        .feedback = m->feedback ? m->feedback : m->steps, .ask = r->ask,
        .asks = r->clip ? m->asks : 0, .arg = r, .give = net_give,
        .take = net_take, .seed = net_seed };
out:
    return rc;
}

void net_close(struct net *r)
{
    float *own[] = { r->y, r->coef, r->dw, r->now, r->frame };

    ctt_exec_close(&r->x);
    for (size_t i = 0; i < CTT_LEN(own); i++)
        ctt_free(own[i]);
    ctt_dev_free(r->dev, &r->w);
    ctt_dev_free(r->dev, &r->w16);
    ctt_amp_free(&r->plan);
    ctt_graph_free(&r->g);
}

/* ---- a run ---- */

int net_run(struct net *r, int round)
{
    int64_t n = r->g->weights, bytes = n * (int64_t)sizeof(float);
    int rc = 0;

    first_weights(r->g, r->now);
    CTT_TRY(ctt_dev_copy(r->dev, CTT_TO_DEVICE, r->now, r->w, bytes));
    if (r->x->r->w16)
        CTT_TRY(ctt_dev_cast(r->dev, r->w, ctt_amp_type(&r->cfg), r->w16, n));
    r->round = round;
    r->x->r->key = 77 + (uint64_t)round;
    r->x->r->stamp++;
    CTT_TRY(ctt_exec_forward(r->x, &r->job));
    CTT_TRY(ctt_exec_backward(r->x, &r->job));
    CTT_TRY(ctt_dev_copy(r->dev, CTT_TO_HOST, r->x->dw, r->dw, bytes));
    CTT_TRY(ctt_dev_copy(r->dev, CTT_TO_HOST, r->w, r->now, bytes));
out:
    return rc;
}

double net_off(const float *a, const float *b, int64_t n)
{
    double d = 0, l = 0;

    for (int64_t i = 0; i < n; i++) {
        d += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        l += (double)b[i] * b[i];
    }
    return sqrt(d / (l > 0 ? l : 1));
}

int net_same(const struct net *a, const struct net *b)
{
    size_t w = (size_t)a->g->weights * sizeof(float);

    return memcmp(a->y, b->y, (size_t)a->answers * sizeof(float)) == 0 &&
           memcmp(a->dw, b->dw, w) == 0 && memcmp(a->now, b->now, w) == 0;
}
