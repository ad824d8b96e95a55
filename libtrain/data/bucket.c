/* SPDX-License-Identifier: Apache-2.0
 * bucket.c: groups clips of similar length into batches, which reduces
 * padding. */
#include "libtrain/data/bucket.h"
#include "libtrain/chance.h"
#include "libtrain/data/balance.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For each further batch shape: of all frames; of the frames of text that are
 * still computed, whose shapes cost little. */
#define MIN_SAVING 0.02
#define MIN_SYMBOLS 0.01

/* below[l]: number of clips with at most l frames. */
static int count_below(const struct ctt_data *d, int **out)
{
    int *below = ctt_calloc((size_t)d->longest + 1, sizeof(*below));

    if (!below)
        return CTT_ENOMEM;
    for (int i = 0; i < d->clips; i++)
        below[d->clip[i].length]++;
    for (int l = 1; l <= d->longest; l++)
        below[l] += below[l - 1];
    *out = below;
    return 0;
}

struct cut { int bucket, at; int64_t saved; };

/* The cut of a bucket that saves the most frames and leaves at least `least`
 * clips on both sides. */
static struct cut best_cut(const struct ctt_buckets *b, const int *below,
                           int least)
{
    struct cut best = { 0, 0, 0 };
    int from = 0;

    for (int k = 0; k < b->count; k++) {
        for (int l = from + 1; l < b->bound[k]; l++) {
            int low = below[l] - below[from], high = below[b->bound[k]];
            int64_t saved = (int64_t)low * (b->bound[k] - l);
            if (saved > best.saved && low >= least && high - below[l] >= least)
                best = (struct cut){ k, l, saved };
        }
        from = b->bound[k];
    }
    return best;
}

static void apply_cut(struct ctt_buckets *b, const struct cut *c)
{
    memmove(&b->bound[c->bucket + 1], &b->bound[c->bucket],
            (size_t)(b->count - c->bucket) * sizeof(b->bound[0]));
    b->bound[c->bucket] = c->at;
    b->count++;
}

/* The next number of a list; 0: there is none. */
static long next_number(const char **s)
{
    char *end;
    long n = **s >= '0' && **s <= '9' ? strtol(*s, &end, 10) : 0;

    if (n > 0)
        *s = end;
    return n > 0 && n < INT_MAX ? n : 0;
}

int ctt_buckets_check(const char *text, struct ctt_buckets *b)
{
    const char *s = text;
    long n;

    b->count = 0;
    if (!text || strcmp(text, "auto") == 0)
        return CTT_MAX_BUCKETS;
    n = next_number(&s);
    if (!*s && n > 0 && n <= CTT_MAX_BUCKETS)
        return (int)n;
    for (; n && b->count < CTT_MAX_BUCKETS; n = next_number(&s)) {
        if (b->count && n <= b->bound[b->count - 1])
            break;
        b->bound[b->count++] = (int)n;
        if (!*s && b->count > 1)
            return b->count;
        if (*s++ != ',')
            break;
    }
    return ctt_error(CTT_EINVAL, "buckets: bad value '%s' (auto, 1 to %d, or "
                     "up to %d rising lengths: 10,20,40)", text,
                     CTT_MAX_BUCKETS, CTT_MAX_BUCKETS);
}

/* Of given bounds those that have clips, and the longest clip. */
static void keep_bounds(struct ctt_buckets *b, const int *below, int longest)
{
    int count = 0, from = 0;

    for (int k = 0; k < b->count && from < longest; k++) {
        int to = b->bound[k] < longest ? b->bound[k] : longest;

        if (below[to] > below[from])
            b->bound[count++] = to;
        from = to;
    }
    if (from < longest && count < CTT_MAX_BUCKETS)
        b->bound[count++] = longest;
    b->bound[count - 1] = longest;
    b->count = count;
}

static int64_t padded_frames(const struct ctt_buckets *b, const int *below)
{
    int64_t sum = 0;

    for (int k = 0, from = 0; k < b->count; from = b->bound[k++])
        sum += (int64_t)(below[b->bound[k]] - below[from]) * b->bound[k];
    return sum;
}

int ctt_buckets_find(const struct ctt_data *d, int n, const char *text,
                     struct ctt_buckets *out)
{
    struct ctt_buckets b = { .symbols = d->symbols };
    int is_auto = !text || strcmp(text, "auto") == 0, *below = NULL;
    int most, rc;
    int64_t all = (int64_t)d->longest * d->clips, frames = 0;

    CTT_TRY(most = ctt_buckets_check(text, &b));
    CTT_TRY(count_below(d, &below));
    if (b.count) {
        keep_bounds(&b, below, d->longest);
        most = b.count;
    } else {
        b.count = 1;
        b.bound[0] = d->longest;
    }
    for (int i = 0; i < d->clips; i++)
        frames += d->clip[i].length;
    while (b.count < most) {
        struct cut c = best_cut(&b, below, is_auto ? n : 1);
        double least = d->symbols
            ? MIN_SYMBOLS * (double)padded_frames(&b, below)
            : MIN_SAVING * (double)all;
        if (c.saved <= (is_auto ? (int64_t)least : 0))
            break;
        apply_cut(&b, &c);
    }
    b.before = 1 - (double)frames / (double)all;
    b.after = 1 - (double)frames / (double)padded_frames(&b, below);
    *out = b;
    rc = 0;
out:
    ctt_free(below);
    return rc;
}

int ctt_buckets_tell(const struct ctt_buckets *b, char *line, size_t size)
{
    const char *frames = b->symbols ? "symbols" : "frames";
    size_t n = (size_t)snprintf(line, size, "%.0f%% of the %s are padding",
                                100 * b->before, frames);

    if (b->count > 1)
        n = (size_t)snprintf(line, size, "%s are batched by length in %d "
                             "groups: %.0f%% of the %s are padding (%.0f%% "
                             "without groups)", b->symbols ? "lines" : "clips",
                             b->count, 100 * b->after, frames,
                             100 * b->before);
    n += (size_t)snprintf(line + n, size - n, ", up to");
    for (int k = 0; k < b->count && n + 16 < size; k++)
        n += (size_t)snprintf(line + n, size - n, "%s %d", k ? "," : "",
                              b->bound[k]);
    if (n < size)
        snprintf(line + n, size - n, " %s", frames);
    return b->before > 0;
}

/* ---- the batches of an epoch ---- */

int ctt_order_new(const struct ctt_data *d, int n, struct ctt_order **out)
{
    struct ctt_order *p = ctt_calloc(1, sizeof(*p));
    size_t batches = ((size_t)d->clips + (size_t)n - 1) / (size_t)n;
    int rc = p ? 0 : CTT_ENOMEM;

    CTT_TRY(rc);
    p->n = n;
    p->batches = (int)batches;
    p->steps = ctt_calloc(batches, sizeof(int));
    p->clip = ctt_calloc(batches * (size_t)n, sizeof(int));
    p->work = ctt_calloc((size_t)d->clips + (size_t)n, sizeof(int));
    p->length = ctt_calloc((size_t)d->clips, sizeof(int));
    CTT_TRY(p->steps && p->clip && p->work && p->length ? 0 : CTT_ENOMEM);
    *out = p;
    return 0;
out:
    ctt_order_free(&p);
    return rc;
}

void ctt_order_free(struct ctt_order **p)
{
    if (!*p)
        return;
    ctt_free((*p)->steps);
    ctt_free((*p)->clip);
    ctt_free((*p)->turn);
    ctt_free((*p)->draws);
    ctt_free((*p)->nth);
    ctt_free((*p)->times);
    ctt_free((*p)->first);
    ctt_free((*p)->work);
    ctt_free((*p)->length);
    ctt_free(*p);
    *p = NULL;
}

int ctt_order_balance(const struct ctt_data *d, struct ctt_order *p)
{
    p->turn = ctt_calloc((size_t)p->batches * (size_t)p->n, sizeof(int));
    p->draws = ctt_calloc((size_t)d->clips + (size_t)p->n, sizeof(int));
    p->nth = ctt_calloc((size_t)d->clips + (size_t)p->n, sizeof(int));
    p->times = ctt_calloc((size_t)d->clips, sizeof(int));
    p->first = ctt_calloc((size_t)d->list->labels + 1, sizeof(int));
    return p->turn && p->draws && p->nth && p->times && p->first ? 0
                                                                 : CTT_ENOMEM;
}

static uint32_t below_of(uint64_t key, uint64_t i, uint32_t n)
{
    return (uint32_t)((uint64_t)ctt_random(key, i) * n >> 32);
}

void ctt_shuffle(int *v, int n, uint64_t key)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int)below_of(key, (uint64_t)i, (uint32_t)i + 1), t = v[i];
        v[i] = v[j];
        v[j] = t;
    }
}

static void shuffle_batches(struct ctt_order *p, uint64_t key)
{
    for (int i = p->batches - 1; i > 0; i--) {
        int j = (int)below_of(key, (uint64_t)i, (uint32_t)i + 1);
        int t = p->steps[i], *a = p->clip + (size_t)i * p->n;
        int *b = p->clip + (size_t)j * p->n;

        p->steps[i] = p->steps[j];
        p->steps[j] = t;
        for (int k = 0; k < p->n; k++) {
            t = a[k];
            a[k] = b[k];
            b[k] = t;
        }
    }
}

/* Appends to the n places in v the places of lengths from + 1 .. to, in order
 * of length. */
static int gather(const struct ctt_order *p, int places, int from, int to,
                  int *v, int n)
{
    for (int l = from + 1; l <= to; l++)
        for (int i = 0; i < places; i++)
            if (p->length[i] == l)
                v[n++] = i;
    return n;
}

/* Moves as many whole batches as possible from v to the plan; the remaining
 * clips move to the front of v. */
static int emit(struct ctt_order *p, int steps, int *v, int n, int *batches)
{
    int k = 0;

    for (; k + p->n <= n; k += p->n, (*batches)++) {
        p->steps[*batches] = steps;
        memcpy(p->clip + (size_t)*batches * p->n, v + k,
               (size_t)p->n * sizeof(int));
    }
    memmove(v, v + k, (size_t)(n - k) * sizeof(int));
    return n - k;
}

/* Chooses the clips at the places of the epoch: balanced: draws; otherwise each
 * clip at its own place.  Then their lengths. */
static void set_places(const struct ctt_data *d, int balanced, uint64_t key,
                       struct ctt_order *p)
{
    if (balanced) {
        ctt_balanced_draws(d, ctt_key(key, CTT_MAX_BUCKETS + 1), p->first,
                           p->work, p->draws);
        memset(p->times, 0, (size_t)d->clips * sizeof(int));
    }
    for (int i = 0; i < d->clips; i++) {
        int clip = balanced ? p->draws[i] : i;
        struct ctt_augment a = p->a;

        if (balanced) {
            p->nth[i] = p->times[clip]++;
            a = ctt_augment_again(&p->a, p->nth[i]);
        }
        p->length[i] = ctt_look_length(d, clip, &a);
    }
}

/* Place number `more` after the last of the epoch, with a repeated clip. */
static int repeat(struct ctt_order *p, int more, int of)
{
    p->draws[more] = p->draws[of];
    p->nth[more] = p->times[p->draws[of]]++;
    return more;
}

/* Balanced: places become clips and their turns. */
static void name_clips(const struct ctt_order *p)
{
    for (int i = 0; i < p->batches * p->n; i++) {
        p->turn[i] = p->nth[p->clip[i]];
        p->clip[i] = p->draws[p->clip[i]];
    }
}

/* Place j of all batches has a stretch of the text, window by window. */
static void order_text(const struct ctt_data *d, struct ctt_order *p)
{
    for (int j = 0; j < p->n; j++) {
        int from = (int)((int64_t)j * d->clips / p->n);
        int end = (int)((int64_t)(j + 1) * d->clips / p->n);

        for (int k = 0; k < p->batches; k++) {
            p->steps[k] = d->longest;
            p->clip[(size_t)k * (size_t)p->n + (size_t)j] =
                from + k < end ? from + k : -1;
        }
    }
}

void ctt_order_make(const struct ctt_data *d, const struct ctt_buckets *b,
                    int shuffle, uint64_t key, struct ctt_order *p)
{
    int rest = 0, batches = 0, from = 0, *v = p->work;
    int balanced = shuffle && p->draws;

    if (d->one) {
        order_text(d, p);
        return;
    }
    set_places(d, balanced, key, p);
    for (int k = 0; k < b->count; k++) {
        rest = gather(p, d->clips, from, b->bound[k], v, rest);
        if (shuffle)
            ctt_shuffle(v, rest, ctt_key(key, (uint64_t)k));
        rest = emit(p, b->bound[k], v, rest, &batches);
        from = b->bound[k];
    }
    if (rest) {
        int *last = p->clip + (size_t)batches * p->n;
        memcpy(last, v, (size_t)rest * sizeof(int));
        p->steps[batches] = d->longest;
        for (int i = rest; i < p->n; i++) {    /* repeats clips of the plan */
            last[i] = shuffle ? p->clip[i - rest] : -1;
            if (balanced)
                last[i] = repeat(p, d->clips + i - rest, last[i]);
        }
    }
    if (shuffle)
        shuffle_batches(p, ctt_key(key, (uint64_t)b->count));
    if (balanced)
        name_clips(p);
}
