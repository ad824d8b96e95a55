/* SPDX-License-Identifier: Apache-2.0
 * replay.c: which work on a window is the same as some done before, so that the
 * device may start it again as a whole. */
#include "run/back/way.h"

#include <string.h>

/* Clips of many lengths have many windows; those that come too late are never
 * recorded. */
enum { MOST = 256 };

/* All that decides which kernels run and where they read and write.  What is
 * not in it must lie in memory. */
struct form {
    int64_t  at, past;
    int      phase, steps, asks, fed, again, train;
    int      first, last, stored, soles;
    unsigned plain;
};

struct ctt_replays {
    int          count;
    struct form  form[MOST];
    void        *place[MOST];
};

static struct form form_of(const struct ctt_exec *x, enum ctt_phase phase)
{
    const struct ctt_way *y = x->way;
    const struct ctt_part *p = &y->part[y->hand];
    struct form f;

    memset(&f, 0, sizeof(f));    /* forms are compared as bytes */
    f.at = y->at[y->hand];
    f.past = p->first;
    f.phase = phase;
    f.steps = p->steps;
    f.asks = p->asks;
    f.fed = x->r->fed;
    f.again = x->r->again;
    f.train = x->r->train;
    f.first = y->hand == 0;
    f.last = y->hand + 1 == y->parts;
    f.stored = y->hand < y->dropped ? y->hand : -1;
    f.soles = y->soles;
    f.plain = x->r->plain;
    return f;
}

/* The place of a form, or NULL: there are too many. */
static void **place_of(struct ctt_replays *r, const struct form *f)
{
    for (int i = 0; i < r->count; i++)
        if (memcmp(&r->form[i], f, sizeof(*f)) == 0)
            return &r->place[i];
    if (r->count == MOST)
        return NULL;
    r->form[r->count] = *f;
    return &r->place[r->count++];
}

struct work { struct ctt_exec *x; int (*fn)(struct ctt_exec *x); };

static int do_work(void *work)
{
    const struct work *w = work;

    return w->fn(w->x);
}

int ctt_way_replay(struct ctt_exec *x, enum ctt_phase phase,
                   int (*fn)(struct ctt_exec *x))
{
    struct form f = form_of(x, phase);
    void **place = place_of(x->way->replays, &f);
    struct work w = { x, fn };

    return place ? ctt_dev_repeat(x->r->dev, place, do_work, &w) : fn(x);
}

int ctt_way_replays_new(struct ctt_exec *x)
{
    x->way->replays = ctt_calloc(1, sizeof(struct ctt_replays));
    return x->way->replays ? 0 : CTT_ENOMEM;
}

void ctt_way_replays_free(struct ctt_exec *x)
{
    struct ctt_replays *r = x->way->replays;

    for (int i = 0; r && i < r->count; i++)
        ctt_dev_drop(x->r->dev, &r->place[i]);
    ctt_free(r);
    x->way->replays = NULL;
}
