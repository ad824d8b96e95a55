/* SPDX-License-Identifier: Apache-2.0
 * test_precision.c: average precision and thresholds of scores, and the scores
 * of clips with several labels, against cases that were computed by hand. */
#include "base/statistics/statistics.h"
#include "libtrain/train.h"
#include "tests/lib/check.h"

#include <math.h>
#include <string.h>

enum { MOST = 6, CLASSES = 3, CLIPS = 3 };

static void precision_by_hand(void)
{
    static const struct {
        int n;
        struct ctt_scored s[MOST];
        double is;
    } row[] = {
        { 4, { { 0.9f, 1 }, { 0.8f, 0 }, { 0.7f, 1 }, { 0.6f, 0 } },
          (1 + 2.0 / 3) / 2 },
        { 4, { { 0.6f, 0 }, { 0.7f, 1 }, { 0.8f, 0 }, { 0.9f, 1 } },
          (1 + 2.0 / 3) / 2 },
        { 2, { { 1, 1 }, { 0, 0 } }, 1 }, { 2, { { 1, 0 }, { 0, 1 } }, 0.5 },
        /* Equal scores are one step, in whatever order they stand. */
        { 4, { { 1, 0 }, { 1, 1 }, { 1, 0 }, { 1, 1 } }, 0.5 },
        { 4, { { 0.9f, 0 }, { 0.5f, 1 }, { 0.5f, 0 }, { 0.1f, 1 } },
          (1.0 / 3 + 2.0 / 4) / 2 },
        { 4, { { 0.9f, 0 }, { 0.5f, 0 }, { 0.5f, 1 }, { 0.1f, 1 } },
          (1.0 / 3 + 2.0 / 4) / 2 },
        { 3, { { NAN, 1 }, { -9, 0 }, { 3, 1 } }, (1 + 2.0 / 3) / 2 },
    };
    struct ctt_scored s[MOST] = { { 1, 0 }, { 2, 0 } };

    CU_ASSERT(isnan(ctt_average_precision(s, 2)));
    CU_ASSERT(isnan(ctt_average_precision(s, 0)));
    for (size_t i = 0; i < CTT_LEN(row); i++) {
        memcpy(s, row[i].s, sizeof(s));
        CU_ASSERT_DOUBLE_EQUAL(ctt_average_precision(s, row[i].n), row[i].is,
                               1e-12);
    }
}

static void thresholds_by_hand(void)
{
    struct ctt_scored all[] = { { 0.9f, 1 }, { 0.8f, 1 }, { 0.4f, 0 },
                                { 0.3f, 1 }, { 0.1f, 0 } };
    struct ctt_scored tied[] = { { 0.5f, 1 }, { 0.5f, 0 }, { 0.25f, 0 } };
    struct ctt_scored none[] = { { 0.5f, 0 } };
    double f1;

    /* Of 2 of 3 alone 4 / 5, of the first four 6 / 7. */
    CU_ASSERT_DOUBLE_EQUAL(ctt_best_threshold(all, 5, &f1), 0.2, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(f1, 6.0 / 7, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ctt_best_threshold(all, 3, &f1), 0.6, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(f1, 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ctt_best_threshold(tied, 3, &f1), 0.375, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(f1, 2.0 / 3, 1e-12);
    CU_ASSERT(isnan(ctt_best_threshold(none, 1, &f1)));
}

/* Three clips of three classes, of which no clip has the last. */
static void clips_are_counted(void)
{
    static const struct ctt_point p = { 1, 0 };
    static const float z[CLIPS][CLASSES] = { { 2, 1, 3 }, { 1, 2, -1 },
                                             { 3, -1, 0 } };
    static const int label[CLIPS][CLASSES] = { { 0, 1, -1 }, { 1, -1 },
                                               { 0, -1 } };
    struct ctt_metrics *m = NULL;
    double loss = 0;

    CHECK_OK(ctt_metrics_new(CLASSES, &p, 1, &m));
    CHECK_OK(ctt_metrics_several(m, CLIPS));
    for (int again = 0; again < 2; again++) {
        ctt_metrics_clear(m);
        for (int i = 0; i < CLIPS; i++) {
            for (int k = 0; label[i][k] >= 0; k++)
                ctt_metrics_there(m, i, label[i][k]);
            CU_ASSERT_EQUAL(ctt_metrics_add_clip(m, 0, i, z[i]),
                            i ? CTT_RIGHT : CTT_WRONG);
        }
        CHECK_OK(ctt_metrics_rank(m));
    }
    for (int i = 0; i < CLIPS; i++)
        for (int j = 0; j < CLASSES; j++) {
            int there = label[i][0] == j || (!i && j == 1);
            double x = (double)z[i][j];

            loss -= log(1 / (1 + exp(there ? -x : x)));
        }
    CU_ASSERT_EQUAL(m->clips, CLIPS);
    CU_ASSERT_DOUBLE_EQUAL(ctt_metrics_top1(m, 0), 2.0 / 3, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ctt_metrics_top5(m, 0), 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(ctt_metrics_loss(m, 0), loss / CLIPS, 1e-6);
    /* Class 0 ranks clips 2, 0, 1; class 1 ranks 1, 0, 2. */
    CU_ASSERT_DOUBLE_EQUAL(m->ap[0], 1, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(m->ap[1], 1, 1e-12);
    CU_ASSERT(isnan(m->ap[2]));
    CU_ASSERT_DOUBLE_EQUAL(m->map[0], 1, 1e-12);
    CU_ASSERT_EQUAL(ctt_metrics_score(m, 0), m->map[0]);
    ctt_metrics_free(&m);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "precision by hand", precision_by_hand },
        { "thresholds by hand", thresholds_by_hand },
        { "clips are counted", clips_are_counted },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "precision", NULL, NULL, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
