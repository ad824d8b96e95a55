/* SPDX-License-Identifier: Apache-2.0
 * update.cu: the optimizer on the flat block of weights: one kernel applies the
 * constraint and sums the squares, another one updates. */
#include "device/cuda/kernel/block.cuh"
#include "device/cuda/kernels.h"

/* A byte of `how` covers 16 numbers: four pieces. */
enum { PIECE = 4, PIECES = 4 };

CTT_GPU void load4(const float *p, int64_t i, float *x)
{
    channels<PIECE>(p, i * PIECE, x);
}

CTT_GPU void store4(float *p, int64_t i, const float *x)
{
    *(cells<float, PIECE> *)(p + i * PIECE) = narrowed<float, PIECE>(x);
}

/* Constrains piece i of the gradient, g; returns 0 if it is unchanged. */
CTT_GPU int constrain(const struct ctt_constraint *c, int64_t i, float *g)
{
    const uint8_t *keep = ctt_kept(c, i * PIECE);
    cells<uint8_t, PIECE> k;
    int pruned = 0;

    if (!keep)
        return 0;
    k = *(const cells<uint8_t, PIECE> *)keep;
    CTT_UNROLL
    for (int j = 0; j < PIECE; j++) {
        pruned |= !k.x[j];
        g[j] = k.x[j] ? g[j] : 0;
    }
    return pruned;
}

/* Sum of squares of piece i, without shared values. */
CTT_GPU double squares(const struct ctt_constraint *c, int64_t i,
                       const float *g)
{
    double sum = 0;

    CTT_UNROLL
    for (int j = 0; j < PIECE; j++)
        sum += ctt_code(c, i * PIECE + j) ? 0 : (double)g[j] * (double)g[j];
    return sum;
}

static __global__ void __launch_bounds__(CTT_THREADS)
constrain_part(struct ctt_flat f, double *part)
{
    __shared__ double shared[CTT_THREADS];
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    double sum = 0;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
         i < f.n / PIECE; i += step) {
        float g[PIECE];
        if (f.how[i / PIECES] == CTT_FIXED)
            continue;
        load4(f.dw, i, g);
        if (constrain(&f.constraint, i, g))
            store4(f.dw, i, g);
        sum += squares(&f.constraint, i, g);
    }
    sum = over_block(sum, shared);
    if (threadIdx.x == 0)
        part[blockIdx.x] = sum;
}

static __global__ void __launch_bounds__(CTT_THREADS)
square_join(const double *part, int parts, double *to)
{
    __shared__ double shared[CTT_THREADS];
    double sum = 0;

    for (int i = threadIdx.x; i < parts; i += CTT_THREADS)
        sum += part[i];
    sum = over_block(sum, shared);
    if (threadIdx.x == 0)
        *to = sum;
}

static int square_parts(int64_t n)
{
    unsigned blocks = ctt_blocks(n / PIECE);

    return (int)(blocks < 1024 ? blocks : 1024);
}

int ctt_launch_constrain(struct ctt_flat f, double *sum, void *scratch,
                         void *stream)
{
    int parts = square_parts(f.n), code = 0;
    double *part = (double *)scratch;

    for (int i = 0; i < f.spans && !code; i++)
        code = ctt_launch_share(f, f.shared[i], part + parts + i,
                                part + parts + f.spans, stream);
    if (code)
        return code;
    CTT_LAUNCH(constrain_part, (unsigned)parts, stream, f, part);
    CTT_LAUNCH(square_join, 1, stream, (const double *)part, parts + f.spans,
               sum);
    return (int)cudaGetLastError();
}

/* Bytes: the sums of parts, the sums of tensors of shared values, and the
 * scratch of the largest such tensor. */
size_t ctt_launch_constrain_scratch(const struct ctt_flat *f)
{
    size_t most = 0;

    for (int i = 0; i < f->spans; i++) {
        size_t one = ctt_launch_share_scratch(f->shared[i]);
        most = one > most ? one : most;
    }
    return (size_t)(square_parts(f->n) + f->spans) * sizeof(double) + most;
}

/* Piece i of weights, gradient and first moment. */
struct piece { float w[PIECE], g[PIECE], m[PIECE]; };

/* Reads a piece, unless its weights are fixed; returns its byte of `how`. */
CTT_GPU int load_piece(const struct ctt_flat &f, int64_t i, struct piece *p)
{
    int how = f.how[i / PIECES];

    if (how == CTT_FIXED)
        return how;
    load4(f.w, i, p->w);
    load4(f.dw, i, p->g);
    load4(f.m, i, p->m);
    return how;
}

static __global__ void __launch_bounds__(CTT_THREADS)
update_sgd(struct ctt_flat f, struct ctt_sgd rule, float scale)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
         i < f.n / PIECE; i += step) {
        struct ctt_sgd s = rule;
        struct piece p;
        int how = load_piece(f, i, &p);
        if (how == CTT_FIXED)
            continue;
        s.decay = how == CTT_DECAYS ? s.decay : 0;
        CTT_UNROLL
        for (int j = 0; j < PIECE; j++)
            p.w[j] = ctt_sgd_step(s, p.w[j], scale * p.g[j], &p.m[j]);
        store4(f.m, i, p.m);
        store4(f.w, i, p.w);
    }
}

static __global__ void __launch_bounds__(CTT_THREADS)
update_adam(struct ctt_flat f, struct ctt_adam rule, float scale)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
         i < f.n / PIECE; i += step) {
        struct ctt_adam s = rule;
        struct piece p;
        float v[PIECE];
        int how = load_piece(f, i, &p);
        if (how == CTT_FIXED)
            continue;
        load4(f.v, i, v);
        s.l2 = how == CTT_DECAYS ? s.l2 : 0;
        s.decay = how == CTT_DECAYS ? s.decay : 0;
        CTT_UNROLL
        for (int j = 0; j < PIECE; j++)
            p.w[j] = ctt_adam_step(s, p.w[j], scale * p.g[j], &p.m[j],
                                   &v[j]);
        store4(f.v, i, v);
        store4(f.m, i, p.m);
        store4(f.w, i, p.w);
    }
}

int ctt_launch_update(struct ctt_flat f, struct ctt_rule rule, void *stream)
{
    unsigned blocks = ctt_blocks(f.n / PIECE);

    if (rule.is_adam)
        CTT_LAUNCH(update_adam, blocks, stream, f, rule.adam, rule.scale);
    else
        CTT_LAUNCH(update_sgd, blocks, stream, f, rule.sgd, rule.scale);
    return (int)cudaGetLastError();
}

static __global__ void __launch_bounds__(CTT_THREADS)
average_part(const float *from, float share, float *to, int64_t pieces)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
         i < pieces; i += step) {
        float w[PIECE], a[PIECE];
        load4(from, i, w);
        load4(to, i, a);
        CTT_UNROLL
        for (int j = 0; j < PIECE; j++)
            a[j] = ctt_average_step(share, a[j], w[j]);
        store4(to, i, a);
    }
}

int ctt_launch_average(const float *w, float share, float *average, int64_t n,
                       void *stream)
{
    CTT_LAUNCH(average_part, ctt_blocks(n / PIECE), stream, w, share, average,
               n / PIECE);
    return (int)cudaGetLastError();
}
