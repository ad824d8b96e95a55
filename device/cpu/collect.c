/* SPDX-License-Identifier: Apache-2.0
 * collect.c: parts of a value that several processes have become the whole, or
 * are added up (Dryden and others 2019, filter and channel parallelism). */
#include "device/cpu/cpu.h"
#include "net/part.h"

/* A whole and a part of it: blocks of `all` units, each `unit` pixels (rows)
 * or numbers of one (channels). */
struct collecting {
    const struct ctt_tensor *whole, *part;
    int     rows;         /* 1: units are rows, 0: channels */
    int     own, parts;
    int64_t all, blocks;
};

static struct collecting collecting_of(const struct ctt_dev *d,
                                       const struct ctt_call *c,
                                       const struct ctt_tensor *whole,
                                       const struct ctt_tensor *part)
{
    int rows = c->node->attr.collect.of == CTT_AXIS_ROWS;

    return (struct collecting){ whole, part, rows, ctt_dev_part(d),
        ctt_dev_parts(d), c->node->attr.collect.all,
        rows ? whole->n * whole->d : ctt_rows(whole) };
}

/* Numbers of a unit. */
static int64_t parts_unit_of(const struct collecting *g)
{
    return g->rows ? g->whole->w * g->whole->c : 1;
}

static int64_t parts_message_of(const struct collecting *g)
{
    return ctt_align(g->blocks * ctt_part_most(g->all, g->parts) *
                     parts_unit_of(g), 16);
}

/* Part k of block b: `count` runs of n numbers, `apart` from each other. */
struct runs { float *run; int64_t apart, n, count; };

static struct runs parts_runs_of(const struct collecting *g,
                                 const struct ctt_tensor *t, int64_t b, int k)
{
    int is_whole = t == g->whole;
    int64_t first = is_whole ? ctt_part_first(g->all, k, g->parts) : 0;
    int64_t size = ctt_part_size(g->all, k, g->parts);

    if (!g->rows)
        return (struct runs){ ctt_row(t, b) + first, 0, size, 1 };
    return (struct runs){ ctt_row(t, (b * t->h + first) * t->w), t->ld, t->c,
                          size * t->w };
}

static void parts_pack(struct ctt_dev *d, const struct collecting *g,
                       const struct ctt_tensor *t, float *to)
{
    int64_t each = ctt_part_size(g->all, g->own, g->parts) * parts_unit_of(g);

    PARALLEL(d, g->blocks * each)
    for (int64_t b = 0; b < g->blocks; b++) {
        struct runs r = parts_runs_of(g, t, b, g->own);

        for (int64_t i = 0; i < r.count; i++)
            memcpy(to + b * each + i * r.n, r.run + i * r.apart,
                   (size_t)r.n * sizeof(*to));
    }
}

static void parts_unpack(struct ctt_dev *d, const struct collecting *g, int k,
                         const float *from, int add)
{
    int64_t each = ctt_part_size(g->all, k, g->parts) * parts_unit_of(g);

    PARALLEL(d, g->blocks * each)
    for (int64_t b = 0; b < g->blocks; b++) {
        struct runs r = parts_runs_of(g, g->whole, b, k);

        for (int64_t i = 0; i < r.count; i++)
            ctt_put(r.run + i * r.apart, from + b * each + i * r.n, r.n, add);
    }
}

/* whole (+)= the parts of all ranks (all-gather). */
static int parts_gather(struct ctt_dev *d, const struct collecting *g, int add)
{
    int64_t n = parts_message_of(g);
    float *mine = ctt_dev_scratch(d, (size_t)(n * (1 + g->parts)) *
                                     sizeof(*mine));
    float *all = mine + n;
    int rc = mine ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    parts_pack(d, g, g->part, g->parts > 1 ? mine : all);
    if (g->parts > 1)
        CTT_TRY(d->group->tell(d->group->arg, mine, n * (int64_t)sizeof(*mine),
                               all));
    for (int k = 0; k < g->parts; k++)
        parts_unpack(d, g, k, all + k * n, add);
out:
    return rc;
}

/* part (+)= this rank's part of the whole. */
static void parts_divide(struct ctt_dev *d, const struct collecting *g, int add)
{
    PARALLEL(d, ctt_volume(g->part))
    for (int64_t b = 0; b < g->blocks; b++) {
        struct runs from = parts_runs_of(g, g->whole, b, g->own);
        struct runs to = parts_runs_of(g, g->part, b, g->own);

        for (int64_t i = 0; i < to.count; i++)
            ctt_put(to.run + i * to.apart, from.run + i * from.apart, to.n,
                    add);
    }
}

int K(collect_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    int back = c->node->attr.collect.pass == CTT_IN_BACKWARD;
    struct collecting g = back ? collecting_of(d, c, &c->in[0], &c->out)
                               : collecting_of(d, c, &c->out, &c->in[0]);

    if (!back)
        return parts_gather(d, &g, 0);
    parts_divide(d, &g, 0);
    return 0;
}

int K(collect_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    int back = c->node->attr.collect.pass == CTT_IN_BACKWARD;
    struct collecting g = back ? collecting_of(d, c, &c->din[0], &c->dout)
                               : collecting_of(d, c, &c->dout, &c->din[0]);

    if (!c->din[0].data)
        return 0;
    if (back)
        return parts_gather(d, &g, (int)(c->add & 1));
    parts_divide(d, &g, (int)(c->add & 1));
    return 0;
}

/* y (+)= the sum of x over all parts (all-reduce). */
static int parts_add_up(struct ctt_dev *d, const struct ctt_tensor *x,
                        const struct ctt_tensor *y, int add)
{
    int64_t n = ctt_volume(x), room = ctt_align(n, 16);
    struct ctt_tensor all = *x;
    float *sum;
    int rc = 0;

    sum = ctt_dev_scratch(d, (size_t)(room + ctt_dev_total_room(d, n)) *
                             sizeof(*sum));
    CTT_TRY(sum ? 0 : CTT_ENOMEM);
    all.data = sum;
    all.ld = all.c;
    K(copy)(d, x, &all, 0);
    CTT_TRY(ctt_dev_total(d, sum, n, sum + room));
    K(copy)(d, &all, y, add);
out:
    return rc;
}

static int parts_pass_on(struct ctt_dev *d, const struct ctt_tensor *x,
                         const struct ctt_tensor *y, int add)
{
    K(copy)(d, x, y, add);
    return 0;
}

int K(total_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    int adds = c->node->attr.total.pass == CTT_IN_FORWARD &&
               ctt_dev_parts(d) > 1, rc;

    CTT_TRY((adds ? parts_add_up : parts_pass_on)(d, &c->in[0], &c->out, 0));
    if (c->node->nin > 1)
        K(copy)(d, &c->in[1], &c->out, 1);
out:
    return rc;
}

int K(total_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    int adds = c->node->attr.total.pass == CTT_IN_BACKWARD &&
               ctt_dev_parts(d) > 1;

    if (c->node->nin > 1 && c->din[1].data)
        K(copy)(d, &c->dout, &c->din[1], (int)(c->add >> 1 & 1));
    if (!c->din[0].data)
        return 0;
    return (adds ? parts_add_up : parts_pass_on)(d, &c->dout, &c->din[0],
                                                 (int)(c->add & 1));
}
