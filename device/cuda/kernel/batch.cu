/* SPDX-License-Identifier: Apache-2.0
 * batch.cu: batch normalisation (Ioffe and Szegedy 2015).  Forward reads x
 * twice, backward x and dy twice: once for all statistics and sums, once for
 * the result, which is linear in x and dy with three factors per channel. */
#include "device/cuda/kernel/act.cuh"
#include "device/cuda/kernel/moments.cuh"
#include "device/cuda/kernel/norm.cuh"
#include "device/cuda/kernel/sums.cuh"

/* The moments of x (moments.cuh) per channel; K = 4: with dy as the weights. */
template <int Count> struct batch_sums {
    enum { K = Count };
    struct view x, dy;

    template <class N> struct sums {
        struct around<K> sum[N::V];

        __device__ __forceinline__ void begin(const batch_sums &f,
                                              struct spot s, int some_rows)
        {
            float first[N::V];

            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                first[i] = 0;
            if (some_rows)
                typename N::got(f.x, s).give(first);
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                sum[i].begin(first[i]);
        }
        __device__ __forceinline__ void add(const batch_sums &f, struct spot s)
        {
            float a[N::V], g[N::V];
            typename N::got value(f.x, s), grad(K > 2 ? f.dy : f.x, s);

            value.give(a);
            grad.give(g);
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                sum[i].add(a[i], g[i]);
        }
        __device__ __forceinline__ void end(float n, float out[N::V][K]) const
        {
            CTT_UNROLL
            for (int i = 0; i < N::V; i++)
                sum[i].end(n, out[i]);
        }
    };
    static __device__ __forceinline__ void join(float *a, const float *b,
                                                float na, float nb)
    {
        join_moments<K>(a, b, na, nb);
    }
};

/* Turns the sums of chunks (none if chunks = 0) into factors.  train: with the
 * batch's statistics, else the running ones; learn: updates the running
 * ones. */
struct batch {
    const float *gamma, *beta;
    float       *run_mean, *run_var, *dgamma, *dbeta;
    float        eps, momentum;
    int          train, learn, chunks;
    int64_t      rows, c;
};

static struct batch batch_of(const struct ctt_call *c, int learn)
{
    struct batch b = { (const float *)c->w[0].t.data,
                       (const float *)c->w[1].t.data, (float *)c->w[2].t.data,
                       (float *)c->w[3].t.data, (float *)c->dw[0].data,
                       (float *)c->dw[1].data, c->node->attr.norm.eps,
                       c->node->attr.norm.momentum, c->train, learn, 0,
                       ctt_rows(&c->in[0]), c->in[0].c };

    return b;
}

/* The moments of channel j over all rows, from those of the chunks. */
template <int K>
CTT_GPU void join_chunks(const struct batch &b, const float *part, int64_t j,
                         double (*shared)[LANES], double *sum)
{
    int way = threadIdx.x / LANES, chunks = j < b.c ? b.chunks : 0;
    double rows = (double)b.rows, mean = 0, rest[3] = { 0, 0, 0 };

    for (int k = way; k < chunks; k += WAYS) {
        int64_t n = chunk_row(b.rows, b.chunks, k + 1) -
                    chunk_row(b.rows, b.chunks, k);
        mean += (double)n * (double)part[(int64_t)k * K * b.c + j];
    }
    sum[MEAN] = mean = over_ways(mean, shared) / rows;
    for (int k = way; k < chunks; k += WAYS) {
        const float *p = part + (int64_t)k * K * b.c + j;
        int64_t n = chunk_row(b.rows, b.chunks, k + 1) -
                    chunk_row(b.rows, b.chunks, k);
        double d = (double)p[0] - mean;
        rest[0] += (double)p[b.c] + (double)n * d * d;
        if (K > 2) {
            rest[1] += (double)p[WEIGHT * b.c];
            rest[2] += (double)p[CROSS * b.c] + d * (double)p[WEIGHT * b.c];
        }
    }
    for (int i = 1; i < K; i++)
        sum[i] = over_ways(rest[i - 1], shared);
}

/* Forward: y = p x + o; factors: p[c], then o[c]. */
static __global__ void __launch_bounds__(CTT_THREADS)
forward_factors(struct batch b, const float *part, float *factors)
{
    __shared__ double shared[WAYS][LANES];
    int64_t j = (int64_t)blockIdx.x * LANES + threadIdx.x % LANES;
    double sum[2];
    float mean, var, p;

    join_chunks<2>(b, part, j, shared, sum);
    if (threadIdx.x >= LANES || j >= b.c)
        return;
    mean = b.train ? (float)sum[MEAN] : b.run_mean[j];
    var = b.train ? (float)(sum[SQUARES] / (double)b.rows) : b.run_var[j];
    if (b.train && b.learn) {
        b.run_mean[j] = ctt_running(b.run_mean[j], mean, b.momentum);
        b.run_var[j] = ctt_running(b.run_var[j], var, b.momentum);
    }
    p = b.gamma[j] / sqrtf(var + b.eps);
    factors[j] = p;
    factors[b.c + j] = b.beta[j] - mean * p;
}

/* Backward: dx = gamma inv (dy - mean dy - xhat mean(dy xhat)), the two means
 * only with the batch's statistics, as dx = p dy + q x + o. */
static __global__ void __launch_bounds__(CTT_THREADS)
backward_factors(struct batch b, const float *part, float *factors)
{
    __shared__ double shared[WAYS][LANES];
    int64_t j = (int64_t)blockIdx.x * LANES + threadIdx.x % LANES;
    double sum[4];
    float mean, var, inv, p, q, cross, rows = (float)b.rows;

    join_chunks<4>(b, part, j, shared, sum);
    if (threadIdx.x >= LANES || j >= b.c)
        return;
    mean = b.train ? (float)sum[MEAN] : b.run_mean[j];
    var = b.train ? (float)(sum[SQUARES] / (double)b.rows) : b.run_var[j];
    inv = 1 / sqrtf(var + b.eps);
    cross = inv * (float)(sum[CROSS] + sum[WEIGHT] *
                                       (sum[MEAN] - (double)mean));
    p = b.gamma[j] * inv;
    q = b.train ? -p * inv * cross / rows : 0;
    factors[j] = p;
    factors[b.c + j] = q;
    factors[2 * b.c + j] = -q * mean -
                           (b.train ? p * (float)sum[WEIGHT] / rows : 0);
    if (b.dgamma)
        b.dgamma[j] += cross;
    if (b.dbeta)
        b.dbeta[j] += (float)sum[WEIGHT];
}

struct batch_result {
    struct view  x, y;
    const float *p, *o;
    int          act;

    template <class N> __device__ void at(struct spot s) const
    {
        typename N::got from(x, s);
        float v[N::V], a[N::V], b[N::V];

        channels<N::V>(p, s.col, a);
        channels<N::V>(o, s.col, b);
        from.give(v);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            v[i] = v[i] * a[i] + b[i];
        act_of<N::V>(act - 1, v);
        N::put(y, s, v, 0);
    }
};

struct batch_gradient {
    struct view  x, dy, dx;
    const float *p, *q, *o;
    int          add;

    template <class N> __device__ void at(struct spot s) const
    {
        typename N::got from(x, s), grad(dy, s);
        float v[N::V], g[N::V], a[N::V], b[N::V], r[N::V];

        channels<N::V>(p, s.col, a);
        channels<N::V>(q, s.col, b);
        channels<N::V>(o, s.col, r);
        from.give(v);
        grad.give(g);
        CTT_UNROLL
        for (int i = 0; i < N::V; i++)
            v[i] = a[i] * g[i] + b[i] * v[i] + r[i];
        N::put(dx, s, v, add);
    }
};

/* Computes the factors; scratch: the sums of chunks, then the factors. */
template <int K>
static int run_factors(struct batch b, const struct ctt_call *c, int sums,
                       void *scratch, float **factors, void *stream)
{
    struct batch_sums<K> f = { view_of(c->in[0]), view_of(c->dout) };
    struct form form = form_of(c->in[0]);
    float *part = (float *)scratch;
    int e = 0;

    if (K > 2)
        note_view(&form, c->dout);
    by_channel(&form);
    *factors = (float *)((char *)scratch + sums_bytes(c->in[0], K));
    if (sums)
        e = run_sums(f, form, part, &b.chunks, stream);
    if (e)
        return e;
    if (K > 2)
        CTT_LAUNCH(backward_factors, join_blocks(b.c), stream, b, part,
                   *factors);
    else
        CTT_LAUNCH(forward_factors, join_blocks(b.c), stream, b, part,
                   *factors);
    return (int)cudaGetLastError();
}

int ctt_batch_forward(const struct ctt_call *c, void *scratch, void *stream)
{
    struct batch b = batch_of(c, 1);
    struct form form = form_of(c->out);
    struct batch_result f = { view_of(c->in[0]), view_of(c->out), NULL, NULL,
                              c->act };
    float *p;
    int e = run_factors<2>(b, c, c->train, scratch, &p, stream);

    if (e)
        return e;
    f.p = p;
    f.o = p + b.c;
    note_view(&form, c->in[0]);
    note_view(&form, f.p);
    note_view(&form, f.o);
    by_channel(&form);
    return run_each(f, form, stream);
}

int ctt_batch_backward(const struct ctt_call *c, void *scratch, void *stream)
{
    struct batch b = batch_of(c, 0);
    struct form form = form_of(c->in[0]);
    struct batch_gradient f = { view_of(c->in[0]), view_of(c->dout),
                                view_of(c->din[0]), NULL, NULL, NULL,
                                (int)(c->add & 1) };
    float *p;
    int e = run_factors<4>(b, c, c->train || b.dgamma || b.dbeta, scratch, &p,
                           stream);

    if (e || !c->din[0].data)
        return e;
    f.p = p;
    f.q = p + b.c;
    f.o = p + 2 * b.c;
    note_view(&form, c->dout);
    note_view(&form, c->din[0]);
    note_view(&form, f.p);
    note_view(&form, f.q);
    note_view(&form, f.o);
    by_channel(&form);
    return run_each(f, form, stream);
}

size_t ctt_batch_bytes(const struct ctt_call *c, int K)
{
    return sums_bytes(c->in[0], K) + (size_t)c->in[0].c * 3 * sizeof(float);
}
