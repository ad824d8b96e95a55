/* SPDX-License-Identifier: Apache-2.0
 * live_one.c: one source of convtt-infer --stream or --streams. */
#include "tools/stream/stream_tool.h"
#include "base/clock.h"
#include "base/visible.h"
#include "tools/shared/tool.h"
#include "tools/shared/infer_rc.h"
#include "tools/infer/infer_tool.h"
#include "tools/shared/measure.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 4096 };    /* bytes of a name as it is shown */

/* ---- open and close ---- */

int ctt_live_one_open(const struct ctt_live_share *share, int number,
                      const char *name, struct ctt_live_one *out)
{
    const struct ctt_live_with *w = share->with;
    const struct ctt_stream_set *s = &w->set->stream;
    size_t n = (size_t)w->classes;
    int places = s->sliding > 0 ? 2 : 1, rc;
    struct ctt_live_one o = { .share = share, .number = number, .name = name,
        .past = { .first = number * places, .places = places,
                  .half = s->sliding / 2 }, .going = -1,
        .nearest = { .enter = 1 } };

    o.probs = ctt_calloc(n, sizeof(*o.probs));
    o.order = ctt_calloc(n, sizeof(*o.order));
    CTT_TRY(o.probs && o.order ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_stream_events(s, w->m, w->threshold, &o.rule));
    CTT_TRY(ctt_infer_rc(ctt_events_open(&o.rule, &o.events)));
    *out = o;
    return 0;
out:
    ctt_live_one_close(&o);
    return rc;
}

void ctt_live_one_close(struct ctt_live_one *o)
{
    ctt_live_close(&o->source);
    ctt_events_close(&o->events);
    ctt_free(o->probs);
    ctt_free(o->order);
}

/* Lines begin with the source's public name, which often is its name. */
void ctt_live_one_say(const struct ctt_live_one *o, const char *line)
{
    size_t n = strlen(o->name);

    if (!o->share->apart || (strncmp(line, o->name, n) == 0 && line[n] == ':'))
        ctt_tool_note("%s", line);
    else
        ctt_tool_note("%s: %s", o->name, line);
}

/* ---- events ---- */

/* With several labels per clip another event may go on: its class, or -1. */
static int other_event(const struct ctt_live_one *o, int than)
{
    const struct ctt_live_with *w = o->share->with;
    double p;

    for (int i = 0; w->threshold && i < w->classes; i++)
        if (i != than && ctt_events_now(o->events, i, &p) == 1)
            return i;
    return -1;
}

static int tell_event(struct ctt_live_one *o, const struct ctt_event *e)
{
    struct ctt_event_line line = { e, o->share->with->label[e->label],
                                   o->name, o->frame.wall };

    if (e->kind == CTT_EVENT_BEGIN)
        o->going = e->label;
    else if (o->going == e->label)
        o->going = other_event(o, e->label);
    o->told++;
    ctt_watch_event(o->share->watch, o->number);
    return ctt_event_out_put(o->share->out, &line);
}

/* `count` of them, or an error; all are told although one fails, and the first
 * error is returned. */
static int tell_events(struct ctt_live_one *o, int count)
{
    struct ctt_failure f = { 0 };
    struct ctt_event e;

    ctt_failure_note(&f, ctt_infer_rc(count));
    while (count > 0 && ctt_events_next(o->events, &e) > 0)
        ctt_failure_note(&f, tell_event(o, &e));
    return ctt_failure_tell(&f);
}

int ctt_live_one_finish(struct ctt_live_one *o)
{
    return tell_events(o, ctt_events_end(o->events));
}

/* After an answer. */
static void note_nearest(struct ctt_live_one *o)
{
    const struct ctt_events_set *r = &o->rule;
    double p;

    for (int i = 0; i < r->classes && !o->told; i++) {
        double enter = r->enters ? (double)r->enters[i] : r->enter;

        ctt_events_now(o->events, i, &p);
        if (i == r->background || p * o->nearest.enter <=
                                  enter * o->nearest.p)
            continue;
        o->nearest.label = i;
        o->nearest.p = p;
        o->nearest.enter = enter;
        o->nearest.time = o->frame.time;
    }
}

void ctt_live_one_missed(const struct ctt_live_one *o)
{
    char name[TEXT], line[TEXT + 256], why[96];

    if (o->told || !(o->nearest.p > 0))
        return;
    if (o->nearest.p < o->nearest.enter)
        snprintf(why, sizeof(why), "below the threshold of %.1f%% "
                 "(--threshold)", 100 * o->nearest.enter);
    else
        snprintf(why, sizeof(why), "for less than %g s above the threshold of "
                 "%.1f%% (--least)", o->rule.least, 100 * o->nearest.enter);
    snprintf(line, sizeof(line), "no event: the nearest was %.1f%% %s at %.2f "
             "s, %s; means of %g s (--smooth)", 100 * o->nearest.p,
             ctt_visible(o->share->with->label[o->nearest.label], 0, name,
             sizeof(name)), o->nearest.time, why, o->rule.smooth);
    ctt_live_one_say(o, line);
}

/* ---- frames ---- */

static int begin_anew(struct ctt_live_one *o)
{
    struct ctt_live_past *p = &o->past;
    int rc = 0;

    for (int i = 0; i < p->places; i++)
        CTT_TRY(ctt_places_reset(o->share->places, p->first + i));
    p->answers = p->reset = 0;
    p->next = o->frame.time + p->half;
    o->seen = o->decided = 0;
out:
    return rc;
}

/* A place that begins anew at this frame, if it is time. */
static int slide(struct ctt_live_one *o)
{
    struct ctt_live_past *p = &o->past;
    int rc = 0;

    for (int i = 0; p->half > 0 && o->frame.time >= p->next && i < 2; i++) {
        p->answers = p->reset;
        p->reset = 1 - p->reset;
        CTT_TRY(ctt_places_reset(o->share->places, p->first + p->reset));
        p->next += p->half;
        ctt_watch_slide(o->share->watch, o->number);
    }
    if (o->frame.time >= p->next)    /* the times leapt */
        p->next = o->frame.time + p->half;
out:
    return rc;
}

int ctt_live_one_begin(struct ctt_live_one *o)
{
    int rc = 0;

    if (o->frame.fresh) {
        CTT_TRY(ctt_live_one_finish(o));
        CTT_TRY(begin_anew(o));
    }
    CTT_TRY(slide(o));
out:
    return rc;
}

int ctt_live_one_pushed(struct ctt_live_one *o)
{
    int every = o->share->with->set->every;

    ctt_watch_frame(o->share->watch, o->number);
    o->answered = 0;
    return ++o->seen % (every ? every : 1) == 0;
}

/* ---- decisions ---- */

/* Locked, as the watch prints between any two calls. */
static void say_decision(const struct ctt_live_one *o,
                         const struct ctt_infer_decision *d)
{
    const char *name = o->share->with->label[d->answer];
    char stream[TEXT], text[TEXT];

    flockfile(stdout);
    if (o->share->with->set->json) {
        printf("{\"decided\":");
        ctt_json_put(stdout, name);
        printf(",\"frame\":%" PRId64 ",\"seconds\":%.3f,\"confidence\":%.6f,"
               "\"stream\":", d->frame, o->frame.time, (double)d->confidence);
        ctt_json_put(stdout, o->name);
        printf("}\n");
    } else
        printf("%-*s decided after %" PRId64 " frame%s %9.2f s  %5.1f%%  %s\n",
               o->share->width,
               ctt_visible(o->name, 0, stream, sizeof(stream)), d->frame,
               ctt_s(d->frame),
               o->frame.time, 100 * (double)d->confidence,
               ctt_visible(name, 0, text, sizeof(text)));
    fflush(stdout);
    funlockfile(stdout);
}

int ctt_live_one_decide(struct ctt_live_one *o)
{
    struct ctt_infer_decision d;
    int rc = 0;

    if (!o->share->with->set->decide.on || o->decided)
        return 0;
    CTT_TRY(ctt_places_decided(o->share->places, o->past.first, &d));
    o->decided = rc;
    if (rc)
        say_decision(o, &d);
    rc = 0;
out:
    return rc;
}

/* ---- answers ---- */

int ctt_live_one_place(const struct ctt_live_one *o)
{
    return o->past.first + o->past.answers;
}

/* Locked, as the watch prints between any two calls. */
static void say_answer(const struct ctt_live_one *o, double ms)
{
    const struct ctt_live_with *w = o->share->with;
    const struct ctt_infer_set *c = w->set;
    int there = w->threshold ? ctt_order_there(o->probs, w->threshold,
                                               w->classes, o->order) : 0;

    flockfile(stdout);
    ctt_say_answer(&(struct ctt_said){ .file = o->name, .id = o->name,
        .width = o->share->width,
        .frame = o->seen, .seconds = o->frame.time, .ms = ms,
        .name = w->label, .probs = o->probs, .order = o->order,
        .top = c->top, .threshold = w->threshold, .there = there }, c->json);
    fflush(stdout);
    funlockfile(stdout);
}

int ctt_live_one_answer(struct ctt_live_one *o)
{
    const struct ctt_live_with *w = o->share->with;
    int rc;
    double ms = ctt_milliseconds() - 1e3 * o->frame.arrived;

    ctt_watch_answer(o->share->watch, o->number, ms);
    ctt_top(o->probs, w->classes, o->order, w->set->top);
    if (w->set->every)
        say_answer(o, ms);
    CTT_TRY(tell_events(o, ctt_events_push(o->events, o->frame.time,
                                           o->probs)));
    note_nearest(o);
    o->answered = 1;
out:
    return rc;
}
