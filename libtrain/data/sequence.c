/* SPDX-License-Identifier: Apache-2.0
 * sequence.c: sequences of frames to predict: cut out of clips, or drawn. */
#include "libtrain/data/data.h"

#include <limits.h>
#include <string.h>

/* What is drawn with a clip's key: load.c draws 0 to 4. */
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
    d->clips = d->held = (int)n;
    d->longest = d->steps;
out:
    return rc;
}

/* ---- mnist ---- */

static int check(const struct ctt_data *d, const char *dir,
                 const struct ctt_train_cfg *cfg)
{
    int rc = 0;

    CTT_CHECK(d->steps, CTT_EINVAL, "mnist:%s: has no classes, it is for "
              "--task=predict", dir);
    CTT_CHECK(!cfg->classes, CTT_EINVAL, "mnist:%s: has no classes", dir);
    CTT_TRY(ctt_mnist_fits(dir, &d->in));
out:
    return rc;
}

/* A list of one item, all parts of which are the sequences; its path says of
 * which split. */
static int make_list(struct ctt_data *d, const char *dir, const char *split)
{
    size_t room = strlen(dir) + strlen(split) + sizeof("mnist:#");
    struct ctt_item *item;
    int rc = 0;

    d->own = ctt_calloc(1, sizeof(*d->own));
    CTT_TRY(d->own ? 0 : CTT_ENOMEM);
    d->list = d->own;
    d->own->item = ctt_calloc(1, sizeof(*item));
    CTT_TRY(d->own->item ? 0 : CTT_ENOMEM);
    d->own->count = d->own->room = d->own->all = 1;
    item = d->own->item;
    item->label = -1;
    item->path = ctt_calloc(room, 1);
    item->id = ctt_strdup("mnist");
    CTT_TRY(item->path && item->id ? 0 : CTT_ENOMEM);
    snprintf(item->path, room, "mnist:%s#%s", dir, split);
out:
    return rc;
}

/* Whether these are the sequences to train on, not those to test on: told by
 * the settings that name both. */
static int to_train(const char *dir, const char *split,
                    const struct ctt_train_cfg *cfg)
{
    const char *data = cfg->data ? ctt_mnist_path(cfg->data) : dir;
    const char *train = cfg->split ? cfg->split : "train";

    return data && strcmp(data, dir) == 0 && strcmp(split, train) == 0;
}

int ctt_sequences_make(struct ctt_data *d, const char *dir, const char *split,
                       const struct ctt_train_cfg *cfg)
{
    int n, rc;

    CTT_TRY(check(d, dir, cfg));
    CTT_TRY(ctt_mnist_first(split, &d->first));
    CTT_TRY(make_list(d, dir, split));
    CTT_TRY(ctt_mnist_open(dir, &d->mnist));
    n = to_train(dir, split, cfg) ? cfg->sequences : cfg->val_sequences;
    d->clip = ctt_calloc((size_t)n, sizeof(*d->clip));
    CTT_TRY(d->clip ? 0 : CTT_ENOMEM);
    for (int i = 0; i < n; i++)
        d->clip[i] = (struct ctt_clip){ .label = -1, .length = d->steps,
                                        .part = i, .whole = d->steps };
    d->clips = d->held = n;
    d->longest = d->steps;
    d->digits = cfg->digits;
    d->in.scale = 1;    /* there is nothing around the frame to cut away */
    d->stored_w = d->stored_h = CTT_MNIST_SIDE;
out:
    return rc;
}

int ctt_sequence_draw(const struct ctt_data *d, const struct ctt_clip *c,
                      uint64_t key, struct ctt_frames *f)
{
    return ctt_mnist_frames(d->mnist, key ? key : CTT_TEST_SEED,
                            d->first + c->part, d->digits, d->steps, f);
}
