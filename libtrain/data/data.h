/* SPDX-License-Identifier: Apache-2.0
 * data.h: a set of clips to train or to test on. */
#ifndef CTT_DATA_H
#define CTT_DATA_H

#include "libtrain/train.h"
#include "video/source.h"

/* For the task recognise, a clip of the source.  For predict, a sequence of
 * `length` frames: the part-th one of a clip of `whole` frames, or, where the
 * source is drawn, sequence number `part` of it. */
struct ctt_clip {
    int item, label, length;     /* item: its index in the source's list; label
                                    -1 in prediction */
    int part, whole;
    struct ctt_frames f;         /* of the whole clip, owned by part 0; data
                                    NULL: not kept in memory */
};

struct ctt_data {
    struct ctt_source     *source;
    const struct ctt_list *list; /* the source's; of a drawn one, one item */
    int                    steps;    /* prediction: frames of each sequence;
                                        0: clips as they are */
    struct ctt_input       in;
    int                    stored_w, stored_h;
    struct ctt_clip       *clip;
    int                    clips, skipped, longest, held;
    int                    workers, max_frames, min_frames, strict;
    int64_t                room; /* bytes that may still be kept in memory */
};

/* The seed of drawn sequences without a key, whatever --seed says. */
enum { CTT_TEST_SEED = 1 };

/* Decodes clip i, or points at its frames in memory; *own: f must be freed.  A
 * sequence of a clip begins where the key says, or with key 0 (tests) at part *
 * steps; a drawn one is another one for each key.  A clip that has changed
 * since it was counted is an error. */
int ctt_data_frames(struct ctt_data *d, int i, uint64_t key,
                    struct ctt_frames *f, int *own);

#endif
