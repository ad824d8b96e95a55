/* SPDX-License-Identifier: Apache-2.0
 * test_sim_nccl.cc: the simulated NCCL moves bytes between processes, and finds
 * the errors that it is made for: messages that wait for each other, sizes that
 * differ, memory that overlaps, ranks that are gone. */
#include "tests/sim/nccl.h"
#include "tests/sim/test_sim.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

struct rank {
    int          me, all;
    ncclComm_t   comm;
    cudaStream_t s;
};

/* 1 if a is b, else says where; for the ranks, whose asserts nobody counts. */
#define SAME(a, b) same_value((long)(a), (long)(b), __LINE__)
static int same_value(long a, long b, int line)
{
    if (a != b)
        printf("line %d: %ld, not %ld\n", line, a, b);
    return a == b;
}

using work = std::function<int(rank &)>;

/* One rank, from its beginning to its end: its exit status. */
static int run_rank(int me, int all, ncclUniqueId id, const work &f)
{
    rank r = { me, all, NULL, NULL };
    int good;

    setenv("CUDA_VISIBLE_DEVICES", std::to_string(me).c_str(), 1);
    setenv("CTT_SIM_NCCL_WAIT", "2", 1);
    good = SAME(cudaStreamCreateWithFlags(&r.s, cudaStreamNonBlocking), 0) &&
           SAME(ncclCommInitRank(&r.comm, all, id, me), ncclSuccess) && f(r);
    if (r.comm)
        good = SAME(ncclCommAbort(r.comm), ncclSuccess) && good;
    good = SAME(cudaStreamDestroy(r.s), 0) && good;
    good = SAME(ctt_sim_live(), 0) && good;
    fflush(stdout);
    return good ? 0 : 1;
}

/* Runs `all` processes, each a rank; returns the wait() status of each. */
static std::vector<int> run_ranks(int all, const work &f)
{
    std::vector<pid_t> child((size_t)all);
    std::vector<int> status((size_t)all);
    ncclUniqueId id;

    CU_ASSERT_EQUAL(ncclGetUniqueId(&id), ncclSuccess);
    fflush(NULL);
    for (int r = 0; r < all; r++) {
        child[(size_t)r] = fork();
        if (child[(size_t)r] == 0)
            _exit(run_rank(r, all, id, f));
    }
    for (size_t r = 0; r < child.size(); r++)
        CU_ASSERT_EQUAL(waitpid(child[r], &status[r], 0), child[r]);
    return status;
}

static void runs(int all, const work &f)
{
    for (int status : run_ranks(all, f))
        CU_ASSERT_EQUAL(status, 0);
}

static char byte(int from, int to, size_t i)
{
    return (char)(i * 7 + i / 253 + (size_t)from * 11 + (size_t)to * 101);
}

static char *alloc_device(size_t bytes)
{
    void *p = NULL;

    return cudaMalloc(&p, bytes) ? NULL : (char *)p;
}

static char *rows(const rank &r, size_t n)
{
    std::vector<char> x((size_t)r.all * n);
    char *p = alloc_device(x.size());

    for (size_t i = 0; i < x.size(); i++)
        x[i] = byte(r.me, (int)(i / n), i % n);
    cudaMemcpy(p, x.data(), x.size(), cudaMemcpyHostToDevice);
    return p;
}

/* 1 if the received bytes of each rank are the ones it has for this rank. */
static int came(const rank &r, const char *p, size_t n)
{
    std::vector<char> x((size_t)r.all * n);
    int wrong = 0;

    cudaMemcpy(x.data(), p, x.size(), cudaMemcpyDeviceToHost);
    for (size_t i = 0; i < x.size(); i++)
        wrong += x[i] != byte((int)(i / n), r.me, i % n);
    return SAME(wrong, 0);
}

static int exchange(const rank &r, const char *from, char *to, size_t n)
{
    int good = SAME(ncclGroupStart(), ncclSuccess);

    for (int k = 0; k < r.all; k++) {
        size_t at = (size_t)k * n;

        good &= SAME(ncclSend(from + at, n, ncclChar, k, r.comm, r.s), 0);
        good &= SAME(ncclRecv(to + at, n, ncclChar, k, r.comm, r.s), 0);
    }
    return SAME(ncclGroupEnd(), ncclSuccess) && good;
}

static void test_trade()
{
    const size_t sizes[] = { 1, 4099, 3 << 20 };

    for (int all : { 1, 2, 4 })
        for (size_t n : sizes)
            runs(all, [=](rank &r) {
                char *from = rows(r, n), *to = alloc_device((size_t)r.all * n);
                int good = 1;

                for (int turn = 0; turn < 2; turn++)
                    good &= exchange(r, from, to, n);
                good &= SAME(cudaStreamSynchronize(r.s), 0) && came(r, to, n);
                cudaFree(from);
                cudaFree(to);
                return good;
            });
}

/* Nothing arrives before a wait for the stream, and messages hold the bytes of
 * that time. */
static void test_message_order()
{
    runs(2, [](rank &r) {
        float one = 1, x = 0;
        float *p = (float *)alloc_device(4), *q = (float *)alloc_device(4);
        int other = 1 - r.me, good;

        cudaMemcpy(q, &x, 4, cudaMemcpyHostToDevice);
        ncclGroupStart();
        ncclSend(p, 1, ncclFloat, other, r.comm, r.s);
        ncclRecv(q, 1, ncclFloat, other, r.comm, r.s);
        good = SAME(ncclGroupEnd(), ncclSuccess);
        cudaMemcpy(p, &one, 4, cudaMemcpyHostToDevice);
        cudaMemcpy(&x, q, 4, cudaMemcpyDeviceToHost);
        good &= SAME(x, 0) && SAME(cudaStreamSynchronize(r.s), 0);
        cudaMemcpy(&x, q, 4, cudaMemcpyDeviceToHost);
        good &= SAME(x, 1);
        cudaFree(p);
        cudaFree(q);
        return good;
    });
}

/* Alone a message waits until it is taken: two that send first wait for
 * ever. */
static int in_turn(rank &r, int first)
{
    char *p = alloc_device(8), *q = alloc_device(8);
    int other = 1 - r.me, good = 1;

    for (int i = 0; i < 2; i++)
        if ((i == 0) == (r.me == first))
            good &= SAME(ncclSend(p, 8, ncclChar, other, r.comm, r.s), 0);
        else
            good &= SAME(ncclRecv(q, 8, ncclChar, other, r.comm, r.s), 0);
    good &= SAME(cudaStreamSynchronize(r.s), 0);
    cudaFree(p);
    cudaFree(q);
    return good;
}

static int hushed()
{
    return freopen("/dev/null", "w", stderr) != NULL;
}

static int is_abort(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void test_wait()
{
    runs(2, [](rank &r) { return in_turn(r, 0); });
    for (int status : run_ranks(2, [](rank &r) {
            return hushed() && in_turn(r, r.me); }))
        CU_ASSERT(is_abort(status));
}

static void test_sizes()
{
    std::vector<int> status = run_ranks(2, [](rank &r) {
        char *p = alloc_device(8);

        hushed();
        if (r.me == 0)
            ncclSend(p, 8, ncclChar, 1, r.comm, r.s);
        else
            ncclRecv(p, 4, ncclChar, 0, r.comm, r.s);
        cudaStreamSynchronize(r.s);
        cudaFree(p);
        return 1;
    });

    CU_ASSERT(is_abort(status[1]));
}

static ncclResult_t pair(const rank &r, char *from, char *to, size_t n,
                         cudaStream_t s)
{
    ncclGroupStart();
    ncclSend(from, n, ncclChar, 0, r.comm, r.s);
    ncclRecv(to, n, ncclChar, 0, r.comm, s);
    return ncclGroupEnd();
}

static void test_misuse()
{
    runs(1, [](rank &r) {
        char *p = alloc_device(64), here[8];
        cudaStream_t s;
        int good = SAME(cudaStreamCreate(&s), 0);

        good &= SAME(pair(r, p, p + 32, 32, r.s), ncclSuccess);
        good &= SAME(pair(r, p, p + 31, 32, r.s), ncclInvalidArgument);
        good &= SAME(pair(r, p, p + 32, 33, r.s), ncclInvalidArgument);
        good &= SAME(pair(r, p, here, 8, r.s), ncclInvalidArgument);
        good &= SAME(pair(r, p, p + 32, 32, s), ncclInvalidUsage);
        good &= SAME(ncclSend(p, 8, ncclChar, 0, r.comm, r.s),
                     ncclInvalidUsage);
        good &= SAME(ncclSend(p, 8, ncclChar, 1, r.comm, r.s),
                     ncclInvalidArgument);
        good &= SAME(ncclGroupEnd(), ncclInvalidUsage);
        good &= SAME(cudaStreamSynchronize(r.s), 0);
        cudaStreamDestroy(s);
        cudaFree(p);
        return good;
    });
}

/* A rank has gone: the work never ends, NCCL says why, and abort ends it. */
static void test_gone()
{
    runs(2, [](rank &r) {
        ncclResult_t state = ncclSuccess;
        cudaEvent_t e;
        char *p;
        int good;

        if (r.me)
            return 1;
        p = alloc_device(8);
        cudaEventCreate(&e);
        good = SAME(ncclRecv(p, 8, ncclChar, 1, r.comm, r.s), ncclSuccess);
        cudaEventRecord(e, r.s);
        while (state == ncclSuccess && good) {
            good = SAME(cudaEventQuery(e), cudaErrorNotReady);
            ncclCommGetAsyncError(r.comm, &state);
        }
        good &= SAME(state, ncclRemoteError);
        good &= SAME(cudaEventQuery(e), cudaErrorNotReady);
        good &= SAME(ncclCommAbort(r.comm), ncclSuccess);
        r.comm = NULL;
        good &= SAME(cudaStreamSynchronize(r.s), 0);
        cudaEventDestroy(e);
        cudaFree(p);
        return good;
    });
}

/* Two ranks on one GPU. */
static void test_twins()
{
    ncclUniqueId id;
    ncclComm_t c;
    int status;
    pid_t child;

    CU_ASSERT_EQUAL(ncclGetUniqueId(&id), ncclSuccess);
    child = fork();
    if (child == 0)
        _exit(ncclCommInitRank(&c, 2, id, 1) != ncclInvalidUsage);
    CU_ASSERT_EQUAL(ncclCommInitRank(&c, 2, id, 0), ncclInvalidUsage);
    CU_ASSERT(strstr(ncclGetLastError(NULL), "Duplicate GPU") != NULL);
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
    CU_ASSERT_EQUAL(status, 0);
}

static CU_TestInfo tests[] = {
    { "each gets what the others have for it", test_trade },
    { "in the order of the stream", test_message_order },
    { "messages that wait for each other", test_wait },
    { "sizes that differ", test_sizes },
    { "misuse", test_misuse },
    { "a rank that is gone", test_gone },
    { "one GPU twice", test_twins },
    CU_TEST_INFO_NULL
};

int main()
{
    return check_all("sim_nccl", tests);
}
