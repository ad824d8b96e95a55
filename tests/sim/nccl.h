/* SPDX-License-Identifier: Apache-2.0
 * nccl.h: the part of NCCL that device/cuda calls: messages between the GPUs
 * of several processes. */
#ifndef CTT_SIM_NCCL_H
#define CTT_SIM_NCCL_H

#include "tests/sim/cuda_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

CTT_SIM_HANDLE(ncclComm_t);

typedef int ncclResult_t;
enum {
    ncclSuccess, ncclUnhandledCudaError, ncclSystemError, ncclInternalError,
    ncclInvalidArgument, ncclInvalidUsage, ncclRemoteError, ncclInProgress
};

typedef int ncclDataType_t;
enum { ncclChar = 0, ncclFloat = 7 };

enum { NCCL_UNIQUE_ID_BYTES = 128 };
struct ctt_sim_nccl_id { char internal[NCCL_UNIQUE_ID_BYTES]; };
#define ncclUniqueId struct ctt_sim_nccl_id

ncclResult_t ncclGetVersion(int *version);
const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetLastError(ncclComm_t comm);

ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id,
                              int rank);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);
ncclResult_t ncclCommAbort(ncclComm_t comm);

ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t s);
ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t s);

#ifdef __cplusplus
}
#endif

#endif
