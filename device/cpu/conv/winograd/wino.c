/* SPDX-License-Identifier: Apache-2.0
 * wino.c: Winograd convolution: packed weights, blocks, threads. */
#include "device/cpu/conv/winograd/wino.h"
#include "device/cpu/conv/winograd/wino_plan.h"
#include "device/dev.h"

#include <string.h>

const struct ctt_wino_isa *ctt_wino_best(void)
{
    static const struct ctt_wino_isa *const all[] = { &ctt_wino_avx512,
                                                      &ctt_wino_avx2 };

    for (size_t i = 0; i < CTT_LEN(all); i++)
        if (all[i]->supported())
            return all[i];
    return NULL;
}

/* For a window of depth 1, planes in depth count as images. */
struct ctt_wino_shape ctt_wino_fwd_shape(const struct ctt_node *n,
                                         const struct ctt_tensor *x)
{
    const int *p = n->attr.conv.pad;

    return (struct ctt_wino_shape){ x->n * x->d, x->h, x->w, x->c,
        n->attr.conv.out, n->attr.conv.kernel[1], p[1], p[2] };
}

struct ctt_wino_shape ctt_wino_din_shape(const struct ctt_node *n,
                                         const struct ctt_tensor *x)
{
    struct ctt_wino_shape s = ctt_wino_fwd_shape(n, x);
    int64_t c = s.c;

    s.h += 2 * s.pad_h - s.r + 1;
    s.w += 2 * s.pad_w - s.r + 1;
    s.c = s.k;
    s.k = c;
    s.pad_h = s.r - 1 - s.pad_h;
    s.pad_w = s.r - 1 - s.pad_w;
    return s;
}

/* Blocks should fit into half a megabyte and give threads equal shares: a few
 * large blocks or, for little work, many small ones. */
enum { BYTES = 384 << 10, LEAST = 14, MOST = 112 };

static int64_t even_block(int64_t tiles, int64_t floats, int parts)
{
    int64_t most = BYTES / (floats * (int64_t)sizeof(float)), blocks;

    most = most < LEAST ? LEAST : most > MOST ? MOST : most;
    blocks = (tiles + most - 1) / most;
    if (tiles >= 4 * parts)
        blocks = ctt_align(blocks, parts);
    return (tiles + blocks - 1) / blocks;
}

static int64_t conv_block(const struct ctt_wino_isa *i,
                          const struct ctt_wino_shape *s, int threads)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, 0);
    int64_t wide = p.kp < 2 * i->lanes ? p.kp : 2 * i->lanes;

    if (s->windows)
        return p.tiles;
    return even_block(p.tiles, p.freqs * (p.cp + wide), threads);
}

/* Tiles of a gradient that are transformed together.  Blocks may be larger, as
 * the sums exceed the cache anyway. */
static int64_t grad_block(const struct ctt_wino_isa *i,
                          const struct ctt_wino_shape *s, int64_t tiles)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, 0);

    return even_block(tiles, p.freqs * p.cp / 2, 1);
}

enum { FEW = 32, LONG = 4 << 20 };

int ctt_wino_few_tiles(const struct ctt_wino_isa *i,
                       const struct ctt_wino_shape *s)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, 0);

    return !s->c2 && !s->hidden && p.kp == p.panels * 2 * i->lanes &&
           p.tiles <= FEW && p.freqs * p.c * p.kp >=
                             LONG / (int64_t)sizeof(float);
}

int64_t ctt_wino_packed(const struct ctt_wino_isa *i,
                        const struct ctt_wino_shape *s)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, 0);

    if (s->windows)
        return s->r * s->r * p.c * p.kp;
    return p.freqs * ctt_align(p.c, 2) * p.kp;
}

static int64_t conv_room(const struct ctt_wino_isa *i,
                         const struct ctt_wino_shape *s, int64_t block)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, block);
    int64_t chunk = s->windows ? ctt_wino_step(CTT_WINO_CHUNK * 2 * i->lanes)
                               : 0;

    return p.freqs * (ctt_wino_step(block * p.cp) +
                      ctt_wino_step(block * 2 * i->lanes) + chunk);
}

int64_t ctt_wino_scratch(const struct ctt_wino_isa *i,
                         const struct ctt_wino_shape *s, int threads)
{
    return conv_room(i, s, conv_block(i, s, threads)) * threads;
}

/* A gradient of the weights is the sum of those of some parts of the tiles.
 * Their number depends on the shape alone, as it decides the order of the
 * sum. */
enum { PARTS = 8, PART_TILES = 256, PART_BYTES = 8 << 20 };

static int64_t part_floats(const struct ctt_wino_isa *i,
                           const struct ctt_wino_shape *s)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, 0);

    return ctt_align(p.kp, i->lanes) * p.c * s->r * s->r;
}

static int grad_parts(const struct ctt_wino_isa *i,
                      const struct ctt_wino_shape *s)
{
    int64_t tiles = ctt_wino_plan(s, i->lanes, 0).tiles, parts = PARTS;
    int64_t bytes = s->k * s->c * s->r * s->r * (int64_t)sizeof(float);

    while (parts > 1 && (parts * PART_TILES > tiles ||
                         parts * bytes > PART_BYTES))
        parts /= 2;
    return (int)parts;
}

/* Columns of panels whose products take as long as to transform x: with AVX-512
 * 8 and less were measured, with AVX2 11 to 16. */
enum { COLUMNS = 8 };

/* Into how many shares of its panels a part is divided: the number with which
 * the thread that has most is done first.  Each share transforms all x. */
static int grad_groups(const struct ctt_wino_isa *i,
                       const struct ctt_wino_shape *s, int threads)
{
    int64_t panels = ctt_wino_plan(s, i->lanes, 0).panels, least = INT64_MAX;
    int parts = grad_parts(i, s), best = 1;

    for (int n = 1; n <= panels && n <= 3 * threads; n++) {
        int64_t items = (parts * n + threads - 1) / threads;
        int64_t most = (items * panels + n - 1) / n;
        int64_t cost = items * COLUMNS + most * 2 * i->lanes;

        if (cost < least) {
            least = cost;
            best = n;
        }
    }
    return best;
}

/* Floats of a share's sums in the transform domain, and, for one thread, with
 * the transforms of a block. */
static int64_t grad_sum(const struct ctt_wino_isa *i,
                        const struct ctt_wino_shape *s, int groups)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, 0);

    return p.freqs * p.c * 2 * i->lanes * ((p.panels + groups - 1) / groups);
}

static int64_t grad_room(const struct ctt_wino_isa *i,
                         const struct ctt_wino_shape *s, int groups)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, 0);
    int64_t block = grad_block(i, s, p.tiles / grad_parts(i, s) + 1);

    return grad_sum(i, s, groups) +
           p.freqs * (ctt_wino_step(block * p.cp) +
                      ctt_wino_step(block * 2 * i->lanes));
}

int64_t ctt_wino_grad_scratch(const struct ctt_wino_isa *i,
                              const struct ctt_wino_shape *s, int threads)
{
    return threads * grad_room(i, s, grad_groups(i, s, threads)) +
           ctt_align(grad_parts(i, s) * part_floats(i, s), 16);
}

/* Windows of a register, [tap][lane], and their frequencies. */
enum { LANES_MOST = 16, NEAR = 16 };
struct windows {
    float win[25 * LANES_MOST], u[64 * LANES_MOST];
    float near[25 * LANES_MOST * NEAR];
};

/* One of two summed convs: its weights (out,r,r,in), and the index of its first
 * channel among both convs' channels. */
struct part {
    const float *w;
    int64_t      in, first;
    int          turned;
};

/* Copies the part's weights of NEAR channels from c on, [lane][tap][channel]:
 * where they come from they are powers of two apart, so that they would put
 * each other out of the cache. */
static void bring_near(const struct ctt_wino_shape *s, const struct part *p,
                       int lanes, int64_t c, int64_t j, float *near)
{
    int64_t from = c > p->first ? c : p->first, end = p->first + p->in, n;
    int taps = s->r * s->r;

    n = (end < c + NEAR ? end : c + NEAR) - from;
    for (int l = 0; l < lanes && n > 0; l++, near += taps * NEAR) {
        int64_t k = ctt_wino_channel(s, lanes, j + l);

        for (int t = 0; t < taps && k >= 0; t++) {
            const float *x = p->w + (k * taps + t) * p->in + from - p->first;
            float *to = near + t * NEAR + from - c;

            if (n == NEAR)    /* no call of a function */
                memcpy(to, x, NEAR * sizeof(*to));
            else
                memcpy(to, x, (size_t)n * sizeof(*to));
        }
    }
}

/* Reads windows: lane l is the window from channel c to the channel of column j
 * + l, or zeros. */
static void read_windows(const struct ctt_wino_shape *s, const struct part *p,
                         int lanes, int64_t c, int64_t j, struct windows *x)
{
    int taps = s->r * s->r;
    int64_t step = p->turned ? -p->in : NEAR;

    for (int l = 0; l < lanes; l++) {
        int64_t k = ctt_wino_channel(s, lanes, j + l);
        const float *from = p->turned ? p->w + (c * taps + taps - 1) * p->in + k
                                      : x->near + l * taps * NEAR + c % NEAR;

        for (int t = 0; t < taps; t++)
            x->win[t * lanes + l] = k < 0 ? 0 : from[t * step];
    }
}

/* Stores the weights of channel c in a panel of half a register: [freq][pair of
 * channels][column][channel of the pair]. */
static void put_half(const struct ctt_wino_shape *s,
                     const struct ctt_wino_plan *p, int lanes, int64_t c,
                     const float *u, float *to)
{
    int64_t half = lanes / 2, slab = ctt_wino_slab(s, lanes, half);

    to += c / 2 * lanes + c % 2;
    for (int f = 0; f < p->freqs; f++)
        for (int64_t k = 0; k < half; k++) {
            to[f * slab + 2 * k] = u[f * lanes + k];
            if (c == p->c - 1 && c % 2 == 0)
                to[f * slab + 2 * k + 1] = 0;
        }
}

/* Stores the windows of channel c to register j:
 * [panel][channel][register][tap][lane]. */
static void put_windows(const struct ctt_wino_shape *s, int lanes, int64_t j,
                        int64_t c, const float *win, float *u)
{
    int64_t n = s->r * s->r * lanes;

    memcpy(u + ((j / 2 * s->c + c) * 2 + j % 2) * n, win,
           (size_t)n * sizeof(*u));
}

/* Packs the windows from channel c to the columns of register j. */
static void pack_windows(const struct ctt_wino_isa *i,
                         const struct ctt_wino_shape *s,
                         const struct ctt_wino_plan *p, int64_t c, int64_t j,
                         struct windows *x, float *u)
{
    int64_t panel = 2 * i->lanes, q = j / panel;
    int64_t width = ctt_wino_width(s, i->lanes, q);
    float *to = u + q * p->freqs * p->c * panel;

    if (s->windows) {
        put_windows(s, i->lanes, j / i->lanes, c, x->win, u);
        return;
    }
    i->forth(p->side, x->win, x->u, i->lanes);
    if (width < i->lanes)
        put_half(s, p, i->lanes, c, x->u, to);
    for (int f = 0; f < p->freqs && width >= i->lanes; f++)
        memcpy(to + (f * p->c + c) * width + j % panel, x->u + f * i->lanes,
               (size_t)i->lanes * sizeof(float));
}

void ctt_wino_pack(const struct ctt_wino_isa *i, const struct ctt_wino_shape *s,
                   const float *w, const float *w2, int turned, int threads,
                   float *u)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, 0);
    struct part part[2] = { { w, turned ? s->k : s->c, 0, turned },
                            { w2, s->c2, s->c, turned } };

#pragma omp parallel for collapse(2) num_threads(threads) schedule(static)
    for (int64_t j = 0; j < p.kp; j += i->lanes)
        for (int64_t first = 0; first < p.c; first += NEAR) {
            struct windows x;

            for (int k = 0; k < 2 && !turned; k++)
                bring_near(s, &part[k], i->lanes, first, j, x.near);
            for (int64_t c = first; c < p.c && c < first + NEAR; c++) {
                read_windows(s, &part[c >= s->c], i->lanes, c, j, &x);
                pack_windows(i, s, &p, c, j, &x, u);
            }
        }
}

/* 1 if results bypass the caches: they exceed the caches, and are whole cache
 * lines. */
static int is_far(const struct ctt_wino_isa *i, const struct ctt_wino_job *j,
                  const struct ctt_wino_plan *p)
{
    enum { FAR = 24 << 20 };
    int64_t line = 64 / (int64_t)sizeof(float);

    return i->lanes == line && j->ldy % line == 0 && !j->end->plus &&
           !j->end->add && !j->s->hidden && (uintptr_t)j->y % 64 == 0 &&
           p->tiles * p->tile * p->tile * j->s->k >
               FAR / (int64_t)sizeof(float);
}

struct items {
    const struct ctt_wino_isa *isa;
    const struct ctt_wino_job *j;
    int                        groups;
    int64_t                    block, room;
    float                     *scratch;
};

static void run_item(void *arg, int64_t item, int who)
{
    const struct items *i = arg;

    i->isa->conv(i->j, (int)item, i->groups, i->block,
                 i->scratch + who * i->room);
}

void ctt_wino_conv(const struct ctt_wino_isa *i, const struct ctt_wino_job *j,
                   int threads, float *scratch)
{
    struct ctt_wino_job job = *j;
    int64_t block = conv_block(i, j->s, threads);
    int64_t room = conv_room(i, j->s, block);
    struct ctt_wino_plan p = ctt_wino_plan(j->s, i->lanes, block);
    int64_t blocks = (p.tiles + block - 1) / block;
    int groups = blocks >= threads ? 1 : (int)(threads / blocks);

    groups = groups > p.panels ? (int)p.panels : groups;
    job.far = is_far(i, j, &p);
    ctt_dev_tasks(j->dev, threads, blocks * groups, run_item,
                  &(struct items){ i, &job, groups, block, room, scratch });
}

/* ---- the gradient of the weights ---- */

struct grad {
    const struct ctt_wino_isa  *isa;
    const struct ctt_wino_back *b;
    int                         parts, groups;
    int64_t                     room, each;    /* floats: a thread, a part */
    float                      *win, *scratch, *dw;
};

/* Transforms the sums of register j of the panels, du from panel `from` on,
 * back to the windows [channel][tap][lane]. */
static void put_register(const struct grad *g, const struct ctt_wino_plan *p,
                         int64_t j, int64_t from, const float *du, float *win)
{
    const struct ctt_wino_shape *s = g->b->s;
    int64_t lanes = g->isa->lanes, panel = 2 * lanes, q = j / panel;
    int64_t width = ctt_wino_width(s, (int)lanes, q);
    size_t n = (size_t)(width < lanes ? width : lanes) * sizeof(float);
    float u[64 * LANES_MOST] = { 0 };

    du += (q - from) * p->freqs * p->c * panel + j % panel;
    for (int64_t c = 0; c < p->c; c++, win += s->r * s->r * lanes) {
        for (int f = 0; f < p->freqs; f++)
            memcpy(u + f * lanes, du + (f * p->c + c) * width, n);
        g->isa->back(p->side, u, win);
    }
}

/* Some panels of a part; no thread reads what another writes. */
static void part_item(void *arg, int64_t item, int who)
{
    const struct grad *g = arg;
    const struct ctt_wino_shape *s = g->b->s;
    int64_t lanes = g->isa->lanes, part = item / g->groups;
    struct ctt_wino_plan p = ctt_wino_plan(s, (int)lanes, 0);
    int64_t share = item % g->groups, taps = s->r * s->r;
    int64_t from = p.panels * share / g->groups;
    int64_t to = p.panels * (share + 1) / g->groups;
    float *du = g->scratch + who * g->room;
    float *win = g->win + part * g->each;

    g->isa->grad(g->b, p.tiles * part / g->parts,
                 p.tiles * (part + 1) / g->parts, from, to, du,
                 du + grad_sum(g->isa, s, g->groups));
    for (int64_t j = from * 2 * lanes; j < to * 2 * lanes && j < p.kp;
         j += lanes)
        put_register(g, &p, j, from, du, win + j * p.c * taps);
}

/* Adds the parts' windows of channel c and a register to dw (k,r,r,c). */
static void add_item(void *arg, int64_t item, int who)
{
    const struct grad *g = arg;
    const struct ctt_wino_shape *s = g->b->s;
    int64_t lanes = g->isa->lanes, taps = s->r * s->r;
    int64_t j = item / s->c * lanes, c = item % s->c;
    int64_t n = s->k - j < lanes ? s->k - j : lanes;
    const float *win = g->win + item * taps * lanes;
    float *dw = g->dw + j * taps * s->c + c;

    (void)who;
    for (int64_t k = 0; k < n; k++)
        for (int64_t t = 0; t < taps; t++) {
            float sum = 0;
            for (int part = 0; part < g->parts; part++)
                sum += win[part * g->each + t * lanes + k];
            dw[(k * taps + t) * s->c] += sum;
        }
}

void ctt_wino_grad(const struct ctt_wino_isa *i, struct ctt_wino_back *b,
                   int threads, float *scratch, float *dw)
{
    struct ctt_wino_plan p = ctt_wino_plan(b->s, i->lanes, 0);
    int parts = grad_parts(i, b->s), groups = grad_groups(i, b->s, threads);
    int64_t room = grad_room(i, b->s, groups);
    struct grad g = { i, b, parts, groups, room, part_floats(i, b->s),
                      scratch + threads * room, scratch, dw };

    b->block = grad_block(i, b->s, p.tiles / parts + 1);
    ctt_dev_tasks(b->dev, threads, parts * g.groups, part_item, &g);
    ctt_dev_tasks(b->dev, threads, (b->s->k + i->lanes - 1) / i->lanes *
                  b->s->c, add_item, &g);
}
