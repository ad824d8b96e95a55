/* SPDX-License-Identifier: Apache-2.0
 * cuda_warp.h: collectives of a warp: the lanes meet, exchange and go on
 * (kernel.cc).  As PTX ISA, "Warp Level Matrix Instructions" and "shfl.sync",
 * define them; the two arguments at the end are where the kernel calls. */
#ifndef CTT_SIM_CUDA_WARP_H
#define CTT_SIM_CUDA_WARP_H

#include "tests/sim/cuda_runtime.h"

#ifdef __cplusplus

#include <cstdint>
#include <cstring>

#define CTT_SIM_HERE const char *file = __builtin_FILE(),               \
                     int line = __builtin_LINE()

/* x: up to 8 bytes of the lane's value, and the result. */
enum ctt_sim_shuffle { CTT_SIM_IDX, CTT_SIM_UP, CTT_SIM_DOWN, CTT_SIM_XOR };
uint64_t ctt_sim_shfl(ctt_sim_shuffle how, unsigned mask, uint64_t x, int by,
                      int width, const char *file, int line);

#define CTT_SIM_SHFL(name, how)                                         \
    template <class T>                                                  \
    static inline T name(unsigned mask, T x, int by, int width = 32,    \
                         CTT_SIM_HERE)                                  \
    {                                                                   \
        uint64_t bits = 0;                                              \
        static_assert(sizeof(x) <= sizeof(bits), "up to 8 bytes");      \
        memcpy(&bits, &x, sizeof(x));                                   \
        bits = ctt_sim_shfl(how, mask, bits, by, width, file, line);    \
        memcpy(&x, &bits, sizeof(x));                                   \
        return x;                                                       \
    }
CTT_SIM_SHFL(__shfl_sync, CTT_SIM_IDX)
CTT_SIM_SHFL(__shfl_up_sync, CTT_SIM_UP)
CTT_SIM_SHFL(__shfl_down_sync, CTT_SIM_DOWN)
CTT_SIM_SHFL(__shfl_xor_sync, CTT_SIM_XOR)
#undef CTT_SIM_SHFL

/* ldmatrix.sync.aligned.m8n8.xN(.trans).shared.b16; n: 1, 2 or 4. */
void ctt_sim_ldmatrix(int n, bool trans, const void *row, uint32_t *r,
                      const char *file, int line);

/* mma.sync.aligned.m16n8k16.row.col.f32.{f16,bf16}.{f16,bf16}.f32 and
 * m16n8k8...tf32.tf32, with d the sums that it adds to. */
enum ctt_sim_mma_type { CTT_SIM_F16_MMA, CTT_SIM_BF16_MMA, CTT_SIM_TF32_MMA };
void ctt_sim_mma(ctt_sim_mma_type type, float *d, const uint32_t *a,
                 const uint32_t *b, const char *file, int line);

/* cvt.rna.tf32.f32 */
uint32_t ctt_sim_to_tf32(uint32_t bits);

#endif

#endif
