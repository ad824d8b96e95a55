/* SPDX-License-Identifier: Apache-2.0
 * replay.c: records repeated work as a CUDA graph and replays it. */
#include "device/cuda/core.h"

struct replay {
    int             ready;    /* ran once: scratch and plans exist */
    int             never;    /* recording failed: not tried again */
    int64_t         moved;    /* core->moved at the recording */
    cudaGraphExec_t exec;
};

static void free_graph(struct replay *r)
{
    if (r->exec)
        cudaGraphExecDestroy(r->exec);
    r->exec = NULL;
}

/* Launches the graph; 1, or an error. */
static int launch_graph(struct ctt_cuda *u, struct replay *r)
{
    int rc = 0;

    CTT_TRY(ctt_cuda_join(u));
    CTT_CUDA(NULL, cudaGraphLaunch(r->exec, u->lane[0].stream));
    rc = 1;
out:
    return rc;
}

/* Begins a recording on lane 0, which first waits for all others. */
static int begin_recording(struct ctt_cuda *u, struct replay *r)
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
        return launch_graph(u, r);
    free_graph(r);
    if (r->ready && !r->never)
        CTT_TRY(begin_recording(u, r));
out:
    return rc;
}

/* Instantiates the recorded graph and launches it, as recording runs
 * nothing. */
static int end_recording(struct ctt_cuda *u, struct replay *r,
                         cudaGraph_t graph)
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
        CTT_TRY(end_recording(u, r, graph));
out:
    r->never = rc < 0;
    if (graph)
        cudaGraphDestroy(graph);
    if (rc < 0) {    /* the recorded work has not run */
        free_graph(r);
        cudaGetLastError();
    }
    return rc < 0;
}

void ctt_cuda_drop(struct ctt_dev *d, void *place)
{
    ctt_cuda_idle(ctt_cuda_of(d));
    free_graph(place);
    ctt_free(place);
}
