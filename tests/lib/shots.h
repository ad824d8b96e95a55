/* SPDX-License-Identifier: Apache-2.0
 * shots.h: a batch of frames as bytes, drawn at random. */
#ifndef CTT_TEST_SHOTS_H
#define CTT_TEST_SHOTS_H

#include "device/memory.h"
#include "base/random.h"
#include "tests/lib/check.h"

#include <string.h>

enum { SHOT_ROWS = 13 };

static inline void shots_side(struct ctt_taps *r, float *w, int to, int stored,
                              int room, int most, uint64_t key)
{
    for (int i = 0; i < to; i++) {
        uint64_t k = ctt_random(key, (uint64_t)i);

        r[i].n = 1 + (int32_t)(k % (uint64_t)most);
        r[i].from = (int32_t)(k / 8 % (uint64_t)(stored - r[i].n + 1));
        for (int j = 0; j < r[i].n; j++)
            w[i * room + j] = (float)(k >> j & 3) / 3 + 0.1f;
    }
}

static inline void shots_paint(struct ctt_paint *p, const struct ctt_shots *s,
                               uint64_t key)
{
    ctt_check_fill(p->table[0], 3 * 256, key);
    ctt_check_fill(p->of[0], 9, key + 1);
    ctt_check_fill(p->add, 3, key + 2);
    ctt_check_fill(p->fill, 3, key + 3);
    p->mixed = s->c == 3 && key % 2;
    p->w = key % 3 ? (int32_t)(key % 5) : 0;
    p->h = 3;
    p->x = s->w - p->w;
    p->y = (int32_t)(key % 4);
}

/* n clips of c channels, each pixel the mean of at most `most` x `most`; the
 * caller frees the block. */
static inline struct ctt_shots shots_new(int c, int n, int most, uint64_t key)
{
    struct ctt_shots s = { .n = n, .steps = 3, .c = c, .w = 9, .h = 7,
        .stored_w = 15, .most_x = 6, .most_y = 7,
        .stored = SHOT_ROWS * 15 * c };
    int32_t *frame;

    ctt_shots_place(&s);
    s.block = ctt_calloc(1, (size_t)s.bytes);
    for (int64_t i = s.data; i < s.bytes; i++)
        s.block[i] = (char)ctt_random(key, (uint64_t)i);
    for (int j = 0; j < n; j++) {
        struct ctt_render r = ctt_shots_clip(&s, s.block, j);
        uint64_t own = key * 100 + (uint64_t)j;

        shots_paint((struct ctt_paint *)r.paint, &s, own);
        shots_side((struct ctt_taps *)r.x, (float *)r.wx, s.w, s.stored_w,
                   s.most_x, most, own);
        shots_side((struct ctt_taps *)r.y, (float *)r.wy, s.h, SHOT_ROWS,
                   s.most_y, most, own + 7);
    }
    frame = (int32_t *)(void *)(s.block + s.frame);
    for (int i = 0; i < s.steps * n; i++)
        frame[i] = (int32_t)(ctt_random(key, (uint64_t)i) %
                             (uint64_t)(s.steps * n + 1)) - 1;
    return s;
}

static inline int shots_floats(const struct ctt_shots *s)
{
    return s->steps * s->n * s->w * s->h * s->c;
}

#endif
