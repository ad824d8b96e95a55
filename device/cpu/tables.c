/* SPDX-License-Identifier: Apache-2.0
 * tables.c: the kernels of one instruction set, from ops.def. */
#include "device/cpu/cpu.h"

#define IF_ENTRY_VIEW(E, f)
#define IF_ENTRY_GIVEN(E, f)
#define IF_ENTRY_COMPUTED(E, f) [CTT_OP_##E] = f,

const ctt_kernels K(kernels) = {
    {
#define OP(E, s, memory, ...) IF_ENTRY_##memory(E, K(s##_fwd))
#include "net/ops.def"
#undef OP
    },
    {
#define OP(E, s, memory, ...) IF_ENTRY_##memory(E, K(s##_bwd))
#include "net/ops.def"
#undef OP
    },
};
