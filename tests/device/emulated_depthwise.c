/* SPDX-License-Identifier: Apache-2.0
 * emulated_depthwise.c: the kernels of int8_depthwise_vnni.c, emulated. */
#include "tests/device/emulated.h"

#ifdef CTT_EMULATED
#define ctt_int8_depthwise_vnni ctt_emulated_depthwise
#include "device/cpu/conv/int8/int8_depthwise_vnni.c"
#else
const struct ctt_int8_isa ctt_emulated_depthwise = { NULL };
#endif
