/* SPDX-License-Identifier: Apache-2.0
 * compress_test.c: tests of a model before and after compression. */
#include "tools/compress_test.h"

/* Whole clips that both have read. */
static void compare(const struct ctt_metrics *base, const struct ctt_metrics *r,
                    int clips, struct ctt_score *s)
{
    for (int i = 0; i < clips; i++) {
        int at = (i + 1) * CTT_ACCURACIES - 1;
        int was = base->verdict[at], is = r->verdict[at];

        s->lost += was == CTT_RIGHT && is == CTT_WRONG;
        s->won += was == CTT_WRONG && is == CTT_RIGHT;
    }
}

int ctt_compress_test(const struct ctt_model *m,
                      const struct ctt_train_cfg *cfg, struct ctt_data *d,
                      const struct ctt_events *ev,
                      const struct ctt_metrics *base, struct ctt_score *s,
                      struct ctt_metrics **all)
{
    static const struct ctt_point point[CTT_ACCURACIES] = {
        { .ratio = 0.25 }, { .ratio = 0.5 }, { .ratio = 1 },
    };
    struct ctt_metrics *r = NULL;
    int rc = 0;

    CTT_TRY(ctt_evaluate_recognise(m, cfg, d, point, CTT_ACCURACIES, ev, &r));
    *s = (struct ctt_score){ .clips = r->clips };
    for (int k = 0; k < CTT_ACCURACIES; k++)
        s->top1[k] = ctt_metrics_top1(r, k);
    if (base)
        compare(base, r, ctt_data_clips(d), s);
    if (all) {
        *all = r;
        r = NULL;
    }
out:
    ctt_metrics_free(&r);
    return rc;
}
