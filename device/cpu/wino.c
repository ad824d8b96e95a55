/* SPDX-License-Identifier: Apache-2.0
 * wino.c: Winograd convolution: packed weights, blocks, threads. */
#include "device/cpu/wino.h"
#include "device/cpu/wino_plan.h"

#include <string.h>

#ifdef _OPENMP
#include <omp.h>
#define CTT_THREAD omp_get_thread_num()
#else
#define CTT_THREAD 0
#endif

/* G of the points 0, 1, -1, 2, -2, infinity, and with 1/2, -1/2: a window's
 * coefficients to its frequencies.  The factors belong to the input and output
 * transforms of wino_tmpl.h. */
static const float g6[6][3] = {
    { 1 / 4.f, 0, 0 },
    { -1 / 6.f, -1 / 6.f, -1 / 6.f },
    { -1 / 6.f, 1 / 6.f, -1 / 6.f },
    { 1 / 24.f, 1 / 12.f, 1 / 6.f },
    { 1 / 24.f, -1 / 12.f, 1 / 6.f },
    { 0, 0, 1 },
};
static const float g8[8][5] = {
    { 1, 0, 0, 0, 0 },
    { -2 / 9.f, -2 / 9.f, -2 / 9.f, -2 / 9.f, -2 / 9.f },
    { -2 / 9.f, 2 / 9.f, -2 / 9.f, 2 / 9.f, -2 / 9.f },
    { 1 / 90.f, 2 / 90.f, 4 / 90.f, 8 / 90.f, 16 / 90.f },
    { 1 / 90.f, -2 / 90.f, 4 / 90.f, -8 / 90.f, 16 / 90.f },
    { 4 / 45.f, 2 / 45.f, 1 / 45.f, 1 / 90.f, 1 / 180.f },
    { 4 / 45.f, -2 / 45.f, 1 / 45.f, -1 / 90.f, 1 / 180.f },
    { 0, 0, 0, 0, 1 },
};

static const float *g_row(int r, int i)
{
    return r == 3 ? g6[i] : g8[i];
}

const struct ctt_wino_isa *ctt_wino_best(void)
{
    static const struct ctt_wino_isa *const all[] = { &ctt_wino_avx512,
                                                      &ctt_wino_avx2 };

    for (size_t i = 0; i < CTT_LEN(all); i++)
        if (all[i]->supported())
            return all[i];
    return NULL;
}

int ctt_wino_can(const struct ctt_node *n)
{
    const int *k = n->attr.conv.kernel, *s = n->attr.conv.stride;
    const int *p = n->attr.conv.pad;

    return n->op == CTT_OP_CONV && k[0] == 1 && k[1] == k[2] &&
           (k[1] == 3 || k[1] == 5) && s[0] == 1 && s[1] == 1 && s[2] == 1 &&
           p[0] == 0 && p[1] < k[1] && p[2] < k[2];
}

/* Images in depth are as good as images in n, for a window without depth. */
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

/* A block's transformed input should stay in half a megabyte; it must not be
 * so large that threads have nothing to do. */
static int64_t block_of(const struct ctt_wino_isa *i,
                        const struct ctt_wino_shape *s, int threads,
                        int64_t bytes)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, 0);
    int64_t b = bytes / (p.freqs * p.cp * (int64_t)sizeof(float));
    int64_t share = (p.tiles + threads - 1) / threads;

    b = b < 14 ? 14 : b > 112 ? 112 : b / 14 * 14;
    return b < share ? b : share < 4 ? 4 : share;
}

enum { CONV_BYTES = 400 << 10, GRAD_BYTES = 800 << 10 };

static int64_t conv_block(const struct ctt_wino_isa *i,
                          const struct ctt_wino_shape *s, int threads)
{
    return block_of(i, s, threads, CONV_BYTES);
}

static int64_t grad_block(const struct ctt_wino_isa *i,
                          const struct ctt_wino_shape *s, int threads)
{
    return block_of(i, s, threads, GRAD_BYTES);
}

int64_t ctt_wino_packed(const struct ctt_wino_isa *i,
                        const struct ctt_wino_shape *s)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, 0);

    return p.panels * p.freqs * p.c * 2 * i->lanes;
}

static int64_t conv_room(const struct ctt_wino_isa *i,
                         const struct ctt_wino_shape *s, int64_t block)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, block);

    return ctt_align(p.freqs * block * (p.cp + 2 * i->lanes), 16);
}

int64_t ctt_wino_scratch(const struct ctt_wino_isa *i,
                         const struct ctt_wino_shape *s, int threads)
{
    return conv_room(i, s, conv_block(i, s, threads)) * threads;
}

/* Of a thread: its sum in the transform domain and the block. */
static int64_t grad_sum(const struct ctt_wino_isa *i,
                        const struct ctt_wino_shape *s)
{
    return ctt_align(ctt_wino_packed(i, s), 16);
}

static int64_t grad_room(const struct ctt_wino_isa *i,
                         const struct ctt_wino_shape *s, int64_t block)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, block);

    return ctt_align(p.freqs * block * (p.cp + p.panels * 2 * i->lanes), 16);
}

int64_t ctt_wino_grad_scratch(const struct ctt_wino_isa *i,
                              const struct ctt_wino_shape *s, int threads)
{
    int64_t block = grad_block(i, s, threads);

    return (grad_sum(i, s) + grad_room(i, s, block)) * threads;
}

/* The r x r window from channel c to channel k of the convolution s, out of the
 * forward weights (out,r,r,in). */
static void window(const struct ctt_wino_shape *s, const float *w, int turned,
                   int64_t c, int64_t k, float out[25])
{
    int taps = s->r * s->r;
    int64_t in = turned ? s->k : s->c;

    for (int t = 0; t < taps; t++)
        out[t] = turned ? w[(c * taps + taps - 1 - t) * in + k]
                        : w[(k * taps + t) * in + c];
}

/* u[f], stride apart, = G window G^T. */
static void forth(int r, const float win[25], float *u, int64_t stride)
{
    int side = r + 3;
    float half[8][5];

    for (int i = 0; i < side; i++)
        for (int b = 0; b < r; b++) {
            half[i][b] = 0;
            for (int a = 0; a < r; a++)
                half[i][b] += g_row(r, i)[a] * win[a * r + b];
        }
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            float sum = 0;
            for (int b = 0; b < r; b++)
                sum += half[i][b] * g_row(r, j)[b];
            u[(i * side + j) * stride] = sum;
        }
}

/* win = G^T u G: the gradient of a window from that of its frequencies. */
static void back(int r, const float *u, int64_t stride, float win[25])
{
    int side = r + 3;
    float half[5][8];

    for (int a = 0; a < r; a++)
        for (int j = 0; j < side; j++) {
            half[a][j] = 0;
            for (int i = 0; i < side; i++)
                half[a][j] += g_row(r, i)[a] * u[(i * side + j) * stride];
        }
    for (int a = 0; a < r; a++)
        for (int b = 0; b < r; b++) {
            win[a * r + b] = 0;
            for (int j = 0; j < side; j++)
                win[a * r + b] += half[a][j] * g_row(r, j)[b];
        }
}

void ctt_wino_pack(const struct ctt_wino_isa *i, const struct ctt_wino_shape *s,
                   const float *w, int turned, int threads, float *u)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, 0);
    int64_t wide = 2 * i->lanes;

#pragma omp parallel for collapse(2) num_threads(threads) schedule(static)
    for (int64_t k = 0; k < p.panels * wide; k++) {
        for (int64_t c = 0; c < p.c; c++) {
            float win[25] = { 0 };
            if (k < s->k)
                window(s, w, turned, c, k, win);
            forth(s->r, win, u + (k / wide * p.freqs * p.c + c) * wide +
                  k % wide, p.c * wide);
        }
    }
}

void ctt_wino_conv(const struct ctt_wino_isa *i, const struct ctt_wino_shape *s,
                   const float *x, int64_t ldx, const float *u, float *y,
                   int64_t ldy, const struct ctt_wino_end *end, int threads,
                   float *scratch)
{
    int64_t block = conv_block(i, s, threads), room = conv_room(i, s, block);
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, block);
    int64_t blocks = (p.tiles + block - 1) / block;
    int groups = blocks >= threads ? 1 : (int)(threads / blocks);

    groups = groups > p.panels ? (int)p.panels : groups;
#pragma omp parallel num_threads(threads)
    {
        float *mine = scratch + CTT_THREAD * room;
#pragma omp for schedule(static)
        for (int64_t item = 0; item < blocks * groups; item++)
            i->conv(s, (int)item, groups, block, x, ldx, u, y, ldy, end, mine);
    }
}

/* dw (k,r,r,c) += what the threads have summed, in their order. */
static void collect(const struct ctt_wino_isa *i,
                    const struct ctt_wino_shape *s, float *sum, int64_t room,
                    int threads, float *dw)
{
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, 0);
    int64_t kp = p.panels * 2 * i->lanes, taps = s->r * s->r;

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t c = 0; c < p.c; c++) {
        for (int f = 0; f < p.freqs; f++) {
            float *to = sum + (f * p.c + c) * kp;
            for (int t = 1; t < threads; t++)
                for (int64_t k = 0; k < kp; k++)
                    to[k] += to[t * room + k];
        }
        for (int64_t k = 0; k < s->k; k++) {
            float win[25];
            back(s->r, sum + c * kp + k, p.c * kp, win);
            for (int64_t t = 0; t < taps; t++)
                dw[(k * taps + t) * s->c + c] += win[t];
        }
    }
}

void ctt_wino_grad(const struct ctt_wino_isa *i, const struct ctt_wino_shape *s,
                   const float *x, int64_t ldx, const float *dy, int64_t lddy,
                   float *dw, int threads, float *scratch)
{
    int64_t block = grad_block(i, s, threads), sum = grad_sum(i, s);
    int64_t room = sum + grad_room(i, s, block);
    struct ctt_wino_plan p = ctt_wino_plan(s, i->lanes, block);

#pragma omp parallel for num_threads(threads) schedule(static)
    for (int t = 0; t < threads; t++) {
        float *mine = scratch + t * room;
        int64_t to = p.tiles * (t + 1) / threads;
        memset(mine, 0, (size_t)sum * sizeof(float));
        for (int64_t at = p.tiles * t / threads; at < to; at += block)
            i->grad(s, at, at + block < to ? at + block : to, block, x, ldx,
                    dy, lddy, mine, mine + sum);
    }
    collect(i, s, scratch, room, threads, dw);
}
