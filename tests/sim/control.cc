/* SPDX-License-Identifier: Apache-2.0
 * control.cc: the lock, planned failures, the last error, and counts of live
 * objects. */
#include "tests/sim/inside.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <unistd.h>

static std::recursive_mutex lock;
static int depth;
static long fail_at = -1;    /* -1: not read from the environment yet */
static long alive[CTT_SIM_KINDS];
static struct ctt_sim_sums sums;
static thread_local cudaError_t last_error;
static uint64_t state = 88172645463325252u;

ctt_sim_entry::ctt_sim_entry(bool may_fail) : refused(false)
{
    lock.lock();
    depth++;
    if (fail_at < 0) {
        const char *k = getenv("CTT_SIM_FAIL");
        fail_at = k ? atol(k) : 0;
    }
    if (!may_fail || depth > 1)
        return;
    sums.calls++;
    refused = fail_at > 0 && --fail_at == 0;
}

ctt_sim_entry::~ctt_sim_entry()
{
    if (--depth == 0)
        ctt_sim_close();
    lock.unlock();
}

void ctt_sim_die(const char *fmt, ...)
{
    va_list ap;

    fputs("simulated GPU: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}

void ctt_sim_fail(long k)
{
    ctt_sim_entry entry(false);

    fail_at = k;
}

void ctt_sim_count(enum ctt_sim_kind kind, int by)
{
    alive[kind] += by;
}

void ctt_sim_count_kernel()
{
    sums.kernels++;
}

void ctt_sim_count_graph()
{
    sums.graphs++;
}

long ctt_sim_live()
{
    ctt_sim_entry entry(false);
    long n = 0;

    for (long k : alive)
        n += k;
    return n;
}

void ctt_sim_show_live()
{
    static const char *const word[CTT_SIM_KINDS] = {
        "blocks of device memory", "stretches of locked memory", "streams",
        "events", "graphs", "executable graphs", "cuDNN handles",
        "cuDNN descriptors", "cuBLASLt handles", "cuBLASLt descriptors",
        "NCCL communicators", "cuSPARSE handles", "cuSPARSE descriptors",
    };
    ctt_sim_entry entry(false);

    for (int i = 0; i < CTT_SIM_KINDS; i++)
        if (alive[i])
            fprintf(stderr, "simulated GPU: %ld %s\n", alive[i], word[i]);
}

/* A correct program has freed everything by its end. */
static struct end {
    ~end()
    {
        if (ctt_sim_live() == 0 && fail_at <= 0 && !ctt_sim_nccl_waits())
            return;
        ctt_sim_show_live();
        fflush(NULL);
        _exit(ctt_sim_live() ? 70 : 71);
    }
} at_end;

struct ctt_sim_sums ctt_sim_counts()
{
    ctt_sim_entry entry(false);
    size_t room, total;

    if (!cudaMemGetInfo(&room, &total))
        sums.bytes = (int64_t)(total - room);
    return sums;
}

/* Marsaglia's xorshift, 2003. */
uint64_t ctt_sim_chance(uint64_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % n;
}

cudaError_t ctt_sim_error(cudaError_t e)
{
    if (e)
        last_error = e;
    return e;
}

cudaError_t cudaGetLastError()
{
    cudaError_t e = last_error;

    last_error = cudaSuccess;
    return e;
}

cudaError_t cudaPeekAtLastError()
{
    return last_error;
}

#define X(name, text) { "cuda" #name, text },
static const struct { const char *name, *text; } errors[] = {
    CTT_SIM_CUDA_ERRORS(X)
};
#undef X

const char *cudaGetErrorName(cudaError_t e)
{
    return e >= 0 && e < CTT_SIM_CUDA_LAST ? errors[e].name : "unrecognized";
}

const char *cudaGetErrorString(cudaError_t e)
{
    return e >= 0 && e < CTT_SIM_CUDA_LAST ? errors[e].text : "unrecognized";
}
