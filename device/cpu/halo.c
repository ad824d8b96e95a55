/* SPDX-License-Identifier: Apache-2.0
 * halo.c: a part of the rows of an image, with rows of the parts beside it
 * (Dryden and others 2019, spatial parallelism).
 *
 * A plane is an image of a sample (and depth).  Messages hold the rows of all
 * planes, one plane after the other. */
#include "device/cpu/cpu.h"

enum { ABOVE, BELOW };

/* small: rows of this part; large: the same without `drop`, plus `more` rows of
 * each neighbour. give: rows sent to each neighbour. */
struct halo {
    const struct ctt_tensor *small, *large;
    int64_t planes, more[2], drop[2], give[2];
    float  *out[2], *in[2];    /* messages sent and received */
};

static int64_t halo_at_least_0(int64_t n)
{
    return n > 0 ? n : 0;
}

static int halo_is_edge(const struct ctt_dev *d, int side)
{
    return ctt_dev_part(d) == (side == ABOVE ? 0 : ctt_dev_parts(d) - 1);
}

static int64_t halo_floats_of(const struct halo *h, int64_t rows)
{
    return ctt_align(h->planes * rows * h->small->w * h->small->c, 16);
}

static struct halo halo_of(const struct ctt_call *c,
                           const struct ctt_tensor *small,
                           const struct ctt_tensor *large)
{
    int64_t up = c->node->attr.halo.up, down = c->node->attr.halo.down;
    struct halo h = { .small = small, .large = large,
                      .planes = small->n * small->d };

    h.more[ABOVE] = halo_at_least_0(up);
    h.more[BELOW] = halo_at_least_0(down);
    h.drop[ABOVE] = halo_at_least_0(-up);
    h.drop[BELOW] = halo_at_least_0(-down);
    h.give[ABOVE] = c->node->attr.halo.above;
    h.give[BELOW] = c->node->attr.halo.below;
    return h;
}

/* Allocates the messages, none at an edge of the image; out: forward, rows of
 * small. */
static int halo_open_messages(struct ctt_dev *d, struct halo *h, int forward)
{
    int64_t out[2], in[2], sum = 0;
    float *p;

    for (int s = ABOVE; s <= BELOW; s++) {
        int64_t given = halo_is_edge(d, s) ? 0 : halo_floats_of(h, h->give[s]);
        int64_t taken = halo_is_edge(d, s) ? 0 : halo_floats_of(h, h->more[s]);

        out[s] = forward ? given : taken;
        in[s] = forward ? taken : given;
        sum += out[s] + in[s];
    }
    if (sum == 0)
        return 0;
    p = ctt_dev_scratch(d, (size_t)sum * sizeof(*p));
    if (!p)
        return CTT_ENOMEM;
    for (int s = ABOVE; s <= BELOW; s++) {
        h->out[s] = out[s] ? p : NULL;
        h->in[s] = in[s] ? p + out[s] : NULL;
        p += out[s] + in[s];
    }
    return 0;
}

static int halo_swap(struct ctt_dev *d, const struct halo *h, int forward)
{
    struct ctt_swap s = { .sends = { 0 } };

    if (ctt_dev_parts(d) == 1)
        return 0;
    for (int k = ABOVE; k <= BELOW; k++) {
        int64_t given = halo_floats_of(h, h->give[k]) * (int64_t)sizeof(float);
        int64_t taken = halo_floats_of(h, h->more[k]) * (int64_t)sizeof(float);

        s.to[k] = h->out[k];
        s.from[k] = h->in[k];
        s.sends[k] = !h->out[k] ? 0 : forward ? given : taken;
        s.takes[k] = !h->in[k] ? 0 : forward ? taken : given;
    }
    return d->group->swap(d->group->arg, &s);
}

/* Copies rows of each plane of t, from `first` on, to a message, or from it,
 * with or without adding. */
static void halo_pack(const struct halo *h, const struct ctt_tensor *t,
                      int64_t first, int64_t rows, float *to)
{
    for (int64_t p = 0; p < h->planes; p++)
        for (int64_t i = 0; i < rows * t->w; i++, to += t->c)
            memcpy(to, ctt_row(t, (p * t->h + first) * t->w + i),
                   (size_t)t->c * sizeof(*to));
}

static void halo_unpack(const struct halo *h, const struct ctt_tensor *t,
                        int64_t first, int64_t rows, const float *from, int add)
{
    for (int64_t p = 0; p < h->planes; p++)
        for (int64_t i = 0; i < rows * t->w; i++, from += t->c)
            ctt_put(ctt_row(t, (p * t->h + first) * t->w + i), from, t->c,
                    add);
}

static void halo_clear(const struct halo *h, const struct ctt_tensor *t,
                       int64_t first, int64_t rows)
{
    for (int64_t p = 0; p < h->planes; p++)
        for (int64_t i = 0; i < rows * t->w; i++)
            memset(ctt_row(t, (p * t->h + first) * t->w + i), 0,
                   (size_t)t->c * sizeof(float));
}

/* Copies the common rows from small to large or the reverse; dense ones at
 * once. */
static void halo_move(struct ctt_dev *d, const struct halo *h, int back,
                      int add)
{
    const struct ctt_tensor *a = h->small, *b = h->large;
    int64_t rows = a->h - h->drop[ABOVE] - h->drop[BELOW], w = a->w;
    int dense = a->ld == a->c && b->ld == b->c;
    int64_t cols = dense ? 1 : w, n = dense ? w * a->c : a->c;

    PARALLEL(d, h->planes * rows * w * a->c)
    for (int64_t i = 0; i < h->planes * rows; i++) {
        int64_t p = i / rows, y = i % rows;
        int64_t from = (p * a->h + h->drop[ABOVE] + y) * w;
        int64_t to = (p * b->h + h->more[ABOVE] + y) * w;

        for (int64_t x = 0; x < cols; x++)
            if (back)
                ctt_put(ctt_row(a, from + x), ctt_row(b, to + x), n, add);
            else
                ctt_put(ctt_row(b, to + x), ctt_row(a, from + x), n, 0);
    }
}

int K(halo_fwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    struct halo h = halo_of(c, &c->in[0], &c->out);
    int64_t give[2], put[2];
    int rc = 0;

    give[ABOVE] = 0;
    give[BELOW] = h.small->h - h.give[BELOW];
    put[ABOVE] = 0;
    put[BELOW] = h.large->h - h.more[BELOW];
    CTT_TRY(halo_open_messages(d, &h, 1));
    for (int s = ABOVE; s <= BELOW; s++)
        if (h.out[s])
            halo_pack(&h, h.small, give[s], h.give[s], h.out[s]);
    halo_move(d, &h, 0, 0);
    CTT_TRY(halo_swap(d, &h, 1));
    for (int s = ABOVE; s <= BELOW; s++)
        if (h.in[s])
            halo_unpack(&h, h.large, put[s], h.more[s], h.in[s], 0);
        else
            halo_clear(&h, h.large, put[s], h.more[s]);
out:
    return rc;
}

/* Sends gradients of other parts' rows back to these parts, which add them. */
int K(halo_bwd)(struct ctt_dev *d, const struct ctt_call *c)
{
    struct halo h = halo_of(c, &c->din[0], &c->dout);
    int add = (int)(c->add & 1), rc = 0;

    if (!c->din[0].data)
        goto out;
    CTT_TRY(halo_open_messages(d, &h, 0));
    if (h.out[ABOVE])
        halo_pack(&h, h.large, 0, h.more[ABOVE], h.out[ABOVE]);
    if (h.out[BELOW])
        halo_pack(&h, h.large, h.large->h - h.more[BELOW], h.more[BELOW],
                  h.out[BELOW]);
    halo_move(d, &h, 1, add);
    if (!add) {
        halo_clear(&h, h.small, 0, h.drop[ABOVE]);
        halo_clear(&h, h.small, h.small->h - h.drop[BELOW], h.drop[BELOW]);
    }
    CTT_TRY(halo_swap(d, &h, 0));
    if (h.in[ABOVE])
        halo_unpack(&h, h.small, 0, h.give[ABOVE], h.in[ABOVE], 1);
    if (h.in[BELOW])
        halo_unpack(&h, h.small, h.small->h - h.give[BELOW], h.give[BELOW],
                    h.in[BELOW], 1);
out:
    return rc;
}
