/* SPDX-License-Identifier: Apache-2.0
 * core_mma.cu: cores of tensor trains in 16 bits or, of up to 8 channels, TF32,
 * as a product of pixels x (taps x channels) with (taps x channels) x channels
 * by tensor cores.  A block computes a tile of one image, a warp one row of it,
 * 16 pixels a product.  Channels come in pieces of 16 bytes: a pixel of a piece
 * is a row of a matrix that a warp loads from shared memory; 8 neighbours are
 * 128 bytes, which have a bank each. */
#include "device/cuda/kernel/core.cuh"
#include "device/cuda/kernel/mma.cuh"

enum { PLANE = 8, WIDE = CORE_WIDE, HIGH = CORE_MMA_HIGH,
       MOST = CTT_CORE_KERNEL, EDGE = (WIDE + MOST - 1) * (HIGH + MOST - 1),
       TAPS = MOST * MOST, ROW = 16, ROWS = WIDE / ROW };
static_assert(HIGH * CTT_WARP == CTT_THREADS, "a warp for each row");

/* P planes of 8 channels of type T: EACH numbers are a piece, ALL pieces a
 * pixel.  A product takes two pieces of one tap, or the only one of two
 * taps. */
template <class T, int P> struct pieces {
    enum { EACH = 16 / sizeof(T), ALL = P * PLANE / EACH };
    typedef cells<T, EACH> piece;

    /* Of k x k taps. */
    static __device__ __forceinline__ int products(int k)
    {
        return (k * k * ALL + 1) / 2;
    }
};

/* x: the tile with its border; w: of each product, for each plane of the
 * result, its pieces of the input: 8 rows, one for an output channel; at: where
 * those pieces of the input are in x, from a pixel on. */
template <class T, int P> struct mma_tile {
    enum { ALL = pieces<T, P>::ALL };
    typename pieces<T, P>::piece x[ALL * EDGE];
    typename pieces<T, P>::piece w[(TAPS * ALL + 1) / 2 * P * 2 * PLANE];
    int                          at[TAPS * ALL + 1];
};

template <class T> CTT_GPU float as_factor(float x)
{
    return as<float>(to_factor<T>(as<uint32_t>(x)));
}

/* Of an odd number of taps, the last product may have one that is none. */
template <class T, int P>
static __device__ void load_weights(const struct core &f,
                                    struct mma_tile<T, P> *t)
{
    enum { EACH = pieces<T, P>::EACH, ALL = pieces<T, P>::ALL };
    int taps = f.k * f.k, across = WIDE + f.k - 1;
    int n = pieces<T, P>::products(f.k) * 2;

    for (int i = threadIdx.x; i < n * P * PLANE; i += CTT_THREADS) {
        int piece = i / PLANE / 2 / P * 2 + i / PLANE % 2;
        int out = i / PLANE / 2 % P * PLANE + i % PLANE;
        float v[EACH];
        CTT_UNROLL
        for (int j = 0; j < EACH; j++) {
            int in = piece % ALL * EACH + j;
            v[j] = piece / ALL < taps && in < f.c && out < f.c
                 ? as_factor<T>(core_weight(f, piece / ALL, in, out)) : 0;
        }
        t->w[i] = narrowed<T, EACH>(v);
    }
    for (int i = threadIdx.x; i < n; i += CTT_THREADS) {
        int tap = i / ALL < taps ? i / ALL : taps - 1;
        t->at[i] = i % ALL * EDGE + tap / f.k * across + tap % f.k;
    }
}

template <class T, int P, int V>
static __device__ void load_pixels(const struct core &f, struct core_place p,
                                   struct mma_tile<T, P> *t)
{
    enum { EACH = pieces<T, P>::EACH, ALL = pieces<T, P>::ALL };
    int border = f.k / 2, across = WIDE + f.k - 1;

    for (int i = threadIdx.x; i < across * (HIGH + f.k - 1);
         i += CTT_THREADS) {
        int row = i / across - border, col = i % across - border;
        float v[P * PLANE] = { 0 };
        if (is_inside(f, p.top + row, p.left + col)) {
            struct spot s = pixel_at(f, p, row, col);
            CTT_UNROLL
            for (int j = 0; j < P * PLANE; j += V) {
                s.col = j;
                if (j < f.c)
                    read_input<num<T, V>>(f, s, v + j);
            }
        }
        CTT_UNROLL
        for (int j = 0; j < ALL; j++)
            t->x[j * EDGE + i] = narrowed<T, EACH>(v + j * EACH);
    }
}

/* The sums of the warp's row, whose first pixel's first tap is at `from`. */
template <class T, int P>
static __device__ __forceinline__ void
convolve_row(const struct mma_tile<T, P> *t, int k, int from,
             float (&sum)[ROWS][P][4])
{
    int lane = threadIdx.x % CTT_WARP, n = pieces<T, P>::products(k);
    const auto *x = t->x + from + lane % ROW;
    const auto *w = t->w + lane % (P * 2 * PLANE);

    for (int i = 0; i < n; i++) {
        const auto *at = x + t->at[2 * i + lane / ROW];
        uint32_t a[ROWS][4], b[P * 2];
        load_matrices(w + i * P * 2 * PLANE, b);
        CTT_UNROLL
        for (int r = 0; r < ROWS; r++) {
            load_matrices(at + r * ROW, a[r]);
            CTT_UNROLL
            for (int j = 0; j < 4; j++)
                a[r][j] = to_factor<T>(a[r][j]);
            if (pieces<T, P>::ALL == 1 && i == n - 1)   /* Inf * 0 is not 0 */
                a[r][2] = a[r][3] = 0;
        }
        CTT_UNROLL
        for (int r = 0; r < ROWS; r++)
            CTT_UNROLL
            for (int p = 0; p < P; p++)
                multiply<T>(sum[r][p], a[r], b + 2 * p);
    }
}

/* Stores the two sums of neighbouring channels, from s on, that a lane has. */
template <class T, int V>
static __device__ __forceinline__ void
store_two(const struct core &f, struct spot s, const T *own, float *sum)
{
    enum { N = V == 1 ? 1 : 2 };

    CTT_UNROLL
    for (int i = 0; i < 2; i += N, s.col += N) {
        float o[2] = { wide(own[i]), wide(own[i + N - 1]) };
        if (s.col < f.c)
            store_sums<num<T, N>>(f, s, o, sum + i);
    }
}

/* V: how many channels of a pixel are one access. */
template <class T, int P, int V>
static __global__ void __launch_bounds__(CTT_THREADS, 3)
run_core_mma(struct core f)
{
    enum { EACH = pieces<T, P>::EACH };
    __shared__ struct mma_tile<T, P> tile;
    int lane = threadIdx.x % CTT_WARP, y = threadIdx.x / CTT_WARP;
    int border = f.k / 2, across = WIDE + f.k - 1, two = lane % 4 * 2;

    load_weights<T, P>(f, &tile);
    for (int64_t i = blockIdx.x; i < f.tiles; i += gridDim.x) {
        struct core_place at = place_of(f, i, WIDE, HIGH);
        float sum[ROWS][P][4] = { { { 0 } } };
        __syncthreads();
        load_pixels<T, P, V>(f, at, &tile);
        __syncthreads();
        convolve_row<T, P>(&tile, f.k, y * across, sum);
        CTT_UNROLL
        for (int j = 0; j < WIDE / 8; j++) {
            int x = j * 8 + lane / 4;
            const auto *own = &tile.x[(y + border) * across + x + border];
            struct spot s = pixel_at(f, at, y, x);
            if (!is_inside(f, at.top + y, at.left + x))
                continue;
            CTT_UNROLL
            for (int p = 0; p < P; p++) {
                s.col = p * PLANE + two;
                store_two<T, V>(f, s, own[s.col / EACH * EDGE].x + two % EACH,
                                sum[j / 2][p] + j % 2 * 2);
            }
        }
    }
}

template <class T, int P>
static void launch_planes(const struct core &f, int even, void *stream)
{
    if (even)
        CTT_LAUNCH((run_core_mma<T, P, pieces<T, P>::EACH>), core_blocks(f),
                   stream, f);
    else
        CTT_LAUNCH((run_core_mma<T, P, 1>), core_blocks(f), stream, f);
}

template <class T>
static void launch_type(const struct core &f, int even, void *stream)
{
    if (f.c <= PLANE)
        launch_planes<T, 1>(f, even, stream);
    else
        launch_planes<T, 2>(f, even, stream);
}

void ctt_launch_core_mma(const struct core &f, int type, int even,
                         void *stream)
{
    if (type == CTT_F32)
        CTT_LAUNCH((run_core_mma<float, 1, 4>), core_blocks(f), stream, f);
    else if (type == CTT_F16)
        launch_type<__half>(f, even, stream);
    else
        launch_type<__nv_bfloat16>(f, even, stream);
}
