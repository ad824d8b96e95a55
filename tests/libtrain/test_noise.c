/* SPDX-License-Identifier: Apache-2.0
 * test_noise.c: the gradient noise scale: of gradients whose covariance is
 * known, and of trainings. */
#include "libtrain/trainer.h"
#include "tests/lib/dots.h"

#include <math.h>

enum { SIZE = 40, STEPS = 400 };

/* A number of variance 1. */
static double draw_normal(uint64_t *k)
{
    double u = ((double)ctt_random(1, (*k)++) + 1) / 4294967297;
    double v = (double)ctt_random(1, (*k)++) / 4294967296;

    return sqrt(-2 * log(u)) * cos(2 * acos(-1.0) * v);
}

/* A step whose clips have the gradient 0.5 plus noise in each of SIZE numbers,
 * times `scale`. */
static void add_noisy_step(struct ctt_trainer *t, double noise, double scale,
                     uint64_t *key)
{
    int each = t->cfg->batch / t->shards.count;
    double sum[SIZE] = { 0 }, squares = 0, square = 0;

    for (int k = 0; k < t->shards.count; k++)
        for (int i = 0; i < SIZE; i++) {
            double g = 0;

            for (int j = 0; j < each; j++)
                g += scale * (0.5 + noise * draw_normal(key)) / t->cfg->batch;
            squares += g * g;
            sum[i] += g;
        }
    for (int i = 0; i < SIZE; i++)
        square += sum[i] * sum[i];
    ctt_noise_add(t, squares, sqrt(square), scale);
}

static void it_is_that_of_the_gradients(void)
{
    for (int shards = 2; shards <= 8; shards *= 2)
        for (int noise = 0; noise <= 4; noise += 2) {
            struct ctt_train_cfg cfg = { .batch = 16 };
            struct ctt_trainer t = { .cfg = &cfg, .shards.count = shards };
            double want = noise * noise / 0.25;    /* trace / square */
            uint64_t key = 0;

            CU_ASSERT(isnan(ctt_noise_scale(&t)));
            for (int i = 0; i < STEPS; i++)
                add_noisy_step(&t, noise, i % 2 ? 1024 : 1, &key);
            CU_ASSERT_DOUBLE_EQUAL(ctt_noise_scale(&t), want,
                                   0.15 * want + 1e-9);
        }
}

/* ---- trainings ---- */

/* The noise scales of a run's epochs. */
struct heard { int n; double noise[3]; };

static void take_noise(void *arg, const struct ctt_epoch *e,
                       const struct ctt_metrics *val)
{
    struct heard *h = arg;

    (void)val;
    if (h->n < 3)
        h->noise[h->n++] = e->p.noise;
}

static struct heard hear_run(int shards, int threads, const char *squeeze)
{
    struct heard h = { 0 };
    struct ctt_events ev = { .arg = &h, .epoch = take_noise };
    struct ctt_model *m = dots_model(dot_net, 1);
    struct ctt_train_cfg cfg = dots_cfg();
    struct ctt_result r;

    cfg.device = "cpu";
    cfg.epochs = 3;
    cfg.optimizer = CTT_SGD;
    cfg.lr = 1e-3f;
    cfg.shards = shards;
    cfg.threads = threads;
    cfg.squeeze = squeeze;
    CHECK_OK(ctt_train(m, &cfg, dots, dots_val, &ev, &r));
    CU_ASSERT_EQUAL(h.n, 3);
    ctt_model_free(&m);
    return h;
}

/* Of the same batches in two and in four parts it is about the same; the number
 * of threads does not change a bit. */
static void trainings_tell_it(void)
{
    struct heard two, four, again;

    dots_open();
    two = hear_run(2, 1, NULL);
    four = hear_run(4, 1, NULL);
    again = hear_run(4, 3, NULL);
    CU_ASSERT_EQUAL(memcmp(&four, &again, sizeof(four)), 0);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT(two.noise[i] > 0 && four.noise[i] > 0);
        CU_ASSERT(two.noise[i] < 2 * four.noise[i] &&
                  four.noise[i] < 2 * two.noise[i]);
    }
    CU_ASSERT(isnan(hear_run(4, 1, "bf16").noise[0]));    /* sums are rounded */
    CU_ASSERT(isnan(hear_run(1, 1, NULL).noise[0]));
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "it is that of the gradients", it_is_that_of_the_gradients },
        { "trainings tell it", trainings_tell_it },
        CU_TEST_INFO_NULL
    };

    return clips_main("noise", dots_clean, tests);
}
