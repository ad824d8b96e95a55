/* SPDX-License-Identifier: Apache-2.0
 * made.h: packs of clips with requested properties. */
#ifndef CTT_TEST_MADE_H
#define CTT_TEST_MADE_H

#include "libtrain/data/data.h"
#include "tests/lib/toy.h"

enum { MADE_SIDE = CLIP_SIZE, MADE_FRAME = MADE_SIDE * MADE_SIDE * 3 };

/* Properties of a pack's clips: noise of values from .. from + range - 1;
 * frames, each `repeat` times; count: clips of each class. */
struct made {
    int from, range, frames, repeat, clips, of_last, seed;
    int step;    /* added brightness from clip to clip */
};

static const struct made made_usual = { 60, 140, 6, 1, 20, 0, 1 };

static inline void made_fill(const struct made *s, int i, int t, uint8_t *p)
{
    uint64_t key = (uint64_t)s->seed << 32 | (uint64_t)(i * 100 +
                                                        t / s->repeat);

    for (int k = 0; k < MADE_FRAME; k++)
        p[k] = (uint8_t)(s->from + i * s->step +
                         (int)(ctt_random(key, (uint64_t)k) %
                               (unsigned)s->range));
}

/* The last class has of_last clips, if that is not 0; the others share the
 * rest. */
static inline int made_class(const struct made *s, int i)
{
    if (!s->of_last)
        return i % CLIP_CLASSES;
    return i < s->of_last ? CLIP_CLASSES - 1 : i % (CLIP_CLASSES - 1);
}

static inline const char *made_pack(const char *name, const struct made *s)
{
    const char *path = clip_path(name);
    struct ctt_input in = clip_input();
    static uint8_t data[64 * MADE_FRAME];
    struct ctt_frames f = { data, s->frames, MADE_SIDE, MADE_SIDE, 3, 12 };
    struct ctt_pack *p = NULL;
    char id[32];

    CHECK_OK(ctt_pack_create(path, &in, (char *const *)clip_labels,
                             CLIP_CLASSES, &p));
    for (int i = 0; i < s->clips; i++) {
        for (int t = 0; t < s->frames; t++)
            made_fill(s, i, t, data + t * MADE_FRAME);
        snprintf(id, sizeof(id), "clip%d", i);
        CHECK_OK(ctt_pack_add(p, id, made_class(s, i), &f));
    }
    CHECK_OK(ctt_pack_finish(&p));
    return path;
}

static inline struct ctt_data *made_open(const char *path,
                                         const struct ctt_input *in,
                                         const struct ctt_train_cfg *cfg)
{
    struct ctt_data *d = NULL;

    CHECK_OK(ctt_data_open(path, "train", in, NULL, 0, cfg, NULL, &d));
    return d;
}

#endif
