/* SPDX-License-Identifier: Apache-2.0
 * test_load.c: the threads that load clips: whole batches and changed pictures.
 */
#include "libtrain/chance.h"
#include "tests/lib/allocs.h"
#include "tests/lib/lights.h"
#include "tests/lib/reader.h"
#include "tests/lib/toy.h"

#include <math.h>

static struct ctt_data *open_toy(const char *path,
                                 const struct ctt_train_cfg *cfg)
{
    struct ctt_input in = clip_input();
    struct ctt_data *d = NULL;

    CHECK_OK(ctt_data_open(path, "train", &in, NULL, 0, cfg, NULL, &d));
    return d;
}

/* ---- loading ---- */

/* A sum over every float of every batch, in order. */
static double all_batches(struct ctt_data *d, const struct ctt_augment *a,
                          int first, int *batches)
{
    struct ctt_batch batch;
    struct reader r;
    double sum = 0;
    int rc, frame = d->in.h * d->in.w * d->in.c;

    CHECK_OK(reader_open(&r, d, 4, "2", 7));
    *batches = 0;
    reader_start(&r, a, first);
    while ((rc = reader_next(&r, &batch)) > 0) {
        for (int i = 0; i < batch.steps * batch.n * frame; i++)
            sum = sum * 0.999 + (double)batch.x[i] * (1 + i % 7);
        for (int j = 0; j < batch.n; j++)
            CU_ASSERT_EQUAL(batch.length[j], d->clip[batch.clip[j]].length);
        ++*batches;
        ctt_loader_done(r.loader);
    }
    CHECK_OK(rc);
    CU_ASSERT(r.wait >= 0);
    reader_close(&r);
    return sum;
}

static void batches_do_not_depend_on_workers(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    const struct ctt_augment a = { .jitter = 1, .flip = 1, .brightness = 0.2f,
        .contrast = 0.2f, .key = 99 }, none = { 0 };
    struct ctt_augment other = a;
    double sum[4] = { 0 };
    int n, half;

    other.key = 98;
    CHECK_OK(clips_pack(clip_path("toy.pack"), 0, 30));
    for (int k = 0; k < 3; k++) {
        struct ctt_data *d;
        cfg.workers = k == 1 ? 5 : 1;
        cfg.cache = k == 2 ? 0 : 64;
        d = open_toy(clip_path("toy.pack"), &cfg);
        CU_ASSERT_EQUAL(ctt_data_clips(d), 30);
        sum[k] = all_batches(d, &a, 0, &n);
        CU_ASSERT_EQUAL(n, 8);
        all_batches(d, &a, 3, &half);
        CU_ASSERT_EQUAL(half, 5);
        CU_ASSERT(all_batches(d, &other, 0, &n) != sum[k]);
        CU_ASSERT(all_batches(d, &none, 0, &n) != sum[k]);
        ctt_data_close(&d);
    }
    CU_ASSERT(sum[0] == sum[1] && sum[0] == sum[2]);
}

/* A block of n bytes where the limit leaves none but those of caches. */
static void *block_instead_of_cache(int64_t n)
{
    void *p;

    CHECK_OK(ctt_limits_set(&(struct ctt_limits){
        .memory = ctt_memory_used() }));
    p = ctt_calloc((size_t)n, 1);
    CHECK_OK(ctt_limits_set(&(struct ctt_limits){ .memory = 0 }));
    return p;
}

/* Frames in memory go when their memory is needed, but not those that are read
 * just now, nor for a block that does not fit anyway; then they are decoded. */
static void frames_in_memory_give_way(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    const struct ctt_augment a = { .jitter = 1, .flip = 1, .brightness = 0.2f,
                                   .contrast = 0.2f, .key = 99 };
    struct ctt_data *d = open_toy(clip_path("toy.pack"), &cfg);
    int64_t held = ctt_cache_held(), some;
    struct ctt_frames f;
    int n, own = 1;
    double sum = all_batches(d, &a, 0, &n);
    uint8_t first;
    void *p;

    CU_ASSERT(held > 30 * CLIP_SIZE * CLIP_SIZE);
    CU_ASSERT(block_instead_of_cache(held + 4096) == NULL);
    CU_ASSERT_EQUAL(ctt_cache_held(), held);
    p = block_instead_of_cache(held / 2);
    some = ctt_cache_held();
    CU_ASSERT(p != NULL && some > 0 && some <= held - held / 2);
    ctt_free(p);
    CU_ASSERT(all_batches(d, &a, 0, &n) == sum);
    CHECK_OK(ctt_data_frames(d, 0, 0, &f, &own));
    CU_ASSERT_FATAL(!own);
    first = f.data[0];
    CU_ASSERT(block_instead_of_cache(some - 64) == NULL);
    CU_ASSERT(ctt_cache_held() == (int64_t)f.count * f.w * f.h * f.c);
    CU_ASSERT_EQUAL(f.data[0], first);
    ctt_data_done(d, 0, &f, own);
    p = block_instead_of_cache(ctt_cache_held() - 64);
    CU_ASSERT(p != NULL && ctt_cache_held() == 0);
    ctt_free(p);
    CU_ASSERT(all_batches(d, &a, 0, &n) == sum);
    ctt_data_close(&d);
}

/* Without augmentation a frame is the centre of the stored one; padding repeats
 * the last frame. */
static void frames_are_cut_and_padded(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    const struct ctt_augment none = { 0 };
    struct ctt_data *d = open_toy(clip_path("toy.pack"), &cfg);
    struct ctt_batch batch;
    struct reader r;
    uint8_t stored[CLIP_SIZE * CLIP_SIZE * 3];
    float want[10 * 10 * 3];
    struct ctt_pixels p;

    ctt_pixels_begin(&p, &d->in);
    CHECK_OK(reader_open(&r, d, 4, "1", 0));
    reader_start(&r, &none, 0);
    CU_ASSERT_EQUAL_FATAL(reader_next(&r, &batch), 1);
    for (int j = 0; j < 4; j++)
        for (int t = 0; t < batch.steps; t++) {
            int i = batch.clip[j], last = batch.length[j] - 1;
            clip_draw(i, t < last ? t : last, stored);
            ctt_frame_float(stored, &p, 1, 1, 0, want);
            CHECK_CLOSE(batch.x + (t * 4 + j) * 300, want, 300, 0);
        }
    reader_close(&r);
    ctt_data_close(&d);
}

/* With normalise=clip a clip's frames are normalised in order, as a stream of
 * them, from the part that is cut out, whatever the mirror; contrast and
 * brightness change what is normalised so, and do not cancel. */
static void clips_are_normalised_as_streams(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_input in = clip_input();
    struct ctt_data *d = NULL;
    struct ctt_batch batch;
    struct reader r;
    uint8_t stored[CLIP_SIZE * CLIP_SIZE * 3];
    float want[300];

    for (int k = 0; k < 3; k++) {
        in.mean[k] = 0;
        in.std[k] = 1;
    }
    in.normalise = CTT_NORMALISE_CLIP;
    in.gamma = 0.8f;
    CHECK_OK(ctt_data_open(clip_path("toy.pack"), "train", &in, NULL, 0, &cfg,
                           NULL, &d));
    CHECK_OK(reader_open(&r, d, 4, "1", 0));
    for (uint64_t seed = 0; seed < 3; seed++) {
        const struct ctt_augment a = { .flip = 1, .key = seed,
            .brightness = 0.4f * (float)(seed / 2),
            .contrast = 0.3f * (float)(seed / 2) };

        reader_start(&r, &a, 0);
        CU_ASSERT_EQUAL_FATAL(reader_next(&r, &batch), 1);
        for (int j = 0; j < 4; j++) {
            uint64_t key = ctt_key(seed, (uint64_t)batch.clip[j]);
            int flip = seed && ctt_uniform(key, 2) < 0.5f;
            float gain = 1 + 0.3f * (2 * ctt_uniform(key, 3) - 1);
            float first = 0, span = 0;
            struct ctt_pixels p;

            ctt_pixels_begin(&p, &in);
            for (int t = 0; t < batch.length[j]; t++) {
                const float *x = batch.x + (t * 4 + j) * 300;
                clip_draw(batch.clip[j], t, stored);
                ctt_frame_next(&p, stored, 1, 1);
                ctt_frame_float(stored, &p, 1, 1, flip, want);
                if (seed < 2) {
                    CHECK_CLOSE(x, want, 300, 0);
                    continue;
                }
                for (int i = 1; i < 300; i++)    /* all of one gain */
                    if (fabsf(want[i] - want[0]) > fabsf(span)) {
                        span = want[i] - want[0];
                        first = x[i] - x[0];
                    }
                CU_ASSERT_DOUBLE_EQUAL((double)first, (double)(gain * span),
                                       1e-4);
            }
        }
    }
    reader_close(&r);
    ctt_data_close(&d);
}

/* ---- colours ---- */

/* Contrast spreads a clip's values about their own mean, brightness moves them
 * in units of their own deviation, whatever light it was taken in: the test
 * would fail for a factor about mid-grey, which moves a dark clip by several of
 * its deviations, and for values clipped to 0..1. */
static void colours_follow_the_light_of_the_clip(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    const struct ctt_augment none = { 0 };
    struct ctt_batch batch;
    struct ctt_data *d;
    struct reader r;
    double mean[3], dev[3], beyond = 0;

    pack_lights(clip_path("light.pack"));
    d = open_toy(clip_path("light.pack"), &cfg);
    CHECK_OK(reader_open(&r, d, 3, "1", 0));
    reader_start(&r, &none, 0);
    CU_ASSERT_EQUAL_FATAL(reader_next(&r, &batch), 1);
    for (int j = 0; j < 3; j++)
        light(&batch, j, &mean[j], &dev[j]);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const struct ctt_augment a = { .brightness = 1.5f, .contrast = 0.8f,
                                       .key = seed };

        reader_start(&r, &a, 0);
        CU_ASSERT_EQUAL_FATAL(reader_next(&r, &batch), 1);
        for (int j = 0; j < 3; j++) {
            uint64_t key = ctt_key(seed, (uint64_t)batch.clip[j]);
            double gain = 1 + 0.8 * (2 * (double)ctt_uniform(key, 3) - 1);
            double shift = 1.5 * (2 * (double)ctt_uniform(key, 4) - 1), m, s;

            light(&batch, j, &m, &s);
            CU_ASSERT_DOUBLE_EQUAL(m, mean[j] + shift * dev[j], 1e-5);
            CU_ASSERT_DOUBLE_EQUAL(s, gain * dev[j], 1e-5);
            beyond = fmax(beyond, fmax(-m + 2 * s, m + 2 * s - 1));
        }
    }
    CU_ASSERT(beyond > 0.01);    /* values beyond 0..1 did occur */
    reader_close(&r);
    ctt_data_close(&d);
}

/* A power between the darkest and the brightest value bends the values between
 * them, keeps their order, and keeps mean and deviation, in any light. */
static void gamma_bends_within_the_light_of_the_clip(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    const struct ctt_augment none = { 0 };
    static float plain[6 * 3 * 300];
    struct ctt_batch batch;
    struct ctt_data *d;
    struct reader r;
    int bent = 0;

    pack_lights(clip_path("light.pack"));
    d = open_toy(clip_path("light.pack"), &cfg);
    CHECK_OK(reader_open(&r, d, 3, "1", 0));
    reader_start(&r, &none, 0);
    CU_ASSERT_EQUAL_FATAL(reader_next(&r, &batch), 1);
    memcpy(plain, batch.x, sizeof(plain));
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const struct ctt_augment a = { .random_gamma = 1.5f, .key = seed };
        double mean[2], dev[2];

        for (int j = 0; j < 3; j++) {
            struct ctt_batch was = batch;

            reader_start(&r, &a, 0);
            CU_ASSERT_EQUAL_FATAL(reader_next(&r, &batch), 1);
            was.x = plain;
            light(&was, j, &mean[0], &dev[0]);
            light(&batch, j, &mean[1], &dev[1]);
            CU_ASSERT_DOUBLE_EQUAL(mean[1], mean[0], 1e-5);
            CU_ASSERT_DOUBLE_EQUAL(dev[1], dev[0], 1e-5);
            for (int k = 1; k < 300; k++) {
                const float *x = plain + j * 300, *y = batch.x + j * 300;
                CU_ASSERT((x[k] < x[k - 1]) == (y[k] < y[k - 1]));
                bent += fabsf(x[k] - y[k]) > 0.005f;
            }
        }
    }
    CU_ASSERT(bent > 1000);
    reader_close(&r);
    ctt_data_close(&d);
}

/* The mean and deviation are those of the part that is seen, and nothing is
 * rounded on the way. */
static void colours_change_the_picture(void)
{
    struct ctt_train_cfg cfg = clip_cfg();
    const struct ctt_augment a = { .brightness = 0.4f, .contrast = 0.3f,
                                   .key = 5 }, none = { 0 };
    struct ctt_data *d = open_toy(clip_path("toy.pack"), &cfg);
    static float plain[12 * 4 * 300];
    struct ctt_batch batch;
    struct reader r;
    double mean[4], dev[4];

    CHECK_OK(reader_open(&r, d, 4, "1", 0));
    reader_start(&r, &none, 0);
    CU_ASSERT_EQUAL_FATAL(reader_next(&r, &batch), 1);
    for (int j = 0; j < 4; j++)
        light(&batch, j, &mean[j], &dev[j]);
    memcpy(plain, batch.x, (size_t)batch.steps * 1200 * sizeof(float));
    reader_start(&r, &a, 0);
    CU_ASSERT_EQUAL_FATAL(reader_next(&r, &batch), 1);
    for (int j = 0; j < 4; j++) {
        uint64_t key = ctt_key(5, (uint64_t)batch.clip[j]);
        double gain = 1 + 0.3 * (2 * (double)ctt_uniform(key, 3) - 1);
        double shift = 0.4 * (2 * (double)ctt_uniform(key, 4) - 1);
        for (int t = 0; t < batch.steps; t++) {
            const float *was = plain + (t * 4 + j) * 300;
            float want[300];
            for (int k = 0; k < 300; k++) {
                double p = 0.3 * (double)was[k] + 0.2;
                p = gain * (p - mean[j]) + mean[j] + shift * dev[j];
                want[k] = (float)((p - 0.2) / 0.3);
            }
            CHECK_CLOSE(batch.x + (t * 4 + j) * 300, want, 300, 1e-5);
        }
    }
    reader_close(&r);
    ctt_data_close(&d);
}

/* ---- memory ---- */

static int open_everything(void *arg)
{
    struct ctt_train_cfg cfg = clip_cfg();
    const struct ctt_augment none = { 0 };
    struct ctt_input in = clip_input();
    struct ctt_data *d = NULL;
    struct reader r = { .order = NULL };
    int rc;

    (void)arg;
    cfg.cache = 0;
    CTT_TRY(ctt_data_open(clip_path("toy.pack"), "train", &in, NULL, 0, &cfg,
                          NULL, &d));
    CTT_TRY(reader_open(&r, d, 4, "auto", 1));
    rc = reader_run(&r, &none);
out:
    reader_close(&r);
    ctt_data_close(&d);
    return rc;
}

static void allocations_fail(void)
{
    fail_allocs(open_everything, NULL, 20);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "workers do not matter", batches_do_not_depend_on_workers },
        { "frames in memory give way", frames_in_memory_give_way },
        { "frames are cut and padded", frames_are_cut_and_padded },
        { "clips are normalised as streams", clips_are_normalised_as_streams },
        { "colours follow the light of the clip",
          colours_follow_the_light_of_the_clip },
        { "gamma bends within the light of the clip",
          gamma_bends_within_the_light_of_the_clip },
        { "colours change the picture", colours_change_the_picture },
        { "allocations fail", allocations_fail },
        CU_TEST_INFO_NULL
    };

    return clips_main("load", clips_clean, tests);
}
