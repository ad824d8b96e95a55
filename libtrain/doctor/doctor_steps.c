/* SPDX-License-Identifier: Apache-2.0
 * doctor_steps.c: checks of --doctor that load a few clips: the first steps of
 * a training on them, and their augmentation. */
#include "libtrain/doctor/doctor.h"
#include "libtrain/chance.h"
#include "libtrain/data/load.h"
#include "libtrain/ranks/shards.h"

#include <math.h>

enum { MINUTES = 2, CLIPS = 8 };

/* ---- the first steps ---- */

/* The same settings without chance, logs and whatever begins later. */
static struct ctt_train_cfg simple(const struct ctt_train_cfg *cfg, int clips)
{
    struct ctt_train_cfg c = ctt_cfg_trial(cfg);

    c.batch = clips;
    c.shards = 1;
    c.squeeze = c.sync = NULL;
    c.epochs = CTT_FIRST_STEPS;
    c.time_limit = MINUTES;
    c.label_smooth = c.self_distil = 0;
    ctt_augment_none(&c);
    c.observe = "1";
    c.frame_loss = CTT_FRAME_NONE;
    c.buckets = "1";
    c.wiring.teachers = NULL;
    return c;
}

static void on_step(void *arg, const struct ctt_progress *p)
{
    struct ctt_first_steps *s = arg;

    if (isnan(p->loss))
        return;
    if (s->steps++ == 0)
        s->first = s->lowest = p->loss;
    s->lowest = p->loss < s->lowest ? p->loss : s->lowest;
}

int ctt_first_steps(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
                    const struct ctt_data *d, struct ctt_first_steps *out)
{
    struct ctt_first_steps s = { .first = NAN, .lowest = NAN };
    const struct ctt_events ev = { .arg = &s, .progress = on_step };
    struct ctt_data part = { .clips = 0 };
    struct ctt_model *copy = NULL;
    struct ctt_train_cfg simpler;
    struct ctt_result r;
    int rc;

    s.clips = ctt_cfg_shard(cfg) < CLIPS ? ctt_cfg_shard(cfg) : CLIPS;
    CTT_TRY(ctt_data_part(d, s.clips, &part));
    s.clips = part.clips;
    simpler = simple(cfg, s.clips);
    CTT_TRY(ctt_model_copy(m, &copy));
    rc = ctt_train(copy, &simpler, &part, NULL, &ev, &r);
    if (rc == CTT_ENAN)
        snprintf(s.failed, sizeof(s.failed), "%s", ctt_errmsg());
    else
        CTT_TRY(rc);
    CTT_CHECK(rc < 0 || !r.stopped, CTT_ESTOP, "stopped");
    *out = s;
    rc = 0;
out:
    ctt_model_free(&copy);
    ctt_free(part.clip);
    return rc;
}

/* ---- augmentation ---- */

/* Mean and deviation of a clip in a batch, in 0..1 or, with normalise=clip, as
 * the model reads it. */
static void measure_clip(const struct ctt_input *in, const struct ctt_batch *b,
                         int j, double *mean, double *dev)
{
    int64_t frame = (int64_t)in->h * in->w * in->c;
    double sum = 0, squares = 0, n = (double)frame * b->length[j];

    for (int t = 0; t < b->length[j]; t++) {
        const float *x = b->x + ((int64_t)t * b->n + j) * frame;
        for (int64_t i = 0; i < frame; i++) {
            int c = (int)(i % in->c);
            double p = (double)x[i] * (double)in->std[c] + (double)in->mean[c];
            sum += p;
            squares += p * p;
        }
    }
    *mean = n > 0 ? sum / n : 0;
    *dev = n > 0 ? sqrt(fmax(squares / n - *mean * *mean, 0)) : 0;
}

/* With normalise=clip a picture is shown with this mean and deviation. */
static const double GREY = 0.5, SPREAD = 0.2;

/* The frame in the middle of a clip, as bytes. */
static void picture(const struct ctt_input *in, const struct ctt_batch *b,
                    int j, uint8_t *out)
{
    int64_t frame = (int64_t)in->h * in->w * in->c;
    const float *x = b->x + ((int64_t)(b->length[j] / 2) * b->n + j) * frame;

    for (int64_t i = 0; i < frame; i++) {
        int c = (int)(i % in->c);
        double p = in->normalise == CTT_NORMALISE_CLIP ?
                   (double)x[i] * SPREAD + GREY :
                   (double)x[i] * (double)in->std[c] + (double)in->mean[c];
        out[i] = (uint8_t)lround(255 * fmin(fmax(p, 0), 1));
    }
}

/* The picture is that of mixed clips, if any are, the numbers are not. */
static void look_at_batch(const struct ctt_input *in, const struct ctt_batch *b,
                          struct ctt_clip_look *out)
{
    size_t frame = (size_t)in->h * (size_t)in->w * (size_t)in->c;

    for (int j = 0; j < b->n; j++) {
        int at = b->clip[j];
        if (at < 0)
            continue;
        if (!b->blend)
            measure_clip(in, b, j, &out->mean[at], &out->dev[at]);
        picture(in, b, j, out->frame + (size_t)at * frame);
    }
}

/* Loads the clips as they are (key 0) or as they are changed. */
static int load_clips(struct ctt_loader *l, const struct ctt_order *order,
                      const struct ctt_augment *a, const struct ctt_input *in,
                      struct ctt_clip_look *out)
{
    struct ctt_batch b;
    double wait = 0;
    int rc = 0;

    ctt_loader_start(l, order, a, 0);
    for (int i = 0; i < order->batches; i++) {
        CTT_TRY(ctt_loader_next(l, &b, &wait));
        look_at_batch(in, &b, out);
        ctt_loader_done(l);
    }
out:
    return rc < 0 ? rc : 0;
}

int ctt_clip_looks(const struct ctt_data *d, const struct ctt_train_cfg *cfg,
                   struct ctt_clip_look out[2])
{
    size_t frame = (size_t)d->in.h * (size_t)d->in.w * (size_t)d->in.c;
    const uint64_t image = ctt_key((uint64_t)cfg->seed, CTT_KEY_IMAGE);
    struct ctt_loader *loader = NULL;
    struct ctt_order *order = NULL;
    struct ctt_data part = { .clips = 0 };
    struct ctt_buckets buckets;
    struct ctt_augment a;
    int rc, n = ctt_cfg_shard(cfg), label;

    out[0] = out[1] = (struct ctt_clip_look){ .clips = 0 };
    CTT_TRY(ctt_data_part(d, CTT_CLIP_LOOKS, &part));
    n = n < part.clips ? n : part.clips;
    CTT_TRY(ctt_buckets_find(&part, n, "1", &buckets));
    CTT_TRY(ctt_order_new(&part, n, &order));
    ctt_order_make(&part, &buckets, 0, 0, order);
    CTT_TRY(ctt_loader_open(&part, n, part.longest, &loader));
    for (int k = 0; k < 2; k++) {
        out[k].clips = part.clips;
        for (int i = 0; i < part.clips; i++)
            out[k].name[i] = ctt_data_clip(&part, i, &label);
        out[k].frame = ctt_calloc((size_t)part.clips, frame);
        CTT_TRY(out[k].frame ? 0 : CTT_ENOMEM);
        a = ctt_augment_of(cfg, k ? ctt_key(image, 0) | 1 : 0);
        CTT_TRY(load_clips(loader, order, &a, &d->in, &out[k]));
    }
    if (ctt_augment_mixes(cfg)) {
        CTT_TRY(ctt_loader_mixes(loader));
        CTT_TRY(load_clips(loader, order, &a, &d->in, &out[1]));
    }
out:
    if (rc < 0)
        ctt_clip_looks_free(out);
    ctt_loader_close(&loader);
    ctt_order_free(&order);
    ctt_free(part.clip);
    return rc;
}

void ctt_clip_looks_free(struct ctt_clip_look look[2])
{
    for (int k = 0; k < 2; k++) {
        ctt_free(look[k].frame);
        look[k].frame = NULL;
    }
}
