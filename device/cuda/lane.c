/* SPDX-License-Identifier: Apache-2.0
 * lane.c: streams, waits between them, and their scratch. */
#include "device/cuda/core.h"

#include <stdio.h>

int ctt_lane_open(struct ctt_lane *l)
{
    int rc = 0;

    CTT_CUDA(NULL, cudaStreamCreateWithFlags(&l->stream,
                                             cudaStreamNonBlocking));
    CTT_CUDA(NULL, cudaEventCreateWithFlags(&l->event,
                                            cudaEventDisableTiming));
    CTT_CUDNN(NULL, cudnnCreate(&l->dnn));
    CTT_CUDNN(NULL, cudnnSetStream(l->dnn, l->stream));
out:
    if (rc < 0)
        ctt_lane_close(l);
    return rc;
}

void ctt_lane_close(struct ctt_lane *l)
{
    if (l->dnn)
        cudnnDestroy(l->dnn);
    if (l->event)
        cudaEventDestroy(l->event);
    if (l->stream)
        cudaStreamDestroy(l->stream);
    cudaFree(l->scratch);
    *l = (struct ctt_lane) { .room = 0 };
}

/* Opens a lane at its first use.  If opening fails, its work goes to lane 0:
 * slower, with the same results. */
static int open_lane(struct ctt_cuda *u, int lane)
{
    while (lane >= u->lanes && u->lanes < CTT_CUDA_LANES && !u->recording &&
           ctt_lane_open(&u->lane[u->lanes]) == 0)
        u->lanes++;
    return lane < u->lanes ? lane : 0;
}

void ctt_cuda_set_lane(struct ctt_dev *d, int lane)
{
    ctt_cuda_of(d)->at = open_lane(ctt_cuda_of(d), lane);
}

static int recorded(const struct ctt_lane *l)
{
    enum cudaStreamCaptureStatus s = cudaStreamCaptureStatusNone;

    return cudaStreamIsCapturing(l->stream, &s) == cudaSuccess &&
           s != cudaStreamCaptureStatusNone;
}

/* During a recording, lanes that take no part in it are not waited for: their
 * earlier work was waited for when the recording began. */
static int wait_for_lane(struct ctt_cuda *u, struct ctt_lane *l,
                         struct ctt_lane *other)
{
    int rc = 0;

    if (l == other || (u->recording && !recorded(other)))
        return 0;
    CTT_CUDA(NULL, cudaEventRecord(other->event, other->stream));
    CTT_CUDA(NULL, cudaStreamWaitEvent(l->stream, other->event, 0));
out:
    return rc;
}

int ctt_cuda_wait(struct ctt_dev *d, int lane, int other)
{
    struct ctt_cuda *u = ctt_cuda_of(d);

    return wait_for_lane(u, &u->lane[open_lane(u, lane)],
                         &u->lane[open_lane(u, other)]);
}

int ctt_cuda_join(struct ctt_cuda *u)
{
    int rc = 0;

    for (int i = 1; i < u->lanes; i++)
        CTT_TRY(wait_for_lane(u, &u->lane[0], &u->lane[i]));
out:
    return rc;
}

cudaError_t ctt_cuda_idle(struct ctt_cuda *u)
{
    cudaError_t first = cudaStreamSynchronize(u->copy);
    cudaError_t second = u->core->aside
                       ? cudaStreamSynchronize(u->core->aside) : cudaSuccess;

    first = first == cudaSuccess ? second : first;
    for (int i = 0; i < u->lanes; i++) {
        cudaError_t e = cudaStreamSynchronize(u->lane[i].stream);

        first = first == cudaSuccess ? e : first;
    }
    return first;
}

int ctt_cuda_sync(struct ctt_dev *d)
{
    cudaError_t e = ctt_cuda_idle(ctt_cuda_of(d));

    return e == cudaSuccess ? 0
                            : ctt_cuda_error(NULL, "cudaStreamSynchronize", e);
}

/* Grows by more than requested, so that it grows a few times only. */
int ctt_cuda_scratch(struct ctt_dev *d, const struct ctt_call *c, size_t bytes,
                     void **out)
{
    enum { UNIT = 1 << 20, MORE = 64 << 20 };
    struct ctt_cuda *u = ctt_cuda_of(d);
    struct ctt_lane *l = ctt_cuda_lane(d);
    char what[CTT_NAME + 16];
    void *p = NULL;
    int rc = 0;

    if (bytes > l->room) {
        snprintf(what, sizeof(what), "scratch%s%s", c ? " of " : "",
                 c ? c->node->name : "");
        CTT_CHECK(!u->recording, CTT_EUNSUP,
                  "device cuda: %s grows while a graph is recorded", what);
        CTT_CUDA(c, cudaStreamSynchronize(l->stream));
        cudaFree(l->scratch);
        l->scratch = NULL;
        l->room = 0;
        u->core->moved++;
        bytes += bytes / 2 < MORE ? bytes / 2 : MORE;
        bytes = (bytes + UNIT - 1) / UNIT * UNIT;
        CTT_TRY(ctt_cuda_malloc(what, (int64_t)bytes, &p));
        l->scratch = p;
        l->room = bytes;
    }
    *out = l->scratch;
out:
    return rc;
}
