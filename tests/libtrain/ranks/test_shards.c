/* SPDX-License-Identifier: Apache-2.0
 * test_shards.c: a batch computed in shards: the order of the sums, and that
 * the training is that of the whole batch. */
#include "libtrain/ranks/shards.h"
#include "net/op.h"
#include "tests/lib/dots.h"
#include "tests/lib/toy_run.h"

#include <math.h>

/* ---- the tree ---- */

static const char *const devices[] = { "ref", "cpu" };
static const struct ctt_squeeze all = { .kind = CTT_SQUEEZE_NONE };
static const struct ctt_share one = { .parts = 1 };

/* A number of shard k. */
static float number(int k, int64_t i)
{
    return (float)ldexp((double)ctt_random((uint64_t)k, (uint64_t)i) - 2e9,
                        -31 + 7 * (k % 3));
}

/* What the numbers of shards first .. first + n - 1 are together: a sum, or
 * with `mean` one half of each side. */
static float together(int first, int n, int64_t i, int mean)
{
    float left, right;

    if (n == 1)
        return number(first, i);
    left = together(first, n / 2, i, mean);
    right = together(first + n / 2, n / 2, i, mean);
    return mean ? right + 0.5f * (left - right) : left + right;
}

/* A forward pass moves the statistics of the norm, wherever they began. */
static void move_statistics(const struct ctt_graph *g, int k, float *w)
{
    for (int i = 0; i < g->count; i++)
        for (int j = 0; j < g->node[i].nw; j++)
            for (int64_t e = 0; g->node[i].fixed >> j & 1 &&
                 e < ctt_volume(&g->node[i].w[j]); e++)
                w[g->node[i].at[j] + e] += number(k, g->node[i].at[j] + e);
}

/* w: what the weights are at the end; before: at the beginning. */
static void check_batch(const struct ctt_graph *g, int count, const float *dw,
                        const float *before, const float *w)
{
    for (int i = 0; i < g->count; i++)
        for (int j = 0; j < g->node[i].nw; j++)
            for (int64_t e = 0; e < ctt_volume(&g->node[i].w[j]); e++) {
                int64_t at = g->node[i].at[j] + e;
                int moves = g->node[i].fixed >> j & 1;

                CU_ASSERT(moves || dw[at] == together(0, count, at, 0));
                CU_ASSERT(moves || w[at] == before[at]);
                if (!moves)
                    continue;
                CU_ASSERT_DOUBLE_EQUAL(w[at], before[at] +
                                       together(0, count, at, 1), 1e-3);
            }
}

static void the_sum_is_a_tree(void)
{
    struct ctt_model *m = NULL;
    struct ctt_train_cfg cfg = short_run();
    struct ctt_order *plan = NULL;

    CHECK_OK(clip_model(clip_net, 1, &m));
    CHECK_OK(ctt_order_new(toy, cfg.batch, &plan));
    for (int row = 0; row < 6; row++) {
        int count = 1 << row / 2;
        size_t size = (size_t)m->g->weights * sizeof(float);
        float *dw = ctt_calloc(1, size), *w = ctt_calloc(1, size);
        struct ctt_shards s = { 0 };
        struct ctt_dev *dev = NULL;

        CHECK_OK(ctt_dev_open(devices[row % 2], 2, &dev));
        CHECK_OK(ctt_shards_open(m->g, count, &all, plan, dev, &one, &s));
        memcpy(w, m->w, size);
        for (int k = 0; k < count; k++) {
            CHECK_OK(ctt_shards_begin(&s, k, w));
            for (int64_t i = 0; i < m->g->weights; i++)
                dw[i] = number(k, i);
            move_statistics(m->g, k, w);
            CHECK_OK(ctt_shards_add(&s, k, &m->constraint, w, dw));
        }
        CHECK_OK(ctt_shards_end(&s, 0, 1, w, dw));
        check_batch(m->g, count, dw, m->w, w);
        if (count > 1) {    /* one that ends early leaves no trace */
            memcpy(w, m->w, size);
            for (int k = 0; k < 2; k++) {
                CHECK_OK(ctt_shards_begin(&s, k, w));
                move_statistics(m->g, k, w);
            }
            CHECK_OK(ctt_shards_undo(&s, w));
            CU_ASSERT_EQUAL(memcmp(w, m->w, size), 0);
        }
        ctt_shards_close(&s);
        ctt_dev_close(&dev);
        ctt_free(dw);
        ctt_free(w);
    }
    ctt_order_free(&plan);
    ctt_model_free(&m);
}

/* ---- the plan ---- */

static void shards_have_the_clips_of_the_batch(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_buckets buckets;
    struct ctt_order *plan = NULL;
    struct ctt_shards s = { 0 };
    struct ctt_model *m = NULL;
    struct ctt_dev *dev = NULL;

    CHECK_OK(clip_model(clip_net, 1, &m));
    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    CHECK_OK(ctt_order_new(toy, 4, &plan));
    CHECK_OK(ctt_buckets_find(toy, 4, cfg.buckets, &buckets));
    CHECK_OK(ctt_shards_open(m->g, 2, &all, plan, dev, &one, &s));
    CU_ASSERT(s.part.n == 2 && s.part.batches == 2 * plan->batches);
    for (uint64_t key = 1; key < 4; key++) {
        const struct ctt_order *p;

        ctt_order_make(toy, &buckets, 1, key, plan);
        p = ctt_shards_plan(&s, plan);
        for (int i = 0; i < p->batches; i++) {
            CU_ASSERT_EQUAL(p->steps[i], plan->steps[i / 2]);
            for (int j = 0; j < 2; j++)
                CU_ASSERT_EQUAL(p->clip[2 * i + j],
                                plan->clip[4 * (i / 2) + 2 * (i % 2) + j]);
        }
    }
    ctt_shards_close(&s);
    ctt_order_free(&plan);
    ctt_dev_close(&dev);
    ctt_model_free(&m);
}

/* ---- training ---- */

static double largest_difference(const struct ctt_model *a,
                                 const struct ctt_model *b)
{
    double most = 0;

    for (int64_t i = 0; i < a->g->weights; i++)
        most = fmax(most, fabs((double)a->w[i] - (double)b->w[i]));
    return most;
}

/* Without norms and chance a shard's clips do not see the others: the gradient
 * is that of the whole batch, also if classes have other weights, and with SGD
 * so is the training. */
static void shards_train_as_the_batch(void)
{
    static const struct { const char *net; int balanced; } rows[] = {
        { clip_net_lstm, 0 }, { clip_net_end, 0 }, { clip_net_lstm, 1 } };

    for (size_t k = 0; k < CTT_LEN(rows); k++) {
        struct ctt_train_cfg cfg = short_run();
        struct ctt_model *whole, *part;

        cfg.augment = CTT_AUGMENT_OFF;
        cfg.optimizer = CTT_SGD;
        cfg.lr = 0.05f;
        cfg.class_weights = rows[k].balanced ? CTT_BALANCED : CTT_PLAIN;
        whole = trained(rows[k].net, &cfg, 1);
        for (cfg.shards = 2; cfg.shards <= 4; cfg.shards *= 2) {
            cfg.threads = 3 - cfg.shards / 2;
            part = trained(rows[k].net, &cfg, 1);
            CU_ASSERT(!same_weights(part, whole));    /* another order */
            CU_ASSERT(largest_difference(part, whole) < 1e-4);
            ctt_model_free(&part);
        }
        ctt_model_free(&whole);
    }
}

static void threads_do_not_matter(void)
{
    static const int ways[] = { CTT_ADAMW, CTT_LARS, CTT_LARC };

    for (size_t i = 0; i < CTT_LEN(ways); i++) {
        struct ctt_train_cfg cfg = short_run();
        struct ctt_model *m[2];

        cfg.shards = 4;
        cfg.optimizer = ways[i];
        cfg.lr = 0.1f;
        for (int k = 0; k < 2; k++) {
            cfg.threads = k + 1;
            cfg.workers = 1 + 3 * k;
            m[k] = trained(clip_net, &cfg, 1);
        }
        CU_ASSERT(same_weights(m[0], m[1]));
        ctt_model_free(&m[0]);
        ctt_model_free(&m[1]);
    }
}

static void predictions_too(void)
{
    struct ctt_model *m[2];
    struct ctt_result r;

    dots_open();
    for (int k = 0; k < 2; k++) {
        struct ctt_train_cfg cfg = dots_cfg();

        cfg.device = "cpu";
        cfg.epochs = 2;
        cfg.optimizer = CTT_SGD;
        cfg.lr = 0.05f;
        cfg.shards = k ? cfg.batch : 1;
        m[k] = dots_model(dot_net, 1);
        CHECK_OK(ctt_train(m[k], &cfg, dots, dots_val, NULL, &r));
    }
    CU_ASSERT(!same_weights(m[0], m[1]));
    CU_ASSERT(largest_difference(m[0], m[1]) < 1e-4);
    ctt_model_free(&m[0]);
    ctt_model_free(&m[1]);
}

/* Each shard has statistics and dropout of its own; the norm's move once a
 * batch. */
static void norms_are_of_a_shard(void)
{
    struct ctt_train_cfg cfg = short_run();
    struct ctt_model *whole, *part;

    cfg.augment = CTT_AUGMENT_OFF;
    cfg.max_steps = 1;
    cfg.lr = 0.01f;    /* the statistics are those before the step */
    cfg.weight_decay = 0;
    whole = trained(clip_net, &cfg, 1);
    cfg.shards = 2;
    part = trained(clip_net, &cfg, 1);
    for (int i = 0; i < whole->g->count; i++) {
        const struct ctt_node *n = &whole->g->node[i];

        for (int k = 2; ctt_is_batch_norm(n) && k < 4; k++)
            for (int64_t j = 0; j < n->out.c; j++) {
                float a = whole->w[n->at[k] + j], b = part->w[n->at[k] + j];

                CU_ASSERT(a != b);
                /* the mean over equal halves is that over all */
                if (k == 2) {
                    CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-5);
                } else {
                    CU_ASSERT(b <= a + 1e-4f && b > 0.5f * a);
                }
            }
    }
    ctt_model_free(&whole);
    ctt_model_free(&part);
}

static int clean(void)
{
    ctt_data_close(&toy);
    ctt_data_close(&toy_val);
    return dots_clean();
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "the sum is a tree", the_sum_is_a_tree },
        { "shards have the clips of the batch",
          shards_have_the_clips_of_the_batch },
        { "shards train as the batch", shards_train_as_the_batch },
        { "threads do not matter", threads_do_not_matter },
        { "predictions too", predictions_too },
        { "norms are of a shard", norms_are_of_a_shard },
        CU_TEST_INFO_NULL
    };

    return clips_main("shards", clean, tests);
}
