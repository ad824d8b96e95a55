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

static void fill_node(struct ctt_model *m, const struct ctt_node *n, int k,
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
            fill_node(m, &m->g->node[i], k, key * 1000 + (uint64_t)(i * 4 + k));
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

static float *model_answer(const struct ctt_model *m, int steps, int64_t *size)
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
    float *ya = model_answer(a, steps, &na), *yb = model_answer(b, steps, &nb);
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

/* ---- clips ---- */

/* Channels that vary together, about means that are not 0: far from white. */
static void frame(float *x, int64_t pixels, int64_t c, int step)
{
    for (int64_t i = 0; i < pixels; i++)
        for (int64_t k = 0; k < c; k++) {
            double at = (double)(i + 17 * step), z = sin(1.3 * at),
                   v = cos(0.7 * at * at);
            x[i * c + k] = (float)(0.8 + z * cos(2.1 * (double)k) +
                                   0.5 * v * sin(0.9 * (double)(k * k)) +
                                   0.01 * sin(7.7 * at * (double)(k + 1)));
        }
}

/* Inputs of y, a conv or deconv, at position `at`, in the order of a row of its
 * weight: for each weight, the one element of x multiplied by it. */
static void patch(const struct ctt_graph *g, const struct ctt_node *n,
                  const float *x, int64_t at, float *to)
{
    const struct ctt_tensor *in = &g->node[n->in[0]].out, *w = &n->w[0];
    const int *s = n->attr.conv.stride, *p = n->attr.conv.pad;
    const int *apart = n->attr.conv.dilation;
    int64_t y[3] = { at / (n->out.h * n->out.w), at / n->out.w % n->out.h,
                     at % n->out.w };

    for (int64_t k = 0; k < w->d * w->h * w->w; k++) {
        int64_t tap[3] = { k / (w->h * w->w), k / w->w % w->h, k % w->w };

        memset(to + k * w->c, 0, (size_t)w->c * sizeof(*to));
        for (int64_t i = 0; i < ctt_rows(in); i++) {
            int64_t q[3] = { i / (in->h * in->w), i / in->w % in->h,
                             i % in->w };
            int reads = 1;

            for (int a = 0; a < 3; a++)
                reads &= n->op == CTT_OP_DECONV
                    ? y[a] == q[a] * s[a] - p[a] + tap[a] * apart[a]
                    : q[a] == y[a] * s[a] - p[a] + tap[a] * apart[a];
            if (reads)
                memcpy(to + k * w->c, x + i * w->c,
                       (size_t)w->c * sizeof(*to));
        }
    }
}

static int take_node(const struct ctt_run *r, const struct ctt_graph *g,
                     int node, int inputs, int k,
                     void (*take)(void *to, int k, const float *row), void *to)
{
    const struct ctt_node *n = &g->node[node];
    int from = inputs ? n->in[0] : node, rc = 0;
    const struct ctt_tensor *x = &g->node[from].out;
    float *v = ctt_calloc((size_t)ctt_volume(x), sizeof(*v));
    float *row = ctt_calloc(inputs ? (size_t)ctt_volume(&n->w[0]) : 1,
                            sizeof(*row));

    CTT_TRY(v && row ? 0 : CTT_ENOMEM);
    for (int t = 0; t < SMALL_FRAMES; t++) {
        CTT_TRY(ctt_run_get(r, from, t, ctt_rows(x), v));
        for (int64_t i = 0; i < ctt_rows(&n->out); i++) {
            if (inputs)
                patch(g, n, v, i, row);
            take(to, k, inputs ? row : v + i * n->out.c);
        }
    }
out:
    ctt_free(v);
    ctt_free(row);
    return rc;
}

int small_sample(void *arg, const struct ctt_model *m, int clips,
                  const int *node, int nodes, enum ctt_sampled what,
                  void (*take)(void *to, int k, const float *row), void *to)
{
    int in = ctt_graph_input(m->g), rc = 0;
    struct ctt_dev *d = NULL;
    struct ctt_run *r = NULL;
    const struct ctt_tensor *x = &m->g->node[in].out;

    CU_ASSERT(!arg || clips == *(int *)arg);
    CTT_TRY(ctt_dev_open("ref", 1, &d));
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){
        .g = m->g, .dev = d, .w = m->w, .samples = 1, .steps = SMALL_FRAMES,
        .train = 1 }, &r));
    r->train = 0;
    for (int t = 0; t < SMALL_FRAMES; t++)
        frame(ctt_run_value(r, in, t), x->d * x->h * x->w, x->c, t);
    CTT_TRY(ctt_run_steps(r, SMALL_FRAMES));
    for (int k = 0; k < nodes; k++)
        CTT_TRY(take_node(r, m->g, node[k], what == CTT_SAMPLE_INPUTS, k,
                          take, to));
out:
    ctt_run_close(&r);
    ctt_dev_close(&d);
    return rc;
}

int small_sample_any(void *arg, const struct ctt_model *m, int clips,
                     const int *node, int nodes, enum ctt_sampled what,
                     void (*take)(void *to, int k, const float *row),
                     void *to)
{
    (void)arg;
    return small_sample(NULL, m, clips, node, nodes, what, take, to);
}

struct answers { float *row; int64_t rows, c; };

static void keep_row(void *to, int k, const float *row)
{
    struct answers *a = to;

    (void)k;
    memcpy(a->row + a->rows++ * a->c, row, (size_t)a->c * sizeof(*row));
}

static struct answers model_answers(const struct ctt_model *m)
{
    int out = ctt_graph_output(m->g);
    const struct ctt_tensor *y = &m->g->node[out].out;
    struct answers a = { .c = y->c };

    a.row = ctt_calloc((size_t)(SMALL_FRAMES * ctt_volume(y)), sizeof(*a.row));
    CHECK_OK(small_sample(NULL, m, 0, &out, 1, 0, keep_row, &a));
    return a;
}

double small_loss(const struct ctt_model *m, const struct ctt_model *c,
                  double *bias)
{
    struct answers a = model_answers(m), b = model_answers(c);
    double sum = 0;

    CU_ASSERT_EQUAL_FATAL(a.rows, b.rows);
    *bias = 0;
    for (int64_t k = 0; k < a.c; k++) {
        double mean = 0;
        for (int64_t i = 0; i < a.rows; i++) {
            double e = a.row[i * a.c + k] - b.row[i * a.c + k];
            mean += e / (double)a.rows;
            sum += e * e / (double)a.rows;
        }
        *bias = fabs(mean) > *bias ? fabs(mean) : *bias;
    }
    ctt_free(a.row);
    ctt_free(b.row);
    return sum;
}

/* The variance of w x over the places, in models without bias and second
 * input. */
double small_variance(const struct ctt_model *m)
{
    struct answers a = model_answers(m);
    double sum = 0;

    for (int64_t k = 0; k < a.c; k++) {
        double mean = 0;
        for (int64_t i = 0; i < a.rows; i++)
            mean += a.row[i * a.c + k] / (double)a.rows;
        for (int64_t i = 0; i < a.rows; i++) {
            double e = a.row[i * a.c + k] - mean;
            sum += e * e / (double)a.rows;
        }
    }
    ctt_free(a.row);
    return sum;
}
