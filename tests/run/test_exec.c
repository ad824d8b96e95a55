/* SPDX-License-Identifier: Apache-2.0
 * test_exec.c: whole models through time: the gradient against finite
 * differences, and every way of running forward against every other. */
#include "tests/lib/check.h"
#include "run/run.h"
#include "run/back/exec.h"

#include <string.h>

enum { STEPS = 7, MOST = 1 << 14 };

static const struct model { const char *text; int n, asks; } models[] = {
    { "input x h=5 w=4 c=1\n"
      "convlstm l0 in=x hidden=3\n"
      "conv y in=l0 out=1\n", 2 },

    { "input x h=5 w=6 c=1\n"
      "convttlstm l0 in=x hidden=2 kernel=3 order=3 steps=5 rank=2\n"
      "convttlstm l1 in=l0 hidden=2 kernel=3 order=2 steps=2 rank=1\n"
      "concat s in=l0,l1\n"
      "conv y in=s out=1\n"
      "act p in=y kind=sigmoid\n", 1 },

    { "input x c=4\n"
      "lstm l in=x hidden=5\n"
      "lstm m in=l hidden=3\n"
      "conv y in=m out=2\n", 3 },

    { "input x h=4 w=3 c=1\n"              /* asks at different steps */
      "convlstm l in=x hidden=2\n"
      "clip\n"
      "window v in=l steps=3 every=2\n"
      "conv q in=v out=3 kernel=3 pad=0,1,1\n"
      "act a in=q kind=tanh\n"
      "conv y in=a out=5 kernel=1,4,3\n", 2, 3 },

    { "input x h=3 w=3 c=2\n"              /* a window wider than the clip */
      "conv e in=x out=2\n"
      "act f in=e kind=tanh\n"
      "clip\n"
      "window v in=f steps=9\n"
      "conv y in=v out=2 kernel=9,3,3\n", 1, 2 },

    { "input x h=6 w=6 c=1\n"              /* residual, with batch norm */
      "conv e in=x out=2 kernel=3 pad=1\n"
      "resblock b in=e out=2\n"
      "resblock d in=b out=4 stride=2\n"
      "pool q in=d kind=avg\n"
      "conv y in=q out=3\n", 2 },

    { "input x h=4 w=4 c=2\n"              /* a delayed frame, in a free part */
      "state x2 of=x delay=2\n"
      "mul m in=x,x2\n"
      "conv e in=m out=4 kernel=3 pad=1\n"
      "norm o in=e kind=layer\n"
      "act f in=o kind=tanh\n"
      "state f1 of=f\n"
      "state f3 of=f delay=3\n"
      "add s in=f,f1,f3 bias=1\n"
      "pool q in=s kind=max kernel=2\n"
      "conv y in=q out=1 kernel=1,2,2\n", 2 },

    { "input x c=6\n"                      /* slices, dropout, a free window */
      "conv e in=x out=8\n"
      "slice a in=e from=0 to=4\n"
      "slice b in=e from=4 to=8\n"
      "act g in=b kind=sigmoid\n"
      "mul m in=a,g\n"
      "dropout d in=m rate=0.4\n"
      "reshape r in=d h=2 w=2 c=1\n"
      "conv z in=r out=2 kernel=2 pad=1\n"
      "clip\n"
      "window v in=z steps=2\n"
      "dropout u in=v rate=0.3\n"
      "pool q in=u kind=avg\n"
      "conv y in=q out=3\n", 3, 2 },

    { "input x h=2 w=2 c=2\n"              /* the answer is fed back */
      "state y1 of=y like=x c=2\n"
      "concat u in=x,y1\n"
      "dropout d in=u rate=0.3\n"
      "conv z in=d out=4\n"
      "norm o in=z kind=layer\n"
      "act a in=o kind=sigmoid\n"
      "add t in=a,a\n"
      "conv y in=t out=2\n", 2 },

    { "input x h=3 w=2 c=3\n"              /* a window of a delayed value */
      "state x1 of=x\n"
      "deconv e in=x1 out=2 kernel=2 stride=2\n"
      "act f in=e kind=tanh\n"
      "state f2 of=f delay=2\n"
      "clip\n"
      "window v in=f2 steps=2\n"
      "conv y in=v out=2 kernel=2,6,4\n", 2, 2 },

    { "input x h=4 w=5 c=4\n"              /* a pair's input is read late */
      "conv e in=x out=4 kernel=3 pad=1\n"
      "conv zx in=e out=4 kernel=3 pad=1\n"
      "conv t in=x out=4 kernel=3 pad=1\n"
      "conv u in=t out=4 kernel=3 pad=1\n"
      "state h1 of=h like=u c=4\n"
      "conv z in=h1 plus=zx out=4 kernel=3 pad=1\n"
      "mul m in=z,u\n"
      "act h in=m kind=tanh\n"
      "conv y in=h out=2\n", 2 },

    { "input x h=3 w=4 c=2\n"              /* sums that others read too */
      "conv a in=x out=4 kernel=3 pad=1\n"
      "conv b in=x plus=a out=4\n"
      "conv c in=x plus=b out=4\n"
      "conv d in=x plus=c out=4\n"
      "act f in=c kind=tanh\n"
      "conv g in=x out=4\n"
      "conv k in=f plus=g out=4\n"
      "mul m in=k,g\n"
      "conv o in=x out=4\n"
      "act q in=o kind=sigmoid\n"
      "conv s in=x plus=q out=4\n"
      "add y in=d,m,s\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* gates free, only the cell bound */
      "conv z in=x out=8\n"
      "state c1 of=c like=z c=2\n"
      "lstm l in=z,c1\n"
      "cell c in=l\n"
      "conv y in=l out=1\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* the old state is made late */
      "conv zx in=x out=8\n"
      "state h1 of=l like=zx c=2\n"
      "conv z in=h1 plus=zx out=8\n"
      "conv o in=h1 out=2\n"
      "lstm l in=z,o\n"
      "conv y in=l out=1\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* gates and old state free */
      "conv z in=x out=8\n"
      "conv o in=x out=2\n"
      "lstm l in=z,o\n"
      "conv y in=l out=1\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* gates that others read too */
      "conv zx in=x out=8\n"
      "state h1 of=l like=zx c=2\n"
      "conv z in=h1 plus=zx out=8\n"
      "state c1 of=c like=zx c=2\n"
      "lstm l in=z,c1\n"
      "cell c in=l\n"
      "slice g in=z from=2 to=4\n"
      "add s in=l,g\n"
      "conv y in=s out=1\n", 2 },

    { "input x h=3 w=2 c=2\n"              /* a mix of two values at hand */
      "input seen c=1\n"
      "conv a in=x out=2\n"
      "conv b in=x out=2\n"
      "mix u in=a,b,seen\n"
      "act f in=u kind=tanh\n"
      "conv y in=f out=1\n", 2 },
};

/* A model ready to run, on a device. */
struct rig {
    const struct model *m;
    struct ctt_graph *g;
    struct ctt_dev   *dev;
    struct ctt_exec  *x;
    float            *w;
    int               clip, out;    /* has a clip part; the answer's node */
    int               plain;        /* the device is plain C */
    int64_t           volume;       /* of the answer of all samples or asks */
    struct ctt_ask    ask[4];
    struct ctt_job    job;
    float            *y;            /* the answers */
};

static float want[MOST], got[MOST], coef[MOST];

static void fill_inputs(const struct ctt_run *r, int step, int steps, int from)
{
    for (int i = 0; i < r->g->clip; i++)
        for (int t = 0; t < steps && r->g->node[i].op == CTT_OP_INPUT; t++)
            ctt_check_fill(ctt_run_value(r, i, step + t), r->slot[i].size,
                           100 + (uint64_t)(from + t) + 1000 * (uint64_t)i);
}

static int give(void *arg, struct ctt_exec *x, const struct ctt_part *p)
{
    (void)arg;
    fill_inputs(x->r, 0, p->steps, p->first);
    return 0;
}

/* Copies what belongs to a part between all of the clip and the window. */
static int take(void *arg, struct ctt_exec *x, const struct ctt_part *p)
{
    const struct rig *r = arg;
    const float *y = ctt_run_value(x->r, r->out, 0);
    int64_t one = r->clip ? r->volume / r->m->asks : r->volume;

    for (int i = 0; i < (r->clip ? p->asks : p->steps); i++)
        memcpy(r->y + (r->clip ? p->which[i] : p->first + i) * one,
               y + i * one, (size_t)one * sizeof(float));
    return 0;
}

static int seed(void *arg, struct ctt_exec *x, const struct ctt_part *p)
{
    static float dy[MOST];
    const struct rig *r = arg;
    int64_t one = r->clip ? r->volume / r->m->asks : r->volume;
    int count = r->clip ? p->asks : p->steps;

    for (int i = 0; i < count; i++)
        memcpy(dy + i * one,
               coef + (r->clip ? p->which[i] : p->first + i) * one,
               (size_t)one * sizeof(float));
    return ctt_exec_put_grad(x, r->out, 0, dy,
                             count * one / x->r->g->node[r->out].out.c);
}

/* Of a batch norm: a positive variance, and offsets that keep the relu behind
 * it away from its kink, where differences would not be exact. */
static void fill_norm(const struct ctt_node *n, float *w)
{
    for (int64_t j = 0; j < n->out.c; j++) {
        w[n->at[0] + j] = 0.3f;
        w[n->at[1] + j] = j % 2 ? -2.5f : 2.5f;
        w[n->at[3] + j] += 1.5f;
    }
}

/* Weights far from saturation, for the same reason. */
static void fill_weights(const struct ctt_graph *g, float *w)
{
    ctt_check_fill(w, g->weights, 2);
    for (int64_t i = 0; i < g->weights; i++)
        w[i] *= 0.5f;
    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_NORM && g->node[i].nw == 4)
            fill_norm(&g->node[i], w);
}

static int rig_open(struct rig *r, const struct model *m, const char *device)
{
    int rc;

    memset(r, 0, sizeof(*r));
    r->m = m;
    r->plain = strcmp(device, "ref") == 0;
    CTT_TRY(ctt_net_parse(m->text, &r->g));
    CTT_TRY(ctt_dev_open(device, 1, &r->dev));
    r->clip = r->g->clip < r->g->count;
    r->out = ctt_graph_output(r->g);
    r->volume = ctt_volume(&r->g->node[r->out].out) *
                (r->clip ? m->asks : m->n);
    r->w = ctt_calloc((size_t)r->g->weights, sizeof(float));
    CTT_TRY(r->w ? 0 : CTT_ENOMEM);
    fill_weights(r->g, r->w);
    CTT_TRY(ctt_exec_open(r->g, r->dev, r->w, m->n, STEPS, m->asks, NULL,
                          &r->x));
    r->y = ctt_calloc((size_t)(r->volume * (r->clip ? 1 : STEPS)),
                      sizeof(float));
    CTT_TRY(r->y ? 0 : CTT_ENOMEM);
    r->x->r->key = 77;
    r->job = (struct ctt_job){ .steps = STEPS, .fed = STEPS, .ask = r->ask,
                               .asks = r->clip ? m->asks : 0, .arg = r,
                               .give = give, .take = take, .seed = seed };
    for (int i = 0; i < m->asks; i++)    /* the last, then earlier ones */
        r->ask[i] = (struct ctt_ask){ i % m->n, STEPS - 1 - 2 * i };
out:
    return rc;
}

static void rig_close(struct rig *r)
{
    ctt_exec_close(&r->x);
    ctt_free(r->y);
    ctt_free(r->w);
    ctt_dev_close(&r->dev);
    ctt_graph_free(&r->g);
}

static int64_t answers(const struct rig *r)
{
    return r->volume * (r->clip ? 1 : STEPS);
}

static const float *forward(struct rig *r)
{
    CHECK_OK(ctt_exec_forward(r->x, &r->job));
    return r->y;
}

static int backward(struct rig *r)
{
    return ctt_exec_backward(r->x, &r->job);
}

/* ---- gradients ---- */

static double loss(struct rig *r)
{
    const float *y = forward(r);
    double sum = 0;

    for (int64_t i = 0; i < answers(r); i++)
        sum += (double)y[i] * (double)coef[i];
    return sum;
}

static void check_weight(struct rig *r, int64_t i)
{
    const float eps = 2e-3f;
    float old = r->w[i], numeric;
    double up;

    r->w[i] = old + eps;
    up = loss(r);
    r->w[i] = old - eps;
    numeric = (float)((up - loss(r)) / (2 * (double)eps));
    r->w[i] = old;
    CHECK_CLOSE(&r->x->dw[i], &numeric, 1, 6e-3);
}

static void check_gradients(const struct model *m)
{
    struct rig r;

    CHECK_OK(rig_open(&r, m, "ref"));
    CU_ASSERT_FATAL(answers(&r) <= MOST);
    ctt_check_fill(coef, answers(&r), 1);
    for (int pass = 0; pass < 2; pass++) {    /* the second finds old numbers */
        loss(&r);
        CHECK_OK(backward(&r));
    }
    for (int i = 0; i < r.g->count; i++)
        for (int k = 0; k < r.g->node[i].nw; k++) {
            const struct ctt_node *n = &r.g->node[i];
            int64_t size = ctt_volume(&n->w[k]);
            for (int64_t j = 0; j < size && !(n->fixed >> k & 1);
                 j += 1 + size / 13)
                check_weight(&r, n->at[k] + j);
        }
    rig_close(&r);
}

static void test_gradients(void)
{
    for (size_t i = 0; i < CTT_LEN(models); i++)
        check_gradients(&models[i]);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

/* The fast device against the plain one. */
static void test_devices(void)
{
    for (size_t i = 0; i < CTT_LEN(models); i++) {
        struct rig a, b;

        CHECK_OK(rig_open(&a, &models[i], "ref"));
        CHECK_OK(rig_open(&b, &models[i], "cpu"));
        CHECK_CLOSE(forward(&b), forward(&a), answers(&a), 2e-5);
        CHECK_OK(backward(&a));
        CHECK_OK(backward(&b));
        CHECK_CLOSE(b.x->dw, a.x->dw, a.g->weights, 2e-4);
        rig_close(&a);
        rig_close(&b);
    }
}

/* ---- ways of running forward ---- */

/* Answers of a run in chunks of so many steps, asked where the rig asks. */
static void collect(const struct rig *r, struct ctt_run *run, int chunk)
{
    int64_t one = r->volume / (r->clip ? r->m->asks : r->m->n);

    ctt_run_reset(run);
    for (int t = 0; t < STEPS; t += chunk) {
        int steps = chunk < STEPS - t ? chunk : STEPS - t;
        CHECK_OK(ctt_run_make_room(run, steps));
        fill_inputs(run, run->cursor, steps, t);
        CHECK_OK(ctt_run_steps(run, steps));
        if (!r->clip)
            memcpy(got + t * r->volume,
                   ctt_run_value(run, r->out, run->cursor - steps),
                   (size_t)(steps * r->volume) * sizeof(float));
        for (int i = 0; i < r->m->asks; i++) {
            struct ctt_ask ask = r->ask[i];
            if (ask.step < t || ask.step >= t + steps)
                continue;
            ask.step += run->cursor - t - steps;
            run->ask[0] = ask;
            CHECK_OK(ctt_run_clip(run, 1));
            memcpy(got + i * one, ctt_run_value(run, r->out, 0),
                   (size_t)one * sizeof(float));
        }
    }
}

/* Bit for bit on the plain device. */
static void same(const struct rig *r, const char *way)
{
    int differ = memcmp(got, want, (size_t)answers(r) * sizeof(float)) != 0;

    if (!r->plain) {
        CHECK_CLOSE(got, want, answers(r), 2e-5);
        return;
    }

    if (differ)
        printf("\n    %s differs:\n%s", way, r->m->text);
    CU_ASSERT(!differ);
}

/* The trainer's window in one go is the step loop, and is what a session with
 * little room gets, bit for bit. */
static void check_ways(const struct model *m, const char *device)
{
    static const int rooms[] = { 1, 3, STEPS }, chunks[] = { 1, 2, STEPS };
    struct ctt_run *run = NULL;
    struct rig r;

    CHECK_OK(rig_open(&r, m, device));
    r.x->r->train = 0;
    memcpy(want, forward(&r), (size_t)answers(&r) * sizeof(float));
    for (size_t i = 0; i < CTT_LEN(rooms); i++)
        for (size_t j = 0; j < CTT_LEN(chunks) && chunks[j] <= rooms[i]; j++) {
            CHECK_OK(ctt_run_open(r.g, r.dev, r.w, m->n, rooms[i],
                                  m->asks ? 1 : 0, 0, &run));
            for (int twice = 0; twice < 2; twice++) {
                memset(got, 0xff, sizeof(got));
                collect(&r, run, chunks[j]);
                same(&r, "streaming");
            }
            ctt_run_close(&run);
        }
    rig_close(&r);
}

static void test_ways(void)
{
    for (size_t d = 0; ctt_check_hosts[d]; d++)
        for (size_t i = 0; i < CTT_LEN(models); i++)
            check_ways(&models[i], ctt_check_hosts[d]);
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static int has_batch_norm(const struct ctt_graph *g)
{
    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_NORM &&
            g->node[i].attr.norm.kind == CTT_NORM_BATCH)
            return 1;
    return 0;
}

/* Dropout too does not see how steps are batched; another key is another
 * mask. */
static void test_masks(void)
{
    int dropped = 0;

    for (size_t i = 0; i < CTT_LEN(models); i++) {
        struct rig r;

        CHECK_OK(rig_open(&r, &models[i], "ref"));
        if (!has_batch_norm(r.g)) {
            memcpy(want, forward(&r), (size_t)answers(&r) * sizeof(float));
            if (!r.clip) {    /* there masks have the numbers of asks */
                struct ctt_run *run = NULL;
                CHECK_OK(ctt_run_open(r.g, r.dev, r.w, r.m->n, STEPS, 0, 1,
                                      &run));
                run->key = r.x->r->key;
                collect(&r, run, 1);
                same(&r, "the step loop of training");
                ctt_run_close(&run);
            }
            r.x->r->key++;
            dropped += memcmp(forward(&r), want,
                              (size_t)answers(&r) * sizeof(float)) != 0;
        }
        rig_close(&r);
    }
    CU_ASSERT_EQUAL(dropped, 2);
}

static int give_ones(void *arg, struct ctt_exec *x, const struct ctt_part *p)
{
    float *in = ctt_run_value(x->r, 0, 0);

    (void)arg;
    for (int64_t i = 0; i < p->steps * x->r->slot[0].size; i++)
        in[i] = 1;
    return 0;
}

/* Steps of one mask differ from each other. */
static void test_mask_of_step(void)
{
    static const struct model m = { "input x c=64\ndropout y in=x\n", 1 };
    const float *y;
    struct rig r;

    CHECK_OK(rig_open(&r, &m, "ref"));
    r.job.give = give_ones;
    y = forward(&r);
    for (int t = 1; t < STEPS; t++)
        CU_ASSERT(memcmp(y + t * 64, y, 64 * sizeof(float)) != 0);
    rig_close(&r);
}

/* ---- memory ---- */

static void test_no_allocation(void)
{
    for (size_t d = 0; ctt_check_hosts[d]; d++)
        for (size_t i = 0; i < CTT_LEN(models); i++) {
            long calls = 0;
            struct rig r;

            CHECK_OK(rig_open(&r, &models[i], ctt_check_hosts[d]));
            for (int window = 0; window < 4; window++) {
                if (window == 2)
                    calls = ctt_alloc_calls();
                r.x->r->stamp++;
                forward(&r);
                CHECK_OK(backward(&r));
            }
            CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
            rig_close(&r);
        }
}

/* Nor when windows of two lengths take turns. */
static void test_two_lengths(void)
{
    struct rig r;
    long calls = 0;

    CHECK_OK(rig_open(&r, &models[0], "cpu"));
    for (int window = 0; window < 6; window++) {
        int steps = STEPS - window % 2 * 3;
        if (window == 4)
            calls = ctt_alloc_calls();
        r.job.steps = r.job.fed = steps;
        forward(&r);
        CHECK_OK(backward(&r));
    }
    CU_ASSERT_EQUAL(ctt_alloc_calls(), calls);
    rig_close(&r);
}

/* A session gives the memory of values that nobody reads any more to others,
 * and what two nodes read at once is not shared: test_ways would see it. */
static void test_sharing(void)
{
    static const struct model deep = {
        "input x h=16 w=16 c=4\n"
        "conv a in=x out=4\nconv b in=a out=4\nconv c in=b out=4\n"
        "conv d in=c out=4\nconv e in=d out=4\nconv f in=e out=4\n", 1 };
    struct ctt_run *run = NULL;
    struct rig r;

    CHECK_OK(rig_open(&r, &deep, "ref"));
    CHECK_OK(ctt_run_open(r.g, r.dev, r.w, 1, STEPS, 0, 0, &run));
    CU_ASSERT_EQUAL(run->values, 4 * STEPS * 16 * 16 * 4 *
                    (int)sizeof(float));
    ctt_run_close(&run);
    rig_close(&r);
}

static int all_of_it(const struct model *m)
{
    struct rig r;
    int rc;

    CTT_TRY(rig_open(&r, m, "cpu"));
    CTT_TRY(ctt_exec_forward(r.x, &r.job));
    CTT_TRY(backward(&r));
out:
    rig_close(&r);
    return rc;
}

static void test_failing_allocations(void)
{
    static const size_t some[] = { 1, 3, 5, 7, 9 };

    for (size_t i = 0; i < CTT_LEN(some); i++) {
        int rc = CTT_ENOMEM;

        for (long k = 1; rc == CTT_ENOMEM && k < 5000; k++) {
            ctt_fail_alloc(k);
            rc = all_of_it(&models[some[i]]);
            ctt_fail_alloc(0);
            CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
        }
        CU_ASSERT_EQUAL(rc, 0);
    }
}

/* ---- errors ---- */

static void refused(int rc, int code, const char *message)
{
    CU_ASSERT_EQUAL(rc, code);
    if (!strstr(ctt_errmsg(), message))
        printf("\n    '%s', expected '%s'", ctt_errmsg(), message);
    CU_ASSERT(strstr(ctt_errmsg(), message) != NULL);
}

static void test_refused_models(void)
{
    static const struct {
        const char *text;
        int n, train, code;
        const char *say;
    } bad[] = {
        { "input x c=2\nstate y1 of=y like=x c=2\nadd s in=x,y1\n"
          "norm y in=s kind=batch\n", 1, 1, CTT_EUNSUP,
          "y: in a loop over time" },
        { "input x c=4 h=2\nconv e in=x out=4\nslice a in=e to=2\n"
          "state s of=e\nslice b in=s to=2\nreshape r in=b c=4\n"
          "add y in=r,r\n", 1, 0, CTT_EUNSUP, "r: cannot reshape a slice" },
        { "input x c=1048576 h=64 w=8\nadd y in=x,x\n", 1 << 30, 0,
          CTT_EINVAL, "x: its values do not fit into memory" },
        { "input x c=1048576 h=64 w=8\nadd y in=x,x\n", 512, 0, CTT_ENOMEM,
          "512 samples of 7 steps need" },
    };

    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        struct ctt_graph *g = NULL;
        struct ctt_dev *dev = NULL;
        struct ctt_run *r = NULL;
        int rc = ctt_net_parse(bad[i].text, &g);

        CHECK_OK(ctt_dev_open("ref", 1, &dev));
        if (rc >= 0)
            rc = ctt_run_open(g, dev, coef, bad[i].n, STEPS, 0, bad[i].train,
                              &r);
        refused(rc, bad[i].code, bad[i].say);
        CU_ASSERT_PTR_NULL(r);
        ctt_dev_close(&dev);
        ctt_graph_free(&g);
    }
    CU_ASSERT_EQUAL(ctt_live_blocks(), 0);
}

static void test_refused_calls(void)
{
    struct ctt_run *no = NULL, *r = NULL;
    struct rig rig;

    CHECK_OK(rig_open(&rig, &models[3], "ref"));
    CHECK_OK(ctt_run_open(rig.g, rig.dev, rig.w, 2, STEPS, 3, 1, &r));
    r->ask[0] = rig.ask[0];
    refused(ctt_run_open(rig.g, rig.dev, rig.w, 0, 1, 1, 0, &no), CTT_EINVAL,
            "a run of 0 samples");
    refused(ctt_run_open(rig.g, rig.dev, rig.w, 1, 1, 0, 0, &no), CTT_EINVAL,
            "must be asked");
    CU_ASSERT_PTR_NULL(no);
    ctt_run_reset(r);
    refused(ctt_run_steps(r, STEPS + 1), CTT_EINVAL, "no room for 8 steps");
    refused(ctt_run_clip(r, 1), CTT_EINVAL, "no step 6 of sample 0");
    CHECK_OK(ctt_run_steps(r, STEPS));
    refused(ctt_run_make_room(r, 1), CTT_EINVAL, "8 steps are more than");
    refused(ctt_run_make_room(r, STEPS + 1), CTT_EINVAL, "do not fit");
    refused(ctt_run_clip(r, 4), CTT_EINVAL, "4 answers asked");
    r->ask[0].sample = 2;
    refused(ctt_run_clip(r, 1), CTT_EINVAL, "of sample 2 has been run");
    ctt_run_close(&r);
    rig_close(&rig);
}

static CU_TestInfo tests[] = {
    { "gradients", test_gradients },
    { "devices", test_devices },
    { "ways", test_ways },
    { "masks", test_masks },
    { "mask of a step", test_mask_of_step },
    { "no allocation in a window", test_no_allocation },
    { "nor with two lengths", test_two_lengths },
    { "sharing", test_sharing },
    { "failing allocations", test_failing_allocations },
    { "refused models", test_refused_models },
    { "refused calls", test_refused_calls },
    CU_TEST_INFO_NULL
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "exec", .pTests = tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
