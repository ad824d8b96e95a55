/* SPDX-License-Identifier: Apache-2.0
 * cuda_runtime_api.h: the part of the CUDA runtime that device/cuda calls, by
 * its real names; types opaque to programs differ. */
#ifndef CTT_SIM_CUDA_RUNTIME_API_H
#define CTT_SIM_CUDA_RUNTIME_API_H

#include <stddef.h>

#ifdef __cplusplus
#define CTT_SIM_OR(value) = value
extern "C" {
#else
#define CTT_SIM_OR(value)
#endif

/* A pointer to an object that is opaque outside the simulation. */
#define CTT_SIM_HANDLE(type) typedef struct ctt_sim_##type *type

#define CUDART_VERSION 13000
#define CUDART_CB

#define CTT_SIM_CUDA_ERRORS(X)                                          \
    X(Success, "no error")                                              \
    X(ErrorInvalidValue, "invalid argument")                            \
    X(ErrorMemoryAllocation, "out of memory")                           \
    X(ErrorInitializationError, "initialization error")                 \
    X(ErrorInvalidConfiguration, "invalid configuration argument")      \
    X(ErrorInvalidMemcpyDirection, "invalid copy direction for memcpy") \
    X(ErrorInsufficientDriver, "driver version is insufficient")        \
    X(ErrorNoDevice, "no CUDA-capable device is detected")              \
    X(ErrorInvalidDevice, "invalid device ordinal")                     \
    X(ErrorInvalidResourceHandle, "invalid resource handle")            \
    X(ErrorNotReady, "device not ready")                                \
    X(ErrorIllegalAddress, "an illegal memory access was encountered")  \
    X(ErrorHostMemoryAlreadyRegistered,                                 \
      "part or all of the requested memory range is already mapped")    \
    X(ErrorHostMemoryNotRegistered,                                     \
      "pointer does not correspond to a registered memory region")      \
    X(ErrorNotSupported, "operation not supported")                     \
    X(ErrorStreamCaptureUnsupported,                                    \
      "operation not permitted when stream is capturing")               \
    X(ErrorStreamCaptureInvalidated,                                    \
      "operation failed due to a previous error during capture")        \
    X(ErrorStreamCaptureMerge,                                          \
      "operation would result in a merge of separate capture sequences") \
    X(ErrorStreamCaptureUnmatched, "capture was not ended in the same"  \
      " stream as it began")                                            \
    X(ErrorStreamCaptureUnjoined,                                       \
      "capturing stream has unjoined work")                             \
    X(ErrorStreamCaptureIsolation,                                      \
      "dependency created on uncaptured work in another stream")        \
    X(ErrorStreamCaptureImplicit, "operation would make the legacy"     \
      " stream depend on a capturing blocking stream")                  \
    X(ErrorCapturedEvent, "operation not permitted on an event last"    \
      " recorded in a capturing stream")                                \
    X(ErrorUnknown, "unknown error")

typedef int cudaError_t;
#define X(name, text) cuda##name,
enum cudaError { CTT_SIM_CUDA_ERRORS(X) CTT_SIM_CUDA_LAST };
#undef X

CTT_SIM_HANDLE(cudaStream_t);
CTT_SIM_HANDLE(cudaEvent_t);
CTT_SIM_HANDLE(cudaGraph_t);
CTT_SIM_HANDLE(cudaGraphExec_t);
CTT_SIM_HANDLE(cudaGraphNode_t);

enum cudaMemcpyKind {
    cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
    cudaMemcpyDeviceToDevice, cudaMemcpyDefault
};
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive,
    cudaStreamCaptureStatusInvalidated
};
enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrClockRate = 13,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76
};
enum {
    cudaStreamDefault, cudaStreamNonBlocking,
    cudaEventDefault = 0, cudaEventBlockingSync, cudaEventDisableTiming,
    cudaEventRecordDefault = 0, cudaEventWaitDefault = 0,
    cudaHostRegisterDefault = 0, cudaHostRegisterPortable,
    cudaHostRegisterReadOnly = 8,
    cudaHostAllocDefault = 0, cudaHostAllocPortable
};
#define cudaStreamLegacy ((cudaStream_t)1)

struct ctt_sim_uuid { char bytes[16]; };
struct cudaDeviceProp {
    char   name[256];
    struct ctt_sim_uuid uuid;
    size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerMultiprocessor;
    int    major, minor, multiProcessorCount, warpSize;
    int    maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    int    regsPerBlock, maxThreadsPerMultiProcessor, l2CacheSize;
    int    asyncEngineCount, concurrentKernels, integrated;
    int    pciBusID, pciDeviceID, pciDomainID, memoryBusWidth, ECCEnabled;
};

const char *cudaGetErrorName(cudaError_t e);
const char *cudaGetErrorString(cudaError_t e);
cudaError_t cudaGetLastError(void);
cudaError_t cudaPeekAtLastError(void);

cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr,
                                   int device);
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaDeviceReset(void);

cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMemGetInfo(size_t *room, size_t *total);
cudaError_t cudaMallocHost(void **p, size_t bytes);
cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned flags);
cudaError_t cudaHostUnregister(void *p);

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes,
                       enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes,
                            enum cudaMemcpyKind kind,
                            cudaStream_t s CTT_SIM_OR(NULL));
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from,
                              size_t from_pitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind,
                              cudaStream_t s CTT_SIM_OR(NULL));
cudaError_t cudaMemset(void *p, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes,
                            cudaStream_t s CTT_SIM_OR(NULL));

cudaError_t cudaStreamCreate(cudaStream_t *s);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags,
                                         int priority);
cudaError_t cudaStreamDestroy(cudaStream_t s);
cudaError_t cudaStreamSynchronize(cudaStream_t s);
cudaError_t cudaStreamQuery(cudaStream_t s);
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e,
                                unsigned flags CTT_SIM_OR(0));

cudaError_t cudaEventCreate(cudaEvent_t *e);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t e);
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s CTT_SIM_OR(NULL));
cudaError_t cudaEventSynchronize(cudaEvent_t e);
cudaError_t cudaEventQuery(cudaEvent_t e);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to);

cudaError_t cudaStreamBeginCapture(cudaStream_t s,
                                   enum cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t s,
                                  enum cudaStreamCaptureStatus *status);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph,
                                 unsigned long long flags CTT_SIM_OR(0));
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t s);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t s);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes,
                              size_t *count);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

#ifdef __cplusplus
}
#endif

#endif
