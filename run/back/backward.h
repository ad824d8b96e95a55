/* SPDX-License-Identifier: Apache-2.0
 * backward.h: the data shared by the files of the backward pass: the values
 * that it reads, its memory plan, the windows of the current batch. */
#ifndef CTT_BACKWARD_H
#define CTT_BACKWARD_H

#include "run/back/exec.h"
#include "device/memory.h"

/* ---- offloading ----
 *
 * Values of windows that leave the memory of the device after their forward
 * pass and come back before their backward pass: to the host's memory or to
 * a file without a name, while other windows are computed. */

struct ctt_offload;

/* Windows lie in `slots` places of the device's memory, of at most `each`
 * bytes, and are copied to `bytes` bytes.  folder: of the file; "": the host's
 * memory. */
struct ctt_offload_spec {
    struct ctt_dev *dev;
    const char     *folder;
    int             slots;
    int64_t         each, bytes;
};

/* CTT_EIO or CTT_ENOMEM if there is no room for all of it. */
int  ctt_offload_open(const struct ctt_offload_spec *s,
                      struct ctt_offload **out);
void ctt_offload_close(struct ctt_offload **o);

/* out: begins to copy the content of a slot, `bytes` bytes at mem, to offset
 * `at` of the offloaded bytes.  in: begins to copy it back.  Only after
 * ctt_offload_ready() of the slot. */
int  ctt_offload_out(struct ctt_offload *o, int slot, char *mem, int64_t at,
                     int64_t bytes);
int  ctt_offload_in(struct ctt_offload *o, int slot, char *mem, int64_t at,
                    int64_t bytes);

/* Makes later calls of the device wait for the last copy of the slot, which
 * they may then read and write.  CTT_EIO if that copy or an earlier one failed.
 * */
int  ctt_offload_ready(struct ctt_offload *o, int slot);

/* The same for all slots, also after failures: their memory may be freed. */
void ctt_offload_rest(struct ctt_offload *o);

/* Seconds a byte, measured by copying `bytes` bytes at mem out and in; busy: of
 * these the ones in which the calling thread computes.  For a file the disk and
 * its bus are measured, not the system's cache of files. */
struct ctt_offload_rate { double out, in, busy; };
int  ctt_offload_measure(struct ctt_offload *o, char *mem, int64_t bytes,
                         struct ctt_offload_rate *rate);

/* A window of the current batch.  All windows lie in plan.kept slots, which
 * they take in turns, so that those of the last ones stay. */
struct ctt_lie {
    int64_t at;        /* offset of its saved values */
    int64_t away;      /* offset in the offloaded memory, or -1 */
    int     store;     /* of the history at its start, in `store` */
};

struct ctt_back {
    char  *need;       /* per node: a weight gradient depends on its gradient */
    int   *writer[2];  /* without and with feedback, per node with memory: the
                          reader whose gradient comes first and overwrites,
                          so that nothing is cleared; -1: all add */
    char  *saved;      /* per node: the backward pass reads its value */
    int    mixes;      /* a new window begins at the first feedback step */
    const char *norm;  /* name of a norm with statistics over a whole clip, or
                          NULL */
    int    room, asks;    /* steps and asks of a clip at most */
    struct ctt_memory_plan plan;

    struct ctt_window *part;     /* windows of the current batch */
    int             *which;    /* its asks, in the order of its windows */
    int              parts;    /* how many windows */
    int              dropped;  /* the first of them, which are not kept */
    int              hand;     /* the current window */
    const char      *before;   /* the states before the first one, or NULL */
    int              seeding;    /* the caller writes gradients */
    int              overwrites; /* changes of `writer` so far */
    struct ctt_lie  *lie;      /* per window */
    enum ctt_rest    rest;
    int              sharers;
    char             folder[CTT_FOLDER];
    struct ctt_offload *offload;    /* NULL: no window leaves */

    int64_t past;      /* bytes of all histories */
    int64_t stores;    /* number of histories that `store` has room for */
    int64_t history, values, transient, grads;    /* sizes in bytes */
    char   *value;     /* saved values of windows, one slot after the other */
    char   *transient_at;    /* the other values of the current window */
    char   *grad;      /* of its values: first the saved, then the others */
    char   *store;     /* histories at the start of the recomputed windows
                          except the first, and of the current window */
    const char *wanted;    /* as of the run's specification */
    int64_t limit;     /* of depth, or 0 */
    struct ctt_depth *depth;    /* NULL: values of windows do not share
                                   memory */
    int     whole;     /* depth recomputes nothing */
    char   *carry;     /* gradients of the history, for the window before */
    struct ctt_replays *replays;    /* replay.c's */
};

/* need.c: fills need, saved and writer.  writer depends on names and therefore
 * on the run; the others only on the graph. */
void ctt_back_needs(const struct ctt_graph *g, const char *wanted, char *need);
void ctt_back_saved(const struct ctt_graph *g, const char *need, char *saved);
int  ctt_back_writers(const struct ctt_run *r, int *const writer[2]);
int *ctt_back_writer(const struct ctt_exec *x, int node);

/* The gradients that the backward pass computes for a node, as bits: of its
 * inputs, of its weights; 0: none. */
enum { CTT_WANT_DIN = 1, CTT_WANT_DW = 2 };
int  ctt_back_wants(const struct ctt_graph *g, const char *need, int node);

/* The values that this reads: as of `reads` in net/op.h. */
unsigned ctt_back_reads(const struct ctt_graph *g, const char *need, int node);

/* recompute.c: fills plan and the sizes in bytes.  CTT_ENOMEM: m->bytes is too
 * small for any window. */
int  ctt_back_plan(struct ctt_back *y, const struct ctt_run *r,
                   const struct ctt_memory *m);

/* The same for one window at a time, whose values and gradients share memory.
 * whole: nothing is recomputed; else values are, one by one: within the allowed
 * memory with CTT_KEEP_AUTO, otherwise with few bytes. */
int  ctt_back_plan_depth(struct ctt_back *y, const struct ctt_run *r,
                         const struct ctt_memory *m, int whole);

/* Bytes of the saved values of `kept` windows of at most `window` steps,
 * wherever the clip is cut. */
int64_t ctt_back_bytes(const struct ctt_back *y, const struct ctt_run *r,
                       int window, int kept);

/* Cuts a batch into windows and decides which ones are kept, recomputed and
 * offloaded. */
int  ctt_back_cut(struct ctt_back *y, const struct ctt_run *r,
                  const struct ctt_job *job);

/* exec.c: opens room for `windows` offloaded windows. */
int  ctt_back_offload(struct ctt_exec *x, int windows);

/* choose.c: 1 if window k of the `dropped` first ones is offloaded, if
 * `offloaded` of them are: these are spread evenly, so that copies have time.
 * */
int  ctt_back_leaves(int k, int dropped, int offloaded);

/* seconds: of a step that offloads `offloaded` windows.  best: the best number
 * of them, `most` at most.  there, back: seconds of the passes of a window;
 * out, in: of its copies; busy: computing time lost to either copy. */
struct ctt_back_cost {
    int    windows, kept;
    double there, back, out, in, busy;
};
double ctt_back_seconds(const struct ctt_back_cost *c, int offloaded);
int    ctt_back_best(const struct ctt_back_cost *c, int most);

/* backward.c: the backward pass through the current window, whose values and
 * seeded gradients are in memory.  clear: zeroes the gradients; carry_in: adds
 * those from the next window; carry_out: stores those for the window before. */
int  ctt_back_clear(struct ctt_exec *x);
int  ctt_back_carry_in(struct ctt_exec *x);
int  ctt_back_carry_out(struct ctt_exec *x);
int  ctt_back_window(struct ctt_exec *x);

/* Zeroes the gradient of a node with memory; the backward pass through one
 * position (run/back/depth.h). */
int  ctt_back_clear_node(const struct ctt_exec *x, int node);
int  ctt_back_position(struct ctt_exec *x, int position);

/* replay.c: runs fn on the current window, or replays the device's recording of
 * an earlier window with the same shape and addresses. */
struct ctt_replays;
enum ctt_phase { CTT_PHASE_FORWARD, CTT_PHASE_CLEAR, CTT_PHASE_BACK };
int  ctt_back_replay(struct ctt_exec *x, enum ctt_phase phase,
                     int (*fn)(struct ctt_exec *x));
int  ctt_back_replays_new(struct ctt_exec *x);
void ctt_back_replays_free(struct ctt_exec *x);

#endif
