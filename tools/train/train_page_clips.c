/* SPDX-License-Identifier: Apache-2.0
 * train_page_clips.c: the clips that a trained model is most wrong about. */
#include "tools/train/train_page.h"
#include "base/visible.h"
#include "tools/report/page.h"
#include "tools/shared/measure.h"

#include <math.h>

enum { FRAMES = 8, CURVES = 3, NAME = 120 };

/* Probability of a class in the answer to clip i at point k. */
static double probability(const struct ctt_metrics *m, int i, int k, int class)
{
    const float *z = m->answer + ((size_t)i * (size_t)m->points + (size_t)k) *
                                 (size_t)m->classes;
    double sum = 0;

    for (int c = 0; c < m->classes; c++)
        sum += exp((double)z[c] - (double)z[class]);
    return 1 / sum;
}

int ctt_train_worst(const struct ctt_train_page *p, int clip[CTT_WORST])
{
    const struct ctt_metrics *m = p->on_val;
    double least[CTT_WORST];
    int n = 0, last = m->points - 1, label;

    for (int i = 0; i < ctt_data_clips(p->val); i++) {
        double at;
        int to;

        if (m->verdict[i * m->points + last] != CTT_WRONG)
            continue;
        ctt_data_clip(p->val, i, &label);
        at = probability(m, i, last, label);
        to = n < CTT_WORST ? n++ : CTT_WORST;
        for (; to > 0 && at < least[to - 1]; to--)
            if (to < CTT_WORST) {
                least[to] = least[to - 1];
                clip[to] = clip[to - 1];
            }
        if (to < CTT_WORST) {
            least[to] = at;
            clip[to] = i;
        }
    }
    return n;
}

/* The true class, and the others that are most probable at the end. */
static int choose_classes(const struct ctt_metrics *m, int clip, int label,
                          int class[CURVES])
{
    const float *z = m->answer + ((size_t)(clip + 1) * (size_t)m->points - 1) *
                                 (size_t)m->classes;
    int order[CURVES + 1], n = 1;
    int most = m->classes < CURVES ? m->classes : CURVES;

    ctt_top(z, m->classes, order, most);
    class[0] = label;
    for (int k = 0; k < most && n < CURVES; k++)
        if (order[k] != label)
            class[n++] = order[k];
    return n;
}

static int put_clip(FILE *f, const struct ctt_train_page *p, int clip)
{
    const struct ctt_metrics *m = p->on_val;
    double x[CTT_MAX_POINTS], y[CURVES][CTT_MAX_POINTS];
    struct ctt_series s[CURVES];
    struct ctt_strip strip = { NULL, 0, 0, 0, 0 };
    char name[CURVES][NAME], id[400];
    int label, rc, class[CURVES], points = 0, n;

    ctt_visible(ctt_data_clip(p->val, clip, &label), 0, id, sizeof(id));
    n = choose_classes(m, clip, label, class);
    CTT_TRY(ctt_data_strip(p->val, clip, FRAMES, &strip));
    for (int k = 0; k < m->points; k++) {
        if (m->point[k].frames)
            continue;
        x[points] = 100 * m->point[k].ratio;
        for (int c = 0; c < n; c++)
            y[c][points] = probability(m, clip, k, class[c]);
        points++;
    }
    for (int c = 0; c < n; c++) {
        snprintf(name[c], NAME, "%.100s%s", p->label[class[c]],
                 c ? "" : " (true)");
        s[c] = (struct ctt_series){ name[c], points, x, y[c], NULL, NULL };
    }
    CTT_TRY(ctt_page_strip(f, &(struct ctt_page_clip){ p->cfg->report_html, id,
            NULL, strip.data, strip.frames, strip.w, strip.h, strip.c },
        &(struct ctt_chart){ "Answers while the clip is seen",
            "% of the clip", "probability", s, n, 1, 1, 0, 1 }));
out:
    ctt_free(strip.data);
    return ctt_clip_is_bad(rc) ? 0 : rc;
}

int ctt_train_page_clips(FILE *f, const struct ctt_train_page *p)
{
    int clip[CTT_WORST], n, rc = 0;

    if (!p->on_val->answer)
        goto out;
    n = ctt_train_worst(p, clip);
    ctt_page_section(f, "Most wrong", n
        ? "The validation clips whose true class is least probable at the end."
        : "No validation clip is answered wrongly at its end.");
    for (int k = 0; k < n; k++)
        CTT_TRY(put_clip(f, p, clip[k]));
out:
    return rc;
}
