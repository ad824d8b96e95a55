/* SPDX-License-Identifier: Apache-2.0
 * sequence.c: sequences of frames to predict: cut out of clips, or drawn. */
#include "libtrain/data/sequence.h"
#include "libtrain/chance.h"

#include <limits.h>

/* Numbers drawn with a clip's key; augment.c draws others. */
enum { DRAW_START = 5, DRAW_PARTS = 8 };

uint64_t ctt_clip_key(const struct ctt_clip *c, uint64_t key)
{
    uint64_t own = ctt_key(key, (uint64_t)c->item);

    return c->part ? ctt_key(own, DRAW_PARTS + (uint64_t)c->part) : own;
}

int ctt_sequence_start(const struct ctt_clip *c, uint64_t key)
{
    uint32_t places = (uint32_t)(c->whole - c->length) + 1;

    if (!key)
        return c->part * c->length;
    return (int)((uint64_t)ctt_random(ctt_clip_key(c, key), DRAW_START) *
                 places >> 32);
}

int ctt_sequences_cut(struct ctt_data *d)
{
    struct ctt_clip *all = NULL;
    int64_t n = 0;
    int rc = 0;

    for (int i = 0; i < d->clips; i++)
        n += d->clip[i].length / d->steps;
    CTT_CHECK(n < INT_MAX, CTT_EINVAL, "%lld sequences are too many",
              (long long)n);
    all = ctt_calloc((size_t)n + 1, sizeof(*all));
    CTT_TRY(all ? 0 : CTT_ENOMEM);
    n = 0;
    for (int i = 0; i < d->clips; i++) {
        struct ctt_clip c = d->clip[i];

        c.whole = c.length;
        c.length = d->steps;
        for (; (c.part + 1) * (int64_t)d->steps <= c.whole; c.part++)
            all[n++] = c;
    }
    ctt_free(d->clip);
    d->clip = all;
    d->clips = (int)n;
    d->longest = d->steps;
out:
    return rc;
}

int ctt_sequences_draw(struct ctt_data *d, int n)
{
    d->clip = ctt_calloc((size_t)n, sizeof(*d->clip));
    if (!d->clip)
        return CTT_ENOMEM;
    for (int i = 0; i < n; i++)
        d->clip[i] = (struct ctt_clip){ .label = -1, .length = d->steps,
                                        .part = i, .whole = d->steps };
    d->clips = n;
    d->longest = d->steps;
    return 0;
}
