/* SPDX-License-Identifier: Apache-2.0
 * loss.cu: cross entropy with a class, with distributions or of each class by
 * itself, squared error, and squared plus absolute error, one number per row.
 * A kernel cannot report an error: a label that is no class gives NaN. */
#include "device/cuda/kernels.h"
#include "device/cuda/kernel/rows.cuh"
#include "device/ewise.h"

#include <math.h>

struct losing {
    struct view z, t, y, dy, dz;    /* answer, target, loss; gradients */
    int         kind, add;
    float       smooth, temperature;
};

typedef num<some, 1> one;    /* for few channels and rare reads */

CTT_GPU float number(struct view v, int64_t row, int64_t col)
{
    struct spot s = { row, col };
    float x;

    one::got(v, s).give(&x);
    return x;
}

/* The largest, or NaN if any is. */
struct largest {
    enum { K = 1 };
    static __device__ __forceinline__ void join(float *a, const float *b,
                                                float, float)
    {
        *a = *b > *a || *b != *b ? *b : *a;
    }
};

/* Of a row of logits: the largest, the sum of exp((z - top) / t), the sum of
 * z - top. */
struct entropy { float top, sum, all; };

CTT_GPU struct entropy entropy_of(const struct losing &f,
                                  const struct rows_plan &p, int64_t row,
                                  float t, float (*shared)[CTT_THREADS])
{
    int lane = threadIdx.x % p.share;
    float top = -INFINITY, s[2] = { 0, 0 };
    struct entropy e;

    for (int64_t j = lane; row < p.rows && j < p.c; j += p.share) {
        float z = number(f.z, row, j);
        largest::join(&top, &z, 0, 0);
    }
    join_row<largest>(p.share, &top, 0, shared);
    for (int64_t j = lane; row < p.rows && j < p.c; j += p.share) {
        float z = number(f.z, row, j) - top;
        s[0] += ctt_exp(z / t);
        s[1] += z;
    }
    join_row<plain_sums<2>>(p.share, s, 0, shared);
    e.top = top;
    e.sum = s[0];
    e.all = s[1];
    return e;
}

/* Label of a row; weight NaN if the label is no class.  A row of weight 0 does
 * not count, whatever its label. */
CTT_GPU int64_t label_of(const struct losing &f, int64_t classes, int64_t row,
                         float *weight)
{
    float label = number(f.t, row, 0);

    *weight = number(f.t, row, 1);
    if (*weight == 0)
        return 0;
    if (label >= 0 && label < (float)classes)
        return (int64_t)label;
    *weight = ctt_from_bits(0x7fc00000u);
    return 0;
}

/* -sum q log softmax(z), where q is 1 - smooth at the label plus smooth / n
 * everywhere: log sum exp z - (1 - smooth) z[label] - smooth * mean z. */
CTT_GPU float xent(const struct losing &f, const struct rows_plan &p,
                   int64_t row, const struct entropy &e)
{
    float weight, z;
    int64_t label = label_of(f, p.c, row, &weight);

    z = number(f.z, row, label) - e.top;
    return weight == 0 ? 0 : weight * (logf(e.sum) - (1 - f.smooth) * z -
                                       f.smooth * e.all / (float)p.c);
}

/* One of the two parts of a target row of kind soft, of labels and of a
 * teacher's answers: numbers q from column `from` on, whose sum is the weight
 * of the part, and the sum of q (z - top), at temperature t. */
struct aim {
    struct entropy e;
    int64_t        from;
    float          t, weight, part;
};

CTT_GPU struct aim aim_of(const struct losing &f, const struct rows_plan &p,
                          int64_t row, int taught, float (*shared)[CTT_THREADS])
{
    float s[2] = { 0, 0 };
    struct aim a;

    a.from = taught ? p.c : 0;
    a.t = taught ? f.temperature : 1;
    a.e = entropy_of(f, p, row, a.t, shared);

    for (int64_t j = threadIdx.x % p.share; row < p.rows && j < p.c;
         j += p.share) {
        float q = number(f.t, row, a.from + j);
        s[0] += q;
        s[1] += q * (number(f.z, row, j) - a.e.top);
    }
    join_row<plain_sums<2>>(p.share, s, 0, shared);
    a.weight = s[0];
    a.part = s[1];
    return a;
}

/* -t^2 sum q log softmax(z / t). */
CTT_GPU float soft(const struct aim &a)
{
    return a.weight == 0 ? 0
         : a.t * a.t * a.weight * logf(a.e.sum) - a.t * a.part;
}

/* Of kind binary: the loss of class j by labels, and at the temperature by a
 * teacher's answers; and its derivative. */
CTT_GPU float binary_of(const struct losing &f, int64_t n, int64_t row,
                        int64_t j)
{
    float z = number(f.z, row, j), t = f.temperature;

    return ctt_binary(z, number(f.t, row, j), number(f.t, row, n + j)) +
           t * t * ctt_binary(z / t, number(f.t, row, 2 * n + j),
                              number(f.t, row, 3 * n + j));
}

CTT_GPU float binary_slope(const struct losing &f, int64_t n, int64_t row,
                           int64_t j)
{
    float z = number(f.z, row, j), t = f.temperature;

    return ctt_binary_bwd(z, number(f.t, row, j), number(f.t, row, n + j)) +
           t * ctt_binary_bwd(z / t, number(f.t, row, 2 * n + j),
                              number(f.t, row, 3 * n + j));
}

CTT_GPU float error_of(const struct losing &f, float e)
{
    return f.kind == CTT_LOSS_MSE ? ctt_square(e) : ctt_l1l2(e);
}

CTT_GPU float error_bwd(const struct losing &f, float e)
{
    return f.kind == CTT_LOSS_MSE ? ctt_square_bwd(e) : ctt_l1l2_bwd(e);
}

static __global__ void __launch_bounds__(CTT_THREADS)
loss_forward(struct losing f, struct rows_plan p)
{
    __shared__ float shared[3][CTT_THREADS];
    int each = CTT_THREADS / p.share, lane = threadIdx.x % p.share;
    int64_t blocks = (p.rows + each - 1) / each;

    for (int64_t k = blockIdx.x; k < blocks; k += gridDim.x) {
        struct spot s = { k * each + threadIdx.x / p.share, 0 };
        int there = s.row < p.rows;
        float y = 0;
        if (f.kind == CTT_LOSS_XENT) {
            struct entropy e = entropy_of(f, p, s.row, 1, shared);
            y = there && lane == 0 ? xent(f, p, s.row, e) : 0;
        } else if (f.kind == CTT_LOSS_SOFT) {
            struct aim hard = aim_of(f, p, s.row, 0, shared);
            struct aim taught = aim_of(f, p, s.row, 1, shared);
            y = soft(hard) + soft(taught);
        } else {
            int binary = f.kind == CTT_LOSS_BINARY;
            for (int64_t j = lane; there && j < p.c; j += p.share)
                y += binary ? binary_of(f, p.c, s.row, j)
                     : error_of(f, number(f.z, s.row, j) -
                                   number(f.t, s.row, j));
            join_row<plain_sums<1>>(p.share, &y, 0, shared);
            y = binary ? y : y / (float)p.c;
        }
        if (there && lane == 0)
            one::put(f.y, s, &y, 0);
    }
}

CTT_GPU void xent_back(const struct losing &f, const struct rows_plan &p,
                       int64_t row, const struct entropy &e)
{
    float weight, scale;
    int64_t label = label_of(f, p.c, row, &weight);

    scale = weight * number(f.dy, row, 0);
    for (int64_t j = threadIdx.x % p.share; j < p.c; j += p.share) {
        struct spot s = { row, j };
        float q = f.smooth / (float)p.c + (j == label ? 1 - f.smooth : 0);
        float g = scale * (ctt_exp(number(f.z, row, j) - e.top) / e.sum - q);
        if (weight == 0)
            g = 0;
        one::put(f.dz, s, &g, f.add);
    }
}

CTT_GPU float soft_slope(const struct losing &f, int64_t row, int64_t j,
                         const struct aim &a)
{
    float z = (number(f.z, row, j) - a.e.top) / a.t;
    float y = a.weight == 0 ? 0 : a.weight * (ctt_exp(z) / a.e.sum);

    return a.t * (y - number(f.t, row, a.from + j));
}

CTT_GPU void soft_back(const struct losing &f, const struct rows_plan &p,
                       int64_t row, const struct aim &hard,
                       const struct aim &taught)
{
    float scale = number(f.dy, row, 0);

    for (int64_t j = threadIdx.x % p.share; j < p.c; j += p.share) {
        struct spot s = { row, j };
        float g = scale * (soft_slope(f, row, j, hard) +
                           soft_slope(f, row, j, taught));
        one::put(f.dz, s, &g, f.add);
    }
}

CTT_GPU void error_back(const struct losing &f, const struct rows_plan &p,
                        int64_t row)
{
    float scale = number(f.dy, row, 0) / (float)p.c;

    for (int64_t j = threadIdx.x % p.share; j < p.c; j += p.share) {
        struct spot s = { row, j };
        float g = scale * error_bwd(f, number(f.z, row, j) -
                                       number(f.t, row, j));
        one::put(f.dz, s, &g, f.add);
    }
}

CTT_GPU void binary_back(const struct losing &f, const struct rows_plan &p,
                         int64_t row)
{
    float scale = number(f.dy, row, 0);

    for (int64_t j = threadIdx.x % p.share; j < p.c; j += p.share) {
        struct spot s = { row, j };
        float g = scale * binary_slope(f, p.c, row, j);
        one::put(f.dz, s, &g, f.add);
    }
}

static __global__ void __launch_bounds__(CTT_THREADS)
loss_backward(struct losing f, struct rows_plan p)
{
    __shared__ float shared[3][CTT_THREADS];
    int each = CTT_THREADS / p.share;
    int64_t blocks = (p.rows + each - 1) / each;

    for (int64_t k = blockIdx.x; k < blocks; k += gridDim.x) {
        int64_t row = k * each + threadIdx.x / p.share;
        struct entropy e = { 0, 0, 0 };
        struct aim hard = { e, 0, 1, 0, 0 }, taught = hard;
        if (f.kind == CTT_LOSS_XENT)
            e = entropy_of(f, p, row, 1, shared);
        if (f.kind == CTT_LOSS_SOFT) {
            hard = aim_of(f, p, row, 0, shared);
            taught = aim_of(f, p, row, 1, shared);
        }
        if (row >= p.rows)
            continue;
        if (f.kind == CTT_LOSS_XENT)
            xent_back(f, p, row, e);
        else if (f.kind == CTT_LOSS_SOFT)
            soft_back(f, p, row, hard, taught);
        else if (f.kind == CTT_LOSS_BINARY)
            binary_back(f, p, row);
        else
            error_back(f, p, row);
    }
}

static struct losing losing_of(const struct ctt_call *c)
{
    struct losing f = { view_of(c->in[0]), view_of(c->in[1]), view_of(c->out),
                        view_of(c->dout), view_of(c->din[0]),
                        c->node->attr.loss.kind, (int)(c->add & 1),
                        c->node->attr.loss.smooth,
                        c->node->attr.loss.temperature };

    return f;
}

int ctt_launch_loss_fwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct rows_plan p = rows_plan_of(form_of(c->in[0]), 1);

    (void)scratch;
    CTT_LAUNCH(loss_forward, rows_blocks(p), stream, losing_of(c), p);
    return (int)cudaGetLastError();
}

int ctt_launch_loss_bwd(const struct ctt_call *c, void *scratch, void *stream)
{
    struct rows_plan p = rows_plan_of(form_of(c->in[0]), 1);

    (void)scratch;
    if (!c->din[0].data)
        return 0;
    CTT_LAUNCH(loss_backward, rows_blocks(p), stream, losing_of(c), p);
    return (int)cudaGetLastError();
}
