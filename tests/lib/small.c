/* SPDX-License-Identifier: Apache-2.0
 * small.c: small models with numbers, for the tests of compression. */
#include "tests/lib/small.h"
#include "tests/lib/check.h"
#include "net/op.h"
#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char small_net[] =
    "input x h=6 w=6 c=16\n"
    "conv a in=x out=32 kernel=1,3,3 pad=0,1,1\n"
    "norm n in=a kind=batch\nact r in=n kind=relu\n"
    "conv b in=r out=8\n"
    "convlstm h in=b hidden=8 kernel=3\n"
    "clip\nwindow v in=h steps=3\npool p in=v kind=avg\n"
    "conv y in=p out=5\n";

static void fill(struct ctt_model *m, const struct ctt_node *n, int k,
                 uint64_t key)
{
    float *w = m->w + n->at[k];
    int64_t count = ctt_volume(&n->w[k]);
    float scale = n->op == CTT_OP_NORM ? 0.2f
        : k > 0 ? 0.1f : 1.5f / sqrtf((float)count / (float)n->w[k].n);

    ctt_check_fill(w, count, key);
    for (int64_t i = 0; i < count; i++)
        w[i] = w[i] * scale + (n->op == CTT_OP_NORM && k % 3 == 0);
}

struct ctt_model *small_model(const char *text, uint64_t key)
{
    struct ctt_graph *g = NULL;
    struct ctt_model *m = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    CHECK_OK(ctt_model_new(g, &m));
    for (int i = 0; i < m->g->count; i++)
        for (int k = 0; k < m->g->node[i].nw; k++)
            fill(m, &m->g->node[i], k, key * 1000 + (uint64_t)(i * 4 + k));
    return m;
}

static double digit(int axis, int64_t i, int r)
{
    return sin(1.7 * (double)(i + 1) * (axis + 1) + 2.3 * r * (axis + 2));
}

void small_rank(struct ctt_model *m, int rank)
{
    for (int i = 0; i < m->g->count; i++) {
        const struct ctt_node *n = &m->g->node[i];
        const struct ctt_tensor *t = &n->w[0];

        if (!ctt_is_conv(n))
            continue;
        for (int64_t k = 0; k < ctt_volume(t); k++) {
            int64_t x = k / t->c / t->w;
            double sum = 0;
            for (int r = 0; r < rank; r++)
                sum += digit(0, k % t->c, r) * digit(1, k / t->c % t->w, r) *
                       digit(2, x % t->h, r) * digit(3, x / t->h % t->d, r) *
                       digit(4, x / t->h / t->d, r);
            m->w[n->at[0] + k] =
                (float)(sum / sqrt((double)(ctt_volume(t) / t->n)));
        }
    }
}

static float *answer(const struct ctt_model *m, int steps, int64_t *size)
{
    int out = ctt_graph_output(m->g), in = ctt_graph_input(m->g);
    int clip = m->g->clip < m->g->count;
    struct ctt_dev *d = NULL;
    struct ctt_run *r = NULL;
    float *y = NULL;

    *size = ctt_volume(&m->g->node[out].out);
    CHECK_OK(ctt_dev_open("ref", 1, &d));
    CHECK_OK(ctt_run_open(&(struct ctt_run_spec){
        .g = m->g, .dev = d, .w = m->w, .samples = 1, .steps = steps,
        .asks = clip }, &r));
    CHECK_OK(ctt_run_make_room(r, steps));
    for (int t = 0; t < steps; t++)
        ctt_check_fill(ctt_run_value(r, in, t),
                       ctt_volume(&m->g->node[in].out), (uint64_t)t + 99);
    CHECK_OK(ctt_run_steps(r, steps));
    if (clip) {
        r->ask[0] = (struct ctt_ask){ 0, steps - 1 };
        CHECK_OK(ctt_run_clip(r, 1));
    }
    y = ctt_calloc((size_t)*size, sizeof(*y));
    memcpy(y, ctt_run_value(r, out, clip ? 0 : steps - 1),
           (size_t)*size * sizeof(*y));
    ctt_run_close(&r);
    ctt_dev_close(&d);
    return y;
}

void small_compare(const struct ctt_model *a, const struct ctt_model *b,
                   int steps, double tol)
{
    int64_t na, nb;
    float *ya = answer(a, steps, &na), *yb = answer(b, steps, &nb);
    double sum = 0;

    CU_ASSERT_EQUAL_FATAL(na, nb);
    for (int64_t i = 0; i < na; i++)
        sum += fabs((double)ya[i]);
    CU_ASSERT(sum > 0);    /* otherwise the comparison would be empty */
    CHECK_CLOSE(yb, ya, na, tol);
    ctt_free(ya);
    ctt_free(yb);
}

int64_t small_pruned(const struct ctt_model *m, const struct ctt_node *n)
{
    int64_t sum = 0;

    for (int64_t k = 0; k < ctt_volume(&n->w[0]); k++) {
        int64_t at = n->at[0] + k;
        sum += !m->constraint.keep[at];
        CU_ASSERT(m->constraint.keep[at] || m->w[at] == 0);
    }
    return sum;
}

void small_count(const struct ctt_model *m, int64_t *all, int64_t *pruned)
{
    int64_t zeros = 0;

    *all = *pruned = 0;
    for (int i = 0; i < m->g->count; i++)
        if (ctt_is_conv(&m->g->node[i])) {
            *all += ctt_volume(&m->g->node[i].w[0]);
            *pruned += small_pruned(m, &m->g->node[i]);
        }
    for (int64_t k = 0; k < m->g->weights; k++)
        zeros += !m->constraint.keep[k];
    CU_ASSERT_EQUAL(zeros, *pruned);
}
