/* SPDX-License-Identifier: Apache-2.0
 * nccl.c: bytes between the GPUs of several processes, by NCCL's messages.  The
 * library is loaded when it is asked for: most trainings have one process, and
 * one without it can still send bytes through the host. */
#include "device/cuda/core.h"
#include "base/clock.h"

#include <dlfcn.h>
#include <nccl.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libnccl.so.2"

#define FUNCTIONS(X)                                                    \
    X(ncclGetVersion) X(ncclGetErrorString) X(ncclGetLastError)         \
    X(ncclGetUniqueId) X(ncclCommInitRank) X(ncclCommAbort)             \
    X(ncclCommGetAsyncError) X(ncclGroupStart) X(ncclGroupEnd)          \
    X(ncclSend) X(ncclRecv)

struct ctt_nccl {
#define X(name) __typeof__(name) *name;
    FUNCTIONS(X)
#undef X
    ncclComm_t  comm;    /* NULL: no group joined, or left */
    cudaEvent_t done;
    int         ranks;
};

/* Seconds of busy waiting; then a wait sleeps between looks, as processors may
 * be few. */
#define LOOKS 1e-3
enum { SLEEP = 50000,    /* nanoseconds */
       WORD = 6 };       /* seconds for another rank to report its error: the
                            last one reports after 5 (tools/train/ranks.c) */

static struct ctt_nccl *nccl_of(struct ctt_dev *d)
{
    return ctt_cuda_of(d)->core->nccl;
}

/* what: the source text of the call; the message shows the function's name and
 * the library's own text, if it has one, up to the end of its line. */
static int nccl_error(const struct ctt_nccl *n, const char *what,
                      ncclResult_t r)
{
    const char *more = n->ncclGetLastError(n->comm);
    int name = (int)strcspn(what, "(");

    more = more ? more : "";
    return ctt_error(CTT_EIO, "device cuda: %.*s: %s%s%.*s", name, what,
                     n->ncclGetErrorString(r), *more ? ": " : "",
                     (int)strcspn(more, "\n"), more);
}

/* Requires an int rc and a label out. */
#define CTT_NCCL(n, call)                                               \
    do {                                                                \
        ncclResult_t e_ = (n)->call;                                    \
        if (e_ != ncclSuccess) {                                        \
            rc = nccl_error(n, #call, e_);                              \
            goto out;                                                   \
        }                                                               \
    } while (0)

/* ---- the library ---- */

/* Loads the library for good: its threads may outlive a communicator. */
static int load_library(struct ctt_nccl *n)
{
    void *so = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL), *at;
    int rc = 0;

    CTT_CHECK(so, CTT_EUNSUP, "%s", dlerror());
#define X(name)                                                         \
    at = dlsym(so, #name);                                              \
    CTT_CHECK(at, CTT_EUNSUP, LIBRARY " has no " #name ": it is too old"); \
    memcpy(&n->name, &at, sizeof(at));    /* ISO C has no cast for it */
    FUNCTIONS(X)
#undef X
out:
    return rc;
}

static int open_nccl(struct ctt_core *k)
{
    struct ctt_nccl *n = ctt_calloc(1, sizeof(*n));
    int rc = 0;

    CTT_CHECK(n, CTT_ENOMEM, "device cuda: out of memory");
    CTT_TRY(load_library(n));
    CTT_CUDA(NULL, cudaEventCreateWithFlags(&n->done, cudaEventDisableTiming));
    k->nccl = n;
    n = NULL;
out:
    ctt_free(n);
    return rc;
}

/* Identifies the GPU by its bus, like NCCL: parts of one GPU (MIG) count as
 * one. */
static int describe_peer(struct ctt_dev *d, struct ctt_peer *out)
{
    const struct ctt_cuda *u = ctt_cuda_of(d);
    int version = 0, rc = 0;

    if (!u->core->nccl)
        CTT_TRY(open_nccl(u->core));
    CTT_NCCL(nccl_of(d), ncclGetVersion(&version));
    snprintf(out->place, sizeof(out->place), "%x:%x:%x",
             (unsigned)u->prop.pciDomainID, (unsigned)u->prop.pciBusID,
             (unsigned)u->prop.pciDeviceID);
    snprintf(out->by, sizeof(out->by), "NCCL %d.%d.%d", version / 10000,
             version / 100 % 100, version % 100);
out:
    return rc;
}

/* ---- meeting and leaving ---- */

static int make_id(struct ctt_dev *d, char id[CTT_PEERS_ID])
{
    ncclUniqueId u;
    int rc = 0;

    _Static_assert(sizeof(u) == CTT_PEERS_ID, "an id has another size");
    CTT_NCCL(nccl_of(d), ncclGetUniqueId(&u));
    memcpy(id, &u, sizeof(u));
out:
    return rc;
}

static int join_group(struct ctt_dev *d, const char id[CTT_PEERS_ID], int rank,
                      int ranks)
{
    struct ctt_nccl *n = nccl_of(d);
    ncclComm_t comm = NULL;
    ncclUniqueId u;
    int rc = 0;

    CTT_CHECK(!n->comm, CTT_EINVAL, "device cuda: it has met others before");
    memcpy(&u, id, sizeof(u));
    CTT_NCCL(n, ncclCommInitRank(&comm, ranks, u, rank));
    n->comm = comm;
    n->ranks = ranks;
out:
    return rc;
}

/* Aborts, as ncclCommDestroy() waits for the other ranks of the machine, one of
 * which may have failed.  Without a failure nothing is pending: each all-gather
 * and all-to-all has waited for its end. */
static void abort_comm(struct ctt_nccl *n)
{
    if (n->comm)
        n->ncclCommAbort(n->comm);
    n->comm = NULL;
}

static void leave_group(struct ctt_dev *d)
{
    struct ctt_core *k = ctt_cuda_of(d)->core;
    struct ctt_nccl *n = k ? k->nccl : NULL;

    if (!n)
        return;
    abort_comm(n);
    cudaEventDestroy(n->done);
    ctt_free(n);
    k->nccl = NULL;
}

/* ---- bytes ---- */

/* Error if another rank is gone, for which this one would wait for ever.  A
 * rank that failed reports its own error and ends all ranks, so this error
 * waits WORD seconds. */
static int check_others(struct ctt_nccl *n)
{
    struct timespec word = { .tv_sec = WORD };
    ncclResult_t state = ncclSuccess;
    int rc = 0;

    CTT_NCCL(n, ncclCommGetAsyncError(n->comm, &state));
    if (state == ncclSuccess || state == ncclInProgress)
        goto out;
    rc = nccl_error(n, "ncclSend and ncclRecv", state);
    while (state == ncclRemoteError && nanosleep(&word, &word) != 0)
        ;    /* a signal ends this rank */
out:
    return rc;
}

/* Waits for the work queued on the lane. */
static int wait_done(struct ctt_nccl *n, cudaStream_t s)
{
    const struct timespec nap = { .tv_nsec = SLEEP };
    double since = ctt_seconds();
    cudaError_t e;
    int rc = 0;

    CTT_CUDA(NULL, cudaEventRecord(n->done, s));
    while ((e = cudaEventQuery(n->done)) == cudaErrorNotReady) {
        cudaGetLastError();    /* not an error */
        CTT_TRY(check_others(n));
        if (ctt_seconds() - since > LOOKS)
            nanosleep(&nap, NULL);
    }
    CTT_CUDA(NULL, e);
out:
    return rc;
}

/* Queues one message to each rank and one from each; the one to rank r begins
 * at from + r * step bytes. */
static int queue_messages(struct ctt_nccl *n, const char *from, int64_t step,
                          char *to, int64_t each, cudaStream_t s)
{
    size_t bytes = (size_t)each;
    int rc = 0;

    for (int r = 0; r < n->ranks; r++) {
        CTT_NCCL(n, ncclSend(from + r * step, bytes, ncclChar, r, n->comm, s));
        CTT_NCCL(n, ncclRecv(to + r * each, bytes, ncclChar, r, n->comm, s));
    }
out:
    return rc;
}

/* Sends and receives as one group, since a single message waits for its
 * receiver. */
static int send_and_receive(struct ctt_dev *d, const void *from, int64_t step,
                            void *to, int64_t each)
{
    cudaStream_t s = ctt_cuda_lane(d)->stream;
    struct ctt_nccl *n = nccl_of(d);
    int rc = 0;

    CTT_CHECK(n && n->comm, CTT_EINVAL, "device cuda: it has met no others");
    CTT_NCCL(n, ncclGroupStart());
    rc = queue_messages(n, from, step, to, each, s);
    if (rc < 0)
        n->ncclGroupEnd();
    CTT_TRY(rc);
    CTT_NCCL(n, ncclGroupEnd());
    CTT_TRY(wait_done(n, s));
out:
    if (rc < 0 && n)
        abort_comm(n);
    return rc;
}

static int nccl_allgather(struct ctt_dev *d, const void *mine, int64_t bytes,
                          void *all)
{
    return send_and_receive(d, mine, 0, all, bytes);
}

static int nccl_alltoall(struct ctt_dev *d, const void *from, void *to,
                         int64_t each)
{
    return send_and_receive(d, from, each, to, each);
}

const struct ctt_dev_peers ctt_cuda_peers = {
    describe_peer, make_id, join_group, nccl_allgather, nccl_alltoall,
    leave_group,
};
