/* SPDX-License-Identifier: Apache-2.0
 * test_augment.c: what augmentation does to a clip: crops, time and colours. */
#include "libtrain/chance.h"
#include "libtrain/data/show.h"
#include "tests/lib/augmented.h"
#include "tests/lib/lights.h"
#include "tests/lib/reader.h"

enum { SIDE = 10, FLOATS = SIDE * SIDE * 3 };

/* ---- crops ---- */

static void crops_stay_inside(void)
{
    struct ctt_data *d = open_toy();
    double least = 9, most = 0, wide = 0;

    for (uint64_t key = 1; key <= 300; key++) {
        const struct ctt_augment a = { .crop_area = 0.5f, .crop_aspect = 1.33f,
                                       .key = key };
        struct ctt_look k;

        ctt_look_choose(d, (int)(key % CLIPS), &a, 99, &k);
        CU_ASSERT(k.resized && k.crop.x >= 0 && k.crop.y >= 0);
        CU_ASSERT(k.crop.x + k.crop.w <= 12.0001f);
        CU_ASSERT(k.crop.y + k.crop.h <= 12.0001f);
        least = fmin(least, (double)(k.crop.w * k.crop.h) / 100);
        most = fmax(most, (double)(k.crop.w * k.crop.h) / 100);
        wide = fmax(wide, (double)(k.crop.w / k.crop.h));
    }
    CU_ASSERT(least >= 0.4999 && least < 0.6);
    CU_ASSERT(most <= 1.4401 && most > 1.3);
    CU_ASSERT(wide > 1.25 && wide <= 1.3301);
    ctt_data_close(&d);
}

static struct ctt_paint itself;    /* what a byte means */

/* A part at whole pixels and of the model's size is copied; a slope stays that
 * slope between pixels, enlarged or made smaller; a chessboard of pixels that
 * is made half as large is grey, where picking pixels would give black. */
static void crops_are_resized_without_aliasing(void)
{
    struct ctt_input in = clip_input();
    struct ctt_crop *c = NULL;
    static uint8_t slope[400 * 3], board[400 * 3];
    float out[FLOATS];

    in.scale = 2;
    for (int v = 0; v < 256; v++)
        for (int k = 0; k < 3; k++)
            itself.table[k][v] = (float)v;
    for (int i = 0; i < 400 * 3; i++) {
        slope[i] = (uint8_t)(i / 3 % 20 * 8 + i / 60 * 3 + i % 3);
        board[i] = (uint8_t)((i / 3 + i / 60) % 2 * 200);
    }
    CHECK_OK(ctt_crop_new(&in, &c));
    ctt_crop_set(c, &(struct ctt_area){ 3, 4, 10, 10 }, 0);
    ctt_crop_frame(c, slope, &itself, out);
    for (int i = 0; i < FLOATS; i++)
        CU_ASSERT(out[i] == (float)slope[((4 + i / 30) * 20 + 3 +
                                         i / 3 % 10) * 3 + i % 3]);
    for (int flip = 0; flip < 2; flip++)
        for (int k = 0; k < 2; k++) {
            struct ctt_area a = { 2.3f, 3.6f, k ? 13 : 7.5f, k ? 12 : 6 };
            ctt_crop_set(c, &a, flip);
            ctt_crop_frame(c, slope, &itself, out);
            for (int i = 0; i < FLOATS; i++) {
                int at = i / 3 % 10;
                double x = (flip ? 9 - at : at) + 0.5, y = i / 30 + 0.5;
                double want = 8 * ((double)a.x + x * (double)a.w / 10 - 0.5) +
                              3 * ((double)a.y + y * (double)a.h / 10 - 0.5) +
                              i % 3;
                CU_ASSERT_DOUBLE_EQUAL(out[i], want, k ? 0.7 : 1e-3);
            }
        }
    ctt_crop_set(c, &(struct ctt_area){ 0, 0, 20, 20 }, 0);
    ctt_crop_frame(c, board, &itself, out);
    for (int i = 0; i < FLOATS; i++)
        CU_ASSERT_DOUBLE_EQUAL(out[i], 100, 20);
    ctt_crop_free(&c);
}

/* ---- time ---- */

/* Frames rise, stay inside, and are as many as the speed says. */
static void frames_are_chosen_by_speed(void)
{
    struct ctt_data *d = open_toy();
    int faster = 0, slower = 0, later = 0;

    for (uint64_t key = 1; key <= 40; key++) {
        const struct ctt_augment a = { .speed = 1.4f, .start = 0.2f,
                                       .key = key };
        for (int i = 0; i < CLIPS; i++) {
            int n = d->clip[i].length, was = -1;
            struct ctt_look k;

            ctt_look_choose(d, i, &a, d->longest, &k);
            CU_ASSERT_EQUAL(k.count, ctt_look_length(d, i, &a));
            CU_ASSERT(k.count >= 1 && k.count <= d->longest);
            CU_ASSERT(k.first >= 0 && k.first <= 0.2 * n);
            CU_ASSERT(k.count >= lround((n - k.first) / 1.4001));
            CU_ASSERT(k.count <= lround((n - k.first) * 1.4001));
            for (int t = 0; t < k.count; t++) {
                int at = ctt_look_frame(&k, n, t);
                CU_ASSERT(at >= was && at >= k.first && at < n);
                CU_ASSERT(at - was <= 2 || t == 0);
                was = at;
            }
            CU_ASSERT(was == n - 1 || k.count < n - k.first);
            faster += k.count < n - k.first;
            slower += k.count > n - k.first;
            later += k.first > 0;
        }
    }
    CU_ASSERT(faster > 200 && slower > 200 && later > 200);
    ctt_data_close(&d);
}

/* Without a change of time every frame is shown once; sequences to predict, a
 * clip of one frame and --min-frames keep what they need. */
static void time_has_limits(void)
{
    struct ctt_data *d = open_toy();
    struct ctt_look k = { .first = 0, .count = 7 };
    struct ctt_clip *c = &d->clip[0];

    for (int t = 0; t < 7; t++)
        CU_ASSERT_EQUAL(ctt_look_frame(&k, 7, t), t);
    for (uint64_t key = 1; key <= 100; key++) {
        const struct ctt_augment a = { .speed = 4, .start = 0.9f, .key = key };

        c->length = 1;
        d->longest = 1;
        CU_ASSERT_EQUAL(ctt_look_length(d, 0, &a), 1);
        c->length = d->longest = 12;
        CU_ASSERT(ctt_look_length(d, 0, &a) >= 1);
        d->min_frames = 6;
        CU_ASSERT(ctt_look_length(d, 0, &a) >= 6);
        d->min_frames = 1;
        d->steps = 12;
        CU_ASSERT_EQUAL(ctt_look_length(d, 0, &a), 12);
        d->steps = 0;
    }
    ctt_data_close(&d);
}

/* A batch is padded to its longest clip as it is played, and holds the frames
 * that were chosen. */
static void batches_hold_the_chosen_frames(void)
{
    const struct ctt_augment a = { .speed = 1.4f, .start = 0.2f, .key = 5 };
    struct ctt_data *d = open_toy();
    uint8_t stored[CLIP_SIZE * CLIP_SIZE * 3];
    static float want[FLOATS];
    struct ctt_batch b;
    struct reader r;
    struct ctt_pixels pixels;
    char seen[CLIPS] = { 0 };
    int shown = 0;

    ctt_pixels_begin(&pixels, &d->in);
    CHECK_OK(reader_open(&r, d, 4, "3", 7));
    r.order->a = a;
    ctt_order_make(d, &r.buckets, 1, 7, r.order);
    reader_start(&r, &a, 0);
    while (reader_next(&r, &b) > 0) {
        for (int j = 0; j < b.n; j++) {
            struct ctt_look k;

            seen[b.clip[j]] = 1;
            CU_ASSERT(b.length[j] >= 1 && b.length[j] <= b.steps);
            CU_ASSERT_EQUAL(b.length[j], ctt_look_length(d, b.clip[j], &a));
            ctt_look_choose(d, b.clip[j], &a, b.steps, &k);
            for (int t = 0; t < b.steps; t++) {
                int last = b.length[j] - 1;
                clip_draw(b.clip[j], ctt_look_frame(&k,
                          d->clip[b.clip[j]].length, t < last ? t : last),
                          stored);
                ctt_frame_float(stored, &pixels, 1, 1, 0, want);
                CHECK_CLOSE(b.x + (t * b.n + j) * FLOATS, want, FLOATS, 0);
            }
        }
        ctt_loader_done(r.loader);
    }
    for (int i = 0; i < CLIPS; i++)
        shown += seen[i];
    CU_ASSERT_EQUAL(shown, CLIPS);
    reader_close(&r);
    ctt_data_close(&d);
}

/* ---- statistics ---- */

/* Each change alone, the most by which it may move the mean, in deviations of
 * the clip, and the range of the factor of the deviation. */
struct change { struct ctt_augment a; double mean, least, most; };
static const struct change changes[] = {
    { { .brightness = 0.6f }, 0.6, 1, 1 },
    { { .contrast = 0.4f }, 0, 0.6, 1.4 },
    { { .random_gamma = 0.5f }, 0, 1, 1 },
    { { .saturation = 0.5f }, 0, 0.7, 1.36 },
    { { .grey = 1 }, 0, 0.5, 0.65 },    /* channels of noise: 1 / sqrt(3) */
    { { .erase = 1 }, 0.1, 0.7, 1 },
    /* noise loses more by resizing than a picture */
    { { .crop_area = 0.5f, .crop_aspect = 1.33f }, 0.15, 0.5, 1.05 },
    { { .speed = 1.4f, .start = 0.1f }, 0.1, 0.9, 1.1 },
};

/* All that is drawn, as strong as it can be. */
static struct ctt_augment drawn(int draws)
{
    struct ctt_train_cfg cfg = clip_cfg();

    cfg.rand_augment = draws;
    cfg.magnitude = CTT_MAGNITUDES;
    return ctt_augment_of(&cfg, 0);
}

/* In 20 epochs; mean, dev: of the three clips as they are. */
static void check_change(struct reader *r, const struct change *c,
                         const double mean[3], const double dev[3])
{
    struct ctt_batch b;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct ctt_augment a = c->a;

        a.key = seed;
        reader_start(r, &a, 0);
        CU_ASSERT_EQUAL_FATAL(reader_next(r, &b), 1);
        for (int j = 0; j < 3; j++) {
            double m, s;
            light(&b, j, &m, &s);
            CU_ASSERT(fabs(m - mean[j]) <= c->mean * dev[j] + 1e-5);
            CU_ASSERT(s >= c->least * dev[j] - 1e-5);
            CU_ASSERT(s <= c->most * dev[j] + 1e-5);
        }
    }
}

static void every_light_stays_what_it_is(void)
{
    /* all at once: contrast, saturation, crop and what is erased, multiplied */
    const struct change all[] = {
        { drawn(1), 1.15, 0.4, 1.61 },
        { drawn(9), 1.3, 0.4 * 0.6 * 0.4 * 0.77, 1.6 * 1.58 * 1.05 },
    };
    const struct ctt_augment none = { 0 };
    struct ctt_data *d;
    struct ctt_batch b;
    struct reader r;
    double mean[3], dev[3];

    pack_lights(clip_path("light.pack"));
    d = open_pack("light.pack", 1);
    CHECK_OK(reader_open(&r, d, 3, "1", 0));
    reader_start(&r, &none, 0);
    CU_ASSERT_EQUAL_FATAL(reader_next(&r, &b), 1);
    for (int j = 0; j < 3; j++)
        light(&b, j, &mean[j], &dev[j]);
    for (size_t i = 0; i < CTT_LEN(changes); i++)
        check_change(&r, &changes[i], mean, dev);
    for (size_t i = 0; i < CTT_LEN(all); i++)
        check_change(&r, &all[i], mean, dev);
    reader_close(&r);
    ctt_data_close(&d);
}

/* What is erased is one colour, at the same place in all frames; grey is the
 * same in all channels. */
static void erased_and_grey(void)
{
    const struct ctt_augment a = { .erase = 1, .grey = 1, .key = 3 };
    struct ctt_data *d = open_toy();
    struct ctt_batch b;
    struct reader r;

    CHECK_OK(reader_open(&r, d, 2, "1", 0));
    reader_start(&r, &a, 0);
    CU_ASSERT_EQUAL_FATAL(reader_next(&r, &b), 1);
    for (int j = 0; j < 2; j++) {
        struct ctt_look k;
        const float *fill;

        ctt_look_choose(d, b.clip[j], &a, b.steps, &k);
        CU_ASSERT(k.erased.w > 0 && k.erased.x + k.erased.w <= SIDE);
        CU_ASSERT(k.erased.h > 0 && k.erased.y + k.erased.h <= SIDE);
        fill = b.x + j * FLOATS + (k.erased.y * SIDE + k.erased.x) * 3;
        for (int t = 0; t < b.steps; t++)
            for (int i = 0; i < SIDE * SIDE; i++) {
                const float *p = b.x + (t * b.n + j) * FLOATS + i * 3;
                int x = i % SIDE - k.erased.x, y = i / SIDE - k.erased.y;
                CU_ASSERT_DOUBLE_EQUAL(p[0], p[1], 1e-5);
                CU_ASSERT_DOUBLE_EQUAL(p[0], p[2], 1e-5);
                if (x >= 0 && x < k.erased.w && y >= 0 && y < k.erased.h)
                    CU_ASSERT(p[0] == fill[0]);
            }
    }
    reader_close(&r);
    ctt_data_close(&d);
}

/* ---- threads, and other frames ---- */

/* A sum over every float of every batch, in order, in an epoch with these
 * changes, from batch `first` on. */
static double sum_of(struct ctt_augment a, struct ctt_data *d, int workers,
                     int first)
{
    int frame = d->in.h * d->in.w * d->in.c, rc;
    struct ctt_batch b;
    struct reader r;
    double sum = 0;

    d->workers = workers;
    CHECK_OK(reader_open(&r, d, 4, "2", 7));
    CHECK_OK(ctt_loader_mixes(r.loader));
    r.order->a = a;
    ctt_order_make(d, &r.buckets, 1, 7, r.order);
    reader_start(&r, &a, first);
    for (int at = first; (rc = reader_next(&r, &b)) > 0; at++) {
        for (int i = 0; i < b.steps * b.n * frame; i++) {
            CU_ASSERT(isfinite(b.x[i]));
            sum = at < 3 ? 0 : sum * 0.999 + (double)b.x[i] * (1 + i % 7);
        }
        ctt_loader_done(r.loader);
    }
    CHECK_OK(rc);
    reader_close(&r);
    return sum;
}

static double strong_sum(struct ctt_data *d, int workers, int first)
{
    return sum_of(strong(11), d, workers, first);
}

static void workers_do_not_matter(void)
{
    struct ctt_data *d = open_toy();
    struct ctt_augment a = drawn(3);
    double sum = strong_sum(d, 1, 0), other;

    CU_ASSERT(strong_sum(d, 4, 0) == sum);
    CU_ASSERT(strong_sum(d, 4, 3) == sum);
    a.key = 11;
    other = sum_of(a, d, 1, 0);
    CU_ASSERT(sum_of(a, d, 4, 0) == other);
    CU_ASSERT(sum_of(a, d, 4, 3) == other);
    ctt_data_close(&d);
}

/* What a device makes of the bytes of a clip are the floats that a loader
 * writes, whatever changes. */
static void check_bytes(struct ctt_data *d, struct ctt_dev *dev,
                        const struct ctt_augment *a, int i)
{
    enum { STEPS = 14, APART = 2 * FLOATS };
    static float want[STEPS * APART], x[STEPS * APART];
    struct ctt_show show = { .d = d };
    struct ctt_frames f;
    struct ctt_shots s;
    struct ctt_look k;
    int own;

    CHECK_OK(ctt_crop_new(&d->in, &show.crop));
    s = ctt_shots_of(&show, 2, STEPS);
    s.block = ctt_calloc(1, (size_t)s.bytes);
    ctt_look_choose(d, i, a, STEPS, &k);
    CHECK_OK(ctt_data_frames(d, i, a->key, &f, &own));
    ctt_show_none(&s, 0);
    ctt_show_bytes(&show, &k, &f, &s, 1);
    CHECK_OK(ctt_dev_render(dev, &s, x));
    ctt_show_floats(&show, &k, &f, STEPS, APART, want + FLOATS);
    CHECK_CLOSE(x, want, STEPS * APART, 0);
    ctt_data_done(d, i, &f, own);
    ctt_crop_free(&show.crop);
    ctt_free(s.block);
}

static void bytes_give_the_same_floats(void)
{
    struct ctt_data *d = open_toy();
    struct ctt_dev *dev = NULL;

    CHECK_OK(ctt_dev_open("ref", 1, &dev));
    for (uint64_t key = 0; key <= 60; key++) {
        const struct ctt_augment parts[] = {
            strong(key), { .flip = 1, .jitter = 1, .key = key },
            { .grey = 0.5f, .erase = 0.5f, .jitter = 1, .key = key },
            { .random_gamma = 1, .flip = 1, .key = key },
        };
        for (size_t i = 0; i < CTT_LEN(parts); i++)
            check_bytes(d, dev, &parts[i], (int)key % CLIPS);
    }
    ctt_dev_close(&dev);
    ctt_data_close(&d);
}

/* Gray clips of one frame: nothing but the picture changes. */
static void gray_pictures(void)
{
    static const char net[] =
        "input x h=10 w=10 c=1 colour=gray fps=12 scale=1.2\n"
        "conv y in=x out=4 kernel=10\n";
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_graph *g = NULL;
    struct ctt_data *d = NULL;
    struct ctt_pack *p = NULL;
    struct ctt_input in;
    uint8_t data[CLIP_SIZE * CLIP_SIZE];
    struct ctt_frames f = { data, 1, CLIP_SIZE, CLIP_SIZE, 1, 12 };
    char id[16];

    CHECK_OK(ctt_net_parse(net, &g));
    in = g->node[0].attr.input;
    CHECK_OK(ctt_pack_create(clip_path("gray.pack"), &in,
                             (char *const *)clip_labels, CLIP_CLASSES, &p));
    for (int i = 0; i < 20; i++) {
        for (size_t k = 0; k < sizeof(data); k++)
            data[k] = (uint8_t)ctt_random((uint64_t)i, k);
        snprintf(id, sizeof(id), "g%d", i);
        CHECK_OK(ctt_pack_add(p, id, i % CLIP_CLASSES, &f));
    }
    CHECK_OK(ctt_pack_finish(&p));
    CHECK_OK(ctt_data_open(clip_path("gray.pack"), "train", &in, NULL, 0, &cfg,
                           NULL, &d));
    CU_ASSERT_EQUAL(d->longest, 1);
    CU_ASSERT(strong_sum(d, 2, 0) == strong_sum(d, 1, 3));
    ctt_data_close(&d);
    ctt_graph_free(&g);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "crops stay inside", crops_stay_inside },
        { "crops are resized", crops_are_resized_without_aliasing },
        { "frames are chosen by speed", frames_are_chosen_by_speed },
        { "time has limits", time_has_limits },
        { "batches hold the chosen frames", batches_hold_the_chosen_frames },
        { "every light stays what it is", every_light_stays_what_it_is },
        { "erased and grey", erased_and_grey },
        { "workers do not matter", workers_do_not_matter },
        { "bytes give the same floats", bytes_give_the_same_floats },
        { "gray pictures", gray_pictures },
        CU_TEST_INFO_NULL
    };

    return clips_main("augment", clips_clean, tests);
}
