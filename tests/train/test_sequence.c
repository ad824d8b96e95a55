/* SPDX-License-Identifier: Apache-2.0
 * test_sequence.c: the sequences that prediction is trained on: cut out of
 * clips of any kind, or drawn of digits. */
#include "libtrain/data/data.h"
#include "tests/lib/check.h"
#include "tests/lib/clip.h"

#include <stdio.h>
#include <string.h>

enum { SIDE = 8, STEPS = 20, BATCH = 4, IMAGE = 28 * 28, IMAGES = 300 };

static const struct ctt_input small = { 1, SIDE, SIDE, 1, 0, { 0 },
    { 1, 1, 1 }, 1, CTT_FIT_CROP, CTT_GRAY };
static const struct ctt_input grey = { 1, 64, 64, 1, 0, { 0.1f },
    { 0.3f, 1, 1 }, 1, CTT_FIT_CROP, CTT_GRAY };

static struct ctt_train_cfg predict_cfg(void)
{
    return (struct ctt_train_cfg){ .task = CTT_PREDICT, .input_frames = 12,
        .future_frames = 8, .workers = 2, .cache = 16, .min_frames = 2,
        .sequences = 10, .val_sequences = 7, .digits = 2, .seed = 9 };
}

/* ---- clips in a pack ---- */

/* Frame t of clip i is grey i * 64 + t. */
static const int lengths[] = { 45, 20, 19, 7, 61 };

static int make_pack(const char *path)
{
    struct ctt_frames f = { NULL, 0, SIDE, SIDE, 1, 25 };
    struct ctt_pack *p = NULL;
    char id[16];
    int rc = 0;

    f.data = ctt_calloc(64, SIDE * SIDE);
    CTT_TRY(f.data ? 0 : CTT_ENOMEM);
    CTT_TRY(ctt_pack_create(path, &small, NULL, 0, &p));
    for (int i = 0; i < (int)CTT_LEN(lengths); i++) {
        f.count = lengths[i];
        for (int t = 0; t < f.count; t++)
            memset(f.data + t * SIDE * SIDE, (i * 64 + t) % 256, SIDE * SIDE);
        snprintf(id, sizeof(id), "clip%d", i);
        CTT_TRY(ctt_pack_add(p, id, -1, &f));
    }
    CTT_TRY(ctt_pack_finish(&p));
out:
    ctt_pack_close(&p);
    ctt_free(f.data);
    return rc;
}

static int told;
static char last_told[256];

static void on_clip(void *arg, const char *what)
{
    (void)arg;
    told++;
    snprintf(last_told, sizeof(last_told), "%s", what);
}

static const struct ctt_events events = { .clip = on_clip };

static struct ctt_data *open_data(const char *path, const char *split,
                                  const struct ctt_input *in,
                                  const struct ctt_train_cfg *cfg)
{
    struct ctt_data *d = NULL;

    CHECK_OK(ctt_data_open(path, split, in, NULL, 0, cfg, &events, &d));
    return d;
}

/* Calls see for each batch of an epoch. */
static void each_batch(struct ctt_data *d, uint64_t key,
                       void (*see)(struct ctt_data *d,
                                   const struct ctt_batch *b, void *arg),
                       void *arg)
{
    const struct ctt_augment a = { .key = key };
    struct ctt_loader *l = NULL;
    struct ctt_order *p = NULL;
    struct ctt_buckets buckets;
    struct ctt_batch b;
    double wait = 0;
    int rc;

    CHECK_OK(ctt_buckets_find(d, BATCH, "auto", &buckets));
    CU_ASSERT(buckets.count == 1 && buckets.bound[0] == STEPS);
    CHECK_OK(ctt_order_new(d, BATCH, &p));
    ctt_order_make(d, &buckets, key != 0, key, p);
    CHECK_OK(ctt_loader_open(d, BATCH, d->longest, &l));
    ctt_loader_start(l, p, &a, 0);
    while ((rc = ctt_loader_next(l, &b, &wait)) > 0) {
        CU_ASSERT(b.steps == STEPS && b.n == BATCH && !b.bad);
        for (int j = 0; j < BATCH; j++) {
            CU_ASSERT_EQUAL(b.length[j], b.clip[j] < 0 ? 0 : STEPS);
            CU_ASSERT(key == 0 || b.clip[j] >= 0);
        }
        see(d, &b, arg);
        ctt_loader_done(l);
    }
    CHECK_OK(rc);
    ctt_loader_close(&l);
    ctt_order_free(&p);
}

static int pixel(const struct ctt_batch *b, int t, int j, int k)
{
    float x = b->x[((t * BATCH + j) * SIDE * SIDE) + k] * 255;

    return (int)(x + 0.5f);
}

struct seen {
    int sequences, start[5][64];    /* how often each clip began where */
    int fixed;                      /* as in tests */
};

static void see_clips(struct ctt_data *d, const struct ctt_batch *b, void *arg)
{
    struct seen *s = arg;

    for (int j = 0; j < BATCH; j++) {
        const struct ctt_clip *c = b->clip[j] < 0 ? NULL
                                                  : &d->clip[b->clip[j]];
        int start = c ? (pixel(b, 0, j, 0) - c->item * 64 + 256) % 256 : 0;
        int wrong = 0;

        if (!c)
            continue;
        CU_ASSERT_FATAL(start >= 0 && start + STEPS <= lengths[c->item]);
        for (int t = 0; t < STEPS; t++)
            for (int k = 0; k < SIDE * SIDE; k++)
                wrong += pixel(b, t, j, k) !=
                         (c->item * 64 + start + t) % 256;
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT(!s->fixed || start == c->part * STEPS);
        CU_ASSERT(c->label == -1);
        s->start[c->item][start]++;
        s->sequences++;
    }
}

static int starts(const struct seen *s, int clip)
{
    int n = 0;

    for (int k = 0; k < 64; k++)
        n += s->start[clip][k] > 0;
    return n;
}

static void clips_are_cut(void)
{
    struct ctt_train_cfg cfg = predict_cfg();
    struct seen test = { .fixed = 1 }, first = { 0 }, again = { 0 };
    struct seen many = { 0 };
    struct ctt_data *d;

    for (int cache = 0; cache <= 16; cache += 16) {
        cfg.cache = cache;
        told = 0;
        d = open_data(clip_path("a.h5"), "train", &small, &cfg);
        CU_ASSERT_EQUAL(ctt_data_clips(d), 2 + 1 + 3);
        CU_ASSERT(ctt_data_skipped(d) == 2 && told == 2);
        CU_ASSERT_STRING_EQUAL(last_told,
                               "clip3: has 7 frames, 20 are needed");
        CU_ASSERT_EQUAL(d->longest, STEPS);
        memset(&test.sequences, 0, sizeof(int));
        each_batch(d, 0, see_clips, &test);
        CU_ASSERT_EQUAL(test.sequences, 6);
        cfg.workers = cache ? 1 : 5;
        memset(&again, 0, sizeof(again));
        each_batch(d, 77, see_clips, cache ? &first : &again);
        if (cache)
            each_batch(d, 77, see_clips, &again);
        for (uint64_t key = 1; key < 150; key++)
            each_batch(d, key, see_clips, &many);
        ctt_data_close(&d);
    }
    CU_ASSERT(memcmp(&first, &again, sizeof(first)) == 0);
    CU_ASSERT_EQUAL(first.sequences, 8);    /* the last batch is filled */
    CU_ASSERT_EQUAL(starts(&many, 0), 45 - STEPS + 1);
    CU_ASSERT_EQUAL(starts(&many, 1), 1);
    CU_ASSERT_EQUAL(starts(&many, 4), 61 - STEPS + 1);
}

static void refuse(const char *path, const char *split,
                   const struct ctt_input *in,
                   const struct ctt_train_cfg *cfg, int code, const char *says)
{
    struct ctt_data *d = NULL;
    int rc = ctt_data_open(path, split, in, NULL, 0, cfg, &events, &d);

    CU_ASSERT_EQUAL(rc, code);
    CU_ASSERT_PTR_NULL(d);
    if (rc >= 0 || !strstr(ctt_errmsg(), says)) {
        printf("\n    '%s' does not say '%s'",
               rc < 0 ? ctt_errmsg() : "success", says);
        CU_FAIL("message");
    }
}

static void clips_too_short(void)
{
    struct ctt_train_cfg cfg = predict_cfg();
    struct ctt_input other = small;

    other.w = 16;
    refuse(clip_path("a.h5"), "train", &other, &cfg, CTT_EINVAL,
           "packed as 8x8x1, the model wants 16x8x1");
    other = small;
    other.fit = CTT_FIT_STRETCH;
    refuse(clip_path("a.h5"), "train", &other, &cfg, CTT_EINVAL,
           "packed with fit=crop, the model wants fit=stretch");
    other = small;
    other.fps = 12;
    refuse(clip_path("a.h5"), "train", &other, &cfg, CTT_EINVAL,
           "packed at 0 frames a second, the model wants 12");
    cfg.strict = 1;
    refuse(clip_path("a.h5"), "train", &small, &cfg, CTT_EFORMAT,
           "frames, 20 are needed");
    cfg.strict = 0;
    cfg.future_frames = 50;
    refuse(clip_path("a.h5"), "train", &small, &cfg, CTT_EFORMAT,
           "no usable clip in 5");
    cfg.future_frames = 8;
    cfg.max_frames = 15;
    refuse(clip_path("a.h5"), "train", &small, &cfg, CTT_EFORMAT,
           "no usable clip in 5");
    cfg = predict_cfg();
    cfg.task = CTT_RECOGNISE;
    refuse(clip_path("a.h5"), "train", &small, &cfg, CTT_EFORMAT,
           "no usable clip in 5");    /* none has a class */
}

/* ---- videos ---- */

static unsigned draw(int i, int x, int y)
{
    (void)x;
    (void)y;
    return (unsigned)i * 4 * 0x010101;
}

static void see_video(struct ctt_data *d, const struct ctt_batch *b, void *arg)
{
    (void)d;
    for (int j = 0; j < BATCH; j++) {
        if (b->clip[j] < 0)
            continue;
        for (int t = 1; t < STEPS; t++) {
            int step = pixel(b, t, j, 9) - pixel(b, t - 1, j, 9);
            CU_ASSERT(step >= 3 && step <= 6);
        }
        ++*(int *)arg;
    }
}

/* Videos in a folder and in lists, with labels or without. */
static void any_videos(void)
{
    struct clip clip = { .w = 16, .h = 16, .codec = "ffv1", .fps = 10,
                         .frames = 45, .draw = draw };
    struct ctt_train_cfg cfg = predict_cfg();
    struct ctt_data *d, *val = NULL;
    int seen = 0;

    if (!clip_can(clip.codec)) {
        printf("(no encoder) ");
        return;
    }
    clip_folder("v");
    CU_ASSERT_EQUAL_FATAL(clip_write(&clip, clip_path("v/a.mkv")), 0);
    clip.frames = 12;
    CU_ASSERT_EQUAL_FATAL(clip_write(&clip, clip_path("v/b.mkv")), 0);
    clip_text("v.txt", "v/a.mkv 0\nv/a.mkv 5\nv/b.mkv 1\n");
    cfg.cache = 0;
    d = open_data(clip_path("v"), "train", &small, &cfg);
    CU_ASSERT(ctt_data_clips(d) == 2 && ctt_data_skipped(d) == 1);
    CU_ASSERT(strstr(last_told, "b.mkv: has 12 frames, 20 are needed") !=
              NULL);
    each_batch(d, 0, see_video, &seen);
    CU_ASSERT_EQUAL(seen, 2);
    each_batch(d, 5, see_video, &seen);
    CU_ASSERT_EQUAL(seen, 2 + BATCH);
    CHECK_OK(ctt_data_open(clip_path("v"), "validation", &small, NULL, 0, &cfg,
                           NULL, &val));
    CU_ASSERT(ctt_data_same(d, val));
    ctt_data_close(&val);
    ctt_data_close(&d);
    d = open_data(clip_path("v.txt"), "train", &small, &cfg);
    CU_ASSERT_EQUAL(ctt_data_clips(d), 4);
    ctt_data_close(&d);
    cfg.strict = 1;
    refuse(clip_path("v"), "train", &small, &cfg, CTT_EFORMAT,
           "b.mkv: has 12 frames, 20 are needed");
}

/* ---- digits ---- */

static void make_digits(void)
{
    static uint8_t idx[16 + IMAGES * IMAGE] = { 0, 0, 8, 3, 0, 0, IMAGES >> 8,
        IMAGES & 255, 0, 0, 0, 28, 0, 0, 0, 28 };

    for (int i = 0; i < IMAGES * IMAGE; i++)
        idx[16 + i] = (uint8_t)(ctt_random(1, (uint64_t)i) % 3 * 100);
    clip_folder("digits");
    clip_file("digits/train-images-idx3-ubyte", idx, sizeof(idx));
}

struct digits { uint64_t seed; int64_t first; int count; double sum; };

static void see_digits(struct ctt_data *d, const struct ctt_batch *b,
                       void *arg)
{
    static uint8_t want[STEPS * 64 * 64];
    static float frame[64 * 64];
    struct digits *s = arg;

    for (int j = 0; j < BATCH; j++) {
        int64_t i = s->first + b->clip[j];

        if (b->clip[j] < 0)
            continue;
        CHECK_OK(ctt_mnist_draw(d->mnist, s->seed, i, 2, STEPS, want));
        for (int t = 0; t < STEPS; t++) {
            const float *x = b->x + (int64_t)(t * BATCH + j) * 64 * 64;
            ctt_frame_float(want + t * 64 * 64, &grey, 0, 0, 0, frame);
            CU_ASSERT(memcmp(x, frame, sizeof(frame)) == 0);
        }
        for (int k = 0; k < 64 * 64; k++)
            s->sum += (double)frame[k] * (1 + k % 7 + b->clip[j]);
        s->count++;
    }
}

/* In training each key has sequences of its own; tests have the same for any
 * seed of the training; neither depends on the threads. */
static void digits_on_the_fly(void)
{
    struct ctt_train_cfg cfg = predict_cfg();
    struct digits a = { 77, 0, 0, 0 }, b = { 78, 0, 0, 0 }, c = a;
    struct digits v = { 1, 0, 0, 0 };
    struct ctt_data *d, *val, *test;
    char path[300];
    int labels;

    snprintf(path, sizeof(path), "mnist:%s", clip_path("digits"));
    d = open_data(path, "train", &grey, &cfg);
    CU_ASSERT_EQUAL(ctt_data_clips(d), 10);
    CU_ASSERT_EQUAL(ctt_data_skipped(d), 0);
    ctt_data_labels(d, &labels);
    CU_ASSERT_EQUAL(labels, 0);
    each_batch(d, 77, see_digits, &a);
    each_batch(d, 78, see_digits, &b);
    CU_ASSERT(a.count == 12 && b.count == 12 && a.sum != b.sum);
    cfg.workers = 5;
    cfg.seed = 10;
    val = open_data(path, "validation", &grey, &cfg);
    test = open_data(path, "test", &grey, &cfg);
    CU_ASSERT_EQUAL(ctt_data_clips(val), 7);
    CU_ASSERT(!ctt_data_same(d, val) && !ctt_data_same(val, test));
    CU_ASSERT(ctt_data_same(val, val));
    CHECK_OK(ctt_mnist_first("validation", &v.first));
    each_batch(val, 0, see_digits, &v);
    CU_ASSERT_EQUAL(v.count, 7);
    CHECK_OK(ctt_mnist_first("test", &v.first));
    each_batch(test, 0, see_digits, &v);
    CU_ASSERT_EQUAL(v.count, 14);
    ctt_data_close(&val);
    ctt_data_close(&test);
    ctt_data_close(&d);
    d = open_data(path, "train", &grey, &cfg);
    each_batch(d, 77, see_digits, &c);
    CU_ASSERT(c.sum == a.sum);
    ctt_data_close(&d);
}

/* How many there are is up to what they are for, whatever the split. */
static void digits_by_purpose(void)
{
    struct ctt_train_cfg cfg = predict_cfg();
    struct ctt_data *d;
    char path[300];

    snprintf(path, sizeof(path), "mnist:%s", clip_path("digits"));
    cfg.split = "test";
    d = open_data(path, "test", &grey, &cfg);
    CU_ASSERT_EQUAL(ctt_data_clips(d), 10);
    ctt_data_close(&d);
    d = open_data(path, "train", &grey, &cfg);
    CU_ASSERT_EQUAL(ctt_data_clips(d), 7);
    ctt_data_close(&d);
    cfg.split = "train";
    cfg.data = "mnist:elsewhere";
    d = open_data(path, "train", &grey, &cfg);
    CU_ASSERT_EQUAL(ctt_data_clips(d), 7);
    ctt_data_close(&d);
}

static void digits_refused(void)
{
    struct ctt_train_cfg cfg = predict_cfg();
    struct ctt_input in = grey;
    char path[300];

    snprintf(path, sizeof(path), "mnist:%s", clip_path("digits"));
    in.w = in.h = 128;
    refuse(path, "train", &in, &cfg, CTT_EINVAL,
           "makes frames of 64x64x1, the model wants 128x128x1");
    in = grey;
    in.c = 3;
    refuse(path, "train", &in, &cfg, CTT_EINVAL, "the model wants 64x64x3");
    in = grey;
    refuse(path, "other", &in, &cfg, CTT_EINVAL, "no split 'other'");
    refuse("mnist:/none", "train", &in, &cfg, CTT_EIO, "/none: no such file");
    cfg.classes = "some";
    refuse(path, "train", &in, &cfg, CTT_EINVAL, "has no classes");
    cfg = predict_cfg();
    cfg.task = CTT_RECOGNISE;
    refuse(path, "train", &in, &cfg, CTT_EINVAL, "it is for --task=predict");
}

/* ---- memory ---- */

static int use(const char *path, const struct ctt_input *in)
{
    struct ctt_train_cfg cfg = predict_cfg();
    const struct ctt_augment a = { .key = 3 };
    struct ctt_data *d = NULL;
    struct ctt_loader *l = NULL;
    struct ctt_order *p = NULL;
    struct ctt_buckets b;
    struct ctt_batch batch;
    double wait = 0;
    int rc;

    cfg.cache = 0;
    CTT_TRY(ctt_data_open(path, "train", in, NULL, 0, &cfg, NULL, &d));
    CTT_TRY(ctt_buckets_find(d, BATCH, "auto", &b));
    CTT_TRY(ctt_order_new(d, BATCH, &p));
    ctt_order_make(d, &b, 1, 1, p);
    CTT_TRY(ctt_loader_open(d, BATCH, d->longest, &l));
    ctt_loader_start(l, p, &a, 0);
    while ((rc = ctt_loader_next(l, &batch, &wait)) > 0)
        ctt_loader_done(l);
out:
    ctt_loader_close(&l);
    ctt_order_free(&p);
    ctt_data_close(&d);
    return rc;
}

static void allocations_fail(void)
{
    char path[2][300];

    snprintf(path[0], sizeof(path[0]), "%s", clip_path("a.h5"));
    snprintf(path[1], sizeof(path[1]), "mnist:%s", clip_path("digits"));
    for (int i = 0; i < 2; i++) {
        long live = ctt_live_blocks(), k = 1;
        int rc = -1;

        for (; rc < 0 && k < 1000; k++) {
            ctt_fail_alloc(k);
            rc = use(path[i], i ? &grey : &small);
            ctt_fail_alloc(0);
            CU_ASSERT(rc <= 0);
            CU_ASSERT_EQUAL(ctt_live_blocks(), live);
        }
        CU_ASSERT(rc == 0 && k > 20);
    }
}

static int start(void)
{
    make_digits();
    return make_pack(clip_path("a.h5"));
}

static int clean(void)
{
    clip_clean();
    return 0;
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "clips are cut", clips_are_cut },
        { "clips too short", clips_too_short },
        { "any videos", any_videos },
        { "digits on the fly", digits_on_the_fly },
        { "digits by purpose", digits_by_purpose },
        { "digits refused", digits_refused },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "sequences", start, clean, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
