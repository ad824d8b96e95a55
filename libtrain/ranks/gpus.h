/* SPDX-License-Identifier: Apache-2.0
 * gpus.h: the GPUs of a machine among its ranks. */
#ifndef CTT_TRAIN_GPUS_H
#define CTT_TRAIN_GPUS_H

#include "device/gpus.h"
#include "libtrain/train.h"

/* A rank: its machine; the memory node of its processors, or -1; its visible
 * GPUs. */
struct ctt_gpu_card { int machine, node, count; struct ctt_gpu gpu[CTT_GPUS]; };

/* take[rank]: the number of its GPU, or -1 if no GPU is visible.  Ranks of a
 * machine get different GPUs while there are any, near ones first; ranks that
 * see fewer choose before the others. */
void ctt_gpus_divide(const struct ctt_gpu_card *card, int ranks, int *take);

#endif
