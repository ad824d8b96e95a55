/* SPDX-License-Identifier: Apache-2.0
 * cpu.c: the device "cpu": our kernels for the best instruction set of the
 * processor, and convs by providers; and the device "ref": the same kernels in
 * plain C for any processor, the reference that the others are tested against.
 */
#include "device/cpu/cpu.h"
#include "device/cpu/conv/dense/dense.h"
#include "device/cpu/conv/providers.h"
#include "device/cpu/widen.h"
#include "net/op.h"

static int conv_fwd(struct ctt_dev *d, const struct ctt_call *c)
{
    return ctt_conv_fwd(&ctt_cpu_of(d)->conv, d, c);
}

static int conv_bwd(struct ctt_dev *d, const struct ctt_call *c)
{
    return ctt_conv_bwd(&ctt_cpu_of(d)->conv, d, c);
}

static int open_kernels(struct ctt_dev *d, const struct ctt_isa *i)
{
    struct ctt_cpu *u = ctt_calloc(1, sizeof(*u));

    if (!u)
        return ctt_error(CTT_ENOMEM, "no memory for a device");
    u->isa = i;
    d->own = u;
    memcpy(d->kernel, i->kernels, sizeof(d->kernel));
    return 0;
}

static int cpu_open(struct ctt_dev *d)
{
    static const enum ctt_opcode ops[] = { CTT_OP_CONV, CTT_OP_DECONV };
    int rc = 0;

    CTT_TRY(open_kernels(d, ctt_isa_best()));
    CTT_TRY(ctt_conv_open(&ctt_cpu_of(d)->conv, d, ctt_cpu_providers,
                          ctt_conv_direct_rest));
    for (size_t i = 0; i < CTT_LEN(ops); i++) {
        d->kernel[CTT_FWD][ops[i]] = conv_fwd;
        d->kernel[CTT_BWD][ops[i]] = conv_bwd;
    }
out:
    return rc;
}

static int ref_open(struct ctt_dev *d)
{
    return open_kernels(d, ctt_isa_plain());
}

static void close_cpu(struct ctt_dev *d)
{
    struct ctt_cpu *u = d->own;

    ctt_conv_close(&u->conv);
    ctt_free(u->wide);
    ctt_free(u);
    d->own = NULL;
}

/* No fused nodes for calls with 16-bit tensors, which widen.c runs in parts,
 * nor if products of 16 bits are faster than any fused kernel. */
static int cpu_along(struct ctt_dev *d, const struct ctt_call *c)
{
    return ctt_is_narrow(c) || ctt_half_takes(c) ? 0 :
           ctt_conv_along(&ctt_cpu_of(d)->conv, d, c);
}

/* The kernels of 16 bits read and write them themselves. */
static int cpu_run(struct ctt_dev *d, ctt_kernel *kernel,
                   const struct ctt_call *c, enum ctt_pass pass)
{
    if (pass == CTT_FWD && ctt_half_takes(c))
        return kernel(d, c);
    return ctt_widen_run(d, kernel, c, pass);
}

static int cpu_sgemm(struct ctt_dev *d, int n, const float *a, const float *b,
                     float *y)
{
    return ctt_conv_sgemm(&ctt_cpu_of(d)->conv, d, n, a, b, y);
}

const struct ctt_dev_kind ctt_dev_cpu = {
    .name = "cpu", CTT_ON_HOST, .open = cpu_open,
    .close = close_cpu, .run = cpu_run, .forget = ctt_conv_forget,
    .impl = ctt_conv_impl, .why = ctt_conv_why, .along = cpu_along,
    .links = ctt_cpu_links, .sgemm = cpu_sgemm, .machine = ctt_cpu_machine,
    .multiplies = ctt_half_speed,
};

/* Direct sums read int8 and coded weights in place: the reference of all
 * kernels that do. */
static int ref_takes(const struct ctt_node *n, int k,
                     const struct ctt_weight *w)
{
    return k == 0 && ctt_is_conv(n) && !ctt_is_float_type(w->t.dtype);
}

const struct ctt_dev_kind ctt_dev_ref = {
    .name = "ref", CTT_ON_HOST, .open = ref_open,
    .close = close_cpu, .run = ctt_widen_run, .takes = ref_takes,
    .sgemm = ctt_plain_sgemm,
};
