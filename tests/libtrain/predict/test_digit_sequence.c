/* SPDX-License-Identifier: Apache-2.0
 * test_digit_sequence.c: the sequences of moving digits that prediction is
 * trained on, drawn on the fly. */
#include "base/random.h"
#include "tests/lib/sequence.h"

enum { IMAGE = 28 * 28, IMAGES = 300 };

static void make_digits(void)
{
    static uint8_t idx[16 + IMAGES * IMAGE] = { 0, 0, 8, 3, 0, 0, IMAGES >> 8,
        IMAGES & 255, 0, 0, 0, 28, 0, 0, 0, 28 };

    for (int i = 0; i < IMAGES * IMAGE; i++)
        idx[16 + i] = (uint8_t)(ctt_random(1, (uint64_t)i) % 3 * 100);
    clip_folder("digits");
    clip_file("digits/train-images-idx3-ubyte", idx, sizeof(idx));
}

static struct ctt_mnist *digits;    /* parameters of the expected frames */

struct digits { uint64_t seed; int64_t first; int count; double sum; };

static void see_digits(struct ctt_data *d, const struct ctt_batch *b,
                       void *arg)
{
    static uint8_t want[STEPS * 64 * 64];
    static float frame[64 * 64];
    struct digits *s = arg;
    struct ctt_pixels p;

    (void)d;
    ctt_pixels_begin(&p, &grey);
    for (int j = 0; j < BATCH; j++) {
        int64_t i = s->first + b->clip[j];

        if (b->clip[j] < 0)
            continue;
        CHECK_OK(ctt_mnist_draw(digits, s->seed, i, 2, STEPS, want));
        for (int t = 0; t < STEPS; t++) {
            const float *x = b->x + (int64_t)(t * BATCH + j) * 64 * 64;
            ctt_frame_float(want + t * 64 * 64, &p, 0, 0, 0, frame);
            CU_ASSERT(memcmp(x, frame, sizeof(frame)) == 0);
        }
        for (int k = 0; k < 64 * 64; k++)
            s->sum += (double)frame[k] * (1 + k % 7 + b->clip[j]);
        s->count++;
    }
}

/* In training each key has its own sequences; tests have the same for any
 * --seed; neither depends on the number of threads. */
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

/* The number of sequences depends on --data and --split. */
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

static void allocations_fail(void)
{
    char path[300];

    snprintf(path, sizeof(path), "mnist:%s", clip_path("digits"));
    check_allocations(path, &grey);
}

static int start(void)
{
    make_digits();
    return ctt_mnist_open(clip_path("digits"), &digits);
}

static int clean(void)
{
    ctt_mnist_close(&digits);
    clip_clean();
    return 0;
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "digits on the fly", digits_on_the_fly },
        { "digits by purpose", digits_by_purpose },
        { "digits refused", digits_refused },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = {
        { "digit_sequences", start, clean, NULL, NULL, tests },
        CU_SUITE_INFO_NULL
    };

    return ctt_check_main(suites);
}
