/* SPDX-License-Identifier: Apache-2.0
 * parts.c: an all-gather of gradients and moved weights. */
#include "libtrain/ranks/stage_messages.h"

static void add_parts(const struct ctt_graph *g, const int *number,
                     struct ctt_parts *p)
{
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < g->node[i].nw; k++) {
            const struct ctt_node *n = &g->node[i];
            int fixed = n->fixed >> k & 1;

            if (fixed && n->frozen)
                continue;
            p->part[p->parts++] = (struct ctt_weights_part){ number[i], fixed,
                n->at[k], ctt_volume(&n->w[k]) };
        }
}

static int64_t floats_of(const struct ctt_parts *p, int rank)
{
    int64_t sum = 0;

    for (int i = 0; i < p->parts; i++)
        sum += p->part[i].rank == rank ? p->part[i].count : 0;
    return sum;
}

int ctt_parts_open(const struct ctt_graph *g, const int *number,
                   struct ctt_comm *comm, struct ctt_dev *dev,
                   struct ctt_parts *out)
{
    size_t n = (size_t)g->count * CTT_MAX_W;
    int ranks = ctt_comm_place(comm)->ranks, rc = 0;

    *out = (struct ctt_parts){ .comm = comm, .dev = dev };
    out->part = ctt_calloc(n, sizeof(*out->part));
    CTT_TRY(out->part ? 0 : CTT_ENOMEM);
    add_parts(g, number, out);
    for (int r = 0; r < ranks; r++)
        if (floats_of(out, r) > out->most)
            out->most = floats_of(out, r);
    n = (size_t)out->most + 1;
    out->mine = ctt_calloc(n, sizeof(*out->mine));
    out->all = ctt_calloc(n * (size_t)ranks, sizeof(*out->all));
    CTT_TRY(out->mine && out->all ? 0 : CTT_ENOMEM);
out:
    return rc;
}

void ctt_parts_close(struct ctt_parts *p)
{
    ctt_free(p->part);
    ctt_free(p->mine);
    ctt_free(p->all);
    *p = (struct ctt_parts){ .part = NULL };
}

/* The parts of a rank, one after the other at `host`. */
static int copy_parts(const struct ctt_parts *p, int rank,
                      enum ctt_direction way, float *w, float *dw, float *host)
{
    int rc = 0;

    for (int i = 0; i < p->parts; i++) {
        const struct ctt_weights_part *x = &p->part[i];
        float *at = (x->moved ? w : dw) + x->at;

        if (x->rank != rank)
            continue;
        CTT_TRY(ctt_dev_copy(p->dev, way, way == CTT_TO_HOST ? at : host,
                             way == CTT_TO_HOST ? host : at,
                             x->count * (int64_t)sizeof(*at)));
        host += x->count;
    }
out:
    return rc;
}

int ctt_parts_share(struct ctt_parts *p, float *w, float *dw)
{
    const struct ctt_comm_place *place = ctt_comm_place(p->comm);
    int rc;

    CTT_TRY(copy_parts(p, place->rank, CTT_TO_HOST, w, dw, p->mine));
    CTT_TRY(ctt_comm_allgather(p->comm, p->mine,
                               p->most * (int64_t)sizeof(*p->mine), p->all));
    for (int r = 0; r < place->ranks; r++)
        if (r != place->rank)
            CTT_TRY(copy_parts(p, r, CTT_TO_DEVICE, w, dw,
                               p->all + r * p->most));
out:
    return rc;
}
