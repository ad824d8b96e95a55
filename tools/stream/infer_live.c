/* SPDX-License-Identifier: Apache-2.0
 * infer_live.c: convtt-infer --stream and --streams: in turns, each source that
 * has a frame gives it, the model takes these together, and their answers are
 * told. */
#include "tools/stream/stream_tool.h"
#include "tools/infer/infer_tool.h"
#include "base/clock.h"
#include "tools/shared/tool.h"

#include <stdio.h>
#include <string.h>

/* ctt_live_set.cut of --reset-on=cut: a cut in most videos (video/cut.h). */
#define CUT 0.1

/* So many times the length of the clips is a stream that --sliding is for. */
enum { LONGER = 2 };

/* Frames per second of a drawn video if neither the model nor the source has a
 * rate. */
#define DRAWN_RATE 25

/* Argument of the callbacks from a source's reader threads. */
struct ear { struct ctt_wakeup *bell; const struct ctt_live_one *one; };

struct live {
    const struct ctt_live_with *with;
    const struct ctt_stream_set *set;
    struct ctt_live_share  share;
    struct ctt_wakeup        bell;       /* a source has a frame, or is over */
    int                    count;      /* of sources */
    int                    open;       /* of them */
    int                    failed;     /* of a list */
    struct ctt_live_one   *one;
    struct ear            *ear;
    const uint8_t        **frame;      /* of each place; NULL: none */
    float                **to;         /* of each place; NULL: no answer */
    struct ctt_drawer     *draw;
    struct ctt_failure     f;          /* ends the run */
    int                    broken;     /* frames could not be used */
    int                    hinted;
};

/* ---- opening ---- */

/* Prints every line: the reader reports repeated events only once. */
static void say_line(void *arg, const char *line)
{
    ctt_live_one_say(((struct ear *)arg)->one, line);
}

static void ring(void *arg)
{
    ctt_wakeup_ring(((struct ear *)arg)->bell);
}

static void look_at_hooks(void *arg)
{
    ctt_event_out_look(arg);
}

static struct ctt_live_set set_of(const struct live *l, int i)
{
    const struct ctt_stream_set *s = l->set;

    return (struct ctt_live_set){ .source = l->with->sources->item[i].source,
        .raw = s->raw, .realtime = s->realtime,
        .behind = (enum ctt_behind)s->behind, .timeout = s->timeout,
        .reconnects = s->reconnects, .reset_after = s->reset_after,
        .want_picture = s->draw != NULL,
        .cut = s->reset_on == CTT_RESET_CUT ? CUT : 0,
        .say = say_line, .news = ring };
}

/* A wrong form of a source, or wrong settings, are mistakes of the list, found
 * before any source is opened. */
static int check_sources(const struct live *l)
{
    const struct ctt_live_list *s = l->with->sources;
    int rc = 0;

    for (int i = 0; i < l->count; i++) {
        struct ctt_live_set set = set_of(l, i);

        rc = ctt_live_check(&set, l->with->in);
        if (rc == CTT_EINVAL && s->path)
            rc = ctt_error(rc, "%s:%d: %s", s->path, s->item[i].line,
                           ctt_errmsg());
        CTT_TRY(rc);
    }
out:
    return rc;
}

static int open_source(struct live *l, int i)
{
    struct ctt_live_set set = set_of(l, i);

    l->ear[i] = (struct ear){ &l->bell, &l->one[i] };
    set.arg = &l->ear[i];
    return ctt_live_open(&set, l->with->in, &l->one[i].source);
}

/* A source of a list fails alone, with a line, and once. */
static void lose(struct live *l, struct ctt_live_one *o, int rc)
{
    if (!l->share.apart)
        ctt_failure_note(&l->f, rc);
    else if (!o->lost)
        ctt_live_one_say(o, ctt_errmsg());
    l->failed += !o->lost;
    o->lost = 1;
}

/* One of a list that the system does not let open fails alone. */
static int open_sources(struct live *l)
{
    int rc = 0;

    for (int i = 0; i < l->count; i++) {
        rc = open_source(l, i);
        if (!l->share.apart || ctt_is_lack(rc))
            CTT_TRY(rc);
        if (rc < 0) {
            lose(l, &l->one[i], rc);
            ctt_watch_over(l->share.watch, i, "failed");
        } else
            ctt_watch_source(l->share.watch, i, l->one[i].source);
        l->open += rc >= 0;
    }
    rc = 0;
out:
    return rc;
}

static int open_ones(struct live *l)
{
    const struct ctt_live_list *s = l->with->sources;
    size_t n = (size_t)l->count, places = n * (l->set->sliding > 0 ? 2 : 1);
    int rc = 0;

    l->one = ctt_calloc(n, sizeof(*l->one));
    l->ear = ctt_calloc(n, sizeof(*l->ear));
    l->frame = ctt_calloc(places, sizeof(*l->frame));
    l->to = ctt_calloc(places, sizeof(*l->to));
    CTT_TRY(l->one && l->ear && l->frame && l->to ? 0 : CTT_ENOMEM);
    for (int i = 0; i < l->count; i++)
        CTT_TRY(ctt_live_one_open(&l->share, i, s->item[i].name, &l->one[i]));
    CTT_TRY(ctt_places_open(l->with->m, l->with->session, (int)places,
                            &l->share.places));
out:
    return rc;
}

static int open_watch(struct live *l)
{
    const char **name = ctt_calloc((size_t)l->count, sizeof(*name));
    struct ctt_watch_set set = { .streams = l->count, .name = name,
        .apart = l->share.apart, .every = l->set->stats,
        .bytes = ctt_places_bytes(l->share.places) *
                 l->one[0].past.places,
        .json = l->with->set->json, .look = look_at_hooks,
        .arg = l->share.out };
    int rc = name ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    for (int i = 0; i < l->count; i++)
        name[i] = l->one[i].name;
    CTT_TRY(ctt_watch_open(&set, &l->share.watch));
out:
    ctt_free(name);
    return rc;
}

/* Memory of the model and of all sources first, as an open source does not
 * wait; a source that gets no thread does not stop the others. */
static int open_live(struct live *l)
{
    struct ctt_event_to to = { l->set->events, l->set->exec, l->set->limit,
                               l->with->set->json, 0 };
    int rc;

    for (int i = 0; i < l->count; i++)
        l->share.width = ctt_say_width(l->share.width,
                                       l->with->sources->item[i].name);
    to.named = l->share.apart ? l->share.width : 0;
    CTT_TRY(check_sources(l));
    CTT_TRY(ctt_wakeup_open(&l->bell));
    CTT_TRY(open_ones(l));
    CTT_TRY(ctt_event_out_open(&to, &l->share.out));
    CTT_TRY(open_watch(l));
    CTT_TRY(open_sources(l));
out:
    return rc;
}

/* The watch looks at the others, so it ends first; readers ring the bell. */
static void close_live(struct live *l)
{
    ctt_watch_close(&l->share.watch);
    for (int i = 0; l->one && i < l->count; i++)
        ctt_live_one_close(&l->one[i]);
    ctt_wakeup_close(&l->bell);
    ctt_drawer_close(&l->draw);
    ctt_event_out_close(&l->share.out);
    ctt_places_close(&l->share.places);
    ctt_free(l->one);
    ctt_free(l->ear);
    ctt_free(l->frame);
    ctt_free(l->to);
}

/* ---- answers ---- */

static void want(struct live *l, const struct ctt_live_one *o)
{
    l->to[ctt_live_one_place(o)] = o->probs;
}

static void want_none(struct live *l)
{
    memset(l->to, 0, sizeof(*l->to) * (size_t)l->count *
                     (size_t)l->one[0].past.places);
}

static int answer_one(struct live *l, struct ctt_live_one *o)
{
    int rc;

    want_none(l);
    want(l, o);
    CTT_TRY(ctt_places_read(l->share.places, l->to));
    CTT_TRY(ctt_live_one_answer(o));
out:
    return rc;
}

/* A source of a list whose answer is not finite is alone in that. */
static int is_alone(const struct live *l, int rc)
{
    return rc == CTT_ENAN && l->share.apart;
}

/* All steps are done whatever fails: the answer to the last frame (unless that
 * was unusable), the end of current events, the release of the place. */
static void end_one(struct live *l, struct ctt_live_one *o, const char *state)
{
    int rc = 0;

    if (!l->broken && !o->lame && o->seen && !o->answered)
        rc = answer_one(l, o);
    if (is_alone(l, rc)) {
        lose(l, o, rc);
        state = "failed";
    } else
        ctt_failure_note(&l->f, rc);
    ctt_failure_note(&l->f, ctt_live_one_finish(o));
    for (int i = 0; i < o->past.places; i++)
        ctt_failure_note(&l->f, ctt_places_leave(l->share.places,
                                                 o->past.first + i));
    ctt_watch_over(l->share.watch, o->number, state);
    ctt_live_close(&o->source);
    o->has = 0;
    l->open--;
}

/* The model has no finite answer for the source any more. */
static void spoil(struct live *l, struct ctt_live_one *o, int rc)
{
    o->lame = 1;
    lose(l, o, rc);
    end_one(l, o, "failed");
}

/* Each by itself, after some answer of them all was not finite. */
static int answer_alone(struct live *l)
{
    int rc = 0;

    for (int i = 0; i < l->count; i++) {
        struct ctt_live_one *o = &l->one[i];

        if (!o->due)
            continue;
        rc = answer_one(l, o);
        if (is_alone(l, rc))
            spoil(l, o, rc);
        else
            CTT_TRY(rc);
    }
    rc = 0;
out:
    return rc;
}

static int answer_all(struct live *l)
{
    int rc, due = 0;

    want_none(l);
    for (int i = 0; i < l->count; i++)
        if (l->one[i].due) {
            want(l, &l->one[i]);
            due = 1;
        }
    if (!due)
        return 0;
    rc = ctt_places_read(l->share.places, l->to);
    if (is_alone(l, rc))
        return answer_alone(l);
    CTT_TRY(rc);
    for (int i = 0; i < l->count; i++)
        if (l->one[i].due)
            CTT_TRY(ctt_live_one_answer(&l->one[i]));
out:
    return rc;
}

/* ---- drawing ---- */

static double drawn_rate(const struct live *l)
{
    struct ctt_live_counts c;

    ctt_live_counts(l->one[0].source, &c);
    return l->with->in->fps > 0 ? (double)l->with->in->fps
           : c.fps > 0 ? c.fps : DRAWN_RATE;
}

/* Of the only source. */
static int draw(struct live *l)
{
    const struct ctt_live_one *o = &l->one[0];
    const struct ctt_live_frame *f = &o->frame;
    int every = l->with->set->every, rc = 0;
    struct ctt_drawn d = { .picture = f->picture, .h = f->picture_h,
        .w = f->picture_w, .skipped = f->skipped, .time = f->time,
        .event = o->going >= 0 ? l->with->label[o->going] : NULL,
        .name = l->with->label, .probs = o->probs, .order = o->order,
        .top = o->seen >= every ? l->with->set->top : 0 };

    if (!l->set->draw || !f->picture)
        return 0;
    if (!l->draw)
        CTT_TRY(ctt_drawer_open(l->set->draw, drawn_rate(l), &l->draw));
    CTT_TRY(ctt_drawer_put(l->draw, &d));
out:
    return rc;
}

/* ---- turns ---- */

/* Ends a source by the result of ctt_live_poll(). */
static void over(struct live *l, struct ctt_live_one *o, int rc)
{
    const char *state = rc == 0 ? "ended" : "failed";

    if (rc == CTT_ESTOP)
        state = "stopped";
    else if (rc < 0)
        lose(l, o, rc);
    end_one(l, o, state);
}

/* The frame of each source that has one now, at its places; *some: there is
 * one. */
static int gather(struct live *l, int *some)
{
    int rc = 0;

    *some = 0;
    for (int i = 0; i < l->count; i++) {
        struct ctt_live_one *o = &l->one[i];

        rc = o->source ? ctt_live_poll(o->source, &o->frame) : CTT_LIVE_LATER;
        o->has = rc == 1;
        *some |= o->has;
        if (rc <= 0)
            over(l, o, rc);
        else if (o->has)
            CTT_TRY(ctt_live_one_begin(o));
        for (int k = 0; k < o->past.places; k++)
            l->frame[o->past.first + k] = o->has ? o->frame.data : NULL;
    }
    rc = 0;
out:
    return rc;
}

/* --decide: prints a decision by the last frame, or that the answer is not
 * finite. */
static int decide_live(struct live *l, struct ctt_live_one *o)
{
    int rc = ctt_live_one_decide(o);

    if (is_alone(l, rc)) {
        spoil(l, o, rc);
        rc = 0;
    }
    return rc;
}

/* The model takes the frames. */
static int push_turn(struct live *l)
{
    double start = ctt_milliseconds();
    int rc;

    CTT_TRY(ctt_places_push(l->share.places, l->frame));
    ctt_watch_step(l->share.watch, ctt_milliseconds() - start);
    for (int i = 0; i < l->count; i++) {
        struct ctt_live_one *o = &l->one[i];

        o->due = o->has && ctt_live_one_pushed(o);
        if (o->has)
            CTT_TRY(decide_live(l, o));
        o->due &= o->has;
    }
    rc = 0;
out:
    return rc;
}

/* Once, of a model that has seen a stream for longer than the clips that it was
 * trained on. */
static void hint_sliding(struct live *l)
{
    double clip = l->with->clip, rate = (double)l->with->in->fps;

    for (int i = 0; i < l->count && !l->hinted; i++) {
        if (!(clip > 0) || l->set->sliding > 0 || l->with->set->decide.on ||
            (double)l->one[i].seen <= LONGER * clip * rate)
            continue;
        l->hinted = 1;
        ctt_tool_note("the model was trained on clips of about %.2g s; "
                      "--sliding %.2g lets it forget older frames", clip, clip);
    }
}

static int take_turn(struct live *l)
{
    int rc;

    CTT_TRY(push_turn(l));
    hint_sliding(l);
    CTT_TRY(answer_all(l));
    CTT_TRY(draw(l));
out:
    return rc;
}

/* Standard output that cannot be written ends it, which main() reports. */
static void take_all(struct live *l)
{
    int rc = 0, some;

    while (l->open && !ferror(stdout) && !l->f.rc && rc >= 0) {
        rc = gather(l, &some);
        if (rc >= 0 && some)
            rc = take_turn(l);
        else if (rc >= 0 && l->open)
            ctt_wakeup_wait(&l->bell);
    }
    l->broken = rc < 0;
    ctt_failure_note(&l->f, rc);
}

/* Whatever fails here, the rest is done.  One source that gave nothing needs no
 * tables. */
static void end_streams(struct live *l)
{
    int64_t missed, failed;
    int bad = l->f.rc;

    for (int i = 0; i < l->count; i++)
        if (l->one[i].source)
            end_one(l, &l->one[i], "stopped");
    ctt_failure_note(&l->f, ctt_drawer_finish(&l->draw));
    ctt_watch_stop(l->share.watch);
    ctt_event_out_wait(l->share.out, &missed, &failed);
    if (!bad || l->share.apart || ctt_watch_decoded(l->share.watch) ||
        l->with->set->json)
        ctt_failure_note(&l->f, ctt_watch_total(l->share.watch, missed,
                                                failed));
    for (int i = 0; i < l->count && !bad && !ferror(stdout); i++)
        ctt_live_one_missed(&l->one[i]);
}

static int run_to_end(struct live *l)
{
    int rc;

    take_all(l);
    end_streams(l);
    CTT_TRY(ctt_failure_tell(&l->f));
    CTT_CHECK(!l->failed, CTT_EIO, "%s: %d of %d streams failed",
              l->with->sources->path, l->failed, l->count);
out:
    return rc;
}

int ctt_live_run(const struct ctt_live_with *with)
{
    struct live l = { .with = with, .set = &with->set->stream,
                      .share = { .with = with,
                                 .apart = with->sources->path != NULL },
                      .count = with->sources->count };
    int rc;

    CTT_TRY(open_live(&l));
    CTT_TRY(run_to_end(&l));
out:
    close_live(&l);
    return rc;
}
