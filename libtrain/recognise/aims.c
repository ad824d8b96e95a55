/* SPDX-License-Identifier: Apache-2.0
 * aims.c: distributions as targets of a step: the labels, of a clip or of two
 * that are mixed, the answers of a teacher, and the model's own answers at the
 * end of a clip.  Where clips have several labels, each class has one: that it
 * is there, and that it is not. */
#include "libtrain/recognise/recognise.h"
#include "libtrain/data/load.h"

#include <math.h>
#include <string.h>

int ctt_has_aims(const struct ctt_graph *g, const struct ctt_train_cfg *cfg)
{
    return g->several || ctt_is_taught(cfg) || cfg->self_distil > 0 ||
           ctt_augment_mixes(cfg);
}

/* The part of the loss that has the teacher's answers as targets. */
static float taught_part(const struct ctt_train_cfg *cfg)
{
    return ctt_is_taught(cfg) ? cfg->distil : 0;
}

int ctt_aims_check(const struct ctt_train_cfg *cfg)
{
    int rc = 0;

    CTT_CHECK(taught_part(cfg) + cfg->self_distil <= 1, CTT_EINVAL,
              "--distil=%g and --self-distil=%g are more than the whole loss",
              (double)cfg->distil, (double)cfg->self_distil);
out:
    return rc;
}

/* The goal at the end of the clip that goal i is of, or -1 if that is no later
 * answer. */
static int later_of(const struct ctt_recognise_step *s, int i)
{
    int last = (i / s->asks.total + 1) * s->asks.total - 1;

    return s->goal[i].step < s->goal[last].step ? last : -1;
}

static float own_part(const struct ctt_recognise_step *s, int i)
{
    return later_of(s, i) < 0 ? 0 : s->cfg->self_distil;
}

static double heat(const struct ctt_recognise_step *s)
{
    return (double)s->cfg->temperature * (double)s->cfg->temperature;
}

static double entropy(const float *p, int n)
{
    double sum = 0;

    for (int j = 0; j < n; j++)
        sum -= p[j] > 0 ? (double)p[j] * log((double)p[j]) : 0;
    return sum;
}

/* -sum p log softmax(z / t), finite where a probability is 0 in floats. */
static double cross(const float *p, const float *z, int n, double t)
{
    double sum = 0, part = 0, top = (double)z[0];

    for (int j = 1; j < n; j++)
        top = fmax(top, (double)z[j]);
    for (int j = 0; j < n; j++) {
        sum += exp(((double)z[j] - top) / t);
        part += (double)p[j] * ((double)z[j] - top) / t;
    }
    return log(sum) - part;
}

/* The same of each class by itself, summed up. */
static double entropies(const float *p, int n)
{
    double sum = 0;

    for (int j = 0; j < n; j++) {
        float both[2] = { p[j], 1 - p[j] };
        sum += entropy(both, 2);
    }
    return sum;
}

static double crosses(const float *p, const float *z, int n, double t)
{
    double sum = 0;

    for (int j = 0; j < n; j++) {
        double x = (double)z[j] / t;
        sum += fmax(x, 0) + log1p(exp(-fabs(x))) - (double)p[j] * x;
    }
    return sum;
}

/* ---- several labels per clip ---- */

static void add_hot(const struct ctt_data *d, const struct ctt_clip *c,
                    float share, float *hot)
{
    for (int k = 0, label; (label = ctt_clip_label(d, c, k)) >= 0; k++)
        hot[label] += share;
}

void ctt_aims_hot(struct ctt_recognise_step *s, const struct ctt_data *d,
                  const struct ctt_batch *b)
{
    if (!s->hot)
        return;
    memset(s->hot, 0, (size_t)b->n * (size_t)s->classes * sizeof(*s->hot));
    for (int j = 0; j < b->n; j++) {
        const struct ctt_clip *c = &d->clip[b->clip[j]];
        float *hot = s->hot + (int64_t)j * s->classes;
        float own = b->blend ? b->blend[j].own : 1;

        if (!b->length[j])
            continue;
        add_hot(d, c, own, hot);
        if (own < 1)
            add_hot(d, &d->clip[b->clip[b->blend[j].other]], 1 - own, hot);
    }
}

/* The four numbers of each class: by labels that it is there and not there, and
 * by the teachers' probabilities p, which are in the third place. */
static void mix_several(struct ctt_recognise_step *s, int i)
{
    const struct ctt_goal *g = &s->goal[i];
    const float *hot = s->hot + (int64_t)g->sample * s->classes;
    float *aim = s->aim + (int64_t)i * s->wide, *p = aim + s->wide / 2;
    float part = taught_part(s->cfg), smooth = s->cfg->label_smooth;
    float hard = g->weight * (1 - part - own_part(s, i));
    int n = s->classes;

    if (g->weight > 0 && part > 0)
        s->least += heat(s) * (double)(g->weight * part) * entropies(p, n);
    for (int j = 0; j < n; j++) {
        float there = smooth / 2 + (1 - smooth) * fminf(hot[j], 1);
        float taught = g->weight == 0 ? 0 : g->weight * part;

        aim[j] = hard * there * (s->share ? s->share[j] : 1);
        aim[n + j] = hard * (1 - there) * (s->share ? s->share[n + j] : 1);
        p[n + j] = part == 0 ? 0 : taught * (1 - p[j]);
        p[j] = part == 0 ? 0 : taught * p[j];
    }
}

/* Weighs the teacher's answers, which are in the second halves of s->aim, and
 * puts the labels into the first.  No training changes the entropy of the
 * teacher's answers, so the loss is reported without it: a divergence (Kullback
 * and Leibler 1951). */
static void mix(struct ctt_recognise_step *s)
{
    int classes = s->wide / 2;
    float part = taught_part(s->cfg), smooth = s->cfg->label_smooth;

    for (int i = 0; i < s->batch->n * s->asks.total && s->hot; i++)
        mix_several(s, i);
    for (int i = 0; i < s->batch->n * s->asks.total && !s->hot; i++) {
        const struct ctt_goal *g = &s->goal[i];
        float *aim = s->aim + (int64_t)i * s->wide;
        float hard_part = g->weight * (1 - part - own_part(s, i));
        if (g->weight > 0 && part > 0)
            s->least += heat(s) * (double)(g->weight * part) *
                        entropy(aim + classes, classes);
        for (int j = 0; j < classes; j++) {
            float of = (j == g->label ? g->own : 0) +
                       (j == g->other ? 1 - g->own : 0);
            float hard = smooth / (float)classes + (1 - smooth) * of;
            aim[j] = hard_part * hard;
            aim[classes + j] = g->weight == 0 || part == 0 ? 0 :
                               g->weight * part * aim[classes + j];
        }
    }
}

int ctt_aims_make(struct ctt_recognise_step *s)
{
    int rc = 0;

    if (!s->aim)
        goto out;
    if (s->teacher)
        CTT_TRY(ctt_teacher_run(s->teacher, s->batch, s->goal,
                                s->batch->n * s->asks.total,
                                s->cfg->temperature, s->wide, s->aim));
    mix(s);
out:
    return rc;
}

/* Adds the answer of goal `last`, as probabilities p, to the target of goal
 * i. */
static void add_later(struct ctt_recognise_step *s, int i, int last, float *p)
{
    int classes = s->classes, several = s->hot != NULL;
    const float *z = s->said + (int64_t)i * classes;
    double t = (double)s->cfg->temperature;
    float *aim = s->aim + (int64_t)i * s->wide + s->wide / 2;
    float part = s->goal[i].weight * own_part(s, i);

    ctt_probabilities_of(several, s->said + (int64_t)last * classes, classes, t,
                         p);
    for (int j = 0; j < classes; j++) {
        aim[j] += part * p[j];
        if (several)
            aim[classes + j] += part * (1 - p[j]);
    }
    s->sum += heat(s) * (double)part * (several ? crosses : cross)(p, z,
                                                                   classes, t);
    s->least += heat(s) * (double)part *
                (several ? entropies : entropy)(p, classes);
}

void ctt_aims_later(struct ctt_recognise_step *s)
{
    int last;

    for (int i = 0; s->said && i < s->batch->n * s->asks.total; i++)
        if (s->goal[i].weight > 0 && (last = later_of(s, i)) >= 0)
            add_later(s, i, last, s->answers);    /* its rows are read */
}
