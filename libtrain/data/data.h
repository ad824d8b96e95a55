/* SPDX-License-Identifier: Apache-2.0
 * data.h: clips in memory, which of them make a batch, and the threads that
 * bring batches ahead of the training. */
#ifndef CTT_DATA_H
#define CTT_DATA_H

#include "device/memory.h"
#include "libtrain/train.h"
#include "net/random.h"

#include <pthread.h>

/* ---- chance: everything random has a counter of its own ---- */

/* A key for thing b of whatever key a stands for. */
static inline uint64_t ctt_key(uint64_t a, uint64_t b)
{
    return (uint64_t)ctt_random(a, 2 * b) << 32 | ctt_random(a, 2 * b + 1);
}

/* Uniform in [0, 1). */
static inline float ctt_uniform(uint64_t key, uint64_t i)
{
    return (float)(ctt_random(key, i) >> 8) * 0x1p-24f;
}

enum { CTT_KEY_INIT = 1, CTT_KEY_ORDER, CTT_KEY_IMAGE, CTT_KEY_OBSERVE,
       CTT_KEY_DROPOUT, CTT_KEY_TRUTH };

/* ---- data.c ---- */

/* To recognise, a clip of the data; to predict, a sequence of frames: of a clip
 * of `whole` frames its part-th one, or the part-th one of mnist. */
struct ctt_clip {
    int item, label, length;     /* item: its index in the list; label -1 in
                                    prediction */
    int part, whole;
    struct ctt_frames f;         /* of the whole clip, owned by part 0; data
                                    NULL: not kept in memory */
};

struct ctt_data {
    struct ctt_list       *own;  /* a list from disk, or */
    struct ctt_pack       *pack;
    const struct ctt_list *list; /* of either */
    struct ctt_mnist      *mnist;    /* or sequences made of digits, whose
                                        list has one item */
    int64_t                first;    /* the split's first number there */
    int                    digits;
    int                    steps;    /* prediction: frames of each sequence;
                                        0: clips as they are */
    struct ctt_input       in;
    int                    stored_w, stored_h;
    struct ctt_clip       *clip;
    int                    clips, skipped, longest, held;
    int                    workers, max_frames, min_frames, strict;
    int64_t                room; /* bytes that may still be kept in memory */
};

/* Decodes clip i or points at what is in memory; *own: f must be freed.  A
 * sequence begins where the key says, or with key 0 (tests) at part * steps;
 * mnist's are others for each key. */
int ctt_data_frames(struct ctt_data *d, int i, uint64_t key,
                    struct ctt_frames *f, int *own);

/* ---- sequence.c: what prediction is trained on ---- */

/* The seed of mnist's sequences without a key, whatever --seed says. */
enum { CTT_TEST_SEED = 1 };

/* Of each clip of L frames max(1, L / steps) sequences. */
int ctt_sequences_cut(struct ctt_data *d);
/* dir: what stands behind "mnist:". */
int ctt_sequences_make(struct ctt_data *d, const char *dir, const char *split,
                       const struct ctt_train_cfg *cfg);

/* The frame with which sequence c begins. */
int ctt_sequence_start(const struct ctt_clip *c, uint64_t key);
int ctt_sequence_draw(const struct ctt_data *d, const struct ctt_clip *c,
                      uint64_t key, struct ctt_frames *f);

/* The key of all that is drawn for clip c in an epoch's key. */
uint64_t ctt_clip_key(const struct ctt_clip *c, uint64_t key);

/* ---- bucket.c ---- */

enum { CTT_MAX_BUCKETS = 64 };

struct ctt_buckets {
    int    count, bound[CTT_MAX_BUCKETS];    /* longest clip of each, rising */
    double before, after;    /* share of padding: in one bucket, in these */
};

/* Starts with one bucket and makes again and again the cut that saves the most
 * padding.  text: how many, or "auto": while a cut saves 2% of the frames and
 * leaves a batch of n on both sides. */
/* "auto" (or NULL) or a number: the most there may be. */
int ctt_buckets_check(const char *text, int *most);

int ctt_buckets_find(const struct ctt_data *d, int n, const char *text,
                     struct ctt_buckets *out);

/* A line about the padding; 0: there is none. */
int ctt_buckets_tell(const struct ctt_buckets *b, char *line, size_t size);

/* The batches of an epoch. */
struct ctt_order {
    int  n, batches;
    int *steps;      /* [batches]: length they are padded to */
    int *clip;       /* [batches][n]: -1: empty */
    int *work;
};

int  ctt_order_new(const struct ctt_data *d, int n, struct ctt_order **out);
void ctt_order_free(struct ctt_order **p);

/* Shuffled: what is left of a bucket moves on to the next longer one; the last
 * batch is filled with clips a second time.  So every clip is seen.  Not
 * shuffled (for tests): in order of length, the rest empty. */
void ctt_order_make(const struct ctt_data *d, const struct ctt_buckets *b,
                   int shuffle, uint64_t key, struct ctt_order *p);

/* ---- load.c ---- */

/* Changes that a model should not mind; key 0: none. */
struct ctt_augment {
    int      jitter, flip;
    float    brightness, contrast;
    uint64_t key;
};

struct ctt_batch {
    const float *x;         /* [steps][n][h, w, c] */
    int          steps, n;
    const int   *clip;      /* [n] of the data, -1: empty */
    const int   *length;    /* [n] frames, 0: empty or could not be read */
    const char  *bad;       /* what could not be read, or NULL */
};

struct ctt_loader;

/* Batches of n clips of at most room frames. */
int  ctt_loader_open(struct ctt_data *d, int n, int room,
                     struct ctt_loader **out);
void ctt_loader_close(struct ctt_loader **l);

/* The frames go to this device, which may lock their memory (memory.h) until
 * the loader is closed: a batch is then done with only after a call that waits
 * for the device. */
int  ctt_loader_pin(struct ctt_loader *l, struct ctt_dev *dev);

/* Begins to load the batches of a plan from `first`.  The plan must stay. */
void ctt_loader_start(struct ctt_loader *l, const struct ctt_order *p,
                      const struct ctt_augment *a, int first);

/* 1 and the next batch, valid until ctt_loader_done(); 0 after the last.
 * seconds: time spent waiting is added. */
int  ctt_loader_next(struct ctt_loader *l, struct ctt_batch *b,
                     double *seconds);
void ctt_loader_done(struct ctt_loader *l);

/* 1 and the batch behind the one at hand, if it is ready: its frames only, and
 * ctt_loader_next() still is to come. */
int  ctt_loader_peek(struct ctt_loader *l, struct ctt_batch *b);

#endif
