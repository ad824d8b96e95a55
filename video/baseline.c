/* SPDX-License-Identifier: Apache-2.0
 * baseline.c: prediction by linear motion, from block matching. */
#include "video/baseline.h"
#include "base/ctt.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 8, REACH = 6, SIDE = 2 * REACH + 1, STEPS = SIDE * SIDE,
       FASTEST = 2 * REACH * REACH };

struct pictures { const float *prev, *last; int h, w, c; };

struct block { int y, x, h, w; };

struct step { int dy, dx; };

struct ctt_motion {
    struct pictures p;
    int             blocks;
    struct step    *step;    /* of each block */
    float          *bare;    /* the last picture without its moving blocks */
};

static int within(int v, int n)
{
    return v < 0 ? 0 : v < n ? v : n - 1;
}

static int speed(struct step m)
{
    return m.dy * m.dy + m.dx * m.dx;
}

/* Sum of absolute differences between the block in `last` and that at -m in
 * `prev`; stops above `most`.  Outside, border pixels are repeated. */
static double difference(const struct pictures *p, const struct block *b,
                         struct step m, double most)
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

/* All candidate steps of a block, slow ones first. */
static void list_steps(struct step to[STEPS])
{
    struct step m;
    int n = 0;

    for (int v = 0; v <= FASTEST; v++)
        for (m.dy = -REACH; m.dy <= REACH; m.dy++)
            for (m.dx = -REACH; m.dx <= REACH; m.dx++)
                if (speed(m) == v)
                    to[n++] = m;
}

/* The slowest of the steps with the least difference. */
static struct step best_step(const struct pictures *p, const struct block *b,
                             const struct step list[STEPS])
{
    struct step best = list[0];
    double least = difference(p, b, best, INFINITY);

    for (int i = 1; i < STEPS && least > 0; i++) {
        double d = difference(p, b, list[i], least);
        if (d < least) {
            best = list[i];
            least = d;
        }
    }
    return best;
}

/* Paints the block at its later position, clipped to the picture. */
static void paint(const struct pictures *p, const struct block *b,
                  struct step m, int ahead, float *out)
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

/* The column of the nearest pixel in row y whose block does not move, or x. */
static int still(const struct pictures *p, const struct step *m, int y, int x)
{
    for (int d = 1; d < p->w; d++) {
        if (x - d >= 0 && !speed(m[block_of(p, y, x - d)]))
            return x - d;
        if (x + d < p->w && !speed(m[block_of(p, y, x + d)]))
            return x + d;
    }
    return x;
}

/* Fills a moving block with the nearest pixels that do not move. */
static void uncover(const struct pictures *p, const struct block *b,
                    const struct step *m, float *out)
{
    for (int y = b->y; y < b->y + b->h; y++)
        for (int x = b->x; x < b->x + b->w; x++)
            memcpy(out + ((int64_t)y * p->w + x) * p->c,
                   p->last + ((int64_t)y * p->w + still(p, m, y, x)) * p->c,
                   (size_t)p->c * sizeof(float));
}

int ctt_motion_find(const float *prev, const float *last, int h, int w, int c,
                    struct ctt_motion **out)
{
    struct ctt_motion *m = ctt_calloc(1, sizeof(*m));
    size_t size = (size_t)h * (size_t)w * (size_t)c;
    struct step list[STEPS];
    struct block b;
    int rc = m ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    m->p = (struct pictures){ prev, last, h, w, c };
    m->blocks = (h + BLOCK - 1) / BLOCK * ((w + BLOCK - 1) / BLOCK);
    m->step = ctt_calloc((size_t)m->blocks + 1, sizeof(*m->step));
    m->bare = ctt_calloc(size + 1, sizeof(*m->bare));
    CTT_TRY(m->step && m->bare ? 0 : CTT_ENOMEM);
    list_steps(list);
    for (int i = 0; i < m->blocks; i++) {
        b = block_at(&m->p, i);
        m->step[i] = best_step(&m->p, &b, list);
    }
    memcpy(m->bare, last, size * sizeof(*last));
    for (int i = 0; i < m->blocks; i++) {
        b = block_at(&m->p, i);
        if (speed(m->step[i]))
            uncover(&m->p, &b, m->step, m->bare);
    }
    *out = m;
    m = NULL;
out:
    ctt_motion_free(&m);
    return rc;
}

void ctt_motion_free(struct ctt_motion **m)
{
    if (!*m)
        return;
    ctt_free((*m)->step);
    ctt_free((*m)->bare);
    ctt_free(*m);
    *m = NULL;
}

void ctt_motion_go_on(const struct ctt_motion *m, int ahead, float *out)
{
    const struct pictures *p = &m->p;

    memcpy(out, m->bare, (size_t)p->h * (size_t)p->w * (size_t)p->c *
           sizeof(*out));
    for (int v = 1; v <= FASTEST; v++)    /* unmoved blocks are in bare */
        for (int i = 0; i < m->blocks; i++) {
            struct block b = block_at(p, i);
            if (speed(m->step[i]) == v)
                paint(p, &b, m->step[i], ahead, out);
        }
}

int ctt_baseline_linear(const float *prev, const float *last, int h, int w,
                        int c, int ahead, float *out)
{
    struct ctt_motion *m = NULL;
    int rc;

    CTT_TRY(ctt_motion_find(prev, last, h, w, c, &m));
    ctt_motion_go_on(m, ahead, out);
out:
    ctt_motion_free(&m);
    return rc;
}
