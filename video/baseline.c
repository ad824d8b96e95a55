/* SPDX-License-Identifier: Apache-2.0
 * baseline.c: linear motion by block matching: what a prediction that has
 * learnt something must beat. */
#include "video/baseline.h"
#include "net/ctt.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 8, REACH = 6, FASTEST = 2 * REACH * REACH };

struct pictures { const float *prev, *last; int h, w, c; };

struct block { int y, x, h, w; };

struct motion { int dy, dx; };

static int within(int v, int n)
{
    return v < 0 ? 0 : v < n ? v : n - 1;
}

static int speed(struct motion m)
{
    return m.dy * m.dy + m.dx * m.dx;
}

/* How different the block is from what lay at -m, up to `most`; outside, the
 * picture goes on as at its border. */
static double difference(const struct pictures *p, const struct block *b,
                         struct motion m, double most)
{
    double sum = 0;

    for (int y = b->y; y < b->y + b->h && sum <= most; y++)
        for (int x = b->x; x < b->x + b->w; x++) {
            int64_t from = (int64_t)within(y - m.dy, p->h) * p->w +
                           within(x - m.dx, p->w);
            const float *was = p->prev + from * p->c;
            const float *is = p->last + ((int64_t)y * p->w + x) * p->c;
            for (int k = 0; k < p->c; k++)
                sum += (double)fabsf(is[k] - was[k]);
        }
    return sum;
}

static struct motion find(const struct pictures *p, const struct block *b)
{
    struct motion best = { 0, 0 }, m;
    double least = difference(p, b, best, INFINITY);

    for (m.dy = -REACH; m.dy <= REACH; m.dy++)
        for (m.dx = -REACH; m.dx <= REACH; m.dx++) {
            double d = difference(p, b, m, least);
            if (d < least || (d <= least && speed(m) < speed(best))) {
                best = m;
                least = d;
            }
        }
    return best;
}

/* Paints the block where it will be; what leaves the picture is gone. */
static void paint(const struct pictures *p, const struct block *b,
                  struct motion m, int ahead, float *out)
{
    for (int y = b->y; y < b->y + b->h; y++)
        for (int x = b->x; x < b->x + b->w; x++) {
            int64_t v = y + (int64_t)ahead * m.dy;
            int64_t u = x + (int64_t)ahead * m.dx;
            if (v >= 0 && v < p->h && u >= 0 && u < p->w)
                memcpy(out + (v * p->w + u) * p->c,
                       p->last + ((int64_t)y * p->w + x) * p->c,
                       (size_t)p->c * sizeof(float));
        }
}

static struct block block_at(const struct pictures *p, int i)
{
    int across = (p->w + BLOCK - 1) / BLOCK;
    struct block b = { i / across * BLOCK, i % across * BLOCK, BLOCK, BLOCK };

    b.h = b.y + BLOCK < p->h ? BLOCK : p->h - b.y;
    b.w = b.x + BLOCK < p->w ? BLOCK : p->w - b.x;
    return b;
}

static int block_of(const struct pictures *p, int y, int x)
{
    return y / BLOCK * ((p->w + BLOCK - 1) / BLOCK) + x / BLOCK;
}

/* The column of the nearest pixel of row y that lies in a still block, or x. */
static int still(const struct pictures *p, const struct motion *m, int y, int x)
{
    for (int d = 1; d < p->w; d++) {
        if (x - d >= 0 && !speed(m[block_of(p, y, x - d)]))
            return x - d;
        if (x + d < p->w && !speed(m[block_of(p, y, x + d)]))
            return x + d;
    }
    return x;
}

/* Where a block has gone, what is beside it is thought to go on behind it. */
static void uncover(const struct pictures *p, const struct block *b,
                    const struct motion *m, float *out)
{
    for (int y = b->y; y < b->y + b->h; y++)
        for (int x = b->x; x < b->x + b->w; x++)
            memcpy(out + ((int64_t)y * p->w + x) * p->c,
                   p->last + ((int64_t)y * p->w + still(p, m, y, x)) * p->c,
                   (size_t)p->c * sizeof(float));
}

int ctt_baseline_linear(const float *prev, const float *last, int h, int w,
                        int c, int ahead, float *out)
{
    const struct pictures p = { prev, last, h, w, c };
    int count = (h + BLOCK - 1) / BLOCK * ((w + BLOCK - 1) / BLOCK), rc = 0;
    struct motion *m = ctt_calloc((size_t)count + 1, sizeof(*m));
    struct block b;

    CTT_TRY(m ? 0 : CTT_ENOMEM);
    for (int i = 0; i < count; i++) {
        b = block_at(&p, i);
        m[i] = find(&p, &b);
    }
    memcpy(out, last, (size_t)h * (size_t)w * (size_t)c * sizeof(*out));
    for (int v = 0; v <= FASTEST; v++)    /* still blocks are there already */
        for (int i = 0; i < count; i++) {
            b = block_at(&p, i);
            if (!v && speed(m[i]))
                uncover(&p, &b, m, out);
            else if (v && speed(m[i]) == v)
                paint(&p, &b, m[i], ahead, out);
        }
out:
    ctt_free(m);
    return rc;
}
