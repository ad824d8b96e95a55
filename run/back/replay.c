/* SPDX-License-Identifier: Apache-2.0
 * replay.c: finds out whether the work on a window equals earlier work, so that
 * the device can replay its recording (a CUDA graph). */
#include "run/back/backward.h"
#include "run/back/depth.h"

#include <string.h>

/* The most recordings: clips of many lengths have many different windows; later
 * ones are not recorded. */
enum { MOST = 256 };

/* Everything that determines which kernels run and which addresses they use.
 * Other inputs of a kernel must be read from memory. */
struct form {
    int64_t  at, past;
    int      phase, steps, asks, feedback, recompute, train;
    int      first, last, stored, overwrites;
    unsigned plain;
};

struct ctt_replays {
    int          count;
    struct form  form[MOST];
    void        *place[MOST];
};

static struct form window_form(const struct ctt_exec *x, enum ctt_phase phase)
{
    const struct ctt_back *y = x->back;
    const struct ctt_window *p = &y->part[y->hand];
    struct form f;

    memset(&f, 0, sizeof(f));    /* forms are compared as bytes */
    f.at = y->lie[y->hand].at;
    f.past = x->r->past;
    f.phase = phase;
    f.steps = p->steps;
    f.asks = p->asks;
    f.feedback = x->r->feedback;
    f.recompute = x->r->recompute;
    f.train = x->r->train;
    f.first = y->hand == 0;
    f.last = y->hand + 1 == y->parts;
    f.stored = y->lie[y->hand].store;
    f.overwrites = y->overwrites;
    f.plain = x->r->plain;
    return f;
}

/* The recording of a form, or NULL if there are too many. */
static void **recording_of(struct ctt_replays *r, const struct form *f)
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

int ctt_back_replay(struct ctt_exec *x, enum ctt_phase phase,
                    int (*fn)(struct ctt_exec *x))
{
    struct form f = window_form(x, phase);
    int timed = x->back->depth && x->back->depth->timed;    /* it waits */
    void **place = timed ? NULL : recording_of(x->back->replays, &f);
    struct work w = { x, fn };

    return place ? ctt_dev_repeat(x->r->dev, place, do_work, &w) : fn(x);
}

int ctt_back_replays_new(struct ctt_exec *x)
{
    x->back->replays = ctt_calloc(1, sizeof(struct ctt_replays));
    return x->back->replays ? 0 : CTT_ENOMEM;
}

void ctt_back_replays_free(struct ctt_exec *x)
{
    struct ctt_replays *r = x->back->replays;

    for (int i = 0; r && i < r->count; i++)
        ctt_dev_drop(x->r->dev, &r->place[i]);
    ctt_free(r);
    x->back->replays = NULL;
}
