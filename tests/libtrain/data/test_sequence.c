/* SPDX-License-Identifier: Apache-2.0
 * test_sequence.c: the sequences for training prediction, cut out of clips of
 * any kind. */
#include "tests/lib/sequence.h"

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

static int pixel(const struct ctt_batch *b, int t, int j, int k)
{
    float x = b->x[((t * BATCH + j) * SIDE * SIDE) + k] * 255;

    return (int)(x + 0.5f);
}

struct seen {
    int sequences, start[5][64];    /* [clip][first frame]: how often */
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
    refuse(clip_path("a.h5"), "train", &small, &cfg, CTT_EUNSUP,
           "none of its 5 clips has a class");
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

/* ---- memory ---- */

static void allocations_fail(void)
{
    check_allocations(clip_path("a.h5"), &small);
}

static int start(void)
{
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
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "sequences", start, clean, NULL, NULL, tests }, CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
