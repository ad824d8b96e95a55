/* SPDX-License-Identifier: Apache-2.0
 * test_sim_warp.cc: collectives of simulated warps against their definitions in
 * the PTX ISA, and lanes that do not meet. */
#include "tests/sim/test_sim.h"
#include "device/cuda/kernel/mma.cuh"

#include <csignal>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 64 };

/* ---- shuffles ---- */

static __global__ void shuffles(const int *x, int *y, int by, int width)
{
    unsigned all = 0xffffffffu;
    int t = (int)threadIdx.x;

    y[t * 4] = __shfl_sync(all, x[t], by, width);
    y[t * 4 + 1] = __shfl_up_sync(all, x[t], by, width);
    y[t * 4 + 2] = __shfl_down_sync(all, x[t], by, width);
    y[t * 4 + 3] = __shfl_xor_sync(all, x[t], by, width);
}

/* The text of shfl.sync: j is the lane that is read where p is true. */
static void check_shuffles(const int *y, int by, int width)
{
    for (int t = 0; t < THREADS; t++) {
        int lane = t % 32, warp = t - lane, low = lane & ~(width - 1);
        int most = low | (width - 1), j[4];
        j[0] = low | (by & (width - 1));
        j[1] = lane - by >= low ? lane - by : lane;
        j[2] = lane + by <= most ? lane + by : lane;
        j[3] = (lane ^ by) <= most ? lane ^ by : lane;
        for (int k = 0; k < 4; k++)
            CU_ASSERT_EQUAL(y[t * 4 + k], (warp + j[k]) * 3 + 1);
    }
}

template <class T> static T *on_device(const std::vector<T> &from)
{
    T *p;

    CUDA(cudaMalloc((void **)&p, from.size() * sizeof(T)));
    CUDA(cudaMemcpy(p, from.data(), from.size() * sizeof(T),
                    cudaMemcpyHostToDevice));
    return p;
}

template <class T> static std::vector<T> from_device(const T *p, size_t n)
{
    std::vector<T> to(n);

    CUDA(cudaMemcpy(to.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
    return to;
}

static void test_shuffles()
{
    std::vector<int> x(THREADS);
    int *from, *to;

    for (int i = 0; i < THREADS; i++)
        x[(size_t)i] = i * 3 + 1;
    from = on_device(x);
    to = on_device(std::vector<int>(THREADS * 4));
    for (int width = 1; width <= 32; width *= 2)
        for (int by = 0; by < 32; by += by < 3 ? 1 : 7) {
            ctt_sim_launch(1, THREADS, NULL, shuffles, from, to, by, width);
            CUDA(cudaGetLastError());
            check_shuffles(from_device(to, THREADS * 4).data(), by, width);
        }
    CUDA(cudaFree(from));
    CUDA(cudaFree(to));
}

/* Half a warp exchanges, twice as often as the other half. */
static __global__ void halves(const double *x, double *y)
{
    unsigned t = threadIdx.x, low = 0xffff;
    double v = x[t];

    if (t % 32 < 16) {
        v = __shfl_xor_sync(low, v, 1);
        v = __shfl_xor_sync(low, v, 2);
    } else {
        v = __shfl_xor_sync(low << 16, v, 8);
    }
    y[t] = v;
}

static void test_halves()
{
    std::vector<double> x(THREADS), y;
    double *from, *to;

    for (int i = 0; i < THREADS; i++)
        x[(size_t)i] = i + 0.5;
    from = on_device(x);
    to = on_device(x);
    ctt_sim_launch(1, THREADS, NULL, halves, from, to);
    y = from_device(to, THREADS);
    for (int i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL(y[(size_t)i], (i % 32 < 16 ? i ^ 3 : i ^ 8) + 0.5);
    CUDA(cudaFree(from));
    CUDA(cudaFree(to));
}

/* ---- matrices ---- */

/* Loads 8 N rows of 8 numbers from x; lane t's words go to y[t][N]. */
template <int N, bool Trans>
static __global__ void matrices(const uint16_t *x, uint32_t *y)
{
    __shared__ uint16_t rows[32 * 8] __align__(16);
    int t = (int)threadIdx.x;

    for (int i = t; i < 32 * 8; i += THREADS)
        rows[i] = x[i];
    __syncthreads();
    ctt_sim_ldmatrix(N, Trans, rows + t % 32 * 8, y + t * N, __FILE__,
                     __LINE__);
}

template <int N, bool Trans> static void check_matrices()
{
    std::vector<uint16_t> x(32 * 8);
    std::vector<uint32_t> y;
    uint16_t *from;
    uint32_t *to;

    for (size_t i = 0; i < x.size(); i++)
        x[i] = (uint16_t)(i * 251);
    from = on_device(x);
    to = on_device(std::vector<uint32_t>(THREADS * N));
    ctt_sim_launch(1, THREADS, NULL, matrices<N, Trans>,
                   (const uint16_t *)from, to);
    y = from_device(to, THREADS * N);
    for (int t = 0; t < THREADS; t++)
        for (int m = 0; m < N; m++)
            for (int i = 0; i < 2; i++) {
                int row = t % 32 / 4, col = t % 4 * 2 + i;
                int at = Trans ? col * 8 + row : row * 8 + col;
                CU_ASSERT_EQUAL(y[(size_t)(t * N + m)] >> 16 * i & 0xffff,
                                x[(size_t)(m * 64 + at)]);
            }
    CUDA(cudaFree(from));
    CUDA(cudaFree(to));
}

static void test_matrices()
{
    check_matrices<1, false>();
    check_matrices<2, false>();
    check_matrices<4, false>();
    check_matrices<1, true>();
    check_matrices<2, true>();
    check_matrices<4, true>();
}

/* d += a b, by the layouts of "Matrix Fragments for mma.m16n8k16 with floating
 * point type" and, for TF32, "for mma.m16n8k8": a lane's numbers one by one,
 * not as the simulation has it. */
template <class T> static __device__ void
fill_halves(const float *a, const float *b, uint32_t *ra, uint32_t *rb)
{
    int lane = (int)threadIdx.x % 32, group = lane >> 2, in = lane % 4;

    for (int i = 0; i < 8; i++) {
        int row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
        int col = in * 2 + (i & 1) + (i < 4 ? 0 : 8);
        ra[i / 2] |= (uint32_t)T(a[row * 16 + col]).bits << 16 * (i & 1);
    }
    for (int i = 0; i < 4; i++) {
        int row = in * 2 + (i & 1) + (i < 2 ? 0 : 8);
        rb[i / 2] |= (uint32_t)T(b[row * 8 + group]).bits << 16 * (i & 1);
    }
}

static __device__ uint32_t rounded(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return to_factor<float>(bits);
}

static __device__ void fill_floats(const float *a, const float *b, uint32_t *ra,
                                   uint32_t *rb)
{
    int lane = (int)threadIdx.x % 32, group = lane >> 2, in = lane % 4;

    for (int i = 0; i < 4; i++) {
        int row = i == 0 || i == 2 ? group : group + 8;
        int col = i < 2 ? in : in + 4;
        ra[i] = rounded(a[row * 8 + col]);
    }
    rb[0] = rounded(b[in * 8 + group]);
    rb[1] = rounded(b[(in + 4) * 8 + group]);
}

template <class T>
static __global__ void product(const float *a, const float *b, float *d)
{
    int lane = (int)threadIdx.x % 32, group = lane >> 2, in = lane % 4;
    uint32_t ra[4] = { }, rb[2] = { };
    float sum[4];

    if constexpr (sizeof(T) == 4)
        fill_floats(a, b, ra, rb);
    else
        fill_halves<T>(a, b, ra, rb);
    for (int i = 0; i < 4; i++)
        sum[i] = d[(i < 2 ? group : group + 8) * 8 + in * 2 + (i & 1)];
    multiply<T>(sum, ra, rb);
    for (int i = 0; i < 4; i++)
        d[(i < 2 ? group : group + 8) * 8 + in * 2 + (i & 1)] = sum[i];
}

/* Whole numbers and quarters: all sums are exact; beyond TF32's 10 bits: more
 * numbers that it rounds. */
template <class T> static void check_product(size_t size, float beyond)
{
    std::vector<float> a(16 * size), b(size * 8), d(128), off, y;
    float *pa, *pb, *pd;

    for (size_t i = 0; i < a.size(); i++)
        a[i] = (float)((int)(i * 37 % 64) - 32) / 4;
    for (size_t i = 0; i < b.size(); i++)
        b[i] = (float)((int)(i * 29 % 32) - 16);
    for (size_t i = 0; i < d.size(); i++)
        d[i] = (float)i;
    off = b;
    for (float &x : off)
        x *= 1 + beyond;
    pa = on_device(a);
    pb = on_device(off);
    pd = on_device(d);
    ctt_sim_launch(1, 32, NULL, product<T>, (const float *)pa,
                   (const float *)pb, pd);
    y = from_device(pd, 128);
    for (size_t i = 0; i < 128; i++) {
        float want = d[i];
        for (size_t k = 0; k < size; k++)
            want += a[i / 8 * size + k] * b[k * 8 + i % 8];
        CU_ASSERT_EQUAL(y[i], want);
    }
    CUDA(cudaFree(pa));
    CUDA(cudaFree(pb));
    CUDA(cudaFree(pd));
}

static void test_products()
{
    check_product<__half>(16, 0);
    check_product<__nv_bfloat16>(16, 0);
    check_product<float>(8, 0);
    check_product<float>(8, 0x1p-13f);
    check_product<float>(8, -0x1p-13f);
}

/* ---- lanes that do not meet ---- */

enum { ABSENT, AT_BARRIER, AT_ANOTHER, OTHER_LANES, GLOBAL, AWRY, RACE, GOOD };

static __global__ void odd_lane(int what, int *y)
{
    __shared__ uint16_t rows[33 * 8] __align__(16);
    unsigned t = threadIdx.x, mask = 0xffffffffu;
    uint32_t r[4];

    for (unsigned i = 0; i < 8; i++)
        rows[t * 8 + i] = (uint16_t)t;
    if (what != RACE)
        __syncthreads();
    if (t == 5 && what == ABSENT)
        return;
    if (t == 5 && what == AT_BARRIER)
        __syncthreads();
    if (t == 5 && what == AT_ANOTHER)
        y[t] = __shfl_sync(mask, 1, 0);
    else if (t == 5 && what == OTHER_LANES)
        y[t] = __shfl_sync(1u << 5, 1, 5);
    else
        load_matrices(what == GLOBAL ? (const uint16_t *)y
                      : rows + t * 8 + (what == AWRY), r);
}

/* What the kernel says when it ends the program; empty: it does not. */
static std::string last_words(int what)
{
    int *y = on_device(std::vector<int>(64)), pipes[2], status = 0;
    char part[200];
    std::string text;
    pid_t child;
    ssize_t n;

    CU_ASSERT_EQUAL_FATAL(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        dup2(pipes[1], 2);
        ctt_sim_launch(1, 32, NULL, odd_lane, what, y);
        cudaStreamSynchronize(NULL);
        _exit(0);
    }
    close(pipes[1]);
    while ((n = read(pipes[0], part, sizeof(part))) > 0)
        text.append(part, (size_t)n);
    close(pipes[0]);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(!text.empty(), WIFSIGNALED(status));
    CUDA(cudaFree(y));
    return text;
}

static void says(int what, const char *words)
{
    std::string text = last_words(what);
    size_t at = text.find("test_sim_warp.cc:");

    CU_ASSERT(text.find(words) != std::string::npos);
    CU_ASSERT(what == RACE || at != std::string::npos);
    CU_ASSERT(what >= GLOBAL || text.find("kernel int, int*") !=
              std::string::npos);
    if (text.find(words) == std::string::npos)
        printf("\n%s: %s", words, text.c_str());
}

static void test_odd_lanes()
{
    says(ABSENT, "but lane 5 never comes");
    says(AT_BARRIER, "but lane 5 is at a barrier");
    says(AT_ANOTHER, "shfl.idx");
    says(OTHER_LANES, "but lane 5 never comes");
    says(GLOBAL, "not of shared memory");
    says(AWRY, "not at a multiple of 16 bytes");
#ifdef __SANITIZE_THREAD__
    says(RACE, "reads what thread");
#endif
    CU_ASSERT(last_words(GOOD).empty());
}

static CU_TestInfo tests[] = {
    { "shuffles", test_shuffles },
    { "shuffles of half a warp", test_halves },
    { "matrices", test_matrices },
    { "products", test_products },
    { "lanes that do not meet", test_odd_lanes },
    CU_TEST_INFO_NULL
};

int main()
{
    return check_all("simulated warps", tests);
}
