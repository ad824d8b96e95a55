/* SPDX-License-Identifier: Apache-2.0
 * features.c: values that a model computes of clips, a few steps at a time. */
#include "libtrain/recognise/features.h"
#include "libtrain/data/load.h"
#include "libtrain/evaluate.h"
#include "base/half.h"
#include "net/op.h"
#include "net/rewrite/edit.h"
#include "net/rewrite/maps.h"
#include "run/run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WINDOW = 8 };      /* steps that are computed together */

/* ---- rows at points of clips ---- */

struct reading {
    const struct ctt_graph *g;
    struct ctt_run         *r;
    struct ctt_eval_set     set;
    const struct ctt_point *point;
    int                     points, width, done, clips;
    float                  *window;     /* [WINDOW][width] */
    const struct ctt_events *ev;
    struct ctt_features    *out;
    const struct ctt_maps  *maps;       /* of the clips, or NULL: frames */
    float                  *map;        /* numbers of the largest */
};

static int open_maps(struct reading *q)
{
    int64_t most = 0;

    for (int k = 0; k < q->maps->count; k++)
        if (ctt_map_size(&q->maps->map[k]) > most)
            most = ctt_map_size(&q->maps->map[k]);
    q->map = ctt_calloc((size_t)most, sizeof(*q->map));
    return q->map ? 0 : CTT_ENOMEM;
}

static int open_reading(struct reading *q, const struct ctt_model *m,
                        const struct ctt_train_cfg *cfg, struct ctt_dev *dev,
                        const float *w, struct ctt_data *d)
{
    int rc;

    CTT_TRY(ctt_run_open(&(struct ctt_run_spec){ .g = m->g, .dev = dev, .w = w,
        .samples = 1, .steps = WINDOW }, &q->r));
    q->window = ctt_calloc((size_t)WINDOW * (size_t)q->width,
                           sizeof(*q->window));
    CTT_TRY(q->window ? 0 : CTT_ENOMEM);
    if (q->maps)
        return open_maps(q);
    CTT_TRY(ctt_eval_set_open(d, 1, d->longest, cfg->buckets, cfg->wiring.comm,
                              (int64_t)q->points * q->width *
                              (int64_t)sizeof(*q->window), &q->set));
out:
    return rc;
}

static void close_reading(struct reading *q)
{
    ctt_eval_set_close(&q->set);
    ctt_run_close(&q->r);
    ctt_free(q->window);
    ctt_free(q->map);
}

/* Keeps the rows that are asked for among those of steps from .. from + n. */
static void take_points(const struct reading *q, int frames, int from, int n,
                      float *rows)
{
    size_t width = (size_t)q->width;

    for (int k = 0; k < q->points; k++) {
        int step = ctt_point_step(&q->point[k], frames);

        if (step >= from && step < from + n)
            memcpy(rows + (size_t)k * width, q->window +
                   (size_t)(step - from) * width, width * sizeof(*rows));
    }
}

/* Runs the steps t .. t + n - 1 of a clip, whose values are there. */
static int run_window(struct reading *q, int frames, int t, int n,
                      float *rows)
{
    int rc;

    CTT_TRY(ctt_run_steps(q->r, n));
    CTT_TRY(ctt_run_get(q->r, ctt_graph_output(q->g), q->r->cursor - n, n,
                        q->window));
    take_points(q, frames, t, n, rows);
out:
    return rc;
}

/* Runs the one clip of a batch. */
static int read_one_clip(void *arg, const struct ctt_batch *b, void *answers)
{
    struct reading *q = arg;
    int input = ctt_graph_input(q->g), frames = b->length[0], rc = 0;
    int64_t pixels = ctt_rows(&q->g->node[input].out);
    int64_t frame = pixels * q->g->node[input].out.c;

    ctt_run_reset(q->r);
    for (int t = 0; t < frames; t += WINDOW) {
        int n = frames - t < WINDOW ? frames - t : WINDOW;

        CTT_TRY(ctt_run_make_room(q->r, n));
        CTT_TRY(ctt_run_put(q->r, input, q->r->cursor, b->x + t * frame,
                            n * pixels));
        CTT_TRY(run_window(q, frames, t, n, answers));
    }
out:
    return rc;
}

static void keep_clip(struct reading *q, int clip, const void *rows)
{
    struct ctt_features *f = q->out;
    size_t size = (size_t)q->points * (size_t)q->width;

    memcpy(f->x + (size_t)f->rows * (size_t)q->width, rows,
           size * sizeof(*f->x));
    for (int k = 0; k < q->points; k++)
        f->clip[f->rows++] = clip;
}

static int keep_rows(void *arg, const struct ctt_batch *b, const void *answers)
{
    struct reading *q = arg;

    if (q->ev && q->ev->scan)
        q->ev->scan(q->ev->arg, ++q->done, q->clips);
    if (b->length[0])
        keep_clip(q, b->clip[0], answers);
    return 0;
}

/* ---- the same from maps that were computed before ---- */

/* A map of one frame into the step at the cursor + t. */
static int put_map(struct reading *q, const struct ctt_map *m, int t,
                   const uint8_t *from)
{
    int node = ctt_graph_find(q->g, m->name);
    int64_t n = ctt_map_size(m);

    for (int64_t i = 0; i < n; i++)
        q->map[i] = ctt_of_f16((uint16_t)(from[2 * i] | from[2 * i + 1] << 8));
    return ctt_run_put(q->r, node, q->r->cursor + t, q->map,
                       ctt_rows(&q->g->node[node].out));
}

/* The maps of a frame that the model reads. */
static int put_maps(struct reading *q, int t, const uint8_t *from)
{
    int rc = 0;

    for (int k = 0; k < q->maps->count; k++) {
        const struct ctt_map *m = &q->maps->map[k];

        if (ctt_graph_find(q->g, m->name) >= 0)
            CTT_TRY(put_map(q, m, t, from));
        from += 2 * ctt_map_size(m);
    }
out:
    return rc;
}

static int run_maps(struct reading *q, const uint8_t *maps, int frames,
                    float *rows)
{
    int64_t each = 2 * ctt_maps_size(q->maps);
    int rc = 0;

    ctt_run_reset(q->r);
    for (int t = 0; t < frames; t += WINDOW) {
        int n = frames - t < WINDOW ? frames - t : WINDOW;

        CTT_TRY(ctt_run_make_room(q->r, n));
        for (int k = 0; k < n; k++)
            CTT_TRY(put_maps(q, k, maps + (t + k) * each));
        CTT_TRY(run_window(q, frames, t, n, rows));
    }
out:
    return rc;
}

static int read_maps(struct reading *q, struct ctt_data *d)
{
    float *rows = ctt_calloc((size_t)q->points * (size_t)q->width,
                             sizeof(*rows));
    uint8_t *maps = NULL;
    int rc = rows ? 0 : CTT_ENOMEM;

    for (int i = 0; i < d->clips && rc >= 0; i++) {
        CTT_CHECK(!ctt_stopped(), CTT_ESTOP, "stopped while reading maps");
        CTT_TRY(ctt_source_read_maps(d->source, d->clip[i].item, &maps));
        CTT_TRY(run_maps(q, maps, d->clip[i].length, rows));
        keep_clip(q, i, rows);
        ctt_free(maps);
        maps = NULL;
        if (q->ev && q->ev->scan)
            q->ev->scan(q->ev->arg, i + 1, q->clips);
    }
out:
    ctt_free(maps);
    ctt_free(rows);
    return rc;
}

static const struct ctt_map *map_of(const struct ctt_maps *maps,
                                    const char *name)
{
    for (int k = 0; k < maps->count; k++)
        if (strcmp(maps->map[k].name, name) == 0)
            return &maps->map[k];
    return NULL;
}

/* The clips have maps of each node, made by this very model. */
static int check_maps(const struct ctt_maps *has, const struct ctt_maps *want)
{
    char names[CTT_MAX_IN * (CTT_NAME + 1)] = "";
    int rc = 0;

    for (int k = 0; k < has->count; k++)
        snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
                 k ? "," : "", has->map[k].name);
    for (int k = 0; k < want->count; k++) {
        const struct ctt_map *w = &want->map[k], *m = map_of(has, w->name);

        CTT_CHECK(m, CTT_EINVAL, "has maps of the nodes %s, not of %s "
                  "(--nodes)", names, w->name);
        CTT_CHECK(ctt_same_map(m, w), CTT_EINVAL, "its maps of %s are those of "
                  "another model than --backbone: make it again (convtt-data "
                  "features)", w->name);
    }
out:
    return rc;
}

/* The model that reads the maps of the clips, if they have any and it needs
 * nothing else; its name for messages. */
static int reader_of(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                     const struct ctt_data *d, const struct ctt_maps **maps,
                     struct ctt_model **out)
{
    const struct ctt_maps *has = ctt_source_maps(d->source);
    struct ctt_maps want;
    int rc = 0;

    *maps = NULL;
    if (!has || !cfg->nodes || cfg->wiring.random)
        goto out;
    CTT_TRY(ctt_maps_find(m, cfg->nodes, &want));
    rc = check_maps(has, &want);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: %s", cfg->data, ctt_errmsg()));
    CTT_TRY(ctt_maps_reader(m, &want, out));
    if (rc)
        *maps = has;
    rc = 0;
out:
    return rc;
}

/* The model, the clips and the reading, for ctt_eval_model(). */
struct request {
    const struct ctt_model     *m;
    const struct ctt_train_cfg *cfg;
    struct ctt_data            *d;
    struct reading              q;
};

static int read_features(void *arg, struct ctt_dev *dev, const float *w)
{
    struct request *a = arg;
    int rc;

    CTT_TRY(open_reading(&a->q, a->m, a->cfg, dev, w, a->d));
    if (a->q.maps) {
        CTT_TRY(read_maps(&a->q, a->d));
        goto out;
    }
    CTT_TRY(ctt_eval_set_run(&a->q.set, &(struct ctt_eval_job){
        .arg = &a->q, .run = read_one_clip, .add = keep_rows }));
out:
    close_reading(&a->q);
    return rc;
}

int ctt_features_check(const struct ctt_graph *g)
{
    const struct ctt_node *last = &g->node[ctt_graph_output(g)];
    int rc = 0;

    CTT_CHECK(g->clip == g->count, CTT_EUNSUP, "%s: behind the line 'clip', "
              "and features are of each frame", last->name);
    CTT_CHECK(ctt_rows(&last->out) == 1, CTT_EUNSUP, "%s: not one pixel",
              last->name);
out:
    return rc;
}

static int check_finite(const struct ctt_features *f, const struct ctt_data *d,
                        const struct ctt_graph *g)
{
    size_t width = (size_t)f->width;
    int rc = 0, label;

    for (size_t i = 0; i < (size_t)f->rows * width; i++)
        CTT_CHECK(isfinite(f->x[i]), CTT_ENAN, "%s: %s computes a number that "
                  "is not finite: weights are too large for such frames, or "
                  "damaged", ctt_data_clip(d, f->clip[i / width], &label),
                  g->node[ctt_graph_output(g)].name);
out:
    return rc;
}

int ctt_features_read(const struct ctt_model *m,
                      const struct ctt_train_cfg *cfg, struct ctt_data *d,
                      const struct ctt_point *point, int points,
                      const struct ctt_events *ev, struct ctt_features *out)
{
    size_t rows = (size_t)d->clips * (size_t)points;
    struct ctt_model *folded = NULL, *reader = NULL;
    struct request a = { .cfg = cfg, .d = d };
    const struct ctt_maps *maps;
    int rc;

    CTT_TRY(ctt_features_check(m->g));
    CTT_TRY(ctt_data_check(d, m->g));
    CTT_TRY(reader_of(m, cfg, d, &maps, &reader));
    CTT_TRY(ctt_without_norms(reader ? reader : m, &folded));
    a.m = folded;
    a.q = (struct reading){ .g = folded->g, .point = point, .points = points,
        .clips = d->clips, .ev = ev, .out = out, .maps = maps,
        .width = (int)folded->g->node[ctt_graph_output(folded->g)].out.c };
    *out = (struct ctt_features){ .width = a.q.width, .points = points,
                                  .d = d };
    out->x = ctt_calloc(rows * (size_t)out->width, sizeof(*out->x));
    out->clip = ctt_calloc(rows, sizeof(*out->clip));
    CTT_TRY(out->x && out->clip ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_eval_model(folded, cfg, read_features, &a));
    CTT_TRY(check_finite(out, d, folded->g));
out:
    ctt_model_free(&folded);
    ctt_model_free(&reader);
    return rc;
}

/* The number in d of each item of the list, from 1; 0: it is not there. */
static int *clip_places(const struct ctt_data *d)
{
    int *place = ctt_calloc((size_t)d->list->count, sizeof(*place));

    for (int i = 0; place && i < d->clips; i++)
        place[d->clip[i].item] = i + 1;
    return place;
}

int ctt_features_part(const struct ctt_features *f, const struct ctt_data *d,
                      struct ctt_features *out)
{
    size_t width = (size_t)f->width;
    int *place = clip_places(d), rc = 0;

    *out = (struct ctt_features){ .width = f->width, .points = f->points,
                                  .d = d };
    out->x = ctt_calloc((size_t)f->rows * width, sizeof(*out->x));
    out->clip = ctt_calloc((size_t)f->rows, sizeof(*out->clip));
    CTT_TRY(place && out->x && out->clip ? 0 : CTT_ENOMEM);
    for (int i = 0; i < f->rows; i++) {
        int at = place[f->d->clip[f->clip[i]].item];

        if (!at)
            continue;
        memcpy(out->x + (size_t)out->rows * width, f->x + (size_t)i * width,
               width * sizeof(*f->x));
        out->clip[out->rows++] = at - 1;
    }
out:
    ctt_free(place);
    return rc;
}

void ctt_features_free(struct ctt_features *f)
{
    ctt_free(f->x);
    ctt_free(f->clip);
    *f = (struct ctt_features){ 0 };
}
