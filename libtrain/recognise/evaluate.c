/* SPDX-License-Identifier: Apache-2.0
 * evaluate.c: measures the accuracy of a model on a set of clips. */
#include "libtrain/data/load.h"
#include "libtrain/evaluate.h"
#include "libtrain/recognise/recognise.h"
#include "libtrain/task.h"
#include "run/run.h"

#include <string.h>

struct ctt_recognise_eval {
    const struct ctt_graph *g;
    struct ctt_data    *d;
    struct ctt_run     *r;
    struct ctt_eval_set set;
    struct ctt_point    point[CTT_MAX_POINTS];
    int                 points, input, answer;
    float              *rows;       /* of a batch: a row per step and sample;
                                       NULL with a clip part */
};

/* Steps that are computed together: of large frames few, so that memory does
 * not grow with the clips; a clip part reads all. */
static int window_of(const struct ctt_graph *g, int n, int longest)
{
    enum { PIXELS = 1 << 21 };
    int64_t pixels = n * ctt_rows(&g->node[ctt_graph_input(g)].out);
    int64_t most = pixels < PIXELS ? PIXELS / pixels : 1;

    return g->clip < g->count || most > longest ? longest : (int)most;
}

int ctt_recognise_eval_open(const struct ctt_graph *g, const float *w,
                            const struct ctt_train_cfg *cfg,
                            struct ctt_dev *dev, struct ctt_data *d,
                            const struct ctt_point *point, int points,
                            struct ctt_recognise_eval **out)
{
    struct ctt_recognise_eval *e = ctt_calloc(1, sizeof(*e));
    int n = ctt_eval_batch(cfg, d), each = 0;
    int rc = e ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    CTT_CHECK(points > 0 && points <= CTT_MAX_POINTS, CTT_EINVAL,
              "%d points to evaluate at", points);
    CTT_TRY(ctt_recognise_task.check(g, cfg, d));
    e->g = g;
    e->d = d;
    e->points = points;
    memcpy(e->point, point, (size_t)points * sizeof(*point));
    e->input = ctt_graph_input(g);
    e->answer = ctt_graph_output(g);
    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){
        .g = g, .dev = dev, .w = w, .samples = n,
        .steps = window_of(g, n, d->longest), .asks = n * points }, &e->r));
    each = ctt_answer_classes(g) * (int)sizeof(float);
    if (g->clip == g->count) {
        e->rows = ctt_calloc((size_t)n * (size_t)d->longest, (size_t)each);
        CTT_TRY(e->rows ? 0 : CTT_ENOMEM);
    }
    CTT_TRY(ctt_eval_set_open(d, n, d->longest, cfg->buckets, cfg->wiring.comm,
                              (int64_t)n * points * each, &e->set));
    *out = e;
    return 0;
out:
    ctt_recognise_eval_close(&e);
    return rc;
}

void ctt_recognise_eval_close(struct ctt_recognise_eval **e)
{
    if (!*e)
        return;
    ctt_eval_set_close(&(*e)->set);
    ctt_run_close(&(*e)->r);
    ctt_free((*e)->rows);
    ctt_free(*e);
    *e = NULL;
}

static int step_of(const struct ctt_recognise_eval *e,
                   const struct ctt_batch *b, int j, int k)
{
    return ctt_point_step(&e->point[k], b->length[j] ? b->length[j] : 1);
}

/* The requested ones of e->rows. */
static void take_rows(const struct ctt_recognise_eval *e,
                      const struct ctt_batch *b, float *answers)
{
    size_t classes = (size_t)ctt_answer_classes(e->g);

    for (int j = 0; j < b->n; j++)
        for (int k = 0; k < e->points; k++) {
            size_t row = (size_t)(step_of(e, b, j, k) * b->n + j);

            memcpy(answers, e->rows + row * classes,
                   classes * sizeof(*answers));
            answers += classes;
        }
}

/* Runs the steps of a batch, as many at a time as the run has room for; their
 * answers, if there is no clip part, are rows. */
static int run_batch(struct ctt_recognise_eval *e, const struct ctt_batch *b)
{
    int64_t pixels = b->n * ctt_rows(&e->g->node[e->input].out);
    int64_t classes = ctt_answer_classes(e->g);
    int rc = 0, room = e->r->room;

    ctt_run_reset(e->r);
    for (int t = 0; t < b->steps; t += room) {
        int n = b->steps - t < room ? b->steps - t : room;

        CTT_TRY(ctt_run_make_room(e->r, n));
        CTT_TRY(ctt_run_put(e->r, e->input, e->r->cursor, b->x + t * pixels *
                            e->g->node[e->input].out.c, n * pixels));
        CTT_TRY(ctt_run_steps(e->r, n));
        if (e->rows)
            CTT_TRY(ctt_run_get(e->r, e->answer, e->r->cursor - n,
                                (int64_t)n * b->n, e->rows +
                                (int64_t)t * b->n * classes));
    }
out:
    return rc;
}

/* Computes answers[clip of the batch][point][class]. */
static int answer_batch(struct ctt_recognise_eval *e, const struct ctt_batch *b,
                        float *answers)
{
    int rc;

    CTT_TRY(run_batch(e, b));
    if (e->rows) {
        take_rows(e, b, answers);
        goto out;
    }
    for (int j = 0; j < b->n; j++)
        for (int k = 0; k < e->points; k++)
            e->r->ask[j * e->points + k] =
                (struct ctt_ask){ j, step_of(e, b, j, k) };
    CTT_TRY(ctt_run_clip(e->r, b->n * e->points));
    CTT_TRY(ctt_run_get(e->r, e->answer, 0, b->n * e->points, answers));
out:
    return rc;
}

/* Metrics per clip. */
static void keep_verdict(const struct ctt_recognise_eval *e,
                         struct ctt_metrics *m, int clip, int point,
                         const float *answer, enum ctt_clip_verdict v)
{
    size_t at = (size_t)clip * (size_t)m->points + (size_t)point;
    size_t classes = (size_t)ctt_answer_classes(e->g);

    if (m->verdict)
        m->verdict[at] = (uint8_t)v;
    if (m->answer)
        memcpy(m->answer + at * classes, answer, classes * sizeof(*m->answer));
}

struct recognise_scoring {
    struct ctt_recognise_eval *e;
    struct ctt_metrics        *m;
};

static enum ctt_clip_verdict add_answer(const struct ctt_recognise_eval *e,
                                        struct ctt_metrics *m, int k,
                                        const float *z, int clip)
{
    const struct ctt_clip *c = &e->d->clip[clip];

    for (int i = 0, label; m->several &&
         (label = ctt_clip_label(e->d, c, i)) >= 0; i++)
        ctt_metrics_there(m, clip, label);
    return m->several ? ctt_metrics_add_clip(m, k, clip, z)
                      : ctt_metrics_add(m, k, z, c->label);
}

static int run_answers(void *arg, const struct ctt_batch *b, void *answers)
{
    const struct recognise_scoring *all = arg;

    return answer_batch(all->e, b, answers);
}

static int count_answers(void *arg, const struct ctt_batch *b,
                         const void *answers)
{
    const struct recognise_scoring *all = arg;
    const struct ctt_recognise_eval *e = all->e;
    int classes = ctt_answer_classes(e->g);

    for (int j = 0; j < b->n; j++) {
        if (!b->length[j])
            continue;
        for (int k = 0; k < e->points; k++) {
            const float *z = (const float *)answers +
                             ((int64_t)j * e->points + k) * classes;

            keep_verdict(e, all->m, b->clip[j], k, z,
                         add_answer(e, all->m, k, z, b->clip[j]));
        }
    }
    return 0;
}

int ctt_recognise_eval_run(struct ctt_recognise_eval *e, struct ctt_metrics *m)
{
    struct recognise_scoring all = { e, m };
    int rc;

    ctt_metrics_clear(m);
    e->r->stamp++;
    CTT_TRY(ctt_eval_set_run(&e->set, &(struct ctt_eval_job){
        .arg = &all, .run = run_answers, .add = count_answers }));
    if (rc == 0)
        CTT_TRY(ctt_metrics_rank(m));
out:
    ctt_run_rest(e->r);
    return rc;
}

/* ---- a model once ---- */

/* The arguments of ctt_evaluate_recognise(); out: its result. */
struct recognise_request {
    const struct ctt_model     *m;
    const struct ctt_train_cfg *cfg;
    struct ctt_data            *d;
    const struct ctt_point     *point;
    int                         points;
    int                         answers;    /* 1: to be kept */
    struct ctt_metrics         *out;
};

static int test_request(void *arg, struct ctt_dev *dev, const float *w)
{
    struct recognise_request *q = arg;
    struct ctt_recognise_eval *e = NULL;
    int rc = 0;

    CTT_TRY(ctt_recognise_eval_open(q->m->g, w, q->cfg, dev, q->d, q->point,
                                    q->points, &e));
    CTT_TRY(ctt_metrics_new(ctt_answer_classes(q->m->g), q->point, q->points,
                            &q->out));
    if (q->m->g->several)
        CTT_TRY(ctt_metrics_several(q->out, q->d->clips));
    q->out->verdict = ctt_calloc((size_t)q->d->clips, (size_t)q->points);
    CTT_TRY(q->out->verdict ? 0 : CTT_ENOMEM);
    if (q->answers && !q->out->answer)
        q->out->answer = ctt_calloc((size_t)q->d->clips * (size_t)q->points,
                                    (size_t)ctt_answer_classes(q->m->g) *
                                    sizeof(*q->out->answer));
    CTT_TRY(q->out->answer || !q->answers ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_recognise_eval_run(e, q->out));
out:
    ctt_recognise_eval_close(&e);
    return rc;
}

static int run_request(struct recognise_request *q, struct ctt_metrics **out)
{
    int rc = 0;

    CTT_TRY(ctt_eval_model(q->m, q->cfg, test_request, q));
    *out = q->out;
    q->out = NULL;
out:
    ctt_metrics_free(&q->out);
    return rc;
}

int ctt_evaluate_recognise(const struct ctt_model *m,
                           const struct ctt_train_cfg *cfg, struct ctt_data *d,
                           const struct ctt_point *point, int points,
                           struct ctt_metrics **out)
{
    return run_request(&(struct recognise_request){ m, cfg, d, point, points,
                                                    0, NULL }, out);
}

int ctt_answer_recognise(const struct ctt_model *m,
                         const struct ctt_train_cfg *cfg, struct ctt_data *d,
                         const struct ctt_point *point, int points,
                         struct ctt_metrics **out)
{
    return run_request(&(struct recognise_request){ m, cfg, d, point, points,
                                                    1, NULL }, out);
}
