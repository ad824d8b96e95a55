/* SPDX-License-Identifier: Apache-2.0
 * cpu.c: the device "cpu": our kernels for the best instruction set that the
 * processor has, and oneDNN in the place of some of them. */
#include "device/cpu/cpu.h"
#include "device/cpu/conv/wino_conv.h"
#ifdef HAVE_ONEDNN
#include "device/cpu/conv/onednn.h"
#endif

static int anywhere(void)
{
    return 1;
}

#if defined(__x86_64__)
static int has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c");
}

static int has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

const struct ctt_isa ctt_isas[] = {
#if defined(__x86_64__)
    { "avx512", &ctt_avx512_kernels, &ctt_avx512_cast, has_avx512 },
    { "avx2", &ctt_avx2_kernels, &ctt_avx2_cast, has_avx2 },
#endif
    { NULL, &ctt_ref_kernels, &ctt_ref_cast, anywhere },
};

const struct ctt_isa *ctt_isa_best(void)
{
    const struct ctt_isa *i = ctt_isas;

    while (!i->supported())
        i++;
    return i;
}

/* Makes the kernels that stand below Winograd's. */
static const struct ctt_dev_kind below = {
#ifdef HAVE_ONEDNN
    .open = ctt_onednn_open,
    .close = ctt_onednn_close,
    .forget = ctt_onednn_forget,
    .impl = ctt_onednn_impl,
    .sgemm = ctt_onednn_sgemm,
#else
    .sgemm = ctt_plain_sgemm,
#endif
};

static int cpu_open(struct ctt_dev *d)
{
    const struct ctt_isa *i = ctt_isa_best();
    int rc = 0;

    memcpy(d->kernel, i->kernels, sizeof(d->kernel));
    memcpy(d->plain, i->kernels, sizeof(d->plain));
    if (below.open)
        CTT_TRY(below.open(d));
    ctt_wino_open(d, &below);
out:
    return rc;
}

static void cpu_close(struct ctt_dev *d)
{
    if (below.close)
        below.close(d);
}

static int cpu_sgemm(struct ctt_dev *d, int n, const float *a, const float *b,
                     float *c)
{
    return below.sgemm(d, n, a, b, c);
}

const struct ctt_dev_kind ctt_dev_cpu = {
    .name = "cpu",
    .memory = &ctt_host_memory,
    .wide = 1,
    .open = cpu_open,
    .close = cpu_close,
    .forget = ctt_wino_forget,
    .impl = ctt_wino_impl,
    .along = ctt_wino_along,
    .sgemm = cpu_sgemm,
};
