/* SPDX-License-Identifier: Apache-2.0
 * peers.h: the devices of several processes, one each, whose memories exchange
 * bytes without the host: GPUs by NCCL. */
#ifndef CTT_PEERS_H
#define CTT_PEERS_H

#include "device/device.h"

/* place: unique for a device in its machine.  by: the library that moves the
 * bytes ("NCCL 2.28.9"). */
struct ctt_peer { char place[32], by[32]; };

enum { CTT_PEERS_ID = 128 };

/* *out: the identity of the device and the library that exchanges bytes.
 * CTT_EUNSUP:
 * devices of this kind cannot, the build has no code for it, or a library is
 * missing; the message says which. */
int  ctt_peers_know(struct ctt_dev *d, struct ctt_peer *out);

/* After ctt_peers_know().  id: made by one process for all.  meet: joins the
 * group of that id and waits until all `ranks` are there, each with a device of
 * its own.  An error of one leaves the others waiting. */
int  ctt_peers_id(struct ctt_dev *d, char id[CTT_PEERS_ID]);
int  ctt_peers_meet(struct ctt_dev *d, const char id[CTT_PEERS_ID], int rank,
                    int ranks);

/* As ctt_comm_allgather() and ctt_comm_alltoall() of comm.h, in memory of the
 * devices.  tell: all[ranks][n] becomes the n bytes `mine` of each rank.
 * trade: to[r][each] becomes from[rank][each] of rank r.  Input and output must
 * not overlap.  They run after earlier calls and wait for their end.  CTT_EIO:
 * it failed here or on another rank; then the device has left the group. */
int  ctt_peers_tell(struct ctt_dev *d, const void *mine, int64_t n, void *all);
int  ctt_peers_trade(struct ctt_dev *d, const void *from, void *to,
                     int64_t each);

/* Leaves the group without waiting for the others; also by ctt_dev_close(). */
void ctt_peers_leave(struct ctt_dev *d);

#endif
