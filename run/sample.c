/* SPDX-License-Identifier: Apache-2.0
 * sample.c: the samples of a sliding run as streams of their own. */
#include "run/sample.h"
#include "run/bind.h"
#include "run/place.h"
#include "net/code/zip.h"
#include "base/half.h"

#include <assert.h>

/* 1 if samples remember something of the node's memory. */
static int remembers(const struct ctt_run *r, int i)
{
    const struct ctt_slot *s = &r->slot[i];

    return s->alias == i && (ctt_slot_before(s) > 0 || s->lasts);
}

/* Bytes of a step of one sample. */
static int64_t each_of(const struct ctt_run *r, int i)
{
    const struct ctt_slot *s = &r->slot[i];

    return s->size / r->n * ctt_dtype_size(s->type);
}

/* The place of a sample's value at a step of the run; steps before the history
 * are the kept ones. */
static char *sample_value(const struct ctt_run *r, int i, int sample,
                          int64_t step)
{
    return (char *)ctt_run_value(r, i, 0) + (step * r->n + sample) *
           each_of(r, i);
}

int ctt_sample_room(const struct ctt_graph *g, int most)
{
    for (int i = 0; i < g->count; i++)
        if (g->node[i].op == CTT_OP_WINDOW && g->node[i].attr.window.spread)
            return 1;
    return most;
}

int ctt_sample_begin(struct ctt_run *r)
{
    int rc = 0;

    assert(r->slides && r->cursor == 0 && !r->past_of);
    r->past_of = ctt_calloc((size_t)r->n, sizeof(*r->past_of));
    CTT_TRY(r->past_of ? 0 : CTT_ENOMEM);
out:
    return rc;
}

int64_t ctt_sample_bytes(const struct ctt_run *r)
{
    int64_t sum = 0;

    for (int i = 0; i < r->g->clip; i++)
        if (remembers(r, i))
            sum += (ctt_slot_before(&r->slot[i]) + 1) * each_of(r, i);
    return sum;
}

uint32_t ctt_sample_kind(const struct ctt_run *r)
{
    uint32_t crc = 0;

    for (int i = 0; i < r->g->clip; i++) {
        const struct ctt_slot *s = &r->slot[i];
        int64_t is[] = { i, s->kept, s->history, (int64_t)s->type,
                         each_of(r, i) };

        if (remembers(r, i))
            crc = ctt_crc32(crc, is, (int)sizeof(is[0]), CTT_LEN(is));
    }
    return crc;
}

/* The number of steps of a sample so far. */
static int64_t sample_age(const struct ctt_run *r, int sample)
{
    return (r->past_of ? r->past_of[sample] : r->past) + r->cursor;
}

/* ---- out ---- */

/* Copies the kept steps of the `end` steps before the last one: the multiples
 * that are kept once the last step is step 0 of a window. */
static int save_kept(const struct ctt_run *r, int i, int sample,
                     enum ctt_direction way, int64_t end, char *to)
{
    const struct ctt_slot *s = &r->slot[i];
    int64_t apart = INT64_C(1) << ctt_kept_shift(s, end), n = each_of(r, i);
    char *limit = to + s->kept * n;
    int rc = 0;

    for (int64_t step = 0; step < end; step += apart, to += n)
        CTT_TRY(ctt_dev_copy(r->dev, way, sample_value(r, i, sample,
                             ctt_kept_at(s, end + 1 - r->cursor, step)), to,
                             n));
    if (way == CTT_WITHIN && to < limit)    /* left by another stream */
        CTT_TRY(ctt_dev_clear(r->dev, to, limit - to));
out:
    return rc;
}

static int save_node(const struct ctt_run *r, int i, int sample,
                     enum ctt_direction way, char *to)
{
    const struct ctt_slot *s = &r->slot[i];
    int64_t n = each_of(r, i);
    int rc = 0;

    if (s->kept)
        CTT_TRY(save_kept(r, i, sample, way, sample_age(r, sample) - 1, to));
    to += s->kept * n;
    for (int64_t k = s->history; k >= 0; k--, to += n)
        CTT_TRY(ctt_dev_copy(r->dev, way,
                             sample_value(r, i, sample, r->cursor - 1 - k), to,
                             n));
out:
    return rc;
}

int ctt_sample_save(const struct ctt_run *r, int sample,
                    enum ctt_direction way, void *to)
{
    char *at = to;
    int rc = 0;

    for (int i = 0; i < r->g->clip; i++) {
        if (!remembers(r, i))
            continue;
        CTT_TRY(save_node(r, i, sample, way, at));
        at += (ctt_slot_before(&r->slot[i]) + 1) * each_of(r, i);
    }
    if (way == CTT_TO_HOST)
        CTT_TRY(ctt_dev_sync(r->dev));
out:
    return rc;
}

/* ---- in ---- */

/* Kept values lie before the history of step 0, to which the run's first window
 * has moved by then: the cursor is 1. */
static int load_node(const struct ctt_run *r, int i, int sample,
                     enum ctt_direction way, const char *from)
{
    const struct ctt_slot *s = &r->slot[i];
    int64_t n = each_of(r, i);
    int rc = 0;

    assert(!s->kept || r->cursor == 1);
    for (int64_t k = -ctt_slot_before(s); k < -s->history; k++, from += n)
        CTT_TRY(ctt_dev_copy(r->dev, way, from, sample_value(r, i, sample, k),
                             n));
    for (int64_t k = s->history; k >= 0; k--, from += n)
        CTT_TRY(ctt_dev_copy(r->dev, way, from,
                             sample_value(r, i, sample, r->cursor - 1 - k),
                             n));
out:
    return rc;
}

int ctt_sample_load(struct ctt_run *r, int sample, int64_t age,
                    enum ctt_direction way, const void *from)
{
    const char *at = from;
    int rc = 0;

    assert(r->cursor > 0);
    if (r->past_of)
        r->past_of[sample] = age - r->cursor;
    for (int i = 0; i < r->g->clip; i++) {
        if (!remembers(r, i))
            continue;
        CTT_TRY(load_node(r, i, sample, way, at));
        at += (ctt_slot_before(&r->slot[i]) + 1) * each_of(r, i);
    }
out:
    return rc;
}

int ctt_sample_clear(struct ctt_run *r, int sample)
{
    int rc = 0;

    if (r->past_of)
        r->past_of[sample] = -(int64_t)r->cursor;
    for (int i = 0; i < r->g->clip; i++)
        for (int64_t k = 1; remembers(r, i) && k <= r->slot[i].history; k++)
            CTT_TRY(ctt_dev_fill(r->dev,
                                 sample_value(r, i, sample, r->cursor - k),
                                 ctt_run_zero(r, i), each_of(r, i)));
out:
    return rc;
}
