/* SPDX-License-Identifier: Apache-2.0
 * test_sim.cc: the simulated CUDA libraries find the errors they are made for:
 * missing waits, memory read too early or after its end, captures that a GPU
 * would refuse. */
#include "tests/sim/test_sim.h"

#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

enum { N = 1000 };

static __global__ void scale_kernel(float *x, float by, int n)
{
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n;
         i += (int)(gridDim.x * blockDim.x))
        x[i] *= by;
}

static __global__ void add_kernel(const float *x, float *y, int n)
{
    for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < n;
         i += (int)(gridDim.x * blockDim.x))
        y[i] += x[i];
}

/* Sums each block by halving. */
static __global__ void sum_kernel(const float *x, float *y, int n)
{
    __shared__ float part[64];
    unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;

    part[t] = i < (unsigned)n ? x[i] : 0;
    __syncthreads();
    for (unsigned k = blockDim.x / 2; k; k /= 2) {
        if (t < k)
            part[t] += part[t + k];
        __syncthreads();
    }
    if (t == 0)
        y[blockIdx.x] = part[0];
}

static void streams(cudaStream_t *a, cudaStream_t *b)
{
    CUDA(cudaStreamCreateWithFlags(a, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(b, cudaStreamNonBlocking));
}

static void free_all(cudaStream_t a, cudaStream_t b, float *x)
{
    CUDA(cudaStreamDestroy(a));
    CUDA(cudaStreamDestroy(b));
    CUDA(cudaFree(x));
    CU_ASSERT_EQUAL(ctt_sim_live(), 0);
}

/* Doubles x on one stream, then subtracts one on another. */
static float doubled(int order, bool waits)
{
    float *x = device({ 1, -1 }), y;
    cudaStream_t a, b;
    cudaEvent_t e;

    ctt_sim_order(order);
    streams(&a, &b);
    CUDA(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    ctt_sim_launch(1, 32, a, scale_kernel, x, 2, 1);
    CUDA(cudaEventRecord(e, a));
    if (waits)
        CUDA(cudaStreamWaitEvent(b, e, 0));
    ctt_sim_launch(1, 1, b, add_kernel, x + 1, x, 1);
    CUDA(cudaMemcpyAsync(&y, x, sizeof(y), cudaMemcpyDeviceToHost, b));
    CUDA(cudaEventDestroy(e));
    CUDA(cudaDeviceSynchronize());
    free_all(a, b, x);
    return y;
}

/* The missing wait shows if work is late; with it every order is right. */
static void test_stream_order()
{
    for (int order = 0; order < CTT_SIM_SEEDS + 4; order++)
        CU_ASSERT_EQUAL(doubled(order, true), 1);
    CU_ASSERT_EQUAL(doubled(CTT_SIM_LATE, false), 0);
    CU_ASSERT_EQUAL(doubled(CTT_SIM_NOW, false), 1);
}

/* Pageable memory is read at once, locked memory when the stream gets there. */
static void test_pinned()
{
    std::vector<float> from(N, 3);
    float *x = device(std::vector<float>(N));
    cudaStream_t a, b;

    ctt_sim_order(CTT_SIM_LATE);
    streams(&a, &b);
    CUDA(cudaMemcpyAsync(x, from.data(), N * sizeof(float),
                         cudaMemcpyHostToDevice, a));
    from[0] = 4;
    CUDA(cudaStreamSynchronize(a));
    CU_ASSERT_EQUAL(host(x, 1)[0], 3);
    CUDA(cudaHostRegister(from.data(), N * sizeof(float), 0));
    CU_ASSERT_EQUAL(cudaHostRegister(&from[5], 4, 0),
                    cudaErrorHostMemoryAlreadyRegistered);
    CU_ASSERT_EQUAL(cudaGetLastError(),
                    cudaErrorHostMemoryAlreadyRegistered);
    CU_ASSERT_EQUAL(cudaGetLastError(), cudaSuccess);
    CUDA(cudaMemcpyAsync(x, from.data(), N * sizeof(float),
                         cudaMemcpyHostToDevice, a));
    from[0] = 5;
    CUDA(cudaStreamSynchronize(a));
    CU_ASSERT_EQUAL(host(x, 1)[0], 5);
    CUDA(cudaHostUnregister(from.data()));
    free_all(a, b, x);
}

static void test_barrier()
{
    std::vector<float> from(N), sums;
    float *x, *y = device(std::vector<float>(16));
    double all = 0;

    for (int i = 0; i < N; i++)
        from[(size_t)i] = (float)i;
    x = device(from);
    ctt_sim_launch(16, 64, NULL, sum_kernel, x, y, N);
    CUDA(cudaGetLastError());
    sums = host(y, 16);
    for (float s : sums)
        all += s;
    CU_ASSERT_EQUAL(all, N * (N - 1) / 2);
    CU_ASSERT_EQUAL(sums[1], 64 * (64 + 127) / 2);
    ctt_sim_launch(16, 2048, NULL, sum_kernel, x, y, N);
    CU_ASSERT_EQUAL(cudaGetLastError(), cudaErrorInvalidConfiguration);
    CUDA(cudaFree(x));
    CUDA(cudaFree(y));
}

#ifdef __SANITIZE_THREAD__

/* As sum_kernel(), but nobody waits after the first step. */
static __global__ void hasty(const float *x, float *y, int n)
{
    __shared__ float part[64];
    unsigned t = threadIdx.x;

    part[t] = t < (unsigned)n ? x[t] : 0;
    if (t < 32)
        y[t] = part[t] + part[t + 32];
    __syncthreads();
}

/* All blocks add to one number. */
static __global__ void pile(const float *x, float *y, int n)
{
    if (threadIdx.x == 0)
        *y += x[blockIdx.x % (unsigned)n];
}

/* 1 if the kernel ends the program, as threads get in each other's way. */
static int ends(void (*kernel)(const float *, float *, int), float *x,
                unsigned blocks)
{
    pid_t child = fork();
    int status = 0;

    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        ctt_sim_launch(blocks, 64, NULL, kernel, x, x + 64, 64);
        _exit(0);
    }
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void test_race()
{
    float *x = device(std::vector<float>(128));

    CU_ASSERT(ends(hasty, x, 1));
    CU_ASSERT(ends(pile, x, 2));
    CU_ASSERT(!ends(pile, x, 1));
    CU_ASSERT(!ends(sum_kernel, x, 1));
    CUDA(cudaFree(x));
}

#endif

static sigjmp_buf back;

static void on_fault(int)
{
    siglongjmp(back, 1);
}

/* 1 if the program cannot read a float there. */
static int faults(const float *p)
{
    void (*old)(int) = signal(SIGSEGV, on_fault);
    volatile float x;
    volatile int yes = 1;

    if (!sigsetjmp(back, 1)) {
        x = *(const volatile float *)p;
        (void)x;
        yes = 0;
    }
    signal(SIGSEGV, old);
    return yes;
}

static void test_guard()
{
    float *x = device({ 1 }), *gone = device({ 2 });
    float y = 1;

    ctt_sim_guard(1);
    CU_ASSERT(faults(x));
    CUDA(cudaMemset(x, 0, 4));
    CU_ASSERT(faults(x));
    ctt_sim_guard(0);
    CU_ASSERT(!faults(x));
    ctt_sim_guard(1);
    CU_ASSERT(faults(x));
    CUDA(cudaFree(gone));
    CU_ASSERT_EQUAL(cudaFree(gone), cudaErrorInvalidValue);
    CU_ASSERT_EQUAL(cudaMemset(gone, 0, 4), cudaErrorInvalidValue);
    CU_ASSERT_EQUAL(cudaMemset(x, 0, 5), cudaErrorInvalidValue);
    CU_ASSERT_EQUAL(cudaMemcpy(x, &y, 4, cudaMemcpyDeviceToDevice),
                    cudaErrorInvalidValue);
    cudaGetLastError();
    CUDA(cudaFree(x));
    CUDA(cudaMalloc((void **)&x, 4));
    CU_ASSERT(std::isnan(host(x, 1)[0]));
    CUDA(cudaFree(x));
}

static void test_device_limits()
{
    size_t room, total;
    int several = 0;
    void *p, *q;

    ctt_sim_memory(1000);
    CUDA(cudaMalloc(&p, 600));
    CUDA(cudaMemGetInfo(&room, &total));
    CU_ASSERT(room == 400 && total == 1000);
    CU_ASSERT_EQUAL(cudaMalloc(&q, 401), cudaErrorMemoryAllocation);
    CU_ASSERT_EQUAL(cudaGetLastError(), cudaErrorMemoryAllocation);
    setenv("CTT_SIM_JITTER", "300", 1);
    for (int i = 0, other = 0; i < 20; i++, other = (int)room) {
        CUDA(cudaMemGetInfo(&room, &total));
        CU_ASSERT(room >= 100 && room <= 400 && total == 1000);
        several += (int)room != other;
    }
    CU_ASSERT(several > 10);
    unsetenv("CTT_SIM_JITTER");
    ctt_sim_fail(2);
    CUDA(cudaMalloc(&q, 100));
    CU_ASSERT_EQUAL(cudaMemset(q, 0, 100), cudaErrorUnknown);
    CUDA(cudaMemset(q, 0, 100));
    cudaGetLastError();
    CU_ASSERT_EQUAL(ctt_sim_live(), 2);
    CU_ASSERT_EQUAL(ctt_sim_counts().bytes, 700);
    CUDA(cudaFree(p));
    CUDA(cudaFree(q));
    ctt_sim_memory((int64_t)1 << 30);
}

/* x *= 2 on one stream; a copy to y and y *= 3 on another; x += y. */
static cudaGraph_t captured(float *x, float *y, cudaStream_t a,
                            cudaStream_t b, cudaEvent_t e)
{
    cudaGraph_t g;

    CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    ctt_sim_launch(1, 32, a, scale_kernel, x, 2, N);
    CUDA(cudaEventRecord(e, a));
    CUDA(cudaStreamWaitEvent(b, e, 0));
    CUDA(cudaMemcpyAsync(y, x, N * sizeof(float), cudaMemcpyDeviceToDevice,
                         b));
    ctt_sim_launch(1, 32, b, scale_kernel, y, 3, N);
    CUDA(cudaEventRecord(e, b));
    CUDA(cudaStreamWaitEvent(a, e, 0));
    ctt_sim_launch(3, 32, a, add_kernel, y, x, N);
    CUDA(cudaGetLastError());
    CUDA(cudaStreamEndCapture(a, &g));
    return g;
}

static void test_graph()
{
    float *x = device(std::vector<float>(N, 1));
    float *y = device(std::vector<float>(N));
    cudaStream_t a, b;
    cudaGraphExec_t exec;
    cudaEvent_t e;
    cudaGraph_t g;
    size_t nodes;

    streams(&a, &b);
    CUDA(cudaEventCreate(&e));
    g = captured(x, y, a, b, e);
    CU_ASSERT_EQUAL(host(x, N)[N - 1], 1);
    CUDA(cudaGraphGetNodes(g, NULL, &nodes));
    CU_ASSERT_EQUAL(nodes, 4);
    CUDA(cudaGraphInstantiate(&exec, g, 0));
    CUDA(cudaGraphDestroy(g));
    CUDA(cudaGraphLaunch(exec, a));
    CUDA(cudaGraphLaunch(exec, a));
    CUDA(cudaStreamSynchronize(a));
    CU_ASSERT_EQUAL(host(x, N)[N - 1], 64);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaEventDestroy(e));
    CUDA(cudaFree(y));
    free_all(a, b, x);
}

/* Calls f within a capture; returns the error of its end. */
template <class F> static cudaError_t ended(cudaStream_t a, F f)
{
    cudaGraph_t g;
    cudaError_t e;

    CUDA(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    f();
    e = cudaStreamEndCapture(a, &g);
    CU_ASSERT_PTR_NULL(g);
    cudaGetLastError();
    return e;
}

static void test_refused_calls()
{
    float *x = device(std::vector<float>(N, 1)), y;
    const cudaError_t broken = cudaErrorStreamCaptureInvalidated;
    cudaStream_t a, b;
    cudaEvent_t e;
    void *p;

    streams(&a, &b);
    CUDA(cudaEventCreate(&e));
    CU_ASSERT_EQUAL(ended(a, [&]() { cudaMalloc(&p, 1); }), broken);
    CU_ASSERT_EQUAL(ended(a, [&]() { cudaFree(x); }), broken);
    CU_ASSERT_EQUAL(ended(a, [&]() { cudaStreamSynchronize(a); }), broken);
    CU_ASSERT_EQUAL(ended(a, [&]() { cudaDeviceSynchronize(); }), broken);
    CU_ASSERT_EQUAL(ended(a, [&]() {
        cudaMemcpy(&y, x, sizeof(y), cudaMemcpyDeviceToHost);
    }), broken);
    CUDA(cudaEventRecord(e, b));
    CU_ASSERT_EQUAL(ended(a, [&]() { cudaStreamWaitEvent(a, e, 0); }),
                    broken);
    CU_ASSERT_EQUAL(ended(a, [&]() {
        cudaEventRecord(e, a);
        cudaEventSynchronize(e);
    }), broken);
    CU_ASSERT_EQUAL(ended(a, [&]() {
        CUDA(cudaEventRecord(e, a));
        CUDA(cudaStreamWaitEvent(b, e, 0));
        ctt_sim_launch(1, 1, b, scale_kernel, x, 2, 1);
    }), cudaErrorStreamCaptureUnjoined);
    CU_ASSERT_EQUAL(host(x, 1)[0], 1);
    CUDA(cudaEventDestroy(e));
    free_all(a, b, x);
}

/* A stream is of the GPU that its thread was on. */
static void test_gpus()
{
    struct cudaDeviceProp a, b;
    cudaStream_t s;
    void *x;
    int n = 0;

    setenv("CTT_SIM_GPUS", "2", 1);
    CUDA(cudaGetDeviceCount(&n));
    CU_ASSERT_EQUAL(n, 2);
    CU_ASSERT_EQUAL(cudaSetDevice(2), cudaErrorInvalidDevice);
    CUDA(cudaSetDevice(1));
    CUDA(cudaStreamCreate(&s));
    CUDA(cudaGetDeviceProperties(&a, 0));
    CUDA(cudaGetDeviceProperties(&b, 1));
    CU_ASSERT(memcmp(&a.uuid, &b.uuid, sizeof(a.uuid)) != 0);
    CUDA(cudaMalloc(&x, 4));
    std::thread([s, x, &n]() {
        CUDA(cudaGetDevice(&n));
        CU_ASSERT_EQUAL(cudaMemsetAsync(x, 0, 4, s),
                        cudaErrorInvalidResourceHandle);
    }).join();
    CU_ASSERT_EQUAL(n, 0);
    CUDA(cudaMemsetAsync(x, 0, 4, s));
    CUDA(cudaStreamDestroy(s));
    CUDA(cudaFree(x));
    setenv("CUDA_VISIBLE_DEVICES", "3,5", 1);
    CUDA(cudaGetDeviceProperties(&b, 1));
    CU_ASSERT_EQUAL(b.pciBusID, 5);
    CUDA(cudaSetDevice(0));
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    CU_ASSERT_EQUAL(cudaGetDeviceCount(&n), cudaErrorNoDevice);
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CTT_SIM_GPUS");
    cudaGetLastError();
}

static CU_TestInfo tests[] = {
    { "work in every allowed order", test_stream_order },
    { "locked memory is read late", test_pinned },
    { "barriers", test_barrier },
#ifdef __SANITIZE_THREAD__
    { "data races", test_race },
#endif
    { "device memory is inaccessible", test_guard },
    { "limits and planned failures", test_device_limits },
    { "graphs of two streams", test_graph },
    { "captures that are refused", test_refused_calls },
    { "several GPUs", test_gpus },
    CU_TEST_INFO_NULL
};

int main()
{
    return check_all("sim", tests);
}
