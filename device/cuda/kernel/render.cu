/* SPDX-License-Identifier: Apache-2.0
 * render.cu: frames as a model reads them, of the bytes of stored ones: each
 * thread makes a pixel, by the products and sums of device/cpu/render.c. */
#include "device/cuda/kernel/num.cuh"
#include "device/cuda/kernels.h"

/* sum + w x, rounded twice as by a processor without fused products. */
CTT_GPU float rounded_sum(float sum, float w, float x)
{
    return __fadd_rn(sum, __fmul_rn(w, x));
}

/* Channel k at column x: the weighed sum of the rows of pixel y of the
 * result. */
CTT_GPU float weigh_column(const struct ctt_render &r, const uint8_t *data,
                           int x, int y, int k)
{
    const struct ctt_taps rows = r.y[y];
    const float *w = r.wy + y * r.most_y, *table = r.paint->table[k];
    int64_t row = (int64_t)r.stored_w * r.c;
    const uint8_t *p = data + rows.from * row + x * r.c + k;
    float sum = __fmul_rn(w[0], table[*p]);

    for (int j = 1; j < rows.n; j++)
        sum = rounded_sum(sum, w[j], table[p[j * row]]);
    return sum;
}

CTT_GPU int is_filled(const struct ctt_paint *p, int x, int y)
{
    return x >= p->x && x < p->x + p->w && y >= p->y && y < p->y + p->h;
}

/* The channels of a pixel. */
CTT_GPU void make_pixel(const struct ctt_render &r, const uint8_t *data, int x,
                        int y, float *v)
{
    const struct ctt_taps columns = r.x[x];
    const float *w = r.wx + x * r.most_x;
    int filled = is_filled(r.paint, x, y);

    for (int k = 0; k < r.c; k++) {
        v[k] = filled ? r.paint->fill[k] : __fmul_rn(w[0], weigh_column(r, data,
                                                     columns.from, y, k));
        for (int j = 1; !filled && j < columns.n; j++)
            v[k] = rounded_sum(v[k], w[j], weigh_column(r, data,
                                                        columns.from + j, y,
                                                        k));
    }
}

CTT_GPU float mix_channel(const struct ctt_paint *p, const float *v, int k)
{
    const float *of = p->of[k];
    float sum = __fmul_rn(of[0], v[0]);

    sum = rounded_sum(sum, of[1], v[1]);
    return __fadd_rn(rounded_sum(sum, of[2], v[2]), p->add[k]);
}

static __global__ void __launch_bounds__(CTT_THREADS)
render_pixels(struct ctt_shots s, const char *block, float *to, int64_t pixels)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < pixels;
         i += step) {
        int64_t frame = i / ((int64_t)s.w * s.h);
        struct ctt_render r = ctt_shots_clip(&s, block, frame % s.n);
        const uint8_t *data = ctt_shots_frame(&s, block, frame);
        float v[3] = { 0, 0, 0 };

        if (data)
            make_pixel(r, data, (int)(i % s.w), (int)(i / s.w % s.h), v);
        for (int k = 0; k < s.c; k++)
            to[i * s.c + k] = data && r.paint->mixed
                              ? mix_channel(r.paint, v, k) : v[k];
    }
}

int ctt_launch_render(const struct ctt_shots *s, const char *block, float *to,
                      void *stream)
{
    int64_t pixels = (int64_t)s->steps * s->n * s->w * s->h;

    CTT_LAUNCH(render_pixels, ctt_blocks(pixels), stream, *s, block, to,
               pixels);
    return (int)cudaGetLastError();
}
