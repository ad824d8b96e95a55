/* SPDX-License-Identifier: Apache-2.0
 * data.h: a set of clips for training or for tests. */
#ifndef CTT_DATA_H
#define CTT_DATA_H

#include "libtrain/data/survey.h"
#include "libtrain/train.h"
#include "base/limits.h"
#include "video/source.h"

/* In recognition, a clip of the source.  In prediction, a sequence of `length`
 * frames: the part-th one of a clip of `whole` frames, or sequence number
 * `part` of a drawn source. */
struct ctt_clip {
    int item, label, length;     /* item: its index in the source's list; label
                                    -1 in prediction */
    int part, whole;
    uint64_t sum;                /* ctt_frames_sum() of the whole clip; 0:
                                    drawn */
    uint64_t state;              /* ctt_source_state() when that was made */
};

/* The frames of an item of the list; data NULL: they are not kept. */
struct ctt_kept {
    struct ctt_frames f;
    int               users;     /* threads that read them: they must stay */
};

struct ctt_data {
    struct ctt_source     *source;
    const struct ctt_list *list; /* the source's; a drawn one has one item */
    int                    steps;    /* frames per sequence in prediction; 0:
                                        whole clips */
    struct ctt_input       in;
    int                    stored_w, stored_h;
    struct ctt_clip       *clip;
    int                    clips, skipped, longest;
    int                    unlabelled;    /* no clip has a class */
    int                    symbols;       /* clips are sentences of a text
                                             (video/text/text.h): their label
                                             is the symbol behind them */
    int                    one;           /* they are windows of one text */
    int                    workers, max_frames, min_frames, strict;
    struct ctt_tally       tally;    /* of the stored clips */
    int64_t                room; /* bytes left for frames in memory */
    struct ctt_cache       cache;
    struct ctt_kept       *kept; /* per item, or NULL; under the caches' lock */
    int                    kept_end;  /* items from here on are not kept */
};

/* The k-th label of a clip, from 0; -1: it has no more. */
static inline int ctt_clip_label(const struct ctt_data *d,
                                 const struct ctt_clip *c, int k)
{
    return k == 0 ? c->label
                  : ctt_item_label(d->list, &d->list->item[c->item], k);
}

/* The seed of drawn sequences for key 0, independent of --seed. */
enum { CTT_TEST_SEED = 1 };

/* Decodes clip i, or points f at its frames in memory; *own says which, for
 * ctt_data_done(), which must be called when f is no longer read.  A sequence
 * of a clip begins at a frame that key determines, with key 0 (tests) at part *
 * steps; a drawn sequence is a different one for each key.  CTT_EFORMAT if the
 * clip has other frames than ctt_data_scan() found. */
int  ctt_data_frames(struct ctt_data *d, int i, uint64_t key,
                     struct ctt_frames *f, int *own);
void ctt_data_done(struct ctt_data *d, int i, struct ctt_frames *f, int own);

/* Keeps the frames of an item, which are then d's, if there is room. */
void ctt_data_keep(struct ctt_data *d, int item, struct ctt_frames *f);

/* A set of n clips of d, or all if there are fewer, evenly spread over it,
 * which lives no longer than d.  Its member clip is to be freed, nothing else.
 */
int  ctt_data_part(const struct ctt_data *d, int n, struct ctt_data *part);

/* CTT_EINVAL unless a frame of d has the shape of the model's input: batches
 * of d are read as such frames; or if mean or std of the input is not known.
 */
int ctt_data_check(const struct ctt_data *d, const struct ctt_graph *g);

/* Reads each clip of the source's list once, with d->workers threads: fills
 * d->clip and d->longest, and keeps frames in memory while d->room allows.  Bad
 * clips are counted in d->skipped and reported to ev->clip; with d->strict a
 * bad clip is an error.  ev may be NULL. */
int ctt_data_scan(struct ctt_data *d, const struct ctt_events *ev);

#endif
