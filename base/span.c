/* SPDX-License-Identifier: Apache-2.0
 * span.c: records spans of time without locks: each takes the next place. */
#include "base/span.h"
#include "base/ctt.h"

#include <stdatomic.h>

const char *const ctt_span_words[CTT_SPAN_KINDS] = {
    [CTT_SPAN_NODE] = "node", [CTT_SPAN_PART] = "part of a node",
    [CTT_SPAN_FRAME] = "frame", [CTT_SPAN_INPUT] = "input",
    [CTT_SPAN_ANSWER] = "answer",
    [CTT_SPAN_DECODE] = "decode", [CTT_SPAN_LOAD] = "load",
    [CTT_SPAN_AUGMENT] = "augmentation", [CTT_SPAN_COPY] = "copy of frames",
    [CTT_SPAN_STEP] = "step", [CTT_SPAN_WAIT] = "wait for clips",
    [CTT_SPAN_EXCHANGE] = "exchange", [CTT_SPAN_UPDATE] = "update",
    [CTT_SPAN_TEST] = "test",
};

int ctt_spans_on;

static struct ctt_span *spans;
static int64_t room;
static _Atomic int64_t taken;
static struct { _Atomic int64_t count, ns; } sum[CTT_SPAN_KINDS];
static _Atomic int threads;
static _Thread_local int me;    /* the number of this thread + 1; 0: none */

int ctt_spans_open(int64_t most)
{
    spans = ctt_calloc((size_t)most, sizeof(*spans));
    if (!spans)
        return CTT_ENOMEM;
    room = most;
    atomic_store(&taken, 0);
    for (int k = 0; k < CTT_SPAN_KINDS; k++) {
        atomic_store(&sum[k].count, 0);
        atomic_store(&sum[k].ns, 0);
    }
    ctt_spans_on = 1;
    return 0;
}

void ctt_spans_stop(void)
{
    ctt_spans_on = 0;
}

void ctt_spans_close(void)
{
    ctt_spans_on = 0;
    ctt_free(spans);
    spans = NULL;
    room = 0;
}

const struct ctt_span *ctt_spans_get(int64_t *n)
{
    *n = atomic_load(&taken);
    *n = *n < room ? *n : room;
    return spans;
}

struct ctt_span_sum ctt_spans_sum(enum ctt_span_kind kind)
{
    return (struct ctt_span_sum){ atomic_load(&sum[kind].count),
                                  1e-9 * (double)atomic_load(&sum[kind].ns) };
}

void ctt_span_add(enum ctt_span_kind kind, const char *name, double start,
                  double end)
{
    int64_t at = atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed);

    if (!me)
        me = 1 + atomic_fetch_add(&threads, 1);
    atomic_fetch_add_explicit(&sum[kind].count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&sum[kind].ns,
                              (int64_t)(1e9 * (end - start) + 0.5),
                              memory_order_relaxed);
    if (at < room)
        spans[at] = (struct ctt_span){ start, end, name, kind, me - 1 };
}
