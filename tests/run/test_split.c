/* SPDX-License-Identifier: Apache-2.0
 * test_split.c: a graph that several processes share computes what one does,
 * forward and back; and what is not divided. */
#include "net/op.h"
#include "net/rewrite/split.h"
#include "run/back/exec.h"
#include "tests/lib/check.h"
#include "tests/lib/together.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 2, LONG = 5, ASKS = 3, PARTS = TOGETHER_MOST };

/* Kernels and strides that are odd and even, rows that no number of bands
 * divides, loops, values of other steps, a part after clip. */
static const char *const nets[] = {
    "input x h=13 w=6 c=2\n"
    "conv a in=x out=3 kernel=3 pad=1\n"
    "act r in=a kind=relu\n"
    "pool p in=r kind=max kernel=2\n"
    "conv b in=p out=4 kernel=3 stride=2 pad=1\n"
    "act s in=b kind=tanh\n"
    "pool q in=s kind=avg\n"
    "conv y in=q out=3\n",

    "input x h=17 w=5 c=1\n"
    "conv a in=x out=3 kernel=5 stride=2 pad=2\n"
    "norm n in=a kind=layer\n"
    "conv b in=n out=4 kernel=2 stride=1\n"
    "conv c in=b out=4 kernel=1 stride=1\n"
    "pool p in=c kind=avg kernel=1,3,1 stride=1\n"
    "pool q in=p kind=avg\n"
    "conv y in=q out=3\n",

    "input x h=24 w=4 c=2\n"
    "conv a in=x out=4 kernel=4 stride=4 pad=1\n"
    "conv b in=x out=3 kernel=1 stride=2\n"
    "conv d in=x out=3 kernel=3 stride=3\n"
    "pool p in=a kind=avg\n"
    "pool q in=b kind=max\n"
    "pool r in=d kind=max\n"
    "concat k in=p,q,r\n"
    "conv y in=k out=3\n",

    "input x h=9 w=5 c=2\n"
    "convlstm g in=x hidden=3 kernel=3\n"
    "convlstm h in=g hidden=2 kernel=5\n"
    "pool p in=h kind=avg\n"
    "conv y in=p out=3\n",

    "input x h=8 w=4 c=2\n"
    "convttlstm h in=x hidden=3 kernel=3 order=3 steps=4 rank=2\n"
    "state s of=h like=nobody delay=2 fill=first\n"
    "add m in=h,s minus=1 bias=1\n"
    "slice t in=m from=1 to=3\n"
    "conv y in=t out=2 kernel=3 pad=1\n",

    "input x h=8 w=6 c=2\n"
    "conv e in=x out=4 kernel=3 pad=1\n"
    "quant q in=e scale=0.02\n"
    "conv f in=q out=4 kernel=3 pad=1 groups=2 plus=e\n"
    "pool d in=f kind=avg kernel=2\n"
    "upsample u in=d by=2\n"
    "mul m in=u,e\n"
    "dropout o in=m rate=0.3\n"
    "conv z in=o out=3 kernel=3 pad=1\n"
    "clip\n"
    "window v in=z steps=3 every=2\n"
    "conv c in=v out=4 kernel=3 pad=1\n"
    "window w in=z steps=2 spread=1\n"
    "conv j in=w out=4 kernel=2,3,3 pad=0,1,1\n"
    "pool k in=c kind=max\n"
    "pool l in=j kind=avg\n"
    "add s in=k,l\n"
    "conv y in=s out=3\n",

    "input x h=21 w=6 c=2\n"
    "conv a in=x out=4 kernel=3 stride=2 after=1\n"
    "act r in=a kind=hswish\n"
    "conv b in=r out=4 kernel=3 pad=2 after=1 dilation=2\n"
    "pool m in=b kind=avg\n"
    "conv t in=m out=4\n"
    "act u in=t kind=hsigmoid\n"
    "mul e in=b,u\n"
    "lrn n in=e size=3\n"
    "softmax s in=n over=channels\n"
    "softmax v in=s over=positions\n"
    "pool p in=v kind=max kernel=2 after=1\n"
    "pool q in=p kind=avg\n"
    "conv y in=q out=3\n",

    "input x h=12 w=3 c=1\n"
    "conv e in=x out=4 kernel=3 pad=1\n"
    "reshape r in=e d=1 h=12 w=12 c=1\n"
    "conv f in=r out=4 kernel=3 pad=1\n"
    "lstm l in=f hidden=2\n"
    "pool p in=l kind=max kernel=3 stride=2 pad=1\n"
    "conv y in=p out=3 kernel=1,6,2\n",

    "input x h=11 w=5 c=2\n"
    "conv a in=x out=4 kernel=3 stride=2 pad=1\n"
    "norm n in=a kind=batch\n"
    "act r in=n kind=relu\n"
    "conv b in=r out=3 kernel=3 pad=1\n"
    "norm m in=b kind=batch\n"
    "pool q in=m kind=max\n"
    "conv t in=q out=4\n"
    "norm k in=t kind=batch\n"
    "conv y in=k out=3\n",
};

/* What one or all have computed. */
struct result { float *y, *dw; };

static int numbers_of(const struct ctt_graph *g)
{
    int clip = g->clip < g->count;

    return (clip ? ASKS : SAMPLES * LONG) *
           (int)ctt_volume(&g->node[ctt_graph_output(g)].out);
}

static int put(struct ctt_exec *x, int node, const struct ctt_window *p)
{
    const struct ctt_tensor *t = &x->r->g->node[node].out;
    int64_t each = ctt_volume(t) * SAMPLES;
    float *v = ctt_calloc((size_t)(each * p->steps), sizeof(*v));
    int rc = v ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int s = 0; s < p->steps; s++)
        ctt_check_fill(v + s * each, each, 500 + (uint64_t)(p->first + s));
    CTT_TRY(ctt_run_put(x->r, node, 0, v, p->steps * SAMPLES * ctt_rows(t)));
out:
    ctt_free(v);
    return rc;
}

static int give(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    (void)arg;
    return put(x, ctt_graph_input(x->r->g), p);
}

/* Rows of the answer in a window, and where they are among all. */
static int64_t rows_of(const struct ctt_exec *x, const struct ctt_window *p,
                       int64_t *first)
{
    const struct ctt_graph *g = x->r->g;
    int64_t each = ctt_rows(&g->node[ctt_graph_output(g)].out);

    if (g->clip < g->count) {
        *first = p->asks ? p->which[0] * each : 0;
        return p->asks * each;
    }
    *first = p->first * SAMPLES * each;
    return p->steps * SAMPLES * each;
}

static int take(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    const struct result *r = arg;
    int out = ctt_graph_output(x->r->g);
    int64_t first, rows = rows_of(x, p, &first);

    return rows ? ctt_run_get(x->r, out, 0, rows, r->y + first *
                              x->r->g->node[out].out.c) : 0;
}

static int seed(void *arg, struct ctt_exec *x, const struct ctt_window *p)
{
    int out = ctt_graph_output(x->r->g), n = numbers_of(x->r->g), rc = 0;
    float *dy = ctt_check_floats(n, 900);
    int64_t first, rows = rows_of(x, p, &first);

    (void)arg;
    if (rows)
        rc = ctt_exec_put_grad(x, out, 0, dy + first *
                               x->r->g->node[out].out.c, rows);
    ctt_free(dy);
    return rc;
}

static int run(const struct ctt_graph *g, const float *w, const char *device,
               int window, const struct ctt_group *group,
               const struct result *out)
{
    static const struct ctt_ask ask[ASKS] = { { 0, 1 }, { 1, 2 }, { 0, 4 } };
    struct ctt_memory m = { .window = window, .keep = CTT_KEEP_ALL };
    struct ctt_job job = { .steps = LONG, .feedback = LONG, .ask = ask,
        .asks = g->clip < g->count ? ASKS : 0, .arg = (void *)(uintptr_t)out,
        .give = give, .take = take, .seed = seed };
    struct ctt_dev *dev = NULL;
    struct ctt_exec *x = NULL;
    int rc;

    CTT_TRY(ctt_dev_open(device, 1, &dev));
    CTT_TRY(ctt_dev_join(dev, group));
    CTT_TRY(ctt_dev_join_norms(dev, group));
    CTT_TRY(ctt_exec_open(&(struct ctt_run_spec){
        .g = g, .dev = dev, .w = w, .samples = SAMPLES, .steps = LONG,
        .asks = job.asks }, &m, &x));
    x->r->key = 77;
    for (int again = 0; again < 2; again++) {
        CTT_TRY(ctt_exec_forward(x, &job));
        CTT_TRY(ctt_exec_backward(x, &job));
    }
    memcpy(out->dw, x->dw, (size_t)g->weights * sizeof(float));
out:
    ctt_exec_close(&x);
    ctt_dev_close(&dev);
    return rc;
}

/* ---- parts ---- */

typedef int split_fn(const struct ctt_graph *g, int part, int parts,
                     struct ctt_split **out);

struct shared {
    const struct ctt_graph *g;
    const float      *w;
    const char       *device;
    split_fn         *split;
    int               window;
    struct ctt_split *of[PARTS];
    struct result     r[PARTS];    /* dw: as the whole's */
};

static int run_part(void *arg, const struct ctt_group *group)
{
    struct shared *s = arg;
    struct result own = s->r[group->part];
    struct ctt_split *part = NULL;
    float *w = NULL, *dw = NULL;
    int rc;

    CTT_TRY(s->split(s->g, group->part, group->parts, &part));
    s->of[group->part] = part;
    w = ctt_calloc((size_t)part->g->weights, sizeof(*w));
    dw = ctt_calloc((size_t)part->g->weights, sizeof(*dw));
    CTT_TRY(w && dw ? 0 : CTT_ENOMEM);
    ctt_split_take(part, s->w, w);
    CTT_TRY(run(part->g, w, s->device, s->window, group,
                &(struct result){ own.y, dw }));
    ctt_split_give(part, 0, dw, own.dw);
out:
    ctt_free(w);
    ctt_free(dw);
    return rc;
}

/* What all parts' gradients come to. */
static void add_up(const struct shared *s, int parts, float *dw)
{
    for (int i = 0; i < s->g->count; i++)
        for (int k = 0; k < s->g->node[i].nw; k++) {
            const struct ctt_node *n = &s->g->node[i];

            for (int64_t j = n->at[k]; j < n->at[k] + ctt_volume(&n->w[k]);
                 j++) {
                dw[j] = s->r[0].dw[j];
                for (int r = 1; r < parts && s->of[0]->partial[i]; r++)
                    dw[j] += s->r[r].dw[j];
                for (int r = 1; r < parts && !s->of[0]->partial[i]; r++)
                    CU_ASSERT_EQUAL(s->r[r].dw[j], dw[j]);
            }
        }
}

static double largest(const float *x, int64_t n)
{
    double most = 0;

    for (int64_t i = 0; i < n; i++)
        most = fmax(most, fabs((double)x[i]));
    return most;
}

/* How far rounding may go: a value in the middle between two steps of a quant
 * may become either. */
static double tolerance(const struct ctt_graph *g, int bits)
{
    for (int i = 0; i < g->count && !bits; i++)
        if (g->node[i].op == CTT_OP_QUANT)
            return 1e-3;
    return 1e-5;
}

/* By the largest number of the gradient. */
static void check_dw(const struct ctt_graph *g, const float *want,
                     const float *got, double tol, const char *what)
{
    double most = largest(want, g->weights);

    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->node[i].nw; k++) {
            int64_t at = g->node[i].at[k], n = ctt_volume(&g->node[i].w[k]);
            double off = 0;

            for (int64_t j = at; j < at + n; j++)
                off = fmax(off, fabs((double)got[j] - (double)want[j]));
            if (off > tol * most)
                printf("\n    %s: gradient of %s: %g of %g", what,
                       g->node[i].name, off, most);
            CU_ASSERT(off <= tol * most);
            CU_ASSERT(largest(want + at, n) > 0 ||
                      g->node[i].fixed >> k & 1);
        }
}

static float *weights_of(const struct ctt_graph *g)
{
    float *w = ctt_check_floats(g->weights, 3);

    for (int64_t i = 0; i < g->weights; i++)
        w[i] *= 0.6f;
    return w;
}

static void compare(const struct ctt_graph *g, const char *device, int parts,
                    int window, split_fn *split, int bits)
{
    struct shared s = { .g = g, .device = device, .split = split,
                        .window = window, .w = weights_of(g) };
    int n = numbers_of(g);
    struct result one = { ctt_check_floats(n, 0),
                          ctt_check_floats(g->weights, 0) };
    float *dw = ctt_check_floats(g->weights, 0);

    for (int r = 0; r < parts; r++)
        s.r[r] = (struct result){ ctt_check_floats(n, 0),
                                  ctt_check_floats(g->weights, 0) };
    CHECK_OK(run(g, s.w, device, window, NULL, &one));
    CHECK_OK(together_run(parts, run_part, &s));
    add_up(&s, parts, dw);
    for (int r = 0; r < parts; r++) {
        CHECK_CLOSE(s.r[r].y, one.y, n, bits ? 0 : tolerance(g, 0));
        CU_ASSERT(memcmp(s.r[r].y, s.r[0].y, (size_t)n * sizeof(float)) == 0);
    }
    check_dw(g, one.dw, dw, tolerance(g, bits), device);
    for (int r = 0; r < parts; r++) {
        ctt_split_free(&s.of[r]);
        ctt_free(s.r[r].y);
        ctt_free(s.r[r].dw);
    }
    ctt_free((void *)(uintptr_t)s.w);
    ctt_free(one.y);
    ctt_free(one.dw);
    ctt_free(dw);
}

static struct ctt_graph *parse(const char *text)
{
    struct ctt_graph *g = NULL;

    CHECK_OK(ctt_net_parse(text, &g));
    return g;
}

/* The direct sums of the device "ref" are in the order of one process, so bits
 * are equal there, unless statistics are merged. */
static void compare_all(split_fn *split)
{
    for (size_t i = 0; i < CTT_LEN(nets); i++) {
        struct ctt_graph *g = parse(nets[i]);
        int bits = !strstr(nets[i], "kind=batch");

        for (int parts = 1; parts <= PARTS; parts++) {
            compare(g, "ref", parts, LONG, split, bits);
            compare(g, "ref", parts, 2, split, bits);
            compare(g, "cpu", parts, LONG, split, 0);
        }
        ctt_graph_free(&g);
    }
}

static void test_bands(void)
{
    compare_all(ctt_split_bands);
}

static void test_filters(void)
{
    compare_all(ctt_split_filters);
}

static int count_op(const struct ctt_graph *g, enum ctt_opcode op)
{
    int n = 0;

    for (int i = 0; i < g->count; i++)
        n += g->node[i].op == op;
    return n;
}

static int64_t channels_of(const struct ctt_graph *g, const char *name)
{
    return g->node[ctt_graph_find(g, name)].out.c;
}

/* Gates and cells stay where they are; what the next step and layer read
 * passes, once. */
static void test_local(void)
{
    struct ctt_graph *g = parse("input x h=6 w=5 c=2\n"
                                "convlstm h in=x hidden=5 kernel=3\n"
                                "pool p in=h kind=avg\nconv y in=p out=1\n");
    struct ctt_split *s = NULL;

    CHECK_OK(ctt_split_filters(g, 1, 2, &s));
    CU_ASSERT_EQUAL(channels_of(s->g, "h.c1"), 3);
    CU_ASSERT_EQUAL(channels_of(s->g, "h.z"), 12);
    CU_ASSERT_EQUAL(channels_of(s->g, "h.zx"), 12);
    CU_ASSERT_EQUAL(channels_of(s->g, "h"), 3);
    CU_ASSERT_EQUAL(channels_of(s->g, "p"), 3);
    CU_ASSERT_EQUAL(count_op(s->g, CTT_OP_COLLECT), 2);    /* h.h1, p */
    CU_ASSERT_STRING_EQUAL(s->whole, "y");
    ctt_split_free(&s);
    CHECK_OK(ctt_split_bands(g, 1, 2, &s));
    CU_ASSERT_EQUAL(count_op(s->g, CTT_OP_HALO), 2);
    CU_ASSERT_EQUAL(count_op(s->g, CTT_OP_COLLECT), 2);    /* x, h */
    CU_ASSERT_STRING_EQUAL(s->whole, "p");
    CU_ASSERT(s->share > 0.99 && s->share < 1);
    ctt_split_free(&s);
    ctt_graph_free(&g);
}

static void refused(split_fn *split, const char *text, const char *message)
{
    struct ctt_graph *g = parse(text);
    struct ctt_split *s = NULL;

    ctt_check_refused(split(g, 0, 2, &s), CTT_EUNSUP, message);
    CU_ASSERT_PTR_NULL(s);
    ctt_graph_free(&g);
}

static void test_refused(void)
{
    refused(ctt_split_bands, "input x h=1 w=9 c=2\nconv y in=x out=3\n",
            "no conv has enough rows for 2 bands");
    refused(ctt_split_bands, "input x h=8 c=2\nconv e in=x out=3\n"
            "deconv y in=e out=3 kernel=1,2,1 stride=1,2,1\n",
            "y: a deconv adds to rows of other bands");
    refused(ctt_split_filters, "input x h=8 c=2\nconv y in=x out=1\n",
            "no conv without groups has 2 filters or more");
    for (int k = 0; k < 2; k++)
        refused(k == 0 ? ctt_split_bands : ctt_split_filters,
                "input x h=8 c=2\n"
                "halo e in=x up=1 down=1\nconv y in=e out=3 kernel=1,3,1\n",
                "e: this is a part of a model already");
}

/* Whichever allocation fails, nothing is left behind. */
static void test_memory(void)
{
    split_fn *const ways[] = { ctt_split_bands, ctt_split_filters };
    struct ctt_graph *g = parse(nets[3]);
    struct ctt_split *s = NULL;

    for (size_t w = 0; w < CTT_LEN(ways); w++)
        for (long k = 1, rc = -1; rc < 0; k++) {
            ctt_fail_alloc(k);
            rc = ways[w](g, 1, 2, &s);
            ctt_fail_alloc(0);
            CU_ASSERT(rc >= 0 || (rc == CTT_ENOMEM && !s));
            ctt_split_free(&s);
        }
    ctt_graph_free(&g);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "bands", test_bands }, { "filters", test_filters },
        { "local", test_local }, { "refused", test_refused },
        { "memory", test_memory },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "split", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL,
    };
    return ctt_check_main(suites);
}
