/* SPDX-License-Identifier: Apache-2.0
 * metric.c: accuracy and loss of answers, per observed part of the clip. */
#include "libtrain/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int ctt_point_step(const struct ctt_point *p, int length)
{
    int frames = p->frames > 0 ? p->frames : ctt_frames_seen(p->ratio, length);

    frames = frames < length ? frames : length;
    return frames > 1 ? frames - 1 : 0;
}

static int point(const char *text, char **end, struct ctt_point *out)
{
    double x = strtod(text, end);
    int frames = *end != text && **end == 'f', rc = 0;

    CTT_CHECK(*end != text && x > 0 && (frames ? x <= 1e6 && x == floor(x)
                                               : x <= 1),
              CTT_EINVAL, "'%s' is no list of ratios (0.25,0.5,1; 1f: after "
              "one frame)", text);
    *end += frames;
    *out = (struct ctt_point){ frames ? 0 : x, frames ? (int)x : 0 };
out:
    return rc;
}

/* A number of frames and a ratio have no order, as clips have any length. */
static int rises(const struct ctt_point *a, const struct ctt_point *b)
{
    return !a->frames != !b->frames || a->frames < b->frames ||
           a->ratio < b->ratio;
}

int ctt_points_parse(const char *text, struct ctt_point *out, int *count)
{
    struct ctt_point p[CTT_MAX_POINTS];
    int n = 0, rc = 0;
    char *end;

    for (const char *s = text; ; s = end + 1) {
        CTT_CHECK(n < CTT_MAX_POINTS, CTT_EINVAL, "'%s': more than %d ratios",
                  text, CTT_MAX_POINTS);
        CTT_TRY(point(s, &end, &p[n++]));
        CTT_CHECK(!*end || *end == ',', CTT_EINVAL, "'%s' is no list of "
                  "ratios", text);
        CTT_CHECK(n < 2 || rises(&p[n - 2], &p[n - 1]), CTT_EINVAL, "'%s': "
                  "the ratios do not rise, list each once and the smallest "
                  "first", text);
        if (!*end)
            break;
    }
    memcpy(out, p, (size_t)n * sizeof(*p));
    *count = n;
out:
    return rc;
}

int ctt_metrics_new(int classes, const struct ctt_point *p, int points,
                    struct ctt_metrics **out)
{
    struct ctt_metrics *m = ctt_calloc(1, sizeof(*m));
    int rc = m ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_CHECK(points > 0 && points <= CTT_MAX_POINTS && classes > 0,
              CTT_EINVAL, "metrics of %d classes at %d points", classes,
              points);
    m->classes = classes;
    m->points = points;
    memcpy(m->point, p, (size_t)points * sizeof(*p));
    m->confusion = ctt_calloc((size_t)classes * (size_t)classes,
                              sizeof(*m->confusion));
    CTT_TRY(m->confusion ? 0 : CTT_ENOMEM);
    *out = m;
    return 0;
out:
    ctt_metrics_free(&m);
    return rc;
}

void ctt_metrics_free(struct ctt_metrics **m)
{
    if (!*m)
        return;
    ctt_free((*m)->confusion);
    ctt_free((*m)->verdict);
    ctt_free((*m)->answer);
    ctt_free((*m)->there);
    ctt_free((*m)->ap);
    ctt_free(*m);
    *m = NULL;
}

void ctt_metrics_clear(struct ctt_metrics *m)
{
    m->clips = 0;
    memset(m->loss, 0, sizeof(m->loss));
    memset(m->top1, 0, sizeof(m->top1));
    memset(m->top5, 0, sizeof(m->top5));
    memset(m->confusion, 0, (size_t)m->classes * (size_t)m->classes *
           sizeof(*m->confusion));
    memset(m->map, 0, sizeof(m->map));
}

/* The number of classes that rank before the label: a larger number, or the
 * same and a smaller index.  A NaN ranks last. */
static int rank_of(const float *z, int n, int label)
{
    int rank = 0;

    if (isnan(z[label]))
        return n - 1;
    for (int j = 0; j < n; j++)
        rank += z[j] > z[label] || (z[j] == z[label] && j < label);
    return rank;
}

static int largest(const float *z, int n)
{
    int best = 0;

    for (int j = 1; j < n; j++)
        if (z[j] > z[best] || isnan(z[best]))
            best = j;
    return best;
}

static double neg_log(const float *z, int n, int label)
{
    double top = z[largest(z, n)], sum = 0;

    for (int j = 0; j < n; j++)
        sum += exp(z[j] - top);
    return log(sum) - (z[label] - top);
}

enum ctt_clip_verdict ctt_metrics_add(struct ctt_metrics *m, int k,
                                      const float *logits, int label)
{
    int rank = rank_of(logits, m->classes, label);

    m->loss[k] += neg_log(logits, m->classes, label);
    m->top1[k] += rank < 1;
    m->top5[k] += rank < 5;
    if (k == m->points - 1) {
        m->clips++;
        m->confusion[(int64_t)label * m->classes +
                     largest(logits, m->classes)]++;
    }
    return rank < 1 ? CTT_RIGHT : CTT_WRONG;
}

static double share(double n, int64_t of)
{
    return of ? n / (double)of : 0;
}

double ctt_metrics_top1(const struct ctt_metrics *m, int k)
{
    return share((double)m->top1[k], m->clips);
}

double ctt_metrics_top5(const struct ctt_metrics *m, int k)
{
    return share((double)m->top5[k], m->clips);
}

double ctt_metrics_loss(const struct ctt_metrics *m, int k)
{
    return share(m->loss[k], m->clips);
}

double ctt_metrics_class(const struct ctt_metrics *m, int label)
{
    const int64_t *row = m->confusion + (int64_t)label * m->classes;
    int64_t all = 0;

    for (int j = 0; j < m->classes; j++)
        all += row[j];
    return all ? (double)row[label] / (double)all : -1;
}
