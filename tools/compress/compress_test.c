/* SPDX-License-Identifier: Apache-2.0
 * compress_test.c: tests of a model before and after compression. */
#include "tools/compress/compress_tool.h"
#include "tools/shared/tool.h"

#include <math.h>

const struct ctt_point ctt_compress_points[CTT_ACCURACIES] = {
    { .ratio = 0.25 }, { .ratio = 0.5 }, { .ratio = 1 },
};

/* Whole clips that both have read. */
static void compare_verdicts(const struct ctt_metrics *base,
                             const struct ctt_metrics *r,
                             int clips, struct ctt_score *s)
{
    for (int i = 0; i < clips; i++) {
        int at = (i + 1) * CTT_ACCURACIES - 1;
        int was = base->verdict[at], is = r->verdict[at];

        s->lost += was == CTT_RIGHT && is == CTT_WRONG;
        s->won += was == CTT_WRONG && is == CTT_RIGHT;
    }
}

/* Of a clip with several labels: the mean, over these, of the share of labels
 * among the classes whose numbers are at least as large.  Clips have it each,
 * as they have no mean average precision, so that its changes have a standard
 * error. */
static double ranking(const struct ctt_metrics *m, int clip, int k)
{
    const uint8_t *there = m->there + (int64_t)clip * m->classes;
    const float *z = m->answer + ((int64_t)clip * m->points + k) * m->classes;
    double sum = 0;
    int labels = 0;

    for (int i = 0; i < m->classes; i++) {
        int all = 0, right = 0;

        for (int j = 0; j < m->classes && there[i]; j++) {
            all += z[j] >= z[i];
            right += z[j] >= z[i] && there[j];
        }
        labels += there[i];
        sum += all ? (double)right / all : 0;
    }
    return labels ? sum / labels : 0;
}

void ctt_compress_loss(const struct ctt_metrics *was,
                       const struct ctt_metrics *is, int clips,
                       struct ctt_loss *out)
{
    double n = 0, sum = 0, squares = 0;

    for (int i = 0; i < clips; i++) {
        const uint8_t *a = was->verdict + (int64_t)i * CTT_ACCURACIES;
        const uint8_t *b = is->verdict + (int64_t)i * CTT_ACCURACIES;
        double lost = 0;
        if (a[0] == CTT_UNREAD || b[0] == CTT_UNREAD)
            continue;
        for (int k = 0; k < CTT_ACCURACIES; k++)
            lost += was->several ? ranking(was, i, k) - ranking(is, i, k) :
                    (double)(a[k] == CTT_RIGHT) - (double)(b[k] == CTT_RIGHT);
        n++;
        sum += lost / CTT_ACCURACIES;
        squares += lost * lost / (CTT_ACCURACIES * CTT_ACCURACIES);
    }
    *out = (struct ctt_loss){ n > 0 ? sum / n : 0, 0 };
    if (n > 1)
        out->error = sqrt((squares / n - out->mean * out->mean) / (n - 1));
    if (!was->several)
        return;
    out->mean = 0;
    for (int k = 0; k < CTT_ACCURACIES; k++)
        out->mean += (was->map[k] - is->map[k]) / CTT_ACCURACIES;
}

int ctt_compress_test(const struct ctt_model *m,
                      const struct ctt_train_cfg *cfg, struct ctt_data *d,
                      const struct ctt_metrics *base, struct ctt_score *s,
                      struct ctt_metrics **all)
{
    struct ctt_metrics *r = NULL;
    int rc = 0;

    CTT_TRY(ctt_evaluate_recognise(m, cfg, d, ctt_compress_points,
                                   CTT_ACCURACIES, &r));
    *s = (struct ctt_score){ .clips = r->clips };
    for (int k = 0; k < CTT_ACCURACIES; k++)
        s->top1[k] = ctt_metrics_score(r, k);
    if (base)
        compare_verdicts(base, r, ctt_data_clips(d), s);
    if (all) {
        *all = r;
        r = NULL;
    }
out:
    ctt_metrics_free(&r);
    return rc;
}

int ctt_compress_perplexity(const struct ctt_compress_job *j, const char *who,
                            const struct ctt_model *m)
{
    double nats;
    int rc = 0;

    if (j->c.train.task != CTT_NEXT || !j->val)
        goto out;
    CTT_TRY(ctt_evaluate_next(m, &j->c.train, j->val, &nats));
    ctt_tool_say("%s: perplexity %.2f of %lld validation symbols", who,
                 exp(nats), (long long)ctt_data_all_frames(j->val));
out:
    return rc;
}
