/* SPDX-License-Identifier: Apache-2.0
 * doctor.c: checks for silent causes of bad learning: clips that do not suit
 * the model's input line, settings that spoil them, first steps without
 * progress. */
#include "libtrain/doctor/doctor.h"
#include "net/field.h"
#include "libtrain/data/augment.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* When something looks wrong.  These are rules of thumb, wide enough that the
 * demo and the sets of real clips that train well pass. */
static const double MEAN_OFF = 1;         /* in the input line's std */
static const double DEV_OVER = 3;         /* of the data's to the line's, and */
static const double DEV_UNDER = 8;        /* the reverse: small values learn */
static const double LIGHTS_APART = 2;     /* between clips, to within them */
static const double SHIFT_MOST = 1.5;     /* of a clip, in its deviations */
static const double SPREAD_MOST = 2;
static const double STILL_MOST = 0.5;
static const double RATES_APART = 1.25;
static const double BORDER_MOST = 0.5;
static const double LOSS_OVER = 1;        /* nats over an even guess */

#define AUTO "mean=auto std=auto in the input line of a model text"

/* "0.45" if all are the same, or "0.41,0.43,0.38". */
static const char *channels(int n, const double *x, char *buf, size_t size)
{
    int at = 0, same = 1;

    for (int c = 1; c < n; c++)
        same &= memcmp(&x[c], &x[0], sizeof(*x)) == 0;
    n = same ? 1 : n;
    for (int c = 0; c < n && (size_t)at < size; c++)
        at += snprintf(buf + at, size - (size_t)at, "%s%.3g", c ? "," : "",
                       x[c]);
    return buf;
}

/* ---- the clips ---- */

static int light(struct ctt_patient *p, struct ctt_finding *f)
{
    const struct ctt_input *in = &p->train->in;
    const struct ctt_survey *s = &p->of;
    double mean[3] = { 0 }, std[3] = { 0 }, off = 0, over = 1, under = 1;
    char text[4][32];

    if (in->normalise == CTT_NORMALISE_CLIP) {
        FOUND(f, "pixels of mean %s and standard deviation %s; "
              "normalise=clip makes them 0 and 1 in each clip",
              channels(s->channels, s->mean, text[0], sizeof(text[0])),
              channels(s->channels, s->dev, text[1], sizeof(text[1])));
        return 1;
    }
    for (int c = 0; c < s->channels; c++) {
        mean[c] = (double)in->mean[c];
        std[c] = (double)in->std[c];
        off = fmax(off, fabs(s->mean[c] - mean[c]) / std[c]);
        over = fmax(over, s->dev[c] / std[c]);
        if (s->dev[c] > 0)
            under = fmax(under, std[c] / s->dev[c]);
    }
    FOUND(f, "pixels (0 to 1) of mean %s and standard deviation %s; the input "
          "line has mean=%s std=%s",
          channels(s->channels, s->mean, text[0], sizeof(text[0])),
          channels(s->channels, s->dev, text[1], sizeof(text[1])),
          channels(s->channels, mean, text[2], sizeof(text[2])),
          channels(s->channels, std, text[3], sizeof(text[3])));
    if (off > MEAN_OFF || over > DEV_OVER || under > DEV_UNDER)
        MENDS(f, AUTO);
    return 1;
}

/* One mean and deviation suits no set of dark and bright cameras. */
static int lights(struct ctt_patient *p, struct ctt_finding *f)
{
    const struct ctt_survey *s = &p->of;

    if (p->train->in.normalise == CTT_NORMALISE_CLIP || s->clips < 2)
        return 0;
    FOUND(f, "standard deviation %.2g from clip to clip, of the brightness of "
          "whole clips, and %.2g inside a clip", s->between, s->within);
    if (s->between > LIGHTS_APART * s->within)
        MENDS(f, "normalise=clip in place of mean= and std= in the input line: "
              "clips differ most in their light");
    return 1;
}

static int black_and_white(struct ctt_patient *p, struct ctt_finding *f)
{
    FOUND(f, "%.0f%% of the pixels are black (0), %.0f%% white (255)",
          100 * p->of.black, 100 * p->of.white);
    if (p->train->in.fit == CTT_FIT_PAD && p->of.black > BORDER_MOST)
        MENDS(f, "fit=crop or fit=stretch in the input line: borders fill the "
              "frame");
    return 1;
}

static int flat(struct ctt_patient *p, struct ctt_finding *f)
{
    FOUND(f, "%d of %d clips show one colour only", p->of.flat, p->of.clips);
    if (p->of.flat)
        MENDS(f, "--data without them: nothing can be learnt from these");
    return 1;
}

static int still(struct ctt_patient *p, struct ctt_finding *f)
{
    float fps = p->train->in.fps;

    FOUND(f, "%.0f%% of the frames equal the one before", 100 * p->of.still);
    if (fps > 0 && p->of.longest > 1 && p->of.still > STILL_MOST)
        MENDS(f, "a rate below fps=%g in the input line: clips have fewer "
              "frames", (double)fps);
    return 1;
}

/* "12" or "20 to 30", rates of files; rates in packs are unknown. */
static const char *file_rate(const struct ctt_survey *s, char *buf,
                             size_t size)
{
    double least = (double)s->file_least, most = (double)s->file_most;

    buf[0] = '\0';
    if (least > 0 && most - least < 0.01 * most)
        snprintf(buf, size, " of %.4g frames per second", least);
    else if (least > 0)
        snprintf(buf, size, " of %.4g to %.4g frames per second", least, most);
    return buf;
}

static int find_frame_rate(struct ctt_patient *p, struct ctt_finding *f)
{
    double least = (double)p->of.fps_least, most = (double)p->of.fps_most;
    char file[64];

    if (p->of.longest <= 1 || least <= 0)
        return 0;
    if (p->train->in.fps > 0)
        FOUND(f, "clips%s are read at the %g frames per second of the input "
              "line", file_rate(&p->of, file, sizeof(file)),
              (double)p->train->in.fps);
    else
        FOUND(f, "clips have %g to %g frames per second", least, most);
    if (p->train->in.fps <= 0 && most > RATES_APART * least)
        MENDS(f, "fps=%g in the input line: a step is then as long in all "
              "clips", least);
    return 1;
}

/* ---- how far back the model sees ---- */

/* The frames that an answer depends on, the last one included; 0: all before
 * it, because a state feeds itself or a window shows all.  CTT_ENOMEM. */
static int frames_seen(const struct ctt_graph *g)
{
    struct ctt_receptive *field = NULL;
    int64_t frames;
    int rc;

    CTT_TRY(ctt_receptive_fields(g, &field));
    frames = field[ctt_graph_output(g)].frames;
    rc = frames > INT_MAX ? 0 : (int)frames;
out:
    ctt_free(field);
    return rc;
}

/* "2 s", or nothing if the rate is unknown. */
static const char *seconds(const struct ctt_patient *p, int frames, char *buf,
                           size_t size)
{
    buf[0] = '\0';
    if (p->of.fps_least > 0 && p->of.longest > 1)
        snprintf(buf, size, " (%.2g s)",
                 frames / (double)p->of.fps_least);
    return buf;
}

static int length(struct ctt_patient *p, struct ctt_finding *f)
{
    int seen = frames_seen(p->m->g), n;
    char a[32], b[32];

    if (seen < 0)
        return seen;
    n = FOUND(f, "%d to %d frames, half have %d%s or fewer; an answer sees ",
              p->of.shortest, p->of.longest, p->of.median,
              seconds(p, p->of.median, a, sizeof(a)));
    if (!seen)
        snprintf(f->found + n, sizeof(f->found) - (size_t)n, "all before it");
    else
        snprintf(f->found + n, sizeof(f->found) - (size_t)n, "the last %d%s",
                 seen, seconds(p, seen, b, sizeof(b)));
    if (seen > 1 && p->of.median > 2 * seen)
        MENDS(f, "larger steps= or every= of a window line, or spread=1 there, "
              "or a smaller fps=: most of a clip is not seen at its end");
    else if (seen > 1 && seen > p->of.median)
        MENDS(f, "smaller steps= or every= of a window line, fill=first or "
              "spread=1 there, or a larger fps=: half the clips never fill "
              "what the model reads");
    return 1;
}

/* ---- augmentation ---- */

static int changes(struct ctt_patient *p, struct ctt_finding *f)
{
    return ctt_augment_tell(p->cfg, f->found, sizeof(f->found));
}

static int room(struct ctt_patient *p, struct ctt_finding *f)
{
    struct ctt_augment a = ctt_augment_of(p->cfg, 0);
    const struct ctt_data *d = p->train;
    int w = d->stored_w - d->in.w, h = d->stored_h - d->in.h;

    if (!a.jitter || a.crop_area < 1 || a.crop_aspect > 1)
        return 0;
    FOUND(f, "--jitter moves the crop by up to %d x %d pixels", w, h);
    if (w + h == 0)
        MENDS(f, "scale=1.125 in the input line: there is nothing to move");
    return 1;
}

/* Whether the values that change light are those of a preset, which were chosen
 * for what they gain. */
static int is_preset(const struct ctt_train_cfg *c)
{
    return isnan(c->brightness) && isnan(c->contrast) && !c->jitter &&
           !c->rand_augment;
}

static int augmentation(struct ctt_patient *p, struct ctt_finding *f)
{
    struct ctt_augment a = ctt_augment_of(p->cfg, 0);
    double shift = 0, least = 1, most = 1;
    struct ctt_clip_look look[2];
    int rc = ctt_clip_looks(p->train, p->cfg, look);

    if (rc < 0)
        return rc;
    for (int j = 0; j < look[0].clips; j++) {
        double dev = look[0].dev[j], spread;
        if (dev <= 0)
            continue;
        spread = look[1].dev[j] / dev;
        shift = fmax(shift, fabs(look[1].mean[j] - look[0].mean[j]) / dev);
        least = fmin(least, spread);
        most = fmax(most, spread);
    }
    FOUND(f, "tried on %d clips, it shifts the brightness by up to %.2g "
          "standard deviations and makes the contrast %.2g to %.2g times "
          "what it was", look[0].clips, shift, least, most);
    if (is_preset(p->cfg))
        f->mends[0] = '\0';
    else if (shift > SHIFT_MOST || least * SPREAD_MOST < 1 ||
             most > SPREAD_MOST)
        MENDS(f, a.draws ? "a smaller --magnitude" :
                 a.brightness + a.contrast > 0
                 ? "a smaller --brightness or --contrast"
                 : "no --jitter: what the crop may leave out is not alike");
    ctt_clip_looks_free(look);
    return 1;
}

/* ---- the first steps ---- */

/* The loss of equal probabilities of all classes. */
static double even_guess(const struct ctt_patient *p)
{
    int labels = p->train->list->labels;

    return p->m->g->several ? labels * log(2) : log((double)labels);
}

static int first_loss(struct ctt_patient *p, struct ctt_finding *f)
{
    double even = even_guess(p);
    struct ctt_first_steps *s = &p->steps;
    int rc = ctt_first_steps(p->m, p->cfg, p->train, s);

    if (rc < 0)
        return rc;
    if (!s->steps) {
        FOUND(f, "no step has a loss: %.120s", s->failed);
        MENDS(f, AUTO ", or a smaller --lr");
        return 1;
    }
    FOUND(f, "loss %.3f", s->first);
    if (ctt_cfg_recognises(p->cfg))
        FOUND(f, "loss %.3f; an even guess of %d classes has %.3f", s->first,
              p->train->list->labels, even);
    if (ctt_cfg_recognises(p->cfg) && s->first > even + LOSS_OVER)
        MENDS(f, AUTO ", or a norm line before the last conv");
    return 1;
}

/* How far the lowest loss must fall: a recogniser can learn a few clips by
 * heart, a predictor has other frames in each step. */
static const double falls[] = { [CTT_RECOGNISE] = 0.5, [CTT_PREDICT] = 0.9,
                                [CTT_BOTH] = 0.5 };

/* Or, of a model that was trained before, how low it must be. */
static int is_learnt(const struct ctt_patient *p)
{
    const struct ctt_first_steps *s = &p->steps;

    return s->lowest <= falls[p->cfg->task] * s->first ||
           (ctt_cfg_recognises(p->cfg) &&
            s->lowest <= 0.5 * even_guess(p));
}

static int one_batch(struct ctt_patient *p, struct ctt_finding *f)
{
    const struct ctt_first_steps *s = &p->steps;
    double lr = (double)p->cfg->lr;

    if (!s->steps)
        return 0;
    FOUND(f, "%d steps on the same %d clips: loss %.3f, lowest %.3f", s->steps,
          s->clips, s->first, s->lowest);
    if (s->failed[0])
        MENDS(f, "an --lr below %g: %.100s", lr, s->failed);
    else if (s->steps == CTT_FIRST_STEPS && !is_learnt(p))
        MENDS(f, "another --lr than %g, or mean=auto std=auto: a few clips are "
              "not learnt by heart", lr);
    return 1;
}

/* ---- the table ---- */

enum { ANY = -1 };
enum when { DEEP, WRONG, ALWAYS };    /* --doctor only; at each start: a warning
                                         if it looks wrong; a line, too */

/* look returns 1, 0 if there is nothing to say, or an error. */
static const struct check {
    const char *name;
    int         task;
    enum when   when;
    int       (*look)(struct ctt_patient *p, struct ctt_finding *f);
} checks[] = {
    { "light", CTT_RECOGNISE, ALWAYS, light },    /* a predictor may end in
                                                     values of 0..1 */
    { "light of clips", CTT_RECOGNISE, WRONG, lights },
    { "black and white", ANY, WRONG, black_and_white },
    { "one colour", ANY, WRONG, flat },
    { "frames repeated", ANY, WRONG, still },
    { "frame rate", ANY, WRONG, find_frame_rate },
    { "length", CTT_RECOGNISE, ALWAYS, length },
    { "classes", CTT_RECOGNISE, WRONG, ctt_find_classes },
    { "clips twice", CTT_RECOGNISE, DEEP, ctt_find_twice },
    { "in both parts", ANY, DEEP, ctt_find_shared },
    { "persons, videos", CTT_RECOGNISE, DEEP, ctt_find_groups },
    { "clips skipped", ANY, DEEP, ctt_find_skipped },
    { "one frame", CTT_RECOGNISE, DEEP, ctt_find_scene },
    { "changes", ANY, ALWAYS, changes },
    { "room to move", ANY, WRONG, room },
    { "augmentation", CTT_RECOGNISE, DEEP, augmentation },
    { "first loss", ANY, DEEP, first_loss },
    { "one batch", ANY, DEEP, one_batch },
};

int ctt_doctor(const struct ctt_model *m, const struct ctt_train_cfg *cfg,
               struct ctt_data *train, struct ctt_data *val, int deep,
               struct ctt_findings *out)
{
    struct ctt_patient p = { .m = m, .cfg = cfg, .train = train, .val = val,
                         .deep = deep };
    int rc;

    *out = (struct ctt_findings){ .count = 0 };
    CTT_TRY(ctt_data_survey(train, &p.of));
    for (size_t i = 0; i < CTT_LEN(checks); i++) {
        const struct check *k = &checks[i];
        struct ctt_finding *f = &out->row[out->count];

        if ((k->when == DEEP && !deep) ||
            (k->task == CTT_RECOGNISE && !ctt_cfg_recognises(cfg)))
            continue;
        *f = (struct ctt_finding){ .check = k->name,
                                   .show = k->when == ALWAYS };
        CTT_TRY(k->look(&p, f));
        out->count += rc;
        out->wrong += rc && f->mends[0];
    }
    rc = 0;
out:
    return rc;
}
