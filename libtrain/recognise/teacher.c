/* SPDX-License-Identifier: Apache-2.0
 * teacher.c: the answers of a trained model as targets of another one's
 * training. */
#include "libtrain/data/data.h"
#include "libtrain/data/load.h"
#include "libtrain/recognise/recognise.h"
#include "run/run.h"

#include <math.h>
#include <string.h>

int ctt_is_taught(const struct ctt_train_cfg *cfg)
{
    return cfg->taught_by && cfg->distil > 0;
}

int ctt_teacher_check(const struct ctt_train_cfg *cfg,
                      const struct ctt_graph *g, const struct ctt_data *d)
{
    const struct ctt_model *m = cfg->taught_by;
    char *const *label = d->list->label;
    int classes = d->list->labels, rc = 0;

    CTT_CHECK(ctt_graph_inputs(m->g) == 1 &&
              memcmp(&m->g->node[ctt_graph_input(m->g)].attr.input,
                     &g->node[ctt_graph_input(g)].attr.input,
                     sizeof(struct ctt_input)) == 0, CTT_EINVAL,
              "the teacher takes other frames than the model");
    CTT_TRY(ctt_answer_check(m->g));
    CTT_CHECK(ctt_answer_classes(m->g) == classes, CTT_EINVAL,
              "the teacher answers %d classes, the data has %d",
              ctt_answer_classes(m->g), classes);
    CTT_CHECK(m->labels == 0 || m->labels == classes, CTT_EINVAL,
              "the teacher has %d labels for %d classes", m->labels, classes);
    for (int i = 0; i < m->labels; i++)
        CTT_CHECK(strcmp(m->label[i], label[i]) == 0, CTT_EINVAL,
                  "the teacher's class %d is '%s', that of the data '%s'", i,
                  m->label[i], label[i]);
out:
    return rc;
}

static int has_clip(const struct ctt_teacher *t)
{
    return t->g->clip < t->g->count;
}

int ctt_teacher_open(const struct ctt_model *m, struct ctt_dev *dev, int n,
                     int room, int asks, struct ctt_teacher **out)
{
    struct ctt_teacher *t = ctt_calloc(1, sizeof(*t));
    const float *w;
    size_t rows;
    int rc = t ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    t->g = m->g;
    t->dev = dev;
    rows = has_clip(t) ? (size_t)asks : (size_t)n * (size_t)room;
    CTT_TRY(ctt_dev_show(dev, "the teacher's weights", m->w, m->g->weights,
                         &t->own, &w));
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){
        .g = m->g, .dev = dev, .w = w, .samples = n, .steps = room,
        .asks = has_clip(t) ? asks : 0 }, &t->r));
    t->answers = ctt_calloc(rows, (size_t)ctt_answer_classes(m->g) *
                                  sizeof(*t->answers));
    CTT_TRY(t->answers ? 0 : CTT_ENOMEM);
    *out = t;
    t = NULL;
out:
    ctt_teacher_close(&t);
    return rc;
}

void ctt_teacher_close(struct ctt_teacher **t)
{
    if (!*t)
        return;
    ctt_run_close(&(*t)->r);
    ctt_dev_free((*t)->dev, &(*t)->own);
    ctt_free((*t)->answers);
    ctt_free(*t);
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

static int forward(struct ctt_teacher *t, const struct ctt_batch *b,
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

int ctt_teacher_run(struct ctt_teacher *t, const struct ctt_batch *b,
                    const struct ctt_goal *goal, int goals, float temperature,
                    float *p)
{
    int classes = ctt_answer_classes(t->g), rc;

    CTT_TRY(forward(t, b, goal, goals));
    for (int i = 0; i < goals; i++) {
        int64_t row = has_clip(t) ? i : (int64_t)goal[i].step * b->n +
                                        goal[i].sample;
        if (goal[i].weight > 0)
            ctt_probabilities(t->answers + row * classes, classes, temperature,
                              p + (2 * i + 1) * classes);
    }
out:
    return rc;
}
