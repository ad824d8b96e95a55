/* SPDX-License-Identifier: Apache-2.0
 * gpus.h: the devices of one kind that a machine has several of: GPUs. */
#ifndef CTT_GPUS_H
#define CTT_GPUS_H

#include "device/device.h"

/* id: two of one machine with the same one are one; node: of the machine's
 * memory, that it is near to, or -1. */
struct ctt_gpu { char id[36]; int node; };

enum { CTT_GPUS = 32 };

/* What this process sees, in the order of their numbers; returns how many, 0
 * for a device that is not numbered.  CTT_EINVAL: no such device; CTT_EUNSUP:
 * it is not there. */
int  ctt_gpus_list(const char *device, struct ctt_gpu out[CTT_GPUS]);

/* From now on ctt_dev_open() opens the one of this number; at first 0.  It is
 * the process's, since what a process has on two GPUs, both would have to
 * hold. */
void ctt_gpus_take(int number);

/* The value of CUDA_VISIBLE_DEVICES by which another process sees that one
 * alone: the same entry of its own list, or the number. */
const char *ctt_gpus_alone(char *text, size_t size);

#endif
