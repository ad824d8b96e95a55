/* SPDX-License-Identifier: Apache-2.0
 * emulated.h: kernels for instructions that this processor may not have,
 * compiled with SIMDe, which does in plain C what the instructions do. */
#ifndef CTT_EMULATED_H
#define CTT_EMULATED_H

#include "device/cpu/conv/int8/int8_job.h"
#include "device/cpu/features.h"

#if defined(CTT_X86_SETS) && __has_include(<simde/x86/avx512.h>)
#define SIMDE_ENABLE_NATIVE_ALIASES
/* Vectors are passed within one file only. */
#pragma GCC diagnostic ignored "-Wpsabi"
#include <simde/x86/avx512.h>
#define CTT_EMULATED
#endif

/* Without SIMDe their names are NULL. */
extern const struct ctt_int8_isa ctt_emulated_vnni, ctt_emulated_avxvnni,
                                 ctt_emulated_depthwise, ctt_emulated_amx;

#endif
