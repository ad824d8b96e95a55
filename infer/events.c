/* SPDX-License-Identifier: Apache-2.0
 * events.c: events of an endless stream, from the probabilities of its classes.
 */
#include "infer/loaded.h"

#include <math.h>

/* Successive pushes at which a class was at least at `leave`, or several such
 * runs after merging. */
struct run {
    double  start, peak, end;
    double  top, sum;    /* of the smoothed probability */
    int64_t count;       /* pushes; 0: no run */
    int     sure;        /* the probability has reached `enter` */
    int     told;
};

struct track {
    double     p;       /* smoothed */
    struct run now;     /* the current run */
    struct run held;    /* ended, but a run within `gap` continues it */
};

struct ctt_events {
    struct ctt_events_set set;
    double                last;      /* time of the last push */
    int                   begun;     /* 1 after the first push */
    struct track         *track;     /* a row per class */
    double               *enter;     /* of each class */
    struct ctt_event     *news;      /* room for two per class */
    int                   count, read;
};

static int check_set(const struct ctt_events_set *s)
{
    int rc = 0;

    CTT_CHECK(s->classes > 0, CTT_EINVAL, "events: %d classes", s->classes);
    CTT_CHECK(s->background >= -1 && s->background < s->classes, CTT_EINVAL,
              "events: no class %d to be the background", s->background);
    CTT_CHECK(s->leave > 0 && s->leave <= s->enter && s->enter <= 1,
              CTT_EINVAL, "events: thresholds %g to enter and %g to leave: "
              "0 < leave <= enter <= 1 is needed", s->enter, s->leave);
    for (int i = 0; s->enters && i < s->classes; i++)
        CTT_CHECK(s->enters[i] > 0 && s->enters[i] <= 1, CTT_EINVAL,
                  "events: a threshold of %g for class %d",
                  (double)s->enters[i], i);
    CTT_CHECK(s->smooth >= 0 && isfinite(s->smooth) && s->least >= 0 &&
              isfinite(s->least) && s->gap >= 0 && isfinite(s->gap),
              CTT_EINVAL, "events: a time below 0, or none");
out:
    return rc;
}

int ctt_events_open(const struct ctt_events_set *set, struct ctt_events **out)
{
    struct ctt_events *e = NULL;
    int rc = 0;

    GIVEN(set);
    GIVEN(out);
    CTT_TRY(check_set(set));
    e = ctt_calloc(1, sizeof(*e));
    CTT_TRY(e ? 0 : CTT_ENOMEM);
    e->set = *set;
    e->track = ctt_calloc((size_t)set->classes, sizeof(*e->track));
    e->news = ctt_calloc(2 * (size_t)set->classes, sizeof(*e->news));
    e->enter = ctt_calloc((size_t)set->classes, sizeof(*e->enter));
    CTT_TRY(e->track && e->news && e->enter ? 0 : CTT_ENOMEM);
    for (int i = 0; i < set->classes; i++)
        e->enter[i] = set->enters ? (double)set->enters[i] : set->enter;
    e->set.enters = NULL;    /* the caller's */
    *out = e;
    e = NULL;
out:
    ctt_events_close(&e);
    return rc;
}

void ctt_events_close(struct ctt_events **e)
{
    if (!e || !*e)
        return;
    ctt_free((*e)->track);
    ctt_free((*e)->enter);
    ctt_free((*e)->news);
    ctt_free(*e);
    *e = NULL;
}

static void report_event(struct ctt_events *e, enum ctt_event_kind kind,
                         int label, const struct run *r)
{
    e->news[e->count++] = (struct ctt_event){ .kind = kind, .label = label,
        .start = r->start, .peak = r->peak, .end = r->end,
        .confidence = (float)r->top,
        .mean = (float)(r->sum / (double)r->count) };
}

/* Reports the end of a run, unless it was too short to be reported. */
static void end_run(struct ctt_events *e, int label, struct run *r)
{
    if (r->told)
        report_event(e, CTT_EVENT_END, label, r);
    *r = (struct run){ .count = 0 };
}

static void extend(struct run *r, double t, double p)
{
    if (!r->count)
        *r = (struct run){ .start = t };
    if (!r->count || p > r->top) {
        r->top = p;
        r->peak = t;
    }
    r->sum += p;
    r->count++;
    r->end = t;
}

/* Merges the held run into the current one. */
static void merge(struct track *k)
{
    struct run *a = &k->held, *b = &k->now;

    if (a->top >= b->top) {
        b->top = a->top;
        b->peak = a->peak;
    }
    b->start = a->start;
    b->sum += a->sum;
    b->count += a->count;
    b->told = a->told;
    *a = (struct run){ .count = 0 };
}

static int within_gap(const struct ctt_events *e, const struct track *k,
                      double t)
{
    return k->held.count && t - k->held.end <= e->set.gap;
}

/* The threshold below which an event of a class ends that begins at `enter`. */
static double leave_of(const struct ctt_events *e, double enter)
{
    return enter == e->set.enter ? e->set.leave
                                 : enter * (e->set.leave / e->set.enter);
}

static void update_track(struct ctt_events *e, int label, double t)
{
    struct track *k = &e->track[label];
    struct run *now = &k->now;
    double enter = e->enter[label];

    if (k->p >= leave_of(e, enter)) {
        extend(now, t, k->p);
        if (!now->sure && k->p >= enter) {
            now->sure = 1;
            if (within_gap(e, k, now->start))
                merge(k);
        }
    } else {
        if (now->sure)
            k->held = *now;
        *now = (struct run){ .count = 0 };
    }
    if (k->held.count && !within_gap(e, k, now->count ? now->start : t))
        end_run(e, label, &k->held);
    if (now->sure && !now->told && t - now->start >= e->set.least) {
        now->told = 1;
        report_event(e, CTT_EVENT_BEGIN, label, now);
    }
}

static int check_push(const struct ctt_events *e, double t, const float *probs)
{
    int rc = 0;

    CTT_CHECK(isfinite(t) && (!e->begun || t >= e->last), CTT_EINVAL,
              "events: the time %g s comes after %g s", t, e->last);
    for (int i = 0; i < e->set.classes; i++)
        CTT_CHECK(isfinite(probs[i]), CTT_ENAN,
                  "events: the probability of class %d is not finite", i);
out:
    return rc;
}

int ctt_events_push(struct ctt_events *e, double t, const float *probs)
{
    double by = 1;
    int rc = 0;

    GIVEN(e);
    GIVEN(probs);
    CTT_TRY(check_push(e, t, probs));
    if (e->begun && e->set.smooth > 0)
        by = -expm1((e->last - t) / e->set.smooth);
    e->count = e->read = 0;
    for (int i = 0; i < e->set.classes; i++) {
        e->track[i].p += by * ((double)probs[i] - e->track[i].p);
        if (i != e->set.background)
            update_track(e, i, t);
    }
    e->begun = 1;
    e->last = t;
    rc = e->count;
out:
    return rc;
}

int ctt_events_end(struct ctt_events *e)
{
    int rc = 0;

    GIVEN(e);
    e->count = e->read = 0;
    for (int i = 0; i < e->set.classes; i++) {
        end_run(e, i, &e->track[i].held);
        end_run(e, i, &e->track[i].now);
        e->track[i].p = 0;
    }
    e->begun = 0;
    rc = e->count;
out:
    return rc;
}

int ctt_events_next(struct ctt_events *e, struct ctt_event *out)
{
    int rc = 0;

    GIVEN(e);
    GIVEN(out);
    if (e->read < e->count) {
        *out = e->news[e->read++];
        rc = 1;
    }
out:
    return rc;
}

int ctt_events_now(const struct ctt_events *e, int label, double *p)
{
    int rc = 0;

    GIVEN(e);
    GIVEN(p);
    CTT_CHECK(label >= 0 && label < e->set.classes, CTT_EINVAL,
              "events: no class %d", label);
    *p = e->track[label].p;
    rc = e->track[label].now.told || e->track[label].held.told;
out:
    return rc;
}
