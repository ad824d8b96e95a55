/* SPDX-License-Identifier: Apache-2.0
 * features.h: which instruction sets this processor has, for all tables of
 * kernels by instruction set. */
#ifndef CTT_FEATURES_H
#define CTT_FEATURES_H

/* Whether kernels are compiled for instruction sets.  clang ignores #pragma GCC
 * target: what it compiles has the plain kernels only. */
#if defined(__x86_64__) && !defined(__clang__)
#define CTT_X86_SETS
#endif
#if defined(__AARCH64EL__) && !defined(__clang__)
#define CTT_ARM_SETS
#endif

#if defined(CTT_ARM_SETS) && defined(__linux__)
#include <sys/auxv.h>
#endif

/* 1 if all extensions are there that files compiled for AVX2 use. */
static inline int ctt_has_avx2(void)
{
#if defined(CTT_X86_SETS)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c");
#else
    return 0;
#endif
}

/* The same for AVX-512. */
static inline int ctt_has_avx512(void)
{
#if defined(CTT_X86_SETS)
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#else
    return 0;
#endif
}

/* Sums of products of bytes and of 16 bits: with AVX-512, and with registers of
 * 256 bits. */
static inline int ctt_has_vnni(void)
{
#if defined(CTT_X86_SETS)
    return ctt_has_avx512() && __builtin_cpu_supports("avx512vnni");
#else
    return 0;
#endif
}

static inline int ctt_has_avxvnni(void)
{
#if defined(CTT_X86_SETS)
    return ctt_has_avx2() && __builtin_cpu_supports("avxvnni");
#else
    return 0;
#endif
}

/* Of ARM with 64 bits: NEON, which all have, and sums of products of bytes. */
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
#if defined(CTT_X86_SETS)
    return ctt_has_avx512() && __builtin_cpu_supports("avx512bf16");
#else
    return 0;
#endif
}

#endif
