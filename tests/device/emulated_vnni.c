/* SPDX-License-Identifier: Apache-2.0
 * emulated_vnni.c: the kernels of int8_vnni.c, emulated. */
#include "tests/device/emulated.h"

#ifdef CTT_EMULATED
#define ctt_int8_vnni ctt_emulated_vnni
#include "device/cpu/conv/int8/int8_vnni.c"
#else
const struct ctt_int8_isa ctt_emulated_vnni = { NULL };
#endif
