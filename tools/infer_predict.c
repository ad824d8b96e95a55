/* SPDX-License-Identifier: Apache-2.0
 * infer_predict.c: the frames that come next, shown, stored, and measured where
 * a clip says what they are. */
#include "tools/infer_predict.h"
#include "net/clock.h"
#include "net/file.h"
#include "net/h5.h"
#include "tools/infer_files.h"
#include "tools/infer_show.h"
#include "tools/tool.h"
#include "video/baseline.h"
#include "video/quality.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CSV_LINE = 256 };

static const double any_fps = 10;    /* of a video whose clip has no times */

struct ctt_predictor {
    struct ctt_predict_with w;
    struct ctt_input   plain;      /* the same frames, with values in 0..1 */
    size_t             size;       /* floats a frame */
    struct ctt_clips **source;
    int                sources, room, clips, done, skipped;
    int                measures;   /* frames are large enough for that */
    float             *frame;      /* one, as the session has it */
    float             *moved;      /* one, by linear motion */
    float             *truth;      /* of a clip, values in 0..1 */
    float             *guess;
    float             *all_truth, *all_guess;    /* of all clips */
    const char       **name;       /* theirs */
    int                any_truth;
    struct ctt_show    show;
    struct ctt_ahead  *ahead;      /* a row a frame ahead */
    double             start;
};

int ctt_infer_rc(int rc)
{
    return rc < 0 ? ctt_error(rc, "%s", ctt_infer_error()) : rc;
}

/* ---- opening ---- */

static int check_files(const struct ctt_predictor *p)
{
    int rc;

    CTT_TRY(ctt_predict_can_write(p->w.set));
    CTT_CHECK(p->measures || !p->w.set->csv, CTT_EINVAL,
              "%s: frames of %dx%d are too small to be measured",
              p->w.set->csv, p->w.in->w, p->w.in->h);
    CTT_TRY(ctt_show_check(p->w.set->strip, p->w.set->video, &p->show));
out:
    return rc;
}

static int make_room(struct ctt_predictor *p)
{
    const struct ctt_predict *c = p->w.set;
    size_t ahead = (size_t)c->count, all = ahead + (size_t)c->seen;

    p->frame = ctt_calloc(p->size, sizeof(float));
    p->moved = ctt_calloc(p->size, sizeof(float));
    p->truth = ctt_calloc(all * p->size, sizeof(float));
    p->guess = ctt_calloc(ahead * p->size, sizeof(float));
    p->ahead = ctt_calloc(ahead, sizeof(*p->ahead));
    p->show.clip = ctt_calloc((size_t)c->show, sizeof(*p->show.clip));
    return p->frame && p->moved && p->truth && p->guess && p->ahead &&
           p->show.clip ? 0 : CTT_ENOMEM;
}

int ctt_predictor_open(const struct ctt_predict_with *w,
                       struct ctt_predictor **out)
{
    struct ctt_predictor *p = ctt_calloc(1, sizeof(*p));
    int rc = p ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    p->w = *w;
    p->plain = *w->in;
    for (int k = 0; k < 3; k++) {
        p->plain.mean[k] = 0;
        p->plain.std[k] = 1;
    }
    p->size = (size_t)w->in->h * (size_t)w->in->w * (size_t)w->in->c;
    p->show = (struct ctt_show){ .in = w->in, .seen = w->set->seen,
        .ahead = w->set->count, .clips = w->set->show,
        .fps = (double)w->in->fps };
    p->measures = w->in->h >= CTT_QUALITY_SIDE && w->in->w >= CTT_QUALITY_SIDE;
    CTT_TRY(check_files(p));
    p->show.clips = 0;
    CTT_TRY(make_room(p));
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
    for (int i = 0; i < p->sources; i++)
        ctt_clips_close(&p->source[i]);
    for (int i = 0; p->show.clip && i < p->w.set->show; i++) {
        ctt_free(p->show.clip[i].truth);
        ctt_free(p->show.clip[i].guess);
    }
    ctt_free(p->source);
    ctt_free(p->frame);
    ctt_free(p->moved);
    ctt_free(p->truth);
    ctt_free(p->guess);
    ctt_free(p->all_truth);
    ctt_free(p->all_guess);
    ctt_free(p->name);
    ctt_free(p->show.clip);
    ctt_free(p->ahead);
    ctt_free(p);
    *predictor = NULL;
}

/* What a list names is read too; the ids in a pack are no files. */
static int spare_clips(const struct ctt_predictor *p, const char *path)
{
    const struct ctt_list *l = ctt_clips_list(p->source[p->sources]);
    int rc;

    CTT_TRY(ctt_predict_spares(p->w.set, path));
    for (int i = 0; i < l->count && !ctt_pack_is(path); i++)
        CTT_TRY(ctt_predict_spares(p->w.set, l->item[i].path));
out:
    return rc;
}

int ctt_predictor_add(struct ctt_predictor *p, const char *path)
{
    int rc = 0;

    if (p->sources == p->room) {
        int room = p->room ? 2 * p->room : 16;
        void *more = ctt_realloc(p->source, (size_t)room * sizeof(*p->source));
        CTT_TRY(more ? 0 : CTT_ENOMEM);
        p->source = more;
        p->room = room;
    }
    CTT_TRY(ctt_clips_open(path, &p->w.which, p->w.in,
                           &p->source[p->sources]));
    rc = spare_clips(p, path);
    p->clips += ctt_clips_list(p->source[p->sources++])->count;
out:
    return rc;
}

/* ---- one clip ---- */

/* Stored frame i of a clip. */
static void take(const struct ctt_frames *f, int i, const struct ctt_input *in,
                 float *to)
{
    ctt_frame_middle(f->data + (size_t)i * f->w * f->h * f->c, f->w, f->h, in,
                     to);
}

static int time_taken(const struct ctt_predictor *p, double start)
{
    return p->w.times ? ctt_times_add(p->w.times,
                                      1e3 * (ctt_seconds() - start)) : 0;
}

/* The session sees the first frames, then what it predicts itself. */
static int foresee(struct ctt_predictor *p, const struct ctt_frames *f)
{
    const struct ctt_predict *c = p->w.set;
    const float *mean = p->w.in->mean, *std = p->w.in->std;
    struct ctt_session *s = p->w.session;
    int rc = 0;

    ctt_session_reset(s);
    for (int i = 0; i < c->seen + c->count - 1; i++) {
        double start = ctt_seconds();
        if (i < c->seen)
            take(f, i, p->w.in, p->frame);
        CTT_TRY(ctt_infer_rc(ctt_session_push_float(s, p->frame, 1)));
        if (i + 1 >= c->seen) {
            float *to = p->guess + (size_t)(i + 1 - c->seen) * p->size;
            CTT_TRY(ctt_infer_rc(ctt_session_predict(s, 1, p->frame)));
            for (size_t j = 0; j < p->size; j++) {
                size_t k = j % (size_t)p->w.in->c;
                to[j] = ctt_unit(p->frame[j] * std[k] + mean[k]);
            }
        }
        CTT_TRY(time_taken(p, start));
    }
out:
    return rc;
}

/* Frame t's numbers; m: how what was seen moves. */
static int measure_one(const struct ctt_predictor *p, int t,
                       const struct ctt_motion *m, struct ctt_ahead *out)
{
    const struct ctt_input *in = p->w.in;
    const float *truth = p->truth + (size_t)t * p->size;
    int seen = p->w.set->seen, rc = 0;
    struct ctt_quality q;

    CTT_TRY(ctt_quality(truth, p->guess + (size_t)(t - seen) * p->size, in->h,
                        in->w, in->c, &q));
    ctt_motion_go_on(m, t - seen + 1, p->moved);
    *out = (struct ctt_ahead){ .clips = 1, .mse = q.mse, .psnr = q.psnr,
        .ssim = q.ssim, .ssim2 = q.ssim2,
        .last = ctt_mean_square(truth, p->truth + (size_t)(seen - 1) * p->size,
                                (int64_t)p->size),
        .linear = ctt_mean_square(truth, p->moved, (int64_t)p->size) };
out:
    return rc;
}

/* Adds to the rows, and to `all` of this clip. */
static int measure(struct ctt_predictor *p, int known, struct ctt_ahead *all)
{
    int seen = p->w.set->seen, rc = 0;
    const float *last = p->truth + (size_t)(seen - 1) * p->size;
    struct ctt_motion *m = NULL;

    if (!p->measures || known == seen)
        return 0;
    CTT_TRY(ctt_motion_find(seen > 1 ? last - p->size : last, last, p->w.in->h,
                            p->w.in->w, p->w.in->c, &m));
    for (int t = seen; t < known; t++) {
        struct ctt_ahead one;

        CTT_TRY(measure_one(p, t, m, &one));
        ctt_ahead_add(&p->ahead[t - seen], &one);
        ctt_ahead_add(all, &one);
    }
out:
    ctt_motion_free(&m);
    return rc;
}

static uint8_t *bytes(const float *x, size_t n)
{
    uint8_t *p = ctt_calloc(n, 1);

    for (size_t i = 0; p && i < n; i++)
        p[i] = (uint8_t)lrintf(255 * x[i]);
    return p;
}

/* Keeps one of the clips that are shown. */
static int keep_shown(struct ctt_predictor *p, const struct ctt_frames *f)
{
    struct ctt_show *v = &p->show;
    struct ctt_shown *to = &v->clip[v->clips];
    int rc = 0;

    if (!(v->fps > 0))
        v->fps = f->fps > 0 ? (double)f->fps : any_fps;
    to->known = f->count;
    to->truth = bytes(p->truth, (size_t)f->count * p->size);
    to->guess = bytes(p->guess, (size_t)v->ahead * p->size);
    CTT_TRY(to->truth && to->guess ? 0 : CTT_ENOMEM);
    v->clips++;
out:
    return rc;
}

/* For --frames: what is not known is no number. */
static void keep_all(struct ctt_predictor *p, const char *name, int known)
{
    size_t n = (size_t)p->w.set->count * p->size;
    size_t there = (size_t)(known - p->w.set->seen) * p->size;
    float *truth = p->all_truth + (size_t)p->done * n;

    memcpy(p->all_guess + (size_t)p->done * n, p->guess, n * sizeof(float));
    memcpy(truth, p->truth + (size_t)p->w.set->seen * p->size,
           there * sizeof(float));
    for (size_t i = there; i < n; i++)
        truth[i] = NAN;
    p->name[p->done] = name;
    p->any_truth |= there > 0;
}

static int predict(struct ctt_predictor *p, const struct ctt_item *item,
                   const struct ctt_frames *f)
{
    struct ctt_predicted said = { .file = item->path, .seen = p->w.set->seen,
                                  .predicted = p->w.set->count };
    double start = ctt_seconds();
    int rc = 0;

    CTT_CHECK(f->count >= p->w.set->seen, CTT_EINVAL,
              "%s: %d frames, but %d must be seen (--input-frames)",
              item->path, f->count, p->w.set->seen);
    for (int i = 0; i < f->count; i++)
        take(f, i, &p->plain, p->truth + (size_t)i * p->size);
    rc = foresee(p, f);
    said.ms = 1e3 * (ctt_seconds() - start);
    if (rc >= 0)
        rc = measure(p, f->count, &said.sum);
    if (rc < 0)
        CTT_TRY(ctt_error(rc, "%s: %s", item->path, ctt_errmsg()));
    if (p->show.clips < p->w.set->show && (p->w.set->strip || p->w.set->video))
        CTT_TRY(keep_shown(p, f));
    if (p->w.set->frames)
        keep_all(p, item->path, f->count);
    p->done++;
    if (p->w.json)
        ctt_say_predicted(&said);
out:
    return rc;
}

static void tell(const struct ctt_predictor *p)
{
    int done = p->done + p->skipped;
    double a_clip = (ctt_seconds() - p->start) / done;

    if (done < p->clips)
        ctt_tool_progress(0, "clip %d of %d, %.0f s left", done, p->clips,
                          a_clip * (p->clips - done));
}

static int run_clip(struct ctt_predictor *p, const struct ctt_clips *from,
                    int i)
{
    struct ctt_frames f = { 0 };
    int rc = ctt_clips_load(from, i, p->w.set->seen + p->w.set->count, &f);

    if (rc < 0 && rc != CTT_ENOMEM && !p->w.strict) {
        ctt_tool_warn("%s; skipped", ctt_errmsg());
        p->skipped++;
        return 0;
    }
    CTT_TRY(rc);
    CTT_TRY(predict(p, &ctt_clips_list(from)->item[i], &f));
    tell(p);
out:
    ctt_frames_free(&f);
    return rc;
}

/* ---- what is written ---- */

static int write_csv(const struct ctt_predictor *p)
{
    int rows = p->w.set->count, n = 0, rc = 0;
    size_t room = CSV_LINE * ((size_t)rows + 2);
    char *text = ctt_calloc(room, 1);

    CTT_TRY(text ? 0 : CTT_ENOMEM);
    n += snprintf(text, room, "ahead,clips,mse_x1000,psnr,ssim_range1,"
                  "ssim_range2,last_frame_mse_x1000,linear_motion_mse_x1000\n");
    for (int i = 0; i <= rows; i++) {
        struct ctt_ahead m = ctt_ahead_mean(p->ahead, rows, i);
        if (m.clips && i < rows)
            n += snprintf(text + n, room - (size_t)n, "%d", i + 1);
        else if (m.clips)
            n += snprintf(text + n, room - (size_t)n, "mean");
        if (m.clips)
            n += snprintf(text + n, room - (size_t)n,
                          ",%d,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g\n", m.clips,
                          1e3 * m.mse, m.psnr, m.ssim, m.ssim2, 1e3 * m.last,
                          1e3 * m.linear);
    }
    CTT_TRY(ctt_file_replace(p->w.set->csv, (const uint8_t *)text, n));
out:
    ctt_free(text);
    return rc;
}

/* The clips' names, each ended by a 0. */
static int join_names(const struct ctt_predictor *p, char **out, int64_t *size)
{
    size_t n = 0;
    char *text;

    for (int i = 0; i < p->done; i++)
        n += strlen(p->name[i]) + 1;
    text = *out = ctt_calloc(n, 1);
    if (!text)
        return CTT_ENOMEM;
    for (int i = 0; i < p->done; i++) {
        strcpy(text, p->name[i]);
        text += strlen(text) + 1;
    }
    *size = (int64_t)n;
    return 0;
}

static int write_frames(const struct ctt_predictor *p)
{
    const struct ctt_input *in = p->w.in;
    struct ctt_h5_shape s = { .size = sizeof(float), .rank = 5,
        .dim = { p->done, p->w.set->count, in->h, in->w, in->c } };
    struct ctt_h5_shape text = { .size = 1, .rank = 1 };
    int64_t n = (int64_t)p->done * p->w.set->count * (int64_t)p->size, size;
    uint8_t *image = NULL;
    struct ctt_h5 *f = NULL;
    char *names = NULL;
    int rc;

    CTT_TRY(join_names(p, &names, &text.dim[0]));
    CTT_TRY(ctt_h5_new(p->w.set->frames, text.dim[0] +
                       n * (int64_t)sizeof(float) * (1 + p->any_truth), 3,
                       &f));
    CTT_TRY(ctt_h5_put_int(f, "seen", p->w.set->seen));
    CTT_TRY(ctt_h5_write(f, "clips", &text, names));
    CTT_TRY(ctt_h5_write(f, "prediction", &s, p->all_guess));
    if (p->any_truth)
        CTT_TRY(ctt_h5_write(f, "truth", &s, p->all_truth));
    CTT_TRY(ctt_h5_image(f, &image, &size));
    CTT_TRY(ctt_file_replace(p->w.set->frames, image, size));
out:
    ctt_free(names);
    ctt_free(image);
    ctt_h5_close(&f);
    return rc;
}

static int write_files(const struct ctt_predictor *p)
{
    const struct ctt_predict *c = p->w.set;
    int rc = 0;

    if (c->strip)
        CTT_TRY(ctt_show_strip(c->strip, &p->show));
    if (c->video)
        CTT_TRY(ctt_show_video(c->video, &p->show));
    if (c->frames)
        CTT_TRY(write_frames(p));
    if (c->csv)
        CTT_TRY(write_csv(p));
out:
    return rc;
}

/* For both kinds of frames, which are in the file's image once more.  Asked
 * before, because a system that lends more than it has ends the program. */
static int room_for_frames(struct ctt_predictor *p)
{
    int64_t n = (int64_t)p->clips * p->w.set->count;    /* < 2^44 */
    int64_t most = sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
    double need = 4.0 * sizeof(float) * (double)n * (double)p->size;
    int rc = 0;

    CTT_CHECK(need <= (double)most, CTT_EINVAL, "%s: %d clips need %.0f MB, "
              "more than this machine has", p->w.set->frames, p->clips,
              need * 0x1p-20);
    p->all_truth = ctt_calloc((size_t)n * p->size, sizeof(float));
    p->all_guess = ctt_calloc((size_t)n * p->size, sizeof(float));
    p->name = ctt_calloc((size_t)p->clips, sizeof(*p->name));
    CTT_TRY(p->all_truth && p->all_guess && p->name ? 0 : CTT_ENOMEM);
out:
    return rc;
}

static int say(const struct ctt_predictor *p)
{
    char why[96];

    snprintf(why, sizeof(why), "no clip has more than %d frames",
             p->w.set->seen);
    if (!p->measures)
        snprintf(why, sizeof(why), "frames of %dx%d are too small",
                 p->w.in->w, p->w.in->h);
    return ctt_say_ahead(p->ahead, p->w.set->count, why, p->w.json);
}

int ctt_predictor_run(struct ctt_predictor *p)
{
    int rc = 0;

    if (p->w.set->frames)
        CTT_TRY(room_for_frames(p));
    p->start = ctt_seconds();
    for (int k = 0; k < p->sources; k++)
        for (int i = 0; i < ctt_clips_list(p->source[k])->count; i++) {
            CTT_CHECK(!ctt_tool_stop(), CTT_EINVAL, "stopped after %d of %d "
                      "clips; nothing is written", p->done, p->clips);
            CTT_TRY(run_clip(p, p->source[k], i));
        }
    CTT_CHECK(p->done > 0, CTT_EINVAL, "no clip could be read");
    CTT_TRY(say(p));
    CTT_TRY(write_files(p));
    if (p->skipped)
        ctt_tool_warn("%d of %d clips skipped", p->skipped, p->clips);
out:
    return rc;
}
