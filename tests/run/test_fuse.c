/* SPDX-License-Identifier: Apache-2.0
 * test_fuse.c: fusion into a conv's kernel: another conv added to its result,
 * an LSTM cell applied to it, and a plus input that it accumulates into. */
#include "tests/lib/check.h"
#include "tests/lib/rig.h"

#include <math.h>
#include <string.h>

static struct ctt_dev *open_dev(const char *name)
{
    struct ctt_dev *d = NULL;

    CHECK_OK(ctt_dev_open(name, 2, &d));
    return d;
}

/* a is the conv's input, b the pair's. */
static const struct fused_case {
    const char *a, *b, *conv, *pair;
    int64_t     hidden;
} fused_cases[] = {
    { "c=8 h=12 w=12", "c=48 h=12 w=12", "kernel=5 pad=2", "kernel=5 pad=2",
      48 },
    { "c=8 h=9 w=7", "c=5 h=9 w=7", "kernel=5 pad=2", "kernel=5 pad=2", 11 },
    { "c=16 h=8 w=13", "c=33 h=8 w=13", "kernel=3 pad=1", "kernel=3 pad=1",
      3 },
    { "c=3 h=6 w=6", "c=1 h=6 w=6", "kernel=1", "kernel=1", 6 },
    { "c=9", "c=7", "", "", 5 },
};

enum { PAIR = 1, LSTM = 2, KEEP = 4, VIEW = 8 };

/* A conv of gates with the nodes fused into it. */
struct fused_rig {
    struct ctt_graph *g;
    struct ctt_call   call;
    void             *cache[2], *block[12];
    int               blocks;
};

static struct ctt_tensor values(struct fused_rig *r, struct ctt_tensor t,
                                int64_t n, int view, uint64_t key)
{
    float *p;

    t.n = n;
    t.ld = t.c + (view ? 7 : 0);
    p = ctt_calloc((size_t)(ctt_rows(&t) * t.ld), sizeof(float));
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    ctt_check_fill(p, ctt_rows(&t) * t.ld, key);
    r->block[r->blocks++] = t.data = p;
    return t;
}

/* Small, so that the gates do not saturate. */
static struct ctt_tensor weights(struct fused_rig *r,
                                 const struct ctt_tensor *t, uint64_t key)
{
    struct ctt_tensor w = values(r, *t, t->n, 0, key);

    for (int64_t i = 0; i < ctt_volume(&w); i++)
        ((float *)w.data)[i] *= 0.06f;
    return w;
}

static void fused_open(struct fused_rig *r, const struct fused_case *a, int n,
                       int flags)
{
    struct ctt_call *c = &r->call;
    int view = flags & VIEW;
    struct ctt_tensor state;
    const struct ctt_node *z, *p;

    *r = (struct fused_rig){ .g = NULL };
    CHECK_OK(ctt_graph_new(&r->g));
    CHECK_OK(ctt_graph_add(r->g, "input a %s", a->a));
    CHECK_OK(ctt_graph_add(r->g, "input b %s", a->b));
    CHECK_OK(ctt_graph_add(r->g, "conv p in=b out=%d %s",
                           (int)a->hidden * 4, a->pair));
    CHECK_OK(ctt_graph_add(r->g, "conv z in=a plus=p out=%d %s",
                           (int)a->hidden * 4, a->conv));
    CHECK_OK(ctt_graph_add(r->g, "state s of=l like=z c=%d", (int)a->hidden));
    CHECK_OK(ctt_graph_add(r->g, "lstm l in=z,s"));
    p = &r->g->node[2];
    z = c->node = &r->g->node[3];
    c->stamp = 1;
    c->cache = &r->cache[0];
    c->in[0] = values(r, r->g->node[0].out, n, view, 1);
    c->out = values(r, z->out, n, view, 2);
    if (!(flags & PAIR))
        c->in[1] = c->out;    /* accumulated in place */
    for (int k = 0; k < 2; k++)
        c->w[k].t = weights(r, &z->w[k], 3 + (uint64_t)k);
    if (flags & PAIR) {
        c->pair.node = p;
        c->pair.in = values(r, r->g->node[1].out, n, view, 5);
        for (int k = 0; k < 2; k++)
            c->pair.w[k].t = weights(r, &p->w[k], 6 + (uint64_t)k);
        c->pair.cache = &r->cache[1];
    }
    if (!(flags & LSTM))
        return;
    state = z->out;
    state.c = a->hidden;
    c->lstm.node = &r->g->node[5];
    c->lstm.keep = !!(flags & KEEP);
    c->lstm.old = values(r, state, n, view, 8);
    c->lstm.h = values(r, state, n, view, 9);
    c->lstm.c = values(r, state, n, view, 10);
}

static void fused_close(struct fused_rig *r, struct ctt_dev *d)
{
    for (int k = 0; k < 2; k++)
        ctt_dev_forget(d, &r->cache[k]);
    while (r->blocks)
        ctt_free(r->block[--r->blocks]);
    ctt_graph_free(&r->g);
}

/* Up to a fraction of the largest value; also compares the gaps between the
 * pixels of a view. */
static int agree(const struct ctt_tensor *a, const struct ctt_tensor *b,
                 double tol)
{
    const float *x = a->data, *y = b->data;
    double worst = 0, top = 1;
    int spoilt = 0;

    for (int64_t i = 0; x && i < ctt_rows(a) * a->ld; i++)
        if (i % a->ld < a->c) {
            worst = fmax(worst, fabs((double)x[i] - y[i]));
            top = fmax(top, fabs((double)y[i]));
        } else {
            spoilt |= x[i] != y[i];
        }
    return worst <= tol * top && !spoilt;
}

/* Results must not depend on the number of calls: with fusion, or on "ref" node
 * by node. */
static void fused_of(struct ctt_dev *d, struct ctt_dev *ref,
                     const struct fused_case *a, int n, int flags)
{
    struct fused_rig x, y;

    fused_open(&x, a, n, flags);
    fused_open(&y, a, n, flags);
    CHECK_OK(ctt_dev_run(d, &x.call, CTT_FWD));
    CHECK_OK(ctt_dev_run(ref, &y.call, CTT_FWD));
    if (flags & KEEP || !(flags & LSTM))
        CU_ASSERT(agree(&x.call.out, &y.call.out, 2e-5));
    CU_ASSERT(agree(&x.call.lstm.h, &y.call.lstm.h, 1e-5));
    CU_ASSERT(agree(&x.call.lstm.c, &y.call.lstm.c, 1e-5));
    if (flags & LSTM) {
        x.call.lstm.c.data = NULL;    /* not wanted */
        x.call.lstm.keep = 0;
        ctt_check_fill(x.call.out.data, ctt_rows(&x.call.out) *
                       x.call.out.ld, 2);
        CHECK_OK(ctt_dev_run(d, &x.call, CTT_FWD));
        CU_ASSERT(agree(&x.call.lstm.h, &y.call.lstm.h, 1e-5));
    }
    fused_close(&x, d);
    fused_close(&y, ref);
}

static void test_fuse(void)
{
    for (int k = 0; ctt_check_hosts[k]; k++) {
        struct ctt_dev *d = open_dev(ctt_check_hosts[k]);
        struct ctt_dev *ref = open_dev("ref");
        for (size_t i = 0; i < CTT_LEN(fused_cases); i++)
            for (int flags = 0; flags < 16; flags++)
                fused_of(d, ref, &fused_cases[i], 1 + 2 * (flags % 2), flags);
        ctt_dev_blame(d, 1);
        fused_of(d, ref, &fused_cases[0], 1, PAIR | LSTM);
        ctt_dev_close(&d);
        ctt_dev_close(&ref);
    }
}

/* Nor may a bit depend on the number of threads. */
static void test_fuse_threads(void)
{
    struct ctt_dev *one = NULL, *many = NULL;

    CHECK_OK(ctt_dev_open("cpu", 1, &one));
    CHECK_OK(ctt_dev_open("cpu", 3, &many));
    ctt_dev_deterministic(one, 1);
    ctt_dev_deterministic(many, 1);
    for (size_t i = 0; i < 3; i++) {    /* those that Winograd does */
        struct fused_rig x, y;
        fused_open(&x, &fused_cases[i], 3, PAIR | LSTM | KEEP);
        fused_open(&y, &fused_cases[i], 3, PAIR | LSTM | KEEP);
        CHECK_OK(ctt_dev_run(one, &x.call, CTT_FWD));
        CHECK_OK(ctt_dev_run(many, &y.call, CTT_FWD));
        CU_ASSERT(agree(&x.call.out, &y.call.out, 0));
        CU_ASSERT(agree(&x.call.lstm.h, &y.call.lstm.h, 0));
        CU_ASSERT(agree(&x.call.lstm.c, &y.call.lstm.c, 0));
        fused_close(&x, one);
        fused_close(&y, many);
    }
    ctt_dev_close(&one);
    ctt_dev_close(&many);
}

/* The kernel reports the nodes it has fused, and fuses all that it can. */
static void test_fuse_impl(void)
{
    struct ctt_dev *d = open_dev("cpu");
    struct fused_rig r;
    const char *impl;

    fused_open(&r, &fused_cases[0], 2, PAIR | LSTM);
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_FWD));
    impl = ctt_dev_impl(d, r.cache[0], CTT_FWD);
    CU_ASSERT(strncmp(impl, "wino", 4) || strstr(impl, "+pair+lstm"));
    fused_close(&r, d);
    ctt_dev_close(&d);
}

/* Without fusion, each call has its own row of the profile and is blamed
 * itself. */
static void test_split(void)
{
    struct ctt_dev *d = open_dev("ref");
    struct ctt_profile sum[6][CTT_PASSES] = { { { 0, 0 } } };
    struct fused_rig r;

    fused_open(&r, &fused_cases[1], 2, PAIR | LSTM);
    ctt_dev_profile(d, r.g, sum);
    CHECK_OK(ctt_dev_run(d, &r.call, CTT_FWD));
    ctt_dev_profile(d, r.g, NULL);
    for (int i = 0; i < r.g->count; i++)
        CU_ASSERT_EQUAL(sum[i][CTT_FWD].calls, i == 2 || i == 3 || i == 5);
    ctt_dev_blame(d, 1);
    ((float *)r.call.lstm.old.data)[0] = NAN;
    CU_ASSERT_EQUAL(ctt_dev_run(d, &r.call, CTT_FWD), CTT_ENAN);
    CU_ASSERT(strncmp(ctt_errmsg(), "l: ", 3) == 0);
    ((float *)r.call.in[0].data)[0] = NAN;
    CU_ASSERT_EQUAL(ctt_dev_run(d, &r.call, CTT_FWD), CTT_ENAN);
    CU_ASSERT(strncmp(ctt_errmsg(), "z: ", 3) == 0);
    ((float *)r.call.pair.in.data)[0] = NAN;
    CU_ASSERT_EQUAL(ctt_dev_run(d, &r.call, CTT_FWD), CTT_ENAN);
    CU_ASSERT(strncmp(ctt_errmsg(), "p: ", 3) == 0);
    fused_close(&r, d);
    ctt_dev_close(&d);
}

/* The backward pass of a plus input that is a name of the result. */
static void test_in_place(void)
{
    static const struct ctt_case conv = {
        "c=16 h=6 w=6", "c=32 h=6 w=6",
        "conv y in=a plus=b out=32 kernel=3 pad=1", 0
    };

    for (int k = 0; ctt_check_hosts[k]; k++) {
        struct ctt_dev *d = open_dev(ctt_check_hosts[k]);
        struct ctt_rig a, b;
        ctt_rig_open(&a, &conv, 2, RIG_DIN | RIG_DW, 0);
        ctt_rig_open(&b, &conv, 2, RIG_DIN | RIG_DW, 0);
        b.call.din[1] = b.call.dout;
        CHECK_OK(ctt_dev_run(d, &a.call, CTT_BWD));
        CHECK_OK(ctt_dev_run(d, &b.call, CTT_BWD));
        CU_ASSERT(agree(&b.call.dout, &a.call.din[1], 0));
        CU_ASSERT(agree(&b.call.din[0], &a.call.din[0], 0));
        CU_ASSERT(agree(&b.call.dw[0], &a.call.dw[0], 0));
        ctt_rig_close(&a, d);
        ctt_rig_close(&b, d);
        ctt_dev_close(&d);
    }
}

static CU_TestInfo tests[] = {
    { "what is fused", test_fuse },
    { "threads", test_fuse_threads },
    { "what was fused", test_fuse_impl },
    { "what was not fused", test_split },
    { "in place", test_in_place },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "fuse", .pTests = tests }, CU_SUITE_INFO_NULL
    };
    int rc = ctt_check_main(suites);

    return rc ? rc : ctt_live_blocks() != 0;
}
