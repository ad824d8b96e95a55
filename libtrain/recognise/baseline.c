/* SPDX-License-Identifier: Apache-2.0
 * baseline.c: linear answers from no frame, from one frame, and from
 * differences of frames. */
#include "libtrain/recognise/baseline.h"
#include "base/statistics/statistics.h"
#include "libtrain/data/data.h"
#include "libtrain/recognise/ridge.h"

#include <math.h>
#include <string.h>

enum { MOST = 2000,      /* clips to fit to */
       GRID = 8,         /* cells in each direction of colours */
       CELLS = 4,        /* and of gradients, with BINS directions each */
       BINS = 8 };

/* ---- inputs ---- */

static const uint8_t *frame(const struct ctt_frames *f, int step)
{
    return f->data + (size_t)step * (size_t)f->h * (size_t)f->w * (size_t)f->c;
}

/* Adds |x - y|, or x without y, times `by` to the mean of each cell and
 * channel. */
static void add_cells(const struct ctt_frames *f, const uint8_t *x,
                      const uint8_t *y, float by, float *out)
{
    int sum[GRID * GRID * 4] = { 0 }, count[GRID * GRID] = { 0 };
    int width = f->c < 4 ? f->c : 4;

    for (int i = 0; i < f->h * f->w; i++) {
        int cell = i / f->w * GRID / f->h * GRID + i % f->w * GRID / f->w;

        count[cell]++;
        for (int c = 0; c < width; c++) {
            int v = x[i * f->c + c] - (y ? y[i * f->c + c] : 0);

            sum[cell * width + c] += v < 0 ? -v : v;
        }
    }
    for (int k = 0; k < GRID * GRID * width; k++)
        if (count[k / width])
            out[k] += by * (float)sum[k] / (float)count[k / width];
}

static int cells(int channels)
{
    return GRID * GRID * (channels < 4 ? channels : 4);
}

static float grey(const struct ctt_frames *f, const uint8_t *x, int at)
{
    int sum = 0;

    for (int c = 0; c < f->c; c++)
        sum += x[at * f->c + c];
    return (float)sum / (float)f->c;
}

/* Histograms of the directions of gradients in each cell, by their lengths, of
 * sum 1 (Dalal and Triggs 2005). */
static void add_gradients(const struct ctt_frames *f, const uint8_t *x,
                          float *out)
{
    float all = 1e-6f;

    for (int i = 1; i + 1 < f->h; i++)
        for (int j = 1; j + 1 < f->w; j++) {
            int at = i * f->w + j, bin;
            float dx = grey(f, x, at + 1) - grey(f, x, at - 1);
            float dy = grey(f, x, at + f->w) - grey(f, x, at - f->w);
            float size = hypotf(dx, dy);

            bin = (int)((atan2f(dy, dx) / 3.14159265f + 1) / 2 * BINS) % BINS;
            out[(i * CELLS / f->h * CELLS + j * CELLS / f->w) * BINS + bin] +=
                size;
            all += size;
        }
    for (int k = 0; k < CELLS * CELLS * BINS; k++)
        out[k] /= all;
}

static void of_frame(const struct ctt_frames *f, int step, float *out)
{
    add_cells(f, frame(f, step), NULL, 1, out);
    add_gradients(f, frame(f, step), out + cells(f->c));
}

static void of_first(const struct ctt_frames *f, int step, float *out)
{
    (void)step;
    of_frame(f, 0, out);
}

static void of_differences(const struct ctt_frames *f, int step, float *out)
{
    for (int t = 1; t <= step; t++)
        add_cells(f, frame(f, t), frame(f, t - 1), 1 / (float)step, out);
}

static int no_inputs(int channels)
{
    (void)channels;
    return 0;
}

static int frame_inputs(int channels)
{
    return cells(channels) + CELLS * CELLS * BINS;
}

static void of_nothing(const struct ctt_frames *f, int step, float *out)
{
    (void)f;
    (void)step;
    (void)out;
}

const char *const ctt_baseline_names[CTT_BASELINES] = {
    "largest class", "first frame alone", "last frame alone",
    "differences of frames",
};

static const struct {
    int  (*inputs)(int channels);
    void (*of)(const struct ctt_frames *f, int step, float *out);
} kinds[CTT_BASELINES] = {
    { no_inputs, of_nothing }, { frame_inputs, of_first },
    { frame_inputs, of_frame }, { cells, of_differences },
};

/* ---- clips ---- */

/* The inputs of a clip, of all baselines and points in turn. */
struct work {
    struct ctt_data        *d;
    const struct ctt_point *point;
    int                     points;
    int                     at[CTT_BASELINES * CTT_MAX_POINTS + 1];
};

static void lay_out(struct work *w)
{
    int n = 0;

    for (int b = 0, k = 0; b < CTT_BASELINES; b++)
        for (int p = 0; p < w->points; p++) {
            w->at[k++] = n;
            n += kinds[b].inputs(w->d->in.c);
        }
    w->at[CTT_BASELINES * w->points] = n;
}

static int inputs_of_all(const struct work *w)
{
    return w->at[CTT_BASELINES * w->points];
}

/* 1 and the inputs, or 0 if clip i has no class or cannot be read. */
static int read_clip(const struct work *w, int i, float *x)
{
    struct ctt_frames f = { 0 };
    int own = 0, rc;

    memset(x, 0, (size_t)inputs_of_all(w) * sizeof(*x));
    if (w->d->clip[i].label < 0)
        return 0;
    CTT_TRY(ctt_data_frames(w->d, i, 0, &f, &own));
    for (int b = 0, k = 0; b < CTT_BASELINES; b++)
        for (int p = 0; p < w->points; p++)
            kinds[b].of(&f, ctt_point_step(&w->point[p], f.count),
                        x + w->at[k++]);
    ctt_data_done(w->d, i, &f, own);
    return 1;
out:
    return ctt_clip_is_bad(rc) ? 0 : rc;
}

/* ---- the fit ---- */

/* Inputs x[n][] and labels of the clips that can be read. */
struct examples { float *x; int *label, n; };

static int read_examples(const struct work *w, struct examples *e)
{
    int most = w->d->clips < MOST ? w->d->clips : MOST, rc = 0;
    size_t width = (size_t)inputs_of_all(w);

    e->x = ctt_calloc((size_t)most * width, sizeof(*e->x));
    e->label = ctt_calloc((size_t)most, sizeof(*e->label));
    CTT_TRY(e->x && e->label ? 0 : CTT_ENOMEM);
    #pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < most; i++) {
        int k = (int)((int64_t)i * w->d->clips / most);
        int there = read_clip(w, k, e->x + (size_t)i * width);

        e->label[i] = there > 0 ? w->d->clip[k].label : there - 1;
    }
    for (int i = 0; i < most; i++) {
        CTT_TRY(e->label[i] < -1 ? e->label[i] + 1 : 0);
        if (e->label[i] < 0)
            continue;
        memmove(e->x + (size_t)e->n * width, e->x + (size_t)i * width,
                width * sizeof(*e->x));
        e->label[e->n++] = e->label[i];
    }
    CTT_CHECK(e->n, CTT_EUNSUP, "no clip can be read");
out:
    return rc;
}

/* Fits the k-th of all baselines at all points. */
static int fit_one(const struct work *w, const struct examples *e, int k,
                   int classes, struct ctt_ridge *r)
{
    size_t all = (size_t)inputs_of_all(w), own = (size_t)(w->at[k + 1] -
                                                          w->at[k]);
    float *x = ctt_calloc((size_t)e->n * own + 1, sizeof(*x));
    int rc = x ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < e->n; i++)
        memcpy(x + (size_t)i * own, e->x + (size_t)i * all + w->at[k],
               own * sizeof(*x));
    CTT_TRY(ctt_ridge_fit(x, e->label, NULL, e->n, (int)own, classes, r));
out:
    ctt_free(x);
    return rc;
}

/* ---- the test ---- */

static void count_clip(const struct work *w, const struct ctt_ridge *r, int i,
                       const float *x, float *logits, struct ctt_baselines *out)
{
    int points = w->points;

    for (int b = 0, k = 0; b < CTT_BASELINES; b++)
        for (int p = 0; p < points; p++, k++) {
            ctt_ridge_answer(&r[k], x + w->at[k], logits);
            out->of[b]->verdict[(size_t)i * (size_t)points + (size_t)p] =
                (uint8_t)ctt_metrics_add(out->of[b], p, logits,
                                         w->d->clip[i].label);
        }
}

/* Clips are counted in their order. */
static int test_all(const struct work *w, const struct ctt_ridge *r,
                    struct ctt_baselines *out)
{
    size_t width = (size_t)inputs_of_all(w);
    float *logits = ctt_calloc((size_t)r->classes, sizeof(*logits));
    int rc = logits ? 0 : CTT_ENOMEM;

    #pragma omp parallel for ordered schedule(dynamic)
    for (int i = 0; i < w->d->clips; i++) {
        float *x = ctt_calloc(width, sizeof(*x));
        int there = x ? read_clip(w, i, x) : CTT_ENOMEM;

        #pragma omp ordered
        {
            rc = rc < 0 ? rc : there < 0 ? there : 0;
            if (rc == 0 && there)
                count_clip(w, r, i, x, logits, out);
        }
        ctt_free(x);
    }
    ctt_free(logits);
    return rc;
}

static int new_scores(const struct work *w, int classes,
                      struct ctt_baselines *out)
{
    int rc = 0;

    for (int b = 0; b < CTT_BASELINES; b++) {
        CTT_TRY(ctt_metrics_new(classes, w->point, w->points, &out->of[b]));
        out->of[b]->verdict = ctt_calloc((size_t)w->d->clips *
                                         (size_t)w->points, 1);
        CTT_TRY(out->of[b]->verdict ? 0 : CTT_ENOMEM);
    }
out:
    return rc;
}

int ctt_baselines_measure(struct ctt_data *train, struct ctt_data *test,
                          const struct ctt_point *point, int points,
                          struct ctt_baselines *out)
{
    struct ctt_ridge r[CTT_BASELINES * CTT_MAX_POINTS] = { { 0 } };
    struct work w = { train, point, points, { 0 } };
    struct examples e = { NULL, NULL, 0 };
    int classes, rc;

    lay_out(&w);
    ctt_data_labels(train, &classes);
    CTT_TRY(read_examples(&w, &e));
    for (int k = 0; k < CTT_BASELINES * points; k++)
        CTT_TRY(fit_one(&w, &e, k, classes, &r[k]));
    w.d = test;
    CTT_TRY(new_scores(&w, classes, out));
    CTT_TRY(test_all(&w, r, out));
    out->trained = e.n;
out:
    for (int k = 0; k < CTT_BASELINES * points; k++)
        ctt_ridge_free(&r[k]);
    ctt_free(e.x);
    ctt_free(e.label);
    if (rc < 0)
        ctt_baselines_free(out);
    return rc;
}

struct ctt_pair ctt_metrics_pair(const struct ctt_metrics *a,
                                 const struct ctt_metrics *b, int clips)
{
    struct ctt_pair n = { 0, 0 };

    for (int i = 1; i <= clips; i++) {
        int x = a->verdict[i * a->points - 1];
        int y = b->verdict[i * b->points - 1];

        n.first += x == CTT_RIGHT && y == CTT_WRONG;
        n.second += x == CTT_WRONG && y == CTT_RIGHT;
    }
    return n;
}

int ctt_metrics_better(const struct ctt_metrics *a,
                       const struct ctt_metrics *b, int clips)
{
    struct ctt_pair n = ctt_metrics_pair(a, b, clips);

    return n.first > n.second && ctt_mcnemar(n.second, n.first) < 0.01;
}

const struct ctt_metrics *ctt_baselines_scene(const struct ctt_baselines *b,
                                              int clips)
{
    const struct ctt_metrics *frame = b->of[CTT_FIRST_FRAME];
    int last = frame->points - 1;

    if (b->of[CTT_LAST_FRAME]->top1[last] > frame->top1[last])
        frame = b->of[CTT_LAST_FRAME];
    return ctt_metrics_better(frame, b->of[CTT_LARGEST_CLASS], clips) ? frame
                                                                     : NULL;
}

void ctt_baselines_free(struct ctt_baselines *b)
{
    for (int k = 0; k < CTT_BASELINES; k++)
        ctt_metrics_free(&b->of[k]);
    *b = (struct ctt_baselines){ .trained = 0 };
}
