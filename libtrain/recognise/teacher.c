/* SPDX-License-Identifier: Apache-2.0
 * teacher.c: the answers of trained models as targets of another one's
 * training. */
#include "libtrain/data/data.h"
#include "libtrain/data/load.h"
#include "libtrain/recognise/recognise.h"
#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

int ctt_is_taught(const struct ctt_train_cfg *cfg)
{
    return cfg->wiring.teachers && cfg->distil > 0;
}

static int same_frames(const char *who, const struct ctt_graph *teacher,
                       const struct ctt_graph *g)
{
    const struct ctt_input *t = &teacher->node[ctt_graph_input(teacher)].attr
                                     .input;
    const struct ctt_input *m = &g->node[ctt_graph_input(g)].attr.input;
    int rc = 0;

    CTT_CHECK(ctt_graph_inputs(teacher) == 1, CTT_EINVAL,
              "%s takes other frames than the model: it has %d inputs", who,
              ctt_graph_inputs(teacher));
    CTT_CHECK(t->h == m->h && t->w == m->w && t->c == m->c && t->fps == m->fps,
              CTT_EINVAL, "%s takes other frames than the model: %dx%dx%d at "
              "fps=%g, not %dx%dx%d at fps=%g", who, t->w, t->h, t->c,
              (double)t->fps, m->w, m->h, m->c, (double)m->fps);
    CTT_CHECK(memcmp(t, m, sizeof(*t)) == 0, CTT_EINVAL,
              "%s takes other frames than the model: mean, std, scale, fit, "
              "colour, normalise and gamma of both must be the same", who);
out:
    return rc;
}

static int same_classes(const char *who, const struct ctt_model *m,
                        const struct ctt_data *d)
{
    char *const *label = d->list->label;
    int classes = d->list->labels, rc = 0;

    CTT_TRY(ctt_answer_check(m->g));
    CTT_CHECK(ctt_answer_classes(m->g) == classes, CTT_EINVAL,
              "%s answers %d classes, the data has %d", who,
              ctt_answer_classes(m->g), classes);
    CTT_CHECK(m->labels == 0 || m->labels == classes, CTT_EINVAL,
              "%s has %d labels for %d classes", who, m->labels, classes);
    for (int i = 0; i < m->labels; i++)
        CTT_CHECK(strcmp(m->label[i], label[i]) == 0, CTT_EINVAL,
                  "%s's class %d is '%s', that of the data '%s'", who, i,
                  m->label[i], label[i]);
out:
    return rc;
}

int ctt_teacher_check(const struct ctt_train_cfg *cfg,
                      const struct ctt_graph *g, const struct ctt_data *d)
{
    const struct ctt_model *const *m = cfg->wiring.teachers;
    char who[32];
    int rc = 0;

    for (int i = 0; m[i]; i++) {
        snprintf(who, sizeof(who), m[1] ? "teacher %d" : "the teacher", i + 1);
        CTT_TRY(same_frames(who, m[i]->g, g));
        CTT_CHECK(m[i]->g->several == g->several, CTT_EINVAL, "%s answers with "
                  "%s per clip, the model with %s", who, m[i]->g->several
                  ? "several labels" : "one label", g->several
                  ? "several" : "one");
        CTT_TRY(same_classes(who, m[i], d));
    }
out:
    return rc;
}

static int has_clip(const struct ctt_teacher *t)
{
    return t->g->clip < t->g->count;
}

static int open_one(const struct ctt_model *m, struct ctt_dev *dev, int n,
                    int room, int asks, struct ctt_teacher **out)
{
    struct ctt_teacher *t = ctt_calloc(1, sizeof(*t));
    size_t classes, rows;
    const float *w;
    int rc = t ? 0 : CTT_ENOMEM;

    *out = t;
    CTT_TRY(rc);
    t->g = m->g;
    t->dev = dev;
    classes = (size_t)ctt_answer_classes(m->g);
    rows = has_clip(t) ? (size_t)asks : (size_t)n * (size_t)room;
    CTT_TRY(ctt_dev_show(dev, "the teacher's weights", m->w, m->g->weights,
                         &t->own, &w));
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){
        .g = m->g, .dev = dev, .w = w, .samples = n, .steps = room,
        .asks = has_clip(t) ? asks : 0 }, &t->r));
    t->answers = ctt_calloc(rows, classes * sizeof(*t->answers));
    t->p = ctt_calloc(classes, sizeof(*t->p));
    CTT_TRY(t->answers && t->p ? 0 : CTT_ENOMEM);
out:
    return rc;
}

int ctt_teacher_open(const struct ctt_model *const *m, struct ctt_dev *dev,
                     int n, int room, int asks, struct ctt_teacher **out)
{
    struct ctt_teacher *first = NULL, **at = &first;
    int rc = 0;

    for (; *m; m++, at = &(*at)->next)
        CTT_TRY(open_one(*m, dev, n, room, asks, at));
    *out = first;
    first = NULL;
out:
    ctt_teacher_close(&first);
    return rc;
}

void ctt_teacher_close(struct ctt_teacher **t)
{
    struct ctt_teacher *next;

    for (struct ctt_teacher *at = *t; at; at = next) {
        next = at->next;
        ctt_run_close(&at->r);
        ctt_dev_free(at->dev, &at->own);
        ctt_free(at->answers);
        ctt_free(at->p);
        ctt_free(at);
    }
    *t = NULL;
}

void ctt_probabilities(const float *z, int n, double temperature, float *p)
{
    float top = z[0];
    double sum = 0;

    for (int j = 1; j < n; j++)
        top = z[j] > top ? z[j] : top;
    for (int j = 0; j < n; j++)
        sum += exp(((double)z[j] - (double)top) / temperature);
    for (int j = 0; j < n; j++)
        p[j] = (float)(exp(((double)z[j] - (double)top) / temperature) / sum);
}

void ctt_probabilities_of(int several, const float *z, int n,
                          double temperature, float *p)
{
    if (!several)
        ctt_probabilities(z, n, temperature, p);
    for (int j = 0; j < n && several; j++)
        p[j] = (float)(1 / (1 + exp(-(double)z[j] / temperature)));
}

static int forward_teacher(struct ctt_teacher *t, const struct ctt_batch *b,
                           const struct ctt_goal *goal, int goals)
{
    int input = ctt_graph_input(t->g), answer = ctt_graph_output(t->g), rc = 0;
    int64_t rows = (int64_t)b->steps * b->n;

    ctt_run_reset(t->r);
    CTT_TRY(ctt_run_put(t->r, input, 0, b->x,
                        rows * ctt_rows(&t->g->node[input].out)));
    CTT_TRY(ctt_run_steps(t->r, b->steps));
    if (has_clip(t)) {
        for (int i = 0; i < goals; i++)
            t->r->ask[i] = (struct ctt_ask){ goal[i].sample, goal[i].step };
        CTT_TRY(ctt_run_clip(t->r, goals));
        rows = goals;
    }
    CTT_TRY(ctt_run_get(t->r, answer, 0, rows, t->answers));
out:
    return rc;
}

/* Adds a teacher's probabilities times `by` to p. */
static int add_teacher(struct ctt_teacher *t, const struct ctt_batch *b,
                       const struct ctt_goal *goal, int goals,
                       float temperature, float by, int wide, float *p)
{
    int classes = ctt_answer_classes(t->g), rc;

    CTT_TRY(forward_teacher(t, b, goal, goals));
    for (int i = 0; i < goals; i++) {
        float *to = p + (int64_t)i * wide + wide / 2;
        int64_t row = has_clip(t) ? i : (int64_t)goal[i].step * b->n +
                                        goal[i].sample;
        if (goal[i].weight <= 0)
            continue;
        ctt_probabilities_of(t->g->several, t->answers + row * classes,
                             classes, (double)temperature, t->p);
        for (int j = 0; j < classes; j++)
            to[j] += by * t->p[j];
    }
out:
    return rc;
}

int ctt_teacher_run(struct ctt_teacher *t, const struct ctt_batch *b,
                    const struct ctt_goal *goal, int goals, float temperature,
                    int wide, float *p)
{
    int classes = ctt_answer_classes(t->g), count = 0, rc = 0;

    for (int i = 0; i < goals; i++)
        memset(p + (int64_t)i * wide + wide / 2, 0,
               (size_t)classes * sizeof(*p));
    for (struct ctt_teacher *at = t; at; at = at->next)
        count++;
    for (; t; t = t->next)
        CTT_TRY(add_teacher(t, b, goal, goals, temperature, 1 / (float)count,
                            wide, p));
out:
    return rc;
}
