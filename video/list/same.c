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

/* Adds sum i of a to an open hash table, in which 0 is a free slot. */
static void put(const uint64_t *a, int i, int *slot, uint64_t mask)
{
    uint64_t k = a[i] & mask;

    while (slot[k] && a[slot[k] - 1] != a[i])
        k = (k + 1) & mask;
    if (!slot[k])
        slot[k] = i + 1;
}

static int find(const uint64_t *a, uint64_t sum, const int *slot,
                uint64_t mask)
{
    uint64_t k = sum & mask;

    while (slot[k] && a[slot[k] - 1] != sum)
        k = (k + 1) & mask;
    return slot[k] - 1;
}

/* An empty table for n sums; the caller frees it. */
static int new_table(int n, int **slot, uint64_t *mask)
{
    uint64_t slots = 16;

    while (slots < 2 * (uint64_t)n)
        slots *= 2;
    *slot = ctt_calloc((size_t)slots, sizeof(**slot));
    *mask = slots - 1;
    return *slot ? 0 : CTT_ENOMEM;
}

int ctt_sums_shared(const uint64_t *a, int n, const uint64_t *b, int m, int *i,
                    int *k)
{
    uint64_t mask;
    int *slot, shared = 0, rc = new_table(n, &slot, &mask);

    if (rc < 0)
        return rc;
    for (int j = 0; j < n; j++)
        if (a[j])
            put(a, j, slot, mask);
    for (int j = 0; j < m; j++) {
        int at = b[j] ? find(a, b[j], slot, mask) : -1;
        if (at < 0)
            continue;
        if (shared++ == 0) {
            *i = at;
            *k = j;
        }
    }
    ctt_free(slot);
    return shared;
}

/* Counts one pair of clips with the same frames; the first is described. */
static void note(const struct ctt_list *l, int i, int k, int labels,
                 struct ctt_duplicates *r)
{
    const struct ctt_item *a = &l->item[i], *b = &l->item[k];
    int other = labels && a->label >= 0 && b->label >= 0 &&
                a->label != b->label;

    if (!other && r->same++ == 0)
        snprintf(r->twins, sizeof(r->twins), "%s and %s", a->path, b->path);
    if (other && r->other++ == 0)
        snprintf(r->rivals, sizeof(r->rivals), "%s (%s) and %s (%s)", a->path,
                 l->label[a->label], b->path, l->label[b->label]);
}

int ctt_list_duplicates(const struct ctt_list *l, const uint64_t *sum,
                        int labels, struct ctt_duplicates *out)
{
    uint64_t mask;
    int *slot, rc = new_table(l->count, &slot, &mask);

    if (rc < 0)
        return rc;
    *out = (struct ctt_duplicates){ .same = 0 };
    for (int k = 0; k < l->count; k++) {
        int i = sum[k] ? find(sum, sum[k], slot, mask) : -1;
        if (i >= 0)
            note(l, i, k, labels, out);
        else if (sum[k])
            put(sum, k, slot, mask);
    }
    ctt_free(slot);
    return 0;
}
