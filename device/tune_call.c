/* SPDX-License-Identifier: Apache-2.0
 * tune_call.c: looks calls of convs up in the table of timing results, and
 * times the providers of calls that are not in it. */
#include "device/tune.h"
#include "base/clock.h"
#include "base/half.h"
#include "net/op.h"
#include "net/unit.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs of a row: one that packs weights, then at least LEAST and at most MOST
 * until they have taken `enough` ms.  A row is given up when the least of FEW
 * runs is SLOW times that of another row, or its first run is that and PACKING
 * ms longer.  Another row than that of the rule is chosen only if its time is
 * below `gain` of the rule's: noise must not choose. */
enum { LEAST = 5, MOST = 25, FEW = 3, SLOW = 2, PACKING = 20 };
static const float enough = 1, gain = 0.97f;

/* ---- the key ---- */

enum { SAMPLES = 512 };

/* The share of the weights' units that are not all zeros, in tenths, of a
 * sample: of elements, which sparse sums of floats leave out, or of blocks,
 * which sparse sums of bytes leave out. */
static int full_tenths(const struct ctt_call *c, enum ctt_prune_form form)
{
    const struct ctt_tensor *w = &c->w[0].t;
    int groups = (int)ctt_call_groups(c), any;
    int64_t all = ctt_units(form, w, groups), step = all / SAMPLES | 1;
    int64_t n = 0, full = 0;

    if (w->dtype != CTT_F32 || !w->data)
        return 10;
    for (int64_t i = 0; i < all; i += step, n++) {
        struct ctt_unit u = ctt_unit_at(form, w, groups, i);
        const float *x = (const float *)w->data + u.at;

        any = 0;
        for (int k = 0; k < u.ins; k++)
            any |= x[k] < 0 || x[k] > 0;
        full += any;
    }
    return n ? (int)((full * 10 + n - 1) / n) : 10;
}

static const char *number_kind(const struct ctt_tensor *t)
{
    return t->scale > 0 && !ctt_is_bytes(t) ? "q" : ctt_dtype_word(t->dtype);
}

/* Appends to a key, cut to its room. */
__attribute__((format(printf, 2, 3)))
static void append_key(char key[CTT_TUNE_KEY], const char *fmt, ...)
{
    size_t n = strlen(key);
    va_list list;

    va_start(list, fmt);
    vsnprintf(key + n, CTT_TUNE_KEY - n, fmt, list);
    va_end(list);
}

static void add_tensor(char key[CTT_TUNE_KEY], const char *name,
                       const struct ctt_tensor *t)
{
    append_key(key, " %s %" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64
               "x%" PRId64 "/%" PRId64 " %s", name, t->n, t->d, t->h, t->w,
               t->c, t->ld, number_kind(t));
}

void ctt_tune_key(const struct ctt_dev *d, const struct ctt_call *c,
                  char key[CTT_TUNE_KEY])
{
    const int *k = c->node->attr.conv.kernel, *s = c->node->attr.conv.stride;
    const int *p = c->node->attr.conv.pad;
    const struct ctt_tensor *plus = &c->in[1];

    key[0] = '\0';
    append_key(key, "%s %dx%dx%d/%d,%d,%d+%d,%d,%d g%" PRId64,
               ctt_ops[c->node->op].name, k[0], k[1], k[2], s[0], s[1], s[2],
               p[0], p[1], p[2], ctt_call_groups(c));
    if (ctt_is_dilated(c->node))
        append_key(key, " dilation %d,%d,%d", c->node->attr.conv.dilation[0],
                   c->node->attr.conv.dilation[1],
                   c->node->attr.conv.dilation[2]);
    add_tensor(key, "of", &c->in[0]);
    add_tensor(key, "to", &c->out);
    if (c->node->plus && plus->data == c->out.data)
        append_key(key, " plus");
    else if (c->node->plus && plus->data)
        append_key(key, " plus %s/%" PRId64, number_kind(plus), plus->ld);
    append_key(key, " mul %s act %d bias %d full %d blocks %d threads %d",
               ctt_dtype_word(c->mul), c->act, c->w[1].t.data != NULL,
               full_tenths(c, CTT_PRUNE_ANY), full_tenths(c, CTT_PRUNE_BLOCK),
               d->threads);
}

/* ---- results ---- */

static int is_16bit(const struct ctt_tensor *t)
{
    return t->data && (t->dtype == CTT_F16 || t->dtype == CTT_BF16);
}

static int is_tuned(const struct ctt_call *c)
{
    return !c->train && !c->pair.node && !c->lstm.node && !c->links &&
           c->in[0].n > 0 &&
           !is_16bit(&c->in[0]) && !is_16bit(&c->out) && !is_16bit(&c->in[1]);
}

static int row_by_name(const struct ctt_conv_set *s, const char *name)
{
    for (int i = 0; i < s->count; i++)
        if (strcmp(s->row[i].by->name, name) == 0)
            return i;
    return -1;
}

/* Reads "NAME=NANOSECONDS ...". */
static void take_times(const struct ctt_conv_set *s, char *text,
                       struct ctt_tuned *t)
{
    char *rest = NULL, *word = strtok_r(text, " ", &rest);

    for (; word; word = strtok_r(NULL, " ", &rest)) {
        char *is = strchr(word, '=');
        int row;

        if (!is)
            continue;
        *is = '\0';
        row = row_by_name(s, word);
        if (row >= 0)
            t->ms[row] = (float)strtoul(is + 1, NULL, 10) * 1e-6f;
    }
}

/* A row of the table with an unknown name counts as none. */
static void find_tuned(const struct ctt_conv_set *s,
                       const struct ctt_conv_ask *q, struct ctt_tuned *t)
{
    char key[CTT_TUNE_KEY], name[32], times[CTT_TUNE_TIMES];

    *t = (struct ctt_tuned){ .n = q->call->in[0].n, .row = -1, .rule = -1 };
    ctt_tune_key(q->dev, q->call, key);
    if (!ctt_tune_find(q->dev->tune, key, name, sizeof(name), times))
        return;
    t->row = row_by_name(s, name);
    take_times(s, times, t);
}

/* A table is by the zeros of a kernel, and all rows that are timed pack it. */
static int look_lacks(const struct ctt_conv_ask *q,
                      const struct ctt_tuned *memo)
{
    const struct ctt_call *c = q->call;

    return is_tuned(c) && (q->dev->tuning != CTT_TUNE_USE ||
                           memo[c->in[0].n % CTT_TUNED].n != c->in[0].n)
               ? ctt_call_lacks(c) : 0;
}

static struct ctt_tuned *look_up(const struct ctt_conv_set *s,
                                 const struct ctt_conv_ask *q,
                                 struct ctt_tuned *memo)
{
    const struct ctt_call *c = q->call;
    struct ctt_tuned *t = &memo[c->in[0].n % CTT_TUNED];
    int looks = q->dev->tuning == CTT_TUNE_LOOK;

    if (!is_tuned(c))
        return NULL;
    if (t->n != c->in[0].n || (looks && t->row < 0))
        find_tuned(s, q, t);
    if (looks && t->row < 0)
        q->dev->unknown++;
    return t;
}

/* ---- measuring ---- */

static int is_given_up(const struct ctt_tuned *t, int i)
{
    return t->runs[i] < 0 || t->out >> i & 1;
}

static int is_done(const struct ctt_tuned *t, int i)
{
    return is_given_up(t, i) || t->runs[i] > MOST ||
           (t->runs[i] > LEAST && t->sum[i] > enough);
}

/* Asks each row whether it can; an error means that it cannot.  The last row,
 * which can do everything, is timed only if the rule takes it: of all calls of
 * models/ it was the fastest in none, and it may take hundreds of times as
 * long. */
static void begin_timing(const struct ctt_conv_set *s, void **own,
                         struct ctt_conv_ask *q, int rule, struct ctt_tuned *t)
{
    t->rule = rule;
    for (int i = 0; i < s->count; i++)
        t->runs[i] = i == rule || (i < s->count - 1 &&
                                   ctt_conv_takes(s, i, own, q, 0) == 1)
                         ? 0 : -1;
}

/* The row that was run the least, the rule's twice before the others; -1: all
 * are done, or only one is left. */
static int next_row(const struct ctt_conv_set *s, const struct ctt_tuned *t)
{
    int row = -1, rows = 0;

    for (int i = 0; i < s->count; i++)
        rows += !is_given_up(t, i);
    if (rows == 1)
        return t->runs[t->rule] ? -1 : t->rule;
    if (t->runs[t->rule] < 2)
        return t->rule;
    for (int i = 0; i < s->count; i++)
        if (!is_done(t, i) && (row < 0 || t->runs[i] < t->runs[row]))
            row = i;
    return row;
}

static float least(const struct ctt_conv_set *s, const struct ctt_tuned *t)
{
    float ms = 0;

    for (int i = 0; i < s->count; i++)
        if (t->ms[i] > 0 && (!(ms > 0) || t->ms[i] < ms))
            ms = t->ms[i];
    return ms;
}

static void note_time(const struct ctt_conv_set *s, int row, float ms,
                      struct ctt_tuned *t)
{
    float best = least(s, t);
    int first = t->runs[row]++ == 0;

    if (!first) {
        t->sum[row] += ms;
        if (!(t->ms[row] > 0) || ms < t->ms[row])
            t->ms[row] = ms > 0 ? ms : 1e-6f;
    }
    if (row != t->rule && best > 0 &&
        (first ? ms > SLOW * best + PACKING
               : t->runs[row] > FEW && t->ms[row] > SLOW * best))
        t->out |= 1 << row;
}

static int run_row(const struct ctt_conv_set *s, void **own, int row,
                   struct ctt_conv_ask *q, float *ms)
{
    double start;
    int rc = 0;

    CTT_TRY(ctt_conv_takes(s, row, own, q, 0));
    start = ctt_milliseconds();
    CTT_TRY(s->row[row].by->run(q));
    *ms = (float)(ctt_milliseconds() - start);
out:
    return rc;
}

/* Chooses the fastest row, which the table gets. */
static void choose_fastest(const struct ctt_conv_set *s,
                           const struct ctt_conv_ask *q, struct ctt_tuned *t)
{
    char key[CTT_TUNE_KEY], times[CTT_TUNE_TIMES] = "-";    /* none */
    size_t n = 0;

    t->row = t->rule;
    for (int i = 0; i < s->count; i++) {
        if (!is_given_up(t, i) && t->ms[i] < gain * t->ms[t->rule] &&
            (t->row == t->rule || t->ms[i] < t->ms[t->row]))
            t->row = i;
        if (t->ms[i] > 0 && n < sizeof(times))
            n += (size_t)snprintf(times + n, sizeof(times) - n, "%s%s=%.0f",
                                  n ? " " : "", s->row[i].by->name,
                                  (double)t->ms[i] * 1e6);
    }
    ctt_tune_key(q->dev, q->call, key);
    ctt_tune_add(q->dev->tune, key, s->row[t->row].by->name, times);
}

/* Frees the caches of rows that were not chosen. */
static void forget_others(const struct ctt_conv_set *s, void **own, int row)
{
    for (int i = 0; i < s->count; i++)
        if (i != row && own[i]) {
            s->row[i].by->forget(own[i]);
            own[i] = NULL;
        }
}

/* A row that fails is given up, and the rule's computes the call. */
static int measure_call(const struct ctt_conv_set *s, void **own,
                        struct ctt_conv_ask *q, int rule, struct ctt_tuned *t)
{
    int rc = 0, row;
    float ms = 0;

    if (t->rule < 0)
        begin_timing(s, own, q, rule, t);
    row = next_row(s, t);
    rc = run_row(s, own, row, q, &ms);
    if (rc < 0 && row != rule) {
        t->out |= 1 << row;
        row = rule;
        rc = run_row(s, own, row, q, &ms);
    }
    CTT_TRY(rc);
    note_time(s, row, ms, t);
    if (next_row(s, t) >= 0) {
        q->dev->unknown++;
    } else {
        choose_fastest(s, q, t);
        forget_others(s, own, t->row);
        q->code = row == t->row ? q->code : NULL;    /* the freed one's */
    }
    rc = row;
out:
    return rc;
}

const struct ctt_tuner ctt_tuner = { look_lacks, look_up, measure_call };
