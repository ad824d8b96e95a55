/* SPDX-License-Identifier: Apache-2.0
 * features.h: instruction sets of this processor, for all tables of kernels by
 * instruction set. */
#ifndef CTT_FEATURES_H
#define CTT_FEATURES_H

/* Defined if kernels are compiled for instruction sets. clang ignores #pragma
 * GCC target, so it compiles the plain kernels only. */
#if defined(__x86_64__) && !defined(__clang__)
#define CTT_X86_SETS
#if __GNUC__ >= 12
#define CTT_X86_HALVES    /* gcc knows AVX512-FP16 */
#endif
#endif
#if defined(__AARCH64EL__) && !defined(__clang__)
#define CTT_ARM_SETS
#endif

#if defined(CTT_ARM_SETS) && defined(__linux__)
#include <sys/auxv.h>
#endif

#if defined(CTT_X86_SETS)
#define CTT_X86_HAS(set) (__builtin_cpu_supports(set) != 0)
#else
#define CTT_X86_HAS(set) 0
#endif

/* 1 if the processor has every extension used by files compiled for AVX2. */
static inline int ctt_has_avx2(void)
{
    return CTT_X86_HAS("avx2") && CTT_X86_HAS("fma") && CTT_X86_HAS("f16c");
}

/* 1 if it has every extension used by files compiled for AVX-512. */
static inline int ctt_has_avx512(void)
{
    return CTT_X86_HAS("avx512f") && CTT_X86_HAS("avx512bw") &&
           CTT_X86_HAS("avx512dq") && CTT_X86_HAS("avx512vl");
}

/* VNNI: sums of products of bytes and of 16 bits, with AVX-512 or with
 * registers of 256 bits. */
static inline int ctt_has_vnni(void)
{
    return ctt_has_avx512() && CTT_X86_HAS("avx512vnni");
}

static inline int ctt_has_avxvnni(void)
{
    return ctt_has_avx2() && CTT_X86_HAS("avxvnni");
}

/* 64-bit ARM: NEON, which all processors have, and its sums of products of
 * bytes (dot products). */
static inline int ctt_has_neon(void)
{
#if defined(CTT_ARM_SETS)
    return 1;
#else
    return 0;
#endif
}

static inline int ctt_has_neondot(void)
{
#if defined(CTT_ARM_SETS) && defined(__linux__)
    return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
    return 0;
#endif
}

/* Sums of products of bfloat16, with AVX-512. */
static inline int ctt_has_avx512bf16(void)
{
    return ctt_has_avx512() && CTT_X86_HAS("avx512bf16");
}

/* Arithmetic in half precision, with AVX-512. */
static inline int ctt_has_avx512fp16(void)
{
#if defined(CTT_X86_HALVES)
    return ctt_has_avx512() && CTT_X86_HAS("avx512fp16");
#else
    return 0;
#endif
}

#endif
