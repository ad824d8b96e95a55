/* SPDX-License-Identifier: Apache-2.0
 * gpus.h: several devices of one kind in a machine: GPUs. */
#ifndef CTT_GPUS_H
#define CTT_GPUS_H

#include "device/device.h"

/* id: unique in the machine.  node: the NUMA node that the device is attached
 * to, or -1. */
struct ctt_gpu { char id[36]; int node; };

enum { CTT_GPUS = 32 };

/* The GPUs that this process sees, in the order of their numbers; returns how
 * many, 0 for a device that is not numbered.  CTT_EINVAL: no such device;
 * CTT_EUNSUP: its module is not there. */
int  ctt_gpus_list(const char *device, struct ctt_gpu out[CTT_GPUS]);

/* From now on ctt_dev_open() opens the GPU of this number; at first 0.  One
 * number for the whole process, which uses one GPU. */
void ctt_gpus_take(int number);

/* The value of CUDA_VISIBLE_DEVICES with which another process sees only the
 * GPU of ctt_gpus_take(): the entry of this process's own list, or the number;
 * written to text. */
const char *ctt_gpus_alone(char *text, size_t size);

#endif
