/* SPDX-License-Identifier: Apache-2.0
 * gpu_exchange.h: --comm: whether gradients go from GPU to GPU
 * (device/peers.h), as they do where each rank has one of its own, or through
 * the host. */
#ifndef CTT_GPU_EXCHANGE_H
#define CTT_GPU_EXCHANGE_H

#include "libtrain/ranks/exchange.h"
#include "libtrain/train.h"

enum ctt_comm_by { CTT_COMM_AUTO, CTT_COMM_MPI, CTT_COMM_NCCL };

struct ctt_trainer;

/* CTT_EINVAL: --comm=nccl with gradients that the host encodes (--squeeze). */
int  ctt_gpu_exchange_suits(const struct ctt_train_cfg *cfg);

/* Called by all ranks; is_open: this rank has its device open.  Sets t->direct
 * and says how gradients travel; does nothing if a rank has no device open.
 * CTT_EINVAL, CTT_EUNSUP, the same on all: --comm=nccl cannot be. */
int  ctt_gpu_exchange_agree(struct ctt_trainer *t, int is_open);

/* If t->direct, connects the GPUs; called by all ranks.  After an error the
 * other ranks wait for ever, so the caller must end them. */
int  ctt_gpu_exchange_meet(struct ctt_trainer *t);

/* Between the memories of connected GPUs; sums have the bits of the host's. */
extern const struct ctt_transport ctt_gpu_transport;

#endif
