/* SPDX-License-Identifier: Apache-2.0
 * stage_messages.h: an open pipeline, and the messages between its ranks;
 * private to pipeline.c and stage_messages.c. */
#ifndef CTT_STAGE_MESSAGES_H
#define CTT_STAGE_MESSAGES_H

#include "libtrain/ranks/pipeline.h"
#include "comm/comm.h"
#include "device/memory.h"
#include "net/graph.h"

/* ---- an all-gather of gradients, each rank with a part ---- */

/* Weights of a rank: floats with a gradient, or floats that its forward pass
 * moves. */
struct ctt_weights_part { int rank, moved; int64_t at, count; };

struct ctt_parts {
    struct ctt_comm *comm;
    struct ctt_dev  *dev;
    struct ctt_weights_part *part;
    int              parts;
    int64_t          most;           /* floats of a rank at most */
    float           *mine, *all;     /* [most], [ranks][most] */
};

/* Node i of g is computed by rank number[i]. */
int  ctt_parts_open(const struct ctt_graph *g, const int *number,
                    struct ctt_comm *comm, struct ctt_dev *dev,
                    struct ctt_parts *out);
void ctt_parts_close(struct ctt_parts *p);

/* Fills dw, in the device's memory, with the gradients of all ranks, and w with
 * the weights that their forward passes have moved.  Called by all ranks. */
int  ctt_parts_share(struct ctt_parts *p, float *w, float *dw);

/* Head of a message.  Floats follow: of each passing value all steps of the
 * window. */
struct ctt_stage_messages_head {
    int ends;    /* 1: the batch has no more messages, and this one is empty */
    int last;    /* 1: this is the batch's last message */
};

/* forward, backward: processor time of the computing thread, which does not
 * depend on other users of the machine; waits: by the clock. */
struct ctt_section_seconds { double forward, backward, waits, bytes;
                             int64_t units; };

struct ctt_pipeline {
    struct ctt_trainer     *t;
    int                     rank, ranks;
    int                    *number;     /* of each node of the whole graph */
    struct ctt_section     *section;
    struct ctt_section_job  job;
    char                   *wanted;     /* per node of the section */
    void                  **step;       /* one a shard */
    struct ctt_parts        parts;
    struct ctt_stage_messages_head         *in, *out[2];
    int64_t                 room;       /* bytes of a message at most */
    int                     sent;       /* messages so far */
    int                     shard, steps;    /* under way, and of its batch */
    int                     over;       /* 1: the section before sends nothing
                                           more */
    int                     told;       /* 1: another section has ended the
                                           batch */
    struct ctt_section_seconds took;
    double                  posted;     /* processor seconds of messages */
};

/* Bytes of a message with n values of so many steps and samples. */
int64_t ctt_stage_messages_bytes(const struct ctt_section_value *v, int n,
                                 int64_t steps, int samples);

/* The buffer of the next message; sends it. */
struct ctt_stage_messages_head *ctt_stage_messages_next(struct ctt_pipeline *p);
int  ctt_stage_messages_send(struct ctt_pipeline *p, int to, int64_t bytes);

/* Waits for the next message of a rank, in p->in. */
int  ctt_stage_messages_take(struct ctt_pipeline *p, int from);

/* Processor time of this thread, seconds. */
double ctt_stage_messages_clock(void);

/* Sets the functions by which a step passes values and gradients on; job->arg
 * must be the pipeline. */
void ctt_stage_messages_calls(struct ctt_section_job *job);

#endif
