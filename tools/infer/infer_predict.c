/* SPDX-License-Identifier: Apache-2.0
 * infer_predict.c: predicts the next frames of clips, saves them, and measures
 * them where the clip has the true ones. */
#include "tools/infer/infer_tool.h"
#include "base/clock.h"
#include "tools/shared/infer_rc.h"
#include "tools/shared/tool.h"
#include "video/quality.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>

static const double any_fps = 10;    /* of --video if the clip has no times */

struct ctt_predictor {
    struct ctt_predict_with w;
    struct ctt_pixels  plain;      /* of w.in, but with values in 0..1 */
    size_t             size;       /* floats per frame */
    struct ctt_source **source;
    struct ctt_decoder *decoder;
    int                sources, room, clips, done, skipped;
    uint8_t           *seen;       /* a frame as the session takes it */
    float             *frame;      /* a predicted one */
    float             *truth;      /* of a clip, values in 0..1 */
    float             *guess;
    struct ctt_show    show;
    struct ctt_store   store;
    struct ctt_measure measure;
};

/* ---- opening ---- */

static int check_saved(const struct ctt_predictor *p)
{
    int rc;

    CTT_TRY(ctt_predict_can_write(p->w.set));
    CTT_CHECK(p->measure.able || !p->w.set->csv, CTT_EINVAL,
              "%s: frames of %dx%d are too small to be measured",
              p->w.set->csv, p->w.in->w, p->w.in->h);
    CTT_TRY(ctt_show_check(p->w.set->strip, p->w.set->video, &p->show));
out:
    return rc;
}

static int make_buffers(struct ctt_predictor *p)
{
    const struct ctt_predict *c = p->w.set;
    size_t ahead = (size_t)c->count, all = ahead + (size_t)c->seen;

    p->seen = ctt_calloc(p->size, 1);
    p->frame = ctt_calloc(p->size, sizeof(float));
    p->truth = ctt_calloc(all * p->size, sizeof(float));
    p->guess = ctt_calloc(ahead * p->size, sizeof(float));
    p->show.clip = ctt_calloc((size_t)c->show, sizeof(*p->show.clip));
    return p->seen && p->frame && p->truth && p->guess && p->show.clip ?
           0 : CTT_ENOMEM;
}

int ctt_predictor_open(const struct ctt_predict_with *w,
                       struct ctt_predictor **out)
{
    struct ctt_predictor *p = ctt_calloc(1, sizeof(*p));
    struct ctt_input plain = *w->in;
    int rc = p ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    p->w = *w;
    for (int k = 0; k < 3; k++) {
        plain.mean[k] = 0;
        plain.std[k] = 1;
    }
    ctt_pixels_begin(&p->plain, &plain);
    p->size = (size_t)w->in->h * (size_t)w->in->w * (size_t)w->in->c;
    p->show = (struct ctt_show){ .in = w->in, .seen = w->set->seen,
        .ahead = w->set->count, .clips = w->set->show,
        .fps = (double)w->in->fps };
    p->store = (struct ctt_store){ .path = w->set->frames, .in = w->in,
        .seen = w->set->seen, .ahead = w->set->count };
    CTT_TRY(ctt_measure_init(&p->measure, w->in, w->set->seen, w->set->count));
    CTT_TRY(check_saved(p));
    p->show.clips = 0;
    CTT_TRY(make_buffers(p));
    *out = p;
    p = NULL;
out:
    ctt_predictor_close(&p);
    return rc;
}

void ctt_predictor_close(struct ctt_predictor **predictor)
{
    struct ctt_predictor *p = *predictor;

    if (!p)
        return;
    ctt_decoder_close(&p->decoder);
    for (int i = 0; i < p->sources; i++)
        ctt_source_close(&p->source[i]);
    for (int i = 0; p->show.clip && i < p->w.set->show; i++) {
        ctt_free(p->show.clip[i].truth);
        ctt_free(p->show.clip[i].guess);
    }
    ctt_free(p->source);
    ctt_free(p->seen);
    ctt_free(p->frame);
    ctt_free(p->truth);
    ctt_free(p->guess);
    ctt_free(p->show.clip);
    ctt_store_clear(&p->store);
    ctt_measure_clear(&p->measure);
    ctt_free(p);
    *predictor = NULL;
}

/* Checks that no output is the operand or one of its clips. */
static int spare_clips(const struct ctt_predictor *p, const char *path)
{
    const struct ctt_source *s = p->source[p->sources];
    const struct ctt_list *l = ctt_source_list(s);
    int rc;

    CTT_TRY(ctt_predict_spares(p->w.set, path));
    for (int i = 0; i < l->count && ctt_source_files(s); i++)
        CTT_TRY(ctt_predict_spares(p->w.set, l->item[i].path));
out:
    return rc;
}

int ctt_predictor_add(struct ctt_predictor *p, const char *path)
{
    void *more = ctt_grown(p->source, &p->room, p->sources,
                           sizeof(*p->source));
    int rc = more ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    p->source = more;
    CTT_TRY(ctt_source_open(path, &p->w.which, p->w.in,
                            &p->source[p->sources]));
    rc = spare_clips(p, path);
    p->clips += ctt_source_list(p->source[p->sources++])->count;
out:
    return rc;
}

/* ---- one clip ---- */

/* Crops stored frame i of a clip to the size that the session takes. */
static void crop_frame(struct ctt_predictor *p, const struct ctt_frames *f,
                       int i)
{
    ctt_frame_middle(f->data + (size_t)i * f->w * f->h * f->c, f->w, f->h,
                     p->w.in, p->seen);
}

static int time_taken(const struct ctt_predictor *p, double start)
{
    return p->w.times ? ctt_times_add(p->w.times,
                                      1e3 * (ctt_seconds() - start)) : 0;
}

/* Feeds the session the observed frames, from `start` on, then its own
 * predictions. */
static int foresee(struct ctt_predictor *p, const struct ctt_frames *f,
                   int start)
{
    const struct ctt_predict *c = p->w.set;
    const float *mean = p->w.in->mean, *std = p->w.in->std;
    struct ctt_session *s = p->w.session;
    int rc = 0;

    ctt_session_reset(s);
    for (int i = 0; i < c->seen + c->count - 1; i++) {
        double begin = ctt_seconds();
        if (i < c->seen)
            crop_frame(p, f, start + i);
        CTT_TRY(ctt_infer_rc(i < c->seen
                             ? ctt_session_push(s, p->seen, 1)
                             : ctt_session_push_float(s, p->frame, 1)));
        if (i + 1 >= c->seen) {
            float *to = p->guess + (size_t)(i + 1 - c->seen) * p->size;
            CTT_TRY(ctt_infer_rc(ctt_session_predict(s, 1, p->frame)));
            for (size_t j = 0; j < p->size; j++) {
                size_t k = j % (size_t)p->w.in->c;
                to[j] = ctt_unit(p->frame[j] * std[k] + mean[k]);
            }
        }
        CTT_TRY(time_taken(p, begin));
    }
out:
    return rc;
}

static uint8_t *bytes(const float *x, size_t n)
{
    uint8_t *p = ctt_calloc(n, 1);

    for (size_t i = 0; p && i < n; i++)
        p[i] = (uint8_t)lrintf(255 * x[i]);
    return p;
}

/* Keeps a window of `known` true frames for --strip and --video. */
static int keep_shown(struct ctt_predictor *p, const struct ctt_frames *f,
                      int known)
{
    struct ctt_show *v = &p->show;
    struct ctt_shown *to = &v->clip[v->clips];
    int rc = 0;

    if (!(v->fps > 0))
        v->fps = f->fps > 0 ? (double)f->fps : any_fps;
    to->known = known;
    to->truth = bytes(p->truth, (size_t)known * p->size);
    to->guess = bytes(p->guess, (size_t)v->ahead * p->size);
    CTT_TRY(to->truth && to->guess ? 0 : CTT_ENOMEM);
    v->clips++;
out:
    return rc;
}

/* Keeps the first window of a clip for the files that show it. */
static int keep_window(struct ctt_predictor *p, const struct ctt_item *item,
                       const struct ctt_frames *f, int known)
{
    const struct ctt_predict *c = p->w.set;
    int rc = 0;

    if (p->show.clips < c->show && (c->strip || c->video))
        CTT_TRY(keep_shown(p, f, known));
    if (c->frames)
        ctt_store_add(&p->store, item->path, p->truth, known, p->guess);
out:
    return rc;
}

/* Predicts and measures the window of `known` true frames from `start` on. */
static int predict_window(struct ctt_predictor *p, const struct ctt_frames *f,
                          int start, int known, struct ctt_predicted *said)
{
    double begin = ctt_seconds();
    int rc = 0;

    for (int i = 0; i < known; i++) {
        crop_frame(p, f, start + i);
        ctt_pixels_float(&p->plain, p->seen, (int64_t)p->w.in->h * p->w.in->w,
                         p->w.in->c, p->truth + (size_t)i * p->size);
    }
    CTT_TRY(foresee(p, f, start));
    said->ms += 1e3 * (ctt_seconds() - begin);
    said->windows++;
    CTT_TRY(ctt_measure_clip(&p->measure, p->truth, known, p->guess,
                             &said->sum));
out:
    return rc;
}

static int check_stop(const struct ctt_predictor *p)
{
    return ctt_tool_stop() ? ctt_error(CTT_ESTOP, "stopped after %d of %d "
                                       "clips; nothing is written", p->done,
                                       p->clips) : 0;
}

/* Predicts the windows of a clip; only the first may lack true frames. */
static int predict(struct ctt_predictor *p, const struct ctt_item *item,
                   const struct ctt_frames *f)
{
    const struct ctt_predict *c = p->w.set;
    struct ctt_predicted said = { .file = item->path, .seen = c->seen,
                                  .predicted = c->count };
    int all = c->seen + c->count, rc = 0;

    CTT_CHECK(f->count >= c->seen, CTT_EINVAL,
              "%s: has %d frames, but --input-frames is %d",
              item->path, f->count, c->seen);
    for (int at = 0; at == 0 || at + all <= f->count; at += all) {
        int known = f->count - at < all ? f->count - at : all;

        rc = predict_window(p, f, at, known, &said);
        if (rc < 0)
            CTT_TRY(ctt_error(rc, "%s: %s", item->path, ctt_errmsg()));
        if (at == 0)
            CTT_TRY(keep_window(p, item, f, known));
        CTT_TRY(check_stop(p));
    }
    p->done++;
    if (p->w.json)
        ctt_say_predicted(&said);
out:
    return rc;
}

/* The frames to read of a clip: of its windows; 0: all. */
static int frames_of(const struct ctt_predict *c)
{
    int64_t n = (int64_t)c->windows * (c->seen + c->count);

    return n < INT_MAX ? (int)n : 0;
}

static void tell_clips(const struct ctt_predictor *p)
{
    int done = p->done + p->skipped;

    if (done < p->clips)
        CTT_PROGRESS(done, p->clips, "clip %d of %d", done, p->clips);
}

/* Predicts the clip that is first in line; 0: there is none. */
static int run_first(struct ctt_predictor *p)
{
    const struct ctt_item *item;
    struct ctt_decoded d;
    int rc = 0;

    CTT_TRY(check_stop(p));
    if (!ctt_decoder_take(p->decoder, &d))
        return 0;
    item = &ctt_source_list(d.from)->item[d.i];
    if (ctt_clip_is_bad(d.rc) && !p->w.strict) {
        ctt_tool_warn("%s; skipped", ctt_errmsg());
        p->skipped++;
        return 1;
    }
    rc = d.rc;
    CTT_TRY(rc);
    if (ctt_frames_whole(&d.f, item->path) < 0)
        ctt_tool_warn("%s", ctt_errmsg());
    CTT_TRY(predict(p, item, &d.f));
    tell_clips(p);
    rc = 1;
out:
    ctt_frames_free(&d.f);
    return rc;
}

/* In line are as many clips as the threads decode at once. */
static int run_clips(struct ctt_predictor *p)
{
    int rc = 0;

    for (int k = 0; k < p->sources; k++)
        for (int i = 0; i < ctt_source_list(p->source[k])->count; i++) {
            if (ctt_decoder_full(p->decoder))
                CTT_TRY(run_first(p));
            ctt_decoder_put(p->decoder, p->source[k], i, 0);
        }
    do {
        CTT_TRY(run_first(p));
    } while (rc);
out:
    return rc;
}

/* ---- output ---- */

static int write_files(const struct ctt_predictor *p)
{
    const struct ctt_predict *c = p->w.set;
    int rc = 0;

    if (c->strip)
        CTT_TRY(ctt_show_strip(c->strip, &p->show));
    if (c->video)
        CTT_TRY(ctt_show_video(c->video, &p->show));
    if (c->frames)
        CTT_TRY(ctt_store_write(&p->store));
    if (c->csv)
        CTT_TRY(ctt_measure_csv(&p->measure, c->csv));
out:
    return rc;
}

static int say_quality(const struct ctt_predictor *p)
{
    char why[96];

    snprintf(why, sizeof(why), "no clip has more than %d frames",
             p->w.set->seen);
    if (!p->measure.able)
        snprintf(why, sizeof(why), "frames of %dx%d are too small",
                 p->w.in->w, p->w.in->h);
    return ctt_say_horizons(p->measure.row, p->w.set->count, why, p->w.json);
}

int ctt_predictor_run(struct ctt_predictor *p)
{
    int rc = 0;

    if (p->w.set->frames)
        CTT_TRY(ctt_store_open(&p->store, p->clips));
    CTT_TRY(ctt_decoder_open(p->w.workers, (uint64_t)p->w.set->seed,
                             frames_of(p->w.set), p->w.decode, &p->decoder));
    CTT_TRY(run_clips(p));
    CTT_CHECK(p->done > 0, CTT_EINVAL, "no clip could be read");
    CTT_TRY(say_quality(p));
    CTT_TRY(write_files(p));
    if (p->skipped)
        ctt_tool_warn("%d of %d clips skipped", p->skipped, p->clips);
out:
    return rc;
}
