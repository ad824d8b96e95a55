/* SPDX-License-Identifier: Apache-2.0
 * lights.h: clips taken in little, usual and much light, and how bright a batch
 * is. */
#ifndef CTT_TEST_LIGHTS_H
#define CTT_TEST_LIGHTS_H

#include "libtrain/data/load.h"
#include "tests/lib/toy.h"

#include <math.h>

/* Mean and standard deviation of clip j of a batch as the model would see it
 * without a mean and std of its own: values of 0 to 1 if nothing changed. */
static inline void light(const struct ctt_batch *b, int j, double *mean,
                         double *dev)
{
    double sum = 0, squares = 0, n = 300.0 * b->length[j];

    for (int t = 0; t < b->length[j]; t++)
        for (int k = 0; k < 300; k++) {
            double v = 0.3 * (double)b->x[(t * b->n + j) * 300 + k] + 0.2;
            sum += v;
            squares += v * v;
        }
    *mean = sum / n;
    *dev = sqrt(squares / n - *mean * *mean);
}

/* A dark clip, a normal one and a bright one. */
static inline void pack_lights(const char *path)
{
    static const int from[] = { 2, 60, 240 }, range[] = { 11, 140, 16 };
    struct ctt_input in = clip_input();
    struct ctt_pack *p = NULL;
    uint8_t data[6 * CLIP_SIZE * CLIP_SIZE * 3];
    struct ctt_frames f = { data, 6, CLIP_SIZE, CLIP_SIZE, 3, 12 };

    CHECK_OK(ctt_pack_create(path, &in, (char *const *)clip_labels,
                             CLIP_CLASSES, &p));
    for (int i = 0; i < 3; i++) {
        for (size_t k = 0; k < sizeof(data); k++)
            data[k] = (uint8_t)(from[i] + (int)(ctt_random(9, k) %
                                                (unsigned)range[i]));
        CHECK_OK(ctt_pack_add(p, clip_labels[i], i, &f));
    }
    CHECK_OK(ctt_pack_finish(&p));
}

#endif
