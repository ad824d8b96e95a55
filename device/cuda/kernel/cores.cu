/* SPDX-License-Identifier: Apache-2.0
 * cores.cu: cores of tensor trains (Su et al. 2020): small convs, each with the
 * sums that it reads and adds, in one kernel; here those of 8 channels in fp32
 * without TF32.  A block computes a tile of one image; a thread two pixels of
 * it. */
#include "device/cuda/kernel/core.cuh"

enum { C = CTT_CORE_CHANNELS, WIDE = CORE_WIDE, HIGH = CORE_HIGH,
       MOST = CTT_CORE_KERNEL, EDGE = (WIDE + MOST - 1) * (HIGH + MOST - 1),
       HALF = C / 2, PIXELS = WIDE * HIGH / CTT_THREADS };

typedef num<some, C> pixel;

/* An image of the tile and its border, and the kernel by tap, input and output
 * channel. */
struct core_tile {
    cells<float, HALF> x[2][EDGE];
    float              w[MOST * MOST * C * C];
};

static __device__ void load_kernel(const struct core &f, struct core_tile *t)
{
    for (int i = threadIdx.x; i < f.k * f.k * C * C; i += CTT_THREADS)
        t->w[i] = core_weight(f, i / (C * C), i / C % C, i % C);
}

static __device__ void load_tile(const struct core &f, struct core_place p,
                                 struct core_tile *t)
{
    int border = f.k / 2, across = WIDE + f.k - 1;

    for (int i = threadIdx.x; i < across * (HIGH + f.k - 1);
         i += CTT_THREADS) {
        int row = i / across - border, col = i % across - border;
        float v[C] = { 0 };
        if (is_inside(f, p.top + row, p.left + col))
            read_input<pixel>(f, pixel_at(f, p, row, col), v);
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

static __global__ void __launch_bounds__(CTT_THREADS)
run_core(struct core f)
{
    __shared__ struct core_tile tile;
    int x = threadIdx.x % WIDE, y = threadIdx.x / WIDE, across = WIDE + f.k - 1;

    load_kernel(f, &tile);
    for (int64_t i = blockIdx.x; i < f.tiles; i += gridDim.x) {
        struct core_place at = place_of(f, i, WIDE, HIGH);
        float sum[PIXELS][C] = { { 0 } }, own[C];
        __syncthreads();
        load_tile(f, at, &tile);
        __syncthreads();
        convolve_pixels(&tile, f.k, y * across + x, sum);
        for (int p = 0; p < PIXELS; p++) {
            int row = y + p * (HIGH / PIXELS), border = f.k / 2;
            if (!is_inside(f, at.top + row, at.left + x))
                continue;
            read_pixel(&tile, (row + border) * across + x + border, own);
            store_sums<pixel>(f, pixel_at(f, at, row, x), own, sum[p]);
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

/* All tensors are of one type of 16 bits. */
static int is_half(const struct form &f)
{
    return f.type == CTT_F16 || f.type == CTT_BF16;
}

static int by_mma(const struct form &f, int tf32)
{
    return is_half(f) || (tf32 && f.type == CTT_F32);
}

/* All numbers of a pixel are one or two accesses of 16 bytes. */
static int is_even(const struct form &f)
{
    return !f.odd && !f.odd_rows;
}

static struct core core_of(const struct ctt_core_calls *a, int back, int tf32,
                           struct form *form)
{
    const struct ctt_call *c = a->conv;
    const struct ctt_tensor &x = back ? c->dout : c->in[0];
    const struct ctt_tensor &y = back ? c->din[0] : c->out;
    struct core f;
    int high = HIGH;

    *form = form_of(x);
    note_view(form, y);
    f.x = view_of(x);
    f.y = view_of(y);
    f.w = c->w[0].t.data;
    f.w16 = (int)c->w[0].t.dtype;
    f.bias = (const float *)c->w[1].t.data;
    f.head = terms_of(a->head, back, form);
    f.plus = terms_of(a->plus, back, form);
    f.c = (int)y.c;
    f.k = (int)c->w[0].t.h;
    f.h = (int)x.h;
    f.wide = (int)x.w;
    f.across = (f.wide + WIDE - 1) / WIDE;
    if (by_mma(*form, tf32))
        high = CORE_MMA_HIGH;
    f.down = (f.h + high - 1) / high;
    f.tiles = x.n * f.across * f.down;
    f.back = back;
    f.add = (int)(c->add & 1);
    return f;
}

int ctt_core_fits(const struct ctt_core_calls *a, int back)
{
    struct form form;
    struct core f = core_of(a, back, 0, &form);

    return is_half(form) || (form.type == CTT_F32 && f.c == C && is_even(form));
}

int ctt_launch_core(const struct ctt_core_calls *a, int back, int tf32,
                    void *stream)
{
    struct form form;
    struct core f = core_of(a, back, tf32, &form);

    if (by_mma(form, tf32))
        ctt_launch_core_mma(f, form.type, is_even(form) && f.c % 8 == 0,
                            stream);
    else
        CTT_LAUNCH(run_core, core_blocks(f), stream, f);
    return (int)cudaGetLastError();
}
