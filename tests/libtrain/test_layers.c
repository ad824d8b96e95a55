/* SPDX-License-Identifier: Apache-2.0
 * test_layers.c: weights that --freeze keeps, and learning rates by name. */
#include "libtrain/data/load.h"
#include "libtrain/layers.h"
#include "libtrain/recognise/recognise.h"
#include "libtrain/task.h"
#include "libtrain/trainer.h"
#include "run/back/exec.h"
#include "tests/lib/toy_run.h"

#include <fnmatch.h>
#include <math.h>

/* The largest change of the weights of a node, part of a cell or not. */
static float change(const struct ctt_model *a, const struct ctt_model *b,
                    const char *name)
{
    float most = -1;

    for (int i = 0; i < a->g->count; i++) {
        const struct ctt_node *n = &a->g->node[i];
        size_t len = strlen(name);
        if (strncmp(n->name, name, len) ||
            (n->name[len] && n->name[len] != '.'))
            continue;
        for (int k = 0; k < n->nw; k++)
            for (int64_t j = 0; j < ctt_volume(&n->w[k]); j++)
                most = fmaxf(most, fabsf(a->w[n->at[k] + j] -
                                         b->w[n->at[k] + j]));
    }
    CU_ASSERT(most >= 0);
    return most;
}

/* Names with patterns, a cell by its name, a norm with its statistics; decay
 * does not touch them. */
static void frozen_weights_stay(void)
{
    static const struct { const char *freeze; int e, n, h, y; } row[] = {
        { "e,n", 1, 1, 0, 0 }, { "h", 0, 0, 1, 0 }, { "[en]*", 1, 1, 0, 0 },
        { "n", 0, 1, 0, 0 }, { "e,n,h", 1, 1, 1, 0 }, { "y", 0, 0, 0, 1 } };

    for (size_t i = 0; i < CTT_LEN(row); i++)
        for (int window = 0; window < 2; window++) {
            struct ctt_train_cfg cfg = short_run();
            struct ctt_model *m, *old = NULL;

            cfg.freeze = row[i].freeze;
            cfg.weight_decay = 0.1f;
            cfg.max_steps = 4;
            cfg.window = window ? 4 : 0;
            cfg.keep = window ? "0" : "all";
            CHECK_OK(clip_model(clip_net, 1, &old));
            m = trained(clip_net, &cfg, 1);
            CU_ASSERT((change(m, old, "e") == 0) == row[i].e);
            CU_ASSERT((change(m, old, "n") == 0) == row[i].n);
            CU_ASSERT((change(m, old, "h") == 0) == row[i].h);
            CU_ASSERT((change(m, old, "y") == 0) == row[i].y);
            ctt_model_free(&m);
            ctt_model_free(&old);
        }
}

/* ---- the gradient ---- */

struct gradient { double loss; float *dw; int needs; };

/* Of the first batch; needs: the gradient of the value of e is computed. */
static struct gradient gradient_of(const struct ctt_train_cfg *cfg,
                                   struct ctt_model *m)
{
    const struct ctt_augment none = { 0 };
    size_t bytes = (size_t)m->g->weights * sizeof(float);
    struct gradient out = { .dw = ctt_calloc(1, bytes) };
    struct ctt_recognise_step *s = NULL;
    struct ctt_loader *l = NULL;
    struct ctt_order *p = NULL;
    struct ctt_sums sums = { 0 };
    struct ctt_dev *dev = NULL;
    struct ctt_buckets bk;
    struct ctt_batch b;
    double wait = 0;

    CU_ASSERT_FATAL(out.dw != NULL);
    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    CHECK_OK(ctt_buckets_find(toy, 4, "1", &bk));
    CHECK_OK(ctt_order_new(toy, 4, &p));
    ctt_order_make(toy, &bk, 1, 1, p);
    CHECK_OK(ctt_recognise_step_open(m->g, m->w, cfg, dev, 4, toy->longest,
                                     &s));
    CHECK_OK(ctt_loader_open(toy, 4, toy->longest, &l));
    ctt_loader_start(l, p, &none, 0);
    CU_ASSERT_EQUAL_FATAL(ctt_loader_next(l, &b, &wait), 1);
    CHECK_OK(ctt_recognise_step_run(s, toy, &b, 1, 2, &sums));
    memcpy(out.dw, s->x->dw, bytes);
    out.loss = sums.loss / sums.weight;
    out.needs = ctt_exec_needs(s->x, ctt_graph_find(s->g, "e"));
    ctt_loader_close(&l);
    ctt_recognise_step_close(&s);
    ctt_order_free(&p);
    ctt_dev_close(&dev);
    return out;
}

static double loss_at(const struct ctt_train_cfg *cfg, struct ctt_model *m,
                      const float *dw, double by)
{
    struct gradient g;

    for (int64_t i = 0; i < m->g->weights; i++)
        m->w[i] += (float)(by * (double)dw[i]);
    g = gradient_of(cfg, m);
    for (int64_t i = 0; i < m->g->weights; i++)
        m->w[i] -= (float)(by * (double)dw[i]);
    ctt_free(g.dw);
    return g.loss;
}

/* It is that of the loss, also through a norm that uses its running
 * statistics; what nobody needs is not computed, and what is recomputed changes
 * no bit. */
static void the_gradient_of_the_others(void)
{
    static const struct { const char *freeze; int needs; } row[] = {
        { NULL, 1 }, { "n", 1 }, { "e", 0 }, { "e,n", 0 }, { "h,n", 1 } };

    for (size_t i = 0; i < CTT_LEN(row); i++) {
        struct ctt_train_cfg cfg = short_run();
        struct ctt_model *m = NULL;
        struct gradient g, again;
        double norm = 0, h;

        cfg.freeze = row[i].freeze;
        CHECK_OK(clip_model(clip_net, 3, &m));
        for (int k = 0; k < m->g->count; k++)
            for (int64_t j = 0; m->g->node[k].nw == 4 &&
                 j < m->g->node[k].out.c; j++) {
                m->w[m->g->node[k].at[2] + j] = 0.3f;
                m->w[m->g->node[k].at[3] + j] = 2;
            }
        g = gradient_of(&cfg, m);
        CU_ASSERT_EQUAL(g.needs, row[i].needs);
        for (int64_t k = 0; k < m->g->weights; k++)
            norm += (double)g.dw[k] * (double)g.dw[k];
        h = 3e-3 / sqrt(norm);
        CU_ASSERT_DOUBLE_EQUAL((loss_at(&cfg, m, g.dw, h) -
                                loss_at(&cfg, m, g.dw, -h)) / (2 * h) / norm,
                               1, 0.03);
        ctt_free(g.dw);
        cfg.window = 4;
        g = gradient_of(&cfg, m);
        cfg.keep = "0";
        again = gradient_of(&cfg, m);
        CU_ASSERT(g.loss == again.loss && memcmp(g.dw, again.dw, (size_t)
                  m->g->weights * sizeof(float)) == 0);
        ctt_free(g.dw);
        ctt_free(again.dw);
        ctt_model_free(&m);
    }
}

/* ---- learning rates ---- */

/* A step of plain sgd is as long as the factor of the first pattern says. */
static void factors_of_the_rate(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *old = NULL, *plain, *m;

    cfg.optimizer = CTT_SGD;
    cfg.momentum = cfg.weight_decay = cfg.clip_norm = cfg.warmup = 0;
    cfg.schedule = CTT_CONSTANT;
    cfg.lr = 0.5f;
    cfg.max_steps = 1;
    CHECK_OK(clip_model(clip_net_end, 1, &old));
    plain = trained(clip_net_end, &cfg, 1);
    cfg.lr_scale = "e=0.5,h*=3,[ehc]=0.25";
    m = trained(clip_net_end, &cfg, 1);
    CU_ASSERT(change(plain, old, "e") > 1e-4f);
    CU_ASSERT_DOUBLE_EQUAL(change(m, old, "e") / change(plain, old, "e"), 0.5,
                           1e-3);
    CU_ASSERT_DOUBLE_EQUAL(change(m, old, "h") / change(plain, old, "h"), 3,
                           1e-2);
    CU_ASSERT_DOUBLE_EQUAL(change(m, old, "c") / change(plain, old, "c"), 0.25,
                           1e-3);
    CU_ASSERT(change(m, plain, "y") == 0);
    ctt_model_free(&m);
    cfg.lr_scale = "*=1";
    cfg.optimizer = CTT_ADAMW;
    m = trained(clip_net_end, &cfg, 1);
    cfg.lr_scale = NULL;
    ctt_model_free(&plain);
    plain = trained(clip_net_end, &cfg, 1);
    CU_ASSERT(same_weights(m, plain));
    ctt_model_free(&m);
    ctt_model_free(&plain);
    ctt_model_free(&old);
}

static void bad_patterns_are_refused(void)
{
    static const struct { const char *freeze, *scale, *why; } row[] = {
        { "e,q*", NULL, "--freeze: 'q*' matches no node with weights" },
        { "f", NULL, "--freeze: 'f' matches no node" },
        { "e,", NULL, "--freeze: '' matches no node" },
        { "e=0.5", NULL, "--freeze: 'e=0.5' has a '='" },
        { "e", "y=2,e=3", "--lr-scale: --freeze stops all nodes that 'e'" },
        { "*", NULL, "--freeze leaves no weight to train" },
        { NULL, "z=2", "--lr-scale: 'z' matches no node with weights" },
        { NULL, "e", "lr-scale: bad value 'e'" },
        { NULL, "e=1,y=", "lr-scale: bad value 'y='" },
        { NULL, "e=0", "lr-scale: bad value 'e=0'" },
        { NULL, "e=nan", "lr-scale: bad value 'e=nan'" },
        { NULL, "e=2x", "lr-scale: bad value 'e=2x'" },
        { NULL, "e=-1", "lr-scale: bad value 'e=-1'" } };
    struct ctt_model *m = NULL;

    CHECK_OK(clip_model(clip_net, 1, &m));
    for (size_t i = 0; i < CTT_LEN(row); i++) {
        struct ctt_train_cfg cfg = short_run();
        struct ctt_result r;

        cfg.freeze = row[i].freeze;
        cfg.lr_scale = row[i].scale;
        CU_ASSERT_EQUAL(ctt_train(m, &cfg, toy, NULL, NULL, &r), CTT_EINVAL);
        CU_ASSERT(strstr(ctt_errmsg(), row[i].why) != NULL);
    }
    ctt_model_free(&m);
}

/* Patterns match what those of fnmatch() match; many stars take no time. */
static void patterns(void)
{
    static const char alphabet[] = "ab*?*a?bc";
    static char many[401], name[201];
    char p[8], s[6];
    unsigned x = 1;

    for (int n = 0; n < 200000; n++) {
        memset(p, 0, sizeof(p));
        memset(s, 0, sizeof(s));
        for (size_t i = 0; i < sizeof(p) - 1; i++) {
            x = x * 1664525u + 1013904223u;
            p[i] = alphabet[(x >> 20) % 9];
            s[i % 5] = "abc"[(x >> 25) % 3];
        }
        p[(x >> 10) % 8] = s[(x >> 14) % 6] = 0;
        CU_ASSERT_EQUAL(ctt_glob(p, s), fnmatch(p, s, 0) == 0);
    }
    CU_ASSERT(ctt_glob("[a-c]x[!0-9][]]", "bxy]"));
    CU_ASSERT(!ctt_glob("[a-c]x[!0-9]", "bx7"));
    CU_ASSERT(!ctt_glob("[a-c]", "d"));
    CU_ASSERT(ctt_glob("[ab", "[ab"));
    CU_ASSERT(ctt_glob("\\*\\?", "*?"));
    CU_ASSERT(!ctt_glob("\\?", "a"));
    memset(name, 'a', sizeof(name) - 1);
    for (int i = 0; i < 200; i++)
        memcpy(many + 2 * i, i < 199 ? "*a" : "*b", 2);
    CU_ASSERT(!ctt_glob(many, name));
}

/* Zeros that become tiny, and means that move by themselves, are no training;
 * one layer that trains is. */
static void weights_that_moved(void)
{
    struct ctt_model *m = NULL;
    struct ctt_graph *g = NULL;
    float *was, *now;
    int64_t count;
    const struct ctt_node *n;

    CHECK_OK(ctt_net_parse("input x c=3\nconv a in=x out=40\n"
                           "norm n in=a kind=batch\nconv y in=n out=2\n",
                           &g));
    CHECK_OK(ctt_model_new(g, &m));
    ctt_init_weights(m, 3);
    count = ctt_weights_some(m->g, m->w, NULL);
    CU_ASSERT_EQUAL(count, 120 + 40 + 80 + 80 + 2);    /* no means */
    was = ctt_calloc((size_t)count, sizeof(*was));
    now = ctt_calloc((size_t)count, sizeof(*now));
    CU_ASSERT_FATAL(was && now);
    ctt_weights_some(m->g, m->w, was);
    CU_ASSERT(!ctt_weights_moved(was, was, count));
    n = &m->g->node[ctt_graph_find(m->g, "n")];
    for (int k = 0; k < n->nw; k++)
        for (int64_t i = 0; n->fixed >> k & 1 && i < 40; i++)
            m->w[n->at[k] + i] += 1;
    for (int64_t i = 0; i < m->g->weights; i++)
        m->w[i] += 1e-30f;
    ctt_weights_some(m->g, m->w, now);
    CU_ASSERT(!ctt_weights_moved(was, now, count));
    n = &m->g->node[ctt_graph_find(m->g, "y")];
    for (int64_t i = 0; i < 80; i++)
        m->w[n->at[0] + i] *= 1.00001f;
    ctt_weights_some(m->g, m->w, now);
    CU_ASSERT(ctt_weights_moved(was, now, count));
    ctt_free(was);
    ctt_free(now);
    ctt_model_free(&m);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "frozen weights stay", frozen_weights_stay },
        { "the gradient of the others", the_gradient_of_the_others },
        { "factors of the rate", factors_of_the_rate },
        { "patterns", patterns },
        { "bad patterns are refused", bad_patterns_are_refused },
        { "weights that moved", weights_that_moved },
        CU_TEST_INFO_NULL
    };

    return clips_main("layers", toy_clean, tests);
}
