/* SPDX-License-Identifier: Apache-2.0
 * sums.cuh: sums per channel over the rows of a tensor, in a fixed order: the
 * rows are split into chunks, a block sums some channels of a chunk, and a
 * second kernel joins the chunks in doubles. */
#ifndef CTT_SUMS_CUH
#define CTT_SUMS_CUH

#include "device/cuda/kernel/block.cuh"
#include "device/cuda/kernel/walk.cuh"

/* The division of a chunk among a block's threads: tx (a power of two) threads
 * along the channels, V channels each, and ty along the rows, every ty-th row
 * each. */
struct sums_plan {
    int64_t rows, c;
    int     tx, ty, tiles, chunks;
};

enum { ROWS_EACH = 8, SUM_BLOCKS = 1024 };

static inline int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t most_chunks(int64_t tiles)
{
    int64_t n = min_of(SUM_BLOCKS / tiles, CTT_SUM_PARTS);

    return n < 1 ? 1 : n;
}

static inline struct sums_plan sums_plan_of(const struct form &f, int v)
{
    struct sums_plan p = { f.rows, f.c, 1, 0, 0, 0 };
    int64_t items = f.c / v, each;

    while (p.tx < 32 && p.tx < items)
        p.tx *= 2;
    p.ty = CTT_THREADS / p.tx;
    p.tiles = (int)((items + p.tx - 1) / p.tx);
    each = (int64_t)p.ty * ROWS_EACH;
    p.chunks = (int)min_of((f.rows + each - 1) / each, most_chunks(p.tiles));
    return p;
}

/* Bytes of the partial sums, for any V; number i of channel j in chunk k is
 * part[(k * K + i) * c + j]. */
static inline size_t sums_bytes(const struct ctt_tensor &t, int K)
{
    int64_t chunks = min_of(ctt_rows(&t) / 64 + 1,
                            most_chunks((t.c + 255) / 256));

    return (size_t)ctt_align(chunks * K * t.c * 4, 256);
}

__host__ __device__ static inline int64_t chunk_row(int64_t rows, int chunks,
                                                    int k)
{
    return rows / chunks * k + rows % chunks * k / chunks;
}

/* F defines the sum: its sums<N> has begin(), add() for a row, and end(), which
 * gives K numbers per channel; join(a, b, na, nb) adds the numbers b of nb rows
 * to the numbers a of na rows. */
template <class N, class F>
static __global__ void __launch_bounds__(CTT_THREADS)
sum_chunks(F f, struct sums_plan p, float *part)
{
    enum { K = F::K, V = N::V };
    __shared__ float shared[K][V][CTT_THREADS], rows_of[CTT_THREADS];
    int t = threadIdx.x, x = t & (p.tx - 1), y = t / p.tx;
    int tile = blockIdx.x % p.tiles, k = blockIdx.x / p.tiles;
    int64_t end = chunk_row(p.rows, p.chunks, k + 1);
    struct spot s = { chunk_row(p.rows, p.chunks, k) + y,
                      ((int64_t)tile * p.tx + x) * V };
    typename F::template sums<N> sums;
    float a[V][K], n = 0;

    if (s.col < p.c) {
        n = s.row < end ? (float)((end - s.row + p.ty - 1) / p.ty) : 0;
        sums.begin(f, s, n > 0);
        CTT_UNROLL_ROWS
        for (; s.row < end; s.row += p.ty)
            sums.add(f, s);
    } else {
        sums.begin(f, s, 0);
    }
    sums.end(n, a);
    for (int o = p.ty / 2; o >= 1; o /= 2) {
        int other = t + o * p.tx;

        __syncthreads();
        rows_of[t] = n;
        CTT_UNROLL
        for (int v = 0; v < V; v++)
            CTT_UNROLL
            for (int i = 0; i < K; i++)
                shared[i][v][t] = a[v][i];
        __syncthreads();
        if (y >= o)
            continue;
        CTT_UNROLL
        for (int v = 0; v < V; v++) {
            float b[K];
            CTT_UNROLL
            for (int i = 0; i < K; i++)
                b[i] = shared[i][v][other];
            F::join(a[v], b, n, rows_of[other]);
        }
        n += rows_of[other];
    }
    if (y > 0 || s.col >= p.c)
        return;
    CTT_UNROLL
    for (int v = 0; v < V; v++)
        CTT_UNROLL
        for (int i = 0; i < K; i++)
            part[((int64_t)k * K + i) * p.c + s.col + v] = a[v][i];
}

template <class F>
static int run_sums(const F &f, const struct form &form, float *part,
                    int *chunks, void *stream)
{
    return by_form(form, [&](auto n) {
        typedef decltype(n) N;
        struct sums_plan p = sums_plan_of(form, N::V);
        CTT_LAUNCH((sum_chunks<N, F>), (unsigned)(p.tiles * p.chunks), stream,
                   f, p, part);
        *chunks = p.chunks;
    });
}

/* Joining kernels have WAYS threads per channel, each for every WAYS-th
 * chunk. */
enum { LANES = 32, WAYS = CTT_THREADS / LANES };

static inline unsigned join_blocks(int64_t c)
{
    return (unsigned)((c + LANES - 1) / LANES);
}

/* The sum over a channel's threads, in order; all of them get it. */
CTT_GPU double over_ways(double x, double (*shared)[LANES])
{
    int lane = threadIdx.x % LANES;
    double sum = 0;

    __syncthreads();
    shared[threadIdx.x / LANES][lane] = x;
    __syncthreads();
    CTT_UNROLL
    for (int w = 0; w < WAYS; w++)
        sum += shared[w][lane];
    return sum;
}

/* Destinations to which the K sums are added; NULL: not wanted. */
template <int K> struct sums_to { float *p[K]; };

template <int K>
static __global__ void __launch_bounds__(CTT_THREADS)
join_sums(const float *part, int64_t c, int chunks, struct sums_to<K> to)
{
    __shared__ double shared[WAYS][LANES];
    int way = threadIdx.x / LANES;
    int64_t j = (int64_t)blockIdx.x * LANES + threadIdx.x % LANES;

    CTT_UNROLL
    for (int i = 0; i < K; i++) {
        double sum = 0;
        for (int k = way; k < chunks && j < c; k += WAYS)
            sum += (double)part[((int64_t)k * K + i) * c + j];
        sum = over_ways(sum, shared);
        if (way == 0 && j < c && to.p[i])
            to.p[i][j] += (float)sum;
    }
}

#endif
