/* SPDX-License-Identifier: Apache-2.0
 * group_comm.c: messages between the parts of a graph. */
#include "libtrain/ranks/group_comm.h"
#include "base/clock.h"

#include <string.h>

static int done(struct ctt_group_comm *b, double start, double bytes, int rc)
{
    b->seconds += ctt_seconds() - start;
    b->bytes += bytes;
    b->calls++;
    return rc;
}

static int gather_values(void *arg, const void *mine, int64_t n, void *all)
{
    struct ctt_group_comm *b = arg;
    double start = ctt_seconds();
    int rc = ctt_comm_allgather(b->comm, mine, n, all);

    return done(b, start, (double)n * (b->group.parts - 1), rc);
}

static int swap_values(void *arg, const void *from, void *to, int64_t each)
{
    struct ctt_group_comm *b = arg;
    double start = ctt_seconds();
    int rc = ctt_comm_alltoall(b->comm, from, to, each);

    return done(b, start, (double)each * (b->group.parts - 1), rc);
}

/* The copy that a neighbour is sent: the message before last has been taken by
 * it, so its memory is free. */
static int grow_message(struct ctt_group_comm *b, int side, int64_t n)
{
    struct ctt_group_comm_side *s = &b->side[side];
    int k = s->sent & 1, rc = 0;

    if (n <= s->room[k])
        goto out;
    ctt_free(s->out[k]);
    s->room[k] = 0;
    s->out[k] = ctt_calloc((size_t)n, 1);
    CTT_TRY(s->out[k] ? 0 : CTT_ENOMEM);
    s->room[k] = n;
out:
    return rc;
}

static int send(struct ctt_group_comm *b, int side, const void *p, int64_t n)
{
    struct ctt_group_comm_side *s = &b->side[side];
    char *out = s->out[s->sent++ & 1];

    memcpy(out, p, (size_t)n);
    return ctt_comm_send(b->comm, b->group.part + (side ? 1 : -1), out, n);
}

/* Between the begin and end of the messages only the comm can fail. */
static int swap_messages(void *arg, const struct ctt_swap *s)
{
    struct ctt_group_comm *b = arg;
    double start = ctt_seconds();
    int rc = 0, coming = 0, who;

    for (int k = 0; k < 2; k++)
        CTT_TRY(grow_message(b, k, s->sends[k]));
    for (int k = 0; k < 2; k++)
        if (s->takes[k]) {
            CTT_TRY(ctt_comm_recv(b->comm, b->group.part + (k ? 1 : -1),
                                  s->from[k], s->takes[k]));
            coming++;
        }
    for (int k = 0; k < 2; k++)
        if (s->sends[k])
            CTT_TRY(send(b, k, s->to[k], s->sends[k]));
    while (coming--)
        CTT_TRY(ctt_comm_wait(b->comm, &who));
out:
    return done(b, start, (double)(s->sends[0] + s->sends[1]), rc);
}

void ctt_group_comm_open(struct ctt_comm *comm, struct ctt_group_comm *b)
{
    const struct ctt_comm_place *p = ctt_comm_place(comm);

    *b = (struct ctt_group_comm){ .comm = comm };
    b->group = (struct ctt_group){ p->rank, p->ranks, b, gather_values,
                                   swap_values, swap_messages };
}

void ctt_group_comm_close(struct ctt_group_comm *b)
{
    for (int k = 0; k < 4; k++)
        ctt_free(b->side[k / 2].out[k % 2]);
    memset(b, 0, sizeof(*b));
}
