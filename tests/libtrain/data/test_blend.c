/* SPDX-License-Identifier: Apache-2.0
 * test_blend.c: pairs of clips mixed, with their labels. */
#include "libtrain/recognise/recognise.h"
#include "libtrain/task.h"
#include "run/back/exec.h"
#include "tests/lib/augmented.h"
#include "tests/lib/reader.h"

enum { SIDE = 10, FLOATS = SIDE * SIDE * 3 };

/* Each clip of a pair holds its share of its own frames and the rest of the
 * other's frames of the same share of the clip, and keeps its length; CutMix
 * takes each pixel from one of both, and as many as it says. */
static void clips_are_mixed_in_pairs(void)
{
    static float plain[12 * 4 * FLOATS];
    struct ctt_data *d = open_toy();
    int apart = 0;

    for (uint64_t key = 1; key <= 12; key++) {
        struct ctt_augment a = { .mixup = key % 2 ? 0.8f : 0,
                                 .cutmix = key % 2 ? 0 : 1, .key = key };
        struct ctt_batch b;
        struct reader r;

        CHECK_OK(reader_open(&r, d, 4, "1", key));
        reader_start(&r, &a, 0);
        CU_ASSERT_EQUAL_FATAL(reader_next(&r, &b), 1);
        CU_ASSERT(b.blend == NULL);
        memcpy(plain, b.x, (size_t)b.steps * 4 * FLOATS * sizeof(float));
        CHECK_OK(ctt_loader_mixes(r.loader));
        reader_start(&r, &a, 0);
        CU_ASSERT_EQUAL_FATAL(reader_next(&r, &b), 1);
        for (int j = 0; j < 4; j++) {
            int o = b.blend[j].other, n = b.length[j], m = b.length[o];
            float own = b.blend[j].own;

            CU_ASSERT_EQUAL_FATAL(o, j ^ 1);
            CU_ASSERT(own >= 0.5f && own <= 1 && own == b.blend[o].own);
            CU_ASSERT_EQUAL(n, d->clip[b.clip[j]].length);
            apart += n != m;
            for (int t = 0; t < n; t++) {
                int u = (2 * t + 1) * m / (2 * n), others = 0;
                const float *x = plain + (t * 4 + j) * FLOATS;
                const float *y = plain + (u * 4 + o) * FLOATS;
                const float *z = b.x + (t * 4 + j) * FLOATS;

                for (int i = 0; i < FLOATS && a.mixup > 0; i++)
                    CU_ASSERT_DOUBLE_EQUAL(z[i], own * x[i] + (1 - own) * y[i],
                                           1e-5);
                for (int i = 0; i < FLOATS && a.cutmix > 0; i++) {
                    CU_ASSERT(z[i] == x[i] || z[i] == y[i]);
                    others += z[i] != x[i];
                }
                CU_ASSERT(others <= (1 - own) * FLOATS + 0.5f);
            }
        }
        reader_close(&r);
    }
    CU_ASSERT(apart > 10);
    ctt_data_close(&d);
}

/* The gradient of a batch, as a model of these settings has it; with weights of
 * the classes or without. */
static void gradient(const struct ctt_train_cfg *cfg, const struct ctt_data *d,
                     const struct ctt_batch *b, struct ctt_model *m,
                     int weighted, double *loss, float *dw)
{
    struct ctt_recognise_step *s = NULL;
    struct ctt_sums sums = { 0 };
    struct ctt_dev *dev = NULL;

    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    CHECK_OK(ctt_recognise_step_open(m->g, m->w, cfg, dev, b->n, d->longest,
                                     &s));
    if (weighted) {
        static const float share[CLIP_CLASSES] = { 0.5f, 2, 1.25f, 0.25f };
        s->share = ctt_calloc(CLIP_CLASSES, sizeof(*s->share));
        CU_ASSERT_FATAL(s->share != NULL);
        memcpy(s->share, share, sizeof(share));
    }
    CHECK_OK(ctt_recognise_step_run(s, d, b, 1, 2, &sums));
    memcpy(dw, s->x->dw, (size_t)m->g->weights * sizeof(*dw));
    *loss = sums.loss / sums.weight;
    ctt_recognise_step_close(&s);
    ctt_dev_close(&dev);
}

/* Loss and gradient of a mixed pair are the sums of those of both labels,
 * weighted by the shares; also where each class has a weight, as both clips are
 * in the pair with both labels. */
static void a_mixed_loss_is_the_sum_of_two(void)
{
    static const char *const nets[] = { clip_net_end, clip_net_lstm };

    for (int k = 0; k < 4; k++) {
        struct ctt_train_cfg cfg = clip_cfg(), plain;
        struct ctt_data *d = open_toy();
        struct ctt_model *m = NULL;
        struct ctt_batch b, one;
        struct reader r;
        struct ctt_augment a;
        int swapped[2];
        double loss[3], all = 0;
        float *dw[3], own;

        cfg.augment = CTT_AUGMENT_OFF;
        cfg.label_smooth = 0.1f;
        cfg.observe = "0.25,0.5";
        plain = cfg;
        cfg.mixup = 0.9f;
        a = ctt_augment_of(&cfg, 4);
        CHECK_OK(clip_model(nets[k % 2], 3, &m));
        CHECK_OK(reader_open(&r, d, 2, "1", 7));
        CHECK_OK(ctt_loader_mixes(r.loader));
        reader_start(&r, &a, 0);
        CU_ASSERT_EQUAL_FATAL(reader_next(&r, &b), 1);
        own = b.blend[0].own;
        CU_ASSERT(own < 0.99f);
        swapped[0] = b.clip[1];
        swapped[1] = b.clip[0];
        CU_ASSERT(d->clip[swapped[0]].label != d->clip[swapped[1]].label);
        for (int i = 0; i < 3; i++) {
            dw[i] = ctt_calloc((size_t)m->g->weights, sizeof(float));
            CU_ASSERT_FATAL(dw[i] != NULL);
            one = b;
            one.blend = i ? NULL : b.blend;
            one.clip = i == 2 ? swapped : b.clip;
            gradient(i ? &plain : &cfg, d, &one, m, k / 2, &loss[i], dw[i]);
        }
        CU_ASSERT_DOUBLE_EQUAL(loss[0], own * loss[1] + (1 - own) * loss[2],
                               1e-5);
        for (int64_t i = 0; i < m->g->weights; i++) {
            dw[1][i] = own * dw[1][i] + (1 - own) * dw[2][i];
            all += fabs((double)dw[0][i]);
        }
        CU_ASSERT(all > 0.1);
        CHECK_CLOSE(dw[0], dw[1], m->g->weights, 1e-5);
        for (int i = 0; i < 3; i++)
            ctt_free(dw[i]);
        reader_close(&r);
        ctt_model_free(&m);
        ctt_data_close(&d);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "clips are mixed in pairs", clips_are_mixed_in_pairs },
        { "a mixed loss is the sum of two", a_mixed_loss_is_the_sum_of_two },
        CU_TEST_INFO_NULL
    };

    return clips_main("blend", clips_clean, tests);
}
