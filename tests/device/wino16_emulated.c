/* SPDX-License-Identifier: Apache-2.0
 * wino16_emulated.c: Winograd in whole numbers for AVX-512, emulated. */
#include "tests/device/wino16_emulated.h"

#ifdef HAVE_SIMDE
#define SIMDE_ENABLE_NATIVE_ALIASES
/* The emulation is not ours to warn of, and gcc need not say that registers of
 * 64 bytes would be passed differently with AVX-512. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wshadow"
#include <simde/x86/avx512.h>
#pragma GCC diagnostic pop
/* SIMDe 0.7.4 gives this name to the function with a mask. */
#undef _mm512_madd_epi16
#define _mm512_madd_epi16 simde_mm512_madd_epi16
#pragma GCC diagnostic ignored "-Wpsabi"
#define CTT_EMULATED
#include "device/cpu/conv/winograd/wino16_avx512_tmpl.h"

static int here(void)
{
    return 1;
}

const struct ctt_wino16_isa ctt_wino16_emulated = {
    "emulated", LANES, here, conv_item
};
#else
static int here(void)
{
    return 0;
}

const struct ctt_wino16_isa ctt_wino16_emulated = {
    "emulated", 0, here, NULL
};
#endif
