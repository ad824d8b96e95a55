/* SPDX-License-Identifier: Apache-2.0
 * survey.c: statistics of the clips of a set, and mean=auto, std=auto. */
#include "libtrain/data/survey.h"
#include "libtrain/data/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 16, DRAWN = 64 /* sequences looked at */ };

/* A channel that varies less than by a fourth of a step of 1/255 is constant.
 */
static const double DEV_LEAST = 1e-3;

/* ---- counting ---- */

enum { STEPS = 65536 };    /* whole numbers: no sum depends on the order */

static void count_equal(struct ctt_tally *t, const struct ctt_frames *f)
{
    int n = f->count > FRAMES ? FRAMES : f->count;
    size_t size = (size_t)f->h * (size_t)f->w * (size_t)f->c;

    for (int k = 0; k < n; k++) {
        int at = (int)((int64_t)k * f->count / n);
        const uint8_t *p = f->data + (size_t)at * size;
        if (at + 1 == f->count)
            continue;
        t->pairs++;
        t->equal += memcmp(p, p + size, size) == 0;
    }
}

static void count_light(struct ctt_tally *t, double mean, double dev)
{
    t->flat = dev == 0;
    t->mean = llround(mean * STEPS);
    t->squares = t->mean * t->mean;
    t->within = llround(dev * STEPS * dev * STEPS);
}

void ctt_tally_add(struct ctt_tally *t, const struct ctt_input *in,
                   const struct ctt_frames *f)
{
    struct ctt_tally one = { .clips = 1, .fps_least = f->fps,
                             .fps_most = f->fps, .file_least = f->file_fps,
                             .file_most = f->file_fps };
    struct ctt_pixels pixels;
    double mean, dev;

    ctt_pixels_begin(&pixels, in);
    ctt_light_add(&one.light, in, (f->w - in->w) / 2, (f->h - in->h) / 2, f,
                  FRAMES);
    ctt_light_mean(&one.light, &pixels, 0, 3, &mean, &dev);
    count_light(&one, mean, dev);
    count_equal(&one, f);
    ctt_tally_join(t, &one);
}

/* Makes the range from *least to *most hold the other one; first: it is the
 * first. */
static void widen(int first, float *least, float *most, float low, float high)
{
    if (first || low < *least)
        *least = low;
    if (first || high > *most)
        *most = high;
}

void ctt_tally_join(struct ctt_tally *t, const struct ctt_tally *other)
{
    ctt_light_join(&t->light, &other->light);
    widen(!t->clips, &t->fps_least, &t->fps_most, other->fps_least,
          other->fps_most);
    widen(!t->clips, &t->file_least, &t->file_most, other->file_least,
          other->file_most);
    t->mean += other->mean;
    t->squares += other->squares;
    t->within += other->within;
    t->clips += other->clips;
    t->flat += other->flat;
    t->pairs += other->pairs;
    t->equal += other->equal;
}

/* Stored clips were counted when they were read; of drawn sequences the first
 * ones of a test count. */
static int tally_of(struct ctt_data *d, struct ctt_tally *out)
{
    int rc = 0;

    *out = d->tally;
    for (int i = 0; !d->tally.clips && i < d->clips && i < DRAWN; i++) {
        struct ctt_frames f = { 0 };
        int own = 1;
        CTT_TRY(ctt_data_frames(d, i, 0, &f, &own));
        ctt_tally_add(out, &d->in, &f);
        ctt_data_done(d, i, &f, own);
    }
out:
    return rc;
}

/* ---- results ---- */

static int compare_lengths(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

static int lengths(const struct ctt_data *d, struct ctt_survey *out)
{
    int *length = ctt_calloc((size_t)d->clips, sizeof(*length));

    if (!length)
        return CTT_ENOMEM;
    for (int i = 0; i < d->clips; i++)
        length[i] = d->clip[i].length;
    qsort(length, (size_t)d->clips, sizeof(*length), compare_lengths);
    out->shortest = length[0];
    out->median = length[d->clips / 2];
    out->longest = length[d->clips - 1];
    ctt_free(length);
    return 0;
}

/* How much the light differs between clips, and the values of a clip. */
static void spread(const struct ctt_tally *t, struct ctt_survey *s)
{
    double n = t->clips > 0 ? t->clips : 1, mean = (double)t->mean / n;
    double between = (double)t->squares / n - mean * mean;

    s->between = sqrt(between > 0 ? between : 0) / STEPS;
    s->within = sqrt((double)t->within / n) / STEPS;
}

int ctt_data_survey(struct ctt_data *d, struct ctt_survey *out)
{
    struct ctt_survey s = { .channels = d->in.c };
    struct ctt_pixels pixels;
    struct ctt_tally t;
    int rc;

    ctt_pixels_begin(&pixels, &d->in);
    CTT_TRY(tally_of(d, &t));
    for (int c = 0; c < s.channels; c++)
        ctt_light_mean(&t.light, &pixels, c, c + 1, &s.mean[c], &s.dev[c]);
    s.black = ctt_light_share(&t.light, 0, 0);
    s.white = ctt_light_share(&t.light, 255, 255);
    s.clips = t.clips;
    s.flat = t.flat;
    s.still = t.pairs ? (double)t.equal / (double)t.pairs : 0;
    s.fps_least = t.fps_least;
    s.fps_most = t.fps_most;
    s.file_least = t.file_least;
    s.file_most = t.file_most;
    spread(&t, &s);
    CTT_TRY(lengths(d, &s));
    *out = s;
out:
    return rc;
}

/* ---- mean=auto std=auto ---- */

/* Four digits are enough, and a person may read them. */
static float four_digits(double x)
{
    char text[32];

    snprintf(text, sizeof(text), "%.4g", x);
    return strtof(text, NULL);
}

static void tell_input(const struct ctt_events *ev, const struct ctt_input *in)
{
    char line[256];

    if (!ev || !ev->say)
        return;
    snprintf(line, sizeof(line), "input: mean=%g,%g,%g std=%g,%g,%g, with what "
             "was auto measured on the training clips", (double)in->mean[0],
             (double)in->mean[1], (double)in->mean[2], (double)in->std[0],
             (double)in->std[1], (double)in->std[2]);
    ev->say(ev->arg, line);
}

int ctt_data_measure(struct ctt_data *d, struct ctt_graph *g,
                     const struct ctt_events *ev)
{
    struct ctt_input *in = &g->node[ctt_graph_input(g)].attr.input;
    float mean[3], std[3];
    struct ctt_survey s;
    int rc = 0, flat = 0;

    if (ctt_graph_light_known(g) >= 0)
        return 0;
    CTT_TRY(ctt_data_survey(d, &s));
    for (int k = 0; k < 3; k++) {
        int c = k < s.channels ? k : 0;
        mean[k] = four_digits(s.mean[c]);
        std[k] = s.dev[c] >= DEV_LEAST ? four_digits(s.dev[c]) : 1;
        flat |= s.dev[c] < DEV_LEAST;
    }
    ctt_graph_set_light(g, mean, std);
    memcpy(d->in.mean, in->mean, sizeof(in->mean));
    memcpy(d->in.std, in->std, sizeof(in->std));
    if (flat && ev && ev->warn)
        ev->warn(ev->arg, "std=auto: all values of a channel are the same, so "
                 "std=1");
    tell_input(ev, in);
out:
    return rc;
}
