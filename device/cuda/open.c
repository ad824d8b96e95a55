/* SPDX-License-Identifier: Apache-2.0
 * open.c: opens and closes a GPU as the device "cuda", the tables of its
 * functions, and the symbol that the program loads the module by. */
#include "device/cuda/core.h"
#include "device/cuda/cores.h"
#include "device/cuda/lt.h"
#include "base/module.h"
#include "device/kept.h"

#include <stdio.h>
#include <string.h>

/* Counts the GPUs that CUDA_VISIBLE_DEVICES allows. */
static int count_gpus(int *count)
{
    cudaError_t e = cudaGetDeviceCount(count);
    int rc = 0;

    CTT_CHECK(e == cudaSuccess, CTT_EUNSUP, "device cuda: no GPU: %s",
              cudaGetErrorString(e));
    CTT_CHECK(*count > 0, CTT_EUNSUP, "device cuda: no GPU");
out:
    return rc;
}

/* NUMA node of the GPU, or -1 if unknown. */
static int node_of(const struct cudaDeviceProp *p)
{
    char path[96];
    FILE *f;
    int node;

    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%04x:%02x:%02x.0/"
             "numa_node", (unsigned)p->pciDomainID, (unsigned)p->pciBusID,
             (unsigned)p->pciDeviceID);
    f = fopen(path, "re");
    if (!f)
        return -1;
    if (fscanf(f, "%d", &node) != 1)
        node = -1;
    fclose(f);
    return node;
}

/* Identifies GPUs by UUID: parts of one GPU (MIG) count separately, as they
 * have memory of their own. */
static int list_gpus(struct ctt_gpu out[CTT_GPUS])
{
    struct cudaDeviceProp p;
    int count = 0, rc;

    CTT_TRY(count_gpus(&count));
    for (int i = 0; i < count && i < CTT_GPUS; i++) {
        CTT_CUDA(NULL, cudaGetDeviceProperties(&p, i));
        for (size_t k = 0; k < sizeof(p.uuid.bytes); k++)
            snprintf(out[i].id + 2 * k, 3, "%02x",
                     (unsigned char)p.uuid.bytes[k]);
        out[i].node = node_of(&p);
    }
    rc = count < CTT_GPUS ? count : CTT_GPUS;
out:
    return rc;
}

static const struct ctt_dev_host *program;

/* has_clock: plans may be timed; a simulated GPU has a clock if asked. */
static int find_gpu(struct ctt_cuda *u)
{
    int count = 0, khz = 0, rc;

    CTT_TRY(count_gpus(&count));
    CTT_CHECK(u->device < count, CTT_EUNSUP, "device cuda: no GPU %d: this "
              "process sees %d", u->device, count);
    CTT_CUDA(NULL, cudaSetDevice(u->device));
    CTT_CUDA(NULL, cudaGetDeviceProperties(&u->prop, u->device));
    CTT_CHECK(u->prop.major >= 8, CTT_EUNSUP, "device cuda: %s has compute"
              " capability %d.%d; 8.0 is the least", u->prop.name,
              u->prop.major, u->prop.minor);
    CTT_CUDA(NULL, cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate,
                                          u->device));
    u->has_clock = khz > 0;
    u->host = program;
out:
    return rc;
}

static int open_memory(struct ctt_cuda *u)
{
    void *p;
    int rc = 0;

    CTT_CUDA(NULL, cudaStreamCreateWithFlags(&u->copy,
                                             cudaStreamNonBlocking));
    CTT_CUDA(NULL, cudaEventCreateWithFlags(&u->copied,
                                            cudaEventDisableTiming));
    CTT_TRY(ctt_upload_open(u->core));
    CTT_TRY(ctt_transfer_open(u->core));
    CTT_TRY(ctt_cuda_malloc("sums", sizeof(double), &p));
    u->core->sum = p;
    CTT_CUDA(NULL, cudaMallocHost(&p, sizeof(double)));
    u->core->host_sum = p;
out:
    return rc;
}

static int open_cuda(struct ctt_dev *d)
{
    struct ctt_cuda *u = ctt_calloc(1, sizeof(*u));
    int rc = 0;

    CTT_CHECK(u, CTT_ENOMEM, "device cuda: out of memory");
    d->own = u;
    u->device = d->number;
    u->core = ctt_calloc(1, sizeof(*u->core));
    CTT_CHECK(u->core, CTT_ENOMEM, "device cuda: out of memory");
    CTT_TRY(find_gpu(u));
    CTT_TRY(open_memory(u));
    CTT_CUBLAS(NULL, cublasLtCreate(&u->blas));
    CTT_TRY(ctt_lane_open(&u->lane[0]));
    u->lanes = 1;
    memcpy(d->kernel, ctt_cuda_kernels, sizeof(d->kernel));
    CTT_TRY(ctt_cuda_conv_open(d));
out:
    return rc;
}

/* Closes the device, also after a failed open_cuda(). */
static void close_cuda(struct ctt_dev *d)
{
    struct ctt_cuda *u = d->own;

    if (u->copy)
        ctt_cuda_idle(u);
    ctt_conv_close(&u->conv);
#ifdef CTT_WITH_CUSPARSELT
    if (u->core)
        ctt_lt_close(u->core);
#endif
    for (int i = 0; i < u->lanes; i++)
        ctt_lane_close(&u->lane[i]);
    if (u->blas)
        cublasLtDestroy(u->blas);
    if (u->core) {
        ctt_upload_close(u->core);
        ctt_transfer_close(u->core);
        cudaFree(u->core->sum);
        cudaFreeHost(u->core->host_sum);
    }
    if (u->copied)
        cudaEventDestroy(u->copied);
    if (u->copy)
        cudaStreamDestroy(u->copy);
    ctt_free(u->core);
    ctt_free(u);
    d->own = NULL;
}

static int cuda_sgemm(struct ctt_dev *d, int n, const float *a, const float *b,
                      float *y)
{
    return ctt_conv_sgemm(&ctt_cuda_of(d)->conv, d, n, a, b, y);
}

static const struct ctt_dev_memory memory = {
    .alloc = ctt_cuda_alloc,
    .free = ctt_cuda_free,
    .room = ctt_cuda_free_bytes,
    .size = ctt_cuda_all_bytes,
    .fill = ctt_cuda_fill,
    .copy = ctt_cuda_copy,
    .sync = ctt_cuda_sync,
    .pin = ctt_cuda_pin,
    .unpin = ctt_cuda_unpin,
    .prefetch = ctt_cuda_prefetch,
    .transfer = ctt_cuda_transfer,
    .transfer_follow = ctt_cuda_transfer_follow,
    .transfer_wait = ctt_cuda_transfer_wait,
    .transfer_drop = ctt_cuda_transfer_drop,
};

static const struct ctt_dev_numbers numbers = {
    .put = ctt_cuda_put,
    .get = ctt_cuda_get,
    .render = ctt_cuda_render,
    .cast = ctt_cuda_cast,
    .round8 = ctt_cuda_round8,
    .sum = ctt_cuda_sum,
    .group_sums = ctt_cuda_group_sums,
    .group_fill = ctt_cuda_group_fill,
};

static const struct ctt_dev_optimizer optimizer = {
    .constrain = ctt_cuda_constrain,
    .update = ctt_cuda_update,
    .average = ctt_cuda_average,
};

static const struct ctt_dev_order order = {
    .replay = ctt_cuda_replay,
    .recorded = ctt_cuda_recorded,
    .drop = ctt_cuda_drop,
    .lane = ctt_cuda_set_lane,
    .wait = ctt_cuda_wait,
};

/* Tensor cores of all GPUs that are accepted do. */
static int multiplies(enum ctt_dtype type)
{
    (void)type;
    return 1;
}

static const struct ctt_dev_kind kind = {
    .name = "cuda",
    .memory = &memory,
    .numbers = &numbers,
    .optimizer = &optimizer,
    .order = &order,
#ifdef CTT_WITH_NCCL
    .peers = &ctt_cuda_peers,
#endif
    .open = open_cuda,
    .list = list_gpus,
    .close = close_cuda,
    .forget = ctt_conv_forget,
    .impl = ctt_conv_impl,
    .why = ctt_conv_why,
    .along = ctt_cuda_along,
    .fuses = ctt_cuda_fuses,
    .sgemm = cuda_sgemm,
    .multiplies = multiplies,
};

/* The module's other names are hidden. */
__attribute__((visibility("default"))) ctt_module_get ctt_module_cuda;
const void *ctt_module_cuda(const struct ctt_host *h)
{
    if (h->version != CTT_MODULE_VERSION)
        return NULL;
    ctt_host_set(h);
    program = h->more;
    return &kind;
}
