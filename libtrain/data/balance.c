/* SPDX-License-Identifier: Apache-2.0
 * balance.c: weights of classes, and draws in which all are equally
 * frequent. */
#include "libtrain/data/balance.h"
#include "libtrain/chance.h"
#include "libtrain/data/bucket.h"

#include <string.h>

/* first[k]: number of clips of the classes before k. */
static void count_classes(const struct ctt_data *d, int *first)
{
    int labels = d->list->labels;

    memset(first, 0, ((size_t)labels + 1) * sizeof(*first));
    for (int i = 0; i < d->clips; i++)
        first[d->clip[i].label + 1]++;
    for (int k = 0; k < labels; k++)
        first[k + 1] += first[k];
}

int ctt_class_weights(const struct ctt_data *d, float **out)
{
    int labels = d->list->labels, classes = 0, rc = 0;
    int *first = ctt_calloc((size_t)labels + 1, sizeof(*first));
    float *weight = ctt_calloc((size_t)labels + 1, sizeof(*weight));

    CTT_TRY(first && weight ? 0 : CTT_ENOMEM);
    count_classes(d, first);
    for (int k = 0; k < labels; k++)
        classes += first[k + 1] > first[k];
    for (int k = 0; k < labels; k++)
        if (first[k + 1] > first[k])
            weight[k] = (float)((double)d->clips / classes /
                                (first[k + 1] - first[k]));
    *out = weight;
    weight = NULL;
out:
    ctt_free(first);
    ctt_free(weight);
    return rc;
}

/* Lists the clips by class, each class in a random order. */
static void list_clips(const struct ctt_data *d, uint64_t key, int *first,
                       int *list)
{
    int labels = d->list->labels;

    count_classes(d, first);
    for (int i = 0; i < d->clips; i++)
        list[first[d->clip[i].label]++] = i;
    for (int k = labels; k > 0; k--)    /* each has become the next one's */
        first[k] = first[k - 1];
    first[0] = 0;
    for (int k = 0; k < labels; k++)
        ctt_shuffle(list + first[k], first[k + 1] - first[k],
                    ctt_key(key, (uint64_t)k));
}

/* Each round draws one clip of every class, in turns; the last one ends
 * anywhere, so it begins with another class in each epoch. */
void ctt_balanced_draws(const struct ctt_data *d, uint64_t key, int *first,
                        int *work, int *draws)
{
    int labels = d->list->labels, n = 0;
    int from = (int)((uint64_t)ctt_random(key, 0) * (uint64_t)labels >> 32);

    list_clips(d, key, first, work);
    for (int round = 0; n < d->clips; round++)
        for (int j = 0; j < labels && n < d->clips; j++) {
            int k = (from + j) % labels, clips = first[k + 1] - first[k];

            if (clips)
                draws[n++] = work[first[k] + round % clips];
        }
}
