/* SPDX-License-Identifier: Apache-2.0
 * wino16_emulated.h: the code of device/cpu/conv/winograd/wino16_avx512_tmpl.h
 * for processors without AVX-512, by SIMDe; supported() is 0 without SIMDe. */
#ifndef CTT_WINO16_EMULATED_H
#define CTT_WINO16_EMULATED_H

#include "device/cpu/conv/winograd/wino16.h"

extern const struct ctt_wino16_isa ctt_wino16_emulated,
                                   ctt_wino16_emulated_vnni;

#endif
