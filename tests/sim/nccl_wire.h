/* SPDX-License-Identifier: Apache-2.0
 * nccl_wire.h: connections between the processes of the simulated NCCL: sockets
 * with an acknowledgement of each received message. */
#ifndef CTT_SIM_NCCL_WIRE_H
#define CTT_SIM_NCCL_WIRE_H

#include "tests/sim/nccl.h"

#ifdef __cplusplus

#include <deque>
#include <string>
#include <vector>

/* To one other rank, or (fd -1) to the rank itself.  out, from `sent` on: bytes
 * not sent yet; in: bytes that are no whole message yet. */
struct ctt_sim_wire {
    int                     fd = -1;
    bool                    gone = false;
    std::string             out, in;
    size_t                  sent = 0;
    std::deque<std::string> arrived;    /* messages that nobody has taken */
    size_t                  taken = 0;  /* answers to messages sent */
};

/* Seconds that ranks wait for each other: CTT_SIM_NCCL_WAIT. */
double ctt_sim_patience();

/* Connects this rank with all others of the id, in other processes. gpu: its
 * number; two ranks with one GPU, or with different counts of ranks, are
 * refused; why: the reason, or "". */
std::vector<ctt_sim_wire> ctt_sim_connect(const std::string &id, int rank,
                                          int ranks, int gpu,
                                          std::string &why);

void ctt_sim_put(ctt_sim_wire &w, const char *p, size_t bytes);
std::string ctt_sim_take(ctt_sim_wire &w);

/* Sends and reads what is possible now; 1 if anything was. */
bool ctt_sim_pump(ctt_sim_wire &w);

#endif

#endif
