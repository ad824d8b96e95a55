/* SPDX-License-Identifier: Apache-2.0
 * transfer.c: offloads values from the GPU's memory and fetches them, on a
 * stream of its own. */
#include "device/cuda/core.h"

/* A copy begins after all earlier work of lane 0, which has waited for the
 * other lanes. */
int ctt_cuda_transfer(struct ctt_dev *d, enum ctt_direction way,
                      const void *from, void *to, int64_t bytes, void **place)
{
    struct ctt_cuda *u = ctt_cuda_of(d);
    struct ctt_core *k = u->core;
    cudaEvent_t e = *place;
    int rc = 0;

    if (!e) {
        CTT_CUDA(NULL, cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
        *place = e;
    }
    CTT_TRY(ctt_cuda_join(u));
    CTT_CUDA(NULL, cudaEventRecord(k->asked, u->lane[0].stream));
    CTT_CUDA(NULL, cudaStreamWaitEvent(k->aside, k->asked, 0));
    CTT_CUDA(NULL, cudaMemcpyAsync(to, from, (size_t)bytes,
                                   way == CTT_TO_HOST ? cudaMemcpyDeviceToHost
                                                      : cudaMemcpyHostToDevice,
                                   k->aside));
    CTT_CUDA(NULL, cudaEventRecord(e, k->aside));
out:
    return rc;
}

/* Lane 0 waits, as the other lanes' work begins and ends there. */
int ctt_cuda_transfer_follow(struct ctt_dev *d, void *place)
{
    int rc = 0;

    CTT_CUDA(NULL, cudaStreamWaitEvent(ctt_cuda_of(d)->lane[0].stream, place,
                                       0));
out:
    return rc;
}

/* Also called by threads other than the opening one, whose current GPU would be
 * 0 unless it is set. */
int ctt_cuda_transfer_wait(struct ctt_dev *d, void *place)
{
    int rc = 0;

    CTT_CUDA(NULL, cudaSetDevice(ctt_cuda_of(d)->device));
    CTT_CUDA(NULL, cudaEventSynchronize(place));
out:
    return rc;
}

void ctt_cuda_transfer_drop(struct ctt_dev *d, void *place)
{
    (void)d;
    cudaEventDestroy(place);
}

int ctt_transfer_open(struct ctt_core *k)
{
    int rc = 0;

    CTT_CUDA(NULL, cudaStreamCreateWithFlags(&k->aside,
                                             cudaStreamNonBlocking));
    CTT_CUDA(NULL, cudaEventCreateWithFlags(&k->asked,
                                            cudaEventDisableTiming));
out:
    return rc;
}

void ctt_transfer_close(struct ctt_core *k)
{
    if (k->asked)
        cudaEventDestroy(k->asked);
    if (k->aside)
        cudaStreamDestroy(k->aside);
}
