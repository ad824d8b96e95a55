/* SPDX-License-Identifier: Apache-2.0
 * fn.h: CTT_FN, what formulas are declared with that the C compiler and nvcc
 * both read: small functions that must be part of the loop that calls them. */
#ifndef CTT_FN

#ifdef __CUDACC__
#define CTT_FN static __host__ __device__ __forceinline__
#else
#define CTT_FN static inline __attribute__((always_inline))
#endif

#endif
