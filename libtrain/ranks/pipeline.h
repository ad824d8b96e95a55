/* SPDX-License-Identifier: Apache-2.0
 * pipeline.h: --stages: each rank has a section of the training graph, and the
 * shards of a batch pass through all of them, first forward, then back (Huang
 * and others 2019, GPipe).  Each rank has all weights; of a step's gradient it
 * computes that of its section, and all tell each other theirs. */
#ifndef CTT_PIPELINE_H
#define CTT_PIPELINE_H

#include "libtrain/trainer.h"
#include "net/rewrite/section.h"

struct ctt_exec;
struct ctt_window;

/* What a task is to do with a section: whose gradients of values are wanted;
 * frames: 1 if it gets the frames of clips; and what it calls besides, as
 * struct ctt_job does, each of them with arg. */
struct ctt_section_job {
    const struct ctt_section *section;
    const char *wanted;    /* per node */
    int   frames;
    void *arg;
    int (*give)(void *arg, struct ctt_exec *x, const struct ctt_window *p);
    int (*take)(void *arg, struct ctt_exec *x, const struct ctt_window *p);
    int (*seed)(void *arg, struct ctt_exec *x, const struct ctt_window *p);
    int (*done)(void *arg, struct ctt_exec *x, const struct ctt_window *p);
};

#endif
