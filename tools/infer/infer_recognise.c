/* SPDX-License-Identifier: Apache-2.0
 * infer_recognise.c: answers which class a clip shows, after given ratios of it
 * or while its frames arrive. */
#include "tools/infer/infer_tool.h"
#include "base/clock.h"
#include "tools/shared/infer_rc.h"
#include "tools/shared/tool.h"
#include "tools/shared/measure.h"

#include <stdlib.h>

/* The clip that the session runs: number i of its source. */
struct clip {
    const struct ctt_source *from;
    const struct ctt_item   *item;
    int                      i;
    int                      seen, total;    /* frames; total 0: not known */
    double                   fps, ms;        /* ms: computing time so far */
};

int ctt_recognise_ratios(struct ctt_recogniser *r)
{
    const char *s = r->set->observe ? r->set->observe : "0.25,0.5,1";
    double last = 0;
    int rc = 0;
    char *end;

    if (r->set->every)
        s = "1";
    do {
        CTT_CHECK(r->ratios < CTT_RECOGNISE_RATIOS, CTT_EINVAL,
                  "--observe: more than %d ratios", CTT_RECOGNISE_RATIOS);
        double ratio = strtod(s, &end);
        CTT_CHECK(end != s && (*end == ',' || !*end) && ratio > last &&
                  ratio <= 1, CTT_EINVAL, "--observe: '%s' is not a list of "
                  "rising ratios up to 1", r->set->observe);
        r->accuracy[r->ratios++].seen = last = ratio;
        s = end + 1;
    } while (*end);
out:
    return rc;
}

enum { BEST = 5 };    /* top-5 accuracy */

/* Finds the classes that are printed or counted. */
static void rank_classes(struct ctt_recogniser *r)
{
    int k = r->set->top > BEST ? r->set->top : BEST;

    ctt_top(r->probs, r->classes, r->order, k < r->classes ? k : r->classes);
}

int ctt_recognise_label(const struct ctt_recogniser *r,
                        const struct ctt_item *item)
{
    return item->label < r->classes ? item->label : -1;
}

static int label_of(const struct ctt_recogniser *r, const struct clip *c)
{
    return ctt_recognise_label(r, c->item);
}

static int is_label(const struct ctt_recogniser *r, const struct clip *c,
                    int class)
{
    return ctt_item_has(ctt_source_list(c->from), c->item, class) &&
           class < r->classes;
}

static void count_right(const struct ctt_recogniser *r, const struct clip *c,
                        struct ctt_accuracy *s)
{
    s->clips++;
    s->top1 += is_label(r, c, r->order[0]);
    for (int i = 0, five = 0; i < BEST && i < r->classes && !five; i++)
        s->top5 += five = is_label(r, c, r->order[i]);
}

static struct ctt_said answer_of(const struct ctt_recogniser *r,
                                 const struct clip *c)
{
    return (struct ctt_said){ .file = c->item->path, .id = c->item->id,
        .width = r->width, .frame = c->seen, .frames = c->total, .ms = c->ms,
        .name = r->label,
        .probs = r->probs, .order = r->order, .top = r->set->top,
        .seconds = c->fps > 0 ? c->seen / c->fps : -1,
        .label = label_of(r, c) >= 0 ? r->label[label_of(r, c)] : NULL };
}

static void say_classes(struct ctt_recogniser *r, const struct clip *c)
{
    struct ctt_said a = answer_of(r, c);

    if (!r->said++ && !r->set->json)
        ctt_say_heading(r->width);
    if (r->threshold) {
        a.list = a.label ? ctt_source_list(c->from) : NULL;
        a.item = c->item;
        a.threshold = r->threshold;
        a.there = ctt_order_there(r->probs, r->threshold, r->classes, r->order);
    }
    ctt_say_answer(&a, r->set->json);
}

/* Counts the answer of a clip of a known class. */
static int judge(struct ctt_recogniser *r, const struct clip *c,
                 struct ctt_accuracy *s)
{
    const struct ctt_said a = answer_of(r, c);
    int label = label_of(r, c), rc = 0;

    if (label < 0)
        goto out;
    count_right(r, c, s);
    if (s == r->accuracy)
        r->report.early = r->order[0] == label ? r->probs[label] : 0;
    if (r->threshold)
        CTT_TRY(ctt_kept_add(&r->kept, ctt_source_list(c->from), c->item,
                             (int)(s - r->accuracy), r->probs));
    if (r->threshold || s != &r->accuracy[r->ratios - 1])
        goto out;
    ctt_renamed_count(r->classes, r->renamed, label, r->order[0]);
    ctt_infer_report_sure(&r->report, (double)r->probs[r->order[0]],
                          r->order[0] == label);
    if (r->order[0] != label)
        CTT_TRY(ctt_judged_add(&r->judged, &a, label));
out:
    return rc;
}

/* Reads and prints an answer; s: the accuracy it counts in, or NULL. */
static int answer(struct ctt_recogniser *r, struct clip *c,
                  struct ctt_accuracy *s)
{
    double start = ctt_milliseconds(), ms;
    int rc = 0;

    CTT_TRY(ctt_infer_rc(ctt_session_read(r->session, r->probs)));
    ms = ctt_milliseconds() - start;
    c->ms += ms;
    if (r->set->time)
        CTT_TRY(ctt_times_add(&r->answer, ms));
    rank_classes(r);
    if (s)
        CTT_TRY(judge(r, c, s));
    say_classes(r, c);
out:
    return rc;
}

int ctt_recognise_push(struct ctt_recogniser *r, const uint8_t *data,
                       int frames, double *ms)
{
    double start = ctt_milliseconds(), took;
    int w, h, rc = 0;

    ctt_frame_size(&r->in, &w, &h);
    for (int i = 0; i < frames; i++)
        ctt_frame_middle(data + (size_t)i * (size_t)w * (size_t)h * r->in.c,
                         w, h, &r->in, r->frames + (size_t)i * r->in.w *
                         r->in.h * r->in.c);
    CTT_TRY(ctt_infer_rc(ctt_session_push(r->session, r->frames, frames)));
    took = ctt_milliseconds() - start;
    *ms += took;
    if (r->set->time)
        CTT_TRY(ctt_times_add(&r->frame, took));
out:
    return rc;
}

/* Gives the session the next stored frames. */
static int push_stored(struct ctt_recogniser *r, struct clip *c,
                       const uint8_t *data, int frames)
{
    int rc;

    CTT_TRY(ctt_recognise_push(r, data, frames, &c->ms));
    c->seen += frames;
out:
    return rc;
}

/* Answers for a decoded clip at each ratio of it; where several end at the same
 * frame, as in a clip of one, the answer is said once. */
static int observe(struct ctt_recogniser *r, struct clip *c,
                   const struct ctt_frames *f)
{
    size_t size = (size_t)f->w * (size_t)f->h * (size_t)f->c;
    int rc = 0, most = r->set->time ? 1 : CTT_RECOGNISE_BATCH;

    c->total = f->count;
    c->fps = (double)f->fps;
    for (int i = 0; i < r->ratios; i++) {
        int until = ctt_frames_seen(r->accuracy[i].seen, f->count);
        int again = i > 0 && c->seen == until;

        while (c->seen < until) {
            int some = until - c->seen < most ? until - c->seen : most;
            CTT_TRY(push_stored(r, c, f->data + (size_t)c->seen * size, some));
        }
        CTT_TRY(again ? judge(r, c, &r->accuracy[i])
                      : answer(r, c, &r->accuracy[i]));
    }
out:
    return rc;
}

/* Reads the next frame, as ctt_feed_next(), and adds the time to *ms. */
static int next_frame(struct ctt_feed *feed, uint8_t *data, double *ms)
{
    double start = ctt_milliseconds();
    int rc = ctt_feed_next(feed, data);

    *ms += ctt_milliseconds() - start;
    return rc;
}

/* Runs the clip as its frames are decoded, and answers every N of them.  *bad:
 * the clip cannot be read. */
static int run_stream(struct ctt_recogniser *r, struct clip *c, int *bad)
{
    struct ctt_feed *feed = NULL;
    uint8_t *data = NULL;
    double ms = 0;
    int w, h, rc, answered = 0;

    c->fps = (double)r->in.fps;
    ctt_frame_size(&r->in, &w, &h);
    data = ctt_calloc((size_t)w * (size_t)h, (size_t)r->in.c);
    CTT_TRY(data ? 0 : CTT_ENOMEM);
    rc = ctt_feed_open(c->from, c->i, 0, &feed);
    *bad = ctt_clip_is_bad(rc);
    CTT_TRY(rc);
    for (;;) {
        rc = next_frame(feed, data, &ms);
        *bad = ctt_clip_is_bad(rc);
        CTT_TRY(rc);
        if (rc == 0)
            break;
        CTT_TRY(push_stored(r, c, data, 1));
        if (c->seen % r->set->every == 0) {
            CTT_TRY(answer(r, c, NULL));
            answered = c->seen;
        }
    }
    if (ctt_feed_whole(feed) < 0)
        ctt_tool_warn("%s", ctt_errmsg());
    if (answered == c->seen)
        CTT_TRY(judge(r, c, &r->accuracy[0]));
    else
        CTT_TRY(answer(r, c, &r->accuracy[0]));
    if (r->set->time)
        CTT_TRY(ctt_times_add(&r->decode.decode, ms));
out:
    ctt_feed_close(&feed);
    ctt_free(data);
    return rc;
}

/* Counts a clip that was run with rc; bad: it cannot be read. */
static int count_clip(struct ctt_recogniser *r, int rc, int bad)
{
    if (rc < 0 && bad && !r->set->strict) {
        ctt_tool_warn("%s; skipped", ctt_errmsg());
        r->skipped++;
        return 0;
    }
    r->read += rc >= 0;
    return rc < 0 ? rc : 0;
}

static struct clip clip_of(const struct ctt_source *from, int i)
{
    return (struct clip){ .from = from, .i = i,
                          .item = &ctt_source_list(from)->item[i] };
}

static void use_list(struct ctt_recogniser *r, const struct ctt_list *list)
{
    for (int i = 0; r->list != list && i < list->count; i++)
        r->width = ctt_say_width(r->width, list->item[i].id);
    r->list = list;
}

/* The guarantee of a calibration holds for clips that nothing has chosen from
 * since they were listed. */
static int check_same(const struct ctt_decoded *d)
{
    int rc;

    CTT_TRY(ctt_source_changed(d->from, d->i));
    CTT_CHECK(!rc, CTT_EIO, "%s: was there when the calibration began, and is "
              "gone or another one now",
              ctt_source_list(d->from)->item[d->i].path);
out:
    return rc;
}

int ctt_recognise_decoded(struct ctt_recogniser *r, struct ctt_decoded *d)
{
    struct clip c = clip_of(d->from, d->i);
    int rc = d->rc, bad = ctt_clip_is_bad(rc), wrong = r->judged.count;

    ctt_session_reset(r->session);
    if (r->set->decide.calibrate && check_same(d) < 0) {
        rc = CTT_EIO;
        bad = 0;
    }
    use_list(r, ctt_source_list(d->from));
    CTT_TRY(rc);
    if (ctt_frames_whole(&d->f, c.item->path) < 0)
        ctt_tool_warn("%s", ctt_errmsg());
    CTT_TRY(r->watch ? r->watch(r, c.item, &d->f) : observe(r, &c, &d->f));
    if (r->set->report_html && !r->watch)
        CTT_TRY(ctt_infer_report_clip(r, c.item, &d->f,
                                      r->judged.count > wrong));
out:
    ctt_frames_free(&d->f);
    return count_clip(r, rc, bad);
}

int ctt_recognise_stream(struct ctt_recogniser *r,
                         const struct ctt_source *from, int i)
{
    struct clip c = clip_of(from, i);
    int bad = 0, rc;

    ctt_session_reset(r->session);
    use_list(r, ctt_source_list(from));
    rc = run_stream(r, &c, &bad);
    return count_clip(r, rc, bad);
}
