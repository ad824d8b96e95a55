/* SPDX-License-Identifier: Apache-2.0
 * stage_messages.h: an open pipeline, and the messages between its ranks;
 * private to pipeline.c and stage_messages.c. */
#ifndef CTT_STAGE_MESSAGES_H
#define CTT_STAGE_MESSAGES_H

#include "libtrain/ranks/parts.h"
#include "libtrain/ranks/pipeline.h"

/* Then: floats, of each value that passes those of all steps of the window. */
struct ctt_stage_messages_head {
    int ends;    /* 1: no more come of this batch */
    int last;    /* 1: nor do after this one */
};

/* there, back: of the processor, of the thread that computes, so that they are
 * the same on a machine that others use; waits: by the clock. */
struct ctt_section_seconds { double there, back, waits, bytes; int64_t units; };

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
    int                     over;       /* 1: nothing comes from before */
    int                     told;       /* 1: another section has ended the
                                           batch */
    struct ctt_section_seconds took;
    double                  posted;     /* processor seconds of messages */
};

/* Bytes of a message with n values of so many steps and samples. */
int64_t ctt_stage_messages_bytes(const struct ctt_stage_messages *v, int n,
                                 int64_t steps, int samples);

/* The one to write the next message to, and sends it. */
struct ctt_stage_messages_head *ctt_stage_messages_next(struct ctt_pipeline *p);
int  ctt_stage_messages_send(struct ctt_pipeline *p, int to, int64_t bytes);

/* Waits for the next message of a rank, which is p->in then. */
int  ctt_stage_messages_take(struct ctt_pipeline *p, int from);

/* Seconds of the processor that this thread has had. */
double ctt_stage_messages_clock(void);

/* Sets what a step calls to pass values and gradients on; job->arg is to be the
 * pipeline. */
void ctt_stage_messages_calls(struct ctt_section_job *job);

#endif
