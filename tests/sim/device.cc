/* SPDX-License-Identifier: Apache-2.0
 * device.cc: the simulated GPUs of a machine. */
#include "tests/sim/inside.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

cudaError_t cudaDriverGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

/* The number that the machine has for GPU `device` of this process, or -1: a
 * list in CUDA_VISIBLE_DEVICES says which there are, and how many; else there
 * are CTT_SIM_GPUS (1). */
static int which(int device)
{
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    const char *count = getenv("CTT_SIM_GPUS");

    if (!list)
        return device < (count ? atoi(count) : 1) ? device : -1;
    for (; device > 0 && list; device--) {
        list = strchr(list, ',');
        list += list != NULL;
    }
    return list && *list ? atoi(list) : -1;
}

static thread_local int current;

int ctt_sim_device()
{
    return current;
}

int ctt_sim_capability()
{
    const char *is = getenv("CTT_SIM_CAPABILITY");

    return is ? atoi(is) : 80;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    CTT_SIM_CUDA_ENTER();

    *count = 0;
    while (which(*count) >= 0)
        ++*count;
    return *count ? cudaSuccess : ctt_sim_error(cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int *device)
{
    CTT_SIM_CUDA_ENTER();

    *device = current;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    CTT_SIM_CUDA_ENTER();

    if (device < 0 || which(device) < 0)
        return ctt_sim_error(cudaErrorInvalidDevice);
    current = device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    CTT_SIM_CUDA_ENTER();
    size_t room, total;

    if (device < 0 || which(device) < 0)
        return ctt_sim_error(cudaErrorInvalidDevice);
    cudaMemGetInfo(&room, &total);
    memset(prop, 0, sizeof(*prop));
    snprintf(prop->name, sizeof(prop->name), "simulated GPU");
    prop->totalGlobalMem = total;
    prop->sharedMemPerBlock = 48 << 10;
    prop->sharedMemPerMultiprocessor = 164 << 10;
    prop->major = ctt_sim_capability() / 10;
    prop->minor = ctt_sim_capability() % 10;
    prop->multiProcessorCount = 4;
    prop->warpSize = 32;
    prop->maxThreadsPerBlock = 1024;
    prop->maxThreadsDim[0] = prop->maxThreadsDim[1] = 1024;
    prop->maxThreadsDim[2] = 64;
    prop->maxGridSize[0] = 0x7fffffff;
    prop->maxGridSize[1] = prop->maxGridSize[2] = 65535;
    prop->maxThreadsPerMultiProcessor = 2048;
    prop->pciBusID = which(device);
    memcpy(prop->uuid.bytes, &prop->pciBusID, sizeof(prop->pciBusID));
    prop->asyncEngineCount = 2;
    prop->concurrentKernels = 1;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr,
                                   int device)
{
    struct cudaDeviceProp prop;
    cudaError_t e = cudaGetDeviceProperties(&prop, device);

    if (e)
        return e;
    switch (attr) {
    case cudaDevAttrMaxThreadsPerBlock:
        *value = prop.maxThreadsPerBlock;
        return cudaSuccess;
    case cudaDevAttrClockRate:
        *value = ctt_sim_clock("") < 0 ? 0 : 1000000;
        return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
        *value = prop.multiProcessorCount;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
        *value = prop.major;
        return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
        *value = prop.minor;
        return cudaSuccess;
    }
    return ctt_sim_error(cudaErrorInvalidValue);
}
