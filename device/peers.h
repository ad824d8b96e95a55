/* SPDX-License-Identifier: Apache-2.0
 * peers.h: the devices of several processes, one each, whose memories exchange
 * bytes without the host: GPUs by NCCL. */
#ifndef CTT_PEERS_H
#define CTT_PEERS_H

#include "device/device.h"

/* place: two devices of one machine with the same one are one; by: what moves
 * the bytes ("NCCL 2.28.9"). */
struct ctt_peer { char place[32], by[32]; };

enum { CTT_PEERS_ID = 128 };

/* CTT_EUNSUP: devices of this kind cannot, this build does not know how, or a
 * library that it takes is not there: the message says which. */
int  ctt_peers_know(struct ctt_dev *d, struct ctt_peer *out);

/* After know.  One of the devices makes the id by which all of them meet; meet
 * waits until all are there, and two of them must not be one.  An error of one
 * leaves the others waiting. */
int  ctt_peers_id(struct ctt_dev *d, char id[CTT_PEERS_ID]);
int  ctt_peers_meet(struct ctt_dev *d, const char id[CTT_PEERS_ID], int rank,
                    int ranks);

/* all[ranks][n]: the n bytes `mine` of each rank; to[ranks][each]: what the
 * ranks have as from[rank]: as ctt_comm_allgather() and ctt_comm_alltoall() of
 * comm.h, in memory of the devices, what is read not overlapping what is
 * written.  They come after the calls before and wait until all is there.
 * CTT_EIO: it failed here or on another rank; then the device has left. */
int  ctt_peers_tell(struct ctt_dev *d, const void *mine, int64_t n, void *all);
int  ctt_peers_trade(struct ctt_dev *d, const void *from, void *to,
                     int64_t each);

/* Without the others, if something has failed; ctt_dev_close() does it too. */
void ctt_peers_leave(struct ctt_dev *d);

#endif
