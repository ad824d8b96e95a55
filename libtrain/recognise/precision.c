/* SPDX-License-Identifier: Apache-2.0
 * precision.c: the scores of clips with several labels: average precision per
 * class, the loss of all classes, the largest answer. */
#include "libtrain/train.h"
#include "base/statistics/statistics.h"

#include <math.h>

int ctt_metrics_several(struct ctt_metrics *m, int clips)
{
    size_t n = (size_t)clips, classes = (size_t)m->classes;

    m->several = 1;
    m->set = clips;
    m->there = ctt_calloc(n, classes);
    m->answer = ctt_calloc(n * (size_t)m->points, classes * sizeof(*m->answer));
    m->ap = ctt_calloc(classes, sizeof(*m->ap));
    return m->there && m->answer && m->ap ? 0 : CTT_ENOMEM;
}

void ctt_metrics_there(struct ctt_metrics *m, int clip, int label)
{
    m->there[(int64_t)clip * m->classes + label] = 1;
}

/* The sum over the classes of -log of the probability of what is the case. */
static double neg_logs(const struct ctt_metrics *m, const uint8_t *there,
                       const float *z)
{
    double sum = 0;

    for (int j = 0; j < m->classes; j++) {
        double x = there[j] ? -(double)z[j] : (double)z[j];
        sum += fmax(x, 0) + log1p(exp(-fabs(x)));
    }
    return sum;
}

/* The number of classes that rank before the best of the labels: a larger
 * number, or the same and a smaller index.  A NaN ranks last. */
static int best_rank(const struct ctt_metrics *m, const uint8_t *there,
                     const float *z)
{
    int best = -1, rank = 0;

    for (int j = 0; j < m->classes; j++)
        if (there[j] && !isnan(z[j]) && (best < 0 || z[j] > z[best]))
            best = j;
    if (best < 0)
        return m->classes - 1;
    for (int j = 0; j < m->classes; j++)
        rank += z[j] > z[best] || (z[j] == z[best] && j < best);
    return rank;
}

enum ctt_clip_verdict ctt_metrics_add_clip(struct ctt_metrics *m, int k,
                                           int clip, const float *logits)
{
    const uint8_t *there = m->there + (int64_t)clip * m->classes;
    float *keep = m->answer + ((int64_t)clip * m->points + k) * m->classes;
    int rank = best_rank(m, there, logits);

    for (int j = 0; j < m->classes; j++)
        keep[j] = logits[j];
    m->loss[k] += neg_logs(m, there, logits);
    m->top1[k] += rank < 1;
    m->top5[k] += rank < 5;
    m->clips += k == m->points - 1;
    return rank < 1 ? CTT_RIGHT : CTT_WRONG;
}

/* The average precision of a class at a point; s: memory. */
static double class_precision(const struct ctt_metrics *m, int k, int class,
                              struct ctt_scored *s)
{
    for (int64_t i = 0; i < m->set; i++)
        s[i] = (struct ctt_scored){
            m->answer[(i * m->points + k) * m->classes + class],
            m->there[i * m->classes + class] };
    return ctt_average_precision(s, m->set);
}

int ctt_metrics_rank(struct ctt_metrics *m)
{
    struct ctt_scored *s;

    if (!m->several)
        return 0;
    s = ctt_calloc((size_t)m->set + 1, sizeof(*s));
    if (!s)
        return CTT_ENOMEM;
    for (int k = 0; k < m->points; k++) {
        int classes = 0;

        m->map[k] = 0;
        for (int j = 0; j < m->classes; j++) {
            m->ap[j] = class_precision(m, k, j, s);
            classes += !isnan(m->ap[j]);
            m->map[k] += isnan(m->ap[j]) ? 0 : m->ap[j];
        }
        m->map[k] /= classes ? classes : 1;
    }
    ctt_free(s);
    return 0;
}

double ctt_metrics_score(const struct ctt_metrics *m, int k)
{
    return m->several ? m->map[k] : ctt_metrics_top1(m, k);
}

const char *ctt_score_word(int several)
{
    return several ? "mAP" : "top-1";
}

const char *ctt_score_key(int several)
{
    return several ? "map" : "top1";
}
