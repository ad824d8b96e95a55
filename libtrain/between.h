/* SPDX-License-Identifier: Apache-2.0
 * between.h: the ranks of a comm as the group of a device: how values pass
 * between the parts of a graph. */
#ifndef CTT_BETWEEN_H
#define CTT_BETWEEN_H

#include "comm/comm.h"
#include "device/device.h"

/* Messages to one neighbour: the one before may still be on its way. */
struct ctt_between_side { char *out[2]; int64_t room[2]; int sent; };

struct ctt_between {
    struct ctt_comm        *comm;
    struct ctt_group        group;      /* for ctt_dev_join() */
    struct ctt_between_side side[2];
    double                  bytes;      /* that this rank has sent */
    double                  seconds;    /* in exchanges, waits included */
    int64_t                 calls;
};

void ctt_between_open(struct ctt_comm *comm, struct ctt_between *b);
void ctt_between_close(struct ctt_between *b);

#endif
