/* SPDX-License-Identifier: Apache-2.0
 * same.c: which clips occur in two sets, or twice in one, by checksums of their
 * frames. */
#include "video/pack/packfile.h"

#include <stdio.h>

uint64_t ctt_frames_sum(const struct ctt_frames *f)
{
    size_t n = (size_t)f->count * (size_t)f->h * (size_t)f->w * (size_t)f->c;
    uint64_t sum = ctt_pack_sum((uint64_t)f->count, f->data, n);

    return sum ? sum : 1;
}

/* An open hash table of sums: number + 1 of each, or 0. */
struct sums {
    const uint64_t *sum;
    int            *slot;
    uint64_t        mask;
};

/* The slot that holds a sum, or the free one where it belongs. */
static int *slot_of(const struct sums *t, uint64_t sum)
{
    uint64_t k = sum & t->mask;

    while (t->slot[k] && t->sum[t->slot[k] - 1] != sum)
        k = (k + 1) & t->mask;
    return &t->slot[k];
}

/* An empty table for n sums; the caller frees its slots. */
static int new_table(const uint64_t *sum, int n, struct sums *t)
{
    uint64_t slots = 16;

    while (slots < 2 * (uint64_t)n)
        slots *= 2;
    *t = (struct sums){ sum, ctt_calloc((size_t)slots, sizeof(*t->slot)),
                        slots - 1 };
    return t->slot ? 0 : CTT_ENOMEM;
}

int ctt_sums_shared(const uint64_t *a, int n, const uint64_t *b, int m, int *i,
                    int *k)
{
    struct sums t;
    int shared = 0, rc = new_table(a, n, &t);

    if (rc < 0)
        return rc;
    for (int j = n - 1; j >= 0; j--)    /* the first of several stays */
        if (a[j])
            *slot_of(&t, a[j]) = j + 1;
    for (int j = 0; j < m; j++) {
        int at = b[j] ? *slot_of(&t, b[j]) : 0;
        if (!at || shared++ > 0)
            continue;
        *i = at - 1;
        *k = j;
    }
    ctt_free(t.slot);
    return shared;
}

/* 1 if a has a label that b lacks. */
static int has_more(const struct ctt_list *l, const struct ctt_item *a,
                    const struct ctt_item *b)
{
    for (int k = 0, c; (c = ctt_item_label(l, a, k)) >= 0; k++)
        if (!ctt_item_has(l, b, c))
            return 1;
    return 0;
}

/* Counts one pair of clips with the same frames; the first is described. */
static void note_pair(const struct ctt_list *l, int i, int k, int labels,
                      struct ctt_duplicates *r)
{
    const struct ctt_item *a = &l->item[i], *b = &l->item[k];
    int other = labels && a->label >= 0 && b->label >= 0 &&
                (has_more(l, a, b) || has_more(l, b, a));

    if (!other && r->same++ == 0)
        snprintf(r->twins, sizeof(r->twins), "%s and %s", a->path, b->path);
    if (other && r->other++ == 0)
        snprintf(r->rivals, sizeof(r->rivals), "%s (%s) and %s (%s)", a->path,
                 l->label[a->label], b->path, l->label[b->label]);
}

int ctt_list_duplicates(const struct ctt_list *l, const uint64_t *sum,
                        int labels, struct ctt_duplicates *out)
{
    struct sums t;
    int rc = new_table(sum, l->count, &t);

    if (rc < 0)
        return rc;
    *out = (struct ctt_duplicates){ .same = 0 };
    for (int k = 0; k < l->count; k++) {
        int *slot = slot_of(&t, sum[k]);
        if (sum[k] && *slot)
            note_pair(l, *slot - 1, k, labels, out);
        else if (sum[k])
            *slot = k + 1;
    }
    ctt_free(t.slot);
    return 0;
}
