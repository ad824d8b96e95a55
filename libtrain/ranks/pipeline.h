/* SPDX-License-Identifier: Apache-2.0
 * pipeline.h: --stages: each rank has a section of the training graph, and the
 * shards of a batch pass through all of them, first forward, then back (Huang
 * and others 2019, GPipe).  Each rank has all weights, computes the gradient of
 * its section, and sends it to all others. */
#ifndef CTT_PIPELINE_H
#define CTT_PIPELINE_H

#include "libtrain/trainer.h"
#include "net/rewrite/section.h"
#include "net/graph.h"

struct ctt_exec;
struct ctt_window;

/* A section, as a task runs it; the functions as in struct ctt_job. */
struct ctt_section_job {
    const struct ctt_section *section;
    const char *wanted;    /* per node: 1: the gradient of its value */
    int   frames;          /* 1: reads the frames of clips */
    void *arg;
    int (*give)(void *arg, struct ctt_exec *x, const struct ctt_window *p);
    int (*take)(void *arg, struct ctt_exec *x, const struct ctt_window *p);
    int (*seed)(void *arg, struct ctt_exec *x, const struct ctt_window *p);
    int (*done)(void *arg, struct ctt_exec *x, const struct ctt_window *p);
};

/* ---- cuts of a training graph that keep the bits of the result ---- */

/* Sets number[i], the section of node i, of so many sections of the sealed
 * graph g.  text: "auto" or their number, sections whose estimated times are as
 * equal as cuts allow, or the names of the first nodes of all sections but the
 * first.  windows: 1 if clips are cut into windows of steps.  CTT_EUNSUP: g
 * reads its own answer; CTT_EINVAL: why g has no such cuts. */
int ctt_cuts_find(const struct ctt_graph *g, const char *text, int sections,
                  int windows, int *number);

/* How many sections the text asks for; auto: one for each rank. */
int ctt_cuts_count(const char *text, int ranks);

#endif
