/* SPDX-License-Identifier: Apache-2.0
 * group_comm.h: the ranks of a comm as the group of a device: how values pass
 * between the parts of a graph. */
#ifndef CTT_GROUP_COMM_H
#define CTT_GROUP_COMM_H

#include "comm/comm.h"
#include "device/device.h"

/* Messages to one neighbour: the one before may still be on its way. */
struct ctt_group_comm_side { char *out[2]; int64_t room[2]; int sent; };

struct ctt_group_comm {
    struct ctt_comm        *comm;
    struct ctt_group        group;      /* for ctt_dev_join() */
    struct ctt_group_comm_side side[2];
    double                  bytes;      /* that this rank has sent */
    double                  seconds;    /* in exchanges, waits included */
    int64_t                 calls;
};

void ctt_group_comm_open(struct ctt_comm *comm, struct ctt_group_comm *b);
void ctt_group_comm_close(struct ctt_group_comm *b);

#endif
