/* SPDX-License-Identifier: Apache-2.0
 * test_amp.c: mixed precision without a trainer: which values have 16 bits and
 * why, the memory that saves, small gradients and small updates, the loss
 * scale. */
#include "libtrain/amp.h"
#include "run/back/exec.h"
#include "libtrain/optim.h"
#include "libtrain/predict/predict.h"
#include "libtrain/task.h"
#include "net/half.h"
#include "tests/lib/dots.h"

#include <math.h>

static struct ctt_train_cfg amp_cfg(int task, int level)
{
    struct ctt_train_cfg c = task == CTT_PREDICT ? dots_cfg() : clip_cfg();

    c.amp = level;
    return c;
}

/* ---- plans ---- */

/* A state that goes round without any op of the lists. */
static const char sum_net[] =
    "input x h=4 w=4 c=1\n"
    "state b of=s like=x c=1\n"
    "add s in=x,b\n"
    "act r in=s kind=relu\n"
    "conv y in=r out=1\n";

static const char two_net[] =
    "input x c=2\n"
    "slice l in=x from=0 to=1\n"
    "act q in=l kind=tanh\n"
    "conv e in=x out=2\n"
    "concat k in=e,q\n"
    "conv y in=k out=2\n";

struct expected {
    const char *net;
    int         task, level, type;
    const char *allow, *deny, *node, *word, *why;
};

static const struct expected plans[] = {
    { clip_net, 0, CTT_O0, 0, 0, 0, "e", "fp32", "--amp=O0" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "x", "fp16", "all readers take it" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "e", "fp16", "white list" },
    { clip_net, 0, CTT_O1, 1, 0, 0, "e", "bf16", "white list" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "n", "fp16",
      "follows e; statistics fp32" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "f", "fp16", "follows n" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "h", "fp16", "white list" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "h.c", "fp32", "black list" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "h.c1", "fp32", "memory of h.c" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "h.h1", "fp16", "memory of h" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "d", "fp16", "follows p" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "train.loss", "fp32", "black list" },
    { clip_net, 0, CTT_O1, 0, 0, 0, "train.target", "fp32",
      "counts in train.loss" },
    { clip_net_end, 0, CTT_O1, 0, 0, 0, "v", "fp16", "follows h" },
    { clip_net, 0, CTT_O1, 0, 0, "conv", "e", "fp32", "--amp-deny" },
    { clip_net, 0, CTT_O1, 0, 0, "conv", "n", "fp32",
      "follows e; statistics fp32" },
    { clip_net, 0, CTT_O1, 0, 0, "conv", "x", "fp32", "read by e" },
    { clip_net, 0, CTT_O1, 0, 0, "conv", "h", "fp16", "white list" },
    { clip_net, 0, CTT_O1, 0, "cell", 0, "h.c", "fp16", "--amp-allow" },
    { clip_net, 0, CTT_O1, 0, "cell", 0, "h.c1", "fp16", "memory of h.c" },
    { clip_net, 0, CTT_O1, 0, "e", "conv", "e", "fp16", "--amp-allow" },
    { clip_net, 0, CTT_O1, 0, "conv", "e", "e", "fp32", "--amp-deny" },
    { clip_net, 0, CTT_O1, 0, "conv,e", "e", "e", "fp32", "--amp-deny" },
    { clip_net, 0, CTT_O1, 0, "norm", "norm,y", "n", "fp32", "--amp-deny" },
    { clip_net, 0, CTT_O2, 0, 0, 0, "h.c", "fp16", "--amp=O2" },
    { clip_net, 0, CTT_O2, 0, 0, 0, "n", "fp16",
      "--amp=O2; statistics fp32" },
    { clip_net, 0, CTT_O2, 0, 0, 0, "train.target", "fp32",
      "counts in train.loss" },
    { clip_net, 0, CTT_O2, 0, 0, 0, "train.loss", "fp32", "black list" },
    { clip_net, 0, CTT_O2, 0, 0, "cell", "h.c", "fp32", "--amp-deny" },
    { dot_net, 1, CTT_O1, 0, 0, 0, "x", "fp16", "follows train.frame" },
    { dot_net, 1, CTT_O1, 0, 0, 0, "train.back", "fp16", "memory of y" },
    { dot_net, 1, CTT_O1, 0, 0, 0, "train.seen", "fp32", "counts in x" },
    { dot_net, 1, CTT_O2, 0, 0, 0, "train.seen", "fp32", "counts in x" },
    { dot_net, 1, CTT_O1, 0, 0, "y", "x", "fp32", "follows train.back" },
    { dot_net, 1, CTT_O1, 0, 0, "y", "train.frame", "fp32", "read by x" },
    { sum_net, 1, CTT_O1, 0, 0, 0, "s", "fp16", "follows x" },
    { sum_net, 1, CTT_O1, 0, 0, "x", "s", "fp32", "follows x" },
    { sum_net, 1, CTT_O1, 0, 0, "x", "b", "fp32", "memory of s" },
    { sum_net, 1, CTT_O1, 0, 0, "s", "r", "fp32", "follows s" },
    { two_net, 0, CTT_O1, 0, 0, "q", "x", "fp32", "read by q" },
    { two_net, 0, CTT_O1, 0, 0, "q", "l", "fp32", "memory of x" },
    { two_net, 1, CTT_O1, 0, 0, "q", "l", "fp16", "memory of x" },
    { two_net, 1, CTT_O1, 0, 0, "q", "k", "fp32", "follows q" },
    { two_net, 1, CTT_O1, 0, 0, "q", "e", "fp16", "white list" },
};

static void check_plan(const struct expected *e)
{
    struct ctt_train_cfg cfg = amp_cfg(e->task, e->level);
    struct ctt_graph *model = NULL, *g = NULL;
    struct ctt_amp_plan *p = NULL;
    const char *word;
    int i;

    cfg.amp_type = e->type;
    cfg.amp_allow = e->allow;
    cfg.amp_deny = e->deny;
    CHECK_OK(ctt_net_parse(e->net, &model));
    CHECK_OK(ctt_train_plan(model, &cfg, &g, &p));
    i = ctt_graph_find(g, e->node);
    CU_ASSERT_FATAL(i >= 0);
    word = ctt_dtype_word(p->type[i]);
    if (strcmp(word, e->word) || strcmp(p->why[i], e->why)) {
        printf("\n    O%d allow %s deny %s: %s: %s, %s", e->level,
               e->allow ? e->allow : "-", e->deny ? e->deny : "-", e->node,
               word, p->why[i]);
        CU_FAIL("another plan");
    }
    CU_ASSERT((ctt_amp_types(p, &cfg) == NULL) == (e->level == CTT_O0));
    ctt_amp_free(&p);
    ctt_graph_free(&g);
    ctt_graph_free(&model);
}

static void plans_have_their_reasons(void)
{
    for (size_t i = 0; i < CTT_LEN(plans); i++)
        check_plan(&plans[i]);
}

static void bad_lists_are_refused(void)
{
    static const struct { const char *allow, *deny, *says; } bad[] = {
        { "pol", 0, "--amp-allow: 'pol' is no op and no node" },
        { 0, "e,,n", "--amp-deny: 'e,,n' is no list" },
        { 0, "state", "--amp-deny: 'state' only names the memory" },
        { 0, "h.c1", "--amp-deny: 'h.c1' only names the memory of 'h.c'" },
        { "h.h1", 0, "--amp-allow: 'h.h1' only names the memory of 'h'" },
        { "loss", 0, "--amp-allow: 'loss' stays fp32" },
        { "train.loss", 0, "'train.loss' stays fp32" },
        { "train.target", 0, "'train.target' stays fp32, because of "
          "train.loss" },
        { 0, "a_name_that_is_longer_than_any_name_of_a_node_can_be", "is no "
          "list" },
    };
    struct ctt_graph *model = NULL, *g = NULL;
    struct ctt_amp_plan *p = NULL;

    CHECK_OK(ctt_net_parse(clip_net, &model));
    for (size_t i = 0; i < CTT_LEN(bad); i++) {
        struct ctt_train_cfg cfg = amp_cfg(CTT_RECOGNISE, CTT_O1);

        cfg.amp_allow = bad[i].allow;
        cfg.amp_deny = bad[i].deny;
        CU_ASSERT_EQUAL(ctt_train_plan(model, &cfg, &g, &p), CTT_EINVAL);
        CU_ASSERT(!g && !p && strstr(ctt_errmsg(), bad[i].says) != NULL);
    }
    ctt_graph_free(&model);
}

static void bad_settings_are_refused(void)
{
    static const char *const scales[] = { "0", "0.5", "-1", "dynamic2", "1e99",
                                          "nan", "inf", "x", "2x" };
    struct ctt_train_cfg cfg = amp_cfg(CTT_RECOGNISE, CTT_O1);

    CHECK_OK(ctt_train_check(&cfg));
    for (size_t i = 0; i < CTT_LEN(scales); i++) {
        cfg.loss_scale = scales[i];
        CU_ASSERT_EQUAL(ctt_train_check(&cfg), CTT_EINVAL);
        CU_ASSERT(strstr(ctt_errmsg(), "--loss-scale: bad value") != NULL);
    }
    cfg.loss_scale = "512";
    CHECK_OK(ctt_train_check(&cfg));
    cfg.amp = CTT_O0;
    CU_ASSERT_EQUAL(ctt_train_check(&cfg), CTT_EINVAL);
    CU_ASSERT(strcmp(ctt_errmsg(), "--loss-scale: goes with --amp=O1 or O2") ==
              0);
    cfg.loss_scale = NULL;
    cfg.amp_deny = "conv";
    CU_ASSERT_EQUAL(ctt_train_check(&cfg), CTT_EINVAL);
}

static void allocations_fail(void)
{
    struct ctt_train_cfg cfg = amp_cfg(CTT_PREDICT, CTT_O1);
    struct ctt_graph *model = NULL;
    long live, k = 1, done = 0;

    cfg.amp_deny = "act,y";
    CHECK_OK(ctt_net_parse(dot_net, &model));
    live = ctt_live_blocks();
    for (; !done && k < 1000; k++) {
        struct ctt_graph *g = NULL;
        struct ctt_amp_plan *p = NULL;
        int rc;

        ctt_fail_alloc(k);
        rc = ctt_train_plan(model, &cfg, &g, &p);
        ctt_fail_alloc(0);
        CU_ASSERT(rc == 0 || rc == CTT_ENOMEM);
        done = rc == 0;
        ctt_amp_free(&p);
        ctt_graph_free(&g);
        CU_ASSERT_EQUAL(ctt_live_blocks(), live);
    }
    CU_ASSERT(k > 4 && done);
    ctt_graph_free(&model);
}

/* ---- memory ---- */

static int64_t bytes_of(const char *net, int level)
{
    struct ctt_train_cfg cfg = amp_cfg(CTT_PREDICT, level);
    struct ctt_memory m = { .keep = CTT_KEEP_ALL };
    struct ctt_graph *model = NULL, *g = NULL;
    struct ctt_amp_plan *p = NULL;
    struct ctt_dev *dev = NULL;
    int64_t bytes = 0;

    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    CHECK_OK(ctt_net_parse(net, &model));
    CHECK_OK(ctt_train_plan(model, &cfg, &g, &p));
    m.type = ctt_amp_types(p, &cfg);
    CHECK_OK(ctt_exec_bytes(g, dev, 4, 8, 0, &m, &bytes));
    ctt_amp_free(&p);
    ctt_graph_free(&g);
    ctt_graph_free(&model);
    ctt_dev_close(&dev);
    return bytes;
}

/* What is left of floats: targets and losses, and in O1 the cell states. */
static void memory_halves(void)
{
    static const char *const nets[] = {
        "input x h=16 w=16 c=1 colour=gray\n"
        "conv e in=x out=32 kernel=3 pad=1\n"
        "act f in=e kind=relu\n"
        "convlstm h in=f hidden=32 kernel=3\n"
        "conv y in=h out=1 kernel=3 pad=1\n",
        "input x h=16 w=16 c=1 colour=gray\n"
        "conv e in=x out=32 kernel=3 pad=1\n"
        "act f in=e kind=relu\n"
        "convttlstm h in=f hidden=32 kernel=5 order=3 steps=3 rank=8\n"
        "conv y in=h out=1 kernel=3 pad=1\n",
    };

    for (size_t k = 0; k < CTT_LEN(nets); k++) {
        double all = (double)bytes_of(nets[k], CTT_O0);

        CU_ASSERT((double)bytes_of(nets[k], CTT_O2) <= 0.52 * all);
        CU_ASSERT((double)bytes_of(nets[k], CTT_O1) <= 0.65 * all);
        CU_ASSERT((double)bytes_of(nets[k], CTT_O1) > 0.52 * all);
    }
}

static int odd_give(void *arg, struct ctt_exec *x, const struct ctt_part *p)
{
    float frame[4 * 3];

    (void)arg;
    for (int i = 0; i < p->steps * 3; i++)
        frame[i] = (float)((p->first * 3 + i) % 7) * 0.25f - 0.5f;
    return ctt_run_put(x->r, 0, 0, frame, p->steps);
}

static int odd_seed(void *arg, struct ctt_exec *x, const struct ctt_part *p)
{
    static const float ones[4 * 3] = { 1, 0.5f, -1, 0.5f, 1, 1, -1, 1, 1,
                                       0.5f, 0.5f, 1 };

    (void)arg;
    return ctt_exec_put_grad(x, ctt_graph_output(x->r->g), 0,
                             ones + p->first * 3, p->steps);
}

static const struct ctt_job odd_job = { .steps = 4, .fed = 4, .give = odd_give,
                                        .seed = odd_seed };

/* Histories of 16 and of 32 bits lie side by side, and some have an odd number
 * of numbers: each begins where floats may lie.  In windows of a step all of
 * them go through that memory, forward and back. */
static void odd_states_are_carried(void)
{
    static const char net[] = "input x c=3\nlstm h in=x hidden=5\n"
                              "conv y in=h out=3\n";
    struct ctt_train_cfg cfg = amp_cfg(CTT_RECOGNISE, CTT_O1);
    struct ctt_memory m = { .keep = CTT_KEEP_ALL };
    struct ctt_amp_plan *p = NULL;
    struct ctt_graph *g = NULL;
    struct ctt_dev *dev = NULL;
    float *w, *dw;

    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    CHECK_OK(ctt_net_parse(net, &g));
    CHECK_OK(ctt_amp_plan(g, &cfg, &p));
    m.type = ctt_amp_types(p, &cfg);
    w = ctt_calloc((size_t)g->weights, sizeof(*w));
    dw = ctt_calloc((size_t)g->weights, sizeof(*dw));
    CU_ASSERT_FATAL(w != NULL && dw != NULL);
    ctt_check_fill(w, g->weights, 3);
    for (m.window = 4; m.window >= 1; m.window -= 3) {
        struct ctt_exec *x = NULL;
        double far = 0, top = 0;

        CHECK_OK(ctt_exec_open(g, dev, w, 1, 4, 0, &m, &x));
        CU_ASSERT(x->r->w16 == NULL && ctt_run_history(x->r) % 64 == 0);
        CHECK_OK(ctt_exec_forward(x, &odd_job));
        CHECK_OK(ctt_exec_backward(x, &odd_job));
        for (int64_t i = 0; i < g->weights; i++) {
            dw[i] = m.window == 4 ? x->dw[i] : dw[i];
            far = fmax(far, fabs((double)dw[i] - (double)x->dw[i]));
            top = fmax(top, fabs((double)dw[i]));
        }
        CU_ASSERT(top > 0.1 && far <= 0.01 * top);
        ctt_exec_close(&x);
    }
    ctt_free(w);
    ctt_free(dw);
    ctt_amp_free(&p);
    ctt_graph_free(&g);
    ctt_dev_close(&dev);
}

static int has(const char *text, const char *word)
{
    return strstr(text, word) != NULL;
}

/* Clips so long that values need `share` of what the machine has: what is
 * advised then. */
static void advise(const struct ctt_graph *model, struct ctt_dev *dev,
                   double share, int level, char *text, size_t size)
{
    struct ctt_train_cfg cfg = amp_cfg(CTT_RECOGNISE, level);
    struct ctt_memory m = { .keep = CTT_KEEP_ALL };
    struct ctt_graph *g = NULL;
    int64_t bytes = 0;

    cfg.batch = 16;
    CHECK_OK(ctt_step_graph(model, 0, &g));
    CHECK_OK(ctt_exec_bytes(g, dev, cfg.batch, 100, 1, &m, &bytes));
    ctt_memory_advise(&ctt_recogniser, model, &cfg, dev,
                      (int)(share * (double)ctt_dev_room(dev) /
                            (double)bytes * 100), text, size);
    ctt_graph_free(&g);
}

static void advice_is_what_fits(void)
{
    static const char net[] =
        "input x h=32 w=32 c=3\n"
        "conv e in=x out=64 kernel=3 pad=1\n"
        "act f in=e kind=relu\n"
        "convlstm h in=f hidden=64 kernel=3\n"
        "clip\n"
        "window v in=h steps=2\n"
        "pool p in=v kind=avg\n"
        "conv y in=p out=4\n";
    struct ctt_graph *model = NULL;
    struct ctt_dev *dev = NULL;
    char text[128];

    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    CHECK_OK(ctt_net_parse(net, &model));
    advise(model, dev, 1.05, CTT_O0, text, sizeof(text));
    CU_ASSERT_STRING_EQUAL(text, "; by plan there would fit --batch=8, "
                           "--keep=auto, --amp=O1");
    advise(model, dev, 2.5, CTT_O0, text, sizeof(text));
    CU_ASSERT(has(text, "--batch=4, --keep=auto") && !has(text, "--amp"));
    advise(model, dev, 3.5, CTT_O1, text, sizeof(text));
    CU_ASSERT(has(text, "--batch=4, --keep=auto") && !has(text, "--amp"));
    advise(model, dev, 100, CTT_O0, text, sizeof(text));
    CU_ASSERT(!has(text, "--batch") && !has(text, "--amp"));
    ctt_graph_free(&model);
    ctt_dev_close(&dev);
}

/* ---- two convs, one pixel: numbers that can be followed ---- */

/* y = b a x; the gradient comes in at y. */
static const char chain_net[] = "input x c=1\n"
                                "conv a in=x out=1 bias=0\n"
                                "conv y in=a out=1 bias=0\n";

struct chain {
    struct ctt_train_cfg cfg;
    struct ctt_graph    *g;
    struct ctt_dev      *dev;
    struct ctt_amp_plan *p;
    struct ctt_exec     *x;
    struct ctt_optim    *o;
    float               *w, seed;
    float               *a, *b;      /* the weights */
};

static int chain_give(void *arg, struct ctt_exec *x, const struct ctt_part *p)
{
    const float one = 1;

    (void)arg;
    (void)p;
    return ctt_run_put(x->r, 0, 0, &one, 1);
}

static int chain_seed(void *arg, struct ctt_exec *x, const struct ctt_part *p)
{
    const struct chain *c = arg;

    (void)p;
    return ctt_exec_put_grad(x, 2, 0, &c->seed, 1);
}

/* a = b = 2^-6; plain gradient descent. */
static void chain_open(struct chain *c, int level)
{
    struct ctt_memory m = { .keep = CTT_KEEP_ALL };

    memset(c, 0, sizeof(*c));
    c->cfg = amp_cfg(CTT_RECOGNISE, level);
    c->cfg.optimizer = CTT_SGD;
    c->cfg.momentum = c->cfg.weight_decay = c->cfg.clip_norm = 0;
    CHECK_OK(ctt_dev_open("ref", 1, &c->dev));
    CHECK_OK(ctt_net_parse(chain_net, &c->g));
    c->w = ctt_calloc((size_t)c->g->weights, sizeof(*c->w));
    CU_ASSERT_FATAL(c->w != NULL);
    c->a = c->w + c->g->node[1].at[0];
    c->b = c->w + c->g->node[2].at[0];
    *c->a = *c->b = 0x1p-6f;
    CHECK_OK(ctt_amp_plan(c->g, &c->cfg, &c->p));
    m.type = ctt_amp_types(c->p, &c->cfg);
    CHECK_OK(ctt_optim_open(c->g, &c->cfg, NULL, c->w, c->dev, &c->o));
    CHECK_OK(ctt_exec_open(c->g, c->dev, c->o->flat.w, 1, 1, 0, &m, &c->x));
    c->x->r->w16 = c->o->w16;
    c->x->r->train = 1;
}

static void chain_close(struct chain *c)
{
    ctt_exec_close(&c->x);
    ctt_optim_close(&c->o);
    ctt_amp_free(&c->p);
    ctt_graph_free(&c->g);
    ctt_free(c->w);
    ctt_dev_close(&c->dev);
}

/* The true gradient `g` of y, scaled; one step of rate 1. */
static void chain_step(struct chain *c, float g, double scale)
{
    struct ctt_job job = { .steps = 1, .fed = 1, .arg = c, .give = chain_give,
                           .seed = chain_seed };
    double norm;

    c->seed = (float)(scale * (double)g);
    c->x->r->stamp++;
    CHECK_OK(ctt_exec_forward(c->x, &job));
    CHECK_OK(ctt_exec_backward(c->x, &job));
    CHECK_OK(ctt_optim_norm(c->o, c->x->dw, &norm));
    CHECK_OK(ctt_optim_step(c->o, norm, scale, 1));
}

/* The gradient at y is 2^-20, at a it is 2^-26: half of fp16's smallest. */
static void small_gradients_survive(void)
{
    static const struct { int level; double scale; float step; } runs[] = {
        { CTT_O0, 1, 0x1p-26f }, { CTT_O1, 1, 0 },
        { CTT_O1, 0x1p24, 0x1p-26f }, { CTT_O2, 1, 0 },
        { CTT_O2, 0x1p24, 0x1p-26f },
    };

    for (size_t i = 0; i < CTT_LEN(runs); i++) {
        struct chain c;

        chain_open(&c, runs[i].level);
        chain_step(&c, 0x1p-20f, runs[i].scale);
        CU_ASSERT(*c.a == 0x1p-6f - runs[i].step);
        CU_ASSERT(*c.b == 0x1p-6f - 0x1p-26f);    /* 2^-20 a x */
        chain_close(&c);
    }
}

/* Eight updates of 2^-13 of a weight, of which fp16 could show none. */
static void small_updates_are_kept(void)
{
    static const char *const names[] = { "fp16", "bf16" };

    for (int type = 0; type < 2; type++) {
        uint16_t before, now;
        struct chain c;
        enum ctt_dtype t;
        double norm;

        chain_open(&c, CTT_O1);
        c.o->type = t = type ? CTT_BF16 : CTT_F16;
        *c.a = 1;
        *c.b = 0x1p-3f;
        CHECK_OK(ctt_optim_push(c.o));
        CU_ASSERT_STRING_EQUAL(ctt_dtype_word(t), names[type]);
        ctt_store(&before, t, 0, 1);
        ctt_store(&now, t, 0, 1 - 0x1p-13f);
        CU_ASSERT_EQUAL(now, before);
        CHECK_OK(ctt_optim_norm(c.o, c.x->dw, &norm));
        for (int k = 1; k <= 8; k++) {
            c.x->dw[c.a - c.w] = 0x1p-3f;    /* scaled by 2^10 */
            c.x->dw[c.b - c.w] = 0;
            CHECK_OK(ctt_optim_step(c.o, 0, 0x1p10, 1));
            CU_ASSERT(*c.a == 1 - (float)k * 0x1p-13f);
            if (k == 1)
                CU_ASSERT(((uint16_t *)c.o->w16)[c.a - c.w] == before);
        }
        CU_ASSERT(ctt_load(c.o->w16, t, c.a - c.w) ==
                  (t == CTT_F16 ? 1 - 0x1p-10f : 1));
        chain_close(&c);
    }
}

/* The clip is of the true gradient: the scale makes no difference. */
static void the_scale_is_taken_out_first(void)
{
    float seen[2];

    for (int k = 0; k < 2; k++) {
        struct chain c;

        chain_open(&c, CTT_O1);
        c.cfg.clip_norm = 0x1p-10f;
        c.cfg.weight_decay = 0.5f;
        chain_step(&c, 0.5f, k ? 0x1p12 : 1);
        seen[k] = *c.a;
        chain_close(&c);
    }
    /* |g| = sqrt(2) * 2^-7, cut to 2^-10; the decay is not cut */
    CU_ASSERT_DOUBLE_EQUAL(seen[0], 0x1p-6 - 0x1p-7 - 0x1p-10 / sqrt(2), 1e-8);
    CU_ASSERT_DOUBLE_EQUAL(seen[1], seen[0], 1e-9);
}

/* ---- the scale ---- */

static void the_scale_follows_its_rule(void)
{
    struct ctt_train_cfg cfg = amp_cfg(CTT_RECOGNISE, CTT_O1);
    struct ctt_scale s;

    CHECK_OK(ctt_scale_begin(&cfg, &s));
    CU_ASSERT(s.dynamic && s.scale == 0x1p24);
    CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_LEAVE);
    CU_ASSERT(s.scale == 0x1p23 && s.skips == 1 && s.skipped == 1);
    for (int k = 1; k < CTT_SCALE_CLEAN; k++) {
        CU_ASSERT_EQUAL(ctt_scale_after(&s, 1), CTT_TAKE);
        CU_ASSERT(s.scale == 0x1p23 && s.clean == k && s.skips == 0);
    }
    ctt_scale_after(&s, 1);
    CU_ASSERT(s.scale == 0x1p24 && s.clean == 0);
    for (int k = 1; k < CTT_SCALE_SKIPS; k++)
        CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_LEAVE);
    CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_COLLAPSED);
    CU_ASSERT(s.scale == 0x1p4 && s.skipped == 1 + CTT_SCALE_SKIPS);
    s = (struct ctt_scale){ .dynamic = 1, .scale = 2 };
    CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_LEAVE);
    CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_COLLAPSED);
    for (int k = 0; k < 60; k++) {
        s.clean = CTT_SCALE_CLEAN - 1;
        ctt_scale_after(&s, 1);
    }
    CU_ASSERT(s.scale == 0x1p40);    /* a float's gradient has room for it */
}

static void other_scales_stay(void)
{
    struct ctt_train_cfg cfg = amp_cfg(CTT_RECOGNISE, CTT_O1);
    struct ctt_scale s;

    cfg.amp_type = 1;
    CHECK_OK(ctt_scale_begin(&cfg, &s));
    CU_ASSERT(!s.dynamic && s.scale == 1);
    CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_LEAVE);
    CU_ASSERT(s.scale == 1);
    cfg.amp_type = 0;
    cfg.loss_scale = "512";
    CHECK_OK(ctt_scale_begin(&cfg, &s));
    for (int k = 0; k < CTT_SCALE_SKIPS - 1; k++)
        CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_LEAVE);
    CU_ASSERT_EQUAL(ctt_scale_after(&s, 0), CTT_COLLAPSED);
    for (int k = 0; k <= CTT_SCALE_CLEAN; k++)
        ctt_scale_after(&s, 1);
    CU_ASSERT(s.scale == 512);
    cfg.amp = CTT_O0;
    cfg.loss_scale = NULL;
    CHECK_OK(ctt_scale_begin(&cfg, &s));
    CU_ASSERT(s.scale == 1);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "plans have their reasons", plans_have_their_reasons },
        { "bad lists are refused", bad_lists_are_refused },
        { "bad settings are refused", bad_settings_are_refused },
        { "allocations fail", allocations_fail },
        { "memory halves", memory_halves },
        { "odd states are carried", odd_states_are_carried },
        { "advice is what fits", advice_is_what_fits },
        { "small gradients survive", small_gradients_survive },
        { "small updates are kept", small_updates_are_kept },
        { "the scale is taken out first", the_scale_is_taken_out_first },
        { "the scale follows its rule", the_scale_follows_its_rule },
        { "other scales stay", other_scales_stay },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "amp", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
