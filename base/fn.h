/* SPDX-License-Identifier: Apache-2.0
 * fn.h: CTT_FN declares formulas for both the C compiler and nvcc: small
 * functions that must be inlined into the loop that calls them. */
#ifndef CTT_FN

#ifdef __CUDACC__
#define CTT_FN static __host__ __device__ __forceinline__
#else
#define CTT_FN static inline __attribute__((always_inline))
#endif

#endif
