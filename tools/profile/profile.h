/* SPDX-License-Identifier: Apache-2.0
 * profile.h: --profile: the time of each node and of what runs beside them, as
 * a table and as a trace for a browser (ui.perfetto.dev). */
#ifndef CTT_TOOL_PROFILE_H
#define CTT_TOOL_PROFILE_H

#include "device/device.h"
#include "tools/shared/output.h"

#include <stdio.h>

/* ---- call_work.c ---- */

/* Floating-point operations of a call, two a multiplication of a conv, and the
 * bytes of all that it reads and writes, once each.  Zeros count. */
struct ctt_call_work { double flops, bytes; };
struct ctt_call_work ctt_call_work(const struct ctt_call *c,
                                   enum ctt_pass pass);

/* The type of the products, or of the result: "fp32", "int8". */
const char *ctt_call_type(const struct ctt_call *c);

/* ---- node_times.c ---- */

enum { CTT_PROFILE_KERNEL = 64, CTT_PROFILE_SHAPE = 96 };

/* The calls of a node in one pass, all with the same work; what each call reads
 * and writes lies together, as a node may take less than a microsecond. */
struct ctt_node_row {
    const struct ctt_node *node;    /* may be gone; only compared */
    unsigned    key;                /* pass, gradients wanted */
    enum ctt_pass pass;
    int64_t     size[2];            /* numbers of its result and its kernel */
    const char *op;
    int64_t     calls;
    double      seconds;
    char        name[CTT_NAME];
    double      flops, bytes;       /* of all calls */
    const char *type;
    char        shape[CTT_PROFILE_SHAPE], kernel[CTT_PROFILE_KERNEL];
};

/* open: sums the calls of all devices from now on, and records their spans.
 * close: no more.  rows: the sums, rows of equal names, shapes, types, kernels
 * and passes added, the longest time first; the caller frees *out. */
int  ctt_node_times_open(void);
void ctt_node_times_close(void);
int  ctt_node_times_rows(struct ctt_node_row **out, int *count);

/* ---- ceiling.c ---- */

/* The ceiling of the device: GFLOP/s of large products of floats and, if asked
 * for, of bytes; GB/s of a copy (read and written) within `bytes` bytes.  0:
 * not measured. */
struct ctt_ceiling {
    double  floats, ints, copy;
    int64_t bytes;
    int     threads;
};
int ctt_ceiling_measure(const char *device, int threads, int ints,
                        int64_t bytes, struct ctt_ceiling *out);

/* A row against the ceiling (Williams, Waterman and Patterson 2009: roofline):
 * the least time for its work; share: of that rate which bounds it. */
struct ctt_bound { double best, share; const char *by; };
struct ctt_bound ctt_bound_of(const struct ctt_ceiling *c,
                              const struct ctt_node_row *r);

/* ---- profile_write.c ---- */

struct ctt_profile_said {
    const struct ctt_node_row *row;
    int                        rows;
    struct ctt_ceiling         ceiling;
    const char                *device;
};
int  ctt_profile_trace(FILE *f, const void *said);
int  ctt_profile_csv(FILE *f, const void *said);
int  ctt_profile_say(const struct ctt_profile_said *p);

/* ---- profile.c ---- */

extern const struct ctt_output_kind ctt_output_trace, ctt_output_times;

/* check: CTT_EINVAL or CTT_EIO for a path that cannot be written.  open: begins
 * to record.  end: stops, measures the device's ceiling, writes path and, with
 * say, prints the slowest nodes; rc: of the work; after an error nothing is
 * written.  All do nothing if path is NULL. */
int ctt_profile_check(const char *path);
int ctt_profile_open(const char *path);
int ctt_profile_end(const char *path, const char *device, int threads, int say,
                    int rc);

#endif
