/* SPDX-License-Identifier: Apache-2.0
 * mma.cuh: products of small matrices by the tensor cores, in which the 32
 * lanes of a warp take part: all of them call, or none. */
#ifndef CTT_MMA_CUH
#define CTT_MMA_CUH

#include "device/cuda/kernel/num.cuh"

#include <type_traits>

enum { CTT_WARP = 32 };

/* Where the kernel calls, for the simulation. */
#ifdef CTT_SIM
#include <cuda_warp.h>
#define CTT_MMA_HERE , CTT_SIM_HERE
#else
#define CTT_MMA_HERE
#endif

/* N (2 or 4) matrices of 8 rows of 16 bytes in shared memory, each row a
 * multiple of 16 bytes from its start: lane l names row l % 8 of matrix l / 8
 * (any row if there is no such matrix).  It gets of each matrix numbers l % 4 *
 * 2 and one more of row l / 4. */
template <int N> CTT_GPU void load_matrices(const void *row, uint32_t (&r)[N]
                                            CTT_MMA_HERE)
{
    static_assert(N == 2 || N == 4, "ldmatrix.x2 or .x4");
#ifdef CTT_SIM
    ctt_sim_ldmatrix(N, false, row, r, file, line);
#else
    unsigned at = (unsigned)__cvta_generic_to_shared(row);

    if constexpr (N == 2)
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(r[0]), "=r"(r[1]) : "r"(at) : "memory");
    else
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 "
                     "{%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "r"(at) : "memory");
#endif
}

/* A float as a factor of a product: rounded to TF32, which the tensor cores
 * would cut.  Other types are factors as they are. */
template <class T> CTT_GPU uint32_t to_factor(uint32_t bits)
{
    if constexpr (std::is_same<T, float>::value) {
#ifdef CTT_SIM
        bits = ctt_sim_to_tf32(bits);
#else
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(as<float>(bits)));
#endif
    }
    return bits;
}

/* sum += A B for A of 16 x K and B of K x 8 numbers of type T, K 16, or 8 of
 * floats, which are to_factor()'s: a: A's matrices of 8 rows of 16 bytes, of
 * which the second has the lower rows, the third the right columns; b: the
 * upper and the lower half of B, their columns as rows.  Lane l has of the sum
 * rows l / 4 and 8 more, columns l % 4 * 2 and one more. */
template <class T>
CTT_GPU void multiply(float (&sum)[4], const uint32_t (&a)[4],
                      const uint32_t *b CTT_MMA_HERE)
{
    static_assert(sizeof(T) == 2 || std::is_same<T, float>::value,
                  "fp16, bf16 or floats rounded to TF32");
#ifdef CTT_SIM
    ctt_sim_mma(std::is_same<T, float>::value ? CTT_SIM_TF32_MMA
                : std::is_same<T, __half>::value ? CTT_SIM_F16_MMA
                                                 : CTT_SIM_BF16_MMA,
                sum, a, b, file, line);
#else
#define CTT_MMA(shape, type)                                            \
    asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type \
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "  \
                 "{%0, %1, %2, %3};"                                    \
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]),            \
                   "+f"(sum[3])                                         \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]),          \
                   "r"(b[0]), "r"(b[1]))
    if constexpr (std::is_same<T, float>::value)
        CTT_MMA("m16n8k8", "tf32");
    else if constexpr (std::is_same<T, __half>::value)
        CTT_MMA("m16n8k16", "f16");
    else
        CTT_MMA("m16n8k16", "bf16");
#undef CTT_MMA
#endif
}

#endif
