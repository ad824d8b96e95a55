/* SPDX-License-Identifier: Apache-2.0
 * replay.c: work that is recorded as a CUDA graph and started as one. */
#include "device/cuda/core.h"

struct replay {
    int             ready;    /* it was done once: scratch and plans stand */
    int             never;    /* it cannot be recorded */
    int64_t         moved;    /* of the core, when it was recorded */
    cudaGraphExec_t exec;
};

static void forget(struct replay *r)
{
    if (r->exec)
        cudaGraphExecDestroy(r->exec);
    r->exec = NULL;
}

/* 1: started. */
static int start(struct ctt_cuda *u, struct replay *r)
{
    int rc = 0;

    CTT_TRY(ctt_cuda_join(u));
    CTT_CUDA(NULL, cudaGraphLaunch(r->exec, u->lane[0].stream));
    rc = 1;
out:
    return rc;
}

/* All lanes have been waited for, so that the recording begins in one. */
static int begin(struct ctt_cuda *u, struct replay *r)
{
    int rc = 0;

    CTT_TRY(ctt_cuda_join(u));
    u->recording = cudaStreamBeginCapture(u->lane[0].stream,
                                          cudaStreamCaptureModeThreadLocal)
                   == cudaSuccess;
    r->never = !u->recording;
    cudaGetLastError();
out:
    return rc;
}

int ctt_cuda_replay(struct ctt_dev *d, void **place)
{
    struct ctt_cuda *u = ctt_cuda_of(d);
    struct replay *r = *place;
    int rc = 0;

    if (!r) {
        *place = ctt_calloc(1, sizeof(*r));
        CTT_CHECK(*place, CTT_ENOMEM, "device cuda: out of memory");
        return 0;
    }
    if (r->exec && r->moved == u->core->moved)
        return start(u, r);
    forget(r);
    if (r->ready && !r->never)
        CTT_TRY(begin(u, r));
out:
    return rc;
}

/* What has been recorded is made ready and started for this time. */
static int finish(struct ctt_cuda *u, struct replay *r, cudaGraph_t graph)
{
    int rc = 0;

    CTT_CUDA(NULL, cudaGraphInstantiate(&r->exec, graph, 0));
    CTT_CUDA(NULL, cudaGraphLaunch(r->exec, u->lane[0].stream));
    r->moved = u->core->moved;
out:
    return rc;
}

int ctt_cuda_recorded(struct ctt_dev *d, void **place, int rc)
{
    struct ctt_cuda *u = ctt_cuda_of(d);
    struct replay *r = *place;
    cudaGraph_t graph = NULL;
    cudaError_t e;

    if (!u->recording) {
        r->ready = r->ready || rc >= 0;
        return rc;
    }
    if (rc >= 0)
        rc = ctt_cuda_join(u);
    e = cudaStreamEndCapture(u->lane[0].stream, &graph);
    u->recording = 0;
    if (rc >= 0)
        CTT_CUDA(NULL, e);
    if (rc >= 0)
        CTT_TRY(finish(u, r, graph));
out:
    r->never = rc < 0;
    if (graph)
        cudaGraphDestroy(graph);
    if (rc < 0) {    /* what was recorded has not been done */
        forget(r);
        cudaGetLastError();
    }
    return rc < 0;
}

void ctt_cuda_drop(struct ctt_dev *d, void *place)
{
    ctt_cuda_idle(ctt_cuda_of(d));
    forget(place);
    ctt_free(place);
}
