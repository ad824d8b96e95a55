/* SPDX-License-Identifier: Apache-2.0
 * lanes.c: calls into lanes, one after the other, each to where the numbers it
 * reads were made last (list scheduling by data dependence). */
#include "run/lanes.h"

#include <string.h>

/* Who touched a memory: tickets, 0: nobody. */
struct ctt_lanes_memory {
    int  writer;                        /* lane */
    long written;
    long read[CTT_LANES_MOST];          /* since then, by lane */
};

int ctt_lanes_new(int memories, struct ctt_lanes **out)
{
    struct ctt_lanes *l = ctt_calloc(1, sizeof(*l));
    int rc = l ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    l->memories = memories;
    l->memory = ctt_calloc((size_t)memories + 1, sizeof(*l->memory));
    CTT_TRY(l->memory ? 0 : CTT_ENOMEM);
    *out = l;
    l = NULL;
out:
    ctt_lanes_free(&l);
    return rc;
}

void ctt_lanes_free(struct ctt_lanes **l)
{
    if (!*l)
        return;
    ctt_free((*l)->memory);
    ctt_free(*l);
    *l = NULL;
}

int ctt_lanes_begin(struct ctt_lanes *l, struct ctt_dev *d)
{
    int rc = 0;

    l->lanes = ctt_dev_lanes(d);
    if (l->lanes > CTT_LANES_MOST)
        l->lanes = CTT_LANES_MOST;
    if (l->lanes < 2)
        goto out;
    l->ticket = 0;
    memset(l->last, 0, sizeof(l->last));
    memset(l->seen, 0, sizeof(l->seen));
    memset(l->memory, 0, (size_t)l->memories * sizeof(*l->memory));
    for (int k = 1; k < l->lanes; k++)
        CTT_TRY(ctt_dev_wait(d, k, 0));
out:
    return rc;
}

/* The lane whose last call made something that this one reads: it need not
 * wait; else the one that has been idle longest. */
static int choose(const struct ctt_lanes *l, const struct ctt_touch *t)
{
    int best = 0;

    for (int i = 0; i < t->count; i++) {
        const struct ctt_lanes_memory *m = &l->memory[t->at[i].memory];
        if (m->written && m->written == l->last[m->writer])
            return m->writer;
    }
    for (int k = 1; k < l->lanes; k++)
        if (l->last[k] < l->last[best])
            best = k;
    return best;
}

/* Waits for another lane's call of that ticket unless that is known to be
 * done. */
static int follow(struct ctt_lanes *l, struct ctt_dev *d, int lane, int other,
                  long ticket)
{
    int rc = 0;

    if (lane == other || l->seen[lane][other] >= ticket)
        goto out;
    CTT_TRY(ctt_dev_wait(d, lane, other));
    l->seen[lane][other] = l->last[other];
out:
    return rc;
}

static int order(struct ctt_lanes *l, struct ctt_dev *d, int lane,
                 const struct ctt_lanes_memory *m, int writes)
{
    int rc = 0;

    CTT_TRY(follow(l, d, lane, m->writer, m->written));
    for (int k = 0; k < l->lanes && writes; k++)
        CTT_TRY(follow(l, d, lane, k, m->read[k]));
out:
    return rc;
}

static void note(struct ctt_lanes *l, int lane, const struct ctt_touch *t)
{
    l->last[lane] = ++l->ticket;
    for (int i = 0; i < t->count; i++) {
        struct ctt_lanes_memory *m = &l->memory[t->at[i].memory];

        if (!t->at[i].writes) {
            m->read[lane] = l->ticket;
            continue;
        }
        memset(m->read, 0, sizeof(m->read));
        m->writer = lane;
        m->written = l->ticket;
    }
}

int ctt_lanes_call(struct ctt_lanes *l, struct ctt_dev *d,
                   const struct ctt_touch *t)
{
    int lane, rc = 0;

    if (l->lanes < 2)
        goto out;
    lane = choose(l, t);
    for (int i = 0; i < t->count; i++)
        CTT_TRY(order(l, d, lane, &l->memory[t->at[i].memory],
                      t->at[i].writes));
    note(l, lane, t);
    ctt_dev_lane(d, lane);
out:
    return rc;
}

int ctt_lanes_end(struct ctt_lanes *l, struct ctt_dev *d, int rc)
{
    int bad = 0;

    if (l->lanes < 2)
        return rc;
    ctt_dev_lane(d, 0);
    for (int k = 1; k < l->lanes && bad >= 0; k++)
        bad = ctt_dev_wait(d, 0, k);
    l->lanes = 0;
    return rc < 0 ? rc : bad;
}
