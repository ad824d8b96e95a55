/* SPDX-License-Identifier: Apache-2.0
 * augmented.h: packs of clips to augment, and all that can change them. */
#ifndef CTT_TEST_AUGMENTED_H
#define CTT_TEST_AUGMENTED_H

#include "libtrain/data/load.h"
#include "tests/lib/toy.h"

enum { CLIPS = 30 };

static inline struct ctt_data *open_pack(const char *name, int min_frames)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_input in = clip_input();
    struct ctt_data *d = NULL;

    cfg.min_frames = min_frames;
    CHECK_OK(ctt_data_open(clip_path(name), "train", &in, NULL, 0, &cfg, NULL,
                           &d));
    return d;
}

static inline struct ctt_data *open_toy(void)
{
    CHECK_OK(clips_pack(clip_path("toy.pack"), 0, CLIPS));
    return open_pack("toy.pack", 1);
}

/* All that --augment strong does, with a key. */
static inline struct ctt_augment strong(uint64_t key)
{
    struct ctt_train_cfg cfg = clip_cfg();

    cfg.augment = CTT_AUGMENT_STRONG;
    return ctt_augment_of(&cfg, key);
}

#endif
