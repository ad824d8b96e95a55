/* SPDX-License-Identifier: Apache-2.0
 * balance.c: weights of classes, and draws in which all are equally
 * frequent. */
#include "libtrain/data/balance.h"
#include "libtrain/chance.h"
#include "libtrain/data/bucket.h"

#include <string.h>

/* clips[k]: of class k, among others. */
static void count_labels(const struct ctt_data *d, int *clips)
{
    memset(clips, 0, ((size_t)d->list->labels + 1) * sizeof(*clips));
    for (int i = 0; i < d->clips; i++)
        for (int k = 0, c; (c = ctt_clip_label(d, &d->clip[i], k)) >= 0; k++)
            clips[c]++;
}

/* The label of a clip that the fewest clips have, by clips[]. */
static int rarest(const struct ctt_data *d, const struct ctt_clip *clip,
                  const int *clips)
{
    int best = clip->label;

    for (int k = 1, c; (c = ctt_clip_label(d, clip, k)) >= 0; k++)
        best = clips[c] < clips[best] ? c : best;
    return best;
}

/* first[k]: number of clips whose rarest label is a class before k, and of[i]
 * that of clip i.  first is also memory for the counts. */
static void count_classes(const struct ctt_data *d, int *first, int *of)
{
    int labels = d->list->labels;

    count_labels(d, first);
    for (int i = 0; i < d->clips; i++)
        of[i] = rarest(d, &d->clip[i], first);
    memset(first, 0, ((size_t)labels + 1) * sizeof(*first));
    for (int i = 0; i < d->clips; i++)
        first[of[i] + 1]++;
    for (int k = 0; k < labels; k++)
        first[k + 1] += first[k];
}

/* Weights with which a class that is there and one that is not count half of
 * all clips each. */
static void weigh_several(const struct ctt_data *d, const int *clips,
                          float *weight)
{
    int labels = d->list->labels;

    for (int k = 0; k < labels; k++) {
        int rest = d->clips - clips[k];

        weight[k] = clips[k] ? (float)((double)d->clips / 2 / clips[k]) : 0;
        weight[labels + k] = rest ? (float)((double)d->clips / 2 / rest) : 0;
    }
}

int ctt_class_weights(const struct ctt_data *d, int several, float **out)
{
    int labels = d->list->labels, classes = 0, rc = 0;
    int *clips = ctt_calloc((size_t)labels + 1, sizeof(*clips));
    float *weight = ctt_calloc(2 * (size_t)labels + 1, sizeof(*weight));

    CTT_TRY(clips && weight ? 0 : CTT_ENOMEM);
    count_labels(d, clips);
    for (int k = 0; k < labels; k++)
        classes += clips[k] > 0;
    for (int k = 0; k < labels && !several; k++)
        if (clips[k])
            weight[k] = (float)((double)d->clips / classes / clips[k]);
    if (several)
        weigh_several(d, clips, weight);
    *out = weight;
    weight = NULL;
out:
    ctt_free(clips);
    ctt_free(weight);
    return rc;
}

/* Lists the clips by class, each class in a random order; of: memory. */
static void list_clips(const struct ctt_data *d, uint64_t key, int *first,
                       int *of, int *list)
{
    int labels = d->list->labels;

    count_classes(d, first, of);
    for (int i = 0; i < d->clips; i++)
        list[first[of[i]]++] = i;
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

    list_clips(d, key, first, draws, work);
    for (int round = 0; n < d->clips; round++)
        for (int j = 0; j < labels && n < d->clips; j++) {
            int k = (from + j) % labels, clips = first[k + 1] - first[k];

            if (clips)
                draws[n++] = work[first[k] + round % clips];
        }
}
