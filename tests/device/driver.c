/* SPDX-License-Identifier: Apache-2.0
 * driver.c: a libcuda.so.1 that does nothing, so that cuDNN, which looks for
 * these names before it compiles a kernel, can be asked on a machine without a
 * GPU whether it would. */
enum { NO_DEVICE = 100 };

/* Whatever the arguments are. */
#define NAME(name, result) int name(void); int name(void) { return result; }

int cuDeviceGetCount(int *n); int cuDeviceGetCount(int *n) { *n = 0; return 0; }
NAME(cuGetExportTable, NO_DEVICE)

#define OTHERS(X)                                                           \
    X(cuCtxGetCurrent) X(cuCtxGetDevice) X(cuCtxGetLimit)                   \
    X(cuCtxPopCurrent) X(cuCtxPushCurrent) X(cuDeviceGet)                   \
    X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRelease)                    \
    X(cuDevicePrimaryCtxReset) X(cuDevicePrimaryCtxRetain)                  \
    X(cuDriverGetVersion) X(cuFuncGetAttribute) X(cuFuncSetAttribute)       \
    X(cuGetErrorName) X(cuGetErrorString) X(cuInit)                         \
    X(cuKernelGetAttribute) X(cuKernelSetAttribute)                         \
    X(cuLaunchCooperativeKernel) X(cuLaunchKernel) X(cuLaunchKernelEx)      \
    X(cuLibraryGetKernel) X(cuLibraryLoadData) X(cuLibraryLoadFromFile)     \
    X(cuLibraryUnload) X(cuLinkAddData) X(cuLinkAddData_v2)                 \
    X(cuLinkAddFile_v2) X(cuLinkComplete) X(cuLinkCreate)                   \
    X(cuLinkCreate_v2) X(cuLinkDestroy) X(cuMemcpyDtoH_v2)                  \
    X(cuModuleGetFunction) X(cuModuleGetGlobal_v2) X(cuModuleLoadData)      \
    X(cuModuleLoadDataEx) X(cuModuleLoadFatBinary) X(cuModuleUnload)        \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor)                          \
    X(cuOccupancyMaxPotentialClusterSize) X(cuStreamGetCtx)                 \
    X(cuStreamSynchronize) X(cuTensorMapEncodeTiled)
#define NONE(name) NAME(name, 0)
OTHERS(NONE)
