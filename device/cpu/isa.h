/* SPDX-License-Identifier: Apache-2.0
 * isa.h: sources of all plain kernels, compiled once more for the instruction
 * set CTT_ISA that the including file defines. */
#ifndef CTT_ISA_H
#define CTT_ISA_H

#include "device/cpu/act.c"
#include "device/cpu/cast.c"
#include "device/cpu/collect.c"
#include "device/cpu/conv/conv.c"
#include "device/cpu/conv/int8/int8_epilogue.c"
#include "device/cpu/conv/int8/int8_sums.c"
#include "device/cpu/embed.c"
#include "device/cpu/groupnorm.c"
#include "device/cpu/halo.c"
#include "device/cpu/loss.c"
#include "device/cpu/lstm.c"
#include "device/cpu/mix.c"
#include "device/cpu/move.c"
#include "device/cpu/norm.c"
#include "device/cpu/patch.c"
#include "device/cpu/pool.c"
#include "device/cpu/quant.c"
#include "device/cpu/render.c"
#include "device/cpu/rows.c"
#include "device/cpu/softmax.c"
#include "device/cpu/tables.c"
#include "device/cpu/upsample.c"

/* Only sums of products in floats may be contracted: they differ between
 * instruction sets anyway.  All else is the same to the bit. */
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")
#include "device/cpu/attend.c"
#include "device/cpu/conv/direct.c"
#include "device/cpu/conv/direct_dw.c"
#pragma GCC pop_options

#endif
