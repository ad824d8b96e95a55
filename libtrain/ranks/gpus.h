/* SPDX-License-Identifier: Apache-2.0
 * gpus.h: the GPUs of a machine among its ranks. */
#ifndef CTT_TRAIN_GPUS_H
#define CTT_TRAIN_GPUS_H

#include "device/gpus.h"
#include "libtrain/train.h"

/* What a rank says: its machine; the node of memory that its processors are
 * near to, or -1; the GPUs that it sees. */
struct ctt_gpu_card { int machine, node, count; struct ctt_gpu gpu[CTT_GPUS]; };

/* take[rank]: the number of its GPU, -1 for a rank that sees none.  Ranks of a
 * machine take GPUs of their own while there are any, near ones first; those
 * that see fewer choose before the others. */
void ctt_gpus_divide(const struct ctt_gpu_card *card, int ranks, int *take);

#endif
