/* SPDX-License-Identifier: Apache-2.0
 * test_shown.c: frames that are normalised by those shown before,
 * with crops and speed. */
#include "tests/lib/augmented.h"
#include "tests/lib/reader.h"

enum { SIDE = 10, FLOATS = SIDE * SIDE * 3 };

static void unit_table(const struct ctt_pixels *p, float table[3][256])
{
    for (int c = 0; c < 3; c++)
        for (int v = 0; v < 256; v++)
            table[c][v] = (float)p->light[v] / CTT_PIXELS_WHITE;
}

/* Checks the frames of clip j of a batch against those that are shown of it,
 * measured one after the other. */
static void check_stream(const struct ctt_data *d, const struct ctt_batch *b,
                         int j, const struct ctt_augment *a)
{
    int clip = b->clip[j], frames = d->clip[clip].length;
    uint8_t stored[CLIP_SIZE * CLIP_SIZE * 3];
    float want[FLOATS];
    struct ctt_paint paint = { .w = 0 };
    struct ctt_crop *crop = NULL;
    struct ctt_pixels p;
    struct ctt_look k;

    ctt_look_choose(d, clip, a, b->steps, &k);
    CU_ASSERT(k.resized);
    CHECK_OK(ctt_crop_new(&d->in, &crop));
    ctt_crop_set(crop, &k.crop, k.flip);
    ctt_pixels_begin(&p, &d->in);
    unit_table(&p, paint.table);
    for (int t = 0; t < b->length[j]; t++) {
        double sum = 0;

        clip_draw(clip, ctt_look_frame(&k, frames, t), stored);
        ctt_crop_frame(crop, stored, &paint, want);
        ctt_pixels_next_values(&p, want);
        for (int i = 0; i < FLOATS; i++) {
            want[i] = (want[i] - p.in.mean[0]) / p.in.std[0];
            sum += (double)want[i];
        }
        CHECK_CLOSE(b->x + (t * b->n + j) * FLOATS, want, FLOATS, 1e-4);
        if (t == 0)
            CU_ASSERT_DOUBLE_EQUAL(sum / FLOATS, 0, 1e-3);
    }
    ctt_crop_free(&crop);
}

/* With normalise=clip what counts are the frames that are shown, as they are
 * after the crop; one that is shown twice counts twice. */
static void shown_frames_are_measured(void)
{
    const struct ctt_augment a = { .crop_area = 0.5f, .crop_aspect = 1.33f,
        .speed = 2, .start = 0.3f, .flip = 1, .key = 8 };
    struct ctt_train_cfg cfg = clip_cfg();
    struct ctt_input in = clip_input();
    struct ctt_data *d = NULL;
    struct ctt_batch b;
    struct reader r;

    for (int k = 0; k < 3; k++) {
        in.mean[k] = 0;
        in.std[k] = 1;
    }
    in.normalise = CTT_NORMALISE_CLIP;
    in.gamma = 0.8f;
    CHECK_OK(clips_pack(clip_path("toy.pack"), 0, CLIPS));
    CHECK_OK(ctt_data_open(clip_path("toy.pack"), "train", &in, NULL, 0, &cfg,
                           NULL, &d));
    CHECK_OK(reader_open(&r, d, 4, "1", 7));
    r.order->a = a;
    ctt_order_make(d, &r.buckets, 1, 7, r.order);
    reader_start(&r, &a, 0);
    while (reader_next(&r, &b) > 0) {
        for (int j = 0; j < b.n; j++)
            check_stream(d, &b, j, &a);
        ctt_loader_done(r.loader);
    }
    reader_close(&r);
    ctt_data_close(&d);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "shown frames are measured", shown_frames_are_measured },
        CU_TEST_INFO_NULL
    };

    return clips_main("shown", clips_clean, tests);
}
