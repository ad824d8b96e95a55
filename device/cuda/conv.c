/* SPDX-License-Identifier: Apache-2.0
 * conv.c: the table of conv providers of the device "cuda". */
#include "device/cuda/core.h"
#include "device/cuda/cores.h"
#include "device/cuda/kernels.h"

/* Best first.  A new provider is a file and a row here. */
static const struct ctt_conv_provider *const table[] = {
    &ctt_conv_whole,
#ifdef CTT_WITH_CUSPARSE
    &ctt_conv_cusparse,
#endif
#ifdef CTT_WITH_CUSPARSELT
    &ctt_conv_cusparselt,
#endif
    &ctt_conv_cublaslt,
    &ctt_conv_cudnn,
    NULL
};

/* Computes the gradients of the bias and of the plus input. */
static int bias_and_plus_gradients(struct ctt_dev *d, const struct ctt_call *c)
{
    void *stream = ctt_cuda_lane(d)->stream, *scratch;
    int rc = 0;

    if (c->din[1].data)
        CTT_CUDA(c, (cudaError_t)ctt_launch_copy(c->dout, c->din[1],
                                                 (int)(c->add >> 1 & 1),
                                                 stream));
    if (c->dw[1].data) {
        CTT_TRY(ctt_cuda_scratch(d, c, ctt_launch_bias_bwd_scratch(c->dout),
                                 &scratch));
        CTT_CUDA(c, (cudaError_t)ctt_launch_bias_bwd(c->dout, c->dw[1].data,
                                                     scratch, stream));
    }
out:
    return rc;
}

static int conv_fwd(struct ctt_dev *d, const struct ctt_call *c)
{
    return c->links ? ctt_cuda_train(d, c)
                    : ctt_conv_fwd(&ctt_cuda_of(d)->conv, d, c);
}

static int conv_bwd(struct ctt_dev *d, const struct ctt_call *c)
{
    return c->links ? ctt_cuda_train(d, c)
                    : ctt_conv_bwd(&ctt_cuda_of(d)->conv, d, c);
}

int ctt_cuda_conv_open(struct ctt_dev *d)
{
    static const enum ctt_opcode ops[] = { CTT_OP_CONV, CTT_OP_DECONV };

    for (size_t i = 0; i < CTT_LEN(ops); i++) {
        d->kernel[CTT_FWD][ops[i]] = conv_fwd;
        d->kernel[CTT_BWD][ops[i]] = conv_bwd;
    }
    return ctt_conv_open(&ctt_cuda_of(d)->conv, d, table,
                         bias_and_plus_gradients);
}
