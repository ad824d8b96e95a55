/* SPDX-License-Identifier: Apache-2.0
 * int8_join.c: a depthwise conv of quantised values together with the 1x1 conv
 * that it reads: a few rows of a block of channels at a time, which stay in the
 * cache next to the core. */
#include "device/cpu/conv/chain/chain.h"

/* ROOM: bytes of the rows between the convs, so that they stay in the
 * first-level cache; LEAST: least rows of the result in a task. */
enum { ROOM = 20 << 10, LEAST = 14 };

/* The jobs of both convs, divided into images, bands of rows of the result and
 * blocks of channels; the ring of rows between the convs of each thread. */
struct join {
    const struct ctt_int8_isa *isa, *isa1;
    struct ctt_int8_job        j, first;
    int64_t                    bands;
    struct ctt_int8_band       band;      /* ring of thread 0 */
    int64_t                    left, right, pixel;    /* bytes */
};

/* 1 if the kernel slides along rows and columns only. */
static int is_flat(const struct ctt_node *n)
{
    return n->attr.conv.kernel[0] == 1 && n->attr.conv.stride[0] == 1 &&
           n->attr.conv.pad[0] == 0;
}

static int is_pixelwise(const struct ctt_node *n)
{
    const int *k = n->attr.conv.kernel, *s = n->attr.conv.stride;
    const int *pad = n->attr.conv.pad;

    for (int i = 1; i < 3; i++)
        if (k[i] != 1 || s[i] != 1 || pad[i] != 0)
            return 0;
    return is_flat(n) && n->attr.conv.groups == 1 && !n->plus;
}

int ctt_int8_may_join(const struct ctt_node *n, const struct ctt_node *next)
{
    int groups = next->attr.conv.groups;

    return is_pixelwise(n) && is_flat(next) && !ctt_is_dilated(next) &&
           !next->plus && groups > 1 &&
           groups == next->out.c && groups == n->out.c;
}

int ctt_int8_joins(const struct ctt_call *c)
{
    const struct ctt_call *f = c->chain;
    const struct ctt_int8_isa *isa, *isa1;

    if (c->links != 1 || !ctt_int8_may_join(f->node, c->node) ||
        !ctt_call_is_int8(f) || !ctt_chain_follows(f, c))
        return 0;
    isa = ctt_int8_best(c);
    isa1 = ctt_int8_best(f);
    return isa && isa1 && isa->filter && isa1->pixels &&
           isa->block == isa1->block && ctt_int8_plan(isa1, f).x;
}

/* ---- a task ---- */

/* Fills row `row` of an image of a block, with padding bytes of value 0. */
static void fill_row(const struct join *k, const struct ctt_int8_band *b,
                     int64_t image, int64_t row, int64_t block)
{
    const struct ctt_int8_job *j = &k->j;
    int64_t h = row - j->c->node->attr.conv.pad[1];
    uint8_t *to = b->x + row % b->deep * b->row;
    int zero = j->c->in[0].zero;

    if (h < 0 || h >= j->in[1]) {
        memset(to, zero, (size_t)b->row);
        return;
    }
    memset(to, zero, (size_t)k->left);
    k->isa1->pixels(&k->first, block, (image * j->in[1] + h) * j->in[2],
                    j->in[2], to + k->left);
    memset(to + b->row - k->right, zero, (size_t)k->right);
}

static void join_task(void *arg, int64_t task, int who)
{
    const struct join *k = arg;
    const struct ctt_int8_job *j = &k->j;
    struct ctt_int8_band b = k->band;
    int64_t block = task % j->blocks, at = task / j->blocks;
    int64_t image = at / k->bands, high = j->out[1];
    int64_t h = at % k->bands * high / k->bands, n;
    int64_t end = (at % k->bands + 1) * high / k->bands;
    int stride = j->c->node->attr.conv.stride[1];
    int64_t window = j->c->node->attr.conv.kernel[1], row = h * stride;
    int64_t most = (b.deep - window) / stride + 1;

    b.x += who * b.row * b.deep;
    for (; h < end; h += n) {
        n = end - h < most ? end - h : most;
        for (row = row < h * stride ? h * stride : row;
             row < (h + n - 1) * stride + window; row++)
            fill_row(k, &b, image, row, block);
        k->isa->filter(j, block, &b, h, n, (image * high + h) * j->out[2]);
    }
}

/* ---- all tasks ---- */

/* Bands of an image: one for each thread, and more if they are high, so that
 * idle threads can take over bands. */
static int64_t bands_of(const struct ctt_int8_job *j, int threads)
{
    int64_t many = j->out[1] / LEAST / threads * threads;

    many = many < threads ? threads : many;
    return threads == 1 ? 1 : many < j->out[1] ? many : j->out[1];
}

static void shape(struct join *k, int threads)
{
    const struct ctt_int8_job *j = &k->j;
    const int *pad = j->c->node->attr.conv.pad;
    const int *stride = j->c->node->attr.conv.stride;
    int64_t window = j->c->node->attr.conv.kernel[1], all, wide;
    struct ctt_int8_band *b = &k->band;

    k->bands = bands_of(j, threads);
    k->pixel = k->isa->block;
    wide = j->in[2] + pad[2];
    wide = wide > j->size[2] ? wide : j->size[2];
    k->left = pad[2] * k->pixel;
    k->right = (wide - pad[2] - j->in[2]) * k->pixel;
    b->row = wide * k->pixel;
    all = ((j->out[1] + k->bands - 1) / k->bands - 1) * stride[1] + window;
    b->deep = ROOM / b->row < all ? ROOM / b->row : all;
    b->deep = b->deep > window ? b->deep : window;
}

int ctt_int8_join(struct ctt_dev *d, const struct ctt_call *c,
                  struct ctt_int8_weights k[2])
{
    const struct ctt_call *f = c->chain;
    struct join l = { .isa = ctt_int8_best(c), .isa1 = ctt_int8_best(f) };
    double work = (double)ctt_volume(&f->out) *
                  (double)(f->in[0].c + 16) / 64;
    int threads = ctt_dev_team(d, work), rc = 0;

    CTT_TRY(ctt_int8_job(l.isa, d, c, &k[0], &l.j));
    CTT_TRY(ctt_int8_job(l.isa1, d, f, &k[1], &l.first));
    shape(&l, threads);
    l.band.x = ctt_dev_scratch(d, (size_t)(threads * l.band.row *
                                           l.band.deep));
    CTT_TRY(l.band.x ? 0 : CTT_ENOMEM);
    ctt_dev_tasks(d, threads, c->in[0].n * l.j.out[0] * l.bands * l.j.blocks,
                  join_task, &l);
out:
    return rc;
}
