/* SPDX-License-Identifier: Apache-2.0
 * cores.cu: cores of tensor trains (Su et al. 2020): small convs of 8 channels,
 * each with the sums that it reads and adds, in one kernel.  A block computes a
 * tile of one image; a thread two pixels of it. */
#include "device/cuda/cores.h"
#include "device/cuda/kernel/walk.cuh"

enum { C = CTT_CORE_CHANNELS, WIDE = 32, HIGH = 16, MOST = CTT_CORE_KERNEL,
       EDGE = (WIDE + MOST - 1) * (HIGH + MOST - 1), HALF = C / 2,
       PIXELS = WIDE * HIGH / CTT_THREADS };

struct terms {
    struct view  x[CTT_MAX_IN];
    const float *bias;
    int          n;
    unsigned     add;
};

/* Forward y = conv(x) + bias + plus, where x may be the sum `head`, which is
 * stored there; backward x is the gradient of y and y that of x, and `plus` and
 * `head` are the gradients of the terms. */
struct core {
    struct view  x, y;
    const void  *w;
    const float *bias;
    struct terms head, plus;
    int64_t      tiles;
    int          w16, k, h, wide, across, down, back, add;
};

/* An image of the tile and its border, and the kernel by tap, input and output
 * channel. */
struct core_tile {
    cells<float, HALF> x[2][EDGE];
    float              w[MOST * MOST * C * C];
};

template <class N>
static __device__ __forceinline__ void sum_terms(const struct terms &t,
                                                 struct spot s, float *v)
{
    for (int k = 0; k < t.n; k++) {
        float b[N::V];
        typename N::got(t.x[k], s).give(b);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            v[i] += b[i];
    }
    for (int i = 0; t.bias && i < N::V; i++)
        v[i] += t.bias[i];
}

template <class N>
static __device__ __forceinline__ void give_terms(const struct terms &t,
                                                  struct spot s,
                                                  const float *v)
{
    for (int k = 0; k < t.n; k++) {
        float b[N::V];
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            b[i] = v[i];
        if (t.x[k].p)
            N::put(t.x[k], s, b, (int)(t.add >> k & 1));
    }
}

/* Rounds as a stored number. */
template <class T, int V> CTT_GPU void round_as(num<T, V>, float *v)
{
    widen<T, V>(narrowed<T, V>(v), v);
}
CTT_GPU void round_as(num<some, 8>, float *) { }    /* checked: fp32 */

CTT_GPU float weight_at(const struct core &f, int64_t i)
{
    struct view v = { (void *)f.w, 0, f.w16 };
    struct spot s = { 0, i };
    float x;

    num<some, 1>::got(v, s).give(&x);
    return x;
}

/* The gradient of the input is a conv with the kernel turned round. */
static __device__ void load_kernel(const struct core &f, struct core_tile *t)
{
    int taps = f.k * f.k;

    for (int i = threadIdx.x; i < taps * C * C; i += CTT_THREADS) {
        int out = i % C, in = i / C % C, tap = i / (C * C);
        int64_t at = f.back ? ((int64_t)in * taps + taps - 1 - tap) * C + out
                            : ((int64_t)out * taps + tap) * C + in;
        t->w[i] = weight_at(f, at);
    }
}

template <class N>
static __device__ void load_tile(const struct core &f, int64_t image, int top,
                                 int left, struct core_tile *t)
{
    int border = f.k / 2, across = WIDE + f.k - 1;

    for (int i = threadIdx.x; i < across * (HIGH + f.k - 1);
         i += CTT_THREADS) {
        int row = top + i / across - border, col = left + i % across - border;
        float v[C] = { 0 };
        if (row >= 0 && row < f.h && col >= 0 && col < f.wide) {
            struct spot s = { (image * f.h + row) * f.wide + col, 0 };
            if (f.head.n && !f.back) {
                sum_terms<N>(f.head, s, v);
                round_as(N(), v);
            } else {
                typename N::got(f.x, s).give(v);
            }
        }
        CTT_UNROLL
        for (int j = 0; j < C; j++)
            t->x[j / HALF][i].x[j % HALF] = v[j];
    }
}

CTT_GPU void read_pixel(const struct core_tile *t, int i, float *v)
{
    cells<float, HALF> a = t->x[0][i], b = t->x[1][i];

    widen<float, HALF>(a, v);
    widen<float, HALF>(b, v + HALF);
}

CTT_GPU void convolve_pixels(const struct core_tile *t, int k, int at,
                             float sum[PIXELS][C])
{
    int across = WIDE + k - 1;

    for (int tap = 0; tap < k * k; tap++) {
        const float *w = t->w + tap * C * C;
        int i = at + tap / k * across + tap % k;
        float x[PIXELS][C];
        CTT_UNROLL
        for (int p = 0; p < PIXELS; p++)
            read_pixel(t, i + p * (HIGH / PIXELS) * across, x[p]);
        CTT_UNROLL
        for (int in = 0; in < C; in++)
            CTT_UNROLL
            for (int out = 0; out < C; out++)
                CTT_UNROLL
                for (int p = 0; p < PIXELS; p++)
                    sum[p][out] += x[p][in] * w[in * C + out];
    }
}

/* Stores a pixel; own: what was loaded for it. */
template <class N>
static __device__ __forceinline__ void store_pixel(const struct core &f,
                                                   struct spot s, float *own,
                                                   float *sum)
{
    if (f.back) {
        give_terms<N>(f.plus, s, own);
        if (f.add)
            typename N::got(f.y, s).give(own);
        for (int i = 0; i < C && f.add; i++)
            sum[i] += own[i];
        N::put(f.y, s, sum, 0);
        round_as(N(), sum);
        give_terms<N>(f.head, s, sum);
        return;
    }
    if (f.head.n)
        N::put(f.x, s, own, 0);
    for (int i = 0; f.bias && i < C; i++)
        sum[i] += f.bias[i];
    sum_terms<N>(f.plus, s, sum);
    N::put(f.y, s, sum, 0);
}

template <class N>
static __global__ void __launch_bounds__(CTT_THREADS)
run_core(struct core f)
{
    __shared__ struct core_tile tile;
    int x = threadIdx.x % WIDE, y = threadIdx.x / WIDE, across = WIDE + f.k - 1;

    load_kernel(f, &tile);
    for (int64_t i = blockIdx.x; i < f.tiles; i += gridDim.x) {
        int top = (int)(i / f.across % f.down) * HIGH;
        int left = (int)(i % f.across) * WIDE;
        int64_t image = i / f.across / f.down;
        float sum[PIXELS][C] = { { 0 } }, own[C];
        __syncthreads();
        load_tile<N>(f, image, top, left, &tile);
        __syncthreads();
        convolve_pixels(&tile, f.k, y * across + x, sum);
        for (int p = 0; p < PIXELS; p++) {
            int row = y + p * (HIGH / PIXELS), border = f.k / 2;
            struct spot s = { (image * f.h + top + row) * f.wide + left + x,
                              0 };
            if (top + row >= f.h || left + x >= f.wide)
                continue;
            read_pixel(&tile, (row + border) * across + x + border, own);
            store_pixel<N>(f, s, own, sum[p]);
        }
    }
}

/* ---- launch ---- */

static struct terms terms_of(const struct ctt_call *c, int back,
                             struct form *form)
{
    struct terms t = { { }, NULL, 0, 0 };

    if (!c)
        return t;
    t.n = c->node->nin;
    t.bias = back ? NULL : (const float *)c->w[0].t.data;
    t.add = c->add;
    for (int k = 0; k < t.n; k++) {
        const struct ctt_tensor &x = back ? c->din[k] : c->in[k];
        t.x[k] = view_of(x);
        note_view(form, x);
    }
    return t;
}

static struct core core_of(const struct ctt_core_calls *a, int back,
                           struct form *form)
{
    const struct ctt_call *c = a->conv;
    const struct ctt_tensor &x = back ? c->dout : c->in[0];
    const struct ctt_tensor &y = back ? c->din[0] : c->out;
    struct core f;

    *form = form_of(x);
    note_view(form, y);
    f.x = view_of(x);
    f.y = view_of(y);
    f.w = c->w[0].t.data;
    f.w16 = (int)c->w[0].t.dtype;
    f.bias = (const float *)c->w[1].t.data;
    f.head = terms_of(a->head, back, form);
    f.plus = terms_of(a->plus, back, form);
    f.k = (int)c->w[0].t.h;
    f.h = (int)x.h;
    f.wide = (int)x.w;
    f.across = (f.wide + WIDE - 1) / WIDE;
    f.down = (f.h + HIGH - 1) / HIGH;
    f.tiles = x.n * f.across * f.down;
    f.back = back;
    f.add = (int)(c->add & 1);
    return f;
}

/* 1 if all numbers of a pixel are one or two accesses of 16 bytes. */
static int is_even(const struct form &f)
{
    return (f.type == CTT_F16 || f.type == CTT_BF16 || f.type == CTT_F32) &&
           !f.odd && !f.odd_rows;
}

int ctt_core_fits(const struct ctt_core_calls *a, int back)
{
    struct form form;

    core_of(a, back, &form);
    return is_even(form);
}

int ctt_launch_core(const struct ctt_core_calls *a, int back, void *stream)
{
    struct form form;
    struct core f = core_of(a, back, &form);
    unsigned blocks = (unsigned)(f.tiles < 65536 ? f.tiles : 65536);

    if (form.type == CTT_F16)
        CTT_LAUNCH((run_core<num<__half, C>>), blocks, stream, f);
    else if (form.type == CTT_BF16)
        CTT_LAUNCH((run_core<num<__nv_bfloat16, C>>), blocks, stream, f);
    else
        CTT_LAUNCH((run_core<num<some, C>>), blocks, stream, f);
    return (int)cudaGetLastError();
}
