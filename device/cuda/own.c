/* SPDX-License-Identifier: Apache-2.0
 * own.c: the table of our own kernels (kernels.h), by op and pass. */
#include "device/cuda/cuda.h"
#include "device/cuda/kernels.h"

/* Each computed op must be listed once: a missing op has no enumerator, a
 * repeated one has two.  Conv and deconv belong to the providers. */
#define HAS(E, ...) HAS_##E = 0,
enum { HAS_CONV = 0, HAS_DECONV = 0, CTT_OWN_OPS(HAS) };
#define IF_HAS_VIEW(E)
#define IF_HAS_GIVEN(E)
#define IF_HAS_COMPUTED(E) + HAS_##E
#define OP(E, s, memory, ...) IF_HAS_##memory(E)
_Static_assert(0 ==
#include "net/ops.def"
    , "each op of ops.def has kernels");
#undef OP

/* One function per op and pass: gets scratch and calls the launcher. */
#define BYTES_0(name) 0
#define BYTES_1(name) ctt_launch_##name##_scratch(c)
#define KERNEL(name, needs)                                             \
    static int run_##name(struct ctt_dev *d, const struct ctt_call *c)  \
    {                                                                   \
        size_t bytes = BYTES_##needs(name);                             \
        void *scratch = NULL;                                           \
        int rc = 0;                                                     \
                                                                        \
        if (bytes)                                                      \
            CTT_TRY(ctt_cuda_scratch(d, c, bytes, &scratch));           \
        CTT_CUDA(c, ctt_launch_##name(c, scratch,                       \
                                      ctt_cuda_lane(d)->stream));       \
    out:                                                                \
        return rc;                                                      \
    }
#define KERNELS(E, name, fwd, bwd) \
    KERNEL(name##_fwd, fwd) KERNEL(name##_bwd, bwd)
CTT_OWN_OPS(KERNELS)

#define FORWARD(E, name, fwd, bwd) [CTT_OP_##E] = run_##name##_fwd,
#define BACKWARD(E, name, fwd, bwd) [CTT_OP_##E] = run_##name##_bwd,
const ctt_kernels ctt_cuda_kernels = {
    { CTT_OWN_OPS(FORWARD) }, { CTT_OWN_OPS(BACKWARD) },
};
