/* SPDX-License-Identifier: Apache-2.0
 * sparse_avx512_tmpl.h: loads of some bytes, the rest zeros, for AVX-512. */
/* n: fewer than 64. */
#define LOAD_BYTES(p, n) \
    ((ivec)_mm512_maskz_loadu_epi8(((__mmask64)1 << (n)) - 1, p))
/* n: at most 32. */
#define LOAD_TWO(p, q, n) \
    ((ivec)_mm512_inserti64x4(_mm512_castsi256_si512( \
         _mm256_maskz_loadu_epi8((__mmask32)(((uint64_t)1 << (n)) - 1), p)), \
         _mm256_maskz_loadu_epi8((__mmask32)(((uint64_t)1 << (n)) - 1), q), 1))
